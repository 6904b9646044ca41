"""The stages of the method, each from the mechanics to lines on a sheet: eqs. (9)-(16) of the IFAC
paper in order.

Names are given by rules that know no vehicle, bottom-up: rotations and the ground's normal, bodies,
links, the machine; then rows, kernel and reduced dynamics. What is a number or a short product keeps
its own symbols.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import is_zero
from draisine.codegen.formula import (
    ZERO,
    Expression,
    Number,
    Product,
    Sum,
    Symbol,
    Transpose,
    name_of,
)
from draisine.mechanics.base import is_planar
from draisine.mechanics.kernel import Elimination
from draisine.reading import polynomial as po
from draisine.reading.names import ENTRY, INERTIA, LENGTH, SPEED
from draisine.reading.sheet import Sheet
from draisine.reading.subject import Subject

MANY = 12
"""Most terms of an entry of the elimination that has no name."""


def places(letter: str, rows: int, columns: int) -> list[list[Symbol]]:
    """Return the symbols of the entries of a matrix, counted from one."""
    comma = "," if max(rows, columns) > 9 else ""
    return [
        [Symbol(letter, (f"{i + 1}{comma}{j + 1}",)) for j in range(columns)] for i in range(rows)
    ]


def ground(sheet: Sheet, subject: Subject) -> None:
    """The ground's normal in the links' frames, and where the wheels touch."""
    axes = subject.form.axes
    sheet.heading("Contact with the ground")
    sheet.say(
        *(name_of(r"\gamma_j"), " is the ground's normal in the axes of link ", name_of("j"), ", "),
        *(name_of(r"\alpha_k"), " the angle of a wheel's contact point."),
    )
    for k, (contact, (at, surface)) in enumerate(
        zip(subject.model.contacts, subject.touching, strict=True)
    ):
        if is_zero(surface.ring):
            continue
        up = subject.world.up[at.link]
        tails = [f"{at.link}{x}" for x in axes]
        if at.link:
            sheet.vector("gamma", up, tails)
        sheet.define(surface.slope(up), Symbol("sigma", (str(k),)))
        _contact_angle(sheet, subject, contact.name, k, surface.axle, surface.steepest(up))
    if subject.model.gravity[0] != 0.0 or subject.model.gravity[1] != 0.0:
        fall = subject.world.R.T @ subject.model.gravity
        sheet.vector("g", fall, list(axes))
    if sheet.cut.lines:
        sheet.flush()
    else:
        del sheet.blocks[-2:]


def _contact_angle(sheet: Sheet, subject: Subject, contact: str, k: int, axle: Any, e: Any) -> None:
    """Name the direction from a wheel's hub to its contact point: the cosine and sine of an angle
    about the axle where that is an axis of the link, else entry by entry.
    """
    along = [n for n in range(3) if not is_zero(axle[n])]
    simple = all(len(sheet.polynomial(x)) == 1 for x in e if not is_zero(x))
    flat = [sheet.polynomial(x) for x in e]
    trivial = simple and all(po.names_of(p) <= sheet.turns() for p in flat)
    if trivial:
        return
    if len(along) == 1:
        n = along[0]
        cosine, sine = -e[(n + 1) % 3], -e[(n + 2) % 3]
        text = subject.form.contact_angles.get(contact, rf"\alpha_{k}")
        sheet.cut.define_turn(cosine, sine, Symbol.parse(text))
    else:
        sheet.vector("e", e, [f"{k}{x}" for x in subject.form.axes], least=2)


def constraints(sheet: Sheet, subject: Subject) -> None:
    """The rows (A, B) v = 0, eq. (10)."""
    m, n = subject.C.shape
    if not m:
        return
    twist = len(subject.model.twist)
    sheet.heading("Constraints")
    symbols = [
        [*a, *b] for a, b in zip(places("A", m, twist), places("B", m, n - twist), strict=True)
    ]
    right = sheet.quantity("b") if subject.moved else ZERO
    sheet.relate(Product((sheet.quantity("C"), sheet.quantity("v"))), right)
    sheet.say("with one row for each direction that a contact forbids: ", *rows_told(subject), ".")
    sheet.matrix("C", subject.C, symbols, bar=twist if 0 < twist < n else None)
    if subject.moved:
        sheet.column("b", subject.b, "b")


def rows_told(subject: Subject) -> list[str]:
    """Return what the rows are, in words."""
    told = []
    for a in subject.active:
        if a.holds_all:
            axes = ", ".join(subject.form.axes[: len(a.names)])
            told.append(f"{a.contact.name} (along {axes})")
        else:
            told.append(f"{a.contact.name} ({', '.join(a.names)})")
    told += [f"{name} (its motion)" for name in subject.guided]
    if subject.spare:
        told.append(f"without {', '.join(subject.spare)}, which repeat others")
    return ["; ".join(told)]


def _moments(subject: Subject) -> list[tuple[int, int]]:
    """Return the entries of an inertia tensor that matter: in the plane only the last."""
    if is_planar(subject.model):
        return [(2, 2)]
    return [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]


def _bodies_told(subject: Subject) -> list[str | Expression]:
    """Say how bodies and links are counted, and what is written of them."""
    words = [body.name.replace("_", " ") for body in subject.model.bodies]
    links = [link.name.replace("_", " ") for link in subject.tree.links]
    counted = "; ".join(", ".join(f"{k} {x}" for k, x in enumerate(xs)) for xs in (words, links))
    central, moment = name_of("x_b"), name_of("I_b")
    lumps: list[str | Expression] = [
        name_of(r"\bar{m}_j"),
        ", ",
        name_of("S_j"),
        ", ",
        name_of("J_j"),
    ]
    return [
        *(f"Bodies and links: {counted}. In a link's axes ", central, " and ", moment),
        *(
            " are mass centre and central inertia of a body, ",
            *lumps,
            " mass and moments of a link",
        ),
        *(" with its wheels about its origin, ", name_of("p_j"), " its place in the link before."),
    ]


def bodies(sheet: Sheet, subject: Subject) -> None:
    """Mass centre and inertia of each body in its link's axes, then the lumps of each link."""
    axes, tree = subject.form.axes, subject.tree
    names, upper = sheet.cut, _moments(subject)
    sheet.say(*_bodies_told(subject))
    for b, body in enumerate(subject.model.bodies):
        link = tree.links[tree.place[body.name][0]]
        centre, J = link.R.T @ (body.com - link.o), link.R.T @ body.inertia @ link.R
        for x, axis in zip(centre, axes, strict=True):
            sheet.define(x, Symbol(axis, (str(b),)), LENGTH)
        for i, j in upper:
            sheet.define(J[i, j], Symbol("I", (f"{b}{axes[i]}{axes[j]}",)), INERTIA)
    for k, link in enumerate(tree.links):
        sheet.define(link.mass, Symbol("m", (str(k),), bar=True), INERTIA)
        for x, axis in zip(link.S, axes, strict=True):
            sheet.define(x, Symbol("S", (f"{k}{axis}",)), INERTIA)
        spread = link.G[0, 0] + link.G[1, 1] + link.G[2, 2]
        J = spread * np.eye(3) - link.G
        for i, j in upper:
            sheet.define(J[i, j], Symbol("J", (f"{k}{axes[i]}{axes[j]}",)), INERTIA)
        if len(upper) < 6:
            continue
        moments = [sheet.polynomial(J[i, i]) for i in range(3)]
        total = po.scale(po.add(po.add(moments[0], moments[1]), moments[2]), Fraction(1, 2))
        for i, j in upper:
            value = sheet.polynomial(J[i, j])
            names.label(link.G[i, j], po.add(total if i == j else {}, value, -1))
    for k, link in enumerate(tree.links[1:], start=1):
        sheet.vector("p", link.p, [f"{k}{x}" for x in axes], LENGTH)
    sheet.flush()


