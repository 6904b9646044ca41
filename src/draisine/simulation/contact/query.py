"""Gaps, contact rows, forces and nearby ground features of a system on a terrain at single states.

`ContactQuery` wraps the routines of `kernels` and `samples` for Python. It lists the contacts near the wheels
(`find_surroundings`), assigns status and friction to a contact (`contact_law`), evaluates contact rows,
forces and projections of a contact mode, and evaluates all samples of a run at once (`observe_modes`,
`find_nearest`).
"""

import math
import threading
from collections.abc import Mapping, Sequence
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
from draisine.simulation.contact.complementarity.active_set import (
    Candidate,
    select_independent_rows,
)
from draisine.simulation.contact.complementarity.linear import REDUNDANT_ROW_DISTANCE
from draisine.simulation.contact.event_driven.entries import terrain_code
from draisine.simulation.contact.event_driven.run_loop import EDGE_IN_PLANE
from draisine.simulation.contact.kernels import ContactColumns, ContactMode
from draisine.simulation.contact.nearby.contacts import Nearby
from draisine.simulation.contact.nearby.ground import MAX_UNSEARCHED_WATCHED
from draisine.simulation.contact.nearby.search import find_closed_status
from draisine.simulation.contact.samples import Intervals, ObservedSamples
from draisine.simulation.contact.status import TYRE_STATUSES, Status
from draisine.simulation.contact.table import (
    FeatureTable,
    WheelOnFeature,
    cache_latest,
)
from draisine.simulation.contact.tolerances import (
    MachineUnits,
    Tolerances,
    cached_machine_units,
    scale_states,
)
from draisine.simulation.options import CONTACT, ContactOptions, Stops
from draisine.simulation.trajectory import Key, TerrainMode
from draisine.system.contact_programs import flats_by_kind, free_gap
from draisine.system.generic import Generic
from draisine.terrain import Feature, Terrain
from draisine.terrain.division import divide_ground
from draisine.terrain.feature import block_starts

MAX_UNSEARCHED_NEAREST = 32
"""Number of terrain features up to which all of them are candidates for the nearest ground feature, without a
search.
"""

SEARCH_CELL = 0.8
"""Edge length (m) of a search cell: samples within a cell share one search of ground features.
"""

NEAREST_MARGINS = (0.05, 1.0)
"""Search distances (m) for the nearest ground feature; the second one is used if the first finds none."""

GROUND_SPEED_TIME = 1e-6
"""Time increment (s) of the difference quotient that gives the velocity of moving ground."""

UNBOUNDED_CORNER = np.full(3, np.inf)
"""Upper corner of the bounding box of features that move with the system."""

Closed = tuple[WheelOnFeature, Status, float]
"""A closed contact: wheel and feature, status, friction coefficient."""


class ModeInterval(NamedTuple):
    """An interval of a run on which the closed contacts are constant."""

    t: Floats  # (times) s, times of the states
    y: Floats  # (times, n) states (q, p, r, v, z)
    closed: Sequence[Closed]  # closed contacts with status and friction coefficient
    inputs: Floats  # inputs of the system, constant on the interval


def _all_stops(machine: Generic, stops: Stops | None) -> dict[str, tuple[float, float]]:
    """Return the stops of the model's joints (rad or m), by name, with those that replace them.

    Joints with a prescribed motion have no stops, because the motion determines their position.
    """
    of_model = {
        joint.name: joint.stops
        for joint in machine.system.model.joints
        if joint.stops is not None and joint.motion is None
    }
    return of_model | dict(stops or {})


def divide_for_wheels(machine: Generic, terrain: Terrain) -> Terrain:
    """Return a terrain whose smooth patches have at most one contact each with any wheel of a system."""
    radii = [float(wheel.surface.flattest) + float(free_gap(wheel)) for wheel in machine.wheels]
    return divide_ground(terrain, max(radii, default=0.0))


