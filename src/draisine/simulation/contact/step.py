"""One step of an arc with its dense output and its guards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.targets.native import Packed
from draisine.errors import ContactSetError, SimulationError
from draisine.simulation.contact import guards
from draisine.simulation.contact.borders import Borders
from draisine.simulation.contact.query import Closed, ContactQuery, WheelOnFeature
from draisine.simulation.integrators.dop853 import STAGES, stages
from draisine.simulation.options import ContactOptions, Numerics
from draisine.simulation.trajectory import Key
from draisine.system.state import State

PARTS = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
"""Where in a step the guards are looked at."""


SLIP = 1e-5
"""The slip in m/s with which a contact begins to slide; below a tenth of it, it sticks. Less would
make the direction of friction stiff.
"""


PULL = 2e-7
"""Forces below minus this many N are pulls: no accepted state has one."""


SUNK = 5e-10
"""No accepted state has a gap this many metres below zero."""

LEAN, OVER = -1, -2
"""The two ways to fall, in the place of a contact's number."""

LOCKS = 0.1
"""A sliding contact is about to lock where friction leaves less than this part of its inverse
inertia.
"""


@dataclass(frozen=True, eq=False)
class Course:
    """What stays the same along an arc: the closed contacts, those to watch, until when, and which
    contacts count.
    """

    look: ContactQuery
    contact: ContactOptions
    numerics: Numerics
    stop: float
    closed: Sequence[Closed]
    watch: Sequence[WheelOnFeature]
    watched: Packed
    borders: Borders
    margin: float
    valid: Callable[[WheelOnFeature, Floats], bool]


def lock_error(t: float, key: Key, state: State) -> ContactSetError:
    """Return the error of a sliding contact whose force grows without bound."""
    return ContactSetError(
        f"at {t:.9g} s: the force on wheel {key[0]!r}, which slides on {key[1]!r}, grows without "
        "bound: it locks (Painleve's paradox). A smaller mu may solve it.",
        state=state,
    )


