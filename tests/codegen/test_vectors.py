"""Slice statements of routines: equal bits in Python, machine code, C and JavaScript, and the errors for
statements that are not supported.
"""

import json
import shutil
import subprocess

import numpy as np
import pytest

from codegen.refusals import assert_refused
from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, each, routine
from draisine.codegen.targets import c, javascript
from draisine.codegen.targets._dialects import C_HELPERS, JS_HELPERS
from draisine.codegen.targets._text_routine import write_text_routine as write_text
from draisine.codegen.targets.native import compile_routines

N = 7


@routine
def first(a: Floats) -> float:
    a[0] += 1.0
    return a[0]


@routine
def mixed(x: Floats, y: Floats, order: Integers, n: int) -> float:
    """Use slices of every form; the first entry of x counts how often a scalar operand is computed."""
    if n > 2:
        x[1 : 1 + n] = y[:n]
    x[n + 1 :][:n] = (y[:n] - y[n:][:n]) / y[0] - abs(y[n : 2 * n]) * 3
    x[1 : 1 + n] += first(x) * y[n:][:n]
    x[2 * n + 1 : 3 * n + 1] = -x[1 : n + 1] / x[1]
    x[1 : n + 1] /= x[1]
    x[n + 3 : 2 * n] *= 0.5
    order[:n] = 4
    order[:n] = 2 - order[:n] * abs(order[n:][:n])
    x[2 * n + 1 : 3 * n + 1] -= order[:n] / 3
    x[2 * n + 1 :: 3][:2] += y[1 :: n - 2][:2]
    y[: 2 * n - 1] -= y[1 : 2 * n]
    return x[0]


def reference(x, y, order, n):
    """Compute the same as `mixed`, entry by entry."""
    x[0] = 1.0
    first_row = [y[i] + x[0] * y[n + i] for i in range(n)]
    second = [(y[i] - y[n + i]) / y[0] - abs(y[n + i]) * 3 for i in range(n)]
    order[:n] = [2 - 4 * abs(order[n + i]) for i in range(n)]
    third = [-first_row[i] / first_row[0] - order[i] / 3 for i in range(n)]
    second[2 : n - 1] = [0.5 * entry for entry in second[2 : n - 1]]
    third[0], third[3] = third[0] + y[1], third[3] + y[n - 1]
    x[1:] = [*(entry / first_row[0] for entry in first_row), *second, *third]
    y[: 2 * n - 1] = [y[i] - y[i + 1] for i in range(2 * n - 1)]


@pytest.fixture
def arrays():
    rng = np.random.default_rng(5)
    order = rng.integers(-9, 9, 2 * N)
    return np.zeros(3 * N + 1), rng.uniform(-1.0, 1.0, 2 * N), order


@pytest.fixture
def expected(arrays):
    x, y, order = (array.copy() for array in arrays)
    reference(x, y, order, N)
    return x, y, order


def test_slices_in_python_equal_loops_bit_for_bit(arrays, expected):
    assert mixed(*arrays, N) == 1.0
    assert all(map(np.array_equal, arrays, expected))


@pytest.mark.parametrize("passes", ["all", "few"])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_slices_in_machine_code_equal_loops_bit_for_bit(arrays, expected, width, passes):
    assert compile_routines(mixed, width=width, passes=passes)[0](*arrays, N) == 1.0
    assert all(map(np.array_equal, arrays, expected))


