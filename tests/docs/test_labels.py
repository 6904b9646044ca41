"""Every equation that a docstring cites stands in the theory, once, under that label."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
THEORY = ROOT / "docs" / "theory.md"
LABEL = re.compile(r"^:label: (\S+)$", re.MULTILINE)
CITATION = re.compile(r"\beqs?\.\s+((?:\[[a-z0-9-]+\](?:\s*(?:-|,|and)\s*)?)+)")


def cited(path):
    """Return the labels that the docstrings of a file cite."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for match in CITATION.finditer(node.value):
                found |= set(re.findall(r"\[([a-z0-9-]+)\]", match.group(1)))
    return found


CITED = {
    (label, str(path.relative_to(ROOT)))
    for path in sorted((ROOT / "src").rglob("*.py"))
    for label in cited(path)
}


def test_that_citations_are_found():
    assert {"newton-euler", "kernel", "reduced-dynamics", "multipliers"} <= {x for x, _ in CITED}


@pytest.mark.parametrize(("label", "path"), sorted(CITED))
def test_cited_equation_is_in_the_theory(label, path):
    count = LABEL.findall(THEORY.read_text(encoding="utf-8")).count(label)
    assert count == 1, f"{path} cites eq. [{label}]; docs/theory.md has it {count} times, not once."


def test_no_label_is_there_twice():
    counts = Counter(LABEL.findall(THEORY.read_text(encoding="utf-8")))
    assert not [label for label, count in counts.items() if count > 1]


def test_index_by_label_is_complete():
    text = THEORY.read_text(encoding="utf-8")
    listed = re.findall(r"^\* `(\S+)`: \{eq\}`\1`$", text, re.MULTILINE)
    assert listed == sorted(LABEL.findall(text))
