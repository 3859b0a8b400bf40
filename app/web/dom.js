// Making elements, and writing numbers and times. Text is never read as HTML.

export const $ = (id) => document.getElementById(id);

/** An element: h("a.project", { href: "#" }, "text", child). Objects are attributes, null and false are left out. */
export function h(what, ...parts) {
  const [name, ...classes] = what.split(".");
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(" ");
  if (name === "button") made.type = "button";
  for (const part of parts.flat(Infinity)) {
    if (part === null || part === undefined || part === false) continue;
    if (Object.getPrototypeOf(part) === Object.prototype) set(made, part);
    else made.append(part);
  }
  return made;
}

function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(made.style, value);
    else if (name === "dataset") Object.assign(made.dataset, value);
    else if (name in made) made[name] = value;
    else if (value !== false) made.setAttribute(name, value === true ? "" : value);
  }
}

const SVG = "http://www.w3.org/2000/svg";

/** An element of a drawing. */
export function svg(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export const count = (n) => whole.format(n);
export const brief = (x) => short.format(x);
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
export const percent = (share) => `${(100 * share).toFixed(share > 0.995 && share < 1 ? 2 : 1)}\u00a0%`;
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export const onDay = (time) => day.format(new Date(time));
export const at = (time) => moment.format(new Date(time));
export const bytes = (n) => (n < 1e6 ? `${brief(n / 1e3)} kB` : `${brief(n / 1e6)} MB`);

/** A choice that is kept in this browser. */
export function kept(name, otherwise) {
  const key = `asknext.${name}`;
  return {
    get value() {
      try {
        return JSON.parse(localStorage.getItem(key)) ?? otherwise;
      } catch {
        return otherwise;
      }
    },
    set value(chosen) {
      try {
        localStorage.setItem(key, JSON.stringify(chosen));
      } catch {
        // Storage is forbidden: it holds for this page only.
      }
    },
  };
}
