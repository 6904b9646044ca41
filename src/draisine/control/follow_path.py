"""A rider who follows a path with delay and preview, designed for the machine: the numbers of the design."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from draisine.control._paths import as_path


@dataclass(frozen=True)
class FollowPath:
    """The design of a rider who steers along a path at least cost, eq. [preview].

    The machine decides the gains, so this is no law yet: `analysis.rider.preview.follow_path` computes it,
    with the same parameters. Scenario files and commands do so for the machine that they name.

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
        Time of preview, s; by default 2 s beside the delay.
    count
        Number of points of the path that the rider sees.
    delay
        Transport delay of the rider, s.
    order
        Order of Padé's approximation of the delay.
    muscles
        Natural frequency of the muscles, rad/s; without, there are none.
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
