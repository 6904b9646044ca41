"""Break the package on purpose and see whether the tests notice: `python bench/mutants.py [--count 120]
[--seed 0] [--only ROOM] [--json FILE]`.

A mutant is one small change in a copy of the package: a sign, an operator, a comparison, a function,
a constant or a condition. Each is given to the tests of its room, those that fail most often first,
and is killed by the first that fails. Survivors are printed with file, line and change: each is a gap
in the tests or a change without effect. The campaign takes about a minute per mutant and core; it is
no part of the gate.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "draisine"
LIMIT = 600.0
"""Seconds after which a mutant that hangs the tests counts as killed."""

ROOMS = {
    "mechanics": ["tests/mechanics", "tests/agree", "tests/vehicles"],
    "simulation/impacts": ["tests/simulation/impacts", "tests/simulation/contact"],
    "simulation/integrators": ["tests/simulation", "tests/mechanics/test_closed_forms.py"],
    "simulation/contact": ["tests/simulation/contact", "tests/simulation/impacts"],
}
"""What is broken, and the tests that should notice, in this order."""

OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
FUNCTIONS = {"sin": "cos", "cos": "sin", "max": "min", "min": "max", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One change: where, what stood there, what stands there now, and the whole text of the file."""

    file: Path
    line: int
    before: str
    after: str
    text: str


def changes(node):
    """Yield what a node may be replaced by."""
    match node:
        case ast.BinOp() if type(node.op) in OPERATORS:
            yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
        case ast.BoolOp():
            yield ast.BoolOp(OPERATORS[type(node.op)](), node.values)
        case ast.Compare() if len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
            yield ast.Compare(node.left, [OPERATORS[type(node.ops[0])]()], node.comparators)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield node.operand
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            yield ast.Call(ast.Name(FUNCTIONS[name]), node.args, node.keywords)
        case ast.Constant(value=float() as value) if abs(value) > 1e-3:  # smaller: tolerances
            yield ast.Constant(1.5 * value)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)


def mutants_of(file):
    """Return every mutant of a file; annotations, messages and docstrings are left alone."""
    text = file.read_text()
    tree = ast.parse(text)
    quiet = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.AnnAssign | ast.arg | ast.Assert):
            quiet |= {id(x) for x in ast.walk(node)} - {id(node)}
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            quiet |= {id(x) for x in ast.walk(node.returns)}
    found = []
    for node in ast.walk(tree):
        if id(node) in quiet or not hasattr(node, "end_col_offset"):
            continue
        for new in changes(node):
            start, end = _place(text, node)
            after = f"({ast.unparse(ast.fix_missing_locations(new))})"
            changed = text[:start] + after + text[end:]
            before = text[start:end]
            found.append(Mutant(file, node.lineno, before, after, changed))
    return found


def _place(text, node):
    """Return where a node begins and ends in a text."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def at(line, column):
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)


def sample(count, seed, only):
    """Return so many mutants, evenly over the rooms, the same for the same seed."""
    rng = random.Random(seed)
    rooms = [room for room in ROOMS if only is None or room == only]
    chosen = []
    for k, room in enumerate(rooms):
        pool = [m for f in sorted((PACKAGE / room).rglob("*.py")) for m in mutants_of(f)]
        share = count // len(rooms) + (k < count % len(rooms))
        chosen += [(room, mutant) for mutant in rng.sample(pool, min(share, len(pool)))]
    return chosen


def survives(mutant, room, folder):
    """Return whether all tests pass on a copy of the project with one mutant in it."""
    target = folder / mutant.file.relative_to(ROOT)
    target.write_text(mutant.text)
    environment = os.environ | {
        "PYTHONPATH": str(folder / "src"),
        "DRAISINE_CACHE": str(folder / "c"),
    }
    try:
        for tests in ROOMS[room]:
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", tests]
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=LIMIT,
                check=False,
            )
            if done.returncode not in (0, 5):
                return False
    except subprocess.TimeoutExpired:
        return False
    finally:
        shutil.copy(mutant.file, target)
        shutil.rmtree(folder / "c", ignore_errors=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(ROOMS))
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    left, chosen, begun = [], sample(asked.count, asked.seed, asked.only), time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("src", "tests", "docs", "bench"):
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("_build"))
        for file in ("pyproject.toml", "conftest.py", "README.md"):
            shutil.copy(ROOT / file, folder / file)
        for k, (room, mutant) in enumerate(chosen, 1):
            alive = survives(mutant, room, folder)
            place = f"{mutant.file.relative_to(PACKAGE)}:{mutant.line}"
            word = "SURVIVED" if alive else "killed"
            print(f"{k:4d} {word:8s} {place}  {mutant.before!r} -> {mutant.after!r}", flush=True)
            if alive:
                left.append({"place": place, "before": mutant.before, "after": mutant.after})
    killed = len(chosen) - len(left)
    share = killed / max(len(chosen), 1)
    print(f"{killed} of {len(chosen)} killed, {share:.1%}, {time.perf_counter() - begun:.0f} s")
    if asked.json is not None:
        asked.json.write_text(json.dumps({"killed": killed, "survivors": left}, indent=1))


if __name__ == "__main__":
    main()
