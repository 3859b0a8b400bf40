// A text that is shown once, to be copied.

import { h } from "../dom.js";

export function copied(text, label) {
  const field = h("input.mono", { readOnly: true, value: text, "aria-label": label, onfocus: () => field.select() });
  const copy = h("button", "Copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch {
      field.focus(); // there is no clipboard without https: the text is selected
    }
  });
  return h("div.row.nowrap", field, copy);
}
