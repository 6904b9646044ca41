// Eigenvalues of a machine that runs straight: M qdd + C qd + K q = 0 with C = C0 + v C1, K = Ks + g K0 + v^2 K2
// and q = (lean, steer). Springs and dampers are in Ks and C0.

// Entries i of M, C and K.
function entries(m, g, v, i) {
  return [m.M[i], m.C0[i] + v * m.C1[i], m.Ks[i] + g * m.K0[i] + v * v * m.K2[i]];
}

// Coefficients a4 ... a0 of det(M s^2 + C s + K).
function characteristic(m, g, v) {
  const entry = (i) => entries(m, g, v, i);
  const product = (a, b) => {
    const out = [0, 0, 0, 0, 0];
    a.forEach((x, i) => b.forEach((y, j) => { out[i + j] += x * y; }));
    return out;
  };
  const first = product(entry(0), entry(3)), second = product(entry(1), entry(2));
  return first.map((x, k) => x - second[k]);
}

// The four roots of a quartic as [real, imaginary], by Aberth's simultaneous iteration.
function roots(a) {
  const n = 4, c = a.map((x) => x / a[0]);
  const size = 1 + Math.max(...c.slice(1).map(Math.abs));
  const radius = Math.min(size, Math.max(...c.slice(1).map((x, k) => 2 * Math.pow(Math.abs(x), 1 / (k + 1)))));
  const z = Array.from({ length: n }, (_, k) => [radius * Math.cos(2 * Math.PI * k / n + 0.4), radius * Math.sin(2 * Math.PI * k / n + 0.4)]);
  const divide = ([a1, b1], [a2, b2]) => { const d = a2 * a2 + b2 * b2; return [(a1 * a2 + b1 * b2) / d, (b1 * a2 - a1 * b2) / d]; };
  for (let step = 0; step < 200; step++) {
    let moved = 0;
    for (let k = 0; k < n; k++) {
      let p = [1, 0], d = [0, 0];
      for (let j = 1; j <= n; j++) {
        d = [d[0] * z[k][0] - d[1] * z[k][1] + p[0], d[0] * z[k][1] + d[1] * z[k][0] + p[1]];
        p = [p[0] * z[k][0] - p[1] * z[k][1] + c[j], p[0] * z[k][1] + p[1] * z[k][0]];
      }
      if (p[0] === 0 && p[1] === 0) continue;
      const newton = divide(p, d);
      let sum = [0, 0];
      for (let j = 0; j < n; j++) if (j !== k) {
        const one = divide([1, 0], [z[k][0] - z[j][0], z[k][1] - z[j][1]]);
        sum = [sum[0] + one[0], sum[1] + one[1]];
      }
      const below = [1 - (newton[0] * sum[0] - newton[1] * sum[1]), -(newton[0] * sum[1] + newton[1] * sum[0])];
      const w = divide(newton, below);
      z[k] = [z[k][0] - w[0], z[k][1] - w[1]];
      moved = Math.max(moved, Math.hypot(...w) / (1e-300 + Math.hypot(...z[k])));
    }
    if (moved < 1e-15) break;
  }
  return z.map(([x, y]) => [x, Math.abs(y) < 1e-9 * Math.hypot(x, y) ? 0 : y]);
}

// Roots at rising speeds. Each row is sorted like the previous one, by the nearest linear extrapolation.
function followed(m, g, speeds) {
  const orders = [];
  const permute = (rest, taken) => rest.length ? rest.forEach((x, k) => permute(rest.filter((_, j) => j !== k), [...taken, x])) : orders.push(taken);
  permute([0, 1, 2, 3], []);
  const rows = [];
  for (const v of speeds) {
    const found = roots(characteristic(m, g, v)).sort((a, b) => b[0] - a[0] || b[1] - a[1]);
    if (rows.length) {
      const last = rows[rows.length - 1], before = rows[Math.max(0, rows.length - 2)];
      const heading = last.map((z, k) => [2 * z[0] - before[k][0], 2 * z[1] - before[k][1]]);
      const cost = (order) => order.reduce((s, o, k) => s + Math.hypot(found[o][0] - heading[k][0], found[o][1] - heading[k][1]), 0);
      const best = orders.reduce((a, b) => (cost(b) < cost(a) ? b : a));
      rows.push(best.map((o) => found[o]));
    } else rows.push(found);
  }
  return rows;
}

// Names of the modes at the highest speed: the complex pair is weave, the larger real root castering.
function modeNames(rows) {
  const last = rows[rows.length - 1];
  const real = [0, 1, 2, 3].filter((k) => last[k][1] === 0);
  const far = [...real].sort((a, b) => Math.abs(last[b][0]) - Math.abs(last[a][0]))[0];
  return last.map((z, k) => (z[1] !== 0 ? "weave" : k === far ? "castering" : "capsize"));
}

// Speeds beyond this (m/s) come from round-off in vanishing coefficients; critical_speeds has the same bound.
const HIGHEST = 1000;

// Real roots of c0 + c1 w + c2 w^2.
function quadraticRoots([c0, c1, c2]) {
  const discriminant = c1 * c1 - 4 * c0 * c2, q = -(c1 + (c1 < 0 ? -1 : 1) * Math.sqrt(discriminant)) / 2;
  return discriminant < 0 ? [] : [q / c2, c0 / q].filter(Number.isFinite);
}

