"""Scenarios on a terrain: read, ridden, kept with their events, and mistakes told."""

import json
import math
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

import draisine
from draisine.algebra.lie import rotation
from draisine.errors import ConfigurationError, DataError, ParameterError
from draisine.experiment.check import compare_expected
from draisine.experiment.report import describe_result, format_events, summarise_result
from draisine.experiment.run import run
from draisine.results import store
from draisine.results.attributes import without_stamp
from draisine.results.events import EventQuery, parse_event, read_events
from draisine.results.queries import first_crossings, parse_query
from draisine.scenario.library import load, validate_scenario
from draisine.scenario.schema import schema
from draisine.scenario.terrain import GROUND_TABLES
from draisine.vehicles.bicycle.whipple import whipple

HEAD = """
kind = "run"
title = "a drop"

[vehicle]
name = "whipple"
"""

DROP = """
[initial]
mode = { rear = "open", front = "open" }
z = 0.1

[run]
until = 0.3
dt = 0.05
"""

PLANE = "[terrain]\nshape = 'plane'\n"

OBJ = """v -9 -9 0
v 9 -9 0
v 9 9 0
v -9 9 0
f 1 2 3 4
"""

LEVEL = {
    "plane": "shape = 'plane'",
    "kerb": "shape = 'kerb'\nat = 8.0\nrise = 0.1",
    "stairs": "shape = 'stairs'\nat = 8.0\nrise = 0.1\nrun = 0.3\ncount = 3",
    "rough": "shape = 'rough'\nat = 8.0\nheight = 0.05\nlength = 10.0",
    "corner": "shape = 'corner'\nangle = '20deg'\nat = 8.0",
    "ramp": "shape = 'ramp'\nslope = 0\ndrop = 0.5",
    "faces": "shape = 'faces'\nfaces = [{name = 'road', normal = [0, 0, 2]}]",
    "heights": "shape = 'heights'\nx = [-9, 0, 9]\ny = [-9, 9]\nz = [[0, 0], [0, 0], [0, 0]]",
    "height_map": "shape = 'height_map'\nfile = 'road.png'\ncell = 9.0\nheight = 1.0",
    "mesh": "shape = 'mesh'\nfile = 'road.obj'",
    "road": "shape = 'road'\nx = [-9, 0, 9]\nz = [0, 0, 0]",
    "rough_road": "shape = 'rough_road'\ngrade = 'A'\nat = 8.0\nlength = 5.0",
}


@pytest.fixture
def mine(tmp_path):
    """Return a scenario of one's own from its text."""

    def write(text):
        (tmp_path / "road.obj").write_text(OBJ)
        Image.new("L", (3, 3)).save(tmp_path / "road.png")
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture(scope="module")
def jump():
    return run(load("mauny2018/ramp-jump"))


@pytest.mark.parametrize("shape", GROUND_TABLES)
def test_a_fall_takes_as_long_on_every_kind_of_ground(mine, shape):
    text = HEAD + f"[terrain]\n{LEVEL[shape]}\n" + DROP
    if shape == "ramp":  # its lip is at the origin
        text = text.replace("z = 0.1", "z = 0.1\nx = -5.0")
    result = run(load(mine(text)))
    assert [event.kind for event in result.events] == ["collision"]
    assert result.events[0].t == pytest.approx(math.sqrt(2 * 0.1 / 9.81), abs=1e-12)
    assert {key[0] for key in result.events[0].impulses} == {"rear", "front"}
    assert result.outcome == "completed"


def test_points_and_edges_can_be_written_in_the_file(mine):
    corners = "points = [[-9, -9, 0], [9, -9, 0], [9, 9, 0], [-9, 9, 0]]"
    text = f"[terrain]\nshape = 'mesh'\n{corners}\ntriangles = [[0, 1, 2], [0, 2, 3]]\n"
    assert len(run(load(mine(HEAD + text + DROP))).events) == 1
    text = """
[terrain]
shape = "faces"
faces = [
    { name = "up", normal = [0, 0, 1], borders = [{ normal = [2, 0, 0], offset = 4.0 }] },
    { name = "down", normal = [0, 0, 1], offset = -0.1, borders = [{ normal = [-1, 0, 0], offset = -2.0 }] },
]
edges = [{ name = "edge", point = [2, 0, 0], along = [0, 1, 0], normals = [[0, 0, 1], [1, 0, 0]] }]
"""
    own = load(mine(HEAD + text + "[initial]\nforward_speed = 3.0\n[run]\nuntil = 0.5\n"))
    kerb = load(
        mine(
            HEAD + "[terrain]\nshape = 'kerb'\nat = 2.0\nrise = -0.1\n"
            "[initial]\nforward_speed = 3.0\n[run]\nuntil = 0.5\n"
        )
    )
    first, second = run(own).events, run(kerb).events
    assert [(e.kind, round(e.t, 12)) for e in first] == [(e.kind, round(e.t, 12)) for e in second]
    assert [e.kind for e in first] == ["lift-off", "collision"]


