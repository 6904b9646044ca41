"""Protocol of a formulation: from a model to its accelerations and contact forces.

Each formulation has a function `accelerations(model, ...)` that returns an `Accelerate`. The
internal coordinates of a formulation are private. Its equations are written over any scalar type,
traced once, and turned into a function of floats by `realise`: plain Python by default, or a code
generator of the caller.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar, array
from draisine.algebra.trace import Expr, Graph, reachable
from draisine.errors import ModelError, ParameterError
from draisine.mechanics.applied import limit_motor_torques
from draisine.model import Model


class Configured(Protocol):
    """Configuration and speeds of a multibody system in the user's coordinates: base pose, joint
    coordinates, twist and joint rates.
    """

    @property
    def q(self) -> Floats:
        """Unit quaternion of the base, scalar first, (4,)."""

    @property
    def p(self) -> Floats:
        """Position of the base's origin, m, (3,)."""

    @property
    def r(self) -> Floats:
        """Joint coordinates, rad or m, (n,)."""

    @property
    def v(self) -> Floats:
        """Speeds (eta, rdot): twist of the base and joint rates."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Configuration and speeds that a formulation returns; implements the protocol `Configured`."""

    q: Floats
    p: Floats
    r: Floats
    v: Floats


Accelerate = Callable[[float, Configured, Any], tuple[Floats, Floats]]
"""Function from time (s), state and inputs to vdot and contact forces.

Inputs are in the order of `model.inputs`; None means zero. The forces of the ground on the contacts
have one row (normal, along, across) per contact, or (x, y, z) for a pin.
"""

Evaluator = Callable[..., Mapping[str, Floats]]
"""Function of named arrays of floats that returns named arrays of floats."""

Realise = Callable[[Mapping[str, Sequence[Expr]], Mapping[str, Sequence[Any]]], Evaluator]
"""Compiler from traced inputs and outputs by name to a function of float arrays by name."""


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
"""Template of the Python expression of each traced operation, by name of the operation."""

_PYTHON_FUNCTIONS = {
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
    names: dict[int, str] = {}
    for i in reachable(graph, flat):
        op, *arguments = graph.ops[i]
        if op == "const":
            names[i] = f"({arguments[0]!r})"
            continue
        expression = (
            leaves[i] if op == "symbol" else _TEXT[op].format(*[names[k] for k in arguments])
        )
        names[i] = f"v{i}"
        lines.append(f"    v{i} = {expression}")
    lines.append(f"    return [{', '.join(names[i] for i in flat)}]")
    scope: dict[str, Any] = dict(_PYTHON_FUNCTIONS)
    exec("\n".join(lines), scope)
    function = scope["function"]
    ends = np.cumsum([len(values) for values in outputs.values()])[:-1]

    def evaluate(**arrays: Any) -> dict[str, Floats]:
        """Return the outputs by name for inputs by name."""
        values = [
            np.asarray(arrays[name], float).tolist() if name in arrays else [0.0] * len(symbols)
            for name, symbols in inputs.items()
        ]
        return dict(zip(outputs, np.split(np.array(function(*values)), ends), strict=True))

    return evaluate


def trace_symbols(sizes: Mapping[str, int], graph: Graph | None = None) -> dict[str, Array]:
    """Return arrays of symbols of one graph, a new one by default, by name and size."""
    if graph is None:
        graph = Graph()
    return {
        name: array([graph.symbol(f"{name}[{k}]") for k in range(size)])
        for name, size in sizes.items()
    }


def realise_arrays(
    realise: Realise, symbols: Mapping[str, Array], outputs: Mapping[str, Any]
) -> Evaluator:
    """Compile traced arrays into a function of floats whose results have the shapes of the arrays."""
    arrays = {name: np.asarray(x, dtype=object) for name, x in outputs.items()}
    evaluate = realise(
        {name: list(x) for name, x in symbols.items()},
        {name: list(x.ravel()) for name, x in arrays.items()},
    )

    def evaluate_shaped(**values: Any) -> dict[str, Floats]:
        """Return the outputs by name, each in the shape of its traced array."""
        flat = evaluate(**values)
        return {name: flat[name].reshape(x.shape) for name, x in arrays.items()}

    return evaluate_shaped


def joint_torques(model: Model, inputs: Array, r: Sequence[Scalar] | Array, rdot: Array) -> Array:
    """Return the torques of all joints (n,), N m or N: inputs limited by motors, plus springs and
    dampers.
    """
    supplied = limit_motor_torques(model, inputs, rdot)
    return array(
        [
            supplied[k] - joint.spring * (r[k] - joint.rest) - joint.damper * rdot[k]
            for k, joint in enumerate(model.joints)
        ]
    )


def check_numeric_model(model: Model) -> Model:
    """Return the model after checking that a numerical formulation supports it."""
    bodies = [x for b in model.bodies for x in (b.mass, *b.com, *b.inertia.ravel())]
    joints = [x for j in model.joints for x in (*j.axis, *j.through)]
    joints += [x for j in model.joints for x in (j.spring, j.damper, j.rest, j.armature)]
    if array([*bodies, *joints, *model.gravity]).dtype == object:
        raise ModelError(
            "The model contains symbols, but this formulation requires numbers. Build the model with "
            "parameter values."
        )
    return check_supported_model(model)


def check_supported_model(model: Model) -> Model:
    """Return the model after checking that it has no force elements and that its ground is at rest."""
    if model.elements:
        names = ", ".join(repr(element.name) for element in model.elements)
        raise ModelError(
            f"This formulation does not support force elements ({names}). Use 'projected' or 'multiplier'."
        )
    if model.ground is not None:
        raise ModelError(
            "This formulation assumes that the ground is at rest. Use 'projected' or 'multiplier' for "
            "moving ground."
        )
    return model


def check_inputs(model: Model, state: Configured, inputs: Any) -> Floats:
    """Return the inputs as a vector, after checking that state and inputs fit the model."""
    sizes = {"q": 4, "p": 3, "r": len(model.joints), "v": len(model.speeds)}
    for name, size in sizes.items():
        value = np.asarray(getattr(state, name), float)
        if value.shape != (size,):
            raise ParameterError(f"state: {name} has shape {value.shape}; it must be ({size},).")
        if not np.all(np.isfinite(value)):
            raise ParameterError(f"state: {name} has entries that are not finite numbers.")
    # Relative tolerance 1e-6: accepts quaternions from files and tables that are rounded to six
    # digits.
    if abs(np.linalg.norm(state.q) - 1.0) > 1e-6:
        raise ParameterError("state: the length of the quaternion q is not 1. Normalise it.")
    names = model.inputs
    values = np.zeros(len(names)) if inputs is None else np.asarray(inputs, float)
    if values.shape != (len(names),):
        raise ParameterError(
            f"inputs have shape {values.shape}; the model has {len(names)}: {', '.join(names)}."
        )
    if not np.all(np.isfinite(values)):
        raise ParameterError("inputs: all values must be finite numbers (N m or N).")
    return values
