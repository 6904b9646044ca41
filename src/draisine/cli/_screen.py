"""Output on the terminal: consoles, tables, notes, progress bars, error messages."""

import errno
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TextIO

from draisine.errors import FileWarning

if TYPE_CHECKING:
    from rich.console import Console


def open_console() -> "Console":
    """Return a console for tables: as wide as the terminal, or 120 columns if it is redirected."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 120
    return Console(width=width, highlight=False, soft_wrap=False)


class RobustOutput:
    """Standard output that never interrupts a computation.

    Text is dropped if the reader has closed the pipe (`| head`) or the stream cannot be written; `error`
    is the reason in the second case.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write text, or drop it if the stream fails."""
        try:
            return self.stream.write(text)
        except OSError as error:
            self._drop(error)
            return len(text)

    def flush(self) -> None:
        """Flush the stream, or drop its buffer if it fails."""
        try:
            self.stream.flush()
        except OSError as error:
            self._drop(error)

    def _drop(self, error: OSError) -> None:
        """Redirect the stream to the null device, including the content of its buffer."""
        if error.errno != errno.EPIPE:
            self.error = error
        null_device = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError):
            os.dup2(null_device, self.stream.fileno())
        os.close(null_device)


@contextmanager
def robust_output() -> Iterator[RobustOutput]:
    """Replace standard output by a `RobustOutput`."""
    with open(os.devnull, "w", encoding="utf-8") as null_device:
        output: Any = RobustOutput(sys.stdout or null_device)
        with redirect_stdout(output):
            try:
                yield output
            finally:
                output.flush()


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that results are written and incomplete files are removed."""
    # Python allows signal handlers in the main thread only.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def print_warnings_as_notes(about_files: bool) -> Iterator[None]:
    """Collect warnings and print each different one as a note of one line at the end.

    Warnings about robot files are printed only if `about_files` is set.
    """
    notes: dict[str, None] = {}
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: notes.update({str(message): None})
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always" if about_files else "ignore", FileWarning)
        try:
            yield
        finally:
            for text in notes:
                print(f"note: {' '.join(text.split())}", file=sys.stderr)


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on stderr, if that is a terminal, for work that takes over a second."""
    from draisine.simulation.options import report_progress

    with report_progress(True, text) as report_fraction:
        assert report_fraction is not None
        yield report_fraction


def unwrap_paragraphs(text: str) -> str:
    r"""Return text with each paragraph, or description of a parameter, on one line.

    >>> unwrap_paragraphs("Run it\nnow.\n\nParameters\n----------\nname\n    First,\n    second.")
    'Run it now.\n\nParameters\n----------\nname\n    First, second.'
    """
    lines: list[str] = []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        continues = (
            bool(lines)
            and bool(line.strip())
            and bool(lines[-1].strip())
            and indent == len(lines[-1]) - len(lines[-1].lstrip())
            # Underlined headings and names of parameters, which are single words, have lines of their own.
            and not line.startswith("---")
            and not lines[-1].startswith("---")
            and (indent > 0 or " " in lines[-1])
        )
        if continues:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return "\n".join(lines)


def numeric_columns(*headings: str) -> list[Any]:
    """Return right-aligned columns."""
    from rich.table import Column

    return [Column(heading, justify="right") for heading in headings]


def entry_table(entries: dict[str, str]) -> Any:
    """Return a table of names and descriptions in two columns."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in entries.items():
        table.add_row(f"  {escape_markup(name)}", escape_markup(text))
    return table


def escape_markup(text: str) -> str:
    """Return text in which brackets are not markup of rich."""
    from rich import markup

    return markup.escape(text)


def print_json(content: Any) -> None:
    """Print a JSON object."""
    import json

    print(json.dumps(content, indent=2, allow_nan=False))


def fail(text: str, code: int) -> int:
    """Print an error message and return the exit code."""
    print(f"error: {text}", file=sys.stderr)
    return code
