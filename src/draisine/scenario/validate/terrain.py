"""The ground of a scenario, and how its machine meets it."""

import inspect
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from draisine.errors import did_you_mean
from draisine.model import Model
from draisine.registry import find
from draisine.scenario.plan import Start
from draisine.scenario.schema import ContactTable, RunTable
from draisine.scenario.terrain import (
    HeightGround,
    MeshGround,
    PlaneGround,
    WheelPlace,
    faces_of,
)
from draisine.scenario.validate.mistakes import Mistakes
from draisine.simulation.options import default_impact
from draisine.system.contact_programs import terrain_refusal
from draisine.terrain import Terrain
from draisine.terrain.files import MESH_FORMATS

ON_TERRAIN = ("events",)
"""What of `run` goes with a terrain alone."""

OFF_TERRAIN = {
    "mode": "on a terrain contacts open and close by themselves; say how it starts with "
    "initial.mode.",
    "integrator": "runs on a terrain have their own integrator; leave it out.",
    "drift": "runs on a terrain keep contacts closed themselves; leave it out.",
    "formulation": "runs on a terrain have their own; leave it out.",
}
"""What of `run` does not go with a terrain, and why."""


def check_without_terrain(
    contact: ContactTable | None, run: RunTable | None, start: Start, mistakes: Mistakes
) -> None:
    """Tell what needs a terrain where there is none."""
    way = "goes with a terrain; add [terrain] shape = 'plane'."
    if contact is not None and contact.model_fields_set:
        mistakes.add("contact", way)
    if start.place is not None:
        mistakes.add("initial.place", way)
    for key in ON_TERRAIN:
        if run is not None and key in run.model_fields_set:
            mistakes.add(f"run.{key}", way, getattr(run, key))


def read_terrain(ground: Any, model: Model, mistakes: Mistakes) -> Terrain | None:
    """Return the ground that a table describes."""
    for contact in model.contacts:
        refusal = terrain_refusal(contact)
        if refusal is not None:
            mistakes.add("terrain", refusal)
    if isinstance(ground, MeshGround) and ground.file is not None:
        path = Path(ground.file)
        if path.suffix.lower() not in MESH_FORMATS:
            text = f"is not a mesh; known are {', '.join(MESH_FORMATS)}."
            mistakes.add("terrain.file", text, ground.file)
            return None
        if not os.path.isfile(path):
            mistakes.add("terrain.file", "no such file.", ground.file)
            return None
    with mistakes.at("terrain"):
        terrain: Terrain = ground.terrain()
        return terrain
    return None


def check_contact(
    contact: ContactTable, run: RunTable | None, model: Model, mistakes: Mistakes
) -> None:
    """Tell what is wrong with how wheels meet a terrain."""
    wheels, joints = [c.name for c in model.contacts], [j.name for j in model.joints]
    mu = contact.mu if isinstance(contact.mu, dict) else {"": contact.mu}
    for name, value in mu.items():
        if name and name.split("/")[0] not in wheels:
            mistakes.check_known(f"contact.mu.{name}", name, wheels, "no such wheel", value)
    for name in contact.stops:
        mistakes.check_known(f"contact.stops.{name}", name, joints, "no such joint")
    with mistakes.at("contact.impact"):
        named = contact.impact or default_impact(contact.mu)
        if named in ("plastic", "newton") and any(0 < x < math.inf for x in mu.values()):
            text = f"{named!r} knows ideal rolling alone; with friction take impact = 'moreau'"
            raise ValueError(text)
        _check_restitution(named, contact, mistakes)
    if isinstance(contact.solver, dict):
        from draisine.simulation.compare.compliant import compliant_of

        with mistakes.at("contact.solver"):
            compliant_of(contact.solver)
    for key, text in OFF_TERRAIN.items():
        if run is not None and key in run.model_fields_set:
            mistakes.add(f"run.{key}", text, getattr(run, key))


def _check_restitution(impact: str, contact: ContactTable, mistakes: Mistakes) -> None:
    known = inspect.signature(find("impact", impact)).parameters.values()
    allowed = [p.name for p in known if p.kind is p.KEYWORD_ONLY]
    for name, value in contact.restitution.items():
        path = f"contact.restitution.{name}"
        low = -1.0 if name == "tangential" else 0.0
        if name not in allowed:
            text = did_you_mean(name, allowed) if allowed else "It has none."
            mistakes.add(path, f"{impact!r} has no such coefficient. {text}", value)
        elif not low <= value <= 1.0:
            mistakes.add(path, f"take it from {low:g} to 1.", value)


def on_plane(start: Start, ground: Any, model: Model) -> Start:
    """Return a start on the one face that a plane has, where no place is told: what is so on the level
    plane, is so on a slope or a raised one.
    """
    if start.place is not None or not isinstance(ground, PlaneGround):
        return start
    if model.base != "SE(3)" or not model.wheels:
        return start
    return replace(start, place=WheelPlace(wheel=None, centre=None, on="ground"))


def check_place(
    start: Start, ground: Any, terrain: Terrain | None, model: Model, mistakes: Mistakes
) -> None:
    """Tell what is wrong with where a machine starts."""
    if start.place is None:
        return
    wheels, on, path = [c.name for c in model.wheels], start.place.on, "initial.place.on"
    wheel = start.place.wheel
    if wheel is not None:
        mistakes.check_known("initial.place.wheel", wheel, wheels, "no such wheel", wheel)
    if on is None or terrain is None:
        return
    if isinstance(ground, MeshGround | HeightGround):
        mistakes.add(path, "faces of a mesh have no names; place the machine by x, y and z.", on)
        return
    faces = faces_of(terrain)
    known = mistakes.check_known(path, on, faces, "no such face", on)
    if known and not faces[on].numbers[2] > 1e-9:
        mistakes.add(path, "does not face up; nothing stands on it.", on)
