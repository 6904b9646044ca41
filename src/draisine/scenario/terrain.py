"""The ground of a scenario: its tables, the terrains that they describe, and the placing of a machine.

A machine is placed on a face by a rotation that takes the vertical to the normal of the face, and a
translation that puts the centre of a wheel above a point (`place_state`).
"""

import math
import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast

import numpy as np
from pydantic import BeforeValidator, Field, TypeAdapter, WithJsonSchema, model_validator

from draisine.algebra.lie import hat, quaternion, rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError, DataError, ParameterError, expect_known
from draisine.mechanics.kinematics import geometry, point
from draisine.mechanics.tree import Tree
from draisine.model import Wheel
from draisine.model.quantity import parse_number
from draisine.results.attributes import read_table_attribute
from draisine.scenario.overrides import override
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
from draisine.terrain.files import read_mesh
from draisine.terrain.motions import Shake, Slide, Turn

if TYPE_CHECKING:
    from xarray import Dataset


def _drop(value: Any) -> float:
    """Return the height of a drop in m; raise if it is not positive."""
    height = parse_number(value, "m")
    if height <= 0.0:
        raise ValueError(
            f"{height:g} is not greater than zero; a slope without a drop is a 'plane'"
        )
    return height


Drop = Annotated[float, BeforeValidator(_drop), WithJsonSchema(LENGTH_SCHEMA)]
"""A positive length in m, or with a unit."""


class PlaneGround(ScenarioTable):
    """A plane through (0, 0, height) with a slope and a camber; its face is `ground`."""

    shape: Literal["plane"]
    slope: Slope = Field(0.0, description="slope, positive uphill: '12deg', or rad")
    camber: Slope = Field(
        0.0, description="cross slope, positive if the ground rises to the left: '5deg', or rad"
    )
    height: Length = Field(0.0, description="height at the origin, m")

    def terrain(self) -> Terrain:
        """Return the terrain."""
        return plane(self.slope, self.height, self.camber)


class RampGround(ScenarioTable):
    """A ramp (`ramp`) up to its `lip` at the origin, then a `wall` and level ground (`low`)."""

    shape: Literal["ramp"]
    slope: Slope = Field(description="slope, positive uphill: '12deg', or rad", examples=["10deg"])
    drop: Drop = Field(
        description="height of the lip above the level ground behind it, m", examples=[0.5]
    )

    def terrain(self) -> Terrain:
        """Return the terrain."""
        return ramp(self.slope, self.drop)


class KerbGround(ScenarioTable):
    """Level ground with a step: faces `before` and `after`, its `edge` and `wall`."""

    shape: Literal["kerb"]
    at: Length = Field(description="position of the step along x, m", examples=[0])
    rise: Length = Field(description="height of the step, negative downwards, m", examples=[0.02])

    def terrain(self) -> Terrain:
        """Return the terrain."""
        return kerb(self.at, self.rise)


class StairsGround(ScenarioTable):
    """Level ground with stairs: faces `before`, `tread1` ..., with `edge1` ... and `wall1` ..."""

    shape: Literal["stairs"]
    at: Length = Field(description="position of the first step along x, m")
    rise: Length = Field(description="height of each step, negative downwards, m")
    run: Positive = Field(description="depth of each tread, m")
    count: int = Field(description="number of steps")

    def terrain(self) -> Terrain:
        """Return the terrain."""
        return stairs(self.at, self.rise, self.run, self.count)


class RoughGround(ScenarioTable):
    """Level ground with a rough patch: random heights at grid points, linear in between."""

    shape: Literal["rough"]
    height: Positive = Field(description="largest height, m")
    cell: Positive = Field(0.2, description="side of a grid cell, m")
    at: Length = Field(1.0, description="start of the patch along x, m")
    length: Positive = Field(5.0, description="length of the patch along x, m")
    width: Positive = Field(3.0, description="width of the patch, m")
    seed: int = Field(0, description="seed of the random heights", ge=0)
    smooth: bool = Field(False, description="whether splines interpolate the heights")

    def terrain(self) -> Terrain:
        """Return the terrain."""
        sizes = (self.height, self.cell, self.at, self.length, self.width)
        return rough(*sizes, self.seed, smooth=self.smooth)


class CornerGround(ScenarioTable):
    """Level ground (`level`), followed by a slope (`rise`)."""

    shape: Literal["corner"]
    angle: Slope = Field(description="slope, positive uphill: '12deg', or rad", examples=["5deg"])
    at: Length = Field(0.0, description="start of the slope along x, m")

    def terrain(self) -> Terrain:
        """Return the terrain."""
        return corner(self.angle, self.at)


class Border(ScenarioTable):
    """A border of a face, which consists of points with normal . x <= offset."""

    normal: WorldVector
    offset: Quantity


