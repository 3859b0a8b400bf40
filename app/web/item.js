// An item as people see it. Everything in it was sent by somebody: it is shown as text, and pictures only if they are.

const PICTURE = /^data:image\/(png|jpeg|gif|webp)[;,]/i;
const STEP = 1.25;
const MOST = 16;
const SMALL = 256; // pixels to which small pictures are enlarged

/** The address of a picture, or null: data of a known kind, or a path on this very server. */
export function pictureOf(item) {
  const image = item.data?.image;
  if (typeof image !== "string") return null;
  if (PICTURE.test(image)) return image;
  if (!image.startsWith("/")) return null;
  try {
    const url = new URL(image, location.origin);
    return url.origin === location.origin ? url.href : null;
  } catch {
    return null;
  }
}

/** Load a picture before it is needed. */
export function prefetch(item) {
  const source = pictureOf(item);
  if (source) new Image().src = source;
}

export function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Fills `place` with an item; tells whether there is a picture to zoom. */
export class Content {
  #zoom = 1;
  #image = null;

  constructor(place) {
    this.place = place;
    new ResizeObserver(() => this.#fit()).observe(place);
    drag(place);
  }

  show(item) {
    const parts = [];
    const data = item.data ?? {};
    const source = pictureOf(item);
    this.#image = source ? this.#picture(source, item.key) : null;
    if (this.#image) parts.push(this.#image);
    if (typeof data.text === "string") {
      const text = element("p", "text", data.text);
      text.dir = "auto";
      parts.push(text);
    }
    const rest = Object.entries(data).filter(
      ([name, value]) => !(name === "image" && source) && !(name === "text" && typeof value === "string"),
    );
    if (rest.length) parts.push(table(rest));
    if (!parts.length) parts.push(element("p", "text mono", item.key));
    this.place.replaceChildren(...parts);
    this.place.classList.toggle("pictured", this.#image !== null);
    this.place.scrollTo(0, 0);
    this.zoom(0);
    return this.#image !== null;
  }

  message(title, text, ...more) {
    this.#image = null;
    const box = element("div", "message");
    box.append(element("h2", "", title), element("p", "", text), ...more);
    this.place.replaceChildren(box);
    this.place.classList.remove("pictured");
  }

  /** Larger for 1, smaller for -1, to fit for 0. */
  zoom(direction) {
    this.#zoom = direction ? Math.min(Math.max(this.#zoom * STEP ** direction, 1 / MOST), MOST) : 1;
    this.#fit();
  }

  #picture(source, key) {
    const image = element("img", "picture");
    image.alt = `Picture of ${key}`;
    image.draggable = false;
    image.addEventListener("load", () => this.#fit());
    image.addEventListener("error", () => image.replaceWith(element("p", "fine", "The picture cannot be shown.")));
    image.src = source;
    return image;
  }

  #fit() {
    const image = this.#image;
    if (!image?.naturalWidth) return;
    const style = getComputedStyle(this.place);
    const width = this.place.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const height = this.place.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    const alone = image.nextSibling === null ? 1 : 0.6; // leave room for words
    const most = Math.max(1, SMALL / Math.max(image.naturalWidth, image.naturalHeight));
    const fit = Math.min(width / image.naturalWidth, (height * alone) / image.naturalHeight, most);
    const scale = Math.max(fit, 0.01) * this.#zoom;
    image.style.width = `${Math.round(image.naturalWidth * scale)}px`;
    image.style.imageRendering = scale >= 2 ? "pixelated" : "auto";
  }
}

function table(entries) {
  const made = element("table", "data");
  for (const [name, value] of entries) {
    const row = made.insertRow();
    const head = element("th", "", name);
    head.scope = "row";
    const cell = element("td", "", typeof value === "string" ? value : JSON.stringify(value));
    cell.dir = "auto";
    row.append(head, cell);
  }
  return made;
}

/** Pull a picture that is larger than its place. */
function drag(place) {
  let from = null;
  place.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.target.matches("img")) {
      from = [event.clientX + place.scrollLeft, event.clientY + place.scrollTop];
      place.setPointerCapture(event.pointerId);
    }
  });
  place.addEventListener("pointermove", (event) => {
    if (from) place.scrollTo(from[0] - event.clientX, from[1] - event.clientY);
  });
  for (const name of ["pointerup", "pointercancel"]) place.addEventListener(name, () => (from = null));
}
