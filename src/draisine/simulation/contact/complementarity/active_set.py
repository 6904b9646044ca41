"""The active set: the closed contacts among touching ones, at acceleration and at impulse level.

Problem. Several contacts touch, each with up to three constraint rows. Find the set of closed contacts such
that in the saddle-point system with the rows of the closed contacts

    no closed contact pulls:       lam_n >= 0
    no open contact approaches:    C_n x >= level of the contact (`Choice.level`)

This generalises the prediction and correction of the thesis (remark 3.6) by the
condition that a released contact must separate.

Method. For up to `MAX_ENUMERATED` contacts all sets are tried, the largest first. The result then does not
depend on the order of the contacts. For more contacts the set is found by block principal pivoting (Judice
and Pires 1994, doi:10.1016/0305-0548(94)90106-6): all contacts that pull or approach are exchanged between
the open and the closed contacts at once; if their number does not decrease, one contact at a time is
exchanged (Murty's rule), which ends cycles.

Contacts with friction obey Coulomb's law instead (`solve_coulomb_forces`): its unknowns are the forces of all
contacts, related to their motion by the Delassus matrix.

Two resolutions lead to the speeds after an impact: complete, with impulses as unknowns, and reduced, by
projection on the speeds that the contacts leave free (`make_saddle_point`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine
from draisine.codegen.targets.native import make_record, shared_code, workspace
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.coulomb import (
    MAX_ENUMERATED,
    FrictionProblem,
    has_friction,
    obeys_law,
    solve_friction_law,
)
from draisine.simulation.contact.complementarity.linear import (
    REDUNDANT_ROW_DISTANCE,
    add_dot,
    dot,
    max_difference,
    max_norm,
)
from draisine.simulation.contact.complementarity.saddle_point import (
    SaddlePoint,
    SaddleStatus,
    apply_multipliers,
    find_null_space,
    make_saddle_point,
    project_on_motions,
    set_equality_rows,
    set_row,
    solve_reduced,
    solve_saddle_point,
    write_delassus,
    write_motion,
    write_right_side,
)
from draisine.simulation.contact.complementarity.sharing import push_least
from draisine.simulation.contact.status import Status, count_rows
from draisine.simulation.options import RESOLUTIONS
from draisine.simulation.trajectory import Key
from draisine.system.layout import Layout

MAX_TRIALS = 2**MAX_ENUMERATED
"""Largest number of contact sets that are tried; block principal pivoting needs about ten."""

STICKING_RESIDUAL = 1e-12
"""Largest residual of redundant rows at which all contacts can stick at once.

It is relative to the largest acceleration or velocity of the rows without contact forces.
"""

BLOCK_EXCHANGES = 3
"""Number of block exchanges without progress before block principal pivoting exchanges single contacts.

