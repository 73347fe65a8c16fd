// The figures above the panels: one endpoint at a glance.

import { bytes, count, duration, figures, NONE, percent } from "./format.js";

const memoryOf = (endpoint) => (endpoint.budgetBytes ? bytes(endpoint.usedBytes) : NONE);

/** `[term, text]` pairs for the endpoint. */
export function figuresOf(endpoint) {
  const production = endpoint.variants.map(({ record }) => record).filter((record) => !record.shadow);
  const sum = (name) => production.reduce((total, record) => total + (record[name] ?? 0), 0);
  const worst = (name) => production.reduce((most, record) => Math.max(most ?? 0, record[name] ?? 0) || null, null);
  const lookedUp = sum("looked_up");
  return [
    ["requests a second", figures(endpoint.rate)],
    ["hit ratio since the start", percent(lookedUp ? sum("hits") / lookedUp : null)],
    ["p50, last minutes", duration(worst("p50_s"))],
    ["p99, last minutes", duration(worst("p99_s"))],
    ["models in memory", count(endpoint.models)],
    ["instances", count(endpoint.instances)],
    [endpoint.budgetBytes ? `memory, of ${bytes(endpoint.budgetBytes)}` : "memory", memoryOf(endpoint)],
    ["requests since the start", count(sum("requests"))],
    ["errors of these", count(sum("errors"))],
  ];
}
