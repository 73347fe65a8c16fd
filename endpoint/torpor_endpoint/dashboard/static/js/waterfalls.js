// The slowest cold requests, each as a waterfall of its steps on one scale.

import { json } from "./asking.js";
import { byId, el } from "./dom.js";
import { duration, moment } from "./format.js";
import { Polling } from "./polling.js";
import { bar, legend, words } from "./steps.js";

const EVERY_S = 10;
const SHOWN = 25;
const DAY_S = 86_400;

export class Waterfalls {
  #open;
  #polling = new Polling({
    everyS: EVERY_S,
    ask: ({ endpoint }) =>
      json("cold-starts", { endpoint, order: "slowest", limit: SHOWN, since_s: Date.now() / 1000 - DAY_S }),
    show: ({ cold_starts: found }) => this.#show(found),
    fail: (error) => byId("waterfalls").replaceChildren(el("li", { class: "quiet" }, error.message)),
  });

  /** `open(model)` shows a model's story. */
  constructor(open) {
    this.#open = open;
    byId("steps").append(...legend());
  }

  update(endpoint) {
    this.#polling.update({ endpoint: endpoint.name });
  }

  #show(found) {
    const slowestS = found[0]?.total_s ?? 1;
    const rows = found.map((one) => this.#row(one, slowestS));
    byId("waterfalls").replaceChildren(
      ...(rows.length ? rows : [el("li", { class: "quiet" }, "No request has waited for an instance or a model.")]),
    );
  }

  #row({ at_s: atS, total_s: totalS, model, instance, status, steps, cold }, slowestS) {
    const name = model
      ? el("button", { type: "button", class: "link", onclick: () => this.#open(model) }, model)
      : el("span", {}, "the endpoint's model");
    const why = [
      status >= 400 ? `HTTP ${status}` : "",
      cold?.reason ?? "",
      cold?.victims?.length ? `${cold.victims.join(", ")} left for it` : "",
    ];
    const reason = why.filter(Boolean).join("; ");
    return el(
      "li",
      {},
      el(
        "div",
        { class: "head" },
        el("strong", {}, duration(totalS)),
        name,
        el("span", { class: "quiet" }, `${moment(atS)}${instance ? ` · ${instance}` : ""}`),
      ),
      bar(steps, slowestS),
      el("p", { class: "why" }, words(steps), reason ? ` — ${reason}` : ""),
    );
  }
}
