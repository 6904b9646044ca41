"""Laws that every combination of options must satisfy: DESIGN, section 6.

Each law takes a combination, runs it in two ways that must agree and returns the deviation with the
bound that it must respect. It raises `NotApplicableError` if the combination has nothing that the law
could be about, and the package's own errors if the package refuses the combination.
"""

import json
import random
import shutil
import subprocess
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import cumulative_simpson

import draisine
from combine.machines import Combination, Feedback, InPython, compiled
from combine.records import (
    Column,
    Record,
    Units,
    by_name,
    common_samples,
    deviation,
    mirror_record,
    mirror_state,
    mirrored,
    record,
    reorder_state,
    reordered,
    same_sign,
    turn_record,
    turn_state,
    unfolded,
)
from draisine import Numerics
from draisine.algebra.lie import rot_z
from draisine.codegen.program import run_program as run_program
from draisine.errors import DraisineError, ModelError
from draisine.mechanics.applied import element_forces
from draisine.mechanics.base import base_rotation, is_free
from draisine.mechanics.formulations import projected
from draisine.mechanics.tree import Tree, assemble
from draisine.model.names import label_units
from draisine.simulation.compare.compliant import Compliant, KelvinVoigt
from draisine.simulation.contact.arc import SteppedArc
from draisine.simulation.contact.standalone.source import write_terrain_simulator
from draisine.simulation.source import write_simulator
from draisine.system.tracing import make_readings
from draisine.terrain import Terrain, face, height_field, kerb, move_ground, plane
from draisine.terrain.motions import Shake

ROUND_OFF = 1e-9
"""Relative; a few hundred steps of a motion that grows by e^5 leave 1e-12, forces of stiff or redundant
rows some hundred times more."""

TOLERANCE = 1e-7
"""Relative; adaptive runs at rtol = 1e-10 that take other steps."""

EVENTS = 1e-6
"""Relative; impacts multiply errors of the state before them."""


@dataclass(frozen=True)
class Deviation:
    """How far two ways to the same result are apart, relative to the result."""

    value: float
    bound: float
    where: str = ""

    @property
    def holds(self) -> bool:
        return self.value <= self.bound

    def __str__(self) -> str:
        return f"deviation {self.value:.3g} (bound {self.bound:.3g}) of {self.where}"


class NotApplicableError(Exception):
    """A law says nothing about a combination."""


def simulate(c: Combination, **changes: Any) -> Any:
    """Return the run of a combination; what is given replaces its own arguments."""
    given = {
        "system": c.system,
        "state": None,
        "until": c.until,
        "law": c.control,
        "inputs": c.inputs,
        "numerics": c.numerics(),
        "contact": draisine.ContactOptions(fall=np.inf),
    } | changes
    state = c.state if given["state"] is None else given["state"]
    positional = (given.pop("system"), state, given.pop("until"))
    del given["state"]
    return draisine.simulate(*positional, **given)


def compare(reference: Record, found: Record, bound: float) -> Deviation:
    """Return how far two records are apart. At events loads vanish, and ratios to them are not compared:
    these runs have the bound `EVENTS`.
    """
    if bound == EVENTS:
        reference = {n: x for n, x in reference.items() if not n.startswith("friction_needed")}
        reference, found = common_samples(reference, found)
    return Deviation(*_named(deviation(reference, same_sign(reference, found)), bound))


def _named(found: tuple[float, str], bound: float) -> tuple[float, float, str]:
    return found[0], bound, found[1]


def bound_of(c: Combination) -> float:
    """Return what two runs of a combination with equal or adaptive steps may differ by."""
    return TOLERANCE if c.integrator == "dop853" else ROUND_OFF


# --- units

SCALES = {"mass": range(-20, 21), "length": range(-6, 7), "time": range(-5, 6)}
"""Powers of two: they change no digit of a number, so that equal steps give equal digits."""


def units(c: Combination) -> Deviation:
    """Other units of mass, length and time change nothing but the numbers."""
    machine, model = c.machine, c.system.model
    if machine.has("tyres", "magic", "sprung"):
        raise NotApplicableError("the Magic Formula is fitted in kN and degrees")
    if c.law.startswith("random") or machine.recipe.fixed:
        raise NotApplicableError("it holds numbers that are no parameters")
    if isinstance(c.drift, float):
        raise NotApplicableError("the correction (2.41) of the thesis adds gaps in m and rad")
    rng = random.Random(f"units {c}")
    power = {name: rng.choice(powers) for name, powers in SCALES.items()}
    timed = machine.has("rider", "leaning", "legs") or machine.has("steering")
    if timed or machine.has("flexible", "friction"):
        power["time"] = 0  # motions and dry friction hold times that are no parameters
    if machine.has("motors") or machine.has("stops"):
        raise NotApplicableError("limits of motors and stops are no parameters")
    if machine.vehicle == "trolley":
        power["time"] = power["length"] = 0  # smoothing speeds of drag and rolling resistance
    bound = ROUND_OFF
    if any(wheel.tyre is not None for wheel in model.wheels):
        power["length"] = power["time"]  # the smoothing speed of tyres that roll back and forth
        bound = TOLERANCE
    if np.any(model.gravity) and "g" not in c.system.parameters:
        if power["length"] == power["time"]:
            power["time"] = 0
        power["length"] = 2 * power["time"]  # the acceleration of gravity is no parameter
    if machine.vehicle in ("car_with_trailers", "road_train"):
        power["time"] = power["length"] = 0  # its lengths decide its structure
    new = Units(**{name: 2.0**x for name, x in power.items()})
    meanings = c.system.meanings
    scaled = c.system.with_parameters(
        **{name: new.factor(meanings[name][0]) * x for name, x in c.system.parameters.items()}
    )
    efforts = label_units(model, "inputs")
    own = c.numerics()
    if c.integrator == "dop853":
        own = replace(own, atol=1e-200)  # the absolute tolerance has the units of the state
    found = simulate(
        c,
        system=scaled,
        state=new.state(c.state, model),
        until=new.time * c.until,
        law=_scaled_law(c, new),
        inputs={name: new.factor(efforts[name]) * x for name, x in c.inputs.items()},
        numerics=replace(own, dt=new.time * own.dt),
    )
    reference = new.record(record(simulate(c, numerics=own)))
    skipped = ("control_state",)
    reference = {n: x for n, x in reference.items() if not n.startswith(skipped)}
    return compare(reference, record(found), bound)


