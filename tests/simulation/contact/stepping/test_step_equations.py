"""Decisions in the equations of one time step, one by one, with numbers by hand: singular matrices, contact
velocities, tyre loads, the result of a step. Routines run as plain Python; what they call is given.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.mechanics.contact.elements import ENERGY, POWER
from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.event_driven.run_loop import EventCause
from draisine.simulation.contact.nearby.search import SearchResult
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping import grid, search, step, switch
from draisine.simulation.contact.stepping.grid import (
    ABRUPT_TRAVEL_RATIO,
    SHORTEST_RATIO,
    UNLIMITED_TRAVEL,
)
from draisine.simulation.contact.stepping.motors import MOTOR_PASSES
from draisine.simulation.contact.stepping.step import (
    LOAD_CHANGE,
    LOAD_PASSES,
    MASS_RIDGE,
    MAX_STEP_RESIDUAL,
    MIN_TYRE_LOAD,
    NEGATIVE_PIVOT,
    StepResult,
)
from draisine.simulation.contact.tolerances import Tolerances

H = 1e-3  # s
N = 3
GAP, CENTRE, FORCES, LIFTED, ROW = 12, 13, 16, 22, 28
OPEN, SLIDING, ROLLING, TYRE = Status.OPEN, Status.SLIDING, Status.ROLLING, Status.TYRE


def stepping(count=1, **fields):
    """A time step of contacts of a body with three translations, with one wheel: normal z, along x."""
    row = np.zeros(ROW)
    row[:9] = [0, 0, 1, 1, 0, 0, 0, 1, 0]
    motion = SimpleNamespace(
        tol=Tolerances(), C=0, b=9, gap=GAP, centre=CENTRE, forces=FORCES, lifted=LIFTED, rates=FORCES,
        speeds=N, x_q=0, x_v=0, y_v=0, y_z=3, states=0, remembered=0, acted=0, share=50.0, held=0, M=0,
        zdot=0,
    )  # fmt: skip
    values = {
        "motion": motion,
        "contacts": SimpleNamespace(wheels=np.zeros(count, int), features=np.zeros(count * FEATURE)),
        "wheels": SimpleNamespace(size=1),
        "problem": SimpleNamespace(
            count=0, mu=np.zeros(count), b=np.zeros(3 * count), impulse=np.zeros(3 * count),
            velocity=np.zeros(3 * count), W=np.zeros((3 * count, 3 * count)),
        ),
        "most": count, "contact_count": count, "rows": 0,
        "seen": np.array([row] * (count + 2)),
        "which": np.arange(count), "status": np.full(count, ROLLING),
        "closed_status": np.full(count, ROLLING), "tyred": np.zeros(count, bool),
        "mu": np.full(count, 0.5), "warm": np.zeros((count, 3)), "carried": np.zeros(count),
        "x": np.zeros(2 * N), "y": np.zeros(2 * N), "after": np.zeros(N), "free": np.zeros(N),
        "out": np.zeros(50), "mass": np.zeros((N, N)), "damping": np.zeros((N, N)),
        "response": np.zeros((3 * count, N)), "reaction": np.zeros((3 * count, 1)),
        "equality": np.zeros((2, N)), "schur": np.zeros((2, 2)), "equality_sum": np.zeros(1),
        "rest_speed": 0.1, "restitution": 0.0, "travel": 0.0, "penetration": 0.0, "work": 0.0,
        "projection_work": 0.0, "residual": 0.0, "unsolved": 0, "blocked": -1,
        "accepts_blocked": False,
        "centre": np.zeros((1, 3)), "box": np.zeros(6),
        "swept": np.array([-1.0] * 3 + [1.0] * 3),
        "own": np.zeros((2, 3)), "world": np.zeros((2, 3)), "tyre_work": np.zeros(2),
        "tyre_energy": np.zeros(2), "airborne": np.zeros(1), "flight": 0.3,
        "before": np.zeros(2 * N), "middle": np.zeros(2 * N), "motors": SimpleNamespace(count=0),
    }  # fmt: skip
    return SimpleNamespace(**(values | fields))


# --- matrices


@pytest.mark.parametrize(
    ("matrix", "smallest", "redundant"),
    [
        ([[4.0, 2.0], [2.0, 10.0]], 0.0, 0),
        ([[4.0, 2.0], [2.0, 1.0]], 1e-12, 1),
        ([[4.0, 0.0], [0.0, 0.9 * 4e-3]], 1e-3, 1),
        ([[4.0, 0.0], [0.0, 1.1 * 4e-3]], 1e-3, 0),
        ([[4.0, 0.0], [0.0, -0.9 * 4.0 * NEGATIVE_PIVOT]], 0.0, 1),
        ([[4.0, 0.0], [0.0, -1.1 * 4.0 * NEGATIVE_PIVOT]], 0.0, -1),
        ([[0.0, 0.0], [0.0, 4.0]], 0.0, 1),
        ([[4.0, math.nan], [math.nan, 1.0]], 0.0, -1),
    ],
)
def test_redundant_and_negative_pivots(matrix, smallest, redundant):
    A = np.array(matrix)
    assert step.factor_semidefinite(A, 2, smallest) == redundant
    if redundant == 0:
        assert_allclose(np.tril(A) @ np.tril(A).T, matrix, atol=1e-15)
    elif redundant == 1:
        assert 0.0 in np.diag(A)


def test_unknowns_of_redundant_rows_are_zero():
    """L L' x = b with L = ((2, 0), (1, 3)): x = (1, 2) needs b = (8, 22). The second row may be redundant."""
    b = np.array([8.0, 22.0])
    step.solve_factored(np.array([[2.0, 0.0], [1.0, 3.0]]), b, 2)
    assert_allclose(b, [1.0, 2.0])
    b = np.array([8.0, 22.0])
    step.solve_factored(np.array([[2.0, 0.0], [1.0, 0.0]]), b, 2)
    assert_allclose(b, [2.0, 0.0])


