"""Break the package on purpose and see whether the tests notice.

    python bench/mutants.py [--count 120 | --per-file 15] [--seed 0] [--only PATH ...] [--minutes M]
                            [--log FILE]

A mutant is one small change in a copy of the package: a sign, an operator, a comparison, a function,
a constant or a condition. The tests of its file run on it, the quickest first; all of them pass on the
unchanged package, and the first that fails kills the mutant. Survivors are printed with file, line and
change: each is a gap in the tests, or a change without effect on any result, which `WITHOUT_EFFECT`
proves one by one. Decorators are left alone: how records are stored and compared decides no number.
A campaign takes some ten seconds per killed mutant and a minute or two per survivor; it is not part of
the gate. A stopped campaign continues from its log. A table of all files closes the report.
"""

import argparse
import ast
import hashlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding  # noqa: F401 - what tests import, once for all of them
import numpy  # noqa: F401
import pytest
import scipy.integrate
import scipy.optimize  # noqa: F401
import xarray  # noqa: F401

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "draisine"
PATIENCE = 4.0
"""How many times as long as on the whole package tests may take: longer ones hang, which kills."""

ROOMS = ("mechanics", "simulation", "analysis", "terrain")
"""The subpackages that are broken, in equal shares."""

SAMPLE = "combine/test_invariants.py"
"""Machines and options in combination: the last to notice, since it takes a minute."""

LAWS = (
    "mechanics/test_moving_ground.py",
    "mechanics/test_base.py",
    "mechanics/test_closed_forms.py",
    "mechanics/test_random_trees.py",
    "agree/test_projected_multiplier.py",
)
EVENTS = ("stops", "endings", "kernels", "borders", "disc", "friction", "progress", "moving")
CONTACTS = tuple(f"simulation/contact/test_{name}.py" for name in EVENTS)


def _contact_tests(*names: str) -> str:
    """Return files of contact tests as one group, which runs in one process."""
    return " ".join(f"simulation/contact/{name}" for name in names)


RULES = ("arc", "event", "kernel", "nearby", "run_loop", "sample", "short_step")
UNITS = _contact_tests(
    *(f"test_{name}.py" for name in ("decisions", "rules", "guards", "tolerances")),
    *(f"test_{name}_rules.py" for name in RULES),
)
"""Single routines, without a run."""

RUNS = _contact_tests(
    *(f"test_{name}.py" for name in (*EVENTS, "thesis", "torus", "flats", "samples"))
)
OTHER_RUNS = _contact_tests(
    *(f"test_{name}.py" for name in ("tyres", "resolutions", "closed_forms", "blades", "energy")),
    "stepping",
)
"""Whole runs. Campaigns on rough ground, many contacts and coupled wheels are left out: a survivor would
cost three minutes."""

