// All projects that a key is good for.

import { call } from "../api.js";
import { h, onDay, plural } from "../dom.js";
import { loadStyle } from "../styles.js";

const NAMED = 6; // classes that are named

export async function show(place, page) {
  await loadStyle("css/projects.css");
  const list = h("ul.projects");
  const more = h("button", { hidden: true, onclick: () => load().catch(page.failed) }, "More");
  const mayCreate = page.me.role === "admin" && !page.me.project;
  const create = mayCreate && h("a.button.primary", { href: page.address({ view: "new" }) }, "New project");
  place.replaceChildren(h("div.column", h("div.spread", h("h2.view-title", "Projects"), create), list, more));
  let after = "";

  async function load() {
    const { projects, next } = await call("GET", `/projects?cursor=${encodeURIComponent(after)}`);
    list.append(...projects.map(entry));
    after = next ?? "";
    more.hidden = !next;
    if (!list.children.length) list.append(nothing());
  }

  function entry(project) {
    const names = project.classes.slice(0, NAMED).join(", ") + (project.classes.length > NAMED ? ", …" : "");
    return h(
      "li",
      h(
        "a.project.card",
        { href: page.address({ project: project.id }) },
        h("strong", project.name),
        h("span.fine", names || "No classes yet"),
        h("span.fine.when", `${plural(project.classes.length, "class", "classes")} · ${onDay(project.created_at)}`),
      ),
    );
  }

  function nothing() {
    const text = mayCreate
      ? "Drop a file with pictures, texts or numbers, and start labelling."
      : "Your key is good, but there is nothing to label. Ask whoever gave it to you.";
    return h("li.card.nothing", h("h3", "There is no project yet"), h("p.fine", text));
  }

  await load();
}
