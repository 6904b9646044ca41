"""Equations of motion of a vehicle in one contact mode on a terrain, in minimal coordinates.

`GroundedMachine` has the same state y = (q, p, r, u, z) as `system.closed_form.ClosedForm` and computes exact
derivatives. So `equilibrium` and `linear` find steady motions and linear systems on a terrain by the same
methods as on the level plane.

1. The closed contacts impose velocity constraints `C v = b` (`simulation.contact`). Independent speeds are
   u = B v. The rows of the constant matrix B are an orthonormal basis of the speeds that the constraints
   allow at one configuration. So v solves `(C; B) v = (b; u)`, by least squares because constraint rows may
   be redundant.
2. A displacement of the configuration at constant u changes v by `(C; B) dv = (db - dC v; 0)`.
3. Along these directions `gradient.mode.TerrainTangents` differentiates accelerations and contact forces.

`symmetry` finds the translations and rotations that change neither the ground nor gravity.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats, array
from draisine.algebra.trace import Graph
from draisine.analysis.differentiate import run_tangent
from draisine.analysis.gradient.mode import ModeTangents, TerrainTangents
from draisine.analysis.gradient.tangents import Directions
from draisine.analysis.symmetry import Symmetry, find_symmetry
from draisine.analysis.variation import SEEDS, VARIED_OUTPUTS, Variation
from draisine.codegen.program import Program, trace_program
from draisine.errors import ConfigurationError
from draisine.mechanics.base import free_columns
from draisine.model.contact import Wheel
from draisine.model.names import observation_names
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.status import Status, count_rows
from draisine.simulation.options import CONTACT, ContactOptions
from draisine.system.configuration import choose_independent_rows
from draisine.system.generic import Generic
from draisine.system.layout import Layout, state_sizes
from draisine.system.mode_programs import yaw_lean_pitch_rates
from draisine.system.state import State
from draisine.system.system import System
from draisine.terrain import SmoothGround, Terrain

RANK_OF_ROWS = 1e-9
"""Smallest singular value of the normalised constraint rows that counts towards their rank, as a fraction
of the largest one; smaller values belong to redundant constraints."""

# Rounding error of a contact force, as a fraction of the largest contact force.
FORCE_ROUNDING = 1e-9

MIN_SPEED_PIVOT = 0.02
"""Smallest acceptable singular value of the matrix (C; B) with rows of unit length, dimensionless; below it
new independent speeds are chosen, because solving for the speeds v would amplify rounding errors."""

SPREAD = 1.0
"""Largest displacement of the vehicle at which the ground is sampled to find its symmetries, as a fraction
of the vehicle's length; the wheels stay within this region while the vehicle moves by its own length."""

FIRST_SEARCH = (
    0.1  # initial search margin around the wheels for the ground, as a fraction of the wheel size
)

NEAREST_SEARCH = 1e3
"""Largest search margin around the wheels for the ground, as a multiple of the wheel size or of 1 m,
whichever is larger; without ground inside it, an error is raised."""


