"""Cache on disk of derived programs and machine code.

An entry is a file whose name is the hash of its inputs; its first bytes are the hash of its name and
content. An entry that is truncated, modified, moved or owned by another user is ignored and written again.
If the folder is not writable, nothing is cached.

Objects in memory are shared by threads under locks. A fork copies one thread only, so a lock that another
thread holds at that moment is never released in the child. `hold_over_fork` prevents this.
"""

import contextlib
import hashlib
import os
import sys
import tempfile
import threading
from functools import cached_property
from pathlib import Path

from draisine.codegen.files import atomic_write
from draisine.errors import DataError

_MAGIC = b"draisine1"
"""First bytes of a cache entry; the digit is the version of the file format."""

_tidied: set[Path] = set()
"""Folders from which this process has removed the temporary files of killed processes; once is enough."""


def default_folder() -> Path:
    """Return the folder of the cache: the value of the environment variable DRAISINE_CACHE if it is set,
    otherwise `draisine` in the platform's folder for caches.
    """
    if folder := os.environ.get("DRAISINE_CACHE"):
        return Path(folder)
    if base := os.environ.get("LOCALAPPDATA"):
        return Path(base) / "draisine" / "cache"
    base = os.environ.get("XDG_CACHE_HOME", "")
    cache_name = "Library/Caches" if sys.platform == "darwin" else ".cache"
    try:
        return (Path(base) if base else Path.home() / cache_name) / "draisine"
    except RuntimeError:  # the user has no home folder
        return (
            Path(tempfile.gettempdir()) / f"draisine-{os.getuid() if hasattr(os, 'getuid') else 0}"
        )


class Store:
    """Cache of bytes by key, on disk.

    Parameters
    ----------
    folder
        Folder of the entries; that of `default_folder` by default.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> store.put("key", b"value"); store.get("key"), store.get("other")
    (b'value', None)
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = default_folder() if folder is None else folder

    def get(self, key: str) -> bytes | None:
        """Return the content of an entry, or None if it does not exist or is not intact."""
        path = self.folder / key
        head = len(_MAGIC) + 32
        try:
            if not path.is_file():  # opening a named pipe would block until somebody writes to it
                return None
            with path.open("rb") as file:
                # Do not load machine code that another user has written: it would be executed.
                if hasattr(os, "getuid") and os.fstat(file.fileno()).st_uid != os.getuid():
                    return None
                start = file.read(head)
                content = file.read() if start.startswith(_MAGIC) else b""
        except OSError:
            return None
        return content if start == _MAGIC + _hash_entry(key, content) else None

    def put(self, key: str, content: bytes) -> None:
        """Store bytes under a key atomically; if the folder is not writable, nothing is stored and no error
        is raised.
        """
        with contextlib.suppress(OSError, DataError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_write(self.folder / key, self.folder not in _tidied) as new:
                new.write_bytes(_MAGIC + _hash_entry(key, content) + content)
            _tidied.add(self.folder)

    def entries(self) -> dict[Path, int]:
        """Return the files of the cache with their sizes in bytes.

        >>> import tempfile
        >>> store = Store(Path(tempfile.mkdtemp()))
        >>> store.put("key", b"value")
        >>> list(store.entries().values()), store.clear(), store.get("key")
        ([46], 1, None)
        """
        sizes = {}
        with contextlib.suppress(OSError):
            for path in sorted(self.folder.iterdir()):
                if not path.is_file():
                    continue
                with contextlib.suppress(OSError), path.open("rb") as file:
                    if file.read(len(_MAGIC)) == _MAGIC:
                        sizes[path] = path.stat().st_size
        return sizes

    def clear(self) -> int:
        """Remove the files of the cache, and no other files; return their number."""
        count = 0
        for path in self.entries():
            with contextlib.suppress(OSError):
                path.unlink()
                count += 1
        return count


def _hash_entry(key: str, content: bytes) -> bytes:
    """Return the hash of key and content; an entry with another hash is damaged or belongs to another key."""
    return hashlib.sha256(key.encode() + b"\0" + content).digest()


def hold_over_fork(lock: "threading.RLock") -> None:
    """Register a lock for forks: each fork acquires the lock first and releases it in both processes.

    Without this, the child process would inherit a lock that another thread of its parent held, and wait for
    it forever. Register inner locks first: a fork acquires the locks in the reverse order of registration.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )


def _renew_property_locks() -> None:
    """Replace the lock of each `cached_property` in the package by a new one that nobody holds."""
    modules = [module for name, module in sys.modules.items() if name.startswith("draisine.")]
    owners = [each for m in modules for each in vars(m).values() if isinstance(each, type)]
    for owner in owners:
        for each in vars(owner).values():
            if isinstance(each, cached_property):
                each.lock = threading.RLock()  # type: ignore[attr-defined]


if sys.version_info < (3, 12) and hasattr(os, "register_at_fork"):
    # Before Python 3.12, a cached property has one lock for all objects. A fork may copy it while
    # another thread holds it.
    os.register_at_fork(after_in_child=_renew_property_locks)
