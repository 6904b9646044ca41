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
        "rate",
        "observe",
        "project",
        "initial",
        "rows",
        "enter",
        "frame",
        "free",
        "variation",
        "simulate",
    ] = "rate",
    set: Set = None,
    state: Annotated[list[str] | None, Parameter(name="--state")] = None,
    mode: Annotated[list[str] | None, Parameter(name="--mode")] = None,
    formulation: str = "projected",
    form: str | None = None,
    detail: Literal["short", "full"] = "short",
    linear: bool = False,
    out: Path | None = None,
) -> None:
    """Write a vehicle's equations: as a paper to read, or one of its programs as source code.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param as_: As source code: c, python, javascript, jax, latex or json. To read: paper, which is LaTeX
        or what the ending of --out says; html, markdown, sympy, mathematica, maple or matlab.
    :param program: Which equations: rate is the right-hand side of the motion, observe all that can be seen;
        simulate is a whole simulator, in c or javascript, and --out its folder.
    :param set: Choose structure or give a parameter: --set slope=10deg.
    :param state: Where a simulator starts: --state forward_speed=4.6.
    :param mode: The status of a contact: --mode front=open.
    :param formulation: Another derivation, as it stands, all contacts closed; `draisine list formulations`.
    :param form: Another parametrisation of the paper, with its frame and symbols: thesis, for the bicycle.
    :param detail: How much the paper has: full adds multipliers and accelerations.
    :param linear: The paper has the linear equations of a bicycle that runs straight, as formulas.
    :param out: Write to this file instead of the screen.
    """
    from draisine.experiment.simulator import write_simulator_files
    from draisine.scenario.validate.vehicle import build_system
    from draisine.system.equations import (
        page_languages,
        write_equations,
        write_page,
    )

    system, statuses = build_system(vehicle, assignments("--set", set)), assignments("--mode", mode)
    if program == "simulate":
        made = write_simulator_files(system, as_, out, assignments("--state", state), statuses)
        print("\n".join(f"simulator: {path}" for path in made))
        return
    if as_ in page_languages():
        suffix = "" if out is None else out.suffix
        text = write_page(system, as_, statuses, form, detail == "full", linear, suffix)
    else:
        text = write_equations(system, as_, program, statuses, formulation)
    if out is None:
        print(text, end="" if text.endswith("\n") else "\n")
        return
    from draisine.results.store import write_text

    write_text(text, out)
    print(f"equations: {out}")
