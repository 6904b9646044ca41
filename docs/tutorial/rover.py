"""rover: the robot of rover.urdf.

What of it rolls, gives and is held is told here. Try it:

    draisine show rover.py --plot rover.png
    draisine eigenvalues rover.py
    draisine new scenario drive --vehicle rover.py
"""

from pathlib import Path
from typing import Annotated

from draisine.interop.robots.robot import RobotWheel
from draisine.interop.robots.urdf import read_urdf
from draisine.mechanics.forces.load_tyre import LoadTyre
from draisine.model import Model
from draisine.model.motion import uniform

FILE = Path(__file__).parent / "rover.urdf"

# What the root link of the file can do: "SE(3)" moves freely, "fixed" is bolted to the world, as a root link
# called `world` is; `base` of `read_urdf`.
BASE = "SE(3)"

# Wheels that lean, spread or turn against one another cannot all roll without slip: these have side
# forces of cornering times load times slip, after a length of relaxation. `draisine list tyres`.
TYRE = LoadTyre(cornering=10.0, camber=0.0, relaxation=0.12)

# Links that roll, with their radii in m, as the file suggests: look them over. `Ball(0.03)` touches
# anywhere; on a link that is fixed to the base it is a caster, and slides.
WHEELS = {
    "rear_left_wheel": RobotWheel(0.12, tyre=TYRE),  # its cylinder
    "rear_right_wheel": RobotWheel(0.12, tyre=TYRE),  # its cylinder
    "front_left_wheel": RobotWheel(0.12, tyre=TYRE),  # its cylinder
    "front_right_wheel": RobotWheel(0.12, tyre=TYRE),  # its cylinder
}

# Joints that give: spring and damper in N/m and N s/m or, of hinges, N m/rad and N m s/rad; guessed so
# that they sag by a tenth of a wheel's radius.
SPRINGS = {
    "rear_left_strut": (5600.0, 196.0),
    "rear_right_strut": (5600.0, 196.0),
    "front_left_strut": (5600.0, 196.0),
    "front_right_strut": (5600.0, 196.0),
}

# Joints that servos hold as they are drawn; other motions r(t) are in draisine.model.motion. One that is
# taken out of here moves freely, and has an input of its name.
HELD = {
    "front_left_steer": {"motion": uniform(0.0)},
    "front_right_steer": {"motion": uniform(0.0)},
}

# Motors give at most front_left_steer 5 N m, front_right_steer 5 N m. Inputs and laws know no limits here.


def rover(
    *,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    stiffness: Annotated[float, "", "of all springs, against SPRINGS"] = 1.0,
    damping: Annotated[float, "", "of all dampers, against SPRINGS"] = 1.0,
) -> Model:
    """Return the robot."""
    springs = {
        joint: {"spring": stiffness * k, "damper": damping * c} for joint, (k, c) in SPRINGS.items()
    }
    return read_urdf(FILE, WHEELS, springs | HELD, base=BASE)(g=g)