TESTS = {
    "mechanics": LAWS,
    "mechanics/applied.py": ("mechanics/test_applied.py", *LAWS),
    "mechanics/connection.py": ("mechanics/test_connection.py", "analysis/connection"),
    "mechanics/constraints.py": (*LAWS, "mechanics/formulations/test_rank.py"),
    "mechanics/contact": tuple(
        f"simulation/contact/test_{name}.py"
        for name in ("borders", "torus", "flats", "friction", "tyres", "blades")
    ),
    "mechanics/couplings.py": ("mechanics/test_couplings.py", "agree/test_many_wheels.py"),
    "mechanics/forces": (
        "mechanics/test_tyres.py",
        "mechanics/test_tyre_energy.py",
        "vehicles/test_tyred.py",
        "mechanics/test_applied.py",
    ),
    "mechanics/formulations": ("agree/test_formulations.py",),
    "mechanics/formulations/bicycle": ("agree/test_formulations.py", "vehicles/bicycle"),
    "mechanics/formulations/_articulated.py": ("agree/test_long_trees.py", *LAWS),
    "mechanics/formulations/_tree_kernel.py": ("agree/test_long_trees.py", *LAWS),
    "mechanics/formulations/_rank.py": (
        "mechanics/formulations/test_rank.py",
        "agree/test_many_wheels.py",
    ),
    "mechanics/formulations/multiplier.py": ("agree/test_projected_multiplier.py",),
    "mechanics/formulations/projected.py": ("mechanics/test_kernel.py", *LAWS),
    "mechanics/kernel.py": (
        "mechanics/test_kernel.py",
        "mechanics/formulations/test_rank.py",
        *LAWS,
    ),
    "mechanics/loads.py": ("mechanics/test_tyres.py", "mechanics/test_applied.py"),
    "mechanics/readings.py": ("mechanics/test_applied.py", "vehicles/test_tyred.py", *LAWS),
    "simulation": ("simulation/test_bilateral.py", "simulation/test_options.py", SAMPLE),
    "simulation/compare": ("simulation/compare", SAMPLE),
    "simulation/compare/by_formulation.py": ("agree/test_runs.py", "agree/test_formulations.py"),
    "simulation/contact": (UNITS, RUNS, OTHER_RUNS),
    "simulation/contact/complementarity": ("simulation/contact/complementarity", RUNS, OTHER_RUNS),
    "simulation/contact/stepping": (
        _contact_tests(
            *(
                f"stepping/test_{name}.py"
                for name in ("step_rules", "step_equations", "grid_rules", "switch_rules", "switch")
            ),
            "test_rules.py",
        ),
        "simulation/contact/stepping",
        RUNS,
    ),
    "simulation/dataset.py": ("results", SAMPLE),
    "simulation/impacts": ("simulation/impacts", *CONTACTS[4:6]),
    "simulation/integrators": (
        "simulation/integrators",
        "mechanics/test_moving_ground.py",
        "simulation/test_stepper.py",
        "simulation/test_many.py",
        "simulation/test_bilateral.py",
    ),
    "simulation/bilateral": ("simulation/test_bilateral.py", "simulation/test_many.py", SAMPLE),
    "simulation/bilateral/singular.py": ("simulation/test_singular.py",),
    "simulation/engines.py": ("simulation/test_many.py", "simulation/test_stepper.py", SAMPLE),
    "simulation/many.py": ("simulation/test_many.py", SAMPLE),
    "simulation/options.py": ("simulation/test_options.py", "simulation/test_misuse.py", SAMPLE),
    "simulation/integrators/_python_law.py": ("simulation/test_bilateral.py", SAMPLE),
    "simulation/regrip.py": ("simulation/test_regrip.py",),
    "simulation/source.py": ("simulation/test_source.py", SAMPLE),
    "simulation/stepper.py": ("simulation/test_stepper.py", SAMPLE),
    "simulation/stepper_runs.py": ("simulation/test_stepper.py", SAMPLE),
    "simulation/validity": ("simulation/test_validity.py", SAMPLE),
    "analysis": ("analysis/test_linear.py", "analysis/test_eigenmodes.py", SAMPLE),
    "analysis/bicycle": ("analysis/bicycle",),
    "analysis/connection": ("analysis/connection",),
    "analysis/continuation.py": ("analysis/test_continuation.py",),
    "analysis/differentiate.py": ("analysis/test_gradient.py", "analysis/test_return_map.py"),
    "analysis/eigenmodes.py": ("analysis/test_eigenmodes.py", "analysis/bicycle"),
    "analysis/equilibrium": (
        "analysis/test_steady.py",
        "analysis/test_accelerating.py",
        "analysis/test_continuation.py",
        "mechanics/test_tyres.py",
    ),
    "analysis/gait": ("analysis/gait",),
    "analysis/gradient": ("analysis/test_gradient.py", "analysis/test_optimise.py", SAMPLE),
    "analysis/identify": ("analysis/test_identify.py",),
    "analysis/lqr.py": ("analysis/test_lqr.py",),
    "analysis/metrics.py": ("analysis/test_metrics.py",),
    "analysis/rider": (
        "analysis/test_preview.py",
        "analysis/test_loops.py",
        "analysis/test_handling.py",
    ),
    "analysis/return_map.py": ("analysis/test_return_map.py",),
    "analysis/variation.py": ("analysis/test_variation.py", "analysis/test_linear.py"),
    "terrain": (
        "terrain",
        "simulation/contact/test_borders.py",
        "simulation/contact/test_rough.py",
        "simulation/contact/test_moving.py",
        "scenario/test_terrain.py",
    ),
}
"""The tests that should notice, by the longest part of a file's path that is named, in this order."""

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


