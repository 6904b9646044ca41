"""`draisine equations`."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from draisine.cli._options import Set, assignments


def equations(
    vehicle: str,
    /,
    *,
    as_: Annotated[str, Parameter(name="--as")] = "c",
    program: Literal[
        "rate", "observe", "project", "initial", "rows", "enter", "frame", "free", "variation"
    ] = "rate",
    set: Set = None,
    mode: Annotated[list[str] | None, Parameter(name="--mode")] = None,
    formulation: str = "projected",
    out: Path | None = None,
) -> None:
    """Write a vehicle's equations as source code: c, python, javascript, jax, latex or json.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param as_: The language.
    :param program: Which equations: rate is the right-hand side of the motion, observe all that can be seen.
    :param set: Choose structure or give a parameter: --set slope=10deg.
    :param mode: The status of a contact: --mode front=open.
    :param formulation: Another derivation, as it stands, all contacts closed; `draisine list formulations`.
    :param out: Write to this file instead of the screen.
    """
    from draisine.experiment.equations import write_equations

    chosen, statuses = assignments("--set", set), assignments("--mode", mode)
    text = write_equations(vehicle, as_, program, chosen, statuses, formulation)
    if out is None:
        print(text, end="" if text.endswith("\n") else "\n")
        return
    from draisine.results.store import write_text

    write_text(text, out)
    print(f"equations: {out}")
