"""Violation of the position constraints by machine and drift method, the table of the theory page.

    python bench/drift.py            # print the table
    python bench/drift.py whipple    # some machines only

Every machine that has position constraints (closed contacts, pins, prescribed joints, couplings) moves for
one second by RK4 with steps of 1 ms. The number is the largest violation in m or rad at the samples: without
correction, with the correction (2.41) of Mauny's thesis (epsilon = 0.01 s), and with the projection.
"""

import sys
from typing import Any

import numpy as np

import draisine
from draisine import Numerics

DURATION = 1.0  # s
STEP = 1e-3  # s; below epsilon / 8, so that RK4 resolves the correction
EPSILON = 0.01  # s, the value of the thesis
METHODS: dict[str, str | float] = {"none": "none", "(2.41)": EPSILON, "projection": "project"}

MOTIONS: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "ball": ({}, {"Wx": 1.0, "Wy": 4.0}),
    "car": ({}, {"forward_speed": 5.0, "steer": 0.1}),
    "compass_walker": ({}, {"left": 0.1, "left_rate": 0.5}),
    "euler_disc": ({}, {"lean": 0.5, "yaw_rate": 4.0}),
    "falling_cat": ({"drive": "sine"}, {}),
    "fish": ({"drive": "sine"}, {}),
    "motorcycle": ({}, {"forward_speed": 20.0, "lean_rate": 0.1}),
    "rattleback": ({}, {"Wz": 2.0, "Wx": 0.5}),
    "rimless_wheel": ({}, {"wheel_rate": 1.0}),
    "road_train": ({}, {"forward_speed": 3.0, "steer": 0.1, "hitch1": 0.2}),
    "rocr": ({}, {}),
    "roller_racer": ({"drive": "sine"}, {}),
    "rolling_disc": ({}, {"lean": 0.3, "Wy": 8.0, "lean_rate": 0.2}),
    "segway": ({}, {"forward_speed": 1.0, "pitch": 0.05}),
    "simplest_walker": ({}, {"left": 0.1, "left_rate": 0.5}),
    "skateboard": ({}, {"forward_speed": 2.0, "lean": 0.05}),
    "skater": ({}, {}),
    "snake": ({"links": 3, "drive": "serpenoid"}, {}),
    "snakeboard": ({"drive": "sine"}, {}),
    "steering_linkage": ({}, {"left": 0.2, "left_rate": 1.0}),
    "tricycle": ({}, {"forward_speed": 3.0, "steer": 0.1}),
    "trikke": ({}, {}),
    "unicycle": ({}, {"forward_speed": 2.0, "lean_rate": 0.1}),
    "whipple": ({}, {"forward_speed": 4.6, "lean_rate": 0.5}),
}
"""Parameters and initial values of each shipped vehicle that has position constraints on level ground."""


def measure(vehicle: str) -> dict[str, float]:
    """Return the largest violation (m or rad) of the position constraints by drift method."""
    parameters, start = MOTIONS[vehicle]
    system = draisine.compile(vehicle, **parameters)
    state = draisine.state(system, **start)
    out: dict[str, float] = {}
    for label, drift in METHODS.items():
        numerics = Numerics(integrator="rk4", dt=STEP, drift=drift)
        contact = draisine.ContactOptions(fall=np.inf)
        run = draisine.simulate(system, state, until=DURATION, numerics=numerics, contact=contact)
        out[label] = violation(run)
    return out


def violation(run: Any) -> float:
    """Return the largest violation of the position constraints at the samples of a run."""
    worst = 0.0
    for arc in run.arcs:
        n = len(arc.machine.system.model.joints)
        for t, y in zip(arc.t, arc.y, strict=True):
            out = arc.machine.rows(q=y[:4], p=y[4:7], r=y[7 : 7 + n], t=[t], anchors=arc.anchors)
            worst = max(worst, float(np.abs(out["conditions"]).max(initial=0.0)))
    return worst


def main() -> None:
    """Print the table as Markdown."""
    vehicles = sys.argv[1:] or list(MOTIONS)
    print(f"| machine | {' | '.join(METHODS)} |\n|---|{'---|' * len(METHODS)}")
    for vehicle in vehicles:
        row = [f"{x:.0e}" for x in measure(vehicle).values()]
        print(f"| {vehicle} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
