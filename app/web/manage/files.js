// More items in, labels out, and the end of a project.

import { blob, call, projectPath } from "../api.js";
import { attempt } from "../attempt.js";
import { h } from "../dom.js";
import { Progress, dropZone, sendFile, watch } from "../jobs.js";
import { describe } from "../projects/start.js";

// What there is to take away: a sentence, and for each button its text, the address below the project, and the file.
const EXPORTS = [
  [
    "Labels: what people said, item by item",
    ["Labels, CSV", "labels?format=csv&data=true&excel=true", "labels.csv"],
    ["Labels, JSONL", "labels?format=jsonl&data=true", "labels.jsonl"],
    ["References, RIS", "labels?format=ris", "labels.ris"],
  ],
  [
    "Predictions: every item, with its label or the model's guess and how sure it is",
    ["Predictions, CSV", "predictions?format=csv&excel=true", "predictions.csv"],
    ["Predictions, JSONL", "predictions?format=jsonl", "predictions.jsonl"],
  ],
  [
    "History: every answer ever given, by whom and when",
    ["History, CSV", "labels?format=csv&history=true&excel=true", "history.csv"],
    ["History, JSONL", "labels?format=jsonl&history=true", "history.jsonl"],
  ],
];

export function filesSection(place, page, signal) {
  const { project } = page;
  const result = h("div.job");
  const labels = h("input", { type: "checkbox" });
  const zone = dropZone("Add items from a file", "zip, CSV, JSONL, RIS or npz; items that are already here stay as they are", (file) =>
    take(file),
  );
  const button = ([text, address, name]) =>
    h("button", { onclick: ({ currentTarget }) => attempt(page, currentTarget, () => save(address, name)) }, text);
  const exports = EXPORTS.flatMap(([what, ...files]) => [h("p.fine", what), h("div.row", files.map(button))]);
  place.replaceChildren(
    zone,
    h("label.check", labels, "Use the labels in this file (recorded under your name)"),
    result,
    h("h3", "Export"),
    ...exports,
  );

  async function take(file) {
    const progress = new Progress("Import");
    result.replaceChildren(progress.element);
    const isRead = await attempt(page, zone, async () => {
      const job = await sendFile(project.id, file, progress, { labels: labels.checked, signal });
      const done = await watch(project.id, job, progress, signal);
      if (done) result.replaceChildren(...describe(done.result));
    });
    if (!isRead) result.replaceChildren();
  }

  async function save(address, name) {
    const content = await blob(`v1${projectPath(project.id)}/${address}`);
    const url = URL.createObjectURL(content);
    h("a", { href: url, download: `${project.name.replace(/[^\p{L}\p{N}]+/gu, "-")}-${name}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }
}

/** Deleting needs the name, so that nobody does it by accident. */
export function dangerSection(place, page) {
  const { project } = page;
  const field = h("input", { id: "delete-name", autocomplete: "off" });
  const button = h("button.danger", { type: "submit", disabled: true }, "Delete this project");
  field.addEventListener("input", () => (button.disabled = field.value !== project.name));
  const form = h(
    "form.fields",
    h("div.field", h("label", { htmlFor: "delete-name" }, `Type “${project.name}” to delete it`), field),
    button,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(page, button, async () => {
      await call("DELETE", projectPath(project.id));
      page.go({});
    });
  });
  place.replaceChildren(h("p.fine", "The project disappears for everybody at once. Its pictures and its model are erased from the disk. Its items and labels stay in the database, but this page and the API no longer show them: export the labels first."), form);
}
