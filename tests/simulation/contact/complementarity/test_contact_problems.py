"""Random contact problems, a fixed sample of `bench/contact_solvers.py`: both friction solvers against
enumeration, rank-deficient problems included, and many contacts by the violation of the law.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.simulation.contact.complementarity.coulomb import FrictionContact, solve_friction
from draisine.simulation.contact.complementarity.impulses import solve_contact_impulses
from simulation.contact.complementarity.contact_problems import (
    classify,
    enumerate_ideal,
    enumerate_solutions,
    measure_violation,
    random_problem,
    slab_rows,
    solve_statuses,
)

KINDS = ("regular", "deficient", "axle", "slab")


def solve_exactly(W, b, mu):
    touches = [FrictionContact(3 * k, 3, friction) for k, friction in enumerate(mu)]
    return solve_friction(W, b, touches, 1e-13)


@pytest.mark.parametrize("kind", ["regular", "deficient", "axle"])
def test_forces_are_those_of_an_enumeration(kind):
    """Newton's method for what each contact does leads to the same velocities. (Those of a slab that skids
    on four feet are not unique: the split of the load decides friction moments.)
    """
    rng = np.random.default_rng(5)
    compared = 0
    for _ in range(25):
        contacts = int(rng.integers(1, 7))
        W, b, mu = random_problem(rng, contacts, kind, float(rng.uniform(0.05, 1.2)))
        lam = solve_exactly(W, b, mu)
        assert measure_violation(W, b, mu, lam) < 1e-9
        statuses = classify(W, b, mu, lam)
        slip = (W @ lam + b).reshape(-1, 3)[:, 1:]
        known = solve_statuses(W, b, mu, statuses, slip)
        if known is not None:
            compared += 1
            assert_allclose(W @ known, W @ lam, atol=1e-6 * np.abs(b).max())
    assert compared > 12


@pytest.mark.parametrize("seed", [67, 947, 1679, 3669])
def test_impulses_are_found_on_the_path_where_the_continuation_ends(seed):
    """With much friction the path of solutions over the compliance has folds and kinks at which it turns
    back: it is followed around them.
    """
    W, b, mu = random_problem(np.random.default_rng(seed), 5, "regular", 1.5)
    impulse, _, residual = solve_contact_impulses(W, b, mu)
    assert residual < 1e-9
    assert measure_violation(W, b, mu, impulse) < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_both_solvers_find_one_of_all_solutions(kind):
    rng = np.random.default_rng(6)
    for _ in range(4):
        W, b, mu = random_problem(rng, 2, kind, float(rng.uniform(0.05, 1.2)))
        known = [W @ lam for lam in enumerate_solutions(W, b, mu)]
        for lam in (solve_exactly(W, b, mu), solve_contact_impulses(W, b, mu)[0]):
            away = [np.abs(W @ lam - one).max() for one in known]
            assert min(away) < 1e-5 * np.abs(b).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("friction", [0.0, np.inf])
def test_velocities_without_friction_and_with_ideal_contacts_are_unique(kind, friction):
    """Those of the enumeration of all pressed contacts; released ideal contacts move freely."""
    rng = np.random.default_rng(7)
    for _ in range(8):
        contacts = int(rng.integers(1, 7))
        W, b, mu = random_problem(rng, contacts, kind, friction)
        wanted = enumerate_ideal(W, b, mu)
        lam, velocity, residual = solve_contact_impulses(W, b, mu)
        assert residual < 1e-8
        # Rounding leaves a load of 1e-17 at an open contact.
        if friction == 0.0 or (lam[::3] > 1e-12 * lam.max()).all():
            assert_allclose(velocity, wanted, atol=1e-5 * np.abs(b).max())


@pytest.mark.parametrize("contacts", [7, 12, 24])
def test_the_exact_solver_takes_more_contacts_than_it_enumerates(contacts):
    """A slab that slides and turns on its feet, pressed down: loads are statically indeterminate."""
    rng = np.random.default_rng(contacts)
    C = slab_rows(rng.uniform(-1.0, 1.0, (contacts, 2)))
    M = np.diag([2.0, 2.0, 2.0, 0.4, 0.4, 0.6])
    W, mu = C @ np.linalg.solve(M, C.T), np.full(contacts, 0.4)
    for v in ([0.0, 0.0, -1.0, 0.0, 0.0, 0.0], [1.0, 0.2, -0.5, 0.0, 0.0, 0.8]):
        b = C @ np.array(v)
        lam = solve_exactly(W, b, mu)
        assert lam is not None
        assert measure_violation(W, b, mu, lam) < 1e-6


@pytest.mark.parametrize("contacts", [8, 32, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_many_contacts_obey_the_law(contacts, kind):
    rng = np.random.default_rng(contacts)
    W, b, mu = random_problem(rng, contacts, kind, 0.6)
    lam, _, residual = solve_contact_impulses(W, b, mu)
    assert residual < 1e-8
    assert measure_violation(W, b, mu, lam) < 2e-6
