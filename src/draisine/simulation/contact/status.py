"""Statuses of a contact, and the constraint rows that it holds in each of them."""

from enum import IntEnum

from draisine.codegen.routine import routine


class Status(IntEnum):
    """Status of a contact. `count_rows` returns how many of its rows (normal, along, across) it holds."""

    OPEN = 0
    SLIDING = 1  # normal row; friction, if there is any, acts against the slip
    ROLLING = 2  # all rows: it sticks
    SPRUNG_TYRE = 3  # no row: a vertical spring makes the normal force
    TYRE = 4  # normal row; the tyre makes the forces along and across
    TRACKING_TYRE = 5  # normal row and that along: the tyre slips across alone

    __hash__ = int.__hash__  # closed contacts are keys; the hash of an enumeration is a Python call


STATUSES = len(
    Status
)  # pairs of a contact and a status are numbered by STATUSES * contact + status

TYRE_STATUSES = (Status.SPRUNG_TYRE, Status.TYRE, Status.TRACKING_TYRE)
"""Status of a contact on a tyre, by the number of rows that it holds (`mechanics.contact.tyre_rows`)."""


@routine
def count_rows(status: int) -> int:
    """Return the number of constraint rows that a contact holds: the first ones of normal, along, across."""
    if status == Status.ROLLING:
        return 3
    if status == Status.TRACKING_TYRE:
        return 2
    return 1 if status == Status.SLIDING or status == Status.TYRE else 0
