"""Equations of motion as source code."""

import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from draisine.algebra.trace import Expr
from draisine.codegen.program import Program, trace_program
from draisine.errors import ParameterError, UnknownNameError, did_you_mean
from draisine.mechanics.formulations._plug import Evaluator, interpret
from draisine.model.names import state_units
from draisine.model.quantity import number
from draisine.reading.document import language_of
from draisine.registry import find, is_file, names
from draisine.scenario.build import build_state, is_numeric
from draisine.simulation.source import write_simulator
from draisine.system.system import System, compile
from draisine.vehicles import meanings

Inputs = Mapping[str, Sequence[Expr]]
Outputs = Mapping[str, Sequence[Any]]


def languages() -> tuple[str, ...]:
    """Return what equations can be written as: a program's source code, or a page to read.

    >>> "c" in languages(), "paper" in languages()
    (True, True)
    """
    return (*(name for name in names("target") if name != "native"), "json", *page_languages())


def page_languages() -> tuple[str, ...]:
    """Return what pages to read can be written as: "paper", and each printer whose name is not
    that of a target.
    """
    return ("paper", *(name for name in names("printer") if name not in names("target")))


def build_system(vehicle: str, arguments: Mapping[str, Any] | None = None) -> System:
    """Return a vehicle with arguments as they are written on a command line."""
    function = find("vehicle", vehicle)
    known = inspect.signature(function).parameters
    chosen: dict[str, Any] = {}
    for name, value in (arguments or {}).items():
        if name not in known:
            raise ParameterError(
                f"{vehicle} has no parameter {name!r}. {did_you_mean(name, known)}"
            )
        unit = meanings(function).get(name, (None, ""))[0]
        try:
            chosen[name] = number(value, unit) if is_numeric(function, name) else value
        except ValueError as error:
            raise ParameterError(f"{name}: {error}.") from None
    return compile(vehicle, **chosen)


def write_page(
    system: System,
    language: str = "paper",
    mode: Mapping[str, str] | None = None,
    form: str | None = None,
    full: bool = False,
    suffix: str = "",
) -> str:
    r"""Return the equations of a mode to read, as a printer writes them; "paper" is the printer of a
    file's ending, LaTeX without one.

    >>> r"\dot{v}" in write_page(build_system("chaplygin_sleigh"))
    True
    """
    printer = language_of(suffix or ".tex") if language == "paper" else language
    return system.equations(mode, form=form, full=full).write(printer)


def write_equations(
    system: System,
    language: str,
    program: str = "rate",
    mode: Mapping[str, str] | None = None,
    formulation: str = "projected",
) -> str:
    """Return one program of a vehicle as text in a language: of "projected" the one of that name, of
    another formulation the equations that it solves.

    >>> "def planar(" in write_equations(build_system("whipple"), "python", formulation="planar")
    True
    """
    if not is_file(language) and language not in languages():
        raise UnknownNameError(f"no language {language!r}. {did_you_mean(language, languages())}")
    if formulation == "projected":
        found = system.machine(mode).programs[program]
    else:
        if program != "rate" or mode:
            raise ParameterError("only the formulation 'projected' has other programs and modes.")
        found = equations_of(formulation, system)
    inputs = list(system.parameters) if "parameters" in found.inputs else []
    if language == "json":
        return as_json(found, inputs)
    emit = find("target", language)
    if language == "latex":
        return str(emit(found, {"parameters": inputs}))
    return str(emit(found))


def write_simulator_files(
    system: System,
    language: str,
    folder: Path | None,
    start: Mapping[str, Any] | None = None,
    mode: Mapping[str, str] | None = None,
) -> list[Path]:
    """Write a whole simulator of one mode into a folder, beginning with values of the outputs as they
    are written on a command line; return its files.
    """
    if folder is None:
        raise ParameterError("a simulator is several files: name a folder, --out FOLDER.")
    known = state_units(system.model)
    for name in start or {}:
        if name not in known:
            raise ParameterError(f"--state: no {name!r}. {did_you_mean(name, known)}")
    try:
        begin = build_state(system, {**(start or {}), "mode": mode})
    except ValueError as error:
        raise ParameterError(f"--state: {error}") from None
    files = write_simulator(system, language, begin, mode=mode)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


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
