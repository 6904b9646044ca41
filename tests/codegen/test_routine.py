"""Routines: equal results in Python and machine code for all SIMD widths, and errors outside the subset."""

import shutil
import subprocess
from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np
import pytest

from codegen.refusals import assert_refused
from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, each, routine
from draisine.codegen.targets import _llvm
from draisine.codegen.targets._llvm_routine import write_llvm
from draisine.codegen.targets.native import Packed, compile_routines, make_record
from draisine.errors import RoutineError


class Task(NamedTuple):
    """A record with a field of every type."""

    n: int
    scale: float
    a: Floats
    order: Integers


@routine
def ordered(task: Task, least: float) -> int:
    """Sort entries in place, and return the number of those above `least`."""
    n, a, order = task.n, task.a, task.order
    for i in range(n):
        order[i] = i
    for i in range(n):
        for j in range(n - 1, i, -1):
            if a[order[j]] < a[order[j - 1]]:
                order[j], order[j - 1] = order[j - 1], order[j]
    at = n
    while at > 0 and not a[order[at - 1]] <= least:
        at -= 1
        if at == 2:
            break
    return n - at


@routine
def mixed(task: Task, out: Floats, terms: int) -> float:
    """Use every statement and expression of the subset."""
    n, h = task.n, task.scale
    rest = out[n:]
    for k in each(n):
        s = 0.0
        for j in range(terms):
            s += h * task.a[k] + j / 3
        rest[k] = max(s, 1.0) if task.a[k] > -0.5 and not task.a[k] > 0.5 else -abs(s)
        out[k] = sqrt(abs(task.a[k])) + min(s, float(n))
    count = ordered(task, 0.1)
    total = 0.0
    for i in range(0, n, 2):
        if i % 4 == 0 or i // 4 > 1:
            continue
        total += out[i] if isfinite(out[i]) else 0.0
    return total * 2.0 ** (-count)


@pytest.fixture
def task():
    a = np.random.default_rng(3).uniform(-1.0, 1.0, 13)
    return Task(13, 0.25, a, np.zeros(13, dtype=np.int64))


@pytest.mark.parametrize("passes", ["all", "few"])
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_machine_code_equals_python_bit_for_bit(task, width, passes):
    ours, theirs = np.zeros(26), np.zeros(26)
    expected = mixed(task, theirs, 5)
    order = task.order.copy()
    task.order[:] = 0
    found = compile_routines(mixed, width=width, passes=passes)[0](Packed(task), ours, 5)
    assert found == expected
    assert np.array_equal(ours, theirs)
    assert np.array_equal(order, task.order)
    assert np.array_equal(task.a[order], np.sort(task.a))


def scaled(factor):
    @routine
    def scale(a: Floats, n: int) -> None:
        for k in each(n):
            a[k] = factor * a[k]

    return scale


def test_a_template_is_compiled_for_its_constants():
    a = np.arange(5.0)
    assert scaled(2.0).digest_text != scaled(3.0).digest_text
    compile_routines(scaled(2.0))[0](a, 5)
    compile_routines(scaled(3.0))[0](a, 5)
    assert np.array_equal(a, 6.0 * np.arange(5.0))


def test_the_cache_key_depends_on_the_callees():
    def caller(inner):
        @routine
        def outer(a: Floats) -> None:
            inner(a, 1)

        return outer

    assert caller(scaled(2.0)).digest_text != caller(scaled(3.0)).digest_text
    assert caller(scaled(2.0)).digest_text == caller(scaled(2.0)).digest_text


def test_the_cache_key_depends_on_the_order_of_callees():
    twice, thrice = scaled(2.0), scaled(3.0)

    @routine
    def both(a: Floats) -> None:
        twice(a, 1)
        thrice(a, 1)

    def caller(first, second):
        @routine
        def outer(a: Floats) -> None:
            both(a)
            first(a, 1)
            second(a, 2)

        return outer

    assert caller(twice, thrice).digest_text != caller(thrice, twice).digest_text


def test_a_local_name_is_not_a_callee():
    @routine
    def counted(task: Task) -> float:
        ordered = 2.0 * task.scale
        return ordered

    assert counted.callees == []
    assert mixed.callees == [ordered]


