"""Groups of the base: free twist components, and time derivatives of the pose."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import array
from draisine.mechanics.base import (
    base_angles,
    base_rates,
    base_rotation,
    expand_speeds,
    free_columns,
    is_free,
    is_planar,
    normalise_quaternion,
    squared_quaternion_norm,
    turns_freely,
)
from draisine.model import Body, Model, Revolute, inertia

TURNS = {
    "SE(3)": (0, 1, 2),
    "SO(3)": (0, 1, 2),
    "SE(2)": (2,),
    "translations": (),
    "fixed": (),
}


def model(base):
    bodies = [Body(name, 1.0, (0, 0, 0), inertia(1.0, 1.0, 1.0)) for name in "ab"]
    joint = Revolute("hinge", "a", "b", (0, 1, 0), (0, 0, 0))
    return Model(bodies=bodies, joints=[joint], base=base)


def pose(base, rng):
    """Return a unit quaternion that the group can reach, and all speeds that it leaves free."""
    turn = np.zeros(3)
    turn[list(TURNS[base])] = rng.normal(size=len(TURNS[base]))
    q = np.array([1.0, *turn])
    free = rng.normal(size=len(free_columns(model(base))))
    return q / np.linalg.norm(q), np.asarray(expand_speeds(model(base), free), float)


@pytest.mark.parametrize("base", TURNS)
def test_rotations_and_norms_equal_those_of_the_quaternion(base):
    q, _ = pose(base, np.random.default_rng(1))
    assert_allclose(np.asarray(base_rotation(model(base), q), float), rotation(q), atol=1e-15)
    assert_allclose(squared_quaternion_norm(model(base), q), 1.0, atol=1e-15)
    stretched = q * (1.0 + 1e-4 * bool(TURNS[base]))
    assert_allclose(np.linalg.norm(normalise_quaternion(model(base), stretched)), 1.0, atol=2e-8)


@pytest.mark.parametrize("base", TURNS)
def test_pose_rates_are_derivatives_of_the_pose(base):
    """Rdot = R hat(W), and a point ref of the base moves with V in its own axes."""
    q, speeds = pose(base, np.random.default_rng(2))
    at, ref, h = model(base), np.array([0.3, -0.2, 0.5]), 1e-6
    R = np.asarray(base_rotation(at, q), float)
    qdot, pdot, rdot = (np.asarray(x, float) for x in base_rates(at, R, q, speeds, ref))
    V, W = speeds[:3], speeds[3:6]
    ahead, behind = (np.asarray(base_rotation(at, q + s * h * qdot), float) for s in (1, -1))
    Rdot = (ahead - behind) / (2 * h)
    assert_allclose(Rdot, R @ np.cross(np.eye(3), -W).T, atol=1e-8)
    assert_allclose(pdot + Rdot @ ref, R @ V, atol=1e-8)
    assert_allclose(rdot, speeds[6:])
    assert_allclose(q @ qdot, 0.0, atol=1e-15)


def test_group_predicates():
    assert [g for g in TURNS if is_free(model(g))] == ["SE(3)"]
    assert [g for g in TURNS if turns_freely(model(g))] == ["SE(3)", "SO(3)"]
    assert [g for g in TURNS if is_planar(model(g))] == ["SE(2)"]
    assert base_angles(model("SO(3)")) == ("lean", "yaw", "pitch")
    assert base_angles(model("SE(2)")) == ("yaw",)
    assert base_angles(model("fixed")) == ()


def test_expanded_speeds_are_zero_except_in_free_columns():
    assert list(expand_speeds(model("SE(2)"), array([1.0, 2.0, 3.0, 4.0]))) == [1, 2, 0, 0, 0, 3, 4]
