"""Rider who follows a path with preview of its curvature, in path coordinates."""

from dataclasses import dataclass, field, replace
from typing import Any

from draisine.algebra.scalar import Array, Floats, Scalar
from draisine.control._paths import (
    HEADING_ERROR,
    OFFSET,
    as_path,
    initial_path_states,
    path_state_names,
    track_path,
)
from draisine.control._signals.neuromuscular import Neuromuscular
from draisine.mechanics.readings import Readings


@dataclass(frozen=True, eq=False)
class PathFollowing:
    """The steer torque of a rider on a path: feedback of states and preview of the curvature,

        command = -gains states - hands_gains hands_states + sum(ahead curvature(distances ahead)),

    through the delay and the muscles of `hands`. `analysis.rider.preview.follow_path` computes the gains.

    The states of the control law are the path's parameter (if its curvature varies), the offset, the heading
    error, and the states of the hands. Their initial values follow from the position of the vehicle. On a
    straight or circular path the control law does not depend on position and heading: `on(0.0)` is the same
    rider on a straight line, for steady motions and eigenvalues.

    Parameters
    ----------
    states_read
        Names of the states that are fed back: `offset` (m), `heading_error` (rad), and those of the vehicle's
        linear system.
    gains
        Feedback gains of these states, N m per unit of the state.
    path
        Curvature in 1/m, function from x to y in m, or another path; see `draisine.control`.
    distances
        Distances ahead, m, at which the curvature is previewed.
    ahead
        Gains of the curvature at these distances, N m per 1/m.
    hands
        Transport delay and muscles of the rider.
    hands_gains
        Feedback gains of the states of delay and muscles.
    steer
        Name of the input that is the steer torque.
    speed
        Speed that the gains were computed for, m/s.
    """

    states_read: tuple[str, ...]
    gains: tuple[float, ...]
    path: Any
    distances: tuple[float, ...] = ()
    ahead: tuple[float, ...] = ()
    hands: Neuromuscular = field(default_factory=Neuromuscular)
    hands_gains: tuple[float, ...] = ()
    steer: str = "steer"
    speed: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", as_path(self.path))

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states of the control law."""
        return (*path_state_names(self.path), *self.hands.state_names)

    @property
    def states(self) -> int:
        """Number of the states of the control law."""
        return len(self.state_names)

    def on(self, path: Any) -> "PathFollowing":
        """Return the same rider on another path, for example `on(0.0)` on a straight line."""
        return replace(self, path=as_path(path))

    def start_at(self, x: float, y: float, yaw: float) -> Floats:
        """Return the initial states of the control law for a position (m) and yaw (rad) of the
        vehicle.
        """
        return initial_path_states(self.path, x, y, yaw, self.hands.states)

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], list[Scalar]]:
        """Return the steer torque (N m), and the rates of the states of the control law."""
        tracking = track_path(self.path, readings, z)
        coordinates = {OFFSET: tracking.offset, HEADING_ERROR: tracking.heading_error}
        command = self._preview_torque(tracking.parameter)
        for name, gain in zip(self.states_read, self.gains, strict=True):
            value = coordinates[name] if name in coordinates else readings.value(name)
            command = command - gain * value
        for value, gain in zip(tracking.rest, self.hands_gains, strict=True):
            command = command - gain * value
        torque, rates = self.hands(command, tracking.rest)
        return {self.steer: torque}, [*tracking.rates, *rates]

    def _preview_torque(self, path_parameter: Scalar) -> Scalar:
        """Return the torque (N m) in response to the curvature ahead of the parameter."""
        if self.path.uniform:
            return sum(self.ahead) * self.path.curvature(path_parameter)
        torque: Scalar = 0.0
        arc_rate = self.path.arc_length_rate(path_parameter)
        for distance, gain in zip(self.distances, self.ahead, strict=True):
            torque = torque + gain * self.path.curvature(path_parameter + distance / arc_rate)
        return torque


LAW = PathFollowing
