"""Vehicle of a ride, extended by a disturbing force, adjustable parameters and, on bicycles, a rider and a
chart of the stability against speed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from inspect import unwrap
from typing import Any, Literal

import numpy as np

from draisine.analysis.bicycle.eigenvalues import eigenvalues, is_two_wheeler
from draisine.control.rider import Rider
from draisine.errors import DraisineError
from draisine.model import Force, Model
from draisine.registry import find
from draisine.ride.presets import Preset
from draisine.system.system import System, compile
from draisine.vehicles._sets import parameter_set

UPPER_BODY_MASS = 30.0
"""Mass (kg) of the leaning upper body, which only bicycles with a rear frame of more than 60 kg have."""

PUSH_FORCE = "push"
"""Name of the disturbing force at the mass centre of the base; its three components are inputs, N."""


@dataclass(frozen=True)
class Slider:
    """A parameter that the user can change during a ride."""

    low: float
    """Lower bound of the parameter, SI units."""
    high: float
    """Upper bound of the parameter, SI units."""
    unit: str
    """Unit of the parameter; `page/words.js` contains its name."""


SLIDERS = {
    "c": Slider(-0.05, 0.2, "m"),
    "lam": Slider(0.0, 0.6, "rad"),
    "w": Slider(0.8, 1.4, "m"),
    "IFyy": Slider(0.0, 1.0, "kg m2"),
    "IRyy": Slider(0.0, 1.0, "kg m2"),
    "zB": Slider(-1.3, -0.6, "m"),
    "mB": Slider(65.0, 130.0, "kg"),
    "g": Slider(1.0, 20.0, "m/s2"),
    "slope": Slider(-0.2, 0.2, "rad"),
}
"""Sliders of the page by parameter name; the page shows those of the vehicle's own parameters."""


def add_push_force(vehicle: Callable[..., Model]) -> Callable[..., Model]:
    """Return a vehicle function with an additional input force (N) at the mass centre of the base."""

    @wraps(vehicle)
    def pushed(**arguments: Any) -> Model:
        """Return the model of the vehicle with the disturbing force."""
        model = vehicle(**arguments)
        if any(force.name == PUSH_FORCE for force in model.forces):
            return model
        base = model.bodies[0]
        return replace(model, forces=[*model.forces, Force(PUSH_FORCE, base.name, base.com)])

    return pushed


def ride_system(preset: Preset) -> System:
    """Compile the vehicle of a preset; bicycles with a rider get a leaning upper body and a slope."""
    vehicle = find("vehicle", preset.vehicle)
    values: dict[str, Any] = dict(preset.parameters)
    if preset.parameter_set is not None:
        values = parameter_set(preset.vehicle, preset.parameter_set) | values
    system = compile(vehicle, **values)
    # The user's own equations of motion contain the upper body only if it steers.
    if preset.rate is not None:
        values = ({"mU": UPPER_BODY_MASS} if preset.way == "lean" else {}) | values
    elif system.parameters.get("mB", 0.0) > 2.0 * UPPER_BODY_MASS:
        values = {"mU": UPPER_BODY_MASS, "slope": 0.0} | values
    return compile(add_push_force(vehicle), **values)


def make_rider(system: System, bar: Literal["either", "free", "guided"]) -> Rider | None:
    """Return the rider of a vehicle; None if the vehicle lacks the joints of a bicycle."""
    wheels = {wheel.body for wheel in system.model.wheels}
    joints = {joint.name: joint.child for joint in system.model.joints}
    if not {"steer", "rear_wheel", "front_wheel"} <= joints.keys():
        return None
    if joints["rear_wheel"] not in wheels:
        return None
    return Rider(body_guided="torso" in joints, bar=bar)


CHART_SPEEDS = np.linspace(0.0, 10.0, 101)
"""Speeds (m/s) of the stability chart, (101,); the range exceeds the usual speeds of rides."""


def stability_chart(system: System) -> dict[str, Any] | None:
    """Return speeds (m/s) and real parts of eigenvalues (1/s) by eigenmode; None if not a bicycle.

    The chart assumes a rigid rider and level ground.
    """
    if not is_two_wheeler(system):
        return None
    rigid = {n: value for n, value in system.parameters.items() if n not in ("mU", "slope")}
    try:
        modes = eigenvalues(compile(unwrap(system.vehicle)).with_parameters(**rigid), CHART_SPEEDS)
    except DraisineError:
        return None
    real = {name: np.round(modes.mode(name).real, 4) for name in dict.fromkeys(modes.names)}
    return {"speed": CHART_SPEEDS.tolist()} | {
        name: values.tolist() for name, values in real.items()
    }
