"""Whole runs by each formulation, held against the compiled closed form."""

import numpy as np
import pytest

import draisine
from draisine.errors import ParameterError, UnknownNameError
from draisine.registry import names


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.mark.parametrize("formulation", sorted({*names("formulation")} - {"projected"}))
def test_runs_agree(bicycle, formulation):
    start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    inputs = {"steer": 0.1, "rear_wheel": -1.0}
    run, fast = (
        draisine.simulate(
            bicycle,
            start,
            0.2,
            inputs=inputs,
            numerics=draisine.Numerics(formulation=name, dt=0.05, rtol=1e-11, atol=1e-11),
        ).to_xarray()
        for name in (formulation, "projected")
    )
    for name in ("speeds", "position", "shape", "contact_force"):
        scale = max(1.0, float(np.abs(fast[name]).max()))
        assert np.abs(run[name].values - fast[name].values).max() < 1e-9 * scale
    assert run.attrs["formulation"] == formulation


def test_error_messages_name_the_mistake(bicycle):
    start = draisine.state(bicycle)
    with pytest.raises(UnknownNameError, match="Did you mean 'planar'"):
        draisine.simulate(bicycle, start, 1.0, numerics=draisine.Numerics(formulation="planer"))
    with pytest.raises(ParameterError):
        draisine.simulate(bicycle, start, -1.0, numerics=draisine.Numerics(formulation="planar"))
