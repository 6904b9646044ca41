"""Compilation of LLVM text to machine code for this computer, with a cache on disk.

LLVM is not thread-safe, so llvmlite guards each call by a lock of its own. If a process forks while another
thread holds this lock, it is never released in the child process. Therefore only `describe_host` and
`load_machine_code` call llvmlite, under `_lock`, and a fork waits for `_lock`. Loaded code does not need
llvmlite: its addresses are looked up once, and the next call of `load_machine_code` closes the engines that
are no longer used.
"""

import hashlib
import logging
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from draisine.codegen.cache import Store, hold_over_fork

PASSES = {"inline": ("always_inliner",), "few": ("always_inliner", "sroa", "simplify_cfg")}
"""Optimisation passes of LLVM before code generation, by name of the choice; the choice `all`, LLVM's own
pipeline, is not listed here.

Programs have no loops and no common subexpressions, so inlining is enough for them (`inline`). A routine
that spends its time in the programs that it calls is compiled with `few` passes, which takes a tenth of the
time of `all`.
"""

FAST_SWITCHES = {"few": ("-disable-lsr", "-disable-cgp", "-enable-misched=false")}
"""Switches of LLVM's code generator by key of PASSES: no strength reduction of loops, no preparation of
code, no scheduling. Code generation takes 40 % less time, and runs on terrain are as fast.
"""

ORDERED_SWITCHES = ("-enable-misched=false",)
"""Switches of LLVM's code generator for text that `_schedule` has ordered: LLVM must keep this order."""

_log = logging.getLogger(__name__)
_lock = threading.RLock()
_disused: deque[Any] = deque()  # engines to close, whose `MachineCode` no longer exists
hold_over_fork(_lock)


class MachineCode:
    """Loaded machine code, with the addresses of its functions by name."""

    def __init__(self, engine: Any, functions: Sequence[str]) -> None:
        self._engine = engine
        self.addresses: dict[str, int] = {
            name: engine.get_function_address(name) for name in functions
        }

    def __del__(self, disused: deque[Any] = _disused) -> None:
        disused.append(
            self._engine
        )  # finalisers run in any thread, which must not wait for the lock


@cache
def describe_host() -> tuple[str, str, int]:
    """Return the CPU's name and features, and the number of doubles in a SIMD register."""
    with _lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        lanes = 8 if features.get("avx512f") else 4 if features.get("avx2") else 2
        return llvm.get_host_cpu_name(), features.flatten(), lanes


def lanes() -> int:
    """Return the number of states that SIMD code evaluates at once on this CPU: doubles per register."""
    return describe_host()[2]


def load_machine_code(
    task: Any,
    text: Callable[[], str],
    functions: Sequence[str],
    store: Store | None,
    passes: str = "all",
    ordered: bool = False,
) -> MachineCode:
    """Return machine code, loaded from the store or compiled from the LLVM text that `text()` returns.

    `task` contains all inputs of `text`, and is part of the cache key; `text` is called only if the store has
    no entry for it. `functions` are the names of the functions whose addresses are needed. If `ordered`, LLVM
    keeps the order of the text.
    """
    identity = (describe_host(), llvmlite.__version__, digest_sources([__file__]), passes, task)
    key = hashlib.sha256(repr(identity).encode()).hexdigest()
    with _lock:
        code = store.get(key) if store is not None else None
        if code is None:
            begun = time.perf_counter()
            code = compile_object(text(), passes, ordered)
            _log.debug("compiled in %.2f s: %s", time.perf_counter() - begun, key)
            if store is not None:
                store.put(key, code)
        while _disused:
            _disused.pop().close()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _make_target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return MachineCode(engine, functions)


@cache
def _read_file(path: str) -> bytes:
    """Return the content of a source file."""
    return Path(path).read_bytes()


def digest_sources(paths: Iterable[str]) -> str:
    """Return a digest of source files. As a part of the cache key it prevents the use of machine code that
    other versions of these files have written.
    """
    return hashlib.sha256(b"\0".join(map(_read_file, paths))).hexdigest()


def _make_target_machine() -> Any:
    """Return a new target machine; an engine takes ownership of it, so each engine needs its own."""
    cpu, features, _ = describe_host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=2, jit=True)


def compile_object(text: str, passes: str = "all", ordered: bool = False) -> bytes:
    """Return the object file of an LLVM text; `passes` is a key of PASSES, or "all".

    LLVM's own pipeline ("all") leaks about 60 kB per call. Switches of LLVM are global to the process, so
    they are set for this text and reset afterwards.
    """
    machine = _make_target_machine()
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    # SIMD code is written with vectors already. LLVM's vectorisers would cost compile time without
    # a gain.
    options.slp_vectorization = False
    options.loop_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    if passes == "all":
        manager = builder.getModulePassManager()
    else:
        manager = llvm.create_new_module_pass_manager()
        for name in PASSES[passes]:
            getattr(manager, f"add_{name}_pass")()
    manager.run(module, builder)
    switches = ORDERED_SWITCHES if ordered else FAST_SWITCHES.get(passes, ())
    try:
        for switch in switches:
            llvm.set_option("draisine", switch)
        return bytes(machine.emit_object(module))
    finally:
        for switch in switches:
            name, _, value = switch.partition("=")
            llvm.set_option("draisine", f"{name}={'true' if value == 'false' else 'false'}")


def hex_number(x: float) -> str:
    """Return a double in LLVM's exact hexadecimal notation."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def llvm_constant(kind: str, x: float) -> str:
    """Return a constant as LLVM text for an operand type: `double`, or a vector of `double` or `float`."""
    if kind == "double":
        return hex_number(x)
    entry = f"float {hex_number(to_single(x))}" if "float" in kind else f"double {hex_number(x)}"
    return "<" + ", ".join([entry] * entry_count(kind)) + ">"


def to_single(x: float) -> float:
    """Return the single-precision number nearest to a double."""
    return float(struct.unpack("<f", struct.pack("<f", x))[0])


def same_shape_type(kind: str, entry: str) -> str:
    """Return the LLVM type with the shape of `kind` (scalar or vector) and entries of the type `entry`.

    >>> same_shape_type("<4 x double>", "i1")
    '<4 x i1>'
    """
    return kind.replace("double", entry).replace("float", entry)


def entry_count(kind: str) -> int:
    """Return the number of entries of an LLVM type; 1 for a scalar."""
    return int(kind[1:].split()[0]) if kind.startswith("<") else 1


def intrinsic_suffix(kind: str) -> str:
    """Return the suffix of LLVM's intrinsic functions for an operand type."""
    return "f64" if kind == "double" else f"v{entry_count(kind)}f{32 if 'float' in kind else 64}"
