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

    def decompose(vertical: Scalar, lateral: Scalar) -> tuple[Scalar, Scalar]:
        """Return the components of a vector along N and left from its projections on these two
        axes, which are not perpendicular.
        """
        return (vertical - s * lateral) / (c * c), (lateral - s * vertical) / (c * c)

    lean = W @ forward
    yaw, pitch = decompose(W @ N, W @ left)
    yaw2, pitch2 = decompose(Wdot @ N - c * (pitch * lean), Wdot @ left - c * (yaw * lean))
    return [yaw, lean, pitch], [yaw2, Wdot @ forward + c * (yaw * pitch), pitch2]


def derive_rate(derivation: Derivation) -> Program:
    """Return the program of the time derivative ydot, and of the pivots that depend on the state."""
    moving = derivation.moving
    speeds = moving.speeds
    if derivation.correction is not None:
        speeds = speeds + _gap_correction(derivation, derivation.correction)
    qdot, pdot = derivation.base_pose_rates(
        derivation.R, derivation.symbols["q"], speeds, derivation.constraint_rows.ref
    )
    # Only pivots that depend on the state can vanish during a run; the integrator monitors these.
    watched = [*moving.solver.pivot, *derivation.loaded.pivots]
    pivots = [x for x in watched if isinstance(x, Expr) and not x.fixed]
    rate = [*qdot, *pdot, *speeds[6:], *derivation.reduced.udot, *derivation.memory_rates]
    return derivation.tracing.make_program(
        "rate", derivation.inputs, {"rate": rate, "pivots": pivots}
    )


def derive_observe(derivation: Derivation, sensors: Sequence[Sensor] = ()) -> Program:
    """Return the program of all outputs for a state. With sensors, the last output `signals` contains their
    ideal signals.
    """
    rows = derivation.constraint_rows
    moving = derivation.moving
    reduced = derivation.reduced
    tree = derivation.tree
    world = rows.world
    p = derivation.symbols["p"]
    base = tree.links[0]
    v, vdot = _user_velocities(derivation)
    forces, pushes, held = _contact_forces(derivation, rows, reduced.multipliers)
    motions = len(constraints.prescribed_joints(derivation.model))
    linear, angular = energy.total_momenta(tree, rows.geo, moving.vel, world, p)
    readings = derivation.readings
    outputs = [readings.yaw, readings.lean, readings.pitch]
    outputs += [o.value(readings) for o in derivation.model.outputs]
    seed = _symbol_rates(derivation)
    position = p - world.R @ (base.R.T @ base.o)
    inputs = _all_inputs(derivation)
    gaps = _contact_gaps(derivation, p)
    signals = {}
    if sensors:
        state = {"p": position, "r": derivation.symbols["r"], "v": v, "vdot": vdot}
        loads = [force[0] for force in forces]
        signals["signals"] = trace_signals(
            derivation.tracing,
            sensors,
            world.R @ base.R.T,
            state,
            inputs,
            array(held[:motions]),
            array(loads),
            array(gaps),
        )
    return derivation.tracing.make_program(
        "observe",
        derivation.inputs,
        {
            "position": position,
            "v": v,
            "vdot": vdot,
            "forces": forces,
            "forces_world": [world.R @ push for push in pushes],
            "forces_base": [base.R @ push for push in pushes],
            **tyre_powers(derivation.loaded_readings, derivation.mode, derivation.symbols["z"]),
            "motion_torques": held[:motions],
            "coupling_forces": held[motions:],
            "points": [p + world.R @ point.c for point, _ in rows.contact_points],
            "gaps": gaps,
            "kinetic": [energy.kinetic_energy(tree, moving.vel)],
            "potential": [
                energy.potential_energy(tree, rows.geo, world, p, derivation.model.gravity)
            ],
            "momentum": linear,
            "angular_momentum": angular,
            "outputs": outputs,
            "output_rates": tangent(outputs, seed),
            "inputs": inputs,
            **signals,
        },
    )


