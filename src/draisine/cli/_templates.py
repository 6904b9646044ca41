"""Files to begin with, as `draisine new` writes them: they run as they are."""

from contextlib import suppress
from string import Template
from typing import TYPE_CHECKING, Any

from draisine.errors import DraisineError

if TYPE_CHECKING:
    from draisine.system.system import System

VEHICLE = '''"""NAME: a scooter without a rider, to be changed into a machine of yours.

Draw the whole machine as it stands, upright, with x forward, y left and z up; lengths in m, masses in
kg, angles in rad. Try it:

    draisine show NAME.py
    draisine show NAME.py --plot NAME.png
    draisine eigenvalues NAME.py --speed 0:10:101
    draisine new scenario ride --vehicle NAME.py
"""

from draisine.algebra.scalar import cos, sin
from draisine.model import Body, Model, Output, Revolute, Wheel, inertia

MEANING = {
    "w": ("m", "wheelbase"),
    "c": ("m", "trail"),
    "lam": ("rad", "tilt of the steer axis from the vertical, top backwards"),
    "r": ("m", "radius of both wheels"),
    "mB": ("kg", "mass of the frame"),
    "hB": ("m", "height of its mass centre"),
    "g": ("m/s2", "gravity"),
}
"""Unit and meaning of every parameter; `draisine show` tells them."""


# Keyword arguments are the parameters. Those of the type `float` can be changed without deriving the
# equations again; those of the types int, bool and str decide what the machine is made of.
def NAME(
    *,
    w: float = 0.9,
    c: float = 0.06,
    lam: float = 0.25,
    r: float = 0.12,
    mB: float = 12.0,
    hB: float = 0.35,
    g: float = 9.81,
) -> Model:
    """Return the machine, drawn upright with its rear wheel on the origin."""
    across = (0.0, 1.0, 0.0)
    rear, front = (0.0, 0.0, r), (w, 0.0, r)
    steer_axis = (-sin(lam), 0.0, cos(lam))
    return Model(
        # a name, a mass, the mass centre in the drawing, the inertia about it
        bodies=[
            Body("frame", mB, (0.4 * w, 0.0, hB), inertia(0.5, 1.5, 1.2, xz=0.1)),
            Body("fork", 2.0, (0.95 * w, 0.0, 0.5), inertia(0.15, 0.15, 0.02)),
            Body("rear_wheel", 1.0, rear, inertia(0.004, 0.008, 0.004)),
            Body("front_wheel", 1.0, front, inertia(0.004, 0.008, 0.004)),
        ],
        # a name, the bodies that it joins, its axis, and a point that the axis passes through
        joints=[
            Revolute("steer", "frame", "fork", steer_axis, (w + c, 0.0, 0.0)),
            Revolute("rear_wheel", "frame", "rear_wheel", across, rear),
            Revolute("front_wheel", "fork", "front_wheel", across, front),
        ],
        # a name, the body, its centre, its axle, its radius; there are Blade and Pin, too
        contacts=[
            Wheel("rear", "rear_wheel", rear, across, r),
            Wheel("front", "front_wheel", front, across, r),
        ],
        gravity=(0.0, 0.0, -g),
        # what can be asked for at the start of a run, and looked at afterwards
        outputs=[
            Output(
                "forward_speed",
                lambda readings: readings.heading @ readings.velocity("frame", rear),
                "m/s",
                "velocity of the rear hub along the heading",
            ),
        ],
    )
'''

SCENARIO = Template("""# A scenario: which machine, how it starts, how long it runs. Try it:
#
#     draisine run $name.toml --plot $name.png --animate $name.html
#
# `draisine schema` prints everything that such a file may have.

kind = "run"
title = "$title"

[vehicle]
name = "$vehicle"  # `draisine list vehicles`, or a file of yours: "mine.py"
# parameters = { $parameter }  # `draisine show $vehicle` tells them

# Outputs, joints and their rates, in SI units or as "10deg"; what is left out is zero.
[initial]
$initial

[run]
until = 5.0                       # s
dt = 0.01                         # s between samples

# [[law]]                         # feedback that keeps the motion; `draisine list laws`
# name = "lqr"

# [[inputs]]                      # a push at a joint
# shape = "step"
# input = "$input"
# value = 1.0                     # N m
# start = 0.5
# end = 0.6

# [[expected]]                    # what must come out; `draisine check $name.toml` holds it against it
# title = "it goes on as it began"
# origin = "law"
# atol = 0.2
# [expected.values]
# "final $first" = $value
""")

START = {"forward_speed": 5.8, "lean_rate": 0.2}
"""How a two-wheeler starts: it rolls, and is pushed over."""


def vehicle_text(name: str, like: str) -> str:
    """Return the file of a vehicle under another name."""
    import inspect
    import re
    import sys

    from draisine.registry import find

    vehicle = find("vehicle", like)
    source = inspect.getsource(sys.modules[vehicle.__module__])
    return re.sub(rf"\b{vehicle.__name__}\b", name, source)


def scenario_text(name: str, vehicle: str) -> str:
    """Return the file of a scenario for a vehicle, which starts as that vehicle can."""
    from draisine.analysis.bicycle.eigenvalues import is_two_wheeler
    from draisine.scenario.validate.vehicle import build_system

    system = build_system(vehicle)
    pushed = is_two_wheeler(system)
    start = _start(system, START if pushed else {"forward_speed": 1.0})
    first, value = next(iter(start.items()), ("yaw", 0.0))
    return SCENARIO.substitute(
        name=name,
        title="A push" if pushed else "A first run",
        vehicle=vehicle,
        parameter=next((f"{n} = {x:g}" for n, x in system.parameters.items()), ""),
        initial="\n".join(f"{n} = {x}" for n, x in start.items()),
        input=next(iter(system.model.inputs), ""),
        first=first,
        value=value,
    )


def _start(system: "System", wanted: dict[str, float]) -> dict[str, float]:
    """Return speeds that a machine can have: those wanted, or else of a joint."""
    from draisine.system.state import state

    start: dict[str, Any] = {}
    for name, value in (wanted | {f"{one.name}_rate": 0.2 for one in system.model.joints}).items():
        if start and name not in wanted:
            break
        with suppress(DraisineError):
            asked = start | {name: value}
            state(system, **asked)
            start = asked
    return start
