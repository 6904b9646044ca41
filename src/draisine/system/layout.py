"""Layouts of flat arrays: the named slices of program inputs, program outputs and the state y."""

from collections.abc import ItemsView, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.program import Program
from draisine.model import Model


class Layout:
    """Named consecutive slices of a flat array: `row[layout.point]` selects the slice `point` along the
    first axis of the array `row`.

    >>> y = Layout({"q": 4, "p": 3, "r": 2})
    >>> y.p, y.size
    (slice(4, 7, None), 9)
    >>> y.pack(p=[1.0, 2.0, 3.0])[y.p]
    array([1., 2., 3.])
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._slices: dict[str, slice] = {}
        self.size = 0
        for name, size in sizes.items():
            self._slices[name] = slice(self.size, self.size + size)
            self.size += size
        self._names = tuple(sizes)
        self._sizes = tuple(sizes.values())
        self.__dict__.update(self._slices)

    def __getattr__(self, name: str) -> slice:
        known = ", ".join(self.__dict__.get("_slices", ()))
        raise AttributeError(f"This layout has no slice {name!r}; it has {known}.")

    def items(self) -> ItemsView[str, slice]:
        """Return the names and slices, in the order of the array."""
        return self._slices.items()

    def count(self, *names: str) -> int:
        """Return the total length of the named slices."""
        return sum(self._slices[name].stop - self._slices[name].start for name in names)

    def span(self, first: str, last: str) -> slice:
        """Return the slice from the start of slice `first` to the end of slice `last`."""
        return slice(self._slices[first].start, self._slices[last].stop)

    def split(self, row: Floats) -> dict[str, Floats]:
        """Return the slices of a flat array by name."""
        return {name: row[place] for name, place in self._slices.items()}

    def pack(self, **parts: Any) -> Floats:
        """Return a flat array with the given slices; all others are zero.

        Slices with a second axis make an array (size, columns); slices without one are repeated in all
        columns.
        """
        if tuple(parts) == self._names:
            # Fast path: all slices are given, in order, with the same number of columns.
            with suppress(TypeError, ValueError):
                if tuple(map(len, parts.values())) == self._sizes:
                    return np.concatenate(tuple(parts.values()), dtype=float)
        values = {name: np.asarray(part, float) for name, part in parts.items()}
        columns = next((part.shape[1:] for part in values.values() if part.ndim > 1), ())
        row: Floats = np.zeros((self.size, *columns))
        for name, part in values.items():
            place = self._slices[name]
            if not part.ndim or len(part) != place.stop - place.start:
                raise ValueError(f"{name} has the shape {part.shape}, not ({self.count(name)},).")
            row[place] = part[:, None] if part.ndim < row.ndim else part
        return row


def input_layout(program: Program) -> Layout:
    """Return the layout of the inputs of a program, without its parameters, which have their own table."""
    return Layout({name: size for name, size in program.inputs.items() if name != "parameters"})


def output_layout(program: Program) -> Layout:
    """Return the layout of the outputs of a program in its flat output array."""
    return Layout({name: len(entries) for name, entries in program.outputs.items()})


def state_sizes(model: Model, **further_lengths: int) -> dict[str, int]:
    """Return the lengths of quaternion q, position p and joint coordinates r, and of the arrays that
    follow: speeds u or v, and states z.
    """
    return {"q": 4, "p": 3, "r": len(model.joints), **further_lengths}
