// Scripted riders for tasks: what hands do at a frame. Each task has one who solves it and one who fails.
const still = { steer: 0, faster: 0, slower: 0, brake: 0, front: 0 };
const clamp = (x, most = 1) => Math.max(-most, Math.min(most, x));
const wrapped = (x) => Math.atan2(Math.sin(x), Math.cos(x));

// Push the bar so that the bicycle leans by an angle (positive: to the right), with a gain from lean to push.
const lean = (frame, wanted, gain = 12) => clamp(gain * (wanted - frame.output("lean")));

// Lean towards a heading: in a steady turn the yaw rate is g tan(lean) / speed.
const head = (frame, heading, { feed = 0, gain = 12, most = 0.25 } = {}) => lean(frame, clamp(-feed - 0.45 * wrapped(heading - frame.output("yaw")), most), gain);

// Follow a line y(x), looking some metres ahead.
function follow(frame, y, options = {}) {
  const [x, now] = frame.contacts[0], look = options.look ?? 6;
  return { ...still, steer: head(frame, Math.atan2(y(x + look) - now, look), options) };
}

const smooth = (s) => (s <= 0 ? 0 : s >= 1 ? 1 : s * s * (3 - 2 * s));

// The riders for the tasks of the page, by name.
export const makeRiders = ({ slalom, circle, lane, stop }) => ({
  slalom: {
    good: (frame) => follow(frame, (x) => 1.2 * Math.cos((Math.PI * (x - slalom.numbers.first)) / slalom.numbers.spacing) * smooth((x - 6) / 12), { look: 5, most: 0.35, gain: 12 }),
    bad: () => still,
  },
  circle: {
    good: (frame) => {
      const [x, y] = frame.contacts[0], [u, v] = [x, y - circle.numbers.radius], speed = frame.output("forward_speed");
      if (x < -3 && frame.time < 5) return follow(frame, () => 0);
      const tangent = Math.atan2(v, u) + Math.PI / 2, off = Math.hypot(u, v) - circle.numbers.radius;
      return { ...still, steer: head(frame, tangent + Math.atan(0.35 * off), { feed: (speed * speed) / (9.81 * circle.numbers.radius) }) };
    },
    bad: (frame) => follow(frame, () => 0),
  },
  slow: {
    good: (frame) => ({ ...still, steer: clamp(-4.5 * frame.outputRate("lean") - 3 * frame.joint("steer")) }),
    bad: (frame) => ({ ...still, steer: clamp(4 * frame.output("lean")) }),
  },
  lane: {
    good: (frame) => follow(frame, (x) => lane.numbers.from + (lane.numbers.to - lane.numbers.from) * smooth((x - lane.numbers.leave - 2) / 22), { look: 6 }),
    bad: (frame) => follow(frame, () => lane.numbers.from),
  },
  landing: {
    good: (frame) => ({ ...still, faster: Math.max(...frame.part("gaps")) > 0.003 ? 0.75 : 0 }),
    bad: () => still,
  },
  stop: {
    good: (frame) => {
      const front = frame.contacts[1][0], speed = frame.output("forward_speed"), left = stop.numbers.line - 0.4 - front;
      const needed = left > 0.05 ? (speed * speed) / (2 * left) : 9;
      return { ...still, front: clamp(needed / 5), brake: clamp(needed / 8) };
    },
    bad: (frame) => ({ ...still, brake: 0.3 }),
  },
  ice: {
    good: (frame) => follow(frame, (x) => 0.8 * smooth((x - 2) / 18), { look: 9, most: 0.02, gain: 3 }),
    bad: (frame) => ({ ...still, steer: frame.time > 1 && frame.time < 1.8 ? 1 : 0 }),
  },
});
