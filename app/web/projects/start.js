// A project whose first file is being read: how far that is, what was found, which classes there are to be.

import { call, projectPath } from "../api.js";
import { capital, count, h, plural } from "../dom.js";
import { Progress, sendFile, watch } from "../jobs.js";
import { loadStyle } from "../styles.js";
import { classField } from "./class_field.js";
import { fileAgain, projectOf, wayField } from "./reading.js";

const NAMES = { image: ["picture"], text: ["text"], table: ["row"], vectors: ["vector"], sets: ["set of vectors", "sets of vectors"] };
const TREE = { settings: { likelihood: "softmax" } }; // what knows trees of classes
const SHOWN = 20; // broken files that are listed

export async function show(place, page, given) {
  await loadStyle("css/projects.css");
  const { project } = page;
  const stop = new AbortController();
  const progress = new Progress("Reading the file");
  const reading = h("section.card.step", { "aria-label": "The file" }, h("h3", "Reading the file"), progress.element);
  const name = h("input", { id: "project-name", required: true, maxLength: 200, value: project.name });
  const classes = h("div");
  const own = h("input", { type: "checkbox" });
  const ownRow = h("label.check", { hidden: true }, own, "Use the labels in this file (recorded under your name)");
  const button = h("button.primary", { type: "submit", disabled: true }, "Start labelling");
  const drop = h("button.quiet", { onclick: () => discard().catch(page.failed) }, "Discard");
  const form = h(
    "form.card.step",
    { autocomplete: "off" },
    h("div.field", h("label", { htmlFor: "project-name" }, "Name"), name),
    classes,
    ownRow,
    h("div.row", button, drop),
  );
  let isReading = true;
  let field = classField(page.wanted ?? project);
  page.wanted = null;
  classes.replaceChildren(field.element);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    start().catch(page.failed);
  });
  place.replaceChildren(h("div.column", h("h2.view-title", "New project"), reading, form));

  read().catch((problem) => {
    if (stop.signal.aborted) return;
    isReading = false;
    reading.replaceChildren(h("h3", "The file could not be read"), h("p", problem.message));
    page.failed(problem);
  });

  async function read() {
    const job = await watch(project.id, given.get("job"), progress, stop.signal);
    if (!job) return;
    isReading = false;
    const { found } = job.result;
    reading.replaceChildren(...describe(job.result), ...[found && wayField(found, readAs)].filter(Boolean));
    if (!field.classes.length && found?.labels?.length) {
      field = classField({ classes: found.labels });
      classes.replaceChildren(field.element);
    }
    ownRow.hidden = !(found?.labels?.length && page.file);
    button.disabled = false;
    page.say("The file was read");
    if (!classes.contains(document.activeElement)) classes.querySelector("textarea").focus();
  }

  async function start() {
    button.disabled = true;
    try {
      const wanted = name.value.trim();
      const change = { ...(wanted && wanted !== project.name && { name: wanted }), ...(field.isTree && TREE) };
      if (Object.keys(change).length) await call("PATCH", projectPath(project.id), change);
      const { classes: have } = await call("GET", projectPath(project.id));
      for (const one of field.classes.filter(({ name }) => !have.includes(name)))
        await call("POST", projectPath(project.id, "classes"), one);
      if (own.checked) await takeLabels();
      page.go({ project: project.id, view: "label" });
    } finally {
      button.disabled = false;
    }
  }

  /** The same file again: items that are there do not change, and now its labels count. */
  async function takeLabels() {
    const again = new Progress("Reading the labels");
    form.append(again.element);
    const job = await sendFile(project.id, page.file, again, { labels: true, signal: stop.signal });
    await watch(project.id, job, again, stop.signal).finally(() => again.element.remove());
  }

  /** The same file in a project that takes the place of this one: nobody has labelled anything yet. */
  async function readAs(settings, restore) {
    page.failed(null);
    const file = await fileAgain(page);
    if (!file) return restore();
    const before = [...reading.children];
    const again = new Progress("Sending the file");
    reading.replaceChildren(h("h3", "Reading the file"), again.element);
    button.disabled = drop.disabled = true;
    page.wanted = {
      classes: field.classes.map(({ name }) => name),
      parents: Object.fromEntries(field.classes.map(({ name, parent }) => [name, parent])),
    };
    try {
      await projectOf(page, file, { name: name.value.trim() || project.name, settings }, again, stop.signal);
      await call("DELETE", projectPath(project.id));
    } catch (problem) {
      button.disabled = drop.disabled = false;
      reading.replaceChildren(...before);
      restore();
      page.failed(problem);
    }
  }

  async function discard() {
    stop.abort();
    if (isReading) await call("DELETE", projectPath(project.id, "jobs", given.get("job"))).catch(() => {});
    await call("DELETE", projectPath(project.id));
    page.go({});
  }

  return () => stop.abort();
}

/** What an import found, for people. */
export function describe({ added, unchanged, labelled, found, broken, broken_count: lost }) {
  const kind = NAMES[found?.kind] ?? ["item"];
  const parts = [h("h3", `Found ${plural(added + unchanged, ...kind)}`)];
  if (found?.why) parts.push(h("p.fine", capital(found.why)));
  if (unchanged) parts.push(h("p.fine", `${count(unchanged)} of them ${unchanged === 1 ? "was" : "were"} already here.`));
  if (labelled) parts.push(h("p.fine", `${plural(labelled, "label")} added.`));
  if (lost) {
    const list = broken.slice(0, SHOWN).map((one) => h("li", h("span.mono", one.name), ` ${one.reason}`));
    const summary = h("summary", `${plural(lost, ...leftOut(found))} ${lost === 1 ? "was" : "were"} left out${reasons(broken, lost)}`);
    parts.push(h("details.broken", summary, h("ul.fine", list), lost > SHOWN && h("p.fine", `and ${lost - SHOWN} more`)));
  }
  return parts;
}

/** What a file has many of: files in an archive, else rows. */
const leftOut = (found) => (found && ["image", "text"].includes(found.kind) && !found.columns.length ? ["file"] : ["row"]);

/** How many were left out for which reason, where all of them are known and the reasons are few. */
function reasons(broken, lost) {
  const counts = new Map();
  for (const { reason } of broken) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  if (broken.length < lost || counts.size > 3) return "";
  return `: ${[...counts].map(([reason, n]) => (counts.size > 1 ? `${count(n)} × ${reason}` : reason)).join(", ")}`;
}
