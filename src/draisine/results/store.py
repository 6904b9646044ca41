"""Datasets in files: netCDF, Zarr, CSV; whole or not at all.

A .csv has columns only, so that every program reads it. Attributes are in a file beside it that ends with
`-metadata.json`, the name that the W3C recommends (Model for Tabular Data, 2015, section 5.3).
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
from draisine.codegen.files import atomic_write, check_folder, check_writable
from draisine.errors import DataError, ParameterError
from draisine.results.attributes import CONTENT, add_stamp, read_table
from draisine.results.recording import read_recording
from draisine.results.runs import read_runs
from draisine.results.zarr_store import check_zarr

if TYPE_CHECKING:
    from collections.abc import Hashable

    from xarray import Dataset

RESULT_SUFFIXES = (".nc", ".zarr", ".csv")
"""What a result can be written as, and read."""


FIGURE_SUFFIXES = (".png", ".jpg", ".svg", ".pdf")
"""What a figure can be written as."""


AT_ONCE = (
    "Without a store, `draisine run FILE.toml --out FILE.nc` keeps all runs when the last is done"
)
"""The way out for a sweep into something else."""


def check_target(path: Path, allowed: tuple[str, ...] = RESULT_SUFFIXES) -> None:
    """Raise where nothing could be written, before any work is done."""
    if path.suffix not in allowed:
        only = f" {AT_ONCE}." if allowed == (".zarr",) else ""
        raise DataError(f"{path}: write to a file that ends with {', '.join(allowed)}.{only}")
    _check_zarr_there(
        path, AT_ONCE if allowed == (".zarr",) else "Or take a file that ends with .nc"
    )
    if path.suffix == ".zarr" and os.path.exists(path):
        if not _is_store(path):
            raise DataError(
                f"{path}: is there, but not as a result; remove it, or take another name."
            )
        check_folder(path)
    else:
        check_writable(path)


def _check_zarr_there(path: Path, way: str) -> None:
    """Raise where a folder of chunks is asked for and the package for it is missing."""
    if path.suffix == ".zarr" and find_spec("zarr") is None:
        raise DataError(
            f"{path}: needs the package zarr, which is not installed here: "
            f"pip install 'draisine[store]'. {way}."
        )


def _is_store(path: Path) -> bool:
    """Return whether a folder holds a Zarr store, or nothing, so that it may be replaced."""
    if not os.path.isdir(path):
        return False
    inside = {entry.name for entry in path.iterdir()}
    return not inside or bool(inside & {".zgroup", "zarr.json"})


def dataset_of(what: Any) -> "Dataset":
    """Return a run, a result, eigenmodes, a dataset or the file of one as a dataset."""
    if isinstance(what, str | Path):
        return load(what)
    from xarray import Dataset

    data = getattr(what, "data", what) if hasattr(what, "outcome") else what
    if not isinstance(data, Dataset) and hasattr(what, "to_xarray"):
        data = what.to_xarray()
    if not isinstance(data, Dataset):
        raise ParameterError(
            f"{what!r:.80} is no result; give a run, a result, eigenmodes, a dataset or the file of one."
        )
    return data


def save(what: Any, path: str | Path) -> None:
    """Write a run, a result, eigenmodes or a dataset into a file that ends with .nc, .zarr or .csv; nothing
    half-written remains if that fails. The file has the attributes `draisine` (version), `created` (UTC),
    `commit` of the code if known, and `content_sha256`; results also `law` with all its numbers and
    `recipe`, the script that makes them again. A .csv has columns only; its attributes are in the file beside
    it that ends with .csv-metadata.json, `content_sha256` being that of the bytes of the .csv.

    >>> import draisine, tempfile
    >>> disc = draisine.compile("rolling_disc")
    >>> run = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draisine.save(run, f"{folder}/run.nc")
    ...     print(draisine.load(f"{folder}/run.nc").outcome)
    completed
    """
    data, path = add_stamp(dataset_of(what)), Path(path)
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


WHOLE_RESULT = ("vehicle", "vehicle_path", "vehicle_here")
"""Attributes by which replays and figures recognise a result with all its variables. Columns are not such
a result, so they are read without these."""


def metadata_path(path: Path) -> Path:
    """Return the file beside a .csv that has its attributes."""
    return path.with_name(f"{path.name}-metadata.json")


def _write_metadata(data: "Dataset", path: Path) -> None:
    """Write the attributes of a dataset and of its variables beside a .csv."""
    attributes = dict(data.attrs) | {CONTENT: hashlib.sha256(path.read_bytes()).hexdigest()}
    variables = {str(name): dict(one.attrs) for name, one in data.variables.items() if one.attrs}
    content = {"attributes": attributes, "variables": variables}
    with atomic_write(metadata_path(path)) as new:
        new.write_text(json.dumps(content, indent=1, default=_plain) + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """Return a number or array of NumPy as JSON has it."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _read_csv(path: Path) -> "Dataset":
    """Return the columns of a .csv with the attributes beside it, if it is as it was written."""
    data = read_recording(path)
    beside = metadata_path(path)
    if not beside.is_file():
        return data
    try:
        content = json.loads(beside.read_text(encoding="utf-8"))
        attributes = dict(content["attributes"])
        variables = {name: dict(one) for name, one in content["variables"].items()}
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{beside}: cannot be read ({error}). Remove it to read {path} alone."
        ) from error
    if attributes.pop(CONTENT, None) != hashlib.sha256(path.read_bytes()).hexdigest():
        warnings.warn(
            f"{path} has changed since it was written; the attributes in {beside.name} are left out.",
            stacklevel=2,
        )
        return data
    for name, one in data.variables.items():
        one.attrs |= variables.get(str(name).partition("[")[0], {})
    return data.assign_attrs({k: v for k, v in attributes.items() if k not in WHOLE_RESULT})


