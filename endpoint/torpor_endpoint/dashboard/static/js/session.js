// Who is logged in, and the token that each request which changes something sends. Without `--auth` there is neither.

import { byId } from "./dom.js";

const LOGIN = "/_torpor/login";
const asked = fetch("/_torpor/dashboard/session").then(answered);

/** The answer itself; one that says that nobody is logged in leads to the login. */
export function answered(answer) {
  if (answer.status === 401) location.assign(LOGIN);
  return answer;
}

const known = asked.then((answer) => (answer.ok ? answer.json() : {})).catch(() => ({}));

/** As `fetch`, for a request that changes something. */
export async function change(url, options) {
  const { csrf } = await known;
  const headers = csrf === undefined ? options.headers : { ...options.headers, "X-Torpor-CSRF": csrf };
  return answered(await fetch(url, { ...options, headers }));
}

/** Ask again whether somebody is logged in: what was refused may not say so. */
export async function check() {
  answered(await fetch("/_torpor/dashboard/session"));
}

/** Show who is logged in, with a way out. */
export async function showCaller() {
  const { caller } = await known;
  if (caller === undefined) return;
  byId("caller").textContent = caller.split(":").at(-1);
  byId("caller").title = caller;
  byId("log-out").addEventListener("click", async () => {
    await change("/_torpor/logout", { method: "POST", redirect: "manual" });
    location.assign(LOGIN);
  });
  byId("login").hidden = false;
}
