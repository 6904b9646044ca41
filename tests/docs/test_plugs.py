"""The files that the how-to pages show as plugs do what they say."""

import importlib.util
from pathlib import Path

import numpy as np

import draisine
from draisine.codegen.program import Program
from draisine.simulation import loop

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
    errors = []
    for dt in (0.01, 0.005):
        run = draisine.simulate(disc, start, until=0.5, integrator="heun", dt=dt)
        errors.append(np.abs(run.final().v - best).max())
        assert np.abs(run.to_xarray().gap).max() < 1e-14
    assert errors[0] < 1e-2
    assert abs(np.log2(errors[0] / errors[1]) - heun.ORDER) < 0.3


def test_target_writes_every_step():
    program = Program(
        "square", {"x": 1}, [("input", "x", 0), ("mul", 0, 0)], {"y": [1]}, [False, False]
    )
    assert load("listing").emit(program) == "0: input x 0\n1: mul 0 0\ny = [1]"
