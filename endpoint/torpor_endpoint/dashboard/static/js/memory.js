// The panel of memory: each variant with its instances. A variant that sleeps is drawn as asleep.

import { AGES } from "./ages.js";
import { byId, el, keyed, setText } from "./dom.js";
import { bytes, counted, percent, roughly } from "./format.js";
import { Tiles } from "./tiles.js";

export class MemoryPanel {
  #open;
  #tiles = new WeakMap();

  /** `open(model)` shows a model's story. */
  constructor(open) {
    this.#open = open;
    const legend = el("ul", { class: "legend", "aria-label": "Colours of the tiles: when a model was last used" });
    legend.append("used:");
    AGES.forEach(({ name, words }) => {
      const key = el("i");
      key.style.background = `var(${name})`;
      legend.append(el("li", {}, key, words));
    });
    legend.append(el("li", {}, el("i", { class: "outlined" }), "in use now"));
    legend.append(el("li", {}, el("i", { class: "hatched" }), "the instance itself"));
    byId("variants").before(legend);
  }

  update(endpoint, feed) {
    const variants = new Map(endpoint.variants.map((variant) => [variant.key, variant]));
    keyed(byId("variants"), [...variants.keys()], makeVariant, (node, key) => {
      this.#fillVariant(node, variants.get(key), feed);
    });
  }

  #fillVariant(node, { record, instances }, feed) {
    const [header, slumber, list] = node.children;
    const [name, mood, badge, fleet, component, notes] = header.children;
    const asleep = record.state === "asleep";
    node.classList.toggle("asleep", asleep);
    setText(name, record.component ?? record.name);
    mood.dataset.state = record.state;
    setText(mood, record.state);
    badge.hidden = !record.shadow;
    fleet.hidden = !record.fleet;
    fleet.dataset.fleet = record.fleet ?? "";
    setText(fleet, record.fleet ? `${record.fleet} fleet: ${percent(record.share)} of the traffic` : "");
    component.hidden = !record.component && !record.capacity;
    setText(component, badgeOf(record));
    setText(notes, noteOf(record, instances));
    slumber.hidden = !asleep || Boolean(record.capacity);
    setText(slumber.lastElementChild, sleepText(record));
    const parts = instances.flatMap(({ id, record: instance }) =>
      instance.parts.length
        ? instance.parts.map((part) => [`${id}/${part.name}`, { id, instance, part }])
        : [[id, { id, instance, part: null }]],
    );
    const byKey = new Map(parts);
    keyed(
      list,
      [...byKey.keys()],
      () => this.#makeInstance(),
      (row, key) => this.#fillInstance(row, byKey.get(key), feed.tables.models[key] ?? {}, feed.atS),
    );
  }

  #makeInstance() {
    const tiles = new Tiles(this.#open);
    const row = el("div", { class: "instance" }, el("p", { class: "caption" }), tiles.node);
    this.#tiles.set(row, tiles);
    return row;
  }

  #fillInstance(row, { id, instance, part }, models, nowS) {
    const [caption, canvas] = row.children;
    const known = part !== null;
    const texts = [
      known && instance.parts.length > 1 ? `${id} · ${part.name}` : id,
      known ? `${bytes(part.used_bytes)} of ${bytes(part.budget_bytes)}` : (instance.type ?? "not read yet"),
      known && part.device ? `${bytes(part.device_bytes)} of ${bytes(part.device_budget_bytes)} on ${part.device}` : "",
      instance.place ? `on ${instance.place}` : "",
      known ? counted(Object.keys(models).length, "model") : "",
      instance.in_flight ? `${instance.in_flight} in flight` : "",
      instance.phase === "ready" ? `awake for ${roughly(Math.max(0, nowS - instance.ready_s))}` : instance.phase,
    ];
    if (caption.childElementCount === 0) caption.append(el("strong"), ...texts.slice(1).map(() => el("span")));
    texts.forEach((text, index) => setText(caption.children[index], text));
    canvas.hidden = !known;
    if (known) this.#tiles.get(row).update(part, models, nowS);
  }
}

function makeVariant() {
  const header = el(
    "header",
    {},
    el("h3"),
    el("span", { class: "mood" }),
    el("span", { class: "badge" }, "shadow: gets copies, answers nobody"),
    el("span", { class: "badge fleet" }),
    el("span", { class: "badge" }),
    el("span", { class: "quiet" }),
  );
  const slumber = el("p", { class: "slumber" }, el("span", { class: "moon", "aria-hidden": "true" }, "☾"), el("span"));
  return el("section", { class: "variant" }, header, slumber, el("div"));
}

function noteOf(record, instances) {
  const parts = [record.size];
  const unit = record.component ? "copy" : "instance";
  const wanted = record.component && record.wanted !== 1 ? `${record.wanted} copies` : counted(record.wanted, unit);
  if (record.state !== "asleep") parts.push(`${record.ready} of ${wanted} ready`);
  if (instances.length === 0 && record.state === "starting") parts.push(`${record.component ? "a" : "an"} ${unit} starts`);
  if (record.held) parts.push(`${counted(record.held, "request")} held`);
  if (record.leaving) parts.push(`${record.leaving} leaving`);
  if (record.weight !== 1) parts.push(`weight ${record.weight}`);
  if (record.trouble) parts.push(record.trouble);
  return parts.join(" · ");
}

function badgeOf(record) {
  if (record.capacity) return "instances for components";
  return record.status ? `component, ${record.status}` : "component";
}

function sleepText(record) {
  if (record.component) return "No copy runs, and no memory is set aside for one.";
  const leaving = record.leaving ? " The last instance still ends its requests." : "";
  return `Asleep: nothing runs, and nothing is paid for, until a request comes.${leaving}`;
}
