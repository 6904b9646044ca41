"""The Magic Formula of 1989: a side force and an aligning moment fitted to measured tyres.

Bakker, Pacejka and Lidner, A new tire model with an application in vehicle dynamics studies, SAE
technical paper 890087 (1989), doi:10.4271/890087; camber as in its form for single-track vehicles. Loads are
in kN and angles in degrees inside, as its coefficients have it, eq. [magic-formula].
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from draisine.algebra.scalar import Array, Scalar, atan2, exp, sin, sqrt, where
from draisine.errors import ModelError
from draisine.mechanics.forces._tyre import OnWheel
from draisine.model import Wrench

DEGREE = math.pi / 180.0


@dataclass(frozen=True, eq=False)
class MagicFormula(OnWheel):
    """Side force by the coefficients `Fy` (a0 ... a13), the same longitudinally by similarity: the
    formula is taken at the size of the slip z = (along, across), and its force acts against it. The
    aligning moment is that of the coefficients `Mz` (c0 ... c17), by similarity too, or, without
    them, `trail` (m) times the side force. Slips follow the wheel's own over `relaxation` m.

    The force is not proportional to the load. The ground carries the wheel, and its load is found by
    Newton's method in line; or a vertical spring does, of `vertical` N/m and `damping` N s/m, which
    carries `preload` N where the wheel just touches; it lets go where
    it would pull. Beyond the load of largest friction force the fit turns back: there that force stays.
    """

    Fy: tuple[float, ...]
    relaxation: Annotated[Scalar, "m", "relaxation length"]
    vertical: Annotated[Scalar | None, "N/m", "vertical stiffness"] = None
    damping: Annotated[Scalar, "N s/m", "vertical damping"] = 0.0
    preload: Annotated[Scalar, "N", "load where the wheel just touches"] = 0.0
    trail: Annotated[Scalar, "m", "pneumatic trail, where no moment is fitted"] = 0.0
    Mz: tuple[float, ...] = ()

    states: ClassVar[int] = 2
    holds: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name, counts in (("Fy", (14,)), ("Mz", (0, 18))):
            given = tuple(getattr(self, name))
            object.__setattr__(self, name, given)
            if len(given) not in counts:
                raise ModelError(
                    f"magic formula: {name} has {len(given)} coefficients; it takes {counts[-1]}, "
                    f"{'a0 to a13' if name == 'Fy' else 'c0 to c17'}."
                )

    @staticmethod
    def coefficients(values: Mapping[str, float]) -> dict[str, tuple[float, ...]]:
        """Return `Fy` and `Mz` of a parameter set.

        >>> from draisine.vehicles import parameter_set
        >>> measured = parameter_set("magic_formula", "schwalbe_t03_300kpa")
        >>> {k: len(x) for k, x in MagicFormula.coefficients(measured).items()}
        {'Fy': 14, 'Mz': 18}
        """
        return {
            name: tuple(x for key, x in values.items() if key.startswith(letter))
            for name, letter in (("Fy", "a"), ("Mz", "c"))
        }

    @property
    def sprung(self) -> bool:
        """Whether a vertical spring carries the wheel."""
        return self.vertical is not None

    @property
    def free_gap(self) -> Scalar:
        """How far above the ground the tyre begins to carry."""
        assert self.vertical is not None
        return self.preload / self.vertical

    def _load(self, readings: Any) -> Scalar:
        """Return the load: the ground's, or the spring's."""
        if self.vertical is None:
            return readings.load(self.contact)
        gap, rate = readings.gap(self.contact), readings.slip(self.contact).normal
        pressed = self.preload - self.vertical * gap - self.damping * rate
        return where(pressed > 0.0, pressed, 0.0)

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return the forces on the contact, and the rates of the slips."""
        V, slip, load = self.pace(readings), readings.slip(self.contact), self._load(readings)
        camber = readings.camber(self.contact)
        size = sqrt(z[0] * z[0] + z[1] * z[1] + 1e-16)
        force, aside = self.side_force(load, size, 0.0), self.side_force(load, 0.0, camber)
        along, across = force * z[0] / size, force * z[1] / size - aside
        moment = -(self.trail * across)
        if self.Mz:
            moment = self.moment(load, size, 0.0) * z[1] / size - self.moment(load, 0.0, camber)
        rates = [
            (-v - V * x) / self.relaxation
            for v, x in zip((slip.along, slip.across), z, strict=True)
        ]
        normal = load if self.sprung else 0.0
        return {self.contact: Wrench(normal, along, across, aligning=moment)}, rates

    def camber_power(self, readings: Any, z: Array) -> Scalar:
        """Return the power of the camber thrust, which acts on the slipping wheel at once."""
        aside = self.side_force(self._load(readings), 0.0, readings.camber(self.contact))
        return -(aside * readings.slip(self.contact).across)

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
        return D * _curve(a[0], B, E, x) + a[11] * F * gamma

    def moment(self, load: Scalar, slip: Scalar, camber: Scalar) -> Scalar:
        """Return the aligning moment in N m at a load in N, the tangent of a slip angle, and a camber
        in rad, its offsets left out.
        """
        c, F, gamma = self.Mz, load / 1000.0, camber / DEGREE
        lean = where(gamma < 0.0, -gamma, gamma)
        D = c[1] * F * F + c[2] * F
        rise = (c[3] * F * F + c[4] * F) * (1.0 - c[6] * lean) * exp(-c[5] * F)
        B = rise / (c[0] * where(D > 1e-9, D, 1e-9))
        E = (c[7] * F * F + c[8] * F + c[9]) * (1.0 - c[10] * lean)
        x = atan2(slip, 1.0) / DEGREE + c[11] * gamma
        return D * _curve(c[0], B, E, x) + (c[14] * F * F + c[15] * F) * gamma


def _curve(C: Scalar, B: Scalar, E: Scalar, x: Scalar) -> Scalar:
    """Return the formula itself, sin(C atan(B x - E (B x - atan(B x))))."""
    inner = B * x - E * (B * x - atan2(B * x, 1.0))
    return sin(C * atan2(inner, 1.0))


FORCE = MagicFormula
