"""Metadata of a stored dataset: JSON attributes, and a stamp of date, commit and content hash.

Damaged attributes raise `DataError`. The hash is SHA-256 over all variables (name, dimensions, type, values,
attributes) and all attributes except the stamp, sorted by name, so that netCDF, Zarr and memory agree.
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


def read_table_attribute(data: "Dataset", name: str) -> dict[str, Any]:
    """Return a dataset attribute that contains a JSON object; an empty dict if it is missing."""
    value = _parse_attribute(data, name, "{}")
    if not isinstance(value, dict):
        raise DataError(
            f"The dataset's attribute {name!r} is damaged: it is not a table. Store the result "
            "again."
        )
    return value


def read_list_attribute(data: "Dataset", name: str) -> list[Any]:
    """Return a dataset attribute that contains a JSON array; an empty list if it is missing."""
    value = _parse_attribute(data, name, "[]")
    if not isinstance(value, list):
        raise DataError(
            f"The dataset's attribute {name!r} is damaged: it is not a list. Store the result "
            "again."
        )
    return value


def read_measured_series(data: "Dataset") -> dict[str, tuple[list[float], list[float]]]:
    """Return the measured time series in the scenario of a dataset: name -> (times in s, SI values)."""
    if "time" not in data.dims:
        return {}
    try:
        return {
            name: (block["at"], values)
            for block in read_table_attribute(data, "scenario")
            .get("content", {})
            .get("expected", ())
            if block.get("origin") == "measured" and "at" in block
            for name, values in block["values"].items()
            if isinstance(values, list)
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"The dataset's attribute 'scenario' is damaged: {error}.") from error


def read_validity(data: "Dataset") -> Validity | None:
    """Return the validity record stored in the dataset of a run; None for other datasets."""
    if "validity" not in data.attrs:
        return None
    try:
        return Validity.loads(json.dumps(read_table_attribute(data, "validity")))
    except TypeError as error:
        raise DataError(f"The dataset's attribute 'validity' is damaged: {error}.") from error


def _parse_attribute(data: "Dataset", name: str, default: str) -> Any:
    """Return the JSON value of a dataset attribute, or the parsed default if it is missing."""
    try:
        return json.loads(str(data.attrs.get(name, default)))
    except ValueError as error:
        raise DataError(f"The dataset's attribute {name!r} is damaged: {error}.") from error


CREATED_ATTRIBUTE = "created"
"""Name of the stamp attribute with date and time of creation in UTC, ISO 8601."""

COMMIT_ATTRIBUTE = "commit"
"""Name of the stamp attribute with the git commit of the draisine source code, if known."""

HASH_ATTRIBUTE = "content_sha256"
"""Name of the stamp attribute with the SHA-256 of variables and attributes, hexadecimal digits."""

STAMP_ATTRIBUTES = (CREATED_ATTRIBUTE, COMMIT_ATTRIBUTE, HASH_ATTRIBUTE)
"""Names of all stamp attributes; the content hash excludes them."""


def add_stamp(data: "Dataset") -> "Dataset":
    """Return a dataset with draisine version, creation date, source commit and content hash as attributes.

    An existing creation date and commit are kept, because they state when the data was computed.
    The content hash is recomputed.
    """
    attributes = {"draisine": draisine.__version__} | data.attrs
    if CREATED_ATTRIBUTE not in attributes:
        attributes |= collect_origin()
    new = data.assign_attrs(attributes)
    return new.assign_attrs({HASH_ATTRIBUTE: content_hash(new)})


def collect_origin() -> dict[str, str]:
    """Return the current date and time (UTC) and the git commit of draisine, if known, as attributes."""
    stamp = {CREATED_ATTRIBUTE: datetime.now(UTC).isoformat(timespec="seconds")}
    commit = find_code_commit()
    return stamp | {COMMIT_ATTRIBUTE: commit} if commit else stamp


def without_stamp(data: "Dataset") -> "Dataset":
    """Return a shallow copy of a dataset without the stamp attributes."""
    new = data.copy(deep=False)
    new.attrs = {name: value for name, value in data.attrs.items() if name not in STAMP_ATTRIBUTES}
    return new


def is_unchanged(data: "Dataset") -> bool | None:
    """Return whether the content of a dataset matches its stored hash; None if no hash is stored.

    Examples
    --------
    >>> import xarray
    >>> data = add_stamp(xarray.Dataset({"lean": ("time", [0.0, 0.1])}))
    >>> is_unchanged(data), is_unchanged(data * 2.0)
    (True, False)
    """
    if HASH_ATTRIBUTE not in data.attrs:
        return None
    return bool(data.attrs[HASH_ATTRIBUTE] == content_hash(data))


def content_hash(data: "Dataset") -> str:
    """Return the SHA-256 of the variables and attributes of a dataset as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    _update_hash(digest, {k: v for k, v in data.attrs.items() if k not in STAMP_ATTRIBUTES})
    for name in sorted(map(str, data.variables)):
        variable = data.variables[name]
        values = np.asarray(variable.values)
        _update_hash(digest, [name, list(map(str, variable.dims)), list(values.shape)])
        _update_hash(digest, dict(variable.attrs))
        if values.dtype.kind in "UOS":
            _update_hash(digest, [str(x) for x in values.ravel().tolist()])
        else:
            # File formats may change the byte order and the width of integers. Hash the values in
            # one format.
            wide = values.astype("<f8" if values.dtype.kind == "f" else "<i8")
            digest.update(np.ascontiguousarray(wide).tobytes())
    return digest.hexdigest()


def _update_hash(digest: Any, content: Any) -> None:
    """Update a hash with plain data, serialised as JSON with sorted keys."""

    # The hash ignores the NumPy type of scalar attributes, because netCDF does not keep it.
    def as_plain(value: Any) -> Any:
        """Return a value with NumPy scalars and arrays converted to Python numbers and lists."""
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)

    digest.update(json.dumps(content, sort_keys=True, default=as_plain).encode())


@cache
def find_code_commit() -> str:
    """Return the git commit of the draisine source code, with `-dirty` after local changes; "" if unknown.

    A source tree is queried with git; an installed package records its commit in metadata (PEP 610).
    """
    from importlib.metadata import PackageNotFoundError, distribution

    root = Path(draisine.__file__).resolve().parents[2]
    if (root / ".git").exists() and (root / "src" / "draisine").is_dir():
        # `--exclude=*` ignores tags, so that git describes the bare commit. Without optional locks,
        # a call that times out leaves no lock file in the repository.
        command = [
            "git",
            "--no-optional-locks",
            "-C",
            str(root),
            "describe",
            "--always",
            "--dirty",
            "--abbrev=40",
        ]
        try:
            described = subprocess.run(
                [*command, "--exclude=*"], capture_output=True, text=True, timeout=10, check=True
            )
            return described.stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return ""
    try:
        metadata = distribution("draisine").read_text("direct_url.json")
        return str(json.loads(metadata or "{}").get("vcs_info", {}).get("commit_id", ""))
    except (PackageNotFoundError, ValueError, AttributeError):
        return ""
