"""Obstacles that move: the same physics seen from the obstacle."""

import math

import numpy as np
import pytest

import draisine
from draisine.algebra.lie import rot_z
from draisine.algebra.scalar import array, cos, sin
from draisine.codegen.program import run_program
from draisine.control import Step, TimeInputs
from draisine.errors import TerrainError
from draisine.simulation.contact.query import ContactQuery
from draisine.system.contact_programs import trace_motion
from draisine.system.generic import make_generic
from draisine.terrain import Joined, Mesh, Terrain, height_field, kerb, move_ground, plane
from draisine.terrain.motions import Shake, Slide, Turn
from simulation.contact.conftest import bicycle, on_the_flat
from simulation.contact.test_disc import G, H, disc, dropped


def carried(terrain, motion):
    return Terrain([move_ground(feature, motion) for feature in terrain.features])


def plate(x=(-40.0, 40.0), y=(-5.0, 5.0)):
    """Return a flat mesh, two triangles."""
    return height_field(x, y, np.zeros((2, 2)))


def test_a_treadmill_is_a_road_seen_from_the_bicycle():
    """Brake and drive lift-offs, and a kerb, at the same times with the same impulses."""
    law = TimeInputs((Step("front_wheel", -500.0, 0.1, 0.13),))
    for ground in (plane(), kerb(2.2, -0.05)):
        state = on_the_flat(4.6, Vy=0.15, W=(-0.5, 0.0, 0.0))
        fixed = draisine.simulate(bicycle(), state, 0.8, terrain=ground, law=law)
        shift = np.zeros(9)
        shift[0] = 4.6
        seen = draisine.State(state.q, state.p, state.r, state.v - shift)
        belt = carried(ground, Slide((-4.6, 0.0, 0.0)))
        moved = draisine.simulate(bicycle(), seen, 0.8, terrain=belt, law=law)
        assert [str(e) for e in moved.events] == [str(e) for e in fixed.events]
        for a, b in zip(moved.events, fixed.events, strict=True):
            assert a.t == pytest.approx(b.t, abs=1e-10)
            for key, push in a.impulses.items():
                assert push == pytest.approx(b.impulses[key], abs=1e-7)
        x = moved.final().p[0] - (fixed.final().p[0] - 4.6 * 0.8)
        assert x == pytest.approx(0.0, abs=1e-9)


def test_motions_that_differ_in_numbers_alone_share_their_programs():
    def swing(t):
        return rot_z(0.3 * sin(2.5 * t)), array([0.7, t * t, 0.2 * cos(1.5 * t)])

    for motion in (
        Slide((-4.6, 0.0, 1.0)),
        Shake((0.0, 0.1, 0.02), 40.0),
        Turn(1.5, (2.0, 3.0)),
        swing,
    ):
        form, numbers = trace_motion(motion)
        for t in (0.0, 0.37, 5.0):
            told = run_program(form, t=np.array([t]), numbers=np.array(numbers))
            R, p = motion(t)
            assert told["R"].reshape(3, 3) == pytest.approx(np.asarray(R, float), abs=1e-15)
            assert told["p"] == pytest.approx(np.asarray(p, float), abs=1e-15)
    one, two = (
        make_generic(bicycle(), None, (Shake((0.0, 0.0, A), w),)) for A, w in [(0.1, 9), (0.2, 7)]
    )
    assert one.programs is two.programs and sorted(two.ground) == [0.2, 7.0]


def test_a_shaking_floor_throws_a_disc_off():
    """It lifts off softly when the floor falls faster than g: sin(w t) = g / (A w^2)."""
    A, w = 0.02, 40.0
    floor = carried(plane(), Shake((0.0, 0.0, A), w))
    made = draisine.simulate(disc(), dropped(0.0, Vz=A * w), 0.06, terrain=floor)
    off = made.events[0]
    assert off.kind == "lift-off" and off.soft
    assert off.t == pytest.approx(math.asin(G / (A * w * w)) / w, abs=1e-10)
    before = made.arcs[0].observations
    t = made.arcs[0].t[:-1]
    assert before["forces"][0, :-1] == pytest.approx(G - A * w * w * np.sin(w * t), abs=1e-8)


def test_a_rising_floor_hits_with_its_own_speed():
    """Newton's law holds for the relative velocity: v+ = u + e (u - v-)."""
    floor = carried(plane(), Slide((0.0, 0.0, 0.5)))
    made = draisine.simulate(
        disc(),
        dropped(0.2),
        0.2,
        terrain=floor,
        contact=draisine.ContactOptions(
            impact="newton", restitution={"normal": 0.6, "tangential": 0.6}
        ),
    )
    hit = made.events[0]
    # 0.2 - g t^2 / 2 = 0.5 t
    assert hit.t == pytest.approx((math.sqrt(0.25 + 2 * G * 0.2) - 0.5) / G, abs=1e-11)
    assert hit.after.v[2] == pytest.approx(0.5 + 0.6 * (0.5 - hit.before.v[2]), abs=1e-10)


