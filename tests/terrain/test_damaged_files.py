"""Damaged mesh files: each is a `DataError` with a reason, never a hang."""

import pytest

from draisine.errors import DraisineError
from draisine.terrain.files import read_mesh

OBJ = b"v 0 0 0\nv 1 0 0\nv 1 1 0.1\nv 0 1 0\nf 1 2 3\nf 1 3 4\n"
HEAD = (
    b"ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    b"element face 2\nproperty list uchar int vertex_indices\nend_header\n"
)
PLY = HEAD + b"0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "a.obj",
            OBJ.replace(b"f 1 3 4", b"f 1 3 9"),
            "triangle 2 has a point that does not exist",
        ),
        ("a.obj", OBJ.replace(b"f 1 3 4", b"f 1 3 -9"), "triangle 2 has a point"),
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
        ("a.obj", b"", "contains no triangles"),
    ],
)
def test_error_messages_name_the_reason(name, data, message, tmp_path):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DraisineError, match=message):
        read_mesh(tmp_path / name)


def test_missing_file_is_an_error(tmp_path):
    with pytest.raises(DraisineError, match=r"gone\.obj cannot be read: No such file"):
        read_mesh(tmp_path / "gone.obj")
