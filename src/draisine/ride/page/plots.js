// Lean, steer, speed and torque over the last seconds.
import { say } from "./language.js";
import { degrees } from "./vectors.js";

const SPAN = 10;
const PLOTS = [
  ["plot.angles", [["lean", "#0072B2", []], ["steer", "#D55E00", [6, 3]]], (f) => [degrees(f.output("lean")), degrees(f.joint("steer"))]],
  ["plot.speed", [["speed", "#009E73", []]], (f) => [f.output("forward_speed")]],
  ["plot.torques", [["steer", "#D55E00", []], ["drive", "#000000", [6, 3]]], (f) => [f.input("steer"), f.input("rear_wheel")]],
];

export class Plots {
  constructor(home) {
    this.home = home;
    this.clear();
  }

  // Make the plots; their titles change with the language.
  begin() {
    const uPlot = globalThis.draisineVendor?.uPlot;
    this.home.replaceChildren();
    this.plots = uPlot ? PLOTS.map((plot) => this.make(uPlot, plot)) : [];
    if (!uPlot) this.home.textContent = say("plot.none");
  }

  make(uPlot, [title, curves]) {
    const series = curves.map(([label, stroke, dash]) => ({ label, stroke, dash, width: 1.5 }));
    const axes = [{ size: 26, font: "10px sans-serif" }, { size: 38, font: "10px sans-serif" }];
    const scales = { x: { time: false, range: (_, low, high) => [Math.max(0, high - SPAN), Math.max(high, 1)] }, y: { range: (_, low, high) => roomy(low ?? 0, high ?? 0) } };
    const options = { title: say(title), width: 256, height: 130, legend: { show: false }, cursor: { show: false }, scales, axes, series: [{}, ...series] };
    return new uPlot(options, [[], ...curves.map(() => [])], this.home);
  }

  clear() { this.data = PLOTS.map(([, curves]) => [[], ...curves.map(() => [])]); }

  add(frame) {
    PLOTS.forEach(([, , values], k) => {
      const data = this.data[k];
      [frame.time, ...values(frame)].forEach((x, i) => data[i].push(x));
      while (data[0].length && data[0][0] < frame.time - SPAN) data.forEach((column) => column.shift());
    });
  }

  draw() { this.plots.forEach((plot, k) => plot.setData(this.data[k])); }
}

// A range with room around what is in it; round-off is no curve.
function roomy(low, high) {
  const middle = (low + high) / 2, half = Math.max(0.6 * (high - low), 0.5);
  return [middle - half, middle + half];
}
