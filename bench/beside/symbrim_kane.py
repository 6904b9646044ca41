"""symbrim: Kane's equations by SymPy, with NumPy as printed by lambdify."""

from types import SimpleNamespace

import numpy as np
import symbrim as sb
import sympy as sm
from sympy.physics.mechanics import dynamicsymbols

from beside._work import DT, LEAN_RATE, SPEED, UNTIL

MODULE, NAME = "symbrim", "symbrim, lambdify, RK4"
NOTE = "Whipple bicycle by Kane's method, M and f as NumPy functions, 8 coordinates, no projection"


def derive():
    """Return the bicycle, its equations M udot = f with qdot = u, and the symbol of gravity."""
    bike = sb.WhippleBicycle("bike")
    bike.front_frame, bike.rear_frame = sb.RigidFrontFrame("front"), sb.RigidRearFrame("rear")
    bike.front_wheel, bike.rear_wheel = sb.KnifeEdgeWheel("fw"), sb.KnifeEdgeWheel("rw")
    bike.front_tire, bike.rear_tire = sb.NonHolonomicTire("ft"), sb.NonHolonomicTire("rt")
    bike.ground = sb.FlatGround("ground")
    bike.define_all()
    system, g = bike.to_system(), sm.Symbol("g")
    system.apply_uniform_gravity(-g * bike.ground.get_normal(bike.ground.origin))
    q, u = list(bike.q), list(bike.u)
    system.q_ind, system.q_dep = [*q[:4], *q[5:]], [q[4]]
    system.u_ind, system.u_dep = [u[3], u[5], u[6]], [*u[:3], u[4], u[7]]
    system.form_eoms(constraint_solver="CRAMER")
    return bike, system, g


def constants(bike, g, work):
    """Return the values of its symbols for the benchmark."""
    own = SimpleNamespace(parameters={"Benchmark": dict(work.parameters)}, hasRider=False)
    return bike.get_param_values(own) | {g: work.parameters["g"]}


def start(bike, system, values, work):
    """Return coordinates and speeds of the start: upright, its pitch closing the front contact."""
    q, u = list(bike.q), list(bike.u)
    x, rest = sm.Symbol("x"), dict.fromkeys(q, 0.0)
    closed = system.holonomic_constraints[0].xreplace(values | rest | {q[4]: x})
    at = rest | {q[4]: float(sm.nsolve(closed, x, work.parameters["lam"]))}
    asked = {u[3]: LEAN_RATE, u[5]: -SPEED / work.parameters["rR"], u[6]: 0.0}
    rates = {a.diff(dynamicsymbols._t): b for a, b in zip(q, u, strict=True)}
    rows = sm.Matrix(list(system.velocity_constraints)).xreplace(rates).xreplace(values)
    free = list(system.u_dep)
    C = np.array(rows.jacobian(free).xreplace(at).evalf().tolist(), float)
    b = np.array(rows.xreplace(at | asked | dict.fromkeys(free, 0.0)).evalf().tolist(), float)
    solved = dict(zip(free, np.linalg.solve(C, -b.ravel()), strict=True))
    return np.array([float(at[k]) for k in q] + [float((asked | solved)[k]) for k in u])


def ordered(bike, system):
    """Return M, f and which of the speeds stands where in them."""
    method = system.eom_method
    speeds = list(method.u)
    return method.mass_matrix, method.forcing, [speeds.index(k) for k in bike.u]


def march(rate, y):
    """Return the state after all steps of RK4."""
    for _ in range(round(UNTIL / DT)):
        k1 = rate(y)
        k2 = rate(y + DT / 2 * k1)
        k3 = rate(y + DT / 2 * k2)
        k4 = rate(y + DT * k3)
        y = y + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def prepare(work):
    """Return its jobs."""
    bike, system, g = derive()
    values = constants(bike, g, work)
    M, f, place = ordered(bike, system)
    y0 = start(bike, system, values, work)
    names, numbers = list(values), list(values.values())
    code = sm.lambdify([[*bike.q, *bike.u], names], [M, f], cse=True)

    def rate(y):
        mass, forcing = code(y, numbers)
        return np.concatenate([y[8:], np.linalg.solve(mass, forcing.ravel())[place]])

    def evaluate():
        for _ in range(work.repeat):
            rate(y0)

    return {"rate": evaluate, "run": lambda: -march(rate, y0)[6]}
