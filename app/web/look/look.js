// Looking at a project: how good the model is, where it doubts, what people said.

import { callIfThere, projectPath } from "../api.js";
import { accuracyParts, estimateList } from "../advice.js";
import { count, h, percent, plural } from "../dom.js";
import { loadStyle } from "../styles.js";
import { curveChart, foundChart, histogramChart, mapChart } from "./charts.js";
import { historyPanel } from "./history.js";
import { ItemDialog } from "./item_dialog.js";
import { Panel, choice, nothing } from "./panel.js";
import { rankedPanel } from "./ranked.js";

const FEW = 2; // points that make a curve

export async function show(place, page, given) {
  await loadStyle("css/look.css");
  const { project } = page;
  const get = (...path) => callIfThere("GET", projectPath(project.id, ...path));
  const dialog = new ItemDialog(page, () => panels.forEach((panel) => panel.load()));
  const insights = once(() => get("insights"));
  const panels = [
    ...(project.settings.goal === "find" ? [searchPanel(get)] : []),
    accuracyPanel(get, insights, page.address({ project: project.id, view: "card" }), project.settings.goal === "find"),
    curvePanel(insights),
    classesPanel(get, insights),
    mapPanel(project, (key) => dialog.open(key)),
    uncertaintyPanel(insights),
    rankedPanel(project, (item) => dialog.open(item.key)),
    historyPanel(project, (key) => dialog.open(key)),
  ];
  place.replaceChildren(h("div.panels", panels.map(({ element }) => element)), dialog.element);
  panels.forEach((panel) => panel.load());
  if (given.get("item")) dialog.open(given.get("item"));
  return () => panels.forEach((panel) => panel.close());

  /** Several panels share one answer; a reload of all asks again. */
  function once(ask) {
    let answer = null;
    return () => {
      answer ??= ask().finally(() => setTimeout(() => (answer = null)));
      return answer;
    };
  }
}

/** Whether to keep labelling; searches have a panel of their own for that. */
function accuracyPanel(get, insights, card, isSearch) {
  return new Panel(
    isSearch ? "How good is the model?" : "Should you keep labelling?",
    async (body) => {
      const { accuracy = null, estimates = [] } = (await insights()) ?? (await get("model")) ?? {};
      const facts = accuracy?.expected ? accuracyFacts(accuracy) : null;
      const more = h("details", h("summary", "Other estimates"), estimateList(estimates));
      const link = h("p.fine.to-card", h("a", { href: card }, "Model card"));
      if (accuracy) body.replaceChildren(...[...accuracyParts(accuracy), facts, more, link].filter(Boolean));
      else if (isSearch) body.replaceChildren(estimateList(estimates), link);
      else body.replaceChildren(nothing("There is no model yet."));
    },
    { wide: true },
  );
}

function accuracyFacts({ expected, expected_more: later, more, target }) {
  const facts = [
    ["Right today, best guess", percent(expected)],
    [`After ${more} more labels`, percent(later)],
    ["Target", percent(target)],
  ];
  return h("dl.facts", facts.map(([name, value]) => h("div", h("dt", name), h("dd", value))));
}

/** How many of the wanted items were found, and whether that is enough. */
function searchPanel(get) {
  return new Panel(
    "Have you found enough?",
    async (body) => {
      const found = await get("search");
      if (!found) return false;
      const { target, risk } = found.rule;
      const facts = [
        ["Found", count(found.found)],
        ["Expected among the rest", found.expected_left === null ? "–" : `about ${count(Math.round(found.expected_left))}`],
        [`Found at least (${percent(1 - risk)} sure)`, percent(found.lowest_recall)],
        ["Enough from", percent(target)],
        ["Without a label", count(found.left)],
      ];
      const list = h("dl.facts", facts.map(([name, value]) => h("div", h("dt", name), h("dd", value))));
      body.replaceChildren(h(found.stop ? "p.verdict.good" : "p.verdict", found.sentence), list);
      if (!found.labelled) return null;
      const text = `Recall curve: ${count(found.found)} found with ${plural(found.labelled, "label")}`;
      const place = h("div");
      body.append(place);
      return chart(place, text, (canvas) => foundChart(canvas, found.curve));
    },
    { wide: true },
  );
}

