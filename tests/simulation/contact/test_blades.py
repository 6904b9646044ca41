"""Blades on terrain: gliding, slipping, jumping, against closed forms."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import ContactOptions, State, compile, simulate, state
from draisine.errors import ModelError
from draisine.terrain import Mesh, Terrain, face, plane


@pytest.fixture(scope="module")
def skater():
    return compile("skater")


def test_a_skater_jumps_by_closed_form(skater):
    """Legs that stretch by r(t) carry the weight (m + mS) g + m rddot: the skates leave where that
    ends, and are back when the parabola of the mass centre meets the stretched legs.
    """
    way, T, start, m, M, g = 0.35, 0.3, 0.3, 56.0, 60.0, 9.81
    s = 0.5 + math.asin(M * g * T * T / (2 * math.pi * way * m)) / (2 * math.pi)
    left = way - way * (s - math.sin(2 * math.pi * s) / (2 * math.pi))
    up = m / M * way / T * (1 - math.cos(2 * math.pi * s))
    down = math.sqrt(up * up - 2 * g * m / M * left)
    run = simulate(skater, state(skater, forward_speed=4.0), 1.2, terrain=plane())
    off, landing = run.events
    assert (off.kind, len(off.contacts), off.mode_after) == ("lift-off", 4, ())
    assert_allclose(off.t, start + s * T, rtol=0, atol=1e-12)
    assert_allclose(landing.t, off.t + (up + down) / g, rtol=0, atol=1e-10)
    push = sum(landing.impulses.values())
    assert_allclose(push, [M * down, 0.0, 0.0], rtol=0, atol=1e-8)
    assert_allclose(landing.gain, -M * down * down / 2, rtol=1e-9)
    assert {status for _, status in landing.mode_after} == {"gliding"}
    data = run.to_xarray()
    assert_allclose(data.position[-1], [4.8, 0.0, 0.0], rtol=0, atol=1e-9)
    assert data.gap.min() > -1e-11


@pytest.mark.parametrize(("mu", "slips"), [(math.inf, False), (0.2, False), (0.05, True)])
def test_a_blade_across_a_slope_holds_until_friction_ends(mu, slips):
    """On a slope to the side it stands by friction tan(slope), or slips with g (sin - mu cos)."""
    skater, slope = compile("skater", start=100.0), 0.1
    hill = Terrain([face("ground", (0.0, -math.sin(slope), math.cos(slope)), 0.0)])
    model = "plastic" if math.isinf(mu) else "moreau"
    tilt = np.array([math.cos(slope / 2), math.sin(slope / 2), 0.0, 0.0])
    start = replace(state(skater), q=tilt)
    contact = ContactOptions(mu=mu, impact=model)
    run = simulate(skater, start, 0.2, terrain=hill, contact=contact).to_xarray().isel(time=-1)
    fall = 9.81 * (math.sin(slope) - mu * math.cos(slope)) if slips else 0.0
    assert_allclose(np.linalg.norm(run.position), 0.5 * fall * 0.04, rtol=0, atol=1e-5)
    assert_allclose(run.contact_force[:, 0].sum(), 60.0 * 9.81 * math.cos(slope), rtol=1e-6)


def test_blades_glide_down_without_friction():
    """The legs hang on: only gravity along the heading counts."""
    skater, slope = compile("skater", start=100.0), -0.2
    tilt = np.array([math.cos(slope / 2), 0.0, -math.sin(slope / 2), 0.0])
    start = replace(state(skater, forward_speed=1.0), q=tilt)
    run = simulate(skater, start, 0.5, terrain=plane(slope)).to_xarray().isel(time=-1)
    assert_allclose(run.speeds[0], 1.0 + 9.81 * math.sin(0.2) * 0.5, rtol=1e-9)


def test_what_cannot_meet_a_terrain_is_named(skater):
    sleigh = compile("chaplygin_sleigh")
    with pytest.raises(ModelError, match=r"blade 'runner' has no normal force.*lifts=True"):
        simulate(sleigh, state(sleigh), 0.1, terrain=plane())


@pytest.mark.filterwarnings("ignore::draisine.simulation.contact.run.EnergyWarning")
@pytest.mark.parametrize("slope", [-0.1, 0.1])
def test_blades_glide_over_convex_and_concave_edges(skater, slope):
    """Points have no contact with an edge: they leave one face and meet the next one, in time steps if no
    event resolves it. The legs stretch at that time and do work in the impact.
    """
    corners = [[-9, -5, 0], [0.6, -5, 0], [0.6, 5, 0], [-9, 5, 0]]
    corners += [[9.6, -5, 9 * slope], [9.6, 5, 9 * slope]]
    ground = Mesh(corners, [[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]])
    begin = state(skater)
    v = begin.v.copy()
    v[skater.model.speeds.index("Vx")] = 1.0
    moving = State(begin.q, begin.p, begin.r, v)
    run = simulate(skater, moving, 1.0, terrain=ground, contact=ContactOptions(mu=0.0))
    assert run.outcome == "completed"
    assert run.final().p[0] > 0.8
    touched = {feature for event in run.events for _, feature in event.contacts}
    assert "face 2" in touched  # behind the edge
    assert run.observations["gaps"].min() > -1e-3
