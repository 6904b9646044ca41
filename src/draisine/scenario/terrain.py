"""The ground of a scenario: what its file says, the terrain that it means, and how a machine is put
onto it.
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
from draisine.errors import DataError, ParameterError, expect_known
from draisine.mechanics.kinematics import geometry, point
from draisine.mechanics.tree import Tree
from draisine.model import Wheel
from draisine.model.quantity import number
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
    by_word,
)
from draisine.system.state import State, state_of
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
    rough,
    stairs,
)
from draisine.terrain import plane as flat
from draisine.terrain import ramp as rising
from draisine.terrain.feature import ObstacleMotion
from draisine.terrain.files import read_mesh
from draisine.terrain.motions import Shake, Slide, Turn

if TYPE_CHECKING:
    from xarray import Dataset


def _drop(value: Any) -> float:
    """Return how deep the ground falls."""
    found = number(value, "m")
    if found <= 0.0:
        raise ValueError(f"{found:g} is not greater than zero; a slope without a drop is a 'plane'")
    return found


Drop = Annotated[float, BeforeValidator(_drop), WithJsonSchema(LENGTH_SCHEMA)]
"""A length greater than zero."""


class PlaneGround(ScenarioTable):
    """A plane through (0, 0, height) that rises forward by an angle; its name is `ground`."""

    shape: Literal["plane"]
    slope: Slope = Field(0.0, description="its rise forward: '12deg', or rad")
    height: Length = Field(0.0, description="of the plane at the origin, m")

    def terrain(self) -> Terrain:
        """Return the ground in numbers."""
        return flat(self.slope, self.height)


class RampGround(ScenarioTable):
    """A ramp (`ramp`) up to its `lip` at the origin, a `wall` behind it, level ground (`low`)."""

    shape: Literal["ramp"]
    slope: Slope = Field(description="its rise forward: '12deg', or rad", examples=["10deg"])
    drop: Drop = Field(
        description="from its lip down to the level ground behind it, m", examples=[0.5]
    )

    def terrain(self) -> Terrain:
        """Return the ground in numbers."""
        return rising(self.slope, self.drop)


class KerbGround(ScenarioTable):
    """Level ground with a step: `before` and `after` it, its `edge` and `wall`."""

    shape: Literal["kerb"]
    at: Length = Field(description="where the step is, along x, m", examples=[0])
    rise: Length = Field(
        description="its height, negative where the ground falls, m", examples=[0.02]
    )

    def terrain(self) -> Terrain:
        """Return the ground in numbers."""
        return kerb(self.at, self.rise)


class StairsGround(ScenarioTable):
    """Level ground with stairs: `before` them, `tread1` and so on, with `edge1` and `wall1`."""

    shape: Literal["stairs"]
    at: Length = Field(description="where the first step is, along x, m")
    rise: Length = Field(description="the height of each, negative where they lead down, m")
    run: Positive = Field(description="the depth of each tread, m")
    count: int = Field(description="how many there are")

    def terrain(self) -> Terrain:
        """Return the ground in numbers."""
        return stairs(self.at, self.rise, self.run, self.count)


class RoughGround(ScenarioTable):
    """Level ground that is rough for a while: random heights over squares, straight in between."""

    shape: Literal["rough"]
    height: Positive = Field(description="of what is highest at most, m")
    cell: Positive = Field(0.2, description="the side of a square, m")
    at: Length = Field(1.0, description="from where on, along x, m")
    length: Positive = Field(5.0, description="how far along x, m")
    width: Positive = Field(3.0, description="how far across, m")
    seed: int = Field(0, description="a whole number that decides the heights", ge=0)

    def terrain(self) -> Terrain:
        """Return the ground in numbers."""
        return rough(self.height, self.cell, self.at, self.length, self.width, self.seed)


class CornerGround(ScenarioTable):
    """Level ground (`level`) that rises by an angle from some place on (`rise`)."""

    shape: Literal["corner"]
    angle: Slope = Field(
        description="by which the ground rises: '12deg', or rad", examples=["5deg"]
    )
    at: Length = Field(0.0, description="from where on, along x, m")

    def terrain(self) -> Terrain:
        """Return the ground in numbers."""
        return corner(self.angle, self.at)


class Border(ScenarioTable):
    """Where a face ends: it is there where normal . x <= offset."""

    normal: WorldVector
    offset: Quantity


class GroundMotion(ScenarioTable):
    """How a ground moves: a steady slide with a velocity, a shake `amplitude sin(rate t)`, or a turn
    about the vertical through a centre.
    """

    slide: WorldVector | None = None
    shake: WorldVector | None = None
    turn: Quantity | None = Field(None, description="In rad/s.")
    rate: Positive | None = Field(None, description="Of a shake, in rad/s.")
    centre: list[Length] = Field([0.0, 0.0], min_length=2, max_length=2)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum(x is not None for x in (self.slide, self.shake, self.turn)) != 1:
            raise ValueError("give one of slide, shake, turn")
        if (self.shake is None) != (self.rate is None):
            raise ValueError("a shake needs its rate, and nothing else has one")
        return self

    def motion(self) -> ObstacleMotion:
        """Return the motion as a function of time."""
        if self.slide is not None:
            return Slide(self.slide)
        if self.shake is not None and self.rate is not None:
            return Shake(self.shake, self.rate)
        return Turn(self.turn or 0.0, (self.centre[0], self.centre[1]))


def _carried(ground: Any, motion: GroundMotion | None) -> Any:
    """Return a feature or a ground as it moves; itself where it stands still."""
    return ground if motion is None else move_ground(ground, motion.motion())


class Face(ScenarioTable):
    """A plane normal . x = offset, the normal out of the ground."""

    name: Text
    normal: WorldVector
    offset: Quantity = 0.0
    borders: list[Border] = Field([])
    motion: GroundMotion | None = None

    def feature(self) -> Feature:
        """Return the face in numbers."""
        size = float(np.linalg.norm(self.normal)) or 1.0
        borders = [
            (b.normal, b.offset / (float(np.linalg.norm(b.normal)) or 1.0)) for b in self.borders
        ]
        found = face(self.name, self.normal, self.offset / size, borders)
        return cast(Feature, _carried(found, self.motion))


class Edge(ScenarioTable):
    """A convex edge from a point along a direction, between faces with two normals."""

    name: Text
    point: WorldVector
    along: WorldVector
    normals: tuple[WorldVector, WorldVector]
    length: Limit = Field(default_factory=lambda: math.inf, description="Endless if not given.")
    motion: GroundMotion | None = None

    def feature(self) -> Feature:
        """Return the edge in numbers."""
        found = edge(self.name, self.point, self.along, *self.normals, self.length)
        return cast(Feature, _carried(found, self.motion))


class FacesGround(ScenarioTable):
    """A ground of faces, and of the convex edges between them."""

    shape: Literal["faces"]
    faces: list[Face] = Field(min_length=1)
    edges: list[Edge] = Field([])

    @model_validator(mode="after")
    def _differ(self) -> Self:
        names = [f.name for f in self.faces] + [e.name for e in self.edges]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{twice[0]!r} is the name of several faces or edges")
        return self

    def terrain(self) -> Terrain:
        """Return the ground in numbers."""
        return Terrain([*(f.feature() for f in self.faces), *(e.feature() for e in self.edges)])


class MeshGround(ScenarioTable):
    """A mesh of triangles, from a file or given by its points."""

    shape: Literal["mesh"]
    file: str | None = Field(
        None, description="STL, OBJ or PLY; beside the scenario if it has no folder."
    )
    scale: Positive = Field(1.0, description="Takes the file's lengths to metres.")
    points: list[WorldVector] = Field([])
    triangles: list[tuple[int, int, int]] = Field([])
    motion: GroundMotion | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.file is None) == (not self.points or not self.triangles):
            raise ValueError("give either a file, or points and triangles")
        return self

    def terrain(self) -> Terrain:
        """Return the ground in numbers."""
        if self.file is None:
            return cast(Terrain, _carried(Mesh(self.points, self.triangles), self.motion))
        return cast(Terrain, _carried(read_mesh(self.file, self.scale), self.motion))


class HeightGround(ScenarioTable):
    """Heights over a grid: one row of `z` per x, one column per y."""

    shape: Literal["heights"]
    x: list[Length] = Field(min_length=2)
    y: list[Length] = Field(min_length=2)
    z: list[list[Length]] = Field(min_length=2)
    motion: GroundMotion | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        rows, columns = len(self.x), len(self.y)
        if len(self.z) != rows or any(len(row) != columns for row in self.z):
            raise ValueError(f"z needs {rows} rows (one per x) of {columns} heights (one per y)")
        return self

    def terrain(self) -> Terrain:
        """Return the ground in numbers."""
        return cast(Terrain, _carried(height_field(self.x, self.y, self.z), self.motion))


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
)


def _with_shape(table: Any) -> Any:
    """Return the table of a ground with its shape: that of a plane where it tells what a plane has alone."""
    if isinstance(table, dict) and table and set(table) <= {"slope", "height"}:
        return {"shape": "plane", **table}
    return table


GroundPart = Annotated[
    Annotated[AnyGround, Field(discriminator="shape")], BeforeValidator(_with_shape)
]

GROUND_TABLES = by_word(AnyGround, "shape")
"""The shapes of ground there are."""


FIRST_FACES = {
    "plane": "ground",
    "ramp": "ramp",
    "kerb": "before",
    "stairs": "before",
    "corner": "level",
}
"""The face that comes first along x, by shape; faces of others are named by whoever draws them."""


def change_shape(content: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a scenario without what only its old shape of ground has, where changes give
    it another; what started on a face of the old one starts on the first of the new one.
    """
    old, shape = content.get("terrain"), str(changes.get("terrain.shape"))
    if shape not in GROUND_TABLES or not isinstance(old, dict) or shape == old.get("shape"):
        return content
    kept = {key: value for key, value in old.items() if key in GROUND_TABLES[shape].model_fields}
    left = ", ".join(f"terrain.{key} = {old[key]!r:.40}" for key in old if key not in kept)
    if left:
        told = f"a {shape} has other measures; {left} of the {old.get('shape')} is left out."
        warnings.warn(told, UserWarning, stacklevel=3)
    _check_measures(shape, {*kept, *(path.partition(".")[2] for path in changes)})
    paths: dict[str, Any] = {"terrain": kept}
    if content.get("initial", {}).get("place", {}).get("on") and shape in FIRST_FACES:
        paths["initial.place.on"] = FIRST_FACES[shape]
    return override(content, paths)


