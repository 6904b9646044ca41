r"""Programs as a complete LaTeX document for human readers.

A step that is used once becomes part of the expression that uses it; other steps are named by a letter and
an index. Steps that depend on parameters alone come first. Quotients are written as fractions, sums and
products without unnecessary parentheses: unlike the other targets, the text does not show the order of
rounding.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from draisine.codegen.program import Instruction, Program
from draisine.codegen.statements import (
    ATOM_LEVEL,
    PRODUCT_LEVEL,
    SUM_LEVEL,
    Entry,
    Section,
    Statement,
    Term,
    gather_statements,
    split_sections,
)

MAX_LATEX_WIDTH = 74
"""Width of an expression (characters) above which it is split, so that lines fit on A4."""

MAX_DISPLAY_ROWS = 60
"""Largest number of rows of one aligned display. TeX typesets a display as a whole and runs out of memory if
it is too long.
"""

_GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda",
    "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma",
    "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
}  # fmt: skip

_PROGRAM_PREAMBLE = r"""\documentclass[a4paper,fleqn]{article}
\usepackage{amsmath}
\usepackage[margin=20mm]{geometry}
\setlength{\mathindent}{0pt}
\setlength{\parindent}{0pt}
\allowdisplaybreaks
\begin{document}
\raggedright
\section*{The program \texttt{%s}}
Written by draisine. Entries are counted from zero; $[a < b]$ is one where $a < b$, else zero."""


def emit(program: Program, names: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the program as a LaTeX document.

    Parameters
    ----------
    program
        Program to write.
    names
        Names of the entries of arrays, used as their symbols.

    Returns
    -------
    str
        LaTeX text.
    """
    symbols = _unique_symbols(program.inputs, names or {}, ())
    sizes = {array: len(entries) for array, entries in program.outputs.items()}
    outputs = _unique_symbols(sizes, names or {}, symbols.values())
    prologue, body = split_sections(program)
    letters = _unused_letters([*symbols.values(), *outputs.values()])
    name_of = {i: symbols[s[1], s[2]] for i, s in enumerate(program.steps) if s[0] == "input"}
    first = _gather_latex(program, prologue, name_of)
    parameter_steps = [s for s in first if s.place is None or s.term.op]
    name_of |= {s.step: f"{letters[0]}_{{{k}}}" for k, s in enumerate(parameter_steps, 1)}
    second = _gather_latex(program, body, name_of)
    named = [s for s in second if s.place is None]
    name_of |= {s.step: f"{letters[1]}_{{{k}}}" for k, s in enumerate(named, 1)}
    parts = [
        _PROGRAM_PREAMBLE % _escape_name(program.name),
        r"\subsection*{Inputs}",
        *_write_inputs(program, symbols),
    ]
    for title, statements in (
        ("Of the parameters alone", parameter_steps),
        ("Of the state", named),
        ("Outputs", [s for s in second if s.place is not None]),
    ):
        rows = [_write_row(s, name_of, outputs) for s in statements]
        if rows:
            parts += [rf"\subsection*{{{title}}}", *_write_displays(rows)]
    return "\n".join([*parts, r"\end{document}", ""])


def _gather_latex(program: Program, section: Section, names: dict[int, str]) -> list[Statement]:
    """Return the statements of a section as LaTeX. A step that has no symbol yet is written as `@index@`,
    which `_write_row` replaces when all symbols are known.
    """

    def step_name(step_index: int) -> Term:
        """Return the symbol of a step, or a placeholder for it."""
        return (
            Term(names[step_index], width=_symbol_width(names[step_index]))
            if step_index in names
            else Term(f"@{step_index}@", width=4)
        )

    return gather_statements(program, section, _compose_step, step_name, MAX_LATEX_WIDTH)


def _write_row(statement: Statement, names: Mapping[int, str], outputs: Mapping[Entry, str]) -> str:
    """Return a statement as a row of a display: symbol, = and expression."""
    left_side = names.get(statement.step, "")
    if statement.place is not None and statement.place in outputs:
        left_side = outputs[statement.place]
    right = re.sub(r"@(\d+)@", lambda m: names[int(m[1])], statement.term.text)
    return f"{left_side} &= {right}"


