"""Tracked eigenmodes of two-wheelers: eigenvectors belong to their eigenvalues, pairs are ordered."""

import numpy as np
import pytest

import draisine
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.scenario.library import load


def leaning_rider():
    return load("moore2012/leaning-rider").plan.system


@pytest.mark.parametrize(
    "machine",
    [leaning_rider, lambda: draisine.compile("motorcycle", tyres="sharp_tyre")],
    ids=["leaning rider", "motorcycle"],
)
def test_eigenvectors_belong_to_eigenvalues_and_the_upper_one_of_a_pair_is_first(machine):
    two_wheeler = TwoWheeler(machine())
    # Below 1.5 m/s two real modes of different names form a pair
    speeds = np.concatenate([np.linspace(0.3, 2.0, 18), np.linspace(3.0, 30.0, 10)])
    modes = two_wheeler.eigenmodes(speeds)
    matrices, states = two_wheeler.matrices(speeds)
    assert states == modes.states
    residual = matrices @ modes.vectors - modes.vectors * modes.values[:, None, :]
    assert np.abs(residual).max() < 1e-12 * np.abs(matrices).max()
    for values in modes.values:
        for k in np.flatnonzero(values.imag < -1e-9):
            assert np.abs(values[:k] - values[k].conj()).min() < 1e-9 * abs(values[k])
