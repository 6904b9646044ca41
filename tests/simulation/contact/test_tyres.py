"""Wheels on tyres on a terrain: slopes, lift-off and landing, springs, against closed forms."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import ContactOptions, Numerics
from draisine.algebra.lie import quaternion_product
from draisine.errors import ContactSetError, ModelError, ParameterError
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.mechanics.forces.load_tyre import LoadTyre
from draisine.mechanics.forces.magic_formula import MagicFormula
from draisine.mechanics.forces.rolling_resistance import RollingResistance
from draisine.model import Body, Disc, Model, Revolute, Wheel, inertia
from draisine.terrain import kerb, plane
from draisine.vehicles import parameter_set

G, MASS, STIFF = 9.81, 10.0, 4e4
TIGHT = Numerics(rtol=1e-12, atol=1e-13)
SLIPPERY = (1.5, 0.0, 1000.0, 200.0, 1.0, *[0.0] * 9)


def block(tyre, **more):
    """A block that does not turn, on a locked wheel."""
    wheel = Wheel("ground", "block", (0, 0, 0.3), (0, 1, 0), Disc(0.3), tyre=tyre)
    return Model([Body("block", MASS)], contacts=[wheel], base="translations", **more)


def sled():
    return block(BrushTyre(30.0, 0.8, 0.01))


def bouncer():
    """On a spring that carries its weight where the wheel is drawn, and on no others."""
    return block(MagicFormula(SLIPPERY, 0.1, STIFF, 0.0, MASS * G))


def trolley(*, rolling: float = 0.01):
    """A wheel with resistance under a block that does not turn."""
    centre, moment = (0, 0, 0.3), inertia(0.2, 0.4, 0.2)
    return Model(
        [Body("block", MASS), Body("wheel", 1.0, centre, moment)],
        [Revolute("axle", "block", "wheel", (0, 1, 0), centre)],
        [Wheel("ground", "wheel", centre, (0, 1, 0), Disc(0.3))],
        [RollingResistance("ground", rolling)],
        base="translations",
    )


def turned(state, angle):
    """The state on a plane that rises forward by an angle."""
    c, s = math.cos(angle), math.sin(angle)
    R = np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
    half = [math.cos(angle / 2), 0.0, -math.sin(angle / 2), 0.0]
    return replace(state, q=np.array(quaternion_product(half, state.q), float), p=R @ state.p)


@pytest.fixture(scope="module")
def bicycle():
    tyre = LoadTyre(11.0, 0.5, 0.1, 0.02)
    return draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)


def test_a_slope_is_level_ground_under_tilted_gravity(bicycle):
    """Oblique to the slope, so that it is steep along and across; by other equations altogether."""
    slope, tyre = 0.12, LoadTyre(11.0, 0.5, 0.1, 0.02)
    tilted = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre, slope=slope)
    start = draisine.state(tilted, forward_speed=5.0, lean_rate=0.3, steer=0.05, yaw=0.7)
    level = draisine.simulate(tilted, start, 0.5).to_xarray()
    hill = draisine.simulate(bicycle, turned(start, slope), 0.5, terrain=plane(slope)).to_xarray()
    for name, atol in {"steer": 1e-9, "speeds": 1e-8, "element_state": 1e-9}.items():
        assert_allclose(hill[name], level[name], atol=atol)
    assert_allclose(hill.contact_force, level.contact_force, atol=1e-5)


def test_a_bicycle_rides_down_a_kerb(bicycle):
    """Each wheel leaves the ground as its load ends, its tyre keeps still in the air, and begins
    again without slip: below the kerb, plastically."""
    start = draisine.state(bicycle, forward_speed=5.0, lean_rate=0.1)
    run = draisine.simulate(bicycle, start, 0.8, terrain=kerb(2.0, -0.1))
    assert [e.kind for e in run.events] == ["lift-off", "collision"] * 2
    assert [e.contacts[0][0] for e in run.events] == ["front", "front", "rear", "rear"]
    assert {status for _, status in run.events[-1].mode_after} == {"tyre"}
    data = run.to_xarray()
    front = data.contact_force.sel(contact="front").values
    slip = data.element_state.sel(memory="front.0").values
    air = (data.time.values > run.events[0].t) & (data.time.values < run.events[1].t)
    assert not front[air].any()
    assert np.ptp(slip[air]) == 0.0 != slip[air][0]
    landed = run.arcs[2]
    assert not landed.y[0][landed.machine.layout.z][2:].any()
    assert_allclose(front[:, 2], 11.0 * front[:, 0] * slip, atol=1e-9)


def test_a_sled_falls_slides_and_stops():
    """It lands after sqrt(2 h / g), keeps its speed in the frictionless blow, and slides by mu g."""
    system, height = draisine.compile(sled), 0.2
    start = draisine.state(system, Vx=8.0)
    start = replace(start, p=start.p + [0.0, 0.0, height])
    run = draisine.simulate(system, start, 1.0, terrain=plane(), numerics=TIGHT)
    (landing,) = run.events
    assert landing.t == pytest.approx(math.sqrt(2 * height / G), rel=1e-12)
    impulse = landing.impulses["ground", "ground"]
    assert_allclose(impulse, [MASS * math.sqrt(2 * G * height), 0.0, 0.0], rtol=1e-12)
    assert landing.after.v[0] == 8.0
    speed = run.to_xarray().speeds.sel(speed="Vx").values
    assert_allclose(np.diff(speed)[-20:] / 0.01, -0.8 * G, rtol=1e-9)


def test_a_tyre_on_a_spring_bounces():
    """Free fall, half a swing of the spring under its weight, free fall; without damping it comes as
    high as it began."""
    system, height = draisine.compile(bouncer), 0.05
    start = draisine.state(system)
    rest = MASS * G / STIFF  # the spring is free where its wheel is so much above the ground
    start = replace(start, p=start.p + [0.0, 0.0, rest + height])
    speed, swing = math.sqrt(2 * G * height), math.sqrt(STIFF / MASS)
    fall, touch = speed / G, 2 * (math.pi - math.atan2(speed * swing, G)) / swing
    run = draisine.simulate(system, start, 3 * fall + touch, terrain=plane(), numerics=TIGHT)
    assert [e.kind for e in run.events][:2] == ["collision", "lift-off"]
    assert all(e.soft for e in run.events)
    assert_allclose([e.t for e in run.events][:2], [fall, fall + touch], rtol=1e-9)
    top = draisine.simulate(system, start, 2 * fall + touch, terrain=plane(), numerics=TIGHT)
    assert top.arcs[-1].y[-1, 6] == pytest.approx(rest + height, abs=1e-9)


@pytest.mark.parametrize("order", [1, -1])
def test_time_steps_report_the_load_of_a_tyre_on_a_spring(order):
    """The spring carries what it is drawn under, and a rigid wheel beside it the rest of the weight."""
    part = 0.4

    def pair():
        tyre = MagicFormula(SLIPPERY, 0.1, STIFF, 500.0, part * MASS * G)
        wheels = [
            Wheel(name, "block", (x, 0, 0.3), (0, 1, 0), Disc(0.3), **more)
            for name, x, more in [("soft", 0.5, {"tyre": tyre}), ("rigid", -0.5, {"slides": True})]
        ]
        return Model([Body("block", MASS)], contacts=wheels[::order], base="translations")

    system = draisine.compile(pair)
    contact = ContactOptions(solver="time_stepping", step=1e-3)
    run = draisine.simulate(system, draisine.state(system), 0.05, terrain=plane(), contact=contact)
    loads = MASS * G * np.array([part, 1.0 - part])[::order]
    seen = run.observations
    for name, axis in (("forces", 0), ("forces_world", 2)):
        forces = seen[name].reshape(2, 3, -1)
        assert_allclose(forces[:, axis], np.outer(loads, np.ones(len(run.t))), rtol=1e-6)


def test_rolling_resistance_on_a_hill():
    """(m + I / R^2) a = -m g sin - c m g cos / R."""
    system, slope = draisine.compile(trolley), 0.1
    flat = draisine.state(system, Vx=5.0)
    start = replace(flat, p=np.array([0.0, 0.0, 0.3 / math.cos(slope) - 0.3]))
    moving = np.array([5.0 * math.cos(slope), 0.0, 5.0 * math.sin(slope), 5.0 / 0.3])
    v = dict(zip(system.model.speeds, moving, strict=True))
    start = replace(start, v=np.array([v[name] for name in system.model.speeds]))
    run = draisine.simulate(system, start, 0.1, terrain=plane(slope), numerics=TIGHT)
    rate = np.diff(run.to_xarray().speeds.sel(speed="axle_rate").values[-2:])[0] / 0.01 * 0.3
    push = 11.0 * G * (math.sin(slope) + 0.01 / 0.3 * math.cos(slope))
    assert rate == pytest.approx(-push / (11.0 + 0.4 / 0.09), rel=1e-4)


def test_what_tyres_do_not_do_is_told(bicycle):
    start = draisine.state(bicycle, forward_speed=5.0)
    for contact, words in (
        (ContactOptions(mu=0.8, impact="moreau"), "whose law is its friction"),
        (ContactOptions(impact="moreau"), "cannot slip along its heading, in impacts neither"),
    ):
        with pytest.raises(ParameterError, match=words):
            draisine.simulate(bicycle, start, 0.1, terrain=plane(), contact=contact)


def test_a_wheel_that_cannot_let_go_asks_for_one_that_slips():
    """Slowly down a kerb on a soft swing arm, a tyre that holds along would have to be pulled by the
    edge; a brush tyre rides on."""
    asked = {"forward_speed": 3.0, "lean_rate": 0.05}
    soft = {"rear_suspension": 1e4, "rear_suspension_damper": 200.0}
    tyres = LoadTyre(11.0, 0.5, 0.1), BrushTyre(11.0, 0.9, 0.1)
    holding, slipping = (
        draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre, flexible=soft)
        for tyre in tyres
    )
    with pytest.raises(ContactSetError, match=r"A tyre that also slips along its heading"):
        draisine.simulate(
            holding,
            draisine.state(holding, **asked),
            0.8,
            terrain=kerb(2.0, -0.05),
            contact=ContactOptions(solver="events"),
        )
    start = draisine.state(slipping, **asked)
    run = draisine.simulate(slipping, start, 0.8, terrain=kerb(2.0, -0.05))
    assert run.outcome == "completed"


def test_a_tyre_whose_states_read_the_load_needs_a_spring():
    class Soft(LinearTyre):
        def __call__(self, readings, z):
            done, lag = super().__call__(readings, z)
            return done, [lag[0] * readings.load(self.contact)]

    system = draisine.compile(lambda: block(Soft(1.0, 0.0, 0.1)))
    with pytest.raises(ModelError, match="depend on the load"):
        draisine.simulate(system, draisine.state(system), 0.1, terrain=plane())


@pytest.fixture(scope="module")
def measured():
    """A bicycle on measured tyres without a spring: their loads are found by Newton's method."""
    fit = MagicFormula.coefficients(parameter_set("magic_formula", "schwalbe_t03_300kpa"))
    tyre = MagicFormula(relaxation=0.1, **fit)
    return {"rear_tyre": tyre, "front_tyre": tyre}, draisine.compile(
        "whipple", rear_tyre=tyre, front_tyre=tyre
    )


