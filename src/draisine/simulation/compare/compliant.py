"""Compliant contacts: normal forces as functions of indentation and indentation rate (thesis 3.3.1).

`simulate_collision` computes a single collision, `run_compliant` the motion of a vehicle on compliant ground.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Protocol, cast

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import (
    ParameterError,
    SimulationError,
    UnknownNameError,
    did_you_mean,
    expect_known,
)
from draisine.simulation.contact.arc import SteppedArc
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.run import place_on_terrain
from draisine.simulation.options import ContactOptions, Task
from draisine.simulation.trajectory import Trajectory
from draisine.simulation.validity.fall import FallRule, fall_rule


class NormalForceLaw(Protocol):
    """Interface of a normal force law of a compliant contact."""

    def force(self, depth: float, rate: float) -> float:
        """Return the normal force (N) for an indentation (m) and its rate (m/s)."""


@dataclass(frozen=True)
class Hertz:
    """Elastic contact (Hertz 1896): normal force K depth^n without dissipation; n = 3/2 for round bodies."""

    stiffness: float  # N/m^n
    exponent: float = 1.5  # exponent n of the indentation

    def force(self, depth: float, rate: float) -> float:
        """Return the normal force (N) for an indentation (m) and its rate (m/s)."""
        return float(self.stiffness * max(depth, 0.0) ** self.exponent)


@dataclass(frozen=True)
class KelvinVoigt:
    """Spring and linear damper in parallel: normal force K depth + D rate.

    The force jumps at touchdown. Before lift-off it becomes negative, unless `pulls` is False, which limits
    it to zero.
    """

    stiffness: float  # N/m
    damping: float  # N s/m
    pulls: bool = False  # whether the force may be negative

    def force(self, depth: float, rate: float) -> float:
        """Return the normal force (N) for an indentation (m) and its rate (m/s)."""
        total = self.stiffness * depth + self.damping * rate if depth > 0 else 0.0
        return float(total if self.pulls else max(total, 0.0))


@dataclass(frozen=True)
class HuntCrossley:
    """Hertz's spring with damping in proportion to the spring force (Hunt and Crossley 1975).

    The normal force is K depth^n (1 + 3 (1 - e) rate / (2 speed)) for an impact at `speed`.
    """

    stiffness: float  # N/m^n
    restitution: float  # coefficient of restitution e
    speed: float  # m/s, impact speed
    exponent: float = 1.5  # exponent n of the indentation

    def loss(self, rate: float) -> float:
        """Return the ratio of damping force to spring force at an indentation rate (m/s)."""
        return 1.5 * (1.0 - self.restitution) * rate / self.speed

    def force(self, depth: float, rate: float) -> float:
        """Return the normal force (N) for an indentation (m) and its rate (m/s)."""
        spring = self.stiffness * max(depth, 0.0) ** self.exponent
        return float(max(spring * (1.0 + self.loss(rate)), 0.0))


@dataclass(frozen=True)
class LankaraniNikravesh(HuntCrossley):
    """Hunt and Crossley's law with the loss factor 3 (1 - e^2) / (4 speed) (Lankarani, Nikravesh 1990)."""

    def loss(self, rate: float) -> float:
        """Return the ratio of damping force to spring force at an indentation rate (m/s)."""
        return 0.75 * (1.0 - self.restitution**2) * rate / self.speed


def hertz_stiffness(radius: float, other: float, young: float, poisson: float) -> float:
    """Return the Hertz stiffness K (N/m^1.5) of the contact of two balls of one material.

    K = (4/3) E* sqrt(R*) with E* = E / (2 (1 - nu^2)) and 1/R* = 1/radius + 1/other. Radii are in m, Young's
    modulus E in Pa.
    """
    return 4.0 / 3.0 * young / (2.0 * (1.0 - poisson**2)) * math.sqrt(1 / (1 / radius + 1 / other))


@dataclass(frozen=True, eq=False)
class Collision:
    """Time history of a collision along one line."""

    t: Floats  # s, times of the samples
    depth: Floats  # m, indentation
    rate: Floats  # m/s, indentation rate
    force: Floats  # N, normal force


