"""Which contacts carry: sets of closed contacts with both forces and separations non-negative, found
by trying them all, at acceleration and at impulse level.

This generalises the prediction and correction of the thesis (remark 3.6): a released contact must
also separate. There are two ways to the speeds after an impact: complete (with impulses as unknowns)
and reduced (projected on the speeds that the contacts leave free).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine
from draisine.codegen.targets.native import make_record, room, routine_code, shared_code
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.coulomb import FrictionProblem, settle_friction
from draisine.simulation.contact.complementarity.linear import (
    REPEATS,
    add_dot,
    add_rows,
    complement,
    dot,
    kernel_system,
    max_difference,
    max_norm,
    push_least,
    saddle_point,
    span,
)
from draisine.simulation.options import RESOLUTIONS
from draisine.simulation.trajectory import Key
from draisine.system.layout import Layout

PARTS = 1e-9
"""A contact that approaches after an impact by a smaller part of the fastest approach before it separates; an
impulse that is minus a smaller part of the momentum does not pull.
"""


EQUAL, SAME = 1e-9, 1e-6
"""Relative differences of kinetic norms, and of changes of speeds, below which they are equal: a norm
is stationary where its change is not, hence the square root or more between them."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A contact that touches: its rows (normal, along, across), their targets c at acceleration and b
    at velocity level, friction mu.

    `rows` is how many of them it holds when closed: 3 where it rolls, 1 where it slides, on a tyre
    what that holds. Elements at the contact push by the generalised force `lift` for each newton of
    its load.
    """

    key: Key
    C: Floats
    c: Floats
    b: Floats
    mu: float = np.inf
    rows: int = 3
    lift: Floats | float = 0.0

    def relative(self, v: Floats) -> Floats:
        """Return the velocity of the contact point over the ground, C v - b."""
        return self.C @ v - self.b

    @property
    def held(self) -> Floats:
        """The rows that it holds when closed."""
        return self.C[: self.rows]

    def column(self, v: Floats) -> Floats:
        """Return the generalised forces of its held rows' multipliers, as columns; a sliding
        contact drags against its slip.
        """
        out = self.held.T.copy()
        out[:, 0] += self.lift
        if self.rows == 3 or self.mu == 0 or np.isinf(self.mu):
            return out
        slip = self.relative(v)[1:]
        size = float(np.linalg.norm(slip))
        out[:, 0] -= self.mu * (slip @ self.C[1:] / size) if size > 0 else 0.0
        return out


@dataclass(frozen=True, slots=True, eq=False)
class ImpactProblem:
    """What an impact is about: the mass matrix, rows that keep their speeds (prescribed joints,
    couplings), the contacts that touch, the speeds before. Contacts that approach slower than
    `rest_speed` do not rebound; `resolution` is the way to the speeds after it: "complete", with
    impulses as unknowns, (3.17)-(3.24), which allows massless bodies, or "reduced", on the speeds that
    contacts leave free, (3.25)-(3.30).
    """

    M: Floats
    held: Floats
    contacts: Sequence[Candidate]
    v: Floats
    rest_speed: float = 0.0
    resolution: str = "complete"

    def rebounds(self, contact: Candidate) -> bool:
        """Return whether a contact approaches so fast that it is given a part of its speed back."""
        return bool(-contact.relative(self.v)[0] > self.rest_speed)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A set of closed contacts that was tried: forces or impulses per contact (normal, along,
    across), separations of the open ones, and the speeds or accelerations that follow.
    """

    closed: tuple[Key, ...]
    pushes: dict[Key, Floats]
    separations: dict[Key, float]
    result: Floats
    admissible: bool

    @property
    def refusal(self) -> str:
        """Why a set is not admissible: which contact would pull, which would sink."""
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
    """The trial that was chosen, and all that were made; the first is the prediction that every
    contact stays closed.
    """

    chosen: Trial
    trials: tuple[Trial, ...] = field(repr=False)


