"""Which contacts carry: sets of closed contacts with both forces and separations non-negative, found
by trying them all, at acceleration and at impulse level.

This generalises the prediction and correction of the thesis (remark 3.6): a released contact must
also separate. There are two ways to the speeds after an impact: complete (with impulses as unknowns)
and reduced (projected on the speeds that the contacts leave free).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.targets.native import routine_code
from draisine.errors import ContactSetError
from draisine.simulation.contact.coulomb import FrictionContact, solve_friction
from draisine.simulation.contact.kernels import ROUNDS, SAME, next_load
from draisine.simulation.contact.linear import REPEATS, saddle_point, share
from draisine.simulation.options import RESOLUTIONS
from draisine.simulation.trajectory import Key

PULL = 5e-7
"""Forces (N) and impulses (N s) below minus this never count as rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A contact that touches: its rows (normal, along, across), their targets c at acceleration and b
    at velocity level, friction mu.

    `rows` is how many of them it holds when closed: 3 where it rolls, 1 where it slides, on a tyre
    what that holds; `way` is the direction (along, across) in which it is about to slide. Elements at
    the contact push by the generalised force `push`, and by `lift` for each newton of its load; where
    they do not grow evenly with it, so about a `load`, and `under` tells both about another.
    """

    key: Key
    C: Floats
    c: Floats
    b: Floats
    mu: float = np.inf
    rows: int = 3
    way: Floats | None = None
    push: Floats | float = 0.0
    lift: Floats | float = 0.0
    load: float = 0.0
    under: Callable[[float], tuple[Floats, Floats]] | None = None

    def follow(self, found: float) -> "Candidate":
        """Return the contact about a load nearer to one that was found; itself where that makes no
        difference.
        """
        load = next_load(self.load, found)
        if self.under is None or abs(load - self.load) <= SAME * (1.0 + load):
            return self
        push, lift = self.under(load)
        return replace(self, push=push, lift=lift, load=load)

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
        slip = self.relative(v)[1:] if self.way is None else self.way
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


Solver = Callable[[Sequence[Candidate]], tuple[Floats, Floats, bool]]
"""From closed contacts to the result, the multipliers of their rows, and whether rows repeat."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The trial that was chosen, and all that were made; the first is the prediction that every
    contact stays closed.
    """

    chosen: Trial
    trials: tuple[Trial, ...] = field(repr=False)


def choose(
    candidates: Sequence[Candidate],
    solver: Solver,
    level: Callable[[Candidate, Floats], float],
    tolerance: float,
    avoid: frozenset[Key] = frozenset(),
    every: bool = True,
) -> Selection:
    """Return the set of contacts in which all forces and separations are non-negative.

    `level` gives a contact's separation (speed or acceleration). Where several sets will do, one in
    which no wheel repeats its own rows comes first, then one without the contacts to `avoid`, then
    the largest: wheels of one machine may repeat each other. Unless `every` set is to be tried, one
    that none can come before is the last.
    """
    trials: list[tuple[tuple[bool, int, int], Trial]] = []
    for size in range(len(candidates), -1, -1):
        for subset in combinations(candidates, size):
            result, multipliers, redundant = solver(subset)
            pushes, at = {}, 0
            for contact in subset:
                push = np.zeros(3)
                push[: contact.rows] = multipliers[at : at + contact.rows]
                pushes[contact.key] = push
                at += contact.rows
            away = {c.key: level(c, result) for c in candidates if c.key not in pushes}
            scale = max([abs(p[0]) for p in pushes.values()], default=0.0)
            least = -min(tolerance * (1.0 + scale), PULL)
            pushing = all(p[0] >= least for p in pushes.values())
            parting = all(x >= -tolerance for x in away.values())
            trial = Trial(tuple(pushes), pushes, away, result, pushing and parting)
            crowded = redundant and len({wheel for wheel, _ in pushes}) < len(pushes)
            shunned = len(avoid & pushes.keys())
            trials.append(((crowded, shunned, -size), trial))
            if trial.admissible and not (crowded or shunned or every):
                return Selection(trial, tuple(trial for _, trial in trials))
    good = [(rank, k) for k, (rank, trial) in enumerate(trials) if trial.admissible]
    made = tuple(trial for _, trial in trials)
    if not good:
        names = ", ".join(":".join(c.key) for c in candidates)
        raise ContactSetError(
            f"no set of the contacts {names} has non-negative forces and separations: "
            f"{'; '.join(trial.refusal for trial in made)}. Friction may solve it, "
            "ContactOptions(mu=0.8, impact='moreau').",
            made,
        )
    return Selection(made[min(good)[1]], made)


def independent(C: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return rows that demand what `C x = c` demands, none of which repeats others."""
    if not len(C):
        return C, c
    U, s, _ = np.linalg.svd(C, full_matrices=False)
    rank = int((s > REPEATS * s.max(initial=0.0)).sum())
    return (C, c) if rank == len(C) else (U[:, :rank].T @ C, U[:, :rank].T @ c)


