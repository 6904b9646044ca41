"""Ideal wheels in requested time steps: machines that they over-constrain on uneven ground are refused, and
others are not.
"""

import math
from functools import cache

import numpy as np
import pytest

import draisine
from draisine import ContactOptions, simulate, state
from draisine.errors import ContactSetError
from draisine.simulation.contact.stepping import step
from draisine.terrain import height_field, kerb, plane
from simulation.contact.stepping.test_step_rules import WEIGHT, H, stepping
from simulation.contact.stepping.test_steps import Servos, machine

IDEAL = ContactOptions(mu=math.inf, solver="time_stepping")


@cache
def compiled(name):
    return draisine.compile(name)


def hills(begin, height=0.01, cell=0.1, seed=0):
    """Return a terrain of random heights that is level before `begin` (m)."""
    x = np.arange(-3.0, 6.0, cell)
    y = np.arange(-2.0, 2.05, cell)
    z = np.random.default_rng(seed).uniform(0.0, height, (len(x), len(y)))
    z[x < begin] = 0.0
    return height_field(x, y, z)


class Drive:
    """Speed servos of the rear wheels of car and tricycle, and a stiff steering."""

    def __init__(self, *names):
        self.names = names

    def __call__(self, readings, z):
        torques = {name: 20.0 * (1.0 / 0.3 - readings.rate(name)) for name in self.names}
        return torques | {"steer": -40.0 * (readings.joint("steer") + readings.rate("steer"))}, []


DRIVES = {"car": Drive("rear_left", "rear_right"), "tricycle": Drive("left", "right")}


@pytest.mark.parametrize("yaw", [0.0, 0.3])
def test_two_wheels_on_one_axle_are_refused_soon_after_the_first_conflict(yaw):
    """On the level ground before the hills the machine rolls. The wheels are 4 cm high on them when the run
    ends; the axle is 0.35 m from the start.
    """
    system = machine()
    start = state(system, yaw=yaw)
    options = {"law": Servos(10.0, 0.05), "contact": IDEAL}
    assert simulate(system, start, 0.5, terrain=hills(0.35), **options).outcome == "completed"
    with pytest.raises(ContactSetError, match=r"left:.*right:.*over-constrain.*mu=0\.8") as caught:
        simulate(system, start, 4.0, terrain=hills(0.35), **options)
    partial = caught.value.partial
    assert partial.outcome == "over-constrained"
    assert 0.2 < partial.final().p[0] < 0.6
    # A finite friction decides which wheel slips.
    finite = options | {"contact": ContactOptions(mu=0.8, solver="time_stepping")}
    assert simulate(system, start, 1.5, terrain=hills(0.35), **finite).outcome == "completed"


@pytest.mark.parametrize("name", ["car", "tricycle"])
def test_an_axle_with_a_steered_one_is_refused(name):
    system = compiled(name)
    start = state(system, x=-1.2, forward_speed=1.0)
    with pytest.raises(ContactSetError, match="over-constrain"):
        simulate(system, start, 4.0, terrain=hills(0.6, seed=2), law=DRIVES[name], contact=IDEAL)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_bicycle_on_ideal_discs_rolls_over_hills(seed):
    bicycle = compiled("whipple")
    start = state(bicycle, x=-2.0, forward_speed=4.0, lean=0.02)
    run = simulate(bicycle, start, 2.0, terrain=hills(0.0, 0.02, 0.3, seed), contact=IDEAL)
    assert run.outcome == "completed"


@pytest.mark.parametrize("rise", [-0.05, -0.15])
def test_a_bicycle_on_ideal_discs_descends_a_kerb(rise):
    bicycle = compiled("whipple")
    start = state(bicycle, forward_speed=1.2)
    run = simulate(bicycle, start, 1.8, terrain=kerb(1.3, rise), contact=IDEAL)
    assert run.outcome == "completed"


@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("name", ["car", "tricycle"])
def test_exactly_redundant_wheels_on_planes_and_slopes_are_not_refused(name, slope):
    """Two and four ideal wheels roll in a curve as in event location."""
    system = compiled(name)
    ground = plane(slope)
    start = state(system, forward_speed=1.0, steer=0.2)
    if slope:
        start = draisine.place(system, start, ground, on="ground")
    options = {"terrain": ground, "law": DRIVES[name]}
    run = simulate(system, start, 1.0, contact=IDEAL, **options)
    exact = simulate(system, start, 1.0, contact=ContactOptions(solver="events"), **options)
    assert np.abs(run.final().p - exact.final().p).max() < 2e-3


@pytest.mark.parametrize("rise", [0.005, 0.01])
def test_a_car_drives_straight_over_a_kerb(rise):
    """Its constraint rows are nearly redundant while its axles are on different features, but straight motion
    satisfies them and requires hardly any friction.
    """
    car = compiled("car")
    start = state(car, x=-1.2, forward_speed=1.0)
    run = simulate(car, start, 3.5, terrain=kerb(0.6, rise), law=DRIVES["car"], contact=IDEAL)
    assert run.outcome == "completed"
    assert run.final().p[0] > 2.0


# --- decisions


@pytest.mark.parametrize(
    ("loads", "friction", "mu", "expected"),
    [
        ((30.0, 30.0), 70.0, math.inf, True),
        ((30.0, 30.0), 50.0, math.inf, False),  # within the friction of a wheel
        ((30.0, 0.5), 70.0, math.inf, False),  # the other wheel carries nothing
        ((30.0, 30.0), 70.0, 3.0, False),  # friction has a limit
    ],
)
def test_two_loaded_ideal_contacts_are_strained(loads, friction, mu, expected):
    """Loads and friction in N; the weight is 100 N."""
    s = stepping(2, mu=np.full(2, mu))
    s.problem.impulse[:] = [loads[0] * H, friction * H, 0.0, loads[1] * H, 0.0, 0.0]
    assert WEIGHT == 100.0
    assert bool(step.is_strained(s, H)) is expected
