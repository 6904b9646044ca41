"""Wheels with a crown, and balls, on edges and vertices: closed forms, conserved energy, the limit of
the disc.
"""

import math
from dataclasses import replace
from functools import cache

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.algebra.lie import quaternion, rot_x, rot_y, rot_z, rotation
from draisine.errors import TerrainError
from draisine.model import Torus
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.table import WheelOnFeature
from draisine.system.generic import make_generic
from draisine.terrain import Mesh, Terrain, edge, face, kerb, move_ground, vertex
from draisine.terrain.motions import Shake, Turn
from simulation.contact.test_disc import G, H, disc, dropped, rolling

CROWNS = [0.002, 0.05, 0.3]
R = 0.1  # of the ball
SIDES = (0, 1, -1)

FIN = edge("fin", (0, 0, 0), (0, 1, 0), (-1, 0, 0.1), (1, 0, 0.1))
RAIL = edge("rail", (0, 0, 0), (1, 0, 0), (0, -1, 0.1), (0, 1, 0.1))
TIP = vertex("tip", (0, 0, 0))


@cache
def torus(crown):
    return draisine.compile("rolling_disc", crown=crown)


@cache
def ball():
    return draisine.compile("ball")


def look_at(system, ground):
    return ContactQuery(make_generic(system, None, ground.motions), ground, np.zeros(0))


def energies(made):
    return np.concatenate(
        [(arc.observations["kinetic"] + arc.observations["potential"])[0] for arc in made.arcs]
    )


def nearest_by_search(hub, a, ring, Q, e):
    """Return the local minima (place along the line, distance) of the distance from a line to a
    ring, by dense search and refinement.
    """

    def distance(s):
        X = Q + np.multiply.outer(s, e) - hub
        height = X @ a
        flat = np.linalg.norm(X - np.multiply.outer(height, a), axis=-1)
        return np.hypot(flat - ring, height)

    s = (hub - Q) @ e + np.linspace(-1.5, 1.5, 6001)
    d = distance(s)
    out = []
    for k in np.flatnonzero((d[1:-1] < d[:-2]) & (d[1:-1] <= d[2:])) + 1:
        low, high = s[k - 1], s[k + 1]
        for _ in range(80):
            m1, m2 = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, m2) if distance(m1) < distance(m2) else (m1, high)
        out.append((low, float(distance(low))))
    return out


@pytest.mark.parametrize("seed", range(6))
def test_gaps_to_lines_are_the_least_distances(seed):
    """One nearest point or two, as a search finds them: side 0 has the nearest, the others both."""
    rng = np.random.default_rng(seed)
    crown = CROWNS[seed % 3]
    line = replace(RAIL, borders=np.zeros((0, 7)))
    folded = 0
    for _ in range(40):
        Q, e = rng.normal(scale=0.3, size=3) + [0, 0, H], rng.normal(size=3)
        e[1] *= rng.choice([1.0, 0.1, 0.0])
        e /= np.linalg.norm(e)
        line = replace(line, numbers=np.concatenate([Q, e]))
        look = look_at(torus(crown), Terrain([line]))
        y = look.machine.enter(rolling(0.0), np.zeros(0))
        rows = look.evaluate_rows(0.0, y, [WheelOnFeature(0, 0, side) for side in SIDES])
        hub, a = np.array([0.0, 0.0, H]), np.array([0.0, 1.0, 0.0])
        found = nearest_by_search(hub, a, H - crown, Q, e)
        least = min(d for _, d in found)
        assert look.gap(rows[0]) == pytest.approx(least - crown, abs=1e-10)
        valid = [
            look.excess(WheelOnFeature(0, 0, side), row) < 0
            for side, row in zip(SIDES, rows, strict=True)
        ]
        assert valid == ([True, False, False] if len(found) == 1 else [False, True, True])
        if len(found) == 2:
            folded += 1
            after, before = rows[1], rows[2]
            assert (after[look.row.point] - before[look.row.point]) @ e > 0
            assert look.gap(before) == pytest.approx(found[0][1] - crown, abs=1e-10)
            assert look.gap(after) == pytest.approx(found[1][1] - crown, abs=1e-10)
    assert folded > 2


