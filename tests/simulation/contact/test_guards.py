"""Zeros of guards: all there are, in order, and none that is not there."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import draisine
from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.event_driven import guards
from draisine.simulation.contact.event_driven.arc_integration import (
    Proximity,
    stays_beside_face,
    trace_edge_distance,
)
from draisine.simulation.contact.event_driven.guards import (
    GUARD_NODES,
    INTERPOLATION_BASIS,
    NO_CROSSING,
    NODE_POSITIONS,
    find_minimum,
    find_next_zero,
    find_only_zero,
    fit_bernstein,
    is_part_of_feature,
    restrict_to_interval,
    set_guards,
)
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.tolerances import Tolerances
from draisine.simulation.trajectory import GuardKind
from draisine.terrain import Mesh, Terrain, edge, ramp

X = INTERPOLATION_BASIS[NODE_POSITIONS:]


def zeros(values):
    """Return all zeros of the polynomial through values at the nodes."""
    b, part, found, at, sign = (
        np.zeros(GUARD_NODES),
        np.zeros(2 * GUARD_NODES),
        [],
        0.0,
        np.sign(values[0]),
    )
    fit_bernstein(INTERPOLATION_BASIS, values, b)
    while (at := find_next_zero(b, sign, at, 1.0, part)) != NO_CROSSING:
        found.append(at)
        at, sign = at + 1e-12, -sign
    return np.array(found)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 33), min_size=0, max_size=8, unique=True))
def test_all_zeros_are_found_in_order(parts):
    """Of a polynomial that is known by its zeros, as well as rounding of its values tells them."""
    wanted = 0.03 * np.sort(parts)
    values = np.array([np.prod(x - wanted) for x in X])
    slopes = np.array([np.prod(np.delete(one - wanted, i)) for i, one in enumerate(wanted)])
    found = zeros(values)
    assert len(found) == len(wanted)
    assert (np.abs(found - wanted) <= 1e-11 + 1e-13 * np.abs(values).max() / np.abs(slopes)).all()


def test_a_near_miss_has_no_zero_and_a_graze_two():
    """(x - 0.4)^2 + e is positive, (x - 0.4)^2 - e vanishes at 0.4 -+ sqrt(e)."""
    dip = (X - 0.4) ** 2
    assert len(zeros(dip + 1e-12)) == 0
    assert zeros(dip - 1e-12) == pytest.approx([0.4 - 1e-6, 0.4 + 1e-6], abs=1e-9)


def test_coefficients_bound_the_polynomial_on_every_part():
    rng, b, part = np.random.default_rng(4), np.zeros(GUARD_NODES), np.zeros(GUARD_NODES)
    values = rng.normal(size=GUARD_NODES)
    fit_bernstein(INTERPOLATION_BASIS, values, b)
    polynomial = np.polynomial.Polynomial.fit(X, values, GUARD_NODES - 1)
    for low, high in ((0.0, 1.0), (0.2, 0.7), (0.55, 0.6)):
        restrict_to_interval(b, low, high, part)
        inside = polynomial(np.linspace(low, high, 101))
        assert part.min() <= inside.min() + 1e-12 and inside.max() <= part.max() + 1e-12
        assert part[[0, -1]] == pytest.approx(polynomial(np.array([low, high])), abs=1e-11)


def test_the_tail_tells_what_no_polynomial_fits():
    """The seventh term of the cosine on an interval of length 1 is 2 J7(1/2) sin(1/2), 1e-8."""
    b = np.zeros(GUARD_NODES)
    assert fit_bernstein(INTERPOLATION_BASIS, np.cos(X), b) < 2e-8
    assert fit_bernstein(INTERPOLATION_BASIS, np.abs(X - 0.45), b) > 1e-3


@pytest.mark.parametrize("order", [GUARD_NODES - 2, GUARD_NODES - 1])
def test_the_tail_is_the_size_of_the_last_two_terms(order):
    """Of Chebyshev polynomials it is one, or nothing where they are of less degree."""
    b, around = np.zeros(GUARD_NODES), np.arccos(1.0 - 2.0 * X)
    assert fit_bernstein(INTERPOLATION_BASIS, np.cos(order * around), b) == pytest.approx(
        1.0, abs=1e-13
    )
    assert fit_bernstein(
        INTERPOLATION_BASIS, np.cos((GUARD_NODES - 3) * around), b
    ) == pytest.approx(0.0, abs=1e-13)


@pytest.mark.parametrize(("clearance", "told"), [(3e-10, 1), (1e-7, 0)])
def test_what_grazes_is_told(clearance, told):
    """A disc flies over a rail; at the top of its parabola it is as near as it comes, for it is
    faster than sqrt(g r).
    """
    disc, soon, speed, g = draisine.compile("rolling_disc"), 0.1, 4.0, 9.81
    rail = edge("rail", (0, 0, 0), (0, 1, 0), (-1, 0, 0.01), (1, 0, 0.01))
    start = draisine.state(disc)
    v = np.zeros_like(start.v)
    v[0], v[2] = speed, g * soon
    under = clearance - 0.5 * g * soon**2
    start = draisine.State(start.q, start.p + [-speed * soon, 0.0, under], start.r, v)
    run = draisine.simulate(disc, start, 0.2, terrain=Terrain([rail]))
    assert not run.events and len(run.validity.grazes) == told
    for arc in run.arcs:
        for t, (_, feature) in arc.grazes:
            assert t == pytest.approx(soon, abs=1e-6) and feature == "rail"
    assert ("grazed" in str(run.validity)) == bool(told)


FEATURES = {
    "slope": (0.6, 0.0, 0.8, 1.0, 0.0, 0.0),
    "same slope": (0.6, 0.0, 0.8, 1.0, 0.0, 0.0),
    "slope above": (0.6, 0.0, 0.8, 1.1, 0.0, 0.0),
    "mirrored slope": (-0.6, 0.0, 0.8, 1.0, 0.0, 0.0),
    "edge in the slope": (1.0, 2.0, 0.5, 0.8, 0.0, -0.6),
    "edge through it": (1.0, 2.0, 0.5, 0.6, 0.0, 0.8),
    "vertex on the edge": (1.8, 2.0, -0.1, 0.0, 0.0, 0.0),
    "vertex in the slope": (1.0, 3.0, 0.5, 0.0, 0.0, 0.0),
    "vertex above": (1.8, 2.0, 0.1, 0.0, 0.0, 0.0),
}
ADJOIN = {
    ("slope", "same slope"),
    ("slope", "edge in the slope"),
    ("slope", "vertex on the edge"),
    ("slope", "vertex in the slope"),
    ("same slope", "edge in the slope"),
    ("same slope", "vertex on the edge"),
    ("same slope", "vertex in the slope"),
    ("edge in the slope", "vertex on the edge"),
}


def test_what_lies_in_a_feature_or_holds_it():
    """Coplanar faces, edges and vertices in their planes, vertices on edges; not two edges."""
    rows = np.zeros((len(FEATURES), FEATURE))
    rows[:, :6] = list(FEATURES.values())
    planes = np.array(["slope" in name and " the " not in name for name in FEATURES], int)
    none = np.zeros(len(rows), int)
    bundle = SimpleNamespace(features=rows.ravel(), planes=planes, carried=none, patches=none)
    names = list(FEATURES)
    for i, one in enumerate(names):
        for j, two in enumerate(names):
            if i != j:
                wanted = (one, two) in ADJOIN or (two, one) in ADJOIN
                assert is_part_of_feature(Tolerances(), bundle, i, j) == wanted, (one, two)


def test_a_flat_of_a_body_lies_in_no_ground():
    """Its numbers are zeros, like those of a vertex at the origin, which lies in level ground."""
    rows = np.zeros((2, FEATURE))
    rows[0, 2] = 1.0
    carried = np.array([0, 0])
    ground = SimpleNamespace(
        features=rows.ravel(), planes=np.array([1, 0]), carried=carried, patches=0 * carried
    )
    assert is_part_of_feature(Tolerances(), ground, 0, 1)
    ground.carried[1] = 1
    assert not is_part_of_feature(Tolerances(), ground, 0, 1)
    assert not is_part_of_feature(Tolerances(), ground, 1, 0)


def test_an_endless_edge_of_a_ramp_is_not_watched_from_its_face():
    """The lip of an endless ramp lies in its face: rolling up to it is no grazing contact."""
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=6.0, lean_rate=0.05, x=-2.0)
    run = draisine.simulate(bicycle, start, 0.5, terrain=ramp(0.2, 0.3))
    assert sum(event.kind == "lift-off" for event in run.events) == 2
    assert [arc.grazes for arc in run.arcs] == [()] * len(run.arcs)


def test_a_line_is_out_of_touch_exactly_where_it_keeps_its_distance_from_the_ring():
    """Against the least distance of a thousand points of the segment from the ring. One that goes
    through a disc is below it; one that stays beside it, or meets a tyre, is not.
    """
    rng, found, beside = np.random.default_rng(4), [], 0
    ring, limit, centre, axle = 0.3, 0.1, np.zeros(3), np.array([0.0, 1.0, 0.0])
    for _ in range(200):
        Q, e, length = rng.normal(scale=0.3, size=3), rng.normal(size=3), rng.uniform(0.1, 0.6)
        e /= np.linalg.norm(e)
        line = edge("line", Q, e, np.cross(e, axle), np.cross(e, [1.0, 0.0, 0.0]), length)
        bundle = SimpleNamespace(
            features=np.append(line.numbers, [0.0, 0.0]),
            low=line.low,
            high=line.high,
            crown=np.zeros(1),
        )
        how = trace_edge_distance(Tolerances(), bundle, 0, centre, axle, ring, limit)
        points = Q + np.linspace(0.0, length, 1000)[:, None] * e
        off = np.hypot(np.hypot(points[:, 0], points[:, 2]) - ring, points[:, 1]).min()
        found.append(how == Proximity.NEAR)
        if abs(off - limit) > 1e-3:
            assert (how == Proximity.NEAR) == (off < limit)
        if how != Proximity.NEAR:
            z, inside = points[:, 1], np.hypot(points[:, 0], points[:, 2]) < ring
            pierces = bool((np.diff(np.sign(z)) != 0)[inside[1:]].any())
            beside += how == Proximity.AWAY and inside.any()
            assert how == Proximity.BELOW or not pierces
            assert how == Proximity.AWAY or (abs(z).min() < limit + 1e-3 and inside.any())
            bundle.crown[0] = 0.02
            how = trace_edge_distance(Tolerances(), bundle, 0, centre, axle, ring, limit)
            assert how == Proximity.AWAY
    assert 20 < sum(found) < 180
    assert beside > 5


def test_what_is_left_out_beside_a_face_stays_there():
    """A wheel whose centre and axle wander by known amounts: where it is said to stay beside a
    triangle, its lowest point over the plane is beyond one of the borders at each of a hundred places.
    """
    rng, beside = np.random.default_rng(7), 0
    motion = SimpleNamespace(row=6, centre=0, axle=3)
    ground = Mesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.1], [0.0, 1.0, -0.1]], [[0, 1, 2]])[0]
    N, borders, ring = ground.numbers[:3], ground.borders, 0.3
    for k in range(400):
        crown = (0.0, 0.02)[k % 2]
        centre, axle = rng.normal(scale=0.6, size=3), _unit(rng.normal(size=3) * [1.0, 3.0, 1.0])
        moved, turned = rng.choice([0.0, 0.2]) * rng.uniform(), rng.uniform(0.0, 0.3)
        contacts = SimpleNamespace(
            features=np.append(ground.numbers, [0.0, 0.0]),
            wheels=[0],
            radius=[ring + crown],
            crown=[crown],
            first=[0, len(borders)],
            borders=borders.ravel(),
        )
        arc = SimpleNamespace(
            mode=SimpleNamespace(motion=motion, contacts=contacts), moved=[moved, turned]
        )
        tilt, middle = float(N @ axle), np.concatenate([centre, axle])
        said = stays_beside_face(arc, 0, middle, tilt, math.sqrt(1.0 - tilt * tilt))
        beside += said
        for way in rng.normal(size=(100, 2, 3)):
            here = centre + moved * rng.uniform() * _unit(way[0])
            turn = _unit(axle + turned * rng.uniform() * 0.99 * _unit(np.cross(axle, way[1])))
            low = _lowest(here, turn, N, ring, crown)
            assert not said or (borders[:, :3] @ low - borders[:, 6]).max() > 0.0
    assert 100 < beside < 350


def _unit(v):
    return v / np.linalg.norm(v)


def _lowest(centre, axle, N, ring, crown):
    return centre - ring * _unit(N - (N @ axle) * axle) - crown * N


def test_closed_contacts_are_watched_for_all_that_ends_them():
    """The first rolls with friction between two borders, the second holds where an edge may fold."""
    bundle = SimpleNamespace(size=0, first=np.array([0, 2, 2]), folds=np.array([0, 1]))
    mode = SimpleNamespace(
        contacts=bundle,
        plan=np.array([2]),
        which=np.array([0, 1]),
        mu=np.array([0.5, 0.0]),
        status=np.full(2, Status.ROLLING),
    )
    kinds, contacts, borders = np.zeros((3, 8), int)
    count = set_guards(mode, np.array([0, 0]), kinds, contacts, borders)
    assert kinds[:count].tolist() == [
        GuardKind.NORMAL_FORCE,
        GuardKind.FRICTION_CONE,
        GuardKind.BORDER,
        GuardKind.BORDER,
        GuardKind.NORMAL_FORCE,
        GuardKind.FOLD,
    ]
    assert contacts[:count].tolist() == [0, 0, 0, 0, 1, 1]
    assert borders[2:4].tolist() == [0, 1]


# --- single zeros and minima


@pytest.mark.parametrize("zero", [1e-9, 0.3, 0.999])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_only_zero_is_found_to_rounding(zero, sign):
    """Of a cubic that is steep at one end, from both sides."""
    b, part = np.zeros(GUARD_NODES), np.zeros(GUARD_NODES)
    fit_bernstein(INTERPOLATION_BASIS, sign * (X - zero) * (X**2 + 0.01), b)
    assert find_only_zero(b, part) == pytest.approx(zero, abs=1e-12)


@pytest.mark.parametrize("minimum", [0.3, 0.42, 0.6])
def test_the_minimum_is_found_between_its_bounds(minimum):
    """As well as a parabola's values tell its minimum, 1e-8; at a bound if it lies beyond it."""
    b, part = np.zeros(GUARD_NODES), np.zeros(GUARD_NODES)
    fit_bernstein(INTERPOLATION_BASIS, (X - minimum) ** 2, b)
    assert find_minimum(b, 0.2, 0.5, part) == pytest.approx(min(minimum, 0.5), abs=2e-8)


