"""The rattleback compared with conservation laws, its mirror image, the ball, other formulations
and a terrain.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.mechanics.formulations import absolute
from draisine.model import Body, Ellipsoid, Model, Wheel, inertia
from draisine.terrain import plane
from draisine.vehicles.ball import ball
from draisine.view.scene.shapes import machine_outlines, machine_size, rolling_solids

SPIN = {"pitch": np.radians(0.5), "yaw_rate": -5.0, "lean_rate": 0.0, "pitch_rate": 0.0}


@pytest.fixture(scope="module")
def stone():
    return draisine.compile("rattleback")


def run(system, until=6.0, **start):
    found = draisine.state(system, **(start or SPIN))
    return draisine.simulate(
        system, found, until, numerics=draisine.Numerics(rtol=1e-12, atol=1e-13)
    ).to_xarray()


def test_it_turns_back_and_keeps_its_energy(stone):
    data = run(stone)
    assert data.spin.values[0] == pytest.approx(-5.0)
    assert data.spin.values.max() > 4.0
    energy = data.energy.values
    assert np.abs(energy - energy[0]).max() < 1e-10 * data.kinetic_energy.values[0]
    assert np.abs(data.gap.values).max() < 1e-15


def test_the_mirror_image_does_the_mirrored_motion(stone):
    """Mirrored across the plane of x and z: the skew, the spin and the lean change their signs."""
    left = run(stone, until=3.0)
    right = run(stone.with_parameters(xy=0.2e-4), 3.0, **(SPIN | {"yaw_rate": 5.0}))
    assert_allclose(right.spin.values, -left.spin.values, atol=1e-9)
    assert_allclose(right.lean.values, -left.lean.values, atol=1e-9)
    assert_allclose(right.pitch.values, left.pitch.values, atol=1e-9)


def test_without_skew_it_never_turns_back(stone):
    assert run(stone.with_parameters(xy=0.0)).spin.values.max() < 0.0


def test_other_formulations_agree(stone):
    rng = np.random.default_rng(2)
    for _ in range(3):
        asked = dict(zip(("lean", "pitch"), rng.uniform(-0.4, 0.4, 2), strict=True))
        asked |= dict(zip(("lean_rate", "pitch_rate", "yaw_rate"), rng.normal(size=3), strict=True))
        state = draisine.state(stone, **asked)
        wanted, lam = stone.accelerate(state)
        other, same = stone.accelerate(state, formulation="multiplier")
        assert_allclose(other, wanted, rtol=1e-10, atol=1e-10)
        assert_allclose(same, lam, rtol=1e-10, atol=1e-10)
        for orientation in ("euler", "quaternion"):
            own = absolute.Absolute(stone.model, orientation)
            assert_allclose(own.accelerate(0.0, state)[0], wanted, rtol=1e-10, atol=1e-10)


def test_a_face_is_as_good_as_the_plane(stone):
    start = draisine.state(stone, **SPIN)
    wanted = draisine.simulate(
        stone, start, 0.5, numerics=draisine.Numerics(rtol=1e-12, atol=1e-13)
    ).final()
    found = draisine.simulate(stone, start, 0.5, terrain=plane()).final()
    assert_allclose(found.v, wanted.v, atol=1e-7)
    assert_allclose(found.q, wanted.q, atol=1e-8)


def round_stone(*, radius: float = 0.1, offset: float = 0.02, zz: float = 0.5) -> Model:
    """Return a ball with eccentric mass centre, as an ellipsoid that is rotated in its body."""
    c, s = np.cos(0.4), np.sin(0.4)
    axes = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
    centre = (0.0, 0.0, radius)
    square = radius * radius
    spread = inertia(0.4 * square, 0.3 * square, zz * square)
    return Model(
        [Body("ball", 1.0, (0.0, 0.0, radius - offset), spread)],
        contacts=[
            Wheel("ground", "ball", centre, (0, 1, 0), Ellipsoid((radius, radius, radius), axes))
        ],
    )


def test_an_ellipsoid_of_equal_axes_rolls_like_a_ball():
    one = draisine.compile(round_stone)
    other = draisine.compile(ball, xx=0.4, yy=0.3, zz=0.5, offset=0.02)
    for asked in (
        {"lean": 0.3, "yaw_rate": 2.0, "lean_rate": 0.7, "pitch_rate": 3.0},
        {"lean": -1.0, "pitch": 0.5, "yaw_rate": -1.0, "pitch_rate": -3.0},
    ):
        state = draisine.state(other, **asked)
        (a, f) = one.accelerate(state)
        (b, g) = other.accelerate(state)
        assert_allclose(a, b, atol=1e-12)
        assert_allclose(f, g, atol=1e-12)


def test_it_is_drawn_by_three_ellipses_and_filled(stone):
    around = [part.points for part in machine_outlines(stone.model) if part.kind == "section"]
    assert len(around) == 3
    top = np.max([points.max(axis=0) for points in around], axis=0)
    assert_allclose(top, [0.2, 0.03, 0.04], rtol=2e-3)
    (filled,) = rolling_solids(stone.model)
    assert_allclose(filled.centre + np.abs(filled.semi_axes).sum(axis=1), top, rtol=2e-3)
    assert machine_size(stone.model) > 0.4
