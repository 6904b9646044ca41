"""Contacts with the ground, drawn on the machine.

Each contact declares, per status, which directions of the contact point's velocity it forbids:
`normal` (out of the ground), `along` (the way a wheel or blade heads, in the ground) and `across`,
or the world's axes. Its `surface` stands at its `centre` on the body; its `guide` is the unit
vector of the drawing, fixed to the body, that tells its directions.
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
"""Directions, or their rates, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """A plane of a body, through a point of the drawing, whose normal points out of the body: what a
    wheel of another body can touch, in runs on a terrain. It has no border.
    """

    body: str
    point: Vector
    normal: Vector

    def __post_init__(self) -> None:
        where = f"flat of {self.body!r}"
        object.__setattr__(self, "point", vector(self.point, f"{where}, point"))
        object.__setattr__(self, "normal", _direction(self.normal, f"{where}: the normal"))


@dataclass(frozen=True, slots=True, eq=False)
class Wheel:
    """A surface that rolls on the ground: a `Disc`, `Torus`, `Ball` or `Ellipsoid` around a centre;
    a number is the radius of a knife-edge disc.

    Without a `tyre` it rolls ideally. With one it has the status `tyre` where a mode does not say
    otherwise: the ground carries it, and what the tyre does not hold slips, by the tyre's law.

    One that `slides` does so where a mode does not say otherwise, as a ball does that turns every way.
    `lifts` tells whether the ground carries it; set it to False for machines that live in the plane.
    `stiffness`, relative to that of others, is by what it takes its share of forces that several
    contacts could carry. `flats` are the planes of other bodies that it may touch; with some it is
    open where a mode does not mention it, as it is where `touches` is False. `armed`, a function of
    a `mechanics.readings.Readings`, is a condition: where it is not positive, what comes down passes
    through the ground (so walkers do not scuff).
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
        object.__setattr__(self, "axle", _direction(self.axle, f"{where}: the axle"))
        surface = self.surface if isinstance(self.surface, Surface) else Disc(self.surface)
        surface.check(where)
        object.__setattr__(self, "flats", tuple(self.flats))
        for flat in self.flats:
            if flat.body == self.body:
                raise ModelError(f"{where}: it cannot touch its own body, {self.body!r}.")
        object.__setattr__(self, "surface", surface.about(self.guide))
        if self.tyre is not None:
            object.__setattr__(self, "tyre", self.tyre.on(self.name))

    @property
    def closed(self) -> str:
        """The status where a mode does not mention it."""
        if self.flats or not self.touches:
            return "open"
        if self.slides:
            return "sliding"
        return "rolling" if self.tyre is None else "tyre"

    @property
    def guide(self) -> Array:
        """The unit vector along the axle."""
        return self.axle / norm(self.axle)

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """The forbidden directions per status."""
        normal = ("normal",) if self.lifts else ()
        rows = {"open": (), "sliding": normal, "rolling": (*normal, "along", "across")}
        if self.tyre is None:
            return rows
        carried = () if getattr(self.tyre, "sprung", False) else normal
        return rows | {"tyre": (*carried, *self.tyre.holds)}

    def frame(self, R: Array, axle: Array) -> NamedDirections:
        """Return the directions of the wheel in the axes that R takes to the world's."""
        N = R[2, :]
        x = cross(axle, N)
        along = x / norm(x)
        return {"normal": N, "along": along, "across": cross(N, along)}

    def frame_rate(self, R: Array, W: Array, axle: Array, axledot: Array) -> NamedDirections:
        """Return how fast its directions turn in axes that turn with W."""
        N, Ndot = R[2, :], cross(R[2, :], W)
        along, alongdot = _unit_rate(cross(axle, N), cross(axledot, N) + cross(axle, Ndot))
        across = cross(Ndot, along) + cross(N, alongdot)
        return {"normal": Ndot, "along": alongdot, "across": across}

    def asymmetry(self, axis: Array, through: Array) -> list[Any]:
        """Return numbers that vanish where it looks the same however far it turns about an axis."""
        return [*self.surface.asymmetry(axis), *cross(self.centre - through, axis)]


