"""Numbers of arithmetic operations in the bicycle's equations, a measure of cost without timing."""

import pytest

import draisine
from draisine.mechanics.constraints import mode_of
from draisine.system import mode_programs as programs
from draisine.system.derivation import Derivation
from draisine.system.tracing import trace_vehicle
from draisine.vehicles.bicycle.whipple import whipple

MODES = {
    "two wheels": ({}, 760),
    "front": ({"rear": "open"}, 600),
    "rear": ({"front": "open"}, 500),
    "flight": ({"rear": "open", "front": "open"}, 450),
}


@pytest.mark.parametrize("name", MODES)
def test_operation_counts_of_the_bicycle_are_bounded(name):
    """With all 26 parameters as symbols and quaternion rates; multipliers cost at most 110 more."""
    statuses, limit = MODES[name]
    nominal = draisine.compile("whipple").parameters
    tracing = trace_vehicle(whipple, nominal, {})
    derivation = Derivation(tracing, mode_of(tracing.model, statuses))
    program = programs.derive_rate(derivation)
    assert len(program.outputs["rate"]) == 10 + len(derivation.choice.independent)
    assert program.operations <= limit
    inputs = derivation.symbols
    rate = [*derivation.reduced.udot, *derivation.reduced.multipliers]
    alone = tracing.make_program("alone", inputs, {"udot": derivation.reduced.udot})
    both = tracing.make_program("both", inputs, {"rate": rate})
    assert both.operations - alone.operations <= 110
