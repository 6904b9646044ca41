"""ROS 2: messages against the state of the machine, odometry, the node on a stand-in of rclpy, command."""

import math
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import draisine
from draisine.cli import main
from draisine.control.cmd_vel import CmdVel
from draisine.errors import DataError, MissingPackageError, ParameterError
from draisine.interop.ros.messages import (
    RosMessage,
    RosRobot,
    add_imu,
    clock_message,
    topic_part,
)
from draisine.interop.ros.node import SimulationNode, make_message, run_node
from draisine.interop.ros.odometry import UNMEASURED_VARIANCE, WheelOdometry
from draisine.mechanics.sensors import Encoder, Imu, JointSensor
from draisine.terrain import plane

LAW = CmdVel(["left"], ["right"], radius=0.1, track=0.5, damping=50.0)


@pytest.fixture(scope="module")
def platform():
    return draisine.compile("differential_platform")


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def xyz(vector):
    return [vector.x, vector.y, vector.z]


def turn_of(quaternion):
    """Return the rotation matrix of a quaternion message, by SciPy, which also has the scalar last."""
    fields = [quaternion.x, quaternion.y, quaternion.z, quaternion.w]
    return Rotation.from_quat(fields).as_matrix()


def test_odometry_of_a_tilted_bicycle(bicycle):
    """Yaw, lean and pitch by elementary rotations; the velocity by differences of the position."""
    start = draisine.state(bicycle, forward_speed=4.0, yaw=0.7, lean=0.2, steer=0.1, x=1.0, y=2.0)
    ride = draisine.Stepper(bicycle, start)
    robot = RosRobot(bicycle.model)
    ride.step(0.125)
    before, step = robot.odometry(robot.sample(ride)), 2.0**-7
    ride.step(step)
    message = robot.odometry(robot.sample(ride))
    values = ride.values()
    ride.step(step)
    after = robot.odometry(robot.sample(ride))

    # R = Rz(yaw) Rx(lean) Ry(pitch): intrinsic rotations, upper case in SciPy.
    angles = [values[name] for name in ("yaw", "lean", "pitch")]
    R = Rotation.from_euler("ZXY", angles).as_matrix()
    assert_allclose(turn_of(message.pose.pose.orientation), R, atol=1e-12)
    places = [xyz(m.pose.pose.position) for m in (before, after)]
    velocity = np.subtract(*places[::-1]) / (2.0 * step)
    assert_allclose(R @ xyz(message.twist.twist.linear), velocity, atol=1e-3)
    turns = [turn_of(m.pose.pose.orientation) for m in (before, after)]
    rates = Rotation.from_matrix(turns[0].T @ turns[1]).as_rotvec() / (2.0 * step)
    assert_allclose(xyz(message.twist.twist.angular), rates, atol=1e-3)
    assert message.header.frame_id == "odom"
    assert message.child_frame_id == "base_link"
    assert message.header.stamp.sec == 0
    assert message.header.stamp.nanosec == round(1e9 * (0.125 + step))


def test_transforms_lead_to_the_bodies(bicycle):
    """The transforms of frames, chained, are the poses of the bodies, and the hubs are at the axles."""
    start = draisine.state(bicycle, forward_speed=4.0, yaw=0.7, lean=0.2, steer=0.1)
    ride = draisine.Stepper(bicycle, start)
    robot = RosRobot(bicycle.model)
    sample = robot.sample(ride)
    frames = {each.child_frame_id: each for each in robot.transforms(sample).transforms}
    base = frames["base_link"].transform
    for joint in bicycle.model.joints:
        frame = frames[joint.child]
        assert frame.header.frame_id == "base_link"
        R = turn_of(base.rotation) @ turn_of(frame.transform.rotation)
        p = turn_of(base.rotation) @ xyz(frame.transform.translation) + xyz(base.translation)
        motion = sample.bodies[joint.child]
        assert_allclose(R, motion.R, atol=1e-12)
        assert_allclose(p, motion.position(joint.through), atol=1e-12)
    assert [
        f.child_frame_id for f in RosRobot(bicycle.model, links=False).transforms(sample).transforms
    ] == ["base_link"]


