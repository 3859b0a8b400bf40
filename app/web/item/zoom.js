// A picture in its place: to fit, at its own size, larger, smaller, and pulled about.

const STEP = 1.25;
const MOST = 16;
const SMALL = 640; // pixels to which small pictures are enlarged
const PAN = 80; // pixels for an arrow key

export class Zoom {
  #image = null;
  #scale = null; // null is to fit

  constructor(place) {
    this.place = place;
    new ResizeObserver(() => this.#draw()).observe(place);
    pull(place);
    place.addEventListener("dblclick", (event) => event.target === this.#image && this.toggle());
    place.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  /** The picture to zoom, or null. */
  show(image) {
    this.#image = image;
    this.#scale = null;
    if (!image) return;
    if (!image.naturalWidth) image.addEventListener("load", () => this.#draw(), { once: true });
    this.#draw();
  }

  larger() {
    this.#to(this.#now * STEP);
  }

  smaller() {
    this.#to(this.#now / STEP);
  }

  fit() {
    this.#to(null);
  }

  actual() {
    this.#to(1);
  }

  toggle() {
    this.#to(this.#scale === null ? 1 : null);
  }

  /** Move what is seen: pan(-1, 0) to the left. Tells whether there was anything to move. */
  pan(x, y) {
    const { scrollLeft, scrollTop } = this.place;
    this.place.scrollBy(PAN * x, PAN * y);
    return this.place.scrollLeft !== scrollLeft || this.place.scrollTop !== scrollTop;
  }

  get #now() {
    return this.#scale ?? this.#fitting();
  }

  /** A new scale, with what is in the middle left there. */
  #to(scale) {
    if (!this.#image?.naturalWidth) return;
    const { place } = this;
    const before = this.#now;
    const x = place.scrollLeft + place.clientWidth / 2;
    const y = place.scrollTop + place.clientHeight / 2;
    this.#scale = scale === null ? null : Math.min(Math.max(scale, 1 / MOST), MOST);
    this.#draw();
    const ratio = this.#now / before;
    place.scrollTo(x * ratio - place.clientWidth / 2, y * ratio - place.clientHeight / 2);
  }

  #wheel(event) {
    if (!event.ctrlKey || !this.#image) return;
    event.preventDefault();
    if (event.deltaY < 0) this.larger();
    else this.smaller();
  }

  #fitting() {
    const { naturalWidth, naturalHeight, nextSibling } = this.#image;
    const style = getComputedStyle(this.place);
    const width = this.place.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const height = this.place.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
    const share = nextSibling === null ? 1 : 0.7; // leave room for words
    const most = Math.max(1, SMALL / Math.max(naturalWidth, naturalHeight));
    return Math.max(Math.min(width / naturalWidth, (height * share) / naturalHeight, most), 0.01);
  }

  #draw() {
    const image = this.#image;
    if (!image?.naturalWidth) return;
    image.style.width = `${Math.round(image.naturalWidth * this.#now)}px`;
    image.style.imageRendering = this.#now >= 2 ? "pixelated" : "auto";
  }
}

/** Pull with the mouse; fingers scroll by themselves. */
function pull(place) {
  let from = null;
  place.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0 || !event.target.matches("img")) return;
    from = [event.clientX + place.scrollLeft, event.clientY + place.scrollTop];
    place.setPointerCapture(event.pointerId);
  });
  place.addEventListener("pointermove", (event) => {
    if (from) place.scrollTo(from[0] - event.clientX, from[1] - event.clientY);
  });
  for (const name of ["pointerup", "pointercancel"]) place.addEventListener(name, () => (from = null));
}
