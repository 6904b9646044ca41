// Take one step of length h from time t; machine.state is the state behind it. Return 0, or what is wrong:
// 1 a value that is no number, 2 a degenerate configuration, 4 a wheel fell flat.
export function step(machine, t, h) {
  takeSteps(machine.once, t, h, t + h, 0, 1, machine.own.x);
  return machine.own.wrong[0];
}

// Take equal steps from a time to another; return all states, the first one included, and how it ended.
export function simulate(machine, t0, t1, steps) {
  const n = machine.state.length;
  const samples = new Float64Array((steps + 1) * n);
  samples.set(machine.state);
  const done = takeSteps(machine.all, t0, (t1 - t0) / steps, t1, 0, steps, samples);
  return { samples: samples.subarray(0, (done + 1) * n), status: machine.own.wrong[0] };
}

// The state in which what is asked for by name is so: x, y, yaw, lean and joints; outputs, and rates of
// outputs and joints. Height and pitch follow from the contacts; what else is not asked for is zero, and
// speeds are as small as they can be.
export function initial(parameters = nominal, asked = {}) {
  const machine = create(parameters), y = machine.state, joints = names.joints.length;
  const { turn, origin } = frame(parameters);
  const put = ([height, pitch]) => {
    const level = quaternionProduct(about(2, asked.yaw ?? 0), about(0, asked.lean ?? 0));
    const q = quaternionProduct(level, about(1, pitch)), to = turned(q, origin);
    const place = [(asked.x ?? 0) + to[0], (asked.y ?? 0) + to[1], height + to[2]];
    y.set([...quaternionProduct(q, turn), ...place, ...names.joints.map((name) => asked[name] ?? 0)]);
    return observe(machine, 0);
  };
  const speeds = y.subarray(7 + joints, 7 + joints + names.speeds.length);
  speeds.fill(0);
  closeGaps((pose) => [...put(pose).gaps]);
  const known = new Set(["x", "y", "yaw", "lean", "pitch", ...names.joints]);
  const wanted = Object.keys(asked).filter((name) => !known.has(name));
  const look = () => wanted.map((name) => speedOf(name, observe(machine, 0)));
  const still = look(), columns = [...speeds].map((_, k) => {
    speeds.fill(0);
    speeds[k] = 1;
    return look().map((value, i) => value - still[i]);
  });
  const rows = wanted.map((_, i) => columns.map((column) => column[i]));
  speeds.set(leastSolution(rows, wanted.map((name, i) => asked[name] - still[i]), speeds.length));
  return y.slice();
}

// Height and pitch at which all gaps are zero, by Newton's method with differences.
function closeGaps(gapsAt) {
  const pose = [0, 0], step = 1e-7;
  for (let round = 0; round < 40; round++) {
    const gaps = gapsAt(pose), worst = Math.max(0, ...gaps.map(Math.abs));
    if (!gaps.length || worst < 2e-16) return;
    const beside = [0, 1].map((k) => gapsAt(pose.map((x, i) => x + (i === k ? step : 0))));
    const rows = gaps.map((gap, i) => beside.map((other) => (other[i] - gap) / step));
    leastSolution(rows, gaps, 2).forEach((change, k) => { pose[k] -= change; });
  }
  if (!gapsAt(pose).every((gap) => Math.abs(gap) < 1e-12)) {
    throw new Error("no configuration has what is asked for with its wheels on the ground");
  }
}

function speedOf(name, seen) {
  const output = names.outputs.indexOf(name), rate = names.outputs.indexOf(name.replace(/_rate$/, ""));
  const joint = names.joints.indexOf(name.replace(/_rate$/, ""));
  if (joint >= 0) return seen.v[seen.v.length - names.joints.length + joint];
  if (output < 0 && rate < 0) throw new Error(`nothing is called ${name}`);
  return output >= 0 ? seen.outputs[output] : seen.output_rates[rate];
}

// The least x with A x = b; where A has more rows than columns, the one that misses b least.
function leastSolution(A, b, columns) {
  if (!A.length) return new Array(columns).fill(0);
  if (A.length === columns) return eliminate(A, b);
  const product = (P, Q) => P.map((row) => Q[0].map((_, j) => row.reduce((sum, x, k) => sum + x * Q[k][j], 0)));
  const transposed = A[0].map((_, j) => A.map((row) => row[j])), upright = b.map((x) => [x]);
  if (A.length > columns) return eliminate(product(transposed, A), product(transposed, upright).map(([x]) => x));
  return product(transposed, eliminate(product(A, transposed), b).map((x) => [x])).map(([x]) => x);
}

function eliminate(A, b) {
  const rows = A.map((row, i) => [...row, b[i]]), n = rows.length;
  for (let k = 0; k < n; k++) {
    const best = rows.reduce((at, row, i) => (i > k && Math.abs(row[k]) > Math.abs(rows[at][k]) ? i : at), k);
    [rows[k], rows[best]] = [rows[best], rows[k]];
    for (let i = 0; i < n; i++) {
      if (i === k) continue;
      const share = rows[i][k] / rows[k][k];
      for (let j = k; j <= n; j++) rows[i][j] -= share * rows[k][j];
    }
  }
  const x = rows.map((row, k) => row[n] / row[k]);
  if (!x.every(Number.isFinite)) throw new Error("what is asked for contradicts itself");
  return x;
}

function about(axis, angle) {
  const q = [Math.cos(angle / 2), 0, 0, 0];
  q[1 + axis] = Math.sin(angle / 2);
  return q;
}

const quaternionProduct = ([a, b, c, d], [w, x, y, z]) => [
  a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y,
  a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w,
];

function turned([w, x, y, z], a) {
  const u = [x, y, z], cross = (p, q) => [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
  const b = cross(u, a), c = cross(u, b);
  return [0, 1, 2].map((k) => a[k] + 2 * (w * b[k] + c[k]));
}

function quaternionOf(R) {
  const [a, b, c] = [R[7] - R[5], R[2] - R[6], R[3] - R[1]], [d, e, f] = [R[1] + R[3], R[2] + R[6], R[5] + R[7]];
  const [x, y, z] = [R[0], R[4], R[8]];
  const rows = [[1 + x + y + z, a, b, c], [a, 1 + x - y - z, d, e], [b, d, 1 - x + y - z, f], [c, e, f, 1 - x - y + z]];
  const best = [0, 1, 2, 3].reduce((k, i) => (rows[i][i] > rows[k][k] ? i : k));
  const size = 2 * Math.sqrt(rows[best][best]) * (rows[best][0] < 0 ? -1 : 1);
  return rows[best].map((entry) => entry / size);
}
