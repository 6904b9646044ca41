"""Functional mock-up units (FMU) for co-simulation in other tools, FMI 2.0 and 3.0.

An FMU contains the C simulator of a vehicle, in one contact mode or on terrain, compiled for this computer
and as source code. FMI 3.0 supports event mode: a step then ends when the normal force of a contact becomes
negative or, on terrain, when a wheel touches down or lifts off.
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
from draisine.interop.cosimulation import (
    Port,
    Unit,
    compile_library,
    write_terrain_unit,
    write_unit,
)
from draisine.system.state import State
from draisine.system.system import System

FMI_VERSIONS = ("2.0", "3.0")
"""Supported versions of the FMI standard."""

ARCHIVE_DATE = (1980, 1, 1, 0, 0, 0)
"""Date (year, month, day, hour, minute, second) of all files in an FMU.

A constant date makes the FMU reproducible. It is the earliest date of the ZIP format.
"""


def export_fmu(
    system: System, start: State, path: str | Path, *, version: str = "3.0", **options: Any
) -> None:
    """Write a compiled vehicle as a functional mock-up unit (FMU) for co-simulation.

    Parameters
    ----------
    system
        Compiled vehicle.
    start
        Initial state.
    path
        File that ends with `.fmu`.
    version
        Version of FMI, "2.0" or "3.0".
    **options
        Without `terrain`: contact mode `mode`, control law `law`, `inputs`, and the largest step `dt`
        (default 1/1024 s). With `terrain`, contacts open and close. The options are then `law`, `inputs`,
        `contact`, `numerics` and `until`. The FMU contains all contact modes of a run up to the time `until`
        (s).

    Raises
    ------
    ParameterError
        If the file name does not end with `.fmu` or the version is unknown.
    MissingPackageError
        If there is no C compiler.

    Examples
    --------
    >>> import tempfile, zipfile
    >>> disc = draisine.compile("rolling_disc")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_fmu(disc, draisine.state(disc, forward_speed=2.0), f"{folder}/disc.fmu")
    ...     "modelDescription.xml" in zipfile.ZipFile(f"{folder}/disc.fmu").namelist()
    True
    """
    path = Path(path)
    expect_known("FMI", version, FMI_VERSIONS)
    if path.suffix != ".fmu":
        raise ParameterError(f"{path}: the name of an FMI unit must end with .fmu.")
    check_writable(path)
    has_terrain = options.get("terrain") is not None
    write = write_terrain_unit if has_terrain else write_unit
    unit = write(system, start, f"fmi{version[0]}", **options)
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
                archive.writestr(zipfile.ZipInfo(name, ARCHIVE_DATE), data, zipfile.ZIP_DEFLATED)


def _library_suffix() -> str:
    """Return the file suffix of shared libraries on this operating system."""
    return {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


def _platform(version: str) -> str:
    """Return the platform name of this computer in a version of the FMI standard, such as x86_64-linux."""
    if version == "2.0":
        kind = {"win32": "win", "darwin": "darwin"}.get(sys.platform, "linux")
        return f"{kind}{64 if sys.maxsize > 2**32 else 32}"
    kind = {"win32": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    machine = {"amd64": "x86_64", "arm64": "aarch64"}
    name = platform.machine().lower()
    return f"{machine.get(name, name)}-{kind}"


def _text(root: Element) -> str:
    """Return an XML tree as text."""
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _root(unit: Unit, version: str, token: Mapping[str, str]) -> Element:
    """Return the root element of the model description (modelDescription.xml) of an FMU."""
    tool = f"draisine {draisine.__version__}"
    attributes = {"fmiVersion": version, "modelName": unit.name, **token}
    return Element(
        "fmiModelDescription",
        attributes,
        generationTool=tool,
        variableNamingConvention="structured",
    )


def _co_simulation(root: Element, unit: Unit, *capabilities: str) -> Element:
    """Add and return the element `CoSimulation`, with variable steps and the named capability flags."""
    flags = dict.fromkeys(("canHandleVariableCommunicationStepSize", *capabilities), "true")
    return SubElement(root, "CoSimulation", {"modelIdentifier": unit.name, **flags})


def _variables(root: Element) -> Element:
    """Add the elements `DefaultExperiment` and `ModelVariables` in this order; return the second."""
    SubElement(root, "DefaultExperiment", startTime="0", stopTime="5", stepSize="0.01")
    return SubElement(root, "ModelVariables")


def _units(root: Element, ports: Iterable[Port]) -> None:
    """Add the definitions of all physical units that the ports use."""
    units = dict.fromkeys(port.unit for port in ports if port.unit)
    if units:
        parent = SubElement(root, "UnitDefinitions")
        for name in units:
            SubElement(parent, "Unit", name=name)


def _described(port: Port) -> dict[str, str]:
    """Return the XML attribute `description` of a port."""
    return {"description": port.meaning} if port.meaning else {}


def _number(port: Port) -> dict[str, str]:
    """Return the XML attributes `unit` and `start` of a port; outputs have no start value."""
    unit = {"unit": port.unit} if port.unit else {}
    return unit | ({} if port.kind == "output" else {"start": repr(float(port.start))})


def _causality(port: Port) -> dict[str, str]:
    """Return the XML attributes `causality` and `variability` of a port."""
    fixed = {"variability": "fixed"} if port.kind == "parameter" else {}
    return {"causality": port.kind, **fixed}


def _describe_2(unit: Unit) -> str:
    """Return the text of modelDescription.xml in the format of FMI 2.0."""
    root = _root(unit, "2.0", {"guid": unit.token})
    copies = ("canGetAndSetFMUstate", "canSerializeFMUstate") if unit.can_copy else ()
    kind = _co_simulation(root, unit, *copies)
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
    """Return the text of modelDescription.xml in the format of FMI 3.0."""
    root = _root(unit, "3.0", {"instantiationToken": unit.token})
    copies = ("canGetAndSetFMUState", "canSerializeFMUState") if unit.can_copy else ()
    _co_simulation(root, unit, *copies, "mightReturnEarlyFromDoStep", "hasEventMode")
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
    numbers = [k for kind in ("output", "event") for k, _ in unit.ports_of(kind)]
    for name in ("Output", "InitialUnknown"):
        for k in numbers:
            SubElement(structure, name, valueReference=str(k))
    return _text(root)


def _build_description(unit: Unit) -> str:
    """Return the text of buildDescription.xml (FMI 3.0), which lists the C source files to compile."""
    root = Element("fmiBuildDescription", fmiVersion="3.0")
    build = SubElement(root, "BuildConfiguration", modelIdentifier=unit.name)
    files = SubElement(build, "SourceFileSet", language="C99")
    for name in (unit.source, f"{unit.name}.c"):
        SubElement(files, "SourceFile", name=name)
    SubElement(build, "Library", name="m")
    return _text(root)
