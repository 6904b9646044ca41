"""Whole simulators as source code: programs and routines of one mode, in C99 or as an ES module.

The text is made from the same programs and routines as the machine code, so that it walks through
the same steps. All starts from y = (q, p, r, u, z), the pose being that of the inner base frame;
`observe` tells everything in the user's terms.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.listing import free_word
from draisine.codegen.program import Program, flatten
from draisine.codegen.routine import ADDRESS, DOUBLES, fields
from draisine.codegen.targets import c, javascript
from draisine.codegen.targets._text_routine import C_HELPERS, JS_HELPERS, c_record, write
from draisine.errors import UnknownNameError, did_you_mean
from draisine.mechanics.readings import law_states
from draisine.registry import find
from draisine.simulation.integrators import EqualSteps, Problem
from draisine.simulation.integrators._drivers import Workspace
from draisine.simulation.smooth import anchors
from draisine.system.layout import inputs_of
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law

PROGRAMS = ("rate", "project", "observe")

END, STEP = 5.0, 0.005
"""How long the example runs, and by which steps."""


@dataclass(frozen=True, eq=False)
class Simulator:
    """What a simulator in source code is made from: its name, names of its numbers, programs with
    flat arrays, the method, numbers to begin with, and the workspace whose arrays it needs.
    """

    name: str
    names: dict[str, list[str]]
    programs: dict[str, Program]
    observed: dict[str, int]
    method: EqualSteps
    parameters: Floats
    start: Floats
    inputs: Floats
    workspace: Workspace

    @property
    def sizes(self) -> dict[str, int]:
        """The arrays that a machine owns, and their sizes."""
        tables = {f"{name}_table": len(self.programs[name].table) for name in PROGRAMS}
        own = ("x", "y", "k", "settled", "headings", "gap", "wrong")
        return tables | {name: getattr(self.workspace, name).size for name in own}

    @property
    def constants(self) -> dict[str, Floats]:
        """The numbers that are the same for all machines."""
        return {name: getattr(self.workspace, name) for name in ("floors", "method")}


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
    """Return the files of a simulator of one mode, by name; `language` is "c" or "javascript", the
    integrator a Runge-Kutta method of equal steps.

    >>> import draisine
    >>> disc = draisine.compile("rolling_disc")
    >>> list(write_simulator(disc, "c", draisine.state(disc, forward_speed=2.0)))
    ['rolling_disc.h', 'rolling_disc.c', 'main.c']
    """
    if language not in LANGUAGES:
        raise UnknownNameError(f"no simulator in {language!r}. {did_you_mean(language, LANGUAGES)}")
    machine = system.machine(mode, law, law_states(law))
    z = np.asarray(getattr(law, "start", np.zeros(machine.states)), float)
    y, method = machine.enter(start, z=z), find("integrator", integrator).equal
    tail = np.concatenate([system.inputs(inputs), anchors(machine, start, 0.0)])
    rate = machine.rate
    problem = Problem(
        rate.address, rate.table, rate.outputs.size, tail, machine.floors, machine.project,
        pose=machine.layout.r.stop,
    )  # fmt: skip
    name = free_word(system.vehicle.__name__, ["main"])
    programs = {
        p: replace(flatten(machine.programs[p]), name=f"{name}_{p}") for p in (*PROGRAMS, "frame")
    }
    outputs = machine.programs["observe"].outputs
    simulator = Simulator(
        name,
        {
            "parameters": list(system.parameters),
            "inputs": list(system.model.inputs),
            "joints": [joint.name for joint in system.model.joints],
            "speeds": machine.choice.names,
            "outputs": system.outputs,
        },
        programs,
        {key: len(entries) for key, entries in outputs.items()},
        method,
        system.values,
        y,
        tail,
        problem.workspace(len(y), method.stages, method.coefficients).record,
    )
    return LANGUAGES[language](simulator)


def _c_files(s: Simulator) -> dict[str, str]:
    return {f"{s.name}.h": _c_header(s), f"{s.name}.c": _c_body(s), "main.c": _c_main(s)}


def _c_header(s: Simulator) -> str:
    n = s.name
    arrays = [f"    double {key}[{max(1, size)}];" for key, size in s.sizes.items()]
    places, at = [], 0
    for key, size in s.observed.items():
        places.append(f"    {n}_at_{key} = {at}, {n}_size_{key} = {size},")
        at += size
    return f"""\
/* {n}: one mode of the machine, written by draisine. A machine needs no memory but its own. */
#ifndef {n}_h
#define {n}_h

#include <stdint.h>

enum {{
    {n}_states = {len(s.start)}, {n}_inputs = {len(s.inputs)},
    {n}_parameters = {len(s.parameters)}, {n}_observed = {at}
}};

