"""Gaits: where a closed path of the shape leads, by the machine's connection."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.analysis.connection import ShapePath, displacement, fourier, local_connection, polygon
from draisine.scenario.schema import GaitPart
from draisine.scenario.validate.expectations import GAIT
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset


def gait_displacements(system: System, asked: GaitPart) -> "Dataset":
    """Return where a gait leads in one cycle, for each of its sizes."""
    import xarray

    connection = local_connection(system, asked.ruler)
    path, theta = shape_path(asked)
    found = [displacement(connection, path, size * theta) for size in asked.sizes]
    values = {
        "x": [one.p[0] for one in found],
        "y": [one.p[1] for one in found],
        "yaw": [one.yaw for one in found],
        "distance": [one.distance for one in found],
    }
    told = {name: ("size", values[name], {"units": unit}) for name, unit in GAIT.items()}
    outcome = ("size", ["completed"] * len(found))
    coords = {"size": ("size", np.array(asked.sizes), {"units": "1"})}
    return xarray.Dataset(told | {"outcome": outcome}, coords, {"vehicle": system.vehicle.__name__})


def shape_path(asked: GaitPart) -> tuple[ShapePath, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return the path of a gait, and its parameters where its size is one."""
    if asked.corners is not None:
        return polygon(asked.corners), np.ones(1)
    assert asked.harmonics is not None  # see the schema
    order = (len(asked.harmonics[0]) - 1) // 2
    return fourier(len(asked.harmonics), order), np.ravel(asked.harmonics)
