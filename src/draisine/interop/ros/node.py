"""A ROS 2 node that simulates a machine and publishes its motion.

The node receives velocity commands. It publishes clock, odometry, transforms, joint states and IMU readings.

A wall-clock timer advances a `Stepper` and publishes its state. The timer uses the steady clock. If
`use_sim_time` is set, the clock of the node waits for the topic `/clock`, which this node itself publishes.
The package rclpy belongs to ROS 2 and is not on PyPI. Functions import it when they are called, so that this
module can be imported without ROS 2.

| topic | type | |
|---|---|---|
| `cmd_vel` | geometry_msgs/Twist or TwistStamped | commands of the law, m/s and rad/s |
| `/clock` | rosgraph_msgs/Clock | simulated time |
| `odom` | nav_msgs/Odometry | wheel odometry of the law `cmd_vel`; without it the true pose |
| `ground_truth` | nav_msgs/Odometry | true pose and velocity |
| `/tf` | tf2_msgs/TFMessage | from `odom` to the base, and to bodies and IMUs |
| `joint_states` | sensor_msgs/JointState | positions, rates and efforts |
| `imu`, ... | sensor_msgs/Imu | one topic per IMU, by the name of the sensor |
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from draisine.algebra.lie import yaw_lean_pitch
from draisine.control.cmd_vel import CmdVel
from draisine.errors import MissingPackageError, ParameterError
from draisine.interop.ros.messages import RosMessage, RosRobot, Sample, clock_message, topic_part
from draisine.interop.ros.odometry import WheelOdometry
from draisine.simulation.stepper import Stepper

QUEUE_SIZE = 10
"""Length of the message queues of publishers and subscriptions, as in the tutorials of ROS 2."""

MAX_PUBLISHING_RATE = 10_000.0
"""Largest accepted publishing rate (Hz); larger values are mistakes, because no timer is that fast."""


class SimulationNode:
    """Publishers, subscriptions and the timer of one simulated machine on a ROS 2 node.

    Parameters
    ----------
    node
        Node of rclpy.
    stepper
        Simulation of the machine.
    rate
        Publishing rate, Hz of wall-clock time.
    speed
        Simulated seconds per second of wall-clock time.
    base_frame
        Name of the base frame, see `RosRobot`.
    links
        Whether transforms of all bodies are published.
    stamped
        Whether `cmd_vel` has the type TwistStamped.

    Raises
    ------
    ParameterError
        If rate or speed is not positive.
    """

    def __init__(
        self,
        node: Any,
        stepper: Stepper,
        *,
        rate: float = 50.0,
        speed: float = 1.0,
        base_frame: str | None = None,
        links: bool = True,
        stamped: bool = False,
    ) -> None:
        if not 0.0 < rate <= MAX_PUBLISHING_RATE:
            raise ParameterError(
                f"rate = {rate:g} Hz must be positive and at most {MAX_PUBLISHING_RATE:g} Hz."
            )
        if not 0.0 < speed < np.inf:
            raise ParameterError(f"speed = {speed:g} must be positive; 1 is real time.")
        self.node = node
        self.stepper = stepper
        self.period = speed / rate  # s, simulated time per publication
        self.stamped = stamped
        self.robot = RosRobot(stepper.system.model, base_frame, links)
        self.commands = set(getattr(stepper.law, "commands", ()))
        self._publishers: dict[str, Any] = {}
        self.has_ended = False
        self.odometry = self._start_odometry()
        if "forward_speed" in self.commands:
            name = "TwistStamped" if stamped else "Twist"
            twist = find_type(f"geometry_msgs/msg/{name}")
            node.create_subscription(twist, "cmd_vel", self.receive_command, QUEUE_SIZE)
        else:
            node.get_logger().warning(
                "The control law has no velocity commands, so cmd_vel has no effect. "
                "Use the law cmd_vel."
            )
        clocks = import_module("rclpy.clock")
        steady = clocks.Clock(clock_type=clocks.ClockType.STEADY_TIME)
        node.create_timer(1.0 / rate, self.advance, clock=steady)
        self.publish()

    def _start_odometry(self) -> WheelOdometry | None:
        """Return the wheel odometry, which starts at the true pose; None without the law `cmd_vel`."""
        law = self.stepper.law
        if not isinstance(law, CmdVel):
            return None
        base = self.robot.sample(self.stepper).bodies[self.robot.root.name]
        x, y, z = map(float, base.p)
        return WheelOdometry(law, x, y, z, yaw_lean_pitch(base.R)[0])

    def receive_command(self, message: Any) -> None:
        """Hold the commanded velocity (m/s, rad/s) from now on.

        Parameters
        ----------
        message
            Message of the type Twist or TwistStamped.
        """
        twist = message.twist if self.stamped else message
        values = {
            "forward_speed": twist.linear.x,
            "side_speed": twist.linear.y,
            "yaw_rate": twist.angular.z,
        }
        if not np.isfinite(list(values.values())).all():
            self.node.get_logger().warning(f"cmd_vel = {values} is not finite and is ignored.")
            return
        self.stepper.hold({name: x for name, x in values.items() if name in self.commands})

    def advance(self) -> None:
        """Advance the simulation by one period and publish its state."""
        if self.stepper.outcome:
            if not self.has_ended:
                self.node.get_logger().warning(
                    f"The run ended at {self.stepper.time:.3f} s: {self.stepper.outcome}."
                )
            self.has_ended = True
            return
        self.stepper.step(self.period)
        self.publish()

    def publish(self) -> None:
        """Publish the present state on all topics."""
        sample = self.robot.sample(self.stepper)
        self.send("/clock", clock_message(sample.time))
        for topic, message in self.messages(sample).items():
            self.send(topic, message)

    def messages(self, sample: Sample) -> dict[str, RosMessage]:
        """Return the messages of a sample by topic, without the clock.

        Parameters
        ----------
        sample
            Present sample of the simulation.

        Returns
        -------
        dict of RosMessage
            Messages by topic.
        """
        robot = self.robot
        joints = robot.joint_states(sample)
        messages = {"joint_states": joints}
        messages |= {topic_part(imu.name): robot.imu(sample, imu) for imu in robot.imus}
        truth = robot.odometry(sample)
        odometry = truth
        if self.odometry is not None:
            self.odometry.update(dict(zip(joints.name, joints.position, strict=True)))
            rates = dict(zip(joints.name, joints.velocity, strict=True))
            odometry = self.odometry.message(sample.time, robot.base_frame, rates)
        messages |= {"odom": odometry, "ground_truth": truth}
        return messages | {"/tf": robot.transforms(sample, odometry)}

    def send(self, topic: str, message: RosMessage) -> None:
        """Publish a message; the publisher is created at the first message of a topic.

        Parameters
        ----------
        topic
            Name of the topic.
        message
            Message to publish.
        """
        if topic not in self._publishers:
            kind = find_type(message.ros_type)
            self._publishers[topic] = self.node.create_publisher(kind, topic, QUEUE_SIZE)
        self._publishers[topic].publish(make_message(message))


def run_node(stepper: Stepper, name: str = "draisine", **options: Any) -> None:
    """Run a ROS 2 node that simulates a machine, until it is interrupted.

    Parameters
    ----------
    stepper
        Simulation of the machine.
    name
        Name of the node.
    **options
        Options of `SimulationNode`.

    Raises
    ------
    MissingPackageError
        If rclpy is not installed.
    """
    rclpy = import_rclpy()
    rclpy.init()
    try:
        node = rclpy.create_node(name)
        SimulationNode(node, stepper, **options)
        rclpy.spin(node)
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass  # Ctrl-C, or `ros2 launch` stops the node
    finally:
        rclpy.try_shutdown()


def import_rclpy() -> Any:
    """Return the module rclpy; raise MissingPackageError if ROS 2 is not active."""
    try:
        import_module("rclpy.executors")
        return import_module("rclpy")
    except ImportError as error:
        raise MissingPackageError(
            f"The node needs rclpy of ROS 2 ({error}). Activate ROS 2 in this terminal, for example "
            "`source /opt/ros/jazzy/setup.bash`, and install draisine for its Python. Without ROS 2, "
            "`draisine export RESULT --as rosbag` writes the messages of a stored run."
        ) from error


def find_type(ros_type: str) -> Callable[..., Any]:
    """Return the class of a ROS type such as "nav_msgs/msg/Odometry"."""
    package, _, name = ros_type.split("/")
    kind: Callable[..., Any] = getattr(import_module(f"{package}.msg"), name)
    return kind


def make_message(value: Any) -> Any:
    """Convert a `RosMessage` and all its fields to a message of rclpy; arrays become lists of floats."""
    if isinstance(value, RosMessage):
        fields = {name: make_message(field) for name, field in value.fields.items()}
        return find_type(value.ros_type)(**fields)
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [make_message(entry) for entry in value] if isinstance(value, list) else value
