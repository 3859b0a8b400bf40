// Settings, as the service describes them.

import { call, projectPath } from "../api.js";
import { attempt } from "../attempt.js";
import { capital, h } from "../dom.js";
import { settingSchemas, valueName } from "./setting_words.js";

const FIRST = [
  ...["goal", "wanted", "target_recall", "risk", "patience", "search"],
  ...["strategy", "variance", "loss", "costs", "explore", "target_accuracy", "overlap", "consensus", "class_weights"],
  ...["lease_seconds", "open_classes", "retrain"],
];
const FIXED = ["columns", "encoder", "encoder_options"]; // of the items that are there

export async function settingsSection(place, page) {
  const { project } = page;
  place.replaceChildren(h("p.fine", "One moment"));
  const known = await settingSchemas();
  const names = Object.keys(known).filter((name) => !FIXED.includes(name));
  const fields = new Map(names.map((name) => [name, field(name, known[name], project.settings[name])]));
  const elements = (wanted) => names.filter((name) => FIRST.includes(name) === wanted).map((name) => fields.get(name).element);
  const project_name = h("input", { id: "rename", required: true, maxLength: 200, value: project.name });
  const save = h("button.primary", { type: "submit" }, "Save");
  const told = h("span.fine", { role: "status" });
  const form = h(
    "form.settings",
    { autocomplete: "off" },
    h("div.setting-grid", h("div.field", h("label", { htmlFor: "rename" }, "Project name"), project_name), elements(true)),
    h("details", h("summary", "Model"), h("p.fine", "A change here trains the model again."), h("div.setting-grid", elements(false))),
    h("div.row", save, told),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    told.textContent = "";
    const changed = [...fields].filter(([name, one]) => one.value !== undefined && !isSame(one.value, project.settings[name]));
    const settings = Object.fromEntries(changed.map(([name, one]) => [name, one.value]));
    attempt(page, save, async () => {
      const change = { name: project_name.value.trim(), settings };
      const answer = await call("PATCH", projectPath(project.id), change).catch((problem) => {
        problem.message = titled(problem.message, known);
        throw problem;
      });
      Object.assign(project, answer);
      document.getElementById("title").textContent = answer.name;
      told.textContent = "Saved";
      document.dispatchEvent(new Event("settings-saved"));
    });
  });
  place.replaceChildren(form);
}

/** { element, value } of one setting; the value is undefined while it is not one. */
function field(name, schema, value) {
  const id = `setting-${name}`;
  const title = schema.title;
  const help = schema.description && h("p.fine", { id: `${id}-help` }, capital(schema.description));
  const common = { id, "aria-describedby": help ? `${id}-help` : null };
  if (schema.type === "boolean") {
    const input = h("input", { ...common, type: "checkbox", checked: value });
    return {
      element: h("div.field", h("label.check", input, title), help),
      get value() {
        return input.checked;
      },
    };
  }
  const input = choices(schema) ? select(common, schema, value) : h("input", { ...common, value: written(value) });
  return {
    element: h("div.field", h("label", { htmlFor: id }, title), input, help),
    get value() {
      return read(input.value.trim(), schema);
    },
  };
}

/** What the service says of a setting, with its title instead of its name. */
function titled(text, known) {
  const named = text.replace(/^Settings: (\w+): /, (all, name) => (name in known ? `${known[name].title}: ` : all));
  return capital(named.replace(/^Settings: /, ""));
}

function select(common, schema, value) {
  const option = (one) => h("option", { value: one ?? "", selected: one === value }, valueName(schema, one) ?? "None");
  return h("select", common, choices(schema).map(option));
}

/** The values a setting may have, if they can be listed. */
function choices({ enum: values, anyOf }) {
  if (values) return values;
  const listed = (anyOf ?? []).map((part) => part.enum ?? (part.type === "boolean" ? [true, false] : part.type === "null" ? [] : null));
  return listed.length && listed.every(Boolean) ? [...listed.flat(), null] : null;
}

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** A value as text: objects as JSON, an empty one as nothing. */
function written(value) {
  if (value === null || typeof value !== "object") return value ?? "";
  return isSame(value, {}) ? "" : JSON.stringify(value);
}

/** What was typed, as the schema has it; what is no JSON stays text, which the service refuses with a reason. */
function read(text, { type, anyOf = [] }) {
  const types = new Set([type, ...anyOf.map((part) => part.type)]);
  if (types.has("object")) {
    try {
      return JSON.parse(text || "{}");
    } catch {
      return text;
    }
  }
  if (!text) return types.has("null") ? null : undefined;
  if (types.has("boolean")) return text === "true";
  const isNumber = (types.has("number") || types.has("integer")) && !Number.isNaN(Number(text));
  return isNumber ? Number(text) : text;
}
