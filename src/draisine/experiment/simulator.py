"""Source code of complete simulators of a machine, written into a folder.

Initial state and control law are parsed from the notation of the command line.

"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from draisine.codegen.files import write_text
from draisine.errors import ParameterError
from draisine.model.quantity import number
from draisine.scenario.validate.mistakes import Mistakes
from draisine.scenario.validate.motion import read_law, read_start
from draisine.simulation.source import write_simulator
from draisine.system.state import State, state
from draisine.system.system import System


def write_simulator_files(
    system: System,
    language: str,
    folder: Path | None,
    start: Mapping[str, Any] | None = None,
    mode: Mapping[str, str] | None = None,
    laws: Sequence[Mapping[str, Any]] = (),
) -> list[Path]:
    """Write the source code of a simulator for one contact mode into a folder; return the file paths.

    `start` contains initial values in the notation of the command line, `laws` contains control laws as
    tables of a scenario.
    """
    if folder is None:
        raise ParameterError(
            "A simulator consists of several files. Choose a folder with --out FOLDER."
        )
    initial = parse_start(system, start, mode)
    law = parse_law(system, laws, start)
    files = write_simulator(system, language, initial, mode=mode, law=law)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_text(text, folder / name)
    return [folder / name for name in files]


def parse_start(
    system: System, start: Mapping[str, Any] | None, mode: Mapping[str, str] | None
) -> State:
    """Return the initial state with the output values of `--initial` on the command line."""
    mistakes = Mistakes()
    initial = read_start(start or {}, system.vehicle.__name__, system.model, mistakes)
    mistakes.check("--initial")
    return state(system, mode=mode, at_rest=None, **dict[str, Any](initial.values))


def parse_law(
    system: System, laws: Sequence[Mapping[str, Any]], start: Mapping[str, Any] | None
) -> Any:
    """Combine the control laws of `--law` on the command line into one law; None if there are none.

    Designs such as LQR use the initial forward speed, if `start` has one.
    """
    mistakes = Mistakes()
    text = (start or {}).get("forward_speed")
    speed = None if text is None else number(text, "m/s")
    law = read_law(laws, (), system, speed, mistakes)
    mistakes.check("--law")
    return law
