"""The impulse-level friction solver: residuals, closed forms, recorded and random problems."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.simulation.contact.complementarity.impulses import solve_contact_impulses

RECORDED = Path(__file__).parents[5] / "shared" / "reference" / "contact_problems.npz"
COMPLIANCE = 1e-8  # of tr(W_ii) / 3, the compliance of the solver


def violation(W, b, mu, impulse):
    """Return the largest violation of Coulomb's law (m/s, of the largest free velocity), computed from
    its definition and not by the solver's own residual.
    """
    worst = 0.0
    scale = np.repeat([np.trace(W[k : k + 3, k : k + 3]) / 3 for k in range(0, len(b), 3)], 3)
    softness = scale.copy()
    softness[::3] = min(x for x in np.diag(W)[::3] if x > 0.0)
    u = W @ impulse + b + COMPLIANCE * softness * impulse
    for k, friction in enumerate(mu):
        (normal, *push), (gap, *slip) = impulse[3 * k : 3 * k + 3], u[3 * k : 3 * k + 3]
        d, speed = scale[3 * k], float(np.hypot(*slip))
        limit, used = friction * normal, float(np.hypot(*push))
        worst = max(worst, -gap, -d * normal, min(abs(gap), d * normal), d * (used - limit))
        if normal > 0.0 and speed > 0.0 and used > 0.0:
            # It slips: friction is at its limit, the slip has no component across it and none along it.
            # (The direction of a creeping slip is known as well as its components are, not better.)
            along, across = np.array(push) / used, np.array([-push[1], push[0]]) / used
            wrong = max(abs(across @ slip), along @ slip)
            worst = max(worst, min(speed, d * (limit - used)), min(wrong, d * used))
        elif normal > 0.0 and used == 0.0:
            worst = max(worst, min(speed, d * limit))
    return worst / np.abs(b).max()


def random_problem(rng, contacts, speeds, friction):
    """Return a problem of a machine with random mass matrix and contact rows; with fewer speeds than
    rows W is rank-deficient.
    """
    root = rng.normal(size=(speeds, speeds))
    M = root @ root.T + 0.1 * np.eye(speeds)
    C = rng.normal(size=(3 * contacts, speeds))
    W = C @ np.linalg.solve(M, C.T)
    b = C @ rng.normal(size=speeds)
    return W, b, np.full(contacts, friction)


def test_a_single_contact_sticks_slides_or_opens():
    W = np.diag([1.0, 2.0, 2.0])
    for b, mu, wanted in (
        ([-1.0, 0.5, 0.0], 0.5, [1.0, -0.25, 0.0]),
        ([-1.0, 3.0, 0.0], 0.5, [1.0, -0.5, 0.0]),
        ([1.0, 3.0, 0.0], 0.5, [0.0, 0.0, 0.0]),
        ([-1.0, 3.0, 4.0], 0.0, [1.0, 0.0, 0.0]),
        ([-1.0, 3.0, 4.0], np.inf, [1.0, -1.5, -2.0]),
    ):
        impulse, _, residual = solve_contact_impulses(W, np.array(b), np.array([mu]))
        assert_allclose(impulse, wanted, atol=1e-7)
        assert residual < 1e-10


def test_a_load_that_two_wheels_share_is_split_evenly():
    """Two identical rows carry one mass: the compliance makes the split unique, and even."""
    C = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]] * 2)
    impulse, velocity, _ = solve_contact_impulses(
        C @ C.T, C @ np.array([-1.0, 0.2, 0.0]), np.full(2, 0.5)
    )
    assert_allclose(impulse.reshape(2, 3), [[0.5, -0.1, 0.0]] * 2, atol=1e-8)
    assert_allclose(velocity, 0.0, atol=1e-7)


def status_of(impulse, mu):
    normal, used = impulse[0], np.hypot(*impulse[1:])
    return 0 if normal <= 0 else 1 if used < mu * normal * (1 - 1e-9) else 2


@pytest.mark.parametrize("speeds", [4, 9, 12])
def test_random_problems_are_solved_and_agree_with_enumeration(speeds):
    """In two dimensions of slip per contact a mode (open, stick) fixes a linear system: if one of these
    systems has an admissible solution without slip, the solver's velocities are the same.
    """
    rng = np.random.default_rng(speeds)
    compared = 0
    for _ in range(60):
        contacts = int(rng.integers(1, 5))
        W, b, mu = random_problem(rng, contacts, speeds, float(rng.uniform(0.1, 2.0)))
        impulse, velocity, residual = solve_contact_impulses(W, b, mu)
        assert residual < 1e-8
        assert violation(W, b, mu, impulse) < 1e-5
        for closed in product((False, True), repeat=contacts):
            rows = np.flatnonzero(np.repeat(closed, 3))
            lam = np.zeros(3 * contacts)
            lam[rows] = np.linalg.lstsq(W[np.ix_(rows, rows)], -b[rows], rcond=None)[0]
            u = W @ lam + b
            sticks = all(
                lam[3 * k] >= 0 and np.hypot(*lam[3 * k + 1 : 3 * k + 3]) <= mu[k] * lam[3 * k]
                for k in range(contacts)
            )
            if sticks and (u[::3] > -1e-9).all() and np.abs(u[rows]).max(initial=0.0) < 1e-9:
                if np.linalg.matrix_rank(W) == len(W):
                    compared += 1
                    assert_allclose(velocity, u, atol=1e-5 * np.abs(b).max())
                break
    assert speeds < 12 or compared > 0


@pytest.mark.parametrize("contacts", [8, 16, 64])
def test_many_contacts_are_solved_to_a_small_residual(contacts):
    """A slab on many feet, on a plane: rank six, pressed and pushed."""
    rng = np.random.default_rng(contacts)
    places = rng.uniform(-1.0, 1.0, (contacts, 2))
    rows = []
    for x, y in places:
        rows += [[0, 0, 1, y, -x, 0], [1, 0, 0, 0, -1, -y], [0, 1, 0, 1, 0, x]]
    C = np.array(rows, float)
    W = C @ np.diag([1, 1, 1, 2, 2, 3.0]) @ C.T
    b = C @ np.array([0.3, 0.1, -1.0, 0.02, -0.03, 0.1])
    for mu in (0.2, 0.8, np.inf):
        _impulse, velocity, residual = solve_contact_impulses(W, b, np.full(contacts, mu))
        assert residual < 1e-6
        assert velocity[::3].min() > -1e-5 * np.abs(b).max()


def test_a_redundant_problem_keeps_its_solution_under_a_change_of_units():
    rng = np.random.default_rng(1)
    W, b, mu = random_problem(rng, 3, 5, 0.6)
    impulse, velocity, _ = solve_contact_impulses(W, b, mu)
    for mass, speed in ((1e6, 1.0), (1e-6, 1e3), (1.0, 1e-6)):
        lam, u, _ = solve_contact_impulses(W / mass, b * speed, mu)
        assert_allclose(lam, impulse * mass * speed, rtol=1e-9, atol=1e-9 * mass * speed)
        assert_allclose(u, velocity * speed, rtol=1e-9, atol=1e-9 * speed)


@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded contact problems are not here")
def test_recorded_problems_of_vehicles_are_solved():
    """Problems of time-stepping runs of seven vehicles, a tenth of them, hard ones included."""
    with np.load(RECORDED) as data:
        loaded = {
            name: data[name] for name in ("k", "W_upper", "b", "mu", "previous", "made", "hard")
        }
    chosen = np.flatnonzero((loaded["made"] == 0) & (loaded["hard"] == 1))
    chosen = np.concatenate([chosen, np.flatnonzero(loaded["made"] == 0)[::10]])
    for i in chosen:
        k = int(loaded["k"][i])
        n = 3 * k
        W = np.zeros((n, n))
        W[np.triu_indices(n)] = loaded["W_upper"][i, : n * (n + 1) // 2]
        W = W + np.triu(W, 1).T
        b, mu = loaded["b"][i, :n], loaded["mu"][i, :k]
        start = np.nan_to_num(loaded["previous"][i, :n].astype(float))
        impulse, _, residual = solve_contact_impulses(W, b, mu, start)
        assert residual < 2e-9
        if np.isfinite(mu).all():
            assert violation(W, b, mu, impulse) < 1e-6
