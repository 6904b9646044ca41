"""Geometric locomotion: the motion of the base by cyclic motions of the joints.

`case`: classification of machines. `local`: the local connection over shape space and its curvature. `gait`:
closed paths of the shape, linear in their parameters. `displacement`: displacement of a gait, with exact
derivatives. `frame`: the body frame with the smallest connection. `area`: displacement by the integral of the
curvature. `search`: gaits with largest or prescribed displacement. `inverse`: torques of a motion.
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
