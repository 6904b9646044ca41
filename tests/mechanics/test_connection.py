"""Connections, reduced dynamics and inverse dynamics, compared with closed forms."""

from dataclasses import replace
from typing import Any

import casadi
import mpmath
import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

from draisine.algebra import trace
from draisine.algebra.lie import hat, rot_x, rot_y, rot_z
from draisine.algebra.scalar import array, casadi_symbols, cos, sin
from draisine.errors import ConfigurationError, ModelError, SingularityError
from draisine.mechanics.base import free_columns
from draisine.mechanics.connection import (
    Kinematics,
    Locomotion,
    Torques,
    classify,
    kinematic_connection,
    locomotion,
    mechanical_connection,
    reduced_motion,
    solve_kinematics,
    solve_torques,
    stokes_connection,
)
from draisine.mechanics.constraints import mode_of
from draisine.mechanics.formulations import multiplier
from draisine.mechanics.kernel import independent_vectors
from draisine.mechanics.newton_euler import mass_matrix
from draisine.mechanics.tree import as_floats, assemble
from draisine.model import Ball, Blade, Body, Model, Pin, Prismatic, Revolute, Wheel, inertia
from draisine.vehicles._three_links import three_links
from draisine.vehicles.falling_cat import falling_cat
from draisine.vehicles.roller_racer import roller_racer
from draisine.vehicles.snakeboard import snakeboard

UP, LEFT, AHEAD = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)


def placed(
    model: Model,
    r: Any,
    R: np.ndarray | None = None,
    statuses: dict[str, str] | None = None,
    driven: list[str] | None = None,
    evaluate: Any = as_floats,
) -> Locomotion:
    """Return a machine at a shape; all contacts are closed unless stated otherwise."""
    tree = assemble(model, evaluate=evaluate)
    base = np.eye(3) if R is None else R
    return locomotion(tree, mode_of(model, statuses), base, array(r), driven)


def forward(
    at: Locomotion, tau: np.ndarray, v: np.ndarray, without: str = ""
) -> tuple[np.ndarray, dict[str, float]]:
    """Return vdot and the multipliers under given torques, by the saddle-point system.

    A redundant row can be left out.
    """
    tree, columns = at.tree, free_columns(at.tree.model)
    inputs = np.zeros(len(tree.model.inputs))
    inputs[[k - 6 for k in at.inner]] = tau
    found = multiplier.evaluate_free_dynamics(tree, at.world.R, np.zeros(3), at.geo.r, v, inputs)
    order = ("normal", "along", "across")
    where = {
        f"{c.name}.{axis}": 3 * k + j
        for k, c in enumerate(tree.model.contacts)
        for j, axis in enumerate("xyz" if isinstance(c, Pin) else order)
    }
    labels = [label for label in at.labels if label != without]
    rows = [where[label] for label in labels]
    vdot, lam = multiplier.solve_kkt_system(
        found.M[np.ix_(columns, columns)],
        found.F[columns],
        found.C[rows][:, columns],
        found.c[rows],
        labels,
        [str(k) for k in columns],
    )
    whole = np.zeros(len(v))
    whole[columns] = vdot
    return whole, dict(zip(labels, lam, strict=True))


def balance(found: Kinematics, out: Torques, z: np.ndarray) -> None:
    """Assert that M vdot + F = Q + C' lam for torques with any static part."""
    at, moved = found.machine, out.motion
    lam, tau = out.lam + out.lam_static @ z, out.tau + out.tau_static @ z
    left = moved.required.copy()
    left[at.inner] -= tau + at.B.T @ lam
    left[at.outer] -= at.A.T @ lam
    used = [*at.outer, *at.inner]
    assert_allclose(left[used], 0.0, atol=1e-11 * max(1.0, np.abs(moved.required).max()))


# ---------------------------------------------------------------------------- wheels


def platform(base: str = "SE(2)", *, rho: float = 0.1, w: float = 0.25) -> Model:
    """Return a differential-drive robot: two driven wheels on one axle and a ball caster."""
    hubs = {"left": (0.0, w, rho), "right": (0.0, -w, rho)}
    castor = (-0.3, 0.0, 0.05)
    wheels = [Body(side, 1.0, hub, inertia(0.003, 0.005, 0.003)) for side, hub in hubs.items()]
    return Model(
        bodies=[Body("hull", 8.0, (-0.1, 0.0, 0.12), inertia(0.2, 0.3, 0.4)), *wheels],
        joints=[Revolute(side, "hull", side, LEFT, hub) for side, hub in hubs.items()],
        contacts=[
            *[Wheel(side, side, hub, LEFT, rho) for side, hub in hubs.items()],
            Wheel("castor", "hull", castor, LEFT, Ball(0.05)),
        ],
        base=base,
    )


def platform_connection(rho: float, w: float) -> np.ndarray:
    """Return calA for (Vx, Vy, Wz): the mean wheel rate drives, the difference turns."""
    return -np.array([[rho / 2, rho / 2], [0.0, 0.0], [-rho / (2 * w), rho / (2 * w)]])


