"""Rules of the impulse solver, routine by routine, with numbers by hand: what violates Coulomb's law, when an
iteration ends, which iterate is kept. Routines run as plain Python; what they call is given.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.simulation.contact.complementarity import impulses
from draisine.simulation.contact.complementarity.impulses import (
    COMPLIANCE,
    COMPLIANCE_FACTOR,
    FIRST_COMPLIANCE,
    FIRST_PATH_STEP,
    FIRST_SWEEPS,
    KINK_STEP,
    LARGEST_COMPLIANCE,
    LEAST_PATH_STEP,
    LINE_SEARCH_STEPS,
    LONGEST_PATH_STEP,
    MAX_PATH_POSITION,
    MAX_PATH_RATIO,
    MAX_PATH_START,
    MAX_PATH_STEPS,
    NEWTON_STEPS,
    PATH_END,
    PATH_GROWTH,
    PATH_NEWTON_STEPS,
    PATH_SWEEPS,
    RELEASE_PASSES,
    SMALLEST_PROGRESS,
    SOLVED_RESIDUAL,
    SWEEPS_BETWEEN,
    make_impulse_problem,
)

SMALL = 1e-6  # residual at which a problem counts as solved, where it is given


def problem(count=1, mu=0.5, W=None, b=None):
    """Return a problem of contacts with unit Delassus matrix."""
    p = make_impulse_problem(count)
    p.count = count
    p.mu[:] = mu
    p.W[:] = np.eye(3 * count) if W is None else W
    p.b[:] = 1.0 if b is None else b
    p.scale[:] = p.softness[:] = 1.0
    return p


def record(monkeypatch, **given):
    """Replace routines by given values, iterators or functions; return the list of their calls."""
    calls = []
    for name, value in given.items():

        def replacement(*arguments, name=name, value=value):
            calls.append((name, *arguments[1:]))
            if callable(value):
                return value(*arguments)
            return next(value) if hasattr(value, "__next__") else value

        monkeypatch.setattr(impulses, name, replacement)
    return calls


def names(calls):
    return [call[0] for call in calls]


# --- scales, residuals


def test_rows_have_the_least_inverse_mass_as_compliance_or_their_mean():
    """Normal entries 3, 0 and 2; the contact of zeros has no inverse mass of its own."""
    p = problem(3, W=np.diag([3.0, 6.0, 9.0, 0.0, 0.0, 0.0, 2.0, 4.0, 3.0]))
    impulses.measure_scales(p)
    assert p.scale.tolist() == [6.0, 2.0, 3.0]
    assert p.softness.tolist() == [2.0, 6.0, 6.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0]


@pytest.mark.parametrize(
    ("impulse", "velocity", "mu", "released", "residual"),
    [
        ((0.0, 0.0, 0.0), (1.0, 9.0, 9.0), 0.5, False, 0.0),  # open
        ((0.0, 0.0, 0.0), (-2.0, 0.0, 0.0), 0.5, False, 2.0),  # approaches
        ((-3.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.5, False, 6.0),  # pulls
        ((4.0, 1.0, 1.0), (0.0, 0.0, 0.0), 0.5, False, 0.0),  # sticks
        ((4.0, 1.0, 1.0), (3.0, 0.0, 0.0), 0.5, False, 3.0),  # separates under load
        ((4.0, 1.0, 1.0), (0.0, 0.2, -0.4), 0.5, False, 0.4),  # slips inside the cone
        ((4.0, -1.2, 1.6), (0.0, 3.0, -4.0), 0.5, False, 0.0),  # slides
        ((4.0, 1.2, -1.6), (0.0, 3.0, -4.0), 0.5, False, 4.0),  # slides along its friction
        ((4.0, 3.0, 4.0), (0.0, 0.0, 0.0), 0.5, False, 2.0 * (4.0 - 1.6)),  # outside the cone
        ((4.0, 30.0, 40.0), (0.0, 0.0, 0.0), math.inf, False, 0.0),  # ideal
        ((4.0, 0.0, 0.0), (0.0, 0.3, -0.5), math.inf, False, 0.5),
        ((0.0, 0.0, 0.0), (1.0, 0.3, -0.5), math.inf, True, 0.0),  # released
        ((0.0, 0.0, 0.0), (-0.2, 0.3, -0.5), math.inf, True, 0.2),
    ],
)
def test_violations_of_coulombs_law(impulse, velocity, mu, released, residual):
    """As velocities; the mean inverse mass is 2 per kg."""
    p = problem(mu=mu)
    p.scale[0], p.released[0] = 2.0, released
    p.impulse[:], p.velocity[:] = impulse, velocity
    assert impulses.contact_residual(p, 0) == pytest.approx(residual, abs=1e-15)


# --- sweeps


def test_a_sweep_solves_each_contact_with_the_latest_impulses_of_the_others():
    """W_nn = (2 1; 1 2), b_n = (-2, -5): 1, then (5 - 1) / 2. A released contact has none."""
    W = np.eye(6)
    W[np.ix_([0, 3], [0, 3])] = [[2.0, 1.0], [1.0, 2.0]]
    p = problem(2, W=W, b=[-2.0, 0, 0, -5.0, 0, 0])
    impulses.sweep_contacts(p, 0.0)
    assert_allclose(p.impulse, [1.0, 0, 0, 2.0, 0, 0], atol=1e-15)
    p.impulse[:] = 7.0
    p.released[0] = True
    impulses.sweep_contacts(p, 0.0)
    assert_allclose(p.impulse, [0, 0, 0, 2.5, 0, 0], atol=1e-15)


@pytest.mark.parametrize(
    ("mu", "compliance", "impulse"),
    [
        (0.5, 0.0, (2.0, -1.0, 0.0)),
        (math.inf, 0.0, (2.0, -3.0, 0.0)),
        (math.inf, 1.0, (1.0, -1.5, 0.0)),
    ],
)
def test_a_sweep_slides_with_friction_and_sticks_without_limit(mu, compliance, impulse):
    """A compliance of 1 doubles the unit entries."""
    p = problem(mu=mu, b=[-2.0, 3.0, 0.0])
    impulses.sweep_contacts(p, compliance)
    assert_allclose(p.impulse, impulse, atol=1e-12)


@pytest.mark.parametrize(
    ("impulse", "mu", "expected"),
    [
        ((2.0, 0.6, 0.7), 0.5, (2.0, 0.6, 0.7)),
        ((2.0, 3.0, 4.0), 0.5, (2.0, 0.6, 0.8)),
        ((-2.0, 3.0, 4.0), 0.5, (0.0, 0.0, 0.0)),
        ((-2.0, 3.0, 4.0), math.inf, (0.0, 3.0, 4.0)),
    ],
)
def test_impulses_are_clipped_to_their_cones(impulse, mu, expected):
    p = problem(mu=mu)
    p.impulse[:] = impulse
    impulses.clip_to_cones(p)
    assert_allclose(p.impulse, expected)


# --- Newton's method


def newton_map(p, impulse, compliance):
    """Return the map of Alart and Curnier of one contact, by its definition."""
    u = p.W @ impulse + p.b + compliance * p.softness * impulse
    d, mu = p.scale[0], p.mu[0]
    x = impulse - u / d
    if x[0] <= 0.0:
        return d * np.array([impulse[0], *(impulse[1:] if math.isfinite(mu) else u[1:] / d)])
    length = np.hypot(*x[1:])
    if length <= mu * x[0]:
        return u
    return np.array([u[0], *(d * (impulse[1:] - mu * x[0] * x[1:] / length))])


@pytest.mark.parametrize("mu", [0.5, math.inf])
@pytest.mark.parametrize("impulse", [(-2.0, 0.3, 0.4), (3.0, 0.3, 0.4), (3.0, 2.0, -1.0)])
@pytest.mark.parametrize("compliance", [0.0, 0.1])
def test_newtons_system_is_the_derivative_of_its_map(mu, impulse, compliance):
    """Open, sticking and slipping, against central differences; the last column is the derivative by the
    logarithm of the compliance.
    """
    rng = np.random.default_rng(2)
    root = rng.normal(size=(3, 3))
    p = problem(mu=mu, W=np.eye(3) + 0.1 * root @ root.T, b=[0.1, -0.2, 0.1])
    p.scale[0], p.softness[:] = 1.5, (0.7, 1.5, 1.5)
    p.impulse[:] = impulse
    impulses.write_newton_system(p, compliance)
    wanted = np.zeros((3, 4))
    for i in range(3):
        shift = 1e-6 * np.eye(3)[i]
        high, low = (newton_map(p, impulse + s * shift, compliance) for s in (1.0, -1.0))
        wanted[:, i] = (high - low) / 2e-6
    if compliance > 0.0:
        high, low = (newton_map(p, p.impulse, compliance * math.exp(s * 1e-6)) for s in (1.0, -1.0))
        wanted[:, 3] = (high - low) / 2e-6
    assert_allclose(p.jacobian[:3, :4], wanted, atol=1e-8)
    assert_allclose(p.step[:3], -newton_map(p, p.impulse, compliance), atol=1e-14)


def test_a_released_contact_has_no_impulse_in_newtons_system():
    p = problem(mu=math.inf)
    p.released[0], p.scale[0], p.impulse[:] = True, 2.0, [3.0, 4.0, 5.0]
    impulses.write_newton_system(p, 0.1)
    assert p.jacobian[:3, :3].tolist() == (2.0 * np.eye(3)).tolist()
    assert p.step[:3].tolist() == [-6.0, -8.0, -10.0]


@pytest.mark.parametrize(
    ("matrix", "sign"),
    [
        ([[2.0, 1.0], [1.0, 3.0]], 1.0),
        ([[1.0, 3.0], [2.0, 1.0]], -1.0),
        ([[-2.0, 1.0], [1.0, 3.0]], -1.0),
        ([[0.0, 1.0], [-1.0, 0.0]], 1.0),
        ([[1.0, 2.0], [2.0, 4.0]], 0.0),
        ([[math.nan, 2.0], [2.0, 4.0]], 0.0),
        ([[5.0]], 1.0),
        ([[-5.0]], -1.0),
    ],
)
def test_the_sign_of_a_determinant(matrix, sign):
    A = np.array(matrix)
    right = np.array([3.0, 5.0])[: len(A)]
    b = right.copy()
    assert impulses.solve_dense(A.copy(), b, len(A)) == sign
    if sign:
        assert_allclose(A @ b, right)


def newton(monkeypatch, residuals, sweeps=0, determinant=1.0, small=SMALL):
    """Iterate from the impulse 0 by steps of 1 with given residuals; return the result and the calls."""
    p = problem()
    p.step[:3] = 1.0
    calls = record(
        monkeypatch,
        friction_law_residual=iter(residuals),
        solved_tolerance=small,
        write_newton_system=None,
        solve_dense=determinant,
        clip_to_cones=None,
        sweep_contacts=None,
    )
    return impulses.iterate_newton(p, 0.1, sweeps), p.impulse[0], names(calls)


@pytest.mark.parametrize(
    ("residuals", "result", "impulse"),
    [
        ((1.0, 0.5, 0.9 * SMALL), 0.9 * SMALL, 2.0),
        ((0.0, 0.5, *[0.6] * 9), 0.0, 0.0),  # one step is taken although the start is solved
        ((1.0, 0.5, 2.0, 0.7, *[0.6] * 9), 0.5, 1.0),
        ((1.0, 0.5, math.nan), 0.5, 1.0),
        ((1.0, math.inf), 1.0, 0.0),
    ],
)
def test_newtons_method_keeps_its_best_iterate(monkeypatch, residuals, result, impulse):
    assert newton(monkeypatch, residuals)[:2] == (result, impulse)


def test_newtons_method_ends_when_solved_singular_or_after_its_steps(monkeypatch):
    """The first step is always taken."""
    assert newton(monkeypatch, [0.0] * 9)[2].count("solve_dense") == 1
    assert newton(monkeypatch, [SMALL] * 9)[2].count("solve_dense") == 1
    assert newton(monkeypatch, [1.1 * SMALL] * 9)[2].count("solve_dense") == NEWTON_STEPS
    assert newton(monkeypatch, [1.0] * 9, determinant=0.0)[:2] == (1.0, 0.0)


def test_sweeps_follow_every_third_newton_step(monkeypatch):
    calls = newton(monkeypatch, [1.0] * 9, sweeps=2)[2]
    kept = [name for name in calls if name in ("solve_dense", "clip_to_cones", "sweep_contacts")]
    third = ["solve_dense"] * 3 + ["clip_to_cones", "sweep_contacts", "sweep_contacts"]
    assert kept == third * 2 + ["solve_dense"] * 2
    assert newton(monkeypatch, [1.0] * 9)[2].count("clip_to_cones") == 0


@pytest.mark.parametrize(
    ("residuals", "result", "impulse"),
    [
        ((SMALL,), SMALL, 0.0),
        ((1.0, 0.9998, 0.0), 0.0, 2.0 - 1.0),
        ((1.0, 2.0, 0.5, 0.0), 0.0, 1.5),
        ((1.0, math.nan, 0.5, 0.0), 0.0, 1.5),
        ((1.0, 0.99995, 0.0), 0.0, 0.5),
        ((1.0, *[1.0] * 20), 1.0, 0.0),
    ],
)
def test_a_damped_step_must_reduce_the_residual(monkeypatch, residuals, result, impulse):
    """By 1e-4 of its length. Steps are of length 1 from the impulse 0, and are halved down to 1e-3."""
    if residuals[1:2] == (0.9998,):
        impulse = 2.0
    p = problem()
    p.step[:3] = 1.0
    record(
        monkeypatch,
        friction_law_residual=iter(residuals),
        solved_tolerance=SMALL,
        write_newton_system=None,
        solve_dense=1.0,
    )
    assert impulses.iterate_damped(p, 0.1) == result
    assert p.impulse[0] == impulse


def test_damped_steps_end_at_a_singular_system_or_after_their_number(monkeypatch):
    p = problem()
    given = {"solved_tolerance": SMALL, "write_newton_system": None}
    calls = record(monkeypatch, friction_law_residual=iter([1.0]), solve_dense=0.0, **given)
    assert impulses.iterate_damped(p, 0.1) == 1.0
    decreasing = iter([0.5**i for i in range(99)])
    calls = record(monkeypatch, friction_law_residual=decreasing, solve_dense=1.0, **given)
    impulses.iterate_damped(p, 0.1)
    assert names(calls).count("solve_dense") == LINE_SEARCH_STEPS


# --- continuation in the compliance


@pytest.mark.parametrize(
    ("full", "damped", "result", "calls"),
    [
        ((SMALL,), None, SMALL, [0]),
        ((1.0, 0.0), None, 0.0, [0, 2]),
        ((1.0, 2.0), 0.3, 0.3, [0, 2]),
    ],
)
def test_a_level_is_solved_by_full_then_by_damped_steps(monkeypatch, full, damped, result, calls):
    """Without sweeps and with two; each begins with the same impulses."""
    p = problem()
    starts = []

    def iterate(p, compliance, sweeps):
        starts.append((p.impulse[0], sweeps))
        p.impulse[:] = 9.0
        return full[len(starts) - 1]

    seen = record(
        monkeypatch,
        sweep_contacts=lambda p, compliance: p.impulse.__iadd__(1.0),
        iterate_newton=iterate,
        solved_tolerance=SMALL,
        iterate_damped=lambda p, compliance: starts.append((p.impulse[0], "damped")) or damped,
    )
    assert impulses.solve_level(p, 0.1, 5) == result
    assert names(seen).count("sweep_contacts") == 5
    assert starts == [(5.0, k) for k in calls] + [(5.0, "damped")] * (damped is not None)


@pytest.mark.parametrize(("solved", "result"), [(0, 1e-3), (3, 1e-2), (11, 1.0), (99, 0.0)])
def test_the_first_level_has_a_larger_compliance_if_it_must(monkeypatch, solved, result):
    """From 1e-3 to 1 by factors of ten, with 5, 20 and 80 sweeps each, from the same start."""
    p = problem()
    p.start[:] = 4.0
    levels = []

    def solve(p, compliance, sweeps):
        assert p.impulse[0] == 4.0
        p.impulse[:] = 9.0
        levels.append((compliance, sweeps))
        return SMALL if len(levels) > solved else 1.0

    record(monkeypatch, solve_level=solve, solved_tolerance=SMALL)
    assert impulses.enter_continuation(p) == pytest.approx(result)
    assert [sweeps for _, sweeps in levels] == ([5, 20, 80] * 4)[: solved + 1]
    assert levels[0][0] == FIRST_COMPLIANCE
    assert levels[-1][0] <= LARGEST_COMPLIANCE * (1.0 + 1e-12)


def continuation(monkeypatch, entered, solves):
    """Continue from a compliance; return the residual and the levels that were tried."""
    p = problem()
    levels = []

    def solve(p, compliance, sweeps):
        levels.append(compliance)
        return 0.0 if solves(compliance, levels) else 1.0

    record(
        monkeypatch,
        enter_continuation=entered,
        solve_level=solve,
        solved_tolerance=SMALL,
        friction_law_residual=0.25,
    )
    return impulses.continue_compliance(p), levels


def test_the_compliance_decreases_to_its_end(monkeypatch):
    result, levels = continuation(monkeypatch, 1e-3, lambda c, levels: True)
    assert result == 0.25
    assert levels == pytest.approx([1e-5, 1e-7, COMPLIANCE])
    assert levels[-1] == COMPLIANCE
    assert COMPLIANCE_FACTOR == 1e-2


def test_a_failed_level_is_approached_in_smaller_steps(monkeypatch):
    """By the geometric mean, until the step is a factor above 0.7."""
    _, levels = continuation(monkeypatch, 1e-3, lambda c, levels: len(levels) > 1)
    assert levels[:2] == pytest.approx([1e-5, 1e-4])
    _, levels = continuation(monkeypatch, 1e-3, lambda c, levels: False)
    assert levels == pytest.approx([1e-3 * 0.1 ** (2.0 * 0.5**k) for k in range(4)])
    assert (levels[-1] / 1e-3) ** 0.5 > SMALLEST_PROGRESS > levels[-1] / 1e-3


def test_continuation_needs_a_first_level(monkeypatch):
    assert continuation(monkeypatch, 0.0, None) == (1e300, [])


# --- path of solutions


@pytest.mark.parametrize(("entry", "weight"), [(0, 0.5), (2, 0.5), (3, 1.5), (6, 1.0)])
def test_weights_of_a_step_along_the_path(entry, weight):
    """Inverse masses 2 and 6 per kg, and the largest free velocity 4 m/s; the logarithm has weight one."""
    p = problem(2, b=[0.0, -4.0, 0, 0, 1.0, 0])
    p.scale[:] = 2.0, 6.0
    assert impulses.weigh_path(p, entry) == weight


@pytest.mark.parametrize(
    ("sign", "orientation", "result", "tangent"),
    [
        (1.0, 0.0, 1.0, 0.8),
        (-1.0, 0.0, -1.0, 0.8),
        (1.0, 1.0, 1.0, 0.8),
        (-1.0, 1.0, 1.0, -0.8),
        (1.0, -1.0, -1.0, -0.8),
        (0.0, 1.0, 0.0, 9.0),
    ],
)
def test_the_tangent_keeps_its_orientation(monkeypatch, sign, orientation, result, tangent):
    """The step (3, 0, 0, 4) with weights 1 has the length 5."""
    p = problem()
    p.tangent[:] = 9.0

    def solve(A, b, n):
        assert b.tolist() == [0.0, 0.0, 0.0, 1.0]
        b[:] = 3.0, 0.0, 0.0, 4.0
        return sign

    record(monkeypatch, write_newton_system=None, write_path_row=None, solve_dense=solve)
    assert impulses.turn_tangent(p, 0.1, orientation) == result
    assert p.tangent[3] == pytest.approx(tangent)


def test_a_tangent_of_infinite_length_does_not_exist(monkeypatch):
    p = problem()
    record(
        monkeypatch,
        write_newton_system=None,
        write_path_row=None,
        solve_dense=lambda A, b, n: b.__setitem__(0, math.inf) or 1.0,
    )
    assert impulses.turn_tangent(p, 0.1, 1.0) == 0.0


@pytest.mark.parametrize(
    ("residuals", "determinant", "shift", "result"),
    [
        ([SMALL], 1.0, 0.5, -3.0),
        ([1.0, 1.0, 0.0], 1.0, 0.5, -2.0),
        ([1.0] * 99, 1.0, 0.5, math.inf),
        ([1.0, 0.0], 0.0, 0.5, math.inf),
        ([1.0, 0.0], 1.0, 3.0 + 0.99 * MAX_PATH_POSITION, 0.99 * MAX_PATH_POSITION),
        ([1.0, 0.0], 1.0, 3.0 + 1.01 * MAX_PATH_POSITION, math.inf),
        ([1.0, 0.0], 1.0, math.nan, math.inf),
    ],
)
def test_a_point_returns_to_the_path(monkeypatch, residuals, determinant, shift, result):
    """By steps of `shift` in the logarithm from -3, at most six."""
    calls = record(
        monkeypatch,
        friction_law_residual=iter(residuals),
        solved_tolerance=SMALL,
        write_newton_system=None,
        write_path_row=None,
        solve_dense=lambda A, b, n: b.__setitem__(3, shift) or determinant,
    )
    assert impulses.return_to_path(problem(), -3.0) == pytest.approx(result)
    assert names(calls).count("solve_dense") <= PATH_NEWTON_STEPS


@pytest.mark.parametrize(("solved", "result"), [(0, 0.0), (3, 3.0), (99, math.inf)])
def test_a_path_begins_at_a_large_compliance(monkeypatch, solved, result):
    p = problem()
    p.impulse[:] = 9.0
    levels = []

    def solve(p, compliance, sweeps):
        assert not p.impulse.any()
        assert sweeps == PATH_SWEEPS
        levels.append(compliance)
        return SMALL if len(levels) > solved else 1.0

    record(monkeypatch, solve_level=solve, solved_tolerance=SMALL)
    assert impulses.begin_path(p) == result
    assert len(levels) == min(solved + 1, MAX_PATH_START)
    assert levels == pytest.approx([math.exp(k) for k in range(len(levels))])


def follow(monkeypatch, *, begin=0.0, orientation=1.0, back=None, reached=0.0, kink=1.0):
    """Follow a straight path along decreasing logarithms; return the residual and the predicted positions."""
    p = problem()
    predicted = []
    lengths = []

    def turn(p, compliance, old):
        p.tangent[:] = 0.0, 0.0, 0.0, -1.0
        return orientation

    def return_to(p, position):
        predicted.append(position)
        return position if back is None else back(position, len(predicted))

    def iterate(p, compliance, sweeps):
        lengths.append(compliance)
        return reached

    calls = record(
        monkeypatch,
        begin_path=begin,
        turn_tangent=turn,
        return_to_path=return_to,
        iterate_newton=iterate,
        solved_tolerance=SMALL,
        weigh_path=1.0,
        pass_kink=lambda p, position, ahead, old: lengths.append(("kink", ahead)) or kink,
    )
    return impulses.follow_impulse_path(p), predicted, lengths, calls


def test_a_path_is_followed_by_growing_steps_to_its_end(monkeypatch):
    result, predicted, lengths, _ = follow(monkeypatch)
    assert result == 0.0
    steps = -np.diff([0.0, *predicted])
    wanted = [min(FIRST_PATH_STEP * PATH_GROWTH**k, LONGEST_PATH_STEP) for k in range(len(steps))]
    assert steps == pytest.approx(wanted)
    assert predicted[-1] > PATH_END > predicted[-1] - LONGEST_PATH_STEP
    assert lengths == [COMPLIANCE]


@pytest.mark.parametrize("given", [{"begin": math.inf}, {"orientation": 0.0}])
def test_a_path_without_beginning_or_tangent_is_not_followed(monkeypatch, given):
    result, predicted, _, _ = follow(monkeypatch, **given)
    assert result == math.inf
    assert predicted == []


def test_the_end_of_a_path_must_be_solved(monkeypatch):
    """Otherwise it is approached by ever shorter steps, of which 3000 are tried."""
    result, predicted, lengths, _ = follow(monkeypatch, reached=1.0)
    assert result == math.inf
    assert len(predicted) + lengths.count(COMPLIANCE) == MAX_PATH_STEPS


@pytest.mark.parametrize(("ratio", "accepted"), [(0.99, True), (1.01, False)])
def test_far_points_belong_to_another_part_of_the_path(monkeypatch, ratio, accepted):
    """The first point is 2.5 times the step away, or further: then the step is halved."""

    def back(position, number):
        return -ratio * MAX_PATH_RATIO * FIRST_PATH_STEP if number == 1 else position

    _, predicted, _, _ = follow(monkeypatch, back=back)
    start = -ratio * MAX_PATH_RATIO * FIRST_PATH_STEP if accepted else 0.0
    step = PATH_GROWTH * FIRST_PATH_STEP if accepted else 0.5 * FIRST_PATH_STEP
    assert predicted[1] == pytest.approx(start - step)


def test_a_kink_is_passed_when_no_step_converges(monkeypatch):
    """Steps are halved from 0.1 to below 1e-7, then one of 1e-3 is tried beyond the kink."""
    count = 1 + math.ceil(math.log2(FIRST_PATH_STEP / LEAST_PATH_STEP))

    def back(position, number):
        return math.inf if number <= count else position

    result, predicted, lengths, _ = follow(monkeypatch, back=back)
    assert result == 0.0
    kind, ahead = lengths[0]
    assert kind == "kink"
    assert ahead == pytest.approx(4.0 * FIRST_PATH_STEP * 0.5 ** (count - 1))
    assert predicted[count] == pytest.approx(-KINK_STEP)
    assert follow(monkeypatch, back=back, kink=0.0)[0] == math.inf


# --- the whole solution


def from_start(monkeypatch, *, newtons, sweeps=(1.0,), followed=1e300, mu=0.5):
    """Solve from the impulse 4; Newton's method has given residuals and leaves 5, continuation leaves 6."""
    p = problem(mu=mu)
    p.impulse[:] = 4.0
    rest, swept = iter(newtons), iter([*sweeps, *[1.0] * 20])

    def newton(p, compliance, between):
        p.impulse[:] = 5.0
        return next(rest)

    def proceed(p):
        p.impulse[:] = 6.0
        return followed

    current = [1.0]

    def sweep(p, compliance):
        assert p.impulse[0] in (4.0, 4.5)
        p.impulse[:] = 4.5
        current[0] = next(swept)

    calls = record(
        monkeypatch,
        iterate_newton=newton,
        sweep_contacts=sweep,
        friction_law_residual=lambda *_: current[0],
        solved_tolerance=SMALL,
        continue_compliance=proceed,
    )
    return impulses.solve_from_start(p), p.impulse[0], calls


