"""Export of vehicles as Simulink blocks: C source code of a level-2 MEX S-function.

Compile the code in MATLAB with `mex sfunction.c NAME.c -output NAME`; MATLAB does not need draisine.
"""

from pathlib import Path
from typing import Any

from draisine.codegen.files import write_text
from draisine.interop.cosimulation import Unit, write_unit
from draisine.system.state import State
from draisine.system.system import System


def export_sfunction(
    system: System, start: State, folder: str | Path, **options: Any
) -> list[Path]:
    """Write a compiled vehicle as C source code of a Simulink S-function.

    Parameters
    ----------
    system
        Compiled vehicle.
    start
        Initial state.
    folder
        Folder of the files; created if necessary.
    **options
        Contact mode `mode`, control law `law`, `inputs`, and the largest step `dt` (default 1/1024 s).

    Returns
    -------
    list of Path
        The written files.

    Examples
    --------
    >>> import draisine, tempfile
    >>> disc = draisine.compile("rolling_disc")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = export_sfunction(disc, draisine.state(disc, forward_speed=2.0), folder)
    >>> print(*[path.name for path in made])
    rolling_disc.h rolling_disc.c unit.h sfunction.c unit.c sensors.c rolling_disc_ports.m
    """
    unit = write_unit(system, start, "sfunction", **options)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = unit.files | {f"{unit.name}_ports.m": _ports(unit)}
    for name, text in texts.items():
        write_text(text, folder / name)
    return [folder / name for name in texts]


def _ports(unit: Unit) -> str:
    """Return a MATLAB script that lists the signals in the order of the ports, and the command to compile."""
    lines = [f"% mex sfunction.c {unit.name}.c -output {unit.name}"]
    for kind in ("parameter", "input", "output"):
        lines.append(f"{unit.name}.{kind}s = {{")
        for _, port in unit.ports_of(kind):
            start = "" if kind == "output" else f" = {port.start!r}"
            lines.append(f"    '{port.name}' % {port.unit or '1'}{start}: {port.meaning}")
        lines.append("};")
    return "\n".join([*lines, ""])
