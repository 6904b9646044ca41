"""Conditions under which a vehicle has fallen: its lean angle exceeds a limit, or its frame turns over.

The same conditions apply to all solvers. A run stops at the fall, and the outcome of the run states the fall.
"""

import math
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.mechanics.base import has_frame
from draisine.model import Model
from draisine.model.surface import Surface
from draisine.simulation.integrators import FALL_WATCH_SIZE

FALL_LEAN = math.radians(80.0)
"""Default lean angle (rad) of a fallen vehicle, at which pedals or handlebar touch the ground."""

FLAT_LEAN = math.radians(89.9)
"""Lean angle (rad) at which a single wheel lies flat; beyond it the contact point is ill-conditioned."""

UNREACHABLE_SINE = 2.0
"""Limit of the sine of the lean angle, or offset of the cosine of the tilt, that disables a fall condition.

Sines and cosines never exceed 1.
"""

FALL_OUTCOME = "fell"
"""First word of the outcome of a run that ends by a fall."""


@dataclass(frozen=True)
class FallRule:
    """Conditions under which a vehicle has fallen."""

    lean: float  # rad, largest lean angle; no condition if 90 degrees or more
    over: bool  # whether the vehicle has also fallen if its frame turns over

    @property
    def watches(self) -> bool:
        """Whether the rule has any condition."""
        return self.over or self.lean < math.pi / 2

    @property
    def sine(self) -> float:
        """The sine of the largest lean angle."""
        return math.sin(self.lean) if self.lean < math.pi / 2 else UNREACHABLE_SINE

    def margin(self, q: Floats) -> Floats:
        """Return the margins to a fall for quaternions (4, ...) of the base; they are negative after a fall.

        The margin is the smaller of two numbers: sine of the lean limit minus sine of the lean angle, and
        cosine of the tilt of the frame.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            lean = self.sine - np.abs(2.0 * (q[2] * q[3] + q[0] * q[1]))
            tilt = 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])
            return np.asarray(np.minimum(lean, tilt) if self.over else lean)

    def falls(self, before: Floats, after: Floats) -> bool:
        """Return whether a vehicle falls between two orientations of its base, unit quaternions (4,).

        It falls if its margin is negative and smaller than before. A vehicle that starts beyond the limit may
        therefore rise.
        """
        return self.watches and bool(self.margin(after) < min(0.0, float(self.margin(before))))

    def watch(self, axes: Floats) -> Floats:
        """Return the fall conditions as the array `Problem.watch`; empty without a condition.

        `axes` (3, 3, ...) is the rotation of the internal base frame in the zero configuration.
        """
        if not self.watches:
            return np.zeros(0)
        out = np.empty((FALL_WATCH_SIZE, *axes.shape[2:]))
        out[0] = self.sine
        out[1] = 0.0 if self.over else UNREACHABLE_SINE
        out[2:5] = axes[1]
        out[5:8] = axes[2]
        return out

    def outcome(self, q: Floats) -> str:
        """Return the outcome of a run that ends with a fall, from the base's quaternion q (4,) at the fall.

        >>> FallRule(math.radians(80.0), over=True).outcome(np.array([0.7, 0.7, 0.0, 0.0]))
        'fell: lean beyond 80 deg'
        """
        leans = FallRule(self.lean, over=False).margin(q) <= 1e-9 + max(0.0, float(self.margin(q)))
        return describe_fall(self.lean if leans else None)


def fall_rule(model: Model, largest_lean: float | None) -> FallRule:
    """Return the conditions under which a vehicle has fallen.

    Parameters
    ----------
    model
        Model of the vehicle. A body that rolls in every direction, or a system without wheels on the ground,
        cannot fall.
    largest_lean
        Largest lean angle, rad; infinite for no fall. By default 80 degrees, at which handlebars or pedals
        touch the ground, or for a single wheel nearly 90 degrees.
    """
    carrier = [wheel for wheel in model.wheels if wheel.body == model.bodies[0].name]
    rolls_anyhow = carrier and all(_is_round(wheel.surface) for wheel in carrier)
    if model.base != "SE(3)" or not model.wheels or rolls_anyhow:
        return FallRule(math.inf, over=False)
    rolling = {wheel.body for wheel in model.wheels}
    default = FLAT_LEAN if all(body.name in rolling for body in model.bodies) else FALL_LEAN
    lean = default if largest_lean is None else largest_lean
    return FallRule(lean, over=math.isfinite(lean) and has_frame(model))


def describe_fall(limit: float | None) -> str:
    """Return the outcome of a fall: by a lean angle beyond `limit` (rad), or by turning over (None).

    >>> describe_fall(math.radians(80.0))
    'fell: lean beyond 80 deg'
    """
    return (
        f"{FALL_OUTCOME}: it turned over"
        if limit is None
        else f"{FALL_OUTCOME}: lean beyond {math.degrees(limit):.3g} deg"
    )


def has_fallen(outcome: str) -> bool:
    """Return whether an outcome is a fall.

    >>> has_fallen("fell: it turned over"), has_fallen("completed")
    (True, False)
    """
    return outcome.startswith(FALL_OUTCOME)


def _is_round(surface: Surface) -> bool:
    """Return whether a surface has no axle, so that it rolls in every direction."""
    return not float(surface.ring) > 0.0
