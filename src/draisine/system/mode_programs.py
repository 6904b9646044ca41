"""Programs of one contact mode with ideal contacts, recorded from its symbolic equations of motion.

The state is y = (q, p, r, u, z) with quaternion q and position p of the inner base frame, which is aligned
with the kinematic tree.

- `rate`: right-hand side of the differential equation. `observe`: all outputs for a state.
- `project`: one Newton step to the nearest configuration with closed contacts.
- `rows`: constraint rows and gaps. `masses`: mass matrix and constraint rows of all contact modes. `free`:
  saddle-point system of all contact modes.
- `enter`: y for a user's state, and the residuals of its constraints. `frame`: inner base frame relative to
  the user's base frame.
- `initial`: all values that can be requested of an initial state, with derivatives.
- `variation`: the balance of forces, with derivatives along a direction of differentiation.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.lie import cross, quaternion_product
from draisine.algebra.scalar import Array, Scalar, array, is_zero, norm
from draisine.algebra.trace import Expr, tangent
from draisine.codegen.program import Program
from draisine.mechanics import constraints, couplings, energy
from draisine.mechanics.applied import tyre_powers
from draisine.mechanics.base import (
    base_rotation,
    expand_speeds,
    free_columns,
    normalise_quaternion,
    squared_quaternion_norm,
)
from draisine.mechanics.formulations import multiplier, projected
from draisine.mechanics.kernel import solve_symmetric
from draisine.mechanics.kinematics import geometry, velocities
from draisine.mechanics.newton_euler import mass_matrix
from draisine.mechanics.readings import Readings
from draisine.mechanics.tree import assemble
from draisine.model import Sensor
from draisine.system.contact_programs import free_gap
from draisine.system.derivation import Derivation
from draisine.system.tracing import rates_by_symbol, trace_signals


def yaw_lean_pitch_rates(
    N: Array, left: Array, W: Array, Wdot: Array
) -> tuple[list[Scalar], list[Scalar]]:
    """Return the first and second time derivatives of yaw, lean and pitch, eq. [angle-rates].

    Parameters
    ----------
    N
        Vertical unit vector, in base axes.
    left
        Unit vector to the left of the base, in base axes.
    W, Wdot
        Angular velocity (rad/s) and acceleration (rad/s^2) of the base, in base axes.

    `W = yaw_rate N + lean_rate forward + pitch_rate left`; `N . left` is the sine of the lean.
    """
    s = N @ left
    across = cross(left, N)
    c = norm(across)
    forward = across / c

    def split(vertical: Scalar, lateral: Scalar) -> tuple[Scalar, Scalar]:
        """Return the components of a vector along N and left, which are not perpendicular, from its
        projections.
        """
        return (vertical - s * lateral) / (c * c), (lateral - s * vertical) / (c * c)

    lean = W @ forward
    yaw, pitch = split(W @ N, W @ left)
    yaw2, pitch2 = split(Wdot @ N - c * (pitch * lean), Wdot @ left - c * (yaw * lean))
    return [yaw, lean, pitch], [yaw2, Wdot @ forward + c * (yaw * pitch), pitch2]


def derive_rate(d: Derivation) -> Program:
    """Return the program of the time derivative ydot, and of the pivots that depend on the state."""
    moving = d.moving
    speeds = moving.speeds
    if d.correction is not None:
        speeds = speeds + _gap_correction(d, d.correction)
    qdot, pdot = d.pose_rates(d.R, d.symbols["q"], speeds, d.constraint_rows.ref)
    # Constant pivots cannot vanish; the integrator monitors the others.
    watched = [*moving.solver.pivot, *d.loaded.pivots]
    pivots = [x for x in watched if isinstance(x, Expr) and not x.fixed]
    rate = [*qdot, *pdot, *speeds[6:], *d.reduced.udot, *d.memory_rates]
    return d.tracing.program("rate", d.inputs, {"rate": rate, "pivots": pivots})


def derive_observe(d: Derivation, sensors: Sequence[Sensor] = ()) -> Program:
    """Return the program of all outputs for a state. With sensors, the last output `signals` contains their
    ideal signals.
    """
    rows = d.constraint_rows
    moving = d.moving
    reduced = d.reduced
    tree = d.tree
    world = rows.world
    p = d.symbols["p"]
    base = tree.links[0]
    v, vdot = _user_velocities(d)
    forces, pushes, held = _contact_forces(d, rows, reduced.multipliers)
    motions = len(constraints.prescribed_joints(d.model))
    linear, angular = energy.total_momenta(tree, rows.geo, moving.vel, world, p)
    readings = d.readings
    outputs = [readings.yaw, readings.lean, readings.pitch]
    outputs += [o.value(readings) for o in d.model.outputs]
    seed = _seed(d)
    position = p - world.R @ (base.R.T @ base.o)
    inputs = _inputs(d)
    gaps = _gaps(d, p)
    signals = {}
    if sensors:
        state = {"p": position, "r": d.symbols["r"], "v": v, "vdot": vdot}
        loads = [force[0] for force in forces]
        signals["signals"] = trace_signals(
            d.tracing,
            sensors,
            world.R @ base.R.T,
            state,
            inputs,
            array(held[:motions]),
            array(loads),
            array(gaps),
        )
    return d.tracing.program(
        "observe",
        d.inputs,
        {
            "position": position,
            "v": v,
            "vdot": vdot,
            "forces": forces,
            "forces_world": [world.R @ push for push in pushes],
            "forces_base": [base.R @ push for push in pushes],
            **tyre_powers(d.loaded_readings, d.mode, d.symbols["z"]),
            "motion_torques": held[:motions],
            "coupling_forces": held[motions:],
            "points": [p + world.R @ point.c for point, _ in rows.contact_points],
            "gaps": gaps,
            "kinetic": [energy.kinetic_energy(tree, moving.vel)],
            "potential": [energy.potential_energy(tree, rows.geo, world, p, d.model.gravity)],
            "momentum": linear,
            "angular_momentum": angular,
            "outputs": outputs,
            "output_rates": tangent(outputs, seed),
            "inputs": inputs,
            **signals,
        },
    )


def derive_project(d: Derivation) -> Program:
    """Return the program of one Newton step of minimum norm towards closed contacts and a unit quaternion,
    eq. [projection], and of the residuals of both before the step.
    """
    q = normalise_quaternion(d.model, d.symbols["q"])
    p = d.symbols["p"]
    r = d.symbols["r"]
    R = base_rotation(d.model, q)
    rows = d.rows(R, r, p)
    values, gradients = d.conditions(rows, with_redundant=False)
    if gradients:
        columns = free_columns(d.model)
        J = array([list(row[columns]) for row in gradients])
        x = -(J.T @ solve_symmetric(J @ J.T, array(values)))
        step = expand_speeds(d.model, x)
        dq, dp = d.pose_rates(R, q, step, rows.ref)
        q = normalise_quaternion(d.model, q + dq)
        p = p + dp
        r = r + step[6:]
    wheels = [a for a in rows.active if not is_zero(a.surface.ring)]  # a ball has no heading
    headings = [_heading(rows, a) for a in wheels]
    # The deviation of the quaternion from unit length is treated as a gap: the same Newton step
    # corrects it.
    length = [squared_quaternion_norm(d.model, d.symbols["q"]) - 1.0]
    outputs = {"q": q, "p": p, "r": r, "residual": values + length, "headings": headings}
    return d.tracing.program("project", d.inputs, outputs)


def derive_initial(d: Derivation) -> Program:
    """Return the program of all values that can be requested of an initial state, with their derivatives with
    respect to configuration and speeds.

    The speeds are those of the unconstrained vehicle, in the inner base frame, with V at the origin of the
    base.
    """
    tree = d.tree
    rows = d.constraint_rows
    R = d.R
    columns = free_columns(d.model)
    s = d.tracing.symbols({"s": len(columns)})["s"]
    speeds = expand_speeds(d.model, s)
    zero = np.zeros(3)
    vel = velocities(tree, rows.geo, speeds[:3], speeds[3:6], speeds[6:], zero)
    t = d.symbols["t"][0]
    p = d.symbols["p"]
    readings = Readings(tree, rows.geo, rows.world, p, vel, speeds, zero, t)
    base = tree.links[0]
    angles = [readings.yaw, readings.lean, readings.pitch]
    position_and_shape = [*(p - rows.world.R @ (base.R.T @ base.o)), *d.symbols["r"]]
    v = projected.speed_transformation(tree, zero) @ speeds
    outputs_of_model = [o.value(readings) for o in d.model.outputs]
    values = [*angles, *position_and_shape, *outputs_of_model]
    rates = tangent([*angles, *outputs_of_model], d.directions(R, speeds))
    values += [*rates, *v[columns]]
    conditions, _ = d.conditions(rows)
    requested = [*values, *conditions]
    by_pose = [
        tangent(requested, d.directions(R, expand_speeds(d.model, e))) for e in np.eye(len(s))
    ]
    by_speed = [tangent(values, {f"s[{k}]": 1.0}) for k in range(len(s))]
    inputs = {name: d.symbols[name] for name in ("t", "q", "p", "r", "anchors")} | {"s": s}
    outputs = {"values": values, "conditions": conditions}
    outputs |= {"by_pose": [x for row in by_pose for x in row]}
    outputs |= {"by_speed": [x for row in by_speed for x in row]}
    return d.tracing.program("initial", inputs, outputs)


def derive_rows(d: Derivation) -> Program:
    """Return the program of the constraint rows `C v = b`, their reference point, the position constraints
    and the gaps (m) of all contacts.
    """
    active = d.constraint_rows
    values, _ = d.conditions(active)
    b = constraints.velocity_targets(
        d.tree, active.geo, active.world, active.active, active.p, d.symbols["t"][0]
    )
    heights = constraints.gaps(active.world, d.symbols["p"], active.contact_points)
    outputs = {"C": active.C, "b": b, "ref": active.ref, "conditions": values, "gaps": heights}
    return d.tracing.program("rows", d.inputs, outputs)


def derive_enter(d: Derivation) -> Program:
    """Return the program of the state vector y for the user's pose, joint coordinates and speeds. Further
    outputs are all speeds of the inner base frame, and the residuals of the constraint rows `C v = b` and
    of the position constraints.

    `turn` is the quaternion of the inner base frame relative to the user's base frame.
    """
    base = d.tree.links[0]
    t = d.symbols["t"]
    r = d.symbols["r"]
    columns = free_columns(d.model)
    user = _user(d, {"q": 4, "p": 3, "v": len(columns), "turn": 4})
    q = quaternion_product(user["q"], user["turn"])
    R = base_rotation(d.model, q)
    p = user["p"] + R @ (base.R.T @ base.o)
    rows = d.rows(R, r, p)
    user_speeds = expand_speeds(d.model, user["v"])
    W = base.R.T @ user_speeds[3:6]
    V = base.R.T @ (user_speeds[:3] + cross(user_speeds[3:6], base.o)) + cross(W, rows.ref)
    speeds = np.concatenate([V, W, user_speeds[6:]])
    inputs = {"t": t, "q": user["q"], "p": user["p"], "r": r, "v": user["v"]}
    inputs |= {"turn": user["turn"], "anchors": d.symbols["anchors"]}
    outputs: dict[str, Any] = {
        "y": [*q, *p, *r, *speeds[columns][d.choice.independent]],
        "speeds": speeds,
        "broken": projected.velocity_residual(rows, speeds, t[0], d.choice.along_tree),
        "conditions": d.conditions(rows)[0],
    }
    return d.tracing.program("enter", inputs, outputs)


def derive_frame(d: Derivation) -> Program:
    """Return the program of axes (3, 3) and origin (3), in m, of the inner base frame relative to the
    user's base frame.
    """
    base = d.tree.links[0]
    return d.tracing.program("frame", d.inputs, {"R": base.R, "o": base.o})


class _SaddlePoint(NamedTuple):
    """The saddle-point system of all contact modes in the user's speeds, without force elements.

    It contains the constraint rows of all contacts; each contact mode uses some of them.
    """

    inputs: dict[str, Array]  # input arrays of the programs
    readings: Readings
    dynamics: multiplier.FreeDynamics
    joint_rows: list[Array]  # constraint rows of prescribed joints, then of couplings
    drifts: list[Scalar]  # products Cdot v of the couplings
    motions: list[Any]  # position, velocity and acceleration of prescribed joints


def _saddle_point(d: Derivation) -> _SaddlePoint:
    """Return the saddle-point system of all contact modes, without force elements."""
    model = d.model
    s = d.symbols | _user(d, {"q": 4, "p": 3})
    # Not aligned with the tree: users give speeds in the base frame as it is defined in the model.
    tree = assemble(model, aligned=False, evaluate=d.evaluate)
    v = d.tracing.symbols({"v": len(free_columns(model))})["v"]
    speeds = expand_speeds(model, v)
    zero = np.zeros(3)
    t = s["t"][0]
    R = base_rotation(model, s["q"])
    geo = geometry(tree, s["r"])
    eye = np.eye(6 + len(model.joints))
    joints = [eye[6 + k] for k in constraints.prescribed_joints(model)]
    vel = velocities(tree, geo, speeds[:3], speeds[3:6], speeds[6:], zero)
    world = constraints.ground(tree, geo, R)
    return _SaddlePoint(
        {name: s[name] for name in ("t", "q", "p", "r")} | {"v": v, "w": s["w"], "z": s["z"]},
        Readings(tree, geo, world, s["p"], vel, speeds, zero, t),
        multiplier.evaluate_free_dynamics(tree, R, s["p"], s["r"], speeds, s["w"], t),
        [*joints, *couplings.coupling_rows(tree, geo)],
        couplings.coupling_drifts(tree, geo, speeds[6:]),
        [r(t) for j in model.joints if (r := j.motion) is not None],
    )


def derive_masses(d: Derivation) -> Program:
    """Return the program of the mass matrix and the constraint rows of all contact modes, in the user's
    speeds.
    """
    return d.tracing.program("masses", (saddle := _saddle_point(d)).inputs, _masses(d, saddle))


def _masses(d: Derivation, saddle: _SaddlePoint) -> dict[str, Any]:
    """Return the mass matrix M (n, n) and the constraint rows C (rows, n) of all contact modes, by name."""
    columns = free_columns(d.model)
    C = np.vstack([saddle.dynamics.C, *(row[None, :] for row in saddle.joint_rows)])[:, columns]
    return {"M": saddle.dynamics.M[np.ix_(columns, columns)], "C": C}


def derive_free(d: Derivation) -> Program:
    """Return the program of the saddle-point system of all contact modes in the user's speeds: `M vdot + F
    = C' lam`, `C vdot = c`, `C v = b`. F contains the tyre forces of this contact mode.
    """
    saddle = _saddle_point(d)
    dynamics = saddle.dynamics
    readings = saddle.readings
    F = dynamics.F - d.tracing.act(readings, d.mode, saddle.inputs["z"]).Q
    c = [*dynamics.c, *[motion[2] for motion in saddle.motions], *[-x for x in saddle.drifts]]
    b = [
        *[0.0] * len(dynamics.c),
        *[motion[1] for motion in saddle.motions],
        *[0.0] * len(saddle.drifts),
    ]
    armed = [contact.armed(readings) if contact.armed else 1.0 for contact in d.model.contacts]
    outputs = _masses(d, saddle) | {"F": F[free_columns(d.model)], "c": c}
    outputs |= {"b": b, "gaps": dynamics.gaps, "armed": armed}
    return d.tracing.program("free", saddle.inputs, outputs)


def derive_variation(d: Derivation) -> Program:
    """Return the program of the reduced dynamics `M udot = f` and of all outputs, each with its derivative
    along one direction of differentiation, eq. [variation].

    The outputs are the mass matrix M (`mass`), f (`force`), zdot, the position constraints (`conditions`),
    all named values and speeds (`seen`) and the accelerations (`paced`). `d<name>` is the derivative of the
    output `<name>`. The direction consists of a displacement dx of the configuration (in the coordinates of
    the speeds: V at the origin of the base, W, rdot, in the inner base frame), and of dt, du, dz, dw.
    """
    tree = d.tree
    s = d.symbols
    rows = d.constraint_rows
    moving = d.moving
    H = moving.H
    columns = free_columns(d.model)
    M = mass_matrix(tree, rows.geo, rows.ref)
    mass = H.T @ M[np.ix_(columns, columns)] @ H
    V = moving.speeds[:3]
    W = moving.speeds[3:6]
    speeds = np.concatenate([V - cross(W, rows.ref), moving.speeds[3:]])
    readings = d.readings
    base = tree.links[0]
    angles = [readings.yaw, readings.lean, readings.pitch]
    pose = [*angles, *(s["p"] - rows.world.R @ (base.R.T @ base.o))]
    outputs_of_model = [o.value(readings) for o in d.model.outputs]
    turns, turn_rates = yaw_lean_pitch_rates(rows.world.up[0], base.R[1], W, d.reduced.vdot[3:6])
    rates = [*turns, *tangent(pose[3:], d.directions(d.R, speeds))]
    v, vdot = _user_velocities(d)
    values: dict[str, list[Scalar]] = {
        # The force is computed from udot, not the reverse: udot was solved from the same balance
        # of forces.
        "force": list(mass @ d.reduced.udot),
        "zdot": d.memory_rates,
        "conditions": d.conditions(rows, with_redundant=False)[0],
        "seen": [*pose, *s["r"], *outputs_of_model, *rates, *v],
        "paced": [*turn_rates, *vdot],
    }
    sizes = {"dt": 1, "dx": len(columns)} | {f"d{name}": len(s[name]) for name in "uzw"}
    seeds = d.tracing.symbols(sizes)
    seed = d.directions(d.R, expand_speeds(d.model, seeds["dx"]))
    seed |= {f"{n[1]}[{k}]": x for n in sizes if n != "dx" for k, x in enumerate(seeds[n])}
    # One call differentiates all values, so that common subexpressions are shared.
    changes = iter(tangent([x for xs in values.values() for x in xs], seed))
    outputs = {"mass": list(mass.ravel())} | values
    outputs |= {f"d{name}": [next(changes) for _ in xs] for name, xs in values.items()}
    return d.tracing.program("variation", s | seeds, outputs)


def _user(d: Derivation, sizes: Mapping[str, int]) -> dict[str, Array]:
    """Return symbols for arrays of the user's state, which refer to the user's base frame instead of the
    inner one; `sizes` are the lengths of the arrays by name.
    """
    symbols = d.tracing.symbols({f"user {name}": size for name, size in sizes.items()})
    return {name: symbols[f"user {name}"] for name in sizes}


def _user_velocities(d: Derivation) -> tuple[Array, Array]:
    """Return the user's speeds v and accelerations vdot, in the user's base frame."""
    moving = d.moving
    columns = free_columns(d.model)
    T = projected.speed_transformation(d.tree, d.constraint_rows.ref)
    map_rate = projected.speed_transformation_rate(d.tree, moving.vel.W[0], moving.refdot)
    return (T @ moving.speeds)[columns], (T @ d.reduced.vdot + map_rate)[columns]


def _inputs(d: Derivation) -> Array:
    """Return all inputs of the model, including the torques of guided joints."""
    forces = len(d.model.inputs) - len(d.model.joints)
    return d.driven.inputs + array([*d.reduced.guiding, *[0.0] * forces])


def _heading(rows: projected.Rows, a: constraints.Active) -> Array:
    """Return the heading of a wheel in the ground plane of the configuration before projection, not
    normalised.
    """
    surface = a.surface
    axle = rows.geo.R0[a.point.link] @ surface.axle
    heading = (rows.world.R @ cross(axle, rows.world.up[0]))[:2]
    # The heading is scaled by the ring radius, so that it vanishes as the wheel becomes a ball,
    # which has no heading.
    return heading if is_zero(surface.thickness) else surface.ring * heading


def _gap_correction(d: Derivation, epsilon: float) -> Array:
    """Return the correction of the speeds that closes the gaps, (2.41) of the thesis, eq.
    [stiff-correction]: wheels after the first are pulled to the height of the first ten times as strongly.
    Pins, prescribed joints and couplings have no common height; each is corrected by itself.
    """
    rows = d.constraint_rows
    labels = constraints.row_labels(d.model, d.mode)
    r = d.symbols["r"]
    t = d.symbols["t"][0]
    anchors = d.symbols["anchors"]
    conditions = [
        (value, row, labels[k].endswith(".normal"))
        for value, row, k in zip(*projected.holonomic_residuals(rows, r, t, anchors), strict=True)
        if k in rows.keep
    ]
    total = array([0.0] * (6 + len(d.model.joints)))
    first: tuple[Scalar, Array] | None = None
    for value, row, is_height in conditions:
        stiffness = 1.0
        if is_height and first is not None:
            value = value - first[0]
            row = row - first[1]
            stiffness = 10.0
        elif is_height:
            first = value, row
        total = total - row * (stiffness / epsilon * value)
    return total


def _seed(d: Derivation) -> dict[str, Any]:
    """Return the time derivatives of all state symbols by name, for derivatives along the motion."""
    speeds = d.moving.speeds
    qdot, pdot = d.pose_rates(d.R, d.symbols["q"], speeds, d.constraint_rows.ref)
    return rates_by_symbol(q=qdot, p=pdot, r=speeds[6:], u=d.reduced.udot, t=[1.0])


def _gaps(d: Derivation, p: Array) -> list[Scalar]:
    """Return the gap (m) of each contact; the gap of a tyre on a spring is zero when it begins to carry
    load.
    """
    heights = constraints.gaps(d.constraint_rows.world, p, d.constraint_rows.contact_points)
    return [h - free_gap(c) for h, c in zip(heights, d.model.contacts, strict=True)]


def _contact_forces(
    d: Derivation, rows: projected.Rows, lam: Array
) -> tuple[Array, list[Array], Array]:
    """Return the force of the ground on each contact, in contact axes and in the axes of the inner base
    frame (N), and the constraint forces of the joints: prescribed motions, then couplings.
    """
    forces: list[list[Scalar]] = []
    pushes: list[Array] = []
    active = {a.contact.name: a for a in rows.active}
    first = 0  # multiplier of the next active contact
    for contact, (point, _) in zip(d.model.contacts, rows.contact_points, strict=True):
        # Force of a force element, such as a tyre on a vertical spring, which acts without a
        # constraint row.
        push = d.acting.pushes.get(contact.name)
        a = active.get(contact.name)
        if a is None and push is None:
            forces.append([0.0] * 3)
            pushes.append(np.zeros(3))
            continue
        axes = constraints.contact_directions(d.tree, rows.geo, rows.world, contact, point)
        push = np.zeros(3) if push is None else push
        if a is not None:
            multipliers = lam[first : first + len(a.names)]
            first += len(a.names)
            if a.holds_all:
                held = array([*multipliers, *[0.0] * (3 - len(multipliers))])
            else:
                terms = (x * axes[n] for x, n in zip(multipliers, a.names, strict=True))
                held = sum(terms, np.zeros(3))
            push = held + push
        forces.append([axis @ push for axis in axes.values()])
        pushes.append(push)
    return array(forces), pushes, lam[first:]


PROGRAM_DERIVATIONS: dict[str, Callable[[Derivation], Program]] = {
    "rate": derive_rate,
    "observe": derive_observe,
    "project": derive_project,
    "initial": derive_initial,
    "rows": derive_rows,
    "enter": derive_enter,
    "frame": derive_frame,
    "masses": derive_masses,
    "free": derive_free,
    "variation": derive_variation,
}
"""Functions that derive the programs of a contact mode, by program name."""
