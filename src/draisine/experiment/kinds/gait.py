"""Scenarios of the kind `gait`: displacement of the base by a closed path in shape space.

The local connection (the linear map from joint rates to base velocity) is integrated along the path.
Alternatively, its curvature (displacement per area of small loops) is evaluated at given shapes.

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
from draisine.scenario.schema import GaitTable
from draisine.scenario.validate.expectations import GAIT_CURVATURE_UNITS, GAIT_UNITS
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset


def compute_gait(system: System, request: GaitTable) -> "Dataset":
    """Return a dataset of displacements per gait cycle by amplitude, or of curvatures at given shapes."""
    connection = local_connection(system, request.ruler, frame=request.frame)
    if request.shapes is None:
        return _compute_displacements(connection, request)
    first, second = request.plane or connection.joints[:2]
    F = connection.curvature(request.shapes, first, second)
    values = {f"curvature_{name}": F[:, k] for k, name in enumerate(connection.twist)}
    return _make_dataset(
        system, "shape", np.arange(1.0, len(F) + 1.0), values, GAIT_CURVATURE_UNITS
    )


def _compute_displacements(connection: LocalConnection, request: GaitTable) -> "Dataset":
    """Return the displacement of the base over one gait cycle for each amplitude."""
    path, theta = make_shape_path(request)
    cycles = [displacement(connection, path, size * theta) for size in request.sizes]
    values = {
        "x": [cycle.p[0] for cycle in cycles],
        "y": [cycle.p[1] for cycle in cycles],
        "yaw": [cycle.yaw for cycle in cycles],
        "distance": [cycle.distance for cycle in cycles],
    }
    return _make_dataset(connection.system, "size", np.array(request.sizes), values, GAIT_UNITS)


def _make_dataset(
    system: System,
    dimension: str,
    nodes: Floats,
    values: Mapping[str, Any],
    units: Mapping[str, str],
) -> "Dataset":
    """Return results along one dimension as a dataset with units."""
    import xarray

    data = {name: (dimension, value, {"units": units[name]}) for name, value in values.items()}
    outcome = (dimension, ["completed"] * len(nodes))
    coords = {dimension: (dimension, nodes, {"units": "1"})}
    return xarray.Dataset(data | {"outcome": outcome}, coords, {"vehicle": system.vehicle.__name__})


def make_shape_path(request: GaitTable) -> tuple[ShapePath, Floats]:
    """Return the closed path in shape space of a gait, and its coefficients at amplitude one."""
    if request.corners is not None:
        return polygon(request.corners), np.ones(1)
    assert request.harmonics is not None  # the schema requires corners, harmonics or shapes
    order = (len(request.harmonics[0]) - 1) // 2
    return fourier(len(request.harmonics), order), np.ravel(request.harmonics)
