"""Recordings in CSV files: columns by name, converted to SI units, compared with runs."""

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


def test_saved_columns_are_loaded_to_the_bit(here, ridden):
    data = ridden.to_xarray()
    draisine.save(data, "run.csv")
    again = draisine.load("run.csv")
    for name in ("lean", "steer_rate", "forward_speed", "energy"):
        assert (again[name].values == data[name].values).all()
        assert again[name].attrs["units"] == data[name].attrs["units"]
    forces = data.contact_force.sel(contact="rear", direction="normal")
    assert (again["contact_force[rear, normal]"].values == forces.values).all()
    assert all(entry.largest == 0.0 for entry in differences(compare(ridden, "run.csv")))


def test_a_machine_without_joints_is_saved_as_csv(here):
    disc = draisine.compile("rolling_disc")
    run = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.1)
    draisine.save(run, "disc.csv")
    again = draisine.load("disc.csv")
    assert (again["forward_speed"].values == run.to_xarray()["forward_speed"].values).all()


def test_columns_are_converted_to_si_units(here):
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
    ("text", "message"),
    [
        ("", "mine.csv: the file is empty"),
        ("t,lean\n0,1\n1,2\n", "no column named time. Its columns: t, lean"),
        ("time,lean\n0,1\n", "at least two"),
        ("time,lean\n1,1\n0,2\n", "finite, increasing"),
        ("time,lean,lean\n0,1,1\n1,2,2\n", "same name"),
        ("time\n0\n1\n", "no column of numbers besides time"),
        (b"\xff\xfe\x00", "not a text file"),
    ],
)
def test_invalid_recordings_are_refused(here, text, message):
    (here / "mine.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=message):
        draisine.load("mine.csv")


def test_a_column_of_texts_is_ignored_with_a_warning(here):
    (here / "mine.csv").write_text("time,lean,note\n0,0.1,pushed\n1,0.2,\n")
    with pytest.warns(UserWarning, match="'note' has no numbers and is ignored"):
        assert list(draisine.load("mine.csv").data_vars) == ["lean"]


def test_a_table_without_units_has_those_of_the_run(ridden):
    """A pandas table has no units; series whose units differ are not compared."""
    data = ridden.to_xarray()
    frame = data[["steer", "lean_rate"]].to_dataframe()
    entries = differences(compare(ridden, frame))
    assert {entry.name: (entry.unit, entry.largest) for entry in entries} == {
        "steer": ("rad", 0.0),
        "lean_rate": ("rad/s", 0.0),
    }
    other = data[["steer"]].map(np.degrees).assign()
    other["steer"].attrs["units"] = "deg"
    with pytest.raises(
        ParameterError, match="steer has unit rad in the first run and deg in the second"
    ):
        compare(data, other)
    other["lean"] = data["lean"]
    with pytest.warns(UserWarning, match="Not compared: steer has unit rad"):
        assert list(compare(data, other).data_vars) == ["lean"]
    with pytest.raises(ParameterError, match=r"no quantity in common: one has .*, the other brake"):
        compare(data, data[["lean"]].rename(lean="brake"))


def test_a_run_with_few_shared_times_is_interpolated(ridden):
    """Samples every 0.03 s share a third of their times with samples every 0.05 s."""
    data = ridden.to_xarray()
    fine = data.isel(time=slice(0, None, 3))
    coarse = data.isel(time=slice(0, None, 5))
    both = compare(coarse, fine)
    assert both.attrs["interpolated"] == 1 and both.sizes["time"] == 10
    assert compare(data, coarse).sizes["time"] == 11


def test_a_recording_is_compared_and_drawn(here, ridden, capsys):
    """The figure has the columns of the file, or the selected ones."""
    from matplotlib.figure import Figure

    data = ridden.to_xarray()
    draisine.save(data, "run.nc")
    write("mine.csv", "time,steer,lean_rate", data.time, data.steer + 0.01, data.lean_rate)
    figures = []
    savefig = Figure.savefig
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Figure, "savefig", lambda self, *x, **y: (figures.append(self), savefig(self, *x, **y))
        )
        assert main(["compare", "run.nc", "mine.csv"]) == 0
        assert main(["compare", "run.nc", "mine.csv", "--series", "lean_rate"]) == 0
        assert main(["plot", "mine.csv"]) == 0
        assert main(["plot", "mine.csv", "rate.png", "--series", "lean_rate"]) == 0
    labels = [[axes.get_ylabel().split("\n")[0] for axes in figure.axes] for figure in figures]
    assert labels[0] == ["steer", "difference", "lean rate", "difference"]
    assert labels[1] == ["lean rate", "difference"]
    assert labels[2:] == [["steer (deg)"], ["lean rate (deg/s)"]]
    assert main(["plot", "mine.csv", "other.png", "--series", "roll_rate"]) == 2
    assert "column 'roll_rate'. Did you mean 'lean_rate'?" in capsys.readouterr().err
