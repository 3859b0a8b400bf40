// Style sheets of views that are not seen at once.

const loaded = new Map();

/** Resolves when the sheet is in force. */
export function loadStyle(href) {
  if (!loaded.has(href)) {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
    loaded.set(href, new Promise((resolve) => (link.onload = link.onerror = resolve)));
    document.head.append(link);
  }
  return loaded.get(href);
}
