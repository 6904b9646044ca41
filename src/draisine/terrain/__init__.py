"""Terrains: ground features (faces, edges, vertices, patches), standard shapes, meshes, smooth and moving
ground, and the search for features near a point.

- `feature`: faces, edges, vertices and patches with their borders. `terrain`: the base class of grounds. -
`shapes`: planes, ramps, kerbs, stairs, corners, rough ground. - `mesh`: triangle meshes and height fields.
`pieces`: the features of a mesh. `files`: meshes and height maps from
  files.
- `smooth`: heights interpolated by splines. `division`: parts of patches, one per contact. `roads`:
  smooth roads, roughness by ISO 8608.
- `motions`: prescribed motions of grounds. `assembly`: moving and combined grounds.
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
