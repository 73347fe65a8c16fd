// The cost of the endpoint's last day beside that of other ways to serve the same traffic, as bars.

import { json } from "./asking.js";
import { byId, el } from "./dom.js";
import { dollars, duration } from "./format.js";
import { Polling } from "./polling.js";

const EVERY_S = 30;

export class Costs {
  #polling = new Polling({
    everyS: EVERY_S,
    ask: (question) => json("costs", question),
    show: (costs) => byId("costs").replaceChildren(...shown(costs)),
    fail: (error) => byId("costs").replaceChildren(el("p", { class: "quiet" }, error.message)),
  });

  update(endpoint) {
    this.#polling.update({ endpoint: endpoint.name, models: 0 });
  }
}

function shown(costs) {
  const { since_s: since, until_s: until, priced_on: on, left_out: leftOut } = costs;
  const rows = rowsOf(costs.variants);
  const most = Math.max(...rows.map(({ usd }) => usd ?? 0), 1e-12);
  const bars = el("div", { class: "bars", role: "list" });
  for (const { way, usd, assumes, ours } of rows) {
    const bar = el("div", { class: ours ? "bar ours" : "bar" });
    bar.style.width = `${((usd ?? 0) / most) * 100}%`;
    bars.append(
      el(
        "div",
        { role: "listitem", class: "cost" },
        el("div", { class: "way" }, way, el("small", {}, assumes)),
        el("div", {}, bar),
        el("div", { class: "sum" }, dollars(usd)),
      ),
    );
  }
  const note = `The last ${duration(until - since)}, at AWS's prices of ${on}, as if this machine were billed by AWS. Left out: ${leftOut}.`;
  return [bars, ...bill(costs.variants), ...protocols(costs.variants), el("p", { class: "quiet" }, note)];
}

/** The bill of this endpoint: a row for each item, over all variants. */
function bill(variants) {
  const items = [...Map.groupBy(variants.flatMap((one) => one.lines ?? []), (line) => line.item)];
  if (!items.length) return [];
  const rows = items.map(([item, lines]) => {
    const amount = total(lines.map((line) => line.quantity));
    const cells = [item, `${digits(amount)} ${lines[0].unit}`, rate(lines[0]), dollars(total(lines.map((line) => line.usd)))];
    return el("tr", { title: lines[0].source }, ...cells.map((cell) => el("td", {}, cell)));
  });
  const names = ["item", "quantity", "rate", "cost"].map((name) => el("th", {}, name));
  return [el("table", { class: "bill" }, el("thead", {}, el("tr", {}, ...names)), el("tbody", {}, ...rows))];
}

/** What came by each protocol, over all variants; nothing where all came by SageMaker's own. */
function protocols(variants) {
  const uses = [...Map.groupBy(variants.flatMap((one) => one.faces ?? []), (use) => use.face)];
  if (!uses.length) return [];
  const rows = uses.map(([face, parts]) => {
    const [requests, took] = ["requests", "total_s"].map((name) => total(parts.map((part) => part[name])));
    const each = requests ? `${digits((1000 * took) / requests)} ms` : "";
    const cells = [face, requests.toLocaleString("en-US"), each, dollars(total(parts.map((part) => part.usd)))];
    return el("tr", {}, ...cells.map((cell) => el("td", {}, cell)));
  });
  const names = ["protocol", "requests", "each", "cost"].map((name) => el("th", {}, name));
  return [el("table", { class: "bill" }, el("thead", {}, el("tr", {}, ...names)), el("tbody", {}, ...rows))];
}

const digits = (amount) => amount.toLocaleString("en-US", { maximumSignificantDigits: 4 });
const rate = (line) => (line.rate_usd === null ? "unknown" : `$${line.rate_usd}`);

/** One row for this endpoint, and one for each other way; the variants are added up. */
function rowsOf(variants) {
  const idle = total(variants.map((one) => one.idle_usd));
  const rows = [
    {
      way: "this endpoint",
      usd: total(variants.map((one) => one.usd)),
      assumes: idle ? `of it ${dollars(idle)} while no request was answered` : "",
      ours: true,
    },
  ];
  const ways = Map.groupBy(variants.flatMap((one) => one.on_aws), (one) => one.way);
  for (const [way, alternatives] of ways) {
    const assumes = alternatives.map((one) => one.assumes).join("; ");
    rows.push({ way, usd: total(alternatives.map((one) => one.usd)), assumes });
  }
  return rows;
}

/** The sum, or null where a part is not known. */
const total = (parts) => (parts.some((part) => part === null) ? null : parts.reduce((sum, part) => sum + part, 0));
