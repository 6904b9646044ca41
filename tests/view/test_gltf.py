"""A scene of glTF, read back, moves as the run did."""

import io
import json
import struct

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.algebra.lie import rotation
from draisine.errors import DataError, ParameterError
from draisine.results.bodies import Bodies, restore_model
from draisine.terrain import ramp
from draisine.view.gltf import write_gltf


@pytest.fixture(scope="module")
def run():
    disc = draisine.compile("rolling_disc")
    start = draisine.state(disc, forward_speed=2.0, yaw_rate=1.0, lean=0.1)
    return draisine.simulate(disc, start, 1.0).to_xarray()


def unpack(data):
    """Return the lists of a .glb file, and a function that gives the numbers of an accessor."""
    magic, version, length = struct.unpack("<4sII", data[:12])
    assert (magic, version, length) == (b"glTF", 2, len(data))
    size, kind = struct.unpack("<I4s", data[12:20])
    assert kind == b"JSON" and size % 4 == 0
    root = json.loads(data[20 : 20 + size])
    rest = data[20 + size :]
    size, kind = struct.unpack("<I4s", rest[:8])
    assert kind == b"BIN\0" and size % 4 == 0 and len(rest) == 8 + size

    def numbers(k):
        entry = root["accessors"][k]
        view = root["bufferViews"][entry["bufferView"]]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[entry["type"]]
        kind = {5126: "<f4", 5125: "<u4"}[entry["componentType"]]
        raw = rest[8 + view["byteOffset"] :][: view["byteLength"]]
        values = np.frombuffer(raw, kind).reshape(-1, width)
        assert len(values) == entry["count"]
        assert_allclose(values.min(axis=0), entry["min"])
        return values

    return root, numbers


def test_bodies_move_as_in_the_run(run):
    root, numbers = unpack(write_gltf(run))
    (animation,) = root["animations"]
    bodies = Bodies(run, restore_model(run))
    checked = 0
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        target = channel["target"]
        time = numbers(sampler["input"])[:, 0]
        values = numbers(sampler["output"])
        assert (np.diff(time) > 0).all()
        body = bodies.motions[root["nodes"][target["node"]]["name"]]
        near = np.searchsorted(run.time.values, time - 1e-6)
        assert_allclose(run.time.values[near], time, atol=1e-6)
        if target["path"] == "translation":
            assert_allclose(values, body.p[near], atol=1e-6)
        else:
            turns = np.array([rotation(q) for q in np.roll(values, 1, axis=1).astype(float)])
            assert_allclose(turns, body.R[near], atol=1e-6)
            assert (np.sum(values[1:] * values[:-1], axis=1) > 0).all()
        checked += len(time)
    assert checked > 2 * 50


def test_other_programs_read_it(run):
    """Drawn in its rest pose, the disc is a rim about its axle; all indices lie in their meshes."""
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
    data = write_gltf(run, speed=0.5)
    loaded = trimesh.load(io.BytesIO(data), file_type="glb")
    radius = json.loads(run.attrs["parameters"])["radius"]
    rim = max(
        (m for name, m in loaded.geometry.items() if name.startswith("disc")),
        key=lambda mesh: len(mesh.vertices),
    )
    assert_allclose(np.ptp(rim.vertices[:, 0]), 2.0 * radius, rtol=0.1)
    root, numbers = unpack(data)
    for mesh in root["meshes"]:
        for piece in mesh["primitives"]:
            corners = numbers(piece["attributes"]["POSITION"])
            assert np.isfinite(corners).all()
            assert numbers(piece["indices"]).max() < len(corners)
    time = numbers(root["animations"][0]["samplers"][0]["input"])
    assert_allclose(time[-1], 2.0, rtol=1e-6)  # half as fast


def test_up_is_y_and_the_ground_is_there(run, tmp_path):
    ground = ramp(slope=0.2, drop=0.5)
    draisine.animate(run, tmp_path / "run.glb", terrain=ground)
    root, numbers = unpack((tmp_path / "run.glb").read_bytes())
    top = root["nodes"][0]
    R = rotation(np.roll(top["rotation"], 1))
    assert_allclose(R @ [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], atol=1e-12)
    assert root["scenes"][0]["nodes"] == [0]
    names = [root["nodes"][k]["name"] for k in top["children"]]
    assert names.count("ground") == 1
    (mesh,) = [m for m in root["meshes"] if m["name"] == "ground"]
    heights = np.concatenate(
        [numbers(p["attributes"]["POSITION"])[:, 2] for p in mesh["primitives"]]
    )
    assert heights.min() < -0.4


def test_values_beyond_32_bit_floats_are_rejected(run, tmp_path):
    far = run.copy(deep=True)
    far["position"].values[:] = 1e40
    for data, speed in ((far, 1.0), (run, 1e-300)):
        with pytest.raises(DataError, match="beyond the range of 32-bit floats"):
            draisine.animate(data, tmp_path / "a.glb", speed=speed)
    with pytest.raises(ParameterError, match="speed must be a positive number, not fast"):
        draisine.animate(run, tmp_path / "a.glb", speed="fast")
    assert not list(tmp_path.iterdir())
