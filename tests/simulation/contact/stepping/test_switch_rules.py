"""Decisions about the change of method one by one: rank of rolling contacts, over-constrained ideal contacts,
obstructions of event location, and the state at which event location resumes.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from draisine.mechanics.contact.features import FEATURE, SIDE
from draisine.simulation.contact.event_driven.rank import Rank
from draisine.simulation.contact.kernels import CLOSED
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping import switch
from draisine.simulation.contact.stepping.switch import (
    CONFLICT_MEMORY,
    CONFLICT_STEPS,
    CROWDED_EVENTS,
    FIRST_SETTLED,
    MAX_PROJECTION,
    MOST_SETTLED,
    Obstruction,
)

WHEELS = np.array([0, 0, 1, 2])
FEATURES = np.array([10, 11, 10, 12])
SIZE = 0.1  # m


def make_mode(*closed):
    """Return a contact mode with the given closed contacts (index, status)."""
    plan = np.zeros(CLOSED + 4, int)
    plan[CLOSED] = len(closed)
    room = 6
    mode = SimpleNamespace(
        plan=plan, which=np.zeros(room, int), status=np.full(room, Status.OPEN), mu=np.zeros(room),
        contacts=SimpleNamespace(wheels=WHEELS, features=np.zeros(len(WHEELS) * FEATURE)),
        motion=SimpleNamespace(y_z=9, states=0, y_v=8), x=np.zeros(10),
    )  # fmt: skip
    for i, (contact, status) in enumerate(closed):
        mode.which[i] = contact
        mode.status[i] = status
    return mode


def make_switch(**fields):
    """Return the data for changing the method, without events."""
    values = {
        "rank_count": 0, "ranks": np.zeros(switch.RANK_SETS, int), "rank_work": None, "arcs": 1,
        "rank_sets": np.zeros((switch.RANK_SETS, 13), int), "recent_count": 0, "watches_rank": True,
        "turn_entries": 4, "position_entries": 3, "required": FIRST_SETTLED, "is_settled": True,
        "conflicts": 0, "conflict_time": -math.inf,
        "grid": SimpleNamespace(wheel_size=SIZE, given_step=1e-3, time_unit=0.1),
    }  # fmt: skip
    return SimpleNamespace(**(values | fields))


@pytest.fixture
def ranks(monkeypatch):
    """Let the rank be a given one; the number of closed contacts of each computation is recorded."""
    record = SimpleNamespace(calls=[], rank=Rank.OVER_CONSTRAINED)

    def compute(mode, work, which, status, count):
        record.calls.append(count)
        return record.rank

    monkeypatch.setattr(switch, "compute_rank", compute)
    return record


ROLLING = Status.ROLLING
SLIDING = Status.SLIDING


@pytest.mark.parametrize(
    ("closed", "rolling"),
    [((), 0), (((0, ROLLING),), 1), (((0, ROLLING), (2, SLIDING), (3, ROLLING)), 2)],
)
def test_rolling_contacts_are_counted(closed, rolling):
    assert switch.count_rolling(make_mode(*closed)) == rolling


# --- rank


def test_one_rolling_contact_needs_no_rank(ranks):
    mode = make_mode((0, ROLLING), (2, SLIDING))
    rank = switch.find_rank(mode, FEATURES, make_switch(), 0.0, np.zeros(9))
    assert rank is Rank.INDEPENDENT
    assert ranks.calls == []


def test_the_rank_of_a_set_of_contacts_is_computed_once(ranks):
    """Another wheel, feature or side is another set; sliding contacts do not belong to the set."""
    w = make_switch()

    def rank_of(*closed, side=0.0):
        mode = make_mode(*closed)
        mode.contacts.features[2 * FEATURE + SIDE] = side
        return switch.find_rank(mode, FEATURES, w, 0.0, np.zeros(9))

    first = ((0, ROLLING), (2, ROLLING))
    assert rank_of(*first) is Rank.OVER_CONSTRAINED
    ranks.rank = Rank.INDEPENDENT
    assert rank_of(*first) is Rank.OVER_CONSTRAINED
    assert rank_of(*first, (3, SLIDING)) is Rank.OVER_CONSTRAINED
    assert len(ranks.calls) == 1
    for other in [
        ((1, ROLLING), (2, ROLLING)),
        ((0, ROLLING), (3, ROLLING)),
        (*first, (3, ROLLING)),
    ]:
        assert rank_of(*other) is Rank.INDEPENDENT
    assert rank_of(*first, side=1.0) is Rank.INDEPENDENT
    assert len(ranks.calls) == 5
    assert w.rank_count == 5
    assert rank_of(*first) is Rank.OVER_CONSTRAINED


@pytest.mark.parametrize(
    ("mu", "rank", "expected"),
    [
        ((math.inf, math.inf), Rank.OVER_CONSTRAINED, True),
        ((math.inf, math.inf), Rank.INDEPENDENT, False),
        ((math.inf, 0.8), Rank.OVER_CONSTRAINED, False),
    ],
)
def test_two_ideal_contacts_in_conflict(mu, rank, expected, ranks):
    """A contact with finite friction can creep. Conflicts are examined among rolling contacts only."""
    ranks.rank = rank
    friction = np.array([mu[0], 0.0, mu[1], math.inf])
    mode = make_mode((0, ROLLING), (2, ROLLING))
    assert (
        switch.has_ideal_conflict(mode, FEATURES, friction, make_switch(), 0.0, np.zeros(9))
        is expected
    )
    sliding = make_mode((0, ROLLING), (2, SLIDING), (3, SLIDING))
    assert not switch.has_ideal_conflict(
        sliding, FEATURES, friction, make_switch(), 0.0, np.zeros(9)
    )


def run_at(t, *closed):
    """Return a run in a contact mode at time t (s) after three integration steps."""
    arc = SimpleNamespace(
        mode=make_mode(*closed),
        clock=SimpleNamespace(time=t, steps=3),
        stages=SimpleNamespace(y=np.zeros(9), n=9),
    )
    return SimpleNamespace(arc=arc, near=SimpleNamespace(features=FEATURES))


@pytest.mark.parametrize(
    ("rank", "obstruction", "watches"),
    [
        (Rank.OVER_CONSTRAINED, Obstruction.OVER_CONSTRAINED, True),
        (Rank.INDEPENDENT, Obstruction.NONE, False),
    ],
)
def test_over_constrained_contacts_obstruct_event_location(rank, obstruction, watches, ranks):
    """Independent contacts stay independent: their rank is not examined again."""
    ranks.rank = rank
    w = make_switch()
    r = run_at(1.0, (0, ROLLING), (2, ROLLING))
    assert switch.find_obstruction(r, w, 0.0) is obstruction
    assert w.watches_rank is watches


def test_a_single_contact_says_nothing_about_the_rank(ranks):
    w = make_switch()
    switch.watch_rank(run_at(1.0, (0, ROLLING)), w)
    assert w.watches_rank


def test_crowded_events_are_compared_with_the_first_time_step(monkeypatch):
    """The longest step is only a bound: a fast wheel needs shorter steps, which would not be quicker."""
    times = np.linspace(0.0, 0.5e-3 * CROWDED_EVENTS, CROWDED_EVENTS)
    w = make_switch(
        watches_rank=False, recent_count=CROWDED_EVENTS, recent_time=times,
        recent_kind=np.full(CROWDED_EVENTS, 3),
    )  # fmt: skip
    for step, expected in [
        (1e-3, Obstruction.CROWDED_EVENTS),
        (1e-4, Obstruction.NONE),
    ]:
        monkeypatch.setattr(switch, "first_step", lambda r, w, step=step: step)
        assert switch.find_obstruction(run_at(1.0), w, 0.0) is expected


# --- return to event location


def loaded(*contacts, mu=0.5, tyred=False):
    """Return a record of time steps in which contacts (index, status) carry loads, at the state 1, 0, ..."""
    count = len(contacts)
    y = np.zeros(9)
    y[0] = 1.0
    return SimpleNamespace(
        loaded_count=count, loaded=np.array([k for k, _ in contacts] + [0]),
        settled_status=np.array([status for _, status in contacts] + [0]),
        mu=np.full(4, mu), tyred=np.full(4, tyred), closed_status=np.full(4, Status.TYRE), y=y,
        reach=np.zeros(6, int), reach_count=7, required=0, settled=5,
    )  # fmt: skip


def test_loaded_contacts_become_closed_contacts():
    """Sliding contacts keep mu, ideal ones have none; the tyre decides the rows of a tyred wheel."""
    mode = make_mode()
    switch.close_loaded_contacts(mode, loaded((2, ROLLING), (0, SLIDING)))
    assert mode.plan[CLOSED] == 2
    assert mode.which[:2].tolist() == [2, 0]
    assert mode.status[:2].tolist() == [ROLLING, SLIDING]
    assert mode.mu[:2].tolist() == [0.5, 0.5]
    switch.close_loaded_contacts(mode, loaded((1, Status.OPEN), mu=math.inf))
    assert mode.plan[CLOSED] == 1
    assert (mode.which[0], mode.status[0], mode.mu[0]) == (1, SLIDING, 0.0)
    tyred = loaded((3, ROLLING), tyred=True)
    switch.close_loaded_contacts(mode, tyred)
    assert mode.status[0] == Status.TYRE


@pytest.mark.parametrize(("mu", "expected"), [(math.inf, True), (0.8, False)])
def test_a_conflict_of_loaded_contacts_in_several_steps(mu, expected, ranks):
    mode = make_mode()
    s = loaded((0, ROLLING), (2, ROLLING), mu=mu)
    w = make_switch()
    for k in range(CONFLICT_STEPS - 1):
        assert not switch.has_stepped_conflict(mode, FEATURES, s, w, 1e-3 * k)
    assert switch.has_stepped_conflict(mode, FEATURES, s, w, 1e-3 * CONFLICT_STEPS) is expected
    assert mode.plan[CLOSED] == 0


def test_conflicts_of_long_ago_are_forgotten(ranks):
    mode = make_mode()
    s = loaded((0, ROLLING), (2, ROLLING), mu=math.inf)
    w = make_switch()
    for k in range(2 * CONFLICT_STEPS):
        t = 1.01e-3 * CONFLICT_MEMORY * k
        assert not switch.has_stepped_conflict(mode, FEATURES, s, w, t)


def project(monkeypatch, change, inside=(), most=4, rank=Rank.INDEPENDENT):
    """Project a state whose entries change by `change`; return whether event location can resume, and the
    closed contacts (index, status) of the projection.
    """
    projected = []

    def move(mode):
        count = mode.plan[CLOSED]
        projected.extend(
            zip(mode.which[:count].tolist(), mode.status[:count].tolist(), strict=True)
        )
        mode.x[1 : 1 + len(change)] += change

    def list_inside(m, x, contacts, near, row, into):
        into[: len(inside)] = inside
        return len(inside)

    monkeypatch.setattr(switch, "project_state", move)
    monkeypatch.setattr(switch, "find_penetrating_contacts", list_inside)
    monkeypatch.setattr(switch, "compute_rank", lambda *_: rank)
    mode = make_mode()
    s = loaded((2, ROLLING))
    resumes = switch.project_stepped_state(mode, np.zeros(3), s, make_switch(), 0.0, 4, most)
    assert mode.plan[CLOSED] == 0
    return resumes, projected


BOUND = MAX_PROJECTION


@pytest.mark.parametrize(
    ("change", "resumes"),
    [
        ([0.0] * 8, True),
        ([0.0, 0.8 * BOUND, 0.0, 0.0], True),
        ([0.0, 0.8 * BOUND, 0.8 * BOUND, 0.0], False),
        ([0.0] * 4 + [0.8 * SIZE * BOUND], True),
        ([0.0] * 4 + [0.8 * SIZE * BOUND, 0.0, 0.8 * SIZE * BOUND], False),
        ([0.0] * 7 + [0.9 * BOUND], True),
        ([0.0] * 7 + [-1.1 * BOUND], False),
        ([0.0] * 7 + [math.nan], False),
    ],
)
def test_event_location_resumes_only_next_to_the_state_of_the_time_steps(
    change, resumes, monkeypatch
):
    """Rotation and joints in rad, the position of the base in wheel sizes."""
    assert project(monkeypatch, change) == (resumes, [(2, ROLLING)])


def test_over_constrained_contacts_are_not_projected(monkeypatch):
    resumes, projected = project(monkeypatch, [0.0], rank=Rank.OVER_CONSTRAINED)
    assert not resumes
    assert projected == []


@pytest.mark.parametrize(
    ("inside", "most", "expected"),
    [
        ((0, 3), 4, [(2, ROLLING), (0, SLIDING), (3, SLIDING)]),
        ((2, 3), 4, [(2, ROLLING), (3, SLIDING)]),
        ((0, 3), 2, [(2, ROLLING), (0, SLIDING)]),
    ],
)
def test_penetrating_contacts_are_lifted_to_the_ground(inside, most, expected, monkeypatch):
    """A contact that carries a load is not listed twice."""
    assert project(monkeypatch, [0.0], inside, most) == (True, expected)


@pytest.mark.parametrize(
    ("required", "expected"), [(FIRST_SETTLED, 2 * FIRST_SETTLED), (MOST_SETTLED, MOST_SETTLED)]
)
def test_a_failed_return_requires_more_settled_steps(required, expected):
    w = make_switch(required=required)
    s = loaded()
    switch.require_more(w, s)
    assert (w.required, s.required, s.settled, w.is_settled) == (expected, expected, 0, False)
