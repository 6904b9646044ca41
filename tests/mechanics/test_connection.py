"""Connections, reduced dynamics and inverse torques, against closed forms."""

import casadi
import mpmath
import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

from draisine import trace
from draisine.errors import ConfigurationError, ModelError, SingularityError
from draisine.lie import hat, rot_x, rot_z
from draisine.mechanics.connection import (
    Kinematics,
    Locomotion,
    Torques,
    classify,
    kinematic,
    kinematics,
    locomotion,
    mechanical,
    reduced,
    stokes,
    torques,
)
from draisine.mechanics.constraints import mode_of
from draisine.mechanics.formulations import multiplier
from draisine.mechanics.formulations.projected import free_columns
from draisine.mechanics.newton_euler import mass_matrix
from draisine.mechanics.tree import assemble
from draisine.model import Blade, Body, Model, Pin, Prismatic, Revolute, Wheel, inertia
from draisine.scalar import array, casadi_symbols, cos, sin
from draisine.vehicles.falling_cat import falling_cat
from draisine.vehicles.roller_racer import roller_racer
from draisine.vehicles.snakeboard import snakeboard
from draisine.vehicles.swimmer import swimmer

UP, LEFT, AHEAD = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)


def placed(
    model: Model,
    r: object,
    R: np.ndarray | None = None,
    statuses: dict[str, str] | None = None,
    driven: list[str] | None = None,
    evaluate: object = None,
) -> Locomotion:
    """Return a machine in a shape, all contacts closed unless said otherwise."""
    options = {} if evaluate is None else {"evaluate": evaluate}
    tree = assemble(model, **options)
    base = np.eye(3) if R is None else R
    return locomotion(tree, mode_of(model, statuses), base, array(r), driven)


