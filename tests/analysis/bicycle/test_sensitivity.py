"""Sensitivities of the critical speeds to the parameters of the bicycle."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile
from draisine.algebra.scalar import atan2, cos, exp, sin, sqrt, where
from draisine.algebra.trace import Graph
from draisine.analysis.bicycle.critical import critical_speeds
from draisine.analysis.bicycle.sensitivity import canonical_changes, sensitivities
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.differentiate import run_tangent
from draisine.codegen.program import run_program, trace_program
from draisine.vehicles import parameter_set

BICYCLE = compile("whipple")


def differences(name: str) -> list[float]:
    """Return dv/dp of weave, capsize and double root by differences of fourth order."""
    p = BICYCLE.parameters[name]
    h = 1e-4 * max(abs(p), 0.1)
    speeds = critical_speeds(BICYCLE, **{name: p + h * np.array([-2, -1, 1, 2])})
    each = (speeds.weave, speeds.capsize, speeds.double_root)
    return [float((8 * (v[2] - v[1]) - (v[3] - v[0])) / (12 * h)) for v in each]


def test_sensitivities_agree_with_differences() -> None:
    found = sensitivities(BICYCLE)
    assert found.parameters == tuple(BICYCLE.parameters)
    exact = np.array([differences(name) for name in found.parameters])
    for k, which in enumerate(("weave", "capsize", "double_root")):
        assert_allclose(getattr(found, which), exact[:, k], rtol=1e-7, atol=1e-8)


def test_changes_of_the_matrices_agree_with_differences() -> None:
    found = canonical_changes(BICYCLE)
    h = 1e-4
    for k, name in enumerate(BICYCLE.parameters):
        p = BICYCLE.parameters[name] + h * np.array([-2, -1, 1, 2])
        near = canonical_matrices(BICYCLE, **{name: p})
        for part in ("M", "C1", "Kg", "K2"):
            x = getattr(near, part)
            slope = (8 * (x[2] - x[1]) - (x[3] - x[0])) / (12 * h)
            assert_allclose(getattr(found, part)[k], slope, rtol=1e-6, atol=1e-7)


def test_known_dependencies() -> None:
    """Critical speeds grow with the square root of gravity. The capsize speed depends on static
    terms and spin moments only, and not on mass moments. The radius of the rear wheel enters
    with its spin moment.
    """
    found = sensitivities(BICYCLE)
    at = {name: k for k, name in enumerate(found.parameters)}
    speeds = critical_speeds(BICYCLE)
    for which in ("weave", "capsize", "double_root"):
        half = getattr(speeds, which) / (2 * BICYCLE.parameters["g"])
        assert_allclose(getattr(found, which)[at["g"]], half, rtol=1e-10)
    inertias = [at[f"I{body}{k}"] for body in "BH" for k in ("xx", "yy", "zz", "xz")]
    assert_allclose(found.capsize[inertias], 0.0, atol=1e-12)
    assert_allclose(found.weave[[at["IByy"], at["IHyy"]]], 0.0, atol=1e-12)
    assert_allclose(found.relative("weave"), found.values * found.weave)


def test_a_speed_that_is_not_there_has_no_derivative() -> None:
    skates = compile("whipple", **parameter_set("whipple", "two_mass_skate"))
    found = sensitivities(skates)
    assert np.isnan(found.capsize).all()
    assert np.isfinite(found.weave).all()
    radii = [found.parameters.index(name) for name in ("rR", "rF")]
    assert_allclose(found.weave[radii], 0.0, atol=1e-9)


def test_programs_run_with_their_derivatives() -> None:
    graph = Graph()
    x = graph.symbol("x")
    y = graph.symbol("y")
    p = graph.symbol("p", parameter=True)
    wave = sin(x * y) * exp(-y) + cos(x) / (p + y * y)
    bent = where(x < y, sqrt(x * x + p * p), atan2(y, x) - x)
    program = trace_program("f", {"parameters": [p], "s": [x, y]}, {"out": [wave, bent, 2.0]})
    at = {"parameters": np.array([[1.5, 1.5]]), "s": np.array([[0.4, 1.2], [0.9, 0.3]])}
    along = {"parameters": np.array([[0.7, 0.7]]), "s": np.array([[1.0, -0.4], [0.5, 2.0]])}
    values, rates = run_tangent(program, at, along)
    assert_allclose(values["out"], run_program(program, **at)["out"])
    h = 1e-4
    near = [
        run_program(program, **{k: at[k] + j * h * along[k] for k in at})["out"]
        for j in (-2, -1, 1, 2)
    ]
    slope = (8 * (near[2] - near[1]) - (near[3] - near[0])) / (12 * h)
    assert_allclose(rates["out"], slope, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("lam", [0.1, math.pi / 10])
def test_changes_follow_another_bicycle(lam: float) -> None:
    other = BICYCLE.with_parameters(lam=lam)
    slope = sensitivities(other).weave[list(other.parameters).index("lam")]
    v = critical_speeds(BICYCLE, lam=lam + 1e-4 * np.array([-2, -1, 1, 2])).weave
    assert_allclose(slope, (8 * (v[2] - v[1]) - (v[3] - v[0])) / 12e-4, rtol=1e-7)
