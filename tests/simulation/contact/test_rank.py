"""Rank of the constraint rows of rolling contacts against singular values by NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.simulation.contact.event_driven.rank import (
    NEARLY_REDUNDANT_SINGULAR_VALUE,
    REDUNDANT_SINGULAR_VALUE,
    Rank,
    find_eigenvalues,
)
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.table import WheelOnFeature
from draisine.system.generic import make_generic
from draisine.terrain import Terrain, face
from simulation.contact.conftest import classify_rank
from simulation.contact.stepping.test_steps import rover


def on_roof(angle, offset=0.0):
    """Return query, state and closed contacts of a rover whose left and right wheel stand on two faces, the
    right one inclined along and across the heading by an angle.
    """
    system = draisine.compile(rover)
    tilted = (0.6 * np.sin(angle), 0.8 * np.sin(angle), np.cos(angle))
    ground = Terrain([face("left", (0.0, 0.0, 1.0), 0.0), face("right", tilted, offset)])
    query = ContactQuery(make_generic(system), ground, np.zeros(len(system.model.inputs)))
    y = query.machine.enter(draisine.state(system), np.zeros(query.machine.memory))
    sides = {"left": 0, "right": 1}
    contacts = [
        WheelOnFeature(k, sides[wheel.name])
        for k, wheel in enumerate(query.machine.wheels)
        if wheel.name in sides
    ]
    return query, y, [(contact, Status.ROLLING, 0.8) for contact in contacts]


def singular_values(query, y, closed):
    """Return the singular values of the rows, scaled to unit length in the metric of the inverse of M."""
    rows = query.evaluate_rows(0.0, y, [contact for contact, *_ in closed])
    C = query.jacobian(rows).reshape(-1, query.n)
    M = query.dynamics(0.0, y)["M"].reshape(query.n, query.n)
    scaled = np.linalg.solve(np.linalg.cholesky(M), C.T)
    return np.linalg.svd(scaled / np.linalg.norm(scaled, axis=0), compute_uv=False)


@pytest.mark.parametrize("angle", [0.0, 1e-3, 0.02, 0.1, 0.5, 1.2])
def test_the_rank_of_two_wheels_is_that_of_the_singular_values(angle):
    query, y, closed = on_roof(angle)
    values = singular_values(query, y, closed)
    nearly = (values > REDUNDANT_SINGULAR_VALUE) & (values < NEARLY_REDUNDANT_SINGULAR_VALUE)
    # No value is so close to a bound that rounding decides.
    assert np.abs(values - NEARLY_REDUNDANT_SINGULAR_VALUE).min() > 1e-3
    expected = Rank.INDEPENDENT
    if nearly.any():
        expected = Rank.OVER_CONSTRAINED
    elif values.min() <= REDUNDANT_SINGULAR_VALUE:
        expected = Rank.REDUNDANT
    assert classify_rank(query, 0.0, y, closed) is expected


def test_all_ranks_occur():
    found = set()
    for angle in (0.0, 0.02):
        query, y, closed = on_roof(angle)
        found.add(classify_rank(query, 0.0, y, closed))
    assert found == {Rank.REDUNDANT, Rank.OVER_CONSTRAINED}
    assert classify_rank(query, 0.0, y, closed[:1]) is Rank.INDEPENDENT


def test_wheels_that_slide_do_not_count():
    query, y, closed = on_roof(0.02)
    sliding = [closed[0], (closed[1][0], Status.SLIDING, 0.8)]
    assert classify_rank(query, 0.0, y, sliding) is Rank.INDEPENDENT


def test_rotations_find_the_eigenvalues_of_a_symmetric_matrix():
    rows = np.random.default_rng(0).normal(size=(5, 4))
    gram = rows @ rows.T  # of rank four
    expected = np.linalg.eigvalsh(gram)
    find_eigenvalues(gram, 5)
    assert_allclose(np.sort(gram.diagonal()), expected, atol=1e-13 * expected[-1])
