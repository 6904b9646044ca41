"""Derivatives of a run on a terrain: along its smooth arcs and through its events, by saltation matrices.

An event is a zero of a guard function g, which the run records. If a neighbouring motion deviates by dy and
its guard by dg, it reaches the event later by `dt = -dg / g'`. Three steps map the derivative of the state
through the event, eq. [saltation-jump]: shift it to the event time of the neighbour, apply the jump of the
event, shift it back to the common time. Arcs from the time-stepping scheme are differentiated in `stepped`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import difference
from draisine.analysis.gradient.mode import (
    ModeTangents,
    RowTangents,
    TerrainTangents,
    slip_velocity,
    vector_length,
)
from draisine.analysis.gradient.stepped import StatusChange, SteppedTangents
from draisine.analysis.gradient.tangents import Directions, integrate_with_derivatives
from draisine.errors import GrazingError, SimulationError
from draisine.simulation.contact.arc import UnilateralArc
from draisine.simulation.contact.complementarity.active_set import Candidate, ImpactProblem
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.options import ContactOptions, Numerics
from draisine.simulation.trajectory import Event, Guard, GuardKind, Key, Trajectory
from draisine.terrain.feature import BORDER_NORMAL, BORDER_OFFSET, BORDER_POINT

# Smallest rate at which an event function (guard) crosses zero, as a fraction of its natural rate
# (`_natural_rate`). Below this rate the event is grazing: neighbouring motions may miss it.
GRAZING_RATE = 3e-5
SAME_GAP = 1e-6  # m, largest gap of a contact that closes at the same event
SAME_DELAY = 1e-6  # largest relative difference of event-time derivatives of simultaneous closures
# Distance (m) around the wheels within which the contact that triggered an event is searched.
EVENT_SEARCH_MARGIN = 1e-3

# Relative steps of the finite differences of an impact model, the large one first. The small step
# helps if neighbouring states at the large step involve other contacts.
IMPACT_STEPS = (1e-2, 1e-4)

# Largest relative change of an impact's derivative when the step of the difference is halved. Above
# it, the derivative is considered not to exist.
IMPACT_AGREEMENT = 1e-7


@dataclass(frozen=True, eq=False)
class EventGradient:
    """Event of a run, with derivatives of its time and of the outputs by the unknowns."""

    event: Event
    time: Floats  # derivatives of the event time, s per unit of each unknown, (unknowns,)
    values: Floats  # outputs just before the event, (outputs,)
    # Derivatives of the outputs by the unknowns, each at its own event time instead of a fixed
    # time, (outputs, unknowns)
    derivatives: Floats
    # Rate at which the event function crosses zero, in its own unit per second; 0 for events at
    # fixed times
    crossing: float


@dataclass(frozen=True, eq=False)
class TerrainMotion:
    """Recorded run on a terrain that is integrated again with derivatives along k directions."""

    run: Trajectory
    contact: ContactOptions
    along: Directions
    coefficients: Floats  # derivatives of the impact model's coefficients, (k, coefficients)
    numerics: Numerics
    outputs: list[int]  # indices of the outputs among `observation_names`
    # Changes of contact status in time-stepped arcs; the method `observe` fills this list
    changes: list[StatusChange] = field(default_factory=list)

    @cached_property
    def query(self) -> ContactQuery:
        """Contact query of the vehicle and the terrain, for the first arc of the run."""
        arc: Any = self.run.arcs[0]
        return ContactQuery(arc.machine, arc.terrain, arc.inputs, self.contact.stops)

    @cached_property
    def tangents(self) -> TerrainTangents:
        """Equations of motion on the terrain with derivatives."""
        return TerrainTangents(self.query, self.along)

    def observe(self, jets: Floats, times: Floats) -> tuple[Floats, tuple[EventGradient, ...]]:
        """Integrate state and derivatives; return outputs (times, 1 + k, outputs) and events.

        At the time of an event, the outputs are those after the event.

        Parameters
        ----------
        jets
            Initial state with derivatives, (1 + k, entries).
        times
            Increasing times (s).
        """
        observed = []
        events = []
        arcs = self.run.arcs
        delay = np.zeros(len(self.along))
        for k, arc in enumerate(arcs):
            start = float(arc.t[0])
            end = float(arc.t[-1])
            is_last = k == len(arcs) - 1
            arc_times = times[(times >= start) & ((times < end) | is_last)]
            samples, jets = self._integrate_arc(arc, jets, arc_times, delay)
            observed += [
                self.tangents.observe(t, x)[:, self.outputs]
                for t, x in zip(arc_times, samples, strict=True)
            ]
            if not is_last:
                # Simultaneous events have the same derivative of their time. So have both ends of
                # an arc of the time-stepping scheme.
                is_same = end == start or arc.stores_forces
                common_delay = delay if is_same else None
                jets, event = self._pass_event(
                    self.run.events[k], jets, arc, arcs[k + 1], common_delay
                )
                delay = event.time
                events.append(event)
        return np.array(observed), tuple(events)

    def _integrate_arc(
        self, arc: Any, state_with_derivatives: Floats, times: Floats, time_derivatives: Floats
    ) -> tuple[Floats, Floats]:
        """Return the states of a trajectory arc at given times and at its end, with derivatives.

        `time_derivatives` (k,) are the derivatives of its initial time. At the end of an arc from the
        time-stepping scheme, derivatives follow the shifted end time instead of a fixed time.
        """
        if arc.stores_forces:
            steps = SteppedTangents(self.tangents.at_event(time_derivatives), self.contact, arc)
            states = steps.integrate(state_with_derivatives, times)
            self.changes.extend(steps.changes)
            return states
        for t, key in arc.grazes:
            raise GrazingError(
                f"No gradient: at {t:.9g} s the motion grazes {':'.join(key)}; neighbouring motions touch "
                "it. Change the start or a parameter slightly."
            )
        state_with_derivatives[0] = arc.y[0]

        def evaluate_rates(time: float, state_with_derivatives: Floats) -> Floats:
            """Return the rates of the state and of its derivatives at a time (s)."""
            return self.tangents.accelerate(time, state_with_derivatives, arc.closed).rates

        grid = np.unique(np.append(times, arc.t[-1]))
        samples = integrate_with_derivatives(
            evaluate_rates, state_with_derivatives, float(arc.t[0]), grid, self.numerics
        )
        return samples[: len(times)], samples[-1]

    def _pass_event(
        self,
        event: Event,
        state_with_derivatives: Floats,
        arc_before: Any,
        arc_after: Any,
        time_derivatives: Floats | None,
    ) -> tuple[Floats, EventGradient]:
        """Return the state after an event with derivatives, eq. [saltation-jump].

        `time_derivatives` are the derivatives of the event time; if None, they are computed from the guard.
        """
        t = event.t

        # Move the derivatives from the common time to the event times of the neighbouring motions.
        moved = state_with_derivatives
        crossing = 0.0
        if not arc_before.stores_forces:
            flow = self.tangents.accelerate(t, state_with_derivatives, arc_before.closed).rates[0]
            if time_derivatives is None:
                time_derivatives, crossing = self._event_time_derivatives(
                    event, state_with_derivatives, flow, arc_before
                )
            moved = np.vstack(
                [
                    state_with_derivatives[:1],
                    state_with_derivatives[1:] + time_derivatives[:, None] * flow,
                ]
            )
        assert time_derivatives is not None
        tangents = self.tangents.at_event(time_derivatives)
        output = tangents.observe(t, moved)[:, self.outputs]
        gradient = EventGradient(event, time_derivatives, output[0], output[1:].T, crossing)
        if arc_after.stores_forces:
            return moved, gradient

        # Apply the change of the state at the event.
        if arc_before.stores_forces:
            # The time-stepping scheme leaves small gaps. Close them before an event-driven arc
            # begins.
            moved = tangents.project_configuration(t, moved, arc_after.closed)
        else:
            moved = self._apply_impact(event, moved, tangents)
        moved = tangents.project_speeds(t, moved, arc_after.closed)
        # The tyres of wheels that touch down start without deflection: set their derivatives to
        # zero, too.
        reset = (arc_after.y[0] == 0.0) & (state_with_derivatives[0] != 0.0)
        reset[: self.query.y.z.start] = False
        moved[1:, reset] = 0.0
        moved[0] = arc_after.y[0]

        # Move the derivatives from the event times back to the common time, along the rates after
        # the event.
        flow = tangents.accelerate(t, moved, arc_after.closed).rates[0]
        moved[1:] -= time_derivatives[:, None] * flow
        return moved, gradient

    def _event_time_derivatives(
        self, event: Event, state_with_derivatives: Floats, rates: Floats, arc: UnilateralArc
    ) -> tuple[Floats, float]:
        """Return the derivatives (k,) of an event time, and the rate at which the guard crosses zero.

        `rates` is the time derivative of the state before the event.
        """
        if event.guard is None:
            return np.zeros(len(self.along)), 0.0

        # Add the motion itself as a direction of differentiation, which gives the time derivative
        # of the event function.
        timed = replace(self.tangents, along=self.along.with_time())
        moving = np.vstack([state_with_derivatives, rates])
        closed = [self.query.key(contact) for contact, *_ in arc.closed]
        if event.guard.contact in closed:
            mode = timed.accelerate(event.t, moving, arc.closed)
            k = closed.index(event.guard.contact)
            guards = [self._evaluate_guard(event.guard, mode, moving, arc, k)]
        else:
            # Several contacts may close at the same time. Their gaps are event functions, besides
            # that of the contact that triggered the event.
            keys = dict.fromkeys([event.guard.contact, *event.impulses])
            closing = [self._find_contact(event, key)[0] for key in keys if key not in closed]
            gaps = [timed.row(event.t, moving, contact)["gap"][:, 0] for contact in closing]
            guards = [gaps[0], *(g for g in gaps[1:] if abs(g[0]) < SAME_GAP and g[-1] < 0.0)]

        delays = []
        for guard in guards:
            if not abs(guard[-1]) > GRAZING_RATE * self._natural_rate(event.guard.kind):
                raise GrazingError(
                    f"No gradient through {event}: the contact is grazing; its guard crosses zero at "
                    f"a rate of {guard[-1]:.3g}. Neighbouring motions miss it."
                )
            delays.append(-guard[1:-1] / guard[-1])
        tolerance = SAME_DELAY * (1.0 + np.abs(delays[0]).max(initial=0.0))
        for delay in delays[1:]:
            if np.abs(delay - delays[0]).max(initial=0.0) > tolerance:
                raise GrazingError(
                    f"No gradient through {event}: several contacts close at once, and their order "
                    "differs between neighbouring motions."
                )
        return delays[0], float(guards[0][-1])

    def _natural_rate(self, kind: GuardKind) -> float:
        """Return the typical rate of a guard, its unit per s, in a motion under gravity of a wheel's size."""
        gravity = float(np.linalg.norm(self.query.machine.system.model.gravity)) or 1.0
        size = self.query.wheel_size
        match kind:
            case GuardKind.NORMAL_FORCE | GuardKind.FRICTION_CONE:
                # Rate of a contact force, N/s
                return float(self.query.motion.record.share) * np.sqrt(gravity / size)
            case GuardKind.SLIP:
                return gravity  # rate of a slip velocity, m/s^2
            case _:
                return float(np.sqrt(gravity * size))  # rate of a gap, m/s

    def _evaluate_guard(
        self,
        guard: Guard,
        mode: ModeTangents,
        state_with_derivatives: Floats,
        arc: UnilateralArc,
        contact_index: int,
    ) -> Floats:
        """Return the event function (guard) of a closed contact with derivatives; the last
        derivative is by time.
        """
        contact, _, mu = arc.closed[contact_index]
        row = mode.rows[contact_index]
        force = mode.forces[:, contact_index]
        match guard.kind:
            case GuardKind.NORMAL_FORCE:
                return force[:, 0]
            case GuardKind.DEFLECTION:
                return -row["gap"][:, 0]
            case GuardKind.FRICTION_CONE:
                return mu * force[:, 0] - vector_length(force[:, 1:])
            case GuardKind.SLIP:
                return vector_length(slip_velocity(row, state_with_derivatives[:, self.query.y.v]))
            case GuardKind.BORDER:
                border = self.query.feature(contact).borders[guard.border]
                beyond = (
                    row["local_point"] @ border[BORDER_POINT]
                    + row["local_normal"] @ border[BORDER_NORMAL]
                )
                beyond[0] -= border[BORDER_OFFSET]
                return beyond
            case _:
                # The only other event function of a closed contact is the edge fold: a fall ends
                # the run, and gaps belong to open contacts.
                assert guard.kind is GuardKind.FOLD
                return _edge_fold_distance(row)

    def _find_contact(self, event: Event, key: Key) -> Closed:
        """Return the contact with a given key at an event, with its status and friction coefficient."""
        query = self.query
        y = query.machine.enter(event.before, np.zeros(query.machine.memory))
        near = query.find_surroundings(event.t, y, EVENT_SEARCH_MARGIN)
        for contact in near.contacts:
            if query.key(contact) == key:
                return contact, *query.contact_law(contact, self.contact)
        raise SimulationError(
            f"No gradient through {event}: no contact {':'.join(key)} within {EVENT_SEARCH_MARGIN:g} m."
        )

    # --- impacts

    def _apply_impact(
        self, event: Event, state_with_derivatives: Floats, tangents: TerrainTangents
    ) -> Floats:
        """Return the state after an event's impact with derivatives; unchanged if there is no impact.

        `tangents` are the equations of motion at the event, whose time has derivatives.

        Impact models have branches and may be written by users, so they are differentiated by
        central differences of eighth order. The direction of each difference consists of the exact
        derivatives of mass matrix, constraint rows and speeds.
        """
        if not event.trials:
            return state_with_derivatives
        trial = event.trials[0]
        options = self.contact
        n = self.query.n
        at_v = self.query.y.v
        contacts = [
            (key, *self._find_contact(event, key)) for key in (*trial.closed, *trial.separations)
        ]
        rows = [
            tangents.row(event.t, state_with_derivatives, contact) for _, contact, _, _ in contacts
        ]
        motion = tangents.motion(event.t, state_with_derivatives)
        out = state_with_derivatives.copy()
        for k in range(len(self.along)):

            def speeds_after_impact(displacement: float, direction: int = k) -> Floats:
                """Return the speeds after the impact for a state displaced along a direction of
                differentiation.
                """

                def displace(value_with_derivatives: Floats) -> Floats:
                    """Return a quantity displaced along the direction, to first order."""
                    return (
                        value_with_derivatives[0]
                        + displacement * value_with_derivatives[1 + direction]
                    )

                candidates = []
                for (key, _, status, mu), row in zip(contacts, rows, strict=True):
                    C, c, b = (displace(row[name]) for name in ("C", "c", "b"))
                    candidates.append(Candidate(key, C.reshape(3, n), c, b, mu, status))
                M = displace(motion["M"]).reshape(n, n)
                J = displace(motion["held"]).reshape(-1, n)
                v = displace(state_with_derivatives[:, at_v])
                problem = ImpactProblem(M, J, candidates, v, options.rest_speed, options.resolution)
                pairs = zip(options.restitution.items(), self.coefficients[direction], strict=True)
                result = options.model(
                    problem, **{name: e + displacement * d for (name, e), d in pairs}
                )
                after: Floats = result.chosen.result
                return after

            out[1 + k, at_v] = _differentiate_impact(speeds_after_impact, event)
            out[0, at_v] = speeds_after_impact(0.0)
        return out


def _edge_fold_distance(row: RowTangents) -> Floats:
    """Return how far a torus is from the fold at which its two contacts with an edge merge, eq. [edge-fold].

    The result has derivatives, (1 + k,); its sign is arbitrary.
    """
    fold = row["fold"]
    a, b, c = fold[0]
    first = np.cbrt(a * a)
    second = np.cbrt(b * b)
    root = np.sqrt(first + second)
    slopes = np.array([root * first / a if a else 0.0, root * second / b if b else 0.0, -1.0])
    return np.append(root**3 - c, fold[1:] @ slopes)


def _differentiate_impact(speeds_after: Callable[[float], Floats], event: Event) -> Floats:
    """Return df/dx at x = 0 for the speeds f(x) after an impact, by finite differences.

    Raise an error if the derivative depends on the step of the difference.
    """
    for h in IMPACT_STEPS:
        coarse = difference(speeds_after, h)
        fine = difference(speeds_after, h / 2)
        if np.abs(coarse - fine).max() <= IMPACT_AGREEMENT * (1.0 + np.abs(fine).max()):
            return fine
    raise GrazingError(
        f"No gradient through {event}: the impact acts at other contacts in neighbouring motions."
    )
