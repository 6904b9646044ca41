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
from draisine.codegen.targets.native import room, routine_code, shared_code
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.coulomb import FrictionProblem, settle_friction
from draisine.simulation.contact.complementarity.linear import (
    REPEATS,
    complement,
    kernel_system,
    saddle_point,
    share,
    span,
)
from draisine.simulation.options import RESOLUTIONS
from draisine.simulation.trajectory import Key
from draisine.system.layout import Layout

PULL = 5e-7
"""Forces (N) and impulses (N s) below minus this never count as rounding."""


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
    none: Floats
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
    rows, wheels, avoid, closed, normals = np.zeros((5, most), dtype=np.int64)
    sizes, order = np.zeros(2, dtype=np.int64), np.zeros(n + m + 1, dtype=np.int64)
    M, right, held, targets = np.zeros(n * n), np.zeros(n), np.zeros(holds * n), np.zeros(holds)
    C, G, c, level = (
        np.zeros(3 * most * n),
        np.zeros(3 * most * n),
        np.zeros(3 * most),
        np.zeros(most),
    )
    trials, given = np.empty(2**most * (2 + n + 4 * most)), np.empty((n + 1) * (n + 2 * m) + m)
    x, B, room = np.empty(n + m), np.empty(n * (3 * most + 1)), np.empty(10 * (n + m + 1) ** 2)
    return Choice(
        n, holds, sizes, M, right, held, targets, C, G, c, level, np.zeros(most * n), rows, wheels,
        avoid, closed, normals, np.zeros(most), trials, given, x, B, room, order,
    )  # fmt: skip


@routine
def give_row(g: Choice, m: int, at: int, C: Floats, G: Floats, c: float) -> None:
    """Put one of m rows, what its multiplier does, and its target, in place."""
    n = g.n
    for j in range(n):
        g.given[n * (n + 1) + at * n + j] = C[j]
        g.given[n * (n + 1 + m) + j * m + at] = G[j]
    g.given[n * (n + 1 + 2 * m) + at] = c


@routine
def give_held(g: Choice, m: int, at: int, share: float) -> None:
    """Put the mass matrix in place, and the rows that hold always, from one on, with so large a part
    of their targets.
    """
    for i in range(g.n * g.n):
        g.given[i] = g.M[i]
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
        for i in range(n + m):
            g.x[i] = 0.0
        return -1
    for i in range(m):
        size = 0.0
        for j in range(n):
            size = max(size, abs(g.given[n * (n + 1) + i * n + j]))
        some += 1 if size > 0.0 else 0
    return 1 if repeating > m - some else 0


@routine
def spread(g: Choice, m: int, count: int, lam: Floats, rows: Integers, mu: Floats) -> None:
    """Change multipliers of m repeating rows, with the same effect, until none of the normal ones of so
    many contacts pulls, and those that roll with friction are in their cones, if there are such.
    """
    U, null, room = g.room[0:], g.room[m * m :], g.room[2 * m * m :]
    rank = span(g.given[g.n * (g.n + 1) :], m, g.n, U, null)
    complement(U, rank, m, null, room)
    share(lam, m, null, m - rank, g.normals, rows, mu, count, room)


