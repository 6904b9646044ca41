"""The page with sliders computes the same as the package, in JavaScript."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.cli import main
from draisine.codegen.program import run_program
from draisine.errors import ParameterError
from draisine.interop.bicycleparameters import write_bicycle
from draisine.view.explore import explore_page, straight_program

HARNESS = """
const fs = require("fs");
const page = fs.readFileSync(process.argv[2], "utf8"), changes = JSON.parse(process.argv[3]);
const content = page.match(/<script id="content"[^>]*>(.*?)<\\/script>/s)[1];
const code = page.split("<script>")[1].split("const D =")[0];
const told = new Function("D", "changes", code + `
  const values = D.parameters.map((p) => changes[p.name] ?? p.value);
  const g = values[D.parameters.findIndex((p) => p.name === "g")];
  const table = new Float64Array(straightTableSize), m = {};
  for (const name of ["M", "C0", "C1", "Ks", "K0", "K2"]) m[name] = new Float64Array(4);
  straightPrologue(Float64Array.from(values), table);
  straight(table, m.M, m.C0, m.C1, m.Ks, m.K0, m.K2);
  const rows = followed(m, g, Array.from({ length: 201 }, (_, k) => k / 20));
  const weave = rows[100][modeNames(rows).indexOf("weave")];
  return { rows: [0, 60, 100, 140, 200].map((k) => rows[k]), names: modeNames(rows),
    critical: criticalSpeeds(m, g),
    stable: stableRanges(m, g).map((ends) => ends.map((v) => (Number.isFinite(v) ? v : null))),
    weave, shape: modeShape(m, g, 5, weave),
    sentence: modeSentence(weave, modeShape(m, g, 5, weave)) };`)(JSON.parse(content), changes);
console.log(JSON.stringify(told));
"""


STATES_HARNESS = """
const fs = require("fs");
const page = fs.readFileSync(process.argv[2], "utf8"), changes = JSON.parse(process.argv[3]);
const content = page.match(/<script id="content"[^>]*>(.*?)<\\/script>/s)[1];
const code = page.split("<script>")[1].split("const D =")[0];
const results = new Function("D", "changes", code + `
  const values = D.parameters.map((p) => changes[p.name] ?? p.value);
  BODY`)(JSON.parse(content), changes);
