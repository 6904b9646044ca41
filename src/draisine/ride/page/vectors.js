// Vectors as arrays of three, rotations as rows of three, quaternions scalar first.
export const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
export const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const unit = (a) => scale(a, 1 / Math.hypot(a[0], a[1], a[2]));
export const triples = (flat) => Array.from({ length: flat.length / 3 }, (_, k) => [flat[3 * k], flat[3 * k + 1], flat[3 * k + 2]]);
export const degrees = (x) => (x * 180) / Math.PI;

export function rotation([w, x, y, z]) {
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
  ];
}

export const turn = (R, a) => [dot(R[0], a), dot(R[1], a), dot(R[2], a)];

export function product(A, B) {
  const columns = [0, 1, 2].map((j) => [B[0][j], B[1][j], B[2][j]]);
  return A.map((row) => columns.map((column) => dot(row, column)));
}

export function about(axis, angle) {
  const s = Math.sin(angle / 2);
  return rotation([Math.cos(angle / 2), s * axis[0], s * axis[1], s * axis[2]]);
}
