"""Machines with redundant or coupled rows: three formulations agree, including the shared forces.

The absolute formulation has no tree: bodies with joints, loops and couplings as constraint rows.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import compile, state
from draisine.mechanics.formulations.absolute import Absolute

MACHINES = {
    "segway": ({"pitch": 0.2, "forward_speed": 1.0, "yaw_rate": 0.5}, {"left": 3.0}),
    "trikke": ({"Vx": 0.5}, {}),
    "tricycle": ({"steer": 0.2, "steer_rate": 0.3, "forward_speed": 2.0}, {"steer": 1.0}),
    "skateboard": ({"lean": 0.1, "forward_speed": 2.0}, {"front_truck": 5.0}),
    "car": ({"steer": 0.3, "steer_rate": 0.5, "forward_speed": 3.0}, {"steer": 5.0}),
    "differential_platform": ({"forward_speed": 0.5, "Wz": 0.3}, {"left": 0.2}),
    "car_with_trailers": ({"forward_speed": 1.0, "hitch1": 0.4, "steer": 0.2}, {"rolled": 2.0}),
    "snake": ({"Vx": 0.3, "joint1": 0.3, "joint2": -0.2}, {"joint3": 0.1}),
}


def test_ranks_of_a_two_wheeled_pendulum():
    """Six rows of rank five among joints and base; sixteen of rank fifteen among bodies."""
    system = compile("segway")
    survey = system.survey()
    assert (len(survey.labels), survey.rank) == (6, 5)
    assert len(system.model.speeds) - survey.rank == 3
    bodies = Absolute(system.model)
    at = bodies.enter(state(system, pitch=0.2, forward_speed=1.0))
    D = bodies.compute_arrays(0.0, at, np.zeros(0), bodies.fixed_points(at))["D"]
    assert (len(D), np.linalg.matrix_rank(D, tol=1e-9)) == (16, 15)


@pytest.mark.parametrize("name", MACHINES)
def test_three_formulations_agree(name):
    asked, inputs = MACHINES[name]
    system = compile(name)
    start = state(system, **asked)
    vdot, lam = system.accelerate(start, inputs)
    closed, shared = system.accelerate(start, inputs, formulation="projected")
    bodies, forces = system.accelerate(start, inputs, formulation="absolute")
    size, push = max(1.0, abs(vdot).max()), max(1.0, abs(lam).max())
    assert_allclose(closed, vdot, rtol=0, atol=1e-11 * size)
    assert_allclose(shared, lam, rtol=0, atol=1e-11 * push)
    assert_allclose(bodies, vdot, rtol=0, atol=1e-11 * size)
    assert_allclose(forces, lam[: len(forces)], rtol=0, atol=1e-11 * push)
