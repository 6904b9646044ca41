"""The runs of a sweep on disk: a Zarr store, filled chunk by chunk. A chunk counts once its mark is
there, which is written last; what was interrupted before is computed again.
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
from draisine.codegen.files import lock, whole_file
from draisine.errors import DataError, SimulationError
from draisine.results.attributes import CONTENT, collect_origin, content_hash
from draisine.results.runs import COMMITTED_VARIABLE, ORDER_ATTRIBUTE, read_runs
from draisine.results.store import check_target, named_files

if TYPE_CHECKING:
    from xarray import Dataset


@dataclass(frozen=True)
class SweepStore:
    """A place on disk for the runs of a sweep, `chunk` of them in each file of every variable."""

    path: Path
    chunk: int

    def create(self, like: "Dataset", count: int, identity: str) -> None:
        """Lay out a store for so many runs of a table of one, with none of them filled in."""
        with whole_file(self.path) as new:
            group = zarr_group(new, "w")
            for name, one in like.variables.items():
                group.create_array(
                    str(name),
                    shape=(count,),
                    chunks=(self.chunk,),
                    dtype="str" if one.dtype.kind in "UO" else one.dtype,
                    fill_value={"U": "", "f": float("nan")}.get(one.dtype.kind),
                    attributes={"_ARRAY_DIMENSIONS": ["run"], **one.attrs},
                )
            group.create_array(
                COMMITTED_VARIABLE,
                shape=(-(-count // self.chunk),),
                chunks=(1,),
                dtype="int8",
                fill_value=0,
                attributes={"_ARRAY_DIMENSIONS": ["chunk"], "identity": identity},
            )
            aside = [str(name) for name in like.coords if name != "run"]
            order = json.dumps([str(name) for name in (*like.coords, *like.data_vars)])
            # Without a hash: `finish` adds it when all chunks are there.
            told = like.attrs | collect_origin()
            group.attrs.update(told | {"coordinates": " ".join(aside), ORDER_ATTRIBUTE: order})

    def check_identity(self, identity: str) -> None:
        """Raise where the store is of another sweep: resuming would mix two."""
        try:
            found = self._group[COMMITTED_VARIABLE].attrs.get("identity")
        except (KeyError, ValueError, OSError):
            raise DataError(f"{self.path}: holds no sweep that could be resumed.") from None
        if found != identity:
            raise DataError(
                f"{self.path}: holds another sweep: the scenario, code that it names, or the version "
                "of draisine has changed since. Take another name, or remove it."
            )

    def missing(self) -> list[int]:
        """Return which chunks are not there yet."""
        return [k for k, mark in enumerate(self._group[COMMITTED_VARIABLE][:].tolist()) if not mark]

    def write(self, k: int, table: "Dataset") -> None:
        """Write a chunk that is whole, and then its mark."""
        import zarr

        here = slice(k * self.chunk, k * self.chunk + table.sizes["run"])
        try:
            with zarr.config.set({"array.write_empty_chunks": True}):
                for name, one in table.variables.items():
                    text = one.dtype.kind in "UO"
                    self._group[str(name)][here] = one.values.astype(str) if text else one.values
                self._group[COMMITTED_VARIABLE][k] = 1
        except OSError as error:
            raise DataError(
                f"{self.path}: chunk {k} cannot be written: {error.strerror or error}. Those before "
                "are kept; resume when there is room."
            ) from error

    def finish(self) -> "Dataset":
        """Return all runs of a store that is complete, after giving it the hash of its content."""
        data = self.read()
        self._group.attrs[CONTENT] = content_hash(data)
        return data.assign_attrs({CONTENT: self._group.attrs[CONTENT]})

    def read(self) -> "Dataset":
        """Return all runs, those on no grid read when they are looked at; or tell how many chunks there
        are of a store that was interrupted.
        """
        import xarray

        missing, count = len(self.missing()), self._group[COMMITTED_VARIABLE].shape[0]
        if missing:
            raise SimulationError(
                f"the sweep was interrupted; {self.path} keeps {count - missing} of {count} chunks. "
                "Resume it to compute the others."
            )
        return read_runs(
            xarray.open_dataset(self.path, engine="zarr", consolidated=False, cache=False)
        )

    @cached_property
    def _group(self) -> Any:
        return zarr_group(self.path, "r+")


def zarr_group(path: Path, mode: Any) -> Any:
    """Return a Zarr group."""
    import zarr

    return zarr.open_group(path, mode=mode, zarr_format=2)


@contextmanager
def open_store(
    like: "Dataset", count: int, path: Path, chunk: int, resume: bool
) -> Iterator[SweepStore]:
    """Give the store of a sweep whose first run is known as a table: a new one, or, to resume, the one
    that is there if it is of the same sweep. Nobody else has it meanwhile; who died has it no more.
    """
    check_target(path, (".zarr",))
    store, identity = SweepStore(path, chunk), _identity(like)
    if not os.path.exists(path):
        store.create(like, count, identity)
    elif not resume:
        raise DataError(f"{path}: is there already. Resume it, remove it, or take another name.")
    store.check_identity(identity)
    with lock(path):
        yield store


def _identity(like: "Dataset") -> str:
    """Return what tells one sweep from another: a hash of its scenario, its machine, the first of its
    runs and the version; files that it names count by what they hold, not by where they are.
    """
    told = json.dumps(
        {
            "version": draisine.__version__,
            "attributes": {k: str(x) for k, x in like.attrs.items()},
            "first": {str(name): str(x.values.tolist()) for name, x in like.coords.items()},
        },
        sort_keys=True,
    )
    for file in named_files(like):
        told = told.replace(file, hashlib.sha256(Path(file).read_bytes()).hexdigest())
    return hashlib.sha256(told.encode()).hexdigest()
