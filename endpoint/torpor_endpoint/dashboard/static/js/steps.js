// The steps of a request, in the order in which they happen, as a bar and as words.

import { el } from "./dom.js";
import { duration } from "./format.js";

const STEPS = ["hold", "wake", "queue", "download", "unpack", "load", "predict", "stream", "overhead"];
const NOTICED_S = 0.0001;

/** A legend of all steps, as list items. */
export const legend = () => STEPS.map((step) => el("li", {}, key(step), step));

/** A bar of these seconds by step, as a part of `wholeS` seconds. */
export function bar(steps, wholeS) {
  const box = el("div", { class: "steps", role: "img", "aria-label": words(steps) });
  let atS = 0;
  for (const [step, tookS] of ordered(steps)) {
    const piece = key(step);
    piece.style.left = `${(atS / wholeS) * 100}%`;
    piece.style.width = `${(tookS / wholeS) * 100}%`;
    piece.title = `${step} ${duration(tookS)}`;
    box.append(piece);
    atS += tookS;
  }
  return box;
}

/** `load 300 ms, predict 2 ms`: the steps that took any time worth naming. */
export const words = (steps) =>
  ordered(steps)
    .filter(([, tookS]) => tookS > NOTICED_S)
    .map(([step, tookS]) => `${step} ${duration(tookS)}`)
    .join(", ");

/** The steps of a `Server-Timing` header, in seconds. */
export function parsed(header) {
  const steps = {};
  for (const part of (header ?? "").split(",")) {
    const [, step, ms] = part.match(/^\s*([\w-]+);dur=([\d.]+)/) ?? [];
    if (step !== undefined) steps[step] = Number(ms) / 1000;
  }
  return steps;
}

const ordered = (steps) => Object.entries(steps).sort(([a], [b]) => STEPS.indexOf(a) - STEPS.indexOf(b));

function key(step) {
  const piece = el("i");
  piece.style.background = `var(--step-${step})`;
  return piece;
}
