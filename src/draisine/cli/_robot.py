"""Template of a vehicle file that reads a robot description (`draisine new vehicle NAME --from FILE`)."""

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

ROBOT_TEMPLATE = Template('''"""$name: the robot of $file.

This file lists its wheels, springs and held joints. Try it:

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
    return $read(FILE, $arguments)(g=g)
''')
"""Source code of a vehicle file for a robot, with placeholders."""

SPRING_CODE = """
    springs = {
        joint: {"spring": stiffness * k, "damper": damping * c} for joint, (k, c) in SPRINGS.items()
    }"""
"""Source code that scales all springs and dampers by two parameters."""

SPRING_PARAMETERS = """
    stiffness: Annotated[float, "", "factor of all springs in SPRINGS"] = 1.0,
    damping: Annotated[float, "", "factor of all dampers in SPRINGS"] = 1.0,"""
"""Source code of the two parameters that `SPRING_CODE` uses."""

TABLE_COMMENTS = {
    "BASE": """\
# The root link: "SE(3)" moves freely, "fixed" is attached to the world (as is a root link called `world`).
# See `base` of `read_urdf`.
""",
    "TYRE": """\
# These wheels cannot all roll without slip in every motion (skid steering, a suspension that changes the
# track), so they have tyres that slip along and across their heading. The force is stiffness times load times
# slip at small slips, and friction times load at most. Measure `friction`. See `draisine list tyres`.
""",
    "WHEELS": """\
# Rolling links with their radii in m, guessed from the file: check them. `Ball(0.03)` touches with any
# point; on a link that cannot turn about a horizontal axle it is a caster, and slides.
""",
    "SPRINGS": """\
# Compliant joints: spring and damper in N/m and N s/m or, for hinges, N m/rad and N m s/rad; guessed so
# that they deflect by a tenth of a wheel's radius under the weight.
""",
    "HELD": """\
# Joints that servos keep at zero; other motions r(t) are in draisine.model.motion. A joint that is
# removed here moves freely, and has an input of its name.
""",
}
"""Comment above each table in a vehicle file for a robot, by name of the table."""

IMPORT_MODULES = {
    "RobotWheel": "draisine.interop.robots.robot",
    "read_mjcf": "draisine.interop.robots.mjcf",
    "read_urdf": "draisine.interop.robots.urdf",
    "BrushTyre": "draisine.mechanics.forces.brush_tyre",
    "Model": "draisine.model",
    "uniform": "draisine.model.motion",
    "Ball": "draisine.model.surface",
}
"""Module from which a vehicle file imports each name."""


def write_robot_source(name: str, file: str, packages: str | None = None) -> str:
    """Return the source code of a vehicle that reads a robot file.

    Warnings report guessed values, and problems that prevent a simulation before the user has completed the
    file. The file itself can always be written.

    Parameters
    ----------
    name
        Name of the vehicle.
    file
        Path of the robot file, as it will be written in the vehicle file.
    packages
        Folder with the packages of `package://` addresses.
    """
    from draisine.interop.robots.document import is_urdf
    from draisine.interop.robots.guess import guess
    from draisine.interop.robots.mjcf import parse_mjcf
    from draisine.interop.robots.urdf import parse_urdf

    urdf = is_urdf(file) or file.lower().endswith(".urdf")
    robot = parse_urdf(file, packages=packages) if urdf else parse_mjcf(file)
    guesses = guess(robot)
    needs_tyres = _needs_tyres(robot, guesses)
    tables = {"BASE": f"BASE = {dumps(robot.base)}\n"} if urdf else {}
    tables |= _write_tables(guesses, needs_tyres)
    _warn_of_guesses(guesses, tables, Path(file).stem, packages is not None)
    commented = [TABLE_COMMENTS[name] + table for name, table in tables.items()]
    text = "\n".join([*commented, *_describe_motors(robot)])
    read = "read_urdf" if urdf else "read_mjcf"
    has_springs = "SPRINGS" in tables
    joints = " | ".join(["springs"] * has_springs + ["HELD"] * ("HELD" in tables))
    names = [n for n in IMPORT_MODULES if n in ("Model", read) or f"{n}(" in _remove_comments(text)]
    return ROBOT_TEMPLATE.substitute(
        name=name,
        file=Path(file).name,
        path=dumps(Path(file).as_posix()),
        imports="\n".join(f"from {IMPORT_MODULES[name]} import {name}" for name in names),
        tables=text,
        gravity=f"{robot.gravity:g}",
        read=read,
        parameters=SPRING_PARAMETERS * has_springs,
        springs=SPRING_CODE * has_springs,
        arguments=", ".join(["WHEELS"] + [joints] * bool(joints) + ["base=BASE"] * urdf),
    )


def expand_xacro(name: str, file: str, packages: str | None = None) -> str:
    """Expand the macros of a xacro file into NAME.urdf and return the name of that file.

    Parameters
    ----------
    name
        Name of the vehicle, and of the new file.
    file
        Name of the xacro file.
    packages
        Folder with the packages that `$(find PACKAGE)` and `package://` name.
    """
    from draisine.codegen.files import write_text
    from draisine.errors import DataError, check_file

    check_file(file)
    try:
        import xacro
        from xacro import substitution_args
    except ImportError:
        raise DataError(
            f"{file}: the package xacro expands its macros and is not installed: pip install xacro."
        ) from None
    if packages is not None:
        # Without ROS, xacro has no public way to locate the packages of $(find PACKAGE).
        substitution_args._eval_find = lambda package: str(Path(packages) / package)
    try:
        text = xacro.process_file(file).toprettyxml(indent="  ")
    except Exception as error:  # xacro evaluates Python expressions, which raise anything
        raise DataError(f"{file}: xacro cannot expand the macros of this file: {error}.") from error
    path = f"{name}.urdf"
    write_text(text, Path(path))
    return path


