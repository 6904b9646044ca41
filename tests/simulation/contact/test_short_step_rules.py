"""Rules of short and implicit steps, and of the rank of rolling contacts, routine by routine, with numbers by
hand. Routines run as plain Python; what they call is given.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.simulation.contact.event_driven import radau, rank, short_step
from draisine.simulation.contact.event_driven.arc_integration import Proximity
from draisine.simulation.contact.event_driven.guards import GUARD_NODES
from draisine.simulation.contact.event_driven.radau import (
    ITERATION_TOLERANCE,
    MAX_ITERATIONS,
    RADAU_COEFFICIENTS,
    RADAU_STAGES,
)
from draisine.simulation.contact.event_driven.rank import (
    NEARLY_REDUNDANT_SINGULAR_VALUE,
    PARALLEL_NORMALS,
    Rank,
    make_rank_work,
    write_unit_rows,
)
from draisine.simulation.contact.event_driven.short_step import (
    OBSERVED_STAGES,
    SHORT_METHOD,
    SHORT_STAGES,
)
from draisine.simulation.contact.kernels import CLOSED, FORM
from draisine.simulation.contact.status import Status
from draisine.simulation.trajectory import GuardKind
from simulation.contact.test_arc_rules import GAP, make_arc

# --- short steps


def short(monkeypatch, *, error=0.5, clear=True, singular=None, outside=None, **clock):
    """Take a short step of 0.5 s from 10 s with given results; return whether it is accepted, the arc, and
    for each stage whether it needs the motion alone.
    """
    c = make_arc(is_first=True, **clock)
    c.short_method = SHORT_METHOD
    alone, nodes = [], []

    def flow(s, k, lam):
        alone.append(s.system.motion_only)
        return int(len(alone) - 1 == singular)

    def extend(c, reference, is_reference):
        nodes.append(is_reference)
        return len(nodes) - 1 != outside

    given = {
        "flow": flow,
        "extend_wheel_motion": extend,
        "weigh_short_stage": lambda *_: None,
        "observe_closed_guards": lambda *_: None,
        "short_error": lambda *_: error,
        "are_guards_clear": lambda *_: clear,
        "project_state": lambda s: s.x.__setitem__(2, 9.0),
    }
    for name, function in given.items():
        monkeypatch.setattr(short_step, name, function)
    return short_step.take_short_step(c, 10.5), c, alone, nodes


def test_a_short_step_is_accepted_and_projected(monkeypatch):
    """Guards, and so forces, are observed at the start, at 0.3, 0.8 and the end."""
    accepted, c, alone, nodes = short(monkeypatch)
    assert accepted
    assert (c.clock.time, c.clock.is_first) == (10.5, False)
    assert c.stages.y.tolist() == [1.0, 9.0]
    assert alone == [False, True, False, False, True, True, False]
    assert nodes == [True, False, False, False]
    assert not c.mode.system.motion_only


@pytest.mark.parametrize(
    "change",
    [
        {"error": 1.0},
        {"error": math.nan},
        {"clear": False},
        {"longest_step": 0.49},
        {"horizon": 10.49},
        *[{"singular": stage} for stage in (0, 4, SHORT_STAGES - 1)],
        *[{"outside": node} for node in range(OBSERVED_STAGES)],
    ],
)
def test_a_short_step_is_refused_and_changes_nothing(monkeypatch, change):
    accepted, c, _, _ = short(monkeypatch, **change)
    assert not accepted
    assert (c.clock.time, c.clock.is_first) == (10.0, True)
    assert c.stages.y.tolist() == [1.0, 2.0]


def test_limits_of_a_short_step_are_inclusive(monkeypatch):
    assert short(monkeypatch, longest_step=0.5, horizon=10.5)[0]


def test_guards_of_closed_contacts_are_observed(monkeypatch):
    """Guard 0 is the lean, 1 a gap, 2 a force of the second closed contact."""
    c = make_arc([GuardKind.LEAN, GuardKind.GAP, GuardKind.NORMAL_FORCE], closed=[0, 0])
    c.contacts[:] = 0, 0, 1
    c.mode.lam[:], c.values[:] = np.arange(9.0), -1.0
    calls = []
    monkeypatch.setattr(short_step, "evaluate_closed_gaps", calls.append)
    monkeypatch.setattr(short_step, "guard_value", lambda c, j, row, lam: lam[0])
    short_step.observe_closed_guards(c, 2)
    assert c.values.reshape(3, GUARD_NODES)[:, 2].tolist() == [0.0, -1.0, 3.0]
    assert calls == []  # the rows are evaluated if there is no closed form
    c.mode.plan[FORM] = 1
    short_step.observe_closed_guards(c, 2)
    assert len(calls) == 1
    c.mode.plan[CLOSED] = 0
    short_step.observe_closed_guards(c, 2)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("values", "clear"),
    [
        ((3.0, 2.0, 2.5, 2.0), True),
        ((3.0, 1.4, 2.5, 2.0), False),
        ((3.0, 1.6, 2.5, 2.0), True),
        ((1.4, 3.0, 2.5, 2.0), False),
        ((2.0, 2.0, 2.0, math.nan), False),
        ((math.nan, 2.0, 2.0, 2.0), False),
        ((-1.0, -1.0, -1.0, -1.0), False),
    ],
)
def test_a_guard_is_clear_if_its_least_value_exceeds_its_change(values, clear):
    c = make_arc([GuardKind.SLIP])
    c.values[:OBSERVED_STAGES] = values
    assert short_step.are_guards_clear(c, None) == clear


def test_the_tolerance_of_a_guard_is_subtracted():
    c = make_arc([GuardKind.SLIP])
    c.values[:OBSERVED_STAGES] = 0.5
    for slack, clear in ((0.4, True), (0.6, False)):
        c.slack[GuardKind.SLIP] = slack
        assert short_step.are_guards_clear(c, None) == clear


@pytest.mark.parametrize(
    ("proximity", "gaps", "clear"),
    [
        (Proximity.AWAY, (0.0, 0.0), True),
        (Proximity.BELOW, (0.0, 0.0), True),
        (Proximity.NEAR, (3.0, 1.6), True),
        (Proximity.NEAR, (3.0, 1.4), False),
        (Proximity.NEAR, (1.4, 3.0), False),
    ],
)
def test_gaps_of_near_contacts_are_compared_at_both_ends(monkeypatch, proximity, gaps, clear):
    """The other entries of the guard's values are old."""
    c = make_arc([GuardKind.GAP])
    c.values[:] = -9.0
    ends = iter(gaps)
    states = []

    def evaluate(x, b, k, row):
        states.append(x[1:3].tolist())
        row[GAP] = next(ends)

    monkeypatch.setattr(short_step, "find_proximity_of", lambda *_: proximity)
    monkeypatch.setattr(short_step, "evaluate_gap", evaluate)
    assert short_step.are_guards_clear(c, None) == clear
    assert states == ([[1.0, 2.0], [3.0, 4.0]] if proximity is Proximity.NEAR else [])


