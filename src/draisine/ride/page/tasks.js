// Tasks: what is on the ground, and a judge of each ride. A judge is asked once per frame; it returns null while the
// task goes on, else { solved, reason }, with the key of a sentence. All of it works without a browser.
import { add, dot } from "./vectors.js";

const SLALOM = { count: 6, first: 20, spacing: 14 };                     // cones, m
const CIRCLE = { radius: 10, tolerance: 1.5 };                           // m
const SLOW = { seconds: 10, speed: 3 };                                // s, largest speed in m/s
const LANE = { from: -1.75, to: 1.75, leave: 20, arrive: 45, end: 60, tolerance: 0.9 };   // m
const LANDING = { apart: 0.06, ride: 3 };                                // s between wheels, m to ride on
const STOP = { line: 15, zone: 1, speed: 0.3 };                          // m, m, m/s
const ICE = { cone: 25, end: 40 };                                       // m
const CONE_RADIUS = 0.2;   // m
const ASTRAY = 6;          // m from the middle of the road; its edge is at 3.5 m
const WHITE = "#f4f4ee", YELLOW = "#f2c94c", GREEN = "#4e9a63";

// Distance of a point from the piece of a straight line between a and b, in the plane of the ground.
function distance([x, y], a, b) {
  const along = add(b, a, -1), from = [x - a[0], y - a[1], 0], flat = [along[0], along[1], 0];
  const share = Math.max(0, Math.min(1, dot(from, flat) / (dot(flat, flat) || 1)));
  return Math.hypot(from[0] - share * flat[0], from[1] - share * flat[1]);
}

const fail = (reason) => ({ solved: false, reason });
const solve = () => ({ solved: true, reason: "task.solved" });
const lost = (frame) => (frame.status ? fail("task.ended") : null);

// Whether a wheel has touched a cone since the frame before.
const touched = (cones, points, before) => cones.some((cone) => points.some((point, k) => distance(cone, before[k], point) < CONE_RADIUS));

// Whether the bicycle has left the road, or has turned back behind its start, so that it cannot arrive any more.
const strayed = ([[x, y]]) => Math.abs(y) > ASTRAY || x < -20;

// Keep the frame before, and leave judging to a function of both and of the progress so far.
function judge(start, step) {
  let before = null;
  const state = { progress: 0, ...start };
  return {
    get progress() { return Math.min(1, state.progress); },
    see(frame) {
      const points = frame.contacts, result = before && (lost(frame) ?? step(frame, points, before, state));
      before = points;
      return result;
    },
  };
}

const slalomCones = Array.from({ length: SLALOM.count }, (_, k) => [SLALOM.first + SLALOM.spacing * k, 0]);

function slalom() {
  return judge({ passed: 0, side: 0 }, (frame, points, before, state) => {
    if (touched(slalomCones, points, before)) return fail("task.touched");
    if (strayed(points)) return fail("task.left");
    if (points[0][0] < slalomCones[state.passed][0]) return null;
    const side = Math.sign(points[0][1]);
    if (side === state.side) return fail("slalom.side");
    state.side = side;
    state.passed += 1;
    state.progress = state.passed / SLALOM.count;
    return state.passed === SLALOM.count ? solve() : null;
  });
}

function circle() {
  const about = ([x, y]) => [x, y - CIRCLE.radius];
  return judge({ angle: 0, inside: false }, (frame, points, before, state) => {
    const [x, y] = about(points[0]), [u, v] = about(before[0]);
    if (!state.inside && strayed(points)) return fail("task.left");
    if (!state.inside && points[0][0] < 0) return null;
    state.inside = true;
    state.angle += Math.atan2(u * y - v * x, u * x + v * y);
    state.progress = state.angle / (2 * Math.PI);
    if (points.some((point) => Math.abs(Math.hypot(...about(point)) - CIRCLE.radius) > CIRCLE.tolerance)) return fail("circle.left");
    return state.progress >= 1 ? solve() : null;
  });
}

function slow() {
  return judge({}, (frame, points, before, state) => {
    state.progress = frame.time / SLOW.seconds;
    if (frame.output("forward_speed") > SLOW.speed) return fail("slow.fast");
    return state.progress >= 1 ? solve() : null;
  });
}

