"""The Magic Formula of 1989: a side force and an aligning moment fitted to measured tyres.

Bakker, Pacejka and Lidner, A new tire model with an application in vehicle dynamics studies, SAE
technical paper 890087 (1989), doi:10.4271/890087; camber as in its form for single-track vehicles. Loads are
in kN and angles in degrees inside, as its coefficients have it, eq. [magic-formula].
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from draisine.algebra.scalar import Array, Scalar, atan2, clip, exp, sin, sqrt, where
from draisine.errors import ModelError
from draisine.mechanics.forces._tyre import OnWheel
from draisine.model import Wrench

DEGREE = math.pi / 180.0


class SmallSlips(NamedTuple):
    """Coefficients of a tyre at small slips."""

    cornering: Scalar  # N/rad, side force per slip
    trail: Scalar  # m, how far behind the contact the side force of a slip acts
    reach: Scalar  # m, slip per spin whose side force is the camber thrust
    twisting: Scalar  # N m2/rad, moment per spin at a held side force


SOFTEST = 1e-9
"""Smallest stiffness (N/rad, N m2/rad) by which a force or moment is divided: an unloaded tyre has none."""

LEAST_EXCESS = 1e-6
"""Smallest excess of E over 1, by which B x stays below 1000: slips of a right angle are far below."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
"""Gauss's quadrature of the side force over the slip; its error is below 1e-4 of the energy."""


