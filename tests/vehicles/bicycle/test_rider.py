"""Riders with separate bodies: a free upper body compared with published eigenvalues, arms, legs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.errors import ModelError, ParameterError
from draisine.experiment.check import check
from draisine.model.motion import uniform
from draisine.scenario.library import load
from draisine.vehicles.bicycle import Arms, Legs, Seat, from_tape_measure

LIGHT = 1e-9
ARMS = Arms(0.2, 0.2, 1.3, 0.5, 0.3, 1.1, 0.75, 0.25, 0.95, upper=2.0, lower=1.5)
LEGS = Legs(0.2, 0.95, 0.45, 0.28, thigh=0.44, shank=0.45, crank=0.17, upper=5.0, lower=2.5)


def roots(system, speed=5.0):
    return np.linalg.eigvals(TwoWheeler(system).matrices(np.array([1.0, speed]))[0][1])


def test_the_leaning_rider_of_moore():
    """Six eigenvalues at five speeds, from an independent program."""
    _, found = check(load("moore2012/leaning-rider"))
    assert len(found) == 12
    assert all(finding.agrees for finding in found)


def test_a_rider_who_sways_is_no_wobble():
    system = draisine.compile("whipple", mU=30.0, torso_spring=500.0, torso_damper=10.0)
    names = TwoWheeler(system).eigenmodes([5.0]).names
    assert names == ("weave", "weave", "capsize", "castering", "torso", "torso")


@pytest.mark.parametrize(("damper", "spring"), [(1.0, 300.0), (5.0, 300.0), (1.0, 600.0)])
def test_weave_and_wobble_keep_their_names_beside_a_rider_who_sways(damper, spring):
    """At 5 m/s, before rider and weave come near each other, the weave is about that of a rigid rider
    on the same tyres; the rider sways faster, and the wheels wobble much faster (some 9 Hz)."""
    tyre = {"name": "load_tyre", "parameter_set": "city_bicycle"}
    given = {"rear_tyre": tyre, "front_tyre": tyre, "flexible": {"steer_damper": damper}}
    rider = {"mU": 30.0, "torso_spring": spring, "torso_damper": 30.0}
    rigid, loose = (
        TwoWheeler(draisine.compile("whipple", **given, **more)).eigenmodes([5.0])
        for more in ({}, rider)
    )
    assert_allclose(loose.mode("weave"), rigid.mode("weave"), rtol=0.05)
    weave, torso, wobble = (loose.mode(name)[0].imag for name in ("weave", "torso", "wobble"))
    assert weave < 5.0 < torso < 20.0 < 45.0 < wobble


def test_a_stiff_hip_is_a_rigid_rider():
    rigid = roots(draisine.compile("whipple"))
    free = draisine.compile("whipple", mU=30.0, torso_spring=1e5, torso_damper=0.0)
    errors = []
    for spring in (1e6, 1e7):
        found = roots(free.with_parameters(torso_spring=spring))
        errors.append(max(np.abs(found - root).min() for root in rigid))
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.05)


SPRUNG = {"mU": 30.0, "torso_spring": 900.0, "torso_damper": 20.0}


@pytest.fixture(scope="module")
def soft():
    """Return a bicycle on a saddle that is compliant sideways and vertically."""
    return draisine.compile("whipple", **SPRUNG, seat=Seat(aside=1e6, up=4e4, up_damper=500.0))


class TestSeat:
    def test_a_held_rider_is_one_on_a_hinge_and_the_couplings_are_the_saddles_forces(self):
        """The motion is the same; the saddle's force equals the inertia force of the upper body."""
        plain, seated = (draisine.compile("whipple", **SPRUNG, **x) for x in ({}, {"seat": Seat()}))
        runs = []
        for system in (plain, seated):
            start = draisine.state(system, forward_speed=5.0, lean_rate=0.3, torso=0.1)
            numerics = draisine.Numerics(rtol=1e-12, atol=1e-13)
            runs.append(draisine.simulate(system, start, 0.5, numerics=numerics).to_xarray())
        for name in ("lean", "steer", "torso"):
            assert_allclose(runs[1][name], runs[0][name], atol=1e-10)
        _, forces = seated.accelerate(draisine.state(seated))
        assert_allclose(forces[-3:], [0.0, 0.0, 30.0 * 9.81], atol=1e-9)

    def test_a_stiff_seat_is_a_rigid_one(self, soft):
        """To first order in the lateral compliance; vertical compliance does not affect straight
        running.
        """
        hinged = roots(draisine.compile("whipple", **SPRUNG))
        errors = []
        for stiffness in (1e6, 1e7):
            found = roots(soft.with_parameters(seat_aside=stiffness))
            errors.append(max(np.abs(found - root).min() for root in hinged))
        assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.05)

    def test_a_spring_carries_the_rider_at_rest(self, soft):
        start = draisine.state(soft, forward_speed=5.0)
        run = draisine.simulate(soft, start, 0.3).to_xarray()
        assert float(np.abs(run["shape"].sel(joint="seat_up")).max()) < 1e-12

    def test_it_needs_an_upper_body(self):
        with pytest.raises(ParameterError, match="seat: state the mass mU"):
            draisine.compile("whipple", seat=Seat())


