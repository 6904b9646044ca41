"""Impact models of the literature: closed forms for single contacts, and no energy from nowhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from draisine.errors import ParameterError
from draisine.simulation.contact.complementarity.active_set import Candidate, ImpactProblem
from draisine.simulation.impacts import brach, keller, moreau, newton, poisson, stronge


def free(M):
    """Return a mass matrix and that no row holds always."""
    return M, np.zeros((0, len(M)))


MODELS = [brach, keller, poisson, stronge]
IDS = [model.__name__.rpartition(".")[2] for model in MODELS]
every = pytest.mark.parametrize("model", MODELS, ids=IDS)


def contact(C, mu, name="tip"):
    return Candidate((name, "ground"), np.asarray(C, float), np.zeros(3), np.zeros(3), mu)


def rod(angle, mu):
    """Return mass matrix and contact of a rod of mass 1 and half length 1 whose lower end touches
    the ground, at an angle from the upright; speeds (x, z, turning), inertia 1/3.
    """
    s, c = np.sin(angle), np.cos(angle)
    rows = [[0.0, 1.0, s], [1.0, 0.0, -c], [0.0, 0.0, 0.0]]
    return np.diag([1.0, 1.0, 1.0 / 3.0]), contact(rows, mu)


def energy(M, v):
    return 0.5 * v @ M @ v


def random_machine(rng, count=1, n=7):
    root = rng.normal(size=(n, n))
    contacts = [
        contact(rng.normal(size=(3, n)), rng.uniform(0, 1.5), f"k{i}") for i in range(count)
    ]
    return root @ root.T + 0.2 * np.eye(n), contacts, rng.normal(size=n)


@every
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_ball_that_falls_straight_returns_by_its_coefficient(model, e):
    """Without friction or coupling all definitions of restitution are one."""
    v = np.array([-2.0, 0.3, -0.1])
    after = model.impact(
        ImpactProblem(*free(1.5 * np.eye(3)), [contact(np.eye(3), 0.0)], v), normal=e
    ).chosen
    assert_allclose(after.result, [2.0 * e, 0.3, -0.1], rtol=0, atol=1e-11)


@every
def test_a_slow_slip_in_any_direction_is_stopped(model):
    """Without coupling, friction of less than mu takes along and across: the three directions of an
    impact know nothing of each other.
    """
    v, e = np.array([-2.0, 0.3, -0.1]), 0.5
    M = np.diag([1.5, 1.2, 0.8])
    after = model.impact(ImpactProblem(*free(M), [contact(np.eye(3), 3.0)], v), normal=e).chosen
    assert_allclose(after.result, [2.0 * e, 0.0, 0.0], rtol=0, atol=1e-11)
    [push] = after.pushes.values()
    assert_allclose(push, M @ (after.result - v), rtol=0, atol=1e-11)


def test_contacts_that_strike_in_turn_come_to_rest_in_a_wedge():
    """Walls that nearly face each other, one of which nothing approaches at first: each strike leaves
    0.97 of the speed against the other, and below 1e-12 of it there is none.
    """
    walls = [np.array([[x, 0.125], [0, 0], [0, 0]]) for x in (1.0, -1.0)]
    v = np.array([-0.125, -1.0])
    struck = [contact(C, 0.0, name) for C, name in zip(walls, "ab", strict=True)]
    after = keller.impact(ImpactProblem(*free(np.eye(2)), struck, v)).chosen.result
    assert_allclose([C[0] @ after for C in walls], 0.0, atol=1e-11)


@every
def test_slip_in_one_direction_makes_all_models_equal_to_newtons(model):
    """A fast slip never stops: impulses (1, -mu) P with P by the normal velocity alone, eq. [impact]."""
    e, mu = 0.6, 0.2
    M, k = rod(0.4, mu)
    v = np.array([5.0, -1.0, 0.0])
    W = k.C @ np.linalg.solve(M, k.C.T)
    P = (1 + e) * 1.0 / (W[0, 0] - mu * W[0, 1])
    after = v + np.linalg.solve(M, k.C.T) @ [P, -mu * P, 0.0]
    found = model.impact(ImpactProblem(*free(M), [k], v), normal=e).chosen
    assert_allclose(found.result, after, rtol=0, atol=1e-10)


@pytest.mark.parametrize("model", [keller, stronge], ids=["keller", "stronge"])
def test_slip_that_stops_in_the_compression(model):
    """The rod's tip stops and holds: two straight pieces in P, written out by hand."""
    e, mu = 0.5, 1.2
    M, k = rod(0.5, mu)
    v = np.array([0.4, -1.0, 0.0])
    W = (k.C @ np.linalg.solve(M, k.C.T))[:2, :2]
    slide = W @ [1.0, -mu]
    stop = 0.4 / -slide[1]
    at = -1.0 + slide[0] * stop
    assert at < 0  # still compressing when the slip ends
    held = -W[1, 0] / W[1, 1]
    assert abs(held) < mu
    k2 = W[0, 0] + W[0, 1] * held
    squeezed = stop - at / k2
    work = -1.0 * stop + 0.5 * slide[0] * stop**2 - 0.5 * at**2 / k2
    if model is keller:
        P = (1 + e) * squeezed
    else:
        P = squeezed + e * np.sqrt(-2.0 * work / k2)
    friction = -mu * stop + held * (P - stop)
    found = model.impact(ImpactProblem(*free(M), [k], v), normal=e).chosen.pushes["tip", "ground"]
    assert_allclose(found, [P, friction, 0.0], rtol=0, atol=1e-10)


