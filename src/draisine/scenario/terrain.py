"""Ground of a scenario: its tables, the terrains that they describe, and the position of the vehicle.

A vehicle is placed on a face by the rotation from the vertical to the normal of the face, followed by a
translation that puts the centre of a wheel above a given point (`place_state`). `smooth_start` places it on
smooth ground.
"""

import math
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast

import numpy as np
from pydantic import BeforeValidator, Field, TypeAdapter, WithJsonSchema, model_validator

from draisine.algebra.lie import quaternion, rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError, DataError, ParameterError, expect_known
from draisine.mechanics.kinematics import geometry, point
from draisine.mechanics.tree import Tree
from draisine.model import Wheel
from draisine.model.quantity import parse_number
from draisine.results.attributes import read_table_attribute
from draisine.scenario.expression import parse_expression
from draisine.scenario.overrides import override
from draisine.scenario.smooth_start import (
    find_place,
    find_smooth,
    place_on_smooth,
    rotation_to_normal,
)
from draisine.scenario.values import (
    LENGTH_SCHEMA,
    Length,
    Limit,
    Positive,
    Quantity,
    ScenarioTable,
    Slope,
    Text,
    WorldVector,
    tables_by_tag,
)
from draisine.system.state import State, initial_values, make_state, states
from draisine.system.system import System
from draisine.terrain import (
    Feature,
    Mesh,
    Terrain,
    corner,
    edge,
    face,
    height_field,
    kerb,
    move_ground,
    plane,
    ramp,
    road,
    rough,
    rough_road,
    stairs,
)
from draisine.terrain.feature import ObstacleMotion
from draisine.terrain.files import read_height_map, read_mesh
from draisine.terrain.motions import Shake, Slide, Turn

if TYPE_CHECKING:
    from xarray import Dataset


def _parse_drop(value: Any) -> float:
    """Convert the height of a drop to m; raise `ValueError` if it is not positive."""
    height = parse_number(value, "m")
    if height <= 0.0:
        raise ValueError(
            f"the drop {height:g} m must be greater than zero; a slope without a drop has the "
            "shape 'plane'"
        )
    return height


Drop = Annotated[float, BeforeValidator(_parse_drop), WithJsonSchema(LENGTH_SCHEMA)]
"""Type of a positive length in m, optionally written with a unit."""


class PlaneGround(ScenarioTable):
    """An inclined plane through (0, 0, height) with a slope and a camber; its face has the name `ground`."""

    shape: Literal["plane"]
    slope: Slope = Field(0.0, description="slope, positive uphill: '12deg', or rad")
    camber: Slope = Field(
        0.0, description="cross slope, positive if the ground rises to the left: '5deg', or rad"
    )
    height: Length = Field(0.0, description="height at the origin, m")

    def terrain(self) -> Terrain:
        """Build the terrain with one inclined plane."""
        return plane(self.slope, self.height, self.camber)


class RampGround(ScenarioTable):
    """A ramp (face `ramp`) up to its edge `lip` at x = 0, then a `wall` and level ground (face `low`)."""

    shape: Literal["ramp"]
    slope: Slope = Field(description="slope, positive uphill: '12deg', or rad", examples=["10deg"])
    drop: Drop = Field(
        description="height of the lip above the level ground behind it, m", examples=[0.5]
    )

    def terrain(self) -> Terrain:
        """Build the terrain of a ramp with a drop."""
        return ramp(self.slope, self.drop)


class KerbGround(ScenarioTable):
    """Level ground with one step: faces `before` and `after`, the step's `edge` and `wall`."""

    shape: Literal["kerb"]
    at: Length = Field(description="position of the step along x, m", examples=[0])
    rise: Length = Field(description="height of the step, negative downwards, m", examples=[0.02])

    def terrain(self) -> Terrain:
        """Build the terrain of a kerb."""
        return kerb(self.at, self.rise)


