"""`draisine new`: writes templates of vehicles, scenarios and sweeps."""

import os
import re
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from draisine.cli._options import Overwrite


def new(
    kind: Literal["vehicle", "scenario", "sweep"],
    name: str,
    /,
    *,
    vehicle: str | None = None,
    like: Annotated[str | None, Parameter(name="--from")] = None,
    packages: str | None = None,
    force: Overwrite = False,
) -> None:
    """Write a template that runs as it is: a vehicle (.py), a scenario or a sweep of many runs (.toml).

    Parameters
    ----------
    kind
        vehicle, scenario or sweep.
    name
        Name of the new file, without suffix.
    vehicle
        Vehicle of a scenario or sweep, by name or file; it also replaces the vehicle of --from. Default:
        the bicycle.
    like
        Object to copy: a scenario (ramp-jump), a vehicle (segway), or a robot file (FILE.urdf, FILE.xacro,
        or FILE.xml in MJCF).
    packages
        Folder with the packages whose meshes a robot file names (package://...); the radius of a wheel may
        only be in its mesh.
    """
    from draisine.cli import _templates as templates
    from draisine.cli._files import report_written_file
    from draisine.codegen.files import write_text
    from draisine.errors import DataError, ParameterError
    from draisine.scenario.library import read_template

    if not name.replace("-", "_").isidentifier() or (kind == "vehicle" and "-" in name):
        identifier = re.sub(r"\W", "_", Path(name).stem)
        raise ParameterError(
            f"{name!r} is not a valid name of a {kind}. Use letters, digits and underscores, without a "
            f"suffix. Did you mean draisine new {kind} {identifier}?"
        )
    path = Path(f"{name}.{'py' if kind == 'vehicle' else 'toml'}")
    if os.path.exists(path) and not force:
        raise DataError(f"{path} exists already. Use another name, or replace it with --force.")
    if kind == "vehicle" and vehicle is not None:
        raise ParameterError(
            f"--vehicle applies to scenarios only. To copy a vehicle, use --from {vehicle}."
        )
    if kind == "vehicle":
        text = (
            templates.write_vehicle_source(name, like, packages)
            if like
            else templates.VEHICLE_TEMPLATE.replace("NAME", name)
        )
    elif like is not None:
        text = (
            read_template(like)
            if vehicle is None
            else templates.replace_vehicle(name, vehicle, like)
        )
        templates.check_template_kind(kind, like, text)
    else:
        text = templates.write_scenario_source(name, vehicle or "whipple", kind == "sweep")
    with report_written_file(kind, path):
        write_text(text, path)
    print(f"try: draisine {'show' if kind == 'vehicle' else 'run'} {path}")