class ContactStep:
    """One step with its dense output; it keeps its start, so that events inside it can be reached by
    steps of their own. `first` tells that it begins an arc.
    """

    def __init__(self, course: Course, t: float, y: Floats, h: float, first: bool) -> None:
        look, numerics = course.look, course.numerics
        self.course, self.look, self.saddle = course, look, look.saddle(course.closed)
        self.t, self.y, self.first = t, y, first
        self.stages = stages(y, np.empty(STAGES * len(y)), len(y), numerics.rtol, numerics.atol)
        look.fill(t, y)
        speed = float(np.abs(look.speeds(y)[:6]).max(initial=0.0)) + look.ground_speed(t, y)
        longest = course.margin / (2.0 * max(speed, 1e-9))
        self.last = float(np.nextafter(course.stop, t))
        self.clock = np.array([t, h, self.last, 0.0])
        wrong = look.code.advance(self.saddle, self.stages, self.clock, course.stop, longest)
        _, self.h, _, self.proposal = self.clock.tolist()
        if wrong:
            self._fail(wrong)

    def _fail(self, wrong: int) -> None:
        """Raise why there is no step: most often a sliding contact locks, whose force grows while
        the part of its inverse inertia that friction leaves goes to zero.
        """
        look = self.look
        M = look.dynamics(self.t, self.y)["M"].reshape(look.n, look.n)
        rows = look.meet(self.t, self.y, [contact for contact, *_ in self.course.closed])
        for (contact, held, mu), row in zip(self.course.closed, rows, strict=True):
            k = look.candidate(contact, row, mu, held)
            if held == 1 and 0 < mu < np.inf:
                C, G = k.C[0], k.column(look.speeds(self.y))[:, 0]
                if C @ np.linalg.solve(M, G) < LOCKS * (C @ np.linalg.solve(M, C)):
                    raise lock_error(self.t, k.key, look.machine.leave(self.y))
        why = "its contacts contradict each other" if wrong == 1 else "no step is small enough"
        raise SimulationError(f"the run stopped at {self.t:.9g} s: {why}.")

    def end(self, h: float) -> Floats:
        """Return the state after a step of length h from the same start, contacts settled."""
        look, new = self.look, self.stages.record.new
        if h != self.h:
            new = np.empty(len(self.y))
            look.code.leap(self.saddle, self.stages, self.t, h, self.last, new)
        return look.settle(self.t + h, new, self.course.closed)

    def at(self, part: float) -> Floats:
        """Return the state at a part of the step."""
        y = np.empty(len(self.y))
        self.look.code.dense(self.stages, part, y)
        return y

    # --- guards, over the part of the step

    def _survey(self, parts: Floats, watched: Packed) -> tuple[Floats, Floats]:
        """Return states and what contacts look like at parts of the step."""
        states = np.empty((len(parts), len(self.y)))
        seen = np.empty((len(parts), watched.record.size, self.look.row.size))
        step = (self.saddle, self.stages, self.clock)
        self.look.code.survey(*step, watched, parts, len(parts), states, seen)
        return states, seen

    def _forces(self, parts: Floats) -> tuple[Floats, Floats, Floats]:
        """Return states, forces of the closed contacts, and what they look like."""
        k = len(self.course.closed)
        states = np.empty((len(parts), len(self.y)))
        lams, seen = np.zeros((len(parts), k, 3)), np.empty((len(parts), k, self.look.row.size))
        step = (self.saddle, self.stages, self.clock)
        self.look.code.forces(*step, parts, len(parts), states, lams, seen)
        return states, lams, seen

    def first_event(self) -> guards.Crossing | None:
        """Return the first event inside the step, if any."""
        found: list[guards.Crossing] = []
        states, seen = self._survey(PARTS, self.course.watched)
        found += self._falls(states)
        row = self.look.row
        gaps = seen[:, :, row.gap.start]
        C = seen[:, :, row.C.start : row.C.start + self.look.n]
        normal = np.einsum("pkn,pn->pk", C, states[:, self.look.y.v]) - seen[:, :, row.b.start]
        rates = seen[:, :, row.stretch.start] * normal
        suspects = guards.suspects(gaps, rates, self.h)
        if suspects:
            away = guards.stays_positive(self.course.borders.excess(seen))
            for k in suspects:
                if not away[k]:
                    found += self._collisions(k, gaps[:, k], rates[:, k])
        if self.course.closed:
            found += self._endings()
        return min(found, key=lambda c: c.part, default=None)

    def sunk(self, part: float) -> WheelOnFeature | None:
        """Return a watched contact that is deep in the ground at a part of the step: what led there
        was missed between samples, or there is nothing that a wheel of this shape could meet.
        """
        look = self.look
        seen = self._survey(np.array([part]), self.course.watched)[1][0]
        gaps = seen[:, look.row.gap.start]
        deep = (gaps < -SUNK) & np.isfinite(gaps)
        if not deep.any():
            return None
        for k in np.flatnonzero(deep & (self.course.borders.excess(seen) < -1e-6)).tolist():
            contact = self.course.watch[k]
            if gaps[k] > -look.reach(contact) and look.above(contact, seen[k]):
                return contact
        return None

    def _collisions(self, k: int, gaps: Floats, rates: Floats) -> list[guards.Crossing]:
        """Return where a watched contact closes, the first time that its feature is there."""
        look, contact = self.look, self.course.watch[k]
        alone = look.alone(contact)

        def at(part: float) -> tuple[Floats, Floats]:
            states, seen = self._survey(np.array([part]), alone)
            return states[0], seen[0, 0]

        def gap(part: float) -> float:
            return look.gap(at(part)[1])

        def rate(part: float) -> float:
            state, row = at(part)
            return look.rate(row, self.look.speeds(state))

        for part in guards.fall(PARTS, gaps, rates, gap, rate, self.first):
            row = at(part)[1]
            if self.course.valid(contact, row) and look.above(contact, row):
                return [guards.Crossing(part, "gap", k, gap)]
        return []

    def _endings(self) -> list[guards.Crossing]:
        """Return where forces of closed contacts vanish or leave the cone of friction, slips vanish,
        and features end.
        """
        look, found = self.look, []
        samples = self._forces(PARTS)
        for k, (contact, rows, mu) in enumerate(self.course.closed):
            checks = [("force", 1e-7)]
            if np.isfinite(mu) and mu > 0:
                checks.append(("cone", 1e-7) if rows == 3 else ("slip", 0.0))
            if len(look.feature(contact).borders):
                checks.append(("border", 1e-12))
            for kind, slack in checks:
                values = self._measure(kind, k, *samples)

                def guard(part: float, kind: str = kind, k: int = k) -> float:
                    return float(self._measure(kind, k, *self._forces(np.array([part])))[0])

                for part in guards.drop(PARTS, values, guard, slack):
                    found.append(guards.Crossing(part, kind, k, guard))
        return found

    def _measure(self, kind: str, k: int, y: Floats, lams: Floats, seen: Floats) -> Any:
        """Return what must not become negative of closed contact k: its normal force, what friction
        can still hold, its slip, its distance from the feature's borders; states, forces and rows may
        have further axes in front.
        """
        contact, _, mu = self.course.closed[k]
        lam, row = lams[..., k, :], seen[..., k, :]
        if kind == "force":
            return lam[..., 0]
        if kind == "cone":
            return mu * lam[..., 0] - np.hypot(lam[..., 1], lam[..., 2])
        if kind == "slip":
            v = self.look.speeds(y)
            along = np.einsum("...ij,...j->...i", self.look.jacobian(row)[..., 1:, :], v)
            slip = along - self.look.carried(row)[..., 1:]
            return np.hypot(slip[..., 0], slip[..., 1]) - 0.1 * SLIP
        return -self.look.excess(contact, row)

    def _falls(self, states: Floats) -> list[guards.Crossing]:
        """Return where the machine's lean passes the limit, or its frame turns over: a base that is
        no wheel itself has its own upward axis below the horizon.
        """
        limit, found = self.course.contact.fall, []

        def leaning(y: Floats) -> Any:
            q = y.T
            return np.sin(limit) - np.abs(2.0 * (q[2] * q[3] + q[0] * q[1]))

        def over(y: Floats) -> Any:
            q = y.T
            return 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])

        checks = [(LEAN, leaning)] if limit < np.pi / 2 else []
        checks += [(OVER, over)] if np.isfinite(limit) and self.look.machine.framed else []
        for which, measure in checks:

            def guard(part: float, measure: Callable[[Floats], Any] = measure) -> float:
                return float(measure(self.at(part)))

            for part in guards.drop(PARTS, measure(states), guard, 0.0):
                found.append(guards.Crossing(part, "fall", which, guard))
        return found

    def reach(self, found: guards.Crossing) -> tuple[float, Floats]:
        """Return time since the step's start and state of an event, by a step of its own."""
        if found.part == 0.0:
            return 0.0, self.y.copy()
        h = found.part * self.h
        nudge = min(1e-4, 0.1 * found.part)
        if found.kind == "border":
            nudge = -nudge  # before it, a contact on a seam is at zero all the time
        slope = (found.guard(found.part) - found.guard(found.part - nudge)) / (nudge * self.h)
        for _ in range(3):
            at = self.end(h)
            value = self._value(found, h, at)
            if slope == 0 or abs(value / slope) < 1e-15:
                break
            h = min(max(h - value / slope, 0.0), self.h)
        return h, self.end(h)

    def pulled(self, h: float, y: Floats) -> int | None:
        """Return the closed contact that pulls most at a state of the step, if one does."""
        if not self.course.closed:
            return None
        least = min(range(len(self.course.closed)), key=lambda k: self.force(h, y, k))
        return least if self.force(h, y, least) < -PULL else None

    def force(self, h: float, y: Floats, k: int) -> float:
        """Return the normal force of closed contact k at a state of the step."""
        t = min(self.t + h, self.last)
        return float(self.look.accelerate(t, y, self.course.closed)[1][k, 0])

    def last_push(self, h: float) -> tuple[float, Floats]:
        """Return time since the step's start and state, the last before h where no contact pulls."""
        low = 0.0
        for _ in range(60):
            middle = 0.5 * (low + h)
            if self.pulled(middle, self.end(middle)) is None:
                low = middle
            else:
                h = middle
        return low, self.end(low) if low > 0 else self.y.copy()

    def _value(self, found: guards.Crossing, h: float, y: Floats) -> float:
        """Return a guard at a state that was reached by a step."""
        look, t = self.look, self.t + h
        if found.kind == "gap":
            return look.gap(look.meet(t, y, [self.course.watch[found.contact]])[0])
        if found.kind == "fall":
            return 0.0
        _, lams, seen = look.accelerate(t, y, self.course.closed)
        return float(self._measure(found.kind, found.contact, y, lams, seen))
