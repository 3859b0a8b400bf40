// What was said, the newest first, with filters.

import { callIfThere, projectPath } from "../api.js";
import { at, capital, h } from "../dom.js";
import { Panel, nothing } from "./panel.js";

const KINDS = ["label", "relabel", "retract", "skip", "unsure", "comment"];
const PAGE = 50;

export function historyPanel(project, opened) {
  const options = (names) => names.map((name) => h("option", { value: name }, capital(name)));
  const kind = h("select", { "aria-label": "Kind of answer", onchange: () => panel.load() }, h("option", { value: "" }, "Everything"), options(KINDS));
  const label = h(
    "select",
    { "aria-label": "Class", onchange: () => panel.load() },
    h("option", { value: "" }, "All classes"),
    project.classes.map((name) => h("option", { value: name }, name)),
  );
  const field = (name) => h("input", { type: "search", placeholder: name, "aria-label": name, maxLength: 500, onchange: () => panel.load() });
  const annotator = field("Annotator");
  const key = field("Item");

  async function ask(cursor) {
    const query = new URLSearchParams({ limit: PAGE });
    const given = { kind: kind.value, label: label.value, annotator: annotator.value.trim(), key: key.value.trim(), cursor };
    for (const [name, value] of Object.entries(given)) if (value) query.set(name, value);
    return callIfThere("GET", `${projectPath(project.id, "events")}?${query}`);
  }

  const panel = new Panel(
    "History",
    async (body) => {
      const filters = body.querySelector(".filters") ?? h("div.filters", kind, label, annotator, key);
      const first = await ask("");
      if (!first) return false;
      const rows = h("tbody");
      const more = h("button", { onclick: () => add(next) }, "Earlier");
      let { next } = first;
      async function add(cursor) {
        const found = await ask(cursor);
        rows.append(...found.events.map((event) => row(event, opened)));
        next = found.next;
        more.hidden = !next;
      }
      rows.append(...first.events.map((event) => row(event, opened)));
      more.hidden = !next;
      const heads = ["When", "Who", "What", "Item", "Guess before"].map((text) => h("th", { scope: "col" }, text));
      const table = h("div.scroll", { tabIndex: 0, role: "group", "aria-label": "History" }, h("table.events", h("thead", h("tr", heads)), rows));
      const empty = nothing("Nothing of the kind was said.");
      body.replaceChildren(filters, ...(first.events.length ? [table, more] : [empty]));
      return null;
    },
    { wide: true },
  );
  return panel;
}

function row(event, opened) {
  return h(
    "tr",
    h("td", at(event.created_at)),
    h("td", event.annotator),
    h("td", said(event)),
    h("td", h("button.link.mono", { onclick: () => opened(event.key) }, event.key)),
    h("td", event.predicted ?? "–"),
  );
}

/** One event in words. */
export function said({ kind, label, note, undoes }) {
  const what = undoes !== null ? `Undone: ${kind}` : capital(kind);
  return [h("span", label === null ? what : `${what} `), label !== null && h("strong", label), note && h("q.note", note)];
}
