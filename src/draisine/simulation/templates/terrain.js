// @{n}: a machine on its ground, with contacts that open, close, slide and collide; written by draisine.
//   const machine = create();
//   const { samples, events, status } = simulate(machine, 1.5);
// All quantities are in SI units and rad. Parameters and ground are those of the export. The state is
// quaternion (scalar first) and position of the drawing's frame, joints, speeds, memory.

// The names of all entries.
export const names = @{names};
@{arrays}
export const from = @{from}, until = @{until}, dt = @{dt};

// Where observe finds each quantity.
export const observed = {
@{observed}
};

@{helpers}
@{programs}
const programs = [
@{addresses}
];

@{routines}
@{memory}
const kinds = @{kinds};

// Results of advance: the call is to be repeated, the time is reached, the machine has fallen.
export const MORE = 0, REACHED = @{reached}, FELL = @{fell};

// Why a run ended, by the result of advance.
export const reasons = @{reasons};

// A machine at a time in a state, under inputs. Throws if too much of the ground is near the wheels.
export function create(y = start, inputs = given, t = from) {
  const run = allocate(), machine = { run };
  if (!beginRun(run, t, Float64Array.from(y), Float64Array.from(inputs))) {
    throw new Error("too much of the ground is near the wheels");
  }
  return machine;
}

// Change the inputs at the present time.
export function setInputs(machine, inputs) {
  changeInputs(machine.run, Float64Array.from(inputs));
}

// Advance towards a time. Return REACHED at that time, MORE if the call is to be repeated, or another number
// if the run has ended before. The samples and events of a call are valid until the next.
export function advance(machine, time) {
  const status = advanceRun(machine.run, time);
  return status === @{log_full} ? MORE : status;
}

// Let advance return after each event, at its time.
export function stopAtEvents(machine, stop = true) {
  machine.run.schedule.stops_at_events = stop;
}

// Whether a wheel, by its name, touches the ground.
export const touches = (machine, wheel) => isTouching(machine.run, names.contacts.indexOf(wheel));

// Present time and state.
export const time = (machine) => machine.run.loop.arc.clock.time;
export const state = (machine) => machine.run.loop.arc.stages.y.slice(0, start.length);

// Samples of the last call: times, and one state each.
export function samples(machine) {
  const { arc } = machine.run.loop, n = start.length;
  return Array.from({ length: arc.clock.samples }, (_, k) => (
    { time: arc.times[k], state: arc.samples.slice(k * n, (k + 1) * n) }
  ));
}

// Events of the last call.
export function events(machine) {
  const { loop, described } = machine.run, { log } = loop, n = start.length;
  const stateAt = ({ at, stride }, k) => at.slice(k * stride, k * stride + n);
  return Array.from({ length: loop.progress.events }, (_, k) => {
    const [kind, wheel, feature, side] = described.at.subarray(k * described.stride);
    const event = {
      time: log.time[k], kind: kinds[kind], contact: "", feature: "",
      energyBefore: log.energy[k], energyAfter: log.energy_after[k],
      before: stateAt(log.y, k), after: stateAt(log.y_after, k),
    };
    if (wheel >= 0) {
      event.contact = names.contacts[wheel];
      event.feature = feature < 0 ? names.attached[-1 - feature] : names.features[feature];
      event.feature += side > 0 ? "+" : side < 0 ? "-" : "";
    }
    return event;
  });
}

// Number of events of earlier calls that the last call withdrew, the latest ones: time steps, which begin with
// the first event of the last call, replace them. They also replace later samples of earlier calls.
export const withdrawn = (machine) => machine.run.schedule.withdrawn;

// Advance to a time; return all samples and events, and why it ended.
export function simulate(machine, end = until) {
  const result = { samples: [], events: [], status: MORE };
  while (result.status === MORE) {
    result.status = advance(machine, end);
    const count = withdrawn(machine), latest = events(machine);
    if (count > 0) {
      result.events.splice(-count);
      while (result.samples.length > 0 && result.samples.at(-1).time > latest[0].time) result.samples.pop();
    }
    result.samples.push(...samples(machine));
    result.events.push(...latest);
  }
  return result;
}

// The outputs of a state, by name; rates of outputs, which need accelerations, are undefined.
export function observe(machine, t = time(machine), y = state(machine)) {
  observeState(machine.run, t, y);
  const out = machine.run.loop.observed.slice();
  return Object.fromEntries(
    Object.entries(observed).map(([name, [first, last]]) => [name, out.subarray(first, last)]),
  );
}
