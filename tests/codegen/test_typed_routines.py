"""The typed subset of routines: the same bits in Python, machine code, C and JavaScript, and its errors."""

from enum import IntEnum
from math import sqrt
from typing import NamedTuple

import numpy as np
import pytest

from codegen.executions import assert_same_everywhere, in_machine_code, interpreted
from codegen.refusals import assert_refused
from draisine.algebra.scalar import Floats
from draisine.codegen.routine import (
    Flags,
    IntegerMatrix,
    Integers,
    Matrix,
    Packed,
    Record,
    Vec2,
    Vec3,
    cross,
    dot,
    each,
    make_record,
    routine,
)
from draisine.codegen.targets.native import compile_routines
from draisine.errors import RoutineError


class Status(IntEnum):
    """The state of a contact."""

    OPEN = 0
    SLIDING = 1
    ROLLING = 3


class Clock(Record):
    """A record with a field of every type that routines may assign."""

    time: float = 0.0
    steps: int = 0
    starts: bool = True
    status: Status = Status.OPEN
    velocity: Vec3 = Vec3(0.0, 0.0, 0.0)


class Sizes(NamedTuple):
    """A read-only record with fields of every type, one of them mutable."""

    n: int
    starts: bool
    status: Status
    axis: Vec2
    clock: Clock
    weights: Floats


class Contact(Record):
    """A record with arrays, a matrix and another record inside."""

    gap: float
    jacobian: Matrix
    order: Integers
    closed: Flags
    clock: Clock
    sizes: Sizes


def contact(gap: float = 0.25) -> Contact:
    clock = Clock(time=1.5, velocity=Vec3(1.0, -2.0, 0.1))
    sizes = Sizes(3, False, Status.SLIDING, Vec2(0.3, -0.7), clock, np.array([0.1, 0.2, 0.3]))
    return Contact(
        gap=gap,
        jacobian=np.arange(12.0).reshape(3, 4) / 7.0,
        order=np.array([2, 0, 1]),
        closed=np.array([True, False, True]),
        clock=clock,
        sizes=sizes,
    )


# --- records


@routine
def advance(clock: Clock, h: float) -> float:
    """Assign fields of every type."""
    before = clock.time
    clock.time += h
    clock.steps -= 2
    clock.starts = not clock.starts
    clock.status = Status.ROLLING
    clock.velocity = clock.velocity * 0.3
    clock.velocity += Vec3(h, 1, -0.0)
    clock.time, clock.steps = 2.0 * clock.time, clock.steps + 1
    return before


@routine
def through(c: Contact, k: int) -> int:
    """Assign fields of records inside records."""
    clock = c.clock
    clock.steps = c.order[k] + 4
    c.sizes.clock.time = c.gap + c.sizes.weights[k]
    advance(clock, 0.125)
    c.gap = clock.time
    return clock.steps


def test_fields_are_assigned(tmp_path):
    assert_same_everywhere(advance, Clock(time=0.3, steps=7), 0.1, folder=tmp_path)
    clock = Clock(time=0.5, steps=7)
    assert compile_routines(advance)[0](clock, 0.25) == 0.5
    assert (clock.time, clock.steps, clock.starts, clock.status) == (1.5, 6, False, Status.ROLLING)
    assert clock.status is Status.ROLLING
    assert clock.velocity == Vec3(0.25, 1.0, 0.0)


def test_fields_of_records_inside_records_are_assigned(tmp_path):
    assert_same_everywhere(through, contact(), 2, folder=tmp_path)


def test_python_and_machine_code_share_the_memory_of_a_record():
    (code,) = compile_routines(advance)
    clock = Clock()
    for k in range(3):
        clock.time = float(k)
        assert code(clock, 0.0) == k
        assert clock.time == 2.0 * k


def test_arrays_of_a_record_are_replaced_in_python():
    c = contact()
    (code,) = compile_routines(through)
    assert code(c, 0) == 2 + 4 - 2 + 1
    c.order = np.array([10, 0, 0])
    c.clock = Clock()
    assert code(c, 0) == 10 + 4 - 2 + 1
    assert c.clock.steps == 13