def _write_netcdf(data: "Dataset", path: Path) -> None:
    """Write netCDF. Its library reports a full disk as "HDF error" or as "Permission denied"; the reason
    that the system gives for as many plain bytes is the true one.
    """
    try:
        data.to_netcdf(path, engine="netcdf4")
    except (OSError, RuntimeError) as error:
        _write_zeros(path.parent, data.nbytes)
        if isinstance(error, OSError):
            raise
        free = shutil.disk_usage(path.parent).free
        raise OSError(f"{error}, with {free / 1e6:.3g} MB free there") from error


def _write_zeros(folder: Path, size: int) -> None:
    """Write so many bytes into a folder, as a file that vanishes; raise what prevents it."""
    block = bytes(2**20)
    with tempfile.TemporaryFile(dir=folder) as file:
        for done in range(0, size, len(block)):
            file.write(block[: size - done])
        file.flush()


def load(path: str | Path, trust: bool = False) -> "Dataset":
    """Return a result that was stored as .nc or .zarr as a dataset, loaded whole; see `save`. Of a .csv,
    ours or a recording, come the columns over `time`: see `draisine.results.recording`.

    A result may name code of its own: the file of its vehicle or law. That is never run, unless you
    `trust` the result.
    """
    data = _load(Path(path))
    if trust:
        for file in code_files(data):
            registry.trust(file)
    return data


def code_files(data: "Dataset") -> list[str]:
    """Return the files of code that a dataset names: of its vehicle, its scenario's plugs, its ride."""
    return [text for text in _words(data) if registry.is_file(text)]


def named_files(data: "Dataset") -> list[str]:
    """Return all files that a dataset names and that are there: of code, and those of its ground."""
    found = [re.sub(r"(\.py):.*", r"\1", text, flags=re.DOTALL) for text in _words(data)]
    return [text for text in dict.fromkeys(found) if Path(text).suffix and os.path.isfile(text)]


def _words(data: "Dataset") -> Iterator[str]:
    """Yield all words of the scenario, and of the ride, that a dataset carries."""
    yield str(data.attrs.get("vehicle_path", ""))
    for name in ("scenario", "ride"):
        waiting: list[Any] = [read_table(data, name)]
        while waiting:
            one = waiting.pop()
            if isinstance(one, dict):
                waiting += one.values()
            elif isinstance(one, list):
                waiting += one
            elif isinstance(one, str):
                yield one


