"""A rider who follows a path with preview: state feedback of least cost that sees the path ahead."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from draisine.algebra.scalar import Array, Scalar
from draisine.control import delay
from draisine.mechanics.readings import Readings

Path = Callable[[Scalar], Scalar]
"""How far a path is to the left of the x axis, m, at a distance along it."""


@dataclass(frozen=True, eq=False)
class PathFollowing:
    """The steer torque `-K (x - x0)` on named states, among them `y` and `yaw`, plus preview: each gain of
    `ahead` times how far the path is to the left at the distance that belongs to it, from the distance
    travelled on. `analysis.preview` computes both kinds of gains; the law takes numbers. `delay` is that of
    the rider's hands.
    """

    states_read: tuple[str, ...]
    gains: tuple[float, ...]
    path: Path
    distances: tuple[float, ...]
    ahead: tuple[float, ...]
    delay: float = 0.0
    steer: str = "steer"

    @property
    def states(self) -> int:
        """Two for a delay."""
        return 2 if self.delay > 0.0 else 0

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], list[Scalar]]:
        """Return the torque, and the rates of the delay's states."""
        place = readings.position(readings.tree.model.bodies[0].name, (0.0, 0.0, 0.0))
        at: dict[str, Any] = {"y": place[1]}
        torque: Scalar = 0.0
        for name, gain in zip(self.states_read, self.gains, strict=True):
            value = at[name] if name in at else readings.value(name)
            torque = torque - gain * value
        for gain, distance in zip(self.ahead, self.distances, strict=True):
            torque = torque + gain * self.path(place[0] + distance)
        given, rates = delay(torque, z, self.delay)
        return {self.steer: given}, rates


LAW = PathFollowing
