"""Hurmuzlu and Marghitu's impact model: Keller's process with supports that respond during the impact.

One contact strikes while others already rest on the ground. The normal impulse P of the striking contact is
the independent variable, and a support pushes as long as it would otherwise approach, eq. [impact-supports].
Coulomb friction acts at all contacts; slips may stop and reverse; a support may leave the ground and return.
The restitution ends by Poisson's condition at the striking contact. Hurmuzlu and Marghitu 1994, International
Journal of Robotics Research 13(1), 82-92, doi:10.1177/027836499401300106.

Method: integrate from event to event. Between events all rates are constant if slips keep their directions,
as in the plane; otherwise short steps use the rates at their middle, to about 1e-6. Events: the end of a
phase, the end of a slip, and the return of a support. If several contacts approach, the fastest is first, as
in Keller's model.
"""

import math

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.active_set import ImpactProblem, Selection
from draisine.simulation.contact.complementarity.coulomb import FrictionContact, solve_friction
from draisine.simulation.contact.event_driven.impact import FRICTION_TOLERANCE
from draisine.simulation.impacts._sequence import (
    EQUAL_APPROACH,
    NO_APPROACH,
    resolve_in_sequence,
)

MAX_EVENTS = 20000
"""Largest number of events and steps of one impact; an impact in the plane has fewer than ten."""

ZERO_SLIP = 1e-10
"""Slip speed, relative to the largest contact velocity, below which a slip is a rounding error."""

MAX_TURN = 0.005
"""Largest rotation (rad) of a slip direction in a step; the error of an impact is about its square / 24."""

MAX_SHRINK = 0.005
"""Largest relative decrease of a turning slip in a step; the error of an impact grows with its square."""


def impact(given: ImpactProblem, *, normal: float = 0.0) -> Selection:
    """Return the speeds after an impact with responding supports, and the impulses."""
    return resolve_in_sequence(given, normal, _resolve_with_supports)


def _resolve_with_supports(W: Floats, u: Floats, mu: Floats, e: float, largest: float) -> Floats:
    """Return the impulses (3m), N s, of striking contacts and supports, see `ApproachModel`."""
    process = _SupportedImpact(W, u, mu, largest)
    compressed = process.run(np.zeros(len(u)), None)
    return process.run(compressed, (1.0 + e) * process.pressed(compressed)) if e else compressed


