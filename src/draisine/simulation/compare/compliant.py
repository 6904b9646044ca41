"""Contacts that give way: forces as functions of indentation and its rate (thesis 3.3.1), for single
collisions and for whole machines.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.integrate import solve_ivp

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, SimulationError
from draisine.simulation.compare.timestepping import Steps
from draisine.simulation.contact.query import ContactQuery
from draisine.system.closed_form import State
from draisine.system.generic import generic
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain


class Compliance(Protocol):
    """An element of normal force."""

    def force(self, depth: float, rate: float) -> float:
        """Return the force for an indentation in m and its rate in m/s."""


@dataclass(frozen=True)
class Hertz:
    """Hertz 1896: a spring `K depth^n`, without loss; n = 3/2 for round bodies."""

    stiffness: float
    exponent: float = 1.5

    def force(self, depth: float, rate: float) -> float:
        """Return the force."""
        return float(self.stiffness * max(depth, 0.0) ** self.exponent)


@dataclass(frozen=True)
class KelvinVoigt:
    """A spring and a linear damper side by side, `K depth + D rate`: the force jumps at first touch,
    and pulls at the end unless it is cut off at zero.
    """

    stiffness: float
    damping: float
    pulls: bool = False

    def force(self, depth: float, rate: float) -> float:
        """Return the force."""
        total = self.stiffness * depth + self.damping * rate if depth > 0 else 0.0
        return float(total if self.pulls else max(total, 0.0))


@dataclass(frozen=True)
class HuntCrossley:
    """Hunt and Crossley 1975: Hertz with a damper that grows with the indentation,
    `K depth^n (1 + 3 (1 - e) rate / (2 speed))` for an impact with the given speed.
    """

    stiffness: float
    restitution: float
    speed: float
    exponent: float = 1.5

    def force(self, depth: float, rate: float) -> float:
        """Return the force."""
        loss = 1.5 * (1.0 - self.restitution) * rate / self.speed
        return float(max(self.stiffness * max(depth, 0.0) ** self.exponent * (1.0 + loss), 0.0))


@dataclass(frozen=True)
class LankaraniNikravesh:
    """Lankarani and Nikravesh 1990: as Hunt and Crossley with the loss `3 (1 - e^2) / (4 speed)`."""

    stiffness: float
    restitution: float
    speed: float
    exponent: float = 1.5

    def force(self, depth: float, rate: float) -> float:
        """Return the force."""
        loss = 0.75 * (1.0 - self.restitution**2) * rate / self.speed
        return float(max(self.stiffness * max(depth, 0.0) ** self.exponent * (1.0 + loss), 0.0))


def hertz_stiffness(radius: float, other: float, young: float, poisson: float) -> float:
    """Return K of two balls of one material: (4/3) E* sqrt(R*), E* = E / (2 (1 - nu^2))."""
    return 4.0 / 3.0 * young / (2.0 * (1.0 - poisson**2)) * math.sqrt(1 / (1 / radius + 1 / other))


@dataclass(frozen=True, eq=False)
class Collision:
    """A collision along one line: times, indentation, its rate, force."""

    t: Floats
    depth: Floats
    rate: Floats
    force: Floats


def collide(element: Compliance, mass: float, speed: float, samples: int = 400) -> Collision:
    """Return the collision of a mass (or two, with the reduced mass) that arrives with a speed.

    >>> ball = collide(Hertz(1e6), 1.0, 0.5)
    >>> round(float(ball.rate[-1]), 6)
    -0.5
    """
    if not (mass > 0 and speed > 0):
        raise ParameterError(f"collide: mass = {mass} kg and speed = {speed} m/s must be positive.")

    def motion(t: float, y: Floats) -> list[float]:
        return [y[1], -element.force(y[0], y[1]) / mass]

    def over(t: float, y: Floats) -> float:
        return float(y[0]) if y[1] < 0 else 1.0

    ending: Any = over  # SciPy reads attributes of it
    ending.terminal, ending.direction = True, -1
    stiff = max(element.force(1e-6, 0.0) / 1e-6, 1e-12)
    longest = 20.0 * math.sqrt(mass / stiff)
    found: Any = solve_ivp(
        motion, (0.0, longest), [0.0, speed], "DOP853", dense_output=True, events=ending,
        rtol=1e-11, atol=1e-16, max_step=longest / 50,
    )  # fmt: skip
    ended = found.t_events[0][0] if len(found.t_events[0]) else found.t[-1]
    t = np.linspace(0.0, ended, samples)
    depth, rate = found.sol(t)
    force = np.array([element.force(d, r) for d, r in zip(depth, rate, strict=True)])
    return Collision(t, depth, rate, force)


def collide_with_dent(
    stiffness: float, restitution: float, mass: float, speed: float, samples: int = 200
) -> Collision:
    """Return the collision of Lankarani and Nikravesh 1994: loading by Hertz, unloading to a lasting
    indentation, f = f_m ((d - d_p) / (d_m - d_p))^(3/2), whose area is the energy that is lost.

    The unloading returns the part e^2 of the energy, so that d_p = d_m (1 - e^2).
    """
    loading = collide(Hertz(stiffness), mass, speed, 2 * samples)
    top = int(np.argmax(loading.depth))
    deepest = (1.25 * mass * speed**2 / stiffness) ** 0.4
    lasting = deepest * (1.0 - restitution**2)
    strongest = stiffness * deepest**1.5
    depth = np.linspace(deepest, lasting, samples)
    force = strongest * np.clip((depth - lasting) / max(deepest - lasting, 1e-300), 0, 1) ** 1.5
    regained = 0.4 * (strongest * (deepest - lasting) - force * (depth - lasting))
    rate = -np.sqrt(np.maximum(2.0 * regained / mass, 0.0))
    step = np.abs(np.diff(depth))
    mean = np.maximum(0.5 * np.abs(rate[1:] + rate[:-1]), 1e-300)
    later = loading.t[top] + np.concatenate([[0.0], np.cumsum(step / mean)])
    return Collision(
        np.concatenate([loading.t[: top + 1], later]),
        np.concatenate([loading.depth[: top + 1], depth]),
        np.concatenate([loading.rate[: top + 1], rate]),
        np.concatenate([loading.force[: top + 1], force]),
    )


def simulate_compliant(
    system: System,
    terrain: Terrain,
    state: State,
    until: float,
    compliance: Compliance,
    *,
    dt: float = 0.01,
    start: float = 0.0,
    law: Law | None = None,
    inputs: Mapping[str, float] | None = None,
    mu: float = 0.8,
    creep: float = 0.01,
    rtol: float = 1e-8,
    atol: float = 1e-10,
) -> Steps:
    """Return the motion on ground that gives way: each wheel is pushed out by the element's force, and
    dragged by `mu` times it against its slip, which is smoothed below the speed `creep`.

    It runs in Python: for comparisons, not for speed.
    """
    machine = generic(system, law, terrain.motions)
    look = ContactQuery(machine, terrain, system.inputs(inputs))
    y0 = machine.enter(state, np.asarray(getattr(law, "start", np.zeros(machine.states)), float))
    times = start + dt * np.arange(int(np.floor((until - start) / dt + 1e-9)) + 1)

    def pushes(t: float, y: Floats) -> tuple[Floats, Floats]:
        """Return the generalised contact forces, and the forces per wheel."""
        near = look.near(t, y, 0.0)
        v, total = look.speeds(y), np.zeros(look.n)
        forces = np.zeros((len(machine.wheels), 3))
        for contact, row in zip(near, look.meet(t, y, near), strict=True):
            gap = look.gap(row)
            if gap < 0 and look.excess(contact, row) <= 0 and look.above(contact, row):
                C = look.jacobian(row)
                speed = C @ v - look.carried(row)
                N = compliance.force(-gap, -speed[0])
                drag = -mu * N / math.sqrt(speed[1] ** 2 + speed[2] ** 2 + creep**2)
                push = np.array([N, drag * speed[1], drag * speed[2]])
                forces[contact.wheel] += push
                total += C.T @ push
        return total, forces

    def motion(t: float, y: Floats) -> Any:
        parts = look.dynamics(t, y)
        M = parts["M"].reshape(look.n, look.n)
        driven, n = machine.driven, look.n
        fixed = np.eye(n)[driven]
        K = np.block([[M, -fixed.T], [fixed, np.zeros((len(driven),) * 2)]])
        right = np.concatenate([pushes(t, y)[0] - parts["F"], parts["driven"]])
        return np.concatenate([parts["flow"], np.linalg.solve(K, right)[:n], parts["zdot"]])

    found = solve_ivp(
        motion, (start, until), y0, "LSODA", t_eval=times, rtol=rtol, atol=atol, max_step=dt
    )
    if not found.success:
        raise SimulationError(f"the run stopped at {found.t[-1]:.6g} s: {found.message}")
    y = found.y.T
    forces = np.array([pushes(t, row)[1] for t, row in zip(found.t, y, strict=True)])
    return Steps(machine, found.t, y, forces)
