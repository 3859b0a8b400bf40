// Labelling one project: the item at hand, one ahead, answers by key, undo.

import { call } from "./api.js";
import { guessed, showModel, showProgress, showSitting } from "./estimates.js";
import { Content, element, prefetch } from "./item.js";
import { Outbox } from "./outbox.js";

const DEPTH = 2; // items at hand: the one shown and the one after it
const LOOK_AGAIN = 15_000; // milliseconds until an empty hand asks again
const AWAY = 600_000; // without a sign of life, items are no longer kept from others
const ANSWERS_PER_REFRESH = 5;
const WHY = { resumed: "", again: "undone, so asked again", overlap: "others have labelled it, too" };

const $ = (id) => document.getElementById(id);

export class Labelling {
  #project = null;
  #queue = [];
  #shown = null; // its lease
  #busy = false;
  #filling = false;
  #history = [];
  #sitting = { labels: 0, skips: 0, times: [] };
  #labelled = 0;
  #items = 0;
  #sinceRefresh = 0;
  #alive = Date.now();
  #timers = [];
  #again = null;

  /** `failed(problem)` shows an error, `say(text)` reads it out, `savingChanged(outbox)` shows what is not saved yet,
      `classesChanged(project)` shows the classes. */
  constructor({ failed, say, savingChanged, classesChanged }) {
    this.told = { failed, say, classesChanged };
    this.content = new Content($("content"));
    this.outbox = new Outbox({
      saved: (entry, answer) => this.#saved(entry, answer),
      refused: (entry, problem) => this.#refused(entry, problem),
      changed: () => savingChanged(this.outbox),
    });
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel"])
      document.addEventListener(name, () => (this.#alive = Date.now()), { passive: true });
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.#heartbeat();
    });
  }

  get isOpen() {
    return this.#project !== null;
  }

