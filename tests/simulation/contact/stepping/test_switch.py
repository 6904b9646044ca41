"""Runs that change between event location and time steps."""

import pickle

import numpy as np
import pytest

import draisine
from draisine import ContactOptions, Numerics, Stepper, simulate, state
from draisine.errors import ContactSetError
from draisine.simulation.contact.arc import SteppedArc, UnilateralArc
from draisine.simulation.validity import Validity
from draisine.terrain import height_field, kerb, plane
from simulation.contact.stepping.test_steps import Servos, machine


def hills(height, seed=0, cell=0.1):
    x, y = np.arange(-1.0, 2.0, cell), np.arange(-0.6, 0.65, cell)
    z = np.random.default_rng(seed).uniform(0.0, height, (len(x), len(y)))
    z[x < 0.15] = 0.0
    return height_field(x, y, z)


def stepped(run):
    """Return how long a run went in time steps, s."""
    return sum(arc.t[-1] - arc.t[0] for arc in run.arcs if isinstance(arc, SteppedArc))


@pytest.mark.parametrize("seed", [0, 1])
def test_a_robot_drives_over_hills_and_agrees_with_small_time_steps(seed):
    """Wheels of one axle creep on uneven ground: exact stick and slip events have no end."""
    system, ground, law = machine(), hills(0.01, seed), Servos(10.0, 0.05)
    run = simulate(
        system, state(system), 2.0, terrain=ground, law=law, contact=ContactOptions(mu=0.8)
    )
    assert run.outcome == "completed"
    assert stepped(run) > 0.0
    fine = ContactOptions(mu=0.8, solver="time_stepping", step=1.25e-4)
    exact = simulate(system, state(system), 2.0, terrain=ground, law=law, contact=fine)
    assert np.abs(run.final().p - exact.final().p).max() < 5e-3


def test_modes_of_one_instant_report_no_forces():
    """A front wheel of a skidding car would stick; the forces of that mode pull at another wheel, which
    lifts off at the same instant.
    """
    car = draisine.compile("car")
    rng = np.random.default_rng(0)
    skid = {"Vx": rng.uniform(1, 4), "Vy": rng.uniform(-4, 4), "Wz": rng.uniform(-3, 3)}
    v = state(car).v.copy()
    for name, speed in skid.items():
        v[car.model.speeds.index(name)] = speed
    begin = draisine.State(state(car).q, state(car).p, state(car).r, v)
    mu = float(rng.choice([0.3, 0.7, 1.0]))
    run = simulate(car, begin, 0.4, terrain=plane(), contact=ContactOptions(mu=mu))
    instants = [arc for arc in run.arcs if arc.t[0] == arc.t[-1]]
    assert any(arc.observations["forces"].min() < -100.0 for arc in instants)
    loads = run.to_xarray().contact_force.sel(direction="normal")
    assert loads.isnull().any()
    assert float(loads.min()) >= 0.0


def test_a_wheel_that_sticks_outside_its_friction_cone_slips_at_once():
    """One wheel of an axle sticks while the other creeps: the impulse that stops the first one turns the
    slip of the other, and with it the forces on both.
    """
    system, mu = machine(), 0.8
    run = simulate(
        system, state(system), 0.5, terrain=hills(0.01, 3), law=Servos(10.0, 0.05),
        contact=ContactOptions(mu=mu),
    )  # fmt: skip
    arcs = [arc for arc in run.arcs if isinstance(arc, UnilateralArc) and arc.t[-1] > arc.t[0]]
    assert any(event.kind == "stick" for event in run.events)
    for arc in arcs:
        rolling = [contact.wheel for contact, rows, _ in arc.closed if rows == 3]
        force = arc.observations["forces"].reshape(-1, 3, len(arc.t))[rolling]
        friction = np.linalg.norm(force[:, 1:], axis=1)
        assert (friction <= mu * force[:, 0] * (1.0 + 1e-6)).all()


def test_a_law_in_python_is_refused_on_a_terrain_and_can_be_sampled_by_a_stepper():
    """The way out that the message names: the sampled law approaches the traced one with order one."""
    system, servos = machine(), Servos(10.0, 0.001)
    options = {"terrain": plane(), "contact": ContactOptions(mu=0.8)}

    def in_python(readings, z):
        return {name: float(torque) for name, torque in servos(readings, z)[0].items()}, []

    with pytest.raises(draisine.errors.DraisineError, match=r"Stepper.step\(dt, inputs\)"):
        simulate(system, state(system), 0.25, law=in_python, **options)
    exact = simulate(system, state(system), 0.25, law=servos, **options).final().p[0]
    errors = []
    for dt in (2.0**-6, 2.0**-7):
        drive = Stepper(system, state(system), **options)
        while drive.time < 0.25:
            rates = {name: drive.values()[f"{name}_rate"] for name in ("left", "right")}
            drive.step(dt, {name: 0.001 * (10.0 - float(rate)) for name, rate in rates.items()})
        errors.append(drive.state.p[0] - exact)
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)


