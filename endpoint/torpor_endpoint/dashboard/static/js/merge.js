// JSON Merge Patch (RFC 7396), as `patches.py` makes them.

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Apply the patch to the target in place, and return the target. */
export function merge(target, patch) {
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete target[name];
    else if (isObject(value)) target[name] = merge(isObject(target[name]) ? target[name] : {}, value);
    else target[name] = value;
  }
  return target;
}
