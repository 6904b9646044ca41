"""Page sections on frames and contacts: rotations of the links, contact points, and their
velocities.
"""

from typing import Any

from draisine.algebra.lie import cross
from draisine.algebra.scalar import cos, is_zero, sin
from draisine.codegen.formula import Symbol
from draisine.mechanics.base import is_planar
from draisine.mechanics.constraints import (
    Active,
    contact_direction_rates,
    ground_velocity,
    support_rate,
)
from draisine.mechanics.kinematics import point_drift
from draisine.reading import polynomial as po
from draisine.reading.names import ENTRY, LENGTH, SPEED
from draisine.reading.sheet import Sheet, parse_sentence
from draisine.reading.subject import FRAME_ORIGIN, Subject

MAX_UNNAMED_RATE_TERMS = 3
"""Largest number of terms in the rate of a contact point that is printed without a separate symbol.
"""


def write_frames(sheet: Sheet, subject: Subject) -> None:
    """Write the rotations of the links relative to their parents, and the origins of links that
    carry others.
    """
    if sheet.is_expanded:
        return
    sheet.begin_section("Frames of the links")
    turned = r" and its angle $\theta_j$" if is_planar(subject.model) else ""
    note = "$R_j$ rotates the axes of link $j$ to those of its parent link, $T_j$ to those of the base; "
    sheet.add_paragraph(*parse_sentence(f"{note}its origin there is $o_j${turned}."))
    geo = subject.geo
    links = subject.tree.links
    for j in range(1, len(links)):
        _name_rotation(sheet, subject, "R", j, geo.E[j])
        if links[j].parent:
            _name_heading(sheet, subject, j)
            _name_rotation(sheet, subject, "T", j, geo.R0[j])
            sheet.define_vector("o", geo.o0[j], [f"{j}{x}" for x in subject.form.axes], LENGTH)
    sheet.end_section()


def _name_rotation(sheet: Sheet, subject: Subject, letter: str, link: int, R: Any) -> None:
    """Define symbols for those entries of a rotation matrix (3, 3) that are sums."""
    axes = subject.form.axes
    for i, row in enumerate(R):
        for k, x in enumerate(row):
            if len(sheet.as_polynomial(x)) > 1:
                sheet.cut.define_value(x, Symbol(letter, (f"{link}{axes[i]}{axes[k]}",)), LENGTH)


def _name_heading(sheet: Sheet, subject: Subject, link: int) -> None:
    """Define a symbol for the angle between a link of a planar model and the base."""
    links = subject.tree.links
    R = subject.geo.R0[link]
    angle = sum(subject.r[links[k].joint] for k in subject.tree.path_to_link(link))
    if is_planar(subject.model) and is_zero(R[0, 0] - cos(angle)) and is_zero(R[1, 0] - sin(angle)):
        number = sheet.cut.define_value(angle, Symbol("theta", (str(link),)))
        sheet.cut.label_angle(R[0, 0], R[1, 0], sheet.names.symbols[number])


def write_ground(sheet: Sheet, subject: Subject) -> None:
    """Write the ground's normal in the links' axes and the contact points of the wheels."""
    axes = subject.form.axes
    sheet.begin_section("Contact with the ground")
    place = (
        ", $q_k$ its position in the base's axes"
        if _partially_constrained_contacts(subject)
        else ""
    )
    note = r"$\gamma_j$ is the ground's normal in the axes of link $j$, $\alpha_k$ the angle of a wheel's "
    sheet.add_paragraph(*parse_sentence(f"{note}contact point{place}."))
    for k, (contact, (point, surface)) in enumerate(
        zip(subject.model.contacts, subject.rows.contact_points, strict=True)
    ):
        if is_zero(surface.ring):
            continue
        up = subject.world.up[point.link]
        tails = [f"{point.link}{x}" for x in axes]
        # In the base's axes the normal is a short expression of lean and pitch: it needs no symbol
        # of its own.
        if point.link:
            sheet.define_vector("gamma", up, tails)
        sheet.define_symbol(surface.slope(up), Symbol("sigma", (str(k),)))
        _name_contact_angle(sheet, subject, contact.name, k, surface.axle, surface.steepest(up))
    for k, a in [] if sheet.is_expanded else _partially_constrained_contacts(subject):
        sheet.define_vector("q", a.point.c, [f"{k}{x}" for x in axes], LENGTH)
    if subject.model.gravity[0] != 0.0 or subject.model.gravity[1] != 0.0:
        fall = subject.world.R.T @ subject.model.gravity
        sheet.define_vector("g", fall, list(axes))
    sheet.end_section()


