// The labelling page: what is shown, and what buttons and keys do.

import { call, callIfThere, projectPath } from "../api.js";
import { $, h, kept, percent, plural } from "../dom.js";
import { Content } from "../item/content.js";
import { Classes } from "./classes.js";
import { Labelling } from "./labelling.js";
import { showModel, showProgress, showSearch, showSitting } from "./progress.js";
import { whyAsked } from "./reasons.js";

const SLOW = 400; // milliseconds after which saving is shown
const GLANCE = 200; // milliseconds in which nobody can have seen what is new, and a key may bounce
const GUESSES = kept("guesses", false);
const SAID = { skip: "Skipped", unsure: "Unsure", undo: "Undid the last answer" };

export class Screen {
  #project = null;
  #slow = null;
  #since = 0; // when the item, or a change of the classes, was shown
  #drawn = ""; // classes that are shown
  #hasWhy = true; // until the service says that it knows no such thing

  /** `page` shows problems and reads things out for the whole site. */
  constructor(page) {
    this.failed = page.failed;
    this.say = page.say;
    this.content = new Content($("content"));
    this.labelling = new Labelling(this);
    this.buttons = new Classes({
      chosen: (label) => this.#answer({ label }),
      isSeen: () => this.#isSeen,
      gone: (name) => this.gone(name),
      say: this.say,
    });
    this.#listen();
    this.#showGuessing();
  }

  async open(project) {
    this.#project = project;
    this.#hasWhy = true;
    this.buttons.forget();
    this.saving(this.labelling.outbox);
    await this.labelling.open(project);
  }

  close() {
    this.labelling.close();
  }

  // What the labelling tells.

