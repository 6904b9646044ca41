"""Page sections on constraints, free and reduced dynamics, eqs. (9), (10), (13), (15), (16) of Mauny, Porez
and Boyer (2017, doi:10.1016/j.ifacol.2017.08.1007).

Names follow rules that do not depend on the vehicle, bottom-up: rotations and the ground's normal, bodies,
links, the model; then constraint rows, kernel and reduced dynamics. Numbers and short products get no symbol
of their own.
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
from draisine.mechanics.newton_euler import (
    Composite,
    accumulate_wrenches,
    composite_bodies,
    joint_inertia_wrenches,
)
from draisine.reading import polynomial as po
from draisine.reading.contacts import name_contact_angle_rates, name_contact_motions
from draisine.reading.names import ENTRY, INERTIA, LENGTH, SPEED
from draisine.reading.sheet import Sheet, parse_sentence
from draisine.reading.subject import Subject


def entry_symbols(letter: str, rows: int, columns: int) -> list[list[Symbol]]:
    """Return the symbols of the entries of a matrix, counted from one."""
    comma = "," if max(rows, columns) > 9 else ""
    return [
        [Symbol(letter, (f"{i + 1}{comma}{j + 1}",)) for j in range(columns)] for i in range(rows)
    ]


def write_constraints(sheet: Sheet, subject: Subject) -> None:
    """Write the constraint rows (A, B) v = b, eq. (10)."""
    m, n = subject.C.shape
    if not m:
        return
    twist = len(subject.model.twist)
    sheet.begin_section("Constraints")
    left = entry_symbols("A", m, twist)
    right = entry_symbols("B", m, n - twist)
    symbols = [[*a, *b] for a, b in zip(left, right, strict=True)]
    sheet.add_equation("C v", "b" if subject.has_prescribed_motion else "0")
    sheet.add_paragraph("with one row per constrained direction: ", describe_rows(subject), ".")
    sheet.add_matrix("C", subject.C, symbols, bar=twist if 0 < twist < n else None)
    if subject.has_prescribed_motion:
        sheet.add_column("b", subject.b, "b")


def describe_rows(subject: Subject) -> str:
    """Return the list of the constraint rows in words."""
    words = []
    for a in subject.active:
        if a.holds_all:
            axes = ", ".join(subject.form.axes[: len(a.names)])
            words.append(f"{a.contact.name} (along {axes})")
        else:
            words.append(f"{a.contact.name} ({', '.join(a.names)})")
    words += [f"{name} (prescribed motion)" for name in subject.guided]
    if subject.spare:
        words.append(f"without the redundant rows {', '.join(subject.spare)}")
    return "; ".join(words)


def _moment_indices(subject: Subject) -> list[tuple[int, int]]:
    """Return the index pairs of the entries of an inertia tensor that occur in the equations; for a planar
    model, only (2, 2), the moment about z.
    """
    if is_planar(subject.model):
        return [(2, 2)]
    return [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]


def carrying_links(subject: Subject) -> list[int]:
    """Return the indices of the links that carry others, except the base."""
    return sorted({link.parent for link in subject.tree.links[1:]} - {0})


def _describe_bodies(subject: Subject) -> list[str | Expression]:
    """Return the numbering of bodies and links, and the meaning of their symbols, in words."""
    words = [body.name.replace("_", " ") for body in subject.model.bodies]
    links = [link.name.replace("_", " ") for link in subject.tree.links]
    counted = "; ".join(", ".join(f"{k} {x}" for k, x in enumerate(xs)) for xs in (words, links))
    note = "$x_b$ and $I_b$ are mass centre and central inertia of a body, "
    behind = ""
    note += r"$\bar{m}_j$, $S_j$, $J_j$ mass and moments of a link with its wheels about its origin"
    if carrying_links(subject):
        note += " (with a prime: with the links that it carries, too)"
        behind = r", $\Pi_{kj}$ and $\Lambda_{kj}$ the force and the moment on link $j$ for a unit "
        behind += "acceleration of the later joint $k$"
    note += f", $p_j$ its position in its parent{behind}."
    return [f"Bodies and links: {counted}. In a link's axes ", *parse_sentence(note)]


def write_bodies(sheet: Sheet, subject: Subject) -> None:
    """Write mass centre and inertia of each body, then of each link, alone and with its subtree."""
    axes = subject.form.axes
    tree = subject.tree
    upper = _moment_indices(subject)
    sheet.add_paragraph(*_describe_bodies(subject))
    for b, body in enumerate(subject.model.bodies):
        link = tree.links[tree.place[body.name][0]]
        centre = link.R.T @ (body.com - link.o)
        J = link.R.T @ body.inertia @ link.R
        for x, axis in zip(centre, axes, strict=True):
            sheet.define_symbol(x, Symbol(axis, (str(b),)), LENGTH)
        for i, j in upper:
            sheet.define_symbol(J[i, j], Symbol("I", (f"{b}{axes[i]}{axes[j]}",)), INERTIA)
    for k, link in enumerate(tree.links):
        _name_composite(sheet, subject, k, Composite(link))
    for k, link in enumerate(tree.links[1:], start=1):
        sheet.define_vector("p", link.p, [f"{k}{x}" for x in axes], LENGTH)
    if carrying_links(subject):
        _name_subtrees(sheet, subject)
    sheet.flush_definitions()


def _name_subtrees(sheet: Sheet, subject: Subject) -> None:
    """Define symbols for the composite inertias of subtrees, and the wrenches per unit acceleration of their
    joints.
    """
    tree = subject.tree
    geo = subject.geo
    axes = subject.form.axes
    subtrees = composite_bodies(tree, geo)
    for k in reversed(carrying_links(subject)):
        _name_planar_moment(sheet, subject, k, subtrees)
        _name_composite(sheet, subject, k, subtrees[k], prime_count=1)
    _name_planar_moment(sheet, subject, 0, subtrees)
    for j, behind in reversed([*enumerate(joint_inertia_wrenches(tree, geo, subtrees))][1:]):
        for k, (force, moment) in behind.items():
            for letter, xs in (("Pi", force), ("Lambda", moment)):
                sheet.define_vector(
                    letter, xs, [f"{k + 1},{j}{x}" for x in axes], INERTIA, min_factors=9
                )


def _name_planar_moment(
    sheet: Sheet, subject: Subject, k: int, subtrees: Sequence[Composite]
) -> None:
    """Define symbols for the moment of inertia of a planar subtree, expressed by the moments of its
    child links.
    """
    if not is_planar(subject.model):
        return
    link = subject.tree.links[k]
    geo = subject.geo
    value = sheet.as_polynomial(link.G[0, 0] + link.G[1, 1])
    for j, other in enumerate(subject.tree.links):
        if j and other.parent == k:
            child = subtrees[j]
            p = geo.p[j]
            # Parallel axis theorem: shift the child's moment of inertia from its own origin to the
            # origin of the link.
            shifted = 2 * (p @ (geo.E[j] @ child.S)) + child.mass * (p @ p)
            value = po.add(value, sheet.as_polynomial(child.G[0, 0] + child.G[1, 1]))
            value = po.add(value, sheet.as_polynomial(shifted))
    total = subtrees[k].G[0, 0] + subtrees[k].G[1, 1]
    symbol = Symbol("J", (f"{k}{subject.form.axes[2] * 2}",), primes=1)
    sheet.cut.define_polynomial(value, symbol, INERTIA, total)


def _name_composite(
    sheet: Sheet,
    subject: Subject,
    link: int,
    composite: Composite,
    prime_count: int = 0,
) -> None:
    """Define symbols for mass, first moments and moments of inertia of a link, or (primed) of its subtree.

    Second moments G are written by the moments of inertia, J = tr(G) 1 - G.
    """
    axes = subject.form.axes
    upper = _moment_indices(subject)
    S = composite.S
    G = composite.G
    sheet.define_symbol(
        composite.mass, Symbol("m", (str(link),), bar=True, primes=prime_count), INERTIA
    )
    for x, axis in zip(S, axes, strict=True):
        sheet.define_symbol(x, Symbol("S", (f"{link}{axis}",), primes=prime_count), INERTIA)
    J = (G[0, 0] + G[1, 1] + G[2, 2]) * np.eye(3) - G
    for i, j in upper:
        sheet.define_symbol(
            J[i, j], Symbol("J", (f"{link}{axes[i]}{axes[j]}",), primes=prime_count), INERTIA
        )
    if len(upper) < 6:
        return
    spread = [sheet.as_polynomial(J[i, i]) for i in range(3)]
    total = po.scale(po.add(po.add(spread[0], spread[1]), spread[2]), Fraction(1, 2))
    for i, j in upper:
        value = sheet.as_polynomial(J[i, j])
        sheet.cut.label_node(G[i, j], po.add(total if i == j else {}, value, -1))


def write_free_dynamics(sheet: Sheet, subject: Subject) -> None:
    """Write the mass matrix, the forces of free motion and the inputs, eq. (9)."""
    n = len(subject.columns)
    sheet.begin_section("Free dynamics")
    sheet.add_equation(r"M \dot{v} + F", r"Q + C' \lambda" if len(subject.C) else "Q")
    if not sheet.is_expanded:
        write_bodies(sheet, subject)
        if subject.model.twist:
            sheet.define_symbol(subject.M[0, 0], Symbol("m"), INERTIA)
    sheet.add_matrix("M", subject.M, entry_symbols("M", n, n), symmetric=True, kind=INERTIA)
    _write_forces(sheet, subject)
    _write_applied_forces(sheet, subject)


def _write_forces(sheet: Sheet, subject: Subject) -> None:
    """Write the forces F of free motion; with names, by the recursion of appendix A."""
    axes = subject.form.axes
    sheet.begin_section("Forces of free motion and inputs")
    if not sheet.is_expanded:
        needed = subject.steady_wrenches
        vel = subject.vel
        note = (
            r"Per link: angular velocity $\omega_j$, its rate $\epsilon_j$ and acceleration $a_j$ "
        )
        note += "(minus gravity) at constant speeds, required force $f_j$ and moment $n_j$."
        sheet.add_paragraph(*parse_sentence(note))
        for j in range(len(subject.tree.links)):
            tails = [f"{j}{x}" for x in axes]
            if j:
                sheet.define_vector("omega", vel.W[j], tails, SPEED)
                sheet.define_vector("epsilon", needed.alpha[j], tails, SPEED, min_factors=9)
            sheet.define_vector("a", needed.a[j], tails, ENTRY, min_factors=9)
            if j:
                sheet.define_vector("f", needed.force[j], tails, ENTRY, min_factors=9)
                sheet.define_vector("n", needed.moment[j], tails, ENTRY, min_factors=9)
        for j in reversed(carrying_links(subject)):
            for letter, xs in zip(
                "fn", accumulate_wrenches(subject.tree, subject.geo, needed), strict=True
            ):
                for x, axis in zip(xs[j], axes, strict=True):
                    sheet.define_symbol(x, Symbol(letter, (f"{j}{axis}",), primes=1))
        sheet.flush_definitions()
    sheet.add_column("F", subject.F, "F")


def write_reduced_dynamics(sheet: Sheet, subject: Subject) -> None:
    """Write the reduced mass matrix and forces, eqs. (13), (15), (16)."""
    if not len(subject.C) or not subject.independent:
        return
    n, k = subject.H.shape
    sheet.begin_section("Reduced dynamics")
    sheet.add_equation(r"M_r \dot{u} + F_r", "H' Q")
    sheet.add_equation("M_r", "H' M H")
    sheet.add_equation("F_r", r"H' (F + M \kappa)")
    if not sheet.is_expanded:
        sheet.add_paragraph("with ", parse_name("N"), " = ", sheet.parse_formula("M H"), ".")
        tails = [str(c + 1) for c in subject.independent]
        comma = "," if n > 9 else ""
        for i in range(n):
            for j, tail in enumerate(tails):
                sheet.define_symbol(subject.N[i, j], Symbol("N", (f"{i + 1}{comma}{tail}",)))
    sheet.add_matrix("M_r", subject.M_r, entry_symbols("m", k, k), symmetric=True)
    if sheet.is_expanded:
        subject = subject.reduced
    sheet.add_column("F_r", subject.F_r, "f")


def _write_applied_forces(sheet: Sheet, subject: Subject) -> None:
    """Write the generalised forces Q of inputs and force elements, and the rates of their states."""
    if len(subject.z) and not sheet.is_expanded:
        name_contact_angle_rates(sheet, subject)
        name_contact_motions(sheet, subject)
    if not all(is_zero(x) for x in subject.Q):
        sheet.add_column("Q", subject.Q, "Q")
    contacts = _contacts_with_loads(subject)
    if contacts:
        names = ", ".join(name.replace("_", " ") for name in contacts)
        note = "is the normal force, a multiplier that depends on the forces above in turn; both are solved"
        sheet.add_paragraph("Here ", parse_name("N"), f" of {names} {note} together.")
    if len(subject.z):
        sheet.add_paragraph("Rates of the states of force elements:")
        sheet.add_column(r"\dot{z}", subject.acting.rates, "e")


def _contacts_with_loads(subject: Subject) -> list[str]:
    """Return the contacts whose normal forces the force elements read."""
    roots = [x.index for x in subject.Q if isinstance(x, Expr)]
    needed = set(reachable(subject.graph, roots))
    return [name for name, x in subject.loads.items() if x.index in needed]
