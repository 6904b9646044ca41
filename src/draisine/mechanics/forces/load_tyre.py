"""A linear tyre whose forces are proportional to its load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class LoadTyre(LinearTyre):
    """As the linear tyre, with `cornering` and `camber` in 1/rad: forces per unit of the load. It lets
    go where the load vanishes.
    """

    cornering: Annotated[Scalar, "1/rad", "cornering stiffness per load"]
    camber: Annotated[Scalar, "1/rad", "camber stiffness per load"]

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return the side force and the rate of the slip."""
        done, lag = super().__call__(readings, z)
        load, wrench = readings.load(self.contact), done[self.contact]
        moment = load * wrench.aligning
        return {self.contact: Wrench(across=load * wrench.across, aligning=moment)}, lag

    def camber_power(self, readings: Any, z: Array) -> Scalar:
        """Return what camber brings in, W."""
        return readings.load(self.contact) * super().camber_power(readings, z)


FORCE = LoadTyre
