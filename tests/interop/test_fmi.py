"""Units of FMI move as the package does, in the eyes of FMPy."""

import math
import shutil
import sys
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import draisine
from draisine.errors import MissingPackageError, ParameterError
from draisine.interop import cosimulation
from draisine.interop.fmi import export_fmu
from draisine.terrain import plane

fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed")
pytest.importorskip("fmpy.validation")
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc)")

H = 1.0 / 64.0


@pytest.fixture(scope="module")
def bicycle():
    system = draisine.compile("whipple")
    return system, draisine.state(system, forward_speed=4.6, lean_rate=0.5)


@pytest.fixture(scope="module", params=["2.0", "3.0"])
def unit(request, bicycle, tmp_path_factory):
    path = tmp_path_factory.mktemp("fmi") / "bicycle.fmu"
    export_fmu(*bicycle, path, version=request.param)
    return str(path)


def test_fmpy_finds_nothing_wrong(unit):
    from fmpy.validation import validate_fmu

    assert validate_fmu(unit) == []


def test_inputs_are_held_as_by_a_stepper(unit, bicycle):
    names = ["lean", "steer", "steer_rate", "forward_speed", "y", "kinetic_energy"]
    times = np.arange(64) * H
    torque = np.array(
        list(zip(times, np.sin(7.0 * times), strict=True)),
        dtype=[("time", float), ("inputs.steer", float)],
    )
    there = fmpy.simulate_fmu(
        unit, stop_time=1.0, output_interval=H, input=torque, output=[*names, "inputs.steer"]
    )
    ride = draisine.Stepper(*bicycle)
    for k, row in enumerate(there[1:]):
        ride.step(H, {"steer": there["inputs.steer"][k]})
        if k % 16 == 15:
            here = ride.values() | {"kinetic_energy": float(ride.observe()["kinetic"][0])}
            assert_allclose(
                [row[n] for n in names], [here[n] for n in names], rtol=1e-11, atol=1e-11
            )
    assert np.ptp(there["steer"]) > 0.05


def test_parameters_are_those_of_the_machine(unit, bicycle):
    system, start = bicycle
    there = fmpy.simulate_fmu(
        unit,
        stop_time=0.5,
        output_interval=H,
        output=["lean"],
        start_values={"parameters.mB": 60.0},
    )
    run = draisine.simulate(system.with_parameters(mB=60.0), start, 0.5).to_xarray()
    assert_allclose(there["lean"][-1], float(run.lean[-1]), rtol=1e-8)


def test_equal_machines_make_equal_units(tmp_path):
    made = []
    for name in ("one.fmu", "two.fmu"):
        disc = draisine.compile("rolling_disc")
        start = draisine.state(disc, forward_speed=2.0)
        export_fmu(disc, start, tmp_path / name)
        made.append(zipfile.ZipFile(tmp_path / name))
    one, two = made
    texts = [name for name in one.namelist() if not name.startswith("binaries")]
    assert len(texts) > 5
    assert one.namelist() == two.namelist()
    assert all(one.read(name) == two.read(name) for name in texts)


def instance(path, **options):
    """Return an instance that has begun, and the references of its variables."""
    description = fmpy.read_model_description(str(path))
    module = {"2": fmpy.fmi2.FMU2Slave, "3": fmpy.fmi3.FMU3Slave}[description.fmiVersion[0]]
    made = module(
        guid=description.guid,
        unzipDirectory=fmpy.extract(str(path), f"{path}-open"),
        modelIdentifier=description.coSimulation.modelIdentifier,
    )
    made.instantiate(**options)
    if description.fmiVersion == "2.0":
        made.setupExperiment()
    made.enterInitializationMode()
    made.exitInitializationMode()
    return made, {v.name: v.valueReference for v in description.modelVariables}


def test_a_state_is_kept_and_restored_in_memory_and_from_bytes(unit):
    made, at = instance(unit)
    read = made.getReal if hasattr(made, "getReal") else made.getFloat64
    made.doStep(0.0, 0.5)
    kept = made.getFMUState()
    again = made.deserializeFMUState(made.serializeFMUState(kept))
    ends = []
    for state in (kept, again, kept):
        made.doStep(0.5, 0.5)
        ends.append(read([at["lean"], at["x"]]))
        made.setFMUState(state)
    assert_array_equal(ends[1:], ends[:2])
    assert read([at["x"]]) != ends[0][1:]
    for state in (kept, again):
        made.freeFMUState(state)
    made.freeInstance()


