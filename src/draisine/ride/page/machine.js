// A frame of numbers as a machine in the world: where its bodies are.
import { about, add, product, rotation, scale, triples, turn } from "./vectors.js";

export class Frame {
  constructor(scene, numbers) {
    this.scene = scene;
    this.numbers = numbers;
  }

  part(name) {
    const [from, to] = this.scene.layout[name];
    return this.numbers.subarray(from, to);
  }

  get time() { return this.part("time")[0]; }
  get status() { return this.part("status")[0]; }
  output(name) { return this.part("outputs")[Object.keys(this.scene.outputs).indexOf(name)]; }
  outputRate(name) { return this.part("output_rates")[Object.keys(this.scene.outputs).indexOf(name)]; }
  joint(name) { return this.part("r")[this.scene.joints.indexOf(name)] ?? 0; }
  input(name) { return this.part("inputs")[this.scene.inputs.indexOf(name)] ?? 0; }
  get contacts() { return triples(this.part("points")); }
  get forces() { return triples(this.part("forces")); }

  // Along the ground's normal, along the wheel and across it.
  get loads() { return triples(this.part("loads")); }

  // The pose of every body: R and p take the drawing to the world.
  poses() {
    const { bodies, joints } = this.scene.machine;
    const poses = bodies.map(() => null);
    poses[0] = { R: rotation(this.part("q")), p: [...this.part("p")] };
    const r = this.part("r");
    let waiting = joints.map((joint, k) => ({ ...joint, k }));
    while (waiting.length) {
      const ready = waiting.filter((joint) => poses[joint.parent]);
      if (!ready.length) break;
      for (const joint of ready) poses[joint.child] = carried(poses[joint.parent], joint, r[joint.k]);
      waiting = waiting.filter((joint) => !poses[joint.child]);
    }
    return poses;
  }
}

function carried(parent, joint, r) {
  const turned = about(joint.axis, joint.turn * r);
  const offset = add(add(joint.through, turn(turned, joint.through), -1), scale(joint.axis, joint.slide * r));
  return { R: product(parent.R, turned), p: add(parent.p, turn(parent.R, offset)) };
}

export const place = (pose, a) => add(pose.p, turn(pose.R, a));
