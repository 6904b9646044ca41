"""Every run says whether it can be believed: against events of runs on a terrain, and laws."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ellipkinc

import draisine
from draisine import ContactOptions, Numerics
from draisine.control import Ramp, TimeInputs
from draisine.errors import SimulationError, ValidityError, ValidityWarning
from draisine.model import Body, Model, Revolute, inertia
from draisine.scenario.library import load
from draisine.simulation.validity import Validity
from draisine.terrain import plane

BRAKE = TimeInputs((Ramp("front_wheel", start=0.0, end=1.0, value=-400.0),))
FINE = Numerics(dt=1e-3)


@pytest.fixture(scope="module")
def braked(bicycle):
    """Ever harder braking in front: ideal contacts hold the rear wheel down."""
    start = draisine.state(bicycle, forward_speed=8.0)
    return draisine.simulate(
        bicycle, start, 1.0, law=BRAKE, numerics=FINE, contact=ContactOptions(mu=0.6)
    )


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def first(run, kind):
    return next(event for event in run.events if event.kind == kind)


def test_the_ground_pulls_from_where_a_wheel_lifts_off_on_a_terrain(bicycle, braked):
    start = draisine.state(bicycle, forward_speed=8.0)
    run = draisine.simulate(bicycle, start, 1.0, terrain=plane(), law=BRAKE)
    lifted = first(run, "lift-off")
    assert lifted.contacts[0][0] == braked.validity.pull_contact == "rear"
    assert braked.validity.pull_from == pytest.approx(lifted.t, abs=1e-5)
    assert run.validity.pull_from is None


def test_friction_is_exceeded_from_where_a_wheel_slips_on_a_terrain(bicycle, braked):
    start = draisine.state(bicycle, forward_speed=8.0)
    rough = ContactOptions(mu=0.6, impact="moreau")
    run = draisine.simulate(bicycle, start, 0.9, terrain=plane(), law=BRAKE, contact=rough)
    slipped = first(run, "slip")
    assert braked.validity.friction_exceeded_from == pytest.approx(slipped.t, abs=1e-5)
    assert braked.validity.friction_needed > 0.6
    assert run.validity.friction_needed <= 0.6 + 1e-6
    assert run.validity.friction_exceeded_from is None


def test_strict_runs_stop_before_the_first_fault(bicycle, braked):
    start = draisine.state(bicycle, forward_speed=8.0)
    how = {"law": BRAKE, "numerics": FINE, "contact": ContactOptions(mu=0.6), "strict": True}
    with pytest.raises(ValidityError, match="friction") as caught:
        draisine.simulate(bicycle, start, 1.0, **how)
    assert isinstance(caught.value, SimulationError)
    part, when = caught.value.partial, braked.validity.friction_exceeded_from
    assert when - 1e-3 <= part.t[-1] <= when
    assert part.validity.sound
    assert part.to_xarray().sizes["time"] == len(part.t)
    assert draisine.simulate(bicycle, start, 0.2, strict=True).validity.sound


def judge(bicycle, dt, **options):
    """Return the validity of a slow bicycle with samples dt apart."""
    start = draisine.state(bicycle, forward_speed=1.0, lean_rate=0.5)
    try:
        run = draisine.simulate(bicycle, start, 3.0, numerics=Numerics(dt=dt), **options)
    except SimulationError as error:  # ideal wheels on a terrain cannot go on
        run = error.partial
    return run.outcome, run.t[-1], run.validity


@pytest.mark.parametrize("dt", [0.037, 1.0, 3.0])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"contact": ContactOptions(fall=math.inf)},
        {"contact": ContactOptions(mu=0.3)},
        {"law": BRAKE},
        {"terrain": plane(), "contact": ContactOptions(solver="events")},
        {"terrain": plane(), "contact": ContactOptions(mu=0.3)},
    ],
    ids=["falls", "goes on", "friction", "braked", "terrain", "slides"],
)
def test_validity_does_not_depend_on_samples(bicycle, options, dt):
    """It is that of the dense output: the same to the bit, also where no sample lies in an arc."""
    exact = judge(bicycle, 0.01, **options)
    assert not exact[2].sound
    assert judge(bicycle, dt, **options) == exact


@pytest.mark.parametrize("dt", [0.01, 1.0])
def test_strict_runs_do_not_depend_on_samples(bicycle, dt):
    """A run that needs a friction of 0.14 was valid at mu = 0.1 with samples a second apart."""
    start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    how = {"numerics": Numerics(dt=dt), "contact": ContactOptions(mu=0.1)}
    with pytest.raises(ValidityError, match=r"at 0\.13638\d? s it needs more friction than mu"):
        draisine.simulate(bicycle, start, 5.0, strict=True, **how)
    with pytest.warns(ValidityWarning, match="more friction than mu") as caught:
        draisine.simulate(bicycle, start, 5.0, **how)
    assert len(caught) == 1


def test_equal_steps_locate_a_fault_between_them(bicycle):
    """The parabola through steps of 0.02 s is as good as the dense output to a tenth of a millisecond."""
    start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    slippery = ContactOptions(mu=0.1)
    exact = draisine.simulate(bicycle, start, 1.0, contact=slippery).validity
    steps = Numerics(integrator="rk4", dt=0.02)
    found = draisine.simulate(bicycle, start, 1.0, contact=slippery, numerics=steps).validity
    assert found.friction_exceeded_from == pytest.approx(exact.friction_exceeded_from, abs=1e-4)


def test_an_energy_that_drifts_is_a_fault():
    """RK4 with three steps a second lets a rolling disc lose an eighth of its energy."""
    disc = draisine.compile("rolling_disc")
    start = draisine.state(disc, forward_speed=3.0, lean=0.3, yaw_rate=1.0)
    long = Numerics(integrator="rk4", dt=0.3)
    with pytest.warns(ValidityWarning, match="the energy drifts"):
        found = draisine.simulate(disc, start, 3.0, numerics=long).validity
    assert found.energy_drift > 0.1 and found.energy_drift_from > 0.0 and not found.sound
    with pytest.raises(ValidityError, match="the energy drifts"):
        draisine.simulate(disc, start, 3.0, numerics=long, strict=True)
    short = draisine.simulate(disc, start, 3.0, numerics=replace(long, dt=0.01)).validity
    assert short.energy_drift < 1e-6 and short.energy_drift_from is None


def test_a_fluid_that_brakes_is_no_drift():
    """Purcell's swimmer loses all of its energy to the drag, as it should."""
    swimmer = draisine.compile("purcell_swimmer")
    run = draisine.simulate(swimmer, draisine.state(swimmer, forward_speed=0.5), 0.005)
    assert run.validity.energy_drift is None and run.validity.sound


