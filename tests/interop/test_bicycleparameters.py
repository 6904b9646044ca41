"""BicycleParameters' files, as its authors publish them and as people spoil them."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from analysis.published import appendix_a
from draisine.cli import main
from draisine.errors import DataError
from draisine.interop.bicycleparameters import from_values, read_bicycle, write_bicycle
from draisine.scenario.library import load, validate_scenario
from draisine.scenario.overrides import override
from draisine.vehicles import parameter_set
from draisine.vehicles.bicycle import BENCHMARK

# CrescendoBenchmark.txt of BicycleParameters 1.5.2 (doi:10.6084/m9.figshare.1198429).
CRESCENDO = """\
# the measured bicycle, without rider
IBxx = 0.499733285449+/-0.00218886827509
IBxz = -0.0148407505732+/-0.0011316149926
IByy = 1.11746960046+/-0.00350925696921
IBzz = 0.73927170227+/-0.00309105815486
IFxx = 0.0954028662773+/-0.000388267862788
IFyy = 0.165623459942+/-0.00117747774467

IHxx = 0.3840330428+/-0.0017423135025  # about the centre of mass
IHxz = -0.0777986089409+/-0.00114110113858
IHyy = 0.363142461888+/-0.00410499482239
IHzz = 0.166357442859+/-0.00132747251116
IRxx = 0.0966455697105+/-0.000393325323081
IRyy = 0.143776919744+/-0.00112425225803
c = 0.0832912572138+/-0.0016907620071
g = 9.81+/-0.01
lam = 0.366519142919+/-0.00349065850399
mB = 9.18+/-0.02
mF = 3.545+/-0.02
mH = 4.57+/-0.02
mR = 3.96+/-0.02
rF = 0.342550408285+/-0.000122426879301
rR = 0.339954958444+/-0.000122426879301
w = 1.101+/-0.002
xB = 0.312073833522+/-0.00284415365691
xH = 0.906569561251+/-0.00503272487149
zB = -0.525854751698+/-0.00341340590315
zH = -0.802835004591+/-0.00253087563355
"""

# benchmark-benchmark.yml of BicycleParameters 1.5.2.
BENCHMARK_YML = """\
parameterization: benchmark  # the set of symbols
parameters: benchmark
rider: True
description: |
        These are the benchmark numerical parameters.
values:
        IBxx: 9.2
        IBxz: 2.4
        IByy: 11.0
        IBzz: 2.8
        IFxx: 0.1405
        IFyy: 0.28
        IHxx: 0.05892
        IHxz: -0.00756
        IHyy: 0.06
        IHzz: 0.00708
        IRxx: 0.0603
        IRyy: 0.12
        c: 0.08
        g: 9.81
        lam: 0.31415926535897932385
        mB: 85.0
        mF: 3.0
        mH: 4.0
        mR: 2.0
        rF: 0.35
        rR: 0.3
        v: 5.0
        w: 1.02
        xB: 0.3
        xH: 0.9
        zB: -0.9
        zH: -0.7
"""

# principal-browserjason.yml of BicycleParameters 1.5.2.
PRINCIPAL_YML = """\
parameterization: principal
values: {alphaD: 1.1722, alphaH: 0.36995, alphaP: 0.18618, c: 0.068581, g: 9.8100,
  kDaa: 0.28587, kDbb: 0.22079, kDyy: 0.36539, kFyy: 0.27179, kFaa: 0.20917, kFbb: 0.20917,
  kHaa: 0.29556, kHbb: 0.14493, kHyy: 0.27630, kPaa: 0.36797, kPbb: 0.15276, kPyy: 0.36717,
  kRyy: 0.22136, kRaa: 0.17050, kRbb: 0.17050, lP: 1.7280, lam: 0.39968, mD: 9.8600, mF: 2.0200,
  mH: 3.2200, mP: 83.500, mR: 3.1100, rF: 0.34353, rR: 0.34096, v: 3.0, w: 1.1210, wP: 0.48300,
  xD: 0.27595, xF: 1.1210, xH: 0.86695, xP: 0.31577, xR: 0.0, yD: 0.0, yF: 0.0, yH: 0.0, yP: 0.0,
  yR: 0.0, zD: -0.53784, zF: -0.34353, zH: -0.74824, zP: -1.0990, zR: -0.34096}
