"""Rules of the active set, routine by routine, with numbers by hand: when a set is admissible, which motions
count as equal, which contacts stick at once. Routines run as plain Python.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.simulation.contact.complementarity import active_set
from draisine.simulation.contact.complementarity.active_set import (
    EQUAL_SPEED_CHANGE,
    INCONSISTENT_SLIP,
    MAX_ENUMERATED,
    STICKING_RESIDUAL,
    closes_wheel_twice,
    hold_all_contacts,
    is_admissible,
    is_same_motion,
    make_choice,
    multiplier_offset,
    remove_inconsistency,
    share_pulls,
    solve_coulomb_forces,
    solve_set,
    try_set,
    write_friction_rows,
)
from draisine.simulation.contact.complementarity.coulomb import make_friction_problem
from draisine.simulation.contact.complementarity.saddle_point import SaddleStatus
from draisine.simulation.contact.status import Status
from simulation.contact.complementarity.test_active_set import choice_of


def ball(weight, normals=((1.0, 0.0),)):
    """A ball of 2 kg with a height and a horizontal place, under its weight (N) downward."""
    count = len(normals)
    return choice_of(2.0 * np.eye(2), np.array([-weight, 0.0]), np.array(normals), np.zeros(count))


# --- one set


def test_elements_push_while_their_contact_is_closed():
    """Contact 0 is closed and pushes with 7 N up and 6 N aside; contact 1 is open and pushes not."""
    g = ball(20.0, [(1.0, 0.0), (0.0, 1.0)])
    g.push[:] = [7.0, 6.0, 100.0, 100.0]
    g.closed[:] = 1, 0
    assert solve_set(g, 0) is SaddleStatus.UNIQUE
    assert_allclose(g.x, [0.0, 3.0])
    assert g.system.multiplier[0] == pytest.approx(13.0)
    assert (g.normals[0], g.system.rows) == (0, 1)


def test_a_set_without_solution_has_no_motion():
    """A massless ball that nothing holds."""
    g = ball(20.0)
    g.M[:] = 0.0
    g.x[:] = 5.0
    assert solve_set(g, 0) is SaddleStatus.UNSOLVABLE
    assert g.x.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("reduced", [0, 1])
def test_of_floor_and_ceiling_the_floor_carries_the_weight(reduced):
    """Minimum-norm forces would be half the weight of either sign: the ceiling would pull."""
    g = ball(20.0, [(1.0, 0.0), (-1.0, 0.0)])
    g.closed[:] = 1
    assert solve_set(g, reduced) is SaddleStatus.REDUNDANT
    assert_allclose(g.system.multiplier[:2], [20.0, 0.0], atol=1e-7)


def test_pulls_are_shared_among_the_first_normal_multipliers():
    """With no contact that must push the forces stay those of minimum norm."""
    g = ball(20.0, [(1.0, 0.0), (-1.0, 0.0)])
    g.closed[:] = 1
    solve_set(g, 0)
    g.system.multiplier[:2] = 10.0, -10.0
    share_pulls(g, 0)
    assert g.system.multiplier[:2].tolist() == [10.0, -10.0]
    g.x[0] = 9.0
    share_pulls(g, 2)
    assert_allclose(g.system.multiplier[:2], [20.0, 0.0], atol=1e-7)
    assert g.x[0] == 9.0
    # With drag or lift the motion depends on the loads.
    g.system.symmetric = False
    share_pulls(g, 0)
    assert g.x[0] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize(
    ("weight", "closed", "pull", "sinking", "admissible"),
    [
        (20.0, 1, 0.0, 0.0, True),
        (-3.0, 1, 2.9, 0.0, False),
        (-3.0, 1, 3.1, 0.0, True),
        (20.0, 0, 0.0, 9.9, False),
        (20.0, 0, 0.0, 10.1, True),
        (-3.0, 0, 0.0, 0.0, True),
    ],
)
def test_a_set_is_admissible_if_no_contact_pulls_or_approaches(
    weight, closed, pull, sinking, admissible
):
    """Of 2 kg, 20 N accelerate by 10 m/s^2; -3 N hold a closed contact by a pull of 3 N."""
    g = ball(weight)
    g.closed[:] = closed
    trial = g.trials[:]
    assert try_set(g, trial, pull, sinking, 0) is SaddleStatus.UNIQUE
    assert is_admissible(g, 0) == admissible
    first = multiplier_offset(g, 0)
    assert trial[first] == pytest.approx(weight if closed else 0.0)
    assert trial[first + 3] == pytest.approx(0.0 if closed else -0.5 * weight)


def test_an_open_contact_separates_above_its_level():
    """At an acceleration of -10 the contact separates by 2 from ground that accelerates by -12."""
    g = ball(20.0)
    g.level[:] = -12.0
    try_set(g, g.trials, 0.0, 0.0, 0)
    assert is_admissible(g, 0)
    assert g.trials[multiplier_offset(g, 0) + 3] == pytest.approx(2.0)


def test_a_set_without_solution_is_not_admissible():
    g = ball(20.0)
    g.M[:] = 0.0
    assert try_set(g, g.trials, np.inf, np.inf, 0) is SaddleStatus.UNSOLVABLE
    assert not is_admissible(g, 0)


# --- comparisons of sets


@pytest.mark.parametrize(
    ("closed", "wheels", "twice"),
    [
        ((1, 1, 0), (0, 0, 1), True),
        ((1, 0, 1), (0, 0, 1), False),
        ((1, 1, 1), (0, 1, 2), False),
        ((0, 1, 1), (0, 2, 2), True),
        ((0, 0, 0), (1, 1, 1), False),
    ],
)
def test_a_wheel_that_is_closed_twice(closed, wheels, twice):
    g = make_choice(2, 0, 3)
    g.sizes[0] = 3
    g.closed[:], g.wheels[:] = closed, wheels
    assert closes_wheel_twice(g) == twice


@pytest.mark.parametrize(("share", "same"), [(0.9, True), (1.1, False), (-1.1, False)])
def test_motions_are_equal_up_to_a_share_of_their_largest_speed(share, same):
    g = make_choice(2, 0, 1)
    g.sizes[0] = 1
    for which, motion in enumerate([(3.0, -4.0), (3.0 + 4.0 * share * EQUAL_SPEED_CHANGE, -4.0)]):
        first = multiplier_offset(g, which)
        g.trials[first - 2 : first] = motion
    assert is_same_motion(g, 0, 1) == same


# --- friction


def sledge(force, mu=0.5, feet=1, normal_rows=False):
    """A body of 2 kg with three translations on feet at one place; rows normal z, along x, across y."""
    g = make_choice(3, 0, feet)
    law = make_friction_problem(feet)
    g.sizes[0], g.rows[:] = feet, 1 if normal_rows else 3
    g.M[:], g.right[:] = 2.0 * np.eye(3).ravel(), force
    g.C[:] = g.G[:] = np.tile([0, 0, 1, 1, 0, 0, 0, 1, 0], feet)
    law.mu[:] = mu
    return g, law


@pytest.mark.parametrize(
    ("push", "weight", "mu", "sticks"),
    [
        (4.9, 10.0, 0.5, True),
        (5.1, 10.0, 0.5, False),
        (0.0, -1.0, 0.5, False),
        (1e6, 10.0, np.inf, True),
        (0.0, 10.0, 0.0, False),
    ],
)
def test_all_contacts_stick_within_their_cones(push, weight, mu, sticks):
    g, law = sledge([push, 0.0, -weight], mu)
    assert hold_all_contacts(g, law) == sticks
    if sticks:
        assert_allclose(law.new, [weight, -push, 0.0], atol=1e-12)
        assert law.status[0] == Status.ROLLING


def test_a_contact_that_slides_already_is_held_by_its_normal_alone():
    g, law = sledge([3.0, 0.0, -10.0], normal_rows=True)
    assert hold_all_contacts(g, law)
    assert law.status[0] == Status.SLIDING
    assert law.new[0] == pytest.approx(10.0)


def test_contacts_do_not_stick_at_once_with_drag_or_without_inertia():
    """Friction of a sliding contact makes the system unsymmetric; a massless body has no solution."""
    g, law = sledge([0.0, 0.0, -10.0])
    g.G[0] = -0.5
    assert not hold_all_contacts(g, law)
    g, law = sledge([0.0, 0.0, -10.0], normal_rows=True)
    g.M[:] = 0.0
    assert not hold_all_contacts(g, law)


@pytest.mark.parametrize(("share", "sticks"), [(0.5, True), (2.0, False)])
def test_contacts_that_contradict_each_other_do_not_stick_at_once(share, sticks):
    """Two feet at one place demand heights that differ by a share of the free acceleration of 5 m/s^2."""
    g, law = sledge([0.0, 0.0, -10.0], feet=2)
    g.c[3] = 5.0 * share * STICKING_RESIDUAL
    assert hold_all_contacts(g, law) == sticks


@pytest.mark.parametrize(("share", "removed"), [(0.9, True), (1.1, False)])
def test_small_differences_of_redundant_contacts_are_removed(share, removed):
    """Two feet at one place whose free motion differs by a share of twice the limit: each is projected by
    half of it to their mean.
    """
    g, law = sledge([0.0, 0.0, -10.0], feet=2)
    write_friction_rows(g, law)
    difference = 5.0 * share * INCONSISTENT_SLIP
    given = np.array([-5.0 + difference, 0.0, 0.0, -5.0 - difference, 0.0, 0.0])
    law.b[:] = given
    remove_inconsistency(g, law)
    assert_allclose(law.b, [-5.0, 0, 0, -5.0, 0, 0] if removed else given, rtol=1e-12, atol=1e-14)


def test_independent_contacts_keep_their_free_motion():
    g, law = sledge([0.0, 0.0, -10.0])
    write_friction_rows(g, law)
    law.b[:] = 0.1, 0.2, 0.3
    remove_inconsistency(g, law)
    assert law.b.tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("count", "holds", "written", "unsolved", "result", "calls"),
    [
        (MAX_ENUMERATED, True, True, 0, 0, ["write", "solve", "apply"]),
        (MAX_ENUMERATED + 1, True, True, 0, 0, ["hold"]),
        (MAX_ENUMERATED + 1, False, True, 0, 0, ["hold", "write", "solve", "apply"]),
        (1, False, False, 0, 1, ["write"]),
        (1, False, True, 1, 1, ["write", "solve"]),
    ],
)
def test_many_contacts_stick_at_once_if_they_can(
    monkeypatch, count, holds, written, unsolved, result, calls
):
    """More than six; otherwise, and without a solution, Coulomb's law is solved."""
    g = make_choice(2, 0, count)
    g.sizes[0] = count
    seen = []
    for name, label, value in (
        ("hold_all_contacts", "hold", holds),
        ("write_friction_problem", "write", written),
        ("remove_inconsistency", None, None),
        ("solve_friction_law", "solve", unsolved),
        ("apply_friction_forces", "apply", None),
    ):
        monkeypatch.setattr(
            active_set,
            name,
            lambda *_, label=label, value=value: seen.extend([label] * bool(label)) or value,
        )
    assert solve_coulomb_forces(g, None) == result
    assert seen == calls
