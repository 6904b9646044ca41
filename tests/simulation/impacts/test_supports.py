"""Hurmuzlu and Marghitu's impacts: supports respond while another contact strikes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.active_set import Candidate, ImpactProblem
from draisine.simulation.impacts import hurmuzlu_marghitu, keller, plastic

LENGTH = 1.0  # half length of the bar, m
MASS = 2.0  # kg
INERTIA = MASS * LENGTH**2 / 3  # kg m2


def contact(rows, mu, name):
    return Candidate((name, "ground"), np.asarray(rows, float), np.zeros(3), np.zeros(3), mu)


def bar(lever, mu, struck=0.0):
    """Return M and contacts of a bar on a support `lever` left of its centre; its right end strikes.

    Speeds (x, z, turning, counter-clockwise).
    """
    support = contact([[0, 1, -lever], [1, 0, struck], [0, 0, 0]], mu, "support")
    end = contact([[0, 1, LENGTH], [1, 0, struck], [0, 0, 0]], mu, "end")
    return np.diag([MASS, MASS, INERTIA]), [support, end]


def solve(M, contacts, v, e=0.0, model=hurmuzlu_marghitu):
    problem = ImpactProblem(M, np.zeros((0, len(M))), contacts, np.asarray(v, float))
    return model.impact(problem, **({} if model is plastic else {"normal": e})).chosen


def rocking(lever, rate):
    """Return speeds of a bar that turns about its support, so that the end approaches."""
    return np.array([0.0, -lever * rate, -rate])


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("lever", [0.05, 0.2, 0.32])
def test_a_support_near_the_centre_holds(lever, e):
    """The support holds if W12 > 0 is negative, that is lever > I/(m L) does not hold: the bar pivots on it,
    and the end has the compliance of that pivot.
    """
    M, contacts = bar(lever, 0.0)
    w12 = 1 / MASS - lever * LENGTH / INERTIA
    assert (w12 > 0) == (lever < INERTIA / (MASS * LENGTH))
    v = rocking(lever, 3.0)
    speed = -(v[1] + LENGTH * v[2])
    w22 = 1 / MASS + LENGTH**2 / INERTIA
    P = (1 + e) * speed / w22  # a strike lifts the support if w12 > 0
    found = solve(M, contacts, v, e)
    assert_allclose(found.result, v + np.linalg.solve(M, P * contacts[1].C[0]), atol=1e-12)
    assert ("support", "ground") not in found.pushes


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("lever", [0.4, 0.7, 1.0])
def test_a_far_support_is_pressed_by_the_strike(lever, e):
    """Beyond the centre of percussion, I / (m L), the strike presses the support: it does not move, and the
    end rebounds about it with the effective mass of the pivot.
    """
    M, contacts = bar(lever, 0.0)
    v = rocking(lever, 3.0)
    w11 = 1 / MASS + lever**2 / INERTIA
    w12 = 1 / MASS - lever * LENGTH / INERTIA
    w22 = 1 / MASS + LENGTH**2 / INERTIA
    assert w12 < 0
    P = (1 + e) * -(v[1] + LENGTH * v[2]) / (w22 - w12**2 / w11)
    S = -w12 / w11 * P
    found = solve(M, contacts, v, e)
    assert_allclose(found.pushes["end", "ground"][0], P, atol=1e-12)
    assert_allclose(found.pushes["support", "ground"][0], S, atol=1e-12)
    # The end returns with e times its speed, and the support rests.
    assert_allclose(contacts[1].C[0] @ found.result, -e * contacts[1].C[0] @ v, atol=1e-12)
    assert_allclose(contacts[0].C[0] @ found.result, 0.0, atol=1e-12)


def test_keller_alone_would_let_the_support_penetrate_first():
    """Sequential strikes at both contacts differ from supports that respond: they lose more speed."""
    M, contacts = bar(0.7, 0.0)
    v = rocking(0.7, 3.0)
    responding = solve(M, contacts, v, 0.8).result
    sequence = solve(M, contacts, v, 0.8, keller).result
    assert contacts[1].C[0] @ responding == pytest.approx(-0.8 * contacts[1].C[0] @ v)
    assert abs(contacts[1].C[0] @ (responding - sequence)) > 0.05


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_a_single_contact_follows_keller(e):
    rng = np.random.default_rng(2)
    for _ in range(10):
        root = rng.normal(size=(5, 5))
        M = root @ root.T + 0.3 * np.eye(5)
        plane = np.vstack([rng.normal(size=(2, 5)), np.zeros(5)])
        k = contact(plane, rng.uniform(0, 1), "tip")
        v = rng.normal(size=5)
        if k.C[0] @ v > 0:
            v = -v
        wanted = solve(M, [k], v, e, keller).result
        assert_allclose(solve(M, [k], v, e).result, wanted, atol=1e-9)


def test_turning_slips_converge_to_keller(monkeypatch):
    """In space slip directions turn. The error of the steps is of second order, if the slip does not pass
    near zero, where its direction is unstable.
    """
    rng = np.random.default_rng(8)
    for _ in range(3):
        root = rng.normal(size=(6, 6))
        M = root @ root.T + 0.3 * np.eye(6)
        k = contact(rng.normal(size=(3, 6)), 0.4, "tip")
        v = rng.normal(size=6)
        if k.C[0] @ v > 0:
            v = -v
        wanted = solve(M, [k], v, 0.5, keller).result
        errors = []
        for length in (0.02, 0.005):
            monkeypatch.setattr(hurmuzlu_marghitu, "MAX_TURN", length)
            monkeypatch.setattr(hurmuzlu_marghitu, "MAX_SHRINK", length)
            errors.append(np.abs(solve(M, [k], v, 0.5).result - wanted).max())
        assert errors[1] < 5e-6
        assert errors[1] < errors[0] / 3


def test_friction_of_the_support_holds_the_bar():
    """Two straight pieces in P by hand: both contacts stick, and the plastic impact is that of the plastic
    model.
    """
    M, contacts = bar(0.7, 5.0, struck=0.3)
    v = rocking(0.7, 3.0)
    v[0] = -0.3 * v[2]  # the support does not slip
    assert abs(contacts[0].C[1] @ v) < 1e-15
    found = solve(M, contacts, v)
    ideal = bar(0.7, np.inf, struck=0.3)[1]
    wanted = solve(M, ideal, v, model=plastic)
    assert_allclose(found.result, wanted.result, atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_supports_neither_sink_nor_gain_energy(seed):
    rng = np.random.default_rng(seed)
    M, contacts = bar(rng.uniform(0.1, 1.0), rng.uniform(0.0, 0.6), rng.uniform(-0.4, 0.4))
    v = rocking(-contacts[0].C[0, 2], rng.uniform(0.5, 3.0))
    v[0] = rng.normal()
    found = solve(M, contacts, v, 0.0)
    after = found.result
    assert min(k.C[0] @ after for k in contacts) > -1e-9
    assert after @ M @ after <= v @ M @ v + 1e-12
    for k in contacts:
        push = found.pushes.get(k.key, np.zeros(3))
        assert abs(push[1]) <= k.mu * push[0] + 1e-9


def test_the_order_of_the_contacts_does_not_matter():
    M, contacts = bar(0.7, 0.3, struck=0.2)
    v = rocking(0.7, 2.0) + [0.5, 0.0, 0.0]
    first = solve(M, contacts, v, 0.4).result
    assert_allclose(solve(M, contacts[::-1], v, 0.4).result, first, atol=1e-12)


def test_ideal_friction_is_refused_for_slipping_contacts():
    M, contacts = bar(0.7, np.inf, struck=0.2)
    with pytest.raises(ContactSetError, match="finite friction"):
        solve(M, contacts, rocking(0.7, 2.0) + [0.5, 0.0, 0.0])


def test_a_bicycle_lands_with_it():
    """The front wheel of a bicycle lands while the rear wheel rolls, and the run continues."""
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, mode={"front": "open"}, pitch=-0.1)
    contact_options = draisine.ContactOptions(mu=0.8, impact="hurmuzlu_marghitu")
    run = draisine.simulate(
        bicycle, start, 0.5, terrain=draisine.terrain.plane(), contact=contact_options
    )
    assert run.outcome == "completed"
