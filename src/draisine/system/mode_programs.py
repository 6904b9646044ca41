"""The programs of one mode, traced from its mechanics.

`rate`: right-hand side of y = (q, p, r, u, z), with the pose of the inner base frame. `observe`: all outputs
of a state. `project`: the nearest configuration with closed contacts. `rows`: constraint rows and gaps.
`enter`: y for a user's state, and the residuals of its constraints. `initial`: all values that can be
requested of an initial state, with derivatives. `frame`: the inner base frame in the drawing. `masses`: mass
matrix and rows of any mode. `free`: the saddle-point system of any mode. `variation`: the balance of forces,
with derivatives along a seed.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.lie import cross, quaternion_product
from draisine.algebra.scalar import Array, Scalar, array, is_zero, norm
from draisine.algebra.trace import Expr, tangent
from draisine.codegen.program import Program
from draisine.mechanics import constraints, couplings, energy
from draisine.mechanics.applied import tyre_powers
from draisine.mechanics.base import base_rotation, free_columns, spread, square_length, unit
from draisine.mechanics.formulations import multiplier, projected
from draisine.mechanics.kernel import solve_symmetric
from draisine.mechanics.kinematics import geometry, velocities
from draisine.mechanics.newton_euler import mass_matrix
from draisine.mechanics.readings import Readings
from draisine.mechanics.tree import assemble
from draisine.system.contact_programs import free_gap
from draisine.system.derivation import Derivation
from draisine.system.tracing import rates_by_symbol


def angle_rates(N: Array, left: Array, W: Array, Wdot: Array) -> tuple[list[Scalar], list[Scalar]]:
    """Return first and second rates of yaw, lean and pitch, from the vertical N, the base's axis to
    the left, and the angular velocity, all in the base's axes, eq. [angle-rates].

    `W = yaw_rate N + lean_rate ahead + pitch_rate left`; N and left make an angle whose sine is
    that of the lean.
    """
    s, across = N @ left, cross(left, N)
    c = norm(across)
    ahead = across / c

    def split(up: Scalar, aside: Scalar) -> tuple[Scalar, Scalar]:
        return (up - s * aside) / (c * c), (aside - s * up) / (c * c)

    lean = W @ ahead
    yaw, pitch = split(W @ N, W @ left)
    yaw2, pitch2 = split(Wdot @ N - c * (pitch * lean), Wdot @ left - c * (yaw * lean))
    return [yaw, lean, pitch], [yaw2, Wdot @ ahead + c * (yaw * pitch), pitch2]


def rate(d: Derivation) -> Program:
    """Return ydot, and the pivots that depend on the state."""
    moving, reduced = d.moving, d.reduced
    speeds = moving.speeds
    if d.correction is not None:
        speeds = speeds + _stiff(d, d.correction)
    qdot, pdot = d.pose_rates(d.R, d.symbols["q"], speeds, d.found.ref)
    watched = [*moving.solver.pivot, *d.loaded.pivots]
    pivots = [x for x in watched if isinstance(x, Expr) and not x.fixed]
    rate = [*qdot, *pdot, *speeds[6:], *reduced.udot, *d.memory_rates]
    return d.tracing.program("rate", d.inputs, {"rate": rate, "pivots": pivots})


def observe(d: Derivation) -> Program:
    """Return all outputs of a state."""
    found, moving, reduced = d.found, d.moving, d.reduced
    tree, world, p = d.tree, found.world, d.symbols["p"]
    base = tree.links[0]
    T = projected.user_map(tree, found.ref)
    moved = projected.map_rate(tree, moving.vel.W[0], moving.refdot)
    v, vdot = T @ moving.speeds, T @ reduced.vdot + moved
    columns = free_columns(d.model)
    forces, pushes, held = _contact_forces(d, found, reduced.multipliers)
    motions = len(constraints.prescribed_joints(d.model))
    linear, angular = energy.momenta(tree, found.geo, moving.vel, world, p)
    readings = d.readings
    outputs = [readings.yaw, readings.lean, readings.pitch]
    outputs += [o.value(readings) for o in d.model.outputs]
    seed = _seed(d)
    return d.tracing.program(
        "observe",
        d.inputs,
        {
            "position": p - world.R @ (base.R.T @ base.o),
            "v": v[columns],
            "vdot": vdot[columns],
            "forces": forces,
            "forces_world": [world.R @ push for push in pushes],
            "forces_base": [base.R @ push for push in pushes],
            **tyre_powers(d.loaded_readings, d.mode, d.symbols["z"]),
            "motion_torques": held[:motions],
            "coupling_forces": held[motions:],
            "points": [p + world.R @ at.c for at, _ in found.contact_points],
            "gaps": _gaps(d, p),
            "kinetic": [energy.kinetic(tree, moving.vel)],
            "potential": [energy.potential(tree, found.geo, world, p, d.model.gravity)],
            "momentum": linear,
            "angular_momentum": angular,
            "outputs": outputs,
            "output_rates": tangent(outputs, seed),
            "inputs": _inputs(d),
        },
    )


def project(d: Derivation) -> Program:
    """Return one Newton step of minimum norm towards closed contacts and a unit quaternion, eq. [projection],
    and the residuals of both before it.
    """
    q, p, r = unit(d.model, d.symbols["q"]), d.symbols["p"], d.symbols["r"]
    R = base_rotation(d.model, q)
    found = d.rows(R, r, p)
    values, rows = d.conditions(found, every=False)
    if rows:
        columns = free_columns(d.model)
        J = array([list(row[columns]) for row in rows])
        x = -(J.T @ solve_symmetric(J @ J.T, array(values)))
        step = spread(d.model, x)
        dq, dp = d.pose_rates(R, q, step, found.ref)
        q, p, r = unit(d.model, q + dq), p + dp, r + step[6:]
    wheels = [a for a in found.active if not is_zero(a.surface.ring)]
    headings = [_heading(found, a) for a in wheels]  # a ball has none
    length = [square_length(d.model, d.symbols["q"]) - 1.0]
    settled = {"q": q, "p": p, "r": r, "residual": values + length, "headings": headings}
    return d.tracing.program("project", d.inputs, settled)


def initial(d: Derivation) -> Program:
    """Return all values that can be requested of an initial state, with their derivatives by configuration
    and by speeds.

    The speeds are all that the base's group leaves free (inner frame, V at the base's origin), whether
    constrained or not.
    """
    tree, found, R = d.tree, d.found, d.R
    columns = free_columns(d.model)
    s = d.tracing.symbols({"s": len(columns)})["s"]
    speeds = spread(d.model, s)
    zero = np.zeros(3)
    vel = velocities(tree, found.geo, speeds[:3], speeds[3:6], speeds[6:], zero)
    t, p = d.symbols["t"][0], d.symbols["p"]
    readings = Readings(tree, found.geo, found.world, p, vel, speeds, zero, t)
    base = tree.links[0]
    angles = [readings.yaw, readings.lean, readings.pitch]
    places = [*(p - found.world.R @ (base.R.T @ base.o)), *d.symbols["r"]]
    v = projected.user_map(tree, zero) @ speeds
    own = [o.value(readings) for o in d.model.outputs]
    values = [*angles, *places, *own]
    along = d.directions(R, speeds)
    rates = tangent([*angles, *own], along)
    values += [*rates, *v[columns]]
    conditions, _ = d.conditions(found)
    asked = [*values, *conditions]
    by_pose = [tangent(asked, d.directions(R, spread(d.model, e))) for e in np.eye(len(s))]
    by_speed = [tangent(values, {f"s[{k}]": 1.0}) for k in range(len(s))]
    inputs = {name: d.symbols[name] for name in ("t", "q", "p", "r", "anchors")} | {"s": s}
    outputs = {"values": values, "conditions": conditions}
    outputs |= {"by_pose": [x for row in by_pose for x in row]}
    outputs |= {"by_speed": [x for row in by_speed for x in row]}
    return d.tracing.program("initial", inputs, outputs)


def rows(d: Derivation) -> Program:
    """Return the rows `C v = b`, the reference point, the conditions and all gaps."""
    found = d.found
    values, _ = d.conditions(found)
    b = constraints.velocity_targets(
        d.tree, found.geo, found.world, found.active, found.p, d.symbols["t"][0]
    )
    heights = constraints.gaps(found.world, d.symbols["p"], found.contact_points)
    outputs = {"C": found.C, "b": b, "ref": found.ref, "conditions": values, "gaps": heights}
    return d.tracing.program("rows", d.inputs, outputs)


def enter(d: Derivation) -> Program:
    """Return y for the user's pose, shape and speeds, all inner speeds, and the residuals of the rows
    `C v = b` and of the conditions on the configuration.

    `turn` is the quaternion of the inner base frame in the drawing.
    """
    base, t, r = d.tree.links[0], d.symbols["t"], d.symbols["r"]
    columns = free_columns(d.model)
    user = _user(d, {"q": 4, "p": 3, "v": len(columns), "turn": 4})
    q = quaternion_product(user["q"], user["turn"])
    R = base_rotation(d.model, q)
    p = user["p"] + R @ (base.R.T @ base.o)
    found = d.rows(R, r, p)
    whole = spread(d.model, user["v"])
    W = base.R.T @ whole[3:6]
    V = base.R.T @ (whole[:3] + cross(whole[3:6], base.o)) + cross(W, found.ref)
    speeds = np.concatenate([V, W, whole[6:]])
    inputs = {"t": t, "q": user["q"], "p": user["p"], "r": r, "v": user["v"]}
    inputs |= {"turn": user["turn"], "anchors": d.symbols["anchors"]}
    outputs: dict[str, Any] = {
        "y": [*q, *p, *r, *speeds[columns][d.choice.independent]],
        "speeds": speeds,
        "broken": projected.residual(found, speeds, t[0], d.choice.along_tree),
        "conditions": d.conditions(found)[0],
    }
    return d.tracing.program("enter", inputs, outputs)


def frame(d: Derivation) -> Program:
    """Return axes and origin of the inner base frame in the drawing."""
    base = d.tree.links[0]
    return d.tracing.program("frame", d.inputs, {"R": base.R, "o": base.o})


class _Bare(NamedTuple):
    """The saddle-point system of every mode in the user's speeds, without force elements."""

    inputs: dict[str, Array]
    readings: Readings
    found: multiplier.FreeDynamics
    joint_rows: list[Array]
    drifts: list[Scalar]
    motions: list[Any]


