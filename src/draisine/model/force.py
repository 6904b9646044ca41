"""Forces: external forces that are inputs, and force elements that depend on the state.

A force element is called with readings of the state and with its own states z. It returns forces by name, and
the rates of z: a `Wrench` on a contact, a torque or force on a joint (a number), or a force at the centre of
mass of a body (three numbers, in world axes). It is traced, so it must work with any scalar type, like
control laws.
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
    """External force at a point of a body, with the inputs `name.x`, `name.y` and `name.z` (N).

    Parameters
    ----------
    name
        Name of the force.
    body
        Name of the body on which the force acts.
    point
        Point of application in the zero configuration (m).
    frame
        Axes of the components: "world" or "body".
    """

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
    """Force and moment of a force element on a wheel at its contact."""

    normal: Scalar = 0.0  # force along the normal, N
    along: Scalar = 0.0  # force along the heading, N
    across: Scalar = 0.0  # force across the heading, N
    overturning: Scalar = 0.0  # moment about the direction along, N m
    rolling: Scalar = 0.0  # moment about the direction across, N m
    aligning: Scalar = 0.0  # moment about the normal, N m


class ForceElement(Protocol):
    """Protocol of force elements: forces that depend on the state."""

    @property
    def name(self) -> str:
        """Name of the element, or of its contact, joint or body."""

    @property
    def states(self) -> int:
        """Number of states z of the element."""

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Any], Sequence[Scalar]]:
        """Return the forces by name of contact, joint or body, and the rates of the states z.

        Parameters
        ----------
        readings
            `mechanics.readings.Readings` of the state.
        z
            States of the element, (states,).
        """


class Tyre(ForceElement, Protocol):
    """Protocol of tyres: force elements of a wheel.

    A tyre generates forces in the tangential directions that are not constrained by `holds`. With
    `sprung = True` it also generates the normal force if the gap is below `free_gap` (m).
    """

    @property
    def holds(self) -> tuple[str, ...]:
        """Tangential directions in which the contact stays constrained."""

    def on(self, contact: str) -> "Tyre":
        """Return a copy of this tyre, attached to the wheel with the name `contact`."""
