"""Magic Formula of 1989: side force and aligning moment fitted to measured tyres.

Bakker, Pacejka and Lidner, A new tire model with an application in vehicle dynamics studies, SAE
technical paper 890087 (1989), doi:10.4271/890087; camber as in its form for single-track vehicles. Inside,
loads are in kN and angles in degrees, the units of the published coefficients, eq. [magic-formula].
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

RADIANS_PER_DEGREE = math.pi / 180.0
"""Radians per degree: the published coefficients are fitted to angles in degrees."""


class SmallSlips(NamedTuple):
    """Linear coefficients of a Magic Formula tyre at small slips."""

    cornering: Scalar  # side force per slip, N/rad
    trail: Scalar  # distance of the side force of a slip behind the contact, m
    reach: Scalar  # slip per spin that causes the camber thrust, m
    twisting: Scalar  # moment per spin at constant side force, N m2/rad


MIN_STIFFNESS = 1e-9
"""Lower bound (N/rad or N m2/rad) of a stiffness in a denominator, which is zero for an unloaded
tyre.
"""

MIN_CURVATURE_EXCESS = 1e-6
"""Lower bound of E - 1 (E: curvature factor), which limits B x to 1000; a slip angle of 90 degrees
stays far below this.
"""

ENERGY_NODES, ENERGY_WEIGHTS = np.polynomial.legendre.leggauss(6)
"""Gauss-Legendre quadrature of the side force over the slip; its error is below 1e-4 of the energy.
"""


@dataclass(frozen=True, eq=False)
class MagicFormula(OnWheel):
    """Magic Formula tyre with combined slip, relaxation and passive spin.

    The side force comes from the coefficients `Fy`, the longitudinal force from the same curve by
    similarity: the formula is evaluated at the magnitude of the slip (along, across), and its force
    opposes the slip. The aligning moment comes from the coefficients `Mz` by similarity, or is `trail`
    times the side force.

    The states are the two slips and the spin about the ground's normal, each lagged by the relaxation
    length, and side slip and spin lagged twice, for the moment. Camber is treated as spin: camber thrust
    and moment are proportional to the spin of a wheel with that camber that rolls straight ahead. The
    thrust acts as a slip, so that both share the friction limit. The tyre creates no energy at small
    slips and constant load, nor in any steady motion, eq. [tyre-passivity]; if the fitted moment against
    the spin is too small for that, the smallest passive moment replaces it.

    The load is the ground's normal force, solved by Newton's method together with the forces, or the
    force of a vertical spring, if `vertical` is set; the spring does not pull. Above the load of the
    largest friction force, where the fit decreases, the friction force stays constant.

    Parameters
    ----------
    Fy
        Coefficients a0 to a13 of the side force, for kN and degrees.
    relaxation
        Relaxation length, m.
    vertical
        Vertical stiffness, N/m; rigid by default.
    damping
        Vertical damping, N s/m.
    preload
        Load at zero gap, N.
    trail
        Pneumatic trail, m, used without `Mz`.
    Mz
        Coefficients c0 to c17 of the aligning moment.
    """

    Fy: tuple[float, ...]
    relaxation: Annotated[Scalar, "m", "relaxation length"]
    vertical: Annotated[Scalar | None, "N/m", "vertical stiffness"] = None
    damping: Annotated[Scalar, "N s/m", "vertical damping"] = 0.0
    preload: Annotated[Scalar, "N", "load at zero gap"] = 0.0
    trail: Annotated[Scalar, "m", "pneumatic trail, used without a fitted moment"] = 0.0
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
            coefficients = tuple(getattr(self, name))
            object.__setattr__(self, name, coefficients)
            if len(coefficients) not in counts:
                raise ModelError(
                    f"Magic formula: {name} has {len(coefficients)} coefficients; it must have {counts[-1]}, "
                    f"{'a0 to a13' if name == 'Fy' else 'c0 to c17'}."
                )

    @staticmethod
    def coefficients(values: Mapping[str, float]) -> dict[str, tuple[float, ...]]:
        """Return the coefficients `Fy` and `Mz` of a parameter set.

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
        """Whether the tyre has a vertical spring."""
        return self.vertical is not None

    @property
    def free_gap(self) -> Scalar:
        """Gap (m) at which the vertical spring is unloaded."""
        assert self.vertical is not None
        return self.preload / self.vertical

    def _load(self, readings: Any) -> Scalar:
        """Return the load (N): the normal force of the ground, or the force of the vertical spring."""
        if self.vertical is None:
            return readings.load(self.contact)
        gap = readings.gap(self.contact)
        rate = readings.slip(self.contact).normal
        spring_force = self.preload - self.vertical * gap - self.damping * rate
        return where(spring_force > 0.0, spring_force, 0.0)

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return force (N) and aligning moment (N m) on the contact, and the rates of the states."""
        along, across, spin, late_across, late_spin = z
        load = self._load(readings)
        small = self._linearise_small_slips(readings)
        slip = readings.slip(self.contact)
        speed_magnitude = self.rolling_speed_magnitude(readings)
        direction = self.direction(readings)
        side, moment = self._side_force_and_moment(load, small, z)
        grip = self.grip(load, along, across - small.reach * spin)
        wrench = Wrench(
            normal=load if self.sprung else 0.0,
            along=grip * along,
            across=side,
            aligning=direction * (small.reach * side + moment),
        )
        turning = direction * readings.spin(self.contact)
        rates = [
            -slip.along - speed_magnitude * along,
            -slip.across - speed_magnitude * across,
            turning - speed_magnitude * spin,
            speed_magnitude * (across - late_across),
            speed_magnitude * (spin - late_spin),
        ]
        return {self.contact: wrench}, [rate / self.relaxation for rate in rates]

    def _linearise_small_slips(self, readings: Any) -> SmallSlips:
        """Return the linear coefficients at small slips for the current load."""
        return self.small_slips(self._load(readings), readings.rolling_radius(self.contact))

    def _side_force_and_moment(
        self, load: Scalar, coefficients: SmallSlips, z: Array
    ) -> tuple[Scalar, Scalar]:
        """Return the side force (N), and the moment (N m) about the point at the distance `reach`
        ahead of the contact.
        """
        along, across, spin, late_across, late_spin = z
        shifted = across - coefficients.reach * spin
        late = late_across - coefficients.reach * late_spin
        side = self.grip(load, along, shifted) * shifted
        late_side = self.grip(load, along, late) * late
        late_moment = -(coefficients.trail * late_side)
        # The tyre is passive only if its trail is largest at small slips. Therefore the fitted
        # moment is bounded by the side force times the trail at small slips.
        if self.Mz:
            slip_size = _slip_magnitude(along, late)
            fitted = self.moment(load, slip_size, 0.0) * late / slip_size
            late_moment = where(fitted * late > late_moment * late, fitted, late_moment)
        return side, late_moment - coefficients.reach * late_side - coefficients.twisting * spin

    def grip(self, load: Scalar, along: Scalar, across: Scalar) -> Scalar:
        """Return the force per slip (N) at a load (N) and at slips along and across."""
        size = _slip_magnitude(along, across)
        return self.side_force(load, size, 0.0) / size

    def small_slips(self, load: Scalar, radius: Scalar) -> SmallSlips:
        """Return the linear coefficients at small slips for a load (N) and a rolling radius (m)."""
        a = self.Fy
        c = self.Mz
        F = load / 1000.0
        stiffness = a[3] * sin(2.0 * atan2(F, a[4])) / RADIANS_PER_DEGREE
        cornering = where(stiffness > MIN_STIFFNESS, stiffness, MIN_STIFFNESS)
        reach = radius * (a[8] + a[11] * F / (RADIANS_PER_DEGREE * cornering))
        slope = _moment_slope(c, F) / RADIANS_PER_DEGREE if c else -(self.trail * cornering)
        trail = -slope / cornering
        arm = (reach + trail) / 2.0
        passive_twisting = cornering * arm * arm
        if not c:
            return SmallSlips(cornering, trail, reach, passive_twisting)
        camber = c[11] * slope + (c[14] * F * F + c[15] * F) / RADIANS_PER_DEGREE
        fitted = radius * camber - slope * reach
        return SmallSlips(
            cornering, trail, reach, where(fitted > passive_twisting, fitted, passive_twisting)
        )

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy (J) of slips, twist and vertical spring."""
        load = self._load(readings)
        small = self._linearise_small_slips(readings)
        size = _slip_magnitude(z[0], z[1] - small.reach * z[2])
        nodes = zip(0.5 * (1.0 + ENERGY_NODES), 0.5 * ENERGY_WEIGHTS, strict=True)
        mean = sum(w * self.side_force(load, float(x) * size, 0.0) for x, w in nodes)
        _, moment = self._side_force_and_moment(load, small, z)
        twisting = where(small.twisting > MIN_STIFFNESS, small.twisting, MIN_STIFFNESS)
        energy = self.relaxation * (size * mean + 0.5 * moment * moment / twisting)
        if self.vertical is None:
            return energy
        depth = self.free_gap - readings.gap(self.contact)
        return energy + where(depth > 0.0, 0.5 * self.vertical * depth * depth, 0.0)

    def side_force(self, load: Scalar, slip: Scalar, camber: Scalar) -> Scalar:
        """Return the side force (N) at a load (N), the tangent of a slip angle, and a camber (rad).

        >>> straight = MagicFormula((1.5, 0.0, 1000.0, 200.0, 1.0, *[0.0] * 9), 0.1, 1e5, 1e3, 500.0)
        >>> straight.side_force(500.0, 0.0, 0.0), straight.side_force(500.0, 0.1, 0.0) < 500.0
        (0.0, True)
        """
        a = self.Fy
        F = load / 1000.0
        peak_load = -a[2] / (2.0 * a[1]) if a[1] < 0.0 else math.inf
        bounded_load = where(peak_load > F, F, peak_load)
        gamma = camber / RADIANS_PER_DEGREE
        camber_degrees = where(gamma < 0.0, -gamma, gamma)
        D = a[1] * bounded_load * bounded_load + a[2] * bounded_load
        slope = a[3] * sin(2.0 * atan2(F, a[4])) * (1.0 - a[5] * camber_degrees)
        B = slope / (a[0] * where(D > 1e-9, D, 1e-9))
        E = a[6] * F + a[7]
        x = atan2(slip, 1.0) / RADIANS_PER_DEGREE + a[8] * gamma
        return D * _evaluate_magic_curve(a[0], B, E, x) + a[11] * F * gamma

    def moment(self, load: Scalar, slip: Scalar, camber: Scalar) -> Scalar:
        """Return the aligning moment (N m) at a load (N), the tangent of a slip angle, and a camber (rad).

        The offsets of the fit are left out: they describe asymmetries of one tyre.
        """
        c = self.Mz
        F = load / 1000.0
        gamma = camber / RADIANS_PER_DEGREE
        camber_degrees = where(gamma < 0.0, -gamma, gamma)
        D = c[1] * F * F + c[2] * F
        slope = _moment_slope(c, F) * (1.0 - c[6] * camber_degrees)
        B = slope / (c[0] * where(D > 1e-9, D, 1e-9))
        E = (c[7] * F * F + c[8] * F + c[9]) * (1.0 - c[10] * camber_degrees)
        x = atan2(slip, 1.0) / RADIANS_PER_DEGREE + c[11] * gamma
        return D * _evaluate_magic_curve(c[0], B, E, x) + (c[14] * F * F + c[15] * F) * gamma


