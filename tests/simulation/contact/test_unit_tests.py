"""Every routine of the contact engine that decides something has a unit test.

A routine with a branch (a condition, a comparison, a loop until a condition holds) is called by name in a
module of `UNIT_TESTS`, or is listed below as plain arithmetic.
"""

import ast
from functools import cache
from pathlib import Path

import draisine

PACKAGE = Path(draisine.__file__).parent / "simulation" / "contact"
TESTS = Path(__file__).parent

UNIT_TESTS = (
    "test_*_rules.py", "test_rules.py", "test_decisions.py", "test_guards.py", "test_rank.py",
    "complementarity/test_*.py", "stepping/test_*_rules.py", "stepping/test_step_equations.py",
    "stepping/test_switch.py", "stepping/test_motors.py", "stepping/test_ideal.py",
)  # fmt: skip
"""Modules that call single routines."""

ARITHMETIC = {
    "skips zeros of a matrix, without an effect on the result": (
        "add_outer_products",
        "divide_lower_transposed",
        "divide_transposed",
    ),
    "computes with G in place of C where they differ": ("eliminate_right_side", "scale_columns"),
    "adds the forces of tyres, at contacts that have one": (
        "add_tyre_derivative",
        "evaluate_contact",
    ),
    "normalises the quaternion of a base that has one": ("move_configuration",),
}
"""Routines with branches that decide nothing, by what they do. Whole runs test them."""

BRANCHES = (ast.If, ast.IfExp, ast.While, ast.Compare, ast.BoolOp)


def name_of(node):
    """Return the name of a decorator, or of what a decorator calls."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.id if isinstance(node, ast.Name) else ""


@cache
def routines_with_branches():
    """Return the file of each routine that has a branch, by its name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            is_routine = isinstance(node, ast.FunctionDef) and any(
                name_of(decorator) == "routine" for decorator in node.decorator_list
            )
            if is_routine and any(isinstance(part, BRANCHES) for part in ast.walk(node)):
                found[node.name] = path.relative_to(PACKAGE).as_posix()
    return found


def calls_of(text):
    """Return the names of the engine's functions that a module of tests calls, or passes to `shared_code`."""
    tree = ast.parse(text)
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("draisine.simulation.contact")
        for alias in node.names
    }
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = [node.func]
        if name_of(node) == "shared_code":
            called += node.args
        for each in called:
            if isinstance(each, ast.Name) and each.id in imported:
                found.add(each.id)
            is_member = isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name)
            if is_member and each.value.id in imported:
                found.add(each.attr)
    return found


@cache
def unit_tested():
    """Return the names of all routines that a unit test calls."""
    modules = {path for pattern in UNIT_TESTS for path in TESTS.glob(pattern)}
    return set().union(*(calls_of(path.read_text()) for path in modules))


def test_every_routine_that_decides_is_called_by_a_unit_test():
    listed = {name for names in ARITHMETIC.values() for name in names}
    tested = unit_tested()
    missing = {
        name: file
        for name, file in routines_with_branches().items()
        if name not in tested and name not in listed
    }
    assert missing == {}


def test_the_list_of_arithmetic_is_true():
    """Each entry exists, has a branch, and has no unit test."""
    listed = [name for names in ARITHMETIC.values() for name in names]
    assert sorted(set(listed)) == sorted(listed)
    assert set(listed) <= set(routines_with_branches())
    assert not set(listed) & unit_tested()


def test_calls_are_recognised_by_the_module_of_the_engine():
    text = """
from draisine.simulation.contact import kernels
from draisine.simulation.contact.samples import box_distance, find_nearest
from elsewhere import flow

kernels.flow(1)
box_distance(2)
shared_code(find_nearest)
flow(3)
other.project_state(4)
"""
    assert calls_of(text) == {"flow", "box_distance", "find_nearest"}
    assert calls_of(text.replace("kernels.flow(1)", "")) == {"box_distance", "find_nearest"}
