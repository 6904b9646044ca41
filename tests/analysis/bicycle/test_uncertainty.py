"""Uncertain parameters: exact first order compared with differences and with samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.bicycle.eigenvalues import eigenvalues
from draisine.analysis.bicycle.uncertainty import derivatives, sample, spread
from draisine.control.balance_assist import BalanceAssist
from draisine.control.steer_into_lean import SteerIntoLean
from draisine.errors import ConfigurationError, ParameterError
from draisine.vehicles import parameter_deviations

SPEED = np.array([3.0, 4.0])


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple", parameter_set="balance_assist")


@pytest.mark.parametrize("law", [None, BalanceAssist(gain=3.9)])
def test_derivatives_are_those_of_differences(bicycle, law):
    modes = eigenvalues(bicycle, SPEED, law=law)
    exact = derivatives(bicycle, modes, law)
    for name in ("c", "lam", "IBxx", "xH"):
        p = bicycle.parameters[name]
        h = 1e-5 * abs(bicycle.parameters[name])
        ends = [
            eigenvalues(bicycle.with_parameters(**{name: p + way * h}), SPEED, law=law).values
            for way in (1.0, -1.0)
        ]
        k = list(bicycle.parameters).index(name)
        assert_allclose(exact[..., k], (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-5)


def test_samples_of_small_deviations_agree_with_the_first_order(bicycle):
    """A tenth of the measured deviations; 2000 samples determine a standard deviation to about 1.6
    %.
    """
    small = {k: 0.1 * x for k, x in parameter_deviations("whipple", "balance_assist").items()}
    found = spread(bicycle, small, SPEED)
    modes, critical = sample(bicycle, small, SPEED, 2000)
    weave = modes.mode("weave")
    assert_allclose(weave.real.std(axis=0), found.real[:, 0], rtol=0.05)
    assert_allclose(weave.imag.std(axis=0), found.imaginary[:, 0], rtol=0.05)
    assert critical.weave.std() == pytest.approx(found.critical["weave"], rel=0.05)
    assert critical.capsize.std() == pytest.approx(found.critical["capsize"], rel=0.05)


def test_laws_with_states_have_bands_too(bicycle):
    """Standard deviations by the exact linear systems. For the assist without states both methods
    agree; with a delay of 0.1 ms they nearly agree, and with 50 ms they agree with samples.
    """
    deviations = {"c": 0.002, "IBxx": 0.018}
    at_once = spread(bicycle, deviations, SPEED, SteerIntoLean(0.0, 6.0))
    soon = spread(bicycle, deviations, SPEED, SteerIntoLean(0.0, 6.0, delay=1e-4))
    late = spread(bicycle, deviations, SPEED, law := SteerIntoLean(0.0, 6.0, delay=0.05))
    assert_allclose(soon.real[:, :2], at_once.real[:, :2], rtol=2e-3)
    assert late.modes.values.shape[1] == at_once.modes.values.shape[1] + 2
    ends = [
        eigenvalues(bicycle.with_parameters(c=0.042 + way * 0.002), SPEED, law=law).mode("weave")
        for way in (0.5, -0.5)
    ]
    alone = spread(bicycle, {"c": 0.002}, SPEED, law)
    assert_allclose(alone.real[:, 0], np.abs((ends[0] - ends[1]).real), rtol=1e-2)


def test_invalid_samples_are_drawn_again_with_a_warning():
    """A third of the normal distribution has a negative moment; no such sample is returned."""
    benchmark = draisine.compile("whipple")
    with pytest.warns(
        UserWarning, match=r"0\.\d+ of the samples were physically invalid \(body 'fork'"
    ):
        _, critical = sample(benchmark, {"IHzz": 0.02}, SPEED, 200)
    assert np.isfinite(critical.weave).all()
    with pytest.raises(ParameterError, match=r"deviation of IHzz, -0\.1, must not be negative"):
        sample(benchmark, {"IHzz": -0.1}, SPEED, 10)


def test_invalid_deviations_are_refused(bicycle):
    with pytest.raises(ParameterError, match=r"no parameter 'trail'. Did you mean c \(trail\)"):
        spread(bicycle, {"trail": 0.1}, SPEED)
    soft = draisine.compile("whipple", flexible={"fork_bend": 3000.0})
    with pytest.raises(ParameterError, match="Use `spread`"):
        sample(soft, {"c": 0.01}, SPEED, 10)

    class Remembering(BalanceAssist):
        states = 1

        def __call__(self, readings, z):
            return super().__call__(readings, z)[0], [0.0]

    with pytest.raises(ConfigurationError, match="law without states"):
        derivatives(bicycle, eigenvalues(bicycle, SPEED), Remembering())
