"""Records as data: an exported routine reads in C and JavaScript the values that Python stored."""

import math
import shutil
import subprocess
from typing import NamedTuple

import numpy as np
import pytest

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import (
    Address,
    Flags,
    Integers,
    Matrix,
    Record,
    Vec3,
    call,
    routine,
)
from draisine.codegen.targets import c, javascript
from draisine.codegen.targets._dialects import C_HELPERS, JS_HELPERS, c_types, js_types
from draisine.codegen.targets._memory import Memory, write_c_memory, write_js_memory
from draisine.codegen.targets._text_routine import write_text_routine

ADDRESS_OF_DOUBLING = 123456789012345


class Inner(Record):
    count: int
    is_on: bool
    scale: float
    axis: Vec3


class Outer(NamedTuple):
    inner: Inner
    whole: Floats
    part: Floats  # the end of `whole`
    flags: Flags
    rows: Matrix
    programs: Integers
    program: Address
    limit: float
    constant: Floats


@routine
def collect(o: Outer, null: Floats) -> float:
    """Return a number of all entries; names are reserved words, and k is also the variable of a loop."""
    o.part[0] = 10.0
    default = o.whole[2] + o.rows[1, 0] + o.inner.scale * o.inner.axis[2]
    k = o.inner.count
    count = float(k)
    for k in range(o.inner.count):
        default += o.constant[k]
    call(Address(o.programs[0]), o.whole, null, null, 1)
    call(o.program, o.whole, null, null[1:], 1)
    if o.inner.is_on and o.flags[1] and o.limit > 1e300:
        default += 100.0 * null[0] + count
    return default + 1000.0 * null[1]


def example():
    whole = np.array([1.0, 2.0, 3.0, 0.1])
    inner = Inner(count=2, is_on=True, scale=0.5, axis=Vec3(0.0, 0.0, -4.0))
    programs = np.array([ADDRESS_OF_DOUBLING])
    rows = np.array([[1.0, 2.0], [7.0, 8.0]])
    flags = np.array([False, True])
    constant = np.array([0.25, 0.5])
    address = Address(ADDRESS_OF_DOUBLING)
    return Outer(inner, whole, whole[2:], flags, rows, programs, address, math.inf, constant)


EXPECTED = 10.0 + 7.0 - 2.0 + 0.75 + 100.0 * 2.0 + 2.0 + 1000.0 * 2.0
"""Sum computed by hand: `part` shares its memory with `whole`, and the program doubles the first entry."""


@pytest.fixture
def memory():
    memory = Memory({ADDRESS_OF_DOUBLING: 0}, frozenset({"programs"}))
    memory.add(example())
    memory.place()
    return memory


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc)")
def test_c_finds_the_values_of_python(memory, tmp_path):
    text = f"""
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef void Program(double *x, double *table, double *out, int64_t count);
static void twice(double *x, double *table, double *out, int64_t count)
{{ (void)table; (void)count; out[0] = 2.0 * x[0]; }}
static Program *const programs[1] = {{ twice }};
{C_HELPERS}
{c_types(collect)}
{write_text_routine(collect, c.C_DIALECT, "collect")}
{write_c_memory(memory, "m")}
int main(void)
{{
    static m_memory m;
    double out[2] = {{0.0, 0.0}};
    m_reset(&m);
    printf("%.17g\\n", collect(&m.record_{len(memory.records) - 1}, out));
    return 0;
}}
"""
    (tmp_path / "run.c").write_text(text)
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "run.c", "-o", "run", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    out = subprocess.run(["./run"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert float(out.splitlines()[0]) == EXPECTED


@pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript engine (node)")
def test_javascript_finds_the_values_of_python(memory, tmp_path):
    text = f"""
const programs = [(x, table, out) => {{ out[0] = 2.0 * x[0]; }}];
{JS_HELPERS + js_types(collect)}
{write_text_routine(collect, javascript.JS_DIALECT, "collect")}
{write_js_memory(memory, "allocate")}
console.log(collect(allocate(), new Float64Array(2)));
"""
    (tmp_path / "run.js").write_text(text)
    out = subprocess.run(
        ["node", "run.js"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert float(out.stdout) == EXPECTED


def test_arrays_of_records_are_refused():
    class Several(NamedTuple):
        many: tuple[Inner, ...]

    inner = Inner(count=2, is_on=True, scale=0.5, axis=Vec3(0.0, 0.0, -4.0))
    with pytest.raises(
        TypeError, match=r"Several\.many: tuple\[Inner, \.\.\.\] cannot be exported"
    ):
        Memory({}, frozenset()).add(Several((inner,)))
