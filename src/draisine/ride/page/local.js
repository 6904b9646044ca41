// The ride without a server: a simulator that came with the page, stepped here.
import { sceneOf } from "./bicycles.js";

const LIMITS = { lean: Math.PI / 4, steer: (75 * Math.PI) / 180, pitch: (75 * Math.PI) / 180 };
const RIDING = 0, FELL = 1, FLIPPED = 2, LIFTED = 3, SLIPPED = 4, TURNED_OVER = 5, STOPPED = 6;
const CATCH_UP = 100, FRAME = 16, SILENCE = 0.3;

export class LocalEngine {
  constructor(data) {
    this.data = data;
    this.pace = 1;
    this.latency = 0;
    this.told = () => {};
    this.framed = () => {};
    this.closed = () => {};
    this.ready = true;
    setTimeout(() => this.say({ preset: Object.keys(data.rides)[0] }));
  }

  open() {}

  say({ preset, reset, pace, mu, parameters, parameter_set: set }) {
    if (preset) this.choose(preset, this.data.rides[preset].bicycle);
    if (set !== undefined) this.choose(this.scene.preset.name, set);
    if (parameters) this.change(parameters);
    if (reset) this.reset();
    if (pace !== undefined) this.pace = pace;
    if (mu !== undefined) this.mu = mu ?? Infinity;
  }

  choose(name, set) {
    const bicycle = this.data.bicycles[set];
    this.ride = this.data.rides[name];
    this.set = set;
    this.simulator = this.data.simulators[bicycle.kind];
    this.parameters = { ...bicycle.parameters };
    for (const [key, value] of Object.entries(this.ride.parameters)) if (key in this.parameters) this.parameters[key] = value;
    this.pace = this.ride.preset.pace;
    this.mu = Infinity;
    this.describe();
    this.reset();
  }

  describe() {
    this.scene = sceneOf(this.ride, this.data, this.set, this.parameters);
    this.told({ scene: this.scene });
  }

  reset() {
    this.enter(this.parameters, this.ride.start);
    this.count = this.owed = 0;
    this.clock = null;
    this.status = RIDING;
  }

  // Put a machine with parameters into the state that is asked for.
  enter(parameters, asked) {
    const { create, initial, frame, names } = this.simulator;
    const values = Float64Array.from(names.parameters, (name) => parameters[name]);
    const known = Object.entries(asked).filter(([name]) => !name.endsWith("_rate") || [...names.outputs, ...names.joints].includes(name.slice(0, -5)));
    this.machine = create(values, initial(values, Object.fromEntries(known)));
    this.turn = frame(values).turn;
  }

  // Ride on with other parameters, at the same place, speed, lean and steer; what cannot be is refused.
  change(changes) {
    const parameters = { ...this.parameters, ...changes }, { state } = this.machine;
    const commands = state.slice(state.length - this.scene.controls.length + 1);
    try {
      this.enter(parameters, this.present());
    } catch (error) {
      this.told({ refused: `${error.message}; the bicycle rides on as it was.` });
      return;
    }
    this.machine.state.set(commands, state.length - commands.length);
    this.parameters = parameters;
    this.clock = null;
    this.describe();
  }

  // What stays as it is.
  present() {
    const seen = this.simulator.observe(this.machine, this.time), { names } = this.simulator, { state } = this.machine;
    const output = (values, name) => values[names.outputs.indexOf(name)], asked = { x: seen.position[0], y: seen.position[1] };
    for (const name of ["yaw", "lean", "forward_speed"]) asked[name] = output(seen.outputs, name);
    asked.lean_rate = output(seen.output_rates, "lean");
    names.joints.forEach((name, k) => {
      asked[name] = state[7 + k];
      if (!name.endsWith("_wheel")) asked[`${name}_rate`] = seen.v[seen.v.length - names.joints.length + k];
    });
    return asked;
  }

  get time() { return this.count / this.scene.rate; }

  // Step to now under commands, and show what is then.
  ask([push, ...commands]) {
    const { machine } = this, { state } = machine;
    state.set(commands, state.length - commands.length);
    machine.own.x[1 + state.length + this.scene.inputs.indexOf("push.y")] = push;
    for (let left = this.due(); left > 0 && this.status === RIDING; left--) this.step();
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

  step() {
    const wrong = this.simulator.step(this.machine, this.time, 1 / this.scene.rate);
    this.count++;
    if (wrong) this.status = STOPPED;
  }

  frame() {
    const seen = this.simulator.observe(this.machine, this.time), { state } = this.machine;
    const joints = this.scene.joints.length, r = state.subarray(7, 7 + joints);
    this.judge(seen, r);
    const rider = state.subarray(state.length - this.scene.controls.length);
    return Float64Array.from([
      this.time, this.status, ...unturned(state.subarray(0, 4), this.turn), ...seen.position, ...r, ...seen.outputs,
      ...seen.output_rates, ...seen.forces_world, ...seen.forces, ...seen.points, ...seen.gaps, ...seen.kinetic, ...seen.potential,
      ...seen.inputs, ...rider,
    ]);
  }

  judge(seen, r) {
    if (this.status !== RIDING) return;
    const names = Object.keys(this.scene.outputs), output = (name) => Math.abs(seen.outputs[names.indexOf(name)]);
    if (output("lean") > LIMITS.lean) this.status = FELL;
    else if (Math.abs(r[this.scene.joints.indexOf("steer")]) > LIMITS.steer) this.status = FLIPPED;
    else if (output("pitch") > LIMITS.pitch) this.status = TURNED_OVER;
    else this.load(seen.forces);
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

// The drawing's orientation for that of the inner base frame: q times the inverse of its turn.
function unturned([a, b, c, d], [w, x, y, z]) {
  return [a * w + b * x + c * y + d * z, b * w - a * x - c * z + d * y, c * w - a * y - d * x + b * z, d * w - a * z - b * y + c * x];
}