def derive_project(derivation: Derivation) -> Program:
    """Return the program of one Newton step of minimum norm towards closed contacts and a unit quaternion,
    eq. [projection], and of the residuals of both before the step.
    """
    q = normalise_quaternion(derivation.model, derivation.symbols["q"])
    p = derivation.symbols["p"]
    r = derivation.symbols["r"]
    R = base_rotation(derivation.model, q)
    rows = derivation.assemble_rows(R, r, p)
    values, gradients = derivation.position_constraints(rows, with_redundant=False)
    if gradients:
        columns = free_columns(derivation.model)
        J = array([list(row[columns]) for row in gradients])
        x = -(J.T @ solve_symmetric(J @ J.T, array(values)))
        step = expand_speeds(derivation.model, x)
        dq, dp = derivation.base_pose_rates(R, q, step, rows.ref)
        q = normalise_quaternion(derivation.model, q + dq)
        p = p + dp
        r = r + step[6:]
    wheels = [a for a in rows.active if not is_zero(a.surface.ring)]  # a ball has no heading
    headings = [_wheel_heading(rows, a) for a in wheels]
    # Treat the deviation of the quaternion from unit length like a gap, so that the same Newton
    # step corrects it.
    length = [squared_quaternion_norm(derivation.model, derivation.symbols["q"]) - 1.0]
    outputs = {"q": q, "p": p, "r": r, "residual": values + length, "headings": headings}
    return derivation.tracing.make_program("project", derivation.inputs, outputs)


def derive_initial(derivation: Derivation) -> Program:
    """Return the program of all values that can be requested of an initial state, with their derivatives with
    respect to configuration and speeds.

    The speeds are those of the unconstrained vehicle, in the inner base frame, with V at the origin of the
    base.
    """
    tree = derivation.tree
    rows = derivation.constraint_rows
    R = derivation.R
    columns = free_columns(derivation.model)
    s = derivation.tracing.symbols({"s": len(columns)})["s"]
    speeds = expand_speeds(derivation.model, s)
    zero = np.zeros(3)
    vel = velocities(tree, rows.geo, speeds[:3], speeds[3:6], speeds[6:], zero)
    t = derivation.symbols["t"][0]
    p = derivation.symbols["p"]
    readings = Readings(tree, rows.geo, rows.world, p, vel, speeds, zero, t)
    base = tree.links[0]
    angles = [readings.yaw, readings.lean, readings.pitch]
    position_and_shape = [*(p - rows.world.R @ (base.R.T @ base.o)), *derivation.symbols["r"]]
    v = projected.speed_transformation(tree, zero) @ speeds
    outputs_of_model = [o.value(readings) for o in derivation.model.outputs]
    values = [*angles, *position_and_shape, *outputs_of_model]
    rates = tangent([*angles, *outputs_of_model], derivation.configuration_rates(R, speeds))
    values += [*rates, *v[columns]]
    conditions, _ = derivation.position_constraints(rows)
    requested = [*values, *conditions]
    by_pose = [
        tangent(requested, derivation.configuration_rates(R, expand_speeds(derivation.model, e)))
        for e in np.eye(len(s))
    ]
    by_speed = [tangent(values, {f"s[{k}]": 1.0}) for k in range(len(s))]
    inputs = {name: derivation.symbols[name] for name in ("t", "q", "p", "r", "anchors")} | {"s": s}
    outputs = {"values": values, "conditions": conditions}
    outputs |= {"by_pose": [x for row in by_pose for x in row]}
    outputs |= {"by_speed": [x for row in by_speed for x in row]}
    return derivation.tracing.make_program("initial", inputs, outputs)


def derive_rows(derivation: Derivation) -> Program:
    """Return the program of the constraint rows `C v = b`, their reference point, the position constraints
    and the gaps (m) of all contacts.
    """
    active = derivation.constraint_rows
    values, _ = derivation.position_constraints(active)
    b = constraints.velocity_targets(
        derivation.tree,
        active.geo,
        active.world,
        active.active,
        active.p,
        derivation.symbols["t"][0],
    )
    heights = constraints.gaps(active.world, derivation.symbols["p"], active.contact_points)
    outputs = {"C": active.C, "b": b, "ref": active.ref, "conditions": values, "gaps": heights}
    return derivation.tracing.make_program("rows", derivation.inputs, outputs)


