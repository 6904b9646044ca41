"""Paths on the ground and path coordinates: parameter along the path, offset and heading error.

The reference point P of the vehicle is at the distance `offset` to the left of the nearest point of the path;
the vehicle heads `heading_error` to the left of the tangent there. With the curvature k (1/m, positive to the
left), the velocity (v, u) of P along and to the left of the heading, and the yaw rate r

    arc_rate = (v cos psi - u sin psi) / (1 - k e),
    e_rate = v sin psi + u cos psi,    psi_rate = r - k arc_rate,            eq. [path-coordinates].

Position and heading in the world do not enter. Therefore a rider on a straight or circular path has steady
motions and eigenvalues.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from draisine.algebra.jet import Jet
from draisine.algebra.scalar import Array, Floats, Scalar, cos, sin, sqrt
from draisine.control._signals.smooth_transition import smooth_transition
from draisine.errors import ParameterError, expect_known
from draisine.mechanics.readings import Readings
from draisine.model.quantity import parse_number
from draisine.registry import find, is_file

PATH_PARAMETER = "parameter"
"""Name of the path coordinate that is the parameter along the path."""

OFFSET = "offset"
"""Name of the path coordinate that is the distance from the path, m, positive to the left."""

HEADING_ERROR = "heading_error"
"""Name of the path coordinate that is the heading relative to the path's tangent, rad, positive to
the left.
"""

SEARCH_LENGTH = 200.0
"""Length (m) of the part of a path, in both directions, that is searched for the point nearest to
an initial position.
"""

SEARCH_POINTS = 4001
"""Number of grid points of the search for the nearest point of a path.

