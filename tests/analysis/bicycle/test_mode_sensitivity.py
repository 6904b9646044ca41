"""Exact derivatives of eigenvalues on tyres, and the design of a bicycle that does not shimmy."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.bicycle.mode_sensitivity import (
    SMOOTHING,
    eigenvalue_changes,
    largest_growth,
    system_matrix_changes,
)
from draisine.analysis.bicycle.uncertainty import derivatives
from draisine.errors import UnknownNameError

TYRE = {"name": "load_tyre", "parameter_set": "city_bicycle"}
COMPLIANCE = {
    "frame_twist": 3000.0,
    "frame_twist_damper": 5.0,
    "fork_bend": 6000.0,
    "fork_bend_damper": 5.0,
}
DESIGN = {
    "c": 0.0766,
    "lam": 0.45,
    "flexible_frame_twist": 10000.0,
    "flexible_fork_bend": 20000.0,
}
"""The design that `optimise` finds in the tutorial, rounded."""
SPEEDS = np.array([1.0, 5.0, 12.0])


@pytest.fixture(scope="module")
def running():
    return TwoWheeler(
        draisine.compile(
            "whipple",
            c=0.06,
            lam=math.radians(20.0),
            crown=0.02,
            rear_tyre=TYRE,
            front_tyre=TYRE,
            flexible=COMPLIANCE,
        )
    )


@pytest.fixture(scope="module")
def designed(running):
    return replace(running, system=running.system.with_parameters(**DESIGN))


def changed(running, name, change):
    """Return the two-wheeler with one parameter changed."""
    value = running.system.parameters[name] + change
    return replace(running, system=running.system.with_parameters(**{name: value}))


@pytest.mark.parametrize(
    "name",
    ["c", "lam", "flexible_frame_twist", "flexible_fork_bend", "front_tyre_relaxation", "rF", "mB"],
)
def test_matrices_change_as_their_differences(running, name):
    exact = system_matrix_changes(running, SPEEDS, [name])
    h = 1e-3 * running.system.parameters[name]
    near, behind, far, back = (
        changed(running, name, f * h).matrices(SPEEDS)[0] for f in (1.0, -1.0, 2.0, -2.0)
    )
    slope = (8.0 * (near - behind) - (far - back)) / (12.0 * h)
    assert_allclose(exact.rates[:, 0], slope, atol=1e-7 * np.abs(slope).max())


def test_on_the_ideal_bicycle_they_are_those_of_the_characteristic_polynomial():
    """Both ways are exact and independent: adjugate of N here, eigenvectors of A there."""
    bicycle = draisine.compile("whipple")
    ideal = TwoWheeler(bicycle)
    modes = ideal.eigenmodes(SPEEDS)
    assert_allclose(
        eigenvalue_changes(ideal, modes), derivatives(bicycle, modes), rtol=1e-6, atol=1e-7
    )


def test_the_largest_growth_is_a_smooth_bound(running):
    speeds = np.array([2.0, 6.0, 10.0])
    growth, slopes = largest_growth(running, "wobble", speeds, ["c"])
    largest = running.eigenmodes(speeds).mode("wobble").real.max()
    assert largest <= growth <= largest + SMOOTHING * math.log(3)
    h = 1e-5
    ends = [largest_growth(changed(running, "c", d), "wobble", speeds, ["c"])[0] for d in (h, -h)]
    assert slopes["c"] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)


def test_unknown_names_are_listed(running):
    with pytest.raises(UnknownNameError, match="no eigenmode 'wobbel'"):
        largest_growth(running, "wobbel", SPEEDS, ["c"])
    with pytest.raises(UnknownNameError, match="no parameter 'trail'"):
        largest_growth(running, "wobble", SPEEDS, ["trail"])


def test_the_design_does_not_shimmy_at_any_speed(running, designed):
    speeds = np.linspace(0.5, 20.0, 40)
    assert running.eigenmodes(speeds).mode("wobble").real.max() > 4.0
    modes = designed.eigenmodes(speeds)
    assert modes.mode("wobble").real.max() < 0.0
    # Stated bounds on handling
    fast = speeds >= 7.0
    assert modes.mode("weave").real[fast].max() < -1.0
    assert modes.mode("capsize").real[fast].max() < 1.3
    assert DESIGN["c"] * math.sin(0.45) * math.cos(0.45) < 0.03 + 1e-5


def test_nonlinear_runs_shimmy_before_and_not_after(running, designed):
    """A kick of the fork grows or decays at the rate of the eigenvalue of the wobble, at 8 m/s."""
    for machine, grows in ((running, True), (designed, False)):
        system = machine.system
        kick = draisine.state(system, forward_speed=8.0, fork_bend=1e-5)
        run = draisine.simulate(system, kick, 1.5).to_xarray()
        rate = run.fork_bend_rate.values
        t = run.time.values
        early, late = (np.abs(rate[(t >= a) & (t <= a + 0.3)]).max() for a in (0.5, 1.2))
        assert (late > early) == grows
        expected = machine.eigenmodes([8.0]).mode("wobble").real[0]
        assert math.log(late / early) / 0.7 == pytest.approx(expected, abs=0.5)