@pytest.mark.parametrize(
    ("mass", "damping", "expected"),
    [
        ((1.0, 2.0, 4.0), 100.0, (1.1, 2.1, 4.1)),
        ((1.0, 2.0, 4.0), -1e6, (1.0, 2.0, 4.0)),
        ((1.0, 0.0, 4.0), 0.0, (1.0 + 4.0 * MASS_RIDGE, 4.0 * MASS_RIDGE, 4.0 + 4.0 * MASS_RIDGE)),
        ((1.0, -1.0, 4.0), 0.0, None),
    ],
)
def test_the_matrix_of_a_step_omits_what_makes_it_indefinite(monkeypatch, mass, damping, expected):
    """Damping, with an unstable law; a massless axis gets a small inertia. A negative mass has no remedy."""
    s = stepping()
    s.out[:9] = np.diag(mass).ravel()
    monkeypatch.setattr(
        step, "differentiate_rates", lambda s, h: s.damping.__setitem__(..., damping * np.eye(N))
    )
    assert step.factor_step_matrix(s, H) == (expected is not None)
    if expected is not None:
        assert_allclose(np.tril(s.mass) @ np.tril(s.mass).T, np.diag(expected), rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "limited", "expected", "derivatives"),
    [
        (True, 100.0, 2.1, 2),
        (True, -1e6, 2.0, 2),
        (False, 100.0, 2.0, 1),
    ],
)
def test_motors_are_explicit_before_all_damping_is_omitted(
    monkeypatch, changes, limited, expected, derivatives
):
    """Masses of 2 kg. The requests of the motors are unstable; the damping of the limited torques is
    `limited`, if a motor is at its limit.
    """
    s = stepping()
    s.out[:9] = 2.0 * np.eye(N).ravel()
    values = iter([-1e6, limited])
    calls = []

    def differentiate(s, h):
        calls.append(h)
        s.damping[:] = next(values) * np.eye(N)

    monkeypatch.setattr(step, "differentiate_rates", differentiate)
    monkeypatch.setattr(step, "make_explicit", lambda *_: changes)
    assert step.factor_step_matrix(s, H)
    assert_allclose(np.tril(s.mass) @ np.tril(s.mass).T, expected * np.eye(N), rtol=1e-12)
    assert len(calls) == derivatives


@pytest.mark.parametrize("acted", [0, 1])
def test_only_the_symmetric_part_of_the_derivative_counts(monkeypatch, acted):
    """Tyres contribute if there are any."""
    s = stepping()
    s.motion.acted = acted
    s.damping[:] = 9.0
    given = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    monkeypatch.setattr(step, "add_applied_derivative", lambda s: s.damping.__iadd__(given))
    monkeypatch.setattr(step, "add_tyre_derivative", lambda s, h: s.damping.__iadd__(10.0))
    step.differentiate_rates(s, H)
    assert_allclose(s.damping, 0.5 * (given + given.T) + 10.0 * acted)


@pytest.mark.parametrize(
    ("J", "exists"),
    [
        (((1, 0, 0), (0, 1, 0)), True),
        (((1, 0, 0), (2, 0, 0)), True),
        (((math.nan, 0, 0),) * 2, False),
    ],
)
def test_equality_rows_may_be_redundant(J, exists):
    """For unit masses the Schur complement is J J'."""
    s = stepping(rows=2, mass=np.eye(N))
    s.out[:6] = np.array(J).ravel()
    assert step.factor_equalities(s) == exists
    if exists:
        J = np.array(J, float)
        assert_allclose(s.equality, J)
        assert_allclose(np.tril(s.schur) @ np.tril(s.schur).T, J @ J.T, atol=1e-12)


