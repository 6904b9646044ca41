"""Commands do what they say, and say what they did."""

import gc
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import draisine
from draisine.analysis.equilibrium import steady
from draisine.cli import main

PASSIVE = "mauny2018/passive-stabilisation"


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Return what a command prints, after checking its exit code."""
    assert main(list(arguments)) == code
    return capsys.readouterr().out


def test_without_arguments_it_suggests_first_commands(capsys):
    out = said(capsys)
    for command in ("run", "list", "show whipple", "check", "equations whipple"):
        assert f"draisine {command}" in out


def test_run_without_arguments_leaves_data_and_a_figure(capsys):
    out = said(capsys, "run")
    assert "4.6224 │" in out
    assert "data: passive-stabilisation.nc" in out
    assert "figure: passive-stabilisation.png" in out
    assert sorted(os.listdir()) == ["passive-stabilisation.nc", "passive-stabilisation.png"]
    assert Path("passive-stabilisation.png").read_bytes().startswith(b"\x89PNG")


def test_json_is_one_object_in_si(capsys):
    found = json.loads(said(capsys, "run", PASSIVE, "--json"))
    assert " ".join(found) == (
        "scenario vehicle parameters final energy maximum_gap events validity outcome seconds"
    )
    assert found["final"]["forward_speed"] == pytest.approx(4.622437, abs=1e-6)
    assert found["final"]["lean"] == pytest.approx(0.010342440644693847, abs=1e-9)
    assert found["energy"]["maximum_relative_drift"] < 1e-12
    assert found["maximum_gap"] < 1e-11
    assert found["events"] == []
    assert found["outcome"] == "completed"
    assert found["seconds"] > 0


SLOW = ("run", PASSIVE, "--initial", "forward_speed=1", "--until", "3")


def judged(capsys, *arguments):
    """Return what a command prints, and its complaint: it runs, and the result is not valid."""
    assert main(list(arguments)) == 1
    return capsys.readouterr()


def test_an_invalid_run_is_reported(capsys):
    """Ideal wheels hold the bicycle by pulling; the scenario's title promises that it stays up."""
    title = "steadies itself"
    assert title in said(capsys, "run", PASSIVE)
    out, complaint = judged(capsys, *SLOW)
    assert "not physically valid: from" in out
    assert title not in out
    assert complaint.startswith("error: The run is not physically valid: from")
    found = json.loads(judged(capsys, *SLOW, "--json")[0])["validity"]
    assert found["pull_from"] is not None or found["fall_from"] is not None
    needy = judged(capsys, "run", PASSIVE, "--mu", "0.01", "--json")[0]
    needy = json.loads(needy)["validity"]
    assert 0.0 <= needy["friction_exceeded_from"] < 5.0
    assert needy["friction_needed"] > 0.01


def test_a_run_fails_unless_its_scenario_expects_its_faults(capsys):
    """A wheelie that is meant to fall does; a push that is too strong is not meant to."""
    assert "fell: lean beyond 45 deg" in said(capsys, "run", "wheelie-gyroscope")
    hard = ["run", PASSIVE, "--initial", "lean_rate=3"]
    out, complaint = judged(capsys, *hard)
    assert "fell: it turned over" in out
    assert complaint.count("it has fallen") == 1 and "note:" not in complaint
    assert 'run.expects = ["pull", "steer", "fall"]' in complaint
    freely = judged(capsys, *hard, "--set", "run.fall=inf", "--until", "0.75")
    assert "completed" in freely[0] and "fallen" not in freely[1]


def test_a_vehicle_reports_unchanged_initial_values(capsys):
    """Asked for a lean, a bicycle was pushed, too, by the scenario that stands for it."""
    with pytest.warns(
        UserWarning, match=r"Unchanged initial values: forward_speed = 4.6, lean_rate = 0.5\."
    ):
        draisine.run("whipple", changes={"initial.lean": 0.1, "run.until": 0.01})
    main(["run", "whipple", "--initial", "lean=0.1", "--until", "0.01"])
    assert (
        "Unchanged initial values: forward_speed = 4.6, lean_rate = 0.5." in capsys.readouterr().err
    )


