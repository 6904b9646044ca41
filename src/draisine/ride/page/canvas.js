// The machine drawn with the browser's plain canvas: lines, no graphics card, no other code.
import { place } from "./machine.js";
import { add, dot, triples } from "./vectors.js";

const NEAR = 0.05;

export class CanvasPicture {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
  }

  describe(scene) { this.scene = scene; }

  draw({ frame, poses, view, tracks, ghost, show }) {
    this.resize();
    this.view = view;
    this.ground(poses[0].p);
    if (this.scene.marks) this.marks(this.scene.marks);
    tracks.forEach((track) => this.path(track.points, track.colour, 2));
    if (!this.scene.ground.patches.length) this.machine(poses, (p) => [p[0], p[1], 0], "#0000001f");
    if (ghost) this.machine(ghost, (p) => p, "#56789a66");
    this.machine(poses, (p) => p, null);
    if (show.arrows) this.arrows(frame);
  }

  resize() {
    const d = window.devicePixelRatio || 1, { clientWidth: w, clientHeight: h } = this.canvas;
    if (this.canvas.width !== Math.round(w * d) || this.canvas.height !== Math.round(h * d)) {
      this.canvas.width = Math.round(w * d);
      this.canvas.height = Math.round(h * d);
    }
    this.pen.setTransform(d, 0, 0, d, 0, 0);
    this.pen.clearRect(0, 0, w, h);
    this.wide = w;
    this.high = h;
    this.scale = 1.1 * Math.min(h, 0.9 * w);
  }

  // Where a point is in the picture, and its depth.
  seen(p) {
    const d = add(p, this.view.eye, -1), z = dot(d, this.view.ahead);
    return [this.wide / 2 + (this.scale * dot(d, this.view.right)) / z, this.high / 2 - (this.scale * dot(d, this.view.above)) / z, z];
  }

  stroke(a, b, colour, width) {
    if (a[2] < NEAR || b[2] < NEAR) return;
    this.pen.strokeStyle = colour;
    this.pen.lineWidth = width;
    this.pen.beginPath();
    this.pen.moveTo(a[0], a[1]);
    this.pen.lineTo(b[0], b[1]);
    this.pen.stroke();
  }

  path(points, colour, width) {
    for (let k = 1; k < points.length; k++) {
      if (points[k - 1] && points[k]) this.stroke(this.seen(points[k - 1]), this.seen(points[k]), colour, width);
    }
  }

  ground(middle) {
    const { cell, patches } = this.scene.ground;
    if (patches.length) return patches.forEach((patch) => this.patch(patch, middle));
    const n = 16, x0 = Math.round(middle[0] / cell), y0 = Math.round(middle[1] / cell);
    for (let i = -n; i <= n; i++) for (let j = -n; j < n; j++) for (const swap of [0, 1]) {
      const ends = (swap ? [[j, i], [j + 1, i]] : [[i, j], [i, j + 1]]).map(([x, y]) => [(x0 + x) * cell, (y0 + y) * cell, 0]);
      const far = Math.hypot(ends[0][0] - middle[0], ends[0][1] - middle[1]) / (n * cell);
      if (far < 1) this.stroke(this.seen(ends[0]), this.seen(ends[1]), `rgba(70,85,100,${0.45 * (1 - far)})`, 1);
    }
  }

  // Cones, boxes and rings of a task.
  marks({ cones = [], boxes = [], rings = [] }) {
    for (const { x, y, long, wide, colour } of boxes) {
      this.path([[x, y, 0], [x + long, y, 0], [x + long, y + wide, 0], [x, y + wide, 0], [x, y, 0]], colour, 3);
    }
    for (const { centre: [x, y], outer, colour } of rings) {
      const angles = Array.from({ length: 61 }, (_, k) => (2 * Math.PI * k) / 60);
      this.path(angles.map((angle) => [x + outer * Math.cos(angle), y + outer * Math.sin(angle), 0]), colour, 2);
    }
    for (const [x, y] of cones) this.path([[x, y - 0.13, 0], [x, y, 0.5], [x, y + 0.13, 0]], "#e8590c", 4);
  }

  patch(patch, middle) {
    const lines = triples(patch.lines);
    for (let k = 0; k < lines.length; k += 2) {
      const far = Math.hypot(lines[k][0] - middle[0], lines[k][1] - middle[1]) / 24;
      if (far < 1) this.stroke(this.seen(lines[k]), this.seen(lines[k + 1]), `rgba(70,85,100,${0.6 * (1 - far)})`, 1);
    }
  }

  machine(poses, moved, colour) {
    const { parts, balls, size } = this.scene.machine, pieces = [];
    const at = (body, a) => this.seen(moved(place(poses[body], a)));
    for (const part of parts) {
      const points = triples(part.points).map((a) => at(part.body, a));
      for (let k = 1; k < points.length; k++) pieces.push({ a: points[k - 1], b: points[k], z: points[k][2], part });
    }
    for (const ball of balls) pieces.push({ a: at(ball.body, ball.centre), z: at(ball.body, ball.centre)[2], ball });
    pieces.sort((one, two) => two.z - one.z);
    this.pen.lineCap = "round";
    for (const { a, b, z, part, ball } of pieces) {
      if (z < NEAR) continue;
      if (part) { this.stroke(a, b, colour ?? part.colour, Math.max(0.5, (this.scale * 0.004 * size * part.width) / z)); continue; }
      this.pen.beginPath();
      this.pen.arc(a[0], a[1], (this.scale * ball.radius) / a[2], 0, 7);
      this.pen.fillStyle = colour ?? ball.colour;
      this.pen.fill();
    }
  }

  arrows(frame) {
    const forces = frame.forces;
    frame.contacts.forEach((point, k) => {
      const tip = add(point, forces[k], 0.001);
      if ([...point, ...tip].every(Number.isFinite)) this.stroke(this.seen(point), this.seen(tip), "#D55E00", 3);
    });
  }
}
