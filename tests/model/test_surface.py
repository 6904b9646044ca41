"""Where surfaces touch: laws of support points, and meetings with faces, edges and vertices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.algebra.scalar import array
from draisine.algebra.trace import Graph, evaluate, tangent
from draisine.errors import ModelError
from draisine.model import Ball, Disc, Ellipsoid, Torus, Wheel
from draisine.model.surface import Tip

RNG = np.random.default_rng(4)


def unit(x):
    return x / np.linalg.norm(x)


def turn(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


EGG = Ellipsoid((0.5, 0.3, 0.2), turn(RNG))
SURFACES = {
    "disc": Disc(0.4),
    "torus": Torus(0.4, 0.1),
    "ball": Ball(0.4),
    "ellipsoid": EGG,
    "tip": Tip(),
}


@pytest.mark.parametrize("name", SURFACES)
def test_the_lowest_point_moves_horizontally_at_its_computed_rate(name):
    """rho(up) is differentiated by the traced scalars; it never sinks: up . rate = 0."""
    rng = np.random.default_rng(1)
    surface = SURFACES[name].about(unit(RNG.normal(size=3)))
    for _ in range(5):
        N = unit(rng.normal(size=3))
        Ndot = np.cross(rng.normal(size=3), N)
        graph = Graph()
        up = array([graph.symbol(f"n[{k}]") for k in range(3)])
        rate = tangent(list(surface.support(up)), {f"n[{k}]": x for k, x in enumerate(Ndot)})
        found = surface.support_rate(N, Ndot)
        assert_allclose(found, evaluate(rate, {f"n[{k}]": x for k, x in enumerate(N)}), atol=1e-14)
        assert abs(N @ found) < 1e-15


@pytest.mark.parametrize("name", SURFACES)
def test_a_surface_turns_with_its_axes(name):
    rng = np.random.default_rng(2)
    surface = SURFACES[name].about(unit(RNG.normal(size=3)))
    R = turn(rng)
    N = unit(rng.normal(size=3))
    assert_allclose(surface.turned(R).support(R @ N), R @ surface.support(N), atol=1e-15)


def test_no_point_of_an_ellipsoid_is_lower_than_its_lowest():
    rng = np.random.default_rng(3)
    y = rng.normal(size=(2000, 3))
    skin = y / np.linalg.norm(y, axis=1)[:, None] * EGG.semi_axes @ EGG.axes.T
    for N in rng.normal(size=(5, 3)):
        lowest = EGG.support(unit(N))
        assert np.min(skin @ unit(N)) >= lowest @ unit(N)
        assert_allclose(lowest @ np.linalg.solve(EGG.squares, lowest), 1.0, rtol=1e-14)


@pytest.mark.parametrize("kind", ["face", "edge", "vertex"])
def test_an_ellipsoid_of_equal_axes_is_a_ball(kind):
    rng = np.random.default_rng(5)
    axle = unit(rng.normal(size=3))
    ball = Ball(0.3).about(axle)
    round_one = Ellipsoid((0.3, 0.3, 0.3), turn(rng)).about(axle)
    for _ in range(5):
        f = np.concatenate([unit(rng.normal(size=3)), unit(rng.normal(size=3)), [0.0]])
        if kind == "face":
            f[3:] = [0.2, 0.0, 0.0, 0.0]
        centre = rng.normal(size=3)
        a = ball.contact_with(kind, centre, f)
        b = round_one.contact_with(kind, centre, f)
        assert_allclose(a.normal, b.normal, atol=1e-14)
        assert_allclose(a.along, b.along, atol=1e-13)
        assert_allclose([a.gap, a.stretch], [b.gap, b.stretch], atol=1e-14)


def moved(surface, centre, kind, f, twist):
    """Return the gap's rate by differences, and by the meeting, when the surface moves."""
    V = twist[:3]
    W = twist[3:]
    h = 1e-6

    def gap(s):
        K = np.array([[0, -W[2], W[1]], [W[2], 0, -W[0]], [-W[1], W[0], 0]]) * s
        R = np.eye(3) + K + K @ K / 2 + K @ K @ K / 6
        return surface.turned(R).contact_with(kind, centre + V * s, f).gap

    met = surface.contact_with(kind, centre, f)
    velocity = V + np.cross(W, met.point - centre)
    return (gap(h) - gap(-h)) / (2 * h), met.stretch * met.normal @ velocity


