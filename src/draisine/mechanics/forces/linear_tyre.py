"""Passive linear tyre: side slip, spin and relaxation, without creating energy.

The slip follows side slip and spin over the relaxation length, as in Sharp's tyre. The twist follows the
slip (for the pneumatic trail) and the spin, eq. [linear-tyre]. Both store energy: at rest the tyre is a
lateral and a torsional spring. Along the heading of the wheel a constraint row prevents slip.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.forces._tyre import TWIST_RELAXATION, OnWheel
from draisine.model import Wrench


class SpinLevers(NamedTuple):
    """Lengths that relate slip and twist to the spin of a wheel, eq. [linear-tyre]."""

    reach: Scalar  # distance ahead of the contact at which the slip causes the camber thrust, m
    lever: Scalar  # reach plus trail, the moment of the twist per cornering stiffness, m
    resistance: Scalar  # twist per unit of spin, m


@dataclass(frozen=True, eq=False)
class LinearTyre(OnWheel):
    """Linear tyre whose forces do not depend on the load; it never creates energy.

    Its states are the slip (the side force is `cornering` times slip) and the twist. In turns the spin
    about the ground's normal replaces the camber. The moment against the spin is the smallest passive one,
    `(camber radius - trail cornering)^2 / (4 cornering)` per radian per metre, plus `spin`.

    Parameters
    ----------
    cornering
        Cornering stiffness, N/rad.
    camber
        Side force per radian of camber of a wheel that rolls straight ahead, N/rad.
    relaxation
        Relaxation length, m.
    trail
        Pneumatic trail, m: distance of the side force of the slip behind the contact.
    spin
        Spin stiffness beyond the smallest passive one, N m2/rad.
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
        """Return side force (N) and aligning moment (N m), and the rates of slip and twist."""
        slip, twist = z
        levers = self.levers(readings)
        across = readings.slip(self.contact).across
        spin = readings.spin(self.contact)
        # When the wheel rolls backwards, the leading and the trailing side of the contact are
        # exchanged.
        direction = self.direction(readings)
        pace = direction * self.rolling_speed(readings)
        ahead = direction * levers.reach
        slip_rate = (-across - ahead * spin - pace * slip) / self.relaxation
        twist_rate = (-levers.resistance * spin - pace * (twist + direction * slip)) / (
            TWIST_RELAXATION * self.relaxation
        )
        side = self.cornering * slip
        moment = ahead * side + self.cornering * levers.lever * twist
        return {self.contact: Wrench(across=side, aligning=moment)}, [slip_rate, twist_rate]

    def levers(self, readings: Any) -> SpinLevers:
        """Return the lengths that relate slip and twist to the spin (m)."""
        # A cambered wheel that rolls straight ahead spins by sin(camber) / radius (rad) per metre
        # of travel.
        reach = (self.camber / self.cornering) * readings.rolling_radius(self.contact)
        lever = reach if self.trail is None else reach + self.trail
        resistance = lever / 4.0
        if self.spin is not None:
            resistance = resistance + self.spin / (self.cornering * (lever + LEVER_OFFSET))
        return SpinLevers(reach, lever, resistance)

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy (J) of the lateral and the torsional spring."""
        slip, twist = z
        levers = self.levers(readings)
        share = TWIST_RELAXATION * levers.lever / (levers.resistance + LEVER_OFFSET)
        squares = slip * slip + share * twist * twist
        return 0.5 * self.relaxation * self.cornering * squares


LEVER_OFFSET = 1e-9
"""Offset (m) of a length in a denominator, which is zero for a tyre without camber thrust and
trail.
"""

FORCE = LinearTyre
