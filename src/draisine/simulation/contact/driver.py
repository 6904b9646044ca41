"""What stays the same along an arc, and the calls that go through it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers
from draisine.codegen.targets.native import Packed
from draisine.mechanics.base import has_frame
from draisine.simulation.contact import march
from draisine.simulation.contact.guards import BASIS, NODES
from draisine.simulation.contact.march import FEW, ROOM, SLACK, Course
from draisine.simulation.contact.query import BORDER, Closed, ContactQuery
from draisine.simulation.contact.table import Surroundings, WheelOnFeature
from draisine.simulation.integrators.dop853 import STAGES, stages
from draisine.simulation.options import ContactOptions, Numerics
from draisine.terrain import Feature

SLACKS = np.array(SLACK)

NEARLY = 1e-9
"""Features lie in each other up to so many metres."""


@dataclass(frozen=True, eq=False)
class ArcDriver:
    """An arc: the closed contacts, those to watch, when inputs jump; `begin` is where routines read
    the state from.
    """

    look: ContactQuery
    closed: Sequence[Closed]
    watch: Sequence[WheelOnFeature]
    stop: float
    packed: Packed
    begin: Floats

    @property
    def record(self) -> Course:
        """What routines see of it."""
        found: Course = self.packed.record
        return found

    def go(self, t: float, y: Floats, h: float, first: bool, until: float, steps: int) -> int:
        """Take some steps from a state until a time; what comes of them is in the record."""
        course = self.record
        self.begin[:] = y
        self.look.fill(t, y)
        last = float(np.nextafter(self.stop, t))
        course.clock[: march.PART] = t, h, last, h, self.stop, until, float(first), 0.0, 0.0
        return int(self.look.code.march(self.packed, steps))

    def grazes(self) -> list[tuple[float, WheelOnFeature]]:
        """Return when which open contacts came near on the last steps and did not touch."""
        found = self.record.grazes[: 2 * int(self.record.clock[march.GRAZES])]
        return [(t, self.watch[int(k)]) for t, k in found.reshape(-1, 2).tolist()]

    def guard(self) -> tuple[int, int]:
        """Return the kind of the guard that told of an event, and its contact's number."""
        which = int(self.record.clock[march.WHICH])
        return int(self.record.kinds[which]), int(self.record.contacts[which])


def workspace(look: ContactQuery, numerics: Numerics) -> dict[str, Any]:
    """Return what all arcs of a run have in common: the step, the clock, samples, and room to work."""
    n = look.y.size
    return {
        "stages": stages(np.zeros(n), np.empty(STAGES * n), n, numerics.rtol, numerics.atol),
        "wheels": look.level,
        "box": np.zeros(6 * len(look.machine.wheels)),
        "start": numerics.start,
        "dt": numerics.dt,
        "basis": BASIS,
        "clock": np.zeros(12),
        "times": np.empty(ROOM),
        "samples": np.empty(ROOM * n),
        "grazes": np.empty(2 * FEW),
        "local": np.empty(3 * NODES),
        "state": np.empty(n),
    }


def drive_arc(
    look: ContactQuery,
    contact: ContactOptions,
    room: Mapping[str, Any],
    closed: Sequence[Closed],
    gone: frozenset[WheelOnFeature],
    box: Floats,
    span: tuple[float, float],
) -> ArcDriver:
    """Return an arc from a time until another on which wheels' centres stay around boxes (low, high
    of each); features of contacts that are `gone` count only well inside their borders.
    """
    (t, stop), speed = span, look.ground_speed(span[0], box)
    near = look.sweep(t, box, contact.margin)
    wide, stay, count = near.boxes, np.inf, len(near.contacts)
    if speed > 0:  # half of the margin is for the wheels, the other half for the ground
        wide, half = 0.5 * (box + wide), 0.5 * float(np.abs(wide - box).max())
        stay = half / speed
    kinds, contacts, borders = _guards(look, contact.fall, closed, near)
    inside = np.full(count, BORDER)
    inside[[near.index[contact] for contact in gone if contact in near.index]] = -BORDER
    make: Any = Course  # of records that are packed already
    course = make(
        saddle=look.saddle(closed),
        watch=near.packed,
        inside=inside,
        swept=wide,
        horizon=t + stay,
        longest=min(0.5 * stay, 0.5 * ROOM * room["dt"]),
        near=np.zeros(count, dtype=np.int64),
        guards=len(kinds),
        kinds=kinds,
        contacts=contacts,
        borders=borders,
        slack=SLACKS[kinds],
        fall=float(np.sin(min(contact.fall, np.pi / 2))),
        values=np.empty(len(kinds) * NODES),
        rows=np.empty((count + len(look.machine.wheels)) * look.row.size),
        **room,
    )
    return ArcDriver(look, closed, near.contacts, stop, Packed(course), room["stages"].record.y)