def test_nearest_points_are_stationary_to_forty_digits():
    """N.e = 0 and N orthogonal to the ring, with mpmath; floats agree to round-off."""
    rng = np.random.default_rng(1)
    with mpmath.workdps(50):
        for side in (0, 1, -1):
            a, e, Q = rng.normal(size=(3, 3)) * [[1.0], [1.0], [0.3]]
            a, e = a / np.linalg.norm(a), e / np.linalg.norm(e)
            hub = rng.normal(scale=0.1, size=3)
            exact = [
                np.array([mpmath.mpf(float(x)) for x in u], dtype=object) for u in (hub, a, Q, e)
            ]
            for k in (1, 3):
                exact[k] = exact[k] / mpmath.sqrt(exact[k] @ exact[k])
            line = np.array([*exact[2], *exact[3], mpmath.mpf(side)], dtype=object)
            tyre = Torus(mpmath.mpf("0.5"), mpmath.mpf("0.05")).about(exact[1])
            met = tyre.contact_with_edge(exact[0], line)
            assert abs(met.normal @ exact[3]) < mpmath.mpf(10) ** -40
            assert abs(met.normal @ met.along) < mpmath.mpf(10) ** -40
            plain = (
                Torus(0.5, 0.05).about(a).contact_with_edge(hub, np.array([*Q, *e, float(side)]))
            )
            assert_allclose(plain.point, [float(x) for x in met.point], atol=1e-13)
            assert plain.gap == pytest.approx(float(met.gap), abs=1e-14)


GROUND = Terrain(
    [
        edge("ridge", (0.4, 0.1, -0.05), (0.3, 1.0, 0.1), (-0.5, 0.0, 1.0), (0.6, 0.0, 1.0)),
        edge("rail", (0.1, 0.02, -0.05), (1.0, 0.05, 0.1), (0.0, -0.5, 1.0), (0.0, 0.6, 1.0)),
        edge("side", (0.1, 0.12, 0.3), (1.0, 0.05, 0.3), (0.0, -0.5, 1.0), (0.0, 0.6, 1.0)),
        vertex("tip", (0.1, 0.03, -0.1)),
        face("floor", (0.1, 0.05, 1.0), -0.1),
    ]
)
CASES = [
    *(("torus", *case) for case in ((0, 0), (1, 0), (2, 0), (2, 1), (2, -1), (3, 0), (4, 0))),
    *(("ball", feature, 0) for feature in range(5)),
]


@pytest.mark.parametrize("motion", [None, Turn(0.7, (0.2, -0.1))])
@pytest.mark.parametrize(("round_one", "feature", "side"), CASES)
def test_rows_and_targets_are_derivatives(motion, round_one, feature, side):
    """d gap / dt = (C v - b) n, and c = d (b - C v) / dt at fixed v, on still and moving features."""
    ground = GROUND
    if motion is not None:
        ground = Terrain([move_ground(f, motion) for f in GROUND.features])
    look = look_at(torus(0.05) if round_one == "torus" else ball(), ground)
    rng = np.random.default_rng(5)
    contact, n, h = WheelOnFeature(0, feature, side), 6, 1e-5
    for _ in range(4):
        q, v = np.array([1.0, *rng.normal(scale=0.2, size=3)]), rng.normal(size=n)
        y = np.concatenate([q / np.linalg.norm(q), rng.normal(scale=0.05, size=3), v])

        def at(s, y=y):
            moved = y.copy()
            moved[look.pose] += s * look.dynamics(0.3, y)["flow"]
            moved[:4] /= np.linalg.norm(moved[:4])
            return look.evaluate_rows(0.3 + s, moved, [contact])[0]

        def relative(s, v=v):
            row = at(s)
            return look.jacobian(row) @ v - look.ground_velocity(row)

        row = at(0.0)
        rate = (look.gap(at(h)) - look.gap(at(-h))) / (2 * h)
        stretch = row[look.row.stretch][0]
        assert stretch * relative(0.0)[0] == pytest.approx(rate, rel=1e-6, abs=1e-7)
        drift = (relative(h) - relative(-h)) / (2 * h)
        assert_allclose(row[look.row.c], -drift, atol=1e-6 * (1.0 + np.abs(drift).max()))
        axes = look.axes(row)
        assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)


