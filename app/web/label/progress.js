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
  $("advice").replaceChildren(...(entries.length ? entries : [h("li.fine", "It has seen too few labels to tell.")]));
  const kernel = model.kernel?.split(":")[0];
  const parts = [`Version ${count(model.version)}`, kernel && `kernel ${kernel}`, model.training && "training now"];
  $("model").textContent = [...parts, model.degraded].filter(Boolean).join(" · ");
}

const BECAUSE = {
  random: "drawn at random",
  mean: "it is closest to the border between classes",
  variance: "the model knows least about it",
  unc: "the model is least certain of it",
  "unc+": "it is near the border, and the model knows it well",
  entropy: "its classes are the most evenly likely",
  bald: "its label would tell most about the model",
  emoc: "its label would change most predictions",
  density: "the model is uncertain of it, and many are like it",
  herding: "it stands for many others",
  resumed: "you had it at hand",
  again: "you took your answer back",
  overlap: "others have labelled it, and one more opinion is wanted",
};
const UNSCORED = ["random", "resumed", "again", "overlap"];

/** Why somebody is asked about this item: a sentence, and the figures behind it. */
export function whyAsked({ strategy, explored, score, version, degraded }) {
  if (degraded) return ["Drawn at random", "there is no model to choose by"];
  if (explored) return ["Drawn at random", `to keep estimates honest · model ${count(version)}`];
  const figures = UNSCORED.includes(strategy) ? "" : `${strategy}, score ${brief(score)} · `;
  return [`Asked because ${BECAUSE[strategy] ?? `${strategy} chose it`}`, `${figures}model ${count(version)}`];
}
