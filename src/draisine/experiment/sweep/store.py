"""Zarr store of the runs of a sweep, written chunk by chunk.

A mark is written after each chunk. A chunk without a mark is incomplete and is computed again when the sweep
is resumed. Only one process may write to a store, so the main process of the sweep locks it.

"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import draisine
from draisine.codegen.files import atomic_write, lock_folder
from draisine.errors import DataError, SimulationError
from draisine.results.attributes import HASH_ATTRIBUTE, collect_origin, content_hash
from draisine.results.runs import COMMITTED_VARIABLE, ORDER_ATTRIBUTE, read_runs
from draisine.results.store import check_target, list_named_files

if TYPE_CHECKING:
    from xarray import Dataset


@dataclass(frozen=True)
class SweepStore:
    """Zarr store of a sweep: each variable is stored in chunks of `chunk` runs."""

    path: Path
    chunk: int

    def create(self, template: "Dataset", count: int, identity: str) -> None:
        """Create an empty store for `count` runs with the variables of the one-run dataset `template`."""
        with atomic_write(self.path) as new:
            group = open_group(new, "w")
            for name, variable in template.variables.items():
                group.create_array(
                    str(name),
                    shape=(count,),
                    chunks=(self.chunk,),
                    dtype="str" if variable.dtype.kind in "UO" else variable.dtype,
                    fill_value={"U": "", "f": float("nan")}.get(variable.dtype.kind),
                    attributes={"_ARRAY_DIMENSIONS": ["run"], **variable.attrs},
                )
            group.create_array(
                COMMITTED_VARIABLE,
                shape=(-(-count // self.chunk),),
                chunks=(1,),
                dtype="int8",
                fill_value=0,
                attributes={"_ARRAY_DIMENSIONS": ["chunk"], "identity": identity},
            )
            coordinates = [str(name) for name in template.coords if name != "run"]
            order = json.dumps([str(name) for name in (*template.coords, *template.data_vars)])
            # The method `add_content_hash` adds the content hash after the last chunk.
            attributes = template.attrs | collect_origin()
            attributes |= {"coordinates": " ".join(coordinates), ORDER_ATTRIBUTE: order}
            group.attrs.update(attributes)

    def check_identity(self, identity: str) -> None:
        """Raise `DataError` if the store belongs to another sweep, because resuming would mix two sweeps."""
        try:
            stored = self._zarr_group[COMMITTED_VARIABLE].attrs.get("identity")
        except (KeyError, ValueError, OSError):
            raise DataError(
                f"{self.path} is not the store of a sweep and cannot be resumed. Choose another path."
            ) from None
        if stored != identity:
            raise DataError(
                f"{self.path} belongs to another sweep: the scenario, a file that it names, or the "
                "version of draisine has changed. Choose another path, or remove the store."
            )

    def find_missing_chunks(self) -> list[int]:
        """Return the indices of incomplete chunks."""
        return [
            k for k, mark in enumerate(self._zarr_group[COMMITTED_VARIABLE][:].tolist()) if not mark
        ]

    def write_chunk(self, chunk_index: int, table: "Dataset") -> None:
        """Write one chunk with its runs, and then its mark."""
        import zarr

        rows = slice(chunk_index * self.chunk, chunk_index * self.chunk + table.sizes["run"])
        try:
            # By default Zarr omits chunks that equal the fill value. Write them, because a missing
            # file indicates damage.
            with zarr.config.set({"array.write_empty_chunks": True}):
                for name, variable in table.variables.items():
                    values = variable.values
                    is_text = variable.dtype.kind in "UO"
                    self._zarr_group[str(name)][rows] = values.astype(str) if is_text else values
                self._zarr_group[COMMITTED_VARIABLE][chunk_index] = 1
        except OSError as error:
            raise DataError(
                f"{self.path}: chunk {chunk_index} cannot be written: {error.strerror or error}. The chunks "
                "before it are stored. Free some disk space and resume the sweep."
            ) from error

    def add_content_hash(self) -> "Dataset":
        """Store the content hash of a complete store and return the dataset of all runs."""
        data = self.read_runs()
        self._zarr_group.attrs[HASH_ATTRIBUTE] = content_hash(data)
        return data.assign_attrs({HASH_ATTRIBUTE: self._zarr_group.attrs[HASH_ATTRIBUTE]})

    def read_runs(self) -> "Dataset":
        """Return the dataset of all runs; raise `SimulationError` if chunks are missing.

        Runs that do not form a grid are read lazily.
        """
        import xarray

        missing = len(self.find_missing_chunks())
        count = self._zarr_group[COMMITTED_VARIABLE].shape[0]
        if missing:
            raise SimulationError(
                f"the sweep was interrupted; {self.path} contains {count - missing} of {count} chunks. "
                "Resume it to compute the missing ones."
            )
        return read_runs(
            xarray.open_dataset(self.path, engine="zarr", consolidated=False, cache=False)
        )

    @cached_property
    def _zarr_group(self) -> Any:
        """Zarr group of the store, opened for reading and writing."""
        return open_group(self.path, "r+")


def open_group(path: Path, mode: Any) -> Any:
    """Open a Zarr group (format 2) at a path."""
    import zarr

    return zarr.open_group(path, mode=mode, zarr_format=2)


@contextmanager
def open_store(
    template: "Dataset", count: int, path: Path, chunk: int, resume: bool
) -> Iterator[SweepStore]:
    """Create or open the store of a sweep and lock it for this process.

    A new store gets the variables of `template`, the dataset of the first run. An existing store is
    opened only to `resume` the same sweep. The operating system releases the lock if the process dies.
    """
    check_target(path, (".zarr",))
    store = SweepStore(path, chunk)
    identity = _hash_sweep(template)
    if not os.path.exists(path):
        store.create(template, count, identity)
    elif not resume:
        raise DataError(f"{path} already exists. Resume it, remove it, or choose another path.")
    store.check_identity(identity)
    with lock_folder(path):
        yield store


def _hash_sweep(template: "Dataset") -> str:
    """Return a hash that identifies a sweep: scenario, vehicle, values of the first run, version."""
    text = json.dumps(
        {
            "version": draisine.__version__,
            "attributes": {k: str(x) for k, x in template.attrs.items()},
            "first": {str(name): str(x.values.tolist()) for name, x in template.coords.items()},
        },
        sort_keys=True,
    )
    # Use the content of files, not their paths, in the hash, so that a sweep can be resumed in
    # another folder.
    for file in list_named_files(template):
        text = text.replace(file, hashlib.sha256(Path(file).read_bytes()).hexdigest())
    return hashlib.sha256(text.encode()).hexdigest()
