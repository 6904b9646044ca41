"""What all tests and examples share."""

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def own_way_to_print() -> Iterator[None]:
    """Let an example print arrays in its own way without others seeing it."""
    with np.printoptions():
        yield
