"""Validation of the terrain, the contact options and the initial position of the vehicle on the terrain."""

import inspect
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from draisine.errors import ParameterError, did_you_mean
from draisine.model import Model
from draisine.registry import find
from draisine.scenario.plan import Start
from draisine.scenario.schema import ContactTable, RunTable
from draisine.scenario.smooth_start import find_place, find_smooth
from draisine.scenario.terrain import (
    VERTICAL_NORMAL,
    HeightGround,
    HeightMapGround,
    MeshGround,
    PlaneGround,
    WheelPlace,
    named_faces,
)
from draisine.scenario.validate.mistakes import Mistakes
from draisine.simulation.options import default_impact
from draisine.system.contact_programs import explain_unsupported_contact
from draisine.terrain import Terrain
from draisine.terrain.files import MESH_FORMATS

TERRAIN_RUN_KEYS = ("events",)
"""Keys of the table `run` that apply to a terrain only."""

PLANE_RUN_KEYS = {
    "mode": "has no effect on a terrain, on which contacts open and close during the run; use initial.mode.",
    "integrator": "has no effect on a terrain, which has its own integrator; leave it out.",
    "drift": "has no effect on a terrain, which has its own drift correction; leave it out.",
    "formulation": "has no effect on a terrain, which has its own formulation; leave it out.",
}
"""Keys of the table `run` that cannot be used with a terrain: key -> message."""


def check_without_terrain(
    contact: ContactTable | None, run: RunTable | None, start: Start, mistakes: Mistakes
) -> None:
    """Report keys that need a terrain in a scenario without a terrain."""
    text = "needs a terrain; add [terrain] shape = 'plane'."
    if contact is not None and contact.model_fields_set:
        mistakes.add("contact", text)
    if start.place is not None:
        mistakes.add("initial.place", text)
    for key in TERRAIN_RUN_KEYS:
        if run is not None and key in run.model_fields_set:
            mistakes.add(f"run.{key}", text, getattr(run, key))


def read_terrain(ground_table: Any, model: Model, mistakes: Mistakes) -> Terrain | None:
    """Build the terrain of a validated table; return None after reporting mistakes."""
    for contact in model.contacts:
        refusal = explain_unsupported_contact(contact)
        if refusal is not None:
            mistakes.add("terrain", refusal)
    if isinstance(ground_table, MeshGround | HeightMapGround) and ground_table.file is not None:
        path = Path(ground_table.file)
        if isinstance(ground_table, MeshGround) and path.suffix.lower() not in MESH_FORMATS:
            text = f"is not a mesh file; supported formats: {', '.join(MESH_FORMATS)}."
            mistakes.add("terrain.file", text, ground_table.file)
            return None
        if not os.path.isfile(path):
            mistakes.add("terrain.file", "the file does not exist.", ground_table.file)
            return None
    with mistakes.convert_errors("terrain"):
        terrain: Terrain = ground_table.terrain()
        return terrain
    return None


def check_contact(
    contact: ContactTable, run: RunTable | None, model: Model, mistakes: Mistakes
) -> None:
    """Report mistakes in the contact options: unknown wheels, joints and impact models."""
    wheels = [contact.name for contact in model.contacts]
    joints = [joint.name for joint in model.joints]
    mu = contact.mu if isinstance(contact.mu, dict) else {"": contact.mu}
    for name, value in mu.items():
        if name and name.split("/")[0] not in wheels:
            mistakes.check_known(f"contact.mu.{name}", name, wheels, "no such wheel", value)
    for name in contact.stops:
        mistakes.check_known(f"contact.stops.{name}", name, joints, "no such joint")
    with mistakes.convert_errors("contact.impact"):
        impact = contact.impact or default_impact(contact.mu)
        if impact in ("plastic", "newton") and any(0 < x < math.inf for x in mu.values()):
            text = f"{impact!r} supports ideal rolling only; with friction use impact = 'moreau'"
            raise ValueError(text)
        _check_restitution(impact, contact, mistakes)
    if isinstance(contact.solver, dict):
        from draisine.simulation.compare.compliant import read_compliant_ground

        with mistakes.convert_errors("contact.solver"):
            read_compliant_ground(contact.solver)
    for key, text in PLANE_RUN_KEYS.items():
        if run is not None and key in run.model_fields_set:
            mistakes.add(f"run.{key}", text, getattr(run, key))


def _check_restitution(impact: str, contact: ContactTable, mistakes: Mistakes) -> None:
    """Report unknown coefficients of restitution, and values out of range."""
    parameters = inspect.signature(find("impact", impact)).parameters.values()
    allowed = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    for name, value in contact.restitution.items():
        path = f"contact.restitution.{name}"
        low = -1.0 if name == "tangential" else 0.0
        if name not in allowed:
            hint = did_you_mean(name, allowed) if allowed else "It has no coefficients."
            mistakes.add(path, f"{impact!r} has no such coefficient. {hint}", value)
        elif not low <= value <= 1.0:
            mistakes.add(path, f"must be between {low:g} and 1.", value)


def start_on_plane(start: Start, ground: Any, model: Model) -> Start:
    """Return a start on the face of a plane ground if it has no place, so that slope and height apply."""
    if start.place is not None or not isinstance(ground, PlaneGround):
        return start
    if model.base != "SE(3)" or not model.wheels:
        return start
    return replace(start, place=WheelPlace(wheel=None, centre=None, on="ground"))


def check_start_place(
    start: Start, ground: Any, terrain: Terrain | None, model: Model, mistakes: Mistakes
) -> None:
    """Report mistakes in the initial position of a vehicle on a terrain."""
    if start.place is None:
        return
    wheel = start.place.wheel
    if wheel is not None:
        wheels = [each.name for each in model.wheels]
        mistakes.check_known("initial.place.wheel", wheel, wheels, "no such wheel", wheel)
    on = start.place.on
    path = "initial.place.on"
    if on is None or terrain is None:
        return
    smooth = find_smooth(terrain)
    if smooth is not None:
        try:
            find_place(smooth, on, start.place.centre)
        except ParameterError as error:
            mistakes.add(path, str(error), on)
        return
    if isinstance(ground, MeshGround | HeightGround | HeightMapGround):
        mistakes.add(
            path,
            "needs faces with names, which a mesh does not have; place the machine by x, y and z.",
            on,
        )
        return
    faces = named_faces(terrain)
    is_known = mistakes.check_known(path, on, faces, "no such face", on)
    if is_known and not faces[on].numbers[2] > VERTICAL_NORMAL:
        mistakes.add(path, "does not point upwards; a machine cannot start on it.", on)
