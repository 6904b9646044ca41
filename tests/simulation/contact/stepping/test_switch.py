"""Criteria for changing the method one by one, with numbers by hand: rate of events, progress of integration,
arcs that time steps replace, steps that a return to event location requires.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import draisine
from draisine.codegen.targets.native import make_record
from draisine.simulation.contact.event_driven.rank import make_rank_work
from draisine.simulation.contact.event_driven.run_loop import EventCause
from draisine.simulation.contact.stepping.arc import copy_switch
from draisine.simulation.contact.stepping.grid import StepGrid
from draisine.simulation.contact.stepping.switch import (
    CROWDED_EVENTS,
    FIRST_SETTLED,
    MIN_STEP_RATIO,
    PROGRESS_STEPS,
    RETRY_STEPS,
    STORED_EVENTS,
    MethodChange,
    Obstruction,
    SolverChoice,
    Switch,
    discard_short_arcs,
    find_congestion,
    is_crowded,
    remember_event,
    require_after_change,
)
from draisine.terrain import height_field
from simulation.contact.stepping.test_steps import Servos, machine

H = 1e-3  # s


def make_switch(times=(), kinds=()):
    """Return a switch that remembers events; the state before each is filled with its time."""
    grid = make_record(
        StepGrid, given_step=0.0, wheel_size=0.1, time_unit=0.1, later=7, centres=1, row=1, out=1
    )
    switch = make_record(
        Switch, solver=SolverChoice.AUTO, grid=grid, ranks=1, rank_sets=(1, 4),
        rank_work=make_rank_work(1, 6, 1), recent_time=STORED_EVENTS, recent_kind=STORED_EVENTS,
        recent_state=(STORED_EVENTS, 7), turn_entries=4, position_entries=3,
    )  # fmt: skip
    for t, kind in zip(times, kinds, strict=True):
        remember_event(switch, t, kind, np.full(7, t), 7)
    return switch


@pytest.mark.parametrize(("spacing", "expected"), [(0.9 * H, True), (1.2 * H, False)])
def test_events_that_follow_faster_than_time_steps_are_crowded(spacing, expected):
    """Twenty events within the time of twenty steps of 1 ms; collisions between them do not count."""
    count = 60
    kinds = [EventCause.SLIP, EventCause.COLLISION] * (count // 2)
    switch = make_switch(0.5 * spacing * np.arange(count), kinds)
    assert switch.recent_count == STORED_EVENTS
    assert switch.recent_time[-1] == 0.5 * spacing * (count - 1)
    assert is_crowded(switch, H) == expected


@pytest.mark.parametrize(
    ("kind", "expected"), [("SLIP", True), ("COLLISION", False), ("INPUT", False)]
)
def test_neither_bounces_nor_jumps_of_inputs_are_crowded(kind, expected):
    times = 0.1 * H * np.arange(CROWDED_EVENTS)
    assert is_crowded(make_switch(times, [EventCause[kind]] * CROWDED_EVENTS), H) == expected
    fewer = make_switch(times[1:], [EventCause[kind]] * (CROWDED_EVENTS - 1))
    assert not is_crowded(fewer, H)


@pytest.mark.parametrize(
    ("steps", "ratio", "expected"),
    [
        (PROGRESS_STEPS, 0.9, Obstruction.SHORT_STEPS),
        (PROGRESS_STEPS, 1.1, Obstruction.NONE),
        (PROGRESS_STEPS - 1, 0.9, Obstruction.NONE),
    ],
)
def test_integration_steps_are_too_short_below_a_tenth_of_a_time_step(steps, ratio, expected):
    passed = ratio * MIN_STEP_RATIO * steps * H
    assert find_congestion(make_switch(), 2.0, 2.0 + passed, steps, H) is expected


def run_at(t):
    """Return a run loop at time t (s) with a state of that time."""
    arc = SimpleNamespace(
        clock=SimpleNamespace(time=t), stages=SimpleNamespace(n=7, y=np.full(7, t))
    )
    return SimpleNamespace(arc=arc)


def test_arcs_shorter_than_half_a_time_step_are_discarded():
    """Arcs of 10, 0.4, 0.4 steps: the run goes back to the second event, before the two short ones."""
    times = np.array([1.0, 1.0 + 10 * H, 1.0 + 10.4 * H])
    switch = make_switch(times, [EventCause.SLIP, EventCause.STICK, EventCause.SLIP])
    run = run_at(1.0 + 10.8 * H)
    assert discard_short_arcs(run, switch, H) == 2
    assert run.arc.clock.time == times[1]
    assert (run.arc.stages.y == times[1]).all()
    assert switch.recent_count == 1
    assert switch.arcs == 2


def test_impacts_and_time_steps_are_not_discarded():
    times = 1.0 + H * np.array([0.0, 0.1, 0.2])
    impact = make_switch(times, [EventCause.SLIP, EventCause.COLLISION, EventCause.SLIP])
    run = run_at(1.0 + 0.3 * H)
    assert discard_short_arcs(run, impact, H) == 1
    assert run.arc.clock.time == times[2]
    resumed = make_switch(times, [EventCause.SLIP, MethodChange.EVENT_LOCATION, EventCause.SLIP])
    run = run_at(1.0 + 0.3 * H)
    assert discard_short_arcs(run, resumed, H) == 2
    assert run.arc.clock.time == times[1]


@pytest.mark.parametrize(("steps", "factor"), [(0.9 * RETRY_STEPS, 2), (1.1 * RETRY_STEPS, 1)])
def test_a_change_soon_after_a_return_doubles_the_settled_steps(steps, factor):
    switch = make_switch()
    switch.resumed = 3.0
    require_after_change(switch, 3.0 + steps * H, H)
    assert switch.required == factor * FIRST_SETTLED


def test_a_branch_remembers_its_own_events():
    switch = make_switch([1.0], [EventCause.SLIP])
    copy = copy_switch(switch)
    remember_event(copy, 2.0, EventCause.STICK, np.full(7, 2.0), 7)
    assert (switch.recent_count, copy.recent_count) == (1, 2)
    assert switch.recent_time[1] == 0.0
    assert copy.recent_time[0] == 1.0
    assert (switch.arcs, copy.arcs) == (2, 3)


@pytest.mark.parametrize("seed", [1, 3])
def test_the_return_to_event_location_does_not_depend_on_searches(seed):
    """With small margins features are searched up to ten times while contacts settle. The loads, and so the
    decisions, are the same.
    """
    x, y = np.arange(-1.0, 2.0, 0.1), np.arange(-0.6, 0.65, 0.1)
    heights = np.random.default_rng(seed).uniform(0.0, 0.01, (len(x), len(y)))
    heights[(x < 0.15) | (x > 0.35)] = 0.0
    ground = height_field(x, y, heights)
    system = machine()
    changes = []
    for margin in (0.5, 0.02, 0.01):
        contact = draisine.ContactOptions(mu=0.8, margin=margin)
        options = {"terrain": ground, "law": Servos(10.0, 0.05), "contact": contact}
        run = draisine.simulate(system, draisine.state(system), 1.3, **options)
        kinds = ("time-stepping", "event-location")
        changes.append([(event.kind, event.t) for event in run.events if event.kind in kinds])
    assert changes[0][1][0] == "event-location"
    for other in changes[1:]:
        assert [kind for kind, _ in other] == [kind for kind, _ in changes[0]]
        times = [[t for _, t in found] for found in (other, changes[0])]
        np.testing.assert_allclose(*times, rtol=0, atol=1e-6)