@pytest.mark.parametrize("entry", [math.nan, math.inf, 1e300])
@pytest.mark.parametrize("place", [0, 8, 9])
def test_a_contact_row_is_regular_if_it_is_finite(entry, place):
    """The Jacobian has the entries 0 to 8."""
    s = stepping()
    s.seen[0, place] = entry
    with np.errstate(invalid="ignore"):
        assert step.is_regular(s.motion, s.seen[0]) == (place == 9 or math.isfinite(entry))


def test_rows_that_are_no_constraints_are_zero_in_the_delassus_matrix():
    """Contacts with three, one and no rows on a body of 2 kg."""
    s = stepping(3, status=np.array([ROLLING, SLIDING, OPEN]), mass=math.sqrt(2.0) * np.eye(N))
    s.response[:] = 9.0
    step.assemble_delassus(s)
    W = np.zeros((9, 9))
    W[:3, :3] = 0.5 * np.eye(3)
    W[0, 3] = W[3, 0] = W[3, 3] = 0.5
    assert_allclose(s.problem.W, W, atol=1e-15)
    assert_allclose(s.response[[4, 5, 6, 7, 8]], 0.0)


# --- motion and velocities


@pytest.mark.parametrize(
    ("place", "inside"),
    [((0.39, 0.0, 0.0), True), ((0.41, 0.0, 0.0), False), ((0.0, 0.0, -0.41), False)],
)
def test_a_step_stays_within_the_searched_boxes(monkeypatch, place, inside):
    """The wheel has moved by 0.4 m since the last mid-step, and moves by 1.5 times that and by 0.1 m/s on the
    rest; the boxes end at 1 m.
    """
    moved = float(np.linalg.norm(place))
    s = stepping()
    monkeypatch.setattr(
        step,
        "evaluate_gap",
        lambda x, b, k, row: row.__setitem__(slice(CENTRE, CENTRE + 3), place),
    )
    assert step.bound_step_motion(s, H) == inside
    assert s.travel == pytest.approx(moved)
    travel = 1.5 * moved + 0.1 * H
    assert_allclose(s.box, [*(np.array(place) - travel), *(np.array(place) + travel)])


@pytest.mark.parametrize(
    ("status", "normal", "gap", "restitution", "b", "mu"),
    [
        (ROLLING, -2.0, 1e-3, 0.0, (-7.0 + 1.0, 5.0, 6.0), 0.5),
        (ROLLING, -2.0, -1.0, 0.0, (-7.0 - 0.1, 5.0, 6.0), 0.5),
        (ROLLING, -2.0, 1e-3, 0.5, (-7.0 - 1.0, 5.0, 6.0), 0.5),
        (ROLLING, -0.09, 1e-3, 0.5, (-7.0 + 1.0, 5.0, 6.0), 0.5),
        (ROLLING, 2.0, 1e-3, 0.5, (-7.0 + 1.0, 5.0, 6.0), 0.5),
        (Status.TRACKING_TYRE, -2.0, 1e-3, 0.0, (-7.0 + 1.0, 5.0, 0.0), 0.5),
        (SLIDING, -2.0, 1e-3, 0.0, (-7.0 + 1.0, 0.0, 0.0), 0.0),
        (Status.SPRUNG_TYRE, -2.0, 1e-3, 0.5, (0.0, 0.0, 0.0), 0.0),
    ],
)
def test_free_velocities_contain_gap_and_restitution(status, normal, gap, restitution, b, mu):
    """Free speeds (5, 6, -7); a gap of 1 mm closes in a step at 1 m/s, a penetration at 0.1 m/s at most.
    Contacts faster than 0.1 m/s rebound.
    """
    s = stepping(status=np.array([status]), restitution=restitution)
    s.free[:], s.x[2], s.seen[0, GAP] = [5.0, 6.0, -7.0], normal, gap
    step.assemble_velocities(s, H)
    assert_allclose(s.problem.b, b)
    assert s.problem.mu[0] == mu
    assert s.problem.count == 1


