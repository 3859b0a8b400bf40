// A file becomes a project; where the guess of what it holds is wrong, it is read another way.

import { call, projectPath } from "../api.js";
import { h } from "../dom.js";
import { sendFile } from "../jobs.js";

const AS = { image: "pictures", text: "texts", table: "rows of a table", vectors: "vectors", sets: "sets of vectors" };
const COLUMNS = 12; // of texts that are offered

/** Make a project, send it the file and open the page where it starts; nothing is left of it where that fails. */
export async function projectOf(page, file, body, progress, signal) {
  const project = await call("POST", "/projects", body);
  try {
    const job = await sendFile(project.id, file, progress, { signal });
    page.file = file; // whose labels may be wanted later
    page.go({ project: project.id, view: "start", job });
  } catch (problem) {
    await call("DELETE", projectPath(project.id)).catch(() => {});
    throw problem;
  }
}

/** A choice of all ways to read a file, or null where there is only one. `chose` gets the settings of a project. */
export function wayField({ kind, columns, ways = {} }, chose) {
  const options = Object.entries(ways).flatMap(([one, names]) => {
    if (one !== "text" || !names.length) return [{ kind: one, text: AS[one] }];
    const single = names.slice(0, COLUMNS).map((name) => [name]);
    const chosen = kind === "text" && columns.length > 1 ? [columns, ...single] : single;
    return chosen.map((column) => ({ kind: one, column, text: `texts in ${column.map((name) => `“${name}”`).join(", ")}` }));
  });
  if (options.length < 2) return null;
  const now = options.findIndex((one) => one.kind === kind && (!one.column || `${one.column}` === `${columns}`));
  const select = h("select", { id: "way" }, options.map((one, place) => h("option", { value: place }, one.text)));
  select.value = now;
  select.addEventListener("change", () => {
    const { kind: encoder, column } = options[select.value];
    chose({ encoder, encoder_options: column ? { column } : {} }, () => (select.value = now));
  });
  return h("div.field", h("label", { htmlFor: "way" }, "Read it as"), select);
}

/** The file that was dropped; after a reload, one that is chosen now, or null. */
export function fileAgain(page) {
  if (page.file) return Promise.resolve(page.file);
  return new Promise((resolve) => {
    const input = h("input", { type: "file" });
    input.addEventListener("change", () => resolve(input.files[0] ?? null));
    input.addEventListener("cancel", () => resolve(null));
    input.click();
  });
}