WITHOUT_EFFECT = {
    (
        "simulation/contact/start.py",
        "column = 0.5 * (high - low) + [0.0, 0.0, COLUMN_HEIGHT * length]",
    ): "any height above all of the ground will do",
    (
        "simulation/contact/nearby/search.py",
        "margin *= 0.5",
    ): "by how much a margin shrinks decides the effort alone",
    (
        "simulation/contact/query.py",
        "S, o = motion(t + GROUND_SPEED_TIME)",
    ): "a difference quotient backwards has the same size",
    (
        "simulation/contact/complementarity/impulses.py",
        "return 1e300",
    ): "any residual above all others says that no level is solved",
    ("simulation/contact/event_driven/guards.py", "NEVER = 2.0"): "any number beyond 1 says so",
    (
        "simulation/contact/event_driven/guards.py",
        "if latest_sign * part[j] < 0.0:",
    ): "a sign is 1 or -1",
    (
        "simulation/contact/event_driven/guards.py",
        "width = 1.0 - at",
    ): "an interval that reaches beyond 1 is halved, or passed: zeros in [0, 1] stay the same",
    (
        "simulation/contact/event_driven/guards.py",
        "width = min(2.0 * width, 1.0 - low)",
    ): "the same: the width of the next interval decides the effort alone",
    (
        "simulation/contact/event_driven/guards.py",
        "width *= 0.5",
    ): "by how much an interval shrinks decides the effort alone: it ends below the finest",
    (
        "simulation/contact/event_driven/guards.py",
        "tail = [2.0 / DEGREE * ends * np.cos(k * angles) for k in (DEGREE - 1, DEGREE)]",
    ): "at the nodes cos((DEGREE + 1) x) is cos((DEGREE - 1) x)",
    (
        "simulation/integrators/dop853.py",
        "return max(0.2, 0.9 * error ** (-1.0 / 8.0)) if isfinite(error) else 0.1",
    ): "how much shorter a step is tried whose error is no number decides the effort alone",
    (
        "mechanics/formulations/_tree_kernel.py",
        "if sizes[:, :moves].max(initial=0.0) > 0.1 * scale:",
    ): "which of several good pivots is taken decides rounding alone",
    (
        "mechanics/formulations/_tree_kernel.py",
        "if len(a.names) == 3 and a.holds_all:",
    ): "what holds in all directions does so in any axes",
    (
        "mechanics/formulations/_tree_kernel.py",
        "if not (len(a.names) == 3 and a.holds_all):",
    ): "what holds in all directions has no velocity that axes could turn",
    (
        "mechanics/formulations/_rank.py",
        "at = at.moved(step / max(1.0, float(np.abs(step).max()) / 0.3))",
    ): "how far steps go towards a zero decides the effort alone",
    (
        "mechanics/formulations/_rank.py",
        "name: x * (1 + rng.uniform(0.03, 0.1)) if x else rng.uniform(0.03, 0.05)",
    ): "which parameters near the given ones are asked: any will do",
    (
        "mechanics/formulations/absolute.py",
        'saddle_point(out["M"], -Q, D, target, labels, speeds)',
    ): "it is called to say why there is no solution, whatever is on the right",
    (
        "mechanics/contact/modes.py",
        "UP, ACROSS = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)",
    ): "near which feature pivots are chosen: any will do",
    (
        "mechanics/contact/modes.py",
        "size = sqrt(where(moves, square, 1.0))",
    ): "a contact that does not move has no direction, which is left out behind it",
    (
        "mechanics/formulations/absolute.py",
        "E = np.where(self.angles, (gaps + np.pi) % (2.0 * np.pi) - np.pi, gaps)",
    ): "half a turn forward or back is the same without whole turns",
}
"""Changes that alter no result, by file and line of text, and why."""