@pytest.mark.parametrize(
    ("tyred", "rows", "free"),
    [
        (False, 0, (5.0 - 2.0 * H, 6.0 + 1.5 * H, 7.0)),
        (True, 0, (5.0 - 2.0 * H, 6.0 + 1.5 * H, 7.0 + 16.0 * H)),
        (False, 1, (0.4 - 0.1 / H, 6.0 + 1.5 * H, 7.0)),
    ],
)
def test_free_speeds_contain_motors_tyres_and_equality_constraints(monkeypatch, tyred, rows, free):
    """Masses of 2 kg with the speeds (5, 6, 7) and 4 N against the first one. In its piece motor 1 supplies
    3 N more than its limit. A tyre pushes with 2 N + 10 times its load of 3 N along the last speed. The first
    speed is prescribed: 0.4 m/s, less an error of 0.1 m.
    """
    s = stepping(
        tyred=np.array([tyred]), rows=rows, carried=np.array([3.0]), multiplier=np.zeros(1),
        mass=math.sqrt(2.0) * np.eye(N), motors=SimpleNamespace(count=1, speed=[1]),
    )  # fmt: skip
    s.motion.F, s.motion.held, s.motion.held_b, s.motion.held_gap = 9, 12, 15, 16
    s.motion.push, s.motion.lift = CENTRE, FORCES
    s.y[:N] = 5.0, 6.0, 7.0
    s.out[9], s.out[12], s.out[15], s.out[16] = 4.0, 1.0, 0.4, 0.1
    s.seen[0, CENTRE + 2], s.seen[0, FORCES + 2] = 2.0, 10.0
    s.equality[0, 0], s.schur[0, 0] = 0.5, math.sqrt(0.5)
    monkeypatch.setattr(step, "excess_torque", lambda *_: 3.0)
    step.compute_free_speeds(s, H)
    assert_allclose(s.free, free, rtol=1e-14)
    if rows:
        assert s.multiplier[0] == pytest.approx(2.0 * (free[0] - (5.0 - 2.0 * H)))


# --- tyre loads


@pytest.mark.parametrize(
    ("tyred", "closed", "change"),
    [(True, TYRE, 100.0 / (300.0 + MIN_TYRE_LOAD * 50.0)), (False, TYRE, 0.0), (True, OPEN, 0.0)],
)
def test_loads_of_tyres_with_rows_are_updated(monkeypatch, tyred, closed, change):
    """From 200 N to 300 N, of a share of 50 N."""
    s = stepping(
        tyred=np.array([tyred]), closed_status=np.array([closed]), carried=np.array([200.0])
    )
    s.problem.impulse[0] = 300.0 * H
    monkeypatch.setattr(step, "evaluate_contact", lambda *_: None)
    assert step.update_step_loads(s, H) == pytest.approx(change)
    assert s.carried[0] == (300.0 if change else 200.0)


@pytest.mark.parametrize(
    ("acted", "changes", "passes"),
    [
        (0, [1.0] * 9, 1),
        (1, [1.0] * 9, LOAD_PASSES),
        (1, [0.5, 1.1 * LOAD_CHANGE, 0.9 * LOAD_CHANGE], 3),
    ],
)
def test_a_step_is_solved_until_its_loads_converge(monkeypatch, acted, changes, passes):
    """It begins with the impulses of the step before; the last residual counts."""
    s = stepping(warm=np.array([[1.0, 2.0, 3.0]]))
    s.motion.acted = acted
    s.response[:] = 2.0 * np.eye(3)
    rest, residuals, starts = iter(changes), [], []

    def solve(p):
        starts.append(p.impulse.tolist())
        p.impulse[:] = 10.0, 20.0, 30.0
        residuals.append(0.1 * len(residuals))
        return residuals[-1]

    monkeypatch.setattr(step, "compute_free_speeds", lambda s, h: s.free.__setitem__(..., 1.0))
    monkeypatch.setattr(step, "assemble_velocities", lambda s, h: None)
    monkeypatch.setattr(step, "solve_impulses", solve)
    monkeypatch.setattr(step, "update_step_loads", lambda s, h: next(rest))
    assert step.solve_step(s, H) == residuals[-1]
    assert len(residuals) == passes
    assert starts[0] == [1.0, 2.0, 3.0]
    assert_allclose(s.after, [21.0, 41.0, 61.0])


def solve_with_motors(monkeypatch, same, changes=True, **given):
    """Solve a step with motors that keep all pieces in a solution if `same` says so. Return the result and
    the parts that were called. Residuals are 1, 2, ...
    """
    rest = iter(same)
    results = {
        "begin_motors": None,
        "factor_step_matrix": True,
        "factor_equalities": True,
        "assemble_delassus": None,
        "solve_step": lambda: float(calls.count("solve_step")),
        "update_motors": lambda: next(rest),
        "make_explicit": changes,
    }
    calls = []
    for name, value in (results | given).items():

        def part(*_, name=name, value=value):
            calls.append(name)
            return value() if callable(value) else value

        monkeypatch.setattr(step, name, part)
    return step.solve_step_with_motors(stepping(), H), calls


