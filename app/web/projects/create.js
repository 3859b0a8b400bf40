// A new project: from a file that is dropped, or an empty one to which programs send items.

import { call } from "../api.js";
import { bytes, h } from "../dom.js";
import { Progress, dropZone } from "../jobs.js";
import { loadStyle } from "../styles.js";
import { classField } from "./class_field.js";
import { projectOf } from "./reading.js";

const KINDS = [
  ["Pictures", "a zip of JPEG, PNG or WebP files"],
  ["Texts", "CSV or JSONL with a text column, RIS, or a zip of .txt files"],
  ["Tables", "CSV of numbers and categories"],
  ["Vectors", "npz, CSV or JSONL with features"],
];

export async function show(place, page) {
  await loadStyle("css/projects.css");
  const stop = new AbortController();
  const zone = dropZone("Drop a file here", "or click to choose one", (file) => begin(file).catch(page.failed));
  const kinds = h("dl.kinds", KINDS.map(([name, text]) => h("div", h("dt", name), h("dd", text))));
  const dropping = h("section.card.step", zone, kinds);
  place.replaceChildren(h("div.column", h("h2.view-title", "New project"), dropping, emptyProject(page)));
  if (page.dropped) begin(page.dropped).catch(page.failed);
  else zone.querySelector("button").focus();

  /** Make the project at once; what was found is looked at, and changed, while the file is read. */
  async function begin(file) {
    page.dropped = null;
    page.failed(null);
    const progress = new Progress("Sending the file");
    dropping.replaceChildren(h("h3", file.name), h("p.fine", bytes(file.size)), progress.element);
    try {
      await projectOf(page, file, { name: nameOf(file.name), settings: { encoder: "auto" } }, progress, stop.signal);
    } catch (problem) {
      if (stop.signal.aborted) return;
      dropping.replaceChildren(zone, kinds);
      throw problem;
    }
  }

  return () => stop.abort();
}

function nameOf(file) {
  const name = file
    .replace(/\.[^.]*$/, "")
    .replace(/[_-]+/g, " ")
    .trim();
  return (name || "New project").slice(0, 200);
}

/** For those whose programs send features. */
function emptyProject(page) {
  const name = h("input", { id: "empty-name", required: true, maxLength: 200 });
  const classes = classField({ classes: [] });
  const form = h(
    "form.step",
    { autocomplete: "off" },
    h("div.field", h("label", { htmlFor: "empty-name" }, "Name"), name),
    classes.element,
    h("div.row", h("button.primary", { type: "submit" }, "Create project")),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const settings = classes.isTree ? { likelihood: "softmax" } : {};
      const project = await call("POST", "/projects", { name: name.value.trim(), classes: classes.classes, settings });
      page.go({ project: project.id, view: "manage" });
    } catch (problem) {
      page.failed(problem);
    }
  });
  const summary = h("summary", "Or start with an empty project");
  return h("details.card", summary, h("p.fine.step", "Add items later, from a file or from a program."), form);
}
