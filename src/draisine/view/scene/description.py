"""Description of a vehicle and its ground as plain data, for pages that draw them in motion."""

import math
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.model import Joint, Model
from draisine.terrain import Terrain
from draisine.view.scene.ground import Patch, ground_patches
from draisine.view.scene.scene import grid_spacing, shape_colour, up_direction
from draisine.view.scene.shapes import machine_outlines, machine_size, mass_centre_balls
from draisine.view.style import LINE_WIDTHS

GROUND_RADIUS = 60.0
"""Distance (m) from the initial position and from the path ahead within which the ground is drawn."""

GROUND_AHEAD = 200.0
"""Length (m) of the straight path ahead of the initial position around which simple ground is drawn. A
vehicle needs 25 s for it at 8 m/s.
"""

MAX_AHEAD_FEATURES = 1000
"""Largest number of features of a ground that is drawn around the path ahead. The number of drawn patches is
limited, so that on finer ground the patches far ahead would replace those around the start.
"""


def describe_machine(model: Model) -> dict[str, Any]:
    """Return the shapes of a vehicle as data for JSON, in the zero configuration and SI units.

    With them a page draws the vehicle from its pose and its joint coordinates. They contain the bodies, the
    joints as screws, the lines and balls on the bodies, and the contacts.
    """
    names = [body.name for body in model.bodies]
    return {
        "bodies": names,
        "joints": [_screw(joint, names) for joint in model.joints],
        "parts": [
            {
                "body": names.index(outline.body),
                "kind": outline.kind,
                "width": LINE_WIDTHS[outline.kind],
                "colour": shape_colour(outline, names),
                "points": _numbers(outline.points),
            }
            for outline in machine_outlines(model)
        ],
        "balls": [
            {
                "body": names.index(ball.body),
                "centre": _numbers(ball.centre),
                "radius": ball.radius,
                "colour": shape_colour(ball, names),
            }
            for ball in mass_centre_balls(model)
        ],
        "contacts": [
            {"name": contact.name, "radius": float(contact.surface.reach)}
            for contact in model.contacts
        ],
        "size": machine_size(model) / 2.0,
        "up": up_direction(model).tolist(),
    }


def _screw(joint: Joint, bodies: list[str]) -> dict[str, Any]:
    """Return a joint as data for JSON: a screw between two bodies in the zero configuration.

    `turn` and `slide` are the rotation (rad) and the translation (m) per unit of the joint coordinate.
    """
    return {
        "name": joint.name,
        "parent": bodies.index(joint.parent),
        "child": bodies.index(joint.child),
        "axis": _unit(np.asarray(joint.axis, float)).tolist(),
        "through": np.asarray(joint.through, float).tolist(),
        "turn": float(joint.turn),
        "slide": float(joint.slide),
    }


def describe_ground(
    terrain: Terrain | None, start: Floats, yaw: float, size: float
) -> dict[str, Any]:
    """Return the ground around the initial position and ahead of it as data for JSON.

    The data are the patches of the terrain and the spacing of grid lines (m), which the page itself draws.
    `start` is the initial position (3,) of the vehicle in m, `yaw` its initial heading in rad, and `size` its
    size in m.
    """
    cell = grid_spacing(size)
    if terrain is None:
        return {"cell": cell, "patches": []}
    length = GROUND_AHEAD if len(terrain) <= MAX_AHEAD_FEATURES else 0.0
    ahead = np.arange(0.0, length + 0.5 * GROUND_RADIUS, 0.5 * GROUND_RADIUS)
    path = np.asarray(start, float) + np.outer(ahead, [math.cos(yaw), math.sin(yaw), 0.0])
    drawn = ground_patches(
        terrain, np.zeros(len(path)), path, GROUND_RADIUS, cell, with_lines=False
    )
    return {"cell": cell, "patches": [_patch(patch) for patch in drawn]}


def _patch(patch: Patch) -> dict[str, Any]:
    """Return a ground patch as data for JSON: outline (m), normal and brightness (0 to 255)."""
    return {
        "carrier": patch.carrier,
        "grey": round(255 * patch.grey),
        "normal": np.round(patch.normal, 6).tolist(),
        "outline": _numbers(patch.outline),
    }


def _numbers(values: Floats) -> list[float]:
    """Return an array (m) as a flat list of numbers, rounded to 0.01 mm."""
    return [float(x) for x in np.round(np.ravel(values), 5)]


def _unit(x: Floats) -> Floats:
    """Return the unit vector along x."""
    return x / math.sqrt(float(x @ x))