def test_unused_tolerances_are_reported_for_fixed_steps(capsys):
    main(["run", "mauny2018/incline", "--integrator", "rk4", "--until", "0.1"])
    assert (
        "run.rtol = 1e-13 of the scenario is not used: rk4 takes equal" in capsys.readouterr().err
    )


def test_a_ride_is_repeated_without_options(capsys, monkeypatch):
    monkeypatch.setattr("draisine.cli.run.load_ride", lambda *_: "a ride")
    assert main(["run", "ride.nc", "--until", "3"]) == 2
    assert "ride.nc is a ride, which is repeated without changes" in capsys.readouterr().err


def test_a_strict_run_stops_where_it_could_not_have_been(capsys):
    assert main([*SLOW, "--strict"]) == 1
    assert "s the ground would have to pull" in capsys.readouterr().err


def test_changes_on_the_command_line(capsys):
    out = said(
        capsys, "run", PASSIVE, "--set", "mB=90", "--set", "lam=20deg", "--initial", "lean=5deg",
        "--until", "0.2", "--dt", "0.01", "--integrator", "abm4", "--json",
    )  # fmt: skip
    found = json.loads(out)
    assert found["parameters"]["mB"] == 90.0
    assert found["parameters"]["lam"] == pytest.approx(0.3490658503988659)
    assert found["final"]["time"] == 0.2
    other = said(
        capsys, "run", PASSIVE, "--parameter-set", "thesis_table_2_1", "--until", "0.1", "--json"
    )
    assert json.loads(other)["energy"]["start"] == pytest.approx(1837.3862817349482, rel=1e-12)


def test_results_are_written_drawn_and_repeated(capsys):
    out = said(capsys, "run", PASSIVE, "--until", "1", "--out", "a.zarr", "--plot", "a.svg")
    assert "data: a.zarr" in out
    assert "<svg" in Path("a.svg").read_text()
    said(capsys, "run", "a.zarr", "--out", "b.nc")
    said(capsys, "run", PASSIVE, "--until", "1", "--out", "c.csv")
    for figure in ("histories", "forces", "top"):
        assert "figure" in said(
            capsys, "plot", "b.nc", "--figure", figure, "--out", f"{figure}.png"
        )
    said(capsys, "plot", "b.nc", "--series", "yaw", "--out", "yaw.pdf")
    said(capsys, "plot", "b.nc", "--figure", "phase", "--series", "lean,steer", "--out", "p.jpg")
    assert not [name for name in os.listdir() if name.startswith(".")]
    assert main(["plot", "b.nc", "--figure", "maps"]) == 2
    assert main(["plot", "b.nc", "--figure", "topp"]) == 2
    assert main(["plot", "b.nc", "--figure", "top", "--series", "lean"]) == 2


def test_maps_run_and_are_drawn(capsys):
    Path("small.toml").write_text(
        'kind = "map"\ntitle = "x"\nvehicle.name = "whipple"\n[map]\noutputs = ["beta", "pitch"]\n'
        'x = { name = "lean", low = 0, high = "30deg", count = 3 }\n'
        'y = { name = "steer", low = 0, high = "30deg", count = 4 }\n'
    )
    out = said(capsys, "run", "small.toml", "--out", "map.nc", "--plot", "map.png")
    assert "12 configurations" in out
    found = json.loads(said(capsys, "run", "small.toml", "--json"))
    assert set(found["ranges"]) == {"beta", "pitch"}
    assert "figure: map-2.png" in said(capsys, "plot", "map.nc")


def test_check_agrees_and_disagrees(capsys):
    out = said(capsys, "check", "basumandal2007/accelerations")
    assert "17 quantities" in out
    assert "steer_acceleration" in out
    Path("wrong.toml").write_text(
        'kind="run"\ntitle="x"\nvehicle.name="whipple"\ninitial.forward_speed=5\nrun.until=0.1\n'
        '[[expected]]\ntitle="too fast"\norigin="law"\natol=0.1\nvalues."final forward_speed"=6\n'
    )
    out = said(capsys, "check", "wrong.toml", "basumandal2007/accelerations", code=1)
    assert "1 DISAGREE" in out
    assert "17 of 18 quantities agree" in out
    found = json.loads(said(capsys, "check", "wrong.toml", "--json", code=1))
    assert found["wrong"][0]["agrees"] is False


