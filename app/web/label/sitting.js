// What somebody did since they sat down: kept over a reload, not over the closing of the tab.

const KEPT = 100; // times of answers
const MINUTE = 60_000;
const COUNTED = { label: "labels", skip: "skips", unsure: "unsure" };
const PAUSE = 1_800_000; // milliseconds without an answer that end a sitting

export class Sitting {
  constructor(project) {
    this.name = `asknext.sitting.${project}`;
    const stored = JSON.parse(sessionStorage.getItem(this.name));
    const isOver = !stored?.times.length || Date.now() - stored.times.at(-1) > PAUSE;
    Object.assign(this, { labels: 0, skips: 0, unsure: 0, times: [] }, isOver ? {} : stored);
  }

  /** One more answer, or one less. */
  count(action, by) {
    const name = COUNTED[action];
    if (name) this[name] = Math.max(this[name] + by, 0);
    if (by > 0) this.times.push(Date.now());
    this.times.splice(0, this.times.length - KEPT);
    const { labels, skips, unsure, times } = this;
    sessionStorage.setItem(this.name, JSON.stringify({ labels, skips, unsure, times }));
  }

  /** Answers a minute of late, or null. */
  get rate() {
    const recent = this.times.filter((time) => time > Date.now() - MINUTE);
    const span = recent.length > 1 ? (recent.at(-1) - recent[0]) / MINUTE : 0;
    return span > 0 ? Math.round((recent.length - 1) / span) : null;
  }
}
