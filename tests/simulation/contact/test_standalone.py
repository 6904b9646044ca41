"""Simulators on a terrain in source code locate the same events as machine code."""

import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ParameterError, UnknownNameError
from draisine.scenario.library import load
from draisine.simulation.contact.standalone.engine import write_terrain_engine
from draisine.simulation.contact.standalone.source import write_terrain_simulator
from draisine.simulation.options import NUMERICS, Task
from draisine.terrain import height_field, kerb, plane
from simulation.contact.stepping.test_steps import Servos, machine

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc)")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript engine (node)")
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]
EVENTS = draisine.ContactOptions(mu=0.8, solver="events")

PAGE = """
import * as simulator from "./{name}.js";
const machine = simulator.create();
simulator.stopAtEvents(machine, {stops});
const {{ samples, events, status }} = simulator.simulate(machine);
const last = samples.at(-1);
const seen = simulator.observe(machine, last.time, last.state);
console.log(JSON.stringify({{
  status, count: samples.length, time: last.time, end: Array.from(last.state),
  events: events.map((e) => [e.time, e.kind, e.contact, e.feature, e.energyAfter]),
  position: Array.from(seen.position), reasons: simulator.reasons, names: simulator.names,
}}));
"""


def scenario(name):
    """Return the arguments of the run of a scenario."""
    plan = load(name).plan
    options = {"terrain": plan.terrain, "law": plan.law, "contact": plan.contact}
    return (plan.system, plan.copy_state(), plan.scenario.run.until), options | {
        "numerics": plan.numerics
    }


def disc_over_kerb():
    disc = draisine.compile("rolling_disc", crown=0.05)
    start = draisine.state(disc, forward_speed=2.0, lean=0.05)
    return (disc, start, 0.5), {"terrain": kerb(0.5, 0.02), "contact": EVENTS}


def disc_over_hills(**shape):
    """More features than are watched at once: they are searched on the way."""
    disc = draisine.compile("rolling_disc", crown=0.05)
    x = np.linspace(-0.5, 3.5, 17)
    y = np.linspace(-0.5, 0.5, 5)
    heights = 0.02 * np.outer(np.cos(2.0 * x), np.cos(3.0 * y))
    start = draisine.state(disc, forward_speed=3.0)
    high = draisine.State(start.q, start.p + [0.0, 0.0, 0.05], start.r, start.v)
    ground = height_field(x, y, heights, **shape)
    options = {"terrain": ground, "contact": replace(EVENTS, margin=0.1)}
    return (disc, high, 0.8), options


def disc_over_smooth_hills():
    arguments, options = disc_over_hills()
    x = np.linspace(-0.5, 3.5, 17)
    y = np.linspace(-0.5, 0.5, 5)
    heights = 0.02 * np.outer(np.cos(2.0 * x), np.cos(3.0 * y))
    return arguments, options | {"terrain": height_field(x, y, heights, smooth=True)}


def bumpy_ground():
    """Level ground with a strip of random heights across the path."""
    x, y = np.arange(-1.0, 2.0, 0.1), np.arange(-0.6, 0.65, 0.1)
    heights = np.random.default_rng(0).uniform(0.0, 0.01, (len(x), len(y)))
    heights[(x < 0.15) | (x > 0.35)] = 0.0
    return height_field(x, y, heights)


def robot(until, **contact):
    """Return a robot with two wheels on one axle and a caster, which drives over the bumps."""
    system = machine()
    options = {"terrain": bumpy_ground(), "law": Servos(10.0, 0.05)}
    contact = draisine.ContactOptions(mu=0.8, **contact)
    return (system, draisine.state(system), until), options | {"contact": contact}


def robot_on_low_bumps():
    """Return a run in which nine short arcs precede the change of the method."""
    x, y = np.arange(-1.0, 2.0, 0.1), np.arange(-0.6, 0.65, 0.1)
    heights = np.random.default_rng(11).uniform(0.0, 0.005, (len(x), len(y)))
    heights[x < 0.15] = 0.0
    arguments, options = robot(0.35)
    return arguments, options | {"terrain": height_field(x, y, heights)}


THESIS = ("ramp-jump-pitched", "lift-offs", "elastic-bounces")
CASES = {name: (lambda name=name: scenario(f"mauny2018/{name}")) for name in THESIS}
CASES |= {"kerb": disc_over_kerb, "hills": disc_over_hills, "smooth": disc_over_smooth_hills}
CASES |= {"smooth hills": lambda: disc_over_hills(smooth=True)}
CASES |= {"time steps": lambda: robot(0.5, solver="time_stepping")}