Neighbouring points are 0.1 m apart, less than the wavelength of any path that can be ridden.
"""


class PathPoint(NamedTuple):
    """Position and heading in path coordinates."""

    parameter: float  # parameter of the path: m along the x axis or along the path
    offset: float  # distance from the path, m, positive to the left
    heading_error: float  # heading relative to the tangent, rad, positive to the left


class Path(Protocol):
    """Protocol of a path on the ground."""

    @property
    def uniform(self) -> bool:
        """Whether the curvature is constant, so that control laws do not depend on the path
        parameter.
        """

    def curvature(self, s: Scalar) -> Scalar:
        """Return the curvature (1/m) at the parameter s, positive to the left."""

    def arc_length_rate(self, s: Scalar) -> Scalar:
        """Return the derivative of the arc length (m) with respect to the path parameter s."""

    def place(self, s: float) -> tuple[float, float, float]:
        """Return position x and y (m) and tangent direction (rad) at the parameter s."""


@dataclass(frozen=True)
class ConstantCurvature:
    """Straight line along the x axis, or a circle that touches the x axis at the origin.

    Parameters
    ----------
    value
        Curvature, 1/m, positive to the left: 0.05 is a circle of 20 m radius to the left.
    """

    value: float = 0.0

    uniform: ClassVar[bool] = True

    def curvature(self, s: Scalar) -> Scalar:
        """Return the constant curvature, 1/m."""
        return self.value

    def arc_length_rate(self, s: Scalar) -> Scalar:
        """Return 1: the parameter is the arc length."""
        return 1.0

    def place(self, s: float) -> tuple[float, float, float]:
        """Return position x and y (m) and direction (rad) at the arc length s."""
        turned = self.value * s
        # Use the ratio of chord to arc: the formula with the curvature would divide by zero on a
        # straight path.
        half = math.sin(turned / 2.0) / (turned / 2.0) if turned else 1.0
        return s * half * math.cos(turned / 2.0), s * half * math.sin(turned / 2.0), turned


@dataclass(frozen=True, eq=False)
class LateralPath:
    """Path y(x) as a function of the distance along the x axis, such as a lane change.

    Parameters
    ----------
    aside
        Function from x to y, m, written over any scalar type, twice differentiable.
    """

    aside: Callable[[Any], Any]

    uniform: ClassVar[bool] = False

    def curvature(self, s: Scalar) -> Scalar:
        """Return the curvature at x = s, 1/m."""
        y = self._offset_jet(s)
        square = 1.0 + y.x1 * y.x1
        return y.x2 / (square * sqrt(square))

    def arc_length_rate(self, s: Scalar) -> Scalar:
        """Return the derivative of the arc length with respect to x."""
        slope = self._offset_jet(s).x1
        return sqrt(1.0 + slope * slope)

    def place(self, s: float) -> tuple[float, float, float]:
        """Return position x and y (m) and direction (rad) at x = s."""
        y = self._offset_jet(s)
        return s, float(y.x), math.atan(float(y.x1))

    def _offset_jet(self, x: Scalar) -> Jet:
        """Return the offset y with its first two derivatives at x."""
        y = self.aside(Jet(x, 1.0, 0.0))
        return y if isinstance(y, Jet) else Jet(y)


@dataclass(frozen=True, eq=False)
class CurvedPath:
    """Path given by its curvature over the arc length, starting at the origin along the x axis.

    Parameters
    ----------
    bend
        Function from the arc length, m, to the curvature, 1/m, written over any scalar type.
    """

    bend: Callable[[Any], Any]

    uniform: ClassVar[bool] = False

    def curvature(self, s: Scalar) -> Scalar:
        """Return the curvature at an arc length, 1/m."""
        return self.bend(s)

    def arc_length_rate(self, s: Scalar) -> Scalar:
        """Return 1: the parameter is the arc length."""
        return 1.0

    def place(self, s: float) -> tuple[float, float, float]:
        """Return position x and y (m) and direction (rad) at the arc length s, by Simpson's rule."""
        if s == 0.0:
            return 0.0, 0.0, 0.0
        # Steps of 0.05 m resolve the curvature of every path that can be ridden.
        count = 2 * max(8, math.ceil(abs(s) / 0.05))
        arcs = np.linspace(0.0, s, 2 * count + 1)
        bend = np.array([float(self.bend(float(x))) for x in arcs])
        fine = s / (2 * count)
        pairs = (bend[:-2:2] + 4.0 * bend[1:-1:2] + bend[2::2]) * fine / 3.0
        turned = np.concatenate([[0.0], np.cumsum(pairs)])
        x = _integrate_simpson(np.cos(turned), 2.0 * fine)
        y = _integrate_simpson(np.sin(turned), 2.0 * fine)
        return x, y, float(turned[-1])


def _integrate_simpson(values: Any, step: float) -> float:
    """Return the integral of equidistant values with a given step, by Simpson's rule."""
    return float((values[:-2:2] + 4.0 * values[1:-1:2] + values[2::2]).sum() * step / 3.0)


@dataclass(frozen=True)
class LaneChange:
    """Lane change as a function from x to y (m): a smooth step.

    Parameters
    ----------
    offset
        Distance between the lanes, m, positive to the left.
    start, end
        Distances x, m, between which the lane is changed.
    """

    offset: float
    start: float
    end: float

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise ParameterError(
                f"path: lane_change: end = {self.end:g} m must be beyond start = {self.start:g} m."
            )

    def __call__(self, x: Scalar) -> Scalar:
        """Return the lateral position y (m) of the path at the distance x (m)."""
        return self.offset * smooth_transition(x, self.start, self.end)


@dataclass(frozen=True)
class Slalom:
    """Slalom as a function from x to y (m): `amplitude (1 - cos(2 pi x / wavelength)) / 2`.

    Parameters
    ----------
    amplitude
        Distance between the outermost points of both sides, m, positive to the left.
    wavelength
        Distance after which the path repeats, m.
    """

    amplitude: float
    wavelength: float

    def __post_init__(self) -> None:
        if not self.wavelength > 0.0:
            raise ParameterError(
                f"path: slalom: wavelength = {self.wavelength:g} m must be positive."
            )

    def __call__(self, x: Scalar) -> Scalar:
        """Return the lateral position y (m) of the path at the distance x (m)."""
        return 0.5 * self.amplitude * (1.0 - cos(2.0 * math.pi / self.wavelength * x))


