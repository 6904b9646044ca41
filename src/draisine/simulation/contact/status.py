"""Contact statuses (open, sliding, rolling, on a tyre), and the number of constraint rows of each status."""

from enum import IntEnum

from draisine.codegen.routine import routine


class Status(IntEnum):
    """Status of a contact. Its constraint rows are the first `count_rows` of (normal, along, across)."""

    OPEN = 0  # separated: no constraint row and no force
    SLIDING = 1  # normal constraint row; friction opposes the slip
    ROLLING = 2  # all three constraint rows: the contact sticks
    SPRUNG_TYRE = 3  # no constraint row: the normal force is that of a vertical tyre spring
    TYRE = 4  # normal constraint row; the tyre model determines the forces along and across
    TRACKING_TYRE = 5  # constraint rows normal and along; the tyre slips across only

    __hash__ = int.__hash__  # closed contacts are keys; the hash of an enumeration is a Python call


STATUSES = len(
    Status
)  # pairs of a contact and a status are numbered by STATUSES * contact + status

TYRE_STATUSES = (Status.SPRUNG_TYRE, Status.TYRE, Status.TRACKING_TYRE)
"""Status of a contact with a tyre, indexed by its number of constraint rows
(`mechanics.contact.tyre_rows`).
"""


@routine
def count_rows(status: int) -> int:
    """Return the number of constraint rows of a contact with this status; they are the first of (normal,
    along, across).
    """
    if status == Status.ROLLING:
        return 3
    if status == Status.TRACKING_TYRE:
        return 2
    return 1 if status == Status.SLIDING or status == Status.TYRE else 0
