"""Coulomb's law at one and at several contacts: a solution is found, and it obeys the law."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from draisine.codegen.targets.native import shared_code
from draisine.simulation.contact.complementarity.coulomb import (
    FrictionContact,
    make_friction_problem,
    solve_friction,
    solve_friction_law,
)
from draisine.simulation.contact.complementarity.saddle_point import solve_constrained
from draisine.simulation.contact.complementarity.sharing import share_redundant_forces
from draisine.simulation.contact.complementarity.single_contact import solve_single_contact
from draisine.simulation.contact.status import Status


def obeys(W, b, lam, mu):
    """Return whether lam obeys the law, to 1e-9 of the velocities' and impulses' scales."""
    u, small, size = W @ lam + b, 1e-9 * np.abs(b).max(), 1e-9 * max(np.abs(lam).max(), 1e-300)
    for k, friction in enumerate(mu):
        (N, *push), (gap, *slip) = lam[3 * k : 3 * k + 3], u[3 * k : 3 * k + 3]
        limit, rub = friction * N, np.hypot(*push)
        # Rounding leaves a load of 1e-17 at an open contact
        pressed = size < N
        lawful = (
            N >= 0 and gap >= -small and (not pressed or abs(gap) <= small) and rub <= limit + size
        )
        if (
            np.hypot(*slip) > small and pressed
        ):  # it slides: friction at the limit, against the slip
            lawful = lawful and rub >= limit - size
            lawful = lawful and np.dot(push, slip) <= -(1 - 1e-6) * rub * np.hypot(*slip)
        if not lawful:
            return False
    return True


def solve_single_friction(W, b, mu):
    """Return the force lam (3) of one contact with W (3, 3) and free velocity b (3), or None if no solution
    exists.
    """
    lam, free, block = np.empty(3), np.array(b, dtype=float), np.array(W, dtype=float, order="C")
    fails = shared_code(solve_single_contact)(block, 3, free, float(mu), lam, np.empty(8))
    return None if fails else lam


def inertia(rng, rows):
    root = rng.normal(size=(rows, rows))
    return root @ root.T + 0.01 * np.eye(rows)


@pytest.mark.parametrize("seed", range(5))
def test_one_contact_with_friction_always_has_a_force(seed):
    """However strong the coupling of normal and tangential motion: (W + ratio P) lam = -b leads from
    outside the cone to its inside.
    """
    rng = np.random.default_rng(seed)
    for _ in range(100):
        W, b, mu = inertia(rng, 3), rng.normal(size=3), rng.uniform(0, 3)
        assert obeys(W, b, solve_single_friction(W, b, mu), [mu])


def test_a_contact_whose_hold_is_broken_slides():
    W, b = np.diag([1.0, 2.0, 3.0]), np.array([-1.0, 1.0, 0.0])
    assert solve_single_friction(W, b, 0.5)[1] == pytest.approx(-0.5)  # just holds
    assert solve_single_friction(W, b, 0.4)[1] == pytest.approx(-0.4)  # slides
    hold = solve_single_friction(W, np.array([-1.0, 0.9, 0.0]), 0.5)
    assert W[1] @ hold + 0.9 == pytest.approx(0.0, abs=1e-15)


def test_friction_without_limit_may_have_no_force():
    W = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert solve_single_friction(W, np.array([-1.0, -2.0, 0.0]), np.inf) is None
    assert obeys(
        W, np.array([-1.0, -2.0, 0.0]), solve_single_friction(W, [-1.0, -2.0, 0.0], 5.0), [5.0]
    )


def test_two_contacts_that_chase_each_other_settle():
    """A bicycle hits with its rear wheel while its front wheel stands: solving one after the other
    goes round in circles; the only solution slides in front.
    """
    W = np.array(
        [
            [0.0361, -0.0104, 0.0309, 0.0057, -0.0125, 0.0121],
            [-0.0104, 0.7809, 0.0061, 0.0218, 0.0322, 0.0048],
            [0.0309, 0.0061, 0.0702, 0.0175, 0.0003, 0.0297],
            [0.0057, 0.0218, 0.0175, 0.0789, 0.0025, 0.0770],
            [-0.0125, 0.0322, 0.0003, 0.0025, 0.4848, -0.0388],
            [0.0121, 0.0048, 0.0297, 0.0770, -0.0388, 0.1452],
        ]
    )
    b = np.array([-0.296881984, 0.680765916, -0.0917957503, 0.0, 0.0, 0.0])
    lam = solve_friction(W, b, [FrictionContact(0, 3, 0.9), FrictionContact(3, 3, 0.9)], 1e-13)
    assert obeys(W, b, lam, [0.9, 0.9])


def test_three_contacts_of_which_one_opens_are_found():
    """The front wheel hits an edge from a face: by turns each contact undoes what the others do; the
    only solution slides on both, and the rear wheel leaves the ground.
    """
    W = np.array(
        [
            [0.061, -0.0082, -0.0326, 0.0074, -0.0168, -0.0032, 0.0121, -0.0125, 0.006],
            [-0.0082, 0.7405, -0.0097, 0.0135, 0.0196, -0.0328, 0.0172, 0.0197, -0.023],
            [-0.0326, -0.0097, 0.0443, -0.008, 0.0058, 0.0234, -0.0171, 0.0046, 0.0115],
            [0.0074, 0.0135, -0.008, 0.0602, -0.0276, -0.0916, 0.1171, -0.0082, -0.0598],
            [-0.0168, 0.0196, 0.0058, -0.0276, 0.536, 0.0134, -0.0545, 0.5106, -0.0361],
            [-0.0032, -0.0328, 0.0234, -0.0916, 0.0134, 0.2702, -0.2953, -0.0046, 0.2794],
            [0.0121, 0.0172, -0.0171, 0.1171, -0.0545, -0.2953, 0.3504, -0.0238, -0.2882],
            [-0.0125, 0.0197, 0.0046, -0.0082, 0.5106, -0.0046, -0.0238, 0.4932, -0.0375],
            [0.006, -0.023, 0.0115, -0.0598, -0.0361, 0.2794, -0.2882, -0.0375, 0.3489],
        ]
    )
    b = np.array([0, -0.0002, 0.0124, -0.1194, 0.008, -1.6236, 0, -0.3257, -1.2816])
    lam = solve_friction(W, b, [FrictionContact(at, 3, 0.9) for at in (0, 3, 6)], 1e-13)
    assert obeys(W, b, lam, [0.9] * 3)
    assert lam[0] == 0.0


@pytest.mark.parametrize("contacts", [2, 3, 4])
def test_contacts_at_rest_always_have_forces(contacts):
    """W is positive definite: then there are forces (Acary, Cadoux, Lemarechal, Malick 2011,
    doi:10.1002/zamm.201000073), and whatever the contacts do they are found.
    """
    rng, n = np.random.default_rng(contacts), 3 * contacts
    for _ in range(500):
        W, b, mu = inertia(rng, n), rng.normal(size=n), rng.uniform(0, 3, contacts)
        touches = [FrictionContact(3 * k, 3, friction) for k, friction in enumerate(mu)]
        assert obeys(W, b, solve_friction(W, b, touches, 1e-13), mu)


@pytest.mark.parametrize(("contacts", "freedoms"), [(2, 3), (3, 6), (4, 6), (4, 9)])
def test_contacts_that_repeat_each_other_have_forces(contacts, freedoms):
    """More rows than freedoms, as of a wheel between edges: forces are not unique, speeds are."""
    rng, n = np.random.default_rng(contacts), 3 * contacts
    for _ in range(100):
        C, M, mu = (
            rng.normal(size=(n, freedoms)),
            inertia(rng, freedoms),
            rng.uniform(0, 2, contacts),
        )
        W, b = C @ np.linalg.solve(M, C.T), C @ rng.normal(size=freedoms)
        touches = [FrictionContact(3 * k, 3, friction) for k, friction in enumerate(mu)]
        assert obeys(W, b, solve_friction(W, b, touches, 1e-13), mu)


def complementary(W, b):
    """Return all lam >= 0 with u = W lam + b >= 0 and lam u = 0, by trying every set of rows."""
    found = []
    for closed in product([False, True], repeat=len(b)):
        lam, rows = np.zeros(len(b)), np.flatnonzero(closed)
        lam[rows] = np.linalg.solve(W[np.ix_(rows, rows)], -b[rows])
        if lam.min() >= 0 and (W @ lam + b)[np.logical_not(closed)].min(initial=0.0) >= 0:
            found.append(lam)
    return found


@pytest.mark.parametrize("contacts", [1, 2, 3])
def test_contacts_that_slide_have_forces_unless_there_are_none(contacts):
    """Their drag may turn the sign of all that W holds: with some there are several solutions, with
    others none, and what is said is true.
    """
    rng, counts = np.random.default_rng(contacts), Counter()
    for _ in range(300):
        W, b = rng.normal(size=(contacts, contacts)), rng.normal(size=contacts)
        known = complementary(W, b)
        lam = solve_friction(W, b, [FrictionContact(k, 1, 0.9) for k in range(contacts)], 1e-13)
        assert (lam is None) == (not known)
        assert lam is None or min(np.abs(lam - one).max() for one in known) < 1e-9 * np.abs(
            lam
        ).max(initial=1.0)
        counts[min(len(known), 2)] += 1
    assert min(counts[n] for n in range(3)) > 20


def test_with_a_little_less_friction_than_holds_a_contact_slips_a_little():
    """Beside one that slides: what it slips grows evenly with what is lacking, and holding is its limit."""
    W = np.array(
        [
            [0.01061, -0.00318, -0.01145, 0.00413],
            [-0.01097, 0.04733, 0.01903, 0.04247],
            [-0.01224, 0.01903, 0.46757, -0.02008],
            [-0.02983, 0.04247, -0.02008, 0.24855],
        ]
    )
    b = np.array([0.09726586, -0.12823068, -0.33043008, 2.82918061])
    hold, slips = -np.linalg.solve(W, b), []
    for lack in (1e-6, 1e-9):
        mu = np.hypot(*hold[2:]) / hold[1] * (1 - lack)
        touches = [FrictionContact(0, 1, 0.9), FrictionContact(1, 3, mu)]
        lam = solve_friction(W, b, touches, 1e-13)
        assert lam == pytest.approx(hold, rel=1e3 * lack)
        slips.append((W @ lam + b)[2:] / lack)
    assert slips[0] == pytest.approx(slips[1], rel=1e-4)


def test_a_sliding_contact_may_lock():
    """Its drag makes the inverse inertia negative, and nothing else holds it: Painleve's paradox."""
    touch = [FrictionContact(0, 1, 0.9)]
    assert solve_friction(np.array([[-0.1]]), np.array([-9.81]), touch, 1e-13) is None
    assert solve_friction(np.array([[-0.1]]), np.array([1.0]), touch, 1e-13) == pytest.approx(0.0)


