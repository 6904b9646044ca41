"""Application of the command line: registered commands, welcome text, error messages and exit codes."""

import atexit
import gc
import inspect
import logging
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter

from draisine import __version__
from draisine.cli._hints import check_separators, explain_error, suggest_command
from draisine.cli._screen import (
    interrupt_on_sigterm,
    print_error,
    print_warnings_as_notes,
    robust_output,
    unwrap_paragraphs,
)
from draisine.errors import DraisineError, SimulationError, UnknownNameError
from draisine.registry import external_plugins, find, is_file, shipped_plugins

app = App(
    name="draisine",
    help="Exact, fast dynamics of machines that roll, grip and bounce.",
    help_epilogue="--verbose logs each derivation, compilation and run; --debug also shows the traceback of "
    "an error.",
    version=__version__,
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
)


def _add_command(name: str) -> None:
    """Register a command with the application by its name."""
    command = find("command", name)
    # Cyclopts keeps the line breaks of docstrings. Join the lines of a paragraph, so that they fit
    # the width of the terminal.
    command.__doc__ = unwrap_paragraphs(inspect.getdoc(command) or "")
    app.command(command, name=name)


for plugin in shipped_plugins("command"):
    _add_command(plugin)
app.register_install_completion_command()


@app.default
def welcome() -> None:
    """Print a description of draisine and the commands to try first."""
    print(
        f"""draisine {__version__}: exact, fast dynamics of machines that roll, grip and bounce.

Try first:
  draisine run                      a riderless bicycle is pushed and stabilises itself: table, figure, data
  draisine run ramp-jump --show     a jump from a ramp, as an interactive 3D replay in the browser
  draisine ride                     ride the bicycle yourself, in the browser
  draisine explore whipple --show   sliders for its parameters, with eigenvalues and modes, in the browser
  draisine eigenvalues              stability of the bicycle: eigenvalues and critical speeds
  draisine show whipple             description of the bicycle: bodies, joints, contacts, parameters
  draisine list                     vehicles, scenarios, parameter sets ...
  draisine check                    compare computed results with published numbers
  draisine equations whipple --out bicycle.html
                                    equations to read (.html, .tex, .md) or to compile (.c, .js, .py)
  draisine new vehicle NAME         write a machine of your own; --from FILE.urdf or .xml reads a robot

draisine --help lists all commands, draisine COMMAND --help their options."""
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Execute a command line and return its exit code.

    Parameters
    ----------
    arguments
        Words of the command line after `draisine`; by default those of this process.

    Returns
    -------
    int
        Exit code: 0 for success, 1 for a failed run or check, 2 for a wrong command line or input file.
    """
    if arguments is None:
        _relax_garbage_collection()
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Print warnings about a robot file only for the command that creates a vehicle from it.
    makes_vehicle = {"new", "vehicle"} <= set(words)
    with interrupt_on_sigterm(), robust_output() as output, print_warnings_as_notes(makes_vehicle):
        code = _run_command_line(words)
    if output.error is not None:
        return print_error(f"The output cannot be written: {output.error.strerror}.", 1)
    return code


def _relax_garbage_collection() -> None:
    """Reduce the frequency of garbage collection in this process.

    Imports create about 300,000 objects that exist until the process ends. Scanning them repeatedly would
    take a third of the time of a short run.
    """
    gc.set_threshold(500_000)
    # Freeze all objects at exit: otherwise Python scans them once more.
    atexit.register(gc.freeze)


def _run_command_line(words: list[str]) -> int:
    """Execute a command line with error handling and return its exit code."""
    debug = "--debug" in words
    if debug or "--verbose" in words:
        logging.basicConfig(format="%(name)s: %(message)s")
        logging.getLogger("draisine").setLevel(logging.DEBUG)
    words = [word for word in words if word not in ("--debug", "--verbose")]
    if words[:1] == ["ros"] and "--ros-args" in words:
        # rclpy reads its arguments (remapped topics, namespaces) from sys.argv.
        words = words[: words.index("--ros-args")]
    try:
        if words[:1] == ["help"]:
            words = [*words[1:2], "--help"]
        _register_external_commands(words)
        check_separators(words)
        code = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        if debug:
            raise
        return print_error(explain_error(error, words), 2)
    except KeyboardInterrupt:
        return print_error("Interrupted. Incomplete files were removed.", 1)
    except Exception as error:
        if debug:
            raise
        return _report_error(error)
    return code if isinstance(code, int) else 0


def _register_external_commands(words: Sequence[str]) -> None:
    """Register commands of other packages or of a Python file if the command line uses them.

    This step is skipped for shipped commands, because reading the entry points of all packages takes time.
    """
    first = words[0] if words else "--help"
    if first in app and first not in ("-h", "--help"):
        return
    if is_file(first):
        external = [first]
    else:
        external = [name for name in external_plugins("command") if name not in app]
    for name in external:
        _add_command(name)
    if first not in app and not first.startswith("-"):
        commands = [name for name in app if not name.startswith("-")]
        raise UnknownNameError(f"Unknown command {first!r}. {suggest_command(words, commands)}")


def _report_error(error: Exception) -> int:
    """Print the message of an exception and return the exit code."""
    if isinstance(error, SimulationError):
        return print_error(str(error), 1)
    if isinstance(error, DraisineError):
        return print_error(str(error), 2)
    if isinstance(error, MemoryError):
        return print_error(f"Not enough memory: {error or 'no memory is left'}.", 1)
    kind = type(error).__name__
    return print_error(
        f"{kind}: {error}\nThis is a bug of draisine. --debug shows the traceback.", 1
    )
