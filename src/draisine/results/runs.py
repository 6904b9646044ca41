"""The runs of a sweep: one after the other in a store, along the sides of their grid in memory."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xarray import Dataset

GRID_ATTRIBUTE = "sweep_grid"
"""The attribute that tells how many runs there are along each side of a grid, in JSON."""

ORDER_ATTRIBUTE = "sweep_order"
"""The attribute of a store that tells its variables in order, in JSON."""

COMMITTED_VARIABLE = "committed"
"""The variable of a store that marks its finished chunks."""


def unfold(data: "Dataset") -> "Dataset":
    """Return the runs of a sweep along the sides of their grid, where they are on one; others stay
    one after the other.

    >>> import xarray
    >>> sides = {"speed": ("run", [1.0, 1.0, 2.0, 2.0]), "lean": ("run", [0.0, 0.1, 0.0, 0.1])}
    >>> grid = {GRID_ATTRIBUTE: json.dumps({"speed": 2, "lean": 2})}
    >>> flat = xarray.Dataset({"fall": ("run", [1, 2, 3, 4])}, sides, grid)
    >>> unfold(flat)["fall"].sel(speed=2.0).values.tolist()
    [3, 4]
    """
    import xarray

    if GRID_ATTRIBUTE not in data.attrs:
        return data
    attributes = dict(data.attrs)
    sizes = json.loads(attributes.pop(GRID_ATTRIBUTE))
    shape = tuple(sizes.values())
    along = {
        name: (name, data[name].values.reshape(shape)[_edge(k, len(shape))], data[name].attrs)
        for k, name in enumerate(sizes)
    }
    found = {
        str(name): (tuple(sizes), one.values.reshape(shape), one.attrs)
        for name, one in data.data_vars.items()
    }
    return xarray.Dataset(found, along, attributes)


def _edge(k: int, count: int) -> tuple[slice | int, ...]:
    """Return the index of the k-th side of a grid of so many sides."""
    return tuple(slice(None) if j == k else 0 for j in range(count))


def read_runs(data: "Dataset") -> "Dataset":
    """Return a dataset as it was read from a store: a sweep's without the marks of its chunks, its
    variables in the order of the scenario, not of the disk.
    """
    if COMMITTED_VARIABLE not in data:
        return data
    order = [name for name in json.loads(data.attrs[ORDER_ATTRIBUTE]) if name != "run"]
    sides = [name for name in order if name in data.coords]
    found = data.reset_coords(sides)[order].set_coords(sides)
    del found.attrs[ORDER_ATTRIBUTE]
    return unfold(found)
