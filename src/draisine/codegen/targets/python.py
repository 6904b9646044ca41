"""Programs as plain Python over NumPy, which runs without draisine.

A program `f` becomes two functions. The entries of their arguments may be numbers, or arrays of equal shape
for many states at once:
    f_prologue(parameters) -> table    f(inputs..., table) -> {output: array}
"""

import keyword
import math
from collections.abc import Mapping, Sequence

from draisine.codegen.listing import (
    Listing,
    Notation,
    array_names,
    describe_arrays,
    make_identifier,
)
from draisine.codegen.program import Program
from draisine.codegen.statements import PROLOGUE_TABLE, split_sections


def emit(program: Program, names: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the program as the text of a Python module that needs NumPy only.

    Parameters
    ----------
    program
        Program to write.
    names
        Names of the entries of arrays, listed in the docstring at the top.

    Returns
    -------
    str
        Python text.
    """
    return write_module(program, names, "import numpy as np", "np")


def write_module(
    program: Program, names: Mapping[str, Sequence[str]] | None, imports: str, library: str
) -> str:
    """Return the program as the text of a Python module that uses an array library with NumPy's
    functions.
    """
    name = make_identifier(program.name, keyword.kwlist)
    prologue, body = split_sections(program)
    reserved_names = [library, "parameters", "_array", name, f"{name}_prologue"]
    sources, _ = array_names(program, [*keyword.kwlist, *reserved_names])
    notation = _python_notation(library)
    first = Listing(program, prologue, notation, {"parameters": "parameters"}, {})
    second = Listing(program, body, notation, sources, {})
    lines = [
        f'"""The program {name}, written by draisine.',
        "",
        *describe_arrays(program, names),
        '"""',
        "",
        imports,
        "",
        "",
        f"def {name}_prologue(parameters):",
        '    """Return the table: all that depends on the parameters alone."""',
        *_write_assignments(first),
        f"    return {_write_array(first, PROLOGUE_TABLE, library, 4)}",
        "",
        "",
        f"def {name}({', '.join(sources.values())}):",
        '    """Return the outputs by name."""',
        *_write_assignments(second),
        "    return {",
        *[f'        "{x}": {_write_array(second, x, library, 8)},' for x in program.outputs],
        "    }",
        "",
        "",
        "def _array(*entries):",
        '    """Return entries, numbers or arrays, as one array."""',
        f"    return {library}.stack({library}.broadcast_arrays(*entries))",
        "",
    ]
    return "\n".join(lines)


def _python_notation(library_name: str) -> Notation:
    """Return the notation of expressions with the functions of an array library."""
    functions = {"sqrt": "sqrt", "sin": "sin", "cos": "cos", "exp": "exp", "atan2": "arctan2"}
    return Notation(
        lambda x: repr(x) if math.isfinite(x) else f"float('{x}')",
        {op: f"{library_name}.{function}" for op, function in functions.items()},
        f"{library_name}.less({{0}}, {{1}}).astype(float)",
        f"{library_name}.where({{0}}, {{1}}, {{2}})",
    )


def _write_assignments(listing: Listing) -> list[str]:
    """Return the assignments of a function to local names as lines of Python."""
    lines = [
        f"    {listing.step_name(i)} = {listing.sources[array]}[{k}]"
        for i, (array, k) in listing.section.leaves.items()
    ]
    named = [s for s in listing.statements if s.place is None]
    return lines + [f"    {listing.step_name(s.step)} = {s.term.text}" for s in named]


def _write_array(listing: Listing, name: str, library: str, indent: int) -> str:
    """Return the Python expression of the result array `name`, one entry per line."""
    entries = [
        s.term.text for s in listing.statements if s.place is not None and s.place[0] == name
    ]
    if not entries:
        return f"{library}.zeros(0)"
    margin = " " * indent
    return "_array(\n" + "".join(f"{margin}    {x},\n" for x in entries) + f"{margin})"
