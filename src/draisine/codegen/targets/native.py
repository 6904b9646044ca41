"""Programs as machine code through LLVM: one state at a time, or one state per SIMD lane.

Scalar and SIMD code come from the same text, with the same polynomial sine and cosine (fdlibm's
coefficients on a quarter turn, arguments reduced with fused multiply-adds, good to 0.8 ulp up to
some 1e9 rad, next to their zeros to 1e-27), so they agree bit for bit on one CPU.

A program `f` becomes three functions over arrays of doubles; `x` holds its inputs one after the
other (parameters left out), `table` what its prologue leaves, `out` its outputs one after the
other:
    f_prologue(parameters, table)    f(x, table, out)    f_batch(x, table, out, count)
In `f_batch` entry k of state i stands at `k * count + i`; count is a multiple of the lanes.
"""

import math
import re
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from draisine.codegen.cache import Store
from draisine.codegen.program import Instruction, Program, arguments
from draisine.codegen.routine import Routine
from draisine.codegen.targets._llvm import constant, lanes, load, source, suffix
from draisine.codegen.targets._native_routine import NativeRoutine, Packed, compile_routines

__all__ = [
    "Native",
    "NativeRoutine",
    "Packed",
    "compile_native",
    "compile_routines",
    "emit",
    "lanes",
    "routine_code",
]

WHOLE, CHUNK = 1500, 400
"""Most steps in one function, and how many a piece of a longer program has: code generation is
superlinear in the length of a block, and more so the more of its values others read.
"""


class Native:
    """A program as machine code: addresses of its functions and sizes of their arrays.

    The code for SIMD lanes is made when `batch` is first asked for. The object keeps the machine
    code alive.
    """

    def __init__(self, program: Program, store: Store | None = None) -> None:
        self.program, self._store = program, store
        self._engine = _load(program, 1, store)
        name = _symbol(program)
        self.prologue: int = self._engine.get_function_address(f"{name}_prologue")
        self.call: int = self._engine.get_function_address(name)
        self.lanes = lanes()
        self.size_in = sum(n for array, n in program.inputs.items() if array != "parameters")
        self.size_table = len(program.table)
        self.size_out = sum(map(len, program.outputs.values()))

    @cached_property
    def batch(self) -> int:
        """The address of the loop over SIMD lanes."""
        self._wide = _load(self.program, self.lanes, self._store)
        return int(self._wide.get_function_address(f"{_symbol(self.program)}_batch"))


def compile_native(program: Program, store: Store | None = None) -> Native:
    """Return the program as machine code, from the store where it has it."""
    return Native(program, store)


@cache
def routine_code(*routines: Routine, width: int = 1) -> list[NativeRoutine]:
    """Return routines as machine code in vectors of a width, made once and kept."""
    return compile_routines(*routines, width=width, store=Store())


def _load(program: Program, width: int, store: Store | None) -> Any:
    """Return an engine with the program's code: for one state, or for SIMD lanes."""
    task = (source([__file__]), WHOLE, CHUNK, width, program, program.fixed)
    return load(task, lambda: emit(program, width), store, straight=True)


def emit(program: Program, width: int = 1) -> str:
    """Return the program as LLVM text: prologue and body for one state, or the loop over SIMD lanes
    where width is more than one.
    """
    if width == 1:
        parts = [_HEADER, _elementary("double"), _clear("double")]
        parts.append(_Writer(program, "double", prologue=True).function())
        parts.append(_Writer(program, "double").function())
        return "\n".join(parts)
    lane = f"<{width} x double>"
    parts = [_HEADER, _elementary(lane), _clear(lane), _Writer(program, lane).function()]
    return "\n".join([*parts, _batch(_symbol(program), width)])


def _symbol(program: Program) -> str:
    """Return a name that no function of C can have: a program may well be called `free`."""
    return "draisine." + re.sub(r"\W", "_", program.name, flags=re.ASCII)


_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul"}
_CLEAR = "draisine.clear"


def _runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """Return where places follow each other: the first, and how many.

    >>> _runs([2, 3, 4, 8])
    [(2, 3), (8, 1)]
    """
    out: list[tuple[int, int]] = []
    for k in places:
        if out and k == sum(out[-1]):
            out[-1] = (out[-1][0], out[-1][1] + 1)
        else:
            out.append((k, 1))
    return out


