"""`draisine new`."""

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
    force: Overwrite = False,
) -> None:
    """Write a file to begin with, which runs as it is: a vehicle (.py), a scenario or a study of many
    runs (.toml).

    :param kind: What to begin: vehicle, scenario or sweep.
    :param name: Its name; the file is called so.
    :param vehicle: Of a scenario or a sweep: the vehicle's name or file, also in the place of that of
        --from; a bicycle if not given.
    :param like: Another one that is copied, to be changed: a scenario, ramp-jump, or a vehicle, segway, or
        a robot, FILE.urdf or FILE.xml (MJCF).
    """
    from draisine.cli import _templates as templates
    from draisine.cli._keep import tell_file
    from draisine.codegen.files import write_text
    from draisine.errors import DataError, ParameterError
    from draisine.scenario.library import read_text

    if not name.replace("-", "_").isidentifier() or (kind == "vehicle" and "-" in name):
        plain = re.sub(r"\W", "_", Path(name).stem)
        raise ParameterError(
            f"{name!r} is no name for a {kind}: take letters, digits and underscores, no ending. Did you "
            f"mean draisine new {kind} {plain}?"
        )
    path = Path(f"{name}.{'py' if kind == 'vehicle' else 'toml'}")
    if os.path.exists(path) and not force:
        raise DataError(f"{path}: is there already; take another name, or replace it by --force.")
    if kind == "vehicle" and vehicle is not None:
        raise ParameterError(f"a vehicle is copied by --from {vehicle}; --vehicle is a scenario's.")
    if kind == "vehicle":
        text = (
            templates.vehicle_text(name, like) if like else templates.VEHICLE.replace("NAME", name)
        )
    elif like is not None:
        text = read_text(like) if vehicle is None else templates.swapped_text(name, vehicle, like)
        templates.check_kind(kind, like, text)
    else:
        text = templates.scenario_text(name, vehicle or "whipple", kind == "sweep")
    with tell_file(kind, path):
        write_text(text, path)
    print(f"try: draisine {'show' if kind == 'vehicle' else 'run'} {path}")
