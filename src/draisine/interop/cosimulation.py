"""The generated C simulator behind a table of numbered values: what FMI and Simulink build on.

`c/unit.c` is the same for all machines; its header, written here, says how many parameters, inputs
and outputs there are and where they stand. Inputs are held from one step to the next, as by a
`Stepper`. Events are the instants from which on the ground would have to pull at a contact.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from draisine.algebra.scalar import Floats
from draisine.codegen.targets import c
from draisine.errors import DataError, MissingPackageError, import_extra
from draisine.mechanics.readings import law_states
from draisine.model.names import STORED_VARIABLES, label_units, outputs, rate
from draisine.simulation.source import write_simulator
from draisine.simulation.stepper import STEP
from draisine.system.layout import Layout, outputs_of
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.vehicles import meanings

OFFERED = {
    "kinetic": "kinetic_energy",
    "potential": "potential_energy",
}
"""Single numbers of the program `observe` that are outputs, and what results call them."""


@dataclass(frozen=True)
class Port:
    """A value that can be read or set from outside; `start` is what it is at first, `place` where an
    output stands: in what is observed, then in the state.
    """

    name: str
    kind: Literal["parameter", "input", "output", "event"]
    unit: str
    meaning: str
    start: float = 0.0
    place: int = 0


@dataclass(frozen=True)
class Unit:
    """A machine as C: its name, its ports in the order of their numbers (from 1 on, 0 is time), and
    its files by name; `source` is what is compiled with the simulator, `token` tells it from others.
    """

    name: str
    ports: tuple[Port, ...]
    files: dict[str, str]
    source: str
    token: str

    def ports_of(self, kind: str) -> list[tuple[int, Port]]:
        """Return the ports of a kind with their numbers."""
        return [(k, port) for k, port in enumerate(self.ports, start=1) if port.kind == kind]


def write_unit(
    system: System,
    start: State,
    interface: str,
    *,
    mode: Mapping[str, str] | None = None,
    law: Law | None = None,
    inputs: Mapping[str, float] | None = None,
    dt: float = STEP,
) -> Unit:
    """Return a machine of one mode as C, with the file `c/<interface>.c` as its outside; steps are no
    longer than `dt`.
    """
    simulator = write_simulator(system, "c", start, mode=mode, law=law, inputs=inputs)
    header, body, _ = simulator
    name, token = header.removesuffix(".h"), _digest(simulator, dt)
    ports = _ports(system, mode, law, inputs)
    texts = {header: simulator[header], body: simulator[body]}
    texts["unit.h"] = _header(name, ports, dt, token)
    return Unit(name, ports, texts | _outside(f"{interface}.c"), f"{interface}.c", token)


def _header(name: str, ports: Sequence[Port], dt: float, token: str) -> str:
    """Return what `unit.c` has to know of a machine."""
    places = {
        kind: [port.place for port in ports if port.kind == kind]
        for kind in ("input", "output", "event")
    }
    sizes = {kind: len(found) for kind, found in places.items()}
    same = "begin", "step", "observe", "nominal", "start", "given"
    return "\n".join(
        [
            f'#include "{name}.h"',
            f"typedef {name} Machine;",
            *(f"#define machine_{word} {name}_{word}" for word in same),
            f"#define LONGEST_STEP {c.number(dt)}",
            f'#define TOKEN "{token}"',
            f"#define S_FUNCTION_NAME {name}",
            "enum {",
            f"    STATES = {name}_states, TAIL = {name}_inputs, OBSERVED = {name}_observed,",
            f"    PARAMETERS = {name}_parameters, INPUTS = {sizes['input']},",
            f"    OUTPUTS = {sizes['output']}, EVENTS = {sizes['event']}",
            "};",
            f"static const int OUTPUT_AT[] = {{{', '.join(map(str, places['output']))}}};",
            f"static const int FORCE_AT[] = {{{', '.join(map(str, [*places['event'], 0]))}}};",
            "",
        ]
    )


def _outside(name: str) -> dict[str, str]:
    """Return a file of the folder `c`, and those of it that it includes."""
    folder = files("draisine.interop").joinpath("c")
    text = folder.joinpath(name).read_text(encoding="utf-8")
    found = {name: text}
    for other in re.findall(r'^#include "(\w+\.c)"', text, flags=re.M):
        if folder.joinpath(other).is_file():
            found |= _outside(other)
    return found


def _digest(simulator: Mapping[str, str], dt: float) -> str:
    """Return what tells machines apart."""
    content = repr((sorted(simulator.items()), dt))
    return "{" + hashlib.sha256(content.encode()).hexdigest()[:32] + "}"


def _ports(
    system: System,
    mode: Mapping[str, str] | None,
    law: Law | None,
    inputs: Mapping[str, float] | None,
) -> tuple[Port, ...]:
    """Return what can be set and read of a machine: the order is that of `c/unit.c`."""
    machine = system.machine(mode, law, law_states(law))
    model, at = system.model, outputs_of(machine.programs["observe"])
    known, told = meanings(system.vehicle), outputs(model)
    units = label_units(model, "inputs")
    found = [
        Port(f"parameters.{name}", "parameter", *known.get(name, ("", "")), value)
        for name, value in system.parameters.items()
    ]
    given: Floats = system.inputs(inputs)
    found += [
        Port(f"inputs.{name}", "input", units[name], "held input", value)
        for name, value in zip(model.inputs, given.tolist(), strict=True)
    ]
    for k, name in enumerate(system.outputs):
        one = told[name]
        pace = rate(name, one)
        found += [
            Port(name, "output", one.unit, one.meaning, place=at.outputs.start + k),
            Port(
                f"{name}_rate", "output", pace.unit, pace.meaning, place=at.output_rates.start + k
            ),
        ]
    for k, joint in enumerate(model.joints):
        speed = at.v.start + model.speeds.index(f"{joint.name}_rate")
        place = at.size + machine.layout.r.start + k
        meaning = f"rate of {joint.name}"
        found += [
            Port(joint.name, "output", joint.unit, "joint coordinate", place=place),
            Port(f"{joint.name}_rate", "output", f"{joint.unit}/s", meaning, place=speed),
        ]
    return (*found, *_more_ports(system, at))


def _more_ports(system: System, at: Layout) -> list[Port]:
    """Return the ports that all machines have: place, energies, forces of contacts, and events."""
    start = {name: getattr(at, name).start for name in ("position", "forces", *OFFERED)}
    found = [
        Port(axis, "output", "m", STORED_VARIABLES["position"].meaning, place=start["position"] + k)
        for k, axis in enumerate("xyz")
    ]
    found += [
        Port(name, "output", "J", STORED_VARIABLES[name].meaning, place=start[key])
        for key, name in OFFERED.items()
    ]
    contacts = system.model.contacts
    force = STORED_VARIABLES["contact_force"].meaning
    for k, contact in enumerate(contacts):
        for j, direction in enumerate(("normal", "along", "across")):
            name = f"contact_force.{contact.name}.{direction}"
            found.append(Port(name, "output", "N", force, place=start["forces"] + 3 * k + j))
    for k, contact in enumerate(contacts):
        if contact.lifts:
            meaning = f"whether the ground would have to pull at {contact.name}"
            place = start["forces"] + 3 * k
            found.append(Port(f"pulled.{contact.name}", "event", "", meaning, place=place))
    return found


def compile_library(unit: Unit, folder: Path, library: Path) -> None:
    """Write the files of a unit into a folder and compile them into a shared library, by the C
    compiler of this computer (`CC`, cc, gcc, clang) or by that of the package `ziglang`.
    """
    for name, text in unit.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [unit.source, f"{unit.name}.c"]
    flags = ["-std=c99", "-O2", "-shared", "-fvisibility=hidden", "-o", str(library.resolve())]
    if os.name != "nt":
        flags += ["-fPIC", "-lm"]
    done = subprocess.run(
        [*compiler(), *sources, *flags], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise DataError(f"{library.name}: the C compiler failed: {done.stderr.strip()[:2000]}")


def compiler() -> Sequence[str]:
    """Return how a C compiler is called."""
    named = [os.environ[name] for name in ("CC",) if os.environ.get(name)]
    for name in (*named, "cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    try:
        import_extra("ziglang", "fmi")
    except MissingPackageError as error:
        raise MissingPackageError(f"no C compiler (cc, gcc, clang) is here; {error}") from error
    return [sys.executable, "-m", "ziglang", "cc"]
