// Classes: added, renamed, merged.

import { call, projectPath } from "../api.js";
import { h } from "../dom.js";

export function classesSection(place, page) {
  const { project } = page;
  const rows = h("tbody");
  const name = h("input", { id: "class-name", required: true, maxLength: 200, autocomplete: "off" });
  const form = h("form.fields", h("div.field", h("label", { htmlFor: "class-name" }, "New class"), name), h("button", { type: "submit" }, "Add"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    change(() => call("POST", projectPath(project.id, "classes"), { name: name.value.trim() })).then(() => (name.value = ""));
  });
  place.replaceChildren(
    h("div.scroll", { tabIndex: 0, role: "group", "aria-label": "Classes" }, h("table.events", rows)),
    form,
  );
  list();

  async function change(act) {
    page.failed(null);
    try {
      const { classes } = await act();
      project.classes = classes;
      list();
    } catch (problem) {
      page.failed(problem);
    }
  }

  function list() {
    rows.replaceChildren(...project.classes.map(row));
    if (!project.classes.length) rows.append(h("tr", h("td.fine", "There are no classes yet.")));
  }

  function row(one) {
    const path = projectPath(project.id, "classes", one);
    const field = h("input", { value: one, maxLength: 200, "aria-label": `Name of ${one}` });
    const rename = () => field.value.trim() && field.value !== one && change(() => call("PATCH", path, { name: field.value.trim() }));
    field.addEventListener("change", rename);
    const others = project.classes.filter((other) => other !== one).map((other) => h("option", { value: other }, other));
    const into = h("select", { "aria-label": `Merge ${one} into` }, h("option", { value: "" }, "Merge into…"), others);
    into.addEventListener("change", () => {
      const question = `Make every label “${one}” a label “${into.value}”? The class “${one}” goes.`;
      if (into.value && confirm(question)) change(() => call("POST", `${path}/merge`, { into: into.value }));
      else into.value = "";
    });
    return h("tr", h("td", field), h("td.merge", others.length > 0 && into));
  }
}