def test_event_mode_stops_at_a_negative_normal_force(tmp_path):
    """A mass on a stiff leg that falls from the vertical at the rate w presses on the ground with
    m cos(a) (g (3 cos(a) - 2) - l w^2): that ends at cos(a) = (2 + l w^2 / g) / 3.
    """
    rate = 1.2
    wheel = draisine.compile("rimless_wheel", slope=0.0)
    export_fmu(wheel, draisine.state(wheel, wheel_rate=rate), tmp_path / "leg.fmu")
    made, at = instance(tmp_path / "leg.fmu", eventModeUsed=True, earlyReturnAllowed=True)
    made.enterStepMode()
    time = 0.0
    found = False
    while not found and time < 2.0:
        found, _, early, time = made.doStep(time, 0.1)
    assert found and early
    (angle,) = made.getFloat64([at["wheel"]])
    assert_allclose(math.cos(angle), (2.0 + rate**2 / 9.81) / 3.0, atol=1e-10)
    assert made.getBoolean([at["pulled.spoke_0"]]) == [False]
    made.enterEventMode()
    made.updateDiscreteStates()
    assert made.getBoolean([at["pulled.spoke_0"]]) == [True]
    made.enterStepMode()
    assert made.doStep(time, 1e-3)[0] is False
    made.freeInstance()


def test_event_mode_stops_at_a_touchdown_on_a_terrain(tmp_path):
    """A ball that falls from the height h touches down after sqrt(2 h / g)"""
    height = 0.2
    ball = draisine.compile("ball")
    touches = f"touches.{ball.model.contacts[0].name}"
    start = draisine.state(ball, x_speed=1.0)
    high = draisine.State(start.q, start.p + [0.0, 0.0, height], start.r, start.v)
    export_fmu(ball, high, tmp_path / "ball.fmu", terrain=plane(), until=0.5)
    assert fmpy.validation.validate_fmu(str(tmp_path / "ball.fmu")) == []
    made, at = instance(tmp_path / "ball.fmu", eventModeUsed=True, earlyReturnAllowed=True)
    made.enterStepMode()
    time = 0.0
    found = False
    while not found and time < 1.0:
        found, _, early, time = made.doStep(time, 0.05)
    assert found and early
    assert_allclose(time, math.sqrt(2.0 * height / 9.81), atol=1e-9)
    assert made.getBoolean([at[touches]]) == [False]
    made.enterEventMode()
    made.updateDiscreteStates()
    assert made.getBoolean([at[touches]]) == [True]
    made.enterStepMode()
    assert made.doStep(time, 0.1)[0] is False
    run = draisine.simulate(ball, high, time + 0.1, terrain=plane())
    position = run.to_xarray().position.values[-1]
    assert_allclose(made.getFloat64([at[axis] for axis in "xyz"]), position, atol=1e-9)
    made.freeInstance()


def test_zig_compiles_without_another_compiler(tmp_path, monkeypatch):
    pytest.importorskip("ziglang", reason="ziglang is not installed")
    disc = draisine.compile("rolling_disc")
    start = draisine.state(disc, forward_speed=2.0, lean=0.1)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "which", lambda name: None)
        assert cosimulation.compiler()[1:] == ["-m", "ziglang", "cc"]
        export_fmu(disc, start, tmp_path / "disc.fmu")
    there = fmpy.simulate_fmu(
        str(tmp_path / "disc.fmu"), stop_time=1.0, output_interval=H, output=["lean"]
    )
    here = draisine.simulate(disc, start, 1.0).to_xarray()
    assert_allclose(there["lean"][-1], float(here.lean[-1]), rtol=1e-8)


def test_invalid_exports_are_refused(bicycle, tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match=r"end with \.fmu"):
        export_fmu(*bicycle, tmp_path / "bicycle.zip")
    with pytest.raises(ParameterError, match="Did you mean"):
        export_fmu(*bicycle, tmp_path / "bicycle.fmu", version="3.1")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(MissingPackageError, match=r"no C compiler.*draisine\[fmi\]"):
        cosimulation.compiler()


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_sensors_have_the_readings_of_a_stepper(version, tmp_path):
    """Rate, bias, quantum and the seeded noise are the same in C; a step is 1/1024 s in both."""
    from draisine.mechanics.sensors import Encoder, Imu, PoseSensor

    bicycle = draisine.compile("whipple").with_sensors(
        Imu("imu", "frame", (0.3, 0.0, 0.9), rate=128.0, noise=0.1, bias=0.3, quantum=0.01),
        Encoder("steer_encoder", "steer", counts=1000, rate=100.0, noise=0.01, seed=4),
        PoseSensor("mocap", "fork"),
    )
    start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    path = str(tmp_path / "bicycle.fmu")
    export_fmu(bicycle, start, path, version=version)
    values = draisine.Stepper(bicycle, start).values()
    names = [n for n in values if n.startswith(("imu", "steer_encoder", "mocap"))]
    assert len(names) == 13
    there = fmpy.simulate_fmu(path, stop_time=0.5, output_interval=H, output=names)
    ride = draisine.Stepper(bicycle, start)
    for row in there:
        ride.step(row["time"] - ride.time)
        here = ride.values()
        assert_allclose([row[n] for n in names], [here[n] for n in names], atol=1e-11)
