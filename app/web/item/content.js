// An item as people see it. Everything in it was sent by somebody: it is shown as text, and pictures only if they are.

import { call, projectPath } from "../api.js";
import { h, kept } from "../dom.js";
import { bars } from "./bars.js";
import { marked } from "./marks.js";
import { Pictures } from "./pictures.js";
import { Zoom } from "./zoom.js";

const SIZES = [0.875, 1, 1.125, 1.25, 1.5, 1.75, 2, 2.5]; // of letters
const LETTERS = kept("letters", 2);

export class Content {
  #item = null;
  #text = null;
  #kind = null;

  constructor(place) {
    this.place = place;
    this.pictures = new Pictures();
    this.zoom = new Zoom(place);
    this.#letters(0);
  }

  /** "picture", "text" or null: what there is to enlarge. */
  get kind() {
    return this.#kind;
  }

  /** Fill the place with an item of this project. */
  show(item, project) {
    this.#item = item;
    const data = item.data ?? {};
    const picture = this.pictures.of(item);
    const isText = typeof data.text === "string";
    this.#text = isText ? h("p.text", { dir: "auto" }, data.text) : null;
    this.#kind = picture ? "picture" : isText ? "text" : null;
    const parts = [picture?.image, this.#text, table(item, picture !== null)].filter(Boolean);
    if (!parts.length) parts.push(h("p.text.mono", item.key));
    this.place.replaceChildren(...parts);
    this.place.classList.toggle("pictured", picture !== null);
    this.place.scrollTo(0, 0);
    this.zoom.show(picture?.image ?? null);
    picture?.ready.catch(() => this.#lost(item, picture.image));
    if (!picture && !isText) this.#drawBars(item, project);
  }

  message(title, text, ...more) {
    this.#item = this.#text = this.#kind = null;
    this.zoom.show(null);
    this.place.replaceChildren(h("div.message", h("h2", title), h("p", text), more));
    this.place.classList.remove("pictured");
  }

  /** Mark the words of the text that speak for and against a class. */
  mark(item, parts) {
    if (this.#item === item && this.#text) this.#text.replaceChildren(...marked(item.data.text, parts));
  }

  /** The words of an item, for those who cannot see it. */
  static spoken(item) {
    const { text, file } = item.data ?? {};
    return typeof text === "string" ? text.slice(0, 300) : (file ?? item.key);
  }

  larger() {
    if (this.#kind === "picture") this.zoom.larger();
    else this.#letters(1);
  }

  smaller() {
    if (this.#kind === "picture") this.zoom.smaller();
    else this.#letters(-1);
  }

  #letters(by) {
    if (by) LETTERS.value = Math.min(Math.max(LETTERS.value + by, 0), SIZES.length - 1);
    this.place.style.setProperty("--letters", `${SIZES[LETTERS.value]}rem`);
  }

  #lost(item, image) {
    if (this.#item === item) image.replaceWith(h("p.lost", "The picture cannot be shown."));
  }

  async #drawBars(item, project) {
    const found = await call("GET", projectPath(project.id, "features", item.key)).catch(() => null);
    if (this.#item !== item || !found) return;
    this.place.querySelector(".text")?.remove(); // the key, which stood for it
    this.place.prepend(bars(found));
  }
}

/** What else is known of an item, without what is seen already. */
function table({ key, data }, isPictured) {
  const isSeen = ([name, value]) =>
    (name === "image" && isPictured) || (name === "text" && typeof value === "string") || (name === "file" && value === key) || name === "ris";
  const entries = Object.entries(data ?? {}).filter((entry) => !isSeen(entry));
  if (!entries.length) return null;
  const rows = entries.map(([name, value]) =>
    h(
      "tr",
      h("th", { scope: "row" }, name),
      h("td", { dir: "auto" }, typeof value === "string" ? value : JSON.stringify(value)),
    ),
  );
  return h("table.data", h("tbody", rows));
}
