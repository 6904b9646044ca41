"""Eigenvalues of machines that are no bicycles, about their steady motions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile, eigenvalues
from draisine.analysis.eigenmodes import steady_modes
from draisine.errors import ParameterError


def test_a_disc_that_rolls_upright_is_gyroscopically_stable_beyond_a_speed():
    """A thin uniform disc: lambda^2 = 4/5 (g/r - 3 v^2/r^2), beside two zeros (Routh)."""
    disc, v = compile("rolling_disc"), np.array([0.0, 1.0, 2.0])
    r, g = disc.parameters["radius"], disc.parameters["g"]
    wanted = np.sqrt(0.8 * (g / r - 3.0 * (v / r) ** 2) + 0j)
    modes = eigenvalues(disc, v)
    assert_allclose(np.abs(modes.mode("lean")), np.abs(wanted), rtol=1e-9)
    assert_allclose(modes.mode("lean") ** 2, wanted**2, rtol=1e-9)
    assert (modes.values[:, 2:] == 0.0).all()


def test_trailers_follow_within_their_lengths():
    """Behind a car at speed v hitches decay with v over the lengths, the steer over the wheelbase."""
    car = compile("car_with_trailers", wheelbase=1.2, lengths=(1.0, 0.8))
    modes, (motion,) = steady_modes(car, 2.0)
    assert_allclose(np.sort(modes.values[0].real), [-2.5, -2.0, -2.0 / 1.2, 0.0, 0.0], atol=1e-9)
    assert_allclose(motion.values["forward_speed"], 2.0, rtol=1e-12)


def test_a_machine_without_a_speed_has_one_motion():
    with pytest.raises(ParameterError, match="cart_pole has no forward_speed"):
        steady_modes(compile("cart_pole"), [0.0, 1.0])
