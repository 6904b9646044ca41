"""Symbols, frames and angles of a vehicle in printed equations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from draisine.algebra.lie import Pose
from draisine.algebra.scalar import Array, Scalar
from draisine.model.model import Model

Rotation = Callable[[Mapping[str, Scalar]], Array]
"""Function from the angles of the base by name to the rotation matrix (3, 3) of the base."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """Parametrisation of a vehicle for printed equations."""

    # LaTeX symbols of parameters, joints and angles by name
    symbols: Mapping[str, str] = field(default_factory=dict)
    # Unit and meaning of each parameter
    meanings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # Function from the parameters of the form to a model; None for the vehicle itself
    vehicle: Callable[..., Model] | None = None
    # Conversion of the vehicle's parameters to those of the form
    convert: Callable[[Mapping[str, float]], dict[str, float]] | None = None
    # Frame of the base; None for one at the hub of the first wheel
    frame: Callable[[Model], Pose] | None = None
    place: str = ""  # description of the origin of the base's frame, in words
    # Descriptions of the axes of the base's frame, in words
    axes: tuple[str, str, str] = ("x", "y", "z")
    # Angles of the base with their nominal values (rad)
    angles: Mapping[str, float] = field(default_factory=dict)
    # Function from these angles to the rotation of the base; None for yaw, lean and pitch
    rotation: Rotation | None = None
    # LaTeX symbol of the angle of the contact point on its wheel, by contact
    contact_angles: Mapping[str, str] = field(default_factory=dict)
    independent: tuple[str, ...] = ()  # names of the preferred independent speeds
