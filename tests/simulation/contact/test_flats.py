"""A body against another: the ball on a bar on two supports, against closed forms."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import ContactOptions, Numerics, compile, simulate, state
from draisine.errors import ModelError
from draisine.model import Ball, Body, Flat, Model, Wheel
from draisine.terrain import plane

L, M, INERTIA, m, RADIUS, G = 0.4, 2.0, 0.24, 3.0, 0.05, 9.81


@pytest.fixture(scope="module")
def bar():
    return compile("ball_on_bar")


def test_a_rolling_ball_tips_the_bar_past_its_support(bar):
    """The far support is free where M g L = m g (x - L)."""
    speed, x = 1.0, 0.3
    start = state(bar, ball_x=x, ball_x_rate=speed, ball_turn_rate=speed / RADIUS)
    run = simulate(bar, start, 0.5, terrain=plane())
    first = run.events[0]
    assert (first.kind, first.contacts) == ("lift-off", (("left", "ground"),))
    assert_allclose(first.t, (L * (1 + M / m) - x) / speed, rtol=0, atol=1e-9)
    data = run.to_xarray()
    loads = data.contact_force.isel(time=0).sel(direction="normal")
    right = m * G * (L + x) / (2 * L) + M * G / 2
    assert_allclose(loads, [(m + M) * G - right, right, m * G], rtol=1e-12)
    T, U = data.kinetic_energy, data.potential_energy
    assert_allclose(T + U, T[0] + U[0], rtol=0, atol=1e-7)


def test_a_ball_that_falls_between_the_supports_is_stopped(bar):
    x, height = 0.1, 0.2
    contact = ContactOptions(mu=0.0)
    run = simulate(bar, state(bar, ball_x=x, ball_z=height), 0.3, terrain=plane(), contact=contact)
    first, hit = run.events[0], m * math.sqrt(2 * G * height)
    assert_allclose(first.t, math.sqrt(2 * height / G), rtol=1e-11)
    expected = {"ball:bar": hit, "left:ground": hit * (L - x) / (2 * L)}
    expected["right:ground"] = hit * (L + x) / (2 * L)
    found = {":".join(key): push[0] for key, push in first.impulses.items()}
    assert found.keys() == expected.keys()
    assert_allclose([found[key] for key in expected], list(expected.values()), rtol=1e-10)
    assert_allclose(first.after.v, 0.0, atol=1e-10)


def test_a_ball_that_falls_beyond_a_support_turns_the_bar(bar):
    """The bar turns about the near support; the far one would pull, and parts."""
    x, height = 0.6, 0.2
    contact = ContactOptions(mu=0.0)
    run = simulate(bar, state(bar, ball_x=x, ball_z=height), 0.25, terrain=plane(), contact=contact)
    first, hit = run.events[0], m * math.sqrt(2 * G * height)
    turning = hit * (x - L) / (INERTIA + M * L * L + m * (x - L) ** 2)
    names = {"bar_turn_rate": turning, "bar_z_rate": turning * L, "ball_z_rate": turning * (L - x)}
    found = dict(zip(bar.model.speeds, first.after.v, strict=True))
    assert_allclose([found[name] for name in names], list(names.values()), rtol=1e-9)
    assert set(first.impulses) == {("ball", "bar"), ("right", "ground")}


def test_both_bodies_feel_the_same_force(bar):
    """Momentum of the ball changes by what it feels, that of the whole by what the ground gives."""
    start = state(bar, ball_x=0.2, ball_x_rate=0.5)  # it slips on the bar, which holds by its feet
    mu = {"ball": 0.1, "left": 0.8, "right": 0.8}
    contact = ContactOptions(mu=mu, impact="moreau")
    data = simulate(bar, start, 0.05, terrain=plane(), contact=contact).to_xarray()
    push = data.contact_force_world.isel(time=1)
    assert_allclose(push.sel(contact="ball"), [-0.1 * m * G, 0.0, m * G], rtol=1e-6, atol=1e-6)
    ground = push.sel(contact=["left", "right"]).sum("contact")
    assert_allclose(ground, [-0.1 * m * G, 0.0, (m + M) * G], rtol=1e-6, atol=1e-6)


def test_flats_need_a_terrain_and_another_body(bar):
    with pytest.raises(
        ModelError, match=r"'ball' can touch and leave the body 'bar'.*terrain=plane\(\)"
    ):
        simulate(bar, state(bar), 0.1)
    with pytest.raises(ModelError, match="on the wheel's own body"):
        Wheel("w", "a", (0, 0, 0), (0, 1, 0), Ball(1.0), flats=(Flat("a", (0, 0, 0), (0, 0, 1)),))
    wheel = Wheel("w", "a", (0, 0, 0), (0, 1, 0), 1.0, flats=(Flat("b", (0, 0, 0), (0, 0, 1)),))
    with pytest.raises(ModelError, match="no body 'b'"):
        Model([Body("a", 1.0)], contacts=[wheel])
    with pytest.raises(ModelError, match="the normal must not be zero"):
        Flat("a", np.zeros(3), (0, 0, 0))


def test_a_ball_that_rolls_off_a_bar_lands_on_the_ground():
    """Bar and ground are met by the same wheel: neither hides the other."""
    system = compile("ball_on_bar")
    start = state(system, ball_x=0.3, ball_x_rate=1.0, ball_turn_rate=20.0)
    run = simulate(system, start, 0.8, terrain=plane(), numerics=Numerics(dt=0.01))
    assert ("ball", "ground") in {key for event in run.events for key in event.contacts}
    drawn = next(body.com[2] for body in system.model.bodies if body.name == "ball")
    centre = run.to_xarray().ball_z + drawn
    assert centre.min() == pytest.approx(system.parameters["radius"], abs=1e-9)
