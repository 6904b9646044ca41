"""Decisions at events, routine by routine, in machine units: what touches, what is one contact, which slip
begins, what a guard that fires is about.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from draisine.model import Wheel
from draisine.simulation.contact.event_driven import events, run_loop
from draisine.simulation.contact.event_driven.arc_integration import ArcClock, RunStatus
from draisine.simulation.contact.event_driven.events import (
    SlipPlan,
    can_begin_slip,
    count_demanded_rows,
    is_coincident,
    open_contact_touches,
    scale_slips,
)
from draisine.simulation.contact.event_driven.run_loop import (
    MAX_EVENTS_AT_INSTANT,
    EventCause,
    EventStage,
    RunProgress,
    begin_event,
    leaves_mode_unchanged,
    set_border_hysteresis,
)
from draisine.simulation.contact.status import TYRE_STATUSES, Status, count_rows
from draisine.simulation.contact.tolerances import Tolerances
from draisine.simulation.trajectory import GuardKind

TOL = Tolerances()
GAP, STRETCH, ARMED, B, C, POINT, NORMAL, ROW = 0, 1, 2, 3, 6, 9, 12, 15


def motion(speeds=1):
    """One speed, which is the normal velocity of all contacts."""
    places = {"gap": GAP, "stretch": STRETCH, "armed": ARMED, "b": B, "C": C, "point": POINT}
    return SimpleNamespace(
        tol=TOL, speeds=speeds, x_v=0, normal=NORMAL, row=ROW, length=1.0, **places
    )


@pytest.fixture
def event(monkeypatch):
    """An event of two contacts of wheels 0 and 1, whose rows are given."""
    monkeypatch.setattr(events, "evaluate_row", lambda *_: None)
    monkeypatch.setattr(events, "border_excess", lambda m, b, k, row: b.excess[k])
    table = SimpleNamespace(wheels=np.array([0, 1]), excess=np.zeros(2))
    mode = SimpleNamespace(motion=motion(), contacts=table, x=np.zeros(1))
    return SimpleNamespace(
        mode=mode,
        max_deflections=np.zeros(2),
        inside=np.full(2, TOL.border),
        touching=np.array([0, 1]),
    )


def row(gap, armed=1.0):
    found = np.zeros(ROW)
    found[[GAP, STRETCH, ARMED, C]] = gap, 1.0, armed, 1.0
    return found


@pytest.mark.parametrize("share", [0.9, -0.9])
def test_a_gap_within_the_bound_of_an_event_touches(event, share):
    assert open_contact_touches(event, 0, row(share * TOL.gap_event))
    assert not open_contact_touches(event, 0, row(share / 0.8 * TOL.gap_event))


def test_a_fast_approach_widens_the_bound_of_an_event(event):
    """By what a speed of 1e3 covers within the resolution of time."""
    gap = 0.9 * TOL.event_resolution * 1e3
    assert not open_contact_touches(event, 0, row(gap))
    event.mode.x[0] = -1e3
    assert open_contact_touches(event, 0, row(gap))
    assert not open_contact_touches(event, 0, row(1.2 * gap))


def test_a_gap_beyond_the_search_does_not_touch_however_fast(event):
    event.mode.x[0] = -1e9
    assert not open_contact_touches(event, 0, row(1.1 * TOL.gap_search))
    assert not open_contact_touches(event, 0, row(np.nan))


def test_a_foot_that_is_not_armed_does_not_touch(event):
    assert not open_contact_touches(event, 0, row(0.0, armed=0.0))
    assert not open_contact_touches(event, 0, row(0.0, armed=-1.0))


def test_a_deflected_tyre_touches_below_its_free_radius(event):
    event.max_deflections[0] = 0.1
    assert open_contact_touches(event, 0, row(-0.09))
    assert not open_contact_touches(event, 1, row(-0.09))
    assert not open_contact_touches(event, 0, row(-0.11))


def test_a_feature_just_left_touches_only_well_inside_its_border(event):
    event.inside[0] = -TOL.border
    for excess, wanted in ((0.0, False), (-0.9, False), (-1.1, True)):
        event.mode.contacts.excess[0] = excess * TOL.border
        assert open_contact_touches(event, 0, row(0.0)) == wanted
    event.mode.contacts.excess[1] = 0.9 * TOL.border
    assert open_contact_touches(event, 1, row(0.0))


def test_contacts_at_one_point_with_one_normal_are_the_same(event):
    """Those of another wheel are not, nor those beside or turned by more than the tolerance."""
    event.gaps = np.zeros(2 * ROW)
    event.mode.contacts.wheels[:] = 0
    assert is_coincident(event, 0, 1)
    event.gaps[ROW + POINT] = 2.0 * TOL.same_point
    assert not is_coincident(event, 0, 1)
    event.gaps[ROW + POINT], event.gaps[ROW + NORMAL] = 0.0, 2.0 * TOL.same_normal
    assert not is_coincident(event, 0, 1)
    event.gaps[ROW + NORMAL], event.mode.contacts.wheels[1] = 0.0, 1
    assert not is_coincident(event, 0, 1)


# --- statuses


def test_a_status_holds_the_rows_that_the_model_forbids():
    """A status of the engine has as many rows as the model has forbidden directions."""
    plain = Wheel("plain", "frame", (0.0, 0.0, 0.3), (0.0, 1.0, 0.0), 0.3)
    assert count_rows(Status.OPEN) == len(plain.rows["open"])
    assert count_rows(Status.SLIDING) == len(plain.rows["sliding"])
    assert count_rows(Status.ROLLING) == len(plain.rows["rolling"])
    assert [count_rows(status) for status in TYRE_STATUSES] == [0, 1, 2]


# --- the first slip


def slipping(directions, plans):
    count = len(plans)
    return SimpleNamespace(
        sizes=np.array([count, count]),
        slip_plan=np.array(plans),
        slip_directions=np.array(directions, float).ravel(),
        chosen=np.ones(count, int),
        status=np.full(count, Status.ROLLING),
    )


def test_the_fastest_first_slip_has_length_one_and_none_is_below_a_fifth():
    begin = SlipPlan.BEGIN
    e = slipping([(3.0, 4.0), (0.0, 0.05), (2.0, 0.0)], [begin, begin, SlipPlan.NOTHING])
    scale_slips(e)
    assert e.slip_directions.reshape(3, 2) == pytest.approx(
        np.array([(0.6, 0.8), (0.0, 0.2), (2.0, 0.0)])
    )


@pytest.mark.parametrize(
    ("plan", "chosen", "rows"),
    [
        (SlipPlan.BEGIN, 1, 3),
        (SlipPlan.NOTHING, 1, 2),
        (SlipPlan.WATCH, 0, 0),
        (SlipPlan.KEEP_APART, 0, 1),
    ],
)
def test_rows_that_demand_a_speed(plan, chosen, rows):
    """Of a contact that holds two rows."""
    e = slipping([(0.0, 0.0)], [plan])
    e.chosen[0], e.status[0] = chosen, Status.TRACKING_TYRE
    assert count_demanded_rows(e, 0) == rows


@pytest.mark.parametrize(
    ("change", "wanted"), [((1.0, 0.0), True), ((0.05, 0.0), False), ((150.0, -149.0), False)]
)
def test_a_first_slip_begins_by_a_small_change_of_speeds(change, wanted):
    """In onsets of slip: too little is none, and one that large speeds cancel to is refused."""
    n = 2
    rows = np.zeros(B + 3 + 3 * n)
    rows[C + n : C + 3 * n] = 1.0
    e = SimpleNamespace(
        mode=SimpleNamespace(motion=motion(n), x=np.zeros(n)),
        choice=SimpleNamespace(n=n, x=TOL.slip_onset * np.array(change)),
        rows=rows,
    )
    assert can_begin_slip(e, 0) == wanted


# --- what the guard that fires is about


def loop(kind, delay=0.1):
    """A run loop at the event of a guard on contact 1 of three, the only closed one."""
    mode = SimpleNamespace(
        contacts=SimpleNamespace(size=3, wheels=np.array([0, 0, 1]), first=np.array([0, 2, 4, 6])),
        which=np.array([1]),
        motion=SimpleNamespace(tol=TOL),
    )
    stages = SimpleNamespace(y=np.zeros(1), n=1)
    arc = SimpleNamespace(
        clock=ArcClock(subject=0, event_delay=delay, latest_sample=np.inf),
        kinds=np.array([kind]),
        contacts=np.array([2 if kind == GuardKind.GAP else 0]),
        borders=np.array([3]),
        mode=mode,
        stages=stages,
        state=np.zeros(1),
        inside=np.zeros(3),
    )
    flags = {name: np.ones(3, bool) for name in ("left", "leaving")}
    fired = SimpleNamespace(fired=np.ones(3, bool))
    return SimpleNamespace(arc=arc, event=fired, progress=RunProgress(), **flags)


CAUSES = {
    GuardKind.GAP: (EventCause.COLLISION, 2),
    GuardKind.NORMAL_FORCE: (EventCause.LIFT_OFF, 1),
    GuardKind.DEFLECTION: (EventCause.LIFT_OFF, 1),
    GuardKind.FRICTION_CONE: (EventCause.SLIP, 1),
    GuardKind.SLIP: (EventCause.STICK, 1),
}


@pytest.mark.parametrize("kind", list(CAUSES))
def test_a_guard_that_fires_names_cause_and_contact(kind):
    r = loop(kind)
    assert begin_event(r) is RunStatus.RESOLVED
    assert (r.progress.cause, r.progress.actor) == CAUSES[kind]
    assert r.progress.stage is EventStage.CONTACTS
    assert np.flatnonzero(r.event.fired).tolist() == [r.progress.actor]
    assert not r.leaving.any()


@pytest.mark.parametrize(("kind", "border"), [(GuardKind.BORDER, 1), (GuardKind.FOLD, -1)])
def test_a_border_ends_the_feature_of_its_contact(kind, border):
    """Border 3 of all is the second of contact 1, whose borders begin at 2."""
    r = loop(kind)
    assert begin_event(r) is RunStatus.RESOLVED
    assert r.progress.cause is EventCause.HAND_OVER
    assert (r.progress.ending, r.progress.actor, r.progress.border) == (1, -1, border)
    assert not r.event.fired.any()


@pytest.mark.parametrize("kind", [GuardKind.LEAN, GuardKind.OVERTURN])
def test_a_fall_ends_the_run(kind):
    assert begin_event(loop(kind)) is RunStatus.FALL


def test_too_many_events_at_one_instant_are_no_progress():
    """Those that separate at the instant are remembered until time passes."""
    r = loop(GuardKind.NORMAL_FORCE, delay=0.0)
    for _ in range(MAX_EVENTS_AT_INSTANT):
        assert begin_event(r) is RunStatus.RESOLVED
    assert r.leaving.all()
    assert begin_event(r) is RunStatus.NO_PROGRESS
    r.arc.clock.event_delay = 0.1
    assert begin_event(r) is RunStatus.RESOLVED
    assert r.progress.stalled == 0


@pytest.mark.parametrize(("own", "signs"), [(-1, (-1, -1, 1)), (0, (1, 1, 1)), (2, (-1, -1, 1))])
def test_features_just_left_count_well_inside_unless_their_wheel_is_handed_over(own, signs):
    """Wheel 0 has left the features of contacts 0 and 1."""
    r = loop(GuardKind.BORDER)
    r.left[:] = True, True, False
    set_border_hysteresis(r, own)
    assert r.arc.inside.tolist() == [sign * TOL.border for sign in signs]


def test_a_collision_that_leaves_mode_unchanged_counts_as_left_after_three_tries():
    r = loop(GuardKind.GAP)
    r.left[:] = False
    r.event.fired[:] = False, True, False
    r.progress.assign(cause=EventCause.COLLISION, stalled=2)
    assert not leaves_mode_unchanged(r)
    assert not r.left.any()
    r.progress.stalled = 3
    assert leaves_mode_unchanged(r)
    assert r.left.tolist() == [False, True, False]


@pytest.mark.parametrize("cause", list(EventCause))
def test_a_lift_off_that_leaves_mode_unchanged_is_not_recorded(cause):
    r = loop(GuardKind.NORMAL_FORCE)
    r.progress.assign(cause=cause, stalled=0)
    assert leaves_mode_unchanged(r) == (cause is EventCause.LIFT_OFF)
    assert run_loop.EVENT_KIND_NAMES[cause]
