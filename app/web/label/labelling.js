// Labelling one project, apart from how it looks: the item at hand, those ahead, answers, undo.

import { call, projectPath } from "../api.js";
import { Outbox } from "./outbox.js";
import { Sitting } from "./sitting.js";

const DEPTH = 3; // items at hand: the one shown and those after it
const LOOK_AGAIN = 15_000; // milliseconds until an empty hand asks again
const AWAY = 600_000; // without a sign of life, items are no longer kept from others
const ANSWERS_PER_REFRESH = 5;
const REFRESH = 30_000; // milliseconds

export class Labelling {
  #project = null;
  #queue = [];
  #shown = null; // its lease
  #busy = false;
  #filling = false;
  #history = [];
  #labelled = 0;
  #items = 0;
  #skipped = null; // what might be asked again: { items, until }, when nothing else is left
  #skippedUntil = 0; // the event up to which skipped items are asked again
  #sinceRefresh = 0;
  #answers = 0; // given and taken back
  #alive = Date.now();
  #timers = [];
  #again = null;

  /** The screen shows everything that people must see, by its methods show, message, empty, noQuestion, last, progress, model,
      sitting, saving, classes, gone, failed, say. */
  constructor(screen) {
    this.screen = screen;
    this.outbox = new Outbox({
      saved: (entry, answer) => this.#saved(entry, answer),
      refused: (entry, problem) => this.#refused(entry, problem),
      changed: () => screen.saving(this.outbox),
    });
    for (const name of ["keydown", "pointerdown", "pointermove", "wheel"])
      document.addEventListener(name, () => (this.#alive = Date.now()), { passive: true });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden || !this.#project) return;
      this.#heartbeat();
      this.#refresh(); // others, or another tab, may have changed the classes
    });
  }

  get isOpen() {
    return this.#project !== null;
  }

  /** The item that is shown. */
  get item() {
    return this.#queue[0] ?? null;
  }

