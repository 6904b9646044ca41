"""Page sections on the solution: kernel and its rate, accelerations, rates of coordinates,
multipliers.

Equations (11), (12) and (14) of Mauny, Porez and Boyer (2017, doi:10.1016/j.ifacol.2017.08.1007),
by elimination along fixed pivots.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from draisine.algebra.scalar import array
from draisine.algebra.trace import Expr, tangent
from draisine.codegen.formula import (
    Symbol,
    parse_name,
)
from draisine.mechanics.kernel import Elimination, choose_pivots, eliminate
from draisine.reading.contacts import name_contact_angle_rates, name_contact_motions
from draisine.reading.names import SPEED
from draisine.reading.sheet import Sheet, parse_sentence
from draisine.reading.subject import Subject

MAX_UNNAMED_PIVOT_TERMS = 2
"""Largest number of terms of an entry of the elimination that is printed without a separate symbol.
"""


def name_solution(
    sheet: Sheet, solver: Elimination, letter: str, entries: Any, columns: Sequence[str]
) -> None:
    """Define symbols for the entries of the solution of a linear system, in the order of back
    substitution.
    """
    for _, j in reversed(solver.order):
        for k, tail in enumerate(columns):
            x = entries[j, k] if entries.ndim == 2 else entries[j]
            value = sheet.as_polynomial(x)
            below = any(power < 0 for m in value for _, power in m)
            comma = "," if len(entries) > 9 else ""
            symbol = Symbol(letter, (f"{j + 1}{comma}{tail}" if tail else str(j + 1),))
            if len(value) > 1 or (below and not sheet.is_known(value)):
                sheet.cut.define_value(x, symbol)


def write_kernel(sheet: Sheet, subject: Subject) -> None:
    """Write the kernel of the constraint rows, v = H u, eq. (11), by elimination along fixed
    pivots.

    The pivots are nonzero in the zero configuration.
    """
    if not len(subject.C):
        return
    H = subject.H
    solver = subject.solver
    sheet.begin_section("Kernel")
    sheet.add_equation("v", r"H u + \nu" if subject.has_prescribed_motion else "H u")
    tails = [str(k + 1) for k in subject.independent]
    if not sheet.is_expanded:
        note = "by elimination with pivots $D_k$ (nonzero in the drawing), rows $U_{kj}$, columns $L_{kj}$."
        sheet.add_paragraph(*parse_sentence(note))
        for k, pivot in enumerate(solver.pivot):
            if len(sheet.as_polynomial(pivot)) > 1:
                sheet.cut.define_value(pivot, Symbol("D", (str(k + 1),)))
            for letter, entries in (("U", solver.upper[k]), ("L", solver.lower[k])):
                for j, x in entries:
                    if len(sheet.as_polynomial(x)) > MAX_UNNAMED_PIVOT_TERMS:
                        sheet.cut.define_value(x, Symbol(letter, (f"{k + 1},{j + 1}",)))
        name_solution(sheet, solver, "H", H, tails)
    comma = "," if len(H) > 9 else ""
    symbols = [[Symbol("H", (f"{i + 1}{comma}{tail}",)) for tail in tails] for i in range(len(H))]
    if H.shape[1]:
        sheet.add_matrix("H", H, symbols)
    if subject.has_prescribed_motion:
        if not sheet.is_expanded:
            name_solution(sheet, solver, "nu", subject.drift, [""])
        sheet.add_column(r"\nu", subject.drift, "nu")


def write_kernel_rate(sheet: Sheet, subject: Subject) -> None:
    """Write the rate of the kernel, eq. (12): kappa = Hdot u solves C kappa = d, d = -Cdot v."""
    m = len(subject.C)
    if not m:
        return
    sheet.begin_section("Rate of the kernel")
    sheet.add_equation(r"\dot{v}", r"H \dot{u} + \kappa")
    kappa = sheet.parse_formula(r"\kappa")
    left_side = sheet.parse_formula(r"C \kappa")
    right_side = sheet.parse_formula(
        r"\dot{b} - \dot{C} v" if subject.has_prescribed_motion else r"-\dot{C} v"
    )
    sheet.add_paragraph(
        "where ", kappa, " solves ", left_side, " = ", parse_name("d"), " = ", right_side, "."
    )
    if not sheet.is_expanded:
        note = r"$v_k$ and $\chi_k$ are velocity and acceleration of a contact point at constant speeds, "
        note += r"$\dot{q}_k$ is its velocity in the base's axes, $y_i$ is $d_i$ after elimination."
        sheet.add_paragraph(*parse_sentence(note))
    if sheet.is_expanded:
        subject = subject.reduced
    else:
        name_contact_angle_rates(sheet, subject)
        name_contact_motions(sheet, subject)
        sheet.define_vector("d", subject.c, [str(k + 1) for k in range(m)], min_factors=3)
        _name_right_sides(sheet, subject)
        name_solution(sheet, subject.solver, "kappa", subject.kappa, [""])
    sheet.add_column(r"\kappa", subject.kappa, "kappa")


def _name_right_sides(sheet: Sheet, subject: Subject) -> None:
    """Define symbols for the right-hand sides d after forward elimination, row by row, if they are
    sums.
    """
    solver = subject.solver
    kappa = subject.kappa
    for (i, j), pivot, above in zip(solver.order, solver.pivot, solver.upper, strict=True):
        right_side = pivot * kappa[j]
        for c, x in above:
            right_side = right_side + x * kappa[c]
        if len(sheet.as_polynomial(right_side)) > MAX_UNNAMED_PIVOT_TERMS:
            sheet.cut.define_value(right_side, Symbol("y", (str(i + 1),)))


def write_accelerations(sheet: Sheet, subject: Subject) -> None:
    """Write the accelerations: M_r udot = phi by elimination, then vdot = H udot + kappa."""
    k = len(subject.independent)
    symbols = dict(sheet.cut.given_symbols)
    rates = [symbols[f"v[{i}]"].with_dots() for i in range(len(subject.columns))]
    sheet.begin_section("Accelerations")
    vdot = subject.kappa
    if k:
        solver = eliminate(subject.M_r, [(j, j) for j in range(k)])
        forces = subject.H.T @ subject.Q - subject.F_r
        constrained = bool(len(subject.C))
        sheet.add_equation(r"M_r \dot{u}" if constrained else r"M \dot{u}", r"\phi")
        sheet.add_equation(r"\phi", "H' Q - F_r" if constrained else "Q - F")
        for j in range(k):
            sheet.define_symbol(forces[j], Symbol("phi", (str(j + 1),)))
            sheet.define_symbol(solver.pivot[j], Symbol("E", (str(j + 1),)))
            for c, x in solver.upper[j]:
                sheet.define_symbol(x, Symbol("E", (f"{j + 1}{c + 1}",)))
        udot = solver.solve(list(forces))
        for j in reversed(range(k)):
            sheet.define_symbol(udot[j], rates[subject.independent[j]], SPEED, min_factors=2)
        sheet.add_matrix(r"\dot{u}", [udot], [[rates[i] for i in subject.independent]])
        sheet.transpose_last()
        vdot = subject.H @ udot + vdot
    if len(subject.C):
        for x, symbol in zip(vdot, rates, strict=True):
            sheet.define_symbol(x, symbol, SPEED, min_factors=2)
        sheet.add_matrix(r"\dot{v}", [vdot], [rates])
        sheet.transpose_last()
        constraint_forces = subject.M @ vdot + subject.F - subject.Q
        for x, (node, symbol) in zip(
            constraint_forces, _constraint_force_symbols(subject), strict=True
        ):
            sheet.cut.define_polynomial(sheet.as_polynomial(x), symbol, SPEED, node)


def _constraint_force_symbols(subject: Subject) -> list[tuple[Expr, Symbol]]:
    """Return the symbols of the generalised constraint forces rho, in the graph and on the page."""
    count = range(len(subject.columns))
    return [(subject.graph.symbol(f"rho[{k}]"), Symbol("rho", (str(k + 1),))) for k in count]


def write_multipliers(sheet: Sheet, subject: Subject) -> None:
    """Write the Lagrange multipliers, eq. (14): C' lambda = rho, with rho = M vdot + F - Q."""
    m = len(subject.C)
    if not m:
        return
    sheet.begin_section("Multipliers")
    sheet.add_equation(r"C' \lambda", r"\rho")
    sheet.add_equation(r"\rho", r"M \dot{v} + F - Q")
    forces = _constraint_force_symbols(subject)
    for x, symbol in forces:
        if x.index not in sheet.cut.known:
            sheet.cut.name_symbol(x, symbol, SPEED)
    solver = subject.solver
    multipliers = solver.solve_transposed([x for x, _ in forces])
    if not sheet.is_expanded:
        for (i, _), below in zip(solver.order, solver.lower, strict=True):
            intermediate = multipliers[i]
            for k, factor in below:
                intermediate = intermediate + factor * multipliers[k]
            if below and len(sheet.as_polynomial(intermediate)) > MAX_UNNAMED_PIVOT_TERMS:
                sheet.cut.define_value(intermediate, Symbol("w", (str(i + 1),)), SPEED)
        for i, _ in reversed(solver.order):
            if i < m:
                sheet.define_symbol(
                    multipliers[i], Symbol("lambda", (str(i + 1),)), SPEED, min_factors=9
                )
    sheet.add_column(r"\lambda", multipliers[:m], "lambda")