"""

# The same in the benchmark's parameters, by BicycleParameters 1.5.2.
PRINCIPAL_CONVERTED = {
    "w": 1.121,
    "c": 0.068581,
    "lam": 0.39968,
    "g": 9.81,
    "mB": 93.36,
    "xB": 0.31156450299914307,
    "zB": -1.039734387317909,
    "IBxx": 14.29206481301247,
    "IByy": 15.364343852477893,
    "IBzz": 3.039936346019427,
    "IBxz": -1.6214426214717788,
    "mH": 3.22,
    "xH": 0.86695,
    "zH": -0.74824,
    "IHxx": 0.25335447184108945,
    "IHyy": 0.24582024179999998,
    "IHzz": 0.09556607572891058,
    "IHxz": -0.07202300071642019,
    "rR": 0.34096,
    "mR": 3.11,
    "IRxx": 0.09040847750000001,
    "IRyy": 0.152390776256,
    "rF": 0.34353,
    "mF": 2.02,
    "IFxx": 0.088379219578,
    "IFyy": 0.149217004282,
}

# parameter_dicts.meijaard2007_browser_jason of BicycleParameters 1.5.2, IFxx and IRxx exchanged.
BROWSER_JASON = {
    "IBxx": 11.3557360401,
    "IBxz": -1.96756380745,
    "IByy": 12.2177848012,
    "IBzz": 3.12354397008,
    "IFxx": 0.0904106601579,
    "IFyy": 0.149389340425,
    "IHxx": 0.253379594731,
    "IHxz": -0.0720452391817,
    "IHyy": 0.246138810935,
    "IHzz": 0.0955770796289,
    "IRxx": 0.0883819364527,
    "IRyy": 0.152467620286,
    "c": 0.0685808540382,
    "g": 9.81,
    "lam": 0.399680398707,
    "mB": 81.86,
    "mF": 2.02,
    "mH": 3.22,
    "mR": 3.11,
    "rF": 0.34352982332,
    "rR": 0.340958858855,
    "v": 1.0,
    "w": 1.121,
    "xB": 0.289099434117,
    "xH": 0.866949640247,
    "zB": -1.04029228321,
    "zH": -0.748236400835,
}


def written(tmp_path: Path, text: str, name: str = "bike.txt") -> Path:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def benchmark_text() -> str:
    return "".join(f"{k} = {v!r}\n" for k, v in parameter_set("whipple", "benchmark").items())


def test_a_published_text_file(tmp_path: Path) -> None:
    p = read_bicycle(written(tmp_path, CRESCENDO))
    assert tuple(p) == BENCHMARK
    assert (p["IBxx"], p["lam"], p["zH"]) == (0.499733285449, 0.366519142919, -0.802835004591)
    assert (p["IHxx"], p["w"]) == (0.3840330428, 1.101)


def test_a_published_yaml_file_is_the_benchmark(tmp_path: Path) -> None:
    p = read_bicycle(str(written(tmp_path, BENCHMARK_YML, "benchmark-benchmark.yml")))
    assert p == parameter_set("whipple", "benchmark")


def test_names_of_the_newer_parameterization(tmp_path: Path) -> None:
    text = BENCHMARK_YML.replace("parameterization: benchmark", "parameterization: Meijaard2007")
    assert read_bicycle(written(tmp_path, text, "b.yaml"))["mB"] == 85.0


def test_yaml_without_heading(tmp_path: Path) -> None:
    flat = "".join(line.strip() + "\n" for line in BENCHMARK_YML.splitlines()[6:])
    assert read_bicycle(written(tmp_path, flat, "b.yml")) == parameter_set("whipple", "benchmark")


def test_the_principal_parameterization(tmp_path: Path) -> None:
    p = read_bicycle(written(tmp_path, PRINCIPAL_YML, "p.yml"))
    assert tuple(p) == BENCHMARK
    for name, value in PRINCIPAL_CONVERTED.items():
        assert_allclose(p[name], value, rtol=1e-14, err_msg=name)


def test_yaml_numbers_without_a_point(tmp_path: Path) -> None:
    """YAML 1.1 reads 85e0 as a text; here it is a number."""
    text = BENCHMARK_YML.replace("mB: 85.0", "mB: 85e0")
    assert read_bicycle(written(tmp_path, text, "b.yml"))["mB"] == 85.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("85.0", 85.0),
        ("85", 85.0),
        ("85.0 +/- 0.1", 85.0),
        ("85.0+/-0", 85.0),
        ("85.0+/-nan", 85.0),
        ("8.5e1+/-1e-2", 85.0),
        ("(8.50+/-0.01)e+01", 85.0),
        ("84.0+/-0.1, 86.0+/-0.1", 85.0),
    ],
)
def test_ways_to_write_a_value(tmp_path: Path, text: str, value: float) -> None:
    content = benchmark_text().replace("mB = 85.0", f"mB={text}")
    assert read_bicycle(written(tmp_path, content))["mB"] == value


def test_other_entries_are_ignored(tmp_path: Path) -> None:
    beside = "v = 5.0\nyB = 0.0\nyH = 2.7e-08\nIRzz = 0.0603\nmG = 3.35\nxcl = 0.198\nmD = 0.0\n"
    p = read_bicycle(written(tmp_path, benchmark_text() + beside))
    assert p == parameter_set("whipple", "benchmark")


def test_windows_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "bike.TXT"
    file.write_bytes(CRESCENDO.replace("\n", "\r\n").encode())
    assert read_bicycle(file)["w"] == 1.101


@pytest.mark.parametrize("told", ["1, 2", "1.0,2.0", "1 ,2", "1,1.5,2", "1.0, 2", "1,2,1.5"])
def test_several_measurements_stand_for_their_mean(tmp_path: Path, told: str) -> None:
    text = CRESCENDO.replace("w = 1.101+/-0.002", f"w = {told}")
    assert read_bicycle(written(tmp_path, text))["w"] == 1.5


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("w = 1.101+/-0.002", "", r"bike\.txt: w missing"),
        ("IByy = 1.11746960046+/-0.00350925696921", "", "IByy missing.* linearised model"),
        ("w = 1.101+/-0.002", "w = wide", r"bike\.txt, line 24: w = 'wide' is not a number"),
        ("w = 1.101+/-0.002", "w = 1.101+/-wide", "line 24: w = .* is not a number"),
        ("w = 1.101+/-0.002", "w =", "line 24: w = '' is not a number"),
        (
            "w = 1.101+/-0.002",
            "w = 1,101",
            r"line 24: w = '1,101': write 1\.101, or '1, 101' for two",
        ),
        ("w = 1.101+/-0.002", "w = 1,101+/-0.002", r"line 24: .*write 1\.101, or"),
        ("w = 1.101+/-0.002", "w = 1+/-0,002", r"line 24: .*write 0\.002, or"),
        ("w = 1.101+/-0.002", "w = 11,01e-1", r"line 24: .*write 11\.01e-1, or"),
        ("w = 1.101+/-0.002", "w = nan", "line 24: w = nan is not a finite number"),
        ("w = 1.101+/-0.002", "w = inf", "line 24: w = inf is not a finite number"),
        ("w = 1.101+/-0.002", "w = 1e999", "line 24: w = inf is not a finite number"),
        ("w = 1.101+/-0.002", "w: 1.101", "line 24: expected 'name = value"),
        ("w = 1.101+/-0.002", "w = 1.1\nc = 0.1", "line 25: c is defined twice, first in line 15"),
        ("w = 1.101+/-0.002", "w = -1.101", "line 24: w = -1.101 must not be negative"),
        ("mB = 9.18", "mB = -9.18", "line 18: mB = -9.18 must not be negative"),
        ("rF = 0.3425", "rF = -0.3425", "line 22: rF = -0.3425.* must not be negative"),
        ("IFxx = 0.0954", "IFxx = -0.0954", "line 6: IFxx"),
        ("mR = 3.96", "mr = 3.96", r"line 21: unknown parameter 'mr'\. Did you mean 'mR'"),
        ("w = 1.101", "yB = 0.02\nw = 1.101", "line 24: yB = 0.02 makes the bicycle asymmetric"),
        ("w = 1.101", "mD = 3.9\nw = 1.101", "line 24: mD = 3.9 belongs to a flywheel"),
        ("w = 1.101", "TcB1 = 1.6\nw = 1.101", "raw measurements.*NameBenchmark.txt"),
    ],
)
def test_spoilt_text_files(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in CRESCENDO
    with pytest.raises(DataError, match=complaint):
        read_bicycle(written(tmp_path, CRESCENDO.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("        w: 1.02\n", "", r"bike\.yml: w missing; the benchmark form needs 26"),
        ("        w: 1.02\n", "        w: wide\n", "line 29: w = 'wide' is not a number"),
        ("        w: 1.02\n", "        w: .nan\n", "line 29: w = '.nan' is not a number"),
        ("        w: 1.02\n", "        w: nan\n", "line 29: w = nan is not a finite number"),
        ("        w: 1.02\n", "        w: [1, 2]\n", "line 29: w must be a number"),
        (
            "        w: 1.02\n",
            "        mB: 85.0\n",
            "line 29: mB is defined twice, first in line 22",
        ),
        ("        w: 1.02\n", "        w: -1.02\n", "line 29: w = -1.02 must not be negative"),
        ("        w: 1.02\n", "        [w]: 1.02\n", "line 29: a name must be plain text"),
        ("        w: 1.02\n", "        w: 1: 2\n", "not a YAML file"),
        (": benchmark  #", ": benchmrk  #", "line 1: unknown parameterization 'benchmrk'.*'bench"),
        (": benchmark  #", ": principal  #", "xD.* missing|unknown parameter"),
        ("values:\n", "values: 3\nothers:\n", "'values' must be a mapping"),
    ],
)
def test_spoilt_yaml_files(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in BENCHMARK_YML
    with pytest.raises(DataError, match=complaint):
        read_bicycle(written(tmp_path, BENCHMARK_YML.replace(old, new, 1), "bike.yml"))


@pytest.mark.parametrize("text", ["", "- 1\n- 2\n", "just words"])
def test_yaml_that_is_no_mapping(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="must be a mapping"):
        read_bicycle(written(tmp_path, text, "bike.yml"))


def test_an_empty_text_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"w, c, lam.* missing"):
        read_bicycle(written(tmp_path, "\n"))


def test_a_rider_alone(tmp_path: Path) -> None:
    """JasonBrowserBenchmark.txt of BicycleParameters 1.5.2."""
    text = "mB = 72.0+/-2.0\nxB = 0.2909+/-0.0\nyB = 0.0+/-0.0\nzB = -1.1091+/-0.0\n"
    with pytest.raises(DataError, match=r"rider alone.*add_rider"):
        read_bicycle(written(tmp_path, text))


def test_missing_file_other_format_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.txt: no such file.*NameBenchmark\.txt"):
        read_bicycle(tmp_path / "none.txt")
    with pytest.raises(DataError, match=r"suffix '\.mat' is unknown"):
        read_bicycle(tmp_path / "bike.mat")
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(DataError, match=r"folder\.txt: cannot be read"):
        read_bicycle(tmp_path / "folder.txt")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00w")
    with pytest.raises(DataError, match=r"binary\.txt: cannot be read as text"):
        read_bicycle(tmp_path / "binary.txt")


def test_the_rounded_benchmark_is_noticed(tmp_path: Path) -> None:
    """The file in BicycleParameters' wheel; the one in its source is exact."""
    text = benchmark_text()
    for exact, rounded in (("0.05892", "0.0589"), ("0.00708", "0.0071"), ("-0.00756", "-0.0076")):
        assert exact in text
        text = text.replace(exact, rounded)
    with pytest.warns(UserWarning, match=r"bike\.txt: .* rounded .*4\.29228"):
        p = read_bicycle(written(tmp_path, text))
    assert p["IHxx"] == 0.0589


