"""One contact mode of a system with ideal (bilateral) contacts, compiled in minimal coordinates.

The state is y = (q, p, r, u, z): quaternion and position of the inner base frame, joint coordinates,
independent speeds, and states of force elements and control law. The dependent speeds follow from the
constraint rows by Gaussian elimination; its pivots are chosen at one configuration. The inner base frame is
aligned with the kinematic tree; users see the base frame of the model as it is defined.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.lie import quaternion, quaternion_product, rotation
from draisine.algebra.scalar import Floats
from draisine.codegen.program import Program
from draisine.errors import ConfigurationError
from draisine.mechanics import constraints, couplings
from draisine.mechanics.base import free_columns
from draisine.mechanics.constraints import Mode
from draisine.mechanics.formulations import multiplier
from draisine.mechanics.kinematics import geometry
from draisine.mechanics.tree import Tree
from draisine.system.artifacts import Artifacts, MachineTask, PivotPoint, Programs
from draisine.system.compiled import Compiled
from draisine.system.derivation import Pivoting
from draisine.system.layout import Layout, state_sizes
from draisine.system.state import State, find_wrong_lengths, make_state_error

if TYPE_CHECKING:
    from draisine.system.system import System

MIN_PIVOT_RATIO = 0.1
"""Smallest allowed magnitude of a pivot, as a fraction of its magnitude at the configuration at which it
was chosen. Rounding errors grow as a pivot shrinks; a tenth costs one digit.
"""

REUSED_PIVOT_RATIO = 0.3
"""Magnitude of a pivot, as a fraction of that at the configuration of its choice, above which earlier
pivots are used again. It exceeds `MIN_PIVOT_RATIO`, so that a run does not alternate between two sets of
pivots.
"""


MIN_LINEARISATION_PIVOT = 0.02
"""Smallest pivot, as a fraction of that at the configuration of its choice, with which equations are
linearised; below it other independent speeds are chosen, because small pivots amplify rounding errors, above
all in derivatives.
"""


class CompiledProgram:
    """Descriptor of one compiled program, which is bound to the parameters of its `ClosedForm` at its first
    use.
    """

    def __init__(self, name: str, meaning: str) -> None:
        self.name = name
        self.__doc__ = meaning

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = name

    def __get__(self, machine: "ClosedForm | None", owner: type) -> Compiled:
        if machine is None:
            return self  # type: ignore[return-value]
        compiled = machine.bind(self.name)
        machine.__dict__[self._attribute] = compiled
        return compiled


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """One contact mode of a system: its compiled programs, independent speeds and inner base frame."""

    system: "System"
    artifacts: Artifacts
    task: MachineTask

    rate = CompiledProgram("rate", "The right-hand side of y = (q, p, r, u, z).")
    observe = CompiledProgram("observe", "All outputs of a state.")
    project = CompiledProgram("project", "One Newton step to the nearest closed configuration.")
    rows = CompiledProgram("rows", "Constraint rows and gaps of a configuration.")
    entry = CompiledProgram(
        "enter", "The state vector y of a user's state, and the residuals of its constraints."
    )
    masses = CompiledProgram(
        "masses", "Mass matrix and constraint rows of all contact modes, in the user's speeds."
    )
    free = CompiledProgram(
        "free", "The saddle-point system of all contact modes, in the user's speeds."
    )
    initial = CompiledProgram(
        "initial", "All values that can be requested of an initial state, with derivatives."
    )
    variation = CompiledProgram("variation", "`M udot = f` and all outputs, with derivatives.")

    def __reduce__(self) -> Any:
        return _restore_machine, (self.system, self.task)

    @property
    def mode(self) -> Mode:
        """The contact mode: the contacts and their statuses."""
        return self.task.mode

    @property
    def states(self) -> int:
        """The number of states of the control law."""
        return self.task.states

    @property
    def memory(self) -> int:
        """The number of states z: those of the force elements, then those of the control law."""
        return self.system.model.memory + self.states

    @cached_property
    def choice(self) -> Pivoting:
        """The independent speeds, and the pivots that eliminate the dependent speeds."""
        return self.artifacts.choose_pivoting(self.task)

    @cached_property
    def programs(self) -> Programs:
        """The programs of the contact mode by name."""
        return self.artifacts.mode_programs(self.task, self.choice)

    def exported_observe(self) -> Program:
        """Return the program `observe` for exports; if the system has sensors, its last output `signals`
        contains their ideal signals.
        """
        if not self.system.model.sensors:
            return self.programs["observe"]
        added = self.system.added_sensors
        return self.artifacts.observe_with_signals(self.task, self.choice, added)

    def bind(self, name: str) -> Compiled:
        """Return the machine code of the program `name`, bound to the system's parameters."""
        if name in ("rate", "observe"):
            self.system.check_resistance(self.mode)
        return self.programs.bind(name, self.system.values)

    @cached_property
    def layout(self) -> Layout:
        """The layout of the state vector y: slices q, p, r, u, z."""
        speeds = len(self.choice.independent)
        return Layout(state_sizes(self.system.model, u=speeds, z=self.memory))

    @cached_property
    def pivots(self) -> Floats:
        """The magnitudes of the pivots at the configuration at which they were chosen, for the parameters
        of this system.
        """
        q, r = self._pivot_configuration or (
            self._inner_quaternion,
            np.zeros(self.layout.count("r")),
        )
        return np.abs(self.rate(q=q, r=r)["pivots"])

    def pivots_for(self, parameters: Floats, frames: tuple[Floats, Floats] | None = None) -> Floats:
        """Return the magnitudes of the pivots for N parameter sets, at the configuration at which the pivots
        were chosen.

        The shapes are (parameters, N) for `parameters` and (pivots, N) for the result. `frames` are the
        inner base frames (see the top of this file) of the sets; they are computed if omitted.
        """
        if self._pivot_configuration is None:
            x = self.rate.inputs.pack(q=(frames or self.frames_for(parameters))[0])
        else:
            q, r = self._pivot_configuration
            x = np.repeat(self.rate.inputs.pack(q=q, r=r)[:, None], parameters.shape[1], axis=1)
        return np.abs(self.rate.batch(x, self.rate.tables(parameters))["pivots"])

    @cached_property
    def _pivot_configuration(self) -> PivotPoint | None:
        """The configuration at which the pivots were chosen; None: zero configuration."""
        return self.artifacts.choose_redundancy(self.task, self.artifacts.nominal)[1]

    @cached_property
    def floors(self) -> Floats:
        """The smallest allowed magnitudes of the pivots; below them, other pivots are chosen."""
        return MIN_PIVOT_RATIO * self.pivots

    def floors_for(self, parameters: Floats, frames: tuple[Floats, Floats] | None = None) -> Floats:
        """Return the smallest allowed pivot magnitudes (pivots, sets) for sets of parameters (parameters,
        sets), see `pivots_for`.
        """
        return MIN_PIVOT_RATIO * self.pivots_for(parameters, frames)

    def is_valid_for_system(self) -> bool:
        """Return whether this closed form, derived at the nominal parameters, is valid for the parameters of
        the system.

        It is invalid if a joint axis has become parallel to the reference axis of its frame, or if a
        redundant constraint row has become independent.
        """
        # At the nominal parameters the closed form is valid without further computation.
        if self.artifacts.nominal == self.system.parameters:
            return True
        spare, _ = self.artifacts.choose_redundancy(self.task, self.system.parameters)
        if tuple(self.choice.spare) != spare:
            return False
        tables = (self.bind("frame").table, self.rate.table)
        return all(np.isfinite(table).all() for table in tables)

    @cached_property
    def frame(self) -> tuple[Floats, Floats]:
        """The axes (3, 3) and the origin (3), in m, of the inner base frame relative to the user's base
        frame.
        """
        out = self.bind("frame")()
        return out["R"].reshape(3, 3), out["o"]

    def frames_for(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return quaternions (4, sets) and origins (3, sets) in m of the inner base frame for sets of
        parameters (parameters, sets).
        """
        frame = self.bind("frame")
        at_rest = np.zeros((frame.inputs.size, parameters.shape[1]))
        out = frame.batch(at_rest, frame.tables(parameters))
        axes = out["R"].reshape(3, 3, -1)
        return quaternion(axes), out["o"]

    @cached_property
    def _no_anchors(self) -> Floats:
        """Zeros for the anchor points of pins, used when the positions of pins are not checked."""
        return np.zeros(self.entry.inputs.count("anchors"))

    @cached_property
    def _inner_quaternion(self) -> Floats:
        """The quaternion of the inner base frame relative to the user's base frame."""
        return quaternion(self.frame[0])

    @cached_property
    def _user_quaternion(self) -> Floats:
        """The quaternion of the user's base frame relative to the inner base frame."""
        return _invert_quaternions(self._inner_quaternion)

    @property
    def columns(self) -> list[int]:
        """The indices of the free speeds among (V, W, rdot). A base with fewer than six degrees of freedom,
        such as a planar one, excludes some of (V, W).
        """
        return free_columns(self.system.model)

    def inner_pose(
        self, q: Floats, p: Floats, frames: tuple[Floats, Floats] | None = None
    ) -> tuple[Floats, Floats]:
        """Return quaternion and position of the inner base frame for the user's base pose, shapes (4,) and
        (3,), or (4, N) and (3, N) for N states. `frames` are the inner base frames of other parameters, one
        column per state.
        """
        turn, origin = (self._inner_quaternion, self.frame[1]) if frames is None else frames
        return quaternion_product(q, turn), p + _rotate_vectors(q, origin)

    def user_pose(
        self, q: Floats, p: Floats, frames: tuple[Floats, Floats] | None = None
    ) -> tuple[Floats, Floats]:
        """Return quaternion and position of the user's base frame for the pose of the inner base frame;
        `frames` are the inner base frames of other parameters, one column per state.
        """
        origin = self.frame[1] if frames is None else frames[1]
        back = self._user_quaternion if frames is None else _invert_quaternions(frames[0])
        # Products of plain floats are faster than those of arrays with four numbers.
        user = quaternion_product(*((q.tolist(), back.tolist()) if q.ndim == 1 else (q, back)))
        return user, p - _rotate_vectors(user, origin)

    def user_speeds(
        self, inner_speeds: Floats, frames: tuple[Floats, Floats] | None = None
    ) -> Floats:
        """Return the user's speeds v (n, N) from the speeds `inner_speeds` (n, N) of the inner base
        frame, with V at its origin. `frames` are the inner base frames of other parameters, one
        column per state.
        """
        speeds = np.zeros((6 + len(self.system.model.joints), inner_speeds.shape[1]))
        speeds[self.columns] = inner_speeds
        turn, o = (
            (self._inner_quaternion[:, None], self.frame[1][:, None]) if frames is None else frames
        )
        A = rotation(turn)
        V, W = ((A * x).sum(axis=1) for x in (speeds[:3], speeds[3:6]))
        speeds[:3] = V - np.cross(W.T, o.T).T
        speeds[3:6] = W
        return speeds[self.columns]

    def enter(
        self,
        state: State,
        t: float = 0.0,
        z: Floats | None = None,
        tolerance: float = 1e-8,
        anchors: Floats | None = None,
        gap: float = np.inf,
    ) -> Floats:
        """Return the state vector y of a user's state, after checking the constraints.

        Parameters
        ----------
        state
            Pose, joint coordinates and speeds in the user's base frame.
        t
            Time, s.
        z
            States of force elements and control law; by default those of `state`, and zeros for the control
            law.
        tolerance
            Largest violation of the constraints by the speeds, relative to the largest speed.
        anchors
            Anchor points of pinned contacts, m; by default they are not checked.
        gap
            Largest gap of closed contacts, m.

        Raises
        ------
        ConfigurationError
            If speeds violate the constraints or closed contacts are open.
        """
        held = self._no_anchors if anchors is None else anchors
        try:
            entry = self.entry(
                t=[t],
                q=state.q,
                p=state.p,
                r=state.r,
                v=state.v,
                turn=self._inner_quaternion,
                anchors=held,
            )
        except (AttributeError, TypeError, ValueError):
            raise make_state_error(self.system, state) from None
        self._check_entry(entry, tolerance, gap)
        if not self.memory:
            return entry["y"]
        if z is None:
            z = np.append(state.elements(self.system.model.memory), np.zeros(self.states))
        if len(z) != self.memory:
            raise make_state_error(self.system, state)
        return np.concatenate([entry["y"], z])

    def leave(self, y: Floats, t: float = 0.0) -> State:
        """Return the user's state of a state vector y at time t (s)."""
        values = self.layout.split(y)
        q, p = self.user_pose(values["q"], values["p"])
        z = values["z"][: self.system.model.memory].copy()
        return State(q, p, values["r"].copy(), self.observation(y, t)["v"], element_state=z)

    def enter_all(
        self,
        states: Mapping[str, Floats],
        parameters: Floats,
        z: Floats,
        t: float = 0.0,
        tolerance: float = 1e-8,
    ) -> Floats:
        """Return the state vectors y (n, N) of N states, after checking the constraints of each.

        The arrays q, p, r, v and the parameters have one column per state; z has one column per state, or is
        the same for all.
        """
        program = self.entry
        turn = self.frames_for(parameters)[0]
        inputs = {**states, "turn": turn, "t": np.full((1, parameters.shape[1]), t)}
        entry = program.batch(program.inputs.pack(**inputs), program.tables(parameters))
        violation = np.abs(entry["broken"]).max(axis=0, initial=0.0)
        scale = np.maximum(1.0, np.abs(entry["speeds"]).max(axis=0, initial=0.0))
        for k in np.flatnonzero(~(violation <= tolerance * scale)):
            self._check_entry({name: values[:, k] for name, values in entry.items()}, tolerance)
        memory = np.broadcast_to(z if z.ndim == 2 else z[:, None], (len(z), len(violation)))
        return np.vstack([entry["y"], memory])

    def columns_of(self, states: Sequence[State]) -> dict[str, Floats]:
        """Return states of this system as arrays q, p, r, v with one column per state."""
        for state in states:
            if not isinstance(state, State) or find_wrong_lengths(self.system, state):
                raise make_state_error(self.system, state)
        return {name: np.array([getattr(s, name) for s in states], float).T for name in "qprv"}

    def _check_entry(
        self, entry: Mapping[str, Floats], tolerance: float, gap: float = np.inf
    ) -> None:
        """Raise ConfigurationError if a state violates the constraints of the contact mode or its closed
        contacts are open.
        """
        violation = _largest_magnitude(entry["broken"])
        # The tolerance is relative to the largest speed, but at least absolute: speeds below 1 (m/s
        # or rad/s) count as 1.
        if not (
            violation <= tolerance or violation <= tolerance * _largest_magnitude(entry["speeds"])
        ):
            worst = int(np.argmax(np.abs(entry["broken"])))
            label = constraints.row_labels(self.system.model, self.mode)[worst]
            raise ConfigurationError(
                f"the speeds violate the constraint {label!r} by {violation:.3g}. "
                "Build the state with draisine.state(), which solves for consistent speeds (at the time t), "
                "with the same contacts: pass the same `mode` to state() and to ContactOptions."
            )
        if gap < np.inf and not _largest_magnitude(entry["conditions"]) <= gap:
            raise ConfigurationError(
                f"the state is {_largest_magnitude(entry['conditions']):.3g} m off its closed contacts "
                f"{dict(self.mode)}. Build it with draisine.state(), open the contact, or run on a "
                "terrain (simulate(..., terrain=...))."
            )

    def least_pivot(self, y: Floats, t: float = 0.0) -> float:
        """Return the smallest pivot magnitude at a state y, as a fraction of its magnitude at the
        configuration at which it was chosen.
        """
        pivots = self.rate(t=[t], **self.layout.split(y))["pivots"]
        return float(np.min(np.abs(pivots) / self.pivots, initial=1.0))

    def renewed(self, y: Floats) -> "tuple[ClosedForm, Floats]":
        """Return the closed form with independent speeds whose pivots are large at a state y, and y in these
        speeds. If the present pivots are large enough, return both unchanged.
        """
        if self.least_pivot(y) >= MIN_LINEARISATION_PIVOT:
            return self, y
        values = self.layout.split(y)
        machine = self.system.machine(
            self.mode, self.task.law, self.states, configuration=(values["q"], values["r"])
        )
        return machine, machine.enter(self.leave(y), z=values["z"])

    def anchors_at(self, y: Floats) -> Floats:
        """Return the positions (m, world axes) at which pins are fixed to the ground at a state y."""
        contacts = self.system.model.contacts
        pins = [k for k, contact in enumerate(contacts) if contact.anchored]
        if not pins:
            return np.zeros(0)
        return self.observation(y)["points"].reshape(-1, 3)[pins].ravel()

    def contact_forces(self, y: Floats, w: Floats) -> dict[str, Floats]:
        """Return the force of the ground on each contact (normal, along, across), N, by contact name, at a
        state y with inputs w.
        """
        anchors = self.anchors_at(y)
        seen = self.observations(y[None], w=w[:, None], anchors=anchors if len(anchors) else None)
        names = [contact.name for contact in self.system.model.contacts]
        return dict(zip(names, seen["forces"].reshape(-1, 3), strict=True))

    def check_forces(self, y: Floats, w: Floats) -> None:
        """Accept any contact forces: ideal contacts hold in both directions and do not slip."""

    @property
    def contact_options(self) -> dict[str, Any]:
        """The options of a run with the same contacts: the contact mode."""
        return {"mode": dict(self.mode)}

    def observations(
        self,
        y: Floats,
        t: Floats | None = None,
        w: Floats | None = None,
        anchors: Floats | None = None,
    ) -> dict[str, Floats]:
        """Return all outputs of the program `observe` as arrays whose last axis is time, for states y
        (times, n), times t (s) and inputs w (inputs, times).
        """
        optional = {"w": w, "anchors": anchors}
        x = self.observe.inputs.pack(
            t=np.zeros((1, len(y))) if t is None else t[None],
            **self.layout.split(y.T),
            **{name: values for name, values in optional.items() if values is not None},
        )
        return self.observe.batch(x)

    def observation(self, y: Floats, t: float = 0.0, w: Floats | None = None) -> dict[str, Floats]:
        """Return all outputs of the program `observe` for one state y."""
        inputs = {} if w is None else {"w": w}
        return self.observe(t=[t], **self.layout.split(y), **inputs)


def check_inertia(tree: Tree, mode: Mode) -> None:
    """Raise ModelError if the mass matrix, reduced to the free motions of a contact mode, is singular both
    at the zero configuration and near it.
    """
    model = tree.model
    n = len(model.joints)
    columns = free_columns(model)
    switched = multiplier.active_row_indices(model, mode)
    driven = [6 + k for k in constraints.prescribed_joints(model)]
    at_rest = np.zeros(6 + n)
    inputs = np.zeros(len(model.inputs))
    idle: Floats | None = None
    # The zero configuration may be singular because of its symmetry. Therefore a configuration
    # nearby without symmetry is tested as well.
    for r in (np.zeros(n), 0.1 * np.sin(1.0 + np.arange(n))):
        out = multiplier.evaluate_free_dynamics(tree, np.eye(3), np.zeros(3), r, at_rest, inputs)
        joints = [*np.eye(6 + n)[driven], *couplings.coupling_rows(tree, geometry(tree, r))]
        C = np.vstack([out.C[switched], *(row[None, :] for row in joints)])[:, columns]
        idle = multiplier.find_massless_motion(out.M[np.ix_(columns, columns)], C)
        if idle is None:
            return
    raise multiplier.massless_motion_error(np.asarray(idle), model.speeds)


def _largest_magnitude(values: Floats) -> float:
    """Return the largest absolute value of a few numbers, faster than NumPy; NaN if one is NaN."""
    sizes = list(map(abs, values.tolist()))
    total = sum(sizes)
    return max(sizes, default=0.0) if total == total else total


def _invert_quaternions(q: Floats) -> Floats:
    """Return the inverse unit quaternions."""
    return (q.T * np.array([1.0, -1.0, -1.0, -1.0])).T


def _rotate_vectors(quaternions: Floats, vectors: Floats) -> Floats:
    """Return vectors (3,) or (3, N) rotated by unit quaternions (4,) or (4, N)."""
    R = rotation(quaternions.tolist() if quaternions.ndim == 1 else quaternions)
    if vectors.ndim == 2:
        return np.einsum("ijt,jt->it", R, vectors)
    return R @ vectors if R.ndim == 2 else np.tensordot(R, vectors, axes=(1, 0))


def _restore_machine(system: "System", task: MachineTask) -> ClosedForm:
    """Return the compiled equations of one contact mode of an unpickled system.

    Pickles contain no machine code. It is loaded from the cache, or compiled again.
    """
    return system.make(task)
