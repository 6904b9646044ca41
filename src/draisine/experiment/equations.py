"""Equations of motion of a vehicle as source code (one traced program) or as typeset equations."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from draisine.algebra.trace import Expr
from draisine.codegen.program import Program, trace_program
from draisine.errors import ParameterError, UnknownNameError, expect_known
from draisine.mechanics.formulations._plug import Evaluator, interpret
from draisine.model.names import label_units
from draisine.reading.document import find_printer
from draisine.registry import find, is_file, names
from draisine.system.system import System

Inputs = Mapping[str, Sequence[Expr]]
"""Type of the traced inputs of a program: name -> expressions."""
Outputs = Mapping[str, Sequence[Any]]
"""Type of the traced outputs of a program: name -> values."""


def list_languages() -> tuple[str, ...]:
    """Return the names of all output formats of equations: programming languages, JSON, typeset pages.

    >>> "c" in list_languages(), "paper" in list_languages()
    (True, True)
    """
    return (*(name for name in names("target") if name != "native"), "json", *list_page_languages())


def list_page_languages(includes_paper: bool = False) -> tuple[str, ...]:
    """Return the languages of typeset equations: "paper" and the names of the printers.

    Some names, such as "c", denote a printer and a target of code generation. By default such a name
    means the target, so it is left out. If `includes_paper` is set, because another option requires
    typeset equations, it means the printer and is included.
    """
    return (
        "paper",
        *(name for name in names("printer") if includes_paper or name not in names("target")),
    )


def write_page(
    system: System,
    language: str = "paper",
    mode: Mapping[str, str] | None = None,
    form: str | None = None,
    full: bool = False,
    linear: bool = False,
    stages: bool = False,
    suffix: str = "",
    formulation: str = "projected",
) -> str:
    r"""Return the equations of a contact mode as a typeset page, or the `stages` of their derivation.

    `language` is the name of a printer; "paper" selects the printer by the file `suffix`, LaTeX by
    default. Other formulations than "projected" print their equations in their own coordinates.

    >>> from draisine.system.system import compile
    >>> r"\dot{v}" in write_page(compile("chaplygin_sleigh"))
    True
    """
    printer = find_printer(suffix or ".tex") if language == "paper" else language
    if stages:
        return system.explain(mode).write(printer)
    page = system.equations(mode, form=form, full=full, linear=linear, formulation=formulation)
    return page.write(printer)


def write_program(
    system: System,
    language: str,
    program: str = "rate",
    mode: Mapping[str, str] | None = None,
    formulation: str = "projected",
) -> str:
    """Return one program of a vehicle as source code in a programming language.

    The formulation "projected" has several programs, selected by name. Other formulations have one program:
    the equations that they solve for the accelerations.

    >>> from draisine.system.system import compile
    >>> "def planar(" in write_program(compile("whipple"), "python", formulation="planar")
    True
    """
    if not is_file(language):
        expect_known("Unknown language", language, list_languages(), UnknownNameError)
    entries: dict[str, Sequence[str]] = {}
    if formulation == "projected":
        machine = system.machine(mode)
        traced = machine.programs[program]
        efforts = label_units(system.model, "inputs").items()
        entries = {
            "r": [joint.name for joint in system.model.joints],
            "u": machine.choice.names,
            "w": [f"{name}_{'torque' if unit == 'N m' else 'force'}" for name, unit in efforts],
        }
    else:
        if program != "rate" or mode:
            raise ParameterError(
                f"The formulation {formulation!r} has one program, with all contacts closed. Choose "
                "the formulation 'projected' for other programs and contact modes."
            )
        traced = trace_formulation(formulation, system)
    entries = {"parameters": list(system.parameters)} | entries
    entries = {array: labels for array, labels in entries.items() if array in traced.inputs}
    if language == "json":
        return serialise_program(traced, list(entries.get("parameters", ())))
    return str(find("target", language)(traced, entries))


def trace_formulation(formulation: str, system: System) -> Program:
    """Trace the equations that a formulation solves for the accelerations, with all contacts closed.

    The program uses the coordinates of the formulation, and parameters as numbers. The program of
    "multiplier" keeps the parameters as inputs and returns mass matrix, forces and rows of the constraint
    Jacobian.
    """
    module: Any = find("formulation", formulation)
    if formulation == "multiplier":
        return system.machine().programs["free"]
    programs: list[Program] = []

    # A formulation calls `realise` to make its equations executable. Record the program in this
    # call, because the formulation itself returns numbers only.
    def record_program(inputs: Inputs, outputs: Outputs) -> Evaluator:
        """Build the program of traced inputs and outputs, store it, and return its evaluator."""
        programs.append(trace_program(formulation, inputs, outputs))
        return interpret(inputs, outputs)

    module.accelerations(system.model, realise=record_program)
    return programs[0]


def serialise_program(program: Program, parameters: list[str]) -> str:
    """Serialise a program as JSON: name, parameters, sizes of inputs, operations in order, outputs."""
    return json.dumps(
        {
            "name": program.name,
            "parameters": parameters,
            "inputs": program.inputs,
            "steps": program.steps,
            "outputs": program.outputs,
        }
    )
