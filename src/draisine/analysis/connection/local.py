"""The local connection `eta = -A(r) rdot` of a machine over its shape space, and its curvature.

Rows `L eta + G rdot = 0` decide the base's twist: those of the contacts, of the momentum that stays
zero, or of a fluid's drag that balances. L, G and their derivatives are one compiled program, so A
and its derivatives are exact, for one shape or a whole grid at once.
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
    resistance_matrix,
    solve_kinematics,
)
from draisine.mechanics.kinematics import BASE_ORIGIN
from draisine.mechanics.newton_euler import mass_matrix
from draisine.mechanics.tree import assemble
from draisine.model import TWIST
from draisine.system.compiled import Compiled
from draisine.system.system import System

Ruler = Literal["contacts", "momentum", "drag"]
"""What decides how the base moves."""


@dataclass(frozen=True, eq=False)
class LocalConnection:
    """A machine whose joints decide how its base moves.

    `joints` are the names of the shape's coordinates, `twist` those of the base's free velocities,
    in their order in A. The joints of the machine are `origin + ways r`: r itself, or a slice of them.
    """

    system: System
    ruler: Ruler
    joints: tuple[str, ...]
    twist: tuple[str, ...]
    program: Compiled
    origin: Floats
    ways: Floats

    def __call__(self, r: Any) -> Floats:
        """Return A for shapes (..., joints): (..., twist, joints)."""
        return self.derivatives(r)[0]

    def derivatives(self, r: Any) -> tuple[Floats, Floats]:
        """Return A and its derivatives by the joints: (..., twist, joints) and (..., joint, twist,
        joints).
        """
        r = np.asarray(r, float)
        n, (m, k) = len(self.twist), self.ways.shape
        found = self.program.batch((self.origin + r.reshape(-1, k) @ self.ways.T).T)
        count = r[..., 0].size
        L, G, dL, dG = (np.moveaxis(found[name], -1, 0) for name in ("L", "G", "dL", "dG"))
        L, G = L.reshape(count, n, n), G.reshape(count, n, m)
        dL, dG = dL.reshape(count, m, n, n), dG.reshape(count, m, n, m)
        A = np.linalg.solve(L, G)
        dA = np.linalg.solve(L[:, None], dG - dL @ A[:, None])
        A, dA = A @ self.ways, np.einsum("cjnm,jk->cknm", dA, self.ways) @ self.ways
        return A.reshape(*r.shape[:-1], n, k), dA.reshape(*r.shape[:-1], k, n, k)

    def slice(self, origin: Any, **ways: Any) -> "LocalConnection":
        """Return the connection of the shapes `origin` plus multiples of some ways through them: what
        serves two joints then serves a plane through the shapes of a machine of many.

        >>> import draisine
        >>> satellite = local_connection(draisine.compile("satellite"))
        >>> plane = satellite.slice([0.0, 0.0, 0.0], first=[1.0, 0.0, 0.0], both=[0.0, 1.0, 1.0])
        >>> plane.joints, plane([0.1, 0.2]).shape
        (('first', 'both'), (6, 2))
        """
        rows = {"origin": origin} | ways
        for name, row in rows.items():
            if np.shape(row) != (len(self.joints),):
                raise ModelError(
                    f"slice: {name} needs one number for each of {self.joints}: {row}."
                )
        columns = np.array([ways[name] for name in ways], float).reshape(-1, len(self.joints)).T
        moved = self.origin + self.ways @ np.asarray(origin, float)
        return replace(self, joints=tuple(ways), origin=moved, ways=self.ways @ columns)

    def curvature(self, r: Any, first: str, second: str) -> Floats:
        """Return the displacement (..., twist) per area of a small loop about shapes, counter-clockwise
        in the plane of two joints, eq. [curvature].
        """
        i, j = (self._joint(name) for name in (first, second))
        A, dA = self.derivatives(r)
        spin = self.bracket(A[..., i], A[..., j])
        return dA[..., j, :, i] - dA[..., i, :, j] + spin

    def bracket(self, a: Floats, b: Floats) -> Floats:
        """Return the Lie bracket of twists (..., twist) of the base's group."""
        free = [TWIST.index(name) for name in self.twist]
        wide = np.zeros((*a.shape[:-1], 6))
        wide[..., free] = a
        matrices = np.apply_along_axis(ad, -1, wide)[..., free, :][..., free]
        return np.einsum("...ij,...j->...i", matrices, b)

    def _joint(self, name: str) -> int:
        if name not in self.joints:
            raise ModelError(f"no joint {name!r}; the shape has {', '.join(self.joints)}.")
        return self.joints.index(name)


def local_connection(
    system: System, ruler: Ruler | None = None, mode: Mapping[str, str] | None = None
) -> LocalConnection:
    """Return the connection of a machine all of whose joints are moved.

    `ruler` says what decides: "contacts" where they decide every velocity of the base (the default
    where there are any), "momentum" where it stays zero (the default without), or "drag" where a
    fluid's drag leaves no room for inertia.

    >>> import draisine
    >>> cat = local_connection(draisine.compile("falling_cat", base="SO(3)"))
    >>> cat.ruler, cat.twist, cat([0.4, 0.2]).shape
    ('momentum', ('Wx', 'Wy', 'Wz'), (3, 2))
    """
    if not system.model.joints:
        raise ModelError("a machine without joints has no shape to move.")
    chosen: Ruler = ruler or ("contacts" if system.model.contacts else "momentum")
    traced = system.artifacts.trace()
    tree = assemble(traced.model)
    r = traced.symbols({"r": len(traced.model.joints)})["r"]
    beside = {f"r[{k}]": 0.1 * np.sin(1.0 + k) for k in range(len(r))}
    point = dict(system.parameters) | beside
    at = locomotion(tree, system.mode(mode), np.eye(3), r)
    L, G = _rows(at, chosen, lambda values: evaluate(values, point))
    seeds = [{f"r[{k}]": 1.0} for k in range(len(r))]
    outputs = {
        "L": L,
        "G": G,
        "dL": [tangent(list(L.ravel()), seed) for seed in seeds],
        "dG": [tangent(list(G.ravel()), seed) for seed in seeds],
    }
    program = traced.program("connection", {"r": r}, outputs)
    compiled = system.artifacts.bind(program, system.values)
    joints = tuple(joint.name for joint in system.model.joints)
    origin, ways = np.zeros(len(joints)), np.eye(len(joints))
    return LocalConnection(system, chosen, joints, tuple(at.names), compiled, origin, ways)


def _rows(at: Locomotion, ruler: Ruler, evaluate: Any) -> tuple[Array, Array]:
    """Return L and G of `L eta + G rdot = 0`."""
    if ruler == "contacts":
        found = solve_kinematics(at, evaluate)
        if found.free:
            names = ", ".join(found.reduced_names)
            raise ConfigurationError(
                f"the contacts leave {names} to a dynamics of its own: the shape alone does not decide "
                "the motion. Simulate it instead, with the joints prescribed."
            )
        return at.A[found.rows], at.B[found.rows]
    M = mass_matrix(at.tree, at.geo, BASE_ORIGIN) if ruler == "momentum" else resistance_matrix(at)
    L, G = M[np.ix_(at.outer, at.outer)], M[np.ix_(at.outer, at.inner)]
    values = evaluate(list(L.ravel())).reshape(L.shape)
    if np.linalg.cond(values) > 1e12:
        missing = "inertia" if ruler == "momentum" else "drag"
        raise ModelError(f"ruled by {ruler}: some velocity of the base has no {missing}.")
    return L, G