def _bare(d: Derivation) -> _Bare:
    """Return the saddle-point system of every mode without force elements."""
    model, s = d.model, d.symbols | _user(d, {"q": 4, "p": 3})
    tree = assemble(model, aligned=False, evaluate=d.evaluate)
    v = d.tracing.symbols({"v": len(free_columns(model))})["v"]
    speeds, zero, t = spread(model, v), np.zeros(3), s["t"][0]
    R, geo = base_rotation(model, s["q"]), geometry(tree, s["r"])
    eye = np.eye(6 + len(model.joints))
    joints = [eye[6 + k] for k in constraints.prescribed_joints(model)]
    vel = velocities(tree, geo, speeds[:3], speeds[3:6], speeds[6:], zero)
    world = constraints.ground(tree, geo, R)
    return _Bare(
        {name: s[name] for name in ("t", "q", "p", "r")} | {"v": v, "w": s["w"], "z": s["z"]},
        Readings(tree, geo, world, s["p"], vel, speeds, zero, t),
        multiplier.free(tree, R, s["p"], s["r"], speeds, s["w"], t),
        [*joints, *couplings.rows(tree, geo)],
        couplings.drifts(tree, geo, speeds[6:]),
        [r(t) for j in model.joints if (r := j.motion) is not None],
    )


