"""Impact of a group of contacts as a continuous process with Coulomb friction (Keller, Stronge).

Problem: the velocities u = (normal, along, across) of the contacts change with their impulses as du = W dLam,
eq. [impact-process]. On a slipping contact friction is mu times the normal impulse, against the slip. A
contact without slip sticks if this needs no more friction than mu; otherwise it begins to slip in the one
direction that is consistent. Of several contacts, those with the lowest normal velocity are pushed, eq.
[impact-group]: contacts that approach equally fast continue to do so, and none of them comes first.

Method: integrate from event to event.

1. `find_mode`: find the contacts that are pushed, and which of them slip, stick or begin to slip, by
   Coulomb's law between the rates of impulses and of velocities.
2. `_advance_straight`: if no pushed contact slips, all rates are constant up to the next event.
3. `_advance_turning`: otherwise slip directions turn; integrate an ordinary differential equation.
4. Events: a contact reaches its end, its slip ends, it is no longer pushed, it no longer sticks, or another
   contact becomes as slow as the pushed ones.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq

from draisine.algebra.scalar import Floats
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.coulomb import FrictionContact, solve_friction
from draisine.simulation.contact.event_driven.impact import FRICTION_TOLERANCE
from draisine.simulation.impacts._sequence import EQUAL_APPROACH

MAX_IMPACT_EVENTS = 200
"""Largest number of events in one phase of an impact.

A single contact has at most three (slip, stick, slip).
"""

NO_SLIP = 1e-12
"""Slip speed, relative to the largest contact velocity, below which a slip is a rounding error."""

LAST_SLIP = 1e-9
"""Slip speed, relative to the largest contact velocity, from which the end of the slip is extrapolated.

The slip direction is constant by then. Integration closer to the end would amplify errors of unstable
directions by a power of 1 / slip.
"""

MAX_IMPACT_STEPS = 5000
"""Largest number of integration steps up to an event of an impact; about 100 are usual."""

END_TOLERANCE = 1e-12
"""Relative distance at which a contact has reached the end of its phase (compression or restitution).

The distance is a velocity, an impulse or a work; it is relative to the distance at the start of the phase.
"""

SMALL_SHARE = 1e-9
"""Share in the total normal impulse (0 to 1), or relative friction margin, below which it counts as zero.

The friction solver resolves 1e-11.
"""

SHORT_STEP = 1e-6
"""Length of a straight step, relative to the smallest slip of the slipping contacts.

Such a step is taken if a contact without slip begins to slip while other slip directions turn. Its error is
about the square of this length.
"""

INTEGRATION_END = float(np.finfo(float).max)
"""Upper end of the integration interval, never reached: an event ends the integration before."""

IMPACT_RTOL = 1e-12
"""Relative tolerance of the integration of an impact, above the rounding errors of the velocities."""
IMPACT_ATOL = 1e-14
"""Absolute tolerance of the integration of an impact, in the units of each variable."""

Ending = Callable[[Floats, Floats, Floats, Floats, Floats], tuple[Floats, Floats, Floats]]
"""Type of a function that measures the distance of each contact from the end of its phase.