@pytest.mark.parametrize("base", ["SE(2)", "SE(3)"])
def test_platform_is_kinematic(base: str) -> None:
    at = placed(platform(base), [0.3, -2.0], rot_z(0.7), {"castor": "sliding"})
    calA, K = kinematic_connection(at)
    expected = np.zeros((len(at.outer), 2))
    expected[[at.names.index(name) for name in ("Vx", "Vy", "Wz")]] = platform_connection(0.1, 0.25)
    assert_allclose(calA, expected, atol=1e-15)
    assert_allclose(K, 0.0, atol=1e-15)
    case = classify(at)
    assert (case.kind, case.rank, case.mobility) == ("kinematic", len(at.outer), 2)
    redundant = len(case.redundant)
    assert f"{redundant} {'is' if redundant == 1 else 'are'} redundant" in case.why
    assert case.free == ()


def test_platform_torques_and_normal_forces_in_straight_acceleration() -> None:
    """Straight acceleration: torques from the total inertia, normal forces from weight and load
    transfer.
    """
    at = placed(platform("SE(3)"), [0.0, 0.0], statuses={"castor": "sliding"})
    found = solve_kinematics(at)
    a, rho, mass = 0.8, 0.1, 10.0
    rdot, rddot = np.array([3.0, 3.0]), np.array([a, a]) / rho
    out = solve_torques(found, np.zeros(0), rdot, rddot)
    assert_allclose(out.motion.vdot[:3], [a, 0.0, 0.0], atol=1e-12)
    assert_allclose(out.tau, (mass * a * rho + 2 * 0.005 * a / rho) / 2, rtol=1e-12)
    lam = dict(zip(at.labels, out.lam, strict=True))
    # moments about the axle's line on the ground: weight, inertia of hull and wheels, castor
    pitching = 8.0 * a * 0.12 + 2.0 * a * rho + 2 * 0.005 * a / rho
    castor = (8.0 * 9.81 * 0.1 + pitching) / 0.3
    assert_allclose(lam["castor.normal"], castor, rtol=1e-12)
    assert_allclose(lam["left.normal"] + lam["right.normal"] + castor, mass * 9.81, rtol=1e-12)
    assert_allclose(lam["left.along"] + lam["right.along"], mass * a, rtol=1e-12)
    # The lateral forces of two wheels on one axle are statically indeterminate and require no
    # torque.
    assert out.lam_static.shape == (7, 1)
    assert_allclose(out.tau_static, 0.0, atol=1e-15)
    across = [at.labels.index(f"{side}.across") for side in ("left", "right")]
    assert_allclose(out.lam_static[across, 0] / out.lam_static[across[0], 0], [1.0, -1.0])
    assert_allclose(out.lam[across[0]], out.lam[across[1]], atol=1e-12)  # the minimum-norm forces
    balance(found, out, np.array([7.0]))
    again, _ = forward(at, out.tau, out.motion.v, without="right.across")
    assert_allclose(again, out.motion.vdot, atol=1e-11)


def car(*, length: float = 2.0, rho: float = 0.3) -> Model:
    """Return a planar car with one driven rear wheel and one steered front axle without lateral
    slip.
    """
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


def test_yaw_rate_of_the_car_is_the_tangent_of_its_steer_angle() -> None:
    for steer in (-0.9, 0.0, 0.4):
        at = placed(car(), [steer, 1.0])
        calA, K = kinematic_connection(at)
        expected = -np.array([[0.0, 0.3], [0.0, 0.0], [0.0, 0.3 * np.tan(steer) / 2.0]])
        assert_allclose(calA, expected, atol=1e-14)
        # The row of the wheel's normal direction, which is empty in the plane
        assert K.shape == (1, 2)
        assert classify(at).kind == "kinematic"


def test_car_steered_by_a_right_angle_has_free_speeds() -> None:
    """Remark 1.11: a front axle turned by 90 degrees blocks the car, and the rotation of the wheel
    is free.
    """
    at = placed(car(), [np.pi / 2, 0.0])
    case = classify(at)
    assert (case.kind, case.rank, case.free, case.mobility) == ("mixed", 2, ("Wz",), 1)
    with pytest.raises(ConfigurationError, match=r"determine 2 of 3 speeds.*Wz are free"):
        kinematic_connection(at)


def test_inverse_dynamics_of_the_car_inverts_forward_dynamics() -> None:
    at = placed(car(), [0.4, 1.0])
    found = solve_kinematics(at)
    rdot, rddot = np.array([0.3, 8.0]), np.array([-1.0, 2.0])
    out = solve_torques(found, np.zeros(0), rdot, rddot)
    balance(found, out, np.zeros(len(found.redundant)))
    again, lam = forward(at, out.tau, out.motion.v, without="rear.normal")
    assert_allclose(again, out.motion.vdot, atol=1e-11)
    assert_allclose(list(lam.values()), out.lam[[at.labels.index(k) for k in lam]], rtol=1e-11)


def test_car_with_a_passive_wheel_coasts() -> None:
    """Only the steering is driven: the rate of the wheel is part of eta, and the contacts leave one
    free speed.
    """
    at = placed(car(), [0.4, 1.0], driven=["steer"])
    assert at.names == ["Vx", "Vy", "Wz", "drive_rate"]
    case = classify(at)
    assert (case.kind, case.free) == ("mixed", ("Vx",))
    found = solve_kinematics(at)
    assert_allclose(found.H[:, 0], [1.0, 0.0, np.tan(0.4) / 2, 1 / 0.3], rtol=1e-13)
    assert_allclose(found.J, 0.0, atol=1e-15)
    rdot, rddot, speed = np.array([0.3]), np.array([-1.0]), np.array([4.0])
    out = solve_torques(found, speed, rdot, rddot)
    again, _ = forward(at, out.tau, out.motion.v, without="rear.normal")
    assert_allclose(again, out.motion.vdot, atol=1e-11)
    assert again[8 - 1] != 0.0


