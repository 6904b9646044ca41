"""Machines on tyres compared with published eigenvalues: Sharp's motorcycle, the trailing wheel."""

import numpy as np
import pytest

import draisine
from draisine.analysis.bicycle.eigenvalues import eigenvalues
from draisine.analysis.linear import linearise
from draisine.errors import ParameterError

FOOT = 0.3048

# Sharp 1971, doi:10.1243/JMES_JOUR_1971_013_051_02, table of roots at so many ft/s: capsize, then
# real and imaginary parts of weave and wobble, as printed.
PUBLISHED = {
    10: ("-3.56", "2.01", "1.63", "-5.20", "55.7"),
    20: ("-2.83", "-0.18", "2.09", "-5.91", "55.8"),
    30: ("-0.13", "-3.36", "4.56", "-6.42", "55.5"),
    50: ("0.08", "-6.59", "11.4", "-6.52", "54.6"),
    70: ("0.08", "-3.97", "16.8", "-5.70", "54.0"),
    100: ("0.07", "-1.82", "19.2", "-3.94", "54.3"),
    130: ("0.05", "-1.13", "20.4", "-2.24", "55.6"),
    160: ("0.04", "-0.96", "21.2", "-0.82", "57.5"),
}

# Independent computation from the linear equations of the paper, g = 9.81 m/s2.
RECOMPUTED = {
    10: [-20.042571, -5.312226 + 40.865610j, -5.203622 + 55.680434j, -3.562540, 2.013997 + 1.639908j],
    20: [-29.453224, -10.578922 + 38.929658j, -5.908367 + 55.779757j, -2.843662, -0.168676 + 2.107865j],
    50: [-61.254695, -26.611807 + 19.722432j, -6.582365 + 11.384895j, -6.519391 + 54.589333j, 0.073009],
    100: [-122.484411, -111.935125, -19.740974, -3.937960 + 54.265422j, -1.817261 + 19.229673j, 0.062137],
}  # fmt: skip


@pytest.fixture(scope="module")
def motorcycle():
    """Return the motorcycle on the tyres of the paper."""
    return draisine.compile("motorcycle", tyres="sharp_tyre")


def roots(system, speed):
    return linearise(system, draisine.state(system, forward_speed=speed * FOOT)).eigenvalues()


@pytest.mark.parametrize("speed", RECOMPUTED)
def test_all_eight_roots_of_the_nonlinear_motorcycle(motorcycle, speed):
    """One more eigenvalue, that of the speed, is zero."""
    found = roots(motorcycle, speed)
    for root in RECOMPUTED[speed]:
        assert np.abs(found - root).min() < 2e-6
    assert np.abs(found).min() < 1e-9
    assert len(found) == 9


@pytest.mark.parametrize("speed", PUBLISHED)
def test_capsize_weave_and_wobble_as_printed(motorcycle, speed):
    capsize, weave, weave_im, wobble, wobble_im = PUBLISHED[speed]
    found = roots(motorcycle, speed)
    for text, value in (
        (capsize, found[np.abs(found - float(capsize)).argmin()].real),
        *_pair(found, weave, weave_im),
        *_pair(found, wobble, wobble_im),
    ):
        last = 10.0 ** -len(text.partition(".")[2])
        assert abs(float(text) - value) < max(0.02, 0.6 * last)


def _pair(found, real, imaginary):
    root = found[np.abs(found - complex(float(real), float(imaginary))).argmin()]
    return (real, root.real), (imaginary, root.imag)


def test_pitch_inertia_does_not_matter_for_straight_running(motorcycle):
    other = motorcycle.with_parameters(Iry=15.0, Ify=1.55)
    a = np.sort_complex(roots(motorcycle, 50))
    b = np.sort_complex(roots(other, 50))
    assert np.abs(a - b).max() < 1e-7


def test_static_loads_are_the_papers(motorcycle):
    """The front load is printed as 226 lb."""
    state = draisine.state(motorcycle, forward_speed=10.0)
    data = draisine.simulate(motorcycle, state, 0.01).to_xarray()
    front = float(data.contact_force.isel(time=0).sel(contact="front", direction="normal"))
    assert front / 4.44822 == pytest.approx(226.0, abs=0.5)


@pytest.mark.parametrize("case", [{}, {"e": 0.25, "k": 0.0}, {"kappa": 40.0, "V": 3.0, "e": 0.02}])
def test_the_trailing_wheel_obeys_its_cubic(case):
    system = draisine.compile("trailing_wheel").with_parameters(**case)
    p = dict(system.parameters)
    inertia = p["moment"]
    sigma = p["sigma"]
    V = p["V"]
    k = p["k"]
    C = p["C"]
    e = p["e"]
    kappa = p["kappa"]
    cubic = [inertia * sigma, inertia * V + k * sigma]
    cubic += [k * V + C * e * e + kappa * sigma, (C * e + kappa) * V]
    found = linearise(system, draisine.state(system)).eigenvalues()
    wanted = np.roots(cubic)
    assert max(np.abs(found - root).min() for root in wanted) < 1e-9 * np.abs(wanted).max()


@pytest.mark.parametrize("upper", [True, False])
def test_the_trailing_wheel_shimmies_between_two_trails(upper):
    """At the borders of stability, by Hurwitz, two roots of the cubic are imaginary."""
    V = 10.0
    k = 2.0
    C = 5000.0
    sigma = 0.2
    system = draisine.compile("trailing_wheel").with_parameters(V=V, k=k, C=C, sigma=sigma)
    borders = np.roots([C * (V + k * sigma), -sigma * C * V, k * V * (V + k * sigma)]).real

    def growth(trail):
        there = system.with_parameters(e=trail)
        return linearise(there, draisine.state(there)).eigenvalues().real.max()

    border = borders.max() if upper else borders.min()
    assert abs(growth(border)) < 1e-9
    assert (growth(1.001 * border) < 0) == upper
    assert (growth(0.999 * border) > 0) == upper


def test_eigenmodes_are_named_by_following_them(motorcycle):
    """Weave swings faster and faster, wobble stays near 55 rad/s, capsize is slow; at rest the tyres
    are springs."""
    modes = eigenvalues(motorcycle, FOOT * np.array(list(PUBLISHED)))
    assert modes.names[:5] == ("weave", "weave", "wobble", "wobble", "capsize")
    assert modes.names[5:] == ("castering", "tyre", "tyre")
    assert modes.values[0, 6] == np.conj(modes.values[0, 7]) != modes.values[0, 7]
    for name, real, imaginary in (("capsize", 0, None), ("weave", 1, 2), ("wobble", 3, 4)):
        printed = np.array([[float(x) for x in row] for row in PUBLISHED.values()])
        assert np.abs(modes.mode(name).real - printed[:, real]).max() < 0.02
        if imaginary:
            assert np.abs(modes.mode(name).imag - printed[:, imaginary]).max() < 0.06
    with pytest.raises(ParameterError, match="compute one machine at a time"):
        eigenvalues(motorcycle, [5.0], K=[0.0, 1.0])
