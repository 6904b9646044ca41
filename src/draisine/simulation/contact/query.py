"""A machine on a terrain, seen at single states: gaps, contact rows, forces, what is near."""

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers
from draisine.codegen.targets.native import Packed, make_record
from draisine.errors import ConfigurationError, ParameterError, TerrainError, expect_known
from draisine.mechanics.contact.elements import contact_elements, tyre_rows
from draisine.model import Blade, Wheel
from draisine.model.force import Tyre
from draisine.simulation.contact import kernels
from draisine.simulation.contact.complementarity.active_set import Candidate, independent
from draisine.simulation.contact.complementarity.linear import REPEATS
from draisine.simulation.contact.event_driven.run_loop import EDGE_IN_PLANE, terrain_code
from draisine.simulation.contact.samples import Intervals, ObservedSamples
from draisine.simulation.contact.status import TYRE_STATUSES, Status
from draisine.simulation.contact.table import FeatureTable, Surroundings, WheelOnFeature, remember
from draisine.simulation.contact.tolerances import scale_states, units_of
from draisine.simulation.options import ContactOptions, Stops
from draisine.simulation.trajectory import Key, TerrainMode
from draisine.system.contact_programs import flats_by_kind
from draisine.system.generic import Generic
from draisine.terrain import Feature, Terrain
from draisine.terrain.feature import starts

FEW, WHOLE = 32, 64
"""Grounds of so many features are looked at whole where the nearest is asked for, and where one looks for
what may be touched.
"""

SEARCH_CELL = (
    0.8  # m; samples within a cell share a search of features, which costs like 50 samples
)

MANY = 1000
"""How many features are watched at once, if wheels can move at all then."""

AROUND = np.array([[-1.0], [1.0]])
"""The way out of a box at its low and at its high corner."""

BESIDE, AHEAD = 0.5, 4.0
"""How far beside wheels' ways one looks, and how much further ahead, in parts of the margin."""

MOMENT = 1e-3
"""After so many seconds it is known where wheels go."""

ANYWHERE = np.full(3, np.inf)
"""The corner of a box around what the machine carries along."""

Closed = tuple[WheelOnFeature, Status, float]
"""A closed contact: wheel on feature, status, friction coefficient."""


class ModeInterval(NamedTuple):
    """An interval of a run with one set of closed contacts."""

    t: Floats  # s
    y: Floats  # states, one row per time
    closed: Sequence[Closed]
    inputs: Floats


