"""One code, many scalars: the mechanics run on floats, traced expressions, CasADi, SymPy and mpmath
gives the same numbers.

Symbolic results are evaluated at the point where the numbers were; SymPy's with 50 digits, against
mpmath.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import casadi
import mpmath
import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose, assert_array_equal

from draisine.algebra import scalar, trace
from draisine.algebra.lie import cross, quaternion_rate, rotation
from draisine.algebra.scalar import Casadi, array, casadi_symbols
from draisine.mechanics import constraints, energy
from draisine.mechanics.applied import generalised_input_force
from draisine.mechanics.constraints import mode_of
from draisine.mechanics.formulations import multiplier, projected
from draisine.mechanics.kinematics import geometry, velocities
from draisine.mechanics.newton_euler import inverse_dynamics, mass_matrix
from draisine.mechanics.tree import assemble
from draisine.model import (
    Blade,
    Body,
    Force,
    Model,
    Pin,
    Prismatic,
    Revolute,
    Torus,
    Wheel,
    inertia,
)
from draisine.vehicles.bicycle.whipple import whipple

DIGITS = 50

Values = dict[str, np.ndarray]
Evaluate = Callable[[Sequence[Any]], np.ndarray]
Run = Callable[[Values, Evaluate], list[Any]]


def as_floats(xs: Sequence[Any]) -> np.ndarray:
    return np.array([float(x) for x in xs])


def on_floats(run: Run, values: Values) -> np.ndarray:
    """Return what a run gives on floats; it must stay with them."""
    out = run(values, as_floats)
    assert all(isinstance(x, float) for x in out)
    return np.array(out)


def on_trace(run: Run, values: Values) -> np.ndarray:
    """Return what a run gives on traced expressions."""
    graph = trace.Graph()
    symbols = {
        name: array([graph.symbol(f"{name}{k}") for k in range(len(xs))])
        for name, xs in values.items()
    }
    point = {f"{name}{k}": x for name, xs in values.items() for k, x in enumerate(xs)}

    def evaluate(xs: Sequence[Any]) -> np.ndarray:
        return trace.evaluate(xs, point)

    return evaluate(run(symbols, evaluate))


def on_casadi(run: Run, values: Values) -> np.ndarray:
    """Return what a run gives on CasADi's scalars."""
    symbols = {name: casadi_symbols(name, len(xs)) for name, xs in values.items()}
    flat = casadi.vertcat(*[x.sx for xs in symbols.values() for x in xs])

    def evaluate(xs: Sequence[Any]) -> np.ndarray:
        out = casadi.vertcat(*[x.sx if isinstance(x, Casadi) else x for x in xs])
        compiled = casadi.Function("f", [flat], [out])
        return np.array(compiled(np.concatenate(list(values.values())))).ravel()

    return evaluate(run(symbols, evaluate))


def on_mpmath(run: Run, values: Values) -> np.ndarray:
    """Return what a run gives with 50 digits."""
    with mpmath.workdps(DIGITS):
        exact = {name: array([mpmath.mpf(float(x)) for x in xs]) for name, xs in values.items()}
        return np.array(run(exact, as_floats), dtype=object)


def on_sympy(run: Run, values: Values) -> np.ndarray:
    """Return what a run gives on SymPy's symbols, evaluated with 50 digits."""
    symbols = {name: array(sympy.symbols(f"{name}:{len(xs)}")) for name, xs in values.items()}
    known: dict[Any, Any] = {}
    for name, xs in symbols.items():
        known |= {x: mpmath.mpf(float(value)) for x, value in zip(xs, values[name], strict=True)}
    functions = {"Add": mpmath.fsum, "Mul": mpmath.fprod, "Pow": lambda xs: mpmath.power(*xs)}
    functions |= {"sin": lambda xs: mpmath.sin(*xs), "cos": lambda xs: mpmath.cos(*xs)}

    def value(x: Any) -> Any:
        if x not in known:
            if x.is_Number:
                known[x] = mpmath.mpf(x.p) / x.q if x.is_Rational else mpmath.mpf(x._mpf_)
            else:
                known[x] = functions[type(x).__name__]([value(y) for y in x.args])
        return known[x]

    def evaluate(xs: Sequence[Any]) -> np.ndarray:
        with mpmath.workdps(DIGITS):
            return np.array([value(sympy.sympify(x)) for x in xs])

    return evaluate(run(symbols, lambda xs: as_floats(evaluate(xs))))


def agree(run: Run, values: Values, sympy_error: float) -> None:
    """Assert that a run gives the same on all scalars.

    SymPy takes roots and quotients of a drawing's own floats as floats; where there are none, it is
    as exact as mpmath.
    """
    floats, judge = on_floats(run, values), on_mpmath(run, values)
    scale = np.abs(floats).max()
    for other in (judge, on_trace(run, values), on_casadi(run, values)):
        assert_allclose(other.astype(float), floats, rtol=0, atol=1e-12 * scale)
    with mpmath.workdps(DIGITS):
        assert max(abs(on_sympy(run, values) - judge)) < sympy_error * scale


