r"""Page of the equations in absolute coordinates, after the lecture notes of Schwab (2003).

Body i has the position (x_i, y_i, z_i) of its mass centre, Euler angles (phi_i, theta_i, psi_i), and the
speeds y_i: the velocity of the mass centre in world axes and the angular velocity in body axes. The page
states, body by body,

    M_i ydot_i = Q_i + U_i' tau + D_i' lambda,        sum_i D_i ydot_i + g = c,

with one row of D_i per constraint. The rotations, arms and angular velocities that several rows share have
symbols of their own.
"""

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, all_vanish, array, cos, is_zero, sin
from draisine.codegen.formula import Expression, Sum, Symbol
from draisine.errors import ModelError
from draisine.mechanics.formulations._absolute_rows import (
    AbsoluteEquations,
    orthonormal_axes,
    row_matrix,
)
from draisine.mechanics.formulations._plug import check_supported_model, joint_torques
from draisine.mechanics.formulations.absolute import TracedAbsolute, trace_absolute
from draisine.mechanics.kinematics import VERTICAL
from draisine.model import Model
from draisine.reading.document import Equations
from draisine.reading.formulations._given import AXIS_LETTERS, Given, name_symbols
from draisine.reading.names import ENTRY, INERTIA, LEGEND, LENGTH, SPEED
from draisine.reading.sheet import Sheet, parse_sentence
from draisine.reading.subject import Subject

ABSOLUTE_LEGEND = {
    "R": "rotation from body axes to world axes, body",
    "w": "angular velocity in world axes, body",
    "e": "axis of joint, on its parent",
    "u": "axis of joint, on its child",
    "h": "distance of the two points of joint",
    "f": "first perpendicular of joint, on its parent",
    "n": "second perpendicular of joint, on its parent",
    "a": "arm from the parent's mass centre to joint",
    "d": "arm from the child's mass centre to joint",
    "q": "vector from the parent's mass centre to the child's point of joint",
    "p": "arm from the mass centre to contact",
    "v": "velocity of the material point at contact",
    "m": "factor of the angular velocity, body, row",
    "I": "moment of inertia about the mass centre, in body axes, body",
    "D": "constraint row, body, row, speed",
    "U": "rate of a joint, body, row, speed",
    "Q": "force or moment, body",
    "g": "convective term of a constraint, row",
    "epsilon": "residual of a holonomic constraint, row",
    "b": "prescribed rate of a constraint, row",
    "c": "prescribed acceleration of a constraint, row",
    "tau": "torque or force of a joint",
    "r": "coordinate of a joint",
    "Delta": "denominator",
}
"""Meanings of letters on this page, if they differ from other pages."""


def write_absolute(subject: Subject, title: str) -> Equations:
    """Return the page of the equations of one contact mode in absolute coordinates."""
    model = check_supported_model(subject.model)
    if not all_vanish([joint.armature for joint in model.joints]):
        raise ModelError(
            "The page of the formulation 'absolute' does not include armatures of joints. Set them to zero, "
            "or print the projected equations."
        )
    _trace_headings(subject)
    traced = trace_absolute(model, subject.mode, graph=subject.graph)
    sheet = Sheet(subject.graph)
    sheet.legend = LEGEND | ABSOLUTE_LEGEND
    sheet.cut.letters |= {"denominator": "Delta"}
    arrays = _trace_arrays(subject, traced)
    _name_given(sheet, subject, traced, arrays)
    _write_bodies(sheet, traced)
    _write_constraints(sheet, subject, traced, arrays)
    _write_dynamics(sheet, subject, traced, arrays)
    _write_projection(sheet, traced)
    return Equations(sheet.finish_page(f"{title} in absolute coordinates"), subject)


def _trace_headings(subject: Subject) -> None:
    """Trace the rates of the horizontal track directions of all bodies, in their shortest form.

    Equal values share the node that is traced first. The rows of the wheels contain these rates as
    derivatives of normalised vectors, which would be printed as quotients.
    """
    for i in range(len(subject.model.bodies)):
        e = array([subject.graph.symbol(f"e[{3 * i + k}]") for k in range(3)])
        omega = array([subject.graph.symbol(f"omega[{3 * i + k}]") for k in range(3)])
        heading_rate = euler_rates(e, omega)[0]
        for x in (cos(e[0]), sin(e[0])):
            x * heading_rate