class ContactQuery:
    """Evaluates gaps, contact rows and forces of a system on a terrain at single states.

    Parameters
    ----------
    machine
        System without ground.
    terrain
        Features of the ground.
    inputs
        Inputs of the system.
    stops
        Lower and upper stop of joints (rad or m), by name.
    """

    def __init__(
        self, machine: Generic, terrain: Terrain, inputs: Floats, stops: Stops | None = None
    ) -> None:
        self.machine = machine
        self.terrain = terrain
        self.ground = divide_for_wheels(machine, terrain)
        self.inputs = inputs
        self.stops = _all_stops(machine, stops)
        self.table = FeatureTable(machine, self.ground, self._joint_ends() | self._flats())
        self.n = machine.speeds
        self.y = machine.layout
        self.row = machine.row
        self.pose = self.y.span("q", "r")
        self._input_slice = machine.inputs.w
        self.x = np.zeros(machine.inputs.size + machine.givens)
        self.x[machine.inputs.ground] = machine.ground
        self._observed = np.zeros(machine.motion.inputs.size + self.n)
        self.code = terrain_code()
        self.motion = Packed(kernels.make_dynamics(machine))
        self.driver: Any = None  # the event-driven records of the last run, `driver.ArcDriver`
        self.switch: Any = None  # the data of the last run for changing the method, a `Switch`
        self._packed_modes: dict[tuple[tuple[Closed, ...], bool], Packed] = {}
        self._reused_modes: dict[int, Packed] = {}
        self._keys: dict[WheelOnFeature, Key] = {}
        self._mode_names: dict[tuple[Closed, ...], TerrainMode] = {}
        self.level = self.table.level()
        self._nearby: Nearby | None = None  # the contacts near the last observed state
        self.max_deflections = self._find_max_deflections()
        # s, time at which the wheel of each tyre state lifted off
        self.lifted = np.full(machine.memory + 1, -np.inf)
        self._refuse_thin_torus()
        self._refuse_patches()

    @property
    def tol(self) -> Tolerances:
        """The tolerances of event location, in SI units."""
        tol: Tolerances = self.motion.record.tol
        return tol

    @property
    def units(self) -> MachineUnits:
        """The characteristic mass, length and time of the system."""
        return cached_machine_units(self.machine)

    @property
    def longest(self) -> list[float]:
        """The largest distance (m) of a touched point from the centre of each wheel."""
        return self.table.pairs.longest

    def fits(self, machine: Generic, stops: Stops | None) -> bool:
        """Return whether the records fit a given system with given joint stops: that of the last run, perhaps
        with other parameters.
        """
        return self.machine.has_programs_of(machine) and self.stops == _all_stops(machine, stops)

    def change_machine(self, machine: Generic) -> None:
        """Replace the parameters of the system. Like `change_ground`, it keeps the records."""
        self.machine = machine
        self.x[machine.inputs.ground] = machine.ground
        self.motion.replace(**kernels.scaled_dynamics(machine))
        self.table.change_machine(machine)
        # Records of trajectory arcs contain the address of these two.
        self.table.change_wheels(self.level)
        self.max_deflections[:] = self._find_max_deflections()
        for name in ("discs", "tyre_statuses", "wheel_size", "time_unit", "rings"):
            vars(self).pop(name, None)
        if self._nearby is not None:
            self._nearby.change_machine()
        self.change_ground(self.terrain)
        self._refuse_thin_torus()

    def change_ground(self, terrain: Terrain) -> None:
        """Move the system to another ground. Records of trajectory arcs are kept: making them costs as much
        as some milliseconds of simulated time.
        """
        self.terrain = terrain
        self.ground = divide_for_wheels(self.machine, terrain)
        self.table.change_ground(self.ground)
        # These caches contain indices and names of features of the old ground.
        self._packed_modes.clear()
        self._keys.clear()
        self._mode_names.clear()
        if self._nearby is not None:
            self._nearby.change_ground()
        self._refuse_patches()

    def _find_max_deflections(self) -> Floats:
        """Return the largest tyre deflection (m) of each wheel, then of each joint: half of the wheel radius
        for a tyre on a vertical spring, 0 otherwise.
        """
        deflections = np.zeros(len(self.machine.wheels) + self.machine.joints)
        for k, wheel in enumerate(self.machine.wheels):
            if isinstance(wheel, Wheel) and getattr(wheel.tyre, "sprung", False):
                deflections[k] = 0.5 * self.longest[k]
        return deflections

    def _joint_ends(self) -> dict[WheelOnFeature, Feature]:
        """Return the lower and upper stop of every joint as features, by contact; joint indices follow those
        of wheels.
        """
        names = [joint.name for joint in self.machine.system.model.joints]
        features = {}
        for name, ends in self.stops.items():
            expect_known("stops: no joint", name, names)
            if not ends[0] < ends[1]:
                raise ParameterError(f"stops of {name!r}: {ends[0]} is not below {ends[1]}.")
            both = [(1.0, ends[0], "lower stop"), (-1.0, ends[1], "upper stop")]
            for k, (sign, end, label) in enumerate(both):
                contact = WheelOnFeature(len(self.machine.wheels) + names.index(name), k)
                features[contact] = _attached_feature(label, "stop", [sign, end, 0, 0, 0, 0])
        return features

    def _flats(self) -> dict[WheelOnFeature, Feature]:
        """Return the flats of bodies that wheels may touch, as features of contacts. Their indices are
        negative, those of terrain features are not.
        """
        return {
            WheelOnFeature(w, -1 - k): _attached_feature(flat.body, kind, [0.0] * 6)
            for w, wheel in enumerate(self.machine.wheels)
            for k, (kind, flat) in enumerate(flats_by_kind(wheel).items())
        }

    def feature(self, contact: WheelOnFeature) -> Feature:
        """Return the feature of a contact: of the terrain, a joint's stop, or a flat of another body."""
        return self.table.feature(contact)

    def status_name(self, contact: WheelOnFeature, status: Status) -> str:
        """Return the name by which trajectories report the status of a closed contact."""
        if status in TYRE_STATUSES:
            return "tyre"
        if status == Status.SLIDING:
            return "sliding"
        return "gliding" if isinstance(self.machine.wheels[contact.wheel], Blade) else "rolling"

    def tyre(self, contact: WheelOnFeature) -> Tyre | None:
        """Return the tyre of a contact's wheel, or None."""
        wheels = self.machine.wheels
        wheel = wheels[contact.wheel] if contact.wheel < len(wheels) else None
        return wheel.tyre if isinstance(wheel, Wheel) else None

    def mode(self, closed: Sequence[Closed]) -> TerrainMode:
        """Return the names (wheel, feature) and the status name of each closed contact."""
        contacts = tuple(closed)
        mode = self._mode_names.get(contacts)
        if mode is None:
            mode = tuple(
                (self.key(contact), self.status_name(contact, status))
                for contact, status, _ in contacts
            )
            cache_latest(self._mode_names, contacts, mode)
        return mode

    def _refuse_thin_torus(self) -> None:
        """Raise TerrainError if a torus has no thickness: its distance to an edge is not defined."""
        for wheel, radius in zip(self.machine.wheels, self.longest, strict=True):
            if isinstance(wheel, Wheel) and radius and "edge" not in wheel.surface.kinds:
                raise TerrainError(
                    f"wheel {wheel.name!r}: a torus of crown 0 meets no edges; leave the crown out "
                    "for a disc, or give it a thickness."
                )

    def _refuse_patches(self) -> None:
        """Raise an error if the surface of a wheel has no contact equations for smooth ground (patches)."""
        if "patch" not in self.terrain.kinds:
            return
        for wheel in self.machine.wheels:
            if "patch" not in wheel.surface.kinds:
                raise TerrainError(
                    f"wheel {wheel.name!r}: its surface {type(wheel.surface).__name__} does not touch smooth "
                    'ground. Add "patch" to its `kinds`.'
                )

    def refuse_edge_in_plane(self, t: float, contact: WheelOnFeature, row: Floats) -> None:
        """Raise TerrainError if the edge of a contact lies almost in the plane of its disc."""
        feature = self.feature(contact)
        if feature.kind != "edge" or not self.discs[contact.wheel]:
            return
        e = feature.numbers[3:6]
        if feature.motion is not None:
            e = np.asarray(feature.motion(t)[0], float) @ e
        if abs(row[self.row.axle] @ e) < EDGE_IN_PLANE:
            wheel, name = self.key(contact)
            raise TerrainError(
                f"wheel {wheel!r}: the edge {name!r} lies almost in the plane of the disc; "
                "that needs a torus: give the wheel a crown."
            )

    def refuse_sharp_feature(self, t: float, y: Floats, contact: WheelOnFeature) -> None:
        """Raise TerrainError because the disc of a contact has reached an edge in its plane or a vertex. If
        its edge belongs to moving ground and does not lie in its plane, do nothing.
        """
        row = self.evaluate_rows(t, y, [contact])[0]
        self.refuse_edge_in_plane(t, contact, row)
        if self.feature(contact).motion is None:
            nearby = self.ground.near(row[self.row.point], self.tol.gap_search, t)
            vertices = [k for k in nearby if self.ground[k].kind == "vertex"]
            raise TerrainError(
                f"wheel {self.key(contact)[0]!r}: the disc comes onto {self.ground.name(vertices[0])!r}; "
                "that needs a torus: give the wheel a crown."
            )

    @cached_property
    def discs(self) -> NDArray[np.bool_]:
        """Whether each wheel is a disc (a knife edge), which cannot touch a vertex; False for the joints
        after them.
        """
        discs = ["vertex" not in wheel.surface.kinds for wheel in self.machine.wheels]
        return np.array(discs + [False] * self.machine.joints, bool)

    @cached_property
    def tyre_wheels(self) -> Integers:
        """The index of the wheel of each tyre state, -1 for other states of force elements."""
        model = self.machine.system.model
        wheels = np.full(model.memory + 1, -1)
        for w, wheel in enumerate(self.machine.wheels):
            for first, element in contact_elements(model, wheel):
                wheels[first : first + element.states] = w
        return wheels

    @cached_property
    def wheel_size(self) -> float:
        """The radius of the largest wheel (m), the length scale of time steps."""
        return max((x for x in self.longest if np.isfinite(x)), default=1.0) or 1.0

    @cached_property
    def time_unit(self) -> float:
        """The time sqrt(wheel size / g) (s), the time scale of time steps; infinite without gravity."""
        gravity = float(np.linalg.norm(self.machine.system.model.gravity))
        return math.sqrt(self.wheel_size / gravity) if gravity > 0.0 else math.inf

    def speeds(self, y: Floats) -> Floats:
        """Return the speeds v (n) of a state y."""
        return y[..., self.y.v]

    def key(self, contact: WheelOnFeature) -> Key:
        """Return the names of wheel (or joint) and feature of a contact."""
        if contact not in self._keys:
            owners = (*self.machine.wheels, *self.machine.system.model.joints)
            feature = self.table.name(contact) + ("", "+", "-")[contact.side]
            self._keys[contact] = owners[contact.wheel].name, feature
        return self._keys[contact]

    def packed_mode(self, closed: Sequence[Closed], closed_form: bool = False) -> Packed:
        """Return the contact mode of closed contacts as a packed `ContactMode`, with its closed-form solution
        (used by `flow`) if requested.
        """
        key = (tuple(closed), closed_form)
        if key not in self._packed_modes:
            contacts = self.table.pack([contact for contact, *_ in closed])
            mode = self._pack_mode(contacts, closed)
            if closed_form and self.code.find_closed_form(mode):
                self.add_closed_form(closed)
                mode = self._pack_mode(contacts, closed)
                self.code.find_closed_form(mode)
            cache_latest(self._packed_modes, key, mode)
        return self._packed_modes[key]

    def _pack_mode(self, contacts: ContactColumns, closed: Sequence[Closed]) -> Packed:
        """Return the packed `ContactMode` in which `closed`, in the order of the packed contacts, are
        closed.
        """
        count = len(closed)
        forms = self.table.pairs.forms
        mode = kernels.make_mode(self.machine, self.motion, contacts, count, self.x, forms)
        _close_contacts(mode, np.arange(count), closed)
        return Packed(mode)

    def add_closed_form(self, closed: Sequence[Closed]) -> None:
        """Compile the closed-form solution of the contact mode of closed contacts and add it to those that
        routines search.
        """
        kinds = [self.table.kind(contact) for contact, *_ in closed]
        pairs = zip(closed, kinds, strict=True)
        self.table.pairs.add_closed_form(
            [(contact.wheel, *kind, status) for (contact, status, _), kind in pairs]
        )

    def contact_law(self, contact: WheelOnFeature, options: ContactOptions) -> tuple[Status, float]:
        """Return the status of a contact that is closed without slip, and its friction coefficient mu.

        `ContactOptions.friction` defines mu. Wheels with tyres and stops of joints have mu = 0.
        """
        wheels = self.machine.wheels
        if contact.wheel >= len(wheels):
            return Status.SLIDING, 0.0
        tyre = int(self.tyre_statuses[contact.wheel])
        name = self.table.name(contact)
        mu = 0.0 if tyre >= 0 else options.friction(wheels[contact.wheel], name)
        return Status(find_closed_status(tyre, mu)), mu

    @cached_property
    def tyre_statuses(self) -> Integers:
        """The `Status` of a closed contact of each wheel with a tyre, -1 for a wheel without; the last entry
        stands for all joints.
        """
        statuses = [
            TYRE_STATUSES[tyre_rows(wheel)] if isinstance(wheel, Wheel) and wheel.tyre else -1
            for wheel in self.machine.wheels
        ]
        return np.array([*statuses, -1], np.int64)

    def fill(self, t: float, y: Floats) -> None:
        """Write time t (s) and state y into the input x of the compiled programs."""
        self.x[0] = t
        self.x[1 : self._input_slice.start] = y
        self.x[self._input_slice] = self.inputs

    def evaluate_rows(self, t: float, y: Floats, contacts: Sequence[WheelOnFeature]) -> Floats:
        """Return the complete contact rows (contacts, entries) at time t (s) and state y."""
        self.fill(t, y)
        rows = np.empty((len(contacts), self.row.size))
        packed, which = self._locate(contacts)
        self.code.evaluate_rows(self.motion, self.x, packed, which, len(which), rows)
        return rows

    def _locate(self, contacts: Sequence[WheelOnFeature]) -> tuple[ContactColumns, Integers]:
        """Return a table that includes the given contacts, and their indices. The contacts near the last
        observed state are used if possible, because a new table costs more than an evaluation.
        """
        near = self._nearby
        if near is not None and all(contact in near.index for contact in contacts):
            indices = [near.index[contact] for contact in contacts]
            return near.record.contacts, np.array(indices, dtype=np.int64)
        return self.table.pack(contacts), np.arange(len(contacts))

    def dynamics(self, t: float, y: Floats) -> dict[str, Floats]:
        """Return mass matrix M, bias force F and the other outputs, by name, of the system without
        contacts.
        """
        self.fill(t, y)
        motion = self.machine.motion
        return motion.outputs.split(motion.flat(self.x[: motion.inputs.size]))

    def equality_rows(self, outputs: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Return linearly independent constraint rows `J vdot = c` of prescribed and guided joints and of
        couplings, from the outputs of `dynamics`.
        """
        return select_independent_rows(outputs["held"].reshape(-1, self.n), outputs["held_c"])

    def flow(self, t: float, y: Floats) -> Floats:
        """Return the time derivatives of the configuration (q, p, r)."""
        self.fill(t, y)
        motion = self.machine.motion
        return motion.flat(self.x[: motion.inputs.size])[motion.outputs.flow]

    def energy(self, t: float, y: Floats) -> float:
        """Return the mechanical energy (J) of a state."""
        self.fill(t, y)
        observe = self.machine.observe
        self._observed[: -self.n] = self.x[: self.machine.motion.inputs.size]
        values = observe.flat(self._observed)
        return float(
            values[observe.outputs.kinetic.start] + values[observe.outputs.potential.start]
        )

    def equality_multipliers(self, outputs: Mapping[str, Floats], force: Floats) -> Floats:
        """Return the minimum-norm Lagrange multipliers of prescribed joints, guided joints and couplings that
        produce the generalised force `force` (n, ...); further array axes (time) come last.
        """
        J = np.moveaxis(outputs["held"].reshape(-1, self.n, *force.shape[1:]), [0, 1], [-2, -1])
        return np.einsum("...nh,n...->h...", np.linalg.pinv(J, rcond=REDUNDANT_ROW_DISTANCE), force)

    def accelerate(
        self, t: float, y: Floats, closed: Sequence[Closed]
    ) -> tuple[Floats, Floats, Floats]:
        """Return accelerations vdot (n), contact forces (contacts, 3) in N and contact rows (contacts, row)
        of a contact mode.

        Raises
        ------
        ConfigurationError
            If the contacts contradict each other.
        """
        self.fill(t, y)
        ydot = np.empty(len(y))
        forces = np.zeros((len(closed), 3))
        rows = np.empty((len(closed), self.row.size))
        if self.code.solve_rates(self.packed_mode(closed), ydot, forces, rows):
            raise ConfigurationError("the contacts contradict each other in this configuration.")
        return ydot[self.y.v], forces, rows

    def project(self, t: float, y: Floats, closed: Sequence[Closed]) -> Floats:
        """Return the state y projected onto zero gaps and zero constrained velocities of closed contacts."""
        self.fill(t, y)
        contacts, which = self._locate([contact for contact, *_ in closed])
        mode = self._reused_mode(len(closed), contacts)
        _close_contacts(mode.record, which, closed)
        self.code.project_state(mode)
        return self.x[self.machine.inputs.span("q", "z")].copy()

    def centres(self, t: float, y: Floats) -> Floats:
        """Return the positions of the wheels' centres (wheels, 3) in m."""
        self.fill(t, y)
        rows = np.empty((len(self.machine.wheels), self.row.size))
        self.code.evaluate_gaps(self.motion, self.x, self.level, rows)
        return rows[:, self.row.centre]

    def boxes(self, t: float, y: Floats) -> Floats:
        """Return the wheels' centres as boxes of zero size: lower and upper corner (m) of each, flat."""
        return np.repeat(self.centres(t, y), 2, axis=0).ravel()

    def find_surroundings(self, t: float, y: Floats, margin: float) -> Nearby:
        """Return all contacts that can close while the wheels' centres stay within a margin (m) of their
        positions at time t (s) and state y, valid until the next call. On a small terrain these are the
        contacts with all features.
        """
        near = self._observed_contacts()
        if not near.is_complete:
            near.find_within(t, self.boxes(t, y), np.inf if self.watches_all else margin)
        return near

    def _observed_contacts(self) -> Nearby:
        """Return the table of contacts for observations, with those of the last one."""
        if self._nearby is None:
            self._nearby = Nearby(self, CONTACT)
        return self._nearby

    @cached_property
    def rings(self) -> Floats:
        """The radius of the ring of each wheel (m); 0 for a ball or a blade."""
        return np.array([float(getattr(w.surface, "ring", 0.0)) for w in self.machine.wheels])

    @property
    def state_units(self) -> Floats:
        """The machine unit of each entry of the state y, which scales the integration tolerances."""
        return scale_states(self.machine.system.model, self.units, self.machine.memory)

    @property
    def watches_all(self) -> bool:
        """Whether the terrain is small enough that the gaps of all its features are guards."""
        return len(self.ground) <= MAX_UNSEARCHED_WATCHED

    def ground_speed(self, t: float, boxes: Floats) -> float:
        """Return the largest velocity component (m/s) of moving ground at the corners of boxes. It is 0 if
        the gaps of all features are guards, because no search depends on it then.
        """
        fastest = 0.0
        points = boxes.reshape(-1, 3)
        for motion in () if self.watches_all else self.terrain.motions:
            R, p = motion(t)
            S, o = motion(t + GROUND_SPEED_TIME)
            moved = (points - o) @ np.asarray(S, float) - (points - p) @ np.asarray(R, float)
            fastest = max(fastest, float(np.abs(moved).max(initial=0.0)) / GROUND_SPEED_TIME)
        return fastest

    def gap(self, row: Floats) -> float:
        """Return the gap (m) of a contact row."""
        return float(row[self.row.gap.start])

    def excess(self, contact: WheelOnFeature, row: Floats) -> float:
        """Return the excess of a contact over the borders of its feature (`kernels.border_excess`)."""
        packed, which = self._locate([contact])
        return float(self.code.border_excess(self.motion, packed, int(which[0]), row))

    def jacobian(self, row: Floats) -> Floats:
        """Return the Jacobian C (..., 3, n) of contact rows (..., row): normal, along, across."""
        return row[..., self.row.C].reshape(*row.shape[:-1], 3, self.n)

    @property
    def tyred(self) -> list[int]:
        """The indices of the wheels that have tyres."""
        wheels = enumerate(self.machine.wheels)
        return [k for k, wheel in wheels if isinstance(wheel, Wheel) and wheel.tyre is not None]

    def ground_velocity(self, row: Floats) -> Floats:
        """Return the velocity of the ground (normal, along, across; m/s) of contact rows."""
        return row[..., self.row.b]

    def axes(self, row: Floats) -> Floats:
        """Return the directions (normal, along, across) of contact rows in world axes, (..., 3, 3)."""
        normal = row[..., self.row.normal]
        along = row[..., self.row.along]
        return np.stack([normal, along, np.cross(normal, along)], axis=-2)

    def find_penetrating(
        self, t: float, y: Floats, near: Nearby
    ) -> list[tuple[WheelOnFeature, Floats]]:
        """Return the contacts that penetrate the ground from above, within the borders of their features,
        each with its contact row.
        """
        self.fill(t, y)
        row = np.empty(self.row.size)
        inside = np.empty(len(near) + 1, np.int64)
        count = self.code.find_penetrating_contacts(
            self.motion, self.x, near.record.contacts, len(near), row, inside
        )
        if not count:
            return []
        contacts = [near[k] for k in inside[:count].tolist()]
        return list(zip(contacts, self.evaluate_rows(t, y, contacts), strict=True))

    def candidate(
        self, contact: WheelOnFeature, row: Floats, mu: float, status: Status
    ) -> Candidate:
        """Return a touching contact as a `Candidate`, the input of the solvers of the contact problem."""
        return Candidate(
            self.key(contact),
            self.jacobian(row),
            row[self.row.c],
            self.ground_velocity(row),
            mu,
            status,
            row[self.row.lift] if self.motion.record.acted else 0.0,
        )

    def evaluate_gaps(self, times: Floats, ys: Floats, contacts: ContactColumns) -> Floats:
        """Return contact rows (states, contacts, row) at many states, in which only gap and frame are
        evaluated.
        """
        rows = np.empty((len(ys), contacts.size, self.row.size))
        self.fill(times[0], ys[0])
        states = np.ascontiguousarray(ys)
        self.code.evaluate_gaps_of_states(
            self.motion, self.x, times, states, len(ys), contacts, rows
        )
        return rows

    def observe_modes(
        self, intervals: Sequence[ModeInterval], forces_only: bool = False
    ) -> ObservedSamples:
        """Return forces, gaps and contact points of the closed contacts at all states of several intervals;
        if `forces_only`, only forces, violations and constraint rows, which cost less.
        """
        closed = [contact for interval in intervals for contact in interval.closed]
        contacts = list(dict.fromkeys(contact for contact, *_ in closed))
        index = {contact: k for k, contact in enumerate(contacts)}
        states = np.concatenate([interval.y for interval in intervals])
        packed = Intervals(
            size=len(intervals),
            first_state=block_starts(np.array([len(interval.t) for interval in intervals])),
            first_contact=block_starts(np.array([len(interval.closed) for interval in intervals])),
            which=np.array([*(index[contact] for contact, *_ in closed), 0]),
            status=np.array([*(status for _, status, _ in closed), 0]),
            mu=np.array([*(mu if mu < np.inf else 0.0 for *_, mu in closed), 0.0]),
            inputs=np.concatenate([*(interval.inputs for interval in intervals), np.zeros(1)]),
            n_inputs=len(self.inputs),
            x_inputs=self._input_slice.start,
            times=np.concatenate([interval.t for interval in intervals]),
            states=states.ravel(),
        )
        most = max(len(interval.closed) for interval in intervals)
        mode = self._reused_mode(most, self.table.pack(contacts))
        samples = self._empty_samples(len(states), len(closed), self.motion.record.output_size)
        observe = self.code.observe_forces if forces_only else self.code.observe_modes
        observe(mode, Packed(packed), Packed(samples))
        return samples

    def _reused_mode(self, most: int, contacts: ContactColumns) -> Packed:
        """Return a `ContactMode` with arrays for up to `most` closed contacts; one of each size is cached."""
        forms = self.table.pairs.forms
        if most not in self._reused_modes:
            mode = kernels.make_mode(self.machine, self.motion, contacts, most, self.x, forms)
            self._reused_modes[most] = Packed(mode)
        packed = self._reused_modes[most]
        packed.replace(contacts=contacts)
        # Closed-form solutions were added, or have other parameters, since the contact mode was cached.
        if packed.record.tables is not forms.tables:
            out = np.zeros(forms.size)
            packed.replace(modes=forms.signatures, tables=forms.tables, mode_out=out)
        return packed

    def _empty_samples(self, count: int, contacts: int, outputs: int) -> ObservedSamples:
        """Return empty arrays for the observed quantities of `count` states."""
        wheels = len(self.machine.wheels)
        owners = wheels + self.machine.joints
        samples: ObservedSamples = make_record(
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
            convexity=np.full(count * wheels, np.inf),
            jacobians=3 * contacts * self.n + 1,
        )
        return samples

    def find_nearest(
        self, times: Floats, ys: Floats, gaps: Floats, points: Floats, sinks: bool = False
    ) -> None:
        """Compute gap and contact point of the nearest valid contact of each wheel whose gap is still
        infinite.

        Parameters
        ----------
        times, ys
            Times (s) and states (states, n).
        gaps, points
            Arrays (states, wheels) and (states, wheels, 3) in m, which are changed in place.
        sinks
            Whether features that a wheel penetrates are included, as time stepping requires.
        """
        near = self._observed_contacts()
        has_limit = len(self.ground) > MAX_UNSEARCHED_NEAREST
        for margin in NEAREST_MARGINS if has_limit else (np.inf,):
            missing = np.flatnonzero(np.isinf(gaps).any(axis=1))
            if not len(missing):
                return
            rows = self.evaluate_gaps(times[missing], ys[missing], self.level)
            centres = rows[..., self.row.centre]
            for group in self._group_states(centres):
                t = float(times[missing[group[0]]])
                boxes = np.stack([centres[group].min(axis=0), centres[group].max(axis=0)], axis=1)
                if not near.is_complete:
                    near.find_within(t, boxes.ravel(), np.inf if self.watches_all else margin)
                self._find_nearest(times, ys, missing[group], near, margin, sinks, gaps, points)

    def _group_states(self, centres: Floats) -> list[Integers]:
        """Return groups of states that share one search of ground features, by their mean wheel centre
        (states, wheels, 3). Without a search there is one group; on moving ground each state is a group.
        """
        if self.watches_all:
            return [np.arange(len(centres))]
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
        which: Integers,
        near: Nearby,
        limit: float,
        sinks: bool,
        gaps: Floats,
        points: Floats,
    ) -> None:
        """Compute gaps and contact points of the nearest contacts at the states with indices `which`."""
        self.fill(times[which[0]], ys[which[0]])
        row = np.empty(self.row.size + 3)
        # Indexing with an array makes copies: the routine writes into these, and they are copied
        # back.
        new_gaps = gaps[which]
        new_points = points[which]
        states = (np.ascontiguousarray(times[which]), np.ascontiguousarray(ys[which]), len(which))
        rest = (self.level, near.record.contacts, limit, sinks, row, new_gaps, new_points)
        self.code.find_nearest(self.motion, self.x, *states, *rest)
        gaps[which] = new_gaps
        points[which] = new_points


