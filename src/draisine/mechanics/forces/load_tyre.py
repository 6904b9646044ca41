"""Linear tyre whose forces are proportional to its load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class LoadTyre(LinearTyre):
    """Linear tyre with stiffnesses per unit of load: its forces vanish with the load.

    At constant load it creates no energy. If the load changes, so do the stiffnesses and, in proportion,
    the stored energy.

    Parameters
    ----------
    cornering
        Cornering stiffness per load, 1/rad.
    camber
        Camber stiffness per load, 1/rad.
    relaxation
        Relaxation length, m.
    trail
        Pneumatic trail, m.
    spin
        Spin stiffness per load beyond the smallest passive one, m2/rad.
    """

    cornering: Annotated[Scalar, "1/rad", "cornering stiffness per load"]
    camber: Annotated[Scalar, "1/rad", "camber stiffness per load"]
    relaxation: Annotated[Scalar, "m", "relaxation length"]
    trail: Annotated[Scalar | None, "m", "pneumatic trail"] = None
    spin: Annotated[
        Scalar | None, "m2/rad", "spin stiffness per load beyond the least passive one"
    ] = None

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return side force (N) and aligning moment (N m), and the rates of slip and twist."""
        wrenches, rates = super().__call__(readings, z)
        load = readings.load(self.contact)
        unit = wrenches[self.contact]
        wrench = Wrench(across=load * unit.across, aligning=load * unit.aligning)
        return {self.contact: wrench}, rates

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy (J) of the lateral and the torsional spring at the current load."""
        return readings.load(self.contact) * super().stored_energy(readings, z)


FORCE = LoadTyre
