"""Drives over smooth hills: how many finish, integration steps and events per patch, cost beside a plane
and beside the same heights as triangles.

python bench/smooth_ground.py [--runs 20] [--until 4]

TurtleBot3 and a car drive over random smooth hills, bicycle, disc and ball roll over them. Each machine has
its own hills (`rough(..., smooth=True)`), in cells about as large as its wheels, level before and around.
Steps are those of event-driven arcs; the rest of a run is in time steps. CPU times are those of the second
of two runs, beside the same drive on a plane. The exit code is 1 if a run does not finish.
"""

import argparse
import sys
import time
import warnings
from collections import Counter

import numpy as np

import draisine
import robots
from draisine import ContactOptions
from draisine.errors import DraisineError
from draisine.simulation.contact import driver
from draisine.terrain import plane, rough

MACHINES = {
    # height and cell of the hills (m), start of the hills (m), speed (m/s)
    "turtlebot3": (0.01, 0.1, 0.4, 0.2),
    "car": (0.02, 0.5, 3.5, 3.0),
    "bicycle": (0.02, 0.5, 1.5, 4.0),
    "disc": (0.02, 0.25, 0.5, 2.0),
    "ball": (0.01, 0.1, 0.2, 1.0),
}


def count_steps():
    """Return a list whose only entry counts the steps of event-driven arcs from now on."""
    count = [0]
    run = driver.ArcDriver.run

    def counting(self, *arguments):
        status = run(self, *arguments)
        # A call that returns for a task of Python continues to count.
        if not self.loop.progress.waits:
            count[0] += self.arc.clock.steps
        return status

    driver.ArcDriver.run = counting
    return count


def prepare(name):
    """Return the system, the initial state, the law and the options of contacts of a machine."""
    speed = MACHINES[name][3]
    if name == "turtlebot3":
        _, _, radius, _, left, right, gains = robots.DRIVEN[name]
        system = robots.system_of(name)
        law = robots.WheelServos(dict.fromkeys((*left, *right), speed / radius), gains[False])
        return system, draisine.state(system), law, ContactOptions(mu=0.8)
    if name == "car":
        system = robots.system_of(name)
        return system, draisine.state(system, forward_speed=speed), None, ContactOptions(mu=0.8)
    if name == "bicycle":
        system = draisine.compile("whipple")
        begin = draisine.state(system, forward_speed=speed, lean_rate=0.05)
        return system, begin, None, ContactOptions(mu=0.8)
    if name == "disc":
        system = draisine.compile("rolling_disc", crown=0.05)
        begin = draisine.state(system, forward_speed=speed, lean=0.02)
        return system, begin, None, ContactOptions(mu=0.8)
    system = draisine.compile("ball", radius=0.1)
    rolling = np.array([0.0, 0.0, 0.0, 0.0, speed / 0.1, 0.0])
    begin = draisine.state(system)
    return system, draisine.State(begin.q, begin.p, begin.r, rolling), None, ContactOptions(mu=0.8)


def drive(name, ground, until, count):
    """Return one drive: the run or its error, its steps and the CPU time (s) of its second execution."""
    system, begin, law, options = prepare(name)
    for _ in range(2):
        count[0] = 0
        began = time.process_time()
        try:
            found = draisine.simulate(
                system, begin, until, terrain=ground, law=law, contact=options
            )
        except DraisineError as error:
            found = error
        took = time.process_time() - began
    return found, count[0], took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--until", type=float, default=4.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    count = count_steps()
    failed = 0
    print(
        "| machine | finished | hand-overs | steps per hand-over | steps on the plane | time-stepped | CPU |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, (height, cell, at, _) in MACHINES.items():
        _, plane_steps, plane_cpu = drive(name, plane(), options.until, count)
        rows = []
        facets = []
        outcomes = Counter()
        for seed in range(options.runs):
            size = {"at": at, "length": 16.0, "width": 8.0, "seed": seed}
            facets.append(drive(name, rough(height, cell, **size), options.until, count)[2])
            ground = rough(height, cell, smooth=True, **size)
            found, steps, took = drive(name, ground, options.until, count)
            if isinstance(found, DraisineError):
                outcomes[f"{type(found).__name__}: {found}"] += 1
                continue
            outcomes[found.outcome] += 1
            handed = sum(event.kind == "hand-over" for event in found.events)
            rows.append((handed, steps, robots.stepped(found) / found.arcs[-1].t[-1], took))
        bad = sum(number for text, number in outcomes.items() if "Error" in text)
        failed += bad
        handed, steps, stepped, took = np.array(rows, float).T
        print(
            f"| {name} | {options.runs - bad} of {options.runs} | {handed.mean():.0f} | "
            f"{steps.sum() / max(handed.sum(), 1):.1f} | {plane_steps} | {stepped.mean():.0%} | "
            f"{1e3 * took.mean():.0f} ms, triangles {1e3 * np.mean(facets):.0f} ms, "
            f"plane {1e3 * plane_cpu:.1f} ms |",
            flush=True,
        )
        print(f"<!-- {dict(outcomes)} -->", file=sys.stderr)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