def _close_contacts(mode: ContactMode, which: Integers, closed: Sequence[Closed]) -> None:
    """Write closed contacts, which have the indices `which` in a `ContactMode`, into this record."""
    count = len(closed)
    mode.plan[kernels.CLOSED] = count
    mode.which[:count] = which
    mode.status[:count] = [status for _, status, _ in closed]
    # An ideal contact (infinite friction) never slides: it has no friction drag.
    mode.mu[:count] = [mu if mu < np.inf else 0.0 for *_, mu in closed]


def _attached_feature(name: str, kind: str, numbers: Sequence[float]) -> Feature:
    """Return a feature without borders that moves with the system."""
    return Feature(
        name, kind, np.array(numbers, float), np.zeros((0, 7)), -UNBOUNDED_CORNER, UNBOUNDED_CORNER
    )


class _Last(threading.local):
    """Thread-local cache of the latest `ContactQuery`; empty while a run uses it."""

    query: ContactQuery | None = None


_last = _Last()


def borrow_query(
    machine: Generic, terrain: Terrain, inputs: Floats, stops: Stops | None = None
) -> ContactQuery:
    """Return a `ContactQuery` for exclusive use: that of the last run if the system, apart from its
    parameters, and the joint stops are the same, otherwise a new one.

    A new query costs as much as some milliseconds of simulated time.
    """
    query = _last.query
    _last.query = None
    if query is None or not query.fits(machine, stops):
        return ContactQuery(machine, terrain, inputs, stops)
    if query.machine is not machine:
        query.change_machine(machine)
    if query.terrain is not terrain:
        query.change_ground(terrain)
    query.inputs = inputs
    query.lifted[:] = -np.inf
    return query


def return_query(query: ContactQuery) -> None:
    """Make a `ContactQuery` available to later runs and observations of the same thread."""
    _last.query = query


def shared_query(
    machine: Generic, terrain: Terrain, inputs: Floats, stops: Stops | None = None
) -> ContactQuery:
    """Return the `ContactQuery` that the trajectory arcs of one run share, for immediate use."""
    query = borrow_query(machine, terrain, inputs, stops)
    return_query(query)
    return query
