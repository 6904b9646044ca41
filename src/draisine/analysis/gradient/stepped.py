"""Derivatives of an arc in time steps, step by step, with frozen contact statuses.

A step of Moreau and Jean's scheme (`simulation.contact.stepping.step`) solves equations R(x, theta) = 0
for x = (v+, nu, lam): speeds at its end, impulses of equality rows and contact impulses. theta is all
that the step begins with: state, parameters, inputs. The implicit function theorem yields

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
from draisine.analysis.gradient.mode import Row, TerrainTangents, length
from draisine.simulation.contact.arc import SteppedArc
from draisine.simulation.contact.complementarity.impulses import COMPLIANCE
from draisine.simulation.contact.stepping.arc import TimeStepper
from draisine.simulation.contact.stepping.step import (
    MASS_RIDGE,
    MAX_TYRE_LOAD,
    MIN_TYRE_LOAD,
    RATE_INCREMENT,
    TimeStepping,
)
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.options import ContactOptions
from draisine.simulation.trajectory import Key

BASE = ("Vx", "Vy", "Vz")  # speeds of the base; the bias force along them is the weight
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
    """A contact of a step with derivatives."""

    contact: WheelOnFeature
    row: Row  # at mid-step
    rows: int  # number of rows that the law of contact acts on
    status: StepStatus
    mu: float
    impulse: Floats  # (3,) N s
    tyre_load: Floats | None  # (1 + k) load of its tyre, N; without derivatives if it follows
    follows: bool  # whether that load is the normal force of the step


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
        self.tangents = tangents
        self.delay = delay
        self.query = tangents.query
        self.stepper = TimeStepper(
            self.query, contact, float(arc.t[0]), arc.y[0], arc.made.step, arc.made.reason
        )
        self.until = float(arc.t[-1])
        self.changes: list[StatusChange] = []
        self._statuses: dict[WheelOnFeature, StepStatus] | None = None
        self._loads: dict[
            WheelOnFeature, Floats
        ] = {}  # of tyres in the last step, with derivatives

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
            part, slope, h = 1.0, np.zeros_like(jets[0]), self.stepper.t - begin
            if h > 0.0:
                part = (t - begin) / h
                slope = (jets[0] - before[0]) / h
            if self.stepper.start == self.stepper.t and self.delay.any():
                # The last step is shorter than the others: its end is fixed, and a delay shortens it.
                slope[self.query.pose] = self._motion(t, jets)["flow"][0]
            sample = (1.0 - part) * before + part * jets
            sample[1:] -= self.delay[:, None] * slope
            samples.append(self._normalise(sample))
        return np.array(samples[:-1]), jets

    def _step(self, jets: Floats) -> Floats:
        """Take one step; return the state after it with derivatives."""
        stepper, query = self.stepper, self.query
        t, near, was_down = stepper.t, stepper.near, stepper.record.down.copy()
        stepper.advance(1, self.until)
        h, record = stepper.t - t, stepper.record
        if stepper.near is not near:
            # In new surroundings the engine remembers the loads of loaded contacts alone.
            self._loads = {c: x for c, x in self._loads.items() if c in (self._statuses or ())}
        self._record_changes(t)
        if not len(self.tangents.along):
            return stepper.y[None].copy()
        middle = self._drift(t, jets, 0.5 * h)
        contacts = [self._contact(c, t + 0.5 * h, h, middle) for c in range(record.contact_count)]
        v = self._solve(t + 0.5 * h, h, middle, contacts)
        after = middle.copy()
        after[:, query.y.v] = v
        out = self._drift(t + 0.5 * h, after, 0.5 * h)
        out[:, query.y.z] += h * self._motion(t + 0.5 * h, middle)["zdot"]
        self._relax_tyres(t + 0.5 * h, h, after, out, contacts, was_down)
        out[0] = stepper.y
        return out

    def _motion(self, t: float, jets: Floats) -> dict[str, Floats]:
        """Return the machine without ground at a time of the arc."""
        return self.tangents.motion(t, jets, self.delay)

    # --- the configuration

    def _drift(self, t: float, jets: Floats, h: float) -> Floats:
        """Return the state whose configuration has moved for a time h at constant speeds, by the
        midpoint rule.
        """
        pose = self.query.pose
        half = jets.copy()
        half[:, pose] += 0.5 * h * self._motion(t, jets)["flow"]
        out = jets.copy()
        out[:, pose] += h * self._motion(t, half)["flow"]
        return self._normalise(out)

    def _normalise(self, jets: Floats) -> Floats:
        """Return a state whose quaternion has unit length."""
        if not self.query.motion.record.turns:
            return jets
        q = jets[:, self.query.y.q]
        length = np.linalg.norm(q[0])
        unit = q[0] / length
        out = jets.copy()
        out[:, self.query.y.q] = (q - np.outer(q @ unit, unit)) / length
        out[0, self.query.y.q] = unit
        return out

    # --- contacts

    def _contact(self, c: int, t: float, h: float, middle: Floats) -> _StepContact:
        """Return contact c of the engine's last step with derivatives."""
        record = self.stepper.record
        k = int(record.which[c])
        contact = self.stepper.near[k]
        impulse = record.problem.impulse[3 * c : 3 * c + 3].copy()
        rows = int(record.grip[c])
        status, mu = _status(record, c), float(record.problem.mu[c])
        load, follows = None, False
        if record.tyred[k]:
            load = np.append(record.carried[k], np.zeros(len(middle) - 1))
            follows = bool(record.held[k] > 0)
            if load[0] >= MAX_TYRE_LOAD * self.query.motion.record.share:
                load, follows = MAX_TYRE_LOAD * self._share(t, middle), False
        row = self._evaluate(t, h, middle, contact, load)
        return _StepContact(contact, row, rows, status, mu, impulse, load, follows)

    def _share(self, t: float, middle: Floats) -> Floats:
        """Return a wheel's share of the weight (N) with derivatives, (1 + k,): the weight is the bias force
        on the base of the machine at rest.
        """
        names = self.query.machine.system.model.speeds
        rest = middle.copy()
        rest[:, self.query.y.v] = 0.0
        force = self._motion(t, rest)["F"][:, [k for k, x in enumerate(names) if x in BASE]]
        weight = length(force)
        share = self.query.motion.record.share
        if not np.isclose(weight[0], share * len(self.query.machine.wheels), rtol=1e-9):
            return np.append(share, np.zeros(len(middle) - 1))  # it hangs on something else, too
        return weight * share / weight[0]

    def _evaluate(
        self, t: float, h: float, jets: Floats, contact: WheelOnFeature, tyre_load: Floats | None
    ) -> Row:
        """Return the row of a contact; the states of its tyre are those of the end of the step."""
        if tyre_load is None:
            return self.tangents.row(t, jets, contact, self.delay)
        load = self._bounded(tyre_load)
        rates = self.tangents.row(t, jets, contact, self.delay, load)["rates"]
        later, first = jets.copy(), self.query.y.z.start
        later[..., first : first + rates.shape[-1]] += h * rates
        return self.tangents.row(t, later, contact, self.delay, load)

    def _bounded(self, load: Floats) -> float:
        """Return the load about which the forces of a tyre are linearised; that of an unloaded tyre is not
        zero, where they have no derivative.
        """
        return max(float(load[0]), MIN_TYRE_LOAD * self.query.motion.record.share)

    def _record_changes(self, t: float) -> None:
        """Record the contacts whose status differs from that in the step before."""
        record, now = self.stepper.record, {}
        for c in range(record.contact_count):
            status = _status(record, c)
            if status is not StepStatus.OPEN:
                now[self.stepper.near[int(record.which[c])]] = status
        before = now if self._statuses is None else self._statuses
        for contact in dict.fromkeys([*before, *now]):
            old, new = (part.get(contact, StepStatus.OPEN) for part in (before, now))
            if old is not new:
                self.changes.append(StatusChange(t, self.query.key(contact), old, new))
        self._statuses = now

    # --- the equations of a step

    def _solve(
        self, t: float, h: float, middle: Floats, contacts: Sequence[_StepContact]
    ) -> Floats:
        """Return the speeds at the end of the step with derivatives, (1 + k, n)."""
        record, n, count = self.stepper.record, self.query.n, len(middle)
        after = record.after[:n].copy()
        motion = self._motion(t, middle)
        mass = self._mass(t, h, middle, motion["M"].reshape(count, n, n), contacts)
        J = motion["held"].reshape(count, -1, n)
        m = J.shape[1]
        nu = record.multiplier[:m].copy()
        for c, one in enumerate(contacts):
            nu += one.impulse @ record.reaction[3 * c : 3 * c + 3, :m]
        change = -middle[:, self.query.y.v]
        change[0] += after

        # K = dR/dx; R with derivatives along the directions. Momentum and equality rows first.
        size = n + m + sum(c.rows for c in contacts)
        K = np.zeros((size, size))
        K[:n, :n], K[:n, n : n + m], K[n : n + m, :n] = mass[0], -J[0].T, J[0]
        R = np.zeros((count, size))
        R[:, :n] = (jet(mass) @ jet(change[:, :, None])).stack[:, :, 0] + h * motion["F"]
        R[:, :n] -= np.swapaxes(J, 1, 2) @ nu
        R[:, n : n + m] = J @ after - motion["held_b"] + motion["held_gap"] / h
        first = n + m
        places = []
        for one in contacts:
            where = slice(first, first + one.rows)
            places.append(where)
            self._add_contact(one, h, middle, mass, J, K, R, where)
            first += one.rows

        # Rows are momenta, velocities and impulses: equilibrate them before solving.
        rows = 1.0 / np.maximum(np.abs(K).max(axis=1), 1e-300)
        columns = 1.0 / np.maximum(np.abs(rows[:, None] * K).max(axis=0), 1e-300)
        scaled = np.zeros((count, size, size))
        scaled[0] = rows[:, None] * K * columns
        dx = columns * solve(jet(scaled), jet(-(rows * R)[:, :, None]), SINGULAR).rate[:, :, 0]
        for one, where in zip(contacts, places, strict=True):
            if one.tyre_load is not None:
                self._loads[one.contact] = one.tyre_load
                if one.follows:
                    self._loads[one.contact][1:] = dx[:, where.start] / h
        return np.vstack([after, dx[:, :n]])

    def _add_contact(
        self,
        one: _StepContact,
        h: float,
        middle: Floats,
        mass: Floats,
        J: Floats,
        K: Floats,
        R: Floats,
        where: slice,
    ) -> None:
        """Add the forces of a contact to the momentum balance, and its equations: velocities of a
        sticking contact, normal velocity and friction cone of a sliding one, no impulse of an open one.
        """
        record, n, count = self.stepper.record, self.query.n, len(middle)
        C = one.row["C"].reshape(count, 3, n)[:, : one.rows]
        impulse = one.impulse[: one.rows]
        R[:, :n] -= impulse @ C
        K[:n, where] -= C[0].T
        if one.tyre_load is not None:
            R[:, :n] -= h * _element_forces(one.row, one.tyre_load)
            if one.follows:
                K[:n, where.start] -= one.row["lift"][0]
        if one.rows == 0:
            return

        # Velocities of the contact at the end of the step, with the compliance of the solver.
        compliance = COMPLIANCE * _inverse_mass(mass, J, C)
        u = C @ record.after[:n] - one.row["b"][:, : one.rows] + compliance[:, None] * impulse
        u[:, 0] += self._approach(one, h, middle)
        slopes = np.zeros((one.rows, len(K)))
        slopes[:, :n] = C[0]
        slopes[:, where] = compliance[0] * np.eye(one.rows)
        own = np.zeros((one.rows, len(K)))
        own[:, where] = np.eye(one.rows)
        if one.status is StepStatus.OPEN:
            holds_tangents = not np.isfinite(one.mu) and bool(one.impulse[1:].any())
            K[where], R[:, where] = own, impulse * np.eye(count)[0][:, None]
            if holds_tangents:
                K[where][1:], R[:, where][:, 1:] = slopes[1:], u[:, 1:]
            return
        K[where], R[:, where] = slopes, u
        if one.status is StepStatus.SLIDING and one.rows == 3:
            # lam_1 u_2 = lam_2 u_1 and |lam_t| = mu lam_n: without a division by the slip speed.
            normal, along, across = impulse
            K[where][1] = along * slopes[2] - across * slopes[1]
            K[where][1] += u[0, 2] * own[1] - u[0, 1] * own[2]
            R[:, where.start + 1] = along * u[:, 2] - across * u[:, 1]
            K[where][2] = along * own[1] + across * own[2] - one.mu**2 * normal * own[0]
            R[:, where.start + 2] = 0.0

    def _approach(self, one: _StepContact, h: float, middle: Floats) -> Floats:
        """Return the term of gap or restitution in the normal velocity of a contact, (1 + k,)."""
        record, n = self.stepper.record, self.query.n
        normal = jet(one.row["C"][:, None, :n])
        v = jet(middle[:, self.query.y.v, None])
        before = (normal @ v).stack[:, 0, 0] - one.row["b"][:, 0]
        if before[0] < -record.rest_speed and record.restitution > 0.0:
            return record.restitution * before
        term: Floats = one.row["gap"][:, 0] / h
        if term[0] < -record.rest_speed:
            term = np.append(-record.rest_speed, np.zeros(len(term) - 1))
        return term

    # --- the implicit mass matrix

    def _mass(
        self, t: float, h: float, middle: Floats, M: Floats, contacts: Sequence[_StepContact]
    ) -> Floats:
        """Return the mass matrix of the step, M + h A, with derivatives; like the engine without A if it
        is not positive definite then, and with a ridge if M is singular.
        """
        implicit = M + h * self._damping(t, h, middle, contacts)
        for mass in (implicit, M):
            if np.linalg.eigvalsh(mass[0])[0] > 0.0:
                return mass
        ridge = M.copy()
        ridge[0] += MASS_RIDGE * M[0].diagonal().max() * np.eye(len(M[0]))
        return ridge

    def _damping(
        self, t: float, h: float, middle: Floats, contacts: Sequence[_StepContact]
    ) -> Floats:
        """Return A, the symmetric part of the derivative of dissipative forces by the speeds, with
        derivatives: the same differences as the engine takes, of forces with derivatives.
        """
        n = self.query.n
        A = np.zeros((len(middle), n, n))
        for sign in (1.0, -1.0):
            shifted, increments = self._shift_speeds(middle, sign)
            F = self._motion(t, shifted)["F"]
            A += 0.5 * np.moveaxis((F[1:] - F[0]) / increments[:, None, None], 0, 1)
        for one in contacts:
            if one.tyre_load is None:
                continue
            shifted, increments = self._shift_speeds(middle, 1.0)
            # The engine linearises under the load of the step before, of a new contact under the share.
            load = self._loads.get(one.contact)
            load = self._share(t, middle) if load is None else load
            force = _element_forces(self._evaluate(t, h, shifted, one.contact, load), load)
            A -= np.moveaxis((force[1:] - force[0]) / increments[:, None, None], 0, 1)
        return 0.5 * (A + np.swapaxes(A, 1, 2))

    def _shift_speeds(self, middle: Floats, sign: float) -> tuple[Floats, Floats]:
        """Return a state at `sign` times its speeds, then with each speed increased in turn,
        (1 + n, 1 + k, entries), and the increments.
        """
        at, n = self.query.y.v, self.query.n
        states = np.repeat(middle[None], 1 + n, axis=0)
        states[:, :, at] *= sign
        increments = RATE_INCREMENT * (1.0 + np.abs(middle[0, at]))
        states[1:, 0, at] += np.diag(increments)
        return states, increments

    # --- tyres

    def _relax_tyres(
        self,
        t: float,
        h: float,
        after: Floats,
        out: Floats,
        contacts: Sequence[_StepContact],
        was_down: Floats,
    ) -> None:
        """Integrate the states of tyres with the speeds at the end of the step. Tyres of wheels that
        touch down begin without slip.
        """
        record, first = self.stepper.record, self.query.y.z.start
        touching = {one.contact.wheel for one in contacts}
        state = after.copy()
        for i in range(self.query.motion.record.remembered):
            owner = int(record.owners[i])
            if owner in touching and not was_down[owner]:
                out[:, first + i] = 0.0
                state[:, first + i] = 0.0
        for one in contacts:
            if one.tyre_load is not None:
                load = self._bounded(one.tyre_load)
                rates = self.tangents.row(t, state, one.contact, self.delay, load)["rates"]
                out[:, first : first + rates.shape[1]] += h * rates