def _trace_arrays(subject: Subject, traced: TracedAbsolute) -> dict[str, Array]:
    """Return the arrays of the page by name: M, Q, D, U, g, c, gaps, torques, rates of the angles."""
    parts = traced.equations
    n = len(parts.bodies)
    D = row_matrix(parts.rows, parts.bodies)
    joints = row_matrix(parts.user[6:], parts.bodies)
    y = np.concatenate([traced.symbols["v"], traced.symbols["omega"]])
    r = [row.gap for row in parts.user[6:]]
    torques = joint_torques(subject.model, subject.w, r, joints @ y if len(r) else array([]))
    e = traced.symbols["e"].reshape(n, 3)
    w = traced.symbols["omega"].reshape(n, 3)
    return {
        "M": array(parts.M),
        "Q": array(parts.Q),
        "D": D,
        "U": joints,
        "g": array([row.g for row in parts.rows]),
        "b": array([row.b for row in parts.rows]),
        "c": array([row.c for row in parts.rows]),
        "gaps": array([row.gap for row in parts.rows if row.gap is not None]),
        "h": array([row.g for row in parts.user[6:]]),
        "tau": torques,
        "rates": array([euler_rates(e[i], w[i]) for i in range(n)]),
    }


def _name_given(
    sheet: Sheet, subject: Subject, traced: TracedAbsolute, arrays: dict[str, Array]
) -> None:
    """Define and list the symbols of parameters, coordinates, speeds and inputs."""
    words = [body.name.replace("_", " ") for body in subject.model.bodies]
    s = traced.symbols
    given_symbols: list[Given] = []
    for i, word in enumerate(words):
        for k in range(3):
            index = 3 * i + k
            centre = f"mass centre of {word}, {AXIS_LETTERS[k]}"
            given_symbols.append(
                Given(s["x"][index], Symbol(AXIS_LETTERS[k], (str(i),)), centre, LENGTH)
            )
            angle = ("phi", "theta", "psi")[k]
            turn = ("heading", "lean", "pitch")[k]
            given_symbols.append(
                Given(s["e"][index], Symbol(angle, (str(i),)), f"{turn} of {word}", ENTRY)
            )
            speed = f"velocity of the mass centre of {word}, {AXIS_LETTERS[k]}"
            given_symbols.append(
                Given(s["v"][index], Symbol(AXIS_LETTERS[k], (str(i),), dots=1), speed, SPEED)
            )
            spin = f"angular velocity of {word} in its own axes, {AXIS_LETTERS[k]}"
            given_symbols.append(
                Given(s["omega"][index], Symbol("omega", (f"{i}{AXIS_LETTERS[k]}",)), spin, SPEED)
            )
    for k, x in enumerate(s["anchors"]):
        given_symbols.append(
            Given(x, Symbol("p", (str(k + 1),)), "position of a pin", LENGTH, True)
        )
    for k, x in enumerate(s["home"]):
        given_symbols.append(
            Given(x, Symbol("p", (AXIS_LETTERS[k],)), "initial position of the base", LENGTH, True)
        )
    for k, x in enumerate(s["push"]):
        given_symbols.append(Given(x, Symbol("P", (str(k + 1),)), "external force", SPEED, True))
    given_symbols.append(Given(s["t"][0], Symbol("t"), "time", ENTRY, True))
    counted = ", ".join(f"{i} {word}" for i, word in enumerate(words))
    sheet.add_paragraph(
        *parse_sentence(
            f"Bodies $i$: {counted}. Body $i$ has the position ($x_i$, $y_i$, $z_i$) of its mass centre, the "
            r"Euler angles $\phi_i$ (heading), $\theta_i$ (lean), $\psi_i$ (pitch), and the speeds $y_i$ = "
            r"($\dot{x}_i$, $\dot{y}_i$, $\dot{z}_i$, $\omega_{ix}$, $\omega_{iy}$, $\omega_{iz}$): the "
            r"velocity of the mass centre in world axes (x forward, y left, z up) and the angular velocity "
            "in body axes. Notation: $c_x$ = cos $x$, $s_x$ = sin $x$. Valid for lean angles below 90 "
            "degrees."
        )
    )
    name_symbols(sheet, subject, given_symbols, list(arrays.values()), subject.w)