def test_a_routine_without_source_text_is_refused():
    scope = {"Floats": Floats, "routine": routine}
    exec("@routine\ndef lost(a: Floats) -> None:\n    a[0] = 1.0\n", scope)
    with pytest.raises(RoutineError, match="source text of routine 'lost' is not available"):
        compile_routines(scope["lost"])


def test_two_instances_of_a_template_compile_together():
    twice, thrice = scaled(2.0), scaled(3.0)

    @routine
    def both(a: Floats) -> None:
        twice(a, 1)
        thrice(a, 1)

    a = np.ones(1)
    compile_routines(both)[0](a)
    assert a[0] == 6.0


@routine
def unknown_word(a: Floats) -> None:
    b = a[0]
    print(b)


@routine
def two_kinds(n: int) -> float:
    x = 0
    x = 0.5 * n
    return x


@routine
def list_inside(n: int) -> int:
    x = [n]
    return x


@routine
def no_return(n: int) -> int:
    if n > 0:
        return 1


@routine
def lane_as_number(a: Floats, n: int) -> None:
    for k in each(n):
        a[k] = a[k] + k


@routine
def strided(a: Floats, n: int) -> None:
    for k in each(n):
        a[2 * k] = 1.0


@routine
def branch_in_lane(a: Floats, n: int) -> None:
    for k in each(n):
        if a[k] > 0.0:
            a[k] = 0.0


@routine
def lane_outside(a: Floats, n: int) -> float:
    for k in each(n):
        s = a[k]
    return s


@routine
def after_loop(a: Floats, n: int) -> int:
    for i in range(n):
        a[i] = 1.0
    return i


@routine
def no_kind(n) -> int:
    return n


@pytest.mark.parametrize(
    ("bad", "line", "why"),
    [
        (unknown_word, 3, "does not know the name 'print'"),
        (two_kinds, 3, "assigns float to 'x', which is int; write int"),
        (list_inside, 2, r"cannot contain the expression `\[n\]`"),
        (no_return, 1, "does not return a value on every path"),
        (lane_as_number, 3, "as an index only"),
        (strided, 3, "k must be alone or in a sum"),
        (branch_in_lane, 3, "branches on a value that differs between SIMD lanes"),
        (lane_outside, 4, "which has one value per SIMD lane, outside of `each`"),
        (after_loop, 4, "reads 'i' after its loop"),
        (no_kind, 0, "argument 'n' of routine 'no_kind' has no type"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_errors_show_file_line_and_text(bad, line, why):
    assert_refused(bad, line, why)


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
def test_object_code_calls_only_pow_and_memory_functions(tmp_path):
    path = tmp_path / "mixed.o"
    path.write_bytes(_llvm.compile_object(write_llvm([mixed], 4)))
    listed = subprocess.run(["nm", "-u", path], capture_output=True, text=True, check=True)
    assert set(listed.stdout.split()) - {"U"} <= {"pow", "memcpy", "memset", "memmove"}


class Sized(NamedTuple):
    """A record with a field that is compiled as a constant."""

    n: int
    a: Floats


@routine
def doubled(p: Sized) -> int:
    for k in each(p.n):
        p.a[k] = 2.0 * p.a[k]
    return p.n


@pytest.mark.parametrize("width", [1, 4])
def test_a_field_compiled_as_a_constant_is_not_read(width):
    """The record contains 7 and the code is compiled for 3, so only three entries are doubled."""
    a = np.ones(7)
    (code,) = compile_routines(doubled, width=width, known=((Sized, "n", 3),))
    assert code(Packed(Sized(7, a))) == 3
    assert np.array_equal(a, [2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    assert compile_routines(doubled, width=width)[0](Packed(Sized(7, a))) == 7


def test_make_record_creates_arrays_of_given_sizes():
    order = np.arange(2)
    made = make_record(Task, n=3, scale=0.5, a=4, order=order)
    assert (made.n, made.scale) == (3, 0.5)
    assert made.order is order
    assert made.a.dtype == float
    assert np.array_equal(made.a, np.zeros(4))