class Choice(NamedTuple):
    """Contacts to choose from, where `M x = right + held' h + G' lam` (and what the closed ones
    push), `held x = targets`, and `C x = c` for the closed ones: n speeds, so many rows that hold
    always; per contact three rows C and what their multipliers do, G, the targets c and the `level`
    above which the normal row separates, what it pushes when closed, how many rows it holds, its
    wheel, and whether it is to be avoided. `trials` are those made, one after the other; `sizes`
    holds how many contacts and trials there are; the rest is room to work.
    """

    n: int
    holds: int
    sizes: Integers
    M: Floats
    right: Floats
    held: Floats
    targets: Floats
    C: Floats
    G: Floats
    c: Floats
    level: Floats
    push: Floats
    rows: Integers
    wheels: Integers
    avoid: Integers
    closed: Integers
    normals: Integers
    trials: Floats
    given: Floats
    x: Floats
    B: Floats
    room: Floats
    order: Integers


CONTACTS, TRIALS = range(2)
"""What the sizes of a choice hold."""


def empty_choice(n: int, holds: int, most: int) -> Choice:
    """Return room for a choice among so many contacts at most."""
    m = holds + 3 * most
    names = ("level", "rows", "wheels", "avoid", "closed", "normals")
    contacts = dict.fromkeys(names, most) | dict.fromkeys(("C", "G"), 3 * most * n)
    machine = {"M": n * n, "right": n, "held": holds * n, "targets": holds, "x": n + m}
    work = {"B": n * (3 * most + 1), "room": 10 * (n + m + 1) ** 2, "order": n + m + 1}
    work |= {"trials": 2**most * (2 + n + 4 * most), "given": (n + 1) * (n + 2 * m) + m}
    sizes = contacts | machine | work | {"sizes": 2, "c": 3 * most, "push": most * n}
    found: Choice = make_record(Choice, n=n, holds=holds, **sizes)
    return found


@routine
def give_row(g: Choice, m: int, at: int, C: Floats, G: Floats, c: float) -> None:
    """Put one of m rows, what its multiplier does, and its target, in place."""
    n = g.n
    g.given[n * (n + 1 + at) :][:n] = C[:n]
    g.given[n * (n + 1 + m) + at :: m][:n] = G[:n]
    g.given[n * (n + 1 + 2 * m) + at] = c


@routine
def give_held(g: Choice, m: int, at: int, share: float) -> None:
    """Put the mass matrix in place, and the rows that hold always, from one on, with so large a part
    of their targets.
    """
    g.given[: g.n * g.n] = g.M[: g.n * g.n]
    for i in range(g.holds):
        give_row(g, m, at + i, g.held[i * g.n :], g.held[i * g.n :], share * g.targets[i])


@routine
def solve_closed(g: Choice, m: int, reduced: int) -> int:
    """Write x and the multipliers of m rows; return 1 where rows repeat others (rows of nothing repeat
    none), -1 where they contradict each other.
    """
    n, some = g.n, 0
    if reduced == 1:
        repeating = kernel_system(n, m, g.given, g.x, g.room, g.order)
    else:
        repeating = saddle_point(n, m, g.given, g.x, g.room, g.order)
    if repeating < 0:
        g.x[: n + m] = 0.0
        return -1
    for i in range(m):
        some += 1 if max_norm(g.given[n * (n + 1 + i) :], n) > 0.0 else 0
    return 1 if repeating > m - some else 0


@routine
def spread(g: Choice, m: int, count: int, lam: Floats) -> None:
    """Change multipliers of m repeating rows, with the same effect and by as little as it takes, until
    none of the normal ones of so many contacts pulls, if there are such.
    """
    U, null, room = g.room[0:], g.room[m * m :], g.room[2 * m * m :]
    rank = span(g.given[g.n * (g.n + 1) :], m, g.n, U, null)
    complement(U, rank, m, null, room)
    push_least(lam, m, null, m - rank, g.normals, count, room)


