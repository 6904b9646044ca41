// A bicycle built on the joints of its model: wheels, steer axis, frame, fork, handlebar, saddle and cranks.
// The model fixes axles, radii and steer axis; everything else is drawn to fit a rider of usual size.
import { Solids } from "./solids.js";
import { add, cross, dot, scale, unit } from "./vectors.js";

const FRAME = "#0072B2", FORK = "#D55E00", DARK = "#222222", STEEL = "#b8bcc0", SPOKES = 20;
const TYRE = 0.017, CRANK = 0.17, SADDLE_HEIGHT = 0.95, SMALLEST_WHEEL = 0.15, LARGEST = 1.6;   // m

const joint = (machine, name) => machine.joints.find((one) => one.name === name);

// Whether a machine is a bicycle of usual size.
export function isBicycle(machine) {
  const wheels = ["rear_wheel", "front_wheel"].map((name) => joint(machine, name));
  if (!wheels.every(Boolean) || !joint(machine, "steer")) return false;
  const [rear, front] = wheels.map((wheel) => wheel.through), base = front[0] - rear[0];
  return base > 0.6 && base < LARGEST && machine.contacts.length === 2 && machine.contacts.every(({ radius }) => radius > SMALLEST_WHEEL);
}

// Points of a bicycle in its zero configuration, m: x forward, y left, z up.
export function bicyclePoints(machine) {
  const steer = joint(machine, "steer"), rear = joint(machine, "rear_wheel").through, front = joint(machine, "front_wheel").through;
  const [rearRadius, frontRadius] = machine.contacts.map(({ radius }) => radius);
  const up = steer.axis[2] > 0 ? steer.axis : scale(steer.axis, -1), ahead = unit(cross([0, 1, 0], up));
  const onAxis = (z) => add(steer.through, up, (z - steer.through[2]) / up[2]);
  const crown = onAxis(front[2] + frontRadius + 0.05), head = add(crown, up, 0.17);
  const stem = add(add(head, up, 0.05), ahead, 0.05), base = front[0] - rear[0];
  const cranks = [rear[0] + 0.42 * base, 0, 0.92 * rearRadius];
  const seat = (z) => [cranks[0] - 0.32 * (z - cranks[2]), 0, z];
  const grip = (side) => add(add(add(stem, ahead, -0.13), up, 0.02), [0, side * 0.29, 0]);
  return {
    rear, front, rearRadius, frontRadius, up, ahead, crown, head, stem, cranks,
    cluster: seat(Math.max(0.66, head[2] - 0.12)), saddle: seat(SADDLE_HEIGHT), grips: [grip(1), grip(-1)],
  };
}

// Meshes of a bicycle by name of the body.
export function bicycleMeshes(three, machine) {
  const p = bicyclePoints(machine), body = (name) => machine.joints.find((one) => one.name === name);
  const solids = machine.bodies.map(() => new Solids(three));
  frame(solids[body("steer").parent], p);
  fork(solids[body("steer").child], p);
  wheel(solids[body("rear_wheel").child], p.rear, p.rearRadius);
  wheel(solids[body("front_wheel").child], p.front, p.frontRadius);
  return solids.map((one) => (one.index.length ? one.mesh() : null));
}

function frame(solids, p) {
  const lower = add(p.crown, p.up, 0.04), upper = add(p.head, p.up, -0.03);
  solids.tube(p.crown, p.head, 0.024, FRAME).tube(lower, p.cranks, 0.02, FRAME).tube(upper, p.cluster, 0.017, FRAME);
  solids.tube(p.cranks, p.cluster, 0.017, FRAME).tube(p.cluster, add(p.saddle, [0, 0, 0.04], -1), 0.013, STEEL);
  for (const side of [-1, 1]) {
    const axle = add(p.rear, [0, 0.06 * side, 0]);
    solids.tube(add(p.cranks, [0, 0.03 * side, 0]), axle, 0.01, FRAME).tube(add(p.cluster, [0, 0.015 * side, 0]), axle, 0.008, FRAME);
  }
  solids.tube(add(p.cranks, [0, -0.06, 0]), add(p.cranks, [0, 0.06, 0]), 0.022, STEEL);
  solids.ball(add(p.saddle, [-0.03, 0, -0.01]), 0.1, DARK, [1.1, 0.85, 0.3]).tube(p.saddle, add(p.saddle, [0.17, 0, -0.005]), 0.045, DARK, 0.02);
}