def _status(record: TimeStepping, c: int) -> StepStatus:
    """Return the status of contact c in the engine's last step."""
    p = record.problem
    impulse = p.impulse[3 * c : 3 * c + 3]
    d = p.scale[c]
    # The engine's velocities are without the compliance of the solver.
    force = impulse - (p.velocity[3 * c : 3 * c + 3] / d + COMPLIANCE * impulse)
    if force[0] <= 0.0 or impulse[0] <= 0.0:
        return StepStatus.OPEN
    if record.grip[c] < 3 or not np.isfinite(p.mu[c]):
        return StepStatus.SLIDING if record.grip[c] == 1 else StepStatus.STICKING
    is_inside = np.hypot(force[1], force[2]) <= p.mu[c] * force[0]
    return StepStatus.STICKING if is_inside else StepStatus.SLIDING


def _element_forces(row: Row, load: Floats) -> Floats:
    """Return the generalised force of the elements at a contact under a load, with derivatives."""
    lift = (jet(row["lift"][..., None]) @ jet(load[:, None, None])).stack[..., 0]
    force: Floats = row["push"] + lift
    return force


def _inverse_mass(mass: Floats, J: Floats, C: Floats) -> Floats:
    """Return a third of the trace of C (M + h A)^-1 C' within the equality rows, with derivatives: the
    scale of the compliance of a contact, 1/kg.
    """
    count, n, m = len(mass), mass.shape[1], J.shape[1]
    K = np.zeros((count, n + m, n + m))
    K[:, :n, :n], K[:, :n, n:], K[:, n:, :n] = mass, -np.swapaxes(J, 1, 2), J
    right = np.zeros((count, n + m, C.shape[1]))
    right[:, :n] = np.swapaxes(C, 1, 2)
    response = solve(jet(K), jet(right))
    W = (jet(C) @ type(response)(response.value[:, :n], response.rate[:, :n])).stack
    return np.trace(W, axis1=1, axis2=2) / 3.0