def _scaled_law(c: Combination, new: Units) -> Any:
    """Return a control law whose gains are in other units."""
    law = c.control
    if law is None:
        return None
    joint = next(j for j in c.system.model.joints if j.name == law.joint)
    effort = "rad/s2" if law.guided else joint.effort
    known = {j.name: j.unit for j in c.system.model.joints}
    angle = known.get(law.angle, "rad")
    if law.guided and joint.unit == "m":
        effort = "m/s2"
    per_angle = new.factor(effort) / new.factor(angle)
    return replace(
        law,
        gain=per_angle * law.gain,
        damping=per_angle * new.time * law.damping,
        memory=per_angle / new.time * law.memory,
    )


# --- frames


def turn(c: Combination) -> Deviation:
    """Another place and heading of the world change nothing but place and heading."""
    model = c.system.model
    if model.base not in ("SE(3)", "SE(2)") or model.ground is not None:
        raise NotApplicableError("its base cannot be turned and moved")
    rng = random.Random(f"turn {c}")
    level = not np.any(model.gravity[:2])
    if c.law.startswith("random") or (c.machine.recipe.angle == "yaw" and c.law != "none"):
        raise NotApplicableError("its law may keep a heading")
    angle = rng.uniform(-3.0, 3.0) if level and not c.driven else 0.0
    way = np.array([rng.uniform(-5.0, 5.0), rng.uniform(-5.0, 5.0), 0.0])
    reference = turn_record(record(simulate(c)), angle, way)
    found = record(simulate(c, state=turn_state(c.state, angle, way)))
    for columns in (reference, found):  # on a slope the energy of weight counts from the origin
        for name in ("potential_energy", "energy"):
            whole = columns[name].values
            columns[name] = Column("J", whole - whole[0])
    return compare(reference, found, bound_of(c))


def mirror(c: Combination) -> Deviation:
    """The mirror image of a machine runs as the mirror image of its run."""
    model = c.system.model
    if model.base not in ("SE(3)", "SE(2)") or model.ground is not None:
        raise NotApplicableError("its base cannot be mirrored")
    if c.law.startswith("random"):
        raise NotApplicableError("its law has no mirror image")
    other = compiled(c.machine, mirrored)
    law = c.control
    if isinstance(law, Feedback) and law.angle in ("lean", "yaw"):
        law = replace(law, gain=-law.gain, damping=-law.damping, memory=-law.memory)
    inputs = {name: -x if name.endswith(".y") else x for name, x in c.inputs.items()}
    reference = mirror_record(record(simulate(c)), model)
    found = simulate(c, system=other, state=mirror_state(c.state, model), law=law, inputs=inputs)
    skipped = ("control_state", "motion_torque")
    reference = {n: x for n, x in reference.items() if not n.startswith(skipped)}
    return compare(reference, record(found), bound_of(c))


def reorder(c: Combination) -> Deviation:
    """The order of bodies, joints, contacts and forces in a drawing does not matter."""
    other = compiled(c.machine, reordered)
    state = reorder_state(c.state, c.system.model, other.model)
    return compare(record(simulate(c)), record(simulate(c, system=other, state=state)), bound_of(c))


def start_time(c: Combination) -> Deviation:
    """A run that begins later is the same run, if nothing in the machine depends on the time."""
    model = c.system.model
    moving = any(joint.motion is not None for joint in model.joints) or model.ground is not None
    if moving or c.law.startswith("random"):
        raise NotApplicableError("its motions or its law depend on the time")
    later = 4.0
    found = record(simulate(c, until=later + c.until, numerics=c.numerics(start=later)))
    found["time"] = Column("s", found["time"].values - later)
    return compare(record(simulate(c)), found, bound_of(c))


# --- representation


def unfold(c: Combination) -> Deviation:
    """Wheels that are bodies of their own move as folded ones."""
    other = compiled(c.machine, unfolded)
    reference = record(simulate(c))
    found = record(simulate(c, system=other))
    return compare(reference, by_name(found, reference), bound_of(c))


def change_parameters(c: Combination) -> Deviation:
    """A machine compiled with some parameters is the machine that gets them afterwards."""
    rng = random.Random(f"parameters {c}")
    known = sorted(name for name, x in c.system.parameters.items() if x)
    chosen = rng.sample(known, min(4, len(known)))
    changes = {name: rng.uniform(0.95, 1.05) * c.system.parameters[name] for name in chosen}
    later = c.system.with_parameters(**changes)
    given = dict(c.machine.arguments)
    first = draisine.compile(c.machine.draw, **(given | changes))
    states = [draisine.state(system, **c.start_values) for system in (first, later)]
    runs = [
        record(simulate(c, system=system, state=state))
        for system, state in zip((first, later), states, strict=True)
    ]
    return compare(*runs, bound_of(c))


def formulations(c: Combination) -> Deviation:
    """All formulations give the accelerations of the closed form."""
    run = simulate(c)
    end = run.final()
    state = draisine.State(end.q, end.p, end.r, end.v)
    system, t = c.system, float(run.t[-1])
    if system.model.memory:
        system.accelerate(
            state, t=t, formulation="absolute"
        )  # refused: it does not support force elements
        raise NotApplicableError("its force elements have states")
    inputs = dict(zip(system.model.inputs, run.observations["inputs"][:, -1], strict=True))
    if c.law == "guided":
        raise NotApplicableError("its law guides a joint")
    reference, _ = system.accelerate(state, inputs, t=t, formulation="projected", tolerance=LOOSE)
    worst = Deviation(0.0, ROUND_OFF, "accelerations")
    for name in ("multiplier", "absolute", "planar", "partitioned"):
        try:
            vdot, _ = system.accelerate(state, inputs, t=t, formulation=name, tolerance=LOOSE)
        except ModelError:
            if name == "absolute" and worst.holds:
                raise  # no independent formulation knows this machine
            continue
        away = float(np.abs(vdot - reference).max() / max(np.abs(reference).max(), 1.0))
        if not away <= worst.value:
            worst = Deviation(away, ROUND_OFF, f"accelerations by {name!r}")
    return worst


LOOSE = 1e-6
"""How far the end of a run may break the constraints: without projection it drifts."""


def traced(c: Combination) -> Deviation:
    """A control law that is compiled does what it does in Python."""
    if c.control is None or c.law == "python":
        raise NotApplicableError("it has no law that could be compiled")
    if c.law == "guided":
        raise NotApplicableError("laws that guide joints are always compiled")
    reference = record(simulate(c))
    found = record(simulate(c, law=InPython(c.control)))
    return compare(reference, found, bound_of(c))


