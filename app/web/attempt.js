// What somebody presses a button for, and what they are told beside it when that goes wrong.

import { h } from "./dom.js";

/** Do it, and tell whether it worked. What goes wrong is told where people look: next to the control, or the one `instead`. */
export async function attempt(page, control, act, instead = null) {
  page.failed(null);
  for (const old of document.querySelectorAll(".beside")) old.remove();
  try {
    await act();
    return true;
  } catch (problem) {
    const seen = [control, instead].find((one) => one?.isConnected);
    if (problem.status === 401) page.failed(problem);
    else if (seen) tell(seen, problem.message); // else nobody looks at it any more
    return false;
  }
}

function tell(control, text) {
  const message = h("p.problem.beside", { role: "alert" }, text);
  const row = control.closest("tr");
  if (row) row.after(h("tr.beside", h("td", { colSpan: row.cells.length }, message)));
  else (control.closest("form, .row") ?? control).after(message);
  message.scrollIntoView({ block: "nearest" });
}
