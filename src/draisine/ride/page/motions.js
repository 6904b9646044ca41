// The motion of a bicycle, by the simulators that came with the page: on smooth ground, where contacts are ideal, and
// on terrain, where wheels lift off, slide and collide.
import { add, rotation, turn } from "./vectors.js";

// The state for values that are asked for, by a simulator on smooth ground.
function entered({ create, initial, names }, parameters, asked) {
  const values = Float64Array.from(names.parameters, (name) => parameters[name]);
  const known = Object.entries(asked).filter(([name]) => !name.endsWith("_rate") || [...names.outputs, ...names.joints].includes(name.slice(0, -5)));
  return { values, machine: create(values, initial(values, Object.fromEntries(known))) };
}

export class SmoothMotion {
  constructor(simulator) { this.simulator = simulator; }

  // Put a machine with parameters into the state that is asked for.
  enter(parameters, asked) {
    const { values, machine } = entered(this.simulator, parameters, asked);
    this.machine = machine;
    this.turn = this.simulator.frame(values).turn;
  }

  // Go on with other parameters; the last states, which are commands, are kept.
  change(parameters, kept) {
    const { state } = this.machine, commands = state.slice(state.length - kept);
    this.enter(parameters, this.present());
    this.machine.state.set(commands, state.length - kept);
  }

  // What stays as it is.
  present() {
    const seen = this.simulator.observe(this.machine, 0), { names } = this.simulator, { state } = this.machine;
    const output = (values, name) => values[names.outputs.indexOf(name)], asked = { x: seen.position[0], y: seen.position[1] };
    for (const name of ["yaw", "lean", "forward_speed"]) asked[name] = output(seen.outputs, name);
    asked.lean_rate = output(seen.output_rates, "lean");
    names.joints.forEach((name, k) => {
      asked[name] = state[7 + k];
      if (!name.endsWith("_wheel")) asked[`${name}_rate`] = seen.v[seen.v.length - names.joints.length + k];
    });
    return asked;
  }

  command(push, commands, { inputs }) {
    const { own, state } = this.machine;
    state.set(commands, state.length - commands.length);
    own.x[1 + state.length + inputs.indexOf("push.y")] = push;
  }

  // Take steps after a number of steps; return their number, and whether it cannot go on.
  advance(count, steps, rate) {
    for (const end = count + steps; count < end; count++) {
      if (this.simulator.step(this.machine, count / rate, 1 / rate)) return { count: count + 1, wrong: true };
    }
    return { count, wrong: false };
  }

  observe(time, states) {
    const { state } = this.machine, seen = this.simulator.observe(this.machine, time), joints = this.simulator.names.joints.length;
    return { ...seen, q: unturned(state.subarray(0, 4), this.turn), r: state.subarray(7, 7 + joints), rider: state.subarray(state.length - states) };
  }
}

export class TerrainMotion {
  constructor(engine, simulator, { terrain, place }) {
    this.engine = engine;
    this.simulator = simulator;
    this.terrain = terrain;
    this.place = place;
  }

  // Put a machine with parameters on the terrain, with the speeds that it has on smooth ground.
  enter(parameters, asked, mu) {
    const { place } = this, R = rotation(place.q), { names } = this.engine;
    // The forward speed is that over the map: along a slope it is larger.
    const aslope = { ...asked, forward_speed: asked.forward_speed / R[0][0] };
    const { values, machine } = entered(this.simulator, parameters, aslope);
    const seen = this.simulator.observe(machine, 0), { state } = machine, joints = this.simulator.names.joints.length;
    const q = unturned(state.subarray(0, 4), this.simulator.frame(values).turn), y = new Float64Array(names.states.length);
    // The wheel centre keeps its place, whatever the radius: the contact point moves along the ground.
    const along = ((place.radius - parameters.rR) * R[0][2]) / R[0][0];
    const at = add(place.p, turn(R, add(seen.position, [along, 0, 0])));
    y.set([...product(place.q, q), ...at, ...state.subarray(7, 7 + joints), ...seen.v]);
    this.setting = { values, mu };
    this.inputs = new Float64Array(names.inputs.length);
    this.earlier = [];
    this.run = null;
    this.begin(false, 0, y);
  }

  // Start anew: a wheel may be in the air, where other lengths fit no contact.
  change(parameters, kept, asked, mu) { this.enter(parameters, asked, mu); }

  // A rider who holds the bar at an angle has other equations of motion than one who pushes it.
  begin(byAngle, time, y) {
    const { values, mu } = this.setting, run = this.engine.create(this.terrain + (byAngle ? "+angle" : ""), values, mu);
    if (this.run) this.earlier.push(...this.run.events);
    this.engine.begin(run, time, y, this.inputs);
    this.run = run;
    this.byAngle = byAngle;
  }

  // The events of the ride, without its start and the changes of inputs.
  get events() {
    return [...this.earlier, ...this.run.events].filter(({ kind }) => !["start", "input"].includes(kind));
  }

  command(push, commands, { inputs, controls }) {
    const { engine, run } = this, y = engine.state(run), first = y.length - commands.length, at = inputs.indexOf("push.y");
    const same = this.inputs[at] === push && commands.every((value, k) => value === y[first + k]);
    const byAngle = Boolean(commands[controls.indexOf("by_angle") - 1]);
    if (same && byAngle === this.byAngle) return;
    this.inputs[at] = push;
    y.set(commands, first);
    if (byAngle === this.byAngle) engine.change(run, y, this.inputs);
    else this.begin(byAngle, engine.time(run), y);
  }

  advance(count, steps, rate) {
    const wrong = this.engine.advance(this.run, (count + steps) / rate) !== this.engine.REACHED;
    return { count: wrong ? Math.floor(this.engine.time(this.run) * rate) : count + steps, wrong };
  }

  observe(time, states) {
    // A change of the inputs may open a contact before the next step.
    this.engine.advance(this.run, this.engine.time(this.run));
    const y = this.engine.state(this.run), joints = this.simulator.names.joints.length;
    return { ...this.engine.observe(this.run), q: y.subarray(0, 4), r: y.subarray(7, 7 + joints), rider: y.subarray(y.length - states) };
  }
}

// The product of quaternions, scalar first.
function product([a, b, c, d], [w, x, y, z]) {
  return [a * w - b * x - c * y - d * z, a * x + b * w + c * z - d * y, a * y - b * z + c * w + d * x, a * z + b * y - c * x + d * w];
}

// The drawing's orientation for that of the inner base frame: q times the inverse of its turn.
const unturned = (q, [w, x, y, z]) => product(q, [w, -x, -y, -z]);
