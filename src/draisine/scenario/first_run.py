"""Default scenario of a vehicle: feasible initial values, and LQR feedback if the vehicle would fall."""

from contextlib import suppress
from typing import Any

from draisine.analysis.bicycle.eigenvalues import is_two_wheeler
from draisine.analysis.eigenmodes import steady_modes
from draisine.analysis.lqr import balance
from draisine.errors import DraisineError
from draisine.scenario.validate.vehicle import build_system
from draisine.system.state import state
from draisine.system.system import System

TWO_WHEELER_START = {"forward_speed": 5.8, "lean_rate": 0.2}
"""Initial values of a two-wheeler: a self-stable speed (m/s) of many bicycles, and a lean rate (rad/s)."""

INITIAL_ANGLE = 0.2
"""Initial deflection of a pendulum (rad) or initial joint rate (rad/s): visible, but no full rotation."""

EQUILIBRIUM_ACCELERATION = 1e-6
"""Largest initial acceleration (rad/s2 or m/s2) of a system in equilibrium, which would not move."""

FALLING_GROWTH_RATE = 0.01
"""Smallest real part (1/s) of an eigenvalue whose motion grows visibly in the 5 s of a default run."""


def find_first_start(system: System) -> dict[str, float]:
    """Return feasible initial values of a compiled vehicle by name, SI units.

    A two-wheeler gets a speed and a lean rate, a pendulum a deflection, a rolling vehicle a forward speed,
    and any other system a joint rate.

    >>> from draisine import compile
    >>> find_first_start(compile("segway")), find_first_start(compile("cart_pole"))
    ({'forward_speed': 1.0}, {'pole': 0.2})
    """
    preferred = TWO_WHEELER_START if is_two_wheeler(system) else _find_gentle_start(system)
    rates = {f"{joint.name}_rate": INITIAL_ANGLE for joint in system.model.joints}
    start: dict[str, Any] = {}
    for name, value in (preferred | rates).items():
        # Try the joint rate last: it is used only if no preferred initial value is feasible.
        if start and name not in preferred:
            break
        with suppress(DraisineError):
            candidate = start | {name: value}
            state(system, **candidate)
            start = candidate
    return start


def _find_gentle_start(system: System) -> dict[str, float]:
    """Return initial values of a system that is not a two-wheeler: deflection or forward speed, SI units."""
    model = system.model
    if model.base != "fixed" or model.contacts or model.loops:
        speeds = [o.name for o in model.outputs if o.unit == "m/s"]
        return dict.fromkeys(["forward_speed"] if "forward_speed" in speeds else speeds[:1], 1.0)
    for joint in (joint for joint in model.joints if joint.unit == "rad"):
        deflected: dict[str, Any] = {joint.name: INITIAL_ANGLE}
        accelerations = system.accelerate(state(system, **deflected))[0]
        if abs(accelerations).max() > EQUILIBRIUM_ACCELERATION:
            return deflected
    return {}


def needs_law(system: System, start: dict[str, float]) -> bool:
    """Return whether a vehicle falls without a control law and LQR feedback can stabilise it.

    Two-wheelers always run without control, because their self-stability is of interest.
    """
    speed: dict[str, Any] = {n: x for n, x in start.items() if n == "forward_speed"}
    with suppress(DraisineError):
        if is_two_wheeler(system):
            return False
        modes, _ = steady_modes(system, list(speed.values()) or 0.0)
        is_unstable = modes.values.real.max() > FALLING_GROWTH_RATE
        return bool(is_unstable and balance(system, **speed).inputs)
    return False


def make_first_run(vehicle: str, name: str) -> dict[str, Any]:
    """Return the tables of a default scenario of a vehicle: 5 s with default initial values."""
    system = build_system(vehicle)
    start = find_first_start(system)
    law = [{"name": "lqr"}] if needs_law(system, start) else []
    values = ", ".join(f"{name} = {value:g}" for name, value in start.items())
    control = ", stabilised by LQR feedback" if law else ""
    return {
        "kind": "run",
        "title": f"{name} {f'with {values}' if values else 'from rest'}{control}",
        "vehicle": {"name": vehicle},
        "initial": start,
        "law": law,
        "run": {"until": 5.0},
    }
