"""Figures for papers: TrueType fonts and headlines that can be left out."""

import re
import zlib

import pytest

import draisine
from draisine.cli import main
from draisine.errors import ParameterError
from draisine.view.style import parent_figure


@pytest.fixture(scope="module")
def run():
    disc = draisine.compile("rolling_disc")
    return draisine.simulate(disc, draisine.state(disc, lean=0.1, forward_speed=2.0), 0.5)


def objects_of(path):
    """All objects of a PDF file as text, streams of compressed objects unpacked."""
    data = path.read_bytes()
    texts = [data]
    for part in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL):
        try:
            texts.append(zlib.decompress(part))
        except zlib.error:
            continue
    return b"\n".join(texts)


def test_a_pdf_has_truetype_fonts_only(run, tmp_path):
    draisine.plot(run, "histories", tmp_path / "a.pdf", series=["lean"])
    text = objects_of(tmp_path / "a.pdf")
    assert b"/Type0" in text
    assert b"/CIDFontType2" in text
    assert b"/Type3" not in text


def titles(axes):
    figure = parent_figure(axes)
    return [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]


@pytest.mark.parametrize("figure", ["histories", "path", "energies"])
def test_a_headline_is_replaced_or_left_out(run, figure):
    assert any(titles(draisine.plot(run, figure)))
    assert "My disc" in titles(draisine.plot(run, figure, title="My disc"))
    assert not any(titles(draisine.plot(run, figure, title=False)))


def test_the_command_line_replaces_headlines(run, tmp_path, capsys):
    draisine.save(run, tmp_path / "run.nc")
    out = tmp_path / "run.pdf"
    assert main(["plot", str(tmp_path / "run.nc"), str(out), "--no-title"]) == 0
    assert out.exists()
    code = main(
        ["plot", str(tmp_path / "run.nc"), str(out), "--no-title", "--title", "x", "--force"]
    )
    assert code != 0
    assert "cannot be combined" in capsys.readouterr().err


def test_titles_of_the_panels_stay():
    modes = draisine.eigenvalues(draisine.compile("whipple"), [3.0, 5.0])
    assert titles(draisine.plot(modes, title="Benchmark"))[0] == "Benchmark"
    with pytest.raises(ParameterError, match="series"):
        draisine.plot(modes, series=["lean"], title=False)
