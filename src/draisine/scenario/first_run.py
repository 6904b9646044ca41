"""A default scenario of a vehicle: possible initial values, and a control law if it would fall."""

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
"""Initial values of a two-wheeler (m/s, rad/s): self-stable speed of many bicycles, and a push."""

INITIAL_ANGLE = 0.2
"""Initial angle of a pendulum (rad) or rate of a joint (rad/s): visible, and far from turning over."""

EQUILIBRIUM_ACCELERATION = 1e-6
"""A smaller acceleration (rad/s^2 or m/s^2) is that of an equilibrium: nothing would move."""

FALLING_GROWTH_RATE = 0.01
"""An eigenvalue with a larger real part (1/s) grows visibly within the 5 s of a first run."""


def first_start(system: System) -> dict[str, float]:
    """Return possible initial values of a machine.

    A two-wheeler is pushed, a pendulum is deflected, other machines roll, or a joint has a rate.

    >>> from draisine import compile
    >>> first_start(compile("segway")), first_start(compile("cart_pole"))
    ({'forward_speed': 1.0}, {'pole': 0.2})
    """
    preferred = TWO_WHEELER_START if is_two_wheeler(system) else _gentle_start(system)
    rates = {f"{joint.name}_rate": INITIAL_ANGLE for joint in system.model.joints}
    start: dict[str, Any] = {}
    for name, value in (preferred | rates).items():
        # The rate of a joint is used only if no preferred value is possible.
        if start and name not in preferred:
            break
        with suppress(DraisineError):
            candidate = start | {name: value}
            state(system, **candidate)
            start = candidate
    return start


def _gentle_start(system: System) -> dict[str, float]:
    """Return initial values of a machine that is not a two-wheeler: a deflected pendulum, or rolling."""
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
    """Return whether a machine falls without control and LQR feedback stabilises it.

    Two-wheelers run uncontrolled, because their own stability is of interest.
    """
    speed: dict[str, Any] = {n: x for n, x in start.items() if n == "forward_speed"}
    with suppress(DraisineError):
        if is_two_wheeler(system):
            return False
        modes, _ = steady_modes(system, list(speed.values()) or 0.0)
        is_unstable = modes.values.real.max() > FALLING_GROWTH_RATE
        return bool(is_unstable and balance(system, **speed).inputs)
    return False


def first_run(vehicle: str, name: str) -> dict[str, Any]:
    """Return the content of a scenario of 5 s with default initial values."""
    system = build_system(vehicle)
    start = first_start(system)
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