def keep_base_rates(sheet: Sheet, subject: Subject) -> None:
    """Store the rates of the base's position and angles, expressed in the given symbols, for
    `write_reconstruction`.
    """
    # Trace these rates before names are defined: named values would hide the identity cos^2 + sin^2
    # = 1.
    symbols = dict(sheet.cut.given_symbols)
    for name, x in {**base_angle_rates(subject), **place_rates(subject)}.items():
        sheet.rates[symbols[name].with_dots()] = sheet.as_polynomial(x)


def write_reconstruction(sheet: Sheet, subject: Subject) -> None:
    """Write the rates of the base's position and angles as functions of its twist."""
    if not sheet.rates:
        return
    sheet.begin_section("Reconstruction")
    for symbol, value in sheet.rates.items():
        if symbol not in sheet.names.symbols:
            sheet.cut.define_polynomial(value, symbol, SPEED)
            sheet.keep_symbols([symbol])
    sheet.flush_definitions()


def place_rates(subject: Subject) -> dict[str, Any]:
    """Return the velocity of the base's origin in the world: R V."""
    rates = subject.R @ subject.speeds[:3]
    return {f"p[{k}]": rates[k] for k in subject.model.twist if k < 3}


def base_angle_rates(subject: Subject) -> dict[str, Any]:
    """Return the rates of the angles of the base, from R' Rdot = hat(W)."""
    R = subject.R
    turning = [k - 3 for k in subject.model.twist if k >= 3]
    names = [f"turn {name}" for name in subject.angles]
    columns = []
    for name in names:
        X = R.T @ array(tangent(list(R.ravel()), {name: 1.0})).reshape(3, 3)
        columns.append(array([X[2, 1], X[0, 2], X[1, 0]])[turning])
    if not names:
        return {}
    A = np.column_stack(columns)
    angular_velocity = list(subject.speeds[3:6][turning])
    rates = eliminate(A, choose_pivots(A, subject.evaluate_nominal)).solve(angular_velocity)
    return dict(zip(names, rates, strict=True))
