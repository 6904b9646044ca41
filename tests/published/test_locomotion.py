"""Machines of thesis chapter 1 against independent computations that no scenario can hold."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import Numerics, compile, simulate, state
from draisine.analysis.linear import linearise
from draisine.mechanics.connection import (
    locomotion,
    solve_kinematics,
    solve_torques,
    stokes_connection,
)
from draisine.mechanics.constraints import mode_of
from draisine.mechanics.tree import assemble
from draisine.vehicles.purcell_swimmer import purcell_swimmer
from draisine.vehicles.snake import snake

SNAKE = json.loads(Path(__file__).with_name("snake_states.json").read_text())
SEGWAY = json.loads(Path(__file__).with_name("segway_states.json").read_text())["states"]


@pytest.mark.parametrize("formulation", ["multiplier", "projected"])
def test_accelerations_and_loads_of_a_two_wheeled_pendulum(formulation):
    """Independent computation in maximal coordinates: 16 rows of rank 15."""
    system = compile("segway")
    for case in SEGWAY:
        names = ("yaw", "pitch", "yaw_rate", "pitch_rate")
        start = state(system, forward_speed=case["v"], **{n: case[n] for n in names})
        inputs = {"left": case["tau_left"], "right": case["tau_right"]}
        vdot, lam = system.accelerate(start, inputs, formulation=formulation)
        expected = case["second_derivatives_x_y_yaw_pitch_left_right"]
        assert_allclose(vdot[-2:], expected[-2:], rtol=1e-10)
        assert_allclose(lam[[0, 3]], case["normal_forces_left_right"], rtol=1e-9)
        assert_allclose(lam[2], lam[5], rtol=1e-9)  # the share of least norm


def test_the_connection_of_purcells_swimmer():
    """Independent computation, by quadrature of resistive force theory."""
    expected = {
        (0.3, -0.5): [
            [0.007016869266088064, 0.05242212975213212],
            [-0.16142325430490745, 0.15974783392560266],
            [0.2615126774824965, 0.251599627307099],
        ],
        (-1.0, 0.4): [
            [-0.12139682763731506, 0.015422014114473286],
            [-0.1310542454841254, 0.1426790601088431],
            [0.2200453448609193, 0.2825167107357942],
        ],
    }
    tree = assemble(purcell_swimmer())
    for shape, A in expected.items():
        found = stokes_connection(locomotion(tree, (), np.eye(3), np.array(shape)))
        assert_allclose(found, A, atol=1e-14)


def test_a_light_swimmer_follows_its_stokes_connection():
    """With mass the run differs by mass over drag: a thousandth of it, an error a thousandth."""
    from draisine.model.motion import sine

    motions = {"rear": sine(0.7, 1.0, math.pi / 2), "front": sine(0.7, 1.0)}
    errors = []
    for mass in (1e-2, 1e-3):
        system = compile("purcell_swimmer", mass=mass, **motions)
        run = simulate(system, state(system), 1.0, numerics=Numerics(dt=0.5)).to_xarray()
        pose = [*run.position.values[-1, :2], run.yaw.values[-1]]
        errors.append(np.abs(np.array(pose) - [0.0837860746241507, 0.015512493449999979, 0]).max())
    assert errors[1] < 2e-3
    assert_allclose(errors[0] / errors[1], 10.0, rtol=0.3)


@pytest.mark.parametrize(
    "case", SNAKE["cases"], ids=lambda case: f"{len(case['joints']) + 1} links"
)
def test_torques_of_a_snake_are_those_of_least_norm(case):
    """Head at a steady speed, all joints driven: six links leave three dimensions of torques open."""
    joints, speeds = np.array(case["joints"]), np.array(case["speeds_Vx_Vy_Wz_rates"])
    rises = np.array(case["accelerations"])
    model = snake(links=len(joints) + 1)
    at = locomotion(assemble(model), mode_of(model), np.eye(3), joints)
    found = solve_torques(solve_kinematics(at), np.zeros(0), speeds[3:], rises[3:])
    assert_allclose(found.motion.v[[0, 1, 5]], speeds[:3], rtol=0, atol=1e-11)
    open_dimensions = np.linalg.matrix_rank(found.tau_static, tol=1e-9)
    assert open_dimensions == case["indeterminate_dimension"]
    tau = found.tau
    if open_dimensions:
        tau = tau - found.tau_static @ np.linalg.lstsq(found.tau_static, tau, rcond=None)[0]
    assert_allclose(tau, case["torque_min_norm"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("shape", SNAKE["shapes"], ids=lambda s: str(s["joints"][:2]))
def test_shapes_in_which_the_wheels_of_a_snake_agree(shape):
    """Wheels on one circle lose a rank (remark 1.11); elsewhere the joints' rates must agree."""
    joints = np.array(shape["joints"])
    model = snake(links=len(joints) + 1)
    at = locomotion(assemble(model), mode_of(model), np.eye(3), joints)
    sizes = np.linalg.svd(np.asarray(at.A, float), compute_uv=False)
    assert_allclose(sizes, shape["singular_values_A"], rtol=0, atol=1e-12)
    expected = shape["compatibility_matrix"]
    if expected:
        A, B = np.asarray(at.A, float), np.asarray(at.B, float)
        left = np.linalg.svd(A)[0][:, 3:].T @ B  # rows that no twist of the base can serve
        K = np.array(expected)
        share = np.linalg.lstsq(left.T, K.T, rcond=None)[0]
        assert_allclose(left.T @ share, K.T, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("lean", "yaw_rate", "spin", "square"),
    [
        (0.3, -3.0, 1.2009459449672875, -0.7184838728430147),
        (0.8, 3.0, -4.130546063289826, 54.93775248769839),
        (-0.5, 4.0, 1.4667921160530595, 11.543722157536841),
    ],
)
def test_a_disc_on_a_circle_nods_or_falls(lean, yaw_rate, spin, square):
    """The square of its nutation, by closed form; negative: it is unstable."""
    system = compile("rolling_disc")
    start = state(system, lean=lean, yaw_rate=yaw_rate, spin=spin)
    values = linearise(system, start).eigenvalues()
    squares = -(values**2)
    assert np.abs(squares - square).min() < 1e-8 * abs(square)


@pytest.mark.parametrize(
    ("inclination", "yaw_rate", "nutation"),
    [(0.2, 19.875317851579773, 15.496298578594653), (0.05, 39.62643298103295, 30.707279064108707)],
)
def test_eulers_disc_circles_and_nods(inclination, yaw_rate, nutation):
    """Steady motion with the centre at rest, and its nutation, by closed form."""
    system = compile("euler_disc", mass=1.0, radius=0.5)
    start = state(system, lean=math.pi / 2 - inclination, yaw_rate=yaw_rate, spin=0.0)
    values = linearise(system, start).eigenvalues()  # refuses what is not steady
    assert_allclose(np.abs(values.imag).max(), nutation, rtol=1e-9)
