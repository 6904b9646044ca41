"""Signs in the axes of the benchmark bicycle.

Meijaard, Papadopoulos, Ruina and Schwab 2007, doi:10.1098/rspa.2007.1857, have x forward, y to the right
and z down. These axes are ours turned by half a turn about x. Vectors keep their x and change the signs of
y and z, and so do joints by the direction of their axis: lean and lean of a rider keep their sign; steer,
yaw, pitch and the angles of wheels change it. A torque changes with its joint, so that its power stays.

Outputs of a vehicle, states of force elements and of laws have definitions of their own, and stay.
"""

from typing import TYPE_CHECKING, Literal

import numpy as np

from draisine.errors import ParameterError

if TYPE_CHECKING:
    from draisine.model.model import Model

Axes = Literal["draisine", "benchmark"]
"""Axes of results: ours (z up), or those of the benchmark (z down)."""

AXES: tuple[Axes, ...] = ("draisine", "benchmark")

_FLIPPED = frozenset({"yaw", "pitch", "y", "z", "Vy", "Vz", "Wy", "Wz"})
"""Coordinates and speeds of the base that change their sign."""


def check_axes(axes: str) -> None:
    """Raise if axes are not known."""
    if axes not in AXES:
        raise ParameterError(f"Unknown axes {axes!r}. Available: {', '.join(AXES)}.")


def benchmark_sign(model: "Model", name: str) -> float:
    """Return the factor, 1 or -1, of a coordinate, speed, acceleration or input in the benchmark's axes.

    Examples
    --------
    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> [benchmark_sign(whipple(), name) for name in ("lean", "steer_rate", "Vy", "forward_speed")]
    [1.0, -1.0, -1.0, 1.0]
    """
    base = name.removesuffix("_rate").removesuffix("_acceleration")
    if base in _FLIPPED:
        return -1.0
    for joint in model.joints:
        if joint.name == base:
            return joint_sign(joint.axis)
    force, dot, axis = base.rpartition(".")
    if dot and axis in ("x", "y", "z") and force in {one.name for one in model.forces}:
        return 1.0 if axis == "x" else -1.0
    return 1.0


def joint_sign(axis: "np.ndarray") -> float:
    """Return the factor of a joint: 1 if its axis is rather along x than across."""
    x, y, z = np.abs(np.asarray(axis, float))
    return 1.0 if x > max(y, z) else -1.0
