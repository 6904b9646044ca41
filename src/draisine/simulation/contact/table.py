"""Contacts of one machine with one ground, as routines read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    """One contact: its program and where the table of that begins, the feature's numbers and borders,
    whether that is a face with a wheel above it, how deep that may be in it, what bends the gap, the
    wheel, and the box around the feature.
    """

    call: int
    start: int
    numbers: Floats
    borders: Floats
    face: int
    reach: float
    bend: float
    wheel: int
    low: Floats
    high: Floats


NOWHERE = _Entry(
    0, 0, np.zeros(FEATURE), np.zeros((0, 7)), 0, 0.0, 0.0, 0, np.zeros(3), np.zeros(3)
)
"""A contact that there is not: no array of contacts is empty."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """All contacts that may come about while wheels' centres stay in boxes (low and high corner of
    each, one after the other): they, their wheels, which features are faces, and all for routines.
    """

    boxes: Floats
    contacts: tuple[WheelOnFeature, ...]
    wheels: Integers
    faces: Integers
    motions: tuple[Any, ...]
    packed: Packed

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
        self._entries: dict[WheelOnFeature, _Entry] = {}
        self._starts: dict[Any, int] = {}
        self._tables = np.zeros(0)
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
            made = self._pack([self._entry(contact) for contact in wanted])
            remember(self._known, wanted, made)
        return self._known[wanted]

    def surroundings(self, boxes: Floats, contacts: Sequence[WheelOnFeature]) -> Surroundings:
        """Return contacts that may come about while wheels' centres stay in boxes."""
        features = [self.feature(contact) for contact in contacts]
        return Surroundings(
            boxes,
            tuple(contacts),
            np.array([contact.wheel for contact in contacts], dtype=np.int64),
            np.array([it.kind == "face" for it in features], dtype=np.int64),
            tuple(it.motion for it in features),
            self.bundle(contacts),
        )

    def level(self) -> Packed:
        """Return all wheels on the level plane, to ask for their centres."""
        level = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
        programs = [self._program((w, "face", None)) for w in range(len(self.machine.wheels))]
        like = NOWHERE._replace(numbers=level, face=1)
        return self._pack([like._replace(call=call, start=at) for call, at in programs])

    def _entry(self, contact: WheelOnFeature) -> _Entry:
        if contact not in self._entries:
            it, wheel = self.feature(contact), contact.wheel
            program = self._program((wheel, it.kind, it.motion))
            numbers = np.append(it.numbers, float(contact.side))
            bend = 0.0
            if it.kind in ("edge", "vertex"):
                surface = self.machine.wheels[wheel].surface
                bend = float(surface.thickness) or float(surface.ring)
            face = int(it.kind == "face" and self.longest[wheel] > 0)
            deep = self.reach(contact)
            self._entries[contact] = _Entry(
                *program, numbers, it.borders, face, deep, bend, wheel, it.low, it.high
            )
        return self._entries[contact]

    def _program(self, meeting: Any) -> tuple[int, int]:
        """Return where a program is and where its table begins: those of all programs stand one after
        the other.
        """
        code = self.machine.contacts[meeting]
        if meeting not in self._starts:
            self._starts[meeting] = len(self._tables)
            self._tables = np.concatenate([self._tables, code.table])
        return code.address, self._starts[meeting]

    def _pack(self, entries: Sequence[_Entry]) -> Packed:
        """Return contacts as a record of arrays."""
        every = zip(*entries, NOWHERE, strict=True)
        calls, starts, numbers, borders, faces, reach, bend, wheels, low, high = every
        first = np.cumsum([0, *map(len, borders)])
        return Packed(
            Bundle(
                len(entries),
                np.array(calls, dtype=np.int64),
                self._tables,
                np.array(starts, dtype=np.int64),
                np.concatenate(numbers),
                self.machine.inputs.f.start,
                np.concatenate(borders).ravel(),
                first.astype(np.int64),
                np.array(faces, dtype=np.int64),
                np.array(reach),
                np.array(bend),
                np.array(wheels, dtype=np.int64),
                np.concatenate(low),
                np.concatenate(high),
            )
        )


def remember(known: dict[Any, Any], key: Any, made: Any) -> None:
    """Keep what was made, and forget the oldest where there is too much."""
    if len(known) >= KEPT:
        del known[next(iter(known))]
    known[key] = made