def _load(path: Path) -> "Dataset":
    """Return a stored dataset, loaded whole."""
    import xarray

    if path.suffix not in RESULT_SUFFIXES:
        hint = "."
        if not path.suffix:
            hint = f". If {path} is a scenario, `draisine run {path} --out {path}.nc` writes one."
        raise DataError(f"{path}: results are .nc or .zarr, recordings .csv{hint}")
    if not os.path.exists(path):
        raise DataError(
            f"{path}: no such file. `draisine run SCENARIO --out {path}` writes a result."
        )
    if not (path.is_file() or path.is_dir()):
        raise DataError(f"{path}: is neither a file nor a folder.")
    if path.suffix == ".csv":
        return _read_csv(path)
    _check_zarr_there(path, "A .nc can be read without it")
    if path.suffix == ".zarr":
        check_zarr(path)
    try:
        data = (
            xarray.open_dataset(path, engine="netcdf4")
            if path.suffix == ".nc"
            else xarray.open_zarr(path, consolidated=False)
        )
        with data:
            if data.nbytes > _room():
                raise DataError(f"{path}: holds {data.nbytes / 1e9:.3g} GB, more than fits here.")
            return read_runs(data.load())
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{path}: is not a dataset that can be read ({error}).") from error


def _room() -> int:
    """Return how many bytes of data are taken into memory: half of what the computer has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 8 * 2**30


def _write_csv(data: "Dataset", path: Path) -> None:
    """Write one column per scalar, named like `contact_force[rear, normal]`; of maps and sweeps one
    line per point, of straight running one per speed, of families of cycles one per member.
    """
    columns = []
    if "time" in data.dims:
        columns.append(("time", data["time"].values))
        for name, variable in data.data_vars.items():
            if "time" in variable.dims:
                columns += _columns(data, str(name), ["time"])
    elif "speed" in data.dims:
        columns.append(("speed", data["speed"].values))
        for name in ("eigenvalue_real", "eigenvalue_imaginary"):
            for mode in data["eigenmode"].values:
                columns.append((f"{name}[{mode}]", data[name].sel(eigenmode=mode).values))
    else:
        sides = [d for d in data.dims if all(d in v.dims for v in data.values())]
        grids = np.meshgrid(*[data[d].values for d in sides], indexing="ij")
        columns += [(str(d), g.ravel()) for d, g in zip(sides, grids, strict=True)]
        for name in data.data_vars:
            columns += _columns(data, str(name), sides)
    header = ",".join(_cell(name) for name, _ in columns)
    words = [values.dtype.kind in "UO" for _, values in columns]
    kind = object if any(words) else float
    table = np.column_stack(
        [
            np.array([_cell(str(x)) for x in values], object) if word else values.astype(kind)
            for word, (_, values) in zip(words, columns, strict=True)
        ]
    )
    formats = ["%s" if word else "%.17g" for word in words]
    np.savetxt(path, table, fmt=formats, delimiter=",", header=header, comments="")


def _cell(text: str) -> str:
    """Return a text as it stands in a line of values with commas between them."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text


def _columns(data: "Dataset", name: str, sides: "list[Hashable]") -> "list[tuple[str, Any]]":
    """Return a variable as columns, one line per place along the sides; what else it runs along
    stands in the names of the columns.
    """
    variable = data[name].transpose(*sides, ...)
    others = variable.dims[len(sides) :]
    labels = [[str(x) for x in _labels(data, d)] for d in others]
    sizes = [data.sizes[d] for d in others]
    lines = int(np.prod([data.sizes[side] for side in sides]))
    flat = variable.values.reshape(
        lines, int(np.prod(sizes))
    )  # a machine may have no joints at all
    inside = [
        ", ".join(names[i] for names, i in zip(labels, index, strict=True))
        for index in np.ndindex(*sizes)
    ]
    return [(f"{name}[{text}]" if text else name, flat[:, k]) for k, text in enumerate(inside)]


def _labels(data: "Dataset", dim: object) -> list[object]:
    return list(data[dim].values) if dim in data.coords else list(range(data.sizes[dim]))
