"""Coulomb's law at several contacts at once: between velocities and impulses, or between
accelerations and forces.

A contact's u = W lam + b and lam (normal, along, across) obey 0 <= lam_n, u_n >= 0, lam_n u_n = 0
and |lam_t| <= mu lam_n, with lam_t against u_t where it is at the limit, eq. [coulomb].
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats

RATIOS = np.concatenate([[0.0], np.logspace(-10, 0, 61)])
"""Where sliding is looked for, as parts of the largest ratio of slip to friction there can be."""

SWEEPS = 480
"""How often all contacts are solved one after the other at most."""


@dataclass(frozen=True, eq=False)
class FrictionContact:
    """A contact in the law: where its rows begin and how many they are (3, or 1 where it slides
    already and its drag is in W), its friction, and whether its hold has just been broken.
    """

    at: int
    rows: int
    mu: float
    broken: bool = False

    @property
    def own(self) -> slice:
        """Where its rows stand."""
        return slice(self.at, self.at + self.rows)


def solve_single_friction(W: Floats, b: Floats, mu: float, broken: bool = False) -> Floats | None:
    """Return the lam of one contact: none, holding, or sliding; None where there is no such lam, which
    needs friction without limit.

    Slip is -ratio lam_t with a ratio of 0 to infinity for which `(W + ratio P) lam = -b`, eq.
    [slip-ratio]. That is solvable throughout, outside the cone for 0 and inside for infinity: there
    is a root between.
    """
    if b[0] >= 0:
        return np.zeros(3)
    stiff, across = float(W[0, 0]), W[1:, 0]
    if mu == 0:
        return np.array([-b[0] / stiff, 0.0, 0.0])
    s, Q = np.linalg.eigh(W[1:, 1:] - np.outer(across, across) / stiff)
    s = np.maximum(s, 1e-14 * stiff)
    d, coupling = Q.T @ (b[1:] - across * (b[0] / stiff)), Q.T @ across

    def friction(ratio: float) -> Floats:
        """Return normal and tangential part, these along the columns of Q."""
        tangential = -d / (s + ratio)
        return np.array([-(b[0] + coupling @ tangential) / stiff, *tangential])

    def outside(ratio: float) -> float:
        lam = friction(ratio)
        return float(np.hypot(lam[1], lam[2]) - mu * lam[0])

    from scipy.optimize import brentq

    held = friction(0.0)
    if np.isinf(mu):
        if held[0] < 0:
            return None
    elif broken or outside(0.0) > 0:
        size = float(np.linalg.norm(d)) * (stiff + mu * float(np.linalg.norm(coupling)))
        ratios = 2.0 * size / (mu * -float(b[0])) * RATIOS
        T = -d[:, None] / (s[:, None] + ratios)
        beyond = np.flatnonzero(np.hypot(*T) > -mu * (b[0] + coupling @ T) / stiff)
        if len(beyond):
            a, z = ratios[beyond[-1] : beyond[-1] + 2]
            rounded = outside(a) <= 0
            held = friction(a if rounded else brentq(outside, a, z, xtol=1e-300, rtol=1e-14))
    return np.array([held[0], *(Q @ held[1:])])


def solve_friction(
    W: Floats, b: Floats, touches: Sequence[FrictionContact], tolerance: float
) -> Floats | None:
    """Return the lam of all contacts, or None where none is found: solved one after the other, in
    ever smaller strides where that goes round in circles, and exactly as soon as it is known which
    of them are open, hold or slide.
    """
    lam = np.zeros(len(b))
    scale = max(float(np.abs(b).max(initial=0.0)), 1e-300)
    for sweep in range(SWEEPS):
        stride = 0.5 ** (sweep // 60)
        change, wanted, stuck = 0.0, lam.copy(), False
        for touch in touches:
            own = touch.own
            rest = W[own] @ lam + b[own] - W[own, own] @ lam[own]
            new = _alone(W[own, own], rest, touch)
            if new is None:  # unless the others come to its aid
                stuck, new = True, np.zeros(touch.rows)
            change = max(change, float(np.abs(W[own, own] @ (new - lam[own])).max()))
            wanted[own] = new
            lam[own] += stride * (new - lam[own])
        if change <= tolerance * scale or len(touches) == 1:
            return None if stuck else wanted
        if sweep % 8 == 7:
            exact = _polish(W, b, touches, wanted, scale)
            if exact is not None:
                return exact
    return None


def _alone(W: Floats, b: Floats, touch: FrictionContact) -> Floats | None:
    """Return the lam of a contact while the others stay as they are."""
    if touch.rows == 3:
        return solve_single_friction(W, b, touch.mu, touch.broken)
    if b[0] >= 0:
        return np.zeros(1)
    return -b / W[0] if W[0, 0] > 0 else None


def _polish(
    W: Floats, b: Floats, touches: Sequence[FrictionContact], lam: Floats, scale: float
) -> Floats | None:
    """Return the lam next to a near one, by Newton steps with contacts that stay open, hold or slide
    as they do there; None where that is no solution.
    """
    lam = lam.copy()
    kinds = [_kind(touch, lam[touch.own]) for touch in touches]
    for _ in range(12):
        value, slope = _residual(W, b, touches, kinds, lam)
        step = np.linalg.lstsq(slope, -value, rcond=1e-13)[0]
        lam += step
        for touch, kind in zip(touches, kinds, strict=True):
            if kind == "open":
                lam[touch.own] = 0.0
        if np.abs(W @ step).max() <= 1e-15 * scale:
            break
    else:
        return None
    return lam if _lawful(W @ lam + b, touches, lam, scale) else None


def _kind(touch: FrictionContact, push: Floats) -> str:
    """Return what a contact does: open, hold, slide, or press (slide with its drag in W)."""
    if push[0] <= 0:
        return "open"
    if touch.rows == 1:
        return "press"
    if touch.mu == 0:
        return "slide"
    limit = touch.mu * push[0]
    return "hold" if np.hypot(push[1], push[2]) < limit * (1 - 1e-9) else "slide"


def _residual(
    W: Floats, b: Floats, touches: Sequence[FrictionContact], kinds: Sequence[str], lam: Floats
) -> tuple[Floats, Floats]:
    """Return what must vanish, and its derivatives by lam."""
    u = W @ lam + b
    value, slope = np.zeros(len(b)), np.zeros((len(b), len(b)))
    for touch, kind in zip(touches, kinds, strict=True):
        at, own = touch.at, touch.own
        if kind == "open":
            value[own], slope[own, own] = lam[own], np.eye(touch.rows)
        elif kind in ("hold", "press"):
            value[own], slope[own] = u[own], W[own]
        else:
            n, x, y = at, at + 1, at + 2
            value[n], slope[n] = u[n], W[n]
            value[x] = u[x] * lam[y] - u[y] * lam[x]
            slope[x] = W[x] * lam[y] - W[y] * lam[x]
            slope[x, x] -= u[y]
            slope[x, y] += u[x]
            value[y] = lam[x] ** 2 + lam[y] ** 2 - (touch.mu * lam[n]) ** 2
            slope[y, own] = -2 * touch.mu**2 * lam[n], 2 * lam[x], 2 * lam[y]
    return value, slope


def _lawful(u: Floats, touches: Sequence[FrictionContact], lam: Floats, scale: float) -> bool:
    """Return whether u and lam obey the law at every contact."""
    small = 1e-13 * scale
    for touch in touches:
        push, slip = lam[touch.own], u[touch.own]
        if push[0] == 0:
            if slip[0] < -small or np.abs(push).max() > 0:
                return False
            continue
        if push[0] < 0 or abs(slip[0]) > small:
            return False
        if touch.rows == 3:
            limit = touch.mu * push[0] if touch.mu else 0.0
            size = float(np.hypot(push[1], push[2]))
            if size > limit * (1 + 1e-12):
                return False
            if np.hypot(slip[1], slip[2]) > small and (
                size < limit * (1 - 1e-9) or slip[1:] @ push[1:] > 0
            ):
                return False
    return True
