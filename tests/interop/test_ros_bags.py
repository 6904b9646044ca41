"""Bags of ROS 2, read back by the package rosbags: layouts of messages, values, command."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import draisine
from draisine.cli import main
from draisine.errors import DataError
from draisine.interop.ros.bag import export_bag, scalar_series
from draisine.interop.ros.messages import RosMessage, RosRobot, clock_message, scalar_message
from draisine.mechanics.sensors import Encoder, Imu
from draisine.terrain import plane

highlevel = pytest.importorskip("rosbags.highlevel", reason="rosbags is not installed")
typesys = pytest.importorskip("rosbags.typesys", reason="rosbags is not installed")

DISTRIBUTIONS = ["ROS2_HUMBLE", "ROS2_JAZZY"]


@pytest.fixture(scope="module")
def robot():
    imu = Imu("imu", "platform", (0.1, 0.0, 0.2), rate=100.0, noise=0.01)
    encoder = Encoder("encoder", "left", counts=500)
    return draisine.compile("differential_platform").with_sensors(imu, encoder)


@pytest.fixture(scope="module")
def run(robot):
    start = draisine.state(robot, forward_speed=1.0, yaw_rate=0.5)
    return draisine.simulate(robot, start, 0.5).to_xarray()


def read_bag(folder):
    """Return times (ns), types and messages of a bag by topic."""
    topics = {}
    with highlevel.AnyReader([Path(folder)]) as reader:
        for connection, t, data in reader.messages():
            kind, entries = topics.setdefault(connection.topic, (connection.msgtype, []))
            entries.append((t, reader.deserialize(data, kind)))
    return topics


def assert_same_message(read, written):
    """Check that a message that was read has exactly the fields and values of the written one."""
    names = [field.name for field in dataclasses.fields(read) if field.name != "__msgtype__"]
    assert names == list(written.fields), f"fields of {written.ros_type}"
    assert read.__msgtype__ == written.ros_type
    for name in names:
        value, wanted = getattr(read, name), getattr(written, name)
        if isinstance(wanted, RosMessage):
            assert_same_message(value, wanted)
        elif isinstance(wanted, np.ndarray):
            assert_array_equal(value, wanted)
        elif isinstance(wanted, list) and isinstance(wanted[0], RosMessage):
            assert len(value) == len(wanted)
            for one, other in zip(value, wanted, strict=True):
                assert_same_message(one, other)
        else:
            assert value == wanted


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_messages_have_the_layout_of_their_type(robot, distribution):
    """Messages are packed and unpacked by the definitions of a ROS distribution, without loss."""
    types = typesys.get_typestore(getattr(typesys.Stores, distribution))
    ride = draisine.Stepper(robot, draisine.state(robot, forward_speed=1.0, yaw=0.3))
    converter = RosRobot(robot.model)
    sample = converter.sample(ride)
    messages = [
        clock_message(1.25),
        scalar_message(0.1),
        converter.odometry(sample),
        converter.transforms(sample),
        converter.joint_states(sample),
        converter.imu(sample, converter.imus[0]),
    ]
    for message in messages:
        packed = types.serialize_cdr(message, message.ros_type)
        assert_same_message(types.deserialize_cdr(packed, message.ros_type), message)


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_bag_contains_the_run(tmp_path, run, storage):
    """All values equal those of the result."""
    export_bag(run, tmp_path / "bag", storage)
    topics = read_bag(tmp_path / "bag")
    stamps = np.rint(1e9 * run.time.values).astype(np.int64)
    for kind, entries in topics.values():
        assert_array_equal([t for t, _ in entries], stamps)
        assert all(message.__msgtype__ == kind for _, message in entries)
    odometry = [message for _, message in topics["/odom"][1]]
    positions = [m.pose.pose.position for m in odometry]
    assert_allclose([[p.x, p.y, p.z] for p in positions], run.position.values, atol=1e-15)
    turns = [m.pose.pose.orientation for m in odometry]
    q = np.array([[q.w, q.x, q.y, q.z] for q in turns])
    same_side = np.sign(np.sum(q * run.orientation.values, axis=1))
    assert_allclose(q * same_side[:, None], run.orientation.values, atol=1e-14)
    speeds = [m.twist.twist.linear.x for m in odometry]
    assert_allclose(speeds, run.speeds.sel(speed="Vx").values, atol=1e-14)
    joints = [message for _, message in topics["/joint_states"][1]]
    assert_array_equal([m.position[0] for m in joints], run.encoder.values)
    assert_array_equal([m.position[1] for m in joints], run.right.values)
    assert_array_equal([m.velocity[1] for m in joints], run.right_rate.values)
    imu = [message.linear_acceleration.x for _, message in topics["/imu"][1]]
    assert_array_equal(imu, run.imu_specific_force_x.values)
    energy = [message.data for _, message in topics["/result/energy"][1]]
    assert_array_equal(energy, run.energy.values)
    force = [message.data for _, message in topics["/result/contact_force/left/normal"][1]]
    assert_array_equal(force, run.contact_force.sel(contact="left", direction="normal").values)


def test_a_bag_of_a_landing_has_one_message_per_time(tmp_path):
    """Speeds jump in an impact; the bag has the state after it."""
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=5.0)
    run = draisine.simulate(bicycle, start, 0.3, terrain=plane(height=-0.05)).to_xarray()
    times = run.time.values
    twice = np.flatnonzero(np.diff(times) == 0.0)
    assert len(twice)
    export_bag(run, tmp_path / "bag")
    topics = read_bag(tmp_path / "bag")
    stamps = [t for t, _ in topics["/odom"][1]]
    assert stamps == sorted(set(stamps))
    landing = round(1e9 * times[twice[0]])
    values = dict(topics["/result/energy"][1])
    last = np.flatnonzero(times == times[twice[0]])[-1]
    assert values[landing].data == run.energy.values[last] < run.energy.values[twice[0]]


def test_every_scalar_of_the_result_has_a_topic(run):
    series = scalar_series(run)
    assert {"/result/energy", "/result/yaw_rate", "/result/contact_force/right/across"} <= set(
        series
    )
    assert not any(topic.startswith("/result/speeds") for topic in series)


def test_wrong_targets_and_results(tmp_path, run):
    (tmp_path / "bag").mkdir()
    with pytest.raises(DataError, match=r"exists\. Choose another folder"):
        export_bag(run, tmp_path / "bag")
    with pytest.raises(DataError, match="need the result of a run"):
        export_bag(run.drop_vars("orientation"), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_the_command_exports_a_result(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert not main(["run", "mauny2018/ramp-jump", "--until", "0.3", "--out", "jump.nc"])
    assert not main(["export", "jump.nc", "--as", "rosbag"])
    assert "bag: jump-bag" in capsys.readouterr().out
    assert "/odom" in read_bag("jump-bag")
    assert not main(["export", "jump.nc", "lite", "--as", "rosbag-sqlite3"])
    assert list(Path("lite").glob("*.db3"))
    assert not main(["export", "jump.nc", "--as", "rosbag"])
    assert len(list(tmp_path.glob("jump-bag*"))) == 2
    assert main(["export", "jump.nc", "lite", "--as", "rosbag"]) != 0
    assert not main(["export", "jump.nc", "lite", "--as", "rosbag", "--force"])
    assert list(Path("lite").glob("*.mcap"))
    assert main(["export", "jump.nc", "--as", "rosbag", "--initial", "lean=0.1"]) == 2
    assert main(["export", "whipple", "--trust"]) == 2
