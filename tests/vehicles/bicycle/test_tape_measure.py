"""Bicycle parameters from tape measure and scale: physically valid for every input, close to
measured ones.
"""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from draisine.errors import ParameterError
from draisine.vehicles import parameter_set, parameter_sets
from draisine.vehicles.bicycle import (
    BENCHMARK,
    from_tape_measure,
    read_bicycle,
    tape_measure_covariance,
)
from draisine.vehicles.bicycle._tape_measure import BICYCLE_COEFFICIENTS, SEGMENTS

CITY: dict[str, Any] = {
    "wheelbase": 1.1,
    "trail": 0.07,
    "head_angle": math.radians(70),
    "rear_radius": 0.34,
    "front_radius": 0.34,
    "bicycle_mass": 18.0,
    "rider_mass": 75.0,
}
GIVEN = {"w", "c", "lam", "g", "rR", "rF"}


def assert_possible(p: dict[str, float]) -> None:
    """Assert that masses and inertias are positive and satisfy the triangle inequality."""
    assert min(p[k] for k in ("mR", "mB", "mH", "mF")) >= 0
    for body in "BH":
        xx, yy, zz, xz = (p[f"I{body}{k}"] for k in ("xx", "yy", "zz", "xz"))
        a, b = np.linalg.eigvalsh([[xx, xz], [xz, zz]])
        assert a > 0
        assert yy <= a + b
        assert b <= yy + a
    for wheel in "RF":
        assert 0 < p[f"I{wheel}yy"] <= 2 * p[f"I{wheel}xx"]


def test_all_26_parameters_and_explanations_are_returned() -> None:
    values, said = from_tape_measure(**CITY)
    assert tuple(values) == BENCHMARK
    assert set(said) == set(BENCHMARK) - GIVEN
    assert all(text.endswith(".") and text.isascii() for text in said.values())
    assert "doi:10.1016/0021-9290(95)00178-6" in said["IBxx"]


def test_measured_values_are_kept() -> None:
    values, said = from_tape_measure(
        **CITY, rear_wheel_mass=2.5, front_wheel_mass=2.0, fork_mass=3.0, gravity=9.81
    )
    assert (values["w"], values["c"], values["rR"], values["rF"]) == (1.1, 0.07, 0.34, 0.34)
    assert_allclose(values["lam"], math.radians(20))
    assert (values["mR"], values["mF"], values["mH"]) == (2.5, 2.0, 3.0)
    assert_allclose(values["mB"], 18.0 - 7.5 + 75.0)
    assert not {"mR", "mF", "mH"} & set(said)


def test_masses_add_up() -> None:
    p, _ = from_tape_measure(**CITY)
    assert_allclose(p["mR"] + p["mB"] + p["mH"] + p["mF"], 93.0, rtol=1e-14)


def test_the_mass_fractions_of_the_rider_add_up_to_one() -> None:
    """The mass fractions of de Leva 1996 add up to one."""
    assert_allclose(sum(segment[0] for segment in SEGMENTS.values()), 1.0, atol=1e-12)


def test_without_rider() -> None:
    p, said = from_tape_measure(**CITY | {"rider_mass": 0.0})
    assert p["mB"] < 18.0
    assert "without a rider" in said["IBxx"]
    assert_possible(p)


def test_mass_scales() -> None:
    """If all masses are doubled, positions are unchanged and moments double."""
    one, _ = from_tape_measure(**CITY)
    two, _ = from_tape_measure(**CITY | {"bicycle_mass": 36.0, "rider_mass": 150.0})
    for name in BENCHMARK:
        factor = 2.0 if name[0] in "mI" else 1.0
        assert_allclose(two[name], factor * one[name], rtol=1e-13, err_msg=name)


@given(
    wheelbase=st.floats(0.6, 2.5),
    trail=st.floats(-0.1, 0.2),
    head=st.floats(50, 85),
    rear=st.floats(0.15, 0.4),
    front=st.floats(0.15, 0.4),
    bicycle=st.floats(3.0, 60.0),
    rider=st.floats(0.0, 150.0),
    height=st.floats(1.0, 2.1),
)
def test_every_estimate_is_physically_possible(
    wheelbase: float,
    trail: float,
    head: float,
    rear: float,
    front: float,
    bicycle: float,
    rider: float,
    height: float,
) -> None:
    try:
        p, _ = from_tape_measure(
            wheelbase=wheelbase,
            trail=trail,
            head_angle=math.radians(head),
            rear_radius=rear,
            front_radius=front,
            bicycle_mass=bicycle,
            rider_mass=rider,
            rider_height=height,
        )
    except ParameterError:
        assume(False)
    assert_possible(p)


