"""Wheel odometry: the planar pose of a robot from its wheel angles.

The kinematics of the law `cmd_vel` convert the rolled angles of the wheels between two readings to a
displacement of the base: forward, to the left, and a rotation. The wheel rates are assumed to have constant
ratios between the readings. The base then moves along an arc, and its pose is multiplied by the exponential
of the displacement on SE(2). If wheels slip, the pose drifts, as on a real robot (Siegwart, Nourbakhsh and
Scaramuzza 2011, section 5.2.4).
"""

import math

import numpy as np

from draisine.algebra.lie import rot_z
from draisine.control.cmd_vel import CmdVel
from draisine.interop.ros.messages import RosMessage, odometry_message

UNMEASURED_VARIANCE = 1e6
"""Practically infinite variance (SI units) of components that planar odometry does not measure."""


class WheelOdometry:
    """Planar odometry of a robot with the law `cmd_vel`.

    Parameters
    ----------
    law
        Control law with the kinematics of the robot.
    x, y, z
        Initial position of the base, m; z stays constant.
    yaw
        Initial heading, rad, positive to the left.

    Examples
    --------
    >>> law = CmdVel(["l"], ["r"], radius=0.1, track=0.5, damping=1.0)
    >>> odometry = WheelOdometry(law)
    >>> odometry.update({"l": 0.0, "r": 0.0})
    >>> odometry.update({"l": 0.0, "r": 5.0 * math.pi})  # a turn by pi about the left wheel
    >>> print(f"{odometry.x:.6f} {odometry.y:.6f} {odometry.yaw:.6f}")
    0.000000 0.500000 3.141593
    """

    def __init__(
        self, law: CmdVel, x: float = 0.0, y: float = 0.0, z: float = 0.0, yaw: float = 0.0
    ) -> None:
        self.law = law
        self.x = x
        self.y = y
        self.z = z
        self.yaw = yaw
        self._angles: np.ndarray | None = None  # rad, last angles of the wheel joints

    def update(self, angles: dict[str, float]) -> None:
        """Add the displacement since the last call to the pose; the first call only stores the angles.

        Parameters
        ----------
        angles
            Angles of the joints by name, rad.
        """
        present = np.array([angles[name] for name in (*self.law.left, *self.law.right)])
        if self._angles is not None:
            self._move(*self.law.body_velocity((present - self._angles).tolist()))
        self._angles = present

    def _move(self, along: float, turn: float, across: float) -> None:
        """Move the pose by the exponential of a displacement: forward (m), turn (rad), to the left (m)."""
        # sin(a) / a and (1 - cos(a)) / a without division by zero; np.sinc(x) is sin(pi x) / (pi x).
        chord = float(np.sinc(turn / math.pi))
        bulge = math.sin(turn / 2.0) * float(np.sinc(turn / (2.0 * math.pi)))
        ahead = chord * along - bulge * across
        left = bulge * along + chord * across
        self.x += math.cos(self.yaw) * ahead - math.sin(self.yaw) * left
        self.y += math.sin(self.yaw) * ahead + math.cos(self.yaw) * left
        self.yaw += turn

    def message(self, t: float, base_frame: str, rates: dict[str, float]) -> RosMessage:
        """Return the odometry message (nav_msgs/Odometry).

        Parameters
        ----------
        t
            Time, s.
        base_frame
            Name of the base frame.
        rates
            Rates of the joints by name, rad/s.

        Returns
        -------
        RosMessage
            Planar pose and twist. Their covariances state that height, lean and pitch are not measured;
            the errors of the other components are not estimated (zero).
        """
        along, turn, across = self.law.body_velocity(
            [rates[name] for name in (*self.law.left, *self.law.right)]
        )
        covariance = np.diag(
            [0.0, 0.0, UNMEASURED_VARIANCE, UNMEASURED_VARIANCE, UNMEASURED_VARIANCE, 0.0]
        )
        return odometry_message(
            t,
            base_frame,
            rot_z(self.yaw),
            np.array([self.x, self.y, self.z]),
            np.array([along, across, 0.0]),
            np.array([0.0, 0.0, turn]),
            covariance,
            covariance,
        )
