"""Messages of ROS 2 from the state of a machine: odometry, transforms, joint states, IMU, clock.

A message is a record with the fields of its ROS type. This file therefore needs neither rclpy nor rosbags.

Conventions. Units are SI, and axes point x forward, y left, z up (REP 103,
https://ros.org/reps/rep-0103.html), as in draisine. Quaternions are (x, y, z, w) in ROS and (w, x, y, z) in
draisine. The transforms form the tree odom -> base -> other bodies (REP 105,
https://ros.org/reps/rep-0105.html). The frame of the base has the origin and the axes of the drawing of the
machine. The frame of another body has its origin at the joint of the body. The axes of all frames are
parallel in the zero configuration. The twist of an odometry message is the velocity of the origin of the base
frame and the angular velocity of the base, in the axes of the base frame. Accelerometers measure the specific
force, +9.81 m/s2 upwards at rest (REP 145, https://ros.org/reps/rep-0145.html).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.lie import quaternion
from draisine.algebra.scalar import Floats
from draisine.codegen.targets.native import Native
from draisine.errors import DataError
from draisine.mechanics.sensors.encoder import Encoder
from draisine.mechanics.sensors.imu import Imu
from draisine.mechanics.sensors.joint_sensor import JointSensor
from draisine.model import Body, Model
from draisine.results.bodies import BodyMotion, body_motions, trace_bodies
from draisine.simulation.sensing import signal_names
from draisine.system.compiled import Compiled
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset

    from draisine.simulation.stepper import Stepper

NANOSECONDS = 1_000_000_000
"""Nanoseconds per second."""

ODOM_FRAME = "odom"
"""Name of the frame that is fixed in the world, see REP 105."""

BASE_FRAMES = ("base_link", "base_footprint")
"""Names that REP 105 and REP 120 give the base frame; the first is our default."""


class RosMessage(SimpleNamespace):
    """Record with the fields of a ROS message.

    Parameters
    ----------
    ros_type
        Type of the message, such as "geometry_msgs/msg/Vector3".
    **fields
        Fields by name: numbers, texts, arrays, messages, or lists of texts or messages.

    Examples
    --------
    >>> RosMessage("geometry_msgs/msg/Vector3", x=1.0, y=2.0, z=3.0).y
    2.0
    """

    def __init__(self, ros_type: str, /, **fields: Any) -> None:
        super().__init__(**fields)
        self.ros_type = ros_type

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of the message by name."""
        return {name: value for name, value in vars(self).items() if name != "ros_type"}


@dataclass(frozen=True, eq=False)
class Sample:
    """Motion of a machine and readings of its sensors at one instant."""

    time: float  # s
    bodies: Mapping[str, BodyMotion]  # motions by body, without the time axis
    position: Floats  # joint coordinates, rad or m, (joints,)
    rate: Floats  # joint rates, rad/s or m/s, (joints,)
    effort: Floats  # inputs of the joints, N m or N, (joints,); zero for joints without an input
    readings: Mapping[str, float]  # sensor readings by name of the signal


