"""Emitted text is executed and compared with the reference."""

import ctypes
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from codegen.programs import Case, assert_close, long, wide
from draisine.codegen.listing import make_identifiers
from draisine.codegen.program import Program, flatten_arrays, run_program
from draisine.codegen.targets import c, javascript, jax, latex, python

RTOL = 1e-13
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O3"]

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc)")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript engine (node)")
needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")


def states(program: Program) -> list[str]:
    return [x for x in program.inputs if x != "parameters"]


def module(text: str) -> SimpleNamespace:
    names: dict[str, object] = {}
    exec(compile(text, "emitted", "exec"), names)
    return SimpleNamespace(**names)


def call_python(text: str, program: Program, inputs: dict[str, NDArray[np.float64]]):
    made = module(text)
    table = getattr(made, f"{program.name}_prologue")(inputs.get("parameters", np.zeros(0)))
    assert len(table) == len(program.table)
    return getattr(made, program.name)(*[inputs[x] for x in states(program)], table)


def assert_outputs(found, case: Case) -> None:
    expected = run_program(case.program, **case.inputs)
    assert list(found) == list(expected)
    for name in expected:
        assert_close(found[name], expected[name], RTOL)


def test_the_small_program_has_every_operation(small: Case) -> None:
    found = {step[0] for step in small.program.steps}
    assert found == {
        "add", "sub", "mul", "neg", "inv", "sqrt", "sin", "cos", "exp", "atan2", "lt", "where",
        "input", "const",
    }  # fmt: skip


def test_flattened_programs_have_the_same_outputs(case: Case) -> None:
    flat = flatten_arrays(case.program)
    x = np.concatenate([np.zeros(0), *(case.inputs[name] for name in states(case.program))])
    given = {"x": x} | {k: v for k, v in case.inputs.items() if k == "parameters"}
    expected = np.concatenate(list(run_program(case.program, **case.inputs).values()))
    assert np.array_equal(run_program(flat, **given)["out"], expected)
    assert flat.table == case.program.table


class TestPython:
    def test_outputs_equal_the_reference(self, case: Case) -> None:
        assert_outputs(call_python(python.emit(case.program), case.program, case.inputs), case)

    def test_many_states_equal_the_reference(self, case: Case) -> None:
        inputs = case.batch(5)
        found = call_python(python.emit(case.program), case.program, inputs)
        for name, expected in run_program(case.program, **inputs).items():
            assert_close(found[name], expected, RTOL)

    def test_arrays_of_parameters_equal_the_reference(self, small: Case) -> None:
        inputs = {k: np.stack([x, 1.1 * x], axis=-1) for k, x in small.inputs.items()}
        found = call_python(python.emit(small.program), small.program, inputs)
        for name, expected in run_program(small.program, **inputs).items():
            assert_close(found[name], expected, RTOL)

    def test_lines_are_short(self, bicycle: dict[str, Case]) -> None:
        lines = python.emit(bicycle["rate"].program).splitlines()
        assert max(map(len, lines)) <= 100
        assert len(lines) < len(bicycle["rate"].program.steps)


