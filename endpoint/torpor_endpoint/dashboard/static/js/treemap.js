// A squarified treemap (Bruls, Huizing, van Wijk, 2000): areas in proportion to sizes, shapes close to squares.

/**
 * The rectangles `{ item, x, y, width, height }` of the items, which have a `size` and come with the largest first.
 * They fill the area from (x, y) on.
 */
export function squarified(items, x, y, width, height) {
  const total = items.reduce((sum, item) => sum + item.size, 0);
  if (total <= 0 || width <= 0 || height <= 0) return [];
  const scale = (width * height) / total;
  const found = [];
  const area = { x, y, width, height };
  let row = [];
  let rowSize = 0;
  for (const item of items) {
    const size = item.size * scale;
    const side = Math.min(area.width, area.height);
    if (row.length > 0) {
      const largest = row[0].area;
      const now = worst(largest, row.at(-1).area, rowSize, side);
      if (now < worst(largest, size, rowSize + size, side)) {
        lay(row, rowSize, area, found);
        row = [];
        rowSize = 0;
      }
    }
    row.push({ item, area: size });
    rowSize += size;
  }
  lay(row, rowSize, area, found);
  return found;
}

/** The worst ratio of sides in a row along a side of this length: that of its largest or of its smallest area. */
const worst = (largest, smallest, rowSize, side) =>
  Math.max((side ** 2 * largest) / rowSize ** 2, rowSize ** 2 / (side ** 2 * smallest));

/** Lay a row along the shorter side of the free area, and cut the row off it. */
function lay(row, rowSize, area, found) {
  if (rowSize <= 0) return;
  const upright = area.width >= area.height;
  const thickness = rowSize / (upright ? area.height : area.width);
  let along = upright ? area.y : area.x;
  for (const { item, area: size } of row) {
    const length = size / thickness;
    found.push(
      upright
        ? { item, x: area.x, y: along, width: thickness, height: length }
        : { item, x: along, y: area.y, width: length, height: thickness },
    );
    along += length;
  }
  if (upright) {
    area.x += thickness;
    area.width -= thickness;
  } else {
    area.y += thickness;
    area.height -= thickness;
  }
}