def test_swerving_slip_obeys_its_equation():
    """In space slip turns on the way: against a plain integration in the normal impulse."""
    W, mu, e = np.array([[1.0, 0.3, -0.4], [0.3, 3.0, 0.5], [-0.4, 0.5, 0.6]]), 0.8, 0.4
    u = np.array([-1.0, 4.0, -3.0])

    def rate(P, x):
        return np.array([*(W @ [1.0, *(-mu * x[1:3] / np.hypot(*x[1:3]))]), x[0]])

    def turned(P, x):
        return x[0]

    turned.terminal = True
    first = solve_ivp(rate, (0, 50), [*u, 0.0], events=turned, rtol=1e-11, atol=1e-12)
    P = first.t[-1] * (1 + e)
    last = solve_ivp(rate, (0, P), [*u, 0.0], rtol=1e-11, atol=1e-12).y[:3, -1]
    k = contact(np.eye(3), mu)
    found = keller.impact(ImpactProblem(*free(np.linalg.inv(W)), [k], u), normal=e).chosen
    assert_allclose(found.result, last, rtol=0, atol=1e-8)
    assert abs(u[1] * last[2] - u[2] * last[1]) > 0.05  # it really turned


@every
@pytest.mark.parametrize("seed", range(25))
def test_no_impact_on_one_contact_creates_energy(model, seed):
    rng = np.random.default_rng(seed)
    M, (k,), v = random_machine(rng)
    v = v if k.C[0] @ v < 0 else -v
    for e in (0.0, 0.5, 1.0):
        after = model.impact(ImpactProblem(*free(M), [k], v), normal=e).chosen
        assert energy(M, after.result) <= energy(M, v) * (1 + 1e-9)
        assert k.C[0] @ after.result >= -1e-10
        push = after.pushes[k.key]
        assert np.linalg.norm(push[1:]) <= k.mu * push[0] * (1 + 1e-9)
        assert_allclose(M @ (after.result - v), k.C.T @ push, rtol=0, atol=1e-9)


def test_newtons_model_creates_energy_where_stronges_does_not():
    """Kane's paradox: a rod that slips back gains energy by Newton's coefficient with friction."""
    M, k = rod(0.7, 0.5)
    v = np.array([0.2, -1.0, 0.0])
    W = (k.C @ np.linalg.solve(M, k.C.T))[:2, :2]
    P = 2.0 / (W[0, 0] - 0.5 * W[0, 1])
    naive = v + np.linalg.solve(M, k.C.T) @ [P, -0.5 * P, 0.0]
    assert energy(M, naive) > energy(M, v)  # Coulomb in the first direction, e = 1
    after = stronge.impact(ImpactProblem(*free(M), [k], v), normal=1.0).chosen.result
    assert energy(M, after) <= energy(M, v) * (1 + 1e-12)


@every
@pytest.mark.parametrize("seed", range(6))
def test_several_contacts_part_and_create_nothing(model, seed):
    rng = np.random.default_rng(100 + seed)
    M, contacts, v = random_machine(rng, count=2)
    found = model.impact(ImpactProblem(*free(M), contacts, v), normal=0.5).chosen
    assert all(k.C[0] @ found.result >= -1e-8 for k in contacts)
    if model is not poisson:  # all at once, it may
        assert energy(M, found.result) <= energy(M, v) * (1 + 1e-9)


@every
def test_prescribed_joints_keep_their_speed(model):
    rng = np.random.default_rng(3)
    M, (k,), v = random_machine(rng)
    v = v if k.C[0] @ v < 0 else -v
    after = model.impact(ImpactProblem(M, np.eye(len(M))[[2]], [k], v), normal=0.3).chosen.result
    assert after[2] == pytest.approx(v[2], abs=1e-12)