@pytest.mark.parametrize(
    ("same", "changes", "passes", "explicit"),
    [
        ([True], True, 1, 0),
        ([False, False, True], True, 3, 0),
        ([False] * (MOTOR_PASSES - 2) + [True], True, MOTOR_PASSES - 1, 0),
        ([False] * (MOTOR_PASSES - 1) + [True], True, MOTOR_PASSES, 1),
        ([False] * (MOTOR_PASSES - 1), False, MOTOR_PASSES - 1, 1),
    ],
)
def test_a_step_is_solved_until_all_motors_keep_their_pieces(
    monkeypatch, same, changes, passes, explicit
):
    """Before the last solution the torques become explicit, unless they are so already. Each solution needs a
    new matrix, because the slope of a torque differs from piece to piece. The last residual counts.
    """
    residual, calls = solve_with_motors(monkeypatch, same, changes)
    assert residual == passes
    assert calls[0] == "begin_motors"
    assert calls.count("begin_motors") == 1
    for part in ("factor_step_matrix", "factor_equalities", "assemble_delassus", "solve_step"):
        assert calls.count(part) == passes
    assert calls.count("make_explicit") == explicit


@pytest.mark.parametrize("part", ["factor_step_matrix", "factor_equalities"])
def test_a_singular_mass_has_no_solution(monkeypatch, part):
    residual, calls = solve_with_motors(monkeypatch, [True], **{part: False})
    assert residual == -1.0
    assert "solve_step" not in calls


@pytest.mark.parametrize(
    ("wheels", "count", "touches"), [((0, 1), 2, True), ((0, 1), 1, False), ((0, 0), 2, False)]
)
def test_a_wheel_touches_by_a_contact_of_the_step(wheels, count, touches):
    s = stepping(2, contact_count=count)
    s.contacts.wheels[:] = wheels
    assert step.wheel_touches(s, 1) == touches


@pytest.mark.parametrize(
    ("owner", "touches", "airborne", "value", "after"),
    [
        (0, True, 0.31, 0.0 + H * 7.0, 0.0),
        (0, True, 0.29, 5.0 + H * 7.0, 0.0),
        (-1, True, 0.31, 5.0 + H * 7.0, 0.0),
        (0, False, 0.31, 5.0, 0.31 + H),
    ],
)
def test_a_tyre_touches_down_without_slip_after_a_long_flight(
    monkeypatch, owner, touches, airborne, value, after
):
    """Flights up to 0.3 s are short. The state of the tyre grows at 7 per second."""
    s = stepping(contact_count=int(touches), owners=np.array([owner]), tyred=np.array([True]))
    s.motion.remembered, s.airborne[0], s.y[3], s.x[3] = 1, airborne, 5.0, 5.0
    monkeypatch.setattr(step, "evaluate_row", lambda x, b, k, row: row.__setitem__(FORCES, 7.0))
    step.integrate_tyre_states(s, H)
    assert s.y[3] == pytest.approx(value)
    assert s.airborne[0] == pytest.approx(after)


# --- results


@pytest.mark.parametrize(
    ("tyred", "owner", "own", "world", "tyre_work"),
    [
        (False, 0, (2.0, 3.0, 4.0), (1.0, 1.0, 1.0), 0.0),
        (True, 0, (2.0 + 11.0 * H, 3.0 + 12.0 * H, 4.0 + 13.0 * H), (1.0, 1.0, 1.0), 14.0 * H),
        (False, 1, (2.0, 3.0, 4.0), (-2.0, 0.0, 0.0), 0.0),
    ],
)
def test_impulses_belong_to_wheels_tyres_and_stops(
    monkeypatch, tyred, owner, own, world, tyre_work
):
    """Impulses (2, 3, 4). Under its load of 10 N the tyre adds (1, 2, 3) + 10 N, with a power of 4 + 10 W and
    an energy of 5 + 10 J. The stop of joint 1 pushes in the negative direction.
    """
    s = stepping(tyred=np.array([tyred]), carried=np.array([10.0]))
    s.contacts.wheels[0], s.contacts.features[0] = owner, -1.0
    s.problem.impulse[:] = 2.0, 3.0, 4.0
    s.seen[0, FORCES : FORCES + 5] = 1.0, 2.0, 3.0, 4.0, 5.0
    s.seen[0, LIFTED : LIFTED + 5] = 1.0
    assert (POWER, ENERGY) == (3, 4)
    s.seen[0, GAP] = -0.25
    monkeypatch.setattr(step, "add_world_force", lambda s, row, force, into: into.__iadd__(1.0))
    step.record_contact(s, 0, H)
    assert_allclose(s.own[owner], own)
    assert_allclose(s.world[owner], world)
    assert s.tyre_work[owner] == pytest.approx(tyre_work)
    assert s.tyre_energy[owner] == (15.0 if tyred else 0.0)
    assert s.penetration == 0.25


