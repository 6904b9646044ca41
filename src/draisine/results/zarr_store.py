"""Zarr stores (format 2) looked at before anything of them is believed: codecs that only move bits,
and every chunk in its place.
"""

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

from draisine.errors import DataError
from draisine.results.runs import COMMITTED_VARIABLE

CODECS = {"blosc", "zlib", "gzip", "zstd", "lz4", "lzma", "bz2", "shuffle", "delta", "crc32"}
CODECS |= {"vlen-utf8", "vlen-bytes", "vlen-array", "fixedscaleoffset", "bitround", "adler32"}
"""What may pack numbers and texts. (`pickle` would run code.)"""


def check_zarr(path: Path) -> None:
    """Raise where a Zarr store is not whole, or names a codec that could do more than unpack."""
    for folder in sorted(entry for entry in path.iterdir() if entry.is_dir()):
        if not any((folder / name).is_file() for name in (".zarray", ".zgroup")):
            raise DataError(
                f"{path}: {folder.name} is damaged: .zarray is missing. Make the result again."
            )
    for file in sorted(
        path.rglob(".zarray"), key=lambda file: file.parent.name != COMMITTED_VARIABLE
    ):
        array, place = _read(path, file), file.parent.relative_to(path).as_posix()
        packers = [array.get("compressor"), *(array.get("filters") or [])]
        for packer in packers:
            name = packer.get("id") if isinstance(packer, dict) else packer
            if name is not None and name not in CODECS:
                raise DataError(
                    f"{path}: {place} is packed by {name!r}, which is not unpacked here."
                )
        missing = [key for key in _keys(path, array, place) if not (file.parent / key).is_file()]
        if missing and place == COMMITTED_VARIABLE:
            raise DataError(
                f"{path}: {len(missing)} chunks of its sweep are missing. Finish it by "
                f"`draisine sweep FILE.toml --out {path} --resume`."
            )
        if missing:
            raise DataError(
                f"{path}: {place} is damaged: chunk {missing[0]} is missing. Make the result again."
            )


def _read(path: Path, file: Path) -> dict[str, Any]:
    """Return the description of an array."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {file.relative_to(path)} cannot be read ({error}).") from error
    if not isinstance(found, dict):
        raise DataError(f"{path}: {file.relative_to(path)} describes no array.")
    return found


def _keys(path: Path, array: dict[str, Any], place: str) -> list[str]:
    """Return the names of all chunks of an array."""
    shape, chunks = array.get("shape"), array.get("chunks")
    sizes = isinstance(shape, list) and isinstance(chunks, list) and len(shape) == len(chunks)
    if not sizes or not all(isinstance(n, int) and n >= 0 for n in [*shape, *chunks]):  # type: ignore[misc]
        raise DataError(f"{path}: {place} has a size that is none: {shape} in chunks of {chunks}.")
    counts = [math.ceil(n / max(1, c)) for n, c in zip(shape, chunks, strict=True)]  # type: ignore[arg-type]
    if math.prod(counts) > 1_000_000:
        raise DataError(f"{path}: {place} claims {math.prod(counts)} chunks.")
    mark = array.get("dimension_separator", ".")
    return [mark.join(map(str, index)) or "0" for index in product(*map(range, counts))]
