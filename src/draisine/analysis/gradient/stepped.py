"""Derivatives of a time-stepped trajectory arc, step by step, with frozen contact statuses.

A time step of Moreau and Jean's scheme (`simulation.contact.stepping.step`) solves equations R(x, theta) = 0
for x = (v+, nu, lam): speeds at the end of the step, impulses of equality constraints, contact impulses.
theta are the data of the step: initial state, parameters, inputs. By the implicit function theorem, eq.
[step-derivative],

    dR/dx dx = -dR/dtheta dtheta

with the statuses of the contacts frozen: an open contact has no impulse, a sticking contact no velocity,
and the impulse of a sliding contact lies on its friction cone, opposite to its slip.

The simulation engine computes each step and returns x and the statuses; only R is differentiated here. If a
contact changes its status, neighbouring motions may do so in another step. Derivatives are then one-sided:
they belong to the computed sequence of statuses. Every change of status is recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import multiply_jets, solve_jets, split_stack
from draisine.analysis.gradient.mode import (
    RowTangents,
    TerrainTangents,
    saddle_matrix,
    solve_saddle,
    unit_vector,
    vector_length,
)
from draisine.simulation.contact.arc import SteppedArc
from draisine.simulation.contact.complementarity.impulses import COMPLIANCE
from draisine.simulation.contact.status import count_rows
from draisine.simulation.contact.stepping import step
from draisine.simulation.contact.stepping.arc import TimeStepper
from draisine.simulation.contact.stepping.motors import (
    MotorPiece,
    Motors,
    find_piece,
    piece_torque,
)
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.options import ContactOptions
from draisine.simulation.trajectory import Key

# Names of the translational speeds of the base. At rest, the bias force along these speeds is the
# weight.
BASE_SPEEDS = ("Vx", "Vy", "Vz")

# Largest condition number of the equilibrated equations of a step that count as regular. Only
# redundant equality constraints exceed it, with about 1e16.
SINGULAR_CONDITION = 1e14

MIN_DIVISOR = 1e-300  # smallest divisor, which replaces zero (of a matrix row or a step length)


class StepStatus(StrEnum):
    """Status of a contact in a time step."""

    OPEN = "open"
    STICKING = "sticking"
    SLIDING = "sliding"


@dataclass(frozen=True)
class StatusChange:
    """Change of a contact's status between two time steps, at which derivatives are one-sided."""

    time: float  # beginning of the time step with the new status, s
    contact: Key
    before: StepStatus
    after: StepStatus


@dataclass(frozen=True, eq=False)
class _StepContact:
    """Data of one contact in the last time step of the simulation engine."""

    pair: WheelOnFeature
    rows: int  # number of equations of the contact law: 1 (normal) or 3 (with friction)
    status: StepStatus
    mu: float
    impulse: Floats  # contact impulse, N s, (rows,)
    velocity: Floats  # velocity of the contact point, m/s, (rows,)
    is_tyred: bool  # whether a tyre acts at this contact
    tyre_load: float  # normal load at which the tyre forces are evaluated, N
    follows_load: bool  # whether that load is the normal force of the step, within its bounds


