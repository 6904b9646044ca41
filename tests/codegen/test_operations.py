"""How much work the bicycle's equations are: a count, so a promise that can be kept."""

import pytest

import draisine
from draisine.algebra.trace import Graph
from draisine.codegen.program import trace_program
from draisine.mechanics.constraints import mode_of
from draisine.system import mode_programs as programs
from draisine.system.derivation import Derivation
from draisine.vehicles.bicycle.whipple import whipple

MODES = {
    "two wheels": ({}, 760),
    "front": ({"rear": "open"}, 600),
    "rear": ({"front": "open"}, 500),
    "flight": ({"rear": "open", "front": "open"}, 450),
}


@pytest.mark.parametrize("name", MODES)
def test_right_hand_sides_and_multipliers_stay_lean(name):
    """All 26 parameters are free and quaternion rates included; multipliers cost 110 more at most."""
    statuses, limit = MODES[name]
    nominal = draisine.compile("whipple").parameters
    graph = Graph()
    symbols = {key: graph.symbol(key, parameter=True) for key in nominal}
    model = whipple(**symbols)
    derivation = Derivation(graph, model, symbols, nominal, mode_of(model, statuses))
    program = programs.rate(derivation)
    assert len(program.outputs["rate"]) == 10 + len(derivation.choice.independent)
    assert program.operations <= limit
    inputs = {"parameters": list(symbols.values())} | derivation.symbols
    rate = [*derivation.reduced.udot, *derivation.reduced.multipliers]
    alone = trace_program("alone", inputs, {"udot": derivation.reduced.udot})
    both = trace_program("both", inputs, {"rate": rate})
    assert both.operations - alone.operations <= 110
