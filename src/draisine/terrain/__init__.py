"""Grounds as numbers: planes, ramps, kerbs, meshes, height fields; the nearest features of a wheel."""

from draisine.terrain.feature import Feature, edge, face, vertex
from draisine.terrain.shapes import corner, kerb, plane, ramp
from draisine.terrain.terrain import Terrain

__all__ = ["Feature", "Terrain", "corner", "edge", "face", "kerb", "plane", "ramp", "vertex"]
