"""Rules of the run loop, routine by routine, with values by hand: which stage comes next, which samples and
events are kept, what an event is called, which features a disc cannot touch. Routines run as plain Python;
what they call is given.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.complementarity.active_set import TRIALS
from draisine.simulation.contact.event_driven import impact, run_loop
from draisine.simulation.contact.event_driven.arc_integration import ArcClock, RunStatus
from draisine.simulation.contact.event_driven.events import CANDIDATES, NOT_INCLUDED, TOUCHING
from draisine.simulation.contact.event_driven.impact import IMPULSE_ENTRIES, ImpactSolver
from draisine.simulation.contact.event_driven.run_loop import (
    EDGE_IN_PLANE,
    EventCause,
    EventStage,
    ImpactOrigin,
    RunProgress,
)
from draisine.simulation.contact.kernels import CLOSED
from draisine.simulation.contact.nearby.search import SearchResult
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.tolerances import Tolerances

TOL = Tolerances()
AXLE, POINT, NORMAL, ROW = 0, 3, 6, 9
ROLLING, SLIDING = Status.ROLLING, Status.SLIDING


def make_loop(contacts=3, wheels=None, **clock):
    """A run loop at time 10 s with a state of two entries, no event yet, and room for three events."""
    motion = SimpleNamespace(
        tol=TOL, axle=AXLE, local_point=POINT, local_normal=NORMAL, row=ROW, remembered=0, y_z=0
    )
    columns = SimpleNamespace(
        size=contacts,
        wheels=np.arange(contacts) if wheels is None else np.array(wheels),
        patches=np.zeros(contacts, int),
        moved=np.zeros(contacts, int),
        features=np.zeros(contacts * FEATURE),
    )
    mode = SimpleNamespace(
        motion=motion,
        contacts=columns,
        plan=np.zeros(4, int),
        which=np.zeros(contacts, int),
        x=np.array([0.0, 5.0, 6.0]),
        system=SimpleNamespace(pivoted_rows=7),
    )
    values = {"time": 10.0, "step": 0.5, "input_jump": 100.0, "end_time": 100.0} | clock
    arc = SimpleNamespace(
        mode=mode,
        clock=ArcClock(**values),
        stages=SimpleNamespace(n=2, y=np.array([1.0, 2.0])),
        start=0.0,
        dt=0.1,
        times=np.zeros(10),
        samples=np.zeros(20),
        inside=np.zeros(contacts),
        guards=np.zeros(2, int),
        falls=None, kinds=None, contacts=None, borders=None, box=None, rows=np.zeros(ROW),
    )  # fmt: skip
    event = SimpleNamespace(
        mode=mode,
        sizes=np.zeros(2, int),
        touching=np.arange(contacts),
        gaps=np.zeros(contacts * ROW),
        candidates=np.arange(contacts),
        ended=np.zeros(contacts, bool),
        fired=np.zeros(contacts, bool),
        avoid=np.zeros(contacts, bool),
        choice=SimpleNamespace(sizes=np.zeros(2, int), trials=np.arange(20.0)),
    )
    integers = (
        "cause", "kind", "closed_count", "closed_after_count", "impact", "trial_count",
        "trial_offset", "chosen_trial",
    )  # fmt: skip
    tables = ("closed", "status", "closed_after", "status_after")
    log = SimpleNamespace(
        **{name: np.zeros(3, int) for name in integers},
        **{name: np.zeros((3, contacts), int) for name in tables},
        impulses=np.zeros((3, contacts)),
        y_impact=np.zeros((3, 2)),
        trials=np.zeros(50),
        trial_limit=30,
    )
    return SimpleNamespace(
        arc=arc,
        event=event,
        progress=RunProgress(),
        log=log,
        near=SimpleNamespace(is_sharp=np.zeros(contacts, bool)),
        ground=SimpleNamespace(margin=0.2, size=0),
        left=np.zeros(contacts, bool),
        leaving=np.zeros(contacts, bool),
        model=ImpactSolver.SETS,
        reduced=0, normal=0.5, along=0.0, rest=0.1,
        owners=np.zeros(2, int),
        lifted=np.zeros(2),
        flight=0.3,
    )  # fmt: skip


def log_event(r, before, after=None, cause=EventCause.HAND_OVER, k=0):
    """Write an event with (contact, status) pairs that are closed before and after it to the log."""
    log = r.log
    log.cause[k] = cause
    for pairs, count, which, status in (
        (before, log.closed_count, log.closed, log.status),
        (before if after is None else after, log.closed_after_count, log.closed_after, log.status_after),
    ):  # fmt: skip
        count[k] = len(pairs)
        for i, (contact, state) in enumerate(pairs):
            which[k, i], status[k, i] = contact, state


def record(monkeypatch, module=run_loop, **given):
    """Replace routines by functions that return given values; return the names in the order of the calls."""
    calls = []
    for name, value in given.items():

        def replacement(*arguments, name=name, value=value):
            calls.append(name)
            return value(*arguments) if callable(value) else value

        monkeypatch.setattr(module, name, replacement)
    return calls


# --- stages


@pytest.mark.parametrize(
    ("stage", "routine"),
    [
        (EventStage.CONTACTS, "find_event_contacts"),
        (EventStage.RESOLUTION, "choose_resolution"),
        (EventStage.IMPACT, "resolve_impact"),
        (EventStage.ACTIVE_SET, "select_mode_after_impact"),
        (EventStage.END, "finish_event"),
    ],
)
def test_a_stage_is_executed_until_one_does_not_resolve(monkeypatch, stage, routine):
    """The first call resolves, the second one returns to Python."""
    r = make_loop()
    r.progress.stage = stage
    r.arc.clock.steps = 9
    results = iter([RunStatus.RESOLVED, RunStatus.IMPACT])
    calls = record(monkeypatch, **{routine: lambda r: next(results)})
    assert run_loop.run_arcs(r, 100, 3) is RunStatus.IMPACT
    assert calls == [routine] * 2
    assert r.arc.clock.steps == 0


@pytest.mark.parametrize(
    ("progress", "opens", "clock", "status"),
    [
        ({}, True, {}, RunStatus.STEP_TOO_SMALL),
        ({"events": 3}, True, {}, RunStatus.LOG_FULL),
        ({"events": 2}, True, {}, RunStatus.STEP_TOO_SMALL),
        ({"trials": 31}, True, {}, RunStatus.LOG_FULL),
        ({"trials": 30}, True, {}, RunStatus.STEP_TOO_SMALL),
        ({}, False, {}, RunStatus.UNKNOWN_MODE),
        ({}, True, {"input_jump": 10.0}, RunStatus.PAUSED),
        ({}, True, {"end_time": 10.0}, RunStatus.PAUSED),
        ({}, True, {"end_time": 10.1}, RunStatus.STEP_TOO_SMALL),
    ],
)
def test_an_arc_begins_if_the_log_has_room_and_time_remains(
    monkeypatch, progress, opens, clock, status
):
    """The arc ends because no step length is accepted. The log has room for three events."""
    r = make_loop(**clock)
    r.progress.assign(**progress)
    record(monkeypatch, open_arc=opens, integrate_arc=RunStatus.STEP_TOO_SMALL)
    assert run_loop.run_arcs(r, 100, 3) is status


def test_an_event_ends_an_arc(monkeypatch):
    """Of 100 steps 40 are used by the first arc."""
    r = make_loop()
    limits = []

    def integrate(arc, limit):
        limits.append(limit)
        arc.clock.steps += 40
        return RunStatus.EVENT if len(limits) == 1 else RunStatus.PAUSED

    calls = record(
        monkeypatch, open_arc=True, integrate_arc=integrate, begin_event=RunStatus.RESOLVED
    )
    assert run_loop.run_arcs(r, 100, 3) is RunStatus.PAUSED
    assert calls == ["open_arc", "integrate_arc", "begin_event", "open_arc", "integrate_arc"]
    assert limits == [100, 60]


def advance(monkeypatch, r, results):
    """Advance by up to 100 steps and 3 events, with given results (status, steps, time) of the run loop; the
    limits that remain are recorded.
    """
    rest = iter(results)
    limits = []

    def run(r, steps, events):
        limits.append((steps, events))
        status, r.arc.clock.steps, r.arc.clock.time = next(rest)
        return status

    record(
        monkeypatch, run_arcs=run, begin_cause=lambda r, cause: limits.append(cause),
        set_limits=lambda r, steps, events: r.progress.assign(
            most_steps=steps, most_events=events, taken=0
        ),
    )  # fmt: skip
    return run_loop.advance_events(r, 100, 3), limits


def test_events_go_on_after_a_jump_of_the_inputs(monkeypatch):
    """At 20 s an input jumps, at 30 s the call ends. Each part has its own limits."""
    r = make_loop(end_time=30.0)
    status, limits = advance(
        monkeypatch, r, [(RunStatus.ARC_END, 40, 20.0), (RunStatus.ARC_END, 25, 30.0)]
    )
    assert status is RunStatus.ARC_END
    assert limits == [(100, 3), EventCause.INPUT, (100, 3)]
    assert r.arc.clock.steps == 25
    assert not r.progress.waits


@pytest.mark.parametrize("status", [RunStatus.PAUSED, RunStatus.LOG_FULL, RunStatus.FALL])
def test_other_ends_of_an_arc_end_the_call(monkeypatch, status):
    r = make_loop()
    assert advance(monkeypatch, r, [(status, 40, 20.0)]) == (status, [(100, 3)])
    assert r.arc.clock.steps == 40


def test_a_call_goes_on_with_its_limits_after_a_task_of_python(monkeypatch):
    """Of 100 steps 40 and 25 are taken before a mode is compiled and records are enlarged."""
    r = make_loop()
    given = [
        (RunStatus.UNKNOWN_MODE, 40),
        (RunStatus.TOO_MANY_CONTACTS, 25),
        (RunStatus.PAUSED, 35),
    ]
    left = [100, 60, 35]
    for (status, steps), most in zip(given, left, strict=True):
        assert advance(monkeypatch, r, [(status, steps, 10.0)]) == (status, [(most, 3)])
        assert r.progress.waits == (status is not RunStatus.PAUSED)
    assert r.arc.clock.steps == 100
    assert advance(monkeypatch, r, [(RunStatus.PAUSED, 7, 10.0)])[1] == [(100, 3)]
    assert r.arc.clock.steps == 7


@pytest.mark.parametrize("status", list(RunStatus))
def test_tasks_of_python(status):
    """A mode is compiled, records are enlarged, an impact is resolved, an edge of moving ground is judged."""
    tasks = (
        RunStatus.UNKNOWN_MODE, RunStatus.TOO_MANY_CONTACTS, RunStatus.IMPACT, RunStatus.SHARP_FEATURE,
    )  # fmt: skip
    assert run_loop.needs_python(status) == (status in tasks)


@pytest.mark.parametrize(
    ("loaded", "opens", "takes", "expected", "opened"),
    [
        (False, False, True, True, 0),
        (True, True, True, True, 1),
        (True, False, True, False, 1),
        (False, True, False, False, 0),
    ],
)
def test_a_mode_continues_if_a_short_step_is_accepted(
    monkeypatch, loaded, opens, takes, expected, opened
):
    r = make_loop()
    r.leaving[:], r.progress.stalled = True, 5
    calls = record(monkeypatch, open_arc=opens, take_short_step=takes)
    assert run_loop.continue_mode(r, 11.0, loaded) == expected
    assert calls.count("open_arc") == opened
    assert r.leaving.any() != expected
    assert r.progress.stalled == (0 if expected else 5)


@pytest.mark.parametrize(("unknown", "opens"), [(0, True), (1, False)])
def test_an_arc_opens_if_its_closed_form_is_known(monkeypatch, unknown, opens):
    """Pivots are chosen anew for each mode."""
    r = make_loop()
    record(monkeypatch, find_closed_form=unknown, set_guards=4)
    assert run_loop.open_arc(r) == opens
    assert r.arc.guards[0] == (4 if opens else 0)
    assert r.arc.mode.system.pivoted_rows == -1


@pytest.mark.parametrize(
    ("resolution", "stage", "status"),
    [
        (RunStatus.IMPACT, EventStage.IMPACT, RunStatus.RESOLVED),
        (RunStatus.RESOLVED, EventStage.END, RunStatus.RESOLVED),
        (RunStatus.NO_CONTACT_SET, EventStage.RESOLUTION, RunStatus.NO_CONTACT_SET),
    ],
)
def test_the_stage_after_the_contacts_of_an_event(resolution, stage, status):
    r = make_loop()
    r.progress.assign(stage=EventStage.RESOLUTION, resolution=resolution)
    assert run_loop.choose_resolution(r) is status
    assert r.progress.stage is stage


# --- samples


@pytest.mark.parametrize(("latest", "count"), [(9.9, 1), (10.0, 0)])
def test_a_sample_is_kept_once_per_instant(latest, count):
    r = make_loop(latest_sample=latest)
    run_loop.add_sample(r)
    assert r.arc.clock.samples == count
    assert r.arc.clock.latest_sample == 10.0
    if count:
        assert r.arc.times[0] == 10.0
        assert r.arc.samples[:2].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("time", "samples", "before", "dropped"),
    [
        (10.05, 3, 9.9, True),
        (10.1, 3, 9.9, False),
        (10.05, 0, 9.9, False),
        (10.05, 3, 10.05, False),
    ],
)
def test_the_sample_of_an_event_that_is_not_recorded_is_dropped(time, samples, before, dropped):
    """Unless it is due (every 0.1 s), was kept by an earlier call, or was there before the event."""
    r = make_loop(time=time, samples=samples, latest_sample=time)
    r.progress.latest = before
    run_loop.drop_sample(r)
    assert r.arc.clock.samples == samples - dropped
    assert r.arc.clock.latest_sample == (before if dropped else time)


# --- search


@pytest.mark.parametrize("places", [{2: 3, 1: 4, 0: -1}, {2: 3, 1: 0, 0: -1}, {2: 0, 1: 4, 0: -1}])
def test_closed_and_left_contacts_keep_their_places_in_a_new_table(monkeypatch, places):
    """Contact 2 is closed and leaves, 0 and 1 were left; contact 0 is not nearby any more."""
    r = make_loop(6)
    r.arc.mode.plan[CLOSED], r.arc.mode.which[0] = 1, 2
    r.left[[0, 1]], r.leaving[2] = True, True
    kept = {}

    def keep_flagged(near, flags, count):
        for k in np.flatnonzero(flags):
            kept[count] = int(k)
            count += 1
        flags[:] = False
        return count

    record(
        monkeypatch,
        keep_contact=lambda near, i, k: kept.__setitem__(i, int(k)),
        keep_flagged=keep_flagged,
        find_nearby=SearchResult.FOUND,
        find_kept=lambda near, i: places[kept[i]],
    )
    assert run_loop.search_nearby(r, True) is SearchResult.FOUND
    assert r.arc.mode.which[0] == places[2]
    assert np.flatnonzero(r.left).tolist() == [places[1]]
    assert np.flatnonzero(r.leaving).tolist() == [places[2]]


def test_a_search_that_fails_changes_no_contact(monkeypatch):
    failure = next(result for result in SearchResult if result is not SearchResult.FOUND)
    r = make_loop()
    r.arc.mode.plan[CLOSED], r.arc.mode.which[0] = 1, 2
    record(
        monkeypatch, keep_contact=None, keep_flagged=lambda near, flags, count: count,
        find_nearby=failure, find_kept=0,
    )  # fmt: skip
    assert run_loop.search_nearby(r, True) is failure
    assert r.arc.mode.which[0] == 2


# --- contacts of an event


def find_contacts(monkeypatch, r, resolution=RunStatus.RESOLVED, sharp=-1, ended=()):
    """Find the contacts of an event with given results; return the status and what was to be avoided."""
    avoided = []

    def resolve(event, ending, vanishes, slipping):
        avoided.append((event.avoid.tolist(), vanishes, slipping))
        event.ended[list(ended)] = True
        return resolution

    record(
        monkeypatch,
        log_event_begin=None, resolve_event=resolve, find_untouchable=sharp,
    )  # fmt: skip
    return run_loop.find_event_contacts(r), *avoided[0]


@pytest.mark.parametrize(
    ("cause", "stalled", "avoided"),
    [
        (EventCause.LIFT_OFF, 1, True),
        (EventCause.LIFT_OFF, 0, False),
        (EventCause.COLLISION, 1, False),
    ],
)
def test_contacts_that_separated_at_this_instant_stay_open_at_a_lift_off(
    monkeypatch, cause, stalled, avoided
):
    """Contact 1 separated before, 2 separates now."""
    r = make_loop()
    r.event.avoid[:], r.leaving[1], r.event.fired[2] = True, True, True
    r.progress.assign(cause=cause, stalled=stalled)
    status, avoid, vanishes, slipping = find_contacts(monkeypatch, r)
    assert status is RunStatus.RESOLVED
    assert avoid == [False, avoided, False]
    assert vanishes == (cause is EventCause.LIFT_OFF)
    assert not slipping
    assert r.leaving.tolist() == [False, True, cause is EventCause.LIFT_OFF]
    assert r.progress.stage is EventStage.RESOLUTION


def test_a_slip_reduces_the_cone_of_the_event(monkeypatch):
    r = make_loop()
    r.progress.cause = EventCause.SLIP
    assert find_contacts(monkeypatch, r)[3]


def test_features_that_a_wheel_leaves_are_remembered_until_its_next_hand_over(monkeypatch):
    """Wheel 0 has contacts 0 and 1; contact 2 of wheel 1 was left before."""
    r = make_loop(wheels=[0, 0, 1])
    r.left[:] = False, True, True
    r.progress.assign(cause=EventCause.HAND_OVER, ending=0)
    find_contacts(monkeypatch, r, ended=[0])
    assert r.left.tolist() == [True, False, True]


def test_too_many_contacts_end_the_run(monkeypatch):
    r = make_loop()
    status = find_contacts(monkeypatch, r, RunStatus.TOO_MANY_CONTACTS)[0]
    assert status is RunStatus.TOO_MANY_CONTACTS
    assert r.progress.stage is EventStage.ARC


@pytest.mark.parametrize(
    ("sharp", "status"), [(0, RunStatus.SHARP_FEATURE), (-1, RunStatus.RESOLVED)]
)
def test_a_feature_that_a_disc_cannot_touch_ends_the_run(monkeypatch, sharp, status):
    r = make_loop()
    assert find_contacts(monkeypatch, r, sharp=sharp)[0] is status


@pytest.mark.parametrize(
    ("inclination", "sharp", "moved", "expected"),
    [
        (0.9 * EDGE_IN_PLANE, True, 0, 1),
        (-0.9 * EDGE_IN_PLANE, True, 0, 1),
        (1.1 * EDGE_IN_PLANE, True, 0, -1),
        (0.0, False, 0, -1),
        (0.5, True, 1, 1),
        (0.5, False, 1, -1),
    ],
)
def test_a_disc_cannot_touch_an_edge_in_its_plane(inclination, sharp, moved, expected):
    """Contact 1 touches, second in the list; the axle is along y, the edge almost along x. Edges of moving
    ground are returned whatever their direction.
    """
    r = make_loop()
    r.event.sizes[TOUCHING], r.event.touching[:2] = 2, (0, 1)
    r.event.gaps[ROW + AXLE + 1] = 1.0
    r.arc.mode.contacts.features[FEATURE + 3 :][:3] = 0.8, inclination, 0.6
    r.near.is_sharp[1], r.arc.mode.contacts.moved[1] = sharp, moved
    assert run_loop.find_untouchable(r) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [(None, 0), ("border", -1), ("round", -1), ("open", -1), ("other", -1), ("no vertex", -1)],
)
def test_a_disc_at_the_end_of_its_edge_cannot_touch_the_vertex(monkeypatch, change, expected):
    """Unless its wheel has another contact."""
    r = make_loop(wheels=[0, 0, 1])
    r.event.sizes[TOUCHING] = 1
    r.event.touching[0] = 1 if change == "other" else 2
    r.progress.ending = -1 if change == "border" else 0
    r.near.is_sharp[0] = change != "round"
    r.event.ended[0] = change != "open"
    record(monkeypatch, finds_vertex=change != "no vertex")
    assert run_loop.find_untouchable(r) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (None, True),
        ("edge", False),
        ("motion", False),
        ("x", False),
        ("y", False),
        ("z", False),
        ("excess", False),
        ("point", True),
    ],
)
def test_a_contact_is_at_a_vertex_of_its_ground(monkeypatch, change, expected):
    """At (1, 2, 3) with the normal z and a border C_x + N_z <= 2 that holds with equality; the second feature
    of two.
    """
    r = make_loop()
    place = np.array([1.0, 2.0, 3.0])
    if change in ("x", "y", "z"):
        place["xyz".index(change)] += 1.1 * TOL.gap_search
    if change == "point":
        place += 0.9 * TOL.gap_search
    limit = 2.0 - 1.1 * TOL.border if change == "excess" else 2.0 - 0.9 * TOL.border
    r.ground = SimpleNamespace(
        size=2,
        kinds=np.array([0, 1]),
        is_vertex=np.array([False, change != "edge"]),
        motions=np.array([0, int(change == "motion")]),
        numbers=np.array([[1.0, 2.0, 3.0], place]),
        first=np.array([0, 0, 1]),
        borders=np.array([1.0, 0, 0, 0, 0, 1.0, limit]),
    )
    record(
        monkeypatch,
        evaluate_row=lambda x, b, k, row: row.__setitem__(
            slice(POINT, POINT + 6), [1.0, 2.0, 3.0, 0.0, 0.0, 1.0]
        ),
    )
    assert run_loop.finds_vertex(r, 0) == expected


# --- impacts


@pytest.mark.parametrize(
    ("model", "chosen", "status"),
    [
        (ImpactSolver.PYTHON, 2, RunStatus.IMPACT),
        (ImpactSolver.SETS, -1, RunStatus.IMPACT),
        (ImpactSolver.SETS, 2, RunStatus.RESOLVED),
        (ImpactSolver.FRICTION, 0, RunStatus.RESOLVED),
    ],
)
def test_an_impact_is_resolved_by_its_routine_or_by_python(monkeypatch, model, chosen, status):
    """Of contact sets all four trials are logged, of three entries each."""
    r = make_loop()
    r.model, r.progress.stage, r.progress.events = model, EventStage.IMPACT, 1
    r.progress.trials, r.event.choice.sizes[TRIALS] = 7, 4
    calls = record(monkeypatch, apply_impact=chosen, trial_offset=lambda g, k: 3 * k)
    assert run_loop.resolve_impact(r) is status
    assert calls.count("apply_impact") == (model != ImpactSolver.PYTHON)
    resolved = status is RunStatus.RESOLVED
    assert r.progress.stage is (EventStage.ACTIVE_SET if resolved else EventStage.IMPACT)
    assert r.log.impact[1] == (ImpactOrigin.ROUTINE if resolved else ImpactOrigin.NONE)
    sets = resolved and model == ImpactSolver.SETS
    assert r.progress.trials == (7 + 12 if sets else 7)
    assert r.log.trial_count[1] == (4 if sets else 0)
    if resolved:
        assert (r.log.chosen_trial[1], r.log.trial_offset[1]) == (chosen, 7)
    if sets:
        assert r.log.trials[7:20].tolist() == [*range(12), 0.0]


@pytest.mark.parametrize(
    ("status", "stage"),
    [
        (RunStatus.RESOLVED, EventStage.END),
        (RunStatus.NO_FRICTION_FORCES, EventStage.ACTIVE_SET),
    ],
)
def test_an_impact_is_followed_by_the_next_mode(monkeypatch, status, stage):
    r = make_loop()
    r.progress.stage = EventStage.ACTIVE_SET
    causes = []
    record(monkeypatch, select_next_mode=lambda event, slips: causes.append(slips) or status)
    assert run_loop.select_mode_after_impact(r) is status
    r.progress.cause = EventCause.SLIP
    run_loop.select_mode_after_impact(r)
    assert causes == [False, True]
    assert r.progress.stage is stage
    assert r.log.y_impact[0].tolist() == [5.0, 6.0]


@pytest.mark.parametrize(
    ("solver", "sets", "friction", "chosen"),
    [
        (ImpactSolver.SETS, 2, -1, 2),
        (ImpactSolver.SETS, -1, 0, -1),
        (ImpactSolver.FRICTION, 2, 0, 0),
        (ImpactSolver.FRICTION, 2, -1, -1),
    ],
)
def test_an_impact_changes_speeds_by_its_solver(monkeypatch, solver, sets, friction, chosen):
    """Two speeds change by (3, 4). Of candidates 0 and 1 the second one has an impulse, and the normal
    velocity 7 after the impact.
    """
    e = SimpleNamespace(
        mode=SimpleNamespace(
            motion=SimpleNamespace(x_v=1, row=1), x=np.array([9.0, 1.0, 2.0]), contacts=None
        ),
        choice=SimpleNamespace(n=2, x=np.array([3.0, 4.0])),
        sizes=np.array([2, 2]),
        choice_index=np.array([NOT_INCLUDED, 0]),
        rows=np.array([6.0, 7.0]),
    )
    record(
        monkeypatch,
        impact,
        assemble_impact=None,
        solve_impact_by_sets=sets,
        solve_impact_with_friction=friction,
        relative_velocity=lambda x, row, m, axis: row[0],
    )
    impulses = np.zeros(IMPULSE_ENTRIES)
    assert impact.apply_impact(e, solver, 0, 0.5, 0.0, 0.1, impulses) == chosen
    resolved = chosen >= 0
    assert e.mode.x.tolist() == ([9.0, 4.0, 6.0] if resolved else [9.0, 1.0, 2.0])
    assert impulses[3] == (7.0 if resolved else 0.0)


@pytest.mark.parametrize(
    ("written", "unsolved", "result"), [(True, 0, 0), (False, 0, -1), (True, 1, -1)]
)
def test_an_impact_with_friction_needs_forces_that_obey_the_law(
    monkeypatch, written, unsolved, result
):
    """Candidate 0 is not included, 1 has one row and 2 three; each has its own friction coefficient."""
    e = SimpleNamespace(
        choice=SimpleNamespace(sizes=np.array([2, 0]), rows=np.array([1, 3])),
        law=SimpleNamespace(
            mu=np.zeros(2), new=np.array([1.0, 2.0, 3.0, 4.0]), first_row=np.array([0, 1])
        ),
        sizes=np.array([3, 3]),
        candidates=np.array([0, 1, 2]),
        choice_index=np.array([NOT_INCLUDED, 0, 1]),
        mu=np.array([0.1, 0.2, 0.3]),
    )
    calls = record(
        monkeypatch,
        impact,
        write_friction_problem=written,
        solve_friction_law=unsolved,
        apply_friction_forces=None,
    )
    impulses = np.full(2 * IMPULSE_ENTRIES, 9.0)
    assert impact.solve_impact_with_friction(e, impulses) == result
    assert e.law.mu.tolist() == [0.2, 0.3]
    assert calls.count("apply_friction_forces") == (result == 0)
    if result == 0:
        assert impulses.tolist() == [1.0, 0.0, 0.0, 9.0, 2.0, 3.0, 4.0, 9.0]


# --- end of an event


def finish(monkeypatch, r, *, changes=False, unchanged=False, smooth=False):
    record(
        monkeypatch,
        log_event_end=None,
        reset_tyre_deflections=None,
        changes_contact_status=changes,
        leaves_mode_unchanged=unchanged,
        stays_smooth=smooth,
        classify_event=EventCause.STICK,
    )
    assert run_loop.finish_event(r) is RunStatus.RESOLVED
    assert r.progress.stage is EventStage.ARC
    assert r.arc.clock.is_first
    assert r.arc.stages.y.tolist() == [5.0, 6.0]


@pytest.mark.parametrize(
    ("impacts", "changes", "unchanged", "logged"),
    [
        (True, False, True, True),
        (False, True, True, True),
        (False, False, False, True),
        (False, False, True, False),
    ],
)
def test_events_without_effect_are_not_recorded(monkeypatch, impacts, changes, unchanged, logged):
    """The sample before the event, between two regular ones, is dropped with it."""
    r = make_loop(time=10.05, samples=1, latest_sample=10.05)
    r.progress.latest = 9.0
    r.progress.cause = EventCause.LIFT_OFF
    r.log.impact[0] = ImpactOrigin.ROUTINE if impacts else ImpactOrigin.NONE
    finish(monkeypatch, r, changes=changes, unchanged=unchanged)
    assert r.progress.events == logged
    assert r.arc.clock.samples == (2 if logged else 0)
    assert r.log.kind[0] == (EventCause.STICK if logged else 0)


@pytest.mark.parametrize(("impacts", "events", "samples"), [(False, 0, 1), (True, 1, 2)])
def test_a_start_without_impact_is_no_event(monkeypatch, impacts, events, samples):
    """Its sample replaces that before the contacts were found."""
    r = make_loop(samples=1)
    r.progress.cause = EventCause.START
    r.log.impact[0] = ImpactOrigin.PYTHON if impacts else ImpactOrigin.NONE
    finish(monkeypatch, r, changes=True)
    assert (r.progress.events, r.arc.clock.samples) == (events, samples)


@pytest.mark.parametrize(
    ("cause", "impacts", "changes", "smooth", "keeps"),
    [
        (EventCause.INPUT, False, False, False, True),
        (EventCause.INPUT, False, True, False, False),
        (EventCause.INPUT, True, False, False, False),
        (EventCause.HAND_OVER, False, True, True, True),
        (EventCause.HAND_OVER, True, True, True, False),
        (EventCause.COLLISION, False, True, False, False),
    ],
)
def test_the_step_length_is_kept_if_the_motion_stays_smooth(
    monkeypatch, cause, impacts, changes, smooth, keeps
):
    r = make_loop()
    r.progress.cause = cause
    r.log.impact[0] = ImpactOrigin.ROUTINE if impacts else ImpactOrigin.NONE
    finish(monkeypatch, r, changes=changes, smooth=smooth)
    assert r.arc.clock.step == (0.5 if keeps else TOL.first_step)


@pytest.mark.parametrize(
    ("cause", "before", "after", "patches", "smooth"),
    [
        (EventCause.HAND_OVER, [(0, ROLLING)], [(1, ROLLING)], (1, 1, 0), True),
        (EventCause.HAND_OVER, [(0, ROLLING)], [(1, ROLLING)], (1, 0, 0), False),
        (EventCause.HAND_OVER, [(0, ROLLING)], [(1, ROLLING)], (0, 1, 0), False),
        (EventCause.HAND_OVER, [(0, ROLLING)], [(1, SLIDING)], (1, 1, 0), False),
        (EventCause.HAND_OVER, [(0, ROLLING)], [(2, ROLLING)], (1, 1, 1), False),
        (EventCause.HAND_OVER, [(0, ROLLING)], [], (1, 1, 1), False),
        (EventCause.HAND_OVER, [(0, ROLLING)], [(0, SLIDING)], (1, 1, 1), False),
        (EventCause.HAND_OVER, [(2, SLIDING)], [(2, SLIDING)], (0, 0, 0), True),
        (EventCause.COLLISION, [(0, ROLLING)], [(1, ROLLING)], (1, 1, 0), False),
    ],
)
def test_a_hand_over_between_patches_is_smooth(cause, before, after, patches, smooth):
    """Contacts 0 and 1 belong to one wheel, 2 to another."""
    r = make_loop(wheels=[0, 0, 1])
    r.arc.mode.contacts.patches[:] = patches
    r.progress.assign(cause=cause, events=1)
    log_event(r, before, after)
    assert run_loop.stays_smooth(r) == smooth


def test_an_event_that_is_not_logged_is_not_smooth():
    r = make_loop()
    r.progress.cause = EventCause.HAND_OVER
    assert not run_loop.stays_smooth(r)


@pytest.mark.parametrize(
    ("after", "changes"),
    [
        ([(0, ROLLING), (2, SLIDING)], False),
        ([(0, ROLLING)], True),
        ([(0, ROLLING), (1, SLIDING)], True),
        ([(0, ROLLING), (2, ROLLING)], True),
    ],
)
def test_changes_of_closed_contacts_and_statuses(after, changes):
    r = make_loop()
    log_event(r, [(0, ROLLING), (2, SLIDING)], after)
    assert run_loop.changes_contact_status(r) == changes


# --- tyres, kinds of events


@pytest.mark.parametrize(
    ("contacts", "count", "wheel", "expected"),
    [((1, 2), 2, 1, True), ((1, 2), 1, 1, False), ((1, 2), 2, 2, False), ((0, 0), 0, 0, False)],
)
def test_a_wheel_has_one_of_the_contacts(contacts, count, wheel, expected):
    """Contacts 0 and 1 belong to wheel 0, contact 2 to wheel 1."""
    r = make_loop(wheels=[0, 0, 1])
    assert run_loop.has_wheel(r, np.array(contacts), count, wheel) == expected


@pytest.mark.parametrize(
    ("cause", "before", "after", "lifted", "deflection", "noted"),
    [
        (EventCause.COLLISION, [], [(0, ROLLING)], 9.6, 0.0, 9.6),
        (EventCause.COLLISION, [], [(0, ROLLING)], 9.8, 5.0, 9.8),
        (EventCause.COLLISION, [(1, ROLLING)], [(0, ROLLING)], 9.6, 5.0, 9.6),
        (EventCause.LIFT_OFF, [(0, ROLLING)], [], 9.6, 5.0, 10.0),
        (EventCause.COLLISION, [], [(2, ROLLING)], 9.6, 5.0, 9.6),
        (EventCause.START, [], [(0, ROLLING)], 9.6, 5.0, 9.6),
    ],
)
def test_a_tyre_forgets_its_deflection_in_a_long_flight(
    cause, before, after, lifted, deflection, noted
):
    """The tyre of wheel 0 has contacts 0 and 1. Flights up to 0.3 s are short; the event is at 10 s."""
    r = make_loop(wheels=[0, 0, 1])
    r.arc.mode.motion.remembered, r.arc.mode.motion.y_z = 1, 1
    r.arc.stages.y[1], r.lifted[0], r.progress.cause = 5.0, lifted, cause
    log_event(r, before, after, cause)
    run_loop.reset_tyre_deflections(r)
    assert (r.arc.stages.y[1], r.lifted[0]) == (deflection, noted)


@pytest.mark.parametrize(
    ("cause", "impacts", "before", "after", "kind"),
    [
        (EventCause.LIFT_OFF, True, [], [], EventCause.COLLISION),
        (EventCause.STICK, False, [(0, ROLLING)], [], EventCause.STICK),
        (EventCause.HAND_OVER, False, [(0, ROLLING)], [(1, ROLLING)], EventCause.HAND_OVER),
        (EventCause.HAND_OVER, False, [(0, ROLLING)], [(2, ROLLING)], EventCause.LIFT_OFF),
        (EventCause.INPUT, False, [(0, ROLLING)], [], EventCause.LIFT_OFF),
        (EventCause.INPUT, False, [(0, ROLLING)], [(0, SLIDING)], EventCause.SLIP),
        (EventCause.INPUT, False, [(0, SLIDING)], [(0, SLIDING)], EventCause.INPUT),
        (EventCause.INPUT, False, [(0, ROLLING)], [(1, SLIDING)], EventCause.INPUT),
        (EventCause.INPUT, False, [(0, ROLLING)], [(0, ROLLING)], EventCause.INPUT),
        (EventCause.HAND_OVER, False, [(0, ROLLING)], [(0, SLIDING)], EventCause.HAND_OVER),
    ],
)
def test_an_event_is_called_by_what_it_changes(cause, impacts, before, after, kind):
    """Contacts 0 and 1 belong to one wheel, 2 to another."""
    r = make_loop(wheels=[0, 0, 1])
    log_event(r, before, after, cause)
    r.log.impact[0] = ImpactOrigin.PYTHON if impacts else ImpactOrigin.NONE
    assert run_loop.classify_event(r, 0) == kind


@pytest.mark.parametrize(
    ("cause", "actor", "fired", "expected"),
    [
        (EventCause.LIFT_OFF, 2, (0, 2), [2, 0]),
        (EventCause.LIFT_OFF, 2, (1, 2), [2]),
        (EventCause.COLLISION, 0, (0,), [0]),
        (EventCause.COLLISION, 2, (0, 2), [2]),
        (EventCause.HAND_OVER, -1, (0,), []),
    ],
)
def test_the_log_lists_the_contact_that_fired_first(monkeypatch, cause, actor, fired, expected):
    """Contacts 0 and 2 were closed; with a lift-off others of them lift off, too. Of candidates 0 to 2 the
    last two have rows in an impact.
    """
    r = make_loop()
    r.arc.mode.status = np.zeros(3, int)
    r.log.fired, r.log.fired_count = np.zeros((3, 3), int), np.zeros(3, int)
    r.log.impact_contacts, r.log.impact_count = np.zeros((3, 3), int), np.zeros(3, int)
    r.log.y_after, r.log.energy_after = np.zeros((3, 2)), np.zeros(3)
    log_event(r, [(0, ROLLING), (2, ROLLING)], [])
    r.event.y, r.event.sizes[CANDIDATES] = np.array([7.0, 8.0]), 3
    r.event.closed_status = np.array([Status.SPRUNG_TYRE, Status.TYRE, Status.ROLLING])
    r.event.fired[list(fired)] = True
    r.progress.assign(cause=cause, actor=actor)
    record(monkeypatch, mechanical_energy=lambda r: r.arc.mode.x[1])
    run_loop.log_event_end(r)
    assert r.log.fired[0, : r.log.fired_count[0]].tolist() == expected
    assert r.log.impact_contacts[0, : r.log.impact_count[0]].tolist() == [1, 2]
    assert r.log.y_after[0].tolist() == [5.0, 6.0]
    assert r.log.energy_after[0] == 7.0