# ---------------------------------------------------------------------------- snakes


def snake(links: int, *, a: float = 0.2) -> Model:
    """Return a kinematic snake: links of half length a with wheels under their centres.

    Link 1 is the base and the middle of the first three links.
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


def snake_connection(r1: Any, r2: Any, a: Any) -> np.ndarray:
    """Return calA of the three-link snake for (Vx, Vy, Wz) in closed form."""
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
        calA, K = kinematic_connection(at)
        assert_allclose(calA, snake_connection(r1, r2, 0.2), rtol=1e-13, atol=1e-15)
        assert K.shape == (0, 2)
        case = classify(at)
        assert (case.kind, case.mobility, case.redundant) == ("kinematic", 2, ())


@pytest.mark.parametrize("shape", [(0.0, 0.0), (0.7, -0.7)], ids=["straight", "arc"])
def test_snake_of_constant_curvature_coasts(shape: tuple[float, float]) -> None:
    """Remark 1.11: if the snake is straight or an arc of a circle, the wheels do not determine the
    motion, and one joint motion is blocked.
    """
    at = placed(snake(3), shape)
    case = classify(at)
    assert (case.kind, case.rank, case.free, case.mobility) == ("mixed", 2, ("Vx",), 1)
    assert case.why.endswith("Vx follows from the dynamics; 1 of 2 shape motions is possible.")
    found = solve_kinematics(at)
    assert_allclose(found.K @ [1.0, 1.0], 0.0, atol=1e-15)
    out = solve_torques(found, np.array([0.5]), np.zeros(2), np.zeros(2))
    assert_allclose(out.tau_static.sum(), 0.0, atol=1e-14)
    balance(found, out, np.array([2.0]))


def test_snake_of_five_links_follows_its_head() -> None:
    """Over-constrained: four joints have two admissible motions, those of the head; each further
    link follows the one before like a trailer.
    """
    shape = np.array([0.4, 0.3, -0.2, 0.5])
    at = placed(snake(5), shape)
    found = solve_kinematics(at)
    case = classify(at)
    assert (case.kind, case.rank, case.mobility, len(case.redundant)) == (
        "over-constrained",
        3,
        2,
        2,
    )
    assert "2 of 4 shape motions are possible" in case.why
    motions = np.linalg.svd(found.K)[2][2:]
    a = 0.2
    for rdot in motions:
        V, Vy, W = found.J @ rdot
        assert_allclose(Vy, 0.0, atol=1e-14)
        for r, rate in zip(shape[1:], rdot[1:], strict=True):  # links 1, 3, 4, 5 from the front
            # The hinge moves by (V, -a W) in the frame of its leader; the centre of the follower
            # must not slip sideways.
            Vy, turn = -a * W, (np.cos(r) * -a * W - np.sin(r) * V) / a
            assert_allclose(rate, turn - W, atol=1e-13)
            V, W = np.cos(r) * V + np.sin(r) * Vy, turn


def test_static_torques_of_five_links_only_load_the_wheels() -> None:
    """Static loads: torques that only load the wheels, verified by forward dynamics."""
    at = placed(snake(5), [0.4, 0.3, -0.2, 0.5])
    found = solve_kinematics(at)
    rdot = np.linalg.svd(found.K)[2][2:].T @ np.array([0.7, -0.4])
    v = at.assemble_speeds(found.J @ rdot, rdot)
    # compatible accelerations: any solution of the rows
    rows = multiplier.evaluate_free_dynamics(
        at.tree, np.eye(3), np.zeros(3), at.geo.r, v, np.zeros(4)
    )
    across = multiplier.active_row_indices(at.tree.model, mode_of(at.tree.model))
    columns = free_columns(at.tree.model)
    vdot = np.linalg.lstsq(rows.C[across][:, columns], rows.c[across], rcond=None)[0]
    out = solve_torques(found, np.zeros(0), rdot, vdot[3:])
    assert_allclose(out.motion.vdot[columns], vdot, atol=1e-12)
    assert out.lam_static.shape == (5, 2)
    assert_allclose(at.A.T @ out.lam_static, 0.0, atol=1e-14)
    assert_allclose(rdot @ out.tau_static, 0.0, atol=1e-14)  # static loads do no work
    assert_allclose(out.lam_static.T @ out.lam, 0.0, atol=1e-12)  # the minimum-norm forces
    pinv = np.linalg.pinv(at.A.T)
    assert_allclose(out.lam, pinv @ out.motion.required[at.outer], rtol=1e-11, atol=1e-12)
    for z in (np.zeros(2), np.array([3.0, -5.0])):
        again, lam = forward(at, out.tau + out.tau_static @ z, v)
        assert_allclose(again, out.motion.vdot, atol=1e-10)
        assert_allclose(list(lam.values()), out.lam + out.lam_static @ z, atol=1e-10)
        balance(found, out, z)
    with pytest.raises(ConfigurationError, match="speeds of the joints violate the constraint"):
        solve_torques(found, np.zeros(0), rdot + [0.1, 0.0, 0.0, 0.0], vdot[3:])
    with pytest.raises(ConfigurationError, match="accelerations of the joints violate"):
        solve_torques(found, np.zeros(0), rdot, vdot[3:] + [0.1, 0.0, 0.0, 0.0])


def test_snake_connection_over_all_scalars() -> None:
    shape, expected = np.array([0.5, 0.3]), snake_connection(0.5, 0.3, 0.2)
    graph = trace.Graph()
    r = array([graph.symbol("r0"), graph.symbol("r1")])

    def traced(xs: Any) -> np.ndarray:
        return trace.evaluate(xs, {"r0": 0.5, "r1": 0.3})

    calA, _ = kinematic_connection(placed(snake(3), r), traced)
    assert_allclose(traced(list(calA.ravel())), expected.ravel(), rtol=1e-13, atol=1e-15)

    x = casadi_symbols("r", 2)

    def compiled(xs: Any) -> np.ndarray:
        out = casadi.vertcat(*[getattr(e, "sx", e) for e in xs])
        call = casadi.Function("f", [casadi.vertcat(*[e.sx for e in x])], [out])
        return np.array(call(shape)).ravel()

    calA, _ = kinematic_connection(placed(snake(3), x), compiled)
    assert_allclose(compiled(list(calA.ravel())), expected.ravel(), rtol=1e-13, atol=1e-15)

    with mpmath.workdps(50):
        exact = array([mpmath.mpf("0.5"), mpmath.mpf("0.3")])
        a = mpmath.mpf(1) / 5
        calA, _ = kinematic_connection(placed(snake(3, a=a), exact))
        assert max(abs(x) for x in (calA - snake_connection(*exact, a)).ravel()) < 1e-48

    r1, r2, a = sympy.symbols("r1 r2 a", positive=True)

    def numbers(xs: Any) -> np.ndarray:
        at = {r1: 0.5, r2: 0.3, a: 0.2}
        return np.array([float(sympy.sympify(e).subs(at)) for e in xs])

    calA, _ = kinematic_connection(placed(snake(3, a=a), [r1, r2], evaluate=numbers), numbers)
    left = calA - snake_connection(r1, r2, a)
    assert all(sympy.simplify(sympy.nsimplify(e)) == 0 for e in left.ravel())


# ---------------------------------------------------------------------------- afloat


def satellite(base: str = "SE(3)") -> Model:
    """Return a hull with three rotors at oblique angles and off its centre."""
    axes = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, -0.3], [0.1, 0.0, 1.0]])
    places = np.array([[0.3, 0.0, 0.1], [0.0, -0.2, 0.1], [-0.1, 0.2, 0.3]])
    units = axes / np.linalg.norm(axes, axis=1)[:, None]
    return Model(
        bodies=[
            Body("hull", 50.0, (0.0, 0.0, 0.0), inertia(4.0, 5.0, 6.0, xy=0.3)),
            *[
                Body(f"rotor{k}", 2.0, places[k], 0.01 * np.eye(3) + 0.01 * np.outer(u, u))
                for k, u in enumerate(units)
            ],
        ],
        joints=[Revolute(f"rotor{k}", "hull", f"rotor{k}", axes[k], places[k]) for k in range(3)],
        base=base,
    )


@pytest.mark.parametrize("fold", [True, False], ids=["folded", "not folded"])
def test_satellite_turns_against_its_rotors(fold: bool) -> None:
    """I_lock Omega + I_r rdot = 0 about the mass centre (1.3), which does not move."""
    model = satellite()
    tree = assemble(model, fold=fold)
    r = np.array([0.3, -1.0, 2.0])
    at = locomotion(tree, (), rot_x(0.4), r)
    case = classify(at)
    assert (case.kind, case.mobility, case.rank) == ("mechanical", 3, 0)
    assert "in a frame that falls with it" in case.why
    masses = np.array([b.mass for b in model.bodies])
    points = np.array([b.com for b in model.bodies])
    centre = masses @ points / masses.sum()
    locked = sum(
        b.inertia - b.mass * hat(b.com - centre) @ hat(b.com - centre) for b in model.bodies
    )
    spins = np.array([0.02 * j.axis / np.linalg.norm(j.axis) for j in model.joints]).T
    turning = np.linalg.solve(locked, spins)  # Omega = -turning rdot
    calA = mechanical_connection(at)
    assert_allclose(calA[3:], turning, rtol=1e-12)
    assert_allclose(calA[:3] + hat(-centre) @ turning, 0.0, atol=1e-13)


def test_satellite_held_off_its_mass_centre_is_not_free() -> None:
    case = classify(placed(satellite("SO(3)"), [0.0, 0.0, 0.0]))
    assert (case.kind, case.why) == ("dynamic", "gravity changes the momentum.")


def momentum(model: Model, r: np.ndarray, eta: np.ndarray, rdot: np.ndarray) -> np.ndarray:
    """Return the momentum of a cat at its waist, body by body, by central differences."""
    h = 1e-6

    def halves(s: float) -> list[tuple[np.ndarray, np.ndarray]]:
        at = placed(model, r + s * rdot)
        bodies = [model.body("rear"), model.body("front")]
        links = [at.tree.place[b.name][0] for b in bodies]
        R = [at.geo.R0[k] @ at.tree.links[k].R.T for k in links]
        local = [at.tree.point_in_link(b.name, b.com) for b in bodies]
        c = [at.geo.o0[k] + at.geo.R0[k] @ x for k, x in zip(links, local, strict=True)]
        return list(zip(R, c, strict=True))

    total = np.zeros(6)
    now = zip(halves(0.0), halves(h), halves(-h), strict=True)
    for body, ((R, c), (R1, c1), (R2, c2)) in zip(("rear", "front"), now, strict=True):
        S = (R1 - R2) @ R.T / (2 * h)
        w = eta[3:] + np.array([S[2, 1], S[0, 2], S[1, 0]])
        p = model.body(body).mass * (eta[:3] + np.cross(eta[3:], c) + (c1 - c2) / (2 * h))
        total[:3] += p
        total[3:] += np.cross(c, p) + R @ model.body(body).inertia @ R.T @ w
    return total


def test_falling_cat_has_no_momentum() -> None:
    model, r = falling_cat(), np.array([0.6, -0.4])
    at = placed(model, r)
    calA = mechanical_connection(at)
    for rdot in np.eye(2):
        assert_allclose(momentum(model, r, -calA @ rdot, rdot), 0.0, atol=1e-9)
    assert classify(at).kind == "mechanical"


def test_a_cat_held_at_its_waist_turns_further_than_a_falling_one() -> None:
    """The first keeps an angular momentum of zero about the waist, the second about the mass centre,
    where two equal masses m at the distance d have the angular momentum (m / 2) d x d'.
    """
    r, m, length = np.array([0.4, 0.2]), 2.0, 0.15
    spread = np.diag([0.008, 0.03, 0.03])
    bend, sway = rot_y(r[0]), rot_z(r[1])
    R = bend @ sway
    axes = np.column_stack([[0.0, 1.0, 0.0], bend[:, 2]])  # of both joints, in the rear half
    rear, front = np.array([-length, 0.0, 0.0]), R @ [length, 0.0, 0.0]

    def point(c: np.ndarray) -> np.ndarray:
        return -m * hat(c) @ hat(c)

    held_lock = spread + R @ spread @ R.T + point(rear) + point(front)
    held_drive = (R @ spread @ R.T + point(front)) @ axes
    apart = front - rear  # two equal masses turn about their middle with half of one of them
    free_lock = spread + R @ spread @ R.T + point(apart) / 2
    free_drive = (R @ spread @ R.T - m / 2 * hat(apart) @ hat(front)) @ axes
    held, free = np.linalg.solve(held_lock, held_drive), np.linalg.solve(free_lock, free_drive)
    assert_allclose(mechanical_connection(placed(falling_cat(base="SO(3)"), r)), held, atol=1e-12)
    assert_allclose(mechanical_connection(placed(falling_cat(), r))[3:], free, atol=1e-12)
    assert_allclose(free[0], [-0.112, 0.424], atol=5e-4)
    assert_allclose(held[0], [-0.279, 0.750], atol=5e-4)


def test_falling_cat_turns_over_by_bending_round() -> None:
    """Kane and Scher's cat: bending the waist once round turns the body about its long axis, by an
    amount that grows with the area that the bend encloses (1.4), and back if bent round backwards.
    """
    model = falling_cat()
    tree = assemble(model)

    def turned(amplitude: float, sense: float) -> np.ndarray:
        R, steps = np.eye(3), 200
        for k in range(steps):  # the midpoint rule on SO(3)
            t = 2 * np.pi * (k + 0.5) / steps * sense
            r = amplitude * np.array([np.sin(t), np.cos(t)])
            rdot = amplitude * np.array([np.cos(t), -np.sin(t)]) * 2 * np.pi / steps * sense
            at = locomotion(tree, (), np.eye(3), r)
            W = -mechanical_connection(at)[3:] @ rdot
            angle = np.linalg.norm(W)
            S = hat(W / angle)
            R = R @ (np.eye(3) + np.sin(angle) * S + (1 - np.cos(angle)) * S @ S)
        return R

    small, half = (np.arctan2(turned(x, 1.0)[2, 1], turned(x, 1.0)[1, 1]) for x in (0.1, 0.05))
    assert_allclose(small / half, 4.0, rtol=0.02)
    assert abs(small) > 1e-3
    there, back = turned(0.8, 1.0), turned(0.8, -1.0)
    assert_allclose(there @ back, np.eye(3), atol=1e-10)
    assert np.trace(there) < 2.9


def swimmer(
    *,
    mass: float = 0.5,
    added_along: float = 0.05,
    added_across: float = 0.6,
    added_turning: float = 0.0015,
    drag_along: float = 0.0,
    drag_across: float = 0.0,
    drag_turning: float = 0.0,
) -> Model:
    """Return three rods of 0.2 m in a fluid of any kind."""
    added = (added_along, added_across, added_turning)
    drag = (drag_along, drag_across, drag_turning)
    return three_links(0.2, mass, mass * 0.2**2 / 12, added, drag)


def link_frames(r: np.ndarray, length: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the Jacobian of the planar twist of each link by (eta, rdot) in its own axes, in
    closed form.
    """
    rear, front = r
    out = []
    for k, (angle, side) in enumerate(((0.0, 0.0), (rear, -1.0), (front, 1.0))):
        c, s = np.cos(angle), np.sin(angle)
        hinge = np.array([side * length / 2, 0.0])
        middle = hinge + side * length / 2 * np.array([c, s])
        J = np.zeros((3, 5))
        J[:2, :2] = np.eye(2)
        J[:2, 2] = [-middle[1], middle[0]]
        J[2, 2] = 1.0
        if k:
            arm = middle - hinge
            J[:2, 2 + k], J[2, 2 + k] = [-arm[1], arm[0]], 1.0
        turn = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        out.append(turn @ J)
    return out


