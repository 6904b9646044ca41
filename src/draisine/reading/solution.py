"""From the reduced dynamics to accelerations and multipliers: what a full page has beside."""

from draisine.codegen.formula import Product, Sum, Symbol, Transpose, negative
from draisine.mechanics.kernel import eliminate
from draisine.reading.names import SPEED
from draisine.reading.sheet import Sheet
from draisine.reading.stages import name_solution
from draisine.reading.subject import Subject


def accelerations(sheet: Sheet, subject: Subject) -> None:
    """The rates of the independent speeds: M_r udot = phi, eliminated from the first to the last."""
    k = len(subject.independent)
    if not k or sheet.expand:
        return
    pivots = [(j, j) for j in range(k)]
    solver = eliminate(subject.M_r, pivots)
    forces = subject.H.T @ subject.Q - subject.F_r
    phi, udot = sheet.quantity(r"\phi"), sheet.quantity(r"\dot{u}")
    sheet.heading("Accelerations")
    sheet.relate(Product((sheet.quantity("M_r"), udot)), phi)
    right = Product((Transpose(sheet.quantity("H")), sheet.quantity("Q")))
    sheet.relate(phi, Sum((right, negative(sheet.quantity("F_r")))))
    for j in range(k):
        sheet.define(forces[j], Symbol("phi", (str(j + 1),)))
        sheet.define(solver.pivot[j], Symbol("E", (str(j + 1),)))
        for c, x in solver.upper[j]:
            sheet.define(x, Symbol("E", (f"{j + 1}{c + 1}",)))
    found = solver.solve(list(forces))
    name_solution(sheet, solver, "y", found, [""])
    sheet.column(r"\dot{u}", found, "y")


def multipliers(sheet: Sheet, subject: Subject) -> None:
    """The multipliers, eq. (14) of the paper: C' lambda = rho, the forces that the motion lacks."""
    m = len(subject.C)
    if not m:
        return
    sheet.heading("Multipliers")
    rho = Sum(
        (
            Product((sheet.quantity("M"), sheet.quantity(r"\dot{v}"))),
            sheet.quantity("F"),
            negative(sheet.quantity("Q")),
        )
    )
    sheet.relate(sheet.quantity(r"\rho"), rho)
    lack = [subject.graph.symbol(f"rho[{k}]") for k in range(len(subject.columns))]
    for k, x in enumerate(lack):
        sheet.cut.name(x, Symbol("rho", (str(k + 1),)), SPEED)
    found = subject.solver.solve_transposed(lack)
    if not sheet.expand:
        for i, _ in [*reversed(subject.solver.order)]:
            if i < m:
                sheet.define(found[i], Symbol("lambda", (str(i + 1),)), SPEED, least=9)
    sheet.column(r"\lambda", found[:m], "lambda")


FURTHER = (accelerations, multipliers)
"""What a full page has beside."""
