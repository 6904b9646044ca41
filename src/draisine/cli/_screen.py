"""Terminal output of commands: tables, notes, progress bars, error messages."""

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
    """Return a console for tables, as wide as the terminal, or 120 columns if output is redirected."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 120
    return Console(width=width, highlight=False, soft_wrap=False)


class RobustOutput:
    """Standard output that never interrupts a computation if writing fails.

    Text is dropped if the reader has closed the pipe (`| head`) or the stream cannot be written; `error`
    is the reason in the second case.
    """

    def __init__(self, stream: TextIO) -> None:
        """Wrap a text stream."""
        self.stream = stream
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the wrapped stream."""
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write text; discard it if the stream fails."""
        try:
            return self.stream.write(text)
        except OSError as error:
            self._discard_output(error)
            return len(text)

    def flush(self) -> None:
        """Flush the stream; discard its buffer if the stream fails."""
        try:
            self.stream.flush()
        except OSError as error:
            self._discard_output(error)

    def _discard_output(self, error: OSError) -> None:
        """Redirect the stream and its buffered text to the null device."""
        if error.errno != errno.EPIPE:
            self.error = error
        null_device = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError):
            os.dup2(null_device, self.stream.fileno())
        os.close(null_device)


@contextmanager
def robust_output() -> Iterator[RobustOutput]:
    """Context manager that replaces standard output by a `RobustOutput`."""
    with open(os.devnull, "w", encoding="utf-8") as null_device:
        output: Any = RobustOutput(sys.stdout or null_device)
        with redirect_stdout(output):
            try:
                yield output
            finally:
                output.flush()


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Context manager that handles SIGTERM like Ctrl-C: results are written, partial files removed."""
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
    """Context manager that collects warnings and prints each distinct one as a one-line note.

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
    """Context manager that shows a progress bar on a terminal if the work takes over a second."""
    from draisine.simulation.options import report_progress

    with report_progress(True, text) as report_fraction:
        assert report_fraction is not None
        yield report_fraction


def unwrap_paragraphs(text: str) -> str:
    r"""Join the lines of each paragraph, or of each parameter description, into one line.

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
            # Headings, their underlines and names of parameters (single words) stay on lines of
            # their own.
            and not line.startswith("---")
            and not lines[-1].startswith("---")
            and (indent > 0 or " " in lines[-1])
        )
        if continues:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return "\n".join(lines)


def make_numeric_columns(*headings: str) -> list[Any]:
    """Return right-aligned table columns with the given headings."""
    from rich.table import Column

    return [Column(heading, justify="right") for heading in headings]


def make_entry_table(entries: dict[str, str]) -> Any:
    """Return a two-column table of names and descriptions."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in entries.items():
        table.add_row(f"  {escape_markup(name)}", escape_markup(text))
    return table


def escape_markup(text: str) -> str:
    """Return text in which brackets are escaped, so that rich does not interpret them as markup."""
    from rich import markup

    return markup.escape(text)


def print_json(content: Any) -> None:
    """Print data as a JSON object."""
    import json

    print(json.dumps(content, indent=2, allow_nan=False))


def print_error(text: str, code: int) -> int:
    """Print an error message to stderr and return the exit code."""
    print(f"error: {text}", file=sys.stderr)
    return code
