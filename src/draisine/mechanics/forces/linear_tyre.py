"""A linear tyre: side slip, spin and relaxation, without creating energy.

Side force and aligning moment act through a lateral and a torsional spring on the contact patch, whose
steady law is linear in side slip and spin, eq. [linear-tyre]. At rest the tyre is these two springs, and
it is smooth through zero speed. Along its heading the contact holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from draisine.algebra.scalar import Array, Scalar, sqrt
from draisine.mechanics.forces._tyre import TWIST_RELAXATION, OnWheel
from draisine.model import Wrench

SHORTEST_ARM = 1e-9
"""Added to the arm of the moment, m: keeps ratios finite for a tyre with neither camber thrust nor trail.
Its moment, 1e-9 N m per newton, is below round-off of the others.
"""


class Patch(NamedTuple):
    """How side force and moment of a contact patch depend on slip and twist, eq. [linear-tyre]."""

    arm: Scalar  # m: the moment is cornering stiffness times arm times twist
    thrust: Scalar  # 1: side slip caused by the twist
    trail: Scalar  # 1: twist caused by the side slip


@dataclass(frozen=True, eq=False)
class LinearTyre(OnWheel):
    """A linear tyre whose forces do not depend on the load; it never creates energy.

    Its states are the slip (the side force is `cornering` times slip) and the twist, which carries the
    aligning moment. `camber` is the side force per radian of camber of a wheel that rolls straight
    ahead; in turns the spin about the ground's normal takes the place of the camber. The side force of
    the slip acts `trail` behind the contact.

    The moment against the spin is the least that creates no energy, `(camber radius - trail
    cornering)^2 / (4 cornering)` per radian per metre, plus `spin`.
    """

    cornering: Annotated[Scalar, "N/rad", "cornering stiffness"]
    camber: Annotated[Scalar, "N/rad", "camber stiffness"]
    relaxation: Annotated[Scalar, "m", "relaxation length"]
    trail: Annotated[Scalar | None, "m", "pneumatic trail"] = None
    spin: Annotated[Scalar | None, "N m2/rad", "spin stiffness beyond the least passive one"] = None

    states: ClassVar[int] = 2
    state_names: ClassVar[tuple[str, ...]] = ("slip", "twist")

    def __post_init__(self) -> None:
        self.refuse_negative("camber", "trail", "spin")

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return side force and aligning moment, and the rates of slip and twist."""
        slip, twist = z
        speed, pace = self.rolling_speed(readings), self.pace(readings)
        patch = self.patch(readings)
        across, spin = readings.slip(self.contact).across, readings.spin(self.contact)
        kept = 1.0 - patch.thrust * patch.trail
        slip_rate = (-across - pace * kept * slip + speed * patch.thrust * twist) / self.relaxation
        twist_rate = (-patch.arm * spin - pace * twist - speed * patch.trail * slip) / (
            TWIST_RELAXATION * self.relaxation
        )
        side = self.cornering * slip
        moment = self.cornering * patch.arm * twist
        return {self.contact: Wrench(across=side, aligning=moment)}, [slip_rate, twist_rate]

    def patch(self, readings: Any) -> Patch:
        """Return the coefficients of the contact patch."""
        # Side slip per spin: the camber thrust of a wheel that rolls straight ahead, spin sin / radius.
        reach = (self.camber / self.cornering) * readings.rolling_radius(self.contact)
        if self.trail is None and self.spin is None:
            return Patch(reach / 2.0, 2.0, 0.0)
        trail = 0.0 if self.trail is None else self.trail
        arm = (reach + trail) / 2.0
        if self.spin is not None:
            arm = sqrt(arm * arm + self.spin / self.cornering)
        arm = arm + SHORTEST_ARM
        return Patch(arm, reach / arm, trail / arm)

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy of both springs, J."""
        slip, twist = z
        squares = slip * slip + TWIST_RELAXATION * twist * twist
        return 0.5 * self.relaxation * self.cornering * squares


FORCE = LinearTyre
