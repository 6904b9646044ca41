"""Connections in the floating frame: axes of the base, origin at the mass centre (Mauny 2018, 1.4.1)."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import draisine
from draisine.analysis.connection import displacement, fourier, local_connection
from draisine.errors import ModelError
from draisine.results.bodies import Bodies
from draisine.results.queries import evaluate_series

MASS = 2.0  # kg, each half of the cat
LENGTH = 0.15  # m, mass centre of each half from the waist
AXIAL = 0.008  # kg m2
ACROSS = 0.03  # kg m2
AMPLITUDE = 0.8  # rad


def _locked_and_coupling(r):
    """Return I_lock and I_r of (1.3) for the cat, from its two rigid halves in the axes of the rear half."""
    bend, sway = r
    turns = [np.eye(3), Rotation.from_euler("YZ", [bend, sway]).as_matrix()]
    centres = [np.array([-LENGTH, 0.0, 0.0]), turns[1] @ [LENGTH, 0.0, 0.0]]
    arms = [c - (centres[0] + centres[1]) / 2 for c in centres]
    spread = np.diag([AXIAL, ACROSS, ACROSS])
    spins = np.column_stack([[0.0, 1.0, 0.0], Rotation.from_euler("Y", bend).as_matrix()[:, 2]])
    locked = np.zeros((3, 3))
    for R, d in zip(turns, arms, strict=True):
        locked += R @ spread @ R.T + MASS * (d @ d * np.eye(3) - np.outer(d, d))
    coupling = turns[1] @ spread @ turns[1].T @ spins
    # The velocity of the front half alone; the moment arms sum to zero, so no velocity of the frame enters.
    coupling += MASS * np.cross(arms[1], np.cross(spins.T, centres[1])).T
    return locked, coupling


def _circle(phase):
    """Return waist angles and their rates on the circle of `falling_cat(drive="sine")`."""
    w = 2 * np.pi
    r = AMPLITUDE * np.array([np.sin(w * phase), np.cos(w * phase)])
    return r, w * AMPLITUDE * np.array([np.cos(w * phase), -np.sin(w * phase)])


@pytest.fixture(scope="module")
def cat():
    return local_connection(draisine.compile("falling_cat"), frame="mass centre")


@pytest.mark.parametrize("r", [(0.0, 0.0), (0.4, 0.2), (-1.1, 0.7), (0.3, -1.4)])
def test_the_cat_turns_by_the_locked_inertia(cat, r):
    locked, coupling = _locked_and_coupling(np.array(r))
    A = cat(r)
    assert np.abs(A[:3]).max() < 1e-15
    assert A[3:] == pytest.approx(np.linalg.solve(locked, coupling), rel=1e-12, abs=1e-14)
    assert np.abs(cat.curvature(r, "bend", "sway")[:3]).max() < 1e-14


def test_a_circle_of_the_waist_turns_the_cat_about_a_fixed_mass_centre(cat):
    """Rodrigues vectors of an independent integration of Omega = -I_lock^-1 I_r rdot."""

    def rate(s, flat):
        r, rdot = _circle(s)
        locked, coupling = _locked_and_coupling(r)
        W = -np.linalg.solve(locked, coupling @ rdot)
        return (flat.reshape(3, 3) @ np.cross(np.eye(3), W)).ravel()

    end = solve_ivp(rate, (0.0, 1.0), np.eye(3).ravel(), rtol=1e-12, atol=1e-13).y[:, -1]
    path = fourier(2, 1)
    theta = AMPLITUDE * np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    found = displacement(cat, path, theta)
    assert found.distance < 1e-14
    assert pytest.approx(end.reshape(3, 3), abs=1e-9) == found.R


@pytest.mark.parametrize("machine", ["falling_cat", "satellite", "fish", "snake"])
def test_both_frames_describe_one_motion(machine):
    """The pose of the floating frame is that of the base times the shift to the mass centre."""
    system = draisine.compile(machine)
    base = local_connection(system)
    floating = local_connection(system, frame="mass centre")
    n = len(base.joints)
    path = fourier(n, 1)
    theta = np.concatenate(
        [[0.3 + 0.1 * k, 0.2 * np.cos(2 * k), 0.2 * np.sin(2 * k)] for k in range(n)]
    )
    until = 0.4  # an open path: the mass centre moves over the base
    moved = displacement(base, path, theta, until)
    shifted = displacement(floating, path, theta, until)
    start, end = (_mass_centre(system, path.shapes(np.array([s]))[0] @ theta) for s in (0.0, until))
    assert pytest.approx(moved.R, abs=1e-10) == shifted.R
    assert shifted.p == pytest.approx(moved.p + moved.R @ end - start, abs=1e-10)


def _mass_centre(system, r):
    """Return the mass centre in base axes, by poses of the bodies that are drawn at the shape r."""
    model = system.model
    poses = {model.bodies[0].name: np.eye(4)}
    for joint, angle in zip(model.joints, r, strict=True):
        turn = np.eye(4)
        turn[:3, :3] = Rotation.from_rotvec(angle * np.asarray(joint.axis, float)).as_matrix()
        point = np.asarray(joint.through, float)
        turn[:3, 3] = point - turn[:3, :3] @ point
        poses[joint.child] = poses[joint.parent] @ turn
    mass = np.array([float(body.mass) for body in model.bodies])
    centres = [poses[body.name] @ [*np.asarray(body.com, float), 1.0] for body in model.bodies]
    return (mass @ np.array(centres) / mass.sum())[:3]


def test_a_run_of_the_cat_leaves_its_mass_centre_at_rest():
    result = draisine.run("locomotion/falling-cat")
    bodies = Bodies(result.data)
    assert np.ptp(result.data["position"].values, axis=0).max() > 0.05
    for axis in "xyz":
        assert np.ptp(evaluate_series(f"mass_centre[{axis}]", bodies)) < 1e-10
        assert np.abs(evaluate_series(f"mass_centre_velocity[{axis}]", bodies)).max() < 1e-10


def test_a_cat_held_at_its_waist_has_no_floating_frame():
    with pytest.raises(ModelError, match=r"SO\(3\) cannot follow the mass centre"):
        local_connection(draisine.compile("falling_cat", base="SO(3)"), frame="mass centre")


def test_an_unknown_frame_is_named():
    with pytest.raises(
        ModelError, match=r"Unknown frame 'waist'\. Available frames: base, mass centre"
    ):
        local_connection(draisine.compile("falling_cat"), frame="waist")
