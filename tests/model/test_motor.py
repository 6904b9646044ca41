"""Motors limit the torque of a joint in every formulation, law, program and export."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.control.servo import Servo
from draisine.errors import ModelError
from draisine.model import Body, Model, Motor, Revolute, inertia
from draisine.simulation.options import Numerics

INERTIA = 0.02  # kg m2, of the rotor about its axis


def rotor(motor=None, spring=0.0):
    """Return a vehicle: a disc on a hinge in the world, with a motor."""

    def vehicle(*, J: float = INERTIA) -> Model:
        hinge = Revolute("hinge", "world", "disc", (0, 0, 1), spring=spring, motor=motor)
        disc = Body("disc", 1.0, (0, 0, 0), inertia(J, J, J))
        return Model([Body("world", 0.0, (0, 0, 0), inertia(0, 0, 0)), disc], [hinge], base="fixed")

    return draisine.compile(vehicle)


@pytest.mark.parametrize(
    ("request_", "rate", "supplied"),
    [
        (1.0, 0.0, 1.0),  # below all limits
        (5.0, 0.0, 2.0),  # current limit
        (-5.0, 0.0, -2.0),
        (5.0, 75.0, 1.0),  # on the torque-speed line, 4 (1 - 75 / 100)
        (-5.0, -75.0, -1.0),
        (-5.0, 75.0, -2.0),  # braking is limited by the current alone
        (5.0, 110.0, 0.0),  # beyond the no-load speed the motor does not drive
        (-5.0, 110.0, -2.0),  # and brakes if it is requested
        (0.0, 300.0, 0.0),
    ],
)
def test_limits_of_a_motor(request_, rate, supplied):
    motor = Motor(torque=2.0, no_load_speed=100.0, stall_torque=4.0)
    assert motor.limit(request_, rate) == pytest.approx(supplied)


def test_a_largest_speed_without_a_line():
    """The torque is available over nine tenths of the speed range."""
    motor = Motor(torque=2.0, no_load_speed=10.0)
    assert motor.limit(2.0, 8.99) == 2.0
    assert motor.limit(2.0, 9.5) == pytest.approx(1.0)
    assert motor.limit(2.0, 10.0) == pytest.approx(0.0)


@pytest.mark.parametrize(
    "limits",
    [
        {"torque": 0.0},
        {"torque": -1.0},
        {"torque": "2"},
        {"no_load_speed": 5.0},
        {"stall_torque": np.nan},
        {"stall_torque": 4.0},
    ],
)
def test_impossible_limits_are_refused(limits):
    with pytest.raises(ModelError, match="motor: "):
        Motor(**limits)


@pytest.mark.parametrize("formulation", ["projected", "multiplier", "absolute"])
def test_a_rotor_runs_up_along_the_torque_speed_line(formulation):
    """J dw/dt = stall (1 - w / w0): w = w0 (1 - exp(-stall t / (J w0)))."""
    system = rotor(Motor(no_load_speed=50.0, stall_torque=4.0))
    numerics = Numerics(rtol=1e-10, formulation=formulation)
    run = draisine.simulate(
        system, draisine.state(system), 0.5, inputs={"hinge": 99.0}, numerics=numerics
    ).to_xarray()
    speed = 50.0 * (1.0 - np.exp(-4.0 * 0.5 / (INERTIA * 50.0)))
    assert float(run.hinge_rate[-1]) == pytest.approx(speed, rel=1e-8)


def test_the_supplied_torque_is_the_input_of_the_result():
    """It is limited; its work is the kinetic energy."""
    system = rotor(Motor(torque=0.5))
    run = draisine.simulate(system, draisine.state(system), 1.0, inputs={"hinge": 3.0}).to_xarray()
    assert_allclose(run.inputs.sel(input="hinge"), 0.5)
    assert float(run.kinetic_energy[-1]) == pytest.approx(0.5 * float(run.hinge[-1]), rel=1e-9)


def test_a_law_and_a_stepper_are_limited():
    """A servo far from its target accelerates with the largest torque."""
    system = rotor(Motor(torque=0.5))
    servo = Servo(("hinge",), (50.0,), damping=0.1, stiffness=100.0)
    run = draisine.simulate(system, draisine.state(system), 0.5, law=servo).to_xarray()
    assert float(run.hinge_rate[-1]) == pytest.approx(0.5 / INERTIA * 0.5, rel=1e-9)
    ride = draisine.Stepper(system, draisine.state(system))
    ride.step(0.5, {"hinge": -9.0})
    assert ride.values()["hinge_rate"] == pytest.approx(-0.5 / INERTIA * 0.5, rel=1e-9)


def test_a_limited_motor_on_a_terrain_and_in_another_machine_without_motor():
    from draisine.terrain import plane

    for motor, torque in ((Motor(torque=0.5), 0.5), (None, 3.0)):
        system = rotor(motor)
        run = draisine.simulate(
            system, draisine.state(system), 0.2, terrain=plane(), inputs={"hinge": 3.0}
        ).to_xarray()
        assert float(run.hinge_rate[-1]) == pytest.approx(torque / INERTIA * 0.2, rel=1e-9)


def test_small_signals_of_a_limited_motor_are_linear():
    """On the torque-speed line the motor is a damper stall / w0."""
    from draisine.analysis.linear import linearise

    system = rotor(Motor(torque=9.0, no_load_speed=50.0, stall_torque=4.0), spring=8.0)
    poles = linearise(system, draisine.state(system)).eigenvalues()
    assert_allclose(poles.real, 0.0, atol=1e-9)  # within the limits the drive is ideal
    assert_allclose(np.abs(poles), np.sqrt(8.0 / INERTIA))
