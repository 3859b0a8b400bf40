// The words of a text that tell the model something.

import { h } from "../dom.js";

const WORD = /[\p{L}\p{N}_]+/gu;
const MOST = 12; // words that are marked, the weightiest first

/** A text as nodes, with words that speak for and against the guess marked. */
export function marked(text, parts) {
  const weights = weightOf(parts);
  const nodes = [];
  let end = 0;
  for (const found of text.matchAll(WORD)) {
    const weight = weights.get(found[0].toLowerCase());
    if (!weight) continue;
    nodes.push(text.slice(end, found.index));
    nodes.push(h(weight > 0 ? "mark.for" : "mark.against", found[0]));
    end = found.index + found[0].length;
  }
  nodes.push(text.slice(end));
  return nodes;
}

function weightOf(parts) {
  const words = parts.filter(({ name }) => name && /^[\p{L}\p{N}_]+$/u.test(name));
  words.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
  return new Map(words.slice(0, MOST).map(({ name, weight }) => [name.toLowerCase(), weight]));
}
