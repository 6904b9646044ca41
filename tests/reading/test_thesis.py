"""The thesis notation of the bicycle: constraints, kernel and mass matrix equal those of its
appendices.

They are compared as expressions, not at sample points.
"""

import re

import numpy as np
import pytest

from draisine import compile
from draisine.algebra.scalar import cos, is_zero, sin
from reading.latex_reader import LatexReader
from reading.thesis_appendices import CONSTRAINTS, KERNEL, MASSES


@pytest.fixture(scope="module")
def subject():
    return compile("whipple").equations(form="thesis").subject


def bare(key):
    """Return a symbol's text without braces."""
    return key.replace("{", "").replace("}", "")


@pytest.fixture(scope="module")
def typed(subject):
    """Return all definitions of the appendices as traced expressions, by bare symbol."""
    parameters = dict(subject.parameters)
    angles = {r"\mu": parameters.pop("mu"), "r_1": subject.r[0]}
    angles[r"\alpha_0"] = subject.turns["alpha_0"]
    values = {f"{name[0]}_{name[1:]}": x for name, x in parameters.items()}
    for name, angle in angles.items():
        c, s = cos(angle), sin(angle)
        values |= {f"c_{name}": c, f"s_{name}": s}
        values |= {f"s_2{name}": 2 * s * c, f"c_3{name}": 4 * (c * c * c) - 3 * c}
    rho = next(a.point.rho for a in subject.active if a.contact.name == "front")
    values |= {r"s_\alpha_1": rho[0] / values["h_2"], r"c_\alpha_1": rho[2] / values["h_2"]}
    for texts in (CONSTRAINTS, KERNEL, MASSES):
        for name, text in texts.items():
            values[bare(name)] = LatexReader(text, lambda key: values[bare(key)]).whole()
    return values


def same(a, b):
    """Return whether two traced values are the same expression: their difference is zero."""
    return is_zero(a - b)


def test_constraints_equal_equation_2_29(subject, typed):
    assert subject.C.shape == (6, 9)
    for i in range(6):
        for j in range(9):
            name = f"A_{i + 1}{j + 1}" if j < 6 else f"B_{i + 1}{j - 5}"
            unit = 1.0 if j < 3 and i % 3 == j else 0.0
            assert same(subject.C[i, j], typed.get(name, unit)), name


def test_kernel_equals_appendix_b(subject, typed):
    assert [subject.model.speeds[k] for k in subject.independent] == [
        "Wy",
        "steer_rate",
        "rear_wheel_rate",
    ]
    fixed = {"55": 1.0, "77": 1.0, "99": 1.0}
    for i in range(9):
        for k, column in enumerate("579"):
            place = f"{i + 1}{column}"
            wanted = typed.get(f"H_{place}", fixed.get(place, 0.0))
            assert same(subject.H[i, k], wanted), place


def test_front_wheel_does_not_turn_with_the_roll_rate_alone(subject, typed):
    """H85 is zero identically; the thesis prints a quotient for it."""
    assert is_zero(subject.H[7, 0])
    assert is_zero(typed["H_85"])


def test_mass_matrix_equals_appendix_c_1(subject, typed):
    found = 0
    for i in range(9):
        for j in range(i, 9):
            wanted = typed.get(f"M_{i + 1}{j + 1}", 0.0)
            found += not is_zero(subject.M[i, j])
            assert same(subject.M[i, j], wanted), (i + 1, j + 1)
    assert found == len(MASSES)


def test_kernel_needs_thirteen_lines_and_no_pivot_that_vanishes_upright(subject):
    page = compile("whipple").equations(form="thesis").page
    lines = [s.plain for s, _ in page.definitions() if re.fullmatch(r"(H|D)_\d+", s.plain)]
    assert len(lines) == 13
    pivots = [x for x in subject.solver.pivot if not isinstance(x, float)]
    assert np.abs(subject.evaluate_nominal(pivots)).min() > 0.1
