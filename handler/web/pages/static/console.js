// Keeps a page fresh: takes parts from events, and counts times on. The page is whole without it.
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

// Events

function put(message) {
  const focused = document.activeElement?.id;
  const open = [...document.querySelectorAll("details[id][open]")].map(list => list.id);
  putParts(message.parts);
  document.dispatchEvent(new CustomEvent("told", {detail: message}));
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({preventScroll: true});
  countOn();
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
