"""Contacts of one machine with one ground, as routines read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers
from draisine.codegen.targets.native import Packed
from draisine.model import Wheel
from draisine.simulation.contact.kernels import Bundle
from draisine.system.contact_programs import FEATURE
from draisine.system.generic import Generic
from draisine.terrain import Feature, Terrain

DEEP = 0.05
"""By how many metres a blade may be in the ground at most, where one looks for mistakes."""

KEPT = 256
"""How many sets of contacts are at hand for routines."""


class WheelOnFeature(NamedTuple):
    """A wheel on a feature, by index.

    Where a line has two points next to a torus, `side` tells them apart: 1 lies further along the
    edge than the axle does, -1 less far. The only one is 0.
    """

    wheel: int
    feature: int
    side: int = 0


class _Entry(NamedTuple):
    """One contact: its program and where the table of that begins, the feature's numbers, whether that
    is a face with a wheel above it, how deep that may be in it, how far from the wheel's centre it is
    at most, what bends the gap, the wheel, the box around the feature, and its borders.
    """

    calls: int
    starts: int
    features: Floats
    faces: int
    reach: float
    radius: float
    bend: float
    wheels: int
    low: Floats
    high: Floats
    borders: Floats


NOWHERE = _Entry(
    0, 0, np.zeros(FEATURE), 0, 0.0, 0.0, 0.0, 0, np.zeros(3), np.zeros(3), np.zeros((0, 7))
)
"""A contact that there is not: no array of contacts is empty."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """All contacts that may come about while wheels' centres stay in boxes (low and high corner of
    each, one after the other): they, their features, and all for routines.
    """

    boxes: Floats
    contacts: tuple[WheelOnFeature, ...]
    features: tuple[Feature, ...]
    packed: Packed

    @cached_property
    def index(self) -> dict[WheelOnFeature, int]:
        """Where each contact stands."""
        return {contact: k for k, contact in enumerate(self.contacts)}

    @cached_property
    def faces(self) -> np.ndarray:
        """Which features are faces."""
        return np.array([it.kind == "face" for it in self.features], dtype=bool)

    @property
    def wheels(self) -> Integers:
        """The numbers of the wheels."""
        found: Integers = self.packed.record.wheels[: len(self.contacts)]
        return found

    @property
    def numbers(self) -> Floats:
        """The numbers of the features, one row each."""
        found: Floats = self.packed.record.features.reshape(-1, FEATURE)[: len(self.contacts)]
        return found

    def holds(self, boxes: Floats) -> bool:
        """Return whether boxes lie in these."""
        own, other = self.boxes.reshape(-1, 2, 3), boxes.reshape(-1, 2, 3)
        return bool((own[:, 0] <= other[:, 0]).all() and (other[:, 1] <= own[:, 1]).all())


class FeatureTable:
    """The contacts that were asked for so far; stops of joints and flats of bodies are the machine's
    own.
    """

    def __init__(
        self, machine: Generic, terrain: Terrain, own: Mapping[WheelOnFeature, Feature]
    ) -> None:
        self.machine, self.terrain, self.own = machine, terrain, own
        self.longest = [float(wheel.surface.reach) for wheel in machine.wheels]
        self._rows: dict[WheelOnFeature, int] = {}
        self._starts: dict[Any, int] = {}
        self._tables = np.zeros(0)
        self._columns = [np.array([entry]) for entry in NOWHERE[:-1]]
        self._borders = [NOWHERE.borders]
        self._known: dict[tuple[WheelOnFeature, ...], Packed] = {}

    def feature(self, contact: WheelOnFeature) -> Feature:
        """Return what a contact touches: a feature of the terrain, a joint's stop, or a flat of
        another body.
        """
        own = self.own.get(contact)
        return self.terrain[contact.feature] if own is None else own

    def reach(self, contact: WheelOnFeature) -> float:
        """Return how deep a contact may be at most before it counts as sunk: a wheel's radius; for a
        blade DEEP; a tyre on a spring never does.
        """
        if contact.wheel >= len(self.longest):
            return np.inf
        wheel = self.machine.wheels[contact.wheel]
        if isinstance(wheel, Wheel) and getattr(wheel.tyre, "sprung", False):
            return 0.0
        return self.longest[contact.wheel] or DEEP

    def bundle(self, contacts: Sequence[WheelOnFeature]) -> Packed:
        """Return contacts for routines; sets asked for lately are at hand."""
        wanted = tuple(contacts)
        if wanted not in self._known:
            new = [contact for contact in wanted if contact not in self._rows]
            if new:
                rows = self._append([self._entry(contact) for contact in new])
                self._rows |= zip(new, rows, strict=True)
            remember(self._known, wanted, self._pack([self._rows[c] for c in wanted]))
        return self._known[wanted]

    def surroundings(self, boxes: Floats, contacts: Sequence[WheelOnFeature]) -> Surroundings:
        """Return contacts that may come about while wheels' centres stay in boxes."""
        features = tuple(self.feature(contact) for contact in contacts)
        return Surroundings(boxes, tuple(contacts), features, self.bundle(contacts))

    def level(self) -> Packed:
        """Return all wheels on the level plane, to ask for their centres."""
        level = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
        programs = [self._program((w, "face", None)) for w in range(len(self.machine.wheels))]
        like = NOWHERE._replace(features=level, faces=1)
        return self._pack(self._append([like._replace(calls=f, starts=at) for f, at in programs]))

    def _entry(self, contact: WheelOnFeature) -> _Entry:
        it, wheel = self.feature(contact), contact.wheel
        program = self._program((wheel, it.kind, it.motion))
        numbers = np.append(it.numbers, float(contact.side))
        bend, long = 0.0, self.longest[wheel] if wheel < len(self.longest) else np.inf
        if it.kind in ("edge", "vertex"):
            surface = self.machine.wheels[wheel].surface
            bend = float(surface.thickness) or float(surface.ring)
        face, deep = int(it.kind == "face" and long > 0), self.reach(contact)
        box = (it.low, it.high)
        return _Entry(*program, numbers, face, deep, long or DEEP, bend, wheel, *box, it.borders)

    def _append(self, entries: Sequence[_Entry]) -> Sequence[int]:
        """Take up contacts; return the numbers of their rows."""
        first = len(self._borders)
        *columns, borders = zip(NOWHERE, *entries, strict=True)
        self._borders += borders[1:]
        pairs = zip(self._columns, columns, strict=True)
        self._columns = [np.concatenate([old, np.array(new)[1:]]) for old, new in pairs]
        return range(first, len(self._borders))

    def _program(self, meeting: Any) -> tuple[int, int]:
        """Return where a program is and where its table begins: those of all programs stand one after
        the other.
        """
        code = self.machine.contacts[meeting]
        if meeting not in self._starts:
            self._starts[meeting] = len(self._tables)
            self._tables = np.concatenate([self._tables, code.table])
        return code.address, self._starts[meeting]

    def _pack(self, rows: Sequence[int]) -> Packed:
        """Return contacts as a record of arrays."""
        wanted = [*rows, 0]
        some = {
            name: column[wanted].ravel()
            for name, column in zip(_Entry._fields[:-1], self._columns, strict=True)
        }
        borders = [self._borders[k] for k in wanted]
        first = np.cumsum([0, *map(len, borders)]).astype(np.int64)
        flat = np.concatenate(borders).ravel()
        x_f = self.machine.inputs.f.start
        return Packed(
            Bundle(len(rows), tables=self._tables, x_f=x_f, borders=flat, first=first, **some)
        )


def remember(known: dict[Any, Any], key: Any, made: Any) -> None:
    """Keep what was made, and forget the oldest where there is too much."""
    if len(known) >= KEPT:
        del known[next(iter(known))]
    known[key] = made
