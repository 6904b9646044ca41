"""Simulated motions with their exact derivatives by parameters, initial values and inputs.

The derivative of the solution of `ydot = f(y, p)` by an unknown satisfies the tangent equation,
eq. [tangent-flow]. State and derivatives are integrated together, so that the result is the derivative of
the computed motion. The initial state solves nonlinear equations: it has the prescribed values and closed
contacts for any parameters. It is differentiated by a central difference of eighth order.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.differentiate import DIFFERENCE_NODES, difference_of
from draisine.analysis.gradient.saltation import EventGradient, TerrainMotion
from draisine.analysis.gradient.stepped import StatusChange
from draisine.analysis.gradient.tangents import (
    Directions,
    TangentProgram,
    integrate_with_derivatives,
    tangent_program,
)
from draisine.analysis.metrics import metric_gradient, split_metric
from draisine.analysis.variation import machine_at
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
from draisine.system.artifacts import require_system
from draisine.system.closed_form import ClosedForm
from draisine.system.generic import make_generic
from draisine.system.state import State, initial_values, state, states
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain
from draisine.vehicles import expect_parameters

States = Mapping[str, Floats]
"""Arrays q, p, r and v of several initial states, by name; one column per state."""

Observed = tuple[Floats, tuple[EventGradient, ...], tuple[StatusChange, ...]]
"""Outputs of a motion with derivatives (times, 1 + k, outputs), its events, and the changes of contact
status in its time-stepped arcs."""

# Relative step of the eighth-order difference for the initial state; the error of the difference is
# about 1e-13.
START_STEP = 1e-2

# Default tolerances of the integration. They are tight, because derivatives are two to three digits
# less accurate than the motion.
GRADIENT_NUMERICS = Numerics(rtol=1e-12, atol=1e-13)

# Shortest duration (s) of a run on a terrain; used if samples of the initial state only are
# requested.
MIN_DURATION = 1e-9

# Names of the program inputs that form the state in one contact mode.
MODE_STATE_INPUTS = ("q", "p", "r", "u", "z")


@dataclass(frozen=True, eq=False)
class MotionGradient:
    """Outputs of a motion at given times, with their derivatives by the unknowns."""

    values: Floats  # outputs, (times, outputs)
    derivatives: Floats  # derivatives of the outputs, (times, outputs, unknowns)
    times: Floats  # sampling times, s
    outputs: tuple[str, ...]
    # Events of the motion, with the derivatives of their times by the unknowns
    events: tuple[EventGradient, ...] = ()
    # Changes of contact status in time-stepped arcs; at these times derivatives are one-sided
    one_sided: tuple[StatusChange, ...] = ()

    def metric(self, name: str) -> tuple[float, Floats]:
        """Return a metric of the motion and its derivatives by the unknowns.

        Parameters
        ----------
        name
            Metric of an output, named as in sweeps: "maximum lean", "decay rate of lean",
            "time when steer = 5deg". It is computed from the samples at `times`.

        Returns
        -------
        value
            Value of the metric, in its unit.
        derivatives
            Its derivatives by the unknowns, (unknowns,).

        Raises
        ------
        ParameterError
            If the metric does not exist, its output is not among `outputs`, or it has no derivative.

        Examples
        --------
        >>> from draisine import compile
        >>> run = GradientRun(["lean"], ["c"])
        >>> start = {"forward_speed": 5.0, "lean_rate": 0.1}
        >>> motion = run(compile("whipple"), start, np.linspace(0.0, 1.0, 101))
        >>> value, derivatives = motion.metric("maximum lean")
        >>> print(f"{value:.4f} rad, {derivatives[0]:.4f} rad/m")
        0.0211 rad, -0.0354 rad/m
        """
        metric = split_metric(" ".join(name.split()))
        if metric is None or metric[1] not in self.outputs:
            raise ParameterError(
                f"Unknown metric {name!r} of the outputs {', '.join(self.outputs)}. Examples: "
                f"'maximum {self.outputs[0]}', 'time when {self.outputs[0]} = 0.1'."
            )
        reducer, output, level = metric
        k = self.outputs.index(output)
        return metric_gradient(
            reducer, level, self.times, self.values[:, k], self.derivatives[:, k]
        )


@dataclass(frozen=True)
class StartRule:
    """Initial state as a function of initial values and parameters, if `state` does not describe it.

    A scenario's place on a terrain is an example: `Plan.start_rule` returns its rule.
    """

    values: Mapping[str, float]
    """Initial values by name (SI units, rad); they may be unknowns."""
    solve: Callable[[System, Mapping[str, float]], State]
    """Function of a system and of initial values that returns the initial state."""

    def columns(
        self, system: System, varied: Sequence[str], nodes: Floats, steps: Mapping[str, float]
    ) -> tuple[States, Floats]:
        """Return the initial state and its neighbours at the nodes of a difference formula.

        The states and their parameters are columns: first the initial state itself, then the neighbours of
        each varied name.
        """
        solved = [self.solve(system, self.values)]
        parameters = [system.values]
        for name in varied:
            for node in nodes:
                values = dict(self.values)
                machine = system
                if name in values:
                    values[name] += steps[name] * node
                else:
                    shifted = {name: system.parameters[name] + steps[name] * float(node)}
                    machine = system.with_parameters(**shifted)
                solved.append(self.solve(machine, values))
                parameters.append(machine.values)
        arrays = {k: np.array([getattr(x, k) for x in solved], float).T for k in "qprv"}
        return arrays, np.array(parameters).T


@dataclass(frozen=True)
class _NamedStart(StartRule):
    """Initial state that `state` computes from initial values; its neighbours are computed all at once."""

    options: Mapping[str, Any]
    """Options of `state`: contact mode, time, whether the vehicle is at rest."""

    def columns(
        self, system: System, varied: Sequence[str], nodes: Floats, steps: Mapping[str, float]
    ) -> tuple[States, Floats]:
        """Return the initial state and its neighbours, see `StartRule`. Their parameters need not be
        physically valid.
        """
        count = 1 + len(nodes) * len(varied)
        parameters = np.repeat(system.values[:, None], count, axis=1)
        values = initial_values(self.values, system.model)
        columns = {name: np.full(count, x) for name, x in values.items()}
        rows = dict(zip(self.values, columns.values(), strict=True))
        rows |= dict(zip(system.parameters, parameters, strict=True))
        for k, name in enumerate(varied):
            first = 1 + len(nodes) * k
            rows[name][first : first + len(nodes)] += steps[name] * nodes
        solved, errors = states(system, columns, parameters=parameters.T, **self.options)
        for text in filter(None, errors):
            raise ConfigurationError(text)
        return solved, parameters


def _make_start_rule(system: System, start: Mapping[str, Any]) -> StartRule:
    """Return the rule of initial values by name, as for `state`."""
    options = {name: x for name, x in start.items() if name in ("mode", "t", "at_rest")}
    prescribed = {name: x for name, x in start.items() if name not in options}
    values = initial_values(prescribed, system.model).values()
    return _NamedStart(
        dict(zip(prescribed, values, strict=True)),
        lambda machine, _: state(machine, **start),
        options,
    )


@dataclass(frozen=True)
class GradientRun:
    """Settings for the simulation of a motion with derivatives of its outputs by unknowns.

    Unknowns are names of parameters, of initial values in the start, of inputs (`inputs.steer`) and
    of coefficients of the impact model (`restitution.normal`). All other settings are those of
    `simulate`.

    >>> from draisine import compile
    >>> bicycle = compile("whipple")
    >>> run = GradientRun(["lean"], ["c", "lean_rate"])
    >>> motion = run(bicycle, {"forward_speed": 5.0, "lean_rate": 0.1}, np.array([0.0, 0.5]))
    >>> motion.derivatives.shape
    (2, 1, 2)
    """

    outputs: Sequence[str]
    unknowns: Sequence[str]
    terrain: Terrain | None = None
    law: Law | None = None
    inputs: Mapping[str, float] = field(default_factory=dict)
    signals: Sequence[
        Signal
    ] = ()  # inputs over time, added to `inputs`; not available on a terrain
    contact: ContactOptions = CONTACT
    numerics: Numerics = GRADIENT_NUMERICS
    # Largest number of evaluations of the rates; it has no effect on a terrain
    max_evaluations: float = math.inf

    def __call__(
        self,
        system: System,
        start: Mapping[str, Any] | StartRule,
        times: Sequence[float] | Floats,
    ) -> MotionGradient:
        """Simulate a motion; return its outputs at increasing times (s) with derivatives."""
        require_system("gradient", system)
        sample_times = np.asarray(times, float)
        named = start.values if isinstance(start, StartRule) else start
        self._check_request(system, named, sample_times)
        rule = start if isinstance(start, StartRule) else _make_start_rule(system, start)
        compute = self._follow_ideal if self.terrain is None else self._follow_unilateral
        jets, events, changes = compute(system, rule, sample_times)
        return MotionGradient(
            values=jets[:, 0],
            derivatives=np.moveaxis(jets[:, 1:], 1, 2),
            times=sample_times,
            outputs=tuple(self.outputs),
            events=events,
            one_sided=changes,
        )

    def _output_indices(self, system: System) -> list[int]:
        """Return the indices of the requested outputs among all observations."""
        names = observation_names(system.model)
        return [names.index(name) for name in self.outputs]

    def _check_request(self, system: System, start: Mapping[str, Any], times: Floats) -> None:
        """Raise an error if an output or an unknown does not exist, or the times do not increase."""
        expect_known("no output", self.outputs, observation_names(system.model))
        expect_known("no input", [signal.input for signal in self.signals], system.model.inputs)
        inputs = [f"inputs.{name}" for name in system.model.inputs]
        coefficients = [f"restitution.{name}" for name in self.contact.restitution]
        names = [*system.parameters, *start, *inputs, *coefficients]
        kinds = "parameter, initial value, input or coefficient"
        expect_parameters(system.vehicle, self.unknowns, names, kinds)
        is_finite = times.ndim == 1 and times.size > 0 and np.isfinite(times).all()
        if not is_finite or times[0] < self.numerics.start or np.any(np.diff(times) <= 0):
            raise ParameterError(
                f"The times of a gradient must be finite and increase, from {self.numerics.start:g} s on."
            )
        if any(contact.anchored for contact in system.model.contacts):
            raise ModelError(
                f"{system.vehicle.__name__} hangs by pins, whose anchors depend on the motion. "
                "Use draisine.analysis.gait for its derivatives."
            )

    def _make_directions(self, system: System) -> Directions:
        """Return the derivatives of parameters, inputs and time with respect to each unknown."""
        inputs = [f"inputs.{name}" for name in system.model.inputs]
        return Directions(
            self._select_derivatives(list(system.parameters)),
            self._select_derivatives(inputs),
            np.zeros(len(self.unknowns)),
        )

    def _select_derivatives(self, names: Sequence[str]) -> Floats:
        """Return the derivatives (0 or 1) of named quantities by the unknowns, (unknowns, names)."""
        rows = [[float(name == unknown) for name in names] for unknown in self.unknowns]
        return np.array(rows).reshape(len(self.unknowns), len(names))

    def _initial_state_with_derivatives(
        self,
        system: System,
        start: StartRule,
        convert_states: Callable[[States, Floats], Floats],
    ) -> Floats:
        """Return the initial state of the integrator with derivatives, (1 + k, entries).

        The neighbouring initial states of the difference formula also have the prescribed values and
        closed contacts. `convert_states` converts states and parameters, one column each, to state
        vectors of the integrator, one row each.
        """
        nodes = np.array(DIFFERENCE_NODES)
        initial = {**start.values, **system.parameters}
        varied = [name for name in self.unknowns if name in initial]
        steps = {name: START_STEP * max(abs(initial[name]), START_STEP) for name in varied}
        solved, parameters = start.columns(system, varied, nodes, steps)
        entered = convert_states(solved, parameters)
        derivatives = dict.fromkeys(self.unknowns, np.zeros_like(entered[0]))
        samples = entered[1:].reshape(-1, len(nodes), entered.shape[1])
        for name, near in zip(varied, samples, strict=True):
            derivatives[name] = difference_of(near, steps[name])
        return np.array([entered[0], *(derivatives[name] for name in self.unknowns)])

    def _follow_ideal(self, system: System, start: StartRule, times: Floats) -> Observed:
        """Simulate a motion with ideal contacts in one mode; return its outputs with derivatives."""
        mode = self.contact.mode
        if not (mode is None or isinstance(mode, Mapping)):
            raise ParameterError(
                "A schedule of grips has no gradient. Use draisine.analysis.gait for its derivatives."
            )
        machine, y = machine_at(system, start.solve(system, start.values), mode, self.law)
        z = y[machine.layout.z]

        def convert_states(solved: States, parameters: Floats) -> Floats:
            """Convert initial states (one column each) to states of the integrator in one contact
            mode (one row each).
            """
            return machine.enter_all(solved, parameters, z, self.numerics.start).T

        jets = self._initial_state_with_derivatives(system, start, convert_states)
        along = self._make_directions(system)
        constant = system.inputs(self.inputs)
        indices = [system.model.inputs.index(signal.input) for signal in self.signals]

        def evaluate_inputs(time: float) -> Floats:
            """Return the inputs (N m or N) at a time (s)."""
            w = constant.copy()
            for index, signal in zip(indices, self.signals, strict=True):
                w[index] += signal.at(time)
            return w

        flow = self._get_tangent_program(system, machine, "rate", ["rate", "pivots"])

        def evaluate_rates(time: float, state_with_derivatives: Floats) -> Floats:
            """Return the rates of the state and of its derivatives at a time (s)."""
            out = flow(time, state_with_derivatives, along, w=evaluate_inputs(time))
            # The closed form divides by pivots to eliminate dependent speeds. Small pivots amplify
            # rounding errors.
            if np.any(np.abs(out["pivots"][0]) < machine.floors):
                raise SimulationError(
                    f"No gradient: at {time:.6g} s the independent speeds become singular. Compute the "
                    "motion in two parts, or on a terrain (plane())."
                )
            return out["rate"]

        samples = integrate_with_derivatives(
            evaluate_rates,
            jets,
            self.numerics.start,
            times,
            self.numerics,
            watch=fall_rule(system.model, self.contact.fall).watch(machine.frame[0]),
            discontinuities=[t for signal in self.signals for t in signal.breakpoints],
            max_evaluations=self.max_evaluations,
        )
        observe = self._get_tangent_program(system, machine, "variation", ["seen"])
        observed = [
            observe(t, sample, along, w=evaluate_inputs(t))["seen"]
            for t, sample in zip(times, samples, strict=True)
        ]
        return np.array(observed)[:, :, self._output_indices(system)], (), ()

    def _get_tangent_program(
        self, system: System, machine: ClosedForm, name: str, outputs: Sequence[str]
    ) -> TangentProgram:
        """Return a named program of the equations in one contact mode, with derivatives of its outputs."""
        key = None if machine.task.key is None else (machine.task.key, name)
        return tangent_program(system, machine.programs[name], outputs, MODE_STATE_INPUTS, key)

    def _follow_unilateral(self, system: System, start: StartRule, times: Floats) -> Observed:
        """Simulate a motion with unilateral contacts; return outputs (times, 1 + k, outputs), events, status
        changes.
        """
        assert self.terrain is not None
        if self.signals:
            raise ParameterError(
                "Signals as inputs have no gradient on a terrain. Leave the terrain out, or use a law."
            )
        if isinstance(self.contact.solver, Compliant):
            raise ParameterError(
                "Compliant contacts have no gradient. Leave the solver out, or set it to 'events' or "
                "'time_stepping'."
            )
        numerics = self.numerics
        if self.contact.solver == "time_stepping" and numerics == GRADIENT_NUMERICS:
            numerics = Numerics()  # time stepping does not use rtol and atol
        run = compute_run(
            system,
            start.solve(system, start.values),
            max(times[-1], numerics.start + MIN_DURATION),
            terrain=self.terrain,
            law=self.law,
            inputs=self.inputs,
            contact=self.contact,
            numerics=numerics,
        )
        if run.outcome != "completed":
            raise SimulationError(
                f"No gradient: the run ended early, {run.outcome}. Compute a shorter motion.", run
            )
        machine = make_generic(system, self.law, self.terrain.motions)
        z = run.arcs[0].y[0][machine.layout.z]

        def convert_states(solved: States, _: Floats) -> Floats:
            """Convert initial states (one column each) to states of the integrator on a terrain
            (one row each).
            """
            columns = zip(*(solved[name].T for name in "qprv"), strict=True)
            return np.array([machine.enter(State(*column), z) for column in columns])

        motion = TerrainMotion(
            run,
            self.contact,
            self._make_directions(system),
            self._select_derivatives([f"restitution.{name}" for name in self.contact.restitution]),
            self.numerics,
            self._output_indices(system),
        )
        observed, events = motion.observe(
            self._initial_state_with_derivatives(system, start, convert_states), times
        )
        return observed, events, tuple(motion.changes)


def gradient(
    system: System,
    start: Mapping[str, Any] | StartRule,
    times: Sequence[float] | Floats,
    outputs: Sequence[str],
    unknowns: Sequence[str],
    **options: Any,
) -> MotionGradient:
    """Compute outputs of a motion and their exact derivatives by unknowns.

    On a terrain, saltation matrices propagate derivatives through events and impacts, eq. [saltation-jump].
    Trajectory arcs from the time-stepping scheme are differentiated step by step with frozen contact
    statuses; `one_sided` of the result lists the changes of status.

    Parameters
    ----------
    system
        The compiled system.
    start
        Initial values by name, as for `state` (SI units, rad), or the rule of a scenario's own start,
        `Plan.start_rule()`, which includes its place on a terrain.
    times
        Increasing times (s).
    outputs
        Names of outputs, joints and speeds.
    unknowns
        Names of parameters, of initial values in `start`, of inputs ("inputs.steer") and of
        coefficients of the impact model ("restitution.normal").
    options
        `terrain`, `law`, `inputs`, `contact` and `numerics`, as for `simulate`; `signals`, inputs as
        functions of time.

    Returns
    -------
    MotionGradient
        Values (times, outputs), derivatives (times, outputs, unknowns) and events.

    Raises
    ------
    GrazingError
        If a contact is grazing or several contacts close at once: the derivative does not exist.
    SimulationError
        If the motion ends early or its equations are too stiff.
    ParameterError
        If an output or an unknown does not exist, or the times do not increase.

    Examples
    --------
    >>> from draisine import compile
    >>> from draisine.simulation.options import ContactOptions
    >>> from draisine.terrain import plane
    >>> ball, bounce = compile("ball"), ContactOptions(impact="newton", restitution={"normal": 0.8})
    >>> start = {"mode": {"ground": "open"}, "z": 1.0}
    >>> motion = gradient(ball, start, [0.7], ["z"], ["z"], terrain=plane(), contact=bounce)
    >>> g, h, e = 9.81, 1.0, 0.8          # it falls for sqrt(2 h / g) and rises for the remaining time
    >>> rising_time = 0.7 - np.sqrt(2 * h / g)
    >>> exact = (1 + e) * rising_time * np.sqrt(g / (2 * h)) - e
    >>> print(f"{motion.derivatives[0, 0, 0]:.9f} {exact:.9f}")
    0.190551558 0.190551558
    """
    return GradientRun(outputs, unknowns, **options)(system, start, times)