class GroundMotion(ScenarioTable):
    """The motion of a ground: constant velocity, `amplitude sin(rate t)`, or rotation about a vertical."""

    slide: WorldVector | None = Field(None, description="Velocity, in m/s.")
    shake: WorldVector | None = Field(None, description="Amplitude, in m.")
    turn: Quantity | None = Field(None, description="Angular velocity, in rad/s.")
    rate: Positive | None = Field(None, description="Angular frequency of a shake, in rad/s.")
    centre: list[Length] = Field([0.0, 0.0], min_length=2, max_length=2)

    @model_validator(mode="after")
    def _check_one_motion(self) -> Self:
        if sum(x is not None for x in (self.slide, self.shake, self.turn)) != 1:
            raise ValueError("needs one of slide, shake and turn")
        if (self.shake is None) != (self.rate is None):
            raise ValueError("needs a rate with a shake, and only then")
        return self

    def motion(self) -> ObstacleMotion:
        """Return the motion as a function of time."""
        if self.slide is not None:
            return Slide(self.slide)
        if self.shake is not None and self.rate is not None:
            return Shake(self.shake, self.rate)
        return Turn(self.turn or 0.0, (self.centre[0], self.centre[1]))


def _with_motion(ground: Any, motion: GroundMotion | None) -> Any:
    """Return a feature or a terrain with its motion, or itself if it does not move."""
    return ground if motion is None else move_ground(ground, motion.motion())


class Face(ScenarioTable):
    """A face in the plane normal . x = offset; the normal points out of the ground."""

    name: Text
    normal: WorldVector
    offset: Quantity = 0.0
    borders: list[Border] = Field([])
    motion: GroundMotion | None = None

    def feature(self) -> Feature:
        """Return the face as a feature."""
        # Normals need not be unit vectors; a zero normal is reported by `face`.
        size = float(np.linalg.norm(self.normal)) or 1.0
        borders = [
            (b.normal, b.offset / (float(np.linalg.norm(b.normal)) or 1.0)) for b in self.borders
        ]
        feature = face(self.name, self.normal, self.offset / size, borders)
        return cast(Feature, _with_motion(feature, self.motion))


class Edge(ScenarioTable):
    """A convex edge from a point along a direction, between faces with two normals."""

    name: Text
    point: WorldVector
    along: WorldVector
    normals: tuple[WorldVector, WorldVector]
    length: Limit = Field(default_factory=lambda: math.inf, description="Default: infinite.")
    motion: GroundMotion | None = None

    def feature(self) -> Feature:
        """Return the edge as a feature."""
        feature = edge(self.name, self.point, self.along, *self.normals, self.length)
        return cast(Feature, _with_motion(feature, self.motion))


class FacesGround(ScenarioTable):
    """A ground of faces and convex edges between them."""

    shape: Literal["faces"]
    faces: list[Face] = Field(min_length=1)
    edges: list[Edge] = Field([])

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        names = [f.name for f in self.faces] + [e.name for e in self.edges]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"has several faces or edges with the name {repeated[0]!r}")
        return self

    def terrain(self) -> Terrain:
        """Return the terrain."""
        return Terrain([*(f.feature() for f in self.faces), *(e.feature() for e in self.edges)])


class MeshGround(ScenarioTable):
    """A mesh of triangles, from a file or from points."""

    shape: Literal["mesh"]
    file: str | None = Field(
        None, description="STL, OBJ or PLY file, relative to the folder of the scenario."
    )
    scale: Positive = Field(1.0, description="Factor from the lengths of the file to metres.")
    points: list[WorldVector] = Field([])
    triangles: list[tuple[int, int, int]] = Field([])
    motion: GroundMotion | None = None

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if (self.file is None) == (not self.points or not self.triangles):
            raise ValueError("needs either a file, or points and triangles")
        return self

    def terrain(self) -> Terrain:
        """Return the terrain."""
        if self.file is None:
            return cast(Terrain, _with_motion(Mesh(self.points, self.triangles), self.motion))
        return cast(Terrain, _with_motion(read_mesh(self.file, self.scale), self.motion))


class HeightGround(ScenarioTable):
    """Heights over a grid: one row of `z` per x, one column per y."""

    shape: Literal["heights"]
    x: list[Length] = Field(min_length=2)
    y: list[Length] = Field(min_length=2)
    z: list[list[Length]] = Field(min_length=2)
    smooth: bool = Field(False, description="whether splines interpolate the heights")
    motion: GroundMotion | None = None

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        rows = len(self.x)
        columns = len(self.y)
        if len(self.z) != rows or any(len(row) != columns for row in self.z):
            raise ValueError(f"z needs {rows} rows (one per x) of {columns} heights (one per y)")
        return self

    def terrain(self) -> Terrain:
        """Return the terrain."""
        ground = height_field(self.x, self.y, self.z, smooth=self.smooth)
        return cast(Terrain, _with_motion(ground, self.motion))


