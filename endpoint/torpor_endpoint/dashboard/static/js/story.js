// A model's whole story and its origin, as `torpor why --origin` tells them, in a dialog.

import { json } from "./asking.js";
import { byId, el, setText } from "./dom.js";
import { moment } from "./format.js";

export class StoryDialog {
  #dialog = byId("story");
  #body = byId("story-body");
  #tools = byId("story-tools");
  #asked = 0;

  /** `invoke(model)` opens the form that invokes it. */
  constructor(invoke) {
    this.invoke = invoke;
    byId("story-close").addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("click", (event) => {
      if (event.target === this.#dialog) this.#dialog.close(); // a click on the backdrop
    });
  }

  /** Show the story of the endpoint's model. */
  async open(endpoint, model) {
    setText(byId("story-title"), model);
    this.#body.replaceChildren(el("p", { class: "quiet" }, "asking the instances…"));
    this.#tools.replaceChildren();
    if (!this.#dialog.open) this.#dialog.showModal();
    await this.#tell(endpoint, model);
  }

  async #tell(endpoint, model) {
    const asked = (this.#asked += 1);
    try {
      const [story, { told: origin }] = await Promise.all(
        ["story", "origin"].map((page) => json(page, { endpoint, model })),
      );
      if (asked !== this.#asked) return;
      this.#body.replaceChildren(...told(story), ...origins(origin));
      this.#tools.replaceChildren(...this.#buttons(endpoint, model));
    } catch (error) {
      if (asked === this.#asked) this.#body.replaceChildren(el("p", { role: "alert" }, error.message));
    }
  }

  #buttons(endpoint, model) {
    const act = (page, words) =>
      el("button", { type: "button", onclick: () => this.#act(page, endpoint, model) }, words);
    const invoke = () => {
      this.#dialog.close();
      this.invoke(model);
    };
    return [
      el("button", { type: "button", onclick: invoke }, "Invoke"),
      act("reload", "Read from S3 again"),
      act("unload", "Unload"),
    ];
  }

  async #act(page, endpoint, model) {
    try {
      await json(page, { endpoint, model }, { method: "POST" });
      await this.#tell(endpoint, model);
    } catch (error) {
      this.#body.append(el("p", { role: "alert" }, error.message));
    }
  }
}

/** The nodes that say where the model comes from, as `torpor why --origin` does. */
function origins(lines) {
  return lines.length ? [el("pre", { class: "origin" }, lines.join("\n"))] : [];
}

/** The nodes of a story: its lines with their times, and what is so now. */
function told({ note, lines, now }) {
  const several = new Set(lines.map((line) => line.instance)).size > 1;
  const list = el("dl", { class: "story" });
  for (const { at_s: atS, instance, what } of lines) {
    list.append(el("dt", {}, moment(atS)), el("dd", {}, several ? `${instance}: ${what}` : what));
  }
  for (const line of now) list.append(el("dt", { class: "now" }, "now"), el("dd", { class: "now" }, line.replace(/^now: /, "")));
  return [...(note ? [el("p", { class: "quiet" }, note)] : []), list];
}
