"""Path following with preview, of least cost for the linear system of a bicycle itself.

With `u = -K x` of least cost for a weight q on the distance y from the x axis, a path r ahead adds

    u = R^-1 B' int_0^T exp((A - B K)' tau) C' q r(t + tau) dtau,        eq. [preview]:

what the path will be weighs the less the sooner the loop forgets it; behind T the path is taken to stay
where it is (Sharp and Valtetsiotis, Optimal
preview car steering control, Vehicle System Dynamics 35 Suppl. (2001) 101-117).
"""

from collections.abc import Mapping

import numpy as np
import scipy.linalg

from draisine.algebra.scalar import Floats
from draisine.analysis.linear import linearise, reach_states
from draisine.analysis.lqr import riccati_gain
from draisine.control.path_following import Path, PathFollowing
from draisine.errors import ConfigurationError
from draisine.system.state import state
from draisine.system.system import System


def follow_path(
    system: System,
    path: Path,
    speed: float,
    weights: Mapping[str, float],
    *,
    cost: float = 0.1,
    horizon: float = 2.0,
    count: int = 40,
    delay: float = 0.0,
) -> PathFollowing:
    """Return the law that steers a bicycle along a path at a speed: `weights` of its states (`y`, `yaw`,
    `lean` ...), `cost` of the torque; it sees `count` points of the path over a `horizon` in s.

    >>> from draisine import compile
    >>> law = follow_path(compile("whipple"), lambda s: 0.0 * s, 5.0, {"y": 1.0})
    >>> law.states_read
    ('lean', 'steer', 'yaw', 'y', 'lean_rate', 'steer_rate')
    """
    found = linearise(system, state(system, forward_speed=speed), cyclic=True)
    aside = _aside(found.A, found.states)
    for name in ("y", *weights):
        if name not in aside:
            raise ConfigurationError(
                f"follow_path: {name!r} is no state that steering moves; take of {', '.join(aside)}."
            )
    at = [found.states.index(name) for name in aside]
    A, b = found.A[np.ix_(at, at)], found.part(["steer"]).B[at]
    Q = np.diag([float(weights.get(name, 0.0)) for name in aside])
    K = riccati_gain(A, b, Q, np.array([[cost]]))
    closed = (A - b @ K).T
    seen = Q[:, aside.index("y")]
    edges = np.linspace(0.0, horizon, count + 1)
    kept = [np.linalg.solve(closed, scipy.linalg.expm(closed * t) @ seen) for t in edges]
    kept[-1] = np.zeros(len(aside))  # behind what is seen the path stays where it is
    ahead = [float(b[:, 0] @ (kept[k + 1] - kept[k])) / cost for k in range(count)]
    tau = (edges[:-1] + edges[1:]) / 2.0
    return PathFollowing(
        tuple(aside), tuple(K[0].tolist()), path, tuple((speed * tau).tolist()), tuple(ahead), delay
    )


def _aside(A: Floats, states: tuple[str, ...]) -> list[str]:
    """Return the states that have to do with lean and steer."""
    linked = np.abs(A) > 1e-9 * np.abs(A).max()
    aside = reach_states(linked, np.isin(states, ("lean", "steer")))
    return [name for name, yes in zip(states, aside, strict=True) if yes]
