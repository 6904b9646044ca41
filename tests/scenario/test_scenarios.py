"""Scenario files: read, changed, carried out, checked, kept."""

import json
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.control.turn_pi import TurnPI
from draisine.errors import ConfigurationError, DataError, ParameterError, SimulationError
from draisine.experiment.check import check
from draisine.experiment.kinds.map import compute_contact_map
from draisine.experiment.report import describe_result, summarise_result, tabulate_result
from draisine.experiment.run import run
from draisine.results import store
from draisine.results.attributes import without_stamp
from draisine.results.straight import straight_quantity
from draisine.scenario.library import load, read_template, scenario_titles, scenarios
from draisine.scenario.overrides import override
from draisine.scenario.schema import SCENARIO_TABLES_BY_KIND, schema

PUSH = """
kind = "run"
title = "a push"

[vehicle]
name = "whipple"
parameter_set = "benchmark"

[initial]
forward_speed = 5.0
lean = "5deg"

[run]
until = 0.5
dt = 0.1
"""


@pytest.fixture
def mine(tmp_path):
    """Return a scenario of one's own, with more text at its end."""

    def write(more=""):
        path = tmp_path / "mine.toml"
        path.write_text(PUSH + more)
        return str(path)

    return write


def test_a_scenario_equals_calls_of_the_library(mine):
    result = run(load(mine()))
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=5.0, lean=math.radians(5.0))
    data = draisine.simulate(
        bicycle, start, until=0.5, numerics=draisine.Numerics(dt=0.1)
    ).to_xarray()
    for name in data.data_vars:
        assert np.array_equal(result.data[name].values, data[name].values), name
    assert result.outcome == "completed"


def test_laws_and_inputs_come_from_the_file(mine):
    text = """
[[law]]
name = "turn_pi"
steer_gain = 10
steer_integral_gain = 35
steer_target = "5deg"
times = [0, 5]
drive_gain = 20
drive_integral_gain = 100
wheel_rate_target = 20

[[inputs]]
shape = "step"
input = "front_wheel"
value = -2.0
start = 0.2

[[inputs]]
shape = "table"
input = "steer"
times = [0, 1]
values = [0, 0.5]
"""
    loaded = load(mine(text))
    law = loaded.plan.law
    assert law.laws[0] == TurnPI(10, 35, math.radians(5), (0, 5), 20, 100, 20)
    assert law.breakpoints == (0.0, 0.2, 1.0, 5.0)
    data = run(loaded).data
    torque = data["inputs"].sel(input="front_wheel").values
    assert_allclose(torque, [0.0, 0.0, -2.0, -2.0, -2.0, -2.0])
    assert data["control_state"].shape == (6, 2)


def test_changes_by_key_path_drop_expected_values():
    name = "mauny2018/passive-stabilisation"
    assert load(name).scenario.expected
    changed = load(name, {"vehicle.parameters.mB": 90.0, "run.until": 0.1})
    assert not changed.scenario.expected
    assert changed.plan.system.parameters["mB"] == 90.0
    assert run(changed).data["time"].values[-1] == 0.1


def test_a_vehicle_of_ones_own(tmp_path, monkeypatch):
    (tmp_path / "sledge.py").write_text(
        "from draisine.model import Body, Model, Output\n"
        "def sledge(*, m: float = 2.0, push: bool = True) -> Model:\n"
        "    return Model([Body('sledge', m)], base='translations',\n"
        "        outputs=[Output('pace', lambda v: v.velocity('sledge', (0.0, 0.0, 0.0))[0], 'm/s')])\n"
    )
    monkeypatch.chdir(tmp_path)
    Path("throw.toml").write_text(
        'kind="run"\ntitle="a throw"\n[vehicle]\nname="sledge.py:sledge"\nparameters.push=false\n'
        "[initial]\npace = 3.0\n[run]\nuntil = 1.0\n"
    )
    result = run(load("throw.toml"))
    assert_allclose(result.data["position"].values[-1], [3.0, 0.0, -9.81 / 2], atol=1e-12)
    store.save(result.data, Path("throw.nc"))
    again = run(load("throw.nc"))
    assert again.data.equals(result.data)
    assert again.system.structure == {"push": False}
    assert tabulate_result(result)
    assert summarise_result(result)["maximum_gap"] is None


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_results_read_back_equal_and_repeat_bit_for_bit(mine, tmp_path, suffix):
    data = run(load(mine("[vehicle.parameters]\nmB = 80\n"))).data
    path = tmp_path / f"run{suffix}"
    store.save(data, path)
    store.save(data, path)  # over an older one
    read = store.load(path)
    assert without_stamp(read).identical(data)
    assert run(load(str(path))).data.identical(data)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_tables_for_spreadsheets(mine, tmp_path):
    data = run(load(mine())).data
    store.save(data, tmp_path / "run.csv")
    lines = (tmp_path / "run.csv").read_text().splitlines()
    assert len(lines) == 7
    assert lines[0].startswith("time,orientation[w],")
    assert '"contact_force[rear, normal]"' in lines[0]
    values = np.loadtxt(tmp_path / "run.csv", delimiter=",", skiprows=1)
    assert_allclose(values[:, 0], data["time"].values)
    grid = run(load("mauny2018/contact-maps", {"map.x.count": 3, "map.y.count": 5})).data
    store.save(grid, tmp_path / "map.csv")
    rows = np.loadtxt(tmp_path / "map.csv", delimiter=",", skiprows=1)
    assert rows.shape == (15, 6)


