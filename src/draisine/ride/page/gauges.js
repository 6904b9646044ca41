// Readings of the ride beside the picture, with their directions in words.
import { number, say } from "./language.js";
import { side } from "./moments.js";
import { degrees } from "./vectors.js";

const needed = ([normal, along, across]) => (normal > 1 ? Math.hypot(along, across) / normal : 0);

// Name, value, unit, digits; a reading with a direction is positive to the left.
const GAUGES = [
  ["speed", (f) => f.output("forward_speed"), "m/s"],
  ["lean", (f) => -degrees(f.output("lean")), "deg", 1, true],
  ["steer", (f) => degrees(f.joint("steer")), "deg", 1, true],
  ["torque", (f) => f.input("steer"), "N m", 1, true],
  ["drive", (f) => f.input("rear_wheel"), "N m", 0],
  ["energy", (f) => f.part("energy")[0] + f.part("energy")[1], "J", 0],
  ["load", (f) => Math.min(...f.loads.map(([normal]) => normal)), "N", 0],
  ["friction", (f) => Math.max(...f.loads.map(needed)), "", 2],
  ["time", (f) => f.time, "s"],
];

export class Gauges {
  constructor(body) { this.body = body; }

  // Write the names; they change with the language.
  begin() {
    this.body.replaceChildren();
    this.rows = GAUGES.map(([name]) => {
      const row = this.body.insertRow(), head = document.createElement("th");
      head.scope = "row";
      head.textContent = say(`reading.${name}`);
      row.append(head);
      return [row.insertCell(), row.insertCell()];
    });
  }

  show(frame) {
    GAUGES.forEach(([, value, unit, digits = 1, sided = false], k) => {
      const x = value(frame), [figure, words] = this.rows[k];
      const text = Number.isFinite(x) ? number(sided ? Math.abs(x) : x, digits) : "";
      const zero = Number(Math.abs(x).toFixed(digits)) === 0;
      const name = unit === "deg" ? say("unit.deg") : unit;
      put(figure, text);
      put(words, sided && !zero && text ? `${name} ${side(x)}` : name);
    });
  }
}

// Change the text of a cell only if it is another one: the browser lays out the table anew each time.
function put(cell, text) {
  if (cell.textContent !== text) cell.textContent = text;
}
