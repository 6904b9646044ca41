"""What is wrong with the ground of a scenario, and with how its machine meets it."""

import inspect
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from draisine.errors import DraisineError, did_you_mean
from draisine.model import Model
from draisine.registry import find
from draisine.scenario.part import limit
from draisine.scenario.terrain import GROUNDS, Place, faces_of
from draisine.scenario.validate.mistakes import Mistake, structure_mistakes
from draisine.terrain import Terrain

ON_TERRAIN = ("fall", "events")
"""What of `run` goes with a terrain alone."""

OFF_TERRAIN = {
    "mode": "on a terrain contacts open and close by themselves; say how it starts with "
    "initial.mode.",
    "integrator": "runs on a terrain have their own integrator; leave it out.",
    "drift": "runs on a terrain keep contacts closed themselves; leave it out.",
    "formulation": "runs on a terrain have their own; leave it out.",
}
"""What of `run` does not go with a terrain, and why."""

OWN = ("rest_speed", "resolution", "tolerance")
"""What an impact model takes beside its coefficients."""


def footing_mistakes(content: Mapping[str, Any], model: Model) -> list[Mistake]:
    """Return what is wrong with terrain, contact, place, and what of `run` goes with them."""
    if content.get("kind") != "run":
        place = _table(content, "initial").get("place")
        return [] if place is None else [Mistake("initial.place", "goes with kind = 'run'.")]
    if "terrain" not in content:
        return list(_without(content))
    return [
        *_ground(_table(content, "terrain"), model),
        *_touch(_table(content, "contact"), model),
        *_place(content, model),
        *(
            Mistake(f"run.{key}", text, _table(content, "run")[key])
            for key, text in OFF_TERRAIN.items()
            if key in _table(content, "run")
        ),
    ]


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = content.get(name, {})
    return table if isinstance(table, dict) else {}


def _without(content: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield what needs a terrain and has none."""
    way = "goes with a terrain; add [terrain] shape = 'plane'."
    if "contact" in content:
        yield Mistake("contact", way)
    if "place" in _table(content, "initial"):
        yield Mistake("initial.place", way)
    for key in ON_TERRAIN:
        if key in _table(content, "run"):
            yield Mistake(f"run.{key}", way, _table(content, "run")[key])


def _made(given: Mapping[str, Any]) -> Terrain | None:
    """Return a ground whose description is right, unless it must be read from a file first."""
    part = GROUNDS.get(str(given.get("shape")))
    if part is None or "file" in given or structure_mistakes(part, given):
        return None
    described: Any = part.model_validate(given)
    ground: Terrain = described.terrain()
    return ground


def _ground(given: Mapping[str, Any], model: Model) -> Iterator[Mistake]:
    for contact in model.contacts:
        if contact not in model.wheels:
            kind = type(contact).__name__.lower()
            text = f"only wheels meet a terrain, and {contact.name!r} is a {kind}; leave it out."
            yield Mistake("terrain", text)
    try:
        _made(given)
    except DraisineError as error:
        yield Mistake("terrain", str(error))
    file = given.get("file")
    if isinstance(file, str):
        path = Path(file)
        if path.suffix.lower() not in (".stl", ".obj", ".ply"):
            yield Mistake("terrain.file", "is not a mesh; known are .stl, .obj, .ply.", file)
        elif not path.is_file():
            yield Mistake("terrain.file", "no such file.", file)


def _touch(given: Mapping[str, Any], model: Model) -> Iterator[Mistake]:
    model_name = given.get("impact", "plastic")
    friction = given.get("mu", math.inf)
    wheels = [c.name for c in model.wheels]
    for name in friction if isinstance(friction, dict) else ():
        if name not in wheels:
            text = f"no such wheel. {did_you_mean(name, wheels)}"
            yield Mistake(f"contact.mu.{name}", text, friction[name])
    yield from _stops(given.get("stops"), model)
    if not isinstance(model_name, str):
        return
    try:
        find("impact", model_name)
    except DraisineError as error:
        yield Mistake("contact.impact", str(error))
        return
    values = friction.values() if isinstance(friction, dict) else [friction]
    if model_name in ("plastic", "newton") and any(_grips_little(value) for value in values):
        text = f"{model_name!r} knows ideal rolling alone; with friction take impact = 'moreau'."
        yield Mistake("contact.impact", text)
    yield from _restitution(model_name, given.get("restitution"))


def _stops(given: Any, model: Model) -> Iterator[Mistake]:
    joints = [j.name for j in model.joints]
    for name in given if isinstance(given, dict) else ():
        if name not in joints:
            yield Mistake(f"contact.stops.{name}", f"no such joint. {did_you_mean(name, joints)}")


def _grips_little(friction: Any) -> bool:
    try:
        return 0 < limit(friction) < math.inf
    except ValueError:
        return False


def _restitution(model_name: str, given: Any) -> Iterator[Mistake]:
    known = inspect.signature(find("impact", model_name)).parameters.values()
    allowed = [p.name for p in known if p.kind is p.KEYWORD_ONLY and p.name not in OWN]
    for name, value in given.items() if isinstance(given, dict) else ():
        path = f"contact.restitution.{name}"
        low = -1.0 if name == "tangential" else 0.0
        if name not in allowed:
            text = did_you_mean(name, allowed) if allowed else "It has none."
            yield Mistake(path, f"{model_name!r} has no such coefficient. {text}", value)
        elif isinstance(value, (int, float)) and not low <= value <= 1.0:
            yield Mistake(path, f"take it from {low:g} to 1.", value)


def _place(content: Mapping[str, Any], model: Model) -> Iterator[Mistake]:
    given = _table(content, "initial").get("place")
    if given is None:
        return
    if not isinstance(given, dict):
        yield Mistake("initial.place", "must be a table: wheel, centre, on.", given)
        return
    for mistake in structure_mistakes(Place, given):
        path = f"initial.place.{mistake.path}" if mistake.path else "initial.place"
        yield Mistake(path, mistake.text, mistake.value)
    wheels = [c.name for c in model.wheels]
    wheel, on = given.get("wheel"), given.get("on")
    if isinstance(wheel, str) and wheel not in wheels:
        yield Mistake("initial.place.wheel", f"no such wheel. {did_you_mean(wheel, wheels)}", wheel)
    if isinstance(on, str):
        yield from _stands(_table(content, "terrain"), on)


def _stands(ground: Mapping[str, Any], on: str) -> Iterator[Mistake]:
    path = "initial.place.on"
    if ground.get("shape") in ("mesh", "heights"):
        yield Mistake(path, "faces of a mesh have no names; place the machine by x, y and z.", on)
        return
    try:
        made = _made(ground)
    except (DraisineError, ValidationError):
        return
    faces = {} if made is None else faces_of(made)
    if faces and on not in faces:
        yield Mistake(path, f"no such face. {did_you_mean(on, faces)}", on)
    elif faces and not faces[on].numbers[2] > 1e-9:
        yield Mistake(path, "does not face up; nothing stands on it.", on)
