"""Execution of a routine in Python, machine code, C and JavaScript, with all numbers that it produces.

The numbers are the result and then, argument by argument, the entries of arrays and the fields of
records after the call, as integers and hexadecimal doubles, so that equal texts mean equal bits.
"""

import json
import shutil
import subprocess
from copy import deepcopy
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from draisine.codegen.routine import (
    FLOAT,
    VOID,
    ArrayKind,
    FixedVector,
    Kind,
    Packed,
    Record,
    Routine,
    fields,
    is_fixed,
    is_matrix,
    is_record,
)
from draisine.codegen.targets import c, javascript
from draisine.codegen.targets._dialects import C_HELPERS, JS_HELPERS, c_type, c_types, js_types
from draisine.codegen.targets._text_routine import write_text_routine
from draisine.codegen.targets.native import compile_routines

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]


def duplicate(value: Any) -> Any:
    """Return a deep copy of an argument, so that executions do not share memory."""
    if isinstance(value, Record):
        kinds = fields(type(value))
        return type(value)(**{name: duplicate(getattr(value, name)) for name in kinds})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(duplicate, value))
    if isinstance(value, tuple):
        return tuple(map(duplicate, value))
    return value if isinstance(value, FixedVector) else deepcopy(value)


def leaves(value: Any, kind: Kind) -> list[float | int]:
    """Return all numbers in a value of a given type, in the order of its fields and entries."""
    if kind == VOID:
        return []
    if is_record(kind):
        parts = ((getattr(value, name), own) for name, own in fields(kind).items())
        return [x for part in parts for x in leaves(*part)]
    if isinstance(kind, ArrayKind) and is_record(kind.element):
        return [x for one in value for x in leaves(one, kind.element)]
    if isinstance(kind, ArrayKind):
        return [x for one in value.ravel().tolist() for x in leaves(one, kind.element)]
    if isinstance(kind, tuple):
        return [x for part in zip(value, kind, strict=True) for x in leaves(*part)]
    if is_fixed(kind):
        return [float(x) for x in value]
    return [float(value) if kind == FLOAT else int(value)]


def texts(numbers: list[float | int]) -> list[str]:
    """Return numbers as texts that are equal if all bits are."""
    return [x.hex() if isinstance(x, float) else str(x) for x in numbers]


def _all(routine: Routine, result: Any, arguments: list[Any]) -> list[str]:
    found = leaves(result, routine.returns)
    for value, kind in zip(arguments, routine.parameters.values(), strict=True):
        found += leaves(value, kind)
    return texts(found)


def in_python(routine: Routine, *arguments: Any) -> list[str]:
    """Run the Python function itself."""
    own = list(map(duplicate, arguments))
    return _all(routine, routine(*own), own)


def in_machine_code(routine: Routine, *arguments: Any, width: int = 1) -> list[str]:
    """Run machine code."""
    own = list(map(duplicate, arguments))
    packed = [Packed(x) if isinstance(x, tuple) and hasattr(x, "_fields") else x for x in own]
    return _all(routine, compile_routines(routine, width=width)[0](*packed), own)


def interpreted(
    routine: Routine, *arguments: Any, monkeypatch: pytest.MonkeyPatch | None = None
) -> list[str]:
    """Run the substitute of machine code if DRAISINE_INTERPRET is 1."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAISINE_INTERPRET", "1")
        return in_machine_code(routine, *arguments)


# --- C


class _CMain:
    """Writes a main function that calls a routine and prints its results."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def new(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def make(self, value: Any, kind: Kind) -> str:
        """Return an expression for a value."""
        if is_record(kind):
            name = self.new()
            inner = [self.make(getattr(value, n), own) for n, own in fields(kind).items()]
            self.lines.append(f"{kind.__name__} {name} = {{{', '.join(inner)}}};")
            return f"&{name}"
        if isinstance(kind, ArrayKind) and is_record(kind.element):
            inner, name = [self.make(one, kind.element) for one in value], self.new()
            self.lines.append(
                f"{c_type(kind.element, f'const {name}[]')} = {{{', '.join(inner)}}};"
            )
            return name
        if isinstance(kind, ArrayKind):
            name = self.new()
            entries = ", ".join(self.number(x) for x in value.ravel().tolist())
            self.lines.append(f"{c_type(kind.element, f'{name}[]')} = {{{entries}}};")
            return f"{{{name}, {value.shape[1]}}}" if is_matrix(kind) else name
        if is_fixed(kind):
            return f"{{{{{', '.join(map(self.number, map(float, value)))}}}}}"
        return self.number(float(value) if kind == FLOAT else int(value))

    def number(self, x: float | int) -> str:
        return x.hex() if isinstance(x, float) else str(int(x))

    def show(self, text: str, value: Any, kind: Kind) -> None:
        """Print a value."""
        if is_record(kind):
            for name, own in fields(kind).items():
                self.show(f"({text})->{name}", getattr(value, name), own)
        elif isinstance(kind, ArrayKind):
            at, items = (f"{text}.at", value.ravel()) if is_matrix(kind) else (text, value)
            for k, one in enumerate(items):
                self.show(f"{at}[{k}]", one, kind.element)
        elif is_fixed(kind):
            for k in range(kind.size):
                self.show(f"{text}.at[{k}]", 0.0, FLOAT)
        elif isinstance(kind, tuple):
            for k, own in enumerate(kind):
                self.show(f"{text}.value_{k}", None, own)
        elif kind == FLOAT:
            self.lines.append(f'printf("%.17g\\n", {text});')
        else:
            self.lines.append(f'printf("%lld\\n", (long long){text});')