@dataclass(frozen=True, eq=False)
class GroundedMachine:
    """Equations of motion of a compiled vehicle in one contact mode on a terrain."""

    query: ContactQuery
    closed: tuple[Closed, ...]
    B: Floats  # matrix (m, n) of the independent speeds u = B v, m of the n free speeds v
    contact: ContactOptions = CONTACT
    cyclic_joints: tuple[str, ...] = ()  # joints (or "pitch") whose angle has no influence
    symmetry: Symmetry = field(default_factory=Symmetry)

    @property
    def free_machine(self) -> Generic:
        """The compiled equations of motion without ground contacts."""
        return self.query.machine

    @property
    def system(self) -> System:
        """The compiled system."""
        return self.query.machine.system

    @property
    def terrain(self) -> Terrain:
        """The terrain below the vehicle."""
        return self.query.terrain

    @property
    def states(self) -> int:
        """The number of states of the control law."""
        return self.query.machine.states

    @property
    def memory(self) -> int:
        """The number of entries of z: states of the force elements, then states of the control law."""
        return self.query.machine.memory

    @property
    def mode(self) -> dict[str, str]:
        """The contact mode: the status of each closed contact, by the name "wheel:ground feature"."""
        return {":".join(key): status for key, status in self.query.mode(self.closed)}

    @cached_property
    def layout(self) -> Layout:
        """The layout of the state y: q, p, r, u, z."""
        return Layout(state_sizes(self.system.model, u=len(self.B), z=self.memory))

    @property
    def columns(self) -> list[int]:
        """Indices of the free speeds v among all speeds (V, W, rdot) of base and joints."""
        return free_columns(self.system.model)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of directions of differentiation in time, configuration, speeds u, states z and inputs."""
        return {
            "dt": 1,
            "dx": self.query.n,
            "du": len(self.B),
            "dz": self.memory,
            "dw": len(self.system.model.inputs),
        }

    # --- states

    def velocity_constraints(self, t: float, state: Floats) -> tuple[Floats, Floats]:
        """Return C (rows, n) and b (rows,) of the velocity constraints `C v = b`.

        They are evaluated at time t (s) and at a state = (q, p, r, v, z) of the free machine.
        """
        query = self.query
        outputs = query.dynamics(t, state)
        C = [outputs["held"].reshape(-1, query.n)]
        b = [outputs["held_b"]]
        contacts = query.evaluate_rows(t, state, [contact for contact, *_ in self.closed])
        for row, (_, status, _) in zip(contacts, self.closed, strict=True):
            held = count_rows(status)
            C.append(query.jacobian(row)[:held])
            b.append(query.ground_velocity(row)[:held])
        return np.vstack(C), np.concatenate(b)

    def to_free_state(self, state: Floats, t: float = 0.0) -> Floats:
        """Convert a state vector to a state (q, p, r, v, z) of the free machine: solve `(C; B) v = (b;
        u)`.
        """
        blocks = self.layout.split(state)
        free = self.free_machine.layout
        out = np.zeros(free.size)
        out[self.query.pose] = state[self.layout.span("q", "r")]
        out[free.z] = blocks["z"]
        C, b = self.velocity_constraints(t, out)
        K = np.vstack([C, self.B])
        out[free.v] = np.linalg.lstsq(K, np.append(b, blocks["u"]), rcond=RANK_OF_ROWS)[0]
        return out

    def enter(self, state: State, z: Floats | None = None) -> Floats:
        """Convert a public `State`, and optionally the states z, to the state vector y."""
        memory = np.zeros(self.memory)
        memory[: self.system.model.memory] = state.elements(self.system.model.memory)
        free = self.free_machine.enter(state, memory if z is None else z)
        return self.reduce(free)

    def reduce(self, free_state: Floats) -> Floats:
        """Convert a state (q, p, r, v, z) of the free machine to y, with u = B v."""
        layout = self.free_machine.layout
        u = self.B @ free_state[layout.v]
        return np.concatenate([free_state[self.query.pose], u, free_state[layout.z]])

    def leave(self, y: Floats) -> State:
        """Convert the state vector y to a public `State`."""
        return self.free_machine.leave(self.to_free_state(y))

    def least_pivot(self, state: Floats, t: float = 0.0) -> float:
        """Return the smallest singular value of (C; B) with unit rows, the matrix that determines v."""
        C, _ = self.velocity_constraints(t, self.to_free_state(state, t))
        values = np.linalg.svd(np.vstack([_scale_to_unit_rows(C), self.B]), compute_uv=False)
        return float(values[self.query.n - 1])

    def renewed(self, y: Floats) -> tuple["GroundedMachine", Floats]:
        """Return the equations with the contacts nearest to the wheels at y, and y in their speeds.

        If the contacts are unchanged and the independent speeds are well conditioned, return both unchanged.
        """
        free = self.to_free_state(y)
        closed = nearest_contacts(self.query, free, self.contact, self.closed)
        is_same = [c for c, *_ in closed] == [c for c, *_ in self.closed]
        if is_same and self.least_pivot(y) >= MIN_SPEED_PIVOT:
            return self, y
        machine = replace(self, closed=closed)
        machine = replace(machine, B=machine.choose_speeds(free))
        return machine, machine.reduce(free)

    def choose_speeds(self, free_state: Floats, t: float = 0.0) -> Floats:
        """Return the matrix B (m, n): an orthonormal basis of the speeds that satisfy `C v = 0`.

        C is evaluated at a state (q, p, r, v, z) of the free machine.
        """
        C, _ = self.velocity_constraints(t, free_state)
        _, values, rows = np.linalg.svd(_scale_to_unit_rows(C))
        rank = int(np.count_nonzero(values > RANK_OF_ROWS * max(values.max(initial=0.0), 1e-300)))
        return rows[rank:]

    # --- derivatives

    def vary(
        self,
        y: Floats,
        w: Floats | None = None,
        *,
        t: Floats | float = 0.0,
        seeds: Sequence[str] = SEEDS,
    ) -> Variation:
        """Return values and derivatives of the equations of motion at N states y (N, entries).

        w (N, inputs) are the inputs, zero by default; `seeds` are names of directions of differentiation.
        See `variation.vary`.
        """
        count = len(y)
        inputs = np.zeros((count, self.sizes["dw"])) if w is None else w
        times = np.broadcast_to(t, count)
        each = [
            self._evaluate_state(float(times[k]), y[k], np.asarray(inputs[k], float))
            for k in range(count)
        ]
        lanes = Layout({name: self.sizes[name] for name in SEEDS})
        outputs = (*VARIED_OUTPUTS, "drift")
        values = {name: np.array([one[name][0] for one in each]) for name in outputs}
        d = {
            name: {
                seed: np.array([one[name][1:][getattr(lanes, seed)].T for one in each])
                for seed in seeds
            }
            for name in outputs
        }
        mass = np.array([one["mass"] for one in each])
        return Variation(self, mass, values, d)

    def tangents_at(
        self, t: float, state: Floats, inputs: Floats
    ) -> tuple[TerrainTangents, Floats, ModeTangents]:
        """Differentiate the motion at a state along the k directions of `sizes`.

        Returns
        -------
        The programs with derivatives, the free state with derivatives (1 + k, entries), and the rates and
        contact forces with derivatives.
        """
        query = self.query
        query.inputs = inputs
        n = query.n
        lanes = Layout(self.sizes)
        layout = self.free_machine.layout
        free = self.to_free_state(state, t)
        along = Directions(
            np.zeros((lanes.size, len(self.system.parameters))),
            np.zeros((lanes.size, len(inputs))),
            np.zeros(lanes.size),
        )
        along.inputs[lanes.dw] = np.eye(len(inputs))
        along.times[lanes.dt] = 1.0
        tangents = TerrainTangents(query, along)

        # The directions of differentiation are displacements expressed as speeds. The program maps
        # them to changes of the coordinates (q, p, r).
        jets = np.zeros((1 + lanes.size, layout.size))
        jets[0] = free
        directions = jets.copy()
        directions[1:][lanes.dx, layout.v] = np.eye(n)
        flow = tangents.motion(t, directions)["flow"]
        jets[1:][lanes.dx, query.pose] = flow[1:][lanes.dx]
        jets[1:][lanes.dz, layout.z] = np.eye(self.memory)

        # At constant independent speeds u, all speeds v change with the constraints: (C; B) dv =
        # (db - dC v; 0).
        C, b = zip(*tangents.velocity_constraints(t, jets, self.closed), strict=True)
        rows = np.hstack(C)
        demand = np.hstack(b)[1:] - rows[1:] @ free[layout.v]
        independent_speeds = np.zeros((lanes.size, len(self.B)))
        independent_speeds[lanes.du] = np.eye(len(self.B))
        right = np.hstack([demand, independent_speeds]).T
        K = np.vstack([rows[0], self.B])
        jets[1:, layout.v] = np.linalg.lstsq(K, right, rcond=RANK_OF_ROWS)[0].T
        return tangents, jets, tangents.accelerate(t, jets, self.closed)

    def _evaluate_state(self, t: float, state: Floats, inputs: Floats) -> dict[str, Floats]:
        """Return the mass matrix and the outputs of a `Variation` with derivatives (1 + k, entries)."""
        tangents, jets, result = self.tangents_at(t, state, inputs)
        layout = self.free_machine.layout
        rates = result.rates
        motion = tangents.motion(t, jets)
        gaps = [
            row["gap"]
            for row, (_, status, _) in zip(result.rows, self.closed, strict=True)
            if count_rows(status)
        ]
        conditions = np.hstack([motion["held_gap"], *gaps])
        speeds = self._expand_speeds(jets[:, layout.v])
        accelerations = self._expand_speeds(rates[:, layout.v])
        turn_rates = _differentiate_angles(
            jets[:, layout.q], speeds[:, 3:6], accelerations[:, 3:6], "accelerations"
        )
        H = jets[1:][Layout(self.sizes).du, layout.v]
        M = motion["M"][0].reshape(self.query.n, self.query.n)
        mass = H @ M @ H.T
        return {
            "mass": mass,
            "force": np.zeros((len(jets), 0)),
            "zdot": rates[:, layout.z],
            "conditions": conditions[:, self._select_conditions(conditions)],
            "seen": self._observe_with_derivatives(tangents, t, jets, speeds),
            "paced": np.hstack([turn_rates, rates[:, layout.v]]),
            "drift": self._velocity_across_symmetries(jets, speeds),
        }

    def _observe_with_derivatives(
        self,
        tangents: TerrainTangents,
        t: float,
        state_with_derivatives: Floats,
        speeds: Floats,
    ) -> Floats:
        """Return the observations with derivatives, (1 + k, names).

        Their position x, y, z and its rates are those of the point `centre` of the base.
        """
        seen = tangents.observe(t, state_with_derivatives)
        if self.centre.any():
            names = observation_names(self.system.model)
            position, velocity = self._centre_motion(state_with_derivatives, speeds)
            seen[:, [names.index(name) for name in "xyz"]] = position
            seen[:, [names.index(f"{name}_rate") for name in "xyz"]] = velocity
        return seen

    def _centre_motion(
        self, state_with_derivatives: Floats, speeds: Floats
    ) -> tuple[Floats, Floats]:
        """Return position (m) and velocity (m/s) of the point `centre` with derivatives, (1 + k, 3) each."""
        layout = self.free_machine.layout
        R, dR = _rotation_with_derivatives(state_with_derivatives[:, layout.q])
        local = speeds[:, :3] + np.cross(speeds[:, 3:6], self.centre)
        velocity = local @ R.T
        velocity[1:] += dR @ local[0]
        position = state_with_derivatives[:, layout.p] + np.vstack(
            [(R @ self.centre)[None], dR @ self.centre]
        )
        return position, velocity

    def _expand_speeds(self, free_speeds: Floats) -> Floats:
        """Insert free speeds (k, n) into all speeds (V, W, rdot), (k, 6 + joints); locked speeds are zero."""
        out = np.zeros((len(free_speeds), 6 + len(self.system.model.joints)))
        out[:, self.columns] = free_speeds
        return out

    def _select_conditions(self, conditions: Floats) -> list[int]:
        """Return the indices of the independent gap conditions among all (1 + k, conditions).

        Gaps may be redundant: of four wheels on a plane, three determine the fourth.
        """
        if not self._independent_gap_indices:
            rows = conditions[1:][Layout(self.sizes).dx].T
            chosen = choose_independent_rows(np.zeros((1, 0, rows.shape[1])), rows[None])[0]
            self._independent_gap_indices.extend(np.flatnonzero(chosen).tolist())
        return self._independent_gap_indices

    @cached_property
    def _independent_gap_indices(self) -> list[int]:
        """Indices of the independent gap conditions; `_select_conditions` fills them at the first state."""
        return []

    @cached_property
    def centre(self) -> Floats:
        """Point of the base whose path is steady, in the zero configuration (3,), m.

        It is the origin, or the wheel's centre if the base itself is a rolling wheel.
        """
        model = self.system.model
        if "pitch" not in self.cyclic_joints:
            return np.zeros(3)
        base = model.bodies[0]
        wheels = [c for c in model.contacts if isinstance(c, Wheel) and c.body == base.name]
        point = wheels[0].centre if wheels else base.com
        return np.asarray(point, float)

    def _velocity_across_symmetries(self, state_with_derivatives: Floats, speeds: Floats) -> Floats:
        """Return the velocity across the symmetries of the ground, with derivatives (1 + k, entries).

        It is zero in a steady motion, eq. [symmetry].
        """
        angular_velocity = speeds[:, 3:6]
        yaw_rate = _differentiate_angles(
            state_with_derivatives[:, self.free_machine.layout.q],
            angular_velocity,
            np.zeros_like(angular_velocity),
            "rates",
        )[:, 0]
        return self.symmetry.velocity_across(
            *self._centre_motion(state_with_derivatives, speeds), yaw_rate
        )

    # --- symmetries

    def symmetric_directions(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the displacements that leave the equations of motion at y unchanged, as free speeds.

        Returns
        -------
        Displacements (n, k) along the k symmetries of the ground, and (n, j) along the j cyclic joints.
        """
        free = self.to_free_state(y)
        layout = self.free_machine.layout
        R = rotation(free[layout.q])
        joints = len(self.system.model.joints)
        ground = np.zeros((6 + joints, self.symmetry.count))
        for k, (velocity, turn) in enumerate(self.symmetry.velocities_at(free[layout.p])):
            ground[:3, k] = R.T @ velocity
            ground[3:6, k] = R.T @ [0.0, 0.0, turn]
        own = np.zeros((6 + joints, len(self.cyclic_joints)))
        names = [joint.name for joint in self.system.model.joints]
        for k, name in enumerate(self.cyclic_joints):
            if name == "pitch":
                # Pitch is a rotation of the base about its lateral axis (to the left) through the
                # point `centre`.
                own[4, k] = 1.0
                own[:3, k] = np.cross(self.centre, [0.0, 1.0, 0.0])
            else:
                own[6 + names.index(name), k] = 1.0
        return ground[self.columns], own[self.columns]

    def anchors_at(self, y: Floats) -> Floats:
        """Return the anchors of pins: none, because on a terrain pins are ordinary contacts."""
        return np.zeros(0)

    @property
    def contact_options(self) -> dict[str, Any]:
        """The options of a run with the same contacts: the terrain, and contact options."""
        contact = {} if self.contact == CONTACT else {"contact": self.contact}
        return {"terrain": self.terrain, **contact}

    def contact_forces(self, y: Floats, w: Floats) -> dict[str, Floats]:
        """Return the force of the ground on each wheel (normal, along, across), N, by contact name.

        w (inputs,) are the inputs. Contacts that are not closed have zero force.
        """
        self.query.inputs = w
        _, forces, _ = self.query.accelerate(0.0, self.to_free_state(y), self.closed)
        keys = [self.query.key(contact) for contact, *_ in self.closed]
        out = {contact.name: np.zeros(3) for contact in self.system.model.contacts}
        for (wheel, _), force in zip(keys, forces, strict=True):
            out[wheel] = out[wheel] + force
        return out

    def check_forces(self, y: Floats, w: Floats) -> None:
        """Check that all normal forces push and that friction is sufficient, at y with inputs w.

        Redundant constraints are statically indeterminate; nothing is checked in that case.

        Raises
        ------
        ConfigurationError
            If a normal force is negative, or a rolling contact needs more friction than mu allows.
        """
        C, _ = self.velocity_constraints(0.0, self.to_free_state(y))
        if len(C) and np.linalg.matrix_rank(_scale_to_unit_rows(C), tol=RANK_OF_ROWS) < len(C):
            return
        self.query.inputs = w
        _, forces, _ = self.query.accelerate(0.0, self.to_free_state(y), self.closed)
        scale = FORCE_ROUNDING * float(np.abs(forces).max(initial=1e-300))
        for (contact, status, mu), force in zip(self.closed, forces, strict=True):
            wheel, feature = self.query.key(contact)
            if force[0] < -scale:
                raise ConfigurationError(
                    f"In this steady motion {feature!r} would have to pull the wheel {wheel!r} down with "
                    f"{-force[0]:.4g} N. Without a terrain contacts are ideal and hold in both directions."
                )
            friction = float(np.hypot(*force[1:]))
            if status == Status.ROLLING and friction > mu * force[0] + scale:
                raise ConfigurationError(
                    f"In this steady motion the wheel {wheel!r} needs friction of {friction / force[0]:.4g} "
                    f"on {feature!r}, and mu is {mu:g}."
                )


