// The page: signing in, choosing a project, buttons and keys.

import { call, session } from "./api.js";
import { element } from "./item.js";
import { keysOf } from "./keymap.js";
import { Labelling } from "./labelling.js";

const MANY = 24; // classes from which there is a field to find them
const MOST_BUTTONS = 60;
const LONG = 12; // letters of a name that need a wider button
const SLOW = 400; // milliseconds after which saving is shown

const $ = (id) => document.getElementById(id);
const labelling = new Labelling({ failed, say, savingChanged, classesChanged });
let classKeys = new Map(); // key -> class
let project = null;
let slow = null;
let projectsAfter = "";
let onlyProject = null; // of a key that is good for one

// Signing in: by a link with #key=..., which leaves the address at once, or by the form.

async function route() {
  const given = new URLSearchParams(location.hash.slice(1));
  const wanted = given.get("project");
  if (given.has("key")) {
    session.key = given.get("key");
    history.replaceState(null, "", wanted ? `#project=${encodeURIComponent(wanted)}` : location.pathname);
  }
  failed(null);
  if (!session.key) return show("sign-in");
  try {
    const me = await call("GET", "/me");
    labelling.outbox.retry();
    onlyProject = me.project;
    const chosen = wanted ?? onlyProject;
    if (chosen) await openProject(chosen);
    else await listProjects();
  } catch (problem) {
    failed(problem);
    if (problem.status !== 401) show("projects");
  }
}

function show(id) {
  if (id !== "labelling") {
    labelling.close();
    project = null;
    $("title").textContent = "";
    document.title = "AskNext";
  }
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== id;
  $("show-help").hidden = id !== "labelling";
  $("leave").hidden = id !== "labelling" || onlyProject !== null;
  $("sign-out").hidden = id === "sign-in";
  document.body.classList.toggle("working", id === "labelling");
  if (id === "sign-in") $("key").focus();
}

function failed(problem) {
  $("problem").textContent = problem ? problem.message : "";
  $("problem").hidden = !problem;
  if (problem?.status === 401) {
    session.key = null;
    show("sign-in");
  }
}

function say(text) {
  $("status").textContent = text;
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  session.key = $("key").value.trim();
  $("key").value = "";
  route();
});
$("sign-out").addEventListener("click", () => {
  labelling.close();
  session.key = null;
  history.replaceState(null, "", location.pathname);
  route();
});
for (const id of ["leave", "home"])
  $(id).addEventListener("click", (event) => {
    event.preventDefault();
    if (location.hash) location.hash = "";
    else listProjects().catch(failed);
  });
window.addEventListener("hashchange", route);

// Projects.

async function listProjects() {
  show("projects");
  $("project-list").replaceChildren();
  projectsAfter = "";
  await moreProjects();
  $("project-list").querySelector("a")?.focus();
}

async function moreProjects() {
  const { projects, next } = await call("GET", `/projects?cursor=${encodeURIComponent(projectsAfter)}`);
  for (const one of projects) {
    const link = element("a", "project");
    link.href = `#project=${encodeURIComponent(one.id)}`;
    const n = one.classes.length;
    link.append(element("strong", "", one.name), element("span", "fine", `${n} ${n === 1 ? "class" : "classes"}`));
    const entry = element("li");
    entry.append(link);
    $("project-list").append(entry);
  }
  if (!$("project-list").children.length)
    $("project-list").append(element("li", "fine", "There is no project yet. An administrator can make one: POST /v1/projects."));
  projectsAfter = next ?? "";
  $("more-projects").hidden = !next;
}

async function openProject(id) {
  project = await call("GET", `/projects/${encodeURIComponent(id)}`);
  show("labelling");
  $("title").textContent = project.name;
  document.title = `${project.name} – AskNext`;
  await labelling.open(project);
}

$("more-projects").addEventListener("click", () => moreProjects().catch(failed));

// Classes.

function classesChanged({ classes, settings }) {
  const keys = keysOf(classes);
  classKeys = new Map(classes.map((name, place) => [keys[place], name]).filter(([key]) => key));
  $("find-row").hidden = classes.length < MANY;
  $("new-class").hidden = !(settings.open_classes || !classes.length);
  $("find").value = "";
  $("classes").classList.toggle("long", classes.some((name) => name.length > LONG));
  showClasses();
}