def masses(d: Derivation) -> Program:
    """Return the mass matrix and the rows of every mode, in the user's speeds."""
    return d.tracing.program("masses", (bare := _bare(d)).inputs, _masses(d, bare))


def _masses(d: Derivation, bare: _Bare) -> dict[str, Any]:
    columns, found = free_columns(d.model), bare.found
    C = np.vstack([found.C, *(row[None, :] for row in bare.joint_rows)])[:, columns]
    return {"M": found.M[np.ix_(columns, columns)], "C": C}


def free(d: Derivation) -> Program:
    """Return the saddle-point system of every mode in the user's speeds, with the tyre forces of this one."""
    bare = _bare(d)
    found, readings = bare.found, bare.readings
    F = found.F - d.tracing.act(readings, d.mode, bare.inputs["z"]).Q
    c = [*found.c, *[motion[2] for motion in bare.motions], *[-x for x in bare.drifts]]
    b = [0.0] * len(found.c) + [motion[1] for motion in bare.motions] + [0.0] * len(bare.drifts)
    armed = [contact.armed(readings) if contact.armed else 1.0 for contact in d.model.contacts]
    outputs = _masses(d, bare) | {"F": F[free_columns(d.model)], "c": c}
    outputs |= {"b": b, "gaps": found.gaps, "armed": armed}
    return d.tracing.program("free", bare.inputs, outputs)


