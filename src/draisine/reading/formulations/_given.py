"""Given symbols of a page in the coordinates of a formulation: coordinates, speeds, inputs and parameters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.trace import Expr, reachable
from draisine.codegen.formula import Expression, Name, Symbol
from draisine.errors import ParameterError
from draisine.mechanics.constraints import mode_of
from draisine.mechanics.formulations._plug import check_supported_model
from draisine.model import Model
from draisine.reading.document import list_parameters, name_inputs
from draisine.reading.sheet import Sheet
from draisine.reading.subject import Subject

AXIS_LETTERS = "xyz"
"""Letters of the axes in subscripts."""


@dataclass(frozen=True, slots=True)
class Given:
    """Symbol of the graph with its symbol on the page."""

    value: Expr
    symbol: Symbol
    meaning: str
    kind: str
    optional: bool = False  # whether it is named only if the results depend on it


def name_symbols(
    sheet: Sheet,
    subject: Subject,
    given: Iterable[Given],
    results: Sequence[Any],
    inputs: Iterable[Expr],
) -> None:
    """Define the given symbols, and list those inputs and parameters on which the results depend."""
    used = find_used_nodes(subject, results)
    for entry in given:
        if not entry.optional or entry.value.index in used:
            name = subject.graph.ops[entry.value.index][1]
            sheet.meanings[name] = entry.meaning
            sheet.cut.name_symbol(entry.value, entry.symbol, entry.kind)
    used_inputs = name_inputs(sheet, subject, inputs, used)
    if used_inputs:
        sheet.add_paragraph("Inputs: ", *used_inputs, ".")
    sheet.meanings |= {
        name: subject.form.meanings.get(name, ("", name))[1] for name in subject.parameters
    }
    sheet.add_paragraph("Parameters: ", *list_parameters(sheet, subject, used), ".")


def check_closed(subject: Subject) -> Model:
    """Return the model of a bicycle after checking that the page supports it and its contact mode."""
    model = check_supported_model(subject.model)
    if subject.mode != mode_of(model, None):
        raise ParameterError(
            "This formulation has the equations of a bicycle whose wheels both roll. Print the projected "
            "equations of other contact modes."
        )
    return model


def find_used_nodes(subject: Subject, results: Sequence[Any]) -> set[int]:
    """Return the indices of all nodes on which arrays of results depend."""
    roots = []
    for array in results:
        roots += [x.index for x in np.ravel(array) if isinstance(x, Expr)]
    return set(reachable(subject.graph, roots))


def join_symbols(symbols: Iterable[Symbol]) -> list[str | Expression]:
    """Return symbols as the words of a sentence, separated by commas."""
    words: list[str | Expression] = []
    for symbol in symbols:
        words += [Name(symbol), ", "]
    return words[:-1]
