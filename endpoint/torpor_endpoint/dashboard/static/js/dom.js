// Makes and changes elements. Text is always set as text: nothing from the endpoint becomes markup.

/** The element of this id in the page. */
export const byId = (id) => document.getElementById(id);

/**
 * A new element: `el("p", { class: "quiet", onclick: go }, "text", child)`.
 * Attributes that are null or false are left out; functions become event listeners.
 */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Set the text only where it differs: an unchanged node costs no layout, and a screen reader does not repeat it. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Fill a `<dl>` of figures with `[term, text]` pairs. It keeps the nodes as long as the terms stay the same. */
export function setFigures(list, pairs) {
  if (list.childElementCount !== pairs.length) {
    list.replaceChildren(...pairs.map(() => el("div", {}, el("dt"), el("dd"))));
  }
  pairs.forEach(([term, text], index) => {
    const [dt, dd] = list.children[index].children;
    setText(dt, term);
    setText(dd, text);
  });
}

/** Keep one child node per key, in order: `make(key)` a missing one, `update(node, key)` each, and drop the rest. */
export function keyed(parent, keys, make, update) {
  const old = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  keys.forEach((key, index) => {
    let node = old.get(key);
    if (node === undefined) {
      node = make(key);
      node.dataset.key = key;
    }
    old.delete(key);
    if (parent.children[index] !== node) parent.insertBefore(node, parent.children[index] ?? null);
    update(node, key);
  });
  for (const node of old.values()) node.remove();
}

/** The value of a CSS custom property such as `--accent`, for canvases. */
export const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Size a canvas for the screen's pixels, and return its context, which draws in CSS pixels. */
export function canvasContext(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}