def forward(at: Locomotion, tau: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return vdot and the multipliers that torques give, by the saddle-point system."""
    tree, columns = at.tree, free_columns(at.tree)
    inputs = np.zeros(len(tree.model.inputs))
    inputs[[k - 6 for k in at.inner]] = tau
    found = multiplier.free(tree, at.world.R, np.zeros(3), at.geo.r, v, inputs)
    rows = multiplier.active_rows(
        tree.model,
        mode_of(tree.model, {c.name: status_of(at, c.name) for c in tree.model.contacts}),
    )
    vdot, lam = multiplier.saddle_point(
        found.M[np.ix_(columns, columns)],
        found.F[columns],
        found.C[rows][:, columns],
        found.c[rows],
        at.labels,
        [str(k) for k in columns],
    )
    whole = np.zeros(len(v))
    whole[columns] = vdot
    return whole, lam


def status_of(at: Locomotion, name: str) -> str:
    active = {a.contact.name: a for a in at.active}
    contact = next(c for c in at.tree.model.contacts if c.name == name)
    names = active[name].names if name in active else ()
    return next(status for status, rows in contact.rows.items() if rows == names)


def balance(found: Kinematics, out: Torques, z: np.ndarray) -> None:
    """Assert that M vdot + F = Q + C' lam for torques with any static part."""
    at, moved = found.at, out.motion
    lam, tau = out.lam + out.lam_static @ z, out.tau + out.tau_static @ z
    left = moved.needed.copy()
    left[at.inner] -= tau + at.B.T @ lam
    left[at.outer] -= at.A.T @ lam
    used = [*at.outer, *at.inner]
    assert_allclose(left[used], 0.0, atol=1e-11 * max(1.0, np.abs(moved.needed).max()))


# ---------------------------------------------------------------------------- wheels


def platform(base: str = "SE(2)", *, rho: float = 0.1, w: float = 0.25) -> Model:
    """A differential-drive robot: two driven wheels on one axle and a ball castor."""
    hubs = {"left": (0.0, w, rho), "right": (0.0, -w, rho)}
    castor = (-0.3, 0.0, 0.05)
    wheels = [Body(side, 1.0, hub, inertia(0.003, 0.005, 0.003)) for side, hub in hubs.items()]
    return Model(
        bodies=[Body("hull", 8.0, (-0.1, 0.0, 0.12), inertia(0.2, 0.3, 0.4)), *wheels],
        joints=[Revolute(side, "hull", side, LEFT, hub) for side, hub in hubs.items()],
        contacts=[
            *[Wheel(side, side, hub, LEFT, rho) for side, hub in hubs.items()],
            Wheel("castor", "hull", castor, LEFT, 0.05, 0.05),
        ],
        base=base,
    )


def platform_connection(rho: float, w: float) -> np.ndarray:
    """Return calA for (Vx, Vy, Wz): the mean of the wheels drives, their difference turns."""
    return -np.array([[rho / 2, rho / 2], [0.0, 0.0], [-rho / (2 * w), rho / (2 * w)]])


@pytest.mark.parametrize("base", ["SE(2)", "SE(3)"])
def test_platform_is_kinematic(base: str) -> None:
    at = placed(platform(base), [0.3, -2.0], rot_z(0.7), {"castor": "sliding"})
    calA, K = kinematic(at)
    expected = np.zeros((len(at.outer), 2))
    expected[[at.names.index(name) for name in ("Vx", "Vy", "Wz")]] = platform_connection(0.1, 0.25)
    assert_allclose(calA, expected, atol=1e-15)
    assert_allclose(K, 0.0, atol=1e-15)
    case = classify(at)
    assert (case.kind, case.rank, case.mobility) == ("kinematic", len(at.outer), 2)
    assert "repeat others" in case.why
    assert case.free == ()


def test_platform_torques_accelerate_and_carry_it() -> None:
    """Driving straight ahead: tau by the total inertia, normal forces by weight and load transfer."""
    at = placed(platform("SE(3)"), [0.0, 0.0], statuses={"castor": "sliding"})
    found = kinematics(at)
    a, rho, mass = 0.8, 0.1, 10.0
    rdot, rddot = np.array([3.0, 3.0]), np.array([a, a]) / rho
    out = torques(found, np.zeros(0), rdot, rddot)
    assert_allclose(out.motion.vdot[:3], [a, 0.0, 0.0], atol=1e-12)
    assert_allclose(out.tau, (mass * a * rho + 2 * 0.005 * a / rho) / 2, rtol=1e-12)
    lam = dict(zip(at.labels, out.lam, strict=True))
    # moments about the axle's line on the ground: weight, inertia of hull and wheels, castor
    pitching = 8.0 * a * 0.12 + 2.0 * a * rho + 2 * 0.005 * a / rho
    castor = (8.0 * 9.81 * 0.1 + pitching) / 0.3
    assert_allclose(lam["castor.normal"], castor, rtol=1e-12)
    assert_allclose(lam["left.normal"] + lam["right.normal"] + castor, mass * 9.81, rtol=1e-12)
    assert_allclose(lam["left.along"] + lam["right.along"], mass * a, rtol=1e-12)
    # sideways forces of two wheels on one axle are not determined, and need no torque
    assert out.lam_static.shape == (7, 1)
    assert_allclose(out.tau_static, 0.0, atol=1e-15)
    across = [at.labels.index(f"{side}.across") for side in ("left", "right")]
    assert_allclose(out.lam_static[across, 0] / out.lam_static[across[0], 0], [1.0, -1.0])
    assert_allclose(out.lam[across[0]], out.lam[across[1]], atol=1e-12)  # the least forces
    balance(found, out, np.array([7.0]))


def car(*, length: float = 2.0, rho: float = 0.3) -> Model:
    """A car in the plane: one driven rear wheel, one steered front axle that does not slip aside."""
    rear, front = (0.0, 0.0, rho), (length, 0.0, rho)
    return Model(
        bodies=[
            Body("hull", 900.0, (1.0, 0.0, 0.5), inertia(300.0, 900.0, 1000.0)),
            Body("rear", 30.0, rear, inertia(0.8, 1.4, 0.8)),
            Body("axle", 40.0, front, inertia(2.0, 1.0, 2.0)),
        ],
        joints=[
            Revolute("steer", "hull", "axle", UP, front),
            Revolute("drive", "hull", "rear", LEFT, rear),
        ],
        contacts=[Wheel("rear", "rear", rear, LEFT, rho), Blade("front", "axle", front, AHEAD)],
        base="SE(2)",
    )


def test_car_turns_by_the_tangent_of_its_steering() -> None:
    for steer in (-0.9, 0.0, 0.4):
        at = placed(car(), [steer, 1.0])
        calA, K = kinematic(at)
        expected = -np.array([[0.0, 0.3], [0.0, 0.0], [0.0, 0.3 * np.tan(steer) / 2.0]])
        assert_allclose(calA, expected, atol=1e-14)
        assert K.shape == (1, 2)  # the wheel's normal, empty in the plane
        assert classify(at).kind == "kinematic"


def test_car_steered_by_a_right_angle_is_no_longer_decided() -> None:
    """Remark 1.11: the front axle across its way stops the car, and nothing stops it turning."""
    at = placed(car(), [np.pi / 2, 0.0])
    case = classify(at)
    assert (case.kind, case.rank, case.free, case.mobility) == ("mixed", 2, ("Wz",), 1)
    with pytest.raises(ConfigurationError, match="decide 2 of 3 speeds.*Wz need a dynamics"):
        kinematic(at)


def test_car_torques_give_back_its_accelerations() -> None:
    at = placed(car(), [0.4, 1.0])
    found = kinematics(at)
    rdot, rddot = np.array([0.3, 8.0]), np.array([-1.0, 2.0])
    out = torques(found, np.zeros(0), rdot, rddot)
    balance(found, out, np.zeros(len(found.spare)))
    power = out.tau @ rdot
    M = mass_matrix(at.tree, at.geo, np.zeros(3))
    v, vdot = out.motion.v, out.motion.vdot
    h = 1e-6
    ahead, behind = [
        mass_matrix(at.tree, placed(car(), [0.4 + s * rdot[0], 1.0]).geo, np.zeros(3))
        for s in (h, -h)
    ]
    rate = v @ M @ vdot + v @ (ahead - behind) @ v / (4 * h)
    assert_allclose(power, rate, rtol=1e-6)  # the motors' power is the rate of kinetic energy


# ---------------------------------------------------------------------------- snakes


def snake(links: int, *, a: float = 0.2) -> Model:
    """A kinematic snake: links of half length a with wheels under their middles; link 1 is the base
    and the middle of the first three.
    """
    middles = [0.0, 2 * a, -2 * a, *[-2 * a * k for k in range(2, links - 1)]]
    parents = ["1", "1", *[str(k) for k in range(3, links)]]
    names = ["1", "2", *[str(k) for k in range(3, links + 1)]]
    hinges = [a, *[-a - 2 * a * k for k in range(links - 2)]]
    return Model(
        bodies=[
            Body(name, 1.0, (x, 0.0, 0.0), inertia(0.001, 0.02, 0.02))
            for name, x in zip(names, middles, strict=True)
        ],
        joints=[
            Revolute(f"r{k}", parent, child, UP, (x, 0.0, 0.0))
            for k, (parent, child, x) in enumerate(zip(parents, names[1:], hinges, strict=True))
        ],
        contacts=[
            Blade(name, name, (x, 0.0, 0.0), AHEAD) for name, x in zip(names, middles, strict=True)
        ],
        base="SE(2)",
    )


def snake_connection(r1, r2, a):  # type: ignore[no-untyped-def]
    """Return calA of the three-link snake for (Vx, Vy, Wz), solved by hand."""
    s1, c1, s2, c2 = sin(r1), cos(r1), sin(r2), cos(r2)
    det = s1 * (1 + c2) + s2 * (1 + c1)
    return array(
        [
            [-a * (1 + c2) / det, a * (1 + c1) / det],
            [0.0, 0.0],
            [s2 / det, s1 / det],
        ]
    )


def test_snake_of_three_links_is_kinematic() -> None:
    for r1, r2 in ((0.5, 0.3), (-1.0, -0.2), (0.4, -1.2)):
        at = placed(snake(3), [r1, r2])
        calA, K = kinematic(at)
        assert_allclose(calA, snake_connection(r1, r2, 0.2), rtol=1e-13, atol=1e-15)
        assert K.shape == (0, 2)
        case = classify(at)
        assert (case.kind, case.mobility, case.spare) == ("kinematic", 2, ())


@pytest.mark.parametrize("shape", [(0.0, 0.0), (0.7, -0.7)], ids=["straight", "arc"])
def test_snake_of_constant_curvature_coasts(shape: tuple[float, float]) -> None:
    """Remark 1.11: in a straight line or an arc of a circle the wheels do not decide the motion."""
    case = classify(placed(snake(3), shape))
    assert (case.kind, case.rank, case.free) == ("mixed", 2, ("Vx",))


def test_snake_of_five_links_follows_its_head() -> None:
    """Over-constrained: the shape has four joints and two motions, those of the head; each further
    link is dragged by the one before like a trailer.
    """
    shape = np.array([0.4, 0.3, -0.2, 0.5])
    at = placed(snake(5), shape)
    found = kinematics(at)
    case = classify(at)
    assert (case.kind, case.rank, case.mobility, len(case.spare)) == ("over-constrained", 3, 2, 2)
    assert "allow 2 of 4 shape motions" in case.why
    motions = np.linalg.svd(found.K)[2][2:]
    a = 0.2
    for rdot in motions:
        V, Vy, W = found.J @ rdot
        assert_allclose(Vy, 0.0, atol=1e-14)
        for r, rate in zip(shape[1:], rdot[1:], strict=True):  # links 1, 3, 4, 5 from the front
            # the hinge moves by (V, -a W) in its leader; the follower's middle must not slip aside
            Vy, turn = -a * W, (np.cos(r) * -a * W - np.sin(r) * V) / a
            assert_allclose(rate, turn - W, atol=1e-13)
            V, W = np.cos(r) * V + np.sin(r) * Vy, turn


def test_snake_of_five_links_may_press_against_its_wheels() -> None:
    """Static loads: torques that only squeeze the wheels, found again by forward dynamics."""
    at = placed(snake(5), [0.4, 0.3, -0.2, 0.5])
    found = kinematics(at)
    rdot = np.linalg.svd(found.K)[2][2:].T @ np.array([0.7, -0.4])
    v = at.whole(found.J @ rdot, rdot)
    # compatible accelerations: any solution of the rows
    rows = multiplier.free(at.tree, np.eye(3), np.zeros(3), at.geo.r, v, np.zeros(4))
    across = multiplier.active_rows(at.tree.model, mode_of(at.tree.model))
    columns = free_columns(at.tree)
    vdot = np.linalg.lstsq(rows.C[across][:, columns], rows.c[across], rcond=None)[0]
    out = torques(found, np.zeros(0), rdot, vdot[3:])
    assert_allclose(out.motion.vdot[columns], vdot, atol=1e-12)
    assert out.lam_static.shape == (5, 2)
    assert_allclose(at.A.T @ out.lam_static, 0.0, atol=1e-14)
    assert_allclose(rdot @ out.tau_static, 0.0, atol=1e-14)  # static loads do no work
    assert_allclose(out.lam_static.T @ out.lam, 0.0, atol=1e-12)  # the least forces
    pinv = np.linalg.pinv(at.A.T)
    assert_allclose(out.lam, pinv @ out.motion.needed[at.outer], rtol=1e-11, atol=1e-12)
    for z in (np.zeros(2), np.array([3.0, -5.0])):
        again, lam = forward(at, out.tau + out.tau_static @ z, v)
        assert_allclose(again, out.motion.vdot, atol=1e-10)
        assert_allclose(lam, out.lam + out.lam_static @ z, atol=1e-10)
        balance(found, out, z)
    with pytest.raises(ConfigurationError, match="speeds of the joints break the constraint"):
        torques(found, np.zeros(0), rdot + [0.1, 0.0, 0.0, 0.0], vdot[3:])
    with pytest.raises(ConfigurationError, match="accelerations of the joints break"):
        torques(found, np.zeros(0), rdot, vdot[3:] + [0.1, 0.0, 0.0, 0.0])


def test_snake_connection_over_all_scalars() -> None:
    shape, expected = np.array([0.5, 0.3]), snake_connection(0.5, 0.3, 0.2)
    graph = trace.Graph()
    r = array([graph.symbol("r0"), graph.symbol("r1")])

    def traced(xs):  # type: ignore[no-untyped-def]
        return trace.evaluate(xs, {"r0": 0.5, "r1": 0.3})

    calA, _ = kinematic(placed(snake(3), r), traced)
    assert_allclose(traced(list(calA.ravel())), expected.ravel(), rtol=1e-13, atol=1e-15)

    x = casadi_symbols("r", 2)

    def compiled(xs):  # type: ignore[no-untyped-def]
        out = casadi.vertcat(*[getattr(e, "sx", e) for e in xs])
        call = casadi.Function("f", [casadi.vertcat(*[e.sx for e in x])], [out])
        return np.array(call(shape)).ravel()

    calA, _ = kinematic(placed(snake(3), x), compiled)
    assert_allclose(compiled(list(calA.ravel())), expected.ravel(), rtol=1e-13, atol=1e-15)

    with mpmath.workdps(50):
        exact = array([mpmath.mpf("0.5"), mpmath.mpf("0.3")])
        a = mpmath.mpf(1) / 5
        calA, _ = kinematic(placed(snake(3, a=a), exact))
        assert max(abs(x) for x in (calA - snake_connection(*exact, a)).ravel()) < 1e-48

    r1, r2, a = sympy.symbols("r1 r2 a", positive=True)

    def numbers(xs):  # type: ignore[no-untyped-def]
        at = {r1: 0.5, r2: 0.3, a: 0.2}
        return np.array([float(sympy.sympify(e).subs(at)) for e in xs])

    calA, _ = kinematic(placed(snake(3, a=a), [r1, r2], evaluate=numbers), numbers)
    left = calA - snake_connection(r1, r2, a)
    assert all(sympy.simplify(sympy.nsimplify(e)) == 0 for e in left.ravel())
