"""What the commands print, and how they show that they are at work."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def open_console() -> "Console":
    """Return a console for tables: as wide as the terminal, or 120 columns into a file."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 120
    return Console(width=width, highlight=False, soft_wrap=False)


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on stderr, if that is a terminal, for work that takes over a second.

    The work may tell how far it is by the function that it gets: a fraction of the whole.
    """
    if not sys.stderr.isatty():
        yield lambda fraction: None
        return
    from threading import Timer

    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(text, total=None)
    late = Timer(1.0, bar.start)
    late.start()
    try:
        yield lambda fraction: bar.update(task, total=1.0, completed=fraction)
    finally:
        late.cancel()
        late.join()
        bar.stop()


def numeric_columns(*headings: str) -> list[Any]:
    """Return headings of columns of numbers."""
    from rich.table import Column

    return [Column(heading, justify="right") for heading in headings]


def escape(text: str) -> str:
    """Return text with the marks of rich made harmless."""
    from rich import markup

    return markup.escape(text)


def print_json(found: Any) -> None:
    """Print one JSON object."""
    import json

    print(json.dumps(found, indent=2, allow_nan=False))


def fail(text: str, code: int) -> int:
    """Return the exit code, after an error's one message."""
    print(f"error: {text}", file=sys.stderr)
    return code
