"""Printed equations of the other formulations, read back and evaluated at random states, agree with the
programs that the formulations solve.
"""

import re

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import draisine
from draisine.codegen.formula import Symbol
from draisine.codegen.paper import latex
from draisine.errors import ModelError, ParameterError
from draisine.mechanics.formulations.absolute import Absolute, Coordinates
from draisine.mechanics.formulations.bicycle.partitioned import BETA, Partitioned
from draisine.mechanics.formulations.bicycle.planar import Planar
from draisine.registry import names
from draisine.system.system import compile
from reading.latex_reader import Document
from reading.latex_reader import key as latex_key

TOLERANCE = 1e-12

BICYCLES = {
    "whipple": {},
    "whipple, torus tyres": {"crown": 0.02},
    "whipple, slope": {"slope": 0.2},
    "whipple, rider": {"mU": 30.0},
}
"""Bicycles by name, with the arguments of the vehicle."""

TREES = ["snakeboard", "trikke", "rolling_disc", "falling_cat", "chaplygin_sleigh"]
"""Machines whose absolute coordinates are printed."""


def bicycle(name):
    return compile("whipple", **BICYCLES[name])


def system_of(name):
    return bicycle(name) if name in BICYCLES else compile(name)


def values_of(equations, system, arrays):
    """Return values by printed symbol: parameters of the system, entries of arrays by name."""
    out = {}
    for name, symbol in equations.page.given:
        match = re.fullmatch(r"(\w+)\[(\d+)\]", name)
        out[symbol] = arrays[match[1]][int(match[2])] if match else system.parameters[name]
    return out


class LatexPage:
    """Matrices and numbers of a page, evaluated from its LaTeX text."""

    def __init__(self, equations, values):
        self.text = equations.write("latex")
        spelled = {latex_key(latex.symbol(s)): x for s, x in values.items()}
        document = Document(self.text, spelled)
        self.numbers = document.values
        self.matrices = {}
        for name, rows in document.matrices.items():
            array = np.array(rows)
            transposed = name.endswith(r"^{\top}")
            self.matrices[latex_key(name.removesuffix(r"^{\top}"))] = (
                array.T if transposed else array
            )

    def matrix(self, name):
        found = [self.matrices[x] for x in (name, rf"\bar{{{name}}}") if x in self.matrices]
        if not found and (bar := re.sub(r"^(\\?\w+?)_", r"\\bar{\1}_", name)) in self.matrices:
            found = [self.matrices[bar]]
        return found[0]

    def column(self, name):
        return self.matrix(name).ravel()

    def number(self, symbol):
        return self.numbers[latex_key(latex.symbol(Symbol.parse(symbol)))]

    def relation(self, left):
        """Return the value of the right side of a printed relation between matrices."""
        for found in re.finditer(r"\$([^$]*?) = ([^$]*?)\$~\(\d+\)", self.text):
            if latex_key(found[1]) == left:
                return MatrixReader(found[2], self).whole()
        raise KeyError(left)


class MatrixReader:
    """Recursive-descent reader of sums and products of matrices, columns and numbers."""

    TOKEN = re.compile(r"\^\{\\top\}|\\?[A-Za-z]+(?:_\{\w+\})?|[-+()]")

    def __init__(self, text, page):
        self.tokens = self.TOKEN.findall(
            text.replace(r"\,", " ").replace(r"\left", "").replace(r"\right", "")
        )
        self.page = page

    def whole(self):
        value = self.sum()
        assert not self.tokens
        return value

    def sum(self):
        total = None
        while self.tokens and self.tokens[0] != ")":
            sign = 1.0
            if self.tokens[0] in "+-":
                sign = -1.0 if self.tokens.pop(0) == "-" else 1.0
            term = sign * self.product()
            total = term if total is None else total + term
        return total

    def product(self):
        total = None
        while self.tokens and self.tokens[0] not in ("+", "-", ")"):
            factor = self.atom()
            if self.tokens and self.tokens[0] == r"^{\top}":
                self.tokens.pop(0)
                factor = factor.T
            if total is None:
                total = factor
            else:
                total = (
                    total * factor
                    if np.ndim(total) == 0 or np.ndim(factor) == 0
                    else total @ factor
                )
        return total

    def atom(self):
        token = self.tokens.pop(0)
        if token == "(":
            value = self.sum()
            assert self.tokens.pop(0) == ")"
            return value
        if token in self.page.numbers:
            return self.page.numbers[token]
        return self.page.matrix(token)


def close(found, wanted):
    wanted = np.asarray(wanted, float)
    scale = max(1.0, np.abs(wanted).max(initial=0.0))
    assert_allclose(np.asarray(found, float), wanted, rtol=0, atol=TOLERANCE * scale)


