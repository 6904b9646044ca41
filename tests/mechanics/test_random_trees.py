"""Free dynamics and constraint rows of random trees, compared with five independent derivations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from draisine.algebra import lie
from draisine.algebra.lie import (
    Ad,
    Pose,
    ad,
    cross,
    hat,
    inverse,
    quaternion,
    quaternion_rate,
    rotation,
)
from draisine.algebra.scalar import array, cos, sin
from draisine.algebra.trace import Graph, evaluate, tangent
from draisine.errors import RedundancyError
from draisine.mechanics import constraints, energy
from draisine.mechanics.constraints import mode_of
from draisine.mechanics.formulations import multiplier, projected
from draisine.mechanics.formulations._articulated import accelerations
from draisine.mechanics.formulations._tree_kernel import eliminate_tree, plan_tree
from draisine.mechanics.kinematics import (
    geometry,
    point,
    point_drift,
    point_matrix,
    velocities,
)
from draisine.mechanics.newton_euler import inverse_dynamics, link_wrenches, mass_matrix
from draisine.mechanics.tree import as_floats, assemble
from draisine.model import (
    BASE_GROUPS,
    Ball,
    Blade,
    Body,
    Disc,
    Joint,
    Model,
    Pin,
    Prismatic,
    Revolute,
    Torus,
    Wheel,
)
from draisine.vehicles.bicycle.whipple import whipple

few = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=30,
    suppress_health_check=list(HealthCheck),
)
folding = pytest.mark.parametrize("fold", [True, False], ids=["folded", "not folded"])


@dataclass(frozen=True)
class Moving:
    """Machine with one state; `speeds` and `rates` are v and vdot with all six components of the
    base.
    """

    model: Model
    R: np.ndarray
    p: np.ndarray
    r: np.ndarray
    speeds: np.ndarray
    rates: np.ndarray
    columns: list[int]

    def __repr__(self) -> str:
        joints = [(type(j).__name__, j.parent, j.child) for j in self.model.joints]
        return f"{self.model.base}, {len(self.model.bodies)} bodies: {joints}, r = {self.r}"


def cloud(rng: np.random.Generator, name: str, fluid: bool) -> Body:
    """Return a body made of six mass points, with a physically valid full inertia tensor. Half of
    the bodies have fluid terms.
    """
    masses, points = rng.uniform(0.1, 0.5, 6), rng.normal(size=(6, 3)) + rng.normal(size=3)
    com = masses @ points / masses.sum()
    tensor = sum(
        m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, points - com, strict=True)
    )
    if not fluid or rng.random() < 0.5:
        return Body(name, masses.sum(), com, tensor)
    root = rng.normal(size=(2, 6, 6)) / 2
    return Body(name, masses.sum(), com, tensor, root[0] @ root[0].T, root[1] @ root[1].T)


def machine(seed: int, most: int, groups: Sequence[str], fluid: bool) -> Moving:
    """Return a random machine of up to `most` bodies in a random state."""
    rng = np.random.default_rng(seed)
    group, n = groups[rng.integers(len(groups))], int(rng.integers(1, most + 1))
    parents = [int(rng.integers(k + 1)) for k in range(n - 1)]
    kinds = [("revolute", "prismatic", "screw", "wheel")[rng.integers(4)] for _ in parents]
    bodies, joints, contacts = [cloud(rng, "0", fluid)], [], []
    for k, (parent, kind) in enumerate(zip(parents, kinds, strict=True), start=1):
        axis, through = rng.normal(size=3), rng.normal(size=3)
        between = (f"j{k}", str(parent), str(k), axis, through)
        joint = Prismatic if kind == "prismatic" else Revolute
        screw = kind == "screw"
        joints.append(Joint(*between, slide=rng.normal()) if screw else joint(*between))
        if kind != "wheel":
            bodies.append(cloud(rng, str(k), fluid))
            continue
        a = axis / np.linalg.norm(axis)
        hub = through + rng.normal() * a
        mass, across, along = rng.uniform(0.5, 2), rng.uniform(0.5, 1), rng.uniform(0.2, 1)
        tensor = across * np.eye(3) + (along - across) * np.outer(a, a)
        bodies.append(Body(str(k), mass, hub, tensor))
        surface = (Disc(0.7), Torus(0.7, 0.2), Ball(0.7))[rng.integers(3)]
        contacts.append(Wheel(f"w{k}", str(k), hub, axis, surface))
    last = max(k for k, kind in enumerate(["body", *kinds]) if kind != "wheel")
    contacts.append(Blade("blade", str(last), *rng.normal(size=(2, 3)), lifts=True))
    contacts.append(Pin("pin", str(last), rng.normal(size=3)))
    rng.shuffle(joints)
    rest = bodies[1:]
    rng.shuffle(rest)
    model = Model([bodies[0], *rest], joints, contacts, gravity=rng.normal(size=3) * 5, base=group)
    columns = [*BASE_GROUPS[group], *range(6, 6 + len(joints))]
    R = np.eye(3)
    if group == "SE(2)":
        R = lie.rot_z(rng.uniform(-3, 3))
    elif group in ("SE(3)", "SO(3)"):
        q = rng.normal(size=4)
        R = rotation(q / np.linalg.norm(q))
    speeds, rates = np.zeros(6 + len(joints)), np.zeros(6 + len(joints))
    speeds[columns], rates[columns] = rng.normal(size=(2, len(columns)))
    r = rng.uniform(-2, 2, len(joints))
    return Moving(model, R, rng.normal(size=3), r, speeds, rates, columns)


def machines(
    most: int = 12, groups: Sequence[str] = tuple(BASE_GROUPS), fluid: bool = True
) -> st.SearchStrategy[Moving]:
    """Return a strategy that draws all from one seed, so that few examples vary widely."""
    return st.integers(0, 2**32 - 1).map(lambda seed: machine(seed, most, groups, fluid))


def free(x: Moving, fold: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return M and F by the recursion under test, for all six components of the base and the
    joints.
    """
    tree = assemble(x.model, fold=fold)
    geo = geometry(tree, x.r)
    zero, still = np.zeros(3), np.zeros(len(x.speeds))
    vel = velocities(tree, geo, x.speeds[:3], x.speeds[3:6], x.speeds[6:], zero)
    F = inverse_dynamics(tree, geo, vel, still, zero, zero, x.R.T @ x.model.gravity)
    M = mass_matrix(tree, geo, zero)
    assert M.dtype == F.dtype == float
    return M, F


