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

    # LaTeX symbols of parameters, joints and angles, by name
    symbols: Mapping[str, str] = field(default_factory=dict)
    # Unit and meaning of each parameter, by name
    meanings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # Function that builds a model from the parameters of this form; None for the vehicle's own
    # function
    vehicle: Callable[..., Model] | None = None
    # Function that converts the vehicle's parameters to those of this form
    convert: Callable[[Mapping[str, float]], dict[str, float]] | None = None
    # Function that returns the frame of the base; None for a frame at the hub of the first wheel
    frame: Callable[[Model], Pose] | None = None
    place: str = ""  # description of the origin of the base's frame, in words
    # Descriptions of the three axes of the base's frame, in words
    axes: tuple[str, str, str] = ("x", "y", "z")
    # Angles of the base with their nominal values (rad), by name
    angles: Mapping[str, float] = field(default_factory=dict)
    # Function that returns the rotation of the base for these angles; None for yaw, lean and pitch
    rotation: Rotation | None = None
    # LaTeX symbol of the angle at which a wheel touches the ground, by contact
    contact_angles: Mapping[str, str] = field(default_factory=dict)
    independent: tuple[str, ...] = ()  # names of the preferred independent speeds
