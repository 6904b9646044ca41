"""The scripts of the gallery run, and draw what can be read: curves or areas, labels with units."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from draisine.view.replay import replay_page as replay_page

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
from machine_pages import scenarios_of  # noqa: E402
from pictures import load  # noqa: E402

GALLERY, MACHINES = (sorted((DOCS / name).glob("*.py")) for name in ("gallery", "machines"))
UNIT = re.compile(r"\((m|µm|s|N|J|N s|kg|deg|rad|deg/s|rad/s|m/s|1/s|1/m|N m|dB|%|-|ratio)[,)]| / ")
WITHOUT = {
    "mode_shapes": "phasors",
    "event_graph": "boxes and arrows",
    "subpackages": "boxes and arrows",
    "film": "frames",
    "equations": "a page of text",
    "falling_cat": "frames",
    "path": "numbers in m along the ground",
    "jump_strip": "numbers in m along the ground",
}
"""Pictures whose axes need no units, and what is on them."""


def bars(figure):
    """Return the axes that are colour bars."""
    return {c.colorbar.ax for axes in figure.axes for c in axes.collections if c.colorbar}


def is_labelled(axes):
    """Return whether both labels tell a unit: across, that of the lowest panel, upwards, its own or that
    of the leftmost; names at ticks need none.
    """
    names = any(t.get_text().isidentifier() for t in axes.get_yticklabels())
    here = axes.get_position()
    panels = [a for a in axes.figure.axes if a not in bars(axes.figure)]
    column = [a for a in panels if abs(a.get_position().x0 - here.x0) < 0.02]
    lowest = min(column, key=lambda a: a.get_position().y0)
    row = [a for a in panels if abs(a.get_position().y0 - here.y0) < 0.02]
    leftmost = min(row, key=lambda a: a.get_position().x0)
    upwards = axes.get_ylabel() or leftmost.get_ylabel()
    return (names or UNIT.search(upwards)) and UNIT.search(lowest.get_xlabel())


def check_titles(figure):
    """Hold titles to the figure, and off each other and the numbers of colour bars."""
    titles = [axes.title for axes in figure.axes if axes.get_title()]
    numbers = [text for axes in bars(figure) for text in axes.get_yticklabels()]
    boxes = [text.get_window_extent() for text in [*titles, *numbers] if text.get_text()]
    for k, box in enumerate(boxes[: len(titles)]):
        assert box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1, "a cut title"
        assert not any(box.overlaps(other) for other in boxes[k + 1 :]), "titles over each other"


@pytest.mark.parametrize("script", [*GALLERY, *MACHINES], ids=lambda path: path.stem)
def test_picture(script):
    module = load(script)
    title, _, about = module.__doc__.partition("\n")
    assert title and not title.endswith(".") and len(about.split()) > 8
    if script in MACHINES:
        run = module.motion()
        module.motion = lambda: run
        assert json.loads(run.attrs["validity"])["pull_from"] is None, "the ground pulls a wheel"
    figure = module.figure()
    assert isinstance(figure, Figure)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    ink = np.asarray(canvas.buffer_rgba())[..., :3].min(axis=2) < 250
    assert ink.mean() > 0.01
    drawn = [axes for axes in figure.axes if axes.get_visible() and axes not in bars(figure)]
    check_titles(figure)
    for axes in drawn:
        assert axes.has_data() or axes.patches, "an empty panel"
        is_frame = axes.images and not axes.axison
        if script.stem not in WITHOUT and not is_frame:
            assert is_labelled(axes), (axes.get_xlabel(), axes.get_ylabel())
        told = axes.get_legend()
        if told is not None:
            box = told.get_window_extent()
            assert box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1, "a cut legend"


def test_every_script_has_its_place_on_a_page():
    asked = re.findall(r"^```\{picture\} (\w+)$", (DOCS / "gallery.md").read_text("utf-8"), re.M)
    assert sorted(asked) == [script.stem for script in GALLERY]
    listed = re.findall(r"^machines/(\w+)$", (DOCS / "machines.md").read_text("utf-8"), re.M)
    assert sorted(listed) == [script.stem for script in MACHINES]
    for script in MACHINES:
        page = script.with_suffix(".md").read_text("utf-8")
        assert page == f"```{{machine}} {script.stem}\n```\n"


NO_SCENARIOS = ("acrobot", "cart_pole", "chain", "trailing_wheel")
"""Machines that no shipped scenario uses."""


@pytest.mark.parametrize("script", MACHINES, ids=lambda path: path.stem)
def test_machines_have_a_motion_to_film_and_scenarios(script):
    """Films are small, and last long enough to be looked at."""
    assert ("\n* `" in scenarios_of(script.stem)) == (script.stem not in NO_SCENARIOS)
    motion = load(script).motion()
    seconds = float(motion.time[-1])
    assert 0.2 <= seconds <= 10.0
    assert motion.sizes["time"] > 20
    assert len(replay_page(motion)) < 400_000
