"""Machine code of the routines that Python calls in event-driven runs, compiled together."""

from functools import cache
from types import SimpleNamespace
from typing import Any

from draisine.codegen.targets.native import routine_code, share_code
from draisine.simulation.contact.complementarity.active_set import choose_set
from draisine.simulation.contact.complementarity.coulomb import solve_friction_law
from draisine.simulation.contact.complementarity.linear import mark_redundant_rows
from draisine.simulation.contact.complementarity.single_contact import solve_single_contact
from draisine.simulation.contact.event_driven.rank import compute_rank
from draisine.simulation.contact.event_driven.run_loop import (
    advance_events,
    continue_mode,
    search_ahead,
)
from draisine.simulation.contact.kernels import (
    border_excess,
    evaluate_gaps,
    evaluate_gaps_of_states,
    evaluate_rows,
    find_closed_form,
    flow,
    project_state,
    solve_rates,
)
from draisine.simulation.contact.samples import (
    find_nearest,
    find_penetrating_contacts,
    observe_forces,
    observe_modes,
)
from draisine.simulation.integrators.dop853 import VECTOR_WIDTH


@cache
def terrain_code() -> Any:
    """Return the machine code of all routines that Python calls in event-driven runs."""
    entries = (
        advance_events,
        continue_mode,
        search_ahead,
        find_closed_form,
        evaluate_gaps,
        evaluate_gaps_of_states,
        evaluate_rows,
        border_excess,
        flow,
        solve_rates,
        project_state,
        find_penetrating_contacts,
        find_nearest,
        observe_modes,
        observe_forces,
        compute_rank,
        mark_redundant_rows,
    )
    parts = (choose_set, solve_single_contact, solve_friction_law)
    made = routine_code(*entries, *parts, width=VECTOR_WIDTH, passes="few")
    share_code(made[len(entries) :])
    return SimpleNamespace(
        **{entry.__name__: code for entry, code in zip(entries, made, strict=False)}
    )
