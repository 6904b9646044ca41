"""Grounds: features, standard shapes, meshes, moving ground, and broad-phase search.

`feature`: faces, edges, vertices, patches. `terrain`: the protocol of grounds. `shapes`: planes, ramps,
kerbs, stairs, corners, rough ground. `mesh`: triangles and height fields. `smooth`: heights interpolated by
splines. `roads`: smooth roads, roughness by ISO 8608. `pieces`: the features of a mesh. `files`: meshes
from files. `motions`: motions of grounds. `assembly`: composite grounds.
"""

from draisine.terrain.assembly import Joined, move_ground
from draisine.terrain.feature import Feature, edge, face, vertex
from draisine.terrain.mesh import Mesh, height_field
from draisine.terrain.roads import road, rough_road
from draisine.terrain.shapes import corner, kerb, plane, ramp, rough, stairs
from draisine.terrain.smooth import SmoothGround, SmoothWarning
from draisine.terrain.terrain import Terrain

__all__ = [
    "Feature",
    "Joined",
    "Mesh",
    "SmoothGround",
    "SmoothWarning",
    "Terrain",
    "corner",
    "edge",
    "face",
    "height_field",
    "kerb",
    "move_ground",
    "plane",
    "ramp",
    "road",
    "rough",
    "rough_road",
    "stairs",
    "vertex",
]
