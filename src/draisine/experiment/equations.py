"""Equations of motion as source code."""

import inspect
import json
from collections.abc import Mapping
from typing import Any

from draisine.codegen.program import Program
from draisine.errors import ParameterError, UnknownNameError, did_you_mean
from draisine.experiment.build import is_numeric
from draisine.experiment.numbers import number
from draisine.registry import find, names
from draisine.system import compile


def languages() -> tuple[str, ...]:
    """Return what equations can be written as.

    >>> "c" in languages()
    True
    """
    return (*(name for name in names("target") if name != "native"), "json")


def written(
    vehicle: str,
    language: str,
    program: str = "rate",
    arguments: Mapping[str, Any] | None = None,
    mode: Mapping[str, str] | None = None,
) -> str:
    """Return one program of a vehicle as text in a language."""
    if language not in languages():
        raise UnknownNameError(f"no language {language!r}. {did_you_mean(language, languages())}")
    module = find("vehicle", vehicle)
    function = getattr(module, vehicle.rpartition(":")[2])
    known = inspect.signature(function).parameters
    chosen: dict[str, Any] = {}
    for name, value in (arguments or {}).items():
        if name not in known:
            raise ParameterError(
                f"{vehicle} has no parameter {name!r}. {did_you_mean(name, known)}"
            )
        unit = getattr(module, "MEANING", {}).get(name, (None, ""))[0]
        try:
            chosen[name] = number(value, unit) if is_numeric(function, name) else value
        except ValueError as error:
            raise ParameterError(f"{name}: {error}.") from None
    system = compile(vehicle, **chosen)
    found = system.machine(mode).programs[program]
    if language == "json":
        return as_json(found, list(system.parameters))
    emit = find("target", language).emit
    if language == "latex":
        return str(emit(found, {"parameters": list(system.parameters)}))
    return str(emit(found))


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
