// What the page shows, kept in the address: `#/ENDPOINT/PANEL`. So a view can be linked, and Back works.

export const PANELS = {
  memory: "Memory",
  timeline: "Timeline",
  charts: "Charts and cost",
  cold: "Cold requests",
  queue: "Queue",
  invoke: "Invoke and upload",
  "what-if": "What if",
};

/** The endpoint and the panel in the address. The endpoint is empty if the address names none. */
export function current() {
  const [endpoint = "", panel = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return { endpoint, panel: panel in PANELS ? panel : "memory" };
}

/** Change the endpoint, the panel, or both. */
export function go(change) {
  const { endpoint, panel } = { ...current(), ...change };
  const hash = `#/${encodeURIComponent(endpoint)}/${panel}`;
  if (location.hash !== hash) location.hash = hash;
}

/** Call `changed` when the address changes. */
export const watch = (changed) => addEventListener("hashchange", changed);
