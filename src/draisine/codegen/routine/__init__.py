"""Routines: loops over arrays of doubles, written as plain Python functions in a typed subset.

A routine runs as plain Python, which is its reference and its debugger. Its source text is also
compiled: to machine code (LLVM), C99 and JavaScript, by the writers in `targets`. The subset has

    numbers      int, float, bool, members of an IntEnum; a name keeps the type of its first value
    arrays       `Floats`, `Integers`, `Flags`: an element a[i], the rest a[i:] (a view, no copy)
    matrices     `Matrix`, `IntegerMatrix`: A[i, j], a row A[i], the rest A[i:], a[:n * m].reshape(n, m)
    vectors      `Vec2`, `Vec3`, `Vec4`, `Vec6`: values with + - * /, dot and cross; v[i], x, y, z = v
    records      a `Record` with fields to assign, a NamedTuple of the same types (read-only),
                 tuple[<record>, ...] of several; compiled programs by their `Address`
    statements   = += -= *= /=, if, while, for in range or each, break, continue, return, calls;
                 several results: `return a, b` with `-> tuple[float, int]`, `a, b = f(x)`
    slices       x[:n] = u[:n] + f * A[i, :n], and += -= *= /=: entry by entry, see `vectors`
    expressions  + - * / // % ** < <= > >= == != and or not, `is` for enumerations, `a if c else b`,
                 routines, and abs min max sqrt isfinite float int; // and % take no negative numbers

Non-local names refer to constants, enumerations or other routines of the module or of the enclosing
function. A routine inside a function is therefore a template: every call of that function makes a routine
with other constants. `for k in each(n)` declares that the iterations are independent: in machine code, each
iteration is one SIMD lane, elsewhere the loop is a plain one.

`kinds`: types of values. `fixed`: vectors of fixed size. `record`: records and their memory. `function`:
the function itself. `syntax`: walks through syntax trees. `vectors`: slices written as loops. `subset`:
types of all expressions, and errors.
"""

from draisine.codegen.routine.fixed import FixedVector, Vec2, Vec3, Vec4, Vec6, cross, dot
from draisine.codegen.routine.function import ROUTINE_FUNCTIONS, Routine, call, is_type, routine
from draisine.codegen.routine.kinds import (
    ADDRESS,
    BOOL,
    DOUBLES,
    FLAGS,
    FLOAT,
    INT,
    INTEGERS,
    MATRIX,
    VOID,
    Address,
    ArrayKind,
    Flags,
    IntegerMatrix,
    Integers,
    Kind,
    Matrix,
    each,
    fields,
    is_enum,
    is_fixed,
    is_flat,
    is_matrix,
    is_mutable,
    is_record,
    is_sequence,
    kind_of,
    name_of,
)
from draisine.codegen.routine.record import Packed, Record, layout, make_record

__all__ = [
    "ADDRESS",
    "BOOL",
    "DOUBLES",
    "FLAGS",
    "FLOAT",
    "INT",
    "INTEGERS",
    "MATRIX",
    "ROUTINE_FUNCTIONS",
    "VOID",
    "Address",
    "ArrayKind",
    "FixedVector",
    "Flags",
    "IntegerMatrix",
    "Integers",
    "Kind",
    "Matrix",
    "Packed",
    "Record",
    "Routine",
    "Vec2",
    "Vec3",
    "Vec4",
    "Vec6",
    "call",
    "cross",
    "dot",
    "each",
    "fields",
    "is_enum",
    "is_fixed",
    "is_flat",
    "is_matrix",
    "is_mutable",
    "is_record",
    "is_sequence",
    "is_type",
    "kind_of",
    "layout",
    "make_record",
    "name_of",
    "routine",
]  # fmt: skip
