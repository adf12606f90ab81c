// Tries settings: asks again when a value changes, and lets thresholds be dragged in their charts, or moved by arrow keys.
"use strict";

const tune = document.querySelector("form.tune");
const answered = document.getElementById("answer");
const progress = document.getElementById("asking");
let asking = null; // aborts the request that is under way
let soon = 0;
let isAnother = false; // the first question is the one of the page's own address

const inputs = () => [...tune.querySelectorAll("input[data-declared]")];
const fieldOf = name => tune.elements.namedItem(name);

// Only what differs stands in the address: it is short, and stays true when the declaration changes.
function query() {
  const found = new URLSearchParams({from: tune.elements.from.value, to: tune.elements.to.value});
  for (const input of inputs()) if (input.value !== input.dataset.declared) found.set(input.name, input.value);
  return found;
}

function mark() {
  const changed = inputs().filter(input => input.value !== input.dataset.declared);
  for (const input of inputs()) input.classList.toggle("changed", changed.includes(input));
  tune.elements.reset.hidden = !changed.length;
  for (const link of document.querySelectorAll("a[data-span]")) {
    const to = new URLSearchParams({span: new URLSearchParams(link.search).get("span")});
    for (const input of changed) to.set(input.name, input.value);
    link.search = `?${to}`;
  }
}

async function ask() {
  clearTimeout(soon);
  mark();
  if (!tune.checkValidity()) return;
  asking?.abort();
  const mine = asking = new AbortController();
  const began = performance.now();
  progress.textContent = "Replaying…";
  answered.classList.add("old");
  const address = query();
  if (isAnother) history.replaceState(null, "", `?${address}`);
  isAnother = true;
  try {
    const reply = await fetch(`${tune.dataset.answers}?${address}`, {credentials: "same-origin", cache: "no-store", signal: mine.signal});
    if (reply.status === 401) toLogin();
    const markup = await reply.text();
    if (mine !== asking) return;
    if (!reply.ok) throw new Error(JSON.parse(markup).detail);
    const focused = document.activeElement?.id;
    answered.innerHTML = markup;
    answered.classList.remove("old");
    progress.textContent = `Replayed in ${((performance.now() - began) / 1000).toFixed(1)} s`;
    document.dispatchEvent(new CustomEvent("told"));
    handles();
    showButtons();
    document.getElementById(focused)?.focus({preventScroll: true});
  } catch (error) {
    if (mine === asking) progress.textContent = error.name === "AbortError" ? "" : `No answer: ${error.message}`;
  }
}

// Dialogs need the script.
function showButtons() {
  for (const button of document.querySelectorAll("button[data-dialog]")) button.hidden = false;
}

function askSoon() {
  mark();
  clearTimeout(soon);
  soon = setTimeout(ask, 300);
}

// Handles: one on the threshold of each chart, where a pointer drags it and arrow keys move it.

function handles() {
  for (const card of answered.querySelectorAll("article[data-threshold]")) {
    const chart = card.querySelector("[data-chart]");
    const field = fieldOf(card.dataset.threshold);
    if (!chart || !field) continue;
    const {low, high, rules: [rule]} = JSON.parse(chart.dataset.chart);
    const handle = document.createElement("div");
    handle.className = "handle";
    handle.tabIndex = 0;
    handle.id = `handle-${field.id}`;
    handle.setAttribute("role", "slider");
    handle.setAttribute("aria-orientation", "vertical");
    handle.setAttribute("aria-label", `Threshold of ${card.querySelector("h3").textContent}`);
    handle.setAttribute("aria-valuemin", low);
    handle.setAttribute("aria-valuemax", high);
    chart.append(handle);
    place(handle, chart, rule.value, low, high);
    drag(handle, chart, field, low, high);
  }
}

function place(handle, chart, value, low, high) {
  const plot = chart.querySelector(".plot");
  const share = (high - Math.min(high, Math.max(low, value))) / (high - low);
  handle.style.top = `${plot.offsetTop + share * plot.clientHeight}px`;
  handle.style.left = `${plot.offsetLeft}px`;
  handle.setAttribute("aria-valuenow", value);
}

const rounded = (value, step) => Number((Math.round(value / step) * step).toPrecision(10));

function drag(handle, chart, field, low, high) {
  const step = 10 ** Math.floor(Math.log10((high - low) / 50)) || 1;
  const set = (value, then) => {
    field.value = String(rounded(Math.min(high, Math.max(low, value)), step));
    place(handle, chart, Number(field.value), low, high);
    then();
  };
  handle.addEventListener("pointerdown", event => {
    handle.setPointerCapture(event.pointerId);
    event.preventDefault();
    handle.focus();
  });
  handle.addEventListener("pointermove", event => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const box = chart.querySelector(".plot").getBoundingClientRect();
    set(high - ((event.clientY - box.top) / box.height) * (high - low), mark);
  });
  handle.addEventListener("pointerup", event => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    handle.releasePointerCapture(event.pointerId);
    ask();
  });
  handle.addEventListener("keydown", event => {
    const by = {ArrowUp: step, ArrowRight: step, ArrowDown: -step, ArrowLeft: -step, PageUp: 10 * step, PageDown: -10 * step}[event.key];
    if (!by) return;
    event.preventDefault();
    set(Number(field.value) + by, askSoon);
  });
}

// What was applied is declared from then on, so the page is another one.
document.getElementById("acting")?.addEventListener("close", event => event.target.querySelector(".answer.done") && location.reload());

showButtons();
if (tune) {
  tune.addEventListener("input", askSoon);
  tune.addEventListener("submit", event => {
    event.preventDefault();
    ask();
  });
  tune.elements.reset.addEventListener("click", () => {
    for (const input of inputs()) input.value = input.dataset.declared;
    ask();
  });
  ask();
}
