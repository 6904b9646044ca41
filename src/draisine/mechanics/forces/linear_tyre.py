"""A linear tyre: side slip and camber thrust with relaxation, as Sharp (1971) has it.

Sharp, The stability and control of motorcycles, Journal of Mechanical Engineering Science 13 (1971)
316-329, doi:10.1243/JMES_JOUR_1971_013_051_02. Its state z is a slip, so it is a spring of stiffness
cornering / relaxation where the wheel stands, and continuous through zero speed, eq. [linear-tyre].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.forces._tyre import OnWheel
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class LinearTyre(OnWheel):
    """Side force `cornering z`, and the slip z that follows the wheel's over the relaxation length.

    `cornering` and `camber` are stiffnesses in N/rad, `relaxation` is a length in m; `trail`, in m,
    is how far behind the contact the side force acts, if at all: its aligning moment. Along the
    wheel's heading the contact holds. The forces do not know the load.
    """

    cornering: Annotated[Scalar, "N/rad", "cornering stiffness"]
    camber: Annotated[Scalar, "N/rad", "camber stiffness"]
    relaxation: Annotated[Scalar, "m", "relaxation length"]
    trail: Annotated[Scalar | None, "m", "pneumatic trail"] = None

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return the side force and the rate of the slip."""
        V, slip = self.pace(readings), readings.slip(self.contact).across
        leaned = (self.camber / self.cornering) * readings.camber(self.contact)
        side = self.cornering * z[0]
        lag = (-slip - V * (leaned + z[0])) / self.relaxation
        moment = 0.0 if self.trail is None else -(self.trail * side)
        return {self.contact: Wrench(across=side, aligning=moment)}, [lag]

    def camber_power(self, readings: Any, z: Array) -> Scalar:
        """Return what camber brings in, W: the power of the side force, and what it stores in the
        relaxation, `relaxation F^2 / (2 cornering)`, less what side slip takes.
        """
        return -(self.camber * self.pace(readings) * readings.camber(self.contact) * z[0])


FORCE = LinearTyre