@dataclass(frozen=True)
class Mutant:
    """One change: where, what stood there, what stands there now, and the whole text of the file."""

    file: Path
    line: int
    before: str
    after: str
    text: str

    @property
    def excuse(self):
        """Why it may survive, or None."""
        line = self.file.read_text().splitlines()[self.line - 1].strip()
        return WITHOUT_EFFECT.get((str(self.file.relative_to(PACKAGE)), line))

    def turn(self, seed):
        """When it is taken: by chance, but the same however lines and other changes move."""
        told = f"{seed} {self.file.relative_to(PACKAGE)} {self.before} {self.after}"
        return hashlib.sha256(told.encode()).digest()


def changes(node):
    """Yield what a node may be replaced by; tolerances, which are numbers below 1e-3, stay."""
    match node:
        case ast.BinOp(left=ast.Constant(value=float() as small)) if abs(small) < 1e-3:
            pass
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
        case ast.Constant(value=float() as value) if abs(value) > 1e-3:
            yield ast.Constant(1.5 * value)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)


def mutants_of(file):
    """Return every mutant of a file; annotations, messages, docstrings and decorators are left alone."""
    text = file.read_text()
    tree = ast.parse(text)
    quiet = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.AnnAssign | ast.arg | ast.Assert):
            quiet |= {id(x) for x in ast.walk(node)} - {id(node)}
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            quiet |= {id(x) for x in ast.walk(node.returns)}
        for decorator in getattr(node, "decorator_list", ()):
            quiet |= {id(x) for x in ast.walk(decorator)}
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


def files_of(room):
    """Return the files of a subpackage, or the one file that it is."""
    place = PACKAGE / room
    return [place] if place.suffix else sorted(place.rglob("*.py"))


def tests_of(file):
    """Return the groups of tests that should notice what happens to a file, each once."""
    path = str(file.relative_to(PACKAGE))
    prefix = max((p for p in TESTS if path.startswith(p)), key=len)
    last = (SAMPLE,) if path.startswith("mechanics") else ()
    groups = dict.fromkeys((*TESTS[prefix], *last))
    return [" ".join(f"tests/{name}" for name in group.split()) for group in groups]


def sample_files(per_file, seed, only):
    """Return so many mutants of each file, in rounds: one of each file, then the next of each."""
    ranked = []
    for path in only or ROOMS:
        for file in files_of(path):
            ordered = sorted(mutants_of(file), key=lambda mutant: mutant.turn(seed))
            ranked += list(enumerate(ordered[:per_file]))
    return [mutant for _, mutant in sorted(ranked, key=lambda pair: pair[0])]


def sample(count, seed, only):
    """Return so many mutants, evenly over the subpackages, the same for the same seed."""
    rooms = only or ROOMS
    chosen = []
    for k, room in enumerate(rooms):
        pool = [m for f in files_of(room) for m in mutants_of(f)]
        share = count // len(rooms) + (k < count % len(rooms))
        chosen += sorted(pool, key=lambda mutant: mutant.turn(seed))[:share]
    return chosen


def killer(mutant, folder, usual):
    """Return the first test that fails on a copy of the project with one mutant in it, or None. What
    tests take on the whole package is put among the `usual` seconds; they hold there.
    """
    target = folder / mutant.file.relative_to(ROOT)
    whole = target.read_text()
    for tests in tests_of(mutant.file):
        if tests not in usual:
            code, told, usual[tests] = run_tests(folder, tests)
            assert code == 0, f"{tests} fails without any mutant:\n{told}"
        for stale in target.parent.glob(f"__pycache__/{target.stem}.*"):
            stale.unlink()
        target.write_text(mutant.text)
        code, told, _ = run_tests(folder, tests, int(PATIENCE * usual[tests]) + 10)
        target.write_text(whole)
        if code != 0:
            failed = [line for line in told.splitlines() if line.startswith(("FAILED", "ERROR"))]
            return failed[0].split(" - ")[0] if failed else f"{tests} ended with {code}"
    return None