@routine
def try_set(g: Choice, trial: Floats, tolerance: float, reduced: int) -> int:
    """Write what comes of the contacts that are marked as closed: whether all push and the others
    part, x, multipliers (three per contact), separations; return whether rows repeat.
    """
    n, m, at, count, largest = g.n, g.holds, 0, 0, 0.0
    right, push = g.given[n * n :], trial[2 + n :]
    away = push[3 * g.sizes[CONTACTS] :]
    for k in range(g.sizes[CONTACTS]):
        m += g.rows[k] if g.closed[k] == 1 else 0
    for j in range(n):
        right[j] = g.right[j]
    for k in range(g.sizes[CONTACTS]):
        if g.closed[k] == 1:
            g.normals[count] = at
            count += 1
            for j in range(n):
                right[j] += g.push[k * n + j]
            for i in range(3 * k, 3 * k + g.rows[k]):
                give_row(g, m, at, g.C[i * n :], g.G[i * n :], g.c[i])
                at += 1
    give_held(g, m, at, 1.0)
    repeating, at = solve_closed(g, m, reduced), n
    if repeating == 1:
        spread(g, m, count, g.x[n:], g.rows, g.none)
    for j in range(n):
        trial[2 + j] = g.x[j]
    for k in range(g.sizes[CONTACTS]):
        away[k] = -g.level[k]
        for j in range(n):
            away[k] += g.C[3 * k * n + j] * g.x[j]
        for i in range(3):
            push[3 * k + i] = 0.0
        for i in range(g.rows[k] if g.closed[k] == 1 else 0):
            push[3 * k + i] = g.x[at]
            at += 1
        largest = max(largest, abs(push[3 * k]))
    trial[1] = 1.0 if repeating >= 0 else 0.0
    least = -min(tolerance * (1.0 + largest), PULL)
    for k in range(g.sizes[CONTACTS]):
        spare = push[3 * k] - least if g.closed[k] == 1 else away[k] + tolerance
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
def choose(g: Choice, tolerance: float, every: int, reduced: int) -> int:
    """Return which of the trials has the set of contacts in which all forces and separations are
    non-negative, -1 if none.

    Where several sets will do, one in which no wheel repeats its own rows comes first, then one
    without the contacts to avoid, then the largest: wheels of one machine may repeat each other.
    Unless `every` set is to be tried, one that none can come before is the last.
    """
    count, total, made, best, rank = g.sizes[CONTACTS], 1, 0, -1, 0
    for _ in range(count):
        total *= 2
    for size in range(count, -1, -1):
        for mask in range(total - 1, -1, -1):
            rest, inside, shunned, twice = mask, 0, 0, 0
            for k in range(count - 1, -1, -1):
                g.closed[k] = rest % 2
                rest = rest // 2
                inside += g.closed[k]
                shunned += g.closed[k] * g.avoid[k]
                for other in range(k + 1, count):
                    if g.closed[k] * g.closed[other] == 1 and g.wheels[k] == g.wheels[other]:
                        twice = 1
            if inside != size:
                continue
            trial = g.trials[trial_at(g, made) :]
            trial[0] = float(mask)
            crowded = twice * try_set(g, trial, tolerance, reduced)
            made += 1
            if trial[1] == 1.0:
                place = (crowded * (count + 1) + shunned) * (count + 1) - size
                if best < 0 or place < rank:
                    best, rank = made - 1, place
                if crowded == 0 and shunned == 0 and every == 0:
                    g.sizes[TRIALS] = made
                    return best
    g.sizes[TRIALS] = made
    return best


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
    for j in range(n):
        right[j] = g.right[j]
    give_held(g, g.holds, 0, 1.0)
    saddle_point(n, g.holds, g.given, g.x, g.room, g.order)
    for j in range(n):
        g.B[j] = g.x[j]
    give_held(g, g.holds, 0, 0.0)
    for k in range(count):
        for i in range(g.rows[k]):
            B = g.B[(1 + law.at[k] + i) * n :]
            for j in range(n):
                right[j] = g.G[(3 * k + i) * n + j]
            saddle_point(n, g.holds, g.given, g.x, g.room, g.order)
            for j in range(n):
                B[j] = g.x[j]
    for k in range(count):
        for i in range(g.rows[k]):
            C, row = g.C[(3 * k + i) * n :], law.at[k] + i
            law.b[row] = -g.c[3 * k + i]
            for j in range(n):
                law.b[row] += C[j] * g.B[j]
            for other in range(size):
                law.W[row * size + other] = 0.0
                for j in range(n):
                    law.W[row * size + other] += C[j] * g.B[(1 + other) * n + j]


