"""Fits of parameters and initial values to recorded motions.

The problem: parameters p are common to all runs, initial values x_r and offsets of instruments belong to
each run. Find those that minimise the weighted squares of the residuals of all recordings.

The method:

1. Levenberg-Marquardt with exact derivatives of the motions, from several starts.
2. Estimate the noise of each channel at the best minimum (`noise`): deviation and correlation.
3. Minimise again with weights of this noise; repeat 2 and 3 until the weights no longer change.
4. Covariance of the unknowns for correlated noise, and the combinations that are not determined.

A prior is a further set of residuals, with its known covariance.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.gradient import GradientRun
from draisine.analysis.identify.identified import Channel, Combination, Identified, Searches
from draisine.analysis.identify.noise import (
    LinearFit,
    NoiseModel,
    SampleBlock,
    count_effective_samples,
    durbin_watson_statistic,
    sampling_steps,
)
from draisine.analysis.identify.recording import Recording, Run
from draisine.errors import DraisineError, ParameterError, SimulationError, expect_known
from draisine.simulation.dataset import call_recipe, law_attributes
from draisine.simulation.options import Numerics
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.vehicles import expect_parameters

# Largest number of Levenberg-Marquardt steps of one search; well-posed fits need fewer than 15.
MAX_FIT_STEPS = 60
# Largest number of evaluations of the equations of motion in one trial run, which take a few
# seconds. Trial parameters that make the motion stiffer are rejected.
MAX_EVALUATIONS = 10_000
# Number of evaluations that each sample adds to `MAX_EVALUATIONS`; bicycles on tyres need fewer
# than 50 per sample.
MAX_EVALUATIONS_PER_SAMPLE = 200
# Largest number of re-estimates of the noise; each one changes the weights by at most a tenth of
# the previous change.
MAX_NOISE_UPDATES = 20
# A search has converged if a step changes the residual norm by less than this fraction.
STEP_CONVERGED = 1e-6
# The weights have converged if they change by less than this fraction; the fitted values then
# change by less than 1e-3 of their standard deviation.
WEIGHTS_CONVERGED = 1e-2
# Smallest singular value of the Jacobian that counts towards its rank, as a fraction of the largest
# one; entries of the Jacobian have errors of about 1e-8.
RANK_THRESHOLD = 1e-6
# Unknowns are reported as collinear if the Jacobian with unit columns has a smaller singular value.
# This corresponds to a collinearity index above 20 (Brun et al. 2001).
COLLINEARITY_THRESHOLD = 0.05
# Standard deviation of random starts, as a fraction of the first guess; if it exceeds 30 %, most
# bicycles fall.
START_SPREAD = 0.3

# Tolerances of the integration; its errors are far below the noise of any instrument.
FIT_NUMERICS = Numerics(rtol=1e-8, atol=1e-10)


@dataclass(frozen=True, eq=False)
class Prior:
    """Normal distribution of the parameters that is known before the fit.

    Parameters
    ----------
    mean
        Expected values by name of the parameter.
    covariance
        Their covariance, in the order of `mean`.

    Examples
    --------
    >>> Prior.independent({"c": 0.06, "w": 1.02}, {"c": 0.005, "w": 0.01}).covariance.diagonal()
    array([2.5e-05, 1.0e-04])
    """

    mean: Mapping[str, float]
    covariance: Floats

    def __post_init__(self) -> None:
        S = np.asarray(self.covariance, float)
        size = len(self.mean)
        if S.shape != (size, size) or not np.isfinite(S).all() or not np.allclose(S, S.T):
            raise ParameterError(f"Prior: give a symmetric covariance of shape ({size}, {size}).")
        object.__setattr__(self, "covariance", S)

    @classmethod
    def independent(cls, mean: Mapping[str, float], deviations: Mapping[str, float]) -> Self:
        """Return the prior of independent parameters with given means and standard deviations."""
        expect_known("Prior: no expected value of", deviations, mean)
        kept = {name: mean[name] for name in deviations}
        return cls(kept, np.diag(np.array(list(deviations.values()), float) ** 2))

    def rows(self, names: Sequence[str], values: Floats) -> tuple[Floats, Floats]:
        """Return whitened residuals (m,) and derivatives (m, unknowns) of the m unknowns with a prior.

        Parameters of the prior that are not fitted are marginalised: their rows and columns of the
        covariance matrix are left out.
        """
        names_of_prior = list(self.mean)
        covered = [k for k, name in enumerate(names) if name in names_of_prior]
        block = [names_of_prior.index(names[k]) for k in covered]
        S = self.covariance[np.ix_(block, block)]
        try:
            half = np.linalg.cholesky(S)
        except np.linalg.LinAlgError:
            covered_names = ", ".join(names[k] for k in covered)
            raise ParameterError(
                f"Prior: the covariance of {covered_names} is not positive definite. Leave out parameters "
                "that follow from others."
            ) from None
        mean = np.array([self.mean[names[k]] for k in covered])
        selection = np.eye(len(names))[covered]
        solve = np.linalg.solve
        return solve(half, values[covered] - mean), solve(half, selection)


@dataclass(frozen=True, eq=False)
class _FitMinimum:
    """Minimum of the weighted sum of squares that one search has reached."""

    values: Floats
    residuals: Floats  # residuals of all recordings, each in the unit of its recording; (samples,)
    jacobian: Floats  # derivatives of the residuals by the unknowns, (samples, unknowns)
    cost: float  # sum of weighted squared residuals, including those of the prior


class _FitProblem:
    """Residuals and Jacobian of all recorded runs as functions of the unknowns."""

    def __init__(
        self,
        system: System,
        runs: Sequence[Run],
        unknowns: Sequence[str],
        law: Law | None,
        prior: Prior | None,
        white_noise: bool,
        numerics: Numerics,
    ) -> None:
        self.system = system
        self.runs = runs
        self.prior = prior
        self.shared = [name for name in unknowns if name in system.parameters]
        self.initial = [name for name in unknowns if name not in system.parameters]
        self.motions = []
        for run in runs:
            outputs = list(dict.fromkeys(recording.output for recording in run.recordings))
            options = replace(numerics, start=run.begin)
            names = [*self.shared, *self.initial]
            samples = sum(len(recording.time) for recording in run.recordings)
            motion = GradientRun(
                outputs,
                names,
                law=law,
                numerics=options,
                signals=run.inputs,
                max_evaluations=MAX_EVALUATIONS + MAX_EVALUATIONS_PER_SAMPLE * samples,
            )
            self.motions.append(motion)
        self.recordings = [
            (r, recording) for r, run in enumerate(runs) for recording in run.recordings
        ]
        self.offsets = [
            k for k, (_, recording) in enumerate(self.recordings) if recording.fit_offset
        ]
        self.channels = list(dict.fromkeys(recording.output for _, recording in self.recordings))
        self.names = self._unknown_names()
        self.units = [self._residual_unit(recording) for _, recording in self.recordings]
        self.noise = self._make_noise_model(white_noise)
        self._check_sample_counts()

    def _unknown_names(self) -> tuple[str, ...]:
        """Return the names of the unknowns: parameters, then initial values of each run, then
        offsets.
        """
        initial_names = [label_run_unknown(name, run) for run in self.runs for name in self.initial]
        pairs = [self.recordings[k] for k in self.offsets]
        zeros = [
            label_run_unknown(f"offset of {recording.output}", self.runs[r])
            for r, recording in pairs
        ]
        return (*self.shared, *initial_names, *zeros)

    def _residual_unit(self, recording: Recording) -> float:
        """Return the unit in which residuals of a recording are measured.

        It is the given standard deviation of the noise, or else the standard deviation of the
        signal.
        """
        if recording.deviation is not None:
            return recording.deviation
        values = [other.value for _, other in self.recordings if other.output == recording.output]
        spread = float(np.std(np.concatenate(values)))
        return spread if spread > 0.0 else 1.0

    def _make_noise_model(self, is_white: bool) -> NoiseModel:
        """Return the noise model of all channels.

        Channels with given standard deviations share one scale factor; each other channel has its
        own.
        """
        scales: list[int] = []
        groups: list[str] = []
        for channel in self.channels:
            has_deviation = {
                recording.deviation is not None
                for _, recording in self.recordings
                if recording.output == channel
            }
            if len(has_deviation) > 1:
                raise ParameterError(
                    f"Some recordings of {channel!r} have a deviation and some have none. Give it for all "
                    "of them or for none."
                )
            group = "given" if has_deviation.pop() else channel
            groups += [group] if group not in groups else []
            scales.append(groups.index(group))
        blocks = []
        first = 0
        for _, recording in self.recordings:
            rows = slice(first, first + len(recording.time))
            index = self.channels.index(recording.output)
            blocks.append(SampleBlock(rows, sampling_steps(recording.time), index))
            first = rows.stop
        return NoiseModel(blocks, scales, is_white)

    def _check_sample_counts(self) -> None:
        """Raise an error if the recordings have too few samples to determine the unknowns and the
        noise.
        """
        unknowns = len(self.names)
        counts = dict.fromkeys(self.channels, 0)
        estimated = {
            recording.output for _, recording in self.recordings if recording.deviation is None
        }
        for _, recording in self.recordings:
            counts[recording.output] += len(recording.time)
        total = sum(counts.values()) + sum(
            name in self.names for name in (() if self.prior is None else self.prior.mean)
        )
        if total <= unknowns:
            raise ParameterError(
                f"{total} samples do not determine {unknowns} unknowns and the noise. Record more, fit fewer "
                "unknowns or give a prior."
            )
        for channel in estimated:
            if len(self.channels) > 1 and counts[channel] <= unknowns:
                raise ParameterError(
                    f"The {counts[channel]} samples of {channel!r} do not suffice to estimate its noise "
                    f"beside {unknowns} unknowns. Give the deviations of all recordings."
                )

    def first_values(self) -> Floats:
        """Return the initial guess of all unknowns, (unknowns,)."""
        shared = [self.system.parameters[name] for name in self.shared]
        initial = [float(run.start[name]) for run in self.runs for name in self.initial]
        return np.array([*shared, *initial, *[0.0] * len(self.offsets)])

    def trial_system(self, unknowns: Floats) -> System:
        """Return the system with the trial values of the fitted parameters."""
        return self.system.with_parameters(
            **dict(zip(self.shared, unknowns.tolist(), strict=False))
        )

    def trial_start(self, run_index: int, unknowns: Floats) -> dict[str, float]:
        """Return the trial initial values of one run by name."""
        first = len(self.shared) + run_index * len(self.initial)
        values = unknowns[first : first + len(self.initial)].tolist()
        return dict(self.runs[run_index].start) | dict(zip(self.initial, values, strict=True))

    def evaluate(self, unknowns: Floats) -> tuple[Floats, Floats]:
        """Return the residuals (samples,) in the units of the recordings, and the Jacobian
        (samples, unknowns).
        """
        with warnings.catch_warnings():
            # Suppress warnings of implausible trial values. The result of the fit warns if its
            # values are implausible.
            warnings.simplefilter("ignore")
            return self._simulate_runs(unknowns)

    def _simulate_runs(self, unknowns: Floats) -> tuple[Floats, Floats]:
        """Simulate each run with its derivatives and return all residuals and the Jacobian."""
        system = self.trial_system(unknowns)
        shared = len(self.shared)
        initial_count = len(self.initial)
        residuals: list[Floats] = []
        rows: list[Floats] = []
        for r, (run, motion) in enumerate(zip(self.runs, self.motions, strict=True)):
            times = np.unique(np.concatenate([recording.time for recording in run.recordings]))
            gradient = motion(system, self.trial_start(r, unknowns), times)
            columns = [
                *range(shared),
                *range(shared + r * initial_count, shared + (r + 1) * initial_count),
            ]
            for recording in run.recordings:
                k = len(rows)
                samples = np.searchsorted(times, recording.time)
                output = motion.outputs.index(recording.output)
                slopes = np.zeros((len(samples), len(unknowns)))
                slopes[:, columns] = gradient.derivatives[samples, output]
                model = gradient.values[samples, output]
                if k in self.offsets:
                    offset_column = len(unknowns) - len(self.offsets) + self.offsets.index(k)
                    slopes[:, offset_column] = 1.0
                    model = model + unknowns[offset_column]
                residuals.append((model - recording.value) / self.units[k])
                rows.append(slopes / self.units[k])
        return np.concatenate(residuals), np.concatenate(rows)

    def prior_rows(self, unknowns: Floats) -> tuple[Floats, Floats]:
        """Return the whitened residuals (m,) and derivatives (m, unknowns) of the prior; m = 0
        without a prior.
        """
        if self.prior is None:
            return np.zeros(0), np.zeros((0, len(unknowns)))
        return self.prior.rows(self.names, unknowns)

    def minimise(self, first_guess: Floats | _FitMinimum, deviations: Floats) -> _FitMinimum:
        """Return the minimum of the weighted squares that Levenberg-Marquardt reaches from a first
        guess.

        `first_guess` may be a minimum that was found with other standard deviations of the channels.
        """

        def weighted_residuals(
            unknowns: Floats, residuals: Floats, jacobian: Floats
        ) -> tuple[Floats, Floats, Floats, Floats]:
            """Return residuals and Jacobian divided by the standard deviations, then those of the prior."""
            prior, slopes = self.prior_rows(unknowns)
            rows = self.noise.divide_by_deviations(
                deviations, np.column_stack([jacobian, residuals])
            )
            return (
                residuals,
                jacobian,
                np.append(rows[:, -1], prior),
                np.vstack([rows[:, :-1], slopes]),
            )

        damping = 1e-3
        if isinstance(first_guess, _FitMinimum):
            x = first_guess.values
            e, J, r, K = weighted_residuals(x, first_guess.residuals, first_guess.jacobian)
        else:
            x = first_guess
            e, J, r, K = weighted_residuals(x, *self.evaluate(x))
        for _ in range(MAX_FIT_STEPS):
            U, s, V, null, size = self._decompose_scaled(K)
            step = -(V.T @ (s / (s * s + damping * s[0] ** 2) * (U.T @ r))) / size
            if len(null):
                # Many steps may have the same effect on the residuals. Choose the one with the
                # smallest relative changes of the unknowns.
                scale = np.where(x == 0.0, 1.0 / size, np.abs(x))
                free = (null / size).T
                step += free @ np.linalg.lstsq(free / scale[:, None], -step / scale)[0]
            edge: DraisineError | None = None
            try:
                trial = weighted_residuals(x + step, *self.evaluate(x + step))
                better = bool(trial[2] @ trial[2] <= r @ r)
            # Reject the trial step: its parameters are physically invalid, or the vehicle falls.
            except DraisineError as error:
                edge = error
                better = False
            small = bool(np.abs(step * size).max() < STEP_CONVERGED * (1.0 + np.linalg.norm(r)))
            if better:
                x = x + step
                e, J, r, K = trial
            damping = max(damping / 10.0, 1e-12) if better else damping * 10.0
            if small and edge is not None:
                raise SimulationError(
                    f"The fit stops because neighbouring motions cannot be computed: {edge}"
                )
            if small:
                return _FitMinimum(x, e, J, float(r @ r))
        raise SimulationError(
            f"The fit does not converge within {MAX_FIT_STEPS} steps. Start it closer, or fit fewer unknowns."
        )

    def _decompose_scaled(self, jacobian: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return the SVD of the Jacobian with unit columns, its null directions and the column
        norms.
        """
        size = np.sqrt(np.sum(jacobian * jacobian, axis=0))
        if np.any(size == 0.0):
            name = self.names[int(np.argmin(size))]
            raise ParameterError(
                f"The recordings do not depend on {name!r}. Remove it from the unknowns, or record an output "
                "that it influences."
            )
        U, s, V = np.linalg.svd(jacobian / size, full_matrices=False)
        kept = s > RANK_THRESHOLD * s[0]
        return U[:, kept], s[kept], V[kept], V[~kept], size

    def draw_starts(self, first_guess: Floats, count: int, seed: int) -> list[Floats]:
        """Return random starts of further searches, drawn about the first guess, (count, unknowns).

        The standard deviation of an unknown is that of its prior. Without a prior it is 30 % of the
        first guess; if that is zero, a change that alters the outputs by 30 % of the signals.
        """
        _, J = self.evaluate(first_guess)
        blocks = zip(self.noise.blocks, self.recordings, self.units, strict=True)
        signals = np.concatenate([one.value / unit for _, (_, one), unit in blocks])
        with np.errstate(divide="ignore"):
            reach = START_SPREAD * np.linalg.norm(signals) / np.linalg.norm(J, axis=0)
            spread = np.where(first_guess == 0.0, reach, START_SPREAD * np.abs(first_guess))
        if self.prior is not None:
            for k, name in enumerate(self.names):
                if name in self.prior.mean:
                    place = list(self.prior.mean).index(name)
                    spread[k] = np.sqrt(self.prior.covariance[place, place])
        draws = np.random.default_rng(seed).standard_normal((count, len(first_guess)))
        return [first_guess + spread * draw for draw in draws]

    def linearise_fit(self, minimum: _FitMinimum, deviations: Floats) -> LinearFit:
        """Return the fit linearised at a minimum, restricted to combinations that data and prior
        determine.
        """
        prior, slopes = self.prior_rows(minimum.values)
        rows = np.vstack([self.noise.divide_by_deviations(deviations, minimum.jacobian), slopes])
        _, _, V, _, size = self._decompose_scaled(rows)
        basis = V.T / size[:, None]
        return LinearFit(
            self.noise,
            deviations,
            minimum.residuals,
            minimum.jacobian @ basis,
            np.column_stack([slopes @ basis, prior]),
            basis,
        )

    def find_poor_combinations(
        self, minimum: _FitMinimum, deviations: Floats
    ) -> tuple[Combination, ...]:
        """Return the combinations of unknowns that the recordings determine poorly or not at all."""
        _, slopes = self.prior_rows(minimum.values)
        rows = np.vstack([self.noise.divide_by_deviations(deviations, minimum.jacobian), slopes])
        size = np.linalg.norm(rows, axis=0)
        _, s, V = np.linalg.svd(rows / size, full_matrices=True)
        s = np.append(s, np.zeros(len(V) - len(s)))
        null = s <= RANK_THRESHOLD * s[0]
        directions = [(0.0, v) for v in _reduced_echelon_basis(V[null])]
        weak = (RANK_THRESHOLD * s[0] < s) & (s < COLLINEARITY_THRESHOLD)
        directions += list(zip(s[weak], V[weak], strict=True))
        out = []
        for value, v in directions:
            coefficients = {
                name: float(x / scale)
                for name, x, scale in zip(self.names, v, size, strict=True)
                if abs(x) > 0.1 * np.abs(v).max()
            }
            leading = next(iter(coefficients.values()))
            parts = {n: x / leading for n, x in coefficients.items()}
            out.append(Combination(parts, float(value)))
        return tuple(out)


