"""Curvature, gaits and their displacements compared with independent computations.

The references s08a, s08b and s13 (two formulations each, agreement 1e-8 or better) are typed in
here.
"""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.connection import (
    area_displacement,
    displacement,
    ellipse,
    farthest,
    local_connection,
    path_to,
    polygon,
    quiet_frame,
    reversal,
)
from draisine.errors import ConfigurationError, ModelError, ParameterError
from draisine.model import Body, Model, Revolute, inertia

CURVATURE = {
    "purcell_swimmer": {
        (0.0, 0.0): (0.06172839506172839, 0.0, 0.0),
        (0.5, -0.3): (0.06900328033932965, 0.0074025989083540186, -0.034393955002074574),
        (1.0, 1.0): (-0.03957573442438235, 0.0006979911172029368, 0.0),
    },
    "fish": {
        (0.0, 0.0): (0.05091261195836359, 0.0, 0.0),
        (0.5, -0.3): (0.0539404997632556, 0.005145699682087842, -0.09661292770277438),
        (1.0, 1.0): (-0.025570858692820275, -0.006694334514794384, 0.0),
    },
}
"""Displacement per area of a small counter-clockwise loop in the plane (rear, front); 5/81 at the
straight shape.
"""

A_OF_FISH = [
    [0.015592734370562484, -0.0025026400078306216],
    [-0.03637063725487581, 0.03614682980032097],
    [0.2406124224855597, 0.2626988885944118],
]
"""Local connection of the fish at the joint angles (0.5, -0.3) rad."""

SQUARES = {
    0.5: (0.055392601340888865, 0.0150353106751289, 0.05739687143397528),
    1.0: (0.15222217948789793, 0.09711460932808579, 0.1805625633208405),
    1.5: (0.1317048482166343, 0.18704820143550444, 0.22876450053280498),
}
"""Net x, y and distance of Purcell's square gait by its amplitude (rad), from the corner (A, A)."""

SQUARE = polygon([(1, 1), (-1, 1), (-1, -1), (1, -1)])
FROM_STRAIGHT = polygon([(0, 0), (1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)])


@cache
def swimmer(name):
    """Return the connection of the reference's machine."""
    if name == "purcell_swimmer":
        return local_connection(draisine.compile(name), "drag")
    return local_connection(draisine.compile(name))


@pytest.mark.parametrize("name", CURVATURE)
def test_curvature_is_exact(name):
    shapes = np.array(list(CURVATURE[name]))
    found = swimmer(name).curvature(shapes, "rear", "front")
    assert_allclose(found, list(CURVATURE[name].values()), rtol=0, atol=1e-13)


def test_connection_of_the_fish():
    assert_allclose(swimmer("fish")([0.5, -0.3]), A_OF_FISH, rtol=0, atol=1e-14)


@pytest.mark.parametrize("size", SQUARES)
def test_square_gaits(size):
    found = displacement(swimmer("purcell_swimmer"), SQUARE, [size])
    x, y, distance = SQUARES[size]
    assert_allclose([*found.p[:2], found.distance], [x, y, distance], rtol=0, atol=1e-11)
    assert found.yaw == pytest.approx(0.0, abs=1e-11)


def test_the_displacement_of_a_circular_gait_of_the_fish_agrees_with_its_dynamics():
    """Joint angles rear 0.8 cos, front 0.8 sin: pose after one cycle, also by Lagrange's equations
    (s08b).
    """
    theta = [0.0, 0.8, 0.0, 0.0, 0.0, 0.8]
    found = displacement(swimmer("fish"), ellipse(), theta)
    expected = [0.07565070959115767, 0.016331888587025507]
    assert_allclose(found.p[:2], expected, rtol=0, atol=1e-11)


def test_a_reciprocal_path_has_no_displacement():
    """The scallop theorem: a reciprocal path has no displacement, for drag and for momentum."""
    line = polygon([(0.4, -0.7), (0.9, 0.3)])
    for name in CURVATURE:
        found = displacement(swimmer(name), line, [1.0])
        assert_allclose([*found.p, found.yaw], 0.0, atol=1e-11)


