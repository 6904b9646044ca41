"""Terrains as sets of ground features, and the search for the features near a point.

- `feature`: the four kinds of ground features (face, edge, vertex, patch) with their borders.
- `terrain`: the base class of all terrains.
- `shapes`: planes, ramps, kerbs, stairs, corners and rough ground.
- `mesh`: triangle meshes and height fields. `pieces` computes the features of a mesh, `files` reads meshes
  and height maps from files.
- `smooth`: heights interpolated by cubic splines. `division` divides strongly curved patches into parts with
  one contact each. `roads`: smooth roads, and rough roads after ISO 8608.
- `motions`: prescribed motions of terrains. `assembly`: moving terrains, and several terrains in one.
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
