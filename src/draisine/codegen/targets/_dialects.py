"""Notations of C99 and JavaScript for routines: types, numbers, functions, declarations.

                       C                             JavaScript
    array of doubles   double *                      Float64Array
    array of bools     _Bool *                       Uint8Array
    matrix             structure {pointer, stride}   object {view, stride}
    fixed-size vector  structure of an array         array
    record             structure                     object
    program            function pointer              function of (x, table, out, count)

The address of a program, an integer in machine code, is replaced by its index in the array `programs`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from draisine.codegen.routine import (
    ADDRESS,
    BOOL,
    FLOAT,
    INT,
    VOID,
    ArrayKind,
    Kind,
    Routine,
    fields,
    is_enum,
    is_fixed,
    is_matrix,
    is_mutable,
    is_record,
    is_sequence,
    name_of,
)
from draisine.codegen.routine.subset import read_routine


@dataclass(frozen=True)
class Dialect:
    """Notation of a language for routines; templates are filled by `str.format`."""

    number: Callable[[float], str]  # function from a number to its text
    # Templates of function calls, by value of ROUTINE_FUNCTIONS; functions that depend on the type
    # have names such as "abs of int"
    functions: dict[str, str]
    rest: str  # template of a[i:], the view of an array from element i to its end
    whole_quotient: str  # template of a // b for integers, a truncated quotient
    quotient: str  # template of a / b for integers
    product: str  # template of a * b for integers
    negative: str  # template of -a for an integer
    bools: tuple[str, str]  # texts of false and true
    flag: str  # template of an element of an array of bools
    equal: tuple[str, str]  # operators for == and !=
    field: str  # template of the access to a field of a record
    matrix: str  # template of a view of a matrix
    vector: str  # template of a fixed-size vector
    entry: str  # template of an entry of a fixed-size vector
    vector_function: str  # template of a call of a function of fixed-size vectors
    results: str  # template of several results of a routine
    declare: Callable[[Kind, str], str]  # function that returns the declaration of a local name
    head: Callable[["Dialect", Routine, str], str]  # function that returns the head of a function
    loop: str  # keyword that declares a loop variable
    reserved: frozenset[str]  # words that cannot be used as names

    def valid_name(self, name: str) -> str:
        """Return a valid name of an argument or local variable; an underscore is appended to a reserved
        word.
        """
        return f"{name}_" if name in self.reserved else name


# --- C


def c_type(kind: Kind, name: str) -> str:
    """Return the C declaration of a name with a type."""
    if is_sequence(kind):
        return c_type(kind.element, f"const *{name}")
    if is_record(kind):
        return f"{'' if is_mutable(kind) else 'const '}{kind.__name__} *{name}"
    if is_matrix(kind) or is_fixed(kind):
        return f"{name_of(kind)} {name}"
    if isinstance(kind, ArrayKind):
        return c_type(kind.element, f"*{name}")
    types = {
        INT: "int64_t {}", FLOAT: "double {}", BOOL: "_Bool {}", VOID: "void {}",
        ADDRESS: "Program *{}",
    }  # fmt: skip
    return types[INT if is_enum(kind) else str(kind)].format(name)


def _declare_in_c(kind: Kind, name: str) -> str:
    """Return the declaration of a local name in C, initialised so that compilers do not warn."""
    return f"{c_type(kind, name)} = {'{0}' if is_matrix(kind) or is_fixed(kind) else '0'};"


def _write_c_head(dialect: Dialect, routine: Routine, name: str) -> str:
    """Return the head of a function in C, preceded by the type of its results if it has several."""
    parameters = routine.parameters.items()
    arguments = ", ".join(c_type(kind, dialect.valid_name(n)) for n, kind in parameters)
    if not isinstance(routine.returns, tuple):
        return f"static {c_type(routine.returns, name)}({arguments or 'void'})"
    several = " ".join(f"{c_type(kind, f'value_{k}')};" for k, kind in enumerate(routine.returns))
    results_type = f"typedef struct {{ {several} }} {name}_results;\n"
    return f"{results_type}static {name}_results {name}({arguments or 'void'})"


def c_dialect(number: Callable[[float], str], reserved: Iterable[str]) -> Dialect:
    """Return the notation of C for routines."""
    words = {
        "abs": "fabs({})", "min": "smaller({}, {})", "max": "larger({}, {})", "sqrt": "sqrt({})",
        "pow": "pow({}, {})", "isfinite": "isfinite({})", "float": "(double)({})",
        "int": "(int64_t)({})", "abs of int": "llabs({})",
        "min of int": "smaller_int({}, {})", "max of int": "larger_int({}, {})",
        "int of bool": "(int64_t)({})", "float of bool": "(double)({})",
        "call": "{}({}, {}, {}, {})", "address": "programs[{}]",
    }  # fmt: skip
    return Dialect(
        number, words, "({} + {})", "{} / {}", "(double)({}) / {}", "{} * {}", "-{}", ("0", "1"), "{}",
        ("==", "!="), "->", "({kind}){{{at}, {stride}}}", "({kind}){{{{{entries}}}}}", "{}.at[{}]",
        "{kind}_{word}({arguments})", "({name}_results){{{values}}}", _declare_in_c, _write_c_head, "int64_t",
        frozenset(reserved),
    )  # fmt: skip


C_HELPERS = """\
static inline double smaller(double a, double b) { return b < a ? b : a; }
static inline double larger(double a, double b) { return b > a ? b : a; }
static inline int64_t smaller_int(int64_t a, int64_t b) { return b < a ? b : a; }
static inline int64_t larger_int(int64_t a, int64_t b) { return b > a ? b : a; }
"""

_C_CROSS = """\
static inline Vec3 Vec3_cross(Vec3 a, Vec3 b)
{
    return (Vec3){{
        a.at[1] * b.at[2] - a.at[2] * b.at[1],
        a.at[2] * b.at[0] - a.at[0] * b.at[2],
        a.at[0] * b.at[1] - a.at[1] * b.at[0],
    }};
}
"""


def c_types(*routines: Routine) -> str:
    """Return the types in C that routines and their callees need, each after the types that it contains."""
    kinds = _find_used_types(routines)
    parts = [_c_matrix_type(kind) for kind in kinds if is_matrix(kind)]
    parts += [_c_vector_type(kind.__name__, kind.size) for kind in kinds if is_fixed(kind)]
    return "\n".join([*parts, *(_c_record_type(kind) for kind in kinds if is_record(kind))])


def _c_matrix_type(kind: ArrayKind) -> str:
    """Return the C type of a matrix: address, and row stride in elements."""
    return f"typedef struct {{ {c_type(kind.element, '*at')}; int64_t stride; }} {name_of(kind)};\n"


def _c_vector_type(name: str, size: int) -> str:
    """Return a fixed-size vector and its functions in C."""

    def vector_function(word: str, arguments: str, entry: str) -> str:
        """Return a function of fixed-size vectors in C, whose result has the given expression for
        each entry.
        """
        entries = ", ".join(entry.format(k=k) for k in range(size))
        head = f"static inline {name} {name}_{word}({arguments})"
        return f"{head} {{ return ({name}){{{{{entries}}}}}; }}"

    terms = " + ".join(f"a.at[{k}] * b.at[{k}]" for k in range(size))
    lines = [
        f"typedef struct {{ double at[{size}]; }} {name};",
        vector_function("add", f"{name} a, {name} b", "a.at[{k}] + b.at[{k}]"),
        vector_function("sub", f"{name} a, {name} b", "a.at[{k}] - b.at[{k}]"),
        vector_function("neg", f"{name} a", "-a.at[{k}]"),
        vector_function("mul", f"{name} a, double b", "a.at[{k}] * b"),
        vector_function("div", f"{name} a, double b", "a.at[{k}] / b"),
        f"static inline double {name}_dot({name} a, {name} b) {{ return {terms}; }}",
        "",
    ]
    return "\n".join(lines) + (_C_CROSS if name == "Vec3" else "")


def _c_record_type(record: type) -> str:
    """Return the C type of a record."""
    lines = [f"    {c_type(kind, name)};" for name, kind in fields(record).items()]
    return "\n".join(["typedef struct {", *lines, f"}} {record.__name__};", ""])


def _find_used_types(routines: Iterable[Routine]) -> list[Kind]:
    """Return all types that occur in routines and their callees. The types of the fields of a record precede
    the record, as C requires.
    """
    kinds: dict[Kind, None] = {}

    def add_type(kind: Kind) -> None:
        """Add a type to the list, after the types that it contains."""
        if kind in kinds:
            return
        if isinstance(kind, tuple):
            inner = list(kind)
        elif is_record(kind):
            inner = list(fields(kind).values())
        else:
            inner = [kind.element] if isinstance(kind, ArrayKind) else []
        for child in inner:
            add_type(child)
        kinds[kind] = None

    for member in dict.fromkeys(member for routine in routines for member in routine.family):
        it = read_routine(member)
        for kind in (
            *member.parameters.values(),
            member.returns,
            *it.names.values(),
            *it.kinds.values(),
        ):
            add_type(kind)
    return list(kinds)


# --- JavaScript


def js_dialect(number: Callable[[float], str], reserved: Iterable[str]) -> Dialect:
    """Return the notation of JavaScript for routines; operations on integers avoid negative zero."""
    words = {
        "abs": "Math.abs({})", "min": "smaller({}, {})", "max": "larger({}, {})",
        "sqrt": "Math.sqrt({})", "pow": "Math.pow({}, {})", "isfinite": "Number.isFinite({})",
        "float": "({})", "int": "(Math.trunc({}) + 0)", "abs of int": "Math.abs({})",
        "min of int": "smaller({}, {})", "max of int": "larger({}, {})",
        "int of bool": "({} ? 1 : 0)", "float of bool": "({} ? 1 : 0)",
        "call": "{}({}, {}, {}, {})", "address": "programs[{}]",
    }  # fmt: skip
    return Dialect(
        number, words, "view({}, {})", "Math.trunc({} / {})", "{} / {}", "{} * {} + 0", "0 - {}",
        ("false", "true"), "!!{}", ("===", "!=="), ".", "{{ at: {at}, stride: {stride} }}",
        "[{entries}]", "{}[{}]", "vector_{word}({arguments})", "[{values}]",
        lambda kind, name: f"let {name};", _write_js_head, "let", frozenset(reserved),
    )  # fmt: skip


def _write_js_head(dialect: Dialect, routine: Routine, name: str) -> str:
    """Return the head of a function in JavaScript."""
    return f"function {name}({', '.join(map(dialect.valid_name, routine.parameters))})"


JS_HELPERS = """\
const smaller = (a, b) => (b < a ? b : a);
const larger = (a, b) => (b > a ? b : a);
// An array whose views are kept: engines create them slowly and collect them slowly.
const withViews = (array) => { array.views = null; return array; };
// The elements of an array from an index on.
function view(array, first) {
  if (first === 0) return array;
  const views = (array.views ??= new Map()), known = views.get(first);
  if (known !== undefined) return known;
  const made = withViews(array.subarray(first));
  views.set(first, made);
  return made;
}
"""

_JS_VECTORS = """\
const vector_add = (a, b) => a.map((x, k) => x + b[k]);
const vector_sub = (a, b) => a.map((x, k) => x - b[k]);
const vector_neg = (a) => a.map((x) => -x);
const vector_mul = (a, b) => a.map((x) => x * b);
const vector_div = (a, b) => a.map((x) => x / b);
const vector_dot = (a, b) => a.map((x, k) => x * b[k]).reduce((sum, x) => sum + x);
const vector_cross = (a, b) =>
  [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
"""


def js_types(*routines: Routine) -> str:
    """Return the functions in JavaScript that routines and their callees need besides JS_HELPERS."""
    return _JS_VECTORS if any(is_fixed(kind) for kind in _find_used_types(routines)) else ""