def test_exchanged_wheel_moments_are_warned_about() -> None:
    with pytest.warns(UserWarning, match=r"IRxx and IFxx are exchanged .* 'Browser'"):
        p = from_values(BROWSER_JASON, "browser_jason")
    assert (p["IFxx"], p["IRxx"]) == (0.0904106601579, 0.0883819364527)
    right = BROWSER_JASON | {"IFxx": BROWSER_JASON["IRxx"], "IRxx": BROWSER_JASON["IFxx"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_values(right)


def test_exchanged_radii_of_the_rider_are_warned_about(tmp_path: Path) -> None:
    """The file has them right, parameter_dicts.moore2019_browser_jason the other way round."""
    text = PRINCIPAL_YML.replace("kPaa: 0.36797", "kPaa: 0.36717241")
    text = text.replace("kPyy: 0.36717", "kPyy: 0.36796654")
    with pytest.warns(UserWarning, match="kPaa and kPyy of this rider are exchanged"):
        read_bicycle(written(tmp_path, text, "p.yml"))


def test_impossible_inertia_is_noticed() -> None:
    with pytest.warns(UserWarning, match=r"no distribution of mass .* body F"):
        from_values(parameter_set("whipple", "benchmark") | {"IFxx": 0.1})


@pytest.mark.parametrize("value", [True, "85", None])
def test_values_that_are_no_numbers(value: object) -> None:
    values = parameter_set("whipple", "benchmark") | {"mB": value}
    with pytest.raises(DataError, match=r"mB = .* is not a plain number"):
        from_values(values)  # type: ignore[arg-type]


def test_values_that_are_not_finite() -> None:
    with pytest.raises(DataError, match="here: mB = nan"):
        from_values(parameter_set("whipple", "benchmark") | {"mB": math.nan}, "here")


@pytest.mark.parametrize("name", BENCHMARK)
def test_a_line_that_is_missing_is_named(tmp_path: Path, name: str) -> None:
    """All but one of the parameters, with `w` and the others of one letter first."""
    lines = [f"{n} = 1.0" for n in sorted(BENCHMARK, key=len) if n != name]
    (tmp_path / "bike.txt").write_text("\n".join(lines))
    with pytest.raises(DataError, match=rf"bike\.txt: {name} missing; the benchmark form needs 26"):
        read_bicycle(tmp_path / "bike.txt")


@pytest.mark.parametrize("ending", ["txt", "yml"])
def test_written_files_are_read_again(ending, tmp_path):
    bicycle = draisine.compile("whipple", **parameter_set("whipple", "pista_jason"))
    write_bicycle(bicycle, tmp_path / f"pista.{ending}")
    assert read_bicycle(tmp_path / f"pista.{ending}") == dict(bicycle.parameters)


def test_other_machines_are_not_written(tmp_path):
    with pytest.raises(DataError, match="also has 'crown'"):
        write_bicycle(draisine.compile("whipple", crown=0.02), tmp_path / "a.yml")
    with pytest.raises(DataError, match="has no 'w'"):
        write_bicycle(draisine.compile("rolling_disc"), tmp_path / "a.yml")
    with pytest.raises(DataError, match=r"end with \.txt"):
        write_bicycle(draisine.compile("whipple"), tmp_path / "a.json")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("18.3", "18.3 rad is more than a turn; for degrees write"),
        ("18.3deg", "not a number; write"),
    ],
)
def test_angles_in_degrees_are_refused_with_advice(written, told, tmp_path):
    values = parameter_set("whipple", "benchmark") | {"lam": written}
    (tmp_path / "mine.txt").write_text("\n".join(f"{n} = {x}" for n, x in values.items()))
    with pytest.raises(DataError, match=rf"line 3: lam = .*{told} 0\.319395, the angle in radians"):
        read_bicycle(tmp_path / "mine.txt")


