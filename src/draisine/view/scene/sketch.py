"""Draw a vehicle as text with braille characters, for a terminal."""

import numpy as np

from draisine.model import Model
from draisine.view.scene.shapes import machine_outlines

BRAILLE_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""Bit of each dot in a Unicode braille character (added to U+2800), by row and column of the dot, (4, 2)."""


def sketch(model: Model, columns: int = 48, rows: int = 16) -> str:
    """Return a drawing of a vehicle as text, from its right side, or from above if it is wider than high.

    The drawing has at most `columns` characters per line and `rows` lines.

    >>> from draisine.vehicles.rolling_disc import rolling_disc
    >>> print(sketch(rolling_disc(), columns=4, rows=2))
    ⡴⠋⠙⢦
    ⠳⣄⣠⠞
    """
    lines = [
        part.points for part in machine_outlines(model) if part.kind not in ("spokes", "valve")
    ]
    around = np.concatenate(lines)
    low = around.min(axis=0)
    size = np.ptp(around, axis=0)
    across = 0
    up = 2 if size[2] >= size[1] else 1
    scale = min((2 * columns - 1) / max(size[across], 1e-9), (4 * rows - 1) / max(size[up], 1e-9))
    grid = np.zeros((4 * rows, 2 * columns), bool)
    for line in lines:
        steps = np.arange(0.0, len(line) - 0.999, 1e-3)
        x, y = (
            np.rint(scale * np.interp(steps, np.arange(len(line)), line[:, k] - low[k])).astype(int)
            for k in (across, up)
        )
        grid[-1 - y, x] = True
    cells = grid.reshape(rows, 4, columns, 2).transpose(0, 2, 1, 3)
    codes = 0x2800 + (cells * BRAILLE_BITS).sum(axis=(2, 3))
    text = ["".join(map(chr, row)).rstrip(chr(0x2800)) for row in codes]
    return "\n".join(text[next((k for k, row in enumerate(text) if row), 0) :])