class SteppedTangents:
    """Time-stepped trajectory arc with derivatives along k directions.

    Parameters
    ----------
    tangents
        Equations of motion on the terrain, with derivatives. The times of all steps have derivatives
        if the arc begins at an event.
    contact
        Contact options of the run.
    arc
        The trajectory arc; its steps are repeated from its first state.
    """

    def __init__(self, tangents: TerrainTangents, contact: ContactOptions, arc: SteppedArc) -> None:
        self.tangents = tangents
        self.query = tangents.query
        self.delay = tangents.along.times  # derivatives of the times of all steps, (k,)
        assert arc.time_stepped is not None  # compliant ground has no gradient
        self.stepper = TimeStepper(
            self.query,
            contact,
            float(arc.t[0]),
            arc.y[0],
            arc.time_stepped.first_step,
            arc.time_stepped.reason,
        )
        self.until = float(arc.t[-1])
        self.changes: list[StatusChange] = []
        self._statuses: dict[WheelOnFeature, StepStatus] | None = None
        # Normal loads (N) of the tyres in the last step, with derivatives, (1 + k,)
        self._loads: dict[WheelOnFeature, Floats] = {}

    def integrate(self, state_with_derivatives: Floats, times: Floats) -> tuple[Floats, Floats]:
        """Return the states at increasing times (s), (times, 1 + k, entries), and the final state.

        The arc starts at the state `state_with_derivatives` with derivatives (1 + k, entries). Its
        final time has the same derivatives as its initial time. States within a step are interpolated
        linearly, like the samples of a run.
        """
        state_with_derivatives[0] = self.stepper.y
        samples = []
        begin = self.stepper.t
        before = state_with_derivatives
        for t in [*times, self.until]:
            while self.stepper.t < t:
                begin = self.stepper.t
                before = state_with_derivatives
                state_with_derivatives = self._take_step(state_with_derivatives)
            slope = (state_with_derivatives - before) / max(self.stepper.t - begin, MIN_DIVISOR)
            sample = before + (t - begin) * slope
            sample[1:] -= self.delay[:, None] * slope[0]
            samples.append(self._normalise_quaternion(sample))
        return np.array(samples[:-1]), state_with_derivatives

    def _take_step(self, state_with_derivatives: Floats) -> Floats:
        """Take one time step from a state with derivatives; return the state after it with derivatives."""
        stepper = self.stepper
        layout = self.query.y
        begin = stepper.t
        searches = stepper.near.record.searches
        airborne = stepper.record.airborne.copy()

        # Let the simulation engine compute the step, which determines the contact statuses.
        stepper.advance(1, self.until)
        contacts = [self._read_contact(c) for c in range(stepper.record.contact_count)]
        if stepper.near.record.searches != searches:
            # After a new search for nearby ground features, the engine keeps only the tyre loads of closed
            # contacts.
            self._loads = {c: x for c, x in self._loads.items() if c in (self._statuses or ())}
        self._record_changes(begin, contacts)
        if not len(self.delay):
            return stepper.y[None].copy()

        # Repeat the step with derivatives: move for half the step at constant speeds, apply the
        # impulses, then move for the other half.
        h = stepper.t - begin
        t = begin + 0.5 * h
        middle = self._move_at_constant_speeds(begin, state_with_derivatives, 0.5 * h)
        motion = self._free_motion(t, middle)
        self._subtract_motor_excess(motion["F"], middle, motion["requested"])
        after = middle.copy()
        after[:, layout.v] = self._solve_speeds(t, h, middle, motion, contacts)
        out = self._move_at_constant_speeds(t, after, 0.5 * h)
        out[:, layout.z] += h * motion["zdot"]
        self._relax_tyres(t, h, after, out, contacts, airborne)
        out[0] = stepper.y
        return out

    def _read_contact(self, contact_index: int) -> _StepContact:
        """Return the data of one contact (index) in the engine's last step."""
        record = self.stepper.record
        problem = record.problem
        k = int(record.which[contact_index])
        rows = count_rows(record.status[contact_index])
        block = slice(3 * contact_index, 3 * contact_index + rows)
        load = float(record.carried[k])
        max_load = step.MAX_TYRE_LOAD * self.query.motion.record.share
        return _StepContact(
            pair=self.stepper.near[k],
            rows=rows,
            status=_contact_status(record, contact_index),
            mu=float(problem.mu[contact_index]),
            impulse=problem.impulse[block].copy(),
            velocity=problem.velocity[block].copy(),
            is_tyred=bool(record.tyred[k]),
            tyre_load=load,
            follows_load=count_rows(record.closed_status[k]) > 0 and load < max_load,
        )

    def _record_changes(self, t: float, contacts: Sequence[_StepContact]) -> None:
        """Record the contacts whose status differs from the one in the previous step."""
        closed: dict[WheelOnFeature, StepStatus] = {
            contact.pair: contact.status
            for contact in contacts
            if contact.status is not StepStatus.OPEN
        }
        previous = closed if self._statuses is None else self._statuses
        for pair in dict.fromkeys([*previous, *closed]):
            before = previous.get(pair, StepStatus.OPEN)
            after = closed.get(pair, StepStatus.OPEN)
            if before is not after:
                self.changes.append(StatusChange(t, self.query.key(pair), before, after))
        self._statuses = closed

    def _free_motion(self, t: float, state_with_derivatives: Floats) -> dict[str, Floats]:
        """Return mass matrix, bias force and equality constraints without contacts at time t (s)."""
        return self.tangents.motion(t, state_with_derivatives)

    def _move_at_constant_speeds(
        self, t: float, state_with_derivatives: Floats, duration: float
    ) -> Floats:
        """Return the state after a duration (s) at constant speeds, by the midpoint rule."""
        pose = self.query.pose
        half = state_with_derivatives.copy()
        half[:, pose] += 0.5 * duration * self._free_motion(t, state_with_derivatives)["flow"]
        out = state_with_derivatives.copy()
        out[:, pose] += duration * self._free_motion(t, self._normalise_quaternion(half))["flow"]
        return self._normalise_quaternion(out)

    def _normalise_quaternion(self, state_with_derivatives: Floats) -> Floats:
        """Return the state with its quaternion scaled to unit length, with derivatives."""
        if not self.query.motion.record.turns:
            return state_with_derivatives
        out = state_with_derivatives.copy()
        q = self.query.y.q
        out[:, q] = unit_vector(state_with_derivatives[:, q])
        return out

    def _contact_row(
        self,
        t: float,
        step_length: float,
        state_with_derivatives: Floats,
        contact: _StepContact,
        load: Floats,
    ) -> RowTangents:
        """Return rows and forces of a contact by name, with the tyre's states at the end of the step."""
        if not contact.is_tyred:
            return self.tangents.row(t, state_with_derivatives, contact.pair)
        later = state_with_derivatives.copy()
        first = self.query.y.z.start
        rates = self._linearised_tyre_row(t, state_with_derivatives, contact, load)["rates"]
        later[..., first : first + rates.shape[-1]] += step_length * rates
        return self._linearised_tyre_row(t, later, contact, load)

    def _linearised_tyre_row(
        self, t: float, state_with_derivatives: Floats, contact: _StepContact, load: Floats
    ) -> RowTangents:
        """Return rows and forces of a contact by name, with its tyre force linearised about a load (N)."""
        # At a load of zero, tyre forces have no derivative. Use a small load instead.
        min_load = step.MIN_TYRE_LOAD * self.query.motion.record.share
        return self.tangents.row(
            t, state_with_derivatives, contact.pair, max(float(load[0]), min_load)
        )

    def _tyre_load(self, contact: _StepContact, t: float, midpoint_state: Floats) -> Floats:
        """Return the normal load of a tyre in the step with derivatives, N, (1 + k,).

        If the load is the normal force, an unknown of the step, its derivatives are zero here;
        `_solve_speeds` sets them.
        """
        if contact.follows_load or not contact.is_tyred:
            return np.append(contact.tyre_load, np.zeros(len(self.delay)))
        share = self._wheel_share_of_weight(t, midpoint_state)
        return share * contact.tyre_load / share[0]

    def _wheel_share_of_weight(self, t: float, midpoint_state: Floats) -> Floats:
        """Return one wheel's share of the weight with derivatives, N, (1 + k,).

        The weight is the bias force on the base at rest.
        """
        rest = midpoint_state.copy()
        rest[:, self.query.y.v] = 0.0
        names = self.query.machine.system.model.speeds
        force = self._free_motion(t, rest)["F"][
            :, [k for k, x in enumerate(names) if x in BASE_SPEEDS]
        ]
        return vector_length(force) * self.query.motion.record.share / np.linalg.norm(force[0])

    def _solve_speeds(
        self,
        t: float,
        step_length: float,
        midpoint_state: Floats,
        motion: dict[str, Floats],
        contacts: Sequence[_StepContact],
    ) -> Floats:
        """Return the speeds at the end of the step with derivatives, (1 + k, n)."""
        record = self.stepper.record
        n = self.query.n
        count = len(midpoint_state)
        J = motion["held"].reshape(count, -1, n)
        m = J.shape[1]
        M = motion["M"].reshape(count, n, n)
        mass = self._step_mass_matrix(
            M, M + step_length * self._damping_matrix(t, step_length, midpoint_state, contacts)
        )
        after = record.after[:n].copy()
        nu = record.multiplier[:m].copy()
        for c, contact in enumerate(contacts):
            nu += contact.impulse @ record.reaction[3 * c : 3 * c + contact.rows, :m]
        change = -midpoint_state[:, self.query.y.v]
        change[0] += after

        # Assemble the residual R of the step and its Jacobian K. First add the momentum balance and
        # the equality constraints.
        size = n + m + sum(contact.rows for contact in contacts)
        K = np.zeros((size, size))
        K[: n + m, : n + m] = saddle_matrix(mass[:1], J[:1].swapaxes(1, 2), J[:1])[0]
        R = np.zeros((count, size))
        R[:, :n] = multiply_jets(mass, change) + step_length * motion["F"] - nu @ J
        R[:, n : n + m] = J @ after - motion["held_b"] + motion["held_gap"] / step_length

        # Then add the force and the contact law of each contact to the residual R and the Jacobian
        # K.
        loads = [self._tyre_load(contact, t, midpoint_state) for contact in contacts]
        pairs = list(zip(contacts, loads, strict=True))
        rows = [
            self._contact_row(t, step_length, midpoint_state, contact, load)
            for contact, load in pairs
        ]
        jacobians = [
            row["C"].reshape(count, 3, n)[:, : contact.rows]
            for contact, row in zip(contacts, rows, strict=True)
        ]
        compliances = _solver_compliances([_contact_inverse_masses(mass, J, C) for C in jacobians])
        first = n + m
        for (contact, load), row, C, compliance in zip(
            pairs, rows, jacobians, compliances, strict=True
        ):
            block = slice(first, first + contact.rows)
            R[:, :n] -= contact.impulse @ C
            K[:n, block] -= C[0].T
            if contact.is_tyred:
                R[:, :n] -= step_length * _sum_element_force(row, load)
            if contact.is_tyred and contact.follows_load:
                K[:n, first] -= row["lift"][0]
            u = C @ after - row["b"][:, : contact.rows] + compliance * contact.impulse
            u[:, :1] += self._normal_velocity_term(row, step_length, midpoint_state)[:, None]
            on_velocity, on_impulse = _linearise_contact_law(contact)
            K[block, :n] = on_velocity @ C[0]
            K[block, block] = on_velocity * compliance[0] + on_impulse
            R[:, block] = u @ on_velocity.T
            first += contact.rows

        # The equations have different units (momenta, velocities, impulses). Scale rows and columns
        # of the Jacobian K before the solution.
        row_scales = 1.0 / np.maximum(np.abs(K).max(axis=1), MIN_DIVISOR)
        column_scales = 1.0 / np.maximum(np.abs(row_scales[:, None] * K).max(axis=0), MIN_DIVISOR)
        scaled = np.zeros((count, size, size))
        scaled[0] = row_scales[:, None] * K * column_scales
        right = -(row_scales * R)[:, :, None]
        solution = solve_jets(split_stack(scaled), split_stack(right), SINGULAR_CONDITION).rate[
            :, :, 0
        ]
        dx = column_scales * solution

        # The next step needs the loads of the tyres: normal impulses divided by the step length.
        first = n + m
        for contact, load in pairs:
            if contact.is_tyred and contact.follows_load:
                load[1:] = dx[:, first] / step_length
            self._loads[contact.pair] = load
            first += contact.rows
        return np.vstack([after, dx[:, :n]])

    def _normal_velocity_term(
        self, row: RowTangents, step_length: float, midpoint_state: Floats
    ) -> Floats:
        """Return the gap or restitution term in the normal velocity of a contact, m/s, (1 + k,)."""
        record = self.stepper.record
        normal = row["C"][:, None, : self.query.n]
        before = multiply_jets(normal, midpoint_state[:, self.query.y.v])[:, 0] - row["b"][:, 0]
        if before[0] < -record.rest_speed and record.restitution > 0.0:
            return record.restitution * before
        term: Floats = row["gap"][:, 0] / step_length
        # The engine limits the speed at which it removes penetration. A speed at this limit has no
        # derivative.
        if term[0] < -record.rest_speed:
            term = np.append(-record.rest_speed, np.zeros(len(term) - 1))
        return term

    def _step_mass_matrix(self, mass_matrix: Floats, implicit_terms: Floats) -> Floats:
        """Return the mass matrix that the engine uses in the step, with derivatives.

        It is `implicit_terms` = M + h A with the damping matrix A. If that is not positive definite, it
        is M, or M plus a multiple of the identity if M is singular.
        """
        for mass in (implicit_terms, mass_matrix):
            if np.linalg.eigvalsh(mass[0])[0] > 0.0:
                return mass
        ridge = mass_matrix.copy()
        ridge[0] += step.MASS_RIDGE * mass_matrix[0].diagonal().max() * np.eye(len(mass_matrix[0]))
        return ridge

    def _damping_matrix(
        self, t: float, step_length: float, midpoint_state: Floats, contacts: Sequence[_StepContact]
    ) -> Floats:
        """Return the damping matrix A of the step with derivatives, (1 + k, n, n).

        A is the symmetric part of the derivative of applied and tyre forces by the speeds. It is computed by
        the same finite differences as in the engine.
        """
        v = self.query.y.v
        increments = step.RATE_INCREMENT * (1.0 + np.abs(midpoint_state[0, v]))
        shifted = np.repeat(midpoint_state[None], 1 + self.query.n, axis=0)
        shifted[1:, 0, v] += np.diag(increments)
        motion = self._free_motion(t, shifted)
        total = -motion["applied"]
        self._subtract_motor_excess(total, shifted, motion["requested"])
        for contact in contacts:
            if contact.is_tyred:
                # As in the simulated step, use the load of the step before. In the first step it is the
                # wheel's share of the weight.
                load = self._loads.get(contact.pair)
                load = self._wheel_share_of_weight(t, midpoint_state) if load is None else load
                total -= _sum_element_force(
                    self._contact_row(t, step_length, shifted, contact, load), load
                )
        A = np.moveaxis((total[1:] - total[0]) / increments[:, None, None], 0, 1)
        return 0.5 * (A + np.swapaxes(A, 1, 2))

    def _subtract_motor_excess(
        self, force: Floats, state_with_derivatives: Floats, requested: Floats
    ) -> None:
        """Subtract from a generalised force (..., 1 + k, n), in place, the torques by which the pieces of the
        motors in the engine's last step exceed their limited torques at a state.
        """
        motors = self.stepper.record.motors
        first = self.query.y.v.start
        for i in range(motors.count):
            piece = MotorPiece(motors.piece[i])
            speed = motors.speed[i]
            request = requested[..., i]
            rate = state_with_derivatives[..., first + speed]
            for place in np.ndindex(request.shape[:-1]):
                u, w = request[place], rate[place]
                actual = find_piece(motors, i, float(u[0]), float(w[0]))
                if piece is not MotorPiece.EXPLICIT and piece is not actual:
                    force[(*place, slice(None), speed)] -= _motor_torque(motors, i, piece, u, w)
                    force[(*place, slice(None), speed)] += _motor_torque(motors, i, actual, u, w)

    def _relax_tyres(
        self,
        t: float,
        step_length: float,
        final_state: Floats,
        result: Floats,
        contacts: Sequence[_StepContact],
        airborne: Floats,
    ) -> None:
        """Integrate the tyre states over the step, with the speeds at its end; write them into `result`.

        Tyres of wheels that touch down after a flight phase start without slip.
        """
        record = self.stepper.record
        first = self.query.y.z.start
        touching = {contact.pair.wheel for contact in contacts}
        for i in range(self.query.motion.record.remembered):
            wheel = record.owners[i]
            if wheel in touching and airborne[wheel] > record.flight:
                result[:, first + i] = 0.0
                final_state[:, first + i] = 0.0
        for contact in contacts:
            if contact.is_tyred:
                rates = self._linearised_tyre_row(
                    t, final_state, contact, self._loads[contact.pair]
                )["rates"]
                result[:, first : first + rates.shape[1]] += step_length * rates


