// One item with everything that was said of it, and a label that can be put right.

import { call, projectPath } from "../api.js";
import { attempt } from "../attempt.js";
import { at, h, percent } from "../dom.js";
import { Content } from "../item/content.js";
import { said } from "./history.js";

const SAID = { skip: "You skipped it.", unsure: "You were unsure." };

export class ItemDialog {
  /** `changed()` is told when a label was put right. */
  constructor(page, changed) {
    this.page = page;
    this.changed = changed;
    this.place = h("div.content.shown", { tabIndex: 0, role: "group", "aria-label": "Content of the item" });
    this.content = new Content(this.place);
    this.title = h("h2.mono", { id: "item-dialog-title" });
    this.facts = h("div.facts");
    const close = h("button.small.quiet", { onclick: () => this.element.close() }, "Close");
    this.element = h(
      "dialog.item-dialog",
      { "aria-labelledby": "item-dialog-title" },
      h("div.spread.nowrap", this.title, close),
      h("div.item-columns", this.place, this.facts),
    );
    this.element.addEventListener("close", () => this.content.pictures.keep([]));
    this.element.addEventListener("click", (event) => event.target === this.element && this.element.close());
  }

  async open(key) {
    const { project } = this.page;
    this.page.failed(null);
    try {
      const item = await call("GET", projectPath(project.id, "items", key));
      const guess = await call("POST", projectPath(project.id, "predict"), { keys: [key] }).catch(() => null);
      this.title.textContent = item.data?.file ?? key;
      if (!this.element.open) this.element.showModal();
      this.content.show(item, project);
      this.facts.replaceChildren(...this.#described(item, guess?.predictions[0]));
      if (typeof item.data?.text === "string") this.#mark(item);
    } catch (problem) {
      this.page.failed(problem);
    }
  }

  async #mark(item) {
    const why = await call("GET", projectPath(this.page.project.id, "why", item.key)).catch(() => null);
    if (why) this.content.mark(item, why.parts);
  }

  #described(item, guess) {
    const votes = item.votes.map(({ annotator, label }) => h("li", `${annotator}: `, h("strong", label)));
    const events = item.history.toReversed().map((event) =>
      h("li", h("span.fine", `${at(event.created_at)} · ${event.annotator}`), h("span", said(event))),
    );
    const best = guess && `${guess.label}, ${percent(guess.probabilities[guess.label])}`;
    const isKnown = typeof guess?.novelty === "number";
    return [
      h(
        "dl.pairs",
        h("div", h("dt", "Label"), h("dd", item.label ?? (item.unsure ? "unsure" : "none"))),
        h("div", h("dt", "Guess"), h("dd", best ?? "none")),
        isKnown && h("div", h("dt", "Novelty"), h("dd", percent(guess.novelty), guess.unlike && ", unlike anything so far")),
      ),
      votes.length > 1 && h("div", h("h3", "Votes"), h("ul", votes)),
      this.page.me.role !== "reader" && this.#correction(item),
      h("div", h("h3", "History"), events.length ? h("ol.said", events) : h("p.fine", "Nobody has answered yet.")),
    ].filter(Boolean);
  }

  /** A label of one's own, whatever others say. */
  #correction(item) {
    const { project, me } = this.page;
    const own = item.own?.label ?? "";
    const choose = h("select", { id: "correct-label", onchange: () => (save.disabled = !choose.value) }, [
      !own && h("option", { value: "" }, "None"),
      project.classes.map((name) => h("option", { value: name, selected: name === own }, name)),
    ]);
    const button = (kind, text, act) => {
      const made = h(kind, { onclick: () => attempt(this.page, made, () => after(act)) }, text);
      return made;
    };
    const after = async (act) => {
      await act();
      await this.open(item.key);
      this.changed();
    };
    const answer = () => call("POST", projectPath(project.id, "labels"), { labels: [{ key: item.key, label: choose.value }] });
    const retract = () => call("DELETE", projectPath(project.id, "labels", item.key));
    const save = button("button.small.primary", "Save", answer);
    const ofAll = me.role === "admin" && item.votes.length > 0; // without one's own label
    save.disabled = !own;
    return h(
      "div.field",
      h("label", { htmlFor: "correct-label" }, "Your label"),
      choose,
      item.own && SAID[item.own.kind] && h("p.fine", SAID[item.own.kind]),
      h("div.row", save, own ? button("button.small", "Remove my label", retract) : ofAll && button("button.small", "Remove all labels", retract)),
    );
  }
}