@routine
def try_set(g: Choice, trial: Floats, pull: float, sinking: float, reduced: int) -> int:
    """Write what comes of the contacts that are marked as closed: whether all push and the others
    part, x, multipliers (three per contact), separations; return whether rows repeat. A smaller pull
    and slower sinking are rounding.
    """
    n, m, at, count = g.n, g.holds, 0, 0
    right, push = g.given[n * n :], trial[2 + n :]
    away = push[3 * g.sizes[CONTACTS] :]
    for k in range(g.sizes[CONTACTS]):
        m += g.rows[k] if g.closed[k] == 1 else 0
    right[:n] = g.right[:n]
    for k in range(g.sizes[CONTACTS]):
        if g.closed[k] == 1:
            g.normals[count] = at
            count += 1
            right[:n] += g.push[k * n :][:n]
            for i in range(3 * k, 3 * k + g.rows[k]):
                give_row(g, m, at, g.C[i * n :], g.G[i * n :], g.c[i])
                at += 1
    give_held(g, m, at, 1.0)
    repeating, at = solve_closed(g, m, reduced), n
    if repeating == 1:
        spread(g, m, count, g.x[n:])
    trial[2 : 2 + n] = g.x[:n]
    for k in range(g.sizes[CONTACTS]):
        away[k] = add_dot(-g.level[k], g.C[3 * k * n :], g.x, n)
        push[3 * k :][:3] = 0.0
        for i in range(g.rows[k] if g.closed[k] == 1 else 0):
            push[3 * k + i] = g.x[at]
            at += 1
    trial[1] = 1.0 if repeating >= 0 else 0.0
    for k in range(g.sizes[CONTACTS]):
        spare = push[3 * k] + pull if g.closed[k] == 1 else away[k] + sinking
        trial[1] = trial[1] if spare >= 0.0 else 0.0
    return max(repeating, 0)


def trial_layout(n: int, count: int) -> Layout:
    """Return where the set of a trial, whether it is admissible, x, forces and separations stand."""
    return Layout({"mask": 1, "sound": 1, "x": n, "push": 3 * count, "away": count})


@routine
def trial_at(g: Choice, k: int) -> int:
    """Return where a trial begins."""
    return k * (2 + g.n + 4 * g.sizes[CONTACTS])


@routine
def pushes_at(g: Choice, k: int) -> int:
    """Return where the forces of a trial begin."""
    return trial_at(g, k) + 2 + g.n


@routine
def mark_closed(g: Choice, mask: int) -> None:
    """Mark a set of contacts as closed: one bit each, the last contact's the lowest."""
    rest = mask
    for k in range(g.sizes[CONTACTS] - 1, -1, -1):
        g.closed[k] = rest % 2
        rest = rest // 2


@routine
def kinetic_norm(g: Choice, trial: Floats) -> float:
    """Return x'Mx of a trial."""
    total = 0.0
    for i in range(g.n):
        total += trial[2 + i] * dot(g.M[i * g.n :], trial[2:], g.n)
    return total


@routine
def choose(g: Choice, pull: float, sinking: float, every: int, reduced: int) -> int:
    """Return which of the trials has the set of contacts in which all forces and separations are
    non-negative, -1 if none.

    Where several sets will do, one in which no wheel repeats its own rows comes first, then one
    without the contacts to avoid, then the largest: wheels of one machine may repeat each other.
    Unless `every` set is to be tried, one that none can come before is the last. If every set is
    tried, the order of the contacts decides nothing: of sets of the same size the one that changes the
    speeds most, by the kinetic norm, is chosen (with one coefficient of restitution it dissipates
    most), and -1 is returned if several different changes are equally large (mirror images).
    """
    count, total, made, best, rank = g.sizes[CONTACTS], 1, 0, -1, 0
    largest = 0.0
    ambiguous = 0
    for _ in range(count):
        total *= 2
    for size in range(count, -1, -1):
        for mask in range(total - 1, -1, -1):
            inside, shunned, twice = 0, 0, 0
            mark_closed(g, mask)
            for k in range(count):
                inside += g.closed[k]
                shunned += g.closed[k] * g.avoid[k]
                for other in range(k):
                    if g.closed[k] * g.closed[other] == 1 and g.wheels[k] == g.wheels[other]:
                        twice = 1
            if inside != size:
                continue
            trial = g.trials[trial_at(g, made) :]
            trial[0] = float(mask)
            crowded = twice * try_set(g, trial, pull, sinking, reduced)
            made += 1
            if trial[1] == 1.0:
                place = (crowded * (count + 1) + shunned) * (count + 1) - size
                norm = kinetic_norm(g, trial) if every == 1 else 0.0
                if best < 0 or place < rank or (place == rank and norm > (1.0 + EQUAL) * largest):
                    best, rank, largest, ambiguous = made - 1, place, norm, 0
                elif every == 1 and place == rank and norm >= (1.0 - EQUAL) * largest:
                    chosen = g.trials[trial_at(g, best) + 2 :]
                    if max_difference(chosen, trial[2:], g.n) > SAME * max_norm(chosen, g.n):
                        ambiguous = 1
                if crowded == 0 and shunned == 0 and every == 0:
                    g.sizes[TRIALS] = made
                    return best
    g.sizes[TRIALS] = made
    return -1 if ambiguous == 1 else best