MAIN = """
int main(void)
{{
    double x[{x}] = {{0}}, y[] = {{{y}}};
    int64_t order[] = {{{order}}};
    mixed(x, y, order, {n});
    for (int i = 0; i < {x}; ++i) printf("%.17g\\n", x[i]);
    return 0;
}}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc)")
def test_slices_in_c_equal_loops_bit_for_bit(arrays, expected, tmp_path):
    x, y, order = arrays
    numbers = (", ".join(map(repr, a.tolist())) for a in (y, order))
    head = "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n" + C_HELPERS
    main = MAIN.format(x=len(x), y=next(numbers), order=next(numbers), n=N)
    (tmp_path / "run.c").write_text(head + write_text(mixed, c.C_DIALECT, "mixed") + main)
    command = ["cc", "-std=c99", "-ffp-contract=off", "run.c", "-o", "run", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    out = subprocess.run(["./run"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert np.array_equal(np.array(out.stdout.split(), float), expected[0])


@pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript engine (node)")
def test_slices_in_javascript_equal_loops_bit_for_bit(arrays, expected, tmp_path):
    x, y, order = arrays
    given = (f"new Float64Array({a.tolist()})" for a in (x, y, order))
    page = JS_HELPERS + write_text(mixed, javascript.JS_DIALECT, "mixed")
    page += "const [x, y, order] = [{}, {}, {}];\n".format(*given)
    page += f"mixed(x, y, order, {N});\nconsole.log(JSON.stringify(Array.from(x)));\n"
    (tmp_path / "run.js").write_text(page)
    out = subprocess.run(
        ["node", "run.js"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert np.array_equal(json.loads(out.stdout), expected[0])


@routine
def zeros(x: Floats, n: int) -> None:
    """Write integer zeros that result from negative numbers."""
    x[0] = -n
    x[1] = n * (n - 3)
    x[2] = int(-0.5)
    x[3] = -(n * -1.0)


@pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript engine (node)")
def test_integers_have_no_negative_zero_in_javascript(tmp_path):
    page = JS_HELPERS + write_text(zeros, javascript.JS_DIALECT, "zeros")
    page += "const x = [1, 1, 1, 1];\nzeros(x, 0);\nconsole.log(...x.map((one) => 1 / one));\n"
    (tmp_path / "run.js").write_text(page)
    out = subprocess.run(
        ["node", "run.js"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    expected = np.ones(4)
    zeros(expected, 0)
    with np.errstate(divide="ignore"):
        assert out.stdout.split() == ["Infinity"] * 4
        assert (1.0 / expected).tolist() == [np.inf] * 4


@routine
def another_length(a: Floats, b: Floats, n: int) -> None:
    a[1 : n + 1] = b[1:n]


@routine
def overlap(a: Floats, n: int) -> None:
    a[1 : n + 1] = a[:n]


@routine
def unknown_places(a: Floats, n: int, i: int) -> None:
    a[i:][:n] += a[:n]


@routine
def two_columns(a: Floats, n: int) -> None:
    a[1::n][:n] = a[1::2][:n]


@routine
def column_further_on(a: Floats, m: int, n: int) -> None:
    a[::m][2:][:n] = a[2::m][:n]


@routine
def step_with_an_end(a: Floats, n: int) -> None:
    a[0:n:2] = 1.0


@routine
def two_ends(a: Floats, b: Floats, m: int, n: int) -> None:
    a[:n] = b[:m][:n]


@routine
def no_such_function(a: Floats, n: int) -> None:
    a[:n] = max(a[:n], 0.0)


@routine
def no_end(a: Floats, b: Floats) -> None:
    a[1:] = b[1:]


@routine
def vector_in_lanes(a: Floats, n: int) -> None:
    for k in each(n):
        a[k] = 0.0
        a[:n] = 1.0


@routine
def vector_as_number(a: Floats, n: int) -> float:
    return 2.0 * a[:n]


@pytest.mark.parametrize(
    ("bad", "line", "why"),
    [
        (another_length, 2, r"has n - 1 entries in `b\[1:n\]` and n in `a\[1:n \+ 1\]`"),
        (overlap, 2, r"may write `a\[:n\]` while it reads it"),
        (unknown_places, 2, r"may write `a\[:n\]` while it reads it"),
        (two_columns, 2, r"may write `a\[1::2\]\[:n\]` while it reads it"),
        (column_further_on, 2, r"may write `a\[2::m\]\[:n\]` while it reads it"),
        (step_with_an_end, 2, r"cannot use the slice `a\[0:n:2\]`: write its step first"),
        (two_ends, 2, r"cannot use the slice `b\[:m\]\[:n\]`: write its step first"),
        (no_such_function, 2, r"cannot use `max\(a\[:n\], 0.0\)` entry by entry"),
        (no_end, 2, r"cannot assign to `a\[1:\]`"),
        (vector_in_lanes, 4, "has an `each` loop or a slice inside an `each` loop"),
        (vector_as_number, 2, r"cannot use `a\[:n\]` as a value"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_errors_of_slices_show_file_line_and_text(bad, line, why):
    assert_refused(bad, line, why)
