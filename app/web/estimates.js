// Progress, and how good the model is.

import { element } from "./item.js";

const $ = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");
const percent = (share) => `${(100 * share).toFixed(share > 0.995 && share < 1 ? 2 : 1)} %`;

export function showProgress(labelled, items) {
  $("labelled").textContent = whole.format(labelled);
  $("items").textContent = whole.format(items);
  $("progress").max = Math.max(items, 1);
  $("progress").value = labelled;
}

export function showSitting({ labels, skips, times }) {
  $("sitting").textContent = whole.format(labels);
  $("skipped").textContent = whole.format(skips);
  const minute = Date.now() - 60_000;
  const recent = times.filter((time) => time > minute);
  const span = recent.length > 1 ? (recent.at(-1) - recent[0]) / 60_000 : 0;
  $("rate").textContent = span > 0 ? Math.round((recent.length - 1) / span) : "–";
}

export function showModel(model) {
  const entries = model.advice.map((advice) => {
    const entry = element("li", advice.stop ? "enough" : "");
    const head = element("div", "advice-head");
    const value = advice.value === null ? "–" : percent(advice.value);
    head.append(element("span", "", capital(advice.name)), element("strong", "", value));
    entry.append(head);
    if (advice.low !== null && advice.high !== null) entry.append(range(advice));
    entry.append(element("p", "fine", capital(advice.reason)));
    return entry;
  });
  if (!entries.length) entries.push(element("li", "fine", "There is no model yet."));
  $("advice").replaceChildren(...entries);
  const kernel = model.kernel?.split(":")[0];
  const parts = [`Version ${whole.format(model.version)}`, kernel && `kernel ${kernel}`, model.training && "training now"];
  $("model").textContent = [...parts, model.degraded].filter(Boolean).join(" · ");
  $("model").title = model.kernel ?? ""; // how it was chosen
}

/** A bar from low to high. */
function range({ low, high, value }) {
  const bar = element("div", "range");
  const span = element("span", "span");
  span.style.left = `${100 * low}%`;
  span.style.width = `${100 * (high - low)}%`;
  const mark = element("span", "mark");
  mark.style.left = `${100 * value}%`;
  bar.append(span, mark);
  return bar;
}

/** The classes the model thinks of, the likeliest first. */
export function guessed({ probabilities }) {
  const best = Object.entries(probabilities)
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3);
  const list = element("ol", "guesses");
  for (const [name, probability] of best) {
    const entry = element("li");
    const bar = element("span", "share");
    bar.style.width = `${100 * probability}%`;
    entry.append(element("span", "name", name), element("span", "value", percent(probability)), bar);
    list.append(entry);
  }
  return list;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