def _write_bodies(sheet: Sheet, traced: TracedAbsolute) -> None:
    """Write rotation, angular velocity in world axes and rates of the Euler angles of every body."""
    sheet.begin_section("Bodies")
    sheet.add_paragraph(
        *parse_sentence(
            "$R_i$ rotates the axes of body $i$ to world axes, $w_i$ is its angular velocity in world axes:"
        )
    )
    for i, body in enumerate(traced.equations.bodies):
        for row, entries in enumerate(body.own):
            for column, x in enumerate(entries):
                sheet.define_symbol(
                    x,
                    Symbol("R", (f"{i}{AXIS_LETTERS[row]}{AXIS_LETTERS[column]}",)),
                    LENGTH,
                    min_factors=2,
                )
        sheet.define_vector("w", body.w, [f"{i}{k}" for k in AXIS_LETTERS], SPEED)
    sheet.flush_definitions()
    sheet.add_paragraph("Rates of the Euler angles:")
    n = len(traced.equations.bodies)
    e = traced.symbols["e"].reshape(n, 3)
    w = traced.symbols["omega"].reshape(n, 3)
    for i in range(n):
        for letter, rate in zip(("phi", "theta", "psi"), euler_rates(e[i], w[i]), strict=True):
            symbol = Symbol(letter, (str(i),), dots=1)
            sheet.cut.define_value(rate, symbol, SPEED)
            sheet.keep_symbols([symbol])
    sheet.flush_definitions()


def _write_constraints(
    sheet: Sheet, subject: Subject, traced: TracedAbsolute, arrays: dict[str, Array]
) -> None:
    """Write residuals, rows and convective terms of the constraints."""
    parts = traced.equations
    sheet.begin_section("Constraints")
    labels = "; ".join(f"{k + 1} {row.label}" for k, row in enumerate(parts.rows))
    sheet.add_paragraph(
        *parse_sentence("One row per constraint: "),
        labels,
        *parse_sentence(
            ". Vectors in world axes: joint $j$ has the axes $e_j$ on the parent body and $u_j$ on the "
            "child, two perpendiculars $f_j$ and $n_j$ on the parent, and the arms $a_j$ and $d_j$ from "
            "the mass centres of parent and child; $q_j$ points from the mass centre of the parent to the "
            "point of the child, $h_j$ is the distance of the two points; $p_k$ points from the mass "
            "centre of a wheel to contact $k$, $v_k$ is the velocity of its material point there. Dots are "
            "rates; second rates are those of directions and arms that turn at a constant angular "
            "velocity. $m_{i,k}$ is the factor of $w_i$ in row $k$. Holonomic rows have a residual "
            r"$\epsilon$."
        ),
    )
    _name_joint_vectors(sheet, subject.model, parts)
    _name_contact_vectors(sheet, subject.model, parts)
    _name_moments(sheet, parts)
    sheet.flush_definitions()
    _relate_sum(sheet, "D", "y", len(parts.bodies), "b" if _has_motion(arrays["b"]) else "0")
    m = len(parts.rows)
    n = len(parts.bodies)
    for i in range(n):
        sheet.add_matrix(f"D_{i}", _body_columns(arrays["D"], i, n), _entry_symbols("D", i, m))
    if _has_motion(arrays["b"]):
        sheet.add_column("b", arrays["b"], "b")
    if len(arrays["gaps"]):
        sheet.add_column(r"\epsilon", arrays["gaps"], "epsilon")


