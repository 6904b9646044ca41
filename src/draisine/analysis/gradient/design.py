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
    """The values with the least cost that was found, that cost, and how often it was asked for."""

    values: dict[str, float]
    cost: float
    asked: int


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
    least, values = search.best
    return Optimum(values, least, search.asked)


class _Search:
    """A cost over numbers between 0 and 1, in units of its size at the start."""

    def __init__(
        self,
        cost: Cost,
        start: dict[str, float],
        bounds: dict[str, tuple[float, float]],
        enough: float,
    ) -> None:
        for name, (low, high) in bounds.items():
            if name not in start:
                raise ParameterError(f"optimise: the start tells nothing of {name!r}.")
            if not low <= start[name] <= high or not low < high:
                raise ParameterError(
                    f"optimise: {name!r} starts at {start[name]}, not between {low} and {high}."
                )
        self.cost, self.start, self.enough = cost, start, enough
        self.names = list(bounds)
        self.low, self.high = np.array([bounds[name] for name in self.names], float).T
        self.asked, self.best = 0, (np.inf, start)
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
            cost, slopes = self.cost(values)
        except DraisineError:
            if self.asked == 1:
                raise
            return self.best[0] / self.scale + 1e3, self.slope
        self.scale = self.scale or max(abs(cost), 1e-300)
        if cost < self.best[0]:
            self.best = (float(cost), values)
        gradient = np.array([slopes[name] for name in self.names]) * (self.high - self.low)
        self.slope = gradient / self.scale
        return cost / self.scale, self.slope

    def check(self, _: Floats) -> None:
        """Stop where the cost is enough."""
        if self.best[0] <= self.enough:
            raise StopIteration
