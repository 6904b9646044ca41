"""Expressions in scenario files: their values, roads from them, and what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pydantic import TypeAdapter

import draisine
from draisine.errors import DataError
from draisine.scenario.expression import parse_expression
from draisine.scenario.terrain import TerrainTable


def ground(**table):
    return TypeAdapter(TerrainTable).validate_python({"shape": "road", **table}).terrain()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("-x^2 + 3", -1.0),
        ("2*pi*x/4", np.pi),
        ("sqrt(abs(-x*8)) - exp(0)", 3.0),
        ("sin(pi/6)*x**-1", 0.25),
        ("tanh(0)+log(1)+atan(1)*4", np.pi),
    ],
)
def test_expressions_have_the_value_of_their_arithmetic(text, value):
    assert_allclose(parse_expression(text, ["x"])(2.0), value, rtol=1e-15)


def test_expressions_accept_arrays():
    x = np.linspace(0.0, 1.0, 5)
    assert_allclose(parse_expression("x*y + 1", ["x", "y"])(x, 2.0), 2.0 * x + 1.0)
    assert_allclose(parse_expression("10**400", ["x"])(x), np.inf)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os').system('true')", "is not supported"),
        ("x.real", "is not supported"),
        ("[x][0]", "is not supported"),
        ("x if x else 1", "is not supported"),
        ("True", "is not supported"),
        ("1j", "is not supported"),
        ("'a'", "is not supported"),
        ("eval(x)", "unknown function 'eval'"),
        ("sine(x)", r"unknown function 'sine'.+'sin'"),
        ("sin", "needs an argument"),
        ("sin(x, x)", "one argument"),
        ("lambda: 1", "is not supported"),
        ("0.1*t", "unknown name 't'"),
        ("x +", "is not an expression"),
        ("(" * 2000, "characters"),
    ],
)
def test_anything_else_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_expression(text, ["x"])


def test_a_road_has_the_heights_of_its_expression():
    made = ground(x=["0cm", 12], z="0.02*sin(2*pi*x/1.5)", slope="3deg")
    x = np.linspace(0.0, 12.0, 200)
    expected = 0.02 * np.sin(2.0 * np.pi * x / 1.5) + np.tan(np.radians(3.0)) * x
    assert_allclose(made.height(x), expected, atol=1e-5)
    hills = ground(x=[0, 4], y=[-2, 2], z="0.1*cos(x)*cos(y)", error=1e-4)
    assert_allclose(hills.height(1.3, 0.7), 0.1 * np.cos(1.3) * np.cos(0.7), atol=1e-4)


def test_mistakes_name_the_key():
    changes = {
        "terrain": {"shape": "road", "x": [0, 10], "z": "0.1*sin(y)"},
        "initial.place": {"centre": [1.0, 0.0], "on": "ground"},
    }
    with pytest.raises(DataError, match=r"terrain.+unknown name 'y'.+range `y`"):
        draisine.run("mauny2018/passive-stabilisation", changes=changes)
    changes["terrain"]["z"] = "1/(x - 5)"
    with pytest.raises(draisine.errors.DraisineError, match="finite"):
        draisine.run("mauny2018/passive-stabilisation", changes=changes)


def test_a_scenario_runs_on_a_road_from_an_expression():
    changes = {
        "terrain": {"shape": "road", "x": [-2, 8], "z": "0.01*(1 - cos(2*pi*x/2))"},
        "initial.place": {"centre": [0.3, 0.0], "on": "ground"},
        "run.until": 0.3,
    }
    found = draisine.run("mauny2018/passive-stabilisation", changes=changes)
    assert found.outcome == "completed"
