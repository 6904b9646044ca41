"""Design parameters of a linear-quadratic regulator (LQR) about a steady motion."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LQR:
    """Design of the control law `u = u0 - K (x - x0)` with least integral of `dx' Q dx + du' R du`,
    eq. [lqr].

    The gain K depends on the vehicle: `analysis.lqr.balance` computes it and returns the control
    law.

    Parameters
    ----------
    weights
        Diagonal of Q by name of the state; 1 for states that are not named.
    costs
        Diagonal of R by name of the input; if empty, all joint torques with cost 1.
    about
        Conditions of the steady motion; if empty, the initial forward speed.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    costs: Mapping[str, float] = field(default_factory=dict)
    about: Mapping[str, float] = field(default_factory=dict)


LAW = LQR
