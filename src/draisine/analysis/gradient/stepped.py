"""Derivatives of an arc in time steps, step by step, with frozen contact statuses.

A step of Moreau and Jean's scheme (`simulation.contact.stepping.step`) solves equations R(x, theta) = 0
for x = (v+, nu, lam): speeds at its end, impulses of equality rows and contact impulses. theta is all
that the step begins with: state, parameters, inputs. By the implicit function theorem, eq.
[step-derivative],

    dR/dx dx = -dR/dtheta dtheta

with the statuses of the contacts frozen: an open contact has no impulse, a sticking one no velocity, a
sliding one an impulse on its friction cone against its slip.

Each step is taken by the engine, which yields x and the statuses; here only R is differentiated. A
contact that changes its status does so at a step; neighbours that are far enough away do so at another
one. Derivatives are then one-sided: those of the computed sequence of statuses. Every change is recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import jet, solve
from draisine.analysis.gradient.mode import (
    RowTangents,
    TerrainTangents,
    direction,
    length,
    saddle_matrix,
)
from draisine.simulation.contact.arc import SteppedArc
from draisine.simulation.contact.complementarity.impulses import COMPLIANCE
from draisine.simulation.contact.status import count_rows
from draisine.simulation.contact.stepping import step
from draisine.simulation.contact.stepping.arc import TimeStepper
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.options import ContactOptions
from draisine.simulation.trajectory import Key

BASE = ("Vx", "Vy", "Vz")  # speeds of the base; at rest the bias force along them is the weight
SINGULAR = 1e14  # condition of the equilibrated equations; redundant equality rows are beyond it


class StepStatus(StrEnum):
    """What a contact does in a time step."""

    OPEN = "open"
    STICKING = "sticking"
    SLIDING = "sliding"


@dataclass(frozen=True)
class StatusChange:
    """A change of a contact's status between two time steps; derivatives are one-sided there."""

    time: float  # s, beginning of the step
    contact: Key
    before: StepStatus
    after: StepStatus


@dataclass(frozen=True, eq=False)
class _StepContact:
    """A contact of the engine's last step."""

    contact: WheelOnFeature
    rows: int  # number of rows that the law of contact acts on
    status: StepStatus
    mu: float
    impulse: Floats  # (rows) N s
    velocity: Floats  # (rows) m/s
    is_tyred: bool
    tyre_load: float  # N; load under which the forces of its tyre are evaluated
    follows_load: bool  # whether that load is the normal force of the step, within its bounds