def test_check_of_a_folder_names_the_disputed_numbers(capsys, monkeypatch):
    """Document, place, printed and computed value and reason of each; nothing if no number is disputed."""
    inside = ["escalona2012/eigenvalues", "mauny2018/rocr-gait-a", "meijaard2007/matrices"]
    monkeypatch.setattr("draisine.scenario.library.expand_folder", lambda where: inside)
    listing = " ".join(said(capsys, "check").partition("Disputed numbers")[2].split())
    for place in (
        "escalona2012/eigenvalues, section 6, end of the stable range: Their parameters are those of",
        "stable_to: printed 6.8, computed 6.02426",
        "mauny2018/rocr-gait-a, section 1.7.8, torque of the motor: The text says that a motor",
        "peak_torque[tail]: printed 0.5, computed 0.5395",
    ):
        assert place in listing
    monkeypatch.setattr("draisine.scenario.library.expand_folder", lambda where: inside[2:] * 2)
    assert "Disputed" not in said(capsys, "check")


def test_a_run_that_stops_reports_why_and_writes_its_data(capsys, monkeypatch):
    from draisine.simulation.integrators import dop853

    def impatient(*_given):
        raise KeyboardInterrupt

    said(capsys, "run", PASSIVE, "--until", "0.1")
    monkeypatch.setattr(dop853, "advance", impatient)
    assert main(["run", PASSIVE, "--out", "part.nc", "--animate", "part.gif"]) == 1
    told = capsys.readouterr()
    assert not Path("part.gif").exists()
    assert "interrupted after 0 s of 5 s" in told.err
    assert "data: part.nc" in told.out
    assert Path("part.nc").exists()


def test_lists(capsys):
    out = said(capsys, "list", "all")
    for name in ("whipple", PASSIVE, "benchmark", "dop853", "turn_pi", "javascript", "overview"):
        assert name in out
    assert said(capsys, "list", "integrators").split()[0] == "integrators"
    one_screen = said(capsys, "list")
    assert len(one_screen.splitlines()) < 40
    assert "rattleback" in one_screen
    found = json.loads(said(capsys, "list", "--json"))
    assert "passive-stabilisation" in " ".join(found["scenarios"])


def test_terrains_are_listed_with_all_measures_of_the_schema(capsys):
    """The list reads their file; the schema is what a scenario is held to."""
    from draisine.scenario.terrain import GROUND_TABLES

    listed = json.loads(said(capsys, "list", "terrains", "--json"))["terrains"]
    assert list(listed) == list(GROUND_TABLES)
    for shape, ground in GROUND_TABLES.items():
        assert listed[shape].endswith(
            "Dimensions: " + ", ".join(name for name in ground.model_fields if name != "shape")
        )


def test_show_lists_couplings_and_redundant_rows(capsys):
    out = " ".join(said(capsys, "show", "car").split())
    assert "13 speeds, 11 constraints: 2 degrees of freedom" in out
    assert "coupling left_link: steer, left_steer" in out
    assert "row rear_right.across is redundant with rear_left.across (always)" in out


def test_show(capsys):
    out = said(capsys, "show", "whipple", "--plot", "whipple.svg")
    for text in ("9 speeds, 6 constraints: 3 degrees of freedom", "wheelbase", "forward_speed"):
        assert text in out
    assert "not modelled: tyre slip, rolling resistance, aerodynamic drag" in out
    assert Path("whipple.svg").exists()


@pytest.mark.parametrize(
    ("language", "text"),
    [("c", "void rate("), ("python", "def rate("), ("javascript", "function"), ("json", '"steps"')],
)
def test_equations(capsys, language, text):
    assert text in said(capsys, "equations", "whipple", "--as", language)


