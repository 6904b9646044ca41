"""Runs of a sweep: stored along one dimension, arranged along the axes of their grid in memory."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xarray import Dataset

GRID_ATTRIBUTE = "sweep_grid"
"""Attribute with the number of runs along each axis of the grid, JSON."""

ORDER_ATTRIBUTE = "sweep_order"
"""Attribute of a store with the order of its variables, JSON."""

COMMITTED_VARIABLE = "committed"
"""Variable of a store that marks its finished chunks."""


def unfold(data: "Dataset") -> "Dataset":
    """Return the runs of a sweep along the axes of their grid; unchanged if they are not on a grid.

    >>> import xarray
    >>> axes = {"speed": ("run", [1.0, 1.0, 2.0, 2.0]), "lean": ("run", [0.0, 0.1, 0.0, 0.1])}
    >>> grid = {GRID_ATTRIBUTE: json.dumps({"speed": 2, "lean": 2})}
    >>> flat = xarray.Dataset({"fall": ("run", [1, 2, 3, 4])}, axes, grid)
    >>> unfold(flat)["fall"].sel(speed=2.0).values.tolist()
    [3, 4]
    """
    import xarray

    if GRID_ATTRIBUTE not in data.attrs:
        return data
    attributes = dict(data.attrs)
    sizes = json.loads(attributes.pop(GRID_ATTRIBUTE))
    shape = tuple(sizes.values())
    coordinates = {
        name: (name, data[name].values.reshape(shape)[_edge(k, len(shape))], data[name].attrs)
        for k, name in enumerate(sizes)
    }
    variables = {
        str(name): (tuple(sizes), variable.values.reshape(shape), variable.attrs)
        for name, variable in data.data_vars.items()
    }
    return xarray.Dataset(variables, coordinates, attributes)


def _edge(k: int, count: int) -> tuple[slice | int, ...]:
    """Return the index of the edge along axis k of a grid with `count` axes."""
    return tuple(slice(None) if j == k else 0 for j in range(count))


def read_runs(data: "Dataset") -> "Dataset":
    """Return a dataset from a store; a sweep without chunk marks and in the scenario's order of variables."""
    if COMMITTED_VARIABLE not in data:
        return data
    # A folder of chunks lists its variables by name; figures and tables need the scenario's order.
    order = [name for name in json.loads(data.attrs[ORDER_ATTRIBUTE]) if name != "run"]
    axes = [name for name in order if name in data.coords]
    runs = data.reset_coords(axes)[order].set_coords(axes)
    del runs.attrs[ORDER_ATTRIBUTE]
    return unfold(runs)
