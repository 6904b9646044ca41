"""Contacts of the multibody system with the ground: wheels, blades and pins.

For each status, a contact defines the directions in which the velocity of its contact point is
constrained: `normal` (out of the ground), `along` (the heading of a wheel or blade, in the ground)
and `across`, or the axes of the world. Its `surface` has its `centre` on the body; its `guide` is a
unit vector fixed to the body (axle or heading) that defines these directions.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar, Vector, norm
from draisine.errors import ModelError
from draisine.model.body import vector
from draisine.model.force import Tyre
from draisine.model.surface import Disc, Surface, Tip

NamedDirections = dict[str, Array]
"""Unit vectors of the contact directions (or their time derivatives), (3,), by name of the
direction.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """Infinite plane on a body, which a wheel of another body can touch in runs on a terrain."""

    body: str
    point: Vector  # a point of the plane in the zero configuration, m
    normal: Vector  # unit normal that points out of the body

    def __post_init__(self) -> None:
        where = f"flat of {self.body!r}"
        object.__setattr__(self, "point", vector(self.point, f"{where}, point"))
        object.__setattr__(self, "normal", _nonzero_direction(self.normal, f"{where}: the normal"))


@dataclass(frozen=True, slots=True, eq=False)
class Wheel:
    """Wheel, ball or ellipsoid that rolls or slides on the ground.

    Without a tyre it rolls without slip. With a tyre its default status is `tyre`: the normal
    direction stays constrained, and the tyre generates the tangential forces.

    Parameters
    ----------
    name, body
        Name of the wheel, and of its body.
    centre, axle
        Centre (m) and direction of the axle, in the zero configuration.
    surface
        `Disc`, `Torus`, `Ball` or `Ellipsoid`; a number is the radius of a knife-edge disc (m).
    tyre
        Force element of the tyre.
    lifts
        Whether the contact has a normal force; False for planar models.
    stiffness
        Stiffness relative to other contacts; it determines how redundant contacts share forces.
    flats
        Planes of other bodies that the wheel may touch. With flats its default status is `open`.
    touches
        Whether the contact is closed by default.
    slides
        Whether the default status is `sliding`, as for a caster wheel.
    armed
        Function of `mechanics.readings.Readings`. If it is not positive, the contact cannot close: walkers
        disarm a swinging foot so that it does not scuff.
    """

    name: str
    body: str
    centre: Vector
    axle: Vector
    surface: Any
    _: KW_ONLY
    tyre: Tyre | None = None
    lifts: bool = True
    stiffness: Scalar = 1.0
    flats: tuple[Flat, ...] = ()
    touches: bool = True
    slides: bool = False
    armed: Callable[[Any], Scalar] | None = field(default=None, repr=False)

    directions: ClassVar[tuple[str, ...]] = ("normal", "along", "across")
    anchored: ClassVar[bool] = False

    def __post_init__(self) -> None:
        where = f"wheel {self.name!r}"
        object.__setattr__(self, "centre", vector(self.centre, f"{where}, centre"))
        object.__setattr__(self, "axle", _nonzero_direction(self.axle, f"{where}: the axle"))
        surface = self.surface if isinstance(self.surface, Surface) else Disc(self.surface)
        surface.check(where)
        object.__setattr__(self, "flats", tuple(self.flats))
        for flat in self.flats:
            if flat.body == self.body:
                raise ModelError(
                    f"{where}: the flat is on the wheel's own body {self.body!r}. Put the flat on another "
                    "body."
                )
        object.__setattr__(self, "surface", surface.about(self.guide))
        if self.tyre is not None:
            object.__setattr__(self, "tyre", self.tyre.on(self.name))

    @property
    def closed(self) -> str:
        """Status that the contact has if the contact mode does not state one."""
        if self.flats or not self.touches:
            return "open"
        if self.slides:
            return "sliding"
        return "rolling" if self.tyre is None else "tyre"

    @property
    def guide(self) -> Array:
        """Unit vector along the axle."""
        return self.axle / norm(self.axle)

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """Names of the constrained directions by status."""
        normal = ("normal",) if self.lifts else ()
        rows = {"open": (), "sliding": normal, "rolling": (*normal, "along", "across")}
        if self.tyre is None:
            return rows
        carried = () if getattr(self.tyre, "sprung", False) else normal
        return rows | {"tyre": (*carried, *self.tyre.holds)}

    def frame(self, R: Array, axle: Array) -> NamedDirections:
        """Return the contact directions in body axes; R is the rotation from body to world axes."""
        N = R[2, :]
        x = cross(axle, N)
        along = x / norm(x)
        return {"normal": N, "along": along, "across": cross(N, along)}

    def frame_rate(self, R: Array, W: Array, axle: Array, axledot: Array) -> NamedDirections:
        """Return the time derivatives of the contact directions, in axes with the angular velocity
        W (rad/s).
        """
        N = R[2, :]
        Ndot = cross(R[2, :], W)
        along, alongdot = _unit_vector_and_rate(
            cross(axle, N), cross(axledot, N) + cross(axle, Ndot)
        )
        across = cross(Ndot, along) + cross(N, alongdot)
        return {"normal": Ndot, "along": alongdot, "across": across}

    def asymmetry(self, axis: Array, through: Array) -> list[Any]:
        """Return numbers that are all zero if the wheel is rotationally symmetric about an axis."""
        return [*self.surface.asymmetry(axis), *cross(self.centre - through, axis)]