def free_dynamics(sheet: Sheet, subject: Subject) -> None:
    """The mass matrix of the free machine, eq. (9)."""
    v, n = sheet.quantity(r"\dot{v}"), len(subject.columns)
    sheet.heading("Free dynamics")
    pushed: list[Expression] = [sheet.quantity("Q")]
    if len(subject.C):
        pushed.append(Product((Transpose(sheet.quantity("C")), sheet.quantity(r"\lambda"))))
    sheet.relate(Sum((Product((sheet.quantity("M"), v)), sheet.quantity("F"))), Sum(tuple(pushed)))
    if not sheet.expand:
        bodies(sheet, subject)
        if subject.model.twist:
            sheet.define(subject.M[0, 0], Symbol("m"), INERTIA)
    sheet.matrix("M", subject.M, places("M", n, n), symmetric=True, kind=INERTIA)


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
    inside = Product((sheet.quantity("H"), sheet.quantity("u")))
    sheet.relate(
        sheet.quantity("v"), Sum((inside, sheet.quantity(r"\nu"))) if subject.moved else inside
    )
    tails = [str(k + 1) for k in subject.independent]
    if not sheet.expand:
        sheet.say("by elimination; pivots ", name_of("D_k"), " do not vanish in the drawing.")
        for k, pivot in enumerate(solver.pivot):
            if len(sheet.polynomial(pivot)) > 1:
                sheet.cut.define(pivot, Symbol("D", (str(k + 1),)))
            for letter, entries in (("U", solver.upper[k]), ("L", solver.lower[k])):
                for j, x in entries:
                    if len(sheet.polynomial(x)) > MANY:
                        sheet.cut.define(x, Symbol(letter, (f"{k + 1},{j + 1}",)))
        name_solution(sheet, solver, "H", H, tails)
    symbols = [[Symbol("H", (f"{i + 1}{tail}",)) for tail in tails] for i in range(len(H))]
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
    kappa = sheet.quantity(r"\kappa")
    inner = Product((sheet.quantity("H"), sheet.quantity(r"\dot{u}")))
    sheet.relate(sheet.quantity(r"\dot{v}"), Sum((inner, kappa)))
    wanted = Product((Number(Fraction(-1)), sheet.quantity(r"\dot{C}"), sheet.quantity("v")))
    sheet.say(
        "where ", kappa, " solves ", Product((sheet.quantity("C"), kappa)), " = ", wanted, "."
    )
    if sheet.expand:
        subject = subject.reduced
    else:
        _wander(sheet, subject)
        sheet.vector("d", subject.c, [str(k + 1) for k in range(m)], least=3)
        name_solution(sheet, subject.solver, "kappa", subject.kappa, [""])
    sheet.column(r"\kappa", subject.kappa, "kappa")


