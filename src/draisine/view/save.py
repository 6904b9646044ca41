"""Figures in files, whole or not at all."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from draisine.errors import DataError
from draisine.results.store import FIGURES, check_target, replace
from draisine.view.style import figure_of


def save(axes: Any, path: Path) -> None:
    """Write the figure that axes belong to; nothing half-written remains if that fails."""
    check_target(path, FIGURES)
    folder = Path(tempfile.mkdtemp(prefix=".draisine-", dir=path.parent))
    try:
        whole = folder / path.name
        first = next(iter(axes.values())) if isinstance(axes, dict) else axes
        figure_of(first).savefig(whole, dpi=150)
        replace(whole, path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
