"""What a newcomer meets: some thirty names, lazy, listed, explained, with short reprs."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ParameterError
from draisine.results.attributes import without_stamp
from draisine.terrain import kerb, ramp

HOWTO = Path(__file__).parents[2] / "docs" / "howto"


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.fixture(scope="module")
def ride(bicycle):
    return draisine.simulate(bicycle, draisine.state(bicycle, forward_speed=5.0, lean="2deg"), 0.2)


def test_names_are_listed_and_loaded_only_when_asked_for():
    assert set(dir(draisine)) == {*draisine.__all__, "__version__"}
    assert 25 <= len(draisine.__all__) <= 35
    code = "import sys, draisine; print([m for m in sys.modules if m.startswith('draisine.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="simulat"):
        draisine.simulat  # noqa: B018


@pytest.mark.parametrize("name", draisine.__all__)
def test_every_name_is_explained(name):
    thing = getattr(draisine, name)
    assert inspect.getdoc(thing)
    if inspect.isfunction(thing):
        assert ">>>" in thing.__doc__ or name == "load"
        assert not [
            p for p in inspect.signature(thing).parameters.values() if p.annotation is p.empty
        ]


def test_types_are_told():
    assert (Path(draisine.__file__).parent / "py.typed").exists()


def test_reprs_are_short_and_have_names(bicycle, ride):
    over = draisine.simulate(
        bicycle, draisine.state(bicycle, forward_speed=4.0), 0.5, terrain=kerb(1.5, -0.05)
    )
    for thing in (bicycle, ride, over, ride.final()):
        assert len(repr(thing)) < 700
        assert len(repr(thing).splitlines()) <= 5
        assert re.match(r"<(pre|table)>", thing._repr_html_())
    assert "steer=" in repr(ride.final()) and "lean=0.0" in repr(ride.final())
    assert "collision" in repr(over)
    bare = draisine.State(*(getattr(ride.final(), n) for n in ("q", "p", "r", "v")))
    assert "v[8]=" in repr(bare)


def test_angles_may_be_written_in_degrees(bicycle):
    written, plain = draisine.state(bicycle, lean="10deg"), draisine.state(bicycle, lean=np.pi / 18)
    assert_allclose(written.q, plain.q, atol=1e-15)
    with pytest.raises(ParameterError, match="is an angle"):
        draisine.state(bicycle, forward_speed="10deg")
    with pytest.raises(ParameterError, match="not a number"):
        draisine.state(bicycle, lean="steep")


def test_published_parameters_by_name():
    jason = draisine.compile("whipple", parameter_set="browser_jason")
    heavy = draisine.compile("whipple", parameter_set="browser_jason", mB=100.0)
    assert heavy.parameters == jason.parameters | {"mB": 100.0}
    with pytest.raises(draisine.DraisineError, match="Did you mean"):
        draisine.compile("whipple", parameter_set="browser_json")


def test_tables_files_figures_and_films(ride, tmp_path):
    table = ride.to_pandas()
    assert table.index.name == "time"
    data = ride.to_xarray()
    assert_allclose(table["steer_rate"], data["speeds"].sel(speed="steer_rate"))
    force = data["contact_force"].sel(contact="front", direction="normal")
    assert_allclose(table["contact_force[front, normal]"], force)
    ride.save(tmp_path / "ride.nc")
    assert without_stamp(draisine.load(str(tmp_path / "ride.nc"))).identical(data)
    ride.plot(path=tmp_path / "ride.svg")
    draisine.plot(tmp_path / "ride.nc", "energies", tmp_path / "energies.png")
    ride.animate(tmp_path / "ride.html")
    assert all(
        (tmp_path / n).stat().st_size > 1000 for n in ("ride.svg", "energies.png", "ride.html")
    )


def test_a_scenario_runs_by_its_name():
    result = draisine.run("mauny2018/passive-stabilisation", changes={"run.until": 0.1})
    assert result.outcome == "completed"
    assert float(result.data.time[-1]) == pytest.approx(0.1)


def test_a_machine_is_put_on_a_ramp(bicycle):
    """It stands on it without a gap, upright against the ramp."""
    ground, flat = ramp(-0.2, drop=0.5), draisine.state(bicycle, forward_speed=3.0)
    start = draisine.place(bicycle, flat, ground, wheel="rear", centre=(-4.0, 0.5), on="ramp")
    run = draisine.simulate(bicycle, start, 0.05, terrain=ground).to_xarray()
    assert np.abs(run.gap.values[0]).max() < 1e-12
    assert start.p[1] == pytest.approx(0.5)


def test_a_return_map_turns_small_swings_by_their_frequency():
    """After a time T: det J = 1 and tr J = 2 cos(omega T), omega^2 = g / length."""
    pendulum = draisine.compile(str(HOWTO / "pendulum.py"), length=2.0)
    G = draisine.return_map(pendulum, ["hinge", "hinge_rate"], 0.3)
    image, J = G(np.zeros(2))
    assert_allclose(image, 0.0, atol=1e-12)
    omega = np.sqrt(9.81 / 2.0)
    assert np.linalg.det(J) == pytest.approx(1.0, abs=1e-6)
    assert np.trace(J) == pytest.approx(2.0 * np.cos(0.3 * omega), abs=1e-6)


def test_steppers_results_and_events_are_told_in_short(bicycle):
    stepper = draisine.Stepper(bicycle, draisine.state(bicycle, forward_speed=5.0))
    stepper.step(0.125)
    assert repr(stepper) == "Stepper of whipple at 0.125 s, 1024 steps per s"
    result = draisine.run("mauny2018/ramp-jump")
    assert repr(result).startswith("Result of mauny2018/ramp-jump: completed\n")
    assert len(repr(result).splitlines()) == 4
    assert repr(result.events[0]) == "Event(0.414548083 s lift-off front:ramp)"


def test_a_name_that_is_spelt_otherwise_is_led_to_the_right_one():
    with pytest.raises(AttributeError, match=r"no attribute 'linearize'. Did you mean 'linearise'"):
        _ = draisine.linearize
    assert not hasattr(draisine, "__wrapped__")