class RosRobot:
    """Conversion of the states of one machine to ROS messages.

    Parameters
    ----------
    model
        The machine.
    base_frame
        Name of the base frame. Default: the name of the root body if it is `base_link` or `base_footprint`,
        otherwise `base_link`.
    links
        Whether `transforms` contains all bodies. Set False if `robot_state_publisher` publishes them.

    Examples
    --------
    >>> import draisine
    >>> disc = draisine.compile("rolling_disc")
    >>> robot = RosRobot(disc.model)
    >>> sample = robot.sample(draisine.Stepper(disc, draisine.state(disc, forward_speed=2.0, x=1.0)))
    >>> odometry = robot.odometry(sample)
    >>> odometry.child_frame_id, odometry.pose.pose.position.x, odometry.pose.pose.orientation.w
    ('base_link', 1.0, 1.0)
    """

    def __init__(self, model: Model, base_frame: str | None = None, links: bool = True) -> None:
        self.model = model
        self.root = root_body(model)
        own_name = self.root.name if self.root.name in BASE_FRAMES else BASE_FRAMES[0]
        self.base_frame = base_frame or own_name
        self.links = links
        self.imus = [sensor for sensor in model.sensors if isinstance(sensor, Imu)]

    @cached_property
    def _kinematics(self) -> Compiled:
        """Forward kinematics of all bodies as machine code."""
        return Compiled(Native(trace_bodies(self.model)), np.zeros(0))

    def sample(self, stepper: "Stepper") -> Sample:
        """Return the present sample of a running simulation.

        Parameters
        ----------
        stepper
            Simulation of the machine.

        Returns
        -------
        Sample
            Motion and sensor readings at the present time.
        """
        state = stepper.state
        observations = stepper.observe()
        values = stepper.values() if self.model.sensors else {}
        columns = {
            "q": state.q,
            "p": state.p,
            "r": state.r,
            "v": observations["v"],
            "vdot": observations["vdot"],
            "inputs": observations["inputs"],
            "held": observations["motion_torques"],
            "readings": [values[name] for name in signal_names(self.model)],
        }
        arrays = {name: np.asarray(x, float)[:, None] for name, x in columns.items()}
        return next(self._samples(np.array([stepper.time]), arrays))

    def samples(self, data: "Dataset") -> Iterator[Sample]:
        """Return the samples of a stored run in the order of time.

        A result has two samples at the time of an event: before and after it. The first one is left out,
        because two transforms with one time stamp contradict each other.

        Parameters
        ----------
        data
            Result of a run of the machine.

        Returns
        -------
        iterator of Sample
            One sample per time of the result.

        Raises
        ------
        DataError
            If the result is no run.
        """
        if "orientation" not in data or "time" not in data.dims:
            raise DataError(
                "Messages need the result of a run; this result has no orientations over time."
            )
        times = data.time.values
        stamps = np.array([nanoseconds(t) for t in times])
        is_last = np.append(stamps[1:] > stamps[:-1], True)
        variables = {
            "q": "orientation",
            "p": "position",
            "r": "shape",
            "v": "speeds",
            "vdot": "accelerations",
            "inputs": "inputs",
            "held": "motion_torque",
        }
        arrays = {
            name: data[variable].values[is_last].T
            if variable in data
            else np.zeros((0, is_last.sum()))
            for name, variable in variables.items()
        }
        signals = [data[name].values[is_last] for name in signal_names(self.model)]
        arrays["readings"] = np.array(signals).reshape(len(signals), is_last.sum())
        return self._samples(times[is_last], arrays)

    def _samples(self, times: Floats, arrays: Mapping[str, Floats]) -> Iterator[Sample]:
        """Yield one sample per entry of `times` (s).

        `arrays` contains q, p, r, v, vdot, inputs, held (torques of prescribed joints) and readings, each
        (values, times).
        """
        kinematics = self._kinematics
        inputs = {name: arrays[name] for name in ("q", "p", "r", "v", "vdot")}
        motions = body_motions(self.model, kinematics.batch(kinematics.inputs.pack(**inputs)))
        joints = [joint.name for joint in self.model.joints]
        held = [joint.name for joint in self.model.joints if joint.motion is not None]
        torques = dict(zip(self.model.inputs, arrays["inputs"], strict=True))
        torques |= dict(zip(held, arrays["held"], strict=True))
        zero = np.zeros(len(times))
        effort = np.array([torques.get(name, zero) for name in joints]).reshape(
            len(joints), len(times)
        )
        rates = arrays["v"][len(arrays["v"]) - len(joints) :]
        names = signal_names(self.model)
        for k, t in enumerate(times):
            readings = dict(zip(names, arrays["readings"][:, k].tolist(), strict=True))
            bodies = {name: motion.at(k) for name, motion in motions.items()}
            yield Sample(float(t), bodies, arrays["r"][:, k], rates[:, k], effort[:, k], readings)

    def odometry(self, sample: Sample) -> RosMessage:
        """Return the true pose and velocity of the base (nav_msgs/Odometry), with zero covariances.

        Parameters
        ----------
        sample
            Sample of the machine.

        Returns
        -------
        RosMessage
            Pose in the frame `odom`, which is the world, and twist in the base frame.
        """
        base = sample.bodies[self.root.name]
        zero = np.zeros((6, 6))
        return odometry_message(
            sample.time,
            self.base_frame,
            base.R,
            base.p,
            base.R.T @ base.v,
            base.R.T @ base.w,
            zero,
            zero,
        )

    def transforms(self, sample: Sample, odometry: RosMessage | None = None) -> RosMessage:
        """Return the transforms of all frames (tf2_msgs/TFMessage).

        Parameters
        ----------
        sample
            Sample of the machine.
        odometry
            Odometry message with the transform from `odom` to the base. Default: the true pose.

        Returns
        -------
        RosMessage
            Transforms from `odom` to the base, and from the base to the other bodies and to each IMU.
        """
        pose = (odometry or self.odometry(sample)).pose.pose
        translation = vector_message([pose.position.x, pose.position.y, pose.position.z])
        frames = [(ODOM_FRAME, self.base_frame, translation, pose.orientation)]
        base = sample.bodies[self.root.name]
        places = []
        for joint in self.model.joints if self.links else ():
            motion = sample.bodies[joint.child]
            places.append((joint.child, motion.R, motion.position(joint.through)))
        for imu in self.imus:
            motion = sample.bodies[imu.body]
            places.append((imu_frame(imu), motion.R @ imu.axes, motion.position(imu.point)))
        frames += [
            (
                self.base_frame,
                name,
                vector_message(base.R.T @ (position - base.p)),
                quaternion_message(base.R.T @ R),
            )
            for name, R, position in places
        ]
        transforms = [
            RosMessage(
                "geometry_msgs/msg/TransformStamped",
                header=header(sample.time, parent),
                child_frame_id=child,
                transform=RosMessage(
                    "geometry_msgs/msg/Transform", translation=translation, rotation=rotation
                ),
            )
            for parent, child, translation, rotation in frames
        ]
        return RosMessage("tf2_msgs/msg/TFMessage", transforms=transforms)

    def joint_states(self, sample: Sample) -> RosMessage:
        """Return positions, rates and efforts of all joints (sensor_msgs/JointState).

        Parameters
        ----------
        sample
            Sample of the machine.

        Returns
        -------
        RosMessage
            Joint states in the order of `model.joints`. Joints with an encoder or a joint sensor have its
            readings, all others their true values.
        """
        position = sample.position.copy()
        rate = sample.rate.copy()
        effort = sample.effort.copy()
        names = [joint.name for joint in self.model.joints]
        for sensor in self.model.sensors:
            if isinstance(sensor, Encoder):
                position[names.index(sensor.joint)] = sample.readings[sensor.name]
            elif isinstance(sensor, JointSensor):
                k = names.index(sensor.joint)
                position[k] = sample.readings[f"{sensor.name}_position"]
                rate[k] = sample.readings[f"{sensor.name}_rate"]
                effort[k] = sample.readings[f"{sensor.name}_effort"]
        return RosMessage(
            "sensor_msgs/msg/JointState",
            header=header(sample.time, ""),
            name=names,
            position=position,
            velocity=rate,
            effort=effort,
        )

    def imu(self, sample: Sample, imu: Imu) -> RosMessage:
        """Return the readings of an inertial measurement unit (sensor_msgs/Imu).

        Parameters
        ----------
        sample
            Sample of the machine.
        imu
            Sensor of the machine.

        Returns
        -------
        RosMessage
            Angular velocity and specific force in the axes of the sensor. The variances are those of noise
            and quantisation. The first element of the orientation covariance is -1: the sensor does not
            measure its orientation.
        """
        force, rate = (
            [sample.readings[f"{imu.name}_{group}_{axis}"] for axis in "xyz"]
            for group in ("specific_force", "angular_velocity")
        )
        # Rounding to multiples of a quantum h has a uniformly distributed error with the variance h^2 / 12.
        variances = [e.noise**2 + e.quantum**2 / 12.0 for e in imu.errors(self.model)]
        unknown = np.zeros(9)
        unknown[0] = -1.0
        return RosMessage(
            "sensor_msgs/msg/Imu",
            header=header(sample.time, imu_frame(imu)),
            orientation=quaternion_message(np.eye(3)),
            orientation_covariance=unknown,
            angular_velocity=vector_message(rate),
            angular_velocity_covariance=np.diag(variances[3:]).ravel(),
            linear_acceleration=vector_message(force),
            linear_acceleration_covariance=np.diag(variances[:3]).ravel(),
        )


