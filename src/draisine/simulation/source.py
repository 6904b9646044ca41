"""Source code of complete simulators with ideal contacts, in C99 or as an ES module (JavaScript).

The source code is generated from the same programs and routines as the machine code, and computes the same
integration steps. The state is y = (q, p, r, u, z): quaternion and position of the internal base frame,
joint coordinates, independent speeds, and states of force elements and control law. The program `observe`
computes all outputs in the user's coordinates.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from string import Template
from textwrap import wrap
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.listing import make_identifier
from draisine.codegen.program import Program, flatten_arrays
from draisine.codegen.routine import ADDRESS, DOUBLES, fields
from draisine.codegen.targets import c, javascript
from draisine.codegen.targets._dialects import C_HELPERS, JS_HELPERS, c_types, js_types
from draisine.codegen.targets._text_routine import write_text_routine
from draisine.errors import UnknownNameError, expect_known
from draisine.mechanics.readings import law_states
from draisine.registry import find
from draisine.simulation.bilateral.run import find_pin_anchors
from draisine.simulation.integrators import EqualSteps, Problem
from draisine.simulation.integrators._drivers import Workspace
from draisine.simulation.options import memory_start
from draisine.system.closed_form import ClosedForm
from draisine.system.layout import Layout, input_layout, output_layout
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law

EXPORTED_PROGRAMS = ("rate", "project", "observe")
"""Names of the compiled programs of a contact mode that an exported simulator contains."""

RESERVED_NAMES = ("unit", "fmi", "fmi2", "fmi3", "simulink", "Machine")
"""Reserved names: exports contain other files and classes with these names."""


class _Template(Template):
    """A template of a source file: text for the exported system replaces each @{name}."""

    delimiter = "@"


@dataclass(frozen=True, eq=False)
class Simulator:
    """Programs, integrator and default values of a simulator in source code."""

    name: str
    names: dict[str, list[str]]  # names of parameters, inputs, joints, speeds, states and outputs
    programs: dict[str, Program]  # programs with flat arrays, by name
    observed: Layout  # layout of the outputs of `observe`
    method: EqualSteps  # integration method with equal steps
    parameters: Floats  # default values of the parameters
    start: Floats  # initial state y
    inputs: Floats  # initial inputs (N m or N), then anchor points of pins (m)
    workspace: Workspace  # workspace of the integrator; the simulator has the same arrays

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each array that a simulator instance owns, by name."""
        tables = {f"{name}_table": len(self.programs[name].table) for name in EXPORTED_PROGRAMS}
        arrays = ("x", "y", "k", "settled", "headings", "gap", "wrong", "ended")
        return tables | {name: getattr(self.workspace, name).size for name in arrays}

    @property
    def constants(self) -> dict[str, Floats]:
        """The constant arrays that all simulator instances share, by name."""
        return {name: getattr(self.workspace, name) for name in ("floors", "method", "watch")}


def write_simulator(
    system: System,
    language: str,
    start: State,
    *,
    mode: Mapping[str, str] | None = None,
    law: Law | None = None,
    inputs: Mapping[str, float] | None = None,
    integrator: str = "rk4",
) -> dict[str, str]:
    """Return the source files of a simulator for one contact mode, as texts by file name.

    `language` is "c" or "javascript", `integrator` a Runge-Kutta method with equal steps. `start` is the
    initial state, `inputs` are constant inputs by name (N m or N).

    >>> import draisine
    >>> disc = draisine.compile("rolling_disc")
    >>> list(write_simulator(disc, "c", draisine.state(disc, forward_speed=2.0)))
    ['rolling_disc.h', 'rolling_disc.c', 'main.c']
    """
    expect_known("no simulator in", language, LANGUAGES, UnknownNameError)
    machine = system.machine(mode, law, law_states(law))
    z = memory_start(system, start, law, machine.states)
    tail = np.concatenate([system.inputs(inputs), find_pin_anchors(machine, start, 0.0)])
    method = find("integrator", integrator).equal
    return LANGUAGES[language](_simulator(machine, machine.enter(start, z=z), tail, method))