class StairsGround(ScenarioTable):
    """Level ground with stairs: faces `before`, `tread1` ..., with `edge1` ... and `wall1` ...."""

    shape: Literal["stairs"]
    at: Length = Field(description="position of the first step along x, m")
    rise: Length = Field(description="height of each step, negative downwards, m")
    run: Positive = Field(description="depth of each tread, m")
    count: int = Field(description="number of steps")

    def terrain(self) -> Terrain:
        """Build the terrain of stairs."""
        return stairs(self.at, self.rise, self.run, self.count)


class RoughGround(ScenarioTable):
    """Level ground with a rough patch: random heights at grid points, linearly interpolated."""

    shape: Literal["rough"]
    height: Positive = Field(description="largest height, m")
    cell: Positive = Field(0.2, description="side of a grid cell, m")
    at: Length = Field(1.0, description="start of the patch along x, m")
    length: Positive = Field(5.0, description="length of the patch along x, m")
    width: Positive = Field(3.0, description="width of the patch, m")
    seed: int = Field(0, description="seed of the random heights", ge=0)
    smooth: bool = Field(False, description="whether splines interpolate the heights")

    def terrain(self) -> Terrain:
        """Build the terrain with a rough patch."""
        sizes = (self.height, self.cell, self.at, self.length, self.width)
        return rough(*sizes, self.seed, smooth=self.smooth)


class CornerGround(ScenarioTable):
    """Level ground (face `level`), followed by a slope (face `rise`)."""

    shape: Literal["corner"]
    angle: Slope = Field(description="slope, positive uphill: '12deg', or rad", examples=["5deg"])
    at: Length = Field(0.0, description="start of the slope along x, m")

    def terrain(self) -> Terrain:
        """Build the terrain of a change of slope."""
        return corner(self.angle, self.at)


class Border(ScenarioTable):
    """A border plane of a face: the face contains points x with normal . x <= offset."""

    normal: WorldVector
    offset: Quantity


class GroundMotion(ScenarioTable):
    """Motion of the ground: constant velocity, `amplitude sin(rate t)`, or rotation about a vertical axis."""

    slide: WorldVector | None = Field(None, description="Velocity of the ground, in m/s.")
    shake: WorldVector | None = Field(None, description="Amplitude of a sinusoidal motion, in m.")
    turn: Quantity | None = Field(
        None, description="Angular velocity about a vertical axis, in rad/s."
    )
    rate: Positive | None = Field(
        None, description="Angular frequency of the sinusoidal motion `shake`, in rad/s."
    )
    centre: list[Length] = Field([0.0, 0.0], min_length=2, max_length=2)

    @model_validator(mode="after")
    def _check_one_motion(self) -> Self:
        """Check that the table specifies exactly one motion."""
        if sum(x is not None for x in (self.slide, self.shake, self.turn)) != 1:
            raise ValueError("needs one of slide, shake and turn")
        if (self.shake is None) != (self.rate is None):
            raise ValueError("a shake needs a rate, and the other motions have none")
        return self

    def motion(self) -> ObstacleMotion:
        """Return the motion of the ground as a function of time."""
        if self.slide is not None:
            return Slide(self.slide)
        if self.shake is not None and self.rate is not None:
            return Shake(self.shake, self.rate)
        return Turn(self.turn or 0.0, (self.centre[0], self.centre[1]))


def _with_motion(ground: Any, motion: GroundMotion | None) -> Any:
    """Return a ground feature or terrain with a prescribed motion, or unchanged if the motion is None."""
    return ground if motion is None else move_ground(ground, motion.motion())


class Face(ScenarioTable):
    """A planar face normal . x = offset; the normal points out of the ground."""

    name: Text
    normal: WorldVector
    offset: Quantity = 0.0
    borders: list[Border] = Field([])
    motion: GroundMotion | None = None

    def feature(self) -> Feature:
        """Build the ground feature of the face."""
        # The user's normal need not be a unit vector. A zero normal is reported by the function
        # `face`.
        size = float(np.linalg.norm(self.normal)) or 1.0
        borders = [
            (b.normal, b.offset / (float(np.linalg.norm(b.normal)) or 1.0)) for b in self.borders
        ]
        feature = face(self.name, self.normal, self.offset / size, borders)
        return cast(Feature, _with_motion(feature, self.motion))


