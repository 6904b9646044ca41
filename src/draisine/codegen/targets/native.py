"""Programs as machine code through LLVM: one state at a time, or one state per SIMD lane.

Scalar and SIMD code come from the same text, with the same polynomial sine and cosine (fdlibm's
coefficients on a quarter turn, arguments reduced with fused multiply-adds, accurate to 0.8 ulp up to some
1e9 rad, near their zeros to 1e-27), so they agree bit for bit on one CPU.

A program `f` becomes three functions over arrays of doubles. `x` contains its concatenated inputs without
parameters, `table` the results of its prologue, `out` its concatenated outputs:
    f_prologue(parameters, table)    f(x, table, out)    f_batch(x, table, out, count)
`f_batch` evaluates `count` states, a multiple of the number of lanes; entry k of state i has the index
`k * count + i`. It can compute in single precision with twice as many lanes. Then the table is in single
precision, too; all other arrays contain doubles.
"""

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache

from draisine.codegen.cache import Store
from draisine.codegen.program import Instruction, Program, step_arguments
from draisine.codegen.routine import Routine
from draisine.codegen.targets import _elementary, _schedule
from draisine.codegen.targets._elementary import write_elementary_functions
from draisine.codegen.targets._llvm import (
    MachineCode,
    digest_sources,
    intrinsic_suffix,
    lanes,
    llvm_constant,
    load_machine_code,
    same_shape_type,
)
from draisine.codegen.targets._llvm_routine import KnownFields
from draisine.codegen.targets._native_routine import (
    NativeRoutine,
    Packed,
    compile_routines,
    make_record,
    workspace,
)
from draisine.codegen.targets._schedule import schedule_by_longest_path

__all__ = [
    "Native",
    "NativeRoutine",
    "Packed",
    "compile_routines",
    "emit",
    "lanes",
    "make_record",
    "routine_code",
    "share_code",
    "shared_code",
    "workspace",
]

MAX_UNSPLIT_STEPS = 1500
"""Largest number of steps of a program that is compiled as one function. LLVM's time for a function grows
faster than its length, so longer programs are split.
"""

NATIVE_CHUNK_STEPS = 400
"""Number of steps in each function of a split program."""


class Native:
    """A program as machine code: addresses of its functions and sizes of their arrays (`size_in` of x,
    `size_table`, `size_out`).

    Code for one state, for SIMD lanes and in single precision is compiled at first use, or loaded from the
    store; each piece contains its own prologue. The object keeps the machine code alive.
    """

    def __init__(self, program: Program, store: Store | None = None) -> None:
        self.program = program
        self._store = store
        self._pieces: dict[tuple[int, bool], MachineCode] = {}
        self.lanes = lanes()
        self.size_in = sum(n for array, n in program.inputs.items() if array != "parameters")
        self.size_table = len(program.table)
        self.size_out = sum(map(len, program.outputs.values()))

    def _find_function(self, ending: str, width: int = 1, single: bool = False) -> int:
        """Return the address of a function in the machine code for a SIMD width and precision."""
        piece = (width, single)
        # Two threads may load the same machine code. With `setdefault` both use the code that was
        # stored first.
        if piece not in self._pieces:
            self._pieces.setdefault(piece, _load_code(self.program, width, self._store, single))
        return self._pieces[piece].addresses[self._symbol + ending]

    @cached_property
    def _symbol(self) -> str:
        """The LLVM symbol of the program."""
        return _llvm_symbol(self.program)

    @property
    def prologue(self) -> int:
        """The address of the prologue, in a piece of machine code that is already loaded; if there is none,
        the code for one state is loaded.
        """
        pieces = list(self._pieces)
        return self._find_function("_prologue", *(pieces[0] if pieces else ()))

    @cached_property
    def call(self) -> int:
        """The address of the body for one state."""
        return self._find_function("")

    @cached_property
    def batch(self) -> int:
        """The address of the function that evaluates many states in SIMD lanes."""
        return self._find_function("_batch", self.lanes)

    @cached_property
    def single_batch(self) -> int:
        """The address of the function that evaluates many states in single precision, with twice the number
        of SIMD lanes.
        """
        return self._find_function("_batch", 2 * self.lanes, single=True)


@lru_cache(maxsize=64)
def routine_code(
    *routines: Routine, width: int = 1, passes: str = "all", known: KnownFields = ()
) -> list[NativeRoutine]:
    """Return routines as machine code with `width` SIMD lanes, from the cache in memory (the latest 64
    calls) or on disk; see `compile_routines`.
    """
    return compile_routines(*routines, width=width, passes=passes, known=known, store=Store())


