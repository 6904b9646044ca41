"""Printed forms of a vehicle's equations: symbols, frame and angles."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from draisine.algebra.lie import Pose
from draisine.algebra.scalar import Array, Scalar
from draisine.model.model import Model

Rotation = Callable[[Mapping[str, Scalar]], Array]
"""The rotation of the drawing's frame from the base's angles, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A parametrisation of a vehicle for printed equations."""

    symbols: Mapping[str, str] = field(default_factory=dict)  # LaTeX, of parameters, joints, angles
    meanings: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # unit and meaning
    vehicle: Callable[..., Model] | None = (
        None  # from the parameters of the form; else the vehicle itself
    )
    convert: Callable[[Mapping[str, float]], dict[str, float]] | None = None  # to these parameters
    frame: Callable[[Model], Pose] | None = None  # of the base; else at the hub of the first wheel
    place: str = ""  # description of the origin of the frame
    axes: tuple[str, str, str] = ("x", "y", "z")  # and of its axes
    angles: Mapping[str, float] = field(
        default_factory=dict
    )  # of the base, with nominal values (rad)
    rotation: Rotation | None = None  # from these angles; else yaw, lean and pitch
    contact_angles: Mapping[str, str] = field(
        default_factory=dict
    )  # LaTeX symbol of its angle by contact
    independent: tuple[str, ...] = ()  # preferred independent speeds