@pytest.mark.parametrize(("speed", "pushed"), [(0.2, 0.4), (-0.6, 0.0)])
def test_work_along_the_normal_that_adds_energy_removes_penetration(speed, pushed):
    """The mean of the velocities before and after, 0 and `speed` + 0.2, times the impulse of 2 N s."""
    s = stepping(after=np.array([0.0, 0.0, speed]))
    s.x[2] = 0.2
    s.along = CENTRE
    s.motion.normal = CENTRE
    s.problem.impulse[0] = 2.0
    step.record_contact(s, 0, H)
    assert s.work == pytest.approx(0.5 * 2.0 * (0.2 + speed))
    assert s.projection_work == pytest.approx(pushed)


def take(monkeypatch, s, **given):
    """Take a time step whose parts have given results; return its result and the parts that were called."""
    results = {
        "evaluate_machine_at_mid_step": None,
        "bound_step_motion": True,
        "find_contacts": True,
        "choose_statuses": None,
        "solve_step_with_motors": 0.0,
        "find_blocked_contact": -1,
        "record_impulses": None,
        "record_energy": None,
        "count_settled": None,
        "store_wheel_positions": None,
        "finish_step": StepResult.FALLEN,
    }
    calls = []
    for name, value in (results | given).items():
        monkeypatch.setattr(
            step, name, lambda *_, name=name, value=value: calls.append(name) or value
        )
    return step.take_time_step(s, 0.0, H), calls


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ({}, StepResult.FALLEN),
        ({"bound_step_motion": False}, StepResult.LEFT_SURROUNDINGS),
        ({"find_contacts": False}, StepResult.TOO_MANY_CONTACTS),
        ({"solve_step_with_motors": -1.0}, StepResult.SINGULAR_MASS),
        ({"solve_step_with_motors": math.nan}, StepResult.NOT_FINITE),
        ({"solve_step_with_motors": math.inf}, StepResult.NOT_FINITE),
    ],
)
def test_a_step_ends_at_the_part_that_fails(monkeypatch, given, result):
    found, calls = take(monkeypatch, stepping(), **given)
    assert found is result
    assert ("record_impulses" in calls) == (not given)


def test_speeds_that_are_not_finite_are_discarded(monkeypatch):
    for value in (math.nan, -math.inf):
        s = stepping(after=np.array([0.0, 0.0, value]))
        with np.errstate(invalid="ignore"):
            assert take(monkeypatch, s)[0] is StepResult.NOT_FINITE


@pytest.mark.parametrize(
    ("rows", "accepts", "blocked", "result"),
    [
        (1, False, 2, StepResult.INFEASIBLE),
        (1, True, 2, StepResult.FALLEN),
        (0, False, 2, StepResult.FALLEN),
        (1, False, -1, StepResult.FALLEN),
        (1, False, 0, StepResult.INFEASIBLE),
    ],
)
def test_a_blocked_contact_is_infeasible_unless_it_is_accepted(
    monkeypatch, rows, accepts, blocked, result
):
    """Only prescribed motions block; the next step is judged again."""
    s = stepping(rows=rows, accepts_blocked=accepts)
    assert take(monkeypatch, s, find_blocked_contact=blocked)[0] is result
    assert not s.accepts_blocked


@pytest.mark.parametrize(("share", "unsolved"), [(0.9, 0), (1.1, 1)])
def test_steps_with_a_large_residual_are_counted(monkeypatch, share, unsolved):
    s = stepping(residual=0.95 * MAX_STEP_RESIDUAL)
    s.y[:] = 4.0
    take(monkeypatch, s, solve_step_with_motors=share * MAX_STEP_RESIDUAL)
    assert s.unsolved == unsolved
    assert s.residual == max(share, 0.95) * MAX_STEP_RESIDUAL
    assert s.before[:3].tolist() == [4.0] * 3