_shared: dict[Routine, NativeRoutine] = {}
"""Machine code of the routines that `share_code` has registered."""


def share_code(routines: Sequence[NativeRoutine]) -> None:
    """Register compiled routines that belong to a larger piece of machine code, for use by `shared_code`;
    they must not have SIMD lanes.
    """
    _shared.update((native.routine, native) for native in routines)


def shared_code(routine: Routine) -> NativeRoutine:
    """Return the machine code of a routine without SIMD lanes; it is taken from a larger piece of machine
    code if it is registered there.
    """
    return _shared[routine] if routine in _shared else routine_code(routine, passes="few")[0]


def _load_code(
    program: Program, width: int, store: Store | None, single: bool = False
) -> MachineCode:
    """Return the program's machine code: for one state, or for SIMD lanes."""
    task = (
        digest_sources([__file__, _elementary.__file__, _schedule.__file__]),
        MAX_UNSPLIT_STEPS,
        NATIVE_CHUNK_STEPS,
        width,
        single,
        program,
        program.fixed,
    )
    name = _llvm_symbol(program)
    return load_machine_code(
        task,
        lambda: emit(program, width, single),
        [f"{name}_prologue", name if width == 1 else f"{name}_batch"],
        store,
        passes="inline",
        ordered=width == 1,
    )


def emit(program: Program, width: int = 1, single: bool = False) -> str:
    """Return the program as LLVM text: the prologue, and either the body for one state or the loop over
    SIMD lanes.

    Parameters
    ----------
    program
        Program to write.
    width
        Number of SIMD lanes; 1 for the body of one state.
    single
        Whether to compute in single precision.

    Returns
    -------
    str
        Text of an LLVM module.
    """
    entry = "float" if single else "double"
    kind = entry if width == 1 else f"<{width} x {entry}>"
    parts = [_HEADER, *map(write_elementary_functions, dict.fromkeys(("double", kind)))]
    parts.append(_ProgramWriter(program, "double", prologue=True).write_function())
    parts.append(_ProgramWriter(program, kind).write_function())
    if width > 1:
        parts.append(_write_batch_function(_llvm_symbol(program), width, entry))
    if f"@{_CLEAR_FUNCTION}(" in parts[-1 if width == 1 else -2]:
        parts.append(_write_clear_function(same_shape_type(kind, "double")))
    return "\n".join(parts)


def _llvm_symbol(program: Program) -> str:
    """Return an LLVM symbol for a program that differs from all C functions, because a program may be
    called `free`.
    """
    return "draisine." + re.sub(r"\W", "_", program.name, flags=re.ASCII)


_BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul"}
"""LLVM instruction of each operation with two operands."""

_CLEAR_FUNCTION = "draisine.clear"
"""Symbol of the LLVM function that `_write_clear_function` writes."""


