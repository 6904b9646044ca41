"""Sensors of robot files: beside MuJoCo at a random state, and those of Gazebo by their elements."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import FileWarning
from draisine.interop.robots.guess import guess
from draisine.interop.robots.mjcf import parse_mjcf, read_mjcf
from draisine.interop.robots.urdf import parse_urdf, read_urdf
from draisine.mechanics.sensors import Imu

ARM = """<mujoco><default><site euler="20 30 40"/></default><worldbody>
  <body name="upper" pos="0 0 1"><joint name="shoulder/x" axis="0 1 0"/>
    <inertial pos="0 0 -0.3" mass="2" diaginertia="0.05 0.06 0.01"/>
    <body name="lower" pos="0.1 0 -0.6"><joint name="elbow" axis="1 0 0"/>
      <inertial pos="0 0 -0.2" mass="1" diaginertia="0.02 0.03 0.01"/>
      <frame pos="0 0 -0.1"><site name="imu" pos="0.02 0.1 -0.2"/></frame></body></body>
  </worldbody><sensor>
    <accelerometer name="a" site="imu"/><gyro name="w" site="imu"/><jointpos name="q" joint="elbow"/>
    <jointvel name="v" joint="elbow"/><framepos name="p" objtype="site" objname="imu"/>
    <touch site="imu"/><magnetometer name="m" site="imu"/><gyro name="lost" site="nowhere"/>
  </sensor></mujoco>"""


@pytest.mark.filterwarnings("ignore::draisine.errors.FileWarning")
def test_sensors_of_mjcf_are_those_of_mujoco():
    """Accelerometer, gyro, position and joint sensor on a double pendulum in space, at a random state."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    theirs = mujoco.MjModel.from_xml_string(ARM.replace("nowhere", "imu"))
    data = mujoco.MjData(theirs)
    data.qpos[:] = coordinates = [0.7, -0.4]
    data.qvel[:] = rates = [1.3, 2.1]
    mujoco.mj_forward(theirs, data)

    system = draisine.compile(read_mjcf(ARM, {}))
    start = draisine.state(system, mode={})
    start = type(start)(start.q, start.p, coordinates, rates, start.joints, start.speeds)
    values = draisine.Stepper(system, start).values()
    for name, signals in {
        "a": [f"imu_specific_force_{axis}" for axis in "xyz"],
        "w": [f"imu_angular_velocity_{axis}" for axis in "xyz"],
        "p": [f"imu_pose_position_{axis}" for axis in "xyz"],
        "q": ["elbow_sensor_position"],
        "v": ["elbow_sensor_rate"],
    }.items():
        reading = data.sensor(name).data
        assert_allclose([values[signal] for signal in signals], reading, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::draisine.errors.FileWarning")
def test_sensors_without_a_counterpart_are_notes():
    robot = parse_mjcf(ARM)
    notes = guess(robot).notes
    assert any(note.startswith("<sensor>: m, lost not read") for note in notes)
    # A touch sensor needs a contact: without a foot there is no switch.
    names = [sensor.name for sensor in read_mjcf(ARM, {})().sensors]
    assert names == ["imu", "elbow_sensor", "imu_pose"]


def test_a_touch_sensor_is_a_switch_of_the_contact():
    text = """<mujoco><worldbody><body name="ball"><freejoint/><geom size="0.1" mass="1"/>
      <site name="sole"/></body></worldbody><sensor><touch site="sole"/></sensor></mujoco>"""
    system = draisine.compile(read_mjcf(text, {"ball": 0.1}))
    assert draisine.Stepper(system, draisine.state(system)).values()["sole_touch"] == 1.0


CART = """<robot name="cart"><link name="deck"><inertial><mass value="5"/>
  <inertia ixx="0.1" iyy="0.2" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="mast"/><joint name="mount" type="fixed"><parent link="deck"/><child link="mast"/>
    <origin xyz="0.1 0 0.5" rpy="0 0 1.5707963267948966"/></joint>
  <gazebo reference="mast"><sensor name="mast/imu" type="imu"><update_rate>100</update_rate>
    <pose>0 0 0.2 0 0 0</pose><imu>
    <angular_velocity><x><noise type="gaussian"><mean>0.01</mean><stddev>2e-4</stddev></noise></x>
    </angular_velocity><linear_acceleration><z><noise><stddev>0.017</stddev></noise></z>
    </linear_acceleration></imu></sensor>
    <sensor name="eye" type="camera"/></gazebo></robot>"""


def test_imus_of_gazebo_have_rates_and_noise():
    robot = parse_urdf(CART)
    assert any("eye not read" in note for note in robot.notes)
    (imu,) = read_urdf(CART, {})().sensors
    assert isinstance(imu, Imu)
    assert (imu.name, imu.body, imu.rate) == ("mast_imu", "deck", 100.0)
    assert_allclose(imu.point, [0.1, 0.0, 0.7])
    assert_allclose(imu.axes, [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], atol=1e-12)
    assert imu.bias["angular_velocity_x"] == 0.01
    assert imu.noise == {"angular_velocity_x": 2e-4, "specific_force_z": 0.017}
    with pytest.warns(FileWarning, match="'mast_imu': it has noise but no update rate"):
        (imu,) = read_urdf(CART.replace("<update_rate>100</update_rate>", ""), {})().sensors
    assert imu.rate is None


def test_sensors_follow_the_ground():
    """A robot is lifted onto the ground, and its sensors with it."""
    axle = """<link name="w"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.02" izz="0.01"
      ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="axle" type="continuous">
      <parent link="deck"/><child link="w"/><axis xyz="0 1 0"/></joint></robot>"""
    (imu,) = read_urdf(CART.replace("</robot>", axle), {"w": 0.3})().sensors
    assert np.isclose(imu.point[2], 1.0)
