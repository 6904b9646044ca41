"""The geometry of locomotion: what a gait of the joints does to the base.

`case`: which kind of connection a machine has. `local`: the connection over shape space and its
curvature, exact. `gait`: closed paths of the shape, linear in their parameters. `displacement`:
where a gait leads, with exact derivatives. `frame`: the body frame that a gait shakes least. `area`:
the same by the curvature's integral. `search`: gaits that lead far, or where they should. `inverse`:
which torques a motion needs.
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
