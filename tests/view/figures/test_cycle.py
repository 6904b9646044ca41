"""The figure of limit cycles: one, several, families."""

import matplotlib as mpl
import numpy as np
import pytest

from draisine.errors import ParameterError
from draisine.experiment.run import run
from draisine.experiment.tables.cycles import find_all_cycles, scan_cycles
from draisine.scenario.library import load
from draisine.view.figures import cycle
from draisine.view.style import parent_figure

mpl.use("Agg")


def labels(axes):
    return axes.get_xlabel(), axes.get_ylabel()


def test_one_cycle(tmp_path):
    data = run(load("mauny2018/rocr-gait-b")).data
    panels = cycle.draw(data)
    assert panels.shape == (1, 4)
    strip, plane, torque, force = panels[0]
    assert strip.get_ylabel() == "height (m)"
    assert labels(plane) == ("angle of the body (deg)", "yaw rate (rad/s)")
    assert labels(torque) == ("", "torque (N m)")
    assert labels(force) == ("time (s)", "grip force (N)")
    entries = [text.get_text() for text in plane.get_legend().get_texts()]
    assert entries == ["grip 1 holds", "grip 2 holds", "impact", "start"]
    first = plane.lines[0]
    assert np.degrees(4.701166649245504) == pytest.approx(first.get_xdata()[0])
    assert first.get_ydata()[-1] == pytest.approx(4.559377751712487)
    drawn = max(np.abs(line.get_ydata()).max() for line in torque.lines[:2])
    assert drawn == pytest.approx(0.24237961808931568, rel=1e-3)
    parent_figure(panels[0]).savefig(tmp_path / "cycle.png")


def test_several_cycles_and_families(tmp_path):
    panels = cycle.draw(find_all_cycles("rocr", {"phase": 1.0}))
    assert panels.shape == (2, 4)
    parent_figure(panels[0]).savefig(tmp_path / "cycles.png")
    family = cycle.draw(scan_cycles("rocr", np.linspace(3.5, 4.0, 4)))
    assert len(family) == 4
    assert family[-1].get_xlabel() == "phase (rad)"
    assert [t.get_text() for t in family[0].get_legend().get_texts()][-1] == "stable"
    still = [x for line in family[2].lines if line.get_marker() == "o" for x in line.get_xdata()]
    assert still == pytest.approx([3.751888761136569])
    parent_figure(family).savefig(tmp_path / "families.png")


def test_other_results_have_no_cycles():
    data = run(load("basumandal2007/accelerations")).data
    with pytest.raises(ParameterError, match="draisine cycles"):
        cycle.draw(data)
