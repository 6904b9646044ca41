"""Inverse dynamics: joint torques and contact forces that produce given accelerations.

If a system is statically indeterminate, the minimum-norm solution is returned, together with a basis of the
torques and forces that do not change the motion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.mechanics.connection import locomotion, solve_kinematics, solve_torques
from draisine.mechanics.tree import assemble
from draisine.system.state import State
from draisine.system.system import System


@dataclass(frozen=True, eq=False)
class RequiredTorques:
    """Minimum-norm joint torques and contact forces of a motion, by name, thesis (1.18)-(1.19)."""

    torques: dict[str, float]  # joint torques or forces, N m or N
    forces: dict[str, float]  # contact forces by name of the constraint row, N
    # Basis of the torques that do not change the motion, by name of the joint, (dimensions,) each
    static_torques: dict[str, Floats]
    static_forces: dict[str, Floats]  # contact forces of that basis, by name of the constraint row

    @property
    def dimensions(self) -> int:
        """Number of independent combinations of torques that do not change the motion."""
        shares = np.array(list(self.static_torques.values())).reshape(len(self.torques), -1)
        return int(np.linalg.matrix_rank(shares, tol=1e-9)) if shares.size else 0


def solve_inverse_dynamics(
    system: System,
    state: State,
    vdot: Floats,
    driven: Sequence[str] | None = None,
    mode: Mapping[str, str] | None = None,
) -> RequiredTorques:
    """Compute the joint torques and contact forces that produce given accelerations, eq. [torques].

    Parameters
    ----------
    system
        The compiled system.
    state
        Configuration and speeds.
    vdot
        Time derivatives of all speeds (m/s2 or rad/s2), in the order of `model.speeds`.
    driven
        Names of the joints with torques; all by default.
    mode
        Contact mode: statuses of contacts by name; all closed by default.

    Returns
    -------
    RequiredTorques
        Minimum-norm torques (N m or N) and forces (N).

    Raises
    ------
    ParameterError
        If the system has no joints.

    Examples
    --------
    >>> import draisine
    >>> cat = draisine.compile("falling_cat")
    >>> still = draisine.state(cat)
    >>> sorted(solve_inverse_dynamics(cat, still, np.zeros(len(cat.model.speeds))).torques)
    ['bend', 'sway']
    """
    model = system.model
    if not model.joints:
        raise ParameterError(
            f"{system.vehicle.__name__} has no joints, so that inverse dynamics has no unknown torques."
        )
    frame = locomotion(assemble(model), system.mode(mode), rotation(state.q), state.r, driven)
    motion = solve_kinematics(frame)
    first = len(model.twist)
    names = [joint.name for joint in model.joints]
    inner = [first + k - 6 for k in frame.inner]
    eta_r = np.array([state.v[model.speeds.index(name)] for name in motion.reduced_names])
    out = solve_torques(motion, eta_r, state.v[inner], np.asarray(vdot, float)[inner])
    joints = [names[k - 6] for k in frame.inner]
    return RequiredTorques(
        dict(zip(joints, map(float, out.tau), strict=True)),
        dict(zip(frame.labels, map(float, out.lam), strict=True)),
        dict(zip(joints, np.asarray(out.tau_static, float), strict=True)),
        dict(zip(frame.labels, np.asarray(out.lam_static, float), strict=True)),
    )
