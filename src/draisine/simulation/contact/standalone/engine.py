"""JavaScript source of one simulator for several runs of a vehicle on terrain, with changeable parameters.

An exported page contains it: routines and equal programs are written once, and each run adds its records.
Tolerances, sizes of tables and the ground are those of the export. The programs compute their constants from
the parameters again, so that other parameters need no other text.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from draisine.codegen.listing import make_identifier
from draisine.codegen.program import flatten_arrays
from draisine.codegen.targets import javascript
from draisine.codegen.targets._dialects import JS_HELPERS, js_types
from draisine.codegen.targets._memory import Memory, write_js_memory
from draisine.codegen.targets._text_routine import write_text_routines
from draisine.mechanics.contact.modes import MAX_CLOSED_FORM_WHEELS
from draisine.simulation.contact.event_driven.arc_integration import RunStatus
from draisine.simulation.contact.kernels import SIGNATURE_SIZE
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.standalone.observation import observe_contacts, observe_run
from draisine.simulation.contact.standalone.records import (
    ModeChoice,
    Standalone,
    make_standalone,
)
from draisine.simulation.contact.standalone.run import advance_run, begin_run, change_inputs
from draisine.simulation.contact.standalone.source import (
    KIND_NAMES,
    PROGRAM_FIELDS,
    exported_names,
    exported_programs,
    reason_texts,
)
from draisine.simulation.options import Task
from draisine.simulation.source import fill_template, js_program

ENGINE_ENTRIES = {
    begin_run: "beginRun",
    advance_run: "advanceRun",
    change_inputs: "changeInputs",
    observe_contacts: "observeContacts",
}
"""Routines that the exported simulator of several runs calls, with their names in JavaScript."""

ANY_FRICTION = (
    1.0  # a finite friction coefficient; it selects the impact model of contacts with friction
)


@dataclass
class _Programs:
    """Texts of the programs of all runs; equal programs of different runs are written once."""

    prefix: str
    texts: dict[str, int]  # index by text of the program, in which the name is PROGRAM

    def add(self, standalone: Standalone) -> dict[int, int]:
        """Add the programs of a run; return the index of each program by its address."""
        compiled = exported_programs(standalone.query) | standalone.closed_forms
        numbers = {}
        for each in compiled.values():
            text = js_program(replace(flatten_arrays(each.program), name="PROGRAM"))
            numbers[each.address] = self.texts.setdefault(text, len(self.texts))
        return numbers

    def name(self, k: int) -> str:
        return f"{self.prefix}_{k}"

    def written(self) -> list[str]:
        return [text.replace("PROGRAM", self.name(k)) for text, k in self.texts.items()]


def write_terrain_engine(
    tasks: Mapping[str, Task], radii: Sequence[str], plain: Sequence[str] = ()
) -> str:
    """Return the text of a JavaScript module that simulates the runs of several tasks of one vehicle.

    Parameters
    ----------
    tasks
        Runs by name. Their systems have the same states and parameters; ground, control law and options may
        differ.
    radii
        Name of the parameter that is the radius of each wheel.
    plain
        Names of the runs with a closed-form solution of the contact mode at their start only, which makes
        the text shorter; the others have those of each wheel alone, too.

    Raises
    ------
    ParameterError
        If a part of a run needs Python, such as an impact model that is written in it.
    """
    first, *_ = tasks.values()
    system = first.system
    prefix = make_identifier(f"{system.vehicle.__name__}_program", javascript.JS_RESERVED)
    programs = _Programs(prefix, {})
    memories = []
    arrays: dict[str, str] = {}
    runs = []
    query: ContactQuery | None = None
    for k, (name, task) in enumerate(tasks.items()):
        standalone = make_standalone(task, ModeChoice.START if name in plain else ModeChoice.WHEELS)
        query = query or standalone.query
        memory = Memory(programs.add(standalone), PROGRAM_FIELDS)
        memory.add(observe_run(standalone.query, standalone.run))
        memory.place()
        memories.append(_scoped_memory(memory, f"allocate_{k}", arrays))
        runs.append(_describe_run(name, f"allocate_{k}", task, standalone, radii))
    assert query is not None
    observed = query.machine.observe.outputs
    numbers = range(len(programs.texts))
    return fill_template(
        "terrain_engine.js",
        n=system.vehicle.__name__,
        first=next(iter(tasks)),
        names=json.dumps(exported_names(query) | {"parameters": list(system.parameters)}),
        observed=[f"  {key}: [{at.start}, {at.stop}]," for key, at in observed.items()],
        helpers=JS_HELPERS + js_types(*ENGINE_ENTRIES),
        programs=programs.written(),
        addresses=",\n".join(f"  {programs.name(k)}.call" for k in numbers),
        prologues=[f"  [programs[{k}], {programs.name(k)}.prologue]," for k in numbers],
        routines=write_text_routines(ENGINE_ENTRIES, javascript.JS_DIALECT, "routine"),
        memories=[f"const {word} = {text};" for text, word in arrays.items()] + memories,
        runs=runs,
        kinds=json.dumps(KIND_NAMES),
        reasons=json.dumps(reason_texts()),
        reached=int(RunStatus.ARC_END),
        fell=int(RunStatus.FALL),
        paused=int(RunStatus.PAUSED),
        log_full=int(RunStatus.LOG_FULL),
        signature=SIGNATURE_SIZE,
        form=1 + MAX_CLOSED_FORM_WHEELS,
    )


def _scoped_memory(memory: Memory, name: str, arrays: dict[str, str]) -> str:
    """Return the memory as a JavaScript function in its own scope, because the names of constants repeat;
    `arrays` collects the values of all memories with their names, so that equal ones are written once.
    """
    text = write_js_memory(memory, name)
    for found in re.finditer(r"^const (values_\d+) = (.*?);\n", text, re.MULTILINE | re.DOTALL):
        shared = arrays.setdefault(found[2], f"values_of_{len(arrays)}")
        text = re.sub(rf"\b{found[1]}\b", shared, text.replace(found[0], ""))
    return f"const {name} = (() => {{\n{text}\nreturn {name};\n}})();\n"


def _describe_run(
    name: str, allocate: str, task: Task, standalone: Standalone, radii: Sequence[str]
) -> str:
    """Return the entry of a run in the table of runs."""
    machine = standalone.query.machine
    parameters = list(task.system.parameters)
    with_friction = replace(task.contact, mu=ANY_FRICTION)
    models = [_impact_solver(task.contact), _impact_solver(with_friction)]
    sizes = [[parameters.index(radius), task.system.parameters[radius]] for radius in radii]
    guided = [int(k) for k in machine.guided]
    return (
        f"  {json.dumps(name)}: {{ allocate: {allocate}, guided: {json.dumps(guided)}, "
        f"models: {json.dumps(models)}, radii: {json.dumps(sizes)} }},"
    )


def _impact_solver(contact: Any) -> int:
    """Return the number of the routine that solves impacts with given options of contacts."""
    return int(contact.model.solver)
