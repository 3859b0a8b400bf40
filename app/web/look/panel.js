// A card of the view Look: it fills itself, says so if there is nothing, and goes if the service has no such thing.

import { h } from "../dom.js";

/** `fill(body)` returns what ends it, or false where the service knows no such thing. */
export class Panel {
  #end = null;

  constructor(title, fill, { wide = false, tools = [] } = {}) {
    const id = `panel-${title.toLowerCase().replace(/\W+/g, "-")}`;
    this.fill = fill;
    this.body = h("div.panel-body", nothing("One moment …"));
    this.element = h(
      wide ? "section.card.panel.wide" : "section.card.panel",
      { "aria-labelledby": id },
      h("div.spread", h("h2", { id }, title), tools.length > 0 && h("div.row", tools)),
      this.body,
    );
  }

  async load() {
    this.close();
    try {
      const end = await this.fill(this.body);
      this.element.hidden = end === false;
      if (typeof end === "function") this.#end = end;
    } catch (problem) {
      this.body.replaceChildren(h("p.fine", problem.message));
    }
  }

  close() {
    this.#end?.();
    this.#end = null;
  }
}

/** What stands where there is nothing to draw yet. */
export function nothing(text) {
  return h("p.nothing-yet", text);
}

/** A group of buttons of which one is pressed: choices are [value, name]. */
export function choice(name, choices, value, chosen) {
  const buttons = choices.map(([one, text]) =>
    h("button.small", { value: one, "aria-pressed": String(one === value), onclick: () => press(one) }, text),
  );
  function press(one) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.value === one));
    chosen(one);
  }
  return h("div.choice", { role: "group", "aria-label": name }, buttons);
}