/* How a run ended. */
enum {{ {n}_done, {n}_not_finite, {n}_degenerate, {n}_too_small, {n}_fell_flat }};

/* Where {n}_observe writes what. */
enum {{
{chr(10).join(places)[:-1]}
}};

typedef struct {{
{chr(10).join(arrays)}
}} {n};

/* Parameters, state and inputs to begin with. */
extern const double {n}_nominal[{max(1, len(s.parameters))}];
extern const double {n}_start[{max(1, len(s.start))}];
extern const double {n}_given[{max(1, len(s.inputs))}];

/* Put a machine into a state. */
void {n}_begin({n} *m, const double *parameters, const double *y, const double *inputs);

/* Take one step of length h from time t; m->x + 1 is the state behind it. Return how it ended. */
int {n}_step({n} *m, double t, double h);

/* Take equal steps from a time to another and write the state of each, the first one included:
   (steps + 1) * {n}_states numbers. Return how it ended; *done is the number of steps. */
int {n}_simulate({n} *m, double t0, double t1, int64_t steps, double *samples, int64_t *done);

/* Write what can be seen of the present state. */
void {n}_observe({n} *m, double t, double *out);

#endif
"""


def _c_body(s: Simulator) -> str:
    n = s.name
    numbers = {"nominal": s.parameters, "start": s.start, "given": s.inputs}
    tables = [_c_array(f"const double {n}_{key}", x) for key, x in numbers.items()]
    tables += [_c_array(f"static double {n}_{key}", x) for key, x in s.constants.items()]
    programs = [_c_program(s.programs[p], p != "observe") for p in PROGRAMS]
    march = write(s.method.march, c.DIALECT, f"{n}_march")
    prologues = [f"    {n}_{p}_prologue(parameters, m->{p}_table);" for p in PROGRAMS]
    return f"""\
#include <math.h>
#include <stdint.h>

#include "{n}.h"

typedef void Program(double *x, double *table, double *out, int64_t count);

{chr(10).join(tables)}
{C_HELPERS}
{chr(10).join(programs)}
{c_record(Workspace)}
{march}
static Workspace {n}_workspace({n} *m, int64_t keep)
{{
    Workspace p = {{
{_c_fields(s)}
    }};
    return p;
}}

void {n}_begin({n} *m, const double *parameters, const double *y, const double *inputs)
{{
{chr(10).join(prologues)}
    for (int k = 0; k < {n}_states; ++k) {{
        m->x[1 + k] = y[k];
    }}
    for (int k = 0; k < {n}_inputs; ++k) {{
        m->x[1 + {n}_states + k] = inputs[k];
    }}
    for (int k = 0; k < {s.workspace.headings.size}; ++k) {{
        m->headings[k] = NAN;
    }}
    m->wrong[0] = 0.0;
}}

int {n}_step({n} *m, double t, double h)
{{
    const Workspace p = {n}_workspace(m, 0);
    {n}_march(&p, t, h, t + h, 0, 1, m->x);
    return (int)m->wrong[0];
}}

int {n}_simulate({n} *m, double t0, double t1, int64_t steps, double *samples, int64_t *done)
{{
    const Workspace p = {n}_workspace(m, 1);
    for (int k = 0; k < {n}_states; ++k) {{
        samples[k] = m->x[1 + k];
    }}
    *done = {n}_march(&p, t0, (t1 - t0) / (double)steps, t1, 0, steps, samples);
    return (int)m->wrong[0];
}}

void {n}_observe({n} *m, double t, double *out)
{{
    m->x[0] = t;
    {n}_observe_flat(m->x, m->observe_table, out);
}}
"""


def _c_array(head: str, numbers: Floats) -> str:
    entries = [c.number(float(x)) for x in numbers] or ["0.0"]
    lines = [", ".join(entries[k : k + 4]) for k in range(0, len(entries), 4)]
    inner = ",\n".join(f"    {line}" for line in lines)
    return f"{head}[{len(entries)}] = {{\n{inner}\n}};\n"


def _c_program(program: Program, called: bool) -> str:
    """Return a program as static functions, and one by which it is called by address."""
    name = program.name
    if not called:
        return c.emit(replace(program, name=f"{name}_flat"), linkage="static").replace(
            f"{name}_flat_prologue", f"{name}_prologue"
        )
    text = c.emit(program, linkage="static")
    return f"""{text}