def test_constraints_that_drift_are_a_fault():
    """Without correction and with steps of three tenths of a second a disc leaves the ground."""
    disc = draisine.compile("rolling_disc")
    start = draisine.state(disc, forward_speed=3.0, lean=0.3, yaw_rate=1.0)
    loose = Numerics(integrator="rk4", dt=0.3, drift="none")
    found = draisine.simulate(disc, start, 3.0, numerics=loose).validity
    assert found.constraint_drift > 1e-3
    assert 0.0 < found.constraint_drift_from <= 3.0
    held = draisine.simulate(disc, start, 3.0, numerics=replace(loose, dt=0.01)).validity
    assert held.constraint_drift < 1e-6 and held.constraint_drift_from is None


def pendulum(*, height: float = 1.0) -> draisine.Model:
    """A bar that hangs by a pin at a height."""
    bar = draisine.Body("bar", 1.0, (0.5, 0.0, height), np.diag([0.01, 0.1, 0.1]))
    return draisine.Model([bar], contacts=[draisine.Pin("hook", "bar", (0.0, 0.0, height))])


def test_a_pin_drifts_from_where_it_holds():
    """It was measured from the ground: a pin a metre above it had drifted by a metre."""
    hanging = draisine.compile(pendulum)
    run = draisine.simulate(hanging, draisine.state(hanging), 1.0)
    assert run.validity.constraint_drift < 1e-12 and run.validity.sound
    loose = Numerics(integrator="rk4", dt=0.1, drift="none")
    drift = draisine.simulate(hanging, draisine.state(hanging), 3.0, numerics=loose)
    hook = drift.to_xarray().contact_point.sel(contact="hook").values
    away = np.abs(hook - [0.0, 0.0, 1.0]).max()
    assert drift.validity.constraint_drift == pytest.approx(
        away, rel=0.1
    )  # q is no unit quaternion
    assert away > 1e-6


@pytest.mark.parametrize("solver", ["time_stepping", "events"])
def test_values_that_are_not_finite_are_never_completed(solver):
    segway = draisine.compile("segway")
    contact = ContactOptions(solver=solver, mu=0.8)
    with pytest.raises(SimulationError) as stopped:
        draisine.simulate(
            segway,
            draisine.state(segway),
            0.1,
            terrain=plane(),
            contact=contact,
            inputs={"left": 1e200},
        )
    partial = stopped.value.partial
    assert partial.outcome != "completed"
    assert np.isfinite(partial.arcs[0].y).all()


