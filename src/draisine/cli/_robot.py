"""The file of a vehicle that reads a robot's, as `draisine new vehicle NAME --from FILE` writes it."""

import warnings
from collections.abc import Mapping
from json import dumps
from pathlib import Path
from string import Template
from textwrap import wrap
from typing import TYPE_CHECKING

from draisine.errors import FileWarning

if TYPE_CHECKING:
    from draisine.interop.robots.guess import Guess, RollingLink
    from draisine.interop.robots.robot import Robot

ROBOT = Template('''"""$name: the robot of $file.

What of it rolls, gives and is held is told here. Try it:

    draisine show $name.py --plot $name.png
    draisine eigenvalues $name.py
    draisine new scenario drive --vehicle $name.py
"""

from pathlib import Path
from typing import Annotated

$imports

FILE = Path(__file__).parent / $path

$tables

def $name(
    *,
    g: Annotated[float, "m/s2", "gravity"] = $gravity,$parameters
) -> Model:
    """Return the robot."""$springs
    return $read(FILE, $given)(g=g)
''')

SPRUNG = """
    springs = {
        joint: {"spring": stiffness * k, "damper": damping * c} for joint, (k, c) in SPRINGS.items()
    }"""
"""How springs come from their numbers and two parameters."""

PARAMETERS = """
    stiffness: Annotated[float, "", "of all springs, against SPRINGS"] = 1.0,
    damping: Annotated[float, "", "of all dampers, against SPRINGS"] = 1.0,"""
"""What these are."""

COMMENTS = {
    "BASE": """\
# What the root link of the file can do: "SE(3)" moves freely, "fixed" is bolted to the world, as a root link
# called `world` is; `base` of `read_urdf`.
""",
    "TYRE": """\
# Wheels that lean, spread or turn against one another cannot all roll without slip: these have side
# forces of cornering times load times slip, after a length of relaxation. `draisine list tyres`.
""",
    "WHEELS": """\
# Links that roll, with their radii in m, as the file suggests: look them over. `Ball(0.03)` touches
# anywhere; on a link that is fixed to the base it is a caster, and slides.
""",
    "SPRINGS": """\
# Joints that give: spring and damper in N/m and N s/m or, of hinges, N m/rad and N m s/rad; guessed so
# that they sag by a tenth of a wheel's radius.
""",
    "HELD": """\
# Joints that servos hold as they are drawn; other motions r(t) are in draisine.model.motion. One that is
# taken out of here moves freely, and has an input of its name.
""",
}

SKIDS = """\
# Rolling without slip, these wheels go straight ahead only. To steer by skidding they need tyres that
# slip both ways: RobotWheel($radius, TYRE) in the place of $radius, with
# TYRE = BrushTyre(stiffness=10.0, friction=0.8, relaxation=$radius), and
# from draisine.interop.robots.robot import RobotWheel
# from draisine.mechanics.forces.brush_tyre import BrushTyre
"""
"""What is said of wheels that leave a machine no turn."""

HOMES = {
    "RobotWheel": "draisine.interop.robots.robot",
    "read_mjcf": "draisine.interop.robots.mjcf",
    "read_urdf": "draisine.interop.robots.urdf",
    "LoadTyre": "draisine.mechanics.forces.load_tyre",
    "Model": "draisine.model",
    "uniform": "draisine.model.motion",
    "Ball": "draisine.model.surface",
}
"""Where what such a file names comes from."""


def robot_text(name: str, file: str) -> str:
    """Return the file of a vehicle that reads a robot beside it."""
    from draisine.interop.robots.guess import guess
    from draisine.interop.robots.mjcf import parse_mjcf
    from draisine.interop.robots.urdf import parse_urdf

    urdf = file.lower().endswith(".urdf")
    robot = parse_urdf(file) if urdf else parse_mjcf(file)
    found = guess(robot)
    tyres, skids = _ideal_wheels(robot, found)
    tables = ({"BASE": f"BASE = {dumps(robot.base)}\n"} if urdf else {}) | _tables(found, tyres)
    _tell_guesses(found, tables)
    if skids:
        radius = f"{_largest(found):g}"
        tables["WHEELS"] += Template(SKIDS).substitute(radius=radius)
    text = "\n".join([*(COMMENTS[key] + each for key, each in tables.items()), *_motors(robot)])
    read = "read_urdf" if urdf else "read_mjcf"
    sprung = "SPRINGS" in tables
    given = " | ".join(["springs"] * sprung + ["HELD"] * ("HELD" in tables))
    used = [one for one in HOMES if one in ("Model", read) or f"{one}(" in _code(text)]
    return ROBOT.substitute(
        name=name,
        file=Path(file).name,
        path=dumps(Path(file).as_posix()),
        imports="\n".join(f"from {HOMES[one]} import {one}" for one in used),
        tables=text,
        gravity=f"{robot.gravity:g}",
        read=read,
        parameters=PARAMETERS * sprung,
        springs=SPRUNG * sprung,
        given=", ".join(["WHEELS"] + [given] * bool(given) + ["base=BASE"] * urdf),
    )