def _guards(
    look: ContactQuery, limit: float, closed: Sequence[Closed], near: Surroundings
) -> Integers:
    """Return the kinds of all guards, their contacts and borders: falls, gaps, and what ends closed
    contacts.
    """
    falls = [(march.LEAN, 0, 0)] if limit < np.pi / 2 else []
    falls += (
        [(march.OVER, 0, 0)] if np.isfinite(limit) and has_frame(look.machine.system.model) else []
    )
    ends, border = [], 0
    for k, (contact, rows, mu) in enumerate(closed):
        ends.append((march.FORCE, k, 0))
        if np.isfinite(mu) and mu > 0:
            ends.append((march.CONE if rows == 3 else march.SLIP, k, 0))
        count = len(look.feature(contact).borders)
        ends += [(march.BORDER, k, border + i) for i in range(count)]
        ends += [(march.FOLD, k, 0)] if look.folds(contact) else []
        border += count
    watch = _strangers(look, near, [contact for contact, *_ in closed])
    first, found = len(falls), np.zeros((3, len(falls) + len(watch) + len(ends)), dtype=np.int64)
    found[:, :first] = np.array(falls, dtype=np.int64).reshape(-1, 3).T
    found[0, first:], found[1, first : first + len(watch)] = march.GAP, watch
    found[:, first + len(watch) :] = np.array(ends, dtype=np.int64).reshape(-1, 3).T
    return found


def _strangers(
    look: ContactQuery, near: Surroundings, closed: Sequence[WheelOnFeature]
) -> Integers:
    """Return which contacts are not closed and have features that do not lie in, or hold, what their
    wheel is on: those are met at its border only, where the hand-over decides.
    """
    keep = np.ones(len(near.contacts), dtype=bool)
    for contact in closed:
        it = look.feature(contact)
        alike = near.wheels == contact.wheel
        if look.terrain.motions:
            alike &= np.array([other.motion == it.motion for other in near.features], dtype=bool)
        keep &= ~(alike & _adjoins(it, near.numbers, near.faces))
        keep[[near.index[contact]] if contact in near.index else []] = False
    return np.flatnonzero(keep)


def _adjoins(it: Feature, numbers: Floats, faces: np.ndarray) -> np.ndarray:
    """Return which features, by their numbers, lie in a feature or hold it: coplanar faces, edges
    and vertices in a face's plane, vertices on an edge's line.
    """
    first, second = numbers[:, :3], numbers[:, 3:6]
    one, two = it.numbers[:3], it.numbers[3:6]
    if it.kind == "face":
        same = np.abs(numbers[:, :4] - it.numbers[:4]).max(axis=1, initial=0.0)
        inside = np.maximum(np.abs(first @ one - it.numbers[3]), np.abs(second @ one))
        return np.where(faces, same, inside) < NEARLY
    holds = np.maximum(np.abs(first @ one - numbers[:, 3]), np.abs(first @ two))
    lines = second.any(axis=1) != two.any()
    off = np.abs(np.cross(first - one, second + two)).max(axis=1, initial=0.0)
    return np.where(faces, holds, np.where(lines, off, np.inf)) < NEARLY