@every
def test_plastic_impacts_of_a_rough_contact_are_those_of_moreau(model):
    """Without slip before, e = 0 and friction that holds: one answer for all."""
    M, k = rod(0.3, 2.0)
    v = np.array([0.0, -1.0, 0.0])
    expected = moreau.impact(ImpactProblem(*free(M), [k], v)).chosen.result
    assert_allclose(
        model.impact(ImpactProblem(*free(M), [k], v)).chosen.result, expected, rtol=0, atol=1e-10
    )
    ideal = contact(k.C[:, :], np.inf)
    plastic = newton.impact(
        ImpactProblem(*free(M), [contact(k.C, np.inf)], v), normal=0.0, tangential=0.0
    )
    assert_allclose(
        model.impact(ImpactProblem(*free(M), [ideal], v)).chosen.result,
        plastic.chosen.result,
        atol=1e-10,
    )


@every
@pytest.mark.parametrize("e", [-0.1, 1.1])
def test_impossible_coefficients_are_refused(model, e):
    with pytest.raises(ParameterError, match="restitution"):
        model.impact(
            ImpactProblem(*free(np.eye(3)), [contact(np.eye(3), 0.1)], -np.ones(3)), normal=e
        )


@every
def test_slow_bounces_rest(model):
    v = np.array([-0.1, 0.0, 0.0])
    k = contact(np.eye(3), 0.3)
    after = model.impact(
        ImpactProblem(*free(np.eye(3)), [k], v, rest_speed=0.2), normal=0.8
    ).chosen.result
    assert_allclose(after, 0.0, atol=1e-12)


def test_brachs_ratio_is_against_the_slip_that_is_left():
    """A steep rod with little friction slips back in the course of its impact: then the friction acts
    ahead, with all of mu, and the normal velocity returns by its coefficient.
    """
    e, mu = 0.5, 0.1
    M, k = rod(0.7, mu)
    v = np.array([0.05, -1.0, 0.0])
    W = k.C @ np.linalg.solve(M, k.C.T)
    P = (1 + e) / (W[0, 0] + mu * W[0, 1])
    assert 0.05 + (W[1, 0] + mu * W[1, 1]) * P < 0  # it slips back at the end
    found = brach.impact(ImpactProblem(*free(M), [k], v), normal=e).chosen
    assert_allclose(found.pushes["tip", "ground"], [P, mu * P, 0.0], rtol=0, atol=1e-12)
    assert k.C[0] @ found.result == pytest.approx(e, abs=1e-12)


def test_brachs_ratio_stops_the_slip_where_less_than_mu_does():
    """In space: the slip along its first direction ends, what the coupling leaves across goes on."""
    W = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.3], [0.9, 0.3, 2.0]])
    u, mu = np.array([-1.0, 0.1, 0.0]), 0.4
    k = contact(np.eye(3), mu)
    hold = np.linalg.solve(W, [1.0, -0.1, 0.0])
    assert np.linalg.norm(hold[1:]) > mu * hold[0]  # friction cannot hold all of it
    found = brach.impact(ImpactProblem(*free(np.linalg.inv(W)), [k], u)).chosen
    push = found.pushes["tip", "ground"]
    assert push[2] == pytest.approx(0.0, abs=1e-14)
    assert abs(push[1]) < mu * push[0]
    assert found.result[:2] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_brachs_ratio_stays_short_of_where_friction_jams():
    """A ratio of 2, W_NN / W_NT, would part nothing, and to hold the slip would create energy: as much
    is taken as keeps it, which returns both velocities, W (2.4, -0.8) = (2, 0.4).
    """
    W, u = (
        np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        np.array([-1.0, -0.2, 0.0]),
    )
    hold = np.linalg.solve(W, [2.0, 0.2, 0.0])
    assert hold @ (2 * u + W @ hold) > 0.0
    found = brach.impact(
        ImpactProblem(*free(np.linalg.inv(W)), [contact(np.eye(3), 2.0)], u), normal=1.0
    ).chosen
    assert_allclose(found.pushes["tip", "ground"], [2.4, -0.8, 0.0], rtol=0, atol=1e-9)
    assert_allclose(found.result, [1.0, 0.2, 0.0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", [keller, stronge], ids=["keller", "stronge"])
def test_slip_that_begins_keeps_its_direction(model):
    """From rest the coupling drives a contact off: slip along d with W_TN - mu W_TT d = c d, c > 0."""
    W = np.array([[1.0, 0.6, -0.5], [0.6, 2.0, 0.4], [-0.5, 0.4, 1.0]])
    u, mu = np.array([-1.0, 0.0, 0.0]), 0.15
    k = contact(np.eye(3), mu)
    assert np.linalg.norm(np.linalg.solve(W[1:, 1:], W[1:, 0])) > mu
    found = model.impact(ImpactProblem(*free(np.linalg.inv(W)), [k], u), normal=0.5).chosen
    push = found.pushes["tip", "ground"]
    d = found.result[1:] / np.linalg.norm(found.result[1:])
    assert_allclose(push[1:], -mu * push[0] * d, rtol=0, atol=1e-12)
    rate = W[1:, 0] - mu * W[1:, 1:] @ d
    assert_allclose(rate, (rate @ d) * d, rtol=0, atol=1e-12)
    assert rate @ d > 0
