"""State feedback of least cost about a steady motion: what is asked of it, in numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LQR:
    """The law `u = u0 - K (x - x0)` that keeps a machine in a steady motion and minimises the integral of
    `dx' Q dx + du' R du`, eq. [lqr]: `weights` of its states, one for each that is not named; `costs` of
    the inputs that it uses, one for each joint's if none are named; `about` is what the steady motion
    is asked for, the speed of the start if nothing.

    The machine decides the gain, so that this is no law yet: `analysis.lqr.balance` makes it one.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)
    about: Mapping[str, float] = field(default_factory=dict)


LAW = LQR