def run_tests(folder, tests, limit=resource.RLIM_INFINITY):
    """Return the exit code of tests in a copy of the project, what they print and how many seconds of
    a CPU they take: in a child of this process, which has the libraries in memory, but nothing of the
    package.
    """
    assert "draisine" not in sys.modules
    told = folder / "told.txt"
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        with told.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder / "src")
        os.environ["DRAISINE_CACHE"] = str(folder / "cache")  # it knows what it was made from
        # without bench, where combine.py has the name of a package of tests
        sys.path[:] = [
            str(folder / "src"),
            *(p for p in sys.path if Path(p) != Path(__file__).parent),
        ]
        sys.dont_write_bytecode = limit != resource.RLIM_INFINITY  # what mutants are made of
        os._exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests.split()]))
    _, code, used = os.wait4(child, 0)
    return code, told.read_text(), used.ru_utime + used.ru_stime


def copy_of_the_project(folder):
    """Put what tests need into a folder."""
    for part in ("src", "tests", "docs", "bench"):
        ignore = shutil.ignore_patterns("_build", "__pycache__")
        shutil.copytree(ROOT / part, folder / part, ignore=ignore)
    for file in ("pyproject.toml", "conftest.py", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / file, folder / file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--per-file", type=int, help="so many of each file, instead of --count")
    parser.add_argument(
        "--only", metavar="PATH", nargs="+", help="subpackages or files, as simulation/impacts"
    )
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no mutant later")
    parser.add_argument("--log", type=Path, help="one line of JSON per mutant; gone on with")
    asked = parser.parse_args()
    old = asked.log.read_text().splitlines() if asked.log and asked.log.exists() else []
    known = {tuple(one["mutant"]): one for one in map(json.loads, old)}
    if asked.per_file:
        mutants = sample_files(asked.per_file, asked.seed, asked.only)
    else:
        mutants = sample(asked.count, asked.seed, asked.only)
    found = []
    by_file = {}
    last_start = time.monotonic() + 60.0 * asked.minutes
    with tempfile.TemporaryDirectory() as name:
        folder, usual = Path(name), {}
        copy_of_the_project(folder)
        for mutant in mutants:
            place = f"{mutant.file.relative_to(PACKAGE)}:{mutant.line}"
            told = (place, mutant.before, mutant.after)
            if told not in known:
                if time.monotonic() > last_start:
                    continue
                begun = time.perf_counter()
                by = killer(mutant, folder, usual)
                known[told] = {"mutant": told, "by": by, "seconds": time.perf_counter() - begun}
                if asked.log:
                    with asked.log.open("a") as log:
                        log.write(json.dumps(known[told]) + "\n")
            word = "killed" if known[told]["by"] else mutant.excuse or "SURVIVED"
            found.append(word)
            by_file.setdefault(str(mutant.file.relative_to(PACKAGE)), []).append(word)
            print(f"{len(found):4d} {place}  {told[1]!r} -> {told[2]!r}: {word}", flush=True)
    print("file: killed, without effect, survived")
    for file, words in sorted(by_file.items()):
        killed, left = words.count("killed"), words.count("SURVIVED")
        print(f"{file}: {killed}, {len(words) - killed - left}, {left}")
    killed, left = found.count("killed"), found.count("SURVIVED")
    print(
        f"of {len(found)} mutants {killed} killed, {len(found) - killed - left} without effect, "
        f"{left} left: {1 - left / max(len(found), 1):.1%}"
    )


if __name__ == "__main__":
    main()