def test_joint_states_and_readings(platform):
    """Joints with sensors have their readings, the others true values; efforts are the inputs."""
    encoder = Encoder("left_encoder", "left", counts=16)
    sensor = JointSensor("right_sensor", "right", bias={"position": 0.5})
    system = platform.with_sensors(encoder, sensor)
    ride = draisine.Stepper(system, draisine.state(system, forward_speed=1.0))
    ride.step(0.33, {"left": 0.2, "right": 0.1})
    robot = RosRobot(system.model)
    message = robot.joint_states(robot.sample(ride))
    values = ride.values()
    assert message.name == ["left", "right"]
    quantum = 2.0 * math.pi / 16
    assert message.position[0] == pytest.approx(quantum * round(values["left"] / quantum))
    assert message.position[0] != values["left"]
    assert message.position[1] == pytest.approx(values["right"] + 0.5)
    assert_allclose(message.velocity, [values["left_rate"], values["right_rate"]])
    assert_allclose(message.effort, [0.2, 0.1])


def test_imu_message(platform):
    """At rest the specific force is g upwards; the variances are those of noise and rounding."""
    axes = Rotation.from_euler("z", 0.3).as_matrix()
    noise = {"specific_force": 0.02, "angular_velocity": 0.001}
    imu = Imu("imu", "platform", (0.1, 0.0, 0.2), axes, rate=100.0, noise=noise, quantum=1e-9)
    system = platform.with_sensors(imu)
    ride = draisine.Stepper(system, draisine.state(system))
    robot = RosRobot(system.model)
    sample = robot.sample(ride)
    message = robot.imu(sample, imu)
    assert message.linear_acceleration.z == pytest.approx(9.81, abs=0.1)
    assert message.linear_acceleration.z == sample.readings["imu_specific_force_z"]
    assert_allclose(message.linear_acceleration_covariance.reshape(3, 3), 0.0004 * np.eye(3))
    assert_allclose(message.angular_velocity_covariance.reshape(3, 3), 1e-6 * np.eye(3))
    assert message.orientation_covariance[0] == -1.0
    frames = {each.child_frame_id: each for each in robot.transforms(sample).transforms}
    assert message.header.frame_id == "imu_link"
    assert_allclose(turn_of(frames["imu_link"].transform.rotation), axes, atol=1e-12)
    assert_allclose(xyz(frames["imu_link"].transform.translation), [0.1, 0.0, 0.2], atol=1e-12)


def test_an_imu_is_added_once(platform):
    assert [s.name for s in add_imu(add_imu(platform)).model.sensors] == ["imu"]


def test_samples_of_a_run_equal_those_of_the_stepper(bicycle):
    """A stored run and a stepper have the same messages to round-off of their programs."""
    start = draisine.state(bicycle, forward_speed=4.0, lean=0.1)
    numerics = draisine.Numerics(integrator="rk4", dt=2.0**-10)
    run = draisine.simulate(bicycle, start, 0.25, numerics=numerics).to_xarray()
    ride = draisine.Stepper(bicycle, start)
    robot = RosRobot(bicycle.model)
    *_, last = robot.samples(run)
    ride.step(0.25)
    here = robot.sample(ride)
    assert last.time == here.time
    for name, motion in here.bodies.items():
        assert_allclose(last.bodies[name].R, motion.R, atol=1e-13)
        assert_allclose(last.bodies[name].p, motion.p, atol=1e-13)
    assert_allclose(last.rate, here.rate, atol=1e-12)


def test_events_have_one_sample():
    """A landing has two samples at the same time; only the one after it becomes a message."""
    disc = draisine.compile("rolling_disc")
    ground = plane(height=-0.05)
    run = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.3, terrain=ground)
    data = run.to_xarray()
    assert (np.diff(data.time.values) == 0.0).any()
    stamps = [sample.time for sample in RosRobot(disc.model).samples(data)]
    assert stamps == sorted(set(data.time.values.tolist()))
    with pytest.raises(DataError, match="need the result of a run"):
        next(RosRobot(disc.model).samples(data.drop_vars("orientation")))


def test_frames_and_topics_have_valid_names(platform):
    assert RosRobot(platform.model).base_frame == "base_link"
    assert RosRobot(platform.model, "robot/base").base_frame == "robot/base"
    assert [topic_part(name) for name in ("rear", "front left.0", "2nd")] == [
        "rear",
        "front_left_0",
        "_2nd",
    ]


def test_negative_times_have_positive_nanoseconds():
    """The nanoseconds of builtin_interfaces/Time are unsigned."""
    stamp = clock_message(-0.25).clock
    assert (stamp.sec, stamp.nanosec) == (-1, 750_000_000)


