"""The messages on the page of troubleshooting are messages of the code."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
OTHER_PROGRAMS = ("draisine: command not found",)
"""Messages of the shell."""


def quoted_messages():
    """Return the quoted fragments of the first columns of all tables."""
    cells = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    fragments = [text for cell in cells for text in re.findall(r"`([^`]+)`", cell)]
    return [text for text in fragments if text not in OTHER_PROGRAMS]


def code_texts():
    """Return the constant texts of the package, each f-string as one text."""
    texts = []
    for path in sorted((ROOT / "src" / "draisine").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [x.value if isinstance(x, ast.Constant) else "{}" for x in node.values]
                texts.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\n".join(texts)


@pytest.fixture(scope="module")
def texts():
    return code_texts()


@pytest.mark.parametrize("message", quoted_messages())
def test_the_code_has_this_message(message, texts):
    assert message in texts
