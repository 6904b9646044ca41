"""A first run of a vehicle: a start that it can have, and a law where it would fall."""

from contextlib import suppress
from typing import Any

from draisine.analysis.bicycle.eigenvalues import is_two_wheeler
from draisine.analysis.eigenmodes import steady_modes
from draisine.analysis.lqr import balance
from draisine.errors import DraisineError
from draisine.scenario.validate.vehicle import build_system
from draisine.system.state import state
from draisine.system.system import System

PUSH = {"forward_speed": 5.8, "lean_rate": 0.2}
"""How a two-wheeler starts: it rolls, and is pushed over."""


def first_start(system: System) -> dict[str, float]:
    """Return values that a machine can start with: a push of a two-wheeler, aside where it would hang or
    stand, else a roll, or the rate of a joint.

    >>> from draisine import compile
    >>> first_start(compile("segway")), first_start(compile("cart_pole"))
    ({'forward_speed': 1.0}, {'pole': 0.2})
    """
    wanted = PUSH if is_two_wheeler(system) else _gentle(system)
    start: dict[str, Any] = {}
    for name, value in (wanted | {f"{one.name}_rate": 0.2 for one in system.model.joints}).items():
        if start and name not in wanted:
            break
        with suppress(DraisineError):
            asked = start | {name: value}
            state(system, **asked)
            start = asked
    return start


def _gentle(system: System) -> dict[str, float]:
    """Return how machines start that are no two-wheelers: what hangs or stands on a hinge at rest, aside of
    where it would stay; others roll.
    """
    model = system.model
    if model.base != "fixed" or model.contacts or model.loops:
        speeds = [o.name for o in model.outputs if o.unit == "m/s"]
        return dict.fromkeys(["forward_speed"] if "forward_speed" in speeds else speeds[:1], 1.0)
    for joint in (joint for joint in model.joints if joint.unit == "rad"):
        aside: dict[str, Any] = {joint.name: 0.2}
        if abs(system.accelerate(state(system, **aside))[0]).max() > 1e-6:
            return aside
    return {}


def needs_law(system: System, start: dict[str, float]) -> bool:
    """Return whether the motion of a start falls by itself, and feedback of least cost keeps it; a
    two-wheeler is left to itself.
    """
    about: dict[str, Any] = {n: x for n, x in start.items() if n == "forward_speed"}
    with suppress(DraisineError):
        if is_two_wheeler(system):
            return False
        modes, _ = steady_modes(system, list(about.values()) or 0.0)
        return bool(modes.values.real.max() > 0.01 and balance(system, **about).inputs)
    return False


def first_run(vehicle: str, name: str) -> dict[str, Any]:
    """Return the content of a scenario, of a name, in which a vehicle moves for the first time: 5 s."""
    system = build_system(vehicle)
    start = first_start(system)
    law = [{"name": "lqr"}] if needs_law(system, start) else []
    begins = ", ".join(f"{name} = {value:g}" for name, value in start.items())
    kept = ", kept by feedback of least cost (lqr)" if law else ""
    return {
        "kind": "run",
        "title": f"{name} {f'begun with {begins}' if begins else 'from rest'}{kept}",
        "vehicle": {"name": vehicle},
        "initial": start,
        "law": law,
        "run": {"until": 5.0},
    }