# --- odometry -----------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [0.0, 1e-9, 1e-4, 0.8, -2.5])
def test_arcs_are_exact_for_any_step(turn):
    """One update over an arc of radius s / turn equals the closed form, and many short updates."""
    path = 1.3
    wheels = [(path - 0.25 * turn) / 0.1, (path + 0.25 * turn) / 0.1]
    odometry = WheelOdometry(LAW, x=0.5, y=-0.2, yaw=0.3)
    fine = WheelOdometry(LAW, x=0.5, y=-0.2, yaw=0.3)
    odometry.update({"left": 0.0, "right": 0.0})
    odometry.update(dict(zip(("left", "right"), wheels, strict=True)))
    for share in np.linspace(0.0, 1.0, 11):
        fine.update(dict(zip(("left", "right"), share * np.array(wheels), strict=True)))
    # The chord of an arc has the length 2 R sin(turn / 2) and bisects its angle.
    chord = path if turn == 0.0 else 2.0 * path / turn * math.sin(turn / 2.0)
    angle = 0.3 + turn / 2.0
    expected = [0.5 + chord * math.cos(angle), -0.2 + chord * math.sin(angle), 0.3 + turn]
    for each in (odometry, fine):
        assert_allclose([each.x, each.y, each.yaw], expected, atol=1e-12)


def test_odometry_of_mecanum_wheels_moves_sideways():
    law = CmdVel(["fl", "rl"], ["fr", "rr"], 0.05, 0.3, 0.1, kinematics="mecanum", wheelbase=0.4)
    odometry = WheelOdometry(law, yaw=math.pi / 2.0)
    angles = law.wheel_speeds(0.0, 0.0, 0.7)
    odometry.update(dict.fromkeys(angles, 0.0))
    odometry.update(angles)
    assert_allclose([odometry.x, odometry.y, odometry.yaw], [-0.7, 0.0, math.pi / 2], atol=1e-12)


def test_odometry_of_rolling_wheels_is_the_true_pose(platform):
    """Ideal wheels do not slip: odometry differs by changes of the wheel rates within a period only."""
    ride = draisine.Stepper(platform, draisine.state(platform, x=1.0, yaw=0.4), law=LAW)
    odometry = WheelOdometry(LAW, x=1.0, yaw=0.4)
    for k in range(200):
        ride.step(2.0**-6, {"forward_speed": 0.5, "yaw_rate": 0.6 if k < 100 else -0.9})
        values = ride.values()
        if k == 0:
            odometry = WheelOdometry(LAW, values["x"], values["y"], 0.0, values["yaw"])
        odometry.update({name: values[name] for name in ("left", "right")})
    assert_allclose([odometry.x, odometry.y], [values["x"], values["y"]], atol=1e-4)
    assert odometry.yaw == pytest.approx(values["yaw"], abs=1e-9)
    message = odometry.message(
        1.0, "base_link", {n: values[f"{n}_rate"] for n in ("left", "right")}
    )
    assert message.twist.twist.linear.x == pytest.approx(values["forward_speed"], abs=1e-9)
    assert message.twist.twist.angular.z == pytest.approx(values["yaw_rate"], abs=1e-9)
    variances = np.diag(message.pose.covariance.reshape(6, 6))
    assert_allclose(variances, np.array([0, 0, 1, 1, 1, 0]) * UNMEASURED_VARIANCE)


# --- the node on a stand-in of rclpy ------------------------------------------------------------


class FakeMessage(SimpleNamespace):
    """Message class: a record that knows its type."""


class FakeNode:
    """The calls of rclpy.node.Node that the node makes, recorded."""

    def __init__(self, name="draisine"):
        self.name = name
        self.published = {}
        self.types = {}
        self.subscriptions = {}
        self.timers = []
        self.warnings = []

    def create_publisher(self, kind, topic, depth):
        assert topic not in self.types, f"two publishers of {topic}"
        self.types[topic] = kind
        self.published[topic] = []
        return SimpleNamespace(publish=lambda message: self.receive(topic, message))

    def receive(self, topic, message):
        assert isinstance(message, self.types[topic])
        self.published[topic].append(message)

    def create_subscription(self, kind, topic, callback, depth):
        self.subscriptions[topic] = (kind, callback)

    def create_timer(self, period, callback, *, clock):
        assert clock.clock_type == "steady"  # the clock of the node stops with `use_sim_time`
        self.timers.append((period, callback))

    def get_logger(self):
        return SimpleNamespace(warning=self.warnings.append)