def _mine(folder):
    """Write a heavier benchmark bicycle into a file."""
    values = parameter_set("whipple", "benchmark") | {"mB": 90.0}
    (folder / "mine.txt").write_text("".join(f"{n} = {x!r}\n" for n, x in values.items()))
    return values


SCENARIO = """
title = "mine"
kind = "run"
[source]
citation = "a test"
[vehicle]
name = "whipple"
parameter_set = "mine.txt"
parameters.c = 0.07
[initial]
forward_speed = 5.0
[run]
until = 0.1
"""


def test_python_scenarios_and_commands_take_the_same_file_for_a_set(tmp_path, monkeypatch):
    """Changes of single parameters override the file in each of the three."""
    values = _mine(tmp_path) | {"c": 0.07}
    (tmp_path / "mine.toml").write_text(SCENARIO)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    file = str(tmp_path / "mine.txt")
    out = str(tmp_path / "run.nc")
    assert dict(draisine.compile("whipple", parameter_set=file, c=0.07).parameters) == values
    loaded = load(str(tmp_path / "mine.toml"))
    assert dict(loaded.plan.system.parameters) == values
    command = ["run", "passive-stabilisation", "--parameter-set", file, "--set", "c=0.07"]
    assert main([*command, "--until", "0.1", "--out", out]) == 0
    kept = load(out)
    assert dict(kept.plan.system.parameters) == values
    assert kept.scenario.title == "passive-stabilisation with mine.txt, c = 0.07"


