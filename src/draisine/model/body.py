"""Rigid bodies."""

import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Array, Scalar, Vector, array
from draisine.errors import ModelError

LARGEST = 1e100
"""How large numbers of a drawing may be: a moment of inertia is a product of three, and a double."""


def vector(values: object, what: str) -> Array:
    """Return three scalars as a vector, or say which thing is not one."""
    out = array(values)
    if out.shape != (3,):
        raise ModelError(f"{what}: expected three components, got shape {out.shape}.")
    if out.dtype != object:
        check_sizes(out, f"{what}:")
    return out


def check_sizes(numbers: Array, what: str) -> None:
    """Raise where numbers of a drawing are none, or so large that their products are none."""
    if not np.all(np.isfinite(numbers)):
        raise ModelError(f"{what} has entries that are not numbers.")
    if np.any(np.abs(numbers) > LARGEST):
        raise ModelError(f"{what} has entries beyond {LARGEST:g}; SI units are meant.")


def inertia(
    xx: Scalar = 0.0,
    yy: Scalar = 0.0,
    zz: Scalar = 0.0,
    xy: Scalar = 0.0,
    xz: Scalar = 0.0,
    yz: Scalar = 0.0,
) -> Array:
    """Return an inertia tensor from its entries (products with the sign of the entry, `xz = -int x
    z dm`).

    >>> print(inertia(2.0, 3.0, 4.0, xz=0.5))
    [[2.  0.  0.5]
     [0.  3.  0. ]
     [0.5 0.  4. ]]
    """
    return array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def flat_inertia(moment: Scalar) -> Array:
    """Return the inertia tensor of a flat body by its moment about the vertical."""
    return inertia(moment / 2, moment / 2, moment)


class BodyBox(NamedTuple):
    """A box that shows a body in pictures, in the drawing: its centre, and the ways from there to three
    of its faces as columns.
    """

    centre: Array
    ways: Array


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A rigid body, drawn in the machine's zero configuration.

    `com` is its centre of mass and `inertia` the tensor about it, both in the drawing's axes.
    `added` and `drag` are 6x6 fluid terms (linear part first) about the drawing's origin, for
    swimmers: kinetic energy `eta' added eta / 2`, wrench `-drag eta`, with eta the twist of the
    frame that coincides with the drawing's when the machine is in its zero configuration. `boxes` are
    what pictures show of it; nothing else knows them.
    """

    name: str
    mass: Scalar = 0.0
    com: Vector = field(default_factory=lambda: np.zeros(3))
    inertia: Vector = field(default_factory=lambda: np.zeros((3, 3)))
    added: Array | None = None
    drag: Array | None = None
    boxes: tuple[BodyBox, ...] = ()

    def __post_init__(self) -> None:
        where = f"body {self.name!r}"
        object.__setattr__(self, "com", vector(self.com, f"{where}, com"))
        for attribute, shape in (("inertia", (3, 3)), ("added", (6, 6)), ("drag", (6, 6))):
            value = getattr(self, attribute)
            if value is None:
                continue
            value = array(value)
            if value.shape != shape:
                way = "; inertia(xx, yy, zz) makes it" if attribute == "inertia" else ""
                raise ModelError(
                    f"{where}, {attribute}: expected shape {shape}, got {value.shape}{way}."
                )
            object.__setattr__(self, attribute, value)
        self._check()

    def _check(self) -> None:
        where = f"body {self.name!r}"
        if isinstance(self.mass, (int, float)):
            if not self.mass <= LARGEST:
                raise ModelError(f"{where}: mass {self.mass} kg is not a number, or too large.")
            if self.mass < 0:
                raise ModelError(f"{where}: mass {self.mass} kg is negative.")
        for attribute in ("inertia", "added", "drag"):
            value = getattr(self, attribute)
            if value is not None and value.dtype != object:
                check_sizes(value, f"{where}: {attribute}")
        if self.inertia.dtype != object:
            _check_inertia(where, self.inertia)
        if self.added is not None and self.added.dtype != object:
            _check_semidefinite(f"{where}: added mass", self.added)


def _check_semidefinite(what: str, matrix: Array) -> None:
    scale = np.abs(matrix).max()
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-12 * scale):
        raise ModelError(f"{what} is not symmetric.")
    least = np.linalg.eigvalsh(matrix)[0]
    if least < -1e-12 * scale:
        raise ModelError(f"{what} is not positive semidefinite: least eigenvalue {least:.6g}.")


def is_doubtful(mass: Array, tensors: Array) -> Array:
    """Return where masses (...), or tensors of inertia (..., 3, 3), are none that a body can have, or
    nearly so: there, draw the body to be told.
    """
    moments = np.linalg.eigvalsh(np.where(np.isfinite(tensors), tensors, 0.0))
    scale = np.abs(tensors).max(axis=(-2, -1))
    sound = (mass >= 0.0) & np.isfinite(mass) & np.isfinite(tensors).all(axis=(-2, -1))
    sound &= moments[..., 0] >= -5e-13 * scale
    return ~sound


def _check_inertia(where: str, tensor: Array) -> None:
    _check_semidefinite(f"{where}: inertia", tensor)
    a, b, c = np.linalg.eigvalsh(tensor)
    # Published and measured bicycles break the inequality. The kinetic energy stays positive, so the
    # equations of motion have a solution.
    if a + b < c * (1 - 1e-9):
        warnings.warn(
            f"{where}: principal moments {a:.6g}, {b:.6g}, {c:.6g} kg m^2 break the triangle inequality; "
            "no distribution of mass has them. They are used as they are. Check units and the reference "
            "point (the centre of mass).",
            UserWarning,
            stacklevel=5,
        )
