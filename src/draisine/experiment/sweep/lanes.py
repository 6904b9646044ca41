"""Runs of a sweep side by side, one per SIMD lane: those of one machine on the plane that differ in
numbers only, and are asked about their end.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np

from draisine.errors import ConfigurationError
from draisine.experiment.sweep.designs import Columns
from draisine.experiment.sweep.table import SweepRows
from draisine.mechanics.readings import law_states
from draisine.model import Model
from draisine.model.names import output_names, state_names
from draisine.model.quantity import number
from draisine.results.questions import Question, parse_question
from draisine.scenario.plan import Plan
from draisine.simulation.dataset import named_values
from draisine.simulation.many import simulate_many
from draisine.simulation.options import GripSchedule
from draisine.system.state import State
from draisine.system.tracing import UntraceableLawError

PARAMETERS, INITIAL = "vehicle.parameters.", "initial."
"""The tables whose numbers may differ from lane to lane."""


def fits_lanes(plan: Plan, questions: list[str], columns: Columns) -> bool:
    """Return whether runs can go side by side with the numbers that each would have alone: with equal
    steps, in one contact mode, asked for final values of joints, outputs and their rates.
    """
    numerics, model = plan.numerics, plan.system.model
    parameters, initial = _numbers(columns, PARAMETERS), _numbers(columns, INITIAL)
    known, mode = plan.system.parameters, plan.contact.mode
    return (
        plan.terrain is None
        and not isinstance(mode, GripSchedule)
        and numerics.formulation == "projected"
        and numerics.drift == "project"
        and not numerics.method.ADAPTIVE
        and len(parameters) + len(initial) == len(columns)
        and all(name in known for name in parameters)
        and all(name in state_names(model) for name in initial)
        and all(_final(text, model) for text in questions)
        and not any(set(row.parameters) & set(parameters) for row in plan.system.survey(mode).spare)
        and _is_traced(plan, mode)
    )


def _is_traced(plan: Plan, mode: Mapping[str, str] | None) -> bool:
    """Return whether the control law can be compiled; one that runs in Python drives one machine."""
    try:
        plan.system.machine(mode, plan.law, law_states(plan.law)).rate  # noqa: B018 - traces the law
    except UntraceableLawError:
        return False
    return True


def run_lanes(plan: Plan, until: float, columns: Columns, rows: SweepRows) -> list[int]:
    """Fill in the runs that came to their end, and return the others: they tell more alone."""
    parameters, initial = _numbers(columns, PARAMETERS), _numbers(columns, INITIAL)
    starts: dict[int, State] = {}
    for k in range(len(rows.outcome)):
        with suppress(ConfigurationError):
            starts[k] = _start(plan, _at(parameters, k), _at(initial, k))
    if not starts:
        return list(range(len(rows.outcome)))
    found = simulate_many(
        plan.system,
        list(starts.values()),
        until,
        parameters={name: [values[k] for k in starts] for name, values in parameters.items()},
        law=plan.law,
        contact=plan.contact,
        numerics=plan.numerics,
    )
    model, done = plan.system.model, found["outcome"] == "completed"
    seen = {name: x.T for name, x in found.items() if np.ndim(x) == 2}
    values, ended = named_values(model, seen["r"], seen), np.array(list(starts))[done]
    for text in rows.answers:
        rows.answers[text][ended] = values[_final(text, model)][done]
    rows.outcome[ended] = "completed"
    return sorted(set(range(len(rows.outcome))) - set(ended.tolist()))


def _numbers(columns: Columns, table: str) -> dict[str, list[float]]:
    """Return the columns of a table that are numbers throughout, by name."""
    found = {}
    for path, values in columns.items():
        if path.startswith(table):
            try:
                found[path.removeprefix(table)] = [number(x) for x in values]
            except ValueError:
                continue
    return found


def _at(columns: Mapping[str, list[float]], k: int) -> dict[str, float]:
    return {name: values[k] for name, values in columns.items()}


def _start(plan: Plan, parameters: dict[str, float], initial: dict[str, float]) -> State:
    """Return how one of the machines starts."""
    system = plan.system.with_parameters(**parameters) if parameters else plan.system
    start = replace(plan.start, values={**plan.start.values, **initial})
    return replace(plan, system=system, start=start).state()


def _final(text: str, model: Model) -> str:
    """Return the joint, output or rate whose final value a question asks for, or nothing."""
    question = parse_question(text, model)
    own = [*(joint.name for joint in model.joints), *output_names(model)]
    if not isinstance(question, Question) or question.reducer != "final":
        return ""
    return question.series if question.series.removesuffix("_rate") in own else ""
