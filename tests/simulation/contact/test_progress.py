"""Every run on a terrain makes progress or ends with a typed error and its partial result."""

import math

import numpy as np
import pytest

import draisine
from draisine import ContactOptions
from draisine.errors import ContactSetError, SimulationError
from draisine.simulation.impacts import newton, plastic
from draisine.terrain import corner, kerb, move_ground, plane
from draisine.terrain.motions import Shake
from simulation.contact.conftest import bicycle
from simulation.contact.test_disc import G, disc, rolling

FRICTION = ContactOptions(mu=0.8, impact="moreau")


def test_a_slow_descent_ends_and_says_why():
    """Ideal wheels would need adhesion at the edge; friction solves it."""
    start = draisine.state(bicycle(), forward_speed=0.6)
    with pytest.raises(ContactSetError, match="'rear' is about to be pulled by 'edge'") as caught:
        draisine.simulate(
            bicycle(),
            start,
            4.0,
            terrain=kerb(1.5, -0.15),
            contact=draisine.ContactOptions(solver="events"),
        )
    assert caught.value.partial.t[-1] > 2.0
    run = draisine.simulate(bicycle(), start, 4.0, terrain=kerb(1.5, -0.15), contact=FRICTION)
    assert run.outcome == "completed"


def test_a_wheel_may_start_on_an_edge():
    """It pivots about the edge: its energy is kept until it leaves it."""
    run = draisine.simulate(disc(), rolling(1.0), 0.1, terrain=kerb(0.0, -0.1))
    data = run.to_xarray()
    assert run.outcome == "completed"
    assert run.arcs[-1].mode[0][0][1] == "edge"
    assert np.ptp(data.energy.values) < 1e-9 * data.energy.values[0]


@pytest.mark.parametrize("depth", [1e-9, 4e-9])  # up to 1e-8 of the size, which is 0.5 m
def test_a_start_that_is_hardly_below_the_ground_is_put_onto_it(depth):
    """It goes on like one that is on the ground."""
    given = rolling(2.0)
    start = draisine.State(given.q, given.p - [0.0, 0.0, depth], given.r, given.v)
    run = draisine.simulate(disc(), start, 0.1, terrain=plane())
    assert run.outcome == "completed"
    assert abs(run.to_xarray().gap[0]) < 1e-15
    level = draisine.simulate(disc(), given, 0.1, terrain=plane())
    assert run.final().v == pytest.approx(level.final().v, abs=1e-11)


@pytest.mark.parametrize("angle", [1e-8, 1e-6, 1e-4])
def test_tiny_corners_are_passed(angle):
    """A disc keeps (1 + 2 cos b) / 3 of its spin: almost all."""
    run = draisine.simulate(disc(), rolling(2.0), 1.0, terrain=corner(angle, at=1.0))
    assert run.outcome == "completed"
    assert run.final().v[4] == pytest.approx(4.0 * (1 + 2 * math.cos(angle)) / 3, abs=1e-3)


def test_two_wheels_leave_a_shaking_platform_at_once():
    """Both when the ground falls faster than they do: A w^2 sin(w t) = g."""
    A, w = 0.02, 30.0
    floor, start = move_ground(plane(), Shake((0, 0, A), w)), draisine.state(bicycle())
    v = start.v.copy()
    v[2] += A * w
    run = draisine.simulate(
        bicycle(), draisine.State(start.q, start.p, start.r, v), 0.1, terrain=floor
    )
    off = [event for event in run.events if event.kind == "lift-off"]
    assert 1 <= len(off) <= 3
    assert all(e.t == pytest.approx(math.asin(G / (A * w * w)) / w, abs=1e-9) for e in off)
    assert off[-1].mode_after == ()


def test_ideal_friction_stops_a_wheel_that_slides():
    """It keeps two thirds of its speed, by a plastic impact along the ground."""
    v = np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    slid = draisine.State(np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3), np.zeros(0), v)
    run = draisine.simulate(disc(), slid, 0.1, terrain=plane())
    assert run.arcs[-1].mode == ((("ground", "ground"), "rolling"),)
    assert run.final().v[4] == pytest.approx(2.0 / 3.0 * 3.0 / 0.5, rel=1e-9)


@pytest.mark.parametrize("impact", [plastic.impact, newton.impact])
def test_an_impact_model_that_takes_no_friction_ends_a_run_with_what_came_before(impact):
    """Given as a function, which none can ask beforehand: it rolls until its first impact; what it did
    until then is kept.
    """
    options = ContactOptions(mu=0.8, impact=impact)
    with pytest.raises(
        SimulationError, match=r"at 0\.24.* s: .* no Coulomb friction; use 'moreau'"
    ) as ended:
        draisine.simulate(disc(), rolling(2.0), 1.0, terrain=kerb(0.7, 0.05), contact=options)
    assert ended.value.partial.t[-1] == pytest.approx(0.24, abs=0.01)
    assert ended.value.partial.validity.sound


@pytest.mark.parametrize("mu", [0.4, 1.2])
@pytest.mark.parametrize("lean_rate", [0.0, 0.5])
def test_a_skateboard_lands_sideways(lean_rate, mu):
    """The wheels of a truck hold each other across: how they share that is open until one of them slips."""
    board = draisine.compile("skateboard")
    start, v = draisine.state(board), np.zeros(12)
    v[:6] = 1.0, 0.6, -0.3, lean_rate, 0.0, 0.5
    thrown = draisine.State(start.q, start.p, start.r, v)
    run = draisine.simulate(board, thrown, 0.2, terrain=plane(), contact=ContactOptions(mu=mu))
    assert run.outcome == "completed"
    assert len(run.events) < 50
    data = run.to_xarray()
    energy = data.energy.values
    assert np.nanmin(data.contact_force.values[..., 0]) > -1e-6
    assert np.diff(energy).max() < 1e-6 * energy[0]
