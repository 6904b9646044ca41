"""Derivation of the equations of a model stage by stage: explanations and resulting quantities."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from draisine.codegen.formula import Symbol
from draisine.reading.cut import TooLong
from draisine.reading.document import Equations, name_given_symbols
from draisine.reading.sheet import Sheet, parse_sentence
from draisine.reading.stages import entry_symbols
from draisine.reading.subject import Subject

ShownQuantity = tuple[str, Sequence[Sequence[Symbol]], Any]
"""Quantity on a page: its symbol, the symbols of its entries, and its value (a matrix or a column).
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the derivation, from the model to the reduced dynamics."""

    title: str
    """Heading of the stage."""
    says: str
    """Explanation of the stage in sentences; symbols are between dollar signs."""
    show: Callable[[Subject], Iterator[ShownQuantity]]
    """Function that yields the quantities of the stage."""


def _vector_symbols(letter: str, link: int, axes: Sequence[str]) -> list[list[Symbol]]:
    """Return the symbols of the components of a vector of one link as a column, one row per axis."""
    return [[Symbol(letter, (f"{link}{axis}",)) for axis in axes]]


def _column_symbols(letter: str, value: Any) -> list[list[Symbol]]:
    """Return the symbols of the entries of a column, counted from one."""
    return [[Symbol(letter, (str(k + 1),)) for k in range(len(value))]]


def _list_poses(subject: Subject) -> Iterator[ShownQuantity]:
    """Yield rotation and origin of each link as quantities to be printed."""
    axes = subject.form.axes
    for j in range(1, len(subject.tree.links)):
        rotation = [[Symbol("R", (f"{j}{a}{b}",)) for b in axes] for a in axes]
        yield f"R_{j}", rotation, subject.geo.R0[j]
        yield f"o_{j}", _vector_symbols("o", j, axes), subject.geo.o0[j]


def _list_motions(subject: Subject) -> Iterator[ShownQuantity]:
    """Yield linear and angular velocity of each link as quantities to be printed."""
    for j in range(len(subject.tree.links)):
        yield rf"\omega_{j}", _vector_symbols("omega", j, subject.form.axes), subject.vel.W[j]
        yield f"V_{j}", _vector_symbols("V", j, subject.form.axes), subject.vel.V_link[j]


def _list_constraint_matrix(subject: Subject) -> Iterator[ShownQuantity]:
    """Yield the constraint matrix C as a quantity to be printed."""
    if len(subject.C):
        yield "C", entry_symbols("C", *subject.C.shape), subject.C


def _list_mass_matrix(subject: Subject) -> Iterator[ShownQuantity]:
    """Yield the mass matrix M as a quantity to be printed."""
    yield "M", entry_symbols("M", *subject.M.shape), subject.M


def _list_forces(subject: Subject) -> Iterator[ShownQuantity]:
    """Yield the generalised forces as quantities to be printed."""
    yield "F", _column_symbols("F", subject.F), subject.F


def _list_kernel(subject: Subject) -> Iterator[ShownQuantity]:
    """Yield the null-space basis H of the constraint rows as a quantity to be printed."""
    if subject.H.size:
        yield "H", entry_symbols("H", *subject.H.shape), subject.H


def _list_acceleration_bias(subject: Subject) -> Iterator[ShownQuantity]:
    """Yield the right-hand side d of the acceleration rows, and the accelerations at zero udot."""
    if len(subject.C):
        yield "d", _column_symbols("d", subject.reduced.c), subject.reduced.c
        yield r"\kappa", _column_symbols("kappa", subject.reduced.kappa), subject.reduced.kappa


def _list_reduced_dynamics(subject: Subject) -> Iterator[ShownQuantity]:
    """Yield the reduced mass matrix and the reduced forces as quantities to be printed."""
    if subject.H.size:
        yield "M_r", entry_symbols("m", *subject.M_r.shape), subject.M_r
        yield "F_r", _column_symbols("f", subject.reduced.F_r), subject.reduced.F_r


DERIVATION_STAGES = (
    Stage(
        "Forward kinematics",
        "Each joint rotates or translates its child link. Composing the joints from the base outwards gives "
        "the pose of every link in the axes of the base: its rotation $R_j$ and its origin $o_j$.",
        _list_poses,
    ),
    Stage(
        "Velocities of the links",
        "A link moves with its parent link, and its joint adds its rate. This gives its angular velocity "
        r"$\omega_j$ and the velocity $V_j$ of its origin, both in its own axes.",
        _list_motions,
    ),
    Stage(
        "Velocity constraints",
        "The contact point of a rolling wheel has zero velocity, a blade does not move sideways, and a "
        "driven or coupled joint has a prescribed rate. Each condition is linear in the speeds: one row of "
        "$C$ $v$ = $b$, with $b$ = 0 unless something is driven.",
        _list_constraint_matrix,
    ),
    Stage(
        "Mass matrix of the unconstrained machine",
        "$M$ gives the kinetic energy of the unconstrained machine as a quadratic form in the speeds $v$. "
        "Its diagonal has the inertia of each motion alone, the other entries couple the motions.",
        _list_mass_matrix,
    ),
    Stage(
        "Forces at constant speeds",
        "$F$ has the forces that keep the speeds of the unconstrained machine constant: centrifugal and "
        r"gyroscopic terms, and the reactions to gravity, springs and dampers. $M$ $\dot{v}$ + $F$ equals "
        "the applied and constraint forces.",
        _list_forces,
    ),
    Stage(
        "Kernel of the constraints",
        "The speeds $u$ are independent; all others follow from them by the constraints, "
        "$v$ = $H$ $u$. Every column of $H$ is one admissible motion.",
        _list_kernel,
    ),
    Stage(
        "Acceleration constraints",
        "The constraint directions rotate with the machine, so that it accelerates even with "
        r"constant $u$: $C$ $\dot{v}$ = $d$ and $\dot{v}$ = $H$ $\dot{u}$ + $\kappa$.",
        _list_acceleration_bias,
    ),
    Stage(
        "Reduced dynamics",
        "Constraint forces do no work in admissible motions. The projection on the columns of $H$ therefore "
        r"eliminates them: $M_r$ $\dot{u}$ + $F_r$ equals the projected applied forces.",
        _list_reduced_dynamics,
    ),
)
"""Stages of the explanation, in the order of the derivation."""


MAX_EXPLAINED_TERMS = 24
"""Largest number of terms of a matrix entry in the stage-by-stage derivation that is not
abbreviated by a name.
"""


def explain(subject: Subject, title: str) -> Equations:
    """Return the derivation of the equations of a small model, stage by stage."""
    # Try a draft first: it shows whether all entries are short enough to be printed without
    # abbreviations.
    expand = True
    try:
        _write_stages(
            Sheet(subject.graph, expand, max_entry_terms=MAX_EXPLAINED_TERMS, draft=True), subject
        )
    except TooLong:
        expand = False
    return Equations(
        _write_stages(Sheet(subject.graph, expand), subject).finish_page(title), subject
    )


def _write_stages(sheet: Sheet, subject: Subject) -> Sheet:
    """Write all stages of the derivation on a page under construction."""
    name_given_symbols(sheet, subject)
    for stage in DERIVATION_STAGES:
        shown = list(stage.show(subject))
        if not shown:
            continue
        sheet.begin_section(stage.title)
        sheet.add_paragraph(*parse_sentence(stage.says))
        for symbol, entries, value in shown:
            if getattr(value, "ndim", 1) == 2:
                sheet.add_matrix(symbol, value, entries)
            else:
                sheet.add_matrix(symbol, [list(value)], entries)
                sheet.transpose_last()
    return sheet
