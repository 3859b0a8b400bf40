// Pictures of items, loaded and decoded before they are needed.

import { blob } from "../api.js";
import { h } from "../dom.js";

const INLINE = /^data:image\/(png|jpeg|gif|webp)[;,]/i;
const TRY_AGAIN = 2000; // milliseconds
const SHOWN = /^image\/(png|jpeg|gif|webp|bmp|avif)$/;

/** The address of a picture, or null: data of a known kind, or a path on this very server. */
export function pictureOf(item) {
  const image = item.data?.image;
  if (typeof image !== "string") return null;
  if (INLINE.test(image)) return image;
  if (!image.startsWith("/")) return null;
  try {
    const url = new URL(image, location.origin);
    return url.origin === location.origin ? url.href : null;
  } catch {
    return null;
  }
}

export class Pictures {
  #loaded = new Map(); // address -> { image, ready, made }

  /** { image, ready } of an item with a picture, else null. The image may be shown before it is ready. */
  of(item) {
    const address = pictureOf(item);
    if (!address) return null;
    if (!this.#loaded.has(address)) this.#loaded.set(address, load(address, nameOf(item)));
    return this.#loaded.get(address);
  }

  /** Load what these items need, and forget the rest. */
  keep(items) {
    const wanted = new Set(items.map(pictureOf));
    for (const item of items) this.of(item);
    for (const [address, entry] of this.#loaded) {
      if (wanted.has(address)) continue;
      this.#loaded.delete(address);
      if (entry.made) URL.revokeObjectURL(entry.made);
      entry.gone = true;
    }
  }
}

/** What a picture is called for those who cannot see it. */
export const nameOf = (item) => `Picture ${item.data?.file ?? item.key}`;

function load(address, name) {
  const image = h("img.picture", { alt: name, draggable: false });
  const entry = { image, made: null, gone: false };
  entry.ready = fill(entry, address);
  entry.ready.catch(() => {}); // whoever shows it tells
  return entry;
}

/** Media need the key, which an address must not hold: they are fetched, and shown from memory. */
async function fill(entry, address) {
  if (address.startsWith("data:")) entry.image.src = address;
  else {
    const found = await fetched(entry, address);
    if (!SHOWN.test(found.type)) throw new Error(`a picture cannot have the type ${found.type}`);
    if (entry.gone) return;
    entry.made = URL.createObjectURL(found);
    entry.image.src = entry.made;
  }
  await entry.image.decode();
}

/** Again and again while the service is away, as long as somebody wants it. */
async function fetched(entry, address) {
  for (;;) {
    try {
      return await blob(address);
    } catch (problem) {
      if (!problem.passes || entry.gone) throw problem;
      await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN));
    }
  }
}
