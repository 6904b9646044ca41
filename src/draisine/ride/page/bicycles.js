// Bicycles that came with the page: their parameters, how far these go, and how they are drawn.
import { withLines } from "./grounds.js";

const ROUND = 60;

// What the page is told of a ride on a bicycle with these parameters. On terrain there are only bicycles with the
// same joints as that of the ride, and parameters begin the ride anew. A fact holds for the ride's own bicycle.
export function sceneOf(ride, { kinds, bicycles }, set, parameters) {
  const bicycle = bicycles[set], sliders = Object.entries(bicycle.sliders);
  const changed = sliders.some(([name]) => name !== "slope" && parameters[name] !== bicycle.parameters[name]);
  const fits = (name) => !ride.terrain || bicycles[name].kind === bicycle.kind;
  return {
    preset: ride.preset, presets: ride.presets, ground: withLines(ride.ground), rate: ride.rate, mu: ride.mu, ...kinds[bicycle.kind],
    fact: changed || set !== ride.bicycle ? null : ride.fact, begins_anew: Boolean(ride.terrain),
    sets: Object.keys(bicycles).filter((name) => name && fits(name)), parameter_set: set,
    machine: drawing(bicycle, parameters), chart: changed ? null : bicycle.chart,
    sliders: Object.fromEntries(sliders.map(([name, { low, high, unit }]) => [name, { low, high, unit, value: parameters[name] }])),
  };
}

// The drawing for parameters: every slider moves its numbers along straight pieces.
function drawing({ machine, sliders, parameters: own }, parameters) {
  const drawn = structuredClone(machine), places = numbersIn(drawn);
  for (const [name, { low, high, drawn: { at, by } }] of Object.entries(sliders)) {
    const [now, before] = [parameters[name], own[name]].map((value) => between(by, (value - low) / (high - low || 1)));
    at.forEach((place, k) => { const [list, key] = places[place]; list[key] += now[k] - before[k]; });
  }
  for (const part of drawn.parts) if (part.circle) part.points = circle(part.circle);
  return drawn;
}

function between(rows, share) {
  const last = rows.length - 1, at = Math.max(0, Math.min(last, share * last)), k = Math.min(Math.floor(at), last - 1);
  return rows[k].map((x, i) => x + (at - k) * (rows[k + 1][i] - x));
}

// Where all numbers of nested lists and objects stand, in order: [list or object, key].
function numbersIn(tree) {
  return Object.keys(tree).flatMap((key) => {
    if (typeof tree[key] === "number") return [[tree, key]];
    return tree[key] && typeof tree[key] === "object" ? numbersIn(tree[key]) : [];
  });
}

function circle([x, y, z, a, b, c, d, e, f]) {
  return Array.from({ length: ROUND + 1 }, (_, k) => {
    const angle = (2 * Math.PI * k) / ROUND, [u, v] = [Math.cos(angle), Math.sin(angle)];
    return [x + u * a + v * d, y + u * b + v * e, z + u * c + v * f];
  }).flat();
}
