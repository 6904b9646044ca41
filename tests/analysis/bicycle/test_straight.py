"""Straight running of the bicycle: canonical matrices, eigenvalues, critical speeds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from analysis.published import (
    AT_REST,
    CAPSIZE_SPEED,
    DOUBLE_SPEED,
    DOUBLE_VALUE,
    EXACT,
    MATRICES,
    OTHER_BICYCLES,
    PUBLISHED,
    REVERSED_START,
    WEAVE_FREQUENCY,
    WEAVE_SPEED,
    appendix_a,
)
from draisine import compile, state
from draisine.analysis.bicycle.critical import critical_speeds, critical_speeds_of
from draisine.analysis.bicycle.eigenvalues import eigenvalues
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.eigenmodes import track_eigenvalues
from draisine.analysis.linear import linearise
from draisine.errors import ConfigurationError, ModelError, ParameterError, UnknownNameError
from draisine.vehicles import parameter_set, parameter_sets

BICYCLE = compile("whipple")


def test_the_benchmark_has_its_matrices() -> None:
    found = canonical_matrices(BICYCLE)
    for name, exact in MATRICES.items():
        assert_allclose(getattr(found, name), exact, rtol=1e-13, atol=1e-13)
    assert_allclose(found.C0, 0.0, atol=1e-13)


@pytest.mark.parametrize("name", parameter_sets("whipple"))
def test_every_set_has_the_matrices_of_appendix_a(name: str) -> None:
    p = parameter_set("whipple", name)
    found = canonical_matrices(BICYCLE, **p)
    for key, exact in appendix_a(p).items():
        assert_allclose(getattr(found, key), exact, rtol=1e-11, atol=1e-12 * np.abs(exact).max())


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0.7, 1.3), min_size=26, max_size=26))
def test_random_bicycles_have_the_matrices_of_appendix_a(factors: list[float]) -> None:
    """The moments of inertia of a body are scaled together, so that they stay physically valid."""
    by_name = dict(zip(BICYCLE.parameters, factors, strict=True))
    bodies = {name[:2]: by_name[name] for name in by_name if name[0] == "I"}
    p = {k: x * bodies.get(k[:2], by_name[k]) for k, x in BICYCLE.parameters.items()}
    found = canonical_matrices(BICYCLE, **p)
    for key, exact in appendix_a(p).items():
        assert_allclose(getattr(found, key), exact, rtol=1e-10, atol=1e-12 * np.abs(exact).max())


def test_a_sweep_is_many_bicycles() -> None:
    masses = np.array([60.0, 85.0, 100.0])[:, None]
    trails = np.array([0.02, 0.08])
    swept = canonical_matrices(BICYCLE, mB=masses, c=trails)
    assert swept.M.shape == (3, 2, 2, 2)
    one = canonical_matrices(BICYCLE.with_parameters(mB=100.0, c=0.02))
    for name in ("M", "C1", "K0", "K2"):
        assert_allclose(getattr(swept[2, 0], name), getattr(one, name), rtol=1e-12, atol=1e-12)
    speeds = critical_speeds(BICYCLE, mB=masses, c=trails)
    assert speeds.weave.shape == (3, 2)
    assert_allclose(speeds.weave[2, 0], critical_speeds_of(one).weave, rtol=1e-12)


def test_eigenvalues_are_exact_at_rest() -> None:
    values = eigenvalues(BICYCLE, 0.0).values[0]
    assert_allclose(np.sort(values.real), AT_REST, rtol=0, atol=1e-12)
    assert_allclose(values.imag, 0.0, atol=1e-12)


@pytest.mark.parametrize("table", [EXACT, PUBLISHED], ids=["exact", "published"])
def test_eigenvalues_are_those_of_the_table(table: dict[int, tuple[float, ...]]) -> None:
    modes = eigenvalues(BICYCLE, list(table))
    rows = np.array(list(table.values()))
    assert_allclose(modes.mode("weave").real, rows[:, 0], rtol=0, atol=1e-12)
    assert_allclose(modes.mode("weave").imag, rows[:, 1], rtol=0, atol=1e-12)
    assert_allclose(modes.mode("capsize"), rows[:, 2], rtol=0, atol=1e-12)
    assert_allclose(modes.mode("castering"), rows[:, 3], rtol=0, atol=1e-12)
    assert_allclose(modes.values[:, 1], np.conj(modes.values[:, 0]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", list(OTHER_BICYCLES))
def test_eigenvalues_of_other_bicycles(name: str) -> None:
    table, (weave, capsize) = OTHER_BICYCLES[name]
    p = parameter_set("whipple", name)
    modes = eigenvalues(BICYCLE, list(table), **p)
    for values, exact in zip(modes.values, table.values(), strict=True):
        assert_allclose(np.sort_complex(values), np.sort_complex(exact), rtol=0, atol=1e-12)
    speeds = critical_speeds(BICYCLE, **p)
    assert_allclose([speeds.weave, speeds.capsize], [weave, capsize], rtol=1e-13)


def test_critical_speeds_have_twelve_digits_and_more() -> None:
    speeds = critical_speeds(BICYCLE)
    assert_allclose(speeds.weave, WEAVE_SPEED, rtol=1e-13)
    assert_allclose(speeds.weave_frequency, WEAVE_FREQUENCY, rtol=1e-13)
    assert_allclose(speeds.capsize, CAPSIZE_SPEED, rtol=1e-13)
    assert_allclose(speeds.double_root, DOUBLE_SPEED, rtol=1e-13)
    assert_allclose(speeds.double_value, DOUBLE_VALUE, rtol=1e-13)
    assert (speeds.stable_from, speeds.stable_to) == (speeds.weave, speeds.capsize)


@pytest.mark.parametrize("name", parameter_sets("whipple"))
def test_the_stable_range_is_where_eigenvalues_are_damped(name: str) -> None:
    p = parameter_set("whipple", name)
    speeds = critical_speeds(BICYCLE, **p)
    low = float(speeds.stable_from)
    high = min(float(speeds.stable_to), 20.0)
    modes = eigenvalues(BICYCLE, [0.99 * low, 1.01 * low, 0.99 * high, 1.01 * high], **p)
    assert modes.stable[:3].tolist() == [False, True, True]
    assert modes.stable[3] == (speeds.stable_to > 1.01 * high)

    def growth(v: float) -> float:
        return float(eigenvalues(BICYCLE, v, **p).mode("weave")[0].real)

    assert_allclose(brentq(growth, 0.9 * low, 1.1 * low, xtol=1e-12), speeds.weave, rtol=1e-10)


def followed_changes(p: dict[str, float]) -> dict[str, list[float]]:
    """Return the speeds at which the number of unstable eigenvalues changes, by mode name.

    The changing eigenvalue is tracked upwards in small steps to the speed at which modes are named.
    """
    m = appendix_a(p)
    v = np.arange(0.05, 13.0, 0.004)
    K, C = (np.array([part * x**n for x in v]) for part, n in ((m["K2"], 2), (m["C1"], 1)))
    lower = -np.linalg.solve(m["M"], np.concatenate([p["g"] * m["K0"] + K, C], axis=2))
    upper = np.broadcast_to(np.eye(2, 4, 2), lower.shape)
    values = np.linalg.eigvals(np.concatenate([upper, lower], axis=1))
    found: dict[str, list[float]] = {"weave": [], "capsize": [], "castering": []}
    for k in np.flatnonzero(np.diff((values.real > 0).sum(axis=1))):
        s = values[k + 1, np.abs(values[k + 1].real).argmin()]
        for row in values[k + 2 :]:
            s = row[np.abs(row - s).argmin()]
        firm = values[-1][np.abs(values[-1].imag) < 1e-9]
        name = "weave" if abs(s.imag) > 1e-9 else "capsize"
        found["castering" if name == "capsize" and abs(s) > np.abs(firm).min() else name] += [v[k]]
    return found


@pytest.mark.parametrize("lam", [0.0, 0.15, math.pi / 10, 0.6])
@pytest.mark.parametrize("c", [-0.06, -0.02, -0.01, 0.0, 0.03, 0.25])
def test_critical_speeds_are_called_like_the_eigenmodes_that_change_there(c, lam) -> None:
    bicycle = BICYCLE.with_parameters(c=c, lam=lam)
    speeds = critical_speeds(bicycle)
    brute = followed_changes(bicycle.parameters)
    for name in ("weave", "capsize"):
        speed = float(getattr(speeds, name))
        assert np.isnan(speed) == (not brute[name]), (name, brute)
        if brute[name]:
            assert min(abs(x - speed) for x in brute[name]) < 0.005
            assert_allclose(eigenvalues(bicycle, speed).mode(name).real, 0.0, atol=1e-9)
    if brute["weave"]:
        swing = eigenvalues(bicycle, speeds.weave).mode("weave").imag
        assert_allclose(np.abs(swing), speeds.weave_frequency, atol=1e-9)


def test_a_weave_speed_may_be_that_of_a_real_eigenvalue() -> None:
    """As the trail shrinks, the frequency at the weave speed tends to zero, and the pair
    continuously becomes two real eigenvalues; beyond, there is no capsize speed.
    """
    trails = np.linspace(-0.015, 0.0, 61)
    speeds = critical_speeds(BICYCLE, c=trails)
    still = speeds.weave_frequency == 0.0
    assert still[0] and not still[-1] and np.abs(np.diff(still.astype(int))).sum() == 1
    assert (np.isnan(speeds.capsize) == still).all()
    assert np.abs(np.diff(speeds.weave)).max() < 0.05


def test_a_reversed_handlebar_has_its_own_capsize_speed() -> None:
    matrices = canonical_matrices(BICYCLE, about={"steer": math.pi})
    assert_allclose(critical_speeds_of(matrices).capsize, REVERSED_START["speed"], rtol=1e-12)


def test_two_masses_on_skates_are_stable_without_trail_or_spin() -> None:
    """Kooijman et al. 2011, doi:10.1126/science.1201959: stable at all speeds above some 2.8 m/s."""
    p = parameter_set("whipple", "two_mass_skate")
    assert p["c"] == p["IRyy"] == p["IFyy"] == 0.0
    speeds = critical_speeds(BICYCLE, **p)
    assert 2.8 < speeds.weave < 2.9
    assert math.isnan(speeds.capsize)
    assert speeds.stable_to == np.inf
    assert np.all(eigenvalues(BICYCLE, [3.0, 10.0, 30.0], **p).stable)


def test_modes_are_continuous_and_keep_their_names() -> None:
    v = np.linspace(0.0, 15.0, 601)
    modes = eigenvalues(BICYCLE, v)
    pair = np.abs(modes.mode("weave").imag) > 0
    assert_allclose(v[pair][0], DOUBLE_SPEED, atol=0.025)
    steps = np.abs(np.diff(modes.values, axis=0))
    assert steps[:, 2:].max() < 0.1
    assert steps[v[:-1] > 0.75].max() < 0.2
    alone = [eigenvalues(BICYCLE, x).values[0] for x in v[::100]]
    assert_allclose(alone, modes.values[::100], atol=1e-10)


def test_eigenvectors_belong_to_the_eigenvalues() -> None:
    v = np.array([0.3, 2.0, 5.0, 9.0])
    modes = eigenvalues(BICYCLE, v)
    A = canonical_matrices(BICYCLE).A(v)
    left = A @ modes.vectors - modes.vectors * modes.values[:, None, :]
    assert_allclose(left, 0.0, atol=1e-11)
    assert_allclose(np.abs(modes.vectors[:, :2]).max(axis=1), 1.0, atol=1e-12)


def test_the_matrices_are_those_of_the_linear_system() -> None:
    v = np.array([0.0, 2.5, 7.0])
    linear = linearise(BICYCLE, [state(BICYCLE, forward_speed=x) for x in v])
    assert linear.states[:4] == ("lean", "steer", "lean_rate", "steer_rate")
    turn = np.array([1.0, -1.0, 1.0, -1.0])
    ours = linear.A[:, :4, :4] * turn[:, None] * turn
    assert_allclose(ours, canonical_matrices(BICYCLE).A(v), rtol=1e-11, atol=1e-11)
    assert_allclose(linear.A[:, 4, :], 0.0, atol=1e-12)
    assert_allclose(linear.A[:, :, 4], 0.0, atol=1e-12)


def test_tracking_follows_crossings_of_many() -> None:
    t = np.linspace(0.0, 1.0, 200)
    paths = np.stack([t, 1.05 - t + 0.3j, 2 + 1j * t, 2 - 1j * t, -3 + 0 * t], axis=1)
    rng = np.random.default_rng(0)
    mixed = np.array([row[rng.permutation(5)] for row in paths])
    followed = np.take_along_axis(mixed, track_eigenvalues(mixed), axis=1)
    first = [int(np.argmin(np.abs(followed[0] - x))) for x in paths[0]]
    assert len(set(first)) == 5 or np.allclose(paths[0, 2], paths[0, 3])
    assert np.abs(np.diff(followed, axis=0)).max() < 0.02


def test_machines_without_canonical_matrices_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="has no canonical matrices"):
        canonical_matrices(compile("rolling_disc"))
    with pytest.raises(ConfigurationError, match="level ground"):
        canonical_matrices(compile("whipple", slope=0.05))
    tyre = {"name": "load_tyre", "parameter_set": "city_bicycle"}
    with pytest.raises(
        ConfigurationError, match=r"tyres have 4 states .* critical_speeds\(system\)"
    ):
        canonical_matrices(compile("whipple", rear_tyre=tyre, front_tyre=tyre))
    with pytest.raises(ParameterError, match="mB"):
        canonical_matrices(BICYCLE, mb=80.0)
    with pytest.raises(UnknownNameError, match="wobble"):
        eigenvalues(BICYCLE, 5.0).mode("wobble")


@pytest.mark.parametrize(
    ("swept", "message"),
    [
        ({"IBxx": -5.0}, "IBxx = -5: body 'frame': inertia is not positive semidefinite"),
        ({"mB": np.array([80.0, -5.0])}, "mB = -5: body 'frame': mass -5.0 kg is negative"),
        ({"mB": np.linspace(-1.0, 80.0, 1000)}, "mass -1.0 kg is negative"),
        ({"IHzz": np.r_[np.full(500, 0.007), -0.1, np.linspace(0.007, 0.01, 99)]}, "IHzz = -0.1"),
        ({"lam": 18.0}, "18 rad is more than a turn; degrees are written '18deg'"),
        ({"c": [0.08, np.nan]}, "c: .* is not finite"),
        ({"trail": 0.1}, r"no parameter 'trail'. Did you mean c \(trail\)"),
    ],
)
def test_sweeps_reject_the_parameters_that_compile_rejects(swept, message):
    """Parameters that `compile` rejects are rejected in a sweep of one or of many values."""
    for ask in (critical_speeds, lambda b, **sweep: eigenvalues(b, [5.0], **sweep)):
        with pytest.raises(ParameterError, match=message):
            ask(BICYCLE, **swept)
    if np.ndim(next(iter(swept.values()))) == 0:
        for ask in (BICYCLE.with_parameters, lambda **one: compile("whipple", **one)):
            with pytest.raises(
                (ParameterError, ModelError), match=message.rpartition("body 'frame'")[2]
            ):
                ask(**swept)


def test_angles_are_written_in_degrees_everywhere():
    assert critical_speeds(BICYCLE, lam="18deg").weave == critical_speeds(BICYCLE).weave
    assert BICYCLE.with_parameters(lam="18deg").parameters["lam"] == math.radians(18)
