// The buttons of classes: their keys, a tree to walk, finding one among many, a new one, and how likely each is.

import { $, h, percent, plural } from "../dom.js";
import { kindsOf } from "../tree.js";
import { keysOf } from "./keymap.js";

const MANY = 24; // classes from which there is a field to find them
const MAX_BUTTONS = 60;
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
  #at = null; // the class whose kinds are shown; null at the top
  #had = new Map(); // level of the tree -> the keys of its classes since the project was opened, those that are gone, too
  #keys = new Map(); // key -> class
  #shares = null; // how likely each class is

  /** `chosen(name)` is called with the class that was pressed, and returns whether that is an answer; `isSeen()` returns
      whether people can have seen what is there; `gone(name)` is called for a key whose class is not there any more;
      `say` reads out. */
  constructor({ chosen, isSeen, gone, say }) {
    Object.assign(this, { chosen, isSeen, gone, say });
    $("classes").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button && event.detail < 2) this.choose(button.dataset.name); // the second click of a double click is no answer
    });
    $("class-here").addEventListener("click", (event) => event.detail < 2 && this.chosen(this.#at));
    $("class-up").addEventListener("click", () => this.#up());
    $("find").addEventListener("input", () => this.#draw());
    $("find").addEventListener("keydown", (event) => this.#found(event));
    $("new-class").addEventListener("submit", (event) => this.#named(event));
    new ResizeObserver(() => this.#balance()).observe($("classes"));
  }

  /** Another project: keys begin anew. */
  forget() {
    this.#had.clear();
  }

  show(project) {
    this.#project = project;
    const { classes, settings } = project;
    if (!classes.includes(this.#at)) this.#at = null;
    $("find-row").hidden = classes.length < MANY;
    $("new-class").hidden = !(settings.open_classes || !classes.length);
    $("find").value = "";
    this.#draw();
  }

  /** What a key does here, or undefined. */
  of(key) {
    if (this.#keys.has(key)) return () => this.#press(this.#keys.get(key));
    if (this.#at === null) return undefined;
    return { Enter: () => this.chosen(this.#at), Escape: () => this.#up(), Backspace: () => this.#up() }[key];
  }

  #press(name) {
    if (kindsOf(this.#project, this.#at).includes(name)) this.choose(name);
    else this.gone(name);
  }

  /** Answer with a class, or show its kinds. */
  choose(name) {
    if (!this.isSeen()) return;
    if (kindsOf(this.#project, name).length) {
      this.#go(name);
      return;
    }
    if (!this.chosen(name)) return;
    const button = [...$("classes").children].find((one) => one.dataset.name === name);
    button?.classList.remove("chosen");
    void button?.offsetWidth; // so that the flash begins anew
    button?.classList.add("chosen");
  }

  /** Back to the classes that are no kind of others. */
  top() {
    if (this.#at === null) return;
    this.#at = null;
    this.#draw();
  }

  #up() {
    this.#go(this.#project.parents[this.#at] ?? null);
  }

  #go(name) {
    const hadFocus = document.activeElement?.closest("#classes, #class-path");
    this.#at = name;
    $("find").value = "";
    this.#draw();
    if (hadFocus) $("classes").querySelector("button")?.focus();
    const kinds = plural(kindsOf(this.#project, name).length, "kind");
    this.say(name === null ? "All classes" : `${name}: ${kinds}. Enter for some kind of ${name}, Escape to go back`);
  }

  find() {
    if (!$("find-row").hidden) $("find").focus();
  }

  /** Write on each button how likely its class is; null takes that away. */
  likely(shares) {
    this.#shares = shares;
    const buttons = [...$("classes").querySelectorAll("button")];
    const best = Math.max(...buttons.map((button) => shares?.[button.dataset.name] ?? 0));
    for (const button of buttons) {
      const share = shares?.[button.dataset.name] ?? 0;
      const [fill, value] = button.querySelectorAll(".fill, .value");
      value.textContent = share >= UNLIKELY ? percent(share) : "";
      fill.style.width = `${100 * share}%`;
      button.classList.toggle("guessed", Boolean(shares) && share === best);
    }
  }

  #draw() {
    const here = kindsOf(this.#project, this.#at);
    const had = this.#had.get(this.#at) ?? new Map();
    const keys = keysOf(here, had);
    this.#had.set(this.#at, new Map([...had, ...keys]));
    this.#keys = new Map([...had, ...keys].filter(([, key]) => key).map(([name, key]) => [key, name]));
    const sought = $("find").value.trim().toLowerCase();
    const found = sought ? this.#project.classes.filter((name) => name.toLowerCase().includes(sought)) : here;
    const buttons = found.slice(0, MAX_BUTTONS).map((name) => this.#button(name, keys.get(name)));
    const rest = found.length - MAX_BUTTONS;
    if (rest > 0) buttons.push(h("p.fine", `and ${rest} more: type part of the name to find it`));
    $("classes").replaceChildren(...buttons);
    $("class-path").hidden = this.#at === null;
    $("class-here").querySelector(".name").textContent = `Some kind of ${this.#at}`;
    this.likely(this.#shares);
    this.#balance();
  }

  #button(name, key) {
    const kinds = kindsOf(this.#project, name).length;
    return h(
      "button.class",
      { title: name, dataset: { name }, "aria-keyshortcuts": key || null },
      h("span.fill"),
      key && h("kbd", { "aria-hidden": "true" }, key.toUpperCase()),
      h("span.name", { dir: "auto" }, name),
      h("span.value"),
      kinds > 0 && h("span.more", h("span", { "aria-hidden": "true" }, "›"), h("span.unseen", `, ${plural(kinds, "kind")}`)),
    );
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
