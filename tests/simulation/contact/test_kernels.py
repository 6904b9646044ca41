"""The generic path: equal to the closed form of every mode, and its rows are derivatives of gaps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls

import draisine
from draisine.simulation.contact.complementarity.active_set import (
    make_choice,
    share_pulls,
    solve_coulomb_forces,
)
from draisine.simulation.contact.complementarity.coulomb import make_friction_problem
from draisine.simulation.contact.complementarity.linear import solve_by_complete_pivoting
from draisine.simulation.contact.complementarity.sharing import push_least, share_redundant_forces
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.table import WheelOnFeature
from draisine.system.generic import make_generic
from draisine.terrain import Terrain, edge, face, move_ground, plane
from draisine.terrain.motions import Turn
from simulation.contact.conftest import bicycle

MODES = [("rolling", "rolling"), ("rolling", "open"), ("open", "rolling"), ("open", "open")]


@pytest.mark.parametrize("statuses", MODES)
def test_accelerations_and_forces_are_those_of_the_closed_form(statuses):
    mode = dict(zip(("rear", "front"), statuses, strict=True))
    system = bicycle()
    rng = np.random.default_rng(1)
    look = ContactQuery(make_generic(system), plane(), np.zeros(3))
    closed = [
        (WheelOnFeature(k, 0), Status.ROLLING, np.inf)
        for k, s in enumerate(statuses)
        if s == "rolling"
    ]
    for _ in range(5):
        asked = {"lean": rng.normal(scale=0.3), "steer": rng.normal(scale=0.3)}
        asked |= {"lean_rate": rng.normal(), "steer_rate": rng.normal()}
        state = draisine.state(system, mode=mode, forward_speed=rng.uniform(1, 6), **asked)
        machine = system.machine(mode)
        seen = machine.observation(machine.enter(state))
        vdot, lam, _ = look.accelerate(0.0, look.machine.enter(state, np.zeros(0)), closed)
        assert_allclose(vdot, seen["vdot"], rtol=1e-9, atol=1e-8)
        forces = seen["forces"].reshape(2, 3)
        for (contact, *_), push in zip(closed, lam, strict=True):
            assert_allclose(push, forces[contact.wheel], rtol=1e-8, atol=1e-6)


GROUND = Terrain(
    [
        face("slope", (-0.2, 0.1, 1.0), 0.03),
        edge("ridge", (0.4, 0.1, -0.05), (0.3, 1.0, 0.1), (-0.5, 0.0, 1.0), (0.6, 0.0, 1.0)),
    ]
)
TURNING = Terrain([move_ground(feature, Turn(0.7, (0.2, -0.1))) for feature in GROUND.features])


@pytest.mark.parametrize("ground", [GROUND, TURNING])
@pytest.mark.parametrize("feature", [0, 1])
@pytest.mark.parametrize("wheel", [0, 1])
def test_rows_and_targets_are_derivatives(ground, feature, wheel):
    """d gap / dt = stretch (C v - b) n, and c = d (b - C v) / dt at fixed v."""
    machine = make_generic(bicycle(), None, ground.motions)
    look = ContactQuery(machine, ground, np.zeros(3))
    rng = np.random.default_rng(7)
    contact, n = WheelOnFeature(wheel, feature), machine.speeds
    for _ in range(5):
        q = np.array([1.0, *rng.normal(scale=0.2, size=3)])
        r, v = rng.normal(scale=0.3, size=3), rng.normal(size=n)
        y = np.concatenate([q / np.linalg.norm(q), rng.normal(scale=0.1, size=3), r, v])
        h = 1e-5

        def at(s, y=y):
            moved = y.copy()
            moved[look.pose] += s * look.dynamics(0.3, y)["flow"]
            moved[:4] /= np.linalg.norm(moved[:4])
            return look.evaluate_rows(0.3 + s, moved, [contact])[0]

        row = at(0.0)
        rate = (look.gap(at(h)) - look.gap(at(-h))) / (2 * h)
        over = (look.jacobian(row) @ v - look.ground_velocity(row))[0]
        assert row[look.row.stretch][0] * over == pytest.approx(rate, rel=1e-6, abs=1e-7)

        def relative(s, v=v):
            row = at(s)
            return look.jacobian(row) @ v - look.ground_velocity(row)

        drift = (relative(h) - relative(-h)) / (2 * h)
        scale = 1.0 + np.abs(drift).max()
        assert_allclose(row[look.row.c], -drift, atol=1e-6 * scale)


def test_repeating_rows_get_the_minimum_forces():
    rng = np.random.default_rng(3)
    B = rng.normal(size=(7, 5))
    K = B @ B.T
    b = K @ rng.normal(size=7)
    x = np.zeros(7)
    spare = solve_by_complete_pivoting(
        K.copy().ravel(), b.copy(), x, np.zeros(7, dtype=np.int64), 7
    )
    assert spare == 2
    assert_allclose(x, np.linalg.lstsq(K, b, rcond=1e-10)[0], atol=1e-8)
    wrong = b + np.linalg.svd(K)[0][:, -1] * 10 * np.abs(K).max()
    assert (
        solve_by_complete_pivoting(K.copy().ravel(), wrong, x, np.zeros(7, dtype=np.int64), 7) == -1
    )


def _wedge(angle):
    """Return the rows (normal, along, across) of a body's points at (-0.1, 0, 0) and (0.1, 0, 0) on
    two faces that rise by an angle from the middle, over its velocity and its spin.
    """
    rows = []
    for side in (-1.0, 1.0):
        n = np.array([-side * np.sin(angle), 0.0, np.cos(angle)])
        for way in (n, [n[2], 0.0, -n[0]], [0.0, 1.0, 0.0]):
            rows.append([*way, *np.cross([side * 0.1, 0.0, 0.0], way)])
    return np.array(rows)


def choice_of(C, count):
    """Return contacts to choose from, each with three rows over six speeds."""
    choice = make_choice(6, 0, count)
    choice.sizes[0], choice.rows[:], choice.wheels[:] = count, 3, 0
    choice.C[:], choice.G[:] = C.ravel(), C.ravel()
    return choice


@pytest.mark.parametrize("angle", [0.3, 1e-3, 1e-6])
def test_a_wedge_takes_any_pull_from_its_contacts(angle):
    """However flat it is: forces along the chord of the contacts push at both."""
    C, lam = _wedge(angle), np.array([-1.0, 2.0, 0.5, 3.0, -1.0, 0.2])
    choice = choice_of(C, 2)
    choice.system.C[:6], choice.normals[:] = C, [0, 3]
    choice.system.rows, choice.system.multiplier[:6] = 6, lam
    share_pulls(choice, 2)
    found = choice.system.multiplier[:6]
    assert found[[0, 3]].min() >= 0.0
    assert_allclose(C.T @ found, C.T @ lam, atol=1e-9 * np.abs(found).max())


def test_forces_that_are_not_unique_keep_to_the_cones_of_friction():
    C, mu = _wedge(0.3), np.array([0.5, 0.5])
    inside = np.array([2.0, 0.1, 0.2, 3.0, -0.3, 0.1])
    chord = np.linalg.svd(C.T)[2][-1:].T
    for far in (-40.0, 0.0, 40.0):
        lam = inside + far * chord[:, 0]
        normals, status = np.array([0, 3]), np.full(2, Status.ROLLING)
        share_redundant_forces(lam, 6, chord.ravel(), 1, normals, status, mu, 2, 1, np.empty(126))
        assert_allclose(C.T @ lam, C.T @ inside, atol=1e-12 * (1.0 + abs(far)))
        for n, along, across in lam.reshape(2, 3):
            assert np.hypot(along, across) <= 0.5 * n


@pytest.mark.parametrize("seed", range(20))
def test_forces_of_many_contacts_find_their_cones(seed):
    """Wherever there are such forces: they are changed along null vectors alone."""
    rng = np.random.default_rng(seed)
    contacts = int(rng.integers(2, 6))
    size, count = 3 * contacts, int(rng.integers(1, 3 * contacts - 1))
    null, mu = np.linalg.qr(rng.normal(size=(size, count)))[0], rng.uniform(0.2, 1.5, contacts)
    inside = rng.normal(size=(contacts, 3))
    inside[:, 0] = 1.001 * np.hypot(*inside.T[1:]) / mu
    lam = inside.ravel() - null @ (null.T @ inside.ravel())
    found, status = lam.copy(), np.full(contacts, Status.ROLLING)
    normals = 3 * np.arange(contacts)
    share_redundant_forces(
        found,
        size,
        null.ravel(),
        count,
        normals,
        status,
        mu,
        contacts,
        0,
        np.empty(3 * size * (size + 1)),
    )
    left = found - lam
    assert_allclose(left, null @ (null.T @ left), rtol=0, atol=1e-9 * (1.0 + np.abs(found).max()))
    push, along, across = found.reshape(-1, 3).T
    assert np.all(np.hypot(along, across) <= mu * push)


@pytest.mark.parametrize("seed", range(20))
def test_the_least_forces_with_which_all_push_are_those_of_another_solver(seed):
    """Lawson and Hanson's way to the nearest point of a polyhedron, by non-negative least squares: where
    that leaves a residual there is such a point, where it leaves none there is none.
    """
    rng = np.random.default_rng(seed)
    null = np.linalg.qr(rng.normal(size=(9, 4)))[0]
    lam = rng.normal(size=9) + 0.4
    lam -= null @ (null.T @ lam)
    found, normals = lam.copy(), np.array([0, 2, 4, 6, 8])
    largest = np.abs(lam).max()
    push_least(found, 9, null.ravel(), 4, normals, 5, np.empty(39))
    all_push = found[normals].min() >= 0.0
    needed = 1e-9 * largest - lam[normals]
    weights, rest = nnls(np.vstack([null[normals].T, needed]), np.array([0.0] * 4 + [1.0]))
    assert all_push == (rest > 1e-9)
    if all_push:
        gap = np.append(null[normals].T @ weights, needed @ weights - 1.0)
        assert_allclose(found, lam - null @ gap[:4] / gap[4], rtol=0, atol=1e-9)
    else:
        assert_allclose(found, lam, rtol=0, atol=1e-9 * (1.0 + np.abs(found).max()))


def test_vectors_that_change_no_normal_force_are_left_alone():
    """Of contacts that must pull nothing is made: noise along what does not help them, least of all."""
    null = np.zeros((6, 2))
    null[[2, 5], 0], null[[1, 4], 1] = [0.6, -0.8], [0.8, 0.6]
    null[0, 0], null[3, 1] = 1e-17, -1e-17
    lam = np.array([-1.0, 3.0, 0.0, -2.0, -4.0, 0.0])
    found = lam.copy()
    status = np.full(2, Status.ROLLING)
    share_redundant_forces(
        found, 6, null.ravel(), 2, np.array([0, 3]), status, np.zeros(2), 2, 0, np.empty(126)
    )
    assert_allclose(found, lam, rtol=0, atol=1e-12)


def test_contacts_of_one_body_that_have_just_come_to_rest_hold():
    """What they still slip lets their demands differ by a little, which no force can meet."""
    C, M = _wedge(0.3), np.diag([2.0, 2.0, 2.0, 0.1, 0.1, 0.1])
    chord = np.linalg.svd(C.T)[2][-1]
    weight = np.array([0.0, 0.0, 20.0, 0.0, 0.0, 0.0])
    choice, law = choice_of(C, 2), make_friction_problem(2)
    choice.M[:], choice.right[:], choice.c[:] = M.ravel(), -weight, 1e-8 * chord
    law.mu[:] = 0.9
    assert solve_coulomb_forces(choice, law) == 0
    assert_allclose(choice.x[:6], 0.0, atol=1e-7)
    assert_allclose(C.T @ law.new, weight, atol=1e-6)
