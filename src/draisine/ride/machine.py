"""Vehicle of a ride with a disturbing force, sliders for its parameters, a rider and a stability chart.

Only bicycles have a rider, and a chart of their eigenvalues against speed.
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
"""Mass (kg) of the leaning upper body of the rider. Only bicycles whose rear frame (with rider) is more than
twice as heavy get one.
"""

PUSH_FORCE = "push"
"""Name of the disturbing force at the mass centre of the base body; its three components (N) are inputs."""


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
"""Sliders of the page by parameter name; the page shows the sliders for parameters that the vehicle has."""


def add_push_force(vehicle: Callable[..., Model]) -> Callable[..., Model]:
    """Return a vehicle function whose model has an additional input force at the mass centre of the base."""

    @wraps(vehicle)
    def pushed(**arguments: Any) -> Model:
        """Return the model of the original vehicle function, with the disturbing force added."""
        model = vehicle(**arguments)
        if any(force.name == PUSH_FORCE for force in model.forces):
            return model
        base = model.bodies[0]
        return replace(model, forces=[*model.forces, Force(PUSH_FORCE, base.name, base.com)])

    return pushed


def ride_system(preset: Preset) -> System:
    """Compile the vehicle of a preset with a disturbing force.

    A bicycle with a heavy rear frame also gets a leaning upper body and the parameter `slope` of the ground.
    """
    vehicle = find("vehicle", preset.vehicle)
    values: dict[str, Any] = dict(preset.parameters)
    if preset.parameter_set is not None:
        values = parameter_set(preset.vehicle, preset.parameter_set) | values
    system = compile(vehicle, **values)
    # The user's own equations of motion contain the upper body only if the rider steers by leaning it.
    if preset.rate is not None:
        values = ({"mU": UPPER_BODY_MASS} if preset.way == "lean" else {}) | values
    elif system.parameters.get("mB", 0.0) > 2.0 * UPPER_BODY_MASS:
        values = {"mU": UPPER_BODY_MASS, "slope": 0.0} | values
    return compile(add_push_force(vehicle), **values)


def make_rider(system: System, bar: Literal["either", "free", "guided"]) -> Rider | None:
    """Return the control law of the rider; None if the vehicle lacks the joints of a bicycle.

    `bar` states whether the steer angle is prescribed on command ("either"), never ("free"; the rider applies
    a steer torque) or always ("guided").
    """
    wheels = {wheel.body for wheel in system.model.wheels}
    joints = {joint.name: joint.child for joint in system.model.joints}
    if not {"steer", "rear_wheel", "front_wheel"} <= joints.keys():
        return None
    if joints["rear_wheel"] not in wheels:
        return None
    return Rider(body_guided="torso" in joints, bar=bar)


CHART_SPEEDS = np.linspace(0.0, 10.0, 101)
"""Forward speeds (m/s) of the stability chart, shape (101,), from rest to above the usual speeds of rides."""


def stability_chart(system: System) -> dict[str, Any] | None:
    """Return the stability chart of a bicycle: real parts of its eigenvalues (1/s) against speed (m/s).

    The chart assumes a rigid rider and level ground. The keys are `speed` and the names of the eigenmodes.
    The result is None if the vehicle is not a bicycle, or if its equations cannot be linearised.
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