def test_swimmer_in_an_ideal_fluid() -> None:
    """Hydrodynamic connection (1.10) from J' diag(mass + added) J."""
    length, mass = 0.2, 0.5
    own = np.diag([mass + 0.05, mass + 0.6, mass * length**2 / 12 + 0.0015])
    for r in (np.array([0.0, 0.0]), np.array([0.7, -0.4]), np.array([-1.2, 0.5])):
        at = placed(swimmer(), r)
        M = sum(J.T @ own @ J for J in link_frames(r, length))
        assert_allclose(
            mechanical_connection(at), np.linalg.solve(M[:3, :3], M[:3, 3:]), rtol=1e-11
        )
        case = classify(at)
        assert (case.kind, case.mobility) == ("hydrodynamic", 2)
        assert "of body and fluid" in case.why


def test_added_mass_of_one_body_suffices_for_a_connection() -> None:
    """Only the middle link of the swimmer has added mass: body and fluid conserve their momentum."""
    model = swimmer()
    first, *others = model.bodies
    alone = replace(model, bodies=(first, *(replace(body, added=None) for body in others)))
    r, length, mass = np.array([0.7, -0.4]), 0.2, 0.5
    case = classify(placed(alone, r))
    assert case.kind == "hydrodynamic"
    assert "of body and fluid" in case.why
    dry, wet = np.array([mass, mass, mass * length**2 / 12]), np.array([0.05, 0.6, 0.0015])
    middle, *ends = link_frames(r, length)
    M = middle.T @ np.diag(dry + wet) @ middle + sum(J.T @ np.diag(dry) @ J for J in ends)
    expected = np.linalg.solve(M[:3, :3], M[:3, 3:])
    assert_allclose(mechanical_connection(placed(alone, r)), expected, rtol=1e-11)


