"""Compliant parts of a bicycle: limit of stiff parts, equilibrium under weight, energy, and wobble."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.bicycle.eigenvalues import eigenvalues
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.errors import ParameterError, UnknownNameError
from draisine.experiment.run import run
from draisine.experiment.tables.circles import find_hands_free_circles, solve_turn
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.mechanics.forces.load_tyre import LoadTyre
from draisine.mechanics.forces.passive_tyre import PassiveTyre
from draisine.scenario.library import validate_scenario
from draisine.vehicles import meanings, parameter_set
from draisine.vehicles.bicycle import Arms, Flexible, Legs, Seat
from draisine.view.figures.eigenvalues import draw as draw_eigenvalues

# Linear tyre of a city bicycle, per unit of the load; mechmotum kickplate (BSD-2), after Dressel and
# Dell'Orto: cornering, camber, relaxation, trail = 0.33 / 11.46.
TYRE = LoadTyre(11.46, 0.573, 0.175, 0.33 / 11.46)
PARTS = ("fork_bend", "fork_twist", "frame_twist")


@pytest.fixture(scope="module")
def springy():
    """Return a bicycle with all compliant parts at once."""
    parts = dict.fromkeys(PARTS, 3000.0)
    return draisine.compile(
        "whipple", flexible=Flexible(**parts, front_suspension=2e4, rear_suspension=1e4)
    )


@pytest.mark.parametrize("part", PARTS)
def test_a_stiff_part_tends_to_a_rigid_one_with_order_one(part):
    """All four eigenvalues converge to those of the ideal bicycle in proportion to 1/stiffness."""
    rigid = eigenvalues(draisine.compile("whipple"), [5.0]).values[0]
    soft = draisine.compile("whipple", flexible={part: 1e5})
    errors = []
    for k in (1e5, 1e6):
        stiff = TwoWheeler(soft.with_parameters(**{f"flexible_{part}": k}))
        found = np.linalg.eigvals(stiff.matrices(np.array([1.0, 5.0]))[0][1])
        errors.append(max(np.abs(found - root).min() for root in rigid))
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.02)
    assert errors[1] < 1e-2


def test_critical_speeds_of_a_stiff_frame_tend_to_those_of_a_rigid_one_with_order_one():
    names = ("weave", "weave_frequency", "capsize", "stable_from", "stable_to")
    ideal = draisine.critical_speeds(draisine.compile("whipple"))
    soft = draisine.compile(
        "whipple", flexible=Flexible(frame_twist=2000.0, frame_twist_damper=50.0)
    )
    stiff = draisine.critical_speeds(soft, flexible_frame_twist=[1e6, 1e7])
    for name in names:
        off = np.abs(getattr(stiff, name) - getattr(ideal, name))
        assert off[0] / off[1] == pytest.approx(10.0, rel=0.05), name
        assert off[1] < 1e-3


def test_circles_on_stiff_tyres_tend_to_those_without_slip_with_order_one():
    """The required torques converge, too; the torque at the rear wheel that balances the tyres
    tends to zero.
    """
    told = ("lean", "steer", "steer_torque")
    ideal = solve_turn("whipple", speed=5.0, radius=20.0)
    off = []
    for cornering in (1e4, 1e5):
        tyre = {
            "name": "load_tyre",
            "cornering": cornering,
            "camber": 0.0,
            "relaxation": 0.1,
            "trail": 0.0,
        }
        on = solve_turn("whipple", {"rear_tyre": tyre, "front_tyre": tyre}, speed=5.0, radius=20.0)
        assert float(on.radius[0]) == pytest.approx(20.0, abs=1e-9)
        off.append([*(float(on[n][0] - ideal[n][0]) for n in told), float(on.rear_wheel_torque[0])])
    assert np.array(off[0]) / off[1] == pytest.approx(np.full(4, 10.0), rel=0.05)


def test_it_is_drawn_at_rest_under_its_own_weight(springy):
    vdot, _ = springy.accelerate(draisine.state(springy))
    assert_allclose(vdot, 0.0, atol=1e-9)


def test_springs_keep_the_energy_and_dampers_take_it(springy):
    numerics = draisine.Numerics(rtol=1e-12, atol=1e-13)

    def ride(system):
        start = draisine.state(system, forward_speed=5.0, lean_rate=0.3, steer=0.02)
        return draisine.simulate(system, start, 0.5, numerics=numerics).to_xarray()

    kept = ride(springy)
    assert float(np.ptp(kept["shape"].sel(joint="front_suspension").values)) > 1e-5
    assert float(np.ptp(kept.energy.values)) < 1e-11 * float(kept.kinetic_energy.max())
    damped = draisine.compile(
        "whipple",
        flexible=Flexible(
            fork_bend=3000.0, fork_bend_damper=5.0, steer_friction=0.3, steer_damper=0.5
        ),
    )
    energy = ride(damped).energy.values
    assert np.diff(energy).max() < 1e-11 * energy[0]
    assert energy[0] - energy[-1] > 1e-3


def test_numbers_of_compliant_parts_are_parameters():
    system = draisine.compile("whipple", flexible=Flexible(steer_damper=1.0))
    assert system.with_parameters(flexible_steer_damper=2.0).model.joints[0].damper == 2.0
    again = draisine.compile("whipple", flexible={"steer_damper": 1}, flexible_steer_damper=2.0)
    assert again.parameters["flexible_steer_damper"] == 2.0
    with pytest.raises(ParameterError, match=r"flexible: no 'fork'\. Did you mean 'fork_bend'"):
        draisine.compile("whipple", flexible={"fork": 1.0})
    with pytest.raises(ParameterError, match="front_tyre: camber, relaxation missing"):
        draisine.compile("whipple", front_tyre={"name": "load_tyre", "cornering": 11.0})
    with pytest.raises(ParameterError, match=r"`name` is missing\. A tyre has a name \(brush_tyre"):
        draisine.compile("whipple", front_tyre={"cornering": 11.0})


def test_a_tyre_by_its_parameter_set():
    """With user-defined numbers instead of the published ones; a measured tyre by its coefficients."""
    table = {"name": "load_tyre", "parameter_set": "city_bicycle", "camber": 0.3}
    system = draisine.compile("whipple", front_tyre=table)
    front = {k.removeprefix("front_tyre_"): x for k, x in system.parameters.items() if "tyre" in k}
    assert front == parameter_set("load_tyre", "city_bicycle") | {"camber": 0.3}
    named = {"name": "magic_formula", "parameter_set": "schwalbe_t03_400kpa", "relaxation": 0.1}
    measured = draisine.compile("whipple", front_tyre=named).model.wheels[1].tyre
    values = list(parameter_set("magic_formula", "schwalbe_t03_400kpa").values())
    assert [*measured.Fy, *measured.Mz] == values
    with pytest.raises(UnknownNameError, match="no parameter sets of 'linear_tyre'"):
        draisine.compile("whipple", front_tyre=table | {"name": "linear_tyre"})


def test_every_number_of_a_record_has_a_unit_and_a_meaning():
    for record in (Flexible, Seat, Arms, Legs, LinearTyre, LoadTyre, BrushTyre, PassiveTyre):
        told = [one.name for one in fields(record) if one.init and not one.kw_only]
        known = meanings(record)
        assert list(known) == told
        assert all(unit and meaning for unit, meaning in known.values())


def test_a_stored_run_makes_its_machine_again():
    from draisine.results.bodies import restore_system

    system = draisine.compile("whipple", front_tyre=TYRE, rear_tyre=TYRE).with_parameters(
        front_tyre_cornering=12.0
    )
    run = draisine.simulate(system, draisine.state(system, forward_speed=5.0), 0.02)
    again = restore_system(run.to_xarray())
    assert again.parameters == system.parameters
    assert again.model.memory == 4


@pytest.fixture(scope="module")
def running():
    gives = Flexible(frame_twist=2000.0, frame_twist_damper=5.0)
    return TwoWheeler(draisine.compile("whipple", front_tyre=TYRE, rear_tyre=TYRE, flexible=gives))


class TestWobble:
    def test_critical_speeds_are_where_a_root_is_imaginary(self, running):
        found = running.crossings(0.5, 20.0)
        wobble = [x for x in found if x.name == "wobble"]
        assert [x.damped_above for x in wobble] == [False, True]
        for x in wobble:
            roots = np.linalg.eigvals(running.matrices(np.array([1.0, x.speed]))[0][1])
            assert np.abs(roots - 1j * x.frequency).min() < 1e-8

    def test_a_rigid_frame_on_the_same_tyres_does_not_shimmy_there(self, running):
        """A flexible frame lets it: near 6 to 8 Hz, as bicycles do (Limebeer and Sharp 2006,
        doi:10.1109/MCS.2006.1700044, tell of 4 to 10 Hz)."""
        at = [5.0, 10.0]
        rigid = TwoWheeler(draisine.compile("whipple", front_tyre=TYRE, rear_tyre=TYRE))
        assert np.all(rigid.eigenmodes(at).mode("wobble").real < -5.0)
        shimmy = running.eigenmodes(at).mode("wobble")
        assert np.all(shimmy.real > 0)
        assert np.all((shimmy.imag > 8 * np.pi) & (shimmy.imag < 20 * np.pi))

    def test_a_steering_damper_calms_it(self, running):
        gives = Flexible(frame_twist=2000.0, frame_twist_damper=5.0, steer_damper=3.0)
        calm = draisine.compile("whipple", front_tyre=TYRE, rear_tyre=TYRE, flexible=gives)
        assert np.all(TwoWheeler(calm).eigenmodes([5.0, 10.0]).mode("wobble").real < 0)

    def test_its_figure_shows_the_named_eigenmodes(self):
        """The tyre's 145 rad/s are outside; each name is once in the legend."""
        tyre = {"name": "load_tyre", "parameter_set": "city_bicycle"}
        soft = {"frame_twist": 2000.0, "frame_twist_damper": 5.0}
        parameters = {"rear_tyre": tyre, "front_tyre": tyre, "flexible": soft}
        table = {"kind": "linear", "title": "t", "speeds": {"low": 1.0, "high": 15.0, "count": 15}}
        vehicle = {"name": "whipple", "parameters": parameters}
        data = run(validate_scenario("shimmy", "shimmy", table | {"vehicle": vehicle})).data
        growth, axes = draw_eigenvalues(data)
        labels = growth.get_legend_handles_labels()[1]
        assert len(labels) == len(set(labels))
        assert data.eigenvalue_imaginary.max() > 130.0
        assert 45.0 < axes.get_ylim()[1] < 60.0

    def test_circles_hands_free_tend_to_those_of_the_rigid_frame(self):
        """They differ in proportion to the compliance."""
        rigid = find_hands_free_circles("whipple")["rear_wheel_speed"].values[0]
        off = []
        for k in (2e3, 2e4):
            found = find_hands_free_circles("whipple", {"flexible": {"frame_twist": k}})
            off.append(found["rear_wheel_speed"].values[0] - rigid)
        assert off[0] == pytest.approx(10.0 * off[1], rel=0.1)
        assert abs(off[1]) < 2e-3
