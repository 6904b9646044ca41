"""Machines on inclined planes: closed forms, and the same machine in a turned world."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from analysis.published import EXACT
from draisine.algebra.lie import quaternion, rotation
from draisine.analysis.equilibrium import steady, steady_driven
from draisine.analysis.lqr import balance
from draisine.analysis.root_locus import root_locus
from draisine.errors import ParameterError
from draisine.experiment.tables.inclined import (
    describe_motion,
    solve_straight,
    tabulate_motion,
)
from draisine.experiment.tables.loci import compute_root_locus
from draisine.terrain import plane

CAMBER = 0.1
SLOPE = 0.07


def ground_axes(slope: float, camber: float) -> Any:
    """Return the axes of an inclined plane in the world: a turn about y, then one about its x."""
    cs, ss, cc, sc = np.cos(slope), np.sin(slope), np.cos(camber), np.sin(camber)
    rise = np.array([[cs, 0.0, -ss], [0.0, 1.0, 0.0], [ss, 0.0, cs]])
    roll = np.array([[1.0, 0.0, 0.0], [0.0, cc, -sc], [0.0, sc, cc]])
    return rise @ roll


def test_forces_on_a_car_balance_its_weight() -> None:
    car = draisine.compile("car", slope=SLOPE, camber=CAMBER)
    drive = ["rear_left", "rear_right"]
    motion = steady(car, free=drive, forward_speed=10.0, yaw=0.0)
    total = sum(motion.contact_forces.values())
    weight = 9.81 * sum(body.mass for body in car.model.bodies)
    wanted = [np.cos(SLOPE) * np.cos(CAMBER), np.sin(SLOPE), np.cos(SLOPE) * np.sin(CAMBER)]
    assert_allclose(total, weight * np.array(wanted), rtol=1e-9)


def test_a_bicycle_stays_vertical_across_a_slope() -> None:
    """Knife-edged wheels: the contact force is vertical, and so is the plane that contains it.

    Small deviations obey the equations on level ground: lateral motion changes the height to first
    order, but the inertial force of this has no arm about the line of the contact points.
    """
    bicycle = draisine.compile("whipple", camber=CAMBER)
    motion = steady(bicycle, free=["steer", "rear_wheel"], forward_speed=5.0, yaw=0.0)
    assert_allclose(motion.values["lean"], -CAMBER, atol=1e-10)
    assert_allclose(list(motion.inputs.values()), 0.0, atol=1e-9)
    values = motion.linear().eigenvalues()
    real, imaginary, capsize, castering = EXACT[5]
    for wanted in (real + 1j * imaginary, capsize, castering):
        assert np.abs(values - wanted).min() < 1e-9


def test_a_disc_stays_vertical_across_a_slope() -> None:
    disc = draisine.compile("rolling_disc", camber=CAMBER)
    motion = steady(disc, forward_speed=3.0, yaw=0.0)
    assert_allclose(motion.values["lean"], -CAMBER, atol=1e-10)


def test_a_camber_across_the_heading_is_a_slope() -> None:
    """Turned left by 90 degrees, a machine on a cambered road rides uphill."""
    free = ["steer", "rear_wheel"]
    across = draisine.compile("motorcycle", camber=CAMBER)
    uphill = draisine.compile("motorcycle", slope=CAMBER)
    turned = steady(across, free=free, forward_speed=20.0, yaw=np.pi / 2)
    ahead = steady(uphill, free=free, forward_speed=20.0, yaw=0.0)
    assert_allclose(turned.inputs["rear_wheel"], ahead.inputs["rear_wheel"], rtol=1e-9)
    both = [np.sort_complex(motion.linear().eigenvalues()) for motion in (turned, ahead)]
    assert_allclose(*both, atol=1e-6)


def test_the_parameters_of_a_vehicle_of_its_own_are_used() -> None:
    bicycle = draisine.compile("whipple", slope=SLOPE, camber=CAMBER)
    assert_allclose(bicycle.model.gravity, ground_axes(SLOPE, CAMBER).T @ [0.0, 0.0, -9.81])
    assert "camber" not in draisine.compile("whipple").parameters


def test_runs_on_an_inclined_terrain_are_those_of_the_turned_world() -> None:
    """Gravity tilted on level ground, or the ground tilted: one motion, seen from other axes."""
    R = ground_axes(SLOPE, CAMBER)
    inclined = draisine.compile("whipple", slope=SLOPE, camber=CAMBER)
    start = draisine.state(inclined, forward_speed=6.0, lean=0.05, yaw=0.2)
    ours = draisine.simulate(inclined, start, 0.5)
    tilted = replace(start, q=np.asarray(quaternion(R @ rotation(start.q))), p=R @ start.p)
    ground = plane(SLOPE, camber=CAMBER)
    theirs = draisine.simulate(draisine.compile("whipple"), tilted, 0.5, terrain=ground)
    assert_allclose(R @ ours.final().p, theirs.final().p, atol=1e-8)
    assert_allclose(ours.final().r, theirs.final().r, atol=1e-8)


def test_deviations_on_a_camber_follow_the_linear_system() -> None:
    bicycle = draisine.compile("whipple", camber=CAMBER, crown=0.03)
    motion = steady(bicycle, free=["steer", "rear_wheel"], forward_speed=5.0, yaw=0.0)
    linear = motion.linear()
    size = 1e-5
    start = {name: motion.values[name] for name in linear.states}
    ends = []
    for change in (size, -size):
        disturbed = draisine.state(bicycle, **start | {"lean_rate": start["lean_rate"] + change})
        run = draisine.simulate(bicycle, disturbed, 0.5, inputs=motion.inputs).to_xarray()
        ends.append(np.array([run[name].values[-1] for name in ("lean", "steer", "yaw")]))
    moved = linear.simulate({"lean_rate": start["lean_rate"] + size}, [0.0, 0.5])
    wanted = [moved[name].values[-1] - start[name] for name in ("lean", "steer", "yaw")]
    assert_allclose((ends[0] - ends[1]) / 2.0, wanted, rtol=1e-6, atol=1e-6 * size)


def test_a_root_locus_over_the_camber_of_any_machine() -> None:
    car = draisine.compile("car")
    locus = root_locus(car, "camber", [0.0, 0.1], forward_speed=5.0, yaw=0.0)
    assert locus.unit == "rad"
    assert not locus.end


def balanced_torque(slope: float) -> float:
    """Return the torque (N m) of each wheel of a segway that holds the weight on a slope."""
    segway = draisine.compile("segway")
    weight = 9.81 * sum(body.mass for body in segway.model.bodies)
    return 0.5 * weight * np.sin(slope) * segway.parameters["r"]


def test_driven_machines_keep_their_heading_on_a_slope() -> None:
    segway = draisine.compile("segway", slope=SLOPE)
    motion = steady_driven(segway, forward_speed=1.0)
    assert_allclose(motion.values["yaw"], 0.0, atol=1e-12)
    assert_allclose(list(motion.inputs.values()), balanced_torque(SLOPE), rtol=1e-9)
    assert "yaw = 0," in repr(motion)
    assert "yaw = " not in repr(steady_driven(draisine.compile("segway"), forward_speed=1.0))
    law = balance(segway, {"pitch": 100.0}, forward_speed=1.0)
    assert_allclose(list(law.feedforward.values()), balanced_torque(SLOPE), rtol=1e-9)


def test_driven_machines_keep_the_heading_of_their_start_on_a_slope() -> None:
    segway = draisine.compile("segway", slope=SLOPE)
    start = draisine.state(segway, yaw=0.3, forward_speed=1.0)
    assert_allclose(steady_driven(segway, start=start, forward_speed=1.0).values["yaw"], 0.3)
    assert_allclose(steady_driven(segway, start=start, yaw=0.1).values["yaw"], 0.1)


def test_a_given_lean_decides_the_heading_of_a_bicycle_on_a_slope() -> None:
    """Knife-edged wheels: the vertical plane of the bicycle contains gravity."""
    bicycle = draisine.compile("whipple", slope=0.1)
    motion = steady_driven(bicycle, ["steer", "rear_wheel"], forward_speed=5.0, lean=0.05)
    assert_allclose(abs(np.sin(motion.values["yaw"])), np.tan(0.05) / np.tan(0.1), rtol=1e-6)


def test_a_root_locus_over_the_slope_keeps_the_heading() -> None:
    angles = np.array([0.0, SLOPE])
    data = compute_root_locus("segway", {}, None, "slope", angles, {"forward_speed": 1.0})
    for angle, torques in zip(angles, data.input_value.values, strict=True):
        assert_allclose(torques, balanced_torque(angle), rtol=1e-9, atol=1e-9)


def test_angles_beyond_a_right_angle_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"car: camber = 2 rad must be below a right angle"):
        draisine.compile("car", camber=2.0)


def test_the_table_of_the_command_lists_forces_and_inputs() -> None:
    data = solve_straight("unicycle", speed=3.0, slope=SLOPE)
    headings, rows = tabulate_motion(data)
    assert len(rows) == 1
    assert len(headings) == len(rows[0])
    lines = "\n".join(describe_motion(data))
    # The wheel's torque over its radius is the weight along the slope.
    assert f"wheel {data.input_value.sel(input='wheel').item():.5g}" in lines
    system = draisine.compile("unicycle")
    weight = 9.81 * sum(body.mass for body in system.model.bodies)
    along = data.contact_force.sel(axis="along").item()
    assert_allclose(along, weight * np.sin(SLOPE), rtol=1e-9)


def test_the_struts_of_a_rover_are_passive_and_deflect_by_metres() -> None:
    rover = str(Path(__file__).parents[2] / "docs" / "tutorial" / "rover.py")
    data = solve_straight(rover, speed=1.0, slope=SLOPE, camber=CAMBER)
    struts = [str(name) for name in data["input"].values if str(name).endswith("_strut")]
    assert len(struts) == 4
    assert_allclose(data.input_value.sel(input=struts), 0.0)
    text = describe_motion(data)[0]
    for name in struts:
        assert f"{name} {data.motion.sel(quantity=name).item():.4g} m" in text
    assert "yaw 0 deg" in text
