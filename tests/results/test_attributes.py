"""Results whose attributes or variables are damaged: each a `DataError`, whatever is asked of them."""

import contextlib

import pytest

import draisine
from draisine.errors import DataError, DraisineError
from draisine.results.attributes import records, table
from draisine.results.events import events_of
from draisine.results.store import load, save
from draisine.scenario.library import load as load_scenario
from draisine.scenario.terrain import terrain_of

JUNK = ["", "{", "[]", "3", "null", '{"a":1}', '{"content": 3}', '[{"time": "a"}]', "9" * 400]
JUNK += ['{"name": 3, "content": {"kind": 3}}', '{"radius": 1e400}', "x" * 5000]
NAMES = ["scenario", "parameters", "structure", "vehicle", "mode", "events", "motions", "title"]


@pytest.fixture(scope="module")
def data():
    disc = draisine.compile("rolling_disc")
    run = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.05)
    return run.to_xarray()


@pytest.mark.parametrize("name", NAMES)
def test_damaged_attributes_are_told(data, name, tmp_path):
    for text in JUNK:
        one = data.copy()
        one.attrs = data.attrs | {name: text}
        save(one, tmp_path / "a.nc")
        back = load(tmp_path / "a.nc")
        for ask in (events_of, terrain_of, draisine.plot):
            with contextlib.suppress(DraisineError):
                ask(back)
        with pytest.raises(DraisineError):  # there is no right scenario among them
            load_scenario(str(tmp_path / "a.nc"))


def test_what_is_damaged_is_named(data):
    one = data.copy()
    one.attrs = {"events": "3", "motions": "{"}
    with pytest.raises(DataError, match="'events' is damaged: it is no list"):
        records(one, "events")
    with pytest.raises(DataError, match="'motions' is damaged: Expecting property name"):
        table(one, "motions")
    assert table(one, "structure") == {}


@pytest.mark.parametrize("name", ["orientation", "position", "energy"])
def test_a_result_that_is_not_whole_is_told(data, name):
    with pytest.raises(DataError, match=f"not whole: No variable named '{name}'"):
        draisine.plot(data.drop_vars(name), "overview")


@pytest.mark.parametrize("name", ["shape", "speeds", "accelerations", "contact_point", "gap"])
def test_a_motion_that_is_not_whole_is_told(data, name, tmp_path):
    with pytest.raises(DataError, match=f"not whole: No variable named '{name}'"):
        draisine.animate(data.drop_vars(name), tmp_path / "a.html")


def test_a_contact_that_is_not_there_is_told(data, tmp_path):
    with pytest.raises(DataError, match="not whole: it has no contact '"):
        draisine.animate(data.assign_coords(contact=["x"]), tmp_path / "a.html")


def test_numbers_that_cannot_be_drawn_are_told(data, tmp_path, monkeypatch):
    def overflow(*_, **__):
        raise OverflowError("Exceeded cell block limit in Agg")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", overflow)
    with pytest.raises(DataError, match="too large to draw"):
        draisine.plot(data, "overview", tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_times_that_are_no_numbers_are_told(data, tmp_path):
    times = data["time"].values.copy()
    times[-1] = float("nan")
    with pytest.raises(DataError, match="times of the result are not finite"):
        draisine.animate(data.assign_coords(time=times), tmp_path / "a.html")


def test_a_result_without_times_is_told(data):
    with pytest.raises(DataError, match="it has no times"):
        draisine.plot(data.isel(time=slice(0, 0)))


def test_poses_that_are_not_finite_are_told(data, tmp_path):
    one = data.copy(deep=True)
    one["position"].values[3] = float("nan")
    with pytest.raises(DataError, match=r"the poses at 0\.03 s are not finite"):
        draisine.animate(one, tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


def test_a_variable_that_lost_its_description_is_told(data, tmp_path):
    """It would be passed by: a result without `energy` as if there had never been one."""
    save(data, tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "energy" / ".zarray").unlink()
    with pytest.raises(DataError, match=r"energy is damaged: \.zarray is missing"):
        load(tmp_path / "a.zarr")