def swum(model: Model, cycle: Any, connection: Any, steps: int = 120) -> np.ndarray:
    """Return the planar displacement (x, y, angle) after one cycle of joint angles, by the midpoint
    rule.
    """
    tree = assemble(model)
    x = np.zeros(3)
    for k in range(steps):
        t, dt = 2 * np.pi * (k + 0.5) / steps, 2 * np.pi / steps
        r = cycle(t)
        step = cycle(t + dt / 2) - cycle(t - dt / 2)
        V = -connection(locomotion(tree, (), np.eye(3), r)) @ step
        c, s = np.cos(x[2] + V[2] / 2), np.sin(x[2] + V[2] / 2)
        x = x + [c * V[0] - s * V[1], s * V[0] + c * V[1], V[2]]
    return x


THICK = {"drag_along": 0.4, "drag_across": 0.9, "drag_turning": 0.9 * 0.2**2 / 12}
WEIGHTLESS = {"mass": 0.0, "added_along": 0.0, "added_across": 0.0, "added_turning": 0.0}


@pytest.mark.parametrize("water", ["ideal", "thick"])
def test_scallop_theorem(water: str) -> None:
    """A swimmer with one joint returns to its start (remark 1.6) at any speed of the joint; one
    with two joints that follow a loop in shape space does not.
    """
    ideal = water == "ideal"
    model = swimmer() if ideal else swimmer(**THICK, **WEIGHTLESS)
    connection = mechanical_connection if ideal else stokes_connection
    locked = Model(
        [b for b in model.bodies if b.name != "rear"],
        [j for j in model.joints if j.name != "rear"],
        base="SE(2)",
        gravity=np.zeros(3),
    )

    def scallop(t: float) -> np.ndarray:
        return np.array([0.8 * np.sin(t)])

    def snapping(t: float) -> np.ndarray:
        return scallop(t + 0.5 * np.sin(t))

    def reciprocal(t: float) -> np.ndarray:
        return np.array([1.0, -0.6]) * scallop(t)

    def undulation(t: float) -> np.ndarray:
        return np.array([0.8 * np.sin(t), 0.8 * np.cos(t)])

    assert_allclose(swum(locked, scallop, connection), 0.0, atol=1e-13)
    assert_allclose(swum(model, reciprocal, connection), 0.0, atol=1e-13)
    assert_allclose(swum(locked, snapping, connection), 0.0, atol=5e-6)  # the rule's error
    assert np.hypot(*swum(model, undulation, connection)[:2]) > 0.01


