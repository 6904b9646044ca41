"""Terrains: features (faces, edges, vertices), standard shapes, meshes, moving ground, and search of nearby
features.

- `feature`: faces, edges and vertices with their borders. `terrain`: the base class of grounds.
- `shapes`: planes, ramps, kerbs, stairs, corners, rough ground.
- `mesh`: triangle meshes and height fields. `pieces`: the features of a mesh. `files`: meshes from files.
- `smooth`: smooth ground of polynomial patches.
- `motions`: prescribed motions of grounds. `assembly`: moving and combined grounds.
"""

from draisine.terrain.assembly import Joined, move_ground
from draisine.terrain.feature import Feature, edge, face, vertex
from draisine.terrain.mesh import Mesh, height_field
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
    "rough",
    "stairs",
    "vertex",
]
