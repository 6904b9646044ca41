"""Contacts of one machine with one ground, as routines read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers
from draisine.codegen.targets.native import Packed
from draisine.mechanics.contact.features import FEATURE
from draisine.model import Wheel
from draisine.simulation.contact.kernels import Bundle
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


class _Meeting(NamedTuple):
    """A wheel on one kind of feature: its program and where the table of that begins, whether it is above
    a face, how deep it may be in it, how far from its centre it touches at most, what bends the
    gap, how thick its ring is, if it is one, the wheel; a number for all that, whether the feature
    is a plane, which motion carries it, and whether the wheel may touch it twice.
    """

    calls: int
    starts: int
    faces: int
    reach: float
    radius: float
    bend: float
    crown: float
    wheels: int
    likes: int
    planes: int
    moved: int
    folds: int


NOWHERE = _Meeting(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0, 0, 0)
"""A contact that there is not: no array of contacts is empty."""

LEVEL = Feature(
    "", "face", np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), np.zeros((0, 7)), *np.zeros((2, 3))
)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """All contacts that may come about while wheels' centres stay in boxes (low and high corner of
    each, one after the other): they in order, and all for routines.
    """

    boxes: Floats
    contacts: tuple[WheelOnFeature, ...]
    packed: Packed

    @cached_property
    def index(self) -> dict[WheelOnFeature, int]:
        """Where each contact stands."""
        return {contact: k for k, contact in enumerate(self.contacts)}

    @property
    def wheels(self) -> Integers:
        """The numbers of the wheels."""
        found: Integers = self.packed.record.wheels[: len(self.contacts)]
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
        self.machine, self.terrain = machine, terrain
        self.longest = [float(wheel.surface.reach) for wheel in machine.wheels]
        self._features = dict(own)
        self._rows: dict[WheelOnFeature, int] = {}
        self._starts: dict[Any, int] = {}
        self._tables = np.zeros(0)
        self._meetings: dict[Any, _Meeting] = {}
        self.likes: dict[tuple[int, str, bool], int] = {}
        self._columns = {
            name: np.zeros(0, dtype=kind) for name, kind in _Meeting.__annotations__.items()
        }
        self._columns |= {"features": np.zeros((0, FEATURE)), "low": np.zeros((0, 3))}
        self._columns["high"] = self._columns["low"]
        self._borders: list[Floats] = []
        self._append([NOWHERE], [LEVEL], [0])
        self._known: dict[tuple[WheelOnFeature, ...], Packed] = {}

    def feature(self, contact: WheelOnFeature) -> Feature:
        """Return what a contact touches: a feature of the terrain, a joint's stop, or a flat of
        another body.
        """
        if contact not in self._features:
            self._features[contact] = self.terrain[contact.feature]
        return self._features[contact]

    def reach(self, wheel: int) -> float:
        """Return how deep a wheel may be at most before it counts as sunk: a wheel's radius; for a
        blade DEEP; a tyre on a spring never does.
        """
        if wheel >= len(self.longest):
            return np.inf
        it = self.machine.wheels[wheel]
        if isinstance(it, Wheel) and getattr(it.tyre, "sprung", False):
            return 0.0
        return self.longest[wheel] or DEEP

    def bundle(self, contacts: Sequence[WheelOnFeature]) -> Packed:
        """Return contacts for routines; sets asked for lately are at hand."""
        wanted = tuple(contacts)
        if wanted not in self._known:
            self._take({c: self.feature(c) for c in wanted if c not in self._rows})
            remember(self._known, wanted, self._pack([self._rows[c] for c in wanted]))
        return self._known[wanted]

    def surroundings(self, boxes: Floats, found: Mapping[WheelOnFeature, Feature]) -> Surroundings:
        """Return contacts that may come about while wheels' centres stay in boxes."""
        self._features |= found
        self._take({c: it for c, it in found.items() if c not in self._rows})
        contacts = tuple(sorted(found))
        return Surroundings(boxes, contacts, self.bundle(contacts))

    def level(self) -> Packed:
        """Return all wheels on the level plane, to ask for their centres."""
        likes = [self._meeting(w, "face", None) for w in range(len(self.machine.wheels))]
        count = len(likes)
        return self._pack(self._append(likes, [LEVEL] * count, [0] * count))

    def _take(self, new: Mapping[WheelOnFeature, Feature]) -> None:
        """Take up contacts that are not there yet."""
        likes = [self._meeting(c.wheel, it.kind, it.motion) for c, it in new.items()]
        rows = self._append(likes, list(new.values()), [contact.side for contact in new])
        self._rows |= zip(new, rows, strict=True)

    def _append(
        self, likes: Sequence[_Meeting], features: Sequence[Feature], sides: Sequence[int]
    ) -> Sequence[int]:
        """Take up wheels on features; return the numbers of their rows."""
        first = len(self._borders)
        if not likes:
            return []
        self._borders += [it.borders for it in features]
        new: dict[str, Any] = dict(zip(_Meeting._fields, zip(*likes, strict=True), strict=True))
        numbers = np.array([it.numbers for it in features])
        told = np.array(sides, dtype=float), np.zeros(len(numbers))
        new["features"] = np.column_stack([numbers, *told])
        new["low"], new["high"] = [it.low for it in features], [it.high for it in features]
        self._columns = {k: np.concatenate([old, new[k]]) for k, old in self._columns.items()}
        return range(first, len(self._borders))

    def _meeting(self, wheel: int, kind: str, motion: Any) -> _Meeting:
        """Return a wheel on a kind of feature that stands still or moves."""
        key = (wheel, kind, motion)
        if key not in self._meetings:
            bend, crown = 0.0, np.nan
            long = self.longest[wheel] if wheel < len(self.longest) else np.inf
            if kind in ("face", "edge", "vertex"):
                surface = self.machine.wheels[wheel].surface
                ring, thick = float(surface.ring), float(surface.thickness)
                bend = 0.0 if kind == "face" else thick or ring
                crown = thick if ring + thick == long else np.nan
            face, deep = int(kind == "face" and long > 0), self.reach(wheel)
            moved = 0 if motion is None else 1 + self.terrain.motions.index(motion)
            like = self.likes.setdefault((wheel, kind, motion is not None), len(self.likes))
            found = (*self._program(key), face, deep, long or DEEP, bend, crown, wheel, like)
            twice = len(self.sides(wheel, kind)) > 1
            self._meetings[key] = _Meeting(*found, int(kind == "face"), moved, int(twice))
        return self._meetings[key]

    def sides(self, wheel: int, kind: str) -> tuple[int, ...]:
        """Return which points of a feature a wheel may touch: a torus may touch an edge twice, a disc
        no vertex.
        """
        if (wheel, kind, None) not in self.machine.contacts:
            return ()
        if kind != "edge":
            return (0,)
        surface = self.machine.wheels[wheel].surface
        return (0, 1, -1) if surface.ring and surface.thickness else (0,)

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
        some: dict[str, Any] = {
            name: column[wanted].ravel() for name, column in self._columns.items()
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
