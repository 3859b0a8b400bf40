// Naming classes: one a line, as long as one likes; a line further to the right is a kind of the one above.

import { h } from "../dom.js";
import { inOrder, readTree } from "../tree.js";

/** { element, classes, isTree } of a field for the classes of a project, each { name, parent }. */
export function classField(project) {
  const lines = inOrder(project).map(({ name, depth }) => "  ".repeat(depth) + name);
  const id = `classes-${Math.random().toString(36).slice(2)}`;
  const area = h("textarea", {
    id,
    rows: Math.min(Math.max(lines.length + 1, 4), 12),
    placeholder: "cat\ndog",
    spellcheck: false,
    "aria-describedby": `${id}-help`,
  });
  area.value = lines.join("\n");
  const text =
    "One class per line. The first ten get the keys 1 to 9 and 0, the others get letters. " +
    "For a tree, start a line with spaces: it becomes a kind of the class above, and people may answer with either.";
  const help = h("p.fine", { id: `${id}-help` }, text);
  return {
    element: h("div.field", h("label", { htmlFor: id }, "Classes"), area, help),
    get classes() {
      return readTree(area.value);
    },
    get isTree() {
      return this.classes.some(({ parent }) => parent !== null);
    },
  };
}
