// The model card: what the model is made of and how good it is, to read and as JSON.

import { blob, callIfThere, projectPath } from "../api.js";
import { brief, capital, h } from "../dom.js";

export async function cardSection(place, page) {
  const path = projectPath(page.project.id, "card");
  const card = await callIfThere("GET", path);
  if (!card) {
    place.replaceChildren(h("p.fine", "This service makes no model cards."));
    return;
  }
  const link = h("button.small", { onclick: () => openJson(path).catch(page.failed) }, "Open as JSON");
  const print = h("button.small", { onclick: () => window.print() }, "Print");
  place.replaceChildren(h("div.row", link, print), h("div.model-card-page", readable(card)));
}

/** Media and JSON need the key: the card is fetched, and opened from memory. */
async function openJson(path) {
  const text = JSON.stringify(JSON.parse(await (await blob(`v1${path}`)).text()), null, 2);
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  window.open(url, "_blank", "noopener");
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Objects as pairs, lists of objects as tables, all else as text. */
function readable(value) {
  if (value === null || value === undefined) return h("span.fine", "–");
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : brief(value);
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return listed(value);
  const pairs = Object.entries(value).map(([name, one]) =>
    h(isDeep(one) ? "div.deep" : "div", h("dt", capital(name.replaceAll("_", " "))), h("dd", readable(one))),
  );
  return pairs.length ? h("dl.pairs", pairs) : h("span.fine", "–");
}

const isDeep = (value) => value !== null && typeof value === "object" && Object.keys(value).length > 0;

function listed(values) {
  if (!values.length) return h("span.fine", "–");
  if (!values.every(isDeep)) return values.map(String).join(", ");
  const names = [...new Set(values.flatMap((one) => Object.keys(one)))];
  const heads = names.map((name) => h("th", { scope: "col" }, capital(name.replaceAll("_", " "))));
  const rows = values.map((one) => h("tr", names.map((name) => h("td", readable(one[name])))));
  return h("div.scroll", { tabIndex: 0, role: "group", "aria-label": "Table" }, h("table.events", h("thead", h("tr", heads)), h("tbody", rows)));
}
