// Keeps a page fresh: takes parts from events, counts times on, and reads charts out. The page is whole without it.
"use strict";

const body = document.body;
const live = document.getElementById("live");
let ahead = Number(body.dataset.now) - Date.now() / 1000; // this machine's clock may be wrong; the daemon's counts
let heard = Number(body.dataset.now);
let stream = body.dataset.stream;
let source = null, watchdog = 0, later = 0;
const inside = new Map(); // part → the markup that was put there last

const now = () => Date.now() / 1000 + ahead;
const clock = at => new Date(at * 1000).toISOString().slice(11, 19);

// Times that go on by themselves

function span(seconds) {
  let rest = Math.max(0, Math.floor(seconds));
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].map(([size, unit]) => {
    const count = Math.floor(rest / size);
    rest %= size;
    return [count, unit];
  });
  const found = parts.findIndex(([count]) => count);
  const first = found < 0 ? 3 : found;
  return parts.slice(first, first + 2).filter(([count]) => count || first === 3).map(part => part.join(" ")).join(" ");
}

function countOn() {
  if (body.classList.contains("off")) return; // nothing is known of what happens now
  for (const left of document.querySelectorAll("[data-until]")) left.textContent = span(left.dataset.until - now());
  for (const age of document.querySelectorAll("[data-since]")) age.textContent = span(now() - age.dataset.since);
}

// Charts: where is pointed at, every chart of the page says what was

let pointed = null; // a share of the width, or nothing
let told = null; // the mark that is read out instead

function readOut() {
  for (const chart of document.querySelectorAll("[data-chart]")) {
    const plot = chart.querySelector(".plot");
    const out = chart.querySelector(".readout");
    plot.querySelector(".cursor")?.remove();
    const mark = told && chart.querySelector(`#${CSS.escape(told)}`);
    if (mark) out.textContent = `${mark.dataset.title} · ${mark.dataset.why}`;
    else if (pointed === null) out.textContent = "";
    else out.textContent = row(JSON.parse(chart.dataset.chart), plot);
  }
}

function row(data, plot) {
  const wanted = pointed * (data.end - data.begin);
  let best = -1;
  data.at.forEach((at, index) => {
    if (best < 0 || Math.abs(at - wanted) <= Math.abs(data.at[best] - wanted)) best = index;
  });
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const known = best >= 0 && Math.abs(data.at[best] - wanted) <= data.gap;
  const share = `${100 * (known ? Math.max(0, data.at[best]) / (data.end - data.begin) : pointed)}%`;
  for (const [name, value] of [["x1", share], ["x2", share], ["y1", "0"], ["y2", "100%"], ["class", "cursor"]]) {
    cursor.setAttribute(name, value);
  }
  plot.append(cursor);
  const at = clock(data.begin + (known ? data.at[best] : wanted));
  const values = data.columns.map(({label, values}) => {
    const value = known ? values[best] : null;
    return `${label} ${value === null ? "–" : `${value} ${data.unit}`.trim()}`;
  });
  return `${at} · ${values.join(" · ")}`;
}

document.addEventListener("pointermove", event => {
  const plot = event.target.closest?.(".plot");
  if (!plot && pointed === null) return;
  const box = plot?.getBoundingClientRect();
  pointed = plot ? Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) : null;
  readOut();
});
document.addEventListener("keydown", event => {
  const plot = event.target.closest?.(".plot");
  const step = {ArrowLeft: -0.01, ArrowRight: 0.01}[event.key];
  if (event.key === "Escape") pointed = told = null;
  else if (plot && step) pointed = Math.min(1, Math.max(0, (pointed ?? 1) + step));
  else return;
  if (step) event.preventDefault();
  readOut();
});
const markOf = event => event.target.closest?.(".lane a");
for (const kind of ["pointerover", "focusin"]) {
  document.addEventListener(kind, event => {
    const mark = markOf(event);
    if ((mark?.id ?? null) === told) return;
    told = mark?.id ?? null;
    readOut();
  });
}
document.addEventListener("click", event => {
  const mark = markOf(event);
  if (!mark) return;
  event.preventDefault(); // it is read out beside the chart; Enter goes to the line below
  if (event.detail === 0) location.hash = mark.getAttribute("href");
  told = mark.id;
  readOut();
});

// Events

function put(message) {
  const focused = document.activeElement?.id;
  const open = [...document.querySelectorAll("details[id][open]")].map(list => list.id);
  putParts(message.parts);
  document.dispatchEvent(new CustomEvent("told", {detail: message}));
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({preventScroll: true});
  countOn();
  readOut();
}

function putParts(parts) {
  for (const [name, markup] of Object.entries(parts)) {
    const place = document.querySelector(`[data-part="${CSS.escape(name)}"]`);
    if (!place || inside.get(name) === markup) continue;
    const list = place.querySelector(".decisions");
    const scrolled = list?.scrollTop ?? 0;
    place.innerHTML = markup;
    inside.set(name, markup);
    if (scrolled) place.querySelector(".decisions").scrollTop = scrolled;
  }
}

function say(state, words) {
  live.className = state;
  body.classList.toggle("off", state === "off");
  if (live.textContent !== words) live.textContent = words;
}

function lost() {
  say("off", `not connected: this is how it was at ${clock(heard)} UTC`);
}

function hear(event) {
  const message = JSON.parse(event.data);
  if (message.mark) stream = `/events?since=${message.mark}`; // what this page has, should it connect again
  heard = message.now;
  ahead = message.now - Date.now() / 1000;
  if (message.every) body.dataset.every = message.every;
  say("on", "live");
  clearTimeout(watchdog);
  watchdog = setTimeout(again, 2500 * Number(body.dataset.every ?? 10));
  return message;
}

function again() {
  lost();
  leave();
  later = setTimeout(listen, 3000);
}

function leave() {
  clearTimeout(watchdog);
  clearTimeout(later);
  source?.close();
  source = null;
}

function listen() {
  leave();
  source = new EventSource(stream);
  source.addEventListener("beat", hear);
  source.addEventListener("tick", event => put(hear(event)));
  source.addEventListener("gone", event => {
    hear(event);
    leave();
    say("off", "this group is gone");
  });
  source.onerror = () => (source?.readyState === EventSource.CLOSED ? again() : lost());
}

if (stream) {
  setInterval(countOn, 1000);
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : listen()));
  addEventListener("pagehide", leave);
  if (!document.hidden) listen();
}
