"""Feedback linearisation and LQR with the same actuator

The benchmark bicycle at 7 m/s is released with a lean and a lean rate; the handlebar is straight. Coloured:
the states from which input-output linearisation of the lean (2 rad/s, critically damped) brings it upright
within six seconds, with normal forces that push and a friction demand of at most 1.5. Line: the border of
the same set for LQR. Both laws steer with at most 15 N m; see the [tutorial](tutorial/control.md).
"""

import warnings

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.lqr import balance
from draisine.control import saturate
from draisine.control.feedback_linearisation import FeedbackLinearisation
from draisine.view.style import new_figure

SPEED = 7.0  # m/s
LIMIT = 15.0  # N m
LEAN = np.linspace(-1.05, 1.05, 15)  # rad
RATE = np.linspace(-2.0, 2.0, 9)  # rad/s


def recovers(bicycle: draisine.System, law: object, lean: float, rate: float) -> bool:
    """Return whether the bicycle is upright after six seconds, with wheels that roads can hold."""
    start = draisine.state(bicycle, forward_speed=SPEED, lean=lean, lean_rate=rate)
    numerics = draisine.Numerics(integrator="rk4", dt=0.002)
    try:
        with warnings.catch_warnings(action="ignore"):
            run = draisine.simulate(bicycle, start, 6.0, law=law, numerics=numerics)
    except draisine.errors.DraisineError:
        return False
    valid = not run.validity.times and not run.validity.warnings
    return valid and abs(float(run.to_xarray().lean[-1])) < 0.02


def recovered(bicycle: draisine.System, law: object) -> np.ndarray:
    """Return the states from which it recovers, by lean rate and lean; mirror images behave alike."""
    half = [[recovers(bicycle, law, x, rate) for x in LEAN] for rate in RATE[: len(RATE) // 2 + 1]]
    return np.array([*half, *(row[::-1] for row in half[-2::-1])])


def figure() -> Figure:
    """Return the picture."""
    bicycle = draisine.compile("whipple")
    optimal = balance(bicycle, {"lean": 100.0}, {"steer": 1.0}, forward_speed=SPEED)

    def limited(readings: object, z: object) -> tuple[dict[str, object], tuple[()]]:
        inputs, _ = optimal(readings, z)
        return {"steer": saturate(inputs["steer"], LIMIT)}, ()

    linearising = FeedbackLinearisation(frequency=2.0, torque_limit=LIMIT)
    panel = new_figure(1, 1, (5.2, 3.6))
    degrees = np.degrees(LEAN), np.degrees(RATE)
    panel.contourf(*degrees, recovered(bicycle, linearising), [0.5, 1.5], colors=["#a6cee3"])
    panel.contour(*degrees, recovered(bicycle, limited), [0.5], colors=["#d95f02"])
    panel.set(xlabel="lean at the start (deg)", ylabel="lean rate at the start (deg/s)")
    return panel.figure
