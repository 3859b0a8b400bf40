// Files on their way to the service, and work that goes on in the background.

import { call, projectPath, upload } from "./api.js";
import { capital, count, h } from "./dom.js";

const OFTEN = 500; // milliseconds between looks at a job
const ENDED = ["done", "failed", "cancelled"];

/** A bar with a sentence under it. */
export class Progress {
  constructor(what) {
    this.bar = h("progress", { max: 1, "aria-label": what });
    this.words = h("p.fine", { role: "status" });
    this.element = h("div.job", this.bar, this.words);
  }

  /** A share from 0 to 1, or null while nobody knows. */
  show(share, words) {
    if (share === null) this.bar.removeAttribute("value");
    else this.bar.value = share;
    if (this.words.textContent !== words) this.words.textContent = words;
  }
}

/** Look at a job until it has ended; the job, or an error with its message. */
export async function watch(project, job, progress, signal) {
  while (!signal?.aborted) {
    const found = await call("GET", projectPath(project, "jobs", job)).catch((problem) => {
      if (!problem.passes) throw problem;
      return null; // the service is away, and comes back
    });
    if (found) progress.show(found.total ? found.done / found.total : null, wordsOf(found));
    if (found && ENDED.includes(found.state)) {
      if (found.state !== "done") throw new Error(capital(found.message ?? `The job has ${found.state === "failed" ? "failed" : "been cancelled"}.`));
      return found;
    }
    await new Promise((resolve) => setTimeout(resolve, OFTEN));
  }
  return null;
}

function wordsOf({ state, message, done, total }) {
  if (state === "queued") return "Waiting for its turn";
  return capital(message ?? (total ? `${count(done)} of ${count(total)}` : done ? `Step ${count(done)}` : "Working"));
}

/** Send a file for import; the id of the job that reads it. */
export async function sendFile(project, file, progress, { labels = false, signal } = {}) {
  const query = new URLSearchParams({ format: formatOf(file.name), ...(labels && { labels: "true" }) });
  const path = `${projectPath(project, "import")}?${query}`;
  const { job } = await upload(path, file, (share) => progress.show(share, `Sending ${file.name}`), signal);
  return job;
}

/** Libsvm files look like nothing in particular; all others are known by what is in them. */
function formatOf(name) {
  return /\.(svm|svmlight|libsvm)$/i.test(name) ? "svmlight" : "auto";
}

/** Take a file that is dropped anywhere on the page, until the signal ends that; `place` shows that it may be. */
export function dropAnywhere(place, took, signal) {
  const listen = (name, does) => document.addEventListener(name, does, { signal });
  const hasFile = (event) => event.dataTransfer.types.includes("Files");
  listen("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    place.classList.add("over");
  });
  listen("dragleave", (event) => event.relatedTarget === null && place.classList.remove("over")); // it left the window
  listen("drop", (event) => {
    event.preventDefault();
    place.classList.remove("over");
    const file = event.dataTransfer.files[0];
    if (file) took(file);
  });
}

/** A place to drop a file on, which is also a button to choose one. */
export function dropZone(title, text, took) {
  const input = h("input.unseen", { type: "file", tabIndex: -1, "aria-label": title });
  const zone = h(
    "button.drop",
    { onclick: () => input.click() },
    h("span.drop-mark", { "aria-hidden": "true" }, "+"),
    h("strong", title),
    h("span.fine", text),
  );
  input.addEventListener("change", () => input.files[0] && took(input.files[0]));
  for (const name of ["dragenter", "dragover"])
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
  for (const name of ["dragleave", "drop"]) zone.addEventListener(name, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    if (file) took(file);
  });
  return h("div", zone, input);
}
