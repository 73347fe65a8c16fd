// "What if": has the endpoint's last day simulated in other ways, and shows them beside what is now.

import { json } from "./asking.js";
import { byId, el } from "./dom.js";
import { count, counted, dollars, duration, percent } from "./format.js";

export class WhatIf {
  #endpoint = "";
  #select = byId("what-if-variant");
  #form = byId("what-if");
  #asked = 0;

  constructor() {
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#ask();
    });
  }

  update(endpoint) {
    const names = endpoint.variants.map(({ record }) => record.name);
    const old = [...this.#select.options].map((option) => option.value);
    if (this.#endpoint !== endpoint.name) this.#begin();
    if (this.#endpoint === endpoint.name && old.join() === names.join()) return;
    this.#endpoint = endpoint.name;
    this.#select.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
  }

  /** Another endpoint is shown: forget the answer about the last one, and say at once if there is no simulator. */
  async #begin() {
    this.#show();
    const asked = this.#asked;
    const { unavailable } = await json("dashboard/what-if");
    if (!unavailable || asked !== this.#asked) return;
    this.#show(el("p", { role: "alert" }, unavailable));
    this.#form.querySelector("button").disabled = true;
  }

  #show(...nodes) {
    this.#asked += 1;
    this.#form.querySelector("button").disabled = false;
    byId("what-ifs").replaceChildren(...nodes);
  }

  async #ask() {
    this.#show(el("p", { class: "quiet" }, "Simulating the last day; this takes some seconds…"));
    const asked = this.#asked;
    this.#form.querySelector("button").disabled = true;
    let shown;
    try {
      const question = { endpoint: this.#endpoint, variant: this.#select.value };
      shown = table(await json("dashboard/what-if", question, { method: "POST" }));
    } catch (error) {
      shown = [el("p", { role: "alert" }, error.message)];
    }
    if (asked === this.#asked) this.#show(...shown);
  }
}

function table({ requests, rows, notes }) {
  const [now] = rows;
  const head = ["", "hit ratio", "p99", "dollars a day", "against now", "wakes"];
  const body = rows.map((row) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, row.way, el("small", {}, row.trouble || row.assumes)),
      ...cells(row, now).map((text) => el("td", { class: "number" }, text)),
    ),
  );
  return [
    el(
      "table",
      { class: "ways" },
      el("caption", {}, `${counted(requests, "request")} of the last day, simulated`),
      el("thead", {}, el("tr", {}, ...head.map((text, index) => el("th", { scope: "col", class: index ? "number" : "" }, text)))),
      el("tbody", {}, ...body),
    ),
    el("ul", { class: "notes" }, ...notes.map((note) => el("li", {}, note))),
  ];
}

const cells = (row, now) => [
  percent(row.hit_ratio),
  duration(row.p99_s),
  dollars(row.usd_per_day),
  difference(row, now),
  row.wakes === null ? "" : count(row.wakes),
];

/** `−48 %`: the dollars against those of now. */
function difference({ usd_per_day: usd }, { usd_per_day: nowUsd }) {
  if (usd === null || !nowUsd) return "";
  const share = Math.round((usd / nowUsd - 1) * 100);
  return share === 0 ? "the same" : `${share > 0 ? "+" : "−"}${count(Math.abs(share))} %`;
}