function curvePanel(insights) {
  return new Panel("Learning curve", async (body) => {
    const found = await insights();
    if (!found) return false;
    if (found.curve.length < FEW) {
      body.replaceChildren(nothing("The curve starts once some items drawn at random have been labelled."));
      return null;
    }
    return chart(body, curveText(found.curve.at(-1)), (canvas) => curveChart(canvas, found.curve));
  });
}

const curveText = ({ labels, accuracy }) =>
  `Accuracy against labels: ${(100 * accuracy).toFixed(1)} percent at ${plural(labels, "label")}`;

function uncertaintyPanel(insights) {
  return new Panel("Uncertainty of unlabelled items", async (body) => {
    const found = await insights();
    if (!found) return false;
    if (!found.uncertainty?.counts.some(Boolean)) {
      body.replaceChildren(nothing("There is no model yet."));
      return null;
    }
    const total = found.uncertainty.counts.reduce((a, b) => a + b, 0);
    const text = `Histogram of the uncertainty of ${count(total)} items`;
    return chart(body, text, (canvas) => histogramChart(canvas, found.uncertainty));
  });
}

/** How many labels each class has, and how many items the model gives it. */
function classesPanel(get, insights) {
  return new Panel("Classes", async (body) => {
    const found = await insights();
    const counts = found
      ? Object.entries(found.classes)
      : Object.entries((await get("model")).classes).map(([name, labelled]) => [name, { labelled, predicted: null }]);
    if (!counts.length) {
      body.replaceChildren(nothing("There are no classes yet."));
      return;
    }
    const most = Math.max(...counts.map(([, { labelled, predicted }]) => Math.max(labelled, predicted ?? 0)), 1);
    const bar = (n, kind) => h(`span.bar-${kind}`, { style: { width: `${(100 * n) / most}%` } });
    const rows = counts.map(([name, { labelled, predicted }]) =>
      h(
        "tr",
        h("th", { scope: "row", dir: "auto" }, name),
        h("td.bars-cell", { "aria-hidden": "true" }, bar(labelled, "labelled"), predicted !== null && bar(predicted, "predicted")),
        h("td.number", count(labelled)),
        found && h("td.number", predicted === null ? "–" : count(predicted)),
      ),
    );
    const heads = ["Class", "", "Labelled", found && "Guessed"];
    const head = heads.filter((text) => text !== null).map((text) => h(text ? "th" : "td", text));
    body.replaceChildren(h("div.scroll", { tabIndex: 0, role: "group", "aria-label": "Classes" }, h("table.counts", h("thead", h("tr", head)), h("tbody", rows))));
  });
}

const MEANING = {
  class: "Solid points are labelled, pale points are guesses. Click a point to open its item.",
  uncertainty: "The darker a point, the less certain the model. Click a point to open its item.",
};

function mapPanel(project, opened) {
  let by = "class";
  const tools = choice(
    "Colour by",
    [
      ["class", "Class"],
      ["uncertainty", "Uncertainty"],
    ],
    by,
    (chosen) => {
      by = chosen;
      panel.load();
    },
  );
  const panel = new Panel(
    "Map of the items",
    async (body) => {
      const found = await callIfThere("GET", `${projectPath(project.id, "map")}?limit=2000`);
      if (!found) return false;
      if (!found.points.length) {
        body.replaceChildren(nothing("The map appears when the model has been trained."));
        return null;
      }
      const isPart = found.points.length < found.items;
      const what = count(found.points.length) + (isPart ? ` of ${count(found.items)}` : "");
      const text = `Map of ${what} items: items that are similar to the model are close together. The lists below have the same items.`;
      const drawn = await chart(body, text, (canvas) => mapChart(canvas, found.points, project.classes, by, opened));
      const some = isPart && `${what} items are shown, evenly spread; up to half of them are labelled. `;
      body.append(h("p.fine.centred", some, MEANING[by]));
      return drawn;
    },
    { tools: [tools] },
  );
  return panel;
}

/** A canvas with a name, and a chart on it. */
async function chart(body, text, draw) {
  const canvas = h("canvas", { role: "img", "aria-label": text });
  body.replaceChildren(h("div.chart", canvas));
  return draw(canvas);
}