@pytest.mark.parametrize(
    ("results", "required", "settled", "strained", "expected", "steps"),
    [
        ([StepResult.ADVANCED] * 3, 0, 9, 0, StepResult.ADVANCED, 3),
        ([StepResult.ADVANCED, StepResult.FALLEN], 0, 0, 0, StepResult.FALLEN, 2),
        ([StepResult.ADVANCED, StepResult.TURNED_OVER], 0, 0, 0, StepResult.TURNED_OVER, 2),
        ([StepResult.ADVANCED, StepResult.INFEASIBLE], 0, 0, 0, StepResult.INFEASIBLE, 1),
        ([StepResult.ADVANCED], 5, 5, 0, StepResult.SETTLED, 1),
        ([StepResult.ADVANCED] * 3, 5, 4, 0, StepResult.ADVANCED, 3),
        ([StepResult.FALLEN], 5, 5, 0, StepResult.FALLEN, 1),
        ([StepResult.ADVANCED] * 2, 0, 0, 2, StepResult.STRAINED, 2),
        ([StepResult.ADVANCED], 5, 5, 1, StepResult.SETTLED, 1),
        ([StepResult.FALLEN], 0, 0, 1, StepResult.FALLEN, 1),
        ([StepResult.INFEASIBLE], 0, 0, 1, StepResult.INFEASIBLE, 0),
    ],
)
def test_steps_are_taken_until_one_ends_the_call(
    monkeypatch, results, required, settled, strained, expected, steps
):
    """At most three, from index 10 of the grid on. Those that end a run are counted, refused ones are not. In
    step `strained` (0 for none) ideal contacts require more friction than wheels have; a step that is refused
    or ends the run is not examined, and settled contacts are within their margins.
    """
    s = stepping(required=required, settled=settled, steps=9)
    rest, times = iter(results), []
    monkeypatch.setattr(step, "take_time_step", lambda s, t, h: times.append(t) or next(rest))
    monkeypatch.setattr(step, "is_strained", lambda s, h: len(times) == strained)
    assert step.take_time_steps(s, 2.0, H, 10, 3) is expected
    assert s.steps == steps
    assert times == pytest.approx([2.0 + (10 + i) * H for i in range(len(times))])


# --- grid, search, switch


@pytest.mark.parametrize(
    ("given", "unit", "h", "limited"),
    [
        (0.0, 0.2, 1.0, True),
        (0.0, 0.2, SHORTEST_RATIO, False),
        (1e-3, 0.2, 1.0, False),
        (0.0, math.inf, 1.0, False),
    ],
)
def test_an_abrupt_motion_shortens_steps_that_are_chosen(given, unit, h, limited):
    """In units of the longest step; a requested step, or one of a system without a time unit, is kept."""
    longest = grid.LONGEST_STEP_RATIO * 0.2
    g = SimpleNamespace(given_step=given, time_unit=unit, h=h * longest, wheel_size=0.3)
    expected = ABRUPT_TRAVEL_RATIO * 0.3 if limited else UNLIMITED_TRAVEL
    assert grid.abrupt_travel(g) == expected


def near_contacts(count):
    """A record of nearby contacts and the time stepping that uses it."""
    near = SimpleNamespace(
        contacts=SimpleNamespace(size=count, wheels=np.arange(count)),
        closed_status=np.full(count, ROLLING), mu=np.full(count, 0.5),
        kept_impulses=np.zeros((count, 4)), begin=np.zeros(3),
    )  # fmt: skip
    s = stepping(
        count, warmed_count=0, warmed=np.zeros(count, int), reach_count=5, settled=7, loaded_count=0,
        loaded=np.zeros(count, int), settled_status=np.zeros(count, int), kept_count=-1,
        kept_loaded=np.full(count, -1),
    )  # fmt: skip
    return near, s


@pytest.mark.parametrize(
    ("tyre", "status", "mu"),
    [
        (-1, ROLLING, 0.5),
        (TYRE, TYRE, 0.0),
        (0, OPEN, 0.0),
        (Status.TRACKING_TYRE, Status.TRACKING_TYRE, math.inf),
    ],
)
def test_friction_of_tyres_in_time_steps(tyre, status, mu):
    """Their model determines it, but for a tyre that tracks: it has no limit along."""
    near, s = near_contacts(1)
    near.closed_status[0], s.warm[:], s.carried[:] = status, 3.0, 3.0
    s.warmed_count = 1
    search.begin_contacts(near, SimpleNamespace(wheels=1, tyres=np.array([tyre, -1])), s)
    assert s.tyred[0] == (tyre >= 0)
    assert (s.mu[0], s.closed_status[0], s.carried[0]) == (mu, status, 50.0)
    assert not s.warm.any()
    assert (s.reach_count, s.warmed_count) == (-1, 0)


def test_stops_of_joints_have_no_tyre():
    """Contact 2 belongs to joint 2, beyond the only wheel."""
    near, s = near_contacts(3)
    search.begin_contacts(near, SimpleNamespace(wheels=1, tyres=np.array([TYRE, -1])), s)
    assert s.tyred.tolist() == [True, False, False]