def test_routines_assign_records_inside_named_tuples(tmp_path):
    @routine
    def in_tuple(sizes: Sizes) -> bool:
        sizes.clock.steps += sizes.n
        return sizes.starts or sizes.status is Status.SLIDING

    assert_same_everywhere(in_tuple, contact().sizes, folder=tmp_path)


def test_a_record_checks_its_fields():
    with pytest.raises(TypeError, match="needs a value for the field 'gap'"):
        Contact()
    with pytest.raises(TypeError, match=r"no field 'tine'\. Did you mean 'time'"):
        Clock(tine=1.0)
    with pytest.raises(AttributeError, match=r"no field 'step'\. Did you mean 'steps'"):
        Clock().step = 3
    with pytest.raises(TypeError, match="contiguous array of int64"):
        make_record(Contact, **{n: getattr(contact(), n) for n in ("gap", "jacobian", "closed")},
                    order=np.zeros(3), clock=Clock(), sizes=contact().sizes)  # fmt: skip
    with pytest.raises(TypeError, match="rows are contiguous"):
        contact().jacobian = np.zeros((4, 3)).T
    with pytest.raises(ValueError, match="2 is not a valid Status"):
        Clock().status = 2


def test_make_record_creates_arrays_of_given_sizes():
    made = make_record(Contact, gap=0.0, jacobian=(3, 5), order=3, closed=2, clock=Clock(),
                       sizes=contact().sizes)  # fmt: skip
    assert made.jacobian.shape == (3, 5)
    assert made.order.dtype == np.int64
    assert made.closed.dtype == np.bool_


@routine
def heaviest(contacts: tuple[Contact, ...], count: int) -> int:
    """Read and assign records of a sequence."""
    best = 0
    for k in range(count):
        if contacts[k].gap > contacts[best].gap:
            best = k
        contacts[k].gap += 1.0
        contacts[k].clock.steps = k
    return best


def test_tuples_of_records_are_sequences(tmp_path):
    contacts = (contact(0.1), contact(0.7), contact(0.3))
    assert_same_everywhere(heaviest, contacts, 3, folder=tmp_path)


# --- bools


@routine
def is_inside(x: float, low: float, strict: bool) -> bool:
    above = x > low
    return above if strict else above or x == low


@routine
def count_inside(x: Floats, n: int, out: Flags, strict: bool) -> int:
    """Use bools as names, values, arguments, results and elements."""
    count, any_outside = 0, False
    for k in range(n):
        inside = is_inside(x[k], 0.25, strict) and not x[k] > 0.75
        out[k] = inside
        any_outside = any_outside or not inside
        count += int(inside)
        if out[k] != strict and inside == (not strict):
            count += 10
    x[0] = float(any_outside)
    return count if any_outside else -count


@pytest.mark.parametrize("strict", [False, True])
def test_bools_are_values(strict, tmp_path):
    x = np.array([0.25, 0.5, 0.1, 0.75, 0.8])
    out = np.zeros(5, dtype=bool)
    assert_same_everywhere(count_inside, x, 5, out, strict, folder=tmp_path)


@routine
def first_positive(x: Floats, n: int) -> int:
    """Stop at the end: the second condition is evaluated only if the first one is true."""
    k = 0
    going = True
    while going:
        going = k < n and not x[k] > 0.0
        k += 1
    return k - 1


def test_and_uses_short_circuit_evaluation(tmp_path):
    assert_same_everywhere(first_positive, -np.ones(3), 3, folder=tmp_path)


@routine
def clip(x: Floats, out: Flags, n: int, limit: float) -> None:
    """Use bools in SIMD lanes."""
    for k in each(n):
        above = x[k] > limit
        far = above and (x[k] > 2.0 * limit or limit < 0.0)
        out[k] = above
        x[k] = limit if far and not out[k + n] else x[k] + float(above)
    out[n : 2 * n] = False


def test_bools_in_lanes_agree(tmp_path):
    x, out = np.linspace(-1.0, 3.0, 11), np.zeros(22, dtype=bool)
    out[15] = True
    assert_same_everywhere(clip, x, out, 11, 0.7, folder=tmp_path)


# --- enumerations

STILL = Status.SLIDING


@routine
def next_status(status: Status, speed: float) -> Status:
    if status is Status.OPEN:
        return status
    if speed == 0.0:
        return Status.ROLLING
    return Status.SLIDING if status is not STILL else Status(int(speed))


