// A list of which only the visible rows are in the document. It is one listbox for the keyboard and screen readers:
// arrows, Page Up and Down, Home and End move, Enter opens.

import { el, setText } from "./dom.js";

const SPARE = 4;
let lists = 0;

export class VirtualList {
  #box;
  #rows = el("div", { class: "rows", role: "presentation" });
  #empty = el("p", { class: "empty" });
  #nodes = [];
  #items = [];
  #current = 0;
  #options;
  #id = `list-${(lists += 1)}`;
  #frame = 0;

  /**
   * `box` is the scrolling element. Options: `label`; `rowHeight` in CSS pixels; `empty`, the text of an empty list;
   * `cells`, how many cells a row has; `fill(row, item)`, which sets the texts and returns the row's accessible name;
   * `open(item)`; `selected(item)`, whether an item is the chosen one.
   */
  constructor(box, options) {
    this.#box = box;
    this.#options = options;
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-label", options.label);
    box.tabIndex = 0;
    box.append(this.#rows, this.#empty);
    box.addEventListener("scroll", () => this.#later(), { passive: true });
    box.addEventListener("keydown", (event) => this.#key(event));
    box.addEventListener("click", (event) => this.#click(event));
    new ResizeObserver(() => this.#later()).observe(box);
  }

  /** Show these items instead, or the text `empty` if there are none. The place of the scroll stays. */
  show(items, empty = this.#options.empty) {
    this.#items = items;
    setText(this.#empty, empty);
    this.#current = Math.min(this.#current, Math.max(0, items.length - 1));
    this.#rows.style.height = `${items.length * this.#options.rowHeight}px`;
    this.#empty.hidden = items.length > 0;
    this.#later();
  }

  #later() {
    if (this.#frame === 0) {
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0;
        this.#draw();
      });
    }
  }

  #draw() {
    const { rowHeight, fill, selected } = this.#options;
    const visible = Math.ceil(this.#box.clientHeight / rowHeight) + 2 * SPARE;
    const first = Math.max(0, Math.floor(this.#box.scrollTop / rowHeight) - SPARE);
    const shown = this.#box.clientHeight === 0 ? 0 : Math.min(visible, this.#items.length - first);
    while (this.#nodes.length < shown) this.#add();
    this.#nodes.forEach((node, offset) => {
      const index = first + offset;
      node.hidden = offset >= shown;
      if (node.hidden) return;
      node.style.transform = `translateY(${index * rowHeight}px)`;
      node.dataset.index = index;
      node.id = `${this.#id}-${index}`;
      node.setAttribute("aria-posinset", index + 1);
      node.setAttribute("aria-setsize", this.#items.length);
      node.classList.toggle("current", index === this.#current);
      node.setAttribute("aria-selected", selected?.(this.#items[index]) ?? false);
      const name = fill(node, this.#items[index]);
      if (node.getAttribute("aria-label") !== name) node.setAttribute("aria-label", name);
    });
    if (shown > 0) this.#box.setAttribute("aria-activedescendant", `${this.#id}-${this.#current}`);
    else this.#box.removeAttribute("aria-activedescendant");
  }

  #add() {
    const cells = Array.from({ length: this.#options.cells }, () => el("span"));
    const node = el("div", { class: "row", role: "option" }, ...cells);
    this.#nodes.push(node);
    this.#rows.append(node);
  }

  #click(event) {
    const row = event.target.closest(".row");
    if (row === null) return;
    this.#current = Number(row.dataset.index);
    this.#open();
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.#box.clientHeight / this.#options.rowHeight) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) {
      this.#move(moves[event.key]);
    } else if (event.key === "Enter" || event.key === " ") {
      this.#open();
    } else {
      return;
    }
    event.preventDefault();
  }

  #move(by) {
    this.#current = Math.max(0, Math.min(this.#items.length - 1, this.#current + by));
    const top = this.#current * this.#options.rowHeight;
    const bottom = top + this.#options.rowHeight;
    if (top < this.#box.scrollTop) this.#box.scrollTop = top;
    else if (bottom > this.#box.scrollTop + this.#box.clientHeight) this.#box.scrollTop = bottom - this.#box.clientHeight;
    this.#draw();
  }

  #open() {
    this.#draw();
    if (this.#current < this.#items.length) this.#options.open?.(this.#items[this.#current]);
  }
}
