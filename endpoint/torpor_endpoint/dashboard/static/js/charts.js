// Charts by the minute, drawn by uPlot. The caption of each says its latest value, so that it can be heard as well.

import { json } from "./asking.js";
import { byId, el, keyed, setText, token } from "./dom.js";
import { duration, figures, NONE, percent } from "./format.js";
import { Polling } from "./polling.js";

const EVERY_S = 5;
const HEIGHT = 160;

/** The charts: each line has a column of `charts.py`, a colour and a name. */
const CHARTS = [
  {
    title: "Requests",
    unit: "a second",
    text: figures,
    lines: [
      { column: "requests_hz", name: "requests", colour: "--accent" },
      { column: "errors_hz", name: "errors", colour: "--bad" },
    ],
  },
  { title: "Hit ratio", text: percent, most: 1, lines: [{ column: "hit_ratio", name: "in memory", colour: "--accent" }] },
  {
    title: "Latency",
    text: duration,
    lines: [
      { column: "p50_s", name: "p50", colour: "--accent" },
      { column: "p99_s", name: "p99", colour: "--warn" },
      { column: "outside_p99_s", name: "p99 outside", colour: "--sleep" },
    ],
  },
  { title: "Models in memory", text: figures, lines: [{ column: "models", name: "models", colour: "--accent" }] },
  { title: "Instances", text: figures, lines: [{ column: "instances", name: "instances", colour: "--good" }] },
  {
    title: "Waits of cold requests",
    unit: "in each second",
    text: duration,
    lines: [{ column: "cold_s", name: "all together", colour: "--warn" }],
  },
];

export class Charts {
  #drawn = CHARTS.map((chart) => new Chart(chart));
  #span = byId("charts-span");
  #polling = new Polling({
    everyS: EVERY_S,
    ask: (question) => json("dashboard/charts", question),
    show: (columns) => this.#drawn.forEach((chart) => chart.show(columns)),
    fail: (error) => this.#drawn.forEach((chart) => chart.fail(error)),
  });
  #endpoint = "";

  constructor() {
    byId("charts").append(...this.#drawn.map((chart) => chart.node));
    this.#span.addEventListener("change", () => this.#ask());
    document.addEventListener("themechange", () => this.#drawn.forEach((chart) => chart.restyle()));
  }

  update(endpoint) {
    this.#endpoint = endpoint.name;
    this.#ask();
  }

  #ask() {
    this.#polling.update({ endpoint: this.#endpoint, span_s: this.#span.value });
  }
}

class Chart {
  #chart;
  #plot = null;
  #data = null;
  #latest = el("span", { class: "latest" });
  #box = el("div", { class: "plot" });

  constructor(chart) {
    this.#chart = chart;
    this.node = el("figure", { class: "chart" }, el("figcaption", {}, el("span", { class: "title" }, chart.title, el("span", {}, chart.unit ? ` ${chart.unit}` : "")), this.#latest), this.#box);
    new ResizeObserver(() => this.#plot?.setSize(this.#size())).observe(this.#box);
  }

  show(columns) {
    const { lines, text } = this.#chart;
    this.#data = [columns.at_s, ...lines.map(({ column }) => columns[column])];
    keyed(this.#latest, lines.map(({ column }) => column), makeLatest, (node, column) => {
      const { name, colour } = lines.find((line) => line.column === column);
      const value = columns[column].findLast((one) => one !== null) ?? null;
      const [dot, words] = node.children;
      dot.style.background = `var(${colour})`;
      setText(words, `${value === null ? NONE : text(value)}${lines.length > 1 ? ` ${name}` : ""}`);
    });
    if (this.#plot === null) this.#draw();
    else this.#plot.setData(this.#data);
  }

  fail(error) {
    this.#latest.replaceChildren(error.message);
  }

  /** Draw again in the colours of another theme. */
  restyle() {
    if (this.#plot === null) return;
    this.#plot.destroy();
    this.#draw();
  }

  #size = () => ({ width: this.#box.clientWidth, height: HEIGHT });

  #draw() {
    const { lines, text, most } = this.#chart;
    const axis = { stroke: token("--quiet"), grid: { stroke: token("--line"), width: 1 }, ticks: { show: false } };
    const font = `11px ${token("--sans")}`;
    this.#plot = new uPlot(
      {
        ...this.#size(),
        legend: { show: false },
        cursor: { y: false, sync: { key: "charts" }, points: { size: 6 } },
        scales: { y: { range: (_, low, high) => [0, Math.max(most ?? 0, (high ?? 0) * 1.1) || 1] } },
        axes: [
          { ...axis, font, space: 60, size: 28, values: (_, times) => times.map(clock) },
          { ...axis, font, size: 58, values: (_, values) => values.map((value) => (value === null ? "" : text(value))) },
        ],
        series: [
          {},
          ...lines.map(({ colour, name }, index) => ({
            label: name,
            stroke: token(colour),
            width: 2,
            fill: index === 0 && lines.length === 1 ? `${token(colour)}22` : undefined,
            points: { size: 5 },
          })),
        ],
        hooks: { setCursor: [(plot) => this.#point(plot)] },
      },
      this.#data,
      this.#box,
    );
  }

  /** The title of the box says the values under the pointer. */
  #point(plot) {
    const { idx } = plot.cursor;
    const { lines, text } = this.#chart;
    if (idx === null || idx === undefined) return;
    const values = lines.map(({ name }, index) => {
      const value = plot.data[index + 1][idx];
      return `${name} ${value === null || value === undefined ? NONE : text(value)}`;
    });
    this.#box.title = `${clock(plot.data[0][idx])}: ${values.join(", ")}`;
  }
}

const makeLatest = () => el("span", {}, el("span", { class: "dot" }), el("span"));

/** `09:15`; `atS` is epoch seconds. */
const clock = (atS) => new Date(atS * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
