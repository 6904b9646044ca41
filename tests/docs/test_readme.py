"""The README and the start page show what the first commands print and draw."""

import re
from pathlib import Path

import pytest
from PIL import Image

from draisine.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
START = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
ROW = re.compile(r"^│ (\w+) +│ (\S+) +│" + r" +(\S+) │" * 4, re.MULTILINE)


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """Return what `draisine run` prints in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    assert not main(["run"])
    return capsys.readouterr().out


def test_first_command(printed, tmp_path):
    """The same table to five digits (the last may differ from one CPU to another), the same figure."""
    recorded = re.search(r"```text\n(mauny2018/passive.*?)```", START, re.S)[1]
    ours, theirs = ROW.findall(printed), ROW.findall(recorded)
    assert len(theirs) == 6
    assert [row[:2] for row in ours] == [row[:2] for row in theirs]
    for now, then in zip(ours, theirs, strict=True):
        assert [float(x) for x in now[2:]] == pytest.approx(
            [float(x) for x in then[2:]], rel=1e-4, abs=1e-7
        )
    rest = [re.sub(r"[\d.e-]+ s$|[\d.]+e-\d+", "#", text) for text in (printed, recorded)]
    strip = [ROW.sub("", re.sub(r"computed in .*", "", text)) for text in rest]
    assert strip[0].split() == strip[1].split()
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".nc", ".png"]


def test_what_a_run_prints_is_explained(printed, capsys):
    """Every line of the first run and of a jump begins with a word of the table in the start page."""
    assert not main(["run", "ramp-jump"])
    lines = [*printed.splitlines(), *capsys.readouterr().out.splitlines()]
    rows = re.findall(r"^\| (`.*?) \|", START, re.MULTILINE)
    words = re.findall(r"`([^`]+)`", "".join(rows))
    for line in lines:
        row, event = ROW.match(line), re.match(r"\d\.\d+ s  (\S+)", line)
        plain = re.match(r"mauny2018/|[┏┃┡└]|no files written|data: |figure: ", line)
        found = row[1] if row else event[1] if event else line
        assert plain or any(found.startswith(word) for word in words), line


def test_its_picture_has_the_proportions_of_the_one_that_is_drawn(printed, tmp_path):
    with Image.open(tmp_path / "passive-stabilisation.png") as drawn:
        now = drawn.size
    with Image.open(ROOT / "docs" / "figures" / "passive-stabilisation.png") as kept:
        assert kept.size[0] / kept.size[1] == pytest.approx(now[0] / now[1], rel=0.01)


def test_its_links_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
