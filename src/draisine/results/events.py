"""Events of a run as plain data, as results carry them, and the numbers that can be asked of them.

A question about events: `event 3 time`, `collision 2 impulse[front:ground, normal]`, `lift-off 1 of
rear energy`, `number of collisions`. Counting starts with 1; with `of` only the events of that wheel
count.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import DataError, ParameterError, expect_known
from draisine.model import Model
from draisine.results.attributes import read_list
from draisine.results.bodies import Bodies
from draisine.simulation.trajectory import Event, Guard, GuardKind, Key, TerrainMode

if TYPE_CHECKING:
    from xarray import Dataset

KINDS = ("collision", "lift-off", "hand-over", "stick", "slip", "input") + (
    "time-stepping", "event-location",
)  # fmt: skip
"""What an event can be."""

DIRECTIONS = ("normal", "along", "across")

NUMBERS = ("time", "energy", "gain", "impulse", "predicted")
"""What an event has: energy after it and its gain in J; impulses in N s, those of the first trial
(all contacts stay closed) being predicted.
"""


def event_records(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return events as plain data in SI units, ready for JSON; contacts are "wheel:feature"."""
    return [
        {
            "time": float(event.t),
            "kind": event.kind,
            "contact": [_named(key) for key in event.contacts],
            "impulse": _pushes(event.impulses),
            "soft": bool(event.soft),
            "energy": float(event.energy_after),
            "gain": float(event.gain),
            "before": _mode(event.mode_before),
            "after": _mode(event.mode_after),
            "predicted": _pushes(event.trials[0].pushes) if event.trials else {},
            "guard": _guard(event.guard),
        }
        for event in events
    ]


def _guard(guard: Guard | None) -> dict[str, Any] | None:
    """Return a guard as plain data: kind in lower case, contact, index of its border (-1: none)."""
    if guard is None:
        return None
    return {
        "kind": guard.kind.name.lower(),
        "contact": _named(guard.contact),
        "border": guard.border,
    }


def guard_of(event: Mapping[str, Any]) -> Guard | None:
    """Return the guard of an event of a dataset; None if none fired or the dataset has no guards."""
    found = event.get("guard")
    if found is None:
        return None
    wheel, _, feature = found["contact"].partition(":")
    return Guard(GuardKind[found["kind"].upper()], (wheel, feature), found["border"])


def _named(key: Key) -> str:
    return ":".join(key)


def _pushes(given: Mapping[Key, Any]) -> dict[str, list[float]]:
    return {_named(key): [float(x) for x in push] for key, push in given.items()}


def _mode(mode: TerrainMode) -> dict[str, str]:
    return {_named(key): status for key, status in mode}


def events_of(data: "Dataset") -> list[dict[str, Any]]:
    """Return the events that a dataset carries; none if it was made without."""
    found = read_list(data, "events")
    events = [event for event in found if isinstance(event, dict)]
    for k, event in enumerate(events, 1):
        if not isinstance(event.get("time"), float | int):
            raise DataError(f"the dataset's attribute 'events' is damaged: event {k} has no time.")
    return events


def wheels_of(event: Mapping[str, Any]) -> str:
    """Return the wheels that an event is about, or of more than two, how many; of a collision all that
    land, and not only the one that was found first.

    >>> push = {"front_left:low": [150.0, 0.0, 0.0], "front_right:low": [150.0, 0.0, 0.0]}
    >>> wheels_of({"contact": ["front_left:low"], "impulse": push, "before": {}})
    'front_left + front_right'
    """
    pushes = {name: push[0] for name, push in event.get("impulse", {}).items()}
    least = 1e-9 * max(pushes.values(), default=0.0)  # others are round-off
    landed = [name for name, push in pushes.items() if push > least]
    own = [*event["contact"], *(name for name in landed if name not in event.get("before", {}))]
    wheels = dict.fromkeys(name.partition(":")[0] for name in own)
    return " + ".join(wheels) if len(wheels) <= 2 else f"{len(wheels)} contacts"


@dataclass(frozen=True)
class EventQuery:
    """A number of the `count`-th event of a kind and wheel; or, with count 0, how many there are."""

    number: str
    count: int = 0
    kind: str = ""
    wheel: str = ""
    labels: tuple[str, ...] = ()

    def unit(self, _model: Model) -> str:
        """Return the unit of the number."""
        if not self.count:
            return ""
        return {"time": "s", "energy": "J", "gain": "J"}.get(self.number, "N s")

    def evaluate(self, bodies: Bodies) -> float:
        """Return the number; not a number where there is no such event or contact."""
        found = [e for e in events_of(bodies.data) if self.kind in ("", e["kind"])]
        if self.wheel:
            wheels = [{name.split(":")[0] for name in e["contact"]} for e in found]
            found = [e for e, own in zip(found, wheels, strict=True) if self.wheel in own]
        if not self.count:
            return float(len(found))
        if len(found) < self.count:
            return float("nan")
        value = found[self.count - 1][self.number]
        if not self.labels:
            return float(value)
        contact, direction = self.labels
        return float(value.get(contact, [np.nan] * 3)[DIRECTIONS.index(direction)])


_ONE = re.compile(r"(\S+) (\d+)(?: of (\w+))? (\w+)(?:\[([^\]]*)\])?")
_MANY = re.compile(r"number of (\S+?)s?")


def parse_event(text: str, model: Model) -> EventQuery | None:
    """Return what a text asks of events, or say what is wrong with it; None where it asks for
    something else.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> parse_event("collision 2 time", whipple())
    EventQuery(number='time', count=2, kind='collision', wheel='', labels=())
    """
    many = _MANY.fullmatch(text)
    if many:
        return EventQuery("time", 0, _kind(many.group(1), text))
    one = _ONE.fullmatch(text)
    if one is None:
        return None
    word, count, wheel, number, inside = one.groups()
    kind = _kind(word, text)
    if int(count) < 1:
        raise ParameterError(f"{text!r}: events are counted from 1.")
    contacts = [*(c.name for c in model.contacts), *(j.name for j in model.joints)]
    if wheel:
        expect_known(f"{text!r}: no contact", wheel, contacts)
    expect_known(f"{text!r}: no", number, NUMBERS)
    if number in ("impulse", "predicted"):
        labels = tuple(part.strip() for part in (inside or "").split(","))
        example = f"{number}[{contacts[0] if contacts else 'wheel'}:ground, normal]"
        if len(labels) != 2 or ":" not in labels[0] or labels[1] not in DIRECTIONS:
            raise ParameterError(f"{text!r}: write '{word} {count} {example}'.")
        owner = labels[0].split(":")[0]
        expect_known(f"{text!r}: no contact", owner, contacts)
        return EventQuery(number, int(count), kind, wheel or "", labels)
    if inside is not None:
        raise ParameterError(f"{text!r}: {number} takes no labels.")
    return EventQuery(number, int(count), kind, wheel or "")


def _kind(word: str, text: str) -> str:
    """Return the kind of event that a word means; "event" is any."""
    if word == "event":
        return ""
    expect_known(f"{text!r}: no", word, ("event", *KINDS))
    return word
