"""Forces, gaps and points at the samples of a run, and the decisions of their routines."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.simulation.contact.query import ContactQuery, ModeInterval
from draisine.simulation.contact.samples import box_distance
from draisine.simulation.options import ContactOptions, Numerics
from draisine.system.generic import make_generic
from draisine.terrain import height_field, plane


def test_the_distance_of_a_box_is_that_of_its_nearest_point():
    low, high = np.array([3.0, 4.0, -1.0]), np.array([9.0, 9.0, 1.0])
    assert box_distance(np.zeros(3), low, high) == 5.0
    assert box_distance(np.array([5.0, 5.0, 0.5]), low, high) == 0.0
    assert box_distance(np.array([5.0, 5.0, 3.0]), low, high) == 2.0
    assert box_distance(np.zeros(3), np.full(3, -np.inf), np.full(3, np.inf)) == 0.0


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def bumpy_ground():
    """Return a field with more features than are searched at once."""
    x = np.linspace(-5.0, 5.0, 40)  # no line of the grid lies in the plane of the wheels
    return height_field(x, x, 0.01 * np.random.default_rng(1).normal(size=(40, 40)))


def observe_nearest(system, ground, heights, sinks=False):
    """Return gaps and points of the bicycle, upright, lifted by some heights."""
    look = ContactQuery(make_generic(system), ground, np.zeros(len(system.model.inputs)))
    start = draisine.state(system)
    y = np.repeat(look.machine.enter(start, np.zeros(0))[None], len(heights), axis=0)
    y[:, look.y.p.start + 2] += heights
    gaps, points = np.full((len(y), 2), np.inf), np.full((len(y), 2, 3), np.nan)
    look.find_nearest(np.zeros(len(y)), y, gaps, points, sinks)
    return gaps, points


def test_the_gap_of_a_lifted_bicycle_is_its_height(bicycle):
    heights = np.array([1e-3, 0.02, 0.3, 2.5])
    gaps, points = observe_nearest(bicycle, plane(), heights)
    assert_allclose(gaps, heights[:, None] * np.ones(2), atol=1e-12)
    assert_allclose(points[..., 2], gaps, atol=1e-12)  # the lowest points of the wheels


def test_a_machine_below_the_ground_has_a_gap_only_if_it_sinks(bicycle):
    depth = np.array([-0.01])
    gaps, _ = observe_nearest(bicycle, plane(), depth)
    assert np.isinf(gaps).all()
    gaps, _ = observe_nearest(bicycle, plane(), depth, sinks=True)
    assert_allclose(gaps, -0.01, atol=1e-12)


@pytest.mark.parametrize("mu", [np.inf, 0.3])
def test_forces_alone_are_those_of_all_observations(bicycle, mu):
    """Closed forms against the saddle-point system, with wheels that roll, slide and fly."""
    level = draisine.state(bicycle, forward_speed=3.0, lean_rate=0.2)
    start = draisine.State(level.q, level.p + [0.0, 0.0, 0.05], level.r, level.v)
    contact = ContactOptions(mu=mu)
    run = draisine.simulate(bicycle, start, 0.4, terrain=bumpy_ground(), contact=contact)
    arcs = run.arcs
    look = arcs[0].query()
    intervals = [ModeInterval(arc.t_before, arc.y, arc.closed, arc.inputs) for arc in arcs]
    whole = look.observe_modes(intervals)
    forces = look.observe_modes(intervals, forces_only=True)
    largest = np.abs(whole.forces).max()
    assert largest > 100.0
    assert_allclose(forces.forces, whole.forces, atol=1e-9 * largest)
    assert_allclose(forces.violation, whole.violation, atol=1e-13)
    assert_allclose(forces.jacobians, whole.jacobians, atol=1e-13)


def test_large_grounds_are_searched_within_one_metre(bicycle):
    ground = bumpy_ground()
    gaps, points = observe_nearest(bicycle, ground, np.array([0.01 + 0.05, 0.5, 1.5]))
    assert np.isfinite(gaps[:2]).all()
    assert np.isinf(gaps[2]).all()
    assert np.isnan(points[2]).all()


def test_the_search_finds_the_nearest_of_all_features(bicycle):
    """Boxes reject no feature that is nearer: the rows of all features around are the reference."""
    ground, heights = bumpy_ground(), np.array([0.04, 0.1, 0.2])
    gaps, _ = observe_nearest(bicycle, ground, heights)
    look = ContactQuery(make_generic(bicycle), ground, np.zeros(len(bicycle.model.inputs)))
    for height, found in zip(heights, gaps, strict=True):
        y = look.machine.enter(draisine.state(bicycle), np.zeros(0))
        y[look.y.p.start + 2] += height
        least = [np.inf, np.inf]
        contacts = look.find_surroundings(0.0, y, 0.3).contacts
        for contact, row in zip(contacts, look.evaluate_rows(0.0, y, contacts), strict=True):
            if look.excess(contact, row) <= 0.0 and look.gap(row) > 0.0:
                least[contact.wheel] = min(least[contact.wheel], look.gap(row))
        assert_allclose(found, least, atol=1e-12)


def test_samples_of_a_run_balance_momentum(bicycle):
    """The contact forces in world axes are mass times acceleration minus weight."""
    start = draisine.state(bicycle, forward_speed=4.0)
    run = draisine.simulate(
        bicycle,
        start,
        0.4,
        terrain=plane(),
        contact=ContactOptions(mu=0.9),
        numerics=Numerics(dt=0.05),
    )
    data = run.to_xarray()
    mass = sum(float(body.mass) for body in bicycle.model.bodies)
    total = data.contact_force_world.sum("contact").values
    momentum = data.momentum.values
    rate = np.gradient(momentum, data.time.values, axis=0)
    weight = -mass * np.asarray(bicycle.model.gravity, float)
    assert_allclose(total, rate + weight, atol=1e-6 * mass * 9.81)
    assert_allclose(data.gap.values, 0.0, atol=1e-12)
