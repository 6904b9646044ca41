"""Sensors, one per file. The name of the file names the sensor in scenario files, and SENSOR is its class.

`imu`: inertial measurement unit, specific force and angular velocity at a point of a body.
`encoder`: incremental encoder, quantised coordinate of a joint.
`joint_sensor`: position, rate and effort of a joint.
`contact_switch`: switch that is on while a contact touches the ground.
`pose_sensor`: position and orientation of a body, as of motion capture.
"""

from draisine.mechanics.sensors.contact_switch import ContactSwitch
from draisine.mechanics.sensors.encoder import Encoder
from draisine.mechanics.sensors.imu import Imu
from draisine.mechanics.sensors.joint_sensor import JointSensor
from draisine.mechanics.sensors.pose_sensor import PoseSensor

__all__ = ["ContactSwitch", "Encoder", "Imu", "JointSensor", "PoseSensor"]