@pytest.mark.parametrize(
    "x",
    [casadi_symbols("x", 1)[0], sympy.Symbol("x"), mpmath.mpf(3), trace.Graph().symbol("x")],
    ids=["CasADi", "SymPy", "mpmath", "traced"],
)
def test_scalars_combine_with_arrays_entry_by_entry(x: Any) -> None:
    a = np.array([2.0, 4.0])
    both = np.array([x, 2.0], dtype=object)
    results = [x * a, a * x, x + a, a + x, x - a, a - x, a / x, x * both, both * x, both / x]
    for result in [*results, both - a, a * both, np.outer(a, a) * x]:
        assert isinstance(result, np.ndarray)
        assert result.shape in ((2,), (2, 2))
        assert not any(isinstance(e, np.ndarray) for e in result.ravel())
    for result in [a @ both, both @ both, np.float64(2) * x, x * np.float64(2), np.array(2.0) * x]:
        assert type(result).__module__.split(".")[0] == type(x).__module__.split(".")[0]
    assert repr(x * a) == repr(array([x * 2.0, x * 4.0]))
    assert repr(a - x) == repr(array([2.0 - x, 4.0 - x]))


def functions(x: Values, evaluate: Evaluate) -> list[Any]:
    a, b = x["x"]
    out = [scalar.sin(a), scalar.cos(a), scalar.sqrt(b), scalar.exp(a), scalar.atan2(a, b)]
    out += [scalar.norm(array([a, 0.0, b])), a**2, -a / b, 2 - a, 2 / b, a > b, a < b]
    out += [scalar.where(a < b, a, 0.0), scalar.where(a > b, a, b), scalar.clip(a, 0.0, 0.1)]
    return [float(e) if isinstance(e, (bool, np.bool_)) else e for e in out]


def test_functions() -> None:
    values = {"x": np.array([0.3, 1.7])}
    expected = on_floats(functions, values)
    for run in (on_trace, on_casadi, on_mpmath):
        assert_allclose(run(functions, values).astype(float), expected, rtol=1e-15)
    a, b = symbols = sympy.symbols("a b")
    found = functions({"x": array(symbols)}, as_floats)
    at = [sympy.sympify(e).subs({a: 0.3, b: 1.7}) for e in found]
    at = [float(bool(e)) if e in (sympy.true, sympy.false) else float(e) for e in at]
    assert_allclose(at, expected, rtol=1e-15)


def test_bare_casadi_scalars_are_refused() -> None:
    x = casadi.SX.sym("x")
    for use in (scalar.sin, scalar.sqrt, lambda x: array([x, 1.0]), lambda x: scalar.atan2(x, x)):
        with pytest.raises(TypeError, match="casadi_symbols"):
            use(x)
    assert (casadi_symbols("x", 1)[0] + 1.0).__add__("text") is NotImplemented
    assert float(Casadi(casadi.SX(2.5))) == 2.5


def test_structural_zeros() -> None:
    x = casadi_symbols("x", 1)[0]
    assert all(scalar.is_zero(e) for e in (0.0, x * 0.0, x - x, mpmath.mpf(0), sympy.Integer(0)))
    assert not any(scalar.is_zero(e) for e in (1.0, x, mpmath.mpf(1), sympy.Symbol("x")))
    a, b = sympy.symbols("a b")
    assert scalar.all_vanish([0.0, sympy.sin(a) ** 2 + sympy.cos(a) ** 2 - 1, a * b - b * a])
    with mpmath.workdps(DIGITS):
        assert scalar.all_vanish([mpmath.mpf(10) ** -49])
        assert not scalar.all_vanish([mpmath.mpf(10) ** -20])
    assert scalar.all_vanish([1e-13, 0.0])
    assert not scalar.all_vanish([1e-11])


PARAMETERS = {
    name: parameter.default
    for name, parameter in inspect.signature(whipple).parameters.items()
    if isinstance(parameter.default, float)
}