@pytest.mark.parametrize("name", CURVATURE)
def test_derivatives_by_the_parameters_are_exact(name):
    """Compared with central differences; derivatives of the pose are twists in the final frame."""
    path = ellipse()
    theta = np.array([0.1, 0.7, 0.2, -0.2, 0.1, 0.6])
    h = 1e-5
    found = displacement(swimmer(name), path, theta)
    for k in range(len(theta)):
        step = h * np.eye(len(theta))[k]
        ahead, behind = (displacement(swimmer(name), path, theta + x) for x in (step, -step))
        assert_allclose(found.place_change[:, k], (ahead.p - behind.p) / (2 * h), rtol=0, atol=1e-9)
        assert found.change[5, k] == pytest.approx((ahead.yaw - behind.yaw) / (2 * h), abs=1e-9)


def test_the_search_finds_purcells_best_and_reversing_strokes():
    """The longest stroke has the amplitude 1.3906 rad, the stroke without displacement 2.0158 rad
    (s08a).
    """
    connection = swimmer("purcell_swimmer")
    best, found = farthest(connection, SQUARE, [1.2])
    assert best[0] == pytest.approx(1.3906076736569002, abs=1e-6)
    assert found.distance == pytest.approx(0.23478247929088086, abs=1e-11)
    size, back = reversal(connection, FROM_STRAIGHT, 1.5, 2.2)
    assert size == pytest.approx(2.0158024717223317, abs=1e-9)
    assert back.distance == pytest.approx(0.0, abs=1e-9)


def test_a_gait_for_a_wanted_motion():
    connection = swimmer("purcell_swimmer")
    theta, found = path_to(connection, ellipse(), [0.1, 0.8, 0, 0, 0, 0.9], (0.05, 0.02), 0.03)
    assert_allclose([*found.p[:2], found.yaw], [0.05, 0.02, 0.03], rtol=0, atol=1e-9)
    assert theta.shape == (6,)
    with pytest.raises(ConfigurationError, match="No gait with the displacement"):
        path_to(connection, SQUARE, [0.5], (5.0, 0.0))


@pytest.mark.parametrize("name", CURVATURE)
def test_the_area_rule_is_right_to_third_order(name):
    connection = swimmer(name)
    misses = []
    for size in (0.2, 0.1):
        whole = displacement(connection, SQUARE, [size])
        area = area_displacement(connection, SQUARE, [size])
        misses.append(np.abs(whole.p[:2] - area[:2]).max())
    assert np.log2(misses[0] / misses[1]) > 2.8


def test_a_quiet_frame_makes_the_area_rule_hold_for_large_strokes():
    """In the minimum-perturbation frame the distance is correct to a few percent at the amplitude 1
    rad.
    """
    connection = swimmer("purcell_swimmer")
    frame = quiet_frame(connection, (-1.2, -1.2), (1.2, 1.2))
    assert frame.after < 0.4 * frame.before
    exact = 0.1805625633208405
    plain = np.linalg.norm(area_displacement(connection, SQUARE, [1.0])[:2])
    quiet = np.linalg.norm(area_displacement(connection, SQUARE, [1.0], frame)[:2])
    assert abs(quiet / exact - 1) < 0.03
    assert abs(quiet / exact - 1) < abs(plain / exact - 1)


def test_curvature_does_not_depend_on_the_frame_but_for_its_axes():
    """F' = Ad(h^-1) F, computed from the connection in the moved frame by differences."""
    connection = swimmer("purcell_swimmer")
    frame = quiet_frame(connection, (-1.0, -1.0), (1.0, 1.0), degree=3, points=9)
    r = np.array([0.4, -0.3])
    e = 1e-5

    def moved(q):
        h = frame(q)
        slopes = frame.derivatives(q)
        turn = np.array(
            [[np.cos(h[2]), np.sin(h[2]), 0], [-np.sin(h[2]), np.cos(h[2]), 0], [0, 0, 1]]
        )
        return frame.twist(h, connection(q)) - turn @ slopes.T

    d = [(moved(r + e * k) - moved(r - e * k)) / (2 * e) for k in np.eye(2)]
    A = moved(r)
    F = d[1][:, 0] - d[0][:, 1] + connection.bracket(A[:, 0], A[:, 1])
    expected = frame.twist(frame(r), connection.curvature(r, "rear", "front")[:, None])[:, 0]
    assert_allclose(F, expected, rtol=0, atol=1e-8)


