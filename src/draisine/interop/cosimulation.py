"""Generated C simulator of a machine behind numbered ports, the basis of FMI and Simulink exports.

`c/unit.c` is the same for all machines; the generated header contains the numbers and indices of parameters,
inputs and outputs. Inputs are constant during a step, as in a `Stepper`. An event occurs when the normal
force of a contact becomes negative, which means that a wheel would lift off.
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
from draisine.model.names import STORED_VARIABLES, label_units, output_variables, rate_variable
from draisine.simulation.source import write_simulator
from draisine.simulation.stepper import DEFAULT_STEP
from draisine.system.layout import Layout, outputs_of
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.vehicles import meanings

ENERGY_OUTPUTS = {
    "kinetic": "kinetic_energy",
    "potential": "potential_energy",
}
"""Names of energy outputs: output of the program `observe` -> variable in datasets."""


@dataclass(frozen=True)
class Port:
    """A variable that the importing simulation tool can read or set."""

    name: str
    """Name of the variable."""
    kind: Literal["parameter", "input", "output", "event"]
    """Role of the variable."""
    unit: str
    """SI unit of the variable; empty if dimensionless."""
    meaning: str
    """Description of the variable in a few words."""
    start: float = 0.0
    """Initial value of the variable, SI units."""
    index: int = 0
    """Index of an output in the array (observations, state)."""


@dataclass(frozen=True)
class Unit:
    """A machine as C source code with numbered ports."""

    name: str
    """Name of the machine."""
    ports: tuple[Port, ...]
    """Ports in the order of their numbers, which start with 1; number 0 is time."""
    files: dict[str, str]
    """Texts of the source files by file name."""
    source: str
    """Name of the file that is compiled together with the simulator."""
    token: str
    """Identifier of the content, as FMI requires."""

    def ports_of(self, kind: str) -> list[tuple[int, Port]]:
        """Return the ports of one kind with their numbers."""
        return [(k, port) for k, port in enumerate(self.ports, start=1) if port.kind == kind]


def write_unit(
    system: System,
    start: State,
    interface: str,
    *,
    mode: Mapping[str, str] | None = None,
    law: Law | None = None,
    inputs: Mapping[str, float] | None = None,
    dt: float = DEFAULT_STEP,
) -> Unit:
    """Return the C source code of a machine in one contact mode, with the interface `c/<interface>.c`.

    `dt` is the longest internal integration step, s.
    """
    simulator = write_simulator(system, "c", start, mode=mode, law=law, inputs=inputs)
    header, body, _ = simulator
    name = header.removesuffix(".h")
    token = _digest(simulator, dt)
    ports = _ports(system, mode, law, inputs)
    texts = {header: simulator[header], body: simulator[body]}
    texts["unit.h"] = _header(name, ports, dt, token)
    return Unit(name, ports, texts | _interface_files(f"{interface}.c"), f"{interface}.c", token)


def _header(name: str, ports: Sequence[Port], dt: float, token: str) -> str:
    """Return the C header of a machine for `unit.c`: sizes and indices."""
    indices = {
        kind: [port.index for port in ports if port.kind == kind]
        for kind in ("input", "output", "event")
    }
    sizes = {kind: len(entries) for kind, entries in indices.items()}
    functions = "begin", "step", "observe", "nominal", "start", "given"
    return "\n".join(
        [
            f'#include "{name}.h"',
            f"typedef {name} Machine;",
            *(f"#define machine_{word} {name}_{word}" for word in functions),
            f"#define LONGEST_STEP {c.c_number(dt)}",
            f'#define TOKEN "{token}"',
            f"#define S_FUNCTION_NAME {name}",
            "enum {",
            f"    STATES = {name}_states, TAIL = {name}_inputs, OBSERVED = {name}_observed,",
            f"    PARAMETERS = {name}_parameters, INPUTS = {sizes['input']},",
            f"    OUTPUTS = {sizes['output']}, EVENTS = {sizes['event']}",
            "};",
            f"static const int OUTPUT_AT[] = {{{', '.join(map(str, indices['output']))}}};",
            f"static const int FORCE_AT[] = {{{', '.join(map(str, [*indices['event'], 0]))}}};",
            "",
        ]
    )


def _interface_files(name: str) -> dict[str, str]:
    """Return the text of a file in the folder `c` and of the files that it includes, by name."""
    folder = files("draisine.interop").joinpath("c")
    text = folder.joinpath(name).read_text(encoding="utf-8")
    texts = {name: text}
    for other in re.findall(r'^#include "(\w+\.c)"', text, flags=re.M):
        if folder.joinpath(other).is_file():
            texts |= _interface_files(other)
    return texts


def _digest(simulator: Mapping[str, str], dt: float) -> str:
    """Return an identifier of a simulator that depends on its content."""
    content = repr((sorted(simulator.items()), dt))
    return "{" + hashlib.sha256(content.encode()).hexdigest()[:32] + "}"


def _ports(
    system: System,
    mode: Mapping[str, str] | None,
    law: Law | None,
    inputs: Mapping[str, float] | None,
) -> tuple[Port, ...]:
    """Return the ports of a machine in the order that `c/unit.c` requires."""
    machine = system.machine(mode, law, law_states(law))
    model = system.model
    observed = outputs_of(machine.programs["observe"])
    words = meanings(system.vehicle)
    descriptions = output_variables(model)
    units = label_units(model, "inputs")
    ports = [
        Port(f"parameters.{name}", "parameter", *words.get(name, ("", "")), value)
        for name, value in system.parameters.items()
    ]
    values: Floats = system.inputs(inputs)
    ports += [
        Port(f"inputs.{name}", "input", units[name], "held input", value)
        for name, value in zip(model.inputs, values.tolist(), strict=True)
    ]
    for k, name in enumerate(system.outputs):
        output = descriptions[name]
        derivative = rate_variable(name, output)
        index = observed.outputs.start + k
        rate_index = observed.output_rates.start + k
        ports += [
            Port(name, "output", output.unit, output.meaning, index=index),
            Port(f"{name}_rate", "output", derivative.unit, derivative.meaning, index=rate_index),
        ]
    for k, joint in enumerate(model.joints):
        rate_index = observed.v.start + model.speeds.index(f"{joint.name}_rate")
        index = observed.size + machine.layout.r.start + k
        meaning = f"rate of {joint.name}"
        ports += [
            Port(joint.name, "output", joint.unit, "joint coordinate", index=index),
            Port(f"{joint.name}_rate", "output", f"{joint.unit}/s", meaning, index=rate_index),
        ]
    return (*ports, *_common_ports(system, observed))


def _common_ports(system: System, observed: Layout) -> list[Port]:
    """Return the ports that all machines have: position, energies, contact forces and events."""
    start = {
        name: getattr(observed, name).start for name in ("position", "forces", *ENERGY_OUTPUTS)
    }
    ports = [
        Port(axis, "output", "m", STORED_VARIABLES["position"].meaning, index=start["position"] + k)
        for k, axis in enumerate("xyz")
    ]
    ports += [
        Port(name, "output", "J", STORED_VARIABLES[name].meaning, index=start[key])
        for key, name in ENERGY_OUTPUTS.items()
    ]
    contacts = system.model.contacts
    force = STORED_VARIABLES["contact_force"].meaning
    for k, contact in enumerate(contacts):
        for j, direction in enumerate(("normal", "along", "across")):
            name = f"contact_force.{contact.name}.{direction}"
            ports.append(Port(name, "output", "N", force, index=start["forces"] + 3 * k + j))
    for k, contact in enumerate(contacts):
        if contact.lifts:
            meaning = f"whether the normal force of {contact.name} is negative"
            index = start["forces"] + 3 * k
            ports.append(Port(f"pulled.{contact.name}", "event", "", meaning, index=index))
    return ports


def compile_library(unit: Unit, folder: Path, library: Path) -> None:
    """Write the source files of a unit to a folder and compile them to a shared library.

    The compiler is the environment variable `CC`, cc, gcc or clang, or the one of the package `ziglang`.
    """
    for name, text in unit.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [unit.source, f"{unit.name}.c"]
    flags = ["-std=c99", "-O2", "-shared", "-fvisibility=hidden", "-o", str(library.resolve())]
    if os.name != "nt":
        flags += ["-fPIC", "-lm"]
    completed = subprocess.run(
        [*find_compiler(), *sources, *flags],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if completed.returncode != 0:
        raise DataError(f"{library.name}: the C compiler failed: {completed.stderr.strip()[:2000]}")


def find_compiler() -> Sequence[str]:
    """Return the command of an available C compiler; raise `MissingPackageError` if there is none."""
    preferred = [os.environ[name] for name in ("CC",) if os.environ.get(name)]
    for name in (*preferred, "cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    try:
        import_extra("ziglang", "fmi")
    except MissingPackageError as error:
        raise MissingPackageError(
            f"There is no C compiler (cc, gcc, clang) on this computer; {error}"
        ) from error
    return [sys.executable, "-m", "ziglang", "cc"]
