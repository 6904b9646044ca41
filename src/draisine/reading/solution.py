"""What is solved for: kernel, its rate, accelerations, rates of the coordinates, multipliers; eqs.
(11), (12) and (14) of the IFAC paper.
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
from draisine.reading.contacts import contact_motions, wander
from draisine.reading.names import SPEED
from draisine.reading.sheet import Sheet, sentence
from draisine.reading.subject import Subject

SHORT = 2
"""Most terms of an entry of an elimination that has no name."""


def name_solution(
    sheet: Sheet, solver: Elimination, letter: str, entries: Any, columns: Sequence[str]
) -> None:
    """Name the entries of a solution in the order in which they were found."""
    for _, j in reversed(solver.order):
        for k, tail in enumerate(columns):
            x = entries[j, k] if entries.ndim == 2 else entries[j]
            value = sheet.polynomial(x)
            below = any(power < 0 for m in value for _, power in m)
            comma = "," if len(entries) > 9 else ""
            symbol = Symbol(letter, (f"{j + 1}{comma}{tail}" if tail else str(j + 1),))
            if len(value) > 1 or (below and not sheet.known(value)):
                sheet.cut.define(x, symbol)


def kernel(sheet: Sheet, subject: Subject) -> None:
    """The kernel of the rows, v = H u, eq. (11), by elimination along pivots that do not vanish in
    the drawing.
    """
    if not len(subject.C):
        return
    H, solver = subject.H, subject.solver
    sheet.heading("Kernel")
    sheet.relate("v", r"H u + \nu" if subject.moved else "H u")
    tails = [str(k + 1) for k in subject.independent]
    if not sheet.expand:
        note = "by elimination; pivots $D_k$ do not vanish in the drawing, $U_{kj}$ stand beside them, "
        sheet.say(*sentence(note + "$L_{kj}$ below."))
        for k, pivot in enumerate(solver.pivot):
            if len(sheet.polynomial(pivot)) > 1:
                sheet.cut.define(pivot, Symbol("D", (str(k + 1),)))
            for letter, entries in (("U", solver.upper[k]), ("L", solver.lower[k])):
                for j, x in entries:
                    if len(sheet.polynomial(x)) > SHORT:
                        sheet.cut.define(x, Symbol(letter, (f"{k + 1},{j + 1}",)))
        name_solution(sheet, solver, "H", H, tails)
    comma = "," if len(H) > 9 else ""
    symbols = [[Symbol("H", (f"{i + 1}{comma}{tail}",)) for tail in tails] for i in range(len(H))]
    if H.shape[1]:
        sheet.matrix("H", H, symbols)
    if subject.moved:
        if not sheet.expand:
            name_solution(sheet, solver, "nu", subject.drift, [""])
        sheet.column(r"\nu", subject.drift, "nu")


def kernel_rate(sheet: Sheet, subject: Subject) -> None:
    """The rate of the kernel, eq. (12): kappa = Hdot u solves C kappa = d, d = -Cdot v."""
    m = len(subject.C)
    if not m:
        return
    sheet.heading("Rate of the kernel")
    sheet.relate(r"\dot{v}", r"H \dot{u} + \kappa")
    kappa, solved = (sheet.formula(text) for text in (r"\kappa", r"C \kappa"))
    wanted = sheet.formula(r"\dot{b} - \dot{C} v" if subject.moved else r"-\dot{C} v")
    sheet.say("where ", kappa, " solves ", solved, " = ", parse_name("d"), " = ", wanted, ".")
    if not sheet.expand:
        note = r"$v_k$ and $\chi_k$ are velocity and acceleration of a contact point where no speed changes, "
        note += r"$\dot{q}_k$ is how it wanders in the base's axes, $y_i$ what elimination leaves of $d_i$."
        sheet.say(*sentence(note))
    if sheet.expand:
        subject = subject.reduced
    else:
        wander(sheet, subject)
        contact_motions(sheet, subject)
        sheet.vector("d", subject.c, [str(k + 1) for k in range(m)], least=3)
        _right_sides(sheet, subject)
        name_solution(sheet, subject.solver, "kappa", subject.kappa, [""])
    sheet.column(r"\kappa", subject.kappa, "kappa")


def _right_sides(sheet: Sheet, subject: Subject) -> None:
    """Name what the elimination leaves of d, row by row, where it is a sum."""
    solver, kappa = subject.solver, subject.kappa
    for (i, j), pivot, above in zip(solver.order, solver.pivot, solver.upper, strict=True):
        left = pivot * kappa[j]
        for c, x in above:
            left = left + x * kappa[c]
        if len(sheet.polynomial(left)) > SHORT:
            sheet.cut.define(left, Symbol("y", (str(i + 1),)))


def accelerations(sheet: Sheet, subject: Subject) -> None:
    """The rates of all speeds: M_r udot = phi eliminated from the first to the last, then
    vdot = H udot + kappa.
    """
    k, given = len(subject.independent), dict(sheet.cut.given_symbols)
    rates = [given[f"v[{i}]"].with_dots() for i in range(len(subject.columns))]
    sheet.heading("Accelerations")
    vdot = subject.kappa
    if k:
        solver = eliminate(subject.M_r, [(j, j) for j in range(k)])
        forces = subject.H.T @ subject.Q - subject.F_r
        held = bool(len(subject.C))
        sheet.relate(r"M_r \dot{u}" if held else r"M \dot{u}", r"\phi")
        sheet.relate(r"\phi", "H' Q - F_r" if held else "Q - F")
        for j in range(k):
            sheet.define(forces[j], Symbol("phi", (str(j + 1),)))
            sheet.define(solver.pivot[j], Symbol("E", (str(j + 1),)))
            for c, x in solver.upper[j]:
                sheet.define(x, Symbol("E", (f"{j + 1}{c + 1}",)))
        udot = solver.solve(list(forces))
        for j in reversed(range(k)):
            sheet.define(udot[j], rates[subject.independent[j]], SPEED, least=2)
        sheet.matrix(r"\dot{u}", [udot], [[rates[i] for i in subject.independent]])
        sheet.stand_up()
        vdot = subject.H @ udot + vdot
    if len(subject.C):
        for x, symbol in zip(vdot, rates, strict=True):
            sheet.define(x, symbol, SPEED, least=2)
        sheet.matrix(r"\dot{v}", [vdot], [rates])
        sheet.stand_up()
        lack = subject.M @ vdot + subject.F - subject.Q
        for x, (place, symbol) in zip(lack, _lacking(subject), strict=True):
            sheet.cut.define_polynomial(sheet.polynomial(x), symbol, SPEED, place)


def _lacking(subject: Subject) -> list[tuple[Expr, Symbol]]:
    """Return the symbols of the forces that a motion lacks, on the graph and on the page."""
    count = range(len(subject.columns))
    return [(subject.graph.symbol(f"rho[{k}]"), Symbol("rho", (str(k + 1),))) for k in count]


def multipliers(sheet: Sheet, subject: Subject) -> None:
    """The multipliers, eq. (14) of the paper: C' lambda = rho, the forces that the motion lacks."""
    m = len(subject.C)
    if not m:
        return
    sheet.heading("Multipliers")
    sheet.relate(r"C' \lambda", r"\rho")
    sheet.relate(r"\rho", r"M \dot{v} + F - Q")
    lack = _lacking(subject)
    for x, symbol in lack:
        if x.index not in sheet.cut.known:
            sheet.cut.name(x, symbol, SPEED)
    solver = subject.solver
    found = solver.solve_transposed([x for x, _ in lack])
    if not sheet.expand:
        for (i, _), below in zip(solver.order, solver.lower, strict=True):
            pushed = found[i]
            for k, factor in below:
                pushed = pushed + factor * found[k]
            if below and len(sheet.polynomial(pushed)) > SHORT:
                sheet.cut.define(pushed, Symbol("w", (str(i + 1),)), SPEED)
        for i, _ in reversed(solver.order):
            if i < m:
                sheet.define(found[i], Symbol("lambda", (str(i + 1),)), SPEED, least=9)
    sheet.column(r"\lambda", found[:m], "lambda")


