// The page as a whole: signing in, addresses, and which view is open.

import { call, projectPath, session } from "./api.js";
import { $, h } from "./dom.js";
import { Screen } from "./label/screen.js";

const VIEWS = {
  projects: () => import("./projects/list.js"),
  new: () => import("./projects/create.js"),
  start: () => import("./projects/start.js"),
  look: () => import("./look/look.js"),
  manage: () => import("./manage/manage.js"),
  card: () => import("./manage/card.js"),
};

const TRY_AGAIN = 2000; // milliseconds

const page = { me: null, project: null, failed, say, go, address };
const screen = new Screen(page);
let shown = null; // the address that is open, as a text
let leave = null; // of the view that is open
let lostFor = null; // the address and message that were shown when it could not be opened
let again = null; // a timer until it is tried again

/** An address within the page: address({ project, view }). */
function address(parts) {
  const given = Object.entries(parts).filter(([, value]) => value);
  return `#${new URLSearchParams(given)}`;
}

function go(parts) {
  location.hash = address(parts);
}

function failed(problem) {
  $("problem").textContent = problem ? problem.message : "";
  $("problem").hidden = !problem;
  if (problem) $("problem").scrollIntoView({ block: "nearest" });
  if (problem?.status === 401) {
    session.key = null;
    shown = null;
    open("sign-in");
    $("key").focus();
  }
}

function say(text) {
  $("status").textContent = text;
}

// Signing in: by a link with #key=..., which leaves the address at once, or by the form.

async function route() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.has("key")) {
    session.key = given.get("key");
    page.me = null;
    given.delete("key");
    history.replaceState(null, "", given.size ? `#${given}` : location.pathname);
  }
  if (shown === location.hash && page.me) return;
  const here = (shown = location.hash);
  clearTimeout(again);
  failed(null);
  if (!session.key) {
    open("sign-in");
    $("key").focus();
    return;
  }
  const id = given.get("project");
  try {
    const [me, found] = await Promise.all([page.me ?? call("GET", "/me"), id && call("GET", projectPath(id))]);
    const project = found || (me.project && (await call("GET", projectPath(me.project)))) || null;
    if (here !== location.hash) return; // somebody was faster
    Object.assign(page, { me, project });
    lostFor = null;
    screen.labelling.outbox.retry();
    await openView(given);
  } catch (problem) {
    if (here !== location.hash) return;
    shown = null;
    if (problem.status === 401) failed(problem);
    else lost(problem, id);
  }
}

/** An address that cannot be opened: why, what to do, and where to go; what may pass is tried again. */
function lost(problem, id) {
  const isGone = problem.status === 404;
  if (isGone || page.project?.id !== id) page.project = null;
  const failure = `${location.hash} ${problem.message}`;
  if (failure !== lostFor) {
    const title = isGone ? "Project not found" : problem.passes ? "Not available right now" : "This cannot be opened";
    const text = isGone
      ? "It was deleted, or your key does not give access to it."
      : `${problem.message}${problem.passes ? " This page tries again by itself." : ""}`;
    const retry = h(isGone ? "button" : "button.primary", { onclick: route }, "Try now");
    const home = location.hash && h(isGone ? "a.button.primary" : "a.button", { href: "#" }, "All projects");
    open("view");
    $("view").append(h("div.card.narrow", h("div", { role: "alert" }, h("h2", title), h("p", text)), h("div.row", !isGone && retry, home || null)));
  }
  lostFor = failure;
  if (problem.passes) again = setTimeout(route, Math.max(1000 * problem.retryAfter, TRY_AGAIN));
}

async function openView(given) {
  const here = location.hash;
  const first = page.me.role === "reader" ? "look" : "label";
  const wanted = given.get("view") ?? (page.project ? first : "projects");
  if (wanted === "label" && page.project) {
    open("labelling", wanted);
    await screen.open(page.project);
    return;
  }
  const { show } = await (VIEWS[wanted] ?? VIEWS.projects)();
  if (here !== location.hash) return;
  open("view", wanted);
  const end = await show($("view"), page, given);
  if (here === location.hash) leave = end ?? null;
  else end?.();
}

/** Which section is seen, and what the bar on top says. */
function open(section, view = null) {
  leave?.();
  leave = null;
  screen.close();
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  $("view").replaceChildren();
  $("view").className = view ?? "";
  for (const one of document.querySelectorAll("main > section")) one.hidden = one.id !== section;
  const project = section === "sign-in" ? null : page.project;
  $("title").textContent = project?.name ?? "AskNext";
  $("title").classList.toggle("unseen", !project);
  document.title = project ? `${project.name} – AskNext` : "AskNext";
  $("views").hidden = !project;
  for (const name of ["label", "look", "manage"]) {
    $(`to-${name}`).href = project ? address({ project: project.id, view: name }) : "#";
    $(`to-${name}`).ariaCurrent = name === view ? "page" : null;
  }
  $("to-label").hidden = page.me?.role === "reader";
  $("to-manage").hidden = page.me?.role !== "admin";
  $("show-help").hidden = section !== "labelling";
  $("saved").hidden = !(section === "labelling" || screen.labelling.outbox.size);
  $("sign-out").hidden = section === "sign-in";
  document.body.classList.toggle("working", section === "labelling");
  window.scrollTo(0, 0);
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  session.key = $("key").value.trim();
  page.me = null;
  shown = null;
  $("key").value = "";
  route();
});
$("sign-out").addEventListener("click", () => {
  screen.close(); // with the key, so that others get what was at hand
  session.key = null;
  page.me = page.project = null;
  shown = null;
  history.replaceState(null, "", location.pathname);
  route();
});
$("home").addEventListener("click", (event) => {
  event.preventDefault();
  go({});
});
$("to-main").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").focus();
});
window.addEventListener("hashchange", route);
window.addEventListener("online", () => lostFor && route());
// A file that is dropped where nobody takes it must not take the place of the page.
for (const name of ["dragover", "drop"]) window.addEventListener(name, (event) => event.preventDefault());

route();
