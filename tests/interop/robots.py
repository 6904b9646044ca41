"""A robot on two driven wheels and a swivel caster, in two formats and drawn by hand."""

from draisine.model import Body, Model, Revolute, Wheel, inertia

RADII = {"left": 0.1, "right": 0.1, "caster": 0.05}

URDF = """<?xml version="1.0"?>
<robot name="porter">
  <link name="frame">
    <inertial><origin xyz="0.05 0 0.02"/><mass value="8"/>
      <inertia ixx="0.2" ixy="0.01" ixz="0.03" iyy="0.3" iyz="0" izz="0.4"/></inertial>
  </link>
  <link name="camera">
    <inertial><origin xyz="0 0 0.1" rpy="0 0 0.4"/><mass value="0.5"/>
      <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.003"/></inertial>
  </link>
  <joint name="mount" type="fixed">
    <parent link="frame"/><child link="camera"/><origin xyz="0.1 0 0.1" rpy="0 0.3 0"/>
  </joint>
  <link name="left">
    <inertial><mass value="0.6"/>
      <inertia ixx="0.0016" ixy="0" ixz="0" iyy="0.0016" iyz="0" izz="0.003"/></inertial>
  </link>
  <joint name="left_axle" type="continuous">
    <parent link="frame"/><child link="left"/>
    <origin xyz="0 0.2 0" rpy="-1.5707963267948966 0 0"/><axis xyz="0 0 1"/>
    <dynamics damping="0.02"/>
  </joint>
  <link name="right">
    <inertial><mass value="0.6"/>
      <inertia ixx="0.0016" ixy="0" ixz="0" iyy="0.003" iyz="0" izz="0.0016"/></inertial>
  </link>
  <joint name="right_axle" type="continuous">
    <parent link="frame"/><child link="right"/><origin xyz="0 -0.2 0"/><axis xyz="0 1 0"/>
  </joint>
  <link name="fork">
    <inertial><origin xyz="-0.02 0 -0.02"/><mass value="0.3"/>
      <inertia ixx="0.0004" ixy="0" ixz="0.0001" iyy="0.0005" iyz="0" izz="0.0003"/></inertial>
  </link>
  <joint name="swivel" type="continuous">
    <parent link="frame"/><child link="fork"/><origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <link name="caster">
    <inertial><mass value="0.2"/>
      <inertia ixx="0.00013" ixy="0" ixz="0" iyy="0.00025" iyz="0" izz="0.00013"/></inertial>
  </link>
  <joint name="caster_axle" type="continuous">
    <parent link="fork"/><child link="caster"/><origin xyz="-0.04 0 -0.05"/><axis xyz="0 1 0"/>
  </joint>
</robot>
"""

MJCF = """<mujoco model="porter">
  <default>
    <joint type="hinge" axis="0 1 0"/>
    <default class="upright"><joint axis="0 0 1"/></default>
  </default>
  <worldbody>
    <body name="frame">
      <freejoint/>
      <inertial pos="0.05 0 0.02" mass="8" fullinertia="0.2 0.3 0.4 0.01 0.03 0"/>
      <body name="camera" pos="0.1 0 0.1" euler="0 17.188733853924695 0">
        <inertial pos="0 0 0.1" axisangle="0 0 1 22.918311805232928" mass="0.5"
          diaginertia="0.001 0.002 0.003"/>
      </body>
      <body name="left" pos="0 0.2 0" quat="1 -1 0 0">
        <joint name="left_axle" class="upright" damping="0.02"/>
        <inertial pos="0 0 0" mass="0.6" diaginertia="0.0016 0.0016 0.003"/>
      </body>
      <body name="right" pos="0 -0.2 0">
        <joint name="right_axle"/>
        <inertial pos="0 0 0" mass="0.6" diaginertia="0.0016 0.003 0.0016"/>
      </body>
      <body name="fork" pos="0.3 0 0">
        <joint name="swivel" class="upright"/>
        <inertial pos="-0.02 0 -0.02" mass="0.3" fullinertia="0.0004 0.0005 0.0003 0 0.0001 0"/>
        <body name="caster" pos="-0.04 0 -0.05">
          <joint name="caster_axle"/>
          <inertial pos="0 0 0" mass="0.2" diaginertia="0.00013 0.00025 0.00013"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def porter(*, g: float = 9.81) -> Model:
    """Return the robot, drawn with its ground at z = 0; the camera is a body of its own, held."""
    across = (0.0, 1.0, 0.0)
    up = (0.0, 0.0, 1.0)
    hubs = {"left": (0.0, 0.2, 0.1), "right": (0.0, -0.2, 0.1), "caster": (0.26, 0.0, 0.05)}
    wheel = inertia(0.0016, 0.003, 0.0016)
    return Model(
        bodies=[
            Body("frame", 8.0, (0.05, 0.0, 0.12), inertia(0.2, 0.3, 0.4, xy=0.01, xz=0.03)),
            Body("camera", 0.5, *camera()),
            Body("left", 0.6, hubs["left"], wheel),
            Body("right", 0.6, hubs["right"], wheel),
            Body("fork", 0.3, (0.28, 0.0, 0.08), inertia(0.0004, 0.0005, 0.0003, xz=0.0001)),
            Body("caster", 0.2, hubs["caster"], inertia(0.00013, 0.00025, 0.00013)),
        ],
        joints=[
            Revolute("mount", "frame", "camera", up, motion=lambda t: (0.0, 0.0, 0.0)),
            Revolute("left_axle", "frame", "left", across, hubs["left"], damper=0.02),
            Revolute("right_axle", "frame", "right", across, hubs["right"]),
            Revolute("swivel", "frame", "fork", up, (0.3, 0.0, 0.1)),
            Revolute("caster_axle", "fork", "caster", across, hubs["caster"]),
        ],
        contacts=[Wheel(name, name, hubs[name], across, radius) for name, radius in RADII.items()],
        gravity=(0.0, 0.0, -g),
    )


def camera():
    """Return mass centre and inertia of the camera: turned by 0.3 rad about y, then 0.4 about its z."""
    import numpy as np
    from scipy.spatial.transform import Rotation

    R = Rotation.from_euler("YZ", [0.3, 0.4]).as_matrix()
    com = np.array([0.1, 0.0, 0.2]) + Rotation.from_euler("Y", 0.3).apply([0.0, 0.0, 0.1])
    return com, R @ np.diag([0.001, 0.002, 0.003]) @ R.T
