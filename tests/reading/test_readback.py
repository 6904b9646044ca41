"""Printed equations, read back and evaluated at random states and parameters, agree with the
compiled programs.
"""

from contextlib import suppress
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile
from draisine.algebra.lie import hat, quaternion
from draisine.algebra.trace import evaluate, tangent
from draisine.codegen.formula import Symbol
from draisine.codegen.paper import html, latex
from draisine.errors import ModelError
from draisine.mechanics.forces.load_tyre import LoadTyre
from draisine.mechanics.forces.magic_formula import MagicFormula
from draisine.mechanics.formulations import multiplier
from draisine.reading.document import ANGLE_SYMBOLS
from draisine.registry import names
from draisine.system.state import State
from draisine.vehicles import parameter_set
from reading import mathml_reader
from reading.latex_reader import Document
from reading.latex_reader import key as latex_key
from reading.mathml_reader import MathmlDocument

TOLERANCE = 1e-11
VARIANTS = {
    "whipple, slope": ("whipple", {"slope": 0.2}),
    "whipple, torus tyres": ("whipple", {"crown": 0.02}),
    "whipple, rider": ("whipple", {"mU": 30.0}),
    "snakeboard, driven": ("snakeboard", {"drive": "sine"}),
}
CASES = {name: (name, {}) for name in names("vehicle")} | VARIANTS
CASES["chain"] = ("chain", {"links": 2})


@pytest.fixture(scope="module", params=CASES)
def machine(request):
    vehicle, arguments = CASES[request.param]
    return compile(vehicle, **arguments)


def another(machine, rng):
    """Return the machine with other, physically valid parameters."""
    while True:
        values = {name: x * rng.uniform(0.9, 1.1) for name, x in machine.parameters.items()}
        with suppress(ModelError, UserWarning):  # of moments that are none
            return machine.with_parameters(**values)


def given(subject, parameters, rng):
    """Return random values of the subject's symbols."""
    point = dict(parameters)
    point |= {f"turn {name}": x + rng.uniform(-0.4, 0.4) for name, x in subject.angles.items()}
    for letter, xs in (
        ("r", subject.r),
        ("v", subject.free_speeds),
        ("w", subject.w),
        ("z", subject.z),
    ):
        point |= {f"{letter}[{k}]": rng.uniform(-0.7, 0.7) for k in range(len(xs))}
    point |= {f"p[{k}]": rng.uniform(-1, 1) for k in range(3)} | {"t[0]": rng.uniform(0, 1)}
    point |= {f"rho[{k}]": rng.uniform(-1, 1) for k in range(len(subject.columns))}
    return point


@pytest.fixture(scope="module", params=["short", "full"])
def equations(machine, request):
    return machine.equations(full=request.param == "full")


LANGUAGES = {
    "latex": lambda text, given: Latex(text, spell(given, latex.symbol, latex_key)),
    "markdown": lambda text, given: Latex(text, spell(given, latex.symbol, latex_key)),
    "html": lambda text, given: Mathml(text, spell(given, html.symbol, mathml_key)),
}
"""Reader of each printer's text, by the values of the given symbols."""


def spell(given, symbol, key):
    """Return values by the printed form of their symbols."""
    return {key(symbol(s)): x for s, x in given.items()}


def mathml_key(text):
    return mathml_reader.key(ElementTree.fromstring(text))


PRINTED_SYMBOLS = {
    "M_r": "M_r",
    "F_r": "F_r",
    "kappa": r"\kappa",
    "nu": r"\nu",
    "lambda": r"\lambda",
    "zdot": r"\dot{z}",
    "udot": r"\dot{u}",
    "vdot": r"\dot{v}",
}
"""Printed symbols of quantities that are not a single letter."""


def spellings(name):
    """Return the symbols of a quantity; with a bar if another symbol has its letter."""
    own = Symbol.parse(PRINTED_SYMBOLS.get(name, name))
    return own, replace(own, bar=True)


class Latex(Document):
    def matrix_of(self, name):
        """Return a matrix by its plain name, columns as columns; None if it is not on the page."""
        written = [latex.symbol(s) for s in spellings(name)]
        written += [rf"{x}^{{\top}}" for x in written]
        return next((self.matrices[x] for x in written if x in self.matrices), None)

    def value_of(self, symbol):
        """Return the defined value of a symbol; None without a definition."""
        return self.values.get(latex_key(latex.symbol(symbol)))


class Mathml(MathmlDocument):
    def matrix_of(self, name):
        written = [mathml_key(html.symbol(s)) for s in spellings(name)]
        written += [f"msup({x} \u22a4)" for x in written]
        return next((self.matrices[x] for x in written if x in self.matrices), None)

    def value_of(self, symbol):
        return self.values.get(mathml_key(html.symbol(symbol)))


def test_the_text_agrees_with_the_programs(machine, equations):
    prove(machine, equations, "latex")


