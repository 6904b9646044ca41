"""What the commands print, and how they show that they are at work."""

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
    """Return a console for tables: as wide as the terminal, or 120 columns into a file."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 120
    return Console(width=width, highlight=False, soft_wrap=False)


class PatientOutput:
    """Standard output that never stops the work: what nobody reads any more (`| head`) is dropped, and
    so is what cannot be written; `error` says why.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write as far as anybody reads."""
        try:
            return self.stream.write(text)
        except OSError as error:
            self._drop(error)
            return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        try:
            self.stream.flush()
        except OSError as error:
            self._drop(error)

    def _drop(self, error: OSError) -> None:
        """Let the rest go nowhere, the buffer's content too."""
        if error.errno != errno.EPIPE:
            self.error = error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        with suppress(OSError):
            os.dup2(nowhere, self.stream.fileno())
        os.close(nowhere)


@contextmanager
def patient_output() -> Iterator[PatientOutput]:
    """Let standard output be patient."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        output: Any = PatientOutput(sys.stdout or nowhere)
        with redirect_stdout(output):
            try:
                yield output
            finally:
                output.flush()


@contextmanager
def end_as_interrupted() -> Iterator[None]:
    """Let who ends the program (SIGTERM) interrupt it like Ctrl-C: what was computed is kept, and
    nothing half-written remains.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def tell_notes(files: bool) -> Iterator[None]:
    """Tell warnings at the end as notes, a line for each that differs; those about a robot's file, if
    asked for.
    """
    notes: dict[str, None] = {}
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: notes.update({str(message): None})
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always" if files else "ignore", FileWarning)
        try:
            yield
        finally:
            for text in notes:
                print(f"note: {' '.join(text.split())}", file=sys.stderr)


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on stderr, if that is a terminal, for work that takes over a second."""
    from draisine.simulation.options import report_progress

    with report_progress(True, text) as tell:
        assert tell is not None
        yield tell


def numeric_columns(*headings: str) -> list[Any]:
    """Return headings of columns of numbers."""
    from rich.table import Column

    return [Column(heading, justify="right") for heading in headings]


def entry_table(entries: dict[str, str]) -> Any:
    """Return names with what is told of each beside them, in two columns that wrap."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in entries.items():
        table.add_row(f"  {escape(name)}", escape(text))
    return table


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
