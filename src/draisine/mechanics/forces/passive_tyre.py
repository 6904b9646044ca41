"""A linear tyre whose camber thrust creates no energy: slip and side force belong to a point ahead.

A leaned wheel that rolls also spins about the ground's normal. At a point `arm` ahead of the contact
that spin is a side slip, and gives the camber thrust of stiffness `cornering arm / radius`; the force
there has the moment `arm` times itself. Energy plus `relaxation F^2 / (2 cornering)` never rises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.forces._tyre import OnWheel
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class PassiveTyre(OnWheel):
    """As the linear tyre, with camber by an `arm` in m instead of a stiffness, eq. [linear-tyre]."""

    cornering: Annotated[Scalar, "N/rad", "cornering stiffness"]
    arm: Annotated[Scalar, "m", "how far ahead of the contact slip and side force are"]
    relaxation: Annotated[Scalar, "m", "relaxation length"]

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return the side force, its moment, and the rate of the slip."""
        V = self.pace(readings)
        arm = self.direction(readings) * self.arm
        slip = readings.slip(self.contact).across + arm * readings.spin(self.contact)
        side = self.cornering * z[0]
        wrench = Wrench(across=side, aligning=arm * side)
        return {self.contact: wrench}, [(-slip - V * z[0]) / self.relaxation]

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy of the lateral spring, J."""
        return 0.5 * self.relaxation * self.cornering * z[0] * z[0]


FORCE = PassiveTyre