# --- implicit steps


def collocation(monkeypatch, changes, fails=None, slips=1):
    """Return the result of the Newton iteration with given changes, and the number of slip evaluations."""
    n = 2
    w = SimpleNamespace(
        states=np.zeros(RADAU_STAGES * n),
        rates=np.zeros(RADAU_STAGES * n),
        method=RADAU_COEFFICIENTS,
    )
    g = SimpleNamespace(n=n, y=np.zeros(n), k=np.ones(n))
    s = SimpleNamespace(x=np.zeros(1 + n), lam=None)
    rest, times, evaluated = iter(changes), [], []

    def flow(s, rates, lam):
        times.append(s.x[0])
        return int(len(times) - 1 == fails)

    monkeypatch.setattr(radau, "flow", flow)
    monkeypatch.setattr(radau, "evaluate_slips", lambda s, w, i: evaluated.append(i))
    monkeypatch.setattr(radau, "correct_stages", lambda *_: next(rest))
    result = radau.solve_collocation(s, g, w, 10.0, 0.5, 10.4)
    return result, times, evaluated


@pytest.mark.parametrize(
    ("changes", "result"),
    [
        ((0.9 * ITERATION_TOLERANCE,), 0),
        ((1.1 * ITERATION_TOLERANCE, 0.1 * ITERATION_TOLERANCE), 0),
        ((1.0, 2.1), 1),
        ((1.0, math.nan), 1),
        ([1.0] * MAX_ITERATIONS, 0),  # changes below one that no longer shrink are rounding errors
    ],
)
def test_an_implicit_step_converges_or_fails(monkeypatch, changes, result):
    if len(changes) == MAX_ITERATIONS:
        changes = [0.99] * MAX_ITERATIONS
    assert collocation(monkeypatch, changes)[0] == result