class Edge(ScenarioTable):
    """A convex edge through a point along a direction, between faces with two normals."""

    name: Text
    point: WorldVector
    along: WorldVector
    normals: tuple[WorldVector, WorldVector]
    length: Limit = Field(default_factory=lambda: math.inf, description="Default: infinite.")
    motion: GroundMotion | None = None

    def feature(self) -> Feature:
        """Build the ground feature of the edge."""
        feature = edge(self.name, self.point, self.along, *self.normals, self.length)
        return cast(Feature, _with_motion(feature, self.motion))


class FacesGround(ScenarioTable):
    """A ground that consists of planar faces and convex edges between them."""

    shape: Literal["faces"]
    faces: list[Face] = Field(min_length=1)
    edges: list[Edge] = Field([])

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        """Check that all faces and edges have different names."""
        names = [f.name for f in self.faces] + [e.name for e in self.edges]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"several faces or edges have the name {repeated[0]!r}")
        return self

    def terrain(self) -> Terrain:
        """Build the terrain of all faces and edges."""
        return Terrain([*(f.feature() for f in self.faces), *(e.feature() for e in self.edges)])


class MeshGround(ScenarioTable):
    """A triangle mesh, from a file or from lists of points and triangles."""

    shape: Literal["mesh"]
    file: str | None = Field(
        None,
        description="STL, OBJ or PLY file with the mesh, relative to the folder of the scenario.",
    )
    scale: Positive = Field(1.0, description="Factor that converts lengths in the file to metres.")
    points: list[WorldVector] = Field([])
    triangles: list[tuple[int, int, int]] = Field([])
    motion: GroundMotion | None = None

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        """Check that the mesh comes either from a file or from points and triangles."""
        if (self.file is None) == (not self.points or not self.triangles):
            raise ValueError("the mesh needs either a file, or points and triangles")
        return self

    def terrain(self) -> Terrain:
        """Build the terrain of the triangle mesh."""
        if self.file is None:
            return cast(Terrain, _with_motion(Mesh(self.points, self.triangles), self.motion))
        return cast(Terrain, _with_motion(read_mesh(self.file, self.scale), self.motion))


class HeightGround(ScenarioTable):
    """A height field over a rectangular grid: one row of `z` per x, one column per y."""

    shape: Literal["heights"]
    x: list[Length] = Field(min_length=2)
    y: list[Length] = Field(min_length=2)
    z: list[list[Length]] = Field(min_length=2)
    smooth: bool = Field(False, description="whether splines interpolate the heights")
    motion: GroundMotion | None = None

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        """Check that the array of heights matches the grid coordinates."""
        rows = len(self.x)
        columns = len(self.y)
        if len(self.z) != rows or any(len(row) != columns for row in self.z):
            raise ValueError(f"z needs {rows} rows (one per x) of {columns} heights (one per y)")
        return self

    def terrain(self) -> Terrain:
        """Build the terrain of the height field."""
        ground = height_field(self.x, self.y, self.z, smooth=self.smooth)
        return cast(Terrain, _with_motion(ground, self.motion))


class HeightMapGround(ScenarioTable):
    """A height field from a grey-scale image: black has height zero; columns run along x, the centre of the
    image is at the origin.
    """

    shape: Literal["height_map"]
    file: str = Field(description="image (PNG), relative to the folder of the scenario")
    cell: Positive = Field(description="distance of neighbouring pixels, m")
    height: Positive = Field(description="height of white, m")
    smooth: bool = Field(False, description="whether splines interpolate the heights")
    motion: GroundMotion | None = None

    def terrain(self) -> Terrain:
        """Build the terrain of the height map."""
        ground = read_height_map(self.file, self.cell, self.height, smooth=self.smooth)
        return cast(Terrain, _with_motion(ground, self.motion))