def four_rods(*, across: float = 2.0) -> Model:
    """Return four rods with three joints in a fluid without inertia."""
    up = (0.0, 0.0, 1.0)
    bodies = []
    for x, name in enumerate("abcd"):
        drag = np.zeros((6, 6), dtype=object)
        drag[0, 0] = 1.0
        drag[1, 1] = across
        drag[1, 5] = x * across
        drag[5, 1] = x * across
        drag[5, 5] = (x * x + 1 / 12) * across
        bodies.append(Body(name, 1.0, (x, 0.0, 0.0), inertia(0.0, 0.1, 0.1), drag=drag))
    hinges = [
        Revolute(f"hinge_{k}", "abcd"[k - 1], "abcd"[k], up, (k - 0.5, 0.0, 0.0)) for k in (1, 2, 3)
    ]
    return Model(bodies=bodies, joints=hinges, base="SE(2)")


@cache
def chain():
    return local_connection(draisine.compile(four_rods), "drag")


def test_curvature_on_a_slice_is_that_of_its_two_ways():
    """The curvature is a two-form: F(a, b) is the sum of a_i b_j F_ij."""
    connection = chain()
    at = np.array([0.3, -0.5, 0.8])
    a = np.array([1.0, -0.4, 0.2])
    b = np.array([0.3, 0.9, -1.0])
    plane = connection.slice(at, one=a, other=b)
    F = {
        (i, j): connection.curvature(at, first, second)
        for i, first in enumerate(connection.joints)
        for j, second in enumerate(connection.joints)
    }
    expected = sum(a[i] * b[j] * F[i, j] for i, j in F)
    assert_allclose(plane.curvature([0.0, 0.0], "one", "other"), expected, rtol=0, atol=1e-14)
    assert_allclose(
        plane([0.2, 0.1]) @ [1.0, 2.0], connection(at + 0.2 * a + 0.1 * b) @ (a + 2 * b)
    )


def test_gaits_search_and_area_rule_on_a_slice_of_three_joints():
    """A bending wave through the chain: displacements of small loops follow the area rule, and the
    best gait is a maximum.
    """
    wave = chain().slice([0, 0, 0], cosine=[1.0, 0.0, -1.0], sine=[0.0, 1.0, 0.0])
    misses = []
    for size in (0.2, 0.1):
        whole = displacement(wave, SQUARE, [size])
        area = area_displacement(wave, SQUARE, [size])
        misses.append(np.abs([*(whole.p[:2] - area[:2]), whole.yaw - area[2]]).max())
    assert np.log2(misses[0] / misses[1]) > 2.8
    corners = polygon([(1, 1, -1), (-1, 1, 1), (-1, -1, 1), (1, -1, -1)])
    same = displacement(chain(), corners, [0.7])
    assert_allclose(displacement(wave, SQUARE, [0.7]).p, same.p, rtol=0, atol=1e-13)
    _, found = path_to(wave, ellipse(), [0.2, 0.8, 0, 0.1, 0, 0.9], (0.0, 0.0), 0.3)
    assert_allclose([*found.p[:2], found.yaw], [0.0, 0.0, 0.3], rtol=0, atol=1e-9)
    best, turned = farthest(wave, SQUARE, [1.0])
    for other in (0.99, 1.01):
        assert displacement(wave, SQUARE, other * best).distance < turned.distance


def test_a_slice_needs_a_number_for_every_joint():
    with pytest.raises(ModelError, match="must have one number for each"):
        chain().slice([0.0, 0.0, 0.0], way=[1.0, 0.0])


def test_invalid_arguments_are_refused():
    connection = swimmer("purcell_swimmer")
    with pytest.raises(ModelError, match="Unknown joint 'tail'"):
        connection.curvature([0.0, 0.0], "tail", "front")
    with pytest.raises(ParameterError, match="size"):
        displacement(connection, SQUARE, [1.0, 2.0])
    with pytest.raises(ConfigurationError, match="leave the degrees of freedom"):
        local_connection(draisine.compile("snakeboard"))
    with pytest.raises(ConfigurationError, match="does not reverse"):
        reversal(connection, SQUARE, 0.5, 0.7)
