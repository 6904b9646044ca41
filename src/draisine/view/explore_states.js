
// Eigenvalues of a two-wheeler with tyres, rider or compliant parts: xdot = A(v) x, x = (coordinates, speeds, states
// of tyres). The method: A is balanced, reduced to Hessenberg form, and its eigenvalues are found by QR
// iterations with Wilkinson shifts (Golub and Van Loan, Matrix Computations, 7.4 and 7.5), in complex arithmetic.

// Solve A X = B for square A with partial pivoting; both are arrays of rows and are overwritten.
function solveRows(A, B) {
  const n = A.length;
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(A[i][k]) > Math.abs(A[best][k])) best = i;
    [A[k], A[best]] = [A[best], A[k]]; [B[k], B[best]] = [B[best], B[k]];
    for (let i = 0; i < n; i++) {
      if (i === k) continue;
      const f = A[i][k] / A[k][k];
      if (f === 0) continue;
      for (let j = k; j < n; j++) A[i][j] -= f * A[k][j];
      for (let j = 0; j < B[i].length; j++) B[i][j] -= f * B[k][j];
    }
  }
  return B.map((row, i) => row.map((x) => x / A[i][i]));
}

// The matrix A, as rows, from the mass matrix and the rates of coordinates, momenta and tyre states.
function systemMatrix(mass, rates, coordinates, speeds, n) {
  const rows = (flat, m) => Array.from({ length: flat.length / m }, (_, i) => Array.from(flat.subarray(i * m, (i + 1) * m)));
  const all = rows(rates, n), end = coordinates + speeds;
  return [...all.slice(0, coordinates), ...solveRows(rows(mass, speeds), all.slice(coordinates, end)), ...all.slice(end)];
}

// Scale rows and columns by powers of two until their norms are similar: this reduces the rounding errors.
function balance(A) {
  const n = A.length;
  for (let changed = true; changed;) {
    changed = false;
    for (let i = 0; i < n; i++) {
      let column = 0, row = 0, f = 1;
      for (let j = 0; j < n; j++) if (j !== i) { column += Math.abs(A[j][i]); row += Math.abs(A[i][j]); }
      if (column === 0 || row === 0) continue;
      const sum = column + row;
      while (column < row / 2) { column *= 2; row /= 2; f *= 2; }
      while (column > row * 2) { column /= 2; row *= 2; f /= 2; }
      if (!(column + row < 0.95 * sum)) continue;
      changed = true;
      for (let j = 0; j < n; j++) { A[i][j] /= f; A[j][i] *= f; }
    }
  }
}

// Reduce a matrix to Hessenberg form by elimination with pivoting.
function reduceToHessenberg(A) {
  const n = A.length;
  for (let m = 1; m < n - 1; m++) {
    let best = m;
    for (let i = m + 1; i < n; i++) if (Math.abs(A[i][m - 1]) > Math.abs(A[best][m - 1])) best = i;
    if (A[best][m - 1] === 0) continue;
    if (best !== m) { [A[m], A[best]] = [A[best], A[m]]; for (const row of A) [row[m], row[best]] = [row[best], row[m]]; }
    for (let i = m + 1; i < n; i++) {
      const f = A[i][m - 1] / A[m][m - 1];
      if (f === 0) continue;
      for (let j = 0; j < n; j++) A[i][j] -= f * A[m][j];
      for (let j = 0; j < n; j++) A[j][m] += f * A[j][i];
    }
  }
}

// Square root of a complex number with a non-negative real part.
function complexRoot(x, y) {
  const r = Math.hypot(x, y), u = Math.sqrt((r + Math.abs(x)) / 2);
  if (u === 0) return [0, 0];
  return x >= 0 ? [u, y / (2 * u)] : [Math.abs(y) / (2 * u), y < 0 ? -u : u];
}

