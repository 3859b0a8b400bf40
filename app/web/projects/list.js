// All projects that a key is good for.

import { call } from "../api.js";
import { h, onDay, plural } from "../dom.js";
import { dropAnywhere } from "../jobs.js";
import { loadStyle } from "../styles.js";

const NAMED = 6; // classes that are named

export async function show(place, page) {
  await loadStyle("css/projects.css");
  const list = h("ul.projects");
  const more = h("button", { hidden: true, onclick: () => load().catch(page.failed) }, "Show more");
  const mayCreate = page.me.role === "admin" && !page.me.project;
  const create = mayCreate && h("a.button.primary", { href: page.address({ view: "new" }) }, "New project");
  const hint = mayCreate && h("p.fine.drop-hint", "Drop a file of pictures, texts or numbers anywhere on this page to create a project from it.");
  const column = h("div.column", h("div.spread", h("h2.view-title", "Projects"), create), list, more, hint);
  const stop = new AbortController();
  place.replaceChildren(column);
  if (mayCreate) dropAnywhere(column, begin, stop.signal);
  let after = "";

  function begin(file) {
    page.dropped = file;
    page.go({ view: "new" });
  }

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
      ? "Create one to start labelling."
      : "Your key works, but there is nothing to label yet. Ask the person who gave it to you.";
    return h("li.card.nothing", h("h3", "No projects yet"), h("p.fine", text));
  }

  try {
    await load();
  } catch (problem) {
    stop.abort();
    throw problem;
  }
  return () => stop.abort();
}