def _check_measures(shape: str, given: Collection[str]) -> None:
    """Tell which measures of another shape are missing, by the command that gives them."""
    fields = GROUND_TABLES[shape].model_fields
    missing = {n: f for n, f in fields.items() if f.is_required() and n not in given}
    missing.pop("shape", None)
    if not missing or not all(field.examples for field in missing.values()):
        return
    told = "; ".join(
        f"terrain.{n}: is missing: {field.description}" for n, field in missing.items()
    )
    way = " ".join(f"--set terrain.{n}={(f.examples or [''])[0]}" for n, f in missing.items())
    raise DataError(f"{told}. As in --set terrain.shape={shape} {way}.")


def terrain_of(data: "Dataset") -> Terrain | None:
    """Return the ground on which a dataset was made; None where its scenario names none."""
    content = read_table_attribute(data, "scenario").get("content")
    if not isinstance(content, dict) or content.get("terrain") is None:
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(GroundPart)
    terrain: Terrain = adapter.validate_python(content["terrain"]).terrain()
    return terrain


class WheelPlace(ScenarioTable):
    """Where a machine starts: the centre of one of its wheels.

    With `on` it is first made to stand on that face, which turns it; then x and y are enough, and
    without them they stay as they were. Where no place is told, it stands on the one face of a plane.
    """

    wheel: Text | None = Field(None, description="The first one, if not given.")
    centre: list[Length] | None = Field(None, min_length=2, max_length=3)
    on: str | None = Field(None, description="A face; without, the machine is only moved.")

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if self.centre is None and self.on is None:
            raise ValueError("give a centre, x, y and z, or the face that it stands `on`")
        way = "x and y; the face decides the height"
        if self.on is None:
            way = "x, y and z, or with x and y the face that it stands `on`"
        if self.centre is not None and len(self.centre) != (3 if self.on is None else 2):
            raise ValueError(f"centre has {len(self.centre)} numbers; give {way}")
        return self


