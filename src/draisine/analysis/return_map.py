"""Limit cycles as fixed points of return maps, their Floquet multipliers, and families of cycles.

A return map is a function from a point x to its image G(x) and the derivative dG/dx. Components of x may be
angles, which are equal modulo 2 pi. Fixed points are computed by Newton's method, families by natural
continuation with a secant predictor.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError
from draisine.simulation.options import CONTACT, ContactOptions
from draisine.system.system import System
from draisine.terrain import Terrain

Map = Callable[[Floats], tuple[Floats, Floats]]
"""Return map: function from x (components,) to its image and the derivative (components, components)."""

FIXED_POINT_TOLERANCE = (
    1e-9  # largest |G(x) - x| of a fixed point x of the map G, relative to 1 + max|x|
)
SAME_CYCLE = 1e-6  # distance of two cycles, relative to 1 + max|x|, below which they are equal
# Largest corrector step, as a fraction of 1 + the change of x. A larger step leads to another
# family.
MAX_BENDING = 0.1
# Largest number of Newton steps from a predicted cycle. If more are needed, the prediction is too
# far off.
MAX_FAMILY_STEPS = 12


@dataclass(frozen=True, eq=False)
class Cycle:
    """Limit cycle: a fixed point of a return map."""

    x: Floats
    J: Floats  # derivative of the return map at the fixed point
    residual: float  # largest component of |G(x) - x|
    power: int = 1  # number of maps in one cycle: 2 if the map is half of a symmetric cycle

    @cached_property
    def multipliers(self) -> Floats:
        """Floquet multipliers of one cycle, largest magnitude first, eq. [multipliers-of-a-cycle]."""
        values = np.linalg.eigvals(self.J).astype(complex) ** self.power + 0.0
        return values[np.lexsort((-values.imag, -np.abs(values)))]

    @property
    def growth(self) -> float:
        """Magnitude of the largest Floquet multiplier."""
        return float(np.abs(self.multipliers[0]))

    @property
    def stable(self) -> bool:
        """Whether disturbances decay: all multipliers lie inside the unit circle."""
        return self.growth < 1.0

    @property
    def index(self) -> int:
        """Index of the fixed point, the sign of det(1 - J), eq. [cycle-index].

        Cycles appear and disappear in pairs of opposite index.
        """
        return int(np.sign(np.linalg.det(np.eye(len(self.x)) - self.J)))


def return_map(
    system: System,
    names: Sequence[str],
    period: float,
    *,
    terrain: Terrain | None = None,
    contact: ContactOptions = CONTACT,
    **fixed: Any,
) -> Map:
    """Return the map from a state to the state one period later, with its exact derivative.

    Fixed points of the map are periodic motions. On a terrain the derivatives include events and
    impacts, eq. [saltation-jump].

    Parameters
    ----------
    system
        The compiled system.
    names
        Names of the components of x: outputs, joints, speeds.
    period
        Time from x to its image (s).
    terrain, contact
        As for `simulate`.
    fixed
        Initial values by name that are the same for all x, and `mode`, the statuses of the contacts.

    Returns
    -------
    Map
        Function from x to its image and the derivative (components, components).

    Examples
    --------
    >>> import draisine
    >>> acrobot = draisine.compile("acrobot")
    >>> G = draisine.return_map(acrobot, ["bar", "hip", "bar_rate", "hip_rate"], 0.5)
    >>> image, J = G(np.zeros(4))
    >>> print(f"{np.linalg.det(J):.9f}")        # Liouville: the flow preserves volume
    1.000000000
    """
    from draisine.analysis.gradient import GradientRun  # import here, because it is slow

    run = GradientRun(tuple(names), tuple(names), terrain=terrain, contact=contact)

    def evaluate(x: Floats) -> tuple[Floats, Floats]:
        """Return the image of x and the derivative of the map."""
        start = fixed | dict(zip(names, map(float, x), strict=True))
        motion = run(system, start, [period])
        return motion.values[-1], motion.derivatives[-1]

    return evaluate


def iterate(return_map: Map, count: int) -> Map:
    """Return the map iterated `count` times, with its derivative.

    Its fixed points are cycles of `count` periods.

    >>> quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> image, J = iterate(lambda x: (quarter @ x, quarter), 4)(np.array([1.0, 2.0]))
    >>> print(image, np.allclose(J, np.eye(2)))
    [1. 2.] True
    """

    def iterate_map(point: Floats) -> tuple[Floats, Floats]:
        """Return the image of a point under the iterated map, and the derivative by the chain rule."""
        derivative = np.eye(len(point))
        for _ in range(count):
            point, J = return_map(point)
            derivative = J @ derivative
        return point, derivative

    return iterate_map


def fixed_point(
    G: Map,
    guess: Sequence[float] | Floats,
    *,
    angles: Sequence[int] = (),
    power: int = 1,
    steps: int = 40,
    within: float = np.inf,
) -> Cycle:
    """Return the fixed point to which Newton's method converges from a guess, eq. [cycle-newton].

    Parameters
    ----------
    G
        The return map.
    guess
        Initial guess.
    angles
        Indices of the components of x that are angles (rad); they are in [0, 2 pi) in the result.
    power
        Number of maps in one cycle.
    steps
        Largest number of iterations.
    within
        Largest change of a component in one iteration.

    Returns
    -------
    Cycle
        The fixed point with the derivative of the map.

    Raises
    ------
    ConfigurationError
        If the iteration does not converge.

    Examples
    --------
    >>> half = fixed_point(lambda x: (np.cos(x), np.diag(-np.sin(x))), [1.0])
    >>> print(half.x.round(6), half.stable)
    [0.739085] True
    """
    x = np.array(guess, dtype=float)
    best = np.inf
    for _ in range(steps):
        image, J = G(x)
        residual = wrap_angles(image - x, angles)
        size = float(np.abs(residual).max())
        if not np.isfinite(size):
            break
        # Iterate until only rounding errors remain: the residual is small and no longer halves with
        # each step.
        if size < FIXED_POINT_TOLERANCE * (1.0 + np.abs(x).max()) and not size < 0.5 * best:
            x[list(angles)] %= 2 * np.pi
            return Cycle(x, J, size, power)
        best = min(best, size)
        step = np.linalg.lstsq(np.eye(len(x)) - J, residual, rcond=None)[0]
        x = x + step * min(1.0, within / max(float(np.abs(step).max()), 1e-300))
    raise ConfigurationError(
        f"No cycle found near x = {np.asarray(guess, float)}: Newton's method does not converge. "
        "Start closer to a cycle, or search a box with fixed_points()."
    )


def wrap_angles(difference: Floats, angles: Sequence[int]) -> Floats:
    """Return a difference of two points with its angles wrapped to [-pi, pi]."""
    out = np.array(difference, dtype=float)
    for k in angles:
        out[..., k] = (out[..., k] + np.pi) % (2 * np.pi) - np.pi
    return out


def fixed_points(
    G: Map,
    box: Sequence[tuple[float, float]],
    *,
    count: int | Sequence[int] = 12,
    angles: Sequence[int] = (),
    power: int = 1,
) -> list[Cycle]:
    """Search for the fixed points in a box by Newton's method from a grid of starts.

    The search may miss fixed points. If topology determines the sum of the indices, it shows whether
    a pair is missing, eq. [cycle-index].

    Parameters
    ----------
    G
        The return map.
    box
        Lower and upper limit of each component.
    count
        Number of starts per side of the box.
    angles, power
        As in `fixed_point`.

    Returns
    -------
    Fixed points, ordered by their first component.

    Examples
    --------
    >>> waves = fixed_points(lambda x: (3 * np.sin(x), np.diag(3 * np.cos(x))), [(-4.0, 4.0)])
    >>> [f"{cycle.x[0]:.4f} {cycle.index:+d}" for cycle in waves]
    ['-2.2789 +1', '0.0000 -1', '2.2789 +1']
    """
    counts = [count] * len(box) if isinstance(count, int) else list(count)
    sides = [
        low + (high - low) * (np.arange(n) + 0.5) / n
        for (low, high), n in zip(box, counts, strict=True)
    ]
    max_step = max(high - low for low, high in box) / 4  # longer steps would leave the box at once
    cycles: list[Cycle] = []
    for start in np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(box)):
        try:
            cycle = fixed_point(G, start, angles=angles, power=power, within=max_step)
        except (ConfigurationError, np.linalg.LinAlgError):
            continue
        inside = all(
            low - 1e-9 <= x <= high + 1e-9 for x, (low, high) in zip(cycle.x, box, strict=True)
        )
        if inside and all(are_different(cycle, other, angles) for other in cycles):
            cycles.append(cycle)
    return sorted(cycles, key=lambda cycle: tuple(cycle.x))


def are_different(first: Cycle, second: Cycle, angles: Sequence[int] = ()) -> bool:
    """Return whether two limit cycles are different; angles are compared modulo 2 pi."""
    distance = np.abs(wrap_angles(first.x - second.x, angles)).max()
    return bool(distance > SAME_CYCLE * (1.0 + np.abs(first.x).max()))


def follow_family(
    make: Callable[[float], Map],
    values: Sequence[float] | Floats,
    start: Cycle,
    *,
    angles: Sequence[int] = (),
    min_step: float = 1e-4,
) -> Iterator[Cycle]:
    """Yield the cycles of one family at successive values of a parameter.

    Parameters
    ----------
    make
        Function from a value to the return map.
    values
        Values of the parameter.
    start
        The cycle at the first value.
    angles
        Components of x that are angles.
    min_step
        Smallest parameter step, as a fraction of the distance of two values. Steps are halved if the cycle
        is too far from its prediction.

    Raises
    ------
    ConfigurationError
        If the family ends before the last value.
    """
    cycle = start
    reached = float(values[0])
    yield cycle
    before: tuple[float, Cycle] | None = None
    for value in (float(v) for v in values[1:]):
        distance = step = value - reached
        while reached != value:
            aim = value if abs(value - reached) <= abs(step) * (1 + 1e-9) else reached + step
            following = _continue_cycle(make(aim), before, (reached, cycle), aim, angles)
            if following is None:
                step /= 2
                if abs(step) < min_step * abs(distance):
                    raise ConfigurationError(
                        f"The family of cycles ends near the value {reached:.6g} of the parameter."
                    )
                continue
            before = (reached, cycle)
            reached = aim
            cycle = following
            step *= 2
        yield cycle


def _continue_cycle(
    G: Map,
    previous: tuple[float, Cycle] | None,
    last: tuple[float, Cycle],
    aim: float,
    angles: Sequence[int],
) -> Cycle | None:
    """Return the cycle that continues a family; None if it is too far from the prediction.

    The prediction is a linear extrapolation of the last two cycles.
    """
    reached, cycle = last
    guess = cycle.x
    if previous is not None:
        ratio = (aim - reached) / (reached - previous[0])
        guess = cycle.x + ratio * wrap_angles(cycle.x - previous[1].x, angles)
    try:
        following = fixed_point(G, guess, angles=angles, power=cycle.power, steps=MAX_FAMILY_STEPS)
    except (ConfigurationError, np.linalg.LinAlgError):
        return None
    moved = np.abs(wrap_angles(following.x - cycle.x, angles))
    bent = np.abs(wrap_angles(following.x - guess, angles))
    return following if np.all(bent <= MAX_BENDING * (1.0 + moved)) else None


@dataclass(frozen=True, eq=False)
class CycleFamily:
    """Limit cycles at successive values of a parameter, each continued from the previous one."""

    make: Callable[[float], Map]  # function from a parameter value to the return map
    values: tuple[float, ...]
    cycles: tuple[Cycle, ...]
    angles: tuple[int, ...] = ()  # indices of the components of x that are angles

    def __len__(self) -> int:
        return len(self.cycles)

    @property
    def stable(self) -> Floats:
        """Whether each cycle is stable, (cycles,)."""
        return np.array([cycle.stable for cycle in self.cycles])

    def crossings(self, test: Callable[[float, Cycle], float]) -> list[tuple[float, Cycle]]:
        """Return parameter values and cycles at which a test function changes its sign.

        For example, `lambda value, cycle: cycle.growth - 1` yields the limits of stability.
        """
        crossings = []
        pairs = list(zip(self.values, self.cycles, strict=True))
        signs = np.sign([test(*pair) for pair in pairs])
        for k in np.flatnonzero(signs[:-1] * signs[1:] < 0):
            crossings.append(self._locate_crossing(test, pairs[k], pairs[k + 1]))
        return crossings + [pair for pair, sign in zip(pairs, signs, strict=True) if sign == 0]

    def doublings(self) -> list[tuple[float, Cycle]]:
        """Return parameter values and cycles at which a multiplier crosses -1, eq. [period-doubling].

        A cycle of twice the period appears or disappears there.
        """
        return self.crossings(lambda _, cycle: float(np.linalg.det(np.eye(len(cycle.x)) + cycle.J)))

    def _locate_crossing(
        self,
        test: Callable[[float, Cycle], float],
        low: tuple[float, Cycle],
        high: tuple[float, Cycle],
    ) -> tuple[float, Cycle]:
        """Return the parameter value and the cycle between two cycles at which the test function is zero."""
        from scipy.optimize import brentq

        computed = [low, high]

        def evaluate_test(value: float) -> float:
            """Return the test function at a parameter value, for the cycle of the family there."""
            near = min(computed, key=lambda pair: abs(pair[0] - value))
            if near[0] != value:
                start = near[1]
                G = self.make(value)
                near = (value, fixed_point(G, start.x, angles=self.angles, power=start.power))
                computed.append(near)
            return test(*near)

        value = float(brentq(evaluate_test, low[0], high[0], xtol=1e-12, rtol=1e-14))
        evaluate_test(value)
        return value, min(computed, key=lambda pair: abs(pair[0] - value))[1]


def families(
    make: Callable[[float], Map],
    values: Sequence[float] | Floats,
    search: Callable[[Map], list[Cycle]],
    *,
    angles: Sequence[int] = (),
    searches: int = 5,
) -> list[CycleFamily]:
    """Compute the families of limit cycles over the values of a parameter.

    Parameters
    ----------
    make
        Function from a value to the return map.
    values
        Values of the parameter, in order.
    search
        Function that returns the cycles of one map.
    angles
        Components of x that are angles.
    searches
        Number of evenly spaced values at which `search` is called: families may begin or end between the
        first and the last value.

    Returns
    -------
    list of CycleFamily
        The families, in the order of their discovery.

    Examples
    --------
    >>> def make(a):
    ...     return lambda x: (a * np.sin(x), np.diag(a * np.cos(x)))
    >>> def search(G):
    ...     return fixed_points(G, [(-3.0, 3.0)])
    >>> waves = families(make, np.linspace(0.9, 2.0, 12), search)
    >>> [len(family) for family in waves]
    [12, 10, 10]
    """
    parameters = [float(value) for value in values]
    discovered: list[dict[int, Cycle]] = []
    for k in np.unique(np.linspace(0, len(parameters) - 1, searches).round().astype(int)):
        for cycle in search(make(parameters[k])):
            # A cycle is new only if no family has been continued to it at this value.
            if all(
                are_different(cycle, members[k], angles) for members in discovered if k in members
            ):
                onward = _follow_to_end(make, parameters[k:], cycle, angles)
                back = _follow_to_end(make, parameters[k::-1], cycle, angles)
                members = {k - i: c for i, c in enumerate(back)}
                discovered.append(members | {k + i: c for i, c in enumerate(onward)})
    result = []
    for members in discovered:
        indices = sorted(members)
        cycles = tuple(members[k] for k in indices)
        result.append(
            CycleFamily(make, tuple(parameters[k] for k in indices), cycles, tuple(angles))
        )
    return result


def _follow_to_end(
    make: Callable[[float], Map], values: Sequence[float], start: Cycle, angles: Sequence[int]
) -> list[Cycle]:
    """Return the cycles of a family from its start to its end."""
    cycles: list[Cycle] = []
    with suppress(ConfigurationError):
        cycles.extend(follow_family(make, values, start, angles=angles))
    return cycles
