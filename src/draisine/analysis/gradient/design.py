"""Minimise a cost with exact gradient between bounds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DraisineError, ParameterError

Cost = Callable[[dict[str, float]], tuple[float, Mapping[str, float]]]
"""From values by name to a cost and its derivatives by name."""

MIN_GRADIENT = 1e-9  # of the cost, over the width of the bounds; the search ends below it
ERROR_COST = (
    1e3  # of the initial cost; added where the cost raises an error, so that the search returns
)


@dataclass(frozen=True)
class Optimum:
    """The result of a minimisation.

    If `slope` is not small, the search stopped early: at the edge of the machines or motions that exist,
    or because of wrong derivatives.
    """

    values: dict[str, float]  # with the smallest cost
    cost: float
    asked: int  # number of evaluations of the cost
    slope: float  # largest derivative over the width of a bound, in parts of the initial cost


def optimise(
    cost: Cost,
    start: Mapping[str, float],
    bounds: Mapping[str, tuple[float, float]],
    *,
    enough: float = -np.inf,
) -> Optimum:
    """Minimise a cost between bounds by the method of Broyden, Fletcher, Goldfarb and Shanno (L-BFGS-B).

    The result is a local minimum. If the cost raises a `DraisineError`, because a machine or motion does
    not exist, the search continues closer to the best values.

    Parameters
    ----------
    cost
        Function from values by name to the cost and its derivatives by name.
    start
        Initial values by name.
    bounds
        Lower and upper bound of each unknown, by name; other values of the start stay fixed.
    enough
        The search ends as soon as the cost is not larger than this.

    Returns
    -------
    Optimum
        The best values, their cost and the remaining slope.

    Raises
    ------
    DraisineError
        If the cost raises it at the start.

    Examples
    --------
    >>> found = optimise(
    ...     lambda at: ((at["x"] - 2) ** 2 + at["y"] ** 2, {"x": 2 * (at["x"] - 2), "y": 2 * at["y"]}),
    ...     {"x": 0.0, "y": 1.0},
    ...     {"x": (-1.0, 1.5), "y": (-1.0, 1.0)},
    ... )
    >>> print(found.values["x"], f"{abs(found.values['y']):.6f}", f"{found.cost:.6f}")
    1.5 0.000000 0.250000
    """
    from scipy.optimize import minimize

    search: Any = _Search(cost, dict(start), dict(bounds), enough)
    minimize(
        search,
        search.begin(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(bounds),
        callback=search.check,
        options={"ftol": 0.0, "gtol": MIN_GRADIENT, "maxls": 40},
    )
    least, values, slope = search.best
    return Optimum(values, least, search.asked, slope)


class _Search:
    """The cost over unknowns scaled to [0, 1], in parts of its value at the start."""

    def __init__(
        self,
        cost: Cost,
        start: dict[str, float],
        bounds: dict[str, tuple[float, float]],
        enough: float,
    ) -> None:
        for name, ends in bounds.items():
            if name not in start:
                raise ParameterError(f"optimise: the start has no value of {name!r}.")
            low, high, begin = _ends(name, ends, start[name])
            if not low <= begin <= high or not low < high:
                raise ParameterError(
                    f"optimise: {name!r} starts at {begin}, not between {low} and {high}."
                )
        self.cost, self.start, self.enough = cost, start, enough
        self.names = list(bounds)
        self.low, self.high = np.array([bounds[name] for name in self.names], float).T
        self.asked, self.best = 0, (np.inf, start, np.inf)
        self.scale, self.slope = 0.0, np.zeros(len(bounds))

    def begin(self) -> Floats:
        """Return the scaled start."""
        at = np.array([self.start[name] for name in self.names])
        return (at - self.low) / (self.high - self.low)

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Return the scaled cost and its gradient, or a large cost if the cost raises an error."""
        at = self.low + x * (self.high - self.low)
        values = self.start | dict(zip(self.names, at.tolist(), strict=True))
        self.asked += 1
        try:
            cost, gradient = self._evaluate(values)
        except DraisineError:
            if self.asked == 1:
                raise
            return self.best[0] / self.scale + ERROR_COST, self.slope
        self.scale = self.scale or max(abs(cost), 1e-300)
        self.slope = gradient / self.scale
        if cost < self.best[0]:
            # Derivatives that point out of the bounds do not count.
            descent = np.clip(x - self.slope, 0.0, 1.0) - x
            slope = float(np.abs(np.where(descent == 0.0, 0.0, self.slope)).max(initial=0.0))
            self.best = (cost, values, slope)
        return cost / self.scale, self.slope

    def _evaluate(self, values: dict[str, float]) -> tuple[float, Floats]:
        """Return the cost and its gradient over the width of the bounds; raise if they are not finite."""
        result = self.cost(values)
        try:
            cost, slopes = float(result[0]), result[1]
            gradient = np.array([float(slopes[name]) for name in self.names])
        except (LookupError, OverflowError, TypeError, ValueError) as error:
            raise ParameterError(
                f"optimise: a cost returns a number and its derivatives by name; at {values} "
                f"{type(error).__name__}: {error}."
            ) from error
        if not (np.isfinite(cost) and np.isfinite(gradient).all()):
            raise ParameterError(f"optimise: at {values} the cost is {cost}, by {dict(slopes)}.")
        return cost, gradient * (self.high - self.low)

    def check(self, _: Floats) -> None:
        """Stop if the cost is small enough."""
        if self.best[0] <= self.enough:
            raise StopIteration


def _ends(name: str, ends: Any, begin: Any) -> tuple[float, float, float]:
    """Return both bounds of an unknown and its start."""
    try:
        low, high = ends
        found = float(low), float(high), float(begin)
    except (OverflowError, TypeError, ValueError):
        found = np.nan, np.nan, np.nan
    if not np.isfinite(found).all():
        raise ParameterError(
            f"optimise: {name!r} starts at {begin!r:.80} between {ends!r:.80}; start and both bounds must be "
            "finite numbers."
        )
    return found
