"""Stored results keep every attribute, have a content hash, and a recipe that repeats the run."""

import hashlib
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.eigenmodes import Eigenmodes
from draisine.analysis.equilibrium import steady
from draisine.analysis.linear import Linear
from draisine.analysis.rider.loops import nested_loops, open_loop
from draisine.analysis.rider.preview import follow_path
from draisine.analysis.root_locus import root_locus
from draisine.control import CombinedLaws, Step, TimeInputs
from draisine.control.loop_rider import LoopRider
from draisine.control.steer_into_lean import SteerIntoLean
from draisine.control.turn_pi import TurnPI
from draisine.errors import DataError
from draisine.experiment.tables.circles import solve_turn
from draisine.results.attributes import (
    STAMP_ATTRIBUTES,
    content_hash,
    find_code_commit,
    is_unchanged,
    without_stamp,
)
from draisine.results.comparison import compare
from draisine.simulation.dataset import describe
from draisine.terrain import kerb

TURN = TurnPI(10.0, 35.0, math.radians(5.0), (0.0, 5.0), 20.0, 100.0, 20.0)


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple", mB=90.0)


@pytest.fixture(scope="module")
def turned(bicycle):
    start = draisine.state(bicycle, forward_speed=6.0)
    return draisine.simulate(bicycle, start, 0.5, law=TURN, inputs={"front_wheel": 0.1})


@pytest.fixture(params=[".nc", ".zarr"])
def path(request, tmp_path):
    return tmp_path / f"result{request.param}"


def assert_same_attributes(loaded, expected):
    """Assert that values and attributes of the dataset and of each variable are equal."""
    assert {k: v for k, v in loaded.attrs.items() if k not in STAMP_ATTRIBUTES} == expected.attrs
    assert set(loaded.variables) == set(expected.variables)
    for name, variable in expected.variables.items():
        assert loaded.variables[name].attrs == variable.attrs, name
        assert loaded.variables[name].dims == variable.dims
        assert np.array_equal(
            loaded.variables[name].values, variable.values, equal_nan=variable.dtype.kind == "f"
        )


class TestRoundTrip:
    def test_of_a_run(self, turned, path):
        draisine.save(turned, path)
        loaded = draisine.load(path)
        assert_same_attributes(loaded, turned.to_xarray())
        assert is_unchanged(loaded) is True

    def test_of_a_run_on_a_terrain(self, bicycle, path):
        start = draisine.state(bicycle, forward_speed=4.0)
        run = draisine.simulate(
            bicycle, start, 0.3, terrain=kerb(2.0, 0.02), contact=draisine.ContactOptions(mu=0.8)
        )
        draisine.save(run, path)
        assert_same_attributes(draisine.load(path), run.to_xarray())

    def test_of_a_scenario(self, path):
        result = draisine.run("mauny2018/passive-stabilisation", changes={"run.until": 0.2})
        draisine.save(result, path)
        assert_same_attributes(draisine.load(path), result.data)

    def test_of_a_linear_system(self, bicycle, path):
        law = SteerIntoLean(5.0, 12.0, delay=0.1)
        turn = steady(bicycle, law=law, forward_speed=4.0)
        linear = turn.linear(cyclic=True, axes="benchmark")
        draisine.save(linear, path)
        data = draisine.load(path)
        assert_same_attributes(data, linear.to_xarray())
        again = Linear.from_xarray(data)
        for name in ("A", "B", "C", "D", "x0", "w0", "y0", "heading", "rates"):
            assert np.array_equal(getattr(again, name), getattr(linear, name)), name
        assert (again.states, again.inputs) == (linear.states, linear.inputs)
        assert again.outputs == linear.outputs
        assert again.units == linear.units
        assert json.loads(data.attrs["law"])["rate_gain"] == 12.0
        assert data.attrs["vehicle"] == "whipple"

    def test_of_eigenmodes(self, bicycle, path):
        modes = draisine.eigenvalues(bicycle, [4.0, 5.0, 6.0])
        draisine.save(modes, path)
        data = draisine.load(path)
        assert_same_attributes(data, modes.to_xarray())
        again = Eigenmodes.from_xarray(data)
        assert np.array_equal(again.values, modes.values)
        assert np.array_equal(again.vectors, modes.vectors)
        assert (again.names, again.states) == (modes.names, modes.states)

    def test_of_many_linear_systems(self, bicycle, path):
        motions = [draisine.state(bicycle, forward_speed=v) for v in (3.0, 5.0)]
        many = draisine.linearise(bicycle, motions)
        draisine.save(many, path)
        assert np.array_equal(Linear.from_xarray(draisine.load(path)).A, many.A)

    def test_of_a_root_locus(self, bicycle, path):
        law = SteerIntoLean(0.0, 8.0)
        locus = root_locus(bicycle, "lean", [0.0, 0.1], free=["steer"], law=law, forward_speed=5.0)
        locus.save(path)
        data = draisine.load(path)
        assert_same_attributes(data, locus.to_xarray())
        assert is_unchanged(data) is True
        assert json.loads(data.attrs["law"])["rate_gain"] == 8.0

    def test_of_a_sweep_in_chunks(self, tmp_path):
        """A Zarr store and a single file of the same sweep have the same hash, law and recipe."""
        changes = {"run.until": 0.1, "run.expects": []}
        kept = draisine.sweep("mauny2018/drift", tmp_path / "a.zarr", changes=changes)
        data = draisine.load(tmp_path / "a.zarr")
        assert is_unchanged(data) is True
        assert kept.data.attrs["content_sha256"] == data.attrs["content_sha256"]
        draisine.save(draisine.sweep("mauny2018/drift", changes=changes), tmp_path / "b.nc")
        again = draisine.load(tmp_path / "b.nc")
        assert again.attrs["content_sha256"] == data.attrs["content_sha256"]
        assert {"created", "draisine", "recipe", "scenario"} <= set(data.attrs)

    def test_of_two_runs_compared(self, turned, path):
        """Law and recipe of both runs are kept, and the hash of the stored run."""
        draisine.save(turned, path)
        both = compare(path, turned)
        assert both.attrs["first_recipe"] == both.attrs["second_recipe"]
        assert both.attrs["first_law"] == turned.to_xarray().attrs["law"]
        assert len(both.attrs["first_content_sha256"]) == 64

    def test_other_datasets_are_refused(self, turned):
        with pytest.raises(DataError, match="not a linear system"):
            Linear.from_xarray(turned.to_xarray())
        with pytest.raises(DataError, match="does not contain eigenmodes"):
            Eigenmodes.from_xarray(turned.to_xarray())


