"""Grounds as numbers: planes, ramps, kerbs, meshes, height fields; the nearest features of a wheel."""

from draisine.terrain.assembly import Joined, move_ground
from draisine.terrain.feature import Feature, edge, face, vertex
from draisine.terrain.mesh import Mesh, height_field
from draisine.terrain.shapes import corner, kerb, plane, ramp
from draisine.terrain.terrain import Terrain

__all__ = [
    "Feature",
    "Joined",
    "Mesh",
    "Terrain",
    "corner",
    "edge",
    "face",
    "height_field",
    "kerb",
    "move_ground",
    "plane",
    "ramp",
    "vertex",
]
