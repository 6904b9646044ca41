r"""Page of the bicycle on SE(2) x S: remarks 2.10 to 2.12 of Mauny's thesis (2018).

All vectors are written in the contact frame of the rear wheel: first axis along its track, third axis up. The
page states the frames of the bodies with partial velocities and drift, the constraints at C0 and C1, and mass
matrix and forces by their factors,

    M = sum_i m_i V_i' V_i + T_i' R_i I_i R_i' T_i,
    F = sum_i m_i V_i' a_i + T_i' (R_i I_i R_i' epsilon_i + n_i) - Q.
"""

import numpy as np

from draisine.algebra.lie import cross, rot_z
from draisine.algebra.scalar import Array, array, cos, is_zero, norm, sin
from draisine.codegen.formula import Symbol
from draisine.errors import ModelError
from draisine.mechanics.formulations._plug import joint_torques
from draisine.mechanics.formulations.bicycle._drawing import Bicycle, extract_bicycle, fork_axes
from draisine.mechanics.formulations.bicycle.planar import (
    FIRST_JOINT,
    PITCH,
    ROLL,
    YAW,
    CarriedBody,
    X,
    Y,
    front_contact_angle,
    front_contact_angle_rate,
    front_contact_vector,
    planar_equations,
    planar_frames,
    planar_symbols,
)
from draisine.mechanics.kinematics import VERTICAL
from draisine.model import Model
from draisine.reading.document import Equations
from draisine.reading.formulations._given import (
    AXIS_LETTERS,
    Given,
    check_closed,
    join_symbols,
    name_symbols,
)
from draisine.reading.names import ENTRY, INERTIA, LEGEND, LENGTH, SPEED
from draisine.reading.sheet import Sheet, parse_sentence
from draisine.reading.subject import Subject

PLANAR_SPEEDS = {
    X: ("v_x", "velocity of C0 along the track"),
    Y: ("v_y", "velocity of C0 to the left"),
    YAW: (r"\dot{\psi}", "yaw rate"),
    ROLL: (r"\dot{\phi}", "roll rate, positive to the left"),
    PITCH: (r"\dot{\theta}", "pitch rate, positive nose down"),
}
"""Symbols and meanings of the speeds by index, except joints."""

PLANAR_COORDINATES = {
    X: ("X", "position of C0"),
    Y: ("Y", "position of C0"),
    YAW: (r"\psi", "yaw"),
    ROLL: (r"\phi", "roll of the rear wheel, positive to the left"),
    PITCH: (r"\theta", "pitch of the frame, positive nose down"),
}
"""Symbols and meanings of the coordinates by index, except joints."""

PLANAR_LEGEND = {
    "R": "rotation to the contact frame, body",
    "o": "origin, body",
    "d": "arm from the origin to the mass centre, body",
    "V": "partial velocity of a mass centre, body, entry",
    "T": "partial angular velocity, body, entry",
    "I": "central moment of inertia in body axes, body",
    "w": "angular velocity, body",
    "epsilon": "angular acceleration at constant speeds, body",
    "a": "acceleration at constant speeds minus gravity, body",
    "b": "acceleration of the origin at constant speeds, body",
    "n": "gyroscopic moment, body",
    "C": "constraint row, entry",
    "c": "right side of the constraints on accelerations, entry",
    "Q": "generalised force, entry",
    "alpha": "angle of C1 on the front wheel",
    "rho": "vector from the front hub to C1",
    "q": "vector from the origin of the front wheel to C1",
    "f": "first axis of the fork",
    "e": "steer axis",
    "mu": "tilt of the steer axis",
    "Delta": "denominator",
    "gamma": "gravity in the contact frame",
}
"""Meanings of letters on this page, if they differ from other pages."""


