"""Events create no energy, however small."""

import math

import numpy as np
import pytest

import draisine
from draisine import ContactOptions
from draisine.simulation.contact.query import ContactQuery
from draisine.terrain import plane
from simulation.contact.conftest import bicycle


@pytest.mark.parametrize("mu", [math.inf, 0.9])
def test_a_contact_that_hardly_parts_is_closed_by_an_impulse(mu):
    """It takes what is projected out, |dv|^2 / 2 in the metric of M, of second order in its speed."""
    start, contact = draisine.state(bicycle(), lean=0.05, forward_speed=5.0), ContactOptions(mu=mu)
    arc = draisine.simulate(bicycle(), start, 0.01, terrain=plane(), contact=contact).arcs[0]
    look, y = ContactQuery(arc.machine, arc.terrain, arc.inputs), arc.y[0]
    rows = look.evaluate_rows(0.0, y, look.find_surroundings(0.0, y, 0.1).contacts)
    C = np.vstack([look.jacobian(row) for row in rows])
    rise = np.linalg.lstsq(C, 2e-6 * np.eye(6)[3], rcond=None)[0]  # of the front wheel alone
    parting = draisine.State(start.q, start.p, start.r, start.v + rise)
    run = draisine.simulate(bicycle(), parting, 0.01, terrain=plane(), contact=contact)
    assert run.arcs[0].mode == arc.mode
    y[look.y.v] += rise
    assert -1e-9 < look.energy(0.0, run.arcs[0].y[0]) - look.energy(0.0, y) < 1e-11