def close(found: Any, expected: Any, like: Any = None, rtol: float = 1e-12) -> None:
    """Assert that two arrays agree relative to the largest entry of `like` or of the expected
    array.
    """
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    scale = np.abs(expected if like is None else like).max(initial=0.0)
    assert_allclose(found, expected, rtol=0, atol=rtol * scale)


@folding
@few
@given(x=machines())
def test_inverse_dynamics_of_unit_accelerations_are_columns_of_the_mass_matrix(
    fold: bool, x: Moving
) -> None:
    """IFAC 6.1, about any point of the base, fixed or moving relative to the base."""
    tree = assemble(x.model, fold=fold)
    geo = geometry(tree, x.r)
    gravity = x.R.T @ x.model.gravity
    n = len(x.speeds)
    for ref, refdot in ((np.zeros(3), np.zeros(3)), (x.p, x.rates[:3])):
        rest = velocities(tree, geo, np.zeros(3), np.zeros(3), np.zeros(n - 6), ref)
        vel = velocities(tree, geo, x.speeds[:3], x.speeds[3:6], x.speeds[6:], ref)

        def inverse_map(vdot: np.ndarray, vel: Any = vel, ref: Any = ref, by: Any = refdot) -> Any:
            return inverse_dynamics(tree, geo, vel, vdot, ref, by, gravity)

        M = mass_matrix(tree, geo, ref)
        weight = inverse_map(np.zeros(n), rest)
        close(np.column_stack([inverse_map(e, rest) - weight for e in np.eye(n)]), M)
        close(M @ x.rates + inverse_map(np.zeros(n)), inverse_map(x.rates))
    to_ref = np.eye(n)
    to_ref[:3, 3:6] = -hat(x.p)  # V at ref = V at the origin + W x ref
    close(to_ref.T @ M @ to_ref, mass_matrix(tree, geo, np.zeros(3)))


