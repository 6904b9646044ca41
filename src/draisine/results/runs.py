"""Arrangement of the runs of a sweep: along one dimension in files, along the axes of a grid in memory."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xarray import Dataset

GRID_ATTRIBUTE = "sweep_grid"
"""Name of the dataset attribute with the number of runs along each axis of a sweep's grid, a JSON object."""

ORDER_ATTRIBUTE = "sweep_order"
"""Name of the Zarr store attribute with the order of the variables, a JSON array."""

COMMITTED_VARIABLE = "committed"
"""Name of the Zarr store variable that marks the finished chunks of a sweep."""


def unflatten_runs(data: "Dataset") -> "Dataset":
    """Arrange the runs of a sweep along the axes of its grid; other datasets are returned unchanged.

    >>> import xarray
    >>> axes = {"speed": ("run", [1.0, 1.0, 2.0, 2.0]), "lean": ("run", [0.0, 0.1, 0.0, 0.1])}
    >>> grid = {GRID_ATTRIBUTE: json.dumps({"speed": 2, "lean": 2})}
    >>> flat = xarray.Dataset({"fall": ("run", [1, 2, 3, 4])}, axes, grid)
    >>> unflatten_runs(flat)["fall"].sel(speed=2.0).values.tolist()
    [3, 4]
    """
    import xarray

    if GRID_ATTRIBUTE not in data.attrs:
        return data
    attributes = dict(data.attrs)
    sizes = json.loads(attributes.pop(GRID_ATTRIBUTE))
    shape = tuple(sizes.values())
    coordinates = {
        name: (
            name,
            data[name].values.reshape(shape)[_select_along_axis(k, len(shape))],
            data[name].attrs,
        )
        for k, name in enumerate(sizes)
    }
    variables = {
        str(name): (tuple(sizes), variable.values.reshape(shape), variable.attrs)
        for name, variable in data.data_vars.items()
    }
    return xarray.Dataset(variables, coordinates, attributes)


def _select_along_axis(axis: int, axis_count: int) -> tuple[slice | int, ...]:
    """Return the index that selects the first run along all axes of a grid except `axis`."""
    return tuple(slice(None) if j == axis else 0 for j in range(axis_count))


def read_runs(data: "Dataset") -> "Dataset":
    """Arrange a dataset loaded from a Zarr store: remove chunk marks, restore variable order and grid."""
    if COMMITTED_VARIABLE not in data:
        return data
    # A Zarr store lists its variables alphabetically. Restore the order of the scenario for figures
    # and tables.
    order = [name for name in json.loads(data.attrs[ORDER_ATTRIBUTE]) if name != "run"]
    axes = [name for name in order if name in data.coords]
    runs = data.reset_coords(axes)[order].set_coords(axes)
    del runs.attrs[ORDER_ATTRIBUTE]
    return unflatten_runs(runs)
