"""Storage of datasets in netCDF, Zarr and CSV files, which are written atomically.

A .csv file has columns only, so that every program reads it. Its attributes are in a second file that ends
with `-metadata.json`, the name that the W3C recommends (Model for Tabular Data, 2015, section 5.3).
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine import registry
from draisine.codegen.files import atomic_write, check_replaceable, check_writable
from draisine.errors import DataError, ParameterError
from draisine.results.attributes import HASH_ATTRIBUTE, add_stamp, read_table_attribute
from draisine.results.recording import read_recording
from draisine.results.runs import read_runs
from draisine.results.zarr_store import check_zarr

if TYPE_CHECKING:
    from collections.abc import Hashable

    from xarray import Dataset

RESULT_SUFFIXES = (".nc", ".zarr", ".csv")
"""File suffixes of stored datasets."""

FIGURE_SUFFIXES = (".png", ".jpg", ".svg", ".pdf")
"""File suffixes of stored figures."""

SWEEP_WITHOUT_ZARR = (
    "Without Zarr, `draisine run FILE.toml --out FILE.nc` writes all runs at the end"
)
"""Sentence of an error message that suggests netCDF output if the package zarr is missing."""


def check_target(path: Path, allowed: tuple[str, ...] = RESULT_SUFFIXES) -> None:
    """Raise `DataError` if an output file cannot be written, before any computation starts."""
    if path.suffix not in allowed:
        advice = f" {SWEEP_WITHOUT_ZARR}." if allowed == (".zarr",) else ""
        raise DataError(
            f"{path}: a result cannot be written to this file type. Use a name that ends with "
            f"{', '.join(allowed)}.{advice}"
        )
    _check_zarr_installed(
        path,
        SWEEP_WITHOUT_ZARR if allowed == (".zarr",) else "Or write to a file that ends with .nc",
    )
    if path.suffix == ".zarr" and os.path.exists(path):
        if not _is_replaceable_store(path):
            raise DataError(
                f"{path}: this path exists, but is not a Zarr store. Remove it or choose another name."
            )
        check_replaceable(path)
    else:
        check_writable(path)


def _check_zarr_installed(path: Path, advice: str) -> None:
    """Raise `DataError` if a path ends with .zarr and the package zarr is not installed."""
    if path.suffix == ".zarr" and find_spec("zarr") is None:
        raise DataError(
            f"{path}: the package zarr is not installed: pip install 'draisine[store]'. {advice}."
        )


def _is_replaceable_store(path: Path) -> bool:
    """Return whether a folder is empty or a Zarr store, so that it may be overwritten."""
    if not os.path.isdir(path):
        return False
    inside = {entry.name for entry in path.iterdir()}
    return not inside or bool(inside & {".zgroup", "zarr.json"})


def to_dataset(result: Any) -> "Dataset":
    """Convert a trajectory, a result, eigenmodes, a dataset or the path of a stored file to a dataset."""
    if isinstance(result, str | Path):
        return load(result)
    from xarray import Dataset

    # The result of an experiment has an attribute `data`. A dataset may have a variable `data`,
    # too.
    data = getattr(result, "data", result) if hasattr(result, "outcome") else result
    if not isinstance(data, Dataset) and hasattr(result, "to_xarray"):
        data = result.to_xarray()
    if not isinstance(data, Dataset):
        raise ParameterError(
            f"{result!r:.80} is not a result. Pass a run, a result, eigenmodes, a dataset or the path of a "
            "stored one."
        )
    return data


def save(result: Any, path: str | Path) -> None:
    """Write a result to a file atomically: if writing fails, no partial file remains.

    Parameters
    ----------
    result
        Trajectory, result of a scenario, linear system, eigenmodes or dataset.
    path
        File that ends with .nc, .zarr or .csv. A .csv file has columns only; its attributes are in a
        second file that ends with .csv-metadata.json, and their `content_sha256` is that of the .csv file.

    Raises
    ------
    DataError
        If the suffix is unknown or the file cannot be written.

    Notes
    -----
    The file has the attributes `draisine` (version), `created` (UTC), `commit` of the code if known, and
    `content_sha256`. Runs also have `law`, the control law with its values, and `recipe`, a script that
    repeats the run.

    Examples
    --------
    >>> import draisine, tempfile
    >>> disc = draisine.compile("rolling_disc")
    >>> run = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draisine.save(run, f"{folder}/run.nc")
    ...     print(draisine.load(f"{folder}/run.nc").outcome)
    completed
    """
    data = add_stamp(to_dataset(result))
    path = Path(path)
    check_target(path)
    with atomic_write(path) as new:
        match path.suffix:
            case ".nc":
                _write_netcdf(data, new)
            case ".zarr":
                data.to_zarr(
                    new, mode="w", consolidated=False, zarr_format=2, write_empty_chunks=True
                )
            case ".csv":
                _write_csv(data, new)
    if path.suffix == ".csv":
        _write_metadata(data, path)


COMPLETE_RESULT_ATTRIBUTES = ("vehicle", "vehicle_path", "vehicle_here")
"""Attributes that mark datasets with all variables of a run, as needed for replays and vehicle figures.

