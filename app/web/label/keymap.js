// Which key stands for which class.

const RESERVED = "cgsuz"; // comment, guess, skip, unsure, undo
const KEYS = [..."1234567890abcdefghijklmnopqrstuvwxyz"].filter((key) => !RESERVED.includes(key));

/** A key for each class, or "": a class named by a single digit or letter has it; the others take digits, then letters. */
export function keysOf(classes) {
  const taken = new Set();
  const keys = classes.map((name) => {
    const key = name.toLowerCase();
    if (!KEYS.includes(key) || taken.has(key)) return "";
    taken.add(key);
    return key;
  });
  const free = KEYS.filter((key) => !taken.has(key));
  return keys.map((key) => key || free.shift() || "");
}