Single exchanges (Murty's rule) end cycles, but are slower.
"""

IMPACT_RESOLUTION = 1e-9
"""Relative resolution of the results of an impact.

Approach velocities count as zero below this fraction of the largest contact velocity before the impact,
negative normal impulses below this fraction of the largest momentum before it.
"""

EQUAL_NORM = 1e-9
"""Relative difference below which two kinetic norms x' M x count as equal."""

EQUAL_SPEED_CHANGE = 1e-6
"""Relative difference below which two changes of speeds count as equal.

It is much larger than `EQUAL_NORM`: a norm is stationary at its extremum, and differs only to second order.
"""

INCONSISTENT_SLIP = 1e-6
"""Largest inconsistency of the free accelerations of redundant contacts that is removed.

It is a fraction of the largest acceleration. A larger inconsistency is not a rounding error.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A touching contact that may be closed or open after an event."""

    key: Key  # names of wheel and ground feature
    C: Floats  # (3, n) contact Jacobian: rows normal, along, across
    c: Floats  # (3) targets of the rows at acceleration level, m/s^2
    b: Floats  # (3) velocity of the ground, m/s
    mu: float = np.inf  # friction coefficient; infinite for an ideal contact
    status: Status = Status.ROLLING  # status of the contact if it is closed
    lift: Floats | float = 0.0  # (n) generalised force of tyre elements per newton of normal load

    def relative(self, v: Floats) -> Floats:
        """Return the velocity of the contact point relative to the ground, C v - b."""
        return self.C @ v - self.b

    @property
    def rows(self) -> int:
        """The number of constraint rows of the contact if it is closed (0 to 3)."""
        return count_rows(self.status)

    @property
    def held(self) -> Floats:
        """The constraint rows of the contact if it is closed, shape (rows, n)."""
        return self.C[: self.rows]

    def column(self, v: Floats) -> Floats:
        """Return the generalised forces (n, rows) of unit multipliers of the constraint rows.

        The column of the normal row includes tyre lift and, for a sliding contact, friction against the slip
        at the speeds v (n).
        """
        out = self.held.T.copy()
        out[:, 0] += self.lift
        if self.status != Status.SLIDING or self.mu == 0 or np.isinf(self.mu):
            return out
        slip = self.relative(v)[1:]
        size = float(np.linalg.norm(slip))
        out[:, 0] -= self.mu * (slip @ self.C[1:] / size) if size > 0 else 0.0
        return out


RESTING_APPROACH = 1e-9
"""Approach velocity, as a fraction of the largest contact velocity, below which a contact rests.

After projection, closed contacts approach with about 1e-15 of this velocity. Poisson's expansion must not
depend on the sign of this rounding error.
"""


@dataclass(frozen=True, slots=True, eq=False)
class ImpactProblem:
    """The data of an impact: mass matrix, contacts, and speeds before the impact.

    `resolution` is "complete" or "reduced". In the complete resolution, (3.17)-(3.24) of the thesis, the
    impulses are unknowns, and bodies may be massless. The reduced resolution, (3.25)-(3.30), projects onto
    the speeds that satisfy the contact constraints.
    """

    M: Floats  # (n, n) mass matrix
    held: Floats  # (m, n) constraint rows without velocity change: prescribed joints, couplings
    contacts: Sequence[Candidate]  # touching contacts
    v: Floats  # (n) speeds before the impact
    rest_speed: float = 0.0  # m/s, approach velocity below which a contact does not rebound
    resolution: str = "complete"

    def rebounds(self, contact: Candidate) -> bool:
        """Return whether a contact approaches fast enough to rebound."""
        largest = max(float(np.abs(each.relative(self.v)).max()) for each in self.contacts)
        slowest = max(self.rest_speed, RESTING_APPROACH * largest)
        return bool(-contact.relative(self.v)[0] > slowest)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A trial of the active-set search: one set of closed contacts with the resulting motion and forces."""

    closed: tuple[Key, ...]  # names of the closed contacts
    # normal, along and across force (N) or impulse (N s) of each closed contact
    pushes: dict[Key, Floats]
    # normal velocity (m/s) or acceleration (m/s^2) of each open contact
    separations: dict[Key, float]
    result: Floats  # (n) speeds after the impact, or accelerations
    admissible: bool  # whether no closed contact pulls and no open contact approaches

    @property
    def refusal(self) -> str:
        """The reason why the trial is not admissible, as text: the contact that would pull or penetrate."""
        held = " and ".join(":".join(key) for key in self.closed) or "none"
        pull = min(self.pushes, key=lambda key: float(self.pushes[key][0]), default=None)
        sink = min(self.separations, key=lambda key: self.separations[key], default=None)
        if pull is not None and float(self.pushes[pull][0]) < 0.0:
            return f"with {held} closed {':'.join(pull)} would pull"
        if sink is not None and self.separations[sink] < 0.0:
            return f"with {held} closed {':'.join(sink)} would sink"
        return f"with {held} closed rows contradict each other"


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Result of the active-set search: the chosen trial and all trials.

    The first trial is the prediction that every contact stays closed.
    """

    chosen: Trial
    trials: Sequence[Trial] = field(repr=False)


class Choice(NamedTuple):
    """The contact problem without friction limits, for up to k contacts, with the arrays of the solver.

    The motion x (accelerations, or changes of speeds) satisfies M x = right + forces of the closed contacts
    and of the equality rows.
    """

    n: int  # number of speeds
    holds: int  # number of equality rows: prescribed joints, couplings
    sizes: Integers  # number of contacts and of trials, see CONTACTS and TRIALS
    M: Floats  # (n n) mass matrix
    right: Floats  # (n) generalised force without contacts
    held: Floats  # (holds n) equality rows
    targets: Floats  # (holds) right-hand sides of the equality rows
    C: Floats  # (3 k n) Jacobian rows of the contacts: normal, along, across
    G: Floats  # (3 k n) generalised force per unit multiplier, with friction drag and tyre lift
    c: Floats  # (3 k) targets of the closed contacts
    level: Floats  # (k) normal acceleration or velocity above which an open contact separates
    push: Floats  # (k n) generalised force of the force elements of each contact while closed
    rows: Integers  # (k) number of constraint rows of each contact if it is closed
    wheels: Integers  # (k) index of the wheel of each contact
    avoid: Integers  # (k) 1 if a contact has just lost its load and should stay open if possible
    closed: Integers  # (k) 1 for the closed contacts of the present trial
    normals: Integers  # (k) row of the normal multiplier of each closed contact in `system`
    trials: Floats  # all trials, one after the other, in the layout of `trial_layout`
    x: Floats  # (n) motion; shares its memory with `system.x`
    system: SaddlePoint  # rows of the closed contacts, then the equality rows


CONTACTS, TRIALS = range(2)
"""Indices into `Choice.sizes`: the number of contacts and the number of trials."""


def make_choice(n: int, holds: int, most: int, system: SaddlePoint | None = None) -> Choice:
    """Return an empty contact problem for n speeds, `holds` equality rows and up to `most` contacts.

    The problem may use the saddle-point `system` of a contact mode, because the mode keeps no values in it
    between calls.
    """
    system = make_saddle_point(n, holds + 3 * most) if system is None else system
    contacts = ("level", "rows", "wheels", "avoid", "closed", "normals")
    found: Choice = make_record(
        Choice,
        n=n,
        holds=holds,
        sizes=2,
        M=system.M.reshape(-1),
        x=system.x,
        system=system,
        right=n,
        held=holds * n,
        targets=holds,
        c=3 * most,
        push=most * n,
        trials=min(2**most, MAX_TRIALS) * trial_layout(n, most).size,
        **dict.fromkeys(contacts, most),
        **dict.fromkeys(("C", "G"), 3 * most * n),
    )
    return found


# --- one set of closed contacts


@routine
def share_pulls(g: Choice, count: int) -> None:
    """Change redundant multipliers by the smallest amount after which no closed contact pulls, if possible.

    The change is along null vectors, without effect on the constraints. `count` is the number of closed
    contacts.
    """
    p = g.system
    spare = find_null_space(p)
    push_least(p.multiplier, p.rows, p.null, spare, g.normals, count, p.work)
    if not p.symmetric:
        # The motion depends on the loads of sliding contacts and tyres, so it is computed again.
        write_motion(p)


@routine
def solve_set(g: Choice, reduced: int) -> SaddleStatus:
    """Solve for motion and multipliers with the contacts that `closed` marks; return the status.

    `reduced` is 1 for the reduced resolution, 0 for the complete one.
    """
    p = g.system
    n = g.n
    row = 0
    count = 0
    p.force[:n] = g.right[:n]
    for k in range(g.sizes[CONTACTS]):
        if g.closed[k] == 1:
            g.normals[count] = row
            count += 1
            p.force[:n] += g.push[k * n :][:n]
            for i in range(3 * k, 3 * k + g.rows[k]):
                set_row(p, row, g.C[i * n :], g.G[i * n :], g.c[i])
                row += 1
    set_equality_rows(p, row, g.held, g.targets, g.holds)
    p.rows = row + g.holds
    status = solve_reduced(p) if reduced == 1 else solve_saddle_point(p)
    if status is SaddleStatus.UNSOLVABLE:
        p.x[:n] = 0.0
        p.multiplier[: p.rows] = 0.0
    if status is SaddleStatus.REDUNDANT:
        share_pulls(g, count)
    return status


@routine
def try_set(g: Choice, trial: Floats, pull: float, sinking: float, reduced: int) -> SaddleStatus:
    """Solve for the contact set that `closed` marks, and write the result to `trial`; return the status.

    The layout of `trial` is `trial_layout`. Normal multipliers below -`pull` and separations below -`sinking`
    make the set inadmissible.
    """
    count = g.sizes[CONTACTS]
    n = g.n
    push = trial[1 + count + n :]
    away = push[3 * count :]
    status = solve_set(g, reduced)
    trial[1 + count : 1 + count + n] = g.x[:n]
    row = 0
    for k in range(count):
        trial[k] = float(g.closed[k])
        away[k] = add_dot(-g.level[k], g.C[3 * k * n :], g.x, n)
        push[3 * k :][:3] = 0.0
        for i in range(g.rows[k] if g.closed[k] == 1 else 0):
            push[3 * k + i] = g.system.multiplier[row]
            row += 1
    trial[count] = 0.0
    if status is not SaddleStatus.UNSOLVABLE and exchange_contacts(g, trial, pull, sinking, 0) == 0:
        trial[count] = 1.0
    return status


@routine
def exchange_contacts(g: Choice, trial: Floats, pull: float, sinking: float, most: int) -> int:
    """Return the number of contacts of a trial that violate a condition, and exchange up to `most` of them.

    These are closed contacts that pull and open contacts that approach. A closed contact becomes open and an
    open one closed, beginning with the largest index.
    """
    count = g.sizes[CONTACTS]
    push = trial[1 + count + g.n :]
    away = push[3 * count :]
    number = 0
    for k in range(count - 1, -1, -1):
        spare = push[3 * k] + pull if trial[k] == 1.0 else away[k] + sinking
        if not spare >= 0.0:
            if number < most:
                g.closed[k] = 1 - g.closed[k]
            number += 1
    return number


@cache
def trial_layout(n: int, count: int) -> Layout:
    """Return the layout of one trial in `Choice.trials`, for n speeds and `count` contacts."""
    return Layout(
        {"closed": count, "admissible": 1, "x": n, "multipliers": 3 * count, "separations": count}
    )


@routine
def trial_offset(g: Choice, k: int) -> int:
    """Return the offset of trial k in the array `Choice.trials`."""
    return k * (1 + g.n + 5 * g.sizes[CONTACTS])


@routine
def multiplier_offset(g: Choice, k: int) -> int:
    """Return the offset of the multipliers of trial k in `Choice.trials`; the motion (n) precedes them."""
    return trial_offset(g, k) + 1 + g.sizes[CONTACTS] + g.n


@routine
def is_admissible(g: Choice, k: int) -> bool:
    """Return whether no closed contact of trial k pulls and no open contact approaches."""
    return g.trials[trial_offset(g, k) + g.sizes[CONTACTS]] == 1.0


@routine
def mark_closed(g: Choice, which: int) -> None:
    """Mark the closed contacts of trial `which` as closed."""
    trial = g.trials[trial_offset(g, which) :]
    for k in range(g.sizes[CONTACTS]):
        g.closed[k] = int(trial[k])


# --- all sets


@routine
def mark_set(g: Choice, mask: int) -> None:
    """Mark the contacts of a bit mask as closed; the lowest bit belongs to the last contact."""
    rest = mask
    for k in range(g.sizes[CONTACTS] - 1, -1, -1):
        g.closed[k] = rest % 2
        rest = rest // 2


@routine
def closes_wheel_twice(g: Choice) -> bool:
    """Return whether two of the closed contacts belong to the same wheel."""
    for k in range(g.sizes[CONTACTS]):
        for other in range(k):
            if g.closed[k] * g.closed[other] == 1 and g.wheels[k] == g.wheels[other]:
                return True
    return False


@routine
def kinetic_norm(g: Choice, which: int) -> float:
    """Return the kinetic norm x' M x of the motion x of trial `which`."""
    x = g.trials[multiplier_offset(g, which) - g.n :]
    total = 0.0
    for i in range(g.n):
        total += x[i] * dot(g.M[i * g.n :], x, g.n)
    return total


@routine
def is_same_motion(g: Choice, one: int, other: int) -> bool:
    """Return whether two trials have the same motion up to `EQUAL_SPEED_CHANGE`."""
    x = g.trials[multiplier_offset(g, one) - g.n :]
    y = g.trials[multiplier_offset(g, other) - g.n :]
    return max_difference(x, y, g.n) <= EQUAL_SPEED_CHANGE * max_norm(x, g.n)


@routine
def choose_set(g: Choice, pull: float, sinking: float, every: int, reduced: int) -> int:
    """Return the index of the admissible contact set (trial), by enumeration; -1 if there is none.

    Of several admissible sets, a set in which no wheel has redundant contacts is preferred, then a set
    without the contacts in `avoid`, then the largest set. If `every` is 0, the search stops at the first set
    that no later set can precede.

    If `every` is 1, the result does not depend on the order of the contacts. Of sets of the same size, the
    one with the largest change of speeds in the kinetic norm is chosen; with one coefficient of restitution
    it dissipates most. If several different changes are equally large (mirror images), the result is -1.

    `pull` and `sinking` are the tolerances of `try_set`; `reduced` is 1 for the reduced resolution.
    """
    if g.sizes[CONTACTS] > MAX_ENUMERATED:
        return choose_by_pivoting(g, pull, sinking, reduced)
    count = g.sizes[CONTACTS]
    total = 1
    for _ in range(count):
        total *= 2
    tried = 0
    best = -1
    rank = 0
    largest = 0.0
    ambiguous = False
    for size in range(count, -1, -1):
        for mask in range(total - 1, -1, -1):
            mark_set(g, mask)
            inside = 0
            avoided = 0
            for k in range(count):
                inside += g.closed[k]
                avoided += g.closed[k] * g.avoid[k]
            if inside != size:
                continue
            status = try_set(g, g.trials[trial_offset(g, tried) :], pull, sinking, reduced)
            crowded = status is SaddleStatus.REDUNDANT and closes_wheel_twice(g)
            tried += 1
            g.sizes[TRIALS] = tried
            if not is_admissible(g, tried - 1):
                continue
            place = (int(crowded) * (count + 1) + avoided) * (count + 1) - size
            norm = kinetic_norm(g, tried - 1) if every == 1 else 0.0
            larger = place == rank and norm > (1.0 + EQUAL_NORM) * largest
            equal = place == rank and norm >= (1.0 - EQUAL_NORM) * largest
            if best < 0 or place < rank or larger:
                best = tried - 1
                rank = place
                largest = norm
                ambiguous = False
            elif every == 1 and equal and not is_same_motion(g, best, tried - 1):
                ambiguous = True
            if every == 0 and not crowded and avoided == 0:
                return best
    return -1 if ambiguous else best


@routine
def choose_by_pivoting(g: Choice, pull: float, sinking: float, reduced: int) -> int:
    """Return the index of the admissible contact set, by block principal pivoting; -1 if none is found.

    The first set contains all contacts except those in `avoid`. At most `MAX_TRIALS` sets are tried.
    """
    count = g.sizes[CONTACTS]
    for k in range(count):
        g.closed[k] = 1 - g.avoid[k]
    fewest = count + 1
    patience = BLOCK_EXCHANGES
    for number in range(MAX_TRIALS):
        trial = g.trials[trial_offset(g, number) :]
        status = try_set(g, trial, pull, sinking, reduced)
        g.sizes[TRIALS] = number + 1
        if is_admissible(g, number):
            return number
        if status is SaddleStatus.UNSOLVABLE:
            # The constraint rows of closed contacts contradict each other. There are no multipliers from
            # which the contacts to open could be chosen.
            return -1
        wrong = exchange_contacts(g, trial, pull, sinking, 0)
        if wrong < fewest:
            fewest = wrong
            patience = BLOCK_EXCHANGES
        else:
            patience -= 1
        exchange_contacts(g, trial, pull, sinking, count if patience > 0 else 1)
    return -1


# --- friction


@routine
def write_friction_problem(g: Choice, law: FrictionProblem) -> bool:
    """Write Delassus matrix W and free motion b of all contacts to the friction problem u = W lam + b.

    Return False if the mass matrix is singular for a motion that the constraints allow.
    """
    write_friction_rows(g, law)
    return write_delassus(g.system, g.holds, law.W, law.b)


@routine
def write_friction_rows(g: Choice, law: FrictionProblem) -> None:
    """Write the rows of all contacts, after the equality rows, to the saddle-point system."""
    p = g.system
    n = g.n
    size = 0
    set_equality_rows(p, 0, g.held, g.targets, g.holds)
    p.force[:n] = g.right[:n]
    for k in range(g.sizes[CONTACTS]):
        law.first_row[k] = size
        law.rows[k] = g.rows[k]
        for i in range(3 * k, 3 * k + g.rows[k]):
            set_row(p, g.holds + size, g.C[i * n :], g.G[i * n :], g.c[i])
            size += 1
    p.rows = g.holds + size
    law.sizes[0] = g.sizes[CONTACTS]
    law.sizes[1] = size


@routine
def remove_inconsistency(g: Choice, law: FrictionProblem) -> None:
    """Project the free motion b onto the motions that redundant contacts allow, if it is nearly one of them.

    Redundant contacts that come to rest slip at slightly different speeds. No contact force can remove the
    difference.
    """
    size = law.sizes[1]
    nearest = g.system.work[size * (g.n + size) :]
    if project_on_motions(g.system, g.holds, law.b, nearest) == size:
        return
    if max_difference(law.b, nearest, size) <= INCONSISTENT_SLIP * max_norm(law.b, size):
        law.b[:size] = nearest[:size]


@routine
def hold_all_contacts(g: Choice, law: FrictionProblem) -> bool:
    """Try to make all contacts stick: solve the saddle-point system of all contact rows.

    Return whether the forces of minimum norm push and lie within their friction cones. The friction problem
    of many contacts takes much longer than this system.
    """
    p = g.system
    write_friction_rows(g, law)
    if solve_saddle_point(p) is SaddleStatus.UNSOLVABLE or not p.symmetric:
        return False
    write_right_side(p)
    size = 0.0
    for i in range(p.rows):
        size = max(size, abs(p.rest[i]) / p.scale[p.row_order[i]])
    if p.inconsistency > STICKING_RESIDUAL * size:
        return False
    law.new[: law.sizes[1]] = p.multiplier[g.holds :][: law.sizes[1]]
    law.u[: law.sizes[1]] = 0.0
    for k in range(law.sizes[0]):
        law.status[k] = int(Status.ROLLING if has_friction(law, k) else Status.SLIDING)
        if law.rows[k] == 3 and law.status[k] == Status.SLIDING:
            return False
    return obeys_law(law, 0.0)


@routine
def solve_coulomb_forces(g: Choice, law: FrictionProblem) -> int:
    """Solve Coulomb's law, eq. [coulomb], for contact forces `law.new` (N) and accelerations `g.x`.

    Contacts without slip open, roll or begin to slip. Sliding contacts have friction against their slip.
    Return 0, or 1 if no forces satisfy the law.
    """
    if g.sizes[CONTACTS] > MAX_ENUMERATED and hold_all_contacts(g, law):
        return 0
    if not write_friction_problem(g, law):
        return 1
    remove_inconsistency(g, law)
    if solve_friction_law(law, 1e-13) != 0:
        return 1
    apply_friction_forces(g, law)
    return 0


@routine
def apply_friction_forces(g: Choice, law: FrictionProblem) -> None:
    """Compute the motion `g.x` under the forces `law.new`; call `write_friction_problem` first."""
    apply_multipliers(g.system, g.holds, law.new)


# --- from Python


def solve_impact(given: ImpactProblem, restitution: Callable[[Candidate], Floats]) -> Selection:
    """Return the active set of an impact, with non-negative normal impulses and separation velocities.

    Closed contacts satisfy Newton's law of restitution, C v+ - b = -E (C v- - b). `restitution` returns the
    coefficients E (3) of a contact: normal, along, across.

    Raises
    ------
    ContactSetError
        If no contact set is admissible, or if several sets are equally admissible.
    """
    contacts = given.contacts
    v = given.v
    packed = workspace(make_choice, len(v), len(given.held), len(contacts))
    g: Choice = packed.record
    g.sizes[CONTACTS] = len(contacts)
    g.M[:] = given.M.ravel()
    g.held[:] = given.held.ravel()
    g.rows[:] = [k.rows for k in contacts]
    wheels = [k.key[0] for k in contacts]
    g.wheels[:] = [wheels.index(wheel) for wheel in wheels]
    for i, contact in enumerate(contacts):
        velocity = contact.relative(v)
        rows = slice(3 * i, 3 * i + 3)
        g.C.reshape(-1, g.n)[rows] = contact.C
        g.G.reshape(-1, g.n)[rows] = contact.C
        g.c[rows] = -(1.0 + restitution(contact)) * velocity
        g.level[i] = -velocity[0]
    approach = max((float(np.abs(k.relative(v)).max()) for k in contacts), default=0.0)
    sinking = IMPACT_RESOLUTION * approach
    pull = IMPACT_RESOLUTION * float(np.abs(given.M @ v).max(initial=0.0))
    which = shared_code(choose_set)(packed, pull, sinking, 1, RESOLUTIONS.index(given.resolution))
    trials = read_trials(g, [k.key for k in contacts], v)
    if which < 0:
        raise make_contact_set_error([k.key for k in contacts], trials)
    return Selection(trials[which], trials)


def read_trials(g: Choice, keys: Sequence[Key], start: Floats | float = 0.0) -> "Trials":
    """Return the trials of the active-set search; `start` (n) is added to the motion of each trial."""
    count = int(g.sizes[TRIALS])
    size = trial_layout(g.n, int(g.sizes[CONTACTS])).size
    return Trials(g.trials[: count * size].reshape(count, size), keys, start)


class Trials(Sequence[Trial]):
    """Sequence of the trials of an active-set search, from an array with one row per trial.

    A `Trial` is constructed when it is read. Most trials are never read.
    """

    def __init__(self, rows: Floats, keys: Sequence[Key], start: Floats | float = 0.0) -> None:
        self._rows = rows.copy()
        self._keys = tuple(keys)
        self._start = np.array(start)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return tuple(self[i] for i in range(len(self))[k])
        row = self._rows[k]
        count = len(self._keys)
        layout = trial_layout(len(row) - 1 - 5 * count, count)
        multipliers = row[layout.multipliers].reshape(-1, 3)
        pushes: dict[Key, Floats] = {}
        separations: dict[Key, float] = {}
        for i, key in enumerate(self._keys):
            if row[layout.closed.start + i] == 1.0:
                pushes[key] = multipliers[i]
            else:
                separations[key] = float(row[layout.separations.start + i])
        is_admissible = bool(row[layout.admissible.start] == 1.0)
        result = self._start + row[layout.x]
        return Trial(tuple(pushes), pushes, separations, result, is_admissible)


def make_contact_set_error(keys: Sequence[Key], trials: Sequence[Trial]) -> ContactSetError:
    """Return the error of an impact: no contact set is admissible, or several sets are equally admissible."""
    admissible = [trial for trial in trials if trial.admissible]
    if admissible:
        sets = " or ".join(" and ".join(map(":".join, trial.closed)) for trial in admissible)
        return ContactSetError(
            f"Several outcomes of the impact of {', '.join(map(':'.join, keys))} are equally admissible: "
            f"{sets} closed. Wheels that never slip do not decide between mirror images. Set a finite mu: "
            "--mu 0.8, in Python ContactOptions(mu=0.8).",
            trials,
        )
    return ContactSetError(
        f"no set of the contacts {', '.join(map(':'.join, keys))} is admissible: wheels that never slip "
        "would have to pull or to sink. With friction they slip: --mu 0.8, in Python ContactOptions(mu=0.8). "
        f"Tried: {'; '.join(trial.refusal for trial in trials)}.",
        trials,
    )


def select_independent_rows(C: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return linearly independent rows (r, n) and targets (r) with the same solutions as `C x = c`."""
    if not len(C):
        return C, c
    U, s, _ = np.linalg.svd(C, full_matrices=False)
    rank = int((s > REDUNDANT_ROW_DISTANCE * s.max(initial=0.0)).sum())
    return (C, c) if rank == len(C) else (U[:, :rank].T @ C, U[:, :rank].T @ c)