@routine
def respond(g: Choice, law: FrictionProblem) -> None:
    """Write W and b of the law of friction for all contacts of a choice, `u = W lam + b`; what x is
    without contacts, and by how much each multiplier changes it, is left in B.
    """
    n, count, size, right = g.n, g.sizes[CONTACTS], 0, g.given[g.n * g.n :]
    for k in range(count):
        law.at[k], law.rows[k] = size, g.rows[k]
        size += g.rows[k]
    law.sizes[0], law.sizes[1] = count, size
    right[:n] = g.right[:n]
    give_held(g, g.holds, 0, 1.0)
    saddle_point(n, g.holds, g.given, g.x, g.room, g.order)
    g.B[:n] = g.x[:n]
    give_held(g, g.holds, 0, 0.0)
    for k in range(count):
        for i in range(g.rows[k]):
            B = g.B[(1 + law.at[k] + i) * n :]
            right[:n] = g.G[(3 * k + i) * n :][:n]
            saddle_point(n, g.holds, g.given, g.x, g.room, g.order)
            B[:n] = g.x[:n]
    for k in range(count):
        for i in range(g.rows[k]):
            C, row = g.C[(3 * k + i) * n :], law.at[k] + i
            law.b[row] = add_dot(-g.c[3 * k + i], C, g.B, n)
            for other in range(size):
                law.W[row * size + other] = dot(C, g.B[(1 + other) * n :], n)


@routine
def coulomb_forces(g: Choice, law: FrictionProblem) -> int:
    """Write the contact forces with Coulomb friction to the law's lam, and vdot to x, eq. [coulomb]:
    contacts that do not slip choose between rest, rolling and the onset of slip; those that slip are
    dragged. Return 1 where there are none.
    """
    n = g.n
    respond(g, law)
    size = law.sizes[1]
    U, differ, left = g.room[0:], g.room[size * size :], g.room[size * (size + 1) :]
    for k in range(g.sizes[CONTACTS]):
        for i in range(g.rows[k]):
            give_row(g, size, law.at[k] + i, g.C[(3 * k + i) * n :], g.C, 0.0)
    rank = span(g.given[n * (n + 1) :], size, n, U, left)
    if rank < size:
        project(U, rank, size, law.b, differ)
        off = max_difference(law.b, differ, size)  # what contacts that come to rest still slip
        if off <= 1e-6 * max_norm(law.b, size):
            law.b[:size] = differ[:size]
    if settle_friction(law, 1e-13) != 0:
        return 1
    move(g, law)
    return 0


@routine
def move(g: Choice, law: FrictionProblem) -> None:
    """Write the x that follows from the law's lam, after `respond`."""
    g.x[: g.n] = g.B[: g.n]
    add_rows(g.B[g.n :], law.new, g.x, law.sizes[1], g.n)


@routine
def project(U: Floats, rank: int, m: int, b: Floats, out: Floats) -> None:
    """Write the part of b, of m entries, in the span of orthonormal vectors."""
    out[:m] = 0.0
    for r in range(rank):
        out[:m] += dot(U[r * m :], b, m) * U[r * m :][:m]


