"""Loading, plotting and repeating a result never executes code that only the result names."""

import inspect
import json
import re
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest
import xarray

import draisine
from draisine.cli import main
from draisine.errors import DataError
from draisine.model import Body, Model, Prismatic
from draisine.registry import names
from draisine.results.bodies import restore_system
from draisine.results.store import load, save
from draisine.scenario.library import load as load_scenario
from draisine.simulation.dataset import maker_attributes
from draisine.system.artifacts import RecentCache

SLEDGE = """
from pathlib import Path
from draisine.model import Body, Model

Path(__file__).with_name("ran").touch()


def sledge(*, m: float = 2.0) -> Model:
    return Model([Body("sledge", m)], base="translations")
"""


def draisine_in(folder, *arguments):
    """Return the completed process of a command line in a folder."""
    start = "import sys; from draisine.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", start, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def stored(tmp_path):
    """A result of a vehicle in a user's file, computed by another process."""
    (tmp_path / "sledge.py").write_text(SLEDGE)
    (tmp_path / "throw.toml").write_text(
        "kind = 'run'\ntitle = 'a throw'\nvehicle.name = 'sledge.py'\nrun.until = 0.1\n"
    )
    completed = draisine_in(tmp_path, "run", "throw.toml", "--out", "throw.nc")
    assert completed.returncode == 0, completed.stderr
    (tmp_path / "ran").unlink()
    return tmp_path / "throw.nc"


def test_untrusted_results_execute_no_code(stored, capsys):
    ran = stored.with_name("ran")
    data = load(stored)
    assert data["time"].size == 11
    with pytest.raises(DataError, match=r"refers to the Python object .*sledge\.py.*--trust"):
        load_scenario(str(stored))
    with pytest.raises(DataError, match=r"refers to the Python object .*sledge\.py"):
        restore_system(data)
    refused = draisine_in(stored.parent, "run", str(stored))
    assert refused.returncode == 2
    assert "refers to the Python object" in refused.stderr
    for command in ("run", "plot", "animate"):
        assert main([command, str(stored)]) == 2
        assert "refers to the Python object" in capsys.readouterr().err
    assert not ran.exists()
    assert restore_system(load(stored, trust=True)).parameters == {"m": 2.0}
    assert ran.exists()


def test_curves_of_stored_numbers_need_no_trust(stored, capsys):
    assert main(["plot", str(stored), "--series", "kinetic_energy,energy"]) == 0
    assert "figure: " in capsys.readouterr().out
    assert main(["plot", str(stored), "--figure", "energies"]) == 0
    assert main(["plot", str(stored)]) == 2
    assert "`draisine plot FILE --series NAME`" in capsys.readouterr().err
    assert not stored.with_name("ran").exists()


def test_a_vehicle_compiled_in_this_process_is_trusted(tmp_path):
    (tmp_path / "sledge.py").write_text(SLEDGE)
    system = draisine.compile(str(tmp_path / "sledge.py"))
    data = draisine.simulate(system, draisine.state(system), 0.1).to_xarray()
    assert "vehicle_path" in data.attrs
    assert restore_system(data).parameters == {"m": 2.0}


@pytest.mark.parametrize("where", ["os:system", "subprocess:getoutput", "shutil:rmtree"])
def test_functions_of_loaded_modules_are_not_executed(where, tmp_path, capsys):
    """A result that names a function of the standard library as its vehicle is refused."""
    module, _, name = where.partition(":")
    ran = tmp_path / "ran"
    disc = draisine.compile("rolling_disc")
    data = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.05).to_xarray()
    arguments = {"command": f"touch {ran}", "cmd": f"touch {ran}", "encoding": None, "errors": None}
    accepted = inspect.signature(getattr(sys.modules[module], name)).parameters
    data.attrs |= {
        "vehicle_path": f"{sys.modules[module].__file__}:{name}",
        "parameters": "{}",
        "structure": json.dumps(
            {key: value for key, value in arguments.items() if key in accepted}
        ),
    }
    save(data, tmp_path / "a.nc")
    for command in ("plot", "animate"):
        assert main([command, str(tmp_path / "a.nc")]) == 2
        assert f"refers to the Python object {name} in " in capsys.readouterr().err
    assert not ran.exists()


def test_another_name_in_a_trusted_file_is_not_trusted(tmp_path):
    (tmp_path / "sledge.py").write_text(SLEDGE)
    system = draisine.compile(str(tmp_path / "sledge.py"))
    data = draisine.simulate(system, draisine.state(system), 0.1).to_xarray()
    data.attrs["vehicle_path"] = data.attrs["vehicle_path"].replace(":sledge", ":Path")
    with pytest.raises(DataError, match="refers to the Python object Path in "):
        restore_system(data)