def _motor_torque(motors: Motors, i: int, piece: MotorPiece, u: Floats, w: Floats) -> Floats:
    """Return the torque of a piece of motor i with derivatives, (1 + k,), from the requested torque u and the
    joint rate w with derivatives, (1 + k,).
    """
    torque = np.zeros_like(u)
    torque[0] = piece_torque(motors, i, piece, float(u[0]), float(w[0]))
    if piece is MotorPiece.REQUEST:
        torque[1:] = u[1:]
    elif piece is MotorPiece.UPPER_LINE or piece is MotorPiece.LOWER_LINE:
        torque[1:] = -motors.stall_torque[i] / motors.no_load_speed[i] * w[1:]
    return torque


def _contact_status(record: step.TimeStepping, c: int) -> StepStatus:
    """Return the status of contact c in the engine's last step, by Alart and Curnier's projection."""
    problem = record.problem
    block = slice(3 * c, 3 * c + 3)
    impulse = problem.impulse[block]
    # Add the velocity due to the numerical compliance of the solver, because the engine's
    # velocities do not contain it.
    velocity = problem.velocity[block] + COMPLIANCE * problem.softness[block] * impulse
    force = impulse - velocity / problem.scale[c]
    if force[0] <= 0.0 or impulse[0] <= 0.0:
        return StepStatus.OPEN
    if count_rows(record.status[c]) == 1:
        return StepStatus.SLIDING
    is_inside = np.hypot(force[1], force[2]) <= problem.mu[c] * force[0]
    return StepStatus.STICKING if is_inside else StepStatus.SLIDING