def _describe_motors(robot: "Robot") -> list[str]:
    """Return a comment about the effort limits of motors, if the robot file contains them."""
    limits = [
        f"{link.joint} {link.motor.torque:g} {'N' if link.kind == 'slide' else 'N m'}"
        for link in robot.links
        if link.motor is not None
    ]
    text = (
        f"Limits of the motors: {', '.join(limits)}. Inputs and control laws are limited to them; "
        '{"JOINT": {"motor": None}} among the joints removes a limit.'
    )
    return ["\n".join(f"# {line}" for line in wrap(text, 105)) + "\n"] if limits else []


def _warn_of_guesses(
    guesses: "Guess", tables: Mapping[str, str], name: str, has_packages: bool
) -> None:
    """Warn about guessed values, and about wheel-like parts without a contact.

    `name` is that of the robot file. `has_packages` is whether the user has named a folder of packages.
    """
    from draisine.interop.robots.guess import IN_MESH, MECANUM_NOTE

    notes = list(guesses.notes)
    if "mecanum" in name.lower() and not any("mecanum" in note for note in notes):
        notes.append(MECANUM_NOTE)
    is_mesh_missing = any(IN_MESH in wheel.reason for wheel in guesses.unsure.values())
    if is_mesh_missing and not has_packages:
        notes.append("Meshes are searched in the folder of the file; --packages names another one.")
    if guesses.springs:
        joints = ", ".join(guesses.springs)
        notes.append(f"{joints}: the file has no springs; those in SPRINGS are guessed.")
    if "TYRE" in tables:
        notes.append("The file has no tyres; TYRE is guessed.")
    for note in notes:
        warnings.warn(note, FileWarning, stacklevel=3)


def _remove_comments(text: str) -> str:
    """Return source code without comment lines."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def _needs_tyres(robot: "Robot", guesses: "Guess") -> bool:
    """Return whether ideally rolling wheels lock the robot, or prevent it from turning.

    If the robot cannot be assembled, a warning is issued instead of an error, so that the user can complete
    the file.
    """
    from draisine.analysis.connection.case import connection_case
    from draisine.errors import DraisineError
    from draisine.interop.robots.robot import robot_vehicle, turns_about_axle
    from draisine.system.system import compile

    turning = {link.name for link in robot.links if turns_about_axle(link)}
    discs = {name: wheel.radius for name, wheel in guesses.wheels.items() if name in turning}
    try:
        system = compile(robot_vehicle(robot, discs))
        if not discs:
            return False
        if system.survey().singular:
            return True
        return robot.base != "fixed" and connection_case(system).kind == "over-constrained"
    except DraisineError as error:
        warnings.warn(
            f"The machine cannot be assembled as it is: {error}", FileWarning, stacklevel=3
        )
        return bool(discs)


def _find_largest_radius(guesses: "Guess") -> float:
    """Return the radius (m) of the largest guessed wheel."""
    return max((wheel.radius for wheel in guesses.wheels.values()), default=0.0)


def _write_tables(guesses: "Guess", with_tyres: bool) -> dict[str, str]:
    """Return the source code of the tables of a vehicle file (tyre, wheels, springs, held joints) by name."""
    tables = {}
    if with_tyres:
        # The relaxation length of a tyre is about the radius of the wheel.
        relaxation = f"{_find_largest_radius(guesses):g}"
        tables["TYRE"] = (
            f"TYRE = BrushTyre(stiffness=10.0, friction=0.8, relaxation={relaxation})\n"
        )
    wheels = {
        f"{dumps(name)}: {_write_wheel(wheel, with_tyres)}": wheel.reason
        for name, wheel in guesses.wheels.items()
    }
    # Write a wheel of unknown radius as a comment, with an initial guess of the radius.
    wheels |= {
        f"# {dumps(name)}: {_write_wheel(wheel, with_tyres)}": wheel.reason
        for name, wheel in guesses.unsure.items()
    }
    tables["WHEELS"] = _write_table("WHEELS", wheels or {'# "left_wheel": 0.1': ""})
    if guesses.springs:
        lines = {f"{dumps(n)}: {tuple(spring)}": "" for n, spring in guesses.springs.items()}
        tables["SPRINGS"] = _write_table("SPRINGS", lines)
    if guesses.held:
        lines = {f'{dumps(name)}: {{"motion": uniform(0.0)}}': "" for name in guesses.held}
        tables["HELD"] = _write_table("HELD", lines)
    return tables


def _write_wheel(wheel: "RollingLink", with_tyres: bool) -> str:
    """Return the source code of one wheel."""
    surface = f"Ball({wheel.radius:g})" if wheel.shape == "ball" else f"{wheel.radius:g}"
    arguments = ["tyre=TYRE"] if with_tyres and wheel.shape == "disc" else []
    arguments += [f"centre={wheel.centre}"] if any(wheel.centre) else []
    return f"RobotWheel({', '.join([surface, *arguments])})" if arguments else surface


def _write_table(name: str, entries: Mapping[str, str]) -> str:
    """Return the source code of a table with one line per entry; each line has a comment."""
    lines = [f"    {line}," + (f"  # {why}" if why else "") for line, why in entries.items()]
    return "\n".join([f"{name} = {{", *lines, "}\n"])
