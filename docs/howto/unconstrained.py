"""Newton and Euler's equations alone, for machines without contacts."""

import numpy as np

from draisine.algebra.lie import rotation
from draisine.mechanics.base import free_columns, expand_speeds
from draisine.mechanics.formulations import multiplier
from draisine.mechanics.tree import assemble

FORMULATION = "the free dynamics, for machines without contacts and prescribed joints"


def accelerations(model):
    """Return the function from time, state and inputs to vdot and (no) contact forces."""
    tree = assemble(model)
    columns = free_columns(model)

    def at(t, state, inputs):
        v = expand_speeds(model, state.v)
        R, w = rotation(state.q), np.zeros(len(model.inputs)) if inputs is None else inputs
        found = multiplier.evaluate_free_dynamics(tree, R, state.p, state.r, v, w, t)
        M, F = np.array(found.M, float), np.array(found.F, float)
        return -np.linalg.solve(M[np.ix_(columns, columns)], F[columns]), np.zeros((0, 3))

    return at
