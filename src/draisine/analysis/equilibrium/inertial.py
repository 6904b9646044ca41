"""Systems under the inertial load of a constant acceleration (d'Alembert).

A vehicle with the forward acceleration a is replaced by the same vehicle at constant speed with the
additional force `-m a` along its heading at the mass centre of each body, eq. [dalembert]. The load
is constant and turns with the heading, so that the loaded vehicle has steady motions. The load
does not include the moments that accelerate the rotation of the wheels.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from typing import Any, ClassVar

from draisine.algebra.scalar import Array, Scalar
from draisine.errors import ConfigurationError
from draisine.model import Model
from draisine.system.system import System, compile

INERTIAL_PARAMETER = "inertial_acceleration"


@dataclass(frozen=True, eq=False)
class InertialLoad:
    """Inertial force `-m a` (N) along the heading at the mass centre of each body, with a in m/s2."""

    acceleration: Scalar

    name: ClassVar[str] = "inertial load"
    states: ClassVar[int] = 0

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Array], Sequence[Scalar]]:
        """Return the inertial force on each body (N), in world axes."""
        field = -self.acceleration * readings.heading
        return {body.name: body.mass * field for body in readings.tree.model.bodies}, []


@lru_cache(maxsize=16)
def _with_inertial_load(vehicle: Callable[..., Model]) -> Callable[..., Model]:
    """Return the model function of a vehicle with the additional parameter `inertial_acceleration`, m/s2."""

    @wraps(vehicle)
    def make_loaded_model(*, inertial_acceleration: float = 0.0, **parameters: Any) -> Model:
        """Return the model of the vehicle with the inertial load as a force element."""
        model = vehicle(**parameters)
        return replace(model, forces=[*model.forces, InertialLoad(inertial_acceleration)])

    acceleration = inspect.Parameter(
        INERTIAL_PARAMETER, inspect.Parameter.KEYWORD_ONLY, default=0.0, annotation=float
    )
    signature = inspect.signature(vehicle)
    make_loaded_model.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), acceleration]
    )
    make_loaded_model.__annotations__ = dict(vehicle.__annotations__) | {INERTIAL_PARAMETER: float}
    return make_loaded_model


def under_inertial_load(system: System, acceleration: float) -> System:
    """Add the inertial load of a forward acceleration (m/s2) to a system and compile it.

    Parameters
    ----------
    system
        The compiled system, which must have a forward speed.
    acceleration
        Forward acceleration (m/s2).

    Returns
    -------
    System
        The compiled system with the inertial force `-m a` at the mass centre of each body.

    Examples
    --------
    >>> from draisine import compile
    >>> braking = under_inertial_load(compile("whipple"), -2.0)
    >>> braking.parameters["inertial_acceleration"]
    -2.0
    """
    if "forward_speed" not in system.outputs:
        raise ConfigurationError(
            f"{system.vehicle.__name__} has no forward_speed, so that it has no inertial load along its "
            "heading."
        )
    loaded = system.keep((INERTIAL_PARAMETER,), lambda: _compile_loaded(system))
    return loaded.with_parameters(**{INERTIAL_PARAMETER: acceleration})


def _compile_loaded(system: System) -> System:
    """Return the compiled system with the inertial load as a parameter; results are cached per system."""
    source = system.artifacts
    arguments: dict[str, Any] = {**source.structure, **system.parameters}
    return compile(_with_inertial_load(source.vehicle), store=source.store, **arguments)
