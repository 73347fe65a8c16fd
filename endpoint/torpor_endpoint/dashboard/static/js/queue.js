// The asynchronous requests of the last day, the newest first, and a way to cancel those that wait.

import { json } from "./asking.js";
import { byId, el } from "./dom.js";
import { duration, moment } from "./format.js";
import { Polling } from "./polling.js";

const EVERY_S = 2;
const SHOWN = 200;
const NONE = "No asynchronous request of the last day. An endpoint takes them if its configuration has an AsyncInferenceConfig.";
const MOODS = { Running: "starting", Completed: "awake", Failed: "failed", Expired: "failed" };

export class Queue {
  #endpoint = "";
  #polling = new Polling({
    everyS: EVERY_S,
    ask: (question) => json("async", question),
    show: ({ requests }) => this.#show(requests),
    fail: (error) => byId("requests").replaceChildren(el("li", { class: "quiet" }, error.message)),
  });

  update(endpoint) {
    this.#endpoint = endpoint.name;
    this.#polling.update({ endpoint: endpoint.name, limit: SHOWN });
  }

  #show(requests) {
    const waiting = requests.filter((one) => one.state === "Queued").length;
    const running = requests.filter((one) => one.state === "Running").length;
    byId("queue-count").textContent = requests.length ? `${waiting} wait, ${running} run` : "";
    const rows = requests.map((one) => this.#row(one));
    byId("requests").replaceChildren(...(rows.length ? rows : [el("li", { class: "quiet" }, NONE)]));
  }

  #row(one) {
    const { inference_id: id, state, model, received_s: received, ended_s: ended, reason, output, failure } = one;
    const took = duration((ended ?? Date.now() / 1000) - received);
    const where = state === "Failed" || state === "Expired" ? failure : output;
    const cancel = el("button", { type: "button", onclick: () => this.#cancel(id) }, "Cancel");
    return el(
      "li",
      {},
      el(
        "div",
        { class: "head" },
        el("span", { class: "state mood", "data-state": MOODS[state] ?? "asleep" }, state),
        el("strong", {}, id),
        el("span", { class: "quiet" }, [moment(received), model, took].filter(Boolean).join(" · ")),
        state === "Queued" ? cancel : null,
      ),
      el("p", { class: "why" }, [reason, where].filter(Boolean).join(" · ")),
    );
  }

  async #cancel(id) {
    await json("async-cancel", { id }, { method: "POST" });
    const { requests } = await json("async", { endpoint: this.#endpoint, limit: SHOWN });
    this.#show(requests);
  }
}
