"""A linear tyre whose camber thrust creates no energy: slip and side force belong to a point ahead.

A leaned wheel that rolls also spins about the ground's normal. At a point `arm` ahead of the contact
that spin is a side slip, and gives the camber thrust of stiffness `cornering arm / radius`; the force
there has the moment `arm` times itself. Energy plus `relaxation F^2 / (2 cornering)` never rises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from draisine.algebra.scalar import Array, Scalar, where
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class PassiveTyre:
    """As the linear tyre, with camber by an `arm` in m instead of a stiffness, eq. [linear-tyre]."""

    cornering: Scalar
    arm: Scalar
    relaxation: Scalar
    contact: str = ""

    states: ClassVar[int] = 1
    holds: ClassVar[tuple[str, ...]] = ("along",)

    @property
    def name(self) -> str:
        """The wheel that it belongs to."""
        return self.contact

    def on(self, contact: str) -> Self:
        """Return the tyre of a wheel by its name."""
        return replace(self, contact=contact)

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return the side force, its moment, and the rate of the slip."""
        V = readings.travel(self.contact)
        V = where(V < 0.0, -V, V)
        slip = readings.slip(self.contact).across + self.arm * readings.spin(self.contact)
        side = self.cornering * z[0]
        wrench = Wrench(across=side, aligning=self.arm * side)
        return {self.contact: wrench}, [(-slip - V * z[0]) / self.relaxation]


FORCE = PassiveTyre