def repeats(C: Floats) -> Floats:
    """Return combinations of rows that demand nothing, as orthonormal columns."""
    U, s, _ = np.linalg.svd(C)
    return np.ascontiguousarray(U[:, int((s > REPEATS * s.max(initial=0.0)).sum()) :])


def saddle(
    M: Floats, right: Floats, C: Floats, G: Floats, c: Floats
) -> tuple[Floats, Floats, bool]:
    """Return x and lam of `M x - G lam = right`, `C x = c`, and whether rows repeat others (then lam
    is the least); rows of nothing repeat none. Where rows contradict each other there are no numbers.
    """
    n, m = len(right), len(c)
    size, given = n + m, np.concatenate([M.ravel(), right, C.ravel(), G.ravel(), c])
    x, room = np.empty(size), np.empty(m * m + size * (size + 2) + 2 * m * n)
    order = np.empty(size, dtype=np.int64)
    repeating = routine_code(saddle_point)[0](n, m, given, x, room, order)
    if repeating < 0:
        x[:] = np.nan
    return x[:n], x[n:], repeating > m - int(C.any(axis=1).sum())


def spread_push(C: Floats, normals: Sequence[int], lam: Floats, mu: Sequence[float] = ()) -> Floats:
    """Return multipliers of repeating rows with the same effect as lam in which none of the normal
    ones pulls, and those of contacts that roll with friction mu are in their cones, if there are such.
    """
    out, null, pushed = lam.copy(), repeats(C), np.array(normals, dtype=np.int64)
    rows = np.full(len(pushed), 3 if len(mu) else 1)
    rubs = np.array([m if np.isfinite(m) else 0.0 for m in mu] or np.zeros(len(pushed)))
    routine_code(share)[0](out, len(out), null, null.shape[1], pushed, rows, rubs, len(pushed))
    return out


def select_contacts(
    M: Floats,
    F: Floats,
    v: Floats,
    held: Floats,
    targets: Floats,
    candidates: Sequence[Candidate],
    tolerance: float = 1e-7,
    avoid: frozenset[Key] = frozenset(),
) -> Selection:
    """Return the contacts that stay closed at acceleration level, eq. [contact-set]: non-negative
    normal forces, non-negative separating accelerations; the rows `held vdot = targets` hold always.
    """

    def solver(closed: Sequence[Candidate]) -> tuple[Floats, Floats, bool]:
        C = np.vstack([*(k.held for k in closed), held])
        c = np.concatenate([*(k.c[: k.rows] for k in closed), targets])
        for _ in range(ROUNDS):
            G = np.hstack([*(k.column(v) for k in closed), held.T])
            vdot, lam, redundant = saddle(M, sum([k.push for k in closed]) - F, C, G, c)
            if redundant:
                lam = spread_push(C, _normals(closed), lam)
            before, loads = closed, lam[_normals(closed)]
            closed = [k.follow(float(load)) for k, load in zip(closed, loads, strict=True)]
            if all(k is old for k, old in zip(closed, before, strict=True)):
                break
        return vdot, lam, redundant

    def level(k: Candidate, vdot: Floats) -> float:
        return float(k.C[0] @ vdot - k.c[0])

    return choose(candidates, solver, level, tolerance, avoid, every=False)


