// The ride without a server: a simulator that came with the page, stepped here.
import { sceneOf } from "./bicycles.js";
import { SmoothMotion, TerrainMotion } from "./motions.js";

const LIMITS = { lean: Math.PI / 4, steer: (75 * Math.PI) / 180, pitch: (75 * Math.PI) / 180 };
const RIDING = 0, FELL = 1, FLIPPED = 2, LIFTED = 3, SLIPPED = 4, TURNED_OVER = 5, STOPPED = 6;
const CATCH_UP = 100, FRAME = 16, SILENCE = 0.3;
// A rehearsal lasts at most so long: in the ride (s), and for the person who waits (ms).
const REHEARSED = 4, PATIENCE = 1000;

export class LocalEngine {
  constructor(data) {
    this.data = data;
    this.pace = 1;
    this.latency = 0;
    this.told = () => {};
    this.framed = () => {};
    this.closed = () => {};
    this.ready = true;
    this.rehearsed = new Set();
    setTimeout(() => this.say({ preset: Object.keys(data.rides)[0] }));
  }

  open() {}

  say({ preset, reset, pace, mu, parameters, parameter_set: set }) {
    if (preset) {
      this.mu = this.data.rides[preset].mu ?? Infinity;
      this.choose(preset, this.data.rides[preset].bicycle);
    }
    if (set !== undefined) this.choose(this.scene.preset.name, set);
    if (parameters) this.change(parameters);
    if (reset) this.reset();
    if (pace !== undefined) this.pace = pace;
    if (mu !== undefined) this.slide(mu ?? Infinity);
  }

  choose(name, set) {
    const bicycle = this.data.bicycles[set];
    this.ride = this.data.rides[name];
    this.set = set;
    const simulator = this.data.simulators[bicycle.kind];
    const newMotion = () => (this.ride.terrain ? new TerrainMotion(this.data.terrain, simulator, this.ride) : new SmoothMotion(simulator));
    this.motion = newMotion();
    this.parameters = { ...bicycle.parameters };
    for (const [key, value] of Object.entries(this.ride.parameters)) if (key in this.parameters) this.parameters[key] = value;
    this.pace = this.ride.preset.pace;
    this.rehearse(newMotion(), `${name} ${bicycle.kind}`);
    this.describe();
    this.reset();
  }

  // Ride ahead once with another machine. The browser compiles code when it is first used: without a rehearsal, frames
  // of touchdowns would wait for the compiler.
  rehearse(motion, key) {
    if (this.rehearsed.has(key)) return;
    this.rehearsed.add(key);
    const scene = sceneOf(this.ride, this.data, this.set, this.parameters), [, ...controls] = scene.controls;
    const end = performance.now() + PATIENCE, given = scene.preset.commands ?? {};
    motion.enter(this.parameters, this.ride.start, this.mu);
    for (let count = 0, k = 0; count < REHEARSED * scene.rate && performance.now() < end; k++) {
      const torque = k % 60 < 10 ? 0.01 * (k % 10) : 0;
      motion.command(0, controls.map((name) => (name === "steer_torque" ? torque : given[name] ?? 0)), scene);
      const { count: next, wrong } = motion.advance(count, FRAME, scene.rate);
      if (wrong) return;
      count = next;
      motion.observe(count / scene.rate, controls.length);
    }
  }

  describe() {
    this.scene = sceneOf(this.ride, this.data, this.set, this.parameters);
    this.told({ scene: this.scene });
  }

  reset() {
    this.motion.enter(this.parameters, this.ride.start, this.mu);
    this.count = this.owed = 0;
    this.clock = null;
    this.status = RIDING;
  }

  // Other friction: on terrain wheels slide, and the ride starts anew; else a ride ends where it needs more.
  slide(mu) {
    this.mu = mu;
    if (this.ride.terrain) this.reset();
  }

  // Ride on with other parameters, at the same place, speed, lean and steer, or start anew on terrain; what cannot
  // be is refused.
  change(changes) {
    const parameters = { ...this.parameters, ...changes };
    try {
      this.motion.change(parameters, this.scene.controls.length - 1, this.ride.start, this.mu);
    } catch (error) {
      this.told({ impossible: error.message });
      return;
    }
    this.parameters = parameters;
    this.clock = null;
    if (this.ride.terrain) [this.count, this.owed, this.status] = [0, 0, RIDING];
    this.describe();
  }

  get time() { return this.count / this.scene.rate; }

  // Step to now under commands, and show what is then.
  ask([push, ...commands]) {
    this.motion.command(push, commands, this.scene);
    const due = this.due();
    if (due > 0 && this.status === RIDING) this.advance(due);
    this.framed(this.frame());
  }

  due() {
    const now = performance.now() / 1000, passed = this.clock === null ? 0 : now - this.clock;
    this.clock = now;
    if (passed > SILENCE) { this.owed = 0; return FRAME; }
    this.owed += passed * this.pace * this.scene.rate;
    const whole = Math.floor(this.owed);
    this.owed -= whole;
    return Math.min(whole, CATCH_UP);
  }

  advance(steps) {
    const { count, wrong } = this.motion.advance(this.count, steps, this.scene.rate);
    this.count = count;
    if (wrong) this.status = STOPPED;
  }

  frame() {
    const seen = this.motion.observe(this.time, this.scene.controls.length);
    this.judge(seen, seen.r);
    return Float64Array.from([
      this.time, this.status, ...seen.q, ...seen.position, ...seen.r, ...seen.outputs,
      ...seen.output_rates, ...seen.forces_world, ...seen.forces, ...seen.points, ...seen.gaps, ...seen.kinetic, ...seen.potential,
      ...seen.inputs, ...seen.rider,
    ]);
  }

  judge(seen, r) {
    if (this.status !== RIDING) return;
    const names = Object.keys(this.scene.outputs), output = (name) => Math.abs(seen.outputs[names.indexOf(name)]);
    if (output("lean") > LIMITS.lean) this.status = FELL;
    else if (Math.abs(r[this.scene.joints.indexOf("steer")]) > LIMITS.steer) this.status = FLIPPED;
    else if (output("pitch") > LIMITS.pitch) this.status = TURNED_OVER;
    else if (!this.ride.terrain) this.load(seen.forces);
  }

  // Whether the ground could push like that: a wheel that would be pulled, or that needs more friction than there is.
  load(forces) {
    this.scene.machine.contacts.forEach((_, k) => {
      const [normal, along, across] = forces.subarray(3 * k, 3 * k + 3);
      if (normal < 0 && !this.ride.sticks) this.status = LIFTED;
      else if (Math.hypot(along, across) > this.mu * normal && Number.isFinite(this.mu)) this.status = SLIPPED;
    });
  }
}