def _slip_magnitude(along: Scalar, across: Scalar) -> Scalar:
    """Return the magnitude of a slip with a small offset that avoids the infinite derivative at
    zero.
    """
    return sqrt(along * along + across * across + 1e-16)


def _moment_slope(coefficients: Sequence[float], load: Scalar) -> Scalar:
    """Return the derivative of the aligning moment with respect to the slip angle (N m per degree)
    at a load (kN).
    """
    return (coefficients[3] * load * load + coefficients[4] * load) * exp(-coefficients[5] * load)


def _evaluate_magic_curve(C: Scalar, B: Scalar, E: Scalar, x: Scalar) -> Scalar:
    """Return the Magic Formula curve sin(C atan(B x - E (B x - atan(B x)))), bounded for large
    slips x.

    If E > 1, the inner function has its maximum at (B x)^2 = 1 / (E - 1), and far beyond the force would
    act along the slip. Therefore B x is bounded by this value, and the argument of the sine by pi.
    """
    excess = E - 1.0
    turn = 1.0 / sqrt(where(excess > MIN_CURVATURE_EXCESS, excess, MIN_CURVATURE_EXCESS))
    y = clip(B * x, -turn, turn)
    inner = y - E * (y - atan2(y, 1.0))
    return sin(clip(C * atan2(inner, 1.0), -math.pi, math.pi))


FORCE = MagicFormula