def _clear(kind: str) -> str:
    """Return the loop that writes zeros: programs may have thousands of them, one after the other."""
    step = "1" if kind == "double" else "%stride"
    return f"""define internal void @{_CLEAR}(ptr %out, i64 %count, i64 %stride) noinline {{
entry:
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%next, %loop]
  %far = mul i64 %k, {step}
  %at = getelementptr double, ptr %out, i64 %far
  store {kind} zeroinitializer, ptr %at, align 8
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


class _Writer:
    """Writes one function: the prologue, or the body in scalars or lanes, cut into chunks where it
    is long.
    """

    def __init__(self, program: Program, kind: str, prologue: bool = False) -> None:
        self.program, self.kind, self.prologue = program, kind, prologue
        self.simd = kind != "double"
        self.name = _symbol(program) + ("_prologue" if prologue else "_lanes" if self.simd else "")
        self.slot = {step: k for k, step in enumerate(program.table)}
        offset, self.offsets = 0, dict[str, int]()
        for array, size in program.inputs.items():
            self.offsets[array] = 0 if array == "parameters" else offset
            offset += 0 if array == "parameters" else size
        self.wanted = [i for i, fixed in enumerate(program.fixed) if fixed == prologue]
        self.results = self._results()

    def _results(self) -> list[tuple[int, int]]:
        """Return (place in the result array, step)."""
        if self.prologue:
            return [(k, step) for step, k in self.slot.items()]
        flat = [k for entries in self.program.outputs.values() for k in entries]
        return list(enumerate(flat))

    def function(self) -> str:
        """Return the text of the function and its chunks."""
        steps = [i for i in self.wanted if self.program.steps[i][0] not in ("const", "input")]
        size = CHUNK if len(steps) > WHOLE else WHOLE
        chunks = [steps[k : k + size] for k in range(0, len(steps), size)] or [[]]
        self.split = len(chunks) > 1
        if not self.split:
            return self._define(self.name, chunks[0], {}, set(), self.results)
        home = {i: c for c, chunk in enumerate(chunks) for i in chunk}
        shared: dict[int, int] = {}
        for i in steps:
            for k in arguments(self.program.steps[i]):
                if k in home and home[k] != home[i]:
                    shared.setdefault(k, len(shared))
        texts, calls = [], []
        for c, chunk in enumerate(chunks):
            results = [(k, i) for k, i in self.results if home.get(i, len(chunks) - 1) == c]
            name = f"{self.name}_{c}"
            texts.append(self._define(name, chunk, shared, shared.keys() & set(chunk), results))
            calls.append(
                f"  call void @{name}(ptr %x, ptr %table, ptr %out, i64 %stride, ptr %scratch)"
            )
        head = f"define void @{self.name}(ptr %x, ptr %table, ptr %out, i64 %stride) {{\n"
        scratch = f"  %scratch = alloca [{len(shared)} x {self.kind}], align 64\n"
        return "\n".join(texts) + "\n" + head + scratch + "\n".join(calls) + "\n  ret void\n}\n"

    def _define(
        self,
        name: str,
        steps: Sequence[int],
        shared: dict[int, int],
        keeps: set[int],
        results: Sequence[tuple[int, int]],
    ) -> str:
        self.lines: list[str] = []
        self.known: dict[int, str] = {}
        self.shared, self.own = shared, set(steps)
        places: dict[int, list[int]] = {}
        for k, i in results:
            places.setdefault(i, []).append(k)
        for i in steps:  # what is done with is stored at once: few values are alive at a time
            self._step(i, self.program.steps[i])
            if i in keeps:
                self._store("%scratch", shared[i], self._value(i), strided=False)
            for k in places.pop(i, ()):
                self._store("%out", k, self._value(i), strided=True)
        zeros = [i for i in places if self.program.steps[i] == ("const", 0.0)]
        for first, count in _runs(sorted(k for i in zeros for k in places.pop(i))):
            where = self._address("%out", first, strided=True)
            self.lines.append(f"  call void @{_CLEAR}(ptr {where}, i64 {count}, i64 %stride)")
        for i, rest in places.items():
            for k in rest:
                self._store("%out", k, self._value(i), strided=True)
        scratch = ", ptr %scratch" if self.split else ""
        linkage = "internal " if self.split else ""
        pointers = "ptr noalias %x, ptr noalias %table, ptr noalias %out"
        head = f"define {linkage}void @{name}({pointers}, i64 %stride{scratch})"
        attributes = " noinline" if self.split else ""
        return f"{head}{attributes} {{\n" + "\n".join(self.lines) + "\n  ret void\n}\n"

    def _address(self, base: str, k: int, strided: bool) -> str:
        tag = f"%a{len(self.lines)}"
        if self.simd and strided:
            self.lines.append(f"  {tag}m = mul i64 %stride, {k}")
            self.lines.append(f"  {tag} = getelementptr double, ptr {base}, i64 {tag}m")
        else:
            self.lines.append(f"  {tag} = getelementptr {self.kind}, ptr {base}, i64 {k}")
        return tag

    def _load(self, base: str, k: int, strided: bool) -> str:
        where = self._address(base, k, strided)
        align = "align 8" if strided or not self.simd else "align 64"
        self.lines.append(f"  {where}v = load {self.kind}, ptr {where}, {align}")
        return f"{where}v"

    def _store(self, base: str, k: int, value: str, strided: bool) -> None:
        where = self._address(base, k, strided)
        align = "align 8" if strided or not self.simd else "align 64"
        self.lines.append(f"  store {self.kind} {value}, ptr {where}, {align}")

    def _value(self, i: int) -> str:
        if i in self.known:
            return self.known[i]
        step = self.program.steps[i]
        if step[0] == "const":
            return constant(self.kind, step[1])
        if i in self.slot and not self.prologue:
            value = self._load("%table", self.slot[i], strided=True)
        elif step[0] == "input":
            value = self._load("%x", self.offsets[step[1]] + step[2], strided=True)
        elif i in self.shared and i not in self.own:
            value = self._load("%scratch", self.shared[i], strided=False)
        else:
            raise AssertionError(f"step {i} {step} is not at hand")
        self.known[i] = value
        return value

    def _step(self, i: int, step: Instruction) -> None:
        kind, tag = self.kind, f"%s{i}"
        args = [self._value(k) for k in step[1:]]
        op = step[0]
        kind_name = suffix(kind)
        typed = ", ".join(f"{kind} {a}" for a in args)
        if op in _BINARY:
            line = f"{_BINARY[op]} contract {kind} {args[0]}, {args[1]}"
        elif op == "neg":
            line = f"fneg {kind} {args[0]}"
        elif op == "inv":
            line = f"fdiv {kind} {constant(kind, 1.0)}, {args[0]}"
        elif op in ("sin", "cos"):
            line = f"call {kind} @draisine_{op}.{kind_name}({typed})"
        elif op in ("sqrt", "exp"):
            line = f"call {kind} @llvm.{op}.{kind_name}({typed})"
        elif op == "atan2":
            line = f"call {kind} @draisine_atan2.{kind_name}({typed})"
        elif op == "lt":
            flags = kind.replace("double", "i1") if self.simd else "i1"
            self.lines.append(f"  {tag}f = fcmp olt {kind} {args[0]}, {args[1]}")
            line = f"uitofp {flags} {tag}f to {kind}"
        elif op == "where":
            flags = kind.replace("double", "i1") if self.simd else "i1"
            self.lines.append(f"  {tag}f = fcmp une {kind} {args[0]}, {constant(kind, 0.0)}")
            line = f"select {flags} {tag}f, {kind} {args[1]}, {kind} {args[2]}"
        else:
            raise AssertionError(op)
        self.lines.append(f"  {tag} = {line}")
        self.known[i] = tag


_HEADER = """declare double @atan2(double, double)
"""

_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""A quarter turn as a sum of doubles."""

_SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


def _elementary(kind: str) -> str:
    """Return sine, cosine and the angle function for one kind of operand."""
    s = suffix(kind)
    lines = [
        f"declare {kind} @llvm.fma.{s}({kind}, {kind}, {kind})",
        f"declare {kind} @llvm.rint.{s}({kind})",
        f"declare {kind} @llvm.sqrt.{s}({kind})",
        f"declare {kind} @llvm.exp.{s}({kind})",
    ]
    lines += [*_circular(kind, "sin", 0), *_circular(kind, "cos", 1), *_angle(kind)]
    return "\n".join(lines)


def _circular(kind: str, name: str, shift: int) -> list[str]:
    """Return the sine of x plus `shift` quarter turns."""
    return [
        f"define internal {kind} @draisine_{name}.{suffix(kind)}({kind} %x) alwaysinline {{",
        *_reduction(kind),
        *_short_series(kind),
        *_quarter(kind, shift),
        f"  ret {kind} %result",
        "}",
    ]


def _reduction(kind: str) -> list[str]:
    """Return x less its whole quarter turns, as r1 + d: pi/2 is taken off in three parts."""
    s, (high, middle, low) = suffix(kind), (constant(kind, x) for x in _HALF_PI)
    return [
        f"  %turns = fmul {kind} %x, {constant(kind, 2 / math.pi)}",
        f"  %n = call {kind} @llvm.rint.{s}({kind} %turns)",
        f"  %m = fneg {kind} %n",
        f"  %r0 = call {kind} @llvm.fma.{s}({kind} %m, {kind} {high}, {kind} %x)",
        f"  %r1 = call {kind} @llvm.fma.{s}({kind} %m, {kind} {middle}, {kind} %r0)",
        f"  %d0 = fsub {kind} %r0, %r1",
        f"  %d1 = call {kind} @llvm.fma.{s}({kind} %m, {kind} {middle}, {kind} %d0)",
        f"  %d = call {kind} @llvm.fma.{s}({kind} %m, {kind} {low}, {kind} %d1)",
    ]


