"""Count the code of parts of the package, of one commit or of two commits side by side.

    python bench/size.py [COMMIT] [COMMIT] [--files]

Without a commit the working tree is counted. Docstrings, comments and blank lines do not count. Two numbers
are printed for each group of files:

lines
    Lines with code. A statement that is wrapped over five lines counts as five.
statements
    Logical statements: simple statements, headers of compound statements, and each target of an assignment
    of several values beyond the first. Packing `a = 1; b = 2` or `a, b = 1, 2` into one line saves lines, but
    no statements.

Files that do not exist in a commit count as empty, so that groups may name files of several versions.
"""

import argparse
import ast
import io
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/draisine/"

GROUPS = {
    "time stepping": ("simulation/contact/stepping/",),
    "contact engine": ("simulation/contact/", "simulation/impacts/"),
    "plane engine": (
        "simulation/bilateral.py",
        "simulation/bilateral/run.py",
        "simulation/bilateral/lanes.py",
        "simulation/engines.py",
        "simulation/stepper.py",
        "simulation/stepper_runs.py",
        "simulation/regrip.py",
        "simulation/many.py",
        "simulation/source.py",
    ),
    "mechanics/contact": ("mechanics/contact/",),
    "gradient modes": ("analysis/gradient/",),
}
"""Folders (with a slash at their end) and files of each group, below the package. A file belongs to the first
group that names it.
"""

NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def count(text: str) -> tuple[int, int]:
    """Return the number of code lines and of logical statements of a file.

    >>> count('''\"\"\"Title.\"\"\"\\nx = 1  # one\\n\\na, b = (\\n    x,\\n    2,\\n)\\n''')
    (5, 3)
    """
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    docstrings = {line for node in nodes for line in _docstring_lines(node)}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    statements = sum(_statements(node) for node in nodes)
    texts = sum(1 for node in nodes for expression in _texts(node))
    return len(lines - docstrings), statements - texts


def _texts(node: ast.AST) -> Iterator[ast.Expr]:
    """Yield the statements of a block that are mere strings: docstrings, also those of constants."""
    for child in getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ():
        value = child.value if isinstance(child, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield child


def _docstring_lines(node: ast.AST) -> Iterator[int]:
    """Yield the lines of docstrings of a block."""
    for expression in _texts(node):
        yield from range(expression.lineno, (expression.end_lineno or expression.lineno) + 1)


def _statements(node: ast.AST) -> int:
    """Return how many logical statements a node of the syntax tree is."""
    if not isinstance(node, ast.stmt):
        return 0
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
        targets = node.targets[0]
        # `a, b = b, a` and `a, b = f(x)` unpack; values side by side are separate assignments.
        return len(targets.elts) if isinstance(targets, ast.Tuple) else 1
    return 1


def sources(commit: str | None) -> dict[str, str]:
    """Return the Python files of the package by their path below it, in a commit or the working tree."""
    if commit is None:
        root = ROOT / PACKAGE
        return {str(p.relative_to(root)): p.read_text() for p in sorted(root.rglob("*.py"))}
    listed = _git("ls-tree", "-r", "--name-only", commit, PACKAGE).splitlines()
    paths = [path for path in listed if path.endswith(".py")]
    return {path.removeprefix(PACKAGE): _git("show", f"{commit}:{path}") for path in paths}


def _git(*arguments: str) -> str:
    """Return the output of a git command in this repository."""
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def sizes(commit: str | None) -> dict[str, dict[str, tuple[int, int]]]:
    """Return lines and statements of the files of each group."""
    found: dict[str, dict[str, tuple[int, int]]] = {group: {} for group in GROUPS}
    for path, text in sources(commit).items():
        group = _group(path)
        if group is not None:
            found[group][path] = count(text)
    return found


def _group(path: str) -> str | None:
    """Return the group of a file, if it has one."""
    for group, wanted in GROUPS.items():
        for one in wanted:
            if path == one or (one.endswith("/") and path.startswith(one)):
                return group
    return None


def total(files: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """Return the sums of lines and statements."""
    return sum(lines for lines, _ in files.values()), sum(n for _, n in files.values())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("commits", nargs="*", metavar="COMMIT", help="at most two")
    parser.add_argument("--files", action="store_true", help="list single files, too")
    options = parser.parse_args()
    commits: list[str | None] = [*options.commits[:2]] or [None]
    found = [sizes(commit) for commit in commits]
    names = [commit or "working tree" for commit in commits]
    print(f"{'lines (statements)':40s}" + "".join(f"{name[:16]:>18s}" for name in names))
    sums: list[list[tuple[int, int]]] = []
    for group in GROUPS:
        totals = [total(one[group]) for one in found]
        sums.append(totals)
        _print_row(group, totals)
        if options.files:
            for path in sorted({path for one in found for path in one[group]}):
                _print_row(f"  {path}", [one[group].get(path, (0, 0)) for one in found])
    _print_row(
        "all", [(sum(a for a, _ in x), sum(b for _, b in x)) for x in zip(*sums, strict=True)]
    )


def _print_row(name: str, totals: list[tuple[int, int]]) -> None:
    """Print a row: lines and statements of each commit, and the ratios of the second to the first."""
    cells = "".join(f"{f'{lines} ({statements})':>18s}" for lines, statements in totals)
    (lines, statements), *others = totals
    for other, most in others:
        if lines and statements:
            cells += f"{100 * other / lines:8.1f} % ({100 * most / statements:.1f} %)"
    print(f"{name:40s}{cells}")


if __name__ == "__main__":
    main()
