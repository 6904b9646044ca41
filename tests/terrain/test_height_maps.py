"""Height maps: grey levels of images as heights in metres."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

from draisine.errors import DataError, TerrainError
from draisine.terrain.files import read_height_map

LEVELS = np.array([[0, 51, 102], [153, 204, 255]])
"""Grey levels of two rows with three columns; the first row is the upper edge."""


def write_image(path, levels):
    Image.fromarray(np.asarray(levels)).save(path)
    return path


@pytest.mark.parametrize("name", ["grey.png", "grey.bmp", "grey.tif"])
def test_the_upper_edge_is_at_the_largest_y(tmp_path, name):
    """Grey levels are multiples of a fifth of white; columns run along x."""
    path = write_image(tmp_path / name, LEVELS.astype(np.uint8))
    ground = read_height_map(path, cell=0.5, height=2.0, smooth=True)
    assert_allclose(ground.height([-0.5, 0.0, 0.5], 0.25), [0.0, 0.4, 0.8], atol=1e-12)
    assert_allclose(ground.height([-0.5, 0.0, 0.5], -0.25), [1.2, 1.6, 2.0], atol=1e-12)


def test_triangles_have_the_heights_of_the_pixels(tmp_path):
    mesh = read_height_map(write_image(tmp_path / "a.png", LEVELS.astype(np.uint8)), 0.5, 2.0)
    assert_allclose(mesh.points.min(axis=0), [-0.5, -0.25, 0.0])
    assert_allclose(mesh.points.max(axis=0), [0.5, 0.25, 2.0])


def test_sixteen_bits_have_finer_steps(tmp_path):
    levels = np.array([[0, 1], [2, 65535]], dtype=np.uint16)
    mesh = read_height_map(write_image(tmp_path / "a.png", levels), 1.0, 65.535)
    assert_allclose(sorted(mesh.points[:, 2]), [0.0, 0.001, 0.002, 65.535], rtol=1e-12)


def test_grey_images_with_three_channels_are_read(tmp_path):
    path = write_image(tmp_path / "a.png", np.repeat(LEVELS[..., None], 3, axis=2).astype(np.uint8))
    assert read_height_map(path, 0.5, 2.0).points[:, 2].max() == 2.0


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (np.eye(3, dtype=np.uint8)[None] * 9, r"a\.png is in colour"),
        (np.zeros((1, 4), np.uint8), "at least 2 x 2 pixels"),
    ],
)
def test_unusable_images_are_errors(tmp_path, levels, message):
    with pytest.raises(DataError, match=message):
        read_height_map(write_image(tmp_path / "a.png", levels), 0.5, 2.0)


def test_unreadable_files_are_errors(tmp_path):
    with pytest.raises(DataError, match=r"gone\.png cannot be read: No such file"):
        read_height_map(tmp_path / "gone.png", 0.5, 2.0)
    path = write_image(tmp_path / "a.png", np.full((40, 40), 7, np.uint8))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"a\.png is damaged"):
        read_height_map(path, 0.5, 2.0)
    write_image(tmp_path / "f.tif", np.zeros((2, 2), np.float32))
    with pytest.raises(DataError, match="8 or 16 bits"):
        read_height_map(tmp_path / "f.tif", 0.5, 2.0)


@pytest.mark.parametrize("sizes", [(0.0, 1.0), (0.1, -1.0), (np.inf, 1.0)])
def test_wrong_sizes_are_errors(tmp_path, sizes):
    path = write_image(tmp_path / "a.png", LEVELS.astype(np.uint8))
    with pytest.raises(TerrainError, match="must be a positive length"):
        read_height_map(path, *sizes)
