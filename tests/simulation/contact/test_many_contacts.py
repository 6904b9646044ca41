"""Runs with many contacts, event-driven and in time steps: tables on many feet, a wagon on many wheels.

Statically indeterminate loads are those of minimum norm: on a rigid body they are affine in the place.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from draisine import ContactOptions, Numerics, compile, simulate, state
from draisine.model import Ball, Body, Model, Revolute, Wheel, inertia
from draisine.simulation.contact.driver import ArcDriver
from draisine.terrain import height_field, plane

G = 9.81
FOOT = 0.02  # m, radius
HEIGHT = 0.3  # m, of the centre of mass


def table(
    *, mass: float = 40.0, moment: float = 2.0, feet: int = 64, downhill: float = 0.0
) -> Model:
    """Return a slab on a square of feet, 0.1 m apart; `downhill` is the part of g along x (m/s2)."""
    side = round(feet**0.5)
    middle = 0.05 * (side - 1)
    places = [(0.1 * (k % side) - middle, 0.1 * (k // side) - middle, FOOT) for k in range(feet)]
    return Model(
        bodies=[Body("top", mass, (0.0, 0.0, HEIGHT), inertia(moment, moment, moment))],
        joints=[],
        contacts=[
            Wheel(f"foot{k}", "top", place, (0.0, 1.0, 0.0), Ball(FOOT))
            for k, place in enumerate(places)
        ],
        gravity=[downhill, 0.0, -G],
    )


def wagon(*, mass: float = 50.0, radius: float = 0.1, wheels: int = 16) -> Model:
    """Return a stiff wagon on pairs of wheels, 0.3 m apart."""
    hubs = {f"wheel{k}": (0.3 * (k // 2), 0.3 * (-1) ** k, radius) for k in range(wheels)}
    axle = (0.0, 1.0, 0.0)
    centre = (0.15 * (wheels // 2 - 1) + 0.2, 0.05, 2 * radius)
    return Model(
        bodies=[
            Body("wagon", mass, centre, inertia(4.0, 4.0, 4.0)),
            *(Body(name, 1.0, hub, inertia(0.003, 0.005, 0.003)) for name, hub in hubs.items()),
        ],
        joints=[Revolute(name, "wagon", name, axle, hub) for name, hub in hubs.items()],
        contacts=[Wheel(name, name, hub, axle, radius) for name, hub in hubs.items()],
    )


def loads_of(seen):
    """Return the normal forces (time, contact)."""
    return seen.contact_force.values[:, :, 0]


def affine_loads(places, weight, moment):
    """Return the loads of minimum norm at places (k, 2) with a sum and with moments (sum x load, sum y
    load).
    """
    A = np.vstack([np.ones(len(places)), places.T])
    return np.linalg.pinv(A) @ [weight, *moment]


def check_loads(found, wanted, places, exact):
    """Compare loads. Time steps split them by a compliance in proportion to the inverse mass at each contact:
    they have the same sum and the same moments, and all push.
    """
    if exact:
        assert_allclose(found, wanted, rtol=1e-8)
    assert found.sum() == pytest.approx(wanted.sum(), rel=1e-6)
    assert_allclose(places.T @ found, places.T @ wanted, atol=1e-6 * wanted.sum())
    assert found.min() > 0.0


@pytest.mark.parametrize("feet", [9, 64])
@pytest.mark.parametrize("solver", ["events", "time_stepping"])
def test_a_table_slides_on_all_its_feet(feet, solver):
    """Friction decelerates it by mu g and presses the feet in front by mu m g h."""
    mu, speed, until = 0.1, 0.5, 0.1
    system = compile(table, feet=feet)
    start = state(system, mode={f"foot{k}": "sliding" for k in range(feet)}, Vx=speed)
    contact = ContactOptions(mu=mu, solver=solver)
    run = simulate(
        system, start, until, terrain=plane(), contact=contact, numerics=Numerics(dt=0.05)
    )
    seen = run.to_xarray()
    assert run.outcome == "completed"
    assert len(run.arcs) == 1
    travelled = float(seen.position.sel(axis="x")[-1] - seen.position.sel(axis="x")[0])
    exact = solver == "events"
    wanted = speed * until - 0.5 * mu * G * until**2
    assert travelled == pytest.approx(wanted, rel=1e-9 if exact else 1e-2)
    places = np.array([contact.centre[:2] for contact in system.model.contacts], float)
    weight = 40.0 * G
    loads = affine_loads(places, weight, (mu * weight * HEIGHT, 0.0))
    check_loads(loads_of(seen)[-1], loads, places, exact)


@pytest.mark.parametrize("mu", [0.15, 0.25])
def test_a_table_on_a_slope_sticks_or_slips(mu):
    """From rest it slips down if mu is below the slope, 0.2; otherwise it rests. In both cases the feet
    downhill carry the moment of the tangential weight.
    """
    until = 0.1
    system = compile(table, feet=9, downhill=0.2 * G)
    contact = ContactOptions(mu=mu, solver="events")
    run = simulate(
        system, state(system), until, terrain=plane(), contact=contact, numerics=Numerics(dt=0.05)
    )
    seen = run.to_xarray()
    wanted = G * max(0.2 - mu, 0.0) * until
    assert_allclose(seen.speeds.values[-1, :3], [wanted, 0.0, 0.0], atol=1e-7)
    places = np.array([contact.centre[:2] for contact in system.model.contacts], float)
    weight = 40.0 * G
    loads = affine_loads(places, weight, (min(mu, 0.2) * weight * HEIGHT, 0.0))
    check_loads(loads_of(seen)[-1], loads, places, exact=True)


@pytest.mark.parametrize("solver", ["events", "time_stepping"])
@pytest.mark.parametrize("mu", [0.8, np.inf])
def test_a_wagon_rolls_on_sixteen_wheels(solver, mu):
    """It goes on, and its wheels carry it evenly but for the offset of its centre of mass."""
    system = compile(wagon)
    start = state(system, wheel0_rate=10.0)
    contact = ContactOptions(mu=mu, solver=solver)
    run = simulate(system, start, 0.1, terrain=plane(), contact=contact, numerics=Numerics(dt=0.05))
    seen = run.to_xarray()
    assert run.outcome == "completed"
    assert not run.events
    assert_allclose(seen.speeds.values[-1, :3], [1.0, 0.0, 0.0], atol=1e-9)
    places = np.array([contact.centre[:2] for contact in system.model.contacts], float)
    middle = places.mean(axis=0)
    loads = affine_loads(places - middle, 66.0 * G, (50.0 * G * 0.2, 50.0 * G * 0.05))
    check_loads(loads_of(seen)[-1], loads, places - middle, solver == "events")


@pytest.mark.parametrize(("impact", "mu"), [("plastic", np.inf), ("moreau", 0.5)])
def test_a_table_drops_on_nine_feet_at_once(impact, mu):
    """All feet hit together: the impact takes all of its momentum, m sqrt(2 g h), and it stays."""
    drop = 0.05
    system = compile(table, feet=9)
    start = state(system, mode={f"foot{k}": "open" for k in range(9)}, z=drop)
    contact = ContactOptions(mu=mu, impact=impact, solver="events")
    run = simulate(system, start, 0.2, terrain=plane(), contact=contact, numerics=Numerics(dt=0.05))
    (collision,) = run.events
    assert collision.kind == "collision"
    assert collision.t == pytest.approx(np.sqrt(2 * drop / G), rel=1e-9)
    impulses = np.array([push[0] for push in collision.impulses.values()])
    assert len(impulses) == 9
    assert_allclose(impulses, 40.0 * np.sqrt(2 * G * drop) / 9, rtol=1e-6)
    assert_allclose(run.to_xarray().speeds.values[-1], 0.0, atol=1e-9)


def test_a_table_falls_on_the_feet_of_one_side_first():
    """Three feet of nine hit first, plastically: it turns about their line, by the angular momentum about
    it, and the others follow later.
    """
    lean = 0.1
    system = compile(table, feet=9)
    start = state(system, mode={f"foot{k}": "open" for k in range(9)}, z=0.05, lean=lean)
    contact = ContactOptions(impact="plastic", solver="events")
    run = simulate(system, start, 0.8, terrain=plane(), contact=contact, numerics=Numerics(dt=0.05))
    first = run.events[0]
    assert len(first.impulses) == 3
    momentum = sum(push[0] for push in first.impulses.values())
    before, after = (event_speed(run, side) for side in (0, 1))
    assert momentum == pytest.approx(40.0 * (after - before), rel=1e-9)
    assert len(run.events) > 1
    assert run.outcome == "completed"


def event_speed(run, side):
    """Return the vertical speed of the centre of mass before (0) or after (1) the first event."""
    arc = run.arcs[side]
    y = arc.y[-1] if side == 0 else arc.y[0]
    w, x, yy, z = y[:4]
    R = np.array(
        [
            [1 - 2 * (yy * yy + z * z), 2 * (x * yy - w * z), 2 * (x * z + w * yy)],
            [2 * (x * yy + w * z), 1 - 2 * (x * x + z * z), 2 * (yy * z - w * x)],
            [2 * (x * z - w * yy), 2 * (yy * z + w * x), 1 - 2 * (x * x + yy * yy)],
        ]
    )
    v = y[7:13]
    return float((R @ (v[:3] + np.cross(v[3:6], [0.0, 0.0, HEIGHT])))[2])


def test_a_table_falls_into_grooves_with_more_contacts_than_records_have_room_for(monkeypatch):
    """Nine balls touch 18 faces at once. Only the first run enlarges its records, and it ends its calls after
    the same steps as the second one.
    """

    def fresh(*, feet: int = 9) -> Model:
        return table(feet=feet)

    run = ArcDriver.run
    calls = []

    def record(driver, *limits):
        status = run(driver, *limits)
        if not driver.loop.progress.waits:
            calls.append((driver.arc.clock.time, driver.arc.clock.steps))
        return status

    monkeypatch.setattr(ArcDriver, "run", record)
    y = np.linspace(-0.25, 0.25, 11)
    slope = 0.4
    profile = np.where(np.arange(11) % 2 == 1, 0.0, 0.05 * slope)
    grooves = height_field(np.array([-0.5, 0.5]), y, np.array([profile, profile]))
    system = compile(fresh)
    placed = state(system)
    high = replace(placed, p=placed.p + np.array([0.0, 0.0, 0.005]))
    ends = []
    runs = []
    for _ in range(2):
        made = simulate(system, high, 0.2, terrain=grooves, contact=ContactOptions(mu=0.8))
        assert [len(event.mode_after) for event in made.events] == [18]
        runs.append(made.arcs[-1].y[-1])
        ends.append(calls.copy())
        calls.clear()
    assert ends[0] == ends[1]
    assert_array_equal(*runs)
    # The centre of a ball is r / cos(angle) above the bottom of its groove.
    lifted = FOOT * (np.hypot(1.0, slope) - 1.0)
    height = made.arcs[-1].y[-1, 6] - placed.p[2]
    assert height == pytest.approx(lifted, abs=1e-9)
