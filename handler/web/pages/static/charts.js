// Draws the charts of a group's page with uPlot in place of the drawings that came with it: where is pointed at, all
// of them say what was; a span that is dragged over is looked at alone. Numbers come with the page (`data-chart`).
"use strict";

const drawn = new Map(); // id of a chart → its uPlot and its numbers
let pointed = null; // seconds since the epoch
let told = null; // id of the mark that is read out instead of values

const colour = name => () => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const STROKES = {
  serving: {stroke: colour("--serving"), fill: colour("--fill"), width: 1.8},
  desired: {stroke: colour("--ink"), width: 1.5, dash: [5, 3]},
  value: {stroke: colour("--value"), width: 1.8},
  greatest: {stroke: colour("--value"), width: 0.6},
  least: {stroke: colour("--value"), width: 0.6},
  was: {stroke: colour("--threshold"), width: 1.8, dash: [2, 4]},
};
const LINES = {
  grid: {stroke: colour("--grid"), dash: []},
  threshold: {stroke: colour("--threshold"), dash: [7, 4]},
  bound: {stroke: colour("--soft"), dash: [1, 4]},
  mark: {stroke: colour("--hair"), dash: []},
};

function draw() {
  for (const [id, {plot}] of drawn) {
    if (plot.root.isConnected) continue;
    plot.destroy();
    drawn.delete(id);
  }
  for (const picture of document.querySelectorAll("[data-chart] svg.plot")) replace(picture);
  point();
}

// The place of a drawing takes its name, its description and its size
function replace(picture) {
  const data = JSON.parse(picture.closest("[data-chart]").dataset.chart);
  const place = document.createElement("div");
  place.className = "plot";
  place.id = picture.id;
  place.tabIndex = 0;
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", picture.getAttribute("aria-label"));
  picture.replaceWith(place);
  const columns = [data.at, ...data.columns.map(column => column.values)];
  drawn.set(place.id, {data, plot: new uPlot(options(data, place), columns, place)});
  sizes.observe(place);
}

const sizes = new ResizeObserver(entries => {
  for (const {target, contentRect: {width, height}} of entries) {
    const {plot} = drawn.get(target.id) ?? {};
    if (plot && width && (plot.width !== Math.floor(width) || plot.height !== Math.floor(height))) {
      plot.setSize({width: Math.floor(width), height: Math.floor(height)});
    }
  }
});

function options(data, place) {
  const fixed = (low, high) => () => [low, high];
  return {
    width: Math.floor(place.clientWidth),
    height: Math.floor(place.clientHeight),
    padding: [0, 0, 0, 0],
    axes: [{show: false}, {show: false}],
    legend: {show: false},
    cursor: {y: false, points: {size: 6}, drag: {x: true, y: false, setScale: false}},
    scales: {x: {time: false, range: fixed(0, data.end - data.begin)}, y: {range: fixed(data.low, data.high)}},
    series: [{}, ...data.columns.map(series)],
    bands: data.columns.flatMap(({kind}, index) =>
      kind === "greatest" ? [{series: [index + 1, index + 2], fill: colour("--range")}] : []),
    hooks: {
      drawAxes: [plot => drawLines(plot, data)],
      setSelect: [plot => lookAt(plot, data)],
    },
  };
}

function series({kind, stepped}) {
  const paths = stepped ? uPlot.paths.stepped({align: 1}) : uPlot.paths.linear();
  return {...STROKES[kind], paths, points: {show: false}};
}

function drawLines(plot, data) {
  const {ctx, bbox: {left, top, width, height}} = plot;
  const across = (y, kind) => line(ctx, [left, y], [left + width, y], LINES[kind]);
  ctx.save();
  for (const share of [0, 0.5, 1]) across(top + share * height, "grid");
  for (const {value, kind, label} of data.rules) {
    const y = plot.valToPos(value, "y", true);
    across(y, kind);
    labelled(ctx, label, left + width, y - top < 0.12 * height ? y + 14 * devicePixelRatio : y - 4 * devicePixelRatio);
  }
  for (const at of data.marks) {
    const x = plot.valToPos(at, "x", true);
    line(ctx, [x, top], [x, top + height], LINES.mark);
  }
  ctx.restore();
}

function line(ctx, from, to, {stroke, dash}) {
  ctx.beginPath();
  ctx.strokeStyle = stroke();
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash(dash.map(length => length * devicePixelRatio));
  ctx.moveTo(...from);
  ctx.lineTo(...to);
  ctx.stroke();
}