def faces_of(terrain: Terrain) -> dict[str, Feature]:
    """Return the faces of a ground by name; of a mesh none, its faces have no names of their own."""
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
    """Return a state with the machine moved as a whole: a wheel's centre, the first one's if none is
    named, to (x, y, z), or, on a face of a terrain by its name, tilted with it and set down on it at
    (x, y), or where it was. The speeds are the machine's own and stay: on a slope of the angle a, the
    output `forward_speed` is then cos(a) times that on the level.

    >>> import draisine
    >>> from draisine.terrain import ramp
    >>> bicycle, ground = draisine.compile("whipple"), ramp(-0.1, drop=0.5)
    >>> flat = draisine.state(bicycle, forward_speed=3.0)
    >>> start = draisine.place(bicycle, flat, ground, wheel="rear", centre=(-3.0, 0.0), on="ramp")
    >>> bool(abs(start.p[0] + 3.0) < 0.1)
    True
    """
    asked = WheelPlace.model_validate({"wheel": wheel, "centre": centre, "on": on})
    return place_state(system.tree, terrain, state, asked)


def start_on(
    system: System,
    values: Mapping[str, Any],
    terrain: Terrain | None,
    place: WheelPlace | None,
    **options: Any,
) -> State:
    """Return the state of a start at its place: all values are those of the outputs of their names
    there, also on a slope. `options` are those of `states`.
    """
    if terrain is None or place is None:
        return state_of(system, values, **options)
    tilt = np.eye(3) if place.on is None else _tilt(_face(terrain, place.on)[0])
    turn = None if np.array_equal(tilt, np.eye(3)) else quaternion(tilt)
    return place_state(system.tree, terrain, state_of(system, values, tilt=turn, **options), place)