# Riders of Moore 2012 (doi:10.6084/m9.figshare.1198429), stature 1.728 m: mass; cranks, saddle and
# grips by the measured lengths of the bicycle; mass centre and moments of the rider alone.
RIDERS = {
    "on the Browser": (
        72.0,
        {"cranks": (0.4577, 0.295), "saddle": (0.1755, 1.0114), "grips": (0.5819, 0.9937)},
        {"x": 0.2909, "z": -1.1091, "xx": 7.9985, "yy": 8.0689, "zz": 2.3624},
    ),
    "on the Rigid": (
        83.5,
        {"cranks": (0.4210, 0.291), "saddle": (0.1964, 1.0075), "grips": (0.6898, 1.1186)},
        {"x": 0.3525, "z": -1.1067, "xx": 9.5771, "yy": 9.7144, "zz": 2.1636},
    ),
}


@pytest.mark.parametrize("name", RIDERS)
def test_the_rider_is_near_a_measured_one(name: str) -> None:
    """Mass centre to 6 cm forward and 2 cm upward, moments of inertia to 30 percent."""
    mass, posture, measured = RIDERS[name]
    both, _ = from_tape_measure(**CITY | {"rider_mass": mass, "rider_height": 1.728} | posture)
    bare, _ = from_tape_measure(**CITY | {"rider_mass": 0.0, "rider_height": 1.728} | posture)
    assert_allclose(both["mB"] - bare["mB"], mass)
    x = (both["mB"] * both["xB"] - bare["mB"] * bare["xB"]) / mass
    z = (both["mB"] * both["zB"] - bare["mB"] * bare["zB"]) / mass
    share = bare["mB"] * mass / both["mB"]
    dx = x - bare["xB"]
    dz = z - bare["zB"]
    apart = {"xx": dz**2, "yy": dx**2 + dz**2, "zz": dx**2}
    assert_allclose(x, measured["x"], atol=0.06)
    assert_allclose(z, measured["z"], atol=0.02)
    for axis, square in apart.items():
        found = both[f"IB{axis}"] - bare[f"IB{axis}"] - share * square
        assert_allclose(found, measured[axis], rtol=0.3, err_msg=axis)


@pytest.mark.parametrize("name", [n for n in parameter_sets("whipple") if n.endswith("_jason")])
def test_estimates_from_the_tape_alone_are_roughly_right(name: str) -> None:
    measured = parameter_set("whipple", name)
    rider = 83.5 if name.startswith("rigid") else 72.0
    p, _ = from_tape_measure(
        wheelbase=measured["w"],
        trail=measured["c"],
        head_angle=math.pi / 2 - measured["lam"],
        rear_radius=measured["rR"],
        front_radius=measured["rF"],
        bicycle_mass=sum(measured[k] for k in ("mR", "mB", "mH", "mF")) - rider,
        rider_mass=rider,
        rider_height=1.728,
    )
    assert_possible(p)
    assert abs(p["xB"] - measured["xB"]) < 0.12
    assert abs(p["zB"] - measured["zB"]) < 0.05
    assert_allclose(p["IBxx"], measured["IBxx"], rtol=0.15)
    assert_allclose(p["IByy"], measured["IByy"], rtol=0.15)
    assert_allclose(p["IBzz"], measured["IBzz"], rtol=0.45)


MEASURED = Path(__file__).parents[4] / "shared" / "measured" / "bicycles"


