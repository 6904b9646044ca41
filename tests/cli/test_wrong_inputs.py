"""Wrong inputs: one helpful message on stderr, exit code 2, no traceback, nothing left behind."""

from pathlib import Path

import pytest

from draisine.cli import main

GOOD = """
kind = "run"
title = "a push"

[vehicle]
name = "whipple"

[initial]
forward_speed = 5.0

[run]
until = 0.1
"""

MAP = """
kind = "map"
title = "angles"
vehicle.name = "whipple"
[map]
outputs = ["beta"]
x = { name = "lean", low = 0, high = "30deg", count = 3 }
y = { name = "steer", low = 0, high = "30deg", count = 4 }
"""

SWEEP = """
kind = "sweep"
title = "steps"
vehicle.name = "whipple"
run.until = 0.1
[sweep]
outputs = ["final lean"]
over."run.dt" = [0.01, 0.02]
"""

DRAWN = """
kind = "sweep"
title = "drawn"
vehicle.name = "whipple"
run.until = 0.1
[sweep]
design = "latin-hypercube"
outputs = ["final lean"]
between."initial.lean" = { low = 0.0, high = 0.1 }
"""

MANY = "{ low = 0.3, high = 0.4, count = 1000000 }"

PASSIVE = "mauny2018/passive-stabilisation"

