"""Rider with nested control loops: path, heading, lean, lean rate and steer, with neuromuscular
lag.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from draisine.algebra.scalar import Array, Floats, Scalar, cos, sin
from draisine.control._paths import (
    Tracking,
    as_path,
    initial_path_states,
    path_state_names,
    track_path,
)
from draisine.control._signals.neuromuscular import lag
from draisine.mechanics.readings import Readings

LOOPS = ("steer", "lean_rate", "lean", "heading", "path")
"""Names of the control loops, from the innermost outwards."""


@dataclass(frozen=True, eq=False)
class LoopRider:
    """Steer torque by five nested loops, each of which commands the next one,

        torque = muscles (steer_gain (steer' - steer)),    steer' = rate_gain (lean_rate' - lean_rate),
        lean_rate' = lean_gain (lean' - lean),             lean' = heading_gain (heading' - heading),
        heading' = -lateral_gain (offset of the front contact from the path),

    after Hess, Moore and Hubbard (Modeling the manually controlled bicycle, IEEE Transactions on Systems,
    Man, and Cybernetics A 42 (2012) 545-557, doi:10.1109/TSMCA.2011.2164244).

    Muscles are the filter `w^2 / (s^2 + 2 d w s + w^2)`, w the `frequency`, d the `damping`. The gains
    are those of the paper, in the benchmark's axes (steer, heading and offset to the right). Loops cross
    over at 2, 1 and 0.5 rad/s from lean outwards; `analysis.rider.loops.design_loops` computes the gains.

    The states of the control law are path coordinates, as those of `PathFollowing`, the torque, and its rate.

    Parameters
    ----------
    steer_gain, rate_gain, lean_gain, heading_gain, lateral_gain
        Gains: N m/rad, s, 1/s, 1, rad/m. Without a lateral gain the heading is kept.
    heading
        Commanded heading to the left of the path, rad.
    path
        Curvature in 1/m, function from x to y in m, or another path; see `draisine.control`.
    frequency, damping
        Natural frequency, rad/s, and damping ratio of the muscles.
    steer
        Name of the steer joint and of its torque input.

    Examples
    --------
    >>> from draisine import compile, simulate, state
    >>> bicycle = compile("whipple")
    >>> rider = LoopRider(46.5457, -0.0522, 12.6611, 0.1849, 0.0959, path=lambda x: 1.0 + 0.0 * x)
    >>> run = simulate(bicycle, state(bicycle, forward_speed=5.0), 20.0, law=rider)
    >>> print(f"{float(run.to_xarray().position[-1, 1]):.2f} m")
    1.00 m
    """

    steer_gain: float
    rate_gain: float
    lean_gain: float
    heading_gain: float
    lateral_gain: float = 0.0
    heading: float = 0.0
    path: Any = 0.0
    frequency: float = 30.0
    damping: float = 0.707
    steer: str = "steer"

    gain_fields: ClassVar[tuple[str, ...]] = (
        *("steer_gain", "rate_gain", "lean_gain", "heading_gain", "lateral_gain"),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", as_path(self.path))

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states of the control law."""
        return (*path_state_names(self.path), "torque", "torque_rate")

    @property
    def states(self) -> int:
        """Number of the states of the control law."""
        return len(self.state_names)

    @property
    def gains(self) -> dict[str, float]:
        """Gains of the loops by name, from the innermost outwards."""
        fields = zip(LOOPS, self.gain_fields, strict=True)
        return {name: getattr(self, field) for name, field in fields}

    def on(self, path: Any) -> "LoopRider":
        """Return the same rider on another path, for example `on(0.0)` on a straight line."""
        return replace(self, path=as_path(path))

    def start_at(self, x: float, y: float, yaw: float) -> Floats:
        """Return the initial states of the control law for a position (m) and yaw (rad) of the
        vehicle.
        """
        return initial_path_states(self.path, x, y, yaw, 2)

    def values(self, readings: Readings, tracking: Tracking) -> dict[str, Scalar]:
        """Return the feedback signal of each loop by name, positive to the right."""
        origin = readings.position(readings.tree.model.bodies[0].name, (0.0, 0.0, 0.0))
        reach = readings.contact("front") - origin
        heading = readings.heading
        ahead = heading[0] * reach[0] + heading[1] * reach[1]
        lateral = heading[0] * reach[1] - heading[1] * reach[0]
        # The path deviates from its tangent by about half the curvature times the squared distance
        # ahead.
        bend = 0.5 * self.path.curvature(tracking.parameter) * ahead * ahead
        aside = ahead * sin(tracking.heading_error) + lateral * cos(tracking.heading_error) - bend
        return {
            "steer": -readings.joint(self.steer),
            "lean_rate": readings.lean_rate,
            "lean": readings.lean,
            "heading": -tracking.heading_error,
            "path": -(tracking.offset + aside),
        }

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], list[Scalar]]:
        """Return the steer torque (N m), and the rates of the states of the control law."""
        tracking = track_path(self.path, readings, z)
        values = self.values(readings, tracking)
        gains = self.gains
        command: Scalar = -self.heading - gains["path"] * values["path"]
        for name in reversed(LOOPS[:-1]):
            command = gains[name] * (command - values[name])
        torque, rates = lag(command, tracking.rest, self.frequency, self.damping)
        return {self.steer: -torque}, [*tracking.rates, *rates]


LAW = LoopRider