def _simulator(machine: ClosedForm, y: Floats, tail: Floats, method: EqualSteps) -> Simulator:
    """Return the simulator of a compiled model with initial state y and a method with equal steps.

    `tail` contains the program inputs after y: inputs of the system (N m or N), and anchor points of pins
    (m).
    """
    system = machine.system
    rate = machine.rate
    problem = Problem(
        rate.address, rate.table, rate.outputs.size, tail, machine.floors, machine.project,
        pose=machine.layout.r.stop,
    )  # fmt: skip
    name = make_identifier(
        system.vehicle.__name__, [*c.C_RESERVED, *javascript.JS_RESERVED, *RESERVED_NAMES]
    )
    names = {
        "parameters": list(system.parameters),
        "inputs": list(system.model.inputs),
        "joints": [joint.name for joint in system.model.joints],
        "speeds": machine.choice.names,
        "states": _state_names(machine),
        "outputs": system.outputs,
    }
    observe = machine.exported_observe()
    programs = {
        p: replace(
            flatten_arrays(observe if p == "observe" else machine.programs[p]), name=f"{name}_{p}"
        )
        for p in (*EXPORTED_PROGRAMS, "frame")
    }
    workspace = problem.workspace(len(y), method.stages, method.coefficients).record
    return Simulator(
        name, names, programs, output_layout(observe), method, system.values, y,
        tail, workspace,
    )  # fmt: skip


def _state_names(machine: ClosedForm) -> list[str]:
    """Return the names of the entries of y.

    These are quaternion and position of the internal base frame, joints, independent speeds, and states of
    force elements and control laws. The prefix `inner_` marks the internal frame, which differs from the
    user's base frame.
    """
    layout = machine.layout
    turn = "wxyz" if layout.count("q") == 4 else range(layout.count("q"))
    base = [f"inner_q_{x}" for x in turn] + [f"inner_p_{x}" for x in "xyz"[: layout.count("p")]]
    joints = [joint.name for joint in machine.system.model.joints]
    return [*base, *joints, *machine.choice.names, *(f"z_{k}" for k in range(layout.count("z")))]


def fill_template(template: str, **parts: object) -> str:
    """Return the text of a template file; the text of each part replaces its name, a list becomes lines."""
    text = files("draisine.simulation").joinpath("templates", template).read_text(encoding="utf-8")
    lines = {key: "\n".join(x) if isinstance(x, list) else x for key, x in parts.items()}
    return _Template(text).substitute(lines)


def _c_files(s: Simulator) -> dict[str, str]:
    """Return header, body and example main program of a simulator in C, by file name."""
    columns = ["time", "x", "y", "z", *s.names["outputs"], *s.names["states"]]
    main = fill_template("main.c", n=s.name, columns=json.dumps(",".join(columns)))
    return {f"{s.name}.h": _c_header(s), f"{s.name}.c": _c_body(s), "main.c": main}


def _c_header(s: Simulator) -> str:
    """Return the text of the C header of a simulator: sizes, indices of outputs, and functions."""
    n = s.name
    places = [
        f"    {n}_at_{key} = {at.start}, {n}_size_{key} = {s.observed.count(key)}"
        for key, at in s.observed.items()
    ]
    return fill_template(
        "machine.h",
        n=n,
        states=len(s.start),
        names=c_list(s.names["states"]),
        outputs=c_list(s.names["outputs"]),
        inputs=len(s.inputs),
        parameters=len(s.parameters),
        nominal=max(1, len(s.parameters)),
        given=max(1, len(s.inputs)),
        observed=s.observed.size,
        places=",\n".join(places),
        arrays=[f"    double {key}[{max(1, size)}];" for key, size in s.sizes.items()],
    )


def c_list(names: list[str]) -> list[str]:
    """Return the last lines of a C comment, which list names."""
    text = f"{', '.join(names) or 'none'}. */"
    return wrap(text, 100, initial_indent="   ", subsequent_indent="   ")


def _c_body(s: Simulator) -> str:
    """Return the text of the C file of a simulator: tables, programs and integrator."""
    n = s.name
    numbers = {"nominal": s.parameters, "start": s.start, "given": s.inputs}
    tables = [c_array(f"const double {n}_{key}", x) for key, x in numbers.items()]
    tables += [c_array(f"static double {n}_{key}", x) for key, x in s.constants.items()]
    return fill_template(
        "machine.c",
        n=n,
        tables=tables,
        helpers=C_HELPERS,
        programs=[c_program(s.programs[p], p != "observe") for p in EXPORTED_PROGRAMS],
        record=c_types(s.method.take_steps),
        take_steps=write_text_routine(s.method.take_steps, c.C_DIALECT, f"{n}_take_steps"),
        fields=[f"        {text}," for _, text in _fields(s, "m->", f"{n}_", "_at")],
        prologues=[f"    {n}_{p}_prologue(parameters, m->{p}_table);" for p in EXPORTED_PROGRAMS],
        headings=s.workspace.headings.size,
    )