def _name_contact_angle(
    sheet: Sheet, subject: Subject, contact: str, contact_index: int, axle: Any, e: Any
) -> None:
    """Define symbols for the direction from the hub of a wheel to its contact point.

    If the axle is an axis of the link, the symbols are the cosine and the sine of an angle;
    otherwise they are three entries.
    """
    axle_axes = [n for n in range(3) if not is_zero(axle[n])]
    simple = all(len(sheet.as_polynomial(x)) == 1 for x in e if not is_zero(x))
    flat = [sheet.as_polynomial(x) for x in e]
    # Single products of known sines and cosines are short enough without a symbol of their own.
    trivial = simple and all(po.names_of(p) <= sheet.given_angle_functions() for p in flat)
    if trivial:
        return
    if len(axle_axes) == 1:
        n = axle_axes[0]
        cosine = -e[(n + 1) % 3]
        sine = -e[(n + 2) % 3]
        text = subject.form.contact_angles.get(contact, rf"\alpha_{contact_index}")
        sheet.cut.define_angle(cosine, sine, Symbol.parse(text))
    else:
        sheet.define_vector(
            "e", e, [f"{contact_index}{x}" for x in subject.form.axes], min_factors=2
        )


def _partially_constrained_contacts(subject: Subject) -> list[tuple[int, Active]]:
    """Return the closed contacts that leave a direction of their contact point free, with their
    indices.
    """
    order = [contact.name for contact in subject.model.contacts]
    return [(order.index(a.contact.name), a) for a in subject.active if not a.holds_all]


def name_contact_angle_rates(sheet: Sheet, subject: Subject) -> None:
    """Define symbols for the rates at which the contact points move around the wheels."""
    for k, a in enumerate(subject.active):
        if is_zero(a.surface.ring):
            continue
        up = subject.world.up[a.point.link]
        W = subject.vel.W[a.point.link]
        side = cross(a.surface.axle, a.surface.steepest(up))
        rate = (cross(up, W) @ side) / a.surface.slope(up)
        text = subject.form.contact_angles.get(a.contact.name, rf"\alpha_{k}")
        sheet.define_symbol(rate, Symbol.parse(text).with_dots(), SPEED)


def name_contact_motions(sheet: Sheet, subject: Subject) -> None:
    """Define symbols for velocities and drift accelerations of contact points, and the rates of
    constraint directions.
    """
    axes = subject.form.axes
    row = 0
    for k, a in enumerate(subject.active):
        tails = [f"{k}{x}" for x in axes]
        rhodot = support_rate(a.surface, a.point, subject.world, subject.vel)
        drift, cdot = point_drift(
            subject.tree, subject.geo, subject.vel, a.point, rhodot, FRAME_ORIGIN
        )
        for x, tail in zip(cdot, tails, strict=True):
            if len(sheet.as_polynomial(x)) > MAX_UNNAMED_RATE_TERMS:
                sheet.cut.define_value(x, Symbol("q", (tail,), dots=1), SPEED)
        if not a.holds_all:
            sheet.define_vector("v", _contact_velocity(subject, a), tails, SPEED)
            sheet.define_vector("chi", drift, tails, ENTRY)
            _name_direction_rates(sheet, subject, a, row)
        row += sum(f"{a.contact.name}.{name}" not in subject.spare for name in a.names)


def _contact_velocity(subject: Subject, contact: Active) -> Any:
    """Return the velocity of the material point at a contact relative to the ground, in the base's
    axes.
    """
    carried = ground_velocity(subject.model, subject.world, subject.p, contact.point, subject.t)
    return contact.P @ subject.speeds - carried


def _name_direction_rates(sheet: Sheet, subject: Subject, contact: Active, row: int) -> None:
    """Define symbols for the time derivatives of the constraint directions of a contact: dotted
    A_ij, for row i of the constraint matrix and axis j.
    """
    tree, geo, world = subject.tree, subject.geo, subject.world
    rates = contact_direction_rates(tree, geo, world, subject.vel, contact.contact, contact.point)
    kept = [name for name in contact.names if f"{contact.contact.name}.{name}" not in subject.spare]
    comma = "," if max(subject.C.shape) > 9 else ""
    for i, name in enumerate(kept, start=row + 1):
        for j, x in enumerate(rates[name], start=1):
            sheet.define_symbol(x, Symbol("A", (f"{i}{comma}{j}",), dots=1), SPEED)
