"""Decisions of a standalone run one by one, with numbers by hand: when a call ends, when the method changes,
which samples and events are withdrawn, which contact an event belongs to. Routines run as plain Python; what
they call is given.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from draisine.mechanics.contact.features import FEATURE, SIDE
from draisine.simulation.contact.driver import EVENTS_PER_CALL
from draisine.simulation.contact.event_driven.arc_integration import SAMPLE_CAPACITY, RunStatus
from draisine.simulation.contact.event_driven.run_loop import EventCause, EventStage
from draisine.simulation.contact.kernels import CLOSED
from draisine.simulation.contact.nearby.search import SearchResult
from draisine.simulation.contact.run import EVENT_WINDOW, STEPS_PER_CALL
from draisine.simulation.contact.standalone import run
from draisine.simulation.contact.standalone.run import RESERVED_EVENTS, STEP_STATUSES
from draisine.simulation.contact.stepping.method_change import NO_STEP
from draisine.simulation.contact.stepping.step import StepResult
from draisine.simulation.contact.stepping.switch import MethodChange, Obstruction, SolverChoice

H = 1e-3  # s
ALL_EVENTS = EVENTS_PER_CALL - RESERVED_EVENTS + 1


def make_run(
    *, stepping=False, solver=SolverChoice.AUTO, stops=False, watches=False, settled=False
):
    """A run at 10 s with a state of two entries, four contacts and an empty log."""
    contacts = SimpleNamespace(
        wheels=np.array([0, 0, 1, 2]), moved=np.zeros(4, int), features=np.zeros(4 * FEATURE)
    )
    mode = SimpleNamespace(
        contacts=contacts, plan=np.zeros(4, int), which=np.array([2, 0, 3]), x=np.zeros(4),
        motion=SimpleNamespace(remembered=2),
    )  # fmt: skip
    clock = SimpleNamespace(
        time=10.0, samples=0, nodes=0, grazes=0, end_time=0.0, steps=0, latest_sample=0.0, subject=1
    )
    arc = SimpleNamespace(
        mode=mode, clock=clock, stages=SimpleNamespace(n=2, y=np.array([1.0, 2.0])),
        times=np.zeros(9), samples=np.zeros(18),
    )  # fmt: skip
    integers = (
        "cause", "kind", "guard", "guard_contact", "guard_border", "samples", "impact", "closed_count",
        "closed_after_count", "fired_count",
    )  # fmt: skip
    log = SimpleNamespace(
        **{name: np.zeros(9, int) for name in integers},
        **{name: np.zeros((9, 3), int) for name in ("closed", "closed_after", "fired")},
        time=np.zeros(9), y=np.zeros((9, 2)), y_after=np.zeros((9, 2)), energy=np.zeros(9),
        energy_after=np.zeros(9),
    )  # fmt: skip
    loop = SimpleNamespace(
        arc=arc, log=log, lifted=np.zeros(2), jumps=SimpleNamespace(next=3), ground=None,
        progress=SimpleNamespace(stage=EventStage.ARC, cause=EventCause.COLLISION, events=0, trials=0),
        near=SimpleNamespace(features=np.array([20, 21, 22, 23])),
    )  # fmt: skip
    steps = SimpleNamespace(
        y=np.array([3.0, 4.0]), loaded_count=0, loaded=np.array([3, 0, 1]), steps=0
    )
    samples = SimpleNamespace(
        count=0, times=np.array([11.0, 12.0]), states=np.array([[5.0, 6.0], [7.0, 8.0]])
    )
    return SimpleNamespace(
        loop=loop,
        schedule=SimpleNamespace(
            stops_at_events=stops, max_events=100, window=9.5, events=0, withdrawn=0
        ),
        method=SimpleNamespace(
            solver=solver, is_stepping=stepping, is_settled=settled, watches_rank=watches,
            grid=SimpleNamespace(time=13.0), resumed=2.0,
        ),
        stepping=SimpleNamespace(steps=steps, samples=samples),
        described=np.zeros((9, 4), int), x_inputs=3, inputs=1,
    )  # fmt: skip


def record(monkeypatch, **given):
    """Replace routines by functions that return given values; return the names in the order of the calls."""
    calls = []
    for name, value in given.items():

        def replacement(*arguments, name=name, value=value):
            calls.append(name)
            return value(*arguments) if callable(value) else value

        monkeypatch.setattr(run, name, replacement)
    return calls


# --- begin, inputs


@pytest.mark.parametrize("found", list(SearchResult))
@pytest.mark.parametrize("solver", list(SolverChoice))
def test_a_run_begins_with_the_requested_method(monkeypatch, solver, found):
    """Contacts must have room in the table. No wheel has been in the air before."""
    s = make_run(solver=solver)
    s.schedule.events = s.schedule.withdrawn = 9
    has_room = found is SearchResult.FOUND
    calls = record(
        monkeypatch, begin_mode=None, begin_switch=None, first_step=H, begin_time_steps=has_room,
        search_at_start=found,
    )  # fmt: skip
    begun = run.begin_run(s, 4.0, np.array([7.0, 8.0]), np.array([5.0]))
    assert begun == has_room
    is_stepping = solver is SolverChoice.TIME_STEPPING
    assert ("begin_time_steps" in calls) == is_stepping
    assert ("search_at_start" in calls) != is_stepping
    assert s.loop.arc.mode.x.tolist() == [4.0, 7.0, 8.0, 5.0]
    assert s.loop.arc.stages.y.tolist() == [7.0, 8.0]
    assert s.loop.lifted.tolist() == [-math.inf] * 2
    assert (s.loop.arc.clock.time, s.loop.jumps.next) == (4.0, 0)
    assert (s.schedule.window, s.schedule.events, s.schedule.withdrawn) == (4.0, 0, 0)


@pytest.mark.parametrize("stepping", [True, False])
def test_inputs_change_by_an_event_or_within_the_time_steps(monkeypatch, stepping):
    s = make_run(stepping=stepping)
    causes = []
    calls = record(
        monkeypatch, change_step_inputs=None, begin_cause=lambda r, cause: causes.append(cause)
    )
    run.change_inputs(s, np.array([5.0]))
    assert s.loop.arc.mode.x[3] == 5.0
    assert calls == (["change_step_inputs"] if stepping else ["begin_cause"])
    assert causes == ([] if stepping else [EventCause.INPUT])


# --- calls


def advance(monkeypatch, s, results, until=20.0):
    """Advance a run whose method returns (status, time); return the result and the calls."""
    rest = iter(results)

    def go_on(s, until):
        status, s.loop.arc.clock.time = next(rest)
        return status

    calls = record(
        monkeypatch,
        continue_steps=go_on,
        continue_events=go_on,
        add_sample=None,
        count_logged_events=None,
    )
    return run.advance_run(s, until), calls


@pytest.mark.parametrize("stepping", [True, False])
def test_a_run_advances_until_a_result_or_the_end(monkeypatch, stepping):
    """The end has a sample; the log of the call before is empty again. The first sample of a run that begins
    with time steps is returned by its first call.
    """
    s = make_run(stepping=stepping)
    s.loop.progress.events, s.loop.arc.clock.samples, s.schedule.withdrawn = 7, 8, 9
    s.stepping.samples.count = 1 if stepping else 0
    name = "continue_steps" if stepping else "continue_events"
    result, calls = advance(monkeypatch, s, [(RunStatus.RESOLVED, 15.0), (RunStatus.PAUSED, 16.0)])
    assert result == RunStatus.PAUSED
    assert calls == [name, name, "count_logged_events"]
    assert (s.loop.progress.events, s.schedule.withdrawn) == (0, 0)
    assert s.loop.arc.clock.samples == (1 if stepping else 0)
    result, calls = advance(monkeypatch, s, [(RunStatus.RESOLVED, 20.0)])
    assert result == RunStatus.ARC_END
    assert calls == [name, "add_sample", "count_logged_events"]
    assert s.loop.arc.clock.samples == 0


@pytest.mark.parametrize(("stepping", "resolved"), [(False, True), (True, False)])
def test_an_event_at_the_end_is_resolved_first(monkeypatch, stepping, resolved):
    """Time steps have none."""
    s = make_run(stepping=stepping)
    s.loop.arc.clock.time, s.loop.progress.stage = 20.0, EventStage.CONTACTS
    s.method.grid.time = 20.0
    result, calls = advance(monkeypatch, s, [(RunStatus.PAUSED, 20.0)])
    assert result == (RunStatus.PAUSED if resolved else RunStatus.ARC_END)
    assert ("continue_events" in calls) == resolved


@pytest.mark.parametrize(
    ("events", "status", "called"),
    [(100, RunStatus.PAUSED, True), (101, RunStatus.NO_PROGRESS, False)],
)
def test_more_events_than_allowed_end_the_run(monkeypatch, events, status, called):
    s = make_run()
    s.schedule.events = events
    result, calls = advance(monkeypatch, s, [(RunStatus.PAUSED, 10.0)])
    assert result == status
    assert ("continue_events" in calls) == called


@pytest.mark.parametrize(
    ("events", "status"),
    [
        (EVENTS_PER_CALL - RESERVED_EVENTS, RunStatus.PAUSED),
        (EVENTS_PER_CALL - RESERVED_EVENTS + 1, RunStatus.LOG_FULL),
    ],
)
def test_a_call_ends_before_the_log_is_full(monkeypatch, events, status):
    s = make_run()
    calls = []

    def go_on(s, until):
        calls.append(until)
        s.loop.progress.events = events
        return RunStatus.RESOLVED if len(calls) == 1 else RunStatus.PAUSED

    record(monkeypatch, continue_events=go_on, count_logged_events=None)
    assert run.advance_run(s, 20.0) == status
    assert len(calls) == (2 if status is RunStatus.PAUSED else 1)


# --- event-driven arcs


def continue_events(monkeypatch, s, status, obstruction=Obstruction.NONE, found=True, steps=0):
    """Continue event location with a given status; return the result, the calls and the largest number of
    events.
    """
    most = []

    def go_on(r, steps_, events):
        assert steps_ == STEPS_PER_CALL
        most.append(events)
        r.arc.clock.steps = steps
        return status

    calls = record(
        monkeypatch, advance_events=go_on, describe_events=None, watch_rank=None,
        search_ahead=SearchResult.FOUND if found else SearchResult.TABLE_FULL,
        enter_time_steps=RunStatus.RESOLVED, find_obstruction=obstruction,
    )  # fmt: skip
    return run.continue_events(s, 20.0), calls, most[0]


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({}, ALL_EVENTS),
        ({"stops": True}, 3),
        ({"watches": True}, 3),
        ({"watches": True, "solver": SolverChoice.EVENTS}, ALL_EVENTS),
    ],
)
def test_a_call_ends_after_each_event_if_something_depends_on_it(monkeypatch, options, most):
    """The caller, or the rank of the contacts that an automatic choice of the method examines. Two events
    are logged.
    """
    s = make_run(**options)
    s.loop.progress.events = 2
    assert continue_events(monkeypatch, s, RunStatus.ARC_END)[2] == most


@pytest.mark.parametrize(
    ("status", "solver", "result", "enters"),
    [
        (RunStatus.ARC_END, SolverChoice.AUTO, RunStatus.ARC_END, False),
        (RunStatus.FALL, SolverChoice.AUTO, RunStatus.FALL, False),
        (RunStatus.NO_CONTACT_SET, SolverChoice.AUTO, RunStatus.RESOLVED, True),
        (RunStatus.NO_CONTACT_SET, SolverChoice.EVENTS, RunStatus.NO_CONTACT_SET, False),
        (RunStatus.SHARP_FEATURE, SolverChoice.AUTO, RunStatus.RESOLVED, True),
        (RunStatus.PAUSED, SolverChoice.EVENTS, RunStatus.RESOLVED, False),
        (RunStatus.LOG_FULL, SolverChoice.EVENTS, RunStatus.RESOLVED, False),
    ],
)
def test_time_steps_follow_if_event_location_fails(monkeypatch, status, solver, result, enters):
    found, calls, _ = continue_events(monkeypatch, make_run(solver=solver), status)
    assert found == result
    assert ("enter_time_steps" in calls) == enters


@pytest.mark.parametrize("solver", [SolverChoice.AUTO, SolverChoice.EVENTS])
def test_a_disc_is_assumed_to_touch_an_edge_of_moving_ground(monkeypatch, solver):
    s = make_run(solver=solver)
    s.loop.arc.mode.contacts.moved[1] = 1
    found, calls, _ = continue_events(monkeypatch, s, RunStatus.SHARP_FEATURE)
    assert found == RunStatus.RESOLVED
    assert "enter_time_steps" not in calls


@pytest.mark.parametrize(
    ("found", "result"), [(True, RunStatus.RESOLVED), (False, RunStatus.OUTSIDE_SEARCH)]
)
def test_features_are_searched_ahead(monkeypatch, found, result):
    """If the table has no room, the run ends, and time steps do not follow."""
    status = RunStatus.OUTSIDE_SEARCH
    got, calls, _ = continue_events(monkeypatch, make_run(), status, found=found)
    assert (got, "enter_time_steps" in calls) == (result, False)


@pytest.mark.parametrize(
    ("solver", "start", "obstruction", "enters"),
    [
        (SolverChoice.AUTO, False, Obstruction.CROWDED_EVENTS, True),
        (SolverChoice.AUTO, False, Obstruction.NONE, False),
        (SolverChoice.AUTO, True, Obstruction.CROWDED_EVENTS, False),
        (SolverChoice.EVENTS, False, Obstruction.CROWDED_EVENTS, False),
        (SolverChoice.EVENTS, True, Obstruction.CROWDED_EVENTS, False),
    ],
)
def test_an_obstruction_changes_the_method(monkeypatch, solver, start, obstruction, enters):
    """At the start there is no progress to judge; the rank of the first contacts is examined alone."""
    s = make_run(solver=solver)
    if start:
        s.loop.progress.stage, s.loop.progress.cause = EventStage.CONTACTS, EventCause.START
    _, calls, _ = continue_events(monkeypatch, s, RunStatus.PAUSED, obstruction)
    assert ("enter_time_steps" in calls) == enters
    assert ("watch_rank" in calls) == (start and solver is SolverChoice.AUTO)


@pytest.mark.parametrize(
    ("stops", "events", "samples", "steps", "status"),
    [
        (True, 1, 0, 0, RunStatus.PAUSED),
        (True, 0, 0, 0, RunStatus.RESOLVED),
        (False, 1, 0, 0, RunStatus.RESOLVED),
        (False, 0, SAMPLE_CAPACITY // 2, 0, RunStatus.RESOLVED),
        (False, 0, SAMPLE_CAPACITY // 2 + 1, 0, RunStatus.PAUSED),
        (False, 0, 0, STEPS_PER_CALL - 1, RunStatus.RESOLVED),
        (False, 0, 0, STEPS_PER_CALL, RunStatus.PAUSED),
    ],
)
def test_a_call_ends_at_events_and_before_samples_fill_their_array(
    monkeypatch, stops, events, samples, steps, status
):
    s = make_run(stops=stops)
    s.loop.progress.events, s.loop.arc.clock.samples = events, samples
    assert continue_events(monkeypatch, s, RunStatus.PAUSED, steps=steps)[0] == status


# --- time steps


@pytest.mark.parametrize("found", list(SearchResult))
def test_time_steps_begin_if_the_table_has_room(monkeypatch, found):
    s = make_run()
    calls = record(monkeypatch, begin_steps=None, store_step_samples=None, search_for_steps=found)
    assert run.begin_time_steps(s, H) == (found is SearchResult.FOUND)
    assert calls == ["begin_steps", "search_for_steps"]


def test_samples_of_time_steps_are_stored_once():
    s = make_run()
    clock = s.loop.arc.clock
    clock.samples, s.stepping.samples.count = 1, 2
    run.store_step_samples(s)
    assert s.loop.arc.times[1:3].tolist() == [11.0, 12.0]
    assert s.loop.arc.samples[2:6].tolist() == [5.0, 6.0, 7.0, 8.0]
    assert (clock.samples, clock.latest_sample, clock.time) == (3, 12.0, 13.0)
    assert s.loop.arc.stages.y.tolist() == [3.0, 4.0]
    run.store_step_samples(s)
    assert (clock.samples, clock.latest_sample) == (3, 12.0)


@pytest.mark.parametrize(
    ("h", "begins", "status", "calls"),
    [
        (H, True, RunStatus.RESOLVED, 5),
        (H, False, RunStatus.OUTSIDE_SEARCH, 5),
        (NO_STEP, True, STEP_STATUSES + StepResult.OVER_CONSTRAINED, 1),
    ],
)
def test_time_steps_replace_short_arcs_unless_ideal_contacts_are_in_conflict(
    monkeypatch, h, begins, status, calls
):
    s = make_run()
    names = record(
        monkeypatch,
        leave_events=(h, 2),
        withdraw_events=None,
        log_change=None,
        begin_time_steps=begins,
        store_step_samples=None,
    )
    assert run.enter_time_steps(s) == status
    assert (
        names
        == [
            "leave_events",
            "withdraw_events",
            "log_change",
            "begin_time_steps",
            "store_step_samples",
        ][:calls]
    )


@pytest.mark.parametrize(
    ("count", "events", "samples", "withdrawn"),
    [(0, 3, 40, 0), (2, 1, 20, 0), (3, 0, 10, 0), (5, 0, 0, 2)],
)
def test_events_that_time_steps_replace_are_withdrawn(count, events, samples, withdrawn):
    """Three events are logged after 10, 20 and 30 of 40 samples. Two more are those of earlier calls, which
    have been counted.
    """
    s = make_run()
    s.loop.progress.events, s.loop.arc.clock.samples, s.schedule.events = 3, 40, 50
    s.loop.log.samples[:] = 99
    s.loop.log.samples[:3] = 10, 20, 30
    run.withdraw_events(s, count)
    assert (s.loop.progress.events, s.loop.arc.clock.samples) == (events, samples)
    assert (s.schedule.withdrawn, s.schedule.events) == (withdrawn, 50 - withdrawn)


def continue_steps(monkeypatch, s, result=StepResult.ADVANCED, resumes=True):
    """Continue time steps with a given result; return the status and the calls."""
    calls = record(
        monkeypatch, resume_events=resumes, advance_steps=result, store_step_samples=None
    )
    return run.continue_steps(s, 20.0), calls


@pytest.mark.parametrize(
    ("samples", "settled", "resumes", "status", "expected"),
    [
        (SAMPLE_CAPACITY // 2, False, True, RunStatus.RESOLVED, ["advance_steps"]),
        (SAMPLE_CAPACITY // 2 + 1, False, True, RunStatus.PAUSED, []),
        (1, True, True, RunStatus.PAUSED, []),
        (0, True, True, RunStatus.RESOLVED, ["resume_events"]),
        (0, True, False, RunStatus.RESOLVED, ["resume_events", "advance_steps"]),
    ],
)
def test_event_location_resumes_after_all_samples_are_read(
    monkeypatch, samples, settled, resumes, status, expected
):
    """If it fails at once, time steps go on."""
    s = make_run(stepping=True, settled=settled)
    s.loop.arc.clock.samples = samples
    found, calls = continue_steps(monkeypatch, s, resumes=resumes)
    assert found == status
    assert [name for name in calls if name != "store_step_samples"] == expected


@pytest.mark.parametrize("result", list(StepResult))
@pytest.mark.parametrize("time", [15.0, 20.0])
def test_results_of_time_steps_that_end_the_run(monkeypatch, result, time):
    """A fall ends it as in event location, other results by an error, except that settled contacts and stored
    samples do not end it.
    """
    s = make_run(stepping=True)
    s.loop.arc.clock.time = time
    goes_on = (StepResult.ADVANCED, StepResult.SETTLED, StepResult.SAMPLES_FULL)
    if result in goes_on:
        expected = RunStatus.ARC_END if time == 20.0 else RunStatus.RESOLVED
    elif result in (StepResult.FALLEN, StepResult.TURNED_OVER):
        expected = RunStatus.FALL
    else:
        expected = STEP_STATUSES + result
        assert expected not in list(RunStatus)
    found, calls = continue_steps(monkeypatch, s, result)
    assert found == expected
    assert calls == ["advance_steps", "store_step_samples"]


@pytest.mark.parametrize(
    ("leaves", "status", "resumes"),
    [
        (True, RunStatus.PAUSED, True),
        (True, RunStatus.LOG_FULL, True),
        (True, RunStatus.NO_CONTACT_SET, False),
        (False, RunStatus.PAUSED, False),
    ],
)
def test_event_location_resumes_at_the_projected_state(monkeypatch, leaves, status, resumes):
    """If it fails at once, the log and the state are those of the time steps again."""
    s = make_run(stepping=True)
    s.loop.arc.mode.x[:] = [10.0, 3.5, 4.5, 0.0]
    s.loop.progress.events, s.loop.arc.mode.plan[CLOSED] = 1, 2
    s.loop.arc.stages.y[:] = s.stepping.steps.y
    returned = []

    def log_change(s, kind, before, after):
        assert kind is MethodChange.EVENT_LOCATION
        assert (before.tolist(), after.tolist()) == ([3.0, 4.0], [3.5, 4.5])
        s.loop.progress.events += 1

    def go_on(r, steps, events):
        assert (steps, events) == (0, 0)
        r.progress.events += 1
        r.arc.clock.samples = 5
        return status

    calls = record(
        monkeypatch, leave_steps=leaves, log_change=log_change, begin_mode=None, advance_events=go_on,
        describe_events=lambda s, first: returned.append(first),
        return_to_steps=lambda s, resumed: returned.append(resumed),
    )  # fmt: skip
    assert run.resume_events(s) == resumes
    y = s.loop.arc.stages.y.tolist()
    if resumes:
        assert returned == [2]
        assert y == [3.5, 4.5]
        assert s.loop.progress.events == 3
    else:
        assert y == [3.0, 4.0]
        assert s.loop.progress.events == 1
        assert returned == ([2.0] if leaves else [])
    if leaves and not resumes:
        assert (s.loop.arc.clock.samples, s.loop.arc.clock.latest_sample) == (0, 10.0)
        assert s.loop.arc.mode.plan[CLOSED] == 0
    assert ("advance_events" in calls) == leaves


# --- events


def test_events_are_counted_per_interval_without_jumps_of_the_inputs():
    """The interval begins at 9.5 s with 40 events. The third event begins another one."""
    s = make_run()
    s.schedule.events, s.loop.progress.events = 40, 2
    s.loop.log.time[:4] = 9.5, 9.5 + EVENT_WINDOW, 9.6 + EVENT_WINDOW, 9.7 + EVENT_WINDOW
    s.loop.log.cause[:4] = EventCause.SLIP, EventCause.INPUT, EventCause.SLIP, EventCause.STICK
    run.count_logged_events(s)
    assert (s.schedule.window, s.schedule.events) == (9.5, 41)
    s.schedule.events, s.loop.progress.events = 40, 4
    run.count_logged_events(s)
    assert (s.schedule.window, s.schedule.events) == (9.6 + EVENT_WINDOW, 2)


def test_events_are_described_by_wheel_feature_and_side(monkeypatch):
    """Event 0 was described before, and event 2 has no contact."""
    s = make_run()
    s.loop.progress.events = 3
    s.loop.log.kind[:3] = EventCause.SLIP, EventCause.STICK, EventCause.INPUT
    s.loop.arc.mode.contacts.features[2 * FEATURE + SIDE] = -1.0
    remembered = []
    record(
        monkeypatch, remember_events=lambda r, w, first: remembered.append(first),
        find_event_contact=lambda s, k: {1: 2, 2: -1}[k],
    )  # fmt: skip
    run.describe_events(s, 1)
    assert remembered == [1]
    assert s.described[:3].tolist() == [
        [0, 0, 0, 0], [EventCause.STICK, 1, 22, -1], [EventCause.INPUT, -1, 0, 0]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fired", "before", "after", "guard", "contact"),
    [
        ([3, 1], [0], [0, 2], 1, 3),
        ([], [0], [0, 2], 1, 2),
        ([], [0, 2], [0, 2], 1, 1),
        ([], [0, 2], [0], -1, -1),
    ],
)
def test_the_contact_of_an_event(fired, before, after, guard, contact):
    """The first one that fired, or that the event closed, or that of the guard."""
    s = make_run()
    log = s.loop.log
    for count, table, contacts in (
        (log.fired_count, log.fired, fired),
        (log.closed_count, log.closed, before),
        (log.closed_after_count, log.closed_after, after),
    ):
        count[1] = len(contacts)
        table[1, : len(contacts)] = contacts
    log.guard_contact[1] = guard
    assert run.find_event_contact(s, 1) == contact


@pytest.mark.parametrize(
    ("stepping", "count", "touching"),
    [(False, 2, [True, True, False]), (False, 0, [False] * 3), (True, 1, [False, False, True])],
)
def test_wheels_that_touch_the_ground(stepping, count, touching):
    """Contacts 0 and 1 belong to wheel 0, 2 and 3 to wheels 1 and 2. Contacts 2 and 0 are closed; in time
    steps 3 carries a load.
    """
    s = make_run(stepping=stepping)
    s.loop.arc.mode.plan[CLOSED] = 2 if stepping else count
    s.stepping.steps.loaded_count = count if stepping else 2
    assert [run.is_touching(s, wheel) for wheel in range(3)] == touching