def _wander(sheet: Sheet, subject: Subject) -> None:
    """Name the rates at which the contact points wander round the wheels."""
    for k, a in enumerate(subject.active):
        if is_zero(a.surface.ring):
            continue
        up, W = subject.world.up[a.at.link], subject.vel.W[a.at.link]
        side = cross(a.surface.axle, a.surface.steepest(up))
        rate = (cross(up, W) @ side) / a.surface.slope(up)
        text = subject.form.contact_angles.get(a.contact.name, rf"\alpha_{k}")
        sheet.define(rate, Symbol.parse(text).with_dots(), SPEED)


def forces(sheet: Sheet, subject: Subject) -> None:
    """The forces F of free motion, by the recursion of appendix A where links have names."""
    axes = subject.form.axes
    sheet.heading("Forces of free motion and inputs")
    if not sheet.expand:
        needed, vel = subject.needed, subject.vel
        sheet.say(
            *("Link by link: angular velocity ", name_of(r"\omega_j"), ", its rate "),
            *(
                name_of(r"\epsilon_j"),
                " and acceleration ",
                name_of("a_j"),
                " (less gravity) where ",
            ),
            *(
                "no speed changes, force ",
                name_of("f_j"),
                " and moment ",
                name_of("n_j"),
                " needed.",
            ),
        )
        for j in range(len(subject.tree.links)):
            tails = [f"{j}{x}" for x in axes]
            if j:
                sheet.vector("omega", vel.W[j], tails, SPEED)
                sheet.vector("epsilon", needed.alpha[j], tails, SPEED, least=9)
            sheet.vector("a", needed.a[j], tails, ENTRY, least=9)
            if j:
                sheet.vector("f", needed.force[j], tails, ENTRY, least=9)
                sheet.vector("n", needed.moment[j], tails, ENTRY, least=9)
        sheet.flush()
    sheet.column("F", subject.F, "F")


def reduced_dynamics(sheet: Sheet, subject: Subject) -> None:
    """The reduced mass matrix and forces, eqs. (13), (15), (16)."""
    if not len(subject.C) or not subject.independent:
        return
    n, k = subject.H.shape
    H, M, F = Transpose(sheet.quantity("H")), sheet.quantity("M"), sheet.quantity("F")
    sheet.heading("Reduced dynamics")
    moved = Sum(
        (Product((sheet.quantity("M_r"), sheet.quantity(r"\dot{u}"))), sheet.quantity("F_r"))
    )
    sheet.relate(moved, Product((H, sheet.quantity("Q"))))
    sheet.relate(sheet.quantity("M_r"), Product((H, M, sheet.quantity("H"))))
    sheet.relate(
        sheet.quantity("F_r"), Product((H, Sum((F, Product((M, sheet.quantity(r"\kappa")))))))
    )
    if not sheet.expand:
        sheet.say("with ", name_of("N"), " = ", Product((M, sheet.quantity("H"))), ".")
        tails = [str(c + 1) for c in subject.independent]
        for i in range(n):
            for j, tail in enumerate(tails):
                sheet.define(subject.N[i, j], Symbol("N", (f"{i + 1}{tail}",)))
    sheet.matrix("M_r", subject.M_r, places("m", k, k), symmetric=True)
    if sheet.expand:
        subject = subject.reduced
    sheet.column("F_r", subject.F_r, "f")


def applied_forces(sheet: Sheet, subject: Subject) -> None:
    """The generalised forces Q of the inputs, next to those of free motion."""
    if not all(is_zero(x) for x in subject.Q):
        sheet.column("Q", subject.Q, "Q")
    if len(subject.z):
        sheet.say("The states of force elements change by")
        sheet.column(r"\dot{z}", subject.acting.rates, "e")


STAGES = (
    ground,
    constraints,
    free_dynamics,
    forces,
    applied_forces,
    kernel,
    kernel_rate,
    reduced_dynamics,
)
"""In the order of reading."""