def simulate_collision(
    element: NormalForceLaw, mass: float, speed: float, samples: int = 400
) -> Collision:
    """Simulate the collision of a mass with the ground along one line, until the contact ends.

    `element` is the normal force law, `mass` the mass in kg (of two bodies, their reduced mass), and `speed`
    the impact speed in m/s.

    >>> ball = simulate_collision(Hertz(1e6), 1.0, 0.5)
    >>> round(float(ball.rate[-1]), 6)
    -0.5
    """
    from scipy.integrate import solve_ivp

    if not (mass > 0 and speed > 0):
        raise ParameterError(
            f"simulate_collision: mass = {mass} kg and speed = {speed} m/s must be positive."
        )

    def motion(t: float, y: Floats) -> list[float]:
        return [y[1], -element.force(y[0], y[1]) / mass]

    def over(t: float, y: Floats) -> float:
        return float(y[0]) if y[1] < 0 else 1.0

    ending: Any = over  # SciPy reads attributes of the function
    ending.terminal = True
    ending.direction = -1
    # The stiffness at a small depth bounds the duration from above: the force grows faster than linearly.
    stiffness = max(element.force(1e-6, 0.0) / 1e-6, 1e-12)
    longest = 20.0 * math.sqrt(mass / stiffness)
    solution: Any = solve_ivp(
        motion, (0.0, longest), [0.0, speed], "DOP853", dense_output=True, events=ending,
        rtol=1e-11, atol=1e-16, max_step=longest / 50,
    )  # fmt: skip
    end = solution.t_events[0][0] if len(solution.t_events[0]) else solution.t[-1]
    t = np.linspace(0.0, end, samples)
    depth, rate = solution.sol(t)
    force = np.array([element.force(d, r) for d, r in zip(depth, rate, strict=True)])
    return Collision(t, depth, rate, force)


def simulate_plastic_collision(
    stiffness: float, restitution: float, mass: float, speed: float, samples: int = 200
) -> Collision:
    """Compute a collision with permanent indentation (Lankarani and Nikravesh 1994).

    Loading follows Hertz's law up to the largest indentation d_m and force f_m. Unloading follows
    f = f_m ((d - d_p) / (d_m - d_p))^(3/2) to the permanent indentation d_p. It returns the fraction e^2 of
    the energy, so that d_p = d_m (1 - e^2).
    """
    loading = simulate_collision(Hertz(stiffness), mass, speed, 2 * samples)
    top = int(np.argmax(loading.depth))
    deepest = (1.25 * mass * speed**2 / stiffness) ** 0.4
    permanent = deepest * (1.0 - restitution**2)
    strongest = stiffness * deepest**1.5
    depth = np.linspace(deepest, permanent, samples)
    fraction = np.clip((depth - permanent) / max(deepest - permanent, 1e-300), 0, 1)
    force = strongest * fraction**1.5
    regained = 0.4 * (strongest * (deepest - permanent) - force * (depth - permanent))
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


@dataclass(frozen=True)
class Compliant:
    """Compliant ground, for `ContactOptions.solver`.

    The normal force on each wheel follows the normal force law; the friction force is `mu` times the normal
    force, opposite to the slip. Friction is regularised below the slip speed `creep`.

    >>> Compliant(Hertz(2e6)).creep
    0.01
    """

    compliance: NormalForceLaw  # normal force law of the ground
    creep: float = 0.01  # m/s, slip speed below which friction is regularised


COMPLIANCES: dict[str, Callable[..., NormalForceLaw]] = {
    "hertz": Hertz,
    "kelvin_voigt": KelvinVoigt,
    "hunt_crossley": HuntCrossley,
    "lankarani_nikravesh": LankaraniNikravesh,
}
"""Normal force laws of compliant ground by their names in scenario files."""


def read_compliant_ground(entry: Mapping[str, Any]) -> Compliant:
    """Return the compliant ground that an entry of a scenario describes.

    The entry contains the `name` of the normal force law, the parameters of this law, and `creep` (m/s).

    >>> read_compliant_ground({"name": "hertz", "stiffness": 2e6, "creep": 0.02}).creep
    0.02
    """
    name = str(entry.get("name", ""))
    if name not in COMPLIANCES:
        raise UnknownNameError(
            f"Unknown law {name!r} of compliant ground. {did_you_mean(name, COMPLIANCES)}"
        )
    numbers = {k: v for k, v in entry.items() if k not in ("name", "creep")}
    by_name = {field.name: field for field in fields(COMPLIANCES[name])}  # type: ignore[arg-type]
    expect_known(f"{name} has no", numbers, [*by_name, "creep"])
    for key, field in by_name.items():
        if key not in numbers and field.default is MISSING:
            raise ParameterError(f"{name} needs {key!r}.")
    creep = {"creep": float(entry["creep"])} if "creep" in entry else {}
    return Compliant(COMPLIANCES[name](**numbers), **creep)


