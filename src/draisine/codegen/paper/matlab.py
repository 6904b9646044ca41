"""Printer of a page of equations for MATLAB and Octave: assignments, with the sections as comments."""

from draisine.codegen.formula import Page
from draisine.codegen.paper._infix import Infix

SUFFIX = ".m"

_MATLAB = Infix(
    functions={"lt": "({0} < {1})", "where": "(({0})*({1}) + ~({0})*({2}))"},
    comment="%% {0}",
    remark="% {0}",
    definition="{0} = {1};",
    row="{0}",
    between_rows="; ...\n    ",
    matrix="[{0}]",
)


def write(page: Page) -> str:
    """Return a page of equations as a MATLAB script. The script needs values of the inputs, which
    must be set before it runs.
    """
    inputs = ", ".join(s.plain for _, s in page.given)
    return "\n".join([f"% {page.title}", f"% given: {inputs}", *_MATLAB.write_lines(page), ""])
