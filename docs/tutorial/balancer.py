"""balancer: the robot of balancer.xml.

This file lists its wheels, springs and held joints. Try it:

    draisine show balancer.py --plot balancer.png
    draisine eigenvalues balancer.py
    draisine new scenario drive --vehicle balancer.py
"""

from pathlib import Path
from typing import Annotated

from draisine.interop.robots.mjcf import read_mjcf
from draisine.model import Model
from draisine.model.motion import uniform

FILE = Path(__file__).parent / "balancer.xml"

# Rolling links with their radii in m, guessed from the file: check them. `Ball(0.03)` touches with any
# point; on a link that cannot turn about a horizontal axle it is a caster, and slides.
WHEELS = {
    "left_wheel": 0.08,  # its cylinder
    "right_wheel": 0.08,  # its cylinder
}

# Joints that servos keep at zero; other motions r(t) are in draisine.model.motion. A joint that is
# removed here moves freely, and has an input of its name.
HELD = {
    "pan": {"motion": uniform(0.0)},
}

# Limits of the motors: left_axle 5 N m, right_axle 5 N m. Inputs and control laws are limited to them;
# {"JOINT": {"motor": None}} among the joints removes a limit.


def balancer(
    *,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return the robot."""
    return read_mjcf(FILE, WHEELS, HELD)(g=g)
