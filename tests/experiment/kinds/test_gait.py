"""Scenarios of the kind `gait`: results and error messages."""

import pytest
from numpy.testing import assert_allclose

from draisine.errors import DataError
from draisine.experiment.report import summarise_result
from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.plot import default_figure

SMALL = """
kind = 'gait'
title = 'a small loop'
vehicle.name = 'purcell_swimmer'
[gait]
ruler = 'drag'
"""


def test_small_loops_displace_by_the_curvature(tmp_path):
    """5/81 per area, against the sense of the loop: net way of a circle of radius a is pi a^2 5/81."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL + "harmonics = [[0, 1, 0], [0, 0, 1]]\nsizes = [0.001, 0.002]\n")
    result = run(load(str(file)))
    area = 3.141592653589793 * result.data["size"].values ** 2
    assert_allclose(result.data["distance"].values / area, 5 / 81, rtol=2e-5)
    assert default_figure(result.data) == "sweep"
    assert [row["size"] for row in summarise_result(result)["runs"]] == [0.001, 0.002]


def test_the_curvature_of_shapes(tmp_path):
    """5/81 about the straight swimmer (closed form); the other way round in the other plane."""
    file = tmp_path / "shapes.toml"
    file.write_text(SMALL + "shapes = [[0, 0], [0.5, -0.3]]\nplane = ['front', 'rear']\n")
    data = run(load(str(file))).data
    assert_allclose(data["curvature_Vx"].values, [-5 / 81, -0.06900328033932965], rtol=1e-12)
    assert data["shape"].values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("corners = [[1, 0, 0], [0, 1, 0]]", "has 3 joints; .*rear, front"),
        ("corners = [[1, 0], [0]]", "rows of equal length"),
        ("harmonics = [[0, 1], [0, 1]]", "equal numbers of cosines and sines"),
        ("sizes = [1.0]", "one of corners, harmonics and shapes"),
        ("shapes = [[0, 0]]\nplane = ['rear', 'tail']", "no joint 'tail'"),
        ("corners = [[1, 0], [0, 1]]\nplane = ['rear', 'front']", "a plane belongs to shapes"),
        ("corners = [[1, 0], [0, 1]]\nruler = 'fluid'", "ruler"),
    ],
)
def test_invalid_shape_paths_are_rejected(tmp_path, path, told):
    file = tmp_path / "wrong.toml"
    text = SMALL if "ruler" not in path else SMALL.replace("ruler = 'drag'\n", "")
    file.write_text(text + path + "\n")
    with pytest.raises(DataError, match=told):
        load(str(file))


def test_expected_numbers_of_a_gait_have_sizes_and_names(tmp_path):
    file = tmp_path / "wrong.toml"
    wrong = "[[expected]]\ntitle = 'x'\norigin = 'law'\n{at}\nvalues = {{ {name} = {n} }}\n"
    path = SMALL + "corners = [[1, 0], [0, 1]]\n"
    file.write_text(path + wrong.format(at="", name="x", n=0.0))
    with pytest.raises(DataError, match="needs points"):
        load(str(file))
    file.write_text(path + wrong.format(at="at = { size = [1.0] }", name="length", n="[0.0]"))
    with pytest.raises(DataError, match="not a result of a gait"):
        load(str(file))
