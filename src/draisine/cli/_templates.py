"""Files to begin with, as `draisine new` writes them: they run as they are."""

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

SCENARIO = """# A scenario: which machine, how it starts, how long it runs. Try it:
#
#     draisine run NAME.toml --plot NAME.png --animate NAME.html
#
# `draisine schema` prints everything that such a file may have.

kind = "run"
title = "NAME: a push"

[vehicle]
name = "VEHICLE"                  # `draisine list vehicles`, or a file of yours: "mine.py"
# parameters = { mB = 90.0 }      # `draisine show VEHICLE` tells them

[initial]                         # outputs, joints and their rates; what is left out is zero
forward_speed = 5.8               # m/s
lean_rate = 0.2                   # rad/s; angles may be written as "10deg"

[run]
until = 5.0                       # s
dt = 0.01                         # s between samples

# [[inputs]]                      # a push at the handlebar
# shape = "step"
# input = "steer"
# value = 1.0                     # N m
# start = 0.5
# end = 0.6

# [[expected]]                    # what must come out; `draisine check NAME.toml` holds it against it
# title = "it keeps its speed"
# origin = "law"
# atol = 0.2
# [expected.values]
# "final forward_speed" = 5.8
"""
