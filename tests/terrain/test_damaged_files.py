"""Mesh files that are not what they should be: each a `DataError` with a reason, never a hang."""

import random
import struct

import numpy as np
import pytest

from draisine.errors import DraisineError
from draisine.terrain.files import read_mesh

OBJ = b"v 0 0 0\nv 1 0 0\nv 1 1 0.1\nv 0 1 0\nf 1 2 3\nf 1 3 4\n"
HEAD = (
    b"ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    b"element face 2\nproperty list uchar int vertex_indices\nend_header\n"
)
PLY = HEAD + b"0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n"
BINARY = (
    HEAD.replace(b"ascii", b"binary_little_endian")
    + struct.pack("<12f", 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0)
    + struct.pack("<Biii", 3, 0, 1, 2)
    + struct.pack("<Biii", 3, 0, 2, 3)
)
STL = (
    b"\0" * 80 + struct.pack("<I", 1) + struct.pack("<12fH", 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0)
)
FILES = [("a.obj", OBJ), ("a.ply", PLY), ("b.ply", BINARY), ("a.stl", STL)]
WORDS = [b"nan", b"inf", b"-1", b"999999999999", b"9" * 400, b"1e400", b"", b"x", b"\xff", b"/"]


def damaged(seed):
    """Return a file with a few words, bytes or its end changed."""
    rng = random.Random(seed)
    name, data = rng.choice(FILES)
    for _ in range(rng.randint(1, 3)):
        way = rng.randrange(3)
        at = rng.randrange(max(1, len(data)))
        if way == 0:
            words = data.split(b" ")
            words[rng.randrange(len(words))] = rng.choice(WORDS)
            data = b" ".join(words)
        elif way == 1:
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        else:
            data = data[:at]
    return name, data


def reason(path):
    """Return why a mesh cannot be read; None where it can."""
    try:
        assert np.isfinite(read_mesh(path).points).all()
    except DraisineError as error:
        return str(error)
    return None


@pytest.mark.parametrize("first", range(0, 500, 100))
def test_damaged_files_are_read_or_told(first, tmp_path):
    for seed in range(first, first + 100):
        name, data = damaged(seed)
        (tmp_path / name).write_bytes(data)
        told = reason(tmp_path / name)
        assert told is None or (told.startswith(name) and not told.rstrip(". ").endswith(":"))


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        (
            "a.obj",
            OBJ.replace(b"f 1 3 4", b"f 1 3 9"),
            "triangle 2 names a point that is not there",
        ),
        ("a.obj", OBJ.replace(b"f 1 3 4", b"f 1 3 -9"), "triangle 2 names a point"),
        ("a.obj", OBJ.replace(b"f 1 3 4", b"f 1 3 " + b"9" * 400), "is damaged: "),
        ("a.obj", OBJ.replace(b"v 1 0 0", b"v 1 nan 0"), "point 2 is not finite"),
        (
            "a.ply",
            PLY.replace(b"vertex 4", b"vertex 4000000000"),
            "4000000000 of 'vertex' do not fit",
        ),
        ("a.ply", PLY.replace(b"\n3 0 1 2", b"\nnan 0 1 2"), "cannot convert float NaN to integer"),
        ("a.ply", PLY[:-8], "ends too early"),
        ("a.ply", b"", "no PLY header"),
        ("a.obj", b"", "holds no triangles"),
    ],
)
def test_what_is_wrong_is_told(name, data, told, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DraisineError, match=told):
        read_mesh(tmp_path / name)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(DraisineError, match=r"gone\.obj: cannot be read: No such file"):
        read_mesh(tmp_path / "gone.obj")