@pytest.mark.parametrize(
    ("given", "result", "impulse"),
    [
        ({"newtons": [SMALL]}, SMALL, 5.0),
        ({"newtons": [1.0], "sweeps": (1.0, SOLVED_RESIDUAL)}, SOLVED_RESIDUAL, 4.5),
        ({"newtons": [1.0, 0.0]}, 0.0, 5.0),
        ({"newtons": [1.0, 0.3], "followed": 0.2}, 0.2, 6.0),
        ({"newtons": [1.0, 0.3], "followed": 0.4}, 0.3, 5.0),
        ({"newtons": [0.3], "followed": 0.2, "mu": math.inf}, 0.2, 6.0),
    ],
)
def test_methods_follow_each_other_until_one_solves(monkeypatch, given, result, impulse):
    """Ideal contacts begin with sweeps, since a released contact must not depend on the start."""
    assert from_start(monkeypatch, **given)[:2] == (result, impulse)


def test_sweeps_lie_between_two_newton_iterations(monkeypatch):
    calls = from_start(monkeypatch, newtons=[1.0, 0.3])[2]
    assert names(calls).count("sweep_contacts") == FIRST_SWEEPS
    assert [call[2] for call in calls if call[0] == "iterate_newton"] == [0, SWEEPS_BETWEEN]


