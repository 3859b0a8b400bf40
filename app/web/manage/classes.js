// Classes: added, renamed, moved in their tree, merged.

import { call, projectPath } from "../api.js";
import { attempt } from "../attempt.js";
import { h } from "../dom.js";
import { inOrder } from "../tree.js";

export function classesSection(place, page, signal) {
  const { project } = page;
  const rows = h("tbody");
  const name = h("input", { id: "class-name", required: true, maxLength: 200, autocomplete: "off" });
  const add = h("button", { type: "submit" }, "Add");
  const form = h("form.fields", h("div.field", h("label", { htmlFor: "class-name" }, "New class"), name), add);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await change(add, () => call("POST", projectPath(project.id, "classes"), { name: name.value.trim() }))) name.value = "";
  });
  document.addEventListener("settings-saved", list, { signal });
  place.replaceChildren(
    h("div.scroll", { tabIndex: 0, role: "group", "aria-label": "Classes" }, h("table.events", rows)),
    form,
  );
  list();

  function change(control, act) {
    const done = async () => {
      Object.assign(project, await act());
      list();
    };
    return attempt(page, control, done, form); // another change may have made the rows anew in the meantime
  }

  function list() {
    rows.replaceChildren(...inOrder(project).map(({ name: one, depth }) => row(one, depth)));
    if (!project.classes.length) rows.append(h("tr", h("td.fine", "There are no classes yet.")));
  }

  function row(one, depth) {
    const path = projectPath(project.id, "classes", one);
    const field = h("input", { value: one, maxLength: 200, "aria-label": `Name of ${one}` });
    const rename = () => field.value.trim() && field.value !== one && change(field, () => call("PATCH", path, { name: field.value.trim() }));
    field.addEventListener("change", rename);
    const others = project.classes.filter((other) => other !== one);
    const option = (other) => h("option", { value: other }, other);
    const into = h("select", { "aria-label": `Merge ${one} into` }, h("option", { value: "" }, "Merge into…"), others.map(option));
    into.addEventListener("change", async () => {
      const question = `Change every label “${one}” to “${into.value}” and remove the class “${one}”?`;
      if (into.value && confirm(question)) await change(into, () => call("POST", `${path}/merge`, { into: into.value }));
      into.value = "";
    });
    const hasTree = project.settings.likelihood === "softmax" && others.length > 0;
    return h(
      "tr",
      h("td", { style: { paddingInlineStart: `${1.5 * depth}rem` } }, field),
      hasTree && h("td.merge", parent(one, others.map(option))),
      h("td.merge", others.length > 0 && into),
    );
  }

  /** What a class is a kind of. */
  function parent(one, options) {
    const above = h("select", { "aria-label": `${one} is a kind of` }, h("option", { value: "" }, "Top level"), options);
    above.value = project.parents[one] ?? "";
    above.addEventListener("change", async () => {
      await change(above, () => call("PATCH", projectPath(project.id, "classes", one), { parent: above.value || null }));
      above.value = project.parents[one] ?? ""; // as it was, if that could not be
    });
    return above;
  }
}
