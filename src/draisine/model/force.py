"""Forces: pushes from outside, as inputs, and elements that read the state.

A force element is called with what can be read of the state and with its own states z, and returns
what it does, by name, and the rates of z: a `Wrench` on a contact, a torque or force on a joint (a
number), a push on a body's mass centre (three numbers, in world axes). It is traced, so it is
written over any scalar, as control laws are.
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
    """A push at a point of a body: three inputs `name.x`, `name.y`, `name.z` in newtons, in world
    or body axes.
    """

    name: str
    body: str
    point: Vector = field(default_factory=lambda: np.zeros(3))
    frame: Literal["world", "body"] = "world"

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", vector(self.point, f"force {self.name!r}, point"))
        if self.frame not in ("world", "body"):
            raise ModelError(f"force {self.name!r}: frame {self.frame!r}; take 'world' or 'body'.")


@dataclass(frozen=True, slots=True, eq=False)
class Wrench:
    """What an element does to a wheel at its contact: forces in the contact's own directions (N),
    and moments about them (N m): overturning about along, rolling about across, aligning about the
    normal.
    """

    normal: Scalar = 0.0
    along: Scalar = 0.0
    across: Scalar = 0.0
    overturning: Scalar = 0.0
    rolling: Scalar = 0.0
    aligning: Scalar = 0.0


class ForceElement(Protocol):
    """A force from what can be read of the state; `states` is how many numbers z it remembers."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def states(self) -> int:
        """How many states of its own it has."""

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Any], Sequence[Scalar]]:
        """Return what it does by name, and the rates of z."""


class Tyre(ForceElement, Protocol):
    """A force element that belongs to a wheel: what it does not `hold`, it pushes by its law. One with
    `sprung = True` carries the wheel by a force of its own, too, from its `free_gap` above the ground on.
    """

    @property
    def holds(self) -> tuple[str, ...]:
        """The directions in the ground that the contact still forbids."""

    def on(self, contact: str) -> "Tyre":
        """Return the tyre of a wheel by its name."""