@pytest.mark.parametrize("language", ["html", "markdown"])
@pytest.mark.parametrize("vehicle", ["whipple", "snakeboard", "trikke", "rolling_disc"])
def test_other_printers_agree_with_the_programs(vehicle, language):
    machine = compile(vehicle)
    prove(machine, machine.equations(full=True), language)


def prove(machine, equations, language):
    """Check the text of a printer at random states with random parameters: two, or one of a long
    text.
    """
    text = equations.write(language)
    rng = np.random.default_rng(7)
    for _ in range(2 if len(text) < 60_000 else 1):
        check(machine, equations, lambda given: LANGUAGES[language](text, given), rng)


def check(machine, equations, read_text, rng):
    subject = equations.subject
    system = another(machine, rng)
    point = given(subject, system.parameters, rng)
    n = len(subject.columns)
    chosen = subject.independent
    read = read_text(written(equations, point))

    def matrix(name, default):
        found = read.matrix_of(name)
        return np.array(default if found is None else found, dtype=float)

    H = matrix("H", np.eye(n)).reshape(n, -1)
    nu = np.ravel(matrix("nu", np.zeros(n)))
    if len(subject.C) and not chosen:
        H = np.zeros((n, 0))
    v = H @ [point[f"v[{k}]"] for k in chosen] + nu if len(subject.C) else None
    if v is not None:
        point |= {f"v[{k}]": x for k, x in enumerate(v)}
        read = read_text(written(equations, point))
    v = np.array([point[f"v[{k}]"] for k in range(n)])
    M = matrix("M", None)
    F = np.ravel(matrix("F", None))
    Q = np.ravel(matrix("Q", np.zeros(n)))
    kappa = np.ravel(matrix("kappa", np.zeros(n)))

    X, R = user_speeds(subject, point)
    free = system.machine().free(
        t=[point["t[0]"]], q=quaternion(R), p=position(subject, point, R),
        r=[point[f"r[{k}]"] for k in range(len(subject.r))], v=X @ v,
        w=[point[f"w[{k}]"] for k in range(len(subject.w))],
        z=[point[f"z[{k}]"] for k in range(len(subject.z))],
    )  # fmt: skip
    whole = free["M"].reshape(n, n)
    close(M, X.T @ whole @ X)
    close(F - Q, X.T @ free["F"], scale=np.abs(M).max() * (1 + v @ v))
    rows = [*multiplier.active_row_indices(system.model, subject.mode)]
    rows += range(3 * len(system.model.contacts), len(free["c"]))
    rows = [rows[k] for k in subject.kept]  # without redundant rows
    C = free["C"].reshape(-1, n)[rows] @ X
    c = free["c"][rows]
    if len(rows):
        close(C @ H, np.zeros((len(rows), H.shape[1])), scale=np.abs(C).max())
        carried = free["b"][rows] if machine.model.ground is None else evaluate(subject.b, point)
        close(C @ v, carried, scale=np.abs(C).max() * np.abs(v).max())
        close(C @ kappa, c, scale=1 + np.abs(c).max() + np.abs(C).max() * np.abs(kappa).max())
    if len(subject.z):
        close(np.ravel(matrix("zdot", None)), evaluate(subject.acting.rates, point))
    vdot = kappa
    condition = 1.0
    if H.shape[1]:
        M_r = matrix("M_r", M).reshape(H.shape[1], -1)
        F_r = np.ravel(matrix("F_r", F))
        vdot = H @ np.linalg.solve(M_r, H.T @ Q - F_r) + kappa
        exact, _ = multiplier.solve_kkt_system(
            whole, free["F"], free["C"].reshape(-1, n)[rows], c, [""] * len(rows), [""] * n
        )
        condition = np.linalg.cond(M_r)
        udot = read.matrix_of("udot")
        if udot is not None:
            wanted = np.linalg.solve(M_r, H.T @ Q - F_r)
            close(np.ravel(udot), wanted, scale=condition * (1 + np.abs(wanted).max()))
        close(X @ vdot, exact, scale=condition * (1 + np.abs(exact).max()))
    if len(rows):
        rho = M @ vdot + F - Q
        point |= {f"rho[{k}]": x for k, x in enumerate(rho)}
        again = read_text(written(equations, point))
        forces = np.ravel(again.matrix_of("lambda"))
        own = matrix("C", None)
        close(own.T @ forces, rho, scale=condition * (1 + np.abs(rho).max() + np.abs(forces).max()))
        if again.matrix_of("vdot") is not None:
            found = np.ravel(again.matrix_of("vdot"))
            close(found, vdot, scale=condition * (1 + np.abs(vdot).max()))
    check_rates(equations, point, v, read)


TYRES = {
    "load tyre": LoadTyre(11.0, 0.5, 0.1, 0.02),
    "magic formula": MagicFormula(
        relaxation=0.1,
        **MagicFormula.coefficients(parameter_set("magic_formula", "schwalbe_t03_300kpa")),
    ),
}


