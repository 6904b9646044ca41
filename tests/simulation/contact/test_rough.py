"""Meshes give the same motion as planes, and rough ground keeps the laws."""

import importlib.util
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import draisine
from draisine.errors import DraisineError
from draisine.simulation.contact.nearby.ground import MAX_REGION_FEATURES
from draisine.terrain import Mesh, height_field, plane
from simulation.contact.conftest import PARAMETERS, bicycle, on_the_flat, on_the_ramp
from simulation.contact.references import EVENTS


def _strip(profile):
    """Return a mesh straight across y from (x, z) of its profile, forward."""
    points = [[x, y, z] for x, z in profile for y in (-5.0, 5.0)]
    triangles = []
    for k in range(0, 2 * len(profile) - 2, 2):
        triangles += [[k, k + 2, k + 3], [k, k + 3, k + 1]]
    return Mesh(points, triangles)


def test_ramp_as_a_mesh_gives_the_events_of_the_ramp():
    slope = math.tan(math.radians(10))
    ground = _strip([(-20.0, -20.0 * slope), (0.0, 0.0), (0.0, -0.5), (30.0, -0.5)])
    made = draisine.simulate(bicycle(), on_the_ramp(), 1.5, terrain=ground)
    wanted = EVENTS["test2_ramp"]
    assert [event.kind for event in made.events] == [kind for _, kind, _, _ in wanted]
    for event, (t, _, impulses, energy) in zip(made.events, wanted, strict=True):
        assert event.t == pytest.approx(t, abs=1e-9)
        assert event.energy_after == pytest.approx(energy, abs=1e-6)
        assert sorted(p[0] for p in event.impulses.values()) == pytest.approx(
            sorted(impulses.values()), rel=1e-7
        )


def test_flat_mesh_has_no_ghost_contacts():
    x, y = np.linspace(-2.0, 30.0, 65), np.linspace(-4.0, 4.0, 17)
    ground = height_field(x, y, np.zeros((65, 17)))
    state = on_the_flat(4.6, Vy=0.15, W=(-0.5, 0.0, 0.0))
    on_mesh = draisine.simulate(bicycle(), state, 2.0, terrain=ground)
    on_plane = draisine.simulate(bicycle(), state, 2.0, terrain=plane())
    assert not on_mesh.events
    assert on_mesh.final().v == pytest.approx(on_plane.final().v, abs=1e-10)


@pytest.mark.parametrize("slope", [0.0, -0.05, 0.05])
def test_a_vertex_on_an_edge_of_a_mesh_changes_no_motion(slope):
    """T-junctions: triangles behind the crease share a vertex that is none of the triangles before it."""
    x, end = [-3.0, 2.0, 9.0], 7.0 * slope
    corners = [
        [x[0], -3, 0],
        [x[1], -3, 0],
        [x[1], 3, 0],
        [x[0], 3, 0],
        [x[2], -3, end],
        [x[2], 3, end],
    ]
    before = [[0, 1, 2], [0, 2, 3]]
    joined = Mesh(corners, [*before, [1, 4, 5], [1, 5, 2]])
    parted = Mesh([*corners, [x[1], 0.3, 0]], [*before, [1, 4, 6], [4, 5, 6], [6, 5, 2]])
    whole = bicycle()
    start = draisine.state(whole, forward_speed=1.0, x=0.2)
    runs = [draisine.simulate(whole, start, 1.5, terrain=mesh) for mesh in (joined, parted)]
    assert [run.outcome for run in runs] == ["completed"] * 2
    assert runs[1].final().p == pytest.approx(runs[0].final().p, abs=1e-5)


def test_triangles_of_a_hollow_flat_patch_hand_over_without_a_jump():
    x, y = np.linspace(-2.0, 12.0, 8), np.linspace(-4.0, 4.0, 5)
    z = np.zeros((8, 5))
    z[7, 4] = 1.0  # a hill far aside makes the flat part hollow
    ground = height_field(x, y, z)
    state = on_the_flat(4.6, Vy=0.15, W=(-0.5, 0.0, 0.0))
    made = draisine.simulate(bicycle(), state, 1.0, terrain=ground)
    assert {event.kind for event in made.events} == {"hand-over"}
    assert all(event.soft and abs(event.gain) < 1e-9 for event in made.events)
    smooth = draisine.simulate(bicycle(), state, 1.0, terrain=plane())
    assert made.final().v == pytest.approx(smooth.final().v, abs=1e-9)


def test_kerb_up_stops_nothing_that_is_fast_enough():
    ground = _strip([(-5.0, 0.0), (3.0, 0.0), (3.0, 0.05), (30.0, 0.05)])
    made = draisine.simulate(bicycle(), on_the_flat(4.0), 1.5, terrain=ground)
    assert made.outcome == "completed"
    hits = [event for event in made.events if event.kind == "collision"]
    assert hits[0].contacts[0][0] == "front" and hits[0].contacts[0][1].startswith("edge")
    assert all(event.gain < 0 for event in hits)
    assert made.arcs[-1].observations["gaps"][:, -1] == pytest.approx(0.0, abs=1e-9)
    height = made.arcs[-1].observations["points"].reshape(2, 3, -1)[:, 2, -1]
    assert height == pytest.approx(0.05, abs=1e-9)


