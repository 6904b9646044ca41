"""Numbers of a whole motion: their derivatives are those of differences, and of closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.metrics import REDUCERS, metric_gradient
from draisine.errors import ParameterError

T = np.linspace(0.0, 3.0, 61)


def motion(size, decay, pace):
    """Return a decaying oscillation and its derivatives by its parameters."""
    cosine = np.cos(pace * T + 0.3)
    sine = np.sin(pace * T + 0.3)
    x = size * np.exp(-decay * T) * cosine
    return x, np.column_stack([x / size, -T * x, -size * np.exp(-decay * T) * T * sine])


@pytest.mark.parametrize("reducer", [*REDUCERS, "time when"])
def test_derivatives_are_those_of_differences(reducer):
    at = np.array([0.7, 0.4, 2.0])
    h = 3e-5
    x, dx = motion(*at)
    if reducer.startswith("time of"):
        with pytest.raises(ParameterError, match="Use the time at which the rate is zero"):
            metric_gradient(reducer, 0.0, T, x, dx)
        return
    _, found = metric_gradient(reducer, 0.1, T, x, dx)
    for k, slope in enumerate(found):
        ends = [
            metric_gradient(reducer, 0.1, T, *motion(*(at + d * np.eye(3)[k])))[0] for d in (h, -h)
        ]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-8)


def test_a_decay_has_the_derivatives_of_its_closed_form():
    """Of exp(-s t) the rate is s itself, however large the motion is; sampled, to fourth order."""
    t = np.linspace(0.0, 2.0, 2001)
    x = 0.3 * np.exp(-0.5 * t)
    value, slopes = metric_gradient("decay rate of", 0.0, t, x, np.column_stack([x / 0.3, -t * x]))
    assert value == pytest.approx(0.5, abs=1e-9)
    assert_allclose(slopes, [0.0, 1.0], atol=1e-6)
    value, slopes = metric_gradient("time when", 0.2, t, x, np.column_stack([x / 0.3, -t * x]))
    when = np.log(1.5) / 0.5
    assert value == pytest.approx(when, abs=1e-11)
    assert_allclose(slopes, [1 / (0.5 * 0.3), -when / 0.5], rtol=1e-8)


def test_missing_crossing_is_nan():
    x, dx = motion(0.1, 0.4, 2.0)
    value, slopes = metric_gradient("time when", 5.0, T, x, dx)
    assert np.isnan(value) and np.isnan(slopes).all()


def test_metrics_of_a_ride():
    """The largest lean of a bicycle after a push, by its trail: the same from runs beside it."""
    bicycle = draisine.compile("whipple")
    start = {"forward_speed": 5.0, "lean_rate": 0.2}
    times = np.linspace(0.0, 1.0, 51)
    h = 1e-5
    found = draisine.gradient(bicycle, start, times, ["lean", "lean_rate"], ["c"])
    own = bicycle.parameters["c"]
    for question in ("maximum lean", "time when lean_rate = 0"):
        ends = [
            draisine.gradient(
                bicycle.with_parameters(c=own + d), start, times, ["lean", "lean_rate"], []
            ).metric(question)[0]
            for d in (h, -h)
        ]
        slope = found.metric(question)[1][0]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)
        assert abs(slope) > 0.01
    with pytest.raises(ParameterError, match=r"Unknown metric .* of the outputs lean, lean_rate"):
        found.metric("largest lean")


def test_a_short_window_hides_a_mode_that_grows_slowly():
    """Of exp(-2 t) + 0.02 exp(0.1 t) the rate is positive at first, and tends to the growth in the end."""
    rates = []
    for until in (3.0, 20.0, 200.0):
        t = np.linspace(0.0, until, 20001)
        rates.append(REDUCERS["decay rate of"](t, np.exp(-2.0 * t) + 0.02 * np.exp(0.1 * t)))
    assert rates[0] > 0.5 and rates[0] > rates[1] > rates[2]
    assert rates[2] == pytest.approx(-0.1, rel=0.01)