function fork(solids, p) {
  const foot = (side) => add(p.front, [0, 0.05 * side, 0]);
  for (const side of [-1, 1]) solids.pipe([add(p.crown, [0, 0.05 * side, 0]), foot(side)], 0.012, FORK);
  solids.tube(add(p.crown, [0, -0.055, 0]), add(p.crown, [0, 0.055, 0]), 0.016, FORK);
  solids.tube(p.head, add(p.head, p.up, 0.05), 0.014, STEEL).tube(add(p.head, p.up, 0.05), p.stem, 0.014, STEEL);
  p.grips.forEach((grip, k) => {
    const side = k ? -1 : 1, bend = add(p.stem, [0, side * 0.16, 0]), inner = add(bend, add(grip, bend, -1), 0.35);
    solids.pipe([p.stem, bend, inner], 0.012, STEEL).tube(inner, add(grip, add(grip, bend, -1), 0.25), 0.018, DARK);
    solids.tube(add(inner, p.ahead, 0.02), add(add(grip, p.ahead, 0.05), p.up, -0.03), 0.005, STEEL);
  });
  const lamp = add(add(p.crown, p.ahead, 0.07), p.up, 0.08);
  solids.tube(lamp, add(lamp, p.ahead, 0.06), 0.02, DARK, 0.032);
}

// Tyre, rim, hub and spokes, and a valve that shows how the wheel turns.
function wheel(solids, centre, radius) {
  const rim = radius - 2 * TYRE - 0.01, at = (angle, r, y = 0) => add(centre, [r * Math.sin(angle), y, r * Math.cos(angle)]);
  solids.ring(centre, [0, 1, 0], radius - TYRE, TYRE, DARK).ring(centre, [0, 1, 0], rim, 0.011, STEEL);
  solids.tube(add(centre, [0, -0.05, 0]), add(centre, [0, 0.05, 0]), 0.02, STEEL);
  for (let k = 0; k < SPOKES; k++) {
    const angle = (2 * Math.PI * k) / SPOKES;
    solids.tube(at(angle + 0.3, 0.02, k % 2 ? 0.035 : -0.035), at(angle, rim), 0.0018, STEEL, 0.0018, 4);
  }
  solids.tube(at(0, rim - 0.05), at(0, rim), 0.008, FORK);
}

// Cranks, chain ring and pedals, which turn about the origin.
export function crankMesh(three) {
  const solids = new Solids(three);
  solids.ring([0, -0.07, 0], [0, 1, 0], 0.085, 0.008, DARK);
  for (const side of [-1, 1]) {
    solids.tube([0, 0.08 * side, 0], [CRANK * side, 0.1 * side, 0], 0.012, STEEL);
    solids.tube([CRANK * side, 0.1 * side, 0], [CRANK * side, 0.19 * side, 0], 0.016, DARK);
  }
  return solids.mesh();
}

// Centre of a pedal in the frame's drawing, for the angle of the cranks; side 1 is left.
export function pedal(points, angle, side) {
  return add(points.cranks, [side * CRANK * Math.cos(angle), 0.15 * side, -side * CRANK * Math.sin(angle)]);
}

// The middle joint of a limb from a to b with two lengths, bent towards a direction.
export function bend(a, b, upper, lower, towards) {
  const along = add(b, a, -1), length = Math.hypot(...along), axis = scale(along, 1 / length);
  const reach = Math.min(length, upper + lower - 1e-3), x = (reach * reach + upper * upper - lower * lower) / (2 * reach);
  const aside = unit(add(towards, axis, -dot(towards, axis)));
  return add(add(a, axis, x), aside, Math.sqrt(Math.max(0, upper * upper - x * x)));
}