def derive_enter(derivation: Derivation) -> Program:
    """Return the program of the state vector y for the user's pose, joint coordinates and speeds. Further
    outputs are all speeds of the inner base frame, and the residuals of the constraint rows `C v = b` and
    of the position constraints.

    `turn` is the quaternion of the inner base frame relative to the user's base frame.
    """
    base = derivation.tree.links[0]
    t = derivation.symbols["t"]
    r = derivation.symbols["r"]
    columns = free_columns(derivation.model)
    user = _user_symbols(derivation, {"q": 4, "p": 3, "v": len(columns), "turn": 4})
    q = quaternion_product(user["q"], user["turn"])
    R = base_rotation(derivation.model, q)
    p = user["p"] + R @ (base.R.T @ base.o)
    rows = derivation.assemble_rows(R, r, p)
    user_speeds = expand_speeds(derivation.model, user["v"])
    W = base.R.T @ user_speeds[3:6]
    V = base.R.T @ (user_speeds[:3] + cross(user_speeds[3:6], base.o)) + cross(W, rows.ref)
    speeds = np.concatenate([V, W, user_speeds[6:]])
    inputs = {"t": t, "q": user["q"], "p": user["p"], "r": r, "v": user["v"]}
    inputs |= {"turn": user["turn"], "anchors": derivation.symbols["anchors"]}
    outputs: dict[str, Any] = {
        "y": [*q, *p, *r, *speeds[columns][derivation.choice.independent]],
        "speeds": speeds,
        "broken": projected.velocity_residual(rows, speeds, t[0], derivation.choice.along_tree),
        "conditions": derivation.position_constraints(rows)[0],
    }
    return derivation.tracing.make_program("enter", inputs, outputs)


def derive_frame(derivation: Derivation) -> Program:
    """Return the program of axes (3, 3) and origin (3), in m, of the inner base frame relative to the
    user's base frame.
    """
    base = derivation.tree.links[0]
    return derivation.tracing.make_program("frame", derivation.inputs, {"R": base.R, "o": base.o})


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


def _trace_saddle_point(derivation: Derivation) -> _SaddlePoint:
    """Return the saddle-point system of all contact modes, without force elements."""
    model = derivation.model
    s = derivation.symbols | _user_symbols(derivation, {"q": 4, "p": 3})
    # Do not align the tree's axes with its joints: users state speeds in the base frame of the
    # model.
    tree = assemble(model, aligned=False, evaluate=derivation.evaluate)
    v = derivation.tracing.symbols({"v": len(free_columns(model))})["v"]
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


def derive_masses(derivation: Derivation) -> Program:
    """Return the program of the mass matrix and the constraint rows of all contact modes, in the user's
    speeds.
    """
    return derivation.tracing.make_program(
        "masses",
        (saddle := _trace_saddle_point(derivation)).inputs,
        _mass_and_rows(derivation, saddle),
    )


def _mass_and_rows(derivation: Derivation, saddle: _SaddlePoint) -> dict[str, Any]:
    """Return the mass matrix M (n, n) and the constraint rows C (rows, n) of all contact modes, by name."""
    columns = free_columns(derivation.model)
    C = np.vstack([saddle.dynamics.C, *(row[None, :] for row in saddle.joint_rows)])[:, columns]
    return {"M": saddle.dynamics.M[np.ix_(columns, columns)], "C": C}


def derive_free(derivation: Derivation) -> Program:
    """Return the program of the saddle-point system of all contact modes in the user's speeds: `M vdot + F
    = C' lam`, `C vdot = c`, `C v = b`. F contains the tyre forces of this contact mode.
    """
    saddle = _trace_saddle_point(derivation)
    dynamics = saddle.dynamics
    readings = saddle.readings
    F = (
        dynamics.F
        - derivation.tracing.element_forces(readings, derivation.mode, saddle.inputs["z"]).Q
    )
    c = [*dynamics.c, *[motion[2] for motion in saddle.motions], *[-x for x in saddle.drifts]]
    b = [
        *[0.0] * len(dynamics.c),
        *[motion[1] for motion in saddle.motions],
        *[0.0] * len(saddle.drifts),
    ]
    armed = [
        contact.armed(readings) if contact.armed else 1.0 for contact in derivation.model.contacts
    ]
    outputs = _mass_and_rows(derivation, saddle) | {"F": F[free_columns(derivation.model)], "c": c}
    outputs |= {"b": b, "gaps": dynamics.gaps, "armed": armed}
    return derivation.tracing.make_program("free", saddle.inputs, outputs)


