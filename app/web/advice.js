// How good the model is: what items drawn at random show, and what else can be said.

import { capital, h, percent } from "./dom.js";

const kept = (text) => text.replaceAll(" %", "\u00a0%");

/** A bar from low to high, and a mark at the estimate. */
export function range({ low, high, value }) {
  return h(
    "div.range",
    { "aria-hidden": "true" },
    h("span.span", { style: { left: `${100 * low}%`, width: `${100 * (high - low)}%` } }),
    h("span.mark", { style: { left: `${100 * value}%` } }),
  );
}

/** Whether to keep labelling, and what was seen of the accuracy. */
export function accuracyParts(accuracy) {
  return [
    h(accuracy.stop ? "p.verdict.good" : "p.verdict", kept(accuracy.advice)),
    accuracy.low !== null && range({ low: accuracy.low, high: 1, value: accuracy.value }),
    h("p.seen", kept(accuracy.sentence)),
  ];
}

/** Every other estimate with what it means. */
export function estimateList(estimates) {
  return h(
    "ul.estimates",
    estimates.map((one) =>
      h(
        "li",
        h("div.estimate-head", h("span", capital(one.name)), h("strong", one.value === null ? "–" : percent(one.value))),
        one.low !== null && one.high !== null && range(one),
        h("p.fine", kept(capital(one.meaning))),
      ),
    ),
  );
}