def test_a_vehicle_of_another_process_is_not_replaced_by_its_name(tmp_path):
    """The package's disc may be a different machine than that process's function of the same name."""
    text = "def rolling_disc(*, m: float = 1.0):\n    return Model([Body('x', m)], base='translations')"
    scope = {"__name__": "__main__", "Model": draisine.Model, "Body": draisine.Body}
    exec(text, scope)
    system = draisine.compile(scope["rolling_disc"])
    data = draisine.simulate(system, draisine.state(system), 0.05).to_xarray()
    assert restore_system(data) is system
    data.attrs |= {"vehicle_here": "another", "parameters": "{}"}
    with pytest.raises(DataError, match="'rolling_disc' was defined in another process"):
        restore_system(data)


@pytest.fixture
def zarr(tmp_path):
    data = xarray.Dataset({"x": ("time", np.full(4, np.nan))}, {"time": np.arange(4.0)})
    save(data, tmp_path / "x.zarr")
    assert load(tmp_path / "x.zarr").equals(data)
    return tmp_path / "x.zarr"


def test_a_missing_chunk_is_an_error(zarr):
    next(p for p in (zarr / "x").iterdir() if not p.name.startswith(".")).unlink()
    with pytest.raises(DataError, match="x is damaged: chunk 0 is missing"):
        load(zarr)


def test_a_codec_that_executes_code_is_refused(zarr):
    described = json.loads((zarr / "x" / ".zarray").read_text())
    (zarr / "x" / ".zarray").write_text(json.dumps(described | {"filters": [{"id": "pickle"}]}))
    with pytest.raises(DataError, match="codec 'pickle'"):
        load(zarr)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": [-4]}, "has an invalid shape"),
        ({"shape": [10**12], "chunks": [1]}, "claims 1000000000000 chunks"),
    ],
)
def test_impossible_sizes_are_refused(zarr, change, message):
    described = json.loads((zarr / "x" / ".zarray").read_text())
    (zarr / "x" / ".zarray").write_text(json.dumps(described | change))
    with pytest.raises(DataError, match=message):
        load(zarr)


def test_names_are_escaped_in_the_page():
    """Templates escape all texts with `plain`, except numbers and our colours."""
    page = files("draisine.view").joinpath("replay.html").read_text(encoding="utf-8")
    for template in re.findall(r"innerHTML = ([^;]*);", page):
        for inside in re.findall(r"\$\{([^}]*)\}", template):
            assert inside.startswith("plain(") or re.fullmatch(
                r"\w\.colour|s|s === .* selected.*", inside
            ), inside


STRUCTURE_ARGUMENTS = {
    "car_with_trailers": {"lengths": (1.0, 0.9, 0.8)},
    "chain": {"links": np.int64(3)},
    "whipple": {"flexible": {"steer_damper": 1.5}},
}
"""Arguments that are not plain numbers, by vehicle."""


def content(system):
    """Return the names of all elements of a machine, and its parameters."""
    model = system.model
    elements = (model.bodies, model.joints, model.contacts, model.couplings)
    return [[element.name for element in kind] for kind in elements], system.parameters


@pytest.mark.parametrize("name", names("vehicle"))
def test_the_restored_machine_equals_the_simulated_one(name):
    for arguments in ({}, STRUCTURE_ARGUMENTS.get(name, {})):
        system = draisine.compile(name, **arguments)
        again = restore_system(xarray.Dataset(attrs=maker_attributes(system)))
        assert content(again) == content(system)
        stored = {n for n, value in system.structure.items() if not callable(value)}
        assert stored <= {n for n, value in system.structure.items() if again.structure[n] == value}


def test_lists_of_files_become_tuples_of_vehicles():
    assert draisine.compile("car_with_trailers", lengths=[1.0, 0.9]).structure["lengths"] == (
        1,
        0.9,
    )


def test_an_argument_that_cannot_be_stored_is_an_error(monkeypatch):
    def swarm(*, places=frozenset({1.0, 2.0}), m: float = 2.0):
        bodies = [Body(f"bee{k}", m, (x, 0.0, 0.0)) for k, x in enumerate(sorted(places))]
        slides = [Prismatic(f"x{k}", "bee0", b.name, (1, 0, 0)) for k, b in enumerate(bodies) if k]
        return Model(bodies, slides, base="translations")

    swarm.__module__, swarm.__qualname__ = "draisine.vehicles.swarm", "swarm"
    system = draisine.compile(swarm, places=frozenset({1.0, 2.0, 3.0}))
    data = xarray.Dataset(attrs=maker_attributes(system))
    assert content(restore_system(data)) == content(system)
    monkeypatch.setattr(
        "draisine.results.bodies.UNNAMED_SYSTEMS", RecentCache(16)
    )  # as in another process
    with pytest.raises(DataError, match="Only arguments that are numbers"):
        restore_system(data)
