// Items worth a look: the model doubts them, was surprised by them, people differ on them, or nothing is like them.

import { callIfThere, projectPath } from "../api.js";
import { h, percent } from "../dom.js";
import { Pictures } from "../item/pictures.js";
import { Panel, choice, nothing } from "./panel.js";
import { thumb } from "./thumb.js";

const KINDS = [
  ["uncertain", "Most uncertain"],
  ["surprising", "Most surprising"],
  ["disagreed", "Disagreements"],
  ["unlike", "Most unlike"],
];
const NONE = {
  uncertain: "Nothing to show. Once two classes have labels, the items without a label appear here.",
  surprising: "No surprises. Labels that contradict the model’s guess appear here.",
  disagreed: "No disagreements. Items that people have labelled differently appear here.",
  unlike: "Nothing to show. Once there are labels, the items that are the least like them appear here.",
};
const SHOWN = 24;

export function rankedPanel(project, opened) {
  let by = "uncertain";
  const pictures = new Pictures();
  const tools = choice("Which items", KINDS, by, (chosen) => {
    by = chosen;
    panel.load();
  });
  const panel = new Panel(
    "Items worth a look",
    async (body) => {
      const found = await callIfThere("GET", `${projectPath(project.id, "ranked")}?by=${by}&limit=${SHOWN}`);
      if (!found) return false;
      pictures.keep([]);
      const entries = found.items.map((item) =>
        h(
          "li",
          h("button.ranked", { onclick: () => opened(item) }, thumb(item, pictures), h("span.ranked-words", words(item, by))),
        ),
      );
      body.replaceChildren(entries.length ? h("ul.ranking", entries) : nothing(NONE[by]));
      return () => pictures.keep([]);
    },
    { wide: true, tools: [tools] },
  );
  return panel;
}

/** What is remarkable, in a line or two. */
function words(item, by) {
  if (by === "disagreed") return item.votes.map(({ annotator, label }) => h("span", `${annotator}: ${label}`));
  const guess = item.predicted !== null && h("span", `Guess ${item.predicted}`, item.probability !== null && `, ${percent(item.probability)}`);
  if (by === "unlike") return [h("span", `Novelty ${percent(item.score)}`), guess];
  return [item.label !== null && h("strong", item.label), guess];
}
