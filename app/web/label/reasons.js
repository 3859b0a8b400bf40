// Why somebody is asked about an item, in a sentence.

import { brief, count } from "../dom.js";

const CHOSEN_BY = {
  mean: "it is closest to a border between classes",
  variance: "the model knows least about it",
  novelty: "it is the most unlike anything labelled so far",
  unc: "the model is least certain of it",
  "unc+": "it is near a border between classes, among items that the model knows well",
  entropy: "its classes are almost equally likely",
  bald: "its label would teach the model most",
  emoc: "its label would change the most predictions",
  density: "the model is uncertain of it, and many items are like it",
  herding: "it is typical of many others",
  uherding: "it is typical of many others that the model is uncertain of",
  eer: "its label would leave the fewest mistakes to expect",
  epig: "its label would tell most about the others",
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
  if (degraded) return ["Drawn at random, because the model could not choose", ""];
  const model = `model version ${count(version)}`;
  if (explored) return ["Drawn at random, for a fair estimate of the accuracy", model];
  if (strategy in OTHER_REASONS) return [OTHER_REASONS[strategy], model];
  const why = CHOSEN_BY[strategy];
  return [why ? `Asked because ${why}` : `Chosen by ${strategy}`, `${strategy}, score ${brief(score)} · ${model}`];
}
