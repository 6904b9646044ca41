"""Simulators in source code walk through the same steps as machine code."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.control.turn_pi import TurnPI
from draisine.errors import UnknownNameError
from draisine.mechanics.forces.magic_formula import MagicFormula
from draisine.simulation.source import write_simulator
from draisine.vehicles import parameter_set

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc)")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript engine (node)")
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2"]

RK4 = draisine.Numerics(integrator="rk4", dt=0.005)
EXACT = draisine.Numerics(dt=5.0, rtol=1e-13, atol=1e-13)

MEASURED = MagicFormula.coefficients(parameter_set("magic_formula", "schwalbe_t03_300kpa"))
TYRE = MagicFormula(relaxation=0.1, **MEASURED)
"""Four slips are states, loads are found by Newton's method in line."""

CASES = {
    "whipple": ({}, {"forward_speed": 4.6, "lean_rate": 0.5}),
    "rolling_disc": ({}, {"forward_speed": 2.0, "yaw_rate": 0.5}),
    "rocr": ({}, {"yaw": -1.0}),
    "whipple on tyres": (
        {"rear_tyre": TYRE, "front_tyre": TYRE},
        {"forward_speed": 5.0, "lean_rate": 0.1},
    ),
}


def machine(case):
    drawn, start = CASES[case]
    system = draisine.compile(case.partition(" ")[0], **drawn)
    return system, draisine.state(system, **start)


def written(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.fixture(params=list(CASES))
def case(request):
    return request.param.partition(" ")[0], *machine(request.param)


@needs_compiler
def test_c_agrees_with_machine_code(case, tmp_path):
    name, system, start = case
    written(tmp_path, write_simulator(system, "c", start))
    command = ["cc", *STRICT, f"{name}.c", "main.c", "-o", "run", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    out = subprocess.run(["./run"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    rows = np.array([[float(x) for x in line.split(",")] for line in out.splitlines()[1:]])
    run = draisine.simulate(system, start, 5.0, numerics=RK4)
    (arc,) = run.arcs
    columns = out.splitlines()[0].split(",")
    assert columns[0] == "time"
    assert len(columns) == rows.shape[1]
    for joint in system.model.joints:
        column = rows[:, columns.index(joint.name)]
        assert_allclose(column, run.to_xarray()[joint.name], atol=1e-9)
    assert_allclose(rows[:, 0], arc.t, atol=1e-12)
    size = arc.y.shape[1]
    assert all(
        name.startswith("inner_") for name in columns[-size:][: system.machine().layout.r.start]
    )
    assert_allclose(rows[:, -size:], arc.y, rtol=1e-12, atol=1e-12)
    data = run.to_xarray()
    seen = {name: rows[:, k] for k, name in enumerate(columns[:-size]) if k}
    assert list(seen) == ["x", "y", "z", *system.outputs]
    for name, column in seen.items():
        off = column - (data[name] if name in data else data.position.sel(axis=name)).values
        assert_allclose((off + np.pi) % (2 * np.pi) - np.pi, 0.0, atol=1e-9)


PAGE = """
import * as simulator from "./{name}.js";
const whole = simulator.create(), stepped = simulator.create();
const {{ samples, status }} = simulator.simulate(whole, 0, 5, 1000);
let wrong = 0;
for (let i = 0; i < 1000; ++i) wrong += simulator.step(stepped, i * 0.005, 0.005);
const seen = simulator.observe(whole, 5);
console.log(JSON.stringify({{
  end: Array.from(samples.slice(-whole.state.length)), status, wrong,
  stepped: Array.from(stepped.state), v: Array.from(seen.v), names: Object.keys(seen),
}}));
"""


@needs_node
def test_javascript_agrees_with_machine_code(case, tmp_path):
    name, system, start = case
    written(tmp_path, write_simulator(system, "javascript", start))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "page.js").write_text(PAGE.format(name=name))
    done = subprocess.run(["node", "page.js"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    run = draisine.simulate(system, start, 5.0, numerics=RK4)
    assert (found["status"], found["wrong"]) == (0, 0)
    assert_allclose(found["end"], run.arcs[0].y[-1], rtol=1e-12, atol=1e-12)
    assert_allclose(found["stepped"], run.arcs[0].y[-1], rtol=1e-12, atol=1e-12)
    assert_allclose(found["v"], run.final().v, rtol=1e-12, atol=1e-12)
    assert found["names"] == list(system.machine().programs["observe"].outputs)


ASKED = {"x": 3.0, "y": -1.0, "yaw": 2.5, "lean": 0.2, "steer": 0.1, "rear_wheel": 1.0}
ASKED |= {"front_wheel": 2.0, "forward_speed": 4.0, "lean_rate": 0.3, "steer_rate": -0.2}

BEGIN = """
import {{ initial, names, nominal }} from "./whipple.js";
const parameters = Float64Array.from(nominal);
for (const [name, value] of Object.entries({changes})) parameters[names.parameters.indexOf(name)] = value;
console.log(JSON.stringify(Array.from(initial(parameters, {asked}))));
"""


@needs_node
def test_javascript_begins_in_the_state_that_is_asked_for_with_any_parameters(tmp_path):
    system, start = machine("whipple")
    changes = {"lam": 0.45, "c": 0.02, "rR": 0.32}
    written(tmp_path, write_simulator(system, "javascript", start))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "page.js").write_text(BEGIN.format(changes=changes, asked=ASKED))
    done = subprocess.run(["node", "page.js"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    other = system.with_parameters(**changes)
    y = other.machine().enter(draisine.state(other, **ASKED))
    found = np.array(json.loads(done.stdout))
    found[:4] *= np.sign(found[:4] @ y[:4])
    assert_allclose(found, y, rtol=1e-11, atol=1e-11)


@needs_compiler
def test_a_law_and_a_tableau_go_along(tmp_path):
    """A bicycle driven by a law with states of its own, by DOP853 in equal steps, in C."""
    system, start = machine("whipple")
    law = TurnPI(0.0, 0.0, 0.0, (0.0, 10.0), 5.0, 1.0, 15.0)
    written(tmp_path, write_simulator(system, "c", start, law=law, integrator="dop853"))
    command = ["cc", *STRICT, "whipple.c", "main.c", "-o", "run", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    out = subprocess.run(["./run"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    run = draisine.simulate(system, start, 5.0, law=law, numerics=EXACT)
    end = [float(x) for x in out.splitlines()[-1].split(",")][-run.arcs[0].y.shape[1] :]
    assert_allclose(end, run.arcs[0].y[-1], rtol=1e-9, atol=1e-9)


def test_other_languages_are_refused():
    system, start = machine("rolling_disc")
    with pytest.raises(UnknownNameError, match="Did you mean 'c'"):
        write_simulator(system, "C", start)


@pytest.mark.parametrize("word", ["double", "unit", "sin", "new"])
def test_machines_may_be_called_like_words_of_the_language(word):
    """Their files compile all the same: a name that is taken gets an underscore."""
    disc = draisine.compile("rolling_disc")

    def drawn(*, m: float = 1.0):
        return draisine.Model([draisine.Body("b", m, (0.0, 0.0, 0.0), np.eye(3))])

    drawn.__name__ = word
    system = draisine.compile(drawn)
    assert f"{word}_.h" in write_simulator(system, "c", draisine.state(system))
    assert "rolling_disc.h" in write_simulator(disc, "c", draisine.state(disc))
