"""A machine explained stage by stage: each stage is a function of the mechanics, called on traced
numbers, with what it says of itself and what came out.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from draisine.mechanics import constraints, newton_euler
from draisine.mechanics.formulations import projected
from draisine.mechanics.kernel import eliminate
from draisine.mechanics.kinematics import geometry, velocities
from draisine.reading.cut import TooLong
from draisine.reading.document import Equations, name_given
from draisine.reading.sheet import Sheet
from draisine.reading.stages import places
from draisine.reading.subject import Subject

Shown = tuple[str, str, Any]
"""A quantity: its symbol, the letter of its entries, its value."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step from the drawing to the reduced dynamics: the function at work, and what it gives."""

    title: str
    function: Callable[..., Any]
    show: Callable[[Subject], Iterator[Shown]]

    @property
    def source(self) -> str:
        """The function's full name."""
        return f"{self.function.__module__}.{self.function.__name__}"

    @property
    def says(self) -> str:
        """What the function says of itself: the first sentence of its docstring."""
        text = " ".join(inspect.getdoc(self.function).split())  # type: ignore[union-attr]
        return re.split(r",? eqs?\. |\. |\.$", text, maxsplit=1)[0] + "."


def _poses(subject: Subject) -> Iterator[Shown]:
    for j in range(1, len(subject.tree.links)):
        yield f"R_{j}", f"R{j}", subject.geo.R0[j]
        yield f"o_{j}", f"o{j}", subject.geo.o0[j]


def _motions(subject: Subject) -> Iterator[Shown]:
    for j in range(len(subject.tree.links)):
        yield rf"\omega_{j}", f"w{j}", subject.vel.W[j]
        yield f"V_{j}", f"V{j}", subject.vel.V_link[j]


def _rows(subject: Subject) -> Iterator[Shown]:
    if len(subject.C):
        yield "C", "C", subject.C


def _masses(subject: Subject) -> Iterator[Shown]:
    yield "M", "M", subject.M


def _forces(subject: Subject) -> Iterator[Shown]:
    yield "F", "F", subject.F


def _kernel(subject: Subject) -> Iterator[Shown]:
    if subject.H.size:
        yield "H", "H", subject.H


def _bias(subject: Subject) -> Iterator[Shown]:
    if len(subject.C):
        yield "d", "d", subject.reduced.c
        yield r"\kappa", "kappa", subject.reduced.kappa


def _reduced(subject: Subject) -> Iterator[Shown]:
    if subject.H.size:
        yield "M_r", "m", subject.M_r
        yield "F_r", "f", subject.reduced.F_r


STAGES = (
    Stage("Where the links are", geometry, _poses),
    Stage("How they move", velocities, _motions),
    Stage("Which motions the contacts forbid", constraints.matrix, _rows),
    Stage("The masses of the free machine", newton_euler.mass_matrix, _masses),
    Stage("What free motion needs", newton_euler.inverse_dynamics, _forces),
    Stage("Which motions are left", eliminate, _kernel),
    Stage("How the rows turn", constraints.acceleration_targets, _bias),
    Stage("Free dynamics on what is left", projected.dynamics, _reduced),
)
"""From kinematics to reduced dynamics."""


SHORT = 24
"""Most terms of an entry of a walk that is written out."""


def explain(subject: Subject, title: str) -> Equations:
    """Return the walk through all stages of a small machine."""
    expand = True
    try:
        _walk(Sheet(subject.graph, expand, longest=SHORT, draft=True), subject)
    except TooLong:
        expand = False
    return Equations(_walk(Sheet(subject.graph, expand), subject).page(title), subject)


def _walk(sheet: Sheet, subject: Subject) -> Sheet:
    name_given(sheet, subject)
    for stage in STAGES:
        shown = list(stage.show(subject))
        if not shown:
            continue
        sheet.heading(stage.title)
        sheet.say(f"{stage.source}: {stage.says}")
        for symbol, letter, value in shown:
            if getattr(value, "ndim", 1) == 2:
                sheet.matrix(symbol, value, places(letter, *value.shape))
            else:
                sheet.column(symbol, value, letter)
    return sheet
