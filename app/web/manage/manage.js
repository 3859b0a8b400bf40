// Running a project: people, settings, training, files, classes, the model card.

import { h } from "../dom.js";
import { loadStyle } from "../styles.js";
import { cardSection } from "./card.js";
import { classesSection } from "./classes.js";
import { dangerSection, filesSection } from "./files.js";
import { labelStudioSection } from "./label_studio.js";
import { peopleSection } from "./people.js";
import { settingsSection } from "./settings.js";
import { trainingSection } from "./training.js";

const SECTIONS = [
  ["people", "People and keys", peopleSection],
  ["classes", "Classes", classesSection],
  ["settings", "Settings", settingsSection],
  ["training", "Training", trainingSection],
  ["files", "Import and export", filesSection],
  ["studio", "Label Studio", labelStudioSection],
  ["card", "Model card", cardSection],
  ["danger", "Delete", dangerSection],
];

export async function show(place, page) {
  await Promise.all([loadStyle("css/look.css"), loadStyle("css/projects.css"), loadStyle("css/manage.css")]);
  const stop = new AbortController();
  const sections = SECTIONS.map(([id, title, make]) => {
    const body = h("div.manage-body");
    const section = h("section.card.panel", { id: `manage-${id}`, "aria-labelledby": `title-${id}` }, h("h2", { id: `title-${id}` }, title), body);
    Promise.resolve(make(body, page, stop.signal)).catch((problem) => body.replaceChildren(h("p.fine", problem.message)));
    return section;
  });
  const jump = (id) => (event) => {
    event.preventDefault(); // the address is that of the view
    document.getElementById(`manage-${id}`).scrollIntoView();
  };
  const links = SECTIONS.map(([id, title]) => h("a", { href: "#", onclick: jump(id) }, title));
  place.replaceChildren(h("div.managing", h("nav.contents", { "aria-label": "Sections" }, links), h("div.sections", sections)));
  return () => stop.abort();
}