@routine
def count_statuses(codes: Integers, n: int, clock: Clock) -> int:
    total = 0
    for k in range(n):
        status = next_status(Status(codes[k]), 0.5 * k)
        total += int(status) if status != Status.ROLLING else 100
        codes[k] = status
        if status >= Status.SLIDING or clock.status == 3:
            clock.status = status
    return total


def test_members_of_enumerations_are_constants(tmp_path):
    codes = np.array([0, 1, 3, 1, 3, 3])
    assert_same_everywhere(count_statuses, codes, 6, Clock(), folder=tmp_path)


def test_a_member_is_an_argument_and_a_result():
    code = compile_routines(next_status)[0](Status.ROLLING, 0.0)
    assert code is Status.ROLLING
    assert in_machine_code(next_status, Status.SLIDING, 3.5)[:2] == ["3", "1"]
    assert interpreted(next_status, Status.SLIDING, 3.5)[:2] == ["3", "1"]


def test_the_cache_key_depends_on_the_values_of_members():
    def reader(one):
        @routine
        def value() -> int:
            return int(one.A)

        return value

    first = IntEnum("Same", {"A": 1})
    second = IntEnum("Same", {"A": 2})
    assert reader(first).digest_text != reader(second).digest_text
    assert compile_routines(reader(second))[0]() == 2


def test_the_cache_key_depends_on_the_fields_of_inner_records():
    def make(**types):
        inner = type("Inner", (Record,), {"__annotations__": types})
        outer = type("Outer", (Record,), {"__annotations__": {"inner": inner}})

        @routine
        def read(o: outer) -> float:
            return o.inner.b

        return read.digest_text

    assert make(a=int, b=float) != make(b=float, a=int)
    assert make(a=int, b=float) == make(a=int, b=float)


# --- matrices


@routine
def multiply(A: Matrix, x: Floats, out: Floats, rows: int, n: int) -> None:
    for i in range(rows):
        total = 0.0
        for j in range(n):
            total += A[i, j] * x[j]
        out[i] = total


@routine
def total_of(x: Floats, n: int) -> float:
    total = 0.0
    for k in range(n):
        total += x[k]
    return total


@routine
def work_on(A: Matrix, work: Floats, marks: IntegerMatrix, c: Contact, i: int, n: int) -> float:
    """Use elements, rows, parts and blocks of matrices."""
    row = A[i]
    row[0] = 3.0
    A[0, 1], A[1, n - 1] = A[1, n - 1], -A[0, 1]
    rest = A[1:] if i > 0 else A
    rest[0, 0] += 0.5
    B = work[n : n + n * n].reshape(n, n)
    B[:n, :n] = 2.0 * A[:n, :n] - rest[0, 0]
    B[i, :n] -= A[0, :n] / B[1, 1]
    B[:n, 1] += A[:n, 0] * float(n)
    corner = B[1:, 1:]
    corner[0, 0] = 7.0
    B[:2, 1:3] /= c.jacobian[1:3, :2]
    work[:n] = B[0, :n] + c.jacobian[i, :n]
    c.jacobian[i, 1:3] = work[:2]
    marks[i, 0] += marks[0, 1] * 2
    multiply(c.jacobian, A[0], work[n * n + n :], 3, n)
    return total_of(B[1], n) + total_of(A[i, 1:], n - 1)


@pytest.mark.parametrize("i", [0, 1])
def test_matrices_have_rows_parts_and_blocks(i, tmp_path):
    A = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 3))
    marks = np.array([[1, 2], [3, 4]])
    assert_same_everywhere(work_on, A, np.ones(15), marks, contact(), i, 3, folder=tmp_path)


def test_a_matrix_may_be_a_part_of_a_larger_one():
    whole = np.random.default_rng(3).uniform(-1.0, 1.0, (4, 6))
    part, out = whole[1:4, 2:5], np.zeros(3)
    compile_routines(multiply)[0](part, np.ones(3), out, 3, 3)
    assert np.allclose(out, part.sum(axis=1), rtol=1e-15)


@routine
def scale_rows(A: Matrix, n: int, m: int) -> None:
    for i in range(n):
        for k in each(m):
            A[i, k] = A[i, k] * 2.0 + A[0][k]


