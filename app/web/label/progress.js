// Beside the item: progress, and in a word how good the model is.

import { $, brief, capital, count, h, percent } from "../dom.js";
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

const CHOSEN_BY = {
  mean: "it is closest to a border between classes",
  variance: "the model knows least about it",
  unc: "the model is least certain of it",
  "unc+": "it is near a border between classes, among items that the model knows well",
  entropy: "its classes are almost equally likely",
  bald: "its label would teach the model most",
  emoc: "its label would change the most predictions",
  density: "the model is uncertain of it, and many items are like it",
  herding: "it is typical of many others",
  likely: "it is the most likely of all to be one that you are looking for",
};
const OTHER_REASONS = {
  random: "Drawn at random",
  sample: "Drawn at random, to find out how many are left",
  resumed: "You were already working on this one",
  again: "You undid your answer on this one",
  overlap: "Others have labelled this one, and another opinion is needed",
};

/** Why somebody is asked about this item: a sentence, and the figures behind it. */
export function whyAsked({ strategy, explored, score, version, degraded }) {
  if (degraded) return ["Drawn at random, because there is no model yet", ""];
  const model = `model version ${count(version)}`;
  if (explored) return ["Drawn at random, for a fair estimate of the accuracy", model];
  if (strategy in OTHER_REASONS) return [OTHER_REASONS[strategy], model];
  const why = CHOSEN_BY[strategy];
  return [why ? `Asked because ${why}` : `Chosen by ${strategy}`, `${strategy}, score ${brief(score)} · ${model}`];
}
