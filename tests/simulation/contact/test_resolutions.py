"""Complete and reduced resolution of every impact of whole runs: the same to 1e-11."""

import math
from dataclasses import replace

import numpy as np
import pytest

import draisine
from draisine.errors import DraisineError
from draisine.simulation.contact.complementarity.linear import REDUNDANT_ROW_DISTANCE
from draisine.simulation.contact.event_driven.impact import ImpactSolver
from draisine.simulation.impacts import moreau, newton, plastic
from draisine.terrain import corner, height_field
from simulation.contact.conftest import RUNS, bicycle, on_the_flat
from simulation.contact.test_disc import disc, rolling
from simulation.contact.test_rough import _strip

TOLERANCE = 1e-11


def kerb_up():
    ground = _strip([(-5.0, 0.0), (3.0, 0.0), (3.0, 0.05), (30.0, 0.05)])
    return bicycle(), ground, on_the_flat(4.0), 1.5, {}


def into_a_corner():
    """A disc rolls into a corner of 60 degrees and touches both faces at once."""
    return disc(), corner(math.radians(60), at=1.0), rolling(2.0), 0.6, {}


def rough(seed):
    rng = np.random.default_rng(seed)
    x, y = np.linspace(-2, 12, 29), np.linspace(-4, 4, 17)
    z = np.where(x[:, None] < 2.0, 0.0, 0.01 * rng.normal(size=(29, 17)))
    return bicycle(), height_field(x, y, z), on_the_flat(4.0), 1.0, {}


IMPACTS = [name for name in RUNS if not name.startswith("wheelie")]  # those have none
CASES = {name: lambda name=name: (bicycle(), *RUNS[name]()) for name in IMPACTS}
CASES |= {"kerb_up": kerb_up, "corner": into_a_corner}
CASES |= {f"rough_{seed}": lambda seed=seed: rough(seed) for seed in range(3)}


@pytest.mark.parametrize("name", CASES)
def test_complete_and_reduced_resolution_agree_in_every_trial_of_every_impact(monkeypatch, name):
    """Speeds relative to those before the impact, impulses, where they are unique, as a whole relative
    to the momenta; those of single contacts, where two of one wheel all but repeat each other, as far
    as their rows tell them apart (the least singular value).
    """
    solve_impact, seen = plastic.solve_impact, []

    def both(given, restitution):
        ways = [replace(given, resolution=way) for way in ("complete", "reduced")]
        a, b = (solve_impact(way, restitution) for way in ways)
        v, momentum = given.v, np.abs(given.M @ given.v).max()
        rows = {k.key: k.C for k in given.contacts}
        for one, other in zip(a.trials, b.trials, strict=True):
            assert one.closed == other.closed
            assert one.admissible == other.admissible
            assert np.abs(one.result - other.result).max() <= TOLERANCE * np.abs(v).max()
            C = np.vstack([rows[key] for key in one.closed] or [np.zeros((0, len(v)))])
            s = np.linalg.svd(C, compute_uv=False)
            if (
                0 < len(C) <= len(v) and s[-1] > REDUNDANT_ROW_DISTANCE * s[0]
            ):  # else they are not unique
                apart = np.concatenate([one.pushes[k] - other.pushes[k] for k in one.closed])
                assert np.abs(C.T @ apart).max() <= TOLERANCE * momentum
                assert np.abs(apart).max() <= TOLERANCE * momentum / min(1.0, s[-1])
            seen.append(len(one.closed))
        return a

    for model in (newton, plastic):
        monkeypatch.setattr(model, "solve_impact", both)
        monkeypatch.setattr(model.impact, "solver", ImpactSolver.PYTHON)
    system, terrain, state, until, options = CASES[name]()
    try:
        draisine.simulate(system, state, until, terrain=terrain, **options)
    except DraisineError:
        assert name.startswith("rough")  # ideal wheels may need adhesion there
    assert len(seen) >= 2


FRICTION = {
    "contact": draisine.ContactOptions(mu=0.6, impact="moreau", restitution={"normal": 0.3})
}


@pytest.mark.parametrize("options", [None, FRICTION], ids=["sets", "friction"])
@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("rough")])
def test_routines_strike_as_the_impact_models_do(monkeypatch, name, options):
    """All events are at the same times, with the same impulses after the same trials; on rough ground
    bounces without end between two faces would let rounding grow.
    """
    system, terrain, state, until, own = CASES[name]()

    def ride():
        try:
            return draisine.simulate(system, state, until, terrain=terrain, **(options or own))
        except DraisineError as error:
            return error.partial

    by_routines = ride()
    for model in (newton, plastic, moreau):
        monkeypatch.setattr(model.impact, "solver", ImpactSolver.PYTHON)
    by_models = ride()
    assert len(by_routines.events) == len(by_models.events)
    for one, other in zip(by_routines.events, by_models.events, strict=True):
        assert (one.kind, one.mode_after) == (other.kind, other.mode_after)
        assert one.t == pytest.approx(other.t, abs=1e-10)
        assert one.impulses.keys() == other.impulses.keys()
        assert [t.closed for t in one.trials] == [t.closed for t in other.trials]
        for key, push in one.impulses.items():
            assert push == pytest.approx(other.impulses[key], rel=1e-7, abs=1e-7)
