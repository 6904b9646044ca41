"""Contacts with the ground, drawn on the machine.

Each contact declares, per status, which directions of the contact point's velocity it forbids:
`normal` (out of the ground), `along` (the way a wheel or blade heads, in the ground) and `across`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from draisine.algebra.scalar import Scalar, Vector
from draisine.errors import ModelError
from draisine.model.body import vector


@dataclass(frozen=True, slots=True, eq=False)
class Wheel:
    """A wheel that rolls on the ground: a knife-edge disc, or a torus tyre with a crown radius.

    `radius` is the outer radius; `crown`, the radius of the tyre's cross section, is part of it.
    `lifts` tells whether the ground carries it; set it to False for machines that live in the plane.
    """

    name: str
    body: str
    centre: Vector
    axle: Vector
    radius: Scalar
    crown: Scalar = 0.0

    lifts: bool = True

    closed: ClassVar[str] = "rolling"

    def __post_init__(self) -> None:
        where = f"wheel {self.name!r}"
        object.__setattr__(self, "centre", vector(self.centre, f"{where}, centre"))
        object.__setattr__(self, "axle", vector(self.axle, f"{where}, axle"))
        if self.axle.dtype != object and not np.any(self.axle):
            raise ModelError(f"{where}: the axle is zero; give it a direction.")
        for what, value in (("radius", self.radius), ("crown", self.crown)):
            if isinstance(value, (int, float)) and not (np.isfinite(value) and value >= 0):
                raise ModelError(f"{where}: {what} {value} m is not a length.")
        if isinstance(self.radius, (int, float)) and isinstance(self.crown, (int, float)):
            if self.radius == 0:
                raise ModelError(f"{where}: the radius is zero.")
            if self.crown > self.radius:
                raise ModelError(f"{where}: crown {self.crown} m exceeds radius {self.radius} m.")

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """The forbidden directions per status."""
        normal = ("normal",) if self.lifts else ()
        return {"open": (), "sliding": normal, "rolling": (*normal, "along", "across")}


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

    closed: ClassVar[str] = "gliding"

    def __post_init__(self) -> None:
        where = f"blade {self.name!r}"
        object.__setattr__(self, "point", vector(self.point, f"{where}, point"))
        object.__setattr__(self, "heading", vector(self.heading, f"{where}, heading"))
        if self.heading.dtype != object and not np.any(self.heading):
            raise ModelError(f"{where}: the heading is zero; give it a direction.")

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """The forbidden directions per status."""
        return {"open": (), "gliding": ("normal", "across") if self.lifts else ("across",)}


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

    def __post_init__(self) -> None:
        where = f"pin {self.name!r}"
        object.__setattr__(self, "point", vector(self.point, f"{where}, point"))
        if not self.axes or set(self.axes) - set("xyz") or len(set(self.axes)) < len(self.axes):
            raise ModelError(f"{where}: axes {self.axes!r}; take some of the letters x, y, z.")

    @property
    def closed(self) -> str:
        """The status where a mode does not mention it."""
        return "gripped" if self.grips else "open"

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """The forbidden directions per status."""
        return {"open": (), "gripped": tuple(self.axes)}


Contact = Wheel | Blade | Pin

HOLONOMIC = frozenset({"normal", "x", "y", "z"})
"""The rows that come from a condition on the configuration: a gap that stays zero."""
