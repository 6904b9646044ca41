"""Moreau and Jean's time stepping: contacts with friction at velocity level, in equal steps.

A second, independent way through contacts and impacts: no events are located, any number of them may
happen in a step, and accumulating bounces need no care. It is of first order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.simulation.contact.query import ContactQuery, WheelOnFeature
from draisine.simulation.impacts.moreau import contact_impulses, delassus
from draisine.system.closed_form import State
from draisine.system.generic import Generic, generic
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain


@dataclass(frozen=True, eq=False)
class Steps:
    """What time stepping leaves: times, y = (q, p, r, v, z) per time, and the impulses of each step
    per wheel (normal, along, across).
    """

    machine: Generic
    t: Floats
    y: Floats
    impulses: Floats

    def final(self) -> State:
        """Return the last state."""
        return self.machine.leave(self.y[-1])


def simulate_by_steps(
    system: System,
    terrain: Terrain,
    state: State,
    until: float,
    *,
    h: float,
    start: float = 0.0,
    law: Law | None = None,
    inputs: Mapping[str, float] | None = None,
    mu: float = np.inf,
    normal: float = 0.0,
) -> Steps:
    """Return the motion in equal steps no longer than h, eq. [moreau-jean]:

        q_m = q + h/2 v,   M(q_m) (v+ - v) = -h F(q_m, v) + C' Lam,   q+ = q_m + h/2 v+

    where the contacts with a gap below zero at q_m have impulses Lam by Coulomb's law between Lam and
    the velocities v+ + e v-; `normal` is the restitution e, `mu` the friction.
    """
    if not (np.isfinite(h) and h > 0 and until > start):
        raise ParameterError(f"h = {h} s, from {start} s until {until} s: no steps.")
    machine = generic(system, law, terrain.motions)
    look = ContactQuery(machine, terrain, system.inputs(inputs))
    z = np.asarray(getattr(law, "start", np.zeros(machine.states)), float)
    y = machine.enter(state, z)
    count = int(np.ceil((until - start) / h - 1e-9))
    times = start + np.arange(count + 1) * ((until - start) / count)
    states, impulses = [y], []
    for t, after in pairwise(times):
        y, pushes = _step(look, float(t), float(after - t), y, mu, normal)
        states.append(y)
        total = np.zeros((len(machine.wheels), 3))
        for contact, push in pushes.items():
            total[contact.wheel] += push
        impulses.append(total)
    return Steps(machine, times, np.array(states), np.array(impulses))


def _step(
    look: ContactQuery,
    t: float,
    h: float,
    y: Floats,
    mu: float,
    normal: float,
) -> tuple[Floats, dict[WheelOnFeature, Floats]]:
    """Return the state after a step, and the impulses by contact."""
    pose, n = look.pose, look.n
    half = y.copy()
    half[pose] += 0.5 * h * look.dynamics(t, y)["flow"]
    parts = look.dynamics(t + 0.5 * h, half)
    M, v = parts["M"].reshape(n, n), look.speeds(y)
    near = look.near(t, half, 0.0)
    rows = look.meet(t + 0.5 * h, half, near)
    touching = [
        k
        for k, (contact, row) in enumerate(zip(near, rows, strict=True))
        if look.gap(row) <= 0 and look.excess(contact, row) <= 0 and look.above(contact, row)
    ]
    C = np.vstack([np.zeros((0, n)), *(look.jacobian(rows[k]) for k in touching)])
    driven = look.machine.driven
    fixed = np.eye(n)[driven]
    K = np.block([[M, -fixed.T], [fixed, np.zeros((len(driven),) * 2)]])
    right = np.concatenate([-h * parts["F"], h * parts["driven"]])
    alone = v + np.linalg.solve(K, right)[:n]
    ground = np.concatenate([np.zeros(0), *(look.carried(rows[k]) for k in touching)])
    b = C @ alone - ground
    b[::3] += normal * np.minimum(C[::3] @ v - ground[::3], 0.0)
    W, back = delassus(M, C, driven)
    Lam = contact_impulses(W, b, [mu] * len(touching), 1e-12)
    after = half.copy()
    after[look.y.v] = alone + back @ Lam
    after[pose] += 0.5 * h * look.dynamics(t + 0.5 * h, after)["flow"]
    after[look.y.q] /= np.linalg.norm(after[look.y.q])
    after[look.y.z] += h * parts["zdot"]
    return after, {near[k]: push for k, push in zip(touching, Lam.reshape(-1, 3), strict=True)}
