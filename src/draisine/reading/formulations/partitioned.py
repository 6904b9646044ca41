r"""Page of the bicycle by Lagrange's equations of the first kind, after Escalona and Recuero (2012).

The coordinates are p = (x_C, y_C, phi, theta, psi, beta, gamma, epsilon, xi). The page states positions and
partial velocities of the bodies, eqs. (2) to (8), the constraints (12) to (24), mass matrix and forces (28)
to (32), and the partitioned equations (36) to (41). All entries are those of the formulation; the geometry of
the chain of rotations, traced first, determines how they are printed: equal values share the node that is
traced first.
"""

from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import cross, rot_x, rot_z
from draisine.algebra.scalar import Array, array, cos, is_zero, norm, sin
from draisine.algebra.trace import Expr
from draisine.codegen.formula import Symbol
from draisine.errors import ParameterError
from draisine.mechanics.formulations.bicycle._drawing import extract_bicycle
from draisine.mechanics.formulations.bicycle.partitioned import (
    BETA,
    EPSILON,
    EXTRA,
    GAMMA,
    PHI,
    PSI,
    THETA,
    XC,
    YC,
    Frame,
    Symbols,
)
from draisine.mechanics.kinematics import VERTICAL
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

NINE_COORDINATES = {
    XC: ("x_C", "rear contact point, x"),
    YC: ("y_C", "rear contact point, y"),
    PHI: (r"\phi", "heading"),
    THETA: (r"\theta", "lean"),
    PSI: (r"\psi", "rolling angle of the rear wheel"),
    BETA: (r"\beta", "pitch of the frame"),
    GAMMA: (r"\gamma", "steer angle"),
    EPSILON: (r"\epsilon", "rolling angle of the front wheel"),
}
"""Symbols and meanings of the coordinates by index, except additional joints and xi."""

PARTITIONED_LEGEND = {
    "A": "rotation to world axes, body",
    "d": "direction of an axis of rotation, world axes",
    "o": "point of an axis of rotation, world axes",
    "r": "position of a mass centre, world axes, body",
    "v": "velocity of a point",
    "H": "partial velocity of a mass centre, body, entry",
    "G": "partial angular velocity in body axes, body, entry",
    "I": "central moment of inertia in body axes, body",
    "omega": "angular velocity, body",
    "eta": "angular acceleration at zero accelerations of the coordinates, body",
    "a": "acceleration at zero accelerations of the coordinates, body or point",
    "n": "gyroscopic moment, body",
    "P": "weight, body",
    "D": "row of the constraints, entry",
    "C": "contact equation",
    "c": "prescribed right side of the constraints on accelerations, entry",
    "b": "prescribed rate of a constraint, entry",
    "rho": "vector from the front hub to the contact point on the rim",
    "Q": "generalised force of inputs, entry",
    "Delta": "denominator",
}
"""Meanings of letters on this page, if they differ from other pages."""


@dataclass(frozen=True, slots=True, eq=False)
class ChainTurn:
    """Rotation of the chain that leads to a body."""

    coordinate: int  # index of the coordinate in p
    sign: float  # rate of the rotation per rate of the coordinate
    axis: Array  # unit vector, world axes
    point: Array  # point of the axis, m
    w: Array  # angular velocity after the rotation, rad/s
    alpha: Array  # angular acceleration after the rotation, rad/s2
    a: Array  # acceleration of the point, m/s2; all at zero pddot


@dataclass(frozen=True, slots=True, eq=False)
class FrontRim:
    """Front contact, with vectors in world axes."""

    rho: Array  # from the front hub to the contact point on the rim, m
    tangent: Array  # derivative of rho with respect to xi, m
    rho_rate: Array  # rate of rho, m/s
    tangent_rate: Array  # rate of the tangent, m/s
    centre_drift: Array  # acceleration of the hub at zero pddot, m/s2