function showClasses() {
  const keys = keysOf(project.classes);
  const sought = $("find").value.trim().toLowerCase();
  const found = project.classes
    .map((name, place) => ({ name, key: keys[place] }))
    .filter(({ name }) => name.toLowerCase().includes(sought));
  const buttons = found.slice(0, MOST_BUTTONS).map(({ name, key }) => {
    const button = element("button", "class");
    button.type = "button";
    button.title = name;
    button.dataset.name = name;
    if (key) {
      button.append(element("kbd", "", key.toUpperCase()));
      button.setAttribute("aria-keyshortcuts", key);
    }
    button.append(element("span", "", name));
    return button;
  });
  if (found.length > MOST_BUTTONS)
    buttons.push(element("p", "fine", `and ${found.length - MOST_BUTTONS} more: type a part of the name`));
  $("classes").replaceChildren(...buttons);
}

function choose(name) {
  const button = [...$("classes").children].find((one) => one.dataset.name === name);
  button?.classList.remove("chosen");
  void button?.offsetWidth; // so that the flash begins anew
  button?.classList.add("chosen");
  labelling.answer(name);
}

// The second click of a double click is not an answer on the next item.
const once = (act) => (event) => {
  if (event.detail < 2) act(event);
};

// The mouse leaves the focus where it is: after a click the space bar skips, it does not press the button again.
document.querySelector(".controls").addEventListener("mousedown", (event) => {
  if (event.target.closest("button")) event.preventDefault();
});

$("classes").addEventListener(
  "click",
  once((event) => {
    const button = event.target.closest("button");
    if (button) choose(button.dataset.name);
  }),
);
$("find").addEventListener("input", showClasses);
$("find").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" && event.key !== "Escape") return;
  const first = $("classes").querySelector("button");
  const name = event.key === "Enter" && $("find").value.trim() ? first?.dataset.name : null;
  event.preventDefault();
  $("find").value = "";
  $("item").focus();
  showClasses();
  if (name) choose(name);
});
$("new-class").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = $("new-class-name").value.trim();
  if (!name) return;
  $("new-class-name").value = "";
  $("item").focus();
  if (!project.classes.includes(name)) project.classes.push(name);
  classesChanged(project);
  choose(name);
});

// Answers by button and by key.

const act = {
  skip: () => labelling.answer(null, "skip"),
  unsure: () => labelling.answer(null, "unsure"),
  undo: () => labelling.undo(),
  guess: () => labelling.toggleGuess(),
  help: () => ($("help").open ? $("help").close() : $("help").showModal()),
  find: () => !$("find-row").hidden && $("find").focus(),
};
const ACTIONS = {
  " ": act.skip,
  s: act.skip,
  u: act.unsure,
  z: act.undo,
  Backspace: act.undo,
  g: act.guess,
  "?": act.help,
  "/": act.find,
  "+": () => labelling.content.zoom(1),
  "-": () => labelling.content.zoom(-1),
  "=": () => labelling.content.zoom(0),
};

for (const name of ["skip", "unsure", "undo"]) $(name).addEventListener("click", once(act[name]));
$("show-guess").addEventListener("click", act.guess);
$("show-help").addEventListener("click", act.help);
$("close-help").addEventListener("click", act.help);
$("zoom-in").addEventListener("click", ACTIONS["+"]);
$("zoom-out").addEventListener("click", ACTIONS["-"]);
$("zoom-fit").addEventListener("click", ACTIONS["="]);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (!labelling.isOpen || $("help").open || event.target.matches("input, textarea, select")) return;
  if (event.key === " " && event.target.matches("button, a")) return; // it presses the button
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const name = classKeys.get(key);
  if (name === undefined && !ACTIONS[key]) return;
  event.preventDefault();
  if (event.repeat) return; // a key held down is one answer
  if (name !== undefined) choose(name);
  else ACTIONS[key]();
});

// What is not saved yet.

function savingChanged({ size, problem }) {
  clearTimeout(slow);
  const count = `${size} ${size === 1 ? "answer" : "answers"}`;
  if (size && problem) pill(`Not saved yet: ${count}`, "warn", problem.message);
  else if (!size) pill("Saved", "good");
  else slow = setTimeout(() => pill("Saving…", ""), SLOW);
  $("retry").hidden = !(size && problem);
}

function pill(text, kind, title = "") {
  if ($("saved").textContent !== text && (kind === "warn" || $("saved").classList.contains("warn"))) say(text);
  $("saved").textContent = text;
  $("saved").title = title;
  $("saved").className = `pill ${kind}`;
  $("saved").hidden = false;
}

$("retry").addEventListener("click", () => labelling.outbox.retry());
window.addEventListener("beforeunload", (event) => {
  if (labelling.outbox.size) event.preventDefault();
});

route();