def test_a_thin_torus_meets_a_crossing_edge_as_the_disc_does():
    """Where they touch and roll: the same point, normal, rows and targets."""
    rng = np.random.default_rng(2)
    crown = 1e-7
    for _ in range(10):
        R0 = rot_z(rng.normal(scale=0.4)) @ rot_x(rng.normal(scale=0.3)) @ rot_y(rng.normal())
        a, hub = R0 @ [0.0, 1.0, 0.0], R0 @ [0.0, 0.0, H]
        down = np.array([rng.normal(scale=0.3), 0.0, -1.0])
        out = down - (a @ down) * a
        rim = hub + H * out / np.linalg.norm(out)
        e = np.array([rng.normal(scale=0.3), 1.0, rng.normal(scale=0.2)])
        ground = Terrain([edge("e", rim, e, (1, 0, 1), (-1, 0, 1))])
        y = np.concatenate([quaternion(R0), np.zeros(3), rng.normal(size=6)])
        thin, sharp = look_at(torus(crown), ground), look_at(disc(), ground)
        C = sharp.jacobian(sharp.evaluate_rows(0.0, y, [WheelOnFeature(0, 0)])[0])
        y[7:] -= np.linalg.pinv(C) @ (C @ y[7:])
        one, two = (look.evaluate_rows(0.0, y, [WheelOnFeature(0, 0)])[0] for look in (thin, sharp))
        assert thin.gap(one) == pytest.approx(sharp.gap(two), abs=1e-6)
        assert_allclose(thin.axes(one), sharp.axes(two), atol=1e-6)
        assert_allclose(thin.jacobian(one), sharp.jacobian(two), atol=1e-6)
        assert_allclose(one[thin.row.c], two[sharp.row.c], atol=1e-5)


@pytest.mark.parametrize("crown", CROWNS)
@pytest.mark.parametrize("k", [0.02, 0.2])
def test_step(crown, k):
    """Upright onto a step the crown does not matter: w+ = w (1 - 2 k / (3 h))."""
    made = draisine.simulate(torus(crown), rolling(4.0), 0.6, terrain=kerb(1.0, k))
    hit = made.events[0]
    reach = math.sqrt(H * H - (H - k) ** 2)
    assert hit.t == pytest.approx((1.0 - reach) / 4.0, abs=1e-11)
    assert hit.after.v[4] == pytest.approx(4.0 / H * (1 - 2 * k / (3 * H)), rel=1e-11)
    assert hit.contacts == (("ground", "edge"),)


@pytest.mark.parametrize("crown", CROWNS)
def test_slow_torus_rolls_round_a_ledge_and_leaves_it(crown):
    """As the disc does: cos a = (4 + 3 v^2 / (g h)) / 7."""
    made = draisine.simulate(
        torus(crown),
        rolling(0.5),
        4.0,
        terrain=kerb(0.1, -2.0),
        numerics=draisine.Numerics(rtol=1e-11),
    )
    over, off = made.events[:2]
    assert over.kind == "hand-over" and over.mode_after == ((("ground", "edge"), "rolling"),)
    centre = off.after.p + np.array(rotation(off.after.q)) @ [0.0, 0.0, H]
    angle = math.atan2(centre[0] - 0.1, centre[2])
    assert math.cos(angle) == pytest.approx((4 + 3 * 0.25 / (G * H)) / 7, abs=1e-9)


@pytest.mark.parametrize("top", [FIN, TIP])
@pytest.mark.parametrize("speed", [1e-3, 0.2])
def test_a_ball_rolls_off_where_it_must(top, speed):
    """7 v^2 / 10 = g r (1 - cos a) and v^2 = g r cos a: cos a = 10 / 17 from rest."""
    start = draisine.State(
        np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(0), np.array([0, 0, 0, 0, speed / R, 0])
    )
    made = draisine.simulate(
        ball(),
        start,
        2.0,
        terrain=Terrain([top]),
        contact=draisine.ContactOptions(fall=math.inf),
        numerics=draisine.Numerics(rtol=1e-11),
    )
    off = made.events[0]
    assert off.kind == "lift-off" and off.soft
    centre = off.after.p + np.array(rotation(off.after.q)) @ [0.0, 0.0, R]
    assert centre[2] / R == pytest.approx((10 + 7 * speed**2 / (G * R)) / 17, abs=1e-9)
    rolling_off = made.arcs[0].observations
    E = rolling_off["kinetic"] + rolling_off["potential"]
    assert_allclose(E, E[0, 0], rtol=1e-9)


def test_a_ball_on_its_axle_is_like_any_other():
    """Its axle upright, the heading of a wheel has no meaning; the motion does not mind."""
    turned = quaternion(rot_x(math.pi / 2))
    start = draisine.State(
        turned, np.array([0.0, R, R]), np.zeros(0), np.array([0.3, 0, 0, 0.0, 0.0, 3.0])
    )
    # middle at (0, 0, R), rolling along x at 0.3 m/s: W = 3 rad/s about y, which is the body's -z
    spin = rotation(turned).T @ [0.0, 3.0, 0.0]
    arm = rotation(turned).T @ [0.0, R, 0.0]
    v = rotation(turned).T @ [0.3, 0.0, 0.0] + np.cross(spin, arm)
    start = draisine.State(turned, start.p, start.r, np.concatenate([v, spin]))
    made = draisine.simulate(
        ball(),
        start,
        1.0,
        terrain=Terrain([face("floor", (0, 0, 1), 0.0)]),
        contact=draisine.ContactOptions(fall=math.inf),
    )
    assert not made.events
    end = made.final()
    middle = end.p + rotation(end.q) @ [0.0, 0.0, R]
    assert_allclose(middle, [0.3, 0.0, R], atol=1e-9)