def _linearise_contact_law(contact: _StepContact) -> tuple[Floats, Floats]:
    """Return A and B (rows, rows) of the linearised contact law A du + B dlam = 0 with frozen status.

    du and dlam are changes of the contact velocity (m/s) and of the contact impulse (N s).
    """
    rows = contact.rows
    on_velocity = np.eye(rows)
    on_impulse = np.zeros((rows, rows))
    if contact.status is StepStatus.OPEN:
        # If mu is infinite, friction can act without a normal load.
        is_held = not np.isfinite(contact.mu) and contact.impulse[1:].any()
        open_rows = 1 if is_held else rows
        on_velocity[:open_rows] = 0.0
        on_impulse[:open_rows, :open_rows] = np.eye(open_rows)
    elif contact.status is StepStatus.SLIDING and rows == 3:
        # Write the sliding law as lam_1 u_2 = lam_2 u_1 and |lam_t| = mu lam_n. This form avoids a
        # division by the slip speed.
        normal, along, across = contact.impulse
        on_velocity[1:] = [[0.0, -across, along], [0.0, 0.0, 0.0]]
        on_impulse[1:] = [
            [0.0, contact.velocity[2], -contact.velocity[1]],
            [-(contact.mu**2) * normal, along, across],
        ]
    return on_velocity, on_impulse


