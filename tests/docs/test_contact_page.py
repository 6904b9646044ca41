"""The names in the table "Where to find" of the contact page exist in the files that it states."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "draisine"
PAGE = (ROOT / "docs" / "contact.md").read_text()
QUESTIONS = 10  # of the readability test


def places():
    """Return question, file and names of each entry of the last column."""
    section = PAGE.split("## Where to find")[1]
    found = []
    for line in section.splitlines():
        if line.startswith("| ") and "`" in line:
            question, _, where = line.strip("| ").rsplit(" | ", 2)
            for entry in where.split("; "):
                file, names = entry.split(": ")
                found.append((question, file.strip("`"), re.findall(r"`([\w.]+)`", names)))
    return found


def defined_names(file):
    """Return the names of functions, classes, their members and constants of a file."""
    names = set()

    def visit(body, prefix):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{node.name}.")
            if isinstance(node, ast.AnnAssign):
                names.add(prefix + node.target.id)
            if isinstance(node, ast.Assign):
                names.update(prefix + one.id for one in node.targets if isinstance(one, ast.Name))

    visit(ast.parse(file.read_text()).body, "")
    return names


def test_ten_questions_are_answered():
    assert len({question for question, *_ in places()}) == QUESTIONS


@pytest.mark.parametrize(("question", "path", "names"), places())
def test_the_functions_that_answer_a_question_exist(question, path, names):
    file = PACKAGE / "simulation" / "contact" / path
    if not file.exists():
        file = PACKAGE / path
    assert names, question
    assert set(names) <= defined_names(file)
