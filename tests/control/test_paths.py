"""Path coordinates, transport delay and muscles against closed forms."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.algebra.jet import Jet
from draisine.algebra.trace import Graph, evaluate
from draisine.control import (
    CombinedLaws,
    ConstantCurvature,
    CurvedPath,
    LateralPath,
    Neuromuscular,
    delay,
    smooth_transition,
)
from draisine.control._paths import as_path, locate
from draisine.control.loop_rider import LoopRider
from draisine.control.path_following import PathFollowing
from draisine.errors import ParameterError


def transfer(element, order, s):
    """Transfer function of a linear element, from its values at unit vectors."""
    columns = [element(command, np.array(z)) for command, *z in np.eye(order + 1)]
    out = np.array([value for value, _ in columns])
    rates = np.array([rate for _, rate in columns]).T
    return out[1:] @ np.linalg.solve(s * np.eye(order) - rates[:, 1:], rates[:, 0]) + out[0]


def pade(order, x):
    """Pade's [n/n] approximation of exp(-x), Golub and Van Loan, Matrix Computations, sec. 9.3.1."""
    f = math.factorial
    terms = [
        f(2 * order - k) * f(order) / (f(2 * order) * f(k) * f(order - k)) for k in range(order + 1)
    ]
    return sum(c * (-x) ** k for k, c in enumerate(terms)) / sum(
        c * x**k for k, c in enumerate(terms)
    )


@pytest.mark.parametrize("order", range(1, 9))
@pytest.mark.parametrize("time", [0.05, 0.2])
def test_a_delay_is_the_function_of_pade(order, time):
    for s in (2.0j, 15.0j, -3.0 + 8.0j, 1.5):
        found = transfer(lambda u, z: delay(u, z, time), order, s)
        assert_allclose(found, pade(order, s * time), rtol=1e-11)


def test_the_default_order_is_accurate_enough_for_a_rider():
    """The phase error at 15 rad/s and 0.2 s is below 1e-3 rad, as documented."""
    hands = Neuromuscular(delay=0.2)
    assert abs(transfer(hands, hands.states, 15.0j) - np.exp(-3.0j)) < 1e-3


def test_muscles_follow_the_delay():
    hands = Neuromuscular(0.1, 6, 30.0, 0.707)
    s = 4.0j
    lag = 900.0 / (s * s + 2.0 * 0.707 * 30.0 * s + 900.0)
    assert hands.state_names[-2:] == ("torque", "torque_rate")
    assert_allclose(transfer(hands, hands.states, s), lag * pade(6, 0.1 * s), rtol=1e-11)


def test_without_delay_and_muscles_the_torque_is_the_command():
    assert Neuromuscular()(2.5, np.zeros(0)) == (2.5, [])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"delay": -0.1}, "delay = -0.1 s"),
        ({"delay": 0.1, "order": 0}, "order = 0"),
        ({"frequency": 0.0}, "frequency = 0.0"),
        ({"damping": -1.0}, "damping = -1.0"),
    ],
)
def test_impossible_hands_are_refused(wrong, told):
    with pytest.raises(ParameterError, match=told):
        Neuromuscular(**wrong)


def test_a_jet_chooses_with_its_derivatives():
    """The smooth step s - sin(2 pi s) / (2 pi) has the slope 1 - cos(2 pi s)."""
    y = smooth_transition(Jet(0.3, 1.0, 0.0), 0.0, 1.0)
    assert_allclose(y.x1, 1.0 - math.cos(0.6 * math.pi), rtol=1e-14)
    assert_allclose(y.x2, 2.0 * math.pi * math.sin(0.6 * math.pi), rtol=1e-14)
    graph = Graph()
    x = graph.symbol("x")
    traced = smooth_transition(Jet(x, 1.0, 0.0), 0.0, 1.0)
    for at, slope in ((0.3, y.x1), (2.0, 0.0), (-1.0, 0.0)):
        assert_allclose(evaluate([traced.x1], {"x": at})[0], slope, atol=1e-14)


