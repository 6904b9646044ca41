"""Recordings come in as CSV: columns by name, in their units, beside runs."""

import numpy as np
import pytest

import draisine
from draisine.cli import main
from draisine.errors import DataError, ParameterError
from draisine.results.comparison import compare, differences


@pytest.fixture(scope="module")
def ridden():
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    return draisine.simulate(bicycle, start, 0.5)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path, heading, *columns):
    np.savetxt(path, np.transpose(columns), "%.17g", ",", header=heading, comments="")


def test_what_we_write_is_read_back_to_the_bit(here, ridden):
    data = ridden.to_xarray()
    draisine.save(data, "run.csv")
    again = draisine.load("run.csv")
    for name in ("lean", "steer_rate", "forward_speed", "energy"):
        assert (again[name].values == data[name].values).all()
        assert again[name].attrs["units"] == data[name].attrs["units"]
    forces = data.contact_force.sel(contact="rear", direction="normal")
    assert (again["contact_force[rear, normal]"].values == forces.values).all()
    assert all(one.largest == 0.0 for one in differences(compare(ridden, "run.csv")))


def test_a_machine_without_joints_is_written_as_columns_too(here):
    disc = draisine.compile("rolling_disc")
    run = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.1)
    draisine.save(run, "disc.csv")
    again = draisine.load("disc.csv")
    assert (again["forward_speed"].values == run.to_xarray()["forward_speed"].values).all()


def test_units_are_those_told_or_the_quantity_s_own(here):
    (here / "mine.csv").write_text(
        "\ufeff# a gyroscope\ntime (ms); lean_rate (deg/s); steer; hand_brake; speed (km/h)\n"
        "0;180;0.1;1;36\n10;;0.2;1;18\n"
    )
    data = draisine.load("mine.csv")
    assert data.time.values.tolist() == [0.0, 0.01]
    assert data.lean_rate.values[0] == pytest.approx(np.pi) and np.isnan(data.lean_rate.values[1])
    assert [data[n].attrs["units"] for n in data.data_vars] == ["rad/s", "rad", "", "m/s"]
    assert data.speed.values.tolist() == [10.0, 5.0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "mine.csv: is empty"),
        ("t,lean\n0,1\n1,2\n", "no column is called time; it has t, lean"),
        ("time,lean\n0,1\n", "two at least"),
        ("time,lean\n1,1\n0,2\n", "times are no numbers that rise"),
        ("time,lean,lean\n0,1,1\n1,2,2\n", "same name"),
        ("time\n0\n1\n", "no column of numbers beside time"),
        (b"\xff\xfe\x00", "not a text file"),
    ],
)
def test_what_is_no_recording_is_told(here, text, told):
    (here / "mine.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=told):
        draisine.load("mine.csv")


def test_a_column_of_words_is_left_out_and_told(here):
    (here / "mine.csv").write_text("time,lean,note\n0,0.1,pushed\n1,0.2,\n")
    with pytest.warns(UserWarning, match="'note' holds no numbers, and is left out"):
        assert list(draisine.load("mine.csv").data_vars) == ["lean"]


def test_tables_without_units_are_in_those_of_the_run(ridden):
    """A table of pandas has numbers and names; only units that differ are a reason, and told as one."""
    data = ridden.to_xarray()
    frame = data[["steer", "lean_rate"]].to_dataframe()
    found = differences(compare(ridden, frame))
    assert {one.name: (one.unit, one.largest) for one in found} == {
        "steer": ("rad", 0.0),
        "lean_rate": ("rad/s", 0.0),
    }
    other = data[["steer"]].map(np.degrees).assign()
    other["steer"].attrs["units"] = "deg"
    with pytest.raises(ParameterError, match="steer is in rad in the first, in deg in the second"):
        compare(data, other)
    other["lean"] = data["lean"]
    with pytest.warns(UserWarning, match="left out: steer is in rad"):
        assert list(compare(data, other).data_vars) == ["lean"]
    with pytest.raises(ParameterError, match=r"no quantity in common: one has .*, the other brake"):
        compare(data, data[["lean"]].rename(lean="brake"))


def test_few_shared_times_are_not_all_that_is_compared(ridden):
    """Samples every 0.03 s share one in three with others every 0.05 s: then all count, interpolated."""
    data = ridden.to_xarray()
    often, seldom = data.isel(time=slice(0, None, 3)), data.isel(time=slice(0, None, 5))
    both = compare(seldom, often)
    assert both.attrs["interpolated"] == 1 and both.sizes["time"] == 10
    assert compare(data, seldom).sizes["time"] == 11


def test_a_recording_is_compared_and_drawn(here, ridden, capsys):
    """The figure has what the table has, or what is asked for."""
    from matplotlib.figure import Figure

    data = ridden.to_xarray()
    draisine.save(data, "run.nc")
    write("mine.csv", "time,steer,lean_rate", data.time, data.steer + 0.01, data.lean_rate)
    drawn = []
    show = Figure.savefig
    with pytest.MonkeyPatch.context() as own:
        own.setattr(
            Figure, "savefig", lambda self, *x, **y: (drawn.append(self), show(self, *x, **y))
        )
        assert main(["compare", "run.nc", "mine.csv"]) == 0
        assert main(["compare", "run.nc", "mine.csv", "--series", "lean_rate"]) == 0
        assert main(["plot", "mine.csv"]) == 0
        assert main(["plot", "mine.csv", "rate.png", "--series", "lean_rate"]) == 0
    labels = [[axes.get_ylabel().split("\n")[0] for axes in figure.axes] for figure in drawn]
    assert labels[0] == ["steer", "difference", "lean rate", "difference"]
    assert labels[1] == ["lean rate", "difference"]
    assert labels[2:] == [["steer (deg)"], ["lean rate (deg/s)"]]
    assert main(["plot", "mine.csv", "other.png", "--series", "roll_rate"]) == 2
    assert "column 'roll_rate'. Did you mean 'lean_rate'?" in capsys.readouterr().err
