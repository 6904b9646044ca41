"""Integrators: their order, every state checked, lanes and pauses that change nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.algebra.scalar import cos, where
from draisine.codegen.targets.native import lanes
from draisine.control.turn_pi import TurnPI
from draisine.errors import SimulationError
from draisine.model import Body, Model, Prismatic, inertia
from draisine.registry import find, names
from draisine.simulation.bilateral import run as bilateral
from draisine.simulation.integrators import _dop853_tableau as tableau
from draisine.simulation.integrators import dop853, rk4
from draisine.simulation.integrators._drivers import (
    REACHED_END,
    VALUE_NOT_FINITE,
    Address,
    Problem,
    Span,
)
from draisine.simulation.integrators._explicit import explicit
from draisine.simulation.many import simulate_many

METHODS = names("integrator")


def oscillator(x, table, out, count):
    """y'' = -y, as a program in Python."""
    out[0], out[1] = x[2], -x[1]


def oscillating(method, h, end=1.0, rate=oscillator):
    """Run a method in plain Python, its routines as they stand; return the last state."""
    span = Span(0.0, end, h, np.array([end]))
    steps = method.steps(span)
    p = Problem(0, np.zeros(1), 2, np.zeros(0)).workspace(2, method.stages, method.coefficients)
    record = p.record._replace(rate=Address(rate))
    record.x[1:] = 1.0, 0.0
    samples = np.zeros((steps + 1) * 2)
    done = method.take_steps(record, 0.0, end / steps, span.last, 0, steps, samples)
    return done, record.wrong[0], samples.reshape(-1, 2)


@pytest.mark.parametrize(
    ("method", "order"),
    [
        (explicit([[], [2 / 3]], [1 / 4, 3 / 4]), 2),
        (explicit([[], [1 / 2], [0, 1 / 2], [0, 0, 1]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]), 4),
        (rk4.equal, 4),
        (dop853.equal, 8),
    ],
    ids=["ralston", "rk4 as a tableau", "rk4", "dop853"],
)
def test_a_tableau_has_its_order(method, order):
    exact = np.array([np.cos(1.0), -np.sin(1.0)])
    coarse, fine = (oscillating(method, h)[2][-1] - exact for h in (0.25, 0.125))
    assert np.log2(np.linalg.norm(coarse) / np.linalg.norm(fine)) == pytest.approx(order, abs=0.3)


@pytest.mark.parametrize(("method", "order"), [(rk4.equal, 4), (dop853.equal, 8)])
def test_stages_are_taken_at_their_times(method, order):
    """y0' = 3 cos 3 t and y1' = 2 t y1 from (1, 0) and (0, 1): times count as much as states."""

    def forced(x, table, out, count):
        out[0], out[1] = 3.0 * np.cos(3.0 * x[0]), 2.0 * x[0] * (x[2] + 1.0)

    exact = np.array([1.0 + np.sin(3.0), np.exp(1.0) - 1.0])
    coarse, fine = (oscillating(method, h, rate=forced)[2][-1] - exact for h in (0.25, 0.125))
    assert (np.log2(np.abs(coarse) / np.abs(fine)) > order - 1.0).all()


def slider() -> Model:
    parts = [
        Body(name, mass=1.0, com=(0.0, 0.0, 0.0), inertia=inertia(1.0, 1.0, 1.0))
        for name in ("rail", "body")
    ]
    slide = Prismatic("slide", "rail", "body", axis=(1.0, 0.0, 0.0))
    return Model(bodies=parts, joints=[slide], base="fixed")


@pytest.mark.parametrize(
    ("integrator", "order"), [("rk4", 4), ("ab4", 4), ("abm4", 4), ("abm5", 5)]
)
def test_forces_that_depend_on_time_keep_the_order(integrator, order):
    """A mass under the force cos 5 t has the speed sin(5 t) / 5."""
    system = draisine.compile(slider)

    def law(readings, z):
        return {"slide": cos(5.0 * readings.t)}, ()

    errors = []
    for dt in (0.05, 0.025):
        numerics = draisine.Numerics(dt=dt, integrator=integrator)
        run = draisine.simulate(system, draisine.state(system), 1.0, law=law, numerics=numerics)
        errors.append(abs(run.final().v[-1] - np.sin(5.0) / 5.0))
    assert np.log2(errors[0] / errors[1]) > order - 0.7


@pytest.mark.parametrize(
    ("error", "factor"), [(0.0, 10.0), (1e-20, 10.0), (1.0, 0.9), (2.0**-8, 1.8), (1e20, 0.2)]
)
def test_steps_change_as_in_the_book(error, factor):
    """0.9 err^(-1/8), between 0.2 and 10: Hairer, Norsett and Wanner, II.4; a step that was too long
    never grows.
    """
    assert dop853.step_growth(error) == pytest.approx(factor, rel=1e-15)
    if error >= 1.0:
        assert dop853.step_reduction(error) == pytest.approx(factor, rel=1e-15)


def test_only_one_method_chooses_its_steps():
    assert [name for name in METHODS if find("integrator", name).ADAPTIVE] == ["dop853"]


def test_rk4_by_hand_is_rk4_by_its_tableau():
    by_tableau = explicit([[], [1 / 2], [0, 1 / 2], [0, 0, 1]], [1 / 6, 1 / 3, 1 / 3, 1 / 6])
    assert_allclose(oscillating(rk4.equal, 0.1)[2], oscillating(by_tableau, 0.1)[2], rtol=1e-15)


def test_the_last_state_is_checked():
    """A rate that is no number at the end alone, where no step begins."""

    last = iter([False, True])

    def failing(x, table, out, count):
        oscillator(x, table, out, count)
        if x[0] > 0.9999 and next(last):
            out[:2] = np.nan

    done, wrong, _ = oscillating(rk4.equal, 0.1, rate=failing)
    assert (done, wrong) == (10, VALUE_NOT_FINITE)
    assert oscillating(rk4.equal, 0.1)[:2] == (10, REACHED_END)


def test_no_run_ends_completed_with_a_state_that_is_no_number():
    """A law that blows up within the last step."""

    class Late:
        states = 0
        breakpoints = ()

        def __call__(self, readings, z):
            return {"steer": where(readings.t > 0.0995, 1e308, 0.0) * 1e308}, []

    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=4.6)
    for method in ("rk4", "abm4"):
        with pytest.raises(SimulationError):
            draisine.simulate(
                bicycle,
                start,
                0.1,
                law=Late(),
                numerics=draisine.Numerics(dt=0.01, integrator=method),
            )


def test_the_coefficients_are_those_of_scipy():
    from scipy.integrate import DOP853

    method = dop853.DOP853_COEFFICIENTS
    A, B = method[:256].reshape(16, 16), DOP853.B
    assert np.array_equal(A[:12, :12], DOP853.A)
    assert np.array_equal(A[12, :12], B)
    assert np.array_equal(A[13:], DOP853.A_EXTRA)
    assert np.array_equal(
        method[dop853.NODE_OFFSET : dop853.FIFTH_ORDER_OFFSET], [*DOP853.C, 1.0, *DOP853.C_EXTRA]
    )
    assert np.array_equal(method[dop853.FIFTH_ORDER_OFFSET : dop853.THIRD_ORDER_OFFSET], DOP853.E5)
    assert np.array_equal(method[dop853.THIRD_ORDER_OFFSET : dop853.DENSE_OFFSET], DOP853.E3)
    assert np.array_equal(method[dop853.DENSE_OFFSET :], np.ravel(DOP853.D))
    assert_allclose([sum(row) for row in tableau.A], tableau.C, atol=1e-14)


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.fixture(scope="module")
def start(bicycle):
    return draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)


def states(run):
    return np.concatenate([arc.y for arc in run.arcs])


@pytest.mark.parametrize("method", METHODS)
def test_pauses_change_nothing(bicycle, start, method, monkeypatch):
    task = {"numerics": draisine.Numerics(dt=0.01, integrator=method)}
    whole = draisine.simulate(bicycle, start, 0.5, **task)
    ticks = []
    monkeypatch.setattr(bilateral, "STEPS_PER_NATIVE_CALL", 3)
    monkeypatch.setattr(bilateral, "_PROBLEMS", {})
    paused = draisine.simulate(bicycle, start, 0.5, progress=ticks.append, **task)
    assert np.array_equal(states(whole), states(paused))
    assert len(ticks) > 2
    assert ticks == sorted(ticks)


@pytest.mark.parametrize("method", METHODS)
def test_an_interruption_keeps_what_was_done(bicycle, start, method, monkeypatch):
    def stop(part):
        if part > 0.4:
            raise KeyboardInterrupt

    task = {"numerics": draisine.Numerics(dt=0.01, integrator=method)}
    whole = draisine.simulate(bicycle, start, 0.5, **task)
    monkeypatch.setattr(bilateral, "STEPS_PER_NATIVE_CALL", 3)
    monkeypatch.setattr(bilateral, "_PROBLEMS", {})
    with pytest.raises(SimulationError, match="interrupted after 0") as error:
        draisine.simulate(bicycle, start, 0.5, progress=stop, **task)
    part = states(error.value.partial)
    assert 10 < len(part) < 51
    assert np.array_equal(part, states(whole)[: len(part)])


@pytest.mark.parametrize("method", METHODS)
def test_lanes_give_the_bits_of_single_states(bicycle, method):
    """Some fall, some turn over, some go on; each lane as if it were alone, until its end."""
    machine, equal = bicycle.machine(), find("integrator", method).equal
    speeds = np.linspace(0.5, 7.0, lanes())
    y = np.array(
        [machine.enter(draisine.state(bicycle, forward_speed=v, lean_rate=0.4)) for v in speeds]
    ).T
    span = Span(0.0, 1.5, 0.01, np.array([1.5]))
    rate, project, count = machine.rate, machine.project, lanes()
    tail = np.zeros(rate.inputs.size - 1 - len(y))
    pose = machine.layout.r.stop

    def problem(count):
        tables = [np.repeat(c.table[:, None], count, axis=1) for c in (rate, project)]
        address = rate.address if count == 1 else rate.wide_address
        sizes = (rate.outputs.size, np.repeat(tail[:, None], count, axis=1), machine.floors)
        return Problem(address, tables[0], *sizes, project, tables[1], pose, count)

    together, wrong, _ = equal.many(problem(count), y, span)
    alone = [equal.many(problem(1), y[:, [k]], span) for k in range(count)]
    assert np.array_equal(together, np.hstack([end for end, *_ in alone]), equal_nan=True)
    assert np.array_equal(wrong, np.concatenate([w for _, w, _ in alone]))
    assert 0 < np.count_nonzero(wrong) < count


def test_many_under_a_law_with_inputs_of_their_own(bicycle):
    """Each ends as if alone, to the last bit, with a law that jumps, and constant torques."""
    law = TurnPI(-40.0, -10.0, 0.05, (0.2, 0.5), 5.0, 1.0, 15.0)
    torques = [0.0, 0.2, -0.1]
    starts = [draisine.state(bicycle, forward_speed=v) for v in (4.5, 5.0, 5.5)]
    given = {"steer": torques}
    found = simulate_many(
        bicycle,
        starts,
        0.7,
        law=law,
        inputs=given,
        numerics=draisine.Numerics(integrator="rk4", dt=0.01),
    )
    for k, (start, torque) in enumerate(zip(starts, torques, strict=True)):
        numerics = draisine.Numerics(dt=0.01, integrator="rk4")
        end = draisine.simulate(
            bicycle, start, 0.7, law=law, inputs={"steer": torque}, numerics=numerics
        ).final()
        assert np.array_equal(found["v"][:, k], end.v)
        assert np.array_equal(found["q"][:, k], end.q)


def test_equal_steps_of_high_order_are_exact_enough(bicycle):
    """63 steps in 5 s against adaptive ones at 1e-12."""
    starts = [draisine.state(bicycle, forward_speed=v, lean_rate=0.5) for v in (4.5, 4.9, 5.4)]
    found = simulate_many(bicycle, starts, 5.0, numerics=draisine.Numerics(dt=5 / 63))
    for k, start in enumerate(starts):
        end = draisine.simulate(
            bicycle, start, 5.0, numerics=draisine.Numerics(dt=5.0, rtol=1e-12, atol=1e-13)
        ).final()
        assert_allclose(found["v"][:, k], end.v, atol=5e-9)
