"""Motions with their exact derivatives by parameters, initial values and inputs.

The derivative of `ydot = f(y, p)` along an unknown satisfies the tangent equation, eq. [tangent-flow].
State and derivatives are integrated together, so that the result is the derivative of the computed
motion. The start satisfies its given values and closed contacts for all parameters: it is differentiated
by differences of eighth order.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import EIGHTH
from draisine.analysis.gradient.saltation import EventGradient, TerrainMotion
from draisine.analysis.gradient.stepped import StatusChange
from draisine.analysis.gradient.tangents import (
    Directions,
    TangentProgram,
    integrate,
    tangent_program,
)
from draisine.analysis.linear import machine_at
from draisine.analysis.metrics import metric_gradient, split_question
from draisine.control import Signal
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

START_STEP = 1e-2  # relative; differences of eighth order then leave errors of about 1e-13

FINE = Numerics(rtol=1e-12, atol=1e-13)  # default: derivatives lose two to three digits

SMOOTH = ("q", "p", "r", "u", "z")  # state of a motion in one mode


@dataclass(frozen=True, eq=False)
class MotionGradient:
    """Outputs of a motion and their derivatives by unknowns."""

    values: Floats  # (times, outputs)
    derivatives: Floats  # (times, outputs, unknowns)
    times: Floats  # s
    outputs: tuple[str, ...]
    events: tuple[EventGradient, ...] = ()  # with the derivatives of their times
    one_sided: tuple[
        StatusChange, ...
    ] = ()  # changes in time steps: derivatives are one-sided there

    def answer(self, question: str) -> tuple[float, Floats]:
        """Return a metric of the whole motion, as in sweeps, and its derivatives by the unknowns.

        Examples are "maximum lean", "decay rate of lean", "time when steer = 5deg". Metrics are those of
        the samples at `times`.

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
                f"Unknown metric {question!r} of the outputs {', '.join(self.outputs)}. Examples: "
                f"'maximum {self.outputs[0]}', 'time when {self.outputs[0]} = 0.1'."
            )
        reducer, name, level = asked
        k = self.outputs.index(name)
        return metric_gradient(
            reducer, level, self.times, self.values[:, k], self.derivatives[:, k]
        )


