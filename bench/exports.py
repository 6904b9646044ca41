"""Exported simulators beside native runs: agreement, size and speed in C and JavaScript.

python bench/exports.py            the runs of the table in README.md
python bench/exports.py sanitize   the same in C, under the address and undefined-behaviour sanitizers
python bench/exports.py valgrind   the same in C, under valgrind

Times are CPU times of the run alone: native after a first run (compiled code is loaded), C and JavaScript
inside the program, without start-up of the process; JavaScript includes its just-in-time compilation.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import draisine
from draisine import ContactOptions
from draisine.scenario.library import load
from draisine.simulation.contact.standalone.source import write_terrain_simulator
from draisine.terrain import height_field, kerb

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from simulation.contact.stepping.test_steps import Servos, machine

THESIS = ("ramp-jump", "ramp-jump-pitched", "lift-offs", "impact-lift-off", "elastic-bounces")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
SANITIZERS = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

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
const machine = simulator.create(), begin = performance.now();
const {{ events }} = simulator.simulate(machine);
const seconds = 1e-3 * (performance.now() - begin);
const end = Array.from(simulator.state(machine));
console.log(JSON.stringify({{ seconds, end, events: events.map((e) => [e.time, e.kind]) }}));
"""


def scenario(name):
    """Return the arguments of the run of a scenario."""
    plan = load(f"mauny2018/{name}").plan
    options = {"terrain": plan.terrain, "law": plan.law, "contact": plan.contact}
    options["numerics"] = plan.numerics
    return (plan.system, plan.state(), plan.scenario.run.until), options


def robot(ground, **contact):
    """Return a run of 2 s of a robot with two wheels on one axle and a caster."""
    system = machine()
    options = {"terrain": ground, "law": Servos(10.0, 0.05)}
    options["contact"] = ContactOptions(mu=0.8, **contact)
    return (system, draisine.state(system), 2.0), options


def hills():
    """Return hills of 1 cm on cells of 10 cm, level around the start."""
    x, y = np.arange(-1.0, 2.0, 0.1), np.arange(-0.6, 0.65, 0.1)
    heights = np.random.default_rng(0).uniform(0.0, 0.01, (len(x), len(y)))
    heights[x < 0.15] = 0.0
    return height_field(x, y, heights)


def bicycle_on_hills():
    """Return a bicycle on torus tyres over smooth hills of 1 cm, made of triangles."""
    system = draisine.compile("whipple", crown=0.02)
    x, y = np.linspace(-3.0, 20.0, 116), np.linspace(-2.0, 2.0, 21)
    ground = height_field(x, y, 0.01 * np.outer(np.sin(2.0 * x), np.cos(1.5 * y)))
    start = draisine.state(system, forward_speed=5.0, lean_rate=0.05)
    high = draisine.State(start.q, start.p + [0.0, 0.0, 0.02], start.r, start.v)
    options = {"terrain": ground, "contact": ContactOptions(mu=0.8, solver="events")}
    return (system, high, 1.5), options


def cases():
    """Return the runs by name."""
    runs = {name: (lambda name=name: scenario(name)) for name in THESIS}
    runs["bicycle on hills, 219 events"] = bicycle_on_hills
    runs["robot over a kerb"] = lambda: robot(kerb(0.4, 0.01))
    runs["robot on hills, auto"] = lambda: robot(hills())
    runs["robot on hills, time steps"] = lambda: robot(hills(), solver="time_stepping")
    return runs


def native(arguments, options):
    """Return the run and its CPU time, s."""
    draisine.simulate(*arguments, **options)
    begin = time.process_time()
    run = draisine.simulate(*arguments, **options)
    return run, time.process_time() - begin


def compiled(folder, n, main, flags):
    """Compile a simulator; return the path of the program."""
    command = ["cc", *FLAGS, *flags, f"{n}.c", main, "-o", "run", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return str(folder / "run")


def deviation(events, end, run):
    """Return the largest deviations of event times (s) and of the end state from a run; the instants at
    which a run changes its method are left out.
    """
    changes = ("time-stepping", "event-location")
    count = next(
        (k for k, event in enumerate(run.events) if event.kind in changes), len(run.events)
    )
    times = [abs(t - event.t) for (t, _), event in zip(events[:count], run.events, strict=False)]
    last = run.arcs[-1].y[-1]
    return max(times, default=0.0), float(np.abs(end - last).max() / max(1.0, np.abs(last).max()))


def measure(name, arguments, options):
    """Print one row of the table."""
    run, seconds = native(arguments, options)
    system, start, until = arguments
    row = [name, f"{1e3 * seconds:.1f}"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for language in ("c", "javascript"):
            files = write_terrain_simulator(system, language, start, until, **options)
            for file, text in files.items():
                (folder / file).write_text(text)
        n = next(path.stem for path in folder.glob("*.h"))
        size = (folder / f"{n}.c").stat().st_size
        program = compiled(folder, n, "main.c", ["-O2"])
        output = {
            word: subprocess.run([program, word], check=True, capture_output=True, text=True).stdout
            for word in ("events", "samples")
        }
        events = [line.split(",")[:2] for line in output["events"].splitlines()[1:]]
        size_y = run.arcs[-1].y.shape[1]
        end = np.array(output["samples"].splitlines()[-1].split(",")[-size_y:], float)
        dt, dy = deviation([(float(t), kind) for t, kind in events], end, run)
        (folder / "timer.c").write_text(TIMER.format(n=n))
        program = compiled(folder, n, "timer.c", ["-O2"])
        took = float(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
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


def examine(name, arguments, options, tool):
    """Run a simulator under a tool that finds errors of memory and arithmetic."""
    system, start, until = arguments
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for file, text in write_terrain_simulator(system, "c", start, until, **options).items():
            (folder / file).write_text(text)
        n = next(path.stem for path in folder.glob("*.h"))
        flags = SANITIZERS if tool == "sanitize" else ["-O1", "-g"]
        program = compiled(folder, n, "main.c", flags)
        valgrind = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full"]
        command = [*(valgrind if tool == "valgrind" else []), program]
        done = subprocess.run(command, capture_output=True, text=True)
        print(f"{name}: exit code {done.returncode} {done.stderr[:500]}", flush=True)
    return done.returncode


def main():
    """Print the table, or run all simulators under a tool; return 1 if it finds an error."""
    tool = sys.argv[1] if len(sys.argv) > 1 else ""
    codes = []
    if not tool:
        print("| run | native ms | C ms | JavaScript ms | C source MB | events | time s | state |")
        print("|---|---|---|---|---|---|---|---|")
    for name, make in cases().items():
        arguments, options = make()
        if tool:
            codes.append(examine(name, arguments, options, tool))
        else:
            measure(name, arguments, options)
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
