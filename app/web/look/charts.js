// Charts, by Chart.js, in the colours of the page. The library is loaded when the first chart is drawn.

import { count, percent, plural } from "../dom.js";

// Colours that most people can tell apart, and shapes for those who cannot.
const LIGHT = ["#3b4fd8", "#c2410c", "#0f766e", "#a21caf", "#a16207", "#be123c", "#0369a1", "#4d7c0f", "#6d28d9", "#57534e"];
const DARK = ["#93a1ff", "#fdba74", "#5eead4", "#f0abfc", "#fde047", "#fda4af", "#7dd3fc", "#bef264", "#c4b5fd", "#d6d3d1"];
const SHAPES = ["circle", "triangle", "rect", "rectRot", "star"];
const dark = matchMedia("(prefers-color-scheme: dark)");

let library = null;

async function chartLibrary() {
  library ??= import("../vendor/chart.umd.min.js").then(() => globalThis.Chart);
  return library;
}

export const colourOf = (place) => (dark.matches ? DARK : LIGHT)[place % LIGHT.length];

/** A chart on a canvas that is drawn again when the page turns dark or light; call the answer to end it. */
async function draw(canvas, configure) {
  const Chart = await chartLibrary();
  let chart = null;
  const again = () => {
    chart?.destroy();
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    Chart.defaults.color = colour("quiet");
    Chart.defaults.borderColor = colour("line");
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    chart = new Chart(canvas, shared(configure(colour)));
  };
  again();
  dark.addEventListener("change", again);
  return () => {
    dark.removeEventListener("change", again);
    chart.destroy();
  };
}

function shared(config) {
  config.options = { animation: false, maintainAspectRatio: false, responsive: true, ...config.options };
  return config;
}

const axis = (text, more) => ({ title: { display: true, text }, grid: { drawTicks: false }, ...more });

/** Accuracy against labels, with its interval. */
export function curveChart(canvas, points) {
  return draw(canvas, (colour) => {
    const accent = colour("accent");
    const line = (name, more) => ({
      data: points.map((point) => ({ x: point.labels, y: point[name] })),
      borderWidth: 0,
      pointRadius: 0,
      clip: 8,
      ...more,
    });
    return {
      type: "line",
      data: {
        datasets: [
          line("accuracy", { borderColor: accent, borderWidth: 2, pointRadius: 2.5, pointBackgroundColor: accent }),
          line("low", { fill: "+1", backgroundColor: mixed(accent, 0.16) }),
          line("high", {}),
        ],
      },
      options: {
        interaction: { mode: "index", intersect: false },
        scales: {
          x: axis("Labels", { type: "linear", beginAtZero: true, ticks: { precision: 0 } }),
          y: axis("Accuracy", { min: 0, max: 1, ticks: { callback: (share) => `${Math.round(100 * share)} %` } }),
        },
        plugins: {
          legend: { display: false },
          tooltip: {
            filter: ({ datasetIndex }) => datasetIndex === 0,
            callbacks: {
              title: ([{ dataIndex }]) => `${count(points[dataIndex].labels)} labels`,
              label: ({ dataIndex }) => {
                const { accuracy, low, high, judged } = points[dataIndex];
                return `${percent(accuracy)} (${percent(low)} to ${percent(high)}), tested on ${plural(judged, "item")}`;
              },
            },
          },
        },
      },
    };
  });
}

/** Wanted items found against labels. */
export function foundChart(canvas, points) {
  return draw(canvas, (colour) => ({
    type: "line",
    data: {
      datasets: [
        {
          data: points.map(({ labels, found }) => ({ x: labels, y: found })),
          borderColor: colour("accent"),
          borderWidth: 2,
          pointRadius: 0,
          clip: 8,
        },
      ],
    },
    options: {
      interaction: { mode: "index", intersect: false },
      scales: {
        x: axis("Labels", { type: "linear", beginAtZero: true, ticks: { precision: 0 } }),
        y: axis("Found", { beginAtZero: true, ticks: { precision: 0 } }),
      },
      plugins: {
        legend: { display: false },
        tooltip: {
          displayColors: false,
          callbacks: { title: ([{ dataIndex }]) => `${count(points[dataIndex].labels)} labels`, label: ({ raw }) => `${count(raw.y)} found` },
        },
      },
    },
  }));
}

