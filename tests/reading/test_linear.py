"""Printed linear equations: benchmark numbers, compiled programs, characteristic polynomial,
transfer functions.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile, state
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.analysis.linear import linearise
from draisine.codegen.paper import latex
from draisine.errors import ParameterError
from draisine.reading.linear.deviations import StraightRunning
from reading.latex_reader import Document, key

MEIJAARD = {
    "M": [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]],
    "C_{1}": [[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]],
    "K_{0}": [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]],
    "K_{2}": [[0.0, 76.59734589573222], [0.0, 2.65431523794604]],
}
"""Meijaard et al. (2007), doi:10.1098/rspa.2007.1857, eqs. (5.1)-(5.4); steer to the right."""

TURN = np.diag([1.0, -1.0])


@pytest.fixture(scope="module")
def bicycle():
    return compile("whipple")


@pytest.fixture(scope="module")
def equations(bicycle):
    return bicycle.equations(linear=True)


def read(equations, parameters, v):
    point = dict(parameters) | {"forward speed": v}
    given = {key(latex.symbol(s)): point[name] for name, s in equations.page.given}
    return Document(equations.write(), given)


def test_the_page_has_the_matrices_of_the_benchmark(bicycle, equations):
    found = read(equations, bicycle.parameters, 1.0).matrices
    for name, wanted in MEIJAARD.items():
        assert_allclose(TURN @ found[name] @ TURN, wanted, atol=2e-12)


def test_the_page_explains_its_signs_and_has_one_v(bicycle, equations):
    """Off-diagonal signs are opposite, see the test above; v is the forward speed only."""
    text = equations.write()
    assert "entries 12 and 21 of all matrices have the opposite sign" in text
    assert "is the forward speed" in text and "Speeds" not in text
    assert "Speeds" in bicycle.equations().write()


def test_the_page_agrees_with_the_linearised_programs(bicycle, equations):
    rng = np.random.default_rng(3)
    lengths = ("w", "c", "lam", "xB", "zB", "mB", "xH", "zH", "mH", "mF", "mR", "rF", "rR")
    other = bicycle.with_parameters(
        **{name: bicycle.parameters[name] * rng.uniform(0.9, 1.1) for name in lengths}
    )
    found = read(equations, other.parameters, 1.0).matrices
    wanted = canonical_matrices(other)
    for name, matrix in (
        ("M", wanted.M),
        ("C_{1}", wanted.C1),
        ("K_{0}", wanted.K0),
        ("K_{2}", wanted.K2),
    ):
        assert_allclose(TURN @ found[name] @ TURN, matrix, atol=1e-11 * np.abs(matrix).max())


def test_characteristic_polynomial_and_transfer_functions_agree(bicycle, equations):
    v = 5.0
    g = bicycle.parameters["g"]
    text = read(equations, bicycle.parameters, v)
    M, C1, K0, K2 = (np.array(text.matrices[name]) for name in MEIJAARD)
    a, b, d = (
        [text.values.get(f"{letter}_{{{k}}}", 0.0) for k in reversed(range(size))]
        for letter, size in (("a", 5), ("b", 3), ("d", 3))
    )
    s = 0.3 + 2.0j
    dynamic = M * s**2 + v * C1 * s + g * K0 + v * v * K2
    assert_allclose(np.polyval(a, s), np.linalg.det(dynamic), rtol=1e-12)
    response = np.linalg.solve(dynamic, [0.0, 1.0])
    assert_allclose(np.array([np.polyval(b, s), np.polyval(d, s)]) / np.polyval(a, s), response)


def test_a_rider_who_leans_has_three_coordinates():
    lateral = StraightRunning(compile("whipple", mU=30.0).subject()).lateral
    assert lateral.coordinates == ("lean", "steer", "torso")
    assert lateral.mass.shape == (3, 3)


def test_a_steady_motion_is_written_in_numbers(bicycle):
    start = state(bicycle, forward_speed=5.0)
    linear = linearise(bicycle, start)
    text = linear.equations(digits=12).write()
    read = Document(text, {}).matrices
    assert_allclose(read["A"], linear.A, rtol=1e-11)
    assert_allclose(read["B"], linear.B, rtol=1e-11)
    assert ", ".join(linear.states).replace("_", " ") in text


def test_machines_that_do_not_run_straight_are_refused():
    with pytest.raises(ParameterError, match="run straight and upright"):
        compile("unicycle").equations(linear=True)


@pytest.mark.parametrize(
    ("language", "comment"),
    [("matlab", "%"), ("sympy", "#"), ("maple", "#"), ("c", "/*"), ("mathematica", "(*")],
)
def test_code_explains_the_signs_in_a_comment(equations, language, comment):
    lines = [line.strip() for line in equations.write(language).splitlines()]
    told = next(k for k, line in enumerate(lines) if "Lean is positive to the right" in line)
    assert "have the opposite sign" in lines[told + 1]
    assert all(line.startswith(comment) for line in lines[told : told + 2])
    assert not any(line.startswith(("M_", "M$", "const double M_")) for line in lines[:told])