def test_two_definitions_of_the_inertia_are_rejected():
    with pytest.raises(ParameterError, match="kU and IUxx both"):
        draisine.compile("whipple", mU=30.0, kU=0.1, IUxx=1.0, IUyy=1.0, IUzz=1.0)


def test_a_rider_heavier_than_the_frame_is_refused():
    with pytest.raises(ModelError, match=r"without upper_body, left_upper_arm.* the frame"):
        draisine.compile("whipple", mU=40.0, arms=ARMS)


@pytest.fixture(scope="module")
def holding():
    return draisine.compile("whipple", arms=ARMS)


class TestArms:
    def test_they_add_no_degree_of_freedom(self, holding):
        assert len(holding.machine().choice.independent) == 3

    def test_arms_of_no_weight_change_nothing(self, holding):
        light = holding.with_parameters(arms_upper=LIGHT, arms_lower=LIGHT)
        ideal = roots(draisine.compile("whipple"))
        assert max(np.abs(roots(light) - root).min() for root in ideal) < 1e-6

    def test_heavy_arms_burden_the_steering(self, holding):
        ideal = roots(draisine.compile("whipple"))
        assert max(np.abs(roots(holding) - root).min() for root in ideal) > 0.1

    def test_hands_stay_on_the_bar_and_energy_stays(self, holding):
        start = draisine.state(holding, forward_speed=5.0, lean_rate=0.3)
        numerics = draisine.Numerics(rtol=1e-12, atol=1e-13)
        run = draisine.simulate(holding, start, 0.5, numerics=numerics).to_xarray()
        assert float(np.abs(run["shape"].sel(joint="steer")).max()) > 0.02
        assert float(np.ptp(run.energy.values)) < 1e-10 * float(run.energy[0])
        assert float(np.ptp(run["shape"].sel(joint="left_elbow").values)) > 1e-3


CADENCE = 2.0 * np.pi * 1.5


