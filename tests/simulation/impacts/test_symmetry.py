"""Impacts depend neither on the order of the contacts nor on the side of a mirror."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import draisine
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.active_set import Candidate, ImpactProblem
from draisine.simulation.impacts import brach, keller, moreau, newton, plastic, poisson, stronge
from draisine.simulation.impacts._differential import _first_root as first_root
from draisine.terrain import plane

FRICTION = [brach, keller, moreau, poisson, stronge]
IDEAL = [newton, plastic]
SEQUENTIAL = [brach, keller, stronge]
MIXED = [0, 6, 7, 13, 18, 23, 45, 53]
"""Groups of which some contacts slip while others hold or start to slip."""


def name(model):
    return model.__name__.rpartition(".")[2]


def resolve(model, M, contacts, v, e):
    """Return the outcome of an impact; plastic has no restitution, Newton's has one for all rows."""
    restitution = {} if model is plastic else {"normal": e}
    if model is newton:
        restitution["tangential"] = e
    return model.impact(ImpactProblem(M, np.zeros((0, len(v))), contacts, v), **restitution).chosen


# --- a rigid body with speeds (vx, vy, vz, wx, wy, wz) about its mass centre

MIRROR = np.diag([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
MIRROR_AXES = np.diag([1.0, 1.0, -1.0])  # normal, along, across


def foot(label, x, y, z, mu):
    """Return the contact of a point of the body with level ground."""
    rows = [[0, 0, 1, y, -x, 0], [1, 0, 0, 0, z, -y], [0, 1, 0, -z, 0, x]]
    return Candidate((label, "ground"), np.array(rows, float), np.zeros(3), np.zeros(3), mu)


def mirrored(contact):
    rows = MIRROR_AXES @ contact.C @ MIRROR
    return Candidate(contact.key, rows, contact.c, contact.b, contact.mu)


def body(rng, symmetric):
    """Return the mass matrix of some points of mass, mirrored if it is to be symmetric."""
    points = rng.normal(size=(8, 3)) * [0.5, 0.3, 0.6]
    if symmetric:
        points = np.vstack([points, points * [1.0, -1.0, 1.0]])
    points = points - points.mean(axis=0)
    mass = rng.uniform(1.0, 50.0)
    inertia = mass * np.mean([p @ p * np.eye(3) - np.outer(p, p) for p in points], axis=0)
    M = mass * np.eye(6)
    M[3:, 3:] = inertia
    return M


def landing(seed, pairs, ideal):
    """Return mass matrix, contacts and speeds of a symmetric body on one or two pairs of feet."""
    rng = np.random.default_rng(seed)
    M = body(rng, symmetric=True)
    height = rng.uniform(0.2, 1.2)
    contacts = []
    for i in range(pairs):
        x, y = rng.uniform(-0.5, 0.5), rng.uniform(0.05, 0.4)
        mu = np.inf if ideal else rng.uniform(0.1, 1.0)
        contacts += [foot(f"left {i}", x, y, -height, mu), foot(f"right {i}", x, -y, -height, mu)]
    v = np.array([2.0 * rng.normal(), 0.0, -rng.uniform(0.2, 3.0), 0.0, 0.0, 0.0])
    return M, contacts, v, rng


CASES = [pytest.param(m, False, id=name(m)) for m in FRICTION]
CASES += [pytest.param(m, True, id=f"{name(m)} ideal") for m in [*FRICTION, *IDEAL]]


@pytest.mark.parametrize(("model", "ideal"), CASES)
@pytest.mark.parametrize("pairs", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_a_symmetric_landing_is_symmetric(model, ideal, pairs, seed):
    M, contacts, v, rng = landing(seed, pairs, ideal)
    after = resolve(model, M, contacts, v, 0.4)
    assert_allclose(MIRROR @ after.result, after.result, rtol=0, atol=1e-9)
    assert len(after.pushes) % 2 == 0
    for left, right in zip(contacts[::2], contacts[1::2], strict=True):
        if left.key in after.pushes:
            impulse = MIRROR_AXES @ after.pushes[left.key]
            assert_allclose(after.pushes[right.key], impulse, rtol=1e-8, atol=1e-8)
    order = rng.permutation(len(contacts))
    other = resolve(model, M, [contacts[i] for i in order], v, 0.4)
    assert_allclose(other.result, after.result, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("model", "ideal"), CASES)
@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("seed", [11, 12])
def test_order_and_mirror_change_nothing(model, ideal, tie, seed):
    """Three feet of a body without any symmetry, which approach equally fast or not."""
    rng = np.random.default_rng(seed)
    M = body(rng, symmetric=False)
    places = [(-0.2, 0.05), (0.4, 0.3), (0.3, -0.25)]
    contacts = [
        foot(f"foot {i}", x, y, -0.6, np.inf if ideal else rng.uniform(0.1, 1.0))
        for i, (x, y) in enumerate(places)
    ]
    v = np.array([rng.normal(), rng.normal(), -1.5, 0.0, 0.0, rng.normal()])
    v[3:5] = 0.0 if tie else [0.4, -0.7]
    after = resolve(model, M, contacts, v, 0.4).result
    turned = resolve(model, M, [contacts[i] for i in (2, 0, 1)], v, 0.4).result
    assert_allclose(turned, after, rtol=0, atol=1e-9)
    image = resolve(model, MIRROR @ M @ MIRROR, [mirrored(k) for k in contacts], MIRROR @ v, 0.4)
    assert_allclose(MIRROR @ image.result, after, rtol=0, atol=1e-9)


# --- groups with a closed form


@pytest.mark.parametrize("model", FRICTION, ids=name)
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_without_friction_contacts_that_tie_rebound_alike(model, e):
    """A body that falls level on two feet, at a and b from its mass centre, which lies between them:
    both rebound with e times the speed, by (1 + e) m v shared like a lever.
    """
    a, b, m, speed = 0.3, 0.5, 4.0, 2.0
    M = np.diag([m, m, m, 0.2, 0.7, 0.4])
    feet = [foot("rear", -a, 0.0, -0.6, 0.0), foot("front", b, 0.0, -0.6, 0.0)]
    after = resolve(model, M, feet, np.array([1.0, 0.0, -speed, 0.0, 0.0, 0.0]), e)
    assert_allclose(after.result, [1.0, 0.0, e * speed, 0.0, 0.0, 0.0], rtol=0, atol=1e-11)
    rear, front = (after.pushes[k.key][0] for k in feet)
    total = (1.0 + e) * m * speed
    assert_allclose([rear, front], [total * b / (a + b), total * a / (a + b)], rtol=1e-11)


def block(parts):
    """Return the direct sum of matrices."""
    size = sum(len(p) for p in parts)
    out, at = np.zeros((size, size)), 0
    for p in parts:
        out[at : at + len(p), at : at + len(p)] = p
        at += len(p)
    return out


@pytest.mark.parametrize("model", SEQUENTIAL, ids=name)
@pytest.mark.parametrize("seed", range(3))
def test_contacts_that_tie_without_influence_behave_as_if_alone(model, seed):
    rng = np.random.default_rng(seed)
    masses, rows, speeds, mus = [], [], [], [0.3, 0.9]
    for _ in range(2):
        root = rng.normal(size=(3, 3))
        masses.append(root @ root.T + 0.3 * np.eye(3))
        rows.append(np.eye(3))
        speeds.append(np.array([-1.0, *rng.normal(size=2)]))
    alone = [
        resolve(
            model, M, [Candidate(("k", "ground"), np.eye(3), np.zeros(3), np.zeros(3), mu)], v, 0.5
        )
        for M, v, mu in zip(masses, speeds, mus, strict=True)
    ]
    both = [
        Candidate((f"k{i}", "ground"), np.eye(6)[3 * i : 3 * i + 3], np.zeros(3), np.zeros(3), mu)
        for i, mu in enumerate(mus)
    ]
    after = resolve(model, block(masses), both, np.concatenate(speeds), 0.5)
    assert_allclose(after.result, np.concatenate([k.result for k in alone]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", SEQUENTIAL, ids=name)
def test_the_fastest_approach_comes_first(model):
    """A level rod of mass 1 and half length 1 on frictionless ends that approach with 2 and 1: the first
    impact, P = 2 (1 + e) / 4 with W = [[4, -2], [-2, 4]], drives the second end down; the order of the
    impacts is that of the approach, and another order has another result.
    """
    e = 0.5
    M = np.diag([1.0, 1.0, 1.0 / 3.0])
    rows = {"a": [[0, 1, 1], [1, 0, 0], [0, 0, 0]], "b": [[0, 1, -1], [1, 0, 0], [0, 0, 0]]}
    ends = [
        Candidate((k, "ground"), np.array(C, float), np.zeros(3), np.zeros(3), 0.0)
        for k, C in rows.items()
    ]
    W = np.array([[4.0, -2.0], [-2.0, 4.0]])

    def one_after_the_other(u, first):
        u, i, count = np.array(u), first, 0
        while u.min() < -1e-12:
            if u[i] < 0.0:
                u = u + W[i] * -(1.0 + e) * u[i] / 4.0
                count += 1
            i = int(np.argmin(u))
        return u, count

    before = [-2.0, -1.0]
    expected, count = one_after_the_other(before, 0)
    assert count > 1
    assert np.abs(expected - one_after_the_other(before, 1)[0]).max() > 0.1
    v = np.array([0.0, -1.5, -0.5])
    for order in (1, -1):
        after = resolve(model, M, ends[::order], v, e).result
        assert_allclose([k.C[0] @ after for k in ends], expected, rtol=0, atol=1e-10)


def resolve_by_small_pushes(W, u, mu, e, steps):
    """Return the velocities after small normal impulses, each at the contact of lowest normal velocity,
    until none approaches; then e times as many at each contact. Friction stops the slip of the pushed
    contact, or is mu against it. The error is of the order of 1 / steps.
    """
    u, count = np.array(u), len(mu)
    push = -3.0 * count * u[::3].min() / np.diag(W)[::3].max() / steps
    inverse = [np.linalg.inv(W[i + 1 : i + 3, i + 1 : i + 3]) for i in range(0, 3 * count, 3)]
    total = np.zeros(count)

    def pushed(u, i):
        rows = slice(3 * i, 3 * i + 3)
        slip = u[rows][1:] + W[rows, 3 * i][1:] * push
        friction = -inverse[i] @ slip
        if np.hypot(*friction) > mu[i] * push:
            friction = -mu[i] * push * slip / np.hypot(*slip)
        total[i] += push
        return u + W[:, rows] @ [push, *friction]

    while u[::3].min() < 0.0:
        u = pushed(u, int(u[::3].argmin()))
    end = (1.0 + e) * total
    while (total < end).any():
        u = pushed(u, min(np.flatnonzero(total < end), key=lambda i: u[3 * i]))
    return u


@pytest.mark.parametrize("seed", MIXED)
def test_a_group_is_the_limit_of_small_pushes_at_the_lowest_contact(seed):
    """Contacts slip, turn, rest, hold and slip again while others do something else."""
    rng = np.random.default_rng(seed)
    M = body(rng, symmetric=False)
    feet = [(-0.2, 0.1), (0.4, 0.3), (0.5, -0.2)]
    height = rng.uniform(0.2, 1.2)
    rows = np.vstack([foot("", x, y, -height, 0.0).C for x, y in feet])
    mu = rng.uniform(0.1, 1.2, 3)
    v = np.array([rng.normal(), rng.normal(), -rng.uniform(0.5, 2.0), 0.0, 0.0, rng.normal()])
    W, u = rows @ np.linalg.solve(M, rows.T), rows @ v
    expected = resolve_by_small_pushes(W, u, mu, 0.5, 12000)
    found = u + W @ keller.impact.model(W, u, mu, 0.5)
    assert_allclose(found, expected, rtol=0, atol=3e-3 * np.abs(u).max())


# --- single contacts in space, whose ends were missed


def random_contact(seed, any_size):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8)) if any_size else 7
    root = rng.normal(size=(n, n))
    rows, mu = rng.normal(size=(3, n)), rng.uniform(0, 1.5)
    M, v = root @ root.T + 0.2 * np.eye(n), rng.normal(size=n)
    v = v if rows[0] @ v < 0 else -v
    return M, Candidate(("tip", "ground"), rows, np.zeros(3), np.zeros(3), mu), v


@pytest.mark.parametrize("model", [keller, stronge], ids=name)
@pytest.mark.parametrize(
    ("seed", "any_size"),
    [(135, False), (400, False), (686, False), (101, True), (326, True), (223, True), (437, True)],
)
def test_the_end_of_a_sliding_impact_is_found(model, seed, any_size):
    """Against a plain integration in the normal impulse, by small steps: impacts that end while they
    slip, at an instant that interpolation between steps misses by up to 1e-8.
    """
    M, k, v = random_contact(seed, any_size)
    W, u = k.C @ np.linalg.solve(M, k.C.T), k.C @ v

    def rate(P, x):
        return W @ [1.0, *(-k.mu * x[1:] / np.hypot(*x[1:]))]

    def separates(P, x):
        return x[0]

    separates.terminal = True
    separates.direction = 1.0
    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13, "max_step": 0.02}
    run = solve_ivp(rate, (0, 50), u, events=separates, **options)
    assert np.hypot(*run.y[1:]).min() > 0.01  # it slides all the time
    found = resolve(model, M, [k], v, 0.0)
    assert_allclose(found.pushes[k.key][0], run.t[-1], rtol=1e-11)
    assert_allclose(k.C @ found.result, run.y[:, -1], rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("a", "b", "c", "root"),
    [(-1.0, 2.0, 0.0, 0.5), (-4.0, 0.0, 2.0, 2.0), (-1.0, -1.0, 4.0, 1.0), (-1.0, 2.0, -2.0, 1.0)],
)
def test_the_first_root_of_an_ending(a, b, c, root):
    """a + b x + c x^2 / 2 = 0 with x > 0, or none."""
    assert first_root(a, b, c) == pytest.approx(root, rel=1e-15)
    assert first_root(a, -abs(b), -abs(c)) == np.inf
    assert first_root(a, 1.0, -1.0) == (np.inf if a < -0.5 else pytest.approx(1.0))


# --- ideal contacts


@pytest.mark.parametrize("model", [keller, stronge], ids=name)
def test_infinite_friction_does_not_act_without_load(model):
    """Stopping the slip alone lifts the contact: 1 - 0.9 * 2 < 0. Plastic impacts refuse it as well."""
    W = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    contact = Candidate(("tip", "ground"), np.eye(3), np.zeros(3), np.zeros(3), np.inf)
    for resolved in (model, plastic):
        with pytest.raises(ContactSetError, match="mu"):
            resolve(resolved, np.linalg.inv(W), [contact], np.array([-1.0, -2.0, 0.0]), 0.0)


def test_mirror_images_that_are_equally_admissible_are_refused():
    """Either contact alone may close, both together would pull."""
    rows = np.array([[1.0, -1.0, 2.0], [0.0, -2.0, -2.0], [0.0, -1.0, -1.0]])
    image = MIRROR_AXES @ rows @ np.diag([1.0, 1.0, -1.0])
    contacts = [
        Candidate((side, "ground"), C, np.zeros(3), np.zeros(3))
        for side, C in (("left", rows), ("right", image))
    ]
    with pytest.raises(ContactSetError, match="left:ground or right:ground"):
        resolve(plastic, np.eye(3), contacts, np.array([1.0, 2.0, 0.0]), 0.0)


# --- a whole run


@pytest.mark.parametrize("impact", ["moreau", "poisson", "keller", "stronge", "brach"])
def test_a_vehicle_dropped_on_both_wheels_does_not_turn_over(impact):
    """The wheels share the impulse, and neither lean nor yaw begins."""
    system = draisine.compile("segway")
    start = draisine.state(system, mode={"left": "open", "right": "open"}, z=0.1)
    contact = draisine.ContactOptions(impact=impact, mu=0.5, restitution={"normal": 0.3})
    run = draisine.simulate(system, start, 0.16, terrain=plane(), contact=contact)
    first = run.events[0]
    left, right = (first.impulses[side, "ground"] for side in ("left", "right"))
    assert_allclose(left, MIRROR_AXES @ right, rtol=0, atol=1e-9)
    assert left[0] > 10.0
    assert_allclose(first.after.v[[1, 3, 5]], 0.0, atol=1e-10)  # sideways, lean and yaw


def test_expansion_does_not_depend_on_the_rounding_of_resting_contacts():
    """Two wheels rest while a third one lands: round-off in their approach decides nothing."""
    system = draisine.compile("tricycle")
    airborne = {wheel.name: "open" for wheel in system.model.wheels}
    start = draisine.state(system, mode=airborne, z=0.1, Vx=1.0)
    contact = draisine.ContactOptions(impact="poisson", mu=0.6, restitution={"normal": 0.3})
    run = draisine.simulate(system, start, 0.3, terrain=plane(), contact=contact)
    rests = [e for e in run.events if e.impulses and len(e.impulses) == 3]
    assert len(rests) > 2
    for event in run.events:
        assert_allclose(event.after.v[[1, 3, 5]], 0.0, atol=1e-10)
