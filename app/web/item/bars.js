// A histogram as bars, for items that are nothing else.

import { count, svg } from "../dom.js";

const MOST = 160; // bars; of more columns the largest of neighbours is drawn
const WIDTH = 640;
const HEIGHT = 240;

/** A drawing of features { columns, indices, values }. */
export function bars({ columns, indices, values }) {
  const width = Math.max(columns, 1);
  const n = Math.min(width, MOST);
  const heights = new Array(n).fill(0);
  indices.forEach((index, place) => {
    const bar = Math.floor((index * n) / width);
    if (Math.abs(values[place]) > Math.abs(heights[bar])) heights[bar] = values[place];
  });
  const top = Math.max(...heights, 0);
  const span = top - Math.min(...heights, 0) || 1;
  const zero = (HEIGHT * top) / span;
  const step = WIDTH / n;
  const rects = heights.flatMap((value, place) => {
    if (!value) return [];
    const height = Math.max((HEIGHT * Math.abs(value)) / span, 1);
    const y = value > 0 ? zero - height : zero;
    return [svg("rect", { x: place * step, y, width: Math.max(step - (step > 4 ? 1 : 0), 0.5), height })];
  });
  const line = svg("line", { x1: 0, x2: WIDTH, y1: zero, y2: zero });
  const name = `Histogram of ${count(width)} columns, ${count(indices.length)} of them not zero`;
  const box = `0 -1 ${WIDTH} ${HEIGHT + 2}`;
  return svg("svg", { class: "bars", viewBox: box, role: "img", "aria-label": name }, ...rects, line);
}