def place_state(tree: Tree, terrain: Terrain, state: State, place: WheelPlace) -> State:
    """Return a state with the machine moved, as a whole, to where a scenario wants it."""
    wheels = {c.name: c for c in tree.model.wheels}
    name = place.wheel or next(iter(wheels), "")
    expect_known("no wheel", name, wheels)
    if place.on is None:
        at = np.asarray(state.p, float) - _centre(tree, wheels[name], state)
        return replace(state, p=at + place.centre)
    N, d = _face(terrain, place.on)
    tilt = _tilt(N)
    tilted = replace(
        state,
        q=np.asarray(quaternion(tilt @ rotation(state.q)), float),
        p=tilt @ np.asarray(state.p, float),
    )
    before, after = (_centre(tree, wheels[name], each)[:2] for each in (state, tilted))
    shift = np.zeros(3)
    shift[:2] = (before if place.centre is None else np.array(place.centre)) - after
    shift[2] = (d - N[:2] @ shift[:2]) / N[2]
    return replace(tilted, p=tilted.p + shift)


def _face(terrain: Terrain, name: str) -> tuple[Floats, float]:
    """Return normal and offset of a face on which a machine can stand."""
    faces = faces_of(terrain)
    expect_known("no face", name, faces)
    N, d = faces[name].numbers[:3], float(faces[name].numbers[3])
    if not N[2] > 1e-9:
        raise ParameterError(f"nothing stands on {name!r}: it does not face up.")
    return N, d


def _tilt(N: Floats) -> Floats:
    """Return the shortest turn from the vertical to a direction that points up."""
    K = hat(np.array([-N[1], N[0], 0.0]))
    return cast(Floats, np.eye(3) + K + K @ K / (1.0 + N[2]))


def _centre(tree: Tree, wheel: Wheel, state: State) -> Floats:
    """Return where a wheel's centre is in the world."""
    link, _ = tree.place[wheel.body]
    at = point(geometry(tree, state.r), link, None, tree.local(wheel.body, wheel.centre))
    return cast(Floats, np.asarray(state.p, float) + rotation(state.q) @ at.c)