def _scale_to_unit_rows(matrix: Floats) -> Floats:
    """Return the rows of a matrix (k, n) scaled to unit length; zero rows stay zero."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(lengths > 0.0, lengths, 1.0)


def _rotation_with_derivatives(quaternion: Floats) -> tuple[Floats, Floats]:
    """Return the rotation matrix (3, 3) and its derivatives (k, 3, 3) for a quaternion with
    derivatives, (1 + k, 4).

    q has the shape (1 + k, 4): the quaternion, then its k derivatives.
    """
    R = rotation(quaternion[0])
    # The rotation matrix is quadratic in the quaternion. Therefore the central difference is its
    # exact derivative.
    dR = np.array(
        [
            (rotation(quaternion[0] + dq) - rotation(quaternion[0] - dq)) / 2.0
            for dq in quaternion[1:]
        ]
    )
    return R, dR.reshape(-1, 3, 3)


@lru_cache(maxsize=1)
def _angle_program() -> Program:
    """Return the program of the first and second derivatives of yaw, lean and pitch, eq. [angle-rates]."""
    graph = Graph()
    sizes = {"q": 4, "W": 3, "Wdot": 3}
    symbols = {
        name: [graph.symbol(f"{name}[{k}]") for k in range(size)] for name, size in sizes.items()
    }
    q, W, Wdot = (array(entries) for entries in symbols.values())
    rates, accelerations = yaw_lean_pitch_rates(rotation(q)[2], np.array([0.0, 1.0, 0.0]), W, Wdot)
    return trace_program("angles", symbols, {"rates": rates, "accelerations": accelerations})


def _differentiate_angles(
    quaternion: Floats, angular_velocity: Floats, angular_acceleration: Floats, output: str
) -> Floats:
    """Return the "rates" (rad/s) or "accelerations" (rad/s2) of yaw, lean and pitch with derivatives,
    (1 + k, 3).
    """
    lanes = {"q": quaternion, "W": angular_velocity, "Wdot": angular_acceleration}
    values = {
        name: np.repeat(x[:1].T, max(len(quaternion) - 1, 1), axis=1) for name, x in lanes.items()
    }
    rates = {name: x[1:].T if len(x) > 1 else np.zeros_like(x.T) for name, x in lanes.items()}
    out, d = run_tangent(_angle_program(), values, rates)
    return np.vstack([out[output][:, :1].T, d[output].T[: len(quaternion) - 1]])


def nearest_contacts(
    query: ContactQuery,
    free_state: Floats,
    contact: ContactOptions,
    previous: Sequence[Closed] = (),
    t: float = 0.0,
) -> tuple[Closed, ...]:
    """Return the nearest contact of each wheel with the ground, its status and its friction coefficient.

    If `previous` contains contacts, only their wheels are considered, and these keep their status.
    `to_free_state` is a state (q, p, r, v, z) of the free machine at time t (s).

    Raises
    ------
    ConfigurationError
        If there is no ground below a wheel.
    """
    wheels = query.machine.wheels
    wanted = {c.wheel for c, *_ in previous} or {
        k for k, wheel in enumerate(wheels) if getattr(wheel, "touches", True)
    }
    statuses = {c.wheel: status for c, status, _ in previous}
    margin = FIRST_SEARCH * query.wheel_size
    limit = NEAREST_SEARCH * max(query.wheel_size, 1.0)
    while True:
        near = query.find_surroundings(t, free_state, 2.0 * margin)
        rows = query.evaluate_rows(t, free_state, near.contacts)
        best: dict[int, int] = {}
        for k in np.argsort(np.abs(rows[:, query.row.gap.start])).tolist():
            wheel = near[k].wheel
            if wheel not in wanted or wheel in best:
                continue
            if query.excess(near[k], rows[k]) <= query.tol.border:
                best[wheel] = k
        missing = wanted - set(best)
        if not missing:
            break
        margin *= 4.0
        if margin > limit or query.watches_all:
            name = wheels[min(missing)].name
            raise ConfigurationError(
                f"There is no ground below the wheel {name!r}. Place the machine on the terrain: use "
                "draisine.place, or another start."
            )
    closed = []
    for wheel, k in sorted(best.items()):
        status, mu = query.contact_law(near[k], contact)
        closed.append((near[k], statuses.get(wheel, status), mu))
    return tuple(closed)


def lift_above_ground(query: ContactQuery, free_state: Floats) -> Floats:
    """Return a free state lifted until no wheel centre is below a `SmoothGround`.

    A smooth patch has no nearest point for a wheel below it. Flat faces have one on both sides, so that
    states on other terrains are returned unchanged.
    """
    lifted = free_state.copy()
    if isinstance(query.terrain, SmoothGround):
        centres = query.centres(0.0, free_state)
        below = query.terrain.height(centres[:, 0], centres[:, 1]) + query.longest - centres[:, 2]
        lifted[query.machine.layout.p][2] += max(float(below.max(initial=0.0)), 0.0)
    return lifted


def sample_ground(
    query: ContactQuery, free_state: Floats, contact: ContactOptions, closed: Sequence[Closed]
) -> tuple[Floats, Floats]:
    """Return contact points (k, 3), m, and unit normals (k, 3) of the ground around a vehicle.

    The vehicle is displaced to a grid of 25 positions in the plane, up to `SPREAD` times its length.
    """
    length = max(query.units.length, query.wheel_size)
    pose = query.machine.layout.p
    points = []
    normals = []
    for along in (-1.0, -0.4, 0.0, 0.5, 1.0):
        for across in (-0.9, -0.5, 0.0, 0.3, 0.8):
            moved = free_state.copy()
            moved[pose][:2] += SPREAD * length * np.array([along, across])
            moved = lift_above_ground(query, moved)
            found = nearest_contacts(query, moved, contact, closed)
            rows = query.evaluate_rows(0.0, moved, [c for c, *_ in found])
            points.append(rows[:, query.row.point])
            normals.append(rows[:, query.row.normal])
    return np.concatenate(points), np.concatenate(normals)


def ground_symmetry(machine: GroundedMachine, y: Floats) -> Symmetry:
    """Return the symmetries of the ground around the vehicle at y that also leave gravity unchanged."""
    free = machine.to_free_state(y)
    points, normals = sample_ground(machine.query, free, machine.contact, machine.closed)
    gravity = np.asarray(machine.system.model.gravity, float)
    return find_symmetry(points, normals, free[machine.free_machine.layout.p], gravity)
