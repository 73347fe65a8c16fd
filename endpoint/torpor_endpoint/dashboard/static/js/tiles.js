// One instance's memory as a picture: a bar to scale, of its own part, its models and what is free; and below it, as
// wide as the picture, a tile for each model. However few or small the models are, their tiles can be seen.

import { palette, stepOf } from "./ages.js";
import { canvasContext, el, token } from "./dom.js";
import { ago, bytes, counted, modelName } from "./format.js";
import { tipOver } from "./tip.js";
import { squarified } from "./treemap.js";

const EDGE = 1;
const BAR = 16;
const LENS = 14;
const LABEL_MIN_WIDTH = 40;
const LABEL_MIN_LETTERS = 4;
const LABEL_MIN_HEIGHT = 18;

export class Tiles {
  /** The canvas. */
  node = el("canvas", { role: "img" });
  #part = null;
  #tiles = [];
  #bar = { ownEnd: 0, modelsEnd: 0 };
  #nowS = 0;
  #drawn = "";

  /** `open(model)` is called for a click on a model's tile. */
  constructor(open) {
    tipOver(this.node, (x, y) => this.#said(x, y));
    this.node.addEventListener("click", (event) => {
      const tile = this.#at(event.offsetX, event.offsetY);
      if (tile) open(tile.item.name);
    });
    new ResizeObserver(() => this.draw(true)).observe(this.node);
    document.addEventListener("themechange", () => this.draw(true));
  }

  /** `part` and `models` are records of the snapshot, `nowS` is the endpoint's clock. */
  update(part, models, nowS) {
    this.#part = part;
    this.#nowS = nowS;
    this.items = Object.entries(models)
      .map(([name, [size, usedS, hits, inFlight, format]]) => ({ name, size, usedS, hits, inFlight, format }))
      .sort((a, b) => b.size - a.size || a.name.localeCompare(b.name));
    this.node.setAttribute(
      "aria-label",
      `${counted(this.items.length, "model")} in memory, ${bytes(part.used_bytes)} of ${bytes(part.budget_bytes)} used`,
    );
    this.node.classList.toggle("bare", this.items.length === 0);
    this.draw(false);
  }

  /** Draw again if something that can be seen has changed, or `always`. */
  draw(always) {
    if (this.#part === null || this.node.clientWidth === 0) return;
    const steps = this.items.map((item) => `${item.name}:${item.size}:${this.#step(item)}:${item.inFlight > 0}`);
    const seen = `${this.#part.used_bytes >> 20} ${steps.join(" ")}`;
    if (seen === this.#drawn && !always) return;
    this.#drawn = seen;
    this.#paint();
  }

  #paint() {
    const { context, width, height } = canvasContext(this.node);
    const colours = palette();
    const [own, models] = this.#shares();
    this.#bar = { ownEnd: own * width, modelsEnd: (own + models) * width };
    context.fillStyle = token("--raised");
    context.fillRect(0, 0, width, BAR);
    hatch(context, this.#bar.ownEnd, BAR);
    context.fillStyle = colours[0].fill;
    context.fillRect(this.#bar.ownEnd, 0, Math.max(this.#bar.modelsEnd - this.#bar.ownEnd, 1), BAR);
    if (this.items.length > 0) this.#lens(context, width);
    const top = BAR + LENS;
    this.#tiles = squarified(this.items, 0, top, width, height - top);
    const busy = token("--busy");
    context.font = `12px ${token("--sans")}`;
    context.textBaseline = "top";
    for (const tile of this.#tiles) this.#tile(context, tile, colours[this.#step(tile.item)], busy);
  }

  /** The parts of the memory that the instance itself and its models take, as shares of the whole. */
  #shares() {
    const { budget_bytes: budget, own_bytes: own } = this.#part;
    const models = this.items.reduce((sum, item) => sum + item.size, 0);
    const whole = Math.max(budget, own + models, 1);
    return [own / whole, models / whole];
  }

  /** A pale shape that leads from the models' part of the bar to their tiles. */
  #lens(context, width) {
    context.fillStyle = token("--raised");
    context.beginPath();
    context.moveTo(this.#bar.ownEnd, BAR);
    context.lineTo(this.#bar.modelsEnd, BAR);
    context.lineTo(width, BAR + LENS);
    context.lineTo(0, BAR + LENS);
    context.fill();
  }

  #tile(context, { item, x, y, width, height }, colour, busy) {
    const edge = width > 3 && height > 3 ? EDGE : 0;
    context.fillStyle = colour.fill;
    context.fillRect(x, y, Math.max(width - edge, 0.5), Math.max(height - edge, 0.5));
    if (item.inFlight > 0 && width > 6 && height > 6) {
      context.strokeStyle = busy;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, width - edge - 2, height - edge - 2);
    }
    if (width < LABEL_MIN_WIDTH || height < LABEL_MIN_HEIGHT) return;
    context.fillStyle = colour.text;
    context.fillText(fitted(context, modelName(item.name), width - 10), x + 5, y + 5);
    const size = bytes(item.size);
    if (height > 38 && context.measureText(size).width <= width - 8) context.fillText(size, x + 5, y + 20);
  }

  #step = (item) => Math.max(0, stepOf(this.#nowS - item.usedS));

  #at = (x, y) =>
    this.#tiles.find((tile) => x >= tile.x && x < tile.x + tile.width && y >= tile.y && y < tile.y + tile.height);

  #said(x, y) {
    if (this.#part === null) return null;
    const tile = this.#at(x, y);
    if (tile) {
      const { name, size, usedS, hits, inFlight, format } = tile.item;
      const busy = inFlight ? [counted(inFlight, "request") + " in flight"] : [];
      return [name, `${format}, ${bytes(size)}, ${counted(hits, "hit")}`, `used ${ago(this.#nowS - usedS)}`, ...busy];
    }
    if (y > BAR) return null;
    const { budget_bytes: budget, used_bytes: used, own_bytes: own } = this.#part;
    if (x < this.#bar.ownEnd) return [`the instance itself: ${bytes(own)}`];
    if (x < this.#bar.modelsEnd) return [`models: ${bytes(used - own)}`];
    return [`free: ${bytes(Math.max(0, budget - used))}`];
  }
}

/** The text, or as much of its end as fits: names of models differ at their ends. */
function fitted(context, text, width) {
  const whole = context.measureText(text).width;
  if (whole <= width) return text;
  let kept = Math.floor((text.length * width) / whole);
  while (kept >= LABEL_MIN_LETTERS && context.measureText(`…${text.slice(-kept)}`).width > width) kept -= 1;
  return kept < LABEL_MIN_LETTERS ? "" : `…${text.slice(-kept)}`;
}

/** The instance's own memory: stripes, since it is no model. */
function hatch(context, width, height) {
  if (width < 1) return;
  context.save();
  context.beginPath();
  context.rect(0, 0, Math.max(width - EDGE, 1), height);
  context.clip();
  context.strokeStyle = token("--own");
  context.lineWidth = 1.5;
  for (let x = -height; x < width; x += 7) {
    context.beginPath();
    context.moveTo(x, height);
    context.lineTo(x + height, 0);
    context.stroke();
  }
  context.restore();
}
