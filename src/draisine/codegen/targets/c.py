"""Programs as C99 source text that needs only libm.

A program `f` becomes two functions, reentrant, without allocation; arrays must not overlap:
    void f_prologue(const double *parameters, double *table);
    void f(const double *<input>..., const double *table, double *<output>...);
All inputs but the parameters come in the program's order, whether used or not.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from textwrap import fill

from draisine.codegen.listing import (
    Listing,
    Notation,
    array_names,
    describe_arrays,
    make_identifier,
)
from draisine.codegen.program import Program
from draisine.codegen.statements import PROLOGUE_TABLE, split_sections
from draisine.codegen.targets._dialects import c_dialect

MAX_C_FUNCTION_STEPS = 2000
"""Largest number of program steps in one C function; compile time is superlinear in the length of a
function.
"""

C_RESERVED = [
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while", "main", "INFINITY", "NAN", "acos", "acosh",
    "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh", "erf",
    "erfc", "exp", "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod",
    "frexp", "hypot", "ilogb", "ldexp", "lgamma", "llrint", "llround", "log", "log10", "log1p",
    "log2", "logb", "lrint", "lround", "modf", "nan", "nearbyint", "nextafter", "nexttoward",
    "pow", "remainder", "remquo", "rint", "round", "scalbln", "scalbn", "sin", "sinh", "sqrt",
    "tan", "tanh", "tgamma", "trunc", "fpclassify", "isfinite", "isgreater", "isinf", "isless",
    "isnan", "isnormal", "isunordered", "signbit", "abort", "abs", "atexit", "atof", "atoi",
    "atol", "bsearch", "calloc", "div", "exit", "free", "getenv", "labs", "ldiv", "malloc",
    "qsort", "rand", "realloc", "srand", "strtod", "system", "fclose", "feof", "fflush", "fopen",
    "fprintf", "fputs", "fread", "fscanf", "fseek", "ftell", "fwrite", "getc", "gets", "perror",
    "printf", "putc", "puts", "remove", "rename", "rewind", "scanf", "sprintf", "sscanf",
    "tmpfile", "ungetc", "memchr", "memcmp", "memcpy", "memmove", "memset", "strcat", "strchr",
    "strcmp", "strcpy", "strlen", "strstr", "strtok", "clock", "ctime", "difftime", "gmtime",
    "localtime", "mktime", "raise", "signal", "time",
]  # fmt: skip
"""Keywords and library functions of C; a program or array with such a name gets an underscore."""


def emit(
    program: Program,
    names: Mapping[str, Sequence[str]] | None = None,
    linkage: str = "",
    has_prologue: bool = True,
) -> str:
    """Return the program as the text of a C file.

    Parameters
    ----------
    program
        Program to write.
    names
        Names of the entries of arrays, listed in the comment at the top.
    linkage
        "static", or empty for external linkage.
    has_prologue
        Whether the function that fills the table is written; without it the table is data.

    Returns
    -------
    str
        C99 text that needs libm only.
    """
    name = make_identifier(program.name, C_RESERVED)
    prologue, body = split_sections(program)
    sources, sinks = array_names(
        program, [*C_RESERVED, name, f"{name}_prologue", f"{name}_table_size"]
    )
    prologue_inputs = {"parameters": "parameters"}
    first = Listing(
        program,
        prologue,
        _C_NOTATION,
        prologue_inputs,
        {PROLOGUE_TABLE: "table"},
        MAX_C_FUNCTION_STEPS,
    )
    second = Listing(program, body, _C_NOTATION, sources, sinks, MAX_C_FUNCTION_STEPS)
    scope = f"{linkage} " if linkage else ""
    lines = [
        f"/* The program {name}, written by draisine.",
        *[f"   {line}" for line in describe_arrays(program, names)],
        "*/",
        "",
        "#include <math.h>",
        "",
        f"enum {{ {name}_table_size = {len(program.table)} }};",
        "",
        *([f"{_write_signature(f'{name}_prologue', first, scope)};"] if has_prologue else []),
        f"{_write_signature(name, second, scope)};",
        *(_write_function(f"{name}_prologue", first, scope) if has_prologue else []),
        *_write_function(name, second, scope),
        "",
    ]
    return "\n".join(lines)


def c_number(x: float) -> str:
    """Return the exact C literal of a number: decimal if that is exact, otherwise hexadecimal."""
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    return repr(x) if Decimal(repr(x)) == Decimal(x) else x.hex()


_C_NOTATION = Notation(
    c_number,
    {op: op for op in ("sqrt", "sin", "cos", "exp", "atan2")},
    "(double)({0} < {1})",
    "({0} ? {1} : {2})",
)


def _wrap_head(start_text: str, arrays_read: Iterable[str], arrays_written: Iterable[str]) -> str:
    """Return the head of a C function that reads and fills arrays; lines break between arguments only."""
    arguments = [f"const~double~*{x}" for x in arrays_read] + [
        f"double~*{x}" for x in arrays_written
    ]
    text = f"{start_text.replace(' ', '~')}({', '.join(arguments) or 'void'})"
    return fill(text, 100, subsequent_indent="    ").replace("~", " ")


def _write_signature(name: str, listing: Listing, scope: str) -> str:
    """Return the head of the C function that a listing describes."""
    return _wrap_head(f"{scope}void {name}", listing.sources.values(), listing.sinks.values())


def _write_function(name: str, listing: Listing, scope: str) -> list[str]:
    """Return the lines of a C function. A long function becomes a sequence of calls of static functions,
    which share a scratch array.
    """
    read = {x for piece in listing.pieces for x in listing.arrays_read(piece)}
    filled = {x for piece in listing.pieces for x in listing.arrays_written(piece)}
    arrays = [*listing.sources.values(), *listing.sinks.values()]
    # All arrays are arguments, even unused ones. A cast to void suppresses the compiler warnings
    # about unused arguments.
    unused = [f"    (void){x};" for x in arrays if x not in read | filled]
    head = _write_signature(name, listing, scope)
    if len(listing.pieces) == 1:
        return [
            "",
            head,
            "{",
            *unused,
            *_indent_lines(listing.write_lines(listing.pieces[0], _DECLARATION)),
            "}",
        ]
    lines = list[str]()
    calls = list[str]()
    for k, piece in enumerate(listing.pieces):
        shared = ["scratch"] if piece.fetches or piece.keeps else []
        sources = listing.arrays_read(piece)
        sinks = [*listing.arrays_written(piece), *shared]
        lines += ["", _wrap_head(f"static void {name}_part{k}", sources, sinks), "{"]
        lines += [*_indent_lines(listing.write_lines(piece, _DECLARATION)), "}"]
        calls.append(f"    {name}_part{k}({', '.join([*sources, *sinks])});")
    declaration = [f"    double scratch[{len(listing.scratch)}];"] if listing.scratch else []
    return [*lines, "", head, "{", *declaration, *unused, *calls, "}"]


_DECLARATION = "const double"
"""Keywords that declare a local number in C."""


def _indent_lines(lines: Iterable[str]) -> list[str]:
    """Return lines of code, indented by four spaces."""
    return [f"    {line}" for line in lines]


C_DIALECT = c_dialect(c_number, C_RESERVED)
"""Notation of C for routines."""