def appendix_a(x: Moving) -> tuple[np.ndarray, np.ndarray]:
    """Return M and F by IFAC appendix A with its errata, in 6 x 6 form.

    Body 0 starts with its own inertia and forces, calM+ Z ends Q+, f_ext is minus the weight; frames
    sit on the joints with the drawing's axes. A screw takes A = (slide a, turn a).
    """
    model, n = x.model, len(x.model.joints)
    order = ["0"]
    for name in order:
        order += [j.child for j in model.joints if j.parent == name]
    joint = {j.child: (k, j) for k, j in enumerate(model.joints)}
    origin = {"0": np.zeros(3)} | {name: j.through for name, (_, j) in joint.items()}
    eta, up, Z, J = {"0": x.speeds[:6]}, {"0": x.R.T @ model.gravity}, {"0": np.zeros(6)}, {}
    J["0"] = np.zeros((6, n))
    Adj, A, zeta, composite, force, coupling = {}, {}, {"0": np.zeros(6)}, {}, {}, {}
    for name in order:
        body = model.body(name)
        if name != "0":
            k, j = joint[name]
            a = j.axis / np.linalg.norm(j.axis)
            d, angle = origin[name] - origin[j.parent] + a * j.slide * x.r[k], j.turn * x.r[k]
            R = np.cos(angle) * np.eye(3) + np.sin(angle) * hat(a)
            R = R + (1 - np.cos(angle)) * np.outer(a, a)
            A[name] = np.concatenate([j.slide * a, j.turn * a])
            Adj[name] = Ad(inverse(Pose(R, d)))
            carried, rate = Adj[name] @ eta[j.parent], x.speeds[6 + k]
            eta[name] = carried + rate * A[name]
            zeta[name] = ad(carried) @ A[name] * rate
            if j.slide == 0.0:  # eq. (5) as printed
                V, W, P = R.T @ eta[j.parent][:3], R.T @ eta[j.parent][3:], -(R.T @ d)
                turned = np.concatenate(
                    [np.cross(V + np.cross(P, W), rate * a), rate * np.cross(W, a)]
                )
                assert_allclose(zeta[name], turned, rtol=0, atol=1e-12 * max(1, abs(turned).max()))
            J[name] = Adj[name] @ J[j.parent] + np.outer(A[name], np.eye(n)[k])
            Z[name] = Adj[name] @ (zeta[j.parent] + Z[j.parent])
            up[name] = R.T @ up[j.parent]
        c, m = body.com - origin[name], body.mass
        MS, inertia = m * hat(c), body.inertia - m * hat(c) @ hat(c)
        V, W = eta[name][:3], eta[name][3:]
        composite[name] = np.block([[m * np.eye(3), -MS], [MS, inertia]])
        f_in = [
            np.cross(W, m * V) - np.cross(W, MS @ W),
            np.cross(W, inertia @ W) + MS @ np.cross(W, V),
        ]
        weight = np.concatenate([m * up[name], MS @ up[name]])
        force[name] = np.concatenate(f_in) - weight
        if body.added is not None:  # Kirchhoff's equations
            X = Ad(Pose(np.eye(3), origin[name]))
            added, drag = X.T @ body.added @ X, X.T @ body.drag @ X
            composite[name] = composite[name] + added
            force[name] = force[name] - ad(eta[name]).T @ added @ eta[name] + drag @ eta[name]
        coupling[name] = np.zeros((6, n))
    m_plus, Q = np.zeros((n, n)), np.zeros(n)
    for name in reversed(order[1:]):
        k, j = joint[name]
        i, X, own = j.parent, Adj[name], np.outer(A[name], np.eye(n)[k])
        m_plus[k] += A[name] @ composite[name] @ J[name]
        Q[k] = A[name] @ (force[name] + composite[name] @ (zeta[name] + Z[name]))
        composite[i] = composite[i] + X.T @ composite[name] @ X
        force[i] = force[i] + X.T @ (force[name] + composite[name] @ zeta[name])
        coupling[i] = coupling[i] + X.T @ (coupling[name] + composite[name] @ own)
    m_plus = m_plus + m_plus.T - np.diag(np.diag(m_plus))
    M = np.block([[composite["0"], coupling["0"]], [coupling["0"].T, m_plus]])
    return M, np.concatenate([force["0"], Q])


@folding
@few
@given(x=machines())
def test_the_recursion_equals_appendix_a(fold: bool, x: Moving) -> None:
    M, F = free(x, fold)
    M_plus, F_plus = appendix_a(x)
    close(M, M_plus)
    close(F, F_plus)


