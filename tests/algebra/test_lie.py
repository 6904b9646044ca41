"""The axioms of the groups of rotations and poses, by name, at random elements."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

from draisine.algebra.lie import (
    Ad,
    Pose,
    ad,
    cross,
    hat,
    inverse,
    quaternion,
    quaternion_product,
    quaternion_rate,
    rot_about,
    rot_x,
    rot_y,
    rot_z,
    rotation,
    yaw_lean_pitch,
)

SEEDS = range(8)
CLOSE = {"rtol": 0, "atol": 2e-15}


def random_quaternion(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def random_pose(rng):
    return Pose(rotation(random_quaternion(rng)), rng.normal(size=3))


def matrix(g):
    """Return a pose as the 4 x 4 matrix whose product is the group's."""
    return np.vstack([np.column_stack([g.R, g.p]), [0.0, 0.0, 0.0, 1.0]])


def screw(eta):
    """Return a twist (V, W) as a 4 x 4 matrix of the algebra."""
    return np.vstack([np.column_stack([hat(eta[3:]), eta[:3]]), np.zeros(4)])


@pytest.mark.parametrize("seed", SEEDS)
def test_rotations_are_orthogonal_and_right_handed(seed):
    R = rotation(random_quaternion(np.random.default_rng(seed)))
    assert_allclose(R.T @ R, np.eye(3), **CLOSE)
    assert np.linalg.det(R) == pytest.approx(1.0, abs=2e-15)


@pytest.mark.parametrize("seed", SEEDS)
def test_quaternions_map_to_rotations_as_a_homomorphism(seed):
    rng = np.random.default_rng(seed)
    a = random_quaternion(rng)
    b = random_quaternion(rng)
    assert_allclose(rotation(quaternion_product(a, b)), rotation(a) @ rotation(b), **CLOSE)
    assert_allclose(rotation(-a), rotation(a), **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_quaternion_product_is_associative_with_identity_and_inverse(seed):
    rng = np.random.default_rng(seed)
    a, b, c = (random_quaternion(rng) for _ in range(3))
    left = quaternion_product(quaternion_product(a, b), c)
    assert_allclose(left, quaternion_product(a, quaternion_product(b, c)), **CLOSE)
    one = np.array([1.0, 0.0, 0.0, 0.0])
    assert_allclose(quaternion_product(a, one), a, **CLOSE)
    assert_allclose(quaternion_product(a, a * [1, -1, -1, -1]), one, **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_quaternion_of_a_rotation_is_its_own_up_to_the_sign(seed):
    q = random_quaternion(np.random.default_rng(seed))
    found = quaternion(rotation(q))
    assert_allclose(found * np.sign(found @ q), q, **CLOSE)


@pytest.mark.parametrize("angle", [0.3, np.pi / 2, np.pi - 1e-9, np.pi])
@pytest.mark.parametrize("turn", [rot_x, rot_y, rot_z])
def test_a_quaternion_is_found_for_half_turns_too(turn, angle):
    assert_allclose(rotation(quaternion(turn(angle))), turn(angle), rtol=0, atol=1e-15)


@pytest.mark.parametrize("axis", range(3))
def test_turns_about_an_axis_are_exponentials(axis):
    turn = (rot_x, rot_y, rot_z)[axis]
    W = np.eye(3)[axis]
    assert_allclose(turn(0.7), expm(0.7 * hat(W)), **CLOSE)


@pytest.mark.parametrize("seed", range(3))
def test_a_turn_about_any_axis_is_the_exponential_of_its_hat(seed):
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    angle = rng.uniform(-4.0, 4.0)
    assert_allclose(rot_about(axis, angle), expm(angle * hat(axis)), atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_hat_is_the_cross_product_and_obeys_jacobi(seed):
    a, b, c = np.random.default_rng(seed).normal(size=(3, 3))
    assert_allclose(hat(a) @ b, np.cross(a, b), **CLOSE)
    assert_allclose(cross(a, b), np.cross(a, b), **CLOSE)
    jacobi = cross(a, cross(b, c)) + cross(b, cross(c, a)) + cross(c, cross(a, b))
    assert_allclose(jacobi, 0.0, atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_of_a_pose(seed):
    g = random_pose(np.random.default_rng(seed))
    assert_allclose(matrix(g) @ matrix(inverse(g)), np.eye(4), **CLOSE)
    assert_allclose(matrix(inverse(inverse(g))), matrix(g), **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_adjoint_conjugates_twists(seed):
    """Ad(g) eta is the twist g eta g^-1."""
    rng = np.random.default_rng(seed)
    g = random_pose(rng)
    eta = rng.normal(size=6)
    turned = matrix(g) @ screw(eta) @ matrix(inverse(g))
    assert_allclose(screw(Ad(g) @ eta), turned, rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_adjoint_is_a_homomorphism(seed):
    rng = np.random.default_rng(seed)
    g = random_pose(rng)
    h = random_pose(rng)
    both = Pose(g.R @ h.R, g.R @ h.p + g.p)
    assert_allclose(Ad(both), Ad(g) @ Ad(h), rtol=0, atol=1e-14)
    assert_allclose(Ad(inverse(g)) @ Ad(g), np.eye(6), rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_small_adjoint_is_the_commutator(seed):
    a, b = np.random.default_rng(seed).normal(size=(2, 6))
    commutator = screw(a) @ screw(b) - screw(b) @ screw(a)
    assert_allclose(screw(ad(a) @ b), commutator, rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_quaternion_rate_turns_the_rotation_by_the_body_rate(seed):
    """Rdot = R hat(W), by a central difference along qdot, and qdot keeps the length."""
    rng = np.random.default_rng(seed)
    q = random_quaternion(rng)
    W = rng.normal(size=3)
    h = 1e-5
    qdot = quaternion_rate(q, W)
    assert q @ qdot == pytest.approx(0.0, abs=1e-15)
    change = (rotation(q + h * qdot) - rotation(q - h * qdot)) / (2 * h)
    assert_allclose(change, rotation(q) @ hat(W), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_yaw_lean_pitch_are_the_angles_of_the_three_turns(seed):
    yaw, lean, pitch = np.random.default_rng(seed).uniform(-1.4, 1.4, size=3)
    R = rot_z(yaw) @ rot_x(lean) @ rot_y(pitch)
    assert_allclose([float(x) for x in yaw_lean_pitch(R)], [yaw, lean, pitch], rtol=0, atol=4e-15)