def in_c(routine: Routine, *arguments: Any, folder: Path) -> list[str]:
    """Compile C and run it."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler (cc)")
    main, kinds, names = _CMain(), list(routine.parameters.values()), []
    for value, kind in zip(arguments, kinds, strict=True):
        text = main.make(value, kind)
        if is_matrix(kind) or is_fixed(kind):
            name = main.new()
            main.lines.append(f"{c_type(kind, name)} = {text};")
            text = name
        names.append(text)
    call = f"run({', '.join(names)})"
    if routine.returns == VOID:
        main.lines.append(f"{call};")
    else:
        several = isinstance(routine.returns, tuple)
        kind = "run_results result" if several else c_type(routine.returns, "result")
        main.lines.append(f"{kind} = {call};")
        main.show("result", None, routine.returns)
    for text, value, kind in zip(names, arguments, kinds, strict=True):
        main.show(text, value, kind)
    head = "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    body = "\n    ".join(main.lines)
    text = write_text_routine(routine, c.C_DIALECT, "run")
    page = f"{head}{C_HELPERS}{c_types(routine)}{text}int main(void)\n{{\n    {body}\n    return 0;\n}}\n"
    (folder / "run.c").write_text(page)
    subprocess.run(["cc", *STRICT, "run.c", "-o", "run", "-lm"], cwd=folder, check=True)
    out = subprocess.run(["./run"], cwd=folder, check=True, capture_output=True, text=True)
    return _read(out.stdout.split(), routine, arguments)


def _read(printed: list[str], routine: Routine, arguments: Any) -> list[str]:
    """Return printed numbers as texts that are equal if all bits are."""
    expected = in_python(routine, *arguments)
    assert len(printed) == len(expected)
    return [
        float(x).hex() if "x" in own or own in ("inf", "-inf", "nan") else str(int(x))
        for x, own in zip(printed, expected, strict=True)
    ]


# --- JavaScript


def _js(value: Any, kind: Kind) -> str:
    """Return a value as JavaScript."""
    if is_record(kind):
        parts = (f"{n}: {_js(getattr(value, n), own)}" for n, own in fields(kind).items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(kind, ArrayKind) and is_record(kind.element):
        return f"[{', '.join(_js(one, kind.element) for one in value)}]"
    if isinstance(kind, ArrayKind):
        type_ = "Uint8Array" if value.dtype == np.bool_ else "Float64Array"
        entries = f"{type_}.of({', '.join(repr(x + 0) for x in value.ravel().tolist())})"
        return f"{{at: {entries}, stride: {value.shape[1]}}}" if is_matrix(kind) else entries
    if is_fixed(kind):
        return f"[{', '.join(repr(float(x)) for x in value)}]"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, IntEnum) else repr(value)


def _js_leaves(text: str, kind: Kind) -> str:
    """Return an expression for a list of all numbers in a value."""
    if kind == VOID:
        return "[]"
    if is_record(kind):
        parts = (f"...{_js_leaves(f'{text}.{n}', own)}" for n, own in fields(kind).items())
        return f"[{', '.join(parts)}]"
    if isinstance(kind, ArrayKind) and is_record(kind.element):
        return f"[].concat(...{text}.map((one) => {_js_leaves('one', kind.element)}))"
    if is_matrix(kind):
        return f"Array.from({text}.at)"
    if isinstance(kind, ArrayKind) or is_fixed(kind):
        return f"Array.from({text})"
    if isinstance(kind, tuple):
        parts = (f"...{_js_leaves(f'{text}[{k}]', own)}" for k, own in enumerate(kind))
        return f"[{', '.join(parts)}]"
    return f"[{text}]"


def in_javascript(routine: Routine, *arguments: Any, folder: Path) -> list[str]:
    """Run JavaScript."""
    if shutil.which("node") is None:
        pytest.skip("no JavaScript engine (node)")
    kinds = list(routine.parameters.values())
    lines = [
        f"const x{k} = {_js(*one)};" for k, one in enumerate(zip(arguments, kinds, strict=True))
    ]
    lines.append(f"const result = run({', '.join(f'x{k}' for k in range(len(kinds)))});")
    shown = [_js_leaves("result", routine.returns)]
    shown += [_js_leaves(f"x{k}", kind) for k, kind in enumerate(kinds)]
    exact = (
        "(x) => (typeof x === 'boolean' ? String(Number(x)) : Object.is(x, -0) ? '-0' : String(x))"
    )
    lines.append(
        f"console.log(JSON.stringify([{', '.join(f'...{x}' for x in shown)}].map({exact})));"
    )
    page = (
        JS_HELPERS + js_types(routine) + write_text_routine(routine, javascript.JS_DIALECT, "run")
    )
    (folder / "run.js").write_text('"use strict";\n' + page + "\n".join(lines) + "\n")
    out = subprocess.run(["node", "run.js"], cwd=folder, check=True, capture_output=True, text=True)
    printed = [{"Infinity": "inf", "NaN": "nan"}.get(x, x) for x in json.loads(out.stdout)]
    return _read(printed, routine, arguments)


def assert_same_everywhere(routine: Routine, *arguments: Any, folder: Path) -> list[str]:
    """Check that all executions of a routine agree bit for bit; return its results."""
    expected = in_python(routine, *arguments)
    for width in (1, 4):
        assert in_machine_code(routine, *arguments, width=width) == expected
    assert interpreted(routine, *arguments) == expected
    assert in_c(routine, *arguments, folder=folder) == expected
    assert in_javascript(routine, *arguments, folder=folder) == expected
    return expected
