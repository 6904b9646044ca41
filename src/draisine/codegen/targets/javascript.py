"""Programs as a JavaScript module over Float64Array.

A program `f` becomes two functions and a constant, the size of the table:
    fPrologue(parameters, table)    f(<inputs>..., table, <outputs>...)    fTableSize
The arguments of `f` are all inputs but the parameters, in the program's order, even unused ones. JavaScript
engines do not optimise one huge function, so a long program is split into short functions that share a
scratch array.
"""

import math
from collections.abc import Mapping, Sequence

from draisine.codegen.listing import (
    Listing,
    Notation,
    Segment,
    array_names,
    describe_arrays,
    make_identifier,
)
from draisine.codegen.program import Program
from draisine.codegen.statements import PROLOGUE_TABLE, split_sections
from draisine.codegen.targets._dialects import js_dialect

MAX_JS_FUNCTION_STEPS = 300
"""Largest number of program steps in one JavaScript function; engines do not optimise much longer
functions.
"""

JS_RESERVED = [
    "arguments", "await", "break", "case", "catch", "class", "const", "continue", "debugger",
    "default", "delete", "do", "else", "enum", "eval", "export", "extends", "false", "finally",
    "for", "function", "if", "implements", "import", "in", "instanceof", "interface", "let",
    "new", "null", "package", "private", "protected", "public", "return", "static", "super",
    "switch", "this", "throw", "true", "try", "typeof", "var", "void", "while", "with", "yield",
    "Float64Array", "Infinity", "Math", "NaN",
]  # fmt: skip
"""Keywords of JavaScript and the global names that generated code uses; a program or array with such a name
gets an underscore.
"""


def emit(
    program: Program,
    names: Mapping[str, Sequence[str]] | None = None,
    has_prologue: bool = True,
) -> str:
    """Return the program as the text of an ES module.

    Parameters
    ----------
    program
        Program to write.
    names
        Names of the entries of arrays, listed in the comment at the top.
    has_prologue
        Whether the function that fills the table is written; without it the table is data.

    Returns
    -------
    str
        JavaScript text.
    """
    name = make_identifier(program.name, JS_RESERVED)
    prologue, body = split_sections(program)
    sources, sinks = array_names(
        program, [*JS_RESERVED, name, f"{name}Prologue", f"{name}TableSize"]
    )
    prologue_inputs = {"parameters": "parameters"}
    first = Listing(
        program,
        prologue,
        _JS_NOTATION,
        prologue_inputs,
        {PROLOGUE_TABLE: "table"},
        MAX_JS_FUNCTION_STEPS,
    )
    second = Listing(program, body, _JS_NOTATION, sources, sinks, MAX_JS_FUNCTION_STEPS)
    scratch_size = max(len(first.scratch), len(second.scratch))
    lines = [
        f"// The program {name}, written by draisine.",
        *[f"// {line}" for line in describe_arrays(program, names)],
        "",
        f"export const {name}TableSize = {len(program.table)};",
        *([f"const scratch = new Float64Array({scratch_size});"] if scratch_size else []),
        *(_write_function(f"{name}Prologue", first) if has_prologue else []),
        *_write_function(name, second),
        "",
    ]
    return "\n".join(lines)


def js_number(x: float) -> str:
    """Return the JavaScript literal of a number exactly."""
    if math.isnan(x):
        return "NaN"
    return repr(x) if math.isfinite(x) else "Infinity" if x > 0 else "-Infinity"


_JS_NOTATION = Notation(
    js_number,
    {op: f"Math.{op}" for op in ("sqrt", "sin", "cos", "exp", "atan2")},
    "({0} < {1} ? 1.0 : 0.0)",
    "({0} ? {1} : {2})",
)


def _write_function(name: str, listing: Listing) -> list[str]:
    """Return the lines of an exported function and of the short functions that it calls."""
    arrays = ", ".join([*listing.sources.values(), *listing.sinks.values()])
    head = f"export function {name}({arrays}) {{"
    if len(listing.pieces) == 1:
        return ["", head, *_write_body(listing, listing.pieces[0]), "}"]
    lines = list[str]()
    calls = list[str]()
    for k, piece in enumerate(listing.pieces):
        piece_arrays = ", ".join([*listing.arrays_read(piece), *listing.arrays_written(piece)])
        lines += [
            "",
            f"function {name}Part{k}({piece_arrays}) {{",
            *_write_body(listing, piece),
            "}",
        ]
        calls.append(f"  {name}Part{k}({piece_arrays});")
    return [*lines, "", head, *calls, "}"]


def _write_body(listing: Listing, segment: Segment) -> list[str]:
    """Return the indented lines of a segment."""
    return [f"  {line}" for line in listing.write_lines(segment, "const")]


JS_DIALECT = js_dialect(js_number, JS_RESERVED)
"""Notation of JavaScript for routines."""
