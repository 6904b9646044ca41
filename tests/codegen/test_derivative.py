"""Directional derivatives of programs, whose integrals are the exact derivatives of the motion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from draisine.codegen.derivative import with_tangents
from draisine.codegen.program import run_program
from draisine.system.system import compile

STATE = ("q", "p", "r", "u", "z")


@pytest.mark.parametrize("vehicle", ["rocr", "whipple", "snakeboard"])
def test_directional_derivatives_equal_differences(vehicle):
    """The reference are differences of fourth order, because native code does not accept complex steps."""
    system = compile(vehicle)
    program = system.machine().programs["rate"]
    both = with_tangents(program, STATE, "rate", 2)
    rng = np.random.default_rng(3)
    given = {name: rng.uniform(0.1, 0.5, size) for name, size in program.inputs.items()}
    given["parameters"] = system.values
    given["q"] = np.array([1.0, 0.1, -0.05, 0.2]) / np.linalg.norm([1.0, 0.1, -0.05, 0.2])
    given["r"] = given["r"] / 5  # far from where pivots vanish and differences fail
    n = sum(program.inputs[name] for name in STATE)
    seeds = rng.normal(size=(2, n))
    out = run_program(both, **given, seeds=seeds.ravel())
    plain = run_program(program, **given)
    assert_array_equal(out["pivots"], plain["pivots"])
    assert_allclose(out["rate"][:n], plain["rate"], rtol=1e-13)

    def moved(seed, step):
        parts = np.split(seed * step, np.cumsum([program.inputs[name] for name in STATE])[:-1])
        at = given | {name: given[name] + d for name, d in zip(STATE, parts, strict=True)}
        return run_program(program, **at)["rate"]

    h = 1e-4
    for k, seed in enumerate(seeds):
        near, far = (moved(seed, i * h) - moved(seed, -i * h) for i in (1, 2))
        wanted = (8 * near - far) / (12 * h)
        ours = out["rate"][n * (k + 1) : n * (k + 2)]
        assert_allclose(ours, wanted, atol=1e-8 * max(1.0, np.abs(wanted).max()))


def test_seeds_are_inputs_after_the_state():
    both = with_tangents(compile("rocr").machine().programs["rate"], STATE, "rate", 3)
    names = list(both.inputs)
    assert names.index("seeds") == names.index("z") + 1
    assert names[-2:] == ["w", "anchors"]
    assert both.inputs["seeds"] == 27
    assert len(both.outputs["rate"]) == 36
