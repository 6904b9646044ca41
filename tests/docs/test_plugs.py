"""The files that the how-to pages show as plugs do what they say."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import draisine
from draisine.codegen.program import Program
from draisine.simulation import smooth as loop
from draisine.simulation.contact import events as resolve
from draisine.simulation.contact.run import simulate_on
from draisine.terrain import plane

HOWTO = Path(__file__).parents[2] / "docs" / "howto"


def load(name):
    spec = importlib.util.spec_from_file_location(name, HOWTO / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_integrator_has_its_order(monkeypatch):
    heun = load("heun")
    disc = draisine.compile("rolling_disc")
    start = draisine.state(disc, lean=0.2, forward_speed=2.0, yaw_rate=0.5)
    best = draisine.simulate(disc, start, until=0.5, rtol=1e-12, atol=1e-12).final().v
    monkeypatch.setattr(loop, "find", lambda kind, name: heun)
    errors, gaps = [], []
    for dt in (0.01, 0.005):
        run = draisine.simulate(disc, start, until=0.5, integrator="heun", dt=dt)
        errors.append(np.abs(run.final().v - best).max())
        gaps.append(float(np.abs(run.to_xarray().gap).max()))
    # one Newton step of the projection leaves the square of what a step of the method drifts
    assert gaps[0] < 1e-13
    assert gaps[1] < 1e-15
    assert errors[0] < 1e-2
    assert abs(np.log2(errors[0] / errors[1]) - heun.ORDER) < 0.3


def test_target_writes_every_step():
    program = Program(
        "square", {"x": 1}, [("input", "x", 0), ("mul", 0, 0)], {"y": [1]}, [False, False]
    )
    assert load("listing").emit(program) == "0: input x 0\n1: mul 0 0\ny = [1]"


def test_impact_law_without_friction(monkeypatch):
    """A bicycle dropped from 0.2 m bounces by its restitution, and nothing brakes it."""
    smooth = load("smooth")
    monkeypatch.setattr(resolve, "find", lambda kind, name: smooth)
    bicycle = draisine.compile("whipple")
    open_wheels = {"rear": "open", "front": "open"}
    start = draisine.state(bicycle, mode=open_wheels, z=0.2, forward_speed=3.0)
    run = simulate_on(
        bicycle, plane(), start, until=0.25, mu=0.0, impact="smooth", restitution={"normal": 0.4}
    )
    event = run.events[0]
    assert event.t == pytest.approx(np.sqrt(2 * 0.2 / 9.81), abs=1e-9)
    assert event.gain == pytest.approx(-(1 - 0.4**2) * 94.0 * 9.81 * 0.2, rel=1e-9)
    assert run.final().v[0] == pytest.approx(3.0, abs=1e-9)
