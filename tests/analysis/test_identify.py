"""Identification of parameters from recorded motions, and their uncertainty."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import draisine
from draisine.analysis.gradient import GradientRun
from draisine.analysis.identify import Prior, Recording, Run, identify
from draisine.analysis.identify.noise import (
    LinearFit,
    NoiseModel,
    SampleBlock,
    count_effective_samples,
    durbin_watson_statistic,
)
from draisine.control import Step, Table, TimeInputs
from draisine.errors import ParameterError
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.model import Body, Model, Revolute
from draisine.vehicles.bicycle import Flexible

START = {"forward_speed": 5.0, "lean_rate": 0.2, "steer": 0.02}
TRUTH = {"c": 0.08, "front_tyre_cornering": 9000.0, "flexible_steer_friction": 0.02}
TIME = np.linspace(0.0, 1.5, 31)


@pytest.fixture(scope="module")
def tyred():
    """Return a bicycle on tyres, with steering friction of known smoothing rate."""
    tyre = LinearTyre(9000.0, 0.0, 0.15)
    friction = Flexible(steer_friction=0.02, steer_friction_rate=0.02)
    return draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre, flexible=friction)


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def outputs(system, start, names, times, signals=()):
    """Return outputs of a motion, (times, outputs)."""
    return GradientRun(names, [], signals=signals)(system, start, times).values


def noisy(values, seed, phi=0.0, size=0.01):
    """Return a signal with autoregressive noise of correlation phi."""
    shocks = np.random.default_rng(seed).standard_normal(values.shape)
    noise = shocks.copy()
    for k in range(1, len(values)):
        noise[k] = phi * noise[k - 1] + np.sqrt(1.0 - phi**2) * shocks[k]
    return values + size * noise


def test_derivatives_are_those_of_differences(tyred):
    """Parameters also change the initial state: contact points and wheel rates differ."""
    unknowns = ["c", "flexible_steer_friction", "flexible_steer_friction_rate", "steer"]
    run = GradientRun(["lean_rate", "steer"], unknowns, numerics=draisine.Numerics())
    times = np.array([0.0, 0.1, 0.2])
    exact = run(tyred, START, times).derivatives
    for k, name in enumerate(run.unknowns):
        inside = name in tyred.parameters
        middle = tyred.parameters[name] if inside else START[name]
        h = 1e-5 * max(1.0 if name != "flexible_steer_friction_rate" else 0.02, abs(middle))
        ends = []
        for x in (middle + h, middle - h):
            system = tyred.with_parameters(**{name: x}) if inside else tyred
            start = START if inside else START | {name: x}
            ends.append(run(system, start, times).values)
        assert_allclose(exact[..., k], (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-7)


def test_signals_drive_a_motion_as_the_same_law_does(bicycle):
    """A law is traced into compiled code, whereas signals are evaluated between the steps."""
    signals = (
        Table("steer", (0.0, 0.3, 0.5), (0.0, 0.8, -0.4)),
        Step("steer", 0.5, 0.2, 0.4),
    )
    times = np.array([0.1, 0.2, 0.35, 0.7])
    numerics = draisine.Numerics(dt=0.05)
    run = draisine.simulate(
        bicycle,
        draisine.state(bicycle, **START),
        0.7,
        law=TimeInputs(signals),
        numerics=numerics,
    )
    expected = run.to_xarray().lean_rate.sel(time=times, method="nearest").values
    found = outputs(bicycle, START, ["lean_rate"], times, signals)[:, 0]
    assert_allclose(found, expected, atol=1e-9)


def test_parameters_of_a_simulated_ride_are_found_again(tyred):
    data = outputs(tyred, START, ["lean_rate", "steer"], TIME)
    run = Run(
        START,
        [
            Recording("lean_rate", TIME, data[:, 0], 0.01),
            Recording("steer", TIME, data[:, 1] + 0.1, 0.01, fit_offset=True),
        ],
    )
    wrong = {"c": 0.07, "front_tyre_cornering": 7000.0, "flexible_steer_friction": 0.01}
    found = identify(tyred.with_parameters(**wrong), run, list(TRUTH), starts=1)
    assert_allclose(found.values[:3], list(TRUTH.values()), rtol=1e-3)
    assert found.values[3] == pytest.approx(0.1, abs=1e-6)
    assert found.channels[0].normalised_rms < 1e-4
    assert found.system.parameters["c"] == found.values[0]


def test_interval_of_white_noise_is_that_of_least_squares(bicycle):
    """One unknown: its deviation is that of the residuals over the norm of the derivative, here by
    differences of other runs. The interval is Student's with n - 1 degrees of freedom.
    """
    data = noisy(outputs(bicycle, START, ["lean_rate"], TIME)[:, 0], 3)
    run = Run(START, [Recording("lean_rate", TIME, data, 0.01)])
    found = identify(bicycle, run, ["c"], white_noise=True, starts=1)
    ends = [
        outputs(bicycle.with_parameters(c=c), START, ["lean_rate"], TIME) for c in (0.081, 0.079)
    ]
    slope = np.linalg.norm((ends[0] - ends[1]) / 0.002)
    spread = np.linalg.norm(found.fitted[0] - data) / np.sqrt(len(TIME) - 1)
    assert found.deviations[0] == pytest.approx(spread / slope, rel=0.02)
    assert found.degrees_of_freedom[0] == pytest.approx(30.0, rel=1e-3)
    low, high = found.interval("c")
    assert (high - low) / 2 == pytest.approx(2.042 * found.deviations[0], rel=1e-3)  # t of 30, 95 %
    assert found.channels[0].normalised_rms == pytest.approx(1.0, abs=0.4)


def covariance_of(steps, phi):
    """Return the correlation matrix of autoregressive samples."""
    place = np.concatenate([[0], np.cumsum(steps)])
    return phi ** np.abs(place[:, None] - place)


def test_innovations_are_those_of_the_dense_covariance():
    """Two recordings of one channel, one with a gap: squares, determinant and restricted likelihood."""
    steps = [np.array([1, 1, 3, 1]), np.array([1, 2])]
    model = NoiseModel(
        [SampleBlock(slice(0, 5), steps[0], 0), SampleBlock(slice(5, 8), steps[1], 0)], [0]
    )
    at = np.array([np.log(0.3), np.arctanh(0.6)])
    V = np.zeros((8, 8))
    V[:5, :5] = 0.09 * covariance_of(steps[0], 0.6)
    V[5:, 5:] = 0.09 * covariance_of(steps[1], 0.6)
    rng = np.random.default_rng(1)
    e = rng.standard_normal(8)
    J = rng.standard_normal((8, 2))
    W = np.linalg.inv(V)
    white = model.whiten(at, np.column_stack([J, e]))
    assert_allclose(white.T @ white, np.column_stack([J, e]).T @ W @ np.column_stack([J, e]))
    assert model.log_determinant(at) == pytest.approx(np.linalg.slogdet(V)[1])
    linear = LinearFit(model, np.array([0.5]), e, J, np.zeros((0, 3)), np.eye(2))
    rest = e - J @ np.linalg.solve(J.T @ W @ J, J.T @ W @ e)
    expected = [np.linalg.slogdet(V)[1], np.linalg.slogdet(J.T @ W @ J)[1], rest @ W @ rest]
    assert linear.deviance(at) == pytest.approx(sum(expected))
    # Ordinary least squares under the covariance V.
    A = np.linalg.inv(J.T @ J) @ J.T
    assert_allclose(linear.covariance(at), A @ V @ A.T)


def test_intervals_cover_the_truth_with_correlated_noise():
    """Linear model, 40 samples with phi = 0.7, 60 seeds: 95 % intervals miss at most 8 times, which
    happens by chance in 99.7 % of all cases. Intervals for white noise miss three times as often.
    """
    from scipy.stats import binom, t

    assert binom.cdf(8, 60, 0.05) > 0.996
    time = np.linspace(0.0, 1.0, 40)
    J = np.column_stack([np.sin(6.0 * time), np.exp(-time)])
    block = SampleBlock(slice(0, 40), np.ones(39, np.int64), 0)
    misses = {False: 0, True: 0}
    for seed in range(60):
        e = noisy(0.0 * time, seed, 0.7)
        for white in misses:
            model = NoiseModel([block], [0], white)
            linear = LinearFit(model, np.ones(1), e, J, np.zeros((0, 3)), np.eye(2))
            noise = linear.estimate_noise()
            estimate = np.linalg.lstsq(J, e)[0][0]
            half = t.ppf(0.975, linear.degrees_of_freedom(noise)[0])
            misses[white] += abs(estimate) > half * np.sqrt(linear.covariance(noise)[0, 0])
    assert misses[False] <= 8
    assert misses[True] > 8


def test_durbin_watson_and_effective_samples_follow_their_limits():
    """Durbin-Watson tends to 2 (1 - phi), effective samples to n (1 - phi) / (1 + phi)."""
    steps = np.ones(19_999, np.int64)
    e = noisy(np.zeros(20_000), 2, 0.6)
    assert durbin_watson_statistic([(e, steps)]) == pytest.approx(0.8, abs=0.05)
    assert count_effective_samples([steps], 0.6) == pytest.approx(5000.0, rel=1e-3)


@pytest.fixture(scope="module")
def pushed(bicycle):
    """Return three rides at different speeds, each with its own initial values and recorded steer
    torque.
    """
    runs = []
    for k, (speed, rate) in enumerate(((4.6, 0.5), (5.0, -0.3), (5.5, 0.2))):
        start = {"forward_speed": speed, "lean_rate": rate}
        torque = Table("steer", (0.0, 0.3 + 0.1 * k, 0.8, 1.5), (0.0, 1.0, -1.0, 0.5))
        data = noisy(outputs(bicycle, start, ["lean_rate"], TIME, [torque])[:, 0], 20 + k, 0.5)
        guess = start | {"lean_rate": 0.8 * rate}
        runs.append(Run(guess, [Recording("lean_rate", TIME, data)], [torque]))
    return runs


def test_three_runs_give_narrower_intervals_than_each(bicycle, pushed):
    unknowns = ["c", "lean_rate"]
    together = identify(bicycle.with_parameters(c=0.075), pushed, unknowns, starts=1)
    assert together.names == ("c", "lean_rate[1]", "lean_rate[2]", "lean_rate[3]")
    assert_allclose(together.values[1:], [0.5, -0.3, 0.2], atol=0.03)
    low, high = together.interval("c")
    assert low < 0.08 < high
    for run in pushed:
        single = identify(bicycle, run, unknowns, starts=1)
        own = single.interval("c")
        assert high - low < own[1] - own[0]
        assert together.deviations[0] < single.deviations[0]


def test_recorded_inputs_matter(bicycle, pushed):
    """Without the recorded torque, the fit of the same ride has large residuals."""
    run = pushed[0]
    with_torque = identify(bicycle, run, ["lean_rate"], starts=1)
    without = identify(bicycle, Run(run.start, run.recordings), ["lean_rate"], starts=1)
    assert without.channels[0].rms > 3 * with_torque.channels[0].rms


def test_undetermined_combination_is_named(bicycle):
    """A wheel is symmetric about its axle: its moment about a diameter adds equally to IBxx and
    IBzz.
    """
    data = noisy(outputs(bicycle, START, ["lean_rate"], TIME)[:, 0], 5)
    run = Run(START, [Recording("lean_rate", TIME, data)])
    found = identify(bicycle, run, ["IRxx", "IBxx", "IBzz", "c"], starts=1, white_noise=True)
    null = found.combinations[0]
    assert null.strength == 0.0
    parts = {name: x / null.parts["IRxx"] for name, x in null.parts.items()}
    assert parts == pytest.approx({"IRxx": 1.0, "IBxx": -1.0, "IBzz": -1.0}, rel=1e-4)
    assert found.not_identifiable == ("IRxx", "IBxx", "IBzz")
    assert np.isfinite(found.deviations[3])
    assert "not identifiable: changing " in repr(found)


def test_prior_determines_unobservable_parameters(bicycle):
    data = noisy(outputs(bicycle, START, ["lean_rate"], TIME)[:, 0], 5)
    run = Run(START, [Recording("lean_rate", TIME, data)])
    plain = identify(bicycle, run, ["c"], starts=1)
    wide = Prior.independent({"c": 0.2}, {"c": 100.0})
    assert identify(bicycle, run, ["c"], prior=wide, starts=1).interval("c") == pytest.approx(
        plain.interval("c"), rel=1e-3
    )
    narrow = Prior.independent({"c": 0.081}, {"c": 1e-7})
    found = identify(bicycle, run, ["c"], prior=narrow, starts=1)
    assert found.values[0] == pytest.approx(0.081, abs=1e-6)
    assert found.not_identifiable == ("c",)
    resolved = Prior.independent({"IRxx": 0.0603}, {"IRxx": 0.006})
    found = identify(bicycle, run, ["IRxx", "IBxx", "IBzz"], prior=resolved, starts=1)
    assert found.not_identifiable == ("IRxx",)
    assert np.isfinite(found.deviations).all()


def pendulum(*, length: float = 1.0, mass: float = 2.0, g: float = 9.81):
    """Return a point mass below a hinge."""
    return Model(
        bodies=[Body("ceiling"), Body("bob", mass, (0.0, 0.0, -length))],
        joints=[Revolute("hinge", "ceiling", "bob", (0.0, 1.0, 0.0))],
        gravity=(0.0, 0.0, -g),
        base="fixed",
    )


def test_a_pendulum_has_local_minima_and_no_mass():
    """Small swings are cos(sqrt(g / l) t): only g / l can be identified, and a wrong number of
    swings is a local minimum.
    """
    system = draisine.compile(pendulum)
    times = np.linspace(0.0, 6.0, 31)
    swing = noisy(0.1 * np.cos(np.sqrt(9.81) * times), 1, size=0.005)
    run = Run({"hinge": 0.1}, [Recording("hinge", times, swing)])
    wrong = system.with_parameters(length=0.65)
    found = identify(wrong, run, ["length"], starts=3)
    assert found.values[0] == pytest.approx(1.0, abs=0.01)
    assert found.searches.worse_minimum >= 1
    assert found.searches.same_minimum >= 1
    both = identify(system, run, ["length", "g"], starts=1)
    assert both.combinations[0].parts == pytest.approx({"length": 1.0, "g": 9.81}, rel=0.02)
    with pytest.raises(ParameterError, match="do not depend on 'mass'"):
        identify(system, run, ["length", "mass"], starts=1)


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        (([0, 1, 2], [1, 2]), "'lean_rate': 3 times and 2 values"),
        (([0, 1, 2], [1, np.nan, 2]), "1 of 3 values are not finite, the first is sample 1"),
        (([0, np.inf, 2], [1, 2, 2]), "1 of 3 times are not finite"),
        (([0, 1, 1], [1, 2, 3]), "do not increase: sample 2 is at 1 s, after 1 s"),
        (([0, 1], ["a", "b"]), "values are not numbers"),
        (([0, 1], [1, 2], 0.0), "deviation = 0.0 is not a positive number"),
    ],
)
def test_wrong_samples_are_reported_with_their_place(samples, text):
    with pytest.raises(ParameterError, match=text):
        Recording("lean_rate", *samples)


def test_error_messages_name_the_cause_and_the_remedy(bicycle):
    recording = Recording("lean_rate", TIME, 0.0 * TIME, 0.01)
    run = Run(START | {"x": 0.0}, [recording])
    cases = [
        (run, ["trail"], r"value 'trail'. Did you mean c \(trail\)"),
        (Run(START, [Recording("leanrate", TIME, TIME)]), ["c"], "no output 'leanrate'"),
        (Run(START, [recording], [Step("push.y", 1.0)]), ["c"], "no input 'push.y'"),
        (run, ["x"], "do not depend on 'x'. Remove it from the unknowns"),
        (Run(START, [Recording("lean_rate", [0.0], [0.2])]), ["c"], "1 samples do not determine 1"),
        ([], ["c"], "at least one run"),
        (run, ["c", "c"], "The unknown 'c' is given twice"),
    ]
    for runs, unknowns, text in cases:
        with pytest.raises(ParameterError, match=text):
            identify(bicycle, runs, unknowns, starts=1)
    with pytest.raises(ParameterError, match="has no recordings"):
        Run(START, [])
    with pytest.raises(ParameterError, match="is after the first sample at 0 s"):
        Run(START, [recording], start_time=0.5)
    with pytest.raises(ParameterError, match="symmetric covariance of shape"):
        Prior({"c": 0.08}, np.eye(2))


def test_runs_are_made_of_columns():
    from xarray import Dataset

    columns = {"lean": ("time", [0.0, np.nan, 0.2]), "torque": ("time", [1.0, 2.0, 3.0])}
    data = Dataset(columns, {"time": [2.0, 2.5, 3.0]})
    run = Run.from_dataset(data, {}, ["lean"], {"steer": "torque"}, drop_missing=True)
    assert run.begin == 2.0
    assert run.recordings[0].time.tolist() == [2.0, 3.0]
    assert run.inputs[0].at(2.25) == pytest.approx(1.5)  # linear between samples
    assert run.inputs[0].at(9.0) == 3.0  # held after the last
    with pytest.raises(ParameterError, match="1 of 3 values are not finite"):
        Run.from_dataset(data, {}, ["lean"])
    with pytest.raises(ParameterError, match="no column 'steer_torque'"):
        Run.from_dataset(data, {}, ["lean"], {"steer": "steer_torque"})


def test_report_lists_unknowns_channels_and_searches(bicycle, pushed):
    found = identify(bicycle, pushed[0], ["c", "lean_rate"], starts=2)
    lines = repr(found).splitlines()
    assert lines[0] == "Fit of 31 samples in 1 run"
    assert lines[1].lstrip().startswith("c ")
    assert "rad/s (95 %: " in lines[2]
    assert "Durbin-Watson" in lines[3]
    assert lines[-1] == "2 of 2 searches ended in this minimum"
    data = found.to_xarray()
    assert_allclose(data.residual, data.fitted - data.measured)
    assert data.lower.sel(unknown="c") == found.interval("c")[0]


def test_a_stored_fit_can_be_made_again(bicycle, tmp_path):
    noise = np.random.default_rng(3).normal(0.0, 0.01, len(TIME))
    run = Run(START, [Recording("lean_rate", TIME, noise)], [Step("steer", 0.1)])
    prior = Prior.independent(bicycle.parameters, {"c": 0.001})
    found = identify(bicycle, run, ["c"], prior=prior, starts=1)
    draisine.save(found, tmp_path / "fit.nc")
    names: dict = {}
    exec(draisine.load(tmp_path / "fit.nc").attrs["recipe"], names)
    assert_array_equal(names["found"].values, found.values)
