"""Inverse dynamics of complete machines, in Python and on the command line."""

import json

import numpy as np
import pytest

import draisine
from draisine.analysis.connection.inverse import solve_inverse_dynamics
from draisine.cli._app import main
from draisine.errors import ParameterError
from draisine.mechanics.formulations import multiplier
from draisine.terrain import plane


@pytest.fixture(scope="module")
def snake():
    return draisine.run("locomotion/snake-6")


def _at(result, k):
    one = result.data.isel(time=k)
    names = ("orientation", "position", "shape", "speeds")
    state = draisine.system.state.State(*(one[name].values for name in names))
    return state, one["accelerations"].values, one


def test_a_snake_of_six_leaves_three_torques_open(snake):
    state, vdot, _ = _at(snake, 4)
    found = solve_inverse_dynamics(snake.system, state, vdot)
    assert found.dimensions == 3


def test_open_contacts_have_no_force(snake):
    """C' lam + tau vanishes for each self-equilibrated solution, (1.18)."""
    state, vdot, _ = _at(snake, 7)
    found = solve_inverse_dynamics(snake.system, state, vdot)
    system = snake.system
    n = len(state.v)
    free = system.machine().free(q=state.q, p=state.p, r=state.r, v=state.v)
    C = free["C"].reshape(-1, n)[multiplier.active_row_indices(system.model, system.mode())]
    pushed = C.T @ np.array(list(found.static_forces.values()))
    pushed[3:] += np.array(list(found.static_torques.values()))
    assert np.abs(pushed).max() < 1e-12


def test_the_torques_are_those_of_the_prescribed_joints():
    """A run with prescribed joints computes the same torques independently, as multipliers."""
    result = draisine.run("locomotion/snakeboard-drive")
    for k in (4, 15):
        state, vdot, one = _at(result, k)
        found = solve_inverse_dynamics(result.system, state, vdot)
        named = dict(
            zip(one["prescribed"].values.tolist(), one["motion_torque"].values, strict=True)
        )
        for joint, torque in named.items():
            assert found.torques[joint] == pytest.approx(torque, rel=1e-9, abs=1e-10)


def test_command_prints_the_torques(snake, tmp_path, capsys):
    path = tmp_path / "snake.nc"
    snake.data.to_netcdf(path)
    assert main(["torques", str(path), "--at", "0.5", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["dimensions"] == 3 and len(printed["static_torques"]["joint1"]) == 3
    assert main(["torques", str(path)]) == 0
    assert "3 static combinations" in capsys.readouterr().out


def test_open_contacts_of_a_mode_have_no_force():
    """Bicycle with its front wheel in the air: the motion requires no torque, because none was
    applied.
    """
    bicycle = draisine.compile("whipple")
    mode = {"front": "open"}
    start = draisine.state(bicycle, mode=mode, forward_speed=3.0, pitch=-0.3)
    contact = draisine.ContactOptions(mode=mode)
    data = draisine.simulate(bicycle, start, 0.1, contact=contact).to_xarray().isel(time=5)
    names = ("orientation", "position", "shape", "speeds")
    state = draisine.State(*(data[name].values for name in names))
    found = solve_inverse_dynamics(bicycle, state, data["accelerations"].values, mode=mode)
    assert max(map(abs, found.torques.values())) < 1e-9
    assert found.forces["rear.normal"] == pytest.approx(float(data.contact_force[0, 0]), rel=1e-9)
    assert [name for name in found.forces if name.startswith("front")] == []


def test_the_command_knows_the_mode_of_a_run(tmp_path, capsys):
    bicycle = draisine.compile("whipple")
    mode = {"front": "open"}
    start = draisine.state(bicycle, mode=mode, forward_speed=3.0, pitch=-0.3)
    contact = draisine.ContactOptions(mode=mode)
    draisine.save(draisine.simulate(bicycle, start, 0.1, contact=contact), tmp_path / "up.nc")
    assert main(["torques", str(tmp_path / "up.nc"), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert max(map(abs, printed["torques"].values())) < 1e-9
    rolled = draisine.simulate(bicycle, draisine.state(bicycle), 0.1, terrain=plane())
    draisine.save(rolled, tmp_path / "rolled.nc")
    for file, at, message in (
        ("rolled.nc", "0.05", "in this one contacts change, on a terrain"),
        ("up.nc", "nan", "--at nan is outside of the run"),
        ("up.nc", "9", "--at 9 is outside of the run"),
    ):
        assert main(["torques", str(tmp_path / file), "--at", at]) == 2
        assert message in capsys.readouterr().err
    whole = draisine.load(tmp_path / "up.nc")
    draisine.save(whole.drop_vars("accelerations"), tmp_path / "torn.nc")
    assert main(["torques", str(tmp_path / "torn.nc")]) == 2
    assert "it has no variable 'accelerations'" in capsys.readouterr().err


def test_machines_without_joints_are_refused():
    ball = draisine.compile("ball")
    with pytest.raises(ParameterError, match="has no joints"):
        solve_inverse_dynamics(ball, draisine.state(ball), np.zeros(6))
