"""The Magic Formula of 1989: a side force and an aligning moment fitted to measured tyres.

Bakker, Pacejka and Lidner, A new tire model with an application in vehicle dynamics studies, SAE
technical paper 890087 (1989), doi:10.4271/890087; camber as in its form for single-track vehicles. Loads are
in kN and angles in degrees inside, as its coefficients have it, eq. [magic-formula].
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draisine.algebra.scalar import Array, Scalar, atan2, sin, sqrt, where
from draisine.errors import ModelError
from draisine.mechanics.forces._tyre import OnWheel
from draisine.model import Wrench

DEGREE = math.pi / 180.0


@dataclass(frozen=True, eq=False)
class MagicFormula(OnWheel):
    """Side force by the coefficients `Fy` (a0 ... a13), the same longitudinally by similarity: the
    formula is taken at the size of the slip z = (along, across), and its force acts against it. `trail`
    (m) times the side force is the aligning moment. Slips follow the wheel's own over `relaxation` m.

    The force is not proportional to the load, so the load is that of a vertical spring: `vertical` N/m and
    `damping` N s/m, which carries `preload` N where the wheel just touches; it lets go where it would
    pull. Beyond the load of largest friction force the fit turns back: there that force stays.
    """

    Fy: tuple[float, ...]
    relaxation: Scalar
    vertical: Scalar
    damping: Scalar
    preload: Scalar
    trail: Scalar = 0.0

    states: ClassVar[int] = 2
    holds: ClassVar[tuple[str, ...]] = ()
    sprung: ClassVar[bool] = True

    @property
    def free_gap(self) -> Scalar:
        """How far above the ground the tyre begins to carry."""
        return self.preload / self.vertical

    def __post_init__(self) -> None:
        object.__setattr__(self, "Fy", tuple(self.Fy))
        if len(self.Fy) != 14:
            raise ModelError(
                f"magic formula: Fy has {len(self.Fy)} coefficients; it takes 14, a0 to a13."
            )

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return the forces on the contact, and the rates of the slips."""
        V, slip = self.pace(readings), readings.slip(self.contact)
        pressed = (
            self.preload - self.vertical * readings.gap(self.contact) - self.damping * slip.normal
        )
        load = where(pressed > 0.0, pressed, 0.0)
        camber = readings.camber(self.contact)
        size = sqrt(z[0] * z[0] + z[1] * z[1] + 1e-16)
        upright, aside = self.side_force(load, size, 0.0), self.side_force(load, 0.0, camber)
        along, across = upright * z[0] / size, upright * z[1] / size - aside
        rates = [
            (-v - V * x) / self.relaxation
            for v, x in zip((slip.along, slip.across), z, strict=True)
        ]
        wrench = Wrench(load, along, across, aligning=-(self.trail * across))
        return {self.contact: wrench}, rates

    def side_force(self, load: Scalar, slip: Scalar, camber: Scalar) -> Scalar:
        """Return the side force in N at a load in N, the tangent of a slip angle, and a camber in rad.

        >>> straight = MagicFormula((1.5, 0.0, 1000.0, 200.0, 1.0, *[0.0] * 9), 0.1, 1e5, 1e3, 500.0)
        >>> straight.side_force(500.0, 0.0, 0.0), straight.side_force(500.0, 0.1, 0.0) < 500.0
        (0.0, True)
        """
        a, F = self.Fy, load / 1000.0
        most = -a[2] / (2.0 * a[1]) if a[1] < 0.0 else math.inf
        held = where(most > F, F, most)
        gamma = camber / DEGREE
        lean = where(gamma < 0.0, -gamma, gamma)
        D = a[1] * held * held + a[2] * held
        rise = a[3] * sin(2.0 * atan2(F, a[4])) * (1.0 - a[5] * lean)
        B = rise / (a[0] * where(D > 1e-9, D, 1e-9))
        E = a[6] * F + a[7]
        x = atan2(slip, 1.0) / DEGREE + a[8] * gamma
        turned = atan2(B * x, 1.0)
        inner = B * x - E * (B * x - turned)
        return D * sin(a[0] * atan2(inner, 1.0)) + a[11] * F * gamma


FORCE = MagicFormula