def in_pinocchio(pin: Any, x: Moving) -> tuple[np.ndarray, np.ndarray]:
    """Return M and F by Pinocchio, in the order of our speeds."""
    q = quaternion(x.R)[[1, 2, 3, 0]]  # x, y, z, w
    roots = {
        "SE(3)": (pin.JointModelFreeFlyer, [*x.p, *q]),
        "SE(2)": (pin.JointModelPlanar, [*x.p[:2], x.R[0, 0], x.R[1, 0]]),
        "SO(3)": (pin.JointModelSpherical, [*q]),
        "translations": (pin.JointModelTranslation, [*x.p]),
    }
    twin = pin.Model()
    twin.gravity.linear = x.model.gravity
    root, placed, left = [], {"0": 0}, ["0"]
    if x.model.base in roots:
        kind, root = roots[x.model.base]
        placed["0"] = twin.addJoint(0, kind(), pin.SE3.Identity(), "base")
    origin, columns = {"0": np.zeros(3)}, list(range(len(BASE_GROUPS[x.model.base])))
    own = {}
    while left:  # depth first: Pinocchio wants the joints of a branch side by side
        name = left.pop()
        if name != "0":
            k, j = next((k, j) for k, j in enumerate(x.model.joints) if j.child == name)
            at = pin.SE3(np.eye(3), j.through - origin[j.parent])
            axis = j.axis / np.linalg.norm(j.axis)
            if not j.turn:
                kind = pin.JointModelPrismaticUnaligned(axis)
            elif j.slide:
                kind = pin.JointModelHelicalUnaligned(axis, j.slide)
            else:
                kind = pin.JointModelRevoluteUnaligned(axis)
            own[k] = placed[name] = twin.addJoint(placed[j.parent], kind, at, j.name)
            origin[name] = j.through
        body = x.model.body(name)
        inertia = pin.Inertia(body.mass, body.com - origin[name], body.inertia)
        twin.appendBodyToJoint(placed[name], inertia, pin.SE3.Identity())
        left += [j.child for j in x.model.joints if j.parent == name]
    columns += [twin.idx_vs[own[k]] for k in range(len(x.model.joints))]
    where = np.zeros(twin.nq)
    where[: len(root)] = root
    where[[twin.idx_qs[own[k]] for k in range(len(x.model.joints))]] = x.r
    speeds = np.zeros(twin.nv)
    speeds[columns] = x.speeds[x.columns]
    data = twin.createData()
    M = np.triu(pin.crba(twin, data, where))
    M = M + np.triu(M, 1).T
    F = pin.nonLinearEffects(twin, data, where, speeds)
    return M[np.ix_(columns, columns)], F[columns]


@folding
@few
@given(x=machines(fluid=False))
def test_the_recursion_equals_pinocchio(fold: bool, x: Moving) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio (extra `peers`) is not installed")
    M, F = free(x, fold)
    M_pin, F_pin = in_pinocchio(pin, x)
    close(M[np.ix_(x.columns, x.columns)], M_pin, M)
    close(F[x.columns], F_pin, F)


@folding
@few
@given(x=machines())
def test_articulated_bodies_satisfy_the_equations_of_motion(fold: bool, x: Moving) -> None:
    """The accelerations satisfy M vdot + F = Q for any inertia of the tree."""
    tree = assemble(x.model, fold=fold)
    geo = geometry(tree, x.r)
    zero, still = np.zeros(3), np.zeros(len(x.speeds))
    vel = velocities(tree, geo, x.speeds[:3], x.speeds[3:6], x.speeds[6:], zero)
    needed = link_wrenches(tree, geo, vel, still, zero, zero, x.R.T @ x.model.gravity)
    everything = eliminate_tree(tree, geo, [], range(len(x.columns)), [])
    vdot = accelerations(everything, needed, x.rates, [])
    M, F = free(x, fold)
    used = M[np.ix_(x.columns, x.columns)] @ vdot
    like = np.abs(M[np.ix_(x.columns, x.columns)]) @ np.abs(vdot)
    close(used + F[x.columns], x.rates[x.columns], like=[*like, *F], rtol=1e-12)


