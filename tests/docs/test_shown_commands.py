"""Every command that the README and the documentation show is carried out, page by page, in the order
in which a reader would type it.
"""

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest

from draisine.cli import main
from draisine.scenario.library import MOTION_KINDS, scenario_titles, scenarios

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
SHOWN = re.compile(
    r"^(?:\$ )?(?:.*&& )?(?:\.venv/bin/)?draisine +(?P<fenced>.+)|`draisine (?P<inline>[^`]+)`"
)
ELSEWHERE = {
    "check": "every scenario is checked in tests/published",
    "--help": "printed in tests/cli",
    "ride --export ride.html": "written in tests/ride",
    "export jump.nc --as rosbag": "written in tests/interop/test_ros_bags.py",
    "ros drive.toml": "needs ROS 2, see tests/interop/test_ros.py",
    "ros differential_platform --law "
    "cmd_vel,left=left,right=right,radius=0.1,track=0.5,damping=50": "needs ROS 2, see there",
}
"""Commands that other tests carry out."""
PARTS = re.compile(
    r"\b(NAME|COMMAND|FOLDER|FILE|ADDRESS|X|path/to|\.\.\.)|--parameter-set$|^energy"
    r"|^(show|plot --figure|equations --as)$"
)
"""What stands for something else, or is the beginning of a command only."""
MISSING = {
    "a.nc": "run passive-stabilisation --until 0.3 --out a.nc",
    "b.nc": "run passive-stabilisation --until 0.3 --initial lean=5deg --out b.nc",
    "run.nc": "run ramp-jump --out run.nc",
    "passive-stabilisation.nc": "run passive-stabilisation --until 0.3 --out passive-stabilisation.nc",
    "mine.csv": "run passive-stabilisation --until 0.3 --out mine.csv",
    "push1.csv": "run passive-stabilisation --until 0.3 --out push1.csv",
    "push2.csv": "run passive-stabilisation --until 0.3 --initial lean_rate=0.1 --out push2.csv",
    "jump.nc": "run ramp-jump --out jump.nc",
    "ride.nc": "run passive-stabilisation --until 0.3 --out ride.nc",
}
"""Files that a page takes for granted."""


def shown(page):
    """Yield the commands of a page, without comments."""
    fenced = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            fenced = not fenced
            continue
        typed = fenced or line.startswith("    $ ")
        for found in [SHOWN.match(line.strip())] if typed else SHOWN.finditer(line):
            text = found and (found["fenced"] if typed else found["inline"])
            if text and not PARTS.search(text := text.partition("  #")[0].strip()):
                yield text


COMMANDS = {page: list(dict.fromkeys(shown(page))) for page in PAGES}


def written(page):
    """Return the files beside a page that its own commands write."""
    names = [line.split()[2] for line in COMMANDS[page] if line.startswith("new vehicle ")]
    return [file for name in names if (file := page.parent / f"{name}.py").exists()]


def prepare(page, folder):
    """Put into a folder what a reader of a page has: the files beside it and the scenarios on it."""
    for ending in ("py", "xml", "urdf"):
        for file in page.parent.glob(f"*.{ending}"):
            if file not in written(page):
                shutil.copy(file, folder)
    tables = re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)
    wanted = re.findall(r"draisine \w+ (\w+\.toml)", page.read_text(encoding="utf-8"))
    for name, text in zip(dict.fromkeys(wanted), (t for t in tables if "kind" in t), strict=False):
        (folder / name).write_text(text, encoding="utf-8")
    names = {"Path": Path}
    for example in (
        [] if not wanted else doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
    ):
        if re.match(r"(text|sweep) = |_ = Path", example.source):
            exec(example.source, names)


@pytest.fixture
def few_frames(monkeypatch):
    """Let films have their first frames only, scans few steps, and rides begin without a browser."""
    from draisine.experiment.tables import cycles
    from draisine.view import film

    times, scan = film.frame_times, cycles.scan_cycles
    monkeypatch.setattr(film, "frame_times", lambda *x: (times(*x)[0][:3], times(*x)[1]))
    monkeypatch.setattr(
        cycles, "scan_cycles", lambda v, values, *x, **y: scan(v, values[:3], *x, **y)
    )
    monkeypatch.setattr("draisine.ride.serve.serve", lambda *x, **y: None)
    monkeypatch.setattr("webbrowser.open", lambda uri: True)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if COMMANDS[p]], ids=lambda p: str(p.relative_to(ROOT))
)
def test_commands_of_a_page(page, few_frames, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    prepare(page, tmp_path)
    for line in COMMANDS[page]:
        if line in ELSEWHERE:
            continue
        arguments = shlex.split(line)
        taken = [x for x in arguments[1:] if x in MISSING and f"--out {x}" not in line]
        for file in taken if arguments[0] != "ride" else []:
            if not Path(file).exists():
                assert main(shlex.split(MISSING[file])) == 0
        with monkeypatch.context() as own:
            if line == "cache --clear":
                own.setenv("DRAISINE_CACHE", str(tmp_path / "cache"))
            assert main(arguments) == 0, (line, capsys.readouterr().err)
    for file in written(page):
        shown_there, made = (each.read_text(encoding="utf-8") for each in (file, Path(file.name)))
        assert shown_there == made, f"{file} is not what its page's command writes"


def test_that_commands_are_found():
    lines = [line for found in COMMANDS.values() for line in found]
    assert len(lines) > 100
    assert {"run", "ride", "eigenvalues --speed 3,5,7", "run ramp-jump --animate jump.html"} <= set(
        lines
    )


def test_readers_of_the_thesis_find_every_experiment():
    text = (ROOT / "docs" / "thesis.md").read_text(encoding="utf-8")
    own = [name for name in scenarios() if name.startswith(("mauny2017/", "mauny2018/"))]
    assert len(own) > 20
    assert not [name for name in own if name.rpartition("/")[2] not in text]


def test_runs_to_film_are_motions():
    """Those that the page of machines names in its third column; the others it names are there."""
    page = (ROOT / "docs" / "machines.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    kinds = {name: kind for name, (kind, _) in scenario_titles().items()}
    films, others = (re.findall(r"`([^`]+)`", "".join(row[k] for row in rows)) for k in (3, 4))
    assert len(films) > 20 and {kinds[name] for name in films} == set(MOTION_KINDS)
    assert not {kinds[name] for name in others} & set(MOTION_KINDS)