class Chain:
    """Rotations from the ground to a body, with compact kinematics at zero pddot."""

    def __init__(self, pdot: Array, start: Array) -> None:
        self.pdot = pdot
        self.turns: list[ChainTurn] = []
        self.start = start

    def copy(self) -> "Chain":
        """Return a chain that begins with the same rotations."""
        other = Chain(self.pdot, self.start)
        other.turns = list(self.turns)
        return other

    def add_rotation(self, coordinate: int, axis: Array, point: Array, sign: float = 1.0) -> None:
        """Add a rotation about an axis through a point that is fixed in the previous frame."""
        zero = np.zeros(3)
        before = self.turns[-1] if self.turns else None
        w = zero if before is None else before.w
        alpha = zero if before is None else before.alpha
        rate = self.pdot[coordinate] * sign
        a = zero if before is None else self.acceleration(point)
        turned = alpha + cross(w, axis) * rate
        self.turns.append(ChainTurn(coordinate, sign, axis, point, w + axis * rate, turned, a))

    def acceleration(self, point: Array) -> Array:
        """Return the acceleration (m/s2) of a point of the last frame at zero pddot."""
        last = self.turns[-1]
        d = point - last.point
        return last.a + cross(last.alpha, d) + cross(last.w, cross(last.w, d))

    def partial_velocities(self, point: Array) -> Array:
        """Return the partial velocities (3, n) of a point of the last frame."""
        columns = [np.zeros(3) for _ in self.pdot]
        columns[XC] = np.array([1.0, 0.0, 0.0])
        columns[YC] = np.array([0.0, 1.0, 0.0])
        for turn in self.turns:
            column = cross(turn.axis, point - turn.point) * turn.sign
            columns[turn.coordinate] = columns[turn.coordinate] + column
        return array(columns).T

    def partial_rotations(self, A: Array) -> Array:
        """Return the partial angular velocities (3, n) in the axes A of the last frame."""
        columns = [np.zeros(3) for _ in self.pdot]
        for turn in self.turns:
            columns[turn.coordinate] = columns[turn.coordinate] + A.T @ turn.axis * turn.sign
        return array(columns).T


def write_partitioned(subject: Subject, title: str) -> Equations:
    """Return the page of the bicycle in the coordinates of Escalona and Recuero."""
    bike = extract_bicycle(check_closed(subject))
    if any(joint.slide != 0.0 for joint in subject.model.joints):
        raise ParameterError(
            "The page of the formulation 'partitioned' requires hinges. Print the projected equations of a "
            "bicycle with sliding parts."
        )
    derivation = Symbols(bike, None, subject.graph)
    page = _Page(subject, derivation)
    page.write_sections()
    return Equations(page.sheet.finish_page(f"{title} in nine coordinates"), subject)