@dataclass(frozen=True, slots=True, eq=False)
class Blade:
    """Knife edge, skate or small ideal wheel: it moves along its heading and not across.

    Parameters
    ----------
    name, body
        Name of the blade, and of its body.
    point, heading
        Contact point (m) and direction of motion, in the zero configuration.
    lifts
        Whether the contact has a normal force; False for planar models.
    stiffness
        Stiffness relative to other contacts; it determines how redundant contacts share forces.
    """

    name: str
    body: str
    point: Vector
    heading: Vector
    lifts: bool = False
    stiffness: Scalar = 1.0

    closed: ClassVar[str] = "gliding"
    directions: ClassVar[tuple[str, ...]] = ("normal", "along", "across")
    anchored: ClassVar[bool] = False
    armed: ClassVar[None] = None
    slides: ClassVar[bool] = False

    def __post_init__(self) -> None:
        where = f"blade {self.name!r}"
        object.__setattr__(self, "point", vector(self.point, f"{where}, point"))
        object.__setattr__(
            self, "heading", _nonzero_direction(self.heading, f"{where}: the heading")
        )

    @property
    def centre(self) -> Array:
        """Contact point in the zero configuration (m)."""
        return self.point

    @property
    def guide(self) -> Array:
        """Unit vector along the heading."""
        return self.heading / norm(self.heading)

    @property
    def surface(self) -> Surface:
        """Surface of the blade: a single point."""
        return Tip().about(self.guide)

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """Names of the constrained directions by status."""
        return {"open": (), "gliding": ("normal", "across") if self.lifts else ("across",)}

    def frame(self, R: Array, heading: Array) -> NamedDirections:
        """Return the contact directions in body axes; R is the rotation from body to world axes."""
        N = R[2, :]
        x = cross(N, heading)
        across = x / norm(x)
        return {"normal": N, "along": cross(across, N), "across": across}

    def frame_rate(self, R: Array, W: Array, heading: Array, headingdot: Array) -> NamedDirections:
        """Return the time derivatives of the contact directions, in axes with the angular velocity
        W (rad/s).
        """
        N = R[2, :]
        Ndot = cross(R[2, :], W)
        across, acrossdot = _unit_vector_and_rate(
            cross(N, heading), cross(Ndot, heading) + cross(N, headingdot)
        )
        along = cross(acrossdot, N) + cross(across, Ndot)
        return {"normal": Ndot, "along": along, "across": acrossdot}

    def asymmetry(self, axis: Array, through: Array) -> list[Any]:
        """Return a non-zero number, because a blade has no rotational symmetry."""
        return [1.0]


@dataclass(frozen=True, slots=True, eq=False)
class Pin:
    """Pin that fixes a point of a body in the world, like a hand on a bar.

    Parameters
    ----------
    name, body
        Name of the pin, and of its body.
    point
        Point in the zero configuration (m).
    axes
        Constrained directions: letters x, y, z of the world's axes.
    grips
        Whether the pin is closed by default. For a climber that hangs by one hand at a time, it is False for
        the other hand.
    stiffness
        Stiffness relative to other contacts; it determines how redundant contacts share forces.
    """

    name: str
    body: str
    point: Vector
    axes: str = "xyz"
    grips: bool = True
    stiffness: Scalar = 1.0

    directions: ClassVar[tuple[str, ...]] = ("x", "y", "z")
    anchored: ClassVar[bool] = True
    armed: ClassVar[None] = None
    slides: ClassVar[bool] = False
    lifts: ClassVar[bool] = False
    surface: ClassVar[Surface] = Tip()
    guide: ClassVar[Array] = np.zeros(3)

    def __post_init__(self) -> None:
        where = f"pin {self.name!r}"
        object.__setattr__(self, "point", vector(self.point, f"{where}, point"))
        if not self.axes or set(self.axes) - set("xyz") or len(set(self.axes)) < len(self.axes):
            raise ModelError(
                f"{where}: invalid axes {self.axes!r}. Use some of the letters x, y, z."
            )

    @property
    def centre(self) -> Array:
        """Contact point in the zero configuration (m)."""
        return self.point

    @property
    def closed(self) -> str:
        """Status that the contact has if the contact mode does not state one."""
        return "gripped" if self.grips else "open"

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """Names of the constrained directions by status."""
        return {"open": (), "gripped": tuple(self.axes)}

    def frame(self, R: Array, guide: Array) -> NamedDirections:
        """Return the world axes in body axes; R is the rotation from body to world axes."""
        return {axis: R[k, :] for k, axis in enumerate("xyz")}

    def frame_rate(self, R: Array, W: Array, guide: Array, guidedot: Array) -> NamedDirections:
        """Return the time derivatives of the world axes, in axes with the angular velocity W
        (rad/s).
        """
        return {axis: cross(R[k, :], W) for k, axis in enumerate("xyz")}

    def asymmetry(self, axis: Array, through: Array) -> list[Any]:
        """Return a non-zero number, because a pin has no rotational symmetry."""
        return [1.0]


Contact = Wheel | Blade | Pin

HOLONOMIC = frozenset({"normal", "x", "y", "z"})
"""Names of the contact directions with holonomic constraints, which keep the gap (m) at zero."""


def _nonzero_direction(values: object, quantity: str) -> Array:
    """Return three scalars as a direction vector; raise an error if it is zero."""
    out = vector(values, quantity)
    if out.dtype != object and not np.any(out):
        raise ModelError(f"{quantity} must not be zero. State a direction.")
    return out


def _unit_vector_and_rate(vector: Array, vector_rate: Array) -> tuple[Array, Array]:
    """Return the unit vector along a vector, and its time derivative."""
    size = norm(vector)
    unit = vector / size
    return unit, (vector_rate - unit * (unit @ vector_rate)) / size
