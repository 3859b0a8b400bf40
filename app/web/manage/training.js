// Training now, with or without a search for hyperparameters.

import { call, projectPath } from "../api.js";
import { brief, capital, count, h } from "../dom.js";
import { Progress, watch } from "../jobs.js";

export async function trainingSection(place, page, signal) {
  const { project } = page;
  const progress = new Progress("Training");
  const facts = h("dl.pairs");
  const buttons = [
    h("button", { onclick: () => train(true) }, "Tune and train"),
    h("button", { onclick: () => train(false) }, "Train only"),
  ];
  progress.element.hidden = true;
  place.replaceChildren(
    h("p.fine", "People go on labelling in the meantime. The service trains by itself, unless the setting retrain is off."),
    h("div.row", buttons),
    progress.element,
    facts,
  );
  const { training } = await describe();
  if (training) follow(training);

  async function describe() {
    const model = await call("GET", projectPath(project.id, "model"));
    const pairs = [
      ["Version", count(model.version)],
      ["Model", model.model ?? "none yet"],
      ["Kernel", model.kernel ?? "none yet"],
      ["Solver", model.solver ?? "none yet"],
      ...Object.entries(model.hyperparameters).map(([name, value]) => [capital(name), brief(value)]),
      ...model.warnings.map((warning) => ["Warning", capital(warning)]),
      ["Labels", `${count(model.labelled)} of ${count(model.items)} items`],
    ];
    facts.replaceChildren(...pairs.map(([name, value]) => h("div", h("dt", name), h("dd", value))));
    return model;
  }

  async function train(tune) {
    page.failed(null);
    try {
      const { job } = await call("POST", projectPath(project.id, "train"), { tune });
      await follow(job);
    } catch (problem) {
      page.failed(problem);
    }
  }

  async function follow(job) {
    progress.element.hidden = false;
    buttons.forEach((button) => (button.disabled = true));
    try {
      if (await watch(project.id, job, progress, signal)) {
        progress.show(1, "Trained");
        await describe();
      }
    } catch (problem) {
      progress.show(0, problem.message);
    } finally {
      buttons.forEach((button) => (button.disabled = false));
    }
  }
}