def variation(d: Derivation) -> Program:
    """Return `M udot = f`, all outputs of a state and the rates of its speeds, each with its derivative along
    a seed, eq. [variation].

    The seed is a displacement dx of the configuration (like speeds: V at the base's origin, W,
    rdot, in the inner frame), and dt, du, dz, dw.
    """
    tree, s, found, moving = d.tree, d.symbols, d.found, d.moving
    H, columns = moving.H, free_columns(d.model)
    M = mass_matrix(tree, found.geo, found.ref)
    mass = H.T @ M[np.ix_(columns, columns)] @ H
    V, W = moving.speeds[:3], moving.speeds[3:6]
    speeds = np.concatenate([V - cross(W, found.ref), moving.speeds[3:]])
    readings, base = d.readings, tree.links[0]
    angles = [readings.yaw, readings.lean, readings.pitch]
    placed = [*angles, *(s["p"] - found.world.R @ (base.R.T @ base.o))]
    own = [o.value(readings) for o in d.model.outputs]
    turns, turned = angle_rates(found.world.up[0], base.R[1], W, d.reduced.vdot[3:6])
    rates = [*turns, *tangent(placed[3:], d.directions(d.R, speeds))]
    T = projected.user_map(tree, found.ref)
    moved = projected.map_rate(tree, W, moving.refdot)
    v, vdot = T @ moving.speeds, T @ d.reduced.vdot + moved
    values: dict[str, list[Scalar]] = {
        "force": list(mass @ d.reduced.udot),  # numbered as what udot was solved from
        "zdot": d.memory_rates,
        "conditions": d.conditions(found, every=False)[0],
        "seen": [*placed, *s["r"], *own, *rates, *v[columns]],
        "paced": [*turned, *vdot[columns]],
    }
    sizes = {"dt": 1, "dx": len(columns)} | {f"d{name}": len(s[name]) for name in "uzw"}
    seeds = d.tracing.symbols(sizes)
    seed = d.directions(d.R, spread(d.model, seeds["dx"]))
    seed |= {f"{n[1]}[{k}]": x for n in sizes if n != "dx" for k, x in enumerate(seeds[n])}
    changes = iter(tangent([x for xs in values.values() for x in xs], seed))
    outputs = {"mass": list(mass.ravel())} | values
    outputs |= {f"d{name}": [next(changes) for _ in xs] for name, xs in values.items()}
    return d.tracing.program("variation", s | seeds, outputs)


def _user(d: Derivation, sizes: Mapping[str, int]) -> dict[str, Array]:
    """Return symbols of the user's state, in the drawing's frame instead of the inner one."""
    own = d.tracing.symbols({f"user {name}": size for name, size in sizes.items()})
    return {name: own[f"user {name}"] for name in sizes}