def test_nothing_half_written_remains(mine, tmp_path, monkeypatch):
    data = run(load(mine())).data
    kept = sorted(p.name for p in tmp_path.iterdir())

    def full(*_args, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(data), "to_netcdf", full)
    with pytest.raises(DataError, match="No space left"):
        store.save(data, tmp_path / "run.nc")
    monkeypatch.setattr(np, "savetxt", full)
    with pytest.raises(DataError, match="cannot be written"):
        store.save(data, tmp_path / "run.csv")
    assert sorted(p.name for p in tmp_path.iterdir()) == kept


def test_an_interrupted_run_returns_its_samples(mine):
    """A push that ends at 0.2 s cuts the run in two; it is interrupted after the first part."""
    pushed = mine("[[inputs]]\nshape = 'step'\ninput = 'steer'\nvalue = 0.1\nend = 0.2\n")
    fractions = []
    whole = run(load(pushed), fractions.append).data
    assert fractions == sorted(fractions)
    assert fractions[0] == pytest.approx(0.4)
    assert fractions[-1] == 1.0

    def impatient(fraction):
        raise KeyboardInterrupt

    with pytest.raises(SimulationError, match=r"interrupted after 0\.2 s of 0\.5 s\.$") as caught:
        run(load(pushed), impatient)
    partial = caught.value.partial
    assert partial.outcome == "interrupted"
    lean = partial.data["lean"].values
    assert_allclose(lean, whole["lean"].values[: len(lean)], rtol=1e-12)
    assert partial.data["time"].values[-1] == 0.2


def test_disagreement_is_found(mine):
    text = """
[[expected]]
title = "right and wrong"
origin = "computed"
atol = 1e-3
[expected.values]
"initial lean" = "5deg"
"initial forward_speed" = 5.1
"time when lean = 80deg" = 1.0

[[expected]]
title = "at times"
origin = "computed"
rtol = 1e-6
at = [0.0, 0.5]
values.forward_speed = [5.0, 4.0]
"""
    found = check(load(mine(text)))[1]
    assert [f.agrees for f in found] == [True, False, False, False]
    assert found[3].where == "t = 0.5 s"
    assert found[3].compared == 2
    assert found[2].as_dict()["ours"] is None
    json.dumps([f.as_dict() for f in found], allow_nan=False)


def test_summaries(mine):
    result = run(load(mine()))
    found = summarise_result(result)
    assert found["scenario"] == "mine"
    assert found["final"]["time"] == 0.5
    assert {"lean", "steer", "yaw", "pitch", "forward_speed", "lean_rate", "steer_rate"} <= set(
        found["final"]
    )
    assert set(found["energy"]) == {
        *("start", "end", "maximum_change", "maximum_relative_drift"),
    }
    assert found["energy"]["maximum_relative_drift"] < 1e-9
    assert found["maximum_gap"] < 1e-12
    assert found["events"] == []
    json.dumps(found, allow_nan=False)
    assert any("completed" in line for line in describe_result(result))


def test_a_map_is_made_of_ordinary_states():
    grid = {"map.x.count": 4, "map.y.count": 3}
    result = run(load("mauny2018/contact-maps", grid))
    bicycle = draisine.compile("whipple")
    for i, lean in enumerate(result.data["lean"].values):
        for j, steer in enumerate(result.data["steer"].values):
            at = draisine.state(bicycle, lean=lean, steer=steer)
            seen = bicycle.machine().observation(bicycle.machine().enter(at))["outputs"]
            one = dict(zip(bicycle.outputs, seen, strict=True))
            for name in ("rear_contact_angle", "front_contact_angle", "beta"):
                assert_allclose(float(result.data[name][i, j]), one[name], atol=1e-12)
    assert describe_result(result)[-1].startswith("12 configurations")