A .csv file has scalar columns only, so it is loaded without these attributes.

"""


def metadata_path(path: Path) -> Path:
    """Return the path of the JSON file that contains the attributes of a .csv file."""
    return path.with_name(f"{path.name}-metadata.json")


def _write_metadata(data: "Dataset", path: Path) -> None:
    """Write the attributes of a dataset and of its variables as JSON next to its .csv file."""
    attributes = dict(data.attrs) | {HASH_ATTRIBUTE: hashlib.sha256(path.read_bytes()).hexdigest()}
    variables = {str(name): dict(v.attrs) for name, v in data.variables.items() if v.attrs}
    content = {"attributes": attributes, "variables": variables}
    with atomic_write(metadata_path(path)) as new:
        new.write_text(json.dumps(content, indent=1, default=_as_plain) + "\n", encoding="utf-8")


def _as_plain(value: Any) -> Any:
    """Return a NumPy number or array as a Python number or list for JSON."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _read_csv(path: Path) -> "Dataset":
    """Read a .csv file as a dataset; add the attributes of its metadata file if the .csv is unchanged."""
    data = read_recording(path)
    metadata = metadata_path(path)
    if not metadata.is_file():
        return data
    try:
        content = json.loads(metadata.read_text(encoding="utf-8"))
        attributes = dict(content["attributes"])
        variables = {name: dict(entry) for name, entry in content["variables"].items()}
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{metadata}: the file cannot be read ({error}). Remove it to read {path} without "
            "attributes."
        ) from error
    if attributes.pop(HASH_ATTRIBUTE, None) != hashlib.sha256(path.read_bytes()).hexdigest():
        warnings.warn(
            f"{path} has changed since it was written; the attributes in {metadata.name} are ignored.",
            stacklevel=2,
        )
        return data
    for name, variable in data.variables.items():
        variable.attrs |= variables.get(str(name).partition("[")[0], {})
    kept = {k: v for k, v in attributes.items() if k not in COMPLETE_RESULT_ATTRIBUTES}
    return data.assign_attrs(kept)


def _write_netcdf(data: "Dataset", path: Path) -> None:
    """Write a dataset as netCDF; raise `OSError` with the operating system's reason if writing fails."""
    try:
        data.to_netcdf(path, engine="netcdf4")
    except (OSError, RuntimeError) as error:
        # The netCDF library reports a full disk as "HDF error" or "Permission denied". Write the
        # same number of zero bytes, which raises an `OSError` with the true reason.
        _write_zeros(path.parent, data.nbytes)
        if isinstance(error, OSError):
            raise
        free = shutil.disk_usage(path.parent).free
        raise OSError(f"{error} ({free / 1e6:.3g} MB are free on that disk)") from error


def _write_zeros(folder: Path, size: int) -> None:
    """Write `size` zero bytes to a temporary file of a folder; raise `OSError` if that fails."""
    block = bytes(2**20)
    with tempfile.TemporaryFile(dir=folder) as file:
        for done in range(0, size, len(block)):
            file.write(block[: size - done])
        file.flush()


def load(path: str | Path, trust: bool = False) -> "Dataset":
    """Load a stored result or a recording into memory.

    Parameters
    ----------
    path
        A .nc file or .zarr folder of `save`, or a .csv file with a column `time` (a result or a recording;
        see `draisine.results.recording.read_recording`).
    trust
        Whether code that the result names (the file of its vehicle or control law) may be executed later.
        Without it, such code is never executed.

    Returns
    -------
    xarray.Dataset
        The variables in SI units; a .csv file gives its columns over `time`.

    Raises
    ------
    DataError
        If the file is missing, damaged or larger than half of the memory.

    Examples
    --------
    See `save`.
    """
    data = _load_dataset(Path(path))
    if trust:
        for file in code_files(data):
            registry.trust(file)
    return data


def code_files(data: "Dataset") -> list[str]:
    """Return the Python files that a dataset refers to: vehicle, plug-ins of scenario and ride."""
    return [text for text in _walk_stored_texts(data) if registry.is_file(text)]


def list_named_files(data: "Dataset") -> list[str]:
    """Return all existing files that a dataset refers to: Python code and terrain files."""
    names = [
        re.sub(r"(\.py):.*", r"\1", text, flags=re.DOTALL) for text in _walk_stored_texts(data)
    ]
    return [name for name in dict.fromkeys(names) if Path(name).suffix and os.path.isfile(name)]


def _walk_stored_texts(data: "Dataset") -> Iterator[str]:
    """Yield all text values of the scenario and of the ride that a dataset stores."""
    yield str(data.attrs.get("vehicle_path", ""))
    for name in ("scenario", "ride"):
        # Use a stack instead of recursion: in a damaged file the nesting may exceed the recursion
        # limit.
        stack: list[Any] = [read_table_attribute(data, name)]
        while stack:
            value = stack.pop()
            if isinstance(value, dict):
                stack += value.values()
            elif isinstance(value, list):
                stack += value
            elif isinstance(value, str):
                yield value


