"""Programs with their exact derivatives, one direction per SIMD lane, and motions that are followed
together with them.

A state and its derivatives along k directions stand in one array, the state first: (1 + k, entries).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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

_CODE = Recent(64)
"""Programs with tangents that were made lately."""

Rates = Callable[[float, Floats], Floats]
"""From a time and a state with its derivatives to their rates, eq. [tangent-flow]."""


@dataclass(frozen=True, eq=False)
class Directions:
    """What k motions beside a motion differ in: parameters and inputs, one row each."""

    parameters: Floats
    inputs: Floats

    def __len__(self) -> int:
        return len(self.parameters)

    def with_flow(self) -> "Directions":
        """Return the same, and one more that differs in time alone."""
        return Directions(
            *(np.vstack([x, np.zeros(x.shape[1])]) for x in (self.parameters, self.inputs))
        )


@dataclass(frozen=True, eq=False)
class TangentProgram:
    """Some outputs of a program with their derivatives by time, state, inputs and parameters."""

    code: Compiled
    told: Layout
    names: tuple[str, ...]
    state: tuple[str, ...]

    def __call__(
        self, t: float, whole: Floats, along: Directions, dt: Floats | None = None, **given: Floats
    ) -> dict[str, Floats]:
        """Return the outputs by name, (1 + k, entries): at a state, and their derivatives along
        directions in which times differ by dt; `given` inputs stay.
        """
        at, k = self.code.inputs, len(along)
        x = np.zeros((at.size, max(1, k)))
        x[at.t] = t
        x[at.span(self.state[0], self.state[-1])] = whole[0][:, None]
        for name, value in given.items():
            x[getattr(at, name)] = value[:, None]
        if k:
            times = np.zeros(k) if dt is None else dt
            x[at.seeds] = np.vstack([times, whole[1:].T, along.inputs.T, along.parameters.T])
        out = self.code.batch(x)["told"]
        half = len(out) // 2
        stack = np.hstack([out[:half, :1], out[half:, :k]]).T
        return {name: stack[:, getattr(self.told, name)] for name in self.names}


def tangent_program(
    system: System, program: Program, outputs: Sequence[str], state: Sequence[str], key: Any
) -> TangentProgram:
    """Return some outputs of a program with derivatives; `key` tells it from others of the system
    (None: it is not kept).
    """
    told = Layout({name: len(program.outputs[name]) for name in outputs})
    entries = [k for name in outputs for k in program.outputs[name]]
    moved = ("t", *state, "w", "parameters")

    def make() -> Any:
        whole = replace(program, outputs={"told": entries})
        return Native(with_tangents(whole, moved, "told", 1), system.artifacts.store)

    known = (
        None if key is None or system.artifacts.digest is None else (system.artifacts.digest, key)
    )
    code = Compiled(_CODE.get(known, make), system.values)
    return TangentProgram(code, told, tuple(outputs), tuple(state))


def follow(
    rates: Rates,
    whole: Floats,
    start: float,
    times: Floats,
    fine: Numerics,
    watch: Floats | None = None,
) -> Floats:
    """Return a state with its derivatives at rising times from a start on, (times, 1 + k, entries). A
    machine whose fall is watched (see `Problem.watch`) must not fall before the last of them.
    """
    size, later = whole.size, times[times > start]
    if not len(later):
        return np.repeat(whole[None], len(times), axis=0)

    def evaluate(x: Floats) -> Floats:
        return rates(float(x[0]), x[1:].reshape(whole.shape)).ravel()

    call = Callback(evaluate, 1 + size, size)
    watched = np.zeros(0) if watch is None else watch
    problem = Problem(call.address, np.zeros(1), size, np.zeros(0), keep=call, watch=watched)
    span = Span(start, float(later[-1]), fine.dt, later, fine.rtol, fine.atol)
    found, samples, status = dop853.advance(problem, np.ascontiguousarray(whole).ravel(), span)
    if call.error is not None:
        raise call.error
    if status == FELL:
        raise SimulationError(
            f"no gradient: the machine falls at {found[-1]:.6g} s, before {later[-1]:g} s; "
            "ContactOptions(fall=math.inf) lets it go on."
        )
    if status != DONE:
        raise SimulationError(
            f"the motion cannot be followed with its derivatives from {start:g} s to {later[-1]:g} s."
        )
    first = np.repeat(whole[None], len(times) - len(later), axis=0)
    return np.concatenate([first, samples.reshape(-1, *whole.shape)])