@folding
@settings(few, max_examples=40)
@given(x=machines(), choice=st.integers(0, 2**32 - 1))
def test_rows_are_solved_joint_by_joint(fold: bool, x: Moving, choice: int) -> None:
    """Speeds, their transpose, accelerations and multipliers of an elimination along the tree are
    those of all rows at once: `C v = b`, `M vdot + F = Q + C' lam`, `C vdot = c`.
    """
    rng = np.random.default_rng(choice)
    joints = list(x.model.joints)
    if joints and rng.random() < 0.5:
        k = int(rng.integers(len(joints)))
        joints[k] = replace(joints[k], motion=lambda t: (sin(t), cos(t), -sin(t)))
    model = replace(x.model, joints=joints)
    statuses = {c.name: rng.choice(list(c.rows)) for c in model.contacts}
    held = [name for name, status in statuses.items() if status not in ("open", "free")]
    statuses |= dict.fromkeys(held[2:], "open")
    tree, mode = assemble(model, fold=fold), mode_of(model, statuses)
    found = projected.constraint_rows(tree, mode, x.R, x.r, x.p)
    found = replace(found, reference=None, ref=np.zeros(3), active=[
        replace(a, ref=np.zeros(3)) for a in found.active
    ])  # fmt: skip
    planned = plan_tree(tree, found.geo, found.local, as_floats)
    if planned is None:
        reject()
    independent, pivots = planned
    C, m, t = found.C[:, x.columns], len(found.C), 0.3
    b = constraints.velocity_targets(tree, found.geo, found.world, found.active, found.p, t)
    moving = projected.reconstruct_velocities(
        found, x.rates[: len(independent)], t, independent, pivots, True
    )
    v = moving.speeds[x.columns]
    like = np.abs(C) @ np.abs(v)
    close(C @ v, b, like=[1, *like], rtol=1e-10)
    close(v[independent], x.rates[: len(independent)], rtol=1e-14)
    force = np.zeros(len(x.speeds))
    force[6:] = rng.normal(size=len(joints))
    out = projected.solve_reduced_dynamics(moving, force, t, model.gravity, {})
    vdot, still = out.vdot[x.columns], np.zeros(len(x.speeds))
    gravity = x.R.T @ model.gravity
    zero = np.zeros(3)
    F = inverse_dynamics(tree, found.geo, moving.vel, still, zero, zero, gravity)[x.columns]
    M = mass_matrix(tree, found.geo, zero)[np.ix_(x.columns, x.columns)]
    c = constraints.acceleration_targets(
        tree, found.geo, found.world, moving.vel, found.active, zero, found.p, t
    )
    reach = np.abs(M) @ np.abs(vdot)
    size = np.abs(C.T) @ np.abs(out.multipliers) if m else [0.0]
    close(C @ vdot, c, like=[1, *(np.abs(C) @ np.abs(vdot)), *c], rtol=1e-9)
    balance = M @ vdot + F - force[x.columns] - C.T @ out.multipliers
    close(balance, 0.0, like=[1, *reach, *F, *size], rtol=1e-9)


@folding
@few
@given(x=machines())
def test_energy_and_momenta_agree_with_the_mass_matrix(fold: bool, x: Moving) -> None:
    tree = assemble(x.model, fold=fold)
    geo = geometry(tree, x.r)
    world = constraints.ground(tree, geo, x.R)
    vel = velocities(tree, geo, x.speeds[:3], x.speeds[3:6], x.speeds[6:], np.zeros(3))
    linear, angular = energy.total_momenta(tree, geo, vel, world, x.p)
    M = mass_matrix(tree, geo, np.zeros(3))
    P, L = (M @ x.speeds)[:3], (M @ x.speeds)[3:6]
    close(energy.kinetic_energy(tree, vel), x.speeds @ M @ x.speeds / 2, like=np.abs(M))
    close(linear, x.R @ P, like=np.abs(M))
    close(angular, x.R @ L + cross(x.p, x.R @ P), like=np.abs(M))