@pytest.mark.parametrize("crown", CROWNS)
@pytest.mark.parametrize("top", [RAIL, TIP])
def test_a_torus_falls_sideways_off_a_rail_or_a_tip(crown, top):
    """It turns about the point that it stands on, the centre h from it, and leaves when g cos a = h
    w^2: cos a = 2 k / (1 + 2 k) cos a0 with k = h^2 / (h^2 + h^2 / 4); 8/13 cos a0.
    """
    lean = 0.2
    q = quaternion(rot_x(lean))
    start = draisine.State(q, np.zeros(3), np.zeros(0), np.zeros(6))
    made = draisine.simulate(
        torus(crown),
        start,
        3.0,
        terrain=Terrain([top]),
        contact=draisine.ContactOptions(fall=math.inf),
        numerics=draisine.Numerics(rtol=1e-11),
    )
    off = made.events[0]
    assert off.kind == "lift-off" and off.soft
    up = rotation(off.after.q)[2, 2]
    assert up == pytest.approx(8 / 13 * math.cos(lean), abs=1e-9)


@pytest.mark.parametrize("crown", CROWNS)
@pytest.mark.parametrize("top", [RAIL, TIP, FIN])
def test_a_dropped_torus_hits_what_is_under_it(crown, top):
    """Straight below its middle: plastic, all of the fall's energy is lost."""
    made = draisine.simulate(torus(crown), dropped(0.2), 0.25, terrain=Terrain([top]))
    hit = made.events[0]
    assert hit.kind == "collision" and hit.contacts == (("ground", top.name),)
    assert hit.t == pytest.approx(math.sqrt(0.4 / G), abs=1e-11)
    ((_, push),) = hit.impulses.items()
    assert_allclose(push, [math.sqrt(2 * G * 0.2), 0, 0], atol=1e-9)
    assert hit.gain == pytest.approx(-G * 0.2, rel=1e-10)


def test_a_torus_rolls_along_a_rail_as_on_a_road():
    made = draisine.simulate(torus(0.05), rolling(2.0), 1.0, terrain=Terrain([RAIL]))
    assert not made.events
    end = made.final()
    centre = end.p + rotation(end.q) @ [0.0, 0.0, H]
    assert_allclose(centre, [2.0, 0.0, H], atol=1e-10)


def pyramid(height=0.1, width=0.6):
    w = width
    points = [[0, 0, height], [w, 0, 0], [0, w, 0], [-w, 0, 0], [0, -w, 0]]
    return Mesh(points, [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]])


@pytest.mark.parametrize("crown", CROWNS[1:])
def test_rolling_over_a_pyramid_keeps_energy_between_impacts(crown):
    """Faces, edges and the tip in turn; only impacts lose energy."""
    ground = pyramid()
    system = torus(crown)
    start = dropped(0.35, Vx=0.6, Wx=0.3, Wy=1.0, Wz=0.4)
    start = draisine.State(start.q, np.array([-0.2, 0.01, 0.35]), start.r, start.v)
    made = draisine.simulate(
        system,
        start,
        0.9,
        terrain=ground,
        contact=draisine.ContactOptions(fall=math.radians(70), mu=0.9, impact="moreau"),
    )
    kinds = {key[1].split()[0] for arc in made.arcs for key, _ in arc.mode}
    assert kinds == ({"face", "edge"} if crown < 0.1 else {"face", "edge", "vertex"})
    for arc in made.arcs:
        E = (arc.observations["kinetic"] + arc.observations["potential"])[0, [0, -1]]
        if [status for _, status in arc.mode] == ["rolling"]:
            assert E[1] == pytest.approx(E[0], rel=1e-9)
        assert E[1] < E[0] * (1 + 1e-9)
        assert arc.observations["gaps"].min() > -1e-9
    assert all(event.gain < 1e-9 for event in made.events)


