"""Source code of simulators of a system on a terrain: all contact routines, in C99 or as a JavaScript module.

The text is made from the same routines and programs as the machine code of a run: arcs, guards, impacts,
friction, time steps, and the search of ground features. The records of a prepared run become data
(`codegen.targets._memory`). Parameters, ground and options are those of the export; state and inputs may be
changed.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from draisine.algebra.scalar import Floats
from draisine.codegen.listing import make_identifier
from draisine.codegen.program import Program, flatten_arrays
from draisine.codegen.targets import c, javascript
from draisine.codegen.targets._dialects import C_HELPERS, JS_HELPERS, c_types, js_types
from draisine.codegen.targets._memory import Memory, write_c_memory, write_js_memory
from draisine.codegen.targets._text_routine import write_text_routines
from draisine.errors import UnknownNameError, expect_known
from draisine.simulation.contact.event_driven.arc_integration import RunStatus
from draisine.simulation.contact.event_driven.run_loop import EVENT_KIND_NAMES
from draisine.simulation.contact.nearby.search import GroundTable
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.standalone.records import Standalone, make_standalone
from draisine.simulation.contact.standalone.run import (
    STEP_STATUSES,
    advance_run,
    begin_run,
    change_inputs,
    is_touching,
    observe_state,
)
from draisine.simulation.contact.stepping.step import StepResult
from draisine.simulation.options import CONTACT, NUMERICS, ContactOptions, Numerics, Task
from draisine.simulation.source import (
    RESERVED_NAMES,
    c_array,
    c_list,
    c_program,
    fill_template,
    js_array,
    js_program,
)
from draisine.system.compiled import Compiled
from draisine.system.layout import Layout
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain

ENTRIES = {
    begin_run: "beginRun",
    advance_run: "advanceRun",
    change_inputs: "changeInputs",
    observe_state: "observeState",
    is_touching: "isTouching",
}
"""Routines that an exported simulator calls, with their names in JavaScript."""

KIND_NAMES = (*EVENT_KIND_NAMES, "time-stepping", "event-location")
"""Names of the kinds of events, indexed by the values of `EventCause` and then `MethodChange`."""

PROGRAM_FIELDS = frozenset({"row_programs", "gap_programs", "modes"})
"""Names of the fields of `ContactColumns` and `ContactMode` that contain addresses of programs."""

END_REASONS: dict[int, str] = {
    RunStatus.SINGULAR: "the contacts contradict each other",
    RunStatus.STEP_TOO_SMALL: "no step is small enough",
    RunStatus.ARC_END: "the time is reached",
    RunStatus.OUTSIDE_SEARCH: "more contacts are near the wheels than there is memory for",
    RunStatus.PENETRATION: "a wheel came over a point of the ground that its shape cannot touch",
    RunStatus.PULL: "the force of a sliding contact grows without bound (Painleve paradox)",
    RunStatus.IMPACT: "no impulses satisfy the impact model",
    RunStatus.TOO_MANY_CONTACTS: "more contacts touch at once than there is memory for",
    RunStatus.CONTRADICTION: "the contacts contradict each other",
    RunStatus.NO_CONTACT_SET: "no contact set is admissible",
    RunStatus.NO_FRICTION_FORCES: "no forces satisfy the law of friction",
    RunStatus.SHARP_FEATURE: "a disc cannot touch this edge or vertex: give the wheel a crown",
    RunStatus.NO_PROGRESS: "events follow each other without end",
    RunStatus.FALL: "the machine has fallen",
}
"""Reason why a run ended in event location, as a text for users of an exported simulator, by status."""

STEP_END_REASONS: dict[int, str] = {
    StepResult.LEFT_SURROUNDINGS: END_REASONS[RunStatus.OUTSIDE_SEARCH],
    StepResult.TOO_MANY_CONTACTS: END_REASONS[RunStatus.TOO_MANY_CONTACTS],
    StepResult.NOT_FINITE: "a value is not finite: smaller time steps may help",
    StepResult.SINGULAR_MASS: "the mass matrix is singular",
    StepResult.INFEASIBLE: "a prescribed motion pushes a contact into the ground",
    StepResult.TOO_FAST: "a wheel moves further than its size in the shortest time step",
    StepResult.OVER_CONSTRAINED: "ideal contacts over-constrain the machine: set a finite friction",
}
"""Reason why a run ended in time stepping, by result."""


@dataclass(frozen=True, eq=False)
class TerrainSimulator:
    """The parts of an exported simulator on a terrain, before they are written in a language."""

    name: str
    names: dict[str, list[str]]
    programs: list[Program]  # compiled programs with flat arrays as arguments
    observed: Layout
    memory: Memory
    start: Floats
    inputs: Floats
    numbers: dict[str, float]  # start time, end time and sample interval (s), by name


def write_terrain_simulator(
    system: System,
    language: str,
    start: State,
    until: float,
    *,
    terrain: Terrain,
    law: Law | None = None,
    inputs: Mapping[str, float] | None = None,
    contact: ContactOptions = CONTACT,
    numerics: Numerics = NUMERICS,
) -> dict[str, str]:
    """Return the files of a simulator of a run on a terrain, by name.

    The arguments are those of `draisine.simulate`. The run is simulated once, and the closed-form solutions
    of its contact modes are included; other contact modes are solved as dense linear systems.

    Parameters
    ----------
    system
        The system.
    language
        "c" or "javascript".
    start
        State of the system at the start.
    until
        Time of the end (s), for the main program.
    terrain
        The ground.
    law, inputs
        Control law, and constant inputs by name.
    contact
        Options of contacts: friction, impact model, solver.
    numerics
        Tolerances and spacing of the samples.

    Returns
    -------
    dict
        Text of each file by name.

    Raises
    ------
    ParameterError
        If a part of the run needs Python, such as an impact model that is written in it.

    Examples
    --------
    >>> import draisine
    >>> from draisine.terrain import kerb
    >>> ball = draisine.compile("ball")
    >>> start = draisine.state(ball, x_speed=2.0)
    >>> list(write_terrain_simulator(ball, "c", start, 1.0, terrain=kerb(0.5, 0.01)))
    ['ball.h', 'ball.c', 'main.c']
    """
    expect_known("no simulator in", language, TERRAIN_LANGUAGES, UnknownNameError)
    task = Task(system, start, until, terrain, law, inputs, contact, numerics, None)
    files: dict[str, str] = TERRAIN_LANGUAGES[language](
        _make_simulator(make_standalone(task), task)
    )
    return files


def _make_simulator(standalone: Standalone, task: Task) -> TerrainSimulator:
    query = standalone.query
    machine = query.machine
    system = machine.system
    reserved = [*c.C_RESERVED, *javascript.JS_RESERVED, *RESERVED_NAMES]
    name = make_identifier(system.vehicle.__name__, reserved)
    compiled = exported_programs(query) | standalone.closed_forms
    programs = [
        replace(flatten_arrays(each.program), name=f"{name}_program_{_word(word)}")
        for word, each in compiled.items()
    ]
    numbers = {each.address: k for k, each in enumerate(compiled.values())}
    memory = Memory(numbers, PROGRAM_FIELDS, shared=(GroundTable,))
    memory.add(standalone.run)
    memory.place()
    return TerrainSimulator(
        name=name,
        names=exported_names(query),
        programs=programs,
        observed=machine.observe.outputs,
        memory=memory,
        start=standalone.start,
        inputs=standalone.inputs,
        numbers={
            "from": task.numerics.start,
            "until": task.until,
            "dt": task.numerics.dt,
        },
    )


def exported_programs(query: ContactQuery) -> dict[str, Compiled]:
    """Return all compiled programs to which the records of a run refer, by name."""
    machine = query.machine
    programs = {"motion": machine.motion, "observe": machine.observe}
    for meeting in query.table.pairs.columns:
        word = machine.contacts.names[meeting]
        programs[word] = machine.contacts[meeting]
        programs[f"{word}_gap"] = machine.contacts.geometry(meeting)
    return programs


def _word(text: str) -> str:
    """Return a text converted to characters that are valid in an identifier of source code."""
    return re.sub(r"\W", "_", text)


def exported_names(query: ContactQuery) -> dict[str, list[str]]:
    """Return the names of inputs, states, outputs, wheels and joints, and features."""
    machine = query.machine
    model = machine.system.model
    layout = machine.layout
    joints = [joint.name for joint in model.joints]
    turn = "wxyz" if layout.count("q") == 4 else range(layout.count("q"))
    pose = [f"q_{x}" for x in turn] + [f"p_{x}" for x in "xyz"[: layout.count("p")]]
    memory = [f"z_{k}" for k in range(layout.count("z"))]
    return {
        "inputs": list(model.inputs),
        "states": [*pose, *joints, *model.speeds, *memory],
        "outputs": machine.system.outputs,
        "contacts": [*(wheel.name for wheel in machine.wheels), *joints],
        "features": [query.ground.name(k) for k in range(len(query.ground))],
        "attached": [query.table.name(contact) for contact in query.table.attached],
    }


# --- C


def _c_files(s: TerrainSimulator) -> dict[str, str]:
    columns = ["time", "x", "y", "z", *s.names["outputs"], *s.names["states"]]
    main = fill_template("terrain_main.c", n=s.name, columns=json.dumps(",".join(columns)))
    return {f"{s.name}.h": _c_header(s), f"{s.name}.c": _c_body(s), "main.c": main}


def _c_header(s: TerrainSimulator) -> str:
    n = s.name
    places = [
        f"    {n}_at_{key} = {at.start}, {n}_size_{key} = {s.observed.count(key)}"
        for key, at in s.observed.items()
    ]
    return fill_template(
        "terrain.h",
        n=n,
        states=len(s.start),
        inputs=len(s.inputs),
        given=max(1, len(s.inputs)),
        observed=s.observed.size,
        reached=int(RunStatus.ARC_END),
        fell=int(RunStatus.FALL),
        places=",\n".join(places),
        names=c_list(s.names["states"]),
        outputs=c_list(s.names["outputs"]),
    )


def _c_body(s: TerrainSimulator) -> str:
    n = s.name
    routines = {routine: f"{n}_{routine.__name__}" for routine in ENTRIES}
    numbers = {"start": s.start, "given": s.inputs}
    return fill_template(
        "terrain.c",
        n=n,
        helpers=C_HELPERS,
        programs=[c_program(program, has_prologue=False) for program in s.programs],
        count=len(s.programs),
        addresses=",\n".join(f"    {program.name}_at" for program in s.programs),
        types=c_types(*ENTRIES),
        routines=write_text_routines(routines, c.C_DIALECT, f"{n}_routine"),
        memory=write_c_memory(s.memory, n),
        tables=[c_array(f"const double {n}_{key}", x) for key, x in numbers.items()],
        root=len(s.memory.records) - 1,
        owners=_c_strings(s.names["contacts"]),
        features=_c_strings(s.names["features"]),
        attached=_c_strings(s.names["attached"]),
        kinds=_c_strings(KIND_NAMES),
        reasons=_c_strings(reason_texts()),
        states=len(s.start),
        given=max(1, len(s.inputs)),
        log_full=int(RunStatus.LOG_FULL),
        **{key: c.c_number(x) for key, x in s.numbers.items()},
    )


def _c_strings(texts: Any) -> str:
    """Return texts as the entries of a C array of strings; an empty string follows, so that no array is
    empty.
    """
    return ",\n".join(f"    {json.dumps(text)}" for text in (*texts, ""))


def reason_texts() -> list[str]:
    """Return the texts of the reasons why a run ended, indexed by status."""
    reasons = END_REASONS | {STEP_STATUSES + k: text for k, text in STEP_END_REASONS.items()}
    return [reasons.get(k, "") for k in range(max(reasons) + 1)]


# --- JavaScript


def _js_files(s: TerrainSimulator) -> dict[str, str]:
    numbers = {"start": s.start, "given": s.inputs}
    routines = write_text_routines(ENTRIES, javascript.JS_DIALECT, "routine")
    text = fill_template(
        "terrain.js",
        n=s.name,
        names=json.dumps(s.names),
        arrays=[f"export const {key} = {js_array(x)};" for key, x in numbers.items()],
        observed=[f"  {key}: [{at.start}, {at.stop}]," for key, at in s.observed.items()],
        helpers=JS_HELPERS + js_types(*ENTRIES),
        programs=[js_program(program, has_prologue=False) for program in s.programs],
        addresses=",\n".join(f"  {program.name}.call" for program in s.programs),
        routines=routines,
        memory=write_js_memory(s.memory, "allocate"),
        kinds=json.dumps(KIND_NAMES),
        reasons=json.dumps(reason_texts()),
        reached=int(RunStatus.ARC_END),
        fell=int(RunStatus.FALL),
        log_full=int(RunStatus.LOG_FULL),
        **{key: javascript.js_number(x) for key, x in s.numbers.items()},
    )
    return {f"{s.name}.js": text}


TERRAIN_LANGUAGES: Mapping[str, Any] = {"c": _c_files, "javascript": _js_files}
"""Functions that write the files of a simulator, by language."""
