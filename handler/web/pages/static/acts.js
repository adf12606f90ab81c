// What a person does from a group's page: buttons open a dialog, which says what will happen, asks, and shows the answer.
// The server writes the dialogs, with the requests that they send.
"use strict";

const bar = document.querySelector(".acts");
const dialog = document.getElementById("acting");
let shown = ""; // the path of what the dialog shows
let key = ""; // of the request: the same again after an answer that was lost
let typing = 0;
let opener = ""; // the id of the button that opened the dialog: an event may have put a new one in its place

async function markupOf(path) {
  const reply = await fetch(path, {credentials: "same-origin", cache: "no-store"});
  if (reply.ok) return reply.text();
  if (reply.status === 401) toLogin();
  throw new Error((await reply.json().catch(() => ({}))).detail ?? `the daemon answers ${reply.status}`);
}

async function openDialog(path) {
  shown = path;
  key = crypto.randomUUID();
  dialog.innerHTML = '<h2 id="acting-title">Asking…</h2>';
  dialog.showModal();
  try {
    const markup = await markupOf(path);
    if (shown === path) dialog.innerHTML = markup;
  } catch (error) {
    dialog.querySelector("h2").textContent = `This cannot be shown: ${error.message}`;
  }
  dialog.querySelector("input, button")?.focus();
}

const chosen = () => dialog.querySelector(".choice:has(input:checked)") ?? dialog.querySelector(".choice");

function choose() {
  key = crypto.randomUUID(); // another request
  labelButton();
}

function labelButton() {
  dialog.querySelector("[name=carry-out]").textContent = chosen().dataset.label;
}

// Another size or time is another request: it can be sent once the page says what it does.
async function foresee(field) {
  const button = dialog.querySelector("[name=carry-out]");
  button.disabled = true;
  clearTimeout(typing);
  if (!field.checkValidity()) return answer("", "");
  const path = `${shown}&${field.name}=${field.value}`;
  typing = setTimeout(async () => {
    try {
      const made = document.createElement("template");
      made.innerHTML = await markupOf(path);
      if (!field.isConnected || path !== `${shown}&${field.name}=${field.value}`) return;
      const label = chosen().dataset.label;
      dialog.querySelector(".choices").replaceWith(made.content.querySelector(".choices"));
      const same = [...dialog.querySelectorAll(".choice")].find(each => each.dataset.label === label);
      same?.querySelector("input")?.click();
      button.disabled = false;
      answer("", "");
      choose();
    } catch (error) {
      answer("refused", error.message);
    }
  }, 150);
}

function answer(state, words) {
  const place = dialog.querySelector(".answer");
  place.className = `answer ${state}`;
  place.textContent = words;
}

function wordsOf(told, otherwise) {
  if (!told.answers) return told.words ?? otherwise;
  return `${told.answers.map(each => each.words).join("; ")}: ${told.desired_from} → ${told.desired_to}`;
}

// Asked again by the same key, such a request is not carried out twice.
function mayBeUnderWay(status, told) {
  return status >= 500 || told.type?.endsWith("#still-running");
}

async function carryOut(form) {
  const {method, path, body, headers, done: otherwise} = chosen().dataset;
  const button = form.elements["carry-out"];
  button.disabled = true;
  answer("", "Asking…");
  try {
    const given = body ? JSON.parse(body) : undefined;
    const {done, status, answer: told} = await act(method, path, given, {because: form.elements.because.value, key, headers: JSON.parse(headers)});
    if (!mayBeUnderWay(status, told)) key = crypto.randomUUID();
    if (!done && status >= 500 && !told.detail) throw new Error("of something between the page and the daemon");
    if (!done) return answer("refused", `Refused: ${told.detail ?? "the daemon gives no reason"}`);
    answer("done", wordsOf(told, otherwise));
    button.hidden = true;
    form.elements.cancel.textContent = "Close";
    form.elements.cancel.focus();
  } catch {
    answer("refused", "No answer came, so it may have been done or not: look at the page, or ask again.");
  } finally {
    button.disabled = false;
  }
}

// Members come and go with events; each that may be changed has a button.
function offerMembers() {
  for (const row of bar.dataset.members ? document.querySelectorAll("tr[data-member]") : []) {
    const name = row.dataset.member;
    if (row.querySelector("button")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.id = `act-on-${name}`;
    button.textContent = "Act…";
    button.setAttribute("aria-label", `Act… on ${name}`);
    button.setAttribute("aria-haspopup", "dialog");
    button.dataset.dialog = bar.dataset.members + encodeURIComponent(name);
    row.querySelector("th").append(" ", button);
  }
}

if (bar) {
  bar.hidden = false;
  offerMembers();
  document.addEventListener("told", offerMembers);
  document.addEventListener("click", event => {
    const button = event.target.closest("button[data-dialog]");
    if (!button) return;
    opener = button.id;
    openDialog(button.dataset.dialog);
  });
  dialog.addEventListener("close", () => document.getElementById(opener)?.focus({preventScroll: true}));
  dialog.addEventListener("click", event => event.target.name === "cancel" && dialog.close());
  dialog.addEventListener("change", event => event.target.name === "choice" && choose());
  dialog.addEventListener("input", event => "foreseen" in event.target.dataset && foresee(event.target));
  dialog.addEventListener("submit", event => {
    event.preventDefault();
    carryOut(event.target);
  });
}
