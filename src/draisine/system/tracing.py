"""A vehicle drawn with symbols: its parameters, arrays of state and input, and the control law that is
traced into its programs.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array
from draisine.algebra.trace import Expr, Graph
from draisine.codegen.program import Program, trace_program
from draisine.errors import DraisineError, ModelError, expect_known
from draisine.mechanics.applied import ElementForces, element_forces
from draisine.mechanics.constraints import Mode
from draisine.mechanics.formulations.projected import Reconstruction
from draisine.mechanics.readings import Readings, call_law
from draisine.model import Guide, Model
from draisine.vehicles import draw

Law = Callable[[Readings, Array], tuple[dict[str, Scalar | Guide], Sequence[Scalar]]]
"""A control law: from what it reads and its own states z to inputs by name (torques, forces, or the
accelerations of guided joints) and the rates of z.
"""


class UntraceableLawError(DraisineError, TypeError):
    """A control law that does something only numbers can do; `reason` is the error that it raised."""

    def __init__(self, reason: str, where: str = "") -> None:
        super().__init__(reason, where)  # both, so that it can be pickled
        self.reason, self.where = reason, where

    def __str__(self) -> str:
        # A law that is called at every evaluation has no place in event location: a decision in Python
        # would be a jump that no guard locates. Sampled, its jumps have known times.
        way_out = "`simulate` and `Stepper` without a terrain also run laws in Python."
        if self.where:
            way_out = (
                "Or sample it: compute the inputs from `Stepper.values()` and pass them to "
                "`Stepper.step(dt, inputs)` in a loop, which holds them for dt."
            )
        return (
            f"control laws must be traceable{self.where}, and this one is not: {self.reason}. Write it "
            "over any scalar: where, sin, sqrt of draisine.algebra.scalar instead of if, float and math. "
            + way_out
        )


@dataclass(frozen=True, slots=True, eq=False)
class Tracing:
    """A model over symbols: the graph that they live in, one symbol per parameter, the values at
    which decisions are taken, and the law with its number of states. All states z are those of the
    model's force elements, then those of the law.
    """

    graph: Graph
    model: Model
    parameters: dict[str, Expr]
    nominal: Mapping[str, float]
    law: Law | None = None
    states: int = 0

    @property
    def memory(self) -> int:
        """How many states z there are."""
        return self.model.memory + self.states

    def symbols(self, sizes: Mapping[str, int]) -> dict[str, Array]:
        """Return arrays of symbols by name."""
        return {
            name: array([self.graph.symbol(f"{name}[{k}]") for k in range(size)])
            for name, size in sizes.items()
        }

    def program(self, name: str, arrays: Mapping[str, Any], outputs: Mapping[str, Any]) -> Program:
        """Return the program from the parameters and arrays of symbols to traced values."""
        flat = {key: list(np.asarray(x, dtype=object).ravel()) for key, x in outputs.items()}
        return trace_program(name, {"parameters": list(self.parameters.values()), **arrays}, flat)

    def command(self, readings: Readings, z: Array, given: Array) -> "Commanded":
        """Return what the law makes of a state, and of the given inputs."""
        known = replace(readings, remembered=z[: self.model.memory])
        return command(self.law, known, z[self.model.memory :], given)

    def act(self, readings: Readings, mode: Mode | None, z: Array) -> ElementForces:
        """Return what the model's force elements make of a state."""
        return element_forces(readings, mode, z[: self.model.memory])


def trace(
    vehicle: Callable[..., Model],
    nominal: Mapping[str, float],
    structure: Mapping[str, Any],
    law: Law | None = None,
    states: int = 0,
) -> Tracing:
    """Return a vehicle drawn with a symbol for each of its parameters."""
    graph = Graph()
    symbols = {name: graph.symbol(name, parameter=True) for name in nominal}
    return Tracing(graph, draw(vehicle, symbols, structure), symbols, nominal, law, states)


def read(moving: Reconstruction, t: Scalar) -> Readings:
    """Return what laws and outputs read of a state of one mode."""
    at = moving.rows
    return Readings(at.tree, at.geo, at.world, at.p, moving.vel, moving.speeds, at.ref, t)


def rates_by_symbol(**rates: Any) -> dict[str, Any]:
    """Return rates of arrays by the names of their symbols, for derivatives along a motion."""
    return {f"{name}[{k}]": x for name, xs in rates.items() for k, x in enumerate(xs)}


@dataclass(frozen=True, slots=True, eq=False)
class Commanded:
    """What drives a machine at one state: all inputs, the joints that a law guides, and the rates of
    the law's states.
    """

    inputs: Array
    guides: dict[int, Guide]
    rates: Array


def command(law: Law | None, readings: Readings, z: Array, given: Array) -> Commanded:
    """Return what a law with the states z adds to the given inputs."""
    if law is None:
        return Commanded(given, {}, array([0.0] * len(z)))
    model = readings.tree.model
    names, joints = list(model.inputs), len(model.joints)
    try:
        wanted, rates = call_law(law, readings, z)
    except DraisineError:
        raise
    except Exception as error:  # run in Python, it may tell what is wrong
        raise UntraceableLawError(f"{type(error).__name__}: {error}") from error
    extra: list[Scalar] = [0.0] * len(names)
    guides: dict[int, Guide] = {}
    for name, value in wanted.items():
        expect_known("law: no input", name, names, ModelError)
        k = names.index(name)
        if isinstance(value, Guide):
            if k >= joints:
                raise ModelError(f"law: {name!r} is a force; only joints can be guided.")
            if model.joints[k].motion is not None:
                raise ModelError(
                    f"law: joint {name!r} follows a prescribed motion, so that it cannot be guided, too."
                )
            guides[k], value = value, value.torque
        extra[k] = _scalar(name, value)
    if len(rates) != len(z):
        raise ModelError(
            f"law: it returns {len(rates)} rates for {len(z)} states; say "
            "how many it has by an attribute `states`."
        )
    told = [_scalar(f"rate {k}", rate) for k, rate in enumerate(rates)]
    return Commanded(given + array(extra), guides, array(told))


def _scalar(name: str, value: Any) -> Scalar:
    """Return what a law gives for an input or a rate, if it is one number or an expression of some."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, int | float | np.number):
        with suppress(OverflowError):
            if math.isfinite(value):
                return cast(Scalar, value)
    elif isinstance(value, Expr):
        return value
    raise ModelError(f"law: {name!r:.80} is {value!r:.80}, which is not a finite number.")
