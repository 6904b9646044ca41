"""Derivatives through events: neighbouring motions meet them earlier or later, and jump otherwise.

An event is where a guard g vanishes. A neighbour that is dy away meets it `dt = -dg / g'` later; what it
then differs in goes through the jump and back to the same time, eq. [saltation-jump].
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import difference
from draisine.analysis.gradient.mode import ModeTangents, TerrainTangents
from draisine.analysis.gradient.tangents import Directions, follow
from draisine.errors import GrazingError, SimulationError
from draisine.simulation.contact.arc import TerrainArc
from draisine.simulation.contact.complementarity.active_set import Candidate, ImpactProblem
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.options import ContactOptions, Numerics
from draisine.simulation.trajectory import Event, Trajectory
from draisine.terrain.feature import LEAN, OFFSET, PLACE

GRAZES = 1e-4
"""Guards that pass zero slower than this, in their units per second, are grazed."""

NEAR = 1e-6
"""How far from zero a guard may be at its event, against its size."""


@dataclass(frozen=True, eq=False)
class EventGradient:
    """An event with the derivatives `time` of its time by the unknowns (s per unit), the outputs just
    before it, and their derivatives (outputs, unknowns): those from event to event, not at one time.
    `crossing` is the rate at which its guard passed zero (a gap in m/s, a force in N/s), zero for events
    at fixed times.
    """

    event: Event
    time: Floats
    values: Floats
    derivatives: Floats
    crossing: float


@dataclass(frozen=True, eq=False)
class TerrainMotion:
    """A run on a terrain that is followed with its derivatives along directions; `blows` are those of
    the impact model's coefficients, `places` where the outputs stand among all that is seen.
    """

    run: Trajectory
    contact: ContactOptions
    along: Directions
    blows: Floats
    numerics: Numerics
    places: list[int]

    @cached_property
    def look(self) -> ContactQuery:
        """The machine on its terrain."""
        arc = self.run.arcs[0]
        assert isinstance(arc, TerrainArc)
        return ContactQuery(arc.machine, arc.terrain, arc.inputs, arc.stops)

    @cached_property
    def tangents(self) -> TerrainTangents:
        """Its programs with derivatives."""
        return TerrainTangents(self.look, self.along)

    def observe(self, whole: Floats, times: Floats) -> tuple[Floats, tuple[EventGradient, ...]]:
        """Return the outputs at times, (times, 1 + k, outputs), and the events on the way, for a start
        with its derivatives; at the time of an event, what they are after it.
        """
        seen, events = [], []
        for k, arc in enumerate(self.run.arcs):
            assert isinstance(arc, TerrainArc)
            start, end = float(arc.t[0]), float(arc.t[-1])
            for t, key in arc.grazes:
                raise GrazingError(
                    f"no gradient: at {t:.9g} s {':'.join(key)} is grazed; neighbouring motions strike it."
                )
            last = k == len(self.run.arcs) - 1
            own = times[(times >= start) & ((times < end) | last)]
            whole[0] = arc.y[0]
            grid = np.unique(np.append(own, end))
            samples = follow(self._rates(arc.closed), whole, start, grid, self.numerics)
            seen += [
                self.tangents.seen(t, x)[:, self.places]
                for t, x in zip(own, samples[: len(own)], strict=True)
            ]
            whole = samples[-1]
            if k < len(self.run.events) and not last:
                after = self.run.arcs[k + 1]
                assert isinstance(after, TerrainArc)
                whole, event = self._pass(self.run.events[k], whole, arc, after)
                events.append(event)
        return np.array(seen), tuple(events)

    def _rates(self, closed: Sequence[Closed]) -> Callable[[float, Floats], Floats]:
        return lambda t, whole: self.tangents.sight(t, whole, closed).rates

    def _pass(
        self, event: Event, whole: Floats, before: TerrainArc, after: TerrainArc
    ) -> tuple[Floats, EventGradient]:
        """Return a state and its derivatives after an event, eq. [saltation-jump]."""
        t, flow = event.t, self.tangents.sight(event.t, whole, before.closed).rates[0]
        late, crossing = self._lateness(event, whole, flow, before)
        moved = np.vstack([whole[:1], whole[1:] + late[:, None] * flow])
        there = self.tangents.seen(t, moved, late)[:, self.places]
        moved = self._strike(event, moved, late)
        moved = self.tangents.hold(t, moved, after.closed, late)
        fresh = (after.y[0] == 0.0) & (whole[0] != 0.0)
        fresh[: self.look.y.z.start] = False  # tyres that touch anew have forgotten
        moved[0], moved[1:, fresh] = after.y[0], 0.0
        later = self.tangents.sight(t, moved, after.closed, late).rates[0]
        moved[1:] -= late[:, None] * later
        return moved, EventGradient(event, late, there[0], there[1:].T, crossing)

    # --- when neighbours meet an event

    def _lateness(
        self, event: Event, whole: Floats, flow: Floats, arc: TerrainArc
    ) -> tuple[Floats, float]:
        """Return by how much later neighbours meet an event, per unit, and how fast its guard passes
        zero.
        """
        if event.kind == "input" or len(arc.t) == 1:
            return np.zeros(len(self.along)), 0.0
        both = TerrainTangents(self.look, self.along.with_flow())
        dt = np.append(np.zeros(len(self.along)), 1.0)
        moving = np.vstack([whole, flow])
        found = self._guards(
            event, both.sight(event.t, moving, arc.closed, dt), both, moving, arc, dt
        )
        if not found:
            jumps = getattr(self.look.machine.law, "breakpoints", ())
            if any(abs(event.t - stop) < 1e-9 for stop in (*self.numerics.breakpoints, *jumps)):
                return np.zeros(len(self.along)), 0.0
            raise SimulationError(f"no gradient through {event}: what made it is not known.")
        times = []
        for g in found:
            if not abs(g[-1]) > GRAZES:
                raise GrazingError(
                    f"no gradient through {event}: it is grazed, its guard passes zero at a rate of "
                    f"{g[-1]:.3g}. Neighbouring motions miss it."
                )
            times.append(-g[1:-1] / g[-1])
        for other in times[1:]:
            if np.abs(other - times[0]).max(initial=0.0) > 1e-6 * (1.0 + np.abs(times[0]).max()):
                raise GrazingError(
                    f"no gradient through {event}: several contacts strike at once, and neighbouring "
                    "motions differ in which is first."
                )
        return times[0], float(found[0][-1])

    def _guards(
        self,
        event: Event,
        sight: ModeTangents,
        both: TerrainTangents,
        moving: Floats,
        arc: TerrainArc,
        dt: Floats,
    ) -> list[Floats]:
        """Return what vanishes at an event, each (value, derivatives, rate)."""
        shut = [contact for contact, *_ in arc.closed]
        names = [self.look.key(contact) for contact in shut]
        if event.kind == "collision":
            struck = [key for key in (*event.contacts, *event.impulses) if key not in names]
            rows = [
                both.row(event.t, moving, self._contact(event, key), dt)
                for key in dict.fromkeys(struck)
            ]
            gaps = [row["gap"][:, 0] for row in rows]
            return [g for g in gaps if abs(g[0]) < NEAR and g[-1] < 0.0] or self._borders(
                sight, shut
            )
        for k, (_, held, mu) in enumerate(arc.closed):
            if names[k] not in event.contacts:
                continue
            force = sight.forces[:, k]
            if event.kind == "lift-off" and not held:  # a tyre on a spring leaves where it is free
                return [sight.rows[k]["gap"][:, 0]]
            if event.kind == "lift-off" and abs(force[0, 0]) < NEAR * self._weight:
                return [force[:, 0]]
            drag = float(np.hypot(*force[0, 1:]))
            if event.kind == "slip" and abs(mu * force[0, 0] - drag) < NEAR * self._weight:
                return [mu * force[:, 0] - _along(force[:, 1:])]
            if event.kind == "stick":
                return [_along(self._slip(sight, moving, k))]
        return self._borders(sight, shut)

    @cached_property
    def _weight(self) -> float:
        """What sizes of forces are held against, in N."""
        model = self.look.machine.system.model
        return 1.0 + 10.0 * sum(float(body.mass) for body in model.bodies)

    def _slip(self, sight: ModeTangents, moving: Floats, k: int) -> Floats:
        """Return how a closed contact slips, with derivatives."""
        n, v, row = self.look.n, moving[:, self.look.y.v], sight.rows[k]
        C = row["C"].reshape(-1, 3, n)[:, 1:]
        values = C[0] @ v[0] - row["b"][0, 1:]
        changes = C[1:] @ v[0] + v[1:] @ C[0].T - row["b"][1:, 1:]
        return np.vstack([values, changes])

    def _borders(self, sight: ModeTangents, shut: Sequence[WheelOnFeature]) -> list[Floats]:
        """Return the borders that closed contacts have come to."""
        found = []
        for contact, row in zip(shut, sight.rows, strict=True):
            for border in self.look.feature(contact).borders:
                g = row["local_point"] @ border[PLACE] + row["local_normal"] @ border[LEAN]
                g[0] -= border[OFFSET]
                if abs(g[0]) < NEAR and g[-1] > 0.0:
                    found.append(g)
        return found[:1]

    def _contact(self, event: Event, key: tuple[str, str]) -> WheelOnFeature:
        """Return the contact of a name that touches at an event."""
        y = self.look.machine.enter(event.before, np.zeros(self.look.machine.memory))
        for contact in self.look.near(event.t, y, 1e-3):
            if self.look.key(contact) == key:
                return contact
        raise SimulationError(f"no gradient through {event}: {':'.join(key)} is not there.")

    # --- what it does to them

    def _strike(self, event: Event, moved: Floats, late: Floats) -> Floats:
        """Return a state with its derivatives after the impact of an event, if there was one: the
        impact model itself is differentiated, by differences of eighth order along the exact changes of
        mass matrix, contact rows and speeds.
        """
        if not event.trials:
            return moved
        first, t = event.trials[0], event.t
        contacts = [self._contact(event, key) for key in (*first.closed, *first.separations)]
        rows = [self.tangents.row(t, moved, contact, late) for contact in contacts]
        parts, n, at = self.tangents.motion(t, moved, late), self.look.n, self.look.y
        out = moved.copy()
        for k in range(len(self.along)):

            def blow(x: float, k: int = k) -> Floats:
                def there(a: Floats) -> Floats:
                    return a[0] + x * a[1 + k]

                hits = [
                    self._candidate(c, row, there) for c, row in zip(contacts, rows, strict=True)
                ]
                M, held = there(parts["M"]).reshape(n, n), there(parts["held"]).reshape(-1, n)
                return self._impact(M, held, hits, there(moved[:, at.v]), x * self.blows[k])

            out[1 + k, at.v] = _derivative(blow, event)
            out[0, at.v] = blow(0.0)
        return out

    def _candidate(
        self, contact: WheelOnFeature, row: dict[str, Floats], there: Callable[[Floats], Floats]
    ) -> Candidate:
        wheels, feature = self.look.machine.wheels, self.look.feature(contact).name
        stop, tyre = contact.wheel >= len(wheels), self.look.tyre(contact) is not None
        mu = 0.0 if stop or tyre else self.contact.friction(wheels[contact.wheel], feature)
        rows = self.look.tyre_rows(contact) if tyre else 3 if mu > 0 else 1
        C, key = there(row["C"]).reshape(3, -1), self.look.key(contact)
        return Candidate(key, C, there(row["c"]), there(row["b"]), mu, rows)

    def _impact(
        self, M: Floats, held: Floats, hits: Sequence[Candidate], v: Floats, more: Floats
    ) -> Floats:
        """Return the speeds after an impact whose coefficients are changed by so much."""
        given = self.contact.restitution
        coefficients = {n: e + d for (n, e), d in zip(given.items(), more.tolist(), strict=True)}
        rest, way = self.contact.rest_speed, self.contact.resolution
        found = self.contact.model(ImpactProblem(M, held, hits, v, rest, way), **coefficients)
        speeds: Floats = found.chosen.result
        return speeds


def _along(parts: Floats) -> Floats:
    """Return the length of a vector, with derivatives."""
    size = np.linalg.norm(parts[0])
    return np.append(size, parts[1:] @ parts[0] / size)


def _derivative(f: Callable[[float], Floats], event: Event) -> Floats:
    """Return the derivative of an impact; where it depends on the step, other contacts would strike."""
    for h in (1e-2, 1e-4):
        coarse, fine = difference(f, h), difference(f, h / 2)
        if np.abs(coarse - fine).max() <= 1e-7 * (1.0 + np.abs(fine).max()):
            return fine
    raise GrazingError(f"no gradient through {event}: neighbouring motions strike otherwise.")
