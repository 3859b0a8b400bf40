// Keys of annotators: made, shared by a link, revoked.

import { call } from "../api.js";
import { attempt } from "../attempt.js";
import { h, onDay } from "../dom.js";
import { copied } from "./copied.js";

const ROLES = [
  ["annotator", "Annotator: can label"],
  ["reader", "Reader: can only look"],
  ["admin", "Administrator: can do everything"],
];

export async function peopleSection(place, page) {
  const { project } = page;
  const name = h("input", { id: "key-name", required: true, maxLength: 200, autocomplete: "off" });
  const role = h("select", { id: "key-role" }, ROLES.map(([value, text]) => h("option", { value }, text)));
  const made = h("div", { role: "status" });
  const rows = h("tbody");
  const make = h("button.primary", { type: "submit" }, "Create a key");
  const form = h(
    "form.fields",
    h("div.field", h("label", { htmlFor: "key-name" }, "Name"), name),
    h("div.field", h("label", { htmlFor: "key-role" }, "Role in this project"), role),
    make,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(page, make, async () => {
      const key = await call("POST", "/keys", { name: name.value.trim(), role: role.value, project: project.id });
      name.value = "";
      made.replaceChildren(shared(key, page));
      await list();
    });
  });
  const heads = ["Name", "Role", "Access to", "Created", ""].map((text) => h(text === "Created" ? "th.since" : text ? "th" : "td", text));
  const table = h("table.events", h("thead", h("tr", heads)), rows);
  place.replaceChildren(form, made, h("div.scroll", { tabIndex: 0, role: "group", "aria-label": "Keys" }, table));
  await list();

  async function list() {
    const found = [];
    let next = "";
    do {
      const answer = await call("GET", `/keys?cursor=${encodeURIComponent(next)}`);
      found.push(...answer.keys);
      next = answer.next;
    } while (next);
    const here = found.filter((key) => key.project === null || key.project === project.id);
    rows.replaceChildren(...here.map(row));
  }

  function row(key) {
    const revoke = h("button.small.danger", { "aria-label": `Revoke the key of ${key.name}` }, "Revoke");
    revoke.addEventListener("click", () => {
      if (!confirm(`Revoke the key of ${key.name}? It stops working at once. Labels given with it stay.`)) return;
      attempt(page, revoke, async () => {
        await call("DELETE", `/keys/${encodeURIComponent(key.id)}`);
        await list();
      });
    });
    return h(
      key.revoked_at ? "tr.revoked" : "tr",
      h("td", h("strong", key.name)),
      h("td", key.role),
      h("td", key.project ? "this project" : "all projects"),
      h("td.since", onDay(key.created_at)),
      h("td.end", key.revoked_at ? h("span.fine", `revoked ${onDay(key.revoked_at)}`) : revoke),
    );
  }
}

/** A new key as a link that signs its owner in; it is shown this once. */
function shared(key, page) {
  const link = `${location.origin}${location.pathname}${page.address({ key: key.key, project: page.project.id })}`;
  return h(
    "div.made",
    h("p", "Give this link to ", h("strong", key.name), ". It is shown only once. Anyone who has it can sign in with this key."),
    copied(link, `Link for ${key.name}`),
  );
}
