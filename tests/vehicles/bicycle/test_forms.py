"""The two published forms of the Whipple bicycle's parameters, compared with independent numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from draisine.errors import ParameterError
from draisine.vehicles.bicycle import BENCHMARK, THESIS, from_thesis, to_thesis
from draisine.vehicles.bicycle.whipple import whipple

# Meijaard et al. 2007, doi:10.1098/rspa.2007.1857, table 1.
MEIJAARD = {
    "w": 1.02,
    "c": 0.08,
    "lam": math.pi / 10,
    "g": 9.81,
    "rR": 0.3,
    "mR": 2.0,
    "IRxx": 0.0603,
    "IRyy": 0.12,
    "xB": 0.3,
    "zB": -0.9,
    "mB": 85.0,
    "IBxx": 9.2,
    "IByy": 11.0,
    "IBzz": 2.8,
    "IBxz": 2.4,
    "xH": 0.9,
    "zH": -0.7,
    "mH": 4.0,
    "IHxx": 0.05892,
    "IHyy": 0.06,
    "IHzz": 0.00708,
    "IHxz": -0.00756,
    "rF": 0.35,
    "mF": 3.0,
    "IFxx": 0.1405,
    "IFyy": 0.28,
}

# The same bicycle in the thesis's form: independent computation, double precision.
EXACT = {
    "g": 9.81,
    "mu": 0.3141592653589793,
    "l1": 0.9862781063184829,
    "l2": 0.03372189368151712,
    "h2": 0.35,
    "h3": 0.3,
    "m0": 85.0,
    "x0": 0.6000000000000001,
    "y0": 0.3,
    "I0xx": 2.8,
    "I0yy": 9.2,
    "I0zz": 11.0,
    "I0xy": -2.4,
    "m1": 4.0,
    "x1": 0.026100592803432396,
    "z1": 0.3595311817982034,
    "I1xx": 0.05841337700152972,
    "I1yy": 0.06,
    "I1zz": 0.007586622998470264,
    "I1zx": -0.0091192252619463,
    "m2": 3.0,
    "I2xx": 0.1405,
    "I2zz": 0.28,
    "m3": 2.0,
    "I3xx": 0.0603,
    "I3zz": 0.12,
}

# Mauny 2018, table 2.1.
TABLE_2_1 = EXACT | {
    "l1": 0.986,
    "l2": 0.0337,
    "x0": 0.6,
    "x1": 0.0288,
    "z1": 0.368,
    "I1xx": 0.0584,
    "I1zz": 0.0076,
    "I1zx": -0.0091,
    "I2xx": 0.141,
}


def scale(name: str) -> float:
    """Return the scale of rounding errors: a metre, or the tensor to which a moment belongs."""
    if name.startswith(("I1", "IH")):
        return 0.06
    if name in ("l1", "l2", "x0", "x1", "z1", "w", "c", "zB", "xH", "zH"):
        return 1.0
    return 0.0


def assert_same(found: dict[str, float], expected: dict[str, float]) -> None:
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert_allclose(found[name], value, rtol=1e-15, atol=1e-15 * scale(name), err_msg=name)


def test_there_are_26_names_in_each_form() -> None:
    assert len(BENCHMARK) == len(set(BENCHMARK)) == 26
    assert len(THESIS) == len(set(THESIS)) == 26


def test_benchmark_in_the_thesis_form() -> None:
    assert_same(to_thesis(MEIJAARD), EXACT)


def test_exact_thesis_form_is_the_benchmark() -> None:
    assert_same(from_thesis(EXACT), MEIJAARD)


def test_round_trip_of_the_benchmark_to_1e_15() -> None:
    back = from_thesis(to_thesis(MEIJAARD))
    for name in BENCHMARK:
        assert_allclose(back[name], MEIJAARD[name], rtol=1e-15, atol=0.0, err_msg=name)


def test_round_trip_of_table_2_1() -> None:
    assert_same(to_thesis(from_thesis(TABLE_2_1)), TABLE_2_1)


def test_table_2_1_in_the_benchmark_form() -> None:
    """Wheelbase and trail follow by hand: l1 + l2 and h2 tan(pi/10) - l2."""
    p = from_thesis(TABLE_2_1)
    assert_allclose(p["w"], 1.0197, rtol=1e-15)
    assert_allclose(p["c"], 0.35 * 0.3249196962329063 - 0.0337, rtol=1e-14)
    assert_allclose(p["zB"], -0.9, rtol=1e-15)


def test_inertia_keeps_its_principal_moments() -> None:
    t = to_thesis(MEIJAARD)
    trace = MEIJAARD["IHxx"] + MEIJAARD["IHzz"]
    det = MEIJAARD["IHxx"] * MEIJAARD["IHzz"] - MEIJAARD["IHxz"] ** 2
    assert_allclose(t["I1xx"] + t["I1zz"], trace, rtol=1e-15)
    assert_allclose(t["I1xx"] * t["I1zz"] - t["I1zx"] ** 2, det, rtol=1e-13)


def test_upright_steer_axis() -> None:
    """With a vertical steer axis the fork's frame is (forward, left, up) above the axis's foot."""
    t = to_thesis(MEIJAARD | {"lam": 0.0})
    assert_allclose(t["l2"], -0.08)
    assert_allclose(t["l1"], 1.10)
    assert_allclose((t["x1"], t["z1"]), (0.9 - 1.10, 0.35))
    assert_allclose((t["I1xx"], t["I1zz"], t["I1zx"]), (0.05892, 0.00708, 0.00756))


lengths = st.floats(0.1, 2.0)


@given(
    tilt=st.floats(-0.6, 1.2),
    trail=st.floats(-0.3, 0.3),
    rF=lengths,
    xH=lengths,
    zH=st.floats(-2.0, -0.1),
    moments=st.tuples(st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.floats(-0.5, 0.5)),
)
def test_round_trip_of_any_bicycle(
    tilt: float, trail: float, rF: float, xH: float, zH: float, moments: tuple[float, float, float]
) -> None:
    xx, zz, xz = moments
    p = MEIJAARD | {"lam": tilt, "c": trail, "rF": rF, "xH": xH, "zH": zH}
    p |= {"IHxx": xx, "IHzz": zz, "IHxz": xz}
    back = from_thesis(to_thesis(p))
    size = 4.0 + rF * abs(math.tan(tilt))
    for name in BENCHMARK:
        assert abs(back[name] - p[name]) <= 1e-15 * max(abs(p[name]), size), name


def test_wrong_name_is_led_to_the_right_one() -> None:
    with pytest.raises(ParameterError, match=r"'IBxzz'.*Did you mean 'IB(xz|zz)'"):
        to_thesis(MEIJAARD | {"IBxzz": 2.4})


def test_missing_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match="l1, I1zx are missing"):
        from_thesis({k: v for k, v in EXACT.items() if k not in ("l1", "I1zx")})


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_value_that_is_no_number(value: float) -> None:
    with pytest.raises(ParameterError, match=r"rF = .* is not a finite number"):
        to_thesis(MEIJAARD | {"rF": value})


@pytest.mark.parametrize("name", ["zB", "zH"])
def test_a_mass_centre_below_the_ground_is_warned_about(name: str) -> None:
    with pytest.warns(UserWarning, match=rf"{name} = 0.7 m .*below the ground.* {name} = -0.7"):
        whipple(**{name: 0.7})