class _Page:
    """Sections of the page, with the arrays that they share."""

    def __init__(self, subject: Subject, derivation: Symbols) -> None:
        self.subject = subject
        self.derivation = derivation
        self.model = subject.model
        self.bike = derivation.bike
        self.hub, self.frames = derivation.place_bodies()
        self.chains = self._build_chains()
        # Trace the short forms before the derivatives. Both have the same values, and the graph
        # keeps the form that is traced first.
        for body in self.model.bodies:
            frame = self.frames[body.name]
            chain = self.chains[body.name]
            chain.partial_velocities(frame.position(body.com))
            chain.partial_rotations(frame.A)
            chain.acceleration(frame.position(body.com))
            frame.A.T @ chain.turns[-1].w
            frame.A.T @ chain.turns[-1].alpha
        self.rim = self._trace_contacts()
        terms = derivation.derive()
        self.D = terms.D
        self.b = array(terms.b)
        self.c = array(terms.c)
        self.contact = array(terms.contact)
        self.applied = derivation._applied_forces(self.frames)[0]
        self.sheet = Sheet(subject.graph)
        self.sheet.legend = LEGEND | PARTITIONED_LEGEND
        self.sheet.cut.letters |= {"denominator": "Delta"}

    def _build_chains(self) -> dict[str, Chain]:
        """Return the chain of rotations of every body."""
        p = self.derivation.p
        pdot = self.derivation.pdot
        bike = self.bike
        C = array([p[XC], p[YC], 0.0])
        base = Chain(pdot, C)
        base.add_rotation(PHI, VERTICAL, C)
        heading = self._leaned_axes(PHI)
        base.add_rotation(THETA, heading[:, 0], C + bike.k3 * VERTICAL)
        axle = self._leaned_axes(THETA)[:, 1]
        frame = base.copy()
        frame.add_rotation(BETA, axle, self.hub)
        wheel = base.copy()
        wheel.add_rotation(PSI, axle, self.hub)
        chains = {self.model.bodies[0].name: frame, bike.axle[0].child: wheel}
        coordinate = {bike.steer: GAMMA, bike.front: EPSILON}
        coordinate |= {joint: EXTRA + k for k, joint in enumerate(self.derivation.extra)}
        while len(chains) < len(self.model.bodies):
            for k, joint in enumerate(self.model.joints):
                if joint.parent in chains and joint.child not in chains:
                    parent = self.frames[joint.parent]
                    chain = chains[joint.parent].copy()
                    axis = parent.A @ (joint.axis / norm(joint.axis))
                    chain.add_rotation(
                        coordinate[k], axis, parent.position(joint.through), joint.turn
                    )
                    chains[joint.child] = chain
        return chains

    def _leaned_axes(self, last_coordinate: int) -> Array:
        """Return the intermediate axes after the rotations up to the heading or the lean."""
        p = self.derivation.p
        turned = rot_z(p[PHI])
        return turned if last_coordinate == PHI else turned @ rot_x(p[THETA])

    def _trace_contacts(self) -> "FrontRim":
        """Trace the rolling constraints of both wheels in their shortest forms."""
        bike = self.bike
        p = self.derivation.p
        xi = p[-1]
        xidot = self.derivation.pdot[-1]
        for x in (cos(p[PHI]), sin(p[PHI])):
            x * (bike.h3 - bike.k3)
        front: Frame = self.frames[bike.axle[1].child]
        chain = self.chains[bike.axle[1].child]
        last = chain.turns[-1]
        R = bike.h2 - bike.k2
        rim = front.A @ array([R * cos(xi), 0.0, -R * sin(xi)])
        tangent = front.A @ array([-R * sin(xi), 0.0, -R * cos(xi)])
        rim_rate = cross(last.w, rim) + tangent * xidot
        tangent_rate = cross(last.w, tangent) - rim * xidot
        arm = rim - bike.k2 * VERTICAL
        centre = front.position(bike.front_hub)
        centre_drift = chain.acceleration(centre)
        chain.partial_velocities(centre)
        chain.partial_velocities(centre + arm)
        for turn in chain.turns:
            cross(turn.axis, tangent)
        rim_drift = cross(last.alpha, rim) + cross(last.w, rim_rate) + tangent_rate * xidot
        centre_drift + rim_drift
        cross(last.alpha, tangent) + cross(last.w, tangent_rate) - rim_rate * xidot
        centre_drift + cross(last.alpha, arm) + cross(last.w, rim_rate)
        return FrontRim(rim, tangent, rim_rate, tangent_rate, centre_drift)

    def write_sections(self) -> None:
        """Write all sections."""
        self._name_given()
        self._write_positions()
        self._write_partial_velocities()
        self._write_constraints()
        self._write_dynamics()
        self._write_partition()

    def _name_given(self) -> None:
        """Define and list the symbols of coordinates, rates, inputs and parameters."""
        d = self.derivation
        n = len(d.p)
        symbols = {
            k: (Symbol.parse(text), meaning) for k, (text, meaning) in NINE_COORDINATES.items()
        }
        for k, joint in enumerate(d.extra):
            name = self.model.joints[joint].name.replace("_", " ")
            symbols[EXTRA + k] = (Symbol("r", (str(k + 1),)), name)
        symbols[n - 1] = (Symbol("xi"), "angle of the contact point on the front rim")
        given_symbols = []
        for k in range(n):
            symbol, meaning = symbols[k]
            given_symbols.append(Given(d.p[k], symbol, meaning, ENTRY))
        for k in range(n):
            symbol, meaning = symbols[k]
            given_symbols.append(Given(d.pdot[k], symbol.with_dots(), f"rate of {meaning}", SPEED))
        given_symbols.append(Given(d.t[0], Symbol("t"), "time", ENTRY, True))
        words = ", ".join(
            f"{k} {b.name.replace('_', ' ')}" for k, b in enumerate(self.model.bodies)
        )
        meanings = ", ".join(meaning for _, meaning in (symbols[k] for k in range(n)))
        self.sheet.add_paragraph(
            *parse_sentence("Coordinates $p$ = ("),
            *join_symbols(symbols[k][0] for k in range(n)),
            f"): {meanings}. World axes x forward, y left, z up; lean positive to the right, pitch nose "
            f"down. Bodies: {words}. ",
            *parse_sentence("Notation: $c_x$ = cos $x$, $s_x$ = sin $x$, $t_x$ = tan $x$. "),
            "Valid for lean angles below 90 degrees.",
        )
        results = [self.D, self.b, self.c, self.contact, self.applied, d.pdot]
        for body in self.model.bodies:
            frame = self.frames[body.name]
            results += [frame.A, frame.position(body.com), body.inertia, array([body.mass])]
        results.append(self.model.gravity)
        name_symbols(self.sheet, self.subject, given_symbols, results, d.symbols["inputs"])

    def _write_positions(self) -> None:
        """Write the section of the page on the positions: rotations, axes and mass centres of the bodies."""
        sheet = self.sheet
        sheet.begin_section("Positions")
        sheet.add_paragraph(
            *parse_sentence(
                "$A_i$ rotates the axes of body $i$, parallel to the world's in the drawing, to world axes; "
                "$d_k$ is the direction and $o_k$ a point of the rotation by coordinate number $k$; $r_i$ "
                "is a mass centre:"
            )
        )
        named: set[int] = set()
        for i, body in enumerate(self.model.bodies):
            frame = self.frames[body.name]
            for row in range(3):
                for column in range(3):
                    symbol = Symbol("A", (f"{i}{AXIS_LETTERS[row]}{AXIS_LETTERS[column]}",))
                    sheet.define_symbol(frame.A[row, column], symbol, LENGTH, min_factors=2)
            for turn in self.chains[body.name].turns:
                if turn.coordinate not in named:
                    named.add(turn.coordinate)
                    number = turn.coordinate + 1
                    self._name_vector("d", number, turn.axis, LENGTH)
                    self._name_vector("o", number, turn.point, LENGTH)
            self._name_vector("r", i, frame.position(body.com), LENGTH)
        sheet.flush_definitions()

    def _name_vector(
        self, letter: str, number: int, components: Array, kind: str, dots: int = 0
    ) -> None:
        """Define symbols for those components of a vector that are sums or long products."""
        for x, axis in zip(components, AXIS_LETTERS, strict=True):
            self.sheet.define_symbol(
                x, Symbol(letter, (f"{number}{axis}",), dots=dots), kind, min_factors=3
            )

    def _write_partial_velocities(self) -> None:
        """Write the partial velocities of mass centres and the partial angular velocities."""
        sheet = self.sheet
        sheet.begin_section("Velocities")
        sheet.add_equation(r"\dot{r}_i", r"H_i \dot{p}")
        sheet.add_equation(r"\omega_i", r"G_i \dot{p}")
        sheet.add_paragraph("with the angular velocities in body axes.")
        n = len(self.derivation.p)
        for i, body in enumerate(self.model.bodies):
            H, G = self.write_partials(body.name)
            sheet.add_matrix(f"H_{i}", H, _entry_symbols("H", i, n))
            sheet.add_matrix(f"G_{i}", G, _entry_symbols("G", i, n))

    def write_partials(self, body_name: str) -> tuple[Array, Array]:
        """Return the partial velocities H and the partial angular velocities G of a body, eqs. (2)
        and (8) of Escalona and Recuero.
        """
        d = self.derivation
        frame = self.frames[body_name]
        com = next(body.com for body in self.model.bodies if body.name == body_name)
        n = len(d.p)
        return d.differentiate_by_coordinates(frame.position(com)).reshape(
            3, n
        ), d.partial_angular_velocities(frame.A)

    def _write_constraints(self) -> None:
        """Write the contact equations, the rows of the constraints and their right sides."""
        sheet = self.sheet
        d = self.derivation
        labels = ["front wheel on the ground", "tangent of its rim level", "rear wheel rolls, x"]
        labels += ["rear wheel rolls, y", "front wheel rolls, x", "front wheel rolls, y"]
        labels += [f"{j.name} (prescribed)" for j in self.model.joints if j.motion is not None]
        counted = "; ".join(f"{k + 1} {label}" for k, label in enumerate(labels))
        sheet.begin_section("Constraints")
        moves = any(not is_zero(x) for x in self.b)
        sheet.add_equation(r"D \dot{p}", "b" if moves else "0")
        sheet.add_paragraph(
            f"Rows: {counted}. ",
            *parse_sentence(
                r"The first two are derivatives of the contact equations $C$ = 0; $\rho$ points from the "
                r"front hub to the contact point on the rim, $t$ is its derivative by $\xi$."
            ),
        )
        for letter, xs in (("rho", self.rim.rho), ("t", self.rim.tangent)):
            for x, axis in zip(xs, AXIS_LETTERS, strict=True):
                sheet.define_symbol(x, Symbol(letter, (axis,)), LENGTH, min_factors=2)
        sheet.add_column("C", self.contact, "C")
        rows = len(self.D)
        symbols = [
            [Symbol("D", (f"{i + 1},{j + 1}",)) for j in range(len(d.p))] for i in range(rows)
        ]
        sheet.add_matrix("D", self.D, symbols)
        if moves:
            sheet.add_column("b", self.b, "b")

    def _write_dynamics(self) -> None:
        """Write mass matrix and forces by their factors, eqs. (28) to (32) of Escalona and Recuero."""
        sheet = self.sheet
        d = self.derivation
        bodies = range(len(self.model.bodies))
        sheet.begin_section("Equations of motion")
        sheet.add_equation(r"M \ddot{p} + D' \lambda", "Q_v + Q_g + Q")
        sheet.add_equation(r"D \ddot{p}", "c")
        sheet.add_equation(
            "M", " + ".join(f"m_{i} H_{i}' H_{i} + G_{i}' I_{i} G_{i}" for i in bodies)
        )
        sheet.add_equation("Q_g", " + ".join(f"H_{i}' P_{i}" for i in bodies))
        forces = [rf"H_{i}' m_{i} a_{i} + G_{i}' (I_{i} \eta_{i} + n_{i})" for i in bodies]
        sheet.add_equation("Q_v", "- (" + " + ".join(forces) + ")")
        sheet.add_paragraph(
            *parse_sentence(
                r"At $\ddot{p}$ = 0, $a_i$ is the acceleration of a mass centre, with entries $\ddot{r}$, "
                r"$\eta_i$ the angular acceleration and $n_i$ the gyroscopic moment $\omega_i$ x $I_i$ "
                r"$\omega_i$ in body axes, $\omega_i$ the angular velocity; $P_i$ is the weight. In world "
                r"axes, $w_k$ and $\epsilon_k$ are angular velocity and acceleration after the rotation by "
                "coordinate number $k$, and $a_k$ is the acceleration of its point $o_k$; $a_F$ is that of "
                "the front hub."
            )
        )
        for i, body in enumerate(self.model.bodies):
            H, G = self.write_partials(body.name)
            w = G @ d.pdot
            a = array(d.differentiate_in_time(H @ d.pdot))
            eta = array(d.differentiate_in_time(G @ d.pdot))
            self._name_chain_rates(body.name)
            tails = [f"{i}{x}" for x in AXIS_LETTERS]
            sheet.define_vector("omega", w, tails, SPEED)
            mass = Symbol("m", (str(i),))
            sheet.cut.define_polynomial(sheet.as_polynomial(body.mass), mass, INERTIA)
            sheet.keep_symbols([mass])
            for row, tail in zip(a, tails, strict=True):
                sheet.define_symbol(row, Symbol("r", (tail,), dots=2), SPEED)
            sheet.define_vector("eta", eta, tails, SPEED)
            sheet.define_vector("n", cross(w, body.inertia @ w), tails, ENTRY)
            sheet.add_matrix(
                f"I_{i}", body.inertia, _entry_symbols("I", i, 3), symmetric=True, kind=INERTIA
            )
            sheet.add_column(f"P_{i}", body.mass * self.model.gravity, "P", tails)
            sheet.add_column(f"a_{i}", a, "a", tails)
            sheet.add_column(rf"\eta_{i}", eta, "eta", tails)
            sheet.add_column(f"n_{i}", cross(w, body.inertia @ w), "n", tails)
        sheet.add_column("Q", self.applied, "Q")
        for letter, xs, kind in (
            ("rho", self.rim.rho_rate, 1),
            ("t", self.rim.tangent_rate, 1),
            ("a", self.rim.centre_drift, 0),
        ):
            for x, axis in zip(xs, AXIS_LETTERS, strict=True):
                tail = axis if kind else f"F{axis}"
                sheet.define_symbol(x, Symbol(letter, (tail,), dots=kind), SPEED, min_factors=9)
        sheet.add_column("c", self.c, "c")

    def _name_chain_rates(self, name: str) -> None:
        """Define symbols for angular velocities and accelerations along the chain of a body."""
        for turn in self.chains[name].turns:
            number = turn.coordinate + 1
            for letter, xs in (("w", turn.w), ("epsilon", turn.alpha), ("a", turn.a)):
                for x, axis in zip(xs, AXIS_LETTERS, strict=True):
                    if isinstance(x, Expr) and x.index not in self.sheet.cut.known:
                        self.sheet.define_symbol(x, Symbol(letter, (f"{number}{axis}",)), SPEED)

    def _write_partition(self) -> None:
        """Write the partitioned equations (36) to (41) of Escalona and Recuero."""
        sheet = self.sheet
        sheet.begin_section("Independent coordinates")
        sheet.add_paragraph(
            *parse_sentence(
                r"Lean, steer and rolling angle are independent, $p_i$ = ($\theta$, $\gamma$, $\psi$), all "
                "others dependent, $p_d$; $D_i$ and $D_d$ are their columns of $D$. The first two contact "
                r"equations determine $\beta$ and $\xi$. With $E$ of the rows 1 for $p_i$ and $T$ for "
                "$p_d$, and $J$ of the rows 0 and $K$:"
            )
        )
        sheet.add_equation(r"D_d T", "- D_i")
        sheet.add_equation(r"D_d K", "c")
        sheet.add_equation(r"\ddot{p}", r"E \ddot{p}_i + J")
        sheet.add_equation(r"E' M E \ddot{p}_i", "E' (Q_v + Q_g + Q - M J)")


def _entry_symbols(letter: str, body_index: int, columns: int) -> list[list[Symbol]]:
    """Return the symbols of the entries of a matrix of one body with three rows."""
    return [
        [Symbol(letter, (f"{body_index},{row + 1}{column + 1}",)) for column in range(columns)]
        for row in range(3)
    ]
