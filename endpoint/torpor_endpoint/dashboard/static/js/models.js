// The list of the models in an endpoint's memory: what the tiles show, for the keyboard and screen readers.

import { AGES, stepOf } from "./ages.js";
import { byId, setText } from "./dom.js";
import { ago, bytes, count, counted } from "./format.js";
import { VirtualList } from "./virtual-list.js";

const ORDERS = {
  used: (a, b) => b.usedS - a.usedS,
  size: (a, b) => b.size - a.size,
  hits: (a, b) => b.hits - a.hits,
  name: (a, b) => a.name.localeCompare(b.name),
};

/** Every model in the memory of these instances, in no order. */
export function modelsOf(endpoint, feed) {
  const found = [];
  for (const { instances } of endpoint.variants) {
    for (const { id, record } of instances) {
      for (const part of record.parts) {
        const models = feed.tables.models[`${id}/${part.name}`] ?? {};
        for (const [name, [size, usedS, hits, inFlight, format]] of Object.entries(models)) {
          found.push({ name, size, usedS, hits, inFlight, format, instance: id });
        }
      }
    }
  }
  return found;
}

export class ModelList {
  #list;
  #models = [];
  #nowS = 0;
  #order = byId("model-order");
  #filter = byId("model-filter");

  /** `open(model)` shows a model's story. */
  constructor(open) {
    this.#list = new VirtualList(byId("models"), {
      label: "Models in memory",
      rowHeight: 34,
      cells: 7,
      empty: "No model is in memory.",
      fill: (row, model) => this.#fill(row, model),
      open: (model) => open(model.name),
    });
    this.#order.addEventListener("change", () => this.#show());
    this.#filter.addEventListener("input", () => this.#show());
  }

  update(endpoint, feed) {
    this.#models = modelsOf(endpoint, feed);
    this.#nowS = feed.atS;
    setText(byId("model-count"), count(this.#models.length));
    this.#show();
  }

  #show() {
    const part = this.#filter.value.trim().toLowerCase();
    const found = this.#models.filter((model) => model.name.toLowerCase().includes(part));
    this.#list.show(found.sort((a, b) => ORDERS[this.#order.value](a, b) || ORDERS.name(a, b)));
  }

  #fill(row, { name, size, usedS, hits, inFlight, format, instance }) {
    const [key, ...cells] = row.children;
    const ageS = this.#nowS - usedS;
    const used = inFlight ? "in use" : ago(ageS);
    key.className = "key";
    key.style.background = `var(${AGES[Math.max(0, stepOf(ageS))].name})`;
    const texts = [name, bytes(size), used, count(hits), format, instance];
    texts.forEach((text, index) => setText(cells[index], text));
    row.title = name;
    return `${name}, ${bytes(size)}, used ${used}, ${counted(hits, "hit")}, ${format}, on ${instance}`;
  }
}