def test_changes_above_the_tolerances_are_no_rounding_errors(monkeypatch):
    assert collocation(monkeypatch, [1.01] * MAX_ITERATIONS)[0] == 1


def test_rounding_errors_need_six_iterations(monkeypatch):
    """The change of iteration 5, the sixth, no longer shrinks by more than a factor of 0.3."""
    _, times, _ = collocation(monkeypatch, [0.9] * MAX_ITERATIONS)
    assert len(times) == 6 * RADAU_STAGES


def test_the_matrix_of_the_iteration_is_evaluated_twice(monkeypatch):
    _, times, evaluated = collocation(monkeypatch, (0.9, 0.5, 0.1, 0.0))
    assert len(evaluated) == 2 * RADAU_STAGES
    assert len(times) == 4 * RADAU_STAGES
    assert max(times) == 10.4  # the inputs jump before the end of the step


@pytest.mark.parametrize("fails", [0, RADAU_STAGES])
def test_an_implicit_step_fails_without_rates(monkeypatch, fails):
    assert collocation(monkeypatch, [0.5] * MAX_ITERATIONS, fails)[0] == 1


@pytest.mark.parametrize(
    ("statuses", "mus", "fails", "rate", "count"),
    [
        ((Status.ROLLING, Status.SLIDING), (0.5, 0.5), 0, 3.0, 1),
        ((Status.SLIDING, Status.SLIDING), (0.5, 0.5), 0, 6.0, 2),
        ((Status.SLIDING, Status.SLIDING), (0.5, 0.0), 0, 6.0, 1),
        ((Status.ROLLING, Status.ROLLING), (0.5, 0.5), 0, 0.0, 0),
        ((Status.SLIDING, Status.SLIDING), (0.5, 0.5), 1, 0.0, 2),
    ],
)
def test_the_fastest_turning_slip(monkeypatch, statuses, mus, fails, rate, count):
    """Of a point with slip (s, 0) whose acceleration across changes by 6 per angle, the rate is 6 / s: 6 for
    s = 1 and 3 for s = 2, whatever the sign.
    """
    n = 2
    s = SimpleNamespace(
        motion=SimpleNamespace(speeds=n, C=0), plan=np.array([2, 0, 0, 0]), contacts=None, x=None,
        status=np.array(statuses), mu=np.array(mus), which=np.array([0, 1]),
    )  # fmt: skip
    w = SimpleNamespace(
        seen=np.array([0.0, 0.0, 1.0, 0.0, 0.0, 1.0]), rows=np.zeros(8), turns=np.zeros(4),
        speeds=np.zeros(4), who=np.zeros(2, int), sizes=np.zeros(1, int),
    )  # fmt: skip
    slip = SimpleNamespace(now=0.0)

    def evaluate(x, contacts, k, row):
        slip.now = (1.0, 2.0)[k]

    def differentiate(s, g, w, k):
        w.turns[n * k :][:n] = 5.0, -6.0
        return fails

    monkeypatch.setattr(radau, "evaluate_row", evaluate)
    monkeypatch.setattr(
        radau, "relative_velocity", lambda x, row, m, axis: slip.now if axis == 1 else 0.0
    )
    monkeypatch.setattr(radau, "differentiate_slip", differentiate)
    assert radau.slip_turning_rate(s, None, w) == pytest.approx(rate)
    assert w.sizes[0] == count


# --- rank