def derive_variation(derivation: Derivation) -> Program:
    """Return the program of the reduced dynamics `M udot = f` and of all outputs, each with its derivative
    along one direction of differentiation, eq. [variation].

    The outputs are the mass matrix M (`mass`), f (`force`), zdot, the position constraints (`conditions`),
    all named values and speeds (`seen`) and the accelerations (`paced`). `d<name>` is the derivative of the
    output `<name>`. The direction consists of a displacement dx of the configuration (in the coordinates of
    the speeds: V at the origin of the base, W, rdot, in the inner base frame), and of dt, du, dz, dw.
    """
    tree = derivation.tree
    s = derivation.symbols
    rows = derivation.constraint_rows
    moving = derivation.moving
    H = moving.H
    columns = free_columns(derivation.model)
    M = mass_matrix(tree, rows.geo, rows.ref)
    mass = H.T @ M[np.ix_(columns, columns)] @ H
    V = moving.speeds[:3]
    W = moving.speeds[3:6]
    speeds = np.concatenate([V - cross(W, rows.ref), moving.speeds[3:]])
    readings = derivation.readings
    base = tree.links[0]
    angles = [readings.yaw, readings.lean, readings.pitch]
    pose = [*angles, *(s["p"] - rows.world.R @ (base.R.T @ base.o))]
    outputs_of_model = [o.value(readings) for o in derivation.model.outputs]
    turns, turn_rates = yaw_lean_pitch_rates(
        rows.world.up[0], base.R[1], W, derivation.reduced.vdot[3:6]
    )
    rates = [*turns, *tangent(pose[3:], derivation.configuration_rates(derivation.R, speeds))]
    v, vdot = _user_velocities(derivation)
    values: dict[str, list[Scalar]] = {
        # Compute the force from udot, not the reverse: udot was solved from the same balance of
        # forces.
        "force": list(mass @ derivation.reduced.udot),
        "zdot": derivation.memory_rates,
        "conditions": derivation.position_constraints(rows, with_redundant=False)[0],
        "seen": [*pose, *s["r"], *outputs_of_model, *rates, *v],
        "paced": [*turn_rates, *vdot],
    }
    sizes = {"dt": 1, "dx": len(columns)} | {f"d{name}": len(s[name]) for name in "uzw"}
    seeds = derivation.tracing.symbols(sizes)
    seed = derivation.configuration_rates(
        derivation.R, expand_speeds(derivation.model, seeds["dx"])
    )
    seed |= {f"{n[1]}[{k}]": x for n in sizes if n != "dx" for k, x in enumerate(seeds[n])}
    # Differentiate all values in one call, so that they share common subexpressions.
    changes = iter(tangent([x for xs in values.values() for x in xs], seed))
    outputs = {"mass": list(mass.ravel())} | values
    outputs |= {f"d{name}": [next(changes) for _ in xs] for name, xs in values.items()}
    return derivation.tracing.make_program("variation", s | seeds, outputs)


def _user_symbols(derivation: Derivation, sizes: Mapping[str, int]) -> dict[str, Array]:
    """Return symbols for arrays of the user's state, which refer to the user's base frame instead of the
    inner one; `sizes` are the lengths of the arrays by name.
    """
    symbols = derivation.tracing.symbols({f"user {name}": size for name, size in sizes.items()})
    return {name: symbols[f"user {name}"] for name in sizes}


