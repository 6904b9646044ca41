"""Vehicles placed on smooth ground: their wheels touch it, runs start there, mistakes are named."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.algebra.lie import rotation
from draisine.errors import ConfigurationError, DataError, ParameterError
from draisine.terrain import SmoothGround, Terrain, face, height_field, move_ground, plane, road
from draisine.terrain.motions import Slide


def hills():
    x = np.linspace(-4.0, 6.0, 41)
    y = np.linspace(-3.0, 3.0, 25)
    return height_field(x, y, 0.1 * np.outer(np.sin(x), np.cos(y)), smooth=True)


def gaps(system, state, ground):
    """Return the gaps (m) of all wheels at the start of a run."""
    run = draisine.simulate(
        system, state, 1e-6, terrain=ground, contact=draisine.ContactOptions(mu=0.8)
    )
    return run.to_xarray().gap.values[0]


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def test_on_an_inclined_plane_a_smooth_road_places_as_a_face(bicycle):
    """On a smooth road that is a plane, the place is that on the face of the same plane."""
    slope, camber = 0.12, 0.07
    level = draisine.state(bicycle, forward_speed=3.0)
    smooth = road([0.0] * 4, [-2.0, 0.0, 2.0, 4.0], slope=slope, camber=camber)
    N = smooth.normal(1.0, 0.5)
    flat = Terrain([face("ground", N, float(smooth.height(0.0, 0.0)) * N[2])])
    target = {"wheel": "rear", "centre": (1.0, 0.5)}
    placed = draisine.place(bicycle, level, smooth, on="ground", **target)
    reference = draisine.place(bicycle, level, flat, on="ground", **target)
    assert_allclose(placed.p, reference.p, atol=1e-10)
    assert_allclose(placed.q, reference.q, atol=1e-10)
    assert_allclose(rotation(placed.q) @ [0.0, 0.0, 1.0], N, atol=1e-10)


@pytest.mark.parametrize("centre", [(0.0, 0.0), (1.3, 0.4), (4.7, -1.1)])
def test_both_wheels_of_a_bicycle_touch_the_hills(bicycle, centre):
    level = draisine.state(bicycle, forward_speed=2.0, lean=0.1)
    ground = hills()
    start = draisine.place(bicycle, level, ground, wheel="rear", centre=centre, on="ground")
    assert_allclose(gaps(bicycle, start, ground), 0.0, atol=1e-9)
    assert_allclose(start.v, level.v)


def test_a_wheel_that_is_open_keeps_its_clearance(bicycle):
    level = draisine.state(bicycle, mode={"front": "open"}, pitch=-0.2)
    ground = hills()
    start = draisine.place(bicycle, level, ground, centre=(1.0, 0.2), on="ground")
    flat = gaps(bicycle, level, plane())
    assert flat[1] > 0.1
    assert_allclose(gaps(bicycle, start, ground), flat, atol=1e-9)


def test_no_wheel_of_a_car_is_below_the_hills():
    car = draisine.compile("car")
    start = draisine.place(car, draisine.state(car), hills(), centre=(0.7, 0.3), on="ground")
    above = gaps(car, start, hills())
    assert above.min() > -1e-9
    assert_allclose(np.sort(above)[0], 0.0, atol=1e-9)
    assert above.max() < 0.05


def test_the_middle_of_a_patch_is_the_default_place(bicycle):
    level = draisine.state(bicycle)
    ground = hills()
    k = 20 * ground.shape[1] + 12
    low, high = ground[k].low, ground[k].high
    middle = 0.5 * (low + high)[:2]
    by_name = draisine.place(bicycle, level, ground, on=ground.name(k))
    by_place = draisine.place(bicycle, level, ground, centre=tuple(middle), on="ground")
    assert_allclose(by_name.p, by_place.p, atol=1e-12)
    moving = move_ground(ground, Slide((1.0, 0.0, 0.0)))
    assert_allclose(
        draisine.place(bicycle, level, moving, on=ground.name(k)).p, by_name.p, atol=1e-12
    )


def test_mistakes_are_named(bicycle):
    level = draisine.state(bicycle)
    with pytest.raises(ParameterError, match="is unlimited, so it has no centre"):
        draisine.place(bicycle, level, hills(), on="ground")
    with pytest.raises(ParameterError, match="smooth ground has no 'ramp'"):
        draisine.place(bicycle, level, hills(), on="ramp")


def test_a_start_below_smooth_ground_is_placed_as_its_message_says(bicycle):
    ground = SmoothGround(np.linspace(-5.0, 5.0, 21), None, np.full(21, 0.02))
    with pytest.raises(
        ConfigurationError, match=r'draisine\.place\(\.\.\., centre=\(x, y\), on="ground"\)'
    ):
        draisine.simulate(bicycle, draisine.state(bicycle), 0.1, terrain=ground)
    start = draisine.place(bicycle, draisine.state(bicycle), ground, centre=(0.0, 0.0), on="ground")
    assert draisine.simulate(bicycle, start, 0.01, terrain=ground).outcome == "completed"


def test_scenarios_start_on_smooth_ground():
    changes = {
        "terrain": {"shape": "road", "x": [-2, 0, 2, 4, 6], "z": [0.0, 0.05, 0.1, 0.05, 0.0]},
        "initial.place": {"centre": [1.0, 0.0], "on": "ground"},
        "run.until": 0.1,
    }
    found = draisine.run("mauny2018/passive-stabilisation", changes=changes)
    assert found.outcome == "completed"
    assert_allclose(found.data.gap.values[0], 0.0, atol=1e-9)
    changes["initial.place"] = {"centre": [1.0, 0.0], "on": "bridge"}
    with pytest.raises(DataError, match=r"initial\.place\.on"):
        draisine.run("mauny2018/passive-stabilisation", changes=changes)