class RoadGround(ScenarioTable):
    """A smooth road: heights at each x, one row of heights per x with one column per y, or a function of x
    (and y) between the first and the last of them.
    """

    shape: Literal["road"]
    x: list[Length] = Field(min_length=2)
    y: list[Length] | None = Field(None, min_length=2)
    z: Text | list[Length] | list[list[Length]] = Field(
        description="heights in m, or an expression: '0.02*sin(2*pi*x/1.5)'"
    )
    error: Positive = Field(
        1e-5, description="largest difference of an expression and its spline, m"
    )
    slope: Slope = Field(0.0, description="slope, positive uphill: '12deg', or rad")
    camber: Slope = Field(0.0, description="cross slope, positive if it rises to the left")
    crown: Slope = Field(0.0, description="slope from the middle down to both sides")
    motion: GroundMotion | None = None

    @model_validator(mode="after")
    def _check_heights(self) -> Self:
        """Check that the heights match the grid coordinates, or that their expression is valid."""
        if isinstance(self.z, str):
            self._function(self.z)
            return self
        columns = None if self.y is None else len(self.y)
        sizes = [len(height) if isinstance(height, list) else None for height in self.z]
        if len(sizes) != len(self.x) or any(size != columns for size in sizes):
            wanted = "one height" if columns is None else f"one row of {columns} heights"
            raise ValueError(f"z needs {wanted} for each of the {len(self.x)} x")
        return self

    def _function(self, text: str) -> Callable[..., Floats]:
        """Return the heights as a function of x, or of x and y; raise `ValueError` if it is invalid."""
        try:
            return parse_expression(text, ["x"] if self.y is None else ["x", "y"])
        except ValueError as error:
            raise ValueError(f"z: {error}") from None

    def terrain(self) -> Terrain:
        """Build the terrain of the road."""
        angles = {"slope": self.slope, "camber": self.camber, "crown": self.crown}
        heights = self._function(self.z) if isinstance(self.z, str) else self.z
        ground = road(heights, self.x, self.y, error=self.error, **angles)
        return cast(Terrain, _with_motion(ground, self.motion))


class RoughRoadGround(ScenarioTable):
    """A smooth road with the roughness of a class of ISO 8608, level before and behind it."""

    shape: Literal["rough_road"]
    grade: Literal["A", "B", "C", "D", "E", "F", "G", "H"] = Field(
        description="class of ISO 8608, from A (very good) to H", examples=["C"]
    )
    length: Positive = Field(100.0, description="length of the rough part, m")
    at: Length = Field(5.0, description="start of the rough part along x, m")
    seed: int = Field(0, description="seed of the random phases", ge=0)
    slope: Slope = Field(0.0, description="slope, positive uphill: '12deg', or rad")

    def terrain(self) -> Terrain:
        """Build the terrain of the rough road."""
        return rough_road(self.grade, self.length, self.at, self.seed, slope=self.slope)


AnyGround = (
    PlaneGround
    | RampGround
    | KerbGround
    | StairsGround
    | RoughGround
    | CornerGround
    | FacesGround
    | MeshGround
    | HeightGround
    | HeightMapGround
    | RoadGround
    | RoughRoadGround
)


def _with_default_shape(ground_table: Any) -> Any:
    """Return the table of a ground with its key `shape`; a table without it describes a plane."""
    if (
        isinstance(ground_table, dict)
        and ground_table
        and set(ground_table) <= {"slope", "camber", "height"}
    ):
        return {"shape": "plane", **ground_table}
    return ground_table


TerrainTable = Annotated[
    Annotated[AnyGround, Field(discriminator="shape")], BeforeValidator(_with_default_shape)
]

