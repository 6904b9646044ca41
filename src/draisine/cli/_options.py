"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

Set = Annotated[
    list[str] | None,
    Parameter(name="--set", help="Change a parameter: --set mB=90 --set lam=18deg."),
]
ParameterSet = Annotated[
    str | None, Parameter(help="Take a parameter set of the vehicle; `draisine list sets`.")
]
Out = Annotated[Path | None, Parameter(help="Write the data (.nc, .zarr, .csv).")]
Plot = Annotated[Path | None, Parameter(help="Write a figure (.png, .svg, .pdf).")]
Json = Annotated[bool, Parameter(help="Print one JSON object instead of a table.")]


EXAMPLES = {
    "--set": "--set mB=90",
    "--initial": "--initial lean=10deg",
    "--mode": "--mode front=open",
    "--phase": "--phase 270deg",
}
"""How options that give values to names are written."""


def span(option: str, text: str, example: str) -> tuple[float, float, int]:
    """Return what LOW:HIGH:COUNT stands for."""
    from draisine.errors import ParameterError
    from draisine.model.quantity import number

    try:
        low, high, count = text.split(":")
        return number(low), number(high), int(count)
    except ValueError:
        raise ParameterError(f"{option} {text}: write LOW:HIGH:COUNT, as in {example}.") from None


def assignments(option: str, given: list[str] | None) -> dict[str, Any]:
    """Return what options NAME=VALUE give: numbers where they are numbers, else text."""
    from draisine.errors import ParameterError

    found: dict[str, Any] = {}
    for text in given or []:
        name, sign, value = text.partition("=")
        if not sign or not name.strip() or not value.strip():
            raise ParameterError(f"{option} {text}: write NAME=VALUE, as in {EXAMPLES[option]}.")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            found[name.strip()] = value.strip()
    return found
