"""Exported simulators beside native runs: agreement, size and speed; C under sanitizers and valgrind.

python bench/exports.py table [NAME ...]      the runs of the table in docs/howto/code.md
python bench/exports.py examine [NAME ...]    all C programs, under the address and undefined-behaviour
                                              sanitizers, then under valgrind

Each program is reported as it ends; one that cannot be exported, compiled or finished within ten minutes is a
finding, and the others are still examined. The last line counts programs and findings; the exit code is 1
after a finding.

NAME selects the runs whose name contains it. All C code compiles with `-Wall -Wextra -Werror -pedantic`.
Times are CPU times of the run alone: native after a first run (compiled code is loaded), C and JavaScript
inside the program, without start-up of the process; JavaScript includes its just-in-time compilation, also in
threads beside the program.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import draisine
from draisine import ContactOptions
from draisine.algebra.lie import quaternion_product
from draisine.errors import DraisineError
from draisine.interop.cosimulation import write_terrain_unit, write_unit
from draisine.mechanics.forces.load_tyre import LoadTyre
from draisine.mechanics.forces.magic_formula import MagicFormula
from draisine.mechanics.sensors import Encoder, Imu
from draisine.scenario.library import load
from draisine.simulation.contact.standalone.source import write_terrain_simulator
from draisine.simulation.source import write_simulator
from draisine.terrain import (
    SmoothGround,
    height_field,
    kerb,
    move_ground,
    plane,
    rough_road,
    stairs,
)
from draisine.terrain.motions import Shake, Turn
from draisine.vehicles import parameter_set

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from interop.compiled import (
    STRICT,
    TOOL_FLAGS,
    compile_program,
    compile_simulator,
    compile_unit,
    run_under,
)
from simulation.contact.stepping.test_steps import Servos, machine

PROGRAMS_NEEDED = {"table": ("cc", "node"), "examine": ("cc", "valgrind")}
"""Programs on the search path that each command needs."""

TIME_LIMIT = 600.0
"""Longest run of a program under a tool, s."""

THESIS = ("ramp-jump", "ramp-jump-pitched", "lift-offs", "impact-lift-off", "elastic-bounces")

TIMER = """
#include <stdio.h>
#include <time.h>
#include "{n}.h"
int main(void)
{{
    int status = {n}_more;
    {n} *m = {n}_new();
    const clock_t begin = clock();
    {n}_begin(m, {n}_from, {n}_start, {n}_given);
    while (status == {n}_more) {{
        status = {n}_advance(m, {n}_until);
    }}
    printf("%g\\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
    {n}_free(m);
    return 0;
}}
"""

PAGE = """
import * as simulator from "./{n}.js";
const machine = simulator.create(), begin = process.cpuUsage();
const {{ events }} = simulator.simulate(machine);
const {{ user, system }} = process.cpuUsage(begin), seconds = 1e-6 * (user + system);
const end = Array.from(simulator.state(machine));
console.log(JSON.stringify({{ seconds, end, events: events.map((e) => [e.time, e.kind]) }}));
"""

# --- runs on terrain


def scenario(name):
    """Return the arguments of the run of a scenario."""
    plan = load(f"mauny2018/{name}").plan
    options = {"terrain": plan.terrain, "law": plan.law, "contact": plan.contact}
    options["numerics"] = plan.numerics
    return (plan.system, plan.copy_state(), plan.scenario.run.until), options


def robot(ground, tyred=False, **contact):
    """Return a run of 2 s of a robot with two wheels on one axle and a caster."""
    system = machine(tyred)
    options = {"terrain": ground, "law": Servos(10.0, 0.05)}
    if not tyred:
        contact["mu"] = 0.8
    options["contact"] = ContactOptions(**contact)
    return (system, draisine.state(system), 2.0), options


def hills():
    """Return hills of 1 cm on cells of 10 cm, level around the start."""
    x, y = np.arange(-1.0, 2.0, 0.1), np.arange(-0.6, 0.65, 0.1)
    heights = np.random.default_rng(0).uniform(0.0, 0.01, (len(x), len(y)))
    heights[x < 0.15] = 0.0
    return height_field(x, y, heights)


def raised(start, height):
    """Return a state higher by some height (m)."""
    return draisine.State(start.q, start.p + [0.0, 0.0, height], start.r, start.v)


def bicycle_on_hills():
    """Return a bicycle on torus tyres over smooth hills of 1 cm, made of triangles."""
    system = draisine.compile("whipple", crown=0.02)
    x, y = np.linspace(-3.0, 20.0, 116), np.linspace(-2.0, 2.0, 21)
    ground = height_field(x, y, 0.01 * np.outer(np.sin(2.0 * x), np.cos(1.5 * y)))
    start = draisine.state(system, forward_speed=5.0, lean_rate=0.05)
    options = {"terrain": ground, "contact": ContactOptions(mu=0.8, solver="events")}
    return (system, raised(start, 0.02), 1.5), options


def bicycle_on_road(grade="C", until=2.0):
    """Return a bicycle on a smooth road with the roughness of a class of ISO 8608."""
    system = draisine.compile("whipple")
    start = draisine.state(system, forward_speed=5.0, lean_rate=0.05)
    options = {"terrain": rough_road(grade, 20.0, at=2.0), "contact": ContactOptions(mu=0.8)}
    return (system, start, until), options


def disc_on_smooth_hills():
    """Return a torus on smooth hills in two directions."""
    system = draisine.compile("rolling_disc", crown=0.05)
    x, y = np.linspace(-0.5, 3.5, 17), np.linspace(-0.5, 0.5, 5)
    ground = height_field(x, y, 0.02 * np.outer(np.cos(2.0 * x), np.cos(3.0 * y)), smooth=True)
    start = draisine.state(system, forward_speed=3.0)
    return (system, raised(start, 0.05), 0.8), {
        "terrain": ground,
        "contact": ContactOptions(mu=0.8),
    }


def ball_in_valley():
    """Return a ball that falls into an oblique smooth valley, more curved than the ball."""
    system = draisine.compile("ball", radius=0.3)
    x = np.linspace(-1.0, 1.0, 4)
    ground = SmoothGround(x, x, 2.5 * (0.9 * x[:, None] + 0.4 * x) ** 2, quiet=True)
    start = raised(draisine.state(system, x_speed=0.2), 0.3)
    return (system, start, 1.0), {"terrain": ground, "contact": ContactOptions(mu=0.8)}


def bicycle_on_tyres(tyre, ground, **speeds):
    """Return a bicycle on tyres."""
    system = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
    start = draisine.state(system, forward_speed=5.0, lean_rate=0.1, **speeds)
    return (system, start, 0.8), {"terrain": ground, "contact": ContactOptions()}


def handlebar_on_stops():
    """Return a bicycle that falls with a turning handlebar, which hits its stops."""
    system = draisine.compile("whipple")
    start = draisine.state(
        system, forward_speed=3.0, steer_rate=4.0, mode={"rear": "open", "front": "open"}
    )
    stops = {"steer": (-0.3, 0.4)}
    contact = ContactOptions(stops=stops, mu=0.9, impact="moreau", restitution={"normal": 0.3})
    return (system, raised(start, 0.3), 0.8), {"terrain": plane(), "contact": contact}


def disc_on_shaking_ground():
    """Return a disc that shaking ground throws off."""
    system = draisine.compile("rolling_disc", crown=0.05)
    start = draisine.state(system, forward_speed=2.0)
    ground = move_ground(plane(), Shake((0.0, 0.0, 0.02), 30.0))
    return (system, raised(start, 1e-3), 0.6), {
        "terrain": ground,
        "contact": ContactOptions(mu=0.8),
    }


def disc_on_turntable():
    """Return a disc on a turning patch of smooth ground."""
    system = draisine.compile("rolling_disc", crown=0.05)
    x = np.linspace(-1.5, 1.5, 4)
    wave = height_field(x, x, 0.02 * np.outer(np.cos(x), np.cos(x)), smooth=True)
    start = raised(draisine.state(system, forward_speed=0.5), 0.03)
    ground = move_ground(wave, Turn(1.0))
    return (system, start, 0.8), {"terrain": ground, "contact": ContactOptions(mu=0.8)}


def car_against_wall():
    """Return a car, whose steering is a linkage, that hits a wall."""
    system = draisine.compile("car")
    start = draisine.state(system, forward_speed=3.0, steer=0.1)
    return (system, start, 0.6), {"terrain": kerb(2.0, 0.4), "contact": ContactOptions(mu=0.8)}


def bicycle_on_ice():
    """Return a bicycle that slides down a slope and falls."""
    system = draisine.compile("whipple")
    start = draisine.state(system, forward_speed=4.0, lean_rate=0.4)
    turned = [np.cos(0.1), 0.0, np.sin(0.1), 0.0]
    q = np.array(quaternion_product(turned, start.q), float)
    high = raised(draisine.State(q, start.p, start.r, start.v), 0.3)
    return (system, high, 3.0), {"terrain": plane(-0.2), "contact": ContactOptions(mu=0.05)}


def ideal_bicycle_on_stairs():
    """Return a bicycle with infinite friction that rides down stairs."""
    system = draisine.compile("whipple", crown=0.02)
    start = draisine.state(system, forward_speed=4.0)
    options = {"terrain": stairs(2.0, -0.08, 0.5, 3), "contact": ContactOptions()}
    return (system, start, 1.0), options


def stone_on_hills():
    """Return an ellipsoid that wobbles on smooth hills."""
    system = draisine.compile("rattleback")
    x = np.linspace(-0.6, 0.6, 7)
    ground = height_field(x, x, 0.01 * np.outer(np.cos(4.0 * x), np.cos(3.0 * x)), smooth=True)
    start = raised(draisine.state(system), 0.02)
    return (system, start, 0.6), {"terrain": ground, "contact": ContactOptions(mu=0.6)}


def runs():
    """Return the runs of the table by name."""
    every = {name: (lambda name=name: scenario(name)) for name in THESIS}
    every["bicycle on hills, 219 events"] = bicycle_on_hills
    every["robot over a kerb"] = lambda: robot(kerb(0.4, 0.01))
    every["robot on hills, auto"] = lambda: robot(hills())
    every["robot on hills, time steps"] = lambda: robot(hills(), solver="time_stepping")
    every["disc on smooth hills"] = disc_on_smooth_hills
    return every


def measured_tyre():
    """Return the Magic Formula of a measured tyre."""
    fit = MagicFormula.coefficients(parameter_set("magic_formula", "schwalbe_t03_300kpa"))
    return MagicFormula(relaxation=0.1, **fit)


def further_runs():
    """Return the runs by name that `examine` executes beside those of the table."""
    return {
        "bicycle on a smooth road": bicycle_on_road,
        "bicycle on a rough road": lambda: bicycle_on_road("E", 1.0),
        "ball in a smooth valley": ball_in_valley,
        "load tyres down a kerb": lambda: bicycle_on_tyres(
            LoadTyre(11.0, 0.5, 0.1, 0.02), kerb(2.0, -0.1)
        ),
        "measured tyres down a kerb": lambda: bicycle_on_tyres(measured_tyre(), kerb(2.0, -0.1)),
        "robot on tyres over a kerb": lambda: robot(kerb(0.4, 0.01), tyred=True),
        "robot on tyres, time steps": lambda: robot(hills(), tyred=True, solver="time_stepping"),
        "handlebar on its stops": handlebar_on_stops,
        "disc on shaking ground": disc_on_shaking_ground,
        "disc on turning smooth ground": disc_on_turntable,
        "car against a wall": car_against_wall,
        "bicycle on ice": bicycle_on_ice,
        "ideal bicycle down stairs": ideal_bicycle_on_stairs,
        "stone on smooth hills": stone_on_hills,
    }


# --- programs in one contact mode, and units of FMI


def ride():
    """Return a bicycle and its initial state."""
    system = draisine.compile("whipple")
    return system, draisine.state(system, forward_speed=4.6, lean_rate=0.5)


def tyred_ride():
    """Return a bicycle on tyres and its initial state."""
    tyre = LoadTyre(11.0, 0.5, 0.1, 0.02)
    system = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
    return system, draisine.state(system, forward_speed=6.0, lean_rate=0.01)


def linked_car():
    """Return a car, whose steering is a linkage, and its initial state."""
    system = draisine.compile("car")
    return system, draisine.state(system, forward_speed=3.0, steer=0.1)


def sensed_ride():
    """Return a bicycle with sensors and its initial state."""
    system, _ = ride()
    system = system.with_sensors(
        Imu("imu", "frame", (0.3, 0.0, 0.9), rate=128.0, noise=0.1, bias=0.3, quantum=0.01),
        Encoder("steer_encoder", "steer", counts=1000, rate=100.0, noise=0.01, seed=4),
    )
    return system, draisine.state(system, forward_speed=4.6, lean_rate=0.5)


def falling_leg():
    """Return a mass on a leg that falls until the ground would have to pull, and its initial state."""
    system = draisine.compile("rimless_wheel", slope=0.0)
    return system, draisine.state(system, wheel_rate=1.2)


SMOOTH = {"bicycle": ride, "bicycle on tyres": tyred_ride, "car": linked_car}
"""Systems whose simulator in one contact mode is examined."""

UNITS = {"bicycle with sensors": sensed_ride, "leg that lifts off": falling_leg}
"""Systems whose units in one contact mode are examined."""

TERRAIN_UNITS = ("ramp-jump", "elastic-bounces", "robot over a kerb", "disc on smooth hills")
"""Runs whose units on terrain are examined."""


def programs():
    """Return functions that compile a C program into a folder with given flags, by name."""
    every = {}
    for name, make in (runs() | further_runs()).items():
        every[name] = lambda folder, flags, make=make: compile_simulator(
            folder, simulator_files(make, "c"), flags
        )
    for name, make in SMOOTH.items():
        every[f"{name}, one contact mode"] = lambda folder, flags, make=make: compile_simulator(
            folder, write_simulator(make()[0], "c", make()[1]), flags
        )
    for interface in ("fmi2", "fmi3"):
        for name, make in UNITS.items():
            every[f"{name}, {interface}"] = lambda folder, flags, make=make, at=interface: (
                compile_unit(folder, write_unit(*make(), at), 0.5, 1.0 / 64.0, flags)
            )
        for name in TERRAIN_UNITS:
            every[f"{name}, {interface}"] = lambda folder, flags, name=name, at=interface: (
                compile_terrain_unit(folder, flags, runs()[name], at)
            )
    return every


def simulator_files(make, language):
    """Return the source files of a run on terrain."""
    (system, start, until), options = make()
    return write_terrain_simulator(system, language, start, until, **options)


def compile_terrain_unit(folder, flags, make, interface):
    """Compile the unit of a run on terrain."""
    (system, start, until), options = make()
    unit = write_terrain_unit(system, start, interface, until=until, **options)
    return compile_unit(folder, unit, until, 1.0 / 64.0, flags)


def examine(name, compile_to):
    """Run a C program under each tool and print a row; return the number of findings."""
    row = [name]
    findings = 0
    for tool, flags in TOOL_FLAGS.items():
        began = time.perf_counter()
        try:
            with tempfile.TemporaryDirectory() as place:
                program = compile_to(Path(place), flags)
                done = run_under(tool, program, seconds=TIME_LIMIT)
        except (DraisineError, subprocess.SubprocessError) as error:
            findings += 1
            row.append(f"{type(error).__name__}: {str(error)[:120]}")
            continue
        took = time.perf_counter() - began
        # Programs return 0 at the end of their time or after a fall; a tool returns another code.
        is_clean = done.returncode == 0
        findings += not is_clean
        row.append(f"no finding, {took:.0f} s" if is_clean else f"exit code {done.returncode}")
        message = done.stderr.strip().splitlines()
        if message:
            row.append(message[0][:120])
        if not is_clean:
            print(done.stderr[:4000], file=sys.stderr)
    print("| " + " | ".join(row) + " |", flush=True)
    return findings


# --- the table


def native(arguments, options):
    """Return the run and its CPU time, s."""
    draisine.simulate(*arguments, **options)
    begin = time.process_time()
    run = draisine.simulate(*arguments, **options)
    return run, time.process_time() - begin


def deviation(events, end, run):
    """Return the largest deviations of event times (s) and of the end state from a run; infinite times if
    the kinds of the events differ.
    """
    if [kind for _, kind in events] != [event.kind for event in run.events]:
        return np.inf, np.inf
    times = [abs(t - event.t) for (t, _), event in zip(events, run.events, strict=True)]
    last = run.arcs[-1].y[-1]
    return max(times, default=0.0), float(np.abs(end - last).max() / max(1.0, np.abs(last).max()))


def measure(name, make):
    """Print one row of the table."""
    arguments, options = make()
    run, seconds = native(arguments, options)
    row = [name, f"{1e3 * seconds:.1f}"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files = simulator_files(make, "c")
        n = next(iter(files)).removesuffix(".h")
        program = str(compile_simulator(folder, files, ["-O2"]))
        size = (folder / f"{n}.c").stat().st_size
        output = {
            word: subprocess.run([program, word], check=True, capture_output=True, text=True).stdout
            for word in ("events", "samples")
        }
        events = [line.split(",")[:2] for line in output["events"].splitlines()[1:]]
        size_y = run.arcs[-1].y.shape[1]
        end = np.array(output["samples"].splitlines()[-1].split(",")[-size_y:], float)
        dt, dy = deviation([(float(t), kind) for t, kind in events], end, run)
        timer = {"timer.c": TIMER.format(n=n)}
        program = compile_program(folder, timer, [f"{n}.c", "timer.c"], ["-O2"])
        took = float(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
        for file, text in simulator_files(make, "javascript").items():
            (folder / file).write_text(text)
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "page.js").write_text(PAGE.format(n=n))
        done = subprocess.run(
            ["node", "page.js"], cwd=folder, check=True, capture_output=True, text=True
        )
        page = json.loads(done.stdout)
        js_dt, js_dy = deviation(page["events"], np.array(page["end"]), run)
    row += [f"{1e3 * took:.1f}", f"{1e3 * page['seconds']:.0f}", f"{size / 1e6:.2f}"]
    row += [str(len(run.events)), f"{max(dt, js_dt):.0e}", f"{max(dy, js_dy):.0e}"]
    print("| " + " | ".join(row) + " |", flush=True)


def main():
    """Print the table, or run all programs under the tools; return 1 if one finds an error."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["table", "examine"])
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    missing = [name for name in PROGRAMS_NEEDED[arguments.what] if shutil.which(name) is None]
    if missing:
        parser.error(f"{' and '.join(missing)}: not installed")
    # Runs on ice and rough roads are reported as invalid; here their programs matter.
    warnings.simplefilter("ignore")
    table = arguments.what == "table"
    every = runs() if table else programs()
    chosen = {
        name: make
        for name, make in every.items()
        if not arguments.names or any(word in name for word in arguments.names)
    }
    if not chosen:
        parser.error(f"no run has {' or '.join(arguments.names)} in its name")
    if table:
        print("| run | native ms | C ms | JavaScript ms | C source MB | events | time s | state |")
        print("|---|---|---|---|---|---|---|---|")
        for name, make in chosen.items():
            measure(name, make)
        return 0
    print(f"compiled with {' '.join(STRICT)}")
    print("| program | sanitizers | valgrind |")
    print("|---|---|---|")
    findings = sum(examine(name, make) for name, make in chosen.items())
    print(f"{len(chosen)} programs, {findings} findings")
    return int(findings > 0)


if __name__ == "__main__":
    sys.exit(main())
