// An item in small, for lists.

import { h } from "../dom.js";
import { nameOf, pictureOf } from "../item/pictures.js";

const LETTERS = 140;

/** A picture if the item has one, else its first words. */
export function thumb(item, pictures) {
  const found = pictureOf(item) ? pictures.of(item) : null;
  if (found) {
    found.image.alt = nameOf(item);
    found.ready.catch(() => found.image.replaceWith(h("span.thumb-text", item.key)));
    return h("span.thumb", found.image);
  }
  const text = typeof item.data?.text === "string" ? item.data.text : item.key;
  return h("span.thumb-text", { dir: "auto" }, text.length > LETTERS ? `${text.slice(0, LETTERS)}…` : text);
}