def test_a_torus_leans_on_an_edge_at_two_points():
    """A low rail beside the wheel: it falls against it with its side and touches twice at once."""
    rail = edge("rail", (0, 0.2, 0.2), (1, 0, 0), (0, -1, 0.1), (0, 1, 0.1))
    ground = Terrain([face("floor", (0, 0, 1), 0.0), rail])
    start = draisine.state(torus(0.05), lean=-0.1)
    made = draisine.simulate(
        torus(0.05),
        start,
        0.72,
        terrain=ground,
        contact=draisine.ContactOptions(mu=0.3, impact="moreau"),
    )
    hit = next(event for event in made.events if event.kind == "collision")
    assert sorted(hit.impulses) == [("ground", "rail+"), ("ground", "rail-")]
    ahead, behind = (hit.impulses["ground", name] for name in ("rail+", "rail-"))
    assert_allclose(ahead, behind * [1, -1, 1], rtol=1e-6)
    assert ahead[0] > 0
    assert made.arcs[-1].observations["gaps"].min() > -1e-9
    E = energies(made)
    assert E[-1] < E[0] and np.diff(E).max() < 1e-9


def _roof(left, bend):
    """Return a ridge along x, bent down at x = 2, between slopes `left` and 0.3 to the right."""
    xs, ridge = (-1.0, 2.0, 4.0), (0.0, 0.0, -2.0 * bend)
    points = [
        [x, y, z + drop]
        for x, z in zip(xs, ridge, strict=True)
        for y, drop in ((-1, -0.3), (0, 0), (1, -left))
    ]
    triangles = []
    for k in (0, 1, 3, 4):
        triangles += [[k, k + 3, k + 4], [k, k + 4, k + 1]]
    return Mesh(points, triangles)


def test_a_torus_rolls_along_a_bent_ridge():
    """Edge, vertex, edge; energy stays, and the speed at the end follows from it: 3 v^2 / 4 gains g
    times the drop of the centre.
    """
    made = draisine.simulate(torus(0.05), rolling(1.0), 2.5, terrain=_roof(0.3, 0.05))
    assert {event.kind for event in made.events} == {"hand-over"}
    kinds = [mode[0][0][1].split()[0] for mode in (arc.mode for arc in made.arcs)]
    assert kinds == ["edge", "vertex", "edge"]
    end = made.final()
    centre = end.p + rotation(end.q) @ [0.0, 0.0, H]
    spin = end.v[4] * H
    assert 0.75 * spin**2 == pytest.approx(0.75 + G * (H - centre[2]), rel=1e-10)


def test_a_torus_rolls_along_the_seam_of_a_flat_face_to_its_end():
    """Its contact is on the face's border all the way; where the sheet ends, it flies off."""
    made = draisine.simulate(torus(0.05), rolling(3.0), 1.5, terrain=_roof(0.0, 0.0))
    off = next(event for event in made.events if event.kind == "lift-off")
    assert off.t == pytest.approx(4.0 / 3.0, abs=1e-9)
    assert all(event.soft and abs(event.gain) < 1e-9 for event in made.events if event.t < off.t)


def test_a_shaking_tip_throws_a_torus_off():
    """As a shaking floor does: sin(w t) = g / (A w^2)."""
    A, w = 0.02, 40.0
    made = draisine.simulate(
        torus(0.05),
        dropped(0.0, Vz=A * w),
        0.06,
        terrain=Terrain([move_ground(TIP, Shake((0, 0, A), w))]),
    )
    assert made.events[0].t == pytest.approx(math.asin(G / (A * w * w)) / w, abs=1e-10)


def test_a_disc_that_comes_onto_a_tip_says_that_it_needs_a_crown():
    """It slides sideways along an edge, without friction, until the edge ends. A torus goes on over
    the tip, or flies off where v^2 > g c.
    """
    ground = Terrain(
        [
            edge("fin", (0, -1, 0), (0, 1, 0), (-1, 0, 0.1), (1, 0, 0.1), length=1.1),
            vertex("tip", (0, 0.1, 0), [(0, -1, 0)]),
        ]
    )
    with pytest.raises(TerrainError, match="comes onto 'tip'"):
        draisine.simulate(
            disc(),
            dropped(0.0, Vy=1.0),
            0.2,
            terrain=ground,
            contact=draisine.ContactOptions(mu=0.0, solver="events"),
        )
    limit = math.sqrt(G * 0.05)
    for speed, what in (
        (0.99 * limit, "hand-over ground:tip"),
        (1.01 * limit, "lift-off ground:fin"),
    ):
        made = draisine.simulate(
            torus(0.05),
            dropped(0.0, Vy=speed),
            0.101 / speed,
            terrain=ground,
            contact=draisine.ContactOptions(mu=0.0),
        )
        assert str(made.events[0]) == f"{0.1 / speed:.9f} s {what}"


def test_a_crown_of_zero_is_refused():
    with pytest.raises(TerrainError, match="leave the crown out"):
        draisine.simulate(torus(0.0), rolling(1.0), 0.1, terrain=kerb(1.0, 0.1))
