"""Machine code of programs: equal to the reference, identical in all lanes; the store of machine code."""

import gc
import multiprocessing
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from codegen.programs import Case, assert_close, compile_and_call, long, wide
from draisine.codegen import cache
from draisine.codegen.cache import Store, default_folder
from draisine.codegen.program import Program, native_signature, run_program, step_arguments
from draisine.codegen.targets import _llvm, native
from draisine.codegen.targets._schedule import schedule_by_longest_path
from draisine.codegen.targets.native import Native
from draisine.system.compiled import Compiled

Floats = NDArray[np.float64]


def test_schedule_is_topological_and_starts_with_the_longest_path() -> None:
    program = long(600).program
    steps = [i for i, step in enumerate(program.steps) if step[0] not in ("const", "input")]
    order = schedule_by_longest_path(program, steps)
    place = {i: k for k, i in enumerate(order)}
    assert sorted(order) == steps
    assert all(place.get(k, -1) < place[i] for i in steps for k in step_arguments(program.steps[i]))
    leaf, chain, others = ("input", "x", 0), range(1, 9), range(9, 40)
    roots = [leaf, *(("sqrt", k - 1) for k in chain), *(("neg", 0) for _ in others)]
    text = Program("f", {"x": 1}, roots, {"y": [8, *others]}, [False] * len(roots))
    found = schedule_by_longest_path(text, [*others, *chain])
    assert found[0] == 1
    assert found[-1] == 8


def stacked(case: Case, inputs: dict[str, Floats]) -> Floats:
    """Return the concatenated inputs without parameters."""
    parts = [inputs[x] for x in case.program.inputs if x != "parameters"]
    return np.ascontiguousarray(np.concatenate(parts))


def table(code: Native, case: Case) -> Floats:
    """Return the table that the prologue writes."""
    parameters = np.ascontiguousarray(case.inputs.get("parameters", np.zeros(0)))
    out = np.zeros(code.size_table)
    native_signature()(code.prologue)(parameters.ctypes.data, out.ctypes.data, out.ctypes.data, 1)
    return out


def call(code: Native, x: Floats, given: Floats) -> Floats:
    """Return the outputs for one state."""
    out = np.full(code.size_out, np.nan)
    native_signature()(code.call)(x.ctypes.data, given.ctypes.data, out.ctypes.data, 1)
    return out


def call_batch(code: Native, x: Floats, given: Floats) -> Floats:
    """Return the outputs for states in columns, all with the same parameters."""
    count = x.shape[1]
    tables = np.ascontiguousarray(np.repeat(given[:, None], count, axis=1))
    out = np.full((code.size_out, count), np.nan)
    native_signature()(code.batch)(x.ctypes.data, tables.ctypes.data, out.ctypes.data, count)
    return out


def expected(case: Case) -> Floats:
    return np.concatenate(list(run_program(case.program, **case.inputs).values()))


def split(code: Native, case: Case, flat: Floats) -> dict[str, Floats]:
    sizes = [len(entries) for entries in case.program.outputs.values()]
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    return dict(zip(case.program.outputs, parts, strict=True))


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store that the tests share, so that each program is compiled once."""
    return Store(tmp_path_factory.mktemp("kept"))


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split the long programs often; those of the bicycle are not split."""
    monkeypatch.setattr(native, "MAX_UNSPLIT_STEPS", 1000)
    monkeypatch.setattr(native, "NATIVE_CHUNK_STEPS", 1000)