def test_the_columns_of_a_matrix_are_lanes(tmp_path):
    A = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 7))
    assert_same_everywhere(scale_rows, A, 3, 7, folder=tmp_path)


# --- fixed-size vectors


@routine
def reflect(v: Vec3, normal: Vec3) -> Vec3:
    """Return a velocity after an elastic impact."""
    return v - 2.0 * dot(v, normal) * normal


@routine
def turn(clock: Clock, a: Floats, k: int, axis: Vec2) -> float:
    """Use vectors as names, arguments, results, entries and fields."""
    x = Vec3(*a[k : k + 3])
    y = -cross(x, clock.velocity) / 3 if k > 0 else x
    y += x * a[0]
    y *= 2
    z = reflect(y, Vec3(0.6, 0.0, 0.8))
    clock.velocity = z + Vec3(k, y[k], z[2])
    length = sqrt(dot(z, z))
    a[0], a[1], a[2] = clock.velocity
    p, q = axis
    return length + p * q - axis[k]


@pytest.mark.parametrize("k", [0, 1])
def test_vectors_have_arithmetic(k, tmp_path):
    clock = Clock(velocity=Vec3(1.0, -2.0, 0.3))
    a = np.array([0.1, 0.7, -0.4, 0.9])
    assert_same_everywhere(turn, clock, a, k, Vec2(0.3, 0.4), folder=tmp_path)


def test_a_vector_is_a_value():
    first = Clock(velocity=Vec3(1.0, 2.0, 3.0))
    kept = first.velocity
    first.velocity += Vec3(1.0, 0.0, 0.0)
    assert kept == Vec3(1.0, 2.0, 3.0)
    assert np.float64(2.0) * kept == kept * 2 == Vec3(2.0, 4.0, 6.0)
    assert compile_routines(reflect)[0](kept, Vec3(0.0, 0.0, 1.0)) == Vec3(1.0, 2.0, -3.0)
    with pytest.raises(TypeError, match="Vec3 has 3 entries, not 2"):
        Vec3(1.0, 2.0)


# --- several results


@routine
def bracket(x: Floats, n: int) -> tuple[float, int, bool, Status, Vec2]:
    """Return the largest entry, its index, whether it is positive, and more."""
    best = 0
    for k in range(n):
        best = k if x[k] > x[best] else best
    return x[best], best, x[best] > 0.0, Status.SLIDING, Vec2(x[0], n)


@routine
def bracket_from(x: Floats, first: int, n: int) -> tuple[float, int, bool, Status, Vec2]:
    return bracket(x[first:], n - first)


@routine
def use_results(x: Floats, n: int, clock: Clock) -> float:
    largest, at, positive, clock.status, pair = bracket(x, n)
    clock.time, clock.steps, clock.starts, status, pair = bracket_from(x, 1, n)
    x[at] = pair[1] if positive and status is Status.SLIDING else largest
    return largest


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_routine_returns_several_values(sign, tmp_path):
    x = sign * np.array([0.5, 2.5, 0.75, 1.5])
    assert_same_everywhere(use_results, x, 4, Clock(), folder=tmp_path)
    assert_same_everywhere(bracket_from, x, 1, 4, folder=tmp_path)


def test_python_receives_several_values_as_a_tuple():
    found = compile_routines(bracket)[0](np.array([1.0, 3.0, 2.0]), 3)
    assert found == (3.0, 1, True, Status.SLIDING, Vec2(1.0, 3.0))
    assert found[2] is True
    assert found[3] is Status.SLIDING


# --- interpreted routines


def test_interpreted_routines_run_the_python_function(monkeypatch):
    monkeypatch.setenv("DRAISINE_INTERPRET", "1")
    seen = []

    @routine
    def watched(sizes: Sizes, h: float) -> float:
        seen.append(sizes)
        sizes.clock.time = h / sizes.weights[0]
        return h / (h - h)

    (code,) = compile_routines(watched)
    sizes = contact().sizes
    assert code(Packed(sizes), 1) == np.inf
    assert seen[0].n == 3
    assert sizes.clock.time == 1.0 / 0.1


# --- errors


@routine
def read_only_field(sizes: Sizes) -> None:
    sizes.n = 3


