"""Decisions of the loop of time steps and of the changes of the method one by one: when the length of the
steps is chosen, when Python has to act, which steps are valid on moving ground. Routines run as plain Python;
what they call is given.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from draisine.simulation.contact.nearby.search import SearchResult
from draisine.simulation.contact.stepping import loop, method_change
from draisine.simulation.contact.stepping.grid import ADAPT_STEPS
from draisine.simulation.contact.stepping.method_change import NO_STEP
from draisine.simulation.contact.stepping.step import StepResult
from draisine.simulation.contact.stepping.switch import MethodChange, SolverChoice

H = 1e-3  # s


def make_loop(**fields):
    """The records of a run in time steps, at time zero on ground at rest."""
    grid = SimpleNamespace(
        time=0.0, start=0.0, index=0, h=H, block=0, error=1.0, largest=1.0, row=None
    )
    steps = SimpleNamespace(
        steps=0, y=np.zeros(2), before=np.zeros(2), middle=np.zeros(2), x=np.zeros(3), trend=np.ones(1),
        motion=SimpleNamespace(y_z=2, states=0, speeds=1), wheels=SimpleNamespace(size=1), most=4,
        airborne=np.ones(1), centre=np.zeros((1, 3)), box=np.zeros(6), has_trend=True, error=1.0,
        travel=1.0, settled=3, required=-1, warmed_count=2, loaded_count=2, kept_count=2, blocked=1,
        accepts_blocked=True,
    )  # fmt: skip
    samples = SimpleNamespace(
        first=0.0, dt=0.1, number=0, count=5, begin=0.0, size=2, sums=np.ones(2), before=np.ones(2),
        times=np.zeros(2), states=np.zeros((2, 2)), totals=np.ones((2, 2)),
    )  # fmt: skip
    values = {
        "steps": steps,
        "samples": samples,
        "method": SimpleNamespace(
            grid=grid, solver=SolverChoice.AUTO, is_stepping=False, is_settled=True, required=40,
            resumed=-math.inf, recent_count=3, arcs=4,
        ),
        "mode": SimpleNamespace(plan=np.zeros(4, int), x=np.zeros(3)),
        "near": SimpleNamespace(
            until=math.inf, features=None, begin=np.array([0.1, 0.2, 0.3]),
            contacts=SimpleNamespace(size=7),
        ),
        "ground": SimpleNamespace(moves=False, margin=0.2),
    }  # fmt: skip
    return SimpleNamespace(**(values | fields))


# --- the loop


def advance(monkeypatch, s, taken, most, until=1.0, conflict=False, fast=False):
    """Advance by steps with given results (result, number of steps). Return the result of the loop, the
    numbers of steps that were allowed, and the times (s) at which the length was chosen.
    """
    rest = iter(taken)
    allowed, choices = [], []
    g = s.method.grid

    def take(s, until, most):
        allowed.append(most)
        result, s.steps.steps = next(rest)
        g.time += H * s.steps.steps
        g.block += s.steps.steps
        return result

    def adapt(g, steps):
        choices.append(g.time)
        g.block = 0
        return fast

    monkeypatch.setattr(loop, "take_valid_steps", take)
    monkeypatch.setattr(loop, "has_stepped_conflict", lambda *_: conflict)
    monkeypatch.setattr(loop, "adapt_step", adapt)
    return loop.advance_steps(s, until, most), allowed, choices


ADVANCED = StepResult.ADVANCED


def test_steps_are_taken_up_to_their_number_or_the_end(monkeypatch):
    s = make_loop()
    result, allowed, _ = advance(monkeypatch, s, [(ADVANCED, 10)] * 2 + [(ADVANCED, 5)], 25)
    assert (result, allowed) == (ADVANCED, [25, 15, 5])
    assert s.steps.steps == 25
    s = make_loop()
    result, allowed, _ = advance(monkeypatch, s, [(ADVANCED, 10)] * 9, 100, until=19.5 * H)
    assert (result, allowed) == (ADVANCED, [100, 90])
    assert s.steps.steps == 20


@pytest.mark.parametrize(
    ("result", "expected", "chosen"),
    [
        (ADVANCED, ADVANCED, 1),
        (StepResult.SETTLED, StepResult.SETTLED, 1),
        (StepResult.FALLEN, StepResult.FALLEN, 1),
        (StepResult.LEFT_SURROUNDINGS, StepResult.LEFT_SURROUNDINGS, 0),
        (StepResult.SAMPLES_FULL, StepResult.SAMPLES_FULL, 0),
        (StepResult.INFEASIBLE, StepResult.INFEASIBLE, 0),
        (StepResult.NOT_FINITE, StepResult.NOT_FINITE, 0),
    ],
)
@pytest.mark.parametrize("steps", [ADAPT_STEPS - 1, ADAPT_STEPS])
def test_the_length_is_chosen_after_a_block_of_steps(monkeypatch, result, expected, chosen, steps):
    """If Python acts first, the length is chosen at the next call, before any step."""
    s = make_loop()
    found, _, choices = advance(monkeypatch, s, [(result, steps)], steps)
    assert found is expected
    assert len(choices) == (chosen if steps == ADAPT_STEPS else 0)
    assert s.method.is_settled == (result is StepResult.SETTLED)
    if steps == ADAPT_STEPS and not chosen:
        found, allowed, choices = advance(monkeypatch, s, [(ADVANCED, 3)], 3)
        assert (found, allowed, choices) == (ADVANCED, [3], [H * ADAPT_STEPS])
        assert s.steps.steps == 3


def test_a_wheel_that_is_too_fast_ends_the_steps(monkeypatch):
    s = make_loop()
    result, _, _ = advance(monkeypatch, s, [(StepResult.SETTLED, ADAPT_STEPS)], 100, fast=True)
    assert result is StepResult.TOO_FAST
    assert s.steps.steps == ADAPT_STEPS
    assert not s.method.is_settled


@pytest.mark.parametrize(
    ("conflict", "steps", "expected", "taken", "choices"),
    [
        (True, 5, StepResult.OVER_CONSTRAINED, 5, 0),
        (True, ADAPT_STEPS, StepResult.OVER_CONSTRAINED, ADAPT_STEPS, 0),
        (False, 5, ADVANCED, ADAPT_STEPS, 1),
        (False, ADAPT_STEPS, ADVANCED, ADAPT_STEPS, 1),
    ],
)
def test_strained_contacts_end_the_steps_if_they_over_constrain_the_system(
    monkeypatch, conflict, steps, expected, taken, choices
):
    """Otherwise the steps go on: one of the contacts may slip, or the conflict is the first one."""
    s = make_loop()
    given = [(StepResult.STRAINED, steps), (ADVANCED, ADAPT_STEPS - steps)]
    found, _, chosen = advance(monkeypatch, s, given, ADAPT_STEPS, conflict=conflict)
    assert (found, s.steps.steps, len(chosen)) == (expected, taken, choices)


@pytest.mark.parametrize("result", list(StepResult))
def test_results_that_need_python_or_end_the_run_by_an_error(result):
    """The length of the steps is not chosen after them. After a fall it may be."""
    goes_on = (
        ADVANCED, StepResult.FALLEN, StepResult.TURNED_OVER, StepResult.SETTLED, StepResult.STRAINED,
        StepResult.TOO_FAST,
    )  # fmt: skip
    assert loop.is_interrupted(result) == (result not in goes_on)


# --- valid steps


def take_valid(monkeypatch, s, most=100, result=ADVANCED, room=True, found=SearchResult.FOUND):
    """Take valid steps; return the result and the calls (name, number of steps)."""
    calls = []

    def take(g, steps, samples, until, count):
        calls.append(("take", count))
        return result

    def search(near, ground, steps, has_path):
        calls.append(("search", has_path))
        return found

    monkeypatch.setattr(
        loop, "can_store_samples", lambda g, r, count: calls.append(("room", count)) or room
    )
    monkeypatch.setattr(loop, "take_grid_steps", take)
    monkeypatch.setattr(loop, "search_for_steps", search)
    return loop.take_valid_steps(s, 1.0, most), calls


@pytest.mark.parametrize(
    ("until", "count"),
    [(math.inf, 100), (0.2, 100), (10.5 * H, 10), (1.1 * H, 1), (0.9 * H, None)],
)
def test_steps_end_before_moving_ground_is_unknown(monkeypatch, until, count):
    """Of 100 steps those that end before `until`. If none does, the contacts are searched first."""
    s = make_loop()
    s.near.until = until
    s.steps.steps = 9
    result, calls = take_valid(monkeypatch, s)
    if count is None:
        assert (result, calls) == (StepResult.LEFT_SURROUNDINGS, [])
        assert s.steps.steps == 0
    else:
        assert result is ADVANCED
        assert calls == [("room", min(count, ADAPT_STEPS)), ("take", count)]


def test_rounding_does_not_prevent_a_step_before_moving_ground_is_unknown(monkeypatch):
    """Between t and t + h there is slightly less than one step."""
    s = make_loop()
    s.method.grid.time = 0.01
    s.near.until = 0.01 + H
    assert (s.near.until - 0.01) / H < 1.0
    assert take_valid(monkeypatch, s)[1] == [("room", 1), ("take", 1)]


def test_steps_without_room_for_their_samples_are_not_taken(monkeypatch):
    s = make_loop()
    s.steps.steps = 9
    result, calls = take_valid(monkeypatch, s, most=3, room=False)
    assert (result, calls) == (StepResult.SAMPLES_FULL, [("room", 3)])
    assert s.steps.steps == 0


@pytest.mark.parametrize(
    ("moves", "found", "expected", "searches"),
    [
        (False, SearchResult.FOUND, ADVANCED, 1),
        (False, SearchResult.TABLE_FULL, StepResult.LEFT_SURROUNDINGS, 1),
        (True, SearchResult.FOUND, StepResult.LEFT_SURROUNDINGS, 0),
    ],
)
def test_a_wheel_that_leaves_its_surroundings_is_searched_anew(
    monkeypatch, moves, found, expected, searches
):
    """Python enlarges a table that is full, and loads large ground that moves."""
    s = make_loop(ground=SimpleNamespace(moves=moves, margin=0.2))
    left = StepResult.LEFT_SURROUNDINGS
    result, calls = take_valid(monkeypatch, s, result=left, found=found)
    assert result is expected
    assert calls.count(("search", True)) == searches
    result, calls = take_valid(monkeypatch, s, result=StepResult.FALLEN)
    assert result is StepResult.FALLEN
    assert ("search", True) not in calls


@pytest.mark.parametrize(
    ("moves", "margin", "expected"),
    [(False, 0.2, True), (True, 0.2, False), (True, math.inf, True), (False, math.inf, True)],
)
def test_only_a_part_of_moving_ground_is_valid_for_a_limited_time(moves, margin, expected):
    """An infinite margin means that the table contains the whole ground."""
    assert loop.is_searchable(SimpleNamespace(moves=moves, margin=margin)) == expected


# --- begin


@pytest.mark.parametrize(
    ("solver", "required"), [(SolverChoice.AUTO, 40), (SolverChoice.TIME_STEPPING, 0)]
)
@pytest.mark.parametrize(("dt", "number", "count"), [(0.1, 101, 1), (0.3, 34, 1), (math.inf, 0, 0)])
def test_time_steps_begin_at_rest_of_all_sums(monkeypatch, solver, required, dt, number, count):
    """At 10 s the samples 100 (dt 0.1 s) and 33 (9.9 s, dt 0.3 s) are past. Only an automatic choice of the
    method counts settled steps.
    """
    s = make_loop()
    s.method.solver, s.samples.dt = solver, dt
    monkeypatch.setattr(loop, "locate_centres", lambda *_: None)
    loop.begin_steps(s, 10.0, np.array([1.0, 2.0]), H)
    steps, g = s.steps, s.method.grid
    assert (s.method.is_stepping, s.method.is_settled) == (True, False)
    assert (g.time, g.start, g.index, g.h, g.largest, g.block, g.error) == (
        10.0,
        10.0,
        0,
        H,
        H,
        0,
        0,
    )
    for state in (steps.y, steps.before, steps.middle):
        assert state.tolist() == [1.0, 2.0]
    assert steps.required == required
    assert (steps.settled, steps.warmed_count, steps.loaded_count) == (0, 0, 0)
    assert (steps.kept_count, steps.blocked, steps.accepts_blocked) == (-1, -1, False)
    assert not (steps.has_trend or steps.trend.any() or steps.error or steps.travel)
    assert not steps.airborne.any()
    assert steps.centre.tolist() == [[0.1, 0.2, 0.3]]
    assert steps.box.tolist() == [0.1, 0.2, 0.3] * 2
    assert steps.x.tolist() == [10.0, 1.0, 2.0]
    assert (s.samples.begin, s.samples.number, s.samples.count) == (10.0, number, count)
    assert not (s.samples.sums.any() or s.samples.before.any())
    if count:
        assert s.samples.times[0] == 10.0
        assert s.samples.states[0].tolist() == [1.0, 2.0]
        assert not s.samples.totals[0].any()


def test_a_jump_of_the_inputs_begins_a_new_grid():
    """Of the same spacing, within the last step."""
    s = make_loop()
    s.method.grid.index = 7
    loop.change_step_inputs(s, 2.5, np.array([1.0, 2.0]))
    g = s.method.grid
    assert (g.time, g.start, g.index, g.h) == (2.5, 2.5, 0, H)
    assert s.steps.y.tolist() == [1.0, 2.0]
    assert s.samples.begin == 2.5


# --- changes of the method


@pytest.mark.parametrize("conflict", [False, True])
def test_time_steps_replace_short_arcs_unless_ideal_contacts_are_in_conflict(monkeypatch, conflict):
    """The change is remembered after the short arcs are gone, at the state to which the run goes back."""
    calls = []
    clock = SimpleNamespace(time=3.0)
    run = SimpleNamespace(
        arc=SimpleNamespace(mode=None, clock=clock, stages=SimpleNamespace(n=2, y=np.zeros(2))),
        near=SimpleNamespace(features=None), event=SimpleNamespace(mu=None),
    )  # fmt: skip

    def discard(r, w, h):
        calls.append(("discard", h))
        clock.time = 2.9
        return 2

    monkeypatch.setattr(method_change, "has_ideal_conflict", lambda *_: conflict)
    monkeypatch.setattr(method_change, "first_step", lambda r, w: H)
    monkeypatch.setattr(
        method_change, "require_after_change", lambda w, t, h: calls.append(("require", t))
    )
    monkeypatch.setattr(method_change, "add_sample", lambda r: calls.append(("sample", clock.time)))
    monkeypatch.setattr(method_change, "discard_short_arcs", discard)
    monkeypatch.setattr(
        method_change, "remember_event", lambda w, t, kind, y, n: calls.append((kind, t))
    )
    found = method_change.leave_events(run, None)
    if conflict:
        assert (found, calls) == ((NO_STEP, 0), [])
    else:
        assert found == (H, 2)
        assert calls == [
            ("require", 3.0), ("sample", 3.0), ("discard", H), (MethodChange.TIME_STEPPING, 2.9),
        ]  # fmt: skip


@pytest.mark.parametrize("projects", [True, False])
def test_event_location_resumes_if_the_state_can_be_projected(monkeypatch, projects):
    """Otherwise time steps go on, and more settled steps are required."""
    s = make_loop()
    s.method.is_stepping, s.method.grid.time = True, 3.0
    calls = []

    def project(mode, row, steps, w, t, near, most):
        calls.append((t, near, most))
        return projects

    monkeypatch.setattr(method_change, "project_stepped_state", project)
    monkeypatch.setattr(method_change, "require_more", lambda w, s: calls.append("more"))
    monkeypatch.setattr(
        method_change, "remember_event", lambda w, t, kind, y, n: calls.append((kind, t))
    )
    assert method_change.leave_steps(s) == projects
    assert calls[0] == (3.0, 7, 4)
    assert calls[1:] == ([(MethodChange.EVENT_LOCATION, 3.0)] if projects else ["more"])
    assert s.method.is_stepping != projects
    assert s.method.resumed == (3.0 if projects else -math.inf)


def test_a_failed_change_is_forgotten(monkeypatch):
    s = make_loop()
    calls = []
    monkeypatch.setattr(method_change, "require_more", lambda w, s: calls.append("more"))
    s.method.resumed = 9.0
    method_change.return_to_steps(s, 2.0)
    assert (s.method.recent_count, s.method.arcs, s.method.resumed) == (2, 3, 2.0)
    assert s.method.is_stepping
    assert calls == ["more"]
