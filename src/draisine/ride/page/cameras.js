// Where the camera stands and where it looks.
import { add, cross, dot, scale, unit } from "./vectors.js";

export const CAMERAS = ["chase", "side", "top", "onboard", "free"];

export class Camera {
  constructor() {
    this.yaw = null;
    this.choose("chase");
  }

  // Look from here on at a machine of a size, at a place, with a heading.
  look(focus, heading, size, up) {
    const calm = this.yaw === null ? heading : this.yaw + 0.08 * wrapped(heading - this.yaw);
    this.yaw = calm;
    const base = { chase: calm + Math.PI, side: calm - Math.PI / 2, free: Math.PI, top: calm + Math.PI, onboard: calm }[this.kind];
    const height = { chase: this.elevation, side: 0.12, top: 1.45, free: this.elevation }[this.kind] ?? 0.2;
    const angle = base + this.azimuth;
    const distance = { chase: 4.2, side: 4.6, top: 7, free: 6, onboard: 0 }[this.kind] * size * this.away;
    const [east, north] = level(up);
    const back = add(scale(east, Math.cos(angle)), north, Math.sin(angle));
    if (this.kind === "onboard") {
      const eye = add(add(focus, up, 1.1 * size), back, -0.4 * size);
      return frameOf(eye, add(add(eye, back, 4 * size), up, -1.1 * size), up);
    }
    const from = add(scale(back, Math.cos(height)), up, Math.sin(height));
    return frameOf(add(focus, from, distance), focus, up);
  }

  turn(dx, dy) {
    this.azimuth -= 0.008 * dx;
    this.elevation = Math.min(1.5, Math.max(-0.05, this.elevation + 0.008 * dy));
  }

  zoom(factor) { this.away = Math.min(6, Math.max(0.3, this.away * factor)); }

  // `ahead` is whether the way ahead matters more than the machine: the camera is higher and further away.
  choose(kind, ahead = false) {
    this.kind = kind;
    this.azimuth = { free: 0.7, chase: ahead ? 0.12 : 0.3 }[kind] ?? 0;   // from straight behind nobody sees the wheels
    this.elevation = ahead ? 0.36 : 0.25;
    this.away = ahead ? 1.5 : 1;
  }
}

function level(up) {
  const east = unit(add([1, 0, 0], up, -up[0]));
  return [east, cross(up, east)];
}

function frameOf(eye, target, up) {
  const ahead = unit(add(target, eye, -1));
  const right = unit(cross(ahead, Math.abs(dot(ahead, up)) > 0.999 ? [1, 0, 0] : up));
  return { eye, target, ahead, right, above: cross(right, ahead), up };
}

const wrapped = (x) => Math.atan2(Math.sin(x), Math.cos(x));