@routine
def array_field(c: Contact, a: Floats) -> None:
    c.sizes.clock.time = 1.0
    c.order = a


@routine
def wrong_field_type(clock: Clock) -> None:
    clock.steps = 0.5


@routine
def unknown_field(clock: Clock) -> float:
    return clock.tme


@routine
def field_in_lanes(clock: Clock, a: Floats, n: int) -> None:
    for k in each(n):
        clock.time = a[k]


@routine
def number_as_bool(n: int) -> bool:
    return n and True


@routine
def bool_as_number(flag: bool, n: int) -> int:
    return n + flag


@routine
def bool_to_int(flag: bool) -> int:
    n = 0
    n = flag
    return n


@routine
def chained(x: float) -> bool:
    return 0.0 < x < 1.0


@routine
def identity_of_numbers(n: int, m: int) -> bool:
    return n is m


@routine
def unknown_member(status: Status) -> bool:
    return status is Status.ROLING


@routine
def integer_as_member(clock: Clock, n: int) -> None:
    clock.status = n


@routine
def member_arithmetic(status: Status) -> int:
    return status + 1


class Other(IntEnum):
    A = 0


@routine
def two_enumerations(status: Status) -> bool:
    return status == Other.A


@routine
def column_as_value(A: Matrix, n: int) -> float:
    return total_of(A[:n, 0], n)


@routine
def unnamed_matrix(A: Matrix) -> float:
    return A[1:][0, 0]


@routine
def one_index_too_many(a: Floats) -> float:
    return a[0, 1]


@routine
def assigned_row(A: Matrix, B: Matrix) -> None:
    A[0] = B[0]


@routine
def another_shape(a: Floats, n: int) -> float:
    B = a[: n * n].reshape(n, n + 1)
    return B[0, 0]


@routine
def reshaped_rest(a: Floats, n: int) -> float:
    B = a[n:].reshape(n, n)
    return B[0, 0]


@routine
def other_rows(A: Matrix, n: int) -> None:
    A[:n, :2] = A[1:n, :2]


@routine
def shifted_block(A: Matrix, n: int) -> None:
    A[1 : n + 1, :2] = A[:n, :2]


@routine
def column_in_block(A: Matrix, n: int) -> None:
    A[:n, :2] = A[:n, 1]


@routine
def shifted_column(A: Matrix, n: int) -> None:
    A[1 : n + 1, 0] = A[:n, 0]


@routine
def rows_in_lanes(A: Matrix, n: int) -> None:
    for k in each(n):
        A[k, 0] = 1.0


@routine
def vectors_of_two_sizes(a: Vec2, b: Vec3) -> Vec3:
    return b + a


@routine
def vector_times_vector(a: Vec3) -> Vec3:
    return a * a


@routine
def assigned_entry(a: Vec3) -> Vec3:
    b = a
    b[0] = 1.0
    return b


@routine
def too_few_entries(x: float) -> Vec3:
    return Vec3(x, x)


@routine
def unknown_length(a: Floats, n: int) -> Vec3:
    return Vec3(*a[:n])


@routine
def plane_cross(a: Vec2) -> float:
    return cross(a, a)


@routine
def results_as_value(x: Floats) -> float:
    all_of_them = bracket(x, 2)
    return all_of_them


@routine
def too_few_targets(x: Floats) -> float:
    a, b = bracket(x, 2)
    return a + b


@routine
def too_few_results(x: float) -> tuple[float, int]:
    return x, 1, 2


@routine
def wrong_result(x: float) -> tuple[float, int]:
    return x, x


@routine
def one_for_several(x: float) -> float:
    a, b = x
    return a + b


@routine
def keyword(x: Floats) -> float:
    return total_of(x, n=2)


@routine
def argument_type(x: Floats) -> float:
    return total_of(x, 0.5)


@routine
def integer_in_lanes(a: Floats, order: Integers, n: int) -> None:
    for k in each(n):
        i = order[k]
        a[k] = a[i]


@routine
def text(n: int) -> int:
    name = "a"
    return name


@routine
def with_default(n: int = 3) -> int:
    return n


