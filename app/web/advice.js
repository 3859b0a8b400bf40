// How good the model is: estimates with their intervals, and whether to stop.

import { capital, h, percent } from "./dom.js";

/** A bar from low to high, and a mark at the estimate. */
export function range({ low, high, value }) {
  return h(
    "div.range",
    { "aria-hidden": "true" },
    h("span.span", { style: { left: `${100 * low}%`, width: `${100 * (high - low)}%` } }),
    h("span.mark", { style: { left: `${100 * value}%` } }),
  );
}

/** Every estimate with its reason. */
export function adviceList(advice) {
  return h(
    "ul.advice",
    advice.map((one) =>
      h(
        one.stop ? "li.enough" : "li",
        h("div.advice-head", h("span", capital(one.name)), h("strong", one.value === null ? "–" : percent(one.value))),
        one.low !== null && one.high !== null && range(one),
        h("p.fine", capital(one.reason).replaceAll(" %", "\u00a0%")),
      ),
    ),
  );
}