def test_friction_that_no_road_has_is_a_warning():
    """A car on rails needs 1.76; the run is sound, and says so once."""
    without = {"run.expects": []}
    with pytest.warns(ValidityWarning, match=r"the friction demand exceeds 1\.5") as caught:
        result = draisine.run("car-four-arcs", changes=without)
    assert len(caught) == 1
    assert result.validity.sound and result.validity.friction_needed > 1.5
    assert "the friction demand exceeds 1.5 (largest 1.76)" in str(result.validity)


def test_a_friction_that_is_given_is_not_warned_of():
    """Who says that there is a friction of 2 is believed."""
    car = load("car-four-arcs").plan
    found = draisine.simulate(
        car.system,
        car.copy_state(),
        2.0,
        law=car.law,
        numerics=car.numerics,
        contact=ContactOptions(mu=2.0),
    )
    assert found.validity.sound and not found.validity.warnings


def test_a_slow_bicycle_is_not_believed():
    """Ideal wheels hold it in impossible motions; the title of its scenario is not repeated."""
    changes = {"initial.forward_speed": 1.0, "run.until": 3.0}
    result = draisine.run("mauny2018/passive-stabilisation", changes=changes)
    found = result.validity
    assert not found.sound
    assert found.pull_from is not None or found.fall_from is not None
    assert "not physically valid" in str(found)
    stored = json.loads(result.data.attrs["validity"])
    assert stored["pull_from"] == found.pull_from and stored["pull_contact"] == found.pull_contact
    wanted = {
        *("pull_from", "pull_contact", "friction_needed", "friction_exceeded_from", "fall_from"),
        *("steer_beyond", "energy_drift", "constraint_drift", "projected", "redundant_rows"),
        "unphysical",
    }
    assert wanted <= set(stored)
    with pytest.raises(ValidityError) as caught:
        draisine.run("mauny2018/passive-stabilisation", changes=changes, strict=True)
    assert float(caught.value.partial.data.time[-1]) <= min(found.breaks.values())


def test_a_unicycle_that_falls_over_is_told():
    unicycle = draisine.compile("unicycle")
    start = draisine.state(unicycle, lean=1.0)
    run = draisine.simulate(unicycle, start, 0.6)
    assert run.outcome == "fell: lean beyond 80 deg"
    assert run.validity.fall_from == run.t[-1] < 0.6
    assert_allclose(run.to_xarray().lean.values[-1], math.radians(80), rtol=1e-12)
    with pytest.raises(ValidityError, match="fallen"):
        draisine.simulate(unicycle, start, 0.6, strict=True)


def test_a_disc_has_fallen_where_it_lies_flat():
    disc = draisine.compile("rolling_disc")
    start = draisine.state(disc, lean=1.0)
    with pytest.raises(SimulationError, match="fell flat") as stopped:
        draisine.simulate(disc, start, 5.0, contact=ContactOptions(fall=math.inf))
    assert stopped.value.partial.validity.fall_from is not None
    run = draisine.simulate(disc, start, 5.0)
    ended = draisine.simulate(disc, start, 5.0, terrain=plane())
    assert run.outcome == ended.outcome == "fell: lean beyond 89.9 deg"
    assert run.validity.fall_from == pytest.approx(ended.t[-1], abs=1e-9)
    assert np.all(np.abs(run.to_xarray().lean) < math.pi / 2)
    early = draisine.ContactOptions(fall=math.radians(70))
    ended = draisine.simulate(disc, start, 5.0, terrain=plane(), contact=early)
    assert ended.outcome == "fell: lean beyond 70 deg"


def test_eulers_disc_is_believed_where_it_circles():
    """W^2 = g / (radius diametral sin(inclination)), Moffatt (2000)."""
    disc = draisine.compile("euler_disc")
    tilt = math.radians(8.0)
    turning = math.sqrt(9.81 / (0.0375 * 0.25 * math.sin(tilt)))
    start = draisine.state(disc, lean=math.pi / 2 - tilt, yaw_rate=turning, spin=0.0)
    for ground in (None, plane()):
        run = draisine.simulate(disc, start, 0.3, terrain=ground)
        assert run.validity.sound and run.t[-1] == pytest.approx(0.3)
        assert_allclose(run.to_xarray().lean, math.pi / 2 - tilt, atol=1e-6)


