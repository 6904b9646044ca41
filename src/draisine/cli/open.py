"""`draisine open`."""

import os
from pathlib import Path

from draisine.cli._keep import show

SHOWN = (".html", ".png", ".svg", ".pdf", ".gif", ".mp4")
"""What a browser or a viewer can open."""


def open(file: Path, /) -> int:
    """Open a page, a figure or a film that draisine wrote.

    :param file: A file that ends with .html, .png, .jpg, .svg, .pdf, .gif or .mp4.
    """
    from draisine.errors import DataError

    if not os.path.isfile(file):
        raise DataError(f"{file}: no such file.")
    if file.suffix in (".nc", ".zarr"):
        page = file.with_suffix(".html")
        raise DataError(
            f"{file}: is data; `draisine animate {file}` writes {page.name}, which can be opened."
        )
    if file.suffix not in SHOWN:
        raise DataError(f"{file}: only {', '.join(SHOWN)} can be opened.")
    return show(file)