def test_the_curvature_of_a_parabola():
    path = LateralPath(lambda x: 0.5 * x * x)
    assert_allclose(path.curvature(0.7), (1.0 + 0.49) ** -1.5, rtol=1e-14)
    assert_allclose(path.arc_length_rate(0.7), math.sqrt(1.49), rtol=1e-14)


@pytest.mark.parametrize("k", [0.1, -0.1, 1e-9, 0.0])
def test_places_on_a_circle(k):
    """A place that is built from an arc, an offset and a heading error is located there again."""
    arc = 3.0
    offset = 0.4
    error = -0.2
    x, y, direction = ConstantCurvature(k).place(arc)
    if k:
        assert_allclose(x, math.sin(k * arc) / k, rtol=1e-7)
    x, y = x - offset * math.sin(direction), y + offset * math.cos(direction)
    found = locate(ConstantCurvature(k), x, y, direction + error)
    assert_allclose(found, [arc, offset, error], atol=1e-6 if 0.0 < abs(k) < 1e-6 else 1e-13)


@pytest.mark.parametrize(
    "path",
    [
        LateralPath(lambda x: 2.0 * smooth_transition(x, -2.0, 9.0)),
        CurvedPath(lambda s: 0.04 * smooth_transition(s, 0.0, 5.0)),
    ],
    ids=["lateral", "curved"],
)
def test_places_on_a_path(path):
    s = 1.5
    offset = -0.3
    error = 0.1
    x, y, direction = path.place(s)
    x, y = x - offset * math.sin(direction), y + offset * math.cos(direction)
    assert_allclose(locate(path, x, y, direction + error), [s, offset, error], atol=1e-10)


def test_a_curved_path_ends_where_a_clothoid_does():
    """Fresnel's integrals: curvature pi s gives the point (C(s), S(s))."""
    from scipy.special import fresnel

    S, C = fresnel(1.2)
    found = CurvedPath(lambda s: math.pi * s).place(1.2)
    assert_allclose(found, [C, S, math.pi * 1.2**2 / 2.0], atol=1e-7)


def test_invalid_paths_are_refused():
    with pytest.raises(ParameterError, match="is not a path"):
        as_path("left")
    with pytest.raises(ParameterError, match="not a finite number"):
        as_path(math.nan)
    with pytest.raises(ParameterError, match="no unique nearest point"):
        locate(CurvedPath(lambda s: 1.0 + 0.0 * s), 0.0, 1.0, 0.0)


COAST = PathFollowing((), (), 0.0)
"""A rider who does nothing but know where he is."""


@pytest.mark.parametrize(
    "path",
    [0.0, 0.03, lambda x: 1.0 + 0.1 * x + 0.002 * x * x, CurvedPath(lambda s: 0.01 * s)],
    ids=["line", "circle", "parabola", "clothoid"],
)
def test_path_coordinates_follow_the_machine(path):
    """The integrated path coordinates equal those of the machine's position, for any path."""
    bicycle = draisine.compile("whipple")
    law = COAST.on(path)
    start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.3, y=0.4, yaw=0.1)
    run = draisine.simulate(bicycle, start, 2.0, law=law)
    data = run.to_xarray()
    end = run.final()
    heading = float(data.yaw[-1])
    found = locate(law.path, *map(float, end.p[:2]), heading)
    expected = found[1:] if law.path.uniform else found
    assert_allclose(data.control_state.values[-1], expected, atol=1e-7)
    assert abs(found.offset) > 0.05


def test_combined_laws_start_at_the_position_of_the_machine():
    both = CombinedLaws((COAST, LoopRider(1.0, 0.0, 0.0, 0.0)))
    assert_allclose(both.start_at(1.0, 0.5, 0.2), [0.5, 0.2, 0.5, 0.2, 0.0, 0.0])


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            {"shape": "lane_change", "offset": 1, "start": 10, "end": 10},
            "end = 10 m must be beyond",
        ),
        ({"shape": "slalom", "amplitude": 1, "wavelength": 0}, "wavelength = 0 m must be positive"),
        ({"shape": ["slalom"]}, "Did you mean 'slalom'"),
    ],
)
def test_shapes_that_do_not_exist_are_refused(table, text):
    with pytest.raises(ParameterError, match=text):
        as_path(table)
