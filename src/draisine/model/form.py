"""How a vehicle is written on paper: its symbols, and the frame and angles that they belong to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from draisine.algebra.lie import Pose
from draisine.algebra.scalar import Array, Scalar
from draisine.model.model import Model

Rotation = Callable[[Mapping[str, Scalar]], Array]
"""The rotation of the drawing's frame from the base's angles, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A parametrisation with its symbols in LaTeX (of parameters, joints and angles), its units and
    meanings, and its frame.

    `vehicle` draws the machine from the form's own parameters and `convert` gives their values from
    those of the vehicle itself; without them the form has the vehicle's own parameters. `frame`
    places the base's frame in the drawing, with `place` and `axes` as its words; without it the
    frame has the drawing's axes at the hub of the first wheel. `angles` are the base's, with their
    nominal values, and `rotation` is what they make; without it they are yaw, lean and pitch.
    `contact_angles` names the angle at which each wheel's contact point stands; `independent` are
    the speeds to keep where there is a choice.
    """

    symbols: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    vehicle: Callable[..., Model] | None = None
    convert: Callable[[Mapping[str, float]], dict[str, float]] | None = None
    frame: Callable[[Model], Pose] | None = None
    place: str = ""
    axes: tuple[str, str, str] = ("x", "y", "z")
    angles: Mapping[str, float] = field(default_factory=dict)
    rotation: Rotation | None = None
    contact_angles: Mapping[str, str] = field(default_factory=dict)
    independent: tuple[str, ...] = ()
