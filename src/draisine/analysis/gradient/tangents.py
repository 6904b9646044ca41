"""Traced programs with exact derivatives, and integration of a state together with its derivatives.

A state and its derivatives along k directions form one array `jets` of shape (1 + k, entries): the first row
is the state, the other rows are its derivatives. Compiled programs evaluate one direction per SIMD lane.
The integrator DOP853 integrates state and derivatives together, eq. [tangent-flow].
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.derivative import with_tangents
from draisine.codegen.program import Callback, Program
from draisine.codegen.targets.native import Native
from draisine.errors import SimulationError
from draisine.simulation.integrators import MACHINE_FELL, REACHED_END, Problem, Span, dop853
from draisine.simulation.options import Numerics
from draisine.system.artifacts import RecentCache
from draisine.system.compiled import Compiled
from draisine.system.layout import Layout
from draisine.system.system import System

_CODE = RecentCache(
    64
)  # largest number of cached programs with derivatives; a vehicle on a terrain needs about ten

Rates = Callable[[float, Floats], Floats]
"""Function that maps a time (s) and a state with derivatives (1 + k, entries) to their time derivatives,
eq. [tangent-flow]."""


@dataclass(frozen=True, eq=False)
class Directions:
    """k directions of differentiation in parameters, inputs and time."""

    parameters: Floats  # derivatives of the parameters along each direction, (k, parameters)
    inputs: Floats  # derivatives of the inputs along each direction, (k, inputs)
    # Derivatives of the time along each direction, (k,). They are not zero at an event, whose time
    # differs between neighbouring motions.
    times: Floats

    def __len__(self) -> int:
        return len(self.parameters)

    def with_time(self) -> "Directions":
        """Return the k directions and a last one along time, with fixed parameters and inputs."""
        parameters, inputs = (
            np.vstack([x, np.zeros(x.shape[1])]) for x in (self.parameters, self.inputs)
        )
        return Directions(parameters, inputs, np.append(self.times, 1.0))


@dataclass(frozen=True, eq=False)
class TangentProgram:
    """Program whose outputs have derivatives by time, state, inputs and parameters."""

    code: Compiled
    layout: Layout  # layout of the outputs
    names: tuple[str, ...]  # names of the outputs
    state: tuple[str, ...]  # names of the program's inputs that form a state

    def __call__(
        self,
        t: float,
        state_with_derivatives: Floats,
        directions: Directions,
        **fixed: Floats,
    ) -> dict[str, Floats]:
        """Evaluate the outputs and their derivatives.

        Parameters
        ----------
        t
            Time (s).
        state_with_derivatives
            One state with derivatives (1 + k, entries), or several (..., 1 + k, entries).
        directions
            Derivatives of parameters, inputs and time along the k directions.
        fixed
            Other inputs of the program, by name; they have no derivatives.

        Returns
        -------
        Outputs with derivatives by name, (..., 1 + k, entries of the output).
        """
        inputs = self.code.inputs
        k = len(directions)
        states = state_with_derivatives.reshape(-1, 1 + k, state_with_derivatives.shape[-1])

        # One SIMD lane per state and direction of differentiation; without directions, one lane per
        # state
        x = np.zeros((inputs.size, len(states), max(1, k)))
        x[inputs.t] = t
        x[inputs.span(self.state[0], self.state[-1])] = states[:, 0].T[:, :, None]
        for name, value in fixed.items():
            x[getattr(inputs, name)] = value[:, None, None]
        if k:
            # Order of the directions of differentiation, as in `tangent_program`: time, state,
            # inputs, parameters
            by_time, by_input, by_parameter = (
                np.repeat(direction.T[:, None], len(states), axis=1)
                for direction in (
                    directions.times[:, None],
                    directions.inputs,
                    directions.parameters,
                )
            )
            by_state = np.moveaxis(states[:, 1:], 2, 0)
            x[inputs.seeds] = np.concatenate([by_time, by_state, by_input, by_parameter])

        # The first half of the outputs are values, which are equal in all lanes of a state. The
        # second half are derivatives.
        out = self.code.batch(x.reshape(inputs.size, -1))["outputs"].reshape(-1, *x.shape[1:])
        half = len(out) // 2
        stack = np.concatenate([out[:half, :, :1], out[half:, :, :k]], axis=2)
        stack = np.moveaxis(stack, 0, 2).reshape(*state_with_derivatives.shape[:-1], half)
        return {name: stack[..., getattr(self.layout, name)] for name in self.names}


def tangent_program(
    system: System, program: Program, outputs: Sequence[str], state: Sequence[str], key: Any
) -> TangentProgram:
    """Compile selected outputs of a program with derivatives by time, state, inputs and parameters.

    `state` are the names of the program inputs that form a state. `key` identifies the program among those
    of the system; if it is None, the compiled code is not cached.
    """
    layout = Layout({name: len(program.outputs[name]) for name in outputs})
    entries = [k for name in outputs for k in program.outputs[name]]
    varied = ("t", *state, "w", "parameters")

    def build_program() -> Any:
        """Trace the program with its directional derivatives."""
        joined = replace(program, outputs={"outputs": entries})
        return Native(with_tangents(joined, varied, "outputs", 1), system.artifacts.store)

    digest = system.artifacts.digest
    cache_key = None if key is None or digest is None else (digest, key)
    code = Compiled(_CODE.get(cache_key, build_program), system.values)
    return TangentProgram(code, layout, tuple(outputs), tuple(state))


def integrate_with_derivatives(
    rates: Rates,
    state_with_derivatives: Floats,
    start: float,
    times: Floats,
    numerics: Numerics,
    watch: Floats | None = None,
    discontinuities: Sequence[float] = (),
    max_evaluations: float = math.inf,
) -> Floats:
    """Integrate a state with its derivatives; return both at given times, (times, 1 + k, entries).

    Parameters
    ----------
    rates
        Function that returns the time derivatives of state and derivatives.
    state_with_derivatives
        Initial state with derivatives, (1 + k, entries).
    start, times
        Initial time and increasing times of the samples (s).
    numerics
        Tolerances of the integrator.
    watch
        Condition under which the vehicle has fallen, see `Problem.watch`.
    discontinuities
        Times (s) at which the rates are discontinuous. The integrator restarts there, because a step across
        a discontinuity would lose its order of accuracy.
    max_evaluations
        Largest number of evaluations of the rates.

    Raises
    ------
    SimulationError
        If the vehicle falls, the integrator fails, or `max_evaluations` is exceeded.
    """
    size = state_with_derivatives.size
    later = times[times > start]
    if not len(later):
        return np.repeat(state_with_derivatives[None], len(times), axis=0)

    end = float(later[-1])
    interval_end = end
    evaluations = 0

    def evaluate_rates(integrator_state: Floats) -> Floats:
        """Return the rates for the integrator's state = (time, jets)."""
        nonlocal evaluations
        # After an exception the integrator retries with a shorter step. After Ctrl+C it must stop
        # instead.
        if isinstance(call.error, KeyboardInterrupt):
            raise call.error
        evaluations += 1
        if evaluations > max_evaluations:
            raise SimulationError(
                f"No gradient: at {integrator_state[0]:.6g} s of {end:g} s the equations are too "
                f"stiff. Their rates were evaluated {max_evaluations:g} times; raise max_evaluations "
                "to continue."
            )
        # At a discontinuity, the rates are those after it. At the end of an interval, evaluate them
        # just before the discontinuity.
        t = min(float(integrator_state[0]), interval_end)
        return rates(t, integrator_state[1:].reshape(state_with_derivatives.shape)).ravel()

    call = Callback(evaluate_rates, 1 + size, size)
    watched = np.zeros(0) if watch is None else watch
    problem = Problem(call.address, np.zeros(1), size, np.zeros(0), keep=call, watch=watched)
    y = np.ascontiguousarray(state_with_derivatives).ravel()
    intervals = [np.repeat(state_with_derivatives[None], len(times) - len(later), axis=0)]
    edges = [start, *sorted({float(t) for t in discontinuities if start < t < end}), end]
    for low, high in pairwise(edges):
        interval_end = end if high == end else float(np.nextafter(high, low))
        grid = np.union1d(later[(later > low) & (later <= high)], high)
        span = Span(low, high, numerics.dt, grid, numerics.rtol, numerics.atol)
        sample_times, samples, status = dop853.advance(problem, y, span)
        if call.error is not None:
            raise call.error
        if status == MACHINE_FELL:
            raise SimulationError(
                f"No gradient: the machine falls at {sample_times[-1]:.6g} s, before {end:g} s. "
                "ContactOptions(fall=math.inf) continues the motion."
            )
        if status != REACHED_END:
            raise SimulationError(
                f"No gradient: the integration of the derivatives fails between {low:g} s and "
                f"{high:g} s. Compute a shorter motion."
            )
        y = samples[-1]
        intervals.append(samples[np.isin(grid, later)].reshape(-1, *state_with_derivatives.shape))
    return np.concatenate(intervals)
