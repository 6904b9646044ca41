"""A rider of nested loops: path, heading, lean, lean rate and steer, through muscles that lag."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.readings import Readings


@dataclass(frozen=True, eq=False)
class LoopRider:
    """The steer torque of Hess, Moore and Hubbard (Modeling the manually controlled bicycle, IEEE
    Transactions on Systems, Man, and Cybernetics A 42 (2012) 545-557, doi:10.1109/TSMCA.2011.2164244):
    five loops, each of which asks the next for what it lacks,

        torque = muscles (steer_gain (steer' - steer)),    steer' = rate_gain (lean_rate' - lean_rate),
        lean_rate' = lean_gain (lean' - lean),             lean' = heading_gain (heading' - heading),
        heading' = lateral_gain (path - y of the front contact),

    muscles being the filter `w^2 / (s^2 + 2 d w s + w^2)`, w the `frequency`, d the `damping`. The gains
    are those of the paper, in the benchmark's axes (steer, heading and y to the right): loops cross over
    at 2, 1 and 0.5 rad/s from lean outwards. Here `heading` (rad) and `path` (m, of the distance along
    x) are to the left; without a lateral gain the heading is kept.

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
    path: Callable[[Scalar], Scalar] | None = None
    frequency: float = 30.0
    damping: float = 0.707
    steer: str = "steer"

    states: ClassVar[int] = 2

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], list[Scalar]]:
        """Return the torque, and the rates of the muscles' states: the torque and its rate, to the
        right.
        """
        front = readings.contact("front")
        aside = (0.0 if self.path is None else self.path(front[0])) - front[1]
        heading = -self.heading - self.lateral_gain * aside
        lean = self.heading_gain * (heading + readings.yaw)
        lean_rate = self.lean_gain * (lean - readings.lean)
        steer = self.rate_gain * (lean_rate - readings.lean_rate)
        wanted = self.steer_gain * (steer + readings.joint(self.steer))
        w = self.frequency
        lag = w * w * (wanted - z[0]) - 2.0 * self.damping * w * z[1]
        return {self.steer: -z[0]}, [z[1], lag]


LAW = LoopRider
