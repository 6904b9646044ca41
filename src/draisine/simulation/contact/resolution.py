"""Two ways to the same speeds after an impact: complete (with impulses as unknowns) and reduced
(projected on the speeds that the contacts leave free).
"""

from collections.abc import Callable, Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.contact.active_set import REPEATS, Candidate, saddle, spread_push
from draisine.simulation.options import RESOLUTIONS

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