def write_planar(subject: Subject, title: str) -> Equations:
    """Return the page of the bicycle on SE(2) x S."""
    model = check_closed(subject)
    bike = extract_bicycle(model)
    if model.pushes:
        names = ", ".join(repr(force.name) for force in model.pushes)
        raise ModelError(
            f"The page of the formulation 'planar' does not include external forces ({names}). Print the "
            "projected equations."
        )
    symbols = planar_symbols(model, subject.graph)
    coordinates = symbols["coordinates"]
    speeds = symbols["speeds"]
    frames = planar_frames(bike, coordinates, speeds).bodies
    terms = planar_equations(bike, symbols["t"][0], coordinates, speeds, symbols["inputs"])
    sheet = Sheet(subject.graph)
    sheet.legend = LEGEND | PLANAR_LEGEND
    sheet.cut.letters |= {"denominator": "Delta", "angle": "zeta"}
    results = [terms.M, terms.F, terms.C, array(terms.c), array(terms.b), array([terms.gap])]
    _name_given(sheet, subject, symbols, results)
    bodies = [frames[body.name] for body in model.bodies]
    _write_frames(sheet, model, bodies)
    _write_front_contact(sheet, bike, frames, coordinates, speeds)
    n = len(speeds)
    names = "rear along the track; rear across; front x; front y; front z"
    names += "".join(f"; {j.name} (prescribed)" for j in model.joints if j.motion is not None)
    sheet.begin_section("Constraints")
    moves = any(not is_zero(x) for x in terms.b)
    sheet.add_equation("C v", "b" if moves else "0")
    sheet.add_paragraph(f"Rows: {names}.")
    sheet.add_matrix("C", terms.C, _entry_symbols("C", len(terms.C), n))
    if moves:
        sheet.add_column("b", terms.b, "b")
    sheet.add_column("G", [terms.gap], "G")
    sheet.add_paragraph(sheet.matrix_symbol("G"), " is the gap of the front wheel.")
    _write_dynamics(sheet, subject, symbols, bodies)
    sheet.add_equation(r"C \dot{v}", "c")
    sheet.add_column("c", terms.c, "c")
    sheet.begin_section("Reduced dynamics")
    sheet.add_paragraph(
        "Independent speeds ",
        sheet.matrix_symbol("u"),
        ": roll, steer and rolling of the rear wheel. The kernel ",
        sheet.matrix_symbol("H"),
        " and the drift ",
        sheet.matrix_symbol(r"\kappa"),
        " satisfy",
    )
    sheet.add_equation("C H", "0")
    sheet.add_equation(r"C \kappa", "c")
    sheet.add_equation(r"\dot{v}", r"H \dot{u} + \kappa")
    sheet.add_equation(r"H' M H \dot{u}", r"- H' (F + M \kappa)")
    return Equations(sheet.finish_page(f"{title} on SE(2) x S"), subject)


def _name_given(
    sheet: Sheet, subject: Subject, symbols: dict[str, Array], results: list[Array]
) -> None:
    """Define and list the symbols of coordinates, speeds, inputs and parameters."""
    joints = [joint.name.replace("_", " ") for joint in subject.model.joints]
    coordinates = {
        k: (Symbol.parse(text), words) for k, (text, words) in PLANAR_COORDINATES.items()
    }
    speeds = {k: (Symbol.parse(text), words) for k, (text, words) in PLANAR_SPEEDS.items()}
    for k, name in enumerate(joints):
        symbol = Symbol("r", (str(k + 1),))
        coordinates[FIRST_JOINT + k] = (symbol, name)
        speeds[FIRST_JOINT + k] = (symbol.with_dots(), f"rate of {name}")
    given_symbols = [
        Given(x, coordinates[k][0], coordinates[k][1], ENTRY)
        for k, x in enumerate(symbols["coordinates"])
    ]
    given_symbols += [
        Given(x, speeds[k][0], speeds[k][1], SPEED) for k, x in enumerate(symbols["speeds"])
    ]
    given_symbols.append(Given(symbols["t"][0], Symbol("t"), "time", ENTRY, True))
    sheet.add_paragraph(
        *parse_sentence("Coordinates: "),
        *join_symbols(symbol for symbol, _ in coordinates.values()),
        ": position of C0, yaw, roll (positive to the left), pitch (positive nose down), joints "
        f"({', '.join(joints)}). Speeds ",
        sheet.matrix_symbol("v"),
        " = (",
        *join_symbols(symbol for symbol, _ in speeds.values()),
        "): velocity of C0 along and across the track, yaw rate, rates of roll, pitch and joints. Vectors "
        "are in the contact frame of the rear wheel: x along its track, y left, z up. ",
        *parse_sentence("Notation: $c_x$ = cos $x$, $s_x$ = sin $x$, $t_x$ = tan $x$. "),
        "Valid for roll angles below 90 degrees.",
    )
    name_symbols(sheet, subject, given_symbols, results, symbols["inputs"])


