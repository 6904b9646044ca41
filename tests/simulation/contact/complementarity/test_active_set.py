"""The active set of contacts: enumeration up to six, block pivoting beyond, against each other, against
non-negative least squares and against statics. Routines run as plain Python here.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from draisine.codegen.targets.native import Packed, shared_code
from draisine.simulation.contact.complementarity.active_set import (
    CONTACTS,
    MAX_ENUMERATED,
    MAX_TRIALS,
    TRIALS,
    choose_by_pivoting,
    choose_set,
    exchange_contacts,
    is_admissible,
    make_choice,
    mark_closed,
    multiplier_offset,
    read_trials,
    trial_layout,
    trial_offset,
)
from simulation.contact.complementarity.contact_problems import slab_rows

TOLERANCE = 1e-9


def choice_of(M, force, normals, level):
    """Return contacts without friction: their normal rows, and above which acceleration they separate."""
    count, n = normals.shape
    g = make_choice(n, 0, count)
    g.sizes[CONTACTS], g.rows[:], g.wheels[:] = count, 1, np.arange(count)
    g.M[:], g.right[:] = M.ravel(), force
    g.C.reshape(count, 3, n)[:, 0] = normals
    g.G[:] = g.C
    g.c.reshape(count, 3)[:, 0], g.level[:] = level, level
    return g


def random_choice(seed, count, n):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    M = root @ root.T + 0.1 * np.eye(n)
    return choice_of(M, rng.normal(size=n), rng.normal(size=(count, n)), rng.normal(size=count))


def motion_of(g, which):
    first = multiplier_offset(g, which)
    return g.trials[first - g.n : first].copy()


def least_constraint(g):
    """Return the motion by Gauss's principle: the nearest to the free one, in the metric of M, of those
    that let no contact approach, by non-negative least squares for the forces.
    """
    n, count = g.n, int(g.sizes[CONTACTS])
    M = g.M.reshape(n, n)
    L = np.linalg.cholesky(M)
    C = g.C.reshape(count, 3, n)[:, 0]
    free = np.linalg.solve(M, g.right)
    # Find lam >= 0 that minimises |L^-1 C' lam|^2 / 2 + lam' (C free - level).
    Y = np.linalg.solve(L, C.T)
    gap = C @ free - g.level
    # Lawson and Hanson: the distance of (0, ..., 1) to the cone of (Y, -gap).
    lam, _ = nnls(np.vstack([Y, -gap]), np.append(np.zeros(n), 1.0))
    rest = 1.0 + gap @ lam
    return free + np.linalg.solve(M, C.T @ lam) / rest


@pytest.mark.parametrize("seed", range(12))
def test_pivoting_finds_the_motion_of_enumeration(seed):
    """Without friction the motion is unique, also if contacts are redundant (more than speeds)."""
    count, n = 1 + seed % 6, 4
    g, h = random_choice(seed, count, n), random_choice(seed, count, n)
    one, other = (
        choose_set(g, TOLERANCE, TOLERANCE, 0, 0),
        choose_by_pivoting(h, TOLERANCE, TOLERANCE, 0),
    )
    assert one >= 0
    assert other >= 0
    assert_allclose(motion_of(h, other), motion_of(g, one), atol=1e-8)
    assert_allclose(motion_of(g, one), least_constraint(g), atol=1e-8)


@pytest.mark.parametrize("count", [7, 12, 64])
def test_many_contacts_move_by_the_least_constraint(count):
    g = random_choice(count, count, count + 2)
    which = shared_code(choose_set)(Packed(g), TOLERANCE, TOLERANCE, 0, 0)
    assert which >= 0
    assert g.sizes[TRIALS] <= 12
    assert_allclose(motion_of(g, which), least_constraint(g), atol=1e-7)


def table(places, centre):
    """Return a slab of 10 kg on feet at places (x, y), with its centre of mass over a point."""
    n = 6
    rows = slab_rows(places)[::3]
    M = np.diag([10.0, 10.0, 10.0, 1.0, 1.0, 1.0])
    force = np.array([0.0, 0.0, -98.1, -98.1 * centre[1], 98.1 * centre[0], 0.0])
    assert rows.shape[1] == n
    return choice_of(M, force, rows, np.zeros(len(places)))


@pytest.mark.parametrize("feet", [6, 8])
def test_a_table_rests_on_all_its_feet(feet):
    """The loads carry the weight and its moment and are those of minimum norm: affine in the place."""
    angles = 2 * np.pi * np.arange(feet) / feet
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    g = table(places, (0.2, -0.1))
    which = choose_set(g, TOLERANCE, TOLERANCE, 0, 0)
    mark_closed(g, which)
    assert g.closed.all()
    assert_allclose(motion_of(g, which), 0.0, atol=1e-12)
    first = multiplier_offset(g, which)
    loads = g.trials[first : first + 3 * feet : 3]
    assert_allclose(loads, 98.1 / feet * (1.0 + 2.0 * places @ [0.2, -0.1]), rtol=1e-9)


@pytest.mark.parametrize("feet", [4, 8])
def test_a_table_tips_over_its_edge(feet):
    """Its centre of mass is beyond two feet: these carry it, and all others lift off."""
    turn = np.pi / feet
    angles = 2 * np.pi * np.arange(feet) / feet + turn
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    g = table(places, (1.2, 0.0))
    which = choose_set(g, TOLERANCE, TOLERANCE, 0, 0)
    mark_closed(g, which)
    assert np.flatnonzero(g.closed).tolist() == [0, feet - 1]
    # About the edge at x = cos(turn): moment of the weight over the moment of inertia there.
    arm = 1.2 - np.cos(turn)
    inertia = 1.0 + 10.0 * (np.cos(turn) - 0.0) ** 2
    assert motion_of(g, which)[4] == pytest.approx(98.1 * arm / inertia, rel=1e-9)


def test_contacts_to_avoid_open_first():
    """Of feet that could share a load those that have just lost theirs stay open, if others carry it."""
    places = np.array([[x, y] for x in (-1.0, 0.0, 1.0) for y in (-1.0, 0.0, 1.0)])
    for count in (5, 9):
        corners = places[[0, 2, 6, 8, 4]] if count == 5 else places
        g = table(corners, (0.1, 0.1))
        g.avoid[count - 1] = 1
        which = choose_set(g, TOLERANCE, TOLERANCE, 0, 0)
        mark_closed(g, which)
        assert g.closed.tolist() == [1] * (count - 1) + [0]


def test_exchanges_begin_with_the_last_contact():
    g = table(np.array([[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]]), (0.0, 0.0))
    trial = np.zeros(trial_layout(6, 3).size)
    trial[:3] = 1.0, 1.0, 0.0  # the last one is open
    push, away = trial[10:], trial[10 + 9 :]
    push[0], push[3], away[2] = -1.0, 2.0, -0.5
    g.closed[:] = 1, 1, 0
    assert exchange_contacts(g, trial, TOLERANCE, TOLERANCE, 0) == 2
    assert g.closed.tolist() == [1, 1, 0]
    assert exchange_contacts(g, trial, TOLERANCE, TOLERANCE, 1) == 2
    assert g.closed.tolist() == [1, 1, 1]
    assert exchange_contacts(g, trial, TOLERANCE, TOLERANCE, 3) == 2
    assert g.closed.tolist() == [0, 1, 0]
    # Neither a pull nor an approach within the tolerances counts.
    push[0], away[2] = -1e-10, -1e-10
    assert exchange_contacts(g, trial, TOLERANCE, TOLERANCE, 3) == 0
    # A pull above 5e-7 N is no rounding error, however large other forces are.
    push[0], push[3] = -6e-7, 1e6
    assert exchange_contacts(g, trial, TOLERANCE, TOLERANCE, 0) == 1


def test_room_for_trials_does_not_grow_with_the_sets():
    """64 contacts have 2^64 sets."""
    g = make_choice(6, 0, 64)
    assert len(g.trials) == MAX_TRIALS * trial_layout(6, 64).size
    assert 2**MAX_ENUMERATED == MAX_TRIALS


def test_machine_code_is_the_routine():
    g, native = random_choice(3, 9, 8), random_choice(3, 9, 8)
    which = choose_set(g, TOLERANCE, TOLERANCE, 0, 0)
    assert shared_code(choose_set)(Packed(native), TOLERANCE, TOLERANCE, 0, 0) == which
    keys = [(f"wheel{k}", "ground") for k in range(9)]
    for one, other in zip(read_trials(g, keys), read_trials(native, keys), strict=True):
        assert one.closed == other.closed
        assert one.admissible == other.admissible
        assert_allclose(one.result, other.result, rtol=1e-12, atol=1e-13)
    assert is_admissible(g, which)
    assert trial_offset(g, 1) == trial_layout(8, 9).size


def test_sets_that_contradict_each_other_are_refused():
    """Two rows that demand different accelerations of the same point, and nothing tells which opens."""
    g = table(np.array([[np.cos(a), np.sin(a)] for a in range(8)]), (0.0, 0.0))
    g.M[:] = 0.0  # no inertia at all, and no row holds the slab sideways
    assert choose_set(g, TOLERANCE, TOLERANCE, 0, 0) == -1
    assert g.sizes[TRIALS] == 1