def absolute_case(system, rng):
    """Return the formulation, random arrays by name and the arrays that it computes there."""
    formulation = Absolute(system.model)
    n = len(system.model.bodies)
    e = rng.uniform(-1.2, 1.2, (n, 3))
    at = Coordinates(*[rng.uniform(-1, 1, (n, 3)), e, *rng.uniform(-1, 1, (2, n, 3))])
    push = rng.uniform(-1, 1, 3 * len(system.model.pushes))
    anchors = (rng.uniform(-1, 1, 3 * len(system.model.pins)), rng.uniform(-1, 1, 3))
    t = rng.uniform(0.0, 1.0)
    arrays = {
        "x": at.x.ravel(), "e": e.ravel(), "v": at.v.ravel(), "omega": at.w.ravel(), "push": push,
        "anchors": anchors[0], "home": anchors[1], "t": [t],
        "w": rng.uniform(-1, 1, len(system.model.inputs)),
    }  # fmt: skip
    return formulation, arrays, formulation.compute_arrays(t, at, push, anchors)


def body_columns(rows, i, n):
    return rows[:, [*range(3 * i, 3 * i + 3), *range(3 * (n + i), 3 * (n + i) + 3)]]


@pytest.mark.parametrize("name", [*BICYCLES, *TREES])
def test_absolute_coordinates_agree_with_the_program(name):
    system = system_of(name)
    rng = np.random.default_rng(3)
    equations = system.equations(formulation="absolute")
    _, arrays, wanted = absolute_case(system, rng)
    page = LatexPage(equations, values_of(equations, system, arrays))
    n = len(system.model.bodies)
    for i in range(n):
        slots = [*range(3 * i, 3 * i + 3), *range(3 * (n + i), 3 * (n + i) + 3)]
        close(page.matrix(f"M_{{{i}}}"), wanted["M"][np.ix_(slots, slots)])
        close(page.column(f"Q_{{{i}}}"), wanted["Q"][slots])
        close(page.matrix(f"D_{{{i}}}"), body_columns(wanted["D"], i, n))
        if system.model.joints:
            close(page.matrix(f"U_{{{i}}}"), body_columns(wanted["U"][6:], i, n))
    close(page.column("g"), wanted["g"])
    if len(wanted["gaps"]):
        close(page.column(r"\epsilon"), wanted["gaps"])


@pytest.mark.parametrize("name", ["whipple", "trikke"])
def test_rates_of_the_euler_angles_give_the_angular_velocities(name):
    system = compile(name)
    equations = system.equations(formulation="absolute")
    _, arrays, _ = absolute_case(system, np.random.default_rng(5))
    page = LatexPage(equations, values_of(equations, system, arrays))
    w = np.reshape(arrays["omega"], (-1, 3))
    for i in range(len(system.model.bodies)):
        rates = [page.number(rf"\dot{{\{angle}}}_{{{i}}}") for angle in ("phi", "theta", "psi")]
        psidot, thetadot, phidot = rates[2], rates[1], rates[0]
        _, theta, psi = np.reshape(arrays["e"], (-1, 3))[i]
        c, s = np.cos, np.sin
        close(
            [
                -c(theta) * s(psi) * phidot + c(psi) * thetadot,
                s(theta) * phidot + psidot,
                c(theta) * c(psi) * phidot + s(psi) * thetadot,
            ],
            w[i],
        )
        A = page.matrix(f"A_{{{i}}}")
        close(A @ rates, w[i])


def partitioned_case(system, rng):
    formulation = Partitioned(system.model)
    n = formulation.size
    p = rng.uniform(-0.6, 0.6, n)
    pdot = rng.uniform(-1, 1, n)
    inputs = rng.uniform(-1, 1, len(system.model.inputs))
    arrays = {"t": [0.0], "p": p, "pdot": pdot, "inputs": inputs}
    return formulation, arrays, formulation.compute_arrays(0.0, p, pdot, inputs)


@pytest.mark.parametrize("name", BICYCLES)
def test_partitioned_equations_agree_with_the_program(name):
    system = bicycle(name)
    equations = system.equations(formulation="partitioned")
    formulation, arrays, wanted = partitioned_case(system, np.random.default_rng(11))
    page = LatexPage(equations, values_of(equations, system, arrays))
    close(page.relation("M"), wanted["M"])
    forces = sum(page.relation(x).ravel() for x in ("Q_{v}", "Q_{g}")) + page.column("Q")
    close(forces, wanted["Q"])
    close(page.matrix("D"), wanted["D"])
    close(page.column("c"), wanted["c"])
    close(page.column("C"), wanted["contact"])
    # The slopes of the contact equations by beta and xi are entries of D.
    close(page.matrix("D")[:2, [BETA, -1]], formulation.closure(p=arrays["p"])["slopes"])


@pytest.mark.parametrize("name", BICYCLES)
def test_planar_equations_agree_with_the_program(name):
    system = bicycle(name)
    equations = system.equations(formulation="planar")
    formulation = Planar(system.model)
    rng = np.random.default_rng(13)
    n = 5 + len(system.model.joints)
    q = rng.uniform(-0.6, 0.6, n)
    v = rng.uniform(-1, 1, n)
    inputs = rng.uniform(-1, 1, len(system.model.inputs))
    wanted = formulation.compute_arrays(0.0, q, v, inputs)
    arrays = {"t": [0.0], "coordinates": q, "speeds": v, "inputs": inputs}
    page = LatexPage(equations, values_of(equations, system, arrays))
    close(page.relation("M"), wanted["M"])
    close(page.relation("F").ravel(), wanted["F"])
    close(page.matrix("C"), wanted["C"])
    close(page.column("c"), wanted["c"])
    close(page.column("G"), [wanted["gap"]])