def test_laws_of_impact_friction_and_limits_reach_the_run(mine):
    bouncing = (
        PLANE + "[contact]\nimpact = 'newton'\nrestitution = { normal = 0.5, tangential = 0.5 }\n"
    )
    event = run(load(mine(HEAD + bouncing + DROP))).events[0]
    fall = math.sqrt(2 * 0.1 * 9.81)
    assert event.after.v[2] == pytest.approx(0.5 * fall, abs=1e-9)
    resting = bouncing + "rest_speed = 10.0\n"
    assert run(load(mine(HEAD + resting + DROP))).events[0].mode_after
    rubbing = PLANE + "[contact]\nimpact = 'moreau'\nmu = { rear = 0.8, front = 0.7 }\n"
    assert len(run(load(mine(HEAD + rubbing + DROP))).events) == 1
    lying = HEAD + PLANE + "[initial]\nlean = '20deg'\n[run]\nuntil = 3.0\nfall = '45deg'\n"
    result = run(load(mine(lying)))
    assert result.outcome.startswith("fell")
    assert abs(result.data["lean"].values[-1]) == pytest.approx(math.pi / 4, abs=1e-9)
    assert summarise_result(result)["outcome"] == result.outcome


@pytest.mark.parametrize(
    ("motion", "time"),
    [
        ("slide = [1, 0, -0.5]", (0.5 + math.sqrt(0.25 + 2 * 0.1 * 9.81)) / 9.81),
        ("turn = 1.0, centre = [1, 2]", math.sqrt(0.2 / 9.81)),
    ],
)
def test_a_ground_that_moves_is_met_when_it_is_there(mine, motion, time):
    text = f"""
[terrain]
shape = "faces"
faces = [{{ name = "lift", normal = [0, 0, 1], motion = {{ {motion} }} }}]
"""
    result = run(load(mine(HEAD + text + DROP)))
    assert result.events[0].t == pytest.approx(time, abs=1e-9)


@pytest.mark.parametrize(
    "shape",
    [
        "shape = 'heights'\nx = [-5, 5]\ny = [-5, 5]\nz = [[0, 0], [0, 0]]",
        "shape = 'mesh'\npoints = [[-5, -5, 0], [5, -5, 0], [5, 5, 0], [-5, 5, 0]]\n"
        "triangles = [[0, 1, 2], [0, 2, 3]]",
    ],
)
def test_a_mesh_that_moves_is_met_when_it_is_there(mine, shape):
    text = f"[terrain]\n{shape}\nmotion = {{ slide = [1, 0, -0.5] }}\n"
    result = run(load(mine(HEAD + text + DROP)))
    time = (0.5 + math.sqrt(0.25 + 2 * 0.1 * 9.81)) / 9.81
    assert result.events[0].t == pytest.approx(time, abs=1e-9)


def test_a_handlebar_hits_its_stop(mine):
    turned = (
        HEAD + PLANE + "[contact]\nstops = { steer = ['-20deg', '20deg'] }\n"
        "[initial]\nlean = '10deg'\n[run]\nuntil = 0.7\n"
    )
    result = run(load(mine(turned)))
    (hit,) = [e for e in summarise_result(result)["events"] if e["kind"] == "collision"]
    assert hit["contact"][0].startswith("steer:")
    steer = result.data["shape"].sel(joint="steer").values
    assert np.abs(steer).max() == pytest.approx(math.radians(20.0), abs=1e-8)
    question = f"collision 1 impulse[{hit['contact'][0]}, normal]"
    assert parse_query(question, result.system.model).evaluate(result.bodies) > 0