def _reduced_echelon_basis(null_space: Floats) -> Floats:
    """Return the reduced echelon basis of a null space, in which each direction has a pivot 1 of
    its own.
    """
    from scipy.linalg import qr

    if not len(null_space):
        return null_space
    pivots = qr(null_space, pivoting=True, mode="r")[1][: len(null_space)]
    return np.asarray(np.linalg.solve(null_space[:, pivots], null_space), float)


def label_run_unknown(name: str, run: Run) -> str:
    """Return the name of an unknown of one run, such as "lean[2]"."""
    return f"{name}[{run.name}]" if run.name else name


def identify(
    system: System,
    runs: Run | Sequence[Run],
    unknowns: Sequence[str],
    *,
    law: Law | None = None,
    prior: Prior | None = None,
    white_noise: bool = False,
    starts: int = 3,
    seed: int = 0,
    numerics: Numerics = FIT_NUMERICS,
) -> Identified:
    """Fit parameters and initial values to recorded motions.

    Parameters
    ----------
    system
        The compiled system. Its values of the unknown parameters are the first guess.
    runs
        Recorded motions. Parameters are common to all; initial values and offsets belong to each.
    unknowns
        Names of parameters, and of initial values that every run's `start` contains.
    law
        Control law that acts in all runs, beside the recorded inputs.
    prior
        Distribution of some of the parameters before the fit.
    white_noise
        Whether successive samples are known to be independent. By default their correlation is estimated.
    starts
        Number of searches from different first guesses.
    seed
        Seed of these first guesses.
    numerics
        Tolerances of the integration.

    Returns
    -------
    Identified
        Values, covariance, intervals, noise of each channel, and undetermined combinations.

    Raises
    ------
    ParameterError
        If an unknown does not exist or has no influence, or samples are too few.
    SimulationError
        If no search converges.

    Examples
    --------
    >>> from draisine import compile, state, simulate
    >>> bicycle = compile("whipple")
    >>> start = {"forward_speed": 5.0, "lean_rate": 0.2}
    >>> ride = simulate(bicycle, state(bicycle, **start), 1.0).to_xarray().isel(time=slice(0, None, 10))
    >>> run = Run(start, [Recording("lean_rate", ride.time.values, ride.lean_rate.values)])
    >>> fit = identify(bicycle.with_parameters(c=0.07), run, ["c"])
    >>> print(f"{fit.values[0]:.5f}")
    0.08000
    """
    runs = [runs] if isinstance(runs, Run) else list(runs)
    if not runs or not unknowns:
        raise ParameterError("identify needs at least one run and one unknown.")
    for name in unknowns:
        if list(unknowns).count(name) > 1:
            raise ParameterError(f"The unknown {name!r} is given twice; leave one out.")
    if starts < 1:
        raise ParameterError(
            f"starts = {starts}: at least one start is required. State a number from 1 on."
        )
    common = [name for name in runs[0].start if all(name in run.start for run in runs)]
    available = [*system.parameters, *common]
    expect_parameters(system.vehicle, unknowns, available, "parameter or initial value")
    if prior is not None:
        expect_parameters(system.vehicle, list(prior.mean), list(system.parameters), "parameter")
    if len(runs) > 1:
        names = [run.name for run in runs]
        unique = len(set(names)) == len(names) and all(names)
        runs = runs if unique else [replace(run, name=str(k + 1)) for k, run in enumerate(runs)]
    problem = _FitProblem(system, runs, unknowns, law, prior, white_noise, numerics)
    recipe = call_recipe(
        "found", identify, system, runs, list(unknowns), law=law, prior=prior, white_noise=white_noise,
        starts=starts, seed=seed, numerics=numerics,
    )  # fmt: skip
    result = _reweight_fit(problem, *_search_minima(problem, starts, seed))
    return replace(result, made=law_attributes(law) | {"recipe": recipe})