def test_a_pendulum_on_wheels_has_fallen_where_it_turns_over_on_a_terrain():
    segway = draisine.compile("segway")
    start = draisine.state(segway, pitch=1.0)
    ended = draisine.simulate(segway, start, 2.0, terrain=plane())
    run = draisine.simulate(segway, start, 2.0, numerics=FINE)
    assert run.outcome == ended.outcome == "fell: it turned over"
    assert run.validity.fall_from == pytest.approx(ended.t[-1], abs=1e-9)
    assert math.cos(float(run.to_xarray().pitch[-1])) == pytest.approx(0.0, abs=1e-12)


def test_a_ball_cannot_fall():
    ball = draisine.compile("ball")
    run = draisine.simulate(ball, draisine.state(ball, Wx=3.0, Wy=2.0), 2.0)
    assert run.validity.fall_from is None and run.validity.sound
    sideways = draisine.simulate(ball, draisine.state(ball, y_speed=1.0), 1.0, terrain=plane())
    assert sideways.outcome == "completed"


def test_drifts_are_those_of_the_method(bicycle):
    start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    drifts = []
    for dt in (0.02, 0.01):
        numerics = Numerics(integrator="rk4", dt=dt, drift="none")
        found = draisine.simulate(bicycle, start, 1.0, numerics=numerics).validity
        assert not found.projected
        drifts.append((found.energy_drift, found.constraint_drift))
    orders = np.log2(np.array(drifts[0]) / np.array(drifts[1]))
    assert np.all(orders > 3.5)
    pushed = draisine.simulate(bicycle, start, 0.1, inputs={"steer": 0.1})
    assert pushed.validity.energy_drift is None


def rod(*, damper: float = -0.1, g: float = -9.81) -> draisine.Model:
    bar = draisine.Body("bar", 1.0, (0.5, 0.0, 0.0), np.eye(3))
    base = draisine.Body("base", 1.0, (0.0, 0.0, 0.0), np.eye(3))
    hinge = draisine.Revolute("hinge", "base", "bar", (0.0, 1.0, 0.0), damper=damper)
    return draisine.Model([base, bar], [hinge], gravity=(0.0, 0.0, -g))


def test_impossible_machines_are_named():
    odd = draisine.compile(rod)
    run = draisine.simulate(odd, draisine.state(odd), 0.1)
    assert run.validity.unphysical == (
        "the damper of 'hinge' creates energy",
        "gravity points up",
    )
    assert not run.validity.sound
    usual = draisine.compile(rod, damper=0.1, g=9.81)
    assert draisine.simulate(usual, draisine.state(usual), 0.1).validity.sound


def test_records_survive_json():
    record = Validity(pull_from=1.0, pull_contact="rear", friction_needed=math.inf)
    assert Validity.loads(record.dumps()) == record


@pytest.mark.parametrize("dt", [0.5, 2.0])
def test_a_step_that_is_far_too_long_is_not_completed(bicycle, dt):
    """The state that is reached is looked at, too; the start is kept as a sample."""
    start = draisine.state(bicycle, forward_speed=8.0, lean_rate=3.0, steer_rate=8.0)
    long = Numerics(integrator="rk4", dt=dt)
    with pytest.raises(SimulationError, match="no longer a number") as stopped:
        draisine.simulate(bicycle, start, dt, numerics=long)
    run = stopped.value.partial
    assert run.t.tolist() == [0.0]
    assert np.isfinite(run.arcs[0].y).all()
    found = draisine.simulate_many(bicycle, [start], dt, numerics=long)
    assert found["outcome"][0] != "completed"


def test_rows_that_repeat_others_are_told_on_the_plane_and_on_terrain():
    system = draisine.compile("segway")
    start = draisine.state(system)
    run = draisine.simulate(system, start, 0.01)
    assert run.validity.redundant_rows == ("right.across",)
    assert str(run.validity).endswith("forces shared with right.across")
    ground = draisine.simulate(system, start, 0.01, terrain=plane())
    assert ground.validity.redundant_rows == ("right:ground.across",)


def test_a_start_with_more_than_its_joints_give_is_told():
    """A fish of mass m that glides at V has m V^2 / 2 more than one at rest, fluid included."""
    fish = draisine.compile("fish", drive="sine", amplitude=0.0)
    rest = draisine.simulate(fish, draisine.state(fish), 0.01).validity
    assert rest.start_energy == pytest.approx(0.0, abs=1e-12)
    assert "joints" not in str(rest)
    gliding = draisine.state(fish, Vx=0.5)
    moving = draisine.simulate(fish, gliding, 0.01).validity
    body, added = 1000.0 * math.pi * 0.1 * 0.02, 1000.0 * math.pi * 0.02**2
    assert moving.start_energy == pytest.approx(3 * (body + added) * 0.5**2 / 2, rel=1e-12)
    assert "J more than its prescribed joints require" in str(moving)
    disc = draisine.compile("rolling_disc")
    free = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.01).validity
    assert free.start_energy is None


