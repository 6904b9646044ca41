// @{n}: several runs of a machine, each on its ground, with parameters that may be changed; written by draisine.
//   const run = create("@{first}", parameters, mu);
//   begin(run, 0, y, inputs);
//   advance(run, 0.5);
// All quantities are in SI units and rad. The state is quaternion (scalar first) and position of the drawing's
// frame, joints, speeds, memory.

// The names of all entries.
export const names = @{names};

// Where observe finds each quantity of a machine without ground.
const observed = {
@{observed}
};

@{helpers}
@{programs}
const programs = [
@{addresses}
];
const prologues = new Map([
@{prologues}
]);

@{routines}
@{memories}
const kinds = @{kinds};

// Results of advance: the time is reached, the machine has fallen. Other numbers end a run as well.
export const REACHED = @{reached}, FELL = @{fell};

// Why a run ended, by the result of advance.
export const reasons = @{reasons};

// The runs: its memory, its inputs and joints whose torque it computes, the model of impacts without and with
// friction, and the wheel radii of its memory.
const runs = {
@{runs}
};

// A run by its name, for a machine with parameters; mu is the friction coefficient of all wheels. Tolerances are
// those of the machine that was exported, lengths of wheels are in its parameters `radii`. The run lists its events.
export function create(name, parameters, mu = Infinity) {
  const { allocate, guided, models, radii } = runs[name], all = allocate(), { loop } = all.run, { ground, arc: { mode } } = loop;
  const fill = (program, table) => prologues.get(program)(parameters, table);
  const fillPairs = ({ row_programs, gap_programs, row_tables, gap_tables }, tables) => {
    const fillPair = (program, table) => { if (program > 0) fill(programs[program], tables.subarray(table)); };
    row_programs.forEach((program, k) => fillPair(program, row_tables[k]));
    gap_programs.forEach((program, k) => fillPair(program, gap_tables[k]));
  };
  fill(mode.motion.call, mode.motion.table);
  fill(loop.observe, loop.table);
  fillPairs(ground.columns, mode.contacts.tables);
  fillPairs(loop.arc.wheels, loop.arc.wheels.tables);
  for (let k = 0; k + 1 < mode.modes[0]; k++) {
    const [program, table] = mode.modes.subarray(1 + k * @{signature} + @{form});
    fill(programs[program], mode.tables.subarray(table));
  }
  radii.forEach(([number, radius], wheel) => scaleWheel(all, wheel, parameters[number] / radius));
  ground.mu.at.fill(mu);
  loop.model = models[Number.isFinite(mu) ? 1 : 0];
  return { all, guided, events: [] };
}

// Lengths of a wheel in the tables of the search for contacts.
function scaleWheel({ run: { loop: { arc, ground } } }, wheel, ratio) {
  for (const columns of new Set([ground.columns, arc.wheels])) {
    columns.wheels.forEach((owner, k) => {
      if (owner === wheel) for (const name of ["reach", "radius", "bend"]) columns[name][k] *= ratio;
    });
  }
  ground.reach[wheel] *= ratio;
}

// Begin at a time in a state under inputs. Throws if too much of the ground is near the wheels.
export function begin(run, t, y, inputs) {
  if (!beginRun(run.all.run, t, y, inputs)) throw new Error("too much of the ground is near the wheels");
  advance(run, t);
}

// Continue from a state that was changed, under other inputs.
export function change(run, y, inputs) {
  run.all.run.loop.arc.stages.y.set(y);
  run.all.run.stepping.steps.y.set(y);
  changeInputs(run.all.run, inputs);
}

// Advance to a time and add the events to those of the run. Return REACHED, or why the run ended before.
export function advance(run, time) {
  const { all, events } = run;
  for (;;) {
    const status = advanceRun(all.run, time), count = all.run.schedule.withdrawn;
    // Time steps replace the latest arcs, with their events.
    events.splice(events.length - count, count, ...latestEvents(all.run));
    if (status !== @{paused} && status !== @{log_full}) return status;
  }
}

function latestEvents({ loop, described }) {
  return Array.from({ length: loop.progress.events }, (_, k) => {
    const [kind, wheel] = described.at.subarray(k * described.stride);
    return { time: loop.log.time[k], kind: kinds[kind], contact: wheel < 0 ? "" : names.contacts[wheel] };
  });
}

// Present time and state.
export const time = (run) => run.all.run.loop.arc.clock.time;
export const state = (run) => run.all.run.loop.arc.stages.y.slice(0, names.states.length);

// What is at the present state, by name, as the simulator without terrain names it.
export function observe(run) {
  observeContacts(run.all);
  const { run: { loop }, samples, held } = run.all, out = loop.observed.slice(), size = 3 * samples.wheels;
  const seen = Object.fromEntries(Object.entries(observed).map(([name, [first, last]]) => [name, out.subarray(first, last)]));
  run.guided.forEach((input, k) => { seen.inputs[input] += held[k]; });
  return {
    ...seen, forces: samples.forces.slice(0, size), forces_world: samples.world.slice(0, size),
    gaps: samples.gaps.slice(0, samples.wheels), points: samples.points.slice(0, size),
  };
}
