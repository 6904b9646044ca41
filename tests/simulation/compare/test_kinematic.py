"""Configurations driven by speeds alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ParameterError
from draisine.simulation.compare.kinematic import SpeedLaw


def test_remark_2_15_leads_to_the_configuration_that_newton_finds(bicycle):
    lean, steer = np.radians(30), np.radians(45)

    def rates(seen):
        return {
            "Wx": 5 * (lean - seen["lean"]),
            "steer_rate": 5 * (steer - seen["steer"]),
            "rear_wheel_rate": 0.0,
        }

    run = draisine.simulate(
        bicycle,
        draisine.state(bicycle),
        8.0,
        law=SpeedLaw(rates),
        numerics=draisine.Numerics(integrator="rk4", dt=0.02),
    ).to_xarray()
    end = run.isel(time=-1)
    # independent computation: point D of figure 2.5, alpha0 and alpha1 in degrees
    assert_allclose(np.degrees(end.rear_contact_angle) + 180, 182.26319768299055, atol=1e-6)
    assert_allclose(np.degrees(end.front_contact_angle) + 198, 214.84685032092534, atol=1e-6)
    assert np.abs(run.gap.values).max() < 1e-7
    assert_allclose(end["shape"].sel(joint="rear_wheel"), 0.0, atol=1e-12)


def test_speeds_keep_the_wheels_rolling(bicycle):
    run = draisine.simulate(
        bicycle,
        draisine.state(bicycle),
        0.5,
        law=SpeedLaw(lambda seen: {"rear_wheel_rate": 2.0}),
        numerics=draisine.Numerics(integrator="rk4", dt=0.02),
    )
    data = run.to_xarray()
    assert_allclose(data.forward_speed, 0.6, atol=1e-12)
    assert_allclose(data.position.sel(axis="x")[-1], 0.3, atol=1e-12)


def test_impossible_times_are_refused(bicycle):
    with pytest.raises(ParameterError):
        draisine.simulate(
            bicycle,
            draisine.state(bicycle),
            -1.0,
            law=SpeedLaw(lambda seen: {}),
            numerics=draisine.Numerics(integrator="rk4", dt=0.02),
        )
