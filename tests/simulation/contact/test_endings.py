"""How runs end before their time, and what is kept of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ContactSetError, DeadEndError, SimulationError, TerrainError, ZenoError
from draisine.model.motion import sine
from draisine.simulation.contact import driver
from draisine.simulation.contact import run as hybrid
from draisine.simulation.contact.event_driven import arc_integration
from draisine.terrain import Terrain, edge, plane
from simulation.contact.conftest import bicycle, placed
from simulation.contact.test_disc import disc, dropped

G = 9.81


STRICT = draisine.ContactOptions(solver="events")


def test_an_interrupted_run_keeps_what_was_computed(monkeypatch):
    run, stopped = driver.ArcDriver.run, []

    def interrupted(runner, *how):
        if runner.arc.clock.time > 0.3:
            stopped.append(runner.arc.clock.time)
            raise KeyboardInterrupt
        return run(runner, *how)

    whole = draisine.simulate(bicycle(), placed((0.0, 0.0, 0.5)), 1.0, terrain=plane())
    monkeypatch.setattr(hybrid, "STEPS_PER_CALL", 1)
    monkeypatch.setattr(driver.ArcDriver, "run", interrupted)
    with pytest.raises(SimulationError, match="interrupted") as caught:
        draisine.simulate(bicycle(), placed((0.0, 0.0, 0.5)), 1.0, terrain=plane())
    kept = caught.value.partial
    assert kept.outcome == "interrupted"
    assert len(kept.arcs) == len(kept.events) + 1
    assert 0.2 < kept.t[-1] <= stopped[0]
    count = len(kept.arcs[0].t)
    assert_allclose(kept.arcs[0].y, whole.arcs[0].y[:count], atol=1e-12)


def test_accumulating_bounces_come_to_rest_or_say_what_to_do():
    """All bounces are over after t (1 + e) / (1 - e); too many of them name the way out."""
    bounces = draisine.ContactOptions(
        impact="newton", restitution={"normal": 0.5, "tangential": 0.5}
    )
    made = draisine.simulate(disc(), dropped(0.05), 0.5, terrain=plane(), contact=bounces)
    assert made.arcs[-1].mode == ((("ground", "ground"), "rolling"),)
    over = math.sqrt(2 * 0.05 / G) * (1 + 0.5) / (1 - 0.5)
    assert made.arcs[-1].t[0] == pytest.approx(over, abs=1e-6)
    few = replace(bounces, events=10, solver="events")
    with pytest.raises(ZenoError, match="rest_speed") as caught:
        draisine.simulate(disc(), dropped(0.05), 0.5, terrain=plane(), contact=few)
    assert len(caught.value.partial.arcs) == len(caught.value.partial.events) + 1


def test_what_is_kept_of_a_run_without_an_admissible_set_pushes_everywhere():
    """Ideal rolling would need a pull (see test_friction): the last state kept is the last good one,
    and nothing is told of lift-offs that did not happen.
    """
    with pytest.raises(ContactSetError) as caught:
        draisine.simulate(
            disc(), draisine.state(disc(), lean=0.5), 5.0, terrain=plane(), contact=STRICT
        )
    kept = caught.value.partial
    assert not kept.events
    assert kept.arcs[-1].observations["forces"][0].min() > -1e-6
    assert f"{kept.t[-1]:.9g} s" in str(caught.value)


def test_ground_that_a_run_cannot_pass_keeps_the_run(monkeypatch):
    run = driver.ArcDriver.run

    def sunk(runner, *how):
        if runner.arc.clock.time < 0.1:
            return run(runner, *how)
        runner.arc.clock.subject = 0  # the contact that penetrates
        return arc_integration.RunStatus.PENETRATION

    monkeypatch.setattr(hybrid, "STEPS_PER_CALL", 1)
    monkeypatch.setattr(driver.ArcDriver, "run", sunk)
    with pytest.raises(DeadEndError, match="cannot touch") as caught:
        draisine.simulate(disc(), dropped(0.5), 0.5, terrain=plane(), contact=STRICT)
    assert isinstance(caught.value, TerrainError)
    assert caught.value.partial.t[-1] >= 0.1


@pytest.mark.parametrize("spin", [5.0, 20.0])
@pytest.mark.parametrize("mu", [0.8, math.inf])
def test_a_disc_that_turns_along_the_rail_under_it_needs_a_crown(spin, mu):
    """It spins on a rail, not quite upright: after a quarter of a turn the rail lies in its plane."""
    rail = edge("rail", (0, 0, 0), (0, 1, 0), (-1, 0, 0.01), (1, 0, 0.01))
    contact = draisine.ContactOptions(mu=mu, impact="moreau", fall=1.5, solver="events")
    start = draisine.state(disc(), lean=0.1, yaw_rate=spin)
    with pytest.raises(DeadEndError, match="the edge 'rail' lies almost in the plane") as caught:
        draisine.simulate(disc(), start, 1.0, terrain=Terrain([rail]), contact=contact)
    assert caught.value.partial.t[-1] == pytest.approx(math.pi / 2 / spin, rel=0.01)


def test_prescribed_joints_need_the_same_torque_as_in_persistent_contact():
    guided = draisine.compile("whipple", steering=sine(math.radians(3), 0.5))
    state = draisine.state(guided, forward_speed=5.0)
    rolled = draisine.simulate(guided, state, 0.5).to_xarray().motion_torque
    ridden = draisine.simulate(guided, state, 0.5, terrain=plane()).to_xarray().motion_torque
    assert np.abs(rolled).max() > 1e-2
    assert_allclose(ridden.sel(time=rolled.time, method="nearest"), rolled, atol=1e-6)


def test_stops_push_the_handlebar_back():
    """In the air, a torque on the steering is held by the stop, up to what turns the rest along."""
    state = placed((0.0, 0.0, 2.0), rates=(4.0, 0.0, 0.0))
    made = draisine.simulate(
        bicycle(),
        state,
        0.3,
        terrain=plane(),
        inputs={"steer": 1.0},
        contact=draisine.ContactOptions(stops={"steer": (-0.5, 0.5)}),
    )
    torque = made.to_xarray().stop_torque.sel(joint="steer").values
    before = len(made.arcs[0].t)
    assert not torque[:before].any()
    assert (torque[before:] < 0).all()
    assert not made.to_xarray().stop_torque.sel(joint="rear_wheel").any()


@pytest.mark.parametrize(("speed", "rate", "limit"), [(2.0, 0.1, 0.6), (2.0, 0.5, 0.1)])
def test_stops_that_ideal_wheels_cannot_take_friction_can(speed, rate, limit):
    """The blow of a stop would tear an ideal front wheel off the ground that holds it: none of the
    2^3 sets will do. With friction it slips, and the bicycle falls over.
    """
    state = draisine.state(bicycle(), forward_speed=speed, lean_rate=rate)
    stops = {"steer": (-limit, limit)}
    with pytest.raises(ContactSetError, match="riction") as caught:
        draisine.simulate(
            bicycle(), state, 3.0, terrain=plane(), contact=replace(STRICT, stops=stops)
        )
    for trial in caught.value.trials:
        least = min((push[0] for push in trial.pushes.values()), default=0.0)
        assert least < -1e-9 or min(trial.separations.values(), default=0.0) < -1e-9
    made = draisine.simulate(
        bicycle(),
        state,
        3.0,
        terrain=plane(),
        contact=draisine.ContactOptions(stops=stops, mu=0.9, impact="moreau"),
    )
    assert made.outcome.startswith("fell")


def test_a_run_tells_how_far_it_is():
    told = []
    draisine.simulate(
        bicycle(), placed((0.0, 0.0, 0.4)), 0.3, terrain=plane(), progress=told.append
    )
    assert told == sorted(told)
    assert 0.0 < told[0] < 0.5
    assert told[-1] == 1.0


def test_a_bicycle_that_turns_over_has_fallen():
    """Thrown up and spun backwards at 6 rad/s without gravity's torque: level after pi / 12 s."""
    spun = placed((0.0, 0.0, 5.0), V=(0.0, 0.0, 0.0), W=(0.0, -6.0, 0.0))
    made = draisine.simulate(bicycle(), spun, 1.0, terrain=plane())
    assert made.outcome == "fell: it turned over"
    assert made.arcs[-1].t[-1] == pytest.approx(math.pi / 12, abs=1e-9)
    assert (
        draisine.simulate(
            bicycle(), spun, 0.5, terrain=plane(), contact=draisine.ContactOptions(fall=math.inf)
        ).outcome
        == "completed"
    )