def lanes(c: Combination) -> Deviation:
    """Many machines at once end as each of them alone."""
    numerics = c.numerics(integrator="rk4", drift="project", threads=1)
    others = [replace(c, seed=c.seed + k) for k in range(3)]
    starts = [one.state for one in others]
    end = draisine.simulate_many(
        c.system, starts, c.until, law=c.control, inputs=c.inputs, numerics=numerics
    )
    worst = Deviation(0.0, ROUND_OFF, "")
    for k, (one, start) in enumerate(zip(others, starts, strict=True)):
        single = replace(numerics, threads=None)
        run = simulate(one, state=start, numerics=single)
        seen = run.observations
        for name in ("v", "vdot", "forces", "outputs", "kinetic", "potential"):
            scale = float(np.abs(seen[name][:, -1]).max(initial=0.0)) or 1.0
            away = float(np.abs(end[name][:, k] - seen[name][:, -1]).max(initial=0.0)) / scale
            if not away <= worst.value:
                worst = Deviation(away, ROUND_OFF, name)
    return worst


def interpreted(c: Combination) -> Deviation:
    """Machine code computes what its program does in plain Python."""
    if c.law == "python":
        raise NotApplicableError("its law is no part of a program")
    machine = _machine(c)
    worst = Deviation(0.0, ROUND_OFF, "")
    z = np.linspace(0.01, 0.02, machine.memory)
    y = machine.enter(c.state, z=z)
    given = {**machine.layout.split(y), "t": np.zeros(1), "w": c.system.inputs(c.inputs)}
    for name in ("rate", "observe"):
        code = getattr(machine, name)
        sizes = {key: code.inputs.count(key) for key, _ in code.inputs.items()}
        named = {key: x for key, x in given.items() if key in sizes}
        wanted = run_program(
            machine.programs[name],
            parameters=c.system.values,
            **{key: np.asarray(named.get(key, np.zeros(size))) for key, size in sizes.items()},
        )
        found = code(**named)
        for key, x in wanted.items():
            x = np.asarray(x, float).ravel()
            scale = float(np.abs(x).max(initial=1.0))
            away = float(np.abs(found[key] - x).max(initial=0.0)) / scale
            if not away <= worst.value:
                worst = Deviation(away, ROUND_OFF, f"{name}.{key}")
    return worst


def _machine(c: Combination) -> Any:
    law = c.control
    return c.system.machine(None, law, 0 if law is None else law.states)


def casadi(c: Combination) -> Deviation:
    """CasADi's functions are the machine code's."""
    from draisine.interop.casadi import CasadiMachine

    machine = _machine(c)
    y = machine.enter(c.state, z=np.linspace(0.01, 0.02, machine.memory))
    w = c.system.inputs(c.inputs)
    there = CasadiMachine(machine).rate()(y=y, w=w)["ydot"].full().ravel()
    here = machine.rate(**machine.layout.split(y), w=w)["rate"]
    scale = float(np.abs(here).max()) or 1.0
    return Deviation(float(np.abs(there - here).max()) / scale, ROUND_OFF, "rates")


def c_code(c: Combination) -> Deviation:
    """The simulator in C ends where machine code does."""
    if shutil.which("cc") is None:
        raise NotApplicableError("there is no C compiler")
    end, name, files = _simulator(c, "c")
    steps, size = round(c.until / c.machine.recipe.step), len(end)
    main = C_MAIN.format(n=name, until=c.until, steps=steps)
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, files | {"main.c": main})
        command = ["cc", "-std=c99", "-O0", f"{name}.c", "main.c", "-o", "run", "-lm"]
        subprocess.run(command, cwd=folder, check=True)
        told = subprocess.run(["./run"], cwd=folder, check=True, capture_output=True, text=True)
    found = np.array(told.stdout.split(), float)
    return Deviation(_apart(found[:size], end), ROUND_OFF, "the state")


def javascript(c: Combination) -> Deviation:
    """The simulator in JavaScript ends where machine code does."""
    if shutil.which("node") is None:
        raise NotApplicableError("there is no JavaScript engine")
    end, name, files = _simulator(c, "javascript")
    steps = round(c.until / c.machine.recipe.step)
    page = JAVASCRIPT_MAIN.format(n=name, until=c.until, steps=steps)
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, files | {"page.js": page, "package.json": '{"type": "module"}'})
        told = subprocess.run(
            ["node", "page.js"], cwd=folder, check=True, capture_output=True, text=True
        )
    return Deviation(_apart(np.array(json.loads(told.stdout)), end), ROUND_OFF, "the state")


C_MAIN = """
#include <stdio.h>
#include "{n}.h"
static {n} machine;
static double samples[({steps} + 1) * {n}_states];
int main(void)
{{
    int64_t done;
    {n}_begin(&machine, {n}_nominal, {n}_start, {n}_given);
    const int status = {n}_simulate(&machine, 0.0, {until!r}, {steps}, samples, &done);
    for (int k = 0; k < {n}_states; ++k) printf("%.17g\\n", samples[done * {n}_states + k]);
    return status;
}}
"""

JAVASCRIPT_MAIN = """
import * as simulator from "./{n}.js";
const machine = simulator.create();
const {{ samples }} = simulator.simulate(machine, 0, {until!r}, {steps});
console.log(JSON.stringify(Array.from(samples.slice(-machine.state.length))));
"""


def _simulator(c: Combination, language: str) -> tuple[np.ndarray, str, dict[str, str]]:
    """Return where a run of equal steps ends, and its simulator: name and files."""
    c = replace(c, integrator="rk4", drift="project")
    run = simulate(c)
    if len(run.arcs) > 1:
        raise NotApplicableError("other pivots are needed on its way")
    files = write_simulator(c.system, language, c.state, law=c.control, inputs=c.inputs)
    return run.arcs[0].y[-1], next(iter(files)).partition(".")[0], files


