// How long ago a model was used, as one of five steps with a colour each.

import { token } from "./dom.js";

const STEPS = [
  { untilS: 10, words: "in the last 10 s" },
  { untilS: 60, words: "minute" },
  { untilS: 600, words: "10 minutes" },
  { untilS: 3600, words: "hour" },
  { untilS: Infinity, words: "longer ago" },
];

export const AGES = STEPS.map(({ words }, step) => ({ words, name: `--age-${step}` }));

/** The step of this age in seconds, from 0 (just used). */
export const stepOf = (ageS) => STEPS.findIndex(({ untilS }) => ageS < untilS);

/** The colours of the steps, and of a text on each of them. */
export function palette() {
  return AGES.map(({ name }) => {
    const fill = token(name);
    return { fill, text: luminance(fill) > 0.2 ? "#0b1216" : "#ffffff" };
  });
}

/** WCAG's relative luminance of a colour `#rrggbb`. */
function luminance(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