@pytest.mark.parametrize(
    ("wheel", "moved", "part", "contact", "watched"),
    [
        (0, 0, False, 1, True),
        (0, 0, True, 1, False),
        (1, 0, True, 1, True),
        (0, 1, True, 1, True),
        (0, 0, False, 0, False),
    ],
)
def test_gaps_of_open_contacts_are_watched(monkeypatch, wheel, moved, part, contact, watched):
    """Contact 0 is closed; features that lie in its feature are reached at a border, unless they belong to
    another wheel or move differently.
    """
    mode = SimpleNamespace(
        contacts=SimpleNamespace(wheels=np.array([0, wheel]), moved=np.array([0, moved])),
        plan=np.array([1]), which=np.array([0]), motion=SimpleNamespace(tol=Tolerances()),
    )  # fmt: skip
    monkeypatch.setattr(guards, "is_part_of_feature", lambda tol, b, closed, k: part)
    assert guards.is_watched(mode, contact) == watched


@pytest.mark.parametrize(
    ("offset", "slope", "lies"),
    [(0.9, 0.0, True), (-1.1, 0.0, False), (0.0, 0.9, True), (0.0, -1.1, False)],
)
def test_an_edge_lies_in_a_plane_by_distance_and_direction(offset, slope, lies):
    """The plane z = 2 and an edge along x; offsets and slopes in tolerances."""
    tol = Tolerances()
    rows = np.zeros((2, FEATURE))
    rows[0, 2:4] = 1.0, 2.0
    rows[1, :6] = 5.0, 6.0, 2.0 + offset * tol.same_feature, 1.0, 0.0, slope * tol.parallel
    bundle = SimpleNamespace(features=rows.ravel())
    assert guards.lies_in_plane(tol, bundle, 0, 1) == lies