@dataclass(frozen=True, slots=True, eq=False)
class Blade:
    """A knife edge, skate or ideal small wheel at a point of a body: it moves along its heading,
    not across.

    `lifts` tells whether the ground also carries it (a `normal` row); leave it False for machines
    that live in the plane.
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
        object.__setattr__(self, "heading", _direction(self.heading, f"{where}: the heading"))

    @property
    def centre(self) -> Array:
        """Where it sits."""
        return self.point

    @property
    def guide(self) -> Array:
        """The unit vector along the heading."""
        return self.heading / norm(self.heading)

    @property
    def surface(self) -> Surface:
        """A single point."""
        return Tip().about(self.guide)

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """The forbidden directions per status."""
        return {"open": (), "gliding": ("normal", "across") if self.lifts else ("across",)}

    def frame(self, R: Array, heading: Array) -> NamedDirections:
        """Return the directions of the blade in the axes that R takes to the world's."""
        N = R[2, :]
        x = cross(N, heading)
        across = x / norm(x)
        return {"normal": N, "along": cross(across, N), "across": across}

    def frame_rate(self, R: Array, W: Array, heading: Array, headingdot: Array) -> NamedDirections:
        """Return how fast its directions turn in axes that turn with W."""
        N, Ndot = R[2, :], cross(R[2, :], W)
        across, acrossdot = _unit_rate(
            cross(N, heading), cross(Ndot, heading) + cross(N, headingdot)
        )
        along = cross(acrossdot, N) + cross(across, Ndot)
        return {"normal": Ndot, "along": along, "across": acrossdot}

    def asymmetry(self, axis: Array, through: Array) -> list[Any]:
        """Return that every turn changes it."""
        return [1.0]


@dataclass(frozen=True, slots=True, eq=False)
class Pin:
    """A grip: a point of a body held where it is, in the world directions named by `axes`.

    `grips` tells whether it holds where a mode does not mention it; a machine that hangs by one hand
    at a time sets it to False for the others.
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
            raise ModelError(f"{where}: axes {self.axes!r}; take some of the letters x, y, z.")

    @property
    def centre(self) -> Array:
        """Where it sits."""
        return self.point

    @property
    def closed(self) -> str:
        """The status where a mode does not mention it."""
        return "gripped" if self.grips else "open"

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """The forbidden directions per status."""
        return {"open": (), "gripped": tuple(self.axes)}

    def frame(self, R: Array, guide: Array) -> NamedDirections:
        """Return the world's axes in those that R takes to the world's."""
        return {axis: R[k, :] for k, axis in enumerate("xyz")}

    def frame_rate(self, R: Array, W: Array, guide: Array, guidedot: Array) -> NamedDirections:
        """Return how fast the world's axes turn in axes that turn with W."""
        return {axis: cross(R[k, :], W) for k, axis in enumerate("xyz")}

    def asymmetry(self, axis: Array, through: Array) -> list[Any]:
        """Return that every turn changes it."""
        return [1.0]


Contact = Wheel | Blade | Pin

HOLONOMIC = frozenset({"normal", "x", "y", "z"})
"""The rows that come from a condition on the configuration: a gap that stays zero."""


def _direction(values: object, what: str) -> Array:
    """Return three scalars as a direction, or say that there is none."""
    out = vector(values, what)
    if out.dtype != object and not np.any(out):
        raise ModelError(f"{what} is zero; give it a direction.")
    return out


def _unit_rate(x: Array, xdot: Array) -> tuple[Array, Array]:
    """Return the unit vector along x and its rate."""
    size = norm(x)
    unit = x / size
    return unit, (xdot - unit * (unit @ xdot)) / size
