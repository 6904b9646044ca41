"""Decisions about the grid of time steps one by one: the length of the first step, halving and doubling, the
steps up to an end time, samples between steps.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from draisine.simulation.contact.stepping import grid
from draisine.simulation.contact.stepping.grid import (
    ADAPT_STEPS,
    ERROR_MARGIN,
    ERROR_MEMORY_RATIO,
    LONGEST_STEP_RATIO,
    MAX_TRAVEL_RATIO,
    POSITION_ERROR_RATIO,
    SHORTEST_RATIO,
    SHORTEST_REMAINDER_RATIO,
)
from draisine.simulation.contact.stepping.step import StepResult

SIZE = 0.1  # m
UNIT = 0.2  # s
LONGEST = LONGEST_STEP_RATIO * UNIT
ALLOWED = POSITION_ERROR_RATIO * SIZE * ERROR_MEMORY_RATIO  # m, error within the memory


def make_grid(**fields):
    """Return a grid of time steps of the longest length."""
    values = {
        "given_step": 0.0, "wheel_size": SIZE, "time_unit": UNIT, "time": 0.0, "start": 0.0, "index": 0,
        "h": LONGEST, "largest": LONGEST, "span": 0.0, "block": ADAPT_STEPS, "error": 0.0,
    }  # fmt: skip
    return SimpleNamespace(**(values | fields))


def adapt(g, error=0.0, travel=0.0):
    """Choose the next step after steps with a position error and a displacement (m)."""
    return grid.adapt_step(g, SimpleNamespace(error=error, travel=travel))


# --- length of the steps


@pytest.mark.parametrize(
    ("error", "ratio"), [(0.0, 1.0), (0.9 * ALLOWED, 1.0), (1.1 * ALLOWED, 0.5)]
)
def test_a_larger_error_than_allowed_halves_the_step(error, ratio):
    g = make_grid()
    assert not adapt(g, error)
    assert g.h == ratio * LONGEST
    assert g.block == 0


def test_a_single_transient_halves_the_step_only_until_the_error_is_allowed():
    """The error of a jump of speed is proportional to the step: five times the allowed error needs a step of
    an eighth, and no shorter one.
    """
    g = make_grid()
    adapt(g, 5.0 * ALLOWED)
    for _ in range(10):
        adapt(g)
    assert g.h == LONGEST / 8


def test_after_a_transient_the_step_grows_again():
    """Within two memories of the error the longest step is reached again."""
    g = make_grid()
    adapt(g, 5.0 * ALLOWED)
    steps = 0
    passed = 0.0
    while g.h < LONGEST or passed == 0.0:
        passed += ADAPT_STEPS * g.h
        adapt(g)
        steps += 1
    assert 1.0 < passed / (ERROR_MEMORY_RATIO * UNIT) < 5.0


def test_errors_are_averaged_over_the_memory():
    """A steady error rate r contributes r times the memory."""
    rate = 0.5 * (1.0 + 1.0 / ERROR_MARGIN) * POSITION_ERROR_RATIO * SIZE / UNIT
    g = make_grid(h=LONGEST / 4, error=0.5 * ALLOWED)
    for _ in range(10_000):
        adapt(g, rate * ADAPT_STEPS * g.h)
    assert g.error == pytest.approx(rate * ERROR_MEMORY_RATIO * UNIT, rel=0.01)
    assert g.h == LONGEST / 4


@pytest.mark.parametrize(
    ("used", "far", "ratio"),
    [
        (0.9 / ERROR_MARGIN, 0.4, 2.0),
        (1.1 / ERROR_MARGIN, 0.4, 1.0),
        (0.9 / ERROR_MARGIN, 0.6, 1.0),
        (0.9 / ERROR_MARGIN, 1.4, 1.0),
        (0.9 / ERROR_MARGIN, 1.6, 0.5),
    ],
)
def test_a_step_is_doubled_with_a_margin_in_error_and_displacement(used, far, ratio):
    g = make_grid(h=LONGEST / 4)
    adapt(g, used * ALLOWED, far * MAX_TRAVEL_RATIO * SIZE)
    assert g.h == ratio * LONGEST / 4


def test_no_step_is_longer_than_the_longest_or_shorter_than_the_shortest():
    g = make_grid()
    adapt(g)
    assert g.h == LONGEST
    for _ in range(20):
        adapt(g, 100.0 * ALLOWED)
    assert g.h == SHORTEST_RATIO * LONGEST


@pytest.mark.parametrize(
    ("ratio", "far", "expected"),
    [(1, 150.0, False), (SHORTEST_RATIO, 150.0, True), (SHORTEST_RATIO, 90.0, False)],
)
def test_a_wheel_that_is_too_fast_for_the_shortest_step_is_reported(ratio, far, expected):
    """It moves further than its size in one step."""
    g = make_grid(h=ratio * LONGEST)
    assert adapt(g, 0.0, far * MAX_TRAVEL_RATIO * SIZE) is expected


@pytest.mark.parametrize(("radius", "step"), [(0.033, 0.93e-3), (0.35, 3.0e-3)])
def test_the_longest_step_of_two_wheels(radius, step):
    """The lengths that the documentation states, in s."""
    g = make_grid(time_unit=math.sqrt(radius / 9.81))
    assert grid.longest_step(g) == pytest.approx(step, rel=0.01)


@pytest.mark.parametrize("fields", [{"given_step": 1e-3}, {"time_unit": math.inf}])
def test_a_requested_step_does_not_change(fields):
    g = make_grid(h=1e-3, **fields)
    assert not adapt(g, 100.0 * ALLOWED, SIZE)
    assert g.h == 1e-3


def test_sums_of_a_block_are_cleared():
    s = SimpleNamespace(error=1e-9, travel=1e-9)
    grid.adapt_step(make_grid(), s)
    assert s.error == s.travel == 0.0


# --- steps up to a time


def take(g, until, most, monkeypatch):
    """Take grid steps that all succeed; return the calls (start, h, first, count)."""
    calls = []

    def steps(s, r, start, h, first, count, travel_limit):
        calls.append((start, h, first, count))
        s.steps = count
        return StepResult.ADVANCED

    monkeypatch.setattr(grid, "take_sampled_steps", steps)
    s = SimpleNamespace(steps=0, travel=0.0)
    grid.take_grid_steps(g, s, SimpleNamespace(), until, most)
    return calls


@pytest.mark.parametrize(
    ("until", "most", "block", "count"),
    [
        (10.5, 100, 0, 10),
        (10.5, 4, 0, 4),
        (100.0, 100, 0, ADAPT_STEPS),
        (100.0, 100, ADAPT_STEPS - 3, 3),
        (10.0, 100, 0, 10),
        (10.0 + 0.9 * SHORTEST_REMAINDER_RATIO, 100, 0, 9),
        (10.0 + 1.1 * SHORTEST_REMAINDER_RATIO, 100, 0, 10),
    ],
)
def test_the_number_of_regular_steps(until, most, block, count, monkeypatch):
    """They end before the given time, at most `most`, and the length is chosen every ADAPT_STEPS steps. A
    very short remainder belongs to the step before it.
    """
    g = make_grid(h=0.5, block=block)
    assert take(g, 0.5 * until, most, monkeypatch) == [(0.0, 0.5, 0, count)]
    assert g.index == count
    assert g.time == 0.5 * count
    assert g.block == block + count
    assert g.span == 0.5


def test_a_remainder_is_one_step_and_begins_a_new_grid(monkeypatch):
    g = make_grid(h=0.5, time=1.0, index=2, block=0)
    assert take(g, 1.2, 100, monkeypatch) == [(1.0, pytest.approx(0.2), 0, 1)]
    assert g.time == g.start == pytest.approx(1.2)
    assert g.index == 0
    assert g.h == 0.5
    assert g.span == pytest.approx(0.2)


# --- samples


@pytest.mark.parametrize(
    ("number", "end", "times"),
    [(1, 0.9, []), (1, 1.0, [1.0]), (1, 2.5, [1.0, 2.0]), (3, 2.5, [])],
)
def test_samples_that_are_due_within_a_step_are_interpolated(number, end, times):
    """The step moves from 0 to `end` at speed one; impulses and work grow alike."""
    before = np.array([1.0, 0, 0, 0, 0.0])
    after = np.array([1.0, 0, 0, 0, end])
    s = SimpleNamespace(
        motion=SimpleNamespace(y_z=4, states=1), before=before, y=after,
        wheels=SimpleNamespace(size=1), tyre_energy=np.array([7.0]),
    )  # fmt: skip
    r = SimpleNamespace(
        first=0.0, dt=1.0, number=number, count=0, begin=0.0, size=1,
        sums=np.array([3.0 * end]), before=np.zeros(1), times=np.zeros(4),
        states=np.zeros((4, 5)), totals=np.zeros((4, 1)), energies=np.zeros((4, 1)),
    )  # fmt: skip
    grid.keep_samples(s, r, end)
    assert r.count == len(times)
    assert r.number == number + len(times)
    assert r.times[: r.count].tolist() == times
    assert r.states[: r.count, 4] == pytest.approx(times)
    assert r.totals[: r.count, 0] == pytest.approx([3.0 * t for t in times])
    assert r.energies[: r.count, 0].tolist() == [7.0] * len(times)


@pytest.mark.parametrize(
    ("steps", "dt", "capacity", "expected"),
    [
        (10, 0.25, 34, True),
        (10, 0.25, 33, False),
        (10, 2.0, 16, True),
        (10, 2.0, 15, False),
        (10, math.inf, 0, True),
    ],
)
def test_room_for_the_samples_of_the_next_steps(steps, dt, capacity, expected):
    """Steps of 0.505 s, with a remainder that joins the last one, have 2.02 sample intervals of 0.25 s or
    0.2525 of 2 s, and at most one sample more: 30 or 12 in ten steps. One is in reserve, three are stored.
    """
    r = SimpleNamespace(dt=dt, count=3, capacity=capacity)
    assert SHORTEST_REMAINDER_RATIO == 0.01
    assert grid.can_store_samples(make_grid(h=0.5), r, steps) == expected


def sampled(dt):
    """Return a record of samples with two sums, of which one step adds (1, 2)."""
    return SimpleNamespace(
        dt=dt, before=np.array([9.0, 9.0]), sums=np.array([5.0, 6.0]), size=2, begin=-1.0
    )


@pytest.mark.parametrize(
    ("results", "taken"),
    [
        ([StepResult.ADVANCED] * 3, 3),
        ([StepResult.ADVANCED, StepResult.NOT_FINITE], 1),
        ([StepResult.ADVANCED, StepResult.ADVANCED, StepResult.FALLEN], 3),
        ([StepResult.LEFT_SURROUNDINGS], 0),
    ],
)
@pytest.mark.parametrize("dt", [0.1, math.inf])
def test_steps_with_samples_end_at_the_first_result(results, taken, dt, monkeypatch):
    """A step that is not taken has no samples. Without samples the sums contain the last step only."""
    left = list(results)
    kept = []

    def step(s, start, h, first, count):
        assert (start, h, first, count) == (2.0, 0.5, 4 + len(kept), 1)
        result = left.pop(0)
        s.steps = int(result in (StepResult.ADVANCED, StepResult.FALLEN))
        r.sums += [1.0, 2.0]
        return result

    monkeypatch.setattr(grid, "take_time_steps", step)
    monkeypatch.setattr(
        grid, "keep_samples", lambda s, r, end: kept.append((r.begin, end, r.before.copy()))
    )
    s = SimpleNamespace(steps=-1, travel=0.0)
    r = sampled(dt)
    assert grid.take_sampled_steps(s, r, 2.0, 0.5, 4, 3, 1.0) is results[-1]
    assert s.steps == len(kept) == taken
    for k, (begin, end, before) in enumerate(kept):
        assert (begin, end) == (4.0 + 0.5 * k, 4.5 + 0.5 * k)
        expected = [5.0 + k, 6.0 + 2.0 * k] if math.isfinite(dt) else [9.0, 9.0]
        assert before.tolist() == expected
    if not math.isfinite(dt):
        assert r.sums.tolist() == [1.0, 2.0]


# --- the first step


@pytest.mark.parametrize(
    ("speed", "fields", "expected"),
    [
        (0.0, {}, LONGEST),
        (0.1, {}, LONGEST),
        (1.0, {}, MAX_TRAVEL_RATIO * SIZE),
        (1e6, {}, SHORTEST_RATIO * LONGEST_STEP_RATIO * UNIT),
        (1.0, {"given_step": 0.7}, 0.7),
        (2.0, {"time_unit": math.inf}, 0.5 * MAX_TRAVEL_RATIO * SIZE),
        (0.0, {"time_unit": math.inf}, grid.UNBOUNDED_STEP),
        (0.0, {"time_unit": 4.0}, 4.0 * LONGEST_STEP_RATIO),
    ],
)
def test_no_wheel_moves_far_in_the_first_step(speed, fields, expected, monkeypatch):
    """The faster of two wheels of a system with one coordinate decides; x keeps time and state."""

    def evaluate(x, table, out, count):
        out[:] = speed

    def centre(x, wheels, w, row):
        row[:3] = [(1.0, 0.5)[w] * x[1], 0.0, 0.0]

    motion = SimpleNamespace(
        y_z=1, states=0, y_v=1, x_q=1, x_v=2, call=evaluate, table=None, flow=0, turns=0, centre=0
    )
    monkeypatch.setattr(grid, "evaluate_gap", centre)
    g = make_grid(
        row=np.zeros(3), out=np.zeros(1), centres=np.zeros(6), later=np.zeros(1), **fields
    )
    x = np.zeros(2)
    y = np.array([3.0])
    found = grid.choose_first_step(g, motion, SimpleNamespace(size=2), x, 5.0, y)
    assert found == pytest.approx(expected, rel=1e-6)
    assert x.tolist() == [5.0, 3.0]
