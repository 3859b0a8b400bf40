// Beside the item: progress, and in a word how good the model is.

import { $, capital, count, h, percent } from "../dom.js";
import { range } from "../advice.js";

export function showProgress(labelled, items) {
  $("labelled").textContent = count(labelled);
  $("items").textContent = count(items);
  $("progress").max = Math.max(items, 1);
  $("progress").value = labelled;
}

export function showSitting(sitting) {
  $("sitting").textContent = count(sitting.labels);
  $("skipped").textContent = count(sitting.skips);
  $("unsure-count").textContent = count(sitting.unsure);
  $("rate").textContent = sitting.rate ?? "–";
}

export function showModel(model) {
  const entries = model.advice
    .filter(({ value }) => value !== null)
    .map((advice) =>
      h(
        advice.stop ? "li.enough" : "li",
        { title: capital(advice.reason) },
        h("div.advice-head", h("span", capital(advice.name)), h("strong", percent(advice.value))),
        advice.low !== null && advice.high !== null && range(advice),
      ),
    );
  $("advice").replaceChildren(...(entries.length ? entries : [h("li.fine", "There are too few labels to tell.")]));
  const kernel = KERNELS[model.kernel?.split(":")[0]];
  const parts = [`Version ${count(model.version)}`, kernel, model.training && "training now"];
  $("model").textContent = [...parts, model.degraded].filter(Boolean).join(" · ");
}

/** How far the search for all items of a class has come, in a sentence; null where there is none. */
export function showSearch(search) {
  $("search").textContent = search?.sentence ?? "";
  $("search").classList.toggle("good", Boolean(search?.stop));
}

const KERNELS = { hik: "intersection kernel", rbf: "RBF kernel", linear: "linear kernel" };