// The eigenvalues of a real matrix (rows) as [real, imaginary].
function matrixEigenvalues(rows) {
  const A = rows.map((row) => [...row]), n = A.length, found = [];
  balance(A); reduceToHessenberg(A);
  const R = A.map((row) => Float64Array.from(row)), I = A.map(() => new Float64Array(n));
  let end = n - 1, count = 0;
  while (end >= 0) {
    let low = end; // first row of the unreduced block
    while (low > 0) {
      const scale = Math.abs(R[low][low]) + Math.abs(I[low][low]) + Math.abs(R[low - 1][low - 1]) + Math.abs(I[low - 1][low - 1]);
      if (Math.abs(R[low][low - 1]) + Math.abs(I[low][low - 1]) <= 2.3e-16 * scale) { R[low][low - 1] = I[low][low - 1] = 0; break; }
      low--;
    }
    if (low === end) { found.push([R[end][end], I[end][end]]); end--; count = 0; continue; }
    if (++count > 200) return found.concat(Array(end + 1).fill([NaN, NaN]));
    // Shift: the eigenvalue of the last 2 x 2 block that is nearer to its last entry.
    const a = R[end - 1][end - 1], ai = I[end - 1][end - 1], d = R[end][end], di = I[end][end];
    const b = R[end - 1][end], bi = I[end - 1][end], c = R[end][end - 1], ci = I[end][end - 1];
    const h = (a - d) / 2, hi = (ai - di) / 2, p = b * c - bi * ci, pi = b * ci + bi * c;
    let [s, si] = complexRoot(h * h - hi * hi + p, 2 * h * hi + pi);
    if (s * h + si * hi < 0) { s = -s; si = -si; }
    const t = h + s, ti = hi + si, size = t * t + ti * ti;
    let shift = d, shiftI = di;
    if (size > 0) { shift -= (p * t + pi * ti) / size; shiftI -= (pi * t - p * ti) / size; }
    if (count % 11 === 10) { shift = d + Math.abs(c) + Math.abs(ci); shiftI = di; } // leave a cycle
    for (let k = low; k <= end; k++) { R[k][k] -= shift; I[k][k] -= shiftI; }
    // QR by Givens rotations, then RQ plus the shift.
    const turns = [];
    for (let k = low; k < end; k++) {
      const x = R[k][k], xi = I[k][k], y = R[k + 1][k], yi = I[k + 1][k], r = Math.hypot(x, xi, y, yi) || 1;
      const g = [x / r, xi / r, y / r, yi / r];
      turns.push(g);
      for (let j = k; j <= end; j++) {
        const u = R[k][j], ui = I[k][j], w = R[k + 1][j], wi = I[k + 1][j];
        R[k][j] = g[0] * u + g[1] * ui + g[2] * w + g[3] * wi; I[k][j] = g[0] * ui - g[1] * u + g[2] * wi - g[3] * w;
        R[k + 1][j] = g[0] * w - g[1] * wi - g[2] * u + g[3] * ui; I[k + 1][j] = g[0] * wi + g[1] * w - g[2] * ui - g[3] * u;
      }
    }
    turns.forEach((g, m) => {
      const k = low + m;
      for (let i = low; i <= Math.min(end, k + 1); i++) {
        const u = R[i][k], ui = I[i][k], w = R[i][k + 1], wi = I[i][k + 1];
        R[i][k] = g[0] * u - g[1] * ui + g[2] * w - g[3] * wi; I[i][k] = g[0] * ui + g[1] * u + g[2] * wi + g[3] * w;
        R[i][k + 1] = g[0] * w + g[1] * wi - g[2] * u - g[3] * ui; I[i][k + 1] = g[0] * wi - g[1] * w - g[2] * ui + g[3] * u;
      }
    });
    for (let k = low; k <= end; k++) { R[k][k] += shift; I[k][k] += shiftI; }
  }
  return found.map(([x, y]) => [x, Math.abs(y) < 1e-9 * Math.hypot(x, y) ? 0 : y]);
}

// Eigenvalues at rising speeds. Each row is sorted like the previous one: the nearest pairs of eigenvalue and
// linear extrapolation are assigned first.
function trackedRows(matrixAt, speeds) {
  const rows = [];
  for (const v of speeds) {
    const values = matrixEigenvalues(matrixAt(v)).sort((a, b) => b[0] - a[0] || b[1] - a[1]);
    if (!rows.length) { rows.push(values); continue; }
    const last = rows[rows.length - 1], before = rows[Math.max(0, rows.length - 2)], pairs = [];
    last.forEach((z, k) => values.forEach((w, o) => pairs.push([Math.hypot(w[0] - 2 * z[0] + before[k][0], w[1] - 2 * z[1] + before[k][1]), k, o])));
    const row = Array(values.length), taken = new Set();
    for (const [, k, o] of pairs.sort((a, b) => a[0] - b[0])) if (!row[k] && !taken.has(o)) { row[k] = values[o]; taken.add(o); }
    rows.push(row);
  }
  return rows;
}