def _inputs(d: Derivation) -> Array:
    """Return all inputs, the torques of guided joints included."""
    forces = len(d.model.inputs) - len(d.model.joints)
    return d.driven.inputs + array([*d.reduced.guiding, *[0.0] * forces])


def _heading(found: projected.Rows, a: constraints.Active) -> Array:
    """Return the heading of a wheel in the ground plane before projection, of any length."""
    surface = a.surface
    axle = found.geo.R0[a.at.link] @ surface.axle
    ahead = (found.world.R @ cross(axle, found.world.up[0]))[:2]
    return ahead if is_zero(surface.thickness) else surface.ring * ahead  # a ball has none


def _stiff(d: Derivation, epsilon: float) -> Array:
    """Return the correction (2.41) of the speeds, eq. [stiff-correction]: wheels after the first are pulled
    to its height ten times as strongly. Pins, prescribed joints and couplings have no common height and are
    pulled back one by one.
    """
    found, labels = d.found, constraints.labels(d.model, d.mode)
    r, t, anchors = d.symbols["r"], d.symbols["t"][0], d.symbols["anchors"]
    conditions = [
        (value, row, labels[k].endswith(".normal"))
        for value, row, k in zip(*projected.conditions(found, r, t, anchors), strict=True)
        if k in found.keep
    ]
    total = array([0.0] * (6 + len(d.model.joints)))
    first: tuple[Scalar, Array] | None = None
    for value, row, is_height in conditions:
        stiffness = 1.0
        if is_height and first is not None:
            value, row, stiffness = value - first[0], row - first[1], 10.0
        elif is_height:
            first = value, row
        total = total - row * (stiffness / epsilon * value)
    return total


def _seed(d: Derivation) -> dict[str, Any]:
    """Return the rate of every state symbol, for derivatives along the motion."""
    moving, reduced = d.moving, d.reduced
    qdot, pdot = d.pose_rates(d.R, d.symbols["q"], moving.speeds, d.found.ref)
    return rates_by_symbol(q=qdot, p=pdot, r=moving.speeds[6:], u=reduced.udot, t=[1.0])


def _gaps(d: Derivation, p: Array) -> list[Scalar]:
    """Return the gap of each contact (m); that of a tyre on a spring counts from where it carries."""
    heights = constraints.gaps(d.found.world, p, d.found.contact_points)
    return [h - free_gap(c) for h, c in zip(heights, d.model.contacts, strict=True)]


def _contact_forces(
    d: Derivation, found: projected.Rows, lam: Array
) -> tuple[Array, list[Array], Array]:
    """Return the force of the ground on each contact, in its own axes and in those of the inner base, and the
    constraint forces of the joints: prescribed motions, then couplings.
    """
    forces: list[list[Scalar]] = []
    pushes: list[Array] = []
    active = {a.contact.name: a for a in found.active}
    at = 0
    for contact, (place, _) in zip(d.model.contacts, found.contact_points, strict=True):
        # The force of an element, such as a tyre on a vertical spring, which needs no row to push.
        push = d.acting.pushes.get(contact.name)
        a = active.get(contact.name)
        if a is None and push is None:
            forces.append([0.0] * 3)
            pushes.append(np.zeros(3))
            continue
        axes = constraints.contact_axes(d.tree, found.geo, found.world, contact, place)
        push = np.zeros(3) if push is None else push
        if a is not None:
            part = lam[at : at + len(a.names)]
            at += len(a.names)
            held = array([*part, *[0.0] * (3 - len(part))])
            if not a.holds_all:
                held = sum((x * axes[n] for x, n in zip(part, a.names, strict=True)), np.zeros(3))
            push = held + push
        forces.append([axis @ push for axis in axes.values()])
        pushes.append(push)
    return array(forces), pushes, lam[at:]


PROGRAMS: dict[str, Callable[[Derivation], Program]] = {
    made.__name__: made
    for made in (rate, observe, project, initial, rows, enter, frame, masses, free, variation)
}
"""The programs by name."""
