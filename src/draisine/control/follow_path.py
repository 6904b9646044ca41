"""Design parameters of a rider who follows a path by preview control with delay."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from draisine.control._paths import as_path


@dataclass(frozen=True)
class FollowPath:
    """Design of a rider who steers along a path by optimal preview control, eq. [preview].

    The gains depend on the vehicle: `analysis.rider.preview.follow_path` has the same parameters, computes
    the gains and returns the control law. Scenario files and commands do so for their vehicle.

    Parameters
    ----------
    path
        Curvature in 1/m, a table with a `shape`, FILE.py:function, or another path; see `draisine.control`.
    speed
        Forward speed that the gains are computed for, m/s; by default that of the start.
    weights
        Weights of the states; by default 1 for `offset` and `heading_error`.
    cost
        Weight of the squared torque, 1/(N m)2.
    horizon
        Time of preview, s; by default 2 s in addition to the delay.
    count
        Number of previewed points of the path.
    delay
        Transport delay of the rider, s.
    order
        Order of Padé's approximation of the delay.
    muscles
        Natural frequency of the muscles, rad/s; None for no neuromuscular lag.
    damping
        Damping ratio of the muscles.
    """

    path: Any = 0.0
    speed: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    cost: float = 0.02
    horizon: float | None = None
    count: int = 40
    delay: float = 0.0
    order: int = 4
    muscles: float | None = None
    damping: float = 0.707

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", as_path(self.path))


LAW = FollowPath