def _consecutive_runs(indices: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive indices as (first, length).

    >>> _consecutive_runs([2, 3, 4, 8])
    [(2, 3), (8, 1)]
    """
    runs: list[tuple[int, int]] = []
    for k in indices:
        if runs and k == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((k, 1))
    return runs


def _write_clear_function(kind: str) -> str:
    """Return the LLVM function that writes `count` zeros in a loop. Programs may have thousands of
    consecutive zero outputs, whose separate stores would make the code long.
    """
    step = "1" if kind == "double" else "%stride"
    return f"""define internal void @{_CLEAR_FUNCTION}(ptr %out, i64 %count, i64 %stride) noinline {{
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


class _ProgramWriter:
    """Writer of the prologue or the body of a program as an LLVM function. The type `kind` of its values is
    a scalar (one state) or a vector (SIMD lanes). A long function is split into several.
    """

    def __init__(self, program: Program, kind: str, prologue: bool = False) -> None:
        self.program = program
        self.kind = kind
        self.prologue = prologue
        self.simd = kind != "double"
        self.entry = "float" if "float" in kind else "double"
        self.name = _llvm_symbol(program) + (
            "_prologue" if prologue else "_lanes" if self.simd else ""
        )
        self.slot = {step: k for k, step in enumerate(program.table)}
        offset = 0
        self.offsets = dict[str, int]()
        for array, size in program.inputs.items():
            self.offsets[array] = 0 if array == "parameters" else offset
            offset += 0 if array == "parameters" else size
        self.wanted = [i for i, fixed in enumerate(program.fixed) if fixed == prologue]
        self.results = self._result_entries()

    def _result_entries(self) -> list[tuple[int, int]]:
        """Return pairs (index in the result array, step whose value is stored there)."""
        if self.prologue:
            return [(k, step) for step, k in self.slot.items()]
        flat = [k for entries in self.program.outputs.values() for k in entries]
        return list(enumerate(flat))

    def write_function(self) -> str:
        """Return the LLVM text of the function. If it is split, its parts precede it and pass values to each
        other in a scratch array.
        """
        steps = [i for i in self.wanted if self.program.steps[i][0] not in ("const", "input")]
        size = NATIVE_CHUNK_STEPS if len(steps) > MAX_UNSPLIT_STEPS else MAX_UNSPLIT_STEPS
        chunks = [steps[k : k + size] for k in range(0, len(steps), size)] or [[]]
        self.split = len(chunks) > 1
        if not self.split:
            return self._write_part(self.name, chunks[0], {}, set(), self.results)
        home = {i: c for c, chunk in enumerate(chunks) for i in chunk}
        shared: dict[int, int] = {}
        for i in steps:
            for k in step_arguments(self.program.steps[i]):
                if k in home and home[k] != home[i]:
                    shared.setdefault(k, len(shared))
        texts = []
        calls = []
        for c, chunk in enumerate(chunks):
            results = [(k, i) for k, i in self.results if home.get(i, len(chunks) - 1) == c]
            name = f"{self.name}_{c}"
            texts.append(self._write_part(name, chunk, shared, shared.keys() & set(chunk), results))
            calls.append(
                f"  call void @{name}(ptr %x, ptr %table, ptr %out, i64 %stride, ptr %scratch)"
            )
        head = f"define void @{self.name}(ptr %x, ptr %table, ptr %out, i64 %stride) {{\n"
        scratch = f"  %scratch = alloca [{len(shared)} x {self.kind}], align 64\n"
        return "\n".join(texts) + "\n" + head + scratch + "\n".join(calls) + "\n  ret void\n}\n"

    def _write_part(
        self,
        name: str,
        steps: Sequence[int],
        scratch_index: dict[int, int],
        is_kept: set[int],
        results: Sequence[tuple[int, int]],
    ) -> str:
        """Return the LLVM text of one function that computes `steps`.

        It stores the values of `is_kept` in the scratch array, at the indices `scratch_index`, and the
        results at their indices in the output array: pairs (index, step).
        """
        self.lines: list[str] = []
        self.known: dict[int, str] = {}
        self.shared = scratch_index
        self.own = set(steps)
        places: dict[int, list[int]] = {}
        for k, i in results:
            places.setdefault(i, []).append(k)
        # With SIMD lanes, the lanes hide the latency of operations. Then short lifetimes in
        # registers matter more than the longest path.
        order = (
            steps if self.simd or self.prologue else schedule_by_longest_path(self.program, steps)
        )
        # Store a result as soon as it is computed, so that few values are live at a time.
        for i in order:
            self._write_step(i, self.program.steps[i])
            if i in is_kept:
                self._write_store(
                    "%scratch", scratch_index[i], self._operand_of(i), is_strided=False
                )
            for k in places.pop(i, ()):
                self._write_store("%out", k, self._operand_of(i), is_strided=True)
        zeros = [i for i in places if self.program.steps[i] == ("const", 0.0)]
        for first, count in _consecutive_runs(sorted(k for i in zeros for k in places.pop(i))):
            address = self._write_address("%out", first, is_strided=True)
            self.lines.append(
                f"  call void @{_CLEAR_FUNCTION}(ptr {address}, i64 {count}, i64 %stride)"
            )
        for i, entries in places.items():
            for k in entries:
                self._write_store("%out", k, self._operand_of(i), is_strided=True)
        scratch = ", ptr %scratch" if self.split else ""
        linkage = "internal " if self.split else ""
        # The arrays of callers do not overlap. With `noalias` loads may move across stores.
        pointers = "ptr noalias %x, ptr noalias %table, ptr noalias %out"
        head = f"define {linkage}void @{name}({pointers}, i64 %stride{scratch})"
        attributes = " noinline" if self.split else ""
        return f"{head}{attributes} {{\n" + "\n".join(self.lines) + "\n  ret void\n}\n"

    def _write_address(self, base: str, index: int, is_strided: bool) -> str:
        """Write the address of one entry of an array, and return its name. In a strided array, as those
        of the caller are in SIMD code, the entries of one state are `%stride` apart.
        """
        name = f"%a{len(self.lines)}"
        if self.simd and is_strided:
            entry = self.entry if base == "%table" else "double"
            self.lines.append(f"  {name}m = mul i64 %stride, {index}")
            self.lines.append(f"  {name} = getelementptr {entry}, ptr {base}, i64 {name}m")
        else:
            self.lines.append(f"  {name} = getelementptr {self.kind}, ptr {base}, i64 {index}")
        return name

    def _write_load(self, base: str, index: int, is_strided: bool) -> str:
        """Write the load of entry `index` of an array, and return the name of its value."""
        address = self._write_address(base, index, is_strided)
        align = "align 8" if is_strided or not self.simd else "align 64"
        stored = (
            same_shape_type(self.kind, "double") if is_strided and base != "%table" else self.kind
        )
        self.lines.append(f"  {address}v = load {stored}, ptr {address}, {align}")
        if stored == self.kind:
            return f"{address}v"
        self.lines.append(f"  {address}s = fptrunc {stored} {address}v to {self.kind}")
        return f"{address}s"

    def _write_store(self, base: str, index: int, value: str, is_strided: bool) -> None:
        """Write the store of a value to entry `index` of an array."""
        address = self._write_address(base, index, is_strided)
        align = "align 8" if is_strided or not self.simd else "align 64"
        stored = same_shape_type(self.kind, "double") if is_strided else self.kind
        if stored != self.kind:
            self.lines.append(f"  {address}d = fpext {self.kind} {value} to {stored}")
            value = f"{address}d"
        self.lines.append(f"  store {stored} {value}, ptr {address}, {align}")

    def _operand_of(self, step_index: int) -> str:
        """Return the LLVM operand of one step: a constant, or the name of its value, which is loaded first if
        it is an input or was computed by another function.
        """
        if step_index in self.known:
            return self.known[step_index]
        step = self.program.steps[step_index]
        if step[0] == "const":
            return llvm_constant(self.kind, step[1])
        if step_index in self.slot and not self.prologue:
            value = self._write_load("%table", self.slot[step_index], is_strided=True)
        elif step[0] == "input":
            value = self._write_load("%x", self.offsets[step[1]] + step[2], is_strided=True)
        elif step_index in self.shared and step_index not in self.own:
            value = self._write_load("%scratch", self.shared[step_index], is_strided=False)
        else:
            raise AssertionError(f"step {step_index} {step} is not computed in this chunk")
        self.known[step_index] = value
        return value

    def _write_step(self, step_index: int, step: Instruction) -> None:
        """Write the LLVM instructions of one step."""
        kind = self.kind
        tag = f"%s{step_index}"
        args = [self._operand_of(k) for k in step[1:]]
        op = step[0]
        kind_name = intrinsic_suffix(kind)
        typed = ", ".join(f"{kind} {a}" for a in args)
        # The flag `contract` allows fused multiply-adds, in scalar and in SIMD code alike, so that
        # both round equally.
        if op in _BINARY:
            line = f"{_BINARY[op]} contract {kind} {args[0]}, {args[1]}"
        elif op == "neg":
            line = f"fneg {kind} {args[0]}"
        elif op == "inv":
            line = f"fdiv {kind} {llvm_constant(kind, 1.0)}, {args[0]}"
        elif op in ("sin", "cos"):
            line = f"call {kind} @draisine_{op}.{kind_name}({typed})"
        elif op in ("sqrt", "exp"):
            line = f"call {kind} @llvm.{op}.{kind_name}({typed})"
        elif op == "atan2":
            line = f"call {kind} @draisine_atan2.{kind_name}({typed})"
        elif op == "lt":
            flags = same_shape_type(kind, "i1")
            self.lines.append(f"  {tag}f = fcmp olt {kind} {args[0]}, {args[1]}")
            line = f"uitofp {flags} {tag}f to {kind}"
        elif op == "where":
            flags = same_shape_type(kind, "i1")
            self.lines.append(f"  {tag}f = fcmp une {kind} {args[0]}, {llvm_constant(kind, 0.0)}")
            line = f"select {flags} {tag}f, {kind} {args[1]}, {kind} {args[2]}"
        else:
            raise AssertionError(op)
        self.lines.append(f"  {tag} = {line}")
        self.known[step_index] = tag


_HEADER = """declare double @atan2(double, double)
"""


def _write_batch_function(name: str, width: int, entry: str) -> str:
    """Return the LLVM function that evaluates `count` states, `width` of them at a time; `entry` is the LLVM
    type of the table entries.
    """
    return f"""define void @{name}_batch(ptr %x, ptr %table, ptr %out, i64 %count) {{
entry:
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %xi = getelementptr double, ptr %x, i64 %i
  %ti = getelementptr {entry}, ptr %table, i64 %i
  %oi = getelementptr double, ptr %out, i64 %i
  call void @{name}_lanes(ptr %xi, ptr %ti, ptr %oi, i64 %count)
  %next = add i64 %i, {width}
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