@pytest.mark.parametrize("slope", [0.0, 0.12])
def test_measured_tyres_on_a_plane_of_a_terrain(measured, slope):
    """Level, and oblique to a slope, against the ground plane under tilted gravity."""
    tyres, bicycle = measured
    tilted = bicycle if slope == 0.0 else draisine.compile("whipple", **tyres, slope=slope)
    start = draisine.state(tilted, forward_speed=5.0, lean_rate=0.3, steer=0.05, yaw=0.7)
    level = draisine.simulate(tilted, start, 0.5, numerics=TIGHT).to_xarray()
    run = draisine.simulate(
        bicycle, turned(start, slope), 0.5, terrain=plane(slope), numerics=TIGHT
    )
    hill = run.to_xarray()
    for name, atol in {"steer": 1e-9, "speeds": 1e-7, "element_state": 1e-9}.items():
        assert_allclose(hill[name], level[name], atol=atol)
    assert_allclose(hill.contact_force, level.contact_force, atol=1e-5)


def test_measured_tyres_leave_the_ground_and_land(measured):
    """Down a kerb: in the air nothing pushes; on the ground the forces are those of the law at the
    loads."""
    bicycle = measured[1]
    start = draisine.state(bicycle, forward_speed=5.0, lean_rate=0.1)
    run = draisine.simulate(bicycle, start, 0.8, terrain=kerb(2.0, -0.1))
    assert [e.kind for e in run.events] == ["lift-off", "collision"] * 2
    data = run.to_xarray()
    tyre = measured[0]["front_tyre"]
    force = data.contact_force.sel(contact="front").values
    states = data.element_state.values[:, 5:]
    air = (data.time.values > run.events[0].t) & (data.time.values < run.events[1].t)
    assert not force[air].any()
    for load, along, z in zip(force[:, 0], force[:, 1], states, strict=True):
        slips = z[0], z[1] - tyre.small_slips(load, 0.35).reach * z[2]
        pushed = tyre.grip(load, *slips) * z[0] if load > 0.0 else 0.0
        assert along == pytest.approx(pushed, abs=1e-9 * (1.0 + abs(load)))


