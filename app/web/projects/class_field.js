// Naming classes: one a line, as long as one likes.

import { h } from "../dom.js";

/** { element, names } of a field for the names of classes. */
export function classField(names) {
  const id = `classes-${Math.random().toString(36).slice(2)}`;
  const area = h("textarea", {
    id,
    rows: Math.min(Math.max(names.length + 1, 4), 12),
    placeholder: "cat\ndog",
    spellcheck: false,
    "aria-describedby": `${id}-help`,
  });
  area.value = names.join("\n");
  const help = h("p.fine", { id: `${id}-help` }, "One a line. The first ten get the keys 1 to 0, then come letters.");
  return {
    element: h("div.field", h("label", { htmlFor: id }, "Classes"), area, help),
    get names() {
      return [...new Set(area.value.split("\n").map((name) => name.trim()))].filter(Boolean);
    },
  };
}