// The eigenvector of an eigenvalue as [real, imaginary], by two inverse iterations in real arithmetic of twice the size.
function eigenvector(rows, [x, y]) {
  const n = rows.length, shift = 1e-10 * (1 + Math.hypot(x, y));
  let z = Array.from({ length: 2 * n }, (_, k) => 1 / (1 + k));
  for (let step = 0; step < 2; step++) {
    const block = (i, j) => [rows[i][j] - (i === j ? x + shift : 0), i === j ? y : 0];
    const A = Array.from({ length: 2 * n }, (_, i) => Array.from({ length: 2 * n }, (_, j) => {
      const [a, b] = block(i % n, j % n);
      return (i < n) === (j < n) ? a : i < n ? b : -b;
    }));
    z = solveRows(A, z.map((w) => [w])).map((w) => w[0]);
    const size = Math.max(...z.map(Math.abs));
    z = z.map((w) => w / size);
  }
  return Array.from({ length: n }, (_, k) => [z[k], z[n + k]]);
}

// Names of eigenmodes by the rules of the package: weave oscillates at 30 m/s and is the slowest at 10 m/s; capsize is
// the real eigenvalue nearest to zero at 30 m/s; wobble is the least damped other pair between 10 and 15 m/s.
function namedModes(rows, speeds, matrixAt, coordinates, hidden) {
  const near = (v) => speeds.reduce((best, x, k) => (Math.abs(x - v) < Math.abs(speeds[best] - v) ? k : best), 0);
  const first = rows[near(10)], last = rows[near(30)], names = Array(first.length).fill(""), all = first.map((_, k) => k);
  const swings = (z) => Math.abs(z[1]) > 1e-9;
  const partner = (row, k) => all.filter((j) => j !== k).sort((a, b) => Math.hypot(row[a][0] - row[k][0], row[a][1] + row[k][1]) - Math.hypot(row[b][0] - row[k][0], row[b][1] + row[k][1]))[0];
  const lead = all.map((k) => { // the largest coordinate, or "tyre"
    const vector = eigenvector(matrixAt(speeds[near(10)]), first[k]).map((z) => Math.hypot(...z));
    const shares = [...coordinates.map((name, j) => [vector[j], name]), ...vector.slice(vector.length - hidden).map((x) => [x, "tyre"])];
    return shares.reduce((a, b) => (b[0] > a[0] ? b : a))[1];
  });
  const isRider = (k) => lead[k] === "torso" && swings(first[k]);
  const slow = [...all].sort((a, b) => swings(first[b]) - swings(first[a]) || isRider(a) - isRider(b) || Math.abs(first[a][1]) - Math.abs(first[b][1]));
  const weave = slow.find((k) => last[k][1] > Math.max(1e-9, Math.abs(last[k][0])));
  if (weave !== undefined) for (const k of [weave, partner(last, weave)]) names[k] = "weave";
  let growth = -Infinity, wobble, place;
  for (let i = near(10); i <= near(15); i++) for (const k of all) {
    if (!names[k] && !isRider(k) && rows[i][k][1] > 1e-9 && rows[i][k][0] > growth) { growth = rows[i][k][0]; wobble = k; place = i; }
  }
  if (wobble !== undefined) for (const k of [wobble, partner(rows[place], wobble)]) names[k] = "wobble";
  const capsize = all.filter((k) => !names[k] && !swings(last[k])).sort((a, b) => Math.hypot(...last[a]) - Math.hypot(...last[b]))[0];
  if (capsize !== undefined) names[capsize] = "capsize";
  return names.map((name, k) => name || (isRider(k) ? "torso" : !swings(first[k]) && ["lean", "steer"].includes(lead[k]) ? "castering" : lead[k]));
}