class TestCsv:
    """Attributes of a .csv file are in a second file that ends with -metadata.json."""

    def test_all_attributes_are_kept(self, turned, tmp_path):
        path = tmp_path / "run.csv"
        draisine.save(turned, path)
        expected = turned.to_xarray()
        content = json.loads((tmp_path / "run.csv-metadata.json").read_text())
        attributes = content["attributes"]
        assert {k: v for k, v in attributes.items() if k not in STAMP_ATTRIBUTES} == expected.attrs
        assert attributes["content_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        for name, variable in expected.variables.items():
            assert content["variables"].get(name, {}) == variable.attrs, name
        data = draisine.load(path)
        assert data.attrs["law"] == expected.attrs["law"]
        assert data.attrs["recipe"] == expected.attrs["recipe"]
        assert data["contact_force[rear, normal]"].attrs == expected["contact_force"].attrs

    def test_a_changed_file_loses_its_attributes(self, turned, tmp_path):
        path = tmp_path / "run.csv"
        draisine.save(turned, path)
        path.write_text(path.read_text() + "# edited\n")
        with pytest.warns(UserWarning, match="has changed since it was written"):
            data = draisine.load(path)
        assert "recipe" not in data.attrs

    @pytest.mark.parametrize(
        "content", ["{", '{"attributes": {}, "variables": {"lean": "rad"}}', '{"attributes": {}}']
    )
    def test_a_damaged_attribute_file_is_an_error(self, turned, tmp_path, content):
        draisine.save(turned, tmp_path / "run.csv")
        (tmp_path / "run.csv-metadata.json").write_text(content)
        with pytest.raises(DataError, match="Remove it to read"):
            draisine.load(tmp_path / "run.csv")

    def test_eigenvalues_keep_their_attributes(self, bicycle, tmp_path):
        modes = draisine.eigenvalues(bicycle, [4.0, 5.0])
        draisine.save(modes, tmp_path / "modes.csv")
        content = json.loads((tmp_path / "modes.csv-metadata.json").read_text())
        assert content["attributes"]["recipe"] == modes.made["recipe"]
        assert content["variables"]["eigenvalue_real"]["units"] == "1/s"


class TestStamp:
    def test_version_date_and_hash_are_stored(self, turned, path):
        draisine.save(turned, path)
        attrs = draisine.load(path).attrs
        assert attrs["draisine"] == draisine.__version__
        assert attrs["created"].endswith("+00:00")
        assert len(attrs["content_sha256"]) == 64
        assert attrs.get("commit", "") == find_code_commit()

    def test_the_hash_depends_on_the_content_only(self, turned, tmp_path):
        """Both formats have the same hash; a changed value or attribute changes it."""
        hashes = []
        for name in ("a.nc", "b.zarr"):
            draisine.save(turned, tmp_path / name)
            hashes.append(draisine.load(tmp_path / name).attrs["content_sha256"])
        assert hashes[0] == hashes[1] == content_hash(turned.to_xarray())
        data = draisine.load(tmp_path / "a.nc")
        data["lean"].values[3] += 1e-15
        assert is_unchanged(data) is False
        data = draisine.load(tmp_path / "a.nc")
        data.attrs["outcome"] = "perfect"
        assert is_unchanged(data) is False

    def test_a_date_is_kept_when_saved_again(self, turned, tmp_path):
        draisine.save(turned, tmp_path / "a.nc")
        data = draisine.load(tmp_path / "a.nc")
        data.attrs["created"] = "2020-01-01T00:00:00+00:00"
        draisine.save(data, tmp_path / "b.nc")
        again = draisine.load(tmp_path / "b.nc")
        assert again.attrs["created"] == "2020-01-01T00:00:00+00:00"
        assert is_unchanged(again) is True
        assert not set(STAMP_ATTRIBUTES) & set(without_stamp(again).attrs)


class TestRecipe:
    def run_again(self, data):
        space = {}
        exec(data.attrs["recipe"], space)
        return space["run"].to_xarray()

    def test_the_recipe_repeats_the_run_to_the_bit(self, turned, path):
        draisine.save(turned, path)
        data = draisine.load(path)
        again = self.run_again(data)
        assert np.array_equal(again.speeds.values, data.speeds.values)
        assert again.attrs == turned.to_xarray().attrs

    def test_of_a_rider_on_tyres(self):
        tyre = {"name": "load_tyre", "parameter_set": "city_bicycle"}
        machine = draisine.compile("whipple", rear_tyre=tyre, front_tyre=tyre)
        law = CombinedLaws(
            (
                follow_path(machine, 0.02, 5.0, delay=0.2),
                TimeInputs((Step("rear_wheel", 1.0, 0.1, 0.2),)),
            )
        )
        start = draisine.state(machine, forward_speed=5.0, y=0.1)
        numerics = draisine.Numerics(integrator="rk4", dt=0.005)
        run = draisine.simulate(machine, start, 0.3, law=law, numerics=numerics)
        data = run.to_xarray()
        assert np.array_equal(self.run_again(data).speeds.values, data.speeds.values)
        gains = json.loads(data.attrs["law"])["laws"][0]["gains"]
        assert_allclose(gains, law.laws[0].gains, rtol=0)

    def test_on_a_terrain(self, bicycle):
        start = draisine.state(bicycle, forward_speed=4.0)
        contact = draisine.ContactOptions(mu={"rear": 0.8, "front": 0.7})
        data = draisine.simulate(
            bicycle, start, 0.3, terrain=kerb(2.0, 0.02), contact=contact
        ).to_xarray()
        assert_allclose(self.run_again(data).speeds.values, data.speeds.values, rtol=0)

    def test_of_linear_systems(self, bicycle, turned):
        """Selected states, along a run, about a braking motion, and loops."""
        start = draisine.state(bicycle, forward_speed=5.0)
        law = SteerIntoLean(0.0, 12.0, delay=0.1)
        braking = steady(
            bicycle, free=["rear_wheel"], lean=0.0, forward_speed=5.0, forward_acceleration=-1.0
        )
        ridden = steady(bicycle, law=law, forward_speed=5.0)
        rider = LoopRider(46.5457, -0.0522, 12.6611, 0.1849)
        for found, name in (
            (
                draisine.linearise(bicycle, start, law=law, axes="benchmark").part(["steer"]),
                "linear",
            ),
            (draisine.linearise(bicycle, [start, start], cyclic=True)[1], "linear"),
            (draisine.linearise(turned), "linear"),
            (braking.linear(form="frozen"), "linear"),
            (braking.linear(form="dalembert"), "linear"),
            (open_loop(ridden), "loop"),
            (nested_loops(bicycle, rider, 5.0)["lean"], "linear"),
        ):
            space = {}
            exec(found.made["recipe"], space)
            again = space[name]
            assert again.states == found.states
            scale = np.abs(found.A).max()
            assert_allclose(again.A, found.A, atol=1e-10 * scale)
            assert_allclose(again.B, found.B, atol=1e-10 * (1.0 + np.abs(found.B).max()))
            assert again.made["parameters"] == found.made["parameters"]
            assert again.made.get("law") == found.made.get("law")

    def test_of_eigenvalues_and_loci(self, bicycle):
        modes = draisine.eigenvalues(bicycle, [4.0, 5.0], law=SteerIntoLean(0.0, 8.0))
        locus = root_locus(bicycle, "steer_torque", [0.0, 0.1], lean=0.1)
        space = {}
        exec(modes.made["recipe"], space)
        exec(locus.made["recipe"], space)
        assert np.array_equal(space["modes"].values, modes.values)
        assert dict(space["modes"].made) == dict(modes.made)
        assert np.array_equal(space["locus"].eigenvalues, locus.eigenvalues)

    def test_of_tables_and_scenarios(self):
        table = solve_turn("whipple", {"mB": 90.0}, speed=5.0, radius=20.0)
        result = draisine.run("meijaard2007/eigenvalues")
        space = {}
        exec(table.attrs["recipe"], space)
        exec(result.data.attrs["recipe"], space)
        assert np.array_equal(space["data"].steer_torque, table.steer_torque)
        assert np.array_equal(space["result"].data.eigenvalue_real, result.data.eigenvalue_real)

    def test_the_recipe_names_functions_that_it_cannot_contain(self, bicycle):
        def push(readings, z):
            return {"steer": 0.1 * readings.lean}, ()

        start = draisine.state(bicycle, forward_speed=5.0)
        data = draisine.simulate(bicycle, start, 0.1, law=push).to_xarray()
        recipe = data.attrs["recipe"]
        assert "# Define law_1 before you run this: def push(readings, z):" in recipe
        assert "law = law_1" in recipe
        assert "0.1 * readings.lean" in json.loads(data.attrs["law"])["source"]

    def test_equal_laws_have_equal_digests(self, bicycle, turned):
        start = draisine.state(bicycle, forward_speed=6.0)
        digests = []
        for law in (replace(TURN), replace(TURN, steer_gain=11.0)):
            run = draisine.simulate(bicycle, start, 0.1, law=law)
            digests.append(run.to_xarray().attrs["law_digest"])
        assert digests[0] == turned.to_xarray().attrs["law_digest"] != digests[1]


def test_all_public_attributes_of_a_law_are_described():
    class Odd:
        def __init__(self):
            self.gain = np.float64(2.0)
            self._hidden = 1

        def __call__(self, readings, z):
            return {}, ()

    assert describe(Odd())["gain"] == 2.0
    assert "_hidden" not in describe(Odd())
    assert describe(math.inf) == "inf"
    assert describe({"a": np.arange(2.0)}) == {"a": [0.0, 1.0]}


def test_accelerations_of_angles_are_derivatives_of_their_rates():
    """Finite differences of the rates, in a motion that turns, leans and pitches."""
    machine = draisine.compile("whipple")
    start = draisine.state(machine, forward_speed=4.6, lean_rate=0.8, lean=0.1, steer=-0.05)
    numerics = draisine.Numerics(dt=0.002, rtol=1e-12, atol=1e-13)
    data = draisine.simulate(machine, start, 0.8, numerics=numerics).to_xarray()
    h = 0.002
    for name in ("yaw", "lean", "pitch", "steer", "rear_wheel"):
        x = data[f"{name}_rate"].values
        # Central differences of sixth order.
        slope = (45.0 * (x[4:-2] - x[2:-4]) - 9.0 * (x[5:-1] - x[1:-5]) + (x[6:] - x[:-6])) / (
            60.0 * h
        )
        acceleration = data[f"{name}_acceleration"]
        assert acceleration.attrs["units"] == "rad/s2"
        assert_allclose(acceleration.values[3:-3], slope, atol=1e-6 * (1.0 + np.abs(slope).max()))
