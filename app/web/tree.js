// Classes as a tree: a project has the parent of each class that is a kind of another.

/** The classes right under one, or at the top under null; in their order. */
export function kindsOf({ classes, parents = {} }, name) {
  return classes.filter((one) => (parents[one] ?? null) === name);
}

/** Every class with its depth, each followed by its kinds. */
export function inOrder(project, under = null, depth = 0) {
  return kindsOf(project, under).flatMap((name) => [{ name, depth }, ...inOrder(project, name, depth + 1)]);
}

/** Lines with a name each as { name, parent }: one that begins further to the right is a kind of the one above it. */
export function readTree(text) {
  const found = new Map();
  const above = []; // [where it begins, name]
  for (const line of text.split("\n")) {
    const name = line.trim();
    if (!name || found.has(name)) continue;
    const start = line.replaceAll("\t", "    ").search(/\S/);
    while (above.length && above.at(-1)[0] >= start) above.pop();
    found.set(name, { name, parent: above.at(-1)?.[1] ?? null });
    above.push([start, name]);
  }
  return [...found.values()];
}
