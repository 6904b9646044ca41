"""Inertial measurement unit: three accelerometers and three gyroscopes at a point of a body."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Array, Scalar, Vector, array
from draisine.errors import ModelError
from draisine.model.body import vector
from draisine.model.sensor import Sampled, SensorChannel

if TYPE_CHECKING:
    from draisine.model import Model

ROTATION_TOLERANCE = 1e-6
"""Largest deviation of a rotation matrix from orthogonality: numbers in robot files have some six digits."""


def sensor_axes(axes: Any, where: str) -> Array:
    """Return sensor axes as a matrix (3, 3); raise an error if its columns are not right-handed unit
    vectors.
    """
    out = array(axes)
    if out.shape != (3, 3):
        raise ModelError(f"{where}: expected a matrix (3, 3), got shape {out.shape}.")
    if out.dtype != object:
        deviation = np.abs(out.T @ out - np.eye(3)).max()
        if deviation > ROTATION_TOLERANCE or np.linalg.det(out) < 0.0:
            raise ModelError(
                f"{where}: the columns must be perpendicular unit vectors, right-handed."
            )
    return out


@dataclass(frozen=True, eq=False)
class Imu(Sampled):
    """Inertial measurement unit (IMU): specific force and angular velocity, in the axes of the sensor.

    The specific force is the acceleration of the point minus that of gravity, eq. [specific-force]: at rest
    it points upwards with 9.81 m/s2, in free fall it is zero. Impacts are instantaneous and not visible.

    Parameters
    ----------
    name
        Name of the sensor. Its signals are `name_specific_force_x`, ... (m/s2) and
        `name_angular_velocity_x`, ... (rad/s).
    body
        Name of the body that carries the sensor.
    point
        Position of the sensor in the zero configuration, m.
    axes
        Axes of the sensor in the zero configuration, one per column; by default x forward, y left, z up.

    Examples
    --------
    >>> import draisine
    >>> disc = draisine.compile("rolling_disc").with_sensors(Imu("imu", "disc", (0.0, 0.0, 0.3)))
    >>> ride = draisine.Stepper(disc, draisine.state(disc))
    >>> print(ride.values()["imu_specific_force_z"])
    9.81
    """

    name: str
    body: str
    point: Vector = field(default_factory=lambda: np.zeros(3))
    axes: Array = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"sensor {self.name!r}"
        object.__setattr__(self, "point", vector(self.point, f"{where}, point"))
        object.__setattr__(self, "axes", sensor_axes(self.axes, f"{where}, axes"))

    def channels(self, model: "Model") -> tuple[SensorChannel, ...]:
        """Return three channels of the specific force and three of the angular velocity."""
        model.body(self.body)
        return tuple(
            SensorChannel(f"{group}_{axis}", unit, f"{meaning}, sensor axis {axis}")
            for group, unit, meaning in (
                ("specific_force", "m/s2", "acceleration minus gravity"),
                ("angular_velocity", "rad/s", "angular velocity"),
            )
            for axis in "xyz"
        )

    def measure(self, readings: Any) -> Sequence[Scalar]:
        """Return specific force (m/s2) and angular velocity (rad/s), eq. [specific-force]."""
        motion = readings.body(self.body)
        to_sensor = (motion.R @ self.axes).T
        force = to_sensor @ (motion.acceleration(self.point) - readings.gravity)
        return [*force, *(to_sensor @ motion.w)]


SENSOR = Imu
