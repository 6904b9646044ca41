"""Laws of impact on random machines, and how contact sets are chosen."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ContactSetError, DraisineError, ModelError, ParameterError
from draisine.registry import names
from draisine.simulation.contact.complementarity.active_set import Candidate, ImpactProblem
from draisine.simulation.contact.complementarity.saddle_point import solve_constrained
from draisine.simulation.contact.run import EnergyWarning
from draisine.simulation.impacts import newton, plastic
from draisine.terrain import plane
from simulation.contact.conftest import PARAMETERS, bicycle, placed
from simulation.contact.test_disc import disc, dropped


def free(M):
    """Return a mass matrix and that no row holds always."""
    return M, np.zeros((0, len(M)))


def machine(rng, n=9):
    root = rng.normal(size=(n, n))
    return root @ root.T + np.eye(n)


def contact(rng, name, n=9):
    return Candidate((name, "ground"), rng.normal(size=(3, n)), np.zeros(3), np.zeros(3))


def test_the_folder_is_the_registry():
    assert {"moreau", "newton", "plastic"} <= set(names("impact"))


@pytest.mark.parametrize("seed", range(5))
def test_complete_and_reduced_resolutions_are_the_same(seed):
    """(3.17)-(3.24) and (3.25)-(3.30), any number of rows, with and without restitution."""
    rng = np.random.default_rng(seed)
    for m in (1, 3, 6, 8):
        M, C, v = machine(rng), rng.normal(size=(m, 9)), rng.normal(size=9)
        wanted = -rng.uniform(0, 1, m) * (C @ v)
        given = (M, np.zeros(9), C, wanted - C @ v)
        a, b = solve_constrained(*given, "complete"), solve_constrained(*given, "reduced")
        assert_allclose(a[0], b[0], atol=1e-11 * np.linalg.cond(M) ** 0.5)
        assert_allclose(a[1], b[1], atol=1e-11 * np.linalg.cond(M) * np.abs(a[1]).max())


def test_equal_restitution_keeps_energy_and_unequal_may_create_it():
    rng = np.random.default_rng(2)
    created = 0
    for _ in range(200):
        M, k, v = machine(rng), contact(rng, "w"), rng.normal(size=9)
        v = v if k.C[0] @ v < 0 else -v
        for e in (0.0, 0.4, 1.0):
            try:
                after = newton.impact(
                    ImpactProblem(*free(M), [k], v), normal=e, tangential=e
                ).chosen.result
            except ContactSetError:
                continue
            assert after @ M @ after <= v @ M @ v * (1 + 1e-12)
            if e == 1.0:
                assert after @ M @ after == pytest.approx(v @ M @ v, rel=1e-12)
        try:
            after = newton.impact(
                ImpactProblem(*free(M), [k], v), normal=1.0, tangential=-1.0
            ).chosen.result
        except ContactSetError:
            continue
        created += after @ M @ after > v @ M @ v * (1 + 1e-9)
    assert created > 20


def test_energy_that_an_impact_creates_is_warned_of_and_reported():
    state = placed((0.0, 0.0, 0.4), lean=0.3, V=(3.0, 0.0, -1.0))
    for seed in range(20):
        spin = np.random.default_rng(seed).normal(size=3) * 10
        spun = draisine.State(state.q, state.p, state.r, np.concatenate([state.v[:6], spin]))
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            made = draisine.simulate(
                bicycle(),
                spun,
                0.15,
                terrain=plane(),
                contact=draisine.ContactOptions(
                    impact="newton", restitution={"normal": 1.0, "tangential": -1.0}
                ),
            )
        gains = [event.gain for event in made.events if event.gain > 1e-9 * event.energy_before]
        assert len(gains) == len([w for w in warned if issubclass(w.category, EnergyWarning)])
        if gains:
            return
    pytest.fail("no impact created energy")


def test_friction_with_restitution_can_create_energy_and_says_how_much():
    """Moreau's law with e > 0: a wheel that sticks while it bounces may gain (Kane's paradox)."""
    state = placed(
        (0.0, 0.0, PARAMETERS["rR"] + 0.35),
        lean=-0.4,
        pitch=0.1,
        V=(1.5, 3.2, -2.3),
        W=(0.8, -3.3, 1.8),
        rates=(-6.6, -2.5, 1.0),
    )
    contact = draisine.ContactOptions(impact="moreau", restitution={"normal": 0.9}, mu=1.0)
    with pytest.warns(EnergyWarning, match="creates"):
        made = draisine.simulate(bicycle(), state, 0.15, terrain=plane(), contact=contact)
    hit = max((event for event in made.events if event.impulses), key=lambda event: event.gain)
    at = hit.before
    M = bicycle().machine().free(q=at.q, p=at.p, r=at.r, v=at.v)["M"].reshape(9, 9)
    gained = 0.5 * (hit.after.v @ M @ hit.after.v - at.v @ M @ at.v)
    assert hit.gain > 1.0
    assert hit.gain == pytest.approx(gained, rel=1e-9)


def test_released_contacts_must_separate():
    """A contact may be released only if it then moves away: every trial says so."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        M, v = machine(rng), rng.normal(size=9)
        contacts = [contact(rng, name) for name in ("a", "b")]
        try:
            choice = plastic.impact(ImpactProblem(*free(M), contacts, v))
        except ContactSetError:
            continue
        assert all(push[0] >= -1e-9 for push in choice.chosen.pushes.values())
        assert all(away >= -1e-9 for away in choice.chosen.separations.values())
        assert choice.trials[0].closed == (("a", "ground"), ("b", "ground"))


