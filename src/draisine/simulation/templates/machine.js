// @{n}: one mode of the machine, written by draisine.
//   const machine = create(); step(machine, t, h); observe(machine, t); simulate(machine, t0, t1, steps)
// The state is y = (q, p, r, u, z) with the pose of the inner base frame; observe tells the rest, and
// initial(parameters, { lean: 0.1, forward_speed: 5 }) gives a state to begin with.

// What the numbers are called; speeds are those of u.
export const names = @{names};
@{arrays}

// Where observe finds what.
export const observed = {
@{observed}
};

@{helpers}
@{programs}
@{take_steps}
// A machine with parameters, in a state, under inputs.
export function create(parameters = nominal, y = start, inputs = given) {
  const own = {
@{memory}
  };
@{prologues}
  own.x.set(y, 1);
  own.x.set(inputs, 1 + y.length);
  own.headings.fill(NaN);
  const workspace = (keep) => ({
@{fields}
  });
  return { own, state: own.x.subarray(1, 1 + y.length), once: workspace(0), all: workspace(1) };
}

// Quaternion and origin of the inner base frame in the drawing.
export function frame(parameters = nominal) {
  const table = new Float64Array(@{frame_table}), out = new Float64Array(12);
  @{n}_frame.prologue(parameters, table);
  @{n}_frame.call(new Float64Array(@{frame_inputs}), table, out);
  return { turn: quaternionOf(out), origin: out.subarray(9) };
}

// What can be seen of the present state, by name.
export function observe(machine, t) {
  const out = new Float64Array(@{size});
  machine.own.x[0] = t;
  @{n}_observe.call(machine.own.x, machine.own.observe_table, out);
  return Object.fromEntries(
    Object.entries(observed).map(([name, [from, to]]) => [name, out.subarray(from, to)]),
  );
}

