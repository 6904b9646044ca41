"""Families of steady motions by continuation, and maps of steady turning."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import branching_speed
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.eigenmodes import track
from draisine.analysis.equilibrium import Balance, Steady, steady
from draisine.analysis.linear import SHRUNK, linear_systems
from draisine.errors import ConfigurationError
from draisine.mechanics.base import base_angles
from draisine.system.state import state
from draisine.system.system import System

_FAST = 10.0
"""A change of speeds or inputs by this much counts as far as one of coordinates by 1."""


@dataclass(frozen=True, eq=False)
class SteadyFamily:
    """Steady motions in a row, each a little farther along their family."""

    points: tuple[Steady, ...]

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        model = self.points[0].machine.system.model
        joints = (joint.name for joint in model.joints)
        seen = [*(output.name for output in model.outputs[:1]), *base_angles(model), *joints]
        names = [name for name in seen if np.ptp(self[name]) > 1e-9]
        first, last = (_described(point, names) for point in (self.points[0], self.points[-1]))
        return f"SteadyFamily of {len(self)} motions\n  from {first}\n  to {last}"

    def __getitem__(self, name: str) -> Floats:
        """Return a coordinate, output, speed or input by name, one value per motion."""
        if name in self.points[0].values:
            return np.array([point.values[name] for point in self.points])
        return np.array([point.inputs[name] for point in self.points])

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The names of the states whose eigenvalues are given."""
        return self.points[0].linear().states

    @cached_property
    def eigenvalues(self) -> Floats:
        """The eigenvalues of the linear system about each motion, (motions, states), followed from
        one motion to the next.
        """
        parts = []
        for _, group in groupby(self.points, key=lambda point: id(point.machine)):
            points = list(group)
            y = np.array([point.y for point in points])
            w = np.array([point.w for point in points])
            parts.append(linear_systems(points[0].machine, y, w).eigenvalues())
        values = np.concatenate(parts)
        return np.take_along_axis(values, track(values), axis=1)

    @property
    def stable(self) -> Floats:
        """Whether all eigenvalues are damped, but for one that is zero: the family's direction."""
        return self._damped(self.eigenvalues)

    @property
    def stable_backwards(self) -> Floats:
        """Whether the same circles are stable when run the other way round: without damping that
        turns the signs of all eigenvalues.
        """
        return self._damped(-self.eigenvalues)

    def _damped(self, values: Floats) -> Floats:
        least = np.abs(values).min(axis=1, keepdims=True)
        zero = np.abs(values) <= np.maximum(least, 1e-7)
        return np.all((values.real < 0) | zero, axis=1)


def family(
    start: Steady,
    direction: Mapping[str, float],
    *,
    free: Sequence[str] = (),
    until: Mapping[str, float] | None = None,
    step: float = 0.02,
    most: int = 1000,
) -> SteadyFamily:
    """Return the steady motions that a start is one of, by pseudo-arclength continuation.

    `direction` names a quantity and the sense in which it changes first, `{"lean": 1.0}`. At a
    branch point it also chooses the branch: the one along which it changes most. The family ends
    where a quantity passes the value given in `until`, with a last motion at that value, or after
    `most` motions. `step` is how far coordinates (and tenths of speeds) move at most from one to
    the next.
    """
    walk = _Walk(start, free, direction)
    points, size = [start], step
    while len(points) < most:
        try:
            point, bent = walk.step(size)
        except ConfigurationError:
            bent = np.inf
        if bent > 0.2:
            size /= 2
            if size < 1e-6 * step:
                raise ConfigurationError(
                    f"the family of steady motions cannot be followed beyond "
                    f"{_described(points[-1], direction)}."
                )
            continue
        points.append(point)
        for name, value in (until or {}).items():
            if len(points) > 2 and _passed(points, name, value):
                points[-1] = walk.stop(points, name, value)
                return SteadyFamily(tuple(points))
        walk.accept(point)
        size = min(step, 1.5 * size) if bent < 0.05 else size
    return SteadyFamily(tuple(points))


def _described(point: Steady, names: Iterable[str]) -> str:
    return ", ".join(f"{name} = {round(point.values[name], 12) + 0.0:.6g}" for name in names)


def _passed(points: Sequence[Steady], name: str, value: float) -> bool:
    """Return whether a quantity passed a value between the last two motions."""
    before, after = (point.values[name] - value for point in points[-2:])
    return before * after <= 0.0 and before != 0.0