def base_rates(sheet: Sheet, subject: Subject) -> None:
    """Keep the rates of the base's place and angles for later, in the given symbols: names hide
    that a cosine's square and a sine's are one.
    """
    given = dict(sheet.cut.given_symbols)
    for name, x in {**angle_rates(subject), **place_rates(subject)}.items():
        sheet.rates[given[name].with_dots()] = sheet.polynomial(x)


def reconstruction(sheet: Sheet, subject: Subject) -> None:
    """The rates of the base's place and angles, from its twist."""
    if not sheet.rates:
        return
    sheet.heading("Reconstruction")
    for symbol, value in sheet.rates.items():
        if symbol not in sheet.names.symbols:
            sheet.cut.define_polynomial(value, symbol, SPEED)
            sheet.keep([symbol])
    sheet.flush()


def place_rates(subject: Subject) -> dict[str, Any]:
    """Return the rates of the coordinates of the base's origin: R V."""
    rates = subject.R @ subject.speeds[:3]
    return {f"p[{k}]": rates[k] for k in subject.model.twist if k < 3}


def angle_rates(subject: Subject) -> dict[str, Any]:
    """Return the rates of the base's angles, from R' Rdot = hat(W)."""
    R, turning = subject.R, [k - 3 for k in subject.model.twist if k >= 3]
    names = [f"turn {name}" for name in subject.angles]
    columns = []
    for name in names:
        X = R.T @ array(tangent(list(R.ravel()), {name: 1.0})).reshape(3, 3)
        columns.append(array([X[2, 1], X[0, 2], X[1, 0]])[turning])
    if not names:
        return {}
    A = np.column_stack(columns)
    found = eliminate(A, choose_pivots(A, subject.evaluate)).solve(
        list(subject.speeds[3:6][turning])
    )
    return dict(zip(names, found, strict=True))
