"""Minimisation of a cost function with exact gradient, subject to bounds, by L-BFGS-B; with inequality
constraints, by sequential quadratic programming (SLSQP).

Each unknown is scaled so that its bounds are 0 and 1. The cost is divided by its initial value. So one
tolerance fits masses, lengths and speeds.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError, DraisineError, ParameterError

Cost = Callable[[dict[str, float]], tuple[float, Mapping[str, float]]]
"""Function that maps values by name to a cost and its derivatives by name."""

# Largest derivative of the scaled cost by a scaled unknown (dimensionless) at which the search
# ends.
MIN_GRADIENT = 1e-9

# Change of the scaled cost (dimensionless) at which sequential quadratic programming ends.
MIN_COST_CHANGE = 1e-9

# Largest number of quadratic programs that SLSQP solves in sequence
MAX_QUADRATIC_PROGRAMS = 200

# Largest value of a constraint, as a fraction of its size at the start, at which it counts as satisfied
CONSTRAINT_TOLERANCE = 1e-6

# Largest distance of an unknown from its bound at which it counts as being at the bound, as a
# fraction of its interval. For a constraint: largest distance from zero, as a fraction of its size
# at the start.
ACTIVE_FRACTION = 1e-4

# Penalty that is added to the cost if the cost function raises an error, as a multiple of the
# initial cost. It is far above the costs of neighbouring values, so that the line search shortens
# its step.
ERROR_COST = 1e3

# Largest number of evaluations per line search. It is twice SciPy's default, so that a line search
# can leave a region in which the cost function raises errors.
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
    # Largest derivative of cost / initial cost by an unknown scaled to [0, 1], with the multipliers
    # of active constraints
    slope: float
    # Values of the constraints by name, at most zero
    constraints: dict[str, float] = field(default_factory=dict)
    # Names of unknowns at a bound, and of constraints that equal zero
    active: tuple[str, ...] = ()


def optimise(
    cost: Cost,
    start: Mapping[str, float],
    bounds: Mapping[str, tuple[float, float]],
    *,
    target: float = -np.inf,
    constraints: Mapping[str, Cost] | None = None,
) -> Optimum:
    """Minimise a cost function subject to bounds by the Broyden-Fletcher-Goldfarb-Shanno method (L-BFGS-B).

    With constraints, sequential quadratic programming (SLSQP) is used instead. The result is a local
    minimum. If the cost function raises a `DraisineError`, because parameters or a motion are infeasible,
    the search continues closer to the best values.

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
    constraints
        Functions by name that must be at most zero, each from values by name to its value and its
        derivatives by name. If the start violates one, the search first moves to values that satisfy it.

    Returns
    -------
    Optimum
        Values with the smallest cost, that cost, the remaining scaled gradient, and the active bounds and
        constraints.

    Raises
    ------
    ParameterError
        If the start is outside the bounds, or the cost or its derivatives are not finite numbers.
    ConfigurationError
        If no values that satisfy the constraints were found.
    DraisineError
        If the cost or a constraint raises it at the start.

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

    limits = dict(constraints or {})
    search = _ScaledCost(cost, dict(start), dict(bounds), target)
    if limits:
        return _minimise_with_constraints(search, limits)
    untyped: Any = minimize  # its stubs do not accept objects with methods as functions
    untyped(
        search,
        search.initial_unknowns(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(bounds),
        callback=search.stop_at_target,
        options={"ftol": 0.0, "gtol": MIN_GRADIENT, "maxls": MAX_LINE_SEARCH_STEPS},
    )
    lowest, values, slope = search.best
    return Optimum(values, lowest, search.evaluations, slope, active=search.list_at_bounds(values))


def _minimise_with_constraints(search: "_ScaledCost", limits: Mapping[str, Cost]) -> Optimum:
    """Minimise a scaled cost subject to bounds and constraints by sequential quadratic programming."""
    from scipy.optimize import minimize, nnls

    scaled = {
        name: _ScaledCost(limit, search.start, search.bounds, -np.inf)
        for name, limit in limits.items()
    }
    cache: dict[bytes, tuple[float, Floats, Floats, Floats]] = {}
    best: tuple[float, Floats] | None = None

    def evaluate_all(scaled_unknowns: Floats) -> tuple[float, Floats, Floats, Floats]:
        """Return cost and gradient, then constraint values and their gradients, at scaled unknowns."""
        nonlocal best
        key = np.asarray(scaled_unknowns, float).tobytes()
        if key not in cache:
            value, gradient = search(scaled_unknowns)
            pairs = [limit(scaled_unknowns) for limit in scaled.values()]
            sizes = np.array([pair[0] for pair in pairs])
            cache[key] = (value, gradient, sizes, np.array([pair[1] for pair in pairs]))
            if (sizes <= CONSTRAINT_TOLERANCE).all() and (best is None or value < best[0]):
                best = (value, np.array(scaled_unknowns))
        return cache[key]

    def stop_at_target(scaled_unknowns: Floats) -> None:
        """Stop when values that satisfy the constraints reach the target."""
        if best is not None and best[0] * search.scale <= search.target:
            raise _TargetReached

    untyped: Any = minimize  # its stubs do not accept a nested mapping of constraints
    with suppress(_TargetReached):
        untyped(
            lambda x: evaluate_all(x)[0],
            search.initial_unknowns(),
            jac=lambda x: evaluate_all(x)[1],
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(search.names),
            constraints={
                "type": "ineq",
                "fun": lambda x: -evaluate_all(x)[2],
                "jac": lambda x: -evaluate_all(x)[3],
            },
            callback=stop_at_target,
            options={"ftol": MIN_COST_CHANGE, "maxiter": MAX_QUADRATIC_PROGRAMS},
        )
    if best is None:
        nearest = min(cache.values(), key=lambda each: float(each[2].max()))
        broken = [n for n, x in zip(scaled, nearest[2], strict=True) if x > CONSTRAINT_TOLERANCE]
        raise ConfigurationError(
            f"optimise: no values satisfy the constraints {', '.join(broken)} within the bounds. Relax a "
            "bound or a constraint, or start elsewhere."
        )
    x = best[1]
    value, gradient, sizes, slopes = evaluate_all(x)
    values = search.start | dict(
        zip(search.names, (search.low + x * (search.high - search.low)).tolist(), strict=True)
    )
    tight = np.abs(sizes) <= ACTIVE_FRACTION
    # At a minimum, the gradient is balanced by non-negative multipliers of the active bounds and
    # constraints.
    unit = np.eye(len(x))
    normals = [*slopes[tight], *-unit[x <= ACTIVE_FRACTION], *unit[x >= 1.0 - ACTIVE_FRACTION]]
    rest = gradient
    if normals:
        multipliers, _ = nnls(np.array(normals).T, -gradient)
        rest = gradient + np.array(normals).T @ multipliers
    active = [name for name, is_tight in zip(scaled, tight, strict=True) if is_tight]
    return Optimum(
        values,
        value * search.scale,
        search.evaluations,
        float(np.abs(rest).max(initial=0.0)),
        {n: float(v) * limit.scale for (n, limit), v in zip(scaled.items(), sizes, strict=True)},
        (*search.list_at_bounds(values), *active),
    )


class _TargetReached(Exception):
    """The cost has reached the target of the search."""


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
        self.bounds = bounds
        self.target = target
        self.names = list(bounds)
        self.low, self.high = np.array([bounds[name] for name in self.names], float).T
        self.evaluations = 0
        self.best = (np.inf, start, np.inf)  # best cost so far, its values by name and its slope
        self.scale = 0.0  # absolute initial cost; set by the first evaluation
        self.slope = np.zeros(len(bounds))

    def initial_unknowns(self) -> Floats:
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
            cost, gradient = self._evaluate_cost(values)
        except DraisineError:
            if self.evaluations == 1:
                raise
            return self.best[0] / self.scale + ERROR_COST, self.slope
        # The lower limit avoids a division by zero if the initial cost is zero.
        self.scale = self.scale or max(abs(cost), 1e-300)
        self.slope = gradient / self.scale
        if cost < self.best[0]:
            # A bound blocks descent directions that lead out of the interval. Do not count
            # derivatives along these.
            descent = np.clip(x - self.slope, 0.0, 1.0) - x
            slope = float(np.abs(np.where(descent == 0.0, 0.0, self.slope)).max(initial=0.0))
            self.best = (cost, values, slope)
        return cost / self.scale, self.slope

    def _evaluate_cost(self, values: dict[str, float]) -> tuple[float, Floats]:
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

    def list_at_bounds(self, values: Mapping[str, float]) -> tuple[str, ...]:
        """Return the names of unknowns at a bound."""
        x = (np.array([values[name] for name in self.names]) - self.low) / (self.high - self.low)
        at_bound = np.minimum(x, 1.0 - x) <= ACTIVE_FRACTION
        return tuple(
            name for name, is_active in zip(self.names, at_bound, strict=True) if is_active
        )

    def stop_at_target(self, _: Floats) -> None:
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
