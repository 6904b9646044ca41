// Numbers beside the picture, the stability chart, and plots of the last seconds.
import { degrees } from "./vectors.js";

const MINUS = "\u2212";
const GAUGES = [
  ["speed", "m/s", (f) => f.output("forward_speed")],
  ["lean right", "deg", (f) => degrees(f.output("lean"))],
  ["steer left", "deg", (f) => degrees(f.joint("steer"))],
  ["steer torque", "N m", (f) => f.input("steer")],
  ["drive", "N m", (f) => f.input("rear_wheel")],
  ["energy", "J", (f) => f.part("energy")[0] + f.part("energy")[1]],
  ["least load", "N", (f) => Math.min(...f.loads.map(([normal]) => normal))],
  ["friction needed", "", (f) => Math.max(...f.loads.map(needed)), 2],
  ["time", "s", (f) => f.time],
];

const needed = ([normal, along, across]) => (normal > 1 ? Math.hypot(along, across) / normal : 0);

export class Gauges {
  constructor(table) {
    this.cells = GAUGES.map(([name, unit]) => {
      const row = table.insertRow();
      row.insertCell().textContent = name;
      const cell = row.insertCell();
      row.insertCell().textContent = unit;
      return cell;
    });
  }

  show(frame) {
    GAUGES.forEach(([, , value, digits = 1], k) => {
      const x = value(frame), text = Number.isFinite(x) ? x.toFixed(digits) : "";
      this.cells[k].textContent = (text === "-0.0" ? "0.0" : text).replace("-", MINUS);
    });
  }
}

// Real parts of the eigenvalues against speed, and where the ride is.
export class Chart {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
  }

  describe(chart) {
    this.chart = chart;
    this.canvas.parentElement.hidden = !chart;
  }

  show(speed) {
    if (!this.chart) return;
    const { canvas, pen, chart } = this, { width: w, height: h } = canvas, top = 4;
    const x = (v) => 24 + ((w - 30) * v) / 10, y = (s) => h / 2 - 12 - ((h / 2 - 14) * Math.max(-top, Math.min(top, s))) / top;
    pen.clearRect(0, 0, w, h);
    pen.font = "10px sans-serif";
    pen.fillStyle = "#222";
    for (const v of [0, 2, 4, 6, 8, 10]) pen.fillText(String(v), x(v) - 3, h - 4);
    for (const s of [-4, 0, 4]) pen.fillText(String(s).replace("-", MINUS), 2, y(s) + 3);
    this.line([[x(0), y(0)], [x(10), y(0)]], "#666", []);
    const curves = { weave: ["#0072B2", []], capsize: ["#D55E00", [5, 3]] };
    for (const [name, [colour, dash]] of Object.entries(curves)) {
      this.line(chart.speed.map((v, k) => [x(v), y(chart[name][k])]), colour, dash);
      pen.fillStyle = colour;
      pen.fillText(name, name === "weave" ? x(0.4) : x(7.6), name === "weave" ? y(3.4) : y(0.7));
    }
    this.line([[x(speed), y(top)], [x(speed), y(-top)]], "#000", []);
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
