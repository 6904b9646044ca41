"""Linear tyre of Sharp (1971): side slip and camber thrust with one lag. It can create energy.

Sharp, The stability and control of motorcycles, Journal of Mechanical Engineering Science 13 (1971)
316-329, doi:10.1243/JMES_JOUR_1971_013_051_02. The tyre reproduces published results, eq.
[sharp-tyre]. A camber thrust without a moment against the spin creates energy, and so does a trail
that shifts the camber thrust. `LinearTyre` is passive; without camber and trail both are equal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.forces._tyre import OnWheel
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class SharpTyre(OnWheel):
    """Linear tyre of Sharp: side force `cornering` times the slip, which follows side slip and camber.

    The aligning moment is `trail` times the side force. Along the heading of the wheel a constraint row
    prevents slip. The forces do not depend on the load.

    Parameters
    ----------
    cornering
        Cornering stiffness, N/rad.
    camber
        Camber stiffness, N/rad.
    relaxation
        Relaxation length, m.
    trail
        Pneumatic trail, m.
    """

    cornering: Annotated[Scalar, "N/rad", "cornering stiffness"]
    camber: Annotated[Scalar, "N/rad", "camber stiffness"]
    relaxation: Annotated[Scalar, "m", "relaxation length"]
    trail: Annotated[Scalar | None, "m", "pneumatic trail"] = None

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return the side force (N), its moment (N m), and the rate of the slip."""
        speed_magnitude = self.rolling_speed_magnitude(readings)
        across = readings.slip(self.contact).across
        lean_slip = (self.camber / self.cornering) * readings.camber(self.contact)
        side = self.cornering * z[0]
        rate = (-across - speed_magnitude * (lean_slip + z[0])) / self.relaxation
        moment = 0.0 if self.trail is None else -(self.trail * side)
        return {self.contact: Wrench(across=side, aligning=moment)}, [rate]

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy (J) of the lateral spring."""
        return 0.5 * self.relaxation * self.cornering * z[0] * z[0]


FORCE = SharpTyre