def test_forces_that_are_not_unique_are_shared_so_that_all_push():
    """Three contacts wedge a wheel: the least forces pull at one of them, others push at all."""
    null = np.array([[1.0], [-0.5], [-0.5]]) / np.sqrt(1.5)
    lam = np.array([-0.34, 4.7, 4.7])
    shared = lam.copy()
    share_redundant_forces(
        shared, 3, null.ravel(), 1, np.arange(3), np.ones(3, int), np.zeros(3), 3, 0, np.empty(36)
    )
    assert shared.min() >= 0
    assert np.cross(shared - lam, null[:, 0]) == pytest.approx(0.0, abs=1e-12)


def test_forces_that_can_only_be_none_are_none():
    """A wheel at rest that touches a wall: what it takes from the wall is within no cone, however small;
    the least forces would pull at it.
    """
    null = np.array([0.0, 0.0, 0.0, 1.0, -1.0, 0.0]) / np.sqrt(2.0)
    lam = np.array([500.0, 0.0, 0.0, -127.0, 127.0, 0.0])
    status, mu = np.full(2, Status.ROLLING), np.full(2, 0.8)
    share_redundant_forces(lam, 6, null, 1, np.array([0, 3]), status, mu, 2, 1, np.empty(126))
    assert lam == pytest.approx([500.0, 0.0, 0.0, 0.0, 0.0, 0.0], abs=1e-10 * 500.0)