def test_rows_of_zeros_do_not_count_for_the_rank():
    """In the metric of M = L L' with L = ((2, 0), (1, 3)) the rows (2, 0) and (2, 3) become (1, -1/3) and
    (1, 2/3).
    """
    w = make_rank_work(1, 2, 1)
    w.mass_factor[:] = [2.0, 0.0], [1.0, 3.0]
    w.rows[:] = 2.0, 0.0, 0.0, 0.0, 2.0, 3.0
    assert write_unit_rows(w, 3, 2) == 2
    units = [np.array([3.0, -1.0]) / math.sqrt(10.0), np.array([3.0, 2.0]) / math.sqrt(13.0)]
    assert_allclose(w.units[:2], units)


def rank_of(rows, statuses, normals=None, mass=None):
    """Return the rank of contacts with rows (3, 6) of a body of unit masses on level faces."""
    count = len(rows)
    rows = np.array(rows, float)
    normals = np.tile([0.0, 0.0, 1.0], (count, 1)) if normals is None else np.array(normals)
    size = 36 if mass is None else len(mass)
    s = SimpleNamespace(
        motion=SimpleNamespace(speeds=6, C=0, normal=18, M=0, call=None, table=None), x=None,
        contacts=None, out=np.zeros(size),
    )  # fmt: skip
    s.out[:] = np.eye(6).ravel() if mass is None else mass

    def evaluate(x, contacts, k, row):
        row[:18], row[18:21] = rows[k].ravel(), normals[k]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rank, "evaluate_row", evaluate)
        patch.setattr(rank, "call", lambda *_: None)
        work = make_rank_work(count, 6, 21)
        return rank.compute_rank(s, work, np.arange(count), np.array(statuses), count)


FIRST, SECOND = np.eye(6)[:3], np.eye(6)[3:]
ROLL, SLIDE = Status.ROLLING, Status.SLIDING


def near(angle):
    """Rows whose first one is turned by an angle from that of FIRST; the least singular value of both is
    sqrt(1 - cos(angle)).
    """
    rows = SECOND.copy()
    rows[0] = math.cos(angle) * FIRST[0] + math.sin(angle) * SECOND[0]
    return rows


BOUND = math.acos(1.0 - NEARLY_REDUNDANT_SINGULAR_VALUE**2)
TILTED = [(0.0, 0.0, 1.0), (2.0 * PARALLEL_NORMALS, 0.0, 1.0)]


@pytest.mark.parametrize(
    ("rows", "statuses", "normals", "expected"),
    [
        ((FIRST, SECOND), (ROLL, ROLL), None, Rank.INDEPENDENT),
        ((FIRST, FIRST), (ROLL, SLIDE), None, Rank.INDEPENDENT),
        ((FIRST, FIRST), (ROLL, ROLL), None, Rank.REDUNDANT),
        ((FIRST, FIRST), (ROLL, ROLL), TILTED, Rank.REDUNDANT),
        ((FIRST, near(1.1 * BOUND)), (ROLL, ROLL), TILTED, Rank.INDEPENDENT),
        ((FIRST, near(0.9 * BOUND)), (ROLL, ROLL), TILTED, Rank.OVER_CONSTRAINED),
        ((FIRST, near(0.9 * BOUND)), (ROLL, ROLL), None, Rank.INDEPENDENT),
        ((FIRST, near(1e-6)), (ROLL, ROLL), TILTED, Rank.REDUNDANT),
    ],
)
def test_ranks_of_rolling_contacts(rows, statuses, normals, expected):
    """Nearly redundant rows over-constrain the machine only on faces of different slope."""
    assert rank_of(rows, statuses, normals) is expected


@pytest.mark.parametrize(
    ("share", "expected"), [(0.9, Rank.INDEPENDENT), (1.1, Rank.OVER_CONSTRAINED)]
)
def test_faces_are_parallel_up_to_a_tolerance(share, expected):
    normals = [(0.0, 0.0, 1.0), (share * PARALLEL_NORMALS, 0.0, 1.0)]
    assert rank_of((FIRST, near(0.9 * BOUND)), (ROLL, ROLL), normals) is expected


def test_a_massless_body_has_no_rank():
    """Its rows have no length; event location reports the singular mass matrix."""
    assert rank_of((FIRST, FIRST), (ROLL, ROLL), mass=np.zeros(36)) is Rank.INDEPENDENT
