"""The search of the contacts near the wheels, compared with the boxes of all features of a ground."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import ContactOptions, simulate, state
from draisine.simulation.contact.nearby import ground as regions
from draisine.simulation.contact.nearby.contacts import Nearby
from draisine.simulation.contact.nearby.search import (
    AHEAD_MARGIN,
    SIDE_MARGIN,
    find_kept,
    find_nearby,
    keep_contact,
    keep_flagged,
    widen_boxes,
)
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.status import Status
from draisine.system.generic import make_generic
from draisine.terrain import height_field, move_ground
from draisine.terrain.motions import Slide
from simulation.contact.conftest import bicycle

OPTIONS = ContactOptions(margin=0.25)


def waves(n=41, length=4.0):
    """A height field of triangles, large enough that its features are searched."""
    x = np.linspace(-length / 2, length / 2, n)
    return height_field(x, x, 0.02 * np.cos(7.0 * x[:, None]) * np.sin(5.0 * x))


def query_on(terrain, system=None):
    system = system or bicycle()
    machine = make_generic(system, None, terrain.motions)
    return ContactQuery(machine, terrain, np.zeros(len(system.model.inputs)))


def boxes_at(query, *places, size=0.0):
    """Boxes of both wheel centres of the bicycle, 1 m apart along x, around places (x, y)."""
    low = np.array([[x, y, query.longest[0]] for x, y in places])
    return np.stack([low, low + size], axis=1).ravel()


def middle(query):
    return boxes_at(query, (-0.5, 0.0), (0.5, 0.0))


def within_reach(query, boxes):
    """All pairs of a wheel and a feature whose boxes are within reach of each other."""
    features = query.ground.pick(range(len(query.ground)))
    pairs = set()
    for wheel, (low, high) in enumerate(boxes.reshape(-1, 2, 3)):
        apart = np.maximum(np.maximum(features.low - high, low - features.high), 0.0)
        near = np.linalg.norm(apart, axis=1) <= query.longest[wheel] + query.tol.gap_search
        for k in np.flatnonzero(near).tolist():
            if query.table.pairs.count_sides(wheel, features.kinds[features.kind[k]][0]):
                pairs.add((wheel, k))
    return pairs


def found_within(query, boxes, margin):
    near = Nearby(query, OPTIONS)
    near.find_within(0.0, boxes, margin)
    return near


def pairs_of(near):
    return [(contact.wheel, contact.feature) for contact in near.contacts]


@pytest.mark.parametrize("margin", [0.0, 0.3])
def test_a_search_finds_all_contacts_within_its_margin(margin):
    query = query_on(waves())
    boxes = boxes_at(query, (-0.5, 0.1), (0.5, -0.2), size=0.05)
    near = found_within(query, boxes, margin)
    wide = boxes.reshape(-1, 2, 3) + margin * np.array([[-1.0], [1.0]])
    assert set(pairs_of(near)) == within_reach(query, wide.ravel())
    assert pairs_of(near) == sorted(pairs_of(near))
    assert [near.index[contact] for contact in near.contacts] == list(range(len(near)))


def test_a_search_beyond_the_loaded_region_loads_another_one(monkeypatch):
    monkeypatch.setattr(regions, "MAX_REGION_FEATURES", 3000)
    query = query_on(waves())
    loaded = []
    for x in (-1.0, -0.95, 1.0, -1.0):
        boxes = boxes_at(query, (x - 0.5, 0.0), (x + 0.5, 0.0))
        near = found_within(query, boxes, 0.1)
        wide = boxes.reshape(-1, 2, 3) + 0.1 * np.array([[-1.0], [1.0]])
        assert set(pairs_of(near)) == within_reach(query, wide.ravel())
        loaded.append(len(query.table.regions))
    assert loaded == [1, 1, 2, 2]  # the first region is kept
    assert all(region.fields["size"] < len(query.ground) / 2 for region in query.table.regions)


def test_a_path_is_searched_further_ahead_than_beside():
    query = query_on(waves())
    near = Nearby(query, OPTIONS)
    boxes = boxes_at(query, (-0.5, 0.0), (0.5, 0.0))
    begin = boxes.reshape(-1, 2, 3)[:, 0].copy()
    boxes.reshape(-1, 2, 3)[:, 1, 0] += 0.01  # both wheels move along x
    near.record.begin[:6] = begin.ravel()
    widen_boxes(near.record, near.ground, boxes, 0.2, True)
    widened = (near.record.boxes - boxes).reshape(-1, 2, 3) / 0.2
    side = SIDE_MARGIN
    assert widened[0] == pytest.approx(
        np.array([[-side, -side, -side], [side + AHEAD_MARGIN, side, side]])
    )


def search(near, boxes):
    """Search like a run from a place; return the boxes that were searched."""

    def find():
        return find_nearby(near.record, near.ground, boxes, near.ground.margin, False)

    near.search(0.0, boxes, find)
    return near.record.boxes.copy()


def test_a_full_table_reduces_the_margin_before_it_grows():
    """Whatever the margin: all contacts within the searched boxes are found."""
    query = query_on(waves())
    boxes = boxes_at(query, (-0.5, 0.0), (0.5, 0.0))
    ample = Nearby(query, OPTIONS)
    search(ample, boxes)
    narrow, tiny = (Nearby(query, OPTIONS, capacity) for capacity in (len(ample) - 1, 4))
    margins = []
    for near in (ample, narrow, tiny):
        searched = search(near, boxes)
        margins.append(float((searched - boxes).max()))
        assert set(pairs_of(near)) == within_reach(query, searched)
    assert margins[0] == pytest.approx(SIDE_MARGIN * OPTIONS.margin)
    assert margins[2] < margins[1] < margins[0]
    assert narrow.record.capacity == len(ample) - 1
    assert tiny.record.capacity > 4  # not even the smallest margin needs so few contacts


def test_a_region_of_too_many_features_reduces_the_margin(monkeypatch):
    monkeypatch.setattr(regions, "MAX_REGION_FEATURES", 2000)
    query = query_on(waves(121))
    near = Nearby(query, OPTIONS)
    boxes = boxes_at(query, (-0.5, 0.0), (0.5, 0.0))
    searched = search(near, boxes)
    assert near.ground.margin < OPTIONS.margin
    assert near.ground.size <= 2000
    assert set(pairs_of(near)) == within_reach(query, searched)


def test_contacts_keep_their_identity_over_a_search():
    query = query_on(waves())
    near = Nearby(query, OPTIONS)
    search(near, boxes_at(query, (-0.5, 0.0), (0.5, 0.0)))
    before = near.contacts
    flags = np.zeros(near.record.capacity, bool)
    flags[[3, 7]] = True
    keep_contact(near.record, 0, 5)
    assert keep_flagged(near.record, flags, 1) == 3
    assert not flags.any()
    search(near, boxes_at(query, (-0.45, 0.0), (0.55, 0.0)))
    assert before != near.contacts
    for place, k in enumerate((5, 3, 7)):
        assert near[find_kept(near.record, place)] == before[k]
    search(near, boxes_at(query, (1.0, 1.0), (1.6, 1.0)))
    assert find_kept(near.record, 0) == -1


def test_contacts_get_status_and_friction_by_their_names():
    """`wheel/feature`, then the wheel, then all: as for a single contact."""
    query = query_on(waves())
    feature = query.ground.name(pairs_of(found_within(query, middle(query), 0.1))[0][1])
    for mu in (0.7, 0.0, math.inf, {"front": 0.3, f"rear/{feature}": 0.1, "rear": 0.0}):
        options = ContactOptions(mu=mu, impact="moreau")
        near = Nearby(query, options)
        search(near, middle(query))
        values = set()
        for k, contact in enumerate(near.contacts):
            status, expected = query.contact_law(contact, options)
            assert near.record.closed_status[k] == status
            assert near.record.mu[k] == expected
            assert expected == options.friction(
                query.machine.wheels[contact.wheel], query.key(contact)[1]
            )
            assert status is (Status.ROLLING if expected > 0.0 else Status.SLIDING)
            values.add(expected)
        assert len(values) == (3 if isinstance(mu, dict) else 1)


def test_ground_without_features_near_the_wheels():
    query = query_on(waves())
    near = found_within(query, boxes_at(query, (50.0, 0.0), (51.0, 0.0)), 0.1)
    assert len(near) == 0
    assert near.contacts == ()


def test_moving_ground_is_searched_again_before_it_arrives():
    """Within `until`, it moves by less than the region exceeds the search."""
    query = query_on(move_ground(waves(21), Slide((2.0, 0.0, 0.0))))
    near = Nearby(query, OPTIONS)
    searched = search(near, middle(query))
    margin = float((searched - middle(query)).max())
    assert margin == pytest.approx(SIDE_MARGIN * OPTIONS.margin)
    assert near.record.until == pytest.approx(margin / 2.0)


@pytest.mark.parametrize("solver", ["events", "time_stepping"])
def test_a_ball_stays_on_a_floor_that_slides_below_it(solver):
    """Large moving ground: its features change although the ball, without friction, stays in its place."""
    x = np.linspace(-20.0, 20.0, 401)
    z = np.zeros((401, 3))
    z[:, 1] = -1e-3  # a groove along x; its sides differ, so that the floor consists of many faces
    z[::2, 0] += 1e-3
    floor = move_ground(height_field(x, [-5.0, 0.0, 5.0], z), Slide((4.0, 0.0, 0.0)))
    ball = draisine.compile("ball")
    run = simulate(
        ball, state(ball), 1.0, terrain=floor, contact=ContactOptions(mu=0.0, solver=solver)
    )
    assert run.outcome == "completed"
    height = np.concatenate([arc.y[:, 6] for arc in run.arcs])
    assert np.ptp(height) < 5e-3


def test_time_steps_go_on_although_the_floor_moves_beyond_the_search_within_one():
    """In a step of 50 ms the floor moves by 1.5 m; a search looks 5 cm ahead."""
    x = np.linspace(-20.0, 20.0, 401)
    level = height_field(x, [-1.0, 0.0, 1.0], np.zeros((401, 3)))
    floor = move_ground(level, Slide((30.0, 0.0, 0.0)))
    ball = draisine.compile("ball")
    contact = ContactOptions(mu=0.0, solver="time_stepping", step=0.05, margin=0.1)
    run = simulate(ball, state(ball), 0.2, terrain=floor, contact=contact)
    assert run.outcome == "completed"
    assert_allclose(run.arcs[-1].y[-1], run.arcs[0].y[0], atol=1e-8)