def test_a_tyre_that_leans_on_its_own_load_locks():
    """Painleve's paradox, where the side force toward the lean grows with the load that it makes."""
    tyre = BrushTyre(12.0, 1.5, 0.1)
    system = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
    start = draisine.state(system, forward_speed=6.0, lean=0.4, steer=0.6)
    contact = ContactOptions(solver="events")
    with pytest.raises(ContactSetError, match="Less grip of its tyre may solve it"):
        draisine.simulate(system, start, 0.5, terrain=plane(), contact=contact)


@pytest.mark.parametrize("rtol", [1.6e-11, 4.6e-11, 1.2e-10, 4.8e-10, 1.4e-9, 5.6e-9])
def test_a_compliant_tyre_touches_by_its_free_radius(rtol):
    """It touches 4 mm before the wheel that is drawn under its load does; wherever steps end, the
    landing from a kerb is at the same instant, and no tyre sinks deeper than 5 cm.
    """
    tyre = MagicFormula((1.5, 0.0, 1000.0, 200.0, 1.0, *[0.1] * 9), 0.1, 1e5, 500.0, 400.0)
    system = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre, crown=0.02)
    start = draisine.state(system, forward_speed=4.0, lean=0.02, steer=0.01)
    numerics = Numerics(dt=0.01, rtol=rtol)
    run = draisine.simulate(system, start, 0.35, terrain=kerb(1.6, -0.08), numerics=numerics)
    landing = next(e for e in run.events if e.kind == "collision")
    assert landing.contacts == (("front", "after"),)
    assert landing.t == pytest.approx(0.26435, abs=1e-5)
    assert run.to_xarray().gap.min() > -0.05