def test_a_machine_is_put_onto_a_face():
    bicycle = draisine.compile("whipple")
    slope = math.radians(10.0)

    def state(**initial):
        content = {
            "kind": "run",
            "title": "x",
            "vehicle": {"name": "whipple"},
            "initial": initial,
            "terrain": {"shape": "ramp", "slope": "10deg", "drop": 0.5},
            "run": {"until": 1.0},
        }
        return validate_scenario("x", "x", content).plan.copy_state()

    place = {"wheel": "front", "centre": [-2.0, 0.5], "on": "ramp"}
    placed = state(forward_speed=3.0, steer="10deg", place=place)
    level = draisine.state(bicycle, forward_speed=3.0, steer=math.radians(10.0))
    up = np.array([-math.sin(slope), 0.0, math.cos(slope)])
    assert_allclose(rotation(placed.q).T @ up, rotation(level.q)[2], atol=1e-12)
    assert up @ placed.p == pytest.approx(level.p[2], abs=1e-12)
    where = {"wheel": "rear", "centre": [-4.0, 0.2], "on": "ramp"}
    named, alone = (state(x=-4.0, y=0.2, place=each) for each in (where, {"on": "ramp"}))
    assert_allclose(alone.p, named.p, atol=1e-12)
    moved = state(place={"wheel": "rear", "centre": [1.0, 2.0, 3.0]}, mode={"front": "open"})
    assert_allclose(moved.p, [1.0, 2.0, 2.7], atol=1e-12)


SLOPES = {
    "ramp": {"shape": "ramp", "slope": "10deg", "drop": 0.5},
    "cross slope": {
        "shape": "faces",
        "faces": [{"name": "ramp", "normal": [-0.2, 0.3, 1.0], "offset": 0.0}],
    },
}


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize(
    "initial",
    [
        {"forward_speed": 4.0},
        {"forward_speed": 4.0, "lean": 0.1, "yaw": 0.3, "lean_rate": 0.2, "steer": 0.1},
        {"forward_speed": -2.0, "yaw": -1.0, "steer_rate": 0.3, "lean_rate": -0.1},
    ],
)
def test_initial_values_are_those_of_the_outputs_on_a_slope(slope, initial):
    content = {
        "kind": "run",
        "title": "x",
        "vehicle": {"name": "whipple"},
        "initial": {"place": {"wheel": "rear", "centre": [-3.0, 0.0], "on": "ramp"}, **initial},
        "terrain": SLOPES[slope],
        "run": {"until": 0.01},
    }
    plan = validate_scenario("x", "x", content).plan
    run = draisine.simulate(plan.system, plan.copy_state(), 0.01, terrain=plan.terrain)
    start = run.to_xarray().isel(time=0)
    for name, value in initial.items():
        assert_allclose(float(start[name]), value, atol=1e-12, err_msg=name)
    assert_allclose(start["gap"].values, 0.0, atol=1e-12)
    assert run.arcs[0].mode == ((("rear", "ramp"), "rolling"), (("front", "ramp"), "rolling"))


def test_friction_of_a_file_and_of_an_option_is_the_same():
    """Neither names an impact model: it is Moreau's where there is friction."""
    told = draisine.run("mauny2018/ramp-jump", changes={"contact.mu": 0.8, "run.until": 0.7})
    asked = draisine.run("mauny2018/ramp-jump", changes={"run.until": 0.7}, mu=0.8)
    assert asked.events
    assert_allclose(told.data.position, asked.data.position, atol=0.0)
    assert draisine.ContactOptions(mu={"rear": 0.8}).model.__module__.endswith("moreau")
    assert draisine.ContactOptions().model.__module__.endswith("plastic")


def test_a_start_below_the_ground_reports_depth_and_remedy():
    changes = {"terrain.shape": "corner", "terrain.angle": "20deg", "terrain.at": 0.3}
    with pytest.raises(ConfigurationError, match=r"starts .+ m below 'rise'.+initial\.place\.on"):
        draisine.run("mauny2018/passive-stabilisation", changes=changes)
    placed = draisine.run(
        "mauny2018/passive-stabilisation",
        changes=changes
        | {"initial.place.on": "rise", "initial.place.centre": [2.0, 0.0], "run.until": 0.1},
    )
    assert placed.outcome == "completed"