@needs_compiler
class TestC:
    def build(self, text: str, folder: Path) -> ctypes.CDLL:
        source, library = folder / "emitted.c", folder / "emitted.so"
        source.write_text(text)
        flags = [*STRICT, "-shared", "-fPIC", "-o", str(library), str(source), "-lm"]
        done = subprocess.run(["cc", *flags], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(library))

    def test_outputs_equal_the_reference(self, case: Case, tmp_path: Path) -> None:
        program = case.program
        library = self.build(c.emit(program), tmp_path)
        table = np.zeros(len(program.table))
        parameters = np.ascontiguousarray(case.inputs.get("parameters", np.zeros(0)))
        arrays = [np.ascontiguousarray(case.inputs[x]) for x in states(program)]
        outputs = {x: np.full(len(entries), np.nan) for x, entries in program.outputs.items()}
        pointer = lambda x: ctypes.c_void_p(x.ctypes.data)  # noqa: E731
        name = {"free": "free_", "long": "long_"}.get(program.name, program.name)
        getattr(library, f"{name}_prologue")(pointer(parameters), pointer(table))
        everything = [*arrays, table, *outputs.values()]
        getattr(library, name)(*map(pointer, everything))
        assert_outputs(outputs, case)

    def test_constants_are_exact(self, tmp_path: Path) -> None:
        numbers = [0.1, 1 / 3, -2.0, 5e-324, 1.7976931348623157e308, np.inf, -np.inf, 1e22, -0.0]
        steps = [("const", float(x)) for x in numbers]
        entries = list(range(len(steps)))
        program = Program("constants", {}, steps, {"y": entries}, [True] * len(steps))
        found = np.zeros(len(numbers))
        self.build(c.emit(program), tmp_path).constants(None, ctypes.c_void_p(found.ctypes.data))
        assert found.tobytes() == np.array(numbers).tobytes()

    def test_long_programs_are_split(self) -> None:
        assert "_part1(" in c.emit(long(6000).program)
        assert "_part" not in c.emit(long(1800).program)

    @pytest.mark.parametrize("size", [7, 150])
    def test_outputs_do_not_depend_on_the_split(
        self, size: int, small: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(c, "MAX_C_FUNCTION_STEPS", size)
        for k, case in enumerate([small, long(500), wide(200)]):
            folder = tmp_path / str(k)
            folder.mkdir()
            self.test_outputs_equal_the_reference(case, folder)


@needs_node
class TestJavaScript:
    def call(self, case: Case, folder: Path) -> dict[str, list[float]]:
        program = case.program
        (folder / "emitted.mjs").write_text(javascript.emit(program))
        inputs = {k: x.tolist() for k, x in case.inputs.items()}
        sizes = {x: len(entries) for x, entries in program.outputs.items()}
        (folder / "run.mjs").write_text(
            f"""
            import * as emitted from "./emitted.mjs";
            const inputs = {json.dumps(inputs)};
            const outputs = {{}};
            for (const [name, size] of Object.entries({json.dumps(sizes)}))
              outputs[name] = new Float64Array(size).fill(NaN);
            const table = new Float64Array(emitted.{program.name}TableSize);
            emitted.{program.name}Prologue(Float64Array.from(inputs.parameters ?? []), table);
            const states = {json.dumps(states(program))}.map(x => Float64Array.from(inputs[x]));
            emitted.{program.name}(...states, table, ...Object.values(outputs));
            for (const name in outputs) outputs[name] = Array.from(outputs[name]);
            console.log(JSON.stringify(outputs));
            """
        )
        command = ["node", str(folder / "run.mjs")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def test_outputs_equal_the_reference(self, case: Case, tmp_path: Path) -> None:
        assert_outputs(self.call(case, tmp_path), case)

    def test_functions_are_short(self, bicycle: dict[str, Case]) -> None:
        text = javascript.emit(bicycle["rate"].program)
        functions = re.split(r"^(?:export )?function ", text, flags=re.M)[1:]
        assert len(functions) > 3
        assert max(f.count("\n") for f in functions) < 2 * javascript.MAX_JS_FUNCTION_STEPS


class TestJax:
    @pytest.fixture(autouse=True)
    def doubles(self) -> Iterator[None]:
        self.jax = pytest.importorskip("jax", reason="JAX is not installed")
        before = self.jax.config.jax_enable_x64
        self.jax.config.update("jax_enable_x64", True)
        yield
        self.jax.config.update("jax_enable_x64", before)

    @pytest.fixture
    def functions(self, case: Case):
        if len(case.program.steps) > 900:
            pytest.skip("XLA takes tens of seconds for long straight-line code")
        made = module(jax.emit(case.program))
        name = case.program.name
        parameters = self.jax.numpy.asarray(case.inputs["parameters"])
        return getattr(made, name), getattr(made, f"{name}_prologue")(parameters)

    def test_outputs_equal_the_reference(self, case: Case, functions) -> None:
        function, table = functions
        found = self.jax.jit(function)(*[case.inputs[x] for x in states(case.program)], table)
        assert_outputs({name: np.asarray(found[name]) for name in case.program.outputs}, case)

    def test_vmap(self, case: Case, functions) -> None:
        function, table = functions
        inputs = case.batch(3)
        names = states(case.program)
        mapped = self.jax.vmap(function, in_axes=(*[1] * len(names), None), out_axes=1)
        found = self.jax.jit(mapped)(*[inputs[x] for x in names], table)
        for name, expected in run_program(case.program, **inputs).items():
            shape = (len(expected), 3)
            assert_close(np.asarray(found[name]), np.broadcast_to(expected.T, shape[::-1]).T, RTOL)

    def test_jacobian_equals_differences(self, bicycle: dict[str, Case]) -> None:
        program, inputs = bicycle["rate"]
        made = module(jax.emit(program))
        table = made.rate_prologue(self.jax.numpy.asarray(inputs["parameters"]))
        names = states(program)

        def rate(u):
            given = inputs | {"u": u}
            return made.rate(*[given[x] for x in names], table)["rate"]

        found = self.jax.jit(self.jax.jacfwd(rate))(inputs["u"])
        h = 1e-6
        for k, step in enumerate(h * np.eye(len(inputs["u"]))):
            ahead = run_program(program, **(inputs | {"u": inputs["u"] + step}))["rate"]
            behind = run_program(program, **(inputs | {"u": inputs["u"] - step}))["rate"]
            assert_close(np.asarray(found[:, k]), (ahead - behind) / (2 * h), 1e-8)


class TestLatex:
    def rows(self, text: str) -> list[str]:
        blocks = re.findall(r"\\begin\{align\*\}\n(.*?)\n\\end\{align\*\}", text, flags=re.S)
        return [row for block in blocks for row in block.split(" \\\\\n")]

    def test_environments_and_braces_balance(self, case: Case) -> None:
        text = latex.emit(case.program)
        open_environments: list[str] = []
        for kind, name in re.findall(r"\\(begin|end)\{(\w+\*?)\}", text):
            if kind == "begin":
                open_environments.append(name)
            else:
                assert open_environments.pop() == name
        assert not open_environments
        assert text.count("{") == text.count("}")
        assert text.count(r"\left(") == text.count(r"\right)")
        assert text.isascii()
        assert "@" not in text

    def test_names_are_defined_before_use(self, case: Case) -> None:
        text = latex.emit(case.program)
        given = re.findall(r"\$([^$<]+)\$", text.partition(r"\subsection*{Inputs}")[2])
        defined = set(given)
        name = re.compile(r"(?:\\mathit\{[^}]*\}|\\[a-z]+|[A-Za-z])_\{[^}]*\}")
        for row in self.rows(text):
            left, _, right = row.partition(" &= ")
            assert set(name.findall(right)) <= defined
            assert left not in defined
            defined.add(left)

    def test_every_output_has_a_row(self, case: Case) -> None:
        text = latex.emit(case.program).partition(r"\subsection*{Outputs}")[2]
        assert len(self.rows(text)) == sum(map(len, case.program.outputs.values()))

    def test_given_parameter_names_are_used_as_symbols(self, bicycle: dict[str, Case]) -> None:
        program = bicycle["rate"].program
        names = [f"m{chr(ord('A') + k)}" for k in range(program.inputs["parameters"])]
        text = latex.emit(program, names={"parameters": names})
        assert "m_{B}" in text
        assert r"\mathit{parameters}" not in text

    def test_the_document_has_fewer_rows_than_steps(self, bicycle: dict[str, Case]) -> None:
        program = bicycle["rate"].program
        assert len(self.rows(latex.emit(program))) < 0.6 * len(program.steps)

    def test_an_output_with_the_name_of_an_input_has_its_own_symbol(
        self, bicycle: dict[str, Case]
    ) -> None:
        text = latex.emit(bicycle["project"].program)
        assert "{q_{0}}' &=" in text
        assert "\nq_{0} &=" not in text

    @needs_latex
    @pytest.mark.parametrize("which", ["small", "rate"])
    def test_the_document_compiles_without_overfull_lines(
        self, which: str, small: Case, bicycle: dict[str, Case], tmp_path: Path
    ) -> None:
        program = small.program if which == "small" else bicycle[which].program
        (tmp_path / "emitted.tex").write_text(latex.emit(program))
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "emitted.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout[-2000:]
        assert "Overfull" not in done.stdout
        assert (tmp_path / "emitted.pdf").stat().st_size > 0


@pytest.mark.parametrize("target", [c, javascript, jax, latex, python])
def test_emitted_text_is_reproducible(target, small: Case) -> None:
    assert target.emit(small.program) == target.emit(small.program)


@pytest.mark.parametrize("target", [c, javascript, jax, latex, python])
def test_an_empty_program_can_be_emitted(target) -> None:
    assert target.emit(Program("nothing", {}, [], {}, []))


def test_identifiers_never_collide() -> None:
    names = ["q", "q", "q_", "q_0", "q_0_", "for", "1x", "a-b", "a_b", ""]
    found = make_identifiers(names, ["for"])
    assert len(set(found)) == len(names)
    assert all(x.isidentifier() and not re.search(r"_\d+$", x) for x in found)
    assert "for" not in found


def test_wide_programs_are_split() -> None:
    assert "widePart3" in javascript.emit(wide(1000).program)