def test_eigenvalues(capsys):
    out = said(capsys, "eigenvalues", "--plot", "eig.png", "--out", "eig.csv")
    assert "4.29238253634 m/s" in out
    assert "stable from 4.29238 m/s to 6.02426 m/s" in out
    assert Path("eig.png").exists()
    assert Path("eig.csv").read_text().startswith("speed,eigenvalue_real[weave]")
    found = json.loads(said(capsys, "eigenvalues", "--speed", "4:5:2", "--set", "mB=90", "--json"))
    assert found["speed"] == [4.0, 5.0]
    assert len(found["eigenvalues"]["real"]["weave"]) == 2


def test_steady_circles(capsys):
    """From the capsize speed (Meijaard et al. 2007) to the static end (Basu-Mandal et al. 2007)."""
    out = said(capsys, "steady", "--plot", "circles.png", "--out", "circles.nc")
    assert "6.02426201539 m/s (capsize speed)" in out
    assert "to rest with lean 0 deg and steer -76.7614 deg" in out
    assert "no circle is stable" in out
    assert "straight" in out
    assert Path("circles.png").read_bytes().startswith(b"\x89PNG")
    assert "figure: again.svg" in said(capsys, "plot", "circles.nc", "--out", "again.svg")
    found = json.loads(said(capsys, "steady", "whipple", "--json"))
    motions = found["motions"]
    assert motions["rear_wheel_speed"][0] == pytest.approx(6.0242620153883589, rel=1e-12)
    assert motions["radius"][0] is None
    assert motions["steer"][-1] == pytest.approx(-1.3397399115, abs=1e-9)
    assert motions["rear_wheel_speed"][-1] == pytest.approx(0.0, abs=1e-12)
    assert motions["radius"][-1] == pytest.approx(motions["radius"][-2], rel=0.05)
    assert not any(motions["stable"])
    assert {len(column) for column in motions.values()} == {len(motions["lean"])}


def test_steady_circles_of_other_bicycles(capsys):
    out = said(capsys, "steady", "--family", "reversed", "--out", "circles.csv")
    assert "from straight running at 7.90081190244 m/s" in out
    assert "circles are stable, at speeds from 4.58" in out
    assert Path("circles.csv").read_text().startswith("motion,rear_wheel_speed,")
    heavy = json.loads(said(capsys, "steady", "--set", "mB=90", "--json"))
    assert heavy["parameters"]["mB"] == 90.0
    assert heavy["motions"]["rear_wheel_speed"][0] != pytest.approx(6.0242620153883589, abs=1e-3)


def test_straight_running_on_an_inclined_plane(capsys):
    line = ("steady", "car", "--speed", "10", "--slope", "3deg", "--camber", "5deg")
    out = said(capsys, *line, "--plot", "car.png", "--out", "car.nc")
    assert "straight running at 10 m/s, slope 3 deg, camber 5 deg" in out
    assert Path("car.png").is_file()
    found = json.loads(said(capsys, *line, "--json"))
    system = draisine.compile("car")
    weight = 9.81 * sum(body.mass for body in system.model.bodies)
    total = [sum(column) for column in zip(*found["contact_force"], strict=True)]
    angles = math.radians(3.0), math.radians(5.0)
    across = weight * math.cos(angles[0]) * math.sin(angles[1])
    assert total[1:] == pytest.approx([weight * math.sin(angles[0]), across], rel=1e-8)
    assert draisine.load("car.nc").attrs["vehicle"] == "car"


@pytest.mark.parametrize(
    ("options", "hint"),
    [(("--slope", "3deg"), "give a speed"), (("--camber", "3deg", "--radius", "9"), "leave out")],
)
def test_circles_on_an_inclined_plane_are_refused(capsys, options, hint):
    assert main(["steady", *options]) != 0
    assert hint in capsys.readouterr().err


