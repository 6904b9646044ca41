"""CasADi: the reduced equations in its own expressions, as its C, in an RK4 of C."""

import ctypes

import casadi
import numpy as np

from beside._work import DT, UNTIL, pointer
from draisine.algebra.lie import cross, quaternion_rate
from draisine.algebra.scalar import Casadi, casadi_symbols
from draisine.mechanics.base import base_rotation
from draisine.mechanics.formulations import projected
from draisine.mechanics.tree import assemble

MODULE, NAME = "casadi", "CasADi, C by cc -O3, RK4, 5 ms"
NOTE = "the equations on two wheels as reduced by draisine; no projection, no checks"

LOOP = """
void bench_rate(const double *y, double *out, long count) {
  const double *arg[1] = {y}; double *res[1] = {out};
  for (long i = 0; i < count; ++i) rate(arg, res, 0, work, 0);
}
void bench_run(double *y, double h, long steps) {
  double k[4][N], x[N];
  const double *arg[1] = {x}; double *res[1];
  for (long i = 0; i < steps; ++i) {
    for (int s = 0; s < 4; ++s) {
      const double part = s == 0 ? 0.0 : s == 3 ? h : 0.5 * h;
      for (int j = 0; j < N; ++j) x[j] = s ? y[j] + part * k[s - 1][j] : y[j];
      res[0] = k[s];
      rate(arg, res, 0, work, 0);
    }
    for (int j = 0; j < N; ++j) y[j] += h / 6.0 * (k[0][j] + 2.0 * k[1][j] + 2.0 * k[2][j] + k[3][j]);
  }
}
"""


def reduced(work):
    """Return the rates of y = (q, p, r, u) as a CasADi function."""
    machine = work.system.machine()
    model, choice, at = work.system.model, machine.choice, machine.layout
    y = casadi_symbols("y", len(work.y))
    R = base_rotation(model, y[at.q])
    found = projected.constraint_rows(assemble(model, aligned=True), machine.mode, R, y[at.r])
    moving = projected.reconstruct_velocities(
        found, y[at.u], 0.0, choice.independent, choice.pivots
    )
    force = np.zeros(6 + len(model.joints))
    out = projected.solve_reduced_dynamics(moving, force, 0.0, model.gravity, {})
    V, W = moving.speeds[:3], moving.speeds[3:6]
    place = R @ (V - cross(W, found.ref))
    parts = [*quaternion_rate(y[at.q], W), *place, *moving.speeds[6:], *out.udot]
    both = [
        casadi.vertcat(*(x.sx if isinstance(x, Casadi) else x for x in xs)) for xs in (y, parts)
    ]
    return casadi.Function("rate", [both[0]], casadi.cse([both[1]]))


def prepare(work):
    """Return its jobs."""
    function, n = reduced(work), len(work.y)
    code = casadi.CodeGenerator("rate", {"with_header": False, "casadi_int": "long long"})
    code.add(function)
    text = code.dump() + f"\n#define N {n}\nstatic double work[{max(1, function.sz_w())}];\n" + LOOP
    library = work.compile_c(text, "casadi_rate")
    out, steps = np.zeros(n), round(UNTIL / DT)

    def rate():
        library.bench_rate(pointer(work.y), pointer(out), work.repeat)

    def run():
        y = work.y.copy()
        library.bench_run(pointer(y), ctypes.c_double(UNTIL / steps), ctypes.c_long(steps))
        return y[work.steer_entry]

    return {"rate": rate, "run": run}
