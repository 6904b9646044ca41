"""Whole runs by each formulation, held against the compiled closed form."""

import numpy as np
import pytest

import draisine
from draisine.errors import ParameterError, UnknownNameError
from draisine.registry import names
from draisine.simulation.compare.by_formulation import simulate_by


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.mark.parametrize("formulation", names("formulation"))
def test_runs_agree(bicycle, formulation):
    start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    inputs = {"steer": 0.1, "rear_wheel": -1.0}
    options = {"dt": 0.05, "rtol": 1e-11, "atol": 1e-11, "inputs": inputs}
    run = simulate_by(formulation, bicycle, start, 0.2, **options).to_xarray()
    fast = draisine.simulate(bicycle, start, 0.2, **options).to_xarray()
    for name in ("speeds", "position", "shape", "contact_force"):
        scale = max(1.0, float(np.abs(fast[name]).max()))
        assert np.abs(run[name].values - fast[name].values).max() < 1e-9 * scale
    assert run.attrs["formulation"] == formulation


def test_mistakes_are_named(bicycle):
    start = draisine.state(bicycle)
    with pytest.raises(UnknownNameError, match="Did you mean 'planar'"):
        simulate_by("planer", bicycle, start, 1.0)
    with pytest.raises(ParameterError):
        simulate_by("planar", bicycle, start, -1.0)
