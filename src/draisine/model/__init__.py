"""What the machine is: frozen data, checked when built.

`body`: mass, mass centre, inertia. `joint`: a screw between two bodies. `motion`: prescribed
r(t). `coupling`: gears and closed loops. `contact`: wheels, blades, pins; `surface`: their
shapes. `force`: pushes at points. `steps`: which foot follows which. `model`: the whole
drawing. `form`: how it is written on paper. `names`: what can be asked of it and what its runs
tell. `quantity`: numbers as people write them, "18deg".
"""

from draisine.model.body import Body, flat_inertia, inertia
from draisine.model.contact import HOLONOMIC, Blade, Contact, Flat, Pin, Wheel
from draisine.model.coupling import Coupling, Loop
from draisine.model.force import Force, ForceElement, Tyre, Wrench
from draisine.model.joint import Guide, Joint, JointMotion, Prismatic, Revolute
from draisine.model.model import GROUPS, TWIST, Model, Output, forward_speed
from draisine.model.steps import Steps
from draisine.model.surface import Ball, Disc, Ellipsoid, Surface, Tip, Torus, round_surface

__all__ = [
    "GROUPS",
    "HOLONOMIC",
    "TWIST",
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
