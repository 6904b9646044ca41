"""The runs of a sweep on disk: a Zarr store, filled chunk by chunk. A chunk counts once its mark is
there, which is written last; what was interrupted before is computed again.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import draisine
from draisine.codegen.files import whole_file
from draisine.errors import DataError, SimulationError
from draisine.experiment.sweep.table import SweepRows
from draisine.results.runs import MARK
from draisine.results.store import check_target, code_files, load

if TYPE_CHECKING:
    from xarray import Dataset


@dataclass(frozen=True)
class SweepStore:
    """A place on disk for the runs of a sweep, `chunk` of them in each file of every variable."""

    path: Path
    chunk: int

    def create(self, data: "Dataset", identity: str) -> None:
        """Lay out a store for all runs of a table, with none of them filled in."""
        count = data.sizes["run"]
        with whole_file(self.path) as new:
            data.drop_vars(list(data.data_vars)).to_zarr(
                new, mode="w", consolidated=False, zarr_format=2, write_empty_chunks=True
            )
            group = _open(new)
            for name, one in data.data_vars.items():
                text = one.dtype.kind == "U"
                group.create_array(
                    str(name),
                    shape=(count,),
                    chunks=(self.chunk,),
                    dtype="str" if text else "float64",
                    fill_value="" if text else float("nan"),
                    attributes={"_ARRAY_DIMENSIONS": ["run"], **one.attrs},
                )
            group.create_array(
                MARK,
                shape=(-(-count // self.chunk),),
                chunks=(1,),
                dtype="int8",
                fill_value=0,
                attributes={"_ARRAY_DIMENSIONS": ["chunk"], "identity": identity},
            )

    def check_identity(self, identity: str) -> None:
        """Raise where the store is of another sweep: resuming would mix two."""
        try:
            found = self._group[MARK].attrs.get("identity")
        except (KeyError, ValueError, OSError):
            raise DataError(f"{self.path}: holds no sweep that could be resumed.") from None
        if found != identity:
            raise DataError(
                f"{self.path}: holds another sweep: the scenario, code that it names, or the version "
                "of draisine has changed since. Take another name, or remove it."
            )

    def missing(self) -> list[int]:
        """Return which chunks are not there yet."""
        return [k for k, mark in enumerate(self._group[MARK][:].tolist()) if not mark]

    def write(self, k: int, rows: SweepRows) -> None:
        """Write a chunk that is whole, and then its mark."""
        import zarr

        if not rows.finished:
            return
        here = slice(k * self.chunk, k * self.chunk + len(rows.outcome))
        try:
            with zarr.config.set({"array.write_empty_chunks": True}):
                for text, values in rows.answers.items():
                    self._group[text][here] = values
                self._group["outcome"][here] = rows.outcome.astype(str)
                self._group[MARK][k] = 1
        except OSError as error:
            raise DataError(
                f"{self.path}: chunk {k} cannot be written: {error.strerror or error}. Those before "
                "are kept; resume when there is room."
            ) from error

    def read(self) -> "Dataset":
        """Return all runs, or tell how many chunks there are of a store that was interrupted."""
        missing, count = len(self.missing()), self._group[MARK].shape[0]
        if missing:
            raise SimulationError(
                f"the sweep was interrupted; {self.path} keeps {count - missing} of {count} chunks. "
                "Resume it to compute the others."
            )
        return load(self.path)

    @cached_property
    def _group(self) -> Any:
        return _open(self.path)


def _open(path: Path) -> Any:
    """Return a Zarr group that is there already."""
    import zarr

    return zarr.open_group(path, mode="r+", zarr_format=2)


def open_store(data: "Dataset", path: Path, chunk: int, resume: bool) -> SweepStore:
    """Return the store of a sweep: a new one, or, to resume, the one that is there if it is of the
    same sweep.
    """
    check_target(path, (".zarr",))
    store, identity = SweepStore(path, chunk), _identity(data)
    if not os.path.exists(path):
        store.create(data, identity)
    elif not resume:
        raise DataError(f"{path}: is there already. Resume it, remove it, or take another name.")
    store.check_identity(identity)
    return store


def _identity(data: "Dataset") -> str:
    """Return what tells one sweep from another: a hash of its scenario, its machine, all values of its
    runs, the code that it names and the version.
    """
    told = {
        "version": draisine.__version__,
        "attributes": {k: str(x) for k, x in data.attrs.items()},
    }
    found = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    for name in sorted(map(str, data.coords)):
        found.update(str(data[name].values.tolist()).encode())
    for file in code_files(data):
        found.update(Path(file.rpartition(":")[0] or file).read_bytes())
    return found.hexdigest()