def test_a_start_under_more_than_ten_weights_is_reported():
    """A penny of radius R that rolls with n and turns with W is pushed aside with m R n W."""
    penny = draisine.compile("penny", R=0.1)

    def start(roll, turn):
        state = draisine.state(penny, roll_rate=roll, Wz=turn)
        return draisine.simulate(penny, state, 0.01).validity

    wild = start(100.0, 20.0)
    assert wild.start_load == pytest.approx(0.1 * 100.0 * 20.0 / 9.81, rel=1e-12)
    assert "at the start 'ground' is loaded with 20.4 weights" in str(wild)
    assert "weights" not in str(start(100.0, 9.0))
    assert Validity.loads(wild.dumps()) == wild


@pytest.mark.parametrize("terrain", [None, plane()], ids=["plane", "terrain"])
def test_the_load_of_the_start_is_reported_on_any_ground(terrain):
    """A ball whose mass centre is h below its middle starts to roll under 1 + h w^2 / g weights."""
    ball = draisine.compile("ball", radius=0.1, offset=0.02)
    start = draisine.state(ball, x_speed=10.0, y_speed=0.0, Wz=0.0)
    run = draisine.simulate(ball, start, 1e-3, terrain=terrain)
    weights = 1.0 + 0.02 * (10.0 / 0.1) ** 2 / 9.81
    assert run.validity.start_load == pytest.approx(weights, rel=1e-9)
    assert "weights of the machine" in str(run.validity)


def test_what_nothing_carries_is_told():
    """A rod that is let go falls; one without weight does not, nor one on wheels."""
    loose, light = draisine.compile(rod, damper=0.0, g=9.81), draisine.compile(rod, g=0.0)
    falls = draisine.simulate(loose, draisine.state(loose), 0.01).validity
    assert falls.unsupported and "no contact carries it" in str(falls)
    assert not draisine.simulate(light, draisine.state(light), 0.01).validity.unsupported
    disc = draisine.compile("rolling_disc")
    rolls = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.01).validity
    assert not rolls.unsupported


def stopped_pendulum(*, length: float = 1.0, g: float = 9.81) -> Model:
    """A pendulum on a fixed base whose joint has stops at 0.3 rad."""
    end = (0.0, 0.0, -length)
    bob = Body("bob", 1.0, end, inertia(1e-3, 1e-3, 1e-3))
    hinge = Revolute("hinge", "ceiling", "bob", (0.0, 1.0, 0.0), stops=(-0.3, 0.3))
    return Model(
        bodies=[Body("ceiling"), bob], joints=[hinge], base="fixed", gravity=(0.0, 0.0, -g)
    )


def test_a_joint_beyond_its_stop_without_a_terrain_is_a_fault():
    pendulum = draisine.compile(stopped_pendulum)
    start = draisine.state(pendulum, hinge=0.0, hinge_rate=1.5)
    with pytest.warns(ValidityWarning, match="'hinge' is beyond a stop"):
        run = draisine.simulate(pendulum, start, 1.0, numerics=Numerics(dt=1.0))
    # The angle follows an elliptic integral: with w^2 = m g l / J and k = rate / (2 w), the time to reach
    # the angle a is F(arcsin(sin(a / 2) / k), k^2) / w.
    J = 1.0 + 1e-3
    w = math.sqrt(9.81 / J)
    k = 1.5 / (2.0 * w)
    reached = float(ellipkinc(math.asin(math.sin(0.15) / k), k * k)) / w
    assert run.validity.stop_from == pytest.approx(reached, rel=1e-6)
    assert run.validity.stop_joint == "hinge"
    assert run.validity.times == {"stop": run.validity.stop_from}
    assert Validity.loads(run.validity.dumps()) == run.validity


def test_a_joint_within_its_stops_is_no_fault():
    pendulum = draisine.compile(stopped_pendulum)
    run = draisine.simulate(pendulum, draisine.state(pendulum, hinge_rate=0.9), 1.0)
    assert run.validity.sound and run.validity.stop_from is None


def test_wheels_in_the_plane_have_no_friction_limit():
    """They have no normal forces, so that no friction coefficient can be exceeded."""
    platform = draisine.compile("differential_platform")
    start = draisine.state(platform, forward_speed=1.0, yaw_rate=0.5)
    run = draisine.simulate(platform, start, 0.1)
    assert run.validity.sound
    assert run.validity.friction_exceeded_from is None