/** How many items have how much uncertainty. */
export function histogramChart(canvas, { edges, counts }) {
  return draw(canvas, (colour) => ({
    type: "bar",
    data: {
      labels: counts.map((_, place) => edges[place]),
      datasets: [{ data: counts, backgroundColor: colour("accent"), barPercentage: 1, categoryPercentage: 0.94, borderRadius: 2 }],
    },
    options: {
      scales: {
        x: axis("Uncertainty", { grid: { display: false }, ticks: { callback: (place) => +edges[place].toFixed(2), maxTicksLimit: 11 } }),
        y: axis("Items", { beginAtZero: true, ticks: { precision: 0 } }),
      },
      plugins: {
        legend: { display: false },
        tooltip: {
          displayColors: false,
          callbacks: {
            title: ([{ dataIndex }]) => `${edges[dataIndex].toFixed(2)} to ${edges[dataIndex + 1].toFixed(2)}`,
            label: ({ raw }) => `${count(raw)} items`,
          },
        },
      },
    },
  }));
}

/** The pool as points, coloured by class or by uncertainty; `opened(key)` is called with the one that was clicked. */
export function mapChart(canvas, points, classes, by, opened) {
  return draw(canvas, (colour) => ({
    type: "scatter",
    data: { datasets: by === "class" ? byClass(points, classes, colour("quiet")) : byUncertainty(points, colour) },
    options: {
      scales: { x: { display: false }, y: { display: false } },
      interaction: { mode: "nearest", intersect: true },
      onClick: (_, [hit], chart) => hit && opened(chart.data.datasets[hit.datasetIndex].data[hit.index].key),
      onHover: (event, [hit]) => (event.native.target.style.cursor = hit ? "pointer" : "default"),
      plugins: {
        legend: { display: by === "class", position: "bottom", labels: legend(globalThis.Chart) },
        tooltip: { displayColors: false, callbacks: { label: ({ raw }) => told(raw) } },
      },
    },
  }));
}

/** Marks of the legend are full, whatever the first point is like. */
function legend(Chart) {
  const { generateLabels } = Chart.defaults.plugins.legend.labels;
  const full = (chart) => generateLabels(chart).map((entry) => ({ ...entry, fillStyle: entry.strokeStyle }));
  return { usePointStyle: true, boxHeight: 7, boxWidth: 7, generateLabels: full };
}

/** A dataset for each class, and one for items without a guess; what people have labelled is drawn full and larger. */
function byClass(points, classes, plain) {
  const classOf = (point) => point.label ?? point.predicted;
  return [...classes, null]
    .map((name, place) => {
      const own = points.filter((point) => classOf(point) === name).sort((a, b) => (a.label !== null) - (b.label !== null));
      const colour = name === null ? plain : colourOf(place);
      return {
        label: name ?? "No guess yet",
        data: own,
        pointStyle: SHAPES[Math.floor(place / LIGHT.length) % SHAPES.length],
        radius: own.map(({ label }) => (label === null ? 3 : 5)),
        hoverRadius: 7,
        borderColor: colour,
        backgroundColor: own.map(({ label }) => (label === null ? mixed(colour, 0.3) : colour)),
        borderWidth: own.map(({ label }) => (label === null ? 0.5 : 1)),
      };
    })
    .filter(({ data }) => data.length);
}

function byUncertainty(points, colour) {
  const sorted = [...points].sort((a, b) => a.uncertainty - b.uncertainty);
  const most = Math.max(sorted.at(-1).uncertainty, 1e-9);
  const shades = sorted.map(({ uncertainty }) => mixed(colour("accent"), 0.12 + (0.88 * uncertainty) / most));
  return [{ label: "Items", data: sorted, radius: 4, hoverRadius: 7, borderWidth: 0, backgroundColor: shades }];
}

function told({ key, label, predicted, uncertainty }) {
  const said = label !== null ? `labelled ${label}` : predicted !== null ? `guess ${predicted}` : "no guess";
  return [key, said, `uncertainty ${percent(uncertainty)}`];
}

/** A colour of six hex digits with this opacity. */
function mixed(colour, share) {
  return colour + Math.round(255 * share).toString(16).padStart(2, "0");
}
