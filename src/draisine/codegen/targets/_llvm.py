"""LLVM text as machine code of this computer, kept in the store.

LLVM is not thread-safe, so llvmlite guards each call by a lock of its own. A process that forks while
another thread holds this lock leaves a child in which nobody releases it. Therefore `host` and `load`
alone call llvmlite, under `_lock`, and a fork waits for `_lock`. Loaded code does not need llvmlite: its
addresses are looked up once, and the next `load` disposes of engines that are no longer used.
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
"""What LLVM does with a text before it is translated, `all` (LLVM's own) aside. Text of programs has no
loops and no value twice: its functions are put in their places, and nothing else is left to do. A few
passes take a tenth of the time of all, for loops whose work is in the programs that they call.
"""

QUICK = {"few": ("-disable-lsr", "-disable-cgp", "-enable-misched=false")}
"""Switches of LLVM while a text is translated after some of PASSES. Without strength reduction of loops,
preparation of code and scheduling it takes 40 % less time, and runs on terrain are as fast.
"""

ORDERED = ("-enable-misched=false",)
"""Switches while a text is translated that must stay in its order."""

_log = logging.getLogger(__name__)
_lock = threading.RLock()
_disused: deque[Any] = deque()
hold_over_fork(_lock)


class MachineCode:
    """Loaded machine code.

    addresses: where each function is, by name.
    """

    def __init__(self, engine: Any, functions: Sequence[str]) -> None:
        self._engine = engine
        self.addresses: dict[str, int] = {
            name: engine.get_function_address(name) for name in functions
        }

    def __del__(self, disused: deque[Any] = _disused) -> None:
        disused.append(self._engine)  # any thread may be here, and must not wait for the lock


@cache
def host() -> tuple[str, str, int]:
    """Return the CPU's name and features, and how many doubles fit in a register."""
    with _lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features()
        lanes = 8 if features.get("avx512f") else 4 if features.get("avx2") else 2
        return llvm.get_host_cpu_name(), features.flatten(), lanes


def lanes() -> int:
    """Return how many states the SIMD code advances at once on this CPU."""
    return host()[2]


def load(
    task: Any,
    text: Callable[[], str],
    functions: Sequence[str],
    store: Store | None,
    passes: str = "all",
    ordered: bool = False,
) -> MachineCode:
    """Return the machine code of a text, with the addresses of some of its functions. The text is
    written and translated if the store has nothing for the task; `task` names all that the text is made
    from. Text that is `ordered` stays so.
    """
    identity = (host(), llvmlite.__version__, source([__file__]), passes, task)
    key = hashlib.sha256(repr(identity).encode()).hexdigest()
    with _lock:
        code = store.get(key) if store is not None else None
        if code is None:
            begun = time.perf_counter()
            code = assemble(text(), passes, ordered)
            _log.debug("compiled in %.2f s: %s", time.perf_counter() - begun, key)
            if store is not None:
                store.put(key, code)
        while _disused:
            _disused.pop().close()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return MachineCode(engine, functions)


@cache
def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def source(paths: Iterable[str]) -> str:
    """Return a digest of files: machine code made by another version of them is not reused."""
    return hashlib.sha256(b"\0".join(map(_read, paths))).hexdigest()


def _machine() -> Any:
    """Return a target machine; an engine takes it over, so each needs its own."""
    cpu, features, _ = host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=2, jit=True)


def assemble(text: str, passes: str = "all", ordered: bool = False) -> bytes:
    """Return the object file of a text after some of PASSES, or all; all keep some 60 kB for ever at
    every call. Switches of LLVM belong to the whole process, so they are set for this text and reset.
    """
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
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
    switches = ORDERED if ordered else QUICK.get(passes, ())
    try:
        for switch in switches:
            llvm.set_option("draisine", switch)
        return bytes(machine.emit_object(module))
    finally:
        for switch in switches:
            name, _, value = switch.partition("=")
            llvm.set_option("draisine", f"{name}={'true' if value == 'false' else 'false'}")


def number(x: float) -> str:
    """Return a double as LLVM writes it, exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def constant(kind: str, x: float) -> str:
    """Return a number of a kind: `double`, or a vector of `double` or `float`."""
    if kind == "double":
        return number(x)
    entry = f"float {number(to_single(x))}" if "float" in kind else f"double {number(x)}"
    return "<" + ", ".join([entry] * width(kind)) + ">"


def to_single(x: float) -> float:
    """Return the single-precision number next to a double."""
    return float(struct.unpack("<f", struct.pack("<f", x))[0])


def alike(kind: str, entry: str) -> str:
    """Return the kind with as many numbers of another sort.

    >>> alike("<4 x double>", "i1")
    '<4 x i1>'
    """
    return kind.replace("double", entry).replace("float", entry)


def width(kind: str) -> int:
    """Return how many numbers a kind has."""
    return int(kind[1:].split()[0]) if kind.startswith("<") else 1


def suffix(kind: str) -> str:
    """Return how LLVM's own functions are called for a kind of numbers."""
    return "f64" if kind == "double" else f"v{width(kind)}f{32 if 'float' in kind else 64}"