def _write_displays(rows: list[str]) -> list[str]:
    """Return rows of equations as aligned displays of limited length."""
    lines = []
    for k in range(0, len(rows), MAX_DISPLAY_ROWS):
        lines += [
            r"\begin{align*}",
            " \\\\\n".join(rows[k : k + MAX_DISPLAY_ROWS]),
            r"\end{align*}",
        ]
    return lines


def _write_inputs(program: Program, symbols: Mapping[Entry, str]) -> list[str]:
    """Return a sentence that lists the inputs of a program and their symbols."""
    lines = []
    for array, size in program.inputs.items():
        if size:
            listed = ", ".join(f"${symbols[array, k]}$" for k in range(size))
            lines.append(rf"\texttt{{{_escape_name(array)}}}: {listed}\par")
    return lines


def _escape_name(name: str) -> str:
    """Return a name with the special characters of LaTeX escaped."""
    return re.sub(r"([&%$#_{}])", r"\\\1", re.sub(r"[\\~^]", "-", name))


def _unique_symbols(
    arrays: Mapping[str, int], names: Mapping[str, Sequence[str]], used: Iterable[str]
) -> dict[Entry, str]:
    """Return a unique LaTeX symbol for each array entry; it differs from the symbols that are `used`."""
    symbols: dict[Entry, str] = {}
    used_symbols = set(used)
    for array, size in arrays.items():
        for k in range(size):
            own_name = names[array][k] if array in names else ""
            text = (
                _make_symbol(own_name, [])
                if own_name
                else _make_symbol(array, [k] if size > 1 else [])
            )
            while text in used_symbols:
                text = f"{{{text}}}'"
            used_symbols.add(text)
            symbols[array, k] = text
    return symbols


def _make_symbol(name: str, indices: Sequence[int]) -> str:
    r"""Return the LaTeX symbol of a name.

    >>> [_make_symbol(x, []) for x in ("g", "lam", "rR", "IBxz", "forward_speed")] + [_make_symbol("q", [3])]
    ['g', '\\lambda', 'r_{R}', 'I_{Bxz}', '\\mathit{forward\\_speed}', 'q_{3}']
    """
    below = [str(k) for k in indices]
    short = re.fullmatch(r"([A-Za-z])_?([A-Z0-9][A-Za-z0-9]{0,3})", name)
    if short:
        name = short[1]
        below.insert(0, short[2])
    name = "lambda" if name == "lam" else name
    base = rf"\{name}" if name in _GREEK else name
    if len(name) > 1 and name not in _GREEK:
        base = rf"\mathit{{{_escape_name(name)}}}"
    return f"{base}_{{{','.join(below)}}}" if below else base


def _unused_letters(symbols: Iterable[str]) -> list[str]:
    """Return two letters with which no symbol begins: one for the steps of the prologue, one for the body."""
    used = {text.lstrip("{")[0] for text in symbols if text}
    free = [x for x in "kzabdefhijlmnosvxyCDEGHJKLNPQSTUVWXYZ" if x not in used]
    return [*free, "k", "z"][:2]


def _symbol_width(text: str) -> int:
    """Return the approximate width of a symbol in characters."""
    plain = re.sub(r"\\mathit|[{}_^]", "", text)
    return len(re.sub(r"\\[A-Za-z]+", "x", plain))


def _in_parentheses(text: str) -> str:
    """Return a text in parentheses, which grow with fractions."""
    tall = r"\frac" in text or r"\left" in text
    return rf"\left({text}\right)" if tall else f"({text})"


def _bracket_term(term: Term, level: int) -> str:
    """Return the text of a term, in parentheses if its precedence is below `level`."""
    return term.text if term.level >= level else _in_parentheses(term.text)


def _write_number(x: float) -> str:
    """Return a number as LaTeX text."""
    if x != x:
        return r"\mathrm{NaN}"
    if abs(x) == float("inf"):
        return r"\infty" if x > 0 else r"-\infty"
    digits, _, power = (str(int(x)) if x == int(x) and abs(x) < 1e6 else repr(x)).partition("e")
    return rf"{digits} \cdot 10^{{{int(power)}}}" if power else digits