def root_body(model: Model) -> Body:
    """Return the body that is not the child of a joint: the base of the machine."""
    children = {joint.child for joint in model.joints}
    return next(body for body in model.bodies if body.name not in children)


def add_imu(system: System) -> System:
    """Return the system with an ideal IMU named `imu` at the origin of its root body, unless it has one."""
    model = system.model
    if any(isinstance(sensor, Imu) for sensor in model.sensors):
        return system
    return system.with_sensors(Imu("imu", root_body(model).name))


def imu_frame(imu: Imu) -> str:
    """Return the name of the frame of an inertial measurement unit, such as `imu_link`."""
    return f"{imu.name}_link"


def topic_part(name: object) -> str:
    """Return a name in which underscores replace all characters that topics cannot contain.

    >>> topic_part("front left.0")
    'front_left_0'
    """
    text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in str(name))
    # Parts of topics must not begin with a digit.
    return f"_{text}" if text[:1].isdigit() else text


def nanoseconds(t: float) -> int:
    """Convert a time in s to whole nanoseconds."""
    return round(float(t) * NANOSECONDS)


def time_message(t: float) -> RosMessage:
    """Return a time (s) as builtin_interfaces/Time.

    >>> time_message(2.5).sec, time_message(2.5).nanosec
    (2, 500000000)
    """
    seconds, rest = divmod(nanoseconds(t), NANOSECONDS)
    return RosMessage("builtin_interfaces/msg/Time", sec=seconds, nanosec=rest)