class _SupportedImpact:
    """Impact of the fastest approaching contacts (striking) while others rest on the ground (supports)."""

    def __init__(self, W: Floats, u: Floats, mu: Floats, speed: float) -> None:
        self.W = W
        self.u = u
        self.mu = mu
        self.speed = speed
        self.compliance = float(np.abs(np.diag(W)).max())
        normal = u[::3]
        resting = np.abs(normal) <= EQUAL_APPROACH * speed
        self.striking = np.flatnonzero(normal <= normal.min() + EQUAL_APPROACH * speed).tolist()
        self.supports = [i for i in np.flatnonzero(resting).tolist() if i not in self.striking]

    def pressed(self, Lam: Floats) -> float:
        """Return the sum of the normal impulses of the striking contacts (N s)."""
        return float(Lam[::3][self.striking].sum())

    def run(self, Lam: Floats, end: float | None) -> Floats:
        """Continue the impact from the impulses Lam (3m); return the impulses at the end of the phase.

        Without `end`, the phase is the compression. Otherwise it ends when the normal impulses of the
        striking contacts add up to `end` (N s).
        """
        for _ in range(MAX_EVENTS):
            u = self.u + self.W @ Lam
            left = -u[3 * self.striking[0]] if end is None else end - self.pressed(Lam)
            scale = self.speed if end is None else end
            if left <= NO_APPROACH * scale:
                return Lam
            rate = self.rate(u)
            du = self.W @ rate
            growth = du[3 * self.striking[0]] if end is None else self.pressed(rate)
            step, turns = self.step_length(u, du)
            # Friction may press the striking contact down until its slip ends.
            step = min(step, left / growth if growth > 0.0 else math.inf)
            if math.isinf(step):
                raise ContactSetError(
                    "An impact with friction does not end: friction presses the contacts together (Painlevé "
                    "paradox). Use a smaller mu, or the impact model 'moreau'."
                )
            if turns:
                rate = self.rate(u + 0.5 * step * du)
            Lam = Lam + step * rate
        raise ContactSetError(
            "An impact with friction does not end. Use the impact model 'moreau'."
        )

    def rate(self, u: Floats) -> Floats:
        """Return the rates (3m) of the impulses per normal impulse of the striking contact, at velocities u.

        If several contacts strike, all of them gain normal velocity at the same rate `compliance`.
        """
        slip = u.reshape(-1, 3)[:, 1:]
        closed = [i for i in self.supports if u[3 * i] <= EQUAL_APPROACH * self.speed]
        columns: list[Floats] = []
        rows: list[int] = []
        laws: list[FrictionContact] = []
        gain: list[float] = []
        axes = np.eye(len(u))
        for i in [*self.striking, *closed]:
            size = float(np.hypot(*slip[i]))
            slides = size > ZERO_SLIP * self.speed
            if slides and math.isinf(self.mu[i]):
                raise ContactSetError(
                    "The impact model 'hurmuzlu_marghitu' requires finite friction at contacts that slip. "
                    "Set mu, or use the impact model 'plastic'."
                )
            strikes = i in self.striking
            if slides or self.mu[i] == 0.0:
                column = axes[3 * i].copy()
                if slides:
                    column[3 * i + 1 : 3 * i + 3] = -self.mu[i] * slip[i] / size
                laws.append(FrictionContact(len(rows), 1, 0.0))
                columns.append(column)
                rows.append(3 * i)
                gain.append(-1.0 if strikes else 0.0)
            else:
                laws.append(FrictionContact(len(rows), 3, float(self.mu[i])))
                columns += list(axes[3 * i : 3 * i + 3])
                rows += [3 * i, 3 * i + 1, 3 * i + 2]
                gain += [-1.0 if strikes else 0.0, 0.0, 0.0]
        basis = np.array(columns).T
        A = (self.W @ basis)[rows] / self.compliance
        if len(self.striking) == 1:
            # The normal impulse is the independent variable: a decoupled equation, whose solution is 1.
            A[0] = 0.0
            A[0, 0] = 1.0
        lam = solve_friction(A, np.array(gain), laws, FRICTION_TOLERANCE)
        if lam is None:
            raise ContactSetError(
                "No impulses satisfy Coulomb's law in the course of an impact. Use a smaller mu, or the "
                "impact model 'moreau'."
            )
        return basis @ lam

    def step_length(self, u: Floats, du: Floats) -> tuple[float, bool]:
        """Return the step to the next event from velocities u and rates du (3m), and whether a slip turns."""
        steps = [math.inf]
        turns = False
        slip = u.reshape(-1, 3)[:, 1:]
        change = du.reshape(-1, 3)[:, 1:]
        for i in [*self.striking, *self.supports]:
            size = float(np.hypot(*slip[i]))
            along = float(slip[i] @ change[i])
            across = abs(float(slip[i, 0] * change[i, 1] - slip[i, 1] * change[i, 0]))
            if size > ZERO_SLIP * self.speed:
                # A slip that shrinks along its own direction ends; another one turns.
                if across <= ZERO_SLIP * size * float(np.hypot(*change[i])):
                    steps += [-size * size / along] if along < 0.0 else []
                else:
                    steps.append(MAX_TURN * size * size / across)
                    steps += [-MAX_SHRINK * size * size / along] if along < 0.0 else []
                    turns = True
            if i in self.supports:
                returns = u[3 * i] > EQUAL_APPROACH * self.speed and du[3 * i] < 0.0
                steps += [-u[3 * i] / du[3 * i]] if returns else []
        return min(steps), turns
