// The model card: what the model is made of and how good it is, to read and as JSON.

import { estimateList } from "../advice.js";
import { blob, call, projectPath } from "../api.js";
import { at, brief, capital, count, h, plural } from "../dom.js";
import { loadStyle } from "../styles.js";
import { settingSchemas, valueName } from "./setting_words.js";

/** The card as a page of its own, which can be printed. */
export async function show(place, page) {
  await Promise.all(["css/look.css", "css/projects.css", "css/manage.css"].map(loadStyle));
  const path = projectPath(page.project.id, "card");
  const [card, schemas] = await Promise.all([call("GET", path), settingSchemas()]);
  const json = h("button.small", { onclick: () => openJson(path).catch(page.failed) }, "As JSON");
  const print = h("button.small", { onclick: () => window.print() }, "Print");
  const head = h("div.spread", h("h2.view-title", "Model card"), h("div.row", json, print));
  place.replaceChildren(h("div.column.wide-column", head, h("div.card.step.model-page", written(card, schemas))));
}

/** The way to it, among the other sections. */
export function cardSection(place, page) {
  const text = "What the model is, how accurate it is, who labelled for it, and what to be careful about.";
  const link = h("a.button", { href: page.address({ project: page.project.id, view: "card" }) }, "Open the model card");
  place.replaceChildren(h("p.fine", text), h("div.row", link));
}

/** The card needs the key: it is fetched, and opened from memory. */
async function openJson(path) {
  const text = JSON.stringify(JSON.parse(await (await blob(`v1${path}`)).text()), null, 2);
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  window.open(url, "_blank", "noopener");
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** What matters most first; what is not known here follows by its name. */
function written(card, schemas) {
  const { project, version, items, labelled, cautions, figures, model, likelihood, kernel, solver, training, made_with: madeWith, ...others } = card;
  const channels = card.channels.length > 1 ? card.channels : null;
  const rest = { ...others, channels, encoder: encoderOf(card.encoder), hyperparameters: withoutWeights(card) };
  const { accuracy } = figures;
  const facts = {
    project: project.name,
    model: `version ${count(version)}, ${model?.name ?? "none yet"}, kernel ${kernel?.name ?? "none yet"}, solver ${solver ?? "none yet"}`,
    "why this model": model?.why ?? null,
    likelihood: likelihood?.why ?? null,
    kernel: kernel?.why ?? null,
    labels: `${count(labelled)} of ${count(items)} items`,
    accuracy: accuracy?.sentence ?? null,
    "keep labelling?": accuracy?.advice ?? null,
    trained: training && `${at(training.created_at)}, with ${plural(training.labels, "label")}`,
  };
  return [
    readable(facts),
    cautions.length > 0 && part("Be careful", h("ul.cautions", cautions.map((text) => h("li", capital(text))))),
    part("Other estimates of how good it is", estimateList(figures.estimates)),
    isFull(figures.confusion) && part("Confusion matrix", h("p.fine", "Each row is a label that people gave, each column the class that the model predicts from all other labels."), readable(figures.confusion)),
    Object.entries(rest)
      .filter(([, value]) => isFull(value))
      .map(([name, value]) => part(titled(name), readable(value))),
    part("Settings", readable(inWords(project.settings, schemas))),
    part("Made with", readable(madeWith)),
  ];
}

/** How raw items became features; channels have a part of their own. */
function encoderOf(encoder) {
  if (!encoder) return null;
  const { options, channels: _, ...facts } = encoder.description;
  return { kind: encoder.kind, why: capital(encoder.why), ...facts, ...options };
}

/** Parameters that no channel tells of. */
function withoutWeights({ hyperparameters, channels }) {
  return Object.fromEntries(Object.entries(hyperparameters).filter(([name]) => !(channels.length && name.startsWith("weight["))));
}

/** Settings by their titles. */
function inWords(settings, schemas) {
  const named = Object.entries(settings).map(([name, value]) => [schemas[name]?.title ?? name, valueName(schemas[name] ?? {}, value)]);
  return Object.fromEntries(named);
}

const TITLES = { alpha: "Krippendorff’s alpha", last_at: "Last answer", asknext: "AskNext", numpy: "NumPy", scipy: "SciPy" };
const part = (title, ...body) => h("section", h("h3", title), body);
const titled = (name) => TITLES[name] ?? capital(name.replaceAll("_", " "));
const isObject = (value) => value !== null && typeof value === "object";
const isFull = (value) => isObject(value) && Object.keys(value).length > 0;

/** Objects as pairs, objects and lists of objects as tables, all else as text. */
function readable(value, name = "") {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string" && name.endsWith("_at")) return at(value);
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : brief(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (!isObject(value)) return String(value);
  if (!isFull(value)) return "–";
  if (Object.values(value).every(isFull)) return table(value);
  if (Array.isArray(value)) return value.map((one) => readable(one)).join(", ");
  return h(
    "dl.pairs",
    Object.entries(value).map(([key, one]) => h(isFull(one) ? "div.deep" : "div", h("dt", titled(key)), h("dd", readable(one, key)))),
  );
}

function table(value) {
  const isList = Array.isArray(value);
  const named = [...new Set(Object.values(value).flatMap(Object.keys))];
  const columns = named.every((name) => name in value) ? Object.keys(value) : named; // a square has one order
  const heads = [!isList && h("td"), columns.map((name) => h("th", { scope: "col" }, name in value ? name : titled(name)))];
  const rows = Object.entries(value).map(([name, one]) =>
    h("tr", !isList && h("th", { scope: "row" }, name), columns.map((column) => h("td", readable(one[column], column)))),
  );
  const made = h("table.events", h("thead", h("tr", heads)), h("tbody", rows));
  return h("div.scroll", { tabIndex: 0, role: "group", "aria-label": "Table" }, made);
}
