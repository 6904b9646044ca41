"""DRAISINE_INTERPRET=1 runs the contact engine as plain Python, with the bits of machine code."""

import math
import os
import subprocess
import sys

import draisine
from draisine.terrain import ramp
from simulation.contact.conftest import bicycle, on_the_ramp

RUN = """
from draisine.codegen.targets.native import routine_code
from draisine.simulation.contact.event_driven.run_loop import run_arcs
from simulation.contact.test_interpreted import jump

print(type(routine_code(run_arcs)[0]).__name__)
print(*jump(), sep="\\n")
"""


def jump() -> list[str]:
    """Return the events and all states of a jump over a ramp, exactly."""
    run = draisine.simulate(bicycle(), on_the_ramp(), 1.0, terrain=ramp(math.radians(10), 0.5))
    events = [f"{event.kind} {float(event.t).hex()}" for event in run.events]
    return events + [float(x).hex() for arc in run.arcs for x in arc.y.ravel()]


def test_an_interpreted_ramp_jump_has_the_bits_of_machine_code():
    path = os.pathsep.join(part for part in sys.path if part)
    variables = {**os.environ, "PYTHONPATH": path, "DRAISINE_INTERPRET": "1"}
    command = [sys.executable, "-c", RUN]
    out = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    kind, *found = out.stdout.splitlines()
    expected = jump()
    assert kind == "InterpretedRoutine"
    assert [one.split()[0] for one in expected[:3]] == ["lift-off", "lift-off", "collision"]
    assert found == expected
