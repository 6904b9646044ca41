"""The description of a machine: immutable data, checked when built.

`body`: mass, centre of mass, inertia. `joint`: a screw between two bodies, and limits of its drive. `motion`:
prescribed r(t). `coupling`: gears and closed loops. `contact`: wheels, blades, pins; `surface`: their shapes.
`force`: external forces and force elements. `steps`: steps of walkers. `model`: the machine. `form`: printed
forms of its equations. `names`: names and units of states, outputs and results. `quantity`: numbers with
units, "18deg".
"""

from draisine.model.body import Body, flat_inertia, inertia
from draisine.model.contact import HOLONOMIC, Blade, Contact, Flat, Pin, Wheel
from draisine.model.coupling import Coupling, Loop
from draisine.model.force import Force, ForceElement, Tyre, Wrench
from draisine.model.joint import Guide, Joint, JointMotion, Motor, Prismatic, Revolute
from draisine.model.model import BASE_GROUPS, BASE_TWIST, Model, Output, forward_speed
from draisine.model.steps import Steps
from draisine.model.surface import Ball, Disc, Ellipsoid, Surface, Tip, Torus, round_surface

__all__ = [
    "BASE_GROUPS",
    "BASE_TWIST",
    "HOLONOMIC",
    "Ball",
    "Blade",
    "Body",
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