def c_array(head: str, numbers: Iterable[float]) -> str:
    """Return the C definition of an array of doubles; `head` is the declaration without the size.

    C has no empty arrays: without numbers the array has the entry 0.0.
    """
    entries = [c.c_number(float(x)) for x in numbers] or ["0.0"]
    lines = [", ".join(entries[k : k + 4]) for k in range(0, len(entries), 4)]
    inner = ",\n".join(f"    {line}" for line in lines)
    return f"{head}[{len(entries)}] = {{\n{inner}\n}};\n"


def c_program(program: Program, called: bool = True, has_prologue: bool = True) -> str:
    """Return the C source of a program as static functions.

    If `called`, also return a function with the suffix `_at`, by which routines call the program through an
    address.
    """
    name = program.name
    if not called:
        return c.emit(replace(program, name=f"{name}_flat"), linkage="static").replace(
            f"{name}_flat_prologue", f"{name}_prologue"
        )
    text = c.emit(program, linkage="static", has_prologue=has_prologue)
    return f"""{text}
static void {name}_at(double *x, double *table, double *out, int64_t count)
{{
    (void)count;
    {name}(x, table, out);
}}
"""


def _fields(s: Simulator, own: str, constant: str, call: str) -> list[tuple[str, str]]:
    """Return pairs (field of the workspace, source text of the initial value).

    `own` and `constant` are prefixes of arrays of the instance and of constant arrays; `call` is the suffix
    of programs.
    """
    out = []
    for field, kind in fields(Workspace).items():
        if kind == ADDRESS:
            text = f"{s.name}_{field}{call}"
        elif kind == DOUBLES:
            text = f"{constant}{field}" if field in s.constants else f"{own}{field}"
        else:
            text = "keep" if field == "keep" else str(getattr(s.workspace, field))
        out.append((field, text))
    return out


def _js_files(s: Simulator) -> dict[str, str]:
    """Return the ES module of a simulator, by file name."""
    n = s.name
    frame = s.programs["frame"]
    numbers = {"nominal": s.parameters, "start": s.start, "given": s.inputs} | s.constants
    text = fill_template(
        "machine.js",
        n=n,
        names=json.dumps(s.names),
        arrays=[f"export const {key} = {js_array(x)};" for key, x in numbers.items()],
        observed=[f"  {key}: [{at.start}, {at.stop}]," for key, at in s.observed.items()],
        size=s.observed.size,
        helpers=JS_HELPERS + js_types(s.method.take_steps),
        programs=[js_program(program) for program in s.programs.values()],
        take_steps=write_text_routine(s.method.take_steps, javascript.JS_DIALECT, "takeSteps"),
        memory=[f"    {key}: new Float64Array({size})," for key, size in s.sizes.items()],
        prologues=[f"  {n}_{p}.prologue(parameters, own.{p}_table);" for p in EXPORTED_PROGRAMS],
        fields=[f"    {f}: {t}," for f, t in _fields(s, "own.", "", ".call")],
        frame_table=max(1, len(frame.table)),
        frame_inputs=max(1, input_layout(frame).size),
    )
    return {f"{n}.js": text + fill_template("simulator.js")}


def js_array(numbers: Floats) -> str:
    """Return the JavaScript expression of an array of numbers."""
    return f"Float64Array.of({', '.join(javascript.js_number(float(x)) for x in numbers)})"


def js_program(program: Program, has_prologue: bool = True) -> str:
    """Return the JavaScript source of a program with its prologue, as an object with a separate scope."""
    text = javascript.emit(program, has_prologue=has_prologue).replace("export ", "")
    body = "\n".join(f"  {line}" if line else "" for line in text.splitlines())
    name = program.name
    prologue = f", prologue: {name}Prologue" if has_prologue else ""
    give = f"return {{ call: {name}{prologue} }};"
    return f"const {name} = (() => {{\n{body}\n  {give}\n}})();\n"


LANGUAGES: dict[str, Any] = {"c": _c_files, "javascript": _js_files}
"""Functions that write the files of a simulator, by language."""
