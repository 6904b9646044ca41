"""Eigenvalues of machines other than bicycles, about their steady motions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from draisine import compile, eigenvalues, load, plot, save
from draisine.analysis.eigenmodes import steady_modes
from draisine.errors import ParameterError


def test_a_disc_that_rolls_upright_is_gyroscopically_stable_beyond_a_speed():
    """A thin uniform disc: lambda^2 = 4/5 (g/r - 3 v^2/r^2), beside two zeros (Routh)."""
    disc = compile("rolling_disc")
    v = np.array([0.0, 1.0, 2.0])
    r = disc.parameters["radius"]
    g = disc.parameters["g"]
    wanted = np.sqrt(0.8 * (g / r - 3.0 * (v / r) ** 2) + 0j)
    modes = eigenvalues(disc, v)
    assert_allclose(np.abs(modes.mode("lean")), np.abs(wanted), rtol=1e-9)
    assert_allclose(modes.mode("lean") ** 2, wanted**2, rtol=1e-9)
    assert (modes.values[:, 2:] == 0.0).all()


def test_trailers_follow_within_their_lengths():
    """Behind a car at speed v, hitch angles decay at the rate v / length, the steer angle at v /
    wheelbase.
    """
    car = compile("car_with_trailers", wheelbase=1.2, lengths=(1.0, 0.8))
    modes, (motion,) = steady_modes(car, 2.0)
    assert_allclose(np.sort(modes.values[0].real), [-2.5, -2.0, -2.0 / 1.2, 0.0, 0.0], atol=1e-9)
    assert_allclose(motion.values["forward_speed"], 2.0, rtol=1e-12)


def test_machines_with_two_contacts_that_cannot_lean_are_not_two_wheelers():
    """Without springs and weight, time scales with speed. Eigenvalues of a roller racer are
    proportional to speed; those of a snakeboard, whose trucks have no restoring torque, are
    zero.
    """
    racer = eigenvalues(compile("roller_racer"), [1.0, 2.0])
    assert racer.names == ("arm", "arm", "Vx")
    assert_allclose(racer.values[1], 2.0 * racer.values[0], rtol=1e-12)
    assert racer.mode("arm")[0].real > 0.0
    assert (eigenvalues(compile("snakeboard"), [1.0, 2.0]).values == 0.0).all()


def test_a_machine_without_a_speed_has_one_motion():
    with pytest.raises(ParameterError, match="cart_pole has no forward_speed"):
        steady_modes(compile("cart_pole"), [0.0, 1.0])


def test_eigenmodes_are_kept_and_drawn_like_runs(tmp_path):
    """Loaded and plotted values equal the eigenvalues."""
    modes = eigenvalues(compile("whipple"), np.linspace(0.0, 10.0, 21))
    modes.save(tmp_path / "modes.nc")
    data = load(tmp_path / "modes.nc")
    assert_array_equal(data["eigenvalue_real"], modes.values.real)
    assert_array_equal(
        data["eigenvalue_imaginary"].sel(eigenmode="weave_2"), modes.values.imag[:, 1]
    )
    capsize = next(x for x in modes.plot().lines if x.get_label() == "capsize, real")
    assert_array_equal(capsize.get_ydata(), modes.mode("capsize").real)
    plot(modes, path=tmp_path / "modes.png")
    assert (tmp_path / "modes.png").stat().st_size > 0


def test_a_sweep_has_axes_of_its_own():
    modes = eigenvalues(compile("whipple"), [3.0, 5.0], w=np.array([1.0, 1.1, 1.2]))
    assert modes.to_xarray()["eigenvalue_real"].dims == ("sweep_0", "speed", "eigenmode")
    with pytest.raises(ParameterError, match="one at a time"):
        modes.plot()


def test_other_objects_are_neither_plotted_nor_saved(tmp_path):
    with pytest.raises(ParameterError, match=r"3\.0 is not a result"):
        plot(3.0)
    with pytest.raises(ParameterError, match="not a result"):
        save([1.0], tmp_path / "x.nc")
