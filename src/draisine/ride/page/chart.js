// Real parts of the eigenvalues against speed, and where the ride is.
import { number, say } from "./language.js";

const FASTEST = 10, TOP = 4;
const CURVES = { weave: ["#0072B2", [], 0.4, 3.4], capsize: ["#B34700", [5, 3], 7.2, 0.7] };

export class Chart {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { willReadFrequently: true });
  }

  describe(chart) {
    this.chart = chart;
    this.canvas.parentElement.hidden = !chart;
    if (chart) this.background = this.drawn();
  }

  x(v) { return 24 + ((this.canvas.width - 30) * v) / FASTEST; }

  y(s) {
    const half = this.canvas.height / 2;
    return half - 12 - ((half - 14) * Math.max(-TOP, Math.min(TOP, s))) / TOP;
  }

  // Axes and curves, drawn once.
  drawn() {
    const { canvas, pen, chart } = this, { width: w, height: h } = canvas;
    pen.clearRect(0, 0, w, h);
    pen.font = "10px sans-serif";
    pen.fillStyle = "#222";
    for (const v of [0, 2, 4, 6, 8, 10]) pen.fillText(String(v), this.x(v) - 3, h - 4);
    for (const s of [-4, 0, 4]) pen.fillText(number(s, 0), 2, this.y(s) + 3);
    this.line([[this.x(0), this.y(0)], [this.x(FASTEST), this.y(0)]], "#666", []);
    for (const [name, [colour, dash, v, s]] of Object.entries(CURVES)) {
      this.line(chart.speed.map((speed, k) => [this.x(speed), this.y(chart[name][k])]), colour, dash);
      pen.fillStyle = colour;
      pen.fillText(say(`chart.${name}`), this.x(v), this.y(s));
    }
    return pen.getImageData(0, 0, w, h);
  }

  show(speed) {
    if (!this.chart) return;
    this.pen.putImageData(this.background, 0, 0);
    this.line([[this.x(speed), this.y(TOP)], [this.x(speed), this.y(-TOP)]], "#000", []);
  }

  line(points, colour, dash) {
    this.pen.strokeStyle = colour;
    this.pen.setLineDash(dash);
    this.pen.lineWidth = 1.6;
    this.pen.beginPath();
    points.forEach(([a, b], k) => (k ? this.pen.lineTo(a, b) : this.pen.moveTo(a, b)));
    this.pen.stroke();
  }
}
