"""The page is right: its text alone, read back and evaluated at random states and parameters, gives
what the compiled programs give.
"""

from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile
from draisine.algebra.lie import hat, quaternion
from draisine.algebra.trace import evaluate
from draisine.codegen.paper import latex
from draisine.errors import ModelError
from draisine.mechanics.formulations import multiplier
from draisine.registry import names
from reading.latex_reader import Document, key

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
    """Return the machine with other parameters that some bodies can have."""
    while True:
        values = {name: x * rng.uniform(0.9, 1.1) for name, x in machine.parameters.items()}
        with suppress(ModelError):
            return machine.with_parameters(**values)


def given(subject, parameters, rng):
    """Return random values of the subject's symbols."""
    point = dict(parameters)
    point |= {name: x + rng.uniform(-0.4, 0.4) for name, x in subject.angles.items()}
    for letter, xs in (("r", subject.r), ("v", subject.free_speeds), ("w", subject.w)):
        point |= {f"{letter}[{k}]": rng.uniform(-0.7, 0.7) for k in range(len(xs))}
    point |= {f"p[{k}]": rng.uniform(-1, 1) for k in range(3)} | {"t": rng.uniform(0, 1)}
    point |= {f"rho[{k}]": rng.uniform(-1, 1) for k in range(len(subject.columns))}
    return point


def test_text_gives_what_the_programs_give(machine):
    equations = machine.equations(full=True)
    text = equations.write("latex")
    rng = np.random.default_rng(7)
    for _ in range(3):
        check(machine, equations, text, rng)


def check(machine, equations, text, rng):
    subject, system = equations.subject, another(machine, rng)
    point = given(subject, system.parameters, rng)
    n, chosen = len(subject.columns), subject.independent
    read = Document(text, written(equations, point))
    H = np.array(read.matrices.get("H", np.eye(n)), dtype=float).reshape(n, -1)
    nu = np.ravel(read.matrices.get(r"\nu^{\top}", np.zeros(n)))
    if len(subject.C) and not chosen:
        H = np.zeros((n, 0))
    v = H @ [point[f"v[{k}]"] for k in chosen] + nu if len(subject.C) else None
    if v is not None:
        point |= {f"v[{k}]": x for k, x in enumerate(v)}
        read = Document(text, written(equations, point))
    v = np.array([point[f"v[{k}]"] for k in range(n)])
    M = np.array(read.matrices["M"])
    F = np.ravel(read.matrices[r"F^{\top}"])
    Q = np.ravel(read.matrices.get(r"Q^{\top}", np.zeros(n)))
    kappa = np.ravel(read.matrices.get(r"\kappa^{\top}", np.zeros(n)))

    X, R = user_speeds(subject, point)
    free = system.machine().free(
        t=[point["t"]], q=quaternion(R), p=position(subject, point, R),
        r=[point[f"r[{k}]"] for k in range(len(subject.r))], v=X @ v,
        w=[point[f"w[{k}]"] for k in range(len(subject.w))],
    )  # fmt: skip
    whole = free["M"].reshape(n, n)
    close(M, X.T @ whole @ X)
    close(F - Q, X.T @ free["F"], scale=np.abs(M).max() * (1 + v @ v))
    rows = [*multiplier.active_rows(system.model, subject.mode)]
    rows += range(3 * len(system.model.contacts), len(free["c"]))
    C, c = free["C"].reshape(-1, n)[rows] @ X, free["c"][rows]
    if len(rows):
        close(C @ H, np.zeros((len(rows), H.shape[1])), scale=np.abs(C).max())
        close(C @ v, free["b"][rows], scale=np.abs(C).max() * np.abs(v).max())
        close(C @ kappa, c, scale=1 + np.abs(c).max() + np.abs(C).max() * np.abs(kappa).max())
    vdot = kappa
    if H.shape[1]:
        M_r = np.array(read.matrices.get("M_{r}", M)).reshape(H.shape[1], -1)
        F_r = np.ravel(read.matrices.get(r"F_{r}^{\top}", F))
        vdot = H @ np.linalg.solve(M_r, H.T @ Q - F_r) + kappa
        exact, _ = multiplier.saddle_point(
            whole, free["F"], free["C"].reshape(-1, n)[rows], c, [""] * len(rows), [""] * n
        )
        condition = np.linalg.cond(M_r)
        close(X @ vdot, exact, scale=condition * (1 + np.abs(exact).max()))


def written(equations, point):
    """Return the point's values by the text that stands for them."""
    return {key(latex.symbol(symbol)): point[name] for name, symbol in equations.page.given}


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
    """Return where the drawing's origin is."""
    o = evaluate(list(subject.frame.p), point)
    return np.array([point[f"p[{k}]"] for k in range(3)]) - R @ o


def close(found, wanted, scale=None):
    size = np.abs(wanted).max(initial=0.0) if scale is None else scale
    assert_allclose(found, wanted, rtol=0, atol=TOLERANCE * max(size, 1e-3))