Arguments, each (m,): normal impulses P (N s), normal velocities u_N (m/s), work (J), and the rates of P and
u_N with respect to a parameter x. Result: (a, b, c), each (m,). The distance is a, negative before the end;
after an increment x it is a + b x + c x^2 / 2.
"""


def compress_group(W: Floats, u: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """Return the impulses (3m), N s, of the compression phase, and the work (m), J, of the normal impulses.

    The phase ends when no contact approaches. `W` (3m, 3m) is the Delassus matrix, `u` (3m) the contact
    velocities before the impact (m/s), and `mu` (m) the friction coefficients.
    """

    def ending(
        P: Floats, un: Floats, work: Floats, dP: Floats, dun: Floats
    ) -> tuple[Floats, Floats, Floats]:
        return un, dun, 0.0 * dun

    return _Process(W, u, mu, ending).run(np.zeros(len(u)))


def restore_group(W: Floats, u: Floats, mu: Floats, compressed: Floats, ending: Ending) -> Floats:
    """Return the total impulses (3m), N s, at the end of the restitution phase, which `ending` defines.

    `compressed` (3m) are the impulses of the compression. Work is counted from the end of the compression.
    """
    return _Process(W, u, mu, ending).run(compressed)[0]


@dataclass(frozen=True)
class _Mode:
    """Statuses of the pushed contacts between two events of an impact, and the rate of the impulses."""

    slipping: list[int]  # slipping contacts
    smooth: list[int]  # contacts without friction
    holding: list[int]  # sticking contacts
    starting: list[int]  # contacts without slip that begin to slip
    rate: Floats  # (3m) derivative of the impulses with respect to the total normal impulse

    @property
    def pushed(self) -> list[int]:
        """The indices of all pushed contacts."""
        return [*self.slipping, *self.smooth, *self.holding, *self.starting]


class _Process:
    """One phase (compression or restitution) of an impact of m contacts.

    Parameters
    ----------
    W
        Delassus matrix (3m, 3m), 1/kg.
    u
        Contact velocities before the impact, (3m), m/s.
    mu
        Friction coefficients, (m).
    ending
        Distance of each contact from the end of the phase.
    """

    def __init__(self, W: Floats, u: Floats, mu: Floats, ending: Ending) -> None:
        self.W = W
        self.u = u
        self.mu = mu
        self.ending = ending
        self.count = len(mu)
        self.speed = float(np.abs(u).max())
        self.compliance = float(np.abs(W).max())
        self.axes = np.eye(3 * self.count)
        self.tolerance = np.zeros(self.count)
        self.ended = np.full(self.count, False)

    def velocities(self, Lam: Floats) -> Floats:
        """Return the contact velocities (m, 3) after the impulses Lam (3m)."""
        u: Floats = (self.u + self.W @ Lam).reshape(-1, 3)
        return u

    def slip(self, u: Floats, i: int) -> float:
        """Return the slip speed (m/s) of contact i at the velocities u."""
        return math.hypot(u[i, 1], u[i, 2])

    def distance(self, Lam: Floats, work: Floats) -> Floats:
        """Return the distance (m) of each contact from the end of its phase, negative before the end.

        `Lam` (3m) are the impulses and `work` (m) the work of the normal impulses so far.
        """
        still = np.zeros(self.count)
        return self.ending(Lam[::3], self.velocities(Lam)[:, 0], work, still, still)[0]

    def run(self, Lam: Floats) -> tuple[Floats, Floats]:
        """Return impulses (3m), N s, and work (m), J, at the end of the phase that begins with Lam."""
        work = np.zeros(self.count)
        self.tolerance = END_TOLERANCE * np.abs(self.distance(Lam, work))
        for _ in range(MAX_IMPACT_EVENTS):
            group = self.lowest(Lam, work)
            if not group:
                return Lam, work
            u = self.velocities(Lam)
            slipping = [i for i in group if self.slip(u, i) > self.resolution(Lam)]
            ideal = [i for i in slipping if math.isinf(self.mu[i])]
            if ideal:
                Lam = self._stop_ideal(Lam, work, ideal)
                continue
            mode = self.find_mode(u, group, slipping)
            if mode.slipping and not mode.starting:
                Lam, work = self._advance_turning(mode, Lam, work)
            else:
                Lam, work = self._advance_straight(mode, Lam, work)
            # Once an event has reached the end of a contact's phase, its distance is not compared with zero
            # again: rounding decides its sign, and a phase that starts at its end would miss it.
            near = np.abs(self.distance(Lam, work)) <= SMALL_SHARE / END_TOLERANCE * self.tolerance
            self.ended[mode.pushed] |= near[mode.pushed]
        raise ContactSetError(
            "An impact with friction does not end. Use the impact model 'moreau', or a smaller mu."
        )

    def lowest(self, Lam: Floats, work: Floats) -> list[int]:
        """Return the indices of the unfinished contacts with the lowest normal velocity."""
        unfinished = (self.distance(Lam, work) < -self.tolerance) & ~self.ended
        un = self.velocities(Lam)[:, 0]
        level = un[unfinished].min(initial=np.inf) + EQUAL_APPROACH * self.speed
        return np.flatnonzero(unfinished & (un <= level)).tolist()

    def resolution(self, Lam: Floats) -> float:
        """Return the slip speed (m/s) below which a slip is a rounding error after the impulses Lam (3m).

        Velocities before the impact and velocity changes that cancel both cause such errors.
        """
        return NO_SLIP * max(self.speed, float((np.abs(self.W) @ np.abs(Lam)).max()))

    # --- the law of friction between rates

    def column(self, i: int, direction: Floats) -> Floats:
        """Return an impulse of magnitude one at contact i with friction at its limit, opposed to the slip.

        `direction` (2,) is the unit vector of the slip. The result (3m,) contains the impulses of all m
        contacts.
        """
        size = math.hypot(1.0, self.mu[i])
        out = np.zeros(3 * self.count)
        out[3 * i] = 1.0 / size
        out[3 * i + 1 : 3 * i + 3] = -self.mu[i] / size * direction
        return out

    def find_mode(self, u: Floats, group: list[int], slips: list[int]) -> _Mode:
        """Return the statuses of the contacts `group` of lowest normal velocity; `slips` are those that slip.

        Find shares p >= 0 of sum one with normal velocities A p that equal c for pushed contacts and are at
        least c for the others: pushed contacts stay the lowest, eq. [impact-group]. Friction that presses
        contacts down makes c negative. A number added to all entries of A is added to c and does not change
        the shares. With c > 0 the problem is Coulomb's law with b = -1.
        """
        smooth = [i for i in group if self.mu[i] == 0.0]
        slipping = [i for i in slips if i not in smooth]
        resting = [i for i in group if i not in slipping and i not in smooth]
        single = [self.column(i, u[i, 1:] / self.slip(u, i)) for i in slipping]
        columns = np.array([*single, *self.axes[self._rows(smooth, resting)]]).T
        rows = self._rows([*slipping, *smooth], resting)
        normal = _normal_rows(len(slipping) + len(smooth), len(resting))
        A = (self.W @ columns)[rows] / self.compliance
        A += 2.0 * float(np.abs(A).max()) * np.outer(normal, normal)
        contacts = [*slipping, *smooth, *resting]
        starts = np.flatnonzero(normal).tolist()
        law = [
            FrictionContact(at, 3, self.mu[i]) if i in resting else FrictionContact(at, 1, 0.0)
            for i, at in zip(contacts, starts, strict=True)
        ]
        lam = solve_friction(A, -normal, law, FRICTION_TOLERANCE)
        if lam is None:
            raise ContactSetError(
                "No impulses satisfy Coulomb's law in the course of an impact. "
                "Use the impact model 'moreau', or a smaller mu."
            )
        lam /= float(lam @ normal)
        share = dict(zip(contacts, lam[starts].tolist(), strict=True))
        rate = columns @ lam
        pushed = {i for i in contacts if share[i] > SMALL_SHARE}
        margin = {
            i: 1.0 - math.hypot(rate[3 * i + 1], rate[3 * i + 2]) / (self.mu[i] * share[i])
            for i in resting
            if i in pushed
        }
        return _Mode(
            slipping=[i for i in slipping if i in pushed],
            smooth=[i for i in smooth if i in pushed],
            holding=[i for i in margin if margin[i] >= SMALL_SHARE],
            starting=[i for i in margin if margin[i] < SMALL_SHARE],
            rate=rate,
        )

    def shares(self, mode: _Mode) -> Callable[[Floats], tuple[Floats, Floats]]:
        """Return a function from slip directions (rad) to impulse rates (3m) and shares of pushed contacts.

        The function is valid while the mode lasts. The shares of redundant contacts are not unique; the
        function returns those nearest to the shares at the start of the mode.
        """
        fixed = self.axes[self._rows(mode.smooth, mode.holding)]
        rows = self._rows([*mode.slipping, *mode.smooth], mode.holding)
        normal = _normal_rows(len(mode.slipping) + len(mode.smooth), len(mode.holding))
        initial = [float(np.linalg.norm(mode.rate[3 * i : 3 * i + 3])) for i in mode.slipping]
        initial += mode.rate[self._rows(mode.smooth, mode.holding)].tolist()
        target = np.zeros(len(rows) + 1)
        target[-1] = 1.0

        def at(angles: Floats) -> tuple[Floats, Floats]:
            slips = zip(mode.slipping, np.cos(angles), np.sin(angles), strict=True)
            columns = np.array([*(self.column(i, np.array([c, s])) for i, c, s in slips), *fixed]).T
            if len(rows) == 1:
                return columns[:, 0], normal
            # Equations: all normal rates are equal, sticking contacts do not slip, the shares add up to one.
            A = (self.W @ columns)[rows] / self.compliance
            K = np.block([[A, -normal[:, None]], [normal, 0.0]])
            start = np.array([*initial, float((A @ initial)[normal > 0.0].mean())])
            solution = start + np.linalg.lstsq(K, target - K @ start, rcond=1e-12)[0]
            return columns @ solution[:-1], solution[:-1][normal > 0.0]

        return at

    def _rows(self, single: list[int], triple: list[int]) -> list[int]:
        """Return row indices: the normal row of contacts in `single`, all three rows of those in `triple`."""
        return [3 * i for i in single] + [3 * i + j for i in triple for j in range(3)]

    # --- from event to event

    def _advance_straight(self, mode: _Mode, Lam: Floats, work: Floats) -> tuple[Floats, Floats]:
        """Return impulses (3m) and work (m) at the next event, for rates that are constant until then."""
        u = self.velocities(Lam)
        change = (self.W @ mode.rate).reshape(-1, 3)
        un = u[:, 0]
        dun = change[:, 0]
        dP = mode.rate[::3]
        a, b, c = self.ending(Lam[::3], un, work, dP, dun)
        pushed = mode.pushed
        steps = [_first_root(a[i], b[i], c[i]) for i in pushed]
        level = float(un[pushed].mean())
        rise = float(dun[pushed].mean())
        for j in np.flatnonzero(~self.ended):
            if un[j] > level + EQUAL_APPROACH * self.speed and dun[j] < rise:
                x = (un[j] - level) / (rise - dun[j])
                if a[j] + b[j] * x < -self.tolerance[j]:  # contact j is not pushed: c = 0
                    steps.append(x)
        if mode.slipping:
            # A contact begins to slip while other slip directions turn: advance until its slip is large
            # enough to have a direction.
            smallest = min(self.slip(u, i) for i in mode.slipping)
            fastest = max(self.slip(change, i) for i in mode.starting)
            steps.append(SHORT_STEP * smallest / self.compliance)
            steps.append(10.0 * self.resolution(Lam) / fastest if fastest > 0.0 else math.inf)
        x = min(steps)
        if math.isinf(x):
            raise ContactSetError(
                "An impact with friction does not end: friction presses the contacts together (Painlevé "
                "paradox). Use a smaller mu, or the impact model 'moreau'."
            )
        return Lam + x * mode.rate, work + dP * (un * x + 0.5 * dun * x * x)

    def _advance_turning(self, mode: _Mode, Lam: Floats, work: Floats) -> tuple[Floats, Floats]:
        """Return impulses (3m) and work (m) at the next event, for slip directions that turn until then."""
        motion = _Turning(self, mode, Lam)
        x = _integrate_to_event(motion.rate, motion.margin, motion.start(Lam, work))
        log_slip, angles, Lam, work = motion.split(x)
        rested = np.array(mode.slipping)[log_slip <= motion.last + math.log(2.0)].tolist()
        if rested:
            rate = motion.shares(angles)[0]
            u = self.velocities(Lam)
            change = (self.W @ rate).reshape(-1, 3)
            rest = max(self.slip(u, i) / self.slip(change, i) for i in rested)
            work = work + rest * u[:, 0] * rate[::3]
            Lam = self._stop(Lam + rest * rate, rested)
        return Lam, work

    def _stop_ideal(self, Lam: Floats, work: Floats, ideal: list[int]) -> Floats:
        """Return impulses (3m) after which the contacts `ideal`, of infinite friction, do not slip.

        Contacts that would then separate are excluded instead, because friction needs a normal force.
        """
        stopped = self._stop(Lam, ideal)
        group = self.lowest(stopped, work)
        u = self.velocities(stopped)
        slipping = [i for i in group if i not in ideal and self.slip(u, i) > self.resolution(Lam)]
        pushed = self.find_mode(u, group, slipping).pushed if group else []
        separating = [i for i in ideal if i not in pushed]
        if not separating:
            return stopped
        self.ended[separating] = True
        return Lam

    def _stop(self, Lam: Floats, rested: list[int]) -> Floats:
        """Return the impulses Lam (3m) plus friction impulses that end the slip of the contacts `rested`."""
        rows = [3 * i + j for i in rested for j in (1, 2)]
        slip = (self.u + self.W @ Lam)[rows]
        out = Lam.copy()
        out[rows] -= np.linalg.pinv(self.W[np.ix_(rows, rows)], rcond=1e-13) @ slip
        return out


class _Turning:
    """The ordinary differential equation of an impact with slipping contacts.

    The parameter s is defined by dLam = h ds, where 1 / h is the sum of 1 / slip. In s a slip decays
    exponentially, and the equations are regular at its end. The variables x are log(slip) and direction (rad)
    of each slipping contact, impulses (3m) and work (m).
    """

    def __init__(self, process: _Process, mode: _Mode, Lam: Floats) -> None:
        self.process = process
        self.mode = mode
        self.shares = process.shares(mode)
        u = process.velocities(Lam)
        slip = np.array([process.slip(u, i) for i in mode.slipping])
        self.last = np.log(np.minimum(LAST_SLIP * process.speed, 0.1 * slip))
        self.others = [j for j in np.flatnonzero(~process.ended) if j not in mode.pushed]
        # Contacts that separate, but have the normal velocity of the pushed ones, differ from these by
        # rounding only.
        un = u[:, 0]
        ahead = un[self.others] - float(un[mode.pushed].mean())
        self.slack = np.maximum(-ahead, 0.0) + process.resolution(Lam)

    def start(self, Lam: Floats, work: Floats) -> Floats:
        """Return the variables x at impulses Lam (3m) and work (m)."""
        along, across = self.process.velocities(Lam)[self.mode.slipping, 1:].T
        log_slip = np.log(np.hypot(along, across))
        return np.concatenate([log_slip, np.arctan2(across, along), Lam, work])

    def split(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return log(slip), slip directions, impulses and work from the variables x."""
        n = len(self.mode.slipping)
        m = self.process.count
        return x[:n], x[n : 2 * n], x[2 * n : -m], x[-m:]

    def rate(self, _: float, x: Floats) -> Floats:
        """Return the derivatives of the variables x with respect to the parameter s."""
        log_slip, angle, Lam = self.split(x)[:3]
        slip = np.exp(log_slip)
        dLam = self.shares(angle)[0]
        along, across = (self.process.W @ dLam).reshape(-1, 3)[self.mode.slipping, 1:].T
        growth = np.cos(angle) * along + np.sin(angle) * across
        turn = np.cos(angle) * across - np.sin(angle) * along
        un = self.process.velocities(Lam)[:, 0]
        h = 1.0 / float((1.0 / slip).sum())
        return h * np.concatenate([growth / slip, turn / slip, dLam, un * dLam[::3]])

    def margin(self, x: Floats) -> float:
        """Return the smallest event function at the variables x; it is positive before the next event."""
        process = self.process
        pushed = self.mode.pushed
        others = self.others
        log_slip, angle, Lam, work = self.split(x)
        distance = process.distance(Lam, work)
        un = process.velocities(Lam)[:, 0]
        ahead = un[others] - float(un[pushed].mean()) + self.slack
        finished = distance[others] >= -process.tolerance[others]
        joins = np.where(finished, np.inf, ahead)
        dLam, share = self.shares(angle)
        margins = [-distance[pushed].max(), (log_slip - self.last).min(), share.min(), *joins]
        for i in self.mode.holding:
            if not math.isinf(process.mu[i]):
                friction = math.hypot(dLam[3 * i + 1], dLam[3 * i + 2])
                margins.append(process.mu[i] * dLam[3 * i] - friction)
        return float(min(margins))