PATH_SHAPES: dict[str, Any] = {"lane_change": LaneChange, "slalom": Slalom}
"""Classes of functions from x to y (m) that define a path, by the `shape` of a table in a scenario
file.
"""


def _path_from_table(table: Mapping[str, Any]) -> Path:
    """Return the path of a scenario table with a `shape` and the constants of that shape."""
    if "shape" not in table:
        raise ParameterError(f"path: shape is missing. Available: {', '.join(PATH_SHAPES)}.")
    expect_known("path: no shape", str(table["shape"]), PATH_SHAPES)
    shape = PATH_SHAPES[table["shape"]]
    allowed = [entry.name for entry in fields(shape)]
    values = {name: value for name, value in table.items() if name != "shape"}
    expect_known(f"path: {table['shape']} has no number", values, allowed)
    if missing := [name for name in allowed if name not in values]:
        raise ParameterError(f"path: {table['shape']} needs {', '.join(missing)}, in m.")
    return LateralPath(shape(**{name: parse_number(value, "m") for name, value in values.items()}))


def as_path(path: Any) -> Path:
    """Return a path from a number, a function, the name of a function, a table or a path.

    Parameters
    ----------
    path
        Curvature in 1/m, function from x to y in m, FILE.py:name of such a function, table with a `shape`,
        or an object with the methods of `Path`.

    Examples
    --------
    >>> as_path(0.05)
    ConstantCurvature(value=0.05)
    >>> as_path({"shape": "lane_change", "offset": 2.0, "start": 15.0, "end": 30.0})
    LateralPath(aside=LaneChange(offset=2.0, start=15.0, end=30.0))
    """
    if isinstance(path, str) and is_file(path):
        path = find("path", path)
    if isinstance(path, Mapping):
        return _path_from_table(path)
    if isinstance(path, int | float) and not isinstance(path, bool):
        if not math.isfinite(path):
            raise ParameterError(f"path: the curvature {path} is not a finite number.")
        return ConstantCurvature(float(path))
    if all(hasattr(path, name) for name in ("uniform", "curvature", "arc_length_rate", "place")):
        return path
    if callable(path):
        return LateralPath(path)
    raise ParameterError(
        f"path: {path!r:.80} is not a path. Use a curvature in 1/m, a function from x to y in m, a table "
        f"with a shape ({', '.join(PATH_SHAPES)}), or a CurvedPath."
    )


def locate(path: Path, x: float, y: float, yaw: float) -> PathPoint:
    """Return the path coordinates of a position (m) and yaw (rad), from the nearest point of the
    path.

    Examples
    --------
    >>> locate(ConstantCurvature(), 3.0, 0.5, 0.1)
    PathPoint(parameter=3.0, offset=0.5, heading_error=0.1)
    """
    if isinstance(path, ConstantCurvature):
        return _locate_on_circle(path.value, x, y, yaw)
    s = _find_nearest_parameter(path, x, y)
    px, py, direction = path.place(s)
    offset = -math.sin(direction) * (x - px) + math.cos(direction) * (y - py)
    return PathPoint(s, offset, _wrap_angle(yaw - direction))


def _locate_on_circle(path_curvature: float, x: float, y: float, yaw: float) -> PathPoint:
    """Return the path coordinates on a circle, accurate also for a vanishing curvature (1/m)."""
    direction = math.atan2(path_curvature * x, 1.0 - path_curvature * y)
    # The distance from the centre of the circle is |(k x, 1 - k y)| / |k| with the curvature k.
    # Rationalise its difference to the radius, which avoids cancellation for small k.
    reach = math.hypot(path_curvature * x, 1.0 - path_curvature * y)
    offset = (2.0 * y - path_curvature * (x * x + y * y)) / (1.0 + reach)
    arc = direction / path_curvature if path_curvature else x
    return PathPoint(arc, offset, _wrap_angle(yaw - direction))


