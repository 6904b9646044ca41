// Plots of a ride as strips over one axis of time, with a line at a moment.
import { number } from "./language.js";

const WIDE = 520, HIGH = 84, LEFT = 44, GAP = 20, COLOURS = ["#0072B2", "#B34700", "#00724f"];
const LEAST = 0.1;   // end of the smallest scale: labels have one decimal
const SPACE = "http://www.w3.org/2000/svg";

function element(name, attributes, text = "") {
  const one = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
  one.textContent = text;
  return one;
}

export class Strips {
  constructor(home) { this.home = home; }

  // Draw columns over times; each column is [name, values].
  draw(times, columns) {
    const high = columns.length * (HIGH + GAP) + 18;
    this.times = times;
    this.x = (t) => LEFT + ((WIDE - LEFT - 6) * (t - times[0])) / (times.at(-1) - times[0] || 1);
    this.home.setAttribute("viewBox", `0 0 ${WIDE} ${high}`);
    this.home.replaceChildren(...columns.flatMap(([name, values], k) => this.strip(name, values, k)));
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => times[0] + share * (times.at(-1) - times[0]));
    for (const t of ticks) this.home.append(element("text", { x: this.x(t), y: high - 4, "text-anchor": "middle" }, `${number(t)} s`));
    this.line = element("line", { y1: GAP, y2: high - 18, stroke: "#000", "stroke-dasharray": "3 2" });
    this.home.append(this.line);
    this.mark(times.length - 1);
  }

  strip(name, values, k) {
    const top = k * (HIGH + GAP) + GAP, most = Math.max(LEAST, ...values.map(Math.abs)), y = (v) => top + (HIGH / 2) * (1 - v / most);
    const step = Math.max(1, Math.floor(values.length / 600)), path = values.map((v, i) => [v, i]).filter(([, i]) => i % step === 0);
    const points = path.map(([v, i]) => `${this.x(this.times[i]).toFixed(1)},${y(v).toFixed(1)}`).join(" ");
    const label = (v) => element("text", { x: LEFT - 4, y: y(v) + 4, "text-anchor": "end" }, number(v));
    return [
      element("text", { x: LEFT, y: top - 5, fill: COLOURS[k], "font-weight": 600 }, name),
      element("line", { x1: LEFT, x2: WIDE - 6, y1: y(0), y2: y(0), stroke: "#999" }),
      element("polyline", { points, fill: "none", stroke: COLOURS[k], "stroke-width": 1.6 }),
      label(most), label(-most),
    ];
  }

  // Put the line at a row.
  mark(row) {
    const x = this.x(this.times[row]);
    this.line.setAttribute("x1", x);
    this.line.setAttribute("x2", x);
  }
}
