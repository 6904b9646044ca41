"""Forces: external forces that are inputs, and force elements that depend on the state.

A force element is called with readings of the state and with its own states z. It returns forces by name, and
the rates of z: a `Wrench` on a contact, a torque or force on a joint (a number), or a force at the centre of
mass of a body (three numbers, in world axes). It is traced, so it must work with any scalar, like control
laws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from draisine.algebra.scalar import Array, Scalar, Vector
from draisine.errors import ModelError
from draisine.model.body import vector


@dataclass(frozen=True, slots=True, eq=False)
class Force:
    """An external force at a point of a body: the inputs `name.x`, `name.y` and `name.z` (N)."""

    name: str
    body: str
    point: Vector = field(default_factory=lambda: np.zeros(3))
    frame: Literal["world", "body"] = "world"

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", vector(self.point, f"force {self.name!r}, point"))
        if self.frame not in ("world", "body"):
            raise ModelError(
                f"force {self.name!r}: unknown frame {self.frame!r}. Available: world, body."
            )


@dataclass(frozen=True, slots=True, eq=False)
class Wrench:
    """Force and moment of an element on a wheel at its contact."""

    normal: Scalar = 0.0  # N
    along: Scalar = 0.0  # N
    across: Scalar = 0.0  # N
    overturning: Scalar = 0.0  # N m, about the direction along
    rolling: Scalar = 0.0  # N m, about the direction across
    aligning: Scalar = 0.0  # N m, about the normal


class ForceElement(Protocol):
    """Protocol of forces that depend on the state."""

    @property
    def name(self) -> str:
        """Name of the element, contact, joint or body."""

    @property
    def states(self) -> int:
        """Number of its states z."""

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Any], Sequence[Scalar]]:
        """Return forces by name of contact, joint or body, and the rates of z.

        Parameters
        ----------
        readings
            `mechanics.readings.Readings` of the state.
        z
            States of the element, (states,).
        """


class Tyre(ForceElement, Protocol):
    """Protocol of tyres: force elements of a wheel.

    A tyre generates forces in the directions that are not constrained by `holds`. With `sprung = True` it
    also generates the normal force, below its `free_gap` (m) above the ground.
    """

    @property
    def holds(self) -> tuple[str, ...]:
        """Directions in the ground along which the contact stays constrained."""

    def on(self, contact: str) -> "Tyre":
        """Return the tyre for a wheel with this name."""
