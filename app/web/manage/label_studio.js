// Label Studio: an address to paste there, how the link goes, and a sync by hand.

import { call, projectPath } from "../api.js";
import { attempt } from "../attempt.js";
import { at, capital, count, h, plural } from "../dom.js";
import { Progress, watch } from "../jobs.js";
import { copied } from "./copied.js";

const FIELDS = [
  ["address", "Address of Label Studio", "http://host:8080"],
  ["token", "Access token", ""],
  ["remote_project", "Project number", "12"],
];

export async function labelStudioSection(place, page, signal) {
  const { project } = page;
  const path = projectPath(project.id, "label-studio");
  const made = h("div", { role: "status" });
  const state = h("div.manage-body");
  place.replaceChildren(
    h("p.fine", "Label in Label Studio, and let AskNext choose the next task there. Create a link here and paste its address into your Label Studio project, under Settings, Model."),
    made,
    state,
  );
  await show();

  async function show() {
    const { link } = await call("GET", path);
    state.replaceChildren(...(link ? linked(link) : [form()]));
  }

  function form() {
    const inputs = FIELDS.map(([name, , hint]) =>
      h("input", { id: `studio-${name}`, name, placeholder: hint, autocomplete: "off", type: name === "token" ? "password" : "text" }),
    );
    const rows = FIELDS.map(([name, title], i) => h("div.field", h("label", { htmlFor: `studio-${name}` }, title), inputs[i]));
    const help = h("p.fine", "Without an address and a token, Label Studio gets predictions, but chooses the next task itself.");
    const make = h("button.primary", { type: "submit" }, "Create a link");
    const element = h("form.fields", rows, make);
    element.addEventListener("submit", (event) => {
      event.preventDefault();
      const [address, token, number] = inputs.map((input) => input.value.trim() || null);
      attempt(page, make, async () => {
        const link = await call("POST", path, { address, token, remote_project: number === null ? null : Number(number) });
        const url = new URL(link.path.slice(1), `${location.origin}${location.pathname}`).href;
        made.replaceChildren(
          h("div.made", h("p", "Paste this address into Label Studio. It is shown only once. Anyone who has it can send labels."), copied(url, "Address for Label Studio")),
        );
        await show();
      });
    });
    return h("div.manage-body", element, help);
  }

  function linked(link) {
    const progress = new Progress("Sync");
    progress.element.hidden = true;
    const sync = h("button", { onclick: () => attempt(page, sync, bring) }, "Sync now");
    const end = h("button.danger", { onclick: () => attempt(page, end, remove) }, "Disconnect");
    return [
      link.problem && h("p.fine", { role: "alert" }, `${capital(link.problem)}.`),
      h("dl.pairs", facts(link).map(([name, value]) => h("div", h("dt", name), h("dd", value)))),
      link.broken.length > 0 && h("ul.fine", link.broken.map(({ task, reason }) => h("li", `Task ${task}: ${reason}`))),
      h("div.row", link.pushes && sync, end),
      progress.element,
    ].filter(Boolean);

    async function bring() {
      sync.disabled = true;
      progress.element.hidden = false;
      try {
        const { job } = await call("POST", `${path}/sync`);
        if (await watch(project.id, job, progress, signal)) await show();
      } finally {
        sync.disabled = false;
      }
    }
  }

  async function remove() {
    if (!confirm("Disconnect from Label Studio? Items and labels stay. The address stops working at once.")) return;
    await call("DELETE", path);
    made.replaceChildren();
    await show();
  }
}

function facts(link) {
  const waiting = link.waiting_tasks + link.waiting_annotations;
  return [
    ["Label Studio", link.address ? `${link.address}, project ${link.remote_project ?? "not known yet"}` : `project ${link.remote_project ?? "not known yet"}`],
    ["Chooses the next task", link.pushes ? "AskNext" : "Label Studio"],
    ["Tasks", `${count(link.tasks)}${link.broken_tasks ? `, ${count(link.broken_tasks)} could not be read` : ""}`],
    ["Annotations", `${count(link.annotations)}${link.refused_annotations ? `, ${count(link.refused_annotations)} with a choice that is not a class` : ""}`],
    waiting > 0 && ["Waiting to be read", plural(waiting, "message")],
    link.pushed_at && ["Tasks last ordered", `${at(link.pushed_at)}, by ${link.pushed_version}`],
    link.synced_at && ["Last sync", at(link.synced_at)],
  ].filter(Boolean);
}
