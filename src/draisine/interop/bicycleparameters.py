"""Reading and writing of BicycleParameters files for the vehicle `whipple`."""

from pathlib import Path

from draisine.codegen.files import write_text
from draisine.errors import DataError
from draisine.system.system import System
from draisine.vehicles.bicycle import BENCHMARK, from_values, read_bicycle

__all__ = ["from_values", "read_bicycle", "write_bicycle"]


def write_bicycle(
    bicycle: System, path: str | Path, *, rider: bool = True, speed: float = 5.0
) -> None:
    """Write the 26 benchmark parameters of a bicycle to a BicycleParameters file.

    Parameters
    ----------
    bicycle
        Compiled vehicle `whipple`.
    path
        Path of the text (`.txt`) or YAML (`.yml`, `.yaml`) file.
    rider
        Whether the rear frame includes a rider (stored in YAML files only).
    speed
        Forward speed to be stored in the file, m/s.

    Raises
    ------
    DataError
        If the bicycle has properties that the 26 parameters do not describe (slope, tyres, upper body).
    """
    path = Path(path)
    more = [name for name in bicycle.parameters if name not in BENCHMARK]
    missing = [name for name in BENCHMARK if name not in bicycle.parameters]
    if missing or more:
        reason = f"has no {missing[0]!r}" if missing else f"also has {more[0]!r}"
        raise DataError(
            f"{path}: BicycleParameters describes the rigid Whipple bicycle, but this machine {reason}."
        )
    values = {name: float(bicycle.parameters[name]) for name in BENCHMARK} | {"v": float(speed)}
    suffix = path.suffix.lower()
    if suffix == ".txt":
        write_text("".join(f"{name} = {x!r}\n" for name, x in values.items()), path)
    elif suffix in (".yml", ".yaml"):
        head = f"parameterization: Meijaard2007\nrider: {str(rider).lower()}\nvalues:\n"
        write_text(head + "".join(f"  {name}: {x!r}\n" for name, x in values.items()), path)
    else:
        raise DataError(f"{path}: files of BicycleParameters end with .txt or .yml.")