@dataclass(frozen=True)
class GradientRun:
    """The settings of a motion with derivatives of outputs by unknowns.

    Unknowns are names of parameters, of initial values that the start contains, of inputs
    (`inputs.steer`) and of coefficients of the impact model (`restitution.normal`). All other settings
    are those of `simulate`.

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
    signals: Sequence[Signal] = ()  # inputs over time, added to `inputs`; without a terrain
    contact: ContactOptions = CONTACT
    numerics: Numerics = FINE
    max_evaluations: float = math.inf  # of the rates; without a terrain

    def __call__(
        self, system: System, start: Mapping[str, Any], times: Sequence[float] | Floats
    ) -> MotionGradient:
        """Return the outputs of a motion at rising times (s), and their derivatives."""
        check_system("gradient", system)
        at = np.asarray(times, float)
        self._check(system, start, at)
        compute = self._on_plane if self.terrain is None else self._on_terrain
        jets, events, changes = compute(system, start, at)
        derivatives = np.moveaxis(jets[:, 1:], 1, 2)
        return MotionGradient(jets[:, 0], derivatives, at, tuple(self.outputs), events, changes)

    def _indices(self, system: System) -> list[int]:
        """Return the indices of the outputs among all observations."""
        known = observation_names(system.model)
        return [known.index(name) for name in self.outputs]

    def _check(self, system: System, start: Mapping[str, Any], times: Floats) -> None:
        """Raise if an output or an unknown does not exist, or times do not rise."""
        known = observation_names(system.model)
        expect_known("no output", self.outputs, known)
        expect_known("no input", [one.input for one in self.signals], system.model.inputs)
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
                f"{system.vehicle.__name__} hangs by pins, whose anchors depend on the motion. Its "
                "derivatives are in draisine.analysis.gait."
            )

    def _directions(self, system: System) -> Directions:
        """Return the directions of the unknowns in parameters and inputs."""
        inputs = [f"inputs.{name}" for name in system.model.inputs]
        return Directions(self._directions_in(list(system.parameters)), self._directions_in(inputs))

    def _directions_in(self, names: Sequence[str]) -> Floats:
        """Return the directions of the unknowns in named quantities, (unknowns, names): ones where the
        names agree.
        """
        rows = [[float(name == unknown) for name in names] for unknown in self.unknowns]
        return np.array(rows).reshape(len(self.unknowns), len(names))

    def _start(
        self, system: System, start: Mapping[str, Any], enter: Callable[[States, Floats], Floats]
    ) -> Floats:
        """Return the start with derivatives, (1 + k, entries). Neighbouring starts satisfy the given
        values and keep contacts closed; their parameters need not be physically valid. `enter` maps
        states and parameters, one column each, to the states of the integrator, one row each.
        """
        options = {name: x for name, x in start.items() if name in ("mode", "t", "at_rest")}
        given = {name: x for name, x in start.items() if name not in options}
        values = initial_values(given, system.model)
        known = dict(zip(given, values.values(), strict=True)) | system.parameters
        moved = [name for name in self.unknowns if name in known]
        parameters = np.repeat(system.values[:, None], 1 + 9 * len(moved), axis=1)
        columns = {name: np.full(parameters.shape[1], x) for name, x in values.items()}
        rows = dict(zip(given, columns.values(), strict=True))
        rows |= dict(zip(system.parameters, parameters, strict=True))
        steps = {name: START_STEP * max(abs(known[name]), START_STEP) for name in moved}
        for k, name in enumerate(moved):
            rows[name][1 + 9 * k : 10 + 9 * k] += steps[name] * np.arange(-4, 5)
        found, errors = states(system, columns, parameters=parameters.T, **options)
        for text in filter(None, errors):
            raise ConfigurationError(text)
        entered = enter(found, parameters)
        derivatives = dict.fromkeys(self.unknowns, np.zeros_like(entered[0]))
        for name, near in zip(moved, entered[1:].reshape(-1, 9, entered.shape[1]), strict=True):
            terms = [weight * (near[4 + k] - near[4 - k]) for k, weight in EIGHTH]
            derivatives[name] = np.sum(terms, axis=0) / steps[name]
        return np.array([entered[0], *(derivatives[name] for name in self.unknowns)])

    def _on_plane(
        self, system: System, start: Mapping[str, Any], times: Floats
    ) -> tuple[Floats, tuple[EventGradient, ...], tuple[StatusChange, ...]]:
        """Return the outputs at times of a motion in one mode, (times, 1 + k, outputs)."""
        mode = self.contact.mode
        if not (mode is None or isinstance(mode, Mapping)):
            raise ParameterError("A schedule of grips has no gradient; see draisine.analysis.gait.")
        machine, y = machine_at(system, state(system, **start), mode, self.law)
        z, floors = y[machine.layout.z], machine.floors

        def enter(found: States, own: Floats) -> Floats:
            return machine.enter_all(found, own, z, self.numerics.start).T

        jets, along = self._start(system, start, enter), self._directions(system)
        constant = system.inputs(self.inputs)
        places = [system.model.inputs.index(signal.input) for signal in self.signals]

        def inputs(t: float) -> Floats:
            w = constant.copy()
            for place, signal in zip(places, self.signals, strict=True):
                w[place] += signal.at(t)
            return w

        flow = self._tangents(system, machine, "rate", ["rate", "pivots"])

        def rates(t: float, jets: Floats) -> Floats:
            found = flow(t, jets, along, w=inputs(t))
            if np.any(np.abs(found["pivots"][0]) < floors):
                raise SimulationError(
                    f"no gradient: at {t:.6g} s the independent speeds become singular. Compute the "
                    "motion in two parts, or on a terrain (plane())."
                )
            return found["rate"]

        watch = fall_rule(system.model, self.contact.fall).watch(machine.frame[0])
        corners = [t for signal in self.signals for t in signal.breakpoints]
        samples = integrate(
            rates,
            jets,
            self.numerics.start,
            times,
            self.numerics,
            watch,
            corners,
            self.max_evaluations,
        )
        observe = self._tangents(system, machine, "variation", ["seen"])
        pairs = zip(times, samples, strict=True)
        seen = [observe(t, sample, along, w=inputs(t))["seen"] for t, sample in pairs]
        return np.array(seen)[:, :, self._indices(system)], (), ()

    def _tangents(
        self, system: System, machine: ClosedForm, name: str, outputs: Sequence[str]
    ) -> TangentProgram:
        key = None if machine.task.key is None else (machine.task.key, name)
        return tangent_program(system, machine.programs[name], outputs, SMOOTH, key)

    def _on_terrain(
        self, system: System, start: Mapping[str, Any], times: Floats
    ) -> tuple[Floats, tuple[EventGradient, ...], tuple[StatusChange, ...]]:
        """Return the outputs at times of a motion on a terrain, (times, 1 + k, outputs), and its events."""
        assert self.terrain is not None
        if self.signals:
            raise ParameterError(
                "Signals as inputs have no gradient on a terrain. Leave the terrain out, or give a law."
            )
        if isinstance(self.contact.solver, Compliant):
            raise ParameterError(
                "Compliant contacts have no gradient. Leave the solver out, or set it to 'events' or "
                "'time_stepping'."
            )
        numerics = self.numerics
        if self.contact.solver == "time_stepping" and numerics == FINE:
            numerics = Numerics()  # time steps have no rtol and atol
        options: dict[str, Any] = {"terrain": self.terrain, "law": self.law, "inputs": self.inputs}
        options |= {"contact": self.contact, "numerics": numerics}
        until = max(times[-1], numerics.start + 1e-9)
        run = compute_run(system, state(system, **start), until, **options)
        if run.outcome != "completed":
            raise SimulationError(f"no gradient: the run ended early, {run.outcome}.", run)
        machine = generic(system, self.law, self.terrain.motions)
        z = run.arcs[0].y[0][machine.layout.z]

        def enter(found: States, _: Floats) -> Floats:
            columns = zip(*(found[name].T for name in "qprv"), strict=True)
            return np.array([machine.enter(State(*one), z) for one in columns])

        jets = self._start(system, start, enter)
        coefficients = self._directions_in([f"restitution.{x}" for x in self.contact.restitution])
        along, indices = self._directions(system), self._indices(system)
        motion = TerrainMotion(run, self.contact, along, coefficients, self.numerics, indices)
        seen, events = motion.observe(jets, times)
        return seen, events, tuple(motion.changes)


def gradient(
    system: System,
    start: Mapping[str, Any],
    times: Sequence[float] | Floats,
    outputs: Sequence[str],
    unknowns: Sequence[str],
    **options: Any,
) -> MotionGradient:
    """Compute outputs of a motion with their exact derivatives by unknowns.

    On a terrain derivatives pass events and impacts by saltation, eq. [saltation-jump]. Arcs in time
    steps are differentiated step by step with frozen contact statuses; `one_sided` of the result lists
    the changes of status.

    Parameters
    ----------
    system
        The compiled vehicle.
    start
        Initial values by name, as for `state`.
    times
        Rising times (s).
    outputs
        Names of outputs, joints and speeds.
    unknowns
        Names of parameters, of initial values in `start`, of inputs ("inputs.steer") and of
        coefficients of the impact model ("restitution.normal").
    options
        `terrain`, `law`, `inputs`, `contact` and `numerics`, as for `simulate`; `signals`, inputs over
        time.

    Returns
    -------
    MotionGradient
        Values (times, outputs), derivatives (times, outputs, unknowns) and events.

    Raises
    ------
    GrazingError
        If an event is only grazed or two happen at once: the motion has no derivative there.

    Examples
    --------
    >>> from draisine import compile
    >>> from draisine.simulation.options import ContactOptions
    >>> from draisine.terrain import plane
    >>> ball, bounce = compile("ball"), ContactOptions(impact="newton", restitution={"normal": 0.8})
    >>> start = {"mode": {"ground": "open"}, "z": 1.0}
    >>> found = gradient(ball, start, [0.7], ["z"], ["z"], terrain=plane(), contact=bounce)
    >>> g, h, e = 9.81, 1.0, 0.8          # it has fallen, and risen again for 0.7 s - sqrt(2 h / g)
    >>> rest = 0.7 - np.sqrt(2 * h / g)
    >>> exact = (1 + e) * rest * np.sqrt(g / (2 * h)) - e
    >>> print(f"{found.derivatives[0, 0, 0]:.9f} {exact:.9f}")
    0.190551558 0.190551558
    """
    return GradientRun(outputs, unknowns, **options)(system, start, times)
