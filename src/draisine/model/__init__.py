"""Description of a multibody system: immutable data that is checked when it is built.

`body`: rigid bodies with mass, centre of mass and inertia.
`joint`: screw joints between two bodies, and limits of their motors.
`motion`: prescribed joint motions r(t).
`coupling`: gears and closed loops.
`contact`: wheels, blades and pins.
`surface`: shapes of wheels and their contact points.
`force`: external forces and force elements.
`sensor`: sensors with sampling rate and errors.
`model`: the multibody system as a tree of bodies, and the steps of walkers.
`form`: symbols and frames of printed equations.
`names`: names and units of states, outputs and results.
`quantity`: numbers with units, such as "18deg".
"""

from draisine.model.body import Body, flat_inertia, inertia
from draisine.model.contact import HOLONOMIC, Blade, Contact, Flat, Pin, Wheel
from draisine.model.coupling import Coupling, Loop
from draisine.model.force import Force, ForceElement, Tyre, Wrench
from draisine.model.joint import Guide, Joint, JointMotion, Motor, Prismatic, Revolute
from draisine.model.model import BASE_GROUPS, BASE_TWIST, Model, Output, Steps, forward_speed
from draisine.model.sensor import ChannelErrors, Sampled, Sensor, SensorChannel
from draisine.model.surface import Ball, Disc, Ellipsoid, Surface, Tip, Torus, round_surface

__all__ = [
    "BASE_GROUPS",
    "BASE_TWIST",
    "HOLONOMIC",
    "Ball",
    "Blade",
    "Body",
    "ChannelErrors",
    "Contact",
    "Coupling",
    "Disc",
    "Ellipsoid",
    "Flat",
    "Force",
    "ForceElement",
    "Guide",
    "Joint",
    "JointMotion",
    "Loop",
    "Model",
    "Motor",
    "Output",
    "Pin",
    "Prismatic",
    "Revolute",
    "Sampled",
    "Sensor",
    "SensorChannel",
    "Steps",
    "Surface",
    "Tip",
    "Torus",
    "Tyre",
    "Wheel",
    "Wrench",
    "flat_inertia",
    "forward_speed",
    "inertia",
    "round_surface",
]
