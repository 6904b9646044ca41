"""What a formulation takes and gives: a model in; accelerations and contact forces out, in the
user's own terms.

Each formulation has a function `accelerations(model, ...)` that returns an `Accelerate`. Its inner
coordinates are its own business. Its equations are written over any scalar, traced once, and made a
function of floats by `realise`: as plain Python by default, or by whatever code generator
the caller brings.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar, array
from draisine.algebra.trace import Expr, Graph, reachable
from draisine.errors import ModelError, ParameterError
from draisine.model import Model


class Configured(Protocol):
    """Where a machine is and how it moves, as the user has it: unit quaternion q and position p of
    the drawing's frame on the base, shape r, speeds v.
    """

    @property
    def q(self) -> Floats:
        """The unit quaternion of the base, scalar first."""

    @property
    def p(self) -> Floats:
        """The position of the drawing's origin on the base."""

    @property
    def r(self) -> Floats:
        """The joint coordinates."""

    @property
    def v(self) -> Floats:
        """The speeds (eta, rdot)."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A `Configured` that comes out of a formulation."""

    q: Floats
    p: Floats
    r: Floats
    v: Floats


Accelerate = Callable[[float, Configured, Any], tuple[Floats, Floats]]
"""From time, state and inputs (in the order of `model.inputs`; None: all zero) to vdot and the
ground's force on each contact, one row (normal, along, across) per contact; (x, y, z) for a pin.
"""

Evaluator = Callable[..., Mapping[str, Floats]]
Realise = Callable[[Mapping[str, Sequence[Expr]], Mapping[str, Sequence[Any]]], Evaluator]
"""From traced inputs and outputs by name to a function of floats: arrays in and out by name."""


_TEXT = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "neg": "-{}",
    "inv": "inverse({})",
    "sqrt": "root({})",
    "sin": "sin({})",
    "cos": "cos({})",
    "exp": "exp({})",
    "atan2": "atan2({}, {})",
    "lt": "float({} < {})",
    "where": "{1} if {0} else {2}",
}
"""How an operation is written in Python."""

_NAMES = {
    "inverse": lambda x: 1.0 / x if x else math.inf,
    "root": lambda x: math.sqrt(x) if x >= 0.0 else math.nan,
    "sin": math.sin,
    "cos": math.cos,
    "exp": math.exp,
    "atan2": math.atan2,
}


def interpret(
    inputs: Mapping[str, Sequence[Expr]], outputs: Mapping[str, Sequence[Any]]
) -> Evaluator:
    """Return traced outputs as a function of floats, one line of Python per operation.

    >>> from draisine.algebra.trace import Graph
    >>> x = Graph().symbol("x[0]")
    >>> interpret({"x": [x]}, {"y": [x * x, 1.0]})(x=[3.0])["y"]
    array([9., 1.])
    """
    graph = next(x.graph for symbols in inputs.values() for x in symbols)
    flat = [
        x.index if isinstance(x, Expr) else graph.constant(float(x))
        for values in outputs.values()
        for x in values
    ]
    leaves = {
        x.index: f"{name}[{k}]" for name, symbols in inputs.items() for k, x in enumerate(symbols)
    }
    lines = [f"def function({', '.join(inputs)}):"]
    text: dict[int, str] = {}
    for i in reachable(graph, flat):
        op, *arguments = graph.ops[i]
        if op == "const":
            text[i] = f"({arguments[0]!r})"
            continue
        written = leaves[i] if op == "symbol" else _TEXT[op].format(*[text[k] for k in arguments])
        text[i] = f"v{i}"
        lines.append(f"    v{i} = {written}")
    lines.append(f"    return [{', '.join(text[i] for i in flat)}]")
    scope: dict[str, Any] = dict(_NAMES)
    exec("\n".join(lines), scope)
    function = scope["function"]
    ends = np.cumsum([len(values) for values in outputs.values()])[:-1]

    def evaluate(**arrays: Any) -> dict[str, Floats]:
        given = [
            np.asarray(arrays[name], float).tolist() if name in arrays else [0.0] * len(symbols)
            for name, symbols in inputs.items()
        ]
        return dict(zip(outputs, np.split(np.array(function(*given)), ends), strict=True))

    return evaluate


def trace_symbols(sizes: Mapping[str, int]) -> dict[str, Array]:
    """Return symbols of one graph by name, as many as their sizes say."""
    graph = Graph()
    return {
        name: array([graph.symbol(f"{name}[{k}]") for k in range(size)])
        for name, size in sizes.items()
    }


def realise_arrays(
    realise: Realise, symbols: Mapping[str, Array], outputs: Mapping[str, Any]
) -> Evaluator:
    """Return traced arrays as a function of floats that gives them in their shapes."""
    arrays = {name: np.asarray(x, dtype=object) for name, x in outputs.items()}
    evaluate = realise(
        {name: list(x) for name, x in symbols.items()},
        {name: list(x.ravel()) for name, x in arrays.items()},
    )

    def shaped(**given: Any) -> dict[str, Floats]:
        found = evaluate(**given)
        return {name: found[name].reshape(x.shape) for name, x in arrays.items()}

    return shaped


def joint_torques(model: Model, inputs: Array, r: Sequence[Scalar] | Array, rdot: Array) -> Array:
    """Return the torques of all joints: what is put in, less springs and dampers."""
    return array(
        [
            inputs[k] - joint.spring * (r[k] - joint.rest) - joint.damper * rdot[k]
            for k, joint in enumerate(model.joints)
        ]
    )


def in_numbers(model: Model) -> Model:
    """Return the model, after checking that numbers describe it, not symbols."""
    bodies = [x for b in model.bodies for x in (b.mass, *b.com, *b.inertia.ravel())]
    joints = [x for j in model.joints for x in (*j.axis, *j.through)]
    joints += [x for j in model.joints for x in (j.spring, j.damper, j.rest, j.armature)]
    if array([*bodies, *joints, *model.gravity]).dtype == object:
        raise ModelError("the model holds symbols; a formulation takes it with numbers in it.")
    if model.elements:
        names = ", ".join(repr(element.name) for element in model.elements)
        raise ModelError(
            f"this formulation knows no force elements ({names}); take 'projected' or 'multiplier'."
        )
    if model.ground is not None:
        raise ModelError(
            "this formulation assumes that the ground is at rest; use 'projected' or 'multiplier' for "
            "moving ground."
        )
    return model


def check_inputs(model: Model, state: Configured, inputs: Any) -> Floats:
    """Return the inputs as a vector, after checking that state and inputs fit the model."""
    sizes = {"q": 4, "p": 3, "r": len(model.joints), "v": len(model.speeds)}
    for name, size in sizes.items():
        value = np.asarray(getattr(state, name), float)
        if value.shape != (size,):
            raise ParameterError(f"state: {name} has shape {value.shape}; the model has ({size},).")
        if not np.all(np.isfinite(value)):
            raise ParameterError(f"state: {name} has entries that are not numbers.")
    if abs(np.linalg.norm(state.q) - 1.0) > 1e-6:
        raise ParameterError("state: q is no unit quaternion.")
    names = model.inputs
    given = np.zeros(len(names)) if inputs is None else np.asarray(inputs, float)
    if given.shape != (len(names),):
        raise ParameterError(
            f"inputs have shape {given.shape}; the model takes {len(names)}: {', '.join(names)}."
        )
    if not np.all(np.isfinite(given)):
        raise ParameterError("inputs have entries that are not numbers.")
    return given
