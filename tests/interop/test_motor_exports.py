"""Limits of motors in exported programs: closed forms in C, JavaScript, an FMU, Simulink's unit and lanes.

The machine is a rotor J on a hinge. A servo requests far more torque than its motor supplies, so that the
rotor runs up along the torque-speed line: w = w0 (1 - exp(-stall t / (J w0))).
"""

import json
import shutil
import subprocess

import numpy as np
import pytest

import draisine
from draisine.analysis.lqr import balance
from draisine.control.servo import Servo
from draisine.model import Motor
from draisine.simulation.source import write_simulator
from model.test_motor import INERTIA, rotor

STALL = 4.0  # N m
NO_LOAD = 50.0  # rad/s
UNTIL = 0.25  # s
STEPS = 256
SPEED = NO_LOAD * (1.0 - np.exp(-STALL * UNTIL / (INERTIA * NO_LOAD)))
"""Speed at the end, rad/s."""

REQUEST = Servo(["hinge"], [1e3], damping=50.0, kind="speed")

C_MAIN = """
#include <stdio.h>
#include "{name}.h"
static {name} machine;
static double samples[({steps} + 1) * {name}_states];
int main(void)
{{
    int64_t done;
    {name}_begin(&machine, {name}_nominal, {name}_start, {name}_given);
    if ({name}_simulate(&machine, 0.0, {until!r}, {steps}, samples, &done)) return 1;
    for (int k = 0; k < {name}_states; ++k) printf("%.17g\\n", samples[done * {name}_states + k]);
    return 0;
}}
"""

JAVASCRIPT_MAIN = """
import * as simulator from "./{name}.js";
const machine = simulator.create();
const {{ samples }} = simulator.simulate(machine, 0, {until!r}, {steps});
console.log(JSON.stringify(Array.from(samples.slice(-machine.state.length))));
"""


@pytest.fixture(scope="module")
def drive():
    """Return the rotor with its motor."""
    return rotor(Motor(no_load_speed=NO_LOAD, stall_torque=STALL))


def run_c(name, folder):
    """Compile and run a simulator in C; return its last state."""
    main = C_MAIN.format(name=name, until=UNTIL, steps=STEPS)
    (folder / "main.c").write_text(main, encoding="utf-8")
    command = ["cc", "-std=c99", f"{name}.c", "main.c", "-o", "run", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    printed = subprocess.run(["./run"], cwd=folder, check=True, capture_output=True, text=True)
    return [float(word) for word in printed.stdout.split()]


def run_javascript(name, folder):
    """Run a simulator in JavaScript; return its last state."""
    main = JAVASCRIPT_MAIN.format(name=name, until=UNTIL, steps=STEPS)
    (folder / "main.js").write_text(main, encoding="utf-8")
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    printed = subprocess.run(
        ["node", "main.js"], cwd=folder, check=True, capture_output=True, text=True
    )
    return json.loads(printed.stdout)


@pytest.mark.parametrize(
    ("language", "run", "program"), [("c", run_c, "cc"), ("javascript", run_javascript, "node")]
)
@pytest.mark.parametrize("form", ["law", "input"])
def test_simulators_limit_laws_and_inputs(language, run, program, form, drive, tmp_path):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    request = {"law": REQUEST} if form == "law" else {"inputs": {"hinge": 1e4}}
    files = write_simulator(drive, language, draisine.state(drive), **request)
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    final = run(next(iter(files)).partition(".")[0], tmp_path)
    layout = drive.machine(None, request.get("law"), 1 if form == "law" else 0).layout
    assert len(final) == layout.size
    # Truncation of RK4: 256 steps of h = 0.25 / 256 s, h * 4 / (J w0) = 4e-3.
    assert min(abs(x - SPEED) for x in final) < 1e-9 * SPEED


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_an_fmu_limits_its_input_and_its_law(version, drive, tmp_path):
    fmpy = pytest.importorskip("fmpy", reason="fmpy is not installed")
    if shutil.which("cc") is None:
        pytest.skip("no C compiler (cc)")
    from draisine.interop.fmi import export_fmu

    start = draisine.state(drive)
    export_fmu(drive, start, tmp_path / "open.fmu", version=version)
    export_fmu(drive, start, tmp_path / "closed.fmu", version=version, law=REQUEST)
    request = np.array([(0.0, 1e4), (UNTIL, 1e4)], [("time", float), ("inputs.hinge", float)])
    for name, given in (("open.fmu", request), ("closed.fmu", None)):
        motion = fmpy.simulate_fmu(
            str(tmp_path / name),
            stop_time=UNTIL,
            output_interval=1.0 / 64.0,
            input=given,
            output=["hinge_rate", "inputs.hinge"],
        )
        assert motion["hinge_rate"][-1] == pytest.approx(SPEED, rel=1e-6)


def test_lqr_designs_for_small_signals_and_saturates_for_large_ones():
    """Far from its target, the state feedback accelerates the rotor with the largest torque.

    For the double integrator J r'' = u with weights q of r and s of r' and the cost c, the gains are
    sqrt(q / c) and sqrt((s + 2 J sqrt(q c)) / c).
    """
    torque = 0.5  # N m
    limited = rotor(Motor(torque=torque), spring=1e-9)
    weights = {"hinge": 100.0, "hinge_rate": 4.0}
    law = balance(limited, weights, {"hinge": 0.25})
    gains = np.ravel(law.K)
    expected = [np.sqrt(100.0 / 0.25), np.sqrt((4.0 + 2.0 * INERTIA * np.sqrt(25.0)) / 0.25)]
    assert gains == pytest.approx(expected, rel=1e-6)
    start = draisine.state(limited, hinge=-20.0)
    run = draisine.simulate(limited, start, 4.0, law=law).to_xarray()
    applied = run.inputs.sel(input="hinge").values
    assert np.abs(applied).max() == torque
    early = run.sel(time=0.5, method="nearest")
    assert float(early.hinge_rate) == pytest.approx(torque / INERTIA * float(early.time), rel=1e-6)


@pytest.mark.parametrize("kind", ["position", "speed"])
def test_a_servo_with_a_current_limit_brakes_and_holds(kind):
    """The current limit is kept in all samples; within it, the servo reaches its set-point."""
    torque = 0.2  # N m, current limit times torque constant
    limited = rotor(Motor(torque=torque))
    stiffness, target = (5.0, 0.5) if kind == "position" else (0.0, 8.0)
    law = Servo(["hinge"], [target], damping=0.4, stiffness=stiffness, kind=kind)
    run = draisine.simulate(limited, draisine.state(limited), 3.0, law=law).to_xarray()
    applied = run.inputs.sel(input="hinge").values
    assert applied[0] == torque
    assert np.abs(applied).max() == torque
    reached = run.hinge if kind == "position" else run.hinge_rate
    assert float(reached[-1]) == pytest.approx(target, rel=1e-6)
