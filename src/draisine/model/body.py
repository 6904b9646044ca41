"""Rigid bodies: mass, centre of mass, inertia and fluid terms, with checks of their values."""

import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Array, Scalar, Vector, array
from draisine.errors import ModelError

MAX_NUMBER = 1e100
"""Largest accepted magnitude of a number in a model, in SI units.

A moment of inertia is a product of three numbers and must not overflow a double (1e308).
"""

SEMIDEFINITE_TOLERANCE = 1e-12
"""Largest asymmetry or negative eigenvalue that counts as a rounding error, as a fraction of the
largest entry of the matrix.
"""


def vector(values: object, quantity: str) -> Array:
    """Return three scalars as an array (3,); raise an error that mentions `quantity` if there are not
    three.
    """
    out = array(values)
    if out.shape != (3,):
        raise ModelError(f"{quantity}: expected three components, got shape {out.shape}.")
    if out.dtype != object:
        check_sizes(out, f"{quantity}:")
    return out


def check_sizes(numbers: Array, quantity: str) -> None:
    """Raise an error if numbers of a model are not finite, or so large that their products
    overflow.
    """
    # The comparison is false for NaN, too.
    if np.abs(numbers).max(initial=0.0) <= MAX_NUMBER:
        return
    if not np.all(np.isfinite(numbers)):
        raise ModelError(f"{quantity} has entries that are not numbers.")
    raise ModelError(f"{quantity} has entries beyond {MAX_NUMBER:g}. Use SI units.")


def inertia(
    xx: Scalar = 0.0,
    yy: Scalar = 0.0,
    zz: Scalar = 0.0,
    xy: Scalar = 0.0,
    xz: Scalar = 0.0,
    yz: Scalar = 0.0,
) -> Array:
    """Return an inertia tensor from its entries.

    Parameters
    ----------
    xx, yy, zz
        Moments of inertia (kg m2).
    xy, xz, yz
        Off-diagonal entries (kg m2), `xz = -int x z dm`.

    Returns
    -------
    array, (3, 3)
        Inertia tensor (kg m2).

    Examples
    --------
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
    """Box that represents a body in pictures, in the axes of the zero configuration."""

    centre: Array  # position of the centre, m
    ways: Array  # vectors from the centre to the centres of three faces, one per column, m, (3, 3)


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """Rigid body of a multibody system in its zero configuration.

    Parameters
    ----------
    name
        Name of the body.
    mass
        Mass (kg).
    com
        Centre of mass in the zero configuration (m).
    inertia
        Inertia tensor about the centre of mass, in the axes of the zero configuration (kg m2).
    added, drag
        Fluid terms of swimmers, (6, 6) with the linear part first, about the origin of the zero
        configuration: kinetic energy `eta' added eta / 2`, wrench `-drag eta`. eta is the twist of the frame
        on the body that coincides with the world frame in the zero configuration.
    boxes
        Boxes that show the body in pictures; they have no mechanical effect.
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
        self._check_physical_validity()

    def _check_physical_validity(self) -> None:
        """Raise an error if mass, inertia or fluid terms are physically invalid."""
        where = f"body {self.name!r}"
        if isinstance(self.mass, (int, float)):
            if not self.mass <= MAX_NUMBER:
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


def _check_semidefinite(quantity: str, matrix: Array) -> Array:
    """Raise an error if a matrix of finite numbers is not symmetric and positive semidefinite; return its
    eigenvalues in ascending order.
    """
    scale = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > SEMIDEFINITE_TOLERANCE * scale:
        raise ModelError(f"{quantity} is not symmetric.")
    eigenvalues = np.linalg.eigvalsh(matrix)
    least = eigenvalues[0]
    if least < -SEMIDEFINITE_TOLERANCE * scale:
        raise ModelError(
            f"{quantity} is not positive semidefinite: smallest eigenvalue {least:.6g}."
        )
    return eigenvalues


def may_be_invalid(mass: Array, tensors: Array) -> Array:
    """Return for arrays of masses (...) and inertia tensors (..., 3, 3) whether one may be
    physically invalid.

    The test is fast and slightly too strict. The constructor of `Body` decides and reports the
    reason.
    """
    moments = np.linalg.eigvalsh(np.where(np.isfinite(tensors), tensors, 0.0))
    scale = np.abs(tensors).max(axis=(-2, -1))
    sound = (mass >= 0.0) & np.isfinite(mass) & np.isfinite(tensors).all(axis=(-2, -1))
    sound &= moments[..., 0] >= -5e-13 * scale
    return ~sound


def _check_inertia(body_label: str, tensor: Array) -> None:
    """Raise an error if an inertia tensor is not positive semidefinite; warn if no mass
    distribution has it.
    """
    a, b, c = _check_semidefinite(f"{body_label}: inertia", tensor)
    # Warn only: published and measured bicycles violate the triangle inequality. The kinetic energy
    # is still positive, so the equations of motion have a solution.
    if a + b < c * (1 - 1e-9):
        warnings.warn(
            f"{body_label}: principal moments {a:.6g}, {b:.6g}, {c:.6g} kg m^2 break the triangle "
            "inequality; no distribution of mass has them. They are used as they are. Check units and the "
            "reference point (the centre of mass).",
            UserWarning,
            stacklevel=5,
        )