class RoadGround(ScenarioTable):
    """A smooth road through heights along x: one per x, or one row per x with one column per y."""

    shape: Literal["road"]
    x: list[Length] = Field(min_length=2)
    y: list[Length] | None = Field(None, min_length=2)
    z: list[Length] | list[list[Length]] = Field(min_length=2)
    slope: Slope = Field(0.0, description="slope, positive uphill: '12deg', or rad")
    camber: Slope = Field(0.0, description="cross slope, positive if it rises to the left")
    crown: Slope = Field(0.0, description="slope from the middle down to both sides")
    motion: GroundMotion | None = None

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        columns = None if self.y is None else len(self.y)
        sizes = [len(height) if isinstance(height, list) else None for height in self.z]
        if len(sizes) != len(self.x) or any(size != columns for size in sizes):
            wanted = "one height" if columns is None else f"one row of {columns} heights"
            raise ValueError(f"z needs {wanted} for each of the {len(self.x)} x")
        return self

    def terrain(self) -> Terrain:
        """Return the terrain."""
        angles = {"slope": self.slope, "camber": self.camber, "crown": self.crown}
        return cast(Terrain, _with_motion(road(self.z, self.x, self.y, **angles), self.motion))


class RoughRoadGround(ScenarioTable):
    """A smooth road with the roughness of a class of ISO 8608, level before and behind it."""

    shape: Literal["rough_road"]
    grade: Literal["A", "B", "C", "D", "E", "F", "G", "H"] = Field(
        description="class of ISO 8608, from A (very good) to H", examples=["C"]
    )
    length: Positive = Field(100.0, description="length of the rough part, m")
    at: Length = Field(5.0, description="start of the rough part along x, m")
    seed: int = Field(0, description="seed of the random phases", ge=0)

    def terrain(self) -> Terrain:
        """Return the terrain."""
        return rough_road(self.grade, self.length, self.at, self.seed)


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
    | RoadGround
    | RoughRoadGround
)


def _with_shape(table: Any) -> Any:
    """Return the table of a ground with a shape; slope, camber and height alone describe a plane."""
    if isinstance(table, dict) and table and set(table) <= {"slope", "camber", "height"}:
        return {"shape": "plane", **table}
    return table


GroundPart = Annotated[
    Annotated[AnyGround, Field(discriminator="shape")], BeforeValidator(_with_shape)
]

GROUND_TABLES = tables_by_tag(AnyGround, "shape")
"""The tables of grounds by shape."""


FIRST_FACES = {
    "plane": "ground",
    "ramp": "ramp",
    "kerb": "before",
    "stairs": "before",
    "corner": "level",
}
"""The first face along x by shape; other shapes have faces with names of the user, or none."""