class Lagrange:
    """Lagrange's equations of a machine: its energies as polynomials (SymPy) in q, qdot = d, and the
    cosines c and sines s of the angles; the base has a position and Euler angles.

    With v = S qdot, what they ask for is S' (M vdot + F).
    """

    def __init__(self, model: Model) -> None:
        slides = {"SE(2)": 2, "SO(3)": 0, "fixed": 0}.get(model.base, 3)
        turns = {"SE(3)": 3, "SO(3)": 3, "SE(2)": 1}.get(model.base, 0)
        n = slides + turns + len(model.joints)
        _, *symbols = sympy.ring([f"{x}{k}" for x in "qcsd" for k in range(n)], sympy.RR)
        self.q, self.c, self.s, self.d = (symbols[k * n : k * n + n] for k in range(4))
        self.zero = 0 * symbols[0]
        R, W = np.eye(3) + self.zero, np.array([self.zero] * 3)
        for a, k in zip(np.eye(3)[[2, 0, 1]], range(slides, slides + turns), strict=False):
            E = self.turn(a, k)  # yaw, then lean, then pitch
            R, W = R @ E, E.T @ W + a * self.d[k]
        rest = [self.zero] * (3 - slides)
        p, pdot = np.array([*self.q[:slides], *rest]), np.array([*self.d[:slides], *rest])
        self.eta = [*(R.T @ pdot), *W]
        at = {"0": (R.T @ pdot, W, R.T @ model.gravity, p @ model.gravity)}
        left = list(enumerate(model.joints, start=slides + turns))
        while left:
            k, joint = left.pop(0)
            if joint.parent in at:
                at[joint.child] = self.across(joint, k, *at[joint.parent])
            else:
                left.append((k, joint))
        self.L = self.loss = self.zero  # Rayleigh's function of the drag
        for body in model.bodies:
            V, W, down, fallen = at[body.name]
            v = V + cross(W, body.com)
            self.L += v @ v * (body.mass / 2) + W @ (body.inertia @ W) / 2
            self.L += (fallen + down @ body.com) * body.mass
            if body.added is not None:
                eta = np.concatenate([V, W])
                self.L += eta @ (body.added @ eta) / 2
                self.loss += eta @ (body.drag @ eta) / 2

    def turn(self, a: np.ndarray, k: int) -> np.ndarray:
        """Return the rotation about a unit vector by the angle q_k."""
        return np.eye(3) + hat(a) * self.s[k] + hat(a) @ hat(a) * (1 - self.c[k])

    def across(self, joint: Any, k: int, V: Any, W: Any, down: Any, fallen: Any) -> Any:
        """Return a child's velocities (of its drawing's frame), gravity and work of gravity."""
        a, x = joint.axis / np.linalg.norm(joint.axis), joint.through
        E = self.turn(a, k) if joint.turn else np.eye(3)
        spun = E.T @ W + a * self.d[k] * joint.turn
        slid = x + a * self.q[k] * joint.slide
        moved = E.T @ (V + cross(W, slid) + a * self.d[k] * joint.slide) - cross(spun, x)
        return moved, spun, E.T @ down, fallen + down @ slid - (E.T @ down) @ x

    def by(self, p: Any, k: int) -> Any:
        """Return the derivative of a polynomial by q_k."""
        return p.diff(self.q[k]) + p.diff(self.s[k]) * self.c[k] - p.diff(self.c[k]) * self.s[k]

    def at(self, p: Any, q: np.ndarray, qdot: np.ndarray) -> float:
        """Return the value of a polynomial."""
        x = np.concatenate([q, np.cos(q), np.sin(q), qdot]).astype(np.longdouble)
        terms = p.terms()
        powers = np.array([m for m, _ in terms], dtype=int).reshape(len(terms), len(x))
        return np.prod(x**powers, axis=1) @ np.array([c for _, c in terms], dtype=np.longdouble)

    def rate(self, p: Any, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray) -> float:
        """Return the time derivative of a polynomial along a motion."""
        flow = sum(self.at(self.by(p, k), q, qdot) * x for k, x in enumerate(qdot))
        return flow + sum(
            self.at(p.diff(d), q, qdot) * x for d, x in zip(self.d, qddot, strict=True)
        )

    def forces(self, q: np.ndarray, qdot: np.ndarray, qddot: np.ndarray) -> np.ndarray:
        """Return d/dt dL/dqdot - dL/dq + dloss/dqdot along a motion."""
        out = []
        for k, d in enumerate(self.d):
            rise = self.rate(self.L.diff(d), q, qdot, qddot)
            out.append(rise + self.at(self.loss.diff(d) - self.by(self.L, k), q, qdot))
        return np.array(out)


@settings(few, max_examples=16)
@given(x=machines(most=3))
def test_the_recursion_equals_lagrange(x: Moving) -> None:
    n, joints = len(x.columns), len(x.r)
    if n == 0:
        return
    twin = Lagrange(x.model)
    q, qdot, qddot = np.random.default_rng(n).uniform(-1, 1, (3, n))
    v = [twin.eta[k] for k in x.columns if k < 6] + twin.d[n - joints :]
    S = np.array([[twin.at(speed.diff(d), q, qdot) for d in twin.d] for speed in v])
    speeds, rates = np.zeros((2, 6 + joints))
    speeds[x.columns] = [twin.at(speed, q, qdot) for speed in v]
    rates[x.columns] = [twin.rate(speed, q, qdot, qddot) for speed in v]
    turns = sum(3 <= k < 6 for k in x.columns)
    yaw, lean, pitch = [*q[n - joints - turns : n - joints], 0.0, 0.0, 0.0][:3]
    R = lie.rot_z(yaw) @ lie.rot_x(lean) @ lie.rot_y(pitch)
    asked = twin.forces(q, qdot, qddot)
    for fold in (True, False):
        M, F = free(replace(x, R=R, r=q[n - joints :], speeds=speeds), fold)
        close(S.T @ (M @ rates + F)[x.columns], asked, F)


