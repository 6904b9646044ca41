"""The files that the how-to pages show as plug-ins do what they say, from wherever they are: as files,
as objects, and by the names that an installed package gives them.
"""

import re
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import registry
from draisine.cli import main
from draisine.errors import DataError, UnknownNameError
from draisine.model import Model
from draisine.registry import find, names
from draisine.scenario.library import load
from draisine.terrain import plane

HOWTO = Path(__file__).parents[2] / "docs" / "howto"
FILES = {
    **{"vehicle": "pendulum", "integrator": "heun", "impact": "smooth", "law": "cruise"},
    **{"formulation": "unconstrained", "target": "listing", "figure": "turns"},
    "command": "energy",
    "force": "linear_drag",
    "sensor": "inclinometer",
}


@pytest.fixture
def by_file():
    """The plug-ins of the pages as files."""
    return {kind: str(HOWTO / f"{name}.py") for kind, name in FILES.items()}


@pytest.fixture
def by_name(tmp_path, monkeypatch):
    """The plug-ins of the pages by name, from the package that the page on packages describes."""
    page = (HOWTO / "package.md").read_text()
    project = tomllib.loads(re.search(r"```toml\n(.*?)```", page, re.S).group(1))["project"]
    site = tmp_path / "site"
    shutil.copytree(HOWTO, site / project["name"], ignore=shutil.ignore_patterns("*.md"))
    information = site / f"{project['name']}-{project['version']}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (information / "entry_points.txt").write_text("\n".join(groups))
    monkeypatch.syspath_prepend(site)
    registry.external_plugins.cache_clear()
    registry.all_entry_points.cache_clear()
    yield FILES
    registry.external_plugins.cache_clear()
    registry.all_entry_points.cache_clear()


@pytest.fixture(params=["by_file", "by_name"])
def plugins(request):
    return request.getfixturevalue(request.param)


def test_every_kind_can_be_plugged_in():
    assert set(FILES) | {"printer"} == set(registry.FOLDERS)


def test_plugs_of_a_package_are_listed_with_shipped_ones(by_name, capsys):
    for kind, name in by_name.items():
        assert name in names(kind)
    assert main(["list", "vehicles"]) == 0
    assert re.search(r"pendulum +A mathematical pendulum", capsys.readouterr().out)
    assert main(["--help"]) == 0
    assert "energy" in capsys.readouterr().out


def test_vehicle(plugins):
    pendulum = draisine.compile(plugins["vehicle"], length=2.0)
    (growth,), _ = pendulum.accelerate(draisine.state(pendulum, hinge=np.pi / 6))
    assert growth == pytest.approx(-9.81 / 2.0 * 0.5, abs=1e-12)


def test_force(plugins):
    """A pendulum in syrup: r'' = -g/l sin r - c/m r'."""
    pendulum, drag = find("vehicle", plugins["vehicle"]), find("force", plugins["force"])

    def dragged(*, length: float = 2.0, mass: float = 3.0) -> Model:
        return replace(pendulum(length=length, mass=mass), forces=[drag("bob", 0.6)])

    system = draisine.compile(dragged)
    (growth,), _ = system.accelerate(draisine.state(system, hinge=0.4, hinge_rate=1.5))
    wanted = -9.81 / 2.0 * np.sin(0.4) - 0.6 / 3.0 * 1.5
    assert growth == pytest.approx(wanted, abs=1e-12)


def test_sensor(plugins):
    """At rest the specific force is vertical; a bob that swings freely feels it along the rod."""
    system = draisine.compile(plugins["vehicle"])
    tilt = find("sensor", plugins["sensor"])("tilt", "bob")
    swing = system.with_sensors(tilt)
    start = draisine.state(swing, hinge=0.4)
    mass, length = swing.parameters["mass"], swing.parameters["length"]
    holding = {"hinge": mass * 9.81 * length * np.sin(0.4)}
    assert draisine.Stepper(swing, start, inputs=holding).values()["tilt"] == pytest.approx(0.4)
    assert draisine.Stepper(swing, start).values()["tilt"] == pytest.approx(0.0, abs=1e-12)


def test_integrator_has_its_order(plugins):
    disc = draisine.compile("rolling_disc")
    start = draisine.state(disc, lean=0.2, forward_speed=2.0, yaw_rate=0.5)
    fine = draisine.Numerics(rtol=1e-12, atol=1e-12)
    best = draisine.simulate(disc, start, until=0.5, numerics=fine).final().v
    errors, gaps = [], []
    for dt in (0.01, 0.005):
        numerics = draisine.Numerics(integrator=plugins["integrator"], dt=dt)
        run = draisine.simulate(disc, start, until=0.5, numerics=numerics)
        errors.append(np.abs(run.final().v - best).max())
        gaps.append(float(np.abs(run.to_xarray().gap).max()))
    # one Newton step of the projection leaves the square of what a step of the method drifts
    assert gaps[0] < 1e-13
    assert gaps[1] < 1e-15
    assert errors[0] < 1e-2
    assert (
        abs(np.log2(errors[0] / errors[1]) - find("integrator", plugins["integrator"]).ORDER) < 0.3
    )