COMMANDS = [
    (["rnu"], "run"),
    (["run", "--untill", "3"], "--until"),
    (["run", "--until", "soon"], "until"),
    (["run", "mauny2018/pasive-stabilisation"], "Did you mean 'mauny2018/passive-stabilisation'?"),
    (["run", "nowhere.toml"], "nowhere.toml: the file does not exist"),
    (["run", "."], "scenarios are .toml files"),
    (["run", "--out", "."], ". is a folder. State the name of a file"),
    *((one, "is a folder. State the name of a file") for one in (["plot", "."], ["animate", "/"])),
    (["compare", ".", "."], ". is a folder. State the name of a file"),
    (["run", PASSIVE, "--set", "mB"], "write NAME=VALUE"),
    (["run", PASSIVE, "--set", "mBB=90"], "Did you mean 'mB'?"),
    (["run", PASSIVE, "--set", "mB=ninety"], "'ninety' is not a number"),
    (["run", PASSIVE, "--set", "mB=18deg"], "'18deg' is an angle, but this is in kg"),
    (["run", PASSIVE, "--set", "lam=18 degrees"], "write a plain number (it is in rad)"),
    (["run", PASSIVE, "--set", "mB=nan"], "not a finite number"),
    (["run", PASSIVE, "--set", "mB=-5"], "mass"),
    (["run", PASSIVE, "--set", "rR=-0.3"], "rR"),
    (["run", PASSIVE, "--parameter-set", "bench"], "Did you mean 'benchmark'?"),
    (["run", PASSIVE, "--initial", "lena=0.1"], "Did you mean 'lean'?"),
    (["run", PASSIVE, "--initial", "lean=90deg"], "it stays between -90deg and 90deg"),
    (["run", PASSIVE, "--initial", "rear_wheel_rate=1", "--initial", "speed=3"], "contradict"),
    (["run", PASSIVE, "--initial", "forward_speed=18deg"], "this is in m/s"),
    (["run", PASSIVE, "--until", "-1"], "run.until = -1.0"),
    (["run", PASSIVE, "--dt", "0"], "run.dt = 0.0"),
    (["run", PASSIVE, "--integrator", "rk5"], "Did you mean 'rk4'?"),
    (["run", PASSIVE, "--out", "run.xls"], ".nc, .zarr, .csv"),
    (
        ["run", PASSIVE, "--out", "no/such/folder/run.nc"],
        "the folder 'no/such/folder' does not exist",
    ),
    (["run", PASSIVE, "--plot", "run.bmp"], ".png, .jpg, .svg, .pdf"),
    (["run", PASSIVE, "--out", "/proc/run.nc"], "/proc/run.nc: cannot be written"),
    (["run", PASSIVE, "--plot", "/proc/run.png"], "/proc/run.png: cannot be written"),
    (["run", PASSIVE, "--animate", "/proc/run.html"], "/proc/run.html: cannot be written"),
    (
        ["run", PASSIVE, "--out", "mine.zarr"],
        "mine.zarr: this path exists, but is not a Zarr store",
    ),
    (["run", PASSIVE, "--initial", "lean"], "for example --initial lean=10deg"),
    (["equations", "whipple", "--mode", "front"], "for example --mode front=open"),
    (["equations", "whipple", "--formulation", "absolut"], "Did you mean 'absolute'?"),
    (["equations", "rolling_disc", "--formulation", "planar"], "no bicycle"),
    (["equations", "whipple", "--formulation", "planar", "--mode", "front=open"], "'projected'"),
    (["check", "mauny2018/inclined"], "Did you mean 'mauny2018/incline'?"),
    (["show", "wipple"], "Did you mean 'whipple'?"),
    (["show", "mine.py:car"], "'mine.py' does not exist"),
    (["equations", "whipple", "--as", "fortran"], "language 'fortran'"),
    (["equations", "whipple", "--as", "paper", "--form", "thesi"], "Did you mean 'thesis'?"),
    (["equations", "whipple", "--as", "paper", "--out", "page.docx"], "end with '.docx'"),
    (["equations", "snakeboard", "--as", "paper", "--linear"], "this machine cannot lean"),
    (["equations", "snakeboard", "--as", "paper", "--formulation", "planar"], "no bicycle"),
    (
        ["equations", "whipple", "--linear", "--formulation", "absolute"],
        "has the projected equations only",
    ),
    (["equations", "whipple", "--as", "html", "--program", "observe"], "--as html is a page"),
    (
        ["equations", "whipple", "--program", "simulate", "--formulation", "planar", "--out", "x"],
        "--program simulate has the projected equations only",
    ),
    (
        ["equations", "--scenario", "mauny2018/ramp-jump"],
        "--scenario needs a complete simulator: --program simulate",
    ),
    (
        ["equations", "segway", "--scenario", "mauny2018/ramp-jump", "--program", "simulate"],
        "Leave out segway",
    ),
    (
        [
            "equations",
            "--scenario",
            "mauny2018/ramp-jump",
            "--program",
            "simulate",
            "--set",
            "mB=9",
        ],
        "Change the scenario instead of --set",
    ),
    (
        ["equations", "--scenario", "mauny2018/configuration-a", "--program", "simulate"]
        + ["--out", "x"],
        "a simulator needs a scenario of the kind 'run'",
    ),
    (["export", "mauny2018/ramp-jump", "--as", "simulink"], "FMI units only: --as fmi3"),
    (["export", "mauny2018/ramp-jump", "--set", "mB=9"], "Change the scenario"),
    (
        ["export", "mauny2018/passive-stabilisation"],
        "has no terrain. Export its vehicle: draisine export whipple",
    ),
    (
        ["equations", "whipple", "--linear", "--form", "thesis"],
        "--linear cannot be combined with --form",
    ),
    (
        ["equations", "whipple", "--linear", "--detail", "full"],
        "cannot be combined with --detail full",
    ),
    (
        ["equations", "cart_pole", "--explain", "--linear"],
        "--linear cannot be combined with --explain",
    ),
    (
        ["equations", "whipple", "--linear", "--as", "python"],
        "--linear applies to pages only: use --as paper, c, ",
    ),
    (["equations", "whipple", "--linear", "--program", "observe"], "Leave out --program"),
    (["equations", "whipple", "--mode", "front=flying"], "front"),
    (["equations", "whipple", "--mode", "middle=open"], "no contact 'middle'"),
    (["plot", "nowhere.nc"], "nowhere.nc: no such file"),
    (["plot", "broken.nc"], "broken.nc: the file cannot be read as a dataset"),
    (["plot", "notes.txt"], "results are .nc or .zarr"),
    (["run", "broken.nc"], "broken.nc: the file cannot be read as a dataset"),
    (["list", "wheelbarrows"], "Kinds: vehicles, scenarios, sets"),
    (["run", PASSIVE, "--set", "mB=80", "--set", "mB=90"], "--set mB is set twice"),
    (
        ["run", PASSIVE, "--initial", "lean=0.1", "--initial", "lean=0.2"],
        "--initial lean is set twice",
    ),
    (
        ["run", PASSIVE, "--initial", "speed=3", "--initial", "forward_speed=4"],
        "sets forward_speed twice",
    ),
    (["run", "meijaard2007/matrices", "--mu", "0.5"], "meijaard2007/matrices is of the kind"),
    (["run", "meijaard2007/matrices", "--strict"], "meijaard2007/matrices is of the kind"),
    (["run", "meijaard2007/matrices", "--full"], "--full needs a motion"),
    (["show", "whipple", "--frames"], "Add --plot FILE.png"),
    (["eigenvalues", "--set", "c=0:0.1:3", "--law", "lqr"], "Leave out --law lqr"),
    (["equations", "whipple", "--initial", "lean=0.1"], "--initial needs a complete simulator"),
    (["equations", "whipple", "--as", "html", "--program", "observe"], "html is a page"),
    (["new", "sweep", "study", "--from", "ramp-jump"], "of the kind 'run', not a sweep"),
    (["ride", "segway", "--preset", "weave"], "either --preset weave or segway"),
    (
        ["ride", "--export", "ride.html", "--port", "8000"],
        "--port has no effect on an exported page",
    ),
    (["run", PASSIVE, "--formulation", "planner"], "Did you mean 'planar'?"),
    (["run", "mauny2018/controlled-turn", "--formulation", "planar"], "takes laws and inputs"),
    (["eigenvalues", "whipple", "--speed", "0-10"], "Write it as 5, 3,5,7 or 0:10:101"),
    (["eigenvalues", "whipple", "--speed", "5:2:7"], "low must be smaller than high"),
    (["steady", "rolling_disc"], "is not a bicycle"),
    (["steady", "--set", "c=-0.05"], "no capsize speed"),
    (["steady", "wipple"], "Did you mean 'whipple'?"),
    (["steady", "--set", "mBB=90"], "Did you mean 'mB'?"),
    (["steady", "--set", "mB=18deg"], "'18deg' is an angle, but this is in kg"),
    (["steady", "--parameter-set", "bench"], "Did you mean 'benchmark'?"),
    (["steady", "--plot", "circles.bmp"], ".png, .jpg, .svg, .pdf"),
    (["steady", "--out", "circles.xls"], ".nc, .zarr, .csv"),
    (["run", PASSIVE, "--animate", "run.avi"], ".gif, .mp4, .html"),
    (["run", PASSIVE, "--animate", "no/such/run.gif"], "the folder 'no/such' does not exist"),
    (["run", "meijaard2007/matrices", "--animate", "run.gif"], "--animate needs a motion"),
    (["run", "mauny2018/contact-maps", "--animate", "run.html"], "of the kind 'map'"),
    (["animate", "nowhere.nc", "run.gif"], "nowhere.nc: no such file"),
    (["animate", "broken.nc"], "broken.nc: the file cannot be read as a dataset"),
    (["animate", "notes.txt", "run.gif"], "results are .nc or .zarr"),
    (["animate", "notes.txt", "run.txt"], ".gif, .mp4, .html"),
]

