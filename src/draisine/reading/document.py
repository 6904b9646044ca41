"""The whole page: coordinates, speeds and parameters with their meanings, then the stages."""

from collections.abc import Mapping
from typing import Any

from draisine.codegen.formula import Expression, Name, Page, Symbol
from draisine.reading.names import INERTIA, LENGTH, SPEED, symbol_of
from draisine.reading.sheet import Sheet
from draisine.reading.stages import STAGES
from draisine.reading.subject import Subject
from draisine.trace import reachable

LONG = 24
"""Most terms of a line of a machine in the plane before its parts get names."""

TWIST = ("V", "V", "V", "Omega", "Omega", "Omega")


def write(subject: Subject, title: str) -> Page:
    """Return the equations of one mode of a machine: those of the plane fully expanded where no
    line gets too long, others in named parts.
    """
    if subject.model.base in ("SE(2)", "fixed", "translations"):
        sheet = _filled(subject, expand=True)
        if sheet.longest <= LONG:
            return sheet.page(title)
    return _filled(subject, expand=False).page(title)


def _filled(subject: Subject, expand: bool) -> Sheet:
    sheet = Sheet(subject.graph, expand)
    _given(sheet, subject)
    for stage in STAGES:
        stage(sheet, subject)
    return sheet


def _given(sheet: Sheet, subject: Subject) -> None:
    """Name what is given: parameters, angles, joints, speeds, inputs."""
    notation, model, cut = subject.notation, subject.model, sheet.cut
    symbols = notation.symbols
    used = _used(subject)
    listed: list[str | Expression] = []
    for name, x in subject.parameters.items():
        if x.index not in used:
            continue
        unit, meaning = notation.meanings.get(name, ("", name))
        kind = INERTIA if unit.startswith("kg") else LENGTH
        number = cut.name(x, symbol_of(name, symbols), kind)
        listed += [Name(sheet.names.symbols[number]), f" {meaning}{f' ({unit})' if unit else ''}; "]
    angles = {"yaw": r"\psi", "lean": r"\varphi", "pitch": r"\theta"}
    turned = []
    for name in subject.turned[1]:
        x = subject.graph.symbol(name)
        if x.index in used:
            cut.name(x, Symbol.parse(symbols.get(name, angles.get(name, name))))
            turned += [Name(sheet.names.symbols[-1]), f" {name}, "]
    joints = [
        Symbol.parse(symbols[j.name]) if j.name in symbols else Symbol("r", (str(k + 1),))
        for k, j in enumerate(model.joints)
    ]
    shape: list[str | Expression] = []
    for x, symbol, joint in zip(subject.r, joints, model.joints, strict=True):
        cut.name(x, symbol)
        shape += [Name(sheet.names.symbols[-1]), f" {joint.name.replace('_', ' ')}, "]
    speeds = [
        Symbol(TWIST[k], (notation.axes[k % 3],)) if k < 6 else joints[k - 6].with_dots()
        for k in subject.columns
    ]
    for x, symbol in zip(subject.v, speeds, strict=True):
        cut.name(x, symbol, SPEED)
    for x, name in zip(subject.w, model.inputs, strict=True):
        cut.name(x, _input_symbol(name, symbols, joints, model.inputs.index(name)), LENGTH)
    for x, axis in zip(subject.p, "xyz", strict=True):
        if x.index in used:
            cut.name(x, Symbol(axis))
    if subject.t.index in used:
        cut.name(subject.t, Symbol("t"))
    sheet.say("Coordinates: ", *turned, *shape)
    sheet.say("Parameters: ", *listed)


def _input_symbol(
    name: str, symbols: Mapping[str, str], joints: list[Symbol], k: int
) -> Symbol:
    """Return tau with the joint's subscript, or a force's letter with its axis."""
    if k < len(joints):
        joint = joints[k]
        return Symbol("tau", joint.below if joint.below else (joint,))
    force, axis = name.rsplit(".", 1)
    return Symbol("P", (f"{force} {axis}".replace("_", " "),))


def _used(subject: Subject) -> set[int]:
    """Return the nodes that the equations need."""
    parts: list[Any] = [subject.C, subject.M, subject.F, subject.Q, subject.c, subject.b]
    roots = [x.index for part in parts for x in _flat(part) if hasattr(x, "index")]
    return set(reachable(subject.graph, roots))


def _flat(part: Any) -> list[Any]:
    return list(part.ravel()) if hasattr(part, "ravel") else list(part)
