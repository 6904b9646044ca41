"""Decisions of a time step one by one, with numbers by hand: contacts that can close, that carry a load with
margin or duplicate another one, that block a prescribed motion; ends of a step.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from draisine.mechanics.contact.features import FEATURE, LOAD
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping import step
from draisine.simulation.contact.stepping.motors import MotorPiece
from draisine.simulation.contact.stepping.step import (
    INFEASIBLE_APPROACH,
    MAX_FRICTION_USE,
    MAX_TYRE_LOAD,
    MIN_LOAD,
    MIN_TYRE_LOAD,
    SAME_DIRECTION,
    StepResult,
)
from draisine.simulation.contact.tolerances import Tolerances

TOL = Tolerances()
H = 1e-3  # s
WEIGHT = 100.0  # N
N = 3


def row(gap=0.0):
    """A contact of a body with three translations: C (normal z, along x, across y), b, gap, normal."""
    return np.array([0, 0, 1, 1, 0, 0, 0, 1, 0, *[0] * 3, gap, 0, 0, 1], dtype=float)


def stepping(count=1, **fields):
    motion = SimpleNamespace(
        tol=TOL, C=0, b=9, gap=12, normal=13, speeds=N, x_v=0, share=50.0, y_v=7, y_z=10, states=0,
        acted=0, zdot=0,
    )  # fmt: skip
    values = {
        "motion": motion,
        "contacts": SimpleNamespace(
            wheels=np.zeros(count, int), features=np.zeros(count * FEATURE), size=count
        ),
        "wheels": SimpleNamespace(size=1),
        "problem": SimpleNamespace(
            impulse=np.zeros(3 * count), velocity=np.zeros(3 * count), b=np.zeros(3 * count)
        ),
        "contact_count": count,
        "seen": np.array([row() for _ in range(count + 1)]),
        "which": np.arange(count),
        "status": np.full(count, Status.ROLLING),
        "mu": np.full(count, 0.5),
        "warm": np.zeros((count, 3)),
        "carried": np.zeros(count),
        "x": np.zeros(N),
        "after": np.zeros(N),
        "weight": WEIGHT,
        "rest_speed": 0.1,
        "restitution": 0.0,
        "loaded_count": 0,
        "loaded": np.full(count, -1),
        "settled_status": np.zeros(count, int),
        "settled": 0,
    }
    return SimpleNamespace(**(values | fields))


# --- margin


@pytest.mark.parametrize(
    ("load", "friction", "slip", "expected"),
    [
        (0.9 * MIN_LOAD, 0.0, 0.0, Status.OPEN),
        (1.1 * MIN_LOAD, 0.0, 0.0, Status.ROLLING),
        (1.0, 0.9 * MAX_FRICTION_USE, 0.0, Status.ROLLING),
        (1.0, 1.01 * MAX_FRICTION_USE, 0.05, Status.OPEN),
        (1.0, 1.0, 0.2, Status.SLIDING),
    ],
)
def test_a_contact_has_a_status_with_margin(load, friction, slip, expected):
    """Load in parts of the weight, friction in parts of mu times the load, slip in m/s."""
    s = stepping()
    normal = load * WEIGHT * H
    s.problem.impulse[:] = normal, 0.6 * friction * 0.5 * normal, 0.8 * friction * 0.5 * normal
    s.after[0] = slip
    assert step.classify_settled_contact(s, 0, H) is expected


@pytest.mark.parametrize(
    ("status", "mu", "expected"),
    [
        (Status.SLIDING, 0.0, Status.SLIDING),
        (Status.TYRE, 0.0, Status.SLIDING),
        (Status.ROLLING, math.inf, Status.ROLLING),
    ],
)
def test_contacts_without_a_cone_have_it_by_their_load_alone(status, mu, expected):
    s = stepping(status=np.array([status]), mu=np.array([mu]))
    s.problem.impulse[:] = WEIGHT * H, 1e3, 0.0
    assert step.classify_settled_contact(s, 0, H) is expected


def test_settled_steps_are_counted_while_the_same_contacts_keep_their_statuses(monkeypatch):
    s = stepping(2)
    statuses = [Status.ROLLING, Status.SLIDING]
    monkeypatch.setattr(step, "classify_settled_contact", lambda s, c, h: statuses[c])
    s.problem.impulse[[0, 3]] = 1.0
    counts = []
    for _ in range(3):
        step.count_settled(s, H)
        counts.append(s.settled)
    assert counts == [0, 1, 2]  # the first step has none to compare with
    statuses[1] = Status.ROLLING
    step.count_settled(s, H)
    assert s.settled == 0
    step.count_settled(s, H)
    assert s.settled == 1
    statuses[0] = Status.OPEN
    step.count_settled(s, H)
    assert s.settled == 0


def test_a_contact_that_loses_its_load_is_not_settled(monkeypatch):
    s = stepping(2)
    monkeypatch.setattr(step, "classify_settled_contact", lambda s, c, h: Status.ROLLING)
    s.problem.impulse[[0, 3]] = 1.0
    for _ in range(2):
        step.count_settled(s, H)
    s.problem.impulse[3] = 0.0
    step.count_settled(s, H)
    assert (s.loaded_count, s.settled) == (1, 0)


# --- duplicates


@pytest.mark.parametrize(
    ("cosine", "wheel", "mu", "expected"),
    [
        (1.0, 0, math.inf, [False, True]),
        (0.99 * SAME_DIRECTION, 0, math.inf, [False, False]),
        (1.0, 1, math.inf, [False, False]),
        (1.0, 0, 0.5, [False, False]),
    ],
)
def test_the_less_loaded_of_two_ideal_contacts_of_a_wheel_with_one_normal_slides(
    cosine, wheel, mu, expected
):
    s = stepping(2, mu=np.full(2, mu))
    s.contacts.wheels[1] = wheel
    s.seen[1, 13:] = [math.sqrt(1.0 - cosine**2), 0.0, cosine]
    s.warm[:, 0] = 2.0, 1.0
    assert [step.duplicates_ideal_contact(s, c) for c in range(2)] == expected
    s.warm[:, 0] = 0.0  # the first one of equal loads holds
    assert [step.duplicates_ideal_contact(s, c) for c in range(2)] == expected


def test_a_duplicate_holds_its_normal_row_alone():
    s = stepping(2, mu=np.full(2, math.inf), closed_status=np.full(2, Status.ROLLING))
    step.choose_statuses(s)
    assert s.status.tolist() == [Status.ROLLING, Status.SLIDING]
    s.mu[:] = 0.5
    step.choose_statuses(s)
    assert s.status.tolist() == [Status.ROLLING, Status.ROLLING]


# --- contacts that can close


@pytest.fixture
def geometry(monkeypatch):
    """A contact with a given gap, above its feature and within its borders unless changed."""
    given = SimpleNamespace(gap=0.0, excess=0.0, above=True)

    def evaluate(s_or_x, *arguments):
        arguments[-1][12] = given.gap

    monkeypatch.setattr(step, "evaluate_gap", evaluate)
    monkeypatch.setattr(step, "evaluate_contact", evaluate)
    monkeypatch.setattr(step, "border_excess", lambda *_: given.excess)
    monkeypatch.setattr(step, "is_above", lambda *_: given.above)
    return given


@pytest.mark.parametrize(
    ("gap", "approach", "expected"),
    [
        (-1e-3, 0.0, True),
        (0.9e-4, 0.0, True),
        (1.1e-4, 0.0, False),
        (1.0e-3, 1.0, True),
        (1.2e-3, 1.0, False),
    ],
)
def test_a_contact_can_close_if_its_gap_is_crossed_within_the_step(
    geometry, gap, approach, expected
):
    """At its approach plus the rest speed of 0.1 m/s, in 1 ms."""
    s = stepping(box=np.array([0.0] * 3 + [1.0] * 3), x=np.array([0.0, 0.0, -approach]))
    geometry.gap = gap
    assert step.can_close(s, 0, H, s.seen[0]) == expected


def test_a_fast_contact_with_restitution_closes_when_its_gap_has_closed(geometry):
    s = stepping(box=np.array([0.0] * 3 + [1.0] * 3), x=np.array([0.0, 0.0, -1.0]), restitution=0.5)
    geometry.gap = 1e-4
    assert not step.can_close(s, 0, H, s.seen[0])
    geometry.gap = -1e-4
    assert step.can_close(s, 0, H, s.seen[0])
    geometry.gap, s.x[2] = 1e-5, -0.05  # slower than the rest speed
    assert step.can_close(s, 0, H, s.seen[0])


@pytest.mark.parametrize("change", ["border", "below", "far", "singular"])
def test_a_contact_beside_or_below_its_feature_cannot_close(geometry, change):
    s = stepping(box=np.array([0.0] * 3 + [1.0] * 3))
    geometry.gap = -1e-3
    assert step.can_close(s, 0, H, s.seen[0])
    if change == "border":
        geometry.excess = 2.0 * TOL.border
    elif change == "below":
        geometry.above = False
    elif change == "far":
        geometry.gap = 1.1  # more than the wheel moves in the step
    else:
        s.seen[0, 4] = math.nan  # a disc on an edge in its plane
    assert not step.can_close(s, 0, H, s.seen[0])


@pytest.mark.parametrize(
    ("load", "carried", "evaluated"),
    [(10.0, 10.0, 10.0), (0.0, 0.0, MIN_TYRE_LOAD * 50.0), (1e9, MAX_TYRE_LOAD * 50.0, None)],
)
def test_tyre_forces_are_evaluated_at_bounded_loads(load, carried, evaluated):
    """In parts of a share of the weight of 50 N."""
    s = stepping()
    step.set_load(s, 0, load)
    assert s.carried[0] == carried
    assert s.contacts.features[LOAD] == (carried if evaluated is None else evaluated)


# --- prescribed motions, ends of a step


@pytest.mark.parametrize(
    ("approach", "blocked"),
    [((0.5, 2.0), 1), ((3.0, 2.0), 0), ((0.5, 0.9), -1), ((-3.0, -2.0), -1)],
)
def test_the_contact_that_approaches_fastest_is_blocked(approach, blocked):
    """In units of the tolerance, 1e-4 of the largest free velocity."""
    s = stepping(2)
    s.problem.b[0] = 10.0
    s.problem.velocity[[0, 3]] = -10.0 * INFEASIBLE_APPROACH * np.array(approach)
    assert step.find_blocked_contact(s) == blocked


@pytest.mark.parametrize(
    ("lean", "turn", "value", "expected"),
    [
        (0.5, 0.0, 0.0, StepResult.ADVANCED),
        (0.7, 0.0, 0.0, StepResult.FALLEN),
        (-0.7, 0.0, 0.0, StepResult.FALLEN),
        (0.0, 2.0, 0.0, StepResult.TURNED_OVER),
        (0.0, 0.0, math.nan, StepResult.NOT_FINITE),
    ],
)
def test_a_step_ends_the_run_at_a_fall(monkeypatch, lean, turn, value, expected):
    """The limit of the lean is 0.6 rad; a frame that pitches by more than 90 degrees has turned over."""
    q = [math.cos(0.5 * lean), math.sin(0.5 * lean), 0.0, 0.0]
    if turn:
        q = [math.cos(0.5 * turn), 0.0, math.sin(0.5 * turn), 0.0]
    s = stepping(
        y=np.zeros(10), before=np.full(10, 7.0), middle=np.zeros(10), out=np.zeros(1),
        lean_limit=math.sin(0.6), overturns=True,
    )  # fmt: skip
    monkeypatch.setattr(
        step,
        "move_configuration_by_midpoint",
        lambda s, t, y, h, into: into.__setitem__(slice(0, 4), q),
    )
    s.after[0] = value
    assert step.finish_step(s, 0.0, H) is expected
    if expected is StepResult.NOT_FINITE:
        assert (s.y == 7.0).all()


def test_a_machine_that_may_turn_over_does_not_end(monkeypatch):
    s = stepping(
        y=np.zeros(10), before=np.zeros(10), middle=np.zeros(10), out=np.zeros(1),
        lean_limit=2.0, overturns=False,
    )  # fmt: skip
    monkeypatch.setattr(
        step,
        "move_configuration_by_midpoint",
        lambda s, t, y, h, into: into.__setitem__(slice(0, 4), [0, 0, 1, 0]),
    )
    assert step.finish_step(s, 0.0, H) is StepResult.ADVANCED


def test_the_list_of_contacts_in_reach_is_made_again_beyond_its_boxes(monkeypatch):
    s = stepping(3, box=np.zeros(6), around=np.zeros(6), slack=0.5, reach_count=-1)
    s.reach = np.zeros(3, int)
    calls = []
    monkeypatch.setattr(step, "is_in_reach", lambda tol, c, box, k: calls.append(k) or k != 1)
    step.list_contacts_in_reach(s)
    assert s.reach[: s.reach_count].tolist() == [0, 2]
    assert s.around.tolist() == [-0.5] * 3 + [0.5] * 3
    s.box[:] = [-0.4] * 3 + [0.4] * 3
    step.list_contacts_in_reach(s)
    assert len(calls) == 3
    for corner in (0, 3):
        s.box[:] = 0.0
        s.around[:] = [-0.5] * 3 + [0.5] * 3
        s.box[corner] = 0.6 if corner else -0.6
        calls.clear()
        step.list_contacts_in_reach(s)
        assert len(calls) == 3


# --- derivative of the applied forces


def linear_forces(K):
    """Return a step record of a system with the applied forces K v, and the number of evaluations."""
    n = len(K)
    depends = K != 0.0
    group, acting = step.group_speeds(depends)
    calls = []

    def evaluate(x, table, out, count):
        out[:n] = K @ x[:n]
        calls.append(x.copy())

    motion = SimpleNamespace(call=evaluate, table=None, speeds=n, x_v=0, y_v=0)
    v = np.arange(1.0, n + 1.0)
    s = SimpleNamespace(
        motion=motion, x=v.copy(), middle=v.copy(), out=K @ v, shifted=np.zeros(n), applied=0,
        damping=np.zeros((n, n)), groups=int(group.max(initial=-1)) + 1, group=group, acting=acting,
        motors=SimpleNamespace(count=0),
    )  # fmt: skip
    return s, calls


@pytest.mark.parametrize(
    ("K", "evaluations"),
    [
        (np.zeros((3, 3)), 0),
        (-np.diag([1.0, 2.0, 3.0, 4.0]), 1),
        (np.array([[-2.0, 1.0, 0.0], [1.0, -2.0, 0.0], [0.0, 0.0, -1.0]]), 2),
        (np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [0.0, 5.0, 0.0]]), 1),
        (np.ones((3, 3)), 3),
    ],
)
def test_the_derivative_of_applied_forces_needs_one_evaluation_per_group(K, evaluations):
    """The quotients of linear forces are exact; every speed has its old value afterwards."""
    s, calls = linear_forces(K)
    step.add_applied_derivative(s)
    np.testing.assert_allclose(s.damping, -K.T, atol=1e-8)
    assert len(calls) == evaluations
    np.testing.assert_array_equal(s.x, s.middle)


@pytest.mark.parametrize(
    ("piece", "damping"),
    [
        (MotorPiece.REQUEST, 2.0),
        (MotorPiece.LOWER_TORQUE, 0.0),
        (MotorPiece.EXPLICIT, 0.0),
    ],
)
def test_a_motor_at_its_limit_damps_by_the_slope_of_its_piece(piece, damping):
    """It requests -2 v N m at v = 1 rad/s, and its limit is 0.5 N m: the applied torque is constant."""
    limit = 0.5

    def evaluate(x, table, out, count):
        out[:] = max(-2.0 * x[0], -limit), -2.0 * x[0]

    motors = SimpleNamespace(
        count=1, speed=[0], torque=[limit], no_load_speed=[math.inf], stall_torque=[math.inf],
        requested=1, piece=[piece], slope=np.full((1, 1), 9.0),
    )  # fmt: skip
    s = SimpleNamespace(
        motion=SimpleNamespace(call=evaluate, table=None, speeds=1, x_v=0, y_v=0),
        x=np.array([1.0]), middle=np.array([1.0]), out=np.array([-limit, -2.0]), shifted=np.zeros(2),
        applied=0, damping=np.zeros((1, 1)), groups=1, group=np.array([0]), acting=np.array([0, -1]),
        motors=motors,
    )  # fmt: skip
    step.add_applied_derivative(s)
    assert s.damping[0, 0] == pytest.approx(damping, abs=1e-8)
    assert motors.slope[0, 0] == pytest.approx(-2.0, abs=1e-8)


def test_forces_depend_on_one_speed_of_a_group_at_most():
    depends = np.random.default_rng(3).random((9, 9)) < 0.3
    group, acting = step.group_speeds(depends)
    for g in range(group.max() + 1):
        together = depends[:, group == g]
        assert (together.sum(axis=1) <= 1).all()
        for force, speed in enumerate(acting[9 * g : 9 * g + 9]):
            assert speed < 0 or (depends[force, speed] and group[speed] == g)
    assert ((group < 0) == ~depends.any(axis=0)).all()
    assert sum(acting >= 0) == depends.sum()


# --- results of a step


def test_a_contact_force_in_world_axes():
    """Normal z and heading x: across is y, to the left of the heading. Forces are added."""
    s = stepping(along=16)
    axes = np.concatenate([row(), [1.0, 0.0, 0.0]])
    into = np.array([10.0, 20.0, 30.0])
    step.add_world_force(s, axes, np.array([1.0, 2.0, 4.0]), into)
    assert into.tolist() == [12.0, 24.0, 31.0]


@pytest.mark.parametrize(("has_trend", "error"), [(True, 0.5 * H * 0.6), (False, 0.0)])
def test_the_position_error_is_half_a_step_times_the_unpredicted_change_of_speed(has_trend, error):
    """Speeds change by 1, 0.5 and 0 where the trend predicts 0.4, 0.5 and 0.1; the last one is an angular
    speed of a wheel of 0.2 m. The work is that of the mean speeds.
    """
    motion = SimpleNamespace(speeds=3, y_v=0, F=9, M=0)
    out = np.concatenate([2.0 * np.eye(3).ravel(), [3.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    s = SimpleNamespace(
        motion=motion, out=out, applied=12, y=np.zeros(3), after=np.array([1.0, 0.5, 0.0]),
        lengths=np.array([1.0, 1.0, 0.2]), trend=np.array([400.0, 500.0, 100.0]),
        has_trend=has_trend, error=0.0, supplied=0.0,
    )  # fmt: skip
    step.record_energy(s, H)
    assert s.error == pytest.approx(error)
    assert s.supplied == pytest.approx(0.5 * (2.0 + 7.0 * H) + 0.25 * 1.0)
    assert s.trend == pytest.approx([1000.0, 500.0, 0.0])
    assert s.has_trend


@pytest.mark.parametrize(
    ("most", "found", "listed"), [(3, True, [1, 3, 4]), (2, False, [1, 3]), (4, True, [1, 3, 4])]
)
def test_contacts_in_reach_that_can_close_are_listed(most, found, listed, monkeypatch):
    """Of the contacts 1 to 5, 2 is out of reach in this step and 5 does not close."""
    s = stepping(
        most, most=most, reach=np.array([1, 2, 3, 4, 5]), reach_count=5, box=None,
        which=np.zeros(most + 1, int),
    )  # fmt: skip
    s.seen = np.zeros((most + 2, 16))
    monkeypatch.setattr(step, "list_contacts_in_reach", lambda s: None)
    monkeypatch.setattr(step, "is_in_reach", lambda tol, contacts, box, k: k != 2)
    monkeypatch.setattr(step, "can_close", lambda s, k, h, row: k != 5)
    assert step.find_contacts(s, H) is found
    assert s.which[: s.contact_count].tolist() == listed
