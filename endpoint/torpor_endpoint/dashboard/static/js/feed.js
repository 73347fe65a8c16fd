// The live feed: keeps the snapshot up to date, and tells subscribers after each message. A hidden page hangs up.

import { merge } from "./merge.js";
import { check } from "./session.js";

const URL = "/_torpor/dashboard/feed";
const EVENTS_MAX = 2000;
const RATES_MAX = 5;

export class Feed {
  /** The tables of `snapshot.py`, each a plain object of records by key. */
  tables = { endpoints: {}, variants: {}, instances: {}, models: {} };
  /** The timeline's rows, oldest first. */
  events = [];
  /** The endpoint's clock at the last message, in epoch seconds. */
  atS = 0;
  state = "connecting";
  #source = null;
  #subscribers = [];
  #samples = [];

  start() {
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#close() : this.#open()));
    if (!document.hidden) this.#open();
  }

  /** Call `changed(feed)` after each message and each change of `state`. */
  subscribe(changed) {
    this.#subscribers.push(changed);
  }

  /** Requests a second of a variant over the last few messages; null before two have come. */
  rate(variant) {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last.atS <= first.atS) return null;
    const grown = (last.requests[variant] ?? 0) - (first.requests[variant] ?? 0);
    return Math.max(0, grown / (last.atS - first.atS));
  }

  #open() {
    if (this.#source !== null) return;
    this.#source = new EventSource(URL);
    this.#source.addEventListener("snapshot", (event) => this.#begin(JSON.parse(event.data)));
    this.#source.addEventListener("patch", (event) => this.#take(JSON.parse(event.data)));
    // The browser connects again by itself, unless the endpoint refused.
    this.#source.addEventListener("error", () => {
      this.#tell("lost");
      if (this.#source?.readyState === EventSource.CLOSED) {
        this.#close();
        check().catch(() => {}); // the endpoint may be down: the next try shows it
        setTimeout(() => document.hidden || this.#open(), 5000);
      }
    });
  }

  #close() {
    this.#source?.close();
    this.#source = null;
  }

  #begin(message) {
    this.tables = { endpoints: {}, variants: {}, instances: {}, models: {} };
    this.events = [];
    this.#samples = [];
    this.#take(message);
  }

  #take({ at_s: atS, patch, events }) {
    merge(this.tables, patch);
    this.atS = atS;
    this.events.push(...events);
    this.events.splice(0, this.events.length - EVENTS_MAX);
    const requests = {};
    for (const [name, variant] of Object.entries(this.tables.variants)) requests[name] = variant.requests ?? 0;
    this.#samples.push({ atS, requests });
    this.#samples.splice(0, this.#samples.length - RATES_MAX);
    this.#tell("live");
  }

  #tell(state) {
    this.state = state;
    for (const changed of this.#subscribers) changed(this);
  }
}