@routine
def coulomb_forces(g: Choice, law: FrictionProblem) -> int:
    """Write the contact forces with Coulomb friction to the law's lam, and vdot to x, eq. [coulomb]:
    contacts that do not slip choose between rest, rolling and the onset of slip; those that slip are
    dragged. Return 1 where there are none.
    """
    n, count, largest, off = g.n, g.sizes[CONTACTS], 0.0, 0.0
    respond(g, law)
    size = law.sizes[1]
    U, differ, left = g.room[0:], g.room[size * size :], g.room[size * (size + 1) :]
    for k in range(count):
        g.normals[k] = law.at[k]
        for i in range(g.rows[k]):
            give_row(g, size, law.at[k] + i, g.C[(3 * k + i) * n :], g.C, 0.0)
    rank = span(g.given[n * (n + 1) :], size, n, U, left)
    if rank < size:
        project(U, rank, size, law.b, differ)
        for i in range(size):
            largest, off = max(largest, abs(law.b[i])), max(off, abs(law.b[i] - differ[i]))
        for i in range(size if off < 1e-6 * (1.0 + largest) else 0):
            law.b[i] = differ[i]  # what contacts that come to rest still slip
    if settle_friction(law, 1e-13) != 0:
        return 1
    for j in range(n):
        g.x[j] = g.B[j]
        for i in range(size):
            g.x[j] += g.B[(1 + i) * n + j] * law.new[i]
    if rank < size and all_rest(g, 1e-6 * (1.0 + largest)) == 1:
        project(U, rank, size, law.new, differ)
        for i in range(size):
            law.new[i] = differ[i]
        spread(g, size, count, law.new, g.rows, law.mu)
    return 0


@routine
def project(U: Floats, rank: int, m: int, b: Floats, out: Floats) -> None:
    """Write the part of b, of m entries, in the span of orthonormal vectors."""
    for i in range(m):
        out[i] = 0.0
    for r in range(rank):
        along = 0.0
        for i in range(m):
            along += U[r * m + i] * b[i]
        for i in range(m):
            out[i] += along * U[r * m + i]


@routine
def all_rest(g: Choice, small: float) -> int:
    """Return 1 where all contacts roll and x gives each of their rows what it demands."""
    for k in range(g.sizes[CONTACTS]):
        if g.rows[k] != 3:
            return 0
        for i in range(3 * k, 3 * k + 3):
            off = -g.c[i]
            for j in range(g.n):
                off += g.C[i * g.n + j] * g.x[j]
            if not abs(off) < small:
                return 0
    return 1


def strike(
    M: Floats,
    held: Floats,
    contacts: Sequence[Candidate],
    v: Floats,
    restitution: Callable[[Candidate], Floats],
    tolerance: float,
    resolution: str = "complete",
) -> Selection:
    """Return the set of contacts after an impact in which all impulses and separations are
    non-negative, with `C v+ - b = -E (C v- - b)` for the closed ones; the rows `held` keep their
    speeds. `resolution` is the way to them: "complete", with impulses as unknowns, (3.17)-(3.24),
    which allows massless bodies, or "reduced", on the speeds that contacts leave free, (3.25)-(3.30).
    """
    packed = room(empty_choice, len(v), len(held), len(contacts))
    g: Choice = packed.record
    g.sizes[CONTACTS] = len(contacts)
    g.M[:], g.held[:] = M.ravel(), held.ravel()
    g.rows[:] = [k.rows for k in contacts]
    wheels = [k.key[0] for k in contacts]
    g.wheels[:] = [wheels.index(wheel) for wheel in wheels]
    for i, k in enumerate(contacts):
        over, own = k.relative(v), slice(3 * i, 3 * i + 3)
        g.C.reshape(-1, g.n)[own] = g.G.reshape(-1, g.n)[own] = k.C
        g.c[own], g.level[i] = -(1.0 + restitution(k)) * over, -over[0]
    reduced = RESOLUTIONS.index(resolution)
    which = shared_code(choose)(packed, tolerance, 1, reduced)
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
    """Return the error of contacts of which no set is admissible."""
    return ContactSetError(
        f"no set of the contacts {', '.join(map(':'.join, keys))} has non-negative forces and "
        f"separations: {'; '.join(trial.refusal for trial in trials)}. Friction may solve it, "
        "ContactOptions(mu=0.8, impact='moreau').",
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
