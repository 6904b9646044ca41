"""Published parameter sets: their values, and errors of malformed ones."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.errors import DataError, UnknownNameError
from draisine.vehicles import (
    parameter_deviations,
    parameter_set,
    parameter_sets,
    parameter_source,
    read_parameter_set,
)
from draisine.vehicles.bicycle import BENCHMARK, to_thesis

COMPARED = ("benchmark", "thesis_table_2_1", "ifac_table_1")
IDEAL = ("two_mass_skate",)
REAL = [name for name in parameter_sets("whipple") if name not in IDEAL]
RIDERLESS = (
    "kooijman",
    "balance_assist",
)
ESTIMATED = ("trail_bicycle",)
MEASURED = [name for name in REAL if name not in (*COMPARED, *RIDERLESS, *ESTIMATED)]


def canonical(p: dict[str, float]) -> list[np.ndarray]:
    """Return M, C1, K0, K2 by appendix A of Meijaard et al. 2007, doi:10.1098/rspa.2007.1857."""
    w, c, lam, rR, rF = (p[k] for k in ("w", "c", "lam", "rR", "rF"))
    mR, mB, mH, mF = (p[k] for k in ("mR", "mB", "mH", "mF"))
    sin, cos = math.sin(lam), math.cos(lam)
    mT = mR + mB + mH + mF
    xT = (p["xB"] * mB + p["xH"] * mH + w * mF) / mT
    zT = (-rR * mR + p["zB"] * mB + p["zH"] * mH - rF * mF) / mT
    ITxx = p["IRxx"] + p["IBxx"] + p["IHxx"] + p["IFxx"] + mR * rR**2 + mF * rF**2
    ITxx += mB * p["zB"] ** 2 + mH * p["zH"] ** 2
    ITxz = p["IBxz"] + p["IHxz"] - mB * p["xB"] * p["zB"] - mH * p["xH"] * p["zH"] + mF * w * rF
    ITzz = p["IRxx"] + p["IBzz"] + p["IHzz"] + p["IFxx"]
    ITzz += mB * p["xB"] ** 2 + mH * p["xH"] ** 2 + mF * w**2
    mA = mH + mF
    xA = (p["xH"] * mH + w * mF) / mA
    zA = (p["zH"] * mH - rF * mF) / mA
    IAxx = p["IHxx"] + p["IFxx"] + mH * (p["zH"] - zA) ** 2 + mF * (rF + zA) ** 2
    IAxz = p["IHxz"] - mH * (p["xH"] - xA) * (p["zH"] - zA) + mF * (w - xA) * (rF + zA)
    IAzz = p["IHzz"] + p["IFxx"] + mH * (p["xH"] - xA) ** 2 + mF * (w - xA) ** 2
    uA = (xA - w - c) * cos - zA * sin
    IAll = mA * uA**2 + IAxx * sin**2 + 2 * IAxz * sin * cos + IAzz * cos**2
    IAlx = -mA * uA * zA + IAxx * sin + IAxz * cos
    IAlz = mA * uA * xA + IAxz * sin + IAzz * cos
    mu = c / w * cos
    SR = p["IRyy"] / rR
    SF = p["IFyy"] / rF
    ST = SR + SF
    SA = mA * uA + mu * mT * xT
    M = [[ITxx, IAlx + mu * ITxz], [0, IAll + 2 * mu * IAlz + mu**2 * ITzz]]
    M[1][0] = M[0][1]
    K0 = [[mT * zT, -SA], [-SA, -SA * sin]]
    K2 = [[0, (ST - mT * zT) / w * cos], [0, (SA + SF * sin) / w * cos]]
    C1 = [
        [0, mu * ST + SF * cos + ITxz / w * cos - mu * mT * zT],
        [-(mu * ST + SF * cos), IAlz / w * cos + mu * (SA + ITzz / w * cos)],
    ]
    return [np.array(m, dtype=float) for m in (M, C1, K0, K2)]


def stable_range(p: dict[str, float]) -> tuple[float, float]:
    """Return weave speed (the last pair becomes stable) and capsize speed (det K vanishes)."""
    M, C1, K0, K2 = canonical(p)

    def growth(v: float) -> float:
        A = np.block(
            [
                [np.zeros((2, 2)), np.eye(2)],
                [-np.linalg.solve(M, p["g"] * K0 + v * v * K2), -np.linalg.solve(M, v * C1)],
            ]
        )
        return max(float(e.real) for e in np.linalg.eigvals(A) if abs(e.imag) > 1e-6)

    low = 3.0
    high = 6.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if growth(middle) > 0 else (low, middle)
    capsize = np.roots(
        [
            np.linalg.det(K2),
            p["g"] * (K0[0, 0] * K2[1, 1] - K0[1, 0] * K2[0, 1]),
            p["g"] ** 2 * np.linalg.det(K0),
        ]
    )
    return low, math.sqrt(max(capsize[np.isfinite(capsize)]))


def test_the_sets_are_listed() -> None:
    names = parameter_sets("whipple")
    assert set(COMPARED) <= set(names)
    assert len(MEASURED) >= 8
    assert list(names) == sorted(names)


@pytest.mark.parametrize("name", parameter_sets("whipple"))
def test_every_set_has_the_26_parameters_and_a_source(name: str) -> None:
    p = parameter_set("whipple", name)
    assert tuple(p) == BENCHMARK
    assert all(isinstance(value, float) and math.isfinite(value) for value in p.values())
    source = parameter_source("whipple", name)
    assert source.title
    assert source.citation
    assert source.note.isascii()
    assert "\n" not in source.note


@pytest.mark.parametrize("name", [n for n in parameter_sets("whipple") if n != "thesis_table_2_1"])
def test_every_set_but_the_thesis_has_a_doi(name: str) -> None:
    assert parameter_source("whipple", name).doi.startswith("10.")


@pytest.mark.parametrize("name", REAL)
def test_every_set_is_physically_possible(name: str) -> None:
    p = parameter_set("whipple", name)
    assert min(p[k] for k in ("w", "g", "rR", "rF", "mR", "mB", "mH", "mF")) > 0
    for body in "BH":
        xx, yy, zz, xz = (p[f"I{body}{k}"] for k in ("xx", "yy", "zz", "xz"))
        a, b = np.linalg.eigvalsh([[xx, xz], [xz, zz]])
        assert a > 0
        assert a + b >= yy
        assert yy + a >= b * (1 - 1e-9)
    for wheel in "RF":
        assert 0 < p[f"I{wheel}yy"] <= 2 * p[f"I{wheel}xx"]


def test_the_benchmark_is_exact() -> None:
    p = parameter_set("whipple", "benchmark")
    assert p["lam"] == math.pi / 10
    assert (p["IHxx"], p["IHzz"], p["IHxz"]) == (0.05892, 0.00708, -0.00756)
    assert (p["IBxz"], p["zB"], p["c"]) == (2.4, -0.9, 0.08)


def test_the_benchmark_has_the_published_matrices() -> None:
    """Meijaard et al. 2007, the benchmark solution, to the printed digits."""
    M, C1, K0, K2 = canonical(parameter_set("whipple", "benchmark"))
    assert_allclose(
        M, [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]], rtol=1e-13
    )
    assert_allclose(
        K0, [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]], rtol=1e-13
    )
    assert_allclose(K2, [[0, 76.59734589573222], [0, 2.65431523794604]], rtol=1e-13)
    assert_allclose(C1, [[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]], rtol=1e-13)


@pytest.mark.parametrize(
    ("name", "weave", "capsize", "tolerance"),
    [
        ("benchmark", 4.292382536341, 6.024262015388, 1e-10),
        ("thesis_table_2_1", 4.3034, 6.0380, 5e-5),
    ],
)
def test_critical_speeds(name: str, weave: float, capsize: float, tolerance: float) -> None:
    """Meijaard et al. 2007 for the benchmark, an independent computation for table 2.1."""
    found = stable_range(parameter_set("whipple", name))
    assert_allclose(found, (weave, capsize), atol=tolerance)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        (
            "thesis_table_2_1",
            {"l1": 0.986, "l2": 0.0337, "x1": 0.0288, "z1": 0.368, "I2xx": 0.141, "x0": 0.6},
        ),
        ("ifac_table_1", {"x1": 0.0288, "z1": 0.368, "I1zx": -0.0091, "I2xx": 0.1405, "x0": 0.6}),
    ],
)
def test_the_printed_tables_come_back(name: str, printed: dict[str, float]) -> None:
    thesis = to_thesis(parameter_set("whipple", name))
    for key, value in printed.items():
        assert_allclose(thesis[key], value, rtol=0, atol=1e-15, err_msg=key)


def test_the_ifac_bicycle_has_its_printed_wheelbase_and_trail() -> None:
    p = parameter_set("whipple", "ifac_table_1")
    assert_allclose((p["w"], p["c"]), (1.02, 0.08), rtol=1e-14)


# The data that go with Hess, Moore and Hubbard 2012, doi:10.1109/TSMCA.2011.2164244: an earlier
# evaluation of the same measurements, with IFxx and IRxx exchanged.
HESS = {
    "pista_jason": {
        "mB": 76.49,
        "xB": 0.296304188576,
        "zB": -1.07198359651,
        "IBxx": 9.97823319202,
        "IByy": 10.2705785413,
        "IBzz": 2.64767743966,
        "IBxz": -2.12302552044,
        "IRxx": 0.0552267034481,
        "IFxx": 0.0553472759338,
    },
    "stratos_jason": {
        "mB": 79.22,
        "xB": 0.294127677026,
        "zB": -1.05200527378,
        "IBxx": 10.9466405003,
        "IByy": 11.3696073243,
        "IBzz": 2.82536413282,
        "IBxz": -2.11113087653,
        "IRxx": 0.0938708065731,
        "IFxx": 0.0915638688049,
    },
    "browser_jason": {
        "mB": 81.86,
        "xB": 0.289099434117,
        "zB": -1.04029228321,
        "IBxx": 11.3557360401,
        "IByy": 12.2177848012,
        "IBzz": 3.12354397008,
        "IBxz": -1.96756380745,
        "IRxx": 0.0904106601579,
        "IFxx": 0.0883819364527,
    },
}


@pytest.mark.parametrize("name", HESS)
def test_bicycle_and_rider_as_published(name: str) -> None:
    p = parameter_set("whipple", name)
    for key, value in HESS[name].items():
        assert_allclose(p[key], value, rtol=1e-3, err_msg=key)


def test_the_instrumented_bicycle_as_published() -> None:
    """Moore 2012: the bicycle Rigid with its rider, combined by its author."""
    p = parameter_set("whipple", "rigid_jason")
    published = {
        "mB": 106.4,
        "xB": 0.348677983105,
        "zB": -1.02687467288,
        "IBxx": 14.6897962407,
        "IByy": 16.4719778305,
        "IBzz": 4.11198028556,
        "IBxz": -0.2587197992,
    }
    for key, value in published.items():
        assert_allclose(p[key], value, rtol=1e-11, err_msg=key)


# Moore 2012: the same measurements in the author's evaluation of that year.
MOORE = {
    "rigidcl_luke": {
        "mB": (107.2701332, 1e-9),
        "xB": (0.325083698315, 0.01),
        "zB": (-1.00898809531, 0.02),
        "IBxx": (13.7232962661, 0.07),
        "IByy": (15.5457045374, 0.07),
        "IBzz": (4.03929169023, 0.02),
        "IHxx": (0.343873849682, 1e-11),
        "IRyy": (0.12934189355, 1e-11),
        "c": (0.0599399125715, 1e-11),
    },
    "rigidcl_charlie": {
        "mB": (101.7421332, 1e-9),
        "xB": (0.324852427675, 0.01),
        "zB": (-1.02079031039, 0.02),
        "IBxx": (14.4623896415, 0.07),
        "IByy": (16.281147054, 0.07),
        "IBzz": (4.00227424204, 0.02),
        "IHxz": (-0.0918999164196, 1e-11),
        "IFyy": (0.0983720589324, 1e-11),
        "lam": (0.317489078499, 1e-11),
    },
}


@pytest.mark.parametrize("name", MOORE)
def test_computed_riders_are_near_the_earlier_evaluation(name: str) -> None:
    p = parameter_set("whipple", name)
    for key, (value, tolerance) in MOORE[name].items():
        assert_allclose(p[key], value, rtol=tolerance, err_msg=key)


@pytest.mark.parametrize("name", MEASURED)
def test_measured_bicycles_are_bicycles(name: str) -> None:
    """The published bicycles weigh from 9.7 to 35 kg, the riders from 72 to 84.3 kg."""
    p = parameter_set("whipple", name)
    assert 75 < p["mR"] + p["mB"] + p["mH"] + p["mF"] < 120
    assert 0.98 < p["w"] < 1.13
    assert 0.04 < p["c"] < 0.09
    assert -1.1 < p["zB"] < -0.99


def test_unknown_names_are_led_to_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'whipple'"):
        parameter_sets("wipple")
    with pytest.raises(
        UnknownNameError, match=r"whipple: no parameter set 'benchmrk'.*'benchmark'"
    ):
        parameter_set("whipple", "benchmrk")
    with pytest.raises(UnknownNameError):
        parameter_source("whipple", "../benchmark")


HEAD = 'title = "T"\n{form}\n[source]\ncitation = "C"\ndoi = "10.1000/1"\nnote = "N"\n[values]\n'


def written(tmp_path: Path, **changes: object) -> Path:
    """Return a valid file with some values changed, or removed if the change is None."""
    values = parameter_set("whipple", "benchmark") | changes
    text = HEAD.format(form='form = "benchmark"')
    text += "".join(f"{key} = {value}\n" for key, value in values.items() if value is not None)
    file = tmp_path / "mine.toml"
    file.write_text(text)
    return file


def test_a_good_file_is_read(tmp_path: Path) -> None:
    values, source = read_parameter_set(written(tmp_path, mB=90), "whipple")
    assert values["mB"] == 90.0
    assert source.doi == "10.1000/1"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"IBxz": None}, r"mine\.toml: values\.IBxz is missing"),
        ({"IBxy": 0.0}, r"mine\.toml: the key values\.IBxy is unknown\. Did you mean"),
        ({"mB": "nan"}, r"mine\.toml: values\.mB = nan is not finite"),
        ({"mB": "inf"}, r"values\.mB = inf is not finite"),
        ({"mB": "9" * 400}, r"values\.mB = 9{40} is not finite, or too large"),
        ({"mB": '"85"'}, r"values\.mB = '85' is not a number"),
        ({"mB": "true"}, r"values\.mB = True is not a number"),
    ],
)
def test_wrong_values_are_named(tmp_path: Path, changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        read_parameter_set(written(tmp_path, **changes), "whipple")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('title = "T"', "", "title is missing"),
        ('title = "T"', 'title = "  "', "title is empty"),
        ('title = "T"', "title = 3", "title = 3 must be a string"),
        ('form = "benchmark"', 'form = "tesis"', "unknown form 'tesis'. Did you mean 'thesis'"),
        ('form = "benchmark"', 'from = "benchmark"', "from is unknown. Did you mean 'form'"),
        ('citation = "C"', "", r"source\.citation is missing"),
        ('note = "N"', 'nota = "N"', r"source\.note is missing"),
        ('"10.1000/1"', '"https://doi.org/10.1000/1"', r"source\.doi = .* is not a DOI"),
        ("[values]", "[values", "not a TOML file"),
        ("[source]", "[sources]", "source is missing"),
    ],
)
def test_wrong_tables_are_named(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    file = written(tmp_path)
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(DataError, match=r"mine\.toml: .*" + complaint):
        read_parameter_set(file, "whipple")


def test_a_value_in_place_of_a_table_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('title = "T"\nsource = "S"\nvalues = 3\n')
    with pytest.raises(DataError, match="'source' must be a table"):
        read_parameter_set(file, "whipple")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_parameter_set(tmp_path / "none.toml", "whipple")


def test_vehicles_with_one_form_take_any_names(tmp_path: Path) -> None:
    file = tmp_path / "disc.toml"
    file.write_text(HEAD.format(form="") + "m = 1\nr = 0.5\n")
    assert read_parameter_set(file, "rolling_disc")[0] == {"m": 1.0, "r": 0.5}


def test_deviations_of_a_bicycle_are_carried_to_that_with_rider():
    """Batavus Browser and rider as measured apart (BicycleParameters 1.5.2), drawn and put together; the
    fork's stay as they are."""
    found = parameter_deviations("whipple", "browser_jason")
    assert found["c"] == pytest.approx(0.00169464, rel=1e-3)
    frame = {"m": (9.86, 0.02), "x": (0.275951285677, 0.00309782583552)}
    frame |= {"z": (-0.537842424305, 0.00265022978777), "Ixx": (0.52962890621, 0.00247550148476)}
    frame |= {"Ixz": (-0.116285607878, 0.00114783359707)}
    rng = np.random.default_rng(0)
    m, x, z, Ixx, Ixz = (mean + size * rng.normal(size=40000) for mean, size in frame.values())
    rider = 72.0 + 2.0 * rng.normal(size=40000)
    mass = m + rider
    xB = (m * x + rider * 0.2909) / mass
    zB = (m * z - rider * 1.1091) / mass
    part = m * rider / mass  # of two bodies about their common centre
    dx = x - 0.2909
    dz = z + 1.1091
    drawn = {"mB": mass, "xB": xB, "zB": zB}
    drawn |= {"IBxx": Ixx + 7.9985 + part * dz * dz, "IBxz": Ixz - 1.9272 - part * dx * dz}
    for name, values in drawn.items():
        assert values.mean() == pytest.approx(
            parameter_set("whipple", "browser_jason")[name], rel=1e-3
        )
        assert values.std() == pytest.approx(found[name], rel=0.03)
