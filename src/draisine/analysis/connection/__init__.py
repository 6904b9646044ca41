"""Geometric locomotion: displacement of the base by cyclic motions of the joints (local connection).

`case`: classification of systems by the rank of their constraints.
`local`: local connection over shape space, and its curvature.
`gait`: closed paths in shape space, linear in their parameters.
`displacement`: displacement of the base by a gait, by a Magnus expansion, with exact derivatives.
`frame`: body frame with the smallest connection (minimum-perturbation coordinates).
`area`: approximate displacement by the integral of the curvature.
`search`: gaits with the largest or with a prescribed displacement.
`inverse`: joint torques and contact forces of a motion (inverse dynamics).
`vorticity`: momentum of point vortices around a body, and the velocity of a machine among them.
`hybrid`: inverse dynamics of runs with events; static forces within signs and friction limits.
"""

from draisine.analysis.connection.area import area_displacement
from draisine.analysis.connection.case import connection_case
from draisine.analysis.connection.displacement import displacement
from draisine.analysis.connection.frame import quiet_frame
from draisine.analysis.connection.gait import ShapePath, ellipse, fourier, polygon
from draisine.analysis.connection.local import LocalConnection, local_connection
from draisine.analysis.connection.search import farthest, path_to, reversal

__all__ = [
    "LocalConnection",
    "ShapePath",
    "area_displacement",
    "connection_case",
    "displacement",
    "ellipse",
    "farthest",
    "fourier",
    "local_connection",
    "path_to",
    "polygon",
    "quiet_frame",
    "reversal",
]