def _write(folder: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        (Path(folder) / name).write_text(text)


def _apart(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the norm-wise difference of two states."""
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def gradient(c: Combination) -> Deviation:
    """Derivatives of a motion by parameters and initial values are those of differences."""
    rng = random.Random(f"gradient {c}")
    known = sorted(name for name, x in c.system.parameters.items() if x)
    if not known or not c.start_values:
        raise NotApplicableError("there is nothing to differentiate by")
    unknowns = [rng.choice(known), rng.choice(sorted(c.start_values))]
    outputs = ["yaw", "lean", *(joint.name for joint in c.system.model.joints)][:6]
    times = np.array([c.until])
    options = {"law": c.control, "inputs": c.inputs}
    found = draisine.gradient(c.system, c.start_values, times, outputs, unknowns, **options)
    worst = Deviation(0.0, GRADIENT, "")
    fine = c.numerics(integrator="dop853", drift="project", dt=c.until, rtol=1e-12, atol=1e-14)
    for k, name in enumerate(unknowns):
        slopes = []
        for h in (2e-4, 1e-4):
            ends = []
            size = h * abs((c.system.parameters | c.start_values)[name])
            for sign in (1.0, -1.0):
                system, start = c.system, dict(c.start_values)
                if k == 0:
                    system = system.with_parameters(**{name: system.parameters[name] + sign * size})
                else:
                    start[name] += sign * size
                state = draisine.state(system, **start)
                run = simulate(c, system=system, state=state, numerics=fine)
                columns = record(run)
                ends.append(np.array([columns[output].values[-1] for output in outputs]))
            slopes.append((ends[0] - ends[1]) / (2.0 * size))
        wanted = (4.0 * slopes[1] - slopes[0]) / 3.0
        scale = float(np.abs(wanted).max()) or 1.0
        away = float(np.abs(found.derivatives[0, :, k] - wanted).max()) / scale
        noise = 1e-11 / (1e-4 * abs((c.system.parameters | c.start_values)[name]) * scale)
        if not away <= max(worst.value, noise):
            worst = Deviation(away, GRADIENT, f"derivative by {name}")
    return worst


GRADIENT = 1e-5
"""Relative; what Richardson's extrapolation of differences leaves."""


def on_terrain(c: Combination) -> Deviation:
    """Wheels that stay on the ground roll on a level terrain as they do without one."""
    if c.law == "guided" and c.machine.has("steering"):
        raise NotApplicableError("its steering is prescribed")
    numerics = c.numerics(
        integrator="dop853", drift="project", dt=c.until / 16, rtol=1e-12, atol=1e-14
    )
    found = record(simulate(c, numerics=numerics, terrain=plane()))
    reference = record(simulate(c, numerics=numerics))
    loads = [x.values.min() for n, x in reference.items() if n.endswith("normal]")]
    if min(loads, default=1.0) <= 0.0:
        raise NotApplicableError("its wheels leave the ground")
    if any(name.startswith("stop_torque") and x.values.any() for name, x in found.items()):
        raise NotApplicableError("a joint reaches its stop, which acts on a terrain only")
    kept = [name for name in reference if not name.startswith("coupling_force")]
    return compare(by_name(reference, kept), by_name(found, kept), TOLERANCE)


def on_smooth_ground(c: Combination) -> Deviation:
    """Smooth ground that happens to be level is a level plane."""
    # Wheels pass borders of cells, but none starts on one, where its first arc would have zero length.
    x, y = np.arange(-4.13, 12.0, 0.37), np.linspace(-31.0, 28.3, 5)
    level = height_field(x, y, np.zeros((len(x), len(y))), smooth=True)
    numerics = c.numerics(integrator="dop853", drift="project", dt=c.until / 16)
    given = {"numerics": numerics, "contact": draisine.ContactOptions(mu=c.mu, fall=np.inf)}
    found = record(simulate(c, terrain=level, **given))
    reference = record(simulate(c, terrain=plane(), **given))
    return compare(reference, found, EVENTS)


def time_stepping(c: Combination) -> Deviation:
    """Time stepping comes near the event-driven run."""
    return _by_solver(c, "time_stepping", 2.0**-10)


def compliant_ground(c: Combination) -> Deviation:
    """On ground that hardly gives way, a machine moves as on rigid ground."""
    model = c.system.model
    weight = 9.81 * sum(float(body.mass) for body in model.bodies)
    ground = Compliant(KelvinVoigt(3e4 * weight, 300.0 * weight), creep=1e-3)
    return _by_solver(c, ground, 2.0**-6, mu=2.0)


def _by_solver(c: Combination, solver: Any, dt: float, mu: float = np.inf) -> Deviation:
    """Return how far another solver of contacts is from the event-driven one after some steps."""
    until = 2.0**-5
    found, exact = (
        simulate(
            c,
            until=until,
            terrain=plane(),
            contact=draisine.ContactOptions(mu=mu, fall=np.inf, solver=solver),
            numerics=Numerics(dt=dt),
        )
        for solver in (solver, "events")
    )
    if not np.isfinite(found.observations["forces"]).all():
        return Deviation(np.inf, FIRST_ORDER, "the contact forces")
    ends = [run.final() for run in (exact, found)]
    apart = [np.abs(getattr(ends[0], n) - getattr(ends[1], n)).max(initial=0.0) for n in "qpr"]
    moved = float(np.abs(ends[0].r - c.state.r).max(initial=1e-3))
    return Deviation(float(max(apart)) / max(moved, 0.1), FIRST_ORDER, "the configuration")


FIRST_ORDER = 0.05
"""Of the way; methods of first order, and ground that gives way a little."""


# --- terrain: a machine that drops onto an inclined plane

DROP, INCLINE = 0.03, 0.1
"""Height of the fall in m, and slope of the ground in rad."""


def dropped(c: Combination) -> tuple[draisine.State, dict[str, Any]]:
    """Return a start above the ground, and what its run needs."""
    model = c.system.model
    if model.base != "SE(3)" or not model.wheels or model.ground is not None:
        simulate(c, terrain=plane(), numerics=Numerics())  # what a terrain cannot carry is refused
        raise NotApplicableError("it has no wheels in space")
    state = c.state
    lowest = INCLINE * 2.0 * max(abs(float(w.centre[0])) + 1.0 for w in model.wheels)
    lifted = draisine.State(state.q, state.p + [0.0, 0.0, DROP + lowest], state.r, state.v)
    numerics = Numerics(dt=1.0 / 32)
    given = {"restitution": {"normal": RESTITUTION}} if c.impact else {}
    contact = draisine.ContactOptions(
        mu=c.mu, fall=np.inf, solver=c.solver, impact=c.impact or None, **given
    )
    return lifted, {
        "until": 0.5,
        "numerics": numerics,
        "terrain": _ground(c.ground),
        "contact": contact,
    }


RESTITUTION = 0.3
"""Coefficient of restitution of the impact models."""


def _ground(name: str) -> Terrain:
    """Return one of the grounds onto which machines drop; their highest point is below the start."""
    if name == "kerb":
        return kerb(0.3, 0.05)
    if name in ("hills", "smooth"):
        x, y = np.arange(-4.13, 8.0, 0.37), np.arange(-4.0, 4.0, 0.41)
        heights = np.random.default_rng(1).uniform(0.0, 0.06, (len(x), len(y)))
        return height_field(x, y, heights, smooth=name == "smooth")
    if name == "shaken":
        return move_ground(_incline(0.0), Shake((0.0, 0.0, 0.005), 40.0))
    return _incline(0.0)


def _incline(angle: float) -> Terrain:
    """Return an inclined plane that rises along a heading."""
    normal = rot_z(angle) @ np.array([-np.sin(INCLINE), 0.0, np.cos(INCLINE)])
    return Terrain([face("ground", normal, 0.0)])


def drop_turned(c: Combination) -> Deviation:
    """A fall onto ground that is turned with the machine is the same fall."""
    state, given = dropped(c)
    if np.any(c.system.model.gravity[:2]):
        raise NotApplicableError("its gravity does not turn with its ground")
    if c.law.startswith("random") or any("." in name for name in c.inputs):
        raise NotApplicableError("its law or its pushes may be fixed in the world")
    if c.ground != "incline":
        raise NotApplicableError("its ground is not turned")
    angle = random.Random(f"drop {c}").uniform(-3.0, 3.0)
    reference = turn_record(record(simulate(c, state=state, **given)), angle, np.zeros(3))
    turned = given | {"terrain": _incline(angle)}
    found = record(simulate(c, state=turn_state(state, angle, np.zeros(3)), **turned))
    return compare(reference, found, EVENTS)


def drop_mirrored(c: Combination) -> Deviation:
    """The mirror image of a machine falls as the mirror image of its fall."""
    state, given = dropped(c)
    model, law = c.system.model, c.control
    if c.law.startswith("random"):
        raise NotApplicableError("its law has no mirror image")
    if c.ground in ("hills", "smooth"):
        raise NotApplicableError("its ground is not mirrored")
    if isinstance(law, Feedback) and law.angle in ("lean", "yaw"):
        law = replace(law, gain=-law.gain, damping=-law.damping, memory=-law.memory)
    inputs = {name: -x if name.endswith(".y") else x for name, x in c.inputs.items()}
    reference = mirror_record(record(simulate(c, state=state, **given)), model)
    found = simulate(
        c,
        system=compiled(c.machine, mirrored),
        state=mirror_state(state, model),
        law=law,
        inputs=inputs,
        **given,
    )
    skipped = ("control_state", "motion_torque")
    reference = {n: x for n, x in reference.items() if not n.startswith(skipped)}
    return compare(reference, record(found), EVENTS)


def drop_sampled(c: Combination) -> Deviation:
    """The spacing of samples does not change a run with impacts."""
    state, given = dropped(c)
    coarse, fine = (
        simulate(c, state=state, **(given | {"numerics": Numerics(dt=dt)}))
        for dt in (1.0 / 8, 1.0 / 32)
    )
    if isinstance(coarse.arcs[-1], SteppedArc):
        # Forces and accelerations of time steps are means since the sample before.
        ends = [run.final() for run in (coarse, fine)]
        away = [np.abs(getattr(ends[0], n) - getattr(ends[1], n)).max(initial=0.0) for n in "qprv"]
        return Deviation(float(max(away)), EVENTS, "the state")
    ends = [_at_the_end(run) for run in (coarse, fine)]
    return compare(*ends, EVENTS)


def slices_on_terrain(c: Combination) -> Deviation:
    """A stepper on level ground that is called in slices ends where one run does."""
    given = {
        "terrain": plane(),
        "contact": draisine.ContactOptions(fall=np.inf),
        "numerics": Numerics(dt=c.until / 32),
    }
    end = simulate(c, **given).final()
    ride = draisine.Stepper(c.system, c.state, law=c.control, inputs=c.inputs, **given)
    for count in (1, 5, 2, 20, 4):
        ride.step(count * c.until / 32)
    away = [np.abs(getattr(ride.state, n) - getattr(end, n)).max(initial=0.0) for n in "qprv"]
    return Deviation(float(max(away)), EVENTS, "the state")


def drop_sliced(c: Combination) -> Deviation:
    """A stepper on a terrain that is called in slices passes through the samples of one run.

    The run is longer: the last time step of a run is shortened to end at its end.
    """
    state, given = dropped(c)
    end = given["until"]
    run = simulate(c, state=state, **(given | {"until": end + given["numerics"].dt}))
    rng = random.Random(f"slices {c}")
    ride = draisine.Stepper(
        c.system,
        state,
        terrain=given["terrain"],
        law=c.control,
        inputs=c.inputs,
        contact=given["contact"],
        numerics=given["numerics"],
    )
    left = 16
    while left:
        count = min(left, rng.randint(1, 5))
        ride.step(count / 32)
        left -= count
    found = ride.state
    arc = next(arc for arc in reversed(run.arcs) if arc.t[0] <= end)
    sample = arc.y[np.flatnonzero(arc.t <= end)[-1]]
    away = [
        np.abs(getattr(found, n) - sample[getattr(arc.machine.layout, n)]).max(initial=0.0)
        for n in "qprv"
    ]
    return Deviation(float(max(away)), EVENTS, "the state")


def drop_many(c: Combination) -> Deviation:
    """Machines that fall together fall as each does alone, to the last bit."""
    state, given = dropped(c)
    until = given.pop("until")
    higher = draisine.State(state.q, state.p + [0.0, 0.0, 0.01], state.r, state.v)
    together = draisine.simulate_many(
        c.system, [state, higher], until, law=c.control, inputs=c.inputs, **given
    )
    worst = 0.0
    for k, start in enumerate((state, higher)):
        end = simulate(c, state=start, until=until, **given).final()
        apart = [np.abs(together[n][:, k] - getattr(end, n)).max(initial=0.0) for n in "qprv"]
        worst = max(worst, *map(float, apart))
    return Deviation(worst, 0.0, "the state")


def drop_in_c(c: Combination) -> Deviation:
    """The exported simulator in C falls as machine code does."""
    if shutil.which("cc") is None:
        raise NotApplicableError("there is no C compiler")
    state, given = dropped(c)
    files = write_terrain_simulator(c.system, "c", state, law=c.control, inputs=c.inputs, **given)
    end = simulate(c, state=state, **given).arcs[-1].y[-1]
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, files)
        name = next(iter(files)).partition(".")[0]
        command = ["cc", "-std=c99", "-O0", f"{name}.c", "main.c", "-o", "run", "-lm"]
        subprocess.run(command, cwd=folder, check=True)
        told = subprocess.run(["./run"], cwd=folder, check=True, capture_output=True, text=True)
    rows = [line for line in told.stdout.splitlines() if line[:1] in "-0123456789"]
    found = np.array(rows[-1].split(","), float)[-len(end) :]
    return Deviation(_apart(found, end), EVENTS, "the state")


def drop_stored(c: Combination) -> Deviation:
    """A fall that is stored and loaded has its values and its attributes."""
    state, given = dropped(c)
    return _stored(simulate(c, state=state, **given).to_xarray())


def drop_energy(c: Combination) -> Deviation:
    """Impacts and impulses of time steps create no energy beyond that of moving ground and of projections."""
    state, given = dropped(c)
    if c.ground == "shaken":
        raise NotApplicableError("moving ground does work")
    run = simulate(c, state=state, **given)
    scale = float(np.abs(run.observations["kinetic"]).max()) + 1e-9
    worst = Deviation(0.0, ENERGY_GAIN, "")
    for event in run.events:
        if event.kind == "collision" and not event.gain / scale <= worst.value:
            worst = Deviation(event.gain / scale, ENERGY_GAIN, f"energy at {event}")
    for steps in run.validity.time_stepped:
        gain = (steps.work - abs(steps.projection_work)) / scale
        if not gain <= worst.value:
            worst = Deviation(gain, ENERGY_GAIN, "work of the contact impulses in time steps")
    return worst


ENERGY_GAIN = 1e-9
"""Of the largest kinetic energy; round-off of impulses."""


def drop_gradient(c: Combination) -> Deviation:
    """Derivatives of a fall by an initial value are those of differences, if no event is one-sided."""
    state, given = dropped(c)
    del state
    if not c.start_values or c.law == "python":
        raise NotApplicableError("there is nothing to differentiate by")
    unknown = sorted(c.start_values)[0]
    lift = DROP + INCLINE * 2.0 * max(abs(float(w.centre[0])) + 1.0 for w in c.system.model.wheels)
    until = given.pop("until")
    outputs = list(c.system.model.speeds[:6])
    numerics = replace(given.pop("numerics"), dt=until)
    if c.solver != "time_stepping":
        numerics = replace(numerics, rtol=1e-12, atol=1e-14)
    options = {"law": c.control, "inputs": c.inputs, "numerics": numerics, **given}
    opened = {contact.name: "open" for contact in c.system.model.contacts}
    start = c.start_values | {"z": lift, "mode": opened}
    found = draisine.gradient(c.system, start, np.array([until]), outputs, [unknown], **options)
    if found.one_sided:
        raise NotApplicableError("its derivative is one-sided")
    slopes = []
    size = abs(start[unknown]) or 1.0
    for h in (2e-5, 1e-5):
        ends = []
        for sign in (1.0, -1.0):
            changed = start | {unknown: start[unknown] + sign * h * size}
            run = draisine.simulate(c.system, draisine.state(c.system, **changed), until, **options)
            ends.append(run.final().v[:6])
        slopes.append((ends[0] - ends[1]) / (2.0 * h * size))
    if np.abs(slopes[1] - slopes[0]).max() > 1e-3 * np.abs(slopes[1]).max():
        raise NotApplicableError("differences do not converge")
    away = np.abs(found.derivatives[0, :, 0] - slopes[1]).max() / max(np.abs(slopes[1]).max(), 1e-6)
    return Deviation(float(away), DROP_GRADIENT, f"derivative by {unknown}")


DROP_GRADIENT = 1e-2
"""Relative; differences across impacts."""


def _at_the_end(run: Any) -> Record:
    """Return the last sample of a run, with the start for its duration."""
    return {
        name: Column(column.unit, column.values[[0, -1]]) for name, column in record(run).items()
    }


# --- sampling


def sample_spacing(c: Combination) -> Deviation:
    """The spacing of samples does not change an adaptive run."""
    coarse, fine = (
        simulate(c, numerics=c.numerics(integrator="dop853", dt=c.until / n)) for n in (4, 32)
    )
    reference = record(coarse)
    found = {name: Column(column.unit, column.values[::8]) for name, column in record(fine).items()}
    return compare(reference, found, TOLERANCE)


def validity_spacing(c: Combination) -> Deviation:
    """The spacing of samples does not change what a run is found to have needed."""
    coarse, fine = (
        simulate(c, numerics=c.numerics(integrator="dop853", dt=c.until / n)).validity
        for n in (1, 256)
    )
    if coarse.breaks.keys() != fine.breaks.keys():
        return Deviation(np.inf, SEEN, f"{list(coarse.breaks)} instead of {list(fine.breaks)}")
    apart = abs(coarse.friction_needed - fine.friction_needed)
    return Deviation(apart / max(fine.friction_needed, 1e-3), SEEN, "the friction needed")


SEEN = 1e-3
"""Relative; between samples the largest value of a smooth function is missed by the second order."""


def slices(c: Combination) -> Deviation:
    """A stepper that is called in slices ends with the bits of one run."""
    numerics = c.numerics()
    ride = draisine.Stepper(c.system, c.state, law=c.control, inputs=c.inputs, numerics=numerics)
    rng, left = random.Random(f"slices {c}"), round(c.until / numerics.dt)
    while left:
        count = min(left, rng.randint(1, 100))
        ride.step(count * numerics.dt)
        left -= count
    end, found = simulate(c).final(), ride.state
    away = [np.abs(getattr(found, n) - getattr(end, n)).max(initial=0.0) for n in "qprv"]
    bound = ROUND_OFF if numerics.integrator != "rk4" else 0.0
    return Deviation(float(max(away)), bound, "the state")


def storage(c: Combination) -> Deviation:
    """A run that is stored and loaded has its values and its attributes."""
    return _stored(simulate(c).to_xarray())


def _stored(data: Any) -> Deviation:
    """Return whether a dataset has its values and its attributes after storing and loading."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.nc"
        draisine.save(data, path)
        loaded = draisine.load(path)
        for name, variable in data.data_vars.items():
            if not np.array_equal(loaded[name].values, variable.values, equal_nan=True):
                return Deviation(np.inf, 0.0, str(name))
            if loaded[name].attrs != variable.attrs:
                return Deviation(np.inf, 0.0, f"the attributes of {name}")
        for name, text in data.attrs.items():
            if loaded.attrs.get(name) != text:
                return Deviation(np.inf, 0.0, f"the attribute {name}")
    return Deviation(0.0, 0.0)


# --- balance


def energy(c: Combination) -> Deviation:
    """Energy changes by the work of inputs, dampers, prescribed joints and force elements.

    The powers are added up from readings in plain Python and integrated by Simpson's rule. On smooth
    motions both agree to the error of that rule.
    """
    if any(body.drag is not None for body in c.system.model.bodies):
        raise NotApplicableError("a fluid takes energy that no force element names")
    if c.system.model.ground is not None:
        raise NotApplicableError("moving ground does work")
    numerics = c.numerics(drift="project")
    if c.integrator == "dop853":
        numerics = replace(numerics, dt=c.until / 256)
    run = simulate(c, numerics=numerics)
    seen, model = run.observations, c.system.model
    power = input_power(run) + damper_power(run) + element_power(c, run)
    for k, joint in enumerate(j for j in model.joints if j.motion is not None):
        rate = seen["v"][model.speeds.index(f"{joint.name}_rate")]
        power = power + seen["motion_torques"][k] * rate
    total = seen["kinetic"][0] + seen["potential"][0]
    work = cumulative_simpson(power, x=run.t, initial=0.0)
    scale = float(np.abs(seen["kinetic"]).max() + np.abs(np.diff(seen["potential"])).sum())
    away = float(np.abs(total - total[0] - work).max()) / scale
    return Deviation(away, BALANCE, "energy")


def tyre_energy(c: Combination) -> Deviation:
    """A tyre never creates energy: the work that it did and the energy stored in it never rise.

    The stiffness of a tyre that is proportional to its load changes with the load, and its stored
    energy with it: such tyres, and measured ones, are tested in steady turns.
    """
    model = c.system.model
    if not any(wheel.tyre is not None for wheel in model.wheels):
        raise NotApplicableError("it has no tyres")
    if c.machine.has("tyres", "load", "rear", "brush", "magic", "sprung"):
        raise NotApplicableError("its tyres depend on the load")
    if model.ground is not None:
        raise NotApplicableError("moving ground does work through its tyres")
    run = simulate(c, numerics=c.numerics(integrator="rk4", drift="project"))
    columns = record(run)
    worst = Deviation(0.0, BALANCE, "")
    scale = float(run.observations["kinetic"].max())
    for name in (wheel.name for wheel in model.wheels):
        power, stored = (
            columns[f"{kind}[{name}]"].values for kind in ("tyre_power", "tyre_energy")
        )
        done = cumulative_simpson(power, x=run.t, initial=0.0) + stored
        rise = float((done - np.minimum.accumulate(done)).max()) / scale
        if not rise <= worst.value:
            worst = Deviation(rise, BALANCE, f"energy of the tyre {name!r}")
    return worst


BALANCE = 1e-7
"""Of the kinetic energy; the error of Simpson's rule and of the fourth-order integrators."""


def input_power(run: Any) -> np.ndarray:
    """Return the power of torques and pushes over time, W."""
    model = run.arcs[0].machine.system.model
    seen = run.observations
    power = np.zeros(len(run.t))
    for k, joint in enumerate(model.joints):
        rate = seen["v"][model.speeds.index(f"{joint.name}_rate")]
        power = power + seen["inputs"][k] * rate
    pushed = seen["inputs"][len(model.joints) :]
    if not np.any(pushed):
        return power
    tree = assemble(model, aligned=is_free(model))
    for sample in range(len(run.t)):
        readings = readings_at(run, tree, sample)
        for k, force in enumerate(model.pushes):
            velocity = np.asarray(readings.velocity(force.body, force.point), float)
            push = pushed[3 * k : 3 * k + 3, sample]
            if force.frame == "body":
                raise NotApplicableError("pushes in body axes are not added up here")
            power[sample] += push @ velocity
    return power


def damper_power(run: Any) -> np.ndarray:
    """Return the power of the joints' dampers over time, W."""
    model = run.arcs[0].machine.system.model
    seen = run.observations
    power = np.zeros(len(run.t))
    for joint in model.joints:
        rate = seen["v"][model.speeds.index(f"{joint.name}_rate")]
        power = power - joint.damper * rate * rate
    return power


def element_power(c: Combination, run: Any) -> np.ndarray:
    """Return the power of all force elements over time, W."""
    model = run.arcs[0].machine.system.model
    power = np.zeros(len(run.t))
    if not model.elements:
        return power
    (arc,) = run.arcs
    z = arc.y[:, arc.machine.layout.z][:, : model.memory]
    tree = assemble(model, aligned=is_free(model))
    for sample in range(len(run.t)):
        readings = readings_at(run, tree, sample)
        done = element_forces(readings, arc.machine.mode, z[sample])
        power[sample] = float(done.Q @ readings.speeds)
    return power


def readings_at(run: Any, tree: Tree, sample: int) -> Any:
    """Return the readings of a sample in plain numbers, loads included."""
    (arc,) = run.arcs
    machine = arc.machine
    model, choice = machine.system.model, machine.choice
    at = machine.layout.split(arc.y[sample])
    R = base_rotation(model, at["q"])
    found = projected.constraint_rows(tree, machine.mode, R, at["r"], at["p"], choice.spare)
    moving = projected.reconstruct_velocities(
        found, at["u"], arc.t[sample], choice.independent, choice.pivots, choice.along_tree
    )
    forces = run.observations["forces"].reshape(len(model.contacts), 3, -1)[:, 0, sample]
    loads = {contact.name: force for contact, force in zip(model.contacts, forces, strict=True)}
    return replace(make_readings(moving, arc.t[sample]), loads=loads)


# --- linear


def linear(c: Combination) -> Deviation:
    """A linear system is the limit of differences of nonlinear runs."""
    recipe = c.machine.recipe
    if not recipe.steady or c.driven or (c.machine.has("slope") and c.machine.has("tyres")):
        raise NotApplicableError("it has no steady motion that starts are known of")
    wanted = {name: x for name, x in c.start_values.items() if name in recipe.steady}
    motion, inputs = draisine.state(c.system, **wanted), _drive_uphill(c)
    found = draisine.linearise(c.system, motion, law=c.control, inputs=inputs)
    varied = [n for n in c.start_values if n in found.states and n not in recipe.steady]
    if not varied:
        raise NotApplicableError("no initial value is a state of the linear system")
    small = {name: SMALL * c.start_values[name] for name in varied}
    numerics = c.numerics(
        integrator="dop853", drift="project", dt=c.until / 8, rtol=1e-12, atol=1e-15
    )
    runs = []
    for sign in (1.0, -1.0):
        state = draisine.state(c.system, **wanted, **{n: sign * x for n, x in small.items()})
        runs.append(record(simulate(c, state=state, numerics=numerics, inputs=inputs)))
    steady = dict(zip(found.states, found.x0, strict=True))
    slopes = {
        n: (runs[0][n].values - runs[1][n].values) / 2.0 for n in found.states if n in runs[0]
    }
    start = {name: steady[name] + slope[0] for name, slope in slopes.items()}
    exact = found.simulate(start, c.until / 8 * np.arange(9))
    worst = Deviation(0.0, LINEAR, "")
    size = max(float(np.abs(slope).max()) for slope in slopes.values())
    for name, slope in slopes.items():
        away = float(np.abs(slope - (exact[name].values - steady[name])).max()) / size
        if not away <= worst.value:
            worst = Deviation(away, LINEAR, name)
    return worst


def _drive_uphill(c: Combination) -> dict[str, float]:
    """Return the input that keeps the speed of a bicycle on its slope."""
    if not c.machine.has("slope"):
        return {}
    model = c.system.model
    pull = -float(model.gravity[0]) * sum(float(body.mass) for body in model.bodies)
    rear = next(wheel for wheel in model.wheels if wheel.name == "rear")
    return {"rear_wheel": pull * float(rear.centre[2])}


SMALL, LINEAR = 1e-5, 2e-5
"""The part of an initial value that is small, and what is left of higher order in central differences,
relative to the largest state: z |z| of a brush tyre leaves a first order."""


# --- equations to read


def equations(c: Combination) -> Deviation:
    """The equations are written on a page; what they say is tested in `reading`."""
    return _page(c, linear=False)


def linear_equations(c: Combination) -> Deviation:
    """The linear equations of straight running are written on a page."""
    return _page(c, linear=True)


def _page(c: Combination, linear: bool) -> Deviation:
    if c.control is not None or c.driven:
        raise NotApplicableError("pages are those of the machine alone")
    text = c.system.equations(linear=linear).write("latex")
    return Deviation(0.0 if "begin" in text else np.inf, 0.0, "the page")


INVARIANTS: dict[str, Callable[[Combination], Deviation]] = {
    f.__name__: f
    for f in (
        *(units, turn, mirror, reorder, start_time),
        *(unfold, change_parameters, formulations, traced, lanes, interpreted, casadi),
        *(c_code, javascript),
        *(time_stepping, compliant_ground, equations, linear_equations),
        *(on_terrain, on_smooth_ground, slices_on_terrain),
        *(drop_turned, drop_mirrored, drop_sampled, drop_sliced, drop_many, drop_in_c),
        *(drop_stored, drop_energy, drop_gradient),
        *(sample_spacing, validity_spacing, slices, storage, energy, tyre_energy, linear, gradient),
    )
}
"""The laws by name."""


# --- verdicts


@dataclass(frozen=True)
class Verdict:
    """What came of a law and a combination: "holds", "not applicable", "refused" with the package's own
    error, "violated", or "failed" with an error that is none of the package's.
    """

    kind: str
    text: str
    value: float = 0.0


def judge(name: str, c: Combination) -> Verdict:
    """Return whether a law holds for a combination.

    A deviation beyond the bound of the law is compared with what the run itself cannot resolve: its
    discretisation error, and round-off multiplied by the sensitivity to the start.
    """
    try:
        found = INVARIANTS[name](c)
        if found.holds:
            return Verdict("holds", str(found), found.value)
        limit = resolution(c, drops=name.startswith("drop"))
        if name in ADAPTIVE:
            limit = max(limit, resolution(replace(c, integrator="dop853", drift="project")))
        if np.isfinite(found.value) and found.value <= limit:
            return Verdict("holds", f"{found}, resolution {limit:.3g}", found.value)
        return Verdict("violated", f"{found}, resolution {limit:.3g}", found.value)
    except NotApplicableError as reason:
        return Verdict("not applicable", str(reason))
    except DraisineError as error:
        kind = "refused" if len(str(error)) > 20 else "failed"
        return Verdict(kind, f"{type(error).__name__}: {error}")
    except Exception as error:
        last = traceback.format_exception(error)[-3:]
        return Verdict("failed", "".join(last))


ADAPTIVE = ("on_terrain", "sample_spacing", "validity_spacing", "linear", "gradient")
"""Laws that run combinations with adaptive steps, whatever their integrator."""


def resolution(c: Combination, drops: bool = False) -> float:
    """Return what two computations of the same run may differ by: thirty times its discretisation error,
    and round-off of 1e-13 multiplied by the sensitivity to the start.
    """
    state, given = dropped(c) if drops else (c.state, {"numerics": c.numerics()})
    run = record(simulate(c, state=state, **given))
    own = given["numerics"]
    if drops and c.solver == "time_stepping":
        finer = run  # both computations take the same steps
    elif own.integrator == "dop853":
        fine = given | {"numerics": replace(own, rtol=1e-12, atol=1e-14)}
        finer = record(simulate(c, state=state, **fine))
    else:
        fine = given | {"numerics": replace(own, dt=own.dt / 2)}
        whole = record(simulate(c, state=state, **fine))
        finer = {name: Column(column.unit, column.values[::2]) for name, column in whole.items()}
    error, _ = _distance(run, finer)
    near = draisine.state(
        c.system, **{name: (1.0 + SHIFT) * x for name, x in c.start_values.items()}
    )
    near = draisine.State(near.q, near.p + (state.p - c.state.p), near.r, near.v)
    beside = record(simulate(c, state=near, **given))
    shift, _ = _distance(run, beside)
    return max(30.0 * error, 1e-13 * shift / SHIFT)


def _distance(reference: Record, found: Record) -> tuple[float, str]:
    """Return the largest difference of two runs at their common samples and the column that has it."""
    reference, found = common_samples(reference, found)
    return deviation(reference, same_sign(reference, found))


SHIFT = 1e-8
"""By which part initial values are changed to measure the sensitivity."""
