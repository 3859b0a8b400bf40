// What was said, the newest first, with filters.

import { callIfThere, projectPath } from "../api.js";
import { at, h } from "../dom.js";
import { Panel, nothing } from "./panel.js";

const KINDS = {
  label: "Labels",
  relabel: "Changed labels",
  retract: "Removed labels",
  skip: "Skips",
  unsure: "Unsure",
  comment: "Comments",
};
const PAGE = 50;

export function historyPanel(project, opened) {
  const kinds = Object.entries(KINDS).map(([value, name]) => h("option", { value }, name));
  const kind = h("select", { "aria-label": "Kind of answer", onchange: () => panel.load() }, h("option", { value: "" }, "Everything"), kinds);
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
      const more = h("button", { onclick: () => add(next) }, "Show earlier");
      let { next } = first;
      async function add(cursor) {
        const found = await ask(cursor);
        rows.append(...found.events.map((event) => row(event, opened)));
        next = found.next;
        more.hidden = !next;
      }
      rows.append(...first.events.map((event) => row(event, opened)));
      more.hidden = !next;
      const heads = ["When", "Who", "What", "Item", "Model’s guess"].map((text) => h("th", { scope: "col" }, text));
      const table = h("div.scroll", { tabIndex: 0, role: "group", "aria-label": "History" }, h("table.events", h("thead", h("tr", heads)), rows));
      const empty = nothing("There are no such answers.");
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
    h("td.what", said(event)),
    h("td.which", h("button.link.mono", { onclick: () => opened(event.key) }, event.key)),
    h("td", event.predicted ?? "–"),
  );
}

const WORDS = {
  label: "Labelled",
  relabel: "Changed the label to",
  retract: "Removed the label",
  skip: "Skipped",
  unsure: "Unsure",
  comment: "Commented",
};

/** One event in words. What an undo brings back is what the person had said before. */
export function said({ kind, label, note, undoes }) {
  const before = label !== null ? ", back to" : kind === "retract" ? "" : `, back to ${WORDS[kind].toLowerCase()}`;
  const what = undoes !== null ? `Undid the last answer${before}` : WORDS[kind];
  return [h("span", label === null ? what : `${what} `), label !== null && h("strong", label), note && h("q.note", note)];
}
