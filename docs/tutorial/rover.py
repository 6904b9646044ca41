"""rover: the robot of rover.urdf.

This file lists its wheels, springs and held joints. Try it:

    draisine show rover.py --plot rover.png
    draisine eigenvalues rover.py
    draisine new scenario drive --vehicle rover.py
"""

from pathlib import Path
from typing import Annotated

from draisine.interop.robots.robot import RobotWheel
from draisine.interop.robots.urdf import read_urdf
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.model import Model
from draisine.model.motion import uniform

FILE = Path(__file__).parent / "rover.urdf"

# The root link: "SE(3)" moves freely, "fixed" is attached to the world (as is a root link called `world`).
# See `base` of `read_urdf`.
BASE = "SE(3)"

# These wheels cannot all roll without slip in every motion (skid steering, a suspension that changes the
# track), so they have tyres that slip along and across their heading. The force is stiffness times load times
# slip at small slips, and friction times load at most. Measure `friction`. See `draisine list tyres`.
TYRE = BrushTyre(stiffness=10.0, friction=0.8, relaxation=0.12)

# Rolling links with their radii in m, guessed from the file: check them. `Ball(0.03)` touches with any
# point; on a link that cannot turn about a horizontal axle it is a caster, and slides.
WHEELS = {
    "rear_left_wheel": RobotWheel(0.12, tyre=TYRE),  # its cylinder
    "rear_right_wheel": RobotWheel(0.12, tyre=TYRE),  # its cylinder
    "front_left_wheel": RobotWheel(0.12, tyre=TYRE),  # its cylinder
    "front_right_wheel": RobotWheel(0.12, tyre=TYRE),  # its cylinder
}

# Compliant joints: spring and damper in N/m and N s/m or, for hinges, N m/rad and N m s/rad; guessed so
# that they deflect by a tenth of a wheel's radius under the weight.
SPRINGS = {
    "rear_left_strut": (5600.0, 196.0),
    "rear_right_strut": (5600.0, 196.0),
    "front_left_strut": (5600.0, 196.0),
    "front_right_strut": (5600.0, 196.0),
}

# Joints that servos keep at zero; other motions r(t) are in draisine.model.motion. A joint that is
# removed here moves freely, and has an input of its name.
HELD = {
    "front_left_steer": {"motion": uniform(0.0)},
    "front_right_steer": {"motion": uniform(0.0)},
}

# Limits of the motors: front_left_steer 5 N m, front_right_steer 5 N m. Inputs and control laws are
# limited to them; {"JOINT": {"motor": None}} among the joints removes a limit.


def rover(
    *,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    stiffness: Annotated[float, "", "factor of all springs in SPRINGS"] = 1.0,
    damping: Annotated[float, "", "factor of all dampers in SPRINGS"] = 1.0,
) -> Model:
    """Return the robot."""
    springs = {
        joint: {"spring": stiffness * k, "damper": damping * c} for joint, (k, c) in SPRINGS.items()
    }
    return read_urdf(FILE, WHEELS, springs | HELD, base=BASE)(g=g)