class ContactQuery:
    """A free machine on a terrain, seen at single states."""

    def __init__(
        self, machine: Generic, terrain: Terrain, inputs: Floats, stops: Stops | None = None
    ) -> None:
        self.machine, self.terrain, self.inputs = machine, terrain, inputs
        self.stops = dict(stops or {})
        self._own = self._joint_ends() | self._flats()
        self.table = FeatureTable(machine, terrain, self._own)
        self.n, self.y, self.row = machine.speeds, machine.layout, machine.row
        self.pose, self._given = self.y.span("q", "r"), machine.inputs.w
        self.x = np.zeros(machine.inputs.size + machine.givens)
        self.x[machine.inputs.ground] = machine.ground
        self._moving = np.zeros(machine.motion.inputs.size + self.n)
        self.code, self.motion = terrain_code(), Packed(kernels.dynamics(machine))
        self.tol = self.motion.record.tol
        self.units = units_of(machine)
        self.driver: Any = None  # the event-driven records of the last run, `driver.ArcDriver`
        self._saddles: dict[tuple[tuple[Closed, ...], bool], Packed] = {}
        self._rooms: dict[int, Packed] = {}
        self._keys: dict[WheelOnFeature, Key] = {}
        self._named: dict[tuple[tuple[WheelOnFeature, Status], ...], TerrainMode] = {}
        self.longest = self.table.meetings.longest
        self.level = self.table.level()
        self._swept: Surroundings | None = None
        self.dents = self._dents()
        self.lifted = np.full(
            machine.memory + 1, -np.inf
        )  # s, when the wheel of each tyre state lifted
        self._check()

    def fits(self, machine: Generic, terrain: Terrain, stops: Stops | None) -> bool:
        """Return whether this is a query of a machine on a terrain."""
        known = self.machine is machine and self.terrain is terrain
        return known and self.stops == dict(stops or {})

    def _dents(self) -> Floats:
        """Return how deep each wheel, and each joint after them, may be in what it touches: tyres on
        springs give way, by half of the wheel at most.
        """
        out = np.zeros(len(self.machine.wheels) + self.machine.joints)
        for k, wheel in enumerate(self.machine.wheels):
            if isinstance(wheel, Wheel) and getattr(wheel.tyre, "sprung", False):
                out[k] = 0.5 * self.longest[k]
        return out

    def _joint_ends(self) -> dict[WheelOnFeature, Feature]:
        """Return both ends of every joint with stops, as contacts after those of the wheels."""
        names = [joint.name for joint in self.machine.system.model.joints]
        out = {}
        for name, ends in self.stops.items():
            expect_known("stops: no joint", name, names)
            if not ends[0] < ends[1]:
                raise ParameterError(f"stops of {name!r}: {ends[0]} is not below {ends[1]}.")
            both = [(1.0, ends[0], "lower stop"), (-1.0, ends[1], "upper stop")]
            for k, (sign, end, label) in enumerate(both):
                numbers = np.array([sign, end, 0.0, 0.0, 0.0, 0.0])
                made = Feature(label, "stop", numbers, np.zeros((0, 7)), -ANYWHERE, ANYWHERE)
                out[WheelOnFeature(len(self.machine.wheels) + names.index(name), k)] = made
        return out

    def _flats(self) -> dict[WheelOnFeature, Feature]:
        """Return the flats of bodies that wheels may touch, counted down from -1: none of them is a
        feature of the terrain.
        """
        out = {}
        for w, wheel in enumerate(self.machine.wheels):
            for k, (kind, flat) in enumerate(flats_by_kind(wheel).items()):
                made = Feature(flat.body, kind, np.zeros(6), np.zeros((0, 7)), -ANYWHERE, ANYWHERE)
                out[WheelOnFeature(w, -1 - k)] = made
        return out

    def feature(self, contact: WheelOnFeature) -> Feature:
        """Return what a contact touches: a feature of the terrain, a joint's stop, or a flat of
        another body.
        """
        return self.table.feature(contact)

    def status_name(self, contact: WheelOnFeature, status: Status) -> str:
        """Return the status of a closed contact as trajectories name it."""
        if status in TYRE_STATUSES:
            return "tyre"
        if status == Status.SLIDING:
            return "sliding"
        return "gliding" if isinstance(self.machine.wheels[contact.wheel], Blade) else "rolling"

    def tyre(self, contact: WheelOnFeature) -> Tyre | None:
        """Return the tyre of a contact, if it has one."""
        wheels = self.machine.wheels
        wheel = wheels[contact.wheel] if contact.wheel < len(wheels) else None
        return wheel.tyre if isinstance(wheel, Wheel) else None

    def mode(self, closed: Sequence[Closed]) -> TerrainMode:
        """Return closed contacts by name."""
        wanted = tuple((contact, status) for contact, status, _ in closed)
        if wanted not in self._named:
            made = tuple(
                (self.key(contact), self.status_name(contact, status)) for contact, status in wanted
            )
            remember(self._named, wanted, made)
        return self._named[wanted]

    def _check(self) -> None:
        """Raise where a torus has no thickness to meet edges and vertices with."""
        for wheel, long in zip(self.machine.wheels, self.longest, strict=True):
            if isinstance(wheel, Wheel) and long and "edge" not in wheel.surface.kinds:
                raise TerrainError(
                    f"wheel {wheel.name!r}: a torus of crown 0 meets no edges; leave the crown out "
                    "for a disc, or give it a thickness."
                )

    def check_plane(self, t: float, contact: WheelOnFeature, row: Floats) -> None:
        """Raise where an edge lies almost in the plane of a disc."""
        feature = self.feature(contact)
        if feature.kind != "edge" or not self.discs[contact.wheel]:
            return
        e = feature.numbers[3:6]
        if feature.motion is not None:
            e = np.asarray(feature.motion(t)[0], float) @ e
        if abs(self.axle(row) @ e) < EDGE_IN_PLANE:
            wheel, name = self.key(contact)
            raise TerrainError(
                f"wheel {wheel!r}: the edge {name!r} lies almost in the plane of the disc; "
                "that needs a torus: give the wheel a crown."
            )

    def check_end(self, t: float, y: Floats, contact: WheelOnFeature) -> None:
        """Raise where a disc has come to the end of an edge and would go on over a vertex."""
        if self.feature(contact).kind != "edge" or not self.discs[contact.wheel]:
            return
        row = self.meet(t, y, [contact])[0]
        C, N = row[self.row.local_point], row[self.row.local_normal]
        near = self.tol.gap_search
        border = self.tol.border  # borders of vertices bound components of the normal, without unit
        for k in self.terrain.near(row[self.row.point], near, t):
            it = self.terrain[k]
            here = it.kind == "vertex" and np.abs(it.numbers[:3] - C).max() < near
            if here and it.motion == self.feature(contact).motion and it.excess(C, N) <= border:
                raise TerrainError(
                    f"wheel {self.key(contact)[0]!r}: the disc comes onto {it.name!r}; "
                    "that needs a torus: give the wheel a crown."
                )

    @cached_property
    def discs(self) -> NDArray[np.bool_]:
        """Which wheels are knife edges, which no vertex meets; joints, after them, are none."""
        found = ["vertex" not in wheel.surface.kinds for wheel in self.machine.wheels]
        return np.array(found + [False] * self.machine.joints)

    @cached_property
    def tyre_wheels(self) -> Integers:
        """The wheel of each tyre state, -1 for other states of the model's memory."""
        model = self.machine.system.model
        found = np.full(model.memory + 1, -1)
        for w, wheel in enumerate(self.machine.wheels):
            for first, element in contact_elements(model, wheel):
                found[first : first + element.states] = w
        return found

    @cached_property
    def wheel_size(self) -> float:
        """The size of the largest wheel (m), the length scale of time steps."""
        return max((x for x in self.longest if np.isfinite(x)), default=1.0) or 1.0

    @cached_property
    def time_unit(self) -> float:
        """The time sqrt(wheel size / g) (s), the time scale of time steps; infinite without gravity."""
        gravity = float(np.linalg.norm(self.machine.system.model.gravity))
        return math.sqrt(self.wheel_size / gravity) if gravity > 0.0 else math.inf

    def speeds(self, y: Floats) -> Floats:
        """Return v of y."""
        return y[..., self.y.v]

    def key(self, contact: WheelOnFeature) -> Key:
        """Return a contact by name."""
        if contact not in self._keys:
            parts = (*self.machine.wheels, *self.machine.system.model.joints)
            feature = self.table.name(contact) + ("", "+", "-")[contact.side]
            self._keys[contact] = parts[contact.wheel].name, feature
        return self._keys[contact]

    def saddle(self, closed: Sequence[Closed], closed_form: bool = False) -> Packed:
        """Return a mode for routines: what holds always, and closed contacts; on request with its closed
        form, which only `flow` reads.
        """
        wanted = (tuple(closed), closed_form)
        if wanted not in self._saddles:
            bundle = self.table.bundle([contact for contact, *_ in closed])
            made = self._saddle(bundle, closed)
            if closed_form and self.code.find_mode(made):
                self.take_mode(closed)
                made = self._saddle(bundle, closed)
                self.code.find_mode(made)
            remember(self._saddles, wanted, made)
        return self._saddles[wanted]

    def _saddle(self, bundle: Packed, closed: Sequence[Closed]) -> Packed:
        """Return a mode whose contacts are all closed."""
        count, free = len(closed), self.machine
        forms = self.table.meetings.forms
        found = kernels.saddle(free, self.motion, bundle, count, self.x, forms)
        found.plan[kernels.CLOSED], found.which[:count] = count, range(count)
        found.status[:count] = [status for _, status, _ in closed]
        found.mu[:count] = [mu if mu < np.inf else 0.0 for *_, mu in closed]
        return Packed(found)

    def take_mode(self, closed: Sequence[Closed]) -> None:
        """Let routines know the mode of closed contacts."""
        kinds = [self.table.kind(contact) for contact, *_ in closed]
        pairs = zip(closed, kinds, strict=True)
        self.table.meetings.take_mode(
            [(contact.wheel, *kind, status) for (contact, status, _), kind in pairs]
        )

    def grips(self, near: Surroundings, options: ContactOptions) -> tuple[Integers, Floats]:
        """Return, for each nearby pair of wheel and feature, its status when closed without slip and its
        friction coefficient mu (`ContactOptions.friction`). With mu > 0 it rolls, else it slides. Wheels
        with tyres have the status of their tyre, and stops slide; both have mu = 0.
        """
        wheels = self.machine.wheels
        mu = np.zeros(len(near) + 1)
        statuses = np.full(len(near) + 1, Status.SLIDING, dtype=np.int64)
        for w, wheel in enumerate(wheels):
            own = near.wheels == w
            if isinstance(wheel, Wheel) and wheel.tyre is not None:
                statuses[:-1][own] = TYRE_STATUSES[tyre_rows(wheel)]
            elif not isinstance(options.mu, Mapping):
                mu[:-1][own] = options.friction(wheel, "")
            else:
                some = np.flatnonzero(own).tolist()
                names = [self.table.name(near[k]) for k in some]
                mu[some] = [options.friction(wheel, name) for name in names]
            if not (isinstance(wheel, Wheel) and wheel.tyre is not None):
                statuses[:-1][own] = np.where(mu[:-1][own] > 0.0, Status.ROLLING, Status.SLIDING)
        return statuses, mu

    def fill(self, t: float, y: Floats) -> None:
        """Put a state in place for compiled code."""
        given = self._given
        self.x[0], self.x[1 : given.start], self.x[given] = t, y, self.inputs

    def meet(self, t: float, y: Floats, contacts: Sequence[WheelOnFeature]) -> Floats:
        """Return what contacts look like at a state, one row each."""
        self.fill(t, y)
        seen, (bundle, which) = np.empty((len(contacts), self.row.size)), self._find(contacts)
        self.code.evaluate_rows(self.motion, self.x, bundle, which, len(which), seen)
        return seen

    def _find(self, contacts: Sequence[WheelOnFeature]) -> tuple[Packed, Integers]:
        """Return what was swept last if it has all of some contacts, else these alone, for routines,
        and where in it each of them stands.
        """
        near = self._swept
        if near is not None and all(contact in near.index for contact in contacts):
            return near.packed, np.array([near.index[c] for c in contacts], dtype=np.int64)
        return self.table.bundle(contacts), np.arange(len(contacts))

    def dynamics(self, t: float, y: Floats) -> dict[str, Floats]:
        """Return M, F and the rest of the free machine's motion."""
        self.fill(t, y)
        motion = self.machine.motion
        return motion.outputs.split(motion.flat(self.x[: motion.inputs.size]))

    def held(self, parts: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Return independent rows `J vdot = c` of what holds whatever touches: prescribed and guided
        joints, couplings.
        """
        return independent(parts["held"].reshape(-1, self.n), parts["held_c"])

    def flow(self, t: float, y: Floats) -> Floats:
        """Return the rates of the configuration."""
        self.fill(t, y)
        motion = self.machine.motion
        return motion.flat(self.x[: motion.inputs.size])[motion.outputs.flow]

    def energy(self, t: float, y: Floats) -> float:
        """Return the mechanical energy."""
        self.fill(t, y)
        observe = self.machine.observe
        self._moving[: -self.n] = self.x[: self.machine.motion.inputs.size]
        seen = observe.flat(self._moving)
        return float(seen[observe.outputs.kinetic.start] + seen[observe.outputs.potential.start])

    def holding(self, parts: Mapping[str, Floats], force: Floats) -> Floats:
        """Return the least multipliers, of prescribed and guided joints and of couplings, whose
        generalised force this is; further axes (time) last.
        """
        J = np.moveaxis(parts["held"].reshape(-1, self.n, *force.shape[1:]), [0, 1], [-2, -1])
        return np.einsum("...nh,n...->h...", np.linalg.pinv(J, rcond=REPEATS), force)

    def accelerate(
        self, t: float, y: Floats, closed: Sequence[Closed]
    ) -> tuple[Floats, Floats, Floats]:
        """Return vdot of a mode, the forces of its contacts, and what they look like."""
        self.fill(t, y)
        k = len(closed)
        ydot, lam, seen = np.empty(len(y)), np.zeros((k, 3)), np.empty((k, self.row.size))
        if self.code.rate(self.saddle(closed), ydot, lam, seen):
            raise ConfigurationError("the contacts contradict each other in this configuration.")
        return ydot[self.y.v], lam, seen

    def settle(self, t: float, y: Floats, closed: Sequence[Closed]) -> Floats:
        """Return y projected onto closed gaps and zero velocities relative to the ground."""
        self.fill(t, y)
        self.code.project_state(self.saddle(closed))
        return self.x[self.machine.inputs.span("q", "z")].copy()

    def centres(self, t: float, y: Floats) -> Floats:
        """Return the wheels' centres."""
        self.fill(t, y)
        seen = np.empty((len(self.machine.wheels), self.row.size))
        self.code.evaluate_gaps(self.motion, self.x, self.level, seen)
        return seen[:, self.row.centre]

    def near(self, t: float, y: Floats, margin: float) -> tuple[WheelOnFeature, ...]:
        """Return all contacts that may come about while wheels move by no more than a margin along
        each axis, and all stops and flats; perhaps others that are not far.
        """
        return self.sweep(t, self.boxes(t, y), margin).contacts

    def ways(self, t: float, y: Floats) -> tuple[Floats, Floats]:
        """Return the boxes in which wheels' centres are for a moment, and where they begin."""
        begin, later = self.centres(t, y), y.copy()
        later[self.pose] += MOMENT * self.flow(t, y)
        end = self.centres(t, later)
        return np.stack([np.minimum(begin, end), np.maximum(begin, end)], axis=1).ravel(), begin

    def boxes(self, t: float, y: Floats) -> Floats:
        """Return low and high corner of the box around each wheel's centre, one after the other."""
        return np.repeat(self.centres(t, y), 2, axis=0).ravel()

    def sweep(
        self, t: float, boxes: Floats, margin: float, begin: Floats | None = None
    ) -> Surroundings:
        """Return all contacts that may come about while wheels' centres are in boxes and around: by a
        margin along each axis or, where more than MANY features are within it, by a half, a quarter
        ... of it, so that what there is to watch does not grow with the ground. On ground that stands
        still, what was found before serves while it holds the boxes, and where these hold ways that
        `begin` somewhere, one looks further ahead of them than beside them. Small grounds are looked
        at whole, once and for all.
        """
        known, least, still = self._swept, margin / 256.0, not self.terrain.motions or self.whole
        if known is not None and still and known.holds(boxes):
            return known
        if self.whole:
            every = (range(len(self.terrain)),) * len(self.machine.wheels)
            self._swept = self.table.surroundings(
                np.tile(ANYWHERE * AROUND, (len(every), 1)).ravel(), every
            )
            return self._swept
        ways = _ways(boxes.reshape(-1, 2, 3), begin if still else None)
        wide = boxes + margin * ways
        features = self._features_near(t, wide)
        while margin > least and sum(map(len, features)) > MANY:
            margin /= 2.0
            wide = boxes + margin * ways
            features = self._features_near(t, wide)
        self._swept = self.table.surroundings(wide, features)
        return self._swept

    @property
    def state_units(self) -> Floats:
        """The unit of each number of y for tolerances: those of the machine."""
        return scale_states(self.machine.system.model, self.units, self.machine.memory)

    @property
    def whole(self) -> bool:
        """Whether the ground is so small that all of it is watched."""
        return len(self.terrain) <= WHOLE

    def ground_speed(self, t: float, boxes: Floats) -> float:
        """Return how fast moving grounds pass places at a time, if that makes a difference."""
        fastest, soon, places = 0.0, 1e-6, boxes.reshape(-1, 3)
        for motion in () if self.whole else self.terrain.motions:
            (R, p), (S, o) = motion(t), motion(t + soon)
            moved = (places - o) @ np.asarray(S, float) - (places - p) @ np.asarray(R, float)
            fastest = max(fastest, float(np.abs(moved).max(initial=0.0)) / soon)
        return fastest

    def _features_near(self, t: float, boxes: Floats) -> tuple[tuple[int, ...], ...]:
        """Return the features near each wheel at a time, whose centres are in boxes."""
        corners = boxes.reshape(-1, 2, 3)
        middles, halves = corners.mean(axis=1), 0.5 * np.ptp(corners, axis=1)
        return tuple(
            tuple(self.terrain.near(middle, longest + self.tol.gap_search, t, half))
            for middle, half, longest in zip(middles, halves, self.longest, strict=True)
        )

    def gap(self, row: Floats) -> float:
        """Return the gap in what a contact looks like."""
        return float(row[self.row.gap.start])

    def excess(self, contact: WheelOnFeature, row: Floats) -> float:
        """Return by how much a contact is beyond the borders of its feature, in what it looks like."""
        bundle, which = self._find([contact])
        return float(self.code.border_excess(self.motion, bundle, int(which[0]), row))

    def jacobian(self, row: Floats) -> Floats:
        """Return the rows C (normal, along, across) over the speeds."""
        return row[..., self.row.C].reshape(*row.shape[:-1], 3, self.n)

    @property
    def tyred(self) -> list[int]:
        """The wheels that have tyres."""
        wheels = enumerate(self.machine.wheels)
        return [k for k, wheel in wheels if isinstance(wheel, Wheel) and wheel.tyre is not None]

    def carried(self, row: Floats) -> Floats:
        """Return the ground's own velocity (normal, along, across) in what a contact looks like."""
        return row[..., self.row.b]

    def axle(self, row: Floats) -> Floats:
        """Return the wheel's axle in what a contact looks like."""
        return row[self.row.axle]

    def axes(self, row: Floats) -> Floats:
        """Return the contact's directions (normal, along, across) as rows, in world axes."""
        N, along = row[..., self.row.normal], row[..., self.row.along]
        return np.stack([N, along, np.cross(N, along)], axis=-2)

    def in_ground(
        self, t: float, y: Floats, near: Surroundings
    ) -> list[tuple[WheelOnFeature, Floats]]:
        """Return the contacts that penetrate the ground, on their features and from above, and what they
        look like.
        """
        self.fill(t, y)
        row, inside = np.empty(self.row.size), np.empty(len(near) + 1, np.int64)
        count = self.code.find_inside(self.motion, self.x, near.packed, row, inside)
        found = [near[k] for k in inside[:count].tolist()]
        return list(zip(found, self.meet(t, y, found), strict=True))

    def candidate(
        self, contact: WheelOnFeature, row: Floats, mu: float, status: Status
    ) -> Candidate:
        """Return a contact for the choice of contact sets."""
        found = Candidate(
            self.key(contact), self.jacobian(row), row[self.row.c], self.carried(row), mu, status
        )
        acted = self.motion.record.acted
        return replace(found, lift=row[self.row.lift]) if acted else found

    def look_each(self, times: Floats, ys: Floats, contacts: Packed) -> Floats:
        """Return what contacts look like at many states, the first parts of rows; the axes are state,
        contact, entry.
        """
        seen = np.empty((len(ys), contacts.record.size, self.row.size))
        self.fill(times[0], ys[0])
        states = np.ascontiguousarray(ys)
        self.code.evaluate_gaps_each(self.motion, self.x, times, states, len(ys), contacts, seen)
        return seen

    def observe_modes(
        self, intervals: Sequence[ModeInterval], forces_only: bool = False
    ) -> ObservedSamples:
        """Return forces, gaps and points of the closed contacts at all states of some intervals; on request
        forces, violations and constraint rows alone, which cost less.
        """
        m = self.motion.record
        closed = [contact for one in intervals for contact in one.closed]
        contacts = list(dict.fromkeys(contact for contact, *_ in closed))
        index = {contact: k for k, contact in enumerate(contacts)}
        states = np.concatenate([one.y for one in intervals])
        packed = Intervals(
            size=len(intervals),
            first_state=starts(np.array([len(one.t) for one in intervals])),
            first_contact=starts(np.array([len(one.closed) for one in intervals])),
            which=np.array([*(index[contact] for contact, *_ in closed), 0]),
            status=np.array([*(status for _, status, _ in closed), 0]),
            mu=np.array([*(mu if mu < np.inf else 0.0 for *_, mu in closed), 0.0]),
            inputs=np.concatenate([one.inputs for one in intervals] + [np.zeros(1)]),
            n_inputs=len(self.inputs),
            x_inputs=self._given.start,
            times=np.concatenate([one.t for one in intervals]),
            states=states.ravel(),
        )
        most = max(len(one.closed) for one in intervals)
        room = self._observing_room(most, self.table.bundle(contacts))
        samples = self._empty_samples(len(states), len(closed), m.told)
        observe = self.code.observe_forces if forces_only else self.code.observe_modes
        observe(room, Packed(packed), Packed(samples))
        return samples

    def _observing_room(self, most: int, bundle: Packed) -> Packed:
        """Return a mode of up to so many closed contacts of a bundle; it is made once."""
        forms = self.table.meetings.forms
        if most not in self._rooms:
            mode = kernels.saddle(self.machine, self.motion, bundle, most, self.x, forms)
            self._rooms[most] = Packed(mode)
        room = self._rooms[most]
        room.replace(contacts=bundle)
        if room.record.modes is not forms.signatures:  # other modes were compiled meanwhile
            out = np.zeros(forms.size)
            room.replace(modes=forms.signatures, tables=forms.tables, mode_out=out)
        return room

    def _empty_samples(self, count: int, contacts: int, outputs: int) -> ObservedSamples:
        """Return room for what is observed at so many states."""
        wheels = len(self.machine.wheels)
        owners = wheels + self.machine.joints
        found: ObservedSamples = make_record(
            ObservedSamples,
            wheels=wheels,
            owners=owners,
            along=self.row.along.start,
            ydot=count * self.y.size,
            out=count * outputs,
            generalised=count * self.n,
            **dict.fromkeys(("forces", "world"), 3 * count * owners),
            tyres=2 * count * owners,
            stops=count * owners,
            gaps=np.full(count * wheels, np.inf),
            points=np.full(3 * count * wheels, np.nan),
            violation=count,
            jacobians=3 * contacts * self.n + 1,
        )
        return found

    def find_nearest(
        self, times: Floats, ys: Floats, gaps: Floats, points: Floats, sinks: bool = False
    ) -> None:
        """Write gap and point of the nearest valid contact of each wheel whose gap is infinite so far.

        Parameters
        ----------
        times, ys
            Times (s) and states, one row per time.
        gaps, points
            Arrays (states, wheels) in m and (states, wheels, 3) in m, which are changed in place.
        sinks
            Whether features that a wheel penetrates count, too: in time steps.
        """
        if len(self.terrain) <= FEW:
            every = (tuple(range(len(self.terrain))),) * len(self.machine.wheels)
            left = np.flatnonzero(np.isinf(gaps).any(axis=1))
            if len(left):
                near = self.table.surroundings(ANYWHERE, every)
                self._find_nearest(times, ys, left, near, np.inf, sinks, gaps, points)
            return
        for margin in (0.05, 1.0):
            left = np.flatnonzero(np.isinf(gaps).any(axis=1))
            if not len(left):
                return
            centres = self.look_each(times[left], ys[left], self.level)[..., self.row.centre]
            for some in self._neighbours(centres):
                boxes = np.stack([centres[some].min(axis=0), centres[some].max(axis=0)], axis=1)
                t = float(times[left[some[0]]])
                features = self._features_near(t, boxes + margin * AROUND)
                near = self.table.surroundings(ANYWHERE, features)
                self._find_nearest(times, ys, left[some], near, margin, sinks, gaps, points)

    def _neighbours(self, centres: Floats) -> list[Integers]:
        """Return groups of states whose wheels have the same surroundings, by the wheels' centres; on
        moving ground each state by itself.
        """
        if self.terrain.motions:
            return list(np.arange(len(centres))[:, None])
        cells = np.floor(centres.mean(axis=1) / SEARCH_CELL)
        _, cell = np.unique(cells, axis=0, return_inverse=True)
        order = np.argsort(cell.ravel(), kind="stable")
        return np.split(order, np.cumsum(np.bincount(cell.ravel()))[:-1])

    def _find_nearest(
        self,
        times: Floats,
        ys: Floats,
        some: Integers,
        near: Surroundings,
        limit: float,
        sinks: bool,
        gaps: Floats,
        points: Floats,
    ) -> None:
        """Write gaps and points of some of the states, by the contacts that are near."""
        self.fill(times[some[0]], ys[some[0]])
        row = np.empty(self.row.size + 3)
        own_gaps, own_points = gaps[some], points[some]
        states = (np.ascontiguousarray(times[some]), np.ascontiguousarray(ys[some]), len(some))
        rest = (self.level, near.packed, limit, sinks, row, own_gaps, own_points)
        self.code.find_nearest(self.motion, self.x, *states, *rest)
        gaps[some], points[some] = own_gaps, own_points


def _ways(boxes: Floats, begin: Floats | None) -> Floats:
    """Return how far around boxes (wheel, low and high corner, axis) one looks, in parts of a margin:
    as far on all sides, or less beside and behind ways that begin somewhere and more ahead of them.
    """
    ways = np.broadcast_to(AROUND, boxes.shape)
    if begin is not None:
        long = np.maximum(np.ptp(boxes, axis=1).max(axis=1), 1e-12)
        ways = BESIDE * ways + AHEAD * (boxes - begin[:, None]) / long[:, None, None]
    return ways.ravel()


class _Last(threading.local):
    """The query that a thread used last and nobody owns."""

    query: ContactQuery | None = None


_last = _Last()


def take_query(
    machine: Generic, terrain: Terrain, inputs: Floats, stops: Stops | None = None
) -> ContactQuery:
    """Return a query for one owner: that of the last run if it fits, or a new one. It costs as much as
    some milliseconds of simulated time. Search results of the last run are discarded, because the
    contacts that a run watches must not depend on earlier runs.
    """
    found, _last.query = _last.query, None
    if found is None or not found.fits(machine, terrain, stops):
        return ContactQuery(machine, terrain, inputs, stops)
    found.inputs = inputs
    found.lifted[:] = -np.inf
    if not found.whole:
        found._swept = None
    return found


def return_query(query: ContactQuery) -> None:
    """Let later runs and observations use a query that its owner no longer needs."""
    _last.query = query


def revisit(
    machine: Generic, terrain: Terrain, inputs: Floats, stops: Stops | None = None
) -> ContactQuery:
    """Return a query for use at once: arcs of one run, which are observed one after the other, share it."""
    found = take_query(machine, terrain, inputs, stops)
    return_query(found)
    return found