class TestAgreement:
    def test_scalar_equals_reference(self, case: Case, shared_store: Store) -> None:
        code = Native(case.program, shared_store)
        found = split(code, case, call(code, stacked(case, case.inputs), table(code, case)))
        tolerance = 1e-14 if len(case.program.steps) < 1000 else 1e-13
        for name, values in run_program(case.program, **case.inputs).items():
            assert_close(found[name], values, tolerance)

    def test_lanes_equal_scalar_bit_for_bit(self, case: Case, shared_store: Store) -> None:
        code = Native(case.program, shared_store)
        given, x = table(code, case), stacked(case, case.batch(3 * code.lanes))
        found = call_batch(code, x, given)
        for k in range(x.shape[1]):
            single = call(code, np.ascontiguousarray(x[:, k]), given)
            assert single.tobytes() == np.ascontiguousarray(found[:, k]).tobytes()

    def test_every_piece_of_machine_code_has_the_same_prologue(
        self, case: Case, shared_store: Store
    ) -> None:
        """Code for lanes and code for one state are separate pieces with identical prologues."""
        one, wide = (Native(case.program, shared_store) for _ in range(2))
        assert one.call
        assert wide.batch
        assert table(one, case).tobytes() == table(wide, case).tobytes()
        assert [len(code._pieces) for code in (one, wide)] == [1, 1]

    def test_single_precision_has_the_error_of_24_bits(
        self, bicycle: dict[str, Case], shared_store: Store
    ) -> None:
        """Inputs and outputs are doubles; the error in every column is that of single precision."""
        case = bicycle["rate"]
        code = Native(case.program, shared_store)
        given, x = table(code, case), stacked(case, case.batch(6 * code.lanes))
        tables = np.repeat(given[:, None], x.shape[1], axis=1).astype(np.float32)
        out, exact = np.full((code.size_out, x.shape[1]), np.nan), call_batch(code, x, given)
        where = (np.ascontiguousarray(x), np.ascontiguousarray(tables), out)
        native_signature()(code.single_batch)(*(a.ctypes.data for a in where), x.shape[1])
        away = np.abs(out - exact).max(axis=0) / np.abs(exact).max(axis=0)
        assert 1e-9 < away.min() < away.max() < 1e-4

    def test_an_empty_batch_writes_nothing(self, small: Case) -> None:
        code = Native(small.program)
        x = np.zeros((code.size_in, 0))
        assert call_batch(code, x, table(code, small)).size == 0

    @pytest.mark.parametrize("size", [3, 40, 10_000])
    @pytest.mark.parametrize("make", [lambda: long(400), lambda: wide(90)], ids=["long", "wide"])
    def test_split_programs_equal_the_reference(
        self, size: int, make: Callable[[], Case], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        case = make()
        monkeypatch.setattr(native, "MAX_UNSPLIT_STEPS", size)
        monkeypatch.setattr(native, "NATIVE_CHUNK_STEPS", size)
        text = native.emit(case.program)
        assert (f"@draisine.{case.program.name}_1(" in text) == (size < 1000)
        code = Native(case.program)
        given, x = table(code, case), stacked(case, case.inputs)
        assert_close(call(code, x, given), expected(case), 1e-14)
        lanes = np.ascontiguousarray(np.repeat(x[:, None], code.lanes, axis=1))
        assert_close(call_batch(code, lanes, given)[:, -1], expected(case), 1e-14)

    def test_programs_may_have_names_of_c_functions(self) -> None:
        for name in ("free", "exp", "atan2", "rear wheel"):
            steps = [("input", "x", 0), ("exp", 0)]
            program = Program(name, {"x": 1}, steps, {"y": [1]}, [False, False])
            found = call(Native(program), np.array([1.5]), np.zeros(0))
            assert_close(found, np.exp([1.5]), 1e-15)

    def test_machine_code_stays_valid_when_other_code_is_disposed(self, small: Case) -> None:
        codes = [Native(small.program) for _ in range(4)]
        survivor = codes[1]
        del codes
        again = Native(small.program)
        x, given = stacked(small, small.inputs), table(survivor, small)
        assert call(survivor, x, given).tobytes() == call(again, x, given).tobytes()

    def test_threads_compile_identical_code(self, small: Case) -> None:
        with ThreadPoolExecutor(4) as pool:
            codes = list(pool.map(lambda _: Native(small.program), range(8)))
        found = {call(c, stacked(small, small.inputs), table(c, small)).tobytes() for c in codes}
        assert len(found) == 1


@pytest.fixture(scope="module")
def both() -> Native:
    """Sine and cosine."""
    steps = [("input", "x", 0), ("sin", 0), ("cos", 0)]
    return Native(Program("both", {"x": 1}, steps, {"y": [1, 2]}, [False] * 3))


class TestSineAndCosine:
    """The largest measured error over [-1e5, 1e5] is 0.75 ulp; next to zeros it is 1e-27 absolute."""

    def errors(self, both: Native, x: Floats) -> Floats:
        """Return the errors in units in the last place; errors below 1e-27 count as zero."""
        padded = np.resize(x, (1, -(-len(x) // both.lanes) * both.lanes))
        found = call_batch(both, padded, np.zeros(0))[:, : len(x)]
        out = np.zeros((2, len(x)))
        with mpmath.workdps(60):
            for j, function in enumerate((mpmath.sin, mpmath.cos)):
                for k, angle in enumerate(x):
                    exact = function(mpmath.mpf(float(angle)))
                    wrong = abs(mpmath.mpf(float(found[j, k])) - exact)
                    beyond = max(wrong - mpmath.mpf("1e-27"), 0)
                    out[j, k] = float(beyond / float(np.spacing(abs(float(exact)))))
        return out

    @pytest.mark.parametrize("limit", [0.8, 10.0, 1e5, 1e9])
    def test_errors_are_below_one_ulp(self, both: Native, limit: float) -> None:
        x = np.random.default_rng(1).uniform(-limit, limit, 3000)
        assert self.errors(both, x).max() <= 0.8

    def test_errors_next_to_zeros_are_below_one_ulp(self, both: Native) -> None:
        rng = np.random.default_rng(2)
        with mpmath.workdps(40):
            turns = [float(int(k) * mpmath.pi / 2) for k in rng.integers(-63661, 63662, 1000)]
        for x in (np.array(turns), np.nextafter(turns, np.inf), np.array(turns) + 1e-9):
            assert self.errors(both, x).max() <= 0.8

    def test_single_precision(self, both: Native) -> None:
        """The error is at most two units in the last place, up to a hundred revolutions."""
        x = np.random.default_rng(3).uniform(-600.0, 600.0, (1, 4096))
        x = np.ascontiguousarray(x.astype(np.float32).astype(float))
        out = np.empty((2, 4096))
        native_signature()(both.single_batch)(x.ctypes.data, x.ctypes.data, out.ctypes.data, 4096)
        assert np.abs(out - np.vstack([np.sin(x), np.cos(x)])).max() < 2.0**-23

    def test_exact_values(self, both: Native) -> None:
        x = np.zeros((1, both.lanes))
        assert call_batch(both, x, np.zeros(0))[:, 0].tolist() == [0.0, 1.0]

    @pytest.mark.parametrize("x", [np.nan, np.inf, -np.inf])
    def test_nan_propagates(self, both: Native, x: float) -> None:
        assert np.isnan(call(both, np.array([x]), np.zeros(0))).all()
        assert np.isnan(call_batch(both, np.full((1, both.lanes), x), np.zeros(0))).all()


def changed(content: bytes, where: str) -> bytes:
    """Return the content of an entry after the given damage."""
    middle = len(content) // 2
    return {
        "empty": b"",
        "cut short": content[:-1],
        "cut in the head": content[:20],
        "one bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "longer": content + b"\0",
        "bad magic": b"somebody's" + content[10:],
        "not ours": b"\x7fELF" + b"\0" * 200,
    }[where]


class TestStore:
    def compiled(self, case: Case, store: Store) -> Floats:
        code = Native(case.program, store)
        return call(code, stacked(case, case.inputs), table(code, case))

    def entry(self, store: Store) -> Path:
        (path,) = store.folder.iterdir()
        return path

    def test_machine_code_is_compiled_once(
        self, small: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = Store(tmp_path)
        first = self.compiled(small, store)
        monkeypatch.setattr(_llvm, "compile_object", lambda *_: pytest.fail("compiled again"))
        assert self.compiled(small, store).tobytes() == first.tobytes()

    @pytest.mark.parametrize(
        "accident",
        ["empty", "cut short", "cut in the head", "one bit", "longer", "bad magic", "not ours"],
    )
    def test_a_damaged_entry_is_compiled_again(
        self, small: Case, tmp_path: Path, accident: str
    ) -> None:
        store = Store(tmp_path)
        first = self.compiled(small, store)
        path = self.entry(store)
        sound = path.read_bytes()
        path.write_bytes(changed(sound, accident))
        assert store.get(path.name) is None
        assert self.compiled(small, store).tobytes() == first.tobytes()
        assert path.read_bytes() == sound

    def test_a_renamed_entry_is_ignored(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        store.put("one", b"content")
        shutil.copy(tmp_path / "one", tmp_path / "other")
        assert store.get("one") == b"content"
        assert store.get("other") is None

    def test_a_folder_with_the_name_of_an_entry_is_kept(self, small: Case, tmp_path: Path) -> None:
        store = Store(tmp_path)
        first = self.compiled(small, store)
        path = self.entry(store)
        path.unlink()
        path.mkdir()
        assert self.compiled(small, store).tobytes() == first.tobytes()
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users on this platform")
    def test_an_entry_of_another_user_is_ignored(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = Store(tmp_path)
        store.put("key", b"content")
        monkeypatch.setattr(os, "getuid", lambda: os.stat(tmp_path).st_uid + 1)
        assert store.get("key") is None

    def test_different_programs_have_different_entries(self, small: Case, tmp_path: Path) -> None:
        store = Store(tmp_path)
        self.compiled(small, store)
        self.compiled(wide(3), store)
        self.compiled(wide(4), store)
        assert len(list(tmp_path.iterdir())) == 3

    def test_without_a_usable_folder_nothing_is_cached(self, small: Case, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        store = Store(tmp_path / "file" / "cache")
        assert_close(self.compiled(small, store), expected(small), 1e-14)
        assert store.get("key") is None

    def test_a_full_disk_leaves_no_partial_entry(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        store = Store(tmp_path)
        monkeypatch.setattr(cache.os, "replace", full)
        store.put("key", b"content")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
    def test_a_read_only_folder_is_read_but_not_written(self, small: Case, tmp_path: Path) -> None:
        first = self.compiled(small, Store(tmp_path))
        self.entry(Store(tmp_path))
        tmp_path.chmod(0o500)
        try:
            assert self.compiled(small, Store(tmp_path)).tobytes() == first.tobytes()
            other = wide(5)
            assert_close(self.compiled(other, Store(tmp_path)), expected(other), 1e-14)
        finally:
            tmp_path.chmod(0o700)

    def test_cache_folder_without_a_home_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def homeless() -> Path:
            raise RuntimeError("Could not determine home directory.")

        for name in ("DRAISINE_CACHE", "LOCALAPPDATA", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(Path, "home", homeless)
        assert default_folder().name.startswith("draisine")

    def test_the_environment_variable_selects_the_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DRAISINE_CACHE", str(tmp_path))
        assert Store().folder == tmp_path

    def test_concurrent_threads_read_complete_entries(self, tmp_path: Path) -> None:
        content = [bytes([k]) * 100_000 for k in range(8)]

        def work(k: int) -> bool:
            store = Store(tmp_path)
            seen = set()
            for _ in range(30):
                store.put("key", content[k])
                seen.add(store.get("key"))
            return seen <= set(content)

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(8)))
        assert [p.name for p in tmp_path.iterdir()] == ["key"]

    def test_concurrent_processes_read_complete_entries(self, tmp_path: Path) -> None:
        script = (
            "import sys; from pathlib import Path; from draisine.codegen.cache import Store\n"
            "store, mine = Store(Path(sys.argv[1])), sys.argv[2].encode() * 100_000\n"
            "for _ in range(50):\n"
            "    store.put('key', mine)\n"
            "    found = store.get('key')\n"
            "    assert found is not None and len(set(found)) == 1 and len(found) == 100_000\n"
        )
        command = [sys.executable, "-c", script, str(tmp_path)]
        started = [subprocess.Popen([*command, letter]) for letter in "abc"]
        assert [p.wait(timeout=120) for p in started] == [0, 0, 0]
        assert [p.name for p in tmp_path.iterdir()] == ["key"]

    def test_processes_that_compile_the_same_program_agree(
        self, small: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Processes import their function from `codegen.programs`, because another package may have
        installed a top-level module `tests`. A process executor raises an error if an import fails; a
        pool would wait for ever.
        """
        (tmp_path / "tests").mkdir()
        (tmp_path / "tests" / "__init__.py").touch()
        monkeypatch.syspath_prepend(tmp_path)
        store = tmp_path / "store"
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(3, mp_context=context) as pool:
            found = list(pool.map(compile_and_call, [small] * 3, [store] * 3))
        assert len(set(found)) == 1
        assert found[0] == self.compiled(small, Store(store)).tobytes()


FORK_WHILE_LOADING = """
import os, signal, threading
from draisine.codegen.program import Program
from draisine.codegen.targets import _llvm
from draisine.codegen.targets.native import Native

def compile_one(factor):
    steps = [("input", "x", 0), ("const", factor), ("mul", 0, 1)]
    return Native(Program("small", {"x": 1}, steps, {"y": [2]}, [False, True, False])).call

def compile_slowly(*arguments):
    loading.set()
    forked.wait(1.0)
    return compile_object(*arguments)

loading, forked, compile_object = threading.Event(), threading.Event(), _llvm.compile_object
_llvm.compile_object = compile_slowly
thread = threading.Thread(target=compile_one, args=(2.0,))
thread.start()
loading.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)  # ends a child that waits for a lock
    os._exit(0 if compile_one(3.0) else 1)
forked.set()
thread.join()
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waits_until_code_is_loaded_and_the_child_loads_more():
    command = [sys.executable, "-W", "ignore", "-c", FORK_WHILE_LOADING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout == "0\n"


FORK_WHILE_IMPORTING = """
import os, signal, sys, threading
import draisine

class SlowFinder:
    def find_spec(self, name, path=None, target=None):
        if name == "draisine.simulation.simulate":
            importing.set()
            forked.wait(1.0)

importing, forked = threading.Event(), threading.Event()
sys.meta_path.insert(0, SlowFinder())
thread = threading.Thread(target=lambda: draisine.simulate)
thread.start()
importing.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)  # ends a child that waits for a lock
    os._exit(0 if draisine.simulate else 1)
forked.set()
thread.join()
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waits_until_a_public_name_is_imported():
    command = [sys.executable, "-W", "ignore", "-c", FORK_WHILE_IMPORTING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout == "0\n"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is told by Linux alone")
def test_disposed_machine_code_frees_its_memory():
    """LLVM's own pipeline would leak 61 kB per compilation."""

    def pages() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1])

    def compile_one(k: int) -> None:
        steps = [("input", "x", 0), ("const", 1.5 + k), ("mul", 0, 1), ("sin", 2)]
        program = Program("small", {"x": 1}, steps, {"y": [3]}, [False, True, False, False])
        assert Native(program).size_out == 1

    for k in range(20):
        compile_one(k)
    before = pages()
    for k in range(20, 140):
        compile_one(k)
    assert (pages() - before) * 4096 < 120 * 12_000


def test_consecutive_zero_outputs_are_written():
    """Single and many consecutive zero outputs, for one state and in lanes."""
    steps = [("const", 0.0), ("input", "x", 0), ("const", 2.0)]
    entries = [0, 0, 0, 1, 0, 2, 0, 0] + [0] * 100 + [1]
    program = Program("sparse", {"x": 1}, steps, {"y": entries}, [True, False, True])
    compiled = Compiled(Native(program), np.zeros(1))
    expected = [{0: 0.0, 1: 3.5, 2: 2.0}[k] for k in entries]
    compiled.flat(np.array([np.nan]))  # what was there before
    assert compiled.flat(np.array([3.5])).tolist() == expected
    many = compiled.batch(np.full((1, 5), 3.5))["y"]
    np.testing.assert_array_equal(many, np.repeat(np.array(expected)[:, None], 5, axis=1))