def test_a_result_keeps_the_numbers_of_its_parameter_file(tmp_path):
    """It can be run again without the file, also with another set in its place."""
    values = _mine(tmp_path)
    (tmp_path / "mine.toml").write_text(SCENARIO)
    again = load(str(tmp_path / "mine.toml")).content
    (tmp_path / "mine.txt").unlink()
    assert dict(validate_scenario("mine", "mine", again).plan.system.parameters) == values | {
        "c": 0.07
    }
    other = override(again, {"vehicle.parameter_set": "benchmark"})
    assert validate_scenario("mine", "mine", other).plan.system.parameters["mB"] == 85.0


def test_every_interface_reports_errors_of_parameter_files(tmp_path, capsys):
    with pytest.raises(DataError, match=r"mine\.txt: no such file"):
        draisine.compile("whipple", parameter_set=str(tmp_path / "mine.txt"))
    (tmp_path / "mine.toml").write_text(SCENARIO)
    with pytest.raises(DataError, match=r"vehicle\.parameter_set = .*mine\.txt: no such file"):
        load(str(tmp_path / "mine.toml"))
    _mine(tmp_path)
    assert main(["eigenvalues", "segway", "--parameter-set", str(tmp_path / "mine.txt")]) != 0
    assert "segway has no parameter" in capsys.readouterr().err


