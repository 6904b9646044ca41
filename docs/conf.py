"""How the documentation is built: `python docs/versions.py docs/_build`."""

import re
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "course"))  # its pictures use its equations

project = "draisine"
author = "The draisine developers"
copyright = "the draisine developers, MIT licence"
release = version = installed("draisine")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "pictures",
    "machine_pages",
    "notebooks",
    "slides",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
html_theme = "furo"
html_title = f"draisine {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["draisine.css"]
templates_path = ["_templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
exclude_patterns = ["_build", "_templates", "peers.md"]
default_role = "code"
numfig = False
math_numfig = False
math_eqref_format = "({number})"
napoleon_google_docstring = False  # docstrings have numpydoc sections
napoleon_use_ivar = True
napoleon_use_rtype = False  # `Returns` describes the value, the annotation has its type
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "all"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
suppress_warnings = ["myst.header"]

CITED = re.compile(r"\[([a-z][a-z0-9-]*)\]")


def link_equations(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Turn `eq. [gap]` in docstrings into a link to that equation of the theory."""
    text = "\n".join(lines)
    cited = re.compile(r"\beqs?\.\s+\[[a-z0-9-]+\](?:\s*(?:-|,|and)\s*\[[a-z0-9-]+\])*")
    text = cited.sub(lambda found: CITED.sub(r":eq:`\1`", found.group()), text)
    lines[:] = text.split("\n")


def hide_private(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returns: Any
) -> tuple[str, Any] | None:
    """Leave fields that are nobody's business out of signatures."""
    if signature is None:
        return None
    return re.sub(r",? ?(?<=[ (,])_\w+(=[^,()]*(\([^()]*\))?)?(?=[,)])", "", signature), returns


def write_ride(app: Any, error: Exception | None) -> None:
    """Put the page that rides by itself beside the front page."""
    if error is None and app.builder.format == "html":
        from draisine.ride.export import ride_page

        (Path(app.outdir) / "ride.html").write_text(ride_page(), encoding="utf-8")


def setup(app: Any) -> None:
    """Connect the hooks."""
    app.connect("autodoc-process-docstring", link_equations)
    app.connect("autodoc-process-signature", hide_private)
    app.connect("build-finished", write_ride)