def _write_frames(sheet: Sheet, model: Model, bodies: list[CarriedBody]) -> None:
    """Write rotation, origin, angular velocity and drift of every body."""
    sheet.begin_section("Frames")
    words = ", ".join(f"{i} {b.name.replace('_', ' ')}" for i, b in enumerate(model.bodies))
    sheet.add_paragraph(
        f"Bodies: {words}. ",
        *parse_sentence(
            "$R_i$ rotates the axes of body $i$ to the contact frame, $o_i$ is the point of its joint, $d_i$ "
            r"points from there to the mass centre; $w_i$ is the angular velocity, $\epsilon_i$ the angular "
            "acceleration and $b_i$ the acceleration of $o_i$, both at constant speeds."
        ),
    )
    for i, (body, frame) in enumerate(zip(model.bodies, bodies, strict=True)):
        for row in range(3):
            for column in range(3):
                symbol = Symbol("R", (f"{i}{AXIS_LETTERS[row]}{AXIS_LETTERS[column]}",))
                sheet.define_symbol(frame.R[row, column], symbol, LENGTH, min_factors=2)
        vectors = (
            ("o", frame.o, LENGTH),
            ("d", frame.vector_to(body.com), LENGTH),
            ("w", frame.w, SPEED),
            ("epsilon", frame.alpha, SPEED),
            ("b", frame.a, SPEED),
        )
        for letter, xs, kind in vectors:
            for x, axis in zip(xs, AXIS_LETTERS, strict=True):
                sheet.define_symbol(x, Symbol(letter, (f"{i}{axis}",)), kind, min_factors=3)
    sheet.flush_definitions()


def _write_front_contact(
    sheet: Sheet,
    bike: Bicycle,
    frames: dict[str, CarriedBody],
    coordinates: Array,
    speeds: Array,
) -> None:
    """Write the angle of the contact point C1 on the front wheel, eq. (2.27) of Mauny's thesis
    (2018), the vector from the hub to C1, and their rates.
    """
    sheet.begin_section("Front contact")
    sheet.add_paragraph(
        *parse_sentence(
            r"$\mu$ is the tilt of the steer axis, $\alpha_1$ the angle of $C_1$ on the front wheel from the "
            r"steer axis, eq. (2.27); $\rho$ points from the front hub to $C_1$ on the ring of the wheel, "
            "$q$ from the origin of the front wheel to $C_1$, $f$ and $e$ are the fork's first axis and "
            "the steer axis."
        )
    )
    cosine, sine = cos(bike.mu), sin(bike.mu)
    joint = bike.model.joints[bike.steer]
    up = joint.axis / norm(joint.axis)
    sheet.cut.define_value(bike.mu, Symbol("mu"))
    # The steer axis is (-sin mu, 0, cos mu), which defines the angle mu.
    sheet.cut.label_node(cosine, sheet.as_polynomial(up[2]))
    sheet.cut.label_node(sine, sheet.as_polynomial(-up[0]))
    steer = FIRST_JOINT + bike.steer
    arguments = coordinates[ROLL], np.pi - coordinates[PITCH], coordinates[steer]
    alpha = Symbol("alpha", ("1",))
    sheet.cut.define_value(front_contact_angle(bike, *arguments), alpha)
    rates = speeds[ROLL], -speeds[PITCH], speeds[steer]
    sheet.cut.define_value(
        front_contact_angle_rate(bike, *arguments, *rates), alpha.with_dots(), SPEED
    )
    fork = frames[bike.axle[1].parent]
    wheel = frames[bike.axle[1].child]
    s1, _, a1 = (fork.R @ x for x in fork_axes(bike.mu))
    rho, rho_rate = front_contact_vector(bike, fork, coordinates, speeds)
    hub = wheel.vector_to(bike.front_hub)
    arm = hub + rho - bike.k2 * VERTICAL
    arm_rate = cross(wheel.w, hub) + rho_rate
    vectors = (
        ("f", s1, LENGTH, 0),
        ("e", a1, LENGTH, 0),
        ("rho", rho, LENGTH, 0),
        ("rho", rho_rate, SPEED, 1),
        ("q", arm, LENGTH, 0),
        ("q", arm_rate, SPEED, 1),
    )
    for letter, xs, kind, dots in vectors:
        for x, axis in zip(xs, AXIS_LETTERS, strict=True):
            sheet.define_symbol(x, Symbol(letter, (axis,), dots=dots), kind, min_factors=3)
    sheet.flush_definitions()


