"""Grounds as numbers, and the nearest features of a wheel.

`feature`: a face, an edge, a vertex. `terrain`: what a ground must answer. `shapes`: planes, ramps,
kerbs, stairs, corners, rough ground. `mesh`: triangles and height fields. `pieces`: a mesh's features.
`files`: meshes read. `motions`: how grounds move. `assembly`: grounds put together.
"""

from draisine.terrain.assembly import Joined, move_ground
from draisine.terrain.feature import Feature, edge, face, vertex
from draisine.terrain.mesh import Mesh, height_field
from draisine.terrain.shapes import corner, kerb, plane, ramp, rough, stairs
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
    "rough",
    "stairs",
    "vertex",
]
