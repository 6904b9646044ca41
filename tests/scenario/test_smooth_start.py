"""Vehicles placed on smooth ground: their wheels touch it, runs start there, mistakes are named."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import draisine
from draisine.algebra.lie import rotation
from draisine.errors import ConfigurationError, DataError, ParameterError
from draisine.terrain import SmoothGround, Terrain, face, height_field, move_ground, plane, road
from draisine.terrain.motions import Slide


def hills():
    x = np.linspace(-4.0, 6.0, 41)
    y = np.linspace(-3.0, 3.0, 25)
    return height_field(x, y, 0.1 * np.outer(np.sin(x), np.cos(y)), smooth=True)


def friction(system):
    """Return finite friction of wheels without tyres."""
    is_tyred = any(wheel.tyre is not None for wheel in system.model.wheels)
    return draisine.ContactOptions() if is_tyred else draisine.ContactOptions(mu=0.8)


def gaps(system, state, ground):
    """Return the gaps (m) of all wheels at the start of a run."""
    run = draisine.simulate(system, state, 1e-6, terrain=ground, contact=friction(system))
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


def waves():
    """Return a road of waves of 3 m length and 3 cm amplitude."""
    return road(lambda x: 0.03 * np.sin(2.0 * np.pi * x / 3.0), [-10.0, 40.0])


def advance(state, h):
    """Return a state after a time h (s) at constant speeds."""
    turn = Rotation.from_quat(state.q, scalar_first=True)
    velocity = turn.apply(state.v[:3])
    turned = turn * Rotation.from_rotvec(h * state.v[3:6])
    q = turned.as_quat(scalar_first=True)
    return replace(state, q=q, p=state.p + h * velocity, r=state.r + h * state.v[6:])


@pytest.mark.parametrize("ground", [waves, hills], ids=["waves", "hills"])
@pytest.mark.parametrize("vehicle", ["whipple", "motorcycle", "segway", "rolling_disc"])
@pytest.mark.parametrize("x", [0.0, 0.4, 1.3])
def test_a_vehicle_with_speed_begins_in_contact(vehicle, x, ground):
    """The gaps stay zero to first order in time, and no wheel collides at the start."""
    system = draisine.compile(vehicle)
    speed = 3.0
    level = draisine.state(system, forward_speed=speed, lean=0.02 if vehicle == "whipple" else 0.0)
    start = draisine.place(system, level, ground(), centre=(x, 0.1), on="ground")
    h = 1e-4
    # A wheel with a normal speed of 0.1 m/s would be 1e-5 m above or below the ground.
    assert_allclose(gaps(system, start, ground()), 0.0, atol=1e-9)
    raised = replace(start, p=start.p + [0.0, 0.0, 1e-3])
    change = gaps(system, advance(raised, h), ground()) - gaps(system, raised, ground())
    assert_allclose(change, 0.0, atol=2.0 * (speed * h) ** 2)
    run = draisine.simulate(system, start, 0.02, terrain=ground(), contact=friction(system))
    assert not [event for event in run.events if event.kind == "collision"]
    slope = 0.12
    assert run.to_xarray().forward_speed[0] == pytest.approx(speed, rel=slope**2)


def test_the_slip_of_a_skidding_wheel_is_kept_on_a_wavy_road(bicycle):
    """A rear wheel that spins too fast on level ground spins as much too fast on the waves."""
    level = draisine.state(bicycle, forward_speed=3.0)
    excess = 5.0
    wheel = level.speeds.index("rear_wheel_rate")
    spinning = replace(level, v=level.v + excess * np.eye(len(level.v))[wheel])
    place = {"terrain": waves(), "centre": (0.4, 0.0), "on": "ground"}
    rolls = draisine.place(bicycle, level, **place)
    spins = draisine.place(bicycle, spinning, **place)
    assert_allclose(spins.v - rolls.v, spinning.v - level.v, atol=1e-3 * excess)


def test_prescribed_joints_and_couplings_keep_their_rates():
    """The prescribed steering and the Ackermann linkage determine the rates of three joints."""
    car = draisine.compile("car", steering=lambda t: (0.1 + 0.2 * t, 0.2, 0.0 * t))
    level = draisine.state(car, forward_speed=2.0)
    start = draisine.place(car, level, hills(), centre=(0.7, 0.3), on="ground")
    kept = [level.speeds.index(f"{name}_rate") for name in ("steer", "left_steer", "right_steer")]
    assert level.v[kept[0]] == pytest.approx(0.2)
    assert_allclose(start.v[kept], level.v[kept], atol=1e-9)
    assert np.abs(start.v - level.v).max() > 1e-3


def test_the_speeds_on_a_plane_do_not_change(bicycle):
    level = draisine.state(bicycle, forward_speed=3.0, steer_rate=0.3)
    slope = road([0.0] * 4, [-2.0, 0.0, 2.0, 4.0], slope=0.12, camber=0.07)
    start = draisine.place(bicycle, level, slope, centre=(1.0, 0.5), on="ground")
    assert_allclose(start.v, level.v, atol=1e-9)


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