def _write_dynamics(
    sheet: Sheet, subject: Subject, symbols: dict[str, Array], bodies: list[CarriedBody]
) -> None:
    """Write mass matrix and forces by their factors."""
    model = subject.model
    speeds = symbols["speeds"]
    count = range(len(bodies))
    n = len(speeds)
    sheet.begin_section("Free dynamics")
    sheet.add_equation(r"M \dot{v} + F", r"C' \lambda")
    sheet.add_equation("M", " + ".join(f"m_{i} V_{i}' V_{i} + T_{i}' J_{i} T_{i}" for i in count))
    terms = [rf"m_{i} V_{i}' a_{i} + T_{i}' (J_{i} \epsilon_{i} + n_{i})" for i in count]
    sheet.add_equation("F", " + ".join(terms) + " - Q")
    sheet.add_paragraph(
        *parse_sentence(
            "$J_i$ is the inertia tensor about the mass centre in the contact frame, $V_i$ and $T_i$ are the "
            "partial velocities of the mass centre and the partial angular velocities, $a_i$ is the "
            "acceleration of the mass centre at constant speeds minus gravity, $n_i$ the gyroscopic moment "
            "$w_i$ x $J_i$ $w_i$."
        )
    )
    gravity = rot_z(symbols["coordinates"][YAW]).T @ model.gravity
    for i, (body, frame) in enumerate(zip(model.bodies, bodies, strict=True)):
        arm = frame.vector_to(body.com)
        mass = Symbol("m", (str(i),))
        sheet.cut.define_polynomial(sheet.as_polynomial(body.mass), mass, INERTIA)
        sheet.keep_symbols([mass])
        sheet.add_matrix(
            f"V_{i}", frame.partial_velocities(arm), _entry_symbols("V", 3, n, f"{i},")
        )
        sheet.add_matrix(f"T_{i}", frame.turns, _entry_symbols("T", 3, n, f"{i},"))
        J = frame.R @ body.inertia @ frame.R.T
        sheet.add_matrix(
            f"J_{i}", J, _entry_symbols("J", 3, 3, f"{i},"), symmetric=True, kind=INERTIA
        )
        a = frame.convective_acceleration(arm, cross(frame.w, arm)) - gravity
        tails = [f"{i}{x}" for x in AXIS_LETTERS]
        sheet.define_vector("a", a, tails, SPEED)
        n_i = cross(frame.w, J @ frame.w)
        sheet.define_vector("n", n_i, tails, ENTRY)
        sheet.add_column(f"a_{i}", a, "a", tails)
        sheet.add_column(rf"\epsilon_{i}", frame.alpha, "epsilon", tails)
        sheet.add_column(f"n_{i}", n_i, "n", tails)
    torques = joint_torques(
        model,
        symbols["inputs"],
        symbols["coordinates"][FIRST_JOINT:],
        speeds[FIRST_JOINT:],
    )
    sheet.add_column("Q", [0.0] * FIRST_JOINT + list(torques), "Q")


def _entry_symbols(letter: str, rows: int, columns: int, prefix: str = "") -> list[list[Symbol]]:
    """Return the symbols of the entries of a matrix, counted from one."""
    return [
        [Symbol(letter, (f"{prefix}{row + 1}{column + 1}",)) for column in range(columns)]
        for row in range(rows)
    ]
