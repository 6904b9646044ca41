"""Where named numbers stand in a row: inputs and outputs of programs, and the state y."""

from collections.abc import ItemsView, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.program import Program
from draisine.model import Model


class Layout:
    """Named stretches of a row of numbers, one after the other: `row[layout.point]` is the stretch
    `point` of a row (of the first axis of an array).

    >>> y = Layout({"q": 4, "p": 3, "r": 2})
    >>> y.p, y.size
    (slice(4, 7, None), 9)
    >>> y.pack(p=[1.0, 2.0, 3.0])[y.p]
    array([1., 2., 3.])
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._stretches: dict[str, slice] = {}
        self.size = 0
        for name, size in sizes.items():
            self._stretches[name] = slice(self.size, self.size + size)
            self.size += size
        self._names, self._sizes = tuple(sizes), tuple(sizes.values())
        self.__dict__.update(self._stretches)

    def __getattr__(self, name: str) -> slice:
        known = ", ".join(self.__dict__.get("_stretches", ()))
        raise AttributeError(f"no stretch {name!r} in this row: {known}.")

    def items(self) -> ItemsView[str, slice]:
        """Return names and stretches, in order."""
        return self._stretches.items()

    def count(self, *names: str) -> int:
        """Return how many numbers stretches hold together."""
        return sum(self._stretches[name].stop - self._stretches[name].start for name in names)

    def span(self, first: str, last: str) -> slice:
        """Return all from one stretch to another."""
        return slice(self._stretches[first].start, self._stretches[last].stop)

    def split(self, row: Floats) -> dict[str, Floats]:
        """Return a row by name."""
        return {name: row[where] for name, where in self._stretches.items()}

    def pack(self, **parts: Any) -> Floats:
        """Return a row from stretches, zero where none is given; stretches with a further axis make
        columns, one per entry of that axis.
        """
        if tuple(parts) == self._names:
            with suppress(TypeError, ValueError):  # all in order, all with as many columns
                if tuple(map(len, parts.values())) == self._sizes:
                    return np.concatenate(tuple(parts.values()), dtype=float)
        values = {name: np.asarray(part, float) for name, part in parts.items()}
        columns = next((part.shape[1:] for part in values.values() if part.ndim > 1), ())
        row: Floats = np.zeros((self.size, *columns))
        for name, part in values.items():
            where = self._stretches[name]
            if not part.ndim or len(part) != where.stop - where.start:
                raise ValueError(f"{name} has the shape {part.shape}, not ({self.count(name)},).")
            row[where] = part[:, None] if part.ndim < row.ndim else part
        return row


def inputs_of(program: Program) -> Layout:
    """Return the layout of what a program reads; parameters reach it by a table of their own."""
    return Layout({name: size for name, size in program.inputs.items() if name != "parameters"})


def outputs_of(program: Program) -> Layout:
    """Return the layout of what a program writes."""
    return Layout({name: len(entries) for name, entries in program.outputs.items()})


def state_sizes(model: Model, **more: int) -> dict[str, int]:
    """Return the sizes of the pose (quaternion q, position p), the shape r, and what comes after:
    speeds u or v, and the states z of a control law.
    """
    return {"q": 4, "p": 3, "r": len(model.joints), **more}
