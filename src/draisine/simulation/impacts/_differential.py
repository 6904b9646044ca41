"""One contact in the course of its own impact, and contacts that are struck one after the other.

The normal impulse P plays the part of time, eq. [impact-process]: the velocity u = (normal, along,
across) of the contact changes with it as `du/dP = W f`, f = (1, friction). A slipping contact is
dragged by mu against its slip; one that has come to rest holds if that needs no more than mu, and
slips on otherwise, in the one direction that keeps itself.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from draisine.algebra.scalar import Floats
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.active_set import ImpactProblem, Selection
from draisine.simulation.impacts.moreau import check_restitution, delassus, outcome

STRIKES = 5000
"""How often contacts may strike in turn before they are given up."""

REST = 1e-12
"""Slip below this part of the velocity before counts as none."""

FOREVER = float(np.finfo(float).max)
"""How long slip is followed at most: energy is lost until it ends."""

StrikeModel = Callable[[Floats, Floats, float, float], Floats]
"""From W, the velocity before, mu and the restitution to the impulses of one contact."""

Ending = Callable[[float, float, float, float], tuple[float, float, float]]
"""From P, the normal velocity, its rate by P and its work to (a, b, c): a is negative before the end,
and after a further impulse x it is a + b x + c x^2 / 2."""


@dataclass(frozen=True)
class StrikesInTurn:
    """An impact in which one contact strikes after the other, the fastest first, until none
    approaches.
    """

    strike: StrikeModel

    def __call__(self, given: ImpactProblem, *, normal: float = 0.0) -> Selection:
        """Return the speeds after the impact."""
        check_restitution(normal)
        contacts, v, after = given.contacts, given.v, given.v.copy()
        impulses = np.zeros((len(contacts), 3))
        compliances = [delassus(given.M, k.C, given.held) for k in contacts]
        slowest = 1e-12 * max(float(np.abs(k.relative(v)).max()) for k in contacts)
        for _ in range(STRIKES):
            velocities = [k.relative(after) for k in contacts]
            i = int(np.argmin([u[0] for u in velocities]))
            if velocities[i][0] >= -slowest:
                return outcome(contacts, impulses, after)
            e = normal if -velocities[i][0] > given.rest_speed else 0.0
            W, back = compliances[i]
            Lam = self.strike(W, velocities[i], contacts[i].mu, e)
            impulses[i] += Lam
            after = after + back @ Lam
        names = ", ".join(":".join(k.key) for k in contacts)
        raise ContactSetError(f"the contacts {names} strike in turn without end; 'moreau' may do.")


def compress(W: Floats, u: Floats, mu: float) -> tuple[Floats, float]:
    """Return the impulses until the contact no longer approaches, and the work of the normal one."""
    return _proceed(W, u, mu, np.zeros(3), 0.0, lambda P, un, k, work: (un, k, 0.0))


def restore(
    W: Floats, u: Floats, mu: float, squeezed: tuple[Floats, float], ending: Ending
) -> Floats:
    """Return all impulses, from those of the compression on until the ending; `work` counts anew."""
    return _proceed(W, u, mu, squeezed[0], 0.0, ending)[0]


def _proceed(
    W: Floats, u: Floats, mu: float, Lam: Floats, work: float, ending: Ending
) -> tuple[Floats, float]:
    """Return impulses and work at the ending of a phase that begins with some."""
    scale = float(np.abs(u).max())
    for _ in range(4):  # it slips, rests or slips on: no more than three kinds of friction follow
        now = u + W @ Lam
        slips = float(np.linalg.norm(now[1:])) > REST * scale
        if slips and np.isinf(mu):  # stops at once
            Lam = Lam - np.array([0.0, *(_stiffness(W) @ now[1:])])
            continue
        if ending(Lam[0], now[0], 0.0, work)[0] >= 0:
            break
        if slips:
            Lam, work = _swerve(W, u, mu, Lam, work, ending)
            continue
        f = _hold_or_slip(W, mu)
        k = float(W[0] @ f)
        x = _first_root(*ending(Lam[0], now[0], k, work))
        return Lam + x * f, work + now[0] * x + 0.5 * k * x * x
    return Lam, work


def _stiffness(W: Floats) -> Floats:
    """Return the tangential impulses per velocity; none along a direction in which nothing can move."""
    return np.linalg.pinv(W[1:, 1:], rcond=1e-13)


def _first_root(a: float, b: float, c: float) -> float:
    """Return the first x > 0 with a + b x + c x^2 / 2 = 0, where a < 0."""
    if c == 0.0:
        return -a / b
    return -2.0 * a / (b + math.sqrt(b * b - 2.0 * a * c))


def _hold_or_slip(W: Floats, mu: float) -> Floats:
    """Return f of a contact at rest: friction that holds it, or that of the slip which begins."""
    held = -_stiffness(W) @ W[1:, 0]
    if np.linalg.norm(held) <= mu:
        return np.array([1.0, *held])
    s, Q = np.linalg.eigh(W[1:, 1:])
    s, d = np.maximum(s, 1e-14 * s[-1]), Q.T @ W[1:, 0]

    def excess(rate: float) -> float:
        return float(np.linalg.norm(d / (mu * s + rate)) - 1.0)

    rate = brentq(excess, 0.0, float(np.linalg.norm(d)), xtol=1e-300, rtol=1e-14)
    return np.array([1.0, *(-mu * (Q @ (d / (mu * s + rate))))])


def _swerve(
    W: Floats, u: Floats, mu: float, Lam: Floats, work: float, ending: Ending
) -> tuple[Floats, float]:
    """Return impulses and work where slip ends, or at the ending: while it lasts its direction turns.

    In terms of s, dP = |slip| ds, slip dies out like an exponential and nothing is singular.
    """
    now = u + W @ Lam
    begin = math.log(float(np.linalg.norm(now[1:])))
    x0 = np.array([begin, math.atan2(now[2], now[1]), *Lam, work])

    def rate(_: float, x: Floats) -> Floats:
        d = np.array([math.cos(x[1]), math.sin(x[1])])
        f = np.array([1.0, *(-mu * d)])
        change, size = W[1:] @ f, math.exp(x[0])
        un = u[0] + W[0] @ x[2:5]
        turn = d[0] * change[1] - d[1] * change[0]
        return np.array([d @ change, turn, *(size * f), size * un])

    def ended(_: float, x: Floats) -> float:
        return ending(x[2], float(u[0] + W[0] @ x[2:5]), 0.0, x[5])[0]

    def rests(_: float, x: Floats) -> float:
        return float(x[0] - begin - math.log(REST) + math.log(10.0))

    ended.terminal = rests.terminal = True  # type: ignore[attr-defined]
    run = solve_ivp(
        rate, (0.0, FOREVER), x0, method="DOP853", rtol=1e-12, atol=1e-14, events=(ended, rests)
    )
    x = run.y[:, -1]
    if run.status != 1:
        raise ContactSetError("an impact with friction that neither ends nor comes to rest.")
    out = x[2:5].copy()
    if run.t_events is not None and len(run.t_events[1]):
        rest = (u + W @ out)[1:]  # what is left of the slip is round-off
        out[1:] -= _stiffness(W) @ rest
    return out, float(x[5])