CROWNED_ROAD = """
kind = "run"
title = "a bicycle beside the crown of a road"
[vehicle]
name = "whipple"
[terrain]
shape = "road"
x = [-60.0, 60.0]
y = [-15.0, 15.0]
z = "-0.02*y**2"
[initial.steady]
free = ["steer", "rear_wheel"]
forward_speed = 5.0
y = 2.0
yaw = 0.0
[run]
until = 1.0
"""


def test_a_steady_motion_on_the_ground_of_a_scenario(capsys):
    """The bicycle is upright beside the crown; the contact forces balance its weight on a slope of 0.04 y."""
    Path("crown.toml").write_text(CROWNED_ROAD, encoding="utf-8")
    assert "beside the crown" in said(capsys, "steady", "--scenario", "crown.toml")
    faster = ("--set", "initial.steady.forward_speed=6", "--out", "motion.nc")
    found = json.loads(said(capsys, "steady", "--scenario", "crown.toml", *faster, "--json"))
    system = draisine.compile("whipple")
    weight = 9.81 * sum(body.mass for body in system.model.bodies)
    total = [sum(column) for column in zip(*found["contact_force"], strict=True)]
    bank = math.atan(0.04 * 2.0)
    wanted = [weight * math.cos(bank), 0.0, -weight * math.sin(bank)]
    assert total == pytest.approx(wanted, abs=1e-6 * weight)
    motion = draisine.load("motion.nc")
    values = dict(zip(motion["quantity"].values, motion.motion.values, strict=True))
    assert values["forward_speed"] == pytest.approx(6.0, abs=1e-9)
    assert values["lean"] == pytest.approx(0.0, abs=1e-9)


def test_eigenvalues_on_the_ground_of_a_scenario(capsys):
    """Over the speed, and at the motion of the scenario: the eigenvalues of the same motions in Python."""
    Path("crown.toml").write_text(CROWNED_ROAD, encoding="utf-8")
    line = ("eigenvalues", "--scenario", "crown.toml")
    assert "about steady motions" in said(capsys, *line)
    options = ("--speed", "5,6", "--set", "initial.steady.y=1.0", "--plot", "locus.png", "--json")
    found = json.loads(said(capsys, *line, *options))
    assert Path("locus.png").exists()
    system = draisine.compile("whipple")
    crown = draisine.terrain.road(lambda x, y: -0.02 * y**2, (-60.0, 60.0), (-15.0, 15.0))
    for k, speed in enumerate((5.0, 6.0)):
        motion = steady(
            system, free=["steer", "rear_wheel"], forward_speed=speed, y=1.0, yaw=0.0, terrain=crown
        )
        wanted = sorted(motion.linear().eigenvalues().real)
        assert sorted(found["eigenvalue_real"][k]) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("car", "--scenario", "crown.toml", "--camber", "0.1"), "Leave out --camber and car"),
        (("--scenario", "mauny2018/ramp-jump"), "Give it a table [initial.steady]"),
        (("--scenario", "crown.toml", "--lean", "0:0.1:3"), "forward_speed, y, yaw"),
    ],
)
def test_eigenvalues_of_unsuitable_scenarios_are_refused(capsys, options, hint):
    Path("crown.toml").write_text(CROWNED_ROAD, encoding="utf-8")
    assert main(["eigenvalues", *options]) != 0
    assert hint in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("motorcycle", "--scenario", "mauny2018/ramp-jump"), "Leave out motorcycle"),
        (("--scenario", "mauny2018/ramp-jump", "--speed", "5"), "Leave out --speed"),
        (("--scenario", "mauny2018/ramp-jump"), "Give it a table [initial.steady]"),
    ],
)
def test_scenarios_without_one_steady_motion_are_refused(capsys, options, hint):
    assert main(["steady", *options]) != 0
    assert hint in " ".join(capsys.readouterr().err.split())


def test_a_lean_on_a_cambered_road_is_refused(capsys):
    assert main(["eigenvalues", "--speed", "5", "--camber", "5deg", "--lean", "3deg"]) != 0
    assert "--camber and --lean over-determine" in " ".join(capsys.readouterr().err.split())