def oblique(m: Any, tilt: Any, ring: Any) -> Model:
    """A swimmer's body with a sprung slide, an oblique arm and a torus wheel; nothing is aligned."""
    axle, hub = (scalar.sin(tilt), 1.0, 0.25), (0.5, 0.25, 0.5)
    return Model(
        bodies=[
            Body("hull", m, (0.5, 0.0, 0.25), inertia(m, 2 * m, 2 * m), 0.5 * m * np.eye(6)),
            Body("slide", 0.5 * m, (0.0, 0.5, 0.0), inertia(1, 1, 1, xy=0.5), drag=m * np.eye(6)),
            Body("arm", m, (1.0, 0.0, 0.5), inertia(1, 2, 2, xz=-0.25)),
            Body("wheel", 0.25, hub, 0.5 * np.eye(3)),
        ],
        joints=[
            Prismatic("slide", "hull", "slide", (1.0, tilt, 0.5), spring=m, damper=0.5, rest=ring),
            Revolute("arm", "hull", "arm", (0.5, 1.0, tilt), (0.25, 0.0, ring)),
            Revolute("wheel", "arm", "wheel", axle, hub),
        ],
        contacts=[
            Wheel("wheel", "wheel", hub, axle, Torus(0.75, ring)),
            Blade("blade", "hull", (0.0, 0.25, 0.0), (1.0, 0.5, tilt)),
            Pin("pin", "slide", (0.0, 0.0, 1.0)),
        ],
        forces=[Force("jet", "arm", (1.0, 0.5, 0.0), frame="body")],
        gravity=(0.5, 0.0, -9.75),
    )


def state(model: Model, **more: np.ndarray) -> Values:
    """Return a configuration, all speeds and all inputs of a machine."""
    rng = np.random.default_rng(3)
    q = np.array([1.0, 0.1, -0.2, 0.3])
    n = len(model.joints)
    values = {"q": q / np.linalg.norm(q), "p": rng.normal(size=3), "r": 0.3 * rng.normal(size=n)}
    return values | {"v": rng.normal(size=6 + n), "w": rng.normal(size=len(model.inputs))} | more


def free_dynamics(x: Values, evaluate: Evaluate) -> list[Any]:
    """Run the free dynamics, the rows of all contacts, energies and momenta."""
    tree = assemble(oblique(*x["parameters"]), evaluate=evaluate)
    R, v = rotation(x["q"]), x["v"]
    found = multiplier.evaluate_free_dynamics(tree, R, x["p"], x["r"], v, x["w"])
    geo = geometry(tree, x["r"])
    world = constraints.ground(tree, geo, R)
    vel = velocities(tree, geo, v[:3], v[3:6], v[6:], np.zeros(3))
    linear, angular = energy.total_momenta(tree, geo, vel, world, x["p"])
    potential = energy.potential_energy(tree, geo, world, x["p"], tree.model.gravity)
    out = [*found.M.ravel(), *found.F, *found.C.ravel(), *found.c, *found.gaps]
    return [*out, *linear, *angular, energy.kinetic_energy(tree, vel), potential]


def test_free_dynamics_agree() -> None:
    parameters = np.array([1.5, 0.4, 0.125])
    values = state(oblique(*parameters), parameters=parameters)
    agree(free_dynamics, values, sympy_error=1e-15)


class Bicycle:
    """The projected formulation of one mode, with independent speeds and pivots chosen on floats."""

    def __init__(self, **statuses: str) -> None:
        self.statuses = statuses
        model = whipple()
        self.values = state(model, parameters=np.array(list(PARAMETERS.values())))
        self.found = self.rows(self.values, as_floats)
        labels = constraints.row_labels(model, mode_of(model, statuses))
        n = 6 + len(model.joints)
        self.independent = projected.choose_speeds(n, self.found.C, labels, range(n - 1, -1, -1))
        self.pivots = projected.plan_pivots(self.found, self.independent, as_floats)
        self.values["u"] = self.values["v"][: len(self.independent)]

    def rows(self, x: Values, evaluate: Evaluate) -> projected.Rows:
        model = whipple(**dict(zip(PARAMETERS, x["parameters"], strict=True)))
        tree = assemble(model, aligned=True, evaluate=evaluate)
        return projected.constraint_rows(
            tree, mode_of(model, self.statuses), rotation(x["q"]), x["r"], x["p"]
        )

    def motion(self, x: Values, evaluate: Evaluate) -> projected.Reconstruction:
        rows = self.rows(x, evaluate)
        return projected.reconstruct_velocities(rows, x["u"], 0.0, self.independent, self.pivots)

    def dynamics(self, x: Values, evaluate: Evaluate) -> tuple[Any, Any, Any]:
        moving = self.motion(x, evaluate)
        rows = moving.rows
        Q = generalised_input_force(rows.tree, rows.geo, rows.world, x["w"], rows.ref)
        return (
            moving,
            Q,
            projected.solve_reduced_dynamics(moving, Q, 0.0, rows.tree.model.gravity, {}),
        )

    def __call__(self, x: Values, evaluate: Evaluate) -> list[Any]:
        moving, _, reduced = self.dynamics(x, evaluate)
        out = [*moving.rows.C.ravel(), *moving.H.ravel(), *moving.speeds, *moving.refdot]
        return [*out, *reduced.udot, *reduced.vdot, *reduced.multipliers]


