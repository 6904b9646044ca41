"""Files to begin with, as `draisine new` writes them: they run as they are."""

import re
import tomllib
from string import Template
from textwrap import indent
from typing import TYPE_CHECKING

from draisine.cli._robot import robot_text
from draisine.errors import DraisineError, ParameterError

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.system.system import System

VEHICLE = '''"""NAME: a scooter without a rider, to be changed into a machine of yours.

Draw the whole machine as it stands, upright, with x forward, y left and z up; lengths in m, masses in
kg, angles in rad. Try it:

    draisine show NAME.py
    draisine show NAME.py --plot NAME.png
    draisine eigenvalues NAME.py --speed 0:10:101
    draisine new scenario ride --vehicle NAME.py
"""

from typing import Annotated

from draisine.algebra.scalar import cos, sin
from draisine.model import Body, Model, Output, Revolute, Wheel, inertia


# Keyword arguments are the parameters. Those of the type `float` can be changed without deriving the
# equations again; those of the types int, bool and str decide what the machine is made of. `draisine show`
# tells their units and meanings.
def NAME(
    *,
    w: Annotated[float, "m", "wheelbase"] = 0.9,
    c: Annotated[float, "m", "trail"] = 0.06,
    lam: Annotated[float, "rad", "tilt of the steer axis, top backwards"] = 0.25,
    r: Annotated[float, "m", "radius of both wheels"] = 0.12,
    mB: Annotated[float, "kg", "mass of the frame"] = 12.0,
    hB: Annotated[float, "m", "height of its mass centre"] = 0.35,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
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

$law
# [[inputs]]                      # a push at a joint; all the time: [inputs] $input = 1.0
# shape = "step"
# input = "$input"
# value = 1.0                     # $effort
# start = 0.5
# end = 0.6

# [[expected]]                    # what must come out; `draisine check $name.toml` holds it against it
# title = "it goes on as it began"
# origin = "law"
# atol = 0.2
# [expected.values]
# "final $first" = $value
""")

SWEEP = Template("""# A study: what differs between its runs, and what is asked of each. Try it:
#
#     draisine run $name.toml --plot $name.png --out $name.nc
#
# Thousands of runs go into a store, and can be resumed: `draisine sweep $name.toml`.

kind = "sweep"
title = "$title"

[vehicle]
name = "$vehicle"  # `draisine list vehicles`, or a file of yours: "mine.py"

# Outputs, joints and their rates, in SI units or as "10deg"; what is left out is zero.
[initial]
$initial

[run]
until = 2.0                       # s
dt = 0.01
integrator = "rk4"                # equal steps: runs go side by side

[sweep]
outputs = ["final $first", "maximum $second"]  # also "peak lean_rate", "time when lean = 10deg" ...

# All combinations; other designs: list, one-at-a-time, latin-hypercube, sobol.
[sweep.between]
"initial.$first" = { low = $low, high = $high, count = 5 }
$parameters""")

LAW = """[[law]]                           # feedback that keeps the motion; `draisine list laws`
name = "lqr"
"""


def vehicle_text(name: str, like: str) -> str:
    """Return the file of a vehicle under another name; of a robot one that reads it."""
    import inspect
    import sys

    from draisine.registry import find, is_robot

    if is_robot(like):
        return robot_text(name, like)
    vehicle = find("vehicle", like)
    source = inspect.getsource(sys.modules[vehicle.__module__])
    return re.sub(rf"\b{vehicle.__name__}\b", name, source)


def scenario_text(name: str, vehicle: str, many: bool = False) -> str:
    """Return the file of a scenario for a vehicle, which starts as that vehicle can; or of a study of
    `many` runs.
    """
    from draisine.model.names import label_units
    from draisine.scenario.first_run import first_start, needs_law
    from draisine.scenario.library import shipped_start
    from draisine.scenario.validate.vehicle import build_system

    system = build_system(vehicle)
    start = shipped_start(system) or first_start(system)
    first, value = next(iter(start.items()), ("yaw", 0.0))
    first_input = next(iter(system.model.inputs), "")
    if many:
        return _sweep_text(system, name, vehicle, start)
    return SCENARIO.substitute(
        name=name,
        title="A push" if "lean_rate" in start else "A first run",
        vehicle=vehicle,
        parameter=next((f"{n} = {x:g}" for n, x in system.parameters.items()), ""),
        initial="\n".join(f"{n} = {x}" for n, x in start.items()),
        law=LAW if needs_law(system, start) else indent(LAW, "# ", bool),
        input=first_input,
        effort=label_units(system.model, "inputs").get(first_input, "N"),
        first=first,
        value=value,
    )


def check_kind(kind: str, like: str, text: str) -> None:
    """Refuse to begin a sweep with a copy of what is none."""
    found = tomllib.loads(text).get("kind")
    if kind == "sweep" and found != "sweep":
        raise ParameterError(
            f"--from {like} is of the kind {found!r}; a sweep is copied from a sweep. `draisine new "
            "scenario` copies this one."
        )


def swapped_text(name: str, vehicle: str, like: str) -> str:
    """Return the file of a scenario for another vehicle, which starts with what that vehicle has; what was
    told of the first one alone is left out.
    """
    from draisine.scenario.library import accept, read_text
    from draisine.scenario.validate.vehicle import build_system

    model = build_system(vehicle).model
    tables = re.split(r"^(?=\[)", read_text(like), flags=re.MULTILINE)
    tables[0] = re.sub(r'^about = """.*?"""\n', "", tables[0], flags=re.MULTILINE | re.DOTALL)
    tables[0] = re.sub(r'^(title = ".*)"$', rf'\1, {vehicle}"', tables[0], flags=re.MULTILINE)
    kept = [one for one in tables if not re.match(r"\[(source|vehicle|\[expected|expected)\b", one)]
    kept.insert(1, f'[vehicle]\nname = "{vehicle}"\n\n')
    text = "".join(_fitting(one, model, vehicle) if "[initial" in one else one for one in kept)
    try:
        accept(name, f"{name}.toml", tomllib.loads(text))
    except DraisineError as error:
        raise ParameterError(
            f"{like} is not for {vehicle} as it stands; `draisine new scenario {name} --vehicle {vehicle}` "
            f"begins with the vehicle. {error}"
        ) from None
    return text


def _fitting(initial: str, model: "Model", vehicle: str) -> str:
    """Return how a scenario starts, with the first wheel of a vehicle in the place of one that it has
    not, and without values that it has not.
    """
    from draisine.model.names import state_units

    known = {*state_units(model), "mode", "place", "at_rest", "wheel", "centre", "on"}
    wheels = [wheel.name for wheel in model.wheels]
    lines = []
    for line in initial.splitlines(keepends=True):
        key = re.match(r"(\w+) *=", line)
        lines.append(
            f"# {line.rstrip()}  # {vehicle} has none\n" if key and key[1] not in known else line
        )
    return re.sub(
        r'\bwheel = "(\w+)"',
        lambda found: found[0] if found[1] in wheels else f'wheel = "{(*wheels, found[1])[0]}"',
        "".join(lines),
    )


def _sweep_text(system: "System", name: str, vehicle: str, start: dict[str, float]) -> str:
    """Return the file of a study: over what it starts with, and over one of its parameters, if there is
    one: gravity last, and no wheelbase.
    """
    first, value = list(start.items())[-1]
    numbers = [(n, x) for n, x in system.parameters.items() if x > 0.0 and n != "w"]
    chosen = sorted(numbers, key=lambda one: one[0] == "g")[:1]
    watched = next((n for n in ("lean", "pitch", "yaw") if n in system.outputs), first)
    return SWEEP.substitute(
        name=name,
        title="A study",
        vehicle=vehicle,
        initial="\n".join(f"{n} = {x}" for n, x in start.items()),
        first=first,
        second=watched,
        low=f"{0.5 * value:g}",
        high=f"{1.5 * value:g}",
        parameters="".join(
            f'"vehicle.parameters.{n}" = {{ low = {0.8 * x:g}, high = {1.2 * x:g}, count = 3 }}\n'
            for n, x in chosen
        ),
    )
