"""Public functions have numpydoc sections that cover their signatures.

Public are the functions of `dir(draisine)` and those of the API page. `Parameters` must name every argument,
and a function that returns a value needs `Returns` (or `Yields`).
"""

import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import draisine

API_PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def _import(name: str) -> Any:
    """Return the object with a dotted name."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:
        return getattr(_import(module), attribute)


def _public_functions() -> dict[str, Callable[..., Any]]:
    """Return the public functions by dotted name, without classes and exceptions."""
    names = [f"draisine.{name}" for name in draisine.__all__]
    names += re.findall(r"^\.\. autofunction:: (\S+)", API_PAGE.read_text(), re.MULTILINE)
    objects = {name: inspect.unwrap(_import(name)) for name in dict.fromkeys(names)}
    return {name: found for name, found in objects.items() if inspect.isfunction(found)}


def _sections(docstring: str) -> dict[str, list[str]]:
    """Return the lines of each numpydoc section by heading."""
    lines = docstring.splitlines()
    starts = [k for k, line in enumerate(lines) if k and re.fullmatch(r"-{3,}", line.strip())]
    ends = [*(k - 1 for k in starts[1:]), len(lines)][: len(starts)]
    return {
        lines[start - 1].strip(): lines[start + 1 : end]
        for start, end in zip(starts, ends, strict=True)
    }


def _described_parameters(lines: list[str]) -> set[str]:
    """Return the names in the unindented lines of a section, such as `x, y` or `**options`."""
    heads = [line for line in lines if line and not line.startswith(" ")]
    return {name for head in heads for name in re.findall(r"\w+", head.partition(" : ")[0])}


def missing_documentation(function: Callable[..., Any]) -> list[str]:
    """Return the arguments that `Parameters` does not name, and "Returns" if that is missing."""
    sections = _sections(inspect.getdoc(function) or "")
    signature = inspect.signature(function)
    described = _described_parameters(sections.get("Parameters", []))
    missing = [name for name in signature.parameters if name not in described]
    returns_value = signature.return_annotation not in (None, "None", inspect.Signature.empty)
    if returns_value and not sections.keys() & {"Returns", "Yields"}:
        missing.append("Returns")
    return missing


@pytest.mark.parametrize(("name", "function"), _public_functions().items())
def test_a_public_function_documents_its_signature(name, function):
    assert missing_documentation(function) == [], f"{name}: complete the numpydoc sections"


def test_the_check_finds_missing_arguments_and_results():
    def area(width: float, height: float) -> float:
        """Return the area of a rectangle in m2.

        Parameters
        ----------
        width
            Width in m.
        """
        return width * height

    assert missing_documentation(area) == ["height", "Returns"]
    assert len(_public_functions()) > 80