@pytest.mark.parametrize("kind", ["face", "edge", "vertex"])
def test_an_ellipsoids_gap_grows_with_the_normal_velocity_of_its_material(kind):
    rng = np.random.default_rng(6)
    egg = EGG.about(unit(rng.normal(size=3)))
    for _ in range(5):
        f = np.concatenate([rng.normal(size=3), unit(rng.normal(size=3)), [0.0]])
        if kind == "face":
            f = np.array([*unit(rng.normal(size=3)), -0.3, 0.0, 0.0, 0.0])
        found, wanted = moved(egg, rng.normal(size=3), kind, f, rng.normal(size=6))
        assert found == pytest.approx(wanted, rel=1e-8, abs=1e-8)


def test_an_ellipsoids_gap_is_zero_on_its_skin_and_bounds_the_distance():
    rng = np.random.default_rng(7)
    y = unit(rng.normal(size=3))
    on = EGG.axes @ (EGG.semi_axes * y)
    assert abs(EGG.contact_with_vertex(np.zeros(3), on).gap) < 1e-15
    met = EGG.contact_with_vertex(np.zeros(3), on)
    assert_allclose(EGG.support(met.normal), on, atol=1e-14)  # Q is where that normal is lowest
    far = rng.normal(size=3) * 2.0
    skin = rng.normal(size=(4000, 3))
    skin = skin / np.linalg.norm(skin, axis=1)[:, None] * EGG.semi_axes @ EGG.axes.T
    assert EGG.contact_with_vertex(np.zeros(3), far).gap <= np.linalg.norm(skin - far, axis=1).min()


def test_at_the_nearest_point_of_a_line_the_normal_is_across_it():
    rng = np.random.default_rng(8)
    e = unit(rng.normal(size=3))
    met = EGG.contact_with_edge(np.zeros(3), np.array([*rng.normal(size=3), *e, 0.0]))
    assert abs(met.normal @ e) < 1e-15


def test_an_ellipsoid_of_revolution_is_the_same_however_far_it_has_turned():
    assert_allclose(Ellipsoid((0.3, 0.1, 0.3)).asymmetry(np.array([0.0, 1.0, 0.0])), 0.0)
    assert np.any(Ellipsoid((0.3, 0.1, 0.2)).asymmetry(np.array([0.0, 1.0, 0.0])))
    assert np.any(Disc(0.3).asymmetry(np.array([1.0, 0.0, 0.0])))


@pytest.mark.parametrize(
    ("surface", "words"),
    [
        (lambda: 0.0, "the radius must not be zero"),
        (lambda: Ball(float("nan")), "radius nan m is not a length"),
        (lambda: Torus(0.3, -0.1), "crown -0.1 m is not a length"),
        (lambda: Torus(0.3, 0.4), "crown 0.4 m exceeds radius 0.3 m"),
        (lambda: Ellipsoid((0.1, 0.0, 0.2)), "the semi-axis must not be zero"),
        (lambda: Ellipsoid((0.1, 0.1)), "expected three components"),
        (lambda: Ellipsoid((0.1, 0.1, 0.2), np.ones((3, 3))), "must be orthogonal unit vectors"),
        (lambda: Ellipsoid((0.1, 0.1, 0.2), np.eye(2)), r"not \(2, 2\)"),
    ],
)
def test_invalid_surfaces_are_refused(surface, words):
    with pytest.raises(ModelError, match=words):
        Wheel("rear", "frame", (0, 0, 0), (0, 1, 0), surface())