# Of BicycleParameters (tests/parameter_sets): benchmark-realizedopttwo.yml, principal-extendedoptf.yml;
# of HumanControl: parameters/Optimal05Par.txt.
REALISED = """\
IBxx: 5.9257
IBxz: -1.0621
IByy: 8.0774
IBzz: 3.5778
IFxx: 0.0314
IFyy: 0.0623
IHxx: 0.5110
IHxz: 0.0799
IHyy: 0.7750
IHzz: 0.3559
IRxx: 0.0157
IRyy: 0.078
c: 0.75461
g: 9.81
lam: -0.05486
mB: 65.4813
mF: 1.5477
mH: 6.7292
mR: 5.3486
rF: 0.226
rR: 0.332
v: 3.0
w: 0.41
xB: 0.2275
xH: 0.9309
zB: -0.9044
zH: -0.4385
"""
OPTIMISED = """\
alphaD:  1.0767
alphaH:  0.23760
alphaP:  1.5584
c: -0.48397
g:  9.8100
kDaa:  0.86084
kDbb:  2.0139
kDyy:  2.0305
kFaa:  1.0314
kFbb:  1.0314
kFyy:  2.0628
kHaa:  2.8463
kHbb:  0.16848
kHyy:  0.66922
kPaa:  0.36797
kPbb:  0.15276
kPyy:  0.36717
kRaa:  1.5135
kRbb:  1.5135
kRyy:  3.0270
lP:  1.7280
lam:  0.23941
mD:  7.0223
mF:  5.5058
mH:  3.5435
mP:  83.500
mR:  2.2534
rF:  2.0628
rR:  3.0270
v:  9.0
w:  5.5573
wP:  0.48300
xD:  1.0204
xH:  5.6145
xP:  1.0791
zD: -4.0653
zH: -1.7755
zP: -2.6623
"""
OPTIMAL05 = """\
w = 1.507286469014997+/-0.0
c = -0.239348385100141+/-0.0
lam = 0.678170610472069+/-0.0
g = 9.81+/-0.0
rR = 0.3+/-0.0
mR = 2.0+/-0.0
IRxx = 0.0603+/-0.0
IRyy = 0.12+/-0.0
xB = 0.3+/-0.0
zB = -0.9+/-0.0
mB = 85.0+/-0.0
IBxx = 9.2+/-0.0
IByy = 11.0+/-0.0
IBzz = 2.8+/-0.0
IBxz = 2.4+/-0.0
xH = 0.9+/-0.0
zH = -0.7+/-0.0
mH = 4.0+/-0.0
IHxx = 0.05892+/-0.0
IHyy = 0.06+/-0.0
IHzz = 0.00708+/-0.0
IHxz = -0.00756+/-0.0
rF = 0.187689569212885+/-0.0
mF = 3.0+/-0.0
IFxx = 0.1405+/-0.0
IFyy = 0.28+/-0.0
"""
UNUSUAL = {
    "realised.yml": (REALISED, "beyond the wheel of radius 0.226 m"),
    "optimised.yml": (OPTIMISED, "'fork': principal moments .* break the triangle inequality"),
    "Optimal05Par.txt": (OPTIMAL05, "beyond the wheel of radius 0.18769 m"),
}


