// The words of a text that tell the model something.

import { h } from "../dom.js";

const TOKEN = /[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]/gu;
const LETTER = /[\p{L}\p{N}_]/u;
const FAINT = 0.4; // of the largest weight, below which nothing is marked
const LETTERED = /[\p{L}\p{N}]/u;

/** A text as nodes, with words that speak for and against the guess marked. */
export function marked(text, parts) {
  const tokens = [...text.matchAll(TOKEN)].map(({ 0: word, index }) => ({ word, from: index, to: index + word.length, weight: 0 }));
  const lower = text.toLowerCase();
  for (const { name, weight } of parts)
    for (const [from, to] of found(lower.length === text.length ? lower : text, name))
      for (const token of tokens) if (token.from < to && from < token.to) token.weight += weight;
  const least = FAINT * Math.max(...tokens.map((token) => Math.abs(token.weight)), 0);
  const nodes = [];
  let end = 0;
  for (const { word, from, to, weight } of tokens) {
    if (!weight || Math.abs(weight) < least || !LETTERED.test(word)) continue;
    nodes.push(text.slice(end, from), h(weight > 0 ? "mark.for" : "mark.against", word));
    end = to;
  }
  return [...nodes, text.slice(end)];
}

/** Where a word, a phrase or a run of characters is: as whole words if it can be, else within them. A space at either
    end of a run stands for the border of a word. */
function found(text, name) {
  const sought = name.trim();
  if (!sought) return [];
  const places = [];
  for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + 1)) places.push([at, at + sought.length]);
  const begins = ([from]) => !LETTER.test(sought[0]) || !LETTER.test(text[from - 1] ?? "");
  const ends = ([, to]) => !LETTER.test(sought.at(-1)) || !LETTER.test(text[to] ?? "");
  const bordered = places.filter((place) => (!/^\s/.test(name) || begins(place)) && (!/\s$/.test(name) || ends(place)));
  const whole = bordered.filter((place) => begins(place) && ends(place));
  return whole.length ? whole : bordered;
}