def test_yaw_follows_its_path():
    """Yaw after 'lean, steer', 'steer, lean' and straight, by independent computation, in degrees."""
    expected = {"steer, lean": 3.9480406115582363, "lean, steer": 8.035665017390937,
                "straight": 6.632174318421975}  # fmt: skip
    corner = {"map.x.low": 0.0, "map.x.high": "30deg", "map.y.low": 0.0, "map.y.high": "45deg"}
    for path, yaw in expected.items():
        small = corner | {"map.x.count": 2, "map.y.count": 2, "map.path": path}
        found = run(load("mauny2018/contact-maps", small)).data["yaw"].values
        assert_allclose(np.degrees(found[1, 1]), yaw, atol=1e-9)


def test_an_infeasible_map_is_reported():
    with pytest.raises(DataError, match="it stays between"):
        load("mauny2018/contact-maps", {"map.x.high": "95deg"})
    bicycle, scenario = draisine.compile("whipple"), load("mauny2018/contact-maps").scenario
    far = scenario.map.x.model_copy(update={"high": 1.57, "low": 1.5, "count": 2})
    with pytest.raises(ConfigurationError, match="points of the map"):
        compute_contact_map(bicycle, scenario.map.model_copy(update={"x": far}))


def test_straight_running_as_data(tmp_path):
    result = run(load("meijaard2007/eigenvalues"))
    assert result.data["eigenvalue_real"].shape == (101, 4)
    assert "stable from 4.29238 m/s to 6.02426 m/s" in describe_result(result)
    assert tabulate_result(result) == []
    json.dumps(summarise_result(result), allow_nan=False)
    store.save(result.data, tmp_path / "eig.nc")
    assert without_stamp(store.load(tmp_path / "eig.nc")).identical(result.data)
    with pytest.raises(ParameterError, match="has no speed"):
        straight_quantity("eigenvalue_real[weave]", result.system.model, result.data, [1.05])
    with pytest.raises(ParameterError, match="set the speeds `at`"):
        straight_quantity("eigenvalue_real[weave]", result.system.model, result.data, None)
    with pytest.raises(ParameterError, match="does not depend on the speed"):
        straight_quantity("weave_speed", result.system.model, result.data, [1.0])


def test_the_schema_knows_all_kinds():
    found = schema()
    assert set(found["discriminator"]["mapping"]) == set(SCENARIO_TABLES_BY_KIND)
    assert all(d.get("additionalProperties") is False for d in found["$defs"].values())
    json.dumps(found)


def test_shipped_scenarios_have_titles():
    assert set(scenario_titles()) == set(scenarios())
    assert all(
        title and kind in SCENARIO_TABLES_BY_KIND for kind, title in scenario_titles().values()
    )


def test_a_scenario_is_read_once(mine, monkeypatch):
    """Each table is validated once, the vehicle is drawn by one compile, the ground built once."""
    from draisine.scenario.terrain import PlaneGround
    from draisine.scenario.validate import vehicle

    counted = {"compile": 0, "ground": 0}

    def counting(name, function):
        def call(*given, **more):
            counted[name] += 1
            return function(*given, **more)

        return call

    monkeypatch.setattr(vehicle, "compile", counting("compile", vehicle.compile))
    monkeypatch.setattr(PlaneGround, "terrain", counting("ground", PlaneGround.terrain))
    place = "place = { wheel = 'rear', centre = [0.0, 0.0], on = 'ground' }\n"
    path = Path(mine("[terrain]\nshape = 'plane'\n"))
    path.write_text(path.read_text().replace("[run]", place + "[run]"))
    result = run(load(str(path)))
    assert result.outcome == "completed"
    assert counted == {"compile": 1, "ground": 1}


def test_a_copy_has_no_expected_values_except_measured_ones():
    for name in scenarios():
        shipped = Path(draisine.__file__).parent / "scenarios" / f"{name}.toml"
        content = tomllib.loads(shipped.read_text(encoding="utf-8"))
        blocks = content.pop("expected", [])
        if measured := [one for one in blocks if one["origin"] == "measured"]:
            content["expected"] = measured
        assert tomllib.loads(read_template(name)) == content


def test_constant_inputs_are_a_table():
    """The same motion as by steps that last; in a list of one the number may be left out."""
    signal = {"shape": "step", "input": "steer", "value": 0.5}
    ends = []
    for given in ({"inputs": [signal]}, {"inputs.steer": 0.5}, {"inputs": {"steer": 0.5}}):
        loaded = load("passive-stabilisation", {"run.until": 0.5} | given)
        ends.append(run(loaded).data["steer"].values[-1])
    assert ends[0] == ends[1] == ends[2] != 0.0
    changed = override({"inputs": [signal]}, {"inputs.value": 1.0})
    assert changed["inputs"] == [signal | {"value": 1.0}]
    with pytest.raises(
        DataError,
        match=r"'value' does not exist in this scenario; the list has 2 entries, from \[0\] on",
    ):
        override({"inputs": [signal, signal]}, {"inputs.value": 1.0})
