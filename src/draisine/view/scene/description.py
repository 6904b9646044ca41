"""A machine and its ground as plain data, for pages that draw them as they move."""

import math
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.model import Joint, Model
from draisine.terrain import Terrain
from draisine.view.scene.ground import Patch, patches
from draisine.view.scene.scene import cell_of, colour_of, up_of
from draisine.view.scene.shapes import balls, parts, reach
from draisine.view.style import WIDTHS

AHEAD = 60.0
"""How far around its start the ground is drawn, m."""


def describe_machine(model: Model) -> dict[str, Any]:
    """Return what a page needs to draw a machine from its pose and joints: bodies, joints as screws
    in the drawing, lines and balls on bodies, wheels.
    """
    names = [body.name for body in model.bodies]
    return {
        "bodies": names,
        "joints": [_screw(joint, names) for joint in model.joints],
        "parts": [
            {
                "body": names.index(part.body),
                "kind": part.kind,
                "width": WIDTHS[part.kind],
                "colour": colour_of(part, names),
                "points": _numbers(part.points),
            }
            for part in parts(model)
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
    """Return the faces of a ground around a start, and how far apart the lines on it are."""
    cell = cell_of(size)
    if terrain is None:
        return {"cell": cell, "patches": []}
    way = np.asarray(start, float)[None, :]
    drawn = patches(terrain, np.zeros(1), way, AHEAD, cell)
    return {"cell": cell, "patches": [_patch(patch) for patch in drawn]}


def _patch(patch: Patch) -> dict[str, Any]:
    return {
        "carrier": patch.carrier,
        "grey": round(255 * patch.grey),
        "normal": patch.normal.tolist(),
        "outline": _numbers(patch.outline),
        "lines": _numbers(patch.lines),
    }


def _numbers(values: Floats) -> list[float]:
    """Return numbers one after the other, to a hundredth of a millimetre."""
    return [float(x) for x in np.round(np.ravel(values), 5)]


def _unit(x: Floats) -> Floats:
    return x / math.sqrt(float(x @ x))