  async open(project) {
    this.close();
    this.#project = project;
    this.#history = [];
    this.#labelled = this.#items = this.#skippedUntil = 0;
    this.sitting = new Sitting(project.id);
    this.screen.sitting(this.sitting);
    this.screen.last(null);
    this.screen.classes(project);
    this.screen.message("One moment", "Choosing the best item to ask about.");
    const beat = Math.min(Math.max(project.settings.lease_seconds / 3, 0.5), 120);
    this.#timers = [
      setInterval(() => this.#heartbeat(), 1000 * beat),
      setInterval(() => document.hidden || this.#refresh(), REFRESH),
    ];
    this.#refresh();
    await this.refill();
  }

  /** Leave the project; what is at hand goes back to the others. */
  close() {
    if (!this.#project) return;
    for (const item of this.#queue) call("DELETE", this.#path("leases", item.lease.id)).catch(() => {});
    this.#timers.forEach(clearInterval);
    clearTimeout(this.#again);
    this.#queue = [];
    this.#remember();
    this.#project = this.#shown = null;
  }

  /** Answer with { label }, or with { action: "skip" or "unsure", note }, and tell whether that was taken. The next item
      is there at once. */
  answer(said) {
    if (this.#busy || this.#filling || !this.#queue.length) return false;
    const item = this.#queue.shift();
    const body = { labels: [{ key: item.key, lease: item.lease.id, ...said }] };
    const missing = DEPTH - this.#queue.length - this.outbox.expected;
    if (missing > 0) body.next = { count: missing, ...this.#alsoSkipped };
    const done = { key: item.key, label: said.label, action: said.action ?? "label" };
    this.#history.push(done);
    this.#count(done.action, 1);
    this.screen.failed(null);
    this.outbox.add(this.#path("labels"), body, item);
    this.#show(done);
    return true;
  }

  /** Ask about what this person has skipped so far; what they skip from now on is left alone. */
  askSkipped() {
    this.#skippedUntil = this.#skipped?.until ?? 0;
    return this.refill();
  }

  get #alsoSkipped() {
    return this.#skippedUntil ? { skipped_until: this.#skippedUntil } : {};
  }

  /** Say something about the item at hand, which stays there. */
  comment(note) {
    if (!this.item) return;
    this.outbox.add(this.#path("labels"), { labels: [{ key: this.item.key, action: "comment", note }] });
    this.screen.say("Comment added");
  }

  /** Take the last answer back: here if it was not sent, else by the service. */
  async undo() {
    if (this.#busy || this.#filling || !this.#project) return;
    const unsent = this.outbox.takeBack();
    if (unsent) {
      if (unsent.item) this.#queue.unshift(unsent.item);
      this.#undone();
      if (!unsent.item) await this.refill(); // it was not kept over a reload
      return;
    }
    this.#busy = true;
    const project = this.#project;
    try {
      if (this.outbox.problem) this.screen.say("Your last answer is saved first, then it is undone");
      await this.outbox.drained();
      const answer = await call("POST", this.#path("undo"));
      if (project !== this.#project) return;
      const last = this.#history.at(-1)?.key;
      const again = asked(answer)[0] ?? this.#queue.find((item) => item.key === last);
      if (again) this.#queue = [again, ...this.#queue.filter((item) => item.key !== again.key)];
      if (this.#history.at(-1)?.action === "label") this.#labelled -= 1;
      if (!this.#history.length) this.#refresh();
      this.#undone();
      if (!again) await this.refill();
    } catch (problem) {
      if (problem.status === 0) await this.#lostUndo();
      else this.screen.failed(problem);
    } finally {
      this.#busy = false;
    }
  }

  /** First what this person holds already, in the order it was in; then new items. Tells whether that worked. */
  async refill(wanted = 0) {
    if (this.#filling) return false;
    this.#filling = true;
    clearTimeout(this.#again);
    const project = this.#project;
    const order = this.#remembered();
    try {
      await this.outbox.drained();
      if (project !== this.#project) return false;
      const ask = { count: Math.max(DEPTH, order.length, wanted), resume: true, ...this.#alsoSkipped };
      const answer = await call("POST", this.#path("query"), ask);
      if (project !== this.#project) return false;
      const place = (item) => order.findIndex(({ key }) => key === item.key);
      const rank = (item) => (place(item) < 0 ? order.length : place(item));
      const items = asked(answer).map((item) => ({ ...item, ...(item.strategy === "resumed" && order[place(item)]) }));
      this.#queue = [];
      this.#take(items.sort((a, b) => rank(a) - rank(b)));
      if (!items.length) {
        this.#skipped = answer.skipped;
        this.#skippedUntil = 0;
        this.screen.empty(answer.skipped?.items ?? 0);
        this.#refresh();
        this.#again = setTimeout(() => this.refill(), LOOK_AGAIN);
      }
      return true;
    } catch (problem) {
      if (project !== this.#project) return false;
      if (problem.status === 401) this.screen.failed(problem);
      else if (!this.#queue.length) this.#noQuestion(problem);
      return false;
    } finally {
      this.#filling = false;
    }
  }

  #path(...rest) {
    return projectPath(this.#project.id, ...rest);
  }

  #isHere(entry) {
    return this.#project !== null && entry.path === this.#path("labels");
  }

  #saved(entry, answer) {
    const [said] = entry.body.labels;
    if (!this.#isHere(entry) || said.action === "comment") return;
    if (said.label !== undefined) this.#labelled += 1;
    if (answer.late.length) this.screen.say("The time to answer was over, but your answer was saved");
    if (!this.#filling) this.#take(asked(answer)); // else they are among what this person holds
    this.screen.progress(this.#labelled, this.#items);
    this.#sinceRefresh += 1;
    if (this.#sinceRefresh >= ANSWERS_PER_REFRESH) this.#refresh();
    if (!this.#queue.length && !this.outbox.size) this.refill();
  }

  /** The service did not take an answer and never will: the person must know, and decide again. */
  async #refused(entry, problem) {
    const [{ label, action }] = entry.body.labels;
    if (!this.#isHere(entry) || action === "comment") {
      this.screen.failed(problem);
      return;
    }
    const project = this.#project;
    this.#count(this.#history.pop()?.action, -1);
    if (entry.item) this.#queue.unshift(entry.item);
    this.#show();
    await this.#reload();
    if (project !== this.#project) return;
    if (label !== undefined && !project.classes.includes(label)) this.screen.gone(label);
    else if (this.#queue.length) this.screen.failed(problem);
    if (!this.#queue.length && !this.outbox.size) this.refill();
  }

  #undone() {
    this.#count(this.#history.pop()?.action, -1);
    this.screen.failed(null);
    this.screen.progress(this.#labelled, this.#items);
    this.#show({ action: "undo" });
  }

  /** Nobody knows whether an undo came through. Answered items are not held: if the last one is, it was undone. */
  async #lostUndo() {
    const last = this.#history.at(-1)?.key;
    const project = this.#project;
    this.screen.say("The service cannot be reached. Undo is tried again");
    while (!(await this.refill(this.#queue.length + 1))) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      if (project !== this.#project) return;
    }
    const place = this.#queue.findIndex((item) => item.key === last);
    if (place >= 0) {
      this.#queue.unshift(...this.#queue.splice(place, 1));
      this.#undone();
      this.#refresh();
    } else {
      this.screen.failed(new Error("Nothing was undone, because the service could not be reached. Try again."));
    }
  }

  #noQuestion(problem) {
    this.screen.noQuestion(problem);
    const wait = Math.max(1000 * problem.retryAfter, 2000);
    if (problem.passes) this.#again = setTimeout(() => this.refill(), wait);
  }

  #take(items) {
    const known = [...this.#queue, ...this.outbox.entries.flatMap((entry) => entry.body.labels)];
    const have = new Set(known.map(({ key }) => key));
    this.#queue.push(...items.filter((item) => !have.has(item.key)));
    this.#show();
  }

  /** The first of the queue, if it is another than before; `done` is what led to it. */
  #show(done = null) {
    this.#remember();
    const lease = this.item?.lease.id ?? null;
    const isNew = !this.item || lease !== this.#shown;
    this.#shown = lease;
    if (isNew) {
      this.screen.last(this.#history.at(-1) ?? null);
      this.screen.show(this.item, done);
    }
    this.screen.ahead(this.#queue);
  }

  #count(action, by) {
    this.#answers += 1;
    this.sitting.count(action, by);
    this.screen.sitting(this.sitting);
  }

  async #refresh() {
    const project = this.#project;
    this.#sinceRefresh = 0;
    try {
      const before = this.#settled();
      const model = await call("GET", this.#path("model"));
      if (project !== this.#project) return;
      // While answers are on their way nobody knows which of them the number includes: then we go on counting.
      if (this.#items === 0 || (before !== null && before === this.#settled())) this.#labelled = model.labelled;
      this.#items = model.items;
      this.screen.progress(this.#labelled, this.#items);
      this.screen.model(model);
      const search = project.settings.goal === "find" ? await call("GET", this.#path("search")) : null;
      if (project !== this.#project) return;
      this.screen.search(search);
      const known = new Set(project.classes);
      const names = Object.keys(model.classes);
      if (names.length !== known.size || names.some((name) => !known.has(name))) await this.#reload();
    } catch {
      // It is only for information: the next time will do.
    }
  }

  /** How many answers were given, if all of them are saved, else null. */
  #settled() {
    return this.outbox.size || this.#busy ? null : this.#answers;
  }

  /** Others may have changed the classes. */
  async #reload() {
    const project = this.#project;
    try {
      const { classes, parents } = await call("GET", this.#path());
      if (project !== this.#project) return;
      Object.assign(project, { classes, parents });
      this.screen.classes(project);
    } catch (problem) {
      // Later; in a project that is gone there is nothing to answer.
      if (project === this.#project && problem.status === 404) this.#queue = [];
    }
  }

  /** Keep the items at hand, as long as somebody is there. */
  async #heartbeat() {
    const project = this.#project;
    if (!project || Date.now() - this.#alive > AWAY) return;
    for (const item of [...this.#queue]) {
      try {
        await call("POST", this.#path("leases", item.lease.id));
      } catch (problem) {
        const held = this.#queue.some((other) => other.lease.id === item.lease.id);
        if (project !== this.#project || problem.status !== 404 || !held || this.#busy) continue;
        if (this.#shown === item.lease.id) this.screen.say("The time to answer ran out while you were away: you get another item");
        await this.refill();
        return;
      }
      if (project !== this.#project) return;
    }
  }

  /** The order of items and why each was chosen, which the service does not keep. */
  #remember() {
    const kept = this.#queue.map(({ key, strategy, score, explored, version }) => ({ key, strategy, score, explored, version }));
    sessionStorage.setItem(`asknext.queue.${this.#project.id}`, JSON.stringify(kept));
  }

  #remembered() {
    return JSON.parse(sessionStorage.getItem(`asknext.queue.${this.#project.id}`)) ?? [];
  }
}

/** The items of an answer, each with the version of the model that chose it. */
function asked({ items, model_version: version, degraded }) {
  return items.map((item) => ({ ...item, version, degraded }));
}
