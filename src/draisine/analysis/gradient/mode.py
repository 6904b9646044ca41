"""Accelerations and contact forces of a vehicle in a contact mode on a terrain, with derivatives.

In a contact mode, accelerations vdot and multipliers lam solve the saddle-point system, eq. [saddle-point]

    M vdot - G lam = push,    C vdot = c

M is the mass matrix and `push` the applied force. G is the transpose of the constraint matrix C, plus the
friction forces of sliding contacts and the tyre forces per unit of normal load. With the matrix K of this
system `K x = right`, the derivative of its solution x is d(x) = K^-1 (d(right) - d(K) x).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import multiply_jets, solve_jets, split_stack, transpose
from draisine.analysis.gradient.tangents import Directions, TangentProgram, tangent_program
from draisine.codegen.fingerprint import fingerprint
from draisine.mechanics.contact.features import FEATURE, LOAD, SIDE
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.status import Status, count_rows
from draisine.simulation.contact.table import WheelOnFeature

# Names of variables in the programs of `system.generic`: the inputs that form a state, and the
# outputs of each program whose derivatives are needed.
STATE_INPUTS = ("q", "p", "r", "v", "z")
MOTION_OUTPUTS = (
    "flow",
    "M",
    "F",
    "applied",
    "zdot",
    "held",
    "held_c",
    "held_b",
    "held_gap",
    "requested",
)
ROW_OUTPUTS = ("C", "c", "b", "gap", "stretch", "local_point", "local_normal", "fold")
ELEMENT_OUTPUTS = ("push", "lift", "forces", "lifted", "rates")
OBSERVE_OUTPUTS = ("outputs", "position", "output_rates")

RowTangents = dict[str, Floats]
"""Constraint rows, gap and forces of one contact: program outputs by name, with k derivatives each,
(1 + k, entries)."""


@dataclass(frozen=True, eq=False)
class ModeTangents:
    """Rates of a state and contact forces in a contact mode, with k derivatives."""

    rates: Floats  # time derivative of the state, (1 + k, entries)
    forces: Floats  # contact forces (normal, along, across), N, (1 + k, contacts, 3)
    rows: list[RowTangents]  # outputs of the contact program for each closed contact


@dataclass(frozen=True, eq=False)
class TerrainTangents:
    """Equations of motion of a vehicle on a terrain, with derivatives along k directions."""

    query: ContactQuery
    along: Directions
    _programs: dict[str, TangentProgram] = field(default_factory=dict)
    _features: dict[WheelOnFeature, tuple[str, Floats, dict[str, Floats]]] = field(
        default_factory=dict
    )

    def at_event(self, time_derivatives: Floats) -> "TerrainTangents":
        """Return the same programs at a time with derivatives (k,), such as the time of an event."""
        return replace(self, along=replace(self.along, times=time_derivatives))

    def _get_program(self, name: str, outputs: Sequence[str]) -> TangentProgram:
        """Return a named program with derivatives of selected outputs; it is compiled at its first use."""
        if name not in self._programs:
            machine = self.query.machine
            key = fingerprint((name, machine.states, machine.motions, machine.law))
            self._programs[name] = tangent_program(
                machine.system, machine.programs[name], outputs, STATE_INPUTS, key
            )
        return self._programs[name]

    def motion(self, t: float, state_with_derivatives: Floats) -> dict[str, Floats]:
        """Return mass matrix, bias force and equality constraints without contacts, with derivatives.

        t is the time (s), `state_with_derivatives` a state with derivatives (1 + k, entries).
        """
        return self._get_program("motion", MOTION_OUTPUTS)(
            t, state_with_derivatives, self.along, w=self.query.inputs
        )

    def row(
        self,
        t: float,
        state_with_derivatives: Floats,
        contact: WheelOnFeature,
        load: float = 0.0,
    ) -> RowTangents:
        """Return constraint rows, gap and forces of one contact with derivatives, by name.

        Its force elements, such as a tyre, are linearised about a normal load (N).
        """
        if contact not in self._features:
            feature = self.query.feature(contact)
            name = self.query.machine.contacts.names[contact.wheel, feature.kind, feature.motion]
            numbers = np.zeros(FEATURE)
            numbers[: len(feature.numbers)] = feature.numbers
            numbers[SIDE] = contact.side
            cell = {"cell": feature.cell} if feature.kind == "patch" else {}
            self._features[contact] = (name, numbers, cell)
        name, numbers, cell = self._features[contact]
        numbers[LOAD] = load
        fixed = {"w": self.query.inputs, "f": numbers, "ground": self.query.machine.ground, **cell}
        return self._get_program(name, ROW_OUTPUTS + ELEMENT_OUTPUTS)(
            t, state_with_derivatives, self.along, **fixed
        )

    def observe(self, t: float, state_with_derivatives: Floats) -> Floats:
        """Return all observations of a state with derivatives, (1 + k, names).

        `observation_names` lists their names. They depend on neither accelerations nor contacts.
        """
        layout = self.query.y
        program = self._get_program("observe", OBSERVE_OUTPUTS)
        out = program(t, state_with_derivatives, self.along, w=self.query.inputs)
        return np.hstack(
            [
                out["outputs"][:, :3],
                out["position"],
                state_with_derivatives[:, layout.r],
                out["outputs"][:, 3:],
                out["output_rates"][:, :3],
                self.motion(t, state_with_derivatives)["flow"][:, layout.p],
                state_with_derivatives[:, layout.v],
            ]
        )

    def accelerate(
        self, t: float, state_with_derivatives: Floats, closed: Sequence[Closed]
    ) -> ModeTangents:
        """Return rates and contact forces with derivatives in a contact mode, eq. [saddle-point].

        `closed` lists the closed contacts with their statuses; `state_with_derivatives` is a state with
        derivatives.
        """
        layout = self.query.y
        n = self.query.n
        count = len(state_with_derivatives)

        # Terms without ground contacts: inertia, applied forces, equality constraints
        motion = self.motion(t, state_with_derivatives)
        C = [motion["held"].reshape(count, -1, n)]
        G = [np.swapaxes(C[0], 1, 2)]
        c = [motion["held_c"]]
        push = -motion["F"]
        rates = np.hstack([motion["flow"], state_with_derivatives[:, layout.v], motion["zdot"]])

        # Terms of the contacts: constraint rows, friction of sliding contacts, tyre forces
        rows = []
        units = []  # contact force (normal, along, across) per unit of each multiplier
        for (contact, status, mu), load in zip(
            closed, self._normal_loads(t, state_with_derivatives, closed), strict=True
        ):
            held = count_rows(status)
            row = self.row(t, state_with_derivatives, contact, load)
            jacobian = row["C"].reshape(count, 3, n)
            unit = np.zeros((count, 3, held))
            unit[0] = np.eye(3)[:, :held]
            if status == Status.SLIDING and 0.0 < mu < np.inf:
                unit[:, 1:, 0] = -mu * unit_vector(
                    slip_velocity(row, state_with_derivatives[:, layout.v])
                )
            C.append(jacobian[:, :held])
            G.append((transpose(split_stack(jacobian)) @ split_stack(unit)).stack)
            c.append(row["c"][:, :held])
            if row["push"].size:
                push = push + row["push"]
            if held and row["lift"].size:
                G[-1][:, :, 0] += row["lift"]
                unit[:, :, 0] += row["lifted"][:, :3]
            rates[:, layout.z.start : layout.z.start + row["rates"].shape[1]] += row["rates"]
            rows.append(row)
            units.append(unit)

        M = motion["M"].reshape(count, n, n)
        solution = solve_saddle(M, np.dstack(G), np.hstack(C), np.hstack([push, *c])[:, :, None])
        rates[:, layout.v] = solution[:, :n, 0]

        forces = np.zeros((count, len(closed), 3))
        first = n + c[0].shape[1]
        for k, (row, unit) in enumerate(zip(rows, units, strict=True)):
            forces[:, k] = multiply_jets(unit, solution[:, first : first + unit.shape[2], 0])
            if row["forces"].size:
                forces[:, k] += row["forces"][:, :3]
            first += unit.shape[2]
        return ModeTangents(rates, forces, rows)

    def _normal_loads(
        self, t: float, state_with_derivatives: Floats, closed: Sequence[Closed]
    ) -> list[float]:
        """Return the normal force (N) of each closed contact, about which its tyre force is linearised."""
        if not self.query.motion.record.acted:
            return [0.0] * len(closed)
        return list(self.query.accelerate(t, state_with_derivatives[0], closed)[1][:, 0])

    def velocity_constraints(
        self, t: float, state_with_derivatives: Floats, closed: Sequence[Closed]
    ) -> list[tuple[Floats, Floats]]:
        """Return C (1 + k, rows, n) and b (1 + k, rows) of the velocity constraints `C v = b`: first of
        the equality constraints, then of each closed contact.
        """
        n = self.query.n
        count = len(state_with_derivatives)
        motion = self.motion(t, state_with_derivatives)
        constraints = [(motion["held"].reshape(count, -1, n), motion["held_b"])]
        for contact, status, _ in closed:
            held = count_rows(status)
            row = self.row(t, state_with_derivatives, contact)
            constraints.append((row["C"].reshape(count, 3, n)[:, :held], row["b"][:, :held]))
        return constraints

    def project_speeds(
        self, t: float, state_with_derivatives: Floats, closed: Sequence[Closed]
    ) -> Floats:
        """Project the speeds of a state with derivatives onto the velocity constraints, eq. [saltation-hold].

        The projection applies impulses along the constraint rows of closed contacts and equality constraints.
        """
        v = self.query.y.v
        n = self.query.n
        count = len(state_with_derivatives)
        motion = self.motion(t, state_with_derivatives)
        (equalities, targets), *contacts = self.velocity_constraints(
            t, state_with_derivatives, closed
        )
        J = np.hstack([*(C for C, _ in contacts), equalities])
        M = motion["M"].reshape(count, n, n)
        momentum = multiply_jets(M, state_with_derivatives[:, v])
        right = np.hstack([momentum, *(b for _, b in contacts), targets])[:, :, None]
        out = state_with_derivatives.copy()
        out[:, v] = solve_saddle(M, np.swapaxes(J, 1, 2), J, right)[:, :n, 0]
        return out

    def project_configuration(
        self, t: float, state_with_derivatives: Floats, closed: Sequence[Closed]
    ) -> Floats:
        """Project the configuration of a state with derivatives onto the position constraints.

        The minimum-norm displacement closes the gaps of constrained contacts and removes the residuals
        of the equality constraints.
        """
        n = self.query.n
        count = len(state_with_derivatives)
        motion = self.motion(t, state_with_derivatives)
        rows = [
            self.row(t, state_with_derivatives, contact)
            for contact, status, _ in closed
            if count_rows(status)
        ]
        J = [motion["held"].reshape(count, -1, n), *(row["C"][:, None, :n] for row in rows)]
        # The rate of a gap is `stretch` times the normal velocity. The gap itself is zero up to
        # rounding errors, so that the derivative of `stretch` has no effect.
        gaps = np.hstack([motion["held_gap"], *(row["gap"] / row["stretch"][0] for row in rows)])
        step = state_with_derivatives.copy()
        displacement = solve_jets(split_stack(np.hstack(J)), split_stack(gaps[:, :, None])).stack[
            :, :, 0
        ]
        step[:, self.query.y.v] = -displacement
        out = state_with_derivatives.copy()
        out[:, self.query.pose] += self.motion(t, step)["flow"]
        return out


def saddle_matrix(mass_matrix: Floats, force_columns: Floats, constraint_rows: Floats) -> Floats:
    """Return the saddle-point matrices (count, n + m, n + m) of `M x - G lam = f`, `C x = c`, with
    the mass matrix, the columns G of forces per multiplier and the constraint rows.
    """
    n = mass_matrix.shape[1]
    m = constraint_rows.shape[1]
    K = np.zeros((len(mass_matrix), n + m, n + m))
    K[:, :n, :n] = mass_matrix
    K[:, :n, n:] = -force_columns
    K[:, n:, :n] = constraint_rows
    return K


def solve_saddle(
    mass_matrix: Floats, force_columns: Floats, constraint_rows: Floats, right_side: Floats
) -> Floats:
    """Return (x, lam) of the saddle-point system with derivatives, (1 + k, n + m, columns)."""
    return solve_jets(
        split_stack(saddle_matrix(mass_matrix, force_columns, constraint_rows)),
        split_stack(right_side),
    ).stack


def slip_velocity(row: RowTangents, v: Floats) -> Floats:
    """Return the slip velocity (along, across) of a contact with derivatives, m/s, (1 + k, 2)."""
    return multiply_jets(row["C"].reshape(len(v), 3, -1)[:, 1:], v) - row["b"][:, 1:]


def unit_vector(vector: Floats) -> Floats:
    """Return the unit vector along a vector (1 + k, entries) with derivatives."""
    unit = vector / np.linalg.norm(vector[0])
    unit[1:] -= np.outer(unit[1:] @ unit[0], unit[0])
    return unit


def vector_length(vector: Floats) -> Floats:
    """Return the length of a vector (1 + k, entries) with derivatives, (1 + k,)."""
    value = np.linalg.norm(vector[0])
    return np.append(value, vector[1:] @ vector[0] / value)
