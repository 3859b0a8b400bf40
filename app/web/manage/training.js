// Training now, with or without a search for hyperparameters, and what the model is: as it is, whoever changes it.

import { call, projectPath } from "../api.js";
import { attempt } from "../attempt.js";
import { brief, capital, count, h } from "../dom.js";
import { Progress, watch } from "../jobs.js";

const LOOK_AGAIN = 3000; // milliseconds
const HARDLY = 1e-3; // of the largest weight, below which a channel is hardly used

/** Hyperparameters as pairs of texts; weights have the names of their channels. */
function parameters(found, channels) {
  const weights = Object.entries(found).filter(([name]) => name.startsWith("weight["));
  const largest = Math.max(...weights.map(([, value]) => value));
  const plain = weights.map(([name]) => (weights.length > 1 ? capital(name) : "Weight"));
  const named = channels.length === weights.length ? channels.map(({ name }) => `Weight of ${name}`) : plain;
  const others = Object.entries(found).filter(([name]) => !name.startsWith("weight["));
  return [
    ...weights.map(([, value], i) => [named[i], value < HARDLY * largest ? "hardly used" : brief(value)]),
    ...others.map(([name, value]) => [capital(name), brief(value)]),
  ];
}

export async function trainingSection(place, page, signal) {
  const { project } = page;
  const progress = new Progress("Training");
  const facts = h("dl.pairs");
  const buttons = [button("Tune and train", true), button("Train without tuning", false)];
  let written = ""; // the facts
  let followed = null; // a job
  progress.element.hidden = true;
  place.replaceChildren(
    h("p.fine", "People can keep labelling meanwhile. The service also trains by itself, unless the setting Retrain is “Only when asked”."),
    h("div.row", buttons),
    progress.element,
    facts,
  );
  describe(await look());
  attend();

  function look() {
    return call("GET", projectPath(project.id, "model"));
  }

  /** Trainings may begin elsewhere, and labels come in, as long as this is looked at. */
  async function attend() {
    while (!signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN));
      if (signal.aborted || document.hidden) continue;
      try {
        describe(await look());
      } catch (problem) {
        if (!problem.passes) return;
      }
    }
  }

  function describe(model) {
    const pairs = [
      ["Version", count(model.version)],
      ["Model", model.model ?? "none yet"],
      ["Likelihood", model.likelihood ?? "none yet"],
      ["Kernel", model.kernel ?? "none yet"],
      ["Solver", model.solver ?? "none yet"],
      ...parameters(model.hyperparameters, project.encoder?.channels ?? []),
      ...model.warnings.map((warning) => ["Warning", capital(warning)]),
      ["Labels", `${count(model.labelled)} of ${count(model.items)} items`],
    ];
    const changed = JSON.stringify(pairs);
    if (changed !== written) facts.replaceChildren(...pairs.map(([name, value]) => h("div", h("dt", name), h("dd", value))));
    written = changed;
    if (model.training) follow(model.training);
  }

  function button(text, tune) {
    const made = h("button", { onclick: () => attempt(page, made, train) }, text);
    const train = async () => follow((await call("POST", projectPath(project.id, "train"), { tune })).job);
    return made;
  }

  async function follow(job) {
    if (job === followed) return;
    followed = job;
    progress.element.hidden = false;
    buttons.forEach((one) => (one.disabled = true));
    try {
      if (await watch(project.id, job, progress, signal)) {
        describe(await look());
        progress.show(1, "Trained");
      }
    } catch (problem) {
      progress.show(0, problem.message);
    } finally {
      if (job === followed) buttons.forEach((one) => (one.disabled = false));
    }
  }
}
