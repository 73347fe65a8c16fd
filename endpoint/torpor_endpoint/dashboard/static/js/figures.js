// The figures above the panels: one endpoint at a glance.

import { bytes, count, counted, duration, figures, NONE, percent } from "./format.js";

const memoryOf = (endpoint) => (endpoint.budgetBytes ? bytes(endpoint.usedBytes) : NONE);

/** `[term, text]` pairs for the endpoint. */
export function figuresOf(endpoint) {
  const production = endpoint.variants.map(({ record }) => record).filter((record) => !record.shadow);
  const sum = (name) => production.reduce((total, record) => total + (record[name] ?? 0), 0);
  const worst = (name) => production.reduce((most, record) => Math.max(most ?? 0, record[name] ?? 0) || null, null);
  const lookedUp = sum("looked_up");
  const errors = sum("errors");
  return [
    ["requests a second", figures(endpoint.rate)],
    ["hit ratio", percent(lookedUp ? sum("hits") / lookedUp : null)],
    ["p50 lately", duration(worst("p50_s"))],
    ["p99 lately", duration(worst("p99_s"))],
    ["models in memory", count(endpoint.models)],
    ["instances", count(endpoint.instances)],
    [endpoint.budgetBytes ? `of ${bytes(endpoint.budgetBytes)} memory` : "memory", memoryOf(endpoint)],
    [`requests, ${counted(errors, "error")}`, count(sum("requests"))],
  ];
}
