// The buttons of classes: their keys, finding one among many, a new one, and how likely each is.

import { $, h, percent } from "../dom.js";
import { keysOf } from "./keymap.js";

const MANY = 24; // classes from which there is a field to find them
const MOST_BUTTONS = 60;
const LONG = 12; // letters of a name that need a wider button
const UNLIKELY = 0.005; // probability below which nothing is shown
// Pixels of a button: at least, for a long name, beside the longest word, and of a letter of that.
const DESKTOP = { narrow: 128, wide: 208, beside: 72, letter: 9.5 };
const PHONE = { narrow: 84, wide: 168, beside: 20, letter: 8.5 };
const SHORT_WORD = 6; // letters; names with longer words are written smaller on phones
const LONGEST_WORD = 16; // letters; longer words are broken
const ROOM_BESIDE = 208; // pixels of a button from which on there is room for a figure beside its name

export class Classes {
  #project = null;
  #keys = new Map(); // key -> class

  /** `chosen(name)` is told which class was pressed. */
  constructor(chosen) {
    this.chosen = chosen;
    $("classes").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button && event.detail < 2) this.choose(button.dataset.name); // the second click of a double click is no answer
    });
    $("find").addEventListener("input", () => this.#draw());
    $("find").addEventListener("keydown", (event) => this.#found(event));
    $("new-class").addEventListener("submit", (event) => this.#named(event));
    new ResizeObserver(() => this.#balance()).observe($("classes"));
  }

  show(project) {
    this.#project = project;
    const { classes, settings } = project;
    const keys = keysOf(classes);
    this.#keys = new Map(classes.map((name, place) => [keys[place], name]).filter(([key]) => key));
    $("find-row").hidden = classes.length < MANY;
    $("new-class").hidden = !(settings.open_classes || !classes.length);
    $("find").value = "";
    this.#draw();
  }

  /** The class of a key, or undefined. */
  of(key) {
    return this.#keys.get(key);
  }

  choose(name) {
    const button = [...$("classes").children].find((one) => one.dataset.name === name);
    button?.classList.remove("chosen");
    void button?.offsetWidth; // so that the flash begins anew
    button?.classList.add("chosen");
    this.chosen(name);
  }

  find() {
    if (!$("find-row").hidden) $("find").focus();
  }

  /** Write on each button how likely its class is; null takes that away. */
  likely(probabilities) {
    const best = probabilities && Math.max(...Object.values(probabilities));
    for (const button of $("classes").querySelectorAll("button")) {
      const share = probabilities?.[button.dataset.name] ?? 0;
      const [fill, value] = button.querySelectorAll(".fill, .value");
      value.textContent = share >= UNLIKELY ? percent(share) : "";
      fill.style.width = `${100 * share}%`;
      button.classList.toggle("guessed", Boolean(probabilities) && share === best);
    }
  }

  #draw() {
    const keys = keysOf(this.#project.classes);
    const sought = $("find").value.trim().toLowerCase();
    const found = this.#project.classes
      .map((name, place) => ({ name, key: keys[place] }))
      .filter(({ name }) => name.toLowerCase().includes(sought));
    const buttons = found
      .slice(0, MOST_BUTTONS)
      .map(({ name, key }) =>
        h(
          "button.class",
          { title: name, dataset: { name }, "aria-keyshortcuts": key || null },
          h("span.fill"),
          key && h("kbd", { "aria-hidden": "true" }, key.toUpperCase()),
          h("span.name", { dir: "auto" }, name),
          h("span.value"),
        ),
      );
    const rest = found.length - MOST_BUTTONS;
    if (rest > 0) buttons.push(h("p.fine", `and ${rest} more: type a part of the name`));
    $("classes").replaceChildren(...buttons);
    this.#balance();
  }

  /** As many columns as there is room for, but rows of equal length: 5 and 5, not 6 and 4. */
  #balance() {
    const place = $("classes");
    const n = place.children.length;
    if (!n || !place.clientWidth) return;
    const { classes } = this.#project;
    const { narrow, wide, beside, letter } = place.clientWidth < 600 ? PHONE : DESKTOP;
    const words = classes.flatMap((name) => name.split(/\s+/)).map((word) => Math.min(word.length, LONGEST_WORD));
    const isLong = classes.some((name) => name.length > LONG && /\s/.test(name));
    const longest = Math.max(...words);
    const least = Math.max(isLong ? wide : narrow, beside + letter * longest);
    const most = Math.max(Math.floor(place.clientWidth / least), 1);
    const columns = Math.max(Math.ceil(n / Math.ceil(n / most)), Math.min(most, 2));
    place.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    place.classList.toggle("tight", longest > SHORT_WORD);
    place.classList.toggle("stacked", place.clientWidth / columns < ROOM_BESIDE);
  }

  #found(event) {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    const first = $("classes").querySelector("button");
    const name = event.key === "Enter" && $("find").value.trim() ? first?.dataset.name : null;
    event.preventDefault();
    $("find").value = "";
    $("item").focus();
    this.#draw();
    if (name) this.choose(name);
  }

  #named(event) {
    event.preventDefault();
    const name = $("new-class-name").value.trim();
    if (!name) return;
    $("new-class-name").value = "";
    $("item").focus();
    const { classes } = this.#project;
    if (!classes.includes(name)) classes.push(name);
    this.show(this.#project);
    this.choose(name);
  }
}