@cache
def tyres():
    return draisine.compile("whipple", **(PARAMETERS | {"crown": 0.02}))


@pytest.mark.parametrize("wheels", [bicycle, tyres])
@pytest.mark.parametrize("seed", range(4))
def test_rough_ground_keeps_the_laws(seed, wheels):
    rng = np.random.default_rng(seed)
    x, y = np.linspace(-2, 12, 29), np.linspace(-4, 4, 17)
    z = rng.uniform(0.005, 0.03) * rng.normal(size=(29, 17))
    ground = height_field(x, y, np.where(x[:, None] < 2.0, 0.0, z))
    try:
        made = draisine.simulate(
            wheels(),
            on_the_flat(rng.uniform(2, 6)),
            1.0,
            terrain=ground,
            contact=draisine.ContactOptions(mu=0.9, impact="moreau"),
        )
    except DraisineError as error:
        made = error.partial
    energies = []
    for arc in made.arcs:
        assert arc.observations["gaps"].min() > -1e-9
        assert arc.observations["forces"].reshape(2, 3, -1)[:, 0].min() > -1e-6
        energies.append((arc.observations["kinetic"] + arc.observations["potential"])[0])
    E = np.concatenate(energies)
    assert np.diff(E).max() < 1e-8 * E.max()


def test_what_is_watched_does_not_grow_with_the_ground(monkeypatch):
    """Waves of a millimetre in triangles of a decimetre and of a centimetre: a first step loads some
    thousand features of 80,000 at most, and a margin that is smaller from the beginning leads to the
    same states.
    """
    made, pick = {}, Mesh.pick

    def count(ground, ks):
        made[n] = made.get(n, 0) + len(ks)
        return pick(ground, ks)

    monkeypatch.setattr(Mesh, "pick", count)
    for n in (31, 201):
        x = np.linspace(-1.5, 1.5, n)
        ground = height_field(x, x, 1e-3 * np.cos(40.0 * x[:, None]) * np.cos(30.0 * x))
        start = on_the_flat(2.0)
        start = draisine.State(start.q, start.p + [0.0, 0.0, 2e-3], start.r, start.v)
        draisine.simulate(bicycle(), start, 1e-4, terrain=ground)
    assert max(made.values()) <= MAX_REGION_FEATURES
    friction = {"mu": 0.9, "impact": "moreau"}
    ends = [
        draisine.simulate(
            bicycle(),
            start,
            0.01,
            terrain=ground,
            contact=draisine.ContactOptions(margin=margin, **friction),
        ).final()
        for margin in (0.5, 0.004)
    ]
    assert ends[0].p == pytest.approx(ends[1].p, abs=1e-9)
    assert ends[0].v == pytest.approx(ends[1].v, abs=1e-7)


@cache
def torus():
    return draisine.compile("rolling_disc", crown=0.02)


def test_a_torus_rolls_on_a_mesh_as_on_a_plane():
    start = draisine.state(torus(), lean=0.1, spin=6.0)
    made = draisine.simulate(torus(), start, 0.5, terrain=plane())
    mesh = draisine.simulate(
        torus(), start, 0.5, terrain=_strip([(-1.0, 0.0), (8.0, 0.0), (9.0, -1.0)])
    )
    assert not made.events and not mesh.events
    assert mesh.final().v == pytest.approx(made.final().v, abs=1e-10)


@pytest.mark.parametrize(
    ("kind", "seed", "until"),
    [
        ("rough", 6, 2),
        ("rough", 109, 2),
        ("rough", 374, 1),
        ("steps", 92, 1),
        ("steps", 267, 1),
        ("steps", 315, 1),
        ("steps", 622, 1),
    ],
)
def test_a_piece_of_the_campaign_keeps_its_bounds(kind, seed, until, capsys):
    """Gaps by points of the rims, forces and energies of every state kept: 6 leaves an edge between
    faces that are all but level, 109 slips where its front wheel all but locks, 374 comes to rest
    after impacts of both wheels by turns, 92 locks where no force is bounded, 267 is caught between a
    face and an edge by forces along their chord, 315 slides along a wall until both of its contacts
    are one, 622 slides on a face and an edge that only hold together.
    """
    path = Path(__file__).parents[3] / "bench" / "rough_ground.py"
    spec = importlib.util.spec_from_file_location("rough_ground", path)
    campaign = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(campaign)
    one = ["--runs", "1", "--first", str(seed), "--until", str(until)]
    assert campaign.main([kind, *one]) == 0
    assert "least rim" in capsys.readouterr().out
