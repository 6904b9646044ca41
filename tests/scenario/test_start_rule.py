"""Gradients of runs that start at the scenario's own place on a terrain."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ParameterError
from draisine.scenario.library import load
from draisine.scenario.plan import SteadyRequest

SLOPE = np.deg2rad(10.0)


@pytest.fixture(scope="module")
def jump():
    return load("mauny2018/ramp-jump").plan


def test_lift_off_of_a_placed_bicycle_has_its_closed_form(jump):
    """Along the ramp s = v0 t - a t^2 / 2. A wheel leaves at the edge, at a fixed s: dt/dv0 = -t / v, and the
    speed there changes by v0 / v.
    """
    found = draisine.gradient(
        jump.system,
        jump.start_rule(),
        [0.3, 0.6],
        ["forward_speed"],
        ["forward_speed"],
        terrain=jump.terrain,
        contact=jump.contact,
    )
    model = jump.system.model
    wheels = {w.body: w for w in model.wheels}
    mass = sum(body.mass for body in model.bodies)
    spin = sum(
        body.inertia[1, 1] / wheels[body.name].surface.reach ** 2
        for body in model.bodies
        if body.name in wheels
    )
    a = mass * 9.81 * np.sin(SLOPE) / (mass + spin)
    v0 = jump.start.values["forward_speed"] / np.cos(SLOPE)
    lift_offs = [e for e in found.events if e.event.guard.contact[0] == "front"]
    t = lift_offs[0].event.t
    assert t == pytest.approx(0.41454808344365957, abs=1e-9)
    # The unknown is the horizontal speed: v0 = forward_speed / cos(slope).
    assert_allclose(lift_offs[0].time[0], -t / (v0 - a * t) / np.cos(SLOPE), rtol=1e-9)
    assert_allclose(found.derivatives[0, 0, 0], 1.0, rtol=1e-9)


def test_parameters_move_the_placed_wheel(jump):
    """With a larger wheel the machine still stands on the ramp: derivatives equal differences of runs."""
    rule = jump.start_rule()
    names = ["zB", "w"]
    times = [0.2, 0.45]
    options = {"terrain": jump.terrain, "contact": jump.contact}
    found = draisine.gradient(jump.system, rule, times, ["x", "z"], names, **options)
    for k, name in enumerate(names):
        h = 1e-4
        ends = []
        for sign in (1, -1):
            shifted = {name: jump.system.parameters[name] + sign * h}
            system = jump.system.with_parameters(**shifted)
            start = rule.solve(system, rule.values)
            run = draisine.gradient(
                system,
                type(rule)(rule.values, rule.solve),
                times,
                ["x", "z"],
                ["forward_speed"],
                **options,
            )
            assert_allclose(start.p, rule.solve(system, rule.values).p)
            ends.append(run.values)
        assert_allclose(found.derivatives[:, :, k], (ends[0] - ends[1]) / (2 * h), atol=2e-6)


def test_a_steady_start_has_no_rule():
    plan = load("mauny2018/ramp-jump").plan
    steady = replace(plan, start=replace(plan.start, steady=SteadyRequest({})))
    with pytest.raises(ParameterError, match="steady motion"):
        steady.start_rule()
