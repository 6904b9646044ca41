"""Discs that bounce, hit corners and steps, and roll round edges: closed forms."""

import math
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ConfigurationError, TerrainError, ZenoError
from draisine.terrain import Terrain, corner, edge, face, kerb, plane

H, G = 0.5, 9.81


@cache
def disc():
    return draisine.compile("rolling_disc")


def rolling(speed, x=0.0, z=0.0):
    """Return an upright disc at x that rolls at a speed."""
    return draisine.State(
        np.array([1.0, 0.0, 0.0, 0.0]),
        np.array([x, 0.0, z]),
        np.zeros(0),
        # the drawing's origin is the contact point: it rests
        np.array([0.0, 0.0, 0.0, 0.0, speed / H, 0.0]),
    )


def dropped(height, **more):
    state = rolling(0.0, z=height)
    speeds = state.v.copy()
    for k, value in more.items():
        speeds["VxVyVzWxWyWz".index(k) // 2] = value
    return draisine.State(state.q, state.p, state.r, speeds)


@pytest.mark.parametrize("degrees", [5.0, 30.0, 60.0, 80.0])
def test_re_entrant_corner(degrees):
    """About the new contact the angular momentum stays: w+ = w (1 + 2 cos b) / 3."""
    b = math.radians(degrees)
    exact = draisine.Numerics(rtol=1e-12, atol=1e-14)
    made = draisine.simulate(disc(), rolling(2.0), 0.6, terrain=corner(b, at=1.0), numerics=exact)
    hit = next(event for event in made.events if event.kind == "collision")
    assert hit.t == pytest.approx((1.0 - H * math.tan(b / 2)) / 2.0, abs=1e-11)
    assert hit.after.v[4] == pytest.approx(2.0 / H * (1 + 2 * math.cos(b)) / 3, rel=1e-12)
    assert hit.mode_after == ((("ground", "rise"), "rolling"),)


@pytest.mark.parametrize("k", [0.02, 0.1, 0.2])
def test_step(k):
    """Onto a step of height k: w+ = w (1 - 2 k / (3 h)); fast enough, it climbs and rolls on."""
    exact = draisine.Numerics(rtol=1e-12, atol=1e-14)
    made = draisine.simulate(disc(), rolling(4.0), 0.6, terrain=kerb(1.0, k), numerics=exact)
    hit = made.events[0]
    reach = math.sqrt(H * H - (H - k) ** 2)
    assert hit.t == pytest.approx((1.0 - reach) / 4.0, abs=1e-11)
    assert hit.after.v[4] == pytest.approx(4.0 / H * (1 - 2 * k / (3 * H)), rel=1e-12)
    assert hit.contacts == (("ground", "edge"),)
    assert hit.gain < 0


def test_slow_wheel_climbs_a_step_over_its_edge_and_is_handed_to_the_top():
    """It turns about the edge until it stands on the top: no impact there, energy is kept."""
    made = draisine.simulate(disc(), rolling(1.5), 1.2, terrain=kerb(1.0, 0.05))
    kinds = [event.kind for event in made.events]
    assert kinds == ["collision", "hand-over"]
    over = made.events[1]
    assert over.mode_before == ((("ground", "edge"), "rolling"),)
    assert over.mode_after == ((("ground", "after"), "rolling"),)
    assert over.soft
    assert_allclose(over.after.v, over.before.v, atol=1e-10)
    after = made.events[0].energy_after
    assert over.energy_after == pytest.approx(after, rel=1e-10)


@pytest.mark.parametrize("speed", [0.05, 0.5, 1.5])
def test_slow_wheel_rolls_round_a_ledge_and_leaves_it(speed):
    """Energy and the vanishing normal force give the angle: cos a = (4 + 3 v^2 / (g h)) / 7."""
    made = draisine.simulate(
        disc(), rolling(speed), 4.0, terrain=kerb(0.1, -2.0), numerics=draisine.Numerics(rtol=1e-11)
    )
    over, off = made.events[:2]
    assert over.kind == "hand-over" and over.mode_after == ((("ground", "edge"), "rolling"),)
    assert off.kind == "lift-off" and off.soft
    centre = off.after.p + np.array(draisine.algebra.lie.rotation(off.after.q)) @ [0.0, 0.0, H]
    angle = math.atan2(centre[0] - 0.1, centre[2])
    assert math.cos(angle) == pytest.approx((4 + 3 * speed**2 / (G * H)) / 7, abs=1e-9)


def test_fast_wheel_leaves_a_ledge_at_once():
    """Faster than sqrt(g h) no edge holds it; then it falls freely."""
    made = draisine.simulate(disc(), rolling(2.5), 0.6, terrain=kerb(0.1, -1.0))
    off, landing = made.events[:2]
    assert off.kind == "lift-off" and not off.soft
    assert landing.t - off.t == pytest.approx(math.sqrt(2 * 1.0 / G), abs=1e-11)
    assert landing.contacts == (("ground", "after"),)


@pytest.mark.parametrize("e", [0.3, 0.8, 1.0])
def test_bounces(e):
    """Heights shrink by e^2, flights by e."""
    made = draisine.simulate(
        disc(),
        dropped(0.2),
        1.0,
        terrain=plane(),
        contact=draisine.ContactOptions(
            impact="newton", restitution={"normal": e, "tangential": e}, rest_speed=1e-3
        ),
    )
    fall = math.sqrt(2 * 0.2 / G)
    times = [event.t for event in made.events]
    wanted = [fall]
    while len(wanted) < min(len(times), 4):
        wanted.append(wanted[-1] + 2 * fall * e ** len(wanted))
    assert_allclose(times[: len(wanted)], wanted, atol=1e-11)
    first = made.events[0]
    assert first.after.v[2] == pytest.approx(-e * first.before.v[2], rel=1e-12)


def test_small_bounces_come_to_rest_below_the_stated_speed():
    made = draisine.simulate(
        disc(),
        dropped(0.05),
        1.5,
        terrain=plane(),
        contact=draisine.ContactOptions(
            impact="newton", restitution={"normal": 0.5, "tangential": 0.5}, rest_speed=0.01
        ),
    )
    assert made.arcs[-1].mode == ((("ground", "ground"), "rolling"),)
    assert len(made.events) < 12


def test_zeno_is_an_error_with_the_state_in_it():
    with pytest.raises(ZenoError) as caught:
        draisine.simulate(
            disc(),
            dropped(0.05),
            1.5,
            terrain=plane(),
            contact=draisine.ContactOptions(
                impact="newton",
                events=20,
                restitution={"normal": 0.7, "tangential": 0.7},
                solver="events",
            ),
        )
    assert len(caught.value.partial.events) >= 20
    assert caught.value.state.p[2] == pytest.approx(0.0, abs=1e-3)


def test_grazing_wheel_that_spins_is_caught_by_the_ground():
    """Set down without speed but with spin, an ideal wheel rolls at once: w+ = w / 3."""
    state = dropped(0.0, Vx=-H * 6.0, Wy=6.0)
    # centre at rest, spin 6 rad/s: the contact point slips backwards
    made = draisine.simulate(disc(), state, 0.1, terrain=plane())
    assert made.events[0].kind == "collision"
    assert made.events[0].after.v[4] == pytest.approx(2.0, rel=1e-12)


def test_a_start_below_the_ground_is_an_error():
    with pytest.raises(ConfigurationError, match="below"):
        draisine.simulate(disc(), rolling(1.0, z=-0.01), 0.1, terrain=plane())


def test_an_edge_in_the_plane_of_the_disc_is_an_error():
    ledge = Terrain(
        [
            face("top", (0, 0, 1), 0.0, [((0, 1, 0), 0.01)]),
            edge("rim", (0, 0.01, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0)),
        ]
    )
    state = rolling(1.0)
    drifting = draisine.State(
        np.array([math.cos(0.005), 0.0, 0.0, math.sin(0.005)]), state.p, state.r, state.v
    )
    with pytest.raises(TerrainError, match="torus"):
        draisine.simulate(
            disc(), drifting, 2.0, terrain=ledge, contact=draisine.ContactOptions(solver="events")
        )


def test_a_wheel_that_lies_down_ends_the_run():
    state = draisine.state(disc(), lean=0.8)
    made = draisine.simulate(disc(), state, 5.0, terrain=plane())
    assert made.outcome.startswith("fell")
    assert made.arcs[-1].observations["outputs"][1, -1] == pytest.approx(
        math.radians(89.9), abs=1e-6
    )
