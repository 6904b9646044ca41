"""One rule: every run stops where the machine falls, and its outcome says so."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import ContactOptions, Numerics, Stepper
from draisine.errors import SimulationError, ValidityError, ValidityWarning
from draisine.simulation.compare.compliant import Compliant, KelvinVoigt
from draisine.simulation.compare.kinematic import SpeedLaw
from draisine.simulation.integrators import DENSE_NODE_POSITIONS
from draisine.simulation.many import simulate_many
from draisine.simulation.validity.fall import FallRule, fall_rule
from draisine.simulation.validity.margins import crossing_times, find_first_negative
from draisine.terrain import plane

FELL = "fell: lean beyond 80 deg"
ENDLESS = ContactOptions(fall=math.inf)
STEPS = Numerics(integrator="rk4", dt=1 / 128)


def idle(readings, z):
    return {}, ()


def idle_in_python(readings, z):
    """Do nothing, by a branch that cannot be traced."""
    if readings.lean > 9.0:
        return {"wheel": 1.0}, ()
    return {}, ()


@pytest.fixture(scope="module")
def unicycle():
    return draisine.compile("unicycle")


@pytest.fixture(scope="module")
def tipping(unicycle):
    """A unicycle that leans, and falls within half a second."""
    return draisine.state(unicycle, lean=1.0)


@pytest.fixture(scope="module")
def fall_time(unicycle, tipping):
    """When it falls, by interpolation of a run that goes on."""
    fine = Numerics(dt=1e-4)
    run = draisine.simulate(unicycle, tipping, 0.4, contact=ENDLESS, numerics=fine)
    lean = run.to_xarray().lean.values
    k = int(np.argmax(lean > math.radians(80.0)))
    near = slice(k - 2, k + 2)
    return float(np.polyval(np.polyfit(lean[near], run.t[near], 3), math.radians(80.0)))


@pytest.mark.parametrize(
    ("options", "accuracy"),
    [
        ({}, 1e-9),
        ({"numerics": Numerics(dt=0.5)}, 1e-9),
        ({"terrain": plane()}, 1e-9),
        ({"law": idle}, 1e-9),
        ({"law": idle_in_python}, 1e-9),
        ({"numerics": STEPS}, 2e-5),
        ({"numerics": Numerics(integrator="abm4", dt=0.01)}, 2e-5),
        ({"numerics": Numerics(formulation="multiplier", dt=0.2, rtol=1e-7)}, 1e-5),
        (
            {
                "terrain": plane(),
                "contact": ContactOptions(solver="time_stepping"),
                "numerics": Numerics(dt=1e-3),
            },
            5e-3,
        ),
    ],
    ids=[
        *("adaptive", "few samples", "terrain", "law", "Python law", "rk4", "abm4", "formulation"),
        "time stepping",
    ],
)
def test_runs_of_every_kind_stop_at_the_fall(unicycle, tipping, fall_time, options, accuracy):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a law that cannot be compiled
        run = draisine.simulate(unicycle, tipping, 0.6, **options)
    assert run.outcome == FELL
    found = run.validity.fall_from
    assert found == pytest.approx(fall_time, abs=accuracy)
    step = options["numerics"].dt if "numerics" in options else 0.0
    assert found <= run.t[-1] <= found + step
    assert run.to_xarray().attrs["outcome"] == FELL


def test_compliant_ground_lets_a_machine_fall_too(unicycle, tipping, fall_time):
    """Stiff ground with friction, for a tenth of a second before it falls."""
    ground = Compliant(KelvinVoigt(1e6, 1e3))
    run = draisine.simulate(
        unicycle,
        draisine.simulate(unicycle, tipping, fall_time - 0.02).final(),
        0.1,
        terrain=plane(),
        contact=ContactOptions(solver=ground, mu=2.0),
        numerics=Numerics(dt=0.01, rtol=1e-5, atol=1e-7),
    )
    assert run.outcome == FELL
    assert run.t[-1] == pytest.approx(0.02, abs=2e-3)


def test_a_configuration_that_is_led_over_falls_too(unicycle):
    def rates(seen):
        return {"Wx": 1.0}

    led = SpeedLaw(rates)
    numerics = Numerics(integrator="rk4", dt=0.01)
    start = draisine.state(unicycle, lean=1.3)
    run = draisine.simulate(unicycle, start, 1.0, law=led, numerics=numerics)
    assert run.outcome == FELL
    assert run.validity.fall_from == pytest.approx(math.radians(80.0) - 1.3, abs=1e-6)


def test_a_fall_that_does_not_count_does_not_end_a_run(unicycle, tipping):
    run = draisine.simulate(unicycle, tipping, 0.36, contact=ENDLESS)
    assert run.outcome == "completed" and run.t[-1] == 0.36
    assert float(np.abs(run.to_xarray().lean).max()) > math.radians(80.0)
    assert run.validity.fall_from is None


def test_a_fall_is_what_is_asked_for(unicycle, tipping):
    early = ContactOptions(fall=math.radians(70.0))
    for terrain in (None, plane()):
        run = draisine.simulate(unicycle, tipping, 0.6, contact=early, terrain=terrain)
        assert run.outcome == "fell: lean beyond 70 deg"
        assert_allclose(float(run.to_xarray().lean[-1]), math.radians(70.0), rtol=1e-12)


def test_a_machine_that_starts_beyond_the_limit_may_rise(unicycle):
    """A disc that leans by 60 degrees and rises has not fallen at a limit of 50; one that sinks has."""
    disc = draisine.compile("rolling_disc")
    steep = ContactOptions(fall=math.radians(50.0))
    for terrain in (None, plane()):
        rising = draisine.state(disc, lean="60deg", lean_rate=-8.0)
        run = draisine.simulate(disc, rising, 0.05, contact=steep, terrain=terrain)
        assert run.outcome == "completed"
        sinking = draisine.state(disc, lean="60deg", lean_rate=1.0)
        run = draisine.simulate(disc, sinking, 0.05, contact=steep, terrain=terrain)
        assert run.outcome == "fell: lean beyond 50 deg" and run.t[-1] == 0.0


def test_a_strict_run_that_falls_raises(unicycle, tipping):
    with pytest.raises(ValidityError, match="it has fallen"):
        draisine.simulate(unicycle, tipping, 0.6, strict=True)
    with pytest.warns(ValidityWarning, match="it has fallen") as caught:
        draisine.simulate(unicycle, tipping, 0.6)
    assert len(caught) == 1


def test_side_by_side_each_stops_at_its_fall(unicycle, tipping):
    """Each machine ends as it does alone, to the bit, and one warning tells of all that fell."""
    starts = [draisine.state(unicycle, lean=lean) for lean in (0.2, 0.9, 1.0)]
    with pytest.warns(ValidityWarning, match=r"2 of 3 runs .*: 2 fell \(the first is machine 1\)"):
        found = simulate_many(unicycle, starts, 0.4, numerics=STEPS)
    assert found["outcome"].tolist() == ["completed", FELL, FELL]
    for k, start in enumerate(starts):
        alone = draisine.simulate(unicycle, start, 0.4, numerics=STEPS)
        assert (alone.outcome, alone.t[-1]) == (found["outcome"][k], found["time"][k])
        assert np.array_equal(alone.final().q, found["q"][:, k])
    free = simulate_many(unicycle, starts, 0.3, contact=ENDLESS, numerics=STEPS)
    assert free["outcome"].tolist() == ["completed"] * 3


def test_side_by_side_a_fall_stays_where_it_was_after_a_jump(unicycle, tipping):
    """Inputs may jump after the fall: a machine that fell does not go on with the next stretch."""
    split = Numerics(integrator="rk4", dt=1 / 128, breakpoints=(0.375,))
    whole = simulate_many(unicycle, [tipping], 0.5, numerics=STEPS)
    found = simulate_many(unicycle, [tipping], 0.5, numerics=split)
    assert found["time"][0] == whole["time"][0] < 0.375
    assert np.array_equal(found["q"], whole["q"])


@pytest.mark.parametrize("terrain", [None, plane()])
def test_a_stepper_stops_at_the_fall_and_says_so_once(unicycle, tipping, terrain):
    ride = Stepper(unicycle, tipping, terrain=terrain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(40):
            ride.step(1 / 64)
            if ride.outcome:
                break
    assert ride.outcome == FELL
    fallen = ride.time
    lean = 2.0 * (ride.state.q[2] * ride.state.q[3] + ride.state.q[0] * ride.state.q[1])
    assert lean == pytest.approx(math.sin(math.radians(80.0)), abs=5e-3)
    with pytest.warns(ValidityWarning, match="further steps do nothing"):
        ride.step(1 / 64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ride.step(1 / 64)
    assert ride.time == fallen
    ride.reset()
    ride.step(1 / 64)
    assert ride.outcome == "" and ride.time == 1 / 64


def test_a_stepper_goes_on_where_falls_do_not_count(unicycle, tipping, fall_time):
    ride = Stepper(unicycle, tipping, contact=ENDLESS)
    ride.step(fall_time + 0.02)
    assert ride.outcome == "" and ride.time > fall_time


def test_a_stepper_ends_as_a_run_does(unicycle, tipping):
    """To the bit, in steps of a power of two."""
    ride = Stepper(unicycle, tipping)
    ride.step(1.0)
    steps = Numerics(integrator="rk4", dt=2.0**-10)
    run = draisine.simulate(unicycle, tipping, 1.0, numerics=steps)
    assert (ride.outcome, ride.time) == (run.outcome, run.t[-1])
    assert np.array_equal(ride.state.q, run.final().q)


def test_a_motion_that_falls_has_no_gradient_after_it(unicycle, fall_time):
    start = {"lean": 1.0}
    found = draisine.gradient(unicycle, start, [fall_time - 0.01], ["lean"], ["lean"])
    assert found.values.shape == (1, 1)
    with pytest.raises(SimulationError, match=r"the machine falls at 0\.288\d* s"):
        draisine.gradient(unicycle, start, [fall_time + 0.01], ["lean"], ["lean"])


def test_a_rule_knows_how_a_machine_fell():
    """The lean of R = Rx(lean) is that of the quaternion (cos lean/2, sin lean/2, 0, 0)."""
    rule = FallRule(math.radians(80.0), over=True)
    for lean in (0.3, -0.3, 1.3):
        q = np.array([math.cos(lean / 2), math.sin(lean / 2), 0.0, 0.0])
        expected = min(math.sin(rule.lean) - abs(math.sin(lean)), math.cos(lean))
        assert rule.margin(q) == pytest.approx(expected, abs=1e-15)
    over = np.array([math.cos(1.0), 0.0, math.sin(1.0), 0.0])
    assert rule.outcome(over) == "fell: it turned over"
    assert not FallRule(math.inf, over=False).watches


@pytest.mark.parametrize(
    ("name", "lean", "over"),
    [
        ("whipple", 80.0, True),
        ("rolling_disc", 89.9, False),
        ("ball", math.inf, False),
        ("falling_cat", math.inf, False),
        ("chaplygin_sleigh", math.inf, False),
    ],
)
def test_what_can_fall_is_decided_by_the_machine(name, lean, over):
    rule = fall_rule(draisine.compile(name).model, None)
    assert (math.degrees(rule.lean), rule.over) == (pytest.approx(lean), over)


@pytest.mark.parametrize("depth", [0.0, 1e-3, 0.2])
def test_a_dip_between_nodes_is_found(depth):
    """(z - 1/3)^2 - depth^2 vanishes at 1/3 - depth; the nodes of one step miss a small dip."""
    times = 2.0 + DENSE_NODE_POSITIONS[None]
    found = find_first_negative(times, (DENSE_NODE_POSITIONS[None] - 1.0 / 3.0) ** 2 - depth**2)
    assert (found is None) == (depth == 0.0)
    if depth:
        assert found == pytest.approx(2.0 + 1.0 / 3.0 - depth, abs=1e-12)


def test_parabolas_between_samples_are_exact():
    """1 - t^2 vanishes at 1, whatever the samples are; a straight line at the start too."""
    times = np.array([[0.0, 0.3, 0.8, 1.5], [0.0, 0.9, 1.3, 2.0], [0.9, 1.4, 2.0, 3.0]])
    found = crossing_times(times, 1.0 - times**2)
    assert_allclose(found[:2], 1.0, rtol=1e-14)
    low, high = 1.0 - 0.9**2, 1.0 - 1.4**2
    assert found[2] == pytest.approx(0.9 + 0.5 * low / (low - high), rel=1e-14)
    assert np.isnan(crossing_times(times[:1], np.ones((1, 4)))).all()
