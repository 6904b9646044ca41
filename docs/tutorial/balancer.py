"""balancer: the robot of balancer.xml.

What of it rolls, gives and is held is told here. Try it:

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

# Links that roll, with their radii in m, as the file suggests: look them over. `Ball(0.03)` touches
# anywhere; on a link that is fixed to the base it is a caster, and slides.
WHEELS = {
    "left_wheel": 0.08,  # its cylinder
    "right_wheel": 0.08,  # its cylinder
}

# Joints that servos hold as they are drawn; other motions r(t) are in draisine.model.motion. One that is
# taken out of here moves freely, and has an input of its name.
HELD = {
    "pan": {"motion": uniform(0.0)},
}


def balancer(
    *,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return the robot."""
    return read_mjcf(FILE, WHEELS, HELD)(g=g)