def axles(rng, count):
    """Return W of wheels in pairs, each of which shares its row across, and forces within the cones of
    mu = 0.8, with loads from 0.01 to 100 N.
    """
    C = rng.normal(size=(6 * count, 5 * count))
    C[5::6] = C[2::6]
    W, lam = C @ np.linalg.solve(inertia(rng, 5 * count), C.T), np.zeros((2 * count, 3))
    lam[:, 0], turn = 10.0 ** rng.uniform(-2, 2, 2 * count), rng.uniform(0, 2 * np.pi, 2 * count)
    size = 0.8 * rng.uniform(0, 0.9, 2 * count) * lam[:, 0]
    lam[:, 1], lam[:, 2] = size * np.cos(turn), size * np.sin(turn)
    return W, lam


@pytest.mark.parametrize("count", [1, 2])
def test_wheels_of_an_axle_do_not_strain_against_each_other_for_nothing(count):
    """Where all can hold within their cones, all do."""
    rng, touches = (
        np.random.default_rng(count),
        [FrictionContact(3 * k, 3, 0.8) for k in range(2 * count)],
    )
    for _ in range(20):
        W, lam = axles(rng, count)
        found = solve_friction(W, -W @ lam.ravel(), touches, 1e-13).reshape(-1, 3)
        assert W @ found.ravel() == pytest.approx(W @ lam.ravel(), abs=1e-9)
        assert (np.hypot(found[:, 1], found[:, 2]) < 0.8 * found[:, 0]).all()


