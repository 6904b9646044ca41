"""Rules of the search of nearby contacts, routine by routine, with numbers by hand: which features are within
reach, what the table stores, when it is full. Routines run as plain Python.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from draisine.algebra.patch import PATCH
from draisine.mechanics.contact.features import FEATURE, LOAD, SIDE
from draisine.simulation.contact.nearby import search
from draisine.simulation.contact.nearby.search import (
    AHEAD_MARGIN,
    ATTACHED,
    SIDE_MARGIN,
    SMALLEST_MARGIN,
    SearchResult,
)
from draisine.simulation.contact.status import Status

PAIR_FIELDS = (
    "row_programs", "gap_programs", "row_tables", "gap_tables", "faces", "wheels", "pair", "planes",
    "moved", "folds", "carried", "patches", "reach", "radius", "bend", "crown",
)  # fmt: skip


def columns(count, borders=0, **fields):
    """Contact columns whose fields of a pair are 10 times the index of the contact."""
    values = {name: 10.0 * np.arange(count) for name in PAIR_FIELDS[-4:]}
    values |= {name: 10 * np.arange(count) for name in PAIR_FIELDS[:-4]}
    return SimpleNamespace(
        **values | {
            "size": count,
            "first": np.zeros(count + 1, int),
            "features": np.zeros(count * FEATURE),
            "borders": np.zeros(7 * borders),
            "low": np.zeros(3 * count),
            "high": np.zeros(3 * count),
            "cells": np.zeros(count * PATCH),
        } | fields
    )  # fmt: skip


def table(capacity=3, borders=4):
    contacts = columns(capacity, borders)
    contacts.size = 0
    return SimpleNamespace(
        contacts=contacts, capacity=capacity, border_capacity=borders,
        features=np.zeros(capacity, int), closed_status=np.zeros(capacity, int),
        mu=np.zeros(capacity), is_sharp=np.zeros(capacity, bool), boxes=np.zeros(12),
        begin=np.zeros(6), kept=np.zeros((capacity, 3), int), searches=4,
    )  # fmt: skip


def ground(**fields):
    """Two features, 1 m apart along x, under two wheels; feature 1 has two borders."""
    values = {
        "size": 2, "index": np.array([100, 101]), "kinds": np.array([0, 1]),
        "numbers": np.arange(12.0).reshape(2, 6), "borders": np.arange(14.0),
        "first": np.array([0, 0, 2]), "low": np.array([[0.0, 0, 0], [1.0, 0, 0]]),
        "high": np.array([[0.5, 1, 1], [1.5, 1, 1]]), "cells": np.full((2, PATCH), 8.0),
        "region": np.array([-2.0] * 3 + [2.0] * 3 + [-2.0] * 3 + [2.0] * 3), "moves": False,
        "wheels": 2, "owners": 3, "pairs": np.array([[0, 1], [2, 3]]),
        "sides": np.array([[1, 3], [0, 1]]), "columns": columns(4, planes=np.array([1, 0, 1, 0])),
        "reach": np.array([0.3, 0.3]), "surface": np.array([0, 1]),
        "mu": np.array([[0.1, 0.2], [0.3, 0.4]]), "tyres": np.array([-1, Status.TYRE]),
        "is_disc": np.array([True, False]),
        "attached": columns(2, 1, wheels=np.array([2, 0]), first=np.array([0, 0, 1])),
        "attached_status": np.array([Status.SLIDING, Status.ROLLING]),
        "attached_mu": np.array([0.0, 0.9]),
    }  # fmt: skip
    return SimpleNamespace(**(values | fields))


@pytest.mark.parametrize(
    ("tyre", "mu", "status"),
    [
        (-1, 0.5, Status.ROLLING),
        (-1, 0.0, Status.SLIDING),
        (Status.TYRE, 0.0, Status.TYRE),
        (0, 0.5, Status.OPEN),
    ],
)
def test_a_contact_without_slip_rolls_with_friction_unless_it_has_a_tyre(tyre, mu, status):
    assert search.find_closed_status(tyre, mu) == status


@pytest.mark.parametrize(
    ("size", "borders", "room"), [(2, 2, True), (3, 0, False), (2, 3, False), (0, 0, True)]
)
def test_a_contact_needs_room_for_itself_and_its_borders(size, borders, room):
    """The table holds three contacts and four borders; the new contact has two borders."""
    near = table()
    contacts = near.contacts
    contacts.size, contacts.first[size] = size, borders
    given = ground()
    low, high = np.array([1.0, 2, 3]), np.array([4.0, 5, 6])
    arguments = (given.columns, 2, given.numbers[1], low, high, given.borders, 2)
    contacts.features[:] = 9.0
    assert search.add_contact(near, *arguments) == room
    assert contacts.size == size + room
    if room:
        assert contacts.first[size + 1] == borders + 2
        row = contacts.features[size * FEATURE :][:FEATURE]
        assert row[:SIDE].tolist() == given.numbers[1].tolist()
        assert (row[SIDE], row[LOAD]) == (0.0, 0.0)
        assert contacts.borders[7 * borders :][:14].tolist() == list(range(14))
        assert contacts.low[3 * size :][:3].tolist() == [1.0, 2.0, 3.0]
        assert contacts.high[3 * size :][:3].tolist() == [4.0, 5.0, 6.0]
        assert [getattr(contacts, name)[size] for name in ("wheels", "radius", "pair")] == [20] * 3


@pytest.mark.parametrize("capacity", [1, 0])
def test_features_that_move_with_the_system_count_down_from_minus_one(capacity):
    near = table(capacity)
    near.is_sharp[:] = True
    assert search.add_attached(near, ground(), 1) == (capacity == 1)
    if capacity:
        assert not near.is_sharp[0]
        assert near.features[0] == ATTACHED - 1
        assert (near.closed_status[0], near.mu[0]) == (Status.ROLLING, 0.9)
        assert near.contacts.first[1] == 1


@pytest.mark.parametrize(
    ("wheel", "feature", "mu", "status", "sharp"),
    [
        (0, 0, 0.1, Status.ROLLING, False),
        (0, 1, 0.2, Status.ROLLING, True),
        (1, 0, 0.3, Status.TYRE, False),
        (1, 1, 0.4, Status.TYRE, False),
    ],
)
def test_a_contact_has_the_properties_of_its_wheel_and_feature(wheel, feature, mu, status, sharp):
    """Feature 0 is a face, 1 an edge; wheel 0 is a disc, wheel 1 has a tyre."""
    near = table()
    assert search.add_feature(near, ground(), wheel, feature, -1)
    assert (near.mu[0], near.closed_status[0], near.is_sharp[0]) == (mu, status, sharp)
    assert near.features[0] == 100 + feature
    assert near.contacts.features[SIDE] == -1.0
    assert near.contacts.pair[0] == 10 * (2 * wheel + feature)


@pytest.mark.parametrize("patch", [0, 1])
def test_the_coefficients_of_patches_are_copied(patch):
    near = table()
    given = ground()
    given.columns.patches[:] = patch
    assert search.add_feature(near, given, 0, 0, 0)
    assert near.contacts.cells[:PATCH].tolist() == [8.0 * patch] * PATCH
    assert not near.contacts.cells[PATCH:].any()


def test_a_full_table_stores_nothing_of_a_feature():
    near = table(0)
    near.is_sharp = near.mu = None
    assert not search.add_feature(near, ground(), 0, 0, 0)


# --- reach and boxes


@pytest.mark.parametrize(
    ("shift", "within"),
    [
        ((0.0, 0.0, 0.0), True),
        ((-0.29, 0.0, 0.0), True),
        ((-0.31, 0.0, 0.0), False),
        ((0.0, 1.29, 0.0), True),
        ((0.0, 0.0, 1.31), False),
        ((-0.2, 1.2, 0.0), True),
        ((-0.22, 1.22, 0.0), False),
    ],
)
def test_a_feature_is_within_reach_of_a_box(shift, within):
    """A unit cube and a wheel of 0.3 m; at the corner both axes count. The wheel is the second one."""
    near = table()
    near.boxes[6:] = [*shift, *shift]
    given = ground(low=np.zeros((2, 3)), high=np.ones((2, 3)))
    assert search.is_within_reach(near, given, 1, 1) == within


@pytest.mark.parametrize(
    ("capacity", "complete", "size"), [(6, True, 6), (5, False, 5), (2, False, 2), (0, False, 0)]
)
def test_the_table_is_filled_by_wheel_feature_and_side(monkeypatch, capacity, complete, size):
    """Wheel 0: its attached feature, one contact with feature 0, three with the edge 1. Wheel 1: feature 1
    only. The stop of joint 2 is out of reach of none. Wheel 1 does not reach the edge. The search is counted,
    whether the table has room or not, because the indices of contacts change.
    """
    near = table(capacity, 50)
    near.contacts.size = 9
    monkeypatch.setattr(search, "is_within_reach", lambda near, g, wheel, i: wheel == 0)
    assert search.fill_table(near, ground()) == complete
    assert near.searches == 5
    assert near.contacts.size == size
    features = [ATTACHED - 1, 100, 101, 101, 101, ATTACHED][:size]
    assert near.features[:size].tolist() == features
    sides = near.contacts.features[SIDE::FEATURE][:size]
    assert sides.tolist() == [0.0, 0.0, -1.0, 0.0, 1.0, 0.0][:size]


@pytest.mark.parametrize(
    ("path", "moves", "ahead"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_boxes_are_widened_ahead_on_fixed_ground(path, moves, ahead):
    """Wheel 0 moves from 0 to 0.5 m along x; the margin is 0.2 m."""
    near = table()
    box = np.zeros(12)
    box[3] = 0.5
    assert search.widen_boxes(near, ground(moves=moves), box, 0.2, path)
    side = 0.2 * SIDE_MARGIN
    expected = np.array([-side] * 3 + [0.5 + side + 0.2 * AHEAD_MARGIN * ahead, side, side])
    assert near.boxes[:6] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("corner", "value", "inside"),
    [(3, 1.89, True), (3, 1.91, False), (6, -1.89, True), (6, -1.91, False), (11, 1.91, False)],
)
def test_widened_boxes_must_lie_in_the_region_of_the_table(corner, value, inside):
    """It reaches from -2 to 2 m; boxes are widened by 0.1 m."""
    box = np.zeros(12)
    box[corner] = value
    assert search.widen_boxes(table(), ground(), box, 0.1 / SIDE_MARGIN, False) == inside


@pytest.mark.parametrize(
    ("inside", "filled", "result"),
    [
        (True, True, SearchResult.FOUND),
        (True, False, SearchResult.TABLE_FULL),
        (False, True, SearchResult.OUTSIDE_REGION),
    ],
)
def test_a_search_within_a_margin(monkeypatch, inside, filled, result):
    margins = []
    monkeypatch.setattr(
        search,
        "widen_boxes",
        lambda near, g, box, margin, path: margins.append((margin, path)) or inside,
    )
    monkeypatch.setattr(search, "fill_table", lambda near, g: filled)
    assert search.find_within(table(), ground(), None, 0.2) is result
    assert margins == [(0.2 / SIDE_MARGIN, False)]


@pytest.mark.parametrize(
    ("fits", "inside", "result", "searches"),
    [
        (1.0, True, SearchResult.FOUND, 1),
        (0.3, True, SearchResult.FOUND, 3),
        (SMALLEST_MARGIN, True, SearchResult.FOUND, 9),
        (0.0, True, SearchResult.TABLE_FULL, 9),
        (1.0, False, SearchResult.OUTSIDE_REGION, 1),
    ],
)
def test_the_margin_is_halved_until_the_table_has_room(monkeypatch, fits, inside, result, searches):
    """Down to 1/256 of the requested margin: after eight halvings."""
    margins = []
    monkeypatch.setattr(
        search, "widen_boxes", lambda near, g, box, margin, path: margins.append(margin) or inside
    )
    monkeypatch.setattr(search, "fill_table", lambda near, g: margins[-1] <= 0.2 * fits)
    assert search.find_nearby(table(), ground(), None, 0.2, True) is result
    assert len(margins) == searches


# --- contacts before and after a search


@pytest.mark.parametrize(
    ("wheel", "feature", "side", "index"),
    [(1, 101, -1, 2), (1, 101, 1, -1), (0, 101, -1, -1), (1, 100, -1, 1), (1, 100, 0, -1)],
)
def test_a_contact_is_found_again_by_wheel_feature_and_side(wheel, feature, side, index):
    near = table()
    near.contacts.size = 3
    near.contacts.wheels[:] = 0, 1, 1
    near.features[:] = 100, 100, 101
    near.contacts.features[SIDE::FEATURE] = -1.0
    near.kept[2] = wheel, feature, side
    assert search.find_kept(near, 2) == index


def test_flagged_contacts_are_kept_and_their_flags_cleared():
    near = table()
    near.contacts.size = 3
    near.contacts.wheels[:] = 0, 1, 1
    near.features[:] = 100, 100, 101
    flags = np.array([False, True, False])
    assert search.keep_flagged(near, flags, 1) == 2
    assert not flags.any()
    assert near.kept.tolist() == [[0, 0, 0], [1, 100, 0], [0, 0, 0]]