console.log(JSON.stringify(results));
"""


MODES = """
  const { names, critical, stable, rows, shape } = statesOf(D, values);
  const speeds = [1, 5, 10, 20, 30, 50], found = rows(speeds);
  const mode = (v, name) => found[speeds.indexOf(v)].find((z, k) => names[k] === name && z[1] >= 0);
  return { names, critical, stable, speeds, rows: found, coordinates: D.coordinates,
    wobble: mode(30, "wobble") && shape(30, mode(30, "wobble")), weave: shape(5, mode(5, "weave")) };"""

ROOTS = "return matrixEigenvalues(statesOf(D, values).matrixAt(30.48));"


def in_browser(page, changes, folder, harness=HARNESS):
    """Return the results of the page with other parameters."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    (folder / "harness.cjs").write_text(harness, encoding="utf-8")
    command = ["node", "harness.cjs", "page.html", json.dumps(changes)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.fixture(scope="module")
def page(bicycle):
    return explore_page(bicycle)


def test_it_needs_nothing_else(page):
    assert not re.search(r"https?:|src=|<link|import ", page)
    assert "{{" not in page
    content = json.loads(re.search(r'<script id="content"[^>]*>(.*?)</script>', page, re.S)[1])
    assert {"w", "lam", "mB"} <= {p["name"] for p in content["parameters"]}
    assert all(p["meaning"] for p in content["parameters"])
    assert "benchmark" in content["sets"] and "browser_jason" in content["sets"]


@pytest.mark.parametrize("changes", [{}, {"mB": 60.0, "c": 0.03, "lam": 0.2, "g": 3.7}])
def test_the_matrices_are_those_of_the_linear_analysis(bicycle, changes):
    """Two derivations: formulas in the parameters, and exact differentiation at a state."""
    system = bicycle.with_parameters(**changes)
    found = run_program(
        straight_program(bicycle), parameters=np.array(list(system.parameters.values()))
    )
    wanted = canonical_matrices(system)
    turn = np.array([1.0, -1.0, -1.0, 1.0])  # steer counts to the left here, to the right there
    for name in ("M", "C1", "K0", "K2"):
        theirs = getattr(wanted, name).ravel()
        assert_allclose(turn * found[name], theirs, atol=1e-11 * np.abs(theirs).max())


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_the_browser_includes_springs_and_dampers(tmp_path):
    """Constant terms are neither multiplied with the speed nor with gravity."""
    flexible = {"steer_spring": 5.0, "steer_damper": 2.0}
    system = draisine.compile("whipple", flexible=flexible, g=5.0)
    results = in_browser(explore_page(system), {}, tmp_path)
    modes = draisine.eigenvalues(system, [0.0, 3.0, 5.0, 7.0, 10.0])
    for theirs, ours in zip(results["rows"], modes.values, strict=True):
        eigenvalues = np.array([complex(*z) for z in theirs])
        assert np.abs(eigenvalues[:, None] - ours[None, :]).min(axis=0).max() < 1e-8


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
@pytest.mark.parametrize("changes", [{}, {"mB": 60.0, "c": 0.03}])
def test_the_browser_finds_the_same(bicycle, page, changes, tmp_path):
    """Eigenvalues, critical speeds and mode shapes; for the benchmark those of Meijaard and others
    (2007), doi:10.1098/rspa.2007.1857.
    """
    results = in_browser(page, changes, tmp_path)
    system = bicycle.with_parameters(**changes)
    modes = draisine.eigenvalues(system, [0.0, 3.0, 5.0, 7.0, 10.0])
    for theirs, ours in zip(results["rows"], modes.values, strict=True):
        eigenvalues = np.array([complex(*z) for z in theirs])
        apart = np.abs(eigenvalues[:, None] - ours[None, :])
        assert apart.min(axis=0).max() < 1e-9 and apart.min(axis=1).max() < 1e-9
    assert sorted(results["names"]) == ["capsize", "castering", "weave", "weave"]
    critical = draisine.critical_speeds(system)
    if not changes:
        assert results["critical"] == {
            "weave": [pytest.approx(4.29238253634111, abs=1e-12)],
            "capsize": [pytest.approx(6.02426201538837, abs=1e-12)],
        }
        assert results["stable"] == [
            pytest.approx([float(critical.stable_from), float(critical.stable_to)])
        ]
    lean, steer = (complex(*z) for z in results["shape"])
    vector = draisine.eigenvalues(system, [5.0]).vectors[0, :2, 0]
    if results["weave"][1] < 0:
        vector = np.conj(vector)
    assert lean / steer == pytest.approx(-vector[0] / vector[1], abs=1e-9)
    # Steering to the right follows a lean to the right by the phase of lean over -steer.
    late = np.degrees(np.angle(vector[0] / vector[1]))
    weave = complex(*results["weave"])
    period = 2 * np.pi / abs(weave.imag)
    words = ("right, into the lean", "later" if late > 0 else "earlier")
    assert f"period of {period:.2f} s" in results["sentence"]
    assert f"{np.log(2) / abs(weave.real):.2f} s" in results["sentence"]
    if abs(late) < 90:
        assert all(word in results["sentence"] for word in words)
        assert f"{abs(late):.0f}\u00b0 " in results["sentence"]


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
@pytest.mark.parametrize(
    "changes",
    [{"c": 0.04}, {"c": 0.0}, {"c": -0.02}, {"IRyy": 0.0}, {"IFyy": 0.0}, {"IRyy": 0, "IFyy": 0}],
    ids=str,
)
def test_the_browser_finds_the_stable_speeds_of_the_lesson(bicycle, page, changes, tmp_path):
    """Question 5, with the exact critical speeds: without spin in front it takes 16.26 m/s."""
    stable = in_browser(page, changes, tmp_path)["stable"]
    exact = draisine.critical_speeds(bicycle, **changes)
    if np.isnan(exact.stable_from):
        assert stable == []
    else:
        last = None if np.isinf(exact.stable_to) else pytest.approx(float(exact.stable_to))
        assert stable == [[pytest.approx(float(exact.stable_from)), last]]


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
@pytest.mark.parametrize("name", ["two_mass_skate", "browser_jason"])
def test_the_browser_finds_the_stable_speeds_of_other_sets(bicycle, page, name, tmp_path):
    parameters = draisine.vehicles.parameter_set("whipple", name)
    exact = draisine.critical_speeds(bicycle.with_parameters(**parameters))
    stable = in_browser(page, parameters, tmp_path)["stable"]
    last = None if np.isinf(exact.stable_to) else pytest.approx(float(exact.stable_to))
    assert stable == [[pytest.approx(float(exact.stable_from)), last]]


FRAME = {"frame_twist": 3000.0, "frame_twist_damper": 5.0}

VARIED_MOTORCYCLE = {"K": 0.0, "a": 1.1, "sigma": 0.1}


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
@pytest.mark.parametrize(
    ("vehicle", "options", "changes"),
    [
        ("motorcycle", {}, {}),
        ("motorcycle", {}, {"Mr": 300.0, "epsilon": 0.35, "Cr1": 9000.0}),
        ("motorcycle", {"tyres": "sharp_tyre"}, {}),
        ("motorcycle", {"tyres": "sharp_tyre"}, VARIED_MOTORCYCLE),
        ("whipple", {"mU": 30.0}, {}),
        ("whipple", {"flexible": FRAME}, {}),
    ],
    ids=str,
)
def test_the_browser_finds_the_modes_of_two_wheelers_with_states(
    vehicle, options, changes, tmp_path
):
    """QR iterations in JavaScript on symbolic matrices, and LAPACK on differentiated motions.

    Eigenvalues agree to 1e-9, eigenvectors to 1e-6 (they are worse conditioned), critical speeds to 1e-8.
    """
    system = draisine.compile(vehicle, **options)
    results = in_browser(
        explore_page(system), changes, tmp_path, STATES_HARNESS.replace("BODY", MODES)
    )
    system = system.with_parameters(**changes)
    modes = draisine.eigenvalues(system, results["speeds"], axes="draisine")
    for theirs, ours in zip(results["rows"], modes.values, strict=True):
        eigenvalues = np.array([complex(*z) for z in theirs])
        apart = np.abs(eigenvalues[:, None] - ours[None, :]) / np.abs(ours)
        assert apart.min(axis=0).max() < 1e-9 and apart.min(axis=1).max() < 1e-9
    assert sorted(results["names"]) == sorted(modes.names)
    crossings = [x for x in TwoWheeler(system).crossings(0.2, 79.0) if x.name != "torso"]
    for name in {x.name for x in crossings}:
        speeds = [x.speed for x in crossings if x.name == name]
        assert_allclose(results["critical"][name], speeds, rtol=1e-8)
    lean, steer = (modes.states.index(name) for name in ("lean", "steer"))
    for name, speed in (("weave", 5.0), ("wobble", 30.0)):
        if name in modes.names:
            vector = modes.vectors[results["speeds"].index(speed), :, modes.names.index(name)]
            shape = [complex(*z) for z in results[name]]
            names = results["coordinates"]
            ratio = shape[names.index("lean")] / shape[names.index("steer")]
            assert abs(ratio - vector[lean] / vector[steer]) < 1e-6 * abs(ratio)


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_the_browser_finds_the_roots_that_sharp_printed(tmp_path):
    """Table of Sharp (1971), doi:10.1243/JMES_JOUR_1971_013_051_02, at 100 ft/s, to its decimals."""
    page = explore_page(draisine.compile("motorcycle", tyres="sharp_tyre"))
    found = in_browser(page, {}, tmp_path, STATES_HARNESS.replace("BODY", ROOTS))
    roots = [complex(*z) for z in found]
    printed = [0.07, -1.82 + 19.2j, -3.94 + 54.3j]
    for root in printed:
        error = min((z - root for z in roots), key=abs)
        assert abs(error.real) < 0.02 and abs(error.imag) < 0.06


def test_the_motorcycle_in_a_browser(tmp_path, browser):
    """Sliders, critical speeds of three modes, sentences and motion, wide and narrow."""
    system = draisine.compile("motorcycle")
    (tmp_path / "page.html").write_text(explore_page(system), encoding="utf-8")
    crossings = {x.name: x.speed for x in TwoWheeler(system).crossings(0.2, 79.0)}
    ends = f"{crossings['weave']:.3f} to {crossings['wobble']:.3f} m/s"
    for width in (1400, 390):
        context = browser.new_context(viewport={"width": width, "height": 844}, offline=True)
        tab = context.new_page()
        wrong = []
        tab.on("pageerror", lambda error, wrong=wrong: wrong.append(str(error)))
        tab.goto((tmp_path / "page.html").as_uri())
        summary = tab.locator("#told").text_content
        assert summary().startswith(f"stable: {ends}")
        assert f"wobble speed {crossings['wobble']:.3f}" in summary()
        assert "capsize speed none" in summary()
        tab.locator("#speed").fill("30")
        names = tab.eval_on_selector_all("#mode option", "xs => xs.map((x) => x.textContent)")
        assert {name.split(":")[0] for name in names} >= {"weave", "wobble", "capsize"}
        tab.select_option("#mode", "wobble")
        sentence = tab.locator("#shape").text_content()
        assert "oscillates with a period of 0.12 s" in sentence
        assert "Shown 5 times slower." in sentence
        damper = tab.get_by_label("steering damper", exact=True)
        row = tab.locator(".slider", has=damper)
        assert "published: 6.7791 N m s/rad" in row.text_content()
        damper.press("ArrowLeft")
        assert f"(published: {ends})" in summary()
        assert "(-1 %)" in row.text_content()
        damper.press("ArrowRight")
        assert summary().startswith(f"stable: {ends} ·")
        damper.press("ArrowLeft")
        tab.click("#reset")
        assert summary().startswith(f"stable: {ends} ·")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert not wrong
        context.close()


def test_hands_in_a_browser(page, tmp_path, browser):
    """Offline, wide and narrow: a slider moves the stable range, another set of parameters too."""
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    for width in (1400, 400):
        context = browser.new_context(viewport={"width": width, "height": 800}, offline=True)
        tab = context.new_page()
        wrong = []
        tab.on("pageerror", lambda error, wrong=wrong: wrong.append(str(error)))
        tab.goto((tmp_path / "page.html").as_uri())
        told = tab.locator("#told").text_content
        assert told().startswith("stable: 4.292 to 6.024 m/s")
        trail = tab.get_by_label("trail", exact=True)
        trail.press("ArrowLeft")
        assert not told().startswith("stable: 4.292")
        row = tab.locator(".slider", has=trail)
        assert "(published: 4.292 to 6.024 m/s)" in told()
        assert "published: 0.08 m, changed by -0.0008 m (-1 %)" in row.text_content()
        trail.press("ArrowRight")
        assert told().startswith("stable: 4.292 to 6.024 m/s")
        assert "changed" not in row.text_content()
        assert tab.evaluate("D.parameters.every((p, k) => values[k] === p.value)")
        trail.press("ArrowRight")
        row.get_by_role("button").click()
        assert told().startswith("stable: 4.292 to 6.024 m/s")
        tab.select_option("#set", "browser_jason")
        assert told().startswith("stable: 4.993 to 7.114 m/s")
        tab.select_option("#set", "two_mass_skate")
        assert told().startswith("stable: from 2.841 m/s on")
        trail.press("ArrowRight")
        tab.click("#reset")
        assert tab.locator("#set").input_value() == "two_mass_skate"
        assert told().startswith("stable: from 2.841 m/s on")
        tab.select_option("#set", "as compiled")
        spin = tab.get_by_label("front wheel, moment of inertia about the axle, as a number")
        spin.fill("0")
        spin.press("Enter")
        assert told().startswith("stable: from 16.261 m/s on")
        assert tab.locator("#speed").get_attribute("max") == "25"
        tab.click("#reset")
        assert told().startswith("stable: 4.292 to 6.024 m/s")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert not wrong
        context.close()


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda uri: opened.append(uri) or True)
    assert main(["explore", "bicycle", "--set", "mB=70", "--show"]) == 0
    assert "page: bicycle-explore.html" in capsys.readouterr().out
    assert opened[0].endswith("bicycle-explore.html")
    text = (tmp_path / "bicycle-explore.html").read_text(encoding="utf-8")
    assert '"value":70.0' in text and '"origin":"mB=70"' in text


def test_the_page_names_the_file_of_its_parameters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_bicycle(draisine.compile("whipple"), "mine.txt")
    assert main(["explore", "--parameter-set", "mine.txt"]) == 0
    text = (tmp_path / "whipple-explore.html").read_text(encoding="utf-8")
    assert '"origin":"mine.txt"' in text


def test_machines_without_straight_running_are_rejected():
    with pytest.raises(
        ParameterError,
        match=r"rolling_disc cannot be explored: .* \(whipple",
    ):
        explore_page(draisine.compile("rolling_disc"))