def test_purcell_swimmer() -> None:
    """Stokes connection: drag forces and moments are in equilibrium."""
    r = np.array([0.5, -0.8])
    at = placed(swimmer(**THICK, **WEIGHTLESS), r)
    own = np.diag([0.4, 0.9, 0.9 * 0.2**2 / 12])
    D = sum(J.T @ own @ J for J in link_frames(r, 0.2))
    assert_allclose(stokes_connection(at), np.linalg.solve(D[:3, :3], D[:3, 3:]), rtol=1e-12)
    case = classify(at)
    assert (case.kind, case.why) == ("stokes", "drag acts on bodies without inertia.")
    assert classify(placed(swimmer(**THICK), r)).kind == "dynamic"


def test_isotropic_drag_causes_no_swimming() -> None:
    """If drag is equal along and across the rods, their common centre does not move."""
    same = {"drag_along": 0.9, "drag_across": 0.9, "drag_turning": 0.9 * 0.2**2 / 12}
    r = np.array([0.5, -0.8])
    calA = stokes_connection(placed(swimmer(**same, **WEIGHTLESS), r))
    for rdot in np.eye(2):
        eta = -calA @ rdot
        velocity = np.zeros(2)
        for J, angle in zip(link_frames(r, 0.2), (0.0, *r), strict=True):
            V = J @ np.concatenate([eta, rdot])
            velocity += rot_z(angle)[:2, :2] @ V[:2] / 3
        assert_allclose(velocity, 0.0, atol=1e-15)