def coulomb_forces(
    M: Floats,
    F: Floats,
    v: Floats,
    held: Floats,
    targets: Floats,
    candidates: Sequence[Candidate],
    broken: frozenset[Key] = frozenset(),
) -> tuple[list[Floats], Floats]:
    """Return the contact forces with Coulomb friction, and vdot, eq. [coulomb]: contacts that do not
    slip choose between rest, rolling and the onset of slip; those that slip are dragged.

    The `broken` ones do not hold: their friction has just reached its limit.
    """
    n, m = len(v), len(held)
    K = np.block([[M, -held.T], [held, np.zeros((m, m))]])
    G = np.hstack([k.column(v) for k in candidates])
    C = np.vstack([k.held for k in candidates])
    c = np.concatenate([k.c[: k.rows] for k in candidates])
    alone = np.linalg.solve(K, np.concatenate([-F, targets]))[:n]
    B = np.linalg.solve(K, np.vstack([G, np.zeros((m, G.shape[1]))]))[:n]
    starts = _normals(candidates)
    touches = [
        FrictionContact(at, k.rows, k.mu, k.key in broken)
        for at, k in zip(starts, candidates, strict=True)
    ]
    N, demand = repeats(C), C @ alone - c
    small, differ = 1e-6 * (1.0 + np.abs(demand).max()), N @ (N.T @ demand)
    if np.abs(differ).max() < small:  # what contacts that come to rest still slip
        demand -= differ
    lam = solve_friction(C @ B, demand, touches, 1e-13)
    if lam is None:
        names = ", ".join(":".join(k.key) for k in candidates)
        raise ContactSetError(
            f"no forces at the contacts {names} satisfy the law of friction: a sliding contact locks "
            "(Painleve's paradox). A smaller mu may solve it."
        )
    vdot = alone + B @ lam
    if N.size and all(k.rows == 3 for k in candidates) and np.abs(C @ vdot - c).max() < small:
        lam = spread_push(C, starts, lam - N @ (N.T @ lam), [k.mu for k in candidates])
    return [lam[touch.own] for touch in touches], vdot


def _normals(closed: Sequence[Candidate]) -> list[int]:
    """Return where the normal rows stand among the held ones."""
    return np.cumsum([0, *(k.rows for k in closed)])[: len(closed)].tolist()


Resolution = Callable[[Floats, Floats, Floats, Floats], tuple[Floats, Floats, bool]]


def resolve_complete(
    M: Floats, C: Floats, v: Floats, wanted: Floats
) -> tuple[Floats, Floats, bool]:
    """Return v after and the impulses of `M (v+ - v-) = C' Lam`, `C v+ = wanted`, (3.17)-(3.24); by
    the saddle-point system, so that massless bodies are allowed.
    """
    jump, Lam, redundant = saddle(M, np.zeros(len(v)), C, C.T, wanted - C @ v)
    return v + jump, Lam, redundant


def resolve_reduced(M: Floats, C: Floats, v: Floats, wanted: Floats) -> tuple[Floats, Floats, bool]:
    """Return v after and the impulses by projection on the kernel H of C, (3.25)-(3.30): `H' M H u =
    H' M (v- - w)`, `v+ = w + H u` with w any speeds that have `C w = wanted`.
    """
    if not len(C):
        return v.copy(), np.zeros(0), False
    U, s, Vt = np.linalg.svd(C)
    rank = int((s > REPEATS * s[0]).sum())
    H = Vt[rank:].T
    w = Vt[:rank].T @ ((U[:, :rank].T @ wanted) / s[:rank])
    after = w + H @ np.linalg.solve(H.T @ M @ H, H.T @ M @ (v - w))
    Lam = U[:, :rank] @ ((Vt[:rank] @ (M @ (after - v))) / s[:rank])
    return after, Lam, rank < len(C)


WAYS: dict[str, Resolution] = dict(
    zip(RESOLUTIONS, (resolve_complete, resolve_reduced), strict=True)
)


def resolver(
    M: Floats,
    held: Floats,
    v: Floats,
    restitution: Callable[[Candidate], Floats],
    resolution: str,
) -> Callable[[Sequence[Candidate]], tuple[Floats, Floats, bool]]:
    """Return the function from closed contacts to (v after, impulses, whether rows repeat), with
    `C v+ - b = -E (C v- - b)`; the rows `held` keep their speeds.
    """
    solve = WAYS[resolution]

    def answer(closed: Sequence[Candidate]) -> tuple[Floats, Floats, bool]:
        C = np.vstack([*(k.held for k in closed), held])
        wanted = [(k.b - restitution(k) * k.relative(v))[: k.rows] for k in closed]
        after, Lam, redundant = solve(M, C, v, np.concatenate([*wanted, held @ v]))
        if redundant:
            at = np.cumsum([0, *(k.rows for k in closed)])[: len(closed)].tolist()
            Lam = spread_push(C, at, Lam)
        return after, Lam, redundant

    return answer
