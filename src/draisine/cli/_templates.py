"""Templates of the files that `draisine new` writes; the unchanged files can be run."""

import re
import tomllib
from string import Template
from textwrap import indent
from typing import TYPE_CHECKING

from draisine.cli._robot import expand_xacro, write_robot_source
from draisine.errors import DraisineError, ParameterError

if TYPE_CHECKING:
    from draisine.model import Model
    from draisine.system.system import System

VEHICLE_TEMPLATE = '''"""NAME: a scooter without a rider. Change it into a machine of your own.

Draw the whole machine upright in its zero configuration, with x forward, y left and z up. Lengths are in
m, masses in kg, angles in rad. Try it:

    draisine show NAME.py
    draisine show NAME.py --plot NAME.png
    draisine eigenvalues NAME.py --speed 0:10:101
    draisine new scenario ride --vehicle NAME.py
"""

from typing import Annotated

from draisine.algebra.scalar import cos, sin
from draisine.model import Body, Model, Output, Revolute, Wheel, inertia


# Keyword arguments are the parameters. Those of the type `float` can be changed without deriving the
# equations again; those of the types int, bool and str select the structure. `draisine show` prints their
# units and meanings.
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
        # name, mass, centre of mass in the drawing, inertia about it
        bodies=[
            Body("frame", mB, (0.4 * w, 0.0, hB), inertia(0.5, 1.5, 1.2, xz=0.1)),
            Body("fork", 2.0, (0.95 * w, 0.0, 0.5), inertia(0.15, 0.15, 0.02)),
            Body("rear_wheel", 1.0, rear, inertia(0.004, 0.008, 0.004)),
            Body("front_wheel", 1.0, front, inertia(0.004, 0.008, 0.004)),
        ],
        # name, parent body, child body, axis, a point on the axis
        joints=[
            Revolute("steer", "frame", "fork", steer_axis, (w + c, 0.0, 0.0)),
            Revolute("rear_wheel", "frame", "rear_wheel", across, rear),
            Revolute("front_wheel", "fork", "front_wheel", across, front),
        ],
        # name, body, centre, axle, radius; other contacts are Blade and Pin
        contacts=[
            Wheel("rear", "rear_wheel", rear, across, r),
            Wheel("front", "front_wheel", front, across, r),
        ],
        gravity=(0.0, 0.0, -g),
        # quantities for initial values and results
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
"""Source code of an example vehicle; NAME is replaced by the name of the vehicle."""

SCENARIO_TEMPLATE = Template("""# A scenario: machine, initial state, duration. Try it:
#
#     draisine run $name.toml --plot $name.png --animate $name.html
#
# `draisine schema` prints all keys of scenario files.

kind = "run"
title = "$title"

[vehicle]
name = "$vehicle"  # see `draisine list vehicles`, or a file: "mine.py"
# parameters = { $parameter }  # see `draisine show $vehicle`

# Outputs, joints and their rates, in SI units or as "10deg"; others are zero.
[initial]
$initial

[run]
until = 5.0                       # s
dt = 0.01                         # s between samples

$law
# [[inputs]]                      # a pulse at a joint; for a constant input: [inputs] $input = 1.0
# shape = "step"
# input = "$input"
# value = 1.0                     # $effort
# start = 0.5
# end = 0.6

# [[expected]]                    # expected values; `draisine check $name.toml` compares the result
# title = "the speed stays almost constant"
# origin = "law"
# atol = 0.2
# [expected.values]
# "final $first" = $value
""")
"""Text of a scenario file of the kind `run`, with placeholders."""

SWEEP_TEMPLATE = Template("""# A sweep: the varied values, and the outputs of each run. Try it:
#
#     draisine run $name.toml --plot $name.png --out $name.nc
#
# For thousands of runs, use a store, which can be resumed: `draisine sweep $name.toml`.

kind = "sweep"
title = "$title"

[vehicle]
name = "$vehicle"  # see `draisine list vehicles`, or a file: "mine.py"

# Outputs, joints and their rates, in SI units or as "10deg"; others are zero.
[initial]
$initial

[run]
until = 2.0                       # s
dt = 0.01
integrator = "rk4"                # with equal steps, runs are computed side by side

[sweep]
outputs = ["final $first", "maximum $second"]  # also "peak lean_rate", "time when lean = 10deg" ...

# All combinations; other designs: list, one-at-a-time, latin-hypercube, sobol.
[sweep.between]
"initial.$first" = { low = $low, high = $high, count = 5 }
$parameters""")
"""Text of a scenario file of the kind `sweep`, with placeholders."""

LAW_TEMPLATE = """[[law]]                           # feedback that stabilises it; see `draisine list laws`
name = "lqr"
"""
"""Text of a control law table in a scenario file; commented out if the vehicle is stable without control."""


def write_vehicle_source(name: str, template_name: str, packages: str | None = None) -> str:
    """Return the source code of a copied vehicle with a new name, or of a vehicle that reads a robot file.

    `packages` is the folder of the packages that a robot file names.
    """
    import inspect
    import sys

    from draisine.registry import find, is_robot

    if template_name.lower().endswith(".xacro"):
        template_name = expand_xacro(name, template_name, packages)
    if is_robot(template_name):
        return write_robot_source(name, template_name, packages)
    vehicle = find("vehicle", template_name)
    source = inspect.getsource(sys.modules[vehicle.__module__])
    return re.sub(rf"\b{vehicle.__name__}\b", name, source)


def write_scenario_source(name: str, vehicle: str, is_sweep: bool = False) -> str:
    """Return a scenario (or with `is_sweep` a sweep) of a vehicle with feasible initial values."""
    from draisine.model.names import label_units
    from draisine.scenario.first_run import find_first_start, needs_law
    from draisine.scenario.library import find_shipped_start
    from draisine.scenario.validate.vehicle import build_system

    system = build_system(vehicle)
    start = find_shipped_start(system) or find_first_start(system)
    first, value = next(iter(start.items()), ("yaw", 0.0))
    first_input = next(iter(system.model.inputs), "")
    if is_sweep:
        return _write_sweep_source(system, name, vehicle, start)
    return SCENARIO_TEMPLATE.substitute(
        name=name,
        title="A push" if "lean_rate" in start else "A first run",
        vehicle=vehicle,
        parameter=next((f"{n} = {x:g}" for n, x in system.parameters.items()), ""),
        initial="\n".join(f"{n} = {x}" for n, x in start.items()),
        law=LAW_TEMPLATE if needs_law(system, start) else indent(LAW_TEMPLATE, "# ", bool),
        input=first_input,
        effort=label_units(system.model, "inputs").get(first_input, "N"),
        first=first,
        value=value,
    )


def check_template_kind(kind: str, template_name: str, text: str) -> None:
    """Raise `ParameterError` if a sweep is to be copied from a scenario of another kind."""
    copied = tomllib.loads(text).get("kind")
    if kind == "sweep" and copied != "sweep":
        raise ParameterError(
            f"--from {template_name} is a scenario of the kind {copied!r}, not a sweep. "
            "Copy it with `draisine new scenario`."
        )


def replace_vehicle(name: str, vehicle: str, template_name: str) -> str:
    """Return a scenario with its vehicle replaced, without source, description and expected values.

    Initial values that the new vehicle does not have are commented out.
    """
    from draisine.scenario.library import read_template, validate_scenario
    from draisine.scenario.validate.vehicle import build_system

    model = build_system(vehicle).model
    tables = re.split(r"^(?=\[)", read_template(template_name), flags=re.MULTILINE)
    tables[0] = re.sub(r'^about = """.*?"""\n', "", tables[0], flags=re.MULTILINE | re.DOTALL)
    tables[0] = re.sub(r'^(title = ".*)"$', rf'\1, {vehicle}"', tables[0], flags=re.MULTILINE)
    dropped = re.compile(r"\[(source|vehicle|\[expected|expected)\b")
    tables = [table for table in tables if not dropped.match(table)]
    tables.insert(1, f'[vehicle]\nname = "{vehicle}"\n\n')
    text = "".join(
        _adapt_initial_values(table, model, vehicle) if "[initial" in table else table
        for table in tables
    )
    try:
        validate_scenario(name, f"{name}.toml", tomllib.loads(text))
    except DraisineError as error:
        raise ParameterError(
            f"The scenario {template_name} cannot be used with the vehicle {vehicle}. `draisine "
            f"new scenario {name} --vehicle {vehicle}` writes a scenario of this vehicle instead. "
            f"{error}"
        ) from None
    return text


def _adapt_initial_values(initial: str, model: "Model", vehicle: str) -> str:
    """Return the initial values of a scenario, adapted to another vehicle.

    Unknown values are commented out, and an unknown wheel is replaced by the first wheel of the vehicle.
    """
    from draisine.model.names import state_units

    keys = {*state_units(model), "mode", "place", "at_rest", "wheel", "centre", "on"}
    wheels = [wheel.name for wheel in model.wheels]
    lines = []
    for line in initial.splitlines(keepends=True):
        key = re.match(r"(\w+) *=", line)
        lines.append(
            f"# {line.rstrip()}  # {vehicle} does not have it\n"
            if key and key[1] not in keys
            else line
        )
    return re.sub(
        r'\bwheel = "(\w+)"',
        lambda match: match[0] if match[1] in wheels else f'wheel = "{(*wheels, match[1])[0]}"',
        "".join(lines),
    )


def _write_sweep_source(system: "System", name: str, vehicle: str, start: dict[str, float]) -> str:
    """Return a sweep over the last initial value and one positive parameter of a vehicle."""
    first, value = list(start.items())[-1]
    # A changed wheelbase `w` may contradict other dimensions, so leave it out. Take gravity only if
    # nothing else remains.
    candidates = [(n, x) for n, x in system.parameters.items() if x > 0.0 and n != "w"]
    chosen = sorted(candidates, key=lambda parameter: parameter[0] == "g")[:1]
    watched = next((n for n in ("lean", "pitch", "yaw") if n in system.outputs), first)
    return SWEEP_TEMPLATE.substitute(
        name=name,
        title="A sweep",
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
