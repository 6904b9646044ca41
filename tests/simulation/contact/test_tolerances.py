"""Tolerances scale with the machine, so that units do not change the motion."""

import math
from dataclasses import replace

import pytest

import draisine
from combine.records import Units, deviation, record, same_sign
from draisine import ContactOptions, Numerics
from draisine.simulation.contact.tolerances import (
    DIMENSIONS,
    Dimension,
    MachineUnits,
    Tolerances,
    compute_machine_units,
    scale_slip_onset,
    scale_states,
    scale_tolerances,
)
from draisine.terrain import kerb, plane

SI = MachineUnits(1.0, 1.0, 1.0)


def test_a_tolerance_scales_with_its_dimension():
    """An impulse is mass * length / time, a squared speed length^2 / time^2, a ratio nothing."""
    plain, scaled = Tolerances(), scale_tolerances(MachineUnits(2.0, 3.0, 5.0))
    assert scaled.set_pull_impulse == pytest.approx(2.0 * 3.0 / 5.0 * plain.set_pull_impulse)
    assert scaled.slip_guard == pytest.approx((3.0 / 5.0) ** 2 * plain.slip_guard)
    assert scaled.border == plain.border
    assert DIMENSIONS["pull"] == Dimension(1, 1, -2)
    assert scale_tolerances(SI).values() == plain.values()


def test_tolerances_are_consistent():
    """The order that the comments of the record demand."""
    tol = Tolerances()
    assert tol.gap_guard < tol.gap_event < tol.gap_penetration < tol.gap_opened < tol.gap_start
    assert tol.gap_start < tol.gap_search
    assert tol.border_guard < tol.border < tol.border_inside
    assert tol.slip_onset < tol.slip_end < tol.slip_detected
    assert tol.slip_guard < tol.slip_end**2
    assert tol.force_guard == tol.no_load < tol.pull < tol.set_pull < tol.pressed < tol.force_jump
    assert tol.shortest_step < tol.creep_step < tol.penetration_step < tol.first_step


def test_the_onset_of_slip_follows_the_tolerance_of_integration():
    """Within a tenth and a hundred of its default, so that it stays below the end of slip."""
    found = Tolerances()
    for rtol, factor in ((1e-10, 1.0), (1e-9, 10.0), (1e-14, 0.1), (1e-3, 100.0)):
        scale_slip_onset(found, SI, rtol)
        assert found.slip_onset == pytest.approx(factor * Tolerances().slip_onset)
        assert found.slip_onset <= Tolerances().slip_end


def test_slip_that_an_input_starts_is_recorded_as_slip():
    """A torque of 400 N m on a wheel of 0.25 m and 18 kg overcomes mu = 0.5; the slip with which it begins
    is 1e-8 of the machine's speed, and the energy that it takes is its square.
    """
    system = draisine.compile("unicycle")
    start = draisine.state(system, forward_speed=1.0)
    ride = draisine.Stepper(system, start, terrain=plane(), contact=ContactOptions(mu=0.5))
    ride.step(0.05)
    ride.step(2.0**-10, {"wheel": 400.0})
    (event,) = ride.events
    assert event.kind == "slip"
    assert event.contacts == (("ground", "ground"),)
    assert abs(event.after.v - event.before.v).max() < 1e-7
    assert event.gain < 1e-12


def test_the_units_of_the_benchmark_bicycle():
    """Its masses add up to 94 kg; its hubs are 1.02 m apart and 0.05 m in height."""
    units = compute_machine_units(draisine.compile("whipple").model)
    length = math.hypot(1.02, 0.05)
    assert units == pytest.approx((94.0, length, math.pi * math.sqrt(length / 9.81)), rel=1e-12)


def test_the_unit_of_time_without_gravity_is_a_second():
    model = draisine.compile("whipple").model
    assert compute_machine_units(replace(model, gravity=(0.0, 0.0, 0.0))).time == 1.0


def test_states_scale_with_their_units():
    """Quaternion, place, joint angles, velocities, angular velocities and rates, one state of a law."""
    model = draisine.compile("whipple").model
    scales = scale_states(model, MachineUnits(1.0, 3.0, 5.0), 1)
    place, speed, rate = [3.0] * 3, [0.6] * 3, [0.2] * 6
    assert scales.tolist() == pytest.approx([1.0] * 4 + place + [1.0] * 3 + speed + rate + [1.0])


SAMPLE = [
    ("level", Units(mass=1e6, length=1e-3, time=1e-2)),
    ("drop", Units(mass=1e-6, length=1e3)),
    ("kerb", Units(mass=1e4, length=10.0, time=1e2)),
    ("slip", Units(mass=1e-3, length=1e-2, time=10.0)),
    ("bounce", Units(mass=1e6, time=1e-2)),
]


def ride(name, units):
    """A bicycle that rolls, falls, leaves a kerb, slips or bounces, in other units."""
    length, speed = units.length, units.length / units.time
    fall = {"mode": {"rear": "open", "front": "open"}, "z": 0.1 * length, "Vx": 3.0 * speed}
    margin = ContactOptions().margin * length
    usual = ContactOptions(margin=margin)
    newton = ContactOptions(impact="newton", restitution={"normal": 0.5}, margin=margin)
    slippery = ContactOptions(mu=0.05, margin=margin)
    level = {"forward_speed": 4.6 * speed}
    start, ground, contact, until = {
        "level": (level | {"lean_rate": 0.3 / units.time}, plane(), usual, 0.4),
        "drop": (fall, plane(), usual, 0.4),
        "kerb": ({"forward_speed": 3.0 * speed}, kerb(1.5 * length, -0.05 * length), usual, 0.4),
        "slip": (level | {"lean": 0.1}, plane(), slippery, 0.3),
        "bounce": (fall, plane(), newton, 0.3),
    }[name]
    bicycle = draisine.compile("whipple")
    scaled = bicycle.with_parameters(
        **{n: units.factor(bicycle.meanings[n][0]) * x for n, x in bicycle.parameters.items()}
    )
    end = until * units.time
    return draisine.simulate(
        scaled,
        draisine.state(scaled, **start),
        end,
        terrain=ground,
        contact=contact,
        numerics=Numerics(dt=end / 8),
    )


@pytest.mark.parametrize(("name", "units"), SAMPLE, ids=[name for name, _ in SAMPLE])
def test_units_do_not_change_the_motion(name, units):
    """65 of them in `bench/combine.py --engine all_units`."""
    reference, found = ride(name, Units()), ride(name, units)
    assert [event.kind for event in found.events] == [event.kind for event in reference.events]
    wanted = units.record(record(reference))
    away, where = deviation(wanted, same_sign(wanted, record(found)))
    assert away <= 1e-6, where