@pytest.mark.parametrize("statuses", [{}, {"front": "open"}], ids=["two wheels", "rear wheel"])
def test_projected_bicycles_agree(statuses: dict[str, str]) -> None:
    bicycle = Bicycle(**statuses)
    agree(bicycle, bicycle.values, sympy_error=1e-40)


def targets(moving: projected.Reconstruction) -> np.ndarray:
    rows = moving.rows
    return constraints.acceleration_targets(
        rows.tree,
        rows.geo,
        rows.world,
        moving.vel,
        rows.active,
        moving.refdot,
        rows.p,
        0.0,
    )


def test_fifty_digits_satisfy_the_equations_of_motion() -> None:
    """C vdot = c and M vdot + F = Q + C' lam of the bicycle, to 1e-45."""
    bicycle = Bicycle()
    with mpmath.workdps(DIGITS):
        x = {name: array([mpmath.mpf(float(e)) for e in xs]) for name, xs in bicycle.values.items()}
        moving, Q, reduced = bicycle.dynamics(x, as_floats)
        rows, vdot = moving.rows, reduced.vdot
        tree, geo, ref, C = rows.tree, rows.geo, rows.ref, rows.C
        down = rows.world.R.T @ tree.model.gravity
        still = array([0.0] * len(vdot))
        F = inverse_dynamics(tree, geo, moving.vel, still, ref, moving.refdot, down)
        left = mass_matrix(tree, geo, ref) @ vdot + F - Q - C.T @ reduced.multipliers
        scale = max(abs(x) for x in (*reduced.multipliers, *F))
        assert max(abs(C @ moving.speeds)) < 1e-45 * max(abs(moving.speeds))
        assert max(abs(C @ vdot - targets(moving))) < 1e-45 * max(abs(vdot))
        assert max(abs(left)) < 1e-45 * scale


def test_fifty_digits_differentiate_the_kernel() -> None:
    """Hdot u, the particular solution of C vdot = c, by central differences of H u: 1e-28."""
    bicycle = Bicycle()
    with mpmath.workdps(DIGITS):
        x = {name: array([mpmath.mpf(float(e)) for e in xs]) for name, xs in bicycle.values.items()}
        x["q"] = x["q"] / scalar.norm(x["q"])
        moving = bicycle.motion(x, as_floats)
        still = moving.solver.solve([*targets(moving), *[0.0] * len(x["u"])])
        V, W = moving.speeds[:3], moving.speeds[3:6]
        pdot = rotation(x["q"]) @ (V - cross(W, moving.rows.ref))
        rates = {"q": quaternion_rate(x["q"], W), "p": pdot, "r": moving.speeds[6:]}
        h = mpmath.mpf(10) ** -15
        ahead, behind = [
            bicycle.motion(
                x | {name: x[name] + s * xdot for name, xdot in rates.items()}, as_floats
            )
            for s in (h, -h)
        ]
        by_difference = (ahead.speeds - behind.speeds) / (2 * h)
        assert max(abs(by_difference - still)) < 1e-27 * max(abs(still))


def test_sympy_gives_the_closed_form_of_the_cart_pole() -> None:
    """M and F of a cart with a pendulum, as in every textbook."""
    m, M, h, J, g, r, rdot, x, xdot = sympy.symbols("m M h J g r rdot x xdot", positive=True)
    model = Model(
        bodies=[
            Body("rail"),
            Body("cart", M),
            Body("pole", m, (0.0, 0.0, h), inertia(J, J, 0)),
        ],
        joints=[
            Prismatic("drive", "rail", "cart", (1, 0, 0)),
            Revolute("swing", "cart", "pole", (0, 1, 0)),
        ],
        gravity=(0, 0, -g),
        base="fixed",
    )
    tree = assemble(model, evaluate=lambda xs: np.array([float(e) for e in xs]))
    geo = geometry(tree, array([x, r]))
    still = array([0.0] * 8)
    vel = velocities(tree, geo, still[:3], still[3:6], array([xdot, rdot]), still[:3])
    zero = np.zeros(3)
    F = inverse_dynamics(tree, geo, vel, still, zero, zero, model.gravity)[6:]
    mass = mass_matrix(tree, geo, zero)[6:, 6:]
    expected = [[M + m, m * h * sympy.cos(r)], [m * h * sympy.cos(r), J + m * h**2]]
    forces = [-m * h * sympy.sin(r) * rdot**2, -m * g * h * sympy.sin(r)]
    left = [*(mass - np.array(expected)).ravel(), *(F - np.array(forces))]
    assert_array_equal([sympy.nsimplify(sympy.simplify(e)) for e in left], [0] * 6)
    assert math.isclose(float(mass[1, 1].subs({J: 1, m: 2, h: 3})), 19.0)