_LATEX_OPERATORS = {
    "sin": r"\sin",
    "cos": r"\cos",
    "exp": r"\exp",
    "atan2": r"\operatorname{atan2}",
}


def _compose_step(step: Instruction, args: Sequence[Term]) -> Term:
    """Return one step of a program as LaTeX mathematics."""
    widths = [a.width for a in args]
    width = sum(widths) + 2
    match step[0]:
        case "const":
            text = _write_number(step[1])
            level = (
                SUM_LEVEL
                if text.startswith("-")
                else PRODUCT_LEVEL
                if "cdot" in text
                else ATOM_LEVEL
            )
            return Term(text, level, len(text), "const")
        case "add":
            second = args[1].text
            text = (
                f"{args[0].text} - {second[1:]}"
                if second[0] == "-"
                else f"{args[0].text} + {second}"
            )
            return Term(text, SUM_LEVEL, width, "add")
        case "sub":
            return Term(
                f"{args[0].text} - {_bracket_term(args[1], PRODUCT_LEVEL)}", SUM_LEVEL, width, "sub"
            )
        case "neg":
            return Term(f"-{_bracket_term(args[0], PRODUCT_LEVEL)}", SUM_LEVEL, width, "neg")
        case "mul":
            return _write_product(step, args)
        case "inv":
            return Term(
                rf"\frac{{1}}{{{args[0].text}}}", ATOM_LEVEL, widths[0] + 1, "inv", tuple(args)
            )
        case "sqrt":
            return Term(rf"\sqrt{{{args[0].text}}}", ATOM_LEVEL, width, "sqrt")
        case "lt":
            text = f"{args[0].text} < {args[1].text}"
            return Term(f"[{text}]", ATOM_LEVEL, width + 2, "lt", (Term(text),))
        case "where":
            return _write_choice(args)
    inside = _in_parentheses(", ".join(a.text for a in args))
    return Term(_LATEX_OPERATORS[step[0]] + inside, ATOM_LEVEL, width + len(step[0]), step[0])


def _write_product(step: Instruction, args: Sequence[Term]) -> Term:
    """Return a product; with a factor 1 / x it becomes a quotient, with equal factors a square."""
    a, b = args
    width = a.width + b.width + (a.level < PRODUCT_LEVEL) + (b.level < PRODUCT_LEVEL)
    if step[1] == step[2] and a.level == ATOM_LEVEL:
        return Term(f"{a.text}^{{2}}", PRODUCT_LEVEL, a.width + 1, "mul")
    if a.op == "inv" and b.op != "inv":
        a, b = b, a
    if b.op == "inv":
        above = a.text
        below = b.parts[0]
        if a.op == "inv":
            inner = _write_product(("mul", 0, 1), (a.parts[0], below))
            above = "1"
            below = inner
        text = rf"\frac{{{above}}}{{{below.text}}}"
        return Term(text, ATOM_LEVEL, max(a.width, below.width) + 1, "quotient")
    # Write numbers before other factors, as in textbooks.
    if b.op == "const" and a.op != "const":
        a, b = b, a
    first = _bracket_term(a, PRODUCT_LEVEL)
    second = _bracket_term(b, PRODUCT_LEVEL)
    space = r" \cdot " if second[0].isdigit() else r"\,"
    return Term(f"{first}{space}{second}", PRODUCT_LEVEL, width, "mul")


def _write_choice(args: Sequence[Term]) -> Term:
    """Return a conditional expression as LaTeX cases."""
    test, yes, no = args
    condition = test.parts[0].text if test.op == "lt" else rf"{test.text} \neq 0"
    yes_case = rf"{yes.text} & \text{{if }} {condition}"
    no_case = rf"{no.text} & \text{{otherwise}}"
    text = rf"\begin{{cases}} {yes_case} \\ {no_case} \end{{cases}}"
    width = max(yes.width, no.width) + test.width + 14
    return Term(text, ATOM_LEVEL, width, "where", alone=True)
