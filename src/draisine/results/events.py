"""Events of a run as plain data, as stored in datasets, and evaluation of scalar queries on events.

Examples of queries: `event 3 time`, `collision 2 impulse[front:ground, normal]`, `lift-off 1 of
rear energy`, `number of collisions`. Events are counted from 1; `of WHEEL` counts only the events
of one wheel.

"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import DataError, ParameterError, expect_known
from draisine.model import Model
from draisine.results.attributes import read_list_attribute
from draisine.results.bodies import Bodies
from draisine.simulation.trajectory import Event, Guard, GuardKind, Key, TerrainMode

if TYPE_CHECKING:
    from xarray import Dataset

EVENT_KINDS = (
    *("collision", "lift-off", "hand-over", "stick", "slip", "input"),
    *("time-stepping", "event-location"),
)
"""Kinds of events of a run; the last two mark a change of the contact solver."""

CONTACT_DIRECTIONS = ("normal", "along", "across")
"""Order of the components of contact forces and impulses: normal, longitudinal, lateral."""

EVENT_QUANTITIES = ("time", "energy", "gain", "impulse", "predicted")
"""Quantities of an event that queries can evaluate.

`time` is in s. `energy` after the event and its `gain` (energy created by the event) are in J. `impulse`
and `predicted` are in N s; `predicted` is the impulse of the first trial, in which all contacts stay closed.

"""


def event_records(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Convert events to JSON-compatible records in SI units; contact labels are "wheel:ground feature"."""
    return [
        {
            "time": float(event.t),
            "kind": event.kind,
            "contact": [_label_contact(key) for key in event.contacts],
            "impulse": _label_impulses(event.impulses),
            "soft": bool(event.soft),
            "energy": float(event.energy_after),
            "gain": float(event.gain),
            "before": _label_statuses(event.mode_before),
            "after": _label_statuses(event.mode_after),
            "predicted": _label_impulses(event.trials[0].pushes) if event.trials else {},
            "guard": _make_guard_record(event.guard),
        }
        for event in events
    ]


def _make_guard_record(guard: Guard | None) -> dict[str, Any] | None:
    """Return the guard function that triggered an event as plain data; None if there is none.

    The record has the kind of guard, the contact, and the index of the ground feature's border (-1: none).
    """
    if guard is None:
        return None
    return {
        "kind": guard.kind.name.lower(),
        "contact": _label_contact(guard.contact),
        "border": guard.border,
    }


def read_guard(event: Mapping[str, Any]) -> Guard | None:
    """Return the guard that triggered a stored event; None if the record has none."""
    guard = event.get("guard")
    if guard is None:
        return None
    wheel, _, feature = guard["contact"].partition(":")
    return Guard(GuardKind[guard["kind"].upper()], (wheel, feature), guard["border"])


def _label_contact(key: Key) -> str:
    """Return the label of a contact key: name of the wheel, colon, name of the ground feature."""
    return ":".join(key)


def _label_impulses(impulses: Mapping[Key, Any]) -> dict[str, list[float]]:
    """Return contact impulses (normal, along, across) in N s by contact label."""
    return {_label_contact(key): [float(x) for x in impulse] for key, impulse in impulses.items()}


def _label_statuses(mode: TerrainMode) -> dict[str, str]:
    """Return the status (open, rolling, sliding) of every contact by contact label."""
    return {_label_contact(key): status for key, status in mode}


def read_events(data: "Dataset") -> list[dict[str, Any]]:
    """Return the event records stored in a dataset; an empty list if it has none."""
    events = [event for event in read_list_attribute(data, "events") if isinstance(event, dict)]
    for k, event in enumerate(events, 1):
        if not isinstance(event.get("time"), float | int):
            raise DataError(f"The dataset's attribute 'events' is damaged: event {k} has no time.")
    return events


def read_drawn_events(data: "Dataset") -> list[dict[str, Any]]:
    """Return the event records of a dataset that figures mark.

    Events at which a wheel rolls from one patch of smooth ground to the next are left out: they have no
    visible effect.
    """
    return [
        event
        for event in read_events(data)
        if event["kind"] != "hand-over"
        or not all(":patch " in contact for contact in event["contact"])
    ]


