"""When a machine has fallen: one rule for runs of every kind.

A machine falls if its lean passes a limit, or if its frame turns over. The run stops there, and its
outcome says so.
"""

import math
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.mechanics.base import has_frame
from draisine.model import Model
from draisine.model.surface import Surface
from draisine.simulation.integrators import WATCH

FALL, FLAT = math.radians(80.0), math.radians(89.9)
"""The lean at which a machine has fallen, and at which a wheel alone lies flat, in rad."""

UNWATCHED = 2.0
"""A sine, or an offset of a cosine, beyond all that occur: the condition never holds."""

FELL = "fell"
"""How the outcome of a run that ends by a fall begins."""


@dataclass(frozen=True)
class FallRule:
    """What counts as a fall: a lean beyond `lean` (rad; none from 90 degrees on), and, if `over`, a frame
    that turns over.
    """

    lean: float
    over: bool

    @property
    def watches(self) -> bool:
        """Whether anything counts as a fall."""
        return self.over or self.lean < math.pi / 2

    @property
    def sine(self) -> float:
        """The sine of the lean that is a fall."""
        return math.sin(self.lean) if self.lean < math.pi / 2 else UNWATCHED

    def margin(self, q: Floats) -> Floats:
        """Return how far quaternions (4, ...) of the base are from a fall: by how much the sine of the
        lean is below its limit or, if that is less, the cosine of a frame's tilt. Negative: fallen.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            lean = self.sine - np.abs(2.0 * (q[2] * q[3] + q[0] * q[1]))
            tilt = 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])
            return np.asarray(np.minimum(lean, tilt) if self.over else lean)

    def falls(self, before: Floats, after: Floats) -> bool:
        """Return whether a machine falls between two of its base's quaternions: it is beyond the limit,
        and further than before (a machine that starts beyond it may rise).
        """
        return self.watches and bool(self.margin(after) < min(0.0, float(self.margin(before))))

    def watch(self, axes: Floats) -> Floats:
        """Return what an integrator needs to know of the rule, see `Problem.watch`; empty if nothing
        counts as a fall. `axes` (3, 3, ...) are those of the inner base frame in the drawing.
        """
        if not self.watches:
            return np.zeros(0)
        out = np.empty((WATCH, *axes.shape[2:]))
        out[0], out[1] = self.sine, 0.0 if self.over else UNWATCHED
        out[2:5], out[5:8] = axes[1], axes[2]
        return out

    def outcome(self, q: Floats) -> str:
        """Return how a run ends that fell with the base's quaternion q.

        >>> FallRule(math.radians(80.0), over=True).outcome(np.array([0.7, 0.7, 0.0, 0.0]))
        'fell: lean beyond 80 deg'
        """
        leans = FallRule(self.lean, over=False).margin(q) <= 1e-9 + max(0.0, float(self.margin(q)))
        return fall_words(self.lean if leans else None)


def fall_rule(model: Model, asked: float | None) -> FallRule:
    """Return what counts as a fall of a machine: the lean that is asked for (inf: nothing does), or by
    default that at which something of it that is no wheel strikes the ground, or a wheel alone lies
    flat. A machine that can roll every way, or that no wheel carries, cannot fall.
    """
    carrier = [wheel for wheel in model.wheels if wheel.body == model.bodies[0].name]
    rolls_anyhow = carrier and all(_is_round(wheel.surface) for wheel in carrier)
    if model.base != "SE(3)" or not model.wheels or rolls_anyhow:
        return FallRule(math.inf, over=False)
    rolling = {wheel.body for wheel in model.wheels}
    usual = FLAT if all(body.name in rolling for body in model.bodies) else FALL
    lean = usual if asked is None else asked
    return FallRule(lean, over=math.isfinite(lean) and has_frame(model))


def fall_words(limit: float | None) -> str:
    """Return how a run ends by a lean beyond a limit, or without one, by a frame that turns over.

    >>> fall_words(math.radians(80.0))
    'fell: lean beyond 80 deg'
    """
    return (
        f"{FELL}: it turned over"
        if limit is None
        else f"{FELL}: lean beyond {math.degrees(limit):.3g} deg"
    )


def has_fallen(outcome: str) -> bool:
    """Return whether an outcome is a fall.

    >>> has_fallen("fell: it turned over"), has_fallen("completed")
    (True, False)
    """
    return outcome.startswith(FELL)


def _is_round(surface: Surface) -> bool:
    """Return whether a surface has no axle: it can roll every way."""
    return not float(surface.ring) > 0.0
