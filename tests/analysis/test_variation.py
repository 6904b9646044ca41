"""The program `variation`: observations, and derivatives against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile
from draisine.analysis.variation import VARIED_OUTPUTS, chart, vary
from draisine.system.closed_form import ClosedForm
from draisine.system.configuration import Configuration, displace_states

VEHICLES = ("whipple", "rolling_disc", "snakeboard", "cart_pole", "falling_cat", "fish")


def some_states(machine: ClosedForm, count: int, rng: np.random.Generator) -> np.ndarray:
    still = Configuration(machine, count).y
    n = len(machine.columns)
    y = displace_states(machine, still, 0.2 * rng.normal(size=(count, n)))
    y[:, machine.layout.u] = rng.normal(size=(count, machine.layout.count("u")))
    return y


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_derivatives_agree_with_differences(vehicle: str) -> None:
    machine = compile(vehicle).machine()
    rng = np.random.default_rng(3)
    y = some_states(machine, 3, rng)
    w = rng.normal(size=(3, machine.variation.inputs.count("w")))
    found = vary(machine, y, w)
    dx, du = (rng.normal(size=(3, machine.variation.inputs.count(name))) for name in ("dx", "du"))
    dw = rng.normal(size=w.shape)
    h = 1e-4

    def at(k: int) -> dict[str, np.ndarray]:
        moved = displace_states(machine, y, k * h * dx)
        moved[:, machine.layout.u] += k * h * du
        return vary(machine, moved, w + k * h * dw, seeds=("dt",)).values

    near = {k: at(k) for k in (-2, -1, 1, 2)}
    for part in VARIED_OUTPUTS:
        slope = 8 * (near[1][part] - near[-1][part]) - (near[2][part] - near[-2][part])
        exact = sum(
            (found.d[part][seed] @ along[:, :, None])[:, :, 0]
            for seed, along in (("dx", dx), ("du", du), ("dw", dw))
        )
        assert_allclose(
            exact, slope / (12 * h), rtol=1e-6, atol=1e-6 * (1 + np.abs(exact).max(initial=0))
        )


@pytest.mark.parametrize("vehicle", VEHICLES)
def test_observations_equal_those_of_the_program_observe(vehicle: str) -> None:
    system = compile(vehicle)
    machine = system.machine()
    rng = np.random.default_rng(5)
    y = some_states(machine, 1, rng)
    w = rng.normal(size=machine.variation.inputs.count("w"))
    found = vary(machine, y, w[None])
    looked = machine.observation(y[0], w=w)
    seen = dict(zip(found.names, found.values["seen"][0], strict=True))
    outputs = dict(zip(system.outputs, looked["outputs"], strict=True))
    for name, value in outputs.items():
        assert_allclose(seen[name], value, rtol=1e-12, atol=1e-12)
    for k, angle in enumerate(("yaw", "lean", "pitch")):
        assert_allclose(seen[f"{angle}_rate"], looked["output_rates"][k], rtol=1e-11, atol=1e-11)
    assert_allclose([seen[name] for name in system.model.speeds], looked["v"], atol=1e-12)
    assert_allclose(
        found.speed_rates(system.model.speeds)[0], looked["vdot"], rtol=1e-10, atol=1e-10
    )
    udot = np.linalg.solve(found.mass[0], found.values["force"][0])
    rate = machine.rate(**machine.layout.split(y[0]), w=w)["rate"]
    assert_allclose(udot, rate[machine.layout.u], rtol=1e-9, atol=1e-9)


def test_every_lane_can_have_its_own_parameters() -> None:
    system = compile("whipple")
    machine = system.machine()
    rng = np.random.default_rng(7)
    y = some_states(machine, 3, rng)
    parameters = np.tile(system.values, (3, 1))
    masses = [70.0, 85.0, 110.0]
    parameters[:, list(system.parameters).index("mB")] = masses
    found = vary(machine, y, parameters=parameters)
    for k, mass in enumerate(masses):
        alone = vary(system.with_parameters(mB=mass).machine(), y[k : k + 1])
        assert_allclose(found.d["paced"]["dx"][k], alone.d["paced"]["dx"][0], rtol=1e-14)
        assert_allclose(found.mass[k], alone.mass[0], rtol=1e-14)


def test_a_chart_keeps_the_contacts_closed() -> None:
    machine = compile("whipple").machine()
    y = some_states(machine, 4, np.random.default_rng(9))
    found = vary(machine, y)
    at = chart(found)
    assert at.coordinates == ("lean", "steer", "yaw", "rear_wheel", "front_wheel", "x", "y")
    assert at.speeds == ("lean_rate", "steer_rate", "rear_wheel_rate")
    assert_allclose(found.d["conditions"]["dx"] @ at.X, 0.0, atol=1e-13)
    plain = [name for name in at.coordinates if name not in ("x", "y")]
    moved = found.observation_derivatives(plain, "dx") @ at.X
    assert_allclose(moved, np.broadcast_to(np.eye(5, 7), moved.shape), atol=1e-12)