def _name_joint_vectors(sheet: Sheet, model: Model, parts: AbsoluteEquations) -> None:
    """Define symbols for the vectors of each joint: axis, perpendiculars, arms, and their rates."""
    place = {body.name: k for k, body in enumerate(model.bodies)}
    for k, joint in enumerate(model.joints):
        first = parts.bodies[place[joint.parent]]
        second = parts.bodies[place[joint.child]]
        a, b, c = orthonormal_axes(joint.axis)
        arm1 = first.arm(joint.through)
        arm2 = second.arm(joint.through)
        on_parent = {"e": first.R @ a, "f": first.R @ b, "n": first.R @ c, "a": arm1}
        on_child = {"u": second.R @ a, "d": arm2}
        for vectors in (on_parent, on_child):
            for letter, vector in vectors.items():
                _name_vector(sheet, letter, k + 1, vector, LENGTH)
        _name_vector(sheet, "q", k + 1, second.x + arm2 - first.x, LENGTH)
        _name_vector(sheet, "h", k + 1, second.x + arm2 - first.x - arm1, LENGTH)
        for body, vectors in ((first, on_parent), (second, on_child)):
            for letter, vector in vectors.items():
                rate = body.cross_with_rotation(vector)
                _name_vector(sheet, letter, k + 1, rate, SPEED, dot_count=1)
                _name_vector(
                    sheet, letter, k + 1, body.cross_with_rotation(rate), SPEED, dot_count=2
                )
        velocity = (
            second.v + second.cross_with_rotation(arm2) - first.v - first.cross_with_rotation(arm1)
        )
        _name_vector(sheet, "h", k + 1, velocity, SPEED, dot_count=1)


def _name_contact_vectors(sheet: Sheet, model: Model, parts: AbsoluteEquations) -> None:
    """Define symbols for the arm of each contact and its rate."""
    place = {body.name: k for k, body in enumerate(model.bodies)}
    for k, contact in enumerate(model.contacts):
        body = parts.bodies[place[contact.body]]
        surface = contact.surface.turned(body.R)
        arm = body.arm(contact.centre) + surface.support(VERTICAL)
        rate = body.cross_with_rotation(arm) + surface.support_rate(
            VERTICAL, cross(VERTICAL, body.w)
        )
        _name_vector(sheet, "p", k + 1, arm, LENGTH)
        _name_vector(sheet, "p", k + 1, rate, SPEED, dot_count=1)
        _name_vector(sheet, "v", k + 1, body.v + body.cross_with_rotation(arm), SPEED)


def _name_moments(sheet: Sheet, parts: AbsoluteEquations) -> None:
    """Define symbols for the coefficients of the angular velocities in world axes, row by row."""
    for k, row in enumerate(parts.rows):
        for i, (_, moment) in row.parts.items():
            for x, axis in zip(moment, AXIS_LETTERS, strict=True):
                sheet.define_symbol(x, Symbol("m", (f"{i},{k + 1}{axis}",)), LENGTH)


def _name_vector(
    sheet: Sheet, letter: str, number: int, vector: Array, kind: str, dot_count: int = 0
) -> None:
    """Define symbols for the components of a vector in world axes."""
    for x, axis in zip(vector, AXIS_LETTERS, strict=True):
        sheet.define_symbol(
            x, Symbol(letter, (f"{number}{axis}",), dots=dot_count), kind, min_factors=3
        )


def _write_dynamics(
    sheet: Sheet, subject: Subject, traced: TracedAbsolute, arrays: dict[str, Array]
) -> None:
    """Write the equations of motion of every body, and the constraints on the accelerations."""
    n = len(traced.equations.bodies)
    sheet.begin_section("Equations of motion")
    joints = len(arrays["tau"])
    applied = r" + U_i' \tau" if joints else ""
    sheet.add_equation(r"M_i \dot{y}_i", rf"Q_i{applied} + D_i' \lambda")
    for i in range(n):
        for row in range(3):
            for column in range(row, 3):
                x = arrays["M"][i][3 + row, 3 + column]
                symbol = Symbol("I", (f"{i}{AXIS_LETTERS[row]}{AXIS_LETTERS[column]}",))
                sheet.define_symbol(x, symbol, INERTIA)
        sheet.add_matrix(f"M_{i}", arrays["M"][i], _entry_symbols("M", i, 6), symmetric=True)
        tails = [f"{i},{k + 1}" for k in range(6)]
        sheet.add_column(f"Q_{i}", arrays["Q"][i], "Q", tails)
    if joints:
        words = ", ".join(joint.name.replace("_", " ") for joint in subject.model.joints)
        sheet.add_paragraph(
            *parse_sentence(r"The rows of $U_i$ are the rates of the joints ("),
            words,
            *parse_sentence(r"), $\tau$ are their torques and forces:"),
        )
        for i in range(n):
            sheet.add_matrix(
                f"U_{i}", _body_columns(arrays["U"], i, n), _entry_symbols("U", i, joints)
            )
        sheet.add_column(r"\tau", arrays["tau"], "tau")
    sheet.add_paragraph("The constraints hold for the accelerations, with convective terms:")
    zero = "c - g" if _has_motion(arrays["c"]) else "- g"
    _relate_sum(sheet, "D", r"\dot{y}", n, zero)
    sheet.add_column("g", arrays["g"], "g")
    if _has_motion(arrays["c"]):
        sheet.add_column("c", arrays["c"], "c")