@pytest.fixture
def ros(monkeypatch):
    """Install packages of message classes, and rclpy, which runs three periods and stops by Ctrl-C."""
    types = {
        "builtin_interfaces": ["Time"],
        "geometry_msgs": [
            *("Twist", "TwistStamped", "Pose", "Point", "Vector3", "Quaternion", "Transform"),
            *("TransformStamped", "PoseWithCovariance", "TwistWithCovariance"),
        ],
        "nav_msgs": ["Odometry"],
        "rosgraph_msgs": ["Clock"],
        "sensor_msgs": ["JointState", "Imu"],
        "std_msgs": ["Header", "Float64"],
        "tf2_msgs": ["TFMessage"],
    }
    for package, names in types.items():
        module = ModuleType(f"{package}.msg")
        for name in names:
            setattr(module, name, type(name, (FakeMessage,), {}))
        monkeypatch.setitem(sys.modules, package, ModuleType(package))
        monkeypatch.setitem(sys.modules, f"{package}.msg", module)
    calls = SimpleNamespace(nodes=[], order=[])

    def create_node(name):
        calls.nodes.append(FakeNode(name))
        return calls.nodes[-1]

    def spin(node):
        for _ in range(3):
            for _, callback in node.timers:
                callback()
        raise KeyboardInterrupt

    rclpy = ModuleType("rclpy")
    rclpy.executors = ModuleType("rclpy.executors")
    rclpy.executors.ExternalShutdownException = type("ExternalShutdownException", (Exception,), {})
    rclpy.init = lambda: calls.order.append("init")
    rclpy.try_shutdown = lambda: calls.order.append("shutdown")
    rclpy.create_node = create_node
    rclpy.spin = spin
    clock = ModuleType("rclpy.clock")
    clock.Clock = SimpleNamespace
    clock.ClockType = SimpleNamespace(STEADY_TIME="steady")
    monkeypatch.setitem(sys.modules, "rclpy.clock", clock)
    monkeypatch.setitem(sys.modules, "rclpy", rclpy)
    monkeypatch.setitem(sys.modules, "rclpy.executors", rclpy.executors)
    return calls


def command(forward, turn, side=0.0):
    return SimpleNamespace(
        linear=SimpleNamespace(x=forward, y=side, z=0.0),
        angular=SimpleNamespace(x=0.0, y=0.0, z=turn),
    )


def test_the_node_drives_by_cmd_vel(ros, platform):
    """The robot follows the command; clock, odometry, transforms and joint states agree with the stepper."""
    system = add_imu(platform)
    ride = draisine.Stepper(system, draisine.state(system), law=LAW)
    node = FakeNode()
    SimulationNode(node, ride, rate=32.0, speed=2.0)
    (period, advance), (kind, receive) = node.timers[0], node.subscriptions["cmd_vel"]
    assert period == 1.0 / 32.0
    assert kind.__name__ == "Twist"
    receive(command(0.3, 0.5))
    for _ in range(32):
        advance()
    assert ride.time == 2.0
    clock = node.published["/clock"]
    assert (clock[-1].clock.sec, clock[-1].clock.nanosec) == (2, 0)
    values = ride.values()
    truth = node.published["ground_truth"][-1]
    assert truth.pose.pose.position.x == values["x"]
    assert truth.twist.twist.linear.x == pytest.approx(0.3, rel=1e-2)
    odometry = node.published["odom"][-1]
    assert odometry.twist.twist.angular.z == pytest.approx(values["yaw_rate"], abs=1e-9)
    assert odometry.pose.pose.position.y == pytest.approx(values["y"], abs=2e-3)
    assert len(odometry.pose.covariance) == 36
    assert all(type(number) is float for number in odometry.pose.covariance)
    first = node.published["/tf"][-1].transforms[0].transform
    assert first.translation.x == odometry.pose.pose.position.x
    joints = node.published["joint_states"][-1]
    assert joints.name == ["left", "right"]
    assert joints.position == [values["left"], values["right"]]
    assert node.published["imu"][-1].linear_acceleration.z == pytest.approx(9.81, abs=1e-6)
    assert {len(messages) for messages in node.published.values()} == {33}
    assert node.warnings == []
    receive(command(math.nan, 0.0))
    assert "not finite" in node.warnings[0]
    advance()