@pytest.mark.parametrize(
    ("start", "path", "result", "impulse"),
    [
        (SMALL, None, SMALL, 5.0),
        (0.3, 0.2, 0.2, 6.0),
        (0.3, 0.3, 0.3, 5.0),
        (0.3, math.inf, 0.3, 5.0),
    ],
)
def test_the_path_is_followed_if_nothing_else_solves(monkeypatch, start, path, result, impulse):
    """Its result is taken if it is better."""
    p = problem()

    def solve(p):
        p.impulse[:] = 5.0
        return start

    def follow_path(p):
        p.impulse[:] = 6.0
        return path

    record(
        monkeypatch,
        solve_from_start=solve,
        follow_impulse_path=follow_path,
        solved_tolerance=SMALL,
    )
    assert impulses.solve_fixed_contacts(p) == result
    assert p.impulse[0] == impulse


@pytest.mark.parametrize(
    ("mu", "impulse", "share", "released", "number"),
    [
        (math.inf, 0.0, 1.1, False, 1),
        (math.inf, -1.0, 1.1, False, 1),
        (math.inf, 1e-9, 1.1, False, 0),
        (math.inf, 0.0, 0.9, False, 0),
        (0.5, 0.0, 1.1, False, 0),
        (math.inf, 0.0, 1.1, True, 0),
    ],
)
def test_ideal_contacts_without_load_that_separate_are_released(
    mu, impulse, share, released, number
):
    """Separation counts above 1e-10 of the largest free velocity, here 4 m/s."""
    p = problem(mu=mu, b=[1.0, -4.0, 0.0])
    p.impulse[0], p.velocity[0] = impulse, share * 4.0 * SOLVED_RESIDUAL
    p.released[0] = released
    assert impulses.release_unloaded(p) == number
    assert p.released[0] == (released or number == 1)


