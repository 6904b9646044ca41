"""Impact models on machines small enough for closed forms, every component of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.errors import ContactSetError, ParameterError
from draisine.simulation.contact.complementarity.active_set import Candidate, ImpactProblem
from draisine.simulation.impacts import moreau, newton, plastic, poisson


def free(M):
    """Return a mass matrix and that no row holds always."""
    return M, np.zeros((0, len(M)))


MASS = 2.0
POINT = MASS * np.eye(3)
"""A point mass: the speeds are (normal, along, across) velocities of its one contact."""


def contact(mu=np.inf, C=None):
    return Candidate(
        ("foot", "ground"), np.eye(3) if C is None else C, np.zeros(3), np.zeros(3), mu
    )


@pytest.mark.parametrize(("normal", "tangential"), [(0.3, 0.7), (0.0, 1.0), (1.0, 0.2)])
def test_newton_returns_each_component_by_its_own_coefficient(normal, tangential):
    """C v+ = -E C v-: normal, along and across, and the impulses are M (v+ - v-)."""
    v = np.array([-1.5, 0.8, -0.6])
    chosen = newton.impact(
        ImpactProblem(*free(POINT), [contact()], v), normal=normal, tangential=tangential
    ).chosen
    expected = -np.array([normal, tangential, tangential]) * v
    assert_allclose(chosen.result, expected, rtol=0, atol=1e-14)
    assert_allclose(chosen.pushes["foot", "ground"], MASS * (expected - v), rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_newton_returns_each_component_on_a_coupled_machine(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 6))
    M, k, v = root @ root.T + np.eye(6), contact(C=rng.normal(size=(3, 6))), rng.normal(size=6)
    v = v if k.C[0] @ v < 0 else -v
    try:
        chosen = newton.impact(ImpactProblem(*free(M), [k], v), normal=0.5, tangential=0.25).chosen
    except ContactSetError:
        pytest.skip("this machine jams: the ground would have to pull")
    before = k.C @ v
    assert_allclose(k.C @ chosen.result, [-0.5, -0.25, -0.25] * before, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", [newton, plastic])
def test_ideal_models_refuse_friction_at_any_contact(model):
    ideal, rough = contact(), Candidate(("hand", "wall"), np.eye(3), np.zeros(3), np.zeros(3), 0.5)
    with pytest.raises(ParameterError, match="'moreau'"):
        model.impact(ImpactProblem(*free(POINT), [ideal, rough], np.array([-1.0, 0.0, 0.0])))


@pytest.mark.parametrize("model", [newton, moreau])
@pytest.mark.parametrize(("speed", "rebounds"), [(0.9, False), (1.1, True)])
def test_bounces_below_the_rest_speed_are_plastic(model, speed, rebounds):
    v = np.array([-speed, 0.0, 0.0])
    after = model.impact(
        ImpactProblem(*free(POINT), [contact()], v, rest_speed=1.0), normal=0.5
    ).chosen.result
    assert_allclose(after, [0.5 * speed if rebounds else 0.0, 0.0, 0.0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_moreau_slides_against_the_slip_by_mu_times_the_normal_impulse(e):
    """Steep friction is not enough to stop: LamT = mu LamN against the velocity, eq. [moreau]."""
    v, mu = np.array([-1.0, 3.0, -4.0]), 0.2
    chosen = moreau.impact(ImpactProblem(*free(POINT), [contact(mu)], v), normal=e).chosen
    push = (1.0 + e) * MASS * 1.0
    assert_allclose(
        chosen.pushes["foot", "ground"], [push, -0.6 * mu * push, 0.8 * mu * push], atol=1e-11
    )
    assert_allclose(chosen.result, v + chosen.pushes["foot", "ground"] / MASS, atol=1e-11)


def test_moreau_sticks_inside_the_cone():
    v = np.array([-1.0, 0.3, -0.4])
    chosen = moreau.impact(ImpactProblem(*free(POINT), [contact(0.6)], v), normal=0.0).chosen
    assert chosen.admissible
    assert_allclose(chosen.result, 0.0, atol=1e-12)
    assert_allclose(chosen.pushes["foot", "ground"], -MASS * v, atol=1e-12)


def test_plastic_is_moreau_with_infinite_friction_and_no_restitution():
    v = np.array([-1.0, 0.5, 2.0])
    one = plastic.impact(ImpactProblem(*free(POINT), [contact()], v)).chosen.result
    two = moreau.impact(ImpactProblem(*free(POINT), [contact()], v)).chosen.result
    assert_allclose(one, two, atol=1e-13)


@pytest.mark.parametrize("model", [moreau, poisson])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_an_impact_has_no_speed_of_its_own(model, scale, seed):
    """Laws of impact are homogeneous: two coupled contacts with friction answer a blow of any size by
    the same in its parts, to as many digits.
    """
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 6))
    M, v = root @ root.T + np.eye(6), rng.normal(size=6)
    feet = [
        Candidate((name, "ground"), rng.normal(size=(3, 6)), np.zeros(3), np.zeros(3), 0.6)
        for name in ("left", "right")
    ]
    v = v if feet[0].C[0] @ v < 0 else -v
    one, many = (
        model.impact(ImpactProblem(*free(M), feet, speed), normal=0.5).chosen.result
        for speed in (v, scale * v)
    )
    assert_allclose(many / scale, one, rtol=0, atol=1e-10)
    assert np.abs(one - v).max() > 0.1