@pytest.mark.parametrize(
    ("bad", "line", "why"),
    [
        (read_only_field, 2, "cannot assign to field 'n' of Sizes, which is read-only; derive"),
        (array_field, 3, r"cannot assign to field 'order' \(Integers\)"),
        (wrong_field_type, 2, r"assigns float to field 'steps', which is int; write int\(...\)"),
        (unknown_field, 2, "finds no field 'tme' in record Clock; did you mean 'time'?"),
        (field_in_lanes, 3, "assigns the same field in every SIMD lane"),
        (number_as_bool, 2, r"needs a bool or a comparison instead of `n` \(int\)"),
        (bool_as_number, 2, "cannot calculate with int and bool"),
        (bool_to_int, 3, r"assigns bool to 'n', which is int; write int\(...\)"),
        (chained, 2, "cannot chain comparisons; write `a < b and b < c`"),
        (identity_of_numbers, 2, "can use `is` between members of one IntEnum only"),
        (unknown_member, 2, "finds no member 'ROLING' in Status; did you mean 'ROLLING'?"),
        (integer_as_member, 2, r"assigns int to field 'status', .* write Status\(...\)"),
        (member_arithmetic, 2, "cannot calculate with Status and int"),
        (two_enumerations, 2, "compares members of Status and Other"),
        (column_as_value, 2, r"cannot use the column `A\[:n, 0\]` as a value"),
        (unnamed_matrix, 2, r"indexes the matrix `A\[1:\]` without a name; write `B = A\[1:\]`"),
        (one_index_too_many, 2, "needs a matrix instead of Floats"),
        (
            assigned_row,
            2,
            r"cannot assign to `A\[0\]` \(Floats\); assign to its elements or to a slice",
        ),
        (another_shape, 2, r"reshapes `a\[:n \* n\]` to `n \* \(n \+ 1\)` entries"),
        (reshaped_rest, 2, r"can reshape slices with an end only: a\[:n \* m\].reshape\(n, m\)"),
        (other_rows, 2, r"has n - 1 rows in `A\[1:n, :2\]` and n in `A\[:n, :2\]`"),
        (shifted_block, 2, r"may write `A\[:n, :2\]` while it reads it"),
        (column_in_block, 2, r"cannot use `A\[:n, 1\]` in a statement about a block"),
        (shifted_column, 2, r"may write `A\[:n, 0\]` while it reads it"),
        (rows_in_lanes, 3, "has rows that differ between SIMD lanes"),
        (vectors_of_two_sizes, 2, "cannot calculate with Vec3 and Vec2 in this way"),
        (vector_times_vector, 2, "cannot calculate with Vec3 and Vec3 in this way"),
        (assigned_entry, 3, "cannot assign to an entry of a Vec3; assign a whole vector"),
        (too_few_entries, 2, "makes a Vec3 of 3 numbers"),
        (unknown_length, 2, r"needs a slice of a known number of entries in `\*a\[:n\]`"),
        (plane_cross, 2, r"cannot call cross with \(Vec2, Vec2\)"),
        (results_as_value, 2, r"must unpack several results, as in `a, b = bracket\(x, 2\)`"),
        (too_few_targets, 2, "assigns 5 values to 2 targets"),
        (too_few_results, 2, r"returns 3 values instead of tuple\[float, int\]"),
        (wrong_result, 2, "returns float instead of int"),
        (one_for_several, 2, r"cannot assign `x` \(float\) to several targets"),
        (keyword, 2, "cannot call with keywords"),
        (argument_type, 2, "passes float to argument 'n' of 'total_of', which is int"),
        (integer_in_lanes, 3, "no integer that differs between SIMD lanes"),
        (text, 2, "cannot contain the expression `'a'`"),
        (with_default, 1, "has optional, keyword-only or variable arguments"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_errors_show_file_line_and_text(bad, line, why):
    assert_refused(bad, line, why)


def test_an_error_marks_the_expression():
    with pytest.raises(RoutineError) as error:
        compile_routines(bool_as_number)
    assert str(error.value).endswith("\n    return n + flag\n           ^^^^^^^^")


def test_an_unknown_annotation_is_refused():
    @routine
    def with_list(a: list[float]) -> None:
        a[0] = 1.0

    with pytest.raises(RoutineError, match=r"cannot take or return list\[float\]. Use int"):
        compile_routines(with_list)
