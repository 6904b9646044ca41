"""JAX's functions are the package's own programs."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.codegen.derivative import with_tangents
from draisine.codegen.program import run_program as run_program

jax = pytest.importorskip("jax", reason="JAX is not installed")
door = pytest.importorskip("draisine.interop.jax")


@pytest.fixture(autouse=True)
def doubles() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def disc():
    system = draisine.compile("rolling_disc")
    return system, system.machine(), draisine.state(system, forward_speed=2.0, yaw_rate=0.5)


def test_steps_are_those_of_a_run(disc):
    system, machine, start = disc
    functions = door.JaxMachine(machine)
    h = 2.0**-7
    step = jax.jit(lambda y: functions.step(y, h))
    y = machine.enter(start)
    for _ in range(64):
        y = step(y)
    run = draisine.simulate(system, start, 0.5, numerics=draisine.Numerics(integrator="rk4", dt=h))
    assert_allclose(np.asarray(y), run.arcs[0].y[-1], rtol=1e-12, atol=1e-12)


def test_derivatives_agree_with_the_package(disc):
    """The change of all rates along the state and along the radius, by JAX and by our tangents."""
    system, machine, start = disc
    functions = door.JaxMachine(machine, ["radius"])
    y = machine.enter(start)
    radius = np.array([system.parameters["radius"]])
    along = np.sin(1.0 + np.arange(len(y)))
    rate = lambda y, p: functions.rate(y, p=p)  # noqa: E731
    value, slope = jax.jvp(rate, (y, radius), (along, np.array([0.7])))
    program = machine.programs["rate"]
    parts = ("q", "p", "r", "u", "z", "parameters")
    moved = [0.7 * (name == "radius") for name in system.parameters]
    given = machine.rate.inputs.split(machine.rate.inputs.pack(**machine.layout.split(y)))
    own = run_program(
        with_tangents(program, parts, "rate", 1),
        **given,
        parameters=system.values,
        seeds=np.array([*along, *moved]),
    )["rate"]
    assert_allclose(np.concatenate([value, slope]), own, rtol=1e-12, atol=1e-12)


def test_inputs_of_another_number_are_refused(disc):
    _, machine, start = disc
    with pytest.raises(
        draisine.errors.ParameterError, match=r"shape \(3,\), but the machine has 0"
    ):
        door.JaxMachine(machine).rate(machine.enter(start), [0.0, 0.0, 1.0])
