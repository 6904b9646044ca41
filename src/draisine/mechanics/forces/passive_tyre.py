"""Linear tyre with passive camber thrust: slip and side force are taken at a point ahead of the contact.

A rolling wheel with camber spins about the ground's normal. At a point `arm` ahead of the contact this spin
is a side slip, which causes a camber thrust of stiffness `cornering arm / radius`; the force acts there, so
its moment is `arm` times the force. The energy plus `relaxation F^2 / (2 cornering)` never increases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.forces._tyre import OnWheel
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class PassiveTyre(OnWheel):
    """Linear tyre whose camber thrust follows from an arm instead of a stiffness, eq. [linear-tyre].

    Parameters
    ----------
    cornering
        Cornering stiffness, N/rad.
    arm
        Distance of the point of slip and side force ahead of the contact, m.
    relaxation
        Relaxation length, m.
    """

    cornering: Annotated[Scalar, "N/rad", "cornering stiffness"]
    arm: Annotated[Scalar, "m", "distance of slip and side force ahead of the contact"]
    relaxation: Annotated[Scalar, "m", "relaxation length"]

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return the side force (N), its moment (N m), and the rate of the slip."""
        V = self.rolling_speed_magnitude(readings)
        arm = self.direction(readings) * self.arm
        slip = readings.slip(self.contact).across + arm * readings.spin(self.contact)
        side = self.cornering * z[0]
        wrench = Wrench(across=side, aligning=arm * side)
        return {self.contact: wrench}, [(-slip - V * z[0]) / self.relaxation]

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy (J) of the lateral spring."""
        return 0.5 * self.relaxation * self.cornering * z[0] * z[0]


FORCE = PassiveTyre