function lane() {
  const { from, to, leave, arrive, end, tolerance } = LANE;
  return judge({}, (frame, points, before, state) => {
    const [front] = points.slice(-1), off = (line, point) => Math.abs(point[1] - line) > tolerance;
    state.progress = points[0][0] / end;
    if (points.some((point) => point[0] < leave && off(from, point))) return fail("lane.early");
    if (points.some((point) => point[0] > arrive && off(to, point))) return fail("lane.late");
    if (strayed(points)) return fail("task.left");
    return front[0] >= end ? solve() : null;
  });
}

function landing() {
  return judge({ down: [null, null], flew: false, at: 0 }, (frame, points, before, state) => {
    const gaps = [...frame.part("gaps")];
    if (gaps.every((gap) => gap > 0.01)) state.flew = true;
    if (!state.flew) { state.progress = 0.2; return null; }
    gaps.forEach((gap, k) => { if (gap < 1e-3) state.down[k] ??= frame.time; });
    if (state.down.some((time) => time === null)) { state.progress = 0.5; return null; }
    const apart = Math.abs(state.down[0] - state.down[1]);
    state.apart = apart;
    if (apart > LANDING.apart) return fail("landing.apart");
    if (!state.at) state.at = points[0][0];
    state.progress = 0.6 + (0.4 * (points[0][0] - state.at)) / LANDING.ride;
    return state.progress >= 1 ? solve() : null;
  });
}

function stop() {
  return judge({}, (frame, points, before, state) => {
    const front = Math.max(...points.map(([x]) => x)), { line, zone, speed } = STOP;
    state.progress = front / line;
    if (front > line) return fail("stop.over");
    if (strayed(points)) return fail("task.left");
    if (frame.output("forward_speed") > speed) return null;
    return front > line - zone ? solve() : fail("stop.early");
  });
}

function ice() {
  return judge({}, (frame, points, before, state) => {
    state.progress = points[0][0] / ICE.end;
    if (touched([[ICE.cone, 0]], points, before)) return fail("task.touched");
    if (strayed(points)) return fail("task.left");
    return state.progress >= 1 ? solve() : null;
  });
}

const line = (x, colour, wide = 7, long = 0.3) => ({ x, y: -wide / 2, long, wide, colour });

// By name of the ride: its numbers, number of the right answer to the prediction, marks on the ground, and a new judge.
export const TASKS = {
  slalom: { numbers: SLALOM, right: 0, judge: slalom, marks: { cones: slalomCones, boxes: [line(SLALOM.first + (SLALOM.count - 1) * SLALOM.spacing + 0.5, WHITE)] } },
  circle: {
    numbers: CIRCLE, right: 1, judge: circle,
    marks: {
      rings: [
        { centre: [0, CIRCLE.radius], inner: 0, outer: 16, colour: "#7d8388" },
        { centre: [0, CIRCLE.radius], inner: CIRCLE.radius - CIRCLE.tolerance, outer: CIRCLE.radius + CIRCLE.tolerance, colour: GREEN },
        { centre: [0, CIRCLE.radius], inner: CIRCLE.radius - 0.06, outer: CIRCLE.radius + 0.06, colour: WHITE },
      ],
      boxes: [{ x: -12, y: -0.06, long: 12, wide: 0.12, colour: YELLOW }, line(0, WHITE, 3)],
    },
  },
  slow: { numbers: SLOW, right: 0, judge: slow, marks: {} },
  lane: {
    numbers: LANE, right: 1, judge: lane,
    marks: {
      boxes: [
        { x: -5, y: LANE.from - LANE.tolerance, long: LANE.leave + 5, wide: 2 * LANE.tolerance, colour: GREEN },
        { x: LANE.arrive, y: LANE.to - LANE.tolerance, long: LANE.end - LANE.arrive, wide: 2 * LANE.tolerance, colour: GREEN },
        line(LANE.end, WHITE),
      ],
      cones: [...[8, 14, 20].map((x) => [x, 0]), ...[45, 52, 59].map((x) => [x, 0])],
    },
  },
  landing: { numbers: LANDING, right: 0, judge: landing, marks: {} },
  stop: { numbers: STOP, right: 0, judge: stop, marks: { boxes: [{ x: STOP.line - STOP.zone, y: -3.2, long: STOP.zone, wide: 6.4, colour: GREEN }, line(STOP.line, WHITE)] } },
  ice: { numbers: ICE, right: 0, judge: ice, marks: { cones: [[ICE.cone, 0]], boxes: [line(ICE.end, WHITE)] } },
};
