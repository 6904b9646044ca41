"""Errors of the founding documents that the theory page lists, shown by runs and by laws."""

import math

import numpy as np
import pytest

import draisine
from draisine.algebra.lie import rot_x, rot_y
from draisine.experiment.printed import UNITS
from draisine.results.queries import evaluate_series, parse_query


def test_the_wheelie_reaches_its_limit_of_130_newton_metres() -> None:
    """Section 4.4 says near 150 N m; footnote 3 limits the torque to 130 N m."""
    result = draisine.run("mauny2018/wheelie-held", changes={"run.until": 2.0})
    torque = evaluate_series("inputs[rear_wheel]", result.bodies)
    assert np.abs(torque).max() == 130.0


def test_the_third_line_of_table_2_2_is_divided_wrongly() -> None:
    """One millimetre at each printed speed: four lines are right, the third is 2.49 months."""
    lines = [
        (0.0655e-6, 4.24, "h"),
        (0.0030815e-6, 3.76, "d"),
        (0.00015257e-6, 2.59, "months"),
        (0.00000321e-6, 9.87, "years"),
        (0.00000018434e-6, 171.9, "years"),
    ]
    agree = [
        1e-3 / speed / UNITS[unit] == pytest.approx(time, rel=2e-3) for speed, time, unit in lines
    ]
    assert agree == [True, True, False, True, True]
    assert 1e-3 / lines[2][0] / 86400.0 == pytest.approx(75.9, abs=0.05)


@pytest.mark.parametrize("lean", [0.0, 0.4, -0.7])
def test_a_pitch_of_90_degrees_makes_r11_vanish(lean: float) -> None:
    """After (2.20): R11 = 0 does not mean that the wheel lies on the ground.

    R11 is the vertical component of the frame's axis s_0, which points up when the bicycle is upright. The
    angle between wheel plane and ground follows from the axle, the frame's axis y.
    """
    rotation = rot_x(lean) @ rot_y(math.pi / 2.0)
    up = np.array([0.0, 0.0, 1.0])
    assert up @ rotation @ up == pytest.approx(0.0, abs=1e-15)
    axle = rotation @ np.array([0.0, 1.0, 0.0])
    assert abs(up @ axle) == pytest.approx(abs(math.sin(lean)))
    # The pair (R11, R12) that atan2 uses keeps the length cos(lean).
    along = up @ rotation @ np.array([1.0, 0.0, 0.0])
    assert math.hypot(up @ rotation @ up, along) == pytest.approx(math.cos(lean))


def test_the_conserved_quantity_of_1_10_is_a_momentum() -> None:
    """A machine without external forces from rest keeps zero angular momentum, linear in the velocities."""
    result = draisine.run("locomotion/falling-cat")
    momentum = np.abs(result.data["angular_momentum"].values)
    rates = np.abs(result.data["speeds"].values)
    assert momentum.max() < 1e-9 * max(1.0, rates.max())
    # Energy, on the other hand, changes: the joints do work.
    energy = result.data["kinetic_energy"].values
    assert np.ptp(energy) > 0.01 * energy.max()


def test_the_drift_saturates() -> None:
    """Section 2.7.3 says that the heights grow almost linearly; the second half adds almost nothing."""
    changes = {"run.drift": "none"}
    result = draisine.run("mauny2018/drift-corrected", changes=changes)
    height = np.abs(evaluate_series("gap[front]", result.bodies))
    t = result.data["time"].values
    first = height[t <= 2.5].max()
    assert height[t > 2.5].max() < 1.1 * first


def test_the_fastest_rate_of_gait_a_is_inside_a_swing() -> None:
    """Section 1.7.8 says near 10 rad/s, the rate before an impact; the largest rate is higher."""
    data = draisine.run("mauny2018/rocr-gait-a").data
    before = abs(float(data["impact_Omega_before"].values.ravel()[0]))
    assert before < 10.0 < float(data["fastest"])


def test_the_slope_stops_the_bicycle_after_2_8_seconds() -> None:
    """Section 2.7.2: m g sin(slope) decelerates mass and spinning wheels; a constant, so t = v/a."""
    result = draisine.run("mauny2018/incline")
    parameters = result.system.parameters
    mass = sum(parameters[name] for name in ("mR", "mB", "mH", "mF"))
    wheels = parameters["IRyy"] / parameters["rR"] ** 2 + parameters["IFyy"] / parameters["rF"] ** 2
    deceleration = mass * parameters["g"] * math.sin(math.radians(10.0)) / (mass + wheels)
    query = parse_query("time when forward_speed = 0", result.system.model)
    assert query.evaluate(result.bodies) == pytest.approx(4.6 / deceleration, abs=1e-6)
