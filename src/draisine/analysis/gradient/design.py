"""Minimisation of a cost function with exact gradient, subject to bounds, by L-BFGS-B.

Each unknown is scaled so that its bounds are 0 and 1. The cost is divided by its initial value. So one
tolerance fits masses, lengths and speeds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DraisineError, ParameterError

Cost = Callable[[dict[str, float]], tuple[float, Mapping[str, float]]]
"""Function that maps values by name to a cost and its derivatives by name."""

# Largest derivative of the scaled cost by a scaled unknown (dimensionless) at which the search ends
MIN_GRADIENT = 1e-9

# Penalty added to the cost if the cost function raises an error, as a multiple of the initial cost. It is
# far above the costs of neighbouring values, so that the line search shortens its step.
ERROR_COST = 1e3

# Largest number of evaluations per line search: twice SciPy's default, so that a line search can leave a
# region in which the cost function raises errors
MAX_LINE_SEARCH_STEPS = 40


@dataclass(frozen=True)
class Optimum:
    """Result of a minimisation.

    If `slope` is not small, the search stopped early: close to values at which the cost function
    raises an error, or because of wrong derivatives.
    """

    values: dict[str, float]  # values of the unknowns with the smallest cost, by name
    cost: float
    evaluations: int  # number of evaluations of the cost
    slope: float  # largest derivative of the cost / initial cost by an unknown scaled to [0, 1]


def optimise(
    cost: Cost,
    start: Mapping[str, float],
    bounds: Mapping[str, tuple[float, float]],
    *,
    target: float = -np.inf,
) -> Optimum:
    """Minimise a cost function subject to bounds by the Broyden-Fletcher-Goldfarb-Shanno method (L-BFGS-B).

    The result is a local minimum. If the cost function raises a `DraisineError`, because parameters or a
    motion are infeasible, the search continues closer to the best values.

    Parameters
    ----------
    cost
        Function from values by name to the cost and its derivatives by name.
    start
        Initial values by name.
    bounds
        Lower and upper bound of each unknown, by name; values in `start` without bounds stay fixed.
    target
        The search ends when the cost is at most this value.

    Returns
    -------
    Optimum
        Values with the smallest cost, that cost, and the remaining scaled gradient.

    Raises
    ------
    ParameterError
        If the start is outside the bounds, or the cost or its derivatives are not finite numbers.
    DraisineError
        If the cost raises it at the start.

    Examples
    --------
    >>> optimum = optimise(
    ...     lambda v: ((v["x"] - 2) ** 2 + v["y"] ** 2, {"x": 2 * (v["x"] - 2), "y": 2 * v["y"]}),
    ...     {"x": 0.0, "y": 1.0},
    ...     {"x": (-1.0, 1.5), "y": (-1.0, 1.0)},
    ... )
    >>> print(optimum.values["x"], f"{abs(optimum.values['y']):.6f}", f"{optimum.cost:.6f}")
    1.5 0.000000 0.250000
    """
    from scipy.optimize import minimize

    search: Any = _ScaledCost(cost, dict(start), dict(bounds), target)
    minimize(
        search,
        search.begin(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(bounds),
        callback=search.check,
        options={"ftol": 0.0, "gtol": MIN_GRADIENT, "maxls": MAX_LINE_SEARCH_STEPS},
    )
    lowest, values, slope = search.best
    return Optimum(values, lowest, search.evaluations, slope)


class _ScaledCost:
    """Cost divided by its initial value, as a function of unknowns scaled to [0, 1]."""

    def __init__(
        self,
        cost: Cost,
        start: dict[str, float],
        bounds: dict[str, tuple[float, float]],
        target: float,
    ) -> None:
        for name, interval in bounds.items():
            if name not in start:
                raise ParameterError(
                    f"optimise: {name!r} has bounds, but no initial value. Add it to the start."
                )
            low, high, initial = _check_interval(name, interval, start[name])
            if not low <= initial <= high or not low < high:
                raise ParameterError(
                    f"optimise: the start of {name!r}, {initial}, is not between its bounds {low} and "
                    f"{high}."
                )
        self.cost = cost
        self.start = start
        self.target = target
        self.names = list(bounds)
        self.low, self.high = np.array([bounds[name] for name in self.names], float).T
        self.evaluations = 0
        self.best = (np.inf, start, np.inf)  # best cost so far, its values by name and its slope
        self.scale = 0.0  # absolute initial cost; set by the first evaluation
        self.slope = np.zeros(len(bounds))

    def begin(self) -> Floats:
        """Return the initial values scaled to [0, 1], (unknowns,)."""
        values = np.array([self.start[name] for name in self.names])
        return (values - self.low) / (self.high - self.low)

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Return the scaled cost and its gradient (unknowns,) at scaled unknowns x.

        If the cost function raises an error, return a large penalty instead.
        """
        unknowns = self.low + x * (self.high - self.low)
        values = self.start | dict(zip(self.names, unknowns.tolist(), strict=True))
        self.evaluations += 1
        try:
            cost, gradient = self._evaluate(values)
        except DraisineError:
            if self.evaluations == 1:
                raise
            return self.best[0] / self.scale + ERROR_COST, self.slope
        # The lower bound avoids a division by an initial cost of zero
        self.scale = self.scale or max(abs(cost), 1e-300)
        self.slope = gradient / self.scale
        if cost < self.best[0]:
            # A descent direction that leads out of the bounds is blocked, so its derivative does not count.
            descent = np.clip(x - self.slope, 0.0, 1.0) - x
            slope = float(np.abs(np.where(descent == 0.0, 0.0, self.slope)).max(initial=0.0))
            self.best = (cost, values, slope)
        return cost / self.scale, self.slope

    def _evaluate(self, values: dict[str, float]) -> tuple[float, Floats]:
        """Return the cost and its derivatives by the scaled unknowns; raise an error if not finite."""
        result = self.cost(values)
        try:
            cost = float(result[0])
            derivatives = result[1]
            gradient = np.array([float(derivatives[name]) for name in self.names])
        except (LookupError, OverflowError, TypeError, ValueError) as error:
            raise ParameterError(
                "optimise: the cost must return a number and a mapping of its derivatives by name. At "
                f"{values} this failed with {type(error).__name__}: {error}."
            ) from error
        if not (np.isfinite(cost) and np.isfinite(gradient).all()):
            raise ParameterError(
                f"optimise: cost and derivatives must be finite. At {values} the cost is {cost}, its "
                f"derivatives are {dict(derivatives)}."
            )
        return cost, gradient * (self.high - self.low)

    def check(self, _: Floats) -> None:
        """Stop the minimisation if the cost has reached the target."""
        if self.best[0] <= self.target:
            raise StopIteration


def _check_interval(name: str, bounds: Any, initial: Any) -> tuple[float, float, float]:
    """Return lower bound, upper bound and initial value of an unknown; raise an error if not finite."""
    try:
        low, high = bounds
        interval = (float(low), float(high), float(initial))
    except (OverflowError, TypeError, ValueError):
        interval = (np.nan, np.nan, np.nan)
    if not np.isfinite(interval).all():
        raise ParameterError(
            f"optimise: the start {initial!r:.80} and the bounds {bounds!r:.80} of {name!r} must be "
            "finite numbers."
        )
    return interval