def _search_minima(problem: _FitProblem, starts: int, seed: int) -> tuple[_FitMinimum, Searches]:
    """Return the best minimum over all starts with equal weights, and the count of searches by
    outcome.
    """
    first = problem.first_values()
    others = problem.draw_starts(first, starts - 1, seed) if starts > 1 else []
    minima = []
    reason: DraisineError | None = None
    for x in (first, *others):
        try:
            minima.append(problem.minimise(x, np.ones(len(problem.channels))))
        except DraisineError as error:
            # Skip randomly drawn starts that are physically invalid. An invalid first guess of the
            # user is an error.
            if x is first and not isinstance(error, SimulationError):
                raise
            reason = reason or error
    if not minima:
        assert reason is not None
        raise reason
    best = min(minima, key=lambda minimum: minimum.cost)
    # Two minima are equal if their costs agree within the tolerance of a search. With noise-free
    # data the residuals are integration errors only.
    bound = best.cost * (1.0 + 1e-3) + 1e-9 * len(best.residuals)
    same = sum(minimum.cost <= bound for minimum in minima)
    return best, Searches(same, len(minima) - same, starts - len(minima))


def _reweight_fit(problem: _FitProblem, best: _FitMinimum, searches: Searches) -> Identified:
    """Return the fit with weights from its own estimated noise, iterated from the minimum for equal
    weights.
    """
    deviations = np.ones(len(problem.channels))
    linear = problem.linearise_fit(best, deviations)
    noise = linear.estimate_noise()
    # The weight of a single channel does not change the minimum, unless there is a prior.
    updates = MAX_NOISE_UPDATES if len(deviations) > 1 or problem.prior is not None else 0
    for _ in range(updates):
        update = problem.noise.effective_deviations(noise)
        change = np.abs(np.log(update / deviations)).max()
        deviations = update
        best = problem.minimise(best, deviations)
        linear = problem.linearise_fit(best, deviations)
        noise = linear.estimate_noise()
        if change < WEIGHTS_CONVERGED:
            break
    covariance = linear.covariance(noise)
    combinations = problem.find_poor_combinations(best, deviations)
    undetermined = {name for c in combinations if not c.strength for name in c.parts}
    for k, name in enumerate(problem.names):
        if name in undetermined:
            covariance[k] = covariance[:, k] = np.nan
            covariance[k, k] = np.inf
    fitted = []
    first = 0
    for (_, recording), unit in zip(problem.recordings, problem.units, strict=True):
        e = best.residuals[first : first + len(recording.time)]
        fitted.append(recording.value + unit * e)
        first += len(recording.time)
    return Identified(
        names=problem.names,
        values=best.values,
        covariance=covariance,
        degrees_of_freedom=linear.degrees_of_freedom(noise),
        system=problem.trial_system(best.values),
        runs=tuple(problem.runs),
        starts=tuple(problem.trial_start(r, best.values) for r in range(len(problem.runs))),
        fitted=tuple(fitted),
        channels=_describe_channels(problem, best, noise),
        combinations=combinations,
        searches=searches,
        prior_deviations=_prior_deviations(problem),
    )