  async open(project) {
    this.close();
    this.#project = project;
    this.#history = [];
    this.#sitting = { labels: 0, skips: 0, times: [] };
    showSitting(this.#sitting);
    this.#showLast();
    this.told.classesChanged(project);
    this.content.message("One moment", "Looking for the best question.");
    const beat = Math.min(Math.max(project.settings.lease_seconds / 3, 0.5), 120);
    this.#timers = [
      setInterval(() => this.#heartbeat(), 1000 * beat),
      setInterval(() => this.#sinceRefresh && this.#refresh(), 30_000),
    ];
    this.#refresh();
    await this.#refill();
  }

  /** Leave the project; what is at hand goes back to the others. */
  close() {
    if (!this.#project) return;
    for (const item of this.#queue) call("DELETE", this.#path(`/leases/${item.lease.id}`)).catch(() => {});
    this.#timers.forEach(clearInterval);
    clearTimeout(this.#again);
    this.#queue = [];
    this.#remember();
    this.#project = this.#shown = null;
  }

  /** Answer with a label, or with the action "skip" or "unsure". The next item is there at once. */
  answer(label, action = "label") {
    if (this.#busy || this.#filling || !this.#queue.length) return;
    const item = this.#queue.shift();
    const entry = { key: item.key, lease: item.lease.id };
    if (action === "label") entry.label = label;
    else entry.action = action;
    const body = { labels: [entry] };
    const missing = DEPTH - this.#queue.length - this.outbox.expected;
    if (missing > 0) body.next = { count: missing };
    this.#history.push({ key: item.key, label, action });
    this.#count(action, 1);
    this.told.failed(null);
    this.told.say(action === "label" ? `Labelled ${label}` : action === "skip" ? "Skipped" : "Unsure");
    this.outbox.add(this.#path("/labels"), body, item);
    this.#show();
  }

  /** Take the last answer back: here if it was not sent, else by the service. */
  async undo() {
    if (this.#busy || this.#filling || !this.#project) return;
    const unsent = this.outbox.takeBack();
    if (unsent?.item) {
      this.#queue.unshift(unsent.item);
      this.#undone();
      return;
    }
    this.#busy = true;
    const project = this.#project;
    try {
      if (this.outbox.problem) this.told.say("Undo waits until your last answer is saved");
      await this.outbox.drained();
      const { items } = await call("POST", this.#path("/undo"));
      if (project !== this.#project) return;
      const last = this.#history.at(-1)?.key;
      const again = items[0] ?? this.#queue.find((item) => item.key === last);
      if (again) this.#queue = [again, ...this.#queue.filter((item) => item.key !== again.key)];
      if (this.#history.at(-1)?.action === "label") this.#labelled -= 1;
      if (!this.#history.length) this.#refresh();
      this.#undone();
      if (!again) await this.#refill();
    } catch (problem) {
      if (problem.status === 0) await this.#lostUndo();
      else this.told.failed(problem);
    } finally {
      this.#busy = false;
    }
  }

  async toggleGuess() {
    const item = this.#queue[0];
    if (!item || !$("guess").hidden) {
      this.#hideGuess();
      return;
    }
    try {
      const { predictions } = await call("POST", this.#path("/predict"), { keys: [item.key] });
      if (this.#queue[0] !== item) return;
      $("guess").replaceChildren(element("h3", "", "The model's guess"), guessed(predictions[0]));
    } catch (problem) {
      if (this.#queue[0] !== item) return;
      $("guess").replaceChildren(element("h3", "", "The model has no guess"), element("p", "fine", problem.message));
    }
    $("guess").hidden = false;
    $("show-guess").setAttribute("aria-expanded", "true");
  }

  #path(rest) {
    return `/projects/${encodeURIComponent(this.#project.id)}${rest}`;
  }

  #isHere(entry) {
    return this.#project !== null && entry.path === this.#path("/labels");
  }

  #saved(entry, answer) {
    if (!this.#isHere(entry)) return;
    const [said] = entry.body.labels;
    if (said.label !== undefined) this.#labelled += 1;
    if (answer.late.length) this.told.say("You had this item for long; the answer was stored all the same");
    if (!this.#filling) this.#take(answer.items); // else they are among what this person holds
    showProgress(this.#labelled, this.#items);
    this.#sinceRefresh += 1;
    if (this.#sinceRefresh >= ANSWERS_PER_REFRESH) this.#refresh();
    if (!this.#queue.length && !this.outbox.size) this.#refill();
  }

  /** The service did not take an answer and never will: the person must know, and decide again. */
  async #refused(entry, problem) {
    this.told.failed(problem);
    if (!this.#isHere(entry)) return;
    this.#count(this.#history.pop()?.action, -1);
    if (entry.item) this.#queue.unshift(entry.item);
    this.#show();
    await this.#reload();
    if (!this.#queue.length && !this.outbox.size) this.#refill();
  }

  #undone() {
    this.#count(this.#history.pop()?.action, -1);
    this.told.failed(null);
    this.told.say("Undone");
    showProgress(this.#labelled, this.#items);
    this.#show();
  }

  /** Nobody knows whether an undo came through. Answered items are not held: if the last one is, it was undone. */
  async #lostUndo() {
    const last = this.#history.at(-1)?.key;
    const project = this.#project;
    this.told.say("The service cannot be reached: undo waits");
    while (!(await this.#refill(this.#queue.length + 1))) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      if (project !== this.#project) return;
    }
    const place = this.#queue.findIndex((item) => item.key === last);
    if (place >= 0) {
      this.#queue.unshift(...this.#queue.splice(place, 1));
      this.#undone();
      this.#refresh();
    } else {
      this.told.failed(new Error("The service could not be reached, and nothing was undone. Try again."));
    }
  }

  /** First what this person holds already, in the order it was in; then new items. Tells whether that worked. */
  async #refill(count = 0) {
    if (this.#filling) return false;
    this.#filling = true;
    clearTimeout(this.#again);
    const project = this.#project;
    const order = this.#remembered();
    try {
      await this.outbox.drained();
      if (project !== this.#project) return false;
      const wanted = { count: Math.max(DEPTH, order.length, count), resume: true };
      const { items, degraded } = await call("POST", this.#path("/query"), wanted);
      if (project !== this.#project) return false;
      const place = (item) => (order.indexOf(item.key) + 1 || order.length + 1) - 1;
      this.#queue = [];
      this.#take([...items].sort((a, b) => place(a) - place(b)));
      $("why").title = degraded ? "There is no model to choose by: items are drawn at random." : "";
      if (!items.length) {
        this.#nothing();
        this.#again = setTimeout(() => this.#refill(), LOOK_AGAIN);
      }
      return true;
    } catch (problem) {
      if (project !== this.#project) return false;
      if (problem.status === 401) this.told.failed(problem);
      else if (!this.#queue.length) this.#noQuestion(problem);
      return false;
    } finally {
      this.#filling = false;
    }
  }

  #noQuestion(problem) {
    this.content.message(problem.passes ? "Not now" : "You cannot label here", problem.message);
    const wait = Math.max(1000 * problem.retryAfter, 2000);
    if (problem.passes) this.#again = setTimeout(() => this.#refill(), wait);
  }

  #nothing() {
    const again = element("button", "primary", "Look again");
    again.type = "button";
    again.addEventListener("click", () => this.#refill());
    const text = "Every item is answered, or somebody else has it at hand. This page looks again by itself.";
    this.content.message("Nothing to ask", text, again);
    this.#refresh();
  }

  #take(items) {
    const have = new Set([...this.#queue, ...this.outbox.entries.flatMap((entry) => entry.body.labels)].map((e) => e.key));
    this.#queue.push(...items.filter((item) => !have.has(item.key)));
    this.#show();
  }

  #show() {
    this.#remember();
    this.#queue.slice(1).forEach(prefetch);
    const item = this.#queue[0];
    if (item && item.lease.id === this.#shown) return;
    this.#hideGuess();
    this.#shown = item?.lease.id ?? null;
    const isPicture = item ? this.content.show(item) : false;
    if (!item) this.content.message("One moment", "The next question is on its way.");
    $("zoom").hidden = !isPicture;
    $("item-key").textContent = item?.key ?? "";
    $("why").textContent = item ? why(item) : "";
    $("item").dataset.key = item?.key ?? "";
    this.#showLast();
    if (!document.activeElement?.matches("input")) $("item").focus({ preventScroll: true });
  }

  #showLast() {
    const last = this.#history.at(-1);
    const said = last && (last.action === "label" ? last.label : last.action === "skip" ? "skipped" : "unsure");
    $("last").replaceChildren();
    if (last) $("last").append("Last: ", element("strong", "", said), ` for ${last.key}`);
  }

  #hideGuess() {
    $("guess").hidden = true;
    $("guess").replaceChildren();
    $("show-guess").setAttribute("aria-expanded", "false");
  }

  #count(action, by) {
    if (action === "label") this.#sitting.labels += by;
    else if (action) this.#sitting.skips += by;
    if (by > 0) this.#sitting.times.push(Date.now());
    this.#sitting.times.splice(0, this.#sitting.times.length - 200);
    showSitting(this.#sitting);
  }

  async #refresh() {
    const project = this.#project;
    this.#sinceRefresh = 0;
    try {
      const model = await call("GET", this.#path("/model"));
      if (project !== this.#project) return;
      this.#labelled = model.labelled;
      this.#items = model.items;
      showProgress(this.#labelled, this.#items);
      showModel(model);
      const known = new Set(project.classes);
      const names = Object.keys(model.classes);
      if (names.length !== known.size || names.some((name) => !known.has(name))) await this.#reload();
    } catch {
      // It is only for information: the next time will do.
    }
  }

  /** Others may have changed the classes. */
  async #reload() {
    const project = this.#project;
    try {
      const { classes } = await call("GET", this.#path(""));
      if (project !== this.#project) return;
      project.classes = classes;
      this.told.classesChanged(project);
    } catch {
      // Later.
    }
  }

  /** Keep the items at hand, as long as somebody is there. */
  async #heartbeat() {
    const project = this.#project;
    if (!project || Date.now() - this.#alive > AWAY) return;
    for (const item of [...this.#queue]) {
      try {
        await call("POST", this.#path(`/leases/${item.lease.id}`));
      } catch (problem) {
        const held = this.#queue.some((other) => other.lease.id === item.lease.id);
        if (project !== this.#project || problem.status !== 404 || !held || this.#busy) continue;
        if (this.#shown === item.lease.id) this.told.say("This item was given back while you were away");
        await this.#refill();
        return;
      }
      if (project !== this.#project) return;
    }
  }

  #remember() {
    sessionStorage.setItem(`asknext.queue.${this.#project.id}`, JSON.stringify(this.#queue.map((item) => item.key)));
  }

  #remembered() {
    return JSON.parse(sessionStorage.getItem(`asknext.queue.${this.#project.id}`)) ?? [];
  }
}

function why({ strategy, explored }) {
  return WHY[strategy] ?? (explored ? "drawn at random" : `chosen by ${strategy}`);
}
