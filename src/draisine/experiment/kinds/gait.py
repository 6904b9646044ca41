"""Gaits: where a closed path of the shape leads by the machine's connection, or small loops about
shapes.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.connection import (
    LocalConnection,
    ShapePath,
    displacement,
    fourier,
    local_connection,
    polygon,
)
from draisine.scenario.schema import GaitPart
from draisine.scenario.validate.expectations import CURVATURE, GAIT
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset


def compute_gait(system: System, asked: GaitPart) -> "Dataset":
    """Return where a gait leads in one cycle, for each of its sizes; or, for each shape, the
    displacement per area of small loops.
    """
    connection = local_connection(system, asked.ruler)
    if asked.shapes is None:
        return _displacements(connection, asked)
    first, second = asked.plane or connection.joints[:2]
    F = connection.curvature(asked.shapes, first, second)
    told = {f"curvature_{name}": F[:, k] for k, name in enumerate(connection.twist)}
    return _told(system, "shape", np.arange(1.0, len(F) + 1.0), told, CURVATURE)


def _displacements(connection: LocalConnection, asked: GaitPart) -> "Dataset":
    """Return where a gait leads in one cycle, for each of its sizes."""
    path, theta = shape_path(asked)
    found = [displacement(connection, path, size * theta) for size in asked.sizes]
    values = {
        "x": [one.p[0] for one in found],
        "y": [one.p[1] for one in found],
        "yaw": [one.yaw for one in found],
        "distance": [one.distance for one in found],
    }
    return _told(connection.system, "size", np.array(asked.sizes), values, GAIT)


def _told(
    system: System, side: str, along: Floats, values: Mapping[str, Any], units: Mapping[str, str]
) -> "Dataset":
    """Return values along a side as a dataset."""
    import xarray

    told = {name: (side, value, {"units": units[name]}) for name, value in values.items()}
    outcome = (side, ["completed"] * len(along))
    coords = {side: (side, along, {"units": "1"})}
    return xarray.Dataset(told | {"outcome": outcome}, coords, {"vehicle": system.vehicle.__name__})


def shape_path(asked: GaitPart) -> tuple[ShapePath, Floats]:
    """Return the path of a gait, and its parameters where its size is one."""
    if asked.corners is not None:
        return polygon(asked.corners), np.ones(1)
    assert asked.harmonics is not None  # see the schema
    order = (len(asked.harmonics[0]) - 1) // 2
    return fourier(len(asked.harmonics), order), np.ravel(asked.harmonics)
