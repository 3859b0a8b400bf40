// Which key stands for which class.

const RESERVED = "cgsuz"; // comment, guess, skip, unsure, undo
const KEYS = [..."1234567890abcdefghijklmnopqrstuvwxyz"].filter((key) => !RESERVED.includes(key));

/** A key for each class by its name, or "": the key that it `had`, also where others have gone, whose keys nobody gets.
    A new class named by a single digit or letter has that key; the others take digits, then letters. */
export function keysOf(classes, had = new Map()) {
  const keys = new Map(classes.map((name) => [name, had.get(name) ?? ""]));
  const taken = new Set(had.values());
  const without = () => classes.filter((name) => !keys.get(name));
  const give = (name, key) => {
    keys.set(name, key);
    taken.add(key);
  };
  for (const name of without()) {
    const key = name.toLowerCase();
    if (KEYS.includes(key) && !taken.has(key)) give(name, key);
  }
  const free = KEYS.filter((key) => !taken.has(key));
  for (const name of without()) give(name, free.shift() ?? "");
  return keys;
}