def _sum_element_force(row: RowTangents, load: Floats) -> Floats:
    """Return the generalised force of a contact's force elements under a load (N), with derivatives."""
    force: Floats = row["push"] + multiply_jets(row["lift"][..., None], load[:, None])
    return force


def _solver_compliances(inverse_masses: Sequence[Floats]) -> list[Floats]:
    """Return the compliances of the contact solver from inverse masses, (1 + k, rows) per contact.

    A compliance is `COMPLIANCE` times an inverse mass: for normal rows the smallest of all normal rows, for
    tangential rows the mean of the three rows of their contact.
    """
    normals = [
        inverse[:, 0] for inverse in inverse_masses if inverse.shape[1] and inverse[0, 0] > 0.0
    ]
    least = min(normals, key=lambda inverse: inverse[0], default=None)
    compliances = []
    for inverse in inverse_masses:
        softness = np.repeat(inverse.sum(axis=1)[:, None] / 3.0, inverse.shape[1], axis=1)
        if inverse.shape[1] and least is not None:
            softness[:, 0] = least
        compliances.append(COMPLIANCE * softness)
    return compliances


def _contact_inverse_masses(
    mass_matrix: Floats, element_jacobian: Floats, constraint_rows: Floats
) -> Floats:
    """Return the inverse masses of the contact rows with derivatives, 1/kg, (1 + k, rows).

    They are the diagonal of C (M + h A)^-1 C' on the null space of the equality constraints J.
    """
    n = mass_matrix.shape[1]
    right = np.zeros((len(mass_matrix), n + element_jacobian.shape[1], constraint_rows.shape[1]))
    right[:, :n] = np.swapaxes(constraint_rows, 1, 2)
    response = solve_saddle(
        mass_matrix, np.swapaxes(element_jacobian, 1, 2), element_jacobian, right
    )[:, :n]
    W: Floats = (split_stack(constraint_rows) @ split_stack(response)).stack
    return np.diagonal(W, axis1=1, axis2=2)