@pytest.mark.parametrize("found", [True, False])
def test_impulses_stay_with_their_contacts_after_a_search(monkeypatch, found):
    """Contact 0 has no impulse; 1 becomes 2, and 2 is not nearby any more. After a search that fails the
    contacts are unchanged, and a repeated one does not store them again.
    """
    near, s = near_contacts(3)
    s.warmed_count, s.warmed[:] = 3, [0, 1, 2]
    s.warm[1], s.warm[2], s.carried[:] = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]
    s.centre[0] = 0.1, 0.2, 0.3
    kept = []
    results = iter([SearchResult.TABLE_FULL] * (not found) + [SearchResult.FOUND])
    monkeypatch.setattr(search, "keep_contact", lambda near, i, k: kept.append((i, k)))
    monkeypatch.setattr(search, "find_kept", lambda near, i: (2, -1)[i])
    monkeypatch.setattr(search, "find_nearby", lambda *_: next(results))
    ground = SimpleNamespace(wheels=1, tyres=np.array([-1, -1]), step_margin=0.1)
    if not found:
        assert search.search_for_steps(near, ground, s, True) is SearchResult.TABLE_FULL
        assert s.warm[1].tolist() == [1.0, 2.0, 3.0]
        assert s.kept_count == 2
    assert search.search_for_steps(near, ground, s, True) is SearchResult.FOUND
    assert kept == [(0, 1), (1, 2)]
    assert near.begin.tolist() == [0.1, 0.2, 0.3]
    assert s.warm.tolist() == [[0.0] * 3, [0.0] * 3, [1.0, 2.0, 3.0]]
    assert s.carried.tolist() == [50.0, 50.0, 8.0]
    assert s.warmed[: s.warmed_count].tolist() == [2]
    assert s.kept_count == -1


def test_contacts_with_an_impulse_are_kept_for_a_search(monkeypatch):
    """Contacts 4, 1 and 3 had start values, of which that of 1 is zero; 3 and 4 carry loads."""
    near, s = near_contacts(5)
    s.warmed_count, s.warmed[:3] = 3, [4, 1, 3]
    s.warm[4], s.warm[3], s.carried[3:] = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0]
    s.loaded_count, s.loaded[:2] = 2, [3, 4]
    kept = []
    monkeypatch.setattr(search, "keep_contact", lambda near, i, k: kept.append((i, k)))
    search.keep_contacts(near, s)
    assert kept == [(0, 4), (1, 3)]
    assert s.kept_count == 2
    assert near.kept_impulses[:2].tolist() == [[1.0, 2.0, 3.0, 8.0], [4.0, 5.0, 6.0, 7.0]]
    assert s.kept_loaded[:2].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("places", "loaded", "statuses", "settled"),
    [
        ({0: 1, 1: 3}, [1, 3], [ROLLING, SLIDING], 7),
        ({0: 3, 1: 1}, [1, 3], [SLIDING, ROLLING], 7),
        ({0: -1, 1: 1}, [1], [SLIDING], 0),
        ({0: 1, 1: -1}, [1], [ROLLING], 0),
        ({0: -1, 1: -1}, [], [], 0),
    ],
)
def test_settled_contacts_are_counted_on_after_a_search(
    monkeypatch, places, loaded, statuses, settled
):
    """Two loaded contacts get new indices, in ascending order as in a step. One that is not nearby any more
    ends the count of seven steps.
    """
    near, s = near_contacts(4)
    s.kept_count, s.kept_loaded[:2] = 2, [0, 1]
    s.loaded_count, s.loaded[:2], s.settled_status[:2] = 2, [0, 2], [ROLLING, SLIDING]
    monkeypatch.setattr(search, "find_kept", lambda near, i: places[i])
    search.restore_contacts(near, s)
    assert s.loaded[: s.loaded_count].tolist() == loaded
    assert s.settled_status[: s.loaded_count].tolist() == statuses
    assert s.settled == settled
    assert s.warmed_count == sum(k >= 0 for k in places.values())


@pytest.mark.parametrize(
    ("kind", "contact", "patch", "smooth"),
    [
        (EventCause.HAND_OVER, 1, 1, True),
        (EventCause.HAND_OVER, 1, 0, False),
        (EventCause.HAND_OVER, -1, 1, False),
        (EventCause.LIFT_OFF, 1, 1, False),
    ],
)
def test_a_hand_over_from_a_patch_is_remembered_as_smooth(
    monkeypatch, kind, contact, patch, smooth
):
    """Of the events 0 to 2, those from 1 on are new; contact 1 is on a patch."""
    loop = SimpleNamespace(
        log=SimpleNamespace(
            kind=np.array([9, kind, EventCause.STICK]), guard_contact=np.array([0, contact, 0]),
            time=np.array([1.0, 2.0, 3.0]), y=np.zeros((3, 1)),
        ),
        progress=SimpleNamespace(events=3),
        arc=SimpleNamespace(
            mode=SimpleNamespace(contacts=SimpleNamespace(patches=np.array([0, patch]))),
            stages=SimpleNamespace(n=1),
        ),
    )  # fmt: skip
    kept = []
    monkeypatch.setattr(
        switch, "remember_event", lambda w, t, kind, y, n: kept.append((t, int(kind)))
    )
    switch.remember_events(loop, None, 1)
    expected = switch.SMOOTH_HAND_OVER if smooth else kind
    assert kept == [(2.0, expected), (3.0, EventCause.STICK)]
