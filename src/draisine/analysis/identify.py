"""Parameters from measurements: fits by exact gradients, with confidence intervals.

The sum of squares of `(model - measured) / deviation` is made least by the method of Levenberg and Marquardt;
its Jacobian J is that of the computed motion itself. With s^2 the mean square that is left, the covariance of
the unknowns is `s^2 (J' J)^-1`, eq. [identification].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.gradient import GradientRun
from draisine.errors import DraisineError, ParameterError, SimulationError, expect_known
from draisine.model.names import observation_units, state_units
from draisine.simulation.options import Numerics
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.vehicles import expect_parameters

ROUNDS = 60
"""More steps than this are not taken."""

ENOUGH = Numerics(rtol=1e-8, atol=1e-10)
"""How exactly motions are followed: better than anything is measured."""


@dataclass(frozen=True, eq=False)
class Recording:
    """What was measured of an output, at rising times from the start on; `deviation` is that of each
    value. With `drifts` the instrument's zero is not known: an offset is fitted, too.
    """

    output: str
    time: Floats
    value: Floats
    deviation: float = 1.0
    drifts: bool = False

    def __post_init__(self) -> None:
        for name in ("time", "value"):
            try:
                object.__setattr__(self, name, np.asarray(getattr(self, name), float))
            except (TypeError, ValueError):
                raise ParameterError(f"{self._name}: its {name}s are not numbers.") from None
        self._check()

    @property
    def _name(self) -> str:
        return f"recording of {self.output!r}"

    def _check(self) -> None:
        """Raise where nothing can be held against a motion."""
        if self.time.ndim != 1 or self.time.shape != self.value.shape or not self.time.size:
            sizes = f"{self.time.size} times and {self.value.size} values"
            raise ParameterError(f"{self._name}: {sizes}; each value has its time.")
        if not np.isfinite(self.time).all() or np.any(np.diff(self.time) <= 0.0):
            raise ParameterError(f"{self._name}: its times do not rise throughout.")
        missing = np.flatnonzero(~np.isfinite(self.value))
        if len(missing):
            raise ParameterError(
                f"{self._name}: {len(missing)} of {self.value.size} values are no numbers, the first at "
                f"{self.time[missing[0]]:g} s; leave them out with their times: np.isfinite(value)."
            )
        if not (np.ndim(self.deviation) == 0 and 0.0 < self.deviation < np.inf):
            raise ParameterError(
                f"{self._name}: deviation = {self.deviation!r:.80} is no number greater than zero."
            )


@dataclass(frozen=True, eq=False, repr=False)
class Identified:
    """What a fit gives: the unknowns by name with their values and covariance, the system and the start
    that they make, what the model then tells at the times of the recordings, and the root mean square of
    what is left, in units of the deviations.
    """

    names: tuple[str, ...]
    values: Floats
    covariance: Floats
    system: System
    start: dict[str, float]
    fitted: list[Floats]
    left: float
    count: int

    def __repr__(self) -> str:
        model, system = self.system.model, self.system
        units = state_units(model) | {name: unit for name, (unit, _) in system.meanings.items()}
        units |= {f"offset of {name}": unit for name, unit in observation_units(model).items()}
        wide = max(map(len, self.names))
        found = zip(self.names, self.values, self.deviations, strict=True)
        rows = [
            f"  {n:<{wide}}  {_measured(x, s)} {units.get(n, '')}".rstrip() for n, x, s in found
        ]
        left = f"what is left is {self.left:.3g} of the deviations told (root mean square)"
        return "\n".join([f"Fit of {self.count} samples: {left}", *rows])

    @property
    def deviations(self) -> Floats:
        """The standard deviations of the unknowns."""
        return np.sqrt(np.diag(self.covariance))

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of an unknown, by Student's distribution."""
        expect_known("no unknown", name, self.names)
        from scipy.stats import t

        k = self.names.index(name)
        wide = float(t.ppf(0.5 + level / 2, self.count - len(self.names)) * self.deviations[k])
        return float(self.values[k]) - wide, float(self.values[k]) + wide


def _measured(value: float, deviation: float) -> str:
    """Return a value and its standard deviation, to two digits of the latter.

    >>> _measured(0.0641234, 0.00081), _measured(7012.3, 210.0)
    ('0.06412 +- 0.00081', '7012 +- 210')
    """
    if not 0.0 < deviation < np.inf:
        return f"{value:.6g} +- {deviation:.2g}"
    digits = int(np.clip(1 - np.floor(np.log10(deviation)), 0, 12))
    return f"{value:.{digits}f} +- {deviation:.{digits}f}"


