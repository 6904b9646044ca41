"""Dry friction that sticks, against closed forms of Coulomb's law."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.linear import linearise
from draisine.mechanics.forces.joint_friction import JointFriction
from draisine.mechanics.forces.sticking_friction import StickingFriction
from draisine.model import Body, Model, Prismatic, Revolute, inertia
from draisine.terrain import plane

MASS = 2.0  # kg
FRICTION = 3.0  # N
NUMERICS = draisine.Numerics(rtol=1e-11, atol=1e-12)


def block(stiffness=0.0, friction=None):
    """Return a block on a slide with dry friction and a spring."""

    def vehicle():
        return Model(
            bodies=[Body("rail", 0.0), Body("block", MASS)],
            joints=[Prismatic("slide", "rail", "block", (1.0, 0.0, 0.0), spring=stiffness)],
            forces=[friction or StickingFriction("slide", FRICTION)],
            base="fixed",
        )

    return draisine.compile(vehicle)


def final(system, until, inputs=None, **start):
    """Return coordinate (m) and rate (m/s) of the slide at the end of a run."""
    run = draisine.simulate(
        system, draisine.state(system, **start), until, inputs=inputs, numerics=NUMERICS
    )
    return float(run.final().r[0]), float(run.final().v[0])


def test_a_block_slides_to_rest():
    """It decelerates by F / m, travels m v^2 / (2 F), and stays there."""
    sharp = StickingFriction("slide", FRICTION, rate=1e-5, deflection=1e-9)
    x, rate = final(block(friction=sharp), 0.7, slide_rate=1.0)
    assert x == pytest.approx(MASS / (2.0 * FRICTION), abs=1e-8)
    assert rate == pytest.approx(0.0, abs=1e-8)


def test_a_sliding_block_feels_the_exact_friction():
    x, rate = final(block(), 0.3, slide_rate=1.0)
    deceleration = FRICTION / MASS
    assert_allclose([x, rate], [0.3 - deceleration * 0.045, 1.0 - deceleration * 0.3], rtol=1e-10)


def test_an_oscillator_loses_the_same_amplitude_in_each_swing():
    """By Coulomb's law a swing ends at 2 F / k less amplitude; it stops where k x is below F."""
    stiffness = 200.0
    loss = 2.0 * FRICTION / stiffness
    sharp = StickingFriction("slide", FRICTION, rate=1e-4, deflection=1e-8)
    system = block(stiffness, sharp)
    half_period = np.pi * np.sqrt(MASS / stiffness)
    for swings in (1, 2, 3):
        x, _ = final(system, swings * half_period, slide=0.2)
        assert abs(x) == pytest.approx(0.2 - swings * loss, abs=2e-8)
    # After six swings of 0.2 m the amplitude 0.02 m is on the other side; k x = 4 N > F, then one more.
    x, rate = final(system, 10.0 * half_period, slide=0.2)
    assert abs(stiffness * x) < FRICTION
    assert rate == pytest.approx(0.0, abs=1e-9)
    assert abs(x) == pytest.approx(abs(0.2 - 7.0 * loss), abs=1e-7)


@pytest.mark.parametrize("part", [0.5, 0.9, -0.99])
def test_a_joint_below_the_limit_does_not_creep(part):
    """A suddenly applied load moves it by d / (2 (1 - part)) at most, by the balance of energy, and holds it
    there; JointFriction creeps on.
    """
    friction = StickingFriction("slide", FRICTION)
    load = {"slide": part * FRICTION}
    first, _ = final(block(), 5.0, load)
    second, rate = final(block(), 20.0, load)
    largest = friction.deflection * max(abs(part), 0.5 / (1.0 - abs(part)))
    assert abs(part) * friction.deflection - 1e-9 < abs(first) < largest + 1e-9
    assert second == pytest.approx(first, abs=1e-9)
    assert abs(rate) < 1e-9
    creeping, _ = final(block(friction=JointFriction("slide", FRICTION)), 20.0, load)
    assert abs(creeping) > 0.1


def test_a_joint_above_the_limit_accelerates_by_the_excess():
    """Work of the load = kinetic energy + work of friction, which lacks at most F d / 2 at the start."""
    x, rate = final(block(), 1.0, {"slide": 5.0})
    kinetic = 0.5 * MASS * rate**2
    excess = (5.0 - FRICTION) * x
    assert excess < kinetic < excess + 0.5 * FRICTION * StickingFriction.deflection


def test_friction_never_exceeds_its_torque_and_loses_energy():
    """Over a cycle of a driven joint, the work is that of Coulomb friction, up to the deflection."""
    friction = StickingFriction("slide", FRICTION)

    class Readings:
        def __init__(self, rate):
            self.value = rate

        def rate(self, joint):
            return self.value

    times = np.linspace(0.0, 3.0, 300_001)
    step = times[1] - times[0]
    amplitude = 0.1
    z = 0.0
    work = 0.0
    for time in times:
        rate = amplitude * 2.0 * np.pi * np.cos(2.0 * np.pi * time)
        force, (z_rate,) = friction(Readings(rate), [z])
        assert abs(force["slide"]) <= FRICTION
        work += force["slide"] * rate * step
        z += step * z_rate
    # Three cycles of four amplitudes; each reversal loses at most two deflections of sliding.
    distance = 12.0 * amplitude
    assert -FRICTION * distance < work < -FRICTION * (distance - 12.0 * friction.deflection)


def test_a_linear_system_about_rest_contains_spring_and_damper():
    friction = StickingFriction("slide", FRICTION)
    system = block(friction=friction)
    eigenvalues = linearise(system, draisine.state(system)).eigenvalues()
    stiffness = FRICTION / friction.deflection
    damping = FRICTION / friction.rate
    roots = np.roots([MASS, damping, stiffness])
    for root in roots:
        assert np.abs(eigenvalues - root).min() < 1e-6 * abs(root)


def test_a_joint_sticks_in_runs_by_time_stepping():
    """A hinged pendulum at rest on a terrain run keeps its angle against half of the friction torque."""

    def pendulum():
        return Model(
            bodies=[
                Body("deck", 5.0, (0.0, 0.0, 0.5), inertia(0.1, 0.1, 0.1)),
                Body("arm", 1.0, (0.3, 0.0, 0.5), inertia(0.01, 0.01, 0.01)),
            ],
            joints=[Revolute("hinge", "deck", "arm", (0.0, 1.0, 0.0), (0.0, 0.0, 0.5))],
            forces=[StickingFriction("hinge", 2.0 * 9.81 * 0.3)],
            gravity=(0.0, 0.0, -9.81),
            base="fixed",
        )

    system = draisine.compile(pendulum)
    run = draisine.simulate(
        system,
        draisine.state(system),
        2.0,
        terrain=plane(),
        contact=draisine.ContactOptions(solver="time_stepping"),
    )
    assert abs(float(run.final().r[0])) == pytest.approx(0.5e-3, rel=1e-2)
