"""Newton and Euler's equations alone, for machines without contacts."""

import numpy as np

from draisine.algebra.lie import rotation
from draisine.mechanics.base import expand_speeds, free_columns
from draisine.mechanics.formulations import multiplier
from draisine.mechanics.tree import assemble

FORMULATION = "the free dynamics, for machines without contacts and prescribed joints"


def accelerations(model):
    """Return the function from time, state and inputs to vdot and contact forces (none here)."""
    tree = assemble(model)
    columns = free_columns(model)

    def accelerate(t, state, inputs):
        v = expand_speeds(model, state.v)
        R = rotation(state.q)
        w = np.zeros(len(model.inputs)) if inputs is None else inputs
        free = multiplier.evaluate_free_dynamics(tree, R, state.p, state.r, v, w, t)
        M = np.array(free.M, float)
        F = np.array(free.F, float)
        return -np.linalg.solve(M[np.ix_(columns, columns)], F[columns]), np.zeros((0, 3))

    return accelerate