def _write_projection(sheet: Sheet, traced: TracedAbsolute) -> None:
    """Write the coordinate projection after a step of time integration."""
    rows = [str(k + 1) for k, row in enumerate(traced.equations.rows) if row.gap is not None]
    if not rows:
        return
    sheet.begin_section("Coordinate projection")
    sheet.add_paragraph(
        *parse_sentence(
            r"After a step, the coordinates change by the minimum-norm solution $\xi$. The columns of $J$ "
            f"for the positions and Euler angles of body $i$ are those of rows {', '.join(rows)} of $D_i$, "
            "the latter multiplied by $A_i$, the matrix of the angular velocity in body axes per rates of "
            "the Euler angles. Then the speeds change by the minimum-norm solution of all rows."
        )
    )
    sheet.add_equation(r"J \xi", r"- \epsilon")
    parts = traced.equations
    n = len(parts.bodies)
    e = traced.symbols["e"].reshape(n, 3)
    for i in range(n):
        sheet.add_matrix(f"A_{i}", euler_rate_matrix(e[i]), _entry_symbols("A", i, 3, 3))


def euler_rates(euler_angles: Array, angular_velocity: Array) -> Array:
    """Return the rates of the Euler angles (phi, theta, psi) for an angular velocity in body axes."""
    turned = angular_velocity[2] * cos(euler_angles[2]) - angular_velocity[0] * sin(euler_angles[2])
    heading = turned / cos(euler_angles[1])
    return array(
        [
            heading,
            angular_velocity[0] * cos(euler_angles[2]) + angular_velocity[2] * sin(euler_angles[2]),
            angular_velocity[1] - heading * sin(euler_angles[1]),
        ]
    )


def euler_rate_matrix(euler_angles: Array) -> Array:
    """Return the matrix A' (3, 3) of Schwab's lecture notes, which maps the rates of the Euler
    angles (phi, theta, psi) to the angular velocity in body axes.
    """
    c_theta, s_theta = cos(euler_angles[1]), sin(euler_angles[1])
    c_psi, s_psi = cos(euler_angles[2]), sin(euler_angles[2])
    return array(
        [
            [-s_psi * c_theta, c_psi, 0.0],
            [s_theta, 0.0, 1.0],
            [c_psi * c_theta, s_psi, 0.0],
        ]
    )


def _relate_sum(sheet: Sheet, letter: str, speed: str, count: int, right_side: str) -> None:
    """Add the equation `sum_i letter_i speed_i = right` with its terms written out."""
    terms = [sheet.parse_formula(f"{letter}_{i} {speed}_{i}") for i in range(count)]
    left: Expression = terms[0] if count == 1 else Sum(tuple(terms))
    sheet.add_equation(left, right_side)


def _body_columns(rows: Array, body_index: int, body_count: int) -> Array:
    """Return the columns of one body: of its velocity, then of its angular velocity."""
    columns = [
        *range(3 * body_index, 3 * body_index + 3),
        *range(3 * (body_count + body_index), 3 * (body_count + body_index) + 3),
    ]
    return rows[:, columns]


def _entry_symbols(letter: str, body_index: int, rows: int, columns: int = 6) -> list[list[Symbol]]:
    """Return the symbols of the entries of a matrix of one body."""
    comma = "," if rows > 9 else ""
    return [
        [
            Symbol(letter, (f"{body_index},{row + 1}{comma}{column + 1}",))
            for column in range(columns)
        ]
        for row in range(rows)
    ]


def _has_motion(values: Array) -> bool:
    """Return whether any of the prescribed values is not zero."""
    return any(not is_zero(x) for x in values)