def test_a_disc_on_a_turntable_is_carried_by_it():
    table = carried(plane(), Turn(1.5))
    state = dropped(0.0)
    start = draisine.State(state.q, np.array([0.8, 0.0, 0.0]), state.r, state.v)
    # the table's point under the disc moves to the left at 1.2 m/s
    speeds = np.array([0.0, 1.2, 0.0, 0.0, 0.0, 0.0])
    made = draisine.simulate(
        disc(), draisine.State(start.q, start.p, start.r, speeds), 0.3, terrain=table
    )
    look = ContactQuery(made.arcs[0].machine, table, np.zeros(0))
    for t, y in zip(made.arcs[0].t, made.arcs[0].y, strict=True):
        ((contact, *_),) = made.arcs[0].closed
        row = look.evaluate_rows(t, y, [contact])[0]
        gliding = look.jacobian(row) @ look.speeds(y) - look.ground_velocity(row)
        assert np.abs(gliding).max() < 1e-8
        x, y_ = row[look.row.point][:2]
        world = look.axes(row).T @ look.ground_velocity(row)
        assert world == pytest.approx([-1.5 * y_, 1.5 * x, 0.0], abs=1e-9)
    assert made.final().p[2] < H


def test_a_shaking_mesh_throws_a_disc_off_as_a_plane_does():
    A, w = 0.02, 40.0
    floor = move_ground(plate(), Shake((0.0, 0.0, A), w))
    made = draisine.simulate(disc(), dropped(0.0, Vz=A * w), 0.2, terrain=floor)
    assert made.events[0].t == pytest.approx(math.asin(G / (A * w * w)) / w, abs=1e-10)
    same = draisine.simulate(
        disc(), dropped(0.0, Vz=A * w), 0.2, terrain=carried(plane(), Shake((0.0, 0.0, A), w))
    )
    assert [e.t for e in made.events] == pytest.approx([e.t for e in same.events], abs=1e-10)
    assert made.final().v == pytest.approx(same.final().v, abs=1e-9)


def test_an_accelerating_belt_drags_a_disc_at_a_third_of_its_acceleration():
    """A disc on a belt with the speed u(t): x'' = u' / 3, forward; it spins backward."""
    A, w = 0.3, 2.0
    belt = move_ground(plate(), Shake((A, 0.0, 0.0), w))
    start = dropped(0.0, Vx=A * w)
    # the contact point moves with the belt, the centre does not: w0 = -u / h
    v = start.v.copy()
    v[4] = -A * w / H
    v[0] = A * w
    made = draisine.simulate(
        disc(), draisine.State(start.q, start.p, start.r, v), 1.2, terrain=belt
    )
    end = made.final()
    centre = end.p + np.array(draisine.algebra.lie.rotation(end.q)) @ [0.0, 0.0, H]
    # u = A w cos w t, the centre starts at rest: x = (A sin w t - A w t) / 3
    t = 1.2
    assert not made.events
    assert centre[0] == pytest.approx((A * math.sin(w * t) - A * w * t) / 3, abs=1e-9)


def test_a_mesh_that_comes_from_afar_is_met_in_time():
    """A ramp drives under the disc at 5 m/s; the same as the disc that meets it at rest."""
    bump = Mesh(
        [[0, -1, 0], [0, 1, 0], [1, -1, 0.1], [1, 1, 0.1], [9, -1, 0.1], [9, 1, 0.1]],
        [[0, 2, 3], [0, 3, 1], [2, 4, 5], [2, 5, 3]],
    )
    here = Joined(plane(), bump)
    state = dropped(0.0)
    rolling = draisine.State(
        state.q, np.array([-3.0, 0.0, 0.0]), state.r, np.array([0, 0, 0, 0, 5.0 / H, 0.0])
    )
    fixed = draisine.simulate(disc(), rolling, 0.9, terrain=here)
    belt = Slide((-5.0, 0.0, 0.0))
    seen = draisine.State(rolling.q, rolling.p, rolling.r, rolling.v - np.array([5.0, *5 * [0.0]]))
    moved = draisine.simulate(disc(), seen, 0.9, terrain=move_ground(Joined(plane(), bump), belt))
    also = draisine.simulate(
        disc(), seen, 0.9, terrain=Joined(move_ground(plane(), belt), move_ground(bump, belt))
    )
    assert fixed.events
    for made in (moved, also):
        assert [str(e) for e in made.events] == [str(e) for e in fixed.events]
        assert [e.t for e in made.events] == pytest.approx([e.t for e in fixed.events], abs=1e-10)
        assert made.final().p[2] == pytest.approx(fixed.final().p[2], abs=1e-9)


def test_what_moves_already_is_not_moved_again():
    with pytest.raises(TerrainError, match="already"):
        move_ground(move_ground(plane(), Turn(1.0)), Turn(1.0))
    with pytest.raises(TerrainError, match="cannot be moved"):
        move_ground("a train", Turn(1.0))