def test_prescribed_joints_keep_their_speed_through_an_impact():
    rng = np.random.default_rng(6)
    M, k, v = machine(rng), contact(rng, "w"), rng.normal(size=9)
    v = v if k.C[0] @ v < 0 else -v
    after = plastic.impact(ImpactProblem(M, np.eye(9)[[7]], [k], v)).chosen.result
    assert after[7] == pytest.approx(v[7], abs=1e-13)
    assert_allclose(k.C @ after, 0.0, atol=1e-12)


@pytest.mark.parametrize("e", [{"normal": 1.5}, {"tangential": -2.0}])
def test_impossible_restitution_is_an_error(e):
    with pytest.raises(ParameterError, match="restitution"):
        draisine.simulate(
            disc(),
            dropped(0.1),
            0.5,
            terrain=plane(),
            contact=draisine.ContactOptions(impact="newton", restitution=e),
        )


def test_unknown_wheels_and_times_are_errors():
    with pytest.raises(ParameterError, match="no wheel"):
        draisine.simulate(
            disc(),
            dropped(0.1),
            0.5,
            terrain=plane(),
            contact=draisine.ContactOptions(mu={"rear": 0.5}),
        )
    with pytest.raises(ParameterError, match="must be after the start"):
        draisine.simulate(disc(), dropped(0.1), 0.0, terrain=plane())
    with pytest.raises(ParameterError, match="not negative"):
        draisine.simulate(
            disc(), dropped(0.1), 0.5, terrain=plane(), contact=draisine.ContactOptions(mu=-1.0)
        )


def test_laws_that_cannot_be_traced_say_so():
    def reckless(readings, z):
        return {"steer": 1.0 if float(readings.lean) > 0 else -1.0}, ()

    def mistaken(readings, z):
        return {"stear": 1.0}, ()

    state = placed((0.0, 0.0, 1.0))
    with pytest.raises(DraisineError, match="traceable"):
        draisine.simulate(bicycle(), state, 0.1, terrain=plane(), law=reckless)
    with pytest.raises(ModelError, match="steer"):
        draisine.simulate(bicycle(), state, 0.1, terrain=plane(), law=mistaken)
