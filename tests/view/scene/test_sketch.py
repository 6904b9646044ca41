"""Machines in dots: the picture has the shape of the machine."""

import numpy as np
import pytest

import draisine
from draisine.registry import names
from draisine.vehicles.rolling_disc import rolling_disc
from draisine.view.scene.sketch import BRAILLE_BITS, sketch


def dots(text, columns):
    """Return the (x, y) of all dots of a text in braille, y up, in dots."""
    rows = text.split("\n")
    positions = []
    for i, row in enumerate(rows):
        for j, cell in enumerate(row.ljust(columns, chr(0x2800))):
            for (y, x), bit in np.ndenumerate(BRAILLE_BITS):
                if ord(cell) - 0x2800 & bit:
                    positions.append((2 * j + x, 4 * (len(rows) - i) - 1 - y))
    return np.array(positions, float)


@pytest.mark.parametrize("size", [(6, 3), (48, 16), (10, 16)])
def test_a_disc_is_round_in_any_frame(size):
    positions = dots(sketch(rolling_disc(), *size), size[0])
    radius = (min(2 * size[0], 4 * size[1]) - 1) / 2
    off = np.hypot(*(positions - (positions.min(axis=0) + positions.max(axis=0)) / 2).T) - radius
    assert np.abs(off).max() < 1.0
    assert len(positions) >= 4 * radius


@pytest.mark.parametrize("name", names("vehicle"))
def test_every_vehicle_fills_its_frame(name):
    positions = dots(sketch(draisine.compile(name).model, 30, 10), 30)
    assert max(np.ptp(positions[:, 0]) / 59, np.ptp(positions[:, 1]) / 39) == pytest.approx(1.0)
