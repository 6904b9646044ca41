"""Time steps on a terrain: order, rest, energy, impacts, prescribed motions, tyres, stops."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import ContactOptions, Numerics, simulate, state
from draisine.analysis.lqr import balance
from draisine.errors import ContactSetError, SimulationError
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.model import Ball, Body, Model, Prismatic, Revolute, Torus, Wheel, inertia
from draisine.model.motion import sine
from draisine.simulation.contact.run import TerrainRun
from draisine.simulation.options import Task
from draisine.terrain import height_field, kerb, move_ground, plane, rough
from draisine.terrain.motions import Shake

AXLE = (0.0, 1.0, 0.0)
G = 9.81


def steps(h, **options):
    return ContactOptions(solver="time_stepping", step=h, **options)


def rover(*, tyred: bool = False) -> Model:
    """Return a base on two wheels and a caster."""
    hubs = {"left": (0.0, 0.1, 0.05), "right": (0.0, -0.1, 0.05)}
    tyre = BrushTyre(12.0, 0.8, 0.02) if tyred else None
    return Model(
        bodies=[
            Body("base", 2.0, (-0.04, 0.0, 0.07), inertia(0.01, 0.01, 0.01)),
            *(Body(name, 0.1, hub, inertia(1e-4, 2e-4, 1e-4)) for name, hub in hubs.items()),
        ],
        joints=[Revolute(name, "base", name, AXLE, hub) for name, hub in hubs.items()],
        contacts=[
            *(
                Wheel(name, name, hub, AXLE, Torus(0.05, 0.01), tyre=tyre)
                for name, hub in hubs.items()
            ),
            Wheel("caster", "base", (-0.12, 0.0, 0.02), AXLE, Ball(0.02), slides=True),
        ],
    )


@cache
def machine(tyred=False):
    return draisine.compile(rover, tyred=tyred)


class Servos:
    def __init__(self, rate, gain):
        self.rate, self.gain = rate, gain

    def __call__(self, readings, z):
        names = ("left", "right")
        return {name: self.gain * (self.rate - readings.rate(name)) for name in names}, []


def test_errors_of_a_rolling_bicycle_are_of_first_order():
    bicycle = draisine.compile("whipple")
    start = state(bicycle, forward_speed=5.0, lean_rate=0.3)
    exact = simulate(bicycle, start, 0.5).final()
    errors = []
    for h in (4e-3, 2e-3, 1e-3):
        end = simulate(bicycle, start, 0.5, terrain=plane(), contact=steps(h, mu=0.8)).final()
        errors.append(np.abs(end.p - exact.p).max() + np.abs(end.r - exact.r).max())
    assert errors[-1] < 2e-3
    assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 1.0, atol=0.1)


def test_a_resting_machine_has_constant_loads_and_does_not_drift():
    system = machine()
    run = simulate(
        system, state(system), 10.0, terrain=plane(), contact=steps(1e-3, mu=0.8),
        numerics=Numerics(dt=1e-3),
    )  # fmt: skip
    assert len(run.t) > 10_000
    loads = run.arcs[0].forces[5:, :, 0]
    assert_allclose(loads.sum(axis=1), 2.2 * G, rtol=1e-10)
    assert (loads.std(axis=0) < 1e-9 * loads.mean(axis=0)).all()
    assert np.abs(run.final().p).max() < 1e-10


def test_a_machine_parked_on_a_slope_creeps_by_less_than_a_nanometre_per_second():
    """Both wheels are held by strong servos; friction holds the machine on the slope."""
    system, slope = machine(), 0.1
    ground = plane(slope)
    start = draisine.place(system, state(system), ground, on="ground")
    run = simulate(
        system, start, 3.0, terrain=ground, law=Servos(0.0, 50.0), contact=steps(1e-3, mu=0.8)
    )
    # Servos only slow the wheels: what they let through is m g sin(slope) R^2 / (2 gain).
    late = run.arcs[0].t > 1.0
    path, turned = run.arcs[0].y[late, 4], run.arcs[0].y[late, 7]
    rolled = math.cos(slope) * 0.05 * (turned - turned[0])
    seconds = run.arcs[0].t[late][-1] - 1.0
    assert np.abs(path - path[0] - rolled).max() / seconds < 1e-9


def thrown():
    """Return the machine thrown forward and sideways from 2 cm above the ground."""
    start = state(machine())
    v = start.v.copy()
    v[:3] = [0.5, 0.4, 0.0]
    return draisine.State(start.q, start.p + [0, 0, 0.02], start.r, v)


def test_contact_impulses_do_no_positive_work_beyond_the_projection():
    """Step by step: a thrown machine without drives loses energy at each landing and slip."""
    run = TerrainRun(
        Task(machine(), thrown(), 0.5, plane(), None, None, steps(5e-4, mu=0.6), Numerics(), None)
    )
    run.begin()
    stepper = run.steps
    total = 0.5 * 2.2 * (0.5**2 + 0.4**2) + 2.2 * G * 0.02
    lost = 0.0
    for _ in range(1000):
        work, pushed = stepper.record.work, stepper.record.projection_work
        stepper.advance(1, 1.0)
        gain = stepper.record.work - work - (stepper.record.projection_work - pushed)
        assert gain <= 1e-12 * total
        lost += gain
    assert lost < -0.5 * total
    assert stepper.record.projection_work < 1e-4 * total


def test_moving_ground_does_work_and_the_contacts_dissipate():
    """On a platform that rises and falls, the energy of the machine changes by the work of the ground."""
    ground = move_ground(plane(), Shake((0.0, 0.0, 0.01), 2.0 * math.pi))
    run = simulate(machine(), state(machine()), 1.0, terrain=ground, contact=steps(5e-4, mu=0.6))
    (interval,) = run.validity.time_stepped
    energy = run.to_xarray().energy.values
    assert np.ptp(energy) > 0.1  # J; the weight of 22 N moves by 2 cm
    assert interval.work - interval.projection_work < 1e-9
    assert abs(interval.energy_drift) < 0.01 * np.ptp(energy)


def tumbling_drift(h):
    """Return the energy drift of a rolling, leaning bicycle, in parts of its kinetic energy."""
    bicycle = draisine.compile("whipple")
    start = state(bicycle, forward_speed=5.0, lean_rate=0.5)
    run = simulate(bicycle, start, 0.5, terrain=plane(), contact=steps(h, mu=0.8))
    kinetic = run.arcs[0].observations["kinetic"][0].max()
    return run.validity.time_stepped[0].energy_drift / kinetic


def test_the_energy_drift_is_small_and_of_first_order():
    drifts = np.array([tumbling_drift(h) for h in (4e-3, 2e-3, 1e-3)])
    assert_allclose(np.log2(drifts[:-1] / drifts[1:]), 1.0, atol=0.3)
    assert abs(tumbling_drift(None)) < 0.01


def test_the_energy_drift_is_the_energy_that_no_force_explains():
    """A machine that servos drive: gravity, servos, impacts and friction work; the rest is drift."""
    system = machine()
    run = simulate(
        system, state(system), 1.0, terrain=kerb(0.2, 0.005), law=Servos(10.0, 0.05),
        contact=steps(None, mu=0.8), numerics=Numerics(dt=2e-4),
    )  # fmt: skip
    data, (interval,) = run.to_xarray(), run.validity.time_stepped
    torques = run.observations["inputs"][:2]
    power = (torques * run.arcs[0].y[:, -2:].T).sum(axis=0)
    driven = np.sum(0.5 * (power[1:] + power[:-1]) * np.diff(run.t))
    gained = float(data.energy[-1] - data.energy[0])
    unexplained = gained - driven - interval.work
    assert driven > 0.3
    assert abs(interval.energy_drift) < 0.01 * driven
    assert_allclose(unexplained, interval.energy_drift, atol=0.03 * driven)  # samples of the torque


def test_the_step_follows_the_position_error():
    """A machine at rest takes the longest steps, a fast one shorter ones; a fixed step stays."""
    system = machine()
    lengths = []
    for speed in (0.0, 3.0):
        start = state(system)
        v = start.v.copy()
        v[0] = speed
        contact = ContactOptions(solver="time_stepping", mu=0.3)
        begin = draisine.State(start.q, start.p, start.r, v)
        run = TerrainRun(Task(system, begin, 9.0, plane(), None, None, contact, Numerics(), None))
        run.begin()
        run.steps.advance(500, 9.0)
        lengths.append(run.steps.h)
    assert lengths[0] == pytest.approx(0.016 * math.sqrt(0.05 / G))
    assert lengths[1] < 0.5 * lengths[0]


@pytest.mark.parametrize("gain", [0.05, 1.0, 50.0])
def test_stiff_servos_are_stable(gain):
    """Explicit, a servo on a free wheel of inertia J is unstable for gain h > 2 J = 4e-4 N m s^2."""
    system = machine()
    run = simulate(
        system, state(system), 1.0, terrain=kerb(0.2, 0.005), law=Servos(10.0, gain),
        contact=steps(1e-3, mu=0.8),
    )  # fmt: skip
    assert_allclose(run.final().v[-2:], 10.0, atol=0.5)
    assert np.abs(run.arcs[0].y[:, -2:]).max() < 12.0


def test_a_ball_bounces_as_high_as_its_restitution_says():
    ball = draisine.compile("ball")
    start = state(ball, mode={"ground": "open"}, z=0.3)
    contact = steps(2e-4, impact="moreau", restitution={"normal": 0.6}, mu=0.5)
    run = simulate(ball, start, 0.6, terrain=plane(), contact=contact, numerics=Numerics(dt=1e-3))
    fall = math.sqrt(2 * 0.3 / G)
    after = run.t > fall + 0.01
    assert run.arcs[0].y[after, 6].max() == pytest.approx(0.36 * 0.3, rel=0.01)


def test_the_motion_does_not_depend_on_the_spacing_of_samples():
    system = machine()
    ends, impulses = [], []
    for dt in (0.01, 0.0037):
        run = simulate(
            system, state(system), 0.3, terrain=kerb(0.12, 0.005), law=Servos(10.0, 0.1),
            contact=steps(1e-3, mu=0.8), numerics=Numerics(dt=dt),
        )  # fmt: skip
        ends.append(run.arcs[0].y[-1])
        spans = np.diff(run.t)
        impulses.append((run.arcs[0].forces[1:] * spans[:, None, None]).sum(axis=0))
    assert_allclose(ends[0], ends[1], atol=1e-12)
    assert_allclose(impulses[0], impulses[1], atol=1e-12)


def test_the_motion_does_not_depend_on_the_heading():
    """The speed of the wheels, and not its components, decides on the length of steps."""
    system = machine()
    speeds = np.array([2.0, 0.0, 0.0, 0.0, 1.0, 3.0, 0.0, 0.0])
    runs = [
        simulate(
            system, replace(state(system, yaw=yaw), v=speeds), 0.2, terrain=plane(),
            law=Servos(10.0, 0.1), contact=ContactOptions(solver="time_stepping", mu=0.8),
        )
        for yaw in (0.0, 0.7)
    ]  # fmt: skip
    first, second = (run.validity.time_stepped[0] for run in runs)
    assert second.first_step == pytest.approx(first.first_step, rel=1e-10)
    assert second.step == pytest.approx(first.step, rel=1e-10)
    ends = [run.final() for run in runs]
    assert_allclose(ends[1].v, ends[0].v, atol=1e-8)
    assert np.hypot(*ends[1].p[:2]) == pytest.approx(np.hypot(*ends[0].p[:2]), rel=1e-8)


@pytest.mark.parametrize("mass", [1e-6, 1e6])
def test_the_motion_does_not_depend_on_the_unit_of_mass(mass):
    def scaled(*, unit: float = 1.0) -> Model:
        model = rover()
        bodies = [Body(b.name, b.mass * unit, b.com, b.inertia * unit) for b in model.bodies]
        return Model(bodies=bodies, joints=model.joints, contacts=model.contacts)

    ends = []
    for unit in (1.0, mass):
        system = draisine.compile(scaled, unit=unit)
        law, contact = Servos(10.0, 0.1 * unit), steps(1e-3, mu=0.8)
        run = simulate(
            system, state(system), 0.3, terrain=kerb(0.12, 0.005), law=law, contact=contact
        )
        ends.append(run.arcs[0].y[-1])
    assert_allclose(ends[1], ends[0], atol=1e-9)


def test_a_prescribed_joint_follows_its_motion_and_its_force_is_reported():
    guided = draisine.compile("whipple", steering=sine(math.radians(3), 0.5))
    start = state(guided, forward_speed=5.0)
    exact = simulate(guided, start, 0.5).to_xarray()
    contact = steps(5e-4, mu=2.0)
    run = simulate(guided, start, 0.5, terrain=plane(), contact=contact).to_xarray()
    wanted = math.radians(3) * np.sin(2 * math.pi * 0.5 * run.time.values)
    assert_allclose(run.steer, wanted, atol=1e-6)
    late = slice(5, None)
    assert_allclose(run.motion_torque[late], exact.motion_torque[late], rtol=0.03)


def press(*, speed: float = 0.5) -> Model:
    """Return a foot that a prescribed slide pushes down, on a base that a second one holds up."""

    def down(t):
        return -speed * t, -speed, 0.0 * t

    return Model(
        bodies=[
            Body("column", 1.0, (0.0, 0.0, 0.5), inertia(0.1, 0.1, 0.1)),
            Body("foot", 0.1, (0.0, 0.0, 0.2), inertia(0.01, 0.01, 0.01)),
        ],
        joints=[Prismatic("ram", "column", "foot", (0.0, 0.0, 1.0), motion=down)],
        contacts=[Wheel("sole", "foot", (0.0, 0.0, 0.15), AXLE, Ball(0.05))],
        base="fixed",
    )


def test_a_prescribed_joint_that_pushes_a_foot_into_the_ground_is_refused_by_name():
    """The foot is 0.1 m above the ground and moves down at 0.5 m/s: it arrives after 0.2 s."""
    system = draisine.compile(press)
    start = state(system, mode={"sole": "open"})
    with pytest.raises(ContactSetError, match=r"'ram' pushes 'sole' into 'ground'") as caught:
        simulate(system, start, 1.0, terrain=plane(), contact=steps(1e-3, mu=0.5))
    assert caught.value.partial.t[-1] == pytest.approx(0.2, abs=2e-3)


def test_stops_hold_a_joint():
    bicycle = draisine.compile("whipple")
    start = state(bicycle, forward_speed=4.0, lean_rate=0.5)
    contact = steps(1e-3, mu=0.9, stops={"steer": (-0.05, 0.05)})
    run = simulate(bicycle, start, 0.6, terrain=plane(), contact=contact)
    data = run.to_xarray()
    assert np.abs(data.steer).max() < 0.05 + 1e-3
    assert np.abs(data.steer).max() > 0.05 - 1e-6
    assert np.abs(data.stop_torque.sel(joint="steer")).max() > 0.0


def test_brush_tyres_carry_and_drive():
    """On level ground the event-driven run is the reference; steps are of first order."""
    system, law = machine(tyred=True), Servos(10.0, 0.05)
    start = state(system)
    exact = simulate(
        system, start, 0.5, terrain=plane(), law=law, contact=ContactOptions(solver="events")
    )
    errors = []
    for h in (1e-3, 5e-4):
        run = simulate(system, start, 0.5, terrain=plane(), law=law, contact=steps(h))
        errors.append(abs(run.final().p[0] - exact.final().p[0]))
    assert errors[1] < 1e-3
    assert errors[1] < 0.7 * errors[0]


def test_a_value_that_is_not_finite_ends_the_run_with_an_error():
    system = machine()

    def explode(readings, z):
        return {
            "left": 1e200 * readings.rate("left") * readings.rate("left") + 1.0,
            "right": 0.0,
        }, []

    with pytest.raises(SimulationError, match="not finite"):
        simulate(
            system, state(system), 1.0, terrain=plane(), law=explode, contact=steps(1e-3, mu=0.8)
        )


def test_steps_shorten_at_once_if_a_law_spins_up_the_wheels_in_the_air():
    """State feedback for wheels on the ground is unstable in the air, with a growth rate of 1/(3 ms). The
    body turns over as in steps of a twentieth of the length, before values exceed all numbers.
    """
    system = draisine.compile("segway")
    costs = {"left": 0.001, "right": 0.001}
    law = balance(system, {"pitch": 100.0}, costs, forward_speed=0.5)
    ground = rough(0.01, 0.1, at=0.6, length=5.0, width=6.0, seed=16)
    start = state(system, x=-0.3, forward_speed=0.5)
    for step in (None, 1e-4):
        contact = ContactOptions(mu=1.2, solver="time_stepping", step=step)
        run = simulate(system, start, 3.0, terrain=ground, law=law, contact=contact)
        assert "turned over" in run.outcome
        assert run.t[-1] > 2.1
        assert np.isfinite(run.arcs[-1].y).all()


def test_event_location_resumes_with_the_features_near_the_wheels():
    """A ball rolls out of the searched boxes in time steps: event location finds its contact again."""
    x = np.arange(-1.0, 31.0, 0.5)
    y = np.arange(-1.0, 1.5, 0.5)
    ground = height_field(x, y, 1e-4 * np.sin(3.0 * x)[:, None] * np.cos(2.0 * y))
    ball = draisine.compile("ball")
    rolling = state(ball, Wy=10.0)
    start = draisine.State(rolling.q, rolling.p + [0.0, 0.0, 1e-3], rolling.r, rolling.v)
    task = Task(ball, start, 10.0, ground, None, None, ContactOptions(mu=0.8), Numerics(), None)
    run = TerrainRun(task)
    run.begin()
    begin = run.driver.arc.swept.copy()
    run.switch.required = 1 << 20
    run._enter_time_stepping("test")
    stepper = run.steps
    while stepper.y[run.query.y.p][0] < 8.0:
        run.advance(100)
    centre = run.query.centres(run.now.t, run.now.y).copy()
    assert centre[0, 0] > begin[3], "the ball is still in the first boxes"
    run.switch.required = 1
    stepper.record.required = 1
    while run.steps is stepper and run.now.t < 9.0:
        run.advance(1)
    assert run.steps is None
    change = run.events[-1]
    assert change.kind == "event-location"
    assert [name for (name, _), _ in change.mode_after] == ["ground"]
