// Beside the item: progress, and in a word how good the model is.

import { $, count } from "../dom.js";
import { accuracyParts } from "../advice.js";

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
  const parts = model.accuracy ? accuracyParts(model.accuracy) : [];
  $("accuracy").replaceChildren(...parts.filter(Boolean));
  const kernel = KERNELS[model.kernel?.split(":")[0]];
  const facts = [`Version ${count(model.version)}`, kernel, model.training && "training now"];
  $("model").textContent = [...facts, model.degraded].filter(Boolean).join(" · ");
}

/** How far the search for all items of a class has come, in a sentence; null where there is none. */
export function showSearch(search) {
  $("search").textContent = search?.sentence ?? "";
  $("search").classList.toggle("good", Boolean(search?.stop));
}

const KERNELS = { hik: "intersection kernel", rbf: "RBF kernel", linear: "linear kernel" };
