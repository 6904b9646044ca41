"""The commands together, and how their errors are told."""

import atexit
import gc
import logging
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter

from draisine import __version__
from draisine.cli._answers import check_several, meant, meant_command
from draisine.cli._screen import end_as_interrupted, fail, patient_output, tell_notes
from draisine.errors import DraisineError, SimulationError, UnknownNameError
from draisine.registry import find, foreign_plugs, is_file, own_plugs

app = App(
    name="draisine",
    help="Exact, fast dynamics of machines that roll, grip and bounce.",
    help_epilogue="With --verbose, it tells what is derived, compiled and run; with --debug, errors show "
    "where they arose, too.",
    version=__version__,
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
    suppress_keyboard_interrupt=False,
)
for name in own_plugs("command"):
    app.command(find("command", name), name=name)
app.register_install_completion_command()


@app.default
def welcome() -> None:
    """Say what draisine is and what to try first."""
    print(
        f"""draisine {__version__}: exact, fast dynamics of machines that roll, grip and bounce.

Try first:
  draisine run                      the push of a bicycle that steadies itself: table, picture, data
  draisine run ramp-jump --show     a jump, to be looked at from all sides in the browser
  draisine ride                     ride it yourself, in the browser
  draisine explore whipple --show   sliders for its parameters, eigenvalues, modes, in the browser
  draisine eigenvalues              how it is stable: modes and critical speeds
  draisine show whipple             the bicycle: bodies, joints, contacts, parameters
  draisine list                     vehicles, scenarios, parameter sets ...
  draisine check                    published numbers against ours
  draisine equations whipple --out bicycle.html
                                    its equations, to read; .tex, .md; .c, .js, .py: to compile
  draisine new vehicle NAME         begin a machine of your own; --from FILE.urdf, .xml: a robot you have

draisine --help lists all commands, draisine COMMAND --help what they take."""
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit code of a command line: 0, 1 for a failed run or check, 2 for a mistake in
    what was asked.
    """
    if arguments is None:
        _hurry()
    given = list(sys.argv[1:] if arguments is None else arguments)
    made = {"new", "vehicle"} <= set(given)
    with end_as_interrupted(), patient_output() as output, tell_notes(made):
        code = _carry_out(given)
    if output.error is not None:
        return fail(f"the output cannot be written: {output.error.strerror}.", 1)
    return code


def _hurry() -> None:
    """Let a process of one command look for cycles of garbage rarely, and not once more at its end: what
    imports make, some 300,000 objects, stays until then, and to look through it again and again takes a
    third of the time of a short run.
    """
    gc.set_threshold(500_000)
    atexit.register(gc.freeze)


def _carry_out(given: list[str]) -> int:
    """Return the exit code of a command line."""
    debug = "--debug" in given
    if debug or "--verbose" in given:
        logging.basicConfig(format="%(name)s: %(message)s")
        logging.getLogger("draisine").setLevel(logging.DEBUG)
    given = [x for x in given if x not in ("--debug", "--verbose")]
    try:
        if given[:1] == ["help"]:
            given = [*given[1:2], "--help"]
        _add_own(given)
        check_several(given)
        code = app(given, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        if debug:
            raise
        return fail(meant(error, given), 2)
    except KeyboardInterrupt:
        return fail("interrupted; nothing half-written remains.", 1)
    except Exception as error:
        if debug:
            raise
        return _tell(error)
    return code if isinstance(code, int) else 0


def _add_own(given: Sequence[str]) -> None:
    """Add the command that is asked for where it does not ship: one of another package, or a file;
    help shows those of other packages, too.
    """
    first = given[0] if given else "--help"
    if first in app and first not in ("-h", "--help"):
        return
    own = (
        [first]
        if is_file(first)
        else [name for name in foreign_plugs("command") if name not in app]
    )
    for name in own:
        app.command(find("command", name), name=name)
    if first not in app and not first.startswith("-"):
        known = [name for name in app if not name.startswith("-")]
        raise UnknownNameError(f"no command {first!r}. {meant_command(given, known)}")


def _tell(error: Exception) -> int:
    """Return the exit code of an error, after telling it."""
    if isinstance(error, SimulationError):
        return fail(str(error), 1)
    if isinstance(error, DraisineError):
        return fail(str(error), 2)
    if isinstance(error, MemoryError):
        return fail(f"this needs more memory than there is: {error or 'none is left'}.", 1)
    kind = type(error).__name__
    return fail(f"{kind}: {error}\nThis should not happen; --debug shows where it arose.", 1)
