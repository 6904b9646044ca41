"""Impact at an event: the change of the speeds at a fixed configuration.

Two solvers are compiled routines: enumeration of contact sets with Newton's restitution (impact models
"newton" and "plastic"), and Coulomb's law between impulses and velocities (impact model "moreau"). All other
impact models are Python functions, for which the run loop returns to Python.
"""

from collections.abc import Callable
from enum import IntEnum
from math import isfinite
from typing import Any, TypeVar

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import routine
from draisine.simulation.contact.complementarity.active_set import (
    CONTACTS,
    apply_friction_forces,
    choose_set,
    multiplier_offset,
    write_friction_problem,
)
from draisine.simulation.contact.complementarity.coulomb import solve_friction_law
from draisine.simulation.contact.event_driven.events import (
    CANDIDATES,
    NOT_INCLUDED,
    EventState,
    assemble_machine,
    write_candidate_jacobian,
)
from draisine.simulation.contact.kernels import relative_velocity
from draisine.simulation.contact.status import count_rows


class ImpactSolver(IntEnum):
    """Solver that resolves the impacts of an impact model in event-driven runs."""

    PYTHON = 0  # the impact model itself, a Python function
    SETS = 1  # enumeration of contact sets with restitution
    FRICTION = 2  # Coulomb's law at impulse level


ImpactModel = TypeVar("ImpactModel", bound=Callable[..., Any])
"""Type of an impact model."""


def resolved_by_routine(solver: ImpactSolver) -> Callable[[ImpactModel], ImpactModel]:
    """Return a decorator that marks an impact model whose impacts are resolved by a compiled routine."""

    def mark(model: ImpactModel) -> ImpactModel:
        model.solver = solver  # type: ignore[attr-defined]
        return model

    return mark


IMPULSE_ENTRIES = 4
"""Number of logged values per contact of an impact: three impulses (N s), normal velocity after it (m/s)."""

FRICTION_TOLERANCE = 1e-13
"""Change of the contact velocities per sweep at which the friction solver ends.

It is relative to the largest contact velocity without contact impulses.
"""


@routine
def apply_impact(
    e: EventState,
    solver: int,
    reduced: int,
    normal: float,
    along: float,
    rest: float,
    impulses: Floats,
) -> int:
    """Change the speeds in x by an impact; return the index of the chosen contact set (trial), or -1 if none.

    Parameters
    ----------
    e
        Event data with the touching contacts and their contact rows.
    solver
        ImpactSolver, SETS or FRICTION.
    reduced
        1 for the reduced resolution (see `active_set`), 0 for the complete one.
    normal, along
        Normal and tangential coefficients of restitution.
    rest
        Approach velocity (m/s) below which contacts do not rebound.
    impulses
        Result, (contacts, IMPULSE_ENTRIES): impulses (N s) and normal velocity after the impact (m/s).
    """
    m = e.mode.motion
    x = e.mode.x
    g = e.choice
    assemble_impact(e, normal, along, rest)
    which = -1
    if solver == ImpactSolver.SETS:
        which = solve_impact_by_sets(e, reduced, impulses)
    else:
        which = solve_impact_with_friction(e, impulses)
    if which < 0:
        return which
    x[m.x_v :][: g.n] += g.x[: g.n]
    for j in range(e.sizes[CANDIDATES]):
        index = e.choice_index[j]
        if index >= 0:
            after = relative_velocity(x, e.rows[j * m.row :], m, 0)
            impulses[IMPULSE_ENTRIES * index + 3] = after
    return which


@routine
def assemble_impact(e: EventState, normal: float, along: float, rest: float) -> None:
    """Write the candidates with constraint rows to the contact problem at impulse level.

    The target of each constraint row is the change of the contact velocity (m/s) that restitution requires.
    The other arguments are those of `apply_impact`.
    """
    m = e.mode.motion
    x = e.mode.x
    g = e.choice
    n = g.n
    count = 0
    assemble_machine(e)
    g.right[:n] = 0.0
    g.targets[: g.holds] = 0.0
    for j in range(e.sizes[CANDIDATES]):
        k = e.candidates[j]
        row = e.rows[j * m.row :]
        rows = count_rows(e.closed_status[k])
        e.choice_index[j] = count if rows > 0 else NOT_INCLUDED
        if rows > 0:
            approach = -relative_velocity(x, row, m, 0)
            for i in range(3):
                restitution = normal if i == 0 else along
                factor = 1.0 + restitution if approach > rest else 1.0
                g.c[3 * count + i] = -factor * relative_velocity(x, row, m, i)
            write_candidate_jacobian(e, count, k, row, rows)
            g.push[count * n :][:n] = 0.0
            g.level[count] = approach
            g.avoid[count] = 0
            count += 1
    g.sizes[CONTACTS] = count


@routine
def solve_impact_by_sets(e: EventState, reduced: int, impulses: Floats) -> int:
    """Solve the contact problem of an impact by enumeration of contact sets.

    All normal impulses and separation velocities of the solution are non-negative. Return the index of the
    chosen contact set; -1 if no set is admissible, or if a contact has finite friction.
    """
    g = e.choice
    for j in range(e.sizes[CANDIDATES]):
        mu = e.mu[e.candidates[j]]
        if e.choice_index[j] >= 0 and isfinite(mu) and mu > 0.0:
            return -1
    tol = e.mode.motion.tol
    which = choose_set(g, tol.set_pull_impulse, tol.no_approach, 1, reduced)
    if which >= 0:
        first = multiplier_offset(g, which)
        for k in range(g.sizes[CONTACTS]):
            impulses[IMPULSE_ENTRIES * k :][:3] = g.trials[first + 3 * k :][:3]
        g.x[: g.n] = g.trials[first - g.n :][: g.n]
    return which


@routine
def solve_impact_with_friction(e: EventState, impulses: Floats) -> int:
    """Compute impulses (N s) by Coulomb's law, and the speed change `choice.x`; return 0, or -1 if none."""
    g = e.choice
    law = e.law
    for j in range(e.sizes[CANDIDATES]):
        if e.choice_index[j] >= 0:
            law.mu[e.choice_index[j]] = e.mu[e.candidates[j]]
    if not write_friction_problem(g, law) or solve_friction_law(law, FRICTION_TOLERANCE) != 0:
        return -1
    for k in range(g.sizes[CONTACTS]):
        for i in range(3):
            impulse = law.new[law.first_row[k] + i] if i < g.rows[k] else 0.0
            impulses[IMPULSE_ENTRIES * k + i] = impulse
    apply_friction_forces(g, law)
    return 0
