"""Rides as data, and the same ride once more."""

from dataclasses import replace

import numpy as np
import pytest
import xarray

from draisine.cli import main
from draisine.errors import DataError
from draisine.results.store import load, save
from draisine.ride.presets import PRESETS, on_ground
from draisine.ride.repeat import compare_frames, repeat_ride, ride_again, ride_dataset
from draisine.ride.session import Session


def short_ride(name, change=None):
    session = Session(name)
    rng = np.random.default_rng(1)
    for k in range(60):
        if k == 30 and change:
            session.change(change)
        inputs = {"steer_torque": float(rng.normal()), "push.y": 50.0 if k == 10 else 0.0}
        session.advance(int(rng.integers(5, 30)), inputs)
    return session


@pytest.mark.parametrize(("name", "change"), [("steer-torque", {"c": 0.1}), ("kerb", None)])
def test_a_ride_is_repeated_to_the_bit(name, change, tmp_path, capsys):
    ridden = short_ride(name, change)
    *_, again = ride_again(name, ridden.preset, ridden.record)
    assert np.array_equal(again.frame(), ridden.frame())
    data = ride_dataset(ridden)
    assert data.sizes["time"] == 60
    save(data, tmp_path / "ride.nc")
    stored = load(tmp_path / "ride.nc")
    again = ride_dataset(repeat_ride(stored))
    assert compare_frames(stored, again) == {}
    assert main(["run", str(tmp_path / "ride.nc")]) == 0
    assert "bitwise equal" in capsys.readouterr().out


def test_ground_and_friction_are_those_of_the_ride(tmp_path):
    ride = replace(on_ground(PRESETS["self-stable"], "kerb"), mu=0.7)
    session = Session("self-stable", {"self-stable": ride})
    session.advance(64, {"steer_torque": 0.5})
    save(ride_dataset(session), tmp_path / "ride.nc")
    again = repeat_ride(load(tmp_path / "ride.nc"))
    assert (again.preset.mu, again.preset.ground) == (0.7, ride.ground)
    assert np.array_equal(again.frame(), session.frame())


def test_held_inputs_take_no_memory():
    session = Session("steer-torque")
    for torque in (0.0, 0.0, 1.0, 1.0):
        session.advance(1, {"steer_torque": torque})
    assert len({id(inputs) for inputs in session.record.inputs}) == 2


def test_a_ride_is_a_run_like_others(tmp_path):
    data = ride_dataset(short_ride("steer-torque"))
    assert {"orientation", "position", "steer", "forward_speed", "contact_force"} <= set(data)
    save(data, tmp_path / "ride.nc")
    assert main(["animate", str(tmp_path / "ride.nc"), str(tmp_path / "ride.html")]) == 0
    assert "<canvas" in (tmp_path / "ride.html").read_text()


def test_differences_are_reported_by_name():
    one = xarray.Dataset({"lean": ("time", [0.0, 1.0]), "steer": ("time", [0.0, 0.0])})
    two = xarray.Dataset({"lean": ("time", [0.0, 1.5]), "steer": ("time", [0.0, 0.0])})
    assert compare_frames(one, two) == {"lean": 0.5}


def test_there_is_nothing_to_keep_before_the_first_step():
    with pytest.raises(DataError, match="no frames yet"):
        ride_dataset(Session("self-stable"))
