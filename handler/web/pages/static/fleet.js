// The list of groups: search, state and order without asking for the page again, and lines that change one by one.
// `handler/web/pages/choosing.py` chooses by the same rules where no script runs.
"use strict";

const list = document.getElementById("groups");
const form = document.getElementById("choose");
const lines = new Map([...list?.children ?? []].map(line => [line.dataset.name, line]));
const NEEDY = ["error", "warning", "orphaned"];
const RANKS = {
  worst: line => Number(line.dataset.rank),
  name: () => 0,
  size: line => -line.dataset.size,
  missing: line => -line.dataset.missing,
};

function fits(line) {
  const {q, state} = form.elements;
  if (state.value === "trouble" ? !NEEDY.includes(line.dataset.state) : state.value && state.value !== line.dataset.state) return false;
  const text = `${line.dataset.name} ${line.querySelector(".why").textContent}`.toLowerCase();
  return q.value.toLowerCase().split(/\s+/).every(word => text.includes(word));
}

function showFitting() {
  let shown = 0;
  for (const line of lines.values()) {
    const hidden = !fits(line);
    if (line.hidden !== hidden) line.hidden = hidden;
    if (!hidden) shown += 1;
  }
  const count = new Intl.NumberFormat("en");
  const words = `${count.format(shown)} of ${count.format(lines.size)} shown`;
  const output = document.getElementById("shown");
  if (output.textContent !== words) output.textContent = words;
  document.getElementById("none").textContent = shown ? "" : lines.size ? "No group fits." : "No groups are declared.";
}

// Only lines that stand in the wrong place move
function arrange() {
  const rank = RANKS[form.elements.sort.value];
  const ordered = [...lines.values()].sort((one, other) =>
    rank(one) - rank(other) || (one.dataset.name < other.dataset.name ? -1 : 1));
  let place = list.firstElementChild;
  for (const line of ordered) {
    if (line === place) place = place.nextElementSibling;
    else list.insertBefore(line, place);
  }
}

function hearLines({rows, gone}) {
  for (const [name, markup] of Object.entries(rows)) {
    const box = document.createElement("template");
    box.innerHTML = markup;
    const fresh = box.content.firstElementChild;
    if (lines.has(name)) lines.get(name).replaceWith(fresh);
    else list.append(fresh);
    lines.set(name, fresh);
  }
  for (const name of gone) {
    lines.get(name)?.remove();
    lines.delete(name);
  }
  arrange();
  showFitting();
}

function keepChoice() {
  const wanted = new URLSearchParams([...new FormData(form)].filter(([name, value]) => value && value !== "worst"));
  history.replaceState(null, "", wanted.size ? `/?${wanted}` : "/");
  arrange();
  showFitting();
}

if (list) {
  form.addEventListener("input", keepChoice);
  form.addEventListener("submit", event => {
    event.preventDefault();
    keepChoice();
  });
  document.addEventListener("told", ({detail}) => hearLines(detail));
  arrange();
  showFitting(); // a browser that goes back restores the fields, not the list
}