def strike(given: ImpactProblem, restitution: Callable[[Candidate], Floats]) -> Selection:
    """Return the set of contacts after an impact in which all impulses and separations are
    non-negative, with `C v+ - b = -E (C v- - b)` for the closed ones.
    """
    contacts, v = given.contacts, given.v
    packed = room(empty_choice, len(v), len(given.held), len(contacts))
    g: Choice = packed.record
    g.sizes[CONTACTS] = len(contacts)
    g.M[:], g.held[:] = given.M.ravel(), given.held.ravel()
    g.rows[:] = [k.rows for k in contacts]
    wheels = [k.key[0] for k in contacts]
    g.wheels[:] = [wheels.index(wheel) for wheel in wheels]
    for i, k in enumerate(contacts):
        over, own = k.relative(v), slice(3 * i, 3 * i + 3)
        g.C.reshape(-1, g.n)[own] = g.G.reshape(-1, g.n)[own] = k.C
        g.c[own], g.level[i] = -(1.0 + restitution(k)) * over, -over[0]
    approach = max((float(np.abs(k.relative(v)).max()) for k in contacts), default=0.0)
    sinking, pull = PARTS * approach, PARTS * float(np.abs(given.M @ v).max(initial=0.0))
    which = shared_code(choose)(packed, pull, sinking, 1, RESOLUTIONS.index(given.resolution))
    trials = trials_of(g, [k.key for k in contacts], v)
    if which < 0:
        raise no_contact_set([k.key for k in contacts], trials)
    return Selection(trials[which], trials)


def trials_of(g: Choice, keys: Sequence[Key], start: Floats | float = 0.0) -> tuple[Trial, ...]:
    """Return the trials of a choice among contacts, whose results are changes of a start."""
    made, wide = int(g.sizes[TRIALS]), trial_layout(g.n, int(g.sizes[CONTACTS])).size
    return make_trials(g.trials[: made * wide].reshape(made, wide), keys, start)


def make_trials(
    rows: Floats, keys: Sequence[Key], start: Floats | float = 0.0
) -> tuple[Trial, ...]:
    """Return trials among contacts, one row of numbers each, whose results are changes of a start."""
    (made, wide), count = rows.shape, len(keys)
    at, out, rows = trial_layout(wide - 2 - 4 * count, count), [], rows.copy()
    masks, sound = rows[:, at.mask.start].astype(int).tolist(), rows[:, at.sound.start] == 1.0
    push, away = rows[:, at.push].reshape(made, count, 3), rows[:, at.away].tolist()
    for i, mask in enumerate(masks):
        shut = [mask >> k & 1 for k in range(count - 1, -1, -1)]
        pushes = {key: push[i, k] for k, key in enumerate(keys) if shut[k]}
        apart = {key: away[i][k] for k, key in enumerate(keys) if not shut[k]}
        out.append(Trial(tuple(pushes), pushes, apart, start + rows[i, at.x], bool(sound[i])))
    return tuple(out)


def no_contact_set(keys: Sequence[Key], trials: tuple[Trial, ...]) -> ContactSetError:
    """Return the error of contacts of which no set is admissible, or several equally are."""
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


def independent(C: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return rows that demand what `C x = c` demands, none of which repeats others."""
    if not len(C):
        return C, c
    U, s, _ = np.linalg.svd(C, full_matrices=False)
    rank = int((s > REPEATS * s.max(initial=0.0)).sum())
    return (C, c) if rank == len(C) else (U[:, :rank].T @ C, U[:, :rank].T @ c)


def saddle(
    M: Floats, right: Floats, C: Floats, c: Floats, resolution: str = "complete"
) -> tuple[Floats, Floats, int]:
    """Return x and lam of `M x - C' lam = right`, `C x = c`, and how many rows repeat others (then lam
    is the least): with lam as unknowns, or by projection on the kernel of C. Where rows contradict
    each other there are no numbers.
    """
    n, m = len(right), len(c)
    x, order = np.empty(n + m), np.empty(n + m + 1, dtype=np.int64)
    given = np.concatenate([M.ravel(), right, C.ravel(), C.T.ravel(), c])
    way = (saddle_point, kernel_system)[RESOLUTIONS.index(resolution)]
    repeating = routine_code(way, passes="few")[0](
        n, m, given, x, np.empty(10 * (n + m + 1) ** 2), order
    )
    if repeating < 0:
        x[:] = np.nan
    return x[:n], x[n:], repeating