@pytest.mark.parametrize("name", ["whipple", "snakeboard", "rolling_disc"])
def test_saddle_point_page_has_the_rates_of_the_constraints(name):
    """On the constraints, the accelerations of the printed saddle-point system are those of the program."""
    system = compile(name)
    equations = system.equations(formulation="multiplier")
    state = draisine.state(system, **STATES[name])
    subject = equations.subject
    point = {f"turn {angle}": 0.0 for angle in subject.angles}
    frame = np.array(
        [float(x) for x in np.ravel(system.subject().evaluate_nominal(list(subject.frame.p)))]
    )
    v = np.array(state.v, float)
    v[: len(system.model.twist)] = shift(system, v[: len(system.model.twist)], frame)
    point |= {
        "v": v,
        "r": state.r,
        "w": np.zeros(len(system.model.inputs)),
        "p": np.zeros(3),
        "t": [0.0],
    }
    values = {}
    for given, symbol in equations.page.given:
        match = re.fullmatch(r"(\w)\[(\d+)\]", given)
        if match:
            values[symbol] = point[match[1]][int(match[2])]
        else:
            values[symbol] = (
                system.parameters[given] if given in system.parameters else point[given]
            )
    page = LatexPage(equations, values)
    M, C, F, d = page.matrix("M"), page.matrix("C"), page.column("F"), page.column("d")
    upper = np.tril(np.ones_like(M), -1).astype(bool)
    M[upper] = M.T[upper]
    K = np.block([[M, -C.T], [C, np.zeros((len(C), len(C)))]])
    found = np.linalg.solve(K, np.concatenate([-F, d]))
    wanted, _ = system.accelerate(state)
    wanted = np.array(wanted)
    twist = wanted[: len(system.model.twist)]
    wanted[: len(twist)] = shift(system, twist, frame)
    assert_allclose(found[: len(wanted)], wanted, atol=1e-10 * np.linalg.cond(K) ** 0.5)


STATES = {
    "whipple": {"forward_speed": 4.0, "steer_rate": 0.3, "lean_rate": 0.2},
    "snakeboard": {},
    "rolling_disc": {"forward_speed": 2.0},
}
"""Upright states of the saddle-point test."""


def shift(system, twist, frame):
    """Return the velocity or acceleration of the page's frame from that of the drawing's origin."""
    full = np.zeros(6)
    full[list(system.model.twist)] = twist
    full[:3] += np.cross(full[3:], frame)
    return full[list(system.model.twist)]


@pytest.mark.parametrize("formulation", ["absolute", "partitioned"])
def test_sympy_script_agrees_with_the_program(formulation):
    """The script of the page, run by SymPy with 40 digits, gives the arrays of the program."""
    system = compile("whipple")
    equations = system.equations(formulation=formulation)
    case = absolute_case if formulation == "absolute" else partitioned_case
    _, arrays, wanted = case(system, np.random.default_rng(17))
    values = values_of(equations, system, arrays)
    numbers = {s.plain: sympy.Float(float(x), 40) for s, x in values.items()}
    script = equations.write("sympy").replace("from sympy import *", "")
    scope = {name: getattr(sympy, name) for name in sympy.__all__}
    scope["Symbol"] = lambda name, real: numbers[name]
    exec(script, scope)

    def array(name):
        return np.array(scope[name].evalf(20).tolist(), float)

    if formulation == "absolute":
        for i in range(4):
            close(array(f"D_{i}"), body_columns(wanted["D"], i, 4))
        close(array("gbar").ravel() if "gbar" in scope else array("g").ravel(), wanted["g"])
    else:
        close(array("D"), wanted["D"])
        M = sum(
            float(scope[f"m_{i}"]) * array(f"H_{i}").T @ array(f"H_{i}")
            + array(f"G_{i}").T @ array(f"I_{i}") @ array(f"G_{i}")
            for i in range(4)
        )
        close(M, wanted["M"])


def test_every_formulation_has_a_page():
    system = compile("whipple")
    for name in names("formulation"):
        page = system.equations(formulation=name).page
        known = {symbol for _, symbol in page.given} | {symbol for symbol, _ in page.definitions()}
        assert all(symbol in page.meanings for symbol in known), name


def test_pages_refuse_what_they_cannot_print():
    bike = compile("whipple")
    with pytest.raises(ParameterError, match="No page of equations"):
        bike.equations(formulation="newton")
    with pytest.raises(ParameterError, match="do not apply"):
        bike.equations(formulation="planar", linear=True)
    with pytest.raises(ParameterError, match="both roll"):
        bike.equations({"front": "open"}, formulation="partitioned")
    with pytest.raises(ModelError, match="no bicycle"):
        compile("snakeboard").equations(formulation="planar")