@pytest.mark.parametrize("name", UNUSUAL)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_published_bicycles_that_could_not_be_built_have_their_eigenvalues(tmp_path, name):
    """They get a warning; their eigenvalues are those of the published closed form."""
    text, warning = UNUSUAL[name]
    (tmp_path / name).write_text(text)
    values = read_bicycle(tmp_path / name)
    with pytest.warns(UserWarning, match=warning):
        bicycle = draisine.compile("whipple", **values)
    M, C1, K0, K2 = appendix_a(values).values()
    v = 5.0
    lower = -np.linalg.solve(M, np.hstack([values["g"] * K0 + v * v * K2, v * C1]))
    wanted = np.linalg.eigvals(np.vstack([np.eye(2, 4, 2), lower]))
    found = draisine.eigenvalues(bicycle, [v]).values[0]
    assert_allclose(np.sort_complex(found), np.sort_complex(wanted), rtol=1e-10, atol=1e-10)


def test_a_part_of_pi_is_a_number(tmp_path):
    """HumanControl's benchmark has lam = pi/10."""
    path = tmp_path / "BenchmarkPar.txt"
    path.write_text(OPTIMAL05.replace("0.678170610472069+/-0.0", "pi/10"))
    assert read_bicycle(path)["lam"] == math.pi / 10