  show(item, done) {
    const did = done && (done.action === "label" ? `Labelled ${done.label}` : SAID[done.action]);
    this.#since = performance.now();
    this.buttons.top();
    this.#about(item);
    if (item) {
      this.content.show(item, this.#project);
      requestAnimationFrame(() => setTimeout(() => this.#explain(item))); // first of all it is painted
    } else {
      this.content.message("One moment", "The next item is loading.");
    }
    $("zoom").hidden = !this.content.kind;
    $("actual").hidden = $("fit").hidden = this.content.kind !== "picture";
    const next = item && `Next: ${Content.spoken(item)}`;
    if (did || item) this.say([did, next, item?.unlike && "Unlike anything so far"].filter(Boolean).join(". "));
    if (!document.activeElement?.matches("input, textarea")) $("item").focus({ preventScroll: true });
  }

  /** What is written under the item, or nothing where there is none. */
  #about(item) {
    this.#clearGuess();
    $("item").dataset.key = item?.key ?? "";
    $("item-key").textContent = item?.key ?? "";
    const [why, figures] = item ? whyAsked(item) : ["", ""];
    $("why").textContent = why;
    $("unlike").hidden = !item?.unlike;
    $("figures").textContent = figures;
    $("details").hidden = !figures;
  }

  ahead(items) {
    this.content.pictures.keep(items);
  }

  message(title, text, ...more) {
    this.#about(null);
    this.content.message(title, text, ...more);
    $("zoom").hidden = true;
  }

  /** Nothing is left; `skipped` items might be asked about again. */
  empty(skipped) {
    const text = skipped
      ? `You skipped ${plural(skipped, "item")}. All others have an answer, or somebody else is working on them.`
      : "Every item has an answer, or somebody else is working on it. This page checks again by itself.";
    if ($("content").querySelector(".message p")?.textContent === text) return; // whoever is at a button stays there
    const ask = skipped && h("button.primary", { onclick: () => this.labelling.askSkipped() }, "Show the skipped items again");
    const again = h(skipped ? "button" : "button.primary", { onclick: () => this.labelling.refill() }, "Check again");
    const look = h("a.button", { href: `#project=${encodeURIComponent(this.#project.id)}&view=look` }, "See the results");
    this.message("Nothing left to label", text, h("div.row.centred", skipped > 0 && ask, again, look));
    this.say(`Nothing left to label. ${text}`);
  }

  /** There is no question: for a while, for this person, or because the project is gone. */
  noQuestion(problem) {
    const home = h("div.row.centred", h("a.button.primary", { href: "#" }, "All projects"));
    if (problem.passes) this.message("Not available right now", problem.message);
    else if (problem.status === 404) this.message("Project not found", "It was deleted, or your key does not give access to it.", home);
    else this.message("You cannot label here", problem.message, home);
  }

  /** Somebody pressed the key of a class, or answered with one, that is not where it was. */
  gone(name) {
    const hasMoved = this.#project.classes.includes(name);
    const text = hasMoved ? `“${name}” has moved in the tree of classes. Choose again.` : `The class “${name}” no longer exists. Choose another.`;
    this.failed(new Error(text));
  }

  last(done) {
    const said = done && (done.action === "label" ? done.label : SAID[done.action].toLowerCase());
    $("last").replaceChildren(...(done ? ["Last: ", h("strong", said), ` for ${done.key}`] : []));
  }

  progress(labelled, items) {
    showProgress(labelled, items);
  }

  sitting(sitting) {
    showSitting(sitting);
  }

  model(model) {
    showModel(model);
  }

  search(search) {
    showSearch(search);
  }

  classes(project) {
    const drawn = JSON.stringify([project.classes, project.parents]);
    if (drawn !== this.#drawn) this.#since = performance.now();
    this.#drawn = drawn;
    this.buttons.show(project);
    if (this.labelling.item) this.#explain(this.labelling.item);
  }

  saving({ size, problem }) {
    clearTimeout(this.#slow);
    $("saved").dataset.waiting = size;
    if (size && problem) this.#pill(`Not saved yet: ${plural(size, "answer")}`, "warn", problem.message);
    else if (!size) this.#pill("Saved", "good");
    else this.#slow = setTimeout(() => this.#pill("Saving…", ""), SLOW);
    $("retry").hidden = !(size && problem);
  }

  #pill(text, kind, title = "") {
    const saved = $("saved");
    if (saved.textContent !== text && (kind === "warn" || saved.classList.contains("warn"))) this.say(text);
    saved.textContent = text;
    saved.title = title;
    saved.className = `pill ${kind}`;
    saved.hidden = false;
  }

  // What the model thinks of the item at hand: asked for when it is on the screen, so that nobody waits for it.

  async #explain(item) {
    const isHere = () => this.labelling.item === item;
    if (!isHere() || !Object.keys(item.mean).length) return; // the model does not know it yet
    if (this.content.kind === "text" && this.#hasWhy) this.#markWords(item, isHere);
    if (!GUESSES.value) return;
    try {
      const { predictions } = await call("POST", projectPath(this.#project.id, "predict"), { keys: [item.key] });
      if (!isHere() || !GUESSES.value) return;
      const [{ label, probabilities, nodes }] = predictions;
      this.buttons.likely({ ...nodes, ...probabilities });
      this.#tellGuess(`Guess: ${label}, ${percent(probabilities[label])}`, "unseen"); // the buttons show it
    } catch (problem) {
      if (isHere() && GUESSES.value) this.#tellGuess(`No guess: ${problem.message}`, "guess");
    }
  }

  #tellGuess(text, kind) {
    $("guess").textContent = text;
    $("guess").className = kind;
  }

  async #markWords(item, isHere) {
    try {
      const why = await callIfThere("GET", projectPath(this.#project.id, "why", item.key));
      if (!why) this.#hasWhy = false;
      else if (isHere()) this.content.mark(item, why.parts);
    } catch {
      // The text can be read without.
    }
  }

  #clearGuess() {
    this.#tellGuess("", "guess");
    this.buttons.likely(null);
  }

  #showGuessing() {
    $("show-guess").setAttribute("aria-pressed", String(GUESSES.value));
    document.body.classList.toggle("guessing", GUESSES.value);
  }

  toggleGuess() {
    GUESSES.value = !GUESSES.value;
    this.#showGuessing();
    this.#clearGuess();
    this.say(GUESSES.value ? "Guesses are shown" : "Guesses are hidden");
    if (this.labelling.item) this.#explain(this.labelling.item);
  }

  // Buttons and keys.

  /** Whether people can have seen the item and the classes: else an answer is a bounce, or meant for what was there. */
  get #isSeen() {
    return performance.now() - this.#since >= GLANCE;
  }

  #answer(said) {
    return this.#isSeen && this.labelling.answer(said);
  }

  #listen() {
    const { labelling, content } = this;
    const act = {
      skip: () => this.#answer({ action: "skip" }),
      unsure: () => this.#answer({ action: "unsure" }),
      undo: () => labelling.undo(),
      comment: () => this.#openComment(),
      guess: () => this.toggleGuess(),
      help: () => ($("help").open ? $("help").close() : $("help").showModal()),
      larger: () => content.larger(),
      smaller: () => content.smaller(),
    };
    this.keys = {
      " ": act.skip,
      s: act.skip,
      u: act.unsure,
      z: act.undo,
      Backspace: act.undo,
      c: act.comment,
      g: act.guess,
      "?": act.help,
      "/": () => this.buttons.find(),
      "+": act.larger,
      "-": act.smaller,
      "=": () => content.zoom.toggle(),
    };
    // The second click of a double click is not an answer on the next item.
    const once = (does) => (event) => event.detail < 2 && does();
    for (const name of ["skip", "unsure", "undo"]) $(name).addEventListener("click", once(act[name]));
    for (const name of ["comment", "larger", "smaller"]) $(name).addEventListener("click", act[name]);
    $("show-guess").addEventListener("click", act.guess);
    $("show-help").addEventListener("click", act.help);
    $("close-help").addEventListener("click", act.help);
    $("details").addEventListener("click", () => {
      $("figures").hidden = !$("figures").hidden;
      $("details").ariaExpanded = String(!$("figures").hidden);
    });
    $("fit").addEventListener("click", () => content.zoom.fit());
    $("actual").addEventListener("click", () => content.zoom.actual());
    $("retry").addEventListener("click", () => labelling.outbox.retry());
    // The mouse leaves the focus where it is: after a click the space bar skips, it does not press the button again.
    for (const place of document.querySelectorAll(".controls, .about"))
      place.addEventListener("mousedown", (event) => {
        if (event.target.closest("button")) event.preventDefault();
      });
    this.#listenToComment();
    document.addEventListener("keydown", (event) => this.#pressed(event));
    window.addEventListener("beforeunload", (event) => {
      if (labelling.outbox.size) event.preventDefault();
    });
  }

  #pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (!this.labelling.isOpen || document.querySelector("dialog[open]")) return;
    if (event.target.matches("input, textarea, select")) return;
    if ([" ", "Enter"].includes(event.key) && event.target.matches("button, a")) return; // it presses the button
    if (event.key.startsWith("Arrow")) {
      const [x, y] = { Left: [-1, 0], Right: [1, 0], Up: [0, -1], Down: [0, 1] }[event.key.slice(5)];
      if (this.content.zoom.pan(x, y)) event.preventDefault();
      return;
    }
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const act = this.buttons.of(key) ?? this.keys[key];
    if (!act) return;
    event.preventDefault();
    if (!event.repeat) act(); // a key held down is one answer
  }

  #openComment() {
    if (!this.labelling.item) return;
    $("note").value = "";
    $("commenting").showModal();
  }

  #listenToComment() {
    $("comment-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const note = $("note").value.trim();
      const action = event.submitter?.value ?? "comment";
      if (note && action === "comment") this.labelling.comment(note);
      $("commenting").close();
      if (note && action !== "comment") this.labelling.answer({ action, note });
      $("item").focus();
    });
    $("note").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("comment-form").requestSubmit();
    });
    $("cancel-comment").addEventListener("click", () => $("commenting").close());
  }
}
