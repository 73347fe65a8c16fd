// A form that invokes a model of the endpoint as any client does, and shows the answer with the time of its steps.

import { byId, el, setText } from "./dom.js";
import { bytes, duration } from "./format.js";
import { modelsOf } from "./models.js";
import { change } from "./session.js";
import { bar, parsed, words } from "./steps.js";

const SHOWN_MAX = 64 * 1024;
const KNOWN_MAX = 200;
const TARGET_MODEL = "X-Amzn-SageMaker-Target-Model";
const COMPONENT = "X-Amzn-SageMaker-Inference-Component";

/** Content types with a body that shows their form. */
const SAMPLES = {
  "text/csv": "1, 2, 3, 4",
  "application/json": '{"instances": [[1, 2, 3, 4]]}',
  "application/jsonlines": "[1, 2, 3, 4]\n[5, 6, 7, 8]",
  "text/libsvm": "0 1:1 2:2 3:3 4:4",
  "application/octet-stream": "",
};

export class InvokeForm {
  #endpoint = null;
  #type = byId("invoke-type");
  #body = byId("invoke-body");
  #file = byId("invoke-file");
  #model = byId("invoke-model");
  #component = byId("invoke-component");
  #known = "";

  constructor() {
    this.#type.append(...Object.keys(SAMPLES).map((type) => el("option", { value: type }, type)));
    this.#body.value = SAMPLES["text/csv"];
    this.#type.addEventListener("change", () => this.#sample());
    byId("invoke").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#invoke();
    });
  }

  /** Fill in this model. */
  choose(model) {
    this.#model.value = model;
  }

  update(endpoint, feed) {
    if (this.#endpoint?.name !== endpoint.name) this.#model.value = "";
    this.#endpoint = endpoint;
    this.#offer([...new Set(endpoint.variants.flatMap(({ record }) => record.component ?? []))].sort());
    const many = endpoint.variants.some(({ record }) => record.multi_model);
    byId("invoke-model-field").hidden = !many;
    this.#model.required = many;
    this.#suggest(modelsOf(endpoint, feed).map(({ name }) => name));
  }

  /** A body that is still a sample gives way to the sample of the chosen type. */
  #sample() {
    if (Object.values(SAMPLES).includes(this.#body.value)) this.#body.value = SAMPLES[this.#type.value];
  }

  /** The inference components to choose from; none on an ordinary endpoint. */
  #offer(components) {
    byId("invoke-component-field").hidden = components.length === 0;
    if (components.join() === [...this.#component.options].map(({ value }) => value).join()) return;
    const chosen = this.#component.value;
    this.#component.replaceChildren(...components.map((name) => el("option", { value: name }, name)));
    if (components.includes(chosen)) this.#component.value = chosen;
  }

  #suggest(names) {
    const some = [...new Set(names)].sort().slice(0, KNOWN_MAX);
    if (some.join() === this.#known) return;
    this.#known = some.join();
    byId("known-models").replaceChildren(...some.map((name) => el("option", { value: name })));
    if (!this.#model.value && some.length) this.#model.value = some[0];
  }

  async #invoke() {
    const headers = { "Content-Type": this.#type.value };
    if (this.#component.value) headers[COMPONENT] = this.#component.value;
    if (this.#model.required) headers[TARGET_MODEL] = this.#model.value;
    const body = this.#file.files[0] ?? this.#body.value;
    const beganMs = performance.now();
    const button = byId("invoke").querySelector("button");
    button.disabled = true;
    setText(button, "Waiting…");
    try {
      const path = `/endpoints/${encodeURIComponent(this.#endpoint.name)}/invocations`;
      const answer = await change(path, { method: "POST", headers, body });
      const content = new Uint8Array(await answer.arrayBuffer());
      this.#show(answer, content, (performance.now() - beganMs) / 1000);
    } catch (error) {
      byId("answer").replaceChildren(el("p", { role: "alert" }, `The request failed: ${error.message}`));
    } finally {
      button.disabled = false;
      setText(button, "Invoke");
    }
  }

  #show(answer, content, tookS) {
    const steps = parsed(answer.headers.get("Server-Timing"));
    const insideS = Object.values(steps).reduce((sum, one) => sum + one, 0);
    const variant = answer.headers.get("x-Amzn-Invoked-Production-Variant");
    const facts = [
      `HTTP ${answer.status}`,
      `${duration(tookS)} as the page saw it`,
      bytes(content.length),
      answer.headers.get("Content-Type") ?? "",
      variant ? `variant ${variant}` : "",
    ];
    byId("answer").replaceChildren(
      el("strong", { class: "mood", "data-state": answer.ok ? "awake" : "failed" }, facts[0]),
      el("p", { class: "quiet" }, facts.slice(1).filter(Boolean).join(" · ")),
      ...(insideS ? [bar(steps, insideS), el("p", { class: "quiet" }, `Server-Timing: ${words(steps)}`)] : []),
      el("pre", { tabindex: "0", "aria-label": "Body of the answer" }, textOf(content)),
    );
  }
}

/** The body as text; what is no text is said to be so. */
function textOf(content) {
  const some = content.subarray(0, SHOWN_MAX);
  try {
    const text = new TextDecoder("utf-8", { fatal: content.length <= SHOWN_MAX }).decode(some);
    return content.length > SHOWN_MAX ? `${text}\n… and ${bytes(content.length - SHOWN_MAX)} more` : text || "(empty)";
  } catch {
    return `(${bytes(content.length)} that are no text)`;
  }
}