def test_steady_turns_of_a_motorcycle(capsys):
    out = said(capsys, "steady", "motorcycle", "--speed", "20", "--plot", "turns.png")
    assert "to 20 m/s with lean 50 deg" in out
    assert Path("turns.png").read_bytes().startswith(b"\x89PNG")
    turn = ("steady", "motorcycle", "--speed", "20", "--lean", "20deg")
    assert "at the rear wheel" in said(capsys, *turn, "--plot", "ride.png")
    assert Path("ride.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("over", "option"),
    [("lean", "0:20deg:3"), ("slope", "0:0.3:3"), ("acceleration", "-2:2:3")],
)
def test_root_loci(capsys, over, option):
    line = ("eigenvalues", "--speed", "5", f"--{over}={option}", "--plot", "locus.png")
    out = said(capsys, *line, "--out", "locus.nc")
    assert over in out
    assert Path("locus.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads(said(capsys, *line[:4], "--json"))
    assert len(found["value"]) == len(found["eigenvalue_real"]) == 3
    assert found["end"] == ""
    assert "figure: again.svg" in said(capsys, "plot", "locus.nc", "--out", "again.svg")


def test_root_loci_of_closed_loops(capsys):
    """A rider with delay, uphill: his command alone decides the title and the drive."""
    line = ("eigenvalues", "--speed", "5", "--slope", "0,0.1", "--law", "follow_path,delay=0.2")
    out = said(capsys, *line, "--plot", "rider.svg", "--no-title")
    assert "law follow_path" in out
    assert "eigenvalues over slope" not in Path("rider.svg").read_text(encoding="utf-8")


def test_animations(capsys):
    out = said(capsys, "run", PASSIVE, "--until", "0.4", "--out", "a.nc", "--animate", "a.gif")
    assert "film: a.gif" in out
    assert Path("a.gif").read_bytes().startswith(b"GIF89a")
    assert said(capsys, "animate", "a.nc") == "replay: a.html\n"
    page = Path("a.html").read_text(encoding="utf-8")
    assert "http" not in page
    assert '"title":"A riderless push' in page
    assert said(capsys, "animate", "a.nc", "--out", "b.html") == "replay: b.html\n"
    out = said(capsys, "animate", "a.nc", "slow.gif", "--fps", "5", "--speed", "0.5")
    assert out == "film: slow.gif\n"
    found = json.loads(said(capsys, "run", "a.nc", "--animate", "b.html", "--json"))
    assert found["final"]["time"] == 0.4
    assert Path("b.html").exists()
    assert sorted(os.listdir()) == ["a.gif", "a.html", "a.nc", "b.html", "slow.gif"]


def test_another_formulation(capsys):
    out = said(capsys, "run", PASSIVE, "--formulation", "planar", "--until", "0.1", "--json")
    fast = said(capsys, "run", PASSIVE, "--until", "0.1", "--json")
    ours, theirs = (json.loads(text)["final"] for text in (fast, out))
    assert theirs["lean"] == pytest.approx(ours["lean"], abs=1e-9)


@pytest.mark.parametrize("name", ["absolute", "multiplier", "partitioned", "planar"])
def test_equations_of_other_formulations(capsys, name):
    """Whatever their coordinates, they have masses and rows of constraints, computed in order."""
    found = json.loads(said(capsys, "equations", "whipple", "--as", "json", "--formulation", name))
    assert found["name"] == {"multiplier": "free"}.get(name, name)
    assert bool(found["parameters"]) == (name == "multiplier")
    assert {"M", "b", "c"} <= set(found["outputs"])
    for k, (op, *arguments) in enumerate(found["steps"]):
        assert op in ("input", "const") or all(i < k for i in arguments)


def test_several_cycles_are_no_motion(capsys):
    said(capsys, "cycles", "--out", "cycles.nc")
    for wrong in (["plot", "cycles.nc", "--figure", "top"], ["animate", "cycles.nc"]):
        assert main(wrong) == 2
        assert "has 2 cycles" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["tex", "html", "md", "py", "wl", "mpl", "m", "c"])