# ---------------------------------------------------------------------------- mixed


def test_snakeboard_is_mixed() -> None:
    """The kernel by hand: (2 l cos cos, l sin of the sum, sin of the difference)."""
    length = 0.25
    for front, rear in ((0.3, -0.3), (0.5, 0.2), (-0.9, 0.4)):
        at = placed(snakeboard(), [0.7, rear, front])
        found = solve_kinematics(at)
        kernel = np.array(
            [
                2 * length * np.cos(front) * np.cos(rear),
                length * np.sin(front + rear),
                np.sin(front - rear),
            ]
        )
        assert_allclose(found.H[:, 0], kernel / kernel[found.free[0]], rtol=1e-12, atol=1e-15)
        assert_allclose(found.J, 0.0, atol=1e-15)  # steering alone causes no motion
        case = classify(at)
        assert (case.kind, case.rank, case.mobility) == ("mixed", 2, 3)
    case = classify(placed(snakeboard(), [0.0, np.pi / 2, np.pi / 2]))
    assert (case.rank, len(case.redundant)) == (1, 1)


def test_snakeboard_momentum_equation() -> None:
    """Bloch, Krishnaprasad, Marsden and Murray (1996): with all inertia m l^2 and opposite trucks,
    `pdot = 2 Jr cos(phi)^2 phidot psidot - tan(phi) phidot p`, p being the momentum along the
    kernel (2 l cos(phi)^2, 0, sin(2 phi)).
    """
    l, m, Jr, Jw = 0.25, 4.0, 0.05, 0.01  # noqa: E741
    J = m * l**2 - Jr - 2 * Jw
    board = snakeboard(m=m, J=J, Jr=Jr, mw=0.0, Jw=Jw, l=l)
    phi, phidot, psidot = 0.4, 0.7, -1.3
    at = placed(board, [0.2, -phi, phi])
    rdot, rddot = np.array([psidot, -phidot, phidot]), np.array([0.8, -1.1, 1.1])
    M = mass_matrix(at.tree, at.geo, np.zeros(3))
    assert_allclose(M[5, 5], m * l**2, rtol=1e-13)
    moved = reduced_motion(solve_kinematics(at), np.array([0.9]), rdot, rddot)
    along = np.array([2 * l * np.cos(phi) ** 2, np.sin(2 * phi)])
    alongdot = np.array([-2 * l * np.sin(2 * phi), 2 * np.cos(2 * phi)]) * phidot
    momenta = np.array([m * moved.v[0], (M @ moved.v)[5]])
    rates = np.array([m * moved.vdot[0], (M @ moved.vdot)[5]])
    p, pdot = along @ momenta, alongdot @ momenta + along @ rates
    expected = 2 * Jr * np.cos(phi) ** 2 * phidot * psidot - np.tan(phi) * phidot * p
    assert_allclose(pdot, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "r", "driven"),
    [
        (snakeboard(), [0.7, -0.3, 0.4], None),
        (snakeboard(), [0.7, -0.3, 0.4], ["rotor"]),
        (roller_racer(), [0.5], None),
        (snake(3), [0.5, 0.3], None),
        (snake(3), [0.5, -0.5], ["r0"]),
        (snake(5), [0.4, 0.3, -0.2, 0.5], ["r0"]),
        (swimmer(**THICK), [0.5, -0.3], None),
        (swimmer(), [0.5, -0.3], ["front"]),
        (falling_cat(), [0.5, -0.3], None),
        (satellite(), [0.5, -0.3, 0.1], ["rotor0", "rotor2"]),
    ],
    ids=lambda x: None if isinstance(x, list) else getattr(x, "base", "all"),
)
def test_inverse_dynamics_inverts_forward_dynamics(
    model: Model, r: list[float], driven: list[str] | None
) -> None:
    """Torques by inverse dynamics (1.16)-(1.19), motion by forward dynamics."""
    at = placed(model, r, driven=driven)
    found = solve_kinematics(at)
    rng = np.random.default_rng(2)
    eta_r, (rdot, rddot) = rng.normal(size=len(found.free)), rng.normal(size=(2, len(at.inner)))
    out = solve_torques(found, eta_r, rdot, rddot)
    assert out.tau_static.shape == (len(at.inner), 0)
    again, lam = forward(at, out.tau, out.motion.v)
    scale = max(1.0, np.abs(again).max())
    assert_allclose(again, out.motion.vdot, atol=1e-11 * scale)
    assert_allclose(
        list(lam.values()), out.lam, atol=1e-10 * max(1.0, np.abs(out.lam).max(initial=0))
    )
    assert_allclose(again[at.inner], rddot, atol=1e-11 * scale)
    assert_allclose(again[at.outer][found.free], out.motion.etardot, atol=1e-11 * scale)
    balance(found, out, np.zeros(0))


