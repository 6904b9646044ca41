// The rider: a torso that leans with the model's upper body, arms that reach the bar, legs that turn the cranks.
import { bend, bicyclePoints, crankMesh, pedal } from "./bicycle.js";
import { place } from "./machine.js";
import { Solids } from "./solids.js";
import { add } from "./vectors.js";

const SHIRT = "#E69F00", SKIN = "#c98f6b", TROUSERS = "#37474f", SHOES = "#222222", HELMET = "#f5f5f5";
export const ARM = [0.3, 0.29], LEG = [0.44, 0.46];   // lengths of upper and lower limb, m
const GEAR = 0.4, PEDALLING = 2;               // turns of the cranks per turn of the wheel; drive that needs pedalling, N m
const HANDS_TIME = 0.25;                       // s in which the hands go to the bar or leave it
const FORGET_TIME = 1.0;                       // s without a torque after which hands leave the bar

// Hip and middle of the shoulders of a rider who sits on a bicycle, in its zero configuration; arms as long as these
// reach the grips.
export function riderPoints({ saddle, grips: [grip] }) {
  const hip = add(saddle, [0.02, 0, 0.06]);
  return { hip, shoulder: [Math.min(hip[0] + 0.3, grip[0] - 0.2), 0, Math.max(hip[2] + 0.42, grip[2] + 0.36)] };
}

export const shoulderOf = (shoulder, side) => add(shoulder, [0, 0.17 * side, -0.01]);

export class RiderFigure {
  // Make the meshes of a rider in a world, for a machine whose upper body leans.
  constructor(three, machine, world) {
    this.three = three;
    this.machine = machine;
    this.points = bicyclePoints(machine);
    const at = (name) => machine.joints.find((one) => one.name === name);
    this.bodies = { frame: at("steer").parent, bar: at("steer").child, torso: at("torso").child };
    Object.assign(this, riderPoints(this.points));
    this.angle = 0;
    this.hands = 1;
    this.torso = this.newTorso();
    this.cranks = crankMesh(three);
    const limb = (top, end, radius, tip) => new Solids(three).tube([0, 0, 0], [0, 1, 0], radius, top, tip).mesh();
    this.limbs = [1, -1].map((side) => ({
      side,
      meshes: [limb(SHIRT, SHIRT, 0.055, 0.042), limb(SKIN, SKIN, 0.042, 0.03), limb(TROUSERS, TROUSERS, 0.085, 0.062), limb(TROUSERS, TROUSERS, 0.06, 0.042)],
      ends: new Solids(three).ball([0, 0, 0], 0.042, SKIN).mesh(),
      shoe: new Solids(three).ball([0.03, 0, 0], 0.05, SHOES, [2.3, 0.9, 0.9]).mesh(),
    }));
    const meshes = [this.torso, this.cranks, ...this.limbs.flatMap(({ meshes, ends, shoe }) => [...meshes, ends, shoe])];
    for (const mesh of meshes) {
      mesh.castShadow = true;
      mesh.matrixAutoUpdate = false;
      mesh.frustumCulled = false;
      world.add(mesh);
    }
  }

  newTorso() {
    const { hip, shoulder } = this, solids = new Solids(this.three), neck = add(shoulder, [0.03, 0, 0.08]);
    const head = add(neck, [0.05, 0, 0.12]);
    solids.tube(hip, shoulder, 0.12, SHIRT, 0.15, 16).ball(hip, 0.135, TROUSERS, [1, 1.15, 0.85]).ball(shoulder, 0.145, SHIRT, [0.75, 1.3, 0.75]);
    solids.tube(shoulder, head, 0.05, SKIN).ball(head, 0.095, SKIN, [1, 0.85, 1.15]);
    solids.ball(add(head, [-0.01, 0, 0.045]), 0.112, HELMET, [1.2, 0.95, 0.8]).ball(add(head, [0.1, 0, -0.01]), 0.018, SKIN);
    return solids.mesh();
  }

  // Move to the poses of a frame; seen from the rider's own eyes, head and torso are not drawn.
  show(frame, poses, ownEyes) {
    this.torso.visible = !ownEyes;
    const { points, bodies } = this, main = poses[bodies.frame], torso = poses[bodies.torso];
    this.turnCranks(frame);
    this.moveHands(frame);
    this.put(this.torso, torso);
    this.put(this.cranks, { R: main.R, p: place(main, points.cranks) }, this.angle);
    const forward = main.R.map((row) => row[0]), up = main.R.map((row) => row[2]), left = main.R.map((row) => row[1]);
    for (const { side, meshes, ends, shoe } of this.limbs) {
      const shoulder = place(torso, shoulderOf(this.shoulder, side));
      const grip = place(poses[bodies.bar], points.grips[side > 0 ? 0 : 1]);
      const knees = place(torso, add(this.hip, [0.24, 0.15 * side, 0.12]));
      const hand = add(grip, add(knees, grip, -1), 1 - this.hands);
      const elbow = bend(shoulder, hand, ...ARM, add(add([0, 0, 0], up, -1), left, 0.7 * side));
      const hip = place(main, add(this.hip, [0, 0.09 * side, -0.02])), foot = add(place(main, pedal(points, this.angle, side)), up, 0.08);
      const ankle = add(foot, forward, -0.06), knee = bend(hip, ankle, ...LEG, add(forward, left, 0.15 * side));
      [[shoulder, elbow], [elbow, hand], [hip, knee], [knee, ankle]].forEach(([a, b], k) => this.stretch(meshes[k], a, b));
      this.put(ends, { R: main.R, p: hand });
      this.put(shoe, { R: main.R, p: add(foot, up, -0.035) });
    }
  }

  // Cranks turn with the rear wheel while the rider drives.
  turnCranks(frame) {
    const wheel = frame.joint("rear_wheel"), turned = wheel - (this.wheel ?? wheel);
    this.wheel = wheel;
    if (frame.input("rear_wheel") > PEDALLING && Math.abs(turned) < 3) this.angle += GEAR * turned;
  }

  // Hands are on the bar while they steer, and on the knees after a while without.
  moveHands(frame) {
    const dt = Math.max(0, frame.time - (this.time ?? frame.time));
    this.time = frame.time;
    this.idle = Math.abs(frame.input("steer")) > 1e-9 || frame.holdsBar ? 0 : (this.idle ?? 0) + dt;
    const wanted = this.idle > FORGET_TIME ? 0 : 1;
    this.hands += Math.max(-dt / HANDS_TIME, Math.min(dt / HANDS_TIME, wanted - this.hands));
  }

  put(mesh, { R, p }, angle = 0) {
    mesh.matrix.set(...R[0], p[0], ...R[1], p[1], ...R[2], p[2], 0, 0, 0, 1);
    if (angle) mesh.matrix.multiply(new this.three.Matrix4().makeRotationY(angle));
  }

  // A limb from a to b.
  stretch(mesh, a, b) {
    const T = this.three, along = new T.Vector3(...add(b, a, -1)), length = along.length() || 1e-6;
    const turn = new T.Quaternion().setFromUnitVectors(new T.Vector3(0, 1, 0), along.divideScalar(length));
    mesh.matrix.compose(new T.Vector3(...a), turn, new T.Vector3(1, length, 1));
  }
}
