"""MATLAB and Octave: assignments, with the sections as comments."""

from draisine.codegen.formula import Assignment, Page
from draisine.codegen.paper._infix import Infix, entries, steps

SUFFIX = ".m"

_MATLAB = Infix(
    functions={"lt": "({0} < {1})", "where": "(({0})*({1}) + ~({0})*({2}))"},
)


def write(page: Page) -> str:
    """Return the page as a script; the symbols that nothing defines are to be set before."""
    lines = [f"% {page.title}"]
    lines += [f"% given: {', '.join(s.plain for _, s in page.given)}"]
    for step in steps(page):
        if isinstance(step, str):
            lines.append(f"\n%% {step}")
        elif isinstance(step, Assignment):
            symbol, rows = entries(step)
            inside = "; ...\n    ".join(", ".join(map(_MATLAB.formula, row)) for row in rows)
            lines.append(f"{symbol.plain} = [{inside}];")
        else:
            lines.append(f"{step[0].plain} = {_MATLAB.formula(step[1])};")
    return "\n".join(lines) + "\n"