def test_stamped_commands_and_sideways_speed(ros, platform):
    ride = draisine.Stepper(platform, draisine.state(platform), law=LAW)
    node = FakeNode()
    SimulationNode(node, ride, stamped=True)
    kind, receive = node.subscriptions["cmd_vel"]
    assert kind.__name__ == "TwistStamped"
    receive(SimpleNamespace(twist=command(0.3, 0.5, 1.0)))
    assert_allclose(ride.law_state, [0.3, 0.5])


def test_a_machine_without_commands_publishes_its_pose(ros, bicycle):
    node = FakeNode()
    ride = draisine.Stepper(bicycle, draisine.state(bicycle, forward_speed=1.0, lean=0.2))
    SimulationNode(node, ride, rate=2.0)
    assert "no velocity commands" in node.warnings[0]
    assert node.subscriptions == {}
    for _ in range(40):
        node.timers[0][1]()
    # The bicycle falls; the node reports it once and stays silent.
    assert "fell" in node.warnings[1] or "lean" in node.warnings[1]
    assert len(node.warnings) == 2
    assert node.published["odom"] == node.published["ground_truth"]


def test_the_node_runs_on_a_terrain(ros, bicycle):
    """An upright bicycle falls to the ground 5 cm below it and rolls on."""
    start = draisine.state(bicycle, forward_speed=5.0)
    ride = draisine.Stepper(bicycle, start, terrain=plane(height=-0.05))
    node = FakeNode()
    SimulationNode(node, ride)
    for _ in range(50):
        node.timers[0][1]()
    heights = [message.pose.pose.position.z for message in node.published["odom"]]
    assert heights[0] == pytest.approx(0.0, abs=1e-12)
    assert heights[-1] == pytest.approx(-0.05, abs=1e-3)


def test_run_node_shuts_down(ros, platform):
    ride = draisine.Stepper(platform, draisine.state(platform), law=LAW)
    run_node(ride, "robot", rate=64.0)
    assert ros.order == ["init", "shutdown"]
    assert ros.nodes[0].name == "robot"
    assert ride.time == 3.0 / 64.0


@pytest.mark.parametrize(
    ("options", "message"), [({"rate": 0.0}, "rate = 0 Hz"), ({"speed": -1.0}, "speed = -1")]
)
def test_wrong_rates_are_errors(ros, platform, options, message):
    ride = draisine.Stepper(platform, draisine.state(platform))
    with pytest.raises(ParameterError, match=message):
        SimulationNode(FakeNode(), ride, **options)


ROS_ARGUMENTS = ("--ros-args", "-r", "cmd_vel:=robot/cmd_vel")  # read by rclpy


def test_the_command(ros, capsys):
    law = "cmd_vel,left=left,right=right,radius=0.1,track=0.5,damping=50,forward_speed=0.5"
    assert not main(
        ["ros", "differential_platform", "--law", law, "--rate", "10", "--no-links", *ROS_ARGUMENTS]
    )
    published = ros.nodes[0].published
    assert published["imu"]
    assert len(published["/tf"][-1].transforms) == 2
    assert published["odom"][-1].twist.twist.linear.x > 0.3


def test_the_command_runs_a_scenario(ros):
    assert not main(["ros", "mauny2018/ramp-jump"])
    assert ros.nodes[0].published["/clock"][-1].clock.nanosec == 59_570_312
    assert main(["ros", "mauny2018/ramp-jump", "--set", "mB=90"]) == 2


def test_the_command_runs_the_scenario_of_the_page(ros, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs/neighbours/ros.md").read_text()
    (table,) = re.findall(r"^```toml\n(kind.*?)^```", page, re.S | re.M)
    (tmp_path / "drive.toml").write_text(table)
    monkeypatch.chdir(tmp_path)
    assert not main(["ros", "drive.toml"])
    assert "cmd_vel" in ros.nodes[0].subscriptions


def test_a_missing_ros_is_an_error(monkeypatch, capsys, platform):
    monkeypatch.setitem(sys.modules, "rclpy", None)
    assert main(["ros", "differential_platform"]) != 0
    assert "source /opt/ros/jazzy/setup.bash" in capsys.readouterr().err.replace("\n", " ")
    with pytest.raises(MissingPackageError, match="rclpy"):
        run_node(draisine.Stepper(platform, draisine.state(platform)))


def test_messages_are_converted_with_their_types(ros):
    message = make_message(
        RosMessage("std_msgs/msg/Header", stamp=clock_message(1.5).clock, frame_id="odom")
    )
    assert type(message).__name__ == "Header"
    assert type(message.stamp).__name__ == "Time"
