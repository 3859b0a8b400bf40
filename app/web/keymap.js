// Which key stands for which class.

const RESERVED = "suzg"; // skip, unsure, undo, guess
const KEYS = [..."123456789abcdefghijklmnopqrstuvwxyz"].filter((key) => !RESERVED.includes(key));

/** A key for each class, or "": a class named by a single digit or letter has it; the others take 1 to 9, then letters. */
export function keysOf(classes) {
  const own = classes.map((name) => {
    const key = name.toLowerCase();
    return key.length === 1 && (KEYS.includes(key) || key === "0") ? key : "";
  });
  const taken = new Set();
  const keys = own.map((key) => {
    if (!key || taken.has(key)) return "";
    taken.add(key);
    return key;
  });
  const free = KEYS.filter((key) => !taken.has(key));
  return keys.map((key) => key || free.shift() || "");
}
