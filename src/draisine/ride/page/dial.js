// A view of the bicycle from behind: its lean, the leaning body, and the angle of the bar on a scale.
import { degrees } from "./vectors.js";

const WIDE = 132, HIGH = 132, SCALE = 40;   // pixels; the scale of the bar ends at 40 degrees

export class Dial {
  constructor(canvas) {
    this.canvas = canvas;
    const sharp = Math.min(2, window.devicePixelRatio || 1);
    Object.assign(canvas, { width: WIDE * sharp, height: HIGH * sharp });
    this.pen = canvas.getContext("2d");
    this.pen.scale(sharp, sharp);
    this.pen.lineCap = "round";
  }

  // Show a frame; what has no bar has no dial.
  show(frame) {
    const steers = frame.scene.joints.includes("steer");
    if (this.canvas.hidden === steers) this.canvas.hidden = !steers;
    if (!steers) return;
    const lean = frame.output("lean"), steer = frame.joint("steer"), body = frame.joint("torso"), { pen } = this;
    pen.clearRect(0, 0, WIDE, HIGH);
    this.bar(steer);
    this.line([[16, 124], [WIDE - 16, 124]], "#777", 1.5);
    pen.save();
    pen.translate(WIDE / 2, 124);
    for (const angle of [-30, -15, 0, 15, 30]) this.tick((angle * Math.PI) / 180);
    pen.rotate(lean);
    this.line([[0, -2], [0, -26]], "#1d1d1d", 6);
    this.line([[0, -26], [0, -40]], "#0072b2", 4);
    pen.translate(0, -38);
    pen.rotate(body);
    this.line([[0, 0], [0, -14]], "#b34700", 8);
    this.disc(0, -23, 5, "#b34700");
    pen.restore();
  }

  // The bar from above, at the top: to the left is left.
  bar(steer) {
    const { pen } = this;
    pen.save();
    pen.translate(WIDE / 2, 46);
    pen.strokeStyle = "#777";
    pen.lineWidth = 1;
    for (let angle = -SCALE; angle <= SCALE; angle += 10) {
      const a = ((angle - 90) * Math.PI) / 180, inside = angle === 0 ? 30 : 34;
      this.line([[inside * Math.cos(a), inside * Math.sin(a)], [39 * Math.cos(a), 39 * Math.sin(a)]], "#777", angle === 0 ? 2 : 1);
    }
    pen.rotate(-Math.max(-SCALE, Math.min(SCALE, degrees(steer))) * (Math.PI / 180));
    this.line([[-26, 4], [-12, 0], [12, 0], [26, 4]], "#1d1d1d", 4);
    this.line([[0, 0], [0, -28]], "#b34700", 3);
    pen.restore();
  }

  tick(angle) {
    const [s, c] = [Math.sin(angle), -Math.cos(angle)];
    this.line([[66 * s, 66 * c], [70 * s, 70 * c]], "#777", 1);
  }

  disc(x, y, radius, colour) {
    this.pen.fillStyle = colour;
    this.pen.beginPath();
    this.pen.arc(x, y, radius, 0, 7);
    this.pen.fill();
  }

  line(points, colour, width) {
    this.pen.strokeStyle = colour;
    this.pen.lineWidth = width;
    this.pen.beginPath();
    points.forEach(([a, b], k) => (k ? this.pen.lineTo(a, b) : this.pen.moveTo(a, b)));
    this.pen.stroke();
  }
}