@pytest.mark.parametrize("beyond", [-1e-6, -1e-9, 1e-11, 6e-10, 1e-7])
def test_a_wheel_of_an_axle_may_be_on_the_verge(beyond):
    """Its friction along is at the limit, hardly below or beyond: the other one takes all that is
    across.
    """
    rng, touches = np.random.default_rng(4), [FrictionContact(3 * k, 3, 0.8) for k in range(2)]
    for _ in range(10):
        W, lam = axles(rng, 1)
        lam[0, 1:] = 0.8 * lam[0, 0] * (1.0 + beyond), 0.0
        b = -W @ lam.ravel()
        assert obeys(W, b, solve_friction(W, b, touches, 1e-13), [0.8] * 2)


def test_a_contact_alone_does_not_know_what_was_solved_before():
    """Four wheels share a weight in ways that no motion tells; one alone has no such choice."""
    C, law = np.zeros((12, 6)), make_friction_problem(4)
    for k, (x, y) in enumerate(product([1, -1], repeat=2)):
        C[3 * k : 3 * k + 3] = [0, 0, 1, y, -x, 0], [1, 0, 0, 0, 0, -y], [0, 1, 0, 0, 0, x]
    law.first_row[:], law.rows[:], law.mu[:] = 3 * np.arange(4), 3, 0.5
    for W, b in ((C @ C.T, -9.81 * C[:, 2]), (np.eye(3), np.array([-1.0, 0.1, 0.0]))):
        law.sizes[:2], law.W[: W.size], law.b[: len(b)] = (len(b) // 3, len(b)), W.ravel(), b
        assert solve_friction_law(law, 1e-13) == 0
    assert law.new[:3] == pytest.approx([1.0, -0.1, 0.0], abs=1e-15)


def test_machine_code_is_the_routine():
    rng = np.random.default_rng(3)
    for mu in (0.0, 0.3, 2.0, np.inf):
        W, b, lam = inertia(rng, 3), rng.normal(size=3) - [2.0, 0.0, 0.0], np.empty(3)
        lost = solve_single_contact(W.ravel(), 3, b, mu, lam, np.empty(8))
        found = solve_single_friction(W, b, mu)
        assert (found is None) == bool(lost)
        assert lost or found == pytest.approx(lam, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("repeats", [0, 1, 2])
def test_saddle_points_with_rows_that_repeat(repeats):
    """Both equations hold, and the multipliers are the least: nothing of them is along what has no
    effect.
    """
    rng = np.random.default_rng(repeats)
    M, C, x0 = inertia(rng, 6), rng.normal(size=(4, 6)), rng.normal(size=6)
    C[4 - repeats :] = rng.normal(size=(repeats, 4 - repeats)) @ C[: 4 - repeats]
    right = rng.normal(size=6)
    x, lam, redundant = solve_constrained(M, right, C, C @ x0)
    assert redundant == repeats
    assert M @ x - C.T @ lam == pytest.approx(right, abs=1e-10)
    assert C @ x == pytest.approx(C @ x0, abs=1e-11)
    idle = np.linalg.svd(C)[0][:, 4 - repeats :]
    assert np.abs(idle.T @ lam).max(initial=0.0) < 1e-10 * np.abs(lam).max()
