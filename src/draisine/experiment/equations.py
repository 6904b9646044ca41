"""Equations of motion of a system as source code or as a page to read."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from draisine.algebra.trace import Expr
from draisine.codegen.program import Program, trace_program
from draisine.errors import ParameterError, UnknownNameError, expect_known
from draisine.mechanics.formulations._plug import Evaluator, interpret
from draisine.model.names import label_units
from draisine.reading.document import language_of
from draisine.registry import find, is_file, names
from draisine.system.system import System

Inputs = Mapping[str, Sequence[Expr]]
Outputs = Mapping[str, Sequence[Any]]


def languages() -> tuple[str, ...]:
    """Return what equations can be written as: a program's source code, or a page to read.

    >>> "c" in languages(), "paper" in languages()
    (True, True)
    """
    return (*(name for name in names("target") if name != "native"), "json", *page_languages())


def page_languages(page: bool = False) -> tuple[str, ...]:
    """Return what pages to read can be written as: "paper", and each printer; a language that is a
    target, too, means the program unless a `page` is asked for by something that programs have not.
    """
    return ("paper", *(name for name in names("printer") if page or name not in names("target")))


def write_page(
    system: System,
    language: str = "paper",
    mode: Mapping[str, str] | None = None,
    form: str | None = None,
    full: bool = False,
    linear: bool = False,
    stages: bool = False,
    suffix: str = "",
) -> str:
    r"""Return the equations of a mode to read, or the `stages` that lead to them, as a printer writes
    them; "paper" is the printer of a file's ending, LaTeX without one.

    >>> from draisine.system.system import compile
    >>> r"\dot{v}" in write_page(compile("chaplygin_sleigh"))
    True
    """
    printer = language_of(suffix or ".tex") if language == "paper" else language
    if stages:
        return system.explain(mode).write(printer)
    return system.equations(mode, form=form, full=full, linear=linear).write(printer)


def write_equations(
    system: System,
    language: str,
    program: str = "rate",
    mode: Mapping[str, str] | None = None,
    formulation: str = "projected",
) -> str:
    """Return one program of a vehicle as text in a language: of "projected" the one of that name, of
    another formulation the equations that it solves.

    >>> from draisine.system.system import compile
    >>> "def planar(" in write_equations(compile("whipple"), "python", formulation="planar")
    True
    """
    if not is_file(language):
        expect_known("no language", language, languages(), UnknownNameError)
    entries: dict[str, Sequence[str]] = {}
    if formulation == "projected":
        machine = system.machine(mode)
        found = machine.programs[program]
        efforts = label_units(system.model, "inputs").items()
        entries = {
            "r": [joint.name for joint in system.model.joints],
            "u": machine.choice.names,
            "w": [f"{name}_{'torque' if unit == 'N m' else 'force'}" for name, unit in efforts],
        }
    else:
        if program != "rate" or mode:
            raise ParameterError("only the formulation 'projected' has other programs and modes.")
        found = equations_of(formulation, system)
    entries = {"parameters": list(system.parameters)} | entries
    entries = {array: known for array, known in entries.items() if array in found.inputs}
    if language == "json":
        return as_json(found, list(entries.get("parameters", ())))
    return str(find("target", language)(found, entries))


def equations_of(formulation: str, system: System) -> Program:
    """Return the equations of motion as another formulation has them, all contacts closed: what it
    solves for the accelerations, in its own coordinates and with numbers for parameters. Those of
    "multiplier" keep the parameters; they are masses, forces and rows.
    """
    module: Any = find("formulation", formulation)
    if formulation == "multiplier":
        return system.machine().programs["free"]
    traced: list[Program] = []

    def keep(inputs: Inputs, outputs: Outputs) -> Evaluator:
        traced.append(trace_program(formulation, inputs, outputs))
        return interpret(inputs, outputs)

    module.accelerations(system.model, realise=keep)
    return traced[0]


def as_json(program: Program, parameters: list[str]) -> str:
    """Return a program as JSON: names and sizes of inputs, steps in order, entries of outputs."""
    return json.dumps(
        {
            "name": program.name,
            "parameters": parameters,
            "inputs": program.inputs,
            "steps": program.steps,
            "outputs": program.outputs,
        }
    )
