"""The generated C simulator with numbered inputs and outputs (ports), for FMI and Simulink exports.

All vehicles use the same `c/unit.c`. This module writes the header of each vehicle, which defines numbers and
array indices of parameters, inputs and outputs. Inputs are constant during a step, as in a `Stepper`. An
event is the instant at which the normal force of a contact becomes negative, that is, at which the contact
would separate.
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
from draisine.model.names import (
    STORED_VARIABLES,
    label_units,
    output_variables,
    rate_variable,
    sensor_variables,
)
from draisine.simulation.contact.standalone.source import write_terrain_simulator
from draisine.simulation.options import CONTACT, NUMERICS, ContactOptions, Numerics
from draisine.simulation.sensing import noise_key, signal_rows
from draisine.simulation.source import c_array, write_simulator
from draisine.simulation.stepper import DEFAULT_STEP
from draisine.system.generic import make_generic
from draisine.system.layout import Layout, output_layout
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain
from draisine.vehicles import meanings

ENERGY_OUTPUTS = {
    "kinetic": "kinetic_energy",
    "potential": "potential_energy",
}
"""Scalar outputs of the program `observe` that become ports: name in the program -> name in results."""


@dataclass(frozen=True)
class Port:
    """A scalar that the importing program (FMI tool, Simulink) can read or set."""

    name: str
    """Name of the port."""
    kind: Literal["parameter", "input", "output", "event"]
    """Role of the port."""
    unit: str
    """SI unit; empty if dimensionless."""
    meaning: str
    """Short description of the quantity."""
    start: float = 0.0
    """Initial value."""
    place: int = 0
    """Index of the value in an array of the simulator.

    Outputs: in the observations followed by the state. Events: in the observations (one contact mode), or the
    number of the wheel (on terrain).
    """


@dataclass(frozen=True)
class Unit:
    """C source code of the simulator of one vehicle, with its ports."""

    name: str
    """Name of the vehicle."""
    ports: tuple[Port, ...]
    """All ports; the port at index k has the number k + 1, because FMI uses the number 0 for time."""
    files: dict[str, str]
    """Content of the source files, by file name."""
    source: str
    """Name of the interface file (FMI or Simulink) to compile together with the simulator."""
    token: str
    """Hash of the source files, the identifier that FMI requires."""
    can_copy: bool = True
    """Whether the importing program can save and restore the state of the simulator."""

    def ports_of(self, kind: str) -> list[tuple[int, Port]]:
        """Return the pairs (number, port) of all ports of one kind: parameters, inputs, outputs or events."""
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
    """Generate the C simulator of a vehicle in one contact mode, with the interface `c/<interface>.c`.

    `start` is the initial state, `law` a control law, `inputs` are constant joint torques (N m) or forces (N)
    by name, and `dt` is the largest internal time step (s).
    """
    simulator = write_simulator(system, "c", start, mode=mode, law=law, inputs=inputs)
    header, body, _ = simulator
    name = header.removesuffix(".h")
    token = _digest(simulator, dt)
    ports = _ports(system, mode, law, inputs)
    texts = {header: simulator[header], body: simulator[body]}
    texts["unit.h"] = _header(name, ports, dt, token, _sensor_lines(system, mode, law))
    return Unit(name, ports, texts | _interface_files(f"{interface}.c"), f"{interface}.c", token)


def write_terrain_unit(
    system: System,
    start: State,
    interface: str,
    *,
    terrain: Terrain,
    law: Law | None = None,
    inputs: Mapping[str, float] | None = None,
    contact: ContactOptions = CONTACT,
    numerics: Numerics = NUMERICS,
    until: float = 1.0,
) -> Unit:
    """Generate the C simulator of a vehicle on terrain, with the interface `c/<interface>.c`.

    The arguments describe a run from the state `start` to the time `until` (s), see `simulate`. The simulator
    contains the equations of motion of every contact mode that occurs in this run.
    """
    simulator = write_terrain_simulator(
        system,
        "c",
        start,
        until,
        terrain=terrain,
        law=law,
        inputs=inputs,
        contact=contact,
        numerics=numerics,
    )
    header, body, _ = simulator
    name = header.removesuffix(".h")
    token = _digest(simulator, 0.0)
    ports = _terrain_ports(system, terrain, law, inputs)
    texts = {header: simulator[header], body: simulator[body]}
    texts["unit.h"] = _terrain_header(name, ports, token)
    texts |= _interface_files(f"{interface}.c")
    texts["unit.c"] = _interface_files("terrain_unit.c")["terrain_unit.c"]
    return Unit(name, ports, texts, f"{interface}.c", token, can_copy=False)


def _terrain_header(name: str, ports: Sequence[Port], token: str) -> str:
    """Return the text of the C header that `terrain_unit.c` includes: port numbers and identifier."""
    functions: tuple[str, ...] = (
        "new",
        "free",
        "begin",
        "advance",
        "set_inputs",
        "stop_at_events",
        "touches",
    )
    functions += ("reason", "time", "state", "observe", "start", "given", "more", "reached")
    return _unit_header(name, ports, token, functions, 0, [])


def _sensor_lines(system: System, mode: Mapping[str, str] | None, law: Law | None) -> list[str]:
    """Return the C lines of the header of `unit.c` with rate (Hz), bias, noise and quantum of each sensor."""
    model = system.model
    machine = system.machine(mode, law, law_states(law))
    observed = output_layout(machine.exported_observe())
    errors = [e for sensor in model.sensors for e in sensor.errors(model)]
    first = [rows.start for rows in signal_rows(model).values()]
    keys = [f"UINT64_C({noise_key(sensor)})" for sensor in model.sensors]
    return [
        f"enum {{ SENSORS = {len(model.sensors)}, SIGNALS = {len(errors)},",
        f"    SIGNAL_AT = {observed.signals.start if errors else 0} }};",
        f"static const int SENSOR_FIRST[] = {{{', '.join(map(str, [*first, len(errors)]))}}};",
        f"static const uint64_t SENSOR_KEY[] = {{{', '.join([*keys, '0'])}}};",
        c_array("static const double SENSOR_RATE", [s.rate or 0.0 for s in model.sensors]),
        *(
            c_array(
                f"static const double SIGNAL_{what.upper()}", [getattr(e, what) for e in errors]
            )
            for what in ("bias", "noise", "quantum")
        ),
    ]


def _header(name: str, ports: Sequence[Port], dt: float, token: str, sensors: list[str]) -> str:
    """Return the text of the C header that `unit.c` includes: array sizes, port indices and sensors."""
    functions = ("begin", "step", "observe", "nominal", "start", "given")
    lines = [f"#define LONGEST_STEP {c.c_number(dt)}", f"#define S_FUNCTION_NAME {name}", *sensors]
    return _unit_header(name, ports, token, functions, f"{name}_parameters", lines)


def _unit_header(
    name: str,
    ports: Sequence[Port],
    token: str,
    functions: Sequence[str],
    parameters: int | str,
    lines: Sequence[str],
) -> str:
    """Return the text of the C header of a vehicle, with array sizes and the indices of its ports.

    `functions` are the functions of the simulator that the interface calls, `parameters` is the number of
    parameters (or the C name of this number), and `lines` are further lines.
    """
    indices = {
        kind: [port.place for port in ports if port.kind == kind]
        for kind in ("input", "output", "event")
    }
    sizes = {kind: len(entries) for kind, entries in indices.items()}
    return "\n".join(
        [
            f'#include "{name}.h"',
            f"typedef {name} Machine;",
            *(f"#define machine_{word} {name}_{word}" for word in functions),
            f'#define TOKEN "{token}"',
            *lines,
            "enum {",
            f"    STATES = {name}_states, TAIL = {name}_inputs, OBSERVED = {name}_observed,",
            f"    PARAMETERS = {parameters}, INPUTS = {sizes['input']},",
            f"    OUTPUTS = {sizes['output']}, EVENTS = {sizes['event']}",
            "};",
            f"static const int OUTPUT_AT[] = {{{', '.join(map(str, indices['output']))}}};",
            f"static const int FORCE_AT[] = {{{', '.join(map(str, [*indices['event'], 0]))}}};",
            "",
        ]
    )


def _interface_files(name: str) -> dict[str, str]:
    """Return the content of a C file in the folder `c`, and of all C files that it includes, by file name."""
    folder = files("draisine.interop").joinpath("c")
    text = folder.joinpath(name).read_text(encoding="utf-8")
    texts = {name: text}
    for other in re.findall(r'^#include "(\w+\.c)"', text, flags=re.M):
        if folder.joinpath(other).is_file():
            texts |= _interface_files(other)
    return texts


def _digest(simulator: Mapping[str, str], dt: float) -> str:
    """Return a hash of the source files and the step dt (s), as identifier of a simulator."""
    content = repr((sorted(simulator.items()), dt))
    return "{" + hashlib.sha256(content.encode()).hexdigest()[:32] + "}"


def _ports(
    system: System,
    mode: Mapping[str, str] | None,
    law: Law | None,
    inputs: Mapping[str, float] | None,
) -> tuple[Port, ...]:
    """Return the ports of a vehicle in one contact mode, in the order of `c/unit.c`."""
    machine = system.machine(mode, law, law_states(law))
    model = system.model
    observed = output_layout(machine.exported_observe())
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
            Port(name, "output", output.unit, output.meaning, place=index),
            Port(f"{name}_rate", "output", derivative.unit, derivative.meaning, place=rate_index),
        ]
    for k, joint in enumerate(model.joints):
        rate_index = observed.v.start + model.speeds.index(f"{joint.name}_rate")
        index = observed.size + machine.layout.r.start + k
        meaning = f"rate of {joint.name}"
        ports += [
            Port(joint.name, "output", joint.unit, "joint coordinate", place=index),
            Port(f"{joint.name}_rate", "output", f"{joint.unit}/s", meaning, place=rate_index),
        ]
    first = observed.size + machine.layout.size
    ports += [
        Port(name, "output", variable.unit, variable.meaning, place=first + k)
        for k, (name, variable) in enumerate(sensor_variables(model).items())
    ]
    return (*ports, *_common_ports(system, observed))


def _terrain_ports(
    system: System,
    terrain: Terrain,
    law: Law | None,
    inputs: Mapping[str, float] | None,
) -> tuple[Port, ...]:
    """Return the ports of a vehicle on terrain, in the order of `c/terrain_unit.c`."""
    machine = make_generic(system, law, terrain.motions)
    model = system.model
    observed = machine.observe.outputs
    layout = machine.layout
    descriptions = output_variables(model)
    units = label_units(model, "inputs")
    values: Floats = system.inputs(inputs)
    ports = [
        Port(f"inputs.{name}", "input", units[name], "held input", value)
        for name, value in zip(model.inputs, values.tolist(), strict=True)
    ]
    for k, name in enumerate(system.outputs):
        output = descriptions[name]
        index = observed.outputs.start + k
        ports.append(Port(name, "output", output.unit, output.meaning, place=index))
    for k, joint in enumerate(model.joints):
        speed = layout.v.start + model.speeds.index(f"{joint.name}_rate")
        index = observed.size + layout.r.start + k
        meaning = f"rate of {joint.name}"
        ports += [
            Port(joint.name, "output", joint.unit, "joint coordinate", place=index),
            Port(
                f"{joint.name}_rate",
                "output",
                f"{joint.unit}/s",
                meaning,
                place=observed.size + speed,
            ),
        ]
    ports += _pose_and_energy_ports(observed)
    for k, wheel in enumerate(machine.wheels):
        meaning = f"whether {wheel.name} touches the ground"
        ports.append(Port(f"touches.{wheel.name}", "event", "", meaning, place=k))
    return tuple(ports)


def _pose_and_energy_ports(observed: Layout) -> list[Port]:
    """Return the output ports of the position (m) and of the energies (J)."""
    position = STORED_VARIABLES["position"].meaning
    ports = [
        Port(axis, "output", "m", position, place=observed.position.start + k)
        for k, axis in enumerate("xyz")
    ]
    return ports + [
        Port(
            name, "output", "J", STORED_VARIABLES[name].meaning, place=getattr(observed, key).start
        )
        for key, name in ENERGY_OUTPUTS.items()
    ]


def _common_ports(system: System, observed: Layout) -> list[Port]:
    """Return the ports that all vehicles have: position, energies, contact forces and events."""
    ports = _pose_and_energy_ports(observed)
    first_force = observed.forces.start
    contacts = system.model.contacts
    force = STORED_VARIABLES["contact_force"].meaning
    for k, contact in enumerate(contacts):
        for j, direction in enumerate(("normal", "along", "across")):
            name = f"contact_force.{contact.name}.{direction}"
            ports.append(Port(name, "output", "N", force, place=first_force + 3 * k + j))
    for k, contact in enumerate(contacts):
        if contact.lifts:
            meaning = f"whether the normal force of {contact.name} is negative"
            index = first_force + 3 * k
            ports.append(Port(f"pulled.{contact.name}", "event", "", meaning, place=index))
    return ports


def compile_library(unit: Unit, folder: Path, library: Path) -> None:
    """Write the files of a unit to a folder and compile them to a shared library.

    The compiler is the first available one of: the environment variable `CC`, cc, gcc, clang, and the Python
    package `ziglang`.

    Raises
    ------
    DataError
        If the compiler reports an error.
    MissingPackageError
        If there is no C compiler.
    """
    for name, text in unit.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [unit.source, f"{unit.name}.c"]
    flags = ["-std=c99", "-O2", "-shared", "-fvisibility=hidden", "-o", str(library.resolve())]
    if os.name != "nt":
        flags += ["-fPIC", "-lm"]
    completed = subprocess.run(
        [*compiler(), *sources, *flags], cwd=folder, capture_output=True, text=True, check=False
    )
    if completed.returncode != 0:
        raise DataError(f"{library.name}: the C compiler failed: {completed.stderr.strip()[:2000]}")


def compiler() -> Sequence[str]:
    """Return the command line of an installed C compiler, as a list of words."""
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