def test_an_integrator_object_is_stored_by_its_name(by_file):
    heun = find("integrator", by_file["integrator"])
    disc = draisine.compile("rolling_disc")
    run = draisine.simulate(
        disc,
        draisine.state(disc, forward_speed=2.0),
        0.1,
        numerics=draisine.Numerics(integrator=heun),
    )
    assert run.to_xarray().attrs["integrator"] == "heun"


def test_impact_model_without_friction(plugins):
    """A bicycle dropped from 0.2 m bounces by its restitution, and nothing brakes it."""
    bicycle = draisine.compile("whipple")
    open_wheels = {"rear": "open", "front": "open"}
    start = draisine.state(bicycle, mode=open_wheels, z=0.2, forward_speed=3.0)
    contact = draisine.ContactOptions(mu=0.0, impact=plugins["impact"], restitution={"normal": 0.4})
    run = draisine.simulate(bicycle, start, 0.25, terrain=plane(), contact=contact)
    event = run.events[0]
    assert event.t == pytest.approx(np.sqrt(2 * 0.2 / 9.81), abs=1e-9)
    assert event.gain == pytest.approx(-(1 - 0.4**2) * 94.0 * 9.81 * 0.2, rel=1e-9)
    assert run.final().v[0] == pytest.approx(3.0, abs=1e-9)


def test_law_in_a_scenario(plugins, tmp_path):
    file = tmp_path / "cruise.toml"
    file.write_text(
        "kind = 'run'\ntitle = 'cruise'\nvehicle.name = 'whipple'\ninitial.forward_speed = 4.5\n"
        f"run.until = 20.0\n[[law]]\nname = {plugins['law']!r}\nrate = 18.0\n"
    )
    from draisine.experiment.run import run

    speed = run(load(str(file))).data["rear_wheel_speed"].values
    assert speed[-1] == pytest.approx(18.0 * 0.3, abs=5e-3)


def test_a_law_beside_its_scenario(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    shutil.copy(HOWTO / "cruise.py", tmp_path / "mine")
    text = "kind = 'run'\ntitle = 'x'\nvehicle.name = 'whipple'\nrun.until = 1.0\n[[law]]\n"
    (tmp_path / "mine" / "a.toml").write_text(text + "name = 'cruise.py'\nrate = 18.0\n")
    (tmp_path / "mine" / "b.toml").write_text(text + "name = 'cruise.py'\nspeed = 18.0\n")
    monkeypatch.chdir(tmp_path)
    assert load("mine/a.toml").scenario.law[0]["rate"] == 18.0
    with pytest.raises(DataError, match=r"law\[0\]\.speed = 18.0: is unknown"):
        load("mine/b.toml")


def test_formulation(plugins):
    chain = draisine.compile("chain")
    state = draisine.state(chain, hinge1=0.3)
    vdot, _ = chain.accelerate(state, formulation=plugins["formulation"])
    # In free fall the angular accelerations are differences of terms as large as gravity over a length
    assert_allclose(vdot, chain.accelerate(state)[0], atol=1e-11)


def test_target(plugins, capsys):
    assert main(["equations", "chain", "--as", plugins["target"], "--program", "frame"]) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert re.match(r"0: (input|const) ", first)
    assert re.fullmatch(r"\w+ = \[[\d, ]+\]", last)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A run of half a second in a file."""
    path = tmp_path_factory.mktemp("stored") / "run.nc"
    scenario = "mauny2018/passive-stabilisation"
    assert main(["run", scenario, "--until", "0.5", "--out", str(path)]) == 0
    return path


def test_figure(plugins, stored, tmp_path):
    out = tmp_path / "turns.svg"
    assert main(["plot", str(stored), "--figure", plugins["figure"], "--out", str(out)]) == 0
    assert "<svg" in out.read_text()


def test_command(plugins, stored, capsys):
    capsys.readouterr()
    assert main([plugins["command"], str(stored)]) == 0
    assert re.match(r"1837\.\d+ J at the start, [-+]\d.\de-\d\d J since", capsys.readouterr().out)


def test_wrong_files_are_reported(tmp_path):
    with pytest.raises(UnknownNameError, match=r"the file 'gone\.py' does not exist"):
        find("law", "gone.py")
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(UnknownNameError, match="does not define 'LAW', which a plug-in of kind"):
        find("law", str(tmp_path / "empty.py"))
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(DataError, match="raised ZeroDivisionError: division by zero"):
        find("figure", str(tmp_path / "broken.py"))


def test_two_packages_with_one_name_are_reported(by_name, tmp_path, monkeypatch):
    other = tmp_path / "other" / "other-1.0.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[draisine.law]\ncruise = other.cruise\n")
    monkeypatch.syspath_prepend(other.parent)
    registry.external_plugins.cache_clear()
    registry.all_entry_points.cache_clear()
    with pytest.raises(UnknownNameError, match="Two packages declare"):
        find("law", "cruise")
