// The list of endpoints at the left, and the totals in the bar on top.

import { byId, setFigures, setText } from "./dom.js";
import { bytes, count, figures } from "./format.js";
import * as route from "./route.js";
import { VirtualList } from "./virtual-list.js";

const CHANGING = new Set(["Creating", "Updating", "RollingBack", "Deleting"]);

/**
 * The endpoints as the page shows them, by name: each with its variants, instances, models and sums. Made once for
 * each message, so that no panel walks through all instances for itself.
 */
export function endpointsOf(feed) {
  const found = new Map();
  for (const [name, record] of Object.entries(feed.tables.endpoints)) {
    found.set(name, { name, record, variants: [], models: 0, usedBytes: 0, budgetBytes: 0, instances: 0, rate: 0 });
  }
  const variants = new Map();
  for (const [key, record] of Object.entries(feed.tables.variants)) {
    const endpoint = found.get(record.endpoint);
    if (endpoint === undefined) continue;
    const variant = { key, record, instances: [] };
    variants.set(key, variant);
    endpoint.variants.push(variant);
    if (!record.shadow) endpoint.rate += feed.rate(key) ?? 0;
  }
  for (const [id, record] of Object.entries(feed.tables.instances)) {
    const key = `${record.endpoint}/${record.variant}${record.fleet === "new" ? " new" : ""}`;
    const endpoint = found.get(record.endpoint);
    variants.get(key)?.instances.push({ id, record });
    if (endpoint === undefined) continue;
    endpoint.instances += 1;
    for (const part of record.parts) {
      endpoint.usedBytes += part.used_bytes;
      endpoint.budgetBytes += part.budget_bytes;
      endpoint.models += Object.keys(feed.tables.models[`${id}/${part.name}`] ?? {}).length;
    }
  }
  for (const variant of variants.values()) variant.instances.sort((a, b) => a.record.slot - b.record.slot);
  return found;
}

/** The mood of an endpoint: a key for the style, and words. */
export function moodOf({ record, variants }) {
  if (record.status === "Failed" || record.trouble) return { state: "failed", words: "failed" };
  if (CHANGING.has(record.status)) {
    return { state: "changing", words: record.status.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase() };
  }
  const production = variants.filter((variant) => !variant.record.shadow);
  for (const state of ["awake", "starting"]) {
    if (production.some((variant) => variant.record.state === state)) return { state, words: state };
  }
  return { state: "asleep", words: "asleep" };
}

export class EndpointList {
  #filter = byId("endpoint-filter");
  #list;
  #all = [];

  constructor() {
    this.#list = new VirtualList(byId("endpoints"), {
      label: "Endpoints",
      rowHeight: 50,
      cells: 4,
      empty: "No endpoint yet.",
      fill: fillRow,
      open: (endpoint) => route.go({ endpoint: endpoint.name }),
      selected: (endpoint) => endpoint.name === route.current().endpoint,
    });
    this.#filter.addEventListener("input", () => this.#show());
  }

  update(endpoints) {
    this.#all = [...endpoints.values()].sort((a, b) => a.name.localeCompare(b.name));
    this.#show();
    setFigures(byId("totals"), totals(this.#all));
  }

  #show() {
    const part = this.#filter.value.trim().toLowerCase();
    const found = this.#all.filter((one) => one.name.toLowerCase().includes(part));
    this.#list.show(found, part ? "No endpoint has such a name." : "No endpoint yet.");
  }
}

function totals(all) {
  const sum = (of) => all.reduce((total, one) => total + of(one), 0);
  const asleep = all.filter((one) => moodOf(one).state === "asleep").length;
  return [
    ["endpoints", count(all.length)],
    ["asleep", count(asleep)],
    ["instances", count(sum((one) => one.instances))],
    ["models in memory", count(sum((one) => one.models))],
    ["requests/s", figures(sum((one) => one.rate))],
  ];
}

function fillRow(row, endpoint) {
  const [name, rate, mood, use] = row.children;
  const { state, words } = moodOf(endpoint);
  const memory = endpoint.instances ? `${bytes(endpoint.usedBytes)} · ${count(endpoint.models)} models` : "no instance";
  row.dataset.state = state;
  name.className = "name";
  rate.className = "rate";
  mood.className = "mood";
  use.className = "use";
  mood.dataset.state = state;
  setText(name, endpoint.name);
  setText(rate, endpoint.rate > 0 ? `${figures(endpoint.rate)}/s` : "");
  setText(mood, words);
  setText(use, memory);
  row.title = endpoint.name;
  return `${endpoint.name}, ${words}, ${memory}`;
}
