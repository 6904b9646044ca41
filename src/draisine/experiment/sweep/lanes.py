"""Runs of a sweep side by side, one per SIMD lane: those of one machine on the plane that differ in
numbers only. What is asked of them is computed on the fly; no trajectory is kept.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.lie import quaternion_product
from draisine.algebra.scalar import Floats
from draisine.codegen.program import select
from draisine.control.follow_path import FollowPath
from draisine.control.lqr import LQR
from draisine.errors import DraisineError
from draisine.experiment.sweep.free_law import FreeLaw, with_numbers
from draisine.experiment.sweep.samples import Indices, Samples
from draisine.experiment.sweep.table import (
    FELL,
    NO_MACHINE,
    NO_START,
    TURNED,
    SweepRows,
    outcome_words,
)
from draisine.mechanics.readings import law_states
from draisine.model.names import state_names
from draisine.registry import find
from draisine.results.queries import (
    SeriesQuery,
    ValidityQuery,
    observed_entry,
    parse_query,
)
from draisine.scenario.plan import Plan
from draisine.simulation.bilateral import REASONS
from draisine.simulation.integrators import DEGENERATE
from draisine.simulation.many import Fleet
from draisine.simulation.options import GripSchedule, Task
from draisine.simulation.validity.assess import (
    FORCE_RESOLUTION,
    LIGHT,
    STEER,
    conserves_energy,
    energy_drift,
    friction_ratio,
)
from draisine.simulation.validity.fall import fall_rule
from draisine.simulation.validity.margins import crossing_times
from draisine.simulation.validity.record import ENERGY_DRIFT
from draisine.system.artifacts import find_invalid_machines
from draisine.system.closed_form import ClosedForm
from draisine.system.compiled import Compiled, pad_columns
from draisine.system.state import State, states
from draisine.system.tracing import UntraceableLawError

PARAMETERS, INITIAL = "vehicle.parameters.", "initial."
"""The tables whose numbers may differ from lane to lane."""

ROOM = 2**28
"""How many bytes the samples of the machines of one block may take."""


SLACK = 1e-4
"""How much smaller pivots may be than in a run alone, which chooses others there: machines come near
that where they fall, and end. Five digits of sixteen are lost instead of one; equal steps keep fewer.
"""

WORDS = np.array([outcome_words(REASONS.get(k, "completed")) for k in range(8)], dtype=object)
"""How a run ended in few words, by its status."""


class Lanes:
    """Runs of one plan that differ in parameters, initial values and the `free` numbers of laws, side
    by side.
    """

    def __init__(
        self, plan: Plan, until: float, questions: Sequence[str], free: Sequence[str] = ()
    ) -> None:
        self.plan, self.until, self.free, model = plan, until, tuple(free), plan.system.model
        self.law: Any = FreeLaw(plan.law, self.free) if free else plan.law
        self.questions = {text: parse_query(text, model) for text in questions}

    def fits(self, paths: Sequence[str]) -> bool:
        """Return whether runs that differ in these key paths can go side by side with the numbers that
        each would have alone: with equal steps, in one contact mode, asked for what one state tells.
        """
        plan, numerics = self.plan, self.plan.numerics
        parameters, initial = names_in(paths, PARAMETERS), names_in(paths, INITIAL)
        return (
            plan.terrain is None
            and plan.start.mode is None
            and plan.motion is None
            and not isinstance(plan.contact.mode, GripSchedule)
            and plan.contact.mu == math.inf
            and numerics.formulation == "projected"
            and numerics.drift == "project"
            and not numerics.method.ADAPTIVE
            and len(parameters) + len(initial) + len(self.free) == len(paths)
            and all(name in plan.system.parameters for name in parameters)
            and all(name in state_names(plan.system.model) for name in initial)
            and all(self._is_observed(question) for question in self.questions.values())
            and not (self._is_designed() and (parameters or "forward_speed" in initial))
            and not any(
                set(row.parameters) & set(parameters)
                for row in plan.system.survey(plan.contact.mode).redundant
            )
            and self._is_traced()
            and self._bytes() < ROOM
        )

    def _is_observed(self, question: object) -> bool:
        if isinstance(question, SeriesQuery):
            return observed_entry(question.series, self.plan.system.model) is not None
        return isinstance(question, ValidityQuery)

    def _is_designed(self) -> bool:
        """Return whether a law is made for each machine and its speed anew."""
        laws = getattr(self.plan.scenario, "law", None) or ()
        return any(find("law", str(entry["name"])) in (LQR, FollowPath) for entry in laws)

    def _is_traced(self) -> bool:
        """Return whether the control law can be compiled; one that runs in Python drives one machine."""
        try:
            self.machine.rate  # noqa: B018 - traces the law
        except UntraceableLawError:
            return False
        return True

    def _bytes(self) -> float:
        steps = self.until / self.plan.numerics.dt
        return 8.0 * steps * 4 * self.machine.rate.lanes * self.machine.observe.inputs.size

    @cached_property
    def machine(self) -> ClosedForm:
        """The machine in its mode, driven by the law."""
        plan = self.plan
        assert not isinstance(plan.contact.mode, GripSchedule)
        return plan.system.machine(plan.contact.mode, self.law, law_states(self.law))

    @cached_property
    def _entries(self) -> dict[str, list[int]]:
        """Which numbers are asked of a state, as entries of what `observe` tells."""
        model, found = self.plan.system.model, dict[str, list[int]]()
        asked = [
            observed_entry(question.series, model)
            for question in self.questions.values()
            if isinstance(question, SeriesQuery)
        ]
        wanted = [one for one in asked if one is not None]
        if any(isinstance(question, ValidityQuery) for question in self.questions.values()):
            wanted += [("forces", 3 * k + i) for k in self._wheels for i in range(3)]
            wanted += [("kinetic", 0), ("potential", 0)] if self._conserves_energy else []
        for name, k in dict.fromkeys(wanted):
            if name not in ("r", "time"):
                found.setdefault(name, []).append(k)
        return found

    @cached_property
    def _observe(self) -> Compiled | None:
        """The part of `observe` that tells them."""
        if not self._entries:
            return None
        program = select(self.machine.programs["observe"], self._entries)
        return self.machine.artifacts.bind(program, self.plan.system.values)

    @property
    def _wheels(self) -> list[int]:
        """Which contacts are wheels."""
        model = self.plan.system.model
        return [k for k, contact in enumerate(model.contacts) if contact in model.wheels]

    @property
    def _conserves_energy(self) -> bool:
        """Whether nothing drives or brakes the machine."""
        return self.plan.law is None and conserves_energy(self.plan.system.model)

    def run(self, columns: Mapping[str, Floats]) -> tuple[SweepRows, list[int]]:
        """Return what is known of runs with these numbers by key path, and which of them need other
        pivots on their way and have to go alone.
        """
        count = len(next(iter(columns.values())))
        rows, system = SweepRows.empty(list(self.questions), count), self.plan.system
        own = np.repeat(system.values[:, None], count, axis=1)
        for name, path in names_in(columns, PARAMETERS).items():
            own[list(system.parameters).index(name)] = columns[path]
        rows.outcome[
            [*find_invalid_machines(system.artifacts, own), *self._impossible_laws(columns)]
        ] = NO_MACHINE
        there = np.flatnonzero(rows.outcome != NO_MACHINE)
        asked = {name: np.full(count, x) for name, x in self.plan.start.values.items()}
        asked |= {name: columns[path] for name, path in names_in(columns, INITIAL).items()}
        start = self.plan.start
        found, wrong = states(
            system,
            {name: x[there] for name, x in asked.items()},
            at_rest=start.at_rest,
            parameters=own[:, there].T,
        )
        sound = np.array([not text for text in wrong], dtype=bool)
        rows.outcome[there[~sound]] = NO_START
        here = there[sound]
        if not len(here):
            return rows, []
        numbers = np.array([columns[path][here] for path in self.free]).reshape(-1, len(here))
        start_states = {n: x[:, sound] for n, x in found.items()}
        return rows, self._record(start_states, own, numbers, here, rows)

    def _impossible_laws(self, columns: Mapping[str, Floats]) -> Iterator[int]:
        """Yield which runs have numbers with which their law is none."""
        given = (columns[path].tolist() for path in self.free)
        for k, numbers in enumerate(zip(*given, strict=True)):
            try:
                with_numbers(self.plan.law, dict(zip(self.free, numbers, strict=True)))
            except DraisineError:
                yield k

    def _fleet(
        self, found: Mapping[str, Floats], own: Floats, numbers: Floats
    ) -> tuple[Fleet, Floats, list[float]]:
        """Return machines that start from some states, with parameters and numbers of laws of their own,
        their y, and the times between which nothing jumps.
        """
        plan, machine, count = self.plan, self.machine, own.shape[1]
        q, p, r, v = (found[name][:, 0] for name in "qprv")
        first, numerics = State(q, p, r, v), plan.numerics
        task = Task(
            plan.system, first, self.until, None, self.law, None, plan.contact, numerics, None
        )
        inputs = np.repeat(plan.system.inputs()[:, None], count, axis=1)
        z = np.repeat(task.law_start(machine.states)[:, None], count, axis=1)
        place = np.concatenate([found["p"][:2], found["q"]])
        if hasattr(self.law, "start_at") and np.any(place != place[:, :1]):
            # A law may start where its machine is.
            for k in range(count):
                q, p, r, v = (found[name][:, k] for name in "qprv")
                one = replace(task, state=State(q, p, r, v))
                z[:, k] = one.law_start(machine.states)
        z[len(z) - len(numbers) :] = numbers
        rule = fall_rule(plan.system.model, plan.contact.fall)
        fleet, y = Fleet.start(machine, found, inputs, own, z, rule)
        return replace(fleet, slack=SLACK), y, task.edges

    def _record(
        self,
        found: Mapping[str, Floats],
        own: Floats,
        numbers: Floats,
        here: Floats,
        rows: SweepRows,
    ) -> list[int]:
        """Fill in the runs that start from some states, with numbers of laws; return those that have to
        go alone.
        """
        fleet, y, edges = self._fleet(found, own[:, here], numbers)
        turn = fleet.frames[0]
        tables = None if self._observe is None else self._observe.tables(fleet.values)

        @np.errstate(all="ignore")  # what blows up may end with huge numbers
        def take(some: slice, times: Floats, x: Floats, ends: Indices, wrong: Floats) -> None:
            width, count = x.shape[2], some.stop - some.start
            fallen, turned = self._falls(Samples(times, x, ends), pad_columns(turn[:, some], width))
            first = np.fmin(fallen, turned)
            ends = np.minimum(ends, np.maximum(np.searchsorted(times, first, side="right") - 1, 0))
            seen: Mapping[str, Floats] = {}
            if self._observe is not None and tables is not None:
                out = self._observe.batches(x, pad_columns(tables[:, some], width))
                seen = self._observe.outputs.split(out.transpose(1, 0, 2))
            found = self._answers(Samples(times, x, ends), seen, fallen, turned)
            for text, values in found.items():
                rows.answers[text][here[some]] = values[:count]
            words = WORDS[wrong.astype(int)]
            words[~np.isnan(fallen)], words[~np.isnan(turned)] = FELL, TURNED
            rows.outcome[here[some]] = words[:count]
            again = (wrong == DEGENERATE) & np.isnan(first)
            alone.extend(here[some][again[:count]].tolist())

        alone: list[int] = []
        fleet.record(y, edges, self.plan.numerics, take)
        return sorted(alone)

    def _falls(self, samples: Samples, turn: Floats) -> tuple[Floats, Floats]:
        """Return when each machine falls, and when its steer is turned too far (NaN: never, or not
        first).
        """
        model, at = self.plan.system.model, self.machine.layout
        rule = fall_rule(model, self.plan.contact.fall)
        y, t = samples.x[:, 1:].transpose(1, 0, 2), samples.held_times
        fallen = turned = np.full(len(t), np.nan)
        if rule.watches:
            back = turn * np.array([[1.0], [-1.0], [-1.0], [-1.0]])
            q = quaternion_product(y[at.q], back[:, None])
            fallen = crossing_times(t, samples.hold(rule.margin(q)))
        steered = [k for k, joint in enumerate(model.joints) if joint.name == "steer"]
        if steered:
            turned = crossing_times(t, samples.hold(STEER - np.abs(y[at.r][steered[0]])))
        first = np.fmin(fallen, turned)
        return np.where(fallen <= first, fallen, np.nan), np.where(fallen <= first, np.nan, turned)

    def _answers(
        self, samples: Samples, seen: Mapping[str, Floats], fallen: Floats, turned: Floats
    ) -> dict[str, Floats]:
        """Return the answers to all questions, of what is seen (entries, time, columns)."""
        model, t = self.plan.system.model, samples.held_times
        shape = samples.x[:, 1:][:, self.machine.layout.r].transpose(1, 0, 2)

        def series(text: str) -> Floats:
            entry = observed_entry(text, model)
            assert entry is not None
            name, k = entry
            if name == "time":
                return t
            return samples.hold(shape[k] if name == "r" else seen[name][self._entry(name, k)])

        def judged(text: str) -> Floats:
            if text == "time to fall":
                return fallen
            pushes = self._pushes(samples, seen)
            if text == "friction needed":
                ratios = [
                    friction_ratio(push, LIGHT * push[0].max(axis=-1, keepdims=True))
                    for push in pushes
                ]
                return np.max(ratios, axis=0, initial=0.0)
            largest = np.abs(pushes).max(axis=(0, 1, 3), initial=0.0)[:, None] if pushes else 0.0
            times = [crossing_times(t, push[0] + FORCE_RESOLUTION * largest) for push in pushes]
            return np.fmin.reduce([fallen, turned, *times, self._energy_drifts(samples, seen)])

        return {
            text: question.reduce(t, series(question.series))
            if isinstance(question, SeriesQuery)
            else judged(" ".join(text.split()))
            for text, question in self.questions.items()
        }

    def _pushes(self, samples: Samples, seen: Mapping[str, Floats]) -> list[Floats]:
        """Return the forces of the ground on each wheel: (normal, along, across), columns, time."""
        places = [[self._entry("forces", 3 * k + i) for i in range(3)] for k in self._wheels]
        return [np.array([samples.hold(seen["forces"][i]) for i in rows]) for rows in places]

    def _energy_drifts(self, samples: Samples, seen: Mapping[str, Floats]) -> Floats:
        """Return when the energy of each machine drifts beyond its bound (NaN: never)."""
        t = samples.held_times
        if not self._conserves_energy:
            return np.full(len(t), np.nan)
        T, U = (samples.hold(seen[name][self._entry(name, 0)]) for name in ("kinetic", "potential"))
        drift = energy_drift(T, U) > ENERGY_DRIFT
        return np.where(drift.any(axis=1), t[np.arange(len(t)), drift.argmax(axis=1)], np.nan)

    def _entry(self, name: str, k: int) -> int:
        return self._entries[name].index(k)


def names_in(paths: Sequence[str] | Mapping[str, object], table: str) -> dict[str, str]:
    """Return the key paths of a table by the names that stand in it.

    >>> names_in(["initial.lean", "run.dt"], INITIAL)
    {'lean': 'initial.lean'}
    """
    return {path.removeprefix(table): path for path in paths if path.startswith(table)}
