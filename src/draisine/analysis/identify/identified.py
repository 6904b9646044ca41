"""Results of a fit: values with their uncertainty, noise of each channel, and undetermined
combinations.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.identify.recording import Recording, Run
from draisine.errors import expect_known
from draisine.model.names import observation_units, state_units
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset

STRONG_CORRELATION = 0.9  # smallest correlation of two unknowns at which reports list the pair
# Ratio of posterior to prior standard deviation above which the recordings count as not determining
# an unknown.
PRIOR_ONLY = 0.9


@dataclass(frozen=True)
class Channel:
    """Residuals and estimated noise of one measured output, over all runs."""

    output: str
    samples: int
    rms: float  # RMS residual, in the unit of the output
    # RMS residual divided by the given standard deviation; None if the standard deviation was
    # estimated
    normalised_rms: float | None
    explained: float  # share of the signal's variance that the model explains
    deviation: float  # estimated standard deviation of the noise, in the unit of the output
    correlation: float  # correlation phi of successive noise samples
    effective_samples: float  # number of independent samples with the same information on the mean
    durbin_watson: float  # Durbin-Watson statistic of the residuals; about 2 if they are white
    # Durbin-Watson statistic of the whitened residuals; about 2 if the noise model is adequate
    durbin_watson_innovations: float


@dataclass(frozen=True)
class Combination:
    """Linear combination of unknowns whose effects on the recordings cancel."""

    parts: Mapping[str, float]  # change of each unknown in its own unit; the first change is 1
    # Singular value of the Jacobian with unit columns; 0 if the combination has no effect on the
    # recordings
    strength: float

    def __str__(self) -> str:
        return ", ".join(f"{name} by {x:+.3g}" for name, x in self.parts.items())


@dataclass(frozen=True)
class Searches:
    """Numbers of searches from different first guesses, by outcome."""

    same_minimum: int
    worse_minimum: int
    failed: int  # searches that did not converge, or whose motion could not be computed

    def __str__(self) -> str:
        total = self.same_minimum + self.worse_minimum + self.failed
        ends = [
            f"{self.same_minimum} of {_count_noun(total, 'search', 'searches')} ended in this minimum"
        ]
        ends += [f"{self.worse_minimum} in a worse one"] if self.worse_minimum else []
        ends += [f"{self.failed} failed"] if self.failed else []
        return ", ".join(ends)


@dataclass(frozen=True, eq=False, repr=False)
class Identified:
    """Fitted unknowns with covariance, the fitted system and motions, and the noise of the recordings.

    `print(found)` shows the report.
    """

    names: tuple[str, ...]  # names of the unknowns: parameters, initial values of each run, offsets
    values: Floats  # fitted values of the unknowns, (unknowns,)
    # Covariance of the unknowns, (unknowns, unknowns); inf on the diagonal if not determined
    covariance: Floats
    # Degrees of freedom of Student's t-distribution of each unknown, (unknowns,)
    degrees_of_freedom: Floats
    system: System  # compiled system with the fitted parameters
    runs: tuple[Run, ...]  # the recorded runs that were fitted
    starts: tuple[dict[str, float], ...]  # fitted initial values of each run, by name
    fitted: tuple[Floats, ...]  # simulated outputs at the samples of each recording, run by run
    channels: tuple[Channel, ...]
    # Linear combinations of unknowns that the recordings determine poorly or not at all
    combinations: tuple[Combination, ...]
    searches: Searches  # numbers of searches by outcome
    # Prior standard deviations by name, for unknowns with a prior
    prior_deviations: dict[str, float] = field(default_factory=dict)
    # Attributes that are written to files: control law, Python script
    made: dict[str, str] = field(default_factory=dict)

    @property
    def deviations(self) -> Floats:
        """Standard deviations of the unknowns, (unknowns,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def correlations(self) -> Floats:
        """Correlation matrix of the unknowns, (unknowns, unknowns); nan for undetermined unknowns."""
        size = self.deviations
        with np.errstate(invalid="ignore"):
            correlations = self.covariance / np.outer(size, size)
        return correlations

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of an unknown, by Student's t-distribution.

        Parameters
        ----------
        name
            Name of the unknown; that of an initial value ends with its run, "lean[2]".
        level
            Probability that the interval contains the true value.
        """
        expect_known("Not among the unknowns:", name, self.names)
        from scipy.stats import t

        k = self.names.index(name)
        quantile = t.ppf(0.5 + level / 2, self.degrees_of_freedom[k])
        half = float(quantile * self.deviations[k])
        return float(self.values[k]) - half, float(self.values[k]) + half

    @property
    def not_identifiable(self) -> tuple[str, ...]:
        """Names of unknowns with infinite variance, or whose variance is hardly smaller than in the
        prior.
        """
        return tuple(
            name
            for name, size in zip(self.names, self.deviations, strict=True)
            if not np.isfinite(size) or size > PRIOR_ONLY * self.prior_deviations.get(name, np.inf)
        )

    def _list_recordings(self) -> Iterator[tuple[Run, Recording, Floats]]:
        """Yield each recording with the index of its run and its fitted values."""
        pairs = [(run, one) for run in self.runs for one in run.recordings]
        for (run, one), fitted in zip(pairs, self.fitted, strict=True):
            yield run, one, fitted

    def _collect_units(self) -> dict[str, str]:
        """Return the units of unknowns and outputs by name."""
        model = self.system.model
        units = observation_units(model) | state_units(model)
        units |= {name: unit for name, (unit, _) in self.system.meanings.items()}
        return units

    def unit(self, name: str) -> str:
        """Return the unit of an unknown or of an output."""
        plain = name.removeprefix("offset of ").partition("[")[0]
        return self._collect_units().get(plain, "")

    def __repr__(self) -> str:
        samples = sum(channel.samples for channel in self.channels)
        lines = [f"Fit of {samples} samples in {_count_noun(len(self.runs), 'run', 'runs')}"]
        lines += [*self._describe_unknowns(), *self._describe_channels(), *self.remarks()]
        return "\n".join(lines)

    def _describe_unknowns(self) -> list[str]:
        """Return the lines of the report on the unknowns: value, deviation, unit."""
        width = max(map(len, self.names))
        lines = []
        for name, value, size in zip(self.names, self.values, self.deviations, strict=True):
            low, high = self.interval(name)
            digits = f"95 %: {low:.4g} to {high:.4g}" if np.isfinite(size) else "not determined"
            unit = self.unit(name)
            lines.append(
                f"  {name:<{width}}  {format_with_deviation(value, size)} {unit} ({digits})"
            )
        return lines

    def _describe_channels(self) -> list[str]:
        """Return the lines of the report on the outputs: residuals and noise."""
        lines = []
        for one in self.channels:
            normalised = ""
            if one.normalised_rms is not None:
                normalised = f" (normalised {one.normalised_rms:.3g})"
            lines.append(
                f"{one.output}: RMS residual {one.rms:.3g} {self.unit(one.output)}{normalised}, "
                f"{100 * one.explained:.2f} % of the variance explained, "
                f"Durbin-Watson {one.durbin_watson:.2f}, {one.durbin_watson_innovations:.2f} after "
                f"prewhitening with phi = {one.correlation:.2f} "
                f"({one.effective_samples:.0f} effective of {one.samples} samples)"
            )
        return lines

    def remarks(self) -> list[str]:
        """Return sentences on strong correlations, undetermined unknowns and the outcome of the
        searches.
        """
        lines = []
        correlations = self.correlations
        for i, j in zip(*np.triu_indices(len(self.names), 1), strict=True):
            if abs(correlations[i, j]) >= STRONG_CORRELATION:
                lines.append(
                    f"correlation of {self.names[i]} and {self.names[j]}: {correlations[i, j]:+.3f}"
                )
        for combination in self.combinations:
            if combination.strength:
                lines.append(
                    f"weakly determined: changing {combination} leaves {combination.strength:.1%} of "
                    "the effect"
                )
            else:
                lines.append(
                    f"not identifiable: changing {combination} has no effect on the recordings"
                )
        lines += [
            f"not identifiable: the recordings say hardly more of {name} than the prior"
            for name in self.not_identifiable
            if name in self.prior_deviations
        ]
        lines.append(str(self.searches))
        return lines

    def to_xarray(self) -> "Dataset":
        """Return the fit as a dataset: unknowns with their covariance, and the samples of all
        recordings in sequence.
        """
        import xarray

        rows = list(self._list_recordings())
        measured = np.concatenate([one.value for _, one, _ in rows])
        fitted = np.concatenate(self.fitted)
        lengths = [len(one.time) for _, one, _ in rows]
        limits = np.array([self.interval(name) for name in self.names])
        unknowns = {
            "value": self.values,
            "deviation": self.deviations,
            "lower": limits[:, 0],
            "upper": limits[:, 1],
            "degrees_of_freedom": self.degrees_of_freedom,
        }
        samples = {"measured": measured, "fitted": fitted, "residual": fitted - measured}
        return xarray.Dataset(
            {name: ("unknown", x) for name, x in unknowns.items()}
            | {"covariance": (("unknown", "other"), self.covariance)}
            | {name: ("sample", x) for name, x in samples.items()},
            coords={
                "unknown": list(self.names),
                "other": list(self.names),
                "unit": ("unknown", [self.unit(name) for name in self.names]),
                "time": (
                    "sample",
                    np.concatenate([one.time for _, one, _ in rows]),
                    {"units": "s"},
                ),
                "output": ("sample", np.repeat([one.output for _, one, _ in rows], lengths)),
                "motion": ("sample", np.repeat([run.name for run, _, _ in rows], lengths)),
                "output_unit": (
                    "sample",
                    np.repeat([self.unit(one.output) for _, one, _ in rows], lengths),
                ),
            },
            attrs={
                "title": f"Identification of {self.system.vehicle.__name__}",
                "report": repr(self),
                **self.made,
            },
        )


def _count_noun(count: int, noun: str, plural: str) -> str:
    """Return a number with its noun, such as "1 search" or "3 searches"."""
    return f"{count} {noun if count == 1 else plural}"


def format_with_deviation(value: float, deviation: float) -> str:
    """Return a value with its standard deviation as text, rounded to two digits of the deviation.

    >>> format_with_deviation(0.0641234, 0.00081), format_with_deviation(7012.3, 210.0)
    ('0.06412 +- 0.00081', '7012 +- 210')
    """
    if not 0.0 < deviation < np.inf:
        return f"{value:.6g} +- {deviation:.2g}"
    digits = int(np.clip(1 - np.floor(np.log10(deviation)), 0, 12))
    return f"{value:.{digits}f} +- {deviation:.{digits}f}"