def write(folder, arguments, options, language):
    system, start, until = arguments
    files = write_terrain_simulator(system, language, start, until, **options)
    for name, text in files.items():
        (folder / name).write_text(text)
    return next(iter(files)).rpartition(".")[0]


def compare_events(events, run, count=None):
    """Compare times, kinds, wheels and energies of events with those of a run, or with its first ones."""
    expected = run.events[:count]
    assert [kind for _, kind, *_ in events] == [event.kind for event in expected]
    assert_allclose([time for time, *_ in events], [event.t for event in expected], atol=1e-9)
    for (_, _, wheel, _, energy), event in zip(events, expected, strict=True):
        assert energy == pytest.approx(event.energy_after, rel=1e-9, abs=1e-9)
        if wheel and event.kind != "hand-over":
            assert wheel in [contact for contact, _ in event.contacts]


def run_page(folder, arguments, options, stops=False):
    """Return what a page prints that runs the simulator to its end, in calls that end at events if asked."""
    name = write(folder, arguments, options, "javascript")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "page.js").write_text(PAGE.format(name=name, stops=str(stops).lower()))
    done = subprocess.run(["node", "page.js"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_node
@pytest.mark.filterwarnings("ignore::draisine.errors.ValidityWarning")
@pytest.mark.parametrize("case", list(CASES))
def test_javascript_locates_the_events_of_machine_code(case, tmp_path):
    arguments, options = CASES[case]()
    found = run_page(tmp_path, arguments, options)
    run = draisine.simulate(*arguments, **options)
    assert found["reasons"][found["status"]] == "the time is reached"
    assert found["count"] == sum(len(arc.t) for arc in run.arcs)
    assert_allclose(found["end"], run.arcs[-1].y[-1], rtol=1e-9, atol=1e-9)
    assert_allclose(found["position"], run.to_xarray().position.values[-1], atol=1e-9)
    assert len(found["names"]["states"]) == len(found["end"])
    compare_events(found["events"], run)


@needs_node
def test_a_simulator_changes_to_time_steps_and_back(tmp_path):
    """Wheels of one axle on bumps: bounces accumulate, which ends event location. Behind the bumps it
    resumes.
    """
    arguments, options = robot(1.1)
    found = run_page(tmp_path, arguments, options)
    run = draisine.simulate(*arguments, **options)
    kinds = [kind for _, kind, *_ in found["events"]]
    change = kinds.index("time-stepping")
    assert kinds[: change + 2] == [event.kind for event in run.events[: change + 2]]
    assert kinds[change + 1] == "event-location"
    compare_events(found["events"][:change], run, change)
    times = [time for time, *_ in found["events"][: change + 2]]
    assert_allclose(times, [event.t for event in run.events[: change + 2]], atol=1e-9)
    assert_allclose(found["end"], run.arcs[-1].y[-1], rtol=1e-9, atol=1e-9)


@needs_node
@pytest.mark.filterwarnings("ignore::draisine.errors.ValidityWarning")
def test_events_that_time_steps_replace_are_withdrawn(tmp_path):
    """Nine short arcs precede the change of the method; earlier calls have returned their events. Neither
    `simulate` of the page nor a run in Python lists them.
    """
    arguments, options = robot_on_low_bumps()
    found = run_page(tmp_path, arguments, options, stops=True)
    run = draisine.simulate(*arguments, **options)
    assert run.events[-1].kind == "time-stepping"
    compare_events(found["events"], run)
    assert_allclose(found["end"], run.arcs[-1].y[-1], rtol=1e-9, atol=1e-9)


@needs_node
def test_a_simulator_refuses_ideal_wheels_that_over_constrain_the_machine(tmp_path):
    """As a run in Python does, and at the same time."""
    arguments, options = robot(2.0, solver="time_stepping")
    contact = replace(options["contact"], mu=np.inf)
    options |= {"contact": contact, "law": Servos(10.0, 0.05)}
    with pytest.raises(draisine.errors.ContactSetError, match="over-constrain") as caught:
        draisine.simulate(*arguments, **options)
    found = run_page(tmp_path, arguments, options)
    assert "over-constrain" in found["reasons"][found["status"]]
    assert abs(found["time"] - caught.value.partial.t[-1]) < 2e-3


ENGINE_PAGE = """
import * as engine from "./engine.js";
const run = engine.create("hill", JSON.parse(process.argv[2]), 0.8);
engine.begin(run, 0, JSON.parse(process.argv[3]), []);
for (let k = 1; k <= 600; k++) engine.advance(run, 1e-3 * k);
console.log(JSON.stringify({ events: run.events.map((e) => [e.time, e.kind]) }));
"""


@needs_node
def test_the_engine_of_a_page_withdraws_events(tmp_path):
    """A disc on a convex polyline leaves the ground at each edge. The page advances by a millisecond at a
    time. Time steps of 0.1 s replace the latest arc, whose event was in the list already.
    """
    disc = draisine.compile("rolling_disc", crown=0.05)
    start = draisine.state(disc, forward_speed=3.0)
    x = np.arange(-0.475, 3.525, 0.05)
    ground = height_field(x, [-1.0, 1.0], np.outer(-2e-3 * x**2, [1.0, 1.0]))
    high = draisine.State(start.q, start.p + [0.0, 0.0, 1e-6], start.r, start.v)
    contact = draisine.ContactOptions(mu=0.8, step=0.1)
    options = {"law": None, "inputs": None, "numerics": NUMERICS, "progress": None}
    task = Task(disc, high, 0.6, ground, contact=contact, **options)
    (tmp_path / "engine.js").write_text(write_terrain_engine({"hill": task}, ()))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "page.js").write_text(ENGINE_PAGE)
    y = np.concatenate([high.q, high.p, high.r, high.v])
    arguments = [json.dumps([*disc.parameters.values()]), json.dumps(y.tolist())]
    done = subprocess.run(
        ["node", "page.js", *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    times = np.array([time for time, _ in found["events"]])
    kinds = [kind for _, kind in found["events"]]
    assert (np.diff(times) > 0.0).all()
    # Without time steps the run has the same events up to the first change, at which it has another one.
    run = draisine.simulate(disc, high, 0.6, terrain=ground, contact=EVENTS)
    count = kinds.index("time-stepping")
    assert count > 20
    assert kinds[:count] == [event.kind for event in run.events[:count]]
    assert_allclose(times[: count + 1], [event.t for event in run.events[: count + 1]], atol=1e-9)


@needs_compiler
def test_c_locates_the_events_of_the_thesis(tmp_path):
    """The jump from the ramp in C: event times of an independent computation, and the end of machine code."""
    arguments, options = scenario("mauny2018/ramp-jump")
    name = write(tmp_path, arguments, options, "c")
    command = ["cc", *STRICT, f"{name}.c", "main.c", "-o", "run", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    lines = {
        word: subprocess.run(
            ["./run", word], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.splitlines()
        for word in ("events", "samples")
    }
    run = draisine.simulate(*arguments, **options)
    rows = [line.split(",") for line in lines["events"][1:]]
    events = [(float(t), kind, *names, float(energy)) for t, kind, *names, _, energy in rows]
    compare_events(events, run)
    expected = load("mauny2018/ramp-jump").plan.scenario.expected[0].values
    assert_allclose(sorted(t for t, *_ in events), sorted(expected.values()), atol=1e-9)
    columns = lines["samples"][0].split(",")
    samples = np.array([[float(x) for x in line.split(",")] for line in lines["samples"][1:]])
    assert samples.shape[1] == len(columns)
    size = run.arcs[-1].y.shape[1]
    for arc in run.arcs:
        # Each event is the end of an arc and the beginning of the next.
        first = np.searchsorted(samples[:, 0], arc.t[1] - 1e-9)
        found = samples[first : first + len(arc.t) - 2, -size:]
        assert_allclose(found, arc.y[1:-1], rtol=1e-9, atol=1e-9)
    x = run.to_xarray().position.sel(axis="x").values
    assert_allclose(samples[:, columns.index("x")], x, atol=1e-9)


def test_parts_that_need_python_are_refused():
    ball = draisine.compile("ball")
    start = draisine.state(ball, x_speed=1.0)
    keller = draisine.ContactOptions(mu=0.5, impact="keller")
    with pytest.raises(ParameterError, match="impact model 'keller' is written in Python"):
        write_terrain_simulator(ball, "c", start, 1.0, terrain=plane(), contact=keller)
    with pytest.raises(UnknownNameError, match="no simulator in 'rust'"):
        write_terrain_simulator(ball, "rust", start, 1.0, terrain=plane())


def test_a_simulator_does_not_depend_on_earlier_runs():
    ball = draisine.compile("ball")
    start = draisine.state(ball, x_speed=1.0)
    first = write_terrain_simulator(ball, "javascript", start, 1.0, terrain=plane())
    draisine.simulate(ball, start, 1.0, terrain=kerb(0.5, 0.01))
    assert write_terrain_simulator(ball, "javascript", start, 1.0, terrain=plane()) == first
