"""Numbers that serve best: a cost with its exact gradient is made least between bounds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DraisineError, ParameterError

Cost = Callable[[dict[str, float]], tuple[float, Mapping[str, float]]]
"""From values by name to a cost and its derivatives by name."""

FLAT = 1e-9
"""The search ends where the gradient, over the whole width of the bounds, is this part of the cost."""


@dataclass(frozen=True)
class Optimum:
    """The values with the least cost that was found, that cost, and how often it was asked for.
    `slope` is by which part of the cost of the start it would still change across the bounds, along the
    steepest way between them: where that is not small, the search was stopped, by the edge of what there
    is or by derivatives that are none.
    """

    values: dict[str, float]
    cost: float
    asked: int
    slope: float


def optimise(
    cost: Cost,
    start: Mapping[str, float],
    bounds: Mapping[str, tuple[float, float]],
    *,
    enough: float = -np.inf,
) -> Optimum:
    """Return values between bounds, from a start on, that make a cost least; the search, by the method
    of Broyden, Fletcher, Goldfarb and Shanno with bounds, ends as soon as the cost is `enough`.

    Where there is no such machine or motion (the cost raises a `DraisineError`) it looks nearer; at the
    start that error is passed on. It finds the least cost around, not the least of all.

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
        options={"ftol": 0.0, "gtol": FLAT, "maxls": 40},
    )
    least, values, slope = search.best
    return Optimum(values, least, search.asked, slope)


class _Search:
    """A cost over numbers between 0 and 1, in units of its size at the start."""

    def __init__(
        self,
        cost: Cost,
        start: dict[str, float],
        bounds: dict[str, tuple[float, float]],
        enough: float,
    ) -> None:
        for name, ends in bounds.items():
            if name not in start:
                raise ParameterError(f"optimise: the start tells nothing of {name!r}.")
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
        """Return the start in units of the bounds."""
        at = np.array([self.start[name] for name in self.names])
        return (at - self.low) / (self.high - self.low)

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Return the cost and its gradient; beyond what there is, a cost that sends the search back."""
        at = self.low + x * (self.high - self.low)
        values = self.start | dict(zip(self.names, at.tolist(), strict=True))
        self.asked += 1
        try:
            cost, gradient = self._ask(values)
        except DraisineError:
            if self.asked == 1:
                raise
            return self.best[0] / self.scale + 1e3, self.slope
        self.scale = self.scale or max(abs(cost), 1e-300)
        self.slope = gradient / self.scale
        if cost < self.best[0]:
            left = (
                np.clip(x - self.slope, 0.0, 1.0) - x
            )  # what the bounds leave of the steepest way
            steepest = float(np.abs(np.where(left == 0.0, 0.0, self.slope)).max(initial=0.0))
            self.best = (cost, values, steepest)
        return cost / self.scale, self.slope

    def _ask(self, values: dict[str, float]) -> tuple[float, Floats]:
        """Return the cost and its gradient over the width of the bounds; what is no number is told."""
        told = self.cost(values)
        try:
            cost, slopes = float(told[0]), told[1]
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
        """Stop where the cost is enough."""
        if self.best[0] <= self.enough:
            raise StopIteration


def _ends(name: str, ends: Any, begin: Any) -> tuple[float, float, float]:
    """Return both bounds of a number and its start."""
    try:
        low, high = ends
        found = float(low), float(high), float(begin)
    except (OverflowError, TypeError, ValueError):
        found = np.nan, np.nan, np.nan
    if not np.isfinite(found).all():
        raise ParameterError(
            f"optimise: {name!r} starts at {begin!r:.80} between {ends!r:.80}; give it a number, and two "
            "finite bounds (low, high)."
        )
    return found