class SteppedTangents:
    """An arc in time steps with derivatives.

    Parameters
    ----------
    tangents
        The machine on its terrain, with derivatives.
    contact
        Options of the run.
    arc
        The arc, from whose first state the steps are repeated.
    delay
        Derivatives of the time of all steps, (k,): the arc may begin at an event.
    """

    def __init__(
        self, tangents: TerrainTangents, contact: ContactOptions, arc: SteppedArc, delay: Floats
    ) -> None:
        self.tangents, self.query, self.delay = tangents, tangents.query, delay
        begin, made = float(arc.t[0]), arc.made
        self.stepper = TimeStepper(
            self.query, contact, begin, arc.y[0], made.first_step, made.reason
        )
        self.until = float(arc.t[-1])
        self.changes: list[StatusChange] = []
        self._statuses: dict[WheelOnFeature, StepStatus] | None = None
        self._loads: dict[WheelOnFeature, Floats] = {}  # of tyres in the last step, (1 + k), N

    def follow(self, jets: Floats, times: Floats) -> tuple[Floats, Floats]:
        """Return the states at rising times of the arc, (times, 1 + k, entries), and the state at its
        end, which is delayed like its beginning. States within a step are interpolated linearly, as the
        samples of a run are.
        """
        jets[0] = self.stepper.y
        samples = []
        begin, before = self.stepper.t, jets
        for t in [*times, self.until]:
            while self.stepper.t < t:
                begin, before = self.stepper.t, jets
                jets = self._step(jets)
            span = max(self.stepper.t - begin, 1e-300)
            slope = (jets - before) / span
            sample = before + (t - begin) * slope
            sample[1:] -= self.delay[:, None] * slope[0]
            samples.append(self._normalise(sample))
        return np.array(samples[:-1]), jets

    def _step(self, jets: Floats) -> Floats:
        """Take one step; return the state after it with derivatives."""
        stepper, at = self.stepper, self.query.y
        t, near, airborne = stepper.t, stepper.near, stepper.record.airborne.copy()
        stepper.advance(1, self.until)
        contacts = [self._contact(c) for c in range(stepper.record.contact_count)]
        if stepper.near is not near:
            # In new surroundings the engine remembers the loads of loaded contacts alone.
            self._loads = {c: x for c, x in self._loads.items() if c in (self._statuses or ())}
        self._record_changes(t, contacts)
        if not len(self.delay):
            return stepper.y[None].copy()
        h = stepper.t - t
        middle = self._drift(t, jets, 0.5 * h)
        motion = self._motion(t + 0.5 * h, middle)
        after = middle.copy()
        after[:, at.v] = self._solve(t + 0.5 * h, h, middle, motion, contacts)
        out = self._drift(t + 0.5 * h, after, 0.5 * h)
        out[:, at.z] += h * motion["zdot"]
        self._relax_tyres(t + 0.5 * h, h, after, out, contacts, airborne)
        out[0] = stepper.y
        return out

    def _contact(self, c: int) -> _StepContact:
        """Return contact c of the engine's last step."""
        record, p = self.stepper.record, self.stepper.record.problem
        k, rows = int(record.which[c]), count_rows(record.status[c])
        own = slice(3 * c, 3 * c + rows)
        load = float(record.carried[k])
        limit = step.MAX_TYRE_LOAD * self.query.motion.record.share
        return _StepContact(
            self.stepper.near[k],
            rows,
            _status(record, c),
            float(p.mu[c]),
            p.impulse[own].copy(),
            p.velocity[own].copy(),
            bool(record.tyred[k]),
            load,
            count_rows(record.closed_status[k]) > 0 and load < limit,
        )

    def _record_changes(self, t: float, contacts: Sequence[_StepContact]) -> None:
        """Record the contacts whose status differs from that in the step before."""
        now: dict[WheelOnFeature, StepStatus] = {
            one.contact: one.status for one in contacts if one.status is not StepStatus.OPEN
        }
        before = now if self._statuses is None else self._statuses
        for contact in dict.fromkeys([*before, *now]):
            old, new = (part.get(contact, StepStatus.OPEN) for part in (before, now))
            if old is not new:
                self.changes.append(StatusChange(t, self.query.key(contact), old, new))
        self._statuses = now

    # --- the machine during a step

    def _motion(self, t: float, jets: Floats) -> dict[str, Floats]:
        """Return the machine without ground at a time of the arc."""
        return self.tangents.motion(t, jets, self.delay)

    def _drift(self, t: float, jets: Floats, h: float) -> Floats:
        """Return the state whose configuration has moved for a time h at constant speeds, by the
        midpoint rule.
        """
        half, out, pose = jets.copy(), jets.copy(), self.query.pose
        half[:, pose] += 0.5 * h * self._motion(t, jets)["flow"]
        out[:, pose] += h * self._motion(t, self._normalise(half))["flow"]
        return self._normalise(out)

    def _normalise(self, jets: Floats) -> Floats:
        """Return a state whose quaternion has unit length."""
        if not self.query.motion.record.turns:
            return jets
        out, q = jets.copy(), self.query.y.q
        out[:, q] = direction(jets[:, q])
        return out

    def _row(
        self, t: float, h: float, jets: Floats, one: _StepContact, load: Floats
    ) -> RowTangents:
        """Return the row of a contact; the states of its tyre are those of the end of the step."""
        if not one.is_tyred:
            return self.tangents.row(t, jets, one.contact, self.delay)
        later, first = jets.copy(), self.query.y.z.start
        rates = self._tyre_row(t, jets, one, load)["rates"]
        later[..., first : first + rates.shape[-1]] += h * rates
        return self._tyre_row(t, later, one, load)

    def _tyre_row(self, t: float, jets: Floats, one: _StepContact, load: Floats) -> RowTangents:
        """Return the row of a contact, its tyre linearised about a load: not about zero, where the forces
        of a tyre have no derivative.
        """
        least = step.MIN_TYRE_LOAD * self.query.motion.record.share
        return self.tangents.row(t, jets, one.contact, self.delay, max(float(load[0]), least))

    def _load(self, one: _StepContact, t: float, middle: Floats) -> Floats:
        """Return the load of a tyre in the step, (1 + k,), without derivatives if it is the normal force."""
        if one.follows_load or not one.is_tyred:
            return np.append(one.tyre_load, np.zeros(len(self.delay)))
        share = self._share(t, middle)
        return share * one.tyre_load / share[0]

    def _share(self, t: float, middle: Floats) -> Floats:
        """Return a wheel's share of the weight (N), (1 + k,): the bias force on the base at rest."""
        rest, share = middle.copy(), self.query.motion.record.share
        rest[:, self.query.y.v] = 0.0
        names = self.query.machine.system.model.speeds
        force = self._motion(t, rest)["F"][:, [k for k, x in enumerate(names) if x in BASE]]
        return length(force) * share / np.linalg.norm(force[0])

    # --- the equations of a step

    def _solve(
        self,
        t: float,
        h: float,
        middle: Floats,
        motion: dict[str, Floats],
        contacts: Sequence[_StepContact],
    ) -> Floats:
        """Return the speeds at the end of the step with derivatives, (1 + k, n)."""
        record, n, count = self.stepper.record, self.query.n, len(middle)
        J = motion["held"].reshape(count, -1, n)
        m = J.shape[1]
        M = motion["M"].reshape(count, n, n)
        mass = self._mass(M, M + h * self._damping(t, h, middle, contacts))
        after = record.after[:n].copy()
        nu = record.multiplier[:m].copy()
        for c, one in enumerate(contacts):
            nu += one.impulse @ record.reaction[3 * c : 3 * c + one.rows, :m]
        change = -middle[:, self.query.y.v]
        change[0] += after

        # R, and K = dR/dx. First the momentum balance and the equality rows.
        size = n + m + sum(one.rows for one in contacts)
        K, R = np.zeros((size, size)), np.zeros((count, size))
        K[: n + m, : n + m] = saddle_matrix(mass[:1], J[:1].swapaxes(1, 2), J[:1])[0]
        R[:, :n] = (jet(mass) @ jet(change[:, :, None])).stack[:, :, 0] + h * motion["F"] - nu @ J
        R[:, n : n + m] = J @ after - motion["held_b"] + motion["held_gap"] / h

        # Then the forces and the law of each contact.
        loads = [self._load(one, t, middle) for one in contacts]
        met = [
            self._row(t, h, middle, one, load) for one, load in zip(contacts, loads, strict=True)
        ]
        jacobians = [
            row["C"].reshape(count, 3, n)[:, : one.rows]
            for one, row in zip(contacts, met, strict=True)
        ]
        compliances = _compliances([_inverse_masses(mass, J, C) for C in jacobians])
        own, first = [], n + m
        for one, load, row, C, compliance in zip(
            contacts, loads, met, jacobians, compliances, strict=True
        ):
            where = slice(first, first + one.rows)
            R[:, :n] -= one.impulse @ C
            K[:n, where] -= C[0].T
            if one.is_tyred:
                R[:, :n] -= h * _element_forces(row, load)
            if one.is_tyred and one.follows_load:
                K[:n, first] -= row["lift"][0]
            u = C @ after - row["b"][:, : one.rows] + compliance * one.impulse
            u[:, :1] += self._approach(row, h, middle)[:, None]
            on_velocity, on_impulse = _linear_law(one)
            K[where, :n] = on_velocity @ C[0]
            K[where, where] = on_velocity * compliance[0] + on_impulse
            R[:, where] = u @ on_velocity.T
            own.append((one, where, load))
            first += one.rows

        # Rows are momenta, velocities and impulses: equilibrate them before solving.
        rows = 1.0 / np.maximum(np.abs(K).max(axis=1), 1e-300)
        columns = 1.0 / np.maximum(np.abs(rows[:, None] * K).max(axis=0), 1e-300)
        scaled = np.zeros((count, size, size))
        scaled[0] = rows[:, None] * K * columns
        dx = columns * solve(jet(scaled), jet(-(rows * R)[:, :, None]), SINGULAR).rate[:, :, 0]
        for one, where, load in own:
            if one.is_tyred and one.follows_load:
                load[1:] = dx[:, where.start] / h
            self._loads[one.contact] = load
        return np.vstack([after, dx[:, :n]])

    def _approach(self, row: RowTangents, h: float, middle: Floats) -> Floats:
        """Return the term of gap or restitution in the normal velocity of a contact, (1 + k,)."""
        record, v = self.stepper.record, jet(middle[:, self.query.y.v, None])
        before = (jet(row["C"][:, None, : self.query.n]) @ v).stack[:, 0, 0] - row["b"][:, 0]
        if before[0] < -record.rest_speed and record.restitution > 0.0:
            return record.restitution * before
        term: Floats = row["gap"][:, 0] / h
        if term[0] < -record.rest_speed:
            term = np.append(-record.rest_speed, np.zeros(len(term) - 1))
        return term

    def _mass(self, M: Floats, implicit: Floats) -> Floats:
        """Return the mass matrix that the engine uses, with derivatives: M + h A; M if that is not positive
        definite; with a ridge if M is singular.
        """
        for mass in (implicit, M):
            if np.linalg.eigvalsh(mass[0])[0] > 0.0:
                return mass
        ridge = M.copy()
        ridge[0] += step.MASS_RIDGE * M[0].diagonal().max() * np.eye(len(M[0]))
        return ridge

    def _damping(
        self, t: float, h: float, middle: Floats, contacts: Sequence[_StepContact]
    ) -> Floats:
        """Return A, the symmetric part of the derivative of applied and tyre forces by the speeds, with
        derivatives: the same differences as the engine takes, of forces with derivatives.
        """
        at, n = self.query.y.v, self.query.n
        increments = step.RATE_INCREMENT * (1.0 + np.abs(middle[0, at]))
        shifted = np.repeat(middle[None], 1 + n, axis=0)
        shifted[1:, 0, at] += np.diag(increments)
        total = -self._motion(t, shifted)["applied"]
        for one in contacts:
            if one.is_tyred:
                # The load of the step before; that of a new contact is a share of the weight.
                load = self._loads.get(one.contact)
                load = self._share(t, middle) if load is None else load
                total -= _element_forces(self._row(t, h, shifted, one, load), load)
        A = np.moveaxis((total[1:] - total[0]) / increments[:, None, None], 0, 1)
        return 0.5 * (A + np.swapaxes(A, 1, 2))

    def _relax_tyres(
        self,
        t: float,
        h: float,
        after: Floats,
        out: Floats,
        contacts: Sequence[_StepContact],
        airborne: Floats,
    ) -> None:
        """Integrate the states of tyres with the speeds at the end of the step. Tyres of wheels that
        touch down after a flight begin without slip.
        """
        first, owners = self.query.y.z.start, self.stepper.record.owners
        flight = self.stepper.record.flight
        touching = {one.contact.wheel for one in contacts}
        for i in range(self.query.motion.record.remembered):
            if owners[i] in touching and airborne[owners[i]] > flight:
                out[:, first + i] = 0.0
                after[:, first + i] = 0.0
        for one in contacts:
            if one.is_tyred:
                rates = self._tyre_row(t, after, one, self._loads[one.contact])["rates"]
                out[:, first : first + rates.shape[1]] += h * rates