def test_reduced_dynamics_under_a_push() -> None:
    """Without constraint rows, H = 1 and (1.8) remains; an external force is included."""
    at = placed(satellite(), [0.0, 0.0, 0.0])
    found = solve_kinematics(at)
    assert_allclose(found.H, np.eye(6))
    push = np.array([0.0, 0.0, 56.0 * 9.81, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    masses = np.array([b.mass for b in at.tree.model.bodies])
    centre = masses @ np.array([b.com for b in at.tree.model.bodies]) / masses.sum()
    push[3:6] = np.cross(centre, push[:3])
    moved = reduced_motion(found, np.zeros(6), np.zeros(3), np.zeros(3), push)
    assert_allclose(moved.vdot, 0.0, atol=1e-12)


def test_reduced_dynamics_over_symbols() -> None:
    """The mixed case traced: etardot of the snakeboard equals that on floats."""
    graph = trace.Graph()
    values = {"r": [0.7, -0.3, 0.4], "d": [0.5, 0.2, -0.6], "a": [1.0, -2.0, 0.3], "e": [0.8]}
    point = {f"{k}{i}": x for k, xs in values.items() for i, x in enumerate(xs)}
    symbols = {
        k: array([graph.symbol(f"{k}{i}") for i in range(len(xs))]) for k, xs in values.items()
    }

    def evaluate(xs: Any) -> np.ndarray:
        return trace.evaluate(xs, point)

    found = solve_kinematics(placed(snakeboard(), symbols["r"]), evaluate)
    out = solve_torques(found, symbols["e"], symbols["d"], symbols["a"])
    floats = {k: np.array(xs) for k, xs in values.items()}
    numbers = solve_kinematics(placed(snakeboard(), floats["r"]))
    expected = solve_torques(numbers, floats["e"], floats["d"], floats["a"])
    assert_allclose(evaluate(list(out.tau)), expected.tau, rtol=1e-12)
    assert_allclose(evaluate(list(out.lam)), expected.lam, rtol=1e-12)
    assert_allclose(evaluate(list(out.motion.vdot)), expected.motion.vdot, rtol=1e-12, atol=1e-13)


# ---------------------------------------------------------------------------- errors


def test_errors_name_the_remedy() -> None:
    with pytest.raises(ModelError, match=r"driven: no joint 'rotr'. Did you mean 'rotor'\?"):
        placed(snakeboard(), [0.0, 0.0, 0.0], driven=["rotr"])
    moving = Model([Body("plate", 1.0)], base="SE(2)", ground=lambda t: ([t, 0, 0], [1, 0, 0]))
    with pytest.raises(ModelError, match="requires ground at rest"):
        placed(moving, [])
    with pytest.raises(SingularityError, match="No drag resists Vx, Vy, Wz"):
        stokes_connection(placed(swimmer(), [0.0, 0.0]))
    with pytest.raises(SingularityError, match="no inertia resists"):
        mechanical_connection(placed(swimmer(**THICK, **WEIGHTLESS), [0.0, 0.0]))
    bare = Model(
        [Body("a"), Body("b", 1.0, (1.0, 0.0, 0.0))],
        [Prismatic("slide", "a", "b", AHEAD)],
        contacts=[Blade("blade", "a", (0.0, 0.0, 0.0), AHEAD)],
        base="SE(2)",
    )
    with pytest.raises(SingularityError, match="no inertia resists 'Vx'"):
        reduced_motion(
            solve_kinematics(placed(bare, [0.0], driven=[])), np.ones(3), np.zeros(0), np.zeros(0)
        )


def test_joints_with_a_law_are_driven() -> None:
    at = placed(snakeboard(drive="sine"), [0.1, 0.2, 0.3], driven=["rotor"])
    assert at.inner == [6, 7, 8]
    assert classify(at).kind == "mixed"


def test_a_fixed_base_has_an_empty_connection() -> None:
    """With a fixed base there is no eta and no connection; a pin turns an arm into a closed loop."""
    arm = Model(
        [Body(str(k), 1.0, (0.5 * k, 0.0, 0.0), inertia(0.1, 0.1, 0.1)) for k in range(4)],
        [Revolute(f"r{k}", str(k), str(k + 1), UP, (0.5 * k, 0.0, 0.0)) for k in range(3)],
        contacts=[Pin("grip", "3", (1.5, 0.0, 0.0), axes="xy")],
        base="fixed",
    )
    at = placed(arm, [0.5, 0.4, -0.9])
    case = classify(at)
    assert (case.kind, case.rank, case.mobility) == ("over-constrained", 0, 1)
    open_arm = placed(arm, [0.5, 0.4, -0.9], statuses={"grip": "open"})
    assert (classify(open_arm).kind, classify(open_arm).mobility) == ("kinematic", 3)
    assert kinematic_connection(open_arm)[0].shape == (0, 3)


def test_independence_is_a_matter_of_directions_not_of_sizes():
    """Scaling rows does not change which rows are independent."""
    small = np.array([[1e-6, 0.0, 0.0], [0.0, 1.0, 0.0], [1e-6, 1e-6, 0.0], [0.0, 0.0, 1e3]])
    assert independent_vectors(small, []) == [0, 1, 3]
    assert independent_vectors(small, [np.array([1.0, 0.0, 0.0])]) == [1, 3]