def clock_message(t: float) -> RosMessage:
    """Return the simulated time (s) as rosgraph_msgs/Clock."""
    return RosMessage("rosgraph_msgs/msg/Clock", clock=time_message(t))


def scalar_message(value: float) -> RosMessage:
    """Return a number as std_msgs/Float64."""
    return RosMessage("std_msgs/msg/Float64", data=float(value))


def header(t: float, frame: str) -> RosMessage:
    """Return a header (std_msgs/Header) with time (s) and frame."""
    return RosMessage("std_msgs/msg/Header", stamp=time_message(t), frame_id=frame)


def vector_message(vector: Any, ros_type: str = "geometry_msgs/msg/Vector3") -> RosMessage:
    """Return a vector (3,) as geometry_msgs/Vector3, or another type with the fields x, y and z."""
    x, y, z = map(float, vector)
    return RosMessage(ros_type, x=x, y=y, z=z)


def quaternion_message(R: Floats) -> RosMessage:
    """Return a rotation matrix (3, 3) as geometry_msgs/Quaternion.

    >>> turned = quaternion_message(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> round(turned.w, 9), round(turned.z, 9)
    (0.707106781, 0.707106781)
    """
    w, x, y, z = map(float, quaternion(R))
    return RosMessage("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)


def odometry_message(
    t: float,
    base_frame: str,
    R: Floats,
    p: Floats,
    v: Floats,
    w: Floats,
    pose_covariance: Floats,
    twist_covariance: Floats,
) -> RosMessage:
    """Return nav_msgs/Odometry.

    Parameters
    ----------
    t
        Time, s.
    base_frame
        Name of the base frame.
    R, p
        Rotation matrix (3, 3) and position (3,), m, of the base in the frame `odom`.
    v, w
        Velocity (m/s) and angular velocity (rad/s) of the base in its own axes, (3,).
    pose_covariance
        Covariance (6, 6) of position (m) and rotation about the fixed axes of `odom` (rad).
    twist_covariance
        Covariance (6, 6) of velocity (m/s) and angular velocity (rad/s) in the base frame.

    Returns
    -------
    RosMessage
        The odometry message.
    """
    pose = RosMessage(
        "geometry_msgs/msg/Pose",
        position=vector_message(p, "geometry_msgs/msg/Point"),
        orientation=quaternion_message(R),
    )
    twist = RosMessage(
        "geometry_msgs/msg/Twist", linear=vector_message(v), angular=vector_message(w)
    )
    return RosMessage(
        "nav_msgs/msg/Odometry",
        header=header(t, ODOM_FRAME),
        child_frame_id=base_frame,
        pose=RosMessage(
            "geometry_msgs/msg/PoseWithCovariance", pose=pose, covariance=pose_covariance.ravel()
        ),
        twist=RosMessage(
            "geometry_msgs/msg/TwistWithCovariance",
            twist=twist,
            covariance=twist_covariance.ravel(),
        ),
    )
