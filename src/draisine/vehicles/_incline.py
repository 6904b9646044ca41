"""Vehicles on inclined planes: gravity is tilted, and the world axes stay fixed to the ground.

The x axis is along the road, the z axis along its normal, eq. [incline]. Therefore every analysis
on the level plane is valid on an inclined one, and lean, pitch and yaw are measured relative to the
road.
"""

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, wraps
from typing import Annotated, Any

from draisine.algebra.scalar import array, cos, sin
from draisine.errors import ParameterError
from draisine.model import Model

INCLINE_PARAMETERS = ("slope", "camber")
"""Names of the angles (rad) of an inclined plane: slope along x, and camber about this direction.
"""

_INCLINE_ANNOTATIONS: dict[str, Any] = {
    "slope": Annotated[float, "rad", "inclination of the ground, rising along world x"],
    "camber": Annotated[float, "rad", "cross slope of the ground, rising to the left"],
}


def inclined(vehicle: Callable[..., Model], names: Iterable[str]) -> Callable[..., Model]:
    """Return a vehicle function with `slope` and `camber` as additional parameters, if they are among
    `names`.

    Parameters
    ----------
    vehicle
        Function that returns a `Model`.
    names
        Names of its arguments. `slope` and `camber` become parameters if the vehicle does not have them.

    Returns
    -------
    callable
        The vehicle with these parameters (rad); the vehicle itself if there is nothing to add.

    Examples
    --------
    >>> from draisine.vehicles.car import car
    >>> print(inclined(car, ["camber"])(camber=0.1).gravity.round(3))
    [ 0.    -0.979 -9.761]
    >>> inclined(car, ["g"]) is car
    True
    """
    signature_parameters = inspect.signature(vehicle).parameters
    requested = set(names)
    added = tuple(n for n in INCLINE_PARAMETERS if n in requested and n not in signature_parameters)
    return _make_inclined(vehicle, added) if added else vehicle


@lru_cache(maxsize=64)
def _make_inclined(
    vehicle: Callable[..., Model], parameter_names: tuple[str, ...]
) -> Callable[..., Model]:
    """Return a vehicle with the additional parameters `parameter_names`."""
    signature = inspect.signature(vehicle)

    @wraps(vehicle)
    def on_incline(**given: Any) -> Model:
        """Return the model of the vehicle with tilted gravity."""
        angles = {name: given.pop(name) for name in parameter_names if name in given}
        for name, angle in angles.items():
            if isinstance(angle, float) and not abs(angle) < math.pi / 2:
                raise ParameterError(
                    f"{vehicle.__name__}: {name} = {angle:g} rad must be below a right angle."
                )
        model = vehicle(**given)
        return replace(model, gravity=tilt_gravity(model.gravity, **angles))

    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=0.0, annotation=_INCLINE_ANNOTATIONS[name]
        )
        for name in parameter_names
    ]
    function: Any = on_incline
    function.__signature__ = signature.replace(
        parameters=[*signature.parameters.values(), *parameters]
    )
    function.__annotations__ = dict(vehicle.__annotations__) | {
        n: _INCLINE_ANNOTATIONS[n] for n in parameter_names
    }
    # Results store the vehicle itself, because `compile` adds slope and camber again.
    function.level = level_vehicle(vehicle)
    return on_incline


def level_vehicle(vehicle: Callable[..., Model]) -> Callable[..., Model]:
    """Return a vehicle without the parameters that `inclined` added."""
    level: Callable[..., Model] = getattr(vehicle, "level", vehicle)
    return level


def tilt_gravity(gravity: Any, slope: Any = 0.0, camber: Any = 0.0) -> Any:
    """Return gravity (3,) in m/s2 in the axes of an inclined plane, eq. [incline].

    >>> tilt_gravity((0.0, 0.0, -10.0), slope=0.0, camber=math.pi / 6).round(3).tolist()
    [0.0, -5.0, -8.66]
    """
    x, y, z = gravity
    # Rotate by the slope about y first, then by the camber about the direction of the road.
    along = cos(slope) * x + sin(slope) * z
    up = cos(slope) * z - sin(slope) * x
    return array([along, cos(camber) * y + sin(camber) * up, cos(camber) * up - sin(camber) * y])