def _short_series(kind: str) -> list[str]:
    """Return sine and cosine of r1 + d by polynomials, taken in pairs: a shorter way than Horner's."""
    s, one, half = suffix(kind), constant(kind, 1.0), constant(kind, 0.5)
    body = [f"  %z = fmul {kind} %r1, %r1", f"  %zz = fmul {kind} %z, %z"]
    for tag, coefficients in (("p", _SIN), ("q", _COS)):
        for k in (0, 2, 4):
            low, high = (constant(kind, x) for x in coefficients[k : k + 2])
            line = f"call {kind} @llvm.fma.{s}({kind} %z, {kind} {high}, {kind} {low})"
            body.append(f"  %{tag}{k}{k + 1} = {line}")
        for upper, lower, both in (("45", "23", "25"), ("25", "01", "0")):
            line = f"{kind} %zz, {kind} %{tag}{upper}, {kind} %{tag}{lower}"
            body.append(f"  %{tag}{both} = call {kind} @llvm.fma.{s}({line})")
    return [
        *body,
        f"  %zr = fmul {kind} %z, %r1",
        f"  %half = fmul {kind} %z, {half}",
        f"  %minus_half = fneg {kind} %half",
        f"  %dc = call {kind} @llvm.fma.{s}({kind} %d, {kind} %minus_half, {kind} %d)",
        f"  %bend = call {kind} @llvm.fma.{s}({kind} %zr, {kind} %p0, {kind} %dc)",
        f"  %sine = fadd {kind} %r1, %bend",
        f"  %w = fsub {kind} {one}, %half",
        f"  %e0 = fsub {kind} {one}, %w",
        f"  %e = fsub {kind} %e0, %half",
        f"  %minus_r1 = fneg {kind} %r1",
        f"  %ed = call {kind} @llvm.fma.{s}({kind} %minus_r1, {kind} %d, {kind} %e)",
        f"  %tail = call {kind} @llvm.fma.{s}({kind} %zz, {kind} %q0, {kind} %ed)",
        f"  %cosine = fadd {kind} %w, %tail",
    ]


def _quarter(kind: str, shift: int) -> list[str]:
    """Return sine or cosine with its sign, as the number of quarter turns wants it."""
    whole, flags = kind.replace("double", "i64"), kind.replace("double", "i1")

    def i(n: int) -> str:
        if kind == "double":
            return str(n)
        return "<" + ", ".join([f"i64 {n}"] * int(kind[1:].split()[0])) + ">"

    return [
        f"  %k0 = fptosi {kind} %n to {whole}",
        f"  %k = add {whole} %k0, {i(shift)}",
        f"  %odd = and {whole} %k, {i(1)}",
        f"  %swap = icmp ne {whole} %odd, {i(0)}",
        f"  %value = select {flags} %swap, {kind} %cosine, {kind} %sine",
        f"  %two = and {whole} %k, {i(2)}",
        f"  %flip = icmp ne {whole} %two, {i(0)}",
        f"  %minus = fneg {kind} %value",
        f"  %result = select {flags} %flip, {kind} %minus, {kind} %value",
    ]


def _angle(kind: str) -> list[str]:
    """Return the angle function: that of the library, lane by lane."""
    lines = [
        f"define internal {kind} @draisine_atan2.{suffix(kind)}({kind} %y, {kind} %x) alwaysinline {{"
    ]
    if kind == "double":
        return [*lines, "  %v = call double @atan2(double %y, double %x)", "  ret double %v", "}"]
    previous = "undef"
    for k in range(int(kind[1:].split()[0])):
        lines += [
            f"  %y{k} = extractelement {kind} %y, i32 {k}",
            f"  %x{k} = extractelement {kind} %x, i32 {k}",
            f"  %v{k} = call double @atan2(double %y{k}, double %x{k})",
            f"  %r{k} = insertelement {kind} {previous}, double %v{k}, i32 {k}",
        ]
        previous = f"%r{k}"
    lines += [f"  ret {kind} {previous}", "}"]
    return lines


def _batch(name: str, width: int) -> str:
    """Return the loop that takes `width` states at a time."""
    return f"""define void @{name}_batch(ptr %x, ptr %table, ptr %out, i64 %count) {{
entry:
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %xi = getelementptr double, ptr %x, i64 %i
  %ti = getelementptr double, ptr %table, i64 %i
  %oi = getelementptr double, ptr %out, i64 %i
  call void @{name}_lanes(ptr %xi, ptr %ti, ptr %oi, i64 %count)
  %next = add i64 %i, {width}
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
