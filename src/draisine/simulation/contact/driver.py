"""What stays the same along an arc, and the calls that go through it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers
from draisine.codegen.targets.native import Packed
from draisine.simulation.contact import march
from draisine.simulation.contact.guards import BASIS, NODES
from draisine.simulation.contact.march import ROOM, SLACK, Course
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.integrators.dop853 import STAGES, stages
from draisine.simulation.options import ContactOptions, Numerics
from draisine.system.contact_programs import FEATURE
from draisine.terrain import Feature

AHEAD = 0.25
"""What is swept beyond where wheels are, as a part of `ContactOptions.margin`."""


NEARLY = 1e-9
"""Features lie in each other up to so many metres."""


@dataclass(frozen=True, eq=False)
class ArcDriver:
    """An arc: the closed contacts, those to watch, until when, and where wheels' centres may be."""

    look: ContactQuery
    closed: Sequence[Closed]
    watch: Sequence[WheelOnFeature]
    box: Floats
    stop: float
    packed: Packed

    @property
    def record(self) -> Course:
        """What routines see of it."""
        found: Course = self.packed.record
        return found

    def go(self, t: float, y: Floats, h: float, first: bool, steps: int) -> int:
        """Take some steps from a state; what comes of them is in the record."""
        course = self.record
        course.box[:] = self.box
        course.stages.y[:] = y
        self.look.fill(t, y)
        last = float(np.nextafter(self.stop, t))
        course.clock[: march.PART] = t, h, last, h, self.stop, float(first), 0.0
        return int(self.look.code.march(self.packed, steps))

    def guard(self) -> tuple[int, int]:
        """Return the kind of the guard that told of an event, and its contact's number."""
        which = int(self.record.clock[march.WHICH])
        return int(self.record.kinds[which]), int(self.record.contacts[which])

    def until(self, stop: float) -> "ArcDriver":
        """Return the same arc with another end."""
        return replace(self, stop=stop)


def drive_arc(
    look: ContactQuery,
    contact: ContactOptions,
    numerics: Numerics,
    closed: Sequence[Closed],
    inside: Callable[[WheelOnFeature], float],
    box: Floats,
    span: tuple[float, float],
) -> ArcDriver:
    """Return an arc from a time until another on which wheels' centres stay within a margin around
    boxes (low, high of each); `inside` says by how much contacts may lie beyond their borders.
    """
    (t, stop), widest = span, AHEAD * contact.margin
    margin = look.fit_margin(t, box, widest, widest / 256.0)
    speed = look.ground_speed(t, box)
    stay = margin / speed if speed > 0 else np.inf
    wide = (box.reshape(-1, 2, 3) + np.array([[-margin], [margin]])).ravel()
    near = look.sweep(t, box, margin if np.isinf(stay) else 2.0 * margin)
    watch = _strangers(look, near, [contact for contact, *_ in closed])
    watched, saddle = look.table.bundle(watch), look.saddle(closed)
    n, row = look.y.size, look.row.size
    step = stages(np.zeros(n), np.empty(STAGES * n), n, numerics.rtol, numerics.atol)
    kinds, contacts, borders = _guards(look, contact.fall, closed, len(watch))
    course = Course(
        saddle.record,
        step.record,
        watched.record,
        np.array([inside(c) for c in watch]),
        look.level.record,
        wide.copy(),
        t + stay,
        min(0.5 * stay, 0.5 * ROOM * numerics.dt),
        len(kinds),
        kinds,
        contacts,
        borders,
        np.array(SLACK)[kinds],
        float(np.sin(min(contact.fall, np.pi / 2))),
        numerics.start,
        numerics.dt,
        BASIS,
        np.zeros(10),
        np.zeros(ROOM),
        np.zeros(ROOM * n),
        np.zeros(len(kinds) * NODES),
        np.zeros(3 * NODES),
        np.zeros(n),
        np.zeros(max(len(watch), len(look.machine.wheels), 1) * row),
    )
    return ArcDriver(look, closed, watch, wide, stop, Packed(course))


def _guards(
    look: ContactQuery, limit: float, closed: Sequence[Closed], watched: int
) -> list[Integers]:
    """Return the kinds of all guards, their contacts and borders: falls, gaps, and what ends closed
    contacts.
    """
    found = [(march.LEAN, 0, 0)] if limit < np.pi / 2 else []
    found += [(march.OVER, 0, 0)] if np.isfinite(limit) and look.machine.framed else []
    found += [(march.GAP, k, 0) for k in range(watched)]
    border = 0
    for k, (contact, rows, mu) in enumerate(closed):
        found.append((march.FORCE, k, 0))
        if np.isfinite(mu) and mu > 0:
            found.append((march.CONE if rows == 3 else march.SLIP, k, 0))
        count = len(look.feature(contact).borders)
        found += [(march.BORDER, k, border + i) for i in range(count)]
        found += [(march.FOLD, k, 0)] if look.folds(contact) else []
        border += count
    return list(np.array(found, dtype=np.int64).reshape(-1, 3).T.copy())


def _strangers(
    look: ContactQuery, near: Sequence[WheelOnFeature], closed: Sequence[WheelOnFeature]
) -> list[WheelOnFeature]:
    """Return the contacts that are not closed and whose features do not lie in, or hold, what their
    wheel is on: those are met at its border only, where the hand-over decides.
    """
    numbers = look.table.bundle(near).record.features.reshape(-1, FEATURE)[: len(near)]
    keep = np.ones(len(near), dtype=bool)
    for contact in closed:
        it = look.feature(contact)
        others = [look.feature(c) for c in near]
        alike = [
            c.wheel == contact.wheel and o.motion == it.motion
            for c, o in zip(near, others, strict=True)
        ]
        faces = np.array([o.kind == "face" for o in others], dtype=bool)
        keep &= ~(np.array(alike, dtype=bool) & _adjoins(it, numbers, faces))
    shut = set(closed)
    return [c for c, stays in zip(near, keep, strict=True) if stays and c not in shut]


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
