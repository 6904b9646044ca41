"""Moreau's law of impact: normal restitution and Coulomb friction between impulses and the weighted
velocities v+ + e v-. With mu infinite and e = 0 it is the plastic law.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from draisine.errors import ContactSetError, ParameterError
from draisine.simulation.selection import Candidate, Choice, Trial
from draisine.system import Floats

ANGLES = np.linspace(0.0, 2.0 * np.pi, 73)


def impact(
    M: Floats,
    driven: Floats,
    contacts: Sequence[Candidate],
    v: Floats,
    *,
    normal: float = 0.0,
    rest_speed: float = 0.0,
    resolution: str = "complete",
    tolerance: float = 1e-13,
) -> Choice:
    """Return the speeds after an impact: 0 <= LamN, xiN >= 0, LamN xiN = 0 with xiN = vN+ + e vN-,
    and friction impulses at most mu LamN, against the slip where they are at the limit, eq.
    [moreau].

    The impulses come from solving contact after contact exactly until nothing changes.
    """
    if not 0 <= normal <= 1:
        raise ParameterError(f"restitution: normal = {normal}; take it from [0, 1].")
    C = np.vstack([k.C for k in contacts])
    W, back = delassus(M, C, driven)
    b = np.concatenate([k.relative(v) for k in contacts])
    for i in range(len(contacts)):
        if -b[3 * i] > rest_speed:
            b[3 * i] *= 1.0 + normal
    Lam = contact_impulses(W, b, [k.mu for k in contacts], tolerance, contacts)
    after = v + back @ Lam
    pushes = {k.key: Lam[3 * i : 3 * i + 3] for i, k in enumerate(contacts) if Lam[3 * i] > 0}
    away = {k.key: float(k.relative(after)[0]) for k in contacts if k.key not in pushes}
    trial = Trial(tuple(pushes), pushes, away, after, True)
    return Choice(trial, (trial,))


def delassus(M: Floats, C: Floats, driven: Floats) -> tuple[Floats, Floats]:
    """Return `W = C B` and `B`, the speeds per unit impulse with prescribed joints held: B = M^-1 C'
    where there are none.
    """
    n, m = len(M), len(driven)
    fixed = np.eye(n)[driven]
    K = np.block([[M, -fixed.T], [fixed, np.zeros((m, m))]])
    B = np.linalg.solve(K, np.vstack([C.T, np.zeros((m, len(C)))]))[:n]
    return C @ B, B


def contact_impulses(
    W: Floats,
    b: Floats,
    mu: Sequence[float],
    tolerance: float,
    contacts: Sequence[Candidate] = (),
    start: Floats | None = None,
) -> Floats:
    """Return the impulses of contacts with `u = W Lam + b`, each pair (u, Lam) in Coulomb's law."""
    Lam = np.zeros(len(b)) if start is None else start.copy()
    scale = max(float(np.abs(b).max(initial=0.0)), 1e-300)
    for _ in range(10000):
        change = 0.0
        for i in range(len(mu)):
            own = slice(3 * i, 3 * i + 3)
            rest = W[own] @ Lam + b[own] - W[own, own] @ Lam[own]
            new = single(W[own, own], rest, mu[i])
            if new is None:
                names = ", ".join(":".join(k.key) for k in contacts)
                raise ContactSetError(
                    f"no impulse at the contacts {names} satisfies the law of friction; "
                    "a smaller mu may."
                )
            change = max(change, float(np.abs(W[own, own] @ (new - Lam[own])).max()))
            Lam[own] = new
        if change <= tolerance * scale or len(mu) == 1:
            return Lam
    if change <= 1e-8 * scale:
        return Lam
    raise ContactSetError("the impulses of several contacts with friction do not settle.")


def single(W: Floats, b: Floats, mu: float) -> Floats | None:
    """Return the impulse of one contact with `u = W Lam + b`: none, sticking, or sliding; None where
    no such impulse exists.
    """
    if b[0] >= 0:
        return np.zeros(3)
    if mu > 0:
        stick = -np.linalg.solve(W, b)
        if stick[0] >= 0 and np.hypot(stick[1], stick[2]) <= mu * stick[0]:
            return stick
    if np.isinf(mu):
        return None

    def slide(angle: float) -> tuple[Floats, Floats] | None:
        push = np.array([1.0, -mu * np.cos(angle), -mu * np.sin(angle)])
        along = float(W[0] @ push)
        if along <= 0:
            return None
        Lam = push * (-b[0] / along)
        return Lam, W @ Lam + b

    def turn(angle: float) -> float:
        """How far the slip is from the direction assumed: its part across it."""
        found = slide(angle)
        if found is None:
            return np.nan
        return float(found[1][2] * np.cos(angle) - found[1][1] * np.sin(angle))

    if mu == 0:
        found = slide(0.0)
        return None if found is None else found[0]
    values = [turn(a) for a in ANGLES]
    for a0, a1, f0, f1 in zip(ANGLES[:-1], ANGLES[1:], values[:-1], values[1:], strict=True):
        if f0 * f1 <= 0:
            angle = a0 if f0 == 0 else float(brentq(turn, a0, a1, xtol=1e-15))
            found = slide(angle)
            if found is not None:
                slip = found[1][1] * np.cos(angle) + found[1][2] * np.sin(angle)
                if slip >= -1e-14:
                    return found[0]
    return None