// Coefficients a4 ... a0 and the Hurwitz determinant as polynomials in w = v^2, without their factors v:
// a3 = v d, a1 = v (b0 + b1 w), determinant = v^2 (h0 + h1 w + h2 w^2).
function inSquaredSpeed(m, g) {
  const mixed = (a, b) => a[0] * b[3] + a[3] * b[0] - a[1] * b[2] - a[2] * b[1], det = (a) => mixed(a, a) / 2;
  const Kg = m.K0.map((x) => g * x), a4 = det(m.M), d = mixed(m.M, m.C1);
  const a2 = [mixed(m.M, Kg), mixed(m.M, m.K2) + det(m.C1)], b = [mixed(m.C1, Kg), mixed(m.C1, m.K2)];
  const a0 = [det(Kg), mixed(Kg, m.K2), det(m.K2)];
  const rest = [d * a2[0] - a4 * b[0], d * a2[1] - a4 * b[1]]; // (a2 a3 - a4 a1) / v
  const h = [b[0] * rest[0] - d * d * a0[0], b[0] * rest[1] + b[1] * rest[0] - d * d * a0[1], b[1] * rest[1] - d * d * a0[2]];
  return { a4, d, a2, b, a0, h };
}

// All speeds at which the real part of a real root (capsize) or of a pair (weave) is zero, in rising order.
function criticalSpeeds(m, g) {
  const { d, b, a0, h } = inSquaredSpeed(m, g);
  const speeds = (p) => quadraticRoots(p).filter((w) => w > 0).map(Math.sqrt).filter((v) => v < HIGHEST).sort((x, y) => x - y);
  const swings = (v) => (b[0] + b[1] * v * v) / d > 0;
  return { weave: speeds(h).filter(swings), capsize: speeds(a0) };
}

// Whether all roots are damped at a speed, by Routh and Hurwitz.
function isStable(m, g, v) {
  const { a4, d, a2, b, a0, h } = inSquaredSpeed(m, g), w = v * v;
  return [d, a2[0] + a2[1] * w, b[0] + b[1] * w, a0[0] + a0[1] * w + a0[2] * w * w, h[0] + h[1] * w + h[2] * w * w].every((x, k) => x * (k < 4 ? a4 : 1) > 0);
}

// Ranges of speed in which all roots are damped; a range without an upper end has Infinity.
function stableRanges(m, g) {
  const { weave, capsize } = criticalSpeeds(m, g), out = [];
  const ends = [0, ...weave, ...capsize, HIGHEST].sort((a, b) => a - b);
  for (let k = 0; k + 1 < ends.length; k++) {
    if (isStable(m, g, (ends[k] + ends[k + 1]) / 2)) out.push([ends[k], ends[k + 1] === HIGHEST ? Infinity : ends[k + 1]]);
  }
  return out;
}

// Lean and steer of an eigenmode as [real, imaginary], scaled so that the larger one is 1.
function modeShape(m, g, v, [x, y]) {
  const row = (i, j) => {
    const [a, c, k] = entries(m, g, v, i * 2 + j);
    return [a * (x * x - y * y) + c * x + k, 2 * a * x * y + c * y];
  };
  const sizes = [0, 1].map((i) => Math.hypot(...row(i, 0)) + Math.hypot(...row(i, 1)));
  const i = sizes[0] > sizes[1] ? 0 : 1;
  const lean = row(i, 1), steer = row(i, 0).map((z) => -z);
  const [p, q] = Math.hypot(...lean) > Math.hypot(...steer) ? lean : steer, d = p * p + q * q;
  return [lean, steer].map(([r, s]) => [(r * p + s * q) / d, (s * p - r * q) / d]);
}

// A sentence about an eigenmode; lean is positive to the right, steer to the left.
function modeSentence([x, y], [lean, steer]) {
  const size = (z) => Math.hypot(...z), phase = (z) => Math.atan2(z[1], z[0]);
  const decades = Math.abs(x) < 1e-9 ? "neither grows nor decays" : `${x < 0 ? "halves" : "doubles"} in ${(Math.LN2 / Math.abs(x)).toFixed(2)} s`;
  const amount = `${(size(steer) / (size(lean) || 1e-9)).toFixed(2)} deg per degree of lean`;
  // Angle by which a turn of the bar to the right follows a lean to the right.
  const turn = (angle) => angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI));
  const lag = turn(phase(lean) - phase(steer) - Math.PI), isInto = Math.abs(lag) <= Math.PI / 2;
  const side = isInto ? "right, into the lean" : "left, out of the lean";
  if (y === 0) return `It ${decades}. While it leans right, the bar is turned ${side}: ${amount}.`;
  const late = isInto ? lag : turn(lag - Math.PI), degrees = Math.round(Math.abs(late) * 180 / Math.PI);
  const when = degrees === 0 ? "at the same time" : `${degrees}\u00b0 (${(Math.abs(late) / y).toFixed(2)} s) ${late > 0 ? "later" : "earlier"}`;
  return `It oscillates with a period of ${(2 * Math.PI / y).toFixed(2)} s and ${decades}. When it leans right, the bar turns ${side}, ${when}: ${amount}.`;
}

// The equations of a canonical bicycle in the terms of the page.
function bicycleOf(D, parameters) {
  const m = {}, table = new Float64Array(straightTableSize), g = parameters[D.parameters.findIndex((p) => p.name === "g")];
  for (const name of ["M", "C0", "C1", "Ks", "K0", "K2"]) m[name] = new Float64Array(4);
  straightPrologue(Float64Array.from(parameters), table);
  straight(table, m.M, m.C0, m.C1, m.Ks, m.K0, m.K2);
  return { critical: criticalSpeeds(m, g), stable: stableRanges(m, g), rows: (speeds) => followed(m, g, speeds),
    shape: (v, value) => modeShape(m, g, v, value) };
}
