"""Quantities of one cycle of a climber's gait: displacement, joint torques, grip forces, impacts.

Between two changes of grips all quantities are analytic functions of time. They are sampled at Chebyshev
points, and their extremes are those of the interpolating polynomials.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial.chebyshev import chebder

from draisine.algebra.scalar import Floats
from draisine.analysis.gait.map import Gait, Hold
from draisine.analysis.return_map import Cycle
from draisine.mechanics import loads

HOLD_SAMPLES = 65
"""Number of Chebyshev samples of each hold (interval between two changes of grips); the interpolating
polynomials are then exact up to rounding errors."""

HOLD_NODES = -np.cos(np.pi * np.arange(HOLD_SAMPLES) / (HOLD_SAMPLES - 1))
"""Chebyshev points in [-1, 1], to which the time interval of a hold is mapped."""

EXTREME_GRID = np.linspace(-1.0, 1.0, 401)
"""Grid in [-1, 1] from which extremes are refined, about six points between two samples."""


def _chebyshev_polynomials(points: Floats) -> Floats:
    """Return the Chebyshev polynomials at the points, one polynomial per column."""
    return np.cos(np.outer(np.arccos(points), np.arange(HOLD_SAMPLES)))


TO_COEFFICIENTS = np.linalg.inv(_chebyshev_polynomials(HOLD_NODES))
"""Matrix from values at the Chebyshev points to Chebyshev coefficients."""

TO_GRID = _chebyshev_polynomials(EXTREME_GRID) @ TO_COEFFICIENTS
"""Matrix from values at the Chebyshev points to values on `EXTREME_GRID`."""

TO_SLOPE = np.pad(chebder(np.eye(HOLD_SAMPLES)), ((0, 1), (0, 0)))
"""Matrix from the Chebyshev coefficients of a function to those of its derivative."""


@dataclass(frozen=True, slots=True)
class Impact:
    """Impact at a change of grips, when one grip of a climber opens and the other closes."""

    time: float  # time of the impact, s
    grip: str  # name of the grip that closes
    Omega_before: float  # turning rate of the base before the impact, rad/s
    Omega_after: float
    rates_before: tuple[float, ...]  # rates of the joints before the impact, rad/s
    # Rates (rad/s) of the joints after the impact, if the joints are free
    rates_struck: tuple[float, ...]
    rates_prescribed: tuple[float, ...]  # rates of the prescribed joint motions, rad/s
    impulses: dict[str, float]  # impulses by label in the axes of the base, N s or N m s
    gain: float  # kinetic energy after minus before the impact, J


@dataclass(frozen=True, eq=False)
class HoldRecord:
    """Samples of one hold at Chebyshev points; the last axis of each array is time."""

    hold: Hold
    t: Floats  # sampling times, s
    x: Floats  # turning rate (rad/s) and angle (rad) of the base, (2, samples)
    place: Floats  # position of the origin of the base, m, (3, samples)
    torques: Floats  # joint torques, N m, (joints, samples)
    force: Floats  # force of the wall on the closed grip, world axes, N, (3, samples)

    def extremes(self, values: Floats) -> tuple[float, float]:
        """Return the smallest and the largest value of a sampled function of time.

        Newton's method refines the extremes of the interpolating polynomial, starting from a grid.
        """
        c = TO_COEFFICIENTS @ values
        on_grid = TO_GRID @ values
        curves = np.array([c, TO_SLOPE @ c, TO_SLOPE @ (TO_SLOPE @ c)])
        first = np.array([np.argmin(on_grid), np.argmax(on_grid)])
        low = EXTREME_GRID[np.maximum(first - 1, 0)]
        high = EXTREME_GRID[np.minimum(first + 1, len(EXTREME_GRID) - 1)]
        position = EXTREME_GRID[first]
        for _ in range(4):
            _, slope, bend = curves @ _chebyshev_polynomials(position).T
            position = np.clip(position - slope / np.where(bend == 0.0, np.inf, bend), low, high)
        least, largest = curves[0] @ _chebyshev_polynomials(position).T
        return min(float(values.min()), float(least)), max(float(values.max()), float(largest))


@dataclass(frozen=True, eq=False)
class Stride:
    """Limit cycle of a climber with displacement, torques, forces and impacts."""

    gait: Gait
    cycle: Cycle

    @cached_property
    def holds(self) -> list[HoldRecord]:
        """Sampled holds of one cycle, in order."""
        x = self.cycle.x
        place = np.zeros(3)
        records: list[HoldRecord] = []
        for k, hold in enumerate(self.gait.holds):
            if records:
                Omega, theta = records[-1].x[:, -1]
                change = self.gait.holds[k - 1].grip_impact(Omega, hold.mode, self.gait.joint)
                x = np.array([change.v[2], theta])
                place = records[-1].place[:, -1]
            records.append(_sample_hold(hold, x, place))
        return records

    @cached_property
    def impacts(self) -> list[Impact]:
        """Changes of grips of one cycle; the last one ends the cycle."""
        return [self._grip_change(k, float(record.x[0, -1])) for k, record in enumerate(self.holds)]

    def _grip_change(self, hold_index: int, Omega: float) -> Impact:
        """Return the change of grips at the end of one hold, for the turning rate Omega (rad/s)."""
        hold = self.gait.holds[hold_index]
        after = self.gait.next(hold_index)
        change = hold.grip_impact(Omega, after.mode, self.gait.joint)
        grip = next(name for name, status in after.mode.items() if status == "gripped")
        prescribed = tuple(hold.joint_motion(hold.end)[1].tolist())
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
        """Displacement (x, y) of the base in one cycle (m)."""
        return self.holds[-1].place[:2, -1]

    @property
    def speed(self) -> float:
        """Mean upward speed (m/s)."""
        return float(self.displacement[1]) / self.gait.period

    @cached_property
    def swing(self) -> float:
        """Smallest and largest angle of the base (rad)."""
        ends = [s.extremes(s.x[1]) for s in self.holds]
        return max(high for _, high in ends) - min(low for low, _ in ends)

    @cached_property
    def fastest(self) -> float:
        """Largest turning rate of the base (rad/s)."""
        return max(abs(end) for s in self.holds for end in s.extremes(s.x[0]))

    @cached_property
    def torques(self) -> Floats:
        """Largest torque of each joint between the impacts (N m)."""
        return np.array(
            [
                max(abs(end) for s in self.holds for end in s.extremes(s.torques[k]))
                for k in range(len(self.gait.system.model.joints))
            ]
        )

    def force_range(self, axis: int) -> tuple[float, float]:
        """Return the range of the wall force (N) along x (axis 0) or y (axis 1) between the
        impacts.
        """
        ends = [s.extremes(s.force[axis]) for s in self.holds]
        return min(low for low, _ in ends), max(high for _, high in ends)

    @cached_property
    def force(self) -> float:
        """Largest magnitude of the wall force between the impacts (N)."""
        squares = (s.extremes(np.sum(s.force[:2] ** 2, axis=0))[1] for s in self.holds)
        return float(np.sqrt(max(squares)))

    @property
    def weight(self) -> float:
        """Weight of the climber (N)."""
        return float(loads.weight(self.gait.system.model))


def _sample_hold(hold: Hold, reduced_state: Floats, base_position: Floats) -> HoldRecord:
    """Return the samples of a hold that begins with the reduced state (Omega, theta), the base at
    `base_position` (m).
    """
    t = hold.start + (hold.end - hold.start) * (1.0 + HOLD_NODES) / 2
    states = hold.integrate(hold.initial_state(reduced_state, base_position), t)[
        :, : hold.layout.size
    ].T
    observed = hold.observe.batch(hold.observe.inputs.pack(t=t[None], **hold.layout.split(states)))
    gripped = next(k for k, (_, status) in enumerate(hold.machine.mode) if status != "open")
    angle = np.unwrap(2 * np.arctan2(states[3], states[0]), period=4 * np.pi)
    return HoldRecord(
        hold,
        t,
        np.array([states[-1], angle - angle[0] + reduced_state[1]]),
        observed["position"],
        observed["motion_torques"],
        observed["forces_world"].reshape(-1, 3, len(t))[gripped],
    )
