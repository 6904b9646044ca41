"""Programs with exact directional derivatives of their outputs (forward-mode differentiation)."""

from collections.abc import Mapping, Sequence
from typing import Any

from draisine.algebra.trace import Expr, Graph, tangent
from draisine.codegen.program import Program, trace_program


def with_tangents(program: Program, state: Sequence[str], output: str, count: int) -> Program:
    """Return a program whose `output` is followed by its derivatives along `count` directions of
    differentiation, eq. [tangent-flow].

    The state consists of the input arrays `state`, n numbers in total. The directions are an additional
    input `seeds` after these arrays: `count` concatenated displacements of the state, count * n numbers. If
    the output is the time derivative of the state, integrating state and directions together yields the
    exact derivatives of the motion with respect to its initial state.

    >>> steps = [("input", "x", 0), ("mul", 0, 0)]
    >>> square = Program("square", {"x": 1}, steps, {"rate": [1]}, [False, False])
    >>> with_tangents(square, ["x"], "rate", 1).inputs
    {'x': 1, 'seeds': 1}
    """
    graph = Graph()
    symbols_of = {
        name: [graph.symbol(f"{name}[{k}]", parameter=name == "parameters") for k in range(size)]
        for name, size in program.inputs.items()
    }
    values = retrace(program, graph, symbols_of)
    outputs = {name: [values[k] for k in entries] for name, entries in program.outputs.items()}
    names = [f"{name}[{k}]" for name in state for k in range(program.inputs[name])]
    seeds = [graph.symbol(f"seeds[{k}]") for k in range(count * len(names))]
    for i in range(count):
        along = seeds[i * len(names) : (i + 1) * len(names)]
        rates = tangent(
            [values[k] for k in program.outputs[output]], dict(zip(names, along, strict=True))
        )
        outputs[output] = [*outputs[output], *rates]
    inputs: dict[str, list[Expr]] = {}
    for name, symbols in symbols_of.items():
        inputs[name] = symbols
        if name == state[-1]:
            inputs["seeds"] = seeds
    return trace_program(f"{program.name} with tangents", inputs, outputs)


def retrace(program: Program, graph: Graph, inputs: Mapping[str, Any]) -> list[Expr | float]:
    """Evaluate a program with expressions of `graph` as inputs; return the value of each of its steps."""
    values: list[Expr | float] = []
    for op, *rest in program.steps:
        if op == "const":
            values.append(float(rest[0]))
        elif op == "input":
            values.append(inputs[rest[0]][rest[1]])
        else:
            arguments = (values[k] for k in rest)
            indices = [x.index if isinstance(x, Expr) else graph.constant(x) for x in arguments]
            values.append(graph.node(op, *indices))
    return values
