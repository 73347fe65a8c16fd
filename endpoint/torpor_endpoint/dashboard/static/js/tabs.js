// The panels behind tabs, by the ARIA pattern: arrows move along the tabs, and each tab is in the address.

import { byId, el } from "./dom.js";
import * as route from "./route.js";

export class Tabs {
  #list = byId("tabs");

  constructor() {
    for (const [panel, words] of Object.entries(route.PANELS)) {
      const tab = el("button", { type: "button", role: "tab", id: `tab-${panel}`, "aria-controls": `panel-${panel}` }, words);
      tab.addEventListener("click", () => route.go({ panel }));
      this.#list.append(tab);
    }
    this.#list.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Show this panel alone. */
  show(panel) {
    for (const [index, name] of Object.keys(route.PANELS).entries()) {
      const chosen = name === panel;
      this.#list.children[index].setAttribute("aria-selected", String(chosen));
      this.#list.children[index].tabIndex = chosen ? 0 : -1;
      byId(`panel-${name}`).hidden = !chosen;
    }
  }

  #key(event) {
    const panels = Object.keys(route.PANELS);
    const at = panels.indexOf(route.current().panel);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: panels.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const index = (to + panels.length) % panels.length;
    route.go({ panel: panels[index] });
    this.#list.children[index].focus();
  }
}
