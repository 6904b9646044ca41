"""Decisions of an event one by one: contacts that end, touch and coincide, the need for an impact, contacts
that stay closed, and contacts that begin to slide.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from draisine.simulation.contact.complementarity.active_set import CONTACTS, make_choice
from draisine.simulation.contact.complementarity.saddle_point import SaddleStatus
from draisine.simulation.contact.event_driven import events, run_loop
from draisine.simulation.contact.event_driven.arc_integration import RunStatus
from draisine.simulation.contact.event_driven.events import (
    CANDIDATES,
    FORCE_ONLY,
    NOT_INCLUDED,
    TOUCHING,
    SlipPlan,
)
from draisine.simulation.contact.event_driven.run_loop import (
    EventStage,
    InputJumps,
    RunProgress,
)
from draisine.simulation.contact.kernels import CLOSED
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.tolerances import Tolerances

TOL = Tolerances()
N = 3
ROW = 16  # C (3, 3), c (3), b (3), gap
GAP = 15


def make_event(count, speeds=(0.0, 0.0, 0.0)):
    """An event of contacts of a body with three translations: normal z, along x, across y."""
    rows = np.zeros((count + 1, ROW))
    rows[:, :9] = [0, 0, 1, 1, 0, 0, 0, 1, 0]
    motion = SimpleNamespace(tol=TOL, C=0, c=9, b=12, gap=GAP, row=ROW, speeds=N, x_v=0)
    contacts = SimpleNamespace(size=count, wheels=np.zeros(count, int))
    mode = SimpleNamespace(
        motion=motion,
        contacts=contacts,
        x=np.array(speeds, float),
        plan=np.zeros(4, int),
        which=np.zeros(count, int),
        status=np.zeros(count, int),
        mu=np.zeros(count),
    )
    flags = {name: np.zeros(count, bool) for name in ("was_closed", "fired", "ended", "avoid")}
    return SimpleNamespace(
        mode=mode,
        most=count,
        sizes=np.array([count, count]),
        box=np.zeros(6),
        mu=np.full(count, np.inf),
        touching=np.arange(count),
        gaps=rows.copy().ravel(),
        candidates=np.arange(count),
        rows=rows.ravel(),
        later_excess=np.zeros(count),
        status=np.full(count, Status.ROLLING),
        choice_index=np.zeros(count, int),
        chosen=np.zeros(count, int),
        slip_plan=np.zeros(count, int),
        law=SimpleNamespace(status=np.full(count, Status.ROLLING)),
        choice=SimpleNamespace(n=N, closed=np.zeros(count, int)),
        **flags,
    )


@pytest.fixture
def patched(monkeypatch):
    """Replace geometry by given values: gaps and excesses of contacts, now and a moment later."""
    given = SimpleNamespace(
        gap=np.zeros(4), excess=np.zeros(4), later=np.zeros(4), reach=np.ones(4, bool), delay=0.0
    )

    def evaluate_gap(x, contacts, k, row):
        row[GAP] = given.gap[k]

    def border_excess(m, contacts, k, row):
        return given.later[k] if given.delay > 0.0 else given.excess[k]

    monkeypatch.setattr(events, "evaluate_gap", evaluate_gap)
    monkeypatch.setattr(events, "border_excess", border_excess)
    monkeypatch.setattr(events, "is_in_reach", lambda tol, contacts, box, k: given.reach[k])
    monkeypatch.setattr(
        events, "extrapolate_state", lambda e, delay: setattr(given, "delay", delay)
    )
    return given


# --- ending and touching


def test_contacts_of_the_same_wheel_that_leave_their_feature_end_together(patched, monkeypatch):
    """Contact 0 ends. Of the others, 1 moves out of its feature, 2 into it, 3 belongs to another wheel."""
    e = make_event(4)
    e.mode.contacts.wheels[3] = 1
    delays = iter([0.0, 1.0, 0.0, 1.0])
    excess = {1: (0.0, 0.1), 2: (0.2, 0.1)}
    monkeypatch.setattr(events, "extrapolate_state", lambda *_: None)
    monkeypatch.setattr(
        events, "border_excess", lambda m, b, k, row: excess[k][int(next(delays) > 0.0)]
    )
    events.mark_ending(e, 0)
    assert e.ended.tolist() == [True, True, False, False]


def test_a_contact_with_a_gap_does_not_end_with_another(patched):
    e = make_event(2)
    patched.gap[1] = 2.0 * TOL.gap_event
    events.mark_ending(e, 0)
    assert e.ended.tolist() == [True, False]


def test_touching_are_closed_and_fired_contacts_and_those_without_a_gap(patched, monkeypatch):
    """0 is closed, 1 fired, 2 touches, 3 is out of reach."""
    e = make_event(4)
    e.was_closed[0] = e.fired[1] = True
    patched.reach[:] = [False, False, True, False]
    monkeypatch.setattr(events, "open_contact_touches", lambda e, k, row: True)
    assert events.find_touching(e)
    assert e.touching[: e.sizes[TOUCHING]].tolist() == [0, 1, 2]


def test_contacts_that_ended_or_do_not_touch_are_not_touching(patched, monkeypatch):
    e = make_event(3)
    e.was_closed[:] = True, False, False
    e.ended[0] = True
    monkeypatch.setattr(events, "open_contact_touches", lambda e, k, row: k == 1)
    assert events.find_touching(e)
    assert e.touching[: e.sizes[TOUCHING]].tolist() == [1]


def test_more_touching_contacts_than_there_is_room_for_are_reported(patched):
    e = make_event(3)
    e.was_closed[:] = True
    e.most = 2
    assert not events.find_touching(e)
    e.most = 3
    assert events.find_touching(e)


def test_of_coincident_contacts_that_onto_which_the_wheel_moves_is_kept(patched, monkeypatch):
    """0 and 1 coincide, and 1 is further inside a moment later; 2 is at another point."""
    e = make_event(3)
    patched.later[:3] = [0.1, -0.2, 0.3]
    monkeypatch.setattr(events, "is_coincident", lambda e, i, j: {i, j} == {0, 1})
    events.merge_coincident(e)
    assert e.candidates[: e.sizes[CANDIDATES]].tolist() == [1, 2]
    e.sizes[TOUCHING] = 3
    patched.later[:3] = [-0.3, -0.2, 0.3]
    events.merge_coincident(e)
    assert e.candidates[: e.sizes[CANDIDATES]].tolist() == [0, 2]


# --- impact


@pytest.mark.parametrize(
    ("approach", "status", "result"),
    [
        (2.0, Status.ROLLING, RunStatus.IMPACT),
        (2.0, Status.SLIDING, RunStatus.IMPACT),
        (0.5, Status.ROLLING, RunStatus.RESOLVED),
        (2.0, Status.SPRUNG_TYRE, RunStatus.RESOLVED),
        (-2.0, Status.ROLLING, RunStatus.RESOLVED),
    ],
)
def test_an_approach_beyond_the_tolerance_needs_an_impact(approach, status, result):
    e = make_event(1, speeds=(0.0, 0.0, -approach * TOL.no_approach))
    e.status[0] = status
    assert events.needs_impact(e) is result


@pytest.mark.parametrize(
    ("load", "trial", "result"),
    [
        (2.0, 0, RunStatus.IMPACT),
        (0.5, 0, RunStatus.RESOLVED),
        (2.0, -1, RunStatus.NO_CONTACT_SET),
    ],
)
def test_an_ideal_wheel_that_slips_and_is_pressed_needs_an_impact(monkeypatch, load, trial, result):
    e = make_event(1, speeds=(2.0 * TOL.slip_detected, 0.0, 0.0))
    monkeypatch.setattr(events, "choose_contact_set", lambda e: trial)
    monkeypatch.setattr(events, "multiplier_offset", lambda g, which: 0)
    e.choice.trials = np.array([load * TOL.pressed, 0.0, 0.0])
    assert events.needs_impact(e) is result


@pytest.mark.parametrize("change", ["was_closed", "mu", "slip"])
def test_other_wheels_that_rest_need_none(change):
    """Closed before, with finite friction, or without slip."""
    e = make_event(1, speeds=(2.0 * TOL.slip_detected, 0.0, 0.0))
    if change == "was_closed":
        e.was_closed[0] = True
    elif change == "mu":
        e.mu[0] = 0.8
    else:
        e.mode.x[0] = 0.0
    assert events.needs_impact(e) is RunStatus.RESOLVED


# --- closed contacts


@pytest.fixture
def chosen_set(monkeypatch):
    """Let the contact problem close all included contacts, and change no speeds."""
    monkeypatch.setattr(events, "choose_contact_set", lambda e: 0)
    monkeypatch.setattr(
        events, "mark_closed", lambda g, which: g.closed.__setitem__(slice(None), 1)
    )
    monkeypatch.setattr(events, "apply_slip_onset", lambda e: None)


def test_separating_contacts_open_and_slipping_ones_slide(chosen_set):
    """0 rests, 1 separates, 2 is a sprung tyre, 3 one without load."""
    e = make_event(4)
    e.status[:] = [Status.ROLLING, Status.ROLLING, Status.SPRUNG_TYRE, Status.SPRUNG_TYRE]
    e.avoid[3] = True
    rows = e.rows.reshape(-1, ROW)
    rows[1, 14 - 2] = -2.0 * TOL.separation  # velocity of the ground along the normal
    assert events.select_closed(e, False) is RunStatus.RESOLVED
    assert e.chosen.tolist() == [1, 0, 1, 0]
    assert e.choice_index[1] == NOT_INCLUDED
    count = e.mode.plan[CLOSED]
    assert e.mode.which[:count].tolist() == [0, 2]
    assert e.mode.status[:count].tolist() == [Status.ROLLING, Status.SPRUNG_TYRE]
    assert e.mode.mu[:count].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("slip", "status"), [(0.5, Status.ROLLING), (2.0, Status.SLIDING), (-2.0, Status.SLIDING)]
)
def test_a_rolling_contact_that_slips_slides(chosen_set, slip, status):
    e = make_event(1, speeds=(slip * TOL.slip_detected, 0.0, 0.0))
    events.select_closed(e, False)
    assert e.mode.status[0] == status


@pytest.mark.parametrize(("mu", "asks"), [(np.inf, False), (0.0, False), (0.8, True)])
def test_finite_friction_is_decided_by_coulombs_law(chosen_set, monkeypatch, mu, asks):
    e = make_event(1)
    e.mu[0] = mu
    asked = []
    monkeypatch.setattr(
        events, "select_with_friction", lambda e, slipping: asked.append(slipping) or 0
    )
    events.select_closed(e, True)
    assert asked == [True] * asks


def test_no_admissible_set_is_reported(chosen_set, monkeypatch):
    monkeypatch.setattr(events, "choose_contact_set", lambda e: -1)
    assert events.select_closed(make_event(1), False) is RunStatus.NO_CONTACT_SET


# --- forced slip


def forced(fired=(True, False), solver=(Status.ROLLING,) * 2, before=(Status.ROLLING,) * 2):
    e = make_event(2)
    e.fired[:] = fired
    e.choice_index[:] = 0, 1
    e.law.status[:] = solver
    e.mode.plan[CLOSED] = 2
    e.mode.which[:] = 0, 1
    e.mode.status[:] = before
    events.force_slip(e)
    return e.law.status.tolist()


def test_contacts_whose_cone_guard_fired_slide_if_the_solver_changed_nothing():
    assert forced() == [Status.SLIDING, Status.ROLLING]
    assert forced(fired=(False, False)) == [Status.ROLLING, Status.ROLLING]


def test_no_slip_is_forced_if_another_contact_begins_to_slide_or_sticks():
    assert forced(solver=(Status.ROLLING, Status.SLIDING)) == [Status.ROLLING, Status.SLIDING]
    assert forced(before=(Status.ROLLING, Status.SLIDING)) == [Status.ROLLING, Status.ROLLING]


# --- first slip among open contacts


@pytest.mark.parametrize(("push", "plan"), [(0.5, SlipPlan.WATCH), (2.0, SlipPlan.KEEP_APART)])
def test_an_open_contact_that_the_first_slip_would_close_is_kept_apart(monkeypatch, push, plan):
    """The first solution moves it down by some tolerances, the second not at all."""
    e = make_event(2)
    e.chosen[:] = 1, 0
    e.choice_index[:] = 0, 1
    solutions = iter([(0.0, 0.0, -push * TOL.no_approach), (0.0, 0.0, 0.0)])
    monkeypatch.setattr(events, "scale_slips", lambda e: None)
    monkeypatch.setattr(
        events, "solve_speed_change", lambda e: setattr(e.choice, "x", np.array(next(solutions)))
    )
    events.apply_slip_onset(e)
    assert e.slip_plan[1] == plan


# --- Coulomb's law


@pytest.fixture
def friction(monkeypatch):
    """Replace the solver by given forces, statuses and accelerations; record which contacts begin to slip."""
    given = SimpleNamespace(result=0, began=[])
    monkeypatch.setattr(events, "assemble_choice", lambda e: None)
    monkeypatch.setattr(events, "solve_coulomb_forces", lambda g, law: given.result)
    monkeypatch.setattr(events, "begin_slip", lambda e, j, force: given.began.append(j))
    monkeypatch.setattr(events, "apply_slip_onset", lambda e: None)
    return given


def frictional(count, loads, vdot=0.0):
    """Contacts with loads, of a body that accelerates along the normal."""
    e = make_event(count)
    e.mu[:] = 0.5
    e.choice_index[:] = range(count)
    e.choice.sizes = np.array([count, 0])
    e.choice.x = np.array([0.0, 0.0, vdot])
    e.law.mu = np.zeros(count)
    e.law.first_row = 3 * np.arange(count)
    e.law.new = np.zeros(3 * count)
    e.law.new[::3] = loads
    return e


@pytest.mark.parametrize(
    ("load", "avoid", "vdot", "chosen"),
    [
        (1.0, False, 0.0, 1),
        (0.0, False, 0.5, 1),
        (0.0, False, 2.0, 0),
        (0.0, True, 0.0, 0),
        (0.5, True, 0.0, 0),
        (2.0, True, 0.0, 1),
        (0.5, False, 2.0, 1),
    ],
)
def test_contacts_stay_closed_with_a_load_or_without_separation(
    friction, load, avoid, vdot, chosen
):
    """Loads in units of `no_load`, accelerations of `no_separation`. A contact to avoid needs its load."""
    e = frictional(1, load * TOL.no_load, vdot * TOL.no_separation)
    e.avoid[0] = avoid
    assert events.select_with_friction(e, False) is RunStatus.RESOLVED
    assert e.chosen[0] == chosen
    assert e.mode.plan[CLOSED] == chosen


def test_rolling_contacts_that_the_law_lets_slide_begin_to_slip(friction):
    """0 rolls and is let slide, 1 rolls on, 2 slides already, 3 is let slide but opens."""
    e = frictional(4, [1.0, 1.0, 1.0, 0.0], vdot=1.0)
    e.status[2] = Status.SLIDING
    e.law.status[:] = [Status.SLIDING, Status.ROLLING, Status.SLIDING, Status.SLIDING]
    events.select_with_friction(e, False)
    assert friction.began == [0]
    assert e.chosen.tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("slipping", [False, True])
def test_the_cone_is_a_little_smaller_if_a_contact_is_on_it(friction, slipping):
    e = frictional(1, 1.0)
    events.select_with_friction(e, slipping)
    assert (e.law.mu[0] < 0.5) == slipping
    assert e.law.mu[0] == pytest.approx(0.5, rel=2e-6)


def test_forces_that_do_not_exist_are_reported_unless_no_contact_is_included(friction):
    friction.result = 1
    assert events.select_with_friction(frictional(1, 1.0), False) is RunStatus.NO_FRICTION_FORCES
    e = frictional(1, 1.0)
    e.choice_index[0] = NOT_INCLUDED
    e.choice.sizes[0] = 0
    assert events.select_with_friction(e, False) is RunStatus.RESOLVED


# --- order of the steps


@pytest.mark.parametrize(
    ("ending", "room", "impact", "result"),
    [
        (-1, True, RunStatus.RESOLVED, RunStatus.RESOLVED),
        (2, True, RunStatus.RESOLVED, RunStatus.RESOLVED),
        (-1, False, RunStatus.RESOLVED, RunStatus.TOO_MANY_CONTACTS),
        (-1, True, RunStatus.IMPACT, RunStatus.IMPACT),
    ],
)
def test_an_event_selects_the_next_mode_unless_an_impact_comes_first(
    monkeypatch, ending, room, impact, result
):
    e = make_event(3)
    e.rates = np.zeros(1)
    e.mode.motion.call = e.mode.motion.table = e.mode.out = None
    calls = []
    for name in ("store_wheel_centres", "merge_coincident", "evaluate_candidates", "call"):
        monkeypatch.setattr(events, name, lambda *_: None)
    monkeypatch.setattr(events, "mark_ending", lambda e, k: calls.append(k))
    monkeypatch.setattr(events, "find_touching", lambda e: room)
    monkeypatch.setattr(events, "needs_impact", lambda e: impact)
    monkeypatch.setattr(
        events, "select_next_mode", lambda e, slipping: calls.append("mode") or RunStatus.RESOLVED
    )
    assert events.resolve_event(e, ending, False, True) is result
    assert calls == [2] * (ending == 2) + ["mode"] * (result is RunStatus.RESOLVED)


def test_contacts_without_load_are_to_be_avoided_if_a_force_vanishes(monkeypatch):
    """0 carries a load, 1 does not; 2 is open and was to be avoided before."""
    e = make_event(3)
    e.avoid[2] = True
    e.rates = np.zeros(1)
    e.mode.motion.call = e.mode.motion.table = e.mode.out = e.mode.seen = None
    e.mode.plan[CLOSED] = 2
    e.mode.which[:2] = 0, 1
    e.mode.lam = np.array([2.0 * TOL.no_load, 0.0, 0.0, 0.5 * TOL.no_load, 0.0, 0.0])
    for name in ("store_wheel_centres", "merge_coincident", "evaluate_candidates", "call"):
        monkeypatch.setattr(events, name, lambda *_: None)
    monkeypatch.setattr(events, "find_touching", lambda e: True)
    monkeypatch.setattr(events, "needs_impact", lambda e: RunStatus.IMPACT)
    monkeypatch.setattr(events, "solve_rates", lambda *_: 0)
    events.resolve_event(e, -1, False, False)
    assert e.avoid.tolist() == [False, False, True]
    events.resolve_event(e, -1, True, False)
    assert e.fired.tolist() == [False, True, False]
    assert e.avoid.tolist() == [False, True, True]
    monkeypatch.setattr(events, "solve_rates", lambda *_: 1)
    assert events.resolve_event(e, -1, True, False) is RunStatus.CONTRADICTION


# --- the contact problem


def assembled(statuses, mu=0.5, speeds=(3.0, 4.0, 0.0), acted=0, included=None):
    """Contacts of one body whose elements push with 7 along x and lift with 2 along y per load."""
    count = len(statuses)
    e = make_event(count, speeds)
    m = e.mode.motion
    m.acted, m.F, m.held_c, m.M, m.held, m.push, m.lift, m.row = acted, 9, 12, 0, 12, 16, 19, 22
    rows = np.zeros((count, 22))
    rows[:, :ROW] = e.rows.reshape(-1, ROW)[:count]
    rows[:, 9] = 0.25
    rows[:, 16], rows[:, 20] = 7.0, 2.0
    e.rows = rows.ravel()
    e.mode.out = np.array([*np.eye(3).ravel(), 1.0, 2.0, 3.0])
    e.mu[:] = mu
    e.status[:] = statuses
    if included is not None:
        e.choice_index[:] = included
    e.choice = make_choice(N, 0, count)
    events.assemble_choice(e)
    return e


def test_included_contacts_enter_the_problem_and_sprung_tyres_as_forces():
    """0 rolls, 1 is not included, 2 is a tyre on a spring, 3 slides."""
    statuses = [Status.ROLLING, Status.ROLLING, Status.SPRUNG_TYRE, Status.SLIDING]
    e = assembled(statuses, included=[0, NOT_INCLUDED, 0, 0])
    g = e.choice
    assert e.choice_index.tolist() == [0, NOT_INCLUDED, FORCE_ONLY, 1]
    assert g.sizes[CONTACTS] == 2
    assert g.rows[:2].tolist() == [3, 1]
    assert g.right.tolist() == [-1.0 + 7.0, -2.0, -3.0]
    assert g.level[:2].tolist() == [0.25, 0.25]


@pytest.mark.parametrize(
    ("status", "mu", "speeds", "drag"),
    [
        (Status.SLIDING, 0.5, (3.0, 4.0, 0.0), (-0.3, -0.4)),
        (Status.SLIDING, 0.0, (3.0, 4.0, 0.0), (0.0, 0.0)),
        (Status.SLIDING, np.inf, (3.0, 4.0, 0.0), (0.0, 0.0)),
        (Status.SLIDING, 0.5, (0.0, 0.0, 0.0), (0.0, 0.0)),
        (Status.ROLLING, 0.5, (3.0, 4.0, 0.0), (0.0, 0.0)),
    ],
)
def test_friction_of_sliding_contacts_is_part_of_the_normal_column(status, mu, speeds, drag):
    """With mu 0.5 and a slip of (3, 4), a unit of load drags with (-0.3, -0.4)."""
    g = assembled([status], mu, speeds).choice
    assert g.G[:3] == pytest.approx([*drag, 1.0])
    assert g.C[:3].tolist() == [0.0, 0.0, 1.0]


def test_elements_push_at_zero_load_and_lift_in_proportion_to_it():
    g = assembled([Status.ROLLING], acted=1).choice
    assert g.push[:3].tolist() == [7.0, 0.0, 0.0]
    assert g.G[:3].tolist() == [0.0, 2.0, 1.0]
    g = assembled([Status.ROLLING], acted=0).choice
    assert g.push[:3].tolist() == [0.0, 0.0, 0.0]


# --- slips and closed contacts


@pytest.mark.parametrize(
    ("wheel", "status", "closed", "expected"),
    [
        (0, Status.SLIDING, 2, True),
        (0, Status.ROLLING, 2, False),
        (1, Status.SLIDING, 2, False),
        (0, Status.SLIDING, 1, False),
    ],
)
def test_a_slip_continues_on_the_next_feature_of_the_wheel(wheel, status, closed, expected):
    """Contact 2 of wheel 0 follows contact 1, the second of the closed ones."""
    e = make_event(3)
    e.mode.contacts.wheels[:] = 2, wheel, 0
    e.mode.plan[CLOSED] = closed
    e.mode.which[:2], e.mode.status[:2] = (0, 1), (Status.ROLLING, status)
    assert events.slides_before(e, 2) == expected


@pytest.mark.parametrize(
    ("speeds", "expected"),
    [((0.9, 0.9), False), ((1.1, 0.0), True), ((0.0, -1.1), True)],
)
def test_a_slip_is_detected_along_each_axis(speeds, expected):
    """In units of the tolerance; the ground of candidate 1 moves, so that it slips when the body rests."""
    e = make_event(2, speeds=(*TOL.slip_detected * np.array(speeds), 0.0))
    assert events.is_slipping(e, 0) == expected
    e.rows.reshape(-1, ROW)[1, 13] = 3.0 * TOL.slip_detected
    assert events.is_slipping(e, 1)


def test_chosen_candidates_become_the_closed_contacts():
    """Ideal contacts have no friction limit, which the contact mode writes as zero."""
    e = make_event(3)
    e.candidates[:], e.chosen[:] = (2, 0, 1), (1, 0, 1)
    e.status[:] = Status.SLIDING, Status.OPEN, Status.ROLLING
    e.mu[:] = 0.3, np.inf, 0.5
    events.close_contacts(e)
    assert e.mode.plan[CLOSED] == 2
    assert e.mode.which[:2].tolist() == [2, 1]
    assert e.mode.status[:2].tolist() == [Status.SLIDING, Status.ROLLING]
    assert e.mode.mu[:2].tolist() == [0.5, 0.0]


# --- the next mode, tyre loads, changes of speeds


@pytest.mark.parametrize("status", [RunStatus.RESOLVED, RunStatus.NO_CONTACT_SET])
def test_a_state_is_projected_if_the_next_mode_exists(monkeypatch, status):
    """The state before the projection is kept: the energy of the event is measured there."""
    e = make_event(1)
    e.mode.motion.call = e.mode.motion.table = e.mode.out = None
    calls = []
    monkeypatch.setattr(events, "call", lambda *_: None)
    monkeypatch.setattr(events, "evaluate_candidates", lambda e: None)
    monkeypatch.setattr(events, "select_closed", lambda e, slipping: slipping and status)
    monkeypatch.setattr(events, "store_state", lambda e: calls.append("state"))
    monkeypatch.setattr(events, "project_state", lambda s: calls.append("projection"))
    assert events.select_next_mode(e, True) is status
    assert calls == ["state", "projection"][: 1 + (status is RunStatus.RESOLVED)]


@pytest.mark.parametrize(
    ("acted", "uneven", "load", "index", "changes", "solutions"),
    [
        (1, 1.0, 7.0, 1, (1.0, 0.0), 2),
        (1, 1.0, 7.0, 1, (1.1 * events.CONVERGED_LOAD, 0.9 * events.CONVERGED_LOAD), 2),
        (1, 1.0, 7.0, 1, [1.0] * 99, events.MAX_LOAD_ITERATIONS),
        (0, 1.0, 7.0, 1, (1.0, 0.0), 1),
        (1, 0.0, 7.0, 1, (1.0, 0.0), 1),
        (1, 1.0, 0.0, 1, (1.0, 0.0), 1),
        (1, 1.0, 7.0, NOT_INCLUDED, (1.0, 0.0), 1),
    ],
)
def test_contact_sets_are_chosen_until_loads_of_tyres_converge(
    monkeypatch, acted, uneven, load, index, changes, solutions
):
    """The candidate has the second place in the problem, and its row is evaluated at each new load."""
    e = make_event(1)
    e.mode.motion.acted, e.mode.motion.uneven = acted, GAP
    e.rows[GAP], e.choice_index[0] = uneven, index
    e.choice.trials = np.array([-9.0, 0.0, 0.0, load])
    rest, loads, calls = iter(changes), [], []
    monkeypatch.setattr(events, "assemble_choice", lambda e: calls.append("solve"))
    monkeypatch.setattr(events, "choose_set", lambda *_: 3)
    monkeypatch.setattr(events, "multiplier_offset", lambda g, which: 0)
    monkeypatch.setattr(
        events, "update_tyre_load", lambda tol, b, k, load: loads.append(load) or next(rest)
    )
    monkeypatch.setattr(events, "evaluate_row", lambda *_: calls.append("row"))
    assert events.choose_contact_set(e) == 3
    assert calls.count("solve") == solutions
    assert calls.count("row") == len(loads)
    assert loads == [load] * (solutions if len(loads) else 0)


@pytest.mark.parametrize(
    ("status", "acted", "drag"),
    [
        (Status.SLIDING, 0, (-0.3, -0.4)),
        (Status.ROLLING, 0, (0.0, 0.0)),
        (Status.TYRE, 1, (0.0, 2.0)),
    ],
)
def test_a_candidate_enters_the_problem_with_drag_or_lift(status, acted, drag):
    """Slip (3, 4) and mu 0.5; per newton of load a tyre lifts with 2 along y. It is to be avoided."""
    e = assembled([status], 0.5, acted=acted)
    e.avoid[0] = True
    e.rows[9:12] = 0.25, 0.5, 0.75
    e.choice.G[:] = 9.0
    events.assemble_contact(e, 0, e.rows)
    assert e.choice.G[:3] == pytest.approx([*drag, 1.0])
    assert e.choice.c[:3].tolist() == [0.25, 0.5, 0.75]
    assert (e.choice.level[0], e.choice.avoid[0]) == (0.25, 1)


@pytest.mark.parametrize(
    ("plan", "mass", "change"),
    [
        (SlipPlan.BEGIN, 1.0, (-2.0 + 0.6 * TOL.slip_onset, -3.0 + 0.8 * TOL.slip_onset, -4.0)),
        (SlipPlan.NOTHING, 1.0, (-2.0, -3.0, -4.0)),
        (SlipPlan.NOTHING, 0.0, (0.0, 0.0, 0.0)),
    ],
)
def test_speeds_change_until_contacts_have_their_velocities(monkeypatch, plan, mass, change):
    """The body moves with (2, 3, 4) and shall rest, or slip in the direction (0.6, 0.8)."""
    e = make_event(1, speeds=(2.0, 3.0, 4.0))
    e.chosen[0], e.slip_plan[0], e.slip_directions = 1, plan, np.array([0.6, 0.8])
    e.choice = make_choice(N, 0, 1)
    e.choice.M[:], e.choice.x[:] = mass * np.eye(N).ravel(), 9.0
    if mass == 0.0:
        monkeypatch.setattr(events, "solve_saddle_point", lambda p: SaddleStatus.UNSOLVABLE)
    events.solve_speed_change(e)
    assert e.choice.x == pytest.approx(change, rel=1e-14)


# --- limits of a call


@pytest.mark.parametrize(
    ("t", "first", "jump"),
    [(0.1, 0, 0.2), (0.2, 0, 0.5), (0.7, 0, np.inf), (0.3, 2, 0.5), (0.1, 2, 0.2)],
)
def test_the_next_jump_of_the_inputs_is_found_also_by_a_branch_that_is_behind(t, first, jump):
    times = np.array([0.2, 0.5, np.inf])
    jumps = InputJumps(times=times, before=np.nextafter(times, 0.0), next=first)
    loop = SimpleNamespace(
        progress=RunProgress(stage=EventStage.ARC),
        jumps=jumps,
        arc=SimpleNamespace(clock=SimpleNamespace(time=t)),
    )
    run_loop.set_limits(loop, 200, 32)
    assert loop.arc.clock.input_jump == jump
    assert loop.arc.clock.last_time == np.nextafter(jump, 0.0)
    assert (loop.progress.most_steps, loop.progress.most_events) == (200, 32)


def test_a_call_that_begins_with_an_event_ends_after_it():
    endless = np.array([np.inf])
    loop = SimpleNamespace(
        progress=RunProgress(stage=EventStage.CONTACTS, events=3),
        jumps=InputJumps(times=endless, before=endless),
        arc=SimpleNamespace(clock=SimpleNamespace(time=1.0)),
    )
    run_loop.set_limits(loop, 200, 32)
    assert (loop.progress.most_steps, loop.progress.most_events) == (0, 4)
