"""Meshes and height fields: their features, and the cost of a query."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.errors import DataError, ParameterError, TerrainError
from draisine.terrain import (
    Joined,
    Mesh,
    Terrain,
    edge,
    face,
    height_field,
    kerb,
    move_ground,
    plane,
)
from draisine.terrain.files import read_mesh
from draisine.terrain.motions import Slide

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
SIDES = [
    [0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3],
]  # fmt: skip


def cube():
    return [t for a, b, c, d in SIDES for t in ([a, b, c], [a, c, d])]


def test_a_cube_has_six_faces_twelve_edges_eight_corners():
    box = Mesh(CUBE, cube())
    assert (box.faces, len(box.convex), len(box.corners)) == (6, 12, 8)
    assert len(box) == 26
    for k in range(6):
        numbers = box[k].numbers
        assert abs(numbers[:3] @ np.full(3, 0.5) - numbers[3]) == pytest.approx(0.5)
        assert numbers[:3] @ np.full(3, 0.5) < numbers[3]


def test_an_edge_counts_within_its_cone_and_ends():
    step = kerb(1.0, -0.2)
    rim = next(f for f in step.features if f.kind == "edge")
    at = np.array([1.0, 0.0, 0.0])
    assert rim.excess(at, np.array([1.0, 0.0, 1.0]) / np.sqrt(2)) < 0
    assert rim.excess(at, np.array([-0.1, 0.0, 1.0])) > 0
    short = edge("e", (0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0), length=1.0)
    up = np.array([0.5, 0.0, 0.5])
    assert short.excess(np.array([0.0, 0.5, 0.0]), up) < 0
    assert short.excess(np.array([0.0, 1.5, 0.0]), up) == pytest.approx(0.5)


def _corner(ground, place):
    at = np.flatnonzero((ground.points[ground.corners] == place).all(axis=1))[0]
    return ground[ground.faces + len(ground.convex) + int(at)]


def test_a_vertex_counts_where_it_is_highest():
    """Its cone has the directions along which no point of the surface around it is higher."""
    corner = _corner(Mesh(CUBE, cube()), (1, 1, 1))
    rng = np.random.default_rng(0)
    for N in rng.normal(size=(50, 3)):
        assert (corner.excess(np.ones(3), N / np.linalg.norm(N)) <= 0) == (N > 0).all()
    x = np.arange(3.0)
    for _ in range(20):
        ground = height_field(x, x, rng.normal(size=(3, 3)))
        middle = np.array([1.0, 1.0, ground.points[ground.points[:, :2].sum(axis=1) == 2][1, 2]])
        if not (ground.points[ground.corners] == middle).all(axis=1).any():
            continue
        top = _corner(ground, middle)
        around = ground.triangles[(ground.points[ground.triangles] == middle).all(-1).any(-1)]
        others = ground.points[np.unique(around)] - middle
        for N in rng.normal(size=(30, 3)) + [0, 0, 1]:
            N = N / np.linalg.norm(N)
            assert (top.excess(middle, N) <= 0) == ((others @ N).max() <= 0)


def test_a_sheet_has_one_side_at_its_corners_too():
    sheet = height_field([0, 1], [0, 1], np.zeros((2, 2)))
    corner = _corner(sheet, (1, 1, 0))
    out = np.array([1.0, 1.0, 0.0])
    assert corner.excess(np.zeros(3), out + [0, 0, 0.5]) <= 0
    assert corner.excess(np.zeros(3), out - [0, 0, 0.5]) > 0


def test_several_grounds_are_one():
    road = plane()
    box = Mesh(CUBE, cube())
    both = Joined(road, move_ground(box, Slide((2.0, 0.0, 0.0))))
    assert len(both) == 27 and both.kinds == {"face", "edge", "vertex"}
    assert both[0].name == "ground" and both[0].motion is None
    assert both[26].kind == "vertex" and both[26].motion == both.motions[0]
    away = np.array([11.0, 0.5, 0.5])
    assert both.near(away, 0.6) == [0]
    inner = np.array([1.0, 0.5, 0.5])
    assert both.near(away, 0.6, t=5.0) == [0, *(1 + k for k in box.near(inner, 0.6))]


def test_only_terrains_are_joined():
    with pytest.raises(TerrainError, match=r"Joined: .* is not a terrain. Pass grounds one by one"):
        Joined([Mesh(np.eye(3), [(0, 1, 2)])])


def test_flat_ground_is_one_face_without_inner_edges():
    ground = height_field(np.linspace(0, 4, 9), np.linspace(0, 3, 7), np.full((9, 7), 0.25))
    assert ground.faces == 1
    assert ground[0].numbers[:4] == pytest.approx([0, 0, 1, 0.25])
    rims = [ground[k] for k in range(1, 1 + len(ground.convex))]
    for rim in rims:
        x, y, _ = rim.numbers[:3]
        assert x in (0.0, 4.0) or y in (0.0, 3.0)


def test_a_ridge_is_convex_and_a_valley_is_not():
    x = np.array([0.0, 1.0, 2.0])
    y = np.array([0.0, 1.0])
    ridge = height_field(x, y, np.array([[0, 0], [1, 1], [0, 0]]))
    valley = height_field(x, y, np.array([[1, 1], [0, 0], [1, 1]]))
    inner = [k for k in ridge.convex if ridge.right[k] >= 0]
    assert len(inner) == 1
    assert_allclose(ridge.points[ridge.ends[inner[0]]][:, 0], 1.0)
    assert not [k for k in valley.convex if valley.right[k] >= 0]


def test_a_hollow_patch_is_not_taken_for_a_convex_face():
    """An L of three squares: its triangles stay on their own, all in one plane."""
    x = np.array([0.0, 1.0, 2.0])
    y = np.array([0.0, 1.0, 2.0])
    z = np.zeros((3, 3))
    z[2, 2] = 1.0
    ground = height_field(x, y, z)
    inside = [k for k in range(ground.faces) if abs(ground[k].numbers[2]) == 1]
    probe = np.array([1.6, 1.7, 0.0])
    assert all(ground[k].excess(probe, np.array([0, 0, 1.0])) > 0 for k in inside)


def test_nearby_features_are_found_and_far_ones_are_not():
    rng = np.random.default_rng(3)
    x = np.linspace(0, 10, 41)
    y = np.linspace(-5, 5, 41)
    ground = height_field(x, y, 0.2 * rng.normal(size=(41, 41)))
    low, high = ground._boxes
    for _ in range(50):
        centre = np.array([rng.uniform(0, 10), rng.uniform(-5, 5), rng.normal()])
        reach = rng.uniform(0.05, 1.0)
        margin = rng.choice([0.0, rng.uniform(0.0, 0.5)])
        nearest = np.clip(centre, low - margin, high + margin)
        wanted = ground.face_of[np.linalg.norm(nearest - centre, axis=1) <= reach]
        found = ground.near(centre, reach, margin=margin)
        assert {k for k in found if k < ground.faces} == set(wanted.tolist())


def test_a_query_finds_as_little_on_a_large_mesh():
    """The features within reach do not depend on the rest of the mesh; `bench/terrain.py` takes the time."""

    def found(n):
        x = 0.1 * (np.arange(n) - n // 2)
        ground = height_field(x, x, 0.01 * np.sin(7.0 * x[:, None]) * np.cos(5.0 * x))
        return len(ground.near(np.array([0.01, 0.02, 0.0]), 0.3))

    assert found(12) == found(250)


@pytest.mark.parametrize(
    ("points", "triangles", "why"),
    [
        (np.eye(3), [[0, 1, 1]], "area"),
        (np.eye(3), [[0, 1, 7]], "A triangle has the point 7"),
        (np.eye(3)[:, :2], [[0, 1, 2]], "of finite numbers"),
        (CUBE, [[0, 1, 3], [0, 1, 2], [0, 1, 7]], "more than two"),
        (CUBE, [[0, 1, 3], [0, 1, 2]], "orient"),
    ],
)
def test_wrong_meshes_say_why(points, triangles, why):
    with pytest.raises(TerrainError, match=why):
        Mesh(points, triangles)


def test_wrong_features_say_why():
    with pytest.raises(ParameterError, match="direction"):
        face("f", (0, 0, 0), 0.0)
    with pytest.raises(ParameterError, match="parallel"):
        edge("e", (0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 1))
    with pytest.raises(TerrainError, match="ascend"):
        height_field([0, 0], [0, 1], np.zeros((2, 2)))
    with pytest.raises(TerrainError, match="do not match"):
        height_field([0, 1, 2], [0, 1], np.zeros((2, 2)))
    with pytest.raises(ParameterError, match="other than zero"):
        kerb(1.0, 0.0)


def test_infinite_planes_are_always_near():
    assert plane().near(np.array([1e6, 0, 0]), 0.1) == [0]
    assert isinstance(plane(0.1), Terrain)


def _write(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_files_give_the_same_mesh(tmp_path):
    T = np.array(cube())
    corners = CUBE[T].astype("<f4")
    binary = bytes(80) + len(T).to_bytes(4, "little")
    for t in corners:
        binary += bytes(12) + t.tobytes() + bytes(2)
    text = "solid\n" + "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in t)
        + "endloop\nendfacet\n"
        for t in corners
    )
    obj = "".join(f"v {x} {y} {z}\n" for x, y, z in CUBE)
    obj += "".join("f " + " ".join(f"{k + 1}//1" for k in side) + "\n" for side in SIDES)
    head = (
        "ply\nformat {}\nelement vertex 8\nproperty float x\nproperty float y\n"
        "property float z\nelement face 6\nproperty list uchar int vertex_indices\nend_header\n"
    )
    ply = head.format("ascii 1.0") + "".join(f"{x} {y} {z}\n" for x, y, z in CUBE)
    ply += "".join("4 " + " ".join(map(str, side)) + "\n" for side in SIDES)
    packed = head.format("binary_big_endian 1.0").encode() + CUBE.astype(">f4").tobytes()
    for side in SIDES:
        packed += bytes([4]) + np.array(side, ">i4").tobytes()
    files = {
        "a.stl": binary, "b.stl": text.encode(), "c.obj": obj.encode(), "d.ply": ply.encode(),
        "e.ply": packed, "f.ply": ply.replace("\n", "\r\n").encode(),
    }  # fmt: skip
    for name, data in files.items():
        box = read_mesh(_write(tmp_path, name, data), scale=2.0)
        assert (box.faces, len(box.convex)) == (6, 12), name
        assert box.points.max() == 2.0


def test_damaged_files_say_so(tmp_path):
    for name, data in {
        "a.stl": b"solid\nvertex 0 0 0\n",
        "b.obj": b"v 0 0 0\n",
        "c.ply": b"x",
        "d.ply": b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n",
    }.items():
        with pytest.raises(DataError):
            read_mesh(_write(tmp_path, name, data))
    with pytest.raises(DataError, match="unknown mesh format"):
        read_mesh(tmp_path / "a.txt")


def test_polygons_of_all_sizes_in_one_file(tmp_path):
    """A strip of triangles and quadrangles by turns is two triangles for each three of its corners."""
    n = 200
    points = [(k, y, 0.1 * k * k) for k in range(n) for y in (0.0, 1.0)]
    rings = []
    for k in range(n - 1):
        a = 2 * k
        b = 2 * k + 2
        c = 2 * k + 3
        d = 2 * k + 1
        rings += [[a, b, c, d]] if k % 2 else [[a, b, c], [a, c, d]]
    head = (
        f"ply\nformat {{}}\nelement vertex {len(points)}\nproperty double x\nproperty double y\n"
        f"property double z\nelement face {len(rings)}\nproperty uchar colour\n"
        "property list uchar int vertex_index\nend_header\n"
    )
    text = head.format("ascii 1.0") + "".join(f"{x} {y} {z}\n" for x, y, z in points)
    text += "".join(f"7 {len(r)} " + " ".join(map(str, r)) + "\n" for r in rings)
    packed = head.format("binary_little_endian 1.0").encode() + np.array(points, "<f8").tobytes()
    for ring in rings:
        packed += bytes([7, len(ring)]) + np.array(ring, "<i4").tobytes()
    for name, data in (("a.ply", text.encode()), ("b.ply", packed)):
        ground = read_mesh(_write(tmp_path, name, data))
        assert len(ground.triangles) == 2 * (n - 1)
        areas = np.linalg.norm(
            np.cross(*np.diff(ground.points[ground.triangles], axis=1).swapaxes(0, 1)), axis=1
        )
        slopes = np.hypot(1.0, 0.1 * (2 * np.arange(n - 1) + 1))
        assert areas.sum() / 2 == pytest.approx(slopes.sum(), rel=1e-12)


def test_other_formats_are_read_by_trimesh(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.Trimesh(CUBE * [1, 2, 3], cube(), process=False)
    (tmp_path / "a.off").write_text(box.export(file_type="off"))
    assert read_mesh(tmp_path / "a.off").points.max(axis=0) == pytest.approx([1, 2, 3])
    (tmp_path / "a.glb").write_bytes(box.export(file_type="glb"))
    up = read_mesh(tmp_path / "a.glb")  # what is up there, y, is z here
    assert (up.faces, len(up.convex), len(up.corners)) == (6, 12, 8)
    assert np.ptp(up.points, axis=0) == pytest.approx([1, 3, 2])
    assert up.points[:, 2].min() == 0.0
    for name, data in (
        ("b.glb", b"glTF"),
        ("b.off", b"OFF\n3 1"),
        ("c.gltf", b"{}"),
        ("d.off", b""),
    ):
        with pytest.raises(DataError, match=rf"{name}.+\w"):
            read_mesh(_write(tmp_path, name, data))


def test_error_without_trimesh_names_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(DataError, match=r"a\.off: this format needs trimesh.+draisine\[meshes\]"):
        read_mesh(_write(tmp_path, "a.off", b"OFF"))


def test_bends_that_add_up_stay():
    """Each by 4e-8 rad, a patch of them is off its plane by micrometres: faces hold their points."""
    x = np.arange(0.0, 21.0)
    y = np.array([-1.0, 1.0])
    ground = height_field(x, y, np.column_stack([2e-8 * x**2] * 2))
    planes = [one.numbers for one in ground if one.kind == "face"]
    off = np.min([np.abs(ground.points @ one[:3] - one[3]) for one in planes], axis=0)
    assert off.max() < 1e-10
    with pytest.raises(IndexError, match="of"):
        ground[len(ground)]
