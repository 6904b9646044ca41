"""Checks of a Zarr store (format 2) before it is loaded: allowed codecs and complete chunks.

Zarr fills missing chunks with a default value, so that a damaged store would load without an error.
"""

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

from draisine.errors import DataError
from draisine.results.runs import COMMITTED_VARIABLE

ALLOWED_CODECS = {
    "blosc",
    "zlib",
    "gzip",
    "zstd",
    "lz4",
    "lzma",
    "bz2",
    "shuffle",
    "delta",
    "crc32",
}
ALLOWED_CODECS |= {
    "vlen-utf8",
    "vlen-bytes",
    "vlen-array",
    "fixedscaleoffset",
    "bitround",
    "adler32",
}
"""Allowed compressors and filters of Zarr arrays; others, such as `pickle`, may execute code."""

MAX_CHUNKS = 1_000_000
"""Largest number of chunks of a Zarr array; more indicate damaged metadata and would exhaust the memory."""


def check_zarr(path: Path) -> None:
    """Raise `DataError` if a Zarr store is incomplete or uses a codec that is not allowed."""
    for folder in sorted(entry for entry in path.iterdir() if entry.is_dir()):
        if not any((folder / name).is_file() for name in (".zarray", ".zgroup")):
            raise DataError(
                f"{path}: {folder.name} is damaged: .zarray is missing. Repeat the run."
            )
    for file in sorted(
        path.rglob(".zarray"), key=lambda file: file.parent.name != COMMITTED_VARIABLE
    ):
        array = _read(path, file)
        variable = file.parent.relative_to(path).as_posix()
        codecs = [array.get("compressor"), *(array.get("filters") or [])]
        for codec in codecs:
            name = codec.get("id") if isinstance(codec, dict) else codec
            if name is not None and name not in ALLOWED_CODECS:
                raise DataError(
                    f"{path}: {variable} uses the codec {name!r}, which is not allowed."
                )
        keys = _chunk_keys(path, array, variable)
        missing = [key for key in keys if not (file.parent / key).is_file()]
        # The array of chunk marks is checked first: if marks are missing, the sweep was interrupted.
        if missing and variable == COMMITTED_VARIABLE:
            raise DataError(
                f"{path}: {len(missing)} chunks of the sweep are missing. Finish it with "
                f"`draisine sweep FILE.toml --out {path} --resume`."
            )
        if missing:
            raise DataError(
                f"{path}: {variable} is damaged: chunk {missing[0]} is missing. Repeat the run."
            )


def _read(path: Path, file: Path) -> dict[str, Any]:
    """Return the metadata (.zarray) of a Zarr array as a dictionary."""
    try:
        description = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {file.relative_to(path)} cannot be read ({error}).") from error
    if not isinstance(description, dict):
        raise DataError(f"{path}: {file.relative_to(path)} does not describe an array.")
    return description


def _chunk_keys(path: Path, array: dict[str, Any], variable: str) -> list[str]:
    """Return the file names of all chunks of a Zarr array."""
    shape = array.get("shape")
    chunks = array.get("chunks")
    sizes = isinstance(shape, list) and isinstance(chunks, list) and len(shape) == len(chunks)
    if not sizes or not all(isinstance(n, int) and n >= 0 for n in [*shape, *chunks]):  # type: ignore[misc]
        raise DataError(f"{path}: {variable} has an invalid shape: {shape} in chunks of {chunks}.")
    counts = [math.ceil(n / max(1, c)) for n, c in zip(shape, chunks, strict=True)]  # type: ignore[arg-type]
    if math.prod(counts) > MAX_CHUNKS:
        raise DataError(
            f"{path}: {variable} claims {math.prod(counts)} chunks; at most {MAX_CHUNKS} are loaded."
        )
    separator = array.get("dimension_separator", ".")
    return [separator.join(map(str, index)) or "0" for index in product(*map(range, counts))]
