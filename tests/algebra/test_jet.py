"""Derivatives that values carry along."""

import math

import mpmath
import pytest
import sympy

from draisine.algebra import scalar
from draisine.algebra.jet import jet_gradient, second_rate
from draisine.algebra.trace import Graph, evaluate


def curious(a, b):
    """Every operation that a coupling may need."""
    angle = scalar.atan2(scalar.sin(a) * b, 2.0 - scalar.cos(b) / a)
    return 3.0 * angle + scalar.sqrt(a * a + 1.0) - scalar.exp(-b) / (1.0 + b**3) + 0.5 - a


def by_sympy(x, rates):
    a, b, e = sympy.symbols("a b e", positive=True)
    value = curious(a, b)
    point = dict(zip((a, b), x, strict=True))
    first = [float(sympy.diff(value, s).subs(point).evalf(30)) for s in (a, b)]
    line = value.subs({a: a + e * rates[0], b: b + e * rates[1]}, simultaneous=True)
    return first, float(sympy.diff(line, e, 2).subs(point | {e: 0}).evalf(30))


def test_first_and_second_derivatives_of_floats_traces_and_mpmath():
    x = [0.7, 1.3]
    rates = [0.4, -1.1]
    first, second = by_sympy(x, rates)
    assert jet_gradient(curious, x) == pytest.approx(first, rel=1e-13)
    assert second_rate(curious, x, rates) == pytest.approx(second, rel=1e-13)
    exact = [mpmath.mpf(value) for value in x]
    assert [float(d) for d in jet_gradient(curious, exact)] == pytest.approx(first, rel=1e-13)
    graph = Graph()
    symbols = [graph.symbol("a"), graph.symbol("b")]
    traced = [*jet_gradient(curious, symbols), second_rate(curious, symbols, rates)]
    values = evaluate(traced, {"a": 0.7, "b": 1.3})
    assert list(values) == pytest.approx([*first, second], rel=1e-13)


def test_linear_functions_have_constant_derivatives():
    """No symbol is left in the rows of a gear."""
    graph = Graph()
    a = graph.symbol("a")
    b = graph.symbol("b")
    assert jet_gradient(lambda x, y: x + 3.0 * y, [a, b]) == [1.0, 3.0]
    assert second_rate(lambda x, y: x - y / 2.0, [a, b], [a, b]) == 0.0
    assert jet_gradient(lambda x: math.pi, [a]) == [0.0]


@pytest.mark.parametrize("power", [-3, -1, 0, 1, 4])
def test_powers_of_any_sign(power):
    """x^n has n x^(n-1) and n (n-1) x^(n-2); negative powers used to be one."""
    first = power * 1.7 ** (power - 1)
    second = power * (power - 1) * 1.7 ** (power - 2)
    assert jet_gradient(lambda x: x**power, [1.7]) == pytest.approx([first], rel=1e-13)
    assert second_rate(lambda x: x**power, [1.7], [2.0]) == pytest.approx(4.0 * second, rel=1e-13)
