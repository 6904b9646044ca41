"""`draisine open`: opens an output file with the default program."""

import os
from pathlib import Path

from draisine.cli._files import open_file

OPENABLE_SUFFIXES = (".html", ".png", ".svg", ".pdf", ".gif", ".mp4")
"""Suffixes of files that a browser or an image viewer can open."""


def open(file: Path, /) -> int:
    """Open a page, a figure or an animation that draisine wrote.

    Parameters
    ----------
    file
        A file (.html, .png, .jpg, .svg, .pdf, .gif or .mp4).
    """
    from draisine.errors import DataError

    if not os.path.isfile(file):
        raise DataError(f"{file}: the file does not exist.")
    if file.suffix in (".nc", ".zarr"):
        page = file.with_suffix(".html")
        raise DataError(
            f"{file} contains data. `draisine animate {file}` writes {page.name}, which can be opened."
        )
    if file.suffix not in OPENABLE_SUFFIXES:
        raise DataError(
            f"{file} cannot be opened. Supported suffixes: {', '.join(OPENABLE_SUFFIXES)}."
        )
    return open_file(file)