function labelled(ctx, text, x, y) {
  ctx.font = `${12 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.textAlign = "right";
  ctx.setLineDash([]);
  ctx.lineWidth = 3 * devicePixelRatio;
  ctx.strokeStyle = colour("--card")();
  ctx.strokeText(text, x - 4 * devicePixelRatio, y); // so that it can be read on a line, too
  ctx.fillStyle = colour("--soft")();
  ctx.fillText(text, x - 4 * devicePixelRatio, y);
}

// Reading: every chart says what was at the time that one of them is pointed at

function point() {
  for (const [id, {plot, data}] of drawn) {
    const left = pointed === null ? -10 : plot.valToPos(pointed - data.begin, "x");
    plot.setCursor({left, top: pointed === null ? -10 : 1}, false);
    const chart = document.getElementById(id).closest("[data-chart]");
    const mark = told && chart.querySelector(`#${CSS.escape(told)}`);
    const words = mark ? `${mark.dataset.title} · ${mark.dataset.why}` : pointed === null ? "" : row(data);
    chart.querySelector(".readout").textContent = words;
  }
}

function row(data) {
  const wanted = pointed - data.begin;
  let best = -1;
  data.at.forEach((at, index) => {
    if (best < 0 || Math.abs(at - wanted) <= Math.abs(data.at[best] - wanted)) best = index;
  });
  const known = best >= 0 && Math.abs(data.at[best] - wanted) <= data.gap;
  const values = data.columns.map(({label, values}) => {
    const value = known ? values[best] : null;
    return `${label} ${value === null ? "–" : `${value} ${data.unit}`.trim()}`;
  });
  return `${moment(data, known ? data.at[best] : wanted)} · ${values.join(" · ")}`;
}

function moment(data, after) {
  const text = new Date((data.begin + after) * 1000).toISOString();
  return data.end - data.begin > 86400 ? `${text.slice(0, 10)} ${text.slice(11, 16)}` : text.slice(11, 19);
}

// Another time, by its address: a browser goes back to the one before

function lookAt(plot, data) {
  if (plot.select.width < 4) return;
  const [first, last] = [plot.select.left, plot.select.left + plot.select.width].map(at => plot.posToVal(at, "x"));
  visit(data.begin + first, data.begin + last);
}

function visit(begin, end) {
  if (end - begin < 10) [begin, end] = [(begin + end) / 2 - 5, (begin + end) / 2 + 5];
  const text = at => new Date(at * 1000).toISOString().slice(0, 19);
  const query = new URLSearchParams(location.search);
  query.delete("span");
  query.set("from", text(Math.floor(begin)));
  query.set("to", text(Math.ceil(end)));
  location.assign(`?${query}`.replaceAll("%3A", ":"));
}

document.addEventListener("pointermove", event => {
  const {plot, data} = drawn.get(event.target.closest?.(".plot")?.id) ?? {};
  if (!plot && pointed === null) return;
  const box = plot?.over.getBoundingClientRect();
  pointed = plot ? data.begin + plot.posToVal(Math.min(box.width, Math.max(0, event.clientX - box.left)), "x") : null;
  point();
});
document.addEventListener("keydown", event => {
  const {data} = drawn.get(event.target.closest?.(".plot")?.id) ?? {};
  const length = data ? data.end - data.begin : 0;
  const step = {ArrowLeft: -0.01, ArrowRight: 0.01}[event.key];
  if (event.key === "Escape") pointed = told = null;
  else if (data && step) pointed = Math.min(data.end, Math.max(data.begin, (pointed ?? data.end) + step * length));
  else if (data && event.key === "+") visit((pointed ?? data.end) - length / 4, (pointed ?? data.end) + length / 4);
  else if (data && event.key === "-") document.querySelector("[data-wider]")?.click();
  else return;
  if (step) event.preventDefault();
  point();
});
const markOf = event => event.target.closest?.(".lane a");
for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, event => {
    const mark = markOf(event);
    if ((mark?.id ?? null) === told) return;
    told = mark?.id ?? null;
    point();
  });
}
document.addEventListener("click", event => {
  const mark = markOf(event);
  if (!mark) return;
  event.preventDefault(); // it is read out beside the chart; Enter goes to the line below
  if (event.detail === 0) location.hash = mark.getAttribute("href");
  told = mark.id;
  point();
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const {plot} of drawn.values()) plot.redraw();
});
document.addEventListener("told", draw);
draw();