def _user_velocities(derivation: Derivation) -> tuple[Array, Array]:
    """Return the user's speeds v and accelerations vdot, in the user's base frame."""
    moving = derivation.moving
    columns = free_columns(derivation.model)
    T = projected.speed_transformation(derivation.tree, derivation.constraint_rows.ref)
    map_rate = projected.speed_transformation_rate(derivation.tree, moving.vel.W[0], moving.refdot)
    return (T @ moving.speeds)[columns], (T @ derivation.reduced.vdot + map_rate)[columns]


def _all_inputs(derivation: Derivation) -> Array:
    """Return all inputs of the model, including the torques of guided joints."""
    forces = len(derivation.model.inputs) - len(derivation.model.joints)
    return derivation.driven.inputs + array([*derivation.reduced.guiding, *[0.0] * forces])


def _wheel_heading(constraint_rows: projected.Rows, contact: constraints.Active) -> Array:
    """Return the heading of a wheel in the ground plane of the configuration before projection, not
    normalised.
    """
    surface = contact.surface
    axle = constraint_rows.geo.R0[contact.point.link] @ surface.axle
    heading = (constraint_rows.world.R @ cross(axle, constraint_rows.world.up[0]))[:2]
    # Scale the heading by the radius of the wheel's ring, so that it vanishes as the wheel becomes
    # a ball, which has no heading.
    return heading if is_zero(surface.thickness) else surface.ring * heading


def _gap_correction(derivation: Derivation, epsilon: float) -> Array:
    """Return the correction of the speeds that closes the gaps, (2.41) of the thesis, eq.
    [stiff-correction]: wheels after the first are pulled to the height of the first ten times as strongly.
    Pins, prescribed joints and couplings have no common height; each is corrected by itself.
    """
    rows = derivation.constraint_rows
    labels = constraints.row_labels(derivation.model, derivation.mode)
    r = derivation.symbols["r"]
    t = derivation.symbols["t"][0]
    anchors = derivation.symbols["anchors"]
    conditions = [
        (value, row, labels[k].endswith(".normal"))
        for value, row, k in zip(*projected.holonomic_residuals(rows, r, t, anchors), strict=True)
        if k in rows.keep
    ]
    total = array([0.0] * (6 + len(derivation.model.joints)))
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


def _symbol_rates(derivation: Derivation) -> dict[str, Any]:
    """Return the time derivatives of all state symbols by name, for derivatives along the motion."""
    speeds = derivation.moving.speeds
    qdot, pdot = derivation.base_pose_rates(
        derivation.R, derivation.symbols["q"], speeds, derivation.constraint_rows.ref
    )
    return rates_by_symbol(q=qdot, p=pdot, r=speeds[6:], u=derivation.reduced.udot, t=[1.0])


def _contact_gaps(derivation: Derivation, position: Array) -> list[Scalar]:
    """Return the gap (m) of each contact; the gap of a tyre on a spring is zero when it begins to carry
    load.
    """
    heights = constraints.gaps(
        derivation.constraint_rows.world, position, derivation.constraint_rows.contact_points
    )
    return [h - free_gap(c) for h, c in zip(heights, derivation.model.contacts, strict=True)]


def _contact_forces(
    derivation: Derivation, constraint_rows: projected.Rows, lam: Array
) -> tuple[Array, list[Array], Array]:
    """Return the force of the ground on each contact, in contact axes and in the axes of the inner base
    frame (N), and the constraint forces of the joints: prescribed motions, then couplings.
    """
    forces: list[list[Scalar]] = []
    pushes: list[Array] = []
    active = {a.contact.name: a for a in constraint_rows.active}
    first = 0  # multiplier of the next active contact
    for contact, (point, _) in zip(
        derivation.model.contacts, constraint_rows.contact_points, strict=True
    ):
        # Add the force of a force element, such as a tyre on a vertical spring, which acts without
        # a constraint row.
        push = derivation.acting.pushes.get(contact.name)
        a = active.get(contact.name)
        if a is None and push is None:
            forces.append([0.0] * 3)
            pushes.append(np.zeros(3))
            continue
        axes = constraints.contact_directions(
            derivation.tree, constraint_rows.geo, constraint_rows.world, contact, point
        )
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