FILES = [
    ("", "kind: is missing. Possible values: run, sweep, state, map, linear"),
    (
        'kind = "linear"\ntitle = "x"\nvehicle.name = "whipple"\nspeeds = { low = 0, at = [5] }',
        "needs either low, high and count, or at",
    ),
    ('kind = "walk"', "no such kind. "),
    ("kind = run", "is not valid TOML"),
    ('kind = ["run"]', "no such kind. "),
    ('kind = "run"\nvehicle = 3', "vehicle = 3: must be a table"),
    ("\xff", "not a text file in UTF-8"),
    ('kind = "run"', "vehicle: is missing"),
    (GOOD + "untli = 3", "run.untli: is unknown. Did you mean 'until'?"),
    (GOOD.replace('"whipple"', '"wipple"'), "vehicle.name = 'wipple': Unknown vehicle 'wipple'."),
    (GOOD.replace("= 0.1", '= "0.1 h"'), "run.until"),
    (GOOD.replace("= 5.0", "= inf"), "initial.forward_speed: inf is not a finite number"),
    (GOOD + "mode.front = 'gone'", "run.mode.front = 'gone': no such status"),
    (GOOD + "mode.left = 'open'", "run.mode.left = 'open': no such contact"),
    (GOOD + "drift = 'a lot'", "is not 'project', 'none' or a time constant"),
    (GOOD + "[[law]]\nname = 'turn'", "law[0].name: Unknown law 'turn'. Did you mean"),
    (GOOD + "[[law]]\nname = 'turn_p'", "law[0].steer_gain: is missing"),
    (GOOD + "[[law]]\ngain = 3.0", "law[0].name: is missing"),
    (GOOD + "[[inputs]]\nshape = 'step'\ninput = 'brake'\nvalue = 1.0", "no such input"),
    (GOOD + "[[inputs]]\nshape = 'jump'\ninput = 'steer'\nvalue = 1.0", "inputs[0].shape = 'jump'"),
    (GOOD + "[[inputs]]\nshape = 'step'\ninput = 'steer'\nvalu = 1.0", "Did you mean 'value'?"),
    (
        GOOD + "[[inputs]]\nshape='table'\ninput='steer'\ntimes=[0,1,2]\nvalues=[1,2]",
        "inputs[0]: input 'steer': the table has 3 times but 2 values",
    ),
    (
        GOOD + "[[inputs]]\nshape='table'\ninput='steer'\ntimes=[0,'soon']\nvalues=[1,2]",
        "inputs[0].times: 'soon' is not a number",
    ),
    (
        GOOD + "[[expected]]\ntitle='x'\norigin='law'\nvalues.lean=0.0",
        "'lean' is a series over time",
    ),
    (
        GOOD + "[[expected]]\ntitle='x'\norigin='law'\nat={lean=[1]}\nvalues.lean=[0.0]",
        "expected[0].at: needs times in a run",
    ),
    (SWEEP.replace("final lean", "lean"), "sweep.outputs[0]: 'lean' is a series over time"),
    (
        SWEEP.replace("run.dt", "..."),
        "a key between two dots is missing. Write a key path such as run.dt",
    ),
    (SWEEP.replace("run.dt", "sweep.count"), "sweep.over.'sweep.count'[0]"),
    (SWEEP.replace("run.dt", "law.-1.gain"), "sweep.over.'law.-1.gain'[0]"),
    (SWEEP + f"chunk = {10**18}", "sweep.chunk"),
    (
        SWEEP + "between.'initial.lean' = {low = 0, hig = 1}",
        "hig: is unknown. Did you mean 'high'?",
    ),
    (
        DRAWN + f"count = {10**12}",
        "sweep.count",
    ),
    (
        SWEEP + "\n".join(f"between.'vehicle.parameters.{n}' = {MANY}" for n in ("w", "rR", "rF")),
        "sweep: the sweep has 2e+18 runs; the maximum is 1e+08",
    ),
    (MAP.replace('"steer"', '"lean"'), "map.y.name = 'lean': is already the axis x"),
    (
        MAP + "[[expected]]\ntitle='x'\norigin='law'\nat={lean=[0]}\nvalues.beta=[0]",
        "expected[0].at.steer: is missing",
    ),
    (
        MAP + "[[expected]]\ntitle='x'\norigin='law'\nat={lean=[0],steer=[0]}\nvalues.pitch=[0]",
        "is not in map.outputs",
    ),
    (
        GOOD + "[[expected]]\ntitle='x'\norigin='law'\nvalues.'final laen'=0.0",
        "no quantity 'laen'. Did you mean 'lean'?",
    ),
    (
        GOOD + "[[expected]]\ntitle='x'\norigin='law'\nat=[7.0]\nvalues.lean=[0.0]",
        "7 s is outside of the run of 0.1 s",
    ),
    (
        GOOD + "[[expected]]\ntitle='x'\norigin='rumour'\nvalues.'final lean'=0.0",
        "expected[0].origin = 'rumour': must be",
    ),
    (
        'kind = "linear"\ntitle = "x"\nvehicle.name = "whipple"\nspeeds = { low = 0, high = 1, count = 2 }\n'
        "[[expected]]\ntitle='x'\norigin='law'\nvalues.'M[lean, yaw]'=0.0",
        "no 'yaw'",
    ),
    (GOOD + '[source]\ncitation="x"\ndoi="https://doi.org/10.1/x"', "is not a DOI"),
    (
        GOOD + "[terrain]\nshape='plane'\n[contact]\nsolver='time_steping'",
        "contact.solver = 'time_steping': must be 'auto', 'events' or 'time_stepping', or a table. "
        "Did you mean 'time_stepping'?",
    ),
    (
        GOOD + "[terrain]\nshape='plane'\n[contact]\nsolver=5",
        "contact.solver = 5: must be 'auto', 'events'",
    ),
    (
        GOOD.replace("name =", "parameter_set.mB = 'x'\nname ="),
        "vehicle.parameter_set.mB = 'x': should be a valid number",
    ),
    (GOOD + "expects = ['fal']", "run.expects[0] = 'fal': must be 'fall', 'pull', "),
    (GOOD + "integrator = 'rk4'\nrtol = 1e-9", "run.rtol = 1e-09: rk4 has fixed steps"),
    (
        SWEEP.replace("run.until", "run.expects = ['fall']\nrun.until"),
        "run.expects: needs kind",
    ),
    (
        "kind='cycle'\ntitle='x'\nvehicle.name='rocr'\ncontact.mu=0.5\n"
        "cycle={near={Omega=1.0,theta=1.0},longest=3.0}",
        "contact: needs cycle.period",
    ),
    (
        "kind='cycle'\ntitle='x'\nvehicle.name='rocr'\ncycle={near={Omega=1.0,theta=1.0},longest=3.0}",
        "cycle.longest = 3.0: needs a walker",
    ),
    (
        "kind='gait'\ntitle='x'\nvehicle.name='purcell_swimmer'\ngait={shapes=[[0.1,0.2]],sizes=[2.0]}",
        "sizes apply to a path only, not to shapes",
    ),
]


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.nc").write_bytes(b"this is no netCDF")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "mine.zarr").mkdir()
    (tmp_path / "mine.zarr" / "notes.txt").write_text("not to be lost")
    monkeypatch.chdir(tmp_path)