@pytest.mark.parametrize("tyre", TYRES)
def test_loads_of_the_page_agree_with_the_programs(tyre):
    """With the loads of the programs, the normal forces of the page equal these loads, and its
    accelerations and slip rates those of the programs."""
    machine = compile("whipple", rear_tyre=TYRES[tyre], front_tyre=TYRES[tyre])
    equations = machine.equations(full=True)
    rng = np.random.default_rng(7)
    subject = equations.subject
    text = equations.write("latex")
    system = another(machine, rng)
    point = given(subject, system.parameters, rng)
    point |= {f"z[{k}]": rng.uniform(-0.1, 0.1) for k in range(len(subject.z))}
    point |= {f"w[{k}]": 0.0 for k in range(len(subject.w))}
    point |= {f"load[{k}]": 0.0 for k in range(len(subject.loads))}

    def read():
        return LANGUAGES["latex"](text, written(equations, point))

    v = np.array(read().matrix_of("H")) @ [point[f"v[{k}]"] for k in subject.independent]
    point |= {f"v[{k}]": x for k, x in enumerate(v)}
    X, R = user_speeds(subject, point)
    r, z = ([point[f"{letter}[{k}]"] for k in range(len(xs))] for letter, xs in
            (("r", subject.r), ("z", subject.z)))  # fmt: skip
    state = State(quaternion(R), position(subject, point, R), np.array(r), X @ v)
    native = system.machine()
    y = native.enter(state, z=np.array(z))
    seen = native.observe(**native.layout.split(y))
    loads = seen["forces"].reshape(-1, 3)[:, 0]
    assert loads.min() > 0.0
    point |= {f"load[{k}]": x for k, x in enumerate(loads)}
    page = read()
    M, H, M_r = (np.array(page.matrix_of(name), dtype=float) for name in ("M", "H", "M_r"))
    F, Q, F_r, kappa = (np.ravel(page.matrix_of(name)) for name in ("F", "Q", "F_r", "kappa"))
    vdot = H @ np.linalg.solve(M_r, H.T @ Q - F_r) + kappa
    scale = np.linalg.cond(M_r) * (1 + np.abs(vdot).max())
    rho = M @ vdot + F - Q
    point |= {f"rho[{k}]": x for k, x in enumerate(rho)}
    pushed = dict(zip(subject.labels, np.ravel(read().matrix_of("lambda")), strict=True))
    normal = [pushed[f"{name}.normal"] for name in subject.loads]
    close(normal, loads, scale=scale * np.abs(rho).max())
    close(X @ vdot, seen["vdot"], scale=scale)
    rate = native.rate(**native.layout.split(y))["rate"]
    close(np.ravel(page.matrix_of("zdot")), rate[native.layout.z])


def check_rates(equations, point, v, read):
    """Check the rates of the base's position and angles: they move its frame by its twist."""
    subject = equations.subject
    twist = np.zeros(6)
    twist[subject.columns[: len(subject.model.twist)]] = v[: len(subject.model.twist)]
    R = evaluate(list(np.ravel(subject.R)), point).reshape(3, 3)
    angles = {
        name: Symbol.parse(subject.form.symbols.get(name, ANGLE_SYMBOLS.get(name, name)))
        for name in subject.angles
    }
    rates = {f"turn {name}": read.value_of(s.with_dots()) for name, s in angles.items()}
    Rdot = np.zeros(9)
    for name, rate in rates.items():
        along = evaluate(tangent(list(np.ravel(subject.R)), {name: 1.0}), point)
        Rdot += rate * np.array(along)
    close(Rdot.reshape(3, 3), R @ hat(twist[3:]), scale=1 + np.abs(twist).max())
    for k in subject.model.twist:
        if k < 3:
            rate = read.value_of(Symbol("XYZ"[k], dots=1))
            close(rate, R[k] @ twist[:3], scale=1 + np.abs(twist).max())


def written(equations, point):
    """Return the point's values by printed symbol."""
    return {symbol: point[name] for name, symbol in equations.page.given}


def user_speeds(subject, point):
    """Return X with v of the drawing's frame = X v of the page, and the drawing's rotation."""
    R = evaluate(list(np.ravel(subject.R)), point).reshape(3, 3)
    turn = evaluate(list(np.ravel(subject.frame.R)), point).reshape(3, 3)
    o = evaluate(list(subject.frame.p), point)
    whole = np.eye(6 + len(subject.r))
    whole[:3, :3] = whole[3:6, 3:6] = turn
    whole[:3, 3:6] = hat(o) @ turn
    return whole[np.ix_(subject.columns, subject.columns)], R @ turn.T


def position(subject, point, R):
    """Return the position of the drawing's origin."""
    o = evaluate(list(subject.frame.p), point)
    return np.array([point[f"p[{k}]"] for k in range(3)]) - R @ o


def close(found, wanted, scale=None):
    size = np.abs(wanted).max(initial=0.0) if scale is None else scale
    assert_allclose(found, wanted, rtol=0, atol=TOLERANCE * max(size, 1e-3))