def _status(record: step.TimeStepping, c: int) -> StepStatus:
    """Return the status of contact c in the engine's last step, by the map of Alart and Curnier."""
    p, own = record.problem, slice(3 * c, 3 * c + 3)
    # The engine's velocities are without the compliance of the solver.
    velocity = p.velocity[own] + COMPLIANCE * p.softness[own] * p.impulse[own]
    force = p.impulse[own] - velocity / p.scale[c]
    if force[0] <= 0.0 or p.impulse[3 * c] <= 0.0:
        return StepStatus.OPEN
    if count_rows(record.status[c]) == 1:
        return StepStatus.SLIDING
    is_inside = np.hypot(force[1], force[2]) <= p.mu[c] * force[0]
    return StepStatus.STICKING if is_inside else StepStatus.SLIDING


def _linear_law(one: _StepContact) -> tuple[Floats, Floats]:
    """Return A and B, (rows, rows): with frozen status the law of contact is A du + B dlam = 0."""
    on_velocity, on_impulse = np.eye(one.rows), np.zeros((one.rows, one.rows))
    if one.status is StepStatus.OPEN:
        # An ideal contact may hold its tangents without a load.
        open_rows = 1 if not np.isfinite(one.mu) and one.impulse[1:].any() else one.rows
        on_velocity[:open_rows] = 0.0
        on_impulse[:open_rows, :open_rows] = np.eye(one.rows)[:open_rows, :open_rows]
    elif one.status is StepStatus.SLIDING and one.rows == 3:
        # lam_1 u_2 = lam_2 u_1 and |lam_t| = mu lam_n: without a division by the slip speed.
        normal, along, across = one.impulse
        on_velocity[1:] = [[0.0, -across, along], [0.0, 0.0, 0.0]]
        on_impulse[1:] = [
            [0.0, one.velocity[2], -one.velocity[1]],
            [-(one.mu**2) * normal, along, across],
        ]
    return on_velocity, on_impulse