GROUND_TABLES = tables_by_tag(AnyGround, "shape")
"""Record types of grounds by the value of the key `shape`."""


FIRST_FACES = {
    "plane": "ground",
    "ramp": "ramp",
    "kerb": "before",
    "stairs": "before",
    "corner": "level",
}
"""Name of the first face along x for each ground shape; the faces of other shapes have no fixed names."""


def change_shape(content: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a scenario in which `changes` replaces the shape of the ground.

    Dimensions that the new shape does not have are left out, with a warning. A vehicle that starts on a
    named face starts on the first face of the new shape.
    """
    old = content.get("terrain")
    shape = str(changes.get("terrain.shape"))
    if shape not in GROUND_TABLES or not isinstance(old, dict) or shape == old.get("shape"):
        return content
    common = {key: value for key, value in old.items() if key in GROUND_TABLES[shape].model_fields}
    dropped = ", ".join(f"terrain.{key} = {old[key]!r:.40}" for key in old if key not in common)
    if dropped:
        text = f"The shape {shape!r} has other dimensions; {dropped} of the {old.get('shape')} is left out."
        warnings.warn(text, UserWarning, stacklevel=3)
    _check_dimensions(shape, {*common, *(path.partition(".")[2] for path in changes)})
    paths: dict[str, Any] = {"terrain": common}
    if content.get("initial", {}).get("place", {}).get("on") and shape in FIRST_FACES:
        paths["initial.place.on"] = FIRST_FACES[shape]
    return override(content, paths)


def _check_dimensions(shape: str, given_keys: Collection[str]) -> None:
    """Raise `DataError` if required dimensions of a ground shape are missing; list options to set them."""
    fields = GROUND_TABLES[shape].model_fields
    missing = {n: f for n, f in fields.items() if f.is_required() and n not in given_keys}
    missing.pop("shape", None)
    if not missing or not all(field.examples for field in missing.values()):
        return
    texts = [f"terrain.{n}: is missing: {field.description}" for n, field in missing.items()]
    options = " ".join(f"--set terrain.{n}={(f.examples or [''])[0]}" for n, f in missing.items())
    raise DataError(f"{'; '.join(texts)}. Example: --set terrain.shape={shape} {options}.")


def restore_terrain(data: "Dataset") -> Terrain | None:
    """Build the terrain of the scenario stored in a dataset; None if the scenario has no terrain."""
    content = read_table_attribute(data, "scenario").get("content")
    if not isinstance(content, dict) or content.get("terrain") is None:
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(TerrainTable)
    terrain: Terrain = adapter.validate_python(content["terrain"]).terrain()
    return terrain


class WheelPlace(ScenarioTable):
    """Initial position of a vehicle on a terrain, given by the centre of one of its wheels.

    If `on` names a face, the vehicle is tilted with the face and put on it; then only x and y of the wheel
    centre are used, and they are optional. On smooth ground, `on` is `ground` or the name of a patch, and all
    wheels are put on it. A vehicle without a place starts on the face of a plane ground.
    """

    wheel: Text | None = Field(
        None, description="Name of the wheel. Default: the first wheel of the machine."
    )
    centre: list[Length] | None = Field(None, min_length=2, max_length=3)
    on: str | None = Field(
        None,
        description="Name of the face under the wheel; without it, the machine is only translated.",
    )

    @model_validator(mode="after")
    def _check_position(self) -> Self:
        """Check that the table determines the position of the wheel centre."""
        if self.centre is None and self.on is None:
            raise ValueError(
                "the place needs the centre of a wheel as [x, y, z], or the face on which the machine "
                "starts (`on`)"
            )
        expected = "x and y; the face determines the height"
        if self.on is None:
            expected = "[x, y, z], or [x, y] with the face on which the machine starts (`on`)"
        if self.centre is not None and len(self.centre) != (3 if self.on is None else 2):
            raise ValueError(f"the centre has {len(self.centre)} numbers, but needs {expected}")
        return self


def named_faces(terrain: Terrain) -> dict[str, Feature]:
    """Return the faces of a terrain by name; faces of a mesh have no names and are left out."""
    features: tuple[Feature, ...] = getattr(terrain, "features", ())
    return {f.name: f for f in features if f.kind == "face"}


def place(
    system: System,
    state: State,
    terrain: Terrain,
    *,
    wheel: str | None = None,
    centre: tuple[float, ...] | None = None,
    on: str | None = None,
) -> State:
    """Move a vehicle rigidly to a place on a terrain and return the new state.

    The speeds do not change, because they are expressed in the frame of the base: on a slope of angle a, the
    output `forward_speed` is cos(a) times its value on level ground. On smooth ground, whose slopes may
    differ between the wheels, they change by the smallest kinetic energy with which all touching wheels stay
    in contact and slip as on level ground.

    Parameters
    ----------
    system
        Compiled vehicle.
    state
        State of the vehicle on level ground.
    terrain
        Terrain on which the vehicle is placed.
    wheel
        Name of the wheel whose centre is placed. Default: the first wheel.
    centre
        Position of the wheel centre in m: (x, y, z), or (x, y) if `on` is given. Default with `on`:
        the position in `state`, or the middle of the patch.
    on
        Name of a face. The vehicle is tilted with the face and put on it. On smooth ground "ground", or the
        name of a patch: all wheels are put on the ground, the given one above `centre`. A vehicle with more
        than three wheels touches with some of them, and none is below the ground.

    Returns
    -------
    State
        State of the vehicle at the new place.

    Raises
    ------
    ParameterError
        If the wheel or the face does not exist, or the face does not point upwards; on smooth ground, if the
        wheels find no place.

    Examples
    --------
    >>> import draisine
    >>> from draisine.terrain import ramp
    >>> bicycle = draisine.compile("whipple")
    >>> ground = ramp(-0.1, drop=0.5)
    >>> level = draisine.state(bicycle, forward_speed=3.0)
    >>> start = draisine.place(bicycle, level, ground, wheel="rear", centre=(-3.0, 0.0), on="ramp")
    >>> bool(abs(start.p[0] + 3.0) < 0.1)
    True
    """
    target = WheelPlace.model_validate({"wheel": wheel, "centre": centre, "on": on})
    return place_state(system.tree, terrain, state, target)


def start_on(
    system: System,
    values: Mapping[str, Any],
    terrain: Terrain | None,
    place: WheelPlace | None,
    **options: Any,
) -> State:
    """Return the initial state of a vehicle at a place on a terrain, with requested output values.

    `options` are those of `make_state`.
    """
    if terrain is None or place is None:
        return make_state(system, values, **options)
    turn = find_tilt(terrain, place)
    return place_state(
        system.tree, terrain, make_state(system, values, tilt=turn, **options), place
    )


def starts_on(
    system: System,
    values: Mapping[str, Floats],
    terrain: Terrain | None,
    place: WheelPlace | None,
    **options: Any,
) -> list[State]:
    """Return many initial states at a place on a terrain, see `start_on`.

    The requested output values are arrays (states,) by name. Raise `ConfigurationError` if a state is
    infeasible.
    """
    turn = None if terrain is None or place is None else find_tilt(terrain, place)
    names = {name: next(iter(initial_values({name: 0.0}, system.model))) for name in values}
    requested = {names[name]: column for name, column in values.items()}
    arrays, errors = states(system, requested, tilt=turn, **options)
    if any(errors):
        raise ConfigurationError(next(filter(None, errors)))
    columns = zip(*(arrays[name].T.copy() for name in "qprv"), strict=True)
    placed = [State(q, p, r, v) for q, p, r, v in columns]
    if terrain is None or place is None:
        return placed
    return list(map(make_placer(system.tree, terrain, place), placed))


def find_tilt(terrain: Terrain, place: WheelPlace) -> Floats | None:
    """Return the quaternion (4,) that rotates level ground to the face of a place; None if it is level."""
    tilt = np.eye(3) if place.on is None else rotation_to_normal(_ground_normal(terrain, place))
    return None if np.array_equal(tilt, np.eye(3)) else np.asarray(quaternion(tilt), float)


def place_state(tree: Tree, terrain: Terrain, state: State, place: WheelPlace) -> State:
    """Move a vehicle rigidly to the place that a scenario specifies and return the new state."""
    return make_placer(tree, terrain, place)(state)


def make_placer(tree: Tree, terrain: Terrain, place: WheelPlace) -> Callable[[State], State]:
    """Return a function that moves the vehicle of a state rigidly to a place and returns the new state."""
    wheels = {c.name: c for c in tree.model.wheels}
    name = place.wheel or next(iter(wheels), "")
    expect_known("no wheel", name, wheels)
    wheel = wheels[name]
    centres: dict[bytes, Floats] = {}  # wheel centres in the base frame, by joint coordinates

    def find_wheel_centre(state: State) -> Floats:
        """Return the world position (3,) of the wheel's centre, m."""
        key = np.asarray(state.r, float).tobytes()
        if key not in centres:
            centres[key] = _wheel_centre(tree, wheel, state.r)
        return cast(Floats, np.asarray(state.p, float) + rotation(state.q) @ centres[key])

    if place.on is None:
        return lambda state: replace(
            state, p=np.asarray(state.p, float) - find_wheel_centre(state) + place.centre
        )
    smooth = find_smooth(terrain)
    if smooth is not None:
        on = find_place(smooth, place.on, place.centre)
        return lambda state: place_on_smooth(tree, smooth, state, wheel, on)
    N, d = _find_face(terrain, place.on)
    tilt = rotation_to_normal(N)

    def place_on_face(state: State) -> State:
        """Return the state of the vehicle on the face."""
        tilted = replace(
            state,
            q=np.asarray(quaternion(tilt @ rotation(state.q)), float),
            p=tilt @ np.asarray(state.p, float),
        )
        target = find_wheel_centre(state)[:2] if place.centre is None else place.centre
        shift = np.zeros(3)
        shift[:2] = np.asarray(target) - find_wheel_centre(tilted)[:2]
        # The tilted vehicle touches the plane N . x = 0. Shift it vertically to the plane N . x = d
        # of the face.
        shift[2] = (d - N[:2] @ shift[:2]) / N[2]
        return replace(tilted, p=tilted.p + shift)

    return place_on_face


def _ground_normal(terrain: Terrain, place: WheelPlace) -> Floats:
    """Return the normal (3,) of the ground on which a vehicle is placed."""
    assert place.on is not None
    smooth = find_smooth(terrain)
    if smooth is None:
        return _find_face(terrain, place.on)[0]
    return smooth.normal(*find_place(smooth, place.on, place.centre))


def _find_face(terrain: Terrain, name: str) -> tuple[Floats, float]:
    """Return normal (3,) and offset (m) of a named face; raise `ParameterError` if it faces downwards."""
    faces = named_faces(terrain)
    expect_known("no face", name, faces)
    N = faces[name].numbers[:3]
    if not N[2] > VERTICAL_NORMAL:
        raise ParameterError(
            f"The machine cannot start on the face {name!r}, because this face does not point "
            "upwards. Choose another face."
        )
    return N, float(faces[name].numbers[3])


VERTICAL_NORMAL = 1e-9
"""Largest vertical component of the unit normal of a wall, the round-off of a horizontal normal."""


def _wheel_centre(tree: Tree, wheel: Wheel, joint_coordinates: Floats) -> Floats:
    """Return the position (3,) of a wheel's centre in the base frame, m, at joint coordinates."""
    link, _ = tree.place[wheel.body]
    centre = point(
        geometry(tree, joint_coordinates), link, None, tree.point_in_link(wheel.body, wheel.centre)
    )
    return np.asarray(centre.c, float)