class TestLegs:
    def test_legs_that_rest_carry_the_same_weight(self):
        still = draisine.compile("whipple", legs=LEGS, pedalling=uniform(0.0))
        _, forces = still.accelerate(draisine.state(still))
        _, ideal = (bare := draisine.compile("whipple")).accelerate(draisine.state(bare))
        assert_allclose(forces[:6], ideal, atol=1e-8)

    def test_pedals_go_round_at_the_cadence_and_shake_the_bicycle(self):
        rider = draisine.compile("whipple", legs=LEGS, pedalling=uniform(CADENCE))
        start = draisine.state(rider, forward_speed=5.0)
        run = draisine.simulate(rider, start, 0.7).to_xarray()
        assert_allclose(run["shape"].sel(joint="cranks"), CADENCE * run.time, atol=1e-10)
        assert float(np.abs(run.lean).max()) > 1e-5
        knee = run["shape"].sel(joint="left_knee").values
        assert np.ptp(knee) > 0.5

    def test_pedalling_on_load_dependent_tyres(self):
        """Averaged over one revolution of the cranks, both wheels together carry the weight of the
        bicycle.
        """
        tyre = {"name": "load_tyre", "parameter_set": "city_bicycle"}
        rider = draisine.compile(
            "whipple", legs=LEGS, pedalling=uniform(CADENCE), rear_tyre=tyre, front_tyre=tyre
        )
        start = draisine.state(rider, forward_speed=5.0)
        run = draisine.simulate(rider, start, 2.0 * np.pi / CADENCE).to_xarray()
        loads = run.contact_force.sel(direction="normal").sum("contact").values
        assert np.ptp(loads) > 1.0
        assert np.trapezoid(loads, run.time) * CADENCE / (2 * np.pi) == pytest.approx(
            94 * 9.81, rel=0.01
        )

    def test_pedalling_needs_legs(self):
        with pytest.raises(ParameterError, match="prescribes the motion of legs"):
            draisine.compile("whipple", pedalling=uniform(1.0))


def test_a_leaning_rider_from_a_tape_measure():
    """Trunk, head and arms are 0.4346 + 0.0694 + 2 (0.0271 + 0.0162 + 0.0061) of the mass (de Leva
    1996, doi:10.1016/0021-9290(95)00178-6, table 4); a rider who does not lean changes nothing.
    """
    measures = {"wheelbase": 1.02, "trail": 0.08, "head_angle": 1.257, "rear_radius": 0.33}
    measures |= {"front_radius": 0.34, "bicycle_mass": 18.0, "rider_mass": 80.0}
    rigid, _ = from_tape_measure(**measures)
    values, told = from_tape_measure(**measures, leaning=True)
    assert values["mU"] == pytest.approx(80.0 * (0.4346 + 0.0694 + 2 * 0.0494))
    assert {name: values[name] for name in rigid} == rigid
    assert "saddle's height" in told["zP"]
    free = roots(draisine.compile("whipple", **values, torso_spring=1e9))
    ideal = roots(draisine.compile("whipple", **rigid))
    assert max(np.abs(free - root).min() for root in ideal) < 1e-4


@pytest.mark.parametrize("limbs", [("arms",), ("legs",), ("arms", "legs")])
def test_arms_and_legs_from_a_tape_measure(limbs):
    """With them as bodies of their own, and the rider on a hinge, what is left of the frame is the bare
    frame: 0.433 of the bicycle's mass, whoever sits on it."""
    measures = {"wheelbase": 1.02, "trail": 0.06, "head_angle": 1.257, "rear_radius": 0.34}
    measures |= {"front_radius": 0.34, "bicycle_mass": 14.0, "rider_mass": 72.0}
    left = []
    for height in (1.6, 1.9):
        asked = dict.fromkeys(limbs, True)
        values, said = from_tape_measure(**measures, rider_height=height, leaning=True, **asked)
        assert set(limbs) <= set(said)
        tables = {name: values.pop(name) for name in limbs}
        motion = {"pedalling": uniform(0.0)} if "legs" in limbs else {}
        system = draisine.compile("whipple", **values, **tables, **motion)
        left.append(system.model.bodies[0])
        assert sum(body.mass for body in system.model.bodies) == pytest.approx(86.0)
    if len(limbs) == 2:
        assert left[0].mass == pytest.approx(0.433 * 14.0)
        for part in ("com", "inertia"):
            assert_allclose(getattr(left[0], part), getattr(left[1], part), atol=1e-9)
    with pytest.raises(ParameterError, match="set rider_mass"):
        from_tape_measure(**measures | {"rider_mass": 0.0}, **{limbs[0]: True})