def run_compliant(task: Task) -> Trajectory:
    """Simulate a task on compliant ground. The simulation runs in Python and is slow, for comparisons only.

    The integrator uses backward differentiation formulas (BDF). LSODA is not used: it begins with a nonstiff
    method and, if bodies are light, does not switch to BDF, so that its steps shrink to 1e-9 s.
    """
    for wheel in task.system.model.wheels:
        if wheel.tyre is not None:
            raise ParameterError(
                f"Compliant ground does not work with tyres, and wheel {wheel.name!r} has one. Leave "
                "the tyre out, or use rigid ground and a tyre with a vertical spring (magic_formula "
                "with `vertical`)."
            )
    query, y0 = place_on_terrain(task)
    if query.stops:
        names = ", ".join(query.stops)
        raise ParameterError(
            f"Compliant ground does not support the stops of joints ({names}); leave them out."
        )
    numerics = task.numerics
    count = int(np.floor((task.until - numerics.start) / numerics.dt + 1e-9)) + 1
    times = numerics.start + numerics.dt * np.arange(count)
    n = query.n

    def accelerations(t: float, y: Floats) -> tuple[Any, Floats, Floats, Floats, Floats]:
        """Return the free dynamics, vdot, the forces of `_push`, and the torques of prescribed joints."""
        parts = query.dynamics(t, y)
        total, forces, world = _push(query, task.contact, t, y)
        M = parts["M"].reshape(n, n)
        held, targets = query.equality_rows(parts)
        K = np.block([[M, -held.T], [held, np.zeros((len(held),) * 2)]])
        vdot = np.linalg.solve(K, np.concatenate([total - parts["F"], targets]))[:n]
        return (
            parts,
            vdot,
            forces,
            world,
            query.equality_multipliers(parts, M @ vdot + parts["F"] - total),
        )

    def motion(t: float, y: Floats) -> Any:
        parts, vdot, *_ = accelerations(t, y)
        return np.concatenate([parts["flow"], vdot, parts["zdot"]])

    rule = fall_rule(task.system.model, task.contact.fall)
    solution = _integrate(motion, task, times, y0, rule, query)
    t = solution.t
    y = solution.y.T
    forces = [accelerations(time, state)[1:] for time, state in zip(t, y, strict=True)]
    columns: list[Any] = [np.array(values) for values in zip(*forces, strict=True)]
    arc = SteppedArc(query.machine, t, y, query.inputs, query.terrain, *columns)
    settings = {"solver": "compliant", "dt": numerics.dt, "rtol": numerics.rtol, "drift": "none"}
    if not solution.success:
        run = Trajectory((arc,), solution.message, settings, contact=task.contact)
        raise SimulationError(f"the run stopped at {t[-1]:.6g} s: {solution.message}", run)
    outcome = rule.outcome(y[-1, query.y.q]) if solution.status == 1 else "completed"
    return Trajectory((arc,), outcome, settings, contact=task.contact)


def _integrate(
    motion: Callable[[float, Floats], Any],
    task: Task,
    times: Floats,
    y0: Floats,
    rule: FallRule,
    query: ContactQuery,
) -> Any:
    """Integrate with SciPy; return its solution at the given times (s), up to a fall.

    A fall adds its time and state as the last sample.
    """
    from scipy.integrate import solve_ivp

    def upright(t: float, y: Floats) -> float:
        return float(rule.margin(y[query.y.q]))

    numerics = task.numerics
    ending = cast(Any, upright)  # SciPy reads attributes of the function
    ending.terminal = True
    ending.direction = -1
    solution: Any = solve_ivp(
        motion, (numerics.start, task.until), y0, "BDF", t_eval=times, rtol=numerics.rtol,
        atol=numerics.atol, max_step=numerics.dt, events=ending if rule.watches else None,
    )  # fmt: skip
    if solution.status == 1:
        solution.t = np.append(solution.t, solution.t_events[0])
        solution.y = np.hstack([solution.y, solution.y_events[0].T])
    return solution


def _push(
    query: ContactQuery, contact: ContactOptions, t: float, y: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the contact forces at state y and time t (s).

    The result has three parts: generalised forces (n,), and the force of each wheel (wheels, 3), N, in
    contact axes and in world axes.
    """
    solver = contact.solver
    near = query.find_surroundings(t, y, 0.0)
    v = query.speeds(y)
    total = np.zeros(query.n)
    forces, world = np.zeros((2, len(query.machine.wheels), 3))
    for pair, row in query.find_penetrating(t, y, near):
        gap = query.gap(row)
        if gap < 0:
            mu = contact.friction(query.machine.wheels[pair.wheel], query.key(pair)[1])
            if not math.isfinite(mu):
                raise ParameterError("Compliant ground needs a finite mu.")
            C = query.jacobian(row)
            speed = C @ v - query.ground_velocity(row)
            N = solver.compliance.force(-gap, -speed[0])
            drag = -mu * N / math.sqrt(speed[1] ** 2 + speed[2] ** 2 + solver.creep**2)
            push = np.array([N, drag * speed[1], drag * speed[2]])
            forces[pair.wheel] += push
            world[pair.wheel] += push @ query.axes(row)
            total += C.T @ push
    return total, forces, world