def test_a_slope_alone_is_a_plane_on_which_machines_start():
    changes = {"terrain.slope": "20deg", "run.until": 0.1}
    found = draisine.run("mauny2018/passive-stabilisation", changes=changes)
    told = draisine.run(
        "mauny2018/passive-stabilisation",
        changes=changes | {"terrain.shape": "plane", "initial.place.on": "ground"},
    )
    assert_allclose(found.data.position.values, told.data.position.values, atol=1e-12)
    assert_allclose(found.data.gap.values[0], 0.0, atol=1e-9)


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_events_come_back_from_files_and_runs_repeat(jump, tmp_path, suffix):
    path = tmp_path / f"jump{suffix}"
    store.save(jump.data, path)
    read = store.load(path)
    assert without_stamp(read).identical(jump.data)
    assert [e["kind"] for e in read_events(read)] == [
        "lift-off",
        "lift-off",
        "collision",
        "collision",
    ]
    assert read_events(read)[2]["after"] == {"front:low": "rolling"}
    assert read_events(read)[0]["before"] == {"rear:ramp": "rolling", "front:ramp": "rolling"}
    assert run(load(str(path))).data.identical(jump.data)


def test_a_mesh_beside_the_scenario_is_found_from_elsewhere(mine, tmp_path, monkeypatch):
    path = mine(HEAD + "[terrain]\nshape = 'mesh'\nfile = 'road.obj'\n" + DROP)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    data = run(load(path)).data
    store.save(data, tmp_path / "elsewhere" / "run.nc")
    assert run(load("run.nc")).data.identical(data)


def test_the_summary_lists_the_events(jump):
    found = summarise_result(jump)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    first, *_, last = found["events"]
    assert first["kind"] == "lift-off"
    assert first["contact"] == ["front:ramp"]
    assert set(last["impulse"]) == {"rear:low", "front:low"}
    assert last["gain"] == pytest.approx(-319.0641, abs=1e-3)
    assert any("lift-off   front:ramp" in line for line in describe_result(jump))
    many = format_events(found["events"] * 4)
    assert many[-1] == "... and 4 more events"
    gaining = format_events([last | {"gain": 3.0}])
    assert "it creates 3 J" in gaining[0]


def test_questions_about_events(jump):
    def ask(text):
        return parse_query(text, jump.system.model).evaluate(jump.bodies)

    assert ask("event 1 time") == ask("lift-off 1 time") == ask("lift-off 1 of front time")
    assert ask("lift-off 1 of rear time") == ask("event 2 time") == jump.events[1].t
    assert ask("collision 1 of rear time") == ask("event 4 time")
    assert ask("number of events") == 4
    assert ask("number of collisions") == 2
    assert ask("number of hand-overs") == 0
    assert ask("collision 2 impulse[rear:low, normal]") == pytest.approx(190.4696, abs=1e-3)
    assert ask("collision 2 gain") == jump.events[3].gain
    assert math.isnan(ask("collision 3 time"))
    assert math.isnan(ask("collision 1 impulse[rear:low, normal]"))
    assert parse_event("final lean", whipple()) is None
    assert parse_event("event 2 energy", whipple()) == EventQuery("energy", 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colision 1 time", "Did you mean 'collision'"),
        ("event 0 time", "counted from 1"),
        ("event 1 tiem", "Did you mean 'time'"),
        ("event 1 of raer time", "Did you mean 'rear'"),
        ("event 1 impulse", "Write 'event 1 impulse[rear:ground, normal]'"),
        ("event 1 impulse[raer:ground, normal]", "Did you mean 'rear'"),
        ("event 1 time[rear]", "takes no labels"),
        ("number of landings", "no 'landing'"),
    ],
)
def test_wrong_queries_about_events(text, message):
    with pytest.raises(ParameterError) as told:
        parse_query(text, whipple())
    assert message in str(told.value)


def test_no_curve_is_laid_across_a_jump():
    t = np.array([0.0, 0.1, 0.2, 0.3, 0.3, 0.4, 0.5, 0.6])
    assert first_crossings(t[None], np.where(np.arange(8) < 4, t - 1.0, t + 1.0)[None]) == 0.3
    falling = np.where(np.arange(8) < 4, 1.0, 1.0 - 4.0 * (t - 0.3))
    assert first_crossings(t[None], falling[None]) == pytest.approx(0.55, abs=1e-12)
    assert first_crossings(t[None, :6], falling[None, :6] - 0.8) == pytest.approx(0.35, abs=1e-12)


def test_a_wrong_number_is_found(mine):
    block = "[[expected]]\ntitle = 'x'\norigin = 'law'\natol = 1e-9\nvalues.'event 1 time' = 0.2\n"
    result = run(load(mine(HEAD + PLANE + DROP + block)))
    (found,) = compare_expected(result)
    assert not found.agrees
    assert found.ours == pytest.approx(math.sqrt(0.2 / 9.81), abs=1e-12)