def _prior_deviations(problem: _FitProblem) -> dict[str, float]:
    """Return the prior standard deviations of the unknowns that have a prior, by name."""
    if problem.prior is None:
        return {}
    sizes = np.sqrt(np.diag(problem.prior.covariance))
    deviations = dict(zip(problem.prior.mean, sizes.tolist(), strict=True))
    return {name: deviations[name] for name in problem.names if name in deviations}


def _describe_channels(
    problem: _FitProblem, best: _FitMinimum, noise: Floats
) -> tuple[Channel, ...]:
    """Return the RMS residual, explained variance and estimated noise of each output channel."""
    model = problem.noise
    phi = model.correlations(noise)
    scale = model.deviations(noise)
    white = model.whiten(noise, best.residuals[:, None])[:, 0]
    out = []
    for c, name in enumerate(problem.channels):
        blocks = [block for block in model.blocks if block.channel == c]
        pairs = zip(model.blocks, problem.recordings, problem.units, strict=True)
        members = [(b, recording, unit) for b, (_, recording), unit in pairs if b.channel == c]
        residuals = [unit * best.residuals[b.rows] for b, _, unit in members]
        signal = np.concatenate([recording.value for _, recording, _ in members])
        has_deviation = members[0][1].deviation is not None
        e = np.concatenate(residuals)
        normalised = np.concatenate([best.residuals[b.rows] for b in blocks])
        raw = [(x, b.steps) for x, b in zip(residuals, blocks, strict=True)]
        after = [(white[b.rows], b.steps) for b in blocks]
        steps = [b.steps for b in blocks]
        variance = float(np.var(signal))
        out.append(
            Channel(
                output=name,
                samples=len(e),
                rms=float(np.sqrt(np.mean(e**2))),
                normalised_rms=float(np.sqrt(np.mean(normalised**2))) if has_deviation else None,
                explained=1.0 - float(np.var(e)) / variance if variance > 0.0 else float("nan"),
                deviation=float(scale[c] * members[0][2]),
                correlation=float(phi[c]),
                effective_samples=count_effective_samples(steps, float(phi[c])),
                durbin_watson=durbin_watson_statistic(raw),
                durbin_watson_innovations=durbin_watson_statistic(after),
            )
        )
    return tuple(out)