def solve(monkeypatch, reached, releases):
    """Solve with given residuals of the passes, which leave the impulses 1, 2, ...; return the result."""
    p = problem()
    rest, counts, passes = iter(reached), iter(releases), []

    def fixed(p):
        passes.append(0)
        p.impulse[:] = float(len(passes))
        return next(rest)

    record(
        monkeypatch,
        measure_scales=None,
        solve_fixed_contacts=fixed,
        measure_velocities=None,
        release_unloaded=lambda p: next(counts),
    )
    return impulses.solve_impulses(p), p.impulse[0], len(passes)


@pytest.mark.parametrize(
    ("reached", "releases", "result"),
    [
        ((1e-3,), (0,), (1e-3, 1.0, 1)),
        ((1e-3, 1e-4), (1, 0), (1e-4, 2.0, 2)),
        ((1e-12, 0.9e-9), (1, 0), (0.9e-9, 2.0, 2)),
        ((1e-12, 1.1e-9), (1, 1), (1e-12, 1.0, 2)),
        ((1e-3, math.nan), (1, 1), (1e-3, 1.0, 2)),
        ([1e-3] * 9, [1] * 9, (1e-3, 1.0 + RELEASE_PASSES, 1 + RELEASE_PASSES)),
    ],
)
def test_contacts_are_released_while_that_solves_the_problem(
    monkeypatch, reached, releases, result
):
    """A released contact that approaches is not released after all."""
    assert solve(monkeypatch, reached, releases) == result


def test_contacts_without_free_velocity_have_no_impulses():
    """Flags of an earlier problem are cleared."""
    p = problem(b=0.0)
    p.impulse[:], p.released[0] = 5.0, True
    assert impulses.solve_impulses(p) == 0.0
    assert not p.impulse.any()
    assert not p.velocity.any()
    assert not p.released[0]