MOVING = (
    "[terrain]\nshape = 'faces'\nfaces = [{{name = 'a', normal = [0, 0, 1], motion = {{{}}}}}]\n"
)

WRONG = [
    (
        "[terrain]\nslope = 0.1\ndrop = 1.0\n",
        "terrain.shape: is missing. Possible values: plane, ramp",
    ),
    (
        "[terrain]\nshape = 'plan'\n",
        "terrain.shape = 'plan': unknown shape of ground. Did you mean 'plane'?",
    ),
    ("[terrain]\nshape = 'plane'\nslop = 0.1\n", "terrain.slop: is unknown. Did you mean 'slope'?"),
    ("[terrain]\nshape = 'ramp'\nslope = '10deg'\n", "terrain.drop: is missing"),
    (
        "[terrain]\nshape = 'ramp'\nslope = '10deg'\ndrop = -1\n",
        "terrain.drop = -1: the drop -1 m must be greater than zero",
    ),
    (
        "[terrain]\nshape = 'kerb'\nat = 1\nrise = 0\n",
        "terrain: kerb: rise = 0.0 m must be a finite number other than zero",
    ),
    ("[terrain]\nshape = 'mesh'\nfile = 'no.stl'\n", "no.stl': the file does not exist"),
    (
        "[terrain]\nshape = 'mesh'\nfile = 'road.dae'\n",
        "is not a mesh file; supported formats: .stl, .obj, .ply",
    ),
    ("[terrain]\nshape = 'mesh'\n", "needs either a file, or points and triangles"),
    (
        "[terrain]\nshape = 'heights'\nx = [0, 1]\ny = [0, 1]\nz = [[0, 0, 0], [0, 0, 0]]\n",
        "z needs 2 rows (one per x) of 2 heights (one per y)",
    ),
    (
        "[terrain]\nshape = 'faces'\nfaces = [{name = 'a', normal = [0, 0]}]\n",
        "terrain.faces[0].normal = [0, 0]: [0, 0] is not a list of three numbers",
    ),
    (
        "[terrain]\nshape = 'faces'\nfaces = [{name = 'a', normal = [0, 0, 0]}]\n",
        "'a': (0.0, 0.0, 0.0) is not a direction in space",
    ),
    (
        "[terrain]\nshape = 'faces'\nfaces = [{name = 'a', normal = [0, 0, 1], ofset = 1}]\n",
        "terrain.faces[0].ofset: is unknown. Did you mean 'offset'?",
    ),
    (
        "[terrain]\nshape = 'faces'\n"
        "faces = [{name = 'a', normal = [0, 0, 1]}, {name = 'a', normal = [1, 0, 0]}]\n",
        "several faces or edges have the name 'a'",
    ),
    (MOVING.format(""), "terrain.faces[0].motion = {}: needs one of slide, shake and turn"),
    (MOVING.format("shake = [0, 0, 1]"), "a shake needs a rate"),
    (MOVING.format("slid = [0, 0, 1]"), "is unknown. Did you mean 'slide'?"),
    (PLANE + "[contact]\nimpact = 'neuton'\n", "Unknown impact 'neuton'. Did you mean 'newton'?"),
    (PLANE + "[contact]\nrestitution = {normal = 0.5}\n", "'plastic' has no such coefficient"),
    (
        PLANE + "[contact]\nimpact = 'newton'\nrestitution = {normal = 1.5}\n",
        "contact.restitution.normal = 1.5: must be between 0 and 1",
    ),
    (PLANE + "[contact]\nimpact = 'plastic'\nmu = 0.8\n", "with friction use impact = 'moreau'"),
    (PLANE + "[contact]\nmu = -1\n", "contact.mu = -1: -1 is negative"),
    (
        PLANE + "[contact]\nimpact = 'moreau'\nmu = {raer = 1}\n",
        "contact.mu.raer = 1.0: no such wheel. Did you mean 'rear'?",
    ),
    (PLANE + "[contact]\nstops = {ster = [-1, 1]}\n", "no such joint. Did you mean 'steer'?"),
    (
        PLANE + "[contact]\nstops = {steer = [1, -1]}\n",
        "the lower end must be smaller than the upper",
    ),
    (PLANE + "[contact]\nstops = {steer = 1}\n", "1 is not a list of two numbers"),
    (PLANE + "[contact]\nresolution = 'whole'\n", "must be 'complete' or 'reduced'"),
    ("[contact]\nimpact = 'newton'\n", "contact: needs a terrain; add [terrain]"),
    (PLANE + "initial.place = {wheel = 'raer', centre = [0, 0, 1]}\n", "Did you mean 'rear'?"),
    (
        PLANE + "initial.place = {wheel = 'rear', centre = [0, 0]}\n",
        "[x, y] with the face on which the machine starts",
    ),
    (
        PLANE + "initial.place = {wheel = 'rear', centre = [0, 0], on = 'groud'}\n",
        "initial.place.on = 'groud': no such face. Did you mean 'ground'?",
    ),
    (
        PLANE + "initial.place = {wheel = 'rear'}\n",
        "needs the centre of a wheel as [x, y, z], or the face",
    ),
    (PLANE + "initial.place = 3\n", "initial.place = 3: must be a table"),
    (
        PLANE + "run.integrator = 'rk4'\n",
        "has no effect on a terrain, which has its own integrator",
    ),
    (PLANE + "run.mode = {rear = 'open'}\n", "contacts open and close during the run"),
    ("run.events = 9\n", "run.events = 9: needs a terrain"),
    (PLANE + "run.fall = -1.0\n", "run.fall = -1.0: -1 is negative"),
    (PLANE + "run.events = 0\n", "run.events = 0"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_mistakes_in_the_ground_are_reported(mine, text, message):
    tables = "".join(x for x in text.splitlines(True) if not x.startswith(("initial.", "run.")))
    keys = "".join(x for x in text.splitlines(True) if x.startswith(("initial.", "run.")))
    content = (
        f"kind = 'run'\ntitle = 'x'\nvehicle.name = 'whipple'\nrun.until = 1.0\n{keys}{tables}"
    )
    with pytest.raises(DataError) as told:
        load(mine(content))
    assert message in str(told.value)
    assert "a mistake" in str(told.value)


def test_a_blade_on_a_terrain_is_reported(mine):
    text = "kind = 'run'\ntitle = 'x'\nvehicle.name = 'chaplygin_sleigh'\nrun.until = 1.0\n" + PLANE
    with pytest.raises(DataError, match="blade 'runner' has no normal force"):
        load(mine(text))


def test_a_damaged_mesh_is_reported(mine, tmp_path):
    path = mine(HEAD + "[terrain]\nshape = 'mesh'\nfile = 'road.obj'\n" + DROP)
    (tmp_path / "road.obj").write_text("v 0 0 zero\n")
    with pytest.raises(DataError, match=r"road.obj is damaged"):
        run(load(path))


def test_the_schema_knows_the_ground():
    found = schema()
    json.dumps(found, allow_nan=False)
    assert {"PlaneGround", "RampGround", "MeshGround", "ContactTable"} <= set(found["$defs"])


def test_another_shape_drops_dimensions_of_the_old_one():
    """The start moves to the first face of the new ground: on a plane it stands as the plane does."""
    kerb = {"terrain.shape": "kerb", "terrain.at": 3.0, "terrain.rise": 0.05}
    with pytest.warns(
        UserWarning, match=r"terrain\.slope = '10deg', terrain\.drop = 0\.5 of the ramp"
    ):
        content = load("ramp-jump", kerb).content
    assert content["terrain"] == {"shape": "kerb", "at": 3.0, "rise": 0.05}
    assert content["initial"]["place"]["on"] == "before"
    plane = {"terrain.shape": "plane", "terrain.slope": "5deg", "run.until": 0.01}
    with pytest.warns(UserWarning, match=r"terrain\.drop = 0\.5 of the ramp is left out"):
        data = run(load("ramp-jump", plane)).data
    assert float(data.pitch[0]) == pytest.approx(-math.radians(5.0), abs=1e-12)


@pytest.mark.parametrize("shape", ["kerb", "corner", "ramp"])
@pytest.mark.filterwarnings("ignore:The shape .* has other dimensions")
def test_the_suggested_options_for_another_shape_work(shape):
    """The message suggests options for missing dimensions; with them the scenario runs."""
    scenario = "ramp-jump" if shape != "ramp" else "wheelie-held"
    with pytest.raises(DataError, match=rf"Example: --set terrain\.shape={shape} ") as caught:
        load(scenario, {"terrain.shape": shape})
    told = re.findall(r"--set (\S+)=(\S+?)\.?(?= |$)", str(caught.value))
    changes = {name: x if x[:1].isalpha() or "deg" in x else float(x) for name, x in told}
    ended = run(load(scenario, changes | {"run.until": 0.2})).outcome
    assert ended == "completed"