def format_wheels(event: Mapping[str, Any]) -> str:
    """Return the names of the wheels of a stored event as text; their number if more than two.

    A collision lists all wheels that touch down, not only the wheel whose guard triggered the event.

    >>> impulses = {"front_left:low": [150.0, 0.0, 0.0], "front_right:low": [150.0, 0.0, 0.0]}
    >>> format_wheels({"contact": ["front_left:low"], "impulse": impulses, "before": {}})
    'front_left + front_right'
    """
    normal = {name: impulse[0] for name, impulse in event.get("impulse", {}).items()}
    # Impulses below 1e-9 of the largest one are round-off: their contacts have no impact.
    threshold = 1e-9 * max(normal.values(), default=0.0)
    landed = [name for name, impulse in normal.items() if impulse > threshold]
    contacts = [*event["contact"], *(c for c in landed if c not in event.get("before", {}))]
    wheels = dict.fromkeys(name.partition(":")[0] for name in contacts)
    return " + ".join(wheels) if len(wheels) <= 2 else f"{len(wheels)} contacts"


@dataclass(frozen=True)
class EventQuery:
    """Query for a quantity of the `count`-th event of a kind and wheel, or for the number of events."""

    number: str
    """Queried quantity of the event, one of `EVENT_QUANTITIES`."""
    count: int = 0
    """Number of the event, starting from 1; 0 queries the number of events."""
    kind: str = ""
    """Kind of event, one of `EVENT_KINDS`; an empty string matches any kind."""
    wheel: str = ""
    """Name of the wheel; an empty string matches any wheel."""
    labels: tuple[str, ...] = ()
    """Contact label and direction of a queried impulse."""

    def unit(self, _model: Model) -> str:
        """Return the SI unit of the query's value."""
        if not self.count:
            return ""
        return {"time": "s", "energy": "J", "gain": "J"}.get(self.number, "N s")

    def evaluate(self, bodies: Bodies) -> float:
        """Return the value of the query in a run; NaN if the event or contact does not exist."""
        return self.evaluate_records(read_events(bodies.data))

    def evaluate_records(self, records: Iterable[Mapping[str, Any]]) -> float:
        """Return the value of the query for event records (see `event_records`); NaN if there is none."""
        events = [e for e in records if self.kind in ("", e["kind"])]
        if self.wheel:
            events = [
                e for e in events if self.wheel in {name.split(":")[0] for name in e["contact"]}
            ]
        if not self.count:
            return float(len(events))
        if len(events) < self.count:
            return float("nan")
        value = events[self.count - 1][self.number]
        if not self.labels:
            return float(value)
        contact, direction = self.labels
        return float(value.get(contact, [np.nan] * 3)[CONTACT_DIRECTIONS.index(direction)])


_EVENT_PATTERN = re.compile(r"(\S+) (\d+)(?: of (\w+))? (\w+)(?:\[([^\]]*)\])?")
_COUNT_PATTERN = re.compile(r"number of (\S+?)s?")


def parse_event(text: str, model: Model) -> EventQuery | None:
    """Parse a query on events; None if the text is not a query on events.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> parse_event("collision 2 time", whipple())
    EventQuery(number='time', count=2, kind='collision', wheel='', labels=())
    """
    counting = _COUNT_PATTERN.fullmatch(text)
    if counting:
        return EventQuery("time", 0, _find_event_kind(counting.group(1), text))
    match = _EVENT_PATTERN.fullmatch(text)
    if match is None:
        return None
    word, count, wheel, number, inside = match.groups()
    kind = _find_event_kind(word, text)
    if int(count) < 1:
        raise ParameterError(f"{text!r}: events are counted from 1. Use 1 for the first event.")
    contacts = [*(c.name for c in model.contacts), *(j.name for j in model.joints)]
    if wheel:
        expect_known(f"{text!r}: no contact", wheel, contacts)
    expect_known(f"{text!r}: no", number, EVENT_QUANTITIES)
    if number in ("impulse", "predicted"):
        labels = tuple(label.strip() for label in (inside or "").split(","))
        example = f"{number}[{contacts[0] if contacts else 'wheel'}:ground, normal]"
        if len(labels) != 2 or ":" not in labels[0] or labels[1] not in CONTACT_DIRECTIONS:
            raise ParameterError(
                f"{text!r}: {number} needs a contact and a direction. Write '{word} {count} {example}'."
            )
        expect_known(f"{text!r}: no contact", labels[0].split(":")[0], contacts)
        return EventQuery(number, int(count), kind, wheel or "", labels)
    if inside is not None:
        raise ParameterError(f"{text!r}: {number} takes no labels.")
    return EventQuery(number, int(count), kind, wheel or "")


def _find_event_kind(word: str, text: str) -> str:
    """Return the kind of event that a word of a query denotes; "" for "event", which matches any kind."""
    if word == "event":
        return ""
    expect_known(f"{text!r}: no", word, ("event", *EVENT_KINDS))
    return word
