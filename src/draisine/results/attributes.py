"""What a stored dataset tells of itself, in attributes that are JSON: read, or told to be damaged; and its
stamp: when and with which code it was stored, and a hash of its content.

The hash is SHA-256 over all variables (name, dimensions, type, values, attributes) and all attributes but
the stamp, in an order of names. So it is the same in netCDF, in Zarr and in memory.
"""

import hashlib
import json
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import draisine
from draisine.errors import DataError
from draisine.simulation.validity import Validity

if TYPE_CHECKING:
    from xarray import Dataset


def read_table(data: "Dataset", name: str) -> dict[str, Any]:
    """Return an attribute that holds a table; an empty one where there is none."""
    found = _parse(data, name, "{}")
    if not isinstance(found, dict):
        raise DataError(f"the dataset's attribute {name!r} is damaged: it is no table.")
    return found


def read_list(data: "Dataset", name: str) -> list[Any]:
    """Return an attribute that holds a list; an empty one where there is none."""
    found = _parse(data, name, "[]")
    if not isinstance(found, list):
        raise DataError(f"the dataset's attribute {name!r} is damaged: it is no list.")
    return found


def measured_of(data: "Dataset") -> dict[str, tuple[list[float], list[float]]]:
    """Return the series that were measured, by name, in a run that is held against them: times, values."""
    if "time" not in data.dims:
        return {}
    try:
        return {
            name: (block["at"], values)
            for block in read_table(data, "scenario").get("content", {}).get("expected", ())
            if block.get("origin") == "measured" and "at" in block
            for name, values in block["values"].items()
            if isinstance(values, list)
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"the dataset's attribute 'scenario' is damaged: {error}.") from error


def validity_of(data: "Dataset") -> Validity | None:
    """Return whether a run can be believed; None of what is no run."""
    if "validity" not in data.attrs:
        return None
    try:
        return Validity.loads(json.dumps(read_table(data, "validity")))
    except TypeError as error:
        raise DataError(f"the dataset's attribute 'validity' is damaged: {error}.") from error


def _parse(data: "Dataset", name: str, default: str) -> Any:
    try:
        return json.loads(str(data.attrs.get(name, default)))
    except ValueError as error:
        raise DataError(f"the dataset's attribute {name!r} is damaged: {error}.") from error


CREATED, COMMIT, CONTENT = "created", "commit", "content_sha256"
"""Attributes of the stamp: date and time (UTC), commit of the code if known, hash of the content."""

STAMP = (CREATED, COMMIT, CONTENT)


def add_stamp(data: "Dataset") -> "Dataset":
    """Return a dataset with the version, the date, the commit and the hash of its content.

    A dataset that already has a date keeps it, and its commit: it was made then. The hash is that of
    the content now.
    """
    told = {"draisine": draisine.__version__} | data.attrs
    new = data.assign_attrs(told if CREATED in told else told | collect_origin())
    return new.assign_attrs({CONTENT: content_hash(new)})


def collect_origin() -> dict[str, str]:
    """Return the date and time now (UTC), and the commit of the code if known."""
    told = {CREATED: datetime.now(UTC).isoformat(timespec="seconds")}
    commit = code_commit()
    return told | {COMMIT: commit} if commit else told


def without_stamp(data: "Dataset") -> "Dataset":
    """Return a dataset as it was before it was stored."""
    new = data.copy(deep=False)
    new.attrs = {name: value for name, value in data.attrs.items() if name not in STAMP}
    return new


def is_unchanged(data: "Dataset") -> bool | None:
    """Return whether the content of a dataset is that of its stamp; None without a stamp.

    Examples
    --------
    >>> import xarray
    >>> data = add_stamp(xarray.Dataset({"lean": ("time", [0.0, 0.1])}))
    >>> is_unchanged(data), is_unchanged(data * 2.0)
    (True, False)
    """
    if CONTENT not in data.attrs:
        return None
    return bool(data.attrs[CONTENT] == content_hash(data))


def content_hash(data: "Dataset") -> str:
    """Return the SHA-256 of the content of a dataset, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    _add(digest, {k: v for k, v in data.attrs.items() if k not in STAMP})
    for name in sorted(map(str, data.variables)):
        one = data.variables[name]
        values = np.asarray(one.values)
        _add(digest, [name, list(map(str, one.dims)), list(values.shape)])
        _add(digest, dict(one.attrs))
        if values.dtype.kind in "UOS":
            _add(digest, [str(x) for x in values.ravel().tolist()])
        else:
            # Stores may change the order of bytes and the width of integers.
            wide = values.astype("<f8" if values.dtype.kind == "f" else "<i8")
            digest.update(np.ascontiguousarray(wide).tobytes())
    return digest.hexdigest()


def _add(digest: Any, told: Any) -> None:
    """Add plain data to a hash; numbers of attributes have no type, as in netCDF."""

    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)

    digest.update(json.dumps(told, sort_keys=True, default=plain).encode())


@cache
def code_commit() -> str:
    """Return the commit of the code of draisine, with `-dirty` if it was changed since; empty if unknown.

    An installed package knows it from its metadata (PEP 610), a source tree from git.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    root = Path(draisine.__file__).resolve().parents[2]
    if (root / ".git").exists() and (root / "src" / "draisine").is_dir():
        ask = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"]
        try:
            found = subprocess.run(
                [*ask, "--exclude=*"], capture_output=True, text=True, timeout=10, check=True
            )
            return found.stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return ""
    try:
        told = distribution("draisine").read_text("direct_url.json")
        return str(json.loads(told or "{}").get("vcs_info", {}).get("commit_id", ""))
    except (PackageNotFoundError, ValueError, AttributeError):
        return ""
