"""Motions together with their exact derivatives by parameters, initial values and inputs.

The derivative of `ydot = f(y, p)` along an unknown moves by the tangent of f, eq. [tangent-flow]; the
integrator carries both at once, so that what comes out is the derivative of the computed motion. The
start keeps what was asked of it, and its contacts closed, while parameters change: it is differentiated
by differences of eighth order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import EIGHTH
from draisine.analysis.gradient.saltation import EventGradient, TerrainMotion
from draisine.analysis.gradient.tangents import (
    Directions,
    TangentProgram,
    integrate,
    tangent_program,
)
from draisine.analysis.linear import machine_at
from draisine.analysis.metrics import metric_gradient, split_question
from draisine.errors import (
    ConfigurationError,
    ModelError,
    ParameterError,
    SimulationError,
    expect_known,
)
from draisine.model.names import observation_names
from draisine.simulation.compare.compliant import Compliant
from draisine.simulation.options import CONTACT, ContactOptions, Numerics
from draisine.simulation.simulate import compute_run
from draisine.simulation.validity.fall import fall_rule
from draisine.system.artifacts import check_system
from draisine.system.closed_form import ClosedForm
from draisine.system.generic import generic
from draisine.system.state import State, initial_values, state, states
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain
from draisine.vehicles import expect_parameters

States = Mapping[str, Floats]
"""States as q, p, r, v, one column for each."""
STEP = 1e-2
"""The relative step by which the start is differentiated."""

FINE = Numerics(rtol=1e-12, atol=1e-13)
"""How exactly motions are followed, if nothing else is asked for."""

SMOOTH = ("q", "p", "r", "u", "z")


@dataclass(frozen=True, eq=False)
class MotionGradient:
    """Outputs of a motion (times, outputs), their derivatives by unknowns (times, outputs, unknowns),
    and the events on the way, each with the derivatives of its time.
    """

    values: Floats
    derivatives: Floats
    times: Floats
    outputs: tuple[str, ...]
    events: tuple[EventGradient, ...] = ()

    def answer(self, question: str) -> tuple[float, Floats]:
        """Return a number of the whole motion, and its derivatives by the unknowns: what sweeps ask for,
        such as "maximum lean", "decay rate of lean", "time when steer = 5deg", of the samples at these
        times.

        >>> from draisine import compile
        >>> run = GradientRun(["lean"], ["c"])
        >>> start = {"forward_speed": 5.0, "lean_rate": 0.1}
        >>> found = run(compile("whipple"), start, np.linspace(0.0, 1.0, 101))
        >>> value, slopes = found.answer("maximum lean")
        >>> print(f"{value:.4f} rad, {slopes[0]:.4f} rad/m")
        0.0211 rad, -0.0354 rad/m
        """
        asked = split_question(" ".join(question.split()))
        if asked is None or asked[1] not in self.outputs:
            raise ParameterError(
                f"{question!r} asks for nothing known of {', '.join(self.outputs)}. Examples: "
                f"'maximum {self.outputs[0]}', 'time when {self.outputs[0]} = 0.1'."
            )
        reducer, name, level = asked
        k = self.outputs.index(name)
        return metric_gradient(
            reducer, level, self.times, self.values[:, k], self.derivatives[:, k]
        )


@dataclass(frozen=True)
class GradientRun:
    """How motions are followed with the derivatives of outputs by unknowns: parameters by their names,
    initial values by those of the start, inputs as in `inputs.steer`, coefficients of the impact model
    as in `restitution.normal`. The rest is as for `simulate`.

    >>> from draisine import compile
    >>> bicycle = compile("whipple")
    >>> run = GradientRun(["lean"], ["c", "lean_rate"])
    >>> found = run(bicycle, {"forward_speed": 5.0, "lean_rate": 0.1}, np.array([0.0, 0.5]))
    >>> found.derivatives.shape
    (2, 1, 2)
    """

    outputs: Sequence[str]
    unknowns: Sequence[str]
    terrain: Terrain | None = None
    law: Law | None = None
    inputs: Mapping[str, float] = field(default_factory=dict)
    contact: ContactOptions = CONTACT
    numerics: Numerics = FINE

    def __call__(
        self, system: System, start: Mapping[str, Any], times: Sequence[float] | Floats
    ) -> MotionGradient:
        """Return the outputs of the motion of a system at rising times, and their derivatives."""
        check_system("gradient", system)
        at = np.asarray(times, float)
        self._check(system, start, at)
        follow_it = self._on_plane if self.terrain is None else self._on_terrain
        seen, events = follow_it(system, start, at)
        derivatives = np.moveaxis(seen[:, 1:], 1, 2)
        return MotionGradient(seen[:, 0], derivatives, at, tuple(self.outputs), events)

    def _places(self, system: System) -> list[int]:
        """Return where the outputs stand among all that is seen."""
        known = observation_names(system.model)
        return [known.index(name) for name in self.outputs]

    def _check(self, system: System, start: Mapping[str, Any], times: Floats) -> None:
        """Raise where an output or an unknown is not there, or times do not rise."""
        known = observation_names(system.model)
        expect_known("no output", self.outputs, known)
        inputs = [f"inputs.{name}" for name in system.model.inputs]
        impacts = [f"restitution.{name}" for name in self.contact.restitution]
        known = [*system.parameters, *start, *inputs, *impacts]
        kinds = "parameter, initial value, input or coefficient"
        expect_parameters(system.vehicle, self.unknowns, known, kinds)
        rising = times.ndim == 1 and times.size > 0 and np.isfinite(times).all()
        if not rising or times[0] < self.numerics.start or np.any(np.diff(times) <= 0):
            raise ParameterError(f"times: they rise, from {self.numerics.start:g} s on.")
        if any(contact.anchored for contact in system.model.contacts):
            raise ModelError(
                f"{system.vehicle.__name__} hangs by pins, which hold where they took hold: see "
                "draisine.analysis.gait for its derivatives."
            )

    def _directions(self, system: System) -> Directions:
        """Return what the motions along the unknowns differ in."""
        inputs = [f"inputs.{name}" for name in system.model.inputs]
        return Directions(self._among(list(system.parameters)), self._among(inputs))

    def _among(self, names: Sequence[str]) -> Floats:
        """Return where the unknowns, one row each, stand among names."""
        rows = [[float(name == unknown) for name in names] for unknown in self.unknowns]
        return np.array(rows).reshape(len(self.unknowns), len(names))

    def _start(
        self, system: System, start: Mapping[str, Any], enter: Callable[[States, Floats], Floats]
    ) -> Floats:
        """Return what `enter(states, parameters)` gives at the start, with its derivatives: what was
        asked for stays, contacts stay closed. Neighbours need be no machines.
        """
        options = {name: x for name, x in start.items() if name in ("mode", "t", "at_rest")}
        given = {name: x for name, x in start.items() if name not in options}
        asked = initial_values(given, system.model)
        known = dict(zip(given, asked.values(), strict=True)) | system.parameters
        moved = [name for name in self.unknowns if name in known]
        own = np.repeat(system.values[:, None], 1 + 9 * len(moved), axis=1)
        numbers = {name: np.full(own.shape[1], x) for name, x in asked.items()}
        rows = dict(zip(given, numbers.values(), strict=True))
        rows |= dict(zip(system.parameters, own, strict=True))
        steps = {name: STEP * max(abs(known[name]), STEP) for name in moved}
        for k, name in enumerate(moved):
            rows[name][1 + 9 * k : 10 + 9 * k] += steps[name] * np.arange(-4, 5)
        found, wrong = states(system, numbers, parameters=own.T, **options)
        for text in filter(None, wrong):
            raise ConfigurationError(text)
        whole = enter(found, own)
        derivatives = dict.fromkeys(self.unknowns, np.zeros_like(whole[0]))
        for name, beside in zip(moved, whole[1:].reshape(-1, 9, whole.shape[1]), strict=True):
            parts = [weight * (beside[4 + k] - beside[4 - k]) for k, weight in EIGHTH]
            derivatives[name] = np.sum(parts, axis=0) / steps[name]
        return np.array([whole[0], *(derivatives[name] for name in self.unknowns)])

    def _on_plane(
        self, system: System, start: Mapping[str, Any], times: Floats
    ) -> tuple[Floats, tuple[EventGradient, ...]]:
        """Return what is seen at times of a motion in one mode, with derivatives."""
        mode = self.contact.mode
        if not (mode is None or isinstance(mode, Mapping)):
            raise ParameterError("a schedule of grips has no gradient; see draisine.analysis.gait.")
        machine, y = machine_at(system, state(system, **start), mode, self.law)
        z, floors = y[machine.layout.z], machine.floors

        def enter(found: States, own: Floats) -> Floats:
            return machine.enter_all(found, own, z, self.numerics.start).T

        whole, along = self._start(system, start, enter), self._directions(system)
        w = system.inputs(self.inputs)
        flow = self._tangents(system, machine, "rate", ["rate", "pivots"])

        def rates(t: float, here: Floats) -> Floats:
            found = flow(t, here, along, w=w)
            if np.any(np.abs(found["pivots"][0]) < floors):
                raise SimulationError(
                    f"at {t:.6g} s the speeds that were chosen no longer tell the motion: follow it in "
                    "two parts, or on a terrain (plane())."
                )
            return found["rate"]

        watch = fall_rule(system.model, self.contact.fall).watch(machine.frame[0])
        samples = integrate(rates, whole, self.numerics.start, times, self.numerics, watch)
        sight = self._tangents(system, machine, "variation", ["seen"])
        seen = [sight(t, here, along, w=w)["seen"] for t, here in zip(times, samples, strict=True)]
        return np.array(seen)[:, :, self._places(system)], ()

    def _tangents(
        self, system: System, machine: ClosedForm, name: str, outputs: Sequence[str]
    ) -> TangentProgram:
        key = None if machine.task.key is None else (machine.task.key, name)
        return tangent_program(system, machine.programs[name], outputs, SMOOTH, key)

    def _on_terrain(
        self, system: System, start: Mapping[str, Any], times: Floats
    ) -> tuple[Floats, tuple[EventGradient, ...]]:
        """Return what is seen at times of a motion on a terrain, with derivatives, and its events."""
        assert self.terrain is not None
        if isinstance(self.contact.solver, Compliant):
            raise ParameterError(
                "Compliant contacts have no gradient. Leave the solver out, or set it to 'events' or "
                "'time_stepping'."
            )
        options: dict[str, Any] = {"terrain": self.terrain, "law": self.law, "inputs": self.inputs}
        options |= {"contact": self.contact, "numerics": self.numerics}
        begin = self.numerics.start
        run = compute_run(system, state(system, **start), max(times[-1], begin + 1e-9), **options)
        if run.outcome != "completed":
            raise SimulationError(f"no gradient: the run ended early, {run.outcome}.", run)
        machine = generic(system, self.law, self.terrain.motions)
        z = run.arcs[0].y[0][machine.layout.z]

        def enter(found: States, own: Floats) -> Floats:
            there = zip(*(found[name].T for name in "qprv"), strict=True)
            return np.array([machine.enter(State(*one), z) for one in there])

        whole = self._start(system, start, enter)
        blows = self._among([f"restitution.{name}" for name in self.contact.restitution])
        along, places = self._directions(system), self._places(system)
        motion = TerrainMotion(run, self.contact, along, blows, self.numerics, places)
        return motion.observe(whole, times)


def gradient(
    system: System,
    start: Mapping[str, Any],
    times: Sequence[float] | Floats,
    outputs: Sequence[str],
    unknowns: Sequence[str],
    **options: Any,
) -> MotionGradient:
    """Return outputs of a motion at times (s), with their exact derivatives by unknowns: parameters,
    initial values that the `start` names, inputs as in "inputs.steer".

    `options` are those of `simulate`: `terrain`, `law`, `inputs`, `contact`, `numerics`. On a terrain
    derivatives go through events and impacts by saltation, eq. [saltation-jump]; an event that is only
    grazed, or two at once, have none, and a `GrazingError` says so.

    >>> from draisine import compile
    >>> from draisine.simulation.options import ContactOptions
    >>> from draisine.terrain import plane
    >>> ball, bounce = compile("ball"), ContactOptions(impact="newton", restitution={"normal": 0.8})
    >>> start = {"mode": {"ground": "open"}, "z": 1.0}
    >>> found = gradient(ball, start, [0.7], ["z"], ["z"], terrain=plane(), contact=bounce)
    >>> g, h, e = 9.81, 1.0, 0.8          # it has fallen, and risen again for 0.7 s - sqrt(2 h / g)
    >>> rest = 0.7 - np.sqrt(2 * h / g)
    >>> by_hand = (1 + e) * rest * np.sqrt(g / (2 * h)) - e
    >>> print(f"{found.derivatives[0, 0, 0]:.9f} {by_hand:.9f}")
    0.190551558 0.190551558
    """
    return GradientRun(outputs, unknowns, **options)(system, start, times)
