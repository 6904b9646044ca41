"""Local connection `eta = -A(r) rdot` of a system over its shape space, and its curvature.

The shape r are the joint coordinates. Linear equations `L eta + G rdot = 0` determine the twist eta of the
base: contact constraints, zero momentum, or the balance of fluid drag. One compiled program evaluates L, G
and their derivatives, so that A and its derivatives are exact, for one shape or a grid of shapes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from draisine.algebra.lie import ad
from draisine.algebra.scalar import Array, Floats
from draisine.algebra.trace import evaluate, tangent
from draisine.errors import ConfigurationError, ModelError
from draisine.mechanics.connection import (
    Locomotion,
    locomotion,
    mass_centre_frame,
    resistance_matrix,
    solve_kinematics,
)
from draisine.mechanics.kinematics import BASE_ORIGIN
from draisine.mechanics.newton_euler import mass_matrix
from draisine.mechanics.tree import assemble
from draisine.model import BASE_TWIST
from draisine.system.compiled import Compiled
from draisine.system.system import System

Ruler = Literal["contacts", "momentum", "drag"]
"""Kind of equations that determine the motion of the base."""

ReferenceFrame = Literal["base", "mass centre"]
"""Frame whose motion the connection describes. Both have the axes of the base; the floating frame has its
origin at the mass centre of all bodies."""

MAX_BASE_CONDITION = 1e12
"""Largest condition number of L in `L eta + G rdot = 0`; above it a velocity of the base has neither inertia
nor drag and is undetermined."""


@dataclass(frozen=True, eq=False)
class LocalConnection:
    """Local connection A(r) of a system whose joints determine the motion of its base.

    The joint coordinates of the system are `origin + directions r`. The shape coordinates r are all
    joint coordinates, or coordinates of a linear slice of the shape space.
    """

    system: System
    ruler: Ruler
    joints: tuple[str, ...]  # names of the shape coordinates r
    twist: tuple[str, ...]  # names of the free velocities of the frame, the rows of A
    program: Compiled
    origin: Floats  # joint coordinates at r = 0, (joints of the system,)
    # Change of the joint coordinates per unit of each shape coordinate, (joints of the system,
    # shape coordinates)
    directions: Floats
    frame: ReferenceFrame = "base"  # frame that the velocities `twist` belong to

    def __call__(self, r: Any) -> Floats:
        """Return the connection A (..., twist, joints) at shapes r (..., joints)."""
        return self.derivatives(r)[0]

    def derivatives(self, r: Any) -> tuple[Floats, Floats]:
        """Return A (..., twist, joints) and its derivatives by r, (..., joint, twist, joints)."""
        r = np.asarray(r, float)
        n = len(self.twist)
        m, k = self.directions.shape
        outputs = self.program.batch((self.origin + r.reshape(-1, k) @ self.directions.T).T)
        count = r[..., 0].size
        L, G, dL, dG = (np.moveaxis(outputs[name], -1, 0) for name in ("L", "G", "dL", "dG"))
        L = L.reshape(count, n, n)
        G = G.reshape(count, n, m)
        dL = dL.reshape(count, m, n, n)
        dG = dG.reshape(count, m, n, m)
        A = np.linalg.solve(L, G)
        dA = np.linalg.solve(L[:, None], dG - dL @ A[:, None])
        A = A @ self.directions
        dA = np.einsum("cjnm,jk->cknm", dA, self.directions) @ self.directions
        return A.reshape(*r.shape[:-1], n, k), dA.reshape(*r.shape[:-1], k, n, k)

    def slice(self, origin: Any, **directions: Any) -> "LocalConnection":
        """Return the connection restricted to a linear slice of the shape space.

        On a planar slice, methods for two joints apply to systems with more joints.

        Parameters
        ----------
        origin
            Shape at r = 0, one number per joint.
        directions
            Direction of each coordinate of the slice by its new name, one number per joint.

        Examples
        --------
        >>> import draisine
        >>> satellite = local_connection(draisine.compile("satellite"))
        >>> plane = satellite.slice([0.0, 0.0, 0.0], first=[1.0, 0.0, 0.0], both=[0.0, 1.0, 1.0])
        >>> plane.joints, plane([0.1, 0.2]).shape
        (('first', 'both'), (6, 2))
        """
        rows = {"origin": origin} | directions
        for name, row in rows.items():
            if np.shape(row) != (len(self.joints),):
                raise ModelError(
                    f"slice: {name} = {row} must have one number for each of the joints "
                    f"{', '.join(self.joints)}."
                )
        columns = (
            np.array([directions[name] for name in directions], float)
            .reshape(-1, len(self.joints))
            .T
        )
        shifted = self.origin + self.directions @ np.asarray(origin, float)
        return replace(
            self, joints=tuple(directions), origin=shifted, directions=self.directions @ columns
        )

    def curvature(self, r: Any, first: str, second: str) -> Floats:
        """Return the curvature (..., twist) at shapes r (..., joints), eq. [curvature].

        It is the displacement per enclosed area of a small counter-clockwise loop in the plane of the two
        shape coordinates `first` and `second`.
        """
        i, j = (self._shape_index(name) for name in (first, second))
        A, dA = self.derivatives(r)
        spin = self.bracket(A[..., i], A[..., j])
        return dA[..., j, :, i] - dA[..., i, :, j] + spin

    def bracket(self, a: Floats, b: Floats) -> Floats:
        """Return the Lie bracket of twists a and b of the base, (..., twist)."""
        free = [BASE_TWIST.index(name) for name in self.twist]
        wide = np.zeros((*a.shape[:-1], 6))
        wide[..., free] = a
        matrices = np.apply_along_axis(ad, -1, wide)[..., free, :][..., free]
        return np.einsum("...ij,...j->...i", matrices, b)

    def _shape_index(self, name: str) -> int:
        """Return the index of a shape coordinate by name."""
        if name not in self.joints:
            raise ModelError(f"Unknown joint {name!r}. The shape has {', '.join(self.joints)}.")
        return self.joints.index(name)


def local_connection(
    system: System,
    ruler: Ruler | None = None,
    mode: Mapping[str, str] | None = None,
    frame: ReferenceFrame = "base",
) -> LocalConnection:
    """Return the local connection of a system with prescribed joint motions.

    Parameters
    ----------
    system
        The compiled system.
    ruler
        Equations that determine the motion of the base: "contacts" (the default if there are any),
        "momentum", which stays zero (the default without contacts), or "drag", if inertia is negligible.
    mode
        Contact mode: statuses of contacts by name.
    frame
        Frame whose motion is described: that of the base, or a floating frame with the axes of the base
        and its origin at the mass centre of all bodies, eq. [mass-centre-frame].

    Raises
    ------
    ModelError
        If the system has no joints, a velocity of the base has neither inertia nor drag, or the base
        cannot follow the mass centre.
    ConfigurationError
        If the contacts do not determine all velocities of the base.

    Examples
    --------
    >>> import draisine
    >>> cat = local_connection(draisine.compile("falling_cat", base="SO(3)"))
    >>> cat.ruler, cat.twist, cat([0.4, 0.2]).shape
    ('momentum', ('Wx', 'Wy', 'Wz'), (3, 2))

    About the mass centre of a floating machine, joints only turn the frame:

    >>> floating = local_connection(draisine.compile("falling_cat"), frame="mass centre")
    >>> bool(abs(floating([0.4, 0.2])[:3]).max() < 1e-15)
    True
    """
    if not system.model.joints:
        raise ModelError("A machine without joints has no local connection.")
    chosen: Ruler = ruler or ("contacts" if system.model.contacts else "momentum")
    traced = system.artifacts.trace()
    tree = assemble(traced.model)
    r = traced.symbols({"r": len(traced.model.joints)})["r"]
    # Determine ranks at a general shape, because the zero configuration is often singular by
    # symmetry.
    general = {f"r[{k}]": 0.1 * np.sin(1.0 + k) for k in range(len(r))}
    point = dict(system.parameters) | general
    machine = locomotion(tree, system.mode(mode), np.eye(3), r)
    L, G = _determining_rows(machine, chosen, lambda values: evaluate(values, point))
    if frame == "mass centre":
        L, G = mass_centre_frame(machine).transform_rows(L, G)
    elif frame != "base":
        raise ModelError(f"Unknown frame {frame!r}. Available frames: base, mass centre.")
    seeds = [{f"r[{k}]": 1.0} for k in range(len(r))]
    outputs = {
        "L": L,
        "G": G,
        "dL": [tangent(list(L.ravel()), seed) for seed in seeds],
        "dG": [tangent(list(G.ravel()), seed) for seed in seeds],
    }
    program = traced.make_program("connection", {"r": r}, outputs)
    compiled = system.artifacts.bind(program, system.values)
    joints = tuple(joint.name for joint in system.model.joints)
    origin = np.zeros(len(joints))
    directions = np.eye(len(joints))
    twist = tuple(machine.names)
    return LocalConnection(system, chosen, joints, twist, compiled, origin, directions, frame)


def _determining_rows(locomotion: Locomotion, ruler: Ruler, evaluate: Any) -> tuple[Array, Array]:
    """Return the matrices L and G of `L eta + G rdot = 0` for the kind of equations `ruler`."""
    if ruler == "contacts":
        motion = solve_kinematics(locomotion, evaluate)
        if motion.free:
            names = ", ".join(motion.reduced_names)
            raise ConfigurationError(
                f"The contacts leave the degrees of freedom {names}: the shape alone does not determine the "
                "motion. Simulate the machine with prescribed joints instead."
            )
        return locomotion.A[motion.rows], locomotion.B[motion.rows]
    M = (
        mass_matrix(locomotion.tree, locomotion.geo, BASE_ORIGIN)
        if ruler == "momentum"
        else resistance_matrix(locomotion)
    )
    L = M[np.ix_(locomotion.outer, locomotion.outer)]
    G = M[np.ix_(locomotion.outer, locomotion.inner)]
    values = evaluate(list(L.ravel())).reshape(L.shape)
    if np.linalg.cond(values) > MAX_BASE_CONDITION:
        missing = "inertia" if ruler == "momentum" else "drag"
        raise ModelError(
            f"ruler = {ruler!r}: a velocity of the base has no {missing}. Choose another ruler."
        )
    return L, G
