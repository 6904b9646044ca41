"""Runs that start in a steady motion, and riders designed for the machine of a scenario."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.equilibrium import steady
from draisine.analysis.rider.handling import handling
from draisine.analysis.rider.preview import follow_path
from draisine.control import LaneChange, Slalom
from draisine.errors import DataError, ParameterError
from draisine.experiment.kinds.run import simulate_plan
from draisine.experiment.run import run
from draisine.experiment.tables.loci import compute_root_locus
from draisine.scenario.library import load, validate_scenario

HEAD = """
kind = "run"
title = "mine"
[vehicle]
name = "whipple"
[vehicle.parameters]
"""
TYRES = """
rear_tyre = { name = "load_tyre", parameter_set = "city_bicycle" }
front_tyre = { name = "load_tyre", parameter_set = "city_bicycle" }
"""
HILL = [[0.01 * x * x * y + 0.02 * y * y for y in range(-4, 5)] for x in range(-4, 5)]
"""Heights in m without any symmetry."""

RUN = """
[run]
until = 0.5
"""
RIDER = """
[[law]]
name = "follow_path"
delay = 0.2
"""
LANE = 'path = { shape = "lane_change", offset = 2.0, start = 1.0, end = "1200 cm" }\n'


def read(*parts):
    return validate_scenario("mine", "mine.toml", tomllib.loads("".join((HEAD, *parts, RUN))))


def spread(data, *names):
    return max(float(np.ptp(data[name].values)) for name in names)


def test_a_steady_turn_on_tyres_stays_as_it_is():
    """Its torques are those of `steady`, and all along the run nothing changes but place and heading."""
    data = run(read(TYRES, "[initial.steady]\nforward_speed = 5.0\nlean = '10deg'\n")).data
    assert spread(data, "lean", "steer", "forward_speed", "yaw_rate") < 1e-10
    assert np.ptp(data.element_state.values, axis=0).max() < 1e-8
    tyre = {"name": "load_tyre", "parameter_set": "city_bicycle"}
    machine = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
    turn = steady(machine, free=["steer", "rear_wheel"], forward_speed=5.0, lean=np.radians(10.0))
    assert_allclose(data.inputs.values[-1], list(turn.inputs.values()), atol=1e-9)


def test_a_climb_needs_the_weight_along_the_slope():
    """m g r sin(slope) at the rear wheel: 94 kg and 0.3 m of the benchmark bicycle."""
    start = "[initial.steady]\nforward_speed = 4.0\nlean = 0.0\nyaw = 0.0\n"
    data = run(read("slope = 0.3\n", start)).data
    torque = 94.0 * 9.81 * 0.3 * np.sin(0.3)
    assert_allclose(data.inputs.sel(input="rear_wheel"), torque, rtol=1e-10)
    assert spread(data, "forward_speed", "lean") < 1e-12


def test_braking_begins_with_the_deceleration():
    start = "forward_speed = 8.0\nlean = 0.0\nforward_acceleration = -2.0\nfree = ['rear_wheel']\n"
    data = run(read("[initial.steady]\n", start)).data
    assert_allclose(np.gradient(data.forward_speed, data.time)[1:-1], -2.0, atol=1e-8)


def test_signals_act_beside_the_inputs_of_the_motion():
    push = "[[inputs]]\nshape = 'step'\ninput = 'steer'\nvalue = 0.25\nstart = 0.2\nend = 0.3\n"
    data = run(read("[initial.steady]\nforward_speed = 5.0\nradius = 20.0\n", push)).data
    torque = data.inputs.sel(input="steer").values
    assert_allclose(torque[25] - torque[0], 0.25, rtol=1e-12)
    assert torque[-1] == torque[0] != 0.0


def test_a_rider_starts_on_his_circle():
    """No offset grows: the states of the law are those of the steady motion."""
    rider = RIDER + "path = 0.05\n"
    data = run(read(TYRES, "[initial.steady]\nforward_speed = 5.0\n", rider)).data
    assert np.ptp(data.control_state.values, axis=0).max() < 1e-10
    # Speed times curvature, but for the offset of some cm that the torque of the turn needs.
    assert_allclose(data.yaw_rate, 0.25, rtol=5e-3)


def test_a_rider_of_a_scenario_is_that_of_the_library(tmp_path):
    """The same bits, also if a file has the path."""
    (tmp_path / "lane.py").write_text(
        "from draisine.control import LaneChange\n\nmine = LaneChange(2.0, 1.0, 12.0)\n"
    )
    machine = draisine.compile("whipple")
    rider = follow_path(machine, LaneChange(2.0, 1.0, 12.0), 5.0, delay=0.2)
    start = draisine.state(machine, forward_speed=5.0)
    expected = draisine.simulate(machine, start, 0.5, law=rider).to_xarray()
    initial = "[initial]\nforward_speed = 5.0\n"
    for path in (LANE, 'path = "lane.py:mine"\n'):
        (tmp_path / "mine.toml").write_text(HEAD + initial + RIDER + path + RUN)
        data = run(load(str(tmp_path / "mine.toml"))).data
        assert np.array_equal(data.speeds.values, expected.speeds.values)


def test_a_lane_change_from_a_steady_motion_has_metrics():
    loaded = read("[initial.steady]\nforward_speed = 5.0\n", RIDER, LANE)
    found = handling(simulate_plan(loaded.plan))
    machine = loaded.plan.system
    rider = follow_path(machine, LaneChange(2.0, 1.0, 12.0), 5.0, delay=0.2)
    start = draisine.state(machine, forward_speed=5.0)
    expected = handling(draisine.simulate(machine, start, 0.5, law=rider))
    assert found.max_offset == pytest.approx(expected.max_offset, rel=1e-6)
    assert loaded.plan.law.state_names[:3] == ("parameter", "offset", "heading_error")


def test_its_recipe_makes_it_again():
    circle = RIDER + "path = -0.02\n"
    data = run(read("[initial.steady]\nforward_speed = 5.0\n", circle)).data
    space = {}
    exec(data.attrs["recipe"], space)
    assert np.array_equal(space["run"].to_xarray().speeds.values, data.speeds.values)


def test_a_slalom_repeats():
    """It touches the x axis after each wavelength, and is an amplitude aside in between."""
    path = Slalom(2.0, 30.0)
    assert_allclose([path(0.0), path(15.0), path(30.0)], [0.0, 2.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("terrain", "lean"),
    [
        ("slope = '3deg'\ncamber = '5deg'\n", 0.0),
        ("shape = 'road'\nz = [0.0, 0.0]\nx = [-50.0, 50.0]\ncamber = '5deg'\n", 0.0),
    ],
    ids=["plane", "road"],
)
def test_runs_start_in_steady_motions_on_inclined_terrains(terrain, lean):
    """A bicycle on knife-edged wheels stays vertical, and the run stays in the motion."""
    head = "[initial.steady]\nforward_speed = 5.0\nyaw = 0.0\nx = 1.0\n[terrain]\n"
    content = tomllib.loads(HEAD + head + terrain + RUN)
    found = run(validate_scenario("mine", "mine.toml", content)).data
    assert found.attrs["outcome"] == "completed"
    assert_allclose(found.lean, lean, atol=1e-9)
    assert_allclose(found.forward_speed, 5.0, atol=1e-8)


def test_sweeps_start_in_the_motion_of_each_run():
    content = tomllib.loads(HEAD + "[initial.steady]\nforward_speed = 5.0\nlean = 0.0\n" + RUN)
    content |= {"kind": "sweep", "sweep": {"outputs": ["final lean"]}}
    content["sweep"]["over"] = {"initial.steady.lean": [0.0, 0.1]}
    found = run(validate_scenario("mine", "mine.toml", content)).data
    assert_allclose(found["final lean"], [0.0, 0.1], atol=1e-10)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[initial]\nlean = 0.1\nsteady = {}\n",
            "initial.lean = 0.1: cannot be combined with initial.steady",
        ),
        ("[initial]\nsteady = 3\n", "initial.steady = 3: must be a table"),
        ("[initial.steady]\nspeed = 5.0\n", "Did you mean 'forward_speed'"),
        (
            "[initial.steady]\nforward_speed = '5 miles'\n",
            "initial.steady.forward_speed: '5 miles'",
        ),
        ("[initial.steady]\nfree = ['ster']\n", "initial.steady.free: no input 'ster'"),
        ("[initial.steady]\nfree = 'steer'\n", "initial.steady.free = 'steer': must be a list"),
        ("[initial.steady]\nfree = ['steer', 3]\n", "initial.steady.free: no input '3'"),
        (
            "[initial.steady]\nforward_speed = 5.0\n[initial.place]\non = 'ground'\n"
            "[terrain]\nshape = 'plane'\nslope = '5deg'\n",
            "initial.place: cannot be combined with initial.steady on this terrain",
        ),
        (
            "[initial.steady]\nforward_speed = 5.0\n[terrain]\nshape = 'road'\n"
            f"z = {HILL}\nx = {list(range(-4, 5))}\ny = {list(range(-4, 5))}\n",
            "initial.steady: The ground near the machine has no symmetry",
        ),
        ("[initial.steady]\ninputs = 3\n", "initial.steady.inputs = 3: must be a table"),
        (
            "[initial.steady]\nforward_speed = 5.0\nlean = 0.1\nsteer = 0.3\nfree = []\n",
            "initial.steady: No steady motion found with forward_speed = 5, lean = 0.1, steer = 0.3.",
        ),
        (RIDER, "The law needs a speed, for which its gains are designed"),
        (RIDER + "speed = 5.0\ncount = 2.5\n", "law[0].count: 2.5 is not a whole number"),
        (RIDER + "speed = 5.0\npath = { shape = 'lane' }\n", "Did you mean 'lane_change'?"),
        (RIDER + "speed = 5.0\npath = { offset = 2.0 }\n", "path: shape is missing"),
        (
            RIDER + "speed = 5.0\npath = { shape = 'slalom', amplitude = 2.0 }\n",
            "path: slalom needs wavelength, in m",
        ),
        (RIDER + "speed = 5.0\npath = 'no.py:lane'\n", "the file 'no.py' does not exist"),
        (RIDER + "speed = 5.0\nweights = { roll = 1.0 }\n", "'roll' is not a state"),
    ],
)
def test_mistakes_have_a_location_and_a_hint(text, message):
    with pytest.raises(DataError) as error:
        read(text)
    assert message in str(error.value)


def test_a_varying_path_has_no_eigenvalues():
    content = tomllib.loads(HEAD + RIDER + LANE) | {"kind": "linear", "speeds": {"at": [5.0]}}
    with pytest.raises(DataError, match="eigenvalues need a constant one"):
        validate_scenario("mine", "mine.toml", content)
    content = tomllib.loads(HEAD) | {"kind": "state", "initial": {"steady": {"lean": 0.1}}}
    with pytest.raises(DataError, match=r"initial\.steady: needs kind = 'run' or 'sweep'"):
        validate_scenario("mine", "mine.toml", content)


class TestClosedLoopLoci:
    def test_of_a_rider_over_the_slope(self):
        """On the level it has the eigenvalues of straight running under the same rider."""
        rider = {"name": "follow_path", "delay": 0.2}
        over = np.array([0.0, 0.1])
        found = compute_root_locus(
            "whipple", {}, None, "slope", over, {"forward_speed": 5.0}, laws=[rider]
        )
        machine = draisine.compile("whipple")
        law = follow_path(machine, 0.0, 5.0, delay=0.2)
        expected = draisine.eigenvalues(machine, 5.0, law=law).values[0]
        values = (found.eigenvalue_real + 1j * found.eigenvalue_imaginary).values[0]
        moving = values[np.abs(values) > 1e-6]
        assert_allclose(np.sort_complex(moving), np.sort_complex(expected), rtol=1e-6)
        assert_allclose(found.input_value.sel(input="steer"), 0.0, atol=1e-12)

    def test_a_law_does_not_move_the_motion(self):
        """Feedback of the lean rate, which is zero in a turn, changes eigenvalues alone."""
        law = {"name": "steer_into_lean", "lean_gain": 0.0, "rate_gain": 8.0}
        given = ("whipple", {}, None, "lean", np.array([0.1]), {"forward_speed": 5.0})
        free, closed = (compute_root_locus(*given, laws=laws) for laws in ([], [law]))
        assert_allclose(closed.input_value, free.input_value, atol=1e-9)
        assert abs(closed.eigenvalue_real - free.eigenvalue_real).max() > 0.1

    def test_mistakes_are_those_of_the_law(self):
        given = ("whipple", {}, None, "lean", np.array([0.1]), {"forward_speed": 5.0})
        with pytest.raises(DataError, match="Did you mean 'delay'"):
            compute_root_locus(*given, laws=[{"name": "follow_path", "dela": 0.2}])

    def test_a_law_of_least_cost_belongs_to_one_speed(self):
        given = ("whipple", {}, None, "forward_speed", np.array([4.0, 5.0]), {"lean": 0.1})
        with pytest.raises(ParameterError, match="--speed 5"):
            compute_root_locus(*given, laws=[{"name": "lqr"}])


def test_learning_tasks_draw_their_starts(tmp_path):
    pytest.importorskip("gymnasium")
    from draisine.interop.gymnasium import TASKS

    (tmp_path / "mine.toml").write_text(HEAD + "[initial.steady]\nforward_speed = 5.0\n" + RUN)
    task = replace(next(iter(TASKS.values())), scenario=str(tmp_path / "mine.toml"))
    with pytest.raises(ParameterError, match="starts in a steady motion"):
        task.draw_start(np.random.default_rng(1), 1)
