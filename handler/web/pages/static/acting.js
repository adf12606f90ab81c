// Sends what a person asks for to the API, in the name of the session. Pages load it for a person who is logged in.
"use strict";

// act("PUT", "/api/v1/groups/web/size", {size: 4}) → {done, status, answer}
//   done: the request was carried out. answer: the API's JSON; of a refusal a problem, whose `detail` is for people.
//   A POST has a key of its own: pass the same `key` again to have a request whose answer was lost acted on once.
async function act(method, path, given = undefined, {because = "", key = crypto.randomUUID(), headers: more = {}} = {}) {
  const headers = {...more, "X-Trimtab-CSRF": document.querySelector("meta[name=csrf]").content};
  if (given !== undefined) headers["Content-Type"] = "application/json";
  if (method === "POST") headers["Idempotency-Key"] = key;
  if (because) headers["X-Trimtab-Reason"] = `UTF-8''${encodeURIComponent(because)}`;
  const body = given === undefined ? undefined : JSON.stringify(given);
  const reply = await fetch(path, {method, headers, body, credentials: "same-origin", cache: "no-store"});
  if (reply.status === 401) toLogin();
  const answer = await reply.json().catch(() => ({}));
  return {done: reply.ok, status: reply.status, answer};
}

// Leads to the login, and from there back to this page: the session is over.
function toLogin() {
  location.assign(`/login?then=${encodeURIComponent(location.pathname + location.search)}`);
}
