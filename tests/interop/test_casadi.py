"""CasADi's functions are the package's own programs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.gradient import GradientRun
from draisine.errors import ParameterError

casadi = pytest.importorskip("casadi", reason="casadi is not installed")
door = pytest.importorskip("draisine.interop.casadi")

H = 2.0**-7


@pytest.fixture(scope="module")
def bicycle():
    system = draisine.compile("whipple")
    return system, system.machine(), draisine.state(system, forward_speed=4.6, lean_rate=0.5)


@pytest.mark.parametrize(
    ("vehicle", "start"),
    [("whipple", {"forward_speed": 4.6, "lean": 0.2}), ("segway", {"pitch": 0.3}), ("acrobot", {})],
)
def test_rates_are_those_of_machine_code(vehicle, start):
    system = draisine.compile(vehicle)
    machine = system.machine()
    y = machine.enter(draisine.state(system, **start))
    w = np.linspace(-1.0, 1.0, len(system.model.inputs))
    there = door.CasadiMachine(machine).rate()(y=y, w=w)["ydot"].full().ravel()
    here = machine.rate(**machine.layout.split(y), w=w)["rate"]
    assert_allclose(there, here, rtol=1e-12, atol=1e-12 * np.abs(here).max())


def test_steps_are_those_of_a_run(bicycle):
    system, machine, start = bicycle
    functions = door.CasadiMachine(machine)
    step = functions.step(H)
    y = machine.enter(start)
    w = [0.3, 0.0, 0.0]
    for _ in range(64):
        y = step(y=y, w=w)["next"]
    numerics = draisine.Numerics(integrator="rk4", dt=H)
    run = draisine.simulate(system, start, 0.5, inputs={"steer": 0.3}, numerics=numerics)
    assert_allclose(y.full().ravel(), run.arcs[0].y[-1], rtol=1e-12, atol=1e-12)
    names = ["lean", "steer_rate", "y", "yaw"]
    seen = functions.observe(names)(y=y)["seen"].full().ravel()
    end = run.to_xarray().isel(time=-1)
    told = [end.lean, end.steer_rate, end.position.sel(axis="y"), end.yaw]
    assert_allclose(seen, [float(x) for x in told], rtol=1e-11, atol=1e-12)


def test_derivatives_agree_with_the_package():
    """By a parameter, over half a second of a pendulum on a cart; the steps here are rougher."""
    cart = draisine.compile("cart_pole")
    machine = cart.machine()
    functions = door.CasadiMachine(machine, ["mP"])
    step = functions.step(0.005)
    p = casadi.SX.sym("p")
    y = casadi.SX(casadi.DM(machine.enter(draisine.state(cart, pole=0.1))))
    for _ in range(100):
        y = step(y=y, p=p)["next"]
    seen = functions.observe(["pole"])(y=y, p=p)["seen"]
    slope = casadi.Function("slope", [p], [seen, casadi.jacobian(seen, p)])
    value, derivative = (float(x) for x in slope(0.1))
    own = GradientRun(["pole"], ["mP"])(cart, {"pole": 0.1}, np.array([0.5]))
    assert_allclose(value, own.values[0, 0], rtol=1e-8)
    assert_allclose(derivative, own.derivatives[0, 0, 0], rtol=1e-7)


def test_unknown_names_are_refused(bicycle):
    _, machine, _ = bicycle
    with pytest.raises(ParameterError, match="no parameter 'mX'"):
        door.CasadiMachine(machine, ["mX"])
    with pytest.raises(ParameterError, match="Did you mean 'lean_rate'"):
        door.CasadiMachine(machine).observe(["lean_rat"])
