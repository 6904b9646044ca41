"""Motions of joints, named in scenario files and kept with their results."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline

import draisine
from draisine.errors import DataError, ParameterError, UnknownNameError
from draisine.experiment.run import run
from draisine.model.motion import JOINT_MOTIONS, motion_from_table, smooth_step
from draisine.results import store
from draisine.results.bodies import restore_model
from draisine.scenario.library import load

GUIDED = """
kind = "run"
title = "guided"
[vehicle]
name = "whipple"
parameters = { mU = 30.0 }
[vehicle.motions]
steering = { name = "sine", amplitude = "3deg", frequency = 0.5 }
torso = { name = "smooth_step", value = 0.1, start = 0.1, end = 0.4 }
[initial]
forward_speed = 5.0
[run]
until = 0.5
dt = 0.05
"""


@pytest.fixture
def guided(tmp_path):
    def write(old="", new=""):
        path = tmp_path / "guided.toml"
        path.write_text(GUIDED.replace(old, new))
        return str(path)

    return write


def test_motions_in_a_file_equal_those_in_python(guided):
    data = run(load(guided())).data
    sine = motion_from_table({"name": "sine", "amplitude": math.radians(3.0), "frequency": 0.5})
    bicycle = draisine.compile("whipple", mU=30.0, steering=sine, torso=smooth_step(0.1, 0.1, 0.4))
    start = draisine.state(bicycle, forward_speed=5.0)
    python = draisine.simulate(bicycle, start, 0.5, numerics=draisine.Numerics(dt=0.05)).to_xarray()
    assert np.array_equal(data["speeds"].values, python["speeds"].values)
    t = data["time"].values
    steer = data["shape"].sel(joint="steer").values
    assert_allclose(steer, math.radians(3.0) * np.sin(math.pi * t), atol=1e-12)
    assert list(data["prescribed"].values) == ["steer", "torso"]


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_prescribed_runs_repeat_bitwise_from_stored_results(guided, tmp_path, suffix):
    data = run(load(guided())).data
    path = tmp_path / f"guided{suffix}"
    store.save(data, path)
    again = store.load(path)
    assert run(load(str(path))).data.identical(data)
    assert "steering" not in json.loads(again.attrs["structure"])
    guided = [joint.name for joint in restore_model(again).joints if joint.motion is not None]
    assert guided == ["steer", "torso"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("steering =", "stering =", "Did you mean 'steering'"),
        ("steering =", "w =", "has no such prescribed motion"),
        ('"sine"', '"sinus"', "Did you mean 'sine'"),
        ("frequency", "frequencies", "Did you mean 'frequency'"),
        (", frequency = 0.5", "", "'sine' needs the parameter 'frequency'"),
        ("end = 0.4", "end = 0.1", "must be after the start"),
        ("value = 0.1", 'value = "much"', "'much' is not a number"),
        ('name = "sine", ', "", "not a table with a `name`"),
    ],
)
def test_mistakes_have_their_place(guided, old, new, said):
    with pytest.raises(DataError, match=rf"vehicle\.motions\.\w+.*{said}"):
        load(guided(old, new))


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "sine", "amplitude": 0.3, "frequency": 0.7, "phase": 0.4, "centre": 0.1},
        {"name": "smooth_step", "value": 0.5, "start": 0.2, "end": 1.1, "begin": -0.1},
    ],
    ids=lambda entry: entry["name"],
)
def test_motions_return_their_own_derivatives(entry):
    motion, h = motion_from_table(entry), 1e-5
    for t in (0.05, 0.2 + 2 * h, 0.6, 1.0, 1.3):
        before, here, after = (np.array(motion(x)) for x in (t - h, t, t + h))
        assert_allclose((after - before)[:2] / (2 * h), here[1:], atol=1e-7)


def test_a_smooth_step_begins_and_ends_at_rest():
    motion = smooth_step(0.5, 0.2, 1.1, begin=-0.1)
    for t, value in ((0.0, -0.1), (0.2, -0.1), (0.65, 0.2), (1.1, 0.5), (9.0, 0.5)):
        found = motion(t)
        assert found[0] == pytest.approx(value, abs=1e-15)
        if t != 0.65:
            assert_allclose(found[1:], 0.0, atol=1e-14)


def test_unknown_motions_and_numbers_are_named():
    assert {"sine", "smooth_step"} <= set(JOINT_MOTIONS)
    with pytest.raises(UnknownNameError, match="Did you mean 'smooth_step'"):
        motion_from_table({"name": "smoothstep"})
    with pytest.raises(ParameterError, match="Did you mean 'amplitude'"):
        motion_from_table({"name": "sine", "amplitud": 1.0, "frequency": 1.0})


@pytest.mark.parametrize(("ends", "like"), [("rest", "clamped"), ("natural", "natural")])
def test_a_table_becomes_the_cubic_spline(ends, like):
    times, values = [0.0, 0.4, 1.0, 1.3, 2.0], [0.0, 1.0, -0.5, 0.2, 0.3]
    motion = motion_from_table({"name": "spline", "times": times, "values": values, "ends": ends})
    known = CubicSpline(times, values, bc_type=like)
    for t in np.linspace(0.0, 2.0, 21):
        assert_allclose(motion(t), [known(t), known(t, 1), known(t, 2)], atol=1e-12)
    assert motion(2.5) == (0.3, 0.0, 0.0) and motion(-0.5) == (0.0, 0.0, 0.0)


def test_a_table_guides_a_joint_from_a_file(guided):
    spline = 'steering = { name = "spline", times = [0.0, 0.2, 0.5], values = [0.0, 0.05, 0.02] }'
    old = 'steering = { name = "sine", amplitude = "3deg", frequency = 0.5 }'
    steer = run(load(guided(old, spline))).data["shape"].sel(joint="steer").values
    assert_allclose(steer[[0, 4, 10]], [0.0, 0.05, 0.02], atol=1e-12)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"times": [0.0, 1.0], "values": [1.0]}, "2 times and 1 values"),
        ({"times": [0.0, 0.0], "values": [1.0, 2.0]}, "rising times"),
        ({"times": [0.0, 1.0], "values": [1.0, 2.0], "ends": "loose"}, "Available: rest, natural"),
    ],
)
def test_wrong_tables_are_reported(entry, said):
    with pytest.raises(ParameterError, match=said):
        motion_from_table({"name": "spline"} | entry)