def complaint(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a wrong command line says, after checking how it says it."""
    before = sorted(p.name for p in Path.cwd().iterdir())
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("error: ") == 1
    assert "Traceback" not in told.err
    assert sorted(p.name for p in Path.cwd().iterdir()) == before
    return told.err


@pytest.mark.parametrize(("arguments", "helpful"), COMMANDS)
def test_wrong_commands(
    arguments: list[str], helpful: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert helpful in complaint(arguments, capsys)


@pytest.mark.parametrize(("text", "helpful"), FILES)
def test_wrong_files(text: str, helpful: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text(text, encoding="latin-1")
    assert helpful in complaint(["run", "mine.toml"], capsys)


def test_all_mistakes_of_a_file_are_reported_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = GOOD.replace("forward_speed", "forwardspeed").replace("until", "untill")
    Path("mine.toml").write_text(text + "dt = -1\n[vehicle.parameters]\nmBB = 90\n")
    told = complaint(["check", "mine.toml"], capsys)
    assert "mine.toml: 5 mistakes" in told
    for place in ("forwardspeed", "run.until: is missing", "untill", "run.dt = -1", "mBB"):
        assert place in told


def test_tracebacks_on_demand() -> None:
    from draisine.errors import UnknownNameError

    with pytest.raises(UnknownNameError):
        main(["show", "wipple", "--debug"])


@pytest.mark.parametrize("name", ["9" * 400, "x" * 5000, "a\0b"])
@pytest.mark.parametrize("ending", ["", ".nc", ".zarr", ".toml", ".png", ".stl"])
def test_impossible_file_names_are_reported(name, ending, capsys, tmp_path):
    before = sorted(tmp_path.iterdir())
    for given in (
        ["run", name + ending],
        ["plot", name + ending],
        ["animate", name + ending],
        ["run", "--out", name + ending],
        ["run", "--plot", name + ending],
    ):
        assert main(given) == 2
        told = capsys.readouterr().err
        assert told.startswith("error: ")
        assert "should not happen" not in told
    assert sorted(tmp_path.iterdir()) == before
