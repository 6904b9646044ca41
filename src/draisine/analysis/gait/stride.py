"""One cycle of a gait, measured: where it leads, what its joints and grips must bear, what its
impacts do.

Between two changes of grips everything is an analytic function of time; it is known at Chebyshev's
points and so everywhere, and its extremes are those of its polynomial.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial.chebyshev import chebder

from draisine.algebra.scalar import Floats
from draisine.analysis.gait.map import Gait, Hold
from draisine.analysis.return_map import Cycle
from draisine.mechanics import loads

POINTS = 65
"""How many times of each hold are looked at."""

NODES = -np.cos(np.pi * np.arange(POINTS) / (POINTS - 1))
"""Where these are, the hold being from -1 to 1: Chebyshev's points."""

FINE = np.linspace(-1.0, 1.0, 401)
"""Where extremes are looked for first."""


def _chebyshev(x: Floats) -> Floats:
    """Return Chebyshev's polynomials at x, one per column."""
    return np.cos(np.outer(np.arccos(x), np.arange(POINTS)))


COEFFICIENTS = np.linalg.inv(_chebyshev(NODES))
"""From values at the points to coefficients of Chebyshev's polynomials."""

ON_FINE = _chebyshev(FINE) @ COEFFICIENTS
"""From values at the points to values on the fine grid."""

SLOPE = np.pad(chebder(np.eye(POINTS)), ((0, 1), (0, 0)))
"""From coefficients to those of the derivative."""


@dataclass(frozen=True, slots=True)
class Impact:
    """A change of grips: when, which grip takes hold, turning rate before and after, the rates of
    the joints before, as the impact leaves them where they are free, and by their motions; impulses by
    label in the base's own axes, N s or N m s, and the energy that it creates, J.
    """

    time: float
    grip: str
    Omega_before: float
    Omega_after: float
    rates_before: tuple[float, ...]
    rates_struck: tuple[float, ...]
    rates_prescribed: tuple[float, ...]
    impulses: dict[str, float]
    gain: float


@dataclass(frozen=True, eq=False)
class HoldRecord:
    """What is seen of one hold, time last: x, place of the base's origin, torques of the joints,
    force of the wall on the grip that holds (world axes).
    """

    hold: Hold
    t: Floats
    x: Floats
    place: Floats
    torques: Floats
    force: Floats

    def extremes(self, values: Floats) -> tuple[float, float]:
        """Return the least and the largest value of a function of time given at the points, by
        Newton's method from the least and the largest of its polynomial on a fine grid.
        """
        c, seen = COEFFICIENTS @ values, ON_FINE @ values
        curves = np.array([c, SLOPE @ c, SLOPE @ (SLOPE @ c)])
        first = np.array([np.argmin(seen), np.argmax(seen)])
        low, high = FINE[np.maximum(first - 1, 0)], FINE[np.minimum(first + 1, len(FINE) - 1)]
        at = FINE[first]
        for _ in range(4):
            _, slope, bend = curves @ _chebyshev(at).T
            at = np.clip(at - slope / np.where(bend == 0.0, np.inf, bend), low, high)
        least, largest = curves[0] @ _chebyshev(at).T
        return min(float(values.min()), float(least)), max(float(values.max()), float(largest))


@dataclass(frozen=True, eq=False)
class Stride:
    """A cycle with its gait, and all that can be measured of it."""

    gait: Gait
    cycle: Cycle

    @cached_property
    def stretches(self) -> list[HoldRecord]:
        """The holds of one cycle."""
        x, place, found = self.cycle.x, np.zeros(3), list[HoldRecord]()
        for k, hold in enumerate(self.gait.holds):
            if found:
                Omega, theta = found[-1].x[:, -1]
                change = self.gait.holds[k - 1].change(Omega, hold.mode, self.gait.joint)
                x, place = np.array([change.v[2], theta]), found[-1].place[:, -1]
            found.append(_look(hold, x, place))
        return found

    @cached_property
    def impacts(self) -> list[Impact]:
        """The changes of grips of one cycle; the last leads to the beginning."""
        return [self._impact(k, float(found.x[0, -1])) for k, found in enumerate(self.stretches)]

    def _impact(self, k: int, Omega: float) -> Impact:
        hold, after = self.gait.holds[k], self.gait.next(k)
        change = hold.change(Omega, after.mode, self.gait.joint)
        grip = next(name for name, status in after.mode.items() if status == "gripped")
        prescribed = tuple(hold.joints(hold.end)[1].tolist())
        return Impact(
            hold.end,
            grip,
            Omega,
            float(change.v[2]),
            prescribed,
            tuple(change.struck[3:].tolist()),
            prescribed,
            change.impulses,
            change.gain,
        )

    @property
    def displacement(self) -> Floats:
        """How far one cycle leads, (x, y) in m."""
        return self.stretches[-1].place[:2, -1]

    @property
    def speed(self) -> float:
        """The mean speed upwards, in m/s."""
        return float(self.displacement[1]) / self.gait.period

    @cached_property
    def swing(self) -> float:
        """How far the base turns, from its least to its largest angle, in rad."""
        ends = [s.extremes(s.x[1]) for s in self.stretches]
        return max(high for _, high in ends) - min(low for low, _ in ends)

    @cached_property
    def fastest(self) -> float:
        """The largest turning rate of the base, in rad/s."""
        return max(abs(end) for s in self.stretches for end in s.extremes(s.x[0]))

    @cached_property
    def torques(self) -> Floats:
        """The largest torque of each joint between the impacts, in N m."""
        return np.array(
            [
                max(abs(end) for s in self.stretches for end in s.extremes(s.torques[k]))
                for k in range(len(self.gait.system.model.joints))
            ]
        )

    def force_range(self, axis: int) -> tuple[float, float]:
        """Return the least and the largest force of the wall along x (0) or y (1) between the
        impacts, in N.
        """
        ends = [s.extremes(s.force[axis]) for s in self.stretches]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @cached_property
    def force(self) -> float:
        """The largest force of the wall between the impacts, in N."""
        squares = (s.extremes(np.sum(s.force[:2] ** 2, axis=0))[1] for s in self.stretches)
        return float(np.sqrt(max(squares)))

    @property
    def weight(self) -> float:
        """The machine's weight, in N."""
        return float(loads.weight(self.gait.system.model))


def _look(hold: Hold, x: Floats, place: Floats) -> HoldRecord:
    """Return what is seen of a hold that begins with x at a place."""
    t = hold.start + (hold.end - hold.start) * (1.0 + NODES) / 2
    states = hold.advance(hold.begin(x, place), t)[:, : hold.at.size].T
    seen = hold.observe.batch(hold.observe.inputs.pack(t=t[None], **hold.at.split(states)))
    held = next(k for k, (_, status) in enumerate(hold.machine.mode) if status != "open")
    angle = np.unwrap(2 * np.arctan2(states[3], states[0]), period=4 * np.pi)
    return HoldRecord(
        hold,
        t,
        np.array([states[-1], angle - angle[0] + x[1]]),
        seen["position"],
        seen["motion_torques"],
        seen["forces_world"].reshape(-1, 3, len(t))[held],
    )