def _motors(robot: "Robot") -> list[str]:
    """Return a comment on what the motors of a robot give, where its file tells it."""
    told = [
        f"{link.joint} {link.effort:g} {'N' if link.kind == 'slide' else 'N m'}"
        for link in robot.links
        if link.effort > 0.0
    ]
    text = f"Motors give at most {', '.join(told)}. Inputs and laws know no limits here."
    return ["\n".join(f"# {line}" for line in wrap(text, 105)) + "\n"] if told else []


def _tell_guesses(found: "Guess", tables: Mapping[str, str]) -> None:
    """Tell the numbers that are in no file."""
    from draisine.interop.robots.guess import AS_DISC

    told = [
        f"{', '.join(found.springs)}: no spring in the file; SPRINGS has guessed ones."
        if found.springs
        else "",
        "no tyres in the file; TYRE is a guessed one." if "TYRE" in tables else "",
        *(
            f"{n}: its radius is guessed, as {one.reason}."
            for n, one in found.wheels.items()
            if one.reason == AS_DISC
        ),
    ]
    for note in filter(None, told):
        warnings.warn(note, FileWarning, stacklevel=3)


def _code(text: str) -> str:
    """Return a file without its lines of comment."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def _ideal_wheels(robot: "Robot", found: "Guess") -> tuple[bool, bool]:
    """Return whether wheels that all roll without slip lock one another as the machine is drawn, and
    whether else they leave it no turn.
    """
    from draisine.analysis.connection.case import connection_case
    from draisine.interop.robots.robot import robot_vehicle
    from draisine.system.system import compile

    turning = {link.name for link in robot.links if link.kind == "hinge"}
    discs = {name: one.radius for name, one in found.wheels.items() if name in turning}
    if not discs:
        return False, False
    system = compile(robot_vehicle(robot, discs))
    lock, floats = bool(system.survey().singular), robot.base != "fixed"
    return lock, floats and not lock and connection_case(system).kind == "over-constrained"


def _largest(found: "Guess") -> float:
    """Return the radius of the largest wheel."""
    return max((one.radius for one in found.wheels.values()), default=0.0)


def _tables(found: "Guess", tyres: bool) -> dict[str, str]:
    """Return what such a file declares, by name: tyres, wheels, springs, and joints that are held."""
    tables = (
        {"TYRE": f"TYRE = LoadTyre(cornering=10.0, camber=0.0, relaxation={_largest(found):g})\n"}
        if tyres
        else {}
    )
    wheels = {
        f"{dumps(name)}: {_wheel(one, tyres)}": one.reason for name, one in found.wheels.items()
    }
    tables["WHEELS"] = _table("WHEELS", wheels or {'# "left_wheel": 0.1': ""})
    if found.springs:
        lines = {f"{dumps(n)}: {tuple(one)}": "" for n, one in found.springs.items()}
        tables["SPRINGS"] = _table("SPRINGS", lines)
    if found.held:
        lines = {f'{dumps(name)}: {{"motion": uniform(0.0)}}': "" for name in found.held}
        tables["HELD"] = _table("HELD", lines)
    return tables


def _wheel(wheel: "RollingLink", tyres: bool) -> str:
    """Return what a link rolls on, as it is written."""
    surface = f"Ball({wheel.radius:g})" if wheel.shape == "ball" else f"{wheel.radius:g}"
    given = ["tyre=TYRE"] if tyres and wheel.shape == "disc" else []
    given += [f"centre={wheel.centre}"] if any(wheel.centre) else []
    return f"RobotWheel({', '.join([surface, *given])})" if given else surface


def _table(name: str, lines: Mapping[str, str]) -> str:
    """Return a table with a line for each entry, and what is said of it."""
    told = (f"    {line}," + (f"  # {why}" if why else "") for line, why in lines.items())
    return "\n".join([f"{name} = {{", *told, "}\n"])