def change_shape(content: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a scenario whose ground gets another shape.

    Dimensions that the new shape does not have are left out, with a warning. A machine that starts on a
    face starts on the first face of the new shape.
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


def _check_dimensions(shape: str, given: Collection[str]) -> None:
    """Raise if required dimensions of a shape are missing, with the options that set them."""
    fields = GROUND_TABLES[shape].model_fields
    missing = {n: f for n, f in fields.items() if f.is_required() and n not in given}
    missing.pop("shape", None)
    if not missing or not all(field.examples for field in missing.values()):
        return
    texts = [f"terrain.{n}: is missing: {field.description}" for n, field in missing.items()]
    options = " ".join(f"--set terrain.{n}={(f.examples or [''])[0]}" for n, f in missing.items())
    raise DataError(f"{'; '.join(texts)}. Example: --set terrain.shape={shape} {options}.")


def terrain_of(data: "Dataset") -> Terrain | None:
    """Return the terrain of the scenario of a dataset, or None."""
    content = read_table_attribute(data, "scenario").get("content")
    if not isinstance(content, dict) or content.get("terrain") is None:
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(GroundPart)
    terrain: Terrain = adapter.validate_python(content["terrain"]).terrain()
    return terrain


class WheelPlace(ScenarioTable):
    """The place of a machine at the start: the centre of one of its wheels.

    With `on` the machine is tilted and set on that face; then x and y suffice, and by default they do not
    change. Without a place, a machine starts on the face of a plane.
    """

    wheel: Text | None = Field(None, description="Default: the first one.")
    centre: list[Length] | None = Field(None, min_length=2, max_length=3)
    on: str | None = Field(None, description="A face; without it, the machine is only translated.")

    @model_validator(mode="after")
    def _check_position(self) -> Self:
        if self.centre is None and self.on is None:
            raise ValueError("needs a centre with x, y and z, or the face `on` which it starts")
        expected = "x and y; the face determines the height"
        if self.on is None:
            expected = "x, y and z, or x and y with the face `on` which it starts"
        if self.centre is not None and len(self.centre) != (3 if self.on is None else 2):
            raise ValueError(f"has a centre of {len(self.centre)} numbers; give {expected}")
        return self


def faces_of(terrain: Terrain) -> dict[str, Feature]:
    """Return the faces of a terrain by name; those of a mesh have no names and are left out."""
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
    """Return a state with the machine moved rigidly to a place on a terrain.

    The speeds do not change, because they refer to the frame of the base: on a slope of angle a, the
    output `forward_speed` is cos(a) times that on level ground.

    Parameters
    ----------
    system
        The machine.
    state
        A state on level ground.
    terrain
        The terrain.
    wheel
        The wheel whose centre is placed. Default: the first one.
    centre
        Position of its centre in m: (x, y, z), or (x, y) if `on` is given. Default with `on`: its
        position in `state`.
    on
        Name of a face; the machine is tilted with it and set on it.

    Returns
    -------
    State
        The placed state.

    Raises
    ------
    ParameterError
        If the wheel or the face does not exist, or the face does not point upwards.

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
    """Return the initial state at a place, at which all outputs have their requested values.

    `options` are those of `make_state`.
    """
    if terrain is None or place is None:
        return make_state(system, values, **options)
    turn = tilt_of(terrain, place)
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
    """Return many initial states at a place, as `start_on` does, from columns of values by name; raise
    `ConfigurationError` if one does not exist.
    """
    turn = None if terrain is None or place is None else tilt_of(terrain, place)
    names = {name: next(iter(initial_values({name: 0.0}, system.model))) for name in values}
    requested = {names[name]: column for name, column in values.items()}
    arrays, errors = states(system, requested, tilt=turn, **options)
    if any(errors):
        raise ConfigurationError(next(filter(None, errors)))
    columns = zip(*(arrays[name].T.copy() for name in "qprv"), strict=True)
    found = [State(q, p, r, v) for q, p, r, v in columns]
    if terrain is None or place is None:
        return found
    return [place_state(system.tree, terrain, state, place) for state in found]


def tilt_of(terrain: Terrain, place: WheelPlace) -> Floats | None:
    """Return the quaternion that turns level ground onto the face of a place; None if it is level."""
    tilt = np.eye(3) if place.on is None else _tilt(_face(terrain, place.on)[0])
    return None if np.array_equal(tilt, np.eye(3)) else np.asarray(quaternion(tilt), float)


def place_state(tree: Tree, terrain: Terrain, state: State, place: WheelPlace) -> State:
    """Return a state with the machine moved rigidly to a place of a scenario."""
    wheels = {c.name: c for c in tree.model.wheels}
    name = place.wheel or next(iter(wheels), "")
    expect_known("no wheel", name, wheels)
    if place.on is None:
        offset = np.asarray(state.p, float) - _centre(tree, wheels[name], state)
        return replace(state, p=offset + place.centre)
    N, d = _face(terrain, place.on)
    tilt = _tilt(N)
    tilted = replace(
        state,
        q=np.asarray(quaternion(tilt @ rotation(state.q)), float),
        p=tilt @ np.asarray(state.p, float),
    )
    target = _centre(tree, wheels[name], state)[:2] if place.centre is None else place.centre
    shift = np.zeros(3)
    shift[:2] = np.asarray(target) - _centre(tree, wheels[name], tilted)[:2]
    # The tilted machine touches the plane N . x = 0; the shift takes it to N . x = d.
    shift[2] = (d - N[:2] @ shift[:2]) / N[2]
    return replace(tilted, p=tilted.p + shift)


def _face(terrain: Terrain, name: str) -> tuple[Floats, float]:
    """Return normal (3) and offset (m) of a face; raise if it does not point upwards."""
    faces = faces_of(terrain)
    expect_known("no face", name, faces)
    N = faces[name].numbers[:3]
    if not N[2] > VERTICAL_NORMAL:
        raise ParameterError(
            f"A machine cannot start on {name!r}: the face does not point upwards."
        )
    return N, float(faces[name].numbers[3])


VERTICAL_NORMAL = 1e-9
"""A normal with a smaller vertical component belongs to a wall: rounding of a horizontal normal."""


def _tilt(N: Floats) -> Floats:
    """Return the rotation (3, 3) by the smallest angle from the vertical to a unit vector N (3)."""
    K = hat(np.array([-N[1], N[0], 0.0]))
    return cast(Floats, np.eye(3) + K + K @ K / (1.0 + N[2]))


def _centre(tree: Tree, wheel: Wheel, state: State) -> Floats:
    """Return the position (3) of a wheel's centre in the world, in m."""
    link, _ = tree.place[wheel.body]
    centre = point(geometry(tree, state.r), link, None, tree.local(wheel.body, wheel.centre))
    return cast(Floats, np.asarray(state.p, float) + rotation(state.q) @ centre.c)
