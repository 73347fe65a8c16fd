// The tip beside the pointer, for tiles and marks on canvases. What it says is also in the list below the canvas.

import { byId, setText } from "./dom.js";

/** Show the lines that `linesAt(x, y)` gives for the pointer over this canvas; null hides the tip. */
export function tipOver(canvas, linesAt) {
  const tip = byId("tip");
  canvas.addEventListener("pointermove", (event) => {
    const lines = linesAt(event.offsetX, event.offsetY);
    tip.hidden = lines === null;
    if (lines === null) return;
    setText(tip, lines.join("\n"));
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
    const below = event.clientY + 18;
    tip.style.top = `${below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : below}px`;
  });
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
}