def _load_dataset(path: Path) -> "Dataset":
    """Load a stored dataset into memory; raise `DataError` if it cannot be read."""
    import xarray

    if path.suffix not in RESULT_SUFFIXES:
        hint = "."
        if not path.suffix:
            hint = (
                f". If {path} is a scenario, `draisine run {path} --out {path}.nc` writes a result."
            )
        raise DataError(f"{path}: results are .nc or .zarr files, recordings are .csv files{hint}")
    if not os.path.exists(path):
        raise DataError(
            f"{path}: no such file. `draisine run SCENARIO --out {path}` writes a result to it."
        )
    if not (path.is_file() or path.is_dir()):
        raise DataError(f"{path}: this path is neither a file nor a folder.")
    if path.suffix == ".csv":
        return _read_csv(path)
    _check_zarr_installed(path, "A .nc file can be read without it")
    if path.suffix == ".zarr":
        check_zarr(path)
    try:
        data = (
            xarray.open_dataset(path, engine="netcdf4")
            if path.suffix == ".nc"
            else xarray.open_zarr(path, consolidated=False)
        )
        with data:
            if data.nbytes > _compute_memory_limit():
                raise DataError(
                    f"{path}: the data ({data.nbytes / 1e9:.3g} GB) need more than half of this computer's "
                    "memory."
                )
            return read_runs(data.load())
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path}: the file cannot be read as a dataset ({error}).") from error


def _compute_memory_limit() -> int:
    """Return the size limit of loaded datasets in bytes: half of the memory, as computations copy data."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 8 * 2**30  # systems without sysconf (Windows): half of the usual 16 GiB


def _write_csv(data: "Dataset", path: Path) -> None:
    """Write a dataset as CSV with one column per scalar, named like `contact_force[rear, normal]`.

    The rows are the sample times of a run, the speeds of straight running, the grid points of a map or
    sweep, or the members of a family of cycles.
    """
    columns = []
    if "time" in data.dims:
        columns.append(("time", data["time"].values))
        for name, variable in data.data_vars.items():
            if "time" in variable.dims:
                columns += _make_columns(data, str(name), ["time"])
    elif "speed" in data.dims:
        columns.append(("speed", data["speed"].values))
        for name in ("eigenvalue_real", "eigenvalue_imaginary"):
            for mode in data["eigenmode"].values:
                columns.append((f"{name}[{mode}]", data[name].sel(eigenmode=mode).values))
    else:
        axes = [d for d in data.dims if all(d in v.dims for v in data.values())]
        grids = np.meshgrid(*[data[d].values for d in axes], indexing="ij")
        columns += [(str(d), g.ravel()) for d, g in zip(axes, grids, strict=True)]
        for name in data.data_vars:
            columns += _make_columns(data, str(name), axes)
    header = ",".join(_quote_cell(name) for name, _ in columns)
    is_text = [values.dtype.kind in "UO" for _, values in columns]
    kind = object if any(is_text) else float
    table = np.column_stack(
        [
            np.array([_quote_cell(str(x)) for x in values], object) if text else values.astype(kind)
            for text, (_, values) in zip(is_text, columns, strict=True)
        ]
    )
    # With 17 significant digits, every double is represented exactly.
    formats = ["%s" if text else "%.17g" for text in is_text]
    np.savetxt(path, table, fmt=formats, delimiter=",", header=header, comments="")


def _quote_cell(text: str) -> str:
    """Quote a text as a CSV cell if it contains commas, quotes or line breaks (RFC 4180)."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text


def _make_columns(data: "Dataset", name: str, axes: "list[Hashable]") -> "list[tuple[str, Any]]":
    """Return a variable as (heading, values) columns with one row per point of the given axes.

    The labels of the other dimensions of the variable are part of the column headings.
    """
    variable = data[name].transpose(*axes, ...)
    others = variable.dims[len(axes) :]
    labels = [[str(x) for x in _read_labels(data, d)] for d in others]
    sizes = [data.sizes[d] for d in others]
    lines = int(np.prod([data.sizes[axis] for axis in axes]))
    # State all sizes. The size -1 fails for variables of length zero (vehicles without joints).
    flat = variable.values.reshape(lines, int(np.prod(sizes)))
    names = [
        ", ".join(texts[i] for texts, i in zip(labels, index, strict=True))
        for index in np.ndindex(*sizes)
    ]
    return [(f"{name}[{text}]" if text else name, flat[:, k]) for k, text in enumerate(names)]


def _read_labels(data: "Dataset", dimension: object) -> list[object]:
    """Return the labels of a dimension; the indices 0, 1, ... if it has no labels."""
    return (
        list(data[dimension].values)
        if dimension in data.coords
        else list(range(data.sizes[dimension]))
    )
