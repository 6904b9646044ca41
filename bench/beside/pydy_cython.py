"""PyDy: Kane's equations of symbrim's bicycle, as C that Cython wraps."""

import numpy as np
from pydy.codegen.ode_function_generators import CythonODEFunctionGenerator

from beside.symbrim_kane import constants, derive, march, ordered, start

MODULE, NAME = "pydy", "PyDy, Cython, RK4"
NOTE = "M and f of symbrim's bicycle as C, solved by NumPy, 8 coordinates, no projection"


def prepare(work):
    """Return its jobs."""
    bike, system, g = derive()
    values = constants(bike, g, work)
    M, f, place = ordered(bike, system)
    y0 = start(bike, system, values, work)
    speeds = sorted(bike.u, key=lambda u: place[list(bike.u).index(u)])
    options = {"constants_arg_type": "array", "mass_matrix": M, "coordinate_derivatives": bike.u}
    names = [k for k in values if k in M.free_symbols | f.free_symbols]
    made = CythonODEFunctionGenerator(f, list(bike.q), speeds, names, **options)
    rhs, own = made.generate(), np.array([values[k] for k in names], float)
    order = np.concatenate([np.arange(8), 8 + np.argsort(place)])

    def rate(y):
        return rhs(y, 0.0, own).copy()  # it writes into one array

    def evaluate():
        for _ in range(work.repeat):
            rate(y0[order])

    return {"rate": evaluate, "run": lambda: -march(rate, y0[order])[6]}