@dataclass(frozen=True, eq=False)
class MagicFormula(OnWheel):
    """Side force by the coefficients `Fy` (a0 ... a13), the same longitudinally by similarity: the
    formula is taken at the size of the slip z = (along, across), and its force acts against it. The
    aligning moment is that of the coefficients `Mz` (c0 ... c17), by similarity too, or, without
    them, `trail` (m) times the side force of the slip. Slips follow the wheel's own over `relaxation` m.

    A third state follows the spin about the ground's normal over the same length. Camber is spin: the
    formula's camber thrust and moment are taken in proportion to the spin that a cambered wheel has that
    rolls straight ahead. The thrust acts as a slip, so both share one friction. Two more states follow
    slip and spin over the relaxation length again, for the moment: side force and moment then store
    energy, and create none at small slips and a constant load, nor in any steady motion, eq.
    [tyre-passivity]. If the fitted moment against the spin is less than that needs, the least is taken.

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

    states: ClassVar[int] = 5
    state_names: ClassVar[tuple[str, ...]] = (
        "slip_along",
        "slip",
        "spin",
        "late_slip",
        "late_spin",
    )
    holds: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        self.refuse_negative("trail")
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
        gap = readings.gap(self.contact)
        rate = readings.slip(self.contact).normal
        pressed = self.preload - self.vertical * gap - self.damping * rate
        return where(pressed > 0.0, pressed, 0.0)

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return forces and aligning moment on the contact, and the rates of the states."""
        along, across, spin, late_across, late_spin = z
        load = self._load(readings)
        small = self._small_slips(readings)
        slip = readings.slip(self.contact)
        pace = self.pace(readings)
        direction = self.direction(readings)
        side, moment = self._side_and_twist(load, small, z)
        grip = self.grip(load, along, across - small.reach * spin)
        wrench = Wrench(
            normal=load if self.sprung else 0.0,
            along=grip * along,
            across=side,
            aligning=direction * (small.reach * side + moment),
        )
        turning = direction * readings.spin(self.contact)
        rates = [
            -slip.along - pace * along,
            -slip.across - pace * across,
            turning - pace * spin,
            pace * (across - late_across),
            pace * (spin - late_spin),
        ]
        return {self.contact: wrench}, [rate / self.relaxation for rate in rates]

    def _small_slips(self, readings: Any) -> SmallSlips:
        """Return the small-slip coefficients."""
        return self.small_slips(self._load(readings), readings.rolling_radius(self.contact))

    def _side_and_twist(self, load: Scalar, small: SmallSlips, z: Array) -> tuple[Scalar, Scalar]:
        """Return the side force, and the moment about the point `reach` ahead where it acts at first."""
        along, across, spin, late_across, late_spin = z
        shifted = across - small.reach * spin
        late = late_across - small.reach * late_spin
        side = self.grip(load, along, shifted) * shifted
        late_side = self.grip(load, along, late) * late
        late_moment = -(small.trail * late_side)
        if self.Mz:  # passive if the trail is largest at small slips
            size = _size(along, late)
            fitted = self.moment(load, size, 0.0) * late / size
            late_moment = where(fitted * late > late_moment * late, fitted, late_moment)
        return side, late_moment - small.reach * late_side - small.twisting * spin

    def grip(self, load: Scalar, along: Scalar, across: Scalar) -> Scalar:
        """Return the force per slip, N, at a load in N and slips."""
        size = _size(along, across)
        return self.side_force(load, size, 0.0) / size

    def small_slips(self, load: Scalar, radius: Scalar) -> SmallSlips:
        """Return the small-slip coefficients at a load in N and a rolling radius in m."""
        a = self.Fy
        c = self.Mz
        F = load / 1000.0
        stiffness = a[3] * sin(2.0 * atan2(F, a[4])) / DEGREE
        cornering = where(stiffness > SOFTEST, stiffness, SOFTEST)
        reach = radius * (a[8] + a[11] * F / (DEGREE * cornering))
        slope = _moment_slope(c, F) / DEGREE if c else -(self.trail * cornering)
        trail = -slope / cornering
        arm = (reach + trail) / 2.0
        least = cornering * arm * arm
        if not c:
            return SmallSlips(cornering, trail, reach, least)
        camber = c[11] * slope + (c[14] * F * F + c[15] * F) / DEGREE
        fitted = radius * camber - slope * reach
        return SmallSlips(cornering, trail, reach, where(fitted > least, fitted, least))

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy of slips and twist, J, and that of the vertical spring."""
        load = self._load(readings)
        small = self._small_slips(readings)
        size = _size(z[0], z[1] - small.reach * z[2])
        nodes = zip(0.5 * (1.0 + NODES), 0.5 * WEIGHTS, strict=True)
        mean = sum(w * self.side_force(load, float(x) * size, 0.0) for x, w in nodes)
        _, moment = self._side_and_twist(load, small, z)
        twisting = where(small.twisting > SOFTEST, small.twisting, SOFTEST)
        energy = self.relaxation * (size * mean + 0.5 * moment * moment / twisting)
        if self.vertical is None:
            return energy
        depth = self.free_gap - readings.gap(self.contact)
        return energy + where(depth > 0.0, 0.5 * self.vertical * depth * depth, 0.0)

    def side_force(self, load: Scalar, slip: Scalar, camber: Scalar) -> Scalar:
        """Return the side force in N at a load in N, the tangent of a slip angle, and a camber in rad.

        >>> straight = MagicFormula((1.5, 0.0, 1000.0, 200.0, 1.0, *[0.0] * 9), 0.1, 1e5, 1e3, 500.0)
        >>> straight.side_force(500.0, 0.0, 0.0), straight.side_force(500.0, 0.1, 0.0) < 500.0
        (0.0, True)
        """
        a = self.Fy
        F = load / 1000.0
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
        c = self.Mz
        F = load / 1000.0
        gamma = camber / DEGREE
        lean = where(gamma < 0.0, -gamma, gamma)
        D = c[1] * F * F + c[2] * F
        rise = _moment_slope(c, F) * (1.0 - c[6] * lean)
        B = rise / (c[0] * where(D > 1e-9, D, 1e-9))
        E = (c[7] * F * F + c[8] * F + c[9]) * (1.0 - c[10] * lean)
        x = atan2(slip, 1.0) / DEGREE + c[11] * gamma
        return D * _curve(c[0], B, E, x) + (c[14] * F * F + c[15] * F) * gamma


def _size(along: Scalar, across: Scalar) -> Scalar:
    """Return the size of a slip, not quite zero where the root has no derivative."""
    return sqrt(along * along + across * across + 1e-16)


def _moment_slope(c: Sequence[float], F: Scalar) -> Scalar:
    """Return the slope of the moment over the slip angle, N m per degree, at a load in kN."""
    return (c[3] * F * F + c[4] * F) * exp(-c[5] * F)


def _curve(C: Scalar, B: Scalar, E: Scalar, x: Scalar) -> Scalar:
    """Return the formula itself, sin(C atan(B x - E (B x - atan(B x)))).

    If E > 1, the inner function turns back at (B x)^2 = 1 / (E - 1), and far beyond the force would
    act along the slip. There it stays as it is at the turn, and the sine does not become negative.
    """
    excess = E - 1.0
    turn = 1.0 / sqrt(where(excess > LEAST_EXCESS, excess, LEAST_EXCESS))
    y = clip(B * x, -turn, turn)
    inner = y - E * (y - atan2(y, 1.0))
    return sin(clip(C * atan2(inner, 1.0), -math.pi, math.pi))


FORCE = MagicFormula
