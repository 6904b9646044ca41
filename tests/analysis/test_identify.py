"""Motions with exact derivatives, and parameters fitted to recordings of them."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.gradient import GradientRun
from draisine.analysis.identify import Recording, identify
from draisine.errors import ParameterError
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.vehicles.bicycle import Flexible

START = {"forward_speed": 5.0, "lean_rate": 0.2, "steer": 0.02}
TRUTH = {"c": 0.08, "front_tyre_cornering": 9000.0, "flexible_steer_friction": 0.02}
TIME = np.linspace(0.0, 1.5, 31)


@pytest.fixture(scope="module")
def bicycle():
    """On tyres, with friction in its steering."""
    tyre = LinearTyre(9000.0, 0.0, 0.15)
    return draisine.compile(
        "whipple", rear_tyre=tyre, front_tyre=tyre, flexible=Flexible(steer_friction=0.02)
    )


@pytest.fixture(scope="module")
def run(bicycle):
    unknowns = ["c", "flexible_steer_friction", "lam", "steer"]
    return GradientRun(["lean_rate", "steer"], unknowns, numerics=draisine.Numerics())


def test_derivatives_are_those_of_differences(bicycle, run):
    """Parameters move the start, too: contacts close elsewhere, wheels turn otherwise."""
    times = np.array([0.0, 0.1, 0.2])
    exact = run(bicycle, START, times).derivatives
    for k, name in enumerate(run.unknowns):
        inside = name in bicycle.parameters
        middle = bicycle.parameters[name] if inside else START[name]
        h = 1e-5 * max(1.0, abs(middle))
        ends = []
        for x in (middle + h, middle - h):
            system = bicycle.with_parameters(**{name: x}) if inside else bicycle
            start = START if inside else START | {name: x}
            ends.append(run(system, start, times).values)
        assert_allclose(exact[..., k], (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-7)


@pytest.fixture(scope="module")
def ridden(bicycle):
    numerics = draisine.Numerics(dt=0.05)
    return draisine.simulate(bicycle, draisine.state(bicycle, **START), 1.5, numerics=numerics)


def test_what_made_a_ride_is_found_again(bicycle, ridden):
    data = ridden.to_xarray()
    told = [
        Recording("lean_rate", TIME, data.lean_rate.values, 0.01),
        Recording("steer", TIME, data["shape"].sel(joint="steer").values + 0.1, 0.01, drifts=True),
    ]
    wrong = {"c": 0.07, "front_tyre_cornering": 7000.0, "flexible_steer_friction": 0.01}
    found = identify(bicycle.with_parameters(**wrong), START, told, list(TRUTH))
    assert_allclose(found.values[:3], list(TRUTH.values()), rtol=2e-3)
    assert found.values[3] == pytest.approx(0.1, abs=1e-6)
    assert found.left < 1e-4
    assert found.system.parameters["c"] == found.values[0]


def test_the_interval_is_that_of_least_squares(bicycle, ridden):
    """One unknown: its deviation is that of the noise over the size of the model's derivative, here by
    differences of other runs; the interval is Student's."""
    clean = ridden.to_xarray().lean_rate.values
    noise = 0.01 * np.random.default_rng(3).standard_normal(len(TIME))
    noisy = Recording("lean_rate", TIME, clean + noise, 0.01)
    found = identify(bicycle, START, [noisy], ["c"])
    ends = []
    for c in (0.081, 0.079):
        other = bicycle.with_parameters(c=c)
        start = draisine.state(other, **START)
        run = draisine.simulate(other, start, 1.5, numerics=draisine.Numerics(dt=0.05))
        ends.append(run.to_xarray().lean_rate.values)
    slope = np.linalg.norm((ends[0] - ends[1]) / 0.002)
    spread = np.linalg.norm(found.fitted[0] - noisy.value) / np.sqrt(len(TIME) - 1)
    assert found.deviations[0] == pytest.approx(spread / slope, rel=0.02)
    low, high = found.interval("c")
    assert (high - low) / 2 == pytest.approx(2.042 * found.deviations[0], rel=1e-3)  # t of 30, 95 %
    assert abs(found.values[0] - 0.08) < 4 * found.deviations[0]
    assert found.left == pytest.approx(1.0, abs=0.4)


def test_what_cannot_be_fitted_is_told(bicycle):
    told = [Recording("lean_rate", TIME, 0.0 * TIME)]
    with pytest.raises(ParameterError, match=r"value 'trail'. Did you mean c \(trail\)"):
        identify(bicycle, START, told, ["trail"])
    with pytest.raises(ParameterError, match="no output 'leanrate'"):
        identify(bicycle, START, [Recording("leanrate", TIME, TIME)], ["c"])
    with pytest.raises(ParameterError, match=r"'roll_rate'. Did you mean 'lean_rate'"):
        identify(bicycle, START, [Recording("roll_rate", TIME, TIME)], ["c"])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (([0, 1, 2], [1, 2]), "'lean_rate': 3 times and 2 values"),
        (([0, 1, 2], [1, np.nan, 2]), "1 of 3 values are no numbers, the first at 1 s"),
        (([0, 1, 1], [1, 2, 3]), "times do not rise"),
        (([0, 1], ["a", "b"]), "values are not numbers"),
        (([0, 1], [1, 2], 0.0), "deviation = 0.0 is no number greater than zero"),
    ],
)
def test_recordings_are_checked_where_they_are_made(given, told):
    with pytest.raises(ParameterError, match=told):
        Recording("lean_rate", *given)


def test_a_fit_is_told_in_a_line_for_each_unknown(bicycle, ridden):
    clean = ridden.to_xarray().lean_rate.values
    noise = 0.01 * np.random.default_rng(3).standard_normal(len(TIME))
    found = identify(
        bicycle, START, [Recording("lean_rate", TIME, clean + noise, 0.01)], ["c", "lean_rate"]
    )
    first, trail, start = repr(found).splitlines()
    assert first.startswith("Fit of 31 samples: what is left is ")
    assert re.fullmatch(r"  c +0\.0\d+ \+- 0\.0\d+ m", trail)
    assert re.fullmatch(r"  lean_rate +0\.\d+ \+- 0\.0\d+ rad/s", start)
