"""Which contacts carry: sets of closed contacts with both forces and separations non-negative, found
by trying them all, at acceleration and at impulse level.

This generalises the prediction and correction of the thesis (remark 3.6): a released contact must
also separate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from draisine.errors import ContactSetError
from draisine.system import Floats

Key = tuple[str, str]
"""A contact: the names of a wheel and of the feature that it touches."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A contact that touches: its rows (normal, along, across), their targets c at acceleration and b
    at velocity level, friction mu.

    `rows` is how many of them it holds when closed: 3 where it rolls, 1 where it slides; `way` is
    the direction (along, across) in which it is about to slide.
    """

    key: Key
    C: Floats
    c: Floats
    b: Floats
    mu: float = np.inf
    rows: int = 3
    way: Floats | None = None

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
        if self.rows == 3 or self.mu == 0 or np.isinf(self.mu):
            return self.held.T
        slip = self.relative(v)[1:] if self.way is None else self.way
        size = float(np.linalg.norm(slip))
        drag = slip @ self.C[1:] / size if size > 0 else np.zeros(len(v))
        return (self.C[0] - self.mu * drag)[:, None]


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


Solver = Callable[[Sequence[Candidate]], tuple[Floats, Floats, bool]]
"""From closed contacts to the result, the multipliers of their rows, and whether rows repeat."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
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
) -> Choice:
    """Return the set of contacts in which all forces and separations are non-negative.

    `level` gives a contact's separation (speed or acceleration). Where several sets will do, one
    with independent rows comes first, then one without the contacts to `avoid`, then the largest.
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
            pushing = all(p[0] >= -tolerance * (1.0 + scale) for p in pushes.values())
            parting = all(x >= -tolerance for x in away.values())
            trial = Trial(tuple(pushes), pushes, away, result, pushing and parting)
            trials.append(((redundant, len(avoid & pushes.keys()), -size), trial))
    good = [(rank, k) for k, (rank, trial) in enumerate(trials) if trial.admissible]
    made = tuple(trial for _, trial in trials)
    if not good:
        names = ", ".join(":".join(c.key) for c in candidates)
        raise ContactSetError(
            f"no set of the contacts {names} has non-negative forces and separations; "
            "friction (a finite mu) may solve it.",
            made,
        )
    return Choice(made[min(good)[1]], made)


def saddle(
    M: Floats, right: Floats, C: Floats, G: Floats, c: Floats
) -> tuple[Floats, Floats, bool]:
    """Return x and lam of `M x - G lam = right`, `C x = c`, and whether rows repeat others (then lam
    is the least).
    """
    n, m = len(right), len(c)
    if m == 0:
        return np.linalg.solve(M, right), np.zeros(0), False
    rank = np.linalg.matrix_rank(C / np.linalg.norm(C, axis=1)[:, None], tol=1e-8)
    K = np.block([[M, -G], [C, np.zeros((m, m))]])
    b = np.concatenate([right, c])
    if rank == m:
        x = np.linalg.solve(K, b)
        x = x + np.linalg.solve(K, b - K @ x)
        return x[:n], x[n:], False
    x = np.linalg.lstsq(K, b, rcond=1e-11)[0]
    return x[:n], x[n:], True


def spread_push(C: Floats, normals: Sequence[int], lam: Floats) -> Floats:
    """Return multipliers of repeating rows with the same effect as lam whose least normal one is as
    large as can be (along one free direction).
    """
    U, s, _ = np.linalg.svd(C)
    rank = int((s > 1e-9 * s[0]).sum())
    if rank == len(C):
        return lam
    free = U[:, -1]
    best, least = lam, min(lam[list(normals)])
    for i in normals:
        for j in normals:
            if abs(free[i] - free[j]) > 1e-12:
                moved = lam + free * ((lam[j] - lam[i]) / (free[i] - free[j]))
                if min(moved[list(normals)]) > least:
                    best, least = moved, min(moved[list(normals)])
    return best


def carry(
    M: Floats,
    F: Floats,
    v: Floats,
    driven: Floats,
    targets: Floats,
    candidates: Sequence[Candidate],
    tolerance: float = 1e-7,
    avoid: frozenset[Key] = frozenset(),
) -> Choice:
    """Return the contacts that stay closed at acceleration level, eq. [contact-set]: non-negative
    normal forces, non-negative separating accelerations.
    """
    fixed = np.eye(len(v))[driven]

    def solver(closed: Sequence[Candidate]) -> tuple[Floats, Floats, bool]:
        C = np.vstack([*(k.held for k in closed), fixed])
        G = np.hstack([*(k.column(v) for k in closed), fixed.T])
        c = np.concatenate([*(k.c[: k.rows] for k in closed), targets])
        vdot, lam, redundant = saddle(M, -F, C, G, c)
        if redundant:
            lam = spread_push(C, _normals(closed), lam)
        return vdot, lam, redundant

    return choose(candidates, solver, lambda k, a: float(k.C[0] @ a - k.c[0]), tolerance, avoid)


def rub(
    M: Floats,
    F: Floats,
    v: Floats,
    driven: Floats,
    targets: Floats,
    candidates: Sequence[Candidate],
    solve: Callable[[Floats, Floats, float], Floats | None],
) -> tuple[list[Floats], Floats]:
    """Return the contact forces with Coulomb friction, and vdot, eq. [coulomb]: contacts that do not
    slip choose between rest, rolling and the onset of slip; those that slip are dragged.

    `solve(W, b, mu)` gives the force of a single contact with the separation `W lam + b`; contacts
    are solved one after the other until nothing changes.
    """
    n, fixed = len(v), np.eye(len(v))[driven]
    K = np.block([[M, -fixed.T], [fixed, np.zeros((len(driven),) * 2)]])
    G = np.hstack([k.column(v) for k in candidates])
    C = np.vstack([k.held for k in candidates])
    c = np.concatenate([k.c[: k.rows] for k in candidates])
    right = np.concatenate([-F, targets])
    alone = np.linalg.solve(K, right)[:n]
    B = np.linalg.solve(K, np.vstack([G, np.zeros((len(driven), G.shape[1]))]))[:n]
    W, b = C @ B, C @ alone - c
    at = np.cumsum([0, *(k.rows for k in candidates)])
    lam = np.zeros(len(b))
    for _ in range(5000):
        change = 0.0
        for i, k in enumerate(candidates):
            own = slice(at[i], at[i + 1])
            rest = W[own] @ lam + b[own] - W[own, own] @ lam[own]
            if k.rows == 1:
                ok = W[own, own][0, 0] > 0
                new = np.maximum(0.0, -rest / W[own, own][0]) if ok else None
            else:
                new = solve(W[own, own], rest, k.mu)
            if new is None:
                names = ":".join(k.key)
                raise ContactSetError(f"contact {names}: no force satisfies the law of friction.")
            change = max(change, float(np.abs(new - lam[own]).max()))
            lam[own] = new
        if change <= 1e-11 * (1.0 + np.abs(lam).max()):
            break
    return [lam[at[i] : at[i + 1]] for i in range(len(candidates))], alone + B @ lam


def _normals(closed: Sequence[Candidate]) -> list[int]:
    """Return where the normal rows stand among the held ones."""
    return np.cumsum([0, *(k.rows for k in closed)])[: len(closed)].tolist()