def test_arcs_and_events_alternate_and_times_go_on():
    system, law = machine(), Servos(10.0, 0.05)
    run = simulate(
        system, state(system), 2.0, terrain=hills(0.02), law=law, contact=ContactOptions(mu=0.8)
    )
    assert len(run.arcs) == len(run.events) + 1
    for before, after, event in zip(run.arcs, run.arcs[1:], run.events, strict=False):
        assert before.t[-1] == pytest.approx(event.t, abs=1e-12)
        assert after.t[0] == pytest.approx(event.t, abs=1e-12)
    assert "time-stepping" in {event.kind for event in run.events}
    data = run.to_xarray()
    assert np.isfinite(data.energy).all()


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_machines_on_planes_and_slopes_stay_event_driven(slope):
    """Redundant rows are no reason for time steps: cars and rovers roll on even ground."""
    ground = plane(slope)
    for system, speed in (("car", 2.0), ("tricycle", 2.0), (machine(), None)):
        system = draisine.compile(system) if isinstance(system, str) else system
        asked = {} if speed is None else {"forward_speed": speed}
        start = draisine.place(system, state(system, **asked), ground, on="ground")
        law = None if speed else Servos(10.0, 0.05)
        run = simulate(system, start, 1.0, terrain=ground, law=law, contact=ContactOptions(mu=0.8))
        assert stepped(run) == 0.0
        assert run.outcome == "completed"


@pytest.mark.parametrize("speed", [0.6, 1.2])
def test_an_ideal_bicycle_descends_a_kerb_slowly(speed):
    """At the edge no contact set is admissible at acceleration level; afterwards events resume."""
    bicycle = draisine.compile("whipple")
    run = simulate(
        bicycle, state(bicycle, forward_speed=speed), 2.2 / speed, terrain=kerb(1.3, -0.1)
    )
    assert run.outcome == "completed"
    assert not isinstance(run.arcs[-1], SteppedArc)
    drop = float(run.to_xarray().z[-1] if "z" in run.to_xarray() else run.final().p[2])
    assert drop == pytest.approx(-0.1, abs=1e-6)


def test_ideal_wheels_that_over_constrain_a_machine_are_refused_with_the_way_out():
    system, law = machine(), Servos(10.0, 0.05)
    with pytest.raises(ContactSetError, match=r"over-constrain.*mu=0.8") as caught:
        simulate(system, state(system), 3.0, terrain=hills(0.02), law=law)
    assert caught.value.partial.t[-1] > 0.05


def test_strict_event_location_does_not_switch():
    bicycle = draisine.compile("whipple")
    with pytest.raises(ContactSetError):
        simulate(
            bicycle,
            state(bicycle, forward_speed=0.6),
            4.0,
            terrain=kerb(1.3, -0.1),
            contact=ContactOptions(solver="events"),
        )


def test_restitution_of_other_models_is_resolved_by_moreau_and_recorded():
    """At the edge of a kerb no contact set is admissible; in time steps Moreau's law decides on rebounds."""
    bicycle = draisine.compile("whipple")
    contact = ContactOptions(impact="newton", restitution={"normal": 0.3}, rest_speed=0.05)
    run = simulate(
        bicycle, state(bicycle, forward_speed=0.6), 2.5, terrain=kerb(1.3, -0.1), contact=contact
    )
    assert {one.replaced_impact for one in run.validity.time_stepped} == {"newton"}
    assert "restitution of newton resolved by Moreau" in str(run.validity)


def test_the_record_of_time_steps_is_complete_and_survives_storage():
    system, law = machine(), Servos(10.0, 0.05)
    run = simulate(
        system, state(system), 1.0, terrain=hills(0.01), law=law, contact=ContactOptions(mu=0.8)
    )
    intervals = run.validity.time_stepped
    assert sum(one.end - one.start for one in intervals) == pytest.approx(stepped(run))
    for one in intervals:
        assert one.reason
        assert 0.0 < one.step < 2e-3
        assert one.residual < 1e-6
        assert one.work < one.projection_work + 1e-9
        assert abs(one.energy_drift) < 0.01 * 0.5 * 2.2 * 0.5**2  # of the kinetic energy at 0.5 m/s
    assert Validity.loads(run.validity.dumps()).time_stepped == intervals
    line = str(run.validity)
    assert line.count("time-stepped for") == 1
    assert "first-order accurate, energy drift" in line


def test_slices_of_a_stepper_change_nothing_in_time_steps():
    """States and forces at the end have the same bits, whatever the slices; inputs change on a fixed grid."""
    system, ends = machine(), []
    for slices in (1, 4, 64):
        ride = Stepper(
            system, state(system), terrain=hills(0.01), contact=ContactOptions(mu=0.8),
            numerics=Numerics(dt=2.0**-10),
        )  # fmt: skip
        for torque in (0.02, 0.04, 0.0):
            ride.hold({"left": torque, "right": torque})
            for _ in range(slices):
                ride.step(0.5 / slices)
        ends.append((ride.state, ride.observe()["forces"]))
    for end, forces in ends[1:]:
        assert np.array_equal(end.p, ends[0][0].p)
        assert np.array_equal(end.v, ends[0][0].v)
        assert np.array_equal(forces, ends[0][1])
    assert ends[0][0].p[0] > 0.2


def test_a_stepper_keeps_nothing_that_grows_with_time():
    ride = Stepper(
        machine(), state(machine()), terrain=plane(), law=Servos(0.0, 0.05),
        contact=ContactOptions(mu=0.8, solver="time_stepping", step=1e-3),
    )  # fmt: skip
    ride.step(0.1)
    sizes = []
    for _ in range(2):
        ride.step(2.0)
        sizes.append(len(pickle.dumps((ride._run.run.arcs, ride._run.run.samples, ride.events))))
        assert len(ride._run.run.steps.arc().t) <= 2
    assert sizes[0] == sizes[1]