// All speeds at which a tracked eigenvalue loses its real part, by name of the mode, in rising order.
function crossedSpeeds(rows, speeds, names, matrixAt) {
  const out = {};
  names.forEach((name, k) => {
    for (let i = 0; i + 1 < rows.length; i++) {
      let [a, b] = [speeds[i], speeds[i + 1]];
      const [z, w] = [rows[i][k], rows[i + 1][k]];
      if (z[0] * w[0] >= 0 || z[1] < 0) continue;
      let middle = a, value = z;
      for (let step = 0; step < 50; step++) {
        middle = (a + b) / 2;
        const share = (middle - speeds[i]) / (speeds[i + 1] - speeds[i]), near = [0, 1].map((j) => z[j] + share * (w[j] - z[j]));
        value = matrixEigenvalues(matrixAt(middle)).reduce((p, q) => (Math.hypot(q[0] - near[0], q[1] - near[1]) < Math.hypot(p[0] - near[0], p[1] - near[1]) ? q : p));
        if (value[0] * z[0] > 0) a = middle; else b = middle;
      }
      // The two eigenvalues of a pair may have exchanged their columns: then no eigenvalue crosses zero.
      if (Math.abs(value[0]) < 1e-6 * (1 + Math.hypot(...value))) (out[name] ??= []).push(middle);
    }
  });
  return Object.fromEntries(Object.entries(out).map(([name, all]) => [name, all.sort((x, y) => x - y)]));
}

// Ranges of speed up to the highest one in which all eigenvalues are damped; Infinity if it is still stable there.
function dampedRanges(critical, highest, matrixAt) {
  const ends = [0, ...Object.values(critical).flat(), highest].sort((a, b) => a - b), out = [];
  for (let k = 0; k + 1 < ends.length; k++) {
    if (ends[k + 1] - ends[k] < 1e-9 || matrixEigenvalues(matrixAt((ends[k] + ends[k + 1]) / 2)).some(([x]) => x >= 0)) continue;
    const end = ends[k + 1] === highest ? Infinity : ends[k + 1];
    if (out.length && out[out.length - 1][1] === ends[k]) out[out.length - 1][1] = end; else out.push([ends[k], end]);
  }
  return out;
}

// Coordinates of an eigenmode, scaled so that the larger one of lean and steer is 1.
function stateShape(rows, value, coordinates) {
  const vector = eigenvector(rows, value), [lean, steer] = ["lean", "steer"].map((name) => vector[coordinates.indexOf(name)]);
  const [p, q] = Math.hypot(...lean) > Math.hypot(...steer) ? lean : steer, d = p * p + q * q;
  return coordinates.map((_, k) => [(vector[k][0] * p + vector[k][1] * q) / d, (vector[k][1] * p - vector[k][0] * q) / d]);
}

// The equations of a two-wheeler with states, in the terms of the page; the canonical bicycle has the same functions.
const HIGHEST_TRACKED = 80; // m/s; critical speeds beyond are not listed
const TRACKED_PER_SPEED = 5; // speeds at which eigenvalues are computed per m/s
function statesOf(D, parameters) {
  const table = new Float64Array(straightTableSize), n = D.coordinates.length + D.speeds + D.hidden;
  const mass = new Float64Array(D.speeds * D.speeds), rates = new Float64Array(n * n), at = new Float64Array(1);
  straightPrologue(Float64Array.from(parameters), table);
  const matrixAt = (v) => { at[0] = v; straight(at, table, mass, rates); return systemMatrix(mass, rates, D.coordinates.length, D.speeds, n); };
  // At rest, tyres have no direction of travel: the first speed is one step.
  const tracked = Array.from({ length: TRACKED_PER_SPEED * HIGHEST_TRACKED }, (_, k) => (k + 1) / TRACKED_PER_SPEED), all = trackedRows(matrixAt, tracked);
  const names = namedModes(all, tracked, matrixAt, D.coordinates, D.hidden), critical = crossedSpeeds(all, tracked, names, matrixAt);
  const stable = dampedRanges(critical, HIGHEST_TRACKED, matrixAt);
  return { names, critical, stable, matrixAt, rows: (speeds) => speeds.map((v) => all[Math.max(0, Math.round(TRACKED_PER_SPEED * v) - 1)]),
    shape: (v, value) => stateShape(matrixAt(Math.max(tracked[0], v)), value, D.coordinates) };
}
