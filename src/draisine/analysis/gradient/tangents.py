"""Programs with their exact derivatives, and the integration of a motion together with them.

A state and its derivatives along k directions form one array, here called `jets`, of shape
(1 + k, entries): the state in the first row, its derivatives below. Each direction is a SIMD lane.
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
from draisine.simulation.integrators import DONE, FELL, Problem, Span, dop853
from draisine.simulation.options import Numerics
from draisine.system.artifacts import Recent
from draisine.system.compiled import Compiled
from draisine.system.layout import Layout
from draisine.system.system import System

_CODE = Recent(64)  # programs with tangents, the latest ones

Rates = Callable[[float, Floats], Floats]
"""From a time and a state with its derivatives to their rates, eq. [tangent-flow]."""


@dataclass(frozen=True, eq=False)
class Directions:
    """k directions of differentiation in parameters and inputs."""

    parameters: Floats  # (k, parameters)
    inputs: Floats  # (k, inputs)

    def __len__(self) -> int:
        return len(self.parameters)

    def with_time(self) -> "Directions":
        """Return the directions and one more, along time."""
        return Directions(
            *(np.vstack([x, np.zeros(x.shape[1])]) for x in (self.parameters, self.inputs))
        )


@dataclass(frozen=True, eq=False)
class TangentProgram:
    """Some outputs of a program with their derivatives by time, state, inputs and parameters."""

    code: Compiled
    layout: Layout  # of the outputs
    names: tuple[str, ...]  # of the outputs
    state: tuple[str, ...]  # names of the program's inputs that form a state

    def __call__(
        self, t: float, jets: Floats, along: Directions, dt: Floats | None = None, **fixed: Floats
    ) -> dict[str, Floats]:
        """Evaluate the outputs and their derivatives.

        Parameters
        ----------
        t
            Time (s).
        jets
            One state with derivatives (1 + k, entries), or several (..., 1 + k, entries).
        along
            The k directions.
        dt
            Derivatives of the time along the directions, (k,); zero by default.
        fixed
            Other inputs of the program, by name; they have no derivatives.

        Returns
        -------
        Outputs by name, with the leading axes of `jets`.
        """
        at, k = self.code.inputs, len(along)
        states = jets.reshape(-1, 1 + k, jets.shape[-1])
        x = np.zeros((at.size, len(states), max(1, k)))
        x[at.t] = t
        x[at.span(self.state[0], self.state[-1])] = states[:, 0].T[:, :, None]
        for name, value in fixed.items():
            x[getattr(at, name)] = value[:, None, None]
        if k:
            times = np.zeros(k) if dt is None else dt
            constant = [np.repeat(part.T[:, None], len(states), axis=1)
                        for part in (times[:, None], along.inputs, along.parameters)]  # fmt: skip
            moved = np.moveaxis(states[:, 1:], 2, 0)
            x[at.seeds] = np.concatenate([constant[0], moved, *constant[1:]])
        out = self.code.batch(x.reshape(at.size, -1))["told"].reshape(-1, *x.shape[1:])
        half = len(out) // 2
        stack = np.concatenate([out[:half, :, :1], out[half:, :, :k]], axis=2)
        stack = np.moveaxis(stack, 0, 2).reshape(*jets.shape[:-1], half)
        return {name: stack[..., getattr(self.layout, name)] for name in self.names}


def tangent_program(
    system: System, program: Program, outputs: Sequence[str], state: Sequence[str], key: Any
) -> TangentProgram:
    """Return some outputs of a program with derivatives. `key` identifies the program among those of
    the system; None: its code is not cached.
    """
    layout = Layout({name: len(program.outputs[name]) for name in outputs})
    entries = [k for name in outputs for k in program.outputs[name]]
    moved = ("t", *state, "w", "parameters")

    def make() -> Any:
        joined = replace(program, outputs={"told": entries})
        return Native(with_tangents(joined, moved, "told", 1), system.artifacts.store)

    digest = system.artifacts.digest
    known = None if key is None or digest is None else (digest, key)
    code = Compiled(_CODE.get(known, make), system.values)
    return TangentProgram(code, layout, tuple(outputs), tuple(state))


def integrate(
    rates: Rates,
    jets: Floats,
    start: float,
    times: Floats,
    numerics: Numerics,
    watch: Floats | None = None,
    corners: Sequence[float] = (),
    max_evaluations: float = math.inf,
) -> Floats:
    """Integrate a state with its derivatives; return them at rising times, (times, 1 + k, entries).

    The integrator restarts at `corners` of the rates (s): a step across one would lose its order. The rates
    are evaluated `max_evaluations` times at most.

    Raises
    ------
    SimulationError
        If the machine falls (see `Problem.watch`) or the integrator fails before the last time.
    """
    size, later = jets.size, times[times > start]
    if not len(later):
        return np.repeat(jets[None], len(times), axis=0)

    end = float(later[-1])
    interval_end = end

    evaluations = 0

    def evaluate(x: Floats) -> Floats:
        nonlocal evaluations
        # Interrupted once, the integrator must not go on with shorter steps.
        if isinstance(call.error, KeyboardInterrupt):
            raise call.error
        evaluations += 1
        if evaluations > max_evaluations:
            raise SimulationError(
                f"no gradient: at {x[0]:.6g} s of {end:g} s the equations are too stiff; their rates were "
                f"evaluated {max_evaluations:g} times."
            )
        # Rates are continuous from the right: at the end of an interval use those before the corner.
        t = min(float(x[0]), interval_end)
        return rates(t, x[1:].reshape(jets.shape)).ravel()

    call = Callback(evaluate, 1 + size, size)
    watched = np.zeros(0) if watch is None else watch
    problem = Problem(call.address, np.zeros(1), size, np.zeros(0), keep=call, watch=watched)
    y = np.ascontiguousarray(jets).ravel()
    parts = [np.repeat(jets[None], len(times) - len(later), axis=0)]
    edges = [start, *sorted({float(t) for t in corners if start < t < end}), end]
    for low, high in pairwise(edges):
        interval_end = end if high == end else float(np.nextafter(high, low))
        grid = np.union1d(later[(later > low) & (later <= high)], high)
        span = Span(low, high, numerics.dt, grid, numerics.rtol, numerics.atol)
        found, samples, status = dop853.advance(problem, y, span)
        if call.error is not None:
            raise call.error
        if status == FELL:
            raise SimulationError(
                f"no gradient: the machine falls at {found[-1]:.6g} s, before {end:g} s. "
                "ContactOptions(fall=math.inf) continues the motion."
            )
        if status != DONE:
            raise SimulationError(
                f"no gradient: the integration of the derivatives fails between {low:g} s and "
                f"{high:g} s."
            )
        y = samples[-1]
        parts.append(samples[np.isin(grid, later)].reshape(-1, *jets.shape))
    return np.concatenate(parts)