static void {name}_at(double *x, double *table, double *out, int64_t count)
{{
    (void)count;
    {name}(x, table, out);
}}
"""


def _fields(s: Simulator, own: str, constant: str, call: str) -> list[tuple[str, str]]:
    """Return the fields of the workspace, as they are filled in."""
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


def _c_fields(s: Simulator) -> str:
    return "\n".join(f"        {text}," for _, text in _fields(s, "m->", f"{s.name}_", "_at"))


def _c_main(s: Simulator) -> str:
    n, steps = s.name, round(END / STEP)
    return f"""\
/* {END:g} s of motion in steps of {STEP:g} s: time and state as comma-separated values. */
#include <stdio.h>

#include "{n}.h"

static {n} machine;
static double samples[{steps + 1} * {n}_states];

int main(void)
{{
    int64_t done;
    {n}_begin(&machine, {n}_nominal, {n}_start, {n}_given);
    const int status = {n}_simulate(&machine, 0.0, {END}, {steps}, samples, &done);
    for (int64_t i = 0; i <= done; ++i) {{
        printf("%.17g", {STEP} * (double)i);
        for (int k = 0; k < {n}_states; ++k) {{
            printf(",%.17g", samples[i * {n}_states + k]);
        }}
        printf("\\n");
    }}
    return status;
}}
"""


def _js_files(s: Simulator) -> dict[str, str]:
    n = s.name
    numbers = {"nominal": s.parameters, "start": s.start, "given": s.inputs} | s.constants
    arrays = [f"export const {key} = {_js_array(x)};" for key, x in numbers.items()]
    names, at = [], 0
    for key, size in s.observed.items():
        names.append(f"  {key}: [{at}, {at + size}],")
        at += size
    memory = [f"    {key}: new Float64Array({size})," for key, size in s.sizes.items()]
    march = write(s.method.march, javascript.DIALECT, "march")
    prologues = [f"  {n}_{p}.prologue(parameters, own.{p}_table);" for p in PROGRAMS]
    filled = [f"    {f}: {t}," for f, t in _fields(s, "own.", "", ".call")]
    frame = s.programs["frame"]
    text = f"""\
// {n}: one mode of the machine, written by draisine.
//   const machine = create(); step(machine, t, h); observe(machine, t); simulate(machine, t0, t1, steps)
// The state is y = (q, p, r, u, z) with the pose of the inner base frame; observe tells the rest, and
// initial(parameters, {{ lean: 0.1, forward_speed: 5 }}) gives a state to begin with.

// What the numbers are called; speeds are those of u.
export const names = {json.dumps(s.names)};
{chr(10).join(arrays)}

// Where observe finds what.
export const observed = {{
{chr(10).join(names)}
}};

{JS_HELPERS}
{chr(10).join(_js_program(p) for p in s.programs.values())}
{march}
// A machine with parameters, in a state, under inputs.
export function create(parameters = nominal, y = start, inputs = given) {{
  const own = {{
{chr(10).join(memory)}
  }};
{chr(10).join(prologues)}
  own.x.set(y, 1);
  own.x.set(inputs, 1 + y.length);
  own.headings.fill(NaN);
  const workspace = (keep) => ({{
{chr(10).join(filled)}
  }});
  return {{ own, state: own.x.subarray(1, 1 + y.length), once: workspace(0), all: workspace(1) }};
}}

// Quaternion and origin of the inner base frame in the drawing.
export function frame(parameters = nominal) {{
  const table = new Float64Array({max(1, len(frame.table))}), out = new Float64Array(12);
  {n}_frame.prologue(parameters, table);
  {n}_frame.call(new Float64Array({max(1, inputs_of(frame).size)}), table, out);
  return {{ turn: quaternionOf(out), origin: out.subarray(9) }};
}}

// What can be seen of the present state, by name.
export function observe(machine, t) {{
  const out = new Float64Array({at});
  machine.own.x[0] = t;
  {n}_observe.call(machine.own.x, machine.own.observe_table, out);
  return Object.fromEntries(
    Object.entries(observed).map(([name, [from, to]]) => [name, out.subarray(from, to)]),
  );
}}

{files("draisine.simulation").joinpath("simulator.js").read_text(encoding="utf-8")}"""
    return {f"{n}.js": text}


def _js_array(numbers: Floats) -> str:
    return f"Float64Array.of({', '.join(javascript.number(float(x)) for x in numbers)})"


def _js_program(program: Program) -> str:
    """Return a program and its prologue in a scope of their own."""
    text = javascript.emit(program).replace("export ", "")
    body = "\n".join(f"  {line}" if line else "" for line in text.splitlines())
    name = program.name
    give = f"return {{ call: {name}, prologue: {name}Prologue }};"
    return f"const {name} = (() => {{\n{body}\n  {give}\n}})();\n"


LANGUAGES: dict[str, Any] = {"c": _c_files, "javascript": _js_files}
"""The languages of simulators."""