def _normal_rows(single: int, triple: int) -> Floats:
    """Return 1 for each normal and 0 for each tangential row.

    The rows are those of `single` contacts with one row, then of `triple` contacts with three rows.
    """
    return np.array([1.0] * single + [1.0, 0.0, 0.0] * triple)


def _first_root(a: float, b: float, c: float) -> float:
    """Return the first x > 0 with a + b x + c x^2 / 2 = 0 for a < 0, or infinity."""
    discriminant = b * b - 2.0 * a * c
    denominator = b + math.sqrt(max(discriminant, 0.0))
    return -2.0 * a / denominator if discriminant >= 0.0 and denominator > 0.0 else math.inf


def _integrate_to_event(
    rate: Callable[[float, Floats], Floats], margin: Callable[[Floats], float], start: Floats
) -> Floats:
    """Integrate `rate` from the variables `start` until `margin` becomes zero; return the variables there."""
    solver = DOP853(rate, 0.0, start, INTEGRATION_END, rtol=IMPACT_RTOL, atol=IMPACT_ATOL)
    before = start
    for _ in range(MAX_IMPACT_STEPS):
        if margin(solver.y) <= 0.0 or solver.status != "running":
            break
        before = solver.y
        solver.step()
    else:
        raise ContactSetError(
            f"An impact with friction did not end within {MAX_IMPACT_STEPS} integration steps. Use a "
            "smaller mu, or the impact model 'moreau'."
        )
    if solver.t_old is None or solver.status != "running":
        raise ContactSetError(
            "An impact with friction does not end: friction presses the contacts together (Painlevé "
            "paradox). Use a smaller mu, or the impact model 'moreau'."
        )
    begin = solver.t_old
    end = solver.t
    dense = solver.dense_output()
    root = brentq(lambda s: margin(dense(s)), begin, end, xtol=1e-12 * (end - begin))
    # The interpolant is accurate to about 1e-9. Integrate up to its root, then take one Newton step.
    solver = DOP853(rate, begin, before, root, rtol=IMPACT_RTOL, atol=IMPACT_ATOL)
    while solver.status == "running":
        solver.step()
    x = solver.y
    change = rate(root, solver.y)
    h = 1e-6 * (end - begin)
    slope = (margin(x + h * change) - margin(x - h * change)) / (2.0 * h)
    shift = -margin(x) / slope if slope < 0.0 else 0.0
    return x + max(-h, min(h, shift)) * change
