// Answers on their way: sent one after the other, each again and again with the same key until the service has it.

import { call } from "../api.js";

const STORED = "asknext.outbox";
const FIRST_WAIT = 500; // milliseconds; doubles with each failure
const LONGEST_WAIT = 15_000;

export class Outbox {
  #entries = load();
  #running = false;
  #failures = 0;
  #wake = null; // ends a wait
  #idle = []; // callers that wait until everything is saved

  /** `saved(entry, answer)`, `refused(entry, problem)` and `changed()` are called with what becomes of answers. */
  constructor({ saved, refused, changed }) {
    this.on = { saved, refused, changed };
    this.problem = null; // of the last try, if it failed
    window.addEventListener("online", () => this.retry());
  }

  get entries() {
    return this.#entries;
  }

  get size() {
    return this.#entries.length;
  }

  /** Items that answers on their way will bring. */
  get expected() {
    return this.#entries.reduce((sum, entry) => sum + (entry.body.next?.count ?? 0), 0);
  }

  add(path, body, item) {
    this.#entries.push({ id: randomKey(), path, body, item, tries: 0 });
    this.#changed();
    this.#run();
  }

  /** Take back the last answer if it was never sent; null if it was. Comments are no answers. */
  takeBack() {
    const last = this.#entries.findLast((entry) => entry.body.labels[0].action !== "comment");
    if (!last || last.tries > 0) return null;
    this.#entries = this.#entries.filter((entry) => entry !== last);
    this.#changed();
    return last;
  }

  retry() {
    this.#wake?.();
    this.#run();
  }

  /** Resolves when nothing is on its way. */
  drained() {
    this.#run();
    return this.size ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve();
  }

  async #run() {
    if (this.#running) return;
    this.#running = true;
    while (this.#entries.length) {
      const entry = this.#entries[0];
      entry.tries += 1;
      this.#store();
      let answer;
      try {
        answer = await call("POST", entry.path, entry.body, { "Idempotency-Key": entry.id });
      } catch (problem) {
        if (!(await this.#failed(entry, problem))) break;
        continue;
      }
      this.#failures = 0;
      this.problem = null;
      this.#entries.shift();
      this.#changed();
      this.on.saved(entry, answer);
    }
    this.#running = false;
    if (!this.size) this.#idle.splice(0).forEach((resolve) => resolve());
  }

  /** Whether to go on. */
  async #failed(entry, problem) {
    if (problem.status === 401) {
      this.problem = problem;
      this.#changed();
      return false; // until there is another key
    }
    if (!problem.passes) {
      this.#entries.shift();
      this.#changed();
      this.on.refused(entry, problem);
      return true;
    }
    this.problem = problem;
    this.#changed();
    const wait = Math.max(1000 * problem.retryAfter, Math.min(FIRST_WAIT * 2 ** this.#failures++, LONGEST_WAIT));
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wait);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
    return true;
  }

  #changed() {
    this.#store();
    this.on.changed();
  }

  /** A reload must not lose answers; what was looked at need not be kept. */
  #store() {
    const kept = this.#entries.map(({ id, path, body, tries }) => ({ id, path, body, tries }));
    try {
      sessionStorage.setItem(STORED, JSON.stringify(kept));
    } catch {
      // Storage is full or forbidden: they are still in memory.
    }
  }
}

function load() {
  try {
    return JSON.parse(sessionStorage.getItem(STORED)) ?? [];
  } catch {
    return [];
  }
}

function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