def _element_forces(row: RowTangents, load: Floats) -> Floats:
    """Return the generalised force of the elements at a contact under a load, with derivatives."""
    lift = (jet(row["lift"][..., None]) @ jet(load[:, None, None])).stack[..., 0]
    force: Floats = row["push"] + lift
    return force


def _compliances(inverse_masses: Sequence[Floats]) -> list[Floats]:
    """Return the compliances of the solver, (1 + k, rows) per contact, from inverse masses: the least one of
    all normal rows, and the mean one of a contact for its tangential rows.
    """
    normals = [own[:, 0] for own in inverse_masses if own.shape[1] and own[0, 0] > 0.0]
    least = min(normals, key=lambda own: own[0], default=None)
    found = []
    for own in inverse_masses:
        softness = np.repeat(own.sum(axis=1)[:, None] / 3.0, own.shape[1], axis=1)
        if own.shape[1] and least is not None:
            softness[:, 0] = least
        found.append(COMPLIANCE * softness)
    return found


def _inverse_masses(mass: Floats, J: Floats, C: Floats) -> Floats:
    """Return the diagonal of C (M + h A)^-1 C' within the equality rows, (1 + k, rows), 1/kg."""
    n = mass.shape[1]
    right = np.zeros((len(mass), n + J.shape[1], C.shape[1]))
    right[:, :n] = np.swapaxes(C, 1, 2)
    response = solve(jet(saddle_matrix(mass, np.swapaxes(J, 1, 2), J)), jet(right)).stack[:, :n]
    W: Floats = (jet(C) @ jet(response)).stack
    return np.diagonal(W, axis1=1, axis2=2)
