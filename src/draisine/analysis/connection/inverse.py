"""Inverse torque dynamics: what the joints of a machine need for the motion that it makes, and what no
motion shows of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.mechanics.connection import locomotion, required_torques, solve_kinematics
from draisine.mechanics.tree import assemble
from draisine.system.state import State
from draisine.system.system import System


@dataclass(frozen=True, eq=False)
class NeededTorques:
    """The torques of joints and the forces of contact rows, by name, of least norm; and, one column
    per dimension, what can be added to both without a change of the motion, (1.18)-(1.19).
    """

    torques: dict[str, float]
    forces: dict[str, float]
    static_torques: dict[str, Floats]
    static_forces: dict[str, Floats]

    @property
    def dimensions(self) -> int:
        """In how many ways the torques can be changed."""
        shares = np.array(list(self.static_torques.values())).reshape(len(self.torques), -1)
        return int(np.linalg.matrix_rank(shares, tol=1e-9)) if shares.size else 0


def needed_torques(
    system: System,
    state: State,
    vdot: Floats,
    driven: Sequence[str] | None = None,
    mode: Mapping[str, str] | None = None,
) -> NeededTorques:
    """Return what the driven joints (all by default) and the contacts that a mode closes (all by
    default) do while a machine has a state and accelerations, eq. [torques].

    >>> import draisine
    >>> cat = draisine.compile("falling_cat")
    >>> still = draisine.state(cat)
    >>> sorted(needed_torques(cat, still, np.zeros(len(cat.model.speeds))).torques)
    ['bend', 'sway']
    """
    model = system.model
    if not model.joints:
        raise ParameterError(f"{system.vehicle.__name__} has no joints that could need torques.")
    at = locomotion(assemble(model), system.mode(mode), rotation(state.q), state.r, driven)
    found = solve_kinematics(at)
    first = len(model.twist)
    names = [joint.name for joint in model.joints]
    inner = [first + k - 6 for k in at.inner]
    eta_r = np.array([state.v[model.speeds.index(name)] for name in found.reduced_names])
    out = required_torques(found, eta_r, state.v[inner], np.asarray(vdot, float)[inner])
    joints = [names[k - 6] for k in at.inner]
    return NeededTorques(
        dict(zip(joints, map(float, out.tau), strict=True)),
        dict(zip(at.labels, map(float, out.lam), strict=True)),
        dict(zip(joints, np.asarray(out.tau_static, float), strict=True)),
        dict(zip(at.labels, np.asarray(out.lam_static, float), strict=True)),
    )
