"""Control laws over numbers, symbols and traces, and their effect on a bicycle."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import draisine
from draisine.algebra.trace import Graph, evaluate
from draisine.codegen.fingerprint import fingerprint
from draisine.control import CombinedLaws, Ramp, Sine, Step, Table, TimeInputs, smooth_transition
from draisine.control.turn_p import TurnP
from draisine.control.turn_pi import TurnPI
from draisine.errors import ParameterError
from draisine.results.queries import first_crossings

PI_TURN = TurnPI(10.0, 35.0, math.radians(5.0), (0.0, 5.0), 20.0, 100.0, 20.0)
P_TURN = TurnP(10.0, math.radians(15.0), (0.0, 1.0, 1.0, 2.0), 40.0, 20.0)


@dataclass
class Seen:
    """As much of a view as laws look at."""

    t: object
    steer: object
    wheel_rate: object

    def joint(self, name):
        return {"steer": self.steer}[name]

    def rate(self, name):
        return {"rear_wheel": self.wheel_rate}[name]


@given(st.floats(-1.0, 8.0), st.floats(0.0, 3.0), st.floats(0.1, 4.0))
def test_a_smooth_transition_rises_from_zero_to_one_and_is_symmetric(t, start, length):
    end = start + length
    now = smooth_transition(t, start, end)
    mirrored = smooth_transition(start + end - t, start, end)
    assert -1e-15 <= now <= 1.0 + 1e-15
    assert_allclose(now + mirrored, 1.0, atol=1e-12)
    assert smooth_transition(t + 0.01, start, end) >= now - 1e-15


def test_a_smooth_transition_is_the_formula_of_the_paper():
    s = (2.3 - 1.0) / (4.0 - 1.0)
    expected = s - math.sin(2 * math.pi * s) / (2 * math.pi)
    assert_allclose(smooth_transition(2.3, 1.0, 4.0), expected, rtol=1e-15)
    assert smooth_transition(1.0, 1.0, 1.0) == 1.0
    assert smooth_transition(0.999, 1.0, 1.0) == 0.0
    with pytest.raises(ParameterError, match="must not end"):
        smooth_transition(0.0, 2.0, 1.0)


def test_torques_are_those_of_the_documents():
    given, rates = P_TURN(Seen(0.5, 0.1, 19.0), np.zeros(0))
    assert rates == ()
    assert_allclose(given["steer"], -10.0 * (math.radians(15.0) * 0.5 - 0.1), rtol=1e-14)
    assert_allclose(given["rear_wheel"], 40.0, rtol=1e-14)
    given, rates = PI_TURN(Seen(2.5, 0.01, 20.5), np.array([0.02, -0.03]))
    e1 = math.radians(5.0) * 0.5 - 0.01
    assert_allclose(given["steer"], -10.0 * e1 - 35.0 * 0.02, rtol=1e-13)
    assert_allclose(given["rear_wheel"], 20.0 * -0.5 + 100.0 * -0.03, rtol=1e-13)
    assert_allclose(rates, [e1, -0.5], rtol=1e-13)


def test_the_turn_goes_back():
    assert_allclose([P_TURN.reference(t) for t in (0.0, 1.0, 1.5, 2.0, 9.0)],
                    [0.0, math.radians(15.0), math.radians(7.5), 0.0, 0.0], atol=1e-15)  # fmt: skip


@pytest.mark.parametrize(
    "law",
    [PI_TURN, TurnPI(10.0, 35.0, 0.1, (0.0, 5.0), 20.0, 100.0, 20.0, 0.3, 5.0, 2.0), P_TURN],
)
@pytest.mark.parametrize("t", [0.0, 0.7, 1.3, 6.0])
def test_laws_agree_over_all_scalars(law, t):
    z = np.array([0.02, -0.04])[: law.states]
    numbers = law(Seen(t, 0.03, 19.2), z)
    names = ["t", "steer", "rate", *(f"z{k}" for k in range(law.states))]
    values = dict(zip(names, [t, 0.03, 19.2, *z], strict=True))
    symbols = sympy.symbols(names)
    seen = law(Seen(*symbols[:3]), np.array(symbols[3:], dtype=object))
    at = dict(zip(symbols, values.values(), strict=True))
    graph = Graph()
    traced = [graph.symbol(n) for n in names]
    entries = law(Seen(*traced[:3]), np.array(traced[3:], dtype=object))
    for name, value in numbers[0].items():
        assert_allclose(float(sympy.sympify(seen[0][name]).subs(at)), value, rtol=1e-13)
        assert_allclose(evaluate([entries[0][name]], values)[0], value, rtol=1e-13)
    assert_allclose([float(sympy.sympify(x).subs(at)) for x in seen[1]], numbers[1], rtol=1e-13)
    assert_allclose(evaluate(list(entries[1]), values), numbers[1], rtol=1e-13)


def test_limits_hold_and_anti_windup_draws_the_integral_back():
    bound = TurnPI(10.0, 35.0, 0.1, (0.0, 5.0), 20.0, 100.0, 20.0, steer_limit=0.5)
    given, rates = bound(Seen(9.0, 0.0, 20.0), np.array([1.0, 0.0]))
    assert given["steer"] == -0.5
    assert rates[0] == pytest.approx(0.1)
    back = TurnPI(10.0, 35.0, 0.1, (0.0, 5.0), 20.0, 100.0, 20.0, steer_limit=0.5, anti_windup=5.0)
    given, rates = back(Seen(9.0, 0.0, 20.0), np.array([1.0, 0.0]))
    assert given["steer"] == -0.5
    assert rates[0] == pytest.approx(0.1 + 5.0 / -35.0 * (-0.5 + 36.0))
    same = back(Seen(9.0, 0.099, 20.0), np.array([0.001, 0.0]))[1][0]
    assert same == pytest.approx(0.001)  # no limit is at work


def test_impossible_numbers_are_refused():
    with pytest.raises(ParameterError, match="ascending"):
        TurnP(1.0, 1.0, (0.0, 2.0, 1.0, 3.0), 1.0, 1.0)
    with pytest.raises(ParameterError, match="steer_limit = -1"):
        TurnPI(1.0, 1.0, 1.0, (0.0, 1.0), 1.0, 1.0, 1.0, steer_limit=-1.0)
    with pytest.raises(ParameterError, match="anti_windup"):
        TurnPI(1.0, 1.0, 1.0, (0.0, 1.0), 1.0, 1.0, 1.0, anti_windup=-1.0)


SIGNALS = [
    (Step("steer", 2.0, 1.0, 3.0), {0.5: 0.0, 1.0: 2.0, 2.9: 2.0, 3.0: 0.0}),
    (Step("steer", 2.0), {0.0: 2.0, 99.0: 2.0}),
    (Ramp("steer", 4.0, 1.0, 3.0, -2.0), {0.0: -2.0, 2.0: 1.0, 3.0: 4.0, 5.0: 4.0}),
    (Ramp("steer", 4.0, 1.0, 1.0), {0.9: 0.0, 1.0: 4.0}),
    (Sine("steer", 2.0, 0.25, offset=1.0, start=1.0, end=4.0), {0.5: 0.0, 2.0: 3.0, 4.0: 0.0}),
    (Table("steer", (1.0, 2.0, 4.0), (3.0, 5.0, 1.0)), {0.0: 3.0, 1.5: 4.0, 3.0: 3.0, 9.0: 1.0}),
    (Table("steer", (0.0, 1.0, 2.0), (3.0, 5.0, 1.0), "hold"), {0.5: 3.0, 1.0: 5.0, 7.0: 1.0}),
]


@pytest.mark.parametrize(("signal", "expected"), SIGNALS)
def test_inputs_of_time(signal, expected):
    graph = Graph()
    traced = signal.at(graph.symbol("t"))
    for t, value in expected.items():
        assert_allclose(signal.at(t), value, atol=1e-14)
        assert_allclose(evaluate([traced], {"t": t})[0], value, atol=1e-14)


def test_tables_are_interpolated_like_numpys():
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.uniform(0.1, 1.0, 23))
    values = rng.normal(size=23)
    table = Table("steer", tuple(times), tuple(values))
    traced = table.at(Graph().symbol("t"))
    for t in rng.uniform(-1.0, times[-1] + 1.0, 50):
        assert_allclose(evaluate([traced], {"t": t})[0], np.interp(t, times, values), atol=1e-13)


def test_wrong_signals_are_refused():
    with pytest.raises(ParameterError, match="before the start"):
        Step("steer", 1.0, 2.0, 1.0)
    with pytest.raises(ParameterError, match="must ascend"):
        Table("steer", (0.0, 0.0), (1.0, 2.0))
    with pytest.raises(ParameterError, match="2 times but 1 values"):
        Table("steer", (0.0, 1.0), (1.0,))


def test_laws_act_together():
    extra = TimeInputs((Step("steer", 0.5, 1.0), Step("steer", 0.25), Step("front_wheel", 1.0)))
    both = CombinedLaws((PI_TURN, extra))
    assert both.states == 2
    assert both.breakpoints == (0.0, 1.0, 5.0)
    assert_allclose(both.start_at(0.0, 0.0, 0.0), [0.0, 0.0])
    given, rates = both(Seen(2.0, 0.0, 20.0), np.array([0.1, 0.2]))
    alone, own = PI_TURN(Seen(2.0, 0.0, 20.0), np.array([0.1, 0.2]))
    assert_allclose(given["steer"], alone["steer"] + 0.75)
    assert given["front_wheel"] == 1.0
    assert rates == own


def test_laws_are_kept_by_content():
    same = TurnPI(10.0, 35.0, math.radians(5.0), (0.0, 5.0), 20.0, 100.0, 20.0)
    other = TurnPI(10.0, 35.0, math.radians(6.0), (0.0, 5.0), 20.0, 100.0, 20.0)
    assert fingerprint(PI_TURN) == fingerprint(same) is not None
    assert fingerprint(PI_TURN) != fingerprint(other)


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.mark.parametrize(
    ("law", "falls"),
    [
        (TurnPI(-10.0, -35.0, math.radians(5.0), (0.0, 5.0), 20.0, 100.0, 20.0), 3.17),
        (TurnP(-10.0, math.radians(15.0), (0.0, 1.0, 1.0, 2.0), 40.0, 20.0), 1.715),
    ],
)
def test_with_the_other_sign_the_bicycle_falls(bicycle, law, falls):
    """Lean passes 45 degrees; times by independent computation, to their sampling of 5 ms."""
    start = draisine.state(bicycle, forward_speed=6.0)
    run = draisine.simulate(bicycle, start, until=falls + 0.05, law=law).to_xarray()
    lean = np.abs(run["lean"].values) - math.pi / 4
    assert_allclose(first_crossings(run["time"].values[None], lean[None]), falls, atol=6e-3)


def test_a_limited_turn_stays_within_its_limits(bicycle):
    start = draisine.state(bicycle, forward_speed=6.0)
    law = TurnPI(
        10.0, 35.0, math.radians(5.0), (0.0, 5.0), 20.0, 100.0, 20.0, 0.4, 3.0, anti_windup=2.0
    )
    run = draisine.simulate(bicycle, start, until=8.0, law=law).to_xarray()
    torques = np.abs(run["inputs"].values).max(axis=0)
    assert_allclose(torques[:2], [0.4, 3.0], rtol=1e-12)
    assert float(np.abs(run["lean"].values).max()) < 0.6