def turntable(t: Any) -> tuple[list[Any], list[Any]]:
    """Return a ground that translates and rotates in its own plane."""
    return [sin(t), 0.3 * t, cos(2 * t)], [cos(t), 0.3, -2 * sin(2 * t)]


class Traced:
    """A machine with symbols for its configuration, to be differentiated along its motion.

    `s` stands for a time that passes with rate 1; the base's velocity is taken at `ref`.
    """

    def __init__(self, x: Moving, ref: Any = None, refdot: Any = None) -> None:
        graph = Graph()
        n = len(x.r)
        self.s = graph.symbol("s")
        self.q, self.p, self.r, self.v, self.t = (
            array([graph.symbol(f"{name}{k}") for k in range(size)]) if size else array([])
            for name, size in (("q", 4), ("p", 3), ("r", n), ("v", 6 + n), ("t", 1))
        )
        self.R = rotation(self.q)
        self.ref = np.zeros(3) if ref is None else ref + refdot * self.s
        self.point = {"s": 0.0, "t0": 0.3}
        for name, values in (("q", quaternion(x.R)), ("p", x.p), ("r", x.r), ("v", x.speeds)):
            self.point |= {f"{name}{k}": float(value) for k, value in enumerate(values)}

    def at(self, xs: Any) -> np.ndarray:
        """Return the value of expressions at the state."""
        xs = np.asarray(xs, dtype=object)
        return evaluate(list(xs.ravel()), self.point).reshape(xs.shape)

    def rate(self, xs: Any, speeds: Any = None) -> np.ndarray:
        """Return the time derivative of expressions along the motion, v being constant."""
        v = self.v if speeds is None else speeds
        qdot = quaternion_rate(self.q, v[3:6])
        pdot = self.R @ (v[:3] - cross(v[3:6], self.ref))
        seed = {"s": 1.0, "t0": 1.0} | {f"q{k}": e for k, e in enumerate(qdot)}
        seed |= {f"p{k}": e for k, e in enumerate(pdot)} | {f"r{k}": e for k, e in enumerate(v[6:])}
        xs = np.asarray(xs, dtype=object)
        return self.at(tangent(list(xs.ravel()), seed)).reshape(xs.shape)


@settings(few, max_examples=15)
@given(x=machines(most=6))
def test_the_point_jacobian_yields_the_velocity_of_a_point(x: Moving) -> None:
    """P v is the velocity of a material point, `point_drift` returns Pdot v, also of a point that
    wanders over its body while the reference point wanders over the base.
    """
    rng = np.random.default_rng(len(x.r))
    ref, refdot, rho, rhodot = rng.normal(size=(4, 3))
    sym = Traced(x, ref, refdot)
    tree = assemble(x.model, fold=False)
    geo = geometry(tree, sym.r)
    floats = geometry(tree, x.r)
    vel = velocities(tree, floats, x.speeds[:3], x.speeds[3:6], x.speeds[6:], ref)
    for link in range(len(tree.links)):
        fixed = point(geo, link, None, rho)
        P = point_matrix(tree, geo, fixed, sym.ref)
        velocity = sym.rate(sym.p + sym.R @ fixed.c)
        close(sym.at(sym.R @ (P @ sym.v)), velocity)
        wandering = point(geo, link, None, rho + rhodot * sym.s)
        P = point_matrix(tree, geo, wandering, sym.ref)
        at = point(floats, link, None, rho)
        drift, cdot = point_drift(tree, floats, vel, at, rhodot, refdot)
        close(cdot, sym.rate(wandering.c), like=[1, *cdot])
        close(drift, sym.rate(P @ sym.v), like=[1, *drift])


