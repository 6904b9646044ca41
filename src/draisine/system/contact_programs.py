"""Derivation of the programs of a vehicle on a terrain, from which every contact mode is assembled.

The programs are: the vehicle without ground (mass matrix M, bias force F and the constraint rows that are
always active), each wheel on each kind of ground feature (gap, contact frame, constraint rows, tyre
forces), joint stops, and closed forms of contact modes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.patch import PATCH
from draisine.algebra.scalar import Array, Scalar, array
from draisine.algebra.trace import Graph, evaluate, tangent
from draisine.codegen.derivative import retrace
from draisine.codegen.program import Program, trace_program
from draisine.errors import ModelError
from draisine.mechanics import constraints, couplings, energy
from draisine.mechanics.applied import ElementForces, generalised_input_force, limited_joints
from draisine.mechanics.base import base_rates, base_rotation, expand_speeds, free_columns
from draisine.mechanics.contact.elements import (
    REPORTED,
    FeatureForces,
    contact_elements,
    feature_forces,
    read_feature_quantities,
)
from draisine.mechanics.contact.features import (
    FEATURE,
    LOAD,
    ContactRows,
    contact_rows,
    contact_rows_on_body,
    move_feature,
)
from draisine.mechanics.contact.modes import (
    FreeMachine,
    ModeMotion,
    Signature,
    mode_names,
    solve_mode,
)
from draisine.mechanics.contact.rolling import solve_rolling
from draisine.mechanics.kinematics import geometry, velocities
from draisine.mechanics.newton_euler import inverse_dynamics, mass_matrix
from draisine.mechanics.readings import Readings
from draisine.mechanics.tree import assemble
from draisine.model import Blade, Contact, Flat, Model, Pin, Wheel
from draisine.system.layout import Layout, state_sizes
from draisine.system.tracing import Commanded, Tracing, UntraceableLawError, rates_by_symbol
from draisine.terrain.feature import ObstacleMotion

_GEOMETRY_SIZES = {"gap": 1, "point": 3, "normal": 3, "centre": 3, "axle": 3}
_GEOMETRY_SIZES |= {"local_point": 3, "local_normal": 3, "fold": 3, "armed": 1}
_ROW_SIZES = {"c": 3, "stretch": 1, "b": 3, "along": 3}
"""Sizes of the outputs of a contact program by name: the geometry of the contact, and the outputs after its
three constraint rows C. `model.surface.FeatureContact` explains the geometry (gap, fold, stretch, ...).
"""

GEOMETRY_SUFFIX = ".geometry"
"""Suffix of the name of a program that computes only the geometry of a contact."""


def contact_layout(model: Model) -> Layout:
    """Return the layout of the outputs that the programs of all contacts share.

    Vehicles with force elements at contacts (tyres) have further outputs. The generalised force of the
    elements is `push + lift * load` with the normal load in N; the reported quantities (normal, along and
    across force, power, stored energy) are `forces + lifted * load`. `rates` are the time derivatives of the
    element states. `uneven` is 1 if the force is nonlinear in the load, so that these linear functions are
    valid near one load only.
    """
    n = len(model.speeds)
    has_elements = any(contact_elements(model, c) for c in model.contacts)
    sizes = {
        "push": n,
        "lift": n,
        "forces": REPORTED,
        "lifted": REPORTED,
        "rates": model.memory,
        "uneven": 1,
    }
    elements = {name: has_elements * size for name, size in sizes.items()}
    return Layout(_GEOMETRY_SIZES | {"C": 3 * n} | _ROW_SIZES | elements)


def program_names(model: Model, motions: int) -> dict[str, tuple[int, str, int | None]]:
    """Return the programs of a vehicle on a terrain by name, each as (index of the contact, kind of ground
    feature, index of the ground motion).

    `motion` and `observe` belong to the vehicle as a whole. `wheel.kind` exists for each wheel and each
    kind of ground feature, fixed (motion None) or moved by one of the motions. `wheel.flat0` and so on are
    for flat surfaces of other bodies, and `joint.stop` is for joints with stops, whose indices follow those
    of the contacts.
    """
    out: dict[str, tuple[int, str, int | None]] = dict.fromkeys(
        ("motion", "observe"), (-1, "", None)
    )
    for k, wheel in enumerate(model.contacts):
        for kind in wheel.surface.kinds:
            out[f"{wheel.name}.{kind}"] = (k, kind, None)
            out |= {f"{wheel.name}.{kind}.{i}": (k, kind, i) for i in range(motions)}
        for kind in flats_by_kind(wheel):
            out[f"{wheel.name}.{kind}"] = (k, kind, None)
    first = len(model.contacts)
    return out | {f"{j.name}.stop": (first + k, "stop", None) for k, j in enumerate(model.joints)}


def trace_motion(motion: ObstacleMotion) -> tuple[Program, list[float]]:
    """Return the rotation R and the position p (m) of moving ground as a program of time, and the numerical
    constants of the motion. These are inputs of the program, so that motions that differ in constants alone
    share one program.

    >>> from draisine.terrain.motions import Shake, Slide
    >>> trace_motion(Shake((0.0, 0.0, 0.02), 40.0))[1], trace_motion(Slide((2.0, 0.0, 0.0)))[1]
    ([40.0, 0.02], [2.0])
    """
    t = Graph().symbol("t[0]")
    R, p = (np.asarray(x, dtype=object).ravel() for x in motion(t))
    program = trace_program("ground", {"t": [t]}, {"R": [*R], "p": [*p]})
    numbers = []
    steps = []
    for step in program.steps:
        # Zeros and ones are not inputs: tracing has already simplified the products with them.
        if step[0] == "const" and abs(step[1]) not in (0.0, 1.0):
            numbers.append(step[1])
            step = ("input", "numbers", len(numbers) - 1)
        steps.append(step)
    return replace(program, inputs={"t": 1, "numbers": len(numbers)}, steps=steps), numbers


def flats_by_kind(contact: Contact) -> dict[str, Flat]:
    """Return the flat surfaces of other bodies that a contact can touch, by the name of the kind of ground
    feature.
    """
    flats = contact.flats if isinstance(contact, Wheel) else ()
    return {f"flat{k}": flat for k, flat in enumerate(flats)}


def free_gap(contact: Contact) -> Scalar:
    """Return the gap (m) below which a contact carries load. It is positive for a tyre on a vertical spring,
    because the model defines the wheel with the deflected tyre, and zero for all other contacts.
    """
    tyre: Any = contact.tyre if isinstance(contact, Wheel) else None
    return tyre.free_gap if getattr(tyre, "sprung", False) else 0.0


def explain_unsupported_contact(contact: Contact) -> str | None:
    """Return the reason why a terrain does not support a contact, or None."""
    if isinstance(contact, Pin):
        return f"pin {contact.name!r} works on the ground plane only; on a terrain use wheels and blades."
    if isinstance(contact, Blade) and not contact.lifts:
        return (
            f"blade {contact.name!r} has no normal force on the plane. Set lifts=True, so that a terrain "
            "can carry it."
        )
    return None


class TerrainDerivation:
    """Symbolic equations of the vehicle without ground and of its wheels on ground features; the state is y
    = (q, p, r, v, z).
    """

    def __init__(self, tracing: Tracing, motions: Sequence[Program] = ()) -> None:
        model = tracing.model
        self.tracing = tracing
        self.motions = tuple(motions)
        for contact in model.contacts:
            refusal = explain_unsupported_contact(contact)
            if refusal is not None:
                raise ModelError(refusal)
        self.model = model
        point = dict(tracing.nominal) | {f"q[{k}]": float(k == 0) for k in range(4)}
        self.tree = assemble(model, aligned=False, evaluate=lambda values: evaluate(values, point))
        self.columns = free_columns(model)
        sizes = {"t": 1, **state_sizes(model, v=len(self.columns), z=tracing.memory)}
        sizes |= {"w": len(model.inputs), "f": FEATURE, "a": len(self.columns)}
        sizes["ground"] = sum(motion.inputs["numbers"] for motion in self.motions)
        sizes["cell"] = PATCH
        s = tracing.symbols(sizes)
        self.symbols = s
        self.R = base_rotation(model, s["q"])
        self.geo = geometry(self.tree, s["r"])
        self.speeds = expand_speeds(model, s["v"])
        self.vel = velocities(
            self.tree, self.geo, self.speeds[:3], self.speeds[3:6], self.speeds[6:], np.zeros(3)
        )
        self.world = constraints.ground(self.tree, self.geo, self.R)

    def derive(self, name: str) -> Program:
        """Return the program with a name from `program_names` or `mode_names`."""
        if name == "motion":
            return self._trace_motion()
        if name == "observe":
            return self._trace_observe()
        modes = mode_names(self.model)
        if name in modes:
            return self._trace_mode(name, modes[name])
        has_rows = not name.endswith(GEOMETRY_SUFFIX)
        subjects = program_names(self.model, len(self.motions))
        contact, kind, motion = subjects[name.removesuffix(GEOMETRY_SUFFIX)]
        if kind == "stop":
            return self._trace_stop(contact - len(self.model.contacts), has_rows)
        wheel = self.model.contacts[contact]
        assert not isinstance(wheel, Pin)
        return self._trace_contact(wheel, kind, motion, has_rows)

    def _trace_program(
        self, name: str, outputs: dict[str, Any], further_inputs: tuple[str, ...] = ()
    ) -> Program:
        """Return a program whose inputs are time, state, inputs of the model and `further_inputs`."""
        names = ("t", "q", "p", "r", "v", "z", "w", *further_inputs)
        return self.tracing.make_program(name, {key: self.symbols[key] for key in names}, outputs)

    @cached_property
    def _configuration_rates(self) -> tuple[Array, Array, Array]:
        """The time derivatives of q, p and r."""
        return base_rates(self.model, self.R, self.symbols["q"], self.speeds, np.zeros(3))

    @cached_property
    def _symbol_rates(self) -> dict[str, Any]:
        """The time derivatives of the symbols of the configuration, for derivatives along the motion."""
        qdot, pdot, rdot = self._configuration_rates
        return rates_by_symbol(q=qdot, p=pdot, r=rdot)

    @cached_property
    def driven(self) -> Commanded:
        """The inputs, the guided joints and the state rates of the control law; on a terrain the guides of
        joints are always active.
        """
        try:
            commanded = self.tracing.apply_law_and_inputs(
                self._readings, self.symbols["z"], self.symbols["w"]
            )
        except UntraceableLawError as error:
            raise UntraceableLawError(error.reason, " on a terrain") from error
        for k, guide in commanded.guides.items():
            if guide.active is not True:
                raise ModelError(
                    f"law: it guides joint {self.model.joints[k].name!r} at times; on a terrain a "
                    "joint is guided always or never."
                )
            if guide.of is not None or not math.isinf(guide.limit):
                raise ModelError(
                    f"law: the Guide of joint {self.model.joints[k].name!r} accelerates another coordinate "
                    "or has a limit; on a terrain a Guide is a row of its own joint. Run without a terrain."
                )
        return commanded

    @cached_property
    def acting(self) -> ElementForces:
        """The forces of the force elements that do not act at contacts, and the rates of their states."""
        return self.tracing.element_forces(self._readings, None, self.symbols["z"])

    def _element_forces(
        self, wheel: Wheel | Blade, contact_rows: ContactRows, ground_velocity: Array, load: Any
    ) -> FeatureForces | None:
        """Return the forces of the force elements at a wheel on a ground feature; None if the wheel has no
        force elements.

        Parameters
        ----------
        wheel
            The wheel or blade.
        contact_rows
            Contact frame and constraint rows of the wheel.
        ground_velocity
            Velocity of the ground at the contact point, m/s.
        load
            Load (N) about which nonlinear forces are linearised.
        """
        elements = contact_elements(self.model, wheel)
        if not elements:
            return None
        along = self._symbol_rates | {"t[0]": 1.0}
        point = array(tangent(list(contact_rows.meeting.point), along, contact_rows.meeting.held))
        relative = contact_rows.C @ self.speeds - array(
            [axis @ ground_velocity for axis in contact_rows.axes]
        )
        readings = read_feature_quantities(
            self._readings, wheel, contact_rows, relative, point - ground_velocity
        )
        z = self.symbols["z"][: self.model.memory]
        return feature_forces(readings, elements, z, load)

    @property
    def _state_rates(self) -> list[Scalar]:
        """The time derivatives of all states z of force elements and control law."""
        return [*self.acting.rates, *self.driven.rates]

    @cached_property
    def _readings(self) -> Readings:
        """The quantities that control laws and outputs can read."""
        return Readings(
            self.tree,
            self.geo,
            self.world,
            self.symbols["p"],
            self.vel,
            self.speeds,
            np.zeros(3),
            self.symbols["t"][0],
        )

    @cached_property
    def _mass_and_bias(self) -> tuple[Array, Array]:
        """The mass matrix M and the bias force F of `M vdot + F = C' lam`."""
        zero = np.zeros(3)
        columns = self.columns
        no_acceleration = array([0.0] * len(self.speeds))
        gravity = self.R.T @ self.model.gravity
        F = inverse_dynamics(self.tree, self.geo, self.vel, no_acceleration, zero, zero, gravity)
        # The bias force F is on the left-hand side of M vdot + F = C' lam. Therefore applied forces
        # are subtracted.
        F = F - generalised_input_force(self.tree, self.geo, self.world, self.driven.inputs, zero)
        F = F - self.acting.Q
        return mass_matrix(self.tree, self.geo, zero)[np.ix_(columns, columns)], F[columns]

    @cached_property
    def _applied_force(self) -> Array:
        """The generalised forces without a potential: inputs, control law, force elements and dampers."""
        Q = generalised_input_force(
            self.tree, self.geo, self.world, self.driven.inputs, np.zeros(3)
        )
        Q = Q + self.acting.Q
        for k, joint in enumerate(self.model.joints):
            Q[6 + k] = Q[6 + k] - joint.damper * self.vel.rdot[k]
        return Q[self.columns]

    def _trace_motion(self) -> Program:
        """Return the program of the vehicle without ground: rates of the configuration, M and F of `M vdot
        + F = C' lam`, the applied forces within F, rates of z, the constraint rows that are active in every
        contact mode (prescribed and guided joints, then couplings), and the requested torques of motors with
        limits.
        """
        M, F = self._mass_and_bias
        outputs: dict[str, Any] = {
            "flow": np.concatenate(self._configuration_rates),
            "M": M,
            "F": F,
            "applied": self._applied_force,
            "zdot": self._state_rates,
            **self._trace_permanent_rows(),
            "guided": [float(k in self.driven.guides) for k in range(len(self.model.joints))],
            "requested": [self.driven.requests[k] for k in limited_joints(self.model)],
        }
        return self._trace_program("motion", outputs)

    def _trace_permanent_rows(self) -> dict[str, Any]:
        """Return the constraint rows that are active in every contact mode: `held vdot = held_c`, `held v =
        held_b`, and the residuals `held_gap` of their position constraints. Guided joints have no position
        constraint.
        """
        r = self.symbols["r"]
        t = self.symbols["t"][0]
        first = len(self.model.twist)
        # Coordinate, rate and acceleration of the prescribed and guided joints
        motions = {k: joint.motion(t) for k, joint in enumerate(self.model.joints) if joint.motion}
        motions |= {
            k: (r[k], self.symbols["v"][first + k], guide.acceleration)
            for k, guide in self.driven.guides.items()
        }
        joints = sorted(motions)
        rows = [np.eye(6 + len(r))[6 + k] for k in joints] + couplings.coupling_rows(
            self.tree, self.geo
        )
        drifts = couplings.coupling_drifts(self.tree, self.geo, self.vel.rdot)
        return {
            "held": array([list(row[self.columns]) for row in rows]),
            "held_c": [*(motions[k][2] for k in joints), *(-x for x in drifts)],
            "held_b": [*(motions[k][1] for k in joints), *(0.0 for _ in drifts)],
            "held_gap": [
                *(r[k] - motions[k][0] for k in joints),
                *couplings.coupling_residuals(self.tree, self.geo),
            ],
        }

    def _trace_mode(self, name: str, signature: Signature) -> Program:
        """Return the program of ydot, contact forces and pivots of a contact mode on ground features, in
        closed form.
        """
        count = len(signature)
        s = self.symbols
        held = self._trace_permanent_rows()
        # Choose pivots at the zero configuration, with a friction coefficient of 0.5, which is
        # typical of tyres and rubber.
        drawing = {f"{key}[{k}]": 0.0 for key, symbols in s.items() for k in range(len(symbols))}
        drawing |= {f"mu[{k}]": 0.5 for k in range(count)}
        drawing |= {"q[0]": 1.0, **self.tracing.nominal}
        self.symbols |= self.tracing.symbols({"features": FEATURE * count, "mu": count})
        features = self.symbols["features"]
        mu = self.symbols["mu"]
        if self._is_pure_rolling(signature):
            force = generalised_input_force(
                self.tree, self.geo, self.world, self.driven.inputs, np.zeros(3)
            )
            force = force + self.acting.Q
            pose = (self.R, s["r"])
            motion = solve_rolling(
                self.model, signature, pose, self.speeds, force, features, drawing
            )
            return self._mode_program(name, motion)
        free = FreeMachine(
            self.tree,
            self.geo,
            self.R,
            s["p"],
            self.speeds,
            self._symbol_rates,
            self.columns,
            *self._mass_and_bias,
            held["held"],
            held["held_c"],
        )
        motion = solve_mode(free, signature, features, mu, drawing, self._element_forces)
        return self._mode_program(name, motion)

    def _is_pure_rolling(self, signature: Signature) -> bool:
        """Return whether all closed contacts of a contact mode are wheels without tyres that roll on faces,
        and the vehicle has no other constraints.
        """
        model = self.model
        has_motions = any(joint.motion for joint in model.joints)
        is_free = len(model.twist) == 6 and not self.driven.guides and not has_motions
        return (
            is_free
            and bool(signature)
            and all(
                (kind, rows) == ("face", 3)
                and isinstance(wheel := model.contacts[k], Wheel)
                and not contact_elements(model, wheel)
                for k, kind, rows in signature
            )
        )

    def _mode_program(self, name: str, motion: ModeMotion) -> Program:
        """Return the program of ydot, contact forces and pivots from the solved motion of a contact
        mode.
        """
        elements = array(self.acting.rates) + motion.rates
        outputs = {
            "rate": [
                *np.concatenate(self._configuration_rates),
                *motion.vdot,
                *elements,
                *self.driven.rates,
            ],
            "forces": motion.forces,
            "pivots": motion.pivots,
        }
        return self._trace_program(name, outputs, ("f", "ground", "cell", "features", "mu"))

    def _trace_observe(self) -> Program:
        """Return the program of all outputs for a state and its accelerations a."""
        s = self.symbols
        linear, angular = energy.total_momenta(self.tree, self.geo, self.vel, self.world, s["p"])
        readings = self._readings
        outputs = [
            readings.yaw,
            readings.lean,
            readings.pitch,
            *(o.value(readings) for o in self.model.outputs),
        ]
        # The rates of outputs need the accelerations, which the contact problem determines.
        # Therefore these are an input.
        seed = self._symbol_rates | rates_by_symbol(v=s["a"], t=[1.0], z=self._state_rates)
        gravity = self.model.gravity
        observations = {
            "position": s["p"],
            "v": s["v"],
            "vdot": s["a"],
            "kinetic": [energy.kinetic_energy(self.tree, self.vel)],
            "potential": [
                energy.potential_energy(self.tree, self.geo, self.world, s["p"], gravity)
            ],
            "momentum": linear,
            "angular_momentum": angular,
            "outputs": outputs,
            "output_rates": tangent(outputs, seed),
            "inputs": self.driven.inputs,
        }
        return self._trace_program("observe", observations, ("a",))

    def _trace_stop(self, joint_index: int, has_rows: bool) -> Program:
        """Return the program of a joint stop, r >= f1 (f0 = 1) or r <= f1 (f0 = -1), in the output layout
        of a contact without friction.
        """
        s = self.symbols
        row = s["f"][0] * np.eye(6 + len(self.model.joints))[6 + joint_index][self.columns]
        no_row = [0.0] * len(self.columns)
        outputs: dict[str, Any] = {
            "C": [*row, *no_row, *no_row],
            "gap": [s["f"][0] * (s["r"][joint_index] - s["f"][1])],
            "stretch": [1.0],
            "armed": [1.0],
        }
        return self._contact_program(
            f"{self.model.joints[joint_index].name}_stop", outputs, has_rows
        )

    def _ground_pose(self, motion_index: int) -> tuple[Array, Array]:
        """Return rotation (3, 3) and position (3) of moving ground at time t."""
        program = self.motions[motion_index]
        first = sum(earlier.inputs["numbers"] for earlier in self.motions[:motion_index])
        numbers = self.symbols["ground"][first : first + program.inputs["numbers"]]
        values = retrace(program, self.tracing.graph, {"t": self.symbols["t"], "numbers": numbers})
        R, p = (array([values[k] for k in program.outputs[name]]) for name in ("R", "p"))
        return R.reshape(3, 3), p

    def _trace_contact(
        self, wheel: Wheel | Blade, kind: str, motion: int | None, has_rows: bool
    ) -> Program:
        """Return the program of the contact of a wheel with a ground feature: its geometry (gap; point and
        normal, both also in the frame of moving ground; lengths that decide the number of contact points on
        an edge) and, with `has_rows`, its constraint rows.
        """
        s = self.symbols
        R, p = (np.eye(3), np.zeros(3)) if motion is None else self._ground_pose(motion)
        pose = (self.tree, self.geo, self.R, s["p"])
        flats = flats_by_kind(wheel)
        if kind in flats:
            rows = contact_rows_on_body(*pose, wheel, flats[kind])
        elif kind == "patch":
            f = array([*s["f"], *s["cell"]])
            rows = contact_rows(*pose, wheel, kind, f, None if motion is None else (R, p))
        else:
            f = s["f"] if motion is None else move_feature(kind, s["f"], R, p)
            rows = contact_rows(*pose, wheel, kind, f)
        outputs: dict[str, Any] = {
            "gap": [rows.meeting.gap - free_gap(wheel)],
            "point": rows.meeting.point,
            "normal": rows.meeting.normal,
            "centre": rows.centre,
            "axle": rows.surface.axle,
            "local_point": R.T @ (rows.meeting.point - p),
            "local_normal": R.T @ rows.meeting.normal,
            "fold": rows.meeting.fold,
            "armed": [wheel.armed(self._readings) if wheel.armed else 1.0],
        }
        if has_rows:
            along = self._symbol_rates | ({} if motion is None else {"t[0]": 1.0})
            outputs |= self._trace_contact_rows(
                wheel, rows, self._ground_velocity(rows, R, p), along
            )
        return self._contact_program(f"{wheel.name}_{kind}", outputs, has_rows, kind == "patch")

    def _ground_velocity(self, rows: ContactRows, R: Array, p: Array) -> Array:
        """Return the velocity (3) of moving ground at the contact point, m/s."""
        Rdot = array(tangent(list(R.ravel()), {"t[0]": 1.0})).reshape(3, 3)
        pdot = array(tangent(list(p), {"t[0]": 1.0}))
        return pdot + Rdot @ (R.T @ (rows.meeting.point - p))

    def _trace_contact_rows(
        self,
        wheel: Wheel | Blade,
        rows: ContactRows,
        ground_velocity: Array,
        symbol_rates: dict[str, Any],
    ) -> dict[str, Any]:
        """Return the constraint rows of a wheel on a ground feature: `C v = b` with the velocity b (m/s) of
        the ground, `C vdot = c` with c = bdot - Cdot v by differentiation along the motion, the direction
        along the wheel, and the tyre forces.
        """
        # On moving ground the velocity relative to the ground vanishes, not the absolute velocity
        # of the wheel.
        b = array([axis @ ground_velocity for axis in rows.axes])
        relative = rows.C @ self.speeds - b
        outputs: dict[str, Any] = {
            "C": rows.C[:, self.columns],
            "c": [-x for x in tangent(list(relative), symbol_rates, rows.meeting.held)],
            "stretch": [rows.meeting.stretch],
            "b": b,
            "along": rows.meeting.along,
        }
        acting = self._element_forces(wheel, rows, ground_velocity, self.symbols["f"][LOAD])
        if acting is not None:
            outputs |= {
                "push": acting.force_at_zero_load[self.columns],
                "lift": acting.force_per_load[self.columns],
                "forces": acting.reported_at_zero_load,
                "lifted": acting.reported_per_load,
                "rates": acting.rates,
                "uneven": [float(acting.is_nonlinear)],
            }
        return outputs

    def _contact_program(
        self, name: str, outputs: Mapping[str, Any], has_rows: bool, has_cell: bool = False
    ) -> Program:
        """Return the program of a contact in the output layout that all contacts share, or the program of
        its geometry without `has_rows`; missing outputs are zero. With `has_cell`, the polynomial of a
        smooth patch is an input.
        """
        layout = contact_layout(self.model)
        zeros = layout.split(np.zeros(layout.size))
        names = [key for key in zeros if has_rows or key in _GEOMETRY_SIZES]
        complete = {key: outputs.get(key, zeros[key]) for key in names}
        inputs = ("f", "ground", "cell") if has_cell else ("f", "ground")
        return self._trace_program(name if has_rows else f"{name}_geometry", complete, inputs)
