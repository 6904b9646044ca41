"""Stages of the method, each from the mechanics to lines on a sheet: constraints, free dynamics and
reduced dynamics, eqs. (9), (10), (13), (15) and (16) of the IFAC paper.

Names are given by rules that know no vehicle, bottom-up: rotations and the ground's normal, bodies,
links, the machine; then rows, kernel and reduced dynamics. What is a number or a short product keeps
its own symbols.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from draisine.algebra.scalar import is_zero
from draisine.algebra.trace import Expr, reachable
from draisine.codegen.formula import (
    Expression,
    Symbol,
    parse_name,
)
from draisine.mechanics.base import is_planar
from draisine.mechanics.newton_euler import Composite, carried_wrenches, composites, joint_wrenches
from draisine.reading import polynomial as po
from draisine.reading.contacts import contact_motions, wander
from draisine.reading.names import ENTRY, INERTIA, LENGTH, SPEED
from draisine.reading.sheet import Sheet, sentence
from draisine.reading.subject import Subject


def places(letter: str, rows: int, columns: int) -> list[list[Symbol]]:
    """Return the symbols of the entries of a matrix, counted from one."""
    comma = "," if max(rows, columns) > 9 else ""
    return [
        [Symbol(letter, (f"{i + 1}{comma}{j + 1}",)) for j in range(columns)] for i in range(rows)
    ]


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
    sheet.relate("C v", "b" if subject.moved else "0")
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


def carriers(subject: Subject) -> list[int]:
    """Return the links, the base not, that carry others."""
    return sorted({link.parent for link in subject.tree.links[1:]} - {0})


def _bodies_told(subject: Subject) -> list[str | Expression]:
    """Say how bodies and links are counted, and what is written of them."""
    words = [body.name.replace("_", " ") for body in subject.model.bodies]
    links = [link.name.replace("_", " ") for link in subject.tree.links]
    counted = "; ".join(", ".join(f"{k} {x}" for k, x in enumerate(xs)) for xs in (words, links))
    note, behind = "$x_b$ and $I_b$ are mass centre and central inertia of a body, ", ""
    note += r"$\bar{m}_j$, $S_j$, $J_j$ mass and moments of a link with its wheels about its origin"
    if carriers(subject):
        note += " (with a prime: with the links that it carries, too)"
        behind = (
            r", $\Pi_{kj}$ and $\Lambda_{kj}$ the force and the moment on link $j$ that a unit "
        )
        behind += "acceleration of joint $k$ behind it needs"
    note += f", $p_j$ its place in the link before{behind}."
    return [f"Bodies and links: {counted}. In a link's axes ", *sentence(note)]


def bodies(sheet: Sheet, subject: Subject) -> None:
    """Mass centre and inertia of each body in its link's axes, then the lumps of each link, by
    itself and with the links that it carries.
    """
    axes, tree = subject.form.axes, subject.tree
    upper = _moments(subject)
    sheet.say(*_bodies_told(subject))
    for b, body in enumerate(subject.model.bodies):
        link = tree.links[tree.place[body.name][0]]
        centre, J = link.R.T @ (body.com - link.o), link.R.T @ body.inertia @ link.R
        for x, axis in zip(centre, axes, strict=True):
            sheet.define(x, Symbol(axis, (str(b),)), LENGTH)
        for i, j in upper:
            sheet.define(J[i, j], Symbol("I", (f"{b}{axes[i]}{axes[j]}",)), INERTIA)
    for k, link in enumerate(tree.links):
        _lump(sheet, subject, k, Composite(link))
    for k, link in enumerate(tree.links[1:], start=1):
        sheet.vector("p", link.p, [f"{k}{x}" for x in axes], LENGTH)
    if carriers(subject):
        _carriers(sheet, subject)
    sheet.flush()


def _carriers(sheet: Sheet, subject: Subject) -> None:
    """Name the lumps of links with all that they carry, and what joints behind them need."""
    tree, geo, axes = subject.tree, subject.geo, subject.form.axes
    whole = composites(tree, geo)
    for k in reversed(carriers(subject)):
        _moment_of_carrier(sheet, subject, k, whole)
        _lump(sheet, subject, k, whole[k], primes=1)
    _moment_of_carrier(sheet, subject, 0, whole)
    for j, behind in reversed([*enumerate(joint_wrenches(tree, geo, whole))][1:]):
        for k, (force, moment) in behind.items():
            for letter, xs in (("Pi", force), ("Lambda", moment)):
                sheet.vector(letter, xs, [f"{k + 1},{j}{x}" for x in axes], INERTIA, least=9)


def _moment_of_carrier(sheet: Sheet, subject: Subject, k: int, whole: Sequence[Composite]) -> None:
    """Name the moment of inertia of a link of the plane with all that it carries, by those of the
    links next to it.
    """
    if not is_planar(subject.model):
        return
    link, geo = subject.tree.links[k], subject.geo
    value = sheet.polynomial(link.G[0, 0] + link.G[1, 1])
    for j, other in enumerate(subject.tree.links):
        if j and other.parent == k:
            p, m, G = geo.p[j], whole[j].mass, whole[j].G
            shifted = 2 * (p @ (geo.E[j] @ whole[j].S)) + m * (p @ p)
            value = po.add(value, sheet.polynomial(G[0, 0] + G[1, 1]))
            value = po.add(value, sheet.polynomial(shifted))
    total = whole[k].G[0, 0] + whole[k].G[1, 1]
    symbol = Symbol("J", (f"{k}{subject.form.axes[2] * 2}",), primes=1)
    sheet.cut.define_polynomial(value, symbol, INERTIA, total)


def _lump(
    sheet: Sheet,
    subject: Subject,
    k: int,
    lump: Composite,
    primes: int = 0,
) -> None:
    """Name the mass, the first moments and the moments of inertia of a link, or (primed) of a link
    with all that it carries; second moments are written by those of inertia.
    """
    axes, upper = subject.form.axes, _moments(subject)
    S, G = lump.S, lump.G
    sheet.define(lump.mass, Symbol("m", (str(k),), bar=True, primes=primes), INERTIA)
    for x, axis in zip(S, axes, strict=True):
        sheet.define(x, Symbol("S", (f"{k}{axis}",), primes=primes), INERTIA)
    J = (G[0, 0] + G[1, 1] + G[2, 2]) * np.eye(3) - G
    for i, j in upper:
        sheet.define(J[i, j], Symbol("J", (f"{k}{axes[i]}{axes[j]}",), primes=primes), INERTIA)
    if len(upper) < 6:
        return
    spread = [sheet.polynomial(J[i, i]) for i in range(3)]
    total = po.scale(po.add(po.add(spread[0], spread[1]), spread[2]), Fraction(1, 2))
    for i, j in upper:
        value = sheet.polynomial(J[i, j])
        sheet.cut.label(G[i, j], po.add(total if i == j else {}, value, -1))


def free_dynamics(sheet: Sheet, subject: Subject) -> None:
    """The mass matrix, the forces of free motion and the inputs, eq. (9)."""
    n = len(subject.columns)
    sheet.heading("Free dynamics")
    sheet.relate(r"M \dot{v} + F", r"Q + C' \lambda" if len(subject.C) else "Q")
    if not sheet.expand:
        bodies(sheet, subject)
        if subject.model.twist:
            sheet.define(subject.M[0, 0], Symbol("m"), INERTIA)
    sheet.matrix("M", subject.M, places("M", n, n), symmetric=True, kind=INERTIA)
    _forces(sheet, subject)
    _applied_forces(sheet, subject)


def _forces(sheet: Sheet, subject: Subject) -> None:
    """The forces F of free motion, by the recursion of appendix A where links have names."""
    axes = subject.form.axes
    sheet.heading("Forces of free motion and inputs")
    if not sheet.expand:
        needed, vel = subject.needed, subject.vel
        note = r"Link by link: angular velocity $\omega_j$, its rate $\epsilon_j$ and acceleration $a_j$ "
        note += "(less gravity) where no speed changes, force $f_j$ and moment $n_j$ needed."
        sheet.say(*sentence(note))
        for j in range(len(subject.tree.links)):
            tails = [f"{j}{x}" for x in axes]
            if j:
                sheet.vector("omega", vel.W[j], tails, SPEED)
                sheet.vector("epsilon", needed.alpha[j], tails, SPEED, least=9)
            sheet.vector("a", needed.a[j], tails, ENTRY, least=9)
            if j:
                sheet.vector("f", needed.force[j], tails, ENTRY, least=9)
                sheet.vector("n", needed.moment[j], tails, ENTRY, least=9)
        for j in reversed(carriers(subject)):
            for letter, xs in zip(
                "fn", carried_wrenches(subject.tree, subject.geo, needed), strict=True
            ):
                for x, axis in zip(xs[j], axes, strict=True):
                    sheet.define(x, Symbol(letter, (f"{j}{axis}",), primes=1))
        sheet.flush()
    sheet.column("F", subject.F, "F")


def reduced_dynamics(sheet: Sheet, subject: Subject) -> None:
    """The reduced mass matrix and forces, eqs. (13), (15), (16)."""
    if not len(subject.C) or not subject.independent:
        return
    n, k = subject.H.shape
    sheet.heading("Reduced dynamics")
    sheet.relate(r"M_r \dot{u} + F_r", "H' Q")
    sheet.relate("M_r", "H' M H")
    sheet.relate("F_r", r"H' (F + M \kappa)")
    if not sheet.expand:
        sheet.say("with ", parse_name("N"), " = ", sheet.formula("M H"), ".")
        tails = [str(c + 1) for c in subject.independent]
        comma = "," if n > 9 else ""
        for i in range(n):
            for j, tail in enumerate(tails):
                sheet.define(subject.N[i, j], Symbol("N", (f"{i + 1}{comma}{tail}",)))
    sheet.matrix("M_r", subject.M_r, places("m", k, k), symmetric=True)
    if sheet.expand:
        subject = subject.reduced
    sheet.column("F_r", subject.F_r, "f")


def _applied_forces(sheet: Sheet, subject: Subject) -> None:
    """The generalised forces Q of the inputs, next to those of free motion."""
    if len(subject.z) and not sheet.expand:
        wander(sheet, subject)
        contact_motions(sheet, subject)
    if not all(is_zero(x) for x in subject.Q):
        sheet.column("Q", subject.Q, "Q")
    read = _loads_read(subject)
    if read:
        said = ", ".join(name.replace("_", " ") for name in read)
        note = "the normal force, one of the multipliers, which the forces above change in turn; both are"
        sheet.say("Here ", parse_name("N"), f" of {said}: {note} solved for together.")
    if len(subject.z):
        sheet.say("The states of force elements change by")
        sheet.column(r"\dot{z}", subject.acting.rates, "e")


def _loads_read(subject: Subject) -> list[str]:
    """Return the contacts whose loads the force elements read."""
    roots = [x.index for x in subject.Q if isinstance(x, Expr)]
    needed = set(reachable(subject.graph, roots))
    return [name for name, x in subject.loads.items() if x.index in needed]