@folding
@settings(few, max_examples=14)
@given(x=machines(most=5, fluid=False))
def test_contact_rows_are_rates_of_gaps_and_velocities(fold: bool, x: Moving) -> None:
    """C v against the motion of material points and the rate of gaps; c = bdot - Cdot v on ground
    that moves.
    """
    sym = Traced(x)
    model = replace(x.model, ground=turntable)
    tree, whole = assemble(model, fold=fold), assemble(model, fold=False)
    inputs, now = np.zeros(len(model.inputs)), sym.point["t0"]
    found = multiplier.evaluate_free_dynamics(
        tree, sym.R, sym.p, sym.r, sym.v, array(inputs), sym.t[0]
    )
    here = multiplier.evaluate_free_dynamics(tree, x.R, x.p, x.r, x.speeds, inputs, now)
    rows = here.C @ x.speeds
    close(sym.at(found.C), here.C)
    geo, floats = geometry(whole, sym.r), geometry(whole, x.r)
    moved, world = constraints.ground(whole, geo, sym.R), constraints.ground(whole, floats, x.R)
    for k, contact in enumerate(model.contacts):
        own = slice(3 * k, 3 * k + 3)
        at, _ = constraints.contact_point(whole, floats, world, contact)
        rho = floats.R0[at.link].T @ (at.c - floats.o0[at.link])
        material = x.R.T @ sym.rate(sym.p + sym.R @ point(geo, at.link, None, rho).c)
        axes = constraints.contact_directions(whole, floats, world, contact, at)
        close(rows[own], [axis @ material for axis in axes.values()], like=[1, *rows])
        upward = rows[own][2 if isinstance(contact, Pin) else 0]
        close(upward, sym.rate(found.gaps[k]), like=[1, *rows])
        at, _ = constraints.contact_point(whole, geo, moved, contact)
        axes = constraints.contact_directions(whole, geo, moved, contact, at)
        under = constraints.ground_velocity(model, moved, sym.p, at, sym.t[0])
        b = [axis @ under for axis in axes.values()]
        close(here.c[own], sym.rate(b - found.C[own] @ sym.v), like=[1, *here.c])


@settings(few, max_examples=25)
@given(x=machines(most=4, groups=["SE(3)"]))
def test_hdot_u_is_a_particular_solution_of_the_rows(x: Moving) -> None:
    """Hdot u by differentiation of H along the motion, with a prescribed joint and moving ground."""
    joints = list(x.model.joints)
    if joints:
        joints[0] = replace(joints[0], motion=lambda t: (sin(t), cos(t), -sin(t)))
    model = replace(x.model, joints=joints, ground=turntable)
    rolling = [c.name for c in model.contacts if isinstance(c, Wheel)][:2] or ["blade"]
    opened = {c.name: "open" for c in model.contacts if c.name not in rolling}
    try:
        check_hdot(replace(x, model=model), opened)
    except RedundancyError:  # a rolling wheel that carries another rolling wheel is blocked
        reject()


def test_hdot_u_of_the_bicycle() -> None:
    rng = np.random.default_rng(1)
    q = np.array([1.0, 0.0, 0.0, 0.0]) + 0.2 * rng.normal(size=4)
    r, speeds = rng.normal(size=3), rng.normal(size=9)
    R = rotation(q / np.linalg.norm(q))
    check_hdot(Moving(whipple(), R, np.zeros(3), r, speeds, speeds, list(range(9))), {})


def check_hdot(x: Moving, statuses: dict[str, str]) -> None:
    mode = mode_of(x.model, statuses)
    sym = Traced(x)
    t, n = sym.t[0], 6 + len(x.r)
    tree = assemble(x.model, aligned=True)
    found = projected.constraint_rows(tree, mode, sym.R, sym.r, sym.p)
    labels = constraints.row_labels(x.model, mode)
    independent = projected.choose_speeds(n, sym.at(found.C), labels, range(n))
    pivots = projected.plan_pivots(found, independent, sym.at)
    u = sym.v[: len(independent)]
    moving = projected.reconstruct_velocities(found, u, t, independent, pivots)
    c = constraints.acceleration_targets(
        tree,
        found.geo,
        found.world,
        moving.vel,
        found.active,
        moving.refdot,
        found.p,
        t,
    )
    still = sym.at(moving.solver.solve([*c, *[0.0] * len(u)]))
    sym.ref = found.ref
    close(still, sym.rate(moving.speeds, moving.speeds), like=[1, *still], rtol=1e-11)
    close(sym.at(moving.refdot), sym.rate(found.ref, moving.speeds), like=[1, *still])
