"""Functional mock-up units: machines for co-simulation in other tools, by FMI 2.0 and FMI 3.0.

A unit holds the C simulator of one contact mode, compiled for this computer and as source code. By
FMI 3 it can be asked for event mode: steps then end where the ground would have to pull at a contact.
The standard: Modelica Association, Functional Mock-up Interface 2.0.4 and 3.0.1.
"""

import platform
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import draisine
from draisine.codegen.files import atomic_write, check_writable
from draisine.errors import ParameterError, expect_known
from draisine.interop.cosimulation import Port, Unit, compile_library, write_unit
from draisine.system.state import State
from draisine.system.system import System

VERSIONS = ("2.0", "3.0")
"""The versions of the standard."""

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of all files in a unit, so that equal machines make equal units."""


def export_fmu(
    system: System, start: State, path: str | Path, *, version: str = "3.0", **options: Any
) -> None:
    """Write a machine as a unit for co-simulation, ending with `.fmu`, that begins at a state;
    `options` are `mode`, `law`, `inputs` and the longest step `dt` (1/1024 s).

    >>> import tempfile, zipfile
    >>> disc = draisine.compile("rolling_disc")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_fmu(disc, draisine.state(disc, forward_speed=2.0), f"{folder}/disc.fmu")
    ...     "modelDescription.xml" in zipfile.ZipFile(f"{folder}/disc.fmu").namelist()
    True
    """
    path = Path(path)
    expect_known("FMI", version, VERSIONS)
    if path.suffix != ".fmu":
        raise ParameterError(f"{path}: units of FMI end with .fmu.")
    check_writable(path)
    unit = write_unit(system, start, f"fmi{version[0]}", **options)
    describe = _describe_2 if version == "2.0" else _describe_3
    with tempfile.TemporaryDirectory() as folder, atomic_write(path) as new:
        binary = Path(folder) / f"{unit.name}{_library_suffix()}"
        compile_library(unit, Path(folder), binary)
        content: dict[str, str | bytes] = {"modelDescription.xml": describe(unit)}
        content |= {f"sources/{name}": text for name, text in unit.files.items()}
        if version == "3.0":
            content["sources/buildDescription.xml"] = _build_description(unit)
        content[f"binaries/{_platform(version)}/{binary.name}"] = binary.read_bytes()
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in content.items():
                archive.writestr(zipfile.ZipInfo(name, EPOCH), data, zipfile.ZIP_DEFLATED)


def _library_suffix() -> str:
    return {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


def _platform(version: str) -> str:
    """Return what the standard calls this computer."""
    if version == "2.0":
        kind = {"win32": "win", "darwin": "darwin"}.get(sys.platform, "linux")
        return f"{kind}{64 if sys.maxsize > 2**32 else 32}"
    kind = {"win32": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    machine = {"amd64": "x86_64", "arm64": "aarch64"}
    word = platform.machine().lower()
    return f"{machine.get(word, word)}-{kind}"


def _text(root: Element) -> str:
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _root(unit: Unit, version: str, token: Mapping[str, str]) -> Element:
    tool = f"draisine {draisine.__version__}"
    told = {"fmiVersion": version, "modelName": unit.name, **token}
    return Element(
        "fmiModelDescription", told, generationTool=tool, variableNamingConvention="structured"
    )


def _co_simulation(root: Element, unit: Unit, *able: str) -> Element:
    """Return what tells that steps may differ, and what else a unit is able to do."""
    words = dict.fromkeys(("canHandleVariableCommunicationStepSize", *able), "true")
    return SubElement(root, "CoSimulation", {"modelIdentifier": unit.name, **words})


def _variables(root: Element) -> Element:
    """Return where variables are listed, behind the run that tools suggest."""
    SubElement(root, "DefaultExperiment", startTime="0", stopTime="5", stepSize="0.01")
    return SubElement(root, "ModelVariables")


def _units(root: Element, ports: Iterable[Port]) -> None:
    named = dict.fromkeys(port.unit for port in ports if port.unit)
    if named:
        parent = SubElement(root, "UnitDefinitions")
        for name in named:
            SubElement(parent, "Unit", name=name)


def _described(port: Port) -> dict[str, str]:
    return {"description": port.meaning} if port.meaning else {}


def _number(port: Port) -> dict[str, str]:
    """Return the attributes of a number: its unit, and its start where it is given from outside."""
    unit = {"unit": port.unit} if port.unit else {}
    return unit | ({} if port.kind == "output" else {"start": repr(float(port.start))})


def _causality(port: Port) -> dict[str, str]:
    fixed = {"variability": "fixed"} if port.kind == "parameter" else {}
    return {"causality": port.kind, **fixed}


def _describe_2(unit: Unit) -> str:
    """Return the model description by FMI 2.0."""
    root = _root(unit, "2.0", {"guid": unit.token})
    kind = _co_simulation(root, unit, "canGetAndSetFMUstate", "canSerializeFMUstate")
    sources = SubElement(kind, "SourceFiles")
    for name in (unit.source, f"{unit.name}.c"):
        SubElement(sources, "File", name=name)
    ports = [(k, port) for k, port in enumerate(unit.ports, start=1) if port.kind != "event"]
    _units(root, (port for _, port in ports))
    variables = _variables(root)
    for k, port in ports:
        entry = {"name": port.name, "valueReference": str(k)} | _described(port) | _causality(port)
        SubElement(SubElement(variables, "ScalarVariable", entry), "Real", _number(port))
    structure = SubElement(root, "ModelStructure")
    for name in ("Outputs", "InitialUnknowns"):
        parent = SubElement(structure, name)
        for k, _ in unit.ports_of("output"):
            SubElement(parent, "Unknown", index=str(k))
    return _text(root)


def _describe_3(unit: Unit) -> str:
    """Return the model description by FMI 3.0."""
    root = _root(unit, "3.0", {"instantiationToken": unit.token})
    able = ("canGetAndSetFMUState", "canSerializeFMUState", "mightReturnEarlyFromDoStep")
    _co_simulation(root, unit, *able, "hasEventMode")
    _units(root, unit.ports)
    variables = _variables(root)
    clock = {"name": "time", "valueReference": "0", "causality": "independent"}
    SubElement(variables, "Float64", clock, variability="continuous")
    for k, port in enumerate(unit.ports, start=1):
        entry = {"name": port.name, "valueReference": str(k)} | _described(port)
        if port.kind == "event":
            SubElement(variables, "Boolean", entry, causality="output", variability="discrete")
        else:
            SubElement(variables, "Float64", entry | _causality(port) | _number(port))
    structure = SubElement(root, "ModelStructure")
    told = [k for kind in ("output", "event") for k, _ in unit.ports_of(kind)]
    for name in ("Output", "InitialUnknown"):
        for k in told:
            SubElement(structure, name, valueReference=str(k))
    return _text(root)


def _build_description(unit: Unit) -> str:
    """Return how the sources are compiled, by FMI 3.0."""
    root = Element("fmiBuildDescription", fmiVersion="3.0")
    build = SubElement(root, "BuildConfiguration", modelIdentifier=unit.name)
    files = SubElement(build, "SourceFileSet", language="C99")
    for name in (unit.source, f"{unit.name}.c"):
        SubElement(files, "SourceFile", name=name)
    SubElement(build, "Library", name="m")
    return _text(root)