@dataclass(frozen=True, eq=False)
class _Fit:
    """A fit under way: what is known, and which numbers are not."""

    system: System
    start: Mapping[str, float]
    recordings: Sequence[Recording]
    run: GradientRun
    times: Floats
    offsets: list[int] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """The unknowns: of the motion, then the offsets of instruments."""
        own = [f"offset of {self.recordings[k].output}" for k in self.offsets]
        return (*self.run.unknowns, *own)

    def begin(self) -> Floats:
        """Return the values from which the fit starts."""
        known = dict(self.start) | self.system.parameters
        given = [self.start.get(name, known.get(name, 0.0)) for name in self.run.unknowns]
        return np.array([*given, *[0.0] * len(self.offsets)])

    def at(self, x: Floats) -> tuple[System, dict[str, float]]:
        """Return the system and the start that values of the unknowns make."""
        told = dict(zip(self.run.unknowns, x.tolist(), strict=False))
        changed = {name: v for name, v in told.items() if name in self.system.parameters}
        start = dict(self.start) | {name: v for name, v in told.items() if name not in changed}
        return self.system.with_parameters(**changed), start

    def residuals(self, x: Floats) -> tuple[Floats, Floats, list[Floats]]:
        """Return what is left at values of the unknowns, its derivatives, and what the model tells."""
        system, start = self.at(x)
        found = self.run(system, start, self.times)
        moved = len(self.run.unknowns)
        left, slopes, told = [], [], []
        for k, one in enumerate(self.recordings):
            rows = np.searchsorted(self.times, one.time)
            value, slope = found.values[rows, k], np.zeros((len(rows), len(x)))
            slope[:, :moved] = found.derivatives[rows, k]
            if k in self.offsets:
                place = moved + self.offsets.index(k)
                value, slope[:, place] = value + x[place], 1.0
            left.append((value - one.value) / one.deviation)
            slopes.append(slope / one.deviation)
            told.append(value)
        return np.concatenate(left), np.concatenate(slopes), told


def identify(
    system: System,
    start: Mapping[str, float],
    recordings: Sequence[Recording],
    unknowns: Sequence[str],
    *,
    law: Law | None = None,
    numerics: Numerics = ENOUGH,
) -> Identified:
    """Return the parameters and initial values, by name, with which a motion meets recordings best.

    `start` are the initial values, as for `state`; those among the unknowns are where the fit begins.

    >>> from draisine import compile, state, simulate
    >>> bicycle = compile("whipple")
    >>> asked = {"forward_speed": 5.0, "lean_rate": 0.2}
    >>> ridden = simulate(bicycle, state(bicycle, **asked), 1.0).to_xarray()
    >>> told = Recording("lean_rate", ridden.time.values[::10], ridden.lean_rate.values[::10])
    >>> found = identify(bicycle.with_parameters(c=0.07), asked, [told], ["c"])
    >>> print(f"{found.values[0]:.5f}")
    0.08000
    """
    known = [*system.parameters, *start]
    expect_parameters(system.vehicle, unknowns, known, "parameter or initial value")
    run = GradientRun(
        [one.output for one in recordings], tuple(unknowns), law=law, numerics=numerics
    )
    times = np.unique(np.concatenate([one.time for one in recordings]))
    offsets = [k for k, one in enumerate(recordings) if one.drifts]
    return _least(_Fit(system, start, recordings, run, times, offsets))


def _least(fit: _Fit) -> Identified:
    """Return the fit of least squares, by Levenberg and Marquardt, scaled by the columns' sizes."""
    x, damping = fit.begin(), 1e-3
    left, J, told = fit.residuals(x)
    for _ in range(ROUNDS):
        size = np.sqrt(np.sum(J * J, axis=0))
        if np.any(size == 0.0):
            lazy = fit.names[int(np.argmin(size))]
            raise ParameterError(f"the recordings do not depend on {lazy!r}: it cannot be fitted.")
        scaled = J / size
        normal = scaled.T @ scaled
        step = -np.linalg.solve(normal + damping * np.eye(len(x)), scaled.T @ left) / size
        edge: DraisineError | None = None
        try:
            tried = fit.residuals(x + step)
            better = bool(tried[0] @ tried[0] <= left @ left)
        except DraisineError as error:  # no such machine, or no such start
            edge, better = error, False
        small = np.abs(step * size).max() < 1e-9 * (1.0 + np.linalg.norm(left))
        if better:
            x, (left, J, told) = x + step, tried
        damping = damping / 10.0 if better else damping * 10.0
        if small and edge is not None:
            raise SimulationError(f"the fit runs to the edge of what there is: {edge}")
        if small:
            break
    else:
        raise SimulationError(f"the fit does not settle within {ROUNDS} steps; start it closer.")
    spread = float(left @ left) / max(1, len(left) - len(x))
    system, start = fit.at(x)
    root = float(np.sqrt(np.mean(left * left)))
    return Identified(
        fit.names, x, spread * np.linalg.inv(J.T @ J), system, start, told, root, len(left)
    )
