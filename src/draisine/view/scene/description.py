"""A machine and its ground as plain data, for pages that draw them in motion."""

import math
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.model import Joint, Model
from draisine.terrain import Terrain
from draisine.view.scene.ground import Patch, patches
from draisine.view.scene.scene import cell_of, colour_of, up_of
from draisine.view.scene.shapes import balls, parts, reach
from draisine.view.style import LINE_WIDTHS

GROUND_RADIUS = 60.0
"""Distance around the start within which the ground is drawn, m."""


def describe_machine(model: Model) -> dict[str, Any]:
    """Return the data that a page needs to draw a machine from its pose and joints: bodies, joints
    as screws, lines and balls on bodies, and contacts.
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
                "colour": colour_of(outline, names),
                "points": _numbers(outline.points),
            }
            for outline in parts(model)
        ],
        "balls": [
            {
                "body": names.index(ball.body),
                "centre": _numbers(ball.centre),
                "radius": ball.radius,
                "colour": colour_of(ball, names),
            }
            for ball in balls(model)
        ],
        "contacts": [
            {"name": contact.name, "radius": float(contact.surface.reach)}
            for contact in model.contacts
        ],
        "size": reach(model) / 2.0,
        "up": up_of(model).tolist(),
    }


def _screw(joint: Joint, bodies: list[str]) -> dict[str, Any]:
    """Return a joint as a screw between two bodies, in the drawing."""
    return {
        "name": joint.name,
        "parent": bodies.index(joint.parent),
        "child": bodies.index(joint.child),
        "axis": _unit(np.asarray(joint.axis, float)).tolist(),
        "through": np.asarray(joint.through, float).tolist(),
        "turn": float(joint.turn),
        "slide": float(joint.slide),
    }


def describe_ground(terrain: Terrain | None, start: Floats, size: float) -> dict[str, Any]:
    """Return the patches of a terrain around a start, and the spacing of the lines on it."""
    cell = cell_of(size)
    if terrain is None:
        return {"cell": cell, "patches": []}
    path = np.asarray(start, float)[None, :]
    drawn = patches(terrain, np.zeros(1), path, GROUND_RADIUS, cell)
    return {"cell": cell, "patches": [_patch(patch) for patch in drawn]}


def _patch(patch: Patch) -> dict[str, Any]:
    """Return a patch of ground as plain data."""
    return {
        "carrier": patch.carrier,
        "grey": round(255 * patch.grey),
        "normal": patch.normal.tolist(),
        "outline": _numbers(patch.outline),
        "lines": _numbers(patch.lines),
    }


def _numbers(values: Floats) -> list[float]:
    """Return the entries of an array as a list, rounded to 0.01 mm."""
    return [float(x) for x in np.round(np.ravel(values), 5)]


def _unit(x: Floats) -> Floats:
    """Return a vector of length one."""
    return x / math.sqrt(float(x @ x))