class _Walk:
    """A walk along a family: where it is, and its direction there."""

    def __init__(self, start: Steady, free: Sequence[str], direction: Mapping[str, float]) -> None:
        self.at, self.free = start, [list(start.inputs).index(name) for name in free]
        self.balance = Balance(start.machine, start.y, start.w, self.free)
        found = self.balance.look(start.y, start.w)
        seeds = [found.rows(direction, seed)[0] for seed in ("dx", "du", "dz", "dw")]
        seeds[3] = seeds[3][:, self.free]
        wanted = np.array(list(direction.values())) @ np.hstack(seeds) * self._scale()
        null = self._directions(1e-7)
        along = null.T @ (null @ wanted)
        if np.linalg.norm(along) < 1e-6 * np.linalg.norm(wanted):
            raise ConfigurationError(
                f"no family of steady motions leads from here along {', '.join(direction)}."
            )
        self.along = along / np.linalg.norm(along)

    def _scale(self) -> Floats:
        machine = self.balance.machine
        fast = machine.layout.count("u", "z") + len(self.free)
        return np.array([1.0] * len(machine.columns) + [_FAST] * fast)

    def _directions(self, tolerance: float) -> Floats:
        """Return the directions (rows) that keep all equations, at least one."""
        _, J = self.balance.equations(self.balance.look(self.at.y, self.at.w), {})
        J = J * self._scale()
        _, sizes, rows = np.linalg.svd(J)
        small = np.append(sizes, np.zeros(len(rows) - len(sizes))) < tolerance * sizes[0]
        return rows[small] if small.any() else rows[-1:]

    def step(self, size: float) -> tuple[Steady, float]:
        """Return the next motion, and how much the family bends on the way there."""
        scale = self._scale()
        y, w = self.balance.move(self.at.y, self.at.w, size * self.along * scale)
        near, inputs = self.balance.solve(y, w, {}, across=self.along / scale)
        off = np.concatenate([near - y, inputs - w])
        off[self.balance.machine.layout.u.start :] /= _FAST
        found = Steady(self.at.machine, near, inputs, self.at.law)
        return found, float(np.linalg.norm(off)) / size

    def stop(self, points: Sequence[Steady], name: str, value: float) -> Steady:
        """Return the motion between the last two at which a quantity has a value."""
        near = min(points[-2:], key=lambda point: abs(point.values[name] - value))
        y, w = self.balance.solve(near.y, near.w, {name: value})
        return Steady(near.machine, y, w, near.law)

    def accept(self, point: Steady) -> None:
        """Go on from a motion; where pivots have shrunk there, choose others."""
        self.at = point
        last = self.along
        if point.machine.least_pivot(point.y) < SHRUNK:
            self.at = _pivoted(point)
            self.balance = Balance(self.at.machine, self.at.y, self.at.w, self.free)
            last = np.where(np.arange(len(last)) < len(point.machine.columns), last, 0.0)
        null = self._directions(1e-9)
        along = null.T @ (null @ last)
        self.along = along / np.linalg.norm(along)


def _pivoted(point: Steady) -> Steady:
    """Return the same motion of a machine whose pivots are chosen there."""
    old = point.machine
    parts = old.layout.split(point.y)
    around = (parts["q"], parts["r"])
    fresh = old.system.machine(old.mode, point.law, old.states, configuration=around)
    y = fresh.enter(point.state, z=parts["z"])
    return Steady(fresh, y, point.w, point.law)


def steady_turns(
    system: System,
    *,
    reversed: bool = False,
    until: Mapping[str, float] | None = None,
    step: float = 0.02,
) -> SteadyFamily:
    """Return the hands-free circles to the right of a bicycle, from straight running at the speed
    on at which a real eigenvalue is zero (its capsize speed).

    They end at rest, or at a lean of 1.5 rad, or as `until` says. `reversed` turns the handlebar
    back to front.

    >>> from draisine import compile
    >>> circles = steady_turns(compile("whipple"), until={"lean": 0.2})
    >>> print(f"{circles['rear_wheel_speed'][-1]:.4f} m/s")
    5.9083 m/s
    """
    asked: dict[str, Any] = {"steer": np.pi if reversed else 0.0}
    speed = branching_speed(canonical_matrices(system, about=asked))
    start = state(system, forward_speed=speed, **asked)
    upright = steady(system, start=start, lean=0.0, rear_wheel_speed=speed, **asked)
    ends = {"rear_wheel_speed": 0.0, "lean": 1.5} if until is None else until
    return family(upright, {"lean": 1.0}, until=ends, step=step)
