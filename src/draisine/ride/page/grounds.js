// Grid lines on the faces of the ground, computed here: as numbers they would be most of a page's data.
import { add, triples } from "./vectors.js";

const SAME = 1e-9;

// A ground whose patches have their lines, as flat lists of pieces no longer than a cell. They are computed when they
// are first asked for, since only browsers without WebGL draw them.
export function withLines({ cell, patches }) {
  return { cell, patches: patches.map((patch) => lined(patch, cell)) };
}

function lined(patch, cell) {
  let lines = null;
  return { ...patch, get lines() { return (lines ??= gridLines(patch, cell)); } };
}

function gridLines({ outline, normal }, cell) {
  const corners = triples(outline), edges = corners.map((corner, k) => [corner, corners[(k + 1) % corners.length]]);
  const [, second, third] = [0, 1, 2].sort((i, j) => Math.abs(normal[j]) - Math.abs(normal[i])), ends = [...edges];
  for (const axis of [second, third]) {
    const values = corners.map((corner) => corner[axis]), last = Math.floor(Math.max(...values) / cell);
    for (let k = Math.ceil(Math.min(...values) / cell); k <= last; k++) {
      const crossed = crossings(edges, axis, k * cell);
      if (crossed.length === 2) ends.push(crossed);
    }
  }
  return ends.flatMap(([a, b]) => pieces(a, b, cell)).flat();
}

// Where the edges of a polygon have a coordinate; of an edge along it, the first corner.
function crossings(edges, axis, value) {
  return edges.flatMap(([a, b]) => {
    const [from, to] = [a[axis] - value, b[axis] - value].map((x) => (Math.abs(x) < SAME ? 0 : x));
    if (from === 0) return [a];
    return from * to < 0 ? [add(a, add(b, a, -1), from / (from - to))] : [];
  });
}

function pieces(a, b, cell) {
  const step = add(b, a, -1), count = Math.max(1, Math.ceil(Math.hypot(...step) / cell - SAME));
  return Array.from({ length: count }, (_, k) => [...add(a, step, k / count), ...add(a, step, (k + 1) / count)]);
}
