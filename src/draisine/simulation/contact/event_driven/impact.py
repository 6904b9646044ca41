"""The impact at an event, as routines: by sets of contacts with restitution (Newton's model; the plastic
one without), or by Coulomb's law between impulses and velocities (Moreau's).
"""

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import routine
from draisine.simulation.contact.complementarity.active_set import (
    CONTACTS,
    choose,
    move,
    pushes_at,
    respond,
)
from draisine.simulation.contact.complementarity.coulomb import settle_friction
from draisine.simulation.contact.event_driven.events import (
    NONE,
    TOUCHING,
    EventState,
    assemble_machine,
    assemble_rows,
)
from draisine.simulation.contact.kernels import relative_velocity
from draisine.simulation.contact.status import count_rows

OTHER, SETS, FRICTION = range(3)
"""OTHER: a model in Python only. SETS: enumeration of contact sets with restitution. FRICTION: Coulomb's law
at impulse level.
"""

ImpactModel = TypeVar("ImpactModel", bound=Callable[..., Any])


def strikes_by(how: int) -> Callable[[ImpactModel], ImpactModel]:
    """Return what marks an impact model as one that routines know: in runs they make its impacts."""

    def mark(model: ImpactModel) -> ImpactModel:
        model.strikes = how  # type: ignore[attr-defined]
        return model

    return mark


PUSH = 4
"""Values logged per contact of an impact: three impulses, and the normal velocity after it."""

FINE = 1e-13
"""Relative change of the contact velocities at which the sweeps end."""


@routine
def apply_impact(
    e: EventState, model: int, reduced: int, normal: float, along: float, rest: float, push: Floats
) -> int:
    """Change the speeds in x by an impact, and write for each contact that holds rows in it three impulses
    and how fast it parts; return which of the trials was chosen, or -1 where this model does not tell.
    Contacts that approach slower than `rest` do not rebound.
    """
    m, x, g = e.mode.motion, e.mode.x, e.choice
    assemble_impact(e, normal, along, rest)
    which = (
        solve_impact_by_sets(e, reduced, push)
        if model == SETS
        else solve_impact_with_friction(e, push)
    )
    if which >= 0:
        x[m.x_v :][: g.n] += g.x[: g.n]
    for j in range(e.sizes[TOUCHING] if which >= 0 else 0):
        if e.part[j] >= 0:
            push[PUSH * e.part[j] + 3] = relative_velocity(x, e.near[j * m.row :], m, 0)
    return which


@routine
def assemble_impact(e: EventState, normal: float, along: float, rest: float) -> None:
    """Put the contacts that touch and hold rows in an impact into the choice, for a change of speeds
    that turns their velocities round, as far as restitution goes.
    """
    s, m, g, n, count = e.mode, e.mode.motion, e.choice, e.choice.n, 0
    assemble_machine(e)
    g.right[:n] = 0.0
    g.targets[: g.holds] = 0.0
    for j in range(e.sizes[TOUCHING]):
        k, row = e.who[j], e.near[j * m.row :]
        rows = count_rows(e.closed_status[k])
        e.part[j] = count if rows > 0 else NONE
        if rows > 0:
            rebounds = 1.0 if -relative_velocity(s.x, row, m, 0) > rest else 0.0
            for i in range(3):
                back = rebounds * (normal if i == 0 else along)
                g.c[3 * count + i] = -(1.0 + back) * relative_velocity(s.x, row, m, i)
            assemble_rows(e, count, k, row, rows)
            g.push[count * n :][:n] = 0.0
            g.level[count], g.avoid[count] = -relative_velocity(s.x, row, m, 0), 0
            count += 1
    g.sizes[CONTACTS] = count


@routine
def solve_impact_by_sets(e: EventState, reduced: int, push: Floats) -> int:
    """Write the change of speeds in which all impulses and separations are non-negative; return which of
    the trials it is, or -1. With friction this is no model.
    """
    g = e.choice
    for j in range(e.sizes[TOUCHING]):
        mu = e.mu[e.who[j]]
        if e.part[j] >= 0 and isfinite(mu) and mu > 0.0:
            return -1
    tol = e.mode.motion.tol
    which = choose(g, tol.set_pull_impulse, tol.no_approach, 1, reduced)
    if which >= 0:
        first = pushes_at(g, which)
        for k in range(g.sizes[CONTACTS]):
            push[PUSH * k :][:3] = g.trials[first + 3 * k :][:3]
        g.x[: g.n] = g.trials[first - g.n :][: g.n]
    return which


@routine
def solve_impact_with_friction(e: EventState, push: Floats) -> int:
    """Write the change of speeds by impulses that obey Coulomb's law; return -1 where there are none."""
    g, law = e.choice, e.law
    for j in range(e.sizes[TOUCHING]):
        if e.part[j] >= 0:
            law.mu[e.part[j]] = e.mu[e.who[j]]
    if not respond(g, law) or settle_friction(law, FINE) != 0:
        return -1
    for k in range(g.sizes[CONTACTS]):
        for i in range(3):
            push[PUSH * k + i] = law.new[law.at[k] + i] if i < g.rows[k] else 0.0
    move(g, law)
    return 0
