// The timeline: loads, evictions, wakes, sleeps and faults as marks on lanes, and as a list with their reasons.

import { byId, canvasContext, el, setText, token } from "./dom.js";
import { counted, modelName, moment } from "./format.js";
import { tipOver } from "./tip.js";
import { VirtualList } from "./virtual-list.js";

const SPAN_S = 900;
const LABELS = 76;
const FOOT = 20;
const KINDS = {
  load: { words: "load", lane: "loads", colour: "--load" },
  eviction: { words: "eviction", lane: "evictions", colour: "--eviction" },
  wake: { words: "wake", lane: "wakes", colour: "--wake" },
  sleep: { words: "sleep", lane: "sleeps", colour: "--sleep-mark" },
  fault: { words: "fault", lane: "faults", colour: "--fault" },
};

export class Timeline {
  #canvas = el("canvas", { role: "img" });
  #hidden = new Set();
  #events = [];
  #marks = [];
  #nowS = 0;
  #list;

  /** `open(model)` shows a model's story. */
  constructor(open) {
    this.#list = new VirtualList(byId("events"), {
      label: "Events, the newest first",
      rowHeight: 34,
      cells: 4,
      empty: "Nothing has happened yet.",
      fill: fillRow,
      open: (event) => event.model && open(event.model),
    });
    byId("lanes").append(this.#canvas);
    byId("kinds").append(...Object.keys(KINDS).map((kind) => this.#switch(kind)));
    tipOver(this.#canvas, (x, y) => this.#said(x, y));
    this.#canvas.addEventListener("click", (event) => {
      const mark = this.#at(event.offsetX, event.offsetY);
      if (mark?.event.model) open(mark.event.model);
    });
    new ResizeObserver(() => this.#draw()).observe(this.#canvas);
    document.addEventListener("themechange", () => this.#draw());
  }

  update(endpoint, feed) {
    this.#nowS = feed.atS;
    this.#events = feed.events.filter((event) => event.endpoint === endpoint.name);
    this.#show();
  }

  #show() {
    const shown = this.#events.filter((event) => !this.#hidden.has(event.kind));
    this.#list.show(shown.toReversed());
    this.#draw();
  }

  #switch(kind) {
    const dot = el("span", { class: "dot" });
    dot.style.background = `var(${KINDS[kind].colour})`;
    const button = el("button", { type: "button", "aria-pressed": "true" }, dot, KINDS[kind].lane);
    button.addEventListener("click", () => {
      if (!this.#hidden.delete(kind)) this.#hidden.add(kind);
      button.setAttribute("aria-pressed", String(!this.#hidden.has(kind)));
      this.#show();
    });
    return button;
  }

  #draw() {
    if (this.#canvas.clientWidth === 0) return;
    const { context, width, height } = canvasContext(this.#canvas);
    const kinds = Object.keys(KINDS);
    const lane = (height - FOOT) / kinds.length;
    const xOf = (atS) => LABELS + ((atS - this.#nowS + SPAN_S) / SPAN_S) * (width - LABELS - 12);
    context.font = `12px ${token("--sans")}`;
    context.textBaseline = "middle";
    kinds.forEach((kind, index) => {
      const y = (index + 0.5) * lane;
      context.fillStyle = token("--quiet");
      context.fillText(KINDS[kind].lane, 12, y);
      context.fillStyle = token("--line");
      context.fillRect(LABELS, y, width - LABELS - 12, 1);
    });
    this.#axis(context, height, xOf);
    const since = this.#nowS - SPAN_S;
    this.#marks = this.#events
      .filter((event) => event.at_s >= since && !this.#hidden.has(event.kind))
      .map((event) => ({ event, x: xOf(event.at_s), y: (kinds.indexOf(event.kind) + 0.5) * lane }));
    context.globalAlpha = 0.75;
    for (const { event, x, y } of this.#marks) {
      context.fillStyle = token(KINDS[event.kind].colour);
      context.beginPath();
      context.arc(x, y, 4, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
    this.#canvas.setAttribute("aria-label", `The last 15 minutes: ${this.#counts()}`);
  }

  #axis(context, height, xOf) {
    context.fillStyle = token("--quiet");
    context.textAlign = "center";
    for (let minutes = 15; minutes >= 0; minutes -= 5) {
      const x = xOf(this.#nowS - minutes * 60);
      context.textAlign = minutes === 0 ? "right" : minutes === 15 ? "left" : "center";
      context.fillText(minutes === 0 ? "now" : `${minutes} min ago`, x, height - FOOT / 2);
    }
    context.textAlign = "left";
  }

  #counts() {
    const counts = Object.entries(KINDS).map(([kind, { words }]) => {
      const found = this.#marks.filter((mark) => mark.event.kind === kind).length;
      return counted(found, words);
    });
    return counts.join(", ");
  }

  #at = (x, y) => this.#marks.findLast((mark) => Math.hypot(mark.x - x, mark.y - y) < 7);

  #said(x, y) {
    const mark = this.#at(x, y);
    if (!mark) return null;
    const { at_s: atS, model, instance, what } = mark.event;
    return [`${moment(atS)} · ${model ?? instance}`, what];
  }
}

function fillRow(row, event) {
  const [at, kind, subject, what] = row.children;
  const { words, colour } = KINDS[event.kind];
  const name = event.model ?? event.instance;
  if (kind.childElementCount === 0) kind.append(el("span", { class: "dot" }), el("span"));
  kind.className = "kind";
  kind.firstElementChild.style.background = `var(${colour})`;
  setText(kind.lastElementChild, words);
  setText(at, moment(event.at_s));
  setText(subject, event.model ? modelName(name) : name);
  setText(what, event.what);
  row.title = `${name}: ${event.what}`;
  return `${moment(event.at_s)}, ${words}, ${name}: ${event.what}`;
}