def test_equations_to_read_in_a_file(capsys, ending):
    out = said(capsys, "equations", "cart_pole", "--as", "paper", "--out", f"page.{ending}")
    assert out == f"equations: page.{ending}\n"
    assert "theta" in Path(f"page.{ending}").read_text() or ending == "html"


def test_equations_to_read_on_the_screen(capsys):
    text = said(capsys, "equations", "whipple", "--as", "paper", "--form", "thesis")
    assert r"\documentclass" in text and r"\alpha_{1}" in text
    assert "Multipliers" in said(
        capsys, "equations", "rolling_disc", "--as", "markdown", "--detail", "full"
    )
    assert "K_{0,11}" in said(capsys, "equations", "whipple", "--as", "paper", "--linear")


@pytest.mark.parametrize("how", [[], ["--as", "c"], ["--as", "matlab"], ["--as", "latex"]])
def test_linear_equations_are_linear_in_every_language(capsys, how):
    """No language writes the nonlinear program where the linear one is asked for."""
    text = said(capsys, "equations", "whipple", "--linear", *how)
    assert "Straight running" in text and ("K_{0,11}" in text or "K_0_11 = " in text)


@pytest.mark.parametrize("ending", ["tex", "html", "md", "py", "wl", "mpl", "m", "c"])
def test_linear_equations_of_the_motorcycle_in_a_file(capsys, ending):
    said(capsys, "equations", "motorcycle", "--linear", "--out", f"page.{ending}")
    text = Path(f"page.{ending}").read_text()
    assert "Straight running" in text and "states of the force elements" in text


def test_linear_equations_have_a_matrix_for_dampers(capsys):
    wanted = ["equations", "whipple", "--linear", "--set", "flexible.steer_damper=2"]
    assert "C_0_22 = flexible_steer_damper;" in said(capsys, *wanted, "--as", "c")


def test_linear_equations_in_a_file_of_source_code(capsys):
    said(capsys, "equations", "whipple", "--linear", "--out", "lin.c")
    assert "Straight running" in Path("lin.c").read_text()


def test_equations_in_a_file(capsys):
    out = said(capsys, "equations", "rolling_disc", "--as", "latex", "--out", "disc.tex")
    assert out == "equations: disc.tex\n"
    assert r"\documentclass" in Path("disc.tex").read_text()
    wanted = ["equations", "whipple", "--as", "c", "--mode", "front=open", "--set", "slope=10deg"]
    assert "27" in said(capsys, *wanted)


def test_schema(capsys):
    assert "MapScenario" in said(capsys, "schema")


@pytest.mark.parametrize(
    ("command", "heavy", "told"),
    [("--help", "numpy ", "Commands"), ("list", "", "heights")],
)
def test_help_and_lists_are_there_at_once_and_import_nothing_heavy(command, heavy, told):
    code = (
        "import sys\nfrom draisine.cli import main\n"
        f"try:\n    main(['{command}'])\nexcept SystemExit:\n    pass\n"
        f"heavy = set('{heavy}scipy llvmlite xarray pydantic matplotlib'.split())\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert told in done.stdout


def test_commands_called_from_python_leave_the_collector_of_garbage_alone(capsys):
    before = gc.get_threshold()
    said(capsys, "list", "vehicles")
    assert gc.get_threshold() == before


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((-1 + 2j, -1 - 2j), "-1 ±2i"),
        ((-3.0, -1 + 2j), "-3, -1 +2i"),
        ((-3.0, -4.0), "-3, -4"),
        ((-5.0,), "-5"),
    ],
)
def test_conjugate_pairs_of_eigenvalues_are_printed_as_one(values, told):
    import xarray

    from draisine.cli._report import _format_eigenvalues

    names = ["tyre", "tyre_2"][: len(values)]
    row = xarray.Dataset(
        {
            "eigenvalue_real": ("eigenmode", [complex(z).real for z in values]),
            "eigenvalue_imaginary": ("eigenmode", [complex(z).imag for z in values]),
        },
        {"eigenmode": names},
    )
    assert _format_eigenvalues(row, names) == told
