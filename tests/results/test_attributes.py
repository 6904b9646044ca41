"""Damaged attributes and variables of results raise a `DataError` that names them."""

import contextlib

import pytest

import draisine
from draisine.errors import DataError, DraisineError
from draisine.results.attributes import read_list_attribute, read_table_attribute
from draisine.results.events import read_events
from draisine.results.store import load, save
from draisine.scenario.library import load as load_scenario
from draisine.scenario.terrain import restore_terrain

JUNK = ["", "{", "[]", "3", "null", '{"a":1}', '{"content": 3}', '[{"time": "a"}]', "9" * 400]
JUNK += ['{"name": 3, "content": {"kind": 3}}', '{"radius": 1e400}', "x" * 5000]
NAMES = ["scenario", "parameters", "structure", "vehicle", "mode", "events", "motions", "title"]


@pytest.fixture(scope="module")
def data():
    disc = draisine.compile("rolling_disc")
    run = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.05)
    return run.to_xarray()


@pytest.mark.parametrize("name", NAMES)
def test_damaged_attributes_raise_package_errors(data, name, tmp_path):
    for text in JUNK:
        damaged = data.copy()
        damaged.attrs = data.attrs | {name: text}
        save(damaged, tmp_path / "a.nc")
        loaded = load(tmp_path / "a.nc")
        for read in (read_events, restore_terrain, draisine.plot):
            with contextlib.suppress(DraisineError):
                read(loaded)
        with pytest.raises(DraisineError):  # none of these texts is a valid scenario
            load_scenario(str(tmp_path / "a.nc"))


def test_errors_name_the_damaged_attribute(data):
    damaged = data.copy()
    damaged.attrs = {"events": "3", "motions": "{"}
    with pytest.raises(DataError, match="'events' is damaged: it is not a list"):
        read_list_attribute(damaged, "events")
    with pytest.raises(DataError, match="'motions' is damaged: Expecting property name"):
        read_table_attribute(damaged, "motions")
    assert read_table_attribute(damaged, "structure") == {}


@pytest.mark.parametrize("name", ["orientation", "position", "energy"])
def test_figures_name_a_missing_variable(data, name):
    with pytest.raises(DataError, match=f"[Nn]o variable named '{name}'"):
        draisine.plot(data.drop_vars(name), "overview")


@pytest.mark.parametrize("name", ["shape", "speeds", "accelerations", "contact_point", "gap"])
def test_replays_name_a_missing_variable(data, name, tmp_path):
    with pytest.raises(DataError, match=f"[Nn]o variable named '{name}'"):
        draisine.animate(data.drop_vars(name), tmp_path / "a.html")


def test_replays_name_a_missing_contact(data, tmp_path):
    with pytest.raises(DataError, match="no contact '"):
        draisine.animate(data.assign_coords(contact=["x"]), tmp_path / "a.html")


def test_figures_with_excessive_values_are_refused(data, tmp_path, monkeypatch):
    def overflow(*_, **__):
        raise OverflowError("Exceeded cell block limit in Agg")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", overflow)
    with pytest.raises(DataError, match="too large to draw"):
        draisine.plot(data, "overview", tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_replays_refuse_times_that_are_not_finite(data, tmp_path):
    times = data["time"].values.copy()
    times[-1] = float("nan")
    with pytest.raises(DataError, match="Sample times are not finite"):
        draisine.animate(data.assign_coords(time=times), tmp_path / "a.html")


def test_figures_refuse_a_result_without_times(data):
    with pytest.raises(DataError, match="has no samples in time"):
        draisine.plot(data.isel(time=slice(0, 0)))


def test_replays_refuse_poses_that_are_not_finite(data, tmp_path):
    damaged = data.copy(deep=True)
    damaged["position"].values[3] = float("nan")
    with pytest.raises(DataError, match=r"The pose at 0\.03 s is not finite"):
        draisine.animate(damaged, tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


def test_a_variable_without_description_is_refused(data, tmp_path):
    """Zarr ignores a folder without .zarray: the result would load without `energy`."""
    save(data, tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "energy" / ".zarray").unlink()
    with pytest.raises(DataError, match=r"energy is damaged: \.zarray is missing"):
        load(tmp_path / "a.zarr")
