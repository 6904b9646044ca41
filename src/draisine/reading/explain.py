"""A machine explained stage by stage: what happens in each, in words, and what came out of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from draisine.codegen.formula import Symbol
from draisine.reading.cut import TooLong
from draisine.reading.document import Equations, name_given
from draisine.reading.sheet import Sheet, sentence
from draisine.reading.stages import places
from draisine.reading.subject import Subject

Shown = tuple[str, Sequence[Sequence[Symbol]], Any]
"""A quantity: its symbol, the symbols of its entries, its value (a matrix or a column)."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step from the drawing to the reduced dynamics: what happens, and what it gives. Symbols stand
    between dollar signs.
    """

    title: str
    says: str
    show: Callable[[Subject], Iterator[Shown]]


def _vector(letter: str, j: int, axes: Sequence[str]) -> list[list[Symbol]]:
    """Return the symbols of a vector of the j-th link."""
    return [[Symbol(letter, (f"{j}{axis}",)) for axis in axes]]


def _column(letter: str, value: Any) -> list[list[Symbol]]:
    """Return the symbols of a column's entries, counted from one."""
    return [[Symbol(letter, (str(k + 1),)) for k in range(len(value))]]


def _poses(subject: Subject) -> Iterator[Shown]:
    axes = subject.form.axes
    for j in range(1, len(subject.tree.links)):
        turned = [[Symbol("R", (f"{j}{a}{b}",)) for b in axes] for a in axes]
        yield f"R_{j}", turned, subject.geo.R0[j]
        yield f"o_{j}", _vector("o", j, axes), subject.geo.o0[j]


def _motions(subject: Subject) -> Iterator[Shown]:
    for j in range(len(subject.tree.links)):
        yield rf"\omega_{j}", _vector("omega", j, subject.form.axes), subject.vel.W[j]
        yield f"V_{j}", _vector("V", j, subject.form.axes), subject.vel.V_link[j]


def _rows(subject: Subject) -> Iterator[Shown]:
    if len(subject.C):
        yield "C", places("C", *subject.C.shape), subject.C


def _masses(subject: Subject) -> Iterator[Shown]:
    yield "M", places("M", *subject.M.shape), subject.M


def _forces(subject: Subject) -> Iterator[Shown]:
    yield "F", _column("F", subject.F), subject.F


def _kernel(subject: Subject) -> Iterator[Shown]:
    if subject.H.size:
        yield "H", places("H", *subject.H.shape), subject.H


def _bias(subject: Subject) -> Iterator[Shown]:
    if len(subject.C):
        yield "d", _column("d", subject.reduced.c), subject.reduced.c
        yield r"\kappa", _column("kappa", subject.reduced.kappa), subject.reduced.kappa


def _reduced(subject: Subject) -> Iterator[Shown]:
    if subject.H.size:
        yield "M_r", places("m", *subject.M_r.shape), subject.M_r
        yield "F_r", _column("f", subject.reduced.F_r), subject.reduced.F_r


STAGES = (
    Stage(
        "Where the links are",
        "Each joint turns or shifts what hangs behind it. Joint after joint, this places every link in the "
        "axes of the base: its rotation $R_j$, and its origin $o_j$.",
        _poses,
    ),
    Stage(
        "How they move",
        "A link is carried along by the one before it, and its own joint adds its rate: its angular velocity "
        r"$\omega_j$, and the velocity $V_j$ of its origin, both in its own axes.",
        _motions,
    ),
    Stage(
        "Which motions the contacts forbid",
        "The touching point of a wheel that rolls stands still, a blade does not move across itself, a "
        "driven or coupled joint has its rate given. Each of these is linear in the speeds: one row of "
        "$C$ $v$ = $b$, where $b$ is 0 unless something is driven.",
        _rows,
    ),
    Stage(
        "The masses of the free machine",
        "Lifted off the ground, the machine has the kinetic energy that $M$ gives with the speeds $v$. On "
        "the diagonal is the inertia of each motion alone; beside it, how one motion pulls at another.",
        _masses,
    ),
    Stage(
        "What free motion needs",
        "The forces that the free machine needs to keep its speeds as they are: centrifugal and gyroscopic "
        r"terms, and what holds weight, springs and dampers. So $M$ $\dot{v}$ + $F$ is what acts from "
        "outside.",
        _forces,
    ),
    Stage(
        "Which motions are left",
        "What the rows do not forbid: the speeds $u$ may be anything, all others follow from them, "
        "$v$ = $H$ $u$. Every column of $H$ is one motion that the contacts allow.",
        _kernel,
    ),
    Stage(
        "How the rows turn",
        "The forbidden directions turn with the machine. To keep to them it has to accelerate even with "
        r"constant $u$: $C$ $\dot{v}$ = $d$, and $\dot{v}$ = $H$ $\dot{u}$ + $\kappa$.",
        _bias,
    ),
    Stage(
        "Free dynamics on what is left",
        "Along motions that are allowed the forces of the contacts do no work: seen along the columns of $H$ "
        r"they are gone, and $M_r$ $\dot{u}$ + $F_r$ is what forces from outside do along these motions.",
        _reduced,
    ),
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
        sheet.say(*sentence(stage.says))
        for symbol, entries, value in shown:
            if getattr(value, "ndim", 1) == 2:
                sheet.matrix(symbol, value, entries)
            else:
                sheet.matrix(symbol, [list(value)], entries)
                sheet.stand_up()
    return sheet