@pytest.mark.skipif(not MEASURED.exists(), reason="the measured bicycles are not there")
def test_coefficients_are_mean_and_deviation_of_measured_bicycles() -> None:
    """Six bicycles; of the Stratos only the set with its rider of 72 kg is published."""
    names = ("Browser", "Crescendo", "Fisher", "Pista", "Yellow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # known errors of published files
        bicycles = [read_bicycle(MEASURED / f"{name}Benchmark.txt") for name in names]
    stratos = parameter_set("whipple", "stratos_jason")
    bicycles.append(stratos | {"mB": stratos["mB"] - 72.0})
    ratios: dict[str, list[float]] = {}
    for b in bicycles:
        whole = b["mB"] + b["mH"] + b["mR"] + b["mF"]
        ratios.setdefault("fork_mass", []).append(b["mH"] / whole)
        for wheel, letter in (("rear_wheel", "R"), ("front_wheel", "F")):
            unit = b[f"m{letter}"] * b[f"r{letter}"] ** 2
            ratios.setdefault(f"{wheel}_mass", []).append(b[f"m{letter}"] / whole)
            ratios.setdefault(f"{wheel}_xx", []).append(b[f"I{letter}xx"] / unit)
            ratios.setdefault(f"{wheel}_yy", []).append(b[f"I{letter}yy"] / unit)
    for name, each in ratios.items():
        found = np.mean(each), np.std(each, ddof=1)
        assert_allclose(BICYCLE_COEFFICIENTS[name], found, atol=0.006, err_msg=name)


def test_covariance_of_a_mass_and_its_inertia_follows_from_their_product() -> None:
    """m = k M and I = c m r^2: variances add up to first order, and both share the error of m."""
    values, covariance = tape_measure_covariance({"front_radius": 0.004}, **CITY)
    names = list(values)
    m = names.index("mF")
    moment = names.index("IFyy")
    share, scatter = BICYCLE_COEFFICIENTS["front_wheel_mass"]
    variance = (scatter * 18.0) ** 2 + (share * 0.2) ** 2
    assert covariance[m, m] == pytest.approx(variance, rel=1e-12)
    mean, spread = BICYCLE_COEFFICIENTS["front_wheel_yy"]
    relative = variance / values["mF"] ** 2 + (spread / mean) ** 2 + (2 * 0.004 / 0.34) ** 2
    assert covariance[moment, moment] == pytest.approx(values["IFyy"] ** 2 * relative, rel=1e-3)
    shared = variance * values["IFyy"] / values["mF"]
    assert covariance[m, moment] == pytest.approx(shared, rel=1e-12)
    assert covariance[names.index("g")].tolist() == [0.0] * 26


@pytest.mark.parametrize("name", ["browser_jason", "crescendo_jason", "pista_jason"])
def test_measured_bicycles_are_within_three_deviations(name: str) -> None:
    """Usual bicycles; instruments that weigh as much as a frame are no part of the estimate."""
    measured = parameter_set("whipple", name)
    rider = 72.0
    values, covariance = tape_measure_covariance(
        wheelbase=measured["w"],
        trail=measured["c"],
        head_angle=math.pi / 2 - measured["lam"],
        rear_radius=measured["rR"],
        front_radius=measured["rF"],
        bicycle_mass=sum(measured[k] for k in ("mR", "mB", "mH", "mF")) - rider,
        rider_mass=rider,
        rider_height=1.728,
    )
    sizes = dict(zip(values, np.sqrt(np.diag(covariance)), strict=True))
    for key in set(BENCHMARK) - GIVEN:
        assert abs(measured[key] - values[key]) < 3.0 * sizes[key], key


def test_wrong_deviations_are_refused() -> None:
    with pytest.raises(ParameterError, match="Not among the measurements: 'weelbase'"):
        tape_measure_covariance({"weelbase": 0.1}, **CITY)
    with pytest.raises(ParameterError, match="rigid rider; leave out arms"):
        tape_measure_covariance(**CITY, arms=True)
    with pytest.raises(ParameterError, match="Unknown coefficient 'fork'"):
        from_tape_measure(**CITY, coefficients={"fork": 1.0})


def test_a_taller_rider_sits_higher() -> None:
    short, _ = from_tape_measure(**CITY, rider_height=1.6)
    tall, _ = from_tape_measure(**CITY, rider_height=1.9)
    assert tall["zB"] < short["zB"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"wheelbase": 1100.0}, "wheelbase = 1100 m is not between .* metres"),
        ({"wheelbase": 0.66}, "would overlap"),
        ({"wheelbase": math.nan}, "wheelbase = nan is not a finite number"),
        ({"head_angle": 70.0}, r"use math\.radians\(70\)"),
        ({"head_angle": math.nan}, "head_angle"),
        ({"trail": 0.6}, "beyond the wheel of radius 0.34 m"),
        ({"rear_radius": -0.34}, "rear_radius = -0.34 m"),
        ({"front_radius": 0.0}, "front_radius = 0 m"),
        ({"bicycle_mass": 0.0}, "bicycle_mass = 0 kg"),
        ({"rider_mass": -1.0}, "rider_mass = -1 kg"),
        ({"rider_height": 175.0}, "rider_height = 175 m"),
        ({"gravity": -9.81}, "gravity"),
        ({"rear_wheel_mass": 20.0}, "rear_wheel_mass = 20 kg is not between 0 and 18 kg"),
        ({"rear_wheel_mass": 9.0, "fork_mass": 9.0}, "check these masses"),
        ({"saddle": (0.2, 1.6)}, "cranks at .* from the saddle .* legs span"),
        ({"grips": (1.6, 0.9)}, "grips at .* from the saddle .* trunk and arms span"),
        ({"grips": (0.8, 0.2), "rider_mass": 0.0}, "not above the front axle"),
        ({"saddle": (0.2, -1.0)}, "saddle = .* above the ground"),
        ({"cranks": (math.inf, 0.3)}, "cranks = "),
    ],
)
def test_impossible_input_is_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        from_tape_measure(**CITY | change)