def _find_nearest_parameter(path: Path, x: float, y: float) -> float:
    """Return the parameter of the nearest point of a path, by a grid search and Newton's method."""

    def distance_ahead(parameter: float) -> float:
        """Return the distance (m) of the position ahead of a path point, along its tangent."""
        px, py, direction = path.place(parameter)
        return math.cos(direction) * (x - px) + math.sin(direction) * (y - py)

    if isinstance(path, CurvedPath):
        # Skip the grid search, because each position is an integral from the start of the path.
        # Initial positions are near this start.
        s = 0.0
    else:
        grid = x + np.linspace(-SEARCH_LENGTH, SEARCH_LENGTH, SEARCH_POINTS)
        places = np.array([path.place(float(s))[:2] for s in grid])
        s = float(grid[np.argmin(np.hypot(places[:, 0] - x, places[:, 1] - y))])
    for _ in range(50):
        px, py, direction = path.place(s)
        offset = -math.sin(direction) * (x - px) + math.cos(direction) * (y - py)
        bend = 1.0 - float(path.curvature(s)) * offset
        # Stop beyond the centre of curvature, because Newton's method converges to the farthest
        # point of the path there.
        if not bend > 0.0:
            break
        step = distance_ahead(s) / (bend * float(path.arc_length_rate(s)))
        s += step
        if abs(step) < 1e-13 * (1.0 + abs(s)):
            return s
    raise ParameterError(
        f"path: the start ({x:g}, {y:g}) m has no unique nearest point on the path. Start closer to it."
    )


def _wrap_angle(angle: float) -> float:
    """Return the equivalent angle (rad) between -pi and pi."""
    return angle if abs(angle) <= math.pi else (angle + math.pi) % (2.0 * math.pi) - math.pi


class Tracking(NamedTuple):
    """Path coordinates of a vehicle, from the states of a control law."""

    parameter: Scalar  # parameter of the path
    offset: Scalar  # distance from the path, m, positive to the left
    heading_error: Scalar  # heading relative to the tangent, rad, positive to the left
    rates: list[Scalar]  # time derivatives of the path coordinates
    rest: Array  # states of the control law that are not path coordinates


def path_state_names(path: Path) -> tuple[str, ...]:
    """Return the names of the path coordinates among the states of a control law.

    The parameter is a state only if the curvature varies with it; otherwise it would grow in steady
    motions, which then would not be equilibria.
    """
    return (OFFSET, HEADING_ERROR) if path.uniform else (PATH_PARAMETER, OFFSET, HEADING_ERROR)


def initial_path_states(path: Path, x: float, y: float, yaw: float, other_count: int) -> Floats:
    """Return path coordinates for a position (m) and yaw (rad), followed by zeros for other states."""
    point = locate(path, x, y, yaw)
    return np.concatenate([point[1:] if path.uniform else point, np.zeros(other_count)])


def track_path(path: Path, readings: Readings, z: Array) -> Tracking:
    """Return the path coordinates among the states z of a control law with their time derivatives,
    eq. [path-coordinates].
    """
    first = 0 if path.uniform else 1
    s = z[0] if first else 0.0
    offset = z[first]
    heading_error = z[first + 1]
    body = readings.tree.model.bodies[0].name
    velocity = readings.velocity(body, (0.0, 0.0, 0.0))
    heading = readings.heading
    along = heading[0] * velocity[0] + heading[1] * velocity[1]
    lateral = heading[0] * velocity[1] - heading[1] * velocity[0]
    c, n = cos(heading_error), sin(heading_error)
    bend = path.curvature(s)
    arc_rate = (along * c - lateral * n) / (1.0 - bend * offset)
    rates = [along * n + lateral * c, readings.yaw_rate - bend * arc_rate]
    if first:
        rates = [arc_rate / path.arc_length_rate(s), *rates]
    return Tracking(s, offset, heading_error, rates, z[first + 2 :])
